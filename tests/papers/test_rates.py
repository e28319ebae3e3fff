"""The printed rates, written down a second time from the papers' displays, as plain functions of numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import pytest

from fedtheory.claims.arithmetic import compiled
from fedtheory.papers import all_claims
from fedtheory.quantities import QUANTITIES

R, K, m, n, q, N, T, I = 50.0, 3.0, 4.0, 7.0, 0.3, 11.0, 50.0, 3.0
sigma, sigma_G, mu, L, gamma, eta, Q, F, delta, psi = 1.3, 0.7, 0.2, 1.9, 0.05, 1.1, 2.3, 6.1, 0.7, 1.7
least_p, W, bias, C, sigma_T = 0.15, 0.4, 0.21, 5.0, 0.9
VALUES = {
    "rounds": R, "local_steps": K, "cohort": m, "arbitrary_cohort": n, "snapshot_probability": q, "clients": N,
    "gradient_noise": sigma, "dissimilarity": sigma_G, "strong_convexity": mu, "smoothness": L, "local_lr": gamma,
    "global_lr": eta, "weight_scale": Q, "initial_gap": F, "global_gradient_bound": psi,
    "least_participation_probability": least_p, "weight_error": W, "cutoff_bias": bias, "cutoff": C,
    "selection_variance": sigma_T,
}  # fmt: skip
"""No two of them, and no simple products, are alike."""

_fast = n * q + m * (1 - q)
_rest = [F / (gamma * eta * I * T), gamma * eta * L * Q * (I * delta**2 + sigma**2) / N,
         gamma**2 * L**2 * I * (I * delta**2 + sigma**2)]  # fmt: skip
_base = 1 / log(1 / (1 - least_p) ** 2)
"""R of Corollary 4 of FedAU, 1/log c with c = 1/(1 - min p_n)^2."""
_leading = [sigma * sqrt(L * F * Q) / sqrt(N * I * T), delta * sqrt(L * F * Q) / sqrt(N * T)]
_last = (L * F * (1 + Q / N) + delta**2 + sigma**2 / I) / T
_long = [*_leading, (delta**2 + sigma**2 / (I * T)) * _base * log(T) ** 2 / T, _last]

PRINTED: dict[str, Callable[[], list[float]]] = {
    "fast.cor1@main": lambda: [sqrt(_fast / (n * m * K * R)), m * n * K / (_fast * R)],
    "fast.cor1@appendix": lambda: [
        sqrt(_fast / (n * m * K * R)), sqrt(_fast / (m * n * R * K)) * sigma**2, m * n * K / (_fast * R) * sigma_G**2],
    "fast.cor2@main": lambda: [1 / sqrt(m * R * K)],
    "fast.rem1.a@main": lambda: [1 / sqrt(m * K * R)],
    "fast.rem1.b@main": lambda: [1 / sqrt(m * K * R)],
    "fast.cor3@main": lambda: [
        exp(-mu * R / (20 * m * L)), (1 - q) / (mu * R), sigma_G**2 / (mu * R), sigma**2 / (mu * m * K * R)],
    "fast.rem3@main": lambda: [1 / R],
    "safari.cor1.a@main": lambda: [1 / sqrt(R)],
    "safari.cor1.b@main": lambda: [1 / sqrt(n * K * R)],
    "safari.cor1.c@main": lambda: [1 / sqrt(n * K * R)],
    "safari.cor1.c@submission": lambda: [1 / sqrt(n * K * R)],
    "safari.cor2@main": lambda: [1 / R],
    "fedau.thm2@main": lambda: [
        _rest[0], (psi**2 + delta**2 + gamma**2 * L**2 * I * sigma**2) * W, *_rest[1:]],
    "fedau.thm2.nearly_optimal@main": lambda: [_rest[0], (delta**2 + gamma**2 * L**2 * I * sigma**2) * W, *_rest[1:]],
    "fedau.thm3@main": lambda: [C * log(T) / T, bias],
    "fedau.lemmaB_7_1@main": lambda: [_base * log(T) ** 2 / T],
    "fedau.cor4@main": lambda: [
        *_leading, (psi**2 + delta**2 + sigma**2 / (I * T)) * _base * log(T) ** 2 / T, _last],
    "fedau.cor4.nearly_optimal@main": lambda: _long,
    "fedau.cor4.nearly_optimal@long_runs": lambda: _long,
    "flics.cor1_1@main": lambda: [(1 + sigma_T) / sqrt(T), 1 / T],
}  # fmt: skip
"""By claim, its rates in the order in which they are printed."""

RATED = {claim.ref: claim for claim in all_claims() if claim.rates}


def test_every_printed_rate_is_here() -> None:
    assert RATED.keys() == PRINTED.keys()
    assert VALUES.keys() <= QUANTITIES.keys()


@pytest.mark.parametrize("ref", PRINTED)
def test_rates_are_those_of_the_display(ref: str) -> None:
    found = [float(compiled(rate.expression)(VALUES)) for rate in RATED[ref].rates]
    assert found == pytest.approx(PRINTED[ref](), rel=1e-12)  # a few roundings
