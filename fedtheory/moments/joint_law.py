"""Participants with a memory: the joint law of where the participation stands and of the iterate.

A finite Markov chain s_0, s_1, ..., whose state says who takes part in the round, is followed together with the lifted
state z of the algorithm (see ``linear_rounds``): with Z_s(r) = E[z_r z_r^T 1(s_r = s)],

    Z_t(r + 1) = sum_s P(s -> t) (what a round with the participants of s makes of Z_s(r)),

and E z_r z_r^T is the sum over s. The sizes multiply: these are exact numbers of small federations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor, prod

import numpy as np

from ..participation import Cyclic, Incomplete, Markov, Participation
from .weight_draws import Draws, draws_of_set

LARGEST, LARGEST_EXACT, LARGEST_IN_BALLS = 2500, 1024, 1100
"""The most numbers that a recursion may have, in floats, in Fractions and in balls: its operator has as many rows and
columns."""


@dataclass(frozen=True)
class Chain:
    """A Markov chain of participants; numbers are Fractions.

    Attributes:
        sets: who takes part in each state.
        initial: (states,), the law of s_0, which is stationary.
        transitions: (states, states), [s, t] = P(s -> t).
    """

    sets: tuple[tuple[int, ...], ...]
    initial: np.ndarray
    transitions: np.ndarray

    def draws(self, clients: int) -> list[Draws]:
        """Return the draws of the participants in each state of the chain."""
        return [draws_of_set(members, clients) for members in self.sets]

    def operator(self, of_state: Sequence[np.ndarray]) -> np.ndarray:
        """Return the operator on (Z_s)_s from those of a round in each state, (*blocks, states * size, states *
        size)."""
        if len(of_state) == 1:
            return of_state[0]
        transitions = self.transitions.astype(of_state[0].dtype)
        return np.block([[p * of for p, of in zip(column, of_state, strict=True)] for column in transitions.T])

    def spread(self, start: np.ndarray) -> np.ndarray:
        """Spread a start that does not depend on the chain over the chain's initial states, (*blocks, states *
        size)."""
        each = self.initial.astype(start.dtype)[:, None] * start[..., None, :]
        return each.reshape(*start.shape[:-1], -1)

    def summed(self, weight: np.ndarray) -> np.ndarray:
        """Return the row vector on (Z_s)_s that stands for ``weight`` on their sum."""
        return np.concatenate([weight] * len(self.sets), axis=-1)


ALONE = Chain(((),), np.array([Fraction(1)], dtype=object), np.array([[Fraction(1)]], dtype=object))
"""The chain of participants whose rounds are independent: one state, of whose set nobody asks."""


@dataclass(frozen=True)
class _Client:
    """One client's chain: its initial law, its transitions, and in which states it takes part."""

    initial: list[Fraction]
    transitions: np.ndarray
    on: list[bool]


def chain_of(process: Participation, clients: int) -> Chain:
    """Return the chain of a process whose rounds depend on each other; ``ALONE`` where they do not.

    Raises:
        ValueError: the process has more than ``LARGEST`` states, or none that are known.

    >>> from fedtheory.participation import Markov
    >>> chain = chain_of(Markov(["1/2", 1], ["1/4", 1]), 2)
    >>> chain.sets, chain.transitions[0].tolist()
    (((1,), (0, 1)), [Fraction(3, 4), Fraction(1, 4)])
    """
    if process.independent_rounds:
        return ALONE
    process.check(clients)
    alone = _clients(process, clients)
    states = prod(len(client.on) for client in alone)
    check_size(states, f"participation = {type(process).__name__} of {clients} clients", f"{states} joint states")
    sets = [tuple(i for i, on in enumerate(state) if on) for state in product(*(client.on for client in alone))]
    initial, transitions = np.array([Fraction(1)], dtype=object), np.array([[Fraction(1)]], dtype=object)
    for client in alone:
        initial = np.kron(initial, np.array(client.initial, dtype=object))
        transitions = np.kron(transitions, client.transitions)
    return Chain(tuple(sets), initial, transitions)


def check_size(numbers: int, what: str, how: str, exact: bool = False, in_balls: bool = False) -> None:
    """Raise ``ValueError`` if a recursion would have more numbers than ``LARGEST``, ``LARGEST_EXACT`` or, ``in_balls``,
    ``LARGEST_IN_BALLS``."""
    largest = LARGEST_IN_BALLS if in_balls else LARGEST_EXACT if exact else LARGEST
    if numbers > largest:
        kind = "balls" if in_balls else "Fractions" if exact else "numbers"
        raise ValueError(f"{what}: {how} make an exact recursion of {numbers} {kind}; allowed are at most {largest}")


def check_entries(coordinates: int, numbers: int, what: str, exact: bool = False) -> None:
    """Raise ``ValueError`` if recursions of coordinates that evolve alone, each of so many ``numbers``, are too large.

    Their operators may have as many entries in all as one of ``LARGEST``, or ``LARGEST_EXACT``, numbers.
    """
    largest = (LARGEST_EXACT if exact else LARGEST) ** 2
    if coordinates * numbers**2 > largest:
        raise ValueError(
            f"{what}: {coordinates} recursions of {numbers} numbers have {coordinates * numbers**2} "
            f"entries; allowed are at most {largest}"
        )


def _clients(process: Participation, clients: int) -> list[_Client]:
    never = _Client([Fraction(1)], np.array([[Fraction(1)]], dtype=object), [False])
    match process:
        case Incomplete():
            here = iter(_clients(process.process, clients - len(process.absent)))
            return [never if i in process.absent else next(here) for i in range(clients)]
        case Markov():
            both = zip(process.probabilities, process.transitions(clients), strict=True)
            return [_two_states(p, transitions) for p, transitions in both]
        case Cyclic():
            return [_cycle(process.period, p * process.period) for p in process.law]
    raise ValueError(
        f"participation = {type(process).__name__}: its rounds depend on each other, in no way that an exact recursion "
        "follows; allowed are processes with independent rounds, Markov and Cyclic"
    )


def _two_states(p: Fraction, transitions: np.ndarray) -> _Client:
    if p in (0, 1):
        return _Client([Fraction(1)], np.array([[Fraction(1)]], dtype=object), [p == 1])
    return _Client([1 - p, p], transitions, [False, True])


def _cycle(period: int, mean: Fraction) -> _Client:
    """A place in the cycle for each length that the active part may have, the two whole numbers next to its mean; one
    state where it is all or nothing."""
    initial: list[Fraction] = []
    on: list[bool] = []
    successors: list[int] = []
    for active, weight in ((floor(mean), 1 - mean + floor(mean)), (floor(mean) + 1, mean - floor(mean))):
        if weight > 0:
            places = 1 if active in (0, period) else period
            successors += [len(on) + (place + 1) % places for place in range(places)]
            initial += [weight / places] * places
            on += [place < active for place in range(places)]
    transitions = np.full((len(on), len(on)), Fraction(0), dtype=object)
    transitions[range(len(on)), successors] = Fraction(1)
    return _Client(initial, transitions, on)
