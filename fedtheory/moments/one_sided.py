"""Exact errors of short runs whose gradient noise depends on the state (``federations.federation.ONE_SIDED``).

The second moments of such runs follow from no recursion of their own: the law of the state is followed, on a line, by
all signs that the noise can have where there is any.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..federations.federation import ONE_SIDED
from ..federations.piecewise import Piecewise, PiecewiseLinear
from ..federations.quadratic import Quadratic
from ..participation import Fixed
from .exchangeable import enumerated_at

if TYPE_CHECKING:
    from ..setting import Setting

LONGEST = 8
"""The most rounds that are enumerated."""


def is_one_sided(setting: Setting) -> bool:
    """Whether a quadratic federation's noise depends on the state."""
    fed = setting.federation
    return isinstance(fed, Quadratic) and fed.noise == ONE_SIDED and not (fed.deterministic and fed.server_noise == 0)


def enumerated(setting: Setting, rounds: np.ndarray, exact: bool) -> tuple[np.ndarray, Any]:
    """Enumerate the errors at each R, (rounds, 3), and |grad F(x_0)|^2; in Fractions if ``exact``.

    The errors are E|x_R - x*|^2, E|grad F(x_R)|^2 and the sum of the latter over the rounds before.

    Raises:
        ValueError: clients are not on a line or weigh differently, participants or step sizes change, or rounds are
            more than ``LONGEST`` or bring too many states; or as ``exchangeable.enumerated_errors``.

    >>> import fedtheory as ft
    >>> fed = Quadratic.common_hessian([0], gradient_noise=1, noise=ONE_SIDED)
    >>> algorithm = ft.algorithms.fast(cohort=1, local_lr="1/2", snapshot_probability=0)
    >>> one = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=1)  # 1, then 0 or 1, then 0, 0 or 1
    >>> enumerated(one, np.array([0, 1, 2]), exact=True)[0][:, 0].tolist()
    [Fraction(1, 1), Fraction(1, 2), Fraction(1, 4)]
    """
    fed = setting.federation
    assert isinstance(fed, Quadratic)
    short = fed.dimension == 1 and fed.objective_weight is None and max(rounds) <= LONGEST
    if not short or setting.algorithm.by_rule or not isinstance(setting.participation, Fixed):
        raise ValueError(
            f"noise = {fed.noise!r}: exact errors are known on a line, of clients that weigh alike, of a "
            f"fixed set, with steps of one size, over at most {LONGEST} rounds"
        )
    lines = [[PiecewiseLinear([h[0, 0]], (), g[0])] for h, g in zip(fed.exact_hessians, fed.exact_slopes, strict=True)]
    same = Piecewise(lines, None, fed.exact_gradient_noise, fed.noise, fed.exact_server_noise)
    found = enumerated_at(replace(setting, federation=same), np.asarray(rounds).tolist())
    rows = np.array([found.squared_distance, found.squared_gradient, found.gradient_sum], dtype=object).T
    first = found.initial_squared_gradient
    return rows.astype(object if exact else float), first if exact else float(first)
