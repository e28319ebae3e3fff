"""Rounds that depend on earlier ones through who took part in them, where that is known beforehand.

Weights that are estimated from the participation so far, rates that follow it, and a server that counts the rounds in
which somebody came, are numbers of the round once the participants are: those of a record, of phases, of a fixed set. A
round is then linear in the state as any other is.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.aggregation import Constant, FedAUWeights, GivenWeights, GroupWeights, ObjectiveShares
from ..algorithms.algorithm import ClientRound, Kind
from ..algorithms.built_in_steps import Amplifying
from ..algorithms.cohort_rules import NaiveSelection, Selection, VarSelection
from ..algorithms.server_step import Amplified
from .lifting import weighing
from .linear_rounds import NotClosed

if TYPE_CHECKING:
    from ..setting import Setting


def depends_on_past(kind: Kind) -> bool:
    """Whether rounds of this kind differ by what came before them, beside the state, or weigh by an estimate of it."""
    if not isinstance(kind, ClientRound):
        return False
    return (
        isinstance(kind.aggregation, FedAUWeights | GivenWeights)
        or (isinstance(kind.aggregation, GroupWeights) and kind.aggregation.estimate is not None)
        or isinstance(kind.server, Amplified)
        or (kind.selection is not None and (_follows(kind.selection) or len(kind.selection.budget) > 1))
    )


def _follows(selection: Selection | None) -> bool:
    """Whether rates follow the planned ones of earlier rounds, and not the answers, which are drawn."""
    return isinstance(selection, VarSelection) and selection.counts == "planned"


Intervals = tuple[int, int, int]
"""A client's ended intervals, the rounds that they cover, and the rounds since."""


def after_round(intervals: Intervals, here: bool, cutoff: float) -> Intervals:
    """Return a client's intervals after a round in which it is ``here``, or not.

    >>> after_round((1, 2, 1), True, cutoff=3), after_round((1, 2, 1), False, cutoff=3)
    ((2, 4, 0), (1, 2, 2))
    """
    ended, covered, running = intervals
    if here or running + 1 == cutoff:
        return ended + 1, covered + running + 1, 0
    return ended, covered, running + 1


def filled(p: tuple[Fraction, ...], history: list[Fraction], available: list[int], budget: Fraction) -> list[Fraction]:
    """Solve the problem Var (see ``selection.variance``) in Fractions.

    The rates r that make sum_j p_j^2 / (b_j + r_j) least, for 0 <= r_j <= a_j and sum_j r_j <= k, are
    r_j = min(max(p_j v - b_j, 0), a_j) with a level v common to all.

    >>> third = Fraction(1, 3)
    >>> [str(r) for r in filled((third,) * 3, [Fraction(0), Fraction(1), Fraction(5)], [4, 4, 4], Fraction(4))]
    ['5/2', '3/2', '0']
    """
    if sum(available) <= budget:
        return [Fraction(a) for a in available]

    def at(level: Fraction) -> list[Fraction]:
        return [
            min(max(p_j * level - b, Fraction(0)), Fraction(a)) for p_j, b, a in zip(p, history, available, strict=True)
        ]

    rows = list(zip(p, history, available, strict=True))
    corners = sorted({corner for p_j, b, a in rows for corner in (b / p_j, (b + a) / p_j)})
    low = corners[bisect_right(corners, budget, key=lambda level: sum(at(level), Fraction(0))) - 1]  # the lowest has 0
    rising = sum((p_j for p_j, b, a in rows if a and b / p_j <= low < (b + a) / p_j), Fraction(0))
    return at(low + (budget - sum(at(low))) / rising) if rising else at(low)


