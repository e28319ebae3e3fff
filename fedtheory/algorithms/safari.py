"""SAFARI: federated averaging assisted by the server's own data (SAFARI, Algorithm 1).

A round is the clients' with a fixed probability: whoever the participation process brings takes ``local_steps``
gradient steps of size ``local_lr`` from the server's model, and the server averages the results. Every other round is
the server's: ``server_steps`` steps of size ``server_lr`` along its own stochastic gradients of F, of which Algorithm 1
takes one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..arguments import check_count
from ..federations.local_training import PLAIN_SGD
from ..neural.local_solver import Solver
from ..quantities import check_values
from ..rationals import exact_number, not_several
from ..schedule import StepRule, StepSize, numbers, step_size
from .algorithm import Algorithm, ClientRound, ServerRound


@dataclass(frozen=True)
class Safari(Algorithm):
    """SAFARI with checked parameters, see ``safari``; numbers keep an exact value where one was given."""

    client_round_probability: Fraction
    local_lr: StepSize
    server_lr: StepSize
    local_steps: int = 1
    server_steps: int = 1
    local_solver: Solver = PLAIN_SGD

    @cached_property
    def kinds(self) -> tuple[ClientRound, ServerRound]:
        """A client round, and a server round."""
        clients = ClientRound(self.local_steps, self.local_lr, local_solver=self.local_solver)
        return clients, ServerRound(self.server_lr, self.server_steps)

    @property
    def share(self) -> Fraction:
        return self.client_round_probability

    def with_share(self, share: Fraction) -> Safari:
        return replace(self, client_round_probability=share)

    def trained_by(self, solver: Solver) -> Safari:
        return replace(self, local_solver=solver)

    def quantities(self) -> dict[str, float]:
        """The claims' quantities that the algorithm fixes. The m clients of a client round are the participation
        process's ``arbitrary_cohort``. None with another local solver than SGD or several server steps, of which no
        claim speaks."""
        if self.local_solver != PLAIN_SGD or self.server_steps != 1:
            return {}
        return {
            "client_round_probability": float(self.client_round_probability),
            **numbers(local_lr=self.local_lr),
            "local_steps": self.local_steps,
            **numbers(server_lr=self.server_lr),
        }


def safari(
    *,
    client_round_probability: float | str | Fraction,
    local_lr: float | str | Fraction,
    server_lr: float | str | Fraction,
    local_steps: int = 1,
    server_steps: int = 1,
) -> Safari:
    """SAFARI: with probability q a client round, otherwise a server round,

        x_{r+1} = (1/|S_r|) sum_{i in S_r} x_{i,K},    x_{i,k+1} = x_{i,k} - eta_c (grad F_i(x_{i,k}) + noise),
        x_{r+1} = x_r - eta_s (grad F(x_r) + noise).

    With ``server_steps`` > 1 a server round makes so many such steps one after the other, of which no theorem of the
    paper speaks. The noise of the server's gradient is the federation's ``server_noise``. Any two step sizes run; the
    ties that the paper's theorems ask for are in ``linked_steps``.

    Args:
        client_round_probability: q, in [0, 1].
        local_lr, server_lr: the clients' and the server's step size (eta_c, eta_s), in units of x^2/F; each may be a
            rule (see ``schedule.StepRule``), the server's one in ``round_index``.
        local_steps: gradient steps of a client in a round (K).
        server_steps: gradient steps of the server in a round of its own, each with fresh noise or a fresh minibatch.

    Raises:
        ValueError: a value out of bounds.

    Source: SAFARI, Algorithm 1.

    >>> safari(client_round_probability="1/4", local_lr="1/100", server_lr="1/200").share
    Fraction(1, 4)
    """
    given: dict[str, Any] = {
        "client_round_probability": exact_number("client_round_probability", client_round_probability),
        "local_lr": step_size("local_lr", local_lr),
        "server_lr": step_size("server_lr", server_lr, within_rounds=False),
        "local_steps": local_steps,
    }
    not_several("local_steps", local_steps)
    check_values({name: value for name, value in given.items() if not isinstance(value, StepRule)})
    given["server_steps"] = check_count("server_steps", server_steps)
    return Safari(**given | {"local_steps": int(local_steps)})
