r"""Exact mean and mean square of FedAU's weights in every round, for a client that takes part independently.

Let the intervals S_1, S_2, ... be independent with the cutoff-geometric law, q = 1-p, and let M be the number of those
that have ended within t rounds. Then omega_t = (S_1 + ... + S_M) / M if M >= 1, and 1 if M = 0.

*Mean.* Given M, the running interval and M >= 1, the lengths S_1, ..., S_M are exchangeable, so E[omega_t; M >= 1] =
E[S_1; M >= 1] = E[S_1; S_1 <= t]. Hence, for t >= K, E[omega_t] = E[S] = (1 - q^K) / p exactly; for t < K it is
sum_{k <= t} k p q^{k-1} + q^t.

*Mean square.* Let f(z) = E[z^S]. The chance that an interval, the m-th, ends with the s-th round is the coefficient
[z^s] f(z)^m, and omega is then s/m until the next one ends. With the operator theta = z d/dz, which multiplies the
s-th coefficient by s, the sequence phi_s = sum_m (s/m)^2 [z^s] f^m has the generating function

    F = theta^2 Li_2(f) = theta^2 f * A(f) + (theta f)^2 * B(f),    A(f) = -log(1-f) / f,
                                                                    B(f) = (1 / (1-f) - A(f)) / f,

both regular at f = 0, and sum_t E[omega_t^2] z^t = D (1 + F), where D = sum_{a < K} (qz)^a are the chances that the
running interval has lasted a rounds, and 1 stands for M = 0. For the law at hand

    1 - f = (1 - z) D,    f = (p z + (q z)^K (1 - z)) / (1 - q z).

*By recurrences.* All coefficients of L = -log(1-f) = f A are known: L_s = (1 - q^s + [K divides s] K q^s) / s, since
1 - f = (1-z) (1 - (qz)^K) / (1-qz). With N = (1-qz) f = p z + q^K z^K (1-z) and theta Li_2(f) = theta f * A, of which F
is theta,

    p A_{s-1} = L_s - q L_{s-1} - q^K (A_{s-K} - A_{s-K-1}),
    (1-qz) theta f * A = L + q^K ((K-1) z^K - K z^{K+1}) A,
    (1-qz) sum_t E[omega_t^2] z^t = (1 - (qz)^K) (1 + theta(theta f * A)).

With no cutoff within the horizon q^K is left out, and all terms are positive. With one, the first line divides by
p + q^K z^{K-1} (1-z): errors grow by 1 / (1 - 2 q^K/p) at most, which is done up to q^K = .45 p (tenfold).

*By a transform*, where q^K is larger: the coefficients are found by a discrete Fourier transform on a circle of radius
r < 1, after the limit E[S]^2 / (1-z) has been taken off. The transform of n points returns c_t + sum_{j >= 1} r^{jn}
c_{t+jn}; as 0 <= E[omega^2] <= K^2, the error of method is below 2 r^n K^2 = 2e-17 K^2. Rounding is the rest; the tests
measure it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len

from .cutoff_geometric import CutoffGeometric
from .weight_arguments import check_count, check_cutoff, check_probabilities

ALIASING = 1e-17
"""Share r^n of the coefficient n rounds later that the Fourier transform adds."""

LARGEST_MEMORY = 2**33
"""The most bytes; what would need more is refused before it begins."""

_BYTES = {"with a cutoff": 1400, "without": 200, "kept": 40}
"""A round, for the computation of one client's moments (measured), and for what is kept of each."""

MOST_DAMPED = 0.45
"""The largest q^K / p with which the recurrences are used: errors grow tenfold there."""

FEWEST_AT_ONCE = 16
"""Rounds that a recurrence over K rounds has to advance at once to be faster than a transform."""

NEGLIGIBLE = 1e-40
"""Share of an earlier round below which it adds nothing to a sum, which may grow as the square of the rounds."""

OVERSAMPLING = 8
"""Points a round, n / T: rounding errors are amplified by r^{-T} = ALIASING^{-1/8} = 133."""