@dataclass
class Estimates:
    """The estimate of how many clients of each group take part, from the rates of the rounds so far."""

    selection: VarSelection
    estimate: list[Fraction]
    total: list[Fraction]

    @classmethod
    def begun(cls, selection: VarSelection) -> Estimates:
        """Return the estimates before round 0."""
        groups = len(selection.group_weight)
        return cls(selection, [selection.start] * groups, [Fraction(0)] * groups)

    def after(self, round: int, here: list[bool]) -> tuple[list[Fraction], Estimates]:
        """Return the rates of a round, and the estimates with it."""
        own, start = self.selection, self.selection.start
        there = np.bincount(np.array(own.groups)[here], minlength=len(self.total)).tolist()
        rates = filled(own.group_weight, [s * round for s in self.estimate], there, own.exact_budget(round))
        if own.update == "printed" and round == 0:
            return rates, self
        total = [s + r for s, r in zip(self.total, rates, strict=True)]
        if own.update == "start_counts":
            return rates, Estimates(own, [(start + s) / (round + 2) for s in total], total)
        return rates, Estimates(own, [s / (round + (own.update == "mean")) for s in total], total)


class KnownPast:
    """The past of each round of a setting whose participants are known, or whose rounds ask of the past only what is
    known without them.

    Raises:
        NotClosed: what depends on the participants is asked for, and they are drawn; or kinds of round with a past
            alternate.
        ValueError: rounds are counted in which somebody comes, and the participants may all stay away.
    """

    def __init__(self, setting: Setting) -> None:
        first, second = setting.algorithm.kinds
        self.process, self.clients = setting.participation, setting.federation.clients
        self.known = self.process.deterministic
        self._asked = depends_on_past(first) or depends_on_past(second)
        if not self._asked:
            return
        if first != second or not isinstance(first, ClientRound) or first.uniform is not None:
            raise NotClosed(
                f"algorithm = {type(setting.algorithm).__name__}: with rounds that follow the participation so far, "
                "allowed is one kind of round, of whoever shows up"
            )
        self.kind = first
        if not self.known and isinstance(first.aggregation, FedAUWeights):
            weighing(first, self.clients)  # says why not
        if not self.known and isinstance(first.server, Amplified) and self.process.sizes(self.clients)[0] == 0:
            raise ValueError(
                f"participation = {type(self.process).__name__}: with the server Amplified, which does not count empty "
                "rounds, allowed are rounds with somebody, or participants that are known"
            )
        self._begin()

    def _begin(self) -> None:
        self.round, self.passed = 0, 0
        self.intervals: list[Intervals] = [(0, 0, 0)] * self.clients
        selection = self.kind.selection
        self.estimates = Estimates.begun(selection) if self.known and isinstance(selection, VarSelection) else None

    def here(self, round: int) -> list[bool]:
        """Return who takes part in a round."""
        return [count > 0 for count in self.process.expected(self.clients, round).tolist()]

    def _go_to(self, round: int) -> None:
        """Follow the past up to a round."""
        if round < self.round:
            self._begin()
        while self.round < round:
            here, weights = self.here(self.round) if self.known else [True] * self.clients, self.kind.aggregation
            if isinstance(weights, FedAUWeights):
                pairs = zip(self.intervals, here, strict=True)
                self.intervals = [after_round(each, there, weights.cutoff) for each, there in pairs]
            if self.estimates is not None:
                _, self.estimates = self.estimates.after(self.round, here)
            self.passed += any(here)
            self.round += 1

    def at(self, kind: Kind, round: int) -> Kind:
        """Return what a round of this kind is in its place, without a past."""
        if not self._asked:
            return kind
        assert isinstance(kind, ClientRound)
        self._go_to(round)
        kind, weights = self._selecting(kind, round), kind.aggregation
        if isinstance(weights, GivenWeights):
            rows = weights.aggregation_weight
            kind = replace(kind, aggregation=Constant(rows[round % len(rows)]))
        elif isinstance(weights, FedAUWeights):
            means = (Fraction(covered, ended) if ended else Fraction(1) for ended, covered, _ in self.intervals)
            kind = replace(kind, aggregation=Constant(tuple(means)))
        elif isinstance(weights, GroupWeights) and weights.estimate is not None:
            each = [p / s for p, s in zip(weights.group_weight, weights.estimate, strict=True)]
            kind = replace(kind, aggregation=_of_groups(weights, each))
        if isinstance(kind.server, Amplified):
            last = (self.passed + 1) % kind.server.period == 0
            server: Any = Amplifying(kind.server.global_lr, last)  # type: ignore[arg-type]
            kind = replace(kind, server=server)
        return kind

    def _selecting(self, kind: ClientRound, round: int) -> ClientRound:
        """The round with the rates and weights of a selection that follows the past, or with the round's budget."""
        own = kind.selection
        if own is None or (isinstance(own, VarSelection) and (self.estimates is None or not _follows(own))):
            return kind
        if not isinstance(own, VarSelection):
            return replace(kind, selection=replace(own, budget=(own.exact_budget(round),)))  # type: ignore[type-var]
        assert self.estimates is not None
        rates, after = self.estimates.after(round, self.here(round))
        selection = NaiveSelection(own.groups, tuple(rates), (Fraction(1),), own.answers)
        weights: Any = kind.aggregation
        if isinstance(weights, GroupWeights) and weights.estimate is None:
            each = [p / s if s else Fraction(0) for p, s in zip(weights.group_weight, after.estimate, strict=True)]
            weights = _of_groups(weights, each)
        return replace(kind, selection=selection, aggregation=weights)


