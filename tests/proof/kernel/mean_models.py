"""Small models of rounds in which all clients make steps, also those that are not asked, enumerated: the start is one
of several, the clients have weights, and a round ends in the mean of all, or of clients drawn; see ``models``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import isqrt

from fedtheory.proof.kernel.forms import Atom, Entry, Form, Product, Term, Value
from fedtheory.proof.kernel.theorems import Theorem

from .models import Client, Exact, _inside, exact, valued


@dataclass(frozen=True, eq=False)
class Way:
    """One thing that can happen: where the round starts, every client's noise at every step, who is drawn."""

    chance: Exact
    start: Exact
    noise: tuple[tuple[Exact, ...], ...]
    drawn: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MeanModel:
    """Rounds of ``steps`` steps of sizes 2/(mu (s + t + k)), or of one ``size``. ``draw``: "everyone", "by weight"
    (with replacement), "uniformly" (without), or "after noise" (whose noise is the largest). ``claimed`` are constants
    that the model is said to have."""

    clients: tuple[Client, ...]
    weights: tuple[Exact, ...]
    starts: tuple[Exact, ...]
    steps: int
    noise: Exact
    size: Exact | None = None
    shift: int = 0
    first: int = 0
    draw: str = "everyone"
    law: str = "independent"
    claimed: tuple[tuple[str, Exact], ...] = ()

    # what happens

    def step(self, k: int) -> Exact:
        slopes = [slope for c in self.clients for slope in (c.left, c.right)]
        mu = dict(self.claimed).get("mu", min(slopes))
        return self.size if self.size is not None else 2 / (mu * (self.shift + self.first + k))

    @cached_property
    def ways(self) -> list[Way]:
        starts = exact(1, len(self.starts))
        return [
            Way(starts * chance * share, start, noise, drawn)
            for start in self.starts for chance, noise in self.noises for share, drawn in self.draws(noise)
        ]  # fmt: skip

    @cached_property
    def noises(self) -> list[tuple[Exact, tuple[tuple[Exact, ...], ...]]]:
        clients, steps = len(self.clients), self.steps
        if self.law == "common":
            made = [tuple(tuple(s * self.noise for s in signs) for _ in range(clients))
                    for signs in itertools.product((1, -1), repeat=steps)]  # fmt: skip
        else:
            shift = self.noise / 2 if self.law == "biased" else exact(0)
            made = [tuple(tuple(shift + signs[i * steps + k] * (self.noise - shift) for k in range(steps))
                          for i in range(clients))
                    for signs in itertools.product((1, -1), repeat=clients * steps)]  # fmt: skip
        return [(exact(1, len(made)), noise) for noise in made]

    def draws(self, noise: tuple[tuple[Exact, ...], ...]) -> list[tuple[Exact, tuple[int, ...]]]:
        every = range(len(self.clients))
        if self.draw == "everyone":
            return [(exact(1), ())]
        if self.draw == "by weight":
            return [(self.weights[i] * self.weights[j], (i, j)) for i in every for j in every]
        if self.draw == "uniformly":
            pairs = list(itertools.combinations(every, 2))
            return [(exact(1, len(pairs)), pair) for pair in pairs]
        return [(exact(1), (max(every, key=lambda i: sum(noise[i])),))]

    @cached_property
    def share(self) -> Exact:
        n = len(self.clients)
        return {"by weight": exact(1, 2), "uniformly": exact(n - 2, 2 * max(1, n - 1))}.get(self.draw, exact(1))

    @cache  # noqa: B019 (a model lives as long as its test)
    def path(self, way: Way, i: int, k: int) -> Exact:
        if k == 0:
            return way.start
        x = self.path(way, i, k - 1)
        return x - self.step(k - 1) * (self.clients[i].gradient(x) + self.noise_at(way, i, k - 1))

    def noise_at(self, way: Way, i: int, k: int) -> Exact:
        """Beyond the round's last step there is none."""
        return way.noise[i][k] if k < self.steps else exact(0)

    @cache  # noqa: B019 (a model lives as long as its test)
    def mean_path(self, way: Way, k: int) -> Exact:
        return sum((p * self.path(way, i, k) for i, p in enumerate(self.weights)), exact(0))

    @cached_property
    def optimum(self) -> Exact:
        return _zero(self.clients, self.weights)

    @cache  # noqa: B019 (a model lives as long as its test)
    def own(self, i: int) -> Exact:
        return _zero((self.clients[i],), (exact(1),))

    # values

    def atom(self, atom: Atom, way: Way, i: int, k: int) -> Exact:
        at = (atom.step[0] * k + atom.step[1] * self.steps + atom.step[2]) if atom.step else 0
        match atom.name, bool(atom.step):
            case "x", False:
                return way.start
            case "x*", _:
                return self.optimum
            case "x_own", _:
                return self.own(i)
            case "x+", _:
                last = [self.path(way, j, self.steps) for j in way.drawn]
                return sum(last, exact(0)) / len(last) if last else self.mean_path(way, self.steps)
            case "x", True:
                return self.path(way, i, at)
            case "x_mean", _:
                return self.mean_path(way, at)
            case "N", _:
                return self.noise_at(way, i, at)
        where = {"g": lambda: self.path(way, i, at), "g_mean": lambda: self.mean_path(way, at),
                 "g_start": lambda: way.start, "g_opt": lambda: self.optimum}[atom.name]  # fmt: skip
        return self.clients[i].gradient(where())

    @cache  # noqa: B019 (a model lives as long as its test)
    def term(self, term: Term, way: Way, i: int, k: int) -> Exact:
        clients = enumerate(self.weights) if "M" in term.bound else [(i, exact(1))]
        steps = range(self.steps) if "K" in term.bound else [k]
        return sum((p * self.atom(term.atom, way, j, step) for j, p in clients for step in steps), exact(0))

    def product(self, entry: Entry, way: Way, i: int, k: int) -> Exact:
        if isinstance(entry, Product):
            return self.term(entry.left, way, i, k) * self.term(entry.right, way, i, k)
        assert isinstance(entry, Value)
        return self.clients[i].value(self.atom(entry.point, way, i, k))

    @cache  # noqa: B019 (a model lives as long as its test)
    def mean(self, entry: Entry, i: int, k: int) -> Exact:
        if isinstance(entry, str):
            return exact(1)
        clients = list(enumerate(self.weights)) if "M" in entry.bound else [(i, exact(1))]
        steps = range(self.steps) if "K" in entry.bound else [k]
        total = exact(0)
        for way in self.ways:
            inside = (p * self.product(entry, way, j, step) for j, p in clients for step in steps)
            total += way.chance * sum(inside, exact(0))
        return total

    # theorems

    @cached_property
    def numbers(self) -> dict[str, Exact]:
        """The scalars of the proofs."""
        slopes = [slope for c in self.clients for slope in (c.left, c.right)]
        steps = [(i, k) for i in range(len(self.clients)) for k in range(self.steps)]
        squares = [sum(w.chance * (self.clients[i].gradient(self.path(w, i, k)) + w.noise[i][k]) ** 2
                       for w in self.ways) for i, k in steps]  # fmt: skip
        gaps = (p * (c.value(self.optimum) - c.value(self.own(i)))
                for i, (c, p) in enumerate(zip(self.clients, self.weights, strict=True)))  # fmt: skip
        return {
            "eta": self.step(0), "K": exact(self.steps), "L": max(slopes), "mu": min(slopes), "sigma": self.noise,
            "n": exact(len(self.clients)), "s": exact(self.shift), "t": exact(self.first), "share": self.share,
            "B": sum((p * p for p in self.weights), exact(0)) * self.noise**2, "Gamma": sum(gaps, exact(0)),
            "G": exact(isqrt(int(max(squares) * 10**8)) + 1, 10**4), "sigma_G": exact(0), **dict(self.claimed),
        }  # fmt: skip

    def slacks(self, theorem: Theorem) -> Iterator[Exact]:
        """The form's value for every client and step; nothing where the scalars are outside of the theorem's region."""
        free, last = theorem.form.open, self.steps + (1 if theorem.path_to_the_end else 0)
        for k in range(last) if "k" in free else [0]:
            at = {**self.numbers, "k": exact(k)}
            if not _inside(theorem, at):
                return
            for i in range(len(self.clients)) if "i" in free else [0]:
                yield self._value(theorem.form, at, i, k)

    def _value(self, form: Form, at: Mapping[str, Exact], i: int, k: int) -> Exact:
        return sum((valued(c, at) * self.mean(entry, i, k) for entry, c in form.entries.items()), exact(0))


def _zero(clients: tuple[Client, ...], weights: tuple[Exact, ...]) -> Exact:
    """Where the mean gradient, increasing and piecewise linear, is 0."""

    def mean(x: Exact) -> Exact:
        return sum((p * c.gradient(x) for c, p in zip(clients, weights, strict=True)), exact(0))

    kinks = sorted({c.kink for c in clients})
    for low, high in itertools.pairwise([kinks[0] - 1000, *kinks, kinks[-1] + 1000]):
        if mean(low) <= 0 <= mean(high):
            return low if mean(low) == 0 else low - mean(low) * (high - low) / (mean(high) - mean(low))
    raise AssertionError("the zero is out of range")