@dataclass(frozen=True)
class WeightMoments:
    """Mean and variance of the weights of one or several clients in rounds 0 to T-1.

    Attributes:
        participation_probability: (...,), p.
        mean: (..., rounds), E[omega_t].
        variance: (..., rounds), Var[omega_t].
    """

    participation_probability: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @property
    def bias(self) -> np.ndarray:
        """Compute E[p omega_t - 1], (..., rounds)."""
        return self.participation_probability[..., None] * self.mean - 1.0

    @property
    def error(self) -> np.ndarray:
        """Compute the weight error E[(p omega_t - 1)^2] = p^2 Var[omega_t] + (p E[omega_t] - 1)^2, (..., rounds)."""
        return self.participation_probability[..., None] ** 2 * self.variance + self.bias**2

    @property
    def scale(self) -> np.ndarray:
        """E[p omega_t^2] = p (Var[omega_t] + E[omega_t]^2), (..., rounds): what the noise of a client counts."""
        return self.participation_probability[..., None] * (self.variance + self.mean**2)

    def average_scale(self) -> float:
        """The average of `scale` over clients and rounds; Q of Theorem 2 of FedAU is at least this in the mean."""
        return float(self.scale.mean())

    def average_error(self) -> float:
        """The average of `error` over clients and rounds: the left side of Theorem 3 of FedAU."""
        return float(self.error.mean())


def weight_moments(participation_probability: object, cutoff: float, rounds: int) -> WeightMoments:
    """Mean and variance of FedAU's weights under Bernoulli participation, in every round.

    Args:
        participation_probability: p in [0, 1]: a number, or an array of one for each client.
        cutoff: K, an integer >= 1, or ``math.inf``.
        rounds: T; rounds are 0 to T-1.

    Returns:
        Moments of shape (..., rounds). The mean is a closed form. By recurrences (without a cutoff, or with one of more
        than 16 rounds that q^K <= .45 p of the intervals reach) E[omega^2] was measured within 1e-14 of exact sums,
        relative to it. By a transform, up to 10,000 rounds the absolute error of ``error`` was measured below 1e-12,
        that of the variance below 1e-10 K^2 (it is largest where p T << 1).

    Raises:
        ValueError: an argument outside its range, or moments of more rounds than 8 GiB hold: a few million with a
            cutoff, some 30 million without. What the mean tends to is `long_run_weight`.

    Source: FedAU, Algorithm 2 and the left side of (7).

    >>> moments = weight_moments(0.5, cutoff=2, rounds=4)
    >>> moments.mean.round(12).tolist(), moments.error.round(12).tolist()  # in round 2: 1, 1, 2, 2
    ([1.0, 1.0, 1.5, 1.5], [0.25, 0.25, 0.125, 0.09375])
    """
    cutoff, rounds = check_cutoff(cutoff), check_count("rounds", rounds)
    probabilities = check_probabilities(participation_probability)
    # Weights of rounds 0 to T-1 have seen T-1 rounds at most; a longer cutoff never comes into play.
    effective = cutoff if cutoff <= rounds - 1 else math.inf
    distinct, index = np.unique(probabilities, return_inverse=True)
    _check_memory(rounds, len(distinct) + probabilities.size, effective)
    means = np.stack([mean_weight(p, effective, rounds) for p in distinct])
    squares = np.stack(_mean_squares(distinct, effective, rounds))
    variances = np.maximum(squares - means**2, 0.0)
    variances[:, : min(2, rounds)] = 0.0  # omega_0 = omega_1 = 1 always
    shape = (*probabilities.shape, rounds)
    index = index.ravel()
    return WeightMoments(probabilities, means[index].reshape(shape), variances[index].reshape(shape))


def _check_memory(rounds: int, clients: int, cutoff: float) -> None:
    each = _BYTES["without" if cutoff == math.inf else "with a cutoff"] + _BYTES["kept"] * clients
    if each * rounds > LARGEST_MEMORY:
        raise ValueError(
            f"rounds = {rounds}: their moments need about {each * rounds / 1e9:.0f} GB; allowed is "
            f"{LARGEST_MEMORY // each} here, and long_run_weight for what the mean tends to"
        )


def largest_scale(participation_probability: object, cutoff: float, rounds: int) -> float:
    r"""The least number that Q = max_{t < T} (1/N) sum_n p_n (omega_t^n)^2 never exceeds under FedAU.

    Q is random and known only after the run. A client that may be absent has omega <= min(K, T-1), and all of them
    reach that in one round, with positive probability: absent until round K-1, or taking part first in round T-2.

    Args:
        participation_probability: p in [0, 1]: a number, or one for each client.
        cutoff: K, an integer >= 1, or ``math.inf``.
        rounds: T.

    Raises:
        ValueError: an argument outside its range.

    Source: FedAU, Theorem 2 (Q) and Algorithm 2.

    >>> largest_scale([0.5, 1.0], cutoff=3, rounds=10)  # (0.5 * 9 + 1) / 2
    2.75
    """
    cutoff, rounds = check_cutoff(cutoff), check_count("rounds", rounds)
    p = check_probabilities(participation_probability)
    longest = max(1, min(cutoff, rounds - 1))
    return float((p * np.where(p < 1.0, longest, 1) ** 2).mean())


