"""Families of participation processes that a log may come from: each fitted, its likelihood, and new logs of it.

A family is what a log can tell apart. `LargestNoise` looks like `Uniform`, whose cohorts it has; `IndexBeta`,
`IndexGamma` and `IndexWeibull` are `Weighted`; patterns that clients were handed out are a `Recorded` that repeats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from ..participation import (
    Bernoulli,
    Cyclic,
    DayNightGroups,
    Fixed,
    GroupChain,
    Markov,
    Mixture,
    Multinomial,
    Participation,
    Phases,
    PoissonGroups,
    Recorded,
    Resampled,
    Uniform,
    UniformGroups,
    Weighted,
)
from ..selection.availability import PoissonAvailability

MOST_STATES = 12
"""Number of states up to which counts of groups are taken for a chain."""

MOST_SIZES = 4
"""Number of sizes of rounds up to which they are taken for a mixture of cohorts."""

NODES = np.linspace(-14.0, 8.0, 800)
"""Logarithms of the times at which the clocks of successive sampling are read."""

CERTAIN = 20.0
"""Logarithm of how much less likely repeats must be by chance, before they are taken for a schedule."""


class Family(ABC):
    """A process fitted to a log, whose clients all came.

    Attributes:
        name: of the family.
        parameters: how many numbers were fitted.
        exchangeable: labels of clients that the family does not tell apart, or None.
        per_client: attributes whose last axis is clients. per_part: those that hold families, or sets of clients.
    """

    name: str
    parameters: int
    exchangeable: np.ndarray | None = None
    per_client: tuple[str, ...] = ()
    per_part: tuple[str, ...] = ()

    @abstractmethod
    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        """The logarithms of P(round | rounds before), for the rounds of ``mask`` from the ``first`` on.

        What a family rules out, having been fitted to so many rounds, has the chance `unseen`.
        """

    @abstractmethod
    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        """Draw a log, (rounds, clients) bool."""

    @abstractmethod
    def process(self) -> Participation:
        """Return the process."""

    def described(self) -> dict[str, Any]:
        """Return what was fitted beside the clients' rates."""
        return {}


def unseen(rounds: int, clients: int) -> float:
    """Return the logarithm of the chance of a round of a kind that was not in so many: half a
    round's, any set alike."""
    return float(np.log(0.5 / (rounds + 1)) - clients * np.log(2))


def _smoothed(count: np.ndarray, of: np.ndarray | int) -> np.ndarray:
    return np.asarray((count + 0.5) / (np.asarray(of) + 1.0))


class IndependentClients(Family):
    """Every client for itself, afresh every round."""

    name = "Bernoulli"
    per_client: tuple[str, ...] = ("count",)

    def __init__(self, mask: np.ndarray) -> None:
        self.rounds, self.count = len(mask), mask.sum(axis=0)
        self.parameters = mask.shape[1]

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        p = _smoothed(self.count, self.rounds)
        return mask[first:] @ np.log(p / (1 - p)) + np.log1p(-p).sum()

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        return np.asarray(rng.random((rounds, len(self.count)), dtype=np.float32) < self.count / self.rounds)

    def process(self) -> Participation:
        return Bernoulli([Fraction(int(n), self.rounds) for n in self.count])


