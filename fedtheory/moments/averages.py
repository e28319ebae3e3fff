"""Exact expectations of averages of iterates, of weighted averages and of the best round, on quadratic federations.

With y_r = x_r - x*, the lifted state z_r (see ``linear_rounds``), Z_r = E z_r z_r^T, the running sum
S_r = sum_{s <= r} w_s y_s and a quadratic form A,

    E S_r^T A S_r = E S_{r-1}^T A S_{r-1} + 2 w_r tr(A E[S_{r-1} y_r^T]) + w_r^2 tr(A E[y_r y_r^T]),
    C_r = E[S_r z_r^T],   E[S_{r-1} z_r^T] = C_{r-1} P^T,   C_r = E[S_{r-1} z_r^T] + w_r E[y_r z_r^T],

with the map P of means: what moves a state is independent of all that came before it. So first and second moments of a
round are all that an average needs, in floats and in Fractions. Participants with a memory are followed jointly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from ..claims.balls import ball
from ..federations.quadratic import Quadratic
from ..functionals import AVERAGES, Functional, check_average, linear_weight
from .centred import Forms, forms_of, in_balls, squares, whole
from .enclosed import Imprecise, observed_in_balls, rounded
from .expected_errors import (
    accumulated,
    enclosed_functional,
    functional_in_balls,
    observable,
    packed_start,
    whole_rounds,
)
from .linear_rounds import mean_map, symmetric_moment_map, triangle, unpacked
from .round_maps import quadratic
from .timeline import Schedule, Timeline, layout_for, observed, operators, timeline

if TYPE_CHECKING:
    from ..setting import Setting

MOST_ROUNDS, MOST_LOOKED_AT = 10**6, 10**5
"""The most rounds that are followed one by one or all looked at, and the most that are looked at in balls."""


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
    ``expected_errors.enclosed_functional`` says. Averages of iterates and weighted averages cost it too in floats,
    where rounds come back and weights are linear; otherwise they, and best rounds, are followed or looked at round by
    round. In floats all of them have the errors of their rounding.

    Args:
        average: "r = 1..R" or "r = 0..R-1": the iterates that an average, or a best round, is over.

    Raises:
        ValueError: as ``exact_errors``; R = 0 where there is nothing to average; or more than ``MOST_ROUNDS`` that
            are followed or looked at one by one.

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
    """Compute the values of ``of_run`` quickly in floats, without proven accuracy, for searches; in Fractions if
    ``exact``.

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
        follow = _by_powers if not functional.of_all_rounds else _followed if exact else _without_following
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
    _check_number(rounds, "followed")
    return timeline(setting, one_round, forms.dtype == object, forms)


def _check_number(rounds: int, what: str) -> None:
    if rounds > MOST_ROUNDS:
        raise ValueError(f"rounds = {rounds}: allowed are at most {MOST_ROUNDS} where all of them are {what}")


def _without_following(
    setting: Setting, functional: Functional, forms: Forms, form: np.ndarray, numbers: np.ndarray, ends: bool
) -> np.ndarray:
    """What ``_followed`` computes, in floats, by powers of the rounds' maps where these come back."""
    carried = _carried(setting, functional, forms, form, ends)
    if carried is not None:
        start, row, plan = carried
        sums = observed(plan, start, row[None], numbers if ends else numbers - 1)[0]
        return sums / np.array(_divisors(functional, numbers.tolist(), ends), dtype=float)
    found = _each_looked_at(setting, functional, forms, form, numbers, ends)
    return _followed(setting, functional, forms, form, numbers, ends) if found is None else found


def value_in_balls(
    setting: Setting, functional: Functional, rounds: Sequence[int], average: str = AVERAGES[0]
) -> list[arb]:
    """Enclose the functional's value with R = each of ``rounds``, in balls of the working precision.

    Raises:
        ValueError: as ``of_run``; of a mean of iterates with weights of one's own.

    >>> import fedtheory as ft
    >>> from fedtheory.functionals import GAP_OF_WEIGHTED_AVERAGE
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[0, 0])
    >>> algorithm = ft.algorithms.fedavg(local_lr="3/2")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0, 1]), start=4)  # 4, -2, 1, -1/2
    >>> [round(float(each), 9) for each in value_in_balls(s, GAP_OF_WEIGHTED_AVERAGE, [1, 2])]  # of (3 - 4)/5
    [2.0, 0.02]
    """
    check_average(average)
    if not functional.of_all_rounds:
        return functional_in_balls(setting, functional, rounds, average)
    forms, ends, numbers = in_balls(setting), average == AVERAGES[0], list(rounds)
    form = _one_of(forms.squares(), functional.observable)
    carried = _carried(setting, functional, forms, form, ends)
    if carried is None:
        return _each_looked_at_in_balls(setting, functional, forms, form, numbers, ends)
    start, row, plan = carried
    [sums] = observed_in_balls(plan, start, row[None], [r if ends else r - 1 for r in numbers])
    return [total / divisor for total, divisor in zip(sums, _divisors(functional, numbers, ends), strict=True)]


