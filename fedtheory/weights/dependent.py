r"""Exact weight moments under participation with memory: two-state Markov chains, and cycles.

*Markov.* A client that is absent takes part in the next round with probability ``entry``, one that took part stays
with probability ``stay``; round 0 is drawn from the stationary law p = entry / (entry + 1 - stay). The first interval
begins with round 0. An interval that ends by participation and one that ends at the cutoff leave different
futures, so intervals are not exchangeable, and the mean is no longer E[S; S <= t] + P(S > t). Instead the joint law of
(the round in which the latest interval ended, how, the number M of intervals) is advanced round by round. That is
exact: a finite sum of products of probabilities, with no sampling and nothing cut off, O(T^2) work for T rounds.

*Cycles.* A client takes part in ``active`` consecutive rounds of every ``cycle``, from an offset that is uniform over
the cycle: an average over ``cycle`` histories.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from .estimated_weights import FedAU
from .exact_moments import WeightMoments
from .weight_arguments import check_count, check_cutoff, check_probability

MOST_ROUNDS = 20_000
"""The most rounds. With cutoff K the recursion of `markov_weight_moments` keeps K (T - K) numbers at most: 0.8 GB
here."""


def markov_weight_moments(
    participation_probability: float, entry_probability: float, cutoff: float, rounds: int
) -> WeightMoments:
    """Mean and variance of FedAU's weights of a client whose participation is a stationary two-state Markov chain.

    Args:
        participation_probability: p, the stationary probability of taking part, in (0, 1].
        entry_probability: of taking part in a round after one of absence, in (0, 1] and at most p / (1-p). A client
            that took part leaves with probability entry (1-p) / p. With entry = p rounds are independent.
        cutoff: K, an integer >= 1, or ``math.inf``.
        rounds: T, at most 20,000; rounds are 0 to T-1.

    Raises:
        ValueError: an argument outside its range.

    Source: FedAU, appendix C.6.1, where entry is at most 0.05.

    >>> moments = markov_weight_moments(0.5, 0.25, cutoff=2, rounds=3)  # stay = 3/4
    >>> moments.mean.tolist()  # omega_2 = 2 if absent in round 0: probability 1/2
    [1.0, 1.0, 1.5]
    """
    p, entry, leave = check_chain(participation_probability, entry_probability)
    cutoff, rounds = check_cutoff(cutoff), check_count("rounds", rounds)
    if rounds > MOST_ROUNDS:
        raise ValueError(f"rounds = {rounds}: allowed is 1 to {MOST_ROUNDS}")
    ends = _interval_ends(p, entry, leave, cutoff, rounds)
    longest = int(min(cutoff, rounds))
    ages = np.arange(longest, dtype=float)
    after_cutoff = (1.0 - entry) ** ages
    after_presence = np.r_[1.0, leave * after_cutoff[:-1]]
    before_first = np.zeros(rounds)
    before_first[:longest] = np.r_[1.0, (1.0 - p) * after_cutoff[:-1]]
    mean, square = (
        before_first
        + np.convolve(ends[:, power, 0], after_presence)[:rounds]
        + np.convolve(ends[:, power, 1], after_cutoff)[:rounds]
        for power in (0, 1)
    )
    return WeightMoments(np.array(p), mean, np.maximum(square - mean**2, 0.0))


def check_chain(participation_probability: float, entry_probability: float) -> tuple[float, float, float]:
    """(p, entry, leave) of a stationary chain: leave = entry (1-p) / p.

    Raises:
        ValueError: an argument outside its range, or no chain with that entry has the stationary probability p.

    >>> check_chain(0.5, 0.25)
    (0.5, 0.25, 0.25)
    """
    p = check_probability(participation_probability, never="a chain with entries cannot be absent for ever")
    entry = check_probability(entry_probability, "entry_probability", never="absence would have no end")
    leave = entry * (1.0 - p) / p
    if leave > 1.0 + 1e-12:
        raise ValueError(
            f"entry_probability = {entry_probability!r}: allowed is (0, {p / (1.0 - p)}] "
            f"for participation_probability = {p}"
        )
    return p, entry, min(leave, 1.0)


def _interval_ends(p: float, entry: float, leave: float, cutoff: float, rounds: int) -> np.ndarray:
    """(rounds, 2, 2): for s rounds seen, power 1 and 2, and an end by presence or at the cutoff,

    sum_m (s/m)^power P(the m-th interval ends with round s-1, in this way).

    Arrays over m: ``present`` and ``cut``, the chances of an end now, in either way; ``running``, of an interval that
    is at least one round old. What reaches the cutoff now began ``cutoff`` rounds ago (``begun`` keeps those chances,
    of intervals that can reach it within the horizon).
    """
    absent = 1.0 - entry
    ends = np.zeros((rounds, 2, 2))
    size = rounds + 1
    present, cut, running = np.zeros(size), np.zeros(size), np.zeros(size)
    inverse = np.zeros(size)
    inverse[1:] = 1.0 / np.arange(1, size)
    begun: deque[np.ndarray] = deque()
    for s in range(1, rounds):
        m = slice(0, s + 1)
        idle = running[m] + cut[m]
        starts = np.array([1.0 - p]) if s == 1 else leave * present[:s] + absent * cut[:s]
        entered = (1.0 - leave) * present[m] + entry * idle
        if s == 1:
            entered[0] += p
        if s + cutoff <= rounds:
            begun.append(starts)
        running[m] = absent * running[m]
        running[: len(starts)] += starts
        cut[m] = 0.0
        if s >= cutoff:
            reaching = begun.popleft() * absent ** (cutoff - 1)
            running[: len(reaching)] -= reaching
            cut[1 : len(reaching) + 1] = reaching
        present[1 : s + 1] = entered[:s]
        present[0] = 0.0
        ratio = s * inverse[m]
        for way, chances in enumerate((present[m], cut[m])):
            weighted = chances * ratio
            ends[s, 0, way], ends[s, 1, way] = weighted.sum(), weighted @ ratio
    return ends


def markov_long_run_weight(participation_probability: float, entry_probability: float, cutoff: float) -> float:
    """lim omega_t = E[S], with S an interval of the stationary sequence of intervals; 1/p without a cutoff.

    Interval ends are a two-state chain (by presence, at the cutoff): a share nu of them are cutoffs, with
    nu = (1-nu) c + nu c', where c and c' are the chances that an interval begun after presence, after a cutoff, runs
    into the cutoff.

    Raises:
        ValueError: as `markov_weight_moments`.

    >>> markov_long_run_weight(0.5, 0.25, cutoff=math.inf), markov_long_run_weight(0.5, 0.5, cutoff=2)
    (2.0, 1.5)
    """
    p, entry, leave = check_chain(participation_probability, entry_probability)
    cutoff = check_cutoff(cutoff)
    if cutoff == math.inf:
        return 1.0 / p
    after_cutoff = _sum_of_powers(entry, cutoff)
    after_presence = 1.0 + leave * _sum_of_powers(entry, cutoff - 1)
    runs_in, ends = leave * (1.0 - entry) ** (cutoff - 1), entry * after_cutoff  # 1 - c' = 1 - (1-entry)^K
    share = runs_in / (ends + runs_in)
    return (1.0 - share) * after_presence + share * after_cutoff


def _sum_of_powers(entry: float, terms: float) -> float:
    """sum_{j < terms} (1 - entry)^j."""
    return 1.0 if entry == 1.0 and terms else -math.expm1(terms * math.log1p(-entry)) / entry if entry < 1.0 else 0.0


def cyclic_weight_moments(active: int, cycle: int, cutoff: float, rounds: int) -> WeightMoments:
    """Mean and variance of FedAU's weights of a client that takes part in ``active`` rounds out of every ``cycle``.

    The active rounds follow each other; the offset is uniform over the cycle. p = active / cycle.

    Args:
        active: 1 to ``cycle``.
        cycle: rounds a cycle.
        cutoff: K, an integer >= 1, or ``math.inf``.
        rounds: T; rounds are 0 to T-1.

    Raises:
        ValueError: an argument outside its range.

    Source: FedAU, appendix C.6.1, with cycles of 100 rounds.

    >>> cyclic_weight_moments(active=1, cycle=2, cutoff=math.inf, rounds=4).mean.tolist()  # 1 0 1 0 and 0 1 0 1
    [1.0, 1.0, 1.5, 1.75]
    """
    active, cycle = _check_cycle(active, cycle)
    rounds = check_count("rounds", rounds)
    place = np.arange(rounds)[:, None] + np.arange(cycle)
    weights = FedAU(cutoff).batch(place % cycle < active)
    return WeightMoments(np.array(active / cycle), weights.mean(axis=1), weights.var(axis=1))


def cyclic_long_run_weight(active: int, cycle: int, cutoff: float) -> float:
    """lim omega_t: ``cycle`` over the number of intervals that a cycle is cut into.

    A cycle has active - 1 intervals of one round, and a gap of cycle - active + 1 rounds up to the next participation
    that is cut into ceil(gap / K) intervals.

    Raises:
        ValueError: as `cyclic_weight_moments`.

    >>> cyclic_long_run_weight(active=1, cycle=100, cutoff=50), cyclic_long_run_weight(1, 100, math.inf)
    (50.0, 100.0)
    """
    active, cycle = _check_cycle(active, cycle)
    cutoff, gap = check_cutoff(cutoff), cycle - active + 1
    pieces = 1 if cutoff == math.inf else -(-gap // cutoff)
    return cycle / (active - 1 + pieces)


def _check_cycle(active: int, cycle: int) -> tuple[int, int]:
    cycle = check_count("cycle", cycle)
    active = check_count("active", active, f"an integer from 1 to cycle = {cycle}")
    if active > cycle:
        raise ValueError(f"active = {active}: allowed is an integer from 1 to cycle = {cycle}")
    return active, cycle
