"""Candidates of a search for counterexamples: small quadratic federations under ``fast``.

A candidate is a handful of numbers. Most are drawn from structured families, where theorems of this kind break first:
minimisers at +-1, a mild client that takes part while extreme ones stay away, one client, identical clients, far starts
and starts at the optimum, ill-conditioned Hessians, steps far below the cap. Participants are a fixed set, uniformly
drawn, drawn by index, one set after another in a cycle, or one set first and another for ever. Rounds with a random
number of participants (each client on its own) are left out: its cohorts have a given size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Ge, Le

from ..algorithms import Fast, fast
from ..claims.statement import Claim
from ..federations import Quadratic
from ..federations.constants import Constant
from ..participation import Fixed, IndexBeta, Participation, Phases, Uniform
from ..quantities import QUANTITIES, RUN_QUANTITIES, symbol, symbols
from ..setting import Setting
from .protocol import span
from .quantity_limits import limit_of

if TYPE_CHECKING:
    from .kinked_search import KinkedCandidate

FAMILIES = ("pair", "quartet", "one", "identical", "random")
PROCESSES = ("fixed", "uniform", "beta", "cycle", "switch")

MOST_CLIENTS = 5

EVERYONE = 10**6
"""Size of a cohort that stands for all clients, however many are drawn."""
MOST_LOCAL_STEPS = 100
DIMENSIONS = (1, 1, 2, 3)
"""Dimensions to draw from, each as often as it stands here."""

DECADES = 6
"""Step sizes reach down to so many tenths of the cap."""


@dataclass(frozen=True)
class Demands:
    """Demands of a claim's words on the settings that it is searched on.

    Attributes:
        run_quantities: it speaks of maxima over the run, which are known for runs without noise and with a fixed set.
        one_round: it speaks of one round, whose kind is drawn or given, never periodic.
        snapshots: its readings of when snapshots happen. replacement: whether one draws cohorts with replacement (and
            nothing asks for maxima over the run).
        equal_cohorts: it supposes m = n.
        common_hessian: it bounds the dissimilarity over all x, which is infinite where the Hessians differ.
        fixed: the counts that it binds, see ``bound_counts``.
        own: it speaks of what a user's file computes, from quadratics.
    """

    run_quantities: bool
    one_round: bool
    snapshots: tuple[str, ...]
    replacement: bool
    equal_cohorts: bool
    common_hessian: bool
    fixed: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False


def demands(statement: Claim) -> Demands:
    """Return the demands of a claim about runs or rounds."""
    R, m, n = symbols("rounds", "cohort", "arbitrary_cohort")
    options = {ambiguity.name: ambiguity.options for ambiguity in statement.ambiguities}
    relations = [hypothesis.relation for hypothesis in statement.hypotheses]
    one_round = statement.functional.scope == "round" or Le(R, 1) in relations
    assumed = {assumption.quantity for assumption in statement.assumptions}
    run_quantities = any(name in RUN_QUANTITIES for name in statement.quantities)
    computed = [statement.functional.compute, *(QUANTITIES[name].compute for name in statement.quantities)]
    return Demands(
        run_quantities=run_quantities,
        one_round=one_round,
        snapshots=("probability",) if one_round else options.get("snapshots", ("period", "probability")),
        replacement="with replacement" in options.get("uniform cohort", ()) and not run_quantities,
        equal_cohorts=Le((m - n) ** 2, 0) in relations,
        common_hessian="dissimilarity" in assumed | set(statement.quantities),
        fixed=bound_counts(statement, "local_steps", "cohort", "arbitrary_cohort"),
        own=any(compute is not None for compute in computed),
    )


def bound_counts(statement: Claim, *names: str) -> dict[str, int]:
    """Return the numbers that a claim binds these quantities to; a cohort bound to all clients is ``EVERYONE`` here."""
    counts = {name: statement.bound[name] for name in names if name in statement.bound}
    everyone = {name: EVERYONE for name, value in counts.items() if value == symbol("clients")}
    return {name: int(value) for name, value in counts.items() if value.is_Integer} | everyone


def snapshots(wanted: Demands, probability: float) -> dict[str, Any]:
    """Return the option of ``fast`` for snapshots: this probability, or every second round where they have to be
    periodic."""
    return {"snapshot_probability": probability} if "probability" in wanted.snapshots else {"snapshot_period": 2}


@dataclass(frozen=True)
class Candidate:
    """One point of the search space.

    Attributes:
        family: ``pair`` has minimisers 1, -1; ``quartet`` u, -u, 1, -1 with u = ``mildness``, both along the
            coordinate ``axis``; ``one`` is a single client; ``identical`` several with one minimiser; ``random`` has
            1 to 5 clients, drawn from ``seed``; ``mixed`` the same with a Hessian each.
        dimension: 1 to 3. conditioning: smallest over largest curvature (from two dimensions on).
        smoothness: the largest curvature. scale: the unit of x.
        noise: standard deviation of a gradient, in units of smoothness * scale.
        start: x_0 - x* along the coordinate ``start_axis``, in units of ``scale``.
        process, arbitrary_cohort, order: who takes part in arbitrary rounds; ``order`` 0 lists the clients as they
            are, another number shuffles them. stay: rounds before a set changes, in snapshot periods.
        local_steps: K. cohort: m, as far as there are so many clients.
        step_share: local_lr over the claim's cap. step_constant: of a claim that chooses its step, in its units.
        replacement: whether cohorts are drawn with replacement.
        period: snapshots every so many rounds; 0 for snapshots with a probability, which is at the share
            ``probability`` of the way from the smallest to the largest one allowed.
        young: the parameter of a Young inequality over its best value.
    """

    family: str
    seed: int
    dimension: int
    axis: int
    mildness: float
    conditioning: float
    smoothness: float
    scale: float
    noise: float
    start: float
    start_axis: int
    process: str
    arbitrary_cohort: int
    order: int
    stay: int
    local_steps: int
    cohort: int
    step_share: float
    step_constant: float
    replacement: bool
    period: int
    probability: float
    young: float = 1.0

    def centres(self) -> np.ndarray:
        """The minimisers, (clients, D), before scaling."""
        direction = np.eye(self.dimension)[self.axis % self.dimension]
        if self.family == "pair":
            return np.outer([1, -1], direction)
        if self.family == "quartet":
            return np.outer([self.mildness, -self.mildness, 1, -1], direction)
        if self.family == "one":
            return np.zeros((1, self.dimension))
        rng = np.random.default_rng(self.seed)
        clients = int(rng.integers(1, MOST_CLIENTS + 1))
        centres = rng.standard_normal((clients, self.dimension)).round(3)
        return centres - centres.mean(0).round(3) if self.family != "identical" else 0 * centres

    def federation(self) -> Quadratic:
        """The clients."""
        centres = self.centres() * self.scale
        spectrum = self.smoothness * self.conditioning ** (np.arange(self.dimension) / max(1, self.dimension - 1))
        noise = self.noise * self.smoothness * self.scale
        if self.family != "mixed":
            return Quadratic.common_hessian(centres, spectrum, gradient_noise=noise)
        factors = self.conditioning ** np.random.default_rng(self.seed).uniform(0, 1, centres.shape)
        return Quadratic(self.smoothness * factors, centres, gradient_noise=noise)

    def setting(self, local_lr: float = 1.0, probability: float | None = None) -> Setting:
        """Make the setting with this step size and, unless snapshots are periodic, this probability of snapshots."""
        federation = self.federation()
        offset = np.zeros(self.dimension)
        offset[self.start_axis % self.dimension] = self.start * self.scale
        start = [best + Fraction(move) for best, move in zip(federation.exact_optimum, offset, strict=True)]
        algorithm = self.algorithm(federation.clients, local_lr, probability)
        return Setting(federation, algorithm, self._participation(federation.clients), start=start)

    def algorithm(self, clients: int, local_lr: float, probability: float | None = None) -> Fast:
        """Make ``fast`` with these parameters."""
        chosen = self.probability if probability is None else probability
        snapshots: dict[str, Any] = (
            {"snapshot_period": self.period} if self.period else {"snapshot_probability": chosen}
        )
        return fast(
            cohort=min(self.cohort, clients),
            local_steps=self.local_steps,
            local_lr=local_lr,
            replacement=self.replacement,
            **snapshots,
        )

    def _participation(self, clients: int) -> Participation:
        count = min(self.arbitrary_cohort, clients)
        shuffled = np.random.default_rng(self.order).permutation(clients) if self.order else np.arange(clients)
        order = shuffled.tolist()
        if self.process == "uniform":
            return Uniform(count)
        if self.process == "beta":
            return IndexBeta(count)
        stay = self.stay * max(1, self.period)
        if self.process == "cycle":
            return Phases([(order[j:] + order[:j])[:count] for j in range(clients)], [stay] * clients, cyclic=True)
        if self.process == "switch":
            return Phases([order[:count], order[-count:]], [stay, 1])
        return Fixed(order[:count])


PLAIN = Candidate(
    family="pair",
    seed=0,
    dimension=1,
    axis=0,
    mildness=0.5,
    conditioning=1.0,
    smoothness=1.0,
    scale=1.0,
    noise=0.0,
    start=3.0,
    start_axis=0,
    process="fixed",
    arbitrary_cohort=1,
    order=0,
    stay=1,
    local_steps=1,
    cohort=MOST_CLIENTS,
    step_share=1.0,
    step_constant=1.0,
    replacement=False,
    period=0,
    probability=0.0,
)
"""Candidate of one local step and one client in arbitrary rounds, of which the first ones differ in a few fields."""


def structured(wanted: Demands) -> Iterator[Candidate]:
    """Yield the first candidates.

    - A pair and a quartet with one client in arbitrary rounds, where floors of arbitrary rounds show.
    - A client with noise and, where cohorts may be drawn with replacement, clients with large noise, which one that is
      drawn twice does not average out.

    They start from near (a pair from the side of the absent client, where the present one's gradients are large and the
    objective is not) and from far, there in other units too. Steps go from the cap to a small share of it.
    """
    periodic, shares = wanted.run_quantities and "period" in wanted.snapshots, (1.0, 1e-2, 1e-4)
    near = {"pair": 3.0 if wanted.equal_cohorts else -0.45}
    for family, share, probability, far in product(FAMILIES[:3], shares, (0.0, 0.5), (False, True)):
        candidate = replace(
            PLAIN,
            family=family,
            noise=float(family == "one"),
            step_share=share,
            probability=probability,
            start=100.0 if far else near.get(family, 3.0),
            smoothness=1e-3 if far else 1.0,
            period=2 * periodic,
            step_constant=share * 100,
        )
        yield conforming(candidate, wanted)
    noisy = replace(PLAIN, family="quartet", noise=1e4, replacement=True, probability=1.0)
    for share in shares if wanted.replacement else ():
        yield conforming(replace(noisy, step_share=share, step_constant=share * 100), wanted)


def draw(rng: np.random.Generator, wanted: Demands) -> Candidate:
    """Draw a random candidate that conforms to what is wanted."""
    periodic = "period" in wanted.snapshots and (wanted.run_quantities or rng.random() < 1 / len(wanted.snapshots))
    families = FAMILIES if wanted.common_hessian else (*FAMILIES, "mixed", "mixed")
    dimension = int(rng.choice(DIMENSIONS))
    axis = int(rng.integers(dimension))
    arbitrary_cohort = int(rng.choice([1, 1, 2, 3]))
    everyone = rng.random() < (0.7 if wanted.run_quantities else 0.3)
    candidate = Candidate(
        family=str(rng.choice(families)),
        seed=int(rng.integers(2**31)),
        dimension=dimension,
        axis=axis,
        mildness=round(rng.uniform(0.1, 1), 2),
        conditioning=_one_of(rng, 1.0, 10.0 ** -rng.uniform(0, 6)),
        smoothness=_one_of(rng, 1.0, 10.0 ** rng.uniform(-4, 3)),
        scale=10.0 ** rng.uniform(-3, 2),
        noise=_one_of(rng, 0.0, 10.0 ** rng.uniform(-3, 3)),
        start=float(rng.choice([-1, 1])) * 10.0 ** rng.uniform(-3, 4) if rng.random() < 0.9 else 0.0,
        start_axis=axis if rng.random() < 0.7 else int(rng.integers(dimension)),
        process=str(rng.choice(PROCESSES, p=[0.5, 0.15, 0.05, 0.15, 0.15])),
        arbitrary_cohort=arbitrary_cohort,
        order=_one_of(rng, 0, int(rng.integers(1, 1000))),
        stay=int(10.0 ** rng.uniform(0, 4)),
        local_steps=_one_of(rng, int(rng.choice([1, 1, 2])), log_uniform(rng, MOST_LOCAL_STEPS)),
        cohort=MOST_CLIENTS if everyone else int(rng.integers(1, MOST_CLIENTS + 1)),
        step_share=10.0 ** -rng.uniform(0, DECADES) if rng.random() < 0.8 else 1.0,
        step_constant=10.0 ** rng.uniform(-3, 4),
        replacement=wanted.replacement and rng.random() < 0.4,
        period=int(rng.choice([1, 2, 2, 3, 5, 10])) if periodic else 0,
        probability=float(rng.choice([0.0, 1.0, rng.uniform(0, 1), 1 - 10.0 ** -rng.uniform(0, 6)])),
        young=10.0 ** rng.uniform(-1, 1),
    )
    return conforming(candidate, wanted)


def in_words(wanted: Demands, runs: str, horizons: Iterable[int], chosen: bool) -> str:
    """Describe the runs that are drawn, in a sentence's words."""
    steps = [wanted.fixed["local_steps"]] if "local_steps" in wanted.fixed else (1, MOST_LOCAL_STEPS)
    rounds = "one round" if wanted.one_round else f"{span(horizons)} rounds"
    who = (
        "one fixed set in arbitrary rounds, without clients' noise"
        if wanted.run_quantities
        else (f"participants in arbitrary rounds: {', '.join(PROCESSES)}; with and without noise")
    )
    hessian = "with one Hessian" if wanted.common_hessian else "with common and different Hessians"
    sizes = "the step sizes that it chooses" if chosen else f"step sizes drawn from the cap to 1e-{DECADES} of it"
    return (
        f"{runs} on quadratics {hessian}, at most {MOST_CLIENTS} clients, {span(DIMENSIONS)} dimensions, {span(steps)} "
        f"local steps, {rounds}, {sizes}; {who}"
    )


