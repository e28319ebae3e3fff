"""Aggregation rules of the server: from updates delta_i = x_{i,K} - x_r to one aggregated update Delta.

N_i: how often client i was drawn (0 or 1 unless with replacement), M: the clients, w_i: the weight of delta_i. The
rules compute with tensors of torch, and with arrays of numpy alone, for servers beside which no torch is installed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import is_tensor, torch
from ..federations.devices import kept_there, library
from ..federations.federation import Pairs
from ..participation import Participation
from ..randomness import in_memory

if TYPE_CHECKING:
    from torch import Tensor

Memory = dict[str, "Tensor"]
"""Memory of an algorithm's parts from round to round, by name; the first axis is that of the replicas."""


@dataclass(frozen=True)
class Updates:
    """The updates that one round's participants send.

    Attributes:
        delta: (P, D), the update of each pair.
        pairs: which replica and client each belongs to.
        counts: (replicas, clients) int8, N.
        own: (P,), the pairs' weights where they are known beforehand, as those of rules that go ``by_counts``.
    """

    delta: Tensor
    pairs: Pairs
    counts: Tensor
    own: Tensor | None = None

    def combined(self, weights: Tensor, values: Tensor | None = None) -> Tensor:
        """Sum w_i delta_i, or w_i times other ``values`` (P, D), for weights (replicas, clients): (replicas, D)."""
        values = self.delta if values is None else values
        return self.added(_at(_as(values, weights), self.pairs.place), values)

    def added(self, own: Tensor, values: Tensor) -> Tensor:
        """Sum the ``values`` (P, D) with weights of the pairs, (P,): (replicas, D)."""
        zeros = library(values).zeros
        total = zeros((len(self.counts), values.shape[1]), dtype=values.dtype, device=values.device)
        if not is_tensor(values):
            for r, weight, row in zip(self.pairs.replica, own, values, strict=True):
                total[r] += weight * row
            return total
        if in_memory(values):
            from ..loops.scatter import add_rows

            add_rows(total.numpy(), self.pairs.replica.numpy(), own.numpy(), values.numpy())
            return total
        return total.index_add_(0, self.pairs.replica, values * own[:, None])


class Aggregation(ABC):
    """Rule that aggregates the updates to Delta.

    Its memory goes on in every round, also in one without participants. ``steps_when_empty`` says whether the server
    steps in such a round, ``tables`` names what is remembered in a row for each client, in which participants' rows
    change in their place.
    """

    remembers = False
    tables: tuple[str, ...] = ()
    steps_when_empty: bool = False

    def bound(self, process: Participation, clients: int) -> Aggregation:
        """Return this rule with what it takes from the process that brings the participants.

        Raises:
            ValueError: it does not fit so many clients, or the process lacks what it needs.
        """
        return self

    def initial(self, x: Tensor, clients: int) -> Memory:
        """Return the memory before round 0, for the iterates x (replicas, D)."""
        return {}

    def stored(self, memory: Memory) -> Memory:
        """Return what a checkpoint keeps of ``memory``, from which `restored` makes what goes on as it does."""
        return memory

    def restored(self, kept: Memory) -> Memory:
        """Return the memory that a checkpoint has kept."""
        return kept

    @abstractmethod
    def step(self, updates: Updates, memory: Memory) -> tuple[Tensor, Memory]:
        """Return Delta (replicas, D), and the memory after the round.

        The arguments stay unchanged, but for what `LatestUpdates` and `FedAUWeights` remember of every client: that
        changes in its place, in the rows of those who take part.
        """


class WeightedSum(Aggregation):
    """Aggregation Delta = sum_i w_i delta_i with weights that depend on who takes part, now or before.

    Attributes:
        by_counts: whether a replica's weights depend on its counts of this round alone: many rounds' are found at once.
    """

    by_counts = False

    @abstractmethod
    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        """Return w (replicas, clients) float64, from the counts of this round and those before."""

    def weights_at(self, counts: Tensor, place: Tensor) -> Tensor:
        """Return the ``weights`` at these flat places of (replicas, clients), for rules that go ``by_counts``."""
        return _at(self.weights(counts, {}), place)

    def after(self, counts: Tensor, memory: Memory) -> Memory:
        """Return the memory after a round with these counts."""
        return {}

    def step(self, updates: Updates, memory: Memory) -> tuple[Tensor, Memory]:
        counts = updates.counts
        if updates.own is not None:
            return updates.added(updates.own, updates.delta), self.after(counts, memory)
        return updates.combined(self.weights(counts, memory)), self.after(counts, memory)


