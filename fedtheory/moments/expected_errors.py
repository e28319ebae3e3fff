"""Exact expected errors of an algorithm on quadratic federations, with no sampling.

For every round r: E|x_r - x*|^2, E|grad F(x_r)|^2 and the running averages of the latter, by the linear recursion of
second moments (see ``round_maps``). Gradient noise enters by its covariance alone, so two-point and Gaussian noise give
the same numbers; participation enters by the first and second moments of the clients' weights, or, where rounds depend
on each other, by its joint law with the state.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from ..claims.balls import ball
from ..functionals import AVERAGES, Functional, check_among_errors, check_average
from ..participation import Recorded
from ..rationals import nearest_float
from .centred import Forms, about_optimum, forms_of, in_balls
from .enclosed import observed_in_balls, rounded
from .exchangeable import enumerated
from .factored_runs import followed, followed_in_balls
from .linear_rounds import functional, mean_map, symmetric_moment_map, triangle
from .participation_laws import chain_of
from .round_maps import initial_state, is_one_sided, layout_of, quadratic, spread_over_participation
from .timeline import Schedule, Timeline, Varying, advance, layout_for, observed, timeline

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class ExactErrors:
    """Exact errors before each of ``rounds``; numbers are never below 0.

    Attributes:
        rounds: (n,) int64, or Python's integers where one is more than 2^63 - 1.
        squared_distance: (n,), E|x_r - x*|^2.
        squared_gradient: (n,), E|grad F(x_r)|^2.
        gradient_sum: (n,), sum over s < r of E|grad F(x_s)|^2.
        later_gradient_sum: (n,), sum over 0 < s <= r of the same.
        initial_squared_gradient: |grad F(x_0)|^2.
        accuracy: of each of these four, (n,): a proven bound of how far a number is from what it stands for; 0 of
            Fractions, infinite where a number is above the range of floats.
    """

    rounds: np.ndarray
    squared_distance: np.ndarray
    squared_gradient: np.ndarray
    gradient_sum: np.ndarray
    later_gradient_sum: np.ndarray
    initial_squared_gradient: float
    accuracy: Mapping[str, np.ndarray]

    def functional(self, functional: Functional, average: str = "r = 1..R") -> np.ndarray:
        """Return the functional's value with R = each of ``rounds`` (which must be >= 1 for an average).

        ``average`` says which iterates an average runs over: "r = 1..R" or "r = 0..R-1".

        Raises:
            ValueError: it is none of |x_R - x*|^2, |grad F(x_R)|^2 and the plain mean of |grad F(x_r)|^2; or R = 0 in
                such a mean.
        """
        check_among_errors(functional)
        if not functional.average:
            return getattr(self, functional.observable)
        values = getattr(self, self._sum(average))
        return values / (self.rounds if values.dtype == object else self.rounds.astype(float))

    def accuracy_of(self, functional: Functional, average: str = "r = 1..R") -> np.ndarray:
        """The accuracy of ``functional``'s values.

        Raises:
            ValueError: as ``functional``.
        """
        check_among_errors(functional)
        if not functional.average:
            return self.accuracy[functional.observable]
        name = self._sum(average)
        value, off = getattr(self, name), self.accuracy[name]
        if value.dtype == object:
            return off
        rounds, found = self.rounds.astype(float), self.functional(functional, average)
        with np.errstate(invalid="ignore"):  # the number of rounds and the quotient are rounded, and so is this
            off = (off / rounds + 2 * np.spacing(found)) * (1 + 1e-15)
        return np.where(np.isfinite(value), off, np.inf)

    def _sum(self, average: str) -> str:
        """The name of the sum whose mean over the rounds is asked for."""
        check_average(average)
        if (self.rounds < 1).any():
            raise ValueError(f"rounds contain {self.rounds.min()}: an average needs >= 1")
        return "later_gradient_sum" if average == AVERAGES[0] else "gradient_sum"


NUMBERS = ("squared_distance", "squared_gradient", "gradient_sum", "later_gradient_sum")


def exact_errors(setting: Setting, rounds: Any = None, exact: bool = False) -> ExactErrors:
    """Compute the exact errors of ``setting`` before each of ``rounds`` (default: 0 to 1000).

    They are in Fractions if ``exact``, else in floats with their ``accuracy``. It is one of the last digits, or 2^-1074
    of numbers that are less.

    Where an error leaves the range of floats, it is infinite. Fractions' digits grow with every round. Floats are
    enclosed in balls; probabilities of participation and irrational steps that are known in floats only are taken as
    the numbers that these floats are.

    Raises:
        ValueError: the federation is not quadratic; the rounds are not whole numbers from 0 to 2^1024 - 1, or beyond a
            record's end; moments do not close under the algorithm (see ``lifting``); the participants depend on the
            past in a way that is not followed (see ``participation_laws``); the recursion has too many numbers; there
            are more than ``timeline.MOST_VARYING`` rounds that all differ; or Fractions are asked for and the
            participation process knows floats only.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/2")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]))
    >>> s.exact([0, 1, 2, 3]).squared_distance  # x = 0, 0, 1/2, 1/4
    array([0.    , 0.    , 0.25  , 0.0625])
    """
    rounds = whole_rounds(setting, rounds, LONGEST)
    if is_one_sided(setting.federation):
        values, first = enumerated(setting, rounds, exact=True)
        numbers = np.stack([*values.T, values[:, 2] + values[:, 1] - first])
    elif exact:
        numbers, first = _in_fractions(setting, rounds)
    else:
        numbers, off = rounded(rounds, lambda: _enclosed(setting, rounds.tolist()))
        first = nearest_float(_initial_squared_gradient(setting))
        return _made(rounds, numbers, first, dict(zip(NUMBERS, off, strict=True)))
    off = np.zeros(numbers.shape)
    if not exact:
        numbers, first = np.frompyfunc(nearest_float, 1, 1)(numbers).astype(float), nearest_float(first)
        off = np.where(np.isinf(numbers), np.inf, np.spacing(numbers)) * (numbers > 0)
    return _made(rounds, numbers, first, dict(zip(NUMBERS, off, strict=True)))


def _made(rounds: np.ndarray, numbers: Any, initial: Any, accuracy: Mapping[str, np.ndarray]) -> ExactErrors:
    distance, gradient, total, later = numbers
    return ExactErrors(rounds, distance, gradient, total, later, initial, accuracy)


def errors_in_floats(setting: Setting, rounds: Any = None) -> ExactErrors:
    """Compute the errors of ``exact_errors`` quickly in floats, without proven accuracy.

    Rounding errors grow with the rounds, and numbers may be below 0. This serves searches, whose finds are judged
    exactly.

    Raises:
        ValueError: as ``exact_errors``.
    """
    rounds = whole_rounds(setting, rounds)
    if is_one_sided(setting.federation):
        return exact_errors(setting, rounds)
    values, first = _in_floats(setting, rounds)
    values[:, ~np.isfinite(values).all(0)] = np.inf
    none = dict.fromkeys(NUMBERS, np.full(len(rounds), np.inf))
    return _made(rounds, [*values, values[2] + values[1] - first], nearest_float(first), none)


def _in_fractions(setting: Setting, rounds: np.ndarray) -> tuple[np.ndarray, Any]:
    """The numbers before each of the rounds, (4, len(rounds)), and |grad F(x_0)|^2."""
    quadratic(setting)
    forms = setting.whatever_the_start(("forms", True), lambda: forms_of(setting, True))
    start, rows, plan = _accumulating(setting, forms, NUMBERS[:2], NUMBERS[1])
    values, first = observed(plan, start, rows, rounds), (rows[1] * start).sum()
    return np.stack([*values, values[2] + values[1] - first]), first


def _enclosed(setting: Setting, rounds: list[int]) -> list[list[arb]]:
    """Return the errors in balls of the working precision."""
    (distance, gradient), total, later = _followed_in_balls(setting, rounds, NUMBERS[:2], NUMBERS[1])
    return [distance, gradient, total, later]


def enclosed_functional(
    setting: Setting, functional: Functional, rounds: Any, average: str = AVERAGES[0], enough: Sequence[float] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Compute a functional's values with R = each of ``rounds``, in floats, and their accuracy.

    The functional is of the last iterate's observable or its plain mean. The accuracy is that of ``exact_errors``, or
    for each of the rounds one that is said to be ``enough``.

    Raises:
        ValueError: as ``exact_errors``; R = 0 where there is nothing to average.

    >>> import fedtheory as ft
    >>> from fedtheory.functionals import FINAL_GAP
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[0, 0])
    >>> s = ft.Setting(fed, ft.algorithms.fedavg(local_lr="1/2"), ft.participation.Fixed([0, 1]), start=2)
    >>> enclosed_functional(s, FINAL_GAP, [1, 10**6])  # 2^-(2 R)
    (array([0.5, 0. ]), array([0.e+000, 5.e-324]))
    """
    check_average(average)
    numbers = whole_rounds(setting, rounds, LONGEST)
    if functional.average and min(numbers.tolist()) < 1:
        raise ValueError(f"rounds contain {numbers.min()}: an average needs >= 1")
    if is_one_sided(setting.federation):
        found = exact_errors(setting, numbers)
        return found.functional(functional, average), found.accuracy_of(functional, average)

    values, off = rounded(
        numbers, lambda: [functional_in_balls(setting, functional, numbers.tolist(), average)], enough
    )
    return values[0], off[0]


