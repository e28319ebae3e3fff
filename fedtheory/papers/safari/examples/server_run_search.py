"""Search of claims about SAFARI's runs and single rounds: small quadratic federations with steps of two sizes.

Each round's kind is drawn. Where a claim speaks of extremes over the run of expectations, these are found by following
the second moments at a sample of the rounds; where it asks something of every round of every run (Theorem 5), an
interval holds all runs in one dimension, with one curvature and without noise (``subjects.enclosures.every_round``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
from sympy import Ge, Le

from ....algorithms import Safari, safari
from ....claims.evaluation import compiled
from ....claims.statement import Claim
from ....federations import Federation, Piecewise, Quadratic
from ....federations.piecewise import NoMinimum
from ....moments.linear_rounds import second_moment_map
from ....moments.round_maps import initial_moments, local_maps, observable_weights, quadratic
from ....moments.timeline import advance, timeline
from ....participation import IndexBeta
from ....quantities import CLIENT_ROUND_QUANTITIES, ROUND_QUANTITIES, RUN_QUANTITIES, SERVER_RUN_QUANTITIES
from ....setting import Setting
from ....subjects import kinked_search
from ....subjects.quadratic_candidates import DIVERGING_STEP, PLAIN, Candidate, Demands, known_of, placed
from ....subjects.enclosures import EVERY_ROUND, GRADIENTS, PSEUDOGRADIENTS, algorithm_of, members_of
from ....subjects.file_entries import Participants, is_about_one_round
from ....subjects.lead import Found
from ....subjects.kinked_search import KinkedCandidate
from ....subjects.quantity_limits import limit_of
from ....subjects.short_numbers import short
from ....subjects.run_points import RunPoint
from ....subjects.run_subject import CLIENT, PARTS, SERVER
from ....subjects.run_search import CHOICE_HORIZONS, HORIZONS, Runs

STEPS = ("local_lr", "server_lr")

SHARES = "exact shares"
"""The reading of kinds of rounds under which so many are the clients', in whatever order."""

LONGEST_CYCLE = 100
"""Largest number of rounds after which the order of kinds of a rounded run repeats."""

PROVABLE = 10**5
"""Largest number of rounds of runs whose extremes are asked for: a proof follows every round, in seconds up to here."""

Peaks = dict[str, np.ndarray]


@dataclass(frozen=True)
class ServerCandidate:
    """One point of the search space.

    Attributes:
        base: federation, start, participants and local steps, as in the search of FAST's claims; its ``step_share`` is
            local_lr (or server_lr, where the claim chooses local_lr) over its cap, its ``probability`` the share of the
            way from the smallest to the largest client_round_probability allowed.
        server_noise: standard deviation of the server's gradient, in units of smoothness * scale.
        server_share: server_lr over its cap, where neither step size is chosen.
    """

    base: Candidate | KinkedCandidate
    server_noise: float
    server_share: float

    @property
    def family(self) -> str:
        """The family of the base candidate."""
        return self.base.family

    def setting(self, steps: Mapping[str, float], probability: float) -> Setting:
        """Make the setting with these step sizes and this probability of client rounds."""
        sizes: dict[str, Any] = {name: Fraction(float(step)) for name, step in steps.items()}
        algorithm = safari(client_round_probability=probability, local_steps=self.base.local_steps, **sizes)
        return _with_server_noise(self.base, self.server_noise).running(algorithm)


@lru_cache(maxsize=1024)
def _with_server_noise(base: Candidate | KinkedCandidate, server_noise: float) -> Setting:
    """The setting of ``base``, with the server's noise: it is asked for with several steps, and by several claims."""
    plain, noise = placed(base), server_noise * base.smoothness * base.scale
    fed = plain.federation
    federation: Quadratic | Piecewise
    if isinstance(fed, Piecewise):
        federation = Piecewise(fed.gradients, fed.multiplicities, fed.exact_gradient_noise, server_noise=noise)
    else:
        fed = quadratic(plain)
        federation = Quadratic(fed.exact_hessians, fed.exact_centres, fed.exact_gradient_noise, server_noise=noise)
    return replace(plain, federation=federation)


