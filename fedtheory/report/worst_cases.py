"""A claim's bound, the worst case and exact errors against its step size or its local steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..claims.statement import Claim
from ..evidence.tightness import NOT_APPLICABLE, Tightness, tightness
from ..evidence.tightness_setting import own_quantities
from .style import EXACT, PRINTED, WORST, covered, finish, functional_label, panels, quantity_label, styled

SHARES = tuple(Fraction(1, 2**k) for k in range(6, -1, -1))
"""Step sizes, as shares of the one at the caps."""

LOCAL_STEPS = (1, 2, 3, 4, 6, 8)


def curve(statement: Claim, given: Mapping[str, Any], over: str) -> dict[Fraction, Tightness]:
    """The tightness at several step sizes (``over`` "local_lr") or numbers of local steps ("local_steps"), the other
    quantities as they are chosen at the largest step size; at every number of local steps the step size is chosen anew.

    Raises:
        ValueError: ``over`` is neither, or given; the claim chooses its step size, or nothing is known of it.
    """
    if over not in ("local_lr", "local_steps"):
        raise ValueError(f"over = {over!r}: allowed is 'local_lr' or 'local_steps'")
    if over in given:
        raise ValueError(f"{over} = {given[over]}: it is what is varied, leave it out")
    first = tightness(statement, **given)
    if first.status == NOT_APPLICABLE or first.values is None:
        raise ValueError(f"{statement.ref}: not applicable: {first.why}")
    if over == "local_lr":
        if "local_lr" in statement.choices:
            raise ValueError(f"local_lr: {statement.ref} chooses it; allowed is local_steps")
        linked = {"local_lr", *statement.choices}
        fixed = {n: v for n, v in first.values.items() if n in own_quantities(statement) - linked}
        top = first.values["local_lr"]
        return {top * share: tightness(statement, **fixed, local_lr=top * share) for share in SHARES}
    return {Fraction(steps): tightness(statement, **given, local_steps=steps) for steps in LOCAL_STEPS}


@styled()
def figure(statement: Claim, found: Mapping[Fraction, Tightness], over: str) -> Figure:
    """Bound, worst case and the exact error of quadratics after the claim's rounds, in one picture."""
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
    finish(axes[0], statement.ref, quantity_label(over, statement.paper), functional_label(statement.functional))
    return drawn


def _series(entries: Any, name: str) -> np.ndarray:
    values: Sequence[float | None] = [getattr(each.after[-1], name) if each.after else None for each in entries]
    return np.array([np.nan if value is None or not np.isfinite(value) else value for value in values])
