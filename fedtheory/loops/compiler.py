"""Compiler of loops over numbers to machine code.

It serves loops that would take many passes over memory as operations on whole arrays. Compiled loops run on the CPU, on
numpy's arrays; elsewhere torch works on tensors. A loop is compiled when it is first called with arguments of some
types, which takes about a second. It is kept on disk beside its source, or in the user's cache where that cannot be
written, or nowhere if neither can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event
from numba.extending import intrinsic

from . import first_compilation

Loop = TypeVar("Loop", bound=Callable[..., object])


SHARED = ("compiler.py", "draws.py", "elementary.py", "lanes.py", "scatter.py", "diagonal_sgd.py")
"""Files whose loops become part of loops in other files."""


@cache
def _stamp() -> str:
    """Hash the shared files.

    A compiled loop on disk is found by its name and its own file. Without this stamp it would not be made anew when
    only the shared files have changed.
    """
    sources = ((Path(__file__).parent / name).read_bytes() for name in SHARED)
    return hashlib.sha256(b"".join(sources)).hexdigest()[:8]


class _Compilations(event.Listener):  # type: ignore[misc]
    """Says that a loop is compiled, which is not so of one that is read from disk."""

    def on_start(self, of: event.Event) -> None:
        first_compilation.begun()

    def on_end(self, of: event.Event) -> None:
        pass


event.register("numba:compile", _Compilations())


def compiled(loop: Loop) -> Loop:
    """Compile ``loop`` to machine code; other threads may run meanwhile.

    Operations on floats are done as they are written. None are left out, joined or put in another order, so that
    results are the same bits wherever they are computed.
    """
    loop.__qualname__ += "_" + _stamp()
    make = partial(njit, nogil=True, error_model="numpy")
    try:
        return cast(Loop, make(loop, cache=True))
    except RuntimeError:  # nowhere to keep it: it is compiled in every process
        return cast(Loop, make(loop))


def _fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once: in compiled loops, of three floats of one type."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fma(*given)

    return a(a, a, a), generate


fma: Any = intrinsic(_fma)
