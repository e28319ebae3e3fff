"""Federated algorithms: a few kinds of round, and a rule that says which kind a round is."""

from .base import Algorithm, ClientRound, ServerRound, Weights
from .fast import Fast, fast
from .linked_steps import check_theorem_4_tie, check_theorem_5_tie, theorem_4_server_lr, theorem_5_server_lr
from .safari import Safari, safari

__all__ = [
    "Algorithm",
    "ClientRound",
    "Fast",
    "Safari",
    "ServerRound",
    "Weights",
    "check_theorem_4_tie",
    "check_theorem_5_tie",
    "fast",
    "safari",
    "theorem_4_server_lr",
    "theorem_5_server_lr",
]