class ServerRuns(Runs):
    """The settings on which a claim about SAFARI's runs or single rounds is searched.

    Readings: a round's kind is drawn, and which iterates and local gradients count is read literally. What the literal
    hypotheses admit is looked at under each of their readings.
    """

    def __init__(self, statement: Claim) -> None:
        super().__init__(statement)
        self.asked = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES} & set(statement.quantities)
        self.demands = Demands(
            run_quantities=bool(self.asked),
            one_round=is_about_one_round(statement),
            snapshots=("probability",),
            replacement=False,
            equal_cohorts=False,
            common_hessian=self.demands.common_hessian,
            fixed=self.demands.fixed,
            own=self.demands.own,
        )

    def structured(self) -> Iterator[ServerCandidate]:
        """Yield the first candidates: a pair, of which the client at 1 takes part, and one client alone.

        They start from several places, in other units too, with steps from the cap to a small share of it, where floors
        show.
        """
        starts, shares = ((2.0, 1.0), (1.0, 1e3), (1.0, 1e6), (1e-3, 1.0)), (1e-5, 1e-2, 1.0)
        scale = 1e4 if "least_gradient" in self.asked else 1.0
        for share, (start, smoothness), q, noise in product(shares, starts, (0.5, 1.0, 0.1), (0.0, 1.0)):
            base = replace(
                PLAIN,
                family="pair" if noise == 0 else "one",
                step_share=share,
                start=start,
                smoothness=smoothness,
                probability=q,
                noise=noise,
                scale=scale,
            )
            yield self._placed(ServerCandidate(base, server_noise=noise, server_share=share))
        for beyond in kinked_search.structured(self.demands) if kinked_search.searched(self.demands) else ():
            yield ServerCandidate(self._conforming(beyond), server_noise=0.0, server_share=beyond.step_share)

    def draw(self, rng: np.random.Generator) -> ServerCandidate:
        """Draw a random candidate.

        There are server noise and probabilities near 0 too, where floors are small, and long ways where a hypothesis
        compares one with a number.
        """
        base = super().draw(rng)
        if isinstance(base, KinkedCandidate):
            return ServerCandidate(base, base.server_noise, min(1.0, base.step_share * 10.0 ** rng.uniform(-2, 2)))
        if "least_gradient" in self.asked:
            base = replace(base, scale=base.scale * 10.0 ** rng.uniform(0, 8))
        q = float(rng.choice([0.0, 1.0, rng.uniform(0, 1), 10.0 ** -rng.uniform(0, 6)]))
        noise = 0.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-3, 3)
        share = base.step_share * 10.0 ** rng.choice([0.0, rng.uniform(-3, 3)])
        return self._placed(ServerCandidate(replace(base, probability=q), noise, min(1.0, share)))

    def perturb(self, candidate: ServerCandidate, rng: np.random.Generator, size: float) -> ServerCandidate:
        """Return a neighbour."""
        moves = np.exp(size * rng.standard_normal(2) * rng.integers(0, 2, 2))
        share = min(1.0, candidate.server_share * float(moves[1]))
        base = super().perturb(candidate.base, rng, size)
        return self._placed(ServerCandidate(base, candidate.server_noise * float(moves[0]), share))

    def _placed(self, candidate: ServerCandidate) -> ServerCandidate:
        """Put a candidate on a line, without noise, where every run has to be enclosed."""
        if not self.asked & {*EVERY_ROUND}:
            return candidate
        return replace(candidate, base=replace(candidate.base, dimension=1), server_noise=0.0)

    def _rounded(self, found: Found, digits: int, members: Participants, share: Fraction) -> RunPoint:
        """Round a find, with an order of as many client rounds where the claim may mean exact shares.

        The probability of client rounds has to be a short fraction.
        """
        return self._ordered(super()._rounded(found, digits, members, share))

    def rounded(self, found: Found, digits: int) -> Iterator[RunPoint]:
        """Yield exact points near a find; see ``Space.rounded``."""
        points = super().rounded(found, digits)
        return map(self._ordered, points) if isinstance(found.point.federation, Piecewise) else points

    def violating(self, kind: str) -> Iterator[RunPoint]:
        """Yield points that violate an assumption; see ``Space.violating``."""
        return map(self._ordered, super().violating(kind))

    def _ordered(self, point: RunPoint) -> RunPoint:
        shares = any(reading.get("kinds of rounds") == SHARES for reading in self.statement.readings())
        cycle = spread(point.setting.algorithm.share) if shares else ()
        length = point.rounds
        if cycle and length > len(cycle):
            length -= length % len(cycle)
        return replace(point, rounds=length, order=cycle if length % max(1, len(cycle)) == 0 else ())

    def _rounded_rule(self, algorithm: Any, digits: int) -> dict[str, Any]:
        return {"client_round_probability": min(Fraction(1), short(algorithm.client_round_probability, digits))}

    def family_member(self, rng: np.random.Generator) -> None:
        """Return ``None``: no family is known."""

    repairable = False
    part = PARTS["safari"]

    def on_data(self, federation: Federation, cohort: int, arbitrary_cohort: int, local_steps: int) -> Setting:
        """Make SAFARI with q = 1/2 and both step sizes at half of the claim's caps.

        Client rounds follow the index-weighted Beta(1, 10) law.

        Raises:
            ValueError: the claim does not cap a step size.
        """

        def setting(**steps: Any) -> Setting:
            algorithm = safari(client_round_probability="1/2", local_steps=local_steps, **steps)
            return Setting(federation, algorithm, IndexBeta(arbitrary_cohort))

        needed = [name for name in self.statement.quantities if name not in (*STEPS, "rounds")]
        known = setting(local_lr=1.0, server_lr=1.0).quantities(needed=needed)
        values = {name: constant.value for name, constant in known.items()}
        caps = {name: limit_of(self.statement, name, Le, values) for name in STEPS}
        for name, cap in caps.items():
            if cap is None:
                raise ValueError(f"{name}: {self.statement.ref} has no cap on it; allowed is a claim that caps both")
        return setting(**{name: cap / 2 for name, cap in caps.items() if cap is not None})

    def readings(self, found: Found) -> tuple[str, ...]:
        """Return the readings under which all hypotheses hold; the literal one is among them."""
        values = {name: value for name, value in found.quantities.items() if name not in self.statement.choices}
        return tuple(
            name
            for name, claim in self._readings.items()
            if name == self._literal or claim.evaluate(**values).hypotheses_hold is True
        )

    @cached_property
    def _readings(self) -> dict[str, Claim]:
        """The claim with its hypotheses as each combination of their options has them, by these options."""
        found: dict[str, Claim] = {}
        others = {option for hypothesis in self.statement.hypotheses for option in hypothesis.alternatives}
        concerned = [a.name for a in self.statement.ambiguities if others & set(a.options)]
        for reading in self.statement.readings():
            hypotheses = tuple(h.under(reading) for h in self.statement.hypotheses)
            name = ", ".join(reading[ambiguity] for ambiguity in concerned)
            found.setdefault(name, replace(self.statement, hypotheses=hypotheses))
        return found

    @property
    def _literal(self) -> str:
        return next(iter(self._readings))

    @cached_property
    def horizons(self) -> np.ndarray:
        """The numbers of rounds at which a candidate is looked at."""
        if self.demands.one_round:
            return HORIZONS[:1]
        horizons = CHOICE_HORIZONS if self._steps_follow_rounds else HORIZONS
        return horizons[horizons <= PROVABLE] if self.asked & {*GRADIENTS, *PSEUDOGRADIENTS} else horizons

    @property
    def _steps_follow_rounds(self) -> bool:
        """Whether the claim chooses both step sizes; otherwise it ties one to the other."""
        return set(STEPS) <= set(self.statement.choices)

    def assess(self, candidate: ServerCandidate) -> tuple[Found, Found | None] | None:
        """Evaluate the candidate at its worst horizon, and at its worst late one.

        It is ``None`` if no horizon satisfies every hypothesis.
        """
        finds: list[Found] = []
        for horizons in self.horizons[:, None] if self._steps_follow_rounds else [self.horizons]:
            try:
                setting = self.settle(candidate, int(horizons[0]))
            except NoMinimum:
                return None
            if setting is not None:
                own = horizons if self._steps_follow_rounds else self._horizons(setting)
                finds += self._looked_at(candidate, setting, own)
        return self._worst(finds)

    def settle(self, candidate: ServerCandidate, rounds: int) -> Setting | None:
        """Return the candidate's setting for these rounds; ``None`` if the hypotheses allow no probability or no
        step."""
        statement = self.statement
        base = candidate.setting(dict.fromkeys(STEPS, 1.0), 0.0)
        left_out = {*self.asked, *ROUND_QUANTITIES, *CLIENT_ROUND_QUANTITIES, *STEPS, "client_round_probability"}
        needed = {"smoothness", "local_steps", *statement.quantities} - left_out
        known = known_of(base, [*(name for name in statement.quantities if name in needed), "smoothness"])
        values: dict[str, Any] = {name: np.float64(constant.value) for name, constant in known.items()}
        values["rounds"] = np.float64(rounds)
        low, high = (limit_of(statement, "client_round_probability", kind, values) for kind in (Ge, Le))
        low, high = max(0.0, low or 0.0), min(1.0, 1.0 if high is None else high)
        if low > high:
            return None
        q = min(1.0, low + (high - low) * candidate.base.probability)
        steps = self._steps(candidate, values | {"client_round_probability": np.float64(q)})
        return candidate.setting(steps, q) if all(0 < step < np.inf for step in steps.values()) else None

    def _steps(self, candidate: ServerCandidate, values: Mapping[str, Any]) -> dict[str, float]:
        """Free step sizes at their shares of their caps, those of the chosen ones included, which are multiples of the
        free one."""
        choices, largest = self.statement.choices, DIVERGING_STEP / float(values["smoothness"])
        free = [name for name in STEPS if name not in choices]

        def chosen(at: Mapping[str, Any]) -> dict[str, float]:
            return {name: float(compiled(choice)(at)) for name, choice in choices.items()}

        if len(free) != 1:
            shares = {"local_lr": candidate.base.step_share, "server_lr": candidate.server_share}
            caps = {name: limit_of(self.statement, name, Le, values) for name in free}
            return chosen(values) | {n: shares[n] * (largest if cap is None else cap) for n, cap in caps.items()}
        (name,) = free
        factors = chosen({**values, name: np.float64(1.0)}) | {name: 1.0}
        limits = [(limit_of(self.statement, n, Le, values), factor) for n, factor in factors.items()]
        smallest = min((limit / factor for limit, factor in limits if limit is not None), default=largest)
        # The division may round up.
        step = candidate.base.step_share * smallest * (1 - 1e-15)
        return {n: step * factor for n, factor in factors.items()}

    def _looked_at(
        self,
        candidate: ServerCandidate,
        setting: Setting,
        horizons: np.ndarray,
        stated: Mapping[str, Any] | None = None,
    ) -> Iterator[Found]:
        """Look at a candidate's setting; where extremes over the run leave the floating-point range, nothing is
        said."""
        if self.asked & {*GRADIENTS, *PSEUDOGRADIENTS}:
            extremes = self._extremes(setting, horizons)
            horizons = horizons[np.isfinite(list(extremes.values())).all(axis=0)]
        if horizons.size:
            yield from super()._looked_at(candidate, setting, horizons, stated)

    def _peaks(self, setting: Setting, horizons: np.ndarray) -> Peaks | None:
        """The run quantities at each horizon; ``None`` where they are not known."""
        found: Peaks = {}
        if self.asked & {*GRADIENTS, *PSEUDOGRADIENTS}:
            found |= self._extremes(setting, horizons)
        if self.asked & {*EVERY_ROUND}:
            ends = every_round_at(setting, horizons)
            if ends is None:
                return None
            found |= ends
        return {name: values for name, values in found.items() if name in self.asked}

    def _extremes(self, setting: Setting, horizons: np.ndarray) -> Peaks:
        what = "extremes", self.shifted, tuple(horizons.tolist())
        return setting.once(what, lambda: extremes_at(setting, horizons, self.shifted))


