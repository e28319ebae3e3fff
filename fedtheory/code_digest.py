"""Hash of a function's code, which tells it from another."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from fractions import Fraction
from types import CodeType, FunctionType
from typing import Any


def code_digest(step: Callable[..., Any]) -> str:
    """Hash the function, as far as its code and what it closes over tell: runs of another one are others."""
    content = hashlib.sha256()

    def add(code: CodeType) -> None:
        content.update(code.co_code + repr(code.co_names).encode())
        for constant in code.co_consts:
            add(constant) if isinstance(constant, CodeType) else content.update(repr(constant).encode())

    function: Any = inspect.unwrap(step)
    add(function.__code__)
    for cell in function.__closure__ or ():
        kept = cell.cell_contents
        if isinstance(kept, FunctionType):
            add(kept.__code__)
        content.update(repr(kept).encode() if isinstance(kept, int | float | str | Fraction | tuple) else b"")
    return content.hexdigest()[:16]
