"""Small learning problems on which every theorem on samples is evaluated: all tables of samples are enumerated, and
every letter has the value that its meaning says, by code of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

from fedtheory.learning.finite_domains import FiniteClass
from fedtheory.proof.kernel import sampling_laws as laws
from fedtheory.proof.kernel.sampling_laws import Problem, SampleTheorem
from fedtheory.proof.kernel.scalars import Scalar

Joint = tuple[tuple[Fraction, ...], ...]
Choice = Mapping[str, int]
TOLERANCE = 1e-8
"""Values are floats, of numbers at most about 10^6."""

Terms = list[tuple[float, list[tuple[str, int]]]]


@lru_cache(maxsize=5000)
def _terms(scalar: Scalar) -> tuple[Terms, Terms]:
    """The terms of a numerator and a denominator, each a coefficient and the letters that occur with their powers."""

    def of(polynomial: Any) -> Terms:
        return [
            (int(c.p) / int(c.q), [(n, int(p)) for n, p in zip(scalar.ring.names, powers, strict=True) if p])
            for powers, c in polynomial.to_dict().items()
        ]

    return of(scalar.numerator), of(scalar.denominator)


def value_of(scalar: Scalar, at: Mapping[str, float]) -> float:
    """The value of a scalar at floats."""
    top, bottom = (
        sum(c * math.prod(at[name] ** power for name, power in letters) for c, letters in terms)
        for terms in _terms(scalar)
    )
    return top / bottom


@dataclass(frozen=True)
class Finite:
    """A class on points 0, 1, ..., the laws P, the server's and the clients', and their numbers of samples."""

    labels: tuple[tuple[int, ...], ...]
    target: Joint
    server: Joint
    clients: Joint
    server_samples: int
    client_samples: int

    @property
    def samples(self) -> int:
        return self.server_samples + self.client_samples

    def law(self, name: str) -> Joint:
        if name != laws.POOL:
            return {laws.TARGET: self.target, laws.SERVER: self.server, laws.CLIENTS: self.clients}[name]
        share = Fraction(self.client_samples, self.samples)
        pairs = zip(self.clients, self.server, strict=True)
        return tuple(tuple(share * d + (1 - share) * p for d, p in zip(x, y, strict=True)) for x, y in pairs)

    def risk(self, law: str, h: int) -> Fraction:
        return sum((row[1 - self.labels[h][x]] for x, row in enumerate(self.law(law))), Fraction(0))

    def excess(self, law: str, h: int) -> Fraction:
        return self.risk(law, h) - min(self.risk(law, g) for g in range(len(self.labels)))

    def disagreement(self, law: str, h: int, g: int) -> Fraction:
        rows = enumerate(self.law(law))
        return sum((sum(row) for x, row in rows if self.labels[h][x] != self.labels[g][x]), Fraction(0))

    def only(self, law: str, h: int, g: int) -> Fraction:
        """P(h errs and g does not)."""
        cells = ((x, y, p) for x, row in enumerate(self.law(law)) for y, p in enumerate(row))
        return sum((p for x, y, p in cells if self.labels[h][x] != y == self.labels[g][x]), Fraction(0))

    @property
    def dimension(self) -> int:
        return FiniteClass(self.labels).dimension

    def best(self, law: str) -> int:
        return min(range(len(self.labels)), key=lambda h: self.risk(law, h))

    @cached_property
    def tables(self) -> list[tuple[Fraction, tuple, tuple]]:
        """Every outcome, whatever the order: its probability, the server's samples, the clients'."""

        def of(law: Joint, count: int) -> list[tuple[Fraction, tuple]]:
            points = [(p, (x, y)) for x, row in enumerate(law) for y, p in enumerate(row) if p]
            found: dict[tuple, Fraction] = {}
            for drawn in product(points, repeat=count):
                which = tuple(sorted(z for _, z in drawn))
                found[which] = found.get(which, Fraction(0)) + math.prod((p for p, _ in drawn), start=Fraction(1))
            return [(p, which) for which, p in found.items()]

        servers, clients = of(self.server, self.server_samples), of(self.clients, self.client_samples)
        return [(p * q, s, c) for p, s in servers for q, c in clients]


@dataclass
class Outcome:
    """A problem with samples drawn."""

    of: Finite
    server: tuple
    clients: tuple

    def frequency(self, sample: str, h: int) -> Fraction:
        drawn = self.server if sample == laws.SERVER else self.server + self.clients
        return Fraction(sum(self.of.labels[h][x] != y for x, y in drawn), len(drawn))

    def differ(self, sample: str, h: int, g: int) -> Fraction:
        drawn = self.server if sample == laws.SERVER else self.server + self.clients
        return Fraction(sum(self.of.labels[h][x] != self.of.labels[g][x] for x, _ in drawn), len(drawn))

    def only(self, sample: str, h: int, g: int) -> Fraction:
        drawn = self.server if sample == laws.SERVER else self.server + self.clients
        return Fraction(sum(self.of.labels[h][x] != y == self.of.labels[g][x] for x, y in drawn), len(drawn))

    @cached_property
    def minimisers(self) -> list[int]:
        every = [self.frequency(laws.POOL, h) for h in range(len(self.of.labels))]
        return [h for h, f in enumerate(every) if f == min(every)]

    @cached_property
    def checked(self) -> list[int]:
        most = self.frequency(laws.SERVER, self.of.best(laws.POOL))
        return [h for h in self.minimisers if self.frequency(laws.SERVER, h) <= most]

    def choices(self, problem: Problem) -> Iterator[Choice]:
        """Which hypotheses the words of a problem's letters may stand for, one after another."""
        fixed = {laws.BEST_OF_Q: self.of.best(laws.POOL), laws.BEST_OF_P: self.of.best(laws.TARGET)}
        every = range(len(self.of.labels))
        open_ones = {laws.ANY: every, laws.OTHER: every, laws.MINIMISER: self.minimisers, laws.CHECKED: self.checked}
        named = {part for meaning in problem.numbers.values() for part in meaning if isinstance(part, str)}
        moving = [name for name in open_ones if name in named]
        for chosen in product(*(open_ones[name] for name in moving)):
            yield {**fixed, **dict(zip(moving, chosen, strict=True))}