def mean_weight(participation_probability: float, cutoff: float, rounds: int) -> np.ndarray:
    """E[omega_t] for t = 0 to T-1: E[S; S <= t] + P(S > t)."""
    p, t = participation_probability, np.arange(rounds, dtype=float)
    if p == 0.0:
        return np.where(t < cutoff, 1.0, cutoff)
    absent = _powers(p, t)
    taken = -np.expm1(t * math.log1p(-p)) if p < 1.0 else (t > 0).astype(float)
    before = taken / p - (t - 1.0) * absent
    limit = -math.expm1(cutoff * math.log1p(-p)) / p if p < 1.0 else 1.0
    return np.where(t < cutoff, before, limit)


def long_run_weight(participation_probability: object, cutoff: float) -> np.ndarray:
    """lim omega_t = E[S] = (1 - (1-p)^K) / p, for each client.

    Raises:
        ValueError: an argument outside its range; p = 0 without a cutoff, where omega_t stays 1 and no interval ends.

    >>> long_run_weight([0.5, 0.25], cutoff=2).tolist()
    [1.5, 1.75]
    """
    cutoff = check_cutoff(cutoff)
    never = "without a cutoff the interval of a client that never takes part has no end"
    probabilities = check_probabilities(participation_probability, never=never if cutoff == math.inf else None)
    limits = [CutoffGeometric(p, cutoff).mean() for p in probabilities.flat]
    return np.array(limits).reshape(probabilities.shape)


def _powers(p: float, exponents: np.ndarray) -> np.ndarray:
    """(1-p)^exponents."""
    return np.exp(exponents * math.log1p(-p)) if p < 1.0 else (exponents == 0).astype(float)


def _mean_squares(probabilities: np.ndarray, cutoff: float, rounds: int) -> list[np.ndarray]:
    """E[omega_t^2], t = 0 to T-1, for each client."""
    circle = None
    found = []
    for p in probabilities.tolist():
        if cutoff == math.inf or (cutoff > FEWEST_AT_ONCE and _absent_until(p, cutoff) <= MOST_DAMPED * p):
            found.append(_by_recurrences(p, cutoff, rounds))
            continue
        circle = circle or _Circle(int(cutoff), rounds)
        found.append(circle.mean_square(p))
    return found


def _absent_until(p: float, cutoff: float) -> float:
    """(1-p)^K."""
    return math.exp(cutoff * math.log1p(-p)) if p < 1.0 else 0.0


def _by_recurrences(p: float, cutoff: float, rounds: int) -> np.ndarray:
    """E[omega_t^2], t = 0 to T-1, for one client; the cutoff is infinite or below T."""
    t = np.arange(1.0, rounds)
    absent = _powers(p, t)
    source = np.zeros(rounds)  # L
    source[1:] = (-np.expm1(t * math.log1p(-p)) if p < 1.0 else np.ones(rounds - 1)) / t
    if cutoff < math.inf:
        K, factor = int(cutoff), _absent_until(p, cutoff)
        periodic = np.zeros(rounds)
        periodic[K::K] = K * absent[K - 1 :: K] / t[K - 1 :: K]
        source += periodic
        a = np.empty(rounds - 1)
        a[0] = 1.0
        a[1:] = (p * t[1:] - 1.0 + absent[1:]) / (t[1:] * t[:-1]) + periodic[2:] - (1.0 - p) * periodic[1:-1]
        a[1:] /= p
        for first in range(K - 1, rounds - 1, K - 1):  # what comes K-1 rounds later follows from these
            last, again = min(first + K - 1, rounds - 1), max(first, K)
            a[first:last] -= factor / p * a[first - K + 1 : last - K + 1]
            a[again:last] += factor / p * a[again - K : last - K]
        source[K:] += factor * (K - 1) * a[: rounds - K]
        source[K + 1 :] -= factor * K * a[: rounds - K - 1]
    source = _accumulate(source, p)
    source[1:] *= t
    source[0] = 1.0
    if cutoff < math.inf:
        source[K:] -= factor * source[: rounds - K].copy()
    return _accumulate(source, p)


