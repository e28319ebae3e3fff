"""Plain steps in bfloat16 on a CPU, of networks whose gradients are written out.

Parameters stay in single precision, and have a copy in half precision that moves with them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .flat import FlatModel
from .manual_backward import covers as written_out


def covers(model: FlatModel, x: Tensor, precision: str) -> bool:
    """Whether plain steps of x are made here."""
    return precision == "bfloat16" and not model.statistics and written_out(model, x, precision)


class Copied:
    """Parameters x (D,) float32, which move in place, and their copy in half precision by names."""

    def __init__(self, model: FlatModel, x: Tensor) -> None:
        self.x, self._halves = x, x.bfloat16()
        self.tensors = model.unflattened(self._halves)
        self._gradient = torch.empty_like(self._halves)

    def move(self, slopes: list[Tensor], size: float) -> None:
        """Move x by -size * slopes, the gradient by each trained parameter in half precision, and its copy."""
        torch.cat([each.flatten() for each in slopes], out=self._gradient)
        self.x.add_(self._gradient, alpha=-size)
        self._halves.copy_(self.x)
