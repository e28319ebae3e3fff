"""Consistency of a claim's hypotheses with its conclusion: contradictions, and conditions that exclude convergence.

Every finding carries data from which it can be checked again. ``q_map`` shows how much room a claim leaves for the
snapshot probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike

from ..claims.ranges import Allowed, solution_set
from ..claims.statement import Claim, Hypothesis
from ..papers.registry import findings
from ..proof.compatibility import bounds_part, kept_compatibility
from ..proof.positivity import Certificate, certify
from ..proof.symbol_regions import Part, region
from ..quantities import ORDERED_PAIRS, QUANTITIES, RUN_QUANTITIES, check_values, quantity, symbol
from ..rationals import exact_number
from .bound_limits import STEP, Q, limiting_slack, needs_small_steps

FADING = ("peak_full_pseudogradient", "peak_cohort_pseudogradient")
"""Run quantities that would be 0 at the optimum with all clients in snapshot rounds, were they not maxima over the run.

The one of arbitrary cohorts is not among them: their gradients do not cancel.
"""

SLIVER = 0.01
"""Room for the snapshot probability below which it is a sliver."""


@dataclass(frozen=True)
class Finding:
    """One consequence of a claim's hypotheses.

    Attributes:
        name: ``contradictory``, ``undecided``, ``excludes_convergence``, ``asks_for_every_round_at_the_optimum``,
            ``least_snapshot_probability``, ``excludes_estimated_weights`` or ``excludes_long_runs``.
        what: one sentence, without the full stop.
        evidence: plain data to check it by.
    """

    name: str
    what: str
    evidence: Mapping[str, Any]


def check_consistency(claim: Claim) -> tuple[Finding, ...]:
    """Find faults of a claim's hypotheses, taken together and with its conclusion; () where there are none.

    - ``contradictory``: no values meet all of them, with the proof of ``compatibility``; ``undecided``: unknown.
    - ``excludes_convergence``: the bound goes to 0 only if the step size does, and then a hypothesis asks q -> 1.
    - ``asks_for_every_round_at_the_optimum``: a hypothesis on maxima over the run asks q >= 1 where they are what
      they are after convergence, so it says something only because the maxima remember the start.
    - ``least_snapshot_probability``: no admissible setting has a q below this number > 0.
    - ``excludes_estimated_weights``: estimated weights do not meet a hypothesis on weights.
    - ``excludes_long_runs``: runs that meet a hypothesis have a left side above a positive floor, the bound fades.

    >>> from fedtheory.papers import claim
    >>> for finding in check_consistency(claim("fast.thm2@appendix")):
    ...     print(finding.name)
    excludes_convergence
    least_snapshot_probability
    >>> check_consistency(claim("fast.thm2@corrected"))
    ()
    """
    found = kept_compatibility(claim)
    if found.state == "contradictory":
        fails = " or ".join(dict.fromkeys(proof["fails"] for proof in found.proofs))
        what = f"no values of the quantities meet all hypotheses: {fails} fails wherever the others hold"
        return (Finding("contradictory", what, {"proofs": list(found.proofs)}),)
    seen = [*_at_small_steps(claim), *_at_the_optimum(claim), *_least_probability(claim)]
    seen += [Finding(*own) for own in findings(claim)]
    if found.state == "unknown":
        what = "it is not known whether any values of the quantities meet all hypotheses"
        return (Finding("undecided", what, {}), *seen)
    return tuple(seen)


def _on_q(claim: Claim) -> Iterator[Hypothesis]:
    """The hypotheses that bound the snapshot probability, in the literal reading."""
    return (h for h in claim.hypotheses if symbol(Q) in h.slack.free_symbols)


def _at_small_steps(claim: Claim) -> Iterator[Finding]:
    """Conditions that ask q -> 1 as the step size goes to 0, in claims whose bound needs that. A claim that is about
    q = 1 alone, whatever the step size, says so and excludes nothing."""
    why = needs_small_steps(claim)
    if why is None:
        return
    for hypothesis in _on_q(claim):
        if symbol(STEP) not in hypothesis.slack.free_symbols:
            continue
        limit = limiting_slack(hypothesis, {STEP: 0})
        if limit is None or not _only_one(limit):
            continue
        what = (
            f"{why}; but as local_lr goes to 0, {hypothesis.name} forces snapshot_probability to 1, so that with any "
            "fixed snapshot_probability < 1, the other quantities fixed and not 0, the claim shows no convergence to 0"
        )
        yield Finding(
            "excludes_convergence",
            what,
            {
                "hypothesis": hypothesis.name,
                "slack": str(hypothesis.slack),
                "limit": str(limit),
                "least_probability": least_probabilities(hypothesis),
            },
        )


def _only_one(slack: sympy.Expr) -> bool:
    """Whether slack >= 0 holds for no q in [0, 1] but 1."""
    if {s.name for s in slack.free_symbols} != {Q}:
        return False
    allowed = solution_set(slack, Q, {})
    return all(low == 1 for low, *_ in allowed.intervals)


def least_probabilities(hypothesis: Hypothesis) -> dict[str, Any]:
    """Compute the least q allowed at the step sizes 1/100, ..., 1/10^6, all other quantities being 1: numbers to a
    limit."""
    used = {s.name for s in hypothesis.slack.free_symbols} - {STEP, Q}
    others = {name: 1 for name in QUANTITIES if name in used}
    rows = []
    for k in range(2, 7):
        # Not claim.required: a corollary's own step is replaced by these.
        allowed = solution_set(
            hypothesis.slack, Q, {n: Fraction(v) for n, v in (others | {STEP: f"1/{10**k}"}).items()}
        )
        rows.append([f"1/{10**k}", None if allowed.empty else str(allowed.intervals[0][0])])
    return {"quantities": others, "rows": rows}


def _at_the_optimum(claim: Claim) -> Iterator[Finding]:
    for hypothesis in _on_q(claim):
        fading = {name: 0 for name in FADING if symbol(name) in hypothesis.slack.free_symbols}
        limit = limiting_slack(hypothesis, fading) if fading else None
        if limit is None or not _only_one(limit):
            continue
        names = " and ".join(fading)
        what = (
            f"with {names} at 0, their values after convergence with all clients in every snapshot, {hypothesis.name} "
            "asks for snapshot_probability = 1; it asks for less only because they are maxima over the run, which "
            "remember the start"
        )
        yield Finding(
            "asks_for_every_round_at_the_optimum",
            what,
            {
                "hypothesis": hypothesis.name,
                "slack": str(hypothesis.slack),
                "zero": list(fading),
                "limit": str(limit),
            },
        )


def _least_probability(claim: Claim) -> Iterator[Finding]:
    """Conditions q >= c where c, at the step size that is best for it, is a number in (0, 1]."""
    for hypothesis in _on_q(claim):
        names = {s.name for s in hypothesis.slack.free_symbols}
        threshold = sympy.expand(symbol(Q) - hypothesis.slack)
        if symbol(Q) in threshold.free_symbols or STEP not in names or names & set(RUN_QUANTITIES):
            continue
        if not threshold.is_rational_function(*threshold.free_symbols):
            continue
        for best in sympy.solve(sympy.diff(threshold, symbol(STEP)), symbol(STEP)):
            least, point = _at_its_smallest(threshold, best)
            proofs = _split_proofs(threshold - least, best) if least.is_Rational and least > 0 else None
            if proofs is None:
                continue
            what = (
                f"{hypothesis.name} rules out every snapshot_probability below {least}, whatever the other values are"
            )
            yield Finding(
                "least_snapshot_probability",
                what,
                {
                    "hypothesis": hypothesis.name,
                    "least": str(least),
                    "attained": {name: str(value) for name, value in sorted(point.items())},
                    "certificates": [proof.to_json() for proof in proofs],
                },
            )


def _at_its_smallest(threshold: sympy.Expr, best: sympy.Expr) -> tuple[sympy.Expr, dict[str, sympy.Expr]]:
    """A guess of the threshold's minimum over all settings, and a point where it has that value: the step size is the
    stationary one, pairs such as strong_convexity <= smoothness are equal, the rest is 1."""
    values = {s: sympy.Integer(1) for s in threshold.free_symbols - {symbol(STEP)}}
    pairs = {symbol(small): symbol(large) for small, large in ORDERED_PAIRS}
    at = {symbol(STEP): best.xreplace(values)}
    guess = sympy.cancel(threshold.subs(symbol(STEP), best).xreplace(pairs))
    return guess, {s.name: v for s, v in (values | at).items()}


def _split_proofs(expression: sympy.Expr, at: sympy.Expr) -> tuple[Certificate, ...] | None:
    """Certificates of expression >= 0 for steps up to ``at``, and for those from it on."""
    u = sympy.Symbol(f"u_{STEP}")
    proofs = []
    for step in (at / (1 + u), at * (1 + u)):
        first: Part = (STEP, step, {u.name: "nonnegative"})
        rest = sorted(s.name for s in expression.free_symbols if s.name != STEP)
        # strong_convexity is written through smoothness, which therefore comes later
        rest.sort(key=lambda name: name == "smoothness")
        try:
            proof = certify(expression, region(first, *(bounds_part(n, expression) for n in rest)))
        except ValueError:
            return None
        if proof is None:
            return None
        proofs.append(proof)
    return tuple(proofs)


# Maps -----------------------------------------------------------------------------------------------------------------

KINDS = ("ruled out", "none", "sliver", "interval", "everything")
"""Kinds of points, by the room that a claim leaves for the snapshot probability.