@dataclass(frozen=True)
class AverageParticipating(WeightedSum):
    """Average over the participants: w_i = N_i / sum_j N_j.

    Source: FedAvg (McMahan et al., 2017); FAST, Algorithm 1; SAFARI, Algorithm 1; FedAU's baseline "average
    participating".
    """

    by_counts = True

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        return _double(counts) / counts.sum(1)[:, None].clip(1)

    def weights_at(self, counts: Tensor, place: Tensor) -> Tensor:
        if not (is_tensor(counts) and in_memory(counts)):
            return super().weights_at(counts, place)
        from ..loops.scatter import shares

        return torch.from_numpy(shares(counts.contiguous().numpy(), place.numpy()))


@dataclass(frozen=True)
class AverageAll(WeightedSum):
    """Average over all clients, of whom absent ones send 0: w_i = N_i / M.

    Source: FedAU, the baseline "average all"; Algorithm 1, weights 1.
    """

    by_counts = True

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        return _double(counts) / counts.shape[1]


@dataclass(frozen=True)
class ObjectiveShares(WeightedSum):
    """Average over everyone, or a uniform cohort, by the clients' weights in the objective: w_i = M p_i N_i / sum_j
    N_j.

    With all M clients w_i = p_i.

    Args:
        objective_weight: p, one number > 0 for each client, with the sum 1.

    Source: Li et al., "On the Convergence of FedAvg on Non-IID Data" (2020): full participation, and scheme II, S
    clients without replacement, N/S sum p_k w_k.
    """

    objective_weight: tuple[Fraction, ...]
    by_counts = True

    def bound(self, process: Participation, clients: int) -> ObjectiveShares:
        check_one_each("objective_weight", self.objective_weight, clients)
        return self

    @kept_there
    def _scaled(self) -> np.ndarray:
        return floats(self.objective_weight) * len(self.objective_weight)

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        return self._scaled(counts.device) * AverageParticipating().weights(counts, memory)


@dataclass(frozen=True)
class SampleShares(WeightedSum):
    """Average over the participants by their samples: w_i = n_i N_i / sum_j n_j N_j.

    Unless everyone takes part, or the n_i are equal, E[w_i] is not in proportion to n_i: under ``Uniform(1)`` it is
    1/M. What a step of it then minimises is not sum_i n_i F_i: see ``fedtheory.moments.implied_objective``.

    Args:
        samples: n, one number >= 0 for each client, of which at least one is > 0; ``None``: those of the federation
            (``Setting`` finds them). Only their ratios matter.

    Raises:
        ValueError: in a round whose participants all have n_i = 0.

    Source: FedAvg (McMahan et al., 2017), Algorithm 1, n_k / n over the clients of a round; the default of Flower, of
    pfl and of FedProx's code.
    """

    samples: tuple[Fraction, ...] | None = None
    by_counts = True

    def bound(self, process: Participation, clients: int) -> SampleShares:
        if self.samples is None:
            raise ValueError(
                "samples = None: allowed with average = 'samples' are one number for each client, or a federation "
                "whose clients hold points"
            )
        check_one_each("samples", self.samples, clients)
        return self

    @kept_there
    def _samples(self) -> np.ndarray:
        return floats(self.samples or ())

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        held = counts * self._samples(counts.device)
        total = held.sum(1)[:, None]
        if 0 in (self.samples or ()):
            lost = (total[:, 0] == 0) & (counts > 0).any(1)
            if lost.any():
                alone = [i for i, drawn in enumerate(counts[lost][0].tolist()) if drawn]
                raise ValueError(f"samples: clients {alone} take part and have 0: allowed are cohorts with a sample")
        return held / library(counts).where(total > 0, total, 1)


@dataclass(frozen=True)
class Constant(WeightedSum):
    """Weighted sum with fixed omega_i: w_i = N_i omega_i / M.

    Args:
        aggregation_weight: omega, one positive number for each client.

    Source: FedAU, Theorem 1.
    """

    aggregation_weight: tuple[Fraction, ...]
    by_counts = True

    def bound(self, process: Participation, clients: int) -> Constant:
        check_one_each("aggregation_weight", self.aggregation_weight, clients)
        return self

    @kept_there
    def _weights(self) -> np.ndarray:
        return floats(self.aggregation_weight) / len(self.aggregation_weight)

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        return counts * self._weights(counts.device)


