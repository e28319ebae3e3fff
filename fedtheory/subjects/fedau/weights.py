r"""The weights of FedAU's Algorithm 2 along its runs: the states that they can be in, and what claims ask of them.

A weight is a function of how many intervals have ended and how many rounds they cover; so is what it becomes. A run's
moments are followed state by state, since x_t depends on the weights before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...claims.undecided import Undecided
from .exact import FedauRun, Law, Row, Training, attendances, mean, minimiser, total, training

LARGEST_STATES = 20_000
"""States of weights, over all rounds of a run, that are followed."""

State = tuple[tuple[int, int], ...]
"""By client: (intervals that have ended, rounds that they cover)."""


def weight_of(client: tuple[int, int]) -> Fraction:
    """The weight of a client in this state: the mean of its intervals, or 1 where none has ended.

    >>> weight_of((2, 7)), weight_of((0, 0))
    (Fraction(7, 2), Fraction(1, 1))
    """
    count, covered = client
    return Fraction(covered, count) if count else Fraction(1)


def following(state: State, present: Sequence[int], round: int, cutoff: int | float) -> State:
    """The state after a round: an interval ends with a client's participation, or after ``cutoff`` rounds."""
    return tuple(
        (count + 1, round + 1) if here or round + 1 - covered == cutoff else (count, covered)
        for (count, covered), here in zip(state, present, strict=True)
    )


def weight_states(probabilities: Row, cutoff: int | float, rounds: int) -> Iterator[dict[State, Any]]:
    """The chances of the states that weights are in, in rounds 0 to ``rounds`` - 1.

    Raises:
        Undecided: there are more than ``LARGEST_STATES``.
    """
    sets, states = attendances(probabilities), {((0, 0),) * len(probabilities): probabilities[0] * 0 + 1}
    seen = 0
    for t in range(rounds):
        yield states
        seen += len(states)
        if seen > LARGEST_STATES:
            raise Undecided(f"the weights have more than {LARGEST_STATES} states")
        moved: dict[State, Any] = {}
        for state, chance in states.items():
            for one, who in sets:
                after = following(state, who, t, cutoff)
                moved[after] = moved.get(after, 0) + chance * one
        states = moved


def estimated_sum(run: FedauRun, objective: Row) -> Any:
    """sum_{t<T} E|grad of sum_n phi_n F_n (x_t)|^2 under Algorithm 2's weights.

    Raises:
        Undecided: the weights have too many states.
    """
    curvatures, origin = minimiser(run, objective)
    columns, sets = training(run, origin), attendances(run.probabilities)
    shifted = [x - o for x, o in zip(run.start, origin, strict=True)]
    one = run.local_lr * 0 + 1
    # By state: its chance, then E[y; state] and E[y^2; state] of every coordinate.
    moments = {((0, 0),) * run.clients: [one, *(v for y in shifted for v in (one * y, one * y * y))]}
    sums, seen = one * 0, 0
    for t in range(run.rounds):
        seen += len(moments)
        if seen > LARGEST_STATES:
            raise Undecided(f"the weights have more than {LARGEST_STATES} states")
        for values in moments.values():
            sums = sums + total([h**2 * v for h, v in zip(curvatures, values[2::2], strict=True)])
        if t == run.rounds - 1:
            break
        moved: dict[State, list[Any]] = {}
        for state, values in moments.items():
            weights = [one * weight_of(client) for client in state]
            for chance, who in sets:
                after = following(state, who, t, run.weights.cutoff)
                here = [n for n, present in enumerate(who) if present]
                parts = _after(run, columns, values, weights, here) if here else values
                parts = [chance * v for v in parts]
                moved[after] = [a + b for a, b in zip(moved[after], parts, strict=True)] if after in moved else parts
        moments = moved
    return sums


def _after(
    run: FedauRun, columns: Sequence[Sequence[Training]], values: Sequence[Any], weights: Sequence[Any], here: list[int]
) -> list[Any]:
    """The moments after a round in which exactly the clients ``here`` take part, one at least."""
    moved, s, chance = [values[0]], run.local_lr * run.global_lr / run.clients, values[0]
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


def law_given_weights(run: FedauRun) -> Law:
    """Who takes part in round 0, given the estimated weights of all rounds, which are those that ``run.history`` leads
    to.

    Raises:
        ValueError: the history has no positive probability.
    """
    sets = attendances(run.probabilities)
    state = known = ((0, 0),) * run.clients
    # By participants of round 0 and state: the chance of both, with the known weights.
    chances: dict[tuple[tuple[int, ...], State], Any] = {((), state): 1}
    for t, row in enumerate(run.history):
        known = following(known, row, t, run.weights.cutoff)
        moved: dict[tuple[tuple[int, ...], State], Any] = {}
        for (first, before), chance in chances.items():
            for one, who in sets:
                after = following(before, who, t, run.weights.cutoff)
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


# Summaries ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightSummary:
    """What claims ask of the weights of rounds 0 to T-1.

    Attributes:
        error: W, the mean over clients and rounds of E[(p omega - 1)^2].
        peak_error: the largest mean over clients of (p omega - 1)^2 in a round; for estimated weights the least number
            that it never exceeds.
        scale: Q, the largest mean over clients of p omega^2; the same.
        expected_scale: the mean over clients and rounds of E[p omega^2].
    """

    error: Any
    peak_error: Any
    scale: Any
    expected_scale: Any