In order: a hypothesis without it fails; no value is allowed; less than ``SLIVER`` of room; more; all of [0, 1].
"""


@dataclass(frozen=True)
class Map:
    """Snapshot probabilities that a claim's hypotheses allow, over a grid of two other quantities.

    Attributes:
        claim: its ref.
        x, y: (name, values) of the quantities along the columns and the rows.
        fixed: the values of the others.
        least: (len(y), len(x)), the smallest q allowed, nan where none is.
        room: (len(y), len(x)), the total length of what is allowed.
        kinds: (len(y), len(x)), indices into ``KINDS``.
    """

    claim: str
    x: tuple[str, np.ndarray]
    y: tuple[str, np.ndarray]
    fixed: Mapping[str, float]
    least: np.ndarray
    room: np.ndarray
    kinds: np.ndarray

    @property
    def shares(self) -> dict[str, float]:
        """The share of the grid's points of each kind."""
        return {kind: float(np.mean(self.kinds == i)) for i, kind in enumerate(KINDS)}


def q_map(claim: Claim, x: tuple[str, ArrayLike], y: tuple[str, ArrayLike], fixed: Mapping[str, float]) -> Map:
    """Compute the set of q that all hypotheses allow together, exactly, at every point of a grid.

    Args:
        x, y: (name, values) of two quantities. fixed: the values of all others that the hypotheses use.

    Raises:
        ValueError: a quantity is unknown, wrong, given twice or missing, or the claim asks nothing of q.

    >>> from fedtheory.papers import claim
    >>> found = q_map(claim("fast.thm2@appendix"), ("local_lr", [0.001, 0.025, 1]), ("strong_convexity", [0.5, 1]),
    ...               dict(smoothness=1, local_steps=1, cohort=1, arbitrary_cohort=1))
    >>> [[KINDS[k] for k in row] for row in found.kinds]
    [['sliver', 'sliver', 'ruled out'], ['sliver', 'sliver', 'ruled out']]
    >>> round(float(found.least[1, 1]), 9)
    0.99625
    """
    hypotheses = list(_on_q(claim))
    if not hypotheses:
        raise ValueError(f"{claim.ref} asks nothing of {Q}: allowed is a claim that does")
    given = [x[0], y[0], *fixed]
    for name in given:
        quantity(name)
        if name == Q or given.count(name) > 1:
            raise ValueError(f"{name}: allowed is each quantity once, and not {Q}")
    axes = []
    for name, array in (x, y):
        check_values({name: array})
        axes.append([exact_number(name, v) for v in np.ravel(np.asarray(array, dtype=object))])
    constants = {name: exact_number(name, v) for name, v in fixed.items()}
    needed = {s.name for h in claim.hypotheses for s in h.slack.free_symbols} - {Q}
    missing = [name for name in QUANTITIES if name in needed and name not in given]
    if missing:
        raise ValueError(f"the hypotheses of {claim.ref} need {', '.join(missing)}")
    shape = len(axes[1]), len(axes[0])
    least, room, kinds = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape, dtype=int)
    solve = _solver(claim)
    for row, column in np.ndindex(shape):
        values = constants | {x[0]: axes[0][column], y[0]: axes[1][row]}
        allowed = _allowed(claim, hypotheses, {n: v for n, v in values.items() if n in needed}, solve)
        kinds[row, column] = KINDS.index(_kind(allowed))
        if allowed is not None and not allowed.empty:
            least[row, column] = allowed.smallest
            room[row, column] = _length(allowed)
    floats = [np.array([float(v) for v in axis]) for axis in axes]
    return Map(claim.ref, (x[0], floats[0]), (y[0], floats[1]), dict(fixed), least, room, kinds)


