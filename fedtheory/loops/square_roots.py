"""Square roots that are rounded correctly, as IEEE 754 asks, so that processors agree on every bit.

They replace ``torch.sqrt``, which on a CPU takes MKL's: on an AMD EPYC these were one unit in the last place off, in
float64 one of a hundred, in float32 one of five. Those of CUDA are correctly rounded, says its programming guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import is_tensor, torch

if TYPE_CHECKING:
    from torch import Tensor


def square_root(values: Any, out: Tensor | None = None) -> Any:
    """Compute the square roots of float32 or float64 numbers: of a tensor of torch, into ``out`` where that is given,
    which may be ``values``, or of an array of numpy.

    >>> square_root(torch.tensor([4.0, 2.0], dtype=torch.float64)).tolist()
    [2.0, 1.4142135623730951]
    """
    if not is_tensor(values):
        return np.sqrt(values)
    if values.device.type != "cpu":
        return torch.sqrt(values, out=out)
    result = torch.empty_like(values) if out is None else out
    np.sqrt(values.numpy(), out=result.numpy())
    return result