def extremes_at(setting: Setting, horizons: np.ndarray, shifted: bool) -> Peaks:
    """Compute extremes over the first R rounds, for each R of ``horizons``.

    They are those of E|grad F(x_r)|^2 and of the mean squared sum of local gradients, over a sample of the rounds
    (every one up to 64, then ever fewer). For searching; a proof follows every round.
    """
    sample = np.unique(np.concatenate([np.arange(64), np.geomspace(1, HORIZONS.max(), 160).astype(np.int64)]))
    sample = sample[sample < horizons.max()]
    with np.errstate(over="ignore", invalid="ignore"):  # the runs of steps that are too large
        states = advance(timeline(setting, second_moment_map), initial_moments(setting).astype(float), sample)
    sums = local_maps(setting).gradient_sums()
    if shifted:
        sums = sums @ local_maps(replace(setting, algorithm=replace(algorithm_of(setting), local_steps=1))).maps
    mean = sums[members_of(setting)].mean(0)
    gradient = observable_weights(quadratic(setting))["squared_gradient"]
    last = np.searchsorted(sample, horizons) - 1
    found = {}
    for names, weight in ((GRADIENTS, gradient), (PSEUDOGRADIENTS, (mean.T @ mean).ravel())):
        with np.errstate(over="ignore", invalid="ignore"):
            values = states @ weight
        for name, extreme in zip(names, (np.maximum, np.minimum), strict=True):
            found[name] = np.maximum(extreme.accumulate(values)[last], 0.0)  # rounding can make a square negative
    return found