LEFT_OUT = (
    "losses whose gradients are not piecewise linear; more clients, dimensions or local steps; participants of a "
    "random number; noise whose mean is not 0"
)
"""Description of the settings that are no candidates."""


def log_uniform(rng: np.random.Generator, most: int) -> int:
    """Draw a whole number from 1 to ``most``, its logarithm uniform."""
    return min(most, int(np.exp(rng.uniform(0, np.log(most + 1)))))


def _one_of(rng: np.random.Generator, special: Any, general: Any) -> Any:
    """One or the other, with equal chances."""
    return special if rng.random() < 0.5 else general


def conforming(candidate: Candidate, wanted: Demands) -> Candidate:
    """Change a candidate so that it conforms to what is wanted.

    It has no noise and a fixed set where maxima over the run have to be known; then it is on a line, or everyone is in
    snapshots. Cohorts are equal where that is supposed, and snapshots periodic where they have to be.
    """
    candidate = replace(candidate, **wanted.fixed) if wanted.fixed else candidate
    if not candidate.period and "probability" not in wanted.snapshots:
        candidate = replace(candidate, period=2 if candidate.probability else 10)
    if wanted.equal_cohorts:
        candidate = replace(candidate, cohort=candidate.arbitrary_cohort)
    if not wanted.run_quantities:
        return candidate
    candidate = replace(candidate, noise=0.0, process="fixed", replacement=False)
    if candidate.dimension == 1:
        return candidate
    return replace(candidate, dimension=1) if wanted.equal_cohorts else replace(candidate, cohort=MOST_CLIENTS)


