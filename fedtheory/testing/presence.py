"""Participation of a client as a finite Markov chain, and the limit of the average of its intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CYCLE, TRACE, DAY = 20, 50, 24
"""Number of rounds of a cycle, of a recorded trace, and of a day with its night."""


@dataclass(frozen=True)
class PresenceChain:
    r"""Markov chain of a client that takes part with probability ``chance[z]`` in a round that finds it in state z.

    Its next state is ``after_presence[z]`` or ``after_absence[z]``. Runs begin in the stationary law pi.

    *What is unbiased.* An update of weight w_t counts in round t where I_t = 1. Its long-run average is
    lim (1/T) \sum_t I_t w_t, which is 1 for a rule without bias. As w_t depends on the past alone,
    E[I_t w_t] = E[chance[z_t] w_t]. With independent rounds that is p E[w_t], so w_t tends to 1/p in the mean. In
    general it is not: when clients come in bursts, the time mean of the last interval is not 1/p. Yet the last
    interval is unbiased, as it counts T rounds in T rounds.

    Attributes:
        name: the name of this kind of participation, for messages.
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
        """Number of states."""
        return len(self.chance)

    def _steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Return P(takes part and is in z' next | z) and P(is absent and is in z' next | z), (states, states) each."""
        here, away = np.zeros((2, self.states, self.states))
        row = np.arange(self.states)
        here[row, self.after_presence], away[row, self.after_absence] = self.chance, 1.0 - self.chance
        return here, away

    @property
    def stationary(self) -> np.ndarray:
        """Stationary law pi, (states,)."""
        here, away = self._steps()
        return _stationary(here + away)

    @property
    def probability(self) -> float:
        """Share of the rounds in which the client takes part, p = pi chance."""
        return float(self.stationary @ self.chance)

    def limit(self, cutoff: float = math.inf) -> float:
        r"""Return the limit of p w, where w averages all intervals, each cut off after ``cutoff`` rounds.

        Without a cutoff it is 1. With a cutoff K it is p E[S], with

            E[S] = \sum_z nu_z \sum_{j < K} P(absent for j rounds | z)

        and the stationary law nu of the state in which an interval begins.
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
    """Return the stationary law of a transition matrix, (states,); if there are several, one of them."""
    states = len(steps)
    equations = np.vstack([steps.T - np.eye(states), np.ones(states)])
    found: np.ndarray = np.linalg.lstsq(equations, np.r_[np.zeros(states), 1.0], rcond=None)[0]
    return np.maximum(found, 0.0) / np.maximum(found, 0.0).sum()


def _periodic(name: str, chance: Sequence[float]) -> PresenceChain:
    following = np.roll(np.arange(len(chance)), -1)
    return PresenceChain(name, np.array(chance, float), following, following)


def bernoulli(p: float) -> PresenceChain:
    """Build the chain of independent rounds with probability p."""
    return _periodic(f"Bernoulli participation with p = {p:g}", [p])


def markov(p: float) -> PresenceChain:
    """Build a chain of correlated rounds: absent clients return with probability p/2, present ones leave with (1-p)/2.

    The correlation of two rounds halves with every round between them.
    """
    return PresenceChain(
        f"Markov participation with p = {p:g}, entry {p / 2:g}",
        np.array([p / 2, (1 + p) / 2]),
        np.array([1, 1]),
        np.array([0, 0]),
    )


def cyclic(p: float) -> PresenceChain:
    """Build a cycle with the first 20 p rounds of every 20, from a uniform offset."""
    active = round(p * CYCLE)
    return _periodic(
        f"cyclic participation, {active} rounds of every {CYCLE}", [1.0] * active + [0.0] * (CYCLE - active)
    )


def day_and_night(p: float) -> PresenceChain:
    """Build a day of independent rounds, 12 with a high probability and 12 with a low one, from a uniform offset."""
    day = min(1.0, 1.6 * p)
    return _periodic(
        f"participation by day ({day:g}) and night ({2 * p - day:g})", [day] * (DAY // 2) + [2 * p - day] * (DAY // 2)
    )


def recorded(p: float) -> PresenceChain:
    """Build a repeated trace of 50 rounds, 50 p of them present and without a pattern, from a uniform offset."""
    trace = np.random.default_rng(0).permutation(TRACE) < round(p * TRACE)
    return _periodic(f"a recorded trace, {trace.sum()} rounds of every {TRACE}", trace.astype(float).tolist())


KINDS = (markov, cyclic, day_and_night, recorded)
"""Builders of chains whose rounds depend on each other, or differ."""


def draw(
    chains: Sequence[PresenceChain], each: int, rounds: int, seed: int | tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw histories of ``each`` clients of every chain, one chain after the other.

    Returns:
        The histories (rounds, clients) as uint8, and the probabilities (rounds, clients) of taking part, given the
        rounds before.
    """
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
