"""Estimates from labelled data, absent clients and a server's sample: capacity, relatedness, and the theorems' bounds.

The class is finite and taken as given, so that the bounds speak of a choice among its hypotheses by fresh samples. Its
hypotheses are logistic regressions fitted on halves of the data: the server's sample, each client that takes part,
those clients together, everything that is available, all data. Risks are measured on the other halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import check_count
from ..data.dataset import Dataset
from ..data.partition import dirichlet
from ..extras import needed
from ..participation.base import Participation, history
from .impossibility import capacity
from .relatedness import check_exponent, smallest_alpha_on_path
from .risk_bounds import finite_complexity, mixture_alpha, theorem_2, theorem_3
from .tails import check_probability


@dataclass(frozen=True)
class Estimate:
    """A number, and an interval for it from resampled held-out rows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Learnability:
    """Result of `learnability`. Risks are zero-one risks on held-out rows.

    Attributes:
        omega: the capacity. client_share: lambda_1 = n_S/(n_S + n_T).
        risk: by hypothesis, under P. gap: |e_P - e_D| at its largest.
        alpha: the smallest of the class for ``beta``, with Q the mixture of D and P.
        always: the alpha that always does where one target labels all.
        best_of_q: e_P(h_Q*).
        bounds: what Theorems 2 and 3 give with every constant, noise exponent 0 (no assumption).
        unavoidable: the error 1 - omega, which clients that differ entirely can force.
    """

    omega: float
    client_share: float
    server_samples: int
    client_samples: int
    risk: dict[str, float]
    gap: Estimate
    alpha: Estimate
    beta: float
    always: float
    best_of_q: Estimate
    bounds: dict[str, float]
    unavoidable: float


def present_in(process: Participation, clients: int, rounds: int, seed: int = 0) -> list[int]:
    """The clients that take part in at least one of the first rounds of a process.

    >>> from fedtheory.participation import Fixed
    >>> present_in(Fixed([2]), clients=3, rounds=5)
    [2]
    """
    seen = history(process, clients, rounds, seed=seed)[:, 0].sum(0)
    return [i for i, count in enumerate(seen.tolist()) if count]