def perturb(candidate: Candidate, rng: np.random.Generator, wanted: Demands, size: float = 0.3) -> Candidate:
    """Return a neighbour.

    Some of the continuous numbers move by about ``size`` in the logarithm, and at times a discrete choice is drawn
    afresh.
    """

    def moved(value: float, most: float = np.inf) -> float:
        move = np.exp(size * rng.standard_normal()) if rng.random() < 0.5 else 1.0
        return min(most, value * float(move))

    neighbour = replace(
        candidate,
        mildness=moved(candidate.mildness, 1.0),
        conditioning=moved(candidate.conditioning, 1.0),
        smoothness=moved(candidate.smoothness),
        scale=moved(candidate.scale),
        noise=moved(candidate.noise),
        start=moved(candidate.start),
        step_share=moved(candidate.step_share, 1.0),
        step_constant=moved(candidate.step_constant),
        probability=moved(candidate.probability, 1.0),
        young=moved(candidate.young),
    )
    if rng.random() < 0.3:
        other, field = draw(rng, wanted), str(rng.choice(DISCRETE))
        neighbour = replace(neighbour, **{field: getattr(other, field)})
    return conforming(neighbour, wanted)


DISCRETE = ("family", "seed", "dimension", "axis", "conditioning", "noise", "start", "start_axis", "process", "order",
            "arbitrary_cohort", "stay", "local_steps", "cohort", "probability")  # fmt: skip
