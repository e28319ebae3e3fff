"""What claims bound: functionals of a run x_0, x_1, ..., x_R."""

from __future__ import annotations

from dataclasses import dataclass

from .quantities import SQUARED_LENGTH, SQUARED_SLOPE, Units


@dataclass(frozen=True)
class Functional:
    """The left side of a claim: an expectation over runs of ``rounds`` rounds.

    Attributes:
        name: its name in code, in files and on the command line.
        meaning: one line.
        units: of its value.
        latex: as the papers print it.
        observable: what is recorded in every round to compute it, ``squared_distance`` |x_r - x*|^2 or
            ``squared_gradient`` |grad F(x_r)|^2.
        average: whether the observable is averaged over rounds, instead of taken at round R.
    """

    name: str
    meaning: str
    units: Units
    latex: str
    observable: str
    average: bool


AVERAGES = ("r = 1..R", "r = 0..R-1")
"""The iterates that an average over R rounds may run over."""


def check_average(average: str) -> None:
    """Refuse what is none of ``AVERAGES``."""
    if average not in AVERAGES:
        raise ValueError(f"average = {average!r}: allowed is {' or '.join(map(repr, AVERAGES))}")


FINAL_SQUARED_DISTANCE = Functional(
    "final_squared_distance", "E|x_R - x*|^2", SQUARED_LENGTH,
    r"\mathbb{E}\|\mathbf{x}_R-\mathbf{x}^*\|^2", "squared_distance", average=False,
)  # fmt: skip
AVERAGE_SQUARED_GRADIENT = Functional(
    "average_squared_gradient", "mean over the rounds of E|grad F(x_r)|^2", SQUARED_SLOPE,
    r"\frac{1}{R}\sum_{r=1}^{R}\mathbb{E}\|\nabla F(\mathbf{x}_r)\|^2", "squared_gradient", average=True,
)  # fmt: skip