class ClientChains(Family):
    """Every client for itself, a chain of two states."""

    name = "Markov"
    per_client: tuple[str, ...] = ("on", "off", "entered", "left")

    def __init__(self, mask: np.ndarray) -> None:
        before, after = mask[:-1], mask[1:]
        self.on, self.off = before.sum(axis=0), (~before).sum(axis=0)
        self.entered, self.left = (~before & after).sum(axis=0), (before & ~after).sum(axis=0)
        self.parameters = 2 * mask.shape[1]

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        e, l = _smoothed(self.entered, self.off), _smoothed(self.left, self.on)
        before, after = mask[first - 1 : -1].astype(float), mask[first:].astype(float)
        stays, comes = before * after, (1 - before) * after
        return (
            stays @ np.log1p(-l)
            + (before - stays) @ np.log(l)
            + comes @ np.log(e)
            + (1 - before - comes) @ np.log1p(-e)
        )

    @cached_property
    def _laws(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """p, e, l: the shares that were seen, smoothed where one is 0."""
        rare = (self.entered == 0) | (self.left == 0)
        e = np.where(rare, _smoothed(self.entered, self.off), self.entered / np.maximum(self.off, 1))
        l = np.where(rare, _smoothed(self.left, self.on), self.left / np.maximum(self.on, 1))
        return e / (e + l), e, l

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        p, e, l = (each.astype(np.float32) for each in self._laws)
        found = np.empty((rounds, len(p)), dtype=bool)
        here = rng.random(len(p)) < p
        dice = rng.random((rounds, len(p)), dtype=np.float32)
        stays, comes = dice < 1 - l, dice < e
        for r in range(rounds):
            found[r] = here
            here = np.where(here, stays[r], comes[r])
        return found

    def process(self) -> Participation:
        entries = [Fraction(float(e)) for e in self._laws[1]]
        exits = [Fraction(float(l)) for l in self._laws[2]]
        return Markov([e / (e + l) for e, l in zip(entries, exits, strict=True)], entries)

    def described(self) -> dict[str, Any]:
        _, e, l = self._laws
        return {"memory": float(np.median(1 - e - l))}


class SharedRates(IndependentClients):
    """Every client for itself, afresh every round, with its group's rate."""

    per_client: tuple[str, ...] = ("count", "exchangeable")

    def __init__(self, mask: np.ndarray, groups: np.ndarray) -> None:
        super().__init__(mask)
        self.exchangeable, self.parameters = groups, int(groups.max()) + 1
        self.count = _group_means(self.count, groups)

    def process(self) -> Participation:
        return Bernoulli([Fraction(float(n)) / self.rounds for n in self.count])


class SharedChains(ClientChains):
    """Every client for itself, a chain of two states with its group's chances."""

    per_client: tuple[str, ...] = ("on", "off", "entered", "left", "exchangeable")

    def __init__(self, mask: np.ndarray, groups: np.ndarray) -> None:
        super().__init__(mask)
        self.exchangeable, self.parameters = groups, 2 * int(groups.max()) + 2
        for name in ("on", "off", "entered", "left"):
            setattr(self, name, _group_means(getattr(self, name), groups))


def _group_means(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.asarray((np.bincount(groups, values) / np.bincount(groups))[groups])


class UniformCohorts(Family):
    """A cohort of one size, each as likely as the others."""

    name = "Uniform"
    parameters = 1

    def __init__(self, mask: np.ndarray) -> None:
        self.clients, self.cohort = mask.shape[1], int(mask[0].sum())
        self.exchangeable = np.zeros(self.clients, dtype=int)

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        return np.full(len(mask) - first, -log_choose(self.clients, self.cohort))

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        return smallest(rng.random((rounds, self.clients), dtype=np.float32), self.cohort)

    def process(self) -> Participation:
        return Uniform(self.cohort)

    def described(self) -> dict[str, Any]:
        return {"cohort": self.cohort}


class WeightedCohorts(Family):
    r"""A cohort of one size, drawn one after another, clients having weights.

    With clocks of rates w_i, P(S) = \int W e^{-W t} prod_{i in S} (1 - e^{-w_i t}) dt, W the weight of all others.
    """

    name = "Weighted"
    per_client: tuple[str, ...] = ("target", "weights")

    def __init__(self, mask: np.ndarray) -> None:
        self.cohort = int(mask[0].sum())
        self.parameters = mask.shape[1]
        self.target = _smoothed(mask.sum(axis=0), len(mask))
        self.target *= self.cohort / self.target.sum()
        self.weights = self._fitted(-np.log1p(-np.minimum(self.target, 0.999)))

    def _fitted(self, weights: np.ndarray) -> np.ndarray:
        """Return weights that give the clients their rates, with a drawn log of weights in common for all steps."""
        clocks = np.random.default_rng(0).standard_exponential(
            (max(400, min(4000, 400_000 // len(weights))), len(weights))
        )
        for _ in range(8):
            found = smallest(clocks / weights, self.cohort).mean(axis=0)
            found = (found * len(clocks) + 0.5) / (len(clocks) + 1)
            # Only the part that is common to similar weights: draws of a single client are noise.
            order = np.argsort(weights, kind="stable")
            step = np.empty_like(weights)
            for part in np.array_split(order, max(1, min(10, len(order) // 5))):
                step[part] = np.log1p(-min(self.target[part].mean(), 0.999)) / np.log1p(-min(found[part].mean(), 0.999))
            weights = weights * step
        return weights

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        w, times = self.weights, np.exp(NODES)
        here = mask[first:].astype(float)
        rest = w.sum() - here @ w
        logs = np.log(-np.expm1(-np.outer(w, times)))
        inside = here @ logs - rest[:, None] * times + NODES + np.log(np.maximum(rest, 1e-300))[:, None]
        return np.asarray(logsumexp(inside, axis=1)) + np.log(NODES[1] - NODES[0])

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        return smallest(rng.standard_exponential((rounds, len(self.weights))) / self.weights, self.cohort)

    def process(self) -> Participation:
        return Weighted(self.cohort, (self.weights / self.weights.max()).tolist())

    def described(self) -> dict[str, Any]:
        return {"cohort": self.cohort, "weights": self.weights.tolist()}


class DrawsWithReplacement(Family):
    """Draws with replacement, of which a log has those who were drawn at all.

    P(S) = d! [z^d] prod_{i in S} (e^{q_i z} - 1), read off a circle.
    """

    name = "Multinomial"
    per_client: tuple[str, ...] = ("q",)

    def __init__(self, mask: np.ndarray, draws: int) -> None:
        self.draws, (self.rounds, self.clients) = draws, mask.shape
        q = -np.expm1(np.log1p(-_smoothed(mask.sum(axis=0), len(mask))) / draws)
        self.q = q / q.sum()
        self.parameters = self.clients

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        here, d = mask[first:], self.draws
        sizes, found = here.sum(axis=1), np.full(len(here), unseen(self.rounds, self.clients))
        nodes = 2 * d + 64
        circle = np.exp(2j * np.pi * np.arange(nodes) / nodes)
        for size in np.unique(sizes[(sizes > 0) & (sizes <= d)]):
            rows = here[sizes == size]
            radius = max(1.0, 2 * (d - size) / max(self.q.mean() * size, 1e-12)) if size < d else 1.0
            radius = min(radius, float(d))
            logs = np.log(np.expm1(np.outer(self.q, radius * circle)))
            inside = rows.astype(float) @ logs
            top = inside.real.max(axis=1)
            mean = (np.exp(inside - top[:, None]) * circle**-d).mean(axis=1).real
            logs_of = np.log(np.maximum(mean, 1e-300)) + top - d * np.log(radius) + gammaln(d + 1)
            found[sizes == size] = np.minimum(logs_of, 0.0)
        return found

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        found = np.zeros((rounds, self.clients), dtype=bool)
        drawn = rng.choice(self.clients, size=(rounds, self.draws), p=self.q)
        np.put_along_axis(found, drawn, True, axis=1)
        return found

    def process(self) -> Participation:
        q = [Fraction(float(each)) for each in self.q]
        return Multinomial(self.draws, [each / sum(q) for each in q])

    def described(self) -> dict[str, Any]:
        return {"draws": self.draws}


class CohortMixture(Family):
    """One of several cohorts, told apart by their sizes, chosen anew every round."""

    name = "Mixture"
    per_part: tuple[str, ...] = ("parts",)

    def __init__(self, mask: np.ndarray) -> None:
        sizes = mask.sum(axis=1)
        self.sizes, counts = np.unique(sizes, return_counts=True)
        self.shares, self.rounds, self.clients = counts / len(mask), len(mask), mask.shape[1]
        self.parts: list[Family | np.ndarray] = []
        for size in self.sizes:
            rows = mask[sizes == size]
            if (rows == rows[0]).all() and len(rows) > 1:
                self.parts.append(rows[0])
                continue
            uniform, weighted = UniformCohorts(rows), WeightedCohorts(rows)
            two_thirds = max(1, 2 * len(rows) // 3)
            gain = WeightedCohorts(rows[:two_thirds]).log_likelihood(rows, two_thirds) - uniform.log_likelihood(
                rows, two_thirds
            )
            self.parts.append(weighted if gain.sum() > 2 * np.sqrt(len(gain)) * gain.std() else uniform)
        fitted = [1 if isinstance(p, np.ndarray) else p.parameters for p in self.parts]
        self.parameters = len(self.parts) - 1 + sum(fitted)

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        here = mask[first:]
        never = unseen(self.rounds, self.clients)
        sizes, found = here.sum(axis=1), np.full(len(here), never)
        for size, share, part in zip(self.sizes, self.shares, self.parts, strict=True):
            mine = sizes == size
            if isinstance(part, np.ndarray):
                found[mine] = np.where((here[mine] == part).all(axis=1), np.log(share), never)
            elif mine.any():
                found[mine] = np.log(share) + part.log_likelihood(here[mine], 0)
        return found

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        which = rng.choice(len(self.parts), size=rounds, p=self.shares)
        found = np.empty((rounds, self.clients), dtype=bool)
        for k, part in enumerate(self.parts):
            mine = which == k
            found[mine] = part if isinstance(part, np.ndarray) else part.simulate(rng, int(mine.sum()))
        return found

    def process(self) -> Participation:
        parts = [
            Fixed(np.flatnonzero(part).tolist()) if isinstance(part, np.ndarray) else part.process()
            for part in self.parts
        ]
        return Mixture(parts, [Fraction(round(float(s) * self.rounds), self.rounds) for s in self.shares])

    def described(self) -> dict[str, Any]:
        names = ["Fixed" if isinstance(part, np.ndarray) else part.name for part in self.parts]
        return {
            "parts": [
                {"size": int(s), "share": float(p), "cohort": n}
                for s, p, n in zip(self.sizes, self.shares, names, strict=True)
            ]
        }


class Groups(Family):
    """Groups of whom a random number comes, any of them as likely as the others; a subclass says how many."""

    per_client: tuple[str, ...] = ("groups",)

    def __init__(self, mask: np.ndarray, groups: np.ndarray) -> None:
        self.groups, self.group_sizes = groups, np.bincount(groups)
        self.exchangeable = groups
        self._fit(self.counts(mask))

    def counts(self, mask: np.ndarray) -> np.ndarray:
        """Count how many of each group were there, (rounds, groups)."""
        return np.asarray(mask.astype(np.int64) @ np.eye(len(self.group_sizes), dtype=np.int64)[self.groups])

    @abstractmethod
    def _fit(self, counts: np.ndarray) -> None:
        """Fit the law of the counts."""

    @abstractmethod
    def _log_law(self, counts: np.ndarray, first: int) -> np.ndarray:
        """The logarithms of P(counts of a round | before)."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        """Draw counts."""

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        counts = self.counts(mask)
        return self._log_law(counts, first) - log_choose(self.group_sizes, counts[first:]).sum(axis=1)

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        counts, found = self._draw(rng, rounds), np.zeros((rounds, len(self.groups)), dtype=bool)
        for k, size in enumerate(self.group_sizes):
            order = rng.random((rounds, size), dtype=np.float32).argsort(axis=1).argsort(axis=1)
            found[:, self.groups == k] = order < counts[:, k, None]
        return found

    def described(self) -> dict[str, Any]:
        return {"groups": self.groups.tolist(), "sizes": self.group_sizes.tolist()}


class IndependentCounts(Groups):
    """Counts that are independent between groups and rounds, of laws by phase: (phases, groups, largest + 1)."""

    laws: np.ndarray

    def _log_law(self, counts: np.ndarray, first: int) -> np.ndarray:
        # A mixture with one part in a thousand that spreads evenly: what was not seen is rare.
        phase = np.arange(first, len(counts)) % len(self.laws)
        found = np.zeros(len(counts) - first)
        for k, size in enumerate(self.group_sizes):
            law = self.laws[:, k, : size + 1] * (1 - 1e-3) + 1e-3 / (size + 1)
            found += np.log(law[phase, counts[first:, k]])
        return found

    def _draw(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        ends = np.cumsum(self.laws, axis=2)[np.arange(rounds) % len(self.laws)]
        dice = rng.random((rounds, len(self.group_sizes), 1))
        return np.minimum((dice > ends / ends[:, :, -1:]).sum(axis=2), self.group_sizes)

    def _poisson(self, rates: np.ndarray) -> np.ndarray:
        return np.asarray(PoissonAvailability(rates.tolist()).chances(self.group_sizes))


class PoissonCounts(IndependentCounts):
    """Poisson counts, at most the group's size."""

    name = "PoissonGroups"

    def _fit(self, counts: np.ndarray) -> None:
        self.rates = counts.mean(axis=0)
        self.laws = self._poisson(self.rates)[None]
        self.parameters = len(self.group_sizes)

    def process(self) -> Participation:
        return PoissonGroups(self.groups.tolist(), self.rates.tolist())


class DayNightCounts(IndependentCounts):
    """Poisson counts of two laws in turn."""

    name = "DayNightGroups"

    def _fit(self, counts: np.ndarray) -> None:
        self.even, self.odd = counts[0::2].mean(axis=0), counts[1::2].mean(axis=0)
        self.laws = np.stack([self._poisson(self.even), self._poisson(self.odd)])
        self.parameters = 2 * len(self.group_sizes)

    def process(self) -> Participation:
        return DayNightGroups(self.groups.tolist(), day=self.odd.tolist(), night=self.even.tolist())


class UniformCounts(IndependentCounts):
    """Counts uniform between two bounds."""

    name = "UniformGroups"

    def _fit(self, counts: np.ndarray) -> None:
        self.lowest, self.highest = counts.min(axis=0), counts.max(axis=0)
        numbers = np.arange(self.group_sizes.max() + 1)
        inside = (numbers >= self.lowest[:, None]) & (numbers <= self.highest[:, None])
        self.laws = (inside / inside.sum(axis=1, keepdims=True))[None]
        self.parameters = 2 * len(self.group_sizes)

    def process(self) -> Participation:
        return UniformGroups(self.groups.tolist(), self.lowest.tolist(), self.highest.tolist())


class CountChain(Groups):
    """Counts of all groups together, a chain of few states."""

    name = "GroupChain"

    def _fit(self, counts: np.ndarray) -> None:
        self.states, which = np.unique(counts, axis=0, return_inverse=True)
        which = which.reshape(-1)
        n = len(self.states)
        self.moves = np.zeros((n, n), dtype=np.int64)
        np.add.at(self.moves, (which[:-1], which[1:]), 1)
        self.seen = np.bincount(which, minlength=n)
        self.parameters = n * (len(self.group_sizes) + n - 1)

    def _rows(self) -> np.ndarray:
        smoothed = self.moves + 0.5 / len(self.states)
        return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))

    def _log_law(self, counts: np.ndarray, first: int) -> np.ndarray:
        place = {tuple(state): k for k, state in enumerate(self.states.tolist())}
        which = np.array([place.get(tuple(row), -1) for row in counts.tolist()])
        rows, before, after = self._rows(), which[max(first - 1, 0) : -1], which[max(first, 1) :]
        law = np.where((before >= 0)[:, None], rows[before], _smoothed(self.seen, self.seen.sum()))
        chance = np.log(law[np.arange(len(after)), after])
        other = np.log(0.5 / (self.seen.sum() + 1)) - np.log(self.group_sizes + 1.0).sum()
        found = np.where(after >= 0, chance, other)
        return found if first else np.concatenate([[0.0], found])

    def _draw(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        ends, dice = np.cumsum(self._rows(), axis=1), rng.random(rounds)
        here = int(rng.choice(len(self.states), p=self.seen / self.seen.sum()))
        found = np.empty(rounds, dtype=int)
        for r in range(rounds):
            found[r] = here
            here = min(int(np.searchsorted(ends[here], dice[r], side="right")), len(ends) - 1)
        return self.states[found]

    def process(self) -> Participation:
        rows = [
            [Fraction(int(n), int(row.sum())) for n in row]
            if row.any()
            else [Fraction(int(n), int(self.seen.sum())) for n in self.seen]
            for row in self.moves
        ]
        initial = [Fraction(int(n), int(self.seen.sum())) for n in self.seen]
        return GroupChain(self.groups.tolist(), self.states.tolist(), initial, rows)

    def described(self) -> dict[str, Any]:
        return super().described() | {"states": self.states.tolist(), "transitions": self._rows().tolist()}


class BlocksOfRounds(Family):
    """Rounds of few kinds, in blocks in which one follows from the other, blocks drawn afresh."""

    name = "Resampled"
    per_client: tuple[str, ...] = ("mask",)

    def __init__(self, mask: np.ndarray, block: int) -> None:
        self.block, self.mask = block, mask
        self.whole = len(mask) // block
        kinds = kinds_of(mask[: self.whole * block])
        self.place = {mask[r].tobytes(): k for r, k in enumerate(kinds.tolist())}
        self.parameters = len(self.place) * mask.shape[1]
        self.starts = np.bincount(kinds[::block], minlength=len(self.place))
        inside = np.arange(1, len(kinds)) % block != 0
        self.moves = np.zeros((len(self.place), len(self.place)))
        np.add.at(self.moves, (kinds[:-1][inside], kinds[1:][inside]), 1)

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        kinds = np.array([self.place.get(np.ascontiguousarray(row).tobytes(), -1) for row in mask])
        now, before = kinds[first:], kinds[first - 1 : -1]
        starting = _smoothed(self.starts, self.starts.sum())
        follows = (self.moves + 0.5 / len(self.moves)) / (self.moves.sum(axis=1, keepdims=True) + 0.5)
        inside = (np.arange(first, len(mask)) % self.block != 0) & (before >= 0)
        chance = np.where(inside, follows[before, now], starting[now] / starting.sum())
        return np.where(now < 0, unseen(len(self.mask), mask.shape[1]), np.log(chance))

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        first = rng.integers(self.whole, size=-(-rounds // self.block)) * self.block
        rows = (first[:, None] + np.arange(self.block)).reshape(-1)[:rounds]
        return self.mask[rows]

    def process(self) -> Participation:
        return Resampled(self.mask, self.block, starts="aligned")

    def described(self) -> dict[str, Any]:
        return {"block": self.block, "kinds of rounds": len(self.place)}


class Schedule(Family):
    """Rounds that repeat exactly after a period: nothing is left to chance."""

    per_client: tuple[str, ...] = ("cycle",)

    def __init__(self, mask: np.ndarray, period: int) -> None:
        self.cycle = mask[:period]
        self.parameters = self.cycle.size
        self.name = self._kind()

    def _kind(self) -> str:
        if len(self.cycle) == 1:
            return "Fixed"
        sizes, changes = self.cycle.sum(axis=1), (self.cycle != np.roll(self.cycle, 1, axis=0)).any(axis=1).sum()
        if (sizes == sizes[0]).all() and changes <= len(self.cycle) / 2:
            return "Phases"
        starts = (self.cycle & ~np.roll(self.cycle, 1, axis=0)).sum(axis=0)
        return "Cyclic" if (starts <= 1).all() else "Recorded"

    def log_likelihood(self, mask: np.ndarray, first: int) -> np.ndarray:
        same = (mask[first:] == self.simulate(np.random.default_rng(0), len(mask))[first:]).all(axis=1)
        return np.where(same, 0.0, unseen(len(self.cycle), mask.shape[1]))

    def simulate(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        return self.cycle[np.arange(rounds) % len(self.cycle)]

    def process(self) -> Participation:
        if self.name == "Fixed":
            return Fixed(np.flatnonzero(self.cycle[0]).tolist())
        if self.name == "Cyclic":
            period = len(self.cycle)
            return Cyclic([Fraction(int(n), period) for n in self.cycle.sum(axis=0)], period)
        if self.name == "Phases":
            edges = np.flatnonzero((self.cycle[1:] != self.cycle[:-1]).any(axis=1)) + 1
            parts = np.split(self.cycle, edges)
            return Phases([np.flatnonzero(p[0]).tolist() for p in parts], [len(p) for p in parts], cyclic=True)
        return Recorded(self.cycle, after="repeat")

    def described(self) -> dict[str, Any]:
        return {"period": len(self.cycle)}


# Which families a log may be of ---------------------------------------------------------------------------------------


def entropy(mask: np.ndarray) -> float:
    """The entropy of a round whose clients come independently at their rates, in nats."""
    p = mask.mean(axis=0)
    return float(-(xlogy(p, p) + xlogy(1 - p, 1 - p)).sum())


def schedule(mask: np.ndarray) -> Schedule | None:
    """Return the schedule that a log repeats, if it does so too often for chance."""
    kinds = kinds_of(mask)
    period = _period(kinds.tolist())
    repeated = len(mask) - period
    if len({*kinds.tolist()}) == 1:
        return Schedule(mask, 1)
    if repeated < period or repeated * entropy(mask) < CERTAIN + np.log(len(mask)):
        return None
    return Schedule(mask, period)


def _period(numbers: list[int]) -> int:
    """Return the smallest T with numbers[r] = numbers[r - T] for all r >= T, by Knuth, Morris and Pratt's failures."""
    failure, k = [0] * len(numbers), 0
    for r in range(1, len(numbers)):
        while k and numbers[r] != numbers[k]:
            k = failure[k - 1]
        k += numbers[r] == numbers[k]
        failure[r] = k
    return len(numbers) - failure[-1]


def kinds_of(mask: np.ndarray) -> np.ndarray:
    """Number the rounds by who was there, (rounds,)."""
    return np.asarray(np.unique(np.packbits(mask, axis=1), axis=0, return_inverse=True)[1]).reshape(-1)


def block_length(mask: np.ndarray) -> int | None:
    """Return the largest b for which a round says who comes next within blocks of b, but for few kinds of rounds; 1 if
    there is none; None if rounds are of too many kinds for that."""
    kinds = kinds_of(mask)
    number = int(kinds.max()) + 1
    if number > len(mask) / 4:
        return None
    found, pairs, rounds = 1, kinds[:-1] * number + kinds[1:], np.arange(1, len(kinds))
    for block in range(2, len(mask) // 8 + 1):
        if len(np.unique(pairs[rounds % block != 0])) <= 1.5 * number < len(np.unique(pairs[rounds % block == 0])):
            found = block
    return found


def candidates(mask: np.ndarray, groups: np.ndarray | None = None, full: np.ndarray | None = None) -> Iterator[Family]:
    """Fit every family that may have such rounds. Which they are is asked of the ``full`` log."""
    full = mask if full is None else full
    sizes = full.sum(axis=1)
    yield IndependentClients(mask)
    if len(mask) > 1:
        yield ClientChains(mask)
    kinds = np.unique(sizes)
    if len(kinds) == 1 and kinds[0] not in (0, mask.shape[1]):
        yield UniformCohorts(mask)
        yield WeightedCohorts(mask)
    elif len(kinds) <= MOST_SIZES and kinds[0] > 0 and all((mask.sum(axis=1) == k).sum() > 4 for k in kinds):
        yield CohortMixture(mask)
    if kinds.min() > 0 and (draws := number_of_draws(mask, int(kinds[-1]))):
        yield DrawsWithReplacement(mask, draws)
    if (block := block_length(full)) is not None and len(full) * entropy(full) > 1e3 and len(full) > 4 * block:
        yield BlocksOfRounds(mask, block)
    for partition in partitions(mask) if groups is None else (groups,):
        counts = np.unique(full @ np.eye(partition.max() + 1, dtype=np.int64)[partition], axis=0)
        if len(counts) == 1:
            continue
        yield SharedRates(mask, partition)
        yield SharedChains(mask, partition)
        yield PoissonCounts(mask, partition)
        yield DayNightCounts(mask, partition)
        yield UniformCounts(mask, partition)
        if len(counts) <= MOST_STATES:
            yield CountChain(mask, partition)


def number_of_draws(mask: np.ndarray, largest: int) -> int | None:
    """Return the number of draws d at which the clients' shares of a draw, 1 - (1 - rate)^(1/d), add up to 1."""
    rates = np.minimum(_smoothed(mask.sum(axis=0), len(mask)), 0.999)
    for draws in range(max(2, largest), min(128, 2 * largest + 3)):
        total = float(-np.expm1(np.log1p(-rates) / draws).sum())
        if total <= 1 + 0.5 / draws:
            return draws if total > 1 - 0.5 / draws else None
    return None


def partitions(mask: np.ndarray, most: int = 3) -> Iterator[np.ndarray]:
    """Partitions of the clients into 1, 2, ... groups by who comes with whom.

    In a group whose clients are all alike, P(i and j come) depends on their groups alone; so do the rows of the leading
    part of that matrix, which are clustered.
    """
    rounds, clients = mask.shape
    yield np.zeros(clients, dtype=int)
    here = mask.astype(np.float32)
    if min(rounds, clients) < 4:
        return
    together = here @ here.T if rounds <= clients else here.T @ here
    if rounds > clients:  # what a client's own rate says on the diagonal is no pair
        np.fill_diagonal(together, 0)
        np.fill_diagonal(together, together.sum(axis=1) / (clients - 1))
    values, vectors = np.linalg.eigh(together / rounds)
    leading = np.argsort(-np.abs(values))[:most]
    values, vectors = values[leading], vectors[:, leading]
    if rounds <= clients:
        vectors = here.T @ vectors / np.sqrt(np.maximum(values * rounds, 1e-12))
    points = vectors * values
    for number in range(2, min(most, clients // 2) + 1):
        yield _clustered(points, number)


def _clustered(points: np.ndarray, number: int) -> np.ndarray:
    """Cluster by k-means from points that are far from each other; groups are numbered by their first members."""
    centres = points[[int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]]
    while len(centres) < number:
        away = ((points[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
        centres = np.concatenate([centres, points[[int(away.argmax())]]])
    label = np.zeros(len(points), dtype=int)
    for _ in range(50):
        new = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        if (new == label).all() and _ > 0:
            break
        label = new
        centres = np.stack(
            [points[label == k].mean(axis=0) if (label == k).any() else centres[k] for k in range(number)]
        )
    first = {k: i for i, k in reversed([*enumerate(label.tolist())])}
    rank = {k: j for j, k in enumerate(sorted(first, key=first.__getitem__))}
    return np.array([rank[k] for k in label.tolist()])


def smallest(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the indicator of the ``count`` smallest scores of each row."""
    found = np.zeros(scores.shape, dtype=bool)
    if 0 < count <= scores.shape[1]:
        np.put_along_axis(found, np.argpartition(scores, count - 1, axis=1)[:, :count], True, axis=1)
    return found


def log_choose(n: Any, k: Any) -> Any:
    """Return log(n choose k)."""
    n, k = np.asarray(n), np.asarray(k)
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