"""Numbers that a discrete move draws afresh. Some are continuous: their special values are worth a jump."""


DIVERGING_STEP = 4.0
"""Step size that a share of 1 means where a claim caps none, times smoothness. Gradient descent diverges there."""


def settle(statement: Claim, candidate: Candidate | KinkedCandidate) -> Setting | None:
    """Return the candidate's setting, with the step size at its share of the cap; ``None`` if the hypotheses allow
    none.

    Where snapshots are random, their probability is between the smallest and the largest one that the hypotheses allow.
    """
    base = placed(candidate)
    with np.errstate(over="ignore", invalid="ignore"):  # of a round with a step that is still to be set
        known = known_of(base, ["smoothness", *(n for n in statement.quantities if n not in RUN_QUANTITIES)])
    values: dict[str, Any] = {name: constant.value for name, constant in known.items()} | {"rounds": 1}
    values.pop("local_lr", None)
    probability = None
    if not candidate.period:
        probability = values["snapshot_probability"] = within(statement, candidate, values)
        if probability is None:
            return None
    cap = limit_of(statement, "local_lr", Le, values)
    step = candidate.step_share * (DIVERGING_STEP / float(known["smoothness"].value) if cap is None else cap)
    if not 0 < step < np.inf:
        return None
    if not candidate.period:
        probability = within(statement, candidate, values | {"local_lr": step})
        if probability is None:
            return None
    return base.running(candidate.algorithm(base.federation.clients, float(step), probability))