def values(problem: Problem, free: Mapping[str, Fraction], number: object) -> dict[str, float]:
    """Values of all letters: free ones as given, others by their meaning, ``number`` of a problem's own."""
    found = dict.fromkeys(problem.where.ring.names, 0.0) | {name: float(value) for name, value in free.items()}
    for letter, meaning in problem.numbers.items():
        kind, *parts = meaning
        if all(isinstance(part, Scalar) for part in parts) and parts:
            found[letter] = _of_scalars(str(kind), [value_of(part, found) for part in parts])  # type: ignore[arg-type]
        else:
            found[letter] = float(number(kind, *parts))  # type: ignore[operator]
    return found


def _of_scalars(kind: str, at: list[float]) -> float:
    match kind:
        case "power":
            return max(at[0], 0.0) ** at[1]
        case "level":
            return -math.log(at[0]) / at[1]
        case "growth":
            x, n, d = at
            return (d * (1 + math.log(max(2 * n, d) / d)) + math.log(4 / x)) / n
        case "growth of pairs":
            x, n, d = at
            return (2 * d * (1 + math.log(max(2 * n, d) / d)) + math.log(8 / x)) / n
        case "complexity":
            x, n, d = at
            return (d * max(math.log(max(n, d) / d), 1) - math.log(x)) / n
        case "maximum":
            return max(at)
        case "minimum":
            return min(at)
        case "distance":
            return abs(at[0])
    trials, p, t = round(at[0]), at[1], round(at[2])
    return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(t, trials + 1))


def number_of(outcome: Outcome, choice: Choice, free: Mapping[str, Fraction]) -> object:
    """Return the function of a meaning that is the number of a problem."""

    def number(kind: str, *parts: str) -> Fraction | float:
        of, hypotheses = outcome.of, [choice[name] for name in parts[1:]]
        match kind:
            case "risk":
                return of.risk(parts[0], *hypotheses)
            case "frequency":
                return outcome.frequency(parts[0], *hypotheses)
            case "excess":
                return of.excess(parts[0], *hypotheses)
            case "disagreement":
                return of.disagreement(parts[0], *hypotheses)
            case "disagreement frequency":
                return outcome.differ(parts[0], *hypotheses)
            case "only":
                return of.only(parts[0], *hypotheses)
            case "only frequency":
                return outcome.only(parts[0], *hypotheses)
        assert kind == "related gap"
        return float(free["alpha"]) * float(of.excess(laws.POOL, choice[laws.ANY])) ** float(free["beta"])

    return number