def _of_groups(weights: GroupWeights, each: list[Fraction]) -> Constant | ObjectiveShares:
    """The weights of groups, each client's its group's, by the number of all clients, or of those that answer."""
    clients = len(weights.groups)
    own = tuple(each[g] for g in weights.groups)
    if weights.divided:
        return ObjectiveShares(tuple(w / clients for w in own))
    return Constant(tuple(w * clients for w in own))


Rounds = list[tuple[int, Kind, Kind]]
"""Rounds one after another: the index, from which the participants follow, and what the two kinds of round are then."""


def settled_rounds(setting: Setting, first: int, length: int) -> Rounds:
    """Return the rounds to which a setting's own tend, one cycle of them, for participants that repeat every ``length``
    rounds from round ``first`` on.

    The mean of a client's intervals tends to the length over the number of them that end in a cycle. The cycle is as
    long as it takes until snapshots, weights given in turn, and amplified steps are where they were.

    Raises:
        NotClosed, ValueError: as `KnownPast`.
    """
    past, kinds, cycle = KnownPast(setting), setting.algorithm.kinds, lcm(length, setting.algorithm.period or 1)
    limits: Any = None
    for each in {kind for kind in kinds if isinstance(kind, ClientRound) and depends_on_past(kind)}:
        if isinstance(each.aggregation, GivenWeights):
            cycle = lcm(cycle, len(each.aggregation.aggregation_weight))
        if isinstance(each.aggregation, FedAUWeights):
            limits = Constant(_limits(past, each.aggregation.cutoff, first, length))
        if each.selection is not None:
            if _follows(each.selection):
                raise NotClosed(
                    "selection = VarSelection: its rates follow all rounds so far; allowed are moments of given rounds"
                )
            cycle = lcm(cycle, len(each.selection.budget))
        if isinstance(each.server, Amplified):
            counted = sum(any(past.here(first + r)) for r in range(cycle)) if past.known else cycle
            cycle *= each.server.period // gcd(each.server.period, counted)
    begin = -(-first // cycle) * cycle
    rounds: Rounds = []
    for r in range(begin, begin + cycle):
        at = [past.at(kind, r) for kind in kinds]
        one, other = at if limits is None else [replace(kind, aggregation=limits) for kind in at]
        rounds.append((r, one, other))
    return rounds


def _limits(past: KnownPast, cutoff: float, first: int, length: int) -> tuple[Fraction, ...]:
    """The mean intervals in the limit; 1 of clients without an interval that ends, who do not take part."""
    intervals: list[Intervals] = [(0, 0, 0)] * past.clients
    before = intervals
    for _ in range(2):  # after the first cycle, the running interval is where it will always be
        before = intervals
        for r in range(first, first + length):
            pairs = zip(intervals, past.here(r), strict=True)
            intervals = [after_round(each, there, cutoff) for each, there in pairs]
    counts = [after[0] - ahead[0] for after, ahead in zip(intervals, before, strict=True)]
    return tuple(Fraction(length, count) if count else Fraction(1) for count in counts)
