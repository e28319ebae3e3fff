"""The same function in an order that is cheaper to compute."""

from __future__ import annotations

from torch import nn


def pooled_first(module: nn.Module) -> nn.Module:
    """``module`` with every ReLU that a max-pool follows put after it, in place, wherever layers stand in a row.

    max and ReLU are both monotone, hence max_i relu(x_i) = relu(max_i x_i), and their gradients agree too: where the
    largest x_i is positive both pass the gradient to the same i, and elsewhere neither passes any. ReLU and its
    gradient then work on a quarter of the numbers for a 2 x 2 pool. Names of parameters do not change.

    >>> pooled_first(nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)))
    Sequential(
      (0): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
      (1): ReLU()
    )
    """
    for child in module.children():
        pooled_first(child)
    if isinstance(module, nn.Sequential):
        for index in range(len(module) - 1):
            first, second = module[index], module[index + 1]
            if type(first) is nn.ReLU and type(second) is nn.MaxPool2d:
                module[index], module[index + 1] = second, first
    return module
