"""The exact law of the excess risk of empirical risk minimisers on finite domains, and samples of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..arguments import check_count
from .finite_domains import FiniteClass, Law
from .tails import check_probability

LARGEST_ENUMERATED = 500_000
"""The most tables of counts that are enumerated; beyond, there is ``sampled_law``."""

TIES = ("worst", "best", "first")
"""Rules for several minimisers: the one with the largest, or the least, excess risk under P; or the first in the
class."""


@dataclass(frozen=True)
class ExcessLaw:
    """The law of an excess risk.

    Attributes:
        values: increasing. probabilities: of each; Fractions, or frequencies among ``runs``.
        runs: of a sampled law, how many; 0 where it is exact.
    """

    values: tuple[Fraction, ...]
    probabilities: tuple[Any, ...]
    runs: int = 0

    def mean(self) -> Any:
        """Return E[excess risk]."""
        return sum(v * p for v, p in zip(self.values, self.probabilities, strict=True))

    def above(self, bound: Any) -> Any:
        """Return P[excess risk > bound]."""
        return sum((p for v, p in zip(self.values, self.probabilities, strict=True) if v > bound), Fraction(0))

    def quantile(self, confidence: Any) -> Fraction:
        """The least value that is exceeded with probability at most ``confidence``.

        >>> ExcessLaw((Fraction(0), Fraction(1)), (Fraction(9, 10), Fraction(1, 10))).quantile("1/10")
        Fraction(0, 1)
        """
        above, delta, found = 0, check_probability("confidence", confidence), self.values[-1]
        for value, probability in zip(reversed(self.values), reversed(self.probabilities), strict=True):
            if above > delta:
                break
            above, found = above + probability, value
        return found

    def interval(self, level: float = 0.99) -> tuple[float, float]:
        """An interval for the mean of a sampled law, by Hoeffding's inequality for excess risks in [0, 1]."""
        if not self.runs:
            return float(self.mean()), float(self.mean())
        half = math.sqrt(math.log(2 / (1 - level)) / (2 * self.runs))
        return max(0.0, float(self.mean()) - half), min(1.0, float(self.mean()) + half)


Source = tuple[Law, int]
"""A distribution, and how many samples are drawn from it."""


def excess_law(
    target: Law, hypotheses: FiniteClass, sources: Sequence[Source], ties: str = "worst", server: int | None = None
) -> ExcessLaw:
    """Compute the exact law of e_P(h^), with h^ a hypothesis with the fewest errors on all samples.

    It enumerates how often each (x, y) comes up in each source.

    Args:
        target: P. sources: [(Q, n)] for samples from a mixture, [(P, n_T), (D, n_S)] for a server's and the clients'.
        ties: one of ``TIES``.
        server: the number of a source: where h^ has more errors on its samples than a best hypothesis under the mixture
            of the sources, the excess risk counts as 0 (the condition of Theorem 3 fails).

    Raises:
        ValueError: no source, another domain, more tables than ``LARGEST_ENUMERATED``.

    >>> P, H = Law([["3/4", "1/4"]]), FiniteClass([[0], [1]])
    >>> law = excess_law(P, H, [(P, 1)])
    >>> [(str(v), str(p)) for v, p in zip(law.values, law.probabilities)]
    [('0', '3/4'), ('1/2', '1/4')]
    """
    value = excess_shown(target, hypotheses, sources, ties, server)
    found: dict[Fraction, int] = {}
    scale, tables = counted_tables(hypotheses, sources)
    for errors, weight in tables:
        at = value(errors)
        found[at] = found.get(at, 0) + weight
    return law_of(found, scale)


def excess_shown(
    target: Law, hypotheses: FiniteClass, sources: Sequence[Source], ties: str = "worst", server: int | None = None
) -> Callable[[Sequence[np.ndarray]], Fraction]:
    """e_P(h^) as a function of each hypothesis's errors on each source's samples; arguments as of ``excess_law``."""
    check_ties(ties)
    excess = target.excesses(hypotheses)
    reference = pooled(sources).best(hypotheses) if server is not None else None

    def value(errors: Sequence[np.ndarray]) -> Fraction:
        chosen = chosen_minimiser(np.sum(errors, axis=0), excess, ties)
        if server is not None and errors[server][chosen] > errors[server][reference]:
            return Fraction(0)
        return excess[chosen]

    return value


def law_of(weights: Mapping[Fraction, int], scale: int) -> ExcessLaw:
    """Return the law of which each value has the probability weight/scale."""
    values = tuple(sorted(weights))
    return ExcessLaw(values, tuple(Fraction(weights[v], scale) for v in values))


def counted_tables(
    hypotheses: FiniteClass, sources: Sequence[Source]
) -> tuple[int, Iterator[tuple[list[np.ndarray], int]]]:
    """Enumerate the tables of counts: the errors of each hypothesis on each source's samples, and the probability.

    The probability is a whole number over a scale. The scale is returned first.

    Raises:
        ValueError: no source, another domain, more tables than ``LARGEST_ENUMERATED``.
    """
    tables = [atoms_of(law, hypotheses) for law, _ in _checked(sources)]
    if (size := number_of_tables(sources)) > LARGEST_ENUMERATED:
        raise ValueError(f"{size} tables of counts: allowed is at most {LARGEST_ENUMERATED}; sampled_law draws samples")
    scales = [math.lcm(*(p.denominator for p in probabilities)) for probabilities, _ in tables]
    scale = math.prod(c**n for c, (_, n) in zip(scales, sources, strict=True))
    return scale, joint_tables([list(counted(t, n, c)) for t, (_, n), c in zip(tables, sources, scales, strict=True)])


