"""Search of runs whose participants an adversary orders: the worst sequence of sets, by dynamic programming.

For each federation, algorithm and start that is drawn, the order is found (``moments.worst_order``), not drawn: stages
of one round, or of about an eighth of those that the runs take to forget, and, where it settles into a
pattern, that pattern for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import ceil

import numpy as np

from ..federations.piecewise import NoMinimum
from ..moments.averages import form_of
from ..moments.round_maps import local_maps, quadratic
from ..moments.worst_order import Order, worst_orders
from ..participation import Phases
from ..setting import Setting
from .lead import Found
from .protocol import span
from .quadratic_candidates import Candidate, conforming, draw, perturb, settle, structured
from .run_points import LASTING, RunPoint
from .run_search import Runs
from .short_numbers import STEP_SHARES
from .varying_steps import followed

STAGES = (6, 48)
"""Numbers of stages of an order that are tried: the participants may change from stage to stage."""

FORMS = ("squared_distance", "squared_gradient", "gap")
"""Observables for which the order can be made the worst; where the claim bounds another one, the first is taken."""

LONGEST_STAGE = 10**6


class WorstOrders(Runs):
    """Space of runs of ``fast`` on small quadratics with participants in the worst order."""

    @property
    def searched(self) -> str:
        """Description of the settings that are searched, in words."""
        return f"participants in the worst order of {span(STAGES)} stages, by dynamic programming on the mean"

    left_out = "orders that react to noise"

    def structured(self) -> Iterator[Candidate]:
        """Draw the structured candidates of the search without orders that have more than one client, in the worst
        order."""
        for candidate in structured(self.demands):
            if isinstance(candidate, Candidate) and candidate.family != "one":
                yield self._adversarial(candidate)

    def draw(self, rng: np.random.Generator) -> Candidate:
        """Draw a random candidate.

        At least half of them have random clients, and half have steps near the cap, where an order can matter.
        """
        candidate = draw(rng, self.demands)
        family = "random" if rng.random() < 0.5 else candidate.family
        share = 1 - 10.0 ** -rng.uniform(0.3, 4) if rng.random() < 0.5 else candidate.step_share
        return self._adversarial(replace(candidate, family=family, step_share=share))

    def perturb(self, candidate: Candidate, rng: np.random.Generator, size: float) -> Candidate:
        """Return a neighbour."""
        return self._adversarial(perturb(candidate, rng, self.demands, size))

    def _adversarial(self, candidate: Candidate) -> Candidate:
        return conforming(replace(candidate, process="fixed", order=0), self.demands)

    def assess(self, candidate: Candidate) -> tuple[Found, Found | None] | None:
        """Evaluate the candidate in the worst of its orders, at its worst horizon and at its worst late one."""
        try:
            setting = settle(self.statement, candidate)
            if setting is None or setting.algorithm.share == 1:
                return None
            finds = [
                found
                for process, horizons in self._processes(setting)
                for found in self._looked_at(candidate, replace(setting, participation=process), horizons)
            ]
        except NoMinimum:
            return None
        return self._worst(finds)

    def _processes(self, setting: Setting) -> Iterator[tuple[Phases, np.ndarray]]:
        """Orders, each with the numbers of rounds at which to look at it."""
        for order in self._orders(setting):
            once = followed(np.array([len(order.sets) * order.stay]), self.statement)
            if once.size:
                yield order.process(), once
            cycle = order.cycle()
            if cycle is not None:
                length = sum(cycle.lengths)
                yield cycle, followed(np.unique(-(-self.horizons // length) * length), self.statement)

    def _orders(self, setting: Setting) -> Iterator[Order]:
        fed, functional = quadratic(setting), self.statement.functional
        sets = list(combinations(range(fed.clients), setting.participation.cohort))
        observable = functional.observable if functional.observable in FORMS else FORMS[0]
        form, summed = form_of(fed, observable).astype(float), functional.average or functional.of_all_rounds
        for stages in STAGES if len(sets) > 1 else ():
            for stay in self._stays(setting):
                with np.errstate(over="ignore", invalid="ignore"):
                    yield worst_orders(setting, sets, stages, stay, form, summed)[0]

    def _stays(self, setting: Setting) -> list[int]:
        """One round, and about an eighth of the rounds in which a slow direction is forgotten; whole periods."""
        period = setting.algorithm.period or 1
        shares = np.linalg.eigvalsh(local_maps(setting).shares)
        slow = float(np.abs(shares[shares != 0]).min(initial=1.0))
        return sorted({period, period * min(LONGEST_STAGE, max(1, ceil(1 / (8 * period * slow))))})

    def rounded(self, found: Found, digits: int) -> Iterator[RunPoint]:
        """Yield the runs with short numbers in the order that was found."""
        assert isinstance(found.point.participation, Phases)
        for share in STEP_SHARES:
            yield self._rounded(found, digits, found.point.participation, share)


def ordered(runs: Runs) -> WorstOrders | None:
    """Return the space in which a claim about runs is searched in the worst order; ``None`` where it is not.

    It is not if the claim is about one round, chosen step sizes, quantities known of a fixed set only, or participants
    of one law, or if no round is arbitrary.
    """
    wanted, statement = runs.demands, runs.statement
    known = wanted.one_round or wanted.run_quantities or statement.choices or statement.assumed & LASTING
    drawn = statement.bound.get("snapshot_probability") == 1
    return None if type(runs) is not Runs or known or drawn else WorstOrders(statement)
