"""Small models of rounds in which clients of groups answer, and send updates with weights, enumerated: who is there,
who answers, and all noises."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache, cached_property
from math import isqrt, prod

from fedtheory.proof.kernel.forms import Atom

from .mean_models import MeanModel, Way
from .models import Exact, exact


@dataclass(frozen=True, eq=False)
class Answering(Way):
    """One thing that can happen, in the ``state`` of who is there."""

    state: int


@dataclass(frozen=True)
class State:
    """With which probability it is so; the chance of each group's clients to answer; and what is known of the weights
    p_j/s^_j: s^_j, or h_j where s^_j = (h_j + N_j)/t counts the answers."""

    chance: Exact
    chances: tuple[Exact, ...]
    estimates: tuple[Exact, ...]


@dataclass(frozen=True, eq=False)
class AnswerModel(MeanModel):
    """Group j has ``sizes[j]`` clients, all of them with F_j = ``clients[j]``. ``counted`` is t, or 0 where s^_j is
    known with who is there. ``draw`` "after noise": whoever's first noise is positive answers; ``law`` "by state": in
    the first state there is no noise."""

    sizes: tuple[int, ...] = ()
    states: tuple[State, ...] = ()
    counted: int = 0
    selected_step: Exact | int = 1

    @cached_property
    def owners(self) -> tuple[int, ...]:
        return tuple(j for j, size in enumerate(self.sizes) for _ in range(size))

    @cached_property
    def _noises(self) -> list[tuple[tuple[Exact, ...], ...]]:
        everyone = len(self.owners)
        if self.law == "common":
            draws = itertools.product((1, -1), repeat=self.steps)
            return [tuple(tuple(s * self.noise for s in signs) for _ in range(everyone)) for signs in draws]
        shift = self.noise / 2 if self.law == "biased" else exact(0)
        return [
            tuple(tuple(shift + s * (self.noise - shift) for s in signs[l::everyone]) for l in range(everyone))
            for signs in itertools.product((1, -1), repeat=everyone * self.steps)
        ]

    @cached_property
    def ways(self) -> list[Way]:
        (start,), made = self.starts, []
        for number, state in enumerate(self.states):
            silent = tuple((exact(0),) * self.steps for _ in self.owners)
            noises = [silent] if self.law == "by state" and number == 0 else self._noises
            for noise in noises:
                share = state.chance / len(noises)
                made += [Answering(share * p, start, noise, who, number) for p, who in self._who(state, noise)]
        return made

    def _who(self, state: State, noise: tuple[tuple[Exact, ...], ...]) -> list[tuple[Exact, tuple[int, ...]]]:
        every = range(len(self.owners))
        if self.draw == "after noise":
            return [(exact(1), tuple(l for l in every if noise[l][0] > 0))]
        chance = [state.chances[j] for j in self.owners]
        sets = [s for size in range(len(every) + 1) for s in itertools.combinations(every, size)]
        return [(prod((chance[l] if l in s else 1 - chance[l] for l in every), start=exact(1)), s) for s in sets]

    # what is sent

    def noise_at(self, way: Way, i: int, k: int) -> Exact:
        """Of the group's first client."""
        return super().noise_at(way, self.owners.index(i), k)

    @cache  # noqa: B019 (a model lives as long as its test)
    def _sent(self, way: Answering, client: int) -> Exact:
        """S_l."""
        of, x, total = self.clients[self.owners[client]], way.start, exact(0)
        for noise in way.noise[client]:
            total += of.gradient(x) + noise
            x -= self.step(0) * (of.gradient(x) + noise)
        return total

    def _factors(self, way: Answering) -> list[Exact]:
        """1/s^_j, 0 where nobody has ever answered."""
        known, numbers = self.states[way.state].estimates, self._numbers(way.drawn)
        if not self.counted:
            return [1 / s for s in known]
        return [self.counted / (h + n) if h + n else exact(0) for h, n in zip(known, numbers, strict=True)]

    def _numbers(self, drawn: tuple[int, ...]) -> list[int]:
        return [sum(self.owners[l] == j for l in drawn) for j in range(len(self.clients))]

    @cache  # noqa: B019 (a model lives as long as its test)
    def aggregate(self, way: Answering) -> Exact:
        """Y."""
        factors = self._factors(way)
        parts = (self.weights[self.owners[l]] * factors[self.owners[l]] * self._sent(way, l) for l in way.drawn)
        return sum(parts, exact(0))

    @cached_property
    def mean_aggregate(self) -> Exact:
        """B."""
        return sum((way.chance * self.aggregate(way) for way in self.ways), exact(0))

    def _means(self, drawn: str) -> list[Exact]:
        """E N_j/s^_j, or E N_j/s^_j^2, by the states' own chances."""
        total = [exact(0)] * len(self.clients)
        for state in range(len(self.states)):
            for j, mean in enumerate(self._means_in(state, drawn)):
                total[j] += self.states[state].chance * mean
        return total

    @cache  # noqa: B019 (a model lives as long as its test)
    def _means_in(self, state: int, drawn: str) -> list[Exact]:
        total = [exact(0)] * len(self.clients)
        every, known = range(len(self.owners)), self.states[state]
        chance = [known.chances[j] for j in self.owners]
        for s in (s for size in range(len(every) + 1) for s in itertools.combinations(every, size)):
            share = prod((chance[l] if l in s else 1 - chance[l] for l in every), start=exact(1))
            factors = self._factors(Answering(exact(1), exact(0), (), s, state))
            for j, (n, f) in enumerate(zip(self._numbers(s), factors, strict=True)):
                total[j] += share * n * (f if drawn == "ratio" else f * f)
        return total

    @cached_property
    def far(self) -> list[Exact]:
        """rho_j - 1."""
        return [rho - 1 for rho in self._means("ratio")]

    def atom(self, atom: Atom, way: Way, i: int, k: int) -> Exact:
        assert isinstance(way, Answering)
        match atom.name:
            case "B_answers":
                return self.mean_aggregate
            case "Z_answers":
                return self.aggregate(way) - self.mean_aggregate
            case "A_answers":
                most = max(map(abs, self.far))
                of = [sum((self.clients[j].gradient(self.path(way, j, s)) for s in range(self.steps)), exact(0))
                      for j in range(len(self.clients))]  # fmt: skip
                parts = (p * a * s for p, a, s in zip(self.weights, self.far, of, strict=True))
                return sum(parts, exact(0)) / most if most else exact(0)
            case "x+":
                return way.start - self.selected_step * self.aggregate(way)
        return super().atom(atom, way, i, k)

    @cached_property
    def numbers(self) -> dict[str, Exact]:
        slopes = [abs(slope) for c in self.clients for slope in (c.left, c.right)]
        steps = [(j, k) for j in range(len(self.clients)) for k in range(self.steps)]
        met = [sum((w.chance * (self.clients[j].gradient(self.path(w, j, k)) + self.noise_at(w, j, k)) ** 2
                    for w in self.ways), exact(0)) for j, k in steps]  # fmt: skip
        proxy = sum((p * p * m for p, m in zip(self.weights, self._means("square"), strict=True)), exact(0))
        spread = exact(0)
        for number, state in enumerate(self.states):
            pairs = zip(self.weights, self._means_in(number, "ratio"), strict=True)
            spread += state.chance * sum((p * rho for p, rho in pairs), exact(0)) ** 2
        return {
            "eta": self.step(0), "c": self.selected_step, "K": exact(self.steps), "L": max(slopes),
            "G": exact(isqrt(int(max(met) * 10**8)) + 1, 10**4), "delta": max(map(abs, self.far)), "V": proxy,
            "S": spread, **dict(self.claimed),
        }  # fmt: skip
