"""Points of claims about runs and single rounds of ``fast``, ``safari`` and their like: rational settings, and
rounds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from ..algorithms import Algorithm, Fast
from ..assumptions import (
    COHORT_BEFORE_NOISE,
    INDEPENDENT_PARTICIPATION,
    STATIONARY_AVAILABILITY,
)
from ..claims.balls import Ball, Number, Undecided, ball
from ..claims.readings import Q_CONDITION, QUOTIENT, THIRD_LAYOUT
from ..claims.statement import Claim, may_speak_of
from ..federations import Piecewise, Quadratic
from ..federations.noise_laws import VIOLATED_BY_NOISE, met_by_noise
from ..federations.quadratic import Array
from ..federations.relative_dissimilarity import least_squared_offset
from ..functionals import AVERAGES, SQUARED_GRADIENT, Functional
from ..moments.averages import value_in_balls
from ..moments.enclosed import Imprecise
from ..moments.linear_rounds import NotClosed
from ..moments.one_round import one_round
from ..moments.round_maps import quadratic
from ..participation import Fixed, LargestNoise, Phases
from ..quantities import RUN_QUANTITIES, SERVER_RUN_QUANTITIES
from ..schedule import StepRule
from ..setting import Setting
from .enclosures import EVERY_ROUND, FOLLOWED, Way, algorithm_of, left_side, run_boxes, steps_of, with_new_steps
from .file_entries import (
    MOST_IDENTICAL,
    Participants,
    Rationals,
    by_vocabulary,
    check_chosen,
    check_constants,
    check_counts,
    check_one_round,
    check_scope,
    check_size,
    is_about_one_round,
    texts,
    written_participants,
)
from .protocol import (
    CHOSEN_BEFORE,
    SAME_CLIENTS,
    UNIFORM_DRAWS,
    Examined,
    Point,
    Reading,
    Sides,
    assumption_checks,
    chosen_step,
    own_values,
)
from .varying_steps import computed_left

if TYPE_CHECKING:
    from .run_subject import Part

LASTING = frozenset({INDEPENDENT_PARTICIPATION, STATIONARY_AVAILABILITY})
"""Assumptions that participants who change from phase to phase do not meet."""


@dataclass(frozen=True, eq=False)
class RunPoint(Point):
    """A setting with rational numbers, fixed participants and diagonal Hessians, for one claim. Two are equal where
    their files are.

    Attributes:
        setting: a step size ``None`` is the one that the claim chooses; the federation has the noises that are stated.
        rounds: R.
        constants: the values of ``stated_constants``.
        order: see ``SafariPart``.
        part: what is its algorithm's own.
    """

    setting: Setting
    rounds: int
    constants: Mapping[str, Fraction]
    order: tuple[str, ...] = ()
    part: Part = field(kw_only=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunPoint) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        check_scope(claim, "run", "round")
        algorithm = algorithm_of(self.setting)
        if not may_speak_of(claim, self.part.kind):
            raise ValueError(f"{claim.ref} is not about {self.part.kind}: allowed is another algorithm")
        check_constants(claim, self.constants)
        steps = steps_of(algorithm)
        unknown = sorted(set(claim.choices) - set(steps))
        if unknown:
            raise ValueError(f"{claim.ref} chooses {unknown[0]}: allowed is {' and '.join(steps)}")
        check_chosen(claim, **steps)
        check_counts(local_steps=algorithm.local_steps, rounds=self.rounds)
        if claim.functional.scope == "round" and self.rounds != 1:
            raise ValueError(f"rounds = {self.rounds}: allowed is 1, the claim is about one round")
        self.part.check(self)
        if isinstance(self.setting.participation, Phases) and LASTING & claim.assumed:
            raise ValueError(f"participants change with the rounds: {claim.ref} assumes {min(LASTING & claim.assumed)}")
        self._check_federation(claim)

    def _check_federation(self, claim: Claim) -> None:
        fed, algorithm = quadratic(self.setting), algorithm_of(self.setting)
        alike = fed.identical and all(kind.plain for kind in algorithm.client_rounds)
        check_size("clients", fed.clients, MOST_IDENTICAL if alike else None)
        check_size("dimension", fed.dimension)
        if is_about_one_round(claim):
            numbers = [*fed.exact_hessians.ravel(), *fed.exact_centres.ravel(), *self.setting.exact_start]
            numbers += [step for step in steps_of(algorithm).values() if isinstance(step, Fraction)]
            check_one_round(numbers, (1 if alike else fed.clients) * fed.dimension * algorithm.local_steps)

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """The point as the claim speaks of it."""
        return _ExaminedRun(self, claim, follow)

    def to_json(self) -> dict[str, Any]:
        """Plain data; ``parse`` reads it back."""
        algorithm = algorithm_of(self.setting)
        return {
            **self._written_clients(),
            "algorithm": {"kind": self.part.kind, **self.part.write(algorithm, self.order)},
            **self._written_participants(),
            "start": texts(tuple(self.setting.exact_start)),
            "rounds": self.rounds,
            "constants": by_vocabulary(self.constants),
        }

    @property
    def violated(self) -> frozenset[str]:
        """The kinds of assumption (``fedtheory.assumptions``) that the runs do not meet."""
        law = getattr(self.setting.federation, "noise", "")
        chosen = {COHORT_BEFORE_NOISE} if isinstance(self.setting.participation, LargestNoise) else set()
        return frozenset({*VIOLATED_BY_NOISE.get(law, ()), *chosen})

    @property
    def met(self) -> Mapping[str, str]:
        """The assumptions that its noise and its participants meet, with reasons.

        Participants are fixed beforehand, or drawn uniformly by the algorithm.
        """
        law = getattr(self.setting.federation, "noise", "")
        fixed = SAME_CLIENTS if isinstance(self.setting.participation, Fixed) else {}
        return {**met_by_noise(law), **CHOSEN_BEFORE, **UNIFORM_DRAWS, **fixed}

    def _written_clients(self) -> dict[str, Any]:
        fed = quadratic(self.setting)
        hessians, centres = ([texts(row) for row in rows] for rows in (diagonals(fed), fed.exact_centres))
        law = {"noise": fed.noise} if fed.noise != "two-point" else {}
        return {"federation": {"kind": "quadratic", "hessians": hessians, "centres": centres, **law}}

    def _written_participants(self) -> dict[str, Any]:
        return {"participation": written_participants(self.setting.participation)}

    def _initial_gap(self) -> Fraction:
        fed = quadratic(self.setting)
        shift = self.setting.exact_start - fed.exact_optimum
        return shift @ (fed.exact_hessians.sum(0) / Fraction(fed.clients)) @ shift / 2

    def quantities(self, claim: Claim) -> dict[str, Number]:
        """Every quantity that the point fixes, with the step sizes that the claim chooses; exact, but for lengths that
        are square roots and for steps that are irrational."""
        fed, algorithm = self.setting.federation, algorithm_of(self.setting)
        assert isinstance(fed, Quadratic | Piecewise)
        shift = self.setting.exact_start - fed.exact_optimum
        values = {
            **self.true_constants(),
            **self.constants,
            "initial_gap": self._initial_gap(),
            "initial_distance": ball(shift @ shift).sqrt(),
            "clients": Fraction(fed.clients),
            "arbitrary_cohort": Fraction(self.setting.participation.cohort),
            "local_steps": Fraction(algorithm.local_steps),
            "rounds": Fraction(self.rounds),
            **self.part.quantities(algorithm),
            **{name: step for name, step in steps_of(algorithm).items() if step is not None},
        }
        for name in claim.choices:
            values[name] = chosen_step(claim, name, values)
        return values | own_values(claim, self.setting, self.rounds)

    def true_constants(self, squared: bool = False) -> dict[str, Number]:
        """Return the federation's constants; with ``squared`` its lengths squared, which makes them rational.

        Without a common Hessian there is no dissimilarity.
        """
        fed = quadratic(self.setting)
        constants: dict[str, Number] = dict(fed.exact_constants())
        roots = {n: v if squared else ball(v).sqrt() for n, v in fed.exact_squared_constants().items()}
        return constants | roots | self._true_offset(squared)

    def _true_offset(self, squared: bool) -> dict[str, Number]:
        """G, for the B that is stated, if one is and G is finite."""
        fed, factor = self.setting.federation, self.constants.get("dissimilarity_factor")
        assert isinstance(fed, Quadratic | Piecewise)
        square = None if factor is None else least_squared_offset(fed, factor**2)
        return {} if square is None else {"dissimilarity_offset": square if squared else ball(square).sqrt()}

    def shorter(self) -> Iterator[RunPoint]:
        """Yield points with fewer rounds, or with rounder step sizes, starts and minimisers.

        Minimisers that are equal up to their signs move together, and stay apart from others.
        """
        setting, algorithm = self.setting, algorithm_of(self.setting)
        if self.rounds > 10:
            yield replace(self, rounds=self.rounds // 10)
        for name, step in steps_of(algorithm).items():
            for denominator in (10, 20, 50, 100, 200, 500, 1000) if step is not None else ():
                if len(str(denominator).rstrip("0")) < len(str(step.denominator).rstrip("0")):
                    rounder = with_new_steps(algorithm, {name: Fraction(1, denominator)})
                    yield replace(self, setting=replace(setting, algorithm=rounder))
        start, centres = setting.exact_start, quadratic(setting).exact_centres
        sizes = sorted({abs(v) for v in centres.ravel()})
        for denominator in (1, 2, 4, 5, 10):
            for i, value in enumerate(start):
                short = Fraction(round(value * denominator), denominator)
                if short.denominator < value.denominator:
                    yield replace(self, setting=replace(setting, start=[*start[:i], short, *start[i + 1 :]]))
            for size in sizes:
                short = Fraction(round(size * denominator), denominator)
                if short not in (0, *sizes) and short.denominator < size.denominator:
                    moved = [[v if abs(v) != size else short if v > 0 else -short for v in row] for row in centres]
                    yield self.with_centres(moved)

    def with_centres(self, centres: Array) -> RunPoint:
        """Return the point with other minimisers."""
        fed = quadratic(self.setting)
        federation = _federation(diagonals(fed), centres, self.constants, fed.noise)
        return replace(self, setting=replace(self.setting, federation=federation))


def diagonals(fed: Quadratic) -> list[Rationals]:
    """Return the diagonals of the Hessians, (M, D)."""
    return [tuple(hessian.diagonal()) for hessian in fed.exact_hessians]


def _federation(hessians: Array, centres: Array, constants: Mapping[str, Fraction], law: str) -> Quadratic:
    """Make a quadratic federation with the noises that are stated."""
    noise, server_noise = (constants.get(name, Fraction(0)) for name in ("gradient_noise", "server_noise"))
    return Quadratic(hessians, centres, noise, law, server_noise)


def run_point(
    hessians: Array,
    centres: Array,
    start: Array,
    algorithm: Algorithm,
    who: Participants,
    rounds: int,
    constants: Mapping[str, Fraction],
    order: tuple[str, ...] = (),
    law: str = "two-point",
    *,
    part: Part,
) -> RunPoint:
    """Make the runs on quadratic clients with these diagonals and minimisers and noise of this law, from a start (D,).

    ``who`` takes part whenever the algorithm does not draw clients.

    Raises:
        ValueError: shapes that do not match, or numbers out of bounds.
    """
    check_size("clients", len(centres), MOST_IDENTICAL)
    check_size("dimension", len(start))
    setting = Setting(_federation(hessians, centres, constants, law), algorithm, who, start=list(start))
    return RunPoint(setting, rounds, constants, order, part=part)


# Both sides -----------------------------------------------------------------------------------------------------------


class _ExaminedRun(Examined):
    def __init__(self, point: RunPoint, claim: Claim, follow: bool) -> None:
        self.point, self.claim, self.follow = point, claim, follow
        self.values = point.quantities(claim)
        steps = {name: self.values[name] for name in claim.choices}
        self.algorithm = with_new_steps(
            point.setting.algorithm, {n: v if isinstance(v, Fraction | StepRule) else Ball(v) for n, v in steps.items()}
        )
        self.asked = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES} & set(claim.quantities)
        true = point.true_constants(squared=True)
        self.checks = assumption_checks(claim, point.constants, true)
        self._known: dict[tuple, Any] = {}
        self._runs: list[tuple[Algorithm, tuple[int, ...]]] = []

    def chosen(self) -> Mapping[str, Number]:
        return self.values

    def sides(self, reading: Reading) -> Sides:
        way = self.point.part.way(self.point, self.claim, reading, self.algorithm)
        local = reading.get("local gradients", "k = 0..K-1")
        average = reading.get("average", AVERAGES[0])
        divided = reading.get(Q_CONDITION) in (QUOTIENT, THIRD_LAYOUT)
        divided &= bool(self.asked & {*EVERY_ROUND})  # else it changes no box: what is followed is followed once
        place = self._place(way)
        values, left = self._once((place, "left"), lambda: self._compared(way))
        boxes = self._once(
            (place, local, divided),
            lambda: functools.cache(lambda: run_boxes(way, local, self.asked, self.follow, divided)),
        )
        return Sides(left(average), values, boxes, self._note(way))

    def _place(self, way: Way) -> int:
        """Number the ways, of which several readings may have the same."""
        runs = way.setting.algorithm, way.order
        if runs not in self._runs:
            self._runs.append(runs)
        return self._runs.index(runs)

    def _once(self, key: tuple, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _compared(self, way: Way) -> tuple[Mapping[str, Number], Callable[[str], Number]]:
        """All quantities, and the left side by which iterates an average runs over."""
        if not is_about_one_round(self.claim):
            functional = self.claim.functional
            if functional.compute is not None:
                return self.values, functools.partial(computed_left, way.setting, way.rounds, functional)
            if functional.of_all_rounds and not way.order and not self.point.violated:
                return self.values, functools.partial(_of_all_rounds, way, functional)
            side = left_side(way, functional.observable)
            return self.values, lambda average: side.of(functional, average)
        for name in ("local_lr", *self.claim.choices):
            if not isinstance(self.values[name], Fraction):
                raise ValueError(
                    f"{name}: the claim chooses no rational one; allowed in a claim about one round is a rational"
                )
        found = one_round(way.setting, exact=True)
        square: Any = found.left(SQUARED_GRADIENT)
        own: dict[str, Any] = {"gradient_norm": ball(square).sqrt(), **found.quantities()}
        left: Any = found.left(self.claim.functional) if way.rounds == 1 else arb("nan")
        return {**self.values, **own}, lambda average: left

    def _note(self, way: Way) -> str:
        """Server rounds' extremes are always followed."""
        snapshots = isinstance(way.setting.algorithm, Fast)
        if snapshots and way.rounds > FOLLOWED and self.asked and way.setting.deterministic:
            return f"longer than {FOLLOWED} rounds: run quantities by an invariant interval"
        return ""


def _of_all_rounds(way: Way, functional: Functional, average: str) -> Number:
    """Enclose a left side that is more than an observable at the last round or its plain average."""
    try:
        return value_in_balls(way.setting, functional, [way.rounds], average)[0]
    except (NotClosed, Imprecise) as error:
        raise Undecided(str(error)) from None
