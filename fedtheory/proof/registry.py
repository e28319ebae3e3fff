"""All steps and derivations, of every paper, by name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..papers.fast import proofs as fast
from ..papers.fast.proofs import derivations as of_fast
from ..papers.fedau import proofs as fedau
from ..papers.fedau.proofs import derivations as of_fedau
from ..papers.flics import proofs as flics
from ..papers.flics.proofs import derivations as of_flics
from ..papers.safari import proofs as safari
from ..papers.safari.proofs import derivations as of_safari
from .steps import Decision, Step, decide

STEPS: tuple[Step, ...] = (*fast.STEPS, *safari.STEPS, *fedau.STEPS, *flics.STEPS)
"""Every step, paper by paper; SAFARI's proofs use FAST's lemmas."""

DERIVATIONS = (*of_fast.DERIVATIONS, *of_safari.DERIVATIONS, *of_fedau.DERIVATIONS, *of_flics.DERIVATIONS)

_BY_NAME = {step.name: step for step in STEPS}


def step(name: str) -> Step:
    """The step of that name; ``ValueError`` if there is none."""
    if name not in _BY_NAME:
        raise ValueError(f"unknown step {name!r}: known are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


@cache
def decided(name: str) -> Decision:
    """A step, decided once, after all that it rests on."""
    this = step(name)
    return decide(this, {other: decided(other) for other in needed([name]) if other != name})


def needed(names: Iterable[str]) -> tuple[str, ...]:
    """The steps of these names (one that ends in * stands for all that begin so), with all that they rest on and all
    that repairs them, each after what it needs."""
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
        matching = [n for n in _BY_NAME if n.startswith(name[:-1])] if name.endswith("*") else [name]
        if not matching:
            raise ValueError(f"step {name!r}: no step's name begins so")
        for found in matching:
            visit(found, ())
    return tuple(done)