def happens(outcome: Outcome, event: laws.Event, level: float) -> bool:
    """Whether an event happens, by its definition for all hypotheses at once."""
    name, sample, first, second, _ = event
    fixed = {laws.BEST_OF_Q: outcome.of.best(laws.POOL), laws.BEST_OF_P: outcome.of.best(laws.TARGET)}
    every = range(len(outcome.of.labels))
    firsts, seconds = ([fixed[h]] if h in fixed else every for h in (first, second))
    for h, g in product(firsts, seconds):
        if name == "relative":
            p, f = outcome.of.only(sample, h, g), outcome.only(sample, h, g)
            q, e = outcome.of.only(sample, g, h), outcome.only(sample, g, h)
            if p - f > math.sqrt(16 * level * p) + 1e-12 or e - q > math.sqrt(16 * level * e) + 1e-12:
                return False
            continue
        if name == "relative pair":
            of = outcome.of
            sets = [(of.only(sample, h, g), outcome.only(sample, h, g))]
            sets += [(of.disagreement(sample, h, g), outcome.differ(sample, h, g))]
            for p, f in sets:
                if p - f > math.sqrt(16 * level * p) + 1e-12 or f - p > math.sqrt(16 * level * f) + 1e-12:
                    return False
            continue
        p = outcome.of.disagreement(sample, h, g)
        most = math.sqrt(2 * float(p) * level) + level / 3 + 1e-12
        if name == "risks":
            off = outcome.of.risk(sample, h) - outcome.of.risk(sample, g)
            off -= outcome.frequency(sample, h) - outcome.frequency(sample, g)
        else:
            off = (outcome.differ(sample, h, g) - p) * (1 if name == "often" else -1)
        if off > most:
            return False
    return True


def inside(problem: Problem, of: Finite, free: Mapping[str, Fraction]) -> bool:
    """Whether the values are in a problem's region; of its conditions none is on what is drawn."""
    outcome = next(
        Outcome(of, server, clients) for _, server, clients in of.tables if Outcome(of, server, clients).checked
    )
    at = values(problem, free, number_of(outcome, next(outcome.choices(problem)), free))
    pairs = [pair for c in problem.where.conditions for pair in c.polynomials(problem.where.ring)]
    return all(value_of(e, at) > 0 if strict else value_of(e, at) >= -TOLERANCE for e, strict in pairs)


def wrong_in(theorems: list[SampleTheorem], of: Finite, free: Mapping[str, Fraction]) -> Iterator[str]:
    """Name the theorems that fail, and the events that fail too often."""
    problem, last = theorems[0].of, theorems[-1]
    failed: dict[laws.Event, Fraction] = {event: Fraction(0) for t in theorems for event in t.events}
    exceeded = Fraction(0)
    at: dict[str, float] = {}
    for chance, server, clients in of.tables:
        outcome = Outcome(of, server, clients)
        beyond, missed = False, []
        for choice in outcome.choices(problem):
            at = values(problem, free, number_of(outcome, choice, free))
            missed = missed or [e for e in failed if not happens(outcome, e, at[e[-1]])]
            for theorem in theorems:
                value = value_of(theorem.form, at)
                wrong = value < -TOLERANCE or (theorem.equality and value > TOLERANCE)
                if wrong and not theorem.functional and not theorem.events & {*missed}:
                    yield f"{theorem.rule}: {theorem.form} = {value} at {choice}"
            if last.functional and last.functional != laws.DEVIATION:
                letter = str(last.arguments.get("letter", ""))
                left = value_of(laws.left_side(problem, last.functional, letter), at)
                beyond |= left > value_of(last.form, at) + TOLERANCE
        for event in failed:
            if at and not happens(outcome, event, at[event[-1]]):
                failed[event] += chance
        exceeded += chance if beyond else 0
    for event, chance in failed.items():
        if chance > value_of(laws.failure(problem, event), at) + 1e-12:
            yield f"{event} fails with probability {chance}"
    allowed = 0 if last.confidence is None else last.confidence.at(free)
    if exceeded > allowed:
        yield f"{last.functional} exceeds its bound with probability {exceeded}"
