"""FedAU's Algorithms 1 and 2 carried out word by word on a setting, over every participation and every sign of every
noise, in Fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction as F

from fedtheory.algorithms import FedAUWeights, fedau, given_weights
from fedtheory.federations import Quadratic
from fedtheory.papers.fedau.exact.weighted_update_rounds import given_rows
from fedtheory.participation import Bernoulli
from fedtheory.setting import Setting

STEPS = {"local_lr": F(1, 4), "global_lr": F(3, 5), "local_steps": 1}
ROWS = ((F(3), F(1, 2)), (F(1), F(2)))
TWO = {"curvatures": [[1], ["3/2"]], "slopes": [[1], [-2]], "gradient_noise": F(1, 3)}
ONE = {"curvatures": [["3/2"]], "slopes": [[-1]], "gradient_noise": F(1, 3)}
PLANE = {"curvatures": [[1, 2, 1, 3]] * 2, "slopes": [[1, 0, 2, 1], [-1, 3, 0, 1]], "gradient_noise": F(1, 3)}
P = [F(1, 3), F(4, 5)]


def made(
    federation: dict, p: Sequence[F], weights: object, start: object = 2, noise: F | None = None, **steps: object
) -> Setting:
    """A setting with given rows of weights, or estimated ones with this cutoff."""
    parts = STEPS | steps
    rule = fedau(cutoff=weights, **parts) if isinstance(weights, (int, float)) else given_weights(
        aggregation_weight=weights, **parts
    )  # fmt: skip
    federation = federation if noise is None else federation | {"gradient_noise": noise}
    return Setting(Quadratic.with_slopes(**federation), rule, Bernoulli(p), start)


RUNS: dict[str, tuple[Setting, int]] = {
    "rows of weights": (made(TWO, P, ROWS), 3),
    "three steps of two rows": (made(TWO, P, ROWS, noise=F(0), local_steps=3), 4),
    "local steps with noise": (made(ONE, [F(2, 5)], [[F(5, 2)]], local_steps=2), 4),
    "four dimensions": (made(PLANE, P, ROWS, [2, -1, 0, 1]), 2),
    "estimated": (made(TWO, P, 2), 3),
    "estimated, more steps": (made(ONE, [F(2, 5)], 2, local_steps=2), 4),
    "estimated, longer": (made(TWO, P, 3, noise=F(0)), 5),
    "estimated, no cutoff": (made(ONE, [F(2, 5)], math.inf, noise=F(0), local_steps=2), 7),
    "estimated, one always there": (made(TWO, [F(1), F(1, 5)], 3), 3),
}
"""Settings, and for how many rounds all their runs are looked at."""


def algorithm_2(attendance: Sequence[Sequence[int]], cutoff: float) -> list[list[F]]:
    """The weights of rounds 0 to len(attendance), by the paper's running average, client by client."""
    columns = []
    for n in range(len(attendance[0])):
        M, S, omega = 0, 0, F(1)
        column = [omega]
        for t in range(1, len(attendance) + 1):
            S += 1
            if attendance[t - 1][n] == 1 or cutoff == S:
                omega = F(S) if M == 0 else (M * omega + S) / F(M + 1)
                M, S = M + 1, 0
            column.append(omega)
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def histories(p: Sequence[F], rounds: int) -> Iterator[tuple[F, tuple[tuple[int, ...], ...]]]:
    """(chance, who takes part in each round), of all that have one."""
    for attendance in itertools.product(list(itertools.product((0, 1), repeat=len(p))), repeat=rounds):
        chances = [q if here else 1 - q for row in attendance for q, here in zip(p, row, strict=True)]
        if all(chances):
            yield math.prod(chances), attendance


def weights_along(setting: Setting, attendance: Sequence[Sequence[int]]) -> list[Sequence[F]]:
    rule = setting.algorithm.round.aggregation
    if isinstance(rule, FedAUWeights):
        return algorithm_2(attendance, rule.cutoff) if attendance else [[F(1)] * setting.federation.clients]
    rows = given_rows(rule)
    return [rows[t % len(rows)] for t in range(len(attendance) + 1)]


def gradients(setting: Setting, x: Sequence[F]) -> list[list[F]]:
    fed = setting.federation
    return [[hessian[d][d] * x[d] + slope[d] for d in range(fed.dimension)]
            for hessian, slope in zip(fed.exact_hessians, fed.exact_slopes, strict=True)]  # fmt: skip


def algorithm_1(setting: Setting, rounds: int) -> Iterator[tuple[F, list[list[F]], list[list[F]]]]:
    """(chance, x_0..x_rounds, all local iterates) of every run; noise is +-sigma/sqrt(D), D a square."""
    fed, kind = setting.federation, setting.algorithm.round
    sigma = fed.exact_gradient_noise / math.isqrt(fed.dimension)
    for probability, attendance in histories(setting.participation.probabilities, rounds):
        weights = weights_along(setting, attendance)
        draws = sum(map(sum, attendance)) * kind.local_steps * fed.dimension
        for signs in itertools.product((-1, 1), repeat=draws if sigma else 0):
            noise = iter(signs)
            x, path, locals_ = list(setting.exact_start), [list(setting.exact_start)], []
            for t, row in enumerate(attendance):
                step = [F(0)] * fed.dimension
                for n in (n for n, here in enumerate(row) if here):
                    y = list(x)
                    for _ in range(kind.local_steps):
                        gradient = gradients(setting, y)[n]
                        for d in range(fed.dimension):
                            y[d] -= kind.local_lr * (gradient[d] + (next(noise) * sigma if sigma else 0))
                        locals_.append(list(y))
                    step = [s + weights[t][n] * (b - a) for s, a, b in zip(step, x, y, strict=True)]
                x = [a + kind.server.global_lr / fed.clients * s for a, s in zip(x, step, strict=True)]
                path.append(list(x))
            yield probability / 2 ** len(signs), path, locals_


def squared_gradient(setting: Setting, phi: Sequence[F], x: Sequence[F]) -> F:
    rows = gradients(setting, x)
    return sum((sum(w * row[d] for w, row in zip(phi, rows, strict=True)) ** 2 for d in range(len(x))), F(0))


def value(setting: Setting, phi: Sequence[F], x: Sequence[F]) -> F:
    """sum_n phi_n F_n(x), F_n(x) = <grad F_n(x) + g_n, x>/2."""
    both = zip(phi, gradients(setting, x), setting.federation.exact_slopes, strict=True)
    return sum(
        (w * sum((u + g) * v for u, g, v in zip(row, slope, x, strict=True)) / 2 for w, row, slope in both), F(0)
    )
