"""Points of claims about a server's selection: a round, runs, a trace of availability, or answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ....assumptions import INDEPENDENT_ANSWERS, STATIONARY_AVAILABILITY
from ....claims.balls import Number, evaluate_in_balls
from ....claims.statement import Claim
from ....federations.noise_laws import MET_BY_NOISE, TWO_POINT
from ....functionals import (
    LEAST_SQUARED_GRADIENT,
    MEAN_SQUARED_GRADIENT,
    POLICY_GAP,
    POLICY_LIMIT,
    RATIO_FAILURE,
    Functional,
)
from ....moments.evaluators import BALL, EXACT
from ....moments.number_kinds import CONVERT
from ....quantities import check_values
from ....subjects.protocol import OWN_CONSTANT, Checked, Examined, Point, Reading, Sides
from ....subjects.file_entries import (
    CHOSEN,
    by_vocabulary,
    check_chosen,
    check_scope,
    entry,
    indices,
    matrix,
    rational,
    rational_entry,
    rationals,
    shown,
    texts,
    vector,
)
from .selection_settings import Answers, PolicyTrace, Process, SelectionRound, SelectionRun, State, Trace

Example = SelectionRound | SelectionRun | PolicyTrace | Answers

STATED = (
    "estimate_error", "least_participation", "descent_constant", "relative_error", "failure_probability",
    "hidden_constant",
)  # fmt: skip
"""Quantities that a point does not fix: where a claim speaks of one, the instance states it."""

LARGEST: dict[type, dict[str, int]] = {
    SelectionRound: {"groups": 4, "local_steps": 30},
    SelectionRun: {"groups": 2, "local_steps": 10**9, "rounds": 1000},
    PolicyTrace: {"groups": 4, "rounds": 40},
    Answers: {"clients": 10**4, "rounds": 10**4},
}
"""Largest numbers that a point may have: exact arithmetic takes too long beyond."""

LARGEST_ANSWERS = 10**4
"""Largest clients * rounds of ``Answers``."""

ANSWERS = {INDEPENDENT_ANSWERS: "by construction: who is there answers by a coin of its own"}
ANEW = "by construction: the state of the round is drawn anew from its law"
"""Reason why a round, or answers at one rate, are those of a stationary ergodic process."""

LARGEST_AVAILABILITY: dict[type, int] = {SelectionRun: 5, PolicyTrace: 100}
"""Largest number of clients of a group that are there, along a trace."""


def stated(statement: Claim) -> tuple[str, ...]:
    """Return the names of the quantities that an instance of the claim states.

    >>> from fedtheory.papers.flics.statements.thm2 import MAIN
    >>> stated(MAIN)
    ('least_participation',)
    """
    needed = {*statement.quantities}
    if statement.functional.name in ("aggregate_error", "scaled_inner_product"):  # they speak of epsilon^
        needed |= {"estimate_error", "least_participation"}
    elif statement.functional == RATIO_FAILURE:
        needed |= {"relative_error"}
    return tuple(name for name in STATED if name in needed)


def kind_of(functional: Functional) -> type:
    """Return the kind of point that a functional of scope "selection" is about."""
    if functional in (LEAST_SQUARED_GRADIENT, MEAN_SQUARED_GRADIENT):
        return SelectionRun
    if functional in (POLICY_GAP, POLICY_LIMIT):
        return PolicyTrace
    return Answers if functional == RATIO_FAILURE else SelectionRound


@dataclass(frozen=True)
class SelectionPoint(Point):
    """A point with rational numbers, for one claim about selection.

    Attributes:
        point: of the kind that the claim is about.
        constants: the values of ``stated``.
    """

    point: Example
    constants: Mapping[str, Fraction]

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        check_scope(statement, "selection")
        kind, names = kind_of(statement.functional), stated(statement)
        if not isinstance(self.point, kind):
            raise ValueError(f"{statement.ref}: allowed is a {kind.__name__}, not a {type(self.point).__name__}")
        for name in sorted(set(self.constants) ^ set(names)):
            raise ValueError(f"constants: {name}: {statement.ref} states {', '.join(names) or 'none'}")
        check_values(self.constants)
        self._check_sizes(kind)
        if isinstance(self.point, SelectionRun):
            steps = {"local_lr": self.point.local_lr, "global_lr": self.point.global_lr}
            check_chosen(statement, "a rational > 0", **steps)
            if self.point.global_lr is not None and self.point.global_lr <= 0:
                raise ValueError(f"global_lr = {self.point.global_lr}: allowed is a rational > 0")

    def _check_sizes(self, kind: type) -> None:
        for name, largest in LARGEST[kind].items():
            size = self._groups if name == "groups" else getattr(self.point, name)
            if not 1 <= size <= largest:
                raise ValueError(f"{name} = {shown(size)}: allowed is an integer from 1 to {largest}")
        if isinstance(self.point, Answers):
            if self.point.clients * self.point.rounds > LARGEST_ANSWERS:
                raise ValueError(f"clients * rounds: allowed is at most {LARGEST_ANSWERS}")
            if not 0 < self.point.probability <= 1:
                raise ValueError(f"probability = {self.point.probability}: allowed is a number in (0, 1]")
        elif isinstance(self._who, Trace):
            trace, most = self._who, LARGEST_AVAILABILITY[kind]
            if len(trace.budget) > LARGEST[kind]["rounds"] or max(map(max, trace.availability)) > most:
                raise ValueError(
                    f"availability: allowed are at most {LARGEST[kind]['rounds']} rounds of at most {most} clients"
                )

    @property
    def _who(self) -> Trace | Process | None:
        """The availability of runs and of the policy."""
        if isinstance(self.point, SelectionRun):
            return self.point.availability
        return self.point.trace if isinstance(self.point, PolicyTrace) else None

    @property
    def _groups(self) -> int:
        """How many there are; answers are those of one."""
        if isinstance(self.point, SelectionRound):
            return len(self.point.weight)
        return 1 if self._who is None else len(self._who.weight)

    @property
    def met(self) -> Mapping[str, str]:
        """The assumptions that its noise, its answers and its availability meet, with reasons."""
        who = self._who
        why = ANEW if who is None else who.stationary
        return {**MET_BY_NOISE[TWO_POINT], **ANSWERS, **({STATIONARY_AVAILABILITY: why} if why else {})}

    def examined(self, statement: Claim, follow: bool = True, numbers: str = BALL) -> Examined:
        """Return the point as the claim speaks of it; runs are computed in numbers of this kind."""
        return _ExaminedSelection(self, statement, numbers)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; ``parse`` reads it back."""
        return {"selection": _WRITERS[type(self.point)](self.point), "constants": by_vocabulary(self.constants)}