def number_of_tables(sources: Sequence[Source]) -> int:
    """Count the ways in which the samples of the sources can be distributed on the (x, y) that come up.

    >>> number_of_tables([(Law([["1/2", "1/2"]]), 3), (Law([["0", "1"]]), 9)])
    4
    """
    sizes = [(int((law.joint > 0).sum()), n) for law, n in sources]
    return math.prod(math.comb(n + atoms - 1, n) for atoms, n in sizes)


def check_ties(ties: str) -> None:
    """Raise ``ValueError`` unless ``ties`` is one of ``TIES``."""
    if ties not in TIES:
        raise ValueError(f"ties = {ties!r}: allowed is {', '.join(TIES)}")


def _checked(sources: Sequence[Source]) -> Sequence[Source]:
    if not sources:
        raise ValueError("sources is empty: allowed is at least one distribution with a number of samples")
    for _, n in sources:
        check_count("samples", n, least=0)
    return sources


def pooled(sources: Sequence[Source]) -> Law:
    """The mixture of the sources, each with its share of the samples."""
    total = sum(n for _, n in _checked(sources))
    if total == 0:
        raise ValueError("samples = 0 in all: allowed is at least one")
    joint = sum(
        (Fraction(n, total) * law.joint for law, n in sources[1:]), Fraction(sources[0][1], total) * sources[0][0].joint
    )
    return Law(joint)


def chosen_minimiser(errors: np.ndarray, excess: np.ndarray, ties: str) -> int:
    """Return the number of the hypothesis that the learner returns."""
    least = np.flatnonzero(errors == errors.min())
    if ties == "first":
        return int(least[0])
    return int((max if ties == "worst" else min)(least, key=lambda h: excess[h]))


def atoms_of(law: Law, hypotheses: FiniteClass) -> tuple[list[Fraction], np.ndarray]:
    """The probabilities of the (x, y) that come up, and which hypotheses err there, (atoms, H)."""
    law.risks(hypotheses)
    atoms = [(x, y) for x in range(len(law.joint)) for y in (0, 1) if law.joint[x, y] > 0]
    return [law.joint[a] for a in atoms], np.array([hypotheses.labels[:, x] != y for x, y in atoms], dtype=int)


def counted(table: tuple[list[Fraction], np.ndarray], n: int, scale: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield (errors of each hypothesis, probability times scale^n) of every table of counts of n samples."""
    weights, errs = [int(p * scale) for p in table[0]], table[1]

    def go(atom: int, left: int) -> Iterator[tuple[np.ndarray, int]]:
        if atom == len(weights) - 1:
            yield left * errs[atom], weights[atom] ** left
            return
        factor = 1  # comb(left, k) weight^k
        for k in range(left + 1):
            for errors, weight in go(atom + 1, left - k):
                yield errors + k * errs[atom], factor * weight
            factor = factor * weights[atom] * (left - k) // (k + 1)

    return go(0, n)


def joint_tables(parts: list[list[tuple[np.ndarray, Any]]]) -> Iterator[tuple[list[np.ndarray], Any]]:
    """Yield the tables of counts of every source together; the weights of the sources' tables multiply."""
    if not parts:
        yield [], 1
        return
    for errors, weight in parts[0]:
        for rest, other in joint_tables(parts[1:]):
            yield [errors, *rest], weight * other


def sampled_law(
    target: Law, hypotheses: FiniteClass, sources: Sequence[Source], runs: int, seed: int = 0, ties: str = "worst"
) -> ExcessLaw:
    """Estimate the law of the excess risk by sampling, with an ``interval``.

    >>> P, H = Law([["3/4", "1/4"]]), FiniteClass([[0], [1]])
    >>> low, high = sampled_law(P, H, [(P, 1)], runs=20_000).interval()
    >>> low < 1/8 < high
    True
    """
    check_ties(ties)
    check_count("runs", runs)
    rng, excess = np.random.default_rng(seed), target.excesses(hypotheses)
    errors = np.zeros((runs, len(hypotheses)), dtype=int)
    for law, n in _checked(sources):
        probabilities, errs = atoms_of(law, hypotheses)
        share = np.array([float(p) for p in probabilities])
        errors += rng.multinomial(n, share / share.sum(), size=runs) @ errs
    order = sorted(range(len(excess)), key=lambda h: excess[h], reverse=ties == "worst")
    order = list(range(len(excess))) if ties == "first" else order
    chosen = np.array(order)[errors[:, order].argmin(1)]
    counts = np.bincount(chosen, minlength=len(excess))
    found: dict[Fraction, Fraction] = {}
    for h in np.flatnonzero(counts):
        found[excess[h]] = found.get(excess[h], Fraction(0)) + Fraction(int(counts[h]), runs)
    values = sorted(found)
    return ExcessLaw(tuple(values), tuple(found[v] for v in values), runs)
