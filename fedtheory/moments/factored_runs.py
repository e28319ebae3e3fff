"""Runs of few rounds, or of many dimensions, followed by a round's factors instead of its operator.

With the factors L_c, R_c of a round (``LinearRound.factors``), Z' = Z + sum_c L_c Z R_c^T + noise takes two products of
matrices, about 4 c s^3 operations for states of s numbers; the operator on the n = s (s + 1)/2 packed ones has n^2
entries, and each of its squares takes 2 n^3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, arb_mat

from ..claims.balls import ball, ball_matrix
from .centred import Forms
from .linear_rounds import LARGEST, LARGEST_IN_BALLS, LinearRound, unpacked
from .participation_laws import chain_of
from .round_maps import layout_of, rounds_of_kind
from .timeline import is_steady

if TYPE_CHECKING:
    from ..setting import Setting

MOST_WORK = 10**12
"""The most operations that are spent on a run whose operator would be too large."""
_SPEED, _ROUND = (
    2e10,
    1e-5,
)  # operations a second, and seconds a round takes besides; rough, since they only choose a route


@dataclass(frozen=True)
class Factors:
    """Factors of a round's map of second moments: Z' = Z + sum_c L_c Z R_c^T + N.

    Attributes:
        left: (s c, s), the L_c row by row. right: (c s, s), the R_c^T below one another. noise: (s, s).
    """

    left: np.ndarray
    right: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, kinds: list[tuple[float, LinearRound]]) -> Factors:
        """Return the factors of a mixture of rounds, given as pairs of a probability and a round."""
        left = np.concatenate([q * round.factors()[0] for q, round in kinds])
        right = np.concatenate([round.factors()[1] for _, round in kinds])
        noise = np.sum([q * round.added_noise() for q, round in kinds], axis=0)
        size = left.shape[-1]
        return cls(left.swapaxes(0, 1).reshape(-1, size), right.swapaxes(1, 2).reshape(-1, size), noise)

    @property
    def work(self) -> int:
        """The number of operations of a round."""
        return 4 * self.left.size * len(self.noise)

    def after(self, moments: np.ndarray) -> np.ndarray:
        """Return Z' after a round from Z, symmetric."""
        moved = (self.left @ moments).reshape(len(moments), -1) @ self.right
        moved = moments + moved + self.noise
        return (moved + moved.T) / 2


def followed(
    setting: Setting, forms: Forms, start: np.ndarray, weights: np.ndarray, rounds: np.ndarray
) -> np.ndarray | None:
    """Compute the forms ``weights`` (q, d, d) of the model's error before the rounds 0, ..., max(rounds), in floats.

    They are (q, that many), from the packed E z_0 z_0^T = ``start``. Returns ``None`` where operators take less time,
    or rounds differ.

    Raises:
        ValueError: as ``rounds_of_kind``.
    """
    last, algorithm, numbers = int(rounds.max()), setting.algorithm, start.shape[-1]
    quickest = last * (_ROUND + 12 * isqrt(2 * numbers) ** 3 / _SPEED)  # a round has three factors at least
    if forms.blocks or quickest > _by_operator(numbers, last) or not is_steady(setting):
        return None
    if len(chain_of(setting.participation, forms.hessians.shape[0]).sets) > 1:
        return None
    layout = layout_of(setting)
    made = [rounds_of_kind(setting, kind, False, layout, forms)[0] for kind in dict.fromkeys(algorithm.kinds)]
    if algorithm.period is not None:
        first, rest = Factors.of([(1.0, made[0])]), Factors.of([(1.0, made[-1])])
    else:
        shares = [float(algorithm.share), 1 - float(algorithm.share)] if len(made) > 1 else [1.0]
        first = rest = Factors.of(list(zip(shares, made, strict=True)))
    if last * (_ROUND + first.work / _SPEED) > _by_operator(numbers, last, first.work * last):
        return None
    moments, found = unpacked(start), np.empty((len(weights), last + 1))
    for r in range(last + 1):
        found[:, r] = np.einsum("qij,ij->q", weights, moments[layout.of_model, layout.of_model])
        moments = (rest if r % (algorithm.period or 1) else first).after(moments)
    return found


SECONDS = 60
"""The most seconds that following a run in balls may take."""
_PRODUCT, _ENTRY = 5e-8, 3e-5  # seconds a product takes, and an entry of an operator that is made: rough


def followed_in_balls(
    setting: Setting, forms: Forms, start: np.ndarray, weights: np.ndarray, rounds: list[int], summed: int
) -> list[list[arb]] | None:
    """Compute the forms ``weights`` (q, d, d) of the model's error before each of the rounds, in balls.

    Also computes the sum of one of them over the rounds before. Returns ``None`` where operators take less time, or
    rounds differ.

    Raises:
        ValueError: as ``rounds_of_kind``.
    """
    last, algorithm, numbers = max(rounds), setting.algorithm, start.shape[-1]
    if forms.blocks or not is_steady(setting) or len(chain_of(setting.participation, len(forms.hessians)).sets) > 1:
        return None
    size, factors = isqrt(2 * numbers), 3 + len(forms.hessians)
    by_operator = numbers**2 * _ENTRY + numbers**3 * min(16, last.bit_length()) * _PRODUCT
    by_operator = SECONDS if numbers > LARGEST_IN_BALLS else by_operator
    if last > by_operator / (2 * factors * size**3 * _PRODUCT):  # a whole number may be too large for a float
        return None
    layout = layout_of(setting)
    made = [rounds_of_kind(setting, kind, True, layout, forms)[0] for kind in dict.fromkeys(algorithm.kinds)]
    shares = [algorithm.share, 1 - algorithm.share] if len(made) > 1 and algorithm.period is None else [Fraction(1)]
    kinds = [_FactorsInBalls(each) for each in made]
    moments, rows = ball_matrix(unpacked(start)), [ball_matrix(weight) for weight in weights]
    wanted, known, total, model = set(rounds), {}, arb(0), range(layout.of_model.stop)
    for r in range(last + 1):
        of_model = arb_mat([[moments[i, j] for j in model] for i in model])
        values = [(row * of_model).trace() for row in rows]
        if r in wanted:
            known[r] = [*values, total]
        total = total + values[summed]
        if algorithm.period is not None:
            moments = kinds[0 if r % algorithm.period == 0 else -1].after(moments)
        else:
            moved = [each.after(moments) * ball(q) for each, q in zip(kinds, shares, strict=True)]
            moments = sum(moved[1:], moved[0])
    return [[known[r][q] for r in rounds] for q in range(len(weights) + 1)]


class _FactorsInBalls:
    """Factors of one round, as ``Factors``, in balls."""

    def __init__(self, round: LinearRound) -> None:
        left, right = round.factors()
        pairs = zip(left, right, strict=True)
        self.pairs = [(ball_matrix(one), ball_matrix(other).transpose()) for one, other in pairs]
        self.noise = ball_matrix(round.added_noise())

    def after(self, moments: arb_mat) -> arb_mat:
        """Z'."""
        return sum((one * moments * other for one, other in self.pairs), moments + self.noise)


def _by_operator(numbers: int, last: int, work: float = 0) -> float:
    """Seconds that the operator's powers take; no end of them where it is too large and ``work`` is not."""
    if numbers > LARGEST:
        return 0.0 if work > MOST_WORK else np.inf
    return 2 * numbers**3 * last.bit_length() / _SPEED