Solver = Callable[[Hypothesis, Mapping[str, Fraction]], Allowed]


def _solver(claim: Claim) -> Solver:
    """Make a solver of hypotheses for q, which solves once for all points that agree in the quantities it uses."""
    used = {h: sorted({s.name for s in h.slack.free_symbols} - {Q}) for h in claim.hypotheses}
    known: dict[tuple, Allowed] = {}

    def solve(hypothesis: Hypothesis, values: Mapping[str, Fraction]) -> Allowed:
        own: dict[str, Any] = {name: values[name] for name in used[hypothesis]}
        key = hypothesis.name, *own.values()
        if key not in known:
            known[key] = claim.required(hypothesis, Q, **own)
        return known[key]

    return solve


def _allowed(
    claim: Claim, hypotheses: Sequence[Hypothesis], values: Mapping[str, Fraction], solve: Solver
) -> Allowed | None:
    """Return what the hypotheses on q allow together; ``None`` where another one fails, or the values cannot be."""
    try:
        check_values({name: float(value) for name, value in values.items()})
    except ValueError:
        return None
    if any(solve(h, values).empty for h in claim.hypotheses if h not in hypotheses):
        return None
    return reduce(Allowed.__and__, (solve(h, values) for h in hypotheses))


def _length(allowed: Allowed) -> float:
    return float(sum(high - low for low, high, *_ in allowed.intervals))


def _kind(allowed: Allowed | None) -> str:
    if allowed is None:
        return "ruled out"
    if allowed.empty:
        return "none"
    if allowed.everything:
        return "everything"
    return "sliver" if _length(allowed) < SLIVER else "interval"