def enclosed_value(
    setting: Setting, functional: Functional, rounds: Any, average: str = AVERAGES[0], enough: Sequence[float] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Compute what ``expected_errors.enclosed_functional`` does, of averages of iterates and weighted ones too.

    Raises:
        ValueError: as ``value_in_balls``.
    """
    if not functional.of_all_rounds:
        return enclosed_functional(setting, functional, rounds, average, enough)
    numbers = whole_rounds(setting, rounds)
    found, off = rounded(numbers, lambda: [value_in_balls(setting, functional, numbers.tolist(), average)], enough)
    return found[0], off[0]


def _divisors(functional: Functional, rounds: Sequence[int], ends: bool) -> list[int]:
    """The sum of the weights of the iterates of an average over so many rounds, squared if it is of their mean."""
    sums = [r * (r + 3 if ends else r + 1) // 2 if functional.weights else r for r in rounds]
    return [each * each for each in sums] if functional.of_mean else sums


def _carried(
    setting: Setting, functional: Functional, forms: Forms, form: np.ndarray, ends: bool
) -> tuple[np.ndarray, np.ndarray, Timeline] | None:
    """The start, the row and the rounds of a state that carries the sum of an average, all linear in it.

    With the numbers w_r = 1, or r + 1, it holds, of the moments z of a round, the rows C = E[S y^T] of the weighted sum
    S of the iterates so far, their maps P, and the form A,

        z' = M z,  C' = C P^T + w' Y(z'),  T' = T + 2 w' tr(A C P^T) + w'^2 A(z');

    numbers that grow with r come in by also holding (r + 1) z, (r + 1)^2 z and (r + 2) C. ``None`` where rounds all
    differ, or weights are of one's own: no such state is known then.
    """
    linear = functional.weights is linear_weight
    if functional.best or (functional.weights and not linear):
        return None
    exact, weight, begun = forms.dtype == object, observable(setting, forms, form), packed_start(setting, forms)
    plan = timeline(setting, symmetric_moment_map, exact, forms)
    means = timeline(setting, mean_map, exact, forms) if functional.of_mean else plan
    if not isinstance(plan, Timeline) or not isinstance(means, Timeline):
        return None
    pick, tie = _rows_of_model(setting, forms, form, weight) if functional.of_mean else (None, None)

    def together(moved: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The map of a round on all that is held: z, (r + 1) z, (r + 1)^2 z, C, (r + 2) C, T, as far as it is."""
        none = np.zeros_like
        if pick is None or tie is None:  # only a weighted average of the observable
            row = weight[..., None, :] @ moved
            zero = none(moved)
            return _blocks([[moved, zero, 0], [moved, moved, 0], [row, row, 1]])
        count = form.shape[-1]
        keep = np.zeros((*mean.shape[:-2], count * mean.shape[-1], count * mean.shape[-1]), dtype=int)
        keep = keep.astype(mean.dtype)
        for a in range(count):
            place = slice(a * mean.shape[-1], (a + 1) * mean.shape[-1])
            keep[..., place, place] = mean
        rows, row, crossed = pick @ moved, weight[..., None, :] @ moved, 2 * (tie[..., None, :] @ keep)
        if not linear:
            return _blocks([[moved, 0, 0], [rows, keep, 0], [row, crossed, 1]])
        return _blocks(
            [
                [moved, 0, 0, 0, 0, 0],
                [moved, moved, 0, 0, 0, 0],
                [moved, 2 * moved, moved, 0, 0, 0],
                [rows, rows, 0, keep, 0, 0],
                [2 * rows, 3 * rows, rows, keep, keep, 0],
                [row, 2 * row, row, 0, crossed, 1],
            ]
        )

    made = tuple(
        Schedule(together(one.first, mean.first), together(one.rest, mean.rest), one.period)
        for one, mean in zip(plan.schedules, means.schedules, strict=True)
    )
    held = [begun]
    if linear:
        held += [begun, begun] if functional.of_mean else [begun]
    if pick is not None:
        first = (pick @ begun[..., None])[..., 0] * (0 if ends else 1)
        held += [first, 2 * first] if linear else [first]
    held.append((weight * begun).sum(-1, keepdims=True) * (0 if ends else 1))
    start = np.concatenate(held, axis=-1)
    row = np.zeros_like(start)
    row[..., -1] = row[..., -1] + 1
    return start, row, replace(plan, schedules=made)


