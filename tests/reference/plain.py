"""The algorithms of the papers once more: plain loops over rounds, clients, steps and coordinates, on floats and lists.

Nothing here comes from the package. An algorithm gets the problem, the start, who is there in each round, and the
draws that it needs; it returns the iterates x_0, ..., x_R.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from .layers import TwoLayers

Vector = list[float]
Counts = Sequence[Sequence[int]]
"""[round][client]: how often a client was drawn."""


class Quadratic:
    """F_i(x) = (x - c_i)^T H_i (x - c_i) / 2."""

    def __init__(self, hessians: list[list[Vector]], centres: list[Vector]) -> None:
        self.hessians, self.centres = hessians, centres
        self.clients = len(centres)

    def gradient(self, i: int, x: Vector) -> Vector:
        shifted = [a - c for a, c in zip(x, self.centres[i], strict=True)]
        return [sum(h * s for h, s in zip(row, shifted, strict=True)) for row in self.hessians[i]]


class Logistic:
    """Cross-entropy of a linear softmax model without a bias, and (l2/2)|x|^2; x holds class after class."""

    def __init__(self, rows: list[list[Vector]], labels: list[list[int]], classes: int, l2: float) -> None:
        self.rows, self.labels, self.classes, self.l2 = rows, labels, classes, l2
        self.clients = len(rows)

    def scores(self, x: Vector, row: Vector) -> Vector:
        p = len(row)
        return [sum(x[c * p + j] * row[j] for j in range(p)) for c in range(self.classes)]

    def gradient(self, i: int, x: Vector) -> Vector:
        total = [0.0] * len(x)
        for row, label in zip(self.rows[i], self.labels[i], strict=True):
            powers = [math.exp(s) for s in self.scores(x, row)]
            for c in range(self.classes):
                residual = powers[c] / sum(powers) - (1.0 if c == label else 0.0)
                for j in range(len(row)):
                    total[c * len(row) + j] += residual * row[j]
        return [t / len(self.rows[i]) + self.l2 * a for t, a in zip(total, x, strict=True)]

    def accuracy(self, x: Vector) -> float:
        """The mean over clients of the share of rows that the highest score puts in their class."""
        shares = []
        for rows, labels in zip(self.rows, self.labels, strict=True):
            guesses = [max(range(self.classes), key=self.scores(x, row).__getitem__) for row in rows]
            shares.append(sum(g == y for g, y in zip(guesses, labels, strict=True)) / len(labels))
        return sum(shares) / len(shares)


Problem = Quadratic | Logistic | TwoLayers


def mean_gradient(problem: Problem, x: Vector) -> Vector:
    each = [problem.gradient(i, x) for i in range(problem.clients)]
    return [sum(column) / problem.clients for column in zip(*each, strict=True)]


def train(problem: Problem, i: int, x: Vector, steps: int, lr: float, proximal: float = 0.0) -> Vector:
    """Client i's model after its local steps from x."""
    y = list(x)
    for _ in range(steps):
        g = problem.gradient(i, y)
        y = [b - lr * (s + proximal * (b - a)) for a, b, s in zip(x, y, g, strict=True)]
    return y


def moved(x: Vector, *ways: tuple[float, Vector]) -> Vector:
    """x plus multiples of vectors."""
    return [a + sum(w * d[j] for w, d in ways) for j, a in enumerate(x)]


def difference(y: Vector, x: Vector) -> Vector:
    return [b - a for a, b in zip(x, y, strict=True)]


def mean_model(
    problem: Problem, x: Vector, drawn: Sequence[int], steps: int, lr: float, proximal: float = 0.0
) -> Vector:
    """The mean of the models of all draws; a client drawn twice counts twice. x if nobody is there."""
    models = [train(problem, i, x, steps, lr, proximal) for i, n in enumerate(drawn) for _ in range(n)]
    return [sum(column) / len(models) for column in zip(*models, strict=True)] if models else list(x)


# FAST


def fast(
    problem: Problem,
    x: Vector,
    arbitrary: Counts,
    cohort: Counts,
    snapshot: Callable[[int], bool],
    *,
    steps: int,
    lr: float,
    proximal: float = 0.0,
    momentum: float = 0.0,
) -> list[Vector]:
    """FAST, Algorithm 1: a snapshot's cohort in some rounds, whoever is there in the others; also on FedProx and on
    FedAvgM, of which a round without participants changes nothing."""
    path, v = [x], [0.0] * len(x)
    for r in range(len(arbitrary)):
        x, drawn = path[-1], cohort[r] if snapshot(r) else arbitrary[r]
        if sum(drawn) > 0:
            delta = difference(mean_model(problem, x, drawn, steps, lr, proximal), x)
            v = [momentum * a + d for a, d in zip(v, delta, strict=True)]
            x = moved(x, (1.0, v))
        path.append(x)
    return path


