"""A claim's bound, the worst case and exact errors against its step size, its local steps or who takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..claims.statement import Claim
from ..claims.typeset import rounds_letter
from ..tightness.matched_problem import own_quantities
from ..tightness.measure import Tightness, worst_errors
from .colours import EXACT, PRINTED, WORST
from .style import covered, finish, functional_label, panels, quantity_label, styled


@styled()
def figure(statement: Claim, found: Mapping[Fraction, Tightness], over: str) -> Figure:
    """Draw bound, worst case and the exact error of quadratics after the claim's rounds, in one picture."""
    across = np.array([float(each) for each in found])
    bound, worst, exact = (_series(found.values(), name) for name in ("bound", "worst", "attained"))
    drawn, axes = panels(7, 4.5)
    for curve_, later, style in (
        (bound, [worst, exact], {"color": PRINTED, "label": "bound"}),
        (worst, [exact], {"color": WORST, "label": "worst case"}),
        (exact, [], {"color": EXACT, "label": "exact, quadratic clients", "ls": "--"}),
    ):
        axes[0].plot(across, curve_, **style | covered(curve_, later))
    axes[0].set_xscale("log" if over == "local_lr" else "linear")
    if all((each > 0).all() for each in (bound, worst) if np.isfinite(each).all()):
        axes[0].set_yscale("log")
    finish(
        axes[0],
        statement.ref,
        quantity_label(over, statement.paper),
        functional_label(statement.functional, rounds_letter(statement.letters)),
    )
    return drawn


def _series(entries: Any, name: str) -> np.ndarray:
    values: Sequence[float | None] = [getattr(each.after[-1], name) if each.after else None for each in entries]
    return np.array([np.nan if value is None or not np.isfinite(value) else value for value in values])


def over_rounds(claims: Sequence[Claim], bounds: Sequence[Any], places: np.ndarray) -> np.ndarray:
    """The worst error of a class after each number of rounds, at the quantities of bounds over rounds: of the first
    claim whose hypotheses hold there, so that its class is known.

    Raises:
        ValueError: there is no such claim; why not, claim by claim.
    """
    reasons = []
    for statement, bound in zip(claims, bounds, strict=True):
        own = own_quantities(statement) - {"rounds", *statement.choices}
        given = {name: _exact(value) for name, value in bound.quantities.items() if name in own and not np.ndim(value)}
        try:
            return _along(statement, given, places)
        except ValueError as why:
            reasons.append(f"{statement.ref}: {why}")
    raise ValueError(f"worst: {'; '.join(reasons)}; allowed is worst = false")


def _along(statement: Claim, given: Mapping[str, Any], places: np.ndarray) -> np.ndarray:
    rounds = places.tolist()
    if any("rounds" in {s.name for s in choice.free_symbols} for choice in statement.choices.values()):
        return np.array([worst_errors(statement, [R], **given)[R] for R in rounds])
    errors = worst_errors(statement, rounds, **given)
    return np.array([errors[R] for R in rounds])


def _exact(value: Any) -> Any:
    """A number as nine digits say it: what is irrational has no other exact one."""
    return Fraction(f"{float(value):.9g}")