def _rows_of_model(
    setting: Setting, forms: Forms, form: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What takes E[y z^T] from packed moments, (*blocks, d * n, packed), and tr(A E[S y^T]) from E[S z^T].

    The latter is (*blocks, d * n), where n is over the states of the participants too.
    """
    layout = layout_for(setting, forms)
    size, model = layout.size, range(*layout.of_model.indices(layout.size))
    each = size * (size + 1) // 2
    rows, columns = triangle(size)
    place = {(int(i), int(j)): k for k, (i, j) in enumerate(zip(rows, columns, strict=True))}
    states = weight.shape[-1] // each
    pick = np.zeros((*form.shape[:-2], len(model) * states * size, states * each), dtype=int).astype(form.dtype)
    tie = np.zeros((*form.shape[:-2], len(model) * states * size), dtype=int).astype(form.dtype)
    for a, i in enumerate(model):
        for c in range(states):
            for j in range(size):
                at = (a * states + c) * size + j
                found = c * each + place[min(i, j), max(i, j)]
                pick[..., at, found] = pick[..., at, found] + 1
                if j in model:
                    tie[..., at] = tie[..., at] + form[..., a, j - model[0]]
    return pick, tie


def _blocks(rows: list[list[Any]]) -> np.ndarray:
    """One matrix of blocks (*blocks, n, k); 0 stands for a block of zeros, and 1 for the number."""
    shapes = [[part for part in row if not isinstance(part, int)] for row in rows[:-1]]
    heights = [parts[0].shape[-2] for parts in shapes] + [1]
    widths = heights
    like = rows[0][0]
    whole = np.zeros((*like.shape[:-2], sum(heights), sum(widths)), dtype=int).astype(like.dtype)
    top = 0
    for row, height in zip(rows, heights, strict=True):
        side = 0
        for part, width in zip(row, widths, strict=True):
            if not (isinstance(part, int) and part == 0):
                whole[..., top : top + height, side : side + width] = part
            side += width
        top += height
    return whole


def _each_looked_at(
    setting: Setting, functional: Functional, forms: Forms, form: np.ndarray, numbers: np.ndarray, ends: bool
) -> np.ndarray | None:
    """The least of an observable over the rounds, or its average by weights of one's own, in floats; all rounds are
    looked at, without following one after the other. ``None`` where they all differ."""
    plan = timeline(setting, symmetric_moment_map, False, forms)
    if functional.of_mean or not isinstance(plan, Timeline):
        return None
    _check_number(int(numbers.max()), "looked at")
    first, last = (1, int(numbers.max()) + 1) if ends else (0, int(numbers.max()))
    each = observed(plan, packed_start(setting, forms), observable(setting, forms, form)[None], np.arange(first, last))
    if functional.best:
        return np.minimum.accumulate(each[0])[numbers - 1]
    assert functional.weights is not None
    weights = np.array([float(functional.weights(r)) for r in range(first, last)])
    return ((weights * each[0]).cumsum() / weights.cumsum())[numbers - 1]


def _each_looked_at_in_balls(
    setting: Setting, functional: Functional, forms: Forms, form: np.ndarray, numbers: list[int], ends: bool
) -> list[arb]:
    if functional.of_mean or max(numbers) > MOST_LOOKED_AT:
        raise Imprecise(
            f"{functional.name}: no enclosure of it over {max(numbers)} rounds is known; allowed are weights r + 1, or "
            f"none, or the least or an average of what each of {MOST_LOOKED_AT} rounds has"
        )
    plan = timeline(setting, symmetric_moment_map, True, forms)
    first, last = (1, max(numbers) + 1) if ends else (0, max(numbers))
    row = observable(setting, forms, form)[None]
    [each] = observed_in_balls(plan, packed_start(setting, forms), row, range(first, last))
    weigh, found, total, weights, best = functional.weights or (lambda r: 1), {}, arb(0), Fraction(0), None
    for place, (r, value) in enumerate(zip(range(first, last), each, strict=True), start=1):
        best = value if best is None else best.min(value)
        total, weights = total + ball(Fraction(weigh(r))) * value, weights + weigh(r)
        found[place] = best if functional.best else total / ball(Fraction(weights))
    return [found[r] for r in numbers]


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
