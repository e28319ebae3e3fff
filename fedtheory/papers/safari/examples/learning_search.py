"""The space in which claims about learning problems are searched: problems with short rational numbers, drawn
exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from ....assumptions import SERVER_OF_TARGET
from ....claims.balls import working_precision
from ....claims.readings import ANYWHERE, IN_THE_SUPPORT
from ....claims.statement import Claim, slack_of
from ....functionals import NEGATED_FAILURE, NEGATED_FAILURE_OF_FUNCTIONS, RARE_TAIL
from ....learning.finite_domains import FiniteClass
from ....learning.relatedness import smallest_alpha, smallest_noise_constant
from ....quantities import symbol
from ....subjects.protocol import Space
from ....subjects.lead import Found
from ....subjects.values import found_at
from .learning_points import LearningPoint, stated
from .learning_problems import Hiding, Pooled, Problem, Thresholds, first_equal

LARGEST_POINTS, LARGEST_SAMPLES, LARGEST_CLIENTS = 3, 5, 30
"""Largest sizes of what is drawn: points of a domain, samples of a source, clients and samples of a client."""

ROOM = Fraction(1, 10**9)
"""Relative amount by which a constant that is a power is rounded up."""

LEAST_NOISE = Fraction(1, 1000)
"""Noise constant that is drawn where every constant is enough."""


class LearningProblems(Space):
    """Space of learning problems, with the smallest constants that their assumptions and hypotheses allow."""

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        # Constants that an O(.) hides may be those of the problem: searched under that reading.
        readings = [reading for reading in statement.readings() if statement.beyond_instances(reading)]
        reading = readings[0] if readings else {}
        self.read = replace(statement, hypotheses=tuple(h.under(reading) for h in statement.hypotheses))
        self.names = stated(statement)
        self.hiding = statement.functional in (NEGATED_FAILURE, NEGATED_FAILURE_OF_FUNCTIONS, RARE_TAIL)
        self.on_line = {"target_width", "source_width"} & {*statement.quantities}

    left_out = "infinite classes and larger domains"

    @property
    def searched(self) -> str:
        """Description of the problems that are searched, in words."""
        if self.hiding:
            return f"two points, 2 to {LARGEST_CLIENTS} clients with 1 to {LARGEST_CLIENTS} samples"
        if self.on_line:
            return "thresholds under uniform distributions, one within the other"
        return (
            f"classes on 1 to {LARGEST_POINTS} points, 1 to {LARGEST_SAMPLES} samples of the server and of the "
            "clients each"
        )

    def draw(self, rng: np.random.Generator) -> LearningPoint:
        """Draw a random problem."""
        problem: Problem = self._hiding(rng) if self.hiding else self._line(rng) if self.on_line else self._pooled(rng)
        problem = first_equal(problem)
        return LearningPoint(problem, self._constants(problem, rng))

    def perturb(self, candidate: LearningPoint, rng: np.random.Generator, size: float) -> LearningPoint:
        """Return a neighbour: one number moved."""
        problem = candidate.problem
        if isinstance(problem, Thresholds):
            moved: Problem = replace(problem, threshold=problem.threshold + Fraction(int(rng.integers(-2, 3)), 10))
        elif isinstance(problem, Pooled):
            n = max(1, problem.server_samples + int(rng.integers(-1, 2)))
            moved = replace(problem, server_samples=min(n, LARGEST_SAMPLES), _kept={})
        else:
            return self.draw(rng)
        moved = first_equal(moved)
        return LearningPoint(moved, self._constants(moved, rng))

    def _hiding(self, rng: np.random.Generator) -> Hiding:
        M, n = int(rng.integers(2, LARGEST_CLIENTS + 1)), int(rng.integers(1, LARGEST_CLIENTS + 1))
        m = int(rng.integers(1, M))
        mass = self.statement.bound.get("rare_mass")
        values = {"clients": M, "arbitrary_cohort": m, "samples_per_client": n}
        p = Fraction(int(rng.integers(0, 11)), 10)
        if mass is not None:
            number = mass.subs({s: values[s.name] for s in mass.free_symbols})
            p = Fraction(int(number.p), int(number.q))
        return Hiding(M, m, n, p)

    def _pooled(self, rng: np.random.Generator) -> Pooled:
        """Draw a problem; in half of the cases the server's samples are of another law than P, unless the claim
        excludes that."""
        problem = _pooled(rng)
        if SERVER_OF_TARGET in self.statement.assumed or rng.random() < 0.5:
            return problem
        least = min(range(len(problem.labels)), key=lambda h: problem.p.risks(problem.hypotheses)[h])
        moved = _law(rng, len(problem.target), problem.labels[least], one_target=rng.random() < 0.5)
        return replace(problem, server=moved, _kept={})

    def _line(self, rng: np.random.Generator) -> Thresholds:
        a, c, d, b = sorted(rng.choice(21, 4, replace=False).tolist())
        a, b = (c, d) if rng.random() < 0.1 else (a, b)
        best = c if rng.random() < 0.1 else int(rng.integers(c, d + 1))
        t = int(rng.integers(c, d + 1)) if rng.random() < 0.5 else int(rng.integers(-1, 22))
        ten = [Fraction(v, 10) for v in (a, b, c, d, best, t)]
        return Thresholds((ten[0], ten[1]), (ten[2], ten[3]), ten[4], ten[5])

    def _constants(self, problem: Problem, rng: np.random.Generator) -> dict[str, Fraction]:
        """A confidence, exponents at random, and the smallest constants that the assumptions allow."""
        known: dict[str, Fraction] = {
            "confidence": Fraction(1, int(rng.choice([2, 3, 10, 50]))),
            "relatedness_exponent": Fraction(int(rng.choice([0, 1, 2, 4])), 2),
            "noise_exponent": Fraction(int(rng.choice([0, 1, 2])), 2),
            "hidden_constant": Fraction(10),
            "relatedness": Fraction(0),
            "noise_constant": Fraction(0),
            "error_level": problem.rare_mass if isinstance(problem, Hiding) else Fraction(0),
            "sample_complexity": Fraction(0),
        }
        for name in ("relatedness_exponent", "noise_exponent"):
            at_least_one = [h for h in self.read.hypotheses if h.name == f"{name}_is_1"]
            known[name] = Fraction(1) if at_least_one else known[name]
        if isinstance(problem, Pooled):
            known |= _smallest(problem, known, {a.kind for a in self.statement.assumptions})
        if "sample_complexity" in self.names:
            known["sample_complexity"] = self._sample_complexity({**problem.quantities(known), **known})
        return {name: known[name] for name in self.names}

    def assess(self, candidate: LearningPoint) -> tuple[Found, None] | None:
        """Evaluate both sides; ``None`` where an assumption or a hypothesis fails."""
        constants = dict(candidate.constants)
        if any(value < 0 for value in constants.values()):
            return None  # no constant is large enough
        if "error_level" in constants and "error_level" in self.statement.bound:
            constants["error_level"] = _bound_level(self.statement, candidate.problem)
        values = {**candidate.problem.quantities(constants), **constants}
        if "hidden_constant" in constants and (least := self._least_constant(values)) is not None:
            constants["hidden_constant"] = values["hidden_constant"] = least
        point = LearningPoint(candidate.problem, constants)
        with working_precision():
            examined = point.examined(self.statement)
            if any(check.slack is None for check in examined.checks.values()):
                return None
            left = float(examined.sides({}).left)
        known = {name: float(values[name]) for name in self.statement.quantities}
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 to a power
            return found_at(self.read, candidate, point, known, left)

    def _least_constant(self, values: dict[str, Any]) -> Fraction | None:
        """The smallest hidden constant that a hypothesis of the form c >= expression allows under every reading."""
        for hypothesis in self.read.hypotheses:
            if hypothesis.name == "constant":
                relations = (hypothesis.relation, *hypothesis.alternatives.values())
                needed = [symbol("hidden_constant") - slack_of(relation) for relation in relations]
                numbers = [_value(each, values) for each in needed]
                return Fraction(max(numbers)) * (1 + ROOM)
        return None

    def readings(self, found: Found) -> tuple[str, ...]:
        """Return the readings under which the find is one.

        On the line, they differ in whether a threshold in Q's support is asked for; elsewhere they are all alike.
        """
        if not self.on_line:
            return ("",)
        problem = found.candidate.problem
        inside = problem.source[0] <= problem.threshold <= problem.source[1]
        return (ANYWHERE, IN_THE_SUPPORT) if inside else (ANYWHERE,)

    def _sample_complexity(self, values: dict[str, Any]) -> Fraction:
        """The least number that is at least A under every reading, rounded up."""
        hypothesis = self.statement.hypothesis("complexity")
        slacks = [slack_of(relation) for relation in (hypothesis.relation, *hypothesis.alternatives.values())]
        needed = [symbol("sample_complexity") - slack for slack in slacks]
        numbers = [_value(each, values) for each in needed]
        return _up(Fraction(max(numbers)), 6)

    def rounded(self, found: Found, digits: int) -> Iterator[LearningPoint]:
        """Yield the problem itself, whose numbers are short; constants that were powers have fewer digits."""
        point = found.point
        short = {name: _up(value, digits) for name, value in point.constants.items()}
        yield LearningPoint(point.problem, point.constants | {n: v for n, v in short.items() if v.denominator > 10**4})


def _value(expression: sympy.Expr, values: Mapping[str, Any]) -> float:
    names = sorted(s.name for s in expression.free_symbols)
    return _value_at(expression, tuple((name, float(values[name])) for name in names))


@lru_cache(maxsize=4096)
def _value_at(expression: sympy.Expr, at: tuple[tuple[str, float], ...]) -> float:
    """The value of an expression: candidates have few different confidences and numbers of samples."""
    return float(expression.subs({symbol(name): value for name, value in at}))


def _up(value: Fraction, digits: int) -> Fraction:
    scale = 10**digits
    return Fraction(math.ceil(value * scale), scale)


def _bound_level(statement: Claim, problem: Problem) -> Fraction:
    values = problem.quantities({})
    number = statement.bound["error_level"]
    number = number.subs({s: int(values[s.name]) for s in number.free_symbols})
    return Fraction(int(number.p), int(number.q))


def _pooled(rng: np.random.Generator) -> Pooled:
    points = int(rng.integers(1, LARGEST_POINTS + 1))
    table = FiniteClass.all(points).labels
    size = int(rng.integers(2, min(4, len(table)) + 1))
    labels = table[rng.permutation(len(table))[:size]]
    one_target = rng.random() < 0.4
    laws = [_law(rng, points, labels[0].tolist(), one_target) for _ in range(2)]
    n, m = (int(rng.integers(1, LARGEST_SAMPLES + 1)) for _ in range(2))
    n, m = (min(n, 3), min(m, 3)) if points == 3 else (n, m)
    return Pooled(tuple(map(tuple, labels.tolist())), laws[0], laws[1], n, m, int(rng.integers(0, size)))


def _law(
    rng: np.random.Generator, points: int, labels: Sequence[int], one_target: bool
) -> tuple[tuple[Fraction, ...], ...]:
    """P(x, y), with short numbers; with one target the labels are these."""
    weights = rng.integers(0, 5, (points, 2)) * (rng.random((points, 2)) < 0.6)
    if one_target:
        weights = weights.sum(1, keepdims=True) * (np.array(labels)[:, None] == np.arange(2))
    weights[0, labels[0]] += weights.sum() == 0
    total = int(weights.sum())
    return tuple(tuple(Fraction(int(w), total) for w in row) for row in weights)


def _smallest(problem: Pooled, known: dict[str, Fraction], kinds: set[str]) -> dict[str, Fraction]:
    """The smallest constants of the assumptions; -1 where none is enough."""
    found: dict[str, Fraction] = {}
    of_p, of_q = problem.excesses
    if "one_target" in kinds:
        share = Fraction(problem.client_samples, problem.server_samples)
        found["relatedness"] = max(Fraction(1), share)
    if "positively_related" in kinds:
        found["relatedness"] = _constant(smallest_alpha(of_p, of_q, known["relatedness_exponent"]).value)
    for kind, law, excess in (("source_noise", problem.q, of_q), ("target_noise", problem.p, of_p)):
        if kind in kinds:
            differ = law.disagreements(problem.hypotheses, law.best(problem.hypotheses))
            least = _constant(smallest_noise_constant(excess, differ, known["noise_exponent"]).value)
            found["noise_constant"] = max(least, LEAST_NOISE) if least >= 0 else least
    return found


def _constant(value: Fraction | float) -> Fraction:
    if isinstance(value, Fraction):
        return value
    return Fraction(-1) if math.isinf(value) else Fraction(value) * (1 + ROOM)
