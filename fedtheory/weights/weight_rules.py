"""Weight rules: from what a client has done so far, how much its next update counts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from .cutoff_geometric import CutoffGeometric
from .weight_arguments import check_cutoff, check_history, check_mask, check_participants, check_probabilities


class LongRun(NamedTuple):
    """Limits of the moments of a client's weight under Bernoulli participation.

    Attributes:
        mean: lim E[omega_t].
        variance: lim Var[omega_t]; 0 for a consistent estimator of ``mean``.
    """

    mean: float
    variance: float


class WeightRule(ABC):
    """A rule for the weight omega_t of a client in round t, from its participation in rounds before t.

    Everything is vectorised: a state holds arrays of the shape given to `init`, such as (replicas, clients), and the
    entries know nothing of each other, but for those of a group of `Shared`.

    Attributes:
        cutoff: the longest interval, if the rule averages intervals; otherwise None.
    """

    if TYPE_CHECKING:  # a field of some rules, computed by others

        @property
        def cutoff(self) -> float | None: ...

    else:
        cutoff = None

    @abstractmethod
    def init(self, shape: tuple[int, ...]) -> Any:
        """The state before round 0."""

    @abstractmethod
    def weights(self, state: Any) -> np.ndarray:
        """The weights of the coming round."""

    @abstractmethod
    def step(self, state: Any, participated: np.ndarray) -> Any:
        """The state after a round in which ``participated`` (0 or 1) says who took part; ``state`` is unchanged."""

    @abstractmethod
    def long_run(self, participation_probability: float) -> LongRun:
        """Return the limits of mean and variance for a client that takes part independently with that probability."""

    def batch(self, participation: np.ndarray, dtype: DTypeLike = np.float64) -> np.ndarray:
        """The weights of every round, (rounds, ...), for a whole history (rounds, ...).

        Row t depends on rows 0 to t-1 of ``participation``; so the last row of ``participation`` changes nothing.

        Raises:
            ValueError: an entry is neither 0 nor 1, or there is no round.
        """
        mask = check_history(participation)
        weights: np.ndarray = np.empty(mask.shape, dtype)
        state = self.init(mask.shape[1:])
        for t, participated in enumerate(mask):
            weights[t] = self.weights(state)
            if t + 1 < len(mask):
                state = self.step(state, participated)
        return weights


class Intervals(NamedTuple):
    """The running interval of each client, and its latest weight.

    Attributes:
        count: complete intervals so far (M_n in the paper).
        running: rounds since the last one ended (S_n with a diamond).
        weight: omega, the weight of the coming round.
    """

    count: np.ndarray  # type: ignore[assignment]
    running: np.ndarray
    weight: np.ndarray


def start(shape: tuple[int, ...]) -> Intervals:
    """Return the state with no interval yet, and weight 1."""
    return Intervals(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.ones(shape))


@dataclass(frozen=True)
class ExponentialAverage(WeightRule):
    r"""Algorithm 2 of FedAU with an exponentially weighted average of the intervals in its line 7.

    The first complete interval S sets omega = S; each later one omega <- (1 - smoothing) omega + smoothing S. Recent
    intervals count more, so that the weight follows a client whose habits change; in exchange its variance stays:
    Var[omega_t] -> Var[S] smoothing / (2 - smoothing).

    Args:
        smoothing: weight of the newest interval, in (0, 1].
        cutoff: the longest interval; ``math.inf`` for none.

    Raises:
        ValueError: an argument outside its range.

    Source: FedAU, section 3, "Practical Implementation". The paper names the idea; the formula is the usual one.

    >>> rule = ExponentialAverage(smoothing=0.5, cutoff=10)
    >>> rule.batch(np.array([0, 1, 0, 0, 0, 1, 0])).tolist()  # intervals 2 and 4
    [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0]
    """

    smoothing: float
    cutoff: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.smoothing, Real) or not 0.0 < self.smoothing <= 1.0:
            raise ValueError(f"smoothing = {self.smoothing!r}: allowed is (0, 1]")
        object.__setattr__(self, "cutoff", check_cutoff(self.cutoff))

    def init(self, shape: tuple[int, ...]) -> Intervals:
        return start(shape)

    def weights(self, state: Intervals) -> np.ndarray:
        return state.weight

    def step(self, state: Intervals, participated: np.ndarray) -> Intervals:
        length = state.running + 1
        done = check_participants(participated, length.shape) | (length == self.cutoff)
        average = np.where(state.count == 0, length, state.weight + self.smoothing * (length - state.weight))
        return Intervals(state.count + done, np.where(done, 0, length), np.where(done, average, state.weight))

    def long_run(self, participation_probability: float) -> LongRun:
        interval = CutoffGeometric(participation_probability, self.cutoff)
        return LongRun(interval.mean(), interval.var() * self.smoothing / (2.0 - self.smoothing))


@dataclass(frozen=True, eq=False)
class KnownStatistics(WeightRule):
    """omega = 1/p in every round, for clients whose participation probability p is known.

    Args:
        participation_probability: one number for all clients, or one each.

    Raises:
        ValueError: a probability outside (0, 1]: that of a client that never takes part has no reciprocal.

    Source: FedAU, section 5, the baseline "known participation statistics".

    >>> KnownStatistics([0.5, 0.1]).batch(np.zeros((2, 2))).tolist()
    [[2.0, 10.0], [2.0, 10.0]]
    """

    participation_probability: Any

    def __post_init__(self) -> None:
        never = "the weight of a client that never takes part would be 1/0"
        known = check_probabilities(self.participation_probability, never=never)
        object.__setattr__(self, "participation_probability", known)

    def init(self, shape: tuple[int, ...]) -> np.ndarray:
        known = self.participation_probability
        if known.ndim and known.shape != tuple(shape[-known.ndim :]):
            raise ValueError(
                f"participation_probability has shape {known.shape}: allowed is that of the last axes of {tuple(shape)}"
            )
        return np.broadcast_to(1.0 / known, shape)

    def weights(self, state: np.ndarray) -> np.ndarray:
        return state

    def step(self, state: np.ndarray, participated: np.ndarray) -> np.ndarray:
        check_participants(participated, state.shape)
        return state

    def long_run(self, participation_probability: float) -> LongRun:
        """Return the weight of the first client, whatever that client does."""
        return LongRun(float(1.0 / self.participation_probability.flat[0]), 0.0)


@dataclass(frozen=True, eq=False)
class Shared(WeightRule):
    r"""One state for each group of similar clients, for clients that take part too seldom to learn from alone.

    A group of g clients has one count, one running interval and one weight. A round of the group is g steps of
    ``rule``, one for each member in the order of their numbers: the history of the group is the members' histories
    interleaved. If members take part independently with the same probability p, that is a Bernoulli(p) history of g
    times the length, and everything said of ``rule`` holds with g t client-rounds in place of t rounds. All members
    have the weight that stood before the round.

    Args:
        rule: what each group runs.
        groups: a label for each client, along the last axis.

    Raises:
        ValueError: no label, or a label that is no integer.

    Source: FedAU, section 3, "Practical Implementation": clients "may share the same state variables". That a
    running interval counts client-rounds, not rounds, is our reading: counting rounds would estimate how seldom
    *any* member takes part.

    >>> from .estimated_weights import FedAU
    >>> rule = Shared(FedAU(), groups=[0, 0, 1])
    >>> history = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]])  # group 0: 01 00 01 00, group 1: 0 0 1 0
    >>> rule.batch(history).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [3.0, 3.0, 3.0]]
    """

    rule: WeightRule
    groups: Any
    members: tuple[np.ndarray, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        labels = np.asarray(self.groups)
        if labels.ndim != 1 or labels.size == 0 or labels.dtype.kind not in "iu":
            raise ValueError(f"groups = {self.groups!r}: allowed is an integer label for each client")
        object.__setattr__(self, "groups", labels)
        object.__setattr__(self, "members", tuple(np.flatnonzero(labels == label) for label in np.unique(labels)))

    @property
    def cutoff(self) -> float | None:
        """The rule's cutoff, in client-rounds."""
        return self.rule.cutoff

    def init(self, shape: tuple[int, ...]) -> tuple:
        if not shape or shape[-1] != len(self.groups):
            raise ValueError(f"groups has {len(self.groups)} labels: allowed is one for each of {shape} clients")
        return tuple(self.rule.init(shape[:-1]) for _ in self.members)

    def weights(self, state: tuple) -> np.ndarray:
        own = [self.rule.weights(group) for group in state]
        weights = np.empty((*own[0].shape, len(self.groups)))
        for members, weight in zip(self.members, own, strict=True):
            weights[..., members] = weight[..., None]
        return weights

    def step(self, state: tuple, participated: np.ndarray) -> tuple:
        mask, advanced = check_mask(participated), []
        if mask.shape[-1:] != self.groups.shape:
            raise ValueError(f"participated has shape {mask.shape}: allowed are {len(self.groups)} clients")
        for members, group in zip(self.members, state, strict=True):
            for client in members:
                group = self.rule.step(group, mask[..., client])
            advanced.append(group)
        return tuple(advanced)

    def long_run(self, participation_probability: float) -> LongRun:
        return self.rule.long_run(participation_probability)
