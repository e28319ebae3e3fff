"""Small models in which every theorem of the kernel is evaluated, exactly: a few clients on the line with piecewise
linear gradients, noise of a few points, cohorts drawn or chosen. All that can happen in a round is enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from operator import mul

from flint import fmpq

from fedtheory.proof.kernel.forms import Atom, Entry, Product, Term, Value, _open
from fedtheory.proof.kernel.scalars import Scalar
from fedtheory.proof.kernel.theorems import Theorem

Cohort = tuple[int, ...]
Exact = fmpq
"""A rational number: models are enumerated in flint's, which are many times as fast as Python's."""


def exact(value: Fraction | fmpq | int, below: int = 1) -> Exact:
    """A rational number of any kind, over a whole one."""
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator) / below
    return fmpq(value) / below if below != 1 else fmpq(value)


ZERO = exact(0)


def valued(scalar: Scalar, at: Mapping[str, Exact]) -> Exact:
    """A scalar's value where its letters have these.

    Raises:
        KeyError: a letter has no value.
    """
    values = [at.get(name, ZERO) for name in scalar.ring.names]
    for name in scalar.names - at.keys():
        raise KeyError(name)
    return scalar.numerator(*values) / scalar.denominator(*values)


class OfExact:
    """A record whose fractions are made flint's."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, Fraction):
                object.__setattr__(self, name, exact(value))


@dataclass(frozen=True)
class Client(OfExact):
    """F_i with slope ``left`` below ``kink`` and ``right`` above, and gradient ``level`` at it."""

    left: Exact | Fraction
    right: Exact | Fraction
    kink: Exact | Fraction
    level: Exact | Fraction

    def gradient(self, x: Exact) -> Exact:
        return self.level + (self.left if x < self.kink else self.right) * (x - self.kink)

    def value(self, x: Exact) -> Exact:
        d = x - self.kink
        return self.level * d + (self.left if d < 0 else self.right) * d * d / 2


@dataclass(frozen=True, eq=False)
class World:
    """One thing that can happen in a round: the cohort, and every client's noise at every step. It is made once."""

    cohort: Cohort
    noise: tuple[tuple[Exact, ...], ...]


