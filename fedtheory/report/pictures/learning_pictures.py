"""Pictures of what can be learned."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Literal

from matplotlib.figure import Figure
from pydantic import Field

from ...experiments.reading import Listed, Strict
from ...learning import FiniteClass, Law
from ..learnability_figures import Problem, plot_capacity, plot_conditions, plot_server_data
from .picture import Kind


class Capacity(Kind):
    """The error that some target forces, over the capacity: ``plot_capacity``."""

    seen = ("samples",)
    kind: Literal["capacity"] = "capacity"
    clients: int = Field(ge=2)
    samples: Listed[int] = Field(min_length=1, max_length=5)

    def claims(self) -> tuple[str, ...]:
        return ("safari.thm1@main",)

    def drawn(self) -> Figure:
        return plot_capacity(self.clients, self.samples)


class LearningProblem(Strict):
    """Thresholds on a line of points: the server's law and the clients', a pair of probabilities (of the labels 0
    and 1) for each point.

    Attributes:
        name: of the problem.
        server, clients: P and D.
    """

    name: str
    server: Listed[Listed[str]] = Field(min_length=1)
    clients: Listed[Listed[str]] = Field(min_length=1)

    def built(self) -> Problem:
        """Return the server's law, the clients' law, and the thresholds as the class of hypotheses."""
        laws = [Law([list(row) for row in table]) for table in (self.server, self.clients)]
        return laws[0], laws[1], FiniteClass.thresholds(len(self.server))


class ServerData(Kind):
    """Exact mean excess risks over the server's samples: ``plot_server_data``."""

    seen = ("most",)
    kind: Literal["server_data"] = "server_data"
    problems: Listed[LearningProblem] = Field(min_length=1, max_length=5)
    clients: int = Field(default=4, ge=1)
    most: int = Field(default=8, ge=2)

    def drawn(self) -> Figure:
        return plot_server_data({each.name: each.built() for each in self.problems}, self.clients, self.most)


class Conditions(Kind):
    """Region where the condition of SAFARI's Theorem 3 holds, and how much of two bounds is used:
    ``plot_conditions``."""

    seen = ("most",)
    words: ClassVar[Mapping[str, str]] = {"apart": "on the left", "used": "on the right", "samples": "samples there"}
    kind: Literal["conditions"] = "conditions"
    apart: LearningProblem
    used: LearningProblem
    most: int = Field(default=7, ge=2)
    samples: int = Field(default=200, ge=2)
    confidence: str = "1/20"

    def drawn(self) -> Figure:
        return plot_conditions(
            self.apart.built(), self.used.built(), self.most, self.samples, Fraction(self.confidence)
        )


KINDS = (Capacity, ServerData, Conditions)
