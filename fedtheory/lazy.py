"""Packages whose members load on first use, so that importing them costs nothing.

What such a package offers stands in its ``__init__.pyi``, for readers, editors and type checkers, and for ``lazily``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from .extras import explained


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the imports in its stub. A member that an extra
    brings, and that cannot be loaded without it, names the extra.

    >>> load, listed, names = lazily("fedtheory.claims")
    >>> "Claim" in names, load("Claim").__name__
    (True, 'Claim')
    """
    here = sys.modules[package]
    tree = ast.parse(Path(str(here.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {alias.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        try:
            return getattr(import_module(f"{package}.{home}"), name) if home else import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            raise explained(error) from None

    class Lazy(ModuleType):
        """Where a member and its module have one name, such as ``gradients``, that name stays the member's."""

        def __setattr__(self, name: str, value: Any) -> None:
            if homes.get(name) != name or not isinstance(value, ModuleType):
                super().__setattr__(name, value)

    here.__class__ = Lazy

    def listed() -> list[str]:
        return sorted({*homes, *(name for name in vars(here) if name.startswith("__"))})

    return load, listed, sorted(homes)
