"""Rewriting of networks: functions in an order that is cheaper to compute."""

from __future__ import annotations

from typing import TypeGuard

from torch import nn


def in_a_row(module: nn.Module) -> TypeGuard[nn.Sequential]:
    """Whether a module takes its children one after the other, and does nothing besides."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward and not watched(module)


def watched(module: nn.Module) -> bool:
    """Whether calling a module does more than its class's ``forward``.

    Hooks do, such as those of weight normalisation, or a ``forward`` of its own.
    """
    hooks = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    return any(getattr(module, name, None) for name in hooks) or "forward" in vars(module)


def pooled_first(module: nn.Module) -> nn.Module:
    """Move every ReLU that a max-pool follows behind it, in place, wherever layers stand in a row.

    Layers that are watched, or a pool that says where its maxima were, stay where they are.

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
    if in_a_row(module):
        for index in range(len(module) - 1):
            first, second = module[index], module[index + 1]
            if type(first) is nn.ReLU and _moves_up(second) and not watched(first):
                module[index], module[index + 1] = second, first
    return module


def _moves_up(layer: nn.Module) -> bool:
    return type(layer) is nn.MaxPool2d and not layer.return_indices and not watched(layer)
