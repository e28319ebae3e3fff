"""Deviations of empirical risks of pairs of hypotheses: exactly, by enumerating counts of (x, y)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from ....claims.balls import ball
from ....learning.finite_domains import FiniteClass, Law
from ....learning.pooled_risk import Source, counted_tables, pooled

Pair = tuple[Fraction, Fraction]
"""Two numbers on a pair of hypotheses h and g: (R(h) - R(g)) - (R^(h) - R^(g)), and min(P(h != g), P^(h != g))."""


def deviation_quantile(hypotheses: FiniteClass, sources: Sequence[Source], confidence: Fraction) -> arb:
    """Return the least number x that suffices for all ordered pairs, with probability at least 1 - ``confidence``.

    For a pair h, g it suffices if

        (R(h) - R(g)) - (R^(h) - R^(g)) <= sqrt(min(P(h != g), P^(h != g)) x) + x,

    The number is a ball. Which pair needs most is chosen in floating point, so that it is no larger than the true one.

    Source: SAFARI, appendix A, (16).

    >>> coin = Law([["1/2", "1/2"]])
    >>> x = deviation_quantile(FiniteClass([[0], [1]]), [(coin, 1)], Fraction(1, 4))
    >>> round(float(x), 4)  # 1 = sqrt(x) + x
    0.382
    """
    n = sum(count for _, count in sources)
    law = pooled(sources)
    atoms = [(x, y) for x in range(hypotheses.points) for y in (0, 1)]
    errs = np.array([hypotheses.labels[:, x] != y for x, y in atoms]).T  # (H, atoms)
    i, j = np.nonzero(~np.eye(len(hypotheses), dtype=bool))
    differ = errs[i] != errs[j]
    mass = np.array([law.joint[a] for a in atoms])
    risks = [sum(mass[row], Fraction(0)) for row in errs]
    differing = [sum(mass[row], Fraction(0)) for row in differ]
    in_floats = np.array([float(r) for r in risks]), np.array([float(p) for p in differing])
    scale, tables = counted_tables(
        FiniteClass(np.eye(len(atoms), dtype=int)), [(_unlabelled(s), k) for s, k in sources]
    )
    found: dict[Pair | None, int] = {None: 0}
    for counts, weight in tables:
        total = np.sum(counts, axis=0)
        errors, together = errs @ total, differ @ total
        gap = in_floats[0][i] - in_floats[0][j] - (errors[i] - errors[j]) / n
        k = int(np.argmax(_enough(gap, np.minimum(in_floats[1], together / n))))
        exact = risks[i[k]] - risks[j[k]] - Fraction(int(errors[i[k]] - errors[j[k]]), n)
        pair = (exact, min(differing[k], Fraction(int(together[k]), n))) if exact > 0 else None
        found[pair] = found.get(pair, 0) + weight
    return _quantile(found, confidence * scale)


def _unlabelled(law: Law) -> Law:
    """Every (x, y) as a point of its own, which ``numpy.eye`` counts."""
    return Law([[mass, 0] for mass in law.joint.flat])


def _enough(gap: np.ndarray, differing: np.ndarray) -> np.ndarray:
    """The least x >= 0 with gap <= sqrt(differing x) + x."""
    gap = np.maximum(gap, 0.0)
    return ((np.sqrt(differing + 4 * gap) - np.sqrt(differing)) / 2) ** 2


def _quantile(found: dict[Pair | None, int], allowed: Fraction) -> arb:
    """The least value that is exceeded with a weight of at most ``allowed``."""

    def size(pair: Pair | None) -> float:
        return -1.0 if pair is None else float(_enough(np.array(float(pair[0])), np.array(float(pair[1]))))

    order = sorted(found, key=size)
    above, chosen = 0, order[-1]
    for pair in reversed(order):
        if above > allowed:
            break
        above, chosen = above + found[pair], pair
    if chosen is None:
        return arb(0)
    gap, differing = map(ball, chosen)
    return ((differing + 4 * gap).sqrt() - differing.sqrt()) ** 2 / 4
