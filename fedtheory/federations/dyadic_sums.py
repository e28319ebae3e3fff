"""Sums of floats, and solutions of linear systems of them, without rounding on the way: a float is an integer times a
power of two."""

from __future__ import annotations

import numpy as np

BITS = 400
"""Binary digits of the solution, with 64 more, below the last one of what is given: far more than a float has."""
STEPS = 12
"""The most steps of refinement. Each gains the digits, of 16, that the conditioning of the matrix leaves."""


def integers(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Return integers n (dtype object) and e with array = n 2^e.

    >>> n, e = integers(np.array([0.75, -2.0]))
    >>> [float(each) * 2.0**e for each in n]
    [0.75, -2.0]
    """
    mantissas, exponents = np.frexp(array)
    whole, exponents = np.ldexp(mantissas, 53).astype(np.int64), exponents.astype(np.int64) - 53
    least = int(exponents[whole != 0].min(initial=0))
    shifts = np.where(whole != 0, exponents - least, 0)
    return whole.astype(object) << shifts.astype(object), least


def nearest_minimiser(matrices: np.ndarray, centres: np.ndarray, points: np.ndarray | None = None) -> np.ndarray | None:
    """Return the floats nearest to the solution x of (sum_i H_i) x = sum_i H_i c_i.

    ``matrices`` are the H (M, D, D), symmetric with a positive definite sum, and ``centres`` the c (M, D). With
    ``points`` p (P, D), return the floats nearest to p - x for each of them. Returns ``None`` if some refinement does
    not make the result certain.

    With A the sum and r the exact residual at an approximation y, |x - y| <= |r| / (least eigenvalue of A). So y is
    moved by approximate solutions of A d = r until both ends of that interval round to the same floats.

    >>> third = np.array([[[1.0]], [[2.0]]]), np.array([[1.0], [0.0]])
    >>> nearest_minimiser(*third), nearest_minimiser(*third, points=np.array([[1.0]]))  # 1/3, 1 - 1/3
    (array([0.33333333]), array([[0.66666667]]))
    """
    n, _ = integers(matrices)
    from_here, f = integers(centres if points is None else np.concatenate([centres, points]))
    c, p = from_here[: len(centres)], from_here[len(centres) :]
    total, right = n.sum(0), np.matmul(n, c[:, :, None])[:, :, 0].sum(0)
    scale = max((abs(each).bit_length() for each in total.ravel()), default=0)
    rounded = (total / (1 << scale)).astype(float)
    spectrum = np.linalg.eigvalsh(rounded)
    if spectrum[0] < 1e-12 * spectrum[-1]:  # it might be rounding
        return None
    least = spectrum[0] / 2  # half of it is a bound: rounding moves it by less than the rest
    inverse = np.linalg.inv(rounded)
    shift = BITS + 64  # y = z 2^(f - shift) with integers z
    z = np.zeros(len(right), dtype=object)
    for _ in range(STEPS):
        residual = (right << shift) - total @ z
        size = max((abs(each).bit_length() for each in residual), default=0)
        scaled = (residual / (1 << size)).astype(float)
        far = _ceiling(float(np.linalg.norm(scaled)) / least, size - scale)
        low, high = (_floats((p << shift) - end if len(p) else end, f - shift) for end in (z - far, z + far))
        if (low == high).all():
            return low
        z = z + np.array([_times_power(step, size - scale) for step in inverse @ scaled], dtype=object)
    return None


def _times_power(value: float, exponent: int) -> int:
    """About value 2^exponent."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << exponent) // denominator if exponent >= 0 else numerator // (denominator << -exponent)


def _ceiling(value: float, exponent: int) -> int:
    """Return an integer that is at least value 2^exponent, and 0 for 0."""
    return _times_power(2 * value, exponent) + 1 if value else 0


def _floats(whole: np.ndarray, exponent: int) -> np.ndarray:
    """The floats nearest to whole 2^exponent."""
    if exponent >= 0:
        return (whole << exponent).astype(float)
    return (whole / (1 << -exponent)).astype(float)
