"""Search of claims about FedAU's runs and single rounds: a few quadratic clients with one Hessian, weighted updates.

A claim that assumes a bounded gradient is searched on clients that are quadratic in a box which no run leaves, and go
on outside with the gradient of its edge. Given weights repeat after a few rounds, so that horizons go up to 10^8
rounds; estimated ones are followed state by state, over two dozen rounds at most. Where a claim's Q would depend on the
run, it is the least bound that is known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sympy import Le

from ....claims import readings
from ....claims.evaluation import compiled
from ....claims.statement import Claim
from ....claims.balls import Undecided
from ....claims.statement import leaves_objective_open
from ....moments.evaluators import FLOAT, left, quantity
from ..exact.weighted_update_rounds import weighted_rounds
from ....subjects.protocol import Space, runs_of, span
from ....subjects.quadratic_candidates import DIVERGING_STEP
from ....subjects.lead import LATE, Found, finds_at, worst
from ....subjects.quantity_limits import limit_of
from ....subjects.short_numbers import STEP_SHARES, short
from ....subjects.run_search import HORIZONS, RESOLUTION
from .weighted_run_points import FedauPoint, rounded_run
from .weighted_runs import (
    STEPS,
    FedauRun,
    bounds_gradient,
    chooses_cutoff,
    is_about_a_round,
    may_estimate,
)

MOST_CLIENTS = 4

LONGEST = {1: 24, 2: 6}
"""Largest number of rounds of a candidate with estimated weights, by the number of clients that may be absent."""

NEARLY = 1 / 9
"""Largest relative distance of nearly optimal weights from 1/p_n."""

DIMENSIONS = (1, 1, 2)
LOCAL_STEPS = (1, 1, 2, 5, 10)
"""Numbers of local steps to draw from, each as often as it stands here."""

FAMILIES = ("one", "pair", "identical", "single", "random")
WEIGHT_FAMILIES = ("ones", "best", "near", "random")


@dataclass(frozen=True)
class FedauCandidate:
    """One point of the search space.

    Attributes:
        family: of the clients' slopes: ``one`` client; a ``pair`` at both sides of the mean; ``identical`` ones; a
            ``single`` one among others that are alike; ``random`` ones.
        run: in floats, from x_0 = 0, with steps that are yet to be settled.
        local_share, global_share: local_lr and global_lr over their caps.
    """

    family: str
    run: FedauRun
    local_share: float
    global_share: float


class FedauRuns(Space):
    """Space of runs and rounds on which a claim is searched."""

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        self.of_a_round = is_about_a_round(statement)
        self.estimates, self.chooses = may_estimate(statement), chooses_cutoff(statement)
        self.constant = self.of_a_round or "update_weight" in statement.quantities
        self.nearly = "peak_weight_error" in statement.quantities
        self.needed = [name for name in statement.quantities if name not in statement.choices]
        self.options = {ambiguity.name: ambiguity.options for ambiguity in statement.ambiguities}

    left_out = "losses that are not quadratic within reach; participants that depend on each other or on their past"

    @property
    def searched(self) -> str:
        """Description of the runs that are searched, in words."""
        estimated = f", estimated ones over at most {max(LONGEST.values())}" if self.estimates or self.chooses else ""
        rounds = "one round" if self.of_a_round else f"given weights over {span(HORIZONS.tolist())} rounds{estimated}"
        return (
            f"{runs_of(self.statement, 'fedau')} on quadratics with one Hessian, at most {MOST_CLIENTS} clients, "
            f"{span(DIMENSIONS)} dimensions, {span(LOCAL_STEPS)} local steps, {rounds}"
        )

    # Candidates ------------------------------------------------------------------------------------------------------

    def structured(self) -> Iterator[FedauCandidate]:
        """Yield the first candidates: one client, with and without noise, and a pair.

        They are present always or at times, with weights 1, 1/p_n, or a tenth off these, and with steps from the caps
        to a small share of them. For a claim about a round there are also many steps, and concave clients.
        """
        shapes: tuple[tuple[int, float], ...] = ((1, 1.0),)
        shares: tuple[float, ...] = (1.0, 1e-2, 1e-4)
        if self.of_a_round:
            shapes, shares = ((1, 1.0), (10, 1.0), (10, -1.0)), (1.0, 1e-3)
        for share, p, (steps, curvature) in product(shares, (1.0, 0.9, 0.5, 0.1), shapes):
            for noise, slope, offsets in ((0.0, 1.0, [0.0]), (1.0, 1e-3, [0.0]), (0.0, 0.05, [1.0, -1.0])):
                yield self._candidate(slope, offsets, noise, p, steps, curvature, share)

    def _candidate(
        self, slope: float, offsets: list[float], noise: float, p: float, steps: int, curvature: float, share: float
    ) -> FedauCandidate:
        clients = len(offsets)
        # Of a pair, the client that pulls to the far side of the minimiser counts too much.
        row = (1.0,) if p == 0.9 and clients == 1 else tuple((1 - 0.11 * offset) / p for offset in offsets)
        objective = (1.0,) + (0.0,) * (clients - 1) if p == 1 else (1 / clients,) * clients
        run = FedauRun(
            curvatures=((curvature,),) * clients,
            slopes=tuple((slope + o,) for o in offsets),
            start=(0.0,),
            gradient_noise=noise,
            probabilities=(p,) * clients,
            weights=(row,),
            local_steps=steps,
            local_lr=None,
            global_lr=None,
            rounds=1,
            objective=objective if self._open else (),
        )
        if self.chooses or (self.estimates and p == 0.9):
            # Away in round 0, there in round 1: the weight of round 2 tells it.
            history = ((0,) + (1,) * (clients - 1), (1,) * clients) if self.of_a_round else ()
            rounds = 1 if self.of_a_round else LONGEST[1] // 2
            run = replace(
                run,
                probabilities=(p,) + (1.0,) * (clients - 1),
                rounds=rounds,
                history=history,
                weights=(),
                cutoff=None if self.chooses else 2,
            )
        return FedauCandidate("pair" if clients > 1 else "one", run, share, share)

    @property
    def _open(self) -> bool:
        return leaves_objective_open(self.statement)

    def draw(self, rng: np.random.Generator) -> FedauCandidate:
        """Draw a random candidate."""
        family = str(rng.choice(FAMILIES))
        estimated = self.chooses or (self.estimates and rng.random() < 0.3)
        clients = 1 if family == "one" else int(rng.integers(2, MOST_CLIENTS + 1))
        dimension = int(rng.choice(DIMENSIONS))
        unit, curvature = (10.0 ** rng.uniform(-2, 2) if rng.random() < 0.5 else 1.0 for _ in range(2))
        slopes = unit * (
            10.0 ** rng.uniform(-3, 3) * _signs(rng, dimension) + _offsets(family, rng, clients, dimension)
        )
        probabilities = _probabilities(rng, clients, self.nearly, not (self.nearly or self.chooses))
        objective = _objective(rng, probabilities) if self._open else ()
        run = FedauRun(
            curvatures=(tuple(map(float, curvature * self._spectrum(rng, dimension))),) * clients,
            slopes=tuple(tuple(map(float, row)) for row in slopes),
            start=(0.0,) * dimension,
            gradient_noise=0.0 if rng.random() < 0.5 else unit * 10.0 ** rng.uniform(-3, 3),
            probabilities=probabilities,
            weights=self._rows(rng, probabilities, objective),
            local_steps=int(rng.choice(LOCAL_STEPS)),
            local_lr=None,
            global_lr=None,
            rounds=1,
            objective=objective,
        )
        run = self._estimated(rng, run) if estimated else run
        shares = (1.0 if rng.random() < 0.4 else 10.0 ** -rng.uniform(0, 5) for _ in range(2))
        return FedauCandidate(family, run, *shares)

    def _spectrum(self, rng: np.random.Generator, dimension: int) -> np.ndarray:
        """1 first, then up to 1e-4; of a round also what is not convex."""
        spectrum = 10.0 ** -rng.uniform(0, 4, dimension)
        spectrum[0] = 1.0
        return spectrum * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], dimension) if self.of_a_round else spectrum

    def _rows(
        self, rng: np.random.Generator, probabilities: tuple[float, ...], objective: tuple[float, ...]
    ) -> tuple[tuple[float, ...], ...]:
        """Rows of weights: 1, the best ones for the objective (1/p_n where it is f), near these, or any."""
        length = 1 if self.constant or rng.random() < 0.6 else int(rng.integers(2, 5))
        families = ("best", "near", "near", "ones") if self.nearly else WEIGHT_FAMILIES
        p, rows = np.array(probabilities), []
        best = np.maximum(np.array(objective) * len(p) if objective else p**0, 1e-3) / np.where(p > 0, p, 1)
        for _ in range(length):
            off = NEARLY if self.nearly else 10.0 ** rng.uniform(-2, 0)
            row = {
                "ones": p**0,
                "best": best,
                "near": best * (1 + off * rng.uniform(-1, 1, len(p))),
                "random": 10.0 ** rng.uniform(-2, 2, len(p)),
            }[str(rng.choice(families))]
            rows.append(tuple(map(float, row)))
        return tuple(rows)

    def _estimated(self, rng: np.random.Generator, run: FedauRun) -> FedauRun:
        """The run with Algorithm 2's weights, and so many clients that may be absent as can be followed."""
        absent = int(rng.integers(1, 3))
        probabilities = run.probabilities[:absent] + (1.0,) * (run.clients - absent)
        longest = LONGEST[min(absent, run.clients)]
        cutoff = None if self.chooses else rng.choice([1, 2, 3, 6, math.inf])
        cutoff = cutoff if cutoff in (None, math.inf) else int(cutoff)
        run = replace(run, probabilities=probabilities, weights=(), cutoff=cutoff)
        if not self.of_a_round:
            return replace(run, rounds=int(rng.integers(2, longest + 1)))
        history = [[int(rng.random() < p) for p in probabilities] for _ in range(rng.integers(0, 4))]
        return replace(run, history=tuple(map(tuple, history)))

    def perturb(self, candidate: FedauCandidate, rng: np.random.Generator, size: float) -> FedauCandidate:
        """Return a neighbour: numbers move by about ``size`` in the logarithm, and at times a part is drawn afresh."""

        def factors(shape: Any) -> np.ndarray:
            return np.exp(size * rng.standard_normal(shape) * rng.integers(0, 2, shape))

        run = candidate.run
        slopes = np.array(run.slopes) * factors((run.clients, run.dimension))
        curvatures = np.array(run.curvatures) * factors(run.dimension)
        changes: dict[str, Any] = {
            "slopes": tuple(tuple(map(float, row)) for row in slopes),
            "curvatures": tuple(tuple(map(float, row)) for row in curvatures),
            "gradient_noise": run.gradient_noise * float(factors(())),
            "probabilities": tuple(_moved(p, rng, size) for p in run.probabilities),
        }
        if run.weights:
            rows = np.array(run.weights) * factors((len(run.weights), run.clients))
            changes["weights"] = tuple(tuple(map(float, row)) for row in rows)
        if run.objective:
            shares = np.array(run.objective) * factors(run.clients)
            changes["objective"] = tuple(map(float, shares / shares.sum()))
        run = replace(run, **changes)
        if rng.random() < 0.3:
            other, part = self.draw(rng), str(rng.choice(["local_steps", "gradient_noise", "weights", "objective"]))
            if other.run.clients == run.clients and bool(other.run.weights) == bool(run.weights):
                parts = ("weights", "cutoff") if part == "weights" else (part,)
                run = replace(run, **{name: getattr(other.run, name) for name in parts})
        moves = factors(2)
        return replace(
            candidate,
            run=run,
            local_share=min(1.0, candidate.local_share * float(moves[0])),
            global_share=min(1.0, candidate.global_share * float(moves[1])),
        )

    # Assessment ------------------------------------------------------------------------------------------------------

    def readings(self, found: Found) -> tuple[str, ...]:
        """Return the options of the claim's ambiguity about weights under which the run is the one found."""
        run: FedauRun = found.point
        if readings.CONDITIONING in self.options:
            informed = not run.weights and run.history
            return (readings.OF_ALL_ROUNDS,) if informed else self.options[readings.CONDITIONING]
        if readings.WEIGHTS in self.options:
            return self.options[readings.WEIGHTS][:1]
        if readings.SCALE in self.options:
            return self.options[readings.SCALE][1:] if run.weights_vary else self.options[readings.SCALE]
        return ("",)

    def assess(self, candidate: FedauCandidate) -> tuple[Found, Found | None] | None:
        """Evaluate the candidate at its worst horizon, and at its worst late one (see ``lead.LATE``).

        It is ``None`` if no horizon satisfies every hypothesis.
        """
        with np.errstate(all="ignore"):  # the runs of steps that are too large
            try:
                run = self.settle(candidate)
                finds = [] if run is None else list(self._looked_at(candidate, run))
            except (Undecided, OverflowError, ZeroDivisionError):
                return None
        late = () if self.of_a_round else (found for found in finds if found.fading < LATE)
        at_worst = worst(finds)
        return None if at_worst is None else (at_worst, worst(late))

    def settle(self, candidate: FedauCandidate) -> FedauRun | None:
        """Return the candidate's run with its steps, and the cutoff that the claim chooses; ``None`` if it allows
        none."""
        run, statement = candidate.run, self.statement
        if self.chooses:
            known = {"least_participation_probability": min(run.probabilities), "rounds": run.rounds}
            cutoff = float(compiled(statement.choices["cutoff"])(_arrays(known)))
            if not 1 <= cutoff < math.inf:
                return None
            run = replace(run, cutoff=int(cutoff))
        # Of given weights all rows count, whatever the horizon.
        question = run.question(statement, FLOAT, len(run.weights) or run.rounds)
        values = {name: quantity(name, question).value for name in self.needed if name not in STEPS}
        if {*STEPS} <= {*statement.choices}:
            chosen = {name: float(compiled(statement.choices[name])(_arrays(values))) for name in STEPS}
            if not all(0 < step < math.inf for step in chosen.values()):
                return None
            return replace(run, local_lr=chosen["local_lr"], global_lr=chosen["global_lr"])
        smoothness = run.smoothness
        own = {"smoothness": smoothness, "local_steps": run.local_steps}
        cap = limit_of(statement, "local_lr", Le, values | own)
        local_lr = candidate.local_share * (DIVERGING_STEP / smoothness if cap is None else cap) * (1 - 1e-15)
        cap = self._global_cap(values | {"local_lr": local_lr})
        if cap is None:
            cap = DIVERGING_STEP / (smoothness * run.local_steps * local_lr)
        if bounds_gradient(statement):
            cap = min(cap, _staying_cap(statement, replace(run, local_lr=local_lr)))
        global_lr = candidate.global_share * cap * (1 - 1e-12)
        return replace(run, local_lr=local_lr, global_lr=global_lr) if 0 < global_lr < math.inf else None

    def _global_cap(self, values: Mapping[str, Any]) -> float | None:
        """The largest global_lr that the hypotheses allow, each of which is linear in it; ``None`` if all do."""
        caps = []
        for hypothesis in self.statement.hypotheses:
            names = {s.name for s in hypothesis.slack.free_symbols}
            if "global_lr" in names:
                at_0, at_1 = (
                    float(compiled(hypothesis.slack)(_arrays({**values, "global_lr": eta}))) for eta in (0.0, 1.0)
                )
                if at_1 < at_0:
                    caps.append(at_0 / (at_0 - at_1))
        return min(caps, default=None)

    def _looked_at(self, candidate: FedauCandidate, run: FedauRun) -> Iterator[Found]:
        horizons = HORIZONS if run.weights and not self.of_a_round else np.array([run.rounds])
        reading = {readings.CONDITIONING: readings.OF_ALL_ROUNDS if run.history else ""}
        question = run.question(self.statement, FLOAT, horizons, reading)
        values = {name: quantity(name, question).value for name in self.needed}
        bound = self.statement.evaluate(**values)
        admissible = np.ones(horizons.shape, dtype=bool)
        for slack in bound.slack.values():
            admissible &= np.asarray(slack is not None and slack >= 0)
        if not admissible.any():
            return
        value = np.broadcast_to(left(self.statement.functional, question), horizons.shape)
        seen = np.where((value > 0) & (value < RESOLUTION * self._unit(run)), 0.0, value)
        yield from finds_at(
            candidate, lambda rounds: replace(run, rounds=rounds), bound, horizons, admissible, value, seen
        )

    def rounded(self, found: Found, digits: int) -> Iterator[FedauPoint]:
        """Yield the run with short numbers, its global step down from a share of its size."""
        near = partial(short, digits=digits)
        return (FedauPoint(rounded_run(found.point, self.statement, share, near)) for share in STEP_SHARES)

    def _unit(self, run: FedauRun) -> float:
        """Return the unit of the left side: powers of the largest gradient and of the smoothness."""
        slope = max(abs(g) for row in run.slopes for g in row)
        smoothness, units = run.smoothness, self.statement.functional.units
        # F/x = slope and F/x^2 = smoothness: x = slope/smoothness, F = slope^2/smoothness.
        return (slope**2 / smoothness) ** units.objective * (slope / smoothness) ** units.parameter


