"""Repairs of a claim that falls, and looseness of one that does not: the weakest constants that survive.

Each repair puts one constant c into the claim: a factor of a term, of the right side or of a step cap, a floor, a bound
on the start. At every admissible setting tried, at every horizon, the smallest c follows in closed form; a climb then
looks for settings that ask for more. A constant that survives is a lead, not a proof; one below it falls, in floating
point, at the setting that is named.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import sympy

from ..claims.evaluation import compiled
from ..claims.statement import Claim, Hypothesis, Term
from ..papers.registry import subject_of
from ..participation import Fixed
from ..quantities import RUN_QUANTITIES, Units, symbol
from ..setting import Setting
from .adversarial_settings import (
    BEYOND,
    HORIZONS,
    STEP,
    Q,
    Rows,
    described,
    fast_of,
    is_cap,
    known_settings,
    least_pseudogradients,
    neighbour,
    rows_of,
    speaks_of_the_run,
    structured_settings,
)
from .search import SEEN
from .units_check import check_units

DECADES = 2
"""Number of tenfold reductions of the step size over which a setting is followed.

Horizons grow a hundredfold with each. They show whether the constant that the setting asks for stays bounded.
"""

CLIMB = 60
"""Number of steps of the climb from the setting that asks for most."""

LEAD = "a lead, not a proof"

UPPER = ("cap", "start")
"""Repairs whose constant is an upper limit: the claim was seen to fall at it, and nowhere below."""


@dataclass(frozen=True)
class Repair:
    """One change of a claim, with the weakest constant that survives every setting tried.

    Attributes:
        name: ``factor``, ``right_side``, ``cap``, ``floor``, ``start`` or ``minima``.
        where: the term or hypothesis that is changed or added, or ``right side``.
        change: the change in words, with c.
        constant: c, for a cap or a bound on the start the infimum of what falls; infinite (0 for a cap or a bound on
            the start) where no constant survives.
        survives: whether some constant does.
        homogeneous: whether the changed claim passes the units check.
        settings, admissible: how many settings were tried, and how many of them meet every hypothesis at some horizon.
        worst: the setting that sets the constant: its numbers, rounds and both sides; {} if there is none.
        growth: (step size, rounds, constant asked for) from the worst setting on, to smaller steps and longer horizons.
        repaired: the changed claim, with c rounded to three digits to the safe side; ``None`` where none survives or
            the change is in what a quantity means.
        seen: of a factor: the largest share of the right side that the term has at an admissible setting.
    """

    name: str
    where: str
    change: str
    constant: float
    survives: bool
    homogeneous: bool
    settings: int
    admissible: int
    worst: Mapping[str, Any]
    growth: tuple[tuple[float, float, float], ...] = ()
    repaired: Claim | None = None
    seen: float = 1.0

    @property
    def sentence(self) -> str:
        """Write the result in one sentence, which says how far it goes."""
        units = "" if self.homogeneous else "; its units do not match"
        tried = f"{self.admissible} admissible settings of {self.settings}"
        if not self.admissible:
            return f"{self.change}: no setting of {self.settings} meets the hypotheses then{units}"
        if self.name == "minima":
            return f"{self.change}: {'none falls of' if self.survives else 'some fall of'} {tried} ({LEAD}){units}"
        if self.survives and self.constant == 0 and self.seen < SEEN:
            most = f"at most {self.seen:.2g} of the right side at each of {tried}"
            return f"{self.where} is unseen: {most}, which do not say whether it is needed{units}"
        if self.survives:
            most = ", the largest looked at," if self.name == "cap" and self.constant >= max(BEYOND) else ""
            value = "every c below" if self.name in UPPER and not most else "c ="
            return f"{self.change}: {value} {self.constant:.4g}{most} survives {tried} ({LEAD}){units}"
        grows = f"; c would have to be {self._asked}" if self.growth else ""
        return f"{self.change}: no c survives {tried}{grows}{units}"

    @property
    def _asked(self) -> str:
        """Write the constant c that the worst setting asks for, and those on the way to smaller steps."""
        if any(math.isinf(need) for *_, need in self.growth):
            return "infinite, as what it multiplies is 0 there"
        needs = [need for *_, need in self.growth]
        limits = [1 / need if need else math.inf for need in needs] if self.name in UPPER else needs
        numbers = ", ".join(
            f"{c:.3g} at local_lr = {step:.3g}" for c, (step, *_) in zip(limits, self.growth, strict=True)
        )
        return f"{'below' if self.name in UPPER else 'at least'} {numbers}"


Need = Callable[[Rows], np.ndarray]
"""The constant that each horizon of a setting asks for; -inf where the hypotheses do not hold or nothing is asked."""


def repairs(claim: Claim, settings: Sequence[Setting] | None = None, seed: int = 0) -> tuple[Repair, ...]:
    """Try the standard repairs of a claim about runs; each comes with its weakest surviving constant.

    () for other claims and for those that choose their step size.

    Args:
        settings: what to try; by default those of the published instance and of a search, and structured families.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/50")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=3)
    >>> found = {r.change: r.survives for r in repairs(ft.claim("fast.thm1"), [s])}
    >>> found["the right side times c"], found["plus c dissimilarity**2*(1 - snapshot_probability)**2"]
    (False, True)
    """
    if not subject_of(claim).space(claim).repairable:
        return ()
    pool = _Pool(claim, settings, seed)
    found = [pool.repair(*_factor(claim, term.name)) for term in claim.terms]
    found.append(pool.repair(*_right_side(claim)))
    found += [pool.repair(*_cap(claim, h)) for h in claim.hypotheses if is_cap(h)]
    floors = [_floor(claim, power) for power in (1, 2)] if pool.falls else []
    found += [pool.repair(*floor) for floor in floors if floor]
    if pool.falls and "dissimilarity" in claim.quantities:
        found.append(pool.repair(*_start(claim)))
    if speaks_of_the_run(claim):
        found.append(pool.minima())
    return tuple(found)


def tight_constant(claim: Claim, term: str, settings: Sequence[Setting] | None = None, seed: int = 0) -> Repair:
    """Compute the smallest factor c of one term, the others kept, with which the claim survives every setting tried:

        max over settings and rounds of (left - the other terms) / term,

    and at least 0. Below 1 it says how loose the term is, above 1 that the claim falls.

    Raises:
        ValueError: no term has that name, or the claim is not about runs of ``fast`` with a step size of the user's
        choice.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_probability=1, cohort=2, local_lr="1/100")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=1)
    >>> round(tight_constant(ft.claim("fast.thm2@appendix"), "initial", [s]).constant, 3)    # as the step vanishes
    1.0
    """
    claim.term(term)
    if not subject_of(claim).space(claim).repairable:
        raise ValueError(f"claim = {claim.ref}: allowed is one about runs of fast that does not choose its step size")
    return _Pool(claim, settings, seed).repair(*_factor(claim, term))


Plan = tuple[str, str, str, Need, bool, Callable[[sympy.Rational], Claim]]
"""A repair: name, where, change, need, whether the constant is an upper limit, the changed claim at a constant."""


def _factor(claim: Claim, name: str) -> Plan:
    def need(rows: Rows) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            others = rows.right - rows.terms[name]
            missing = rows.surely_left - others
            asked = np.where(missing <= 0, 0.0, missing / rows.terms[name])
        return np.where(rows.admissible(), asked, -np.inf)

    def changed(c: sympy.Rational) -> Claim:
        return _edited(claim, terms={name: c * claim.term(name).expression})

    return "factor", name, f"{name} times c", need, False, changed


def _right_side(claim: Claim) -> Plan:
    def need(rows: Rows) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            asked = np.where(rows.left <= 0, 0.0, rows.surely_left / rows.right)
        return np.where(rows.admissible(), asked, -np.inf)

    def changed(c: sympy.Rational) -> Claim:
        return _edited(claim, terms={t.name: c * t.expression for t in claim.terms})

    return "right_side", "right side", "the right side times c", need, False, changed


def _cap(claim: Claim, hypothesis: Hypothesis) -> Plan:
    """The largest c is just below the smallest step, over the cap, at which something falls."""

    def need(rows: Rows) -> np.ndarray:
        step, slack = rows.quantities[STEP], rows.slack[hypothesis.name]
        asked = np.where(rows.falls, (slack + step) / step, 1 / max(BEYOND))  # cap / step
        looked_at = np.isfinite(slack) & (asked >= 1 / max(BEYOND))
        return np.where(rows.admissible(but=hypothesis.name) & looked_at, asked, -np.inf)

    def changed(c: sympy.Rational) -> Claim:
        return _edited(claim, hypotheses={hypothesis.name: sympy.Le(symbol(STEP), c * hypothesis.relation.rhs)})

    return "cap", hypothesis.name, f"{hypothesis.name} times c", need, True, changed


def _floor(claim: Claim, power: int) -> Plan | None:
    """One more term c (1 - q)^power dissimilarity^2 / curvature^i, where some i gives it the units of the left side."""
    units: Units = claim.functional.units
    i = 2 - units.objective
    if units.parameter != 2 * i - 2 or {"dissimilarity", Q} - set(claim.quantities):
        return None
    curvature = "strong_convexity" if "strong_convexity" in claim.quantities else "smoothness"
    floor = (1 - symbol(Q)) ** power * symbol("dissimilarity") ** 2 / symbol(curvature) ** int(i)

    def need(rows: Rows) -> np.ndarray:
        at = (1 - rows.quantities[Q]) ** power * rows.quantities["dissimilarity"] ** 2
        at = at / rows.quantities[curvature] ** i
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            missing = rows.surely_left - rows.right
            asked = np.where(missing <= 0, 0.0, missing / at)
        return np.where(rows.admissible(), asked, -np.inf)

    def changed(c: sympy.Rational) -> Claim:
        return replace(_edited(claim), terms=(*claim.terms, Term("floor", c * floor)))

    return "floor", "floor", f"plus c {floor}", need, False, changed


def _start(claim: Claim) -> Plan:
    """A start within a distance of the optimum: initial_gap <= c dissimilarity^2 / smoothness, or initial_distance <=
    c dissimilarity / smoothness."""
    name, power = ("initial_gap", 2) if "initial_gap" in claim.quantities else ("initial_distance", 1)
    bound = symbol("dissimilarity") ** power / symbol("smoothness")

    def need(rows: Rows) -> np.ndarray:
        scale = rows.quantities["dissimilarity"] ** power / rows.quantities["smoothness"]
        with np.errstate(divide="ignore", invalid="ignore"):
            asked = np.where(rows.falls, scale / rows.quantities[name], 0.0)
        return np.where(rows.admissible(), asked, -np.inf)

    def changed(c: sympy.Rational) -> Claim:
        extra = Hypothesis("near_start", sympy.Le(symbol(name), c * bound), "added")
        return replace(_edited(claim), hypotheses=(*claim.hypotheses, extra))

    return "start", "near_start", f"if {name} <= c {bound}", need, True, changed


def _edited(claim: Claim, **changes: Any) -> Claim:
    return claim.edited("repaired", claim.source, **changes)


class _Pool:
    """The settings tried so far; those that a climb finds for one repair serve the next ones too."""

    def __init__(self, claim: Claim, settings: Sequence[Setting] | None, seed: int) -> None:
        self.claim, self.seed = claim, seed
        given = list(settings) if settings is not None else [*known_settings(claim, seed), *structured_settings(claim)]
        self.tried = 0
        self.rows: list[Rows] = []
        for setting in given:
            self.look(setting)

    @property
    def falls(self) -> bool:
        """Whether the claim falls at some setting."""
        return any((rows.falls & rows.admissible()).any() for rows in self.rows)

    def look(self, setting: Setting) -> Rows | None:
        self.tried += 1
        rows = rows_of(self.claim, setting)
        if rows is not None:
            self.rows.append(rows)
        return rows

    def repair(
        self, name: str, where: str, change: str, need: Need, upper: bool, changed: Callable[[sympy.Rational], Claim]
    ) -> Repair:
        best = max(self.rows, key=lambda rows: need(rows).max(), default=None)
        if best is not None and -np.inf < need(best).max() < np.inf:
            best = self._climb(best, need)
        admissible = sum(bool(np.isfinite(need(rows)).any() or (need(rows) == np.inf).any()) for rows in self.rows)
        homogeneous = not check_units(changed(sympy.Integer(2)))
        if best is None or need(best).max() == -np.inf:
            return Repair(name, where, change, math.nan, False, homogeneous, self.tried, 0, {})
        asked = float(need(best).max())
        growth = self._growth(best, int(np.argmax(need(best))), need)
        bounded = asked < np.inf and not _grows(growth)
        constant = (1 / asked if asked else math.inf) if upper else asked
        if not bounded:
            constant = 0.0 if upper else math.inf
        usable = bounded and 0 <= constant < math.inf
        return Repair(
            name,
            where,
            change,
            constant,
            bounded,
            homogeneous,
            self.tried,
            admissible,
            described(best, int(np.argmax(need(best)))),
            growth,
            changed(_safe(constant, down=upper)) if usable else None,
            self._share(where) if name == "factor" else 1.0,
        )

    def _share(self, term: str) -> float:
        """The largest share of the right side that a term has at an admissible place."""
        shares = [0.0]
        for rows in self.rows:
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(rows.terms[term] == 0, 0.0, np.abs(rows.terms[term] / rows.right))
            shares.append(float(share[rows.admissible()].max(initial=0.0)))
        return max(shares)

    def _climb(self, best: Rows, need: Need) -> Rows:
        rng = np.random.default_rng(self.seed)
        for step in range(CLIMB):
            rows = self.look(neighbour(best.setting, rng, 0.5 if step < CLIMB // 2 else 0.05))
            if rows is not None and need(rows).max() > need(best).max():
                best = rows
        return best

    def _growth(self, best: Rows, index: int, need: Need) -> tuple[tuple[float, float, float], ...]:
        """(step, rounds, constant asked for) of the setting at a tenth of its step size and a hundredfold horizon, at
        a hundredth, ..., which is where floors, first terms and rates show."""
        found = []
        own = fast_of(best.setting)
        for k in range(DECADES + 1):
            algorithm = replace(own, local_lr=own.local_lr / 10**k)
            rows = rows_of(
                self.claim, replace(best.setting, algorithm=algorithm), best.rounds[index : index + 1] * 100**k
            )
            if rows is not None and need(rows)[0] > -np.inf:
                found.append((float(algorithm.local_lr), float(rows.rounds[0]), float(need(rows)[0])))
        return tuple(found)

    def minima(self) -> Repair:
        """G_1 and G_2, which make the q-condition easier to meet, as minima over the run; G_3 stays a maximum. With
        them, a positive denominator makes the condition hold with the values of every round, as the proof needs."""
        falling: list[tuple[Rows, int]] = []
        admissible = 0
        fixed = [rows for rows in self.rows if isinstance(rows.setting.participation, Fixed)]
        tried = [rows for rows in fixed if all(np.isfinite(v).all() for v in rows.slack.values())][:_FOLLOWED]
        for rows in tried:
            short = HORIZONS <= _LONGEST
            arrays = {name: np.asarray(v)[short] for name, v in rows.quantities.items()}
            arrays |= least_pseudogradients(rows.setting, HORIZONS[short])
            with np.errstate(divide="ignore", invalid="ignore"):
                slacks = [compiled(h.slack)(arrays) for h in self.claim.hypotheses]
            holds = reduce(np.logical_and, (slack >= 0 for slack in slacks)) & (HORIZONS[short] > 1)
            admissible += bool(holds.any())
            falling += [(rows, int(i)) for i in np.flatnonzero(holds & rows.falls[short])]
        worst = max(falling, key=lambda at: at[0].left[at[1]] / at[0].right[at[1]], default=None)
        names = " and ".join(RUN_QUANTITIES[:2])
        return Repair(
            "minima",
            "q_condition",
            f"{names} as minima over the run",
            math.nan if worst else 1.0,
            worst is None,
            not check_units(self.claim),
            len(tried),
            admissible,
            described(*worst) if worst else {},
        )


_LONGEST, _FOLLOWED = 10_000, 60


def _grows(growth: Sequence[tuple[float, float, float]]) -> bool:
    """Whether the constant asked for keeps growing: each time by a tenth, and in all by half."""
    needs = [need for *_, need in growth]
    rising = all(after > 1.1 * before for before, after in itertools.pairwise(needs))
    return len(needs) > 2 and rising and needs[-1] > 1.5 * needs[0]


def _safe(constant: float, down: bool) -> sympy.Rational:
    """Three significant digits, to the side on which the claim says less; downwards, strictly below."""
    if constant == 0:
        return sympy.Integer(0)
    unit = Fraction(10) ** (math.floor(math.log10(constant)) - 2)
    count = math.ceil(Fraction(constant) / unit) - down
    return sympy.Rational(*(count * unit).as_integer_ratio())
