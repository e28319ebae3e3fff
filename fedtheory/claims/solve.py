"""Operations on a claim: solve its hypotheses for a quantity, its bound for the rounds; minimise; compare terms.

Values are single numbers, and a float is the dyadic number that it is: where a function decides, it decides about
those exactly, while ``Claim.evaluate`` rounds. At the last digit of an end the two may differ. A quantity that a
claim chooses is neither given nor asked for; its choice stands for it. Step sizes that a claim links may be given and
asked for either way (``schedules``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..quantities import QUANTITIES, check_values, quantity, symbol
from ..rationals import exact_number
from .arithmetic import compiled_slack, compiled_term
from .ranges import Allowed, bounds, solution_set
from .rounds_needed import least_rounds
from .schedules import linked_from

if TYPE_CHECKING:
    from .statement import Claim, Hypothesis

_DENSITY = 267
_SMALLEST, _LARGEST = 1e-300, 1e300
_FLAT = 1e-13


def required(claim: Claim, hypothesis: str | Hypothesis, quantity_name: str, /, **values: float) -> Allowed:
    """Return the values of one quantity for which a hypothesis holds, {x : slack(x) >= 0}, with all others given.

    A finite union of intervals within the quantity's bounds (those of ``QUANTITIES``, and strong_convexity <=
    smoothness, cohort <= clients, ... where the other one is given). The relation is multiplied out with the sign
    that its denominator has, whichever that is; what divides by zero follows the rule of
    ``fedtheory.claims.arithmetic``. A hypothesis that does not use the quantity allows all of it or nothing. Exact:
    see ``Allowed``.

    Args:
        hypothesis: its name, or a hypothesis itself, such as another reading of it (``Hypothesis.under``).

    Raises:
        ValueError: a value is unknown, wrong or missing, the quantity is among them, or the relation's sign is not seen
            somewhere (see ``ranges.solution_set``).

    One theorem asks q >= numerator/denominator. With 2 L K eta_c = 1/4, sigma_G = 0 and G_2 = 1 the quotient is
    0.75 / (0.75 + G_3/4 - G_1). Where it exceeds 1, or its denominator vanishes, no q satisfies the condition; where
    the denominator is negative, every q does; between, an interval.

    >>> from fedtheory.papers import claim
    >>> thm1 = claim("fast.thm1")
    >>> given = dict(smoothness=1, local_steps=1, local_lr=0.125, dissimilarity=0, peak_arbitrary_pseudogradient=1,
    ...              peak_cohort_pseudogradient=3)
    >>> for G_1 in (0, 1, 1.5, 2):
    ...     print(G_1, required(thm1, "q_condition", "snapshot_probability", peak_full_pseudogradient=G_1, **given))
    0 snapshot_probability in [0.5, 1]
    1 snapshot_probability: none
    1.5 snapshot_probability: none
    2 snapshot_probability: any in [0, 1]
    >>> print(required(thm1, "q_condition", "peak_full_pseudogradient", snapshot_probability=0.75, **given))
    peak_full_pseudogradient in [0, 0.5] or (1.5, inf)
    """
    claim = linked_from(claim, (quantity_name, *values))
    chosen = claim.hypothesis(hypothesis) if isinstance(hypothesis, str) else hypothesis
    known = _given(claim, quantity_name, values)
    slack = _with_choices(claim, chosen.slack)
    _complete(f"{chosen.name} of {claim.ref}", [slack], quantity_name, known)
    try:
        return solution_set(slack, quantity_name, known)
    except ValueError as error:
        raise ValueError(f"{chosen.name} of {claim.ref} cannot be solved for {quantity_name}: {error}") from None


def largest_step(claim: Claim, /, **values: float) -> float:
    """Return the largest local_lr for which every hypothesis holds whose quantities are given.

    The largest float for which they hold exactly and for which ``evaluate`` (which rounds) agrees; the exact
    supremum is at most a few roundings above, and if it is not attained, the float is below it.

    Raises:
        ValueError: no hypothesis is decidable, no step satisfies them, or none of them bounds it; a value is wrong.

    >>> from fedtheory.papers import claim
    >>> largest_step(claim("fast.thm1"), smoothness=1, local_steps=2, cohort=4, arbitrary_cohort=2,
    ...              snapshot_probability=0.5)
    0.0375
    """
    claim = linked_from(claim, ("local_lr", *values))
    known = _given(claim, "local_lr", values)
    allowed, names = _allowed(claim, "local_lr", known)
    stated = f"the hypotheses {', '.join(names)} of {claim.ref}"
    if not names:
        raise ValueError(f"no hypothesis of {claim.ref} can be decided: {_still_needed(claim, 'local_lr', known)}")
    if allowed.empty:
        raise ValueError(f"no local_lr satisfies {stated}")
    if math.isinf(allowed.largest):
        raise ValueError(f"every large local_lr satisfies {stated}: allowed is a claim that bounds it")
    step = allowed.largest if allowed.largest in allowed else math.nextafter(allowed.largest, 0)
    rounded, arrays = step, _arrays(known)
    slacks = [compiled_slack(_with_choices(claim, claim.hypothesis(name).slack)) for name in names]
    for _ in range(64):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if rounded in allowed and all(slack(arrays | _arrays({"local_lr": rounded})) >= 0 for slack in slacks):
                return rounded
        rounded = math.nextafter(rounded, 0)
    return step


def rounds_to(claim: Claim, epsilon: float, /, **values: float) -> int:
    """Return the least number of rounds with right side <= epsilon, exact to the integer, among those that the claim
    allows.

    Those are the rounds for which every hypothesis holds that is printed about rounds (``rounds >= 2``) and whose
    other quantities are given; no other hypothesis is looked at. A right side that rises with the rounds, first or
    later, is solved too: it may exceed epsilon again after the answer. See ``rounds_needed.least_rounds``.

    Raises:
        ValueError: ``epsilon`` is no finite number > 0, or no number of rounds is enough: then it is not above the
            floor, the right side's limit for infinitely many rounds (which the message names), or the right side rises
            before it gets there; or the right side cannot be told from epsilon; a value is wrong or missing.

    >>> from fedtheory.papers import claim
    >>> given = dict(smoothness=1, gradient_noise=1, dissimilarity=0, initial_gap=1, cohort=1, arbitrary_cohort=1,
    ...              local_steps=1, local_lr=0.125, snapshot_probability=1)
    >>> rounds_to(claim("fast.thm1"), 0.75, **given)    # 32/R + 1/2
    128
    >>> rounds_to(claim("fast.thm1"), 0.5, **given)
    Traceback (most recent call last):
    ValueError: epsilon = 0.5: allowed is a number above the floor 0.5 of fast.thm1@main
    >>> rounds_to(claim("fedau.thm3"), 0.1, cutoff=5, cutoff_bias=0)    # 5 (2 + 3/log 2) log(R)/R
    2472
    """
    target = exact_number("epsilon", epsilon)
    if target <= 0:
        raise ValueError(f"epsilon = {epsilon}: allowed is a finite number > 0")
    claim = linked_from(claim, values)
    known = _given(claim, "rounds", values)
    right = _right_side(claim)
    _complete(f"the right side of {claim.ref}", [right], "rounds", known)
    printed = [h for h in claim.hypotheses if "rounds" in _names(h.slack)]
    within, names = _allowed(replace(claim, hypotheses=tuple(printed)), "rounds", known)
    if within.empty:
        raise ValueError(f"no rounds satisfies the hypotheses {', '.join(names)} of {claim.ref}")
    return least_rounds(right, known, within, target, claim.ref)


def minimize(claim: Claim, quantity_name: str, /, **values: float) -> tuple[float, float]:
    """Minimise the right side over the values of one quantity that every decidable hypothesis allows: (argmin, min).

    Deterministic. Candidates: the closed ends of the allowed intervals; the local minima among samples of each
    interval between 1e-300 and 1e300, 267 a decade and 1001 evenly spaced ones, the 20 least of
    each interval refined by Brent's method; for an integer quantity, the whole numbers next to those, or all if there
    are at most 10^5.

    Accuracy: a minimum between samples that are both larger than the best found is missed if its valley is
    narrower than a sample's distance (0.9 %); otherwise the value has a relative error of about 1e-12 and the
    argmin, where the right side is smooth, of about 1e-6 (flat minima have no more in floating point). Ends and
    integer arguments are exact. Of equal values the smallest argument is returned.

    Raises:
        ValueError: the decidable hypotheses allow no value, the infimum is only approached at an open end, or a
            value is wrong or missing.

    >>> from fedtheory.papers import claim
    >>> given = dict(smoothness=1, gradient_noise=1, dissimilarity=0, initial_gap=1, cohort=1, arbitrary_cohort=1,
    ...              local_steps=1, snapshot_probability=1)
    >>> step, value = minimize(claim("fast.thm1"), "local_lr", rounds=10**4, **given)    # 4/(R eta) + 4 eta
    >>> round(step, 6), round(value, 9)
    (0.01, 0.08)
    >>> minimize(claim("fast.thm1"), "rounds", local_lr=0.125, **given)
    Traceback (most recent call last):
    ValueError: the right side of fast.thm1@main has no minimum over rounds: it falls towards inf, which is not allowed
    """
    claim = linked_from(claim, (quantity_name, *values))
    known = _given(claim, quantity_name, values)
    _complete(f"the right side of {claim.ref}", [_right_side(claim)], quantity_name, known)
    allowed, names = _allowed(claim, quantity_name, known)
    if allowed.empty:
        raise ValueError(f"no {quantity_name} satisfies the hypotheses {', '.join(names)} of {claim.ref}")
    arrays = _arrays(known)
    terms = [compiled_term(_with_choices(claim, term.expression)) for term in claim.terms]

    def right(x: np.ndarray | float) -> np.ndarray:
        with np.errstate(all="ignore"):
            value = reduce(np.add, [term(arrays | _arrays({quantity_name: x})) for term in terms])
            value = np.broadcast_to(value, np.shape(x))
        return np.where(np.isnan(value), np.inf, value)

    reached: list[tuple[float, float]] = []
    approached: list[tuple[float, float]] = []
    seen = []
    for low, high, low_closed, high_closed in allowed.intervals:
        one = Allowed(quantity_name, ((low, high, low_closed, high_closed),), allowed.bounds)
        grid = _grid(one.smallest, one.largest, low_closed, quantity(quantity_name).integer)
        y = right(grid)
        seen.append(y)
        inner = slice(0 if low_closed else 1, len(grid) if high_closed else -1)
        if not low_closed:
            approached.append((y[0], one.smallest))
        if not high_closed:
            approached.append((y[-1], one.largest))
        reached += zip(y[inner], grid[inner], strict=True)
        reached += _refined(right, grid, y, quantity(quantity_name).integer)
    value, argument = min(reached)
    samples = np.concatenate(seen)
    flat = np.ptp(samples) <= _FLAT * np.abs(samples).max() if np.isfinite(samples).all() else False
    lost = min(approached, default=(math.inf, 0.0))
    if lost[0] <= value and not flat:
        raise ValueError(
            f"the right side of {claim.ref} has no minimum over {quantity_name}: it falls towards {lost[1]:g}, "
            "which is not allowed"
        )
    return (int(argument) if quantity(quantity_name).integer else float(argument)), float(value)


def dominant_term(claim: Claim, /, **values: float) -> str:
    """Return the name of the largest term of the right side; of equal ones the first printed.

    Raises:
        ValueError: a value is unknown, wrong, missing or not a single number.

    >>> from fedtheory.papers import claim
    >>> dominant_term(claim("fast.thm1"), smoothness=1, gradient_noise=1, dissimilarity=0, initial_gap=1, cohort=1,
    ...               arbitrary_cohort=1, local_steps=1, local_lr=0.125, snapshot_probability=1, rounds=1000)
    'noise'
    """
    claim = linked_from(claim, values)
    known = _given(claim, None, values)
    _complete(f"the right side of {claim.ref}", [_right_side(claim)], None, known)
    arrays = _arrays(known)
    at = {term.name: compiled_term(_with_choices(claim, term.expression)) for term in claim.terms}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return max(claim.terms, key=lambda term: float(at[term.name](arrays))).name


def _with_choices(claim: Claim, expression: sympy.Expr) -> sympy.Expr:
    return expression.xreplace({symbol(name): choice for name, choice in claim.choices.items()})


def _right_side(claim: Claim) -> sympy.Expr:
    return _with_choices(claim, claim.right_side)


def _given(claim: Claim, asked: str | None, values: Mapping[str, float]) -> dict[str, Fraction]:
    """The values, checked, as Fractions; ``asked`` is the quantity that must not be among them."""
    for name in claim.choices:
        if name == asked or name in values:
            raise ValueError(f"{name}: {claim.ref} chooses it, allowed is any other quantity")
    if asked is not None:
        quantity(asked)
        if asked in values:
            raise ValueError(f"{asked} = {values[asked]}: allowed is to leave out what is asked for")
    check_values(values)
    for name, value in values.items():
        if np.ndim(value):
            raise ValueError(f"{name} = {value}: allowed is a single number, {quantity(name).allowed}")
    return {name: exact_number(name, value) for name, value in values.items()}


def _names(expression: sympy.Expr) -> set[str]:
    return {s.name for s in expression.free_symbols}


def _complete(what: str, expressions: list[sympy.Expr], asked: str | None, known: Mapping[str, Fraction]) -> None:
    used = set().union(*map(_names, expressions)) - {asked}
    missing = [name for name in QUANTITIES if name in used and name not in known]
    if missing:
        raise ValueError(f"{what} needs {', '.join(missing)}")


def _allowed(claim: Claim, name: str, known: Mapping[str, Any]) -> tuple[Allowed, list[str]]:
    """Return the values that all decidable hypotheses allow together, and the names of these hypotheses."""
    decidable = [h for h in claim.hypotheses if _names(_with_choices(claim, h.slack)) <= {name, *known}]
    within = bounds(name, known)
    sets = [required(claim, h, name, **known) for h in decidable]
    return reduce(Allowed.__and__, sets, Allowed(name, (within,), within)), [h.name for h in decidable]


def _still_needed(claim: Claim, asked: str, known: Mapping[str, Fraction]) -> str:
    needs = []
    for h in claim.hypotheses:
        missing = _names(_with_choices(claim, h.slack)) - {asked, *known}
        needs.append(f"{h.name} needs {', '.join(name for name in QUANTITIES if name in missing)}")
    return "; ".join(needs) or "it has none"


def _arrays(values: Mapping[str, object]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value, dtype=float) for name, value in values.items()}


def _grid(low: float, high: float, low_closed: bool, integer: bool) -> np.ndarray:
    """Samples of an interval, increasing, with its ends (but for an open end 0, where the right side may be infinite,
    and for infinity)."""
    if low == high or (integer and high - low <= 1e5):
        return np.arange(low, high + 1) if integer else np.array([low])
    if low < 0:
        below = -_grid(max(-high, 0.0), -low, high <= 0, integer)
        above = _grid(0.0, high, True, integer) if high > 0 else below[:0]
        return np.unique(np.concatenate([below, above]))
    top = high if math.isfinite(high) else _LARGEST
    bottom = low if low > 0 else min(_SMALLEST, high / 2)
    first = low if low_closed or low > 0 else bottom
    count = 2 + math.ceil(_DENSITY * (math.log10(top) - math.log10(bottom)))
    samples = [np.geomspace(bottom, top, count), np.linspace(first, top, 1001), np.array([first, top])]
    grid: np.ndarray = np.clip(np.concatenate(samples), first, top)
    return np.unique(np.round(grid) if integer else grid)


def _refined(right: Callable, grid: np.ndarray, y: np.ndarray, integer: bool) -> list[tuple[float, float]]:
    """(value, argument) of the local minima next to the lowest samples."""
    from scipy.optimize import minimize_scalar

    found: list[tuple[float, float]] = []
    left, middle, after = y[:-2], y[1:-1], y[2:]
    valleys = 1 + np.flatnonzero((middle <= left) & (middle <= after) & ((middle < left) | (middle < after)))
    if integer and len(grid) > 1 and grid[-1] - grid[0] == len(grid) - 1:
        return found
    for i in valleys[np.argsort(y[valleys], kind="stable")][:20]:
        ends = grid[i - 1], grid[i + 1]
        x = minimize_scalar(right, bounds=ends, method="bounded", options={"xatol": 1e-9 * grid[i]}).x
        near = np.clip(np.floor(x) + np.arange(-2, 4), *ends) if integer else np.array([x])
        found += zip(right(near), near, strict=True)
    return found
