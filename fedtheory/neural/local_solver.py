"""Local solvers of clients: SGD and Adam, on (P, D) parameters of P pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..extras import torch
from ..loops.square_roots import square_root

if TYPE_CHECKING:
    from torch import Tensor

State = dict[str, "Tensor"]
"""State of a solver between steps: tensors whose first axis is that of the pairs."""


@dataclass(frozen=True)
class SGD:
    """x - lr * d, where d is the gradient g after these, in this order:

    clipping, g <- g * min(1, clip_norm / (|g| + 1e-6)); weight decay, g <- g + weight_decay * x; momentum, v <-
    momentum * v + g with v = 0 at the start, d = v (with ``nesterov`` d = g + momentum * v). That is PyTorch's ``SGD``
    after ``clip_grad_norm_``.

    Raises:
        ValueError: momentum outside [0, 1), a negative weight decay, a clip_norm that is not positive, or nesterov
            without momentum.
    """

    momentum: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float | None = None
    nesterov: bool = False
    keep: bool = False
    """Whether a client's momentum goes on in its next round, instead of starting from 0."""

    def __post_init__(self) -> None:
        _check_fraction("momentum", self.momentum)
        _check_regularisation(self.weight_decay, self.clip_norm)
        if self.nesterov and self.momentum == 0:
            raise ValueError("nesterov without momentum: allowed is momentum > 0")

    def start(self, x: Tensor) -> State:
        """Return the solver's state before the first step from x (P, D)."""
        return {"momentum": torch.zeros_like(x)} if self.momentum > 0 else {}

    def step(self, x: Tensor, gradient: Tensor, lr: float, state: State) -> tuple[Tensor, State]:
        """Return the next x and memory."""
        gradient = _regularised(x, gradient, self.weight_decay, self.clip_norm)
        if self.momentum > 0:
            velocity = self.momentum * state["momentum"] + gradient
            gradient = gradient + self.momentum * velocity if self.nesterov else velocity
            state = {"momentum": velocity}
        return x - lr * gradient, state


@dataclass(frozen=True)
class Adam:
    """Adam: x - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).

    m and v are the running means of g and g^2 (Kingma & Ba, "Adam: a method for stochastic optimization", 2015); t
    counts the steps that m and v have seen.

    Clipping and weight decay come first, as in ``SGD``. With ``keep`` a client's m, v and t go on in its next round, as
    FAST's authors' code has it on Fashion-MNIST; otherwise they start from 0 in every round.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip_norm: float | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        _check_fraction("beta1", self.beta1)
        _check_fraction("beta2", self.beta2)
        if not self.epsilon > 0:
            raise ValueError(f"epsilon = {self.epsilon}: allowed is a number > 0")
        _check_regularisation(self.weight_decay, self.clip_norm)

    def start(self, x: Tensor) -> State:
        """Return the solver's state before the first step from x (P, D)."""
        return {"mean": torch.zeros_like(x), "square": torch.zeros_like(x), "steps": x.new_zeros(len(x), 1)}

    def step(self, x: Tensor, gradient: Tensor, lr: float, state: State) -> tuple[Tensor, State]:
        """Return the next x and memory."""
        gradient = _regularised(x, gradient, self.weight_decay, self.clip_norm)
        steps = state["steps"] + 1
        mean = torch.lerp(state["mean"], gradient, 1 - self.beta1)
        square = self.beta2 * state["square"] + (1 - self.beta2) * gradient**2
        corrected = square / (1 - self.beta2**steps)
        direction = mean / (1 - self.beta1**steps) / square_root(corrected, out=corrected).add_(self.epsilon)
        return x - lr * direction, {"mean": mean, "square": square, "steps": steps}


Solver = SGD | Adam


def _regularised(x: Tensor, gradient: Tensor, weight_decay: float, clip_norm: float | None) -> Tensor:
    if clip_norm is not None:
        norm = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
        gradient = gradient * (clip_norm / (norm + 1e-6)).clamp(max=1.0)
    return gradient + weight_decay * x if weight_decay > 0 else gradient


def _check_fraction(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name} = {value}: allowed is a number in [0, 1)")


def _check_regularisation(weight_decay: float, clip_norm: float | None) -> None:
    if not 0 <= weight_decay < float("inf"):
        raise ValueError(f"weight_decay = {weight_decay}: allowed is a finite number >= 0")
    if clip_norm is not None and not clip_norm > 0:
        raise ValueError(f"clip_norm = {clip_norm}: allowed is a number > 0, or None")
