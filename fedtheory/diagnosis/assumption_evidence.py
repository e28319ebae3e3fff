"""Evidence of a log on what theorems assume of participation: not violated, violated by how much,
or not to be told from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..assumptions import (
    COHORT_BEFORE_NOISE,
    INDEPENDENT_ANSWERS,
    INDEPENDENT_DRAWS,
    INDEPENDENT_PARTICIPATION,
    STATIONARY_AVAILABILITY,
    UNIFORM_COHORTS,
)
from .time_dependence import two_sided

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

EVERYBODY_COMES = "everybody comes"
"""Assumption that every client's rate is above 0, which 1/p and every average over rounds need."""

UNTOLD = "cannot be told from this log"


def assumption_evidence(found: Diagnosis) -> dict[str, dict[str, str]]:
    """Return for each assumption ``answer`` ("violated", "not violated" or "cannot be told from this log") and ``why``.

    A log can refute an assumption; "not violated" says that no test of its family-wise level did.
    """
    tail = (1 - found.level) / 4
    against = []
    if found.family is None:
        short = {"answer": UNTOLD, "why": found.missing}
        independent = stationary = short
    else:
        if two_sided(found.runs_z) < tail:
            against.append(f"rounds depend on each other: correlation {found.memory:+.2f} with the next one")
        if two_sided(found.absences_z) < tail:
            against.append(f"absences are {'longer' if found.absences_z > 0 else 'more even'} than geometric ones")
        if found.sizes.found:
            against.append(
                f"the size of a round varies {found.sizes.ratio:.2f} times as much as of independent clients"
            )
        if found.pairs:
            against.append(f"{len(found.pairs)} pairs of clients come together too often or too seldom")
        independent = _answer(against, "no memory, no dependence between clients found")
        moved = [f"{len(found.changes)} clients joined, left or changed"] if found.changes else []
        moved += [
            f"rounds differ by the {each.of}: ripple {each.ripple:.0%}"
            for each in found.calendar
            if each.p is not None and each.p < tail
        ]
        stationary = _answer(moved, "no client changed, no hour or weekday differs")
    never = [found.names[i] for i in found.never]
    cohort = found.mask.sum(axis=1)
    few = f"client {', '.join(never[:3])}{' and others' if len(never) > 3 else ''} never came"
    own = {"answer": UNTOLD, "why": "it is about draws of the server's own, or about noise, which are not in the log"}
    return {
        INDEPENDENT_PARTICIPATION: independent,
        STATIONARY_AVAILABILITY: stationary,
        EVERYBODY_COMES: _answer([few] if never else [], "every client came"),
        UNIFORM_COHORTS: own
        | {
            "why": f"{own['why']}; rounds have {_span(cohort)} clients, from {found.rates.rate.min():.2g} to "
            f"{found.rates.rate.max():.2g} of the rounds each"
        },
        COHORT_BEFORE_NOISE: own,
        INDEPENDENT_DRAWS: own,
        INDEPENDENT_ANSWERS: own,
    }


def _answer(against: list[str], otherwise: str) -> dict[str, str]:
    return (
        {"answer": "violated", "why": "; ".join(against)} if against else {"answer": "not violated", "why": otherwise}
    )


def _span(sizes: np.ndarray) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    return str(low) if low == high else f"{low} to {high}"
