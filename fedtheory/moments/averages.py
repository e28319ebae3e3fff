"""Exact expectations of averages of iterates, of weighted averages and of the best round, on quadratic federations.

With y_r = x_r - x*, the lifted state z_r (see ``linear_rounds``), Z_r = E z_r z_r^T, the running sum
S_r = sum_{s <= r} w_s y_s and a quadratic form A,

    E S_r^T A S_r = E S_{r-1}^T A S_{r-1} + 2 w_r tr(A E[S_{r-1} y_r^T]) + w_r^2 tr(A E[y_r y_r^T]),
    C_r = E[S_r z_r^T],   E[S_{r-1} z_r^T] = C_{r-1} P^T,   C_r = E[S_{r-1} z_r^T] + w_r E[y_r z_r^T],

with the map P of means: what moves a state is independent of all that came before it. So first and second moments of a
round are all that an average needs, in floats and in Fractions. Participants with a memory are followed jointly.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..federations.quadratic import Quadratic
from ..functionals import AVERAGES, Functional, check_average
from .centred import Forms, forms_of, squares, whole
from .expected_errors import accumulated, enclosed_functional, observable, packed_start, whole_rounds
from .linear_rounds import mean_map, symmetric_moment_map, unpacked
from .round_maps import quadratic
from .timeline import layout_for, observed, operators, timeline

if TYPE_CHECKING:
    from ..setting import Setting

MOST_ROUNDS = 10**6
"""The most rounds that are followed one by one."""


def form_of(fed: Quadratic, observable: str) -> np.ndarray:
    """Return the matrix A of the observable y^T A y at x* + y, (D, D) in Fractions.

    Raises:
        ValueError: it is none of ``squared_distance``, ``squared_gradient`` and ``gap``.
    """
    return _one_of(squares(fed.exact_hessian), observable)


def _one_of(forms: dict[str, np.ndarray], observable: str) -> np.ndarray:
    if observable not in forms:
        raise ValueError(f"observable = {observable!r}: allowed is {', '.join(forms)}")
    return forms[observable]


def of_run(
    setting: Setting, functional: Functional, rounds: Any, exact: bool = False, average: str = AVERAGES[0]
) -> np.ndarray:
    """Compute the functional's value with R = each of ``rounds``, in Fractions if ``exact``.

    It is infinite where it leaves the floating-point range.

    The last iterate and plain averages of an observable cost the logarithm of the horizon, and are in floats what
    ``expected_errors.enclosed_functional`` says; averages of iterates, weighted averages and best rounds are followed
    round by round, and in floats have the errors of their rounding.

    Args:
        average: "r = 1..R" or "r = 0..R-1": the iterates that an average, or a best round, is over.

    Raises:
        ValueError: as ``exact_errors``; R = 0 where there is nothing to average; or more than ``MOST_ROUNDS``.

    >>> import fedtheory as ft
    >>> from fedtheory.functionals import AVERAGE_ITERATE_DISTANCE, BEST_GAP
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[0, 0])
    >>> algorithm = ft.algorithms.fedavg(local_lr="3/2")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0, 1]), start=4)  # 4, -2, 1, -1/2
    >>> [[str(v) for v in of_run(s, f, [1, 2, 3], exact=True)] for f in (AVERAGE_ITERATE_DISTANCE, BEST_GAP)]
    [['4', '1/4', '1/4'], ['2', '1/2', '1/8']]
    """
    if not exact and not functional.of_all_rounds:
        return enclosed_functional(setting, functional, rounds, average)[0]
    return run_in_floats(setting, functional, rounds, average, exact)


def run_in_floats(
    setting: Setting, functional: Functional, rounds: Any, average: str = AVERAGES[0], exact: bool = False
) -> np.ndarray:
    """Compute the values of ``of_run`` quickly in floats, without proven accuracy, for searches.

    Raises:
        ValueError: as ``of_run``.
    """
    check_average(average)
    numbers = whole_rounds(setting, rounds)
    several = functional.average or functional.best
    if several and numbers.min() < 1:
        raise ValueError(f"rounds contain {numbers.min()}: an average needs >= 1")
    forms = forms_of(setting, exact)
    form = _one_of(forms.squares(), functional.observable)
    with np.errstate(over="ignore", invalid="ignore"):
        follow = _followed if functional.of_all_rounds else _by_powers
        values = follow(setting, functional, forms, form, numbers, average == AVERAGES[0])
    return values if exact else np.where(np.isfinite(values), values, np.inf)


def _by_powers(
    setting: Setting, functional: Functional, forms: Forms, form: np.ndarray, numbers: np.ndarray, ends: bool
) -> np.ndarray:
    """The observable at the last iterate, or its mean over the iterates, of which the last is one if it ``ends``."""
    weight, start = observable(setting, forms, form), packed_start(setting, forms)
    plan, exact = timeline(setting, symmetric_moment_map, forms.dtype == object, forms), forms.dtype == object
    if not functional.average:
        return observed(plan, start, weight[None], numbers)[0]
    none = 0 * start[..., -1:]
    total = np.concatenate([weight if ends else 0 * weight, none + 1], axis=-1)
    sums = observed(accumulated(plan, weight), np.concatenate([start, none], axis=-1), total[None], numbers)[0]
    return (sums - ((start * weight).sum() if ends else 0)) / (numbers if exact else numbers.astype(float))


def second_moments(
    setting: Setting, rounds: int, exact: bool = False, forms: Forms | None = None
) -> Iterator[np.ndarray]:
    """Yield Z_0, Z_1, ..., Z_R with R = ``rounds``, each (*blocks, states of the participants, size, size).

    They are those of the ``forms``, by default whole.

    Raises:
        ValueError: as ``exact_errors``, or more than ``MOST_ROUNDS``.
    """
    forms = forms or whole(quadratic(setting), exact)
    state, size = packed_start(setting, forms), layout_for(setting, forms).size
    shape = (*forms.blocks, -1, size * (size + 1) // 2)
    maps = operators(_plan(setting, symmetric_moment_map, rounds, forms))
    yield unpacked(state.reshape(shape))
    for _ in range(rounds):
        state = (next(maps) @ state[..., None])[..., 0]
        yield unpacked(state.reshape(shape))


def _plan(setting: Setting, one_round: Any, rounds: int, forms: Forms) -> Any:
    if rounds > MOST_ROUNDS:
        raise ValueError(f"rounds = {rounds}: allowed are at most {MOST_ROUNDS} where all of them are followed")
    return timeline(setting, one_round, forms.dtype == object, forms)


def _followed(
    setting: Setting, functional: Functional, forms: Forms, form: np.ndarray, numbers: np.ndarray, ends: bool
) -> np.ndarray:
    horizon, exact = int(numbers.max()), forms.dtype == object
    model, shape = layout_for(setting, forms).of_model, form.shape[:-1]  # (*blocks, d)
    means = operators(_plan(setting, mean_map, horizon, forms)) if functional.of_mean else None
    weigh = functional.weights or (lambda r: 1)
    cross: Any = None  # E[S_{r-1} z_r^T], (*blocks, d, states * size)
    zero = Fraction(0) if exact else 0.0
    total, weights, best = zero, zero, None
    values = {}
    for r, moments in enumerate(second_moments(setting, horizon, exact, forms)):
        if r > 0 or not ends:
            gap, w = (form * moments[..., model, model].sum(-3)).sum(), weigh(r)
            best, weights = gap if best is None else min(best, gap), weights + w
            if means is None:
                total = total + w * gap
            else:
                rows = np.moveaxis(moments[..., model, :], -3, -2).reshape(*shape, -1)
                earlier = 0 * rows if cross is None else cross
                with_model = earlier.reshape(*shape, -1, moments.shape[-1])[..., model].sum(-2)
                total = total + 2 * w * (form * with_model).sum() + w * w * gap
                cross = earlier + w * rows
            mean = total / (weights * weights if functional.of_mean else weights)
            values[r if ends else r + 1] = best if functional.best else mean
        if means is not None:
            operator = next(means)
            cross = None if cross is None else cross @ operator.swapaxes(-1, -2)
    return np.array([values[int(r)] for r in numbers], dtype=object if exact else float)
