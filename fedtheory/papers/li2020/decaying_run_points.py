"""A run of FedAvg with decaying steps, as an exact example of a claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from flint import arb

from fedtheory.algorithms import fedavg
from fedtheory.assumptions import INDEPENDENT_DRAWS, INDEPENDENT_NOISE, UNCORRELATED_NOISE
from fedtheory.claims.balls import Ball, ball
from fedtheory.federations.noise_laws import MET_BY_NOISE, TWO_POINT
from fedtheory.claims.schedules import difference
from fedtheory.claims.statement import Claim
from fedtheory.claims.balls import Undecided
from fedtheory.federations import Quadratic
from fedtheory.federations.federation import COMMON
from fedtheory.participation import Fixed, Multinomial, Uniform
from fedtheory.schedule import at_round
from fedtheory.setting import Setting
from fedtheory.subjects.protocol import Examined, Point, Reading, Sides, assumption_checks, chosen_step
from fedtheory.subjects.file_entries import (
    by_vocabulary, check_constants, check_kind, check_scope, check_size, entry, matrix, rationals,
    shown, stated_constants, texts, vector,
)  # fmt: skip
from fedtheory.subjects.short_numbers import short

from .decaying_runs import Training
from .statements.theorems import BY_WEIGHT, COHORT, EVERYONE, UNIFORM

NAME = "fedavg_decaying"
"""Name of the algorithm in claims and files."""

LARGEST_WORK = 30_000
"""Largest clients * dimension * local_steps * rounds of an instance."""

CORRELATED = frozenset({UNCORRELATED_NOISE, INDEPENDENT_NOISE})
DRAWS = {INDEPENDENT_DRAWS: "by construction: everyone, or clients drawn anew in every round by draws of their own"}
"""Assumption that the draws of clients meet, with the reason."""


@dataclass(frozen=True, eq=False)
class FedAvgPoint(Point):
    """FedAvg on quadratic clients with rational numbers, for claims that choose its step size.

    Attributes:
        training: in Fractions.
        rounds: R.
        constants: the values of ``stated_constants``.
    """

    training: Training
    rounds: int
    constants: Mapping[str, Fraction]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FedAvgPoint) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        training = self.training
        clients, dimension = training.curvatures.shape
        check_scope(claim, "run")
        check_constants(claim, self.constants)
        check_size("clients", clients)
        check_size("dimension", dimension)
        if set(claim.choices) != {"local_lr"}:
            raise ValueError(f"{claim.ref} chooses {' and '.join(claim.choices) or 'nothing'}: allowed is local_lr")
        for name, rows in (
            ("centres", training.minimisers),
            ("weights", training.weights),
            ("noises", training.noises),
        ):
            if len(rows) != clients:
                raise ValueError(f"{name}: {len(rows)} in all, allowed are {clients}, as many as hessians has")
        if {training.minimisers.shape[1], len(training.start)} != {dimension}:
            raise ValueError(f"centres and start: allowed are {dimension} coordinates, as many as hessians has")
        if not all(p > 0 for p in training.weights) or sum(training.weights) != 1:
            raise ValueError("weights: allowed are numbers > 0 with sum 1")
        if not (training.curvatures > 0).all() or any(sigma < 0 for sigma in training.noises):
            raise ValueError("hessians and noises: allowed are numbers > 0, and >= 0")
        if training.cohort == UNIFORM and len({*training.weights}) > 1:
            raise ValueError(f"weights: allowed are equal ones, {claim.ref} draws without replacement")
        if not 1 <= training.drawn <= clients or training.local_steps < 1 or self.rounds < 1:
            raise ValueError("drawn, local_steps, rounds: allowed are numbers > 0, and at most all clients")
        work = clients * dimension * training.local_steps * self.rounds
        if work > LARGEST_WORK:
            raise ValueError(f"clients * dimension * local_steps * rounds = {work}: allowed is at most {LARGEST_WORK}")
        if training.cohort == EVERYONE and training.drawn < clients:
            raise ValueError(f"drawn = {training.drawn}: allowed is everyone, {clients}")
        if cohort_of(claim) != training.cohort:
            raise ValueError(f"{claim.ref} averages the models of {cohort_of(claim)}: allowed is such a run")

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """Return the runs as the claim speaks of them."""
        return _ExaminedFedAvg(self, claim)

    @property
    def violated(self) -> frozenset[str]:
        """The kinds of assumption that it does not meet."""
        return CORRELATED if self.training.common_noise and len(self.training.weights) > 1 else frozenset()

    @property
    def met(self) -> Mapping[str, str]:
        """The assumptions that its noise and its draws meet, with reasons."""
        return {**MET_BY_NOISE[COMMON if self.training.common_noise else TWO_POINT], **DRAWS}

    def to_json(self) -> dict[str, Any]:
        """Return plain data; ``parse`` reads it back."""
        training = self.training
        return {
            "federation": {
                "kind": "quadratic",
                "hessians": [texts(tuple(row)) for row in training.curvatures],
                "centres": [texts(tuple(row)) for row in training.minimisers],
                "weights": texts(tuple(training.weights)),
                "noises": texts(tuple(training.noises)),
                "common_noise": training.common_noise,
            },
            "algorithm": {"kind": NAME, "local_steps": training.local_steps},
            "participation": {"kind": training.cohort, "drawn": training.drawn},
            "start": texts(tuple(training.start)),
            "rounds": self.rounds,
            "constants": by_vocabulary(self.constants),
        }

    def quantities(self) -> dict[str, Any]:
        """The quantities that the point fixes, without the step sizes."""
        away = self.training.start - self.training.optimum
        return {
            **self.training.constants,
            **self.constants,
            "initial_distance": ball(away @ away).sqrt(),
            "clients": Fraction(len(self.training.weights)),
            "arbitrary_cohort": Fraction(self.training.drawn),
            "local_steps": Fraction(self.training.local_steps),
            "rounds": Fraction(self.rounds),
        }

    def shorter(self) -> Iterator[FedAvgPoint]:
        """Yield points with fewer rounds."""
        if self.rounds > 1:
            yield replace(self, rounds=self.rounds // 2)


class _ExaminedFedAvg(Examined):
    def __init__(self, point: FedAvgPoint, claim: Claim) -> None:
        training, values = point.training, point.quantities()
        numbers = ("curvatures", "minimisers", "weights", "noises", "start")
        balls: dict[str, Any] = {name: _balls(getattr(training, name)) for name in numbers}
        in_balls = replace(training, **balls)
        self.rule = chosen_step(claim, "local_lr", values)
        sizes = [at_round(self.rule, r, training.local_steps) for r in range(point.rounds)]
        steps = [
            step for size in sizes for step in (size if isinstance(size, tuple) else (size,) * training.local_steps)
        ]
        if any(isinstance(step, float) for step in steps):
            raise ValueError(f"local_lr of {claim.ref} is irrational here: allowed are rational step sizes")
        *_, (gap, square, _) = every = list(in_balls.errors([Ball(ball(step)) for step in steps]))
        peak = reduce(arb.max, (seen.value for _, _, gradients in every for seen in gradients))
        self.claim, self.values = claim, values
        self.left = {"final_gap": gap.value, "final_squared_distance": square.value}
        true = training.constants | {"gradient_bound": above(peak.sqrt())}
        self.checks = assumption_checks(claim, point.constants, true)

    def chosen(self) -> Mapping[str, Any]:
        """The rule of the step sizes."""
        return {"local_lr": self.rule}

    def sides(self, reading: Reading) -> Sides:
        if self.claim.functional.name not in self.left:
            raise Undecided(f"{self.claim.functional.name}: no enclosure of it is known")
        return Sides(self.left[self.claim.functional.name], self.values)


def _balls(numbers: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda x: Ball(ball(x)), otypes=[object])(numbers)


def above(value: arb) -> Fraction:
    """Return a rational just above a number.

    >>> above(arb(2)) >= 2
    True
    """
    mantissa, exponent = value.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def cohort_of(claim: Claim) -> str:
    """Name the clients whose models are averaged in the runs that the claim speaks of."""
    return next((a.options[0] for a in claim.ambiguities if a.name == COHORT), EVERYONE)


def parse(data: Mapping[str, Any], claim: Claim) -> FedAvgPoint:
    """Read a run from plain data, not yet checked."""
    federation, algorithm, participation = (
        entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    check_kind(federation, "quadratic")
    check_kind(algorithm, NAME)
    cohort, shared = entry(participation, "kind", str), federation.get("common_noise", False)
    if cohort not in (EVERYONE, BY_WEIGHT, UNIFORM):
        raise ValueError(f"kind = {shown(cohort)}: allowed is {EVERYONE!r}, {BY_WEIGHT!r} or {UNIFORM!r}")
    if not isinstance(shared, bool):
        raise ValueError(f"common_noise = {shown(shared)}: allowed is true or false")
    rows = [matrix(federation, name) for name in ("hessians", "centres")]
    if any(len({*map(len, row)}) != 1 for row in rows):
        raise ValueError("hessians and centres: allowed are rows of one length")
    numbers = [vector(federation, "weights"), vector(federation, "noises"), vector(data, "start")]
    hessians, centres, weights, noises, start = (np.array(x, dtype=object) for x in (*rows, *numbers))
    drawn, local_steps = entry(participation, "drawn", int), entry(algorithm, "local_steps", int)
    training = Training(hessians, centres, weights, noises, start, cohort, drawn, local_steps, shared)
    return FedAvgPoint(training, entry(data, "rounds", int), rationals(data, "constants"))


def from_setting(claim: Claim, setting: Setting, rounds: int, **given: Any) -> FedAvgPoint:
    """Make the exact point of a setting; ``given`` are values of stated constants, such as gamma.

    Raises:
        ValueError: the federation is not quadratic with diagonal Hessians, or the runs are not those of FedAvg with the
            claim's steps and draws.
    """
    fed, who = setting.federation, setting.participation
    algorithm: Any = setting.algorithm
    if not isinstance(fed, Quadratic) or any(np.count_nonzero(h - np.diag(h.diagonal())) for h in fed.hessians):
        raise ValueError("federation: allowed are quadratic clients with diagonal Hessians")
    cohort = _cohort(setting, fed)
    if cohort is None or fed.noise != "two-point":
        raise ValueError(
            "algorithm, participation and noise: allowed is FedAvg with everyone by weight, with Multinomial draws by "
            "weight or with Uniform ones where all weigh the same, and independent noise"
        )
    hessians = np.array([h.diagonal() for h in fed.exact_hessians], dtype=object)
    noises = np.array([fed.exact_gradient_noise] * fed.clients, dtype=object)
    training = Training(
        hessians,
        fed.exact_centres,
        fed.exact_weight,
        noises,
        setting.exact_start,
        cohort,
        who.cohort,
        algorithm.local_steps,
    )
    known = training.constants | {name: Fraction(value) for name, value in given.items()}
    if "gradient_bound" not in known:
        largest = setting.quantities(rounds, needed=["gradient_bound"], strict=True)["gradient_bound"].value
        known["gradient_bound"] = short(float(largest) * (1 + 1e-9), 6, ROUND_CEILING)
    missing = [name for name in stated_constants(claim) if name not in known]
    if missing:
        raise ValueError(f"{missing[0]} is not in a setting: give it")
    point = FedAvgPoint(training, rounds, {name: known[name] for name in stated_constants(claim)})
    rule = chosen_step(claim, "local_lr", point.quantities())
    if difference(rule, algorithm.local_lr, algorithm.local_steps, rounds) > 0:
        raise ValueError(f"local_lr = {algorithm.local_lr}: allowed is what {claim.ref} chooses, {rule}")
    return point


def _cohort(setting: Setting, fed: Quadratic) -> str | None:
    """Name the clients whose models a setting averages; ``None`` where that is none of the claims' cohorts."""
    algorithm, who, weights = setting.algorithm, setting.participation, tuple(fed.exact_weight)
    if not hasattr(algorithm, "local_lr"):
        return None
    equal, steps = len({*weights}) == 1, {name: getattr(algorithm, name) for name in ("local_lr", "local_steps")}
    of_weighted = algorithm == fedavg(**steps, average="weighted", objective_weight=weights)
    of_drawn = algorithm in (fedavg(**steps, objective_weight=weights), *([fedavg(**steps)] if equal else []))
    if isinstance(who, Fixed) and who.cohort == fed.clients and (of_weighted or (equal and of_drawn)):
        return EVERYONE
    if isinstance(who, Multinomial) and tuple(who.probabilities) == weights and of_drawn:
        return BY_WEIGHT
    if isinstance(who, Uniform) and equal and (of_drawn or of_weighted):
        return BY_WEIGHT if who.replacement else UNIFORM
    return None
