"""Subject of runs of FedAvg with decaying steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy
from sympy import Ge

from fedtheory.algorithms import Algorithm, fedavg
from fedtheory.assumptions import UNCORRELATED_NOISE
from fedtheory.claims.balls import evaluate_exactly
from fedtheory.claims.evaluation import compiled
from fedtheory.claims.schedules import rule_of
from fedtheory.claims.statement import Claim
from fedtheory.quantities import symbol
from fedtheory.federations import Federation, Quadratic
from fedtheory.papers.paper import Example
from fedtheory.participation import Fixed, Multinomial, Participation, Uniform
from fedtheory.setting import Setting
from fedtheory.subjects.protocol import Space, runs_of, span
from fedtheory.subjects.quantity_limits import limit_of
from fedtheory.subjects.file_entries import stated_constants
from fedtheory.subjects.lead import Found, finds_at
from fedtheory.subjects.short_numbers import short

from . import decaying_run_points as run_points
from .decaying_run_points import LARGEST_WORK, NAME, FedAvgPoint, cohort_of
from .decaying_runs import Training
from .statements.theorems import BY_WEIGHT, EVERYONE, UNIFORM

CLIENTS, LOCAL_STEPS = (1, 2, 3, 10, 50), (1, 1, 2, 5, 20, 100, 1000)
LARGEST_RUN = 120
"""Largest number of steps of all rounds together, in the search; one round may have more."""

RESOLUTION = 1e-26
"""Left side, in units of smoothness and squared lengths, below which it is rounding and counts as 0."""


@dataclass(frozen=True)
class Candidate:
    """A training in floats that starts at x* + ``offset``; gamma is ``slack`` times the least allowed."""

    training: Training
    offset: np.ndarray
    slack: float = 1.0

    @property
    def family(self) -> str:
        """Climbs start from each."""
        return f"{len(self.training.weights)} clients, {self.training.local_steps} steps"

    def placed(self) -> Training:
        """The training with its start."""
        return replace(self.training, start=self.training.optimum + self.offset)


class FedAvgRuns(Space):
    """Space of runs on which a claim is searched, of clients that weigh the same or not."""

    def __init__(self, statement: Claim) -> None:
        self.statement, self.cohort = statement, cohort_of(statement)
        if "local_lr" not in statement.choices:
            raise ValueError(f"choices of {statement.ref}: allowed in a claim about {NAME} is one of local_lr")
        self.rule = compiled(statement.choices["local_lr"])

    left_out = "losses that are not quadratic; noise that depends on the state; more clients or dimensions; longer runs"

    @property
    def searched(self) -> str:
        """Description of the runs that are searched, in words."""
        return (
            f"{runs_of(self.statement, NAME)}, whose models are averaged: {self.cohort}; quadratics with common and "
            f"different Hessians, {span(CLIENTS)} clients, 1 to 2 dimensions, {span(LOCAL_STEPS)} local steps, at most "
            f"{LARGEST_RUN} steps of all rounds or one round; with and without noise"
        )

    def structured(self) -> Iterator[Candidate]:
        for (clients, drawn), curvature, steps in product(((1, 1), (2, 1), (50, 50)), (1.0, 4.0), (1, 5, 1000)):
            if clients * steps > LARGEST_WORK:
                continue
            h = np.linspace(1.0, curvature, max(2, clients))
            h = h[None] if clients == 1 else h[:, None]  # one client is curved differently in two dimensions
            apart = np.where(np.arange(clients)[:, None] % 2, -1.0, 1.0) + 0 * h
            none, axis = np.zeros(clients), np.arange(h.shape[1]) == 0
            for p in (1.0 / h[:, 0], 1.0 + none):
                yield self._made(h, apart, p, none, 0.0 * axis, drawn, steps)
            for scale in (1e-2, 1.0, 1e2) if steps < 1000 else ():
                yield self._made(scale * h, 0 * h, 1 + none, 1 + none, 0.0 * axis, drawn, steps)
                yield self._made(scale * h, 0 * h, 1 + none, none, 1.0 * axis[::-1], drawn, steps)

    def _made(self, h: Any, c: Any, p: Any, noises: Any, offset: Any, drawn: int, steps: int) -> Candidate:
        p = np.ones(len(p)) if self.cohort == UNIFORM else p
        drawn = len(p) if self.cohort == EVERYONE else drawn
        return Candidate(Training(h, c, p / p.sum(), noises, offset, self.cohort, drawn, steps), offset)

    def draw(self, rng: np.random.Generator) -> Candidate:
        clients, dimension = int(rng.choice(CLIENTS)), int(rng.choice([1, 1, 2]))
        shape, scale, length = (clients, dimension), 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-3, 3)
        h = scale * 10.0 ** (rng.uniform(0, 2) * rng.integers(0, 2, shape))
        c = length * rng.standard_normal(shape) * rng.choice([0.0, 1.0])
        p = 10.0 ** (rng.uniform(-2, 0, clients) * rng.integers(2))
        noises = scale * length * 10.0 ** rng.uniform(-2, 2) * rng.choice([0.0, 1.0]) * np.ones(clients)
        axis, drawn = np.arange(dimension) == rng.integers(dimension), int(rng.integers(1, clients + 1))
        steps = int(rng.choice(LOCAL_STEPS))
        return self._made(h, c, p, noises, axis * length * rng.choice([0.0, 0.1, 1.0, 10.0]), drawn, steps)

    def perturb(self, candidate: Candidate, rng: np.random.Generator, size: float) -> Candidate:
        def moved(numbers: np.ndarray) -> np.ndarray:
            return numbers * np.exp(size * rng.standard_normal(numbers.shape) * rng.integers(0, 2, numbers.shape))

        old = candidate.training
        p = old.weights if self.cohort == UNIFORM else moved(old.weights)
        steps = max(1, round(float(moved(np.array([float(old.local_steps)]))[0])))
        new = replace(
            old,
            curvatures=moved(old.curvatures),
            minimisers=moved(old.minimisers),
            weights=p / p.sum(),
            noises=moved(old.noises),
            local_steps=min(1000, steps),
            drawn=len(p) if self.cohort == EVERYONE else int(rng.integers(1, len(p) + 1)),
        )
        slack = max(1.0, float(moved(np.array([candidate.slack]))[0]))
        return Candidate(new, moved(candidate.offset), slack)

    def violating(self, kind: str) -> Iterator[FedAvgPoint]:
        """Yield runs in which all clients' noise is one, if that is asked for."""
        for candidate in self.structured() if kind == UNCORRELATED_NOISE else ():
            shared = replace(candidate, training=replace(candidate.training, common_noise=True))
            found = self.assess(shared) if candidate.training.noises.any() else None
            if found is not None and found[0].ratio > 1:
                yield from self.rounded(found[0], 3)

    def on_data(self, federation: Federation, cohort: int, arbitrary_cohort: int, local_steps: int) -> Setting:
        """Refuse real data: step sizes are the claim's.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{self.statement.ref} chooses its step sizes: allowed is a claim that leaves them open")

    def assess(self, candidate: Candidate) -> tuple[Found, Found | None] | None:
        """Evaluate the candidate at its worst horizon, under every horizon's own bound on the gradients."""
        training = candidate.placed()
        steps = training.local_steps
        longest = min(max(1, LARGEST_RUN // steps), LARGEST_WORK // (steps * training.curvatures.size))
        if longest < 1:
            return None
        horizons = np.arange(1, longest + 1)
        values = self._values(training, candidate.offset)
        values["step_shift"] = (limit_of(self.statement, "step_shift", Ge, values) or 1e-3) * candidate.slack
        with np.errstate(all="ignore"):
            sizes = np.broadcast_to(self.rule(self._arrays(values, horizons[-1] * steps)), horizons[-1] * steps)
            if not (np.isfinite(sizes) & (sizes > 0)).all():
                return None
            rounds = [(gap, square, seen.max()) for gap, square, seen in training.errors(sizes)]
            gaps, squares, peaks = np.array(rounds).T
            peaks = np.maximum.accumulate(peaks)
        left = {"final_gap": gaps, "final_squared_distance": squares}.get(self.statement.functional.name)
        if left is None or not np.isfinite(peaks).any():
            return None
        seen = np.isfinite(peaks) & np.isfinite(left)
        horizons, left = horizons[seen], left[seen]
        given = {"rounds": horizons.astype(float), "gradient_bound": np.sqrt(peaks[seen])}
        values = {n: v for n, v in (values | given).items() if n in self.statement.quantities}
        bound = self.statement.evaluate(**values)
        bound = replace(bound, quantities={n: v for n, v in bound.quantities.items() if n in values})  # no rule
        holds = np.ones(horizons.shape, dtype=bool)
        for slack in bound.slack.values():
            holds &= np.asarray(slack is not None and slack >= -1e-9 * np.abs(values.get("step_shift", 1.0)))
        size = training.curvatures.max() * ((training.minimisers**2).max() + (training.start**2).sum())
        certain = np.maximum(0.0, left - RESOLUTION * size)
        finds = finds_at(candidate, lambda rounds: training, bound, horizons, holds, left, certain)
        best = next(finds, None)
        return None if best is None else (best, None)

    def _arrays(self, values: Mapping[str, Any], steps: int) -> dict[str, Any]:
        arrays = {name: np.float64(value) for name, value in values.items()}
        return arrays | {"step_index": np.arange(steps, dtype=float)}

    def _values(self, training: Training, offset: np.ndarray) -> dict[str, float]:
        known = {name: float(value) for name, value in training.constants.items()}
        counts = {
            "clients": len(training.weights),
            "arbitrary_cohort": training.drawn,
            "local_steps": training.local_steps,
        }
        return known | {"initial_distance": float(np.linalg.norm(offset))} | counts

    def rounded(self, found: Found, digits: int) -> Iterator[FedAvgPoint]:
        """Yield the runs with so many digits, of few rounds first; constants are those of the rounded federation."""

        def near(numbers: np.ndarray) -> np.ndarray:
            return np.vectorize(lambda x: short(x, digits), otypes=[object])(numbers)

        old, offset = found.candidate.training, near(found.candidate.offset)
        clients = len(old.weights)
        p = near(old.weights)
        p = np.array([Fraction(1, clients)] * clients, dtype=object) if np.ptp(old.weights) == 0 else p / sum(p)
        new = replace(
            old, curvatures=near(old.curvatures), minimisers=near(old.minimisers), weights=p, noises=near(old.noises)
        )
        new = replace(new, start=new.optimum + offset)
        values = new.constants | {"local_steps": Fraction(new.local_steps), "clients": Fraction(clients)}
        least = [
            h.relation.rhs
            for h in self.statement.hypotheses
            if isinstance(h.relation, Ge) and h.relation.lhs == symbol("step_shift")
        ]
        limits = [evaluate_exactly(side, values) for side in least if _names(side) <= set(values)]
        shift = max(limits, default=short(float(found.quantities.get("step_shift", 1e-3)), digits))
        if found.candidate.slack > 1:
            shift = short(shift * Fraction(found.candidate.slack), max(3, digits), ROUND_CEILING)
        as_floats = replace(
            new,
            **{
                name: getattr(new, name).astype(float)
                for name in ("curvatures", "minimisers", "weights", "noises", "start")
            },
        )
        arrays = self._arrays(
            self._values(as_floats, offset.astype(float)) | {"step_shift": float(shift)}, found.rounds * new.local_steps
        )
        steps = np.broadcast_to(self.rule(arrays), found.rounds * new.local_steps)
        peak = 0.0
        for rounds, (_, _, seen) in enumerate(as_floats.errors(steps), 1):
            peak = max(peak, float(seen.max()))
            if rounds in (1, 2, 5, 10, 20, 50, found.rounds) and peak < np.inf:
                bound = short(float(np.sqrt(peak)) * (1 + 1e-9), max(3, digits), ROUND_CEILING)
                true = new.constants | {"gradient_bound": bound, "step_shift": shift}
                yield FedAvgPoint(new, rounds, {name: true[name] for name in stated_constants(self.statement)})


def _names(expression: sympy.Expr) -> set[str]:
    return {s.name for s in expression.free_symbols}


class FedAvg:
    """Subject of runs of FedAvg with decaying steps."""

    name = NAME

    def space(self, claim: Claim) -> FedAvgRuns:
        """Return the space in which the claim is searched."""
        return FedAvgRuns(claim)

    def parse(self, data: Mapping[str, Any], claim: Claim) -> FedAvgPoint:
        """Read a point from plain data, not yet checked."""
        return run_points.parse(data, claim)

    def runs_as(self, claim: Claim) -> tuple[Algorithm, Participation]:
        """Return such an algorithm as the claim is about, as the engine runs it, and its participants."""
        return _of_three(claim, "2/(8 + step_index)")

    def from_setting(self, claim: Claim, setting: Setting, rounds: int, **given: Any) -> FedAvgPoint:
        """Make the exact point of a setting, for a claim."""
        return run_points.from_setting(claim, setting, rounds, **given)


def _weights(claim: Claim) -> list[Fraction]:
    """Return the weights of three clients, which differ but for uniform draws."""
    return [Fraction(1, n) for n in ((3, 3, 3) if cohort_of(claim) == UNIFORM else (2, 3, 6))]


def _of_three(claim: Claim, local_lr: Any) -> tuple[Algorithm, Participation]:
    """FedAvg with all of three clients, or two."""
    cohort, weights = cohort_of(claim), _weights(claim)
    who = {EVERYONE: Fixed(range(3)), BY_WEIGHT: Multinomial(2, weights), UNIFORM: Uniform(2)}[cohort]
    average = "weighted" if cohort == EVERYONE else "participating"
    return fedavg(local_lr=local_lr, local_steps=4, average=average, objective_weight=weights), who


def example(claim: Claim) -> Example:
    """Three clients that differ in two dimensions and, but for uniform draws, in weight, with noise; all of them, or
    two."""
    shift, weights = 32 - (claim.edition == "appendix"), _weights(claim)
    federation = Quadratic(
        [[1, "1/2"], [2, 1], [1, 1]], [[1, 0], [-1, 1], [0, -1]], gradient_noise="1/2", objective_weight=weights
    )
    rule = rule_of(claim, "local_lr", {"strong_convexity": Fraction(1, 2), "step_shift": Fraction(shift)})
    algorithm, who = _of_three(claim, rule)
    return Example(Setting(federation, algorithm, who, start=[2, 2]), 100, {"step_shift": shift})


SUBJECTS = {NAME: FedAvg()}
