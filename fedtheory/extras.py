"""Extras: packages that need not be installed, and the error that names the extra where one is missing."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

EXTRAS = {
    "torch": "simulate",
    "numba": "simulate",
    "z3": "search",
    "cvxpy": "oracle",
    "clarabel": "oracle",
    "pooch": "data",
    "requests": "data",
    "sklearn": "data",
    "PIL": "data",
    "matplotlib": "report",
    "jinja2": "report",
    "hypothesis": "testing",
    "distributed": "cluster",
    "flwr": "flower",
    "nvflare": "nvflare",
    "tensorboard": "tracking",
    "mlflow": "tracking",
    "wandb": "tracking",
    "pandas": "pandas",
}
"""Extras by the name that is imported. Every other package comes with fedtheory itself or with one of these, but for
pyarrow, which no extra brings."""


HINT = "pip install 'fedtheory[{}]'"
"""Command that installs an extra."""


class MissingExtra(ModuleNotFoundError):
    """Error of a package that is not installed: the extra that brings it, and the command that installs it."""


def explained(error: ImportError) -> ImportError:
    """Return an error that names the extra and the command, where a package of an extra is missing; else the error.

    >>> print(explained(ModuleNotFoundError("No module named 'wandb'", name="wandb")))
    wandb is not installed; it comes with the extra 'tracking': pip install 'fedtheory[tracking]'
    """
    if isinstance(error, MissingExtra) or not isinstance(error, ModuleNotFoundError):
        return error
    name = (error.name or "").partition(".")[0]
    if name not in EXTRAS or sys.modules.get(name) is not None:  # it is there, and lacks something else
        return error
    extra = EXTRAS[name]
    return MissingExtra(f"{name} is not installed; it comes with the extra '{extra}': {HINT.format(extra)}", name=name)


def needed(module: str) -> Any:
    """Import and return a module that an extra brings, such as "cvxpy" or "torch.utils.tensorboard".

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise explained(error) from None


def absent(module: str) -> bool:
    """Whether a module cannot be imported."""
    try:
        needed(module)
    except ImportError:
        return True
    return False


class _Later(ModuleType):
    """A module that is imported when something of it is first asked for, so that what names it loads without it."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(needed(self.__name__), name)
        setattr(self, name, value)  # found without this method from now on
        return value


if TYPE_CHECKING:
    import torch as torch
else:
    torch = _Later("torch")


def is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    """Whether a value is a tensor of torch, which nothing is before torch is imported."""
    return sys.modules.get("torch") is not None and isinstance(value, torch.Tensor)