def fast_adaptive(
    problem: Logistic | TwoLayers,
    x: Vector,
    arbitrary: Counts,
    cohort: Counts,
    dice: Vector,
    *,
    adaptivity: float,
    steps: int,
    lr: float,
) -> list[Vector]:
    """FAST, Algorithms 1 and 2; round r is a snapshot if dice[r] < q_r."""
    path, q, last = [x], 0.0, 0.0
    for r in range(len(arbitrary)):
        accuracy = problem.accuracy(path[-1])
        snapshot = dice[r] < q
        q = min(1.0, max(0.0, q + adaptivity * (last - accuracy)))
        last = accuracy
        path.append(mean_model(problem, path[-1], cohort[r] if snapshot else arbitrary[r], steps, lr))
    return path


# SAFARI


def safari(
    problem: Problem,
    x: Vector,
    present: Counts,
    of_clients: Callable[[int], bool],
    *,
    steps: int,
    lr: float,
    server_lr: float,
) -> list[Vector]:
    """SAFARI, Algorithm 1."""
    path = [x]
    for r in range(len(present)):
        if of_clients(r):
            path.append(mean_model(problem, path[-1], present[r], steps, lr))
        else:
            path.append(moved(path[-1], (-server_lr, mean_gradient(problem, path[-1]))))
    return path


# FedAvg and its relatives


def fedavg(
    problem: Problem,
    x: Vector,
    present: Counts,
    *,
    steps: int,
    lr: float,
    global_lr: float = 1.0,
    everyone: bool = False,
    proximal: float = 0.0,
    momentum: float = 0.0,
) -> list[Vector]:
    """FedAvg (the mean over who is there, or over ``everyone``), FedProx and FedAvgM."""
    path, v = [x], [0.0] * len(x)
    for drawn in present:
        x, total = path[-1], sum(drawn)
        if total == 0:
            path.append(x)
            continue
        update = [0.0] * len(x)
        for i, n in enumerate(drawn):
            if n:
                delta = difference(train(problem, i, x, steps, lr, proximal), x)
                update = moved(update, (n / (problem.clients if everyone else total), delta))
        v = [momentum * a + d for a, d in zip(v, update, strict=True)]
        path.append(moved(x, (global_lr, v)))
    return path