@dataclass(frozen=True)
class GivenWeights(WeightedSum):
    """Weighted sum with weights that are known beforehand: w_i = N_i omega_i / M.

    The omega_i of round r are those of row r modulo the rows.

    Args:
        aggregation_weight: omega, rows of one positive number for each client.

    Source: FedAU, Theorem 2: "arbitrary (but given) weights".
    """

    aggregation_weight: tuple[tuple[Fraction, ...], ...]
    remembers = True

    def bound(self, process: Participation, clients: int) -> GivenWeights:
        for r, row in enumerate(self.aggregation_weight):
            check_one_each(f"aggregation_weight[{r}]", row, clients)
        return self

    def initial(self, x: Tensor, clients: int) -> Memory:
        return {"row": library(x).zeros(len(x), dtype=library(x).int64, device=x.device)}

    @kept_there
    def _weights(self) -> np.ndarray:
        return np.stack([floats(row) / len(row) for row in self.aggregation_weight])

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        return counts * self._weights(counts.device)[memory["row"]]

    def after(self, counts: Tensor, memory: Memory) -> Memory:
        return {"row": (memory["row"] + 1) % len(self.aggregation_weight)}


@dataclass(frozen=True)
class Known(WeightedSum):
    """Weighted sum by the true probabilities p_i, or by E[N_i] for draws with replacement: w_i = N_i / (M p_i).

    Then E[w_i] = 1/M.

    Args:
        participation_probability: p, one number for each client; ``None``: those of the process (`bound` finds them).

    Source: FedAU, section 5, the baseline "known participation statistics".
    """

    participation_probability: tuple[Fraction, ...] | None = None
    by_counts = True

    def bound(self, process: Participation, clients: int) -> Known:
        known = self.participation_probability
        if known is None:
            known = tuple(Fraction(p) for p in process.stationary(clients))
        check_one_each("participation_probability", known, clients)
        for i, p in enumerate(known):
            if p <= 0:
                raise ValueError(
                    f"participation_probability[{i}] = {p}: allowed is a number > 0; who never takes part "
                    "would weigh 1/0"
                )
        return Known(known)

    @kept_there
    def _divisors(self) -> np.ndarray:
        known = self.participation_probability or ()
        return floats(known) * len(known)

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        return counts / self._divisors(counts.device)


