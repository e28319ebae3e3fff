"""Exact expected errors of an algorithm on quadratic federations, with no sampling.

For every round r: E|x_r - x*|^2, E|grad F(x_r)|^2 and the running averages of the latter, by the linear recursion of
second moments (see ``rounds``). Gradient noise enters by its covariance alone, so two-point and Gaussian noise give
the same numbers; participation enters by the first and second moments of the clients' weights, or, where rounds depend
on each other, by its joint law with the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functionals import Functional, check_average
from ..participation import Recorded
from .following import followed
from .forms import Forms, about_optimum, forms_of
from .joint_law import chain_of
from .linear_rounds import mean_map
from .one_sided import enumerated, is_one_sided
from .rounds import initial_state, layout_of, quadratic, spread_over_participation
from .symmetric import functional, packed, symmetric_moment_map
from .timeline import Schedule, Timeline, Varying, advance, layout_for, observed, timeline

if TYPE_CHECKING:
    from ..setting import Setting


@dataclass(frozen=True)
class ExactErrors:
    """Exact errors before each of ``rounds``.

    Attributes:
        rounds: (n,) int64.
        squared_distance: (n,), E|x_r - x*|^2.
        squared_gradient: (n,), E|grad F(x_r)|^2.
        gradient_sum: (n,), sum over s < r of E|grad F(x_s)|^2.
        initial_squared_gradient: |grad F(x_0)|^2.
    """

    rounds: np.ndarray
    squared_distance: np.ndarray
    squared_gradient: np.ndarray
    gradient_sum: np.ndarray
    initial_squared_gradient: float

    def functional(self, functional: Functional, average: str = "r = 1..R") -> np.ndarray:
        """The functional's value with R = each of ``rounds`` (which must be >= 1 for an average).

        ``average`` says which iterates an average runs over: "r = 1..R" or "r = 0..R-1".
        """
        if not functional.average:
            return getattr(self, functional.observable)
        check_average(average)
        if (self.rounds < 1).any():
            raise ValueError(f"rounds contain {self.rounds.min()}: an average needs >= 1")
        total = self.gradient_sum
        if average == "r = 1..R":
            total = total + self.squared_gradient - self.initial_squared_gradient
        return total / self.rounds


def exact_errors(setting: Setting, rounds: Any = None, exact: bool = False) -> ExactErrors:
    """The exact errors of ``setting`` before each of ``rounds`` (default: 0 to 1000), in Fractions if ``exact``.

    Where the recursion leaves the floating-point range, the errors are infinite. Fractions' digits grow with every
    round.

    Raises:
        ValueError: the federation is not quadratic; the rounds are not whole numbers >= 0, or beyond a record's end;
            moments do not close under the algorithm (see ``lifting``); the participants change in phases that are no
            multiples of the algorithm's period, or depend on the past in a way that is not followed (see
            ``joint_law``); the recursion has too many numbers; or Fractions are asked for and the participation
            process knows floats only.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=2, cohort=2, local_lr="1/2")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]))
    >>> s.exact([0, 1, 2, 3]).squared_distance  # x = 0, 0, 1/2, 1/4
    array([0.    , 0.    , 0.25  , 0.0625])
    """
    rounds = whole_rounds(setting, rounds)
    if is_one_sided(setting):
        values, first = enumerated(setting, rounds, exact)
        return ExactErrors(rounds, values[:, 0], values[:, 1], values[:, 2], first)
    values, initial = _observed(setting, rounds, exact)
    if not exact:
        values[:, ~np.isfinite(values).all(0)] = np.inf
        initial = float(initial)
    distance, gradient, total = values
    return ExactErrors(rounds, distance, gradient, total, initial)


def _observed(setting: Setting, rounds: np.ndarray, exact: bool) -> tuple[np.ndarray, Any]:
    """E|x - x*|^2, E|grad F(x)|^2 and the sum of the latter before each of the rounds, (3, len(rounds)), and
    |grad F(x_0)|^2."""
    quadratic(setting)
    forms = setting.whatever_the_start(("forms", exact), lambda: forms_of(setting, exact))
    squares, start = forms.squares(), packed_start(setting, forms)
    if not exact:
        with np.errstate(over="ignore", invalid="ignore"):
            found = followed(setting, forms, start, _both(squares), rounds)
            if found is not None:
                sums = np.concatenate([[0.0], found[1].cumsum()])
                return np.stack([*found[:, rounds], sums[rounds]]), found[1, 0]
    distance = observable(setting, forms, squares["squared_distance"])
    gradient = observable(setting, forms, squares["squared_gradient"])
    plan = setting.whatever_the_start(
        ("timeline", exact), lambda: accumulated(timeline(setting, symmetric_moment_map, exact, forms), gradient)
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
    """E x_r before each of ``rounds`` (default: 0 to 1000), (len(rounds), D), in Fractions if ``exact``.

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


