"""Dropout whose masks are functions of (seed, replica, client, round, step), and of nothing else."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..randomness import Axis, refined, sixteenths, words

_LEVELS = 2**16


def dropout_keys(seed: int, replica: Tensor, client: Tensor, round: int | Tensor, step: Tensor | int) -> Tensor:
    """Return the keys of the masks of one step, int64, in the common shape of the coordinates.

    >>> dropout_keys(0, torch.arange(3), torch.arange(3), round=5, step=0).shape
    torch.Size([3])
    """
    return words(seed, Axis.DROPOUT, replica, client, round, step)


class KeyedDropout(nn.Module):
    """Dropout layer that multiplies by ``factors``, and by nothing while they are None.

    Each of its numbers, or with ``whole_channels`` each channel of it, is dropped with ``probability`` (rounded to a
    multiple of 2^-16), and what stays is divided by the probability of staying.
    """

    def __init__(self, probability: float, whole_channels: bool = False) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise ValueError(f"dropout probability = {probability}: allowed is a number in [0, 1)")
        self.dropped = min(round(probability * _LEVELS), _LEVELS - 1)
        self.whole_channels = whole_channels
        self.factors: Tensor | None = None
        self.shape: tuple[int, ...] | None = None
        """The shape of one sample that came in last."""
        self.uses = 0
        """How often it was called."""

    def forward(self, x: Tensor) -> Tensor:
        self.shape, self.uses = tuple(x.shape[1:]), self.uses + 1
        return x if self.factors is None else x * self.factors

    def draw(self, keys: Tensor, layer: int, samples: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Draw factors for every key, (P, samples, *shape): a sample's do not depend on how many samples there are."""
        if self.whole_channels:
            shape = (shape[0], *(1 for _ in shape[1:]))
        units = 1
        for size in shape:
            units *= size
        each = refined(keys[:, None], layer, torch.arange(samples, device=keys.device))
        kept = sixteenths(each, units) >= self.dropped - _LEVELS // 2
        factors = kept.to(dtype).mul_(_LEVELS / (_LEVELS - self.dropped))
        return factors.view(len(keys), samples, *shape)


def with_keyed_dropout(module: nn.Module) -> nn.Module:
    """Replace every dropout layer in ``module``, in place, and return it.

    Raises:
        ValueError: for a recurrent layer with dropout inside, whose masks nobody can give.
    """
    for name, child in module._modules.items():  # a layer that stands in two places is replaced in both
        if child is not None:
            module._modules[name] = with_keyed_dropout(child)
    if isinstance(module, nn.RNNBase) and module.dropout > 0:
        raise ValueError(
            f"{type(module).__name__} has dropout = {module.dropout} between its layers: allowed is dropout = 0 there, "
            "and nn.Dropout between recurrent layers of their own"
        )
    if isinstance(module, nn.Dropout):
        return KeyedDropout(module.p)
    if isinstance(module, nn.Dropout1d | nn.Dropout2d | nn.Dropout3d):
        return KeyedDropout(module.p, whole_channels=True)
    return module
