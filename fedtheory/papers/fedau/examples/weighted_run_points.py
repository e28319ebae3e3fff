"""Points of claims about FedAU's runs and rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from functools import cached_property
from typing import Any

from ....claims import readings
from ....claims.balls import Number
from ....claims.statement import Claim
from ....claims.balls import Undecided
from ....claims.statement import leaves_objective_open, may_speak_of
from ....federations.noise_laws import MET_BY_NOISE, TWO_POINT
from ....functionals import AVERAGE_SQUARED_WEIGHTED_GRADIENT
from ....moments.evaluators import BALL, EXACT, left, quantity
from ....subjects.protocol import OWN_CONSTANT, Checked, Examined, Point, Reading, Sides, chosen_step
from ....subjects.file_entries import (
    CHOSEN,
    Rationals,
    check_counts,
    check_kind,
    check_one_round,
    check_scope,
    check_size,
    entry,
    matrix,
    rational,
    rational_entry,
    shown,
    texts,
    vector,
)
from .weight_points import INDEPENDENT_CLIENTS, NO_CUTOFF, required_cutoff
from .weighted_runs import (
    STEPS,
    FedauRun,
    bounds_gradient,
    chooses_cutoff,
    is_about_a_round,
    may_estimate,
)

LARGEST_SETS = {"given": 10, "estimated": 5}
"""Largest number of clients of a round, or of a run with estimated weights, all of whose subsets are looked at."""

LONGEST_ESTIMATED = 200
"""Largest number of rounds of a run with estimated weights."""

LONGEST_CYCLE = 100
"""Largest number of rounds after which given weights repeat."""


@dataclass(frozen=True)
class FedauPoint(Point):
    """A run with rational numbers, for one claim about runs or about one round of Algorithm 1.

    The constants of the claim's assumptions are the run's own: L the largest |curvature|, sigma, delta, and, where the
    gradient is to be bounded, G, for clients that are quadratic where the run goes and no further
    (``papers.fedau.exact.weighted_run_evaluators.squared_gradient_bound``).
    """

    run: FedauRun

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        run = self.run
        check_scope(statement, "run", "round")
        if not may_speak_of(statement, "fedau"):
            raise ValueError(f"{statement.ref} speaks of no weighted updates: allowed is another algorithm")
        sizes = {len(part) for part in (run.curvatures, run.slopes, run.probabilities)}
        widths = {len(row) for row in (*run.curvatures, *run.slopes, run.start)}
        if len(sizes) > 1 or len(widths) > 1 or not (run.clients and run.dimension):
            raise ValueError("curvatures, slopes, probabilities and start: allowed are (N, D), (N, D), (N,) and (D,)")
        check_size("clients", run.clients)
        check_size("dimension", run.dimension)
        check_counts(local_steps=run.local_steps, rounds=run.rounds)
        for p in run.probabilities:
            if not 0 <= p <= 1:
                raise ValueError(f"probabilities = {p}: allowed is a number in [0, 1]")
        if not any(run.probabilities):
            raise ValueError("probabilities: allowed is at least one that is not 0")
        if run.gradient_noise < 0:
            raise ValueError(f"gradient_noise = {run.gradient_noise}: allowed is a number >= 0")
        if not any(h for row in run.curvatures for h in row):
            raise ValueError("curvatures: allowed is at least one that is not 0")
        self._check_steps(statement)
        self._check_weights(statement)
        if is_about_a_round(statement):
            self._check_round(statement)
        elif run.objective or run.history:
            raise ValueError("objective, history: allowed are none, the claim is about runs")

    def _check_steps(self, statement: Claim) -> None:
        for name in STEPS:
            step, chosen = getattr(self.run, name), name in statement.choices
            if (step is None) != chosen or (step is not None and not step > 0):
                rule = "left to the claim, which chooses it" if chosen else "a rational > 0"
                raise ValueError(f"{name} = {CHOSEN if step is None else step}: allowed is {rule}")

    def _check_weights(self, statement: Claim) -> None:
        run = self.run
        if run.weights:
            if chooses_cutoff(statement):
                raise ValueError(f"weights: {statement.ref} is about estimated ones, allowed is their cutoff")
            constant = statement.functional == AVERAGE_SQUARED_WEIGHTED_GRADIENT or is_about_a_round(statement)
            longest = 1 if constant else LONGEST_CYCLE
            if len(run.weights) > longest or {len(row) for row in run.weights} != {run.clients}:
                raise ValueError(f"weights: allowed are 1 to {longest} rows of {run.clients}")
            if not all(w > 0 for row in run.weights for w in row):
                raise ValueError("weights: allowed are numbers > 0")
            return
        if not may_estimate(statement):
            raise ValueError(f"cutoff: {statement.ref} is about given weights, or its Q would be random")
        if (run.cutoff is None) != chooses_cutoff(statement):
            rule = "left to the claim" if chooses_cutoff(statement) else f"an integer >= 1, or {NO_CUTOFF!r}"
            raise ValueError(f"cutoff = {CHOSEN if run.cutoff is None else run.cutoff}: allowed is {rule}")
        if run.cutoff is not None and run.cutoff < 1:
            raise ValueError(f"cutoff = {run.cutoff}: allowed is an integer >= 1, or {NO_CUTOFF!r}")
        if run.clients > LARGEST_SETS["estimated"] or run.rounds > LONGEST_ESTIMATED:
            raise ValueError(
                f"clients = {run.clients}, rounds = {run.rounds}: allowed with estimated weights are "
                f"{LARGEST_SETS['estimated']} and {LONGEST_ESTIMATED}"
            )

    def _check_round(self, statement: Claim) -> None:
        run, open_objective = self.run, leaves_objective_open(statement)
        if run.rounds != 1:
            raise ValueError(f"rounds = {run.rounds}: allowed is 1, the claim is about one round")
        if run.clients > LARGEST_SETS["given"]:
            raise ValueError(f"clients = {run.clients}: allowed in one round is at most {LARGEST_SETS['given']}")
        if bool(run.objective) != open_objective:
            raise ValueError(f"objective: allowed is {'one weight a client' if open_objective else 'none'}")
        if open_objective and (len(run.objective) != run.clients or min(run.objective) < 0 or sum(run.objective) != 1):
            raise ValueError(f"objective = {texts(run.objective)}: allowed are {run.clients} numbers >= 0 with sum 1")
        if run.history and run.weights:
            raise ValueError("history: allowed is none, given weights tell nothing of who takes part")
        if len(run.history) > 12 or any(len(row) != run.clients or {*row} - {0, 1} for row in run.history):
            raise ValueError(f"history: allowed are at most 12 rows of {run.clients} entries 0 or 1")
        numbers = [v for row in (*run.curvatures, *run.slopes, run.start) for v in row]
        numbers += [step for step in (run.local_lr, run.global_lr) if step is not None]
        check_one_round(numbers, run.clients * run.dimension * run.local_steps)

    @property
    def met(self) -> Mapping[str, str]:
        """The assumptions that its noise and its participants meet, with reasons."""
        return {**MET_BY_NOISE[TWO_POINT], **INDEPENDENT_CLIENTS}

    def examined(self, statement: Claim, follow: bool = True) -> Examined:
        """Return the run as the claim speaks of it."""
        return _ExaminedFedau(self.run, statement)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; ``parse`` reads it back."""
        run = self.run
        steps = {name: getattr(run, name) for name in STEPS}
        cutoff = CHOSEN if run.cutoff is None else NO_CUTOFF if run.cutoff == math.inf else run.cutoff
        weights = {"weights": [texts(row) for row in run.weights]} if run.weights else {"cutoff": cutoff}
        return {
            "federation": {
                "kind": "quadratic",
                "curvatures": [texts(row) for row in run.curvatures],
                "slopes": [texts(row) for row in run.slopes],
                "gradient_noise": str(run.gradient_noise),
            },
            "algorithm": {
                "kind": "fedau",
                "local_steps": run.local_steps,
                **{name: CHOSEN if step is None else str(step) for name, step in steps.items()},
                **weights,
            },
            "participation": {"kind": "bernoulli", "probabilities": texts(run.probabilities)},
            "start": texts(run.start),
            "rounds": run.rounds,
            **({"objective": texts(run.objective)} if run.objective else {}),
            **({"history": [list(row) for row in run.history]} if run.history else {}),
        }


