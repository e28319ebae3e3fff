"""Products of matrices by the library that is faster at them.

On a CPU PyTorch has two: its BLAS (MKL) and oneDNN, which also runs its convolutions. On processors that are not
Intel's MKL keeps to instructions of half the width, and oneDNN is up to twice as fast in single precision.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

LEAST = 2**20
"""The least number of multiplications for which oneDNN is asked: below, its call costs more than it saves."""

LEAST_IN_HALVES = 2**18
"""The least number of multiplications for which oneDNN computes in bfloat16.

From there on it is faster than in single precision with rounding afterwards.
"""

_ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute x W^T + b of x (n, inputs) and W (outputs, inputs), without a gradient.

    >>> product(torch.ones(2, 3), torch.ones(1, 3))
    tensor([[3.],
            [3.]])
    """
    size = x.shape[0] * weight.numel()
    if size < LEAST_IN_HALVES and x.dtype == torch.bfloat16 and x.device.type == "cpu":
        own = None if bias is None else bias.float()
        return functional.linear(x.float(), weight.float(), own).bfloat16()
    if size >= LEAST and _ONEDNN is not None and x.dtype == torch.float32 and x.device.type == "cpu" and not _reduced():
        return _ONEDNN(x, weight, bias, "none", [], "")  # type: ignore[no-any-return]
    return functional.linear(x, weight, bias)


def _reduced() -> bool:
    return torch.is_autocast_enabled("cpu")
