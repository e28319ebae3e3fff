"""The settings that a search for counterexamples looks at: small quadratic federations under FAST.

A candidate is a handful of numbers; most are drawn from structured families, where theorems of this kind break first
(minimisers at +-1; a mild client that takes part while extreme ones stay away; far starts; steps far below the cap).
The smoothness is 1 throughout: the unit of F is free, and the scale of the minimisers covers that of x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algorithms import fast
from ..federations import Quadratic
from ..participation import Fixed, IndexBeta, Participation, Uniform
from ..setting import Setting

FAMILIES = ("pair", "quartet", "random")
PROCESSES = ("fixed", "uniform", "beta")


@dataclass(frozen=True)
class Candidate:
    """One point of the search space.

    Attributes:
        family: ``pair`` has minimisers 1, -1; ``quartet`` u, -u, 1, -1 with u = ``mildness``; ``random`` has 1 to 5
            clients in one or two dimensions, drawn from ``federation_seed``. All are multiplied by ``scale``.
        conditioning: smallest over largest curvature (two dimensions only).
        process, arbitrary_cohort: who takes part in arbitrary rounds.
        start: x_0 along the first coordinate, in units of ``scale``.
        step_share: local_lr over the claim's cap. cohort_share: m over M.
        period: snapshots every so many rounds; 0 for snapshots with probability ``probability``.
    """

    family: str
    mildness: float
    federation_seed: int
    conditioning: float
    scale: float
    noise: float
    process: str
    arbitrary_cohort: int
    start: float
    local_steps: int
    step_share: float
    cohort_share: float
    replacement: bool
    period: int
    probability: float

    def centres(self) -> np.ndarray:
        """(clients, D), before scaling."""
        if self.family == "pair":
            return np.array([[1.0], [-1.0]])
        if self.family == "quartet":
            return np.array([[self.mildness], [-self.mildness], [1.0], [-1.0]])
        rng = np.random.default_rng(self.federation_seed)
        clients, dimension = int(rng.integers(1, 6)), int(rng.integers(1, 3))
        centres = rng.standard_normal((clients, dimension)).round(3)
        return centres - centres.mean(0).round(3)

    def setting(self, local_lr: float) -> Setting:
        """The setting with this step size."""
        centres = self.centres() * self.scale
        clients, dimension = centres.shape
        hessian = [1.0, self.conditioning][:dimension]
        federation = Quadratic.common_hessian(centres, hessian, gradient_noise=self.noise)
        snapshots = {"snapshot_period": self.period} if self.period else {"snapshot_probability": self.probability}
        algorithm = fast(
            cohort=max(1, round(self.cohort_share * clients)), local_steps=self.local_steps, local_lr=local_lr,
            replacement=self.replacement, **snapshots,
        )  # fmt: skip
        start = np.zeros(dimension)
        start[0] = self.start * self.scale
        return Setting(federation, algorithm, self._participation(clients), start=start)

    def _participation(self, clients: int) -> Participation:
        count = min(self.arbitrary_cohort, clients)
        if self.process == "fixed":
            return Fixed(range(count))
        return Uniform(count) if self.process == "uniform" else IndexBeta(count)


def draw(rng: np.random.Generator, deterministic: bool) -> Candidate:
    """A random candidate; a ``deterministic`` one has no noise, a fixed arbitrary set, and full periodic snapshots."""
    periodic = deterministic or rng.random() < 0.3
    return Candidate(
        family=str(rng.choice(FAMILIES)),
        mildness=round(rng.uniform(0.1, 1), 2),
        federation_seed=int(rng.integers(2**31)),
        conditioning=10.0 ** -rng.uniform(0, 2),
        scale=10.0 ** rng.uniform(-3, 1),
        noise=0.0 if deterministic or rng.random() < 0.5 else 10.0 ** rng.uniform(-4, 1),
        process="fixed" if deterministic else str(rng.choice(PROCESSES)),
        arbitrary_cohort=int(rng.integers(1, 4)),
        start=float(rng.choice([-1, 1])) * 10.0 ** rng.uniform(-1, 2),
        local_steps=int(rng.choice([1, 1, 2, 5])),
        step_share=10.0 ** -rng.uniform(0, 4),
        cohort_share=1.0 if deterministic else rng.uniform(0, 1),
        replacement=not deterministic and rng.random() < 0.3,
        period=int(rng.choice([2, 2, 3, 5, 10])) if periodic else 0,
        probability=rng.uniform(0, 1),
    )


def perturb(candidate: Candidate, rng: np.random.Generator, size: float = 0.3) -> Candidate:
    """A neighbour: the continuous numbers move by about ``size`` in the logarithm."""

    def moved(value: float) -> float:
        return value * float(np.exp(size * rng.standard_normal()))

    return replace(
        candidate,
        mildness=min(1.0, moved(candidate.mildness)),
        conditioning=min(1.0, moved(candidate.conditioning)),
        scale=moved(candidate.scale),
        noise=moved(candidate.noise),
        start=moved(candidate.start),
        step_share=min(1.0, moved(candidate.step_share)),
        probability=min(1.0, moved(candidate.probability)),
    )
