"""Notice of the first compilation of loops: it takes a while, once, and nothing else would tell why.

It is apart from ``compiler``, so that who wants to be told imports no compiler.
"""

from __future__ import annotations

from collections.abc import Callable

SAID = "compiling loops once, about 20 s"

tell: Callable[[str], None] | None = None
"""Is told ``SAID`` when the first loop is compiled; of loops that are kept on disk nothing is said."""


def begun() -> None:
    """Say, once, that loops are compiled."""
    global tell
    if tell is not None:
        said, tell = tell, None
        said(SAID)
