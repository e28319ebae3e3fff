"""The proofs of FAST (appendix A.1 to A.3), display by display, and what they show."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..steps import Decision, Step, decide
from . import a2, a3, lemmas, repaired

STEPS: tuple[Step, ...] = (*lemmas.ALL, *a2.STEPS, *a3.STEPS, *repaired.ALL)
"""Every step in the paper's order: the lemmas first, the steps that are not printed last."""


def step(name: str) -> Step:
    """The step of that name; ``ValueError`` if there is none."""
    for candidate in STEPS:
        if candidate.name == name:
            return candidate
    raise ValueError(f"unknown step {name!r}: known are {', '.join(s.name for s in STEPS)}")


@cache
def decided(name: str) -> Decision:
    """A step, decided once, after all that it rests on."""
    this = step(name)
    return decide(this, {other: decided(other) for other in needed([name]) if other != name})


def needed(names: Iterable[str]) -> tuple[str, ...]:
    """The steps of these names (one that ends in * stands for all that begin so), with all that they rest on and all
    that repairs them, each after what it needs."""
    by_name = {s.name: s for s in STEPS}
    done: dict[str, None] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"step {name!r} rests on itself: {' -> '.join((*above, name))}")
        if name in done:
            return
        this = step(name)
        for other in (*this.rests_on, *this.repaired_by):
            visit(other, (*above, name))
        done[name] = None

    for name in names:
        matching = [n for n in by_name if n.startswith(name[:-1])] if name.endswith("*") else [name]
        if not matching:
            raise ValueError(f"step {name!r}: no step's name begins so")
        for found in matching:
            visit(found, ())
    return tuple(done)