def parse(data: Mapping[str, Any], statement: Claim) -> FedauPoint:
    """Read a run from plain data, not yet checked.

    Raises:
        ValueError: an entry is missing or of the wrong kind; it is named.
    """
    federation, algorithm, participation = (
        entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    for part, kind in ((federation, "quadratic"), (algorithm, "fedau"), (participation, "bernoulli")):
        check_kind(part, kind)
    run = FedauRun(
        curvatures=matrix(federation, "curvatures"),
        slopes=matrix(federation, "slopes"),
        start=vector(data, "start"),
        gradient_noise=rational_entry(federation, "gradient_noise"),
        probabilities=vector(participation, "probabilities"),
        local_steps=entry(algorithm, "local_steps", int),
        rounds=entry(data, "rounds", int),
        objective=vector(data, "objective") if "objective" in data else (),
        history=_history(data),
        local_lr=_parsed_step(algorithm, "local_lr", statement),
        global_lr=_parsed_step(algorithm, "global_lr", statement),
        **_parsed_weights(algorithm),
    )
    return FedauPoint(run)


def _parsed_step(algorithm: Mapping[str, Any], name: str, statement: Claim) -> Fraction | None:
    """A rational, also where other algorithms may have a rule; ``None`` where the file leaves it to the claim."""
    text = entry(algorithm, name, str)
    return None if text == CHOSEN and name in statement.choices else rational(name, text)


def _parsed_weights(algorithm: Mapping[str, Any]) -> dict[str, Any]:
    if ("weights" in algorithm) == ("cutoff" in algorithm):
        raise ValueError("weights and cutoff: give exactly one of them")
    if "weights" in algorithm:
        rows: tuple[Rationals, ...] = matrix(algorithm, "weights")
        if not rows:
            raise ValueError("weights: allowed is one row or more")
        return {"weights": rows}
    named = {CHOSEN: None, NO_CUTOFF: math.inf}
    cutoff = algorithm["cutoff"]
    known = isinstance(cutoff, str) and cutoff in named
    return {"cutoff": named[cutoff] if known else entry(algorithm, "cutoff", int)}


def _history(data: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    rows = entry(data, "history", list) if "history" in data else []
    if len(rows) > 1000 or not all(
        isinstance(row, list) and all(type(v) is int and v in (0, 1) for v in row) for row in rows
    ):
        raise ValueError(f"history = {shown(rows)}: allowed is a list of lists of 0 and 1")
    return tuple(map(tuple, rows))


class _ExaminedFedau(Examined):
    """A run, as a claim speaks of it: in Fractions, and in balls where a root is irrational or runs are long."""

    def __init__(self, run: FedauRun, statement: Claim) -> None:
        self.run, self.statement = run, statement
        own = Checked(Fraction(0), OWN_CONSTANT)
        self.checks = {a.name: own for a in statement.assumptions if a.quantity}

    def chosen(self) -> Mapping[str, Number]:
        return self._settled[1]

    @cached_property
    def _settled(self) -> tuple[FedauRun, dict[str, Number]]:
        """The run with the cutoff that the claim chooses; and all that it chooses, a ball where that is irrational.

        Raises:
            ValueError: a choice is no number > 0, or balls do not decide the cutoff.
        """
        run, statement = self.run, self.statement
        chosen: dict[str, Number] = {}
        if chooses_cutoff(statement):
            cutoff = required_cutoff(statement, run.question(statement))
            run = replace(run, cutoff=cutoff)
            chosen["cutoff"] = Fraction(cutoff)
        question = run.question(statement)
        for name in (name for name in statement.choices if name in STEPS):
            used = {s.name for s in statement.choices[name].free_symbols} - chosen.keys()
            needed: dict[str, Any] = {n: quantity(n, question).value for n in used}
            chosen[name] = chosen_step(statement, name, chosen | needed)
        return run, chosen

    @cached_property
    def _values(self) -> dict[str, Any]:
        """All quantities, an infinite one as a float; one of them may raise ``Undecided``."""
        run, chosen = self._settled
        question = run.question(self.statement, steps=self._steps)
        needed = [name for name in self.statement.quantities if name not in chosen]
        if bounds_gradient(self.statement):
            needed.append("global_gradient_bound")
        return {name: quantity(name, question).value for name in needed} | chosen

    @property
    def _steps(self) -> dict[str, Number]:
        return {name: value for name, value in self.chosen().items() if name in STEPS}

    def sides(self, reading: Reading) -> Sides:
        run, statement = self._settled[0], self.statement
        if reading.get(readings.WEIGHTS) == readings.ESTIMATED and run.weights:
            raise Undecided("the weights are given")
        if reading.get(readings.SCALE) == readings.OF_THE_RUN and run.weights_vary:
            raise Undecided("Q depends on who takes part, and the steps on Q")
        numbers = EXACT if is_about_a_round(statement) else BALL  # of many rounds Fractions are too long
        values = self._values
        question = run.question(statement, numbers, reading=reading, steps=self._steps)
        return Sides(left(statement.functional, question), values)


def rounded_run(run: FedauRun, statement: Claim, share: Fraction, short: Callable[..., Fraction]) -> FedauRun:
    """Round a run's numbers by ``short``, its steps down, the global one from this share of its size."""

    def row(values: tuple) -> tuple[Fraction, ...]:
        return tuple(short(v) for v in values)

    def step(name: str, part: Fraction) -> Fraction | None:
        chosen = name in statement.choices
        return None if chosen else short(getattr(run, name) * float(part), rounding=ROUND_FLOOR)

    one = Fraction(1)
    objective = row(run.objective[:-1])
    if run.objective:
        objective = (*objective, max(Fraction(0), one - sum(objective)))
    return replace(
        run,
        curvatures=tuple(map(row, run.curvatures)),
        slopes=tuple(map(row, run.slopes)),
        start=row(run.start),
        gradient_noise=short(run.gradient_noise),
        probabilities=tuple(min(one, p) for p in row(run.probabilities)),
        weights=tuple(map(row, run.weights)),
        cutoff=None if chooses_cutoff(statement) else run.cutoff,
        rounds=int(short(run.rounds)),
        objective=objective,
        local_lr=step("local_lr", one),
        global_lr=step("global_lr", share),
    )