@dataclass(frozen=True)
class FedAUWeights(WeightedSum):
    """Weighted sum w_i = N_i omega_i / M, where omega_i is the mean length of client i's participation intervals so
    far.

    An interval of a client ends with the round in which it takes part, or with the round in which the interval has
    lasted ``cutoff`` rounds; a round that is both ends one interval. omega_i of round t sees the rounds before t only,
    and is 1 as long as no interval has ended. Absent clients' intervals grow too, also in rounds without participants.

    Of each client the intervals that have ended are remembered, the rounds that they cover, and the round in which the
    next one started. omega is the second over the first (`fedtheory.weights.FedAU` says why). They change when the
    client takes part: what the cutoff has ended since follows from the rounds that have passed, so that a round costs
    its participants.

    Args:
        cutoff: an integer >= 1, or ``math.inf`` for none.

    Source: FedAU, Algorithms 1 and 2.
    """

    cutoff: float = math.inf
    remembers = True

    def initial(self, x: Tensor, clients: int) -> Memory:
        of = library(x)
        counters = of.zeros((3, len(x), clients), dtype=of.int64, device=x.device)
        passed = of.zeros(len(x), dtype=of.int64, device=x.device)
        return {"passed": passed, **dict(zip(("intervals", "covered", "started"), counters, strict=True))}

    def stored(self, memory: Memory) -> Memory:
        intervals, covered, running = self._ended(memory)
        others = {name: value for name, value in memory.items() if name not in ("passed", "started")}
        return others | {"intervals": intervals, "covered": covered, "running": running}

    def restored(self, kept: Memory) -> Memory:
        others = {name: value for name, value in kept.items() if name != "running"}
        return others | {
            "passed": library(kept["running"]).zeros_like(kept["running"][:, 0]),
            "started": -kept["running"],
        }

    def _ended(self, memory: Memory, place: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Of each client, or at flat places: the intervals that have ended before the coming round, the rounds that
        they cover, and those since."""
        names = ("intervals", "covered", "started")
        if place is None:
            intervals, covered, started = (memory[name] for name in names)
            passed = memory["passed"][:, None]
        else:
            intervals, covered, started = (_at(memory[name], place) for name in names)
            passed = _at(memory["passed"], place // memory["started"].shape[1])
        running = passed - started
        if self.cutoff == math.inf:
            return intervals, covered, running
        cut = running // int(self.cutoff)
        return intervals + cut, covered + cut * int(self.cutoff), running % int(self.cutoff)

    def aggregation_weight(self, memory: Memory, place: Tensor | None = None) -> Tensor:
        """omega (replicas, clients) float64, of the coming round; or at flat places of it."""
        intervals, covered, _ = self._ended(memory, place)
        return library(intervals).where(intervals > 0, _double(covered) / intervals.clip(1), 1.0)

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        return counts * self.aggregation_weight(memory) / counts.shape[1]

    def after(self, counts: Tensor, memory: Memory) -> Memory:
        return self._after(library(counts).where((counts > 0).reshape(-1))[0], memory)

    def _after(self, place: Tensor, memory: Memory) -> Memory:
        """The memory, changed in its place, after a round in which the clients at these places take part."""
        intervals, covered, running = self._ended(memory, place)
        passed = memory["passed"] + 1
        _flat(memory["intervals"])[place] = intervals + 1
        _flat(memory["covered"])[place] = covered + running + 1
        _flat(memory["started"])[place] = _at(passed, place // memory["started"].shape[1])
        return memory | {"passed": passed}

    def step(self, updates: Updates, memory: Memory) -> tuple[Tensor, Memory]:
        place, counts = updates.pairs.place, updates.counts
        weights = _at(counts, place) * self.aggregation_weight(memory, place) / counts.shape[1]
        known = {name: memory[name] for name in ("passed", "intervals", "covered", "started")}
        return updates.added(_as(updates.delta, weights), updates.delta), self._after(place, known)


class LatestUpdates(Aggregation):
    """Rule that remembers y_i, the update that client i sent last, 0 before its first, and the sum of the y_j.

    A round replaces the y_i of its participants in their place, and changes the sum by as much, so that it costs its
    participants, however many clients there are. The sum is of two floats for each coordinate, the second of which has
    what rounding takes from the first; and it is computed anew when as many y_i have been replaced as there are
    clients. So it is as exact as one that is computed in every round. On a device it is.
    """

    remembers = True
    tables = ("updates",)

    def initial(self, x: Tensor, clients: int) -> Memory:
        of = library(x)
        return {
            "updates": of.zeros((len(x), clients, x.shape[1]), dtype=x.dtype, device=x.device),
            "total": of.zeros((len(x), 2, x.shape[1]), dtype=of.float64, device=x.device),
            "replaced": of.zeros(len(x), dtype=of.int64, device=x.device),
        }

    @staticmethod
    def mean(memory: Memory) -> Tensor:
        """(1/M) sum_j y_j, (replicas, D)."""
        latest = memory["updates"]
        return _as(latest, memory["total"].sum(1) / latest.shape[1])

    @staticmethod
    def replace(updates: Updates, memory: Memory) -> Memory:
        """Put the participants' updates in the place of those before."""
        table, total, replaced = (memory[name] for name in ("updates", "total", "replaced"))
        replica, client = updates.pairs.replica, updates.pairs.client
        given: tuple[Any, ...] = (table, total, replaced, replica, client, updates.delta)  # tensors, or arrays of numpy
        if not is_tensor(table):
            _replace_rows(*given)
        elif in_memory(table):
            from ..loops.latest_rows import replace_rows

            replace_rows(*(each.numpy() for each in given))
        else:
            table.index_put_((replica, client), updates.delta)
            total[:, 0] = table.sum(1, dtype=torch.float64)
        return {"updates": table, "total": total, "replaced": replaced}


@dataclass(frozen=True)
class FedVarp(LatestUpdates):
    """Mean of the latest updates with a correction: Delta = (1/M) sum_j y_j + sum_i w_i (delta_i - y_i).

    The weights are w_i = N_i / sum_j N_j. Then y_i = delta_i for the participants. The y_j on the right are those of
    the rounds before.

    A round without participants leaves x as it is, unless ``steps_when_empty``: then it steps by the mean of the y_j.
    Jhunjhunwala et al. have no such rounds; the public code of FedAU's authors steps.

    Source: Jhunjhunwala et al., "FedVARP" (2022), Algorithm 1; FedAU's baseline of that name.
    """

    steps_when_empty: bool = False

    def step(self, updates: Updates, memory: Memory) -> tuple[Tensor, Memory]:
        pairs = updates.pairs
        change = updates.delta - memory["updates"][pairs.replica, pairs.client]
        weights = _as(change, AverageParticipating().weights_at(updates.counts, pairs.place))
        delta = self.mean(memory) + updates.added(weights, change)
        return delta, self.replace(updates, memory)


@dataclass(frozen=True)
class MIFA(LatestUpdates):
    """Mean of all clients' latest updates: y_i = delta_i for the participants, then Delta = (1/M) sum_j y_j.

    Gu et al. let everybody take part in the first round; here a client that has not yet come counts with 0. In a round
    that nobody shows up for the server steps from memory, as theirs does, and as the public code of FedAU's authors
    has it; unless ``steps_when_empty``, x then stays, as under the other algorithms.

    Source: Gu et al., "Fast Federated Learning in the Presence of Arbitrary Device Unavailability" (2021), Algorithm 1;
    FedAU's baseline of that name.
    """

    steps_when_empty: bool = True

    def step(self, updates: Updates, memory: Memory) -> tuple[Tensor, Memory]:
        after = self.replace(updates, memory)
        return self.mean(after), after


@dataclass(frozen=True)
class GroupWeights(WeightedSum):
    """Weighted sum with w_i = p_g / s^_g for each client i of group g that answers.

    s^ is the selection's estimate of how many clients of each group answer in a round, this round included. The weights
    are divided by the number of answers if ``divided``.

    Without an estimate of its own it needs a selection that keeps ``estimate`` in the memory: see `VarSelection`.

    Args:
        groups: each client's group, 0, 1, ...
        group_weight: p, one number for each group.
        estimate: s^, one number > 0 for each group, where it is the same in every round.
        divided: line 14 of the paper's algorithm prints 1/|S_t|; none of its proofs has it, and with it the step
            shrinks as more clients answer.

    Source: FLICS, Algorithm 1, lines 12 and 14. Both lines print p/s^; once is meant.
    """

    groups: tuple[int, ...]
    group_weight: tuple[Fraction, ...]
    divided: bool = False
    estimate: tuple[Fraction, ...] | None = None

    def bound(self, process: Participation, clients: int) -> GroupWeights:
        check_one_each("groups", self.groups, clients)
        return self

    @kept_there
    def _groups(self) -> np.ndarray:
        return np.array(self.groups)

    @kept_there
    def _p(self) -> np.ndarray:
        return floats(self.group_weight)

    @kept_there
    def _own_estimate(self) -> np.ndarray:
        return floats(self.estimate or ())

    def weights(self, counts: Tensor, memory: Memory) -> Tensor:
        groups, p = self._groups(counts.device), self._p(counts.device)
        estimate = memory["estimate"] if self.estimate is None else self._own_estimate(counts.device)[None]
        # A group whose estimate is 0 has not been counted yet, so none of its clients answers.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = library(counts).where(estimate > 0, p / estimate, 0.0)
        weights = counts * ratio[:, groups]
        return weights / counts.sum(1)[:, None].clip(1) if self.divided else weights


def floats(values: Sequence[Fraction]) -> np.ndarray:
    """Convert ``values`` to float64."""
    return np.array([float(value) for value in values], dtype=np.float64)


def _double(values: Any) -> Any:
    return values.to(torch.float64) if is_tensor(values) else values.astype(np.float64)


def _as(like: Any, values: Any) -> Any:
    """The values in the precision of others."""
    return values.to(like.dtype) if is_tensor(values) else values.astype(like.dtype, copy=False)


def _flat(values: Any) -> Any:
    """The same numbers in one row, which is no copy."""
    return values.view(-1) if is_tensor(values) else values.reshape(-1)


def _at(values: Any, place: Any) -> Any:
    """The numbers at flat places."""
    return values.flatten().index_select(0, place) if is_tensor(values) else values.reshape(-1)[place]


def _replace_rows(
    table: np.ndarray,
    total: np.ndarray,
    replaced: np.ndarray,
    replica: np.ndarray,
    client: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Do what `loops.latest_rows.replace_rows` does, a row at a time."""
    for r, i, row in zip(replica, client, rows, strict=True):
        _add(total[r], row)
        _add(total[r], -table[r, i])
        table[r, i] = row
        replaced[r] += 1
    for r in np.flatnonzero(replaced >= table.shape[1]):
        replaced[r], total[r] = 0, 0.0
        for row in table[r]:
            _add(total[r], row)


def _add(total: np.ndarray, values: np.ndarray) -> None:
    """Add to a sum of two floats, (2, D): see `loops.latest_rows.add`."""
    before = total[0].copy()
    after = before + values
    added = after - before
    total[0] = after
    total[1] += (before - (after - added)) + (values - added)


def check_one_each(name: str, values: Sequence, clients: int) -> None:
    """Raise ``ValueError`` unless there is one value for each client."""
    if len(values) != clients:
        raise ValueError(f"{name}: there are {len(values)}, allowed is one for each of {clients} clients")
