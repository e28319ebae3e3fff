"""FAST: federated averaging with snapshots (FAST, Algorithms 1 and 2).

In a snapshot round a uniformly drawn cohort takes part, in every other (arbitrary) round whoever the participation
process brings. Each participant takes ``local_steps`` gradient steps of size ``local_lr`` from the server's model,
and the server averages the results. Snapshots come periodically, with a fixed probability, or with one that follows
the training accuracy (Algorithm 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..federations.local_training import PLAIN_SGD
from ..neural.local_solver import Solver
from ..participation import Uniform
from ..quantities import check_values
from ..rationals import at_least_zero, below_one, exact_number, not_several
from ..schedule import StepSize, numbers, step_size
from .algorithm import Algorithm, ClientRound
from .server_step import Momentum, Plain

if TYPE_CHECKING:
    from torch import Tensor

    from ..setting import Setting


@dataclass(frozen=True)
class Fast(Algorithm):
    """FAST with checked parameters, see ``fast``.

    Exactly one of ``snapshot_period``, ``fixed_probability`` and ``adaptivity`` is not ``None``. Numbers keep an exact
    value where one was given.
    """

    cohort: int
    local_lr: StepSize
    local_steps: int = 1
    snapshot_period: int | None = None
    fixed_probability: Fraction | None = None
    adaptivity: Fraction | None = None
    replacement: bool = False
    proximal: Fraction = Fraction(0)
    momentum: Fraction = Fraction(0)
    local_solver: Solver = PLAIN_SGD

    @property
    def uniform(self) -> Uniform:
        """The process of the snapshot rounds."""
        return Uniform(self.cohort, self.replacement)

    @cached_property
    def kinds(self) -> tuple[ClientRound, ClientRound]:
        """A snapshot, and an arbitrary round; local training is the same in both."""
        server = Momentum(Fraction(1), self.momentum) if self.momentum else Plain()
        arbitrary = ClientRound(
            self.local_steps, self.local_lr, proximal=self.proximal, server=server, local_solver=self.local_solver
        )
        return replace(arbitrary, uniform=self.uniform), arbitrary

    @property
    def periodic(self) -> bool:
        """Whether snapshots come at a fixed period."""
        return self.snapshot_period is not None

    @property
    def period(self) -> int | None:
        return self.snapshot_period

    @property
    def share(self) -> Fraction:
        return self.snapshot_probability

    def with_share(self, share: Fraction) -> Fast:
        return replace(self, snapshot_period=None, fixed_probability=share, adaptivity=None)

    def trained_by(self, solver: Solver) -> Fast:
        return replace(self, local_solver=solver)

    @property
    def adaptive(self) -> bool:
        return self.adaptivity is not None

    @property
    def snapshot_probability(self) -> Fraction:
        """q; a period I stands for the probability 1/I.

        Raises:
            ValueError: the snapshots are adaptive, so that q is no number but a process of the run.
        """
        if self.adaptive:
            raise ValueError(
                f"snapshot_probability has no value: with adaptivity = {self.adaptivity} it depends on the run; "
                "allowed is an algorithm with a snapshot_period or a snapshot_probability"
            )
        if self.fixed_probability is not None:
            return self.fixed_probability
        return Fraction(1, self.snapshot_period or 1)

    def next_probability(self, probability: Tensor, accuracy_before: Tensor, accuracy: Tensor) -> Tensor:
        """q_{r+1} = min(1, max(0, q_r + adaptivity (acc_{r-1} - acc_r))), all (replicas,) float64.

        Algorithm 2 starts from q_0 = 0 and, as its Delta is 0, from acc_{-1} = 0; hence q_1 = 0 too. A fall of the
        training accuracy makes snapshots likelier, a rise makes them rarer.

        Source: FAST, Algorithm 2, lines 4 to 6.

        >>> algorithm = fast(adaptivity=2, cohort=2, local_lr="1/100")
        >>> import torch
        >>> q, before, now = torch.tensor([[0.25, 0.25, 0.25], [0.5, 0.5, 0.5], [0.75, 0.25, 0.0]]).double()
        >>> algorithm.next_probability(q, before, now).tolist()
        [0.0, 0.75, 1.0]
        """
        return (probability + float(self.adaptivity or 0) * (accuracy_before - accuracy)).clip(0, 1)

    def quantities(self) -> dict[str, float]:
        """The claims' quantities that the algorithm fixes; a period I stands for the probability 1/I. None with a
        proximal term, momentum or another local solver than SGD, of which no claim speaks.

        Raises:
            ValueError: the snapshots are adaptive: claims speak of one q, which depends on the run here.
        """
        if not self.plain:
            return {}
        known: dict[str, float] = {
            "cohort": self.cohort,
            **numbers(local_lr=self.local_lr),
            "local_steps": self.local_steps,
            "snapshot_probability": float(self.snapshot_probability),
        }
        return known | ({} if self.snapshot_period is None else {"snapshot_period": self.snapshot_period})


def fast(
    *,
    cohort: int,
    local_lr: float | str | Fraction,
    local_steps: int = 1,
    snapshot_period: int | None = None,
    snapshot_probability: float | str | Fraction | None = None,
    adaptivity: float | str | Fraction | None = None,
    replacement: bool = False,
    proximal: float | str | Fraction = 0,
    momentum: float | str | Fraction = 0,
) -> Fast:
    """FAST with snapshots in the rounds 0, I, 2I, ..., or with probability q in every round, or with a probability
    that follows the training accuracy:

        q_0 = 0,    q_{r+1} = min(1, max(0, q_r + adaptivity (acc_{r-1} - acc_r))),    acc_{-1} = 0.

    The paper does not say whose training accuracy acc_r is. Here it is that of the server's model x_r, before round r,
    on all clients' training data: ``Federation.training_accuracy``. So the snapshots of round r answer to the steps
    up to x_{r-1}.

    Args:
        cohort: clients in a snapshot round (m).
        local_lr: the clients' step size (eta_c), in units of x^2/F: a number or a rule (see ``schedule.StepRule``).
        local_steps: gradient steps of a client in a round (K).
        snapshot_period, snapshot_probability, adaptivity: exactly one of them (I, q, lambda). Adaptivity is a number
            >= 0, without units; 0 means no snapshots, the paper's default is 1.
        replacement: whether a snapshot's cohort is drawn with replacement.
        proximal: >= 0, pulls local training back to the server's model (FAST on FedProx), in units of F/x^2.
        momentum: in [0, 1), of the server's update (FAST on FedAvgM); see ``Momentum``.

    Raises:
        ValueError: a value out of bounds, or not exactly one of period, probability and adaptivity.

    Source: FAST, Algorithm 1, and Algorithm 2 for the adaptive probability; section 6 and appendix B.2 for FAST on
    FedProx and FedAvgM, of which the paper gives the names only.

    >>> fast(snapshot_period=2, cohort=2, local_lr="1/100").snapshot_probability
    Fraction(1, 2)
    >>> fast(adaptivity=1, cohort=2, local_lr="1/100").snapshot_probability
    Traceback (most recent call last):
    ValueError: snapshot_probability has no value: with adaptivity = 1 it depends on the run; ...
    """
    if sum(each is None for each in (adaptivity, snapshot_period, snapshot_probability)) != 2:
        raise ValueError("adaptivity, snapshot_period and snapshot_probability: give exactly one of them")
    given: dict[str, Any] = {
        "cohort": cohort,
        "local_steps": local_steps,
    }
    if snapshot_period is not None:
        given["snapshot_period"] = snapshot_period
    if snapshot_probability is not None:
        given["snapshot_probability"] = exact_number("snapshot_probability", snapshot_probability)
    step = step_size("local_lr", local_lr)
    for name in ("cohort", "local_steps", "snapshot_period"):
        not_several(name, given.get(name))
    check_values(given | numbers(local_lr=step))
    counts: dict[str, Any] = {
        name: int(given[name]) for name in ("cohort", "local_steps", "snapshot_period") if name in given
    }
    return Fast(
        local_lr=step,
        fixed_probability=given.get("snapshot_probability"),
        adaptivity=None if adaptivity is None else at_least_zero("adaptivity", adaptivity),
        replacement=replacement,
        proximal=at_least_zero("proximal", proximal),
        momentum=below_one("momentum", momentum),
        **counts,
    )


def fast_of(setting: Setting) -> Fast:
    """Return the setting's algorithm; raise ``ValueError`` unless it is ``fast``."""
    if not isinstance(setting.algorithm, Fast):
        raise ValueError(f"algorithm = {setting.algorithm}: run quantities are known for Fast only")
    return setting.algorithm