class Worlds(tuple[tuple[Exact, World], ...]):
    """What may happen, with probabilities; as they are made once, two are the same only if they are one object."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Model(OfExact):
    """Clients, the round's start, the algorithm, and the laws. ``noises`` gives the equally likely noises of a round,
    [client][step] each, given its cohort; ``arbitrary`` the law of an arbitrary cohort."""

    clients: tuple[Client, ...]
    start: Exact | Fraction
    step: Exact | Fraction
    steps: int
    cohort: int
    arbitrary_cohort: int
    probability: Exact | Fraction
    noise: Exact | Fraction
    law: str = "independent"
    choice: str = "fixed"

    # laws

    def noises(self, cohort: Cohort) -> Iterator[tuple[tuple[Exact, ...], ...]]:
        clients, steps = len(self.clients), self.steps
        if self.law == "common":
            for signs in itertools.product((1, -1), repeat=steps):
                yield tuple(tuple(s * self.noise for s in signs) for _ in range(clients))
            return
        shift = self.noise / 2 if self.law == "biased" else exact(0)
        scale = self.noise / 2 if self.law == "biased" else self.noise
        for signs in itertools.product((1, -1), repeat=clients * steps):
            yield tuple(tuple(shift + signs[i * steps + k] * scale for k in range(steps)) for i in range(clients))

    def cohorts(self, kind: str) -> list[tuple[Exact, Cohort]]:
        """(probability, cohort), given the round's kind, where cohorts are chosen before the noise."""
        size = self.cohort if kind == "uniform" else self.arbitrary_cohort
        sets = list(itertools.combinations(range(len(self.clients)), size))
        if kind == "arbitrary" and self.choice != "random":
            return [(exact(1), sets[-1])]
        if kind == "uniform" and self.choice == "always the first":
            return [(exact(1), sets[0])]
        if kind == "arbitrary":
            weights = [exact(1 + j) for j in range(len(sets))]
            return [(w / sum(weights), s) for w, s in zip(weights, sets, strict=True)]
        return [(exact(1, len(sets)), s) for s in sets]

    @cache  # noqa: B019 (a model lives as long as its test)
    def worlds(self, kind: str) -> list[tuple[Exact, World]]:
        """All that can happen in a round of this kind, with probabilities."""
        if self.choice == "after noise" and kind == "arbitrary":
            draws = list(self.noises(()))
            every = list(itertools.combinations(range(len(self.clients)), self.arbitrary_cohort))
            best = [max(every, key=lambda s: sum(n[i][0] for i in s)) for n in draws]
            return [(exact(1, len(draws)), World(s, n)) for s, n in zip(best, draws, strict=True)]
        made = []
        for share, cohort in self.cohorts(kind):
            draws = list(self.noises(cohort))
            made += [(share / len(draws), World(cohort, n)) for n in draws]
        return made

    # values

    @cached_property
    def optimum(self) -> Exact:
        """Where the mean gradient, increasing and piecewise linear, is 0."""

        def mean(x: Exact) -> Exact:
            return sum((c.gradient(x) for c in self.clients), exact(0)) / len(self.clients)

        kinks = sorted({c.kink for c in self.clients})
        for low, high in itertools.pairwise([kinks[0] - 1000, *kinks, kinks[-1] + 1000]):
            if mean(low) <= 0 <= mean(high):
                return low if mean(low) == 0 else low - mean(low) * (high - low) / (mean(high) - mean(low))
        raise AssertionError("the optimum is out of range")

    @cache  # noqa: B019 (a model lives as long as its test)
    def path(self, world: World, i: int, k: int) -> Exact:
        x = self.start
        for step in range(k):
            x -= self.step * (self.clients[i].gradient(x) + self.noise_at(world, i, step))
        return x

    def noise_at(self, world: World, i: int, step: int) -> Exact:
        """Beyond the round's last step there is none."""
        return world.noise[i][step] if step < self.steps else exact(0)

    def atom(self, atom: Atom, world: World, i: int | None, k: int) -> Exact:
        at = (atom.step[0] * k + atom.step[1] * self.steps + atom.step[2]) if atom.step else 0
        if atom.name.startswith("E "):
            _, kind, family = atom.name.split()
            return self.conditional_mean(kind, family)
        match atom.name, atom.client:
            case "x", False:
                return self.start
            case "x*", _:
                return self.optimum
            case "x+", _:
                return sum((self.path(world, j, self.steps) for j in world.cohort), exact(0)) / len(world.cohort)
            case "x", True:
                return self.path(world, _index(i), at)
            case "g", _:
                return self.clients[_index(i)].gradient(self.path(world, _index(i), at))
            case "N", _:
                return self.noise_at(world, _index(i), at)
        return self.gradient(atom.name, _index(i))

    @cache  # noqa: B019 (a model lives as long as its test)
    def conditional_mean(self, kind: str, family: str) -> Exact:
        worlds = self.worlds(kind)
        return sum((p * self.gradient(family, j) / len(w.cohort) for p, w in worlds for j in w.cohort), exact(0))

    @cache  # noqa: B019 (a model lives as long as its test)
    def gradient(self, family: str, i: int) -> Exact:
        return self.clients[i].gradient({"g_start": self.start, "g_opt": self.optimum}[family])

    def term(self, term: Term, world: World, i: int | None, k: int) -> Exact:
        return self._term(term, world, i if "i" in _open(term) else None, k if "k" in _open(term) else 0)

    @cache  # noqa: B019 (a model lives as long as its test)
    def _term(self, term: Term, world: World, i: int | None, k: int) -> Exact:
        total, members = exact(0), self.members(term.bound, world, i)
        for j in members:
            for step in range(self.steps) if "K" in term.bound else [k]:
                total += self.atom(term.atom, world, j, step)
        return total / len(members)

    def members(self, bound: str, world: World, i: int | None) -> list[int | None]:
        if "M" in bound:
            return list(range(len(self.clients)))
        return list(world.cohort) if "S" in bound else [i]

    def entry(self, entry: Entry, world: World, i: int | None, k: int) -> Exact:
        if isinstance(entry, str):
            return exact(1)
        total, members = exact(0), self.members(entry.bound, world, i)
        for j in members:
            for step in range(self.steps) if "K" in entry.bound else [k]:
                if isinstance(entry, Product):
                    total += self.term(entry.left, world, j, step) * self.term(entry.right, world, j, step)
                else:
                    assert isinstance(entry, Value)
                    total += self.clients[_index(j)].value(self.atom(entry.point, world, j, step))
        return total / len(members)

    # theorems

    def numbers(self, theorem: Theorem, free: Mapping[str, Fraction]) -> dict[str, Exact]:
        """The scalars: the model's own, and ``free`` ones of the proof."""
        slopes = [s for c in self.clients for s in (c.left, c.right)]
        mean = sum((c.gradient(self.start) for c in self.clients), exact(0)) / len(self.clients)
        far = max(*(abs(c.gradient(self.start) - mean) for c in self.clients), *self.far_at_optimum)
        own = {"eta": self.step, "K": exact(self.steps), "m": exact(self.cohort), "L": max(slopes),
               "n": exact(self.arbitrary_cohort), "q": self.probability, "mu": min(slopes), "sigma": self.noise,
               "sigma_G": far, "share": self.share}  # fmt: skip
        return {**free, **own}

    @cached_property
    def far_at_optimum(self) -> tuple[Exact, ...]:
        return 0 * self.start, *(abs(c.gradient(self.optimum)) for c in self.clients)

    @property
    def share(self) -> Exact:
        clients = len(self.clients)
        if clients == 1:
            return exact(0)
        return exact(clients - self.cohort, self.cohort * (clients - 1))

    @property
    def everyone(self) -> bool:
        """Whether all clients are said to take part in rounds of an arbitrary cohort."""
        return self.arbitrary_cohort == len(self.clients)

    def slacks(self, theorem: Theorem, free: Mapping[str, Fraction]) -> Iterator[Exact]:
        """The form's value, given each thing that may be given, for every client and step; nothing where the scalars
        are outside of the theorem's region."""
        numbers = {name: exact(x) for name, x in self.numbers(theorem, free).items()}
        for size in self._sizes(theorem, numbers):
            at = numbers | {"size": exact(size)}
            if not (_inside(theorem, at) and self._is_of(theorem, at)):
                continue
            yield from self._values(theorem, at, self.given(theorem.context, theorem.kind, size))

    def parameters(self, theorem: Theorem) -> dict[str, Exact]:
        """The algorithm's, by the names that a theorem has for them; a cohort's size only where its kind is known."""
        own = {"local_lr": self.step, "cohort": exact(self.cohort), "probability": self.probability,
               "arbitrary_cohort": exact(self.arbitrary_cohort)}  # fmt: skip
        sizes = {"uniform": exact(self.cohort), "arbitrary": exact(self.arbitrary_cohort)}
        return own | ({"size": sizes[theorem.kind]} if theorem.context == "kind" and theorem.kind in sizes else {})

    def _is_of(self, theorem: Theorem, at: Mapping[str, Exact]) -> bool:
        """Whether a theorem is of the model's algorithm, and of federations with the model's constants: where these are
        expressions it may be of others."""
        own = self.parameters(theorem)
        if any(valued(value, at) != own[name] for name, value in theorem.parameters if name in own):
            return False
        if ("full_participation", None) in theorem.assumptions and not self.everyone:
            return False
        return all(self._meets(name, valued(c, at), at) for name, c in theorem.assumptions if c is not None)

    @staticmethod
    def _meets(name: str, constant: Exact, at: Mapping[str, Exact]) -> bool:
        """Whether the model meets an assumption with this constant, if it does with its own."""
        letter, power = {"smooth": ("L", 1), "strongly_convex": ("mu", 1), "bounded_noise": ("sigma", 2),
                         "bounded_dissimilarity": ("sigma_G", 2), "bounded_dissimilarity_at_optimum": ("sigma_G", 2),
                         "bounded_server_noise": ("sigma_s", 2)}.get(name, ("", 0))  # fmt: skip
        if not letter:  # the probability of a kind, which is a parameter too
            return True
        return constant <= at[letter] if name == "strongly_convex" else constant >= at[letter] ** power

    def _sizes(self, theorem: Theorem, numbers: Mapping[str, Exact]) -> list[int]:
        size = dict(theorem.parameters).get("size")
        if size is None or theorem.context != "cohort":
            return [self.cohort]
        return list(range(1, len(self.clients) + 1)) if size.names == {"size"} else [int(valued(size, numbers))]

    @cache  # noqa: B019 (a model lives as long as its test)
    def given(self, context: str, kind: str, size: int) -> list[Worlds]:
        """What may happen, given each thing that may be given."""
        if context == "cohort":
            kinds = [kind] if kind else ["uniform", "arbitrary"]
            return [w for each in kinds for w in self._by_cohort(each, size)]
        if context == "kind":
            return [Worlds(self.worlds(kind))]
        q = self.probability
        either = (
            [(q * p, w) for p, w in self.worlds("uniform")],
            [(p * (1 - q), w) for p, w in self.worlds("arbitrary")],
        )
        return [Worlds(either[0] + either[1])]

    def _by_cohort(self, kind: str, size: int) -> Iterator[Worlds]:
        worlds = self.worlds(kind)
        for cohort in sorted({w.cohort for _, w in worlds}):
            chosen = [(p, w) for p, w in worlds if w.cohort == cohort and len(cohort) == size]
            if chosen:
                total = sum(p for p, _ in chosen)
                yield Worlds((p / total, w) for p, w in chosen)

    def _values(self, theorem: Theorem, at: Mapping[str, Exact], given: Sequence[Worlds]) -> Iterator[Exact]:
        free = theorem.form.open
        last = self.steps + (1 if theorem.path_to_the_end else 0)
        for k in range(last) if "k" in free else [0]:
            coefficients = [valued(c, {**at, "k": exact(k)}) for c in theorem.form.entries.values()]
            for worlds, i in itertools.product(given, range(len(self.clients)) if "i" in free else [None]):
                means = (
                    self.mean(entry, worlds, i if "i" in opened(entry) else None, k if "k" in opened(entry) else 0)
                    for entry in theorem.form.entries
                )
                yield sum(map(mul, coefficients, means), ZERO)

    @cache  # noqa: B019 (a model lives as long as its test)
    def mean(self, entry: Entry, worlds: Worlds, i: int | None, k: int) -> Exact:
        return sum((p * self.entry(entry, w, i, k) for p, w in worlds), exact(0))


opened = cache(_open)
"""Which of the client i and the step k an entry depends on: its mean is kept for these alone."""


def _index(i: int | None) -> int:
    assert i is not None, "an index is free where none may be"
    return i


def _inside(theorem: Theorem, at: Mapping[str, Exact]) -> bool:
    for condition in theorem.where.conditions:
        for expression, strict in condition.polynomials(theorem.where.ring):
            value = valued(expression, at)
            if value < 0 or (strict and value == 0):
                return False
    return True


def ancestry(theorem: Theorem) -> list[Theorem]:
    """A theorem and all that it was made from, each once, the first made first."""
    found: dict[int, Theorem] = {}

    def visit(one: Theorem) -> None:
        if id(one) not in found:
            for premise in one.premises:
                visit(premise)
            found[id(one)] = one

    visit(theorem)
    return list(found.values())
