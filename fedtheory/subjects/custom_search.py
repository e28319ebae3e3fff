"""Search of claims about the runs of an algorithm of one's own, on small quadratic federations.

Left sides are exact where its rounds are linear in the state. Elsewhere runs are simulated, and then nothing is
refuted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from sympy import Ge, Le

from ..algorithms.custom_algorithm import CLIENTS, Outcomes, Own
from ..assumptions import (
    INDEPENDENT_DRAWS,
    INDEPENDENT_PARTICIPATION,
    STATIONARY_AVAILABILITY,
    UNCORRELATED_NOISE,
    UNIFORM_COHORTS,
)
from ..claims.balls import rational_value
from ..claims.statement import OF_RUNS, Claim
from ..federations import Federation, Piecewise, PiecewiseLinear, Quadratic
from ..federations.federation import COMMON
from ..federations.piecewise import NoMinimum
from ..functionals import AVERAGES, FINAL_SQUARED_DISTANCE
from ..moments.affine_numbers import NotLinear
from ..moments.cohorts import CrowdLaw, law_of
from ..moments.custom_kinks import NotWithKinks, values_at
from ..moments.custom_rounds import most_ways
from ..moments.evaluators import FLOAT
from ..moments.linear_rounds import NotClosed
from ..moments.remembering_crowds import CrowdLayout
from ..moments.round_maps import drawn, layout_of, quadratic, rounds_of_kind
from ..moments.step_trace import check_unchanged, traced
from ..participation import Bernoulli, Cyclic, Fixed, Markov, Participation, Phases, Uniform
from ..quantities import QUANTITIES, STEP, Quantity, symbol
from ..schedule import StepRule
from ..setting import Setting
from .custom_points import (
    LARGEST_STATE,
    MOST_COPIES,
    OF_OWN_ROUND,
    OwnPoint,
    check_left,
    exactly_known,
    from_setting,
    parse,
)
from .kinked_search import KinkedCandidate
from .kinked_search import draw as kinked_draw
from .kinked_search import perturb as kinked_perturb
from .kinked_search import structured as kinked_structured
from .lead import LATE, Found, finds_at
from .protocol import Point, Space, runs_of, span
from .quadratic_candidates import DIVERGING_STEP, MOST_CLIENTS, Demands, demands, log_uniform
from .quantity_limits import solved_limit
from .short_numbers import rounded_to, short
from .varying_steps import SEARCHED_BY_RULE, certainly, computed_left, left_in_floats, longest, scale, scale_of, surely

DIMENSIONS = (1, 1, 2)
MOST_LOCAL_STEPS, FAR_LOCAL_STEPS = 10, 100
"""The most local steps that are drawn, and those of a few settings, for what shows with many alone."""

DECADES = 5
"""Number of tenths of the cap down to which step sizes reach."""

HORIZONS = np.unique(np.geomspace(1, 1e8, 33).astype(np.int64))
SIMULATED = np.array([1, 2, 5, 10, 20])
"""Numbers of rounds at which simulated runs are looked at."""

REPLICAS, REPLICAS_AT_LAST, CONFIDENCE = 24, 4000, 0.999999
"""Numbers of runs of each simulated setting, and of the worst one in the end; confidence of the lower limits."""

FEW_BY_RULE = 100
"""Number of rounds over which most runs with a number by rule are followed, as each of their rounds is another map."""

RESOLUTION = 1e-26
"""Left side, in units of smoothness and squared lengths, below which it is rounding and counts as 0."""

CROWDS, MOST_DRAWN = 0.1, 20
"""Share of the drawn candidates that are crowds, and the largest uniform cohort of a crowd."""

KINKS, KINKED_ROUNDS = 0.15, 20
"""Share of the drawn candidates whose gradients have kinks, and the most rounds over which they are followed."""

NOISY = 4
"""The most signs of noise in a round with kinks, all of whose ways are followed: clients times local steps."""

EVERYONE, FIXED, UNIFORM, INDEPENDENT = "everyone", "a fixed set", "uniform cohorts", "independent clients"
CYCLE, SWITCH = "one set after another", "one set first and another for ever"
MARKOV, AVAILABLE = "Markov chains", "clients available for a part of every cycle"

CROWD, REMEMBERED = 30, 10
"""Number of clients of a few settings, for what shows with many alone; the most where something is remembered of each
and the step tells them apart."""

HALVES, SWAPPED = 2**31, 2**31 + 1
"""Seeds that no draw has: one half of the clients is unlike the other, and the other way round."""

SQUARES = ((100, 99, 1e-6), (1000, 100, 1e-5))
"""Clients, cohort and share of the largest steps from x*, at which only what clients differ by moves x, for what shows
with many alone although constants of some tens hide it: (1 - S/N)^2 for 1 - S/N, and S^2 for S."""

REPEATED = (10, 10, 1e-5)
"""Clients, cohort and share as above, where a step draws many cohorts with replacement: S^2 for S."""

WANDERERS = 2
"""The most clients with a memory, whose joint states multiply; the others are always there."""

COHORTS = ("cohort", "arbitrary_cohort")
"""Quantities of which there are no more than clients."""

MOST_WAYS, MOST_WAYS_OF_KINDS = 256, 1024
"""The most cohorts and ways of draws of a round of more than ``MOST_CLIENTS`` clients, of which each is followed; and
the most where cohorts are told apart by how many clients of a kind they have."""

DIGITS = 3
"""Significant digits of the numbers that are drawn: exact arithmetic on them is quick."""


@dataclass(frozen=True)
class Candidate:
    """Candidate of a search: quadratic clients, their participation, and the algorithm's numbers.

    Attributes:
        clients, dimension: M, D.
        seed: from which minimisers (and Hessians, where they are ``mixed``) are drawn; 0, ``HALVES`` or ``SWAPPED``:
            they are 1 and -1, by turns, or one half after the other, and the curvatures largest and smallest.
        kinds: how many kinds of clients there are, if they are a crowd; 0: each is drawn for itself.
        lone: whether the last kind has one client alone, and not as many as the others.
        spread: how far the minimisers are apart.
        conditioning: smallest over largest curvature.
        smoothness: the largest one.
        noise, server_noise: standard deviation of a client's gradient, and of the server's, in units of smoothness.
        start: x_0 - x* along the first coordinate.
        who, cohort: kind of participation, one of the names above, and size of the cohort; 0 or below: so many fewer
            than all.
        chance: of independent clients, the probability to take part; 0: clients differ in it.
        share: share of the largest step sizes that the claim allows.
        numbers: the algorithm's other numbers.
        common: whether the clients have one noise.
        kink: clients whose gradients have kinks, instead; no more than four, with noise if it has few signs in a round.
        digits: significant digits of all numbers.
        far: whether a run with a number by rule is followed over more than ``FEW_BY_RULE`` rounds.
    """

    clients: int
    dimension: int
    seed: int
    spread: float
    conditioning: float
    smoothness: float
    noise: float
    start: float
    who: str
    cohort: int
    share: float
    numbers: tuple[tuple[str, Any], ...]
    mixed: bool = False
    common: bool = False
    kinds: int = 0
    lone: bool = False
    chance: float = 0.0
    kink: KinkedCandidate | None = None
    digits: int = DIGITS
    server_noise: float = 0.0
    far: bool = False

    @property
    def family(self) -> str:
        """The family, from each of which climbs start."""
        crowd = ", kinks" if self.kink else ", crowd" if self.kinds else ""
        noisy = self.kink.noise if self.kink else self.noise or self.server_noise
        return f"{self.who}, {'noise' if noisy else 'no noise'}{crowd}"

    @property
    def different(self) -> int:
        """The number of clients that are drawn; a crowd has copies of them."""
        return min(self.kinds, self.clients) or self.clients

    def _copied(self, rows: np.ndarray) -> np.ndarray:
        """The rows of all clients, from those that are drawn."""
        if not self.kinds:
            return rows
        each = np.arange(self.clients)
        of = np.minimum(each, len(rows) - 1)[::-1] if self.lone else each * len(rows) // self.clients
        return rows[of]

    def federation(self) -> Quadratic | Piecewise:
        """The clients."""
        if self.kink is not None:
            return shortened(self.kink.federation(), self.digits)
        rng, shape = np.random.default_rng(self.seed), (self.different, self.dimension)
        turns = np.resize([1.0, -1.0], shape[0])
        signs = {0: turns, HALVES: np.sort(turns)[::-1], SWAPPED: np.sort(turns)}.get(self.seed)
        drawn = rng.standard_normal(shape) if signs is None else signs[:, None] + np.zeros(shape)
        ladder = np.arange(self.dimension) / max(1, self.dimension - 1)
        powers = np.broadcast_to(ladder, shape)
        if self.mixed:
            powers = rng.uniform(0, 1, shape) if signs is None else (1 - signs[:, None]) / 2 + np.zeros(shape)
        hessians = self._copied(self._short(self.smoothness * self.conditioning**powers))
        noise, server_noise = (short(n * self.smoothness, self.digits) for n in (self.noise, self.server_noise))
        law = COMMON if self.common else "two-point"
        return Quadratic(hessians, self._copied(self._short(self.spread * drawn)), noise, law, server_noise)

    def participation(self) -> Participation:
        """The participation process."""
        cohort = min(self.clients, max(1, self.cohort if self.cohort > 0 else self.clients + self.cohort))
        if self.who == UNIFORM:
            return Uniform(cohort)
        if self.who == INDEPENDENT:
            chance = self.fixed_numbers().get("participation_probability") or short(self.chance, self.digits)
            unlike = [Fraction(1 + (cohort + i) % 4, 4) for i in range(self.clients)]
            return Bernoulli([chance] * self.clients if chance else unlike)
        order = list(range(self.clients))
        if self.who == CYCLE:
            sets = [(order[j:] + order[:j])[:cohort] for j in range(0, self.clients, cohort)]
            return Phases(sets, [1] * len(sets), cyclic=True)
        if self.who == SWITCH:
            return Phases([order[:cohort], order[-cohort:]], [10, 1])
        if self.who in (MARKOV, AVAILABLE):
            away = min(WANDERERS, self.clients - 1)
            chance = min(Fraction(9, 10), max(Fraction(1, 20), short(self.chance or 0.5, 1)))
            p = [Fraction(1)] * (self.clients - away) + [chance] * away
            if self.who == AVAILABLE:
                return Cyclic(p, period=2 + cohort % 3)
            pace = min(Fraction(1), (1 - chance) and chance / (1 - chance)) / (1 + cohort % 3) ** 2
            return Markov(p, [Fraction(1) if each == 1 else pace for each in p])
        return Fixed(range(self.clients if self.who == EVERYONE else cohort))

    def start_at(self, optimum: np.ndarray) -> list[Fraction]:
        """x_0; with kinks, from the kink on."""
        if self.kink is not None:
            return [short(self.kink.start * self.kink.scale if i == 0 else 0, self.digits) for i in range(len(optimum))]
        return [best + short(self.start if i == 0 else 0, self.digits) for i, best in enumerate(optimum)]

    def fixed_numbers(self) -> dict[str, Any]:
        """The values of ``numbers``, with few digits."""

        def cut(value: Any) -> Any:
            return short(value, self.digits) if isinstance(value, Fraction) and value.denominator > 1 else value

        return {name: cut(value) for name, value in self.numbers}

    def _short(self, numbers: np.ndarray) -> np.ndarray:
        return np.vectorize(lambda x: short(x, self.digits), otypes=[object])(numbers)


def shortened(fed: Piecewise, digits: int) -> Piecewise:
    """Return a federation with kinks whose numbers have at most so many significant digits."""

    def of(line: PiecewiseLinear) -> PiecewiseLinear:
        slopes, breakpoints = ([short(v, digits) for v in values] for values in (line.slopes, line.breakpoints))
        return PiecewiseLinear(slopes, breakpoints, short(line.at_zero, digits))

    noise = short(fed.gradient_noise, digits)
    return Piecewise([[of(line) for line in row] for row in fed.gradients], fed.multiplicities, noise)


class OwnRuns(Space):
    """Space of settings on which a claim about an algorithm of one's own is searched.

    Raises:
        ValueError: the claim is of no run, or chooses step sizes; or it is about a round whose left side is not known.
    """

    def __init__(self, statement: Claim, algorithm: Own) -> None:
        if statement.functional.scope not in OF_RUNS or statement.choices:
            raise ValueError(
                f"{statement.ref}: allowed of an algorithm of one's own is a claim about its runs that "
                "chooses no step size"
            )
        check_left(statement)
        self.statement, self.algorithm = statement, algorithm
        self.common_hessian = "dissimilarity" in {*statement.quantities, *(a.quantity for a in statement.assumptions)}
        options = {ambiguity.name: ambiguity.options[0] for ambiguity in statement.ambiguities}
        self.average = options.get("average", AVERAGES[0])
        self._said: tuple[Found, str] | None = None
        if self._one_round and self.why_simulated:
            raise ValueError(f"{statement.ref}: {self.why_simulated}: allowed are then claims about runs")

    # What is drawn.

    @property
    def who(self) -> tuple[str, ...]:
        """The kinds of participation that the claim allows."""
        if self.statement.bound.get("arbitrary_cohort") == symbol("clients"):
            return (EVERYONE,)
        asked = self.statement.quantities
        if UNIFORM_COHORTS in self.statement.assumed or "cohort" in asked:
            return (UNIFORM,)
        if INDEPENDENT_PARTICIPATION in self.statement.assumed or "participation_probability" in asked:
            return (INDEPENDENT,)
        if INDEPENDENT_DRAWS in self.statement.assumed:
            return (EVERYONE, FIXED, UNIFORM)
        some = () if "arbitrary_cohort" in {*asked, *self.statement.bound} else (MARKOV, AVAILABLE)
        changing = () if STATIONARY_AVAILABILITY in self.statement.assumed else (CYCLE, SWITCH)
        return (EVERYONE, FIXED, UNIFORM, *changing, *some)

    @property
    def most_clients(self) -> int:
        """The most clients of a crowd: many, if the step treats all alike."""
        if "clients" in self.statement.bound and self.statement.bound["clients"].is_Integer:
            return int(self.statement.bound["clients"])
        if self._counted_by_kind:
            return MOST_COPIES
        return REMEMBERED if self._remembers_clients else CROWD

    @property
    def _remembers_clients(self) -> bool:
        return any(what == CLIENTS for _, what in self.algorithm.round.memory)

    @cached_property
    def _counted_by_kind(self) -> bool:
        """Whether exact moments count the clients of a crowd by kind."""
        setting = self._as_drawn(replace(self._plain(2 * CROWD, EVERYONE), kinds=2, seed=HALVES))  # no one is asked
        if self._remembers_clients:
            return isinstance(layout_of(setting), CrowdLayout)
        return isinstance(drawn(setting, self.algorithm.kinds[0].at(0), exact=True)[0], CrowdLaw)

    @cached_property
    def why_simulated(self) -> str:
        """The reason why runs are simulated, which is that the step is not linear in the state; "" where it is.

        Raises:
            StepError: it is no step.
        """
        for candidate in (self._plain(2, who) for who in self.who if who not in (CYCLE, SWITCH)):  # of sets, as FIXED
            setting = self.setting(candidate)
            try:
                rounds_of_kind(setting, self.algorithm.kinds[0].at(0), exact=True)
            except NotLinear as error:
                return _told(str(error))
        self._check_unchanged()
        return ""

    def _check_unchanged(self) -> None:
        """Refuse a step that keeps what it has seen, so that it is another one than when the search began."""
        check_unchanged(self.algorithm.kinds[0].at(0), self._clients(2))

    @property
    def searched(self) -> str:
        """Description of the settings that are searched, in words."""
        hessian = "one Hessian" if self.common_hessian else "common and different Hessians"
        runs = runs_of(self.statement, self.algorithm.name)
        kinks = (
            f"in {KINKS:.0%} of the draws gradients with kinks over {KINKED_ROUNDS} rounds, or 2 random ones; "
            * self._with_kinks
        )
        common = (
            f"{runs} on quadratics with {hessian}, at most {MOST_CLIENTS} clients, or "
            f"{self.most_clients} of few kinds, "
            f"{span(DIMENSIONS)} dimensions, {span(self.horizons.tolist())} rounds"
            f"{f' (most settings at most {FEW_BY_RULE}, as a number is a rule)' * self.algorithm.by_rule}, "
            f"step sizes drawn from the cap to 1e-{DECADES} of it; "
            f"{kinks}"
            f"participants: {', '.join(self.who)}; with and without noise"
        )
        if not self.why_simulated:
            return f"{common}; rounds are linear in the state, so left sides are exact"
        return (
            f"{common}; {self.why_simulated}: judged by simulation, {REPLICAS} runs of a setting, of whose mean the "
            f"lower limit of {CONFIDENCE:.4%} confidence counts; not refuted by it"
        )

    left_out = (
        "losses whose gradients are not piecewise linear; more clients, dimensions or local steps; other participants; "
        "noise that depends on the state, or whose mean is not 0; cohorts that the noise chooses"
    )

    @property
    def _one_round(self) -> bool:
        return self.statement.functional.scope == "round"

    @cached_property
    def horizons(self) -> np.ndarray:
        """The numbers of rounds at which a candidate is looked at."""
        if self._one_round:
            return HORIZONS[:1]
        if self.why_simulated:
            return SIMULATED
        most = SEARCHED_BY_RULE if self.algorithm.by_rule else longest(self.statement)
        return HORIZONS[most >= HORIZONS]

    def structured(self) -> Iterator[Candidate]:
        """Yield the candidates to look at first; those with noise also with as much of the server's, and that alone."""
        for candidate in self._structured():
            yield candidate
            if self._server_has_noise and candidate.noise:
                both = replace(candidate, server_noise=candidate.noise)
                yield from (both, replace(both, noise=0.0))

    @cached_property
    def _server_has_noise(self) -> bool:
        """Whether the claim speaks of the server's noise, and allows it."""
        asked = {*self.statement.quantities, *(each.quantity for each in self.statement.assumptions)}
        return "server_noise" in asked and solved_limit(self.statement, "server_noise", Le, {}) != 0

    def _structured(self) -> Iterator[Candidate]:
        rng = np.random.default_rng(0)
        crowd = min(CROWD, self.most_clients)
        yield from (self._many(crowd, who, share) for who, share in product(self.who, (1.0, 1e-2, 1e-4)))
        noises = (0.0,) if self._quiet else (0.0, 1.0, 1e2)
        if UNIFORM in self.who:
            for share, size in product((1e-2, 1e-5), (1, -1)):
                yield replace(self._many(crowd, UNIFORM, share), cohort=self._cohort(size))
            for share, size in product((1.0, 1e-2, 1e-5), (1, -1)):  # from x*: only what clients differ by moves x
                yield replace(self._many(crowd, UNIFORM, share), cohort=self._cohort(size), start=0.0)
        for clients, size, share in (*SQUARES, REPEATED) if self._counted_by_kind else ():
            yield from self._of_size(clients, size, share)
        for who, noise in product(self.who, noises[::2]):
            yield from self._far_numbers(replace(self._many(crowd, who, 1e-2), noise=noise))
        if self._steps_are_drawn and not self._quiet:
            yield replace(self._far_in_all(self._plain(1, self.who[0])), share=1e-2, noise=1e2)
        for clients, who, share, noise in product((2, 1, 5), self.who, (1.0, 1e-2, 1e-4), noises):
            plain = replace(self._plain(clients, who), share=share, noise=noise, far=clients < 5 and share == 1)
            yield plain
            yield replace(plain, spread=0.0, start=1.0)
            yield replace(plain, start=0.0)
            yield replace(plain, dimension=2, conditioning=1e-3)
            if clients == 5 and share == 1 and not noise:
                differing = replace(plain, mixed=not self.common_hessian, conditioning=0.1, seed=7)
                yield from (differing, replace(differing, start=0.0))
                if differing.mixed and who == self.who[0]:  # nearly flat clients, of whom the first is one or the last
                    yield from (replace(differing, seed=seed, conditioning=1e-3) for seed in (HALVES, SWAPPED))
                if who in (EVERYONE, UNIFORM):  # a bound may let drift fall too fast with the step
                    yield from (self._together(replace(differing, share=small)) for small in (1.0, 1e-4))
                if self._steps_are_drawn and who == self.who[0]:
                    yield replace(self._far_in_all(differing), conditioning=1e-3, seed=HALVES)
                yield from (replace(plain, cohort=self._cohort(size)) for size in (-1, 0) if who != EVERYONE)
        if not self._quiet:
            yield from self._all_with_noise(self.most_clients)
        for who in self.who:
            if self._with_kinks:
                yield from (self._kinked(kink, who, rng) for kink in kinked_structured(self._demands) if not kink.crowd)
            yield self._many(self.most_clients, who, 1.0)
            if who == UNIFORM:  # what is remembered of a client is as old as there are clients
                yield replace(self._many(self.most_clients, who, 1.0), cohort=self._cohort(1), start=0.0)

    def _of_size(self, clients: int, size: int, share: float) -> Iterator[Candidate]:
        """A crowd from x* with a uniform cohort of this size, which the participants are or the step draws of them."""
        if UNIFORM in self.who:
            yield replace(self._many(clients, UNIFORM, share), cohort=self._cohort(size), start=0.0)
        if "cohort" in dict(self._given()).keys() - self.statement.bound.keys():
            crowd = self._many(clients, self.who[0], share)
            numbers = tuple({**dict(crowd.numbers), "cohort": Fraction(size)}.items())
            yield replace(crowd, numbers=numbers, cohort=self._cohort(0), start=0.0)

    def _far_numbers(self, candidate: Candidate) -> Iterator[Candidate]:
        """The candidate with the algorithm's numbers, one after the other, far from what they are."""
        given = dict(candidate.numbers)
        for name, value in given.items():
            quantity = QUANTITIES[name]
            if isinstance(value, StepRule) or name in self.statement.bound:
                continue
            for far in _far(quantity, value):
                if quantity.lower <= far <= quantity.upper:
                    yield replace(candidate, numbers=tuple({**given, name: far}.items()))

    @property
    def _steps_are_drawn(self) -> bool:
        return "local_steps" in dict(self._given()).keys() - self.statement.bound.keys()

    def _far_in_all(self, candidate: Candidate) -> Candidate:
        """The candidate with many local steps, and the algorithm's other numbers as large as they are drawn."""
        far = {n: v if isinstance(v, StepRule) else _far(QUANTITIES[n], v)[-1] for n, v in candidate.numbers}
        return replace(candidate, numbers=tuple({**far, "local_steps": Fraction(FAR_LOCAL_STEPS)}.items()))

    def _together(self, candidate: Candidate) -> Candidate:
        """The candidate from x*, with all clients and local steps, by which alone they drift away from there."""
        steps = {"local_steps": Fraction(2)} if self._steps_are_drawn else {}
        numbers = tuple({**dict(candidate.numbers), **steps}.items())
        return replace(candidate, start=0.0, cohort=self._cohort(0), numbers=numbers)

    def _many(self, clients: int, who: str, share: float) -> Candidate:
        """A crowd of two kinds, one half after the other."""
        half = clients // 2 if self._counted_by_kind or who != UNIFORM else 1
        cohort = self._cohort(min(half, MOST_DRAWN) if who == UNIFORM else half)
        return replace(self._plain(clients, who), share=share, seed=HALVES, kinds=2, chance=0.5, cohort=cohort)

    def _all_with_noise(self, clients: int) -> Iterator[Candidate]:
        """A crowd from x* with noise, of which all are there or asked, and with the algorithm's numbers far from
        these."""
        everyone = replace(self._many(clients, self.who[0], 1e-2), noise=1e2, cohort=self._cohort(0), start=0.0)
        yield everyone
        yield from self._far_numbers(everyone)

    def _plain(self, clients: int, who: str) -> Candidate:
        """Curvatures 1, minimisers +-1, near the start."""
        clients = self._clients(clients)
        plain = Candidate(clients, 1, 0, 1.0, 1.0, 1.0, 0.0, 3.0, who, self._cohort(1), 1.0, self._given())
        return replace(plain, chance=0.5) if "participation_probability" in self.statement.quantities else plain

    def _given(self) -> tuple[tuple[str, Any], ...]:
        """The numbers that are drawn; those that are no quantities stay what they are."""
        known = {name: value for name, value in self.algorithm.numbers.items() if name in QUANTITIES}
        return tuple((name, value) for name, value in known.items() if not self._is_step(name))

    def _cohort(self, drawn: int) -> int:
        bound = self.statement.bound.get("arbitrary_cohort")
        return int(bound) if bound is not None and bound.is_Integer else drawn

    def _is_step(self, name: str) -> bool:
        return (
            name in QUANTITIES
            and QUANTITIES[name].units == STEP
            and not isinstance(self.algorithm.numbers[name], StepRule)
        )

    def draw(self, rng: np.random.Generator) -> Candidate:
        """Draw a random candidate."""
        if self._with_kinks and rng.random() < KINKS:
            kink = kinked_draw(rng, self._demands)
            return self._kinked(kink, str(rng.choice(self.who)), rng)
        crowd = rng.random() < CROWDS
        most = min(self.most_clients, 10 * CROWD) if crowd else MOST_CLIENTS
        drawn = 1 + log_uniform(rng, most - 1) if crowd and most > 1 else rng.integers(1, MOST_CLIENTS + 1)
        clients = self._clients(int(drawn))
        who = str(rng.choice(self.who))
        few = crowd and who == UNIFORM and not self._counted_by_kind
        numbers = tuple((name, self._drawn(name, rng)) for name, _ in self._given())
        return Candidate(
            clients=clients,
            dimension=1 if crowd else int(rng.choice(DIMENSIONS)),
            seed=int(rng.integers(2**31)),
            spread=float(rng.choice([0.0, 1.0, 10.0 ** rng.uniform(-3, 3)])),
            conditioning=10.0 ** -rng.uniform(0, 4),
            smoothness=float(rng.choice([1.0, 10.0 ** rng.uniform(-3, 3)])),
            noise=0.0 if self._quiet else float(rng.choice([0.0, 10.0 ** rng.uniform(-3, 3)])),
            start=10.0 ** rng.uniform(-3, 3),
            who=who,
            cohort=self._cohort(
                int(rng.choice([1, -1] if few else [1, -1, 0, int(rng.integers(1, MOST_CLIENTS + 1))]))
            ),
            share=float(rng.choice([1.0, 10.0 ** -rng.uniform(0, DECADES)])),
            numbers=numbers,
            mixed=not self.common_hessian and rng.random() < 0.5,
            kinds=int(rng.integers(1, 4)) if crowd else 0,
            lone=bool(rng.random() < 0.4),
            chance=self._chance(rng),
            server_noise=10.0 ** rng.uniform(-3, 3) if self._server_has_noise and rng.random() < 0.5 else 0.0,
        )

    @cached_property
    def _demands(self) -> Demands:
        return replace(demands(self.statement), fixed={}, equal_cohorts=False)

    @cached_property
    def _with_kinks(self) -> bool:
        """Whether clients with kinks are drawn: nothing is asked that is known of quadratics alone, or that a user's
        file computes of them, and the step does nothing that is not followed on kinks."""
        of_quadratics = {*OF_OWN_ROUND} & {*self.statement.quantities}
        if self._demands.own or of_quadratics or self.algorithm.by_rule or self.why_simulated:
            return False
        kink = next(kink for kink in kinked_structured(self._demands) if not kink.crowd)
        setting = self._as_drawn(self._kinked(kink, self.who[0], np.random.default_rng(0)))
        try:
            values_at(setting, FINAL_SQUARED_DISTANCE, [1], exact=False)
        except NotWithKinks:
            return False
        except (NotClosed, NoMinimum):
            pass
        return True

    @property
    def _convex(self) -> bool:
        return "strong_convexity" in {*self.statement.quantities, *(a.quantity for a in self.statement.assumptions)}

    def _kinked(self, kink: KinkedCandidate, who: str, rng: np.random.Generator) -> Candidate:
        """A candidate of few clients with kinks, in one dimension; with noise where it has few signs in a round."""
        clients = self._clients(min(4, max(2, kink.clients)))
        width = 0.0 if kink.crowd else kink.width
        numbers = tuple((name, self._drawn(name, rng)) for name, _ in self._given())
        kink = self._conforming(replace(kink, width=width), clients, numbers)
        share, cohort = kink.step_share, self._cohort(int(rng.choice([1, -1, 0])))
        return replace(self._plain(clients, who), kink=kink, share=share, cohort=cohort, numbers=numbers)

    def _conforming(self, kink: KinkedCandidate, clients: int, numbers: tuple[tuple[str, Any], ...]) -> KinkedCandidate:
        """The clients with kinks as the claim allows them, and as they are followed."""
        steps = {"local_steps": self.algorithm.numbers.get("local_steps", 1), **dict(numbers)}["local_steps"]
        noise = 0.0 if self._quiet or clients * steps > NOISY else kink.noise
        kink = replace(kink, clients=clients, dimension=1, axis=0, noise=noise, server_noise=0.0)
        return kink.convex() if self._convex else kink

    @property
    def _quiet(self) -> bool:
        """Whether the hypotheses allow no noise."""
        return solved_limit(self.statement, "gradient_noise", Le, {}) == 0

    def _chance(self, rng: np.random.Generator) -> float:
        """A probability of all clients, or 0."""
        chance = float(rng.choice([1.0, rng.uniform(0, 1), 10.0 ** -rng.uniform(0, 2)]))
        return chance if "participation_probability" in self.statement.quantities or rng.random() < 0.5 else 0.0

    def _drawn(self, name: str, rng: np.random.Generator) -> Any:
        """A value of one of the algorithm's numbers."""
        own, quantity = self.algorithm.numbers[name], QUANTITIES[name]
        if isinstance(own, StepRule) or name in self.statement.bound:
            return own
        if quantity.integer:
            return Fraction(log_uniform(rng, MOST_LOCAL_STEPS))
        if quantity.upper < np.inf:
            least, most = max(quantity.lower, -1e3), quantity.upper
            drawn = float(rng.choice([rng.uniform(least, most), least + (most - least) * 10.0 ** -rng.uniform(0, 3)]))
            return short(drawn, DIGITS)
        return short(float(own) * 10.0 ** rng.uniform(-2, 2), DIGITS) if own else own

    def perturb(self, candidate: Candidate, rng: np.random.Generator, size: float) -> Candidate:
        if dict(candidate.numbers).get("local_steps", 0) > MOST_LOCAL_STEPS:  # many of which would take long
            numbers = tuple((name, self._drawn(name, rng)) for name, _ in self._given())
            candidate = replace(candidate, numbers=numbers)
        if candidate.kink is not None:
            kink = kinked_perturb(candidate.kink, rng, self._demands, size)
            numbers = tuple((name, self._drawn(name, rng)) for name, _ in self._given())
            moved_share = min(1.0, candidate.share * float(np.exp(size * rng.standard_normal())))
            kept = candidate.numbers if rng.random() < 0.7 else numbers
            kink = self._conforming(kink, candidate.clients, kept)
            return replace(candidate, kink=kink, numbers=kept, share=moved_share)
        names: tuple[str, ...] = ("conditioning", "smoothness", "noise", "start", "share", "spread")
        names += ("server_noise",) * self._server_has_noise
        moves = np.exp(size * rng.standard_normal(len(names)) * rng.integers(0, 2, len(names)))
        moved: dict[str, Any] = {n: getattr(candidate, n) * float(move) for n, move in zip(names, moves, strict=True)}
        moved |= {name: min(1.0, moved[name]) for name in ("conditioning", "share")} | {"far": False}
        if rng.random() < 0.3:
            name = str(
                rng.choice(
                    [
                        "clients",
                        "dimension",
                        "noise",
                        "who",
                        "cohort",
                        "numbers",
                        "seed",
                        "spread",
                        "kinds",
                        "lone",
                        "chance",
                        "mixed",
                    ]
                )
            )
            moved[name] = getattr(self.draw(rng), name)
        return replace(candidate, **moved)

    @cached_property
    def _bound(self) -> dict[str, Fraction]:
        """The numbers that the claim binds."""
        bound = self.statement.bound.items()
        return {name: Fraction(int(value.p), int(value.q)) for name, value in bound if value.is_Rational}

    def _numbers(self, candidate: Candidate) -> dict[str, Any]:
        """The algorithm's numbers as they are drawn, or bound; of a cohort no more than there are clients."""
        bound = {name: value for name, value in self._bound.items() if name in self.algorithm.numbers}
        numbers = candidate.fixed_numbers() | bound
        if isinstance(numbers.get("cohort"), Fraction):
            numbers["cohort"] = min(numbers["cohort"], Fraction(candidate.clients))
        return numbers

    def _clients(self, drawn: int) -> int:
        """So many clients, if the claim does not bind their number; no fewer than a cohort that it binds."""
        bound = self.statement.bound
        return int(bound.get("clients", max(drawn, *(int(self._bound.get(n, 1)) for n in COHORTS))))

    def _as_drawn(self, candidate: Candidate) -> Setting:
        """The candidate's setting with the numbers that were drawn, and the algorithm's own step sizes."""
        fed = candidate.federation()
        algorithm = self.algorithm.with_numbers(**self._numbers(candidate))
        return Setting(fed, algorithm, candidate.participation(), start=candidate.start_at(fed.exact_optimum))

    def setting(self, candidate: Candidate) -> Setting:
        """Return the candidate's setting, with numbers within what the hypotheses allow, and step sizes at its share of
        the largest that they do; one that they fix has that value exactly."""
        base, numbers = self._as_drawn(candidate), self._numbers(candidate)
        bound = self._bound
        steps = [name for name in self.algorithm.numbers if self._is_step(name) and name not in numbers]
        needed = [n for n in ("smoothness", *self.statement.quantities) if n not in steps and n != "rounds"]
        values: dict[str, Any] = {n: c.value for n, c in base.quantities(needed=needed).items()}
        values.update((n, v) for n, v in exactly_known(base).items() if n in values)
        for name, quantity in ((n, QUANTITIES.get(n)) for n in numbers):
            if quantity is None or name in bound or not isinstance(numbers[name], Fraction):
                continue
            others = {n: v for n, v in values.items() if n != name}
            low, high = (solved_limit(self.statement, name, kind, others) for kind in (Ge, Le))
            kept = numbers[name]
            kept = kept if high is None else min(kept, rounded_to(high, ROUND_FLOOR, quantity.integer))
            kept = kept if low is None else max(kept, rounded_to(low, ROUND_CEILING, quantity.integer))
            if quantity.lower <= kept <= quantity.upper and kept != numbers[name] and (kept or not quantity.positive):
                numbers[name] = values[name] = kept
        for name in steps:
            low, cap = (solved_limit(self.statement, name, kind, values) for kind in (Ge, Le))
            largest = DIVERGING_STEP / float(values["smoothness"]) if cap is None else float(cap)
            if not 0 < largest * candidate.share < np.inf:
                continue
            step = short(largest * candidate.share, candidate.digits, ROUND_FLOOR)
            if low is not None and step < low:
                step = low if isinstance(low, Fraction) else rounded_to(low, ROUND_CEILING)
            numbers[name] = values[name] = step
        return replace(base, algorithm=self.algorithm.with_numbers(**numbers))

    # Both sides there.

    def assess(self, candidate: Candidate) -> tuple[Found, Found | None] | None:
        """Evaluate the candidate at its worst horizon, and at its worst late one."""
        try:
            return self._assessed(candidate)
        except (NotClosed, NoMinimum):  # too many cohorts, or ways of draws, to be told apart; or F has no minimum
            return None

    def _assessed(self, candidate: Candidate) -> tuple[Found, Found | None] | None:
        many = candidate.kink is None and not self.why_simulated and candidate.clients > MOST_CLIENTS
        if many and not self._followed_quickly(self._as_drawn(candidate)):  # before a file computes anything of them
            return None
        setting = self.setting(candidate)
        bound = self.statement.at(setting, rounds=self.horizons)
        admissible = np.ones(self.horizons.shape, dtype=bool)
        for name, slack in bound.slack.items():
            held = np.asarray(slack is not None and np.asarray(slack) >= 0)
            admissible &= held if held.all() else held | self._holds_exactly(setting, name)
        if not admissible.any():
            return None
        if candidate.kink is not None:
            everyone = (1,) * candidate.clients
            drawn_in_it = traced(self.algorithm.kinds[0].at(0), everyone, 1, Outcomes())[1].number > 1
            quiet = not candidate.kink.noise and not drawn_in_it
            certain = quiet and candidate.who in (EVERYONE, FIXED, CYCLE, SWITCH)
            left = seen = self._left_with_kinks(setting, certain)
        else:
            short_run = self.algorithm.by_rule and not candidate.far
            count = int((self.horizons <= FEW_BY_RULE).sum()) if short_run else len(self.horizons)
            beyond = np.full(len(self.horizons) - count, np.nan)
            left, seen = (np.append(values, beyond) for values in self._left(setting, count))
        admissible &= ~np.isnan(left)
        if not self.why_simulated and candidate.kink is None:
            functional, right = self.statement.functional, np.broadcast_to(bound.value, left.shape)
            seen = surely(setting, self.horizons, functional, self.average, seen, right)
        finds = list(finds_at(candidate, lambda rounds: setting, bound, self.horizons, admissible, left, seen))
        late = max((found for found in finds if found.fading < LATE), key=lambda found: found.ratio, default=None)
        return (max(finds, key=lambda found: found.ratio), late) if finds else None

    def _followed_quickly(self, setting: Setting) -> bool:
        """Whether a round of many clients comes in few ways, and its state is one that an instance can hold."""
        layout, fed = layout_of(setting), quadratic(setting)
        if layout.size > LARGEST_STATE:
            return False
        kind = self.algorithm.kinds[0].at(0)
        law = drawn(setting, kind, exact=True)[0]
        if isinstance(layout, CrowdLayout):
            return True
        cohorts = law_of(law, fed.clients) if isinstance(law, Participation) else law
        return most_ways(kind, fed, cohorts) <= (MOST_WAYS_OF_KINDS if isinstance(law, CrowdLaw) else MOST_WAYS)

    def _holds_exactly(self, setting: Setting, name: str) -> bool:
        """Whether a hypothesis holds in Fractions that seems to fail in floats, such as where a step size is fixed."""
        hypothesis = next((each for each in self.statement.hypotheses if each.name == name), None)
        if hypothesis is None or any(a.name in hypothesis.alternatives for a in self.statement.ambiguities):
            return False
        known = exactly_known(setting)
        if not {each.name for each in hypothesis.slack.free_symbols} <= known.keys():
            return False
        slack = rational_value(hypothesis.slack, known)
        return slack is not None and slack >= 0

    def _left_with_kinks(self, setting: Setting, certain: bool) -> np.ndarray:
        """The left side at the first horizons, of which random runs have fewer; nan at the others."""
        left = np.full(self.horizons.shape, np.nan)
        at = self.horizons[self.horizons <= (KINKED_ROUNDS if certain else 2)]
        found = values_at(setting, self.statement.functional, at.tolist(), self.average, exact=False)
        left[: len(found)] = np.array(found, dtype=float) * (1 - 1e-9)
        fed = setting.federation
        assert isinstance(fed, Piecewise)
        pulls = np.array(
            [[line.at_zero / fed.exact_constants()["smoothness"] for line in row] for row in fed.gradients]
        )
        points = np.vstack([pulls, np.array(setting.exact_start), np.array(fed.exact_optimum)]).astype(float)
        return np.maximum(left - RESOLUTION * scale(fed, self.statement.functional.units, points), 0)

    def _left(self, setting: Setting, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The left side at the horizons, and what of it is certain."""
        functional = self.statement.functional
        if self.why_simulated:
            mean, low, _ = self._simulated(setting, REPLICAS, CONFIDENCE)
            return mean, np.maximum(low, 0.0)
        if self._one_round:
            left = np.full(1, float(computed_left(setting, 1, functional, self.average, FLOAT)))
            return left, left
        with np.errstate(over="ignore", invalid="ignore"):
            left = left_in_floats(setting, self.horizons[:count], functional, self.average)
        rounding = RESOLUTION * scale_of(setting, functional.units)
        return left, np.where(left < np.inf, np.maximum(left - rounding, 0), left)

    def _simulated(self, setting: Setting, replicas: int, confidence: float) -> tuple[np.ndarray, ...]:
        """Mean over runs, and the ends of its confidence interval, at the horizons."""
        from ..simulation.engine import simulate  # exact left sides do without it

        functional = self.statement.functional
        run = simulate(
            setting,
            replicas=replicas,
            rounds=int(self.horizons[-1]),
            record_every=1,
            observers=[functional.observable],
            device="cpu",
        )
        rounds, found = run.rounds_of(functional), run.interval(functional, self.average, confidence)
        places = np.searchsorted(rounds, self.horizons)
        return tuple(values[places] for values in found)

    def certain(self, found: Found) -> Found:
        """Return the find with what is certain of its left side: the lower end of an enclosure, where it has one.

        Raises:
            StepError: the step is not what it was.
        """
        if not self.why_simulated:
            self._check_unchanged()
        floats = self.why_simulated or found.candidate.kink is not None
        return found if floats else certainly(found, self.statement.functional, self.average)

    # Exact points.

    def rounded(self, found: Found, digits: int) -> Iterator[OwnPoint]:
        """Yield the runs found, with numbers of at most so many digits as were drawn."""
        if self.why_simulated:
            if digits < DIGITS:
                return
            raise ValueError(self._judged(found))
        if digits <= DIGITS:
            setting = self.setting(replace(found.candidate, digits=digits))
            rounds = int(short(found.rounds, digits))
            yield from_setting(self.statement, setting, rounds, self.algorithm)

    def on_data(self, federation: Federation, cohort: int, arbitrary_cohort: int, local_steps: int) -> Setting:
        """Refuse real data: it is not known what the step takes.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{self.algorithm.name}: allowed on real data are runs of fast and safari")

    def _judged(self, found: Found) -> str:
        """Say what many simulated runs of a find show."""
        if self._said is None or self._said[0] is not found:
            mean, low, high = self._simulated(found.point, REPLICAS_AT_LAST, CONFIDENCE)
            at = int(np.searchsorted(self.horizons, found.rounds))
            text = (
                f"{self.why_simulated}: judged by simulation; not refuted by it. {REPLICAS_AT_LAST} runs of "
                f"{found.rounds} rounds: left {mean[at]:.6g}, its {CONFIDENCE:.4%} confidence interval [{low[at]:.6g}, "
                f"{high[at]:.6g}], right {found.right:.6g}"
            )
            self._said = found, text
        return self._said[1]

    def violating(self, kind: str) -> Iterator[OwnPoint]:
        """Yield runs in which all clients' noise is one, if that is asked for."""
        if kind != UNCORRELATED_NOISE or self.why_simulated:
            return
        for candidate in self._noisy():
            found = self.assess(replace(candidate, spread=0.0, common=True))
            if found is not None and found[0].ratio > 1:
                yield from self.rounded(found[0], DIGITS)

    def _noisy(self) -> Iterator[Candidate]:
        """Candidates with noise, of few clients, and of many who all take part."""
        yield from (c for c in self.structured() if c.noise and c.clients > 1 and c.dimension == 1 and not c.spread)
        yield from self._all_with_noise(CROWD)
        yield from self._all_with_noise(self.most_clients)


def _far(quantity: Quantity, value: Any) -> tuple[Any, ...]:
    """Values of a quantity far from this one; near its bounds, if it has an upper one."""
    if quantity.integer:
        return (Fraction(MOST_LOCAL_STEPS),)
    if quantity.upper == np.inf:
        return value / 100, 100 * value
    least, most = (Fraction(bound) for bound in (max(quantity.lower, -1e3), quantity.upper))
    return tuple(least + share * (most - least) for share in (Fraction(1, 100), Fraction(99, 100)))


def _told(error: str) -> str:
    """Shorten the message of an operation that is not linear to its name and place."""
    where, _, rest = error.partition(": algorithm ")
    name, _, what = rest.partition(" ")
    return f"{name} {what.partition(':')[0]} ({where.rpartition('/')[2]})"


class OwnSubject:
    """Subject of the runs of an algorithm of one's own."""

    def __init__(self, algorithm: Own) -> None:
        self.algorithm, self.name = algorithm, algorithm.name

    def space(self, claim: Claim) -> OwnRuns:
        """Return the space in which the claim is searched."""
        return OwnRuns(claim, self.algorithm)

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Point:
        """Read a point from plain data, not yet checked."""
        return parse(data, self.algorithm)

    def from_setting(self, claim: Claim, setting: Setting, rounds: int, **given: Fraction) -> OwnPoint:
        """Make the exact point of a setting; see ``custom_points.from_setting``."""
        return from_setting(claim, setting, rounds, self.algorithm, **given)