def given_summary(run: FedauRun, rounds: int) -> WeightSummary:
    """Of given weights over so many rounds."""
    rows = run.weights.rows
    errors, scales = ([mean([f(p, w) for p, w in zip(run.probabilities, row, strict=True)]) for row in rows]
                      for f in (squared_error, scale))  # fmt: skip
    cycles, rest = divmod(rounds, len(rows))
    averages = [total([v * (cycles + (i < rest)) for i, v in enumerate(values)]) / rounds
                for values in (errors, scales)]  # fmt: skip
    return WeightSummary(averages[0], max(errors[:rounds]), max(scales[:rounds]), averages[1])


def estimated_summary(probabilities: Row, cutoff: int | float, rounds: int) -> WeightSummary:
    """Of Algorithm 2's weights: expectations by the law of one client at a time, extremes in closed form."""
    error = expected = zero = probabilities[0] * 0
    for p in probabilities:
        for states in weight_states((p,), cutoff, rounds):
            for (client,), chance in states.items():
                w = zero + weight_of(client)
                error, expected = error + chance * squared_error(p, w), expected + chance * scale(p, w)
    count = rounds * len(probabilities)
    return WeightSummary(
        error / count, largest_weight_error(probabilities, cutoff, rounds),
        largest_weight_scale(probabilities, cutoff, rounds), expected / count,
    )  # fmt: skip


def squared_error(p: Any, weight: Any) -> Any:
    """(p omega - 1)^2."""
    return (p * weight - 1) ** 2


def scale(p: Any, weight: Any) -> Any:
    """p omega^2."""
    return p * weight**2


def longest_interval(cutoff: int | float, rounds: int) -> int:
    """The largest weight of a client that may be absent: away until it is cut off, or until round T - 2."""
    return int(max(1, min(cutoff, rounds - 1)))


def largest_weight_error(probabilities: Row, cutoff: int | float, rounds: int) -> Any:
    """The least number that max_t (1/N) sum_n (p_n omega_t^n - 1)^2 never exceeds under Algorithm 2.

    In round t >= 1 the weight of a client with p < 1 is at least 1, which it is if the client always took part, and at
    most m = min(K, t), which it is if it was away before; the other clients' weights are independent of it. As
    (p omega - 1)^2 is convex in omega, it is at most max((1 - p)^2, (p m - 1)^2), the more the larger m is.

    >>> largest_weight_error((Fraction(9, 10), Fraction(1)), 5, 3), largest_weight_error((Fraction(9, 10),), 1, 99)
    (Fraction(8, 25), Fraction(1, 100))
    """
    longest = longest_interval(cutoff, rounds)
    return mean([max(squared_error(p, 1), squared_error(p, 1 if p == 1 else longest)) for p in probabilities])


def largest_weight_scale(probabilities: Row, cutoff: int | float, rounds: int) -> Any:
    """The least number that Q = max_t (1/N) sum_n p_n omega_n^2 never exceeds under Algorithm 2; see
    ``fedtheory.weights.largest_scale``.

    >>> largest_weight_scale((Fraction(1, 2), Fraction(1)), 3, 10)
    Fraction(11, 4)
    """
    longest = longest_interval(cutoff, rounds)
    return mean([scale(p, 1 if p == 1 else longest) for p in probabilities])


def participation_given_scale(
    probabilities: Row, cutoff: int | float, rounds: int
) -> dict[Fraction, tuple[Fraction, Row]]:
    """By value of Q = max_{t<T} (1/N) sum_n p_n omega_n^2 under Algorithm 2: its chance, and P(client n takes part in
    round 0 | Q). Where that is not p_n, a step that is chosen by Q is not independent of who takes part.

    >>> found = participation_given_scale((Fraction(9, 10),), cutoff=2, rounds=3)
    >>> {str(Q): (str(chance), *map(str, first)) for Q, (chance, first) in found.items()}
    {'18/5': ('1/10', '0'), '9/10': ('9/10', '1')}
    """
    sets, clients = attendances(probabilities), len(probabilities)
    state = ((0, 0),) * clients
    first_scale = mean([scale(p, Fraction(1)) for p in probabilities])
    chances: dict[tuple[Any, tuple[int, ...], State], Any] = {(first_scale, (), state): 1}
    for t in range(rounds - 1):
        moved: dict[tuple[Any, tuple[int, ...], State], Any] = {}
        for (largest, first, before), chance in chances.items():
            for one, who in sets:
                after = following(before, who, t, cutoff)
                now = mean([scale(p, weight_of(c)) for p, c in zip(probabilities, after, strict=True)])
                key = max(largest, now), first or who, after
                moved[key] = moved.get(key, 0) + chance * one
        chances = moved
    found: dict[Fraction, tuple[Fraction, Row]] = {}
    for (largest, first, _), chance in chances.items():
        whole, present = found.get(largest, (0, (0,) * clients))
        found[largest] = whole + chance, tuple(a + chance * b for a, b in zip(present, first, strict=True))
    return {Q: (whole, tuple(one / whole for one in present)) for Q, (whole, present) in found.items()}
