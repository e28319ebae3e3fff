"""Max-pools of 2 x 2 pixels on a CPU by compiled loops, with the ReLU that follows one, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..loops.threads import shared_out

TYPES = (torch.float32, torch.float64, torch.bfloat16)
NUMBERS_A_THREAD = 2**18
"""The least numbers for which a thread is woken."""


def covers(layer: nn.MaxPool2d, x: Tensor) -> bool:
    """Whether this pool of x is computed here: windows of 2 x 2 pixels side by side, images with channels last."""
    known = x.device.type == "cpu" and x.dtype in TYPES and x.dim() == 4 and min(x.shape) > 0
    return of_four(layer) and known and x.is_contiguous(memory_format=torch.channels_last)


def of_four(layer: nn.MaxPool2d) -> bool:
    """Whether windows are 2 x 2 pixels, side by side."""
    plain = layer.padding in (0, (0, 0)) and layer.dilation in (1, (1, 1)) and not layer.ceil_mode
    return plain and layer.kernel_size in (2, (2, 2)) and layer.stride in (2, (2, 2))


def pooled(x: Tensor, kink: bool) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Pool x (B, C, H, W) to (B, C, H // 2, W // 2), with ``kink`` followed by ReLU.

    Also returns the function from the gradient at the pool to the one at x.
    """
    from ..loops import max_pool as loops

    batch, channels, height, width = x.shape
    shape, last = (batch, channels, height // 2, width // 2), torch.channels_last
    y = torch.empty(shape, dtype=x.dtype, memory_format=last)
    which = torch.empty(shape, dtype=torch.uint8, memory_format=last)
    forwards = loops.forwards_in_halves if x.dtype == torch.bfloat16 else loops.forwards
    over_images(forwards, x.numel(), _as_array(x), _as_array(y), _as_array(which), kink)

    def back(slope: Tensor) -> Tensor:
        into = torch.empty(x.shape, dtype=slope.dtype, memory_format=last)
        given = _as_array(slope.contiguous(memory_format=last))
        over_images(loops.backwards, into.numel(), given, _as_array(which), _as_array(into))
        return into

    return y, back


def _as_array(images: Tensor) -> np.ndarray:
    """(B, H, W, C)."""
    return as_array(images.permute(0, 2, 3, 1))


def as_array(tensor: Tensor) -> np.ndarray:
    """View the tensor's memory as an array for compiled loops: numbers of half precision as their bits, int16."""
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def over_images(loop: Callable[..., object], numbers: int, *given: Any) -> None:
    """Share the images of a loop out among threads: an image's result depends on nothing else."""
    images = len(given[0])
    least = -(-NUMBERS_A_THREAD * images // numbers)
    shared_out(lambda first, last: loop(*given, first, last), images, torch.get_num_threads(), least)
