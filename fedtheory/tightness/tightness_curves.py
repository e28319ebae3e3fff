"""The tightness of a claim against one of its quantities: step size, local steps, or who takes part."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from ..claims.statement import Claim
from .matched_problem import own_quantities
from .measure import NOT_APPLICABLE, Tightness, tightness

SHARES = tuple(Fraction(1, 2**k) for k in range(6, -1, -1))
"""Step sizes, as shares of the one at the caps."""

LOCAL_STEPS = (1, 2, 3, 4, 6, 8)

PERIODS = (1, 2, 3, 4, 6, 8)

PROBABILITIES = tuple(Fraction(k, 8) for k in (0, 1, 2, 4, 6, 7, 8))

MOST_COHORTS = 6
"""Largest number of cohort sizes, from 1 to all clients."""

OVER = ("local_lr", "local_steps", "cohort", "arbitrary_cohort", "snapshot_probability", "client_round_probability",
        "snapshot_period")  # fmt: skip
"""Quantities that a curve may be drawn over."""


def curve(statement: Claim, given: Mapping[str, Any], over: str) -> dict[Fraction, Tightness]:
    """Compute the tightness at several values of one quantity, ``over``, one of ``OVER``.

    Step sizes are shares of the one at the caps, the other quantities as they are chosen there. Along local steps,
    sizes of cohorts and probabilities the step size is chosen anew at each value. Values that the hypotheses refuse, or
    of which no worst case is known, are left out.

    Raises:
        ValueError: ``over`` is none of them, is given, or is no quantity of the claim; the claim chooses its step size;
            nothing is known of the claim, or at none of the values.

    >>> from fedtheory.papers import claim
    >>> found = curve(claim("fast.thm2@sharper"), {"snapshot_probability": "1"}, "cohort")
    >>> [int(m) for m in found], found[Fraction(1)].after[-1].worst > found[Fraction(3)].after[-1].worst
    ([1, 2, 3, 4], True)
    """
    if over not in OVER:
        raise ValueError(f"over = {over!r}: allowed is one of {', '.join(OVER)}")
    if over in given:
        raise ValueError(f"{over} = {given[over]}: it is what is varied, leave it out")
    first = tightness(statement, **given)
    if first.status == NOT_APPLICABLE or first.values is None:
        raise ValueError(f"{statement.ref}: not applicable: {first.why}")
    if over not in own_quantities(statement):
        known = [name for name in OVER if name in own_quantities(statement)]
        raise ValueError(f"over = {over!r}: allowed for {statement.ref} is one of {', '.join(known)}")
    if over == "local_lr":
        return _over_steps(statement, first.values)
    found = {}
    for value in _values(over, int(first.values["clients"])):
        with suppress(ValueError):
            entry = tightness(statement, **given, **{over: value})
            if entry.status != NOT_APPLICABLE:
                found[value] = entry
    if not found:
        raise ValueError(f"over = {over!r}: at none of its values is a worst case of {statement.ref} known")
    return found


def _over_steps(statement: Claim, values: Mapping[str, Any]) -> dict[Fraction, Tightness]:
    if "local_lr" in statement.choices:
        raise ValueError(f"local_lr: {statement.ref} chooses it; allowed is local_steps")
    linked = {"local_lr", *statement.choices}
    fixed = {n: v for n, v in values.items() if n in own_quantities(statement) - linked}
    top = values["local_lr"]
    return {top * share: tightness(statement, **fixed, local_lr=top * share) for share in SHARES}


def _values(over: str, clients: int) -> tuple[Fraction, ...]:
    if over in ("local_steps", "snapshot_period"):
        return tuple(map(Fraction, LOCAL_STEPS if over == "local_steps" else PERIODS))
    if over.endswith("probability"):
        return PROBABILITIES
    sizes = {1 + round(k * (clients - 1) / (MOST_COHORTS - 1)) for k in range(MOST_COHORTS)}
    return tuple(map(Fraction, sorted(sizes)))


def to_json(found: Mapping[Fraction, Tightness], over: str) -> list[dict[str, Any]]:
    """Return one object for each value: the value, what is after the last round, and the constants."""
    rows = []
    for value, entry in found.items():
        last = vars(entry.after[-1]) if entry.after else {}
        known = last.get("bound") is not None and bool(last.get("worst"))
        rows.append(
            {
                over: str(value),
                "status": entry.status,
                "values": entry.to_json()["values"],
                **last,
                "bound_over_worst": last["bound"] / last["worst"] if known else None,
                "looseness": entry.looseness,
                "additive": entry.additive,
                "best_additive": entry.best_additive,
                "constants": [each.to_json() for each in entry.constants],
            }
        )
    return rows
