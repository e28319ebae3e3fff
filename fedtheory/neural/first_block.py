"""A network's first layers on a CPU by compiled loops: convolution, max-pool and ReLU in one pass, without the gradient
by the images."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .pooling import as_array, of_four, over_images

CHANNELS = 4
"""The most channels of images. With more, oneDNN's convolutions are faster."""


def covers(layer: nn.Conv2d, pool: nn.MaxPool2d, x: Tensor, weight: Tensor) -> bool:
    """Whether these layers' pass through images x (B, channels, H, W) is computed here: 3 x 3 convolutions of few
    channels to a multiple of sixteen, in float32 or bfloat16."""
    plain = layer.kernel_size == (3, 3) and layer.stride == layer.dilation == (1, 1) and layer.groups == 1
    if not plain or isinstance(layer.padding, str) or not of_four(pool) or x.dim() != 4 or x.device.type != "cpu":
        return False
    large = min(x.shape[2] + 2 * layer.padding[0], x.shape[3] + 2 * layer.padding[1]) >= 4 and len(x) > 0
    known = x.dtype == torch.float32 and weight.dtype in (torch.float32, torch.bfloat16)
    return large and known and layer.in_channels <= CHANNELS and layer.out_channels % 16 == 0


def forwards(
    layer: nn.Conv2d, x: Tensor, weight: Tensor, bias: Tensor | None, kink: bool
) -> tuple[Tensor, Callable[[Tensor], dict[str, Tensor]]]:
    """Compute the pooled convolution of x, with ``kink`` after ReLU, (B, outputs, H', W') with channels last.

    Also returns the function from the gradient at the result to those by the weights and biases. Each image's is summed
    by itself, and then over images. In half precision x and weights are rounded to it before, and the result is
    rounded; the largest pixel is that before rounding.
    """
    from ..loops import convolution as loops

    rows, columns = (int(each) for each in layer.padding)
    half, outputs = weight.dtype == torch.bfloat16, layer.out_channels
    images = torch.zeros(*x.shape[:2], x.shape[2] + 2 * rows, x.shape[3] + 2 * columns)
    images[:, :, rows : rows + x.shape[2], columns : columns + x.shape[3]] = x.bfloat16() if half else x
    shape = (len(x), (images.shape[2] - 2) // 2, (images.shape[3] - 2) // 2, outputs)
    y, which = torch.empty(shape, dtype=weight.dtype), torch.empty(shape, dtype=torch.uint8)
    own = weight.float().flatten(2).permute(1, 2, 0).contiguous()
    start = torch.zeros(outputs) if bias is None else bias.float()
    given = (images, own, start, y, which)
    over_images(loops.forwards, 9 * y.numel(), *(as_array(each) for each in given), kink)

    def back(slope: Tensor) -> dict[str, Tensor]:
        slopes = slope.to(y.dtype).permute(0, 2, 3, 1).contiguous()
        weights, biases = torch.empty(len(x), *own.shape), torch.empty(len(x), outputs)
        given = (images, slopes, which, weights, biases)
        over_images(loops.backwards, 9 * y.numel(), *(as_array(each) for each in given))
        found = weights.sum(0).permute(2, 0, 1).reshape(weight.shape)
        return {"weight": found.to(weight.dtype), "bias": biases.sum(0).to(weight.dtype)}

    return y.permute(0, 3, 1, 2), back
