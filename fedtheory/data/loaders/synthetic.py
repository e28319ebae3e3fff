"""Synthetic(alpha, beta), drawn here: clients whose models and inputs differ, one by one or in groups.

Sources: T. Li, A. K. Sahu, M. Zaheer, M. Sanjabi, A. Talwalkar and V. Smith, "Federated optimization in heterogeneous
networks", 2020, after O. Shamir, N. Srebro and T. Zhang, 2014; FLICS, section V-A, for the version in groups.
"""

from __future__ import annotations

import numpy as np

from ...arguments import check_option, is_real
from ...rationals import checked_count
from ..dataset import Dataset
from ..entry import Entry

SYNTHETIC = Entry(
    name="synthetic",
    classes=10,
    samples=None,
    loader="synthetic:synthetic",
    source='T. Li and others, "Federated optimization in heterogeneous networks", 2020; FLICS, section V-A',
)
DIMENSION, CLASSES, DECAY = 60, 10, 1.2
COVARIANCES = ("group", "coordinate")
SPREADS = ("deviation", "variance")
_CLIENT = 1  # clients draw from default_rng((seed, _CLIENT, client)), groups from default_rng((seed, 0, group))


def synthetic(
    alpha: float = 0.5,
    beta: float = 0.5,
    groups: int = 10,
    clients: int = 1000,
    samples: int = 50,
    test_samples: int = 10,
    covariance: str = "group",
    spread: str = "deviation",
    seed: int = 0,
) -> Dataset:
    """Synthetic(alpha, beta) in groups: all clients of a group have one model and one law of inputs.

    Group j = 1, 2, ... draws W_j ~ N(0, alpha) and B_j ~ N(0, beta), then mu_j ~ N(B_j, I_60), and the entries of the
    matrix w_j (60 x 10) and of b_j (10) from N(W_j, 1). A client of it draws x ~ N(mu_j, C_j) and has y = argmax
    softmax(w_j^T x + b_j). With ``clients`` = 1 and ``covariance="coordinate"`` these are Li et al.'s clients, each a
    group of its own.

    What FLICS leaves open or prints otherwise: it prints C_j = j^-1.2 I_60, where Li et al. have
    diag(1, 2^-1.2, ..., 60^-1.2) for all; it prints y = softmax(w_j^T x) + b_j, which is no class; it does not say how
    w_j and b_j come from W_j (here as in Li et al.), how many samples a client has, or whether alpha is a variance.

    Args:
        alpha, beta: how much models and inputs differ between groups; numbers >= 0.
        groups, clients: of groups, and of clients in each; FLICS has 10 and 1000.
        samples, test_samples: of each client.
        covariance: "group": C_j = j^-1.2 I, as FLICS prints; "coordinate": Li et al.'s.
        spread: whether alpha and beta are standard deviations (as in Li et al.'s public code) or variances.
        seed: an integer >= 0; a client's samples depend on it, the group and the client only.

    Raises:
        ValueError: an argument outside its range.

    >>> data = synthetic(groups=2, clients=3, samples=2, test_samples=1)
    >>> data.features.shape, data.clients.tolist(), data.groups.tolist()
    ((12, 60), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], [0, 0, 0, 1, 1, 1])
    """
    _check(alpha, beta, groups, clients, samples, test_samples, covariance, spread, seed)
    each = samples + test_samples
    features, labels = np.empty((groups * clients, each, DIMENSION)), np.empty((groups * clients, each), np.int64)
    for group in range(groups):
        mean, model, bias = _law(np.random.default_rng((seed, 0, group)), alpha, beta, spread)
        deviation = np.sqrt(_variances(covariance, group))
        for client in range(group * clients, (group + 1) * clients):
            rng = np.random.default_rng((seed, _CLIENT, client))
            features[client] = mean + deviation * rng.standard_normal((each, DIMENSION))
            labels[client] = np.argmax(features[client] @ model + bias, axis=1)
    names = tuple(f"group {group}, client {i}" for group in range(groups) for i in range(clients))
    of = np.repeat(np.arange(groups), clients)
    copy = f"drawn here: seed {seed}, covariance {covariance}, alpha and beta each a {spread}"

    def part(start: int, stop: int, test: Dataset | None = None) -> Dataset:
        owners = np.repeat(np.arange(len(names)), stop - start)
        return Dataset(
            f"synthetic({alpha:g}, {beta:g})",
            features[:, start:stop].reshape(-1, DIMENSION),
            labels[:, start:stop].ravel(),
            CLASSES,
            test,
            copy,
            clients=owners,
            client_names=names,
            groups=of,
        )

    return part(0, samples, part(samples, each) if test_samples else None)


def _law(rng: np.random.Generator, alpha: float, beta: float, spread: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of inputs (60,), model (60, 10) and bias (10,) of a group."""
    power = 1.0 if spread == "deviation" else 0.5
    of_model, of_inputs = alpha**power * rng.standard_normal(), beta**power * rng.standard_normal()
    mean = of_inputs + rng.standard_normal(DIMENSION)
    model = of_model + rng.standard_normal((DIMENSION, CLASSES))
    return mean, model, of_model + rng.standard_normal(CLASSES)


def _variances(covariance: str, group: int) -> np.ndarray:
    if covariance == "group":
        return np.full(DIMENSION, (group + 1.0) ** -DECAY)
    return np.arange(1.0, DIMENSION + 1) ** -DECAY


def _check(
    alpha: float,
    beta: float,
    groups: int,
    clients: int,
    samples: int,
    test_samples: int,
    covariance: str,
    spread: str,
    seed: int,
) -> None:
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not (is_real(value) and 0 <= value < np.inf):
            raise ValueError(f"{name} = {value}: allowed is a finite number >= 0")
    counts = {"groups": groups, "clients": clients, "samples": samples, "test_samples": test_samples, "seed": seed}
    for name, count in counts.items():
        least = 0 if name in ("test_samples", "seed") else 1
        checked_count(name, count, least)
    for name, option, allowed in (("covariance", covariance, COVARIANCES), ("spread", spread, SPREADS)):
        check_option(name, option, allowed)