def functional_in_balls(
    setting: Setting, functional: Functional, rounds: Sequence[int], average: str = AVERAGES[0]
) -> list[arb]:
    """Enclose the values of ``enclosed_functional`` in balls of the working precision.

    Raises:
        ValueError: as ``exact_errors``.

    >>> import fedtheory as ft
    >>> from fedtheory.functionals import AVERAGE_GAP
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[0, 0])
    >>> s = ft.Setting(fed, ft.algorithms.fedavg(local_lr="1/2"), ft.participation.Fixed([0, 1]), start=2)
    >>> [str(value) for value in functional_in_balls(s, AVERAGE_GAP, [2])]  # (1/2 + 1/8) / 2
    ['0.312500000000000']
    """
    name = functional.observable
    (values,), before, later = _followed_in_balls(setting, list(rounds), (name,), name)
    if not functional.average:
        return values
    sums = later if average == AVERAGES[0] else before
    return [total / r for total, r in zip(sums, rounds, strict=True)]


def _followed_in_balls(
    setting: Setting, rounds: list[int], names: Sequence[str], summed: str
) -> tuple[list[list[arb]], list[arb], list[arb]]:
    """The observables before each of the rounds, and the sums of one of them over the rounds s < r and 0 < s <= r."""
    quadratic(setting)
    forms = in_balls(setting)
    weights, bare = np.stack([forms.squares()[name] for name in names]), packed_start(setting, forms)
    found = followed_in_balls(setting, forms, bare, weights, rounds, names.index(summed))
    if found is None:
        start, rows, plan = _accumulating(setting, forms, names, summed)
        every = (start.shape[-1] - 1) // len(chain_of(setting.participation, setting.federation.clients).sets)
        found = observed_in_balls(plan, start, rows, rounds, range(every - 1, start.shape[-1] - 1, every))
    *values, total = found
    first = ball((observable(setting, forms, forms.squares()[summed]) * bare).sum())
    later = [s + g - first if r else arb(0) for r, s, g in zip(rounds, total, values[names.index(summed)], strict=True)]
    return values, total, later


