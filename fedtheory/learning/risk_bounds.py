"""Bounds on excess risk: A(n, delta) as printed and as meant, and bounds with every constant, for finite classes and by
the Vapnik-Chervonenkis dimension."""

from __future__ import annotations

import math
from typing import Any

from ..arguments import check_count
from .relatedness import check_exponent
from .tails import check_probability


def complexity(dimension: int, samples: int, confidence: Any, printed: bool = False) -> float:
    """A(n, delta) = d/n log(max(n, d)/d) + 1/n log(1/delta), as the sources that SAFARI cites have it; as SAFARI prints
    it, d/n log(n/d + 1/n log(1/delta)), which is below 0 where n is small against d, and hardly grows as delta -> 0.

    Source: SAFARI, Theorem 3, Lemma 1; Hanneke and Kpotufe (2019).

    >>> round(complexity(1, 100, 0.01), 4), round(complexity(1, 100, 0.01, printed=True), 4)
    (0.0921, 0.0461)
    >>> complexity(4, 1, 0.5, printed=True) < 0 < complexity(4, 1, 0.5)
    True
    """
    d, n = check_count("dimension", dimension), check_count("samples", samples)
    log_delta = _log_inverse(confidence)
    if printed:
        return d / n * math.log(n / d + log_delta / n)
    return d / n * math.log(max(n, d) / d) + log_delta / n


def _log_inverse(confidence: Any) -> float:
    delta = check_probability("confidence", confidence)
    if not 0 < delta < 1:
        raise ValueError(f"confidence = {confidence}: allowed is a number in (0, 1)")
    return math.log(delta.denominator) - math.log(delta.numerator)


def finite_complexity(classes: int, samples: int, confidence: Any) -> float:
    """Compute a = log(|H|/delta)/n.

    >>> round(finite_complexity(10, 100, 0.1), 4)
    0.0461
    """
    return (math.log(check_count("classes", classes)) + _log_inverse(confidence)) / check_count("samples", samples)


def largest_solution(slope: float, exponent: float, constant: float) -> float:
    """The largest x >= 0 with x <= slope x^(exponent/2) + constant, exponent in [0, 1].

    >>> largest_solution(2.0, 1.0, 0.0), largest_solution(0.0, 0.5, 3.0)
    (4.0, 3.0)
    """
    b = float(check_exponent("exponent", exponent, 1))
    if not (slope >= 0 and constant >= 0):
        raise ValueError(f"slope, constant = {slope}, {constant}: allowed are numbers >= 0")
    if slope == 0:
        return float(constant)
    low = 0.0
    high = 2 * max((2 * slope) ** (2 / (2 - b)), 2 * constant)
    for _ in range(200):
        middle = (low + high) / 2
        if middle <= slope * middle ** (b / 2) + constant:
            low = middle
        else:
            high = middle
    return slope**2 if b == 1 and constant == 0 else high


def pooled_excess(noise: float, exponent: float, a: float) -> float:
    """Bound the excess risk of an empirical risk minimiser of a finite class, with probability 1 - delta.

    It is below the largest e with

        e <= sqrt(2 noise a e^exponent) + a/3, a = log(|H|/delta)/n.

    Let X = 1[h* errs] - 1[h errs] <= 1. Then E X^2 = P(h != h*) <= noise e(h)^exponent. As (e^u - u - 1)/u^2 increases,
    log E e^(s (X - E X)) <= E X^2 (e^s - s - 1), which is Bernstein's inequality without centring. So the mean of X
    exceeds its expectation by sqrt(2 E X^2 a) + a/3 with probability at most delta/|H|. This holds also for samples
    that are independent and not alike. A minimiser's mean of X is >= 0. So e <= (8 noise a)^(1/(2-exponent)) + 2a/3.

    >>> 0.4 < pooled_excess(1.0, 0.0, 0.1) < math.sqrt(0.8) + 0.2 / 3
    True
    """
    check_exponent("noise", noise), check_exponent("a", a)
    return largest_solution(math.sqrt(2 * noise * a), exponent, a / 3)


def transferred_excess(alpha: float, beta: float, of_q: float) -> float:
    """(15): e_P <= e_Q + alpha e_Q^beta where P and Q are (alpha, beta)-positively related.

    >>> transferred_excess(2.0, 1.0, 0.25), transferred_excess(1.0, 0.0, 0.0)
    (0.75, 1.0)
    """
    check_exponent("alpha", alpha), check_exponent("beta", beta), check_exponent("of_q", of_q)
    return of_q + alpha * of_q**beta


def theorem_2(
    alpha: float, beta: float, noise: float, exponent: float, classes: int, samples: int, confidence: Any
) -> float:
    """Bound e_P of the minimiser of the pooled empirical risk: Theorem 2 of SAFARI with every constant, for a finite
    class.

    The bound holds with probability 1 - confidence.

    >>> theorem_2(1, 1, 1, 1, 2, 10**6, 0.1) < theorem_2(1, 0.5, 1, 1, 2, 10**6, 0.1)
    True
    """
    of_q = pooled_excess(noise, exponent, finite_complexity(classes, samples, confidence))
    return transferred_excess(alpha, beta, of_q)