def fedadam(
    problem: Problem,
    x: Vector,
    present: Counts,
    *,
    steps: int,
    lr: float,
    global_lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> list[Vector]:
    """Reddi et al., Algorithm 2, "Adam", with the least v_0 that it allows."""
    path, m, v = [x], [0.0] * len(x), [epsilon**2] * len(x)
    for drawn in present:
        x = path[-1]
        if sum(drawn) == 0:
            path.append(x)
            continue
        after = mean_model(problem, x, drawn, steps, lr)
        delta = difference(after, x)
        m = [beta1 * a + (1 - beta1) * d for a, d in zip(m, delta, strict=True)]
        v = [beta2 * a + (1 - beta2) * d * d for a, d in zip(v, delta, strict=True)]
        path.append([c + global_lr * a / (math.sqrt(b) + epsilon) for c, a, b in zip(x, m, v, strict=True)])
    return path


def amplified(
    problem: Problem, x: Vector, present: Counts, *, steps: int, lr: float, global_lr: float, period: int
) -> list[Vector]:
    """Wang and Ji (2022), Algorithm 1, of the rounds in which somebody is there."""
    path, anchor, passed = [x], x, 0
    u = [0.0] * len(x)
    for drawn in present:
        x = path[-1]
        if sum(drawn) == 0:
            path.append(x)
            continue
        delta = difference(mean_model(problem, x, drawn, steps, lr), x)
        u = moved(u, (1.0, delta))
        x, passed = moved(x, (1.0, delta)), passed + 1
        if passed == period:
            x = moved(anchor, (global_lr, u))
            anchor, passed, u = x, 0, [0.0] * len(x)
        path.append(x)
    return path


# FedAU and what it is compared with


def interval_weights(history: Sequence[int], cutoff: float) -> Vector:
    """FedAU, Algorithm 2, line by line: omega_0, ..., omega_{T-1} of one client."""
    M, running, omega = 0, 0, [1.0]
    for t in range(1, len(history)):
        running += 1
        if history[t - 1] == 1 or running == cutoff:
            S = running
            omega.append(float(S) if M == 0 else (M * omega[t - 1] + S) / (M + 1))
            M += 1
            running = 0
        else:
            omega.append(omega[t - 1])
    return omega


def weighted(
    problem: Problem,
    x: Vector,
    present: Counts,
    weight: Callable[[int, int], float],
    *,
    steps: int,
    lr: float,
    global_lr: float,
) -> list[Vector]:
    """FedAU, Algorithm 1: x + (eta / N) sum_n omega_t^n Delta_t^n, for weights omega(t, n)."""
    path = [x]
    for t, drawn in enumerate(present):
        x = path[-1]
        ways = []
        for n, count in enumerate(drawn):
            if count:
                delta = difference(train(problem, n, x, steps, lr), x)
                ways.append((global_lr / problem.clients * weight(t, n) * count, delta))
        path.append(moved(x, *ways))
    return path


def fedau(problem: Problem, x: Vector, present: Counts, *, cutoff: float, **options: float) -> list[Vector]:
    """FedAU, Algorithms 1 and 2."""
    rounds = range(len(present))
    omega = [interval_weights([int(present[t][n] > 0) for t in rounds], cutoff) for n in range(problem.clients)]
    return weighted(problem, x, present, lambda t, n: omega[n][t], **options)


def fedvarp(
    problem: Problem, x: Vector, present: Counts, *, steps: int, lr: float, global_lr: float, stays: bool = True
) -> list[Vector]:
    """Jhunjhunwala et al. (2022), Algorithm 1; a round without participants changes nothing if ``stays``."""
    path, y = [x], [[0.0] * len(x) for _ in range(problem.clients)]
    for drawn in present:
        x = path[-1]
        if stays and sum(drawn) == 0:
            path.append(x)
            continue
        v = [sum(column) / problem.clients for column in zip(*y, strict=True)]
        new = {i: difference(train(problem, i, x, steps, lr), x) for i, n in enumerate(drawn) if n}
        for i, delta in new.items():
            v = moved(v, (drawn[i] / sum(drawn), difference(delta, y[i])))
        for i, delta in new.items():
            y[i] = delta
        path.append(moved(x, (global_lr, v)))
    return path


def mifa(
    problem: Problem, x: Vector, present: Counts, *, steps: int, lr: float, global_lr: float, stays: bool = False
) -> list[Vector]:
    """Gu et al. (2021), Algorithm 1; or ``stays``: a round without participants changes nothing."""
    path, latest = [x], [[0.0] * len(x) for _ in range(problem.clients)]
    for drawn in present:
        x = path[-1]
        if stays and sum(drawn) == 0:
            path.append(x)
            continue
        for i, n in enumerate(drawn):
            if n:
                latest[i] = difference(train(problem, i, x, steps, lr), x)
        path.append(moved(x, *((global_lr / problem.clients, g) for g in latest)))
    return path


# FLICS


def var_rates(p: Sequence[Fraction], history: Sequence[Fraction], a: Sequence[int], k: Fraction) -> list[Fraction]:
    """The minimiser of sum_j p_j^2 / (b_j + r_j) over 0 <= r <= a, sum r <= k, exactly: on every interval between two
    kinks of the groups' shares the level solves a linear equation."""
    if sum(a) <= k:
        return [Fraction(n) for n in a]
    kinks = sorted({b / w for b, w in zip(history, p, strict=True)}
                   | {(b + n) / w for b, n, w in zip(history, a, p, strict=True)})  # fmt: skip

    def shares(level: Fraction) -> list[Fraction]:
        return [min(max(w * level - b, Fraction(0)), Fraction(n)) for w, b, n in zip(p, history, a, strict=True)]

    for low, high in itertools.pairwise(kinks):
        below, above = sum(shares(low)), sum(shares(high))
        if below <= k <= above and below < above:
            return shares(low + (high - low) * (k - below) / (above - below))
    return shares(kinks[0])


def flics(
    problem: Problem,
    x: Vector,
    available: Counts,
    answers: Callable[[int, int, float], bool],
    server: Callable[[Vector, Vector], Vector],
    *,
    groups: Sequence[int],
    weights: Sequence[Fraction],
    budget: Sequence[Fraction],
    steps: int,
    lr: float,
    counts: str = "planned",
    update: str = "mean",
    start: Fraction = Fraction(0),
    divided: bool = False,
) -> list[Vector]:
    """FLICS, Algorithm 1. ``answers(t, client, chance)`` is the coin of line 5, ``server(w, Delta)`` its line 15."""
    path, number = [x], len(weights)
    estimate = [Fraction(start)] * number
    for t in range(1, len(available) + 1):
        x, there = path[-1], available[t - 1]
        a = [sum(there[i] for i in range(problem.clients) if groups[i] == j) for j in range(number)]
        rates = var_rates(weights, [(t - 1) * s for s in estimate], a, budget[(t - 1) % len(budget)])
        chosen = [i for i in range(problem.clients)
                  if there[i] and answers(t - 1, i, float(rates[groups[i]] / a[groups[i]]))]  # fmt: skip
        received = [Fraction(sum(groups[i] == j for i in chosen)) for j in range(number)]
        new = rates if counts == "planned" else received
        for j in range(number):
            if update == "mean":
                estimate[j] = ((t - 1) * estimate[j] + new[j]) / t
            elif update == "start_counts":
                estimate[j] = (t * estimate[j] + new[j]) / (t + 1)
            elif t > 1:
                estimate[j] = estimate[j] + (new[j] - estimate[j]) / (t - 1)
        if not chosen:
            path.append(x)
            continue
        total = [0.0] * len(x)
        for i in chosen:
            scale = float(weights[groups[i]] / estimate[groups[i]])
            total = moved(total, (scale, difference(train(problem, i, x, steps, lr), x)))
        path.append(server(x, [d / len(chosen) for d in total] if divided else total))
    return path