def learnability(
    data: Dataset,
    clients: int,
    present: Sequence[int],
    concentration: float = 0.1,
    server_samples: int = 100,
    beta: float = 1.0,
    confidence: float = 0.05,
    resamples: int = 200,
    seed: int = 0,
) -> Learnability:
    """Estimate how clients that stay away matter, and what a server's sample buys.

    Args:
        present: the clients that take part; see ``present_in``. concentration: of the Dirichlet partition.
        beta: of Assumption 2. resamples: of the held-out rows, for 95 percent intervals.

    Raises:
        ValueError: a capacity outside (0, 1), clients that are not there, a server sample larger than
            the half that is fitted on.

    >>> from fedtheory.data import load
    >>> found = learnability(load("digits"), clients=6, present=[0, 1, 2], resamples=20)
    >>> found.omega, found.always > 1, found.alpha.low <= found.alpha.value
    (0.5, True, True)
    """
    check_exponent("beta", beta), check_probability("confidence", confidence), check_count("resamples", resamples, 2)
    if not 0 < concentration < np.inf:
        raise ValueError(f"concentration = {concentration}: allowed is a finite number > 0")
    here = _checked(present, clients)
    omega = capacity(len(here), clients)
    rng = np.random.default_rng(seed)
    train, held, owner = _halves(data, clients, concentration, seed, rng)
    if not 1 <= server_samples <= len(train):
        raise ValueError(f"server_samples = {server_samples}: allowed is an integer from 1 to {len(train)}")
    server = rng.choice(train, server_samples, replace=False)
    of_clients = train[np.isin(owner[train], here)]
    wrong = _errors(data, _fitted(data, server, of_clients, train, owner, here), held)
    in_d = np.isin(owner[held], here)
    if not in_d.any() or len(of_clients) == 0:
        raise ValueError(f"present = {here}: these clients have no rows; allowed are some that have")
    share = len(of_clients) / (len(of_clients) + server_samples)

    def measured(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Excess risks under P, D and Q on some of the held-out rows."""
        of_p = wrong["matrix"][:, rows].mean(1)
        of_d = wrong["matrix"][:, rows[in_d[rows]]].mean(1)
        of_q = share * of_d + (1 - share) * of_p
        return of_p - of_p.min(), of_d - of_d.min(), of_q - of_q.min()

    def three(rows: np.ndarray) -> tuple[float, float, float]:
        of_p, of_d, of_q = measured(rows)
        alphas = [float(smallest_alpha_on_path(of_p[[h]], of_q[[h]], beta)) for h in range(len(of_p))]
        return float(np.abs(of_p - of_d).max()), max(alphas), float(of_p[of_q.argmin()])

    rows = np.arange(len(held))
    draws = [rng.choice(rows, len(rows)) for _ in range(resamples)]
    found = np.array([three(draw) for draw in draws if in_d[draw].any()])
    point = three(rows)
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(found, [0.025, 0.975], axis=0, method="nearest")
    estimates = [Estimate(v, min(v, float(a)), max(v, float(b))) for v, a, b in zip(point, low, high, strict=True)]
    n, size = len(of_clients) + server_samples, len(wrong["names"])
    alpha, best = estimates[1].value, estimates[2].value
    return Learnability(
        float(omega),
        share,
        server_samples,
        len(of_clients),
        dict(zip(wrong["names"], wrong["matrix"].mean(1).tolist(), strict=True)),
        estimates[0],
        estimates[1],
        beta,
        mixture_alpha(share),
        estimates[2],
        {
            "theorem 2": theorem_2(alpha, beta, 1.0, 0.0, size, n, confidence) if np.isfinite(alpha) else np.inf,
            "theorem 3": theorem_3(best, 1.0, 0.0, finite_complexity(size, server_samples, confidence)),
        },
        1 - float(omega),
    )


def _checked(present: Sequence[int], clients: int) -> list[int]:
    here = sorted({check_count("present", i, least=0) for i in present})
    if not here or here[-1] >= clients:
        raise ValueError(f"present = {here}: allowed are clients 0 to {clients - 1}, at least one")
    return here


def _halves(
    data: Dataset, clients: int, concentration: float, seed: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows to fit on, rows to measure on, and whose each row is."""
    owner = np.full(len(data.labels), -1)
    for client, rows in enumerate(dirichlet(data.labels, clients, concentration, seed)):
        owner[rows] = client
    rows = rng.permutation(np.flatnonzero(owner >= 0))
    return rows[::2], rows[1::2], owner


def _fitted(
    data: Dataset, server: np.ndarray, of_clients: np.ndarray, train: np.ndarray, owner: np.ndarray, here: list[int]
) -> dict[str, Any]:
    """Logistic regressions by name; one label alone makes a constant."""
    sets = {
        "server": server,
        "clients present": of_clients,
        "pooled": np.concatenate([server, of_clients]),
        "all clients": train,
    }
    sets |= {f"client {i}": train[owner[train] == i] for i in here}
    return {name: _fit(data, rows) for name, rows in sets.items() if len(rows)}


def _fit(data: Dataset, rows: np.ndarray) -> Any:
    linear_model = needed("sklearn.linear_model")

    labels = data.labels[rows]
    if len(np.unique(labels)) == 1:
        return int(labels[0])
    return linear_model.LogisticRegression(max_iter=200, tol=1e-3).fit(data.features[rows], labels)


def _errors(data: Dataset, fitted: dict[str, Any], held: np.ndarray) -> dict[str, Any]:
    """Return which hypothesis errs on which held-out row."""
    features, labels = data.features[held], data.labels[held]
    rows = [np.full(len(held), m) if isinstance(m, int) else m.predict(features) for m in fitted.values()]
    return {"names": list(fitted), "matrix": np.array([r != labels for r in rows])}