def _arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.float64(value) for name, value in values.items()}


def _staying_cap(statement: Claim, run: FedauRun) -> float:
    """The largest global_lr with which no run leaves its box."""
    most, cap = sum(weighted_rounds(run.question(statement, FLOAT)).largest_weights(run.rounds)), math.inf
    for h in run.curvatures[0]:
        once = sum((1 - run.local_lr * h) ** i for i in range(run.local_steps))
        cap = min(cap, run.clients / (run.local_lr * h * once * most))
    return cap


def _signs(rng: np.random.Generator, dimension: int) -> np.ndarray:
    """A direction: along a coordinate, or all of them; 0 at times."""
    direction = rng.standard_normal(dimension)
    kind = rng.random()
    if kind < 0.1:
        return 0 * direction
    return np.sign(direction) * (np.arange(dimension) == rng.integers(dimension)) if kind < 0.5 else direction


def _offsets(family: str, rng: np.random.Generator, clients: int, dimension: int) -> np.ndarray:
    """(clients, dimension), of mean 0."""
    if family in ("one", "identical"):
        return np.zeros((clients, dimension))
    if family == "random":
        offsets = rng.standard_normal((clients, dimension))
    else:
        offsets = np.zeros((clients, dimension))
        offsets[0, rng.integers(dimension)] = 1.0
        if family == "pair":
            offsets[1] = -offsets[0]
    return offsets - offsets.mean(0)