def whole_rounds(setting: Setting, rounds: Any) -> np.ndarray:
    """``rounds`` as int64; ``ValueError`` unless they are whole numbers >= 0 that the participants' record covers."""
    given = np.atleast_1d(np.arange(1001) if rounds is None else np.asarray(rounds))
    if given.size == 0 or (given != np.round(given)).any() or given.min() < 0:
        raise ValueError(f"rounds = {rounds!r}: allowed are whole numbers >= 0")
    whole = given.astype(np.int64)
    if isinstance(setting.participation, Recorded) and whole.max() > 0:
        setting.participation.expected(setting.federation.clients, int(whole.max()) - 1)
    return whole


def initial_moments(setting: Setting, exact: bool = False) -> np.ndarray:
    """vec(z_0 z_0^T) with z_0 = (x_0 - x*, 0 for what is remembered, 1); for participants with a memory, times the
    probability of each of their states."""
    state = initial_state(setting, exact)
    return spread_over_participation(setting, np.outer(state, state).ravel())


def packed_start(setting: Setting, forms: Forms) -> np.ndarray:
    """The second moments of the state before round 0, as ``symmetric`` packs them: (*blocks, n); for participants with
    a memory, times the probability of each of their states."""
    exact = forms.dtype == object
    layout = layout_for(setting, forms)
    error = about_optimum(quadratic(setting), setting.exact_start[None], exact)[0]
    state = np.zeros((*forms.blocks, layout.size), dtype=int).astype(forms.dtype)
    for part in layout.of_start:
        state[..., part] = forms.along(error)
    state[..., -1] = Fraction(1) if exact else 1.0
    square = packed(state[..., :, None] * state[..., None, :])
    return spread_over_participation(setting, square)


def observable(setting: Setting, forms: Forms, form: np.ndarray) -> np.ndarray:
    """The row on what ``packed_start`` describes that stands for E y^T A y, summed over blocks; A (*blocks, d, d)."""
    layout = layout_for(setting, forms)
    padded = np.zeros((*forms.blocks, layout.size, layout.size), dtype=int).astype(forms.dtype)
    padded[..., layout.of_model, layout.of_model] = form
    chain = chain_of(setting.participation, setting.federation.clients)
    return chain.summed(functional(padded))


def accumulated(plan: Timeline | Varying, weight: np.ndarray) -> Timeline | Varying:
    """The timeline with one more coordinate: the sum of ``weight . state`` over the rounds passed."""
    if isinstance(plan, Varying):
        of_round = plan.of_round
        return Varying(lambda round: _extended(of_round(round), weight))
    return replace(plan, schedules=tuple(accumulating(s, weight) for s in plan.schedules))


def accumulating(plan: Schedule, weight: np.ndarray) -> Schedule:
    """The same of one schedule."""
    return Schedule(_extended(plan.first, weight), _extended(plan.rest, weight), plan.period)


def _extended(operator: np.ndarray, weight: np.ndarray) -> np.ndarray:
    *blocks, size = weight.shape
    extended = np.zeros((*blocks, size + 1, size + 1), dtype=int).astype(operator.dtype)
    extended[..., :size, :size], extended[..., size, :size] = operator, weight
    extended[..., size, size] = extended[..., size, size] + 1
    return extended