def _initial_squared_gradient(setting: Setting) -> Fraction:
    """|grad F(x_0)|^2."""
    fed = quadratic(setting)
    gradient = fed.exact_hessian @ (setting.exact_start - fed.exact_optimum)
    return gradient @ gradient


def _accumulating(
    setting: Setting, forms: Forms, names: Sequence[str], summed: str
) -> tuple[np.ndarray, np.ndarray, Timeline | Varying]:
    """The start, the rows of the observables and the sum of one of them so far, and the rounds."""
    squares, start = forms.squares(), packed_start(setting, forms)
    weights = {name: observable(setting, forms, squares[name]) for name in names}
    numbers = ctx.prec if forms.in_balls else forms.dtype == object
    plan = setting.whatever_the_start(
        ("timeline", forms.in_balls, numbers, summed),
        lambda: accumulated(timeline(setting, symmetric_moment_map, forms.dtype == object, forms), weights[summed]),
    )
    none = 0 * start[..., -1:]
    rows = [np.concatenate([row, none], axis=-1) for row in weights.values()]
    total = np.zeros_like(rows[0])
    total[..., -1] = total[..., -1] + 1
    return np.concatenate([start, none], axis=-1), np.stack([*rows, total]), plan


def _in_floats(setting: Setting, rounds: np.ndarray) -> tuple[np.ndarray, Any]:
    """E|x - x*|^2, E|grad F(x)|^2 and the sum of the latter before each of the rounds, (3, len(rounds)), and
    |grad F(x_0)|^2."""
    quadratic(setting)
    forms = setting.whatever_the_start(("forms", False), lambda: forms_of(setting))
    squares, start = forms.squares(), packed_start(setting, forms)
    with np.errstate(over="ignore", invalid="ignore"):
        found = followed(setting, forms, start, _both(squares), rounds)
        if found is not None:
            sums = np.concatenate([[0.0], found[1].cumsum()])
            return np.stack([*found[:, rounds], sums[rounds]]), found[1, 0]
    distance = observable(setting, forms, squares["squared_distance"])
    gradient = observable(setting, forms, squares["squared_gradient"])
    plan = setting.whatever_the_start(
        ("timeline", False), lambda: accumulated(timeline(setting, symmetric_moment_map, False, forms), gradient)
    )
    none = 0 * start[..., -1:]
    rows = [np.concatenate([row, none], axis=-1) for row in (distance, gradient)]
    total = np.zeros_like(rows[0])
    total[..., -1] = total[..., -1] + 1
    with np.errstate(over="ignore", invalid="ignore"):
        values = observed(plan, np.concatenate([start, none], axis=-1), np.stack([*rows, total]), rounds)
    return values, (gradient * start).sum()


