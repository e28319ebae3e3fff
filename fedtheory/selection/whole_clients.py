"""Whole numbers of clients from average ones, without going over a budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..rationals import checked_seed

_BITS = 30
"""Rates are cut to multiples of 2^-30, so that the sums below are exact."""


def rounded(rates: ArrayLike, seed: int) -> np.ndarray:
    """Counts floor r_j <= n_j <= ceil r_j with E[n_j] = r_j, and sum_j n_j at most ceil sum_j r_j.

    Rates are cut to multiples of 2^-30 first. Systematic sampling: with one uniform u a round,
    n_j = floor(R_j + u) - floor(R_{j-1} + u) for the partial sums R_j
    of the rates. So counts stay within whole availabilities, and within a budget that is a whole number.

    Args:
        rates: (..., groups), >= 0 and below 2^31.
        seed: the draws are a function of it.

    Raises:
        ValueError: a rate is outside its range.

    >>> rounded([[1.0, 3.0], [0.5, 1.5]], seed=0).sum(axis=1).tolist()
    [4, 2]
    """
    values = np.asarray(rates, dtype=float)
    if values.ndim == 0 or not ((values >= 0) & (values < 2**31)).all():
        raise ValueError("rates: allowed is an array (..., groups) of numbers >= 0 and below 2^31")
    units = np.floor(values * 2**_BITS).astype(np.int64)
    sums = np.cumsum(units, axis=-1)
    sums += np.random.default_rng(checked_seed(seed)).integers(0, 2**_BITS, size=(*values.shape[:-1], 1))
    # Sums from 2^63 on have wrapped around, and no count is that large.
    return np.diff(sums >> _BITS, axis=-1, prepend=0) % 2 ** (64 - _BITS)
