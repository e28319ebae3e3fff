"""Packages whose members load on first use, so that importing them costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Args:
        homes: by public name, the package's module that defines it; of a module itself, "".

    >>> load, listed, names = lazily("fedtheory", {"nearest": "quantities", "exact": ""})
    >>> names, load("nearest").__name__, load("exact").__name__
    (['exact', 'nearest'], 'nearest', 'fedtheory.exact')
    """
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name] or name}")
        return getattr(module, name) if homes[name] else module

    def listed() -> list[str]:
        return sorted({*names, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return load, listed, names