def theorem_3(best_of_q: float, noise: float, exponent: float, a: float) -> float:
    """Theorem 3 of SAFARI with every constant, for a finite class, n = n_T: where the minimiser of the pooled risk has
    on T no more errors than h_Q*, with e_0 = e_P(h_Q*) and e = e_P of the minimiser,

        e - e_0 <= sqrt(2 P(h^ != h_Q*) a) + a/3 <= sqrt(2 noise (e^exponent + e_0^exponent) a) + a/3.

    >>> theorem_3(0.0, 1.0, 1.0, 0.01) < 0.05
    True
    """
    check_exponent("best_of_q", best_of_q)
    high = theorem_3_closed(best_of_q, noise, exponent, a)
    low, b = 0.0, float(exponent)
    for _ in range(200):
        e = (low + high) / 2
        if e <= best_of_q + math.sqrt(2 * noise * (e**b + best_of_q**b) * a) + a / 3:
            low = e
        else:
            high = e
    return high


def theorem_3_closed(best_of_q: float, noise: float, exponent: float, a: float) -> float:
    """(16 noise a)^(1/(2-exponent)) + 2 e_0 + 2a/3, which is no smaller than ``theorem_3``."""
    b = float(check_exponent("exponent", exponent, 1))
    return (16 * noise * a) ** (1 / (2 - b)) + 2 * best_of_q + 2 * a / 3


def vc_complexity(dimension: int, samples: int, confidence: Any) -> float:
    """L = (d log(e max(2n, d)/d) + log(4/delta))/n, for a class of Vapnik-Chervonenkis dimension d >= 1.

    Source: Sauer's bound on the labellings of 2n points.

    >>> round(vc_complexity(1, 10_000, 0.05), 5)
    0.00153
    """
    d, n = check_count("dimension", dimension), check_count("samples", samples)
    return (d * (1 + math.log(max(2 * n, d) / d)) + math.log(4) + _log_inverse(confidence)) / n


def pooled_excess_vc(noise: float, exponent: float, complexity: float) -> float:
    """Bound the excess risk of an empirical risk minimiser with probability 1 - delta, by L = ``complexity``.

    It is below the largest e with

        e <= sqrt(32 noise L e^exponent) + 16 L, and so e <= (128 noise L)^(1/(2-exponent)) + 32 L.

    Take n samples more, of the same laws and exchanged with the first by lot. For a set A of samples let P(A) be its
    probability and P^(A) its frequency. They differ by at most 4 sqrt(P(A) L), or 4 sqrt(P^(A) L) in the other
    direction. This holds for all A = {h errs, h* does not} and B = {h* errs, h does not} at once. Samples are
    independent and need not be alike.

    >>> 0.4 < pooled_excess_vc(1.0, 0.0, 0.005) < math.sqrt(128 * 0.005) + 32 * 0.005
    True
    """
    check_exponent("noise", noise), check_exponent("complexity", complexity)
    return largest_solution(math.sqrt(32 * noise * complexity), exponent, 16 * complexity)


def theorem_2_vc(
    alpha: float, beta: float, noise: float, exponent: float, dimension: int, samples: int, confidence: Any
) -> float:
    """Theorem 2 of SAFARI with every constant, by the Vapnik-Chervonenkis dimension of the class.

    >>> theorem_2_vc(1, 1, 1, 1, 3, 10**6, 0.1) < theorem_2_vc(1, 1, 1, 1, 30, 10**6, 0.1) < 1
    True
    """
    of_q = pooled_excess_vc(noise, exponent, vc_complexity(dimension, samples, confidence))
    return transferred_excess(alpha, beta, of_q)


def theorem_3_vc(best_of_q: float, noise: float, exponent: float, complexity: float) -> float:
    """Theorem 3 of SAFARI with every constant, by the dimension of the class, L = ``vc_complexity`` of n_T samples:

        (256 noise L)^(1/(2-exponent)) + 2 e_0 + 32 L.

    >>> theorem_3_vc(0.0, 1.0, 1.0, 0.001) < 0.3
    True
    """
    check_exponent("best_of_q", best_of_q), check_exponent("noise", noise), check_exponent("complexity", complexity)
    b = float(check_exponent("exponent", exponent, 1))
    return float((256 * noise * complexity) ** (1 / (2 - b)) + 2 * best_of_q + 32 * complexity)


def mixture_alpha(client_share: Any) -> float:
    """Return an alpha for which Q = lambda_1 D + lambda_2 P and P are always (alpha, 1)-positively related.

    It holds where one target labels both without error, and is max(1, lambda_1/lambda_2), lambda_1 the clients' share.

    There e_Q = lambda_1 e_D + lambda_2 e_P, so that e_P <= e_Q/lambda_2 and e_P - e_Q <= (lambda_1/lambda_2) e_Q, with
    equality where e_D = 0; and e_Q - e_P <= e_Q. With n_S and n_T samples it is max(1, n_S/n_T): Theorem 2's rate
    d/(n_T + n_S) times 1 + alpha is then d/n_T, what the server has without clients.

    >>> mixture_alpha("3/4"), mixture_alpha("1/4"), mixture_alpha(1)
    (3.0, 1.0, inf)
    """
    share = check_probability("client_share", client_share)
    return max(1.0, float(share / (1 - share))) if share < 1 else math.inf
