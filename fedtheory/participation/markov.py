"""Clients with a memory: two-state Markov chains, and cycles. Each round has the same law, but rounds are dependent."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import check_clients, check_count, check_option
from ..extras import torch
from ..randomness import finalized, refined, uniforms, words
from ..rationals import exact_number, of_each
from .base import AnySize, Inclusion, Keys
from .bernoulli import client_uniforms, client_words, independent_inclusion, independent_sizes, on_device, thresholds_of
from .probabilities import check_probabilities

if TYPE_CHECKING:
    from torch import Tensor

READINGS = ("each", "common")
ROUNDINGS = ("nearest", "random")


class _WithMemory(AnySize):
    """Clients independent of each other, each a stationary process with memory; ``law`` holds their p_i."""

    independent_rounds = False

    @property
    @abstractmethod
    def law(self) -> tuple[Fraction, ...]:
        """P(client i takes part), the same in every round."""

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        return independent_sizes(self.law)

    def inclusion(self, clients: int) -> Inclusion:
        """Refused: a round depends on those before it.

        Raises:
            ValueError: always; ``marginal`` has the moments of one round alone.
        """
        self.check(clients)
        raise ValueError(
            f"participation = {type(self).__name__}: its rounds depend on each other, so the moments of one round do "
            "not give those of a run; allowed is a process with independent_rounds (marginal has those of one round)"
        )

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        return np.array(self.law, dtype=object)

    def stationary(self, clients: int) -> np.ndarray:
        return self.expected(clients, 0)

    def marginal(self, clients: int, round: int) -> Inclusion:
        self.check(clients)
        return independent_inclusion(self.law)


class MarkovState(NamedTuple):
    """Data of a step: the clients' constants (clients,), the words that a round refines, (replicas, clients), in main
    memory the thresholds of compiled draws for clients that stay and that enter, and the round last drawn with the
    clients that were on, if any."""

    keys: Keys
    stationary: Tensor
    entry: Tensor
    stay: Tensor
    words: Tensor
    below: tuple[np.ndarray | None, np.ndarray | None]
    round: int
    on: Tensor | None


@dataclass(frozen=True)
class Markov(_WithMemory):
    """Participation in which each client is a stationary two-state Markov chain, independent of the others.

    A client that is off is on in the next round with probability e_i, one that is on goes off with probability
    l_i = e_i (1 - p_i) / p_i. Round 0 is drawn from the stationary law, so that P(on) = p_i in every round, and

        P(on in rounds r and r + k) = p_i (p_i + (1 - p_i) (1 - e_i - l_i)^k).

    *How a round is drawn without the earlier ones.* Round r > 0 has one uniform number U for each client: on if
    U < e_i (when it was off) or U < 1 - l_i (when it was on). Where both say the same, the past does not matter. So the
    state follows from the latest round of that kind, looked for backwards, and from the rounds since, in which it was
    either kept or (if e_i + l_i > 1) reversed. The search ends at round 0, after 1 / (1 - |1 - e_i - l_i|) rounds on
    average if that is far away; if e_i = l_i = 1, always. A state that holds the round before saves the search; the
    result is the same.

    Args:
        probabilities: p_i in [0, 1].
        entries: e_i, in (0, 1] and at most p_i / (1 - p_i); 0 where p_i = 0. With e_i = p_i, rounds are independent.

    Raises:
        ValueError: a probability or an entry that is not allowed; in `check`, if there is not one for each client.

    Source: FedAU, appendix C.6.1; see `with_largest_entry`.

    >>> chain = Markov(["1/2"], ["1/8"])
    >>> chain.transitions(1)[0].tolist()  # from off, from on; to off, to on
    [[Fraction(7, 8), Fraction(1, 8)], [Fraction(1, 8), Fraction(7, 8)]]
    >>> chain.twice(1, lag=2).tolist()  # 1/2 (49/64 + 1/64)
    [Fraction(25, 64)]
    """

    probabilities: Sequence[Any]
    entries: Sequence[Any]

    def __post_init__(self) -> None:
        p = check_probabilities("probabilities", self.probabilities)
        e = check_probabilities("entries", self.entries)
        check_clients("entries", len(e), len(p))
        for i, (p_i, e_i) in enumerate(zip(p, e, strict=True)):
            if (e_i > 0) != (p_i > 0) or e_i * (1 - p_i) > p_i:
                allowed = "0" if p_i == 0 else f"(0, {float(_largest_entry(p_i)):g}]"
                raise ValueError(f"entries[{i}] = {float(e_i):g}: allowed is {allowed} where p = {float(p_i):g}")
        object.__setattr__(self, "probabilities", p)
        object.__setattr__(self, "entries", e)

    @classmethod
    def with_largest_entry(
        cls, probabilities: Sequence[Any], largest_entry: object = "0.05", reading: str = "each"
    ) -> Markov:
        """FedAU's chains: the stationary probabilities given, and entries of at most ``largest_entry``.

        The paper states the largest entry, 0.05, and that the stationary law is kept; a chain has one more free number.
        Readings:

        - "each" (ours): e_i = largest_entry for every client for which such a chain exists, and p_i / (1 - p_i)
          otherwise, namely where p_i < largest_entry / (1 + largest_entry): that client never stays on.
        - "common": all chains mix equally fast, e_i = c p_i and l_i = c (1 - p_i), with c = largest_entry / max p,
          at most 1: only the client with the largest p has the largest entry.

        Raises:
            ValueError: as `Markov`; a largest entry outside (0, 1], or another reading.

        >>> Markov.with_largest_entry([0.5, "1/50"]).entries
        (Fraction(1, 20), Fraction(1, 49))
        >>> Markov.with_largest_entry([0.5, "1/50"], reading="common").entries
        (Fraction(1, 20), Fraction(1, 500))
        """
        check_option("reading", reading, READINGS)
        p, largest = check_probabilities("probabilities", probabilities), exact_number("largest_entry", largest_entry)
        if not 0 < largest <= 1:
            raise ValueError(f"largest_entry = {largest_entry!r}: allowed is (0, 1]")
        if reading == "common":
            pace = min(Fraction(1), largest / max(p)) if max(p) > 0 else Fraction(1)
            return cls(p, [pace * p_i for p_i in p])
        return cls(p, [min(largest, _largest_entry(p_i)) for p_i in p])

    @property
    def law(self) -> tuple[Fraction, ...]:
        return tuple(self.probabilities)

    @property
    def deterministic(self) -> bool:
        """Whether every probability is 0 or 1."""
        return all(p in (0, 1) for p in self.probabilities)

    @cached_property
    def exits(self) -> tuple[Fraction, ...]:
        """The probabilities l_i of leaving participation; 1 where p_i = 0."""
        leaving = of_each(lambda p, e: e * (1 - p) / p if p > 0 else Fraction(1), self.probabilities, self.entries)
        return tuple(leaving)

    def check(self, clients: int) -> None:
        check_clients("probabilities", len(self.probabilities), clients)

    def transitions(self, clients: int) -> np.ndarray:
        """The transition matrices, (clients, 2, 2) Fractions: [i, a, b] = P(state b after state a), on being 1."""
        self.check(clients)
        return np.array([[[1 - e, e], [l, 1 - l]] for e, l in zip(self.entries, self.exits, strict=True)], dtype=object)

    def twice(self, clients: int, lag: int) -> np.ndarray:
        """Return P(client i takes part in a round and ``lag`` rounds later), (clients,) Fractions."""
        self.check(clients)
        check_count("lag", lag, least=0)
        chains = zip(self.probabilities, self.entries, self.exits, strict=True)
        return np.array([p * (p + (1 - p) * (1 - e - l) ** lag) for p, e, l in chains], dtype=object)

    def init(self, keys: Keys) -> MarkovState:
        self.check(keys.clients)
        stay = tuple(of_each(lambda l: 1 - l, self.exits))
        law, entry, stays = (on_device(values, keys) for values in (self.probabilities, self.entries, stay))
        below = thresholds_of(stays), thresholds_of(entry)
        return MarkovState(keys, law, entry, stays, client_words(keys), below, round=-1, on=None)

    def step(self, state: MarkovState, round: int) -> tuple[Tensor, MarkovState]:
        if state.on is not None and state.round == round - 1:
            on = _next(state, state.on, round)
        else:
            on = _look_back(state, round)
        return on.to(torch.int8), state._replace(round=round, on=on)


def _largest_entry(p: Fraction) -> Fraction:
    """The largest entry of a chain with stationary probability p: that of one that leaves at once, or 1."""
    return min(Fraction(1), p / (1 - p)) if p < 1 else Fraction(1)


def _next(state: MarkovState, before: Tensor, round: int) -> Tensor:
    """Return who is on in this round, (replicas, clients) bool, from who was on in the round before."""
    stay, entry = state.below
    if stay is None or entry is None:
        return uniforms(refined(state.words, round)) < torch.where(before, state.stay, state.entry)
    from ..loops.independent_clients import draw_chains

    on = torch.empty_like(before)
    number = finalized(torch.tensor([round]))[0]
    draw_chains(state.words.numpy().view(np.uint64), number, stay, entry, before.numpy(), on.numpy())
    return on


def _look_back(state: MarkovState, round: int) -> Tensor:
    """Return who is on in this round, (replicas, clients) bool, from the latest round that forces a state."""
    least, most = torch.minimum(state.entry, state.stay), torch.maximum(state.entry, state.stay)
    reverses = state.entry > state.stay
    on = torch.zeros(len(state.keys.replica_ids), state.keys.clients, dtype=torch.bool, device=least.device)
    reversed_since, unknown = on.clone(), ~on
    for earlier in range(round, -1, -1):
        uniform = client_uniforms(state.keys, earlier)
        if earlier == 0:
            least = most = state.stationary
        forced = (uniform < least) | (uniform >= most)
        on |= unknown & forced & ((uniform < least) ^ reversed_since)
        unknown &= ~forced
        if not unknown.any():
            break
        reversed_since ^= unknown & reverses
    return on


class CyclicState(NamedTuple):
    """A process's keys, and each replica's offsets and active rounds, (replicas, clients) int64."""

    keys: Keys
    offset: Tensor
    active: Tensor


@dataclass(frozen=True)
class Cyclic(_WithMemory):
    """Participation of each client in a_i consecutive rounds of every cycle, from an offset of its own.

    The offsets are uniform over the cycle, independent between clients, and drawn once a run: so each round has the
    same law, P(on) = E[a_i] / period, and a client's whole run follows from one cycle.

    Args:
        probabilities: p_i in [0, 1].
        period: rounds of a cycle.
        rounding: how the whole number a_i comes from p_i period, which the paper does not say. Readings:
            "nearest" (ours): the nearest integer, halves upwards; P(on) is a_i / period, which may differ from p_i by
            up to 1 / (2 period), and is 0 for p_i < 1 / (2 period).
            "random": one of the two nearest, drawn once a run, with mean p_i period; P(on) is p_i exactly.

    Raises:
        ValueError: a probability outside [0, 1], a period below 1, or another rounding; in `check`, if there is not one
            probability for each client.

    Source: FedAU, appendix C.6.1, with cycles of 100 rounds.

    >>> Cyclic(["1/50", 0.527]).marginal(2, round=0).first.tolist()
    [Fraction(1, 50), Fraction(53, 100)]
    >>> Cyclic(["1/2"], period=4).twice(1, lag=1).tolist()  # on, on, off, off
    [Fraction(1, 4)]
    """

    probabilities: Sequence[Any]
    period: int = 100
    rounding: str = "nearest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", check_probabilities("probabilities", self.probabilities))
        object.__setattr__(self, "period", check_count("period", self.period))
        check_option("rounding", self.rounding, ROUNDINGS)

    @cached_property
    def _lengths(self) -> tuple[tuple[int, Fraction], ...]:
        """Number of active rounds for each client, and the chance that it is one more."""
        exact = list(of_each(lambda p: p * self.period, self.probabilities))
        if self.rounding == "nearest":
            return tuple((floor(a + Fraction(1, 2)), Fraction(0)) for a in exact)
        return tuple((floor(a), a - floor(a)) for a in exact)

    @cached_property
    def law(self) -> tuple[Fraction, ...]:  # type: ignore[override]
        """P(client i takes part), the same in every round."""
        if self.rounding == "random":
            return tuple(self.probabilities)
        known = {least: Fraction(least, self.period) for least in {least for least, _ in self._lengths}}
        return tuple(known[least] for least, _ in self._lengths)

    @property
    def deterministic(self) -> bool:
        """Whether every probability of the law is 0 or 1."""
        return all(p in (0, 1) for p in self.law)

    def check(self, clients: int) -> None:
        check_clients("probabilities", len(self.probabilities), clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        return sum(least == self.period for least, _ in self._lengths), sum(p > 0 for p in self.law)

    def twice(self, clients: int, lag: int) -> np.ndarray:
        """Return P(client i takes part in a round and ``lag`` rounds later), (clients,) Fractions."""
        self.check(clients)
        lag = check_count("lag", lag, least=0) % self.period

        def overlap(active: int) -> int:
            return max(0, active - lag) + (max(0, active + lag - self.period) if lag else 0)

        shares = [(1 - chance) * overlap(least) + chance * overlap(least + 1) for least, chance in self._lengths]
        return np.array([share / self.period for share in shares], dtype=object)

    def init(self, keys: Keys) -> CyclicState:
        self.check(keys.clients)
        device = keys.replica_ids.device
        clients = torch.arange(keys.clients, device=device)
        offset = words(keys.seed, keys.axis, keys.replica_ids[:, None], clients) % self.period
        least = torch.tensor([least for least, _ in self._lengths], device=device)
        chance = on_device([chance for _, chance in self._lengths], keys)
        # Two coordinates more than the offset has: another draw, and not that of any round.
        return CyclicState(keys, offset, least + (client_uniforms(keys, 0, 1) < chance))

    def step(self, state: CyclicState, round: int) -> tuple[Tensor, CyclicState]:
        return ((round + state.offset) % self.period < state.active).to(torch.int8), state
