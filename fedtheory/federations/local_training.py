"""Local training: several steps of every (replica, client) pair from where it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..extras import torch
from ..neural.local_solver import SGD, Solver, State

if TYPE_CHECKING:
    from torch import Tensor

    from .federation import Federation, Pairs

PLAIN_SGD = SGD()

Steps = Any
"""Number of local steps, an int; or a tuple of one for each client, which most callers have refused before."""


@dataclass(frozen=True)
class LocalTraining:
    """Local training by ``steps`` steps of size ``lr`` (or one size for each) of a solver; where clients make different
    numbers of steps, they are one for each client.

    ``proximal`` pulls the steps back to their start: proximal (x_k - x_0) is added to the gradient, before the solver
    sees it.
    """

    steps: Steps
    lr: float | tuple[float, ...]
    proximal: float = 0.0
    solver: Solver = field(default=PLAIN_SGD)

    @property
    def most_steps(self) -> int:
        """The steps of a client that makes the most."""
        return max(self.steps) if isinstance(self.steps, tuple) else int(self.steps)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The size of each step.

        Raises:
            ValueError: clients make different numbers of steps.
        """
        if isinstance(self.steps, tuple):
            raise ValueError(f"local_steps = {list(self.steps)}: allowed here is one number for all clients")
        return self.lr if isinstance(self.lr, tuple) else (self.lr,) * self.steps

    def pulled(self, x: Tensor, start: Tensor, gradient: Tensor) -> Tensor:
        """Add the proximal term to a gradient at x of a client that started at ``start``; the sum goes to the
        solver."""
        return gradient + self.proximal * (x - start) if self.proximal > 0 else gradient


def local_steps(
    fed: Federation, start: Tensor, pairs: Pairs, training: LocalTraining, state: State
) -> tuple[Tensor, State]:
    """Train all pairs locally from ``start``, and return the models, (P, D), and the solver's state.

    Draws are those of the steps ``pairs.step``, ``pairs.step`` + 1, ...
    """
    x = start
    for step, size in enumerate(training.sizes):
        gradient = training.pulled(x, start, fed.gradient(x, pairs.at_step(pairs.step + step)))
        x, state = training.solver.step(x, gradient, size, state)
    return x, state


def unequal_steps(fed: Federation, start: Tensor, pairs: Pairs, training: LocalTraining) -> Tensor:
    """Train all pairs by SGD, each client by its own number of steps, and return the models, (P, D)."""
    x, steps = start, torch.tensor(training.steps, device=start.device)[pairs.client]
    for step in range(training.most_steps):
        gradient = training.pulled(x, start, fed.gradient(x, pairs.at_step(pairs.step + step)))
        x = torch.where((step < steps)[:, None], x - training.lr * gradient, x)  # type: ignore[operator]
    return x
