"""FedAU's participation probabilities: they go with the clients' class distributions."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from ..arguments import check_count, check_option, is_real, number_array

ABOVE = ("cap", "refuse")
NORMALISATIONS = ("expected", "empirical")


def class_weights(classes: int, concentration: float = 0.1, seed: int = 0) -> np.ndarray:
    """Draw what each class adds to a client's probability: q ~ Dirichlet(concentration, ...), (classes,) float64.

    Source: FedAU, appendix C.6.1, with concentration alpha_p = 0.1; one q for all clients of an experiment.

    Raises:
        ValueError: no class, or a concentration that is not positive and finite.

    >>> q = class_weights(10, seed=3)
    >>> q.shape, round(q.sum(), 12)
    ((10,), np.float64(1.0))
    """
    classes = check_count("classes", classes)
    if not (is_real(concentration) and isfinite(concentration) and concentration > 0):
        raise ValueError(f"concentration = {concentration}: allowed is a positive finite number")
    return np.random.default_rng(check_count("seed", seed, least=0)).dirichlet(np.full(classes, float(concentration)))


def participation_probabilities(
    class_distributions: Sequence[Sequence[float]],
    weights: Sequence[float],
    mean: float = 0.1,
    floor: float = 0.02,
    above: str = "cap",
    normalisation: str = "expected",
) -> np.ndarray:
    r"""Compute p_n = max(floor, <kappa_n, q> / lambda), (clients,) float64.

    Args:
        class_distributions: kappa, (clients, classes); rows sum to 1.
        weights: q, (classes,), sums to 1; see `class_weights`.
        mean: mu, the mean of p_n before the floor, in (0, 1].
        floor: the least p_n, in [0, 1]; 0 for none. It raises the mean.
        above: with C classes <kappa_n, q> / lambda can be as large as C mu: 1 with the paper's 10 classes, 10 with its
            100. The paper does not say what then happens. Readings: "cap" (ours): p_n is at most 1, which lowers the
            mean; "refuse": a ``ValueError``.
        normalisation: "expected" (the paper's): lambda = 1 / (C mu), for which E[p_n] = mu over random kappa_n (each
            class being as likely as another); "empirical": lambda is such that the mean over these clients is mu.

    Raises:
        ValueError: an argument of a wrong shape or outside its range; with "refuse", a probability above 1; with
            "empirical", clients none of which has data of a class with a weight.

    Source: FedAU, equation (C.6.1) and appendix C.6.1, with mu = 0.1 and floor = 0.02.

    >>> participation_probabilities([[1, 0], [0.5, 0.5], [0, 1]], [0.75, 0.25], mean=0.25).tolist()  # lambda = 2
    [0.375, 0.25, 0.125]
    """
    check_option("above", above, ABOVE)
    check_option("normalisation", normalisation, NORMALISATIONS)
    if not (is_real(mean) and 0 < mean <= 1):
        raise ValueError(f"mean = {mean}: allowed is (0, 1]")
    if not (is_real(floor) and 0 <= floor <= 1):
        raise ValueError(f"floor = {floor}: allowed is [0, 1]")
    kappa, q = number_array("class_distributions", class_distributions), number_array("weights", weights)
    if kappa.ndim != 2 or kappa.size == 0 or q.shape != kappa.shape[1:]:
        raise ValueError(
            f"class_distributions has shape {kappa.shape}, weights {q.shape}: "
            "allowed is (clients, classes) and (classes,)"
        )
    for name, rows in {"class_distributions": kappa, "weights": q[None]}.items():
        # Sums of float32 data of up to 1000 classes are off by less.
        wrong = np.flatnonzero(~((rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1) < 1e-4)))
        if len(wrong):
            which = f"{name}[{wrong[0]}]" if name == "class_distributions" else name
            raise ValueError(f"{which} = {rows[wrong[0]].tolist()}: allowed are numbers >= 0 that sum to 1")
    products = kappa @ q
    scale = 1 / (len(q) * mean) if normalisation == "expected" else products.mean() / mean
    if scale == 0:
        raise ValueError("class_distributions: no client has data of a class with a weight; allowed is one at least")
    p = np.maximum(products / scale, floor)
    if above == "refuse" and (p > 1).any():
        n = int(np.flatnonzero(p > 1)[0])
        raise ValueError(f"p[{n}] = {p[n]}: allowed is at most 1; a smaller mean, or above='cap'")
    return np.minimum(p, 1.0)
