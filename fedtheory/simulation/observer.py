"""Observers: each watches a run at its own spacing, and states what it needs for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from ..algorithms import ClientRound
from ..algorithms.aggregation import Memory
from ..federations.federation import ConvexFederation, ExactFederation, Federation, Pairs
from ..federations.local_training import LocalTraining

if TYPE_CHECKING:
    from ..setting import Setting
    from .state import Plan, State


@dataclass(frozen=True)
class Training:
    """The clients' training in one round.

    Attributes:
        kind: of round, bound to the process that brings the participants; it is right in ``chosen`` replicas only.
        chosen: (replicas,) bool.
        counts: (replicas, clients), how often each client takes part.
        memory: what the algorithm's parts remember, of this round's selection too.
        pairs, how: who trained, and how.
        gradients: (P, D), the pairs' sums of exact local gradients, if any observer asks for them.
    """

    kind: ClientRound
    chosen: Tensor
    counts: Tensor
    memory: Memory
    pairs: Pairs
    how: LocalTraining
    gradients: Tensor | None


class Observer:
    """Observer of a run, in all replicas of a chunk at once. Observers of one's own derive from this class.

    Attributes:
        names: of the numbers that it observes before a round; each becomes four rows of the ``Run``.
        per_client: those of the names under which there is one number for each client.
        every: it looks in the rounds 0, every, 2 every, ..., and after the last one; its sums, minima and maxima are
            over the rounds in which it looked.
        of_points: whether what it observes depends on x and on where x is finite alone, replica by replica, so that it
            can look at the points of several rounds at once.
        needs_gradients: whether it asks for the sums of exact local gradients.
    """

    names: tuple[str, ...] = ()
    per_client: tuple[str, ...] = ()
    every: int = 1
    of_points: bool = False
    needs_gradients: bool = False

    def check(self, setting: Setting) -> None:
        """Raise ``ValueError`` if the setting lacks what is watched."""
        return None

    def initial(self, ids: Tensor) -> dict[str, Tensor]:
        """Return the numbers that are kept from round to round, by name, one a replica, (replicas,) float64.

        They are kept in checkpoints too, and returned as the run's ``peaks``. A replica in which one is not finite has
        diverged.
        """
        return {}

    def observe(self, plan: Plan, state: State, round: int) -> dict[str, Tensor]:
        """Return the values before this round by name, (replicas,) float64, or (replicas, clients) if ``per_client``.

        A value is infinite where a run has diverged, and NaN where there is nothing to observe.
        """
        return {}

    def after_training(self, plan: Plan, state: State, round: int, training: Training) -> None:
        """Look at what clients did in this round; ``state`` is still that before it, but for ``state.kept``."""
        return None


def exact(observer: str, federation: Federation) -> ExactFederation:
    """Return the federation; raise ``ValueError`` unless it has exact gradients."""
    if not isinstance(federation, ExactFederation):
        raise ValueError(f"observer {observer} needs an ExactFederation, not {type(federation).__name__}")
    return federation


def convex(observer: str, federation: Federation) -> ConvexFederation:
    """Return the federation; raise ``ValueError`` unless it has an optimum and exact gradients."""
    if not isinstance(federation, ConvexFederation):
        raise ValueError(f"observer {observer} needs a ConvexFederation, not {type(federation).__name__}")
    return federation
