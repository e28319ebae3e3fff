"""Walks through the house: which modules something enters at run time, and how often it goes from one to another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def walk(action: Callable[[], object]) -> list[str]:
    """The modules of fedtheory whose functions ``action`` calls, one for each change of module, without the first
    word of their names. Modules are imported before: ``action`` is done once unobserved."""
    action()
    stays: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            name = frame.f_globals.get("__name__", "")
            if name.startswith("fedtheory.") and (not stays or stays[-1] != name):
                stays.append(name)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        action()
    finally:
        sys.setprofile(before)
    return [name.removeprefix("fedtheory.") for name in stays]
