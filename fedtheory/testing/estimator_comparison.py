"""Comparison of weight estimators: bias, variance and error by round, exact where moments are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import check_count
from ..participation import Cyclic, Markov, Participation, history
from ..rationals import checked_seed
from ..weights import (
    RULE_OF_THUMB,
    ExponentialAverage,
    FedAU,
    KnownStatistics,
    WeightMoments,
    cyclic_weight_moments,
    markov_weight_moments,
    weight_moments,
)
from .weight_rule_inputs import accepted

REPLICAS = 400
"""Number of simulated histories of each client."""

SMOOTHING = 0.1
"""Smoothing factor of the exponential average that rules are compared with."""


@dataclass(frozen=True)
class WeightComparison:
    """Bias and variance of weight rules, for each client n (of participation probability p_n) and round.

    Attributes:
        names: the names of the rules.
        cutoffs: (rules,), their cutoffs; nan for a rule without one.
        probability: (clients,), p_n.
        bias: (rules, clients, rounds), E[p_n w_t] - 1.
        variance: (rules, clients, rounds), p_n^2 Var[w_t].
        counted: (rules,), the mean of weight x participation over clients, replicas and the second half of the rounds;
            1 for a rule without bias, however rounds depend on each other.
        exact: (rules,), whether bias and variance are exact; otherwise they are estimated from simulated histories.
        error_bar: (rules, clients, rounds), the standard error of the bias; 0 where it is exact.
    """

    names: tuple[str, ...]
    cutoffs: np.ndarray
    probability: np.ndarray
    bias: np.ndarray
    variance: np.ndarray
    counted: np.ndarray
    exact: np.ndarray
    error_bar: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Mean squared error E[(p_n w_t - 1)^2] = variance + bias^2, (rules, clients, rounds)."""
        return np.asarray(self.variance + self.bias**2)

    def table(self) -> str:
        """Format one line for each rule: means over the clients in the last round, and the error over all rounds."""
        width = max(map(len, self.names))
        lines = [f"{'rule':{width}}  {'bias':>9} {'variance':>9} {'error':>9} {'mean error':>10} {'counted':>8}"]
        for i, name in enumerate(self.names):
            bias, variance, error = (values[i, :, -1].mean() for values in (self.bias, self.variance, self.error))
            lines.append(
                f"{name:{width}}  {bias:9.4f} {variance:9.4f} {error:9.4f} {self.error[i].mean():10.4f} "
                f"{self.counted[i]:8.4f}{'' if self.exact[i] else '  simulated'}"
            )
        return "\n".join(lines)

    __str__ = table

    def plot(self) -> Any:
        """Plot bias against variance in the last round by rule and client, and the mean error against the cutoff.

        Returns:
            A ``matplotlib.figure.Figure``.
        """
        from ..report.estimators import plot_estimators

        return plot_estimators(
            self.names, self.cutoffs, self.probability, self.bias[..., -1], self.variance[..., -1], self.error.mean(2)
        )


