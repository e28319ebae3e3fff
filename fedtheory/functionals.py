"""What claims bound: functionals of a run x_0, x_1, ..., x_R, of one round, of a function at points, of quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .quantities import DIMENSIONLESS, OBJECTIVE, SQUARED_LENGTH, SQUARED_SLOPE, Units

if TYPE_CHECKING:
    import sympy

SCOPES = ("run", "round", "function", "values")
"""What a functional is evaluated on: the runs of a setting, one round from x_0, a smooth function at some points, or
the values of quantities alone."""


@dataclass(frozen=True)
class Functional:
    """The left side of a claim.

    Attributes:
        name: its name in code, in files and on the command line.
        meaning: one line.
        units: of its value.
        latex: as the papers print it.
        scope: one of ``SCOPES``.
        observable: of a run: what is recorded in every round to compute it, ``squared_distance`` |x_r - x*|^2 or
            ``squared_gradient`` |grad F(x_r)|^2.
        average: of a run: whether the observable is averaged over rounds, instead of taken at round R.
        expression: of values: the left side itself.
    """

    name: str
    meaning: str
    units: Units
    latex: str
    scope: str = "run"
    observable: str = ""
    average: bool = False
    expression: sympy.Expr | None = None


AVERAGES = ("r = 1..R", "r = 0..R-1")
"""The iterates that an average over R rounds may run over."""


def check_average(average: str) -> None:
    """Refuse what is none of ``AVERAGES``."""
    if average not in AVERAGES:
        raise ValueError(f"average = {average!r}: allowed is {' or '.join(map(repr, AVERAGES))}")


FINAL_SQUARED_DISTANCE = Functional(
    "final_squared_distance", "E|x_R - x*|^2", SQUARED_LENGTH,
    r"\mathbb{E}\|\mathbf{x}_R-\mathbf{x}^*\|^2", observable="squared_distance",
)  # fmt: skip
AVERAGE_SQUARED_GRADIENT = Functional(
    "average_squared_gradient", "mean over the rounds of E|grad F(x_r)|^2", SQUARED_SLOPE,
    r"\frac{1}{R}\sum_{r=1}^{R}\mathbb{E}\|\nabla F(\mathbf{x}_r)\|^2", observable="squared_gradient", average=True,
)  # fmt: skip

# Of one round from x_0: with the local iterates x_{i,k}, k = 0..K-1, of client i, and the cohort S.
SQUARED_GRADIENT = Functional(
    "squared_gradient", "|grad F(x_0)|^2", SQUARED_SLOPE, r"\|\nabla F(\mathbf{x}_r)\|^2", scope="round"
)
LOCAL_GRADIENT_ERROR = Functional(
    "local_gradient_error", "max over clients i and steps k of E|grad F(x_0) - grad F_i(x_{i,k})|^2", SQUARED_SLOPE,
    r"\|\nabla F(\mathbf{x}_r)-\nabla F_i(\mathbf{x}_{r,k}^i)\|^2", scope="round",
)  # fmt: skip
NEGATED_FULL_PROGRESS = Functional(
    "negated_full_progress", "-E<mean over all clients of sum_k grad F_i(x_{i,k}), x_0 - x*>", OBJECTIVE,
    r"-\Big\langle\frac1M\sum_{i=1}^M\sum_{k=1}^K\nabla F_i(\mathbf{x}_{r,k}^i),\mathbf{x}_r-\mathbf{x}^*\Big\rangle",
    scope="round",
)  # fmt: skip
NEGATED_ARBITRARY_PROGRESS = Functional(
    "negated_arbitrary_progress",
    "-2 local_lr E<mean over the arbitrary cohort of sum_k grad F_i(x_{i,k}), x_0 - x*>", SQUARED_LENGTH,
    r"-2\eta_c\mathbb{E}_r\Big\langle\frac1n\sum_{i\in\mathcal{S}_r^a}\sum_{k=1}^K"
    r"\nabla F_i(\mathbf{x}_{r,k}^i),\mathbf{x}_r-\mathbf{x}^*\Big\rangle",
    scope="round",
)  # fmt: skip
SQUARED_MOVEMENT = Functional(
    "squared_movement", "E|x_1 - x_0|^2", SQUARED_LENGTH,
    r"\mathbb{E}_r\|\mathbf{x}_{r+1}-\mathbf{x}_r\|^2", scope="round",
)  # fmt: skip

# Of a smooth function g at points x, y, z.
LINEARIZATION_ERROR = Functional(
    "linearization_error", "g(y) - g(x) - <grad g(x), y - x>", OBJECTIVE,
    r"F(\mathbf{y})-F(\mathbf{x})-\nabla F(\mathbf{x})^T(\mathbf{y}-\mathbf{x})", scope="function",
)  # fmt: skip
PERTURBED_LINEARIZATION_ERROR = Functional(
    "perturbed_linearization_error", "g(z) - g(y) - <grad g(x), z - y>", OBJECTIVE,
    r"g(\mathbf{z})-g(\mathbf{y})-\langle\nabla g(\mathbf{x}),\mathbf{z}-\mathbf{y}\rangle", scope="function",
)  # fmt: skip


def of_values(name: str, meaning: str, expression: sympy.Expr, latex: str, units: Units = DIMENSIONLESS) -> Functional:
    """A left side that is an expression of quantities."""
    return Functional(name, meaning, units, latex, scope="values", expression=expression)
