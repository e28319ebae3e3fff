"""SAFARI's Theorem 1, its construction and what it really gives.

Two points, of which x_2 has probability p; two targets that agree at x_1 and differ at x_2. Of N = M n samples m n
are used. Whoever chooses them can keep x_2 out if it came up at most k = (M - m) n times. Then the learner sees the
same data under both targets, and errs on x_2 under one of them: its error is p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..arguments import check_count
from .tails import LARGEST_EXACT, binomial_tail, check_probability, log_tail

CLAIMED_PROBABILITY = Fraction(1, 20)
"""The probability that Theorem 1 claims."""

LEARNERS = ("deterministic", "any")
"""A learner that returns one hypothesis for one data set; or one that may draw lots."""


def capacity(participants: int, clients: int) -> Fraction:
    """omega = m/M, the share of the clients that take part.

    Raises:
        ValueError: it is not in (0, 1).

    >>> capacity(1, 4)
    Fraction(1, 4)
    >>> capacity(4, 4)
    Traceback (most recent call last):
    ValueError: capacity = 4/4: allowed is a number in (0, 1), that is 1 <= participants < clients
    """
    m, M = check_count("participants", participants, least=0), check_count("clients", clients)
    if not 0 < m < M:
        raise ValueError(f"capacity = {m}/{M}: allowed is a number in (0, 1), that is 1 <= participants < clients")
    return Fraction(m, M)


@dataclass(frozen=True)
class TwoPoints:
    """The two-point problem of Theorem 1 of SAFARI.

    Args:
        clients: M. participants: m, 1 <= m < M. samples_per_client: n.
        rare_mass: p, the probability of x_2; by default that of the proof, 4 epsilon = (1 - omega)/2.

    Raises:
        ValueError: a capacity outside (0, 1), or a probability outside [0, 1].

    Source: SAFARI, section 3.1 and appendix A.

    >>> problem = TwoPoints(clients=2, participants=1, samples_per_client=1)
    >>> problem.rare_mass, problem.spare, problem.hidden(), problem.failure("any")
    (Fraction(1, 4), 1, Fraction(15, 16), Fraction(15, 32))
    """

    clients: int
    participants: int
    samples_per_client: int
    rare_mass: Any = None

    def __post_init__(self) -> None:
        omega = capacity(self.participants, self.clients)
        check_count("samples_per_client", self.samples_per_client)
        p = (1 - omega) / 2 if self.rare_mass is None else check_probability("rare_mass", self.rare_mass)
        object.__setattr__(self, "rare_mass", p)

    @property
    def capacity(self) -> Fraction:
        """The capacity omega = m/M."""
        return Fraction(self.participants, self.clients)

    @property
    def samples(self) -> int:
        """The number of samples N = M n."""
        return self.clients * self.samples_per_client

    @property
    def spare(self) -> int:
        """The number of samples that are left out, k = (M - m) n."""
        return (self.clients - self.participants) * self.samples_per_client

    @property
    def claimed_error(self) -> Fraction:
        """The error (1 - omega)/8 that Theorem 1 claims."""
        return (1 - self.capacity) / 8

    def hidden(self) -> Fraction:
        """P[x_2 comes up at most k times in N], exactly; samples are chosen one by one.

        Raises:
            ValueError: too many samples for Fractions; ``log_shown`` takes them.
        """
        return 1 - binomial_tail(self.samples, self.rare_mass, self.spare)

    def log_shown(self) -> float:
        """Compute log P[x_2 comes up more than k times], for any number of samples.

        >>> round(math.exp(TwoPoints(10**6, 10**6 - 1, 10**6).log_shown()), 12)
        0.0
        """
        return log_tail(self.samples, self.rare_mass, self.spare)

    def hidden_by_clients(self) -> Fraction:
        """P[m of the M clients have no x_2 at all]: whole clients are chosen, and all have the same law.

        >>> TwoPoints(2, 1, 1).hidden_by_clients(), TwoPoints(2, 1, 10).hidden_by_clients() < Fraction(1, 9)
        (Fraction(15, 16), True)
        """
        if self.samples > LARGEST_EXACT:
            raise ValueError(f"clients * samples_per_client = {self.samples}: allowed is at most {LARGEST_EXACT}")
        clean = (1 - self.rare_mass) ** self.samples_per_client
        return binomial_tail(self.clients, clean, self.participants - 1)

    def log_shown_by_clients(self) -> float:
        """Compute log P[fewer than m of the M clients have no x_2], for any number of samples."""
        p = float(self.rare_mass)
        log_clean = self.samples_per_client * math.log1p(-p) if p < 1 else -math.inf
        return log_tail(self.clients, -math.expm1(log_clean), self.clients - self.participants)

    def failure(self, learner: str = "deterministic") -> Fraction:
        """Compute the least over learners of the largest over the two targets of P[error >= p].

        A deterministic learner returns the same hypothesis whenever x_2 is hidden, since it sees x_1 with one label
        m n times; under one target it errs each time. One that draws lots errs half of the time under one of them.
        Where x_2 is shown, both may know the target.

        >>> TwoPoints(2, 1, 1).failure() > 18 * CLAIMED_PROBABILITY
        True
        """
        if learner not in LEARNERS:
            raise ValueError(f"learner = {learner!r}: allowed is {' or '.join(LEARNERS)}")
        return self.hidden() / (1 if learner == "deterministic" else 2)


def certain_failure(clients: int, participants: int) -> Fraction:
    """Return the error that is certain for a deterministic learner, if clients differ.

    Clients that stay away have x_2 alone, the others x_1 alone. The error is the share 1 - omega of the clients that
    stay away.

    >>> certain_failure(4, 1)
    Fraction(3, 4)
    """
    return 1 - capacity(participants, clients)


def shown_at_most(spare: int, share: Any = Fraction(1, 2)) -> Fraction:
    """Bound P[x_2 comes up more than k times] where p = share (1 - omega), for every N, by Cantelli's inequality:

        share k/(share k + (k + 1 - share k)^2).

    With share = 1/2 and u = k/2 it is u/(u^2 + 3u + 1) <= 1/5, since (u - 1)^2 >= 0.

    >>> shown_at_most(2), max(shown_at_most(k) for k in range(1, 100))
    (Fraction(1, 5), Fraction(1, 5))
    """
    k, c = check_count("spare", spare), check_probability("share", share)
    return c * k / (c * k + (k + 1 - c * k) ** 2)


def reachable_error(omega: Any, classes: int, samples: int, confidence: Any) -> float:
    """Return an error that every learner that fits its data stays below, whatever m n of the N samples it is given.

    With probability at least 1 - delta it is below

        1 - omega + sqrt(log(|H|/delta)/(2 N)),

    for a class of ``classes`` hypotheses, one of which is the target. At most (1 - omega) N samples are missing, so
    that a hypothesis that fits the others errs on so many. Hoeffding's inequality holds for each hypothesis. So no
    process leaves more error than 1 - omega in the limit, and ``certain_failure`` is sharp.

    >>> reachable_error(0.75, 2, 10**12, 0.01) < 0.251
    True
    """
    omega, delta = check_probability("omega", omega), check_probability("confidence", confidence)
    if not 0 < omega < 1:
        raise ValueError(f"capacity = {omega}: allowed is a number in (0, 1)")
    if delta == 0:
        raise ValueError("confidence = 0: allowed is a number in (0, 1]")
    check_count("classes", classes), check_count("samples", samples)
    return float(1 - omega) + math.sqrt((math.log(classes) - math.log(delta)) / (2 * samples))
