"""Subject of local SGD's runs, and its parameters in files.

They run as FAST whose rounds are all arbitrary and have everyone in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
from sympy import Le

from fedtheory.algorithms import Algorithm, EveryRound, Fast, fast, fedavg
from fedtheory.claims.statement import Claim
from fedtheory.federations import Quadratic
from fedtheory.papers.paper import Example
from fedtheory.algorithms.fast import fast_of
from fedtheory.participation import Fixed
from fedtheory.setting import Setting
from fedtheory.subjects import kinked_search, run_points, run_subject
from fedtheory.subjects.protocol import Point, runs_of, span
from fedtheory.subjects.quadratic_candidates import LEFT_OUT, bound_counts, log_uniform
from fedtheory.subjects.quantity_limits import limit_of
from fedtheory.subjects.enclosures import Way, steps_of, with_steps
from fedtheory.subjects.lead import Found
from fedtheory.subjects.file_entries import check_counts, chosen_or_rational, entry
from fedtheory.subjects.kinked_search import KinkedCandidate
from fedtheory.subjects.run_subject import OfPart, Part
from fedtheory.subjects.run_search import Runs

FEWER = (1, 2, 3, 5, 10, 20, 50)
"""Numbers of clients with which an exact instance is tried first."""

MOST_CLIENTS = MOST_LOCAL_STEPS = 100
DIMENSIONS = (1, 1, 2, 3)

DECADES = 5
"""Number of tenths of the cap down to which step sizes reach."""


def local_sgd(local_lr: Fraction | float | str, local_steps: int) -> Fast:
    """Make the algorithm, with everyone taking part: see ``everyone``."""
    return fast(cohort=1, snapshot_probability=0, local_lr=local_lr, local_steps=local_steps)


def everyone(clients: int) -> Fixed:
    """Make the participation of all clients in every round."""
    return Fixed(range(clients))


class LocalSgdPart(Part):
    """Local SGD's parameters and runs."""

    kind, algorithm = "local_sgd", Fast

    def read(self, data: Mapping[str, Any], claim: Claim) -> tuple[Algorithm, tuple[str, ...]]:
        local_steps = entry(data, "local_steps", int)
        check_counts(local_steps=local_steps)
        step = chosen_or_rational(data, "local_lr", claim)
        return with_steps(fast, cohort=1, snapshot_probability=Fraction(0), local_lr=step, local_steps=local_steps), ()

    def write(self, algorithm: Fast, order: tuple[str, ...]) -> dict[str, Any]:
        return {"local_steps": algorithm.local_steps, "local_lr": str(algorithm.local_lr)}

    def quantities(self, algorithm: Fast) -> dict[str, Any]:
        return {}

    def check(self, point: run_points.RunPoint) -> None:
        algorithm, present = fast_of(point.setting), point.setting.participation.cohort
        if present < point.setting.federation.clients:
            raise ValueError(f"participation has {present} members: allowed is everyone")
        if point.order or algorithm.adaptive or algorithm.snapshot_probability != 0 or not algorithm.plain:
            raise ValueError("algorithm has snapshots or more than local SGD: allowed is none of these")

    def way(self, point: run_points.RunPoint, claim: Claim, reading: Mapping[str, str], algorithm: Fast) -> Way:
        return Way(replace(point.setting, algorithm=algorithm), point.rounds)

    def small(self, clients: int, count: int, local_steps: int, local_lr: Fraction) -> Iterator[Algorithm]:
        if count == clients:
            yield local_sgd(local_lr, local_steps)


