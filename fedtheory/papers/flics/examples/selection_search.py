"""Search of claims about a server's selection: rounds, short runs, traces and answers with short rational numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ....assumptions import STATIONARY_AVAILABILITY, reason
from ....claims.balls import working_precision
from ....claims.statement import Claim
from ....moments.evaluators import FLOAT
from ....subjects.protocol import Examined, Reading, Space, finite
from ....subjects.lead import Found, ratio
from .selection_settings import Answers, PolicyTrace, Process, SelectionRound, SelectionRun, State, Trace
from .selection_points import Example, SelectionPoint, kind_of, stated

GROUPS, AVAILABLE, STEPS, ROUNDS = "groups", "available clients of a group", "local steps", "rounds"
MOST: dict[type, dict[str, int]] = {
    SelectionRound: {GROUPS: 3, AVAILABLE: 3, STEPS: 6},
    SelectionRun: {GROUPS: 2, AVAILABLE: 2, STEPS: 5, ROUNDS: 5},
    PolicyTrace: {GROUPS: 3, AVAILABLE: 4, ROUNDS: 6},
    Answers: {AVAILABLE: 3, ROUNDS: 100},
}
"""The largest counts of candidates; of a policy, the rounds that are given."""

CHOSEN_ROUNDS = (64, 67)
"""Numbers of rounds of a run whose claim chooses the local step size, which needs so many."""


class Selections(Space):
    """Space of points on which a claim about selection is searched.

    There are one to three groups of up to three clients, of the policy up to four. Runs have one or two groups of up to
    two, of which one may never be there, or never again. Estimates are near and far off; there are one or two states of
    availability, one to six local steps; runs have up to five rounds, or as many as a claim that chooses the local step
    size needs, traces of the policy up to nine; up to 300 answers. Numbers have two digits, so a find is an instance as
    it stands.
    """

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        draws: dict[type, Callable[[np.random.Generator], Example]] = {
            SelectionRound: _round,
            SelectionRun: self._run,
            PolicyTrace: self._policy,
            Answers: _answers,
        }
        self._point = draws[kind_of(statement.functional)]

    left_out = "more groups, clients or rounds; objectives that are not quadratic"

    @property
    def searched(self) -> str:
        """Description of the points that are searched, in words."""
        what = {
            SelectionRound: "single rounds of FLICS",
            SelectionRun: "runs of FLICS on quadratics",
            PolicyTrace: "traces of FLICS's policy",
            Answers: "answers of one group",
        }
        kind = kind_of(self.statement.functional)
        most = MOST[kind] | ({ROUNDS: CHOSEN_ROUNDS[1]} if kind is SelectionRun and self.statement.choices else {})
        return f"{what[kind]}, at most {', '.join(f'{count} {name}' for name, count in most.items())}"

    def draw(self, rng: np.random.Generator) -> SelectionPoint | None:
        """Draw a random candidate."""
        return self._instance(self._point(rng), rng)

    def perturb(self, candidate: SelectionPoint, rng: np.random.Generator, size: float) -> SelectionPoint | None:
        """Return a neighbour: numbers move by about ``size``; counts and weights stay."""
        point, move = candidate.point, lambda value: _moved(value, rng, size)
        if isinstance(point, SelectionRound):
            states = tuple(
                replace(s, rates=tuple(min(move(r), Fraction(a)) for r, a in zip(s.rates, s.availability, strict=True)))
                for s in point.states
            )
            moved: Example = replace(
                point,
                estimate=tuple(map(move, point.estimate)),
                states=states,
                local_lr=move(point.local_lr),
                centres=tuple(map(move, point.centres)),
                start=move(point.start),
                gradient_noise=move(point.gradient_noise),
            )
        elif isinstance(point, SelectionRun):
            local, server, largest = point.local_lr, point.global_lr, _short(1 / point.curvature, math.floor)
            local = None if local is None else min(move(local), largest)
            server = None if server is None else move(server)
            who = point.availability
            if isinstance(who, Trace):
                who = replace(who, budget=tuple(map(move, who.budget)))
            moved = replace(
                point,
                availability=who,
                centres=tuple(map(move, point.centres)),
                start=move(point.start),
                gradient_noise=move(point.gradient_noise),
                local_lr=local,
                global_lr=server,
            )
        elif isinstance(point, PolicyTrace):
            moved = replace(point, trace=replace(point.trace, budget=tuple(map(move, point.trace.budget))))
        else:
            moved = replace(point, probability=min(move(point.probability), Fraction(1)))
        return self._instance(moved, rng)

    def rounded(self, found: Found, digits: int) -> Iterator[SelectionPoint]:
        """Yield the find as it stands: it was drawn with short numbers."""
        yield found.point

    def assess(self, candidate: SelectionPoint | None) -> tuple[Found, None] | None:
        """Evaluate both sides, under the reading with the smallest ratio.

        It is ``None`` where a hypothesis fails under one: such a candidate does not refute the claim under every
        reading.
        """
        if candidate is None:
            return None
        found = []
        if any(not a.quantity and not reason(a.kind, candidate.met) for a in self.statement.assumptions):
            return None
        with working_precision():
            examined = candidate.examined(self.statement, numbers=FLOAT)
            for reading in self.statement.readings():
                result = self._assessed(candidate, examined, reading)
                if result is None:
                    return None
                found.append(result)
        return min(found, key=lambda f: f.ratio), None

    def _assessed(self, candidate: SelectionPoint, examined: Examined, reading: Reading) -> Found | None:
        try:
            sides = examined.sides(reading)
        except ValueError:  # a group that can take part in no round
            return None
        left, values = sides.left, sides.values
        statement = self.statement
        needed = [name for name in statement.quantities if name not in statement.choices]
        known = {name: float(values[name]) for name in needed}
        if not all(map(math.isfinite, known.values())):
            return None
        bound = statement.evaluate(**known)
        if bound.hypotheses_hold is not True or not np.isfinite(bound.value) or not finite(left):
            return None
        left = float(left)
        size = float(ratio(left, bound.terms.values()))
        rounds = getattr(candidate.point, "rounds", 1)
        return Found(candidate, candidate, known, rounds, left, float(bound.value), size)

    def _instance(self, point: Example, rng: np.random.Generator) -> SelectionPoint | None:
        constants = self._constants(point, rng)
        return None if constants is None else SelectionPoint(point, constants)

    def _constants(self, point: Example, rng: np.random.Generator) -> dict[str, Fraction] | None:
        """Values of what the instance states, near what the hypotheses allow; ``None`` where they allow none."""
        names, loose = stated(self.statement), Fraction(int(rng.integers(10, 14)), 10)
        error_itself = any(h.name == "error_itself" for h in self.statement.hypotheses)
        drawn: dict[str, Fraction] = {
            "relative_error": _short(Fraction(10 ** rng.uniform(-2, 0.3))),
            "failure_probability": _short(Fraction(10 ** rng.uniform(-3, -0.3))),
            "hidden_constant": _number(rng),
        }
        if "least_participation" in names:
            try:
                drawn["least_participation"] = _least_participation(point) / loose
            except ValueError:
                return None
            if drawn["least_participation"] == 0:
                return None
        if "estimate_error" in names:
            drawn["estimate_error"] = self._error(point) * (1 if error_itself else loose)
        if "descent_constant" in names:
            room = self._room(point)
            if room <= 0:
                return None
            drawn["descent_constant"] = room * Fraction(99, 100)
        return {name: drawn[name] for name in names}

    def _error(self, point: Example) -> Fraction:
        """The largest estimate error, under any reading."""
        if isinstance(point, SelectionRound):
            return _of_round(point, "largest_estimate_error")
        assert isinstance(point, SelectionRun)  # of others no claim states it
        who = point.availability
        rows = who.availability if isinstance(who, Trace) else who.counts
        return max(point.initial_estimate, *(Fraction(max(row)) for row in rows))

    def _room(self, point: Example) -> Fraction:
        """Return the room that the theorem leaves for its constant c: 1/2 - 15 L^2 K^2 eta_L^2 M sum p^2."""
        assert isinstance(point, SelectionRun)  # of others no claim states it
        weight, local = point.availability.weight, point.local_lr
        concentration = sum(p**2 for p in weight) * len(weight)
        moved = 1 / Fraction(point.rounds) if local is None else (point.curvature * point.local_steps * local) ** 2
        return Fraction(1, 2) - 15 * moved * concentration

    def _run(self, rng: np.random.Generator) -> SelectionRun:
        most = MOST[SelectionRun]
        groups, rounds = _count(rng, most[GROUPS]), _count(rng, most[ROUNDS])
        who = self._who(rng, groups, most[AVAILABLE], absent=0.2)
        curvature, steps = _number(rng), _count(rng, most[STEPS])
        local, server = None, None
        if self.statement.choices:
            rounds, steps = int(rng.integers(CHOSEN_ROUNDS[0], CHOSEN_ROUNDS[1] + 1)), 1  # as the local step size needs
            groups = 2 if rng.random() < 0.2 else 1  # of two, one is away
            who = self._who(rng, groups, 1, absent=1.0)
        else:
            local = _short(Fraction(10 ** -float(rng.uniform(0.9, 3))) / (curvature * steps), math.floor)
            server = _short(Fraction(10 ** -float(rng.uniform(0, 2))) / (curvature * steps * local), math.floor)
        return SelectionRun(
            who,
            Fraction(1, 10),
            curvature,
            tuple(_signed(rng) for _ in who.weight),
            _signed(rng),
            _number(rng) if rng.random() < 0.4 else Fraction(0),
            steps,
            rounds,
            local,
            server,
        )

    def _who(self, rng: np.random.Generator, groups: int, most: int, absent: float) -> Trace | Process:
        """Draw an availability, with the chance that a group is not there, or not in the end (see ``_trace``).

        Where the claim assumes a stationary ergodic process, it is one state for ever, or two, drawn anew in every
        round or in turn.
        """
        if STATIONARY_AVAILABILITY not in self.statement.assumed:
            return _trace(rng, groups, most, int(rng.integers(1, 3)), full_start=True, absent=absent)
        if rng.random() < 0.5:
            return _trace(rng, groups, most, 1, full_start=True, absent=absent)
        counts = tuple(tuple(int(a) for a in rng.integers(1, most + 1, groups)) for _ in range(2))
        chance = Fraction(int(rng.integers(1, 10)), 10)
        turns = rng.random() < 0.5
        initial = (Fraction(1, 2),) * 2 if turns else (chance, 1 - chance)
        rows = ((Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))) if turns else None
        return Process(_weights(rng, groups), counts, initial, rows, (Fraction(max(map(sum, counts))),))

    def _policy(self, rng: np.random.Generator) -> PolicyTrace:
        most = MOST[PolicyTrace]
        groups, given = _count(rng, most[GROUPS]), _count(rng, most[ROUNDS])
        given = 1 if STATIONARY_AVAILABILITY in self.statement.assumed else given
        trace = _trace(rng, groups, most[AVAILABLE], given, full_start=False)
        return PolicyTrace(trace, given + int(rng.integers(0, 4)))


def _least_participation(point: Example) -> Fraction:
    name = "least_group_participation"
    return _of_round(point, name) if isinstance(point, SelectionRound) else point.fixed((name,))[name]


def _of_round(point: SelectionRound, name: str) -> Fraction:
    return point.round.values((name,), {})[name]


def _round(rng: np.random.Generator) -> SelectionRound:
    groups = _count(rng, MOST[SelectionRound][GROUPS])
    states = tuple(_states(rng, groups))
    s = [sum(state.probability * state.rates[j] for state in states) for j in range(groups)]
    off = 0 if rng.random() < 0.2 else 10 ** rng.uniform(-2, 0.3)
    estimate = tuple(max(_short(v * Fraction(math.exp(off * rng.standard_normal()))), Fraction(1, 1000)) for v in s)
    if off == 0:
        estimate = tuple(v or Fraction(1, 10) for v in s)
    curvature, steps = _signed(rng) or Fraction(1), _count(rng, MOST[SelectionRound][STEPS])
    local = _short(Fraction(10 ** rng.uniform(-3, 0)) / (abs(curvature) * steps))
    return SelectionRound(
        _weights(rng, groups),
        estimate,
        states,
        curvature,
        tuple(_signed(rng) for _ in range(groups)),
        _signed(rng),
        _number(rng) if rng.random() < 0.5 else Fraction(0),
        steps,
        local,
    )


def _states(rng: np.random.Generator, groups: int) -> Iterator[State]:
    chance = Fraction(1) if rng.random() < 0.6 else Fraction(int(rng.integers(1, 10)), 10)
    least = int(chance == 1 and rng.random() < 0.8)  # else a group may never be there
    for probability in {chance, 1 - chance} - {0} if chance != Fraction(1, 2) else (chance, chance):
        available = tuple(int(a) for a in rng.integers(least, MOST[SelectionRound][AVAILABLE] + 1, groups))
        rates = tuple(a * Fraction(int(rng.integers(1, 11)), 10) for a in available)
        yield State(probability, available, rates)


def _answers(rng: np.random.Generator) -> Answers:
    most = MOST[Answers]
    clients, rounds = _count(rng, most[AVAILABLE]), int(10 ** rng.uniform(0, math.log10(most[ROUNDS])))
    probability = Fraction(1) if rng.random() < 0.1 else _short(Fraction(10 ** rng.uniform(-4, 0)))
    return Answers(min(probability, Fraction(1)), clients, rounds)


def _trace(
    rng: np.random.Generator, groups: int, most: int, rounds: int, full_start: bool, absent: float = 0.0
) -> Trace:
    """Availability and budgets; ``full_start`` often asks everyone in the first round, so that no estimate is 0. With
    the chance ``absent``, one of several groups is never there, or not after the first round."""
    counts = [tuple(int(a) for a in rng.integers(0, most + 1, groups)) for _ in range(rounds)]
    counts[-1] = tuple(max(a, 1) for a in counts[-1])
    budgets = [_short(Fraction(float(rng.uniform(0.05, 1)) * groups * most)) for _ in counts]
    if full_start and rng.random() < 0.7:
        counts[0] = tuple(max(a, 1) for a in counts[0])
        budgets[0] = Fraction(groups * most)
    if groups > 1 and rng.random() < absent:
        away, since = int(rng.integers(groups)), int(rng.integers(min(rounds, 2)))
        counts[since:] = [tuple(a if j != away else 0 for j, a in enumerate(row)) for row in counts[since:]]
    return Trace(_weights(rng, groups), tuple(counts), tuple(budgets))


def _weights(rng: np.random.Generator, groups: int) -> tuple[Fraction, ...]:
    parts = [Fraction(int(n)) for n in rng.integers(1, 8, groups)]
    return tuple(part / sum(parts) for part in parts)


def _short(value: Fraction, rounding: Callable[[Fraction], int] = round) -> Fraction:
    """Two significant digits.

    >>> _short(Fraction(2, 3)), _short(Fraction(12345))
    (Fraction(67, 100), Fraction(12000, 1))
    """
    if value == 0:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(abs(value))) - 1)
    return rounding(value / unit) * unit


def _count(rng: np.random.Generator, most: int) -> int:
    return int(rng.integers(1, most + 1))


def _number(rng: np.random.Generator) -> Fraction:
    return _short(Fraction(10 ** rng.uniform(-1, 1)))


def _signed(rng: np.random.Generator) -> Fraction:
    return _number(rng) * int(rng.choice([-1, 0, 1], p=[0.4, 0.2, 0.4]))


def _moved(value: Fraction, rng: np.random.Generator, size: float) -> Fraction:
    return _short(value * Fraction(math.exp(size * rng.standard_normal())))