def _both(squares: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack([squares["squared_distance"], squares["squared_gradient"]])


def expected_models(setting: Setting, rounds: Any = None, exact: bool = False) -> np.ndarray:
    """Compute E x_r before each of ``rounds`` (default: 0 to 1000), (len(rounds), D), in Fractions if ``exact``.

    Raises:
        ValueError: as ``exact_errors``.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fedavg(local_lr="1/2", average="all")
    >>> expected_models(ft.Setting(fed, algorithm, ft.participation.Fixed([0])), [0, 1, 2]).tolist()  # x + (1 - x)/4
    [[0.0], [0.25], [0.4375]]
    """
    rounds = whole_rounds(setting, rounds)
    start = spread_over_participation(setting, initial_state(setting, exact))
    states = advance(timeline(setting, mean_map, exact), start, rounds)
    layout, optimum = layout_of(setting), quadratic(setting).exact_optimum
    models = states.reshape(len(rounds), -1, layout.size).sum(1)[:, layout.of_model]
    return models + (optimum if exact else optimum.astype(float))


LONGEST, LONGEST_IN_FLOATS = 2**1024 - 1, 2**63 - 1
"""The most rounds: as floats go; and where they are counted in int64."""


def whole_rounds(setting: Setting, rounds: Any, most: int = LONGEST_IN_FLOATS) -> np.ndarray:
    """Convert ``rounds`` to int64, (n,), or to Python's integers (dtype object) where one is more than 2^63 - 1.

    Raises:
        ValueError: they are not whole numbers from 0 to ``most``, or the participants' record does not cover them.
    """
    given = range(1001) if rounds is None else rounds
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        given = [given]
    given = np.asarray(given) if isinstance(given, np.ndarray | range) else np.asarray(list(given), dtype=object)
    plain = given.dtype.kind == "i" and given.size and given.min() >= 0
    whole = given.ravel().tolist() if plain else [_whole(each) for each in given.ravel().tolist()]
    if not whole or max(whole) > most:
        shown = f"rounds = {max(whole) if max(whole) < 10**30 else 'more than 10^30'}" if whole else "rounds are empty"
        raise ValueError(f"{shown}: allowed are whole numbers from 0 to 2^{most.bit_length()} - 1")
    if isinstance(setting.participation, Recorded) and max(whole) > 0:
        setting.participation.expected(setting.federation.clients, max(whole) - 1)
    return np.array(whole, dtype=np.int64 if max(whole) <= LONGEST_IN_FLOATS else object)


def _whole(number: Any) -> int:
    """One of the rounds as an int."""
    number = number.item() if isinstance(number, np.generic) else number
    finite = math.isfinite(number) if isinstance(number, float) else isinstance(number, int | Fraction)
    if finite and not isinstance(number, bool) and number >= 0 and number == int(number):
        return int(number)
    raise ValueError(f"rounds contain {reprlib.repr(number)}: allowed are whole numbers >= 0")


def packed_start(setting: Setting, forms: Forms) -> np.ndarray:
    """Return the second moments of the state before round 0, as ``linear_rounds.packed`` packs them: (*blocks,
    n).

    For participants with a memory they are times the probability of each of their states.
    """
    exact = forms.dtype == object
    layout = layout_for(setting, forms)
    error = about_optimum(quadratic(setting), setting.exact_start[None], exact)[0]
    state = np.zeros((*forms.blocks, layout.size), dtype=int).astype(forms.dtype)
    for part in layout.of_start:
        state[..., part] = forms.along(error)
    state[..., -1] = Fraction(1) if exact else 1.0
    rows, columns = triangle(layout.size)
    square = state[..., rows] * state[..., columns]
    return spread_over_participation(setting, square)


def observable(setting: Setting, forms: Forms, form: np.ndarray) -> np.ndarray:
    """Return the row on the state of ``packed_start`` that gives E y^T A y, summed over blocks; A is (*blocks, d,
    d)."""
    layout = layout_for(setting, forms)
    padded = np.zeros((*forms.blocks, layout.size, layout.size), dtype=int).astype(forms.dtype)
    padded[..., layout.of_model, layout.of_model] = form
    chain = chain_of(setting.participation, setting.federation.clients)
    return chain.summed(functional(padded))


def accumulated(plan: Timeline | Varying, weight: np.ndarray) -> Timeline | Varying:
    """Extend the timeline by one more coordinate: the sum of ``weight . state`` over the rounds passed."""
    if isinstance(plan, Varying):
        of_round = plan.of_round
        return Varying(lambda round: _extended(of_round(round), weight))
    return replace(plan, schedules=tuple(accumulating(s, weight) for s in plan.schedules))


def accumulating(plan: Schedule, weight: np.ndarray) -> Schedule:
    """Extend the operators of one schedule by the weighted sum over rounds."""
    return Schedule(_extended(plan.first, weight), _extended(plan.rest, weight), plan.period)


def _extended(operator: np.ndarray, weight: np.ndarray) -> np.ndarray:
    *blocks, size = weight.shape
    extended = np.zeros((*blocks, size + 1, size + 1), dtype=int).astype(operator.dtype)
    extended[..., :size, :size], extended[..., size, :size] = operator, weight
    extended[..., size, size] = extended[..., size, size] + 1
    return extended