@dataclass(frozen=True)
class Candidate:
    """Quadratic clients.

    Attributes:
        clients, dimension, local_steps: M, D, H.
        conditioning: smallest over largest curvature (from two dimensions on). smoothness: the largest one.
        noise: standard deviation of a gradient, in units of smoothness times length.
        start: x_0 - x* along the coordinate ``axis``.
        step_share: local_lr over the claim's cap.
        spread: how far the clients' minimisers are apart, drawn from ``seed``; 0 for identical data.
        mixed: whether each client has a Hessian of its own, between the two curvatures.
    """

    clients: int
    dimension: int
    local_steps: int
    conditioning: float
    smoothness: float
    noise: float
    start: float
    axis: int
    step_share: float
    spread: float = 0.0
    seed: int = 0
    mixed: bool = False
    period: ClassVar[int] = 1  # no probability of snapshots is looked for

    @property
    def family(self) -> str:
        """The family, from each of which climbs start."""
        return f"{1 << self.clients.bit_length() - 1} clients or more"

    def setting(self) -> Setting:
        """The setting with a step size of 1."""
        spectrum = self.smoothness * self.conditioning ** (np.arange(self.dimension) / max(1, self.dimension - 1))
        rng = np.random.default_rng(self.seed)
        drawn = rng.standard_normal((self.clients, self.dimension)).round(3)
        centres = self.spread * (drawn - drawn.mean(0).round(3)) if self.spread else 0 * drawn
        noise = self.noise * self.smoothness
        federation = Quadratic.common_hessian(centres, spectrum, gradient_noise=noise)
        if self.mixed:
            hessians = self.smoothness * self.conditioning ** rng.uniform(0, 1, centres.shape)
            federation = Quadratic(hessians, centres, gradient_noise=noise)
        offset = np.zeros(self.dimension)
        offset[self.axis % self.dimension] = self.start
        start = [best + Fraction(move) for best, move in zip(federation.exact_optimum, offset, strict=True)]
        return Setting(federation, self.algorithm(self.clients, 1.0), everyone(self.clients), start=start)

    def algorithm(self, clients: int, local_lr: float, probability: float | None = None) -> Fast:
        """Make local SGD with this step size."""
        return local_sgd(local_lr, self.local_steps)


class LocalSgdRuns(Runs):
    """Space of settings on which a claim about local SGD is searched: on identical data, if it says so, else on any."""

    part = LocalSgdPart()
    repairable = measurable = False  # repairs are tried on FAST's settings, and no real clients have the same data

    def __init__(self, statement: Claim) -> None:
        super().__init__(statement)
        self.identical = limit_of(statement, "dissimilarity", Le, {}) == 0
        self.differing = not (self.identical or self.demands.common_hessian)
        self.fixed: dict[str, Any] = bound_counts(statement, "clients", "local_steps")

    left_out = LEFT_OUT

    @property
    def searched(self) -> str:
        """Description of the settings that are searched, in words."""
        hessian = "common and different Hessians" if self.differing else "one Hessian"
        data = "identical data" if self.identical else "identical and different data"
        clients, steps = (
            span([self.fixed[name]] if name in self.fixed else (1, most))
            for name, most in (("clients", MOST_CLIENTS), ("local_steps", MOST_LOCAL_STEPS))
        )
        return (
            f"{runs_of(self.statement, self.part.kind)} with everyone, on quadratics with {hessian} and {data}, "
            f"{clients} clients, {span(DIMENSIONS)} dimensions, {steps} local steps, {span(self.horizons.tolist())} "
            f"rounds, step sizes drawn from the cap to 1e-{DECADES} of it; with and without noise"
            f"{kinked_search.in_words(self.demands)}"
        )

    def structured(self) -> Iterator[Any]:
        """Yield the candidates to look at first."""
        if kinked_search.searched(self.demands):
            yield from map(self._everyone, kinked_search.noisy(self.demands))
        for smoothness in (1e4, 1e-4):  # in other units
            yield self._bound(Candidate(2, 2, 1, 1e-3, smoothness, 100.0, 1.0, 0, 1.0))
        for clients, local_steps, noise, share in product((1, 2, 10), (1, 5, 20), (0.0, 1.0, 100.0), (1.0, 1e-3)):
            plain = Candidate(clients, 1, local_steps, 1.0, 1.0, noise, 1.0, 0, share)
            yield self._bound(plain)
            yield self._bound(replace(plain, dimension=2, conditioning=1e-3))
            if not self.identical:
                far = replace(plain, spread=1.0, start=0.0)
                yield self._bound(far)
                yield self._bound(replace(far, conditioning=0.1, mixed=True))

    def _bound(self, candidate: Candidate) -> Candidate:
        """Give a candidate the counts that the claim binds."""
        return replace(candidate, mixed=candidate.mixed and self.differing, **self.fixed)

    def _everyone(self, candidate: KinkedCandidate) -> KinkedCandidate:
        """One kind of client, of which all take part in rounds that are all arbitrary, with the counts that the claim
        binds."""
        alike: dict[str, Any] = {"share": 1.0, "offset": 0.0, "present": (1.0, 1.0), "cohort": 1, "probability": 0.0}
        return replace(self._conforming(candidate), **alike, **self.fixed)

    def draw(self, rng: np.random.Generator) -> Any:
        if kinked_search.searched(self.demands) and rng.random() < kinked_search.SHARE:
            return self._everyone(kinked_search.draw(rng, self.demands))
        return self._plain(rng)

    def _plain(self, rng: np.random.Generator) -> Candidate:
        drawn = self._drawn(rng)
        if not self.identical:
            spread = float(rng.choice([0.0, 10.0 ** rng.uniform(-3, 3)]))
            drawn = replace(drawn, spread=spread, seed=int(rng.integers(2**31)), mixed=rng.random() < 0.5)
        return self._bound(drawn)

    def _drawn(self, rng: np.random.Generator) -> Candidate:
        return Candidate(
            clients=log_uniform(rng, MOST_CLIENTS),
            dimension=int(rng.choice(DIMENSIONS)),
            local_steps=log_uniform(rng, MOST_LOCAL_STEPS),
            conditioning=10.0 ** -rng.uniform(0, 5),
            smoothness=10.0 ** rng.uniform(-3, 3),
            noise=float(rng.choice([0.0, 10.0 ** rng.uniform(-3, 3)])),
            start=10.0 ** rng.uniform(-3, 3),
            axis=int(rng.integers(3)),
            step_share=float(rng.choice([1.0, 10.0 ** -rng.uniform(0, DECADES)])),
        )

    def perturb(self, candidate: Any, rng: np.random.Generator, size: float) -> Any:
        """Return a neighbour."""
        if isinstance(candidate, KinkedCandidate):
            return self._everyone(kinked_search.perturb(candidate, rng, self.demands, size))
        names = ("conditioning", "smoothness", "noise", "start", "step_share", "spread")[: 5 if self.identical else 6]
        moves = np.exp(size * rng.standard_normal(len(names)) * rng.integers(0, 2, len(names)))
        moved = {name: getattr(candidate, name) * float(move) for name, move in zip(names, moves, strict=True)}
        moved |= {name: min(1.0, moved[name]) for name in ("conditioning", "step_share")}
        if rng.random() < 0.3:
            name = str(rng.choice(["clients", "dimension", "local_steps", "noise", "axis"]))
            moved[name] = getattr(self._plain(rng), name)
        return self._bound(replace(candidate, **moved))

    def rounded(self, found: Found, digits: int) -> Iterator[run_points.RunPoint]:
        """Round a find's numbers, with fewer of the clients first: who reads the instance reads all of them."""
        if isinstance(found.point.federation, Quadratic):
            fed = found.point.federation
            for clients in (count for count in FEWER if count < fed.clients):
                few = Quadratic(
                    run_points.diagonals(fed)[:clients], fed.exact_centres[:clients], fed.exact_gradient_noise
                )
                smaller = replace(found.point, federation=few, participation=everyone(clients))
                yield from super().rounded(replace(found, point=smaller), digits)
        yield from super().rounded(found, digits)

    def _rounded_rule(self, algorithm: Algorithm, digits: int) -> dict[str, Any]:
        return {}

    def family_member(self, rng: np.random.Generator) -> None:
        """Return ``None``: no family is known."""