@lru_cache(maxsize=1024)
def placed(candidate: Candidate | KinkedCandidate) -> Setting:
    """Return the candidate's setting, its steps still to be set.

    Equal candidates have the same one, so that what was computed of it is known to all claims that they are drawn for.
    """
    return candidate.setting()


OF_ANY_ALGORITHM = frozenset(
    {
        "smoothness",
        "strong_convexity",
        "gradient_noise",
        "dissimilarity",
        "dissimilarity_at_optimum",
        "clients",
        "initial_gap",
        "initial_distance",
    }
)
"""Quantities of a federation and a start."""


def known_of(setting: Setting, names: Sequence[str]) -> dict[str, Constant]:
    """Return ``setting.quantities(needed=names)``, each of which is kept with the setting; a user's own is not.

    Those ``OF_ANY_ALGORITHM`` are kept for all settings that come from one another by ``running``.
    """
    if OF_ANY_ALGORITHM.issuperset(names):
        kept = setting.whatever_the_algorithm("quantities", dict[str, Constant | None])
    else:
        fixed = known_of(setting, [name for name in names if name in OF_ANY_ALGORITHM])
        kept = setting.once("quantities", dict[str, Constant | None])
        kept.update(fixed)
    missing = [name for name in names if name not in kept or QUANTITIES[name].compute is not None]
    if missing:
        found = setting.quantities(needed=missing)
        kept.update((name, found.get(name)) for name in missing)
    return {name: constant for name in names if (constant := kept[name]) is not None}


def within(statement: Claim, candidate: Candidate | KinkedCandidate, values: Mapping[str, Any]) -> float | None:
    """Return the probability at the candidate's share of the way from the smallest to the largest one allowed."""
    lowest = max(0.0, limit_of(statement, "snapshot_probability", Ge, values) or 0.0) * (1 + 1e-12)
    limit = limit_of(statement, "snapshot_probability", Le, values)
    highest = 1.0 if limit is None else min(1.0, limit)
    if lowest > 1 or lowest > highest * (1 + 1e-9):
        return 1.0 if lowest <= 1 + 1e-9 and highest == 1 else None
    return lowest + max(0.0, highest - lowest) * candidate.probability
