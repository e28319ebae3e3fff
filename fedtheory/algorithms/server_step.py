"""Server steps, which turn the aggregated update Delta of a round into the next model.

They compute with tensors of torch and with arrays of numpy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..federations.devices import library
from ..loops.square_roots import square_root
from ..schedule import StepSize, at_round
from .aggregation import Memory

if TYPE_CHECKING:
    from torch import Tensor


class Server(ABC):
    """Rule for x_{r+1}. The aggregation says whether the server steps in a round without participants.

    If it does not, x and its memory stay as they are.
    """

    remembers = True

    @abstractmethod
    def initial(self, x: Tensor) -> Memory:
        """The memory before round 0, for the iterates x (replicas, D)."""

    global_lr: StepSize

    def at(self, round: int) -> Server:
        """Return this server with the step size of one round."""
        this: Any = self
        return replace(this, global_lr=at_round(self.global_lr, round))

    @abstractmethod
    def step(self, x: Tensor, delta: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return x_{r+1} from x_r and Delta, all (replicas, D), and the memory after the round."""


@dataclass(frozen=True)
class Plain(Server):
    """Plain step: x_{r+1} = x_r + global_lr Delta.

    Source: FedAU, Algorithm 1, line 13; FLICS, the proof of Theorem 1.
    """

    global_lr: StepSize = Fraction(1)
    remembers = False

    def initial(self, x: Tensor) -> Memory:
        return {}

    def step(self, x: Tensor, delta: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        return x + (delta if self.global_lr == 1 else float(self.global_lr) * delta), {}


@dataclass(frozen=True)
class Momentum(Server):
    """Momentum: v_{r+1} = momentum v_r + Delta,  x_{r+1} = x_r + global_lr v_{r+1},  v_0 = 0.

    Source: FedAvgM, Hsu et al., "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
    Classification" (2019); FAST's FedAvgM, of which the paper gives the name only.
    """

    global_lr: StepSize
    momentum: Fraction

    def initial(self, x: Tensor) -> Memory:
        return {"velocity": library(x).zeros_like(x)}

    def step(self, x: Tensor, delta: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        velocity = float(self.momentum) * memory["velocity"] + delta
        return x + float(self.global_lr) * velocity, {"velocity": velocity}


@dataclass(frozen=True)
class Adam(Server):
    """Adam, coordinate by coordinate:

        m_{r+1} = beta1 m_r + (1 - beta1) Delta,    v_{r+1} = beta2 v_r + (1 - beta2) Delta^2,
        x_{r+1} = x_r + global_lr m_{r+1} / (sqrt(v_{r+1}) + epsilon),    m_0 = 0,  v_0 = epsilon^2,

    without correcting the bias. Reddi et al. ask for a v_0 >= epsilon^2: this is the least one. Here global_lr and
    epsilon have the units of x.

    Source: FedAdam, Reddi et al., "Adaptive Federated Optimization" (2021), Algorithm 2; FLICS-Adam and FLICS's
    baseline FedAdam, of which the paper gives the name only.
    """

    global_lr: StepSize
    beta1: Fraction
    beta2: Fraction
    epsilon: Fraction

    def initial(self, x: Tensor) -> Memory:
        least = library(x).full_like(x, float(self.epsilon) ** 2)
        return {"first_moment": library(x).zeros_like(x), "second_moment": least}

    def step(self, x: Tensor, delta: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        b1, b2 = float(self.beta1), float(self.beta2)
        first = b1 * memory["first_moment"] + (1 - b1) * delta
        second = b2 * memory["second_moment"] + (1 - b2) * library(x).square(delta)
        moved = x + float(self.global_lr) * first / (square_root(second) + float(self.epsilon))
        return moved, {"first_moment": first, "second_moment": second}


@dataclass(frozen=True)
class Amplified(Server):
    """Amplified updates: x_{r+1} = x_r + Delta, and after every ``period`` rounds the way since the last time is
    stretched:

        x_{r+1} = x_s + global_lr (x_r + Delta - x_s),    x_s the iterate after the last stretch.

    With a period of 1 it is `Plain`. Rounds without participants do not count.

    Source: Wang and Ji, "A Unified Analysis of Federated Learning with Arbitrary Client Participation" (2022),
    Algorithm 1, which FAST calls FedAmplify.
    """

    global_lr: StepSize
    period: int

    def initial(self, x: Tensor) -> Memory:
        of = library(x)
        return {"way": of.zeros_like(x), "passed": of.zeros(len(x), dtype=of.int64, device=x.device)}

    def step(self, x: Tensor, delta: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        way, passed = memory["way"] + delta, memory["passed"] + 1
        full = (passed == self.period)[:, None]
        where = library(x).where
        moved = x + delta + where(full, (float(self.global_lr) - 1) * way, 0.0)
        return moved, {"way": where(full, 0.0, way), "passed": passed % self.period}
