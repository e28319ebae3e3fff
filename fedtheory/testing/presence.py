"""A client's participation as a finite chain: who comes when, and what the average of its intervals tends to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CYCLE, TRACE, DAY = 20, 50, 24
"""Rounds of a cycle, of a recorded trace, and of a day with its night."""


@dataclass(frozen=True)
class PresenceChain:
    r"""A client that takes part with probability ``chance[z]`` in a round that finds it in state z, whatever came
    before, and is in ``after_presence[z]`` or ``after_absence[z]`` then. Runs begin in the stationary law pi.

    *What is unbiased.* An update of weight w_t counts in round t where I_t = 1, so what it counts in the long run is
    lim (1/T) \sum_t I_t w_t, and a rule without bias makes that 1. As w_t depends on the past alone, E[I_t w_t] =
    E[chance[z_t] w_t]: with independent rounds that is p E[w_t], and w_t tends to 1/p in the mean. Otherwise it is
    something else: the last interval is no estimate of 1/p when clients come in bursts (the time mean of w is not 1/p),
    and yet what it counts is T rounds in T rounds.

    Attributes:
        name: what such participation is called.
        chance: (states,), in [0, 1].
        after_presence, after_absence: (states,), the next state.

    >>> bernoulli(0.5).limit(2)  # an interval is 1 or 2 rounds long, with 1/2 each: p E[S] = 1/2 3/2
    0.75
    """

    name: str
    chance: np.ndarray
    after_presence: np.ndarray
    after_absence: np.ndarray

    @property
    def states(self) -> int:
        return len(self.chance)

    def _steps(self) -> tuple[np.ndarray, np.ndarray]:
        """P(takes part and is in z' next | z), and the same of absence, (states, states) each."""
        here, away = np.zeros((2, self.states, self.states))
        row = np.arange(self.states)
        here[row, self.after_presence], away[row, self.after_absence] = self.chance, 1.0 - self.chance
        return here, away

    @property
    def stationary(self) -> np.ndarray:
        """pi, (states,)."""
        here, away = self._steps()
        return _stationary(here + away)

    @property
    def probability(self) -> float:
        """p = pi chance: the share of the rounds in which the client takes part."""
        return float(self.stationary @ self.chance)

    def limit(self, cutoff: float = math.inf) -> float:
        r"""What p w tends to, of the average w of all intervals, each cut off after ``cutoff`` rounds: p E[S] with the
        stationary law nu of the state in which an interval begins,

            E[S] = \sum_z nu_z \sum_{j < K} P(absent for j rounds | z),

        and 1 without a cutoff.
        """
        if cutoff == math.inf:
            return 1.0
        here, away = self._steps()
        absent, ends, length = np.eye(self.states), np.zeros_like(here), np.zeros(self.states)
        for _ in range(int(cutoff)):
            length += absent.sum(1)
            ends += absent @ here
            absent = absent @ away
            if not absent.any():
                break
        begun = _stationary(ends + absent)  # what is left of ``absent`` is cut off
        return self.probability * float(begun @ length)


def _stationary(steps: np.ndarray) -> np.ndarray:
    """The law that a transition matrix keeps, (states,); the mean of all, where it keeps several."""
    states = len(steps)
    equations = np.vstack([steps.T - np.eye(states), np.ones(states)])
    found: np.ndarray = np.linalg.lstsq(equations, np.r_[np.zeros(states), 1.0], rcond=None)[0]
    return np.maximum(found, 0.0) / np.maximum(found, 0.0).sum()


def _periodic(name: str, chance: Sequence[float]) -> PresenceChain:
    following = np.roll(np.arange(len(chance)), -1)
    return PresenceChain(name, np.array(chance, float), following, following)


def bernoulli(p: float) -> PresenceChain:
    """Independent rounds."""
    return _periodic(f"Bernoulli participation with p = {p:g}", [p])


def markov(p: float) -> PresenceChain:
    """Correlated rounds: absent clients come back with probability p/2, present ones leave with (1-p)/2, so that the
    correlation of two rounds halves with every round between them."""
    return PresenceChain(
        f"Markov participation with p = {p:g}, entry {p / 2:g}",
        np.array([p / 2, (1 + p) / 2]),
        np.array([1, 1]),
        np.array([0, 0]),
    )


def cyclic(p: float) -> PresenceChain:
    """The first p 20 rounds of every 20, from a uniform offset."""
    active = round(p * CYCLE)
    return _periodic(
        f"cyclic participation, {active} rounds of every {CYCLE}", [1.0] * active + [0.0] * (CYCLE - active)
    )


def day_and_night(p: float) -> PresenceChain:
    """Independent rounds, 12 with a high probability and 12 with a low one, from a uniform offset."""
    day = min(1.0, 1.6 * p)
    return _periodic(
        f"participation by day ({day:g}) and night ({2 * p - day:g})", [day] * (DAY // 2) + [2 * p - day] * (DAY // 2)
    )


def recorded(p: float) -> PresenceChain:
    """A trace of 50 rounds without a pattern, of which p 50 are there, again and again, from a uniform offset."""
    trace = np.random.default_rng(0).permutation(TRACE) < round(p * TRACE)
    return _periodic(f"a recorded trace, {trace.sum()} rounds of every {TRACE}", trace.astype(float).tolist())


KINDS = (markov, cyclic, day_and_night, recorded)
"""Rounds that depend on each other, or differ."""


def draw(chains: Sequence[PresenceChain], each: int, rounds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Histories (rounds, clients) uint8 of ``each`` clients of every chain, one chain after the other; and the chances
    with which they take part, given what came before."""
    first = np.cumsum([0, *(chain.states for chain in chains)])[:-1]
    chance = np.concatenate([chain.chance for chain in chains])
    next_states = [
        np.concatenate([getattr(chain, name) + start for chain, start in zip(chains, first, strict=True)])
        for name in ("after_absence", "after_presence")
    ]
    following, rng = np.stack(next_states), np.random.default_rng(seed)
    state = np.concatenate(
        [start + rng.choice(chain.states, each, p=chain.stationary) for chain, start in zip(chains, first, strict=True)]
    )
    history, chances = np.empty((rounds, len(state)), np.uint8), np.empty((rounds, len(state)))
    for t in range(rounds):
        chances[t] = chance[state]
        history[t] = here = (rng.random(len(state)) < chances[t]).view(np.uint8)
        state = following[here, state]
    return history, chances
