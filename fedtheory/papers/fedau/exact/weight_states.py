r"""Runs under the weights of FedAU's Algorithm 2, exactly: the states of the weights, and what follows from these.

A weight is a function of how many intervals have ended and how many rounds they cover; so is what it becomes. A run's
moments are followed state by state, since x_t depends on the weights before. Numbers are floats, Fractions or balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import mul
from typing import Any

from .weighted_update_rounds import (
    Law,
    Row,
    Training,
    Unfollowed,
    WeightedRounds,
    mean,
    minimiser,
    total,
    training,
)

LARGEST_STATES = 20_000
"""Largest number of states of weights that are followed, over all rounds of a run."""

MOST_CLIENTS = 12
"""Largest number of clients all of whose sets are looked at."""

State = tuple[tuple[int, int], ...]
"""State of the weights: for each client, the number of intervals that have ended, and of the rounds that they cover."""


def weight_of(client: tuple[int, int]) -> Fraction:
    """Return the weight of a client in this state: the mean of its intervals, or 1 where none has ended.

    >>> weight_of((2, 7)), weight_of((0, 0))
    (Fraction(7, 2), Fraction(1, 1))
    """
    count, covered = client
    return Fraction(covered, count) if count else Fraction(1)


def following(state: State, present: Sequence[int], round: int, cutoff: int | float) -> State:
    """Return the state after a round: an interval ends with a client's participation, or after ``cutoff`` rounds.

    >>> following(((1, 1), (1, 1), (1, 1)), (1, 0, 0), round=2, cutoff=2)
    ((2, 3), (2, 3), (2, 3))
    """
    return tuple(
        (count + 1, round + 1) if here or round + 1 - covered == cutoff else (count, covered)
        for (count, covered), here in zip(state, present, strict=True)
    )


def attendances(probabilities: Row) -> list[tuple[Any, tuple[int, ...]]]:
    """List (chance, participants) for all sets of participants with a positive chance.

    Raises:
        Unfollowed: there are more than ``MOST_CLIENTS`` clients.

    >>> [(str(chance), who) for chance, who in attendances((Fraction(1, 3), Fraction(1)))]
    [('2/3', (0, 1)), ('1/3', (1, 1))]
    """
    if len(probabilities) > MOST_CLIENTS:
        raise Unfollowed(f"clients = {len(probabilities)}: all sets of at most {MOST_CLIENTS} are looked at")
    sets = product(*[[here for here in (0, 1) if (p if here else 1 - p) != 0] for p in probabilities])
    return [
        (reduce(mul, [p if here else 1 - p for p, here in zip(probabilities, who, strict=True)]), who) for who in sets
    ]


def estimated_sums(rounds: WeightedRounds, objective: Row, horizons: Sequence[int]) -> list[Any]:
    """Compute sum_{t<T} E|grad of sum_n phi_n F_n (x_t)|^2 under Algorithm 2's weights, for each horizon T.

    Raises:
        Unfollowed: the weights have too many states.
    """
    curvatures, origin = minimiser(rounds, objective)
    columns, sets = training(rounds, origin), attendances(rounds.probabilities)
    shifted = [x - o for x, o in zip(rounds.start, origin, strict=True)]
    one, cutoff = rounds.local_lr * 0 + 1, rounds.estimated_cutoff
    # By state: its chance, then E[y; state] and E[y^2; state] of every coordinate.
    moments = {((0, 0),) * rounds.clients: [one, *(v for y in shifted for v in (one * y, one * y * y))]}
    sums, found, seen = one * 0, {}, 0
    for t in range(max(horizons)):
        seen += len(moments)
        if seen > LARGEST_STATES:
            raise Unfollowed(f"the weights have more than {LARGEST_STATES} states")
        for values in moments.values():
            sums = sums + total([h**2 * v for h, v in zip(curvatures, values[2::2], strict=True)])
        found[t + 1] = sums
        if t + 1 == max(horizons):
            break
        moved: dict[State, list[Any]] = {}
        for state, values in moments.items():
            weights = [one * weight_of(client) for client in state]
            for chance, who in sets:
                after = following(state, who, t, cutoff)
                here = [n for n, present in enumerate(who) if present]
                parts = _after(rounds, columns, values, weights, here) if here else values
                parts = [chance * v for v in parts]
                moved[after] = [a + b for a, b in zip(moved[after], parts, strict=True)] if after in moved else parts
        moments = moved
    return [found[horizon] for horizon in horizons]


def _after(
    rounds: WeightedRounds,
    columns: Sequence[Sequence[Training]],
    values: Sequence[Any],
    weights: Sequence[Any],
    here: list[int],
) -> list[Any]:
    """The moments after a round in which exactly the clients ``here`` take part, one at least."""
    moved, s, chance = [values[0]], rounds.local_lr * rounds.global_lr / rounds.clients, values[0]
    for d, column in enumerate(columns):
        first, second = values[1 + 2 * d], values[2 + 2 * d]
        keep = 1 - s * total([weights[n] * column[n].slope for n in here])
        move = -s * total([weights[n] * column[n].offset for n in here])
        noise = s * s * total([weights[n] * weights[n] * column[n].noise for n in here])
        moved += [
            keep * first + move * chance,
            keep * keep * second + 2 * keep * move * first + (move * move + noise) * chance,
        ]
    return moved


# What the weights tell about who took part ----------------------------------------------------------------------------


def law_given_weights(probabilities: Row, cutoff: int | float, history: Sequence[Sequence[int]]) -> Law:
    """Return the law of round 0's participants, given the estimated weights of all rounds.

    The weights are those that this history leads to.

    Raises:
        ValueError: the history has no positive probability.

    >>> law_given_weights((Fraction(9, 10),), 2, [(0,), (1,)])  # omega_2 = 2: it was away
    [(Fraction(1, 1), (0,))]
    """
    if not history:
        return [(1, probabilities)]
    sets = attendances(probabilities)
    state = known = ((0, 0),) * len(probabilities)
    # By participants of round 0 and state: the chance of both, with the known weights.
    chances: dict[tuple[tuple[int, ...], State], Any] = {((), state): 1}
    for t, row in enumerate(history):
        known = following(known, row, t, cutoff)
        moved: dict[tuple[tuple[int, ...], State], Any] = {}
        for (first, before), chance in chances.items():
            for one, who in sets:
                after = following(before, who, t, cutoff)
                if [*map(weight_of, after)] == [*map(weight_of, known)]:
                    key = first or who, after
                    moved[key] = moved.get(key, 0) + chance * one
        chances = moved
    if not chances:
        raise ValueError("history: allowed is one that has a positive probability")
    whole = total(list(chances.values()))
    firsts: dict[tuple[int, ...], Any] = {}
    for (first, _), chance in chances.items():
        firsts[first] = firsts.get(first, 0) + chance / whole
    return [(chance, who) for who, chance in firsts.items()]


def participation_given_scale(
    probabilities: Row, cutoff: int | float, rounds: int
) -> dict[Fraction, tuple[Fraction, Row]]:
    """Return the law of Q = max_{t<T} (1/N) sum_n p_n omega_n^2 under Algorithm 2, and participation given its value.

    Each value of Q has its chance, and P(client n takes part in round 0 | Q). Where that is not p_n, a step that is
    chosen by Q is not independent of who takes part.

    >>> found = participation_given_scale((Fraction(9, 10),), cutoff=2, rounds=3)
    >>> {str(Q): (str(chance), *map(str, first)) for Q, (chance, first) in found.items()}
    {'18/5': ('1/10', '0'), '9/10': ('9/10', '1')}
    """
    sets, clients = attendances(probabilities), len(probabilities)
    state = ((0, 0),) * clients
    chances: dict[tuple[Any, tuple[int, ...], State], Any] = {(mean(probabilities), (), state): 1}
    for t in range(rounds - 1):
        moved: dict[tuple[Any, tuple[int, ...], State], Any] = {}
        for (largest, first, before), chance in chances.items():
            for one, who in sets:
                after = following(before, who, t, cutoff)
                now = mean([p * weight_of(c) ** 2 for p, c in zip(probabilities, after, strict=True)])
                key = max(largest, now), first or who, after
                moved[key] = moved.get(key, 0) + chance * one
        chances = moved
    found: dict[Fraction, tuple[Fraction, Row]] = {}
    for (largest, first, _), chance in chances.items():
        whole, present = found.get(largest, (0, (0,) * clients))
        there = first or probabilities  # Q of one round tells nothing
        found[largest] = whole + chance, tuple(a + chance * b for a, b in zip(present, there, strict=True))
    return {Q: (whole, tuple(one / whole for one in present)) for Q, (whole, present) in found.items()}