def _probabilities(rng: np.random.Generator, clients: int, high: bool, absent: bool) -> tuple[float, ...]:
    """1, anywhere, nearly 1 or small, the same for all or not; if ``absent``, one of several clients may never come: a
    claim that chooses a cutoff by the least probability has none for that."""

    def one() -> float:
        kind = rng.random()
        if kind < 0.2:
            return 1.0
        if high or kind < 0.4:
            return 1 - 10.0 ** -rng.uniform(0.3, 4)
        return rng.uniform(0.01, 1.0) if kind < 0.7 else 10.0 ** -rng.uniform(0, 4)

    drawn = (one(),) * clients if rng.random() < 0.4 else tuple(one() for _ in range(clients))
    return (0.0, *drawn[1:]) if clients > 1 and absent and rng.random() < 0.1 else drawn


def _objective(rng: np.random.Generator, probabilities: tuple[float, ...]) -> tuple[float, ...]:
    """One client's, the mean, in proportion to the probabilities, or any."""
    clients = len(probabilities)
    shares = (np.eye(clients)[rng.integers(clients)], np.ones(clients), np.array(probabilities), rng.random(clients))
    chosen = shares[rng.integers(len(shares))]
    return tuple(map(float, chosen / chosen.sum()))


def _moved(p: float, rng: np.random.Generator, size: float) -> float:
    """Another probability, or 0 or 1 if it was."""
    if p in (0.0, 1.0) or rng.random() < 0.3:
        return p
    odds = p / (1 - p) * math.exp(size * rng.standard_normal())
    return min(max(odds / (1 + odds), 1e-9), 1 - 1e-9)
