"""Rule for the path of gradients that a network takes, by its layers, its sizes and the device.

Every process takes the same path, whatever else its machine does.

The rule is a table, fitted to ``benchmarks/kept/paths.json`` (a CPU, one thread): for each kind of network the path
that is taken up to a size, and the one beyond. The size of a network of dense layers is the number of its parameters;
that of one with convolutions is what a batch's widest layer may be: samples times pixels times the most channels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import nn

from .flat import FlatModel
from .grouped import refusal

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class Choice(NamedTuple):
    """The path up to a size, and the one beyond."""

    small: str
    size: float
    large: str


CPU = {
    "grouped dense": Choice("grouped", math.inf, "grouped"),
    "grouped convolutions": Choice("grouped", 2**17, "loop"),
    "dense": Choice("vmap", 2.5e5, "loop"),
    "convolutions": Choice("loop", math.inf, "loop"),
    "recurrent": Choice("loop", math.inf, "loop"),
    "moving statistics": Choice("loop", math.inf, "loop"),
}
"""Paths on a CPU: torch.func's convolutions and recurrent layers lose there at any size, and products of large matrices
gain nothing from being taken together."""
CUDA = {
    "grouped dense": Choice("grouped", math.inf, "grouped"),
    "grouped convolutions": Choice("grouped", math.inf, "grouped"),
    "dense": Choice("vmap", math.inf, "vmap"),
    "convolutions": Choice("vmap", math.inf, "vmap"),
    "recurrent": Choice("loop", math.inf, "loop"),
    "moving statistics": Choice("loop", math.inf, "loop"),
}
"""Paths on a GPU, where a launch costs more than its arithmetic: as many pairs together as there is a way to. Not part
of the kept measurements."""


def kind_of(model: FlatModel) -> str:
    """The row of the table: by layers, and whether there is a grouped path.

    >>> kind_of(FlatModel(nn.Linear(3, 2))), kind_of(FlatModel(nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))))
    ('grouped dense', 'dense')
    """
    layers = list(model.module.modules())
    if model.statistics or model.mixes_samples:
        return "moving statistics"
    if any(isinstance(each, nn.RNNBase) for each in layers):
        return "recurrent"
    kind = "convolutions" if any(isinstance(each, CONVOLUTIONS) for each in layers) else "dense"
    return kind if refusal(model) is not None else f"grouped {kind}"


def rule(model: FlatModel, batch: tuple[int, ...], device: str) -> str:
    """The path for batches of this shape, (samples, ...), on this type of device.

    >>> rule(FlatModel(nn.Linear(3, 2)), (8, 3), "cpu")
    'grouped'
    """
    kind = kind_of(model)
    choice = (CUDA if device == "cuda" else CPU)[kind]
    return choice.small if _size(model, batch, kind) <= choice.size else choice.large


def _size(model: FlatModel, batch: tuple[int, ...], kind: str) -> int:
    if "convolutions" not in kind:
        return model.dimension
    convolutions = [each for each in model.module.modules() if isinstance(each, CONVOLUTIONS)]
    pixels = math.prod(batch) // convolutions[0].in_channels
    return pixels * max(each.out_channels for each in convolutions)