def _accumulate(source: np.ndarray, p: float) -> np.ndarray:
    """y_t = (1-p) y_{t-1} + source_t, in place, by doubling: 1 / (1 - qz) = (1 + qz) (1 + (qz)^2) (1 + (qz)^4) ..."""
    shift, factors = 1, _powers(p, 2.0 ** np.arange(64))
    while shift < len(source) and (factor := factors[shift.bit_length() - 1]) > NEGLIGIBLE:
        source[shift:] += factor * source[:-shift]  # the product is there before anything is added
        shift *= 2
    return source


class _Circle:
    """Points r w^k of a circle, k = 0 to n/2, w = exp(-2 pi i / n): the rest is complex conjugate."""

    def __init__(self, cutoff: int, rounds: int) -> None:
        self.cutoff, self.rounds = cutoff, rounds
        self.points = next_fast_len(OVERSAMPLING * rounds, real=True)
        self.points += self.points % 2
        self.log_radius = math.log(ALIASING) / self.points
        k = np.arange(self.points // 2 + 1)
        radius = math.exp(self.log_radius)
        self.z = radius * self._root(k)
        self.z_cutoff = math.exp(self.log_radius * cutoff) * self._root(k * cutoff % self.points)
        # 1 - z without cancellation: 1 - r cos + i r sin, with 1 - r cos = (1 - r) + 2 r sin^2(half the angle)
        half = np.pi * k / self.points
        self.one_minus_z = (-math.expm1(self.log_radius) + 2.0 * radius * np.sin(half) ** 2) - 1j * self.z.imag

    def _root(self, k: np.ndarray) -> np.ndarray:
        return np.exp(-2j * np.pi * k / self.points)

    def mean_square(self, p: float) -> np.ndarray:
        """E[omega_t^2], t = 0 to T-1."""
        limit = CutoffGeometric(p, self.cutoff).mean() ** 2
        values = self._generating_function(p) - limit / self.one_minus_z
        coefficients = irfft(values, self.points)[: self.rounds]
        return limit + coefficients * np.exp(-self.log_radius * np.arange(self.rounds))

    def _generating_function(self, p: float) -> np.ndarray:
        """D (1 + F) at the points."""
        K, z, rest = self.cutoff, self.z, self.one_minus_z
        q = 1.0 - p
        y = q * z
        power = math.exp(K * math.log1p(-p)) * self.z_cutoff if p < 1.0 else 0.0 * z
        inverse = 1.0 / (p + q * rest)  # 1 / (1 - y): p + q - q z = p + q (1 - z)
        running = (1.0 - power) * inverse
        top = p * z + power * rest
        top_1 = p * z + power * (K - (K + 1) * z)
        top_2 = p * z + power * (K * K - (K + 1) ** 2 * z)
        ratio = y * inverse
        f = top * inverse
        f_1 = (top_1 + top * ratio) * inverse
        f_2 = (top_2 + 2.0 * top_1 * ratio + top * ratio * (1.0 + 2.0 * ratio)) * inverse
        a, b = _logarithms(f, rest * running)
        return running * (1.0 + f_2 * a + f_1 * f_1 * b)


SMALL = 0.1
"""Below this the power series of A and B is used, 17 terms of which leave 1e-17."""


def _logarithms(f: np.ndarray, complement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A(f) = sum_m f^m / (m+1) and B(f) = sum_m f^m (m+1) / (m+2), |f| < 1; ``complement`` is 1 - f."""
    small = np.flatnonzero(np.abs(f) < SMALL)
    x, safe = f[small], f
    if small.size:
        safe = f.copy()
        safe[small] = 0.5
    # log |1 - f| and the angle apart take a sixth of the time of a complex logarithm
    a = np.empty_like(f)
    a.real = np.log(complement.real**2 + complement.imag**2) / -2.0
    a.imag = -np.arctan2(complement.imag, complement.real)
    a /= safe
    b = (1.0 / complement - a) / safe
    if small.size:
        a[small] = np.polynomial.polynomial.polyval(x, [1 / (m + 1) for m in range(17)])
        b[small] = np.polynomial.polynomial.polyval(x, [(m + 1) / (m + 2) for m in range(17)])
    return a, b
