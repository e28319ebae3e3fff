"""Local training: the rule of a client's steps, and the steps of a batch of (replica, client) pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..exact import exact_number

if TYPE_CHECKING:
    from .base import Federation, Pairs

LocalState = dict[str, Tensor]
"""What a rule remembers from step to step, by name; the first axis is that of the pairs."""


class LocalRule(ABC):
    """How a client steps along its stochastic gradients.

    Attributes:
        clip_norm: gradients longer than this are scaled down to it; ``None``: none are. In units of F/x.
        weight_decay: times x is added to the gradient, after clipping; in units of F/x^2.
        keep: whether a client goes on, when it comes again, with what the rule remembered when it left. Otherwise every
            visit begins anew.
    """

    clip_norm: Fraction | None
    weight_decay: Fraction
    keep: bool

    @abstractmethod
    def start(self, x: Tensor) -> LocalState:
        """What is remembered before the first step from the points x (P, D)."""

    @abstractmethod
    def move(self, x: Tensor, gradient: Tensor, lr: float, state: LocalState) -> tuple[Tensor, LocalState]:
        """The points after a step along gradients that are clipped and decayed, all (P, D), and what is remembered."""

    def step(self, x: Tensor, gradient: Tensor, lr: float, state: LocalState) -> tuple[Tensor, LocalState]:
        """The points after one step of size ``lr``, and what is remembered; what is given stays unchanged."""
        if self.clip_norm is not None:
            length = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
            gradient = gradient * (float(self.clip_norm) / length).clamp(max=1)
        if self.weight_decay:
            gradient = gradient + float(self.weight_decay) * x
        return self.move(x, gradient, lr, state)

    def _check(self, **below_one: Any) -> None:
        """Make the numbers exact, and refuse those out of bounds."""
        decay = exact_number("weight_decay", self.weight_decay)
        if decay < 0:
            raise ValueError(f"weight_decay = {self.weight_decay}: allowed is a finite number >= 0")
        object.__setattr__(self, "weight_decay", decay)
        if self.clip_norm is not None:
            clip_norm = exact_number("clip_norm", self.clip_norm)
            if clip_norm <= 0:
                raise ValueError(f"clip_norm = {self.clip_norm}: allowed is a finite number > 0, or None")
            object.__setattr__(self, "clip_norm", clip_norm)
        for name, value in below_one.items():
            number = exact_number(name, value)
            if not 0 <= number < 1:
                raise ValueError(f"{name} = {value}: allowed is [0, 1)")
            object.__setattr__(self, name, number)


@dataclass(frozen=True)
class LocalSGD(LocalRule):
    """v_{k+1} = momentum v_k + g_k,  x_{k+1} = x_k - local_lr v_{k+1},  v_0 = 0; as ``torch.optim.SGD`` steps.

    Without options it is the papers' local SGD.

    Args:
        momentum: in [0, 1).
        weight_decay, clip_norm, keep: see `LocalRule`.

    Raises:
        ValueError: a value out of bounds.

    Source: FAST, appendix B, for momentum .9 and weight decay 5e-4 of its networks.

    >>> LocalSGD(momentum="9/10").move(torch.zeros(1, 1), torch.ones(1, 1), 0.5, {"velocity": torch.ones(1, 1)})[0]
    tensor([[-0.9500]])
    """

    momentum: Any = Fraction(0)
    weight_decay: Any = Fraction(0)
    clip_norm: Any = None
    keep: bool = False

    def __post_init__(self) -> None:
        self._check(momentum=self.momentum)

    def start(self, x: Tensor) -> LocalState:
        return {"velocity": torch.zeros_like(x)} if self.momentum else {}

    def move(self, x: Tensor, gradient: Tensor, lr: float, state: LocalState) -> tuple[Tensor, LocalState]:
        if not self.momentum:
            return x - lr * gradient, {}
        velocity = float(self.momentum) * state["velocity"] + gradient
        return x - lr * velocity, {"velocity": velocity}


@dataclass(frozen=True)
class LocalAdam(LocalRule):
    """Coordinate by coordinate, as ``torch.optim.Adam`` steps,

        m_k = beta1 m_{k-1} + (1 - beta1) g_k,    v_k = beta2 v_{k-1} + (1 - beta2) g_k^2,
        x_k = x_{k-1} - local_lr (m_k / (1 - beta1^k)) / (sqrt(v_k / (1 - beta2^k)) + epsilon),    m_0 = v_0 = 0,

    where k counts the steps since the beginning of the visit or, if ``keep``, all steps of the client so far. Here
    local_lr has the units of x.

    Args:
        beta1, beta2: in [0, 1). epsilon: > 0, in units of F/x.
        weight_decay, clip_norm, keep: see `LocalRule`.

    Raises:
        ValueError: a value out of bounds.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization" (2015), Algorithm 1; FAST's public code, which
    keeps each client's state.

    >>> x, state = torch.zeros(1, 1), LocalAdam().start(torch.zeros(1, 1))
    >>> LocalAdam().step(x, torch.full((1, 1), 5.0), 0.5, state)[0]
    tensor([[-0.5000]])
    """

    beta1: Any = Fraction(9, 10)
    beta2: Any = Fraction(999, 1000)
    epsilon: Any = Fraction(1, 10**8)
    weight_decay: Any = Fraction(0)
    clip_norm: Any = None
    keep: bool = False

    def __post_init__(self) -> None:
        self._check(beta1=self.beta1, beta2=self.beta2)
        epsilon = exact_number("epsilon", self.epsilon)
        if epsilon <= 0:
            raise ValueError(f"epsilon = {self.epsilon}: allowed is a finite number > 0")
        object.__setattr__(self, "epsilon", epsilon)

    def start(self, x: Tensor) -> LocalState:
        steps = torch.zeros(len(x), dtype=torch.int64, device=x.device)
        return {"first_moment": torch.zeros_like(x), "second_moment": torch.zeros_like(x), "steps": steps}

    def move(self, x: Tensor, gradient: Tensor, lr: float, state: LocalState) -> tuple[Tensor, LocalState]:
        b1, b2 = float(self.beta1), float(self.beta2)
        steps = state["steps"] + 1
        first = b1 * state["first_moment"] + (1 - b1) * gradient
        second = b2 * state["second_moment"] + (1 - b2) * gradient.square()
        k = steps.to(torch.float64)[:, None]
        size, scale = lr / (1 - b1**k), (1 - b2**k).sqrt()
        root = second.sqrt() / scale.to(x) + float(self.epsilon)
        return x - size.to(x) * first / root, {"first_moment": first, "second_moment": second, "steps": steps}


SGD = LocalSGD()


@dataclass(frozen=True)
class Solver:
    """``steps`` steps of size ``lr`` (or one size for each) by a rule, pulled back to where they started by
    ``proximal``: proximal (x_k - x_0) is added to the gradient, before the rule clips it."""

    steps: int
    lr: float | tuple[float, ...]
    proximal: float = 0.0
    rule: LocalRule = field(default=SGD)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The step size of each step."""
        return self.lr if isinstance(self.lr, tuple) else (self.lr,) * self.steps

    def along(self, x: Tensor, start: Tensor, gradient: Tensor) -> Tensor:
        """The direction that the rule gets, for a gradient at x of a client that started at ``start``."""
        return gradient + self.proximal * (x - start) if self.proximal > 0 else gradient


def local_steps(
    fed: Federation, start: Tensor, pairs: Pairs, solver: Solver, state: LocalState
) -> tuple[Tensor, LocalState]:
    """The models of all pairs after local training from ``start``, (P, D), and what the rule remembers then."""
    x = start
    for step, size in enumerate(solver.sizes):
        gradient = solver.along(x, start, fed.gradient(x, pairs.at_step(step)))
        x, state = solver.rule.step(x, gradient, size, state)
    return x, state