class _ExaminedSelection(Examined):
    """A point that is examined: what is the same under every reading is computed once, exactly."""

    def __init__(self, point: SelectionPoint, statement: Claim, numbers: str) -> None:
        self.example, self.statement = point.point, statement
        self.numbers = numbers if isinstance(point.point, SelectionRun) else EXACT
        own = Checked(Fraction(0), OWN_CONSTANT)
        self.checks = {a.name: own for a in statement.assumptions if a.quantity}
        self.stated: dict[str, Number] = {**point.constants, **self._own_steps()}
        chosen_of = {s.name for choice in statement.choices.values() for s in choice.free_symbols}
        names = {*statement.quantities, *chosen_of} - {*self.stated, *statement.choices}
        self.fixed = self.example.fixed(names)
        self.rest = names - {*self.fixed}
        self.stated |= self.chosen()

    def _own_steps(self) -> dict[str, Fraction]:
        own = {name: getattr(self.example, name, None) for name in ("local_lr", "global_lr")}
        return {name: value for name, value in own.items() if value is not None}

    def chosen(self) -> Mapping[str, Number]:
        convert = CONVERT[self.numbers]
        choices = self.statement.choices
        return {name: convert(evaluate_in_balls(choice, self.fixed)) for name, choice in choices.items()}

    def sides(self, reading: Reading) -> Sides:
        told = self.example.told(self.statement.functional, self.rest, reading, self.stated, self.numbers)
        return Sides(told[0], self.fixed | told[1] | self.stated)


def parse(data: Mapping[str, Any], statement: Claim) -> SelectionPoint:
    """Read a point from plain data, not yet checked against bounds of sizes.

    Raises:
        ValueError: an entry is missing, of the wrong kind or out of bounds; it is named.
    """
    point = _READERS[kind_of(statement.functional)](entry(data, "selection", dict))
    return SelectionPoint(point, rationals(data, "constants"))


def _trace_json(trace: Trace) -> dict[str, Any]:
    return {
        "group_weight": texts(trace.weight),
        "availability": [list(row) for row in trace.availability],
        "budget": texts(trace.budget),
    }


def _parse_trace(data: Mapping[str, Any]) -> Trace:
    rows = entry(data, "availability", list)
    counts = tuple(indices({"availability": row}, "availability") for row in rows)
    return Trace(vector(data, "group_weight"), counts, vector(data, "budget"))