def every_round_at(setting: Setting, horizons: np.ndarray) -> Peaks | None:
    """Return the ends of the intervals of ``subjects.enclosures.every_round``, in floats; ``None`` where they do not
    hold."""
    fed, algorithm = quadratic(setting), setting.algorithm
    assert isinstance(algorithm, Safari)
    if fed.dimension > 1 or not fed.has_common_hessian or max(fed.gradient_noise, fed.server_noise) > 0:
        return None
    h = float(fed.exact_hessians[0, 0, 0])
    step = float(algorithm.local_lr) * h
    shares = 1 - (1 - step) ** algorithm.local_steps, float(algorithm.server_lr) * h
    y = float(setting.exact_start[0] - fed.exact_optimum[0])
    c = float(np.mean([fed.exact_centres[i, 0] - fed.exact_optimum[0] for i in members_of(setting)]))
    if y < 0:
        y, c = -y, -c
    if not (y > 0 and c >= 0 and min(shares) >= 0 and max(shares) < 1):
        return None
    last = horizons - 1
    lowest = np.maximum(min(y, c) * (1 - shares[1]) ** last, y * (1 - max(shares)) ** last)
    with np.errstate(divide="ignore", over="ignore"):
        ends = [
            (1 - 2 * c / at) / (2 * h) if c > 0 else np.full(len(last), 1 / (2 * h))
            for at in (lowest, np.full(len(last), max(y, c)))
        ]
    smallest = np.maximum(ends[0], -1e300)
    return dict(zip(EVERY_ROUND, (smallest, ends[1], (h * lowest) ** 2), strict=True))


def spread(q: Fraction) -> tuple[str, ...]:
    """Return an order with a share q of client rounds, evenly spread, the server first; empty where its cycle is too
    long.

    >>> spread(Fraction(2, 5))
    ('server', 'server', 'client', 'server', 'client')
    """
    length = q.denominator
    if length > LONGEST_CYCLE:
        return ()
    clients = [q * (r + 1) // 1 - q * r // 1 for r in range(length)]
    return tuple(CLIENT if one else SERVER for one in clients)