def compare_weight_estimators(
    rules: Mapping[str, Any] | Sequence[Any],
    process: Participation,
    clients: int | None = None,
    *,
    rounds: int = 1000,
    replicas: int = REPLICAS,
    seed: int = 0,
    cutoffs: Sequence[float] = (2, 10, RULE_OF_THUMB, 200),
) -> WeightComparison:
    """Compare weight rules under a participation process with the built-in rules.

    Built-in rules are FedAU without and with cutoffs, an exponential average, and known statistics. Moments of `FedAU`
    are exact under `Markov` participation, under `Cyclic` participation that rounds to the nearest, and where rounds
    are independent and identically distributed.
    Moments of `KnownStatistics` are always exact. Other moments are estimated from ``replicas`` simulated histories,
    the same for all rules.

    Args:
        rules: the rules, by name or as a sequence; each in a form that `check_weight_estimator` accepts.
        process: the participation process, whose clients' probabilities are the same in every round.
        clients: the number of clients; by default the number of the process's probabilities.
        cutoffs: the cutoffs of the FedAU rules; those not below ``rounds`` are left out.

    Raises:
        ValueError: no rule, a process whose probabilities change or are 0, or that draws a client repeatedly; or a
            number that is too small.

    >>> from fedtheory.participation import Bernoulli
    >>> found = compare_weight_estimators([lambda history: 0 * history + 3.0], Bernoulli(["1/2"]), rounds=50)
    >>> found.names[0], found.bias[0, 0, -1]
    ('<lambda>', np.float64(0.5))
    >>> bool(found.exact[found.names.index("FedAU, no cutoff")])
    True
    """
    rounds, replicas = check_count("rounds", rounds, least=2), check_count("replicas", replicas, least=20)
    if clients is None:
        clients = len(getattr(process, "probabilities", ())) or 1
    probability = np.asarray(process.stationary(check_count("clients", clients)), float)
    if (probability <= 0).any():
        raise ValueError(f"process: client {int(probability.argmin())} never takes part; allowed are probabilities > 0")
    named = _named(rules)
    known = [f"FedAU, K = {cutoff:g}" for cutoff in cutoffs if cutoff < rounds]
    beside: dict[str, Any] = {"FedAU, no cutoff": FedAU()}
    beside |= dict(zip(known, (FedAU(cutoff) for cutoff in cutoffs if cutoff < rounds), strict=True))
    beside |= {"exponential average": ExponentialAverage(SMOOTHING), "known statistics": KnownStatistics(probability)}
    everyone = named | {name: rule for name, rule in beside.items() if name not in named}
    counts = history(process, clients, rounds, replicas, checked_seed(seed)).numpy()
    if counts.max() > 1:
        raise ValueError("process: it draws clients more than once a round; allowed is once at most")
    present = counts.astype(np.uint8)
    parts = [_compared(rule, process, probability, present) for rule in everyone.values()]
    of_cutoffs = [getattr(rule, "cutoff", None) for rule in everyone.values()]
    bias, variance, counted, exact, bar = map(np.array, zip(*parts, strict=True))
    return WeightComparison(
        tuple(everyone),
        np.array([math.nan if k is None else k for k in of_cutoffs], float),
        probability,
        bias,
        variance,
        counted,
        exact,
        bar,
    )


def _named(rules: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(rules, Mapping):
        return dict(rules)
    named: dict[str, Any] = {}
    for rule in rules:
        name = getattr(rule, "__name__", type(rule).__name__)
        number = 2
        while name in named:
            name, number = f"{name.rstrip('0123456789 ')} {number}", number + 1
        named[name] = rule
    return named


def _compared(
    rule: Any, process: Participation, p: np.ndarray, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, bool, np.ndarray]:
    """Return bias and variance (clients, rounds), the counted share, whether they are exact, and the error bar."""
    flat = present.reshape(len(present), -1)
    if isinstance(rule, KnownStatistics):
        weights = np.broadcast_to(1.0 / rule.participation_probability, present.shape)
    else:
        weights = np.asarray(accepted(rule).batch(flat), float).reshape(present.shape)
    half = len(present) // 2
    counted = float((present * weights)[half:].mean())
    moments = _exact(rule, process, p, len(present))
    if moments is not None:
        return moments.bias, p[:, None] ** 2 * moments.variance, counted, True, np.zeros_like(moments.bias)
    seen = p * weights
    variance = seen.var(1, ddof=1).T
    return seen.mean(1).T - 1.0, variance, counted, False, np.sqrt(variance / present.shape[1])


def _exact(rule: Any, process: Participation, p: np.ndarray, rounds: int) -> WeightMoments | None:
    """Return the rule's exact moments, or None if they are not known."""
    if type(rule) is KnownStatistics:
        weights = np.broadcast_to(1.0 / rule.participation_probability, p.shape)
        return WeightMoments(p, np.repeat(weights[:, None], rounds, 1), np.zeros((len(p), rounds)))
    if type(rule) is not FedAU:
        return None
    if process.independent_rounds:  # and of one law, as `stationary` says
        return weight_moments(p, rule.cutoff, rounds)
    if type(process) is Markov:
        parts = [
            markov_weight_moments(p_i, float(e), rule.cutoff, rounds) for p_i, e in zip(p, process.entries, strict=True)
        ]
    elif type(process) is Cyclic and process.rounding == "nearest":
        parts = [cyclic_weight_moments(round(p_i * process.period), process.period, rule.cutoff, rounds) for p_i in p]
    else:
        return None
    return WeightMoments(p, *(np.stack([getattr(part, name) for part in parts]) for name in ("mean", "variance")))