def _who_json(who: Trace | Process) -> dict[str, Any]:
    if isinstance(who, Trace):
        return _trace_json(who)
    process = {"counts": [list(row) for row in who.counts], "initial": texts(who.initial)}
    rows = {} if who.transitions is None else {"transitions": [texts(row) for row in who.transitions]}
    return {"group_weight": texts(who.weight), "process": process | rows, "budget": texts(who.budget)}


def _parse_who(data: Mapping[str, Any]) -> Trace | Process:
    if "process" not in data:
        return _parse_trace(data)
    if "availability" in data:
        raise ValueError("availability, process: give one of them")
    inner = entry(data, "process", dict)
    counts = tuple(indices({"counts": row}, "counts") for row in entry(inner, "counts", list))
    rows = matrix(inner, "transitions") if "transitions" in inner else None
    return Process(vector(data, "group_weight"), counts, vector(inner, "initial"), rows, vector(data, "budget"))


def _training_json(point: SelectionRound | SelectionRun) -> dict[str, Any]:
    federation = {
        "curvature": str(point.curvature),
        "centres": texts(point.centres),
        "gradient_noise": str(point.gradient_noise),
    }
    return {"federation": federation, "start": str(point.start), "local_steps": point.local_steps}


def _parse_training(data: Mapping[str, Any]) -> dict[str, Any]:
    inner = entry(data, "federation", dict)
    return {
        "curvature": rational_entry(inner, "curvature"),
        "centres": vector(inner, "centres"),
        "gradient_noise": rational_entry(inner, "gradient_noise"),
        "start": rational_entry(data, "start"),
        "local_steps": entry(data, "local_steps", int),
    }


def _round_json(point: SelectionRound) -> dict[str, Any]:
    states = [
        {"probability": str(s.probability), "availability": list(s.availability), "rates": texts(s.rates)}
        for s in point.states
    ]
    return {
        "group_weight": texts(point.weight),
        "estimate": texts(point.estimate),
        "states": states,
        **_training_json(point),
        "local_lr": str(point.local_lr),
    }


def _parse_round(data: Mapping[str, Any]) -> SelectionRound:
    states = entry(data, "states", list)
    if not all(isinstance(state, dict) for state in states) or len(states) > 100:
        raise ValueError("states: allowed is a list of at most 100 objects")
    parsed = tuple(
        State(rational_entry(s, "probability"), indices(s, "availability"), vector(s, "rates")) for s in states
    )
    return SelectionRound(
        weight=vector(data, "group_weight"),
        estimate=vector(data, "estimate"),
        states=parsed,
        local_lr=rational_entry(data, "local_lr"),
        **_parse_training(data),
    )


def _run_json(point: SelectionRun) -> dict[str, Any]:
    steps = {
        name: CHOSEN if getattr(point, name) is None else str(getattr(point, name))
        for name in ("local_lr", "global_lr")
    }
    return {
        **_who_json(point.availability),
        "initial_estimate": str(point.initial_estimate),
        **_training_json(point),
        "rounds": point.rounds,
        **steps,
    }


def _parse_run(data: Mapping[str, Any]) -> SelectionRun:
    return SelectionRun(
        availability=_parse_who(data),
        initial_estimate=rational_entry(data, "initial_estimate"),
        rounds=entry(data, "rounds", int),
        local_lr=_parse_step(data, "local_lr"),
        global_lr=_parse_step(data, "global_lr"),
        **_parse_training(data),
    )


def _parse_step(data: Mapping[str, Any], name: str) -> Fraction | None:
    """``None``: the claim chooses it."""
    text = entry(data, name, str)
    return None if text == CHOSEN else rational(name, text)


def _policy_json(point: PolicyTrace) -> dict[str, Any]:
    return _trace_json(point.trace) | {"rounds": point.rounds}


def _parse_policy(data: Mapping[str, Any]) -> PolicyTrace:
    return PolicyTrace(_parse_trace(data), entry(data, "rounds", int))


def _answers_json(point: Answers) -> dict[str, Any]:
    return {"probability": str(point.probability), "clients": point.clients, "rounds": point.rounds}


def _parse_answers(data: Mapping[str, Any]) -> Answers:
    return Answers(rational_entry(data, "probability"), entry(data, "clients", int), entry(data, "rounds", int))


_WRITERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    SelectionRound: _round_json, SelectionRun: _run_json, PolicyTrace: _policy_json, Answers: _answers_json,
}  # fmt: skip
_READERS: dict[type, Callable[[Mapping[str, Any]], Example]] = {
    SelectionRound: _parse_round, SelectionRun: _parse_run, PolicyTrace: _parse_policy, Answers: _parse_answers,
}  # fmt: skip