class LocalSgd(OfPart):
    """Subject of local SGD's runs."""

    name, part = "local_sgd", LocalSgdRuns.part

    def space(self, claim: Claim) -> LocalSgdRuns:
        """Return the space in which the claim is searched."""
        return LocalSgdRuns(claim)

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Point:
        """Read a point from plain data, not yet checked."""
        return run_subject.parse(data, claim, LocalSgdRuns.part)

    def from_setting(self, claim: Claim, setting: Setting, rounds: int, **given: Any) -> Point:
        """Make the point of a setting; FedAvg with everyone is local SGD too."""
        algorithm = setting.algorithm
        if isinstance(algorithm, EveryRound) and algorithm == fedavg(**steps(algorithm)):
            setting = replace(setting, algorithm=local_sgd(**steps(algorithm)))
        return run_subject.from_setting(claim, setting, rounds, LocalSgdRuns.part, **given)


def example(claim: Claim) -> Example:
    """Three clients with the same quadratic in two dimensions, and noise."""
    federation = Quadratic.common_hessian(np.zeros((3, 2)), [1.0, 0.25], gradient_noise=0.5)
    algorithm = fedavg(local_lr="1/8", local_steps=4)
    return Example(Setting(federation, algorithm, everyone(3), start=[1, 1]), 100)


def steps(algorithm: EveryRound) -> dict[str, Any]:
    """Return the step size and the number of local steps."""
    return {"local_lr": steps_of(algorithm)["local_lr"], "local_steps": algorithm.local_steps}


SUBJECTS = {"local_sgd": LocalSgd()}
