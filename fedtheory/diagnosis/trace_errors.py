r"""Exact errors on a trace of participants, of a quadratic twin: many step sizes and traces in a moment.

The twin has the Hessian diag(h_1, ..., h_J) for all clients, each h_j in a block of coordinates. In block j, client i
has its minimiser at c_i = t_j (e_i - sum_k f_k e_k), with orthonormal e_i and the clients' fair weights f: so x* = 0,
and clients' gradients at x* are unrelated. The start is along sum_i e_i, orthogonal to all c_i, and noise has the
variance sigma^2 / J in each block. Then a client's update is, in block j,

    delta_i = -b (x_r - c_i) + s n_i,    b = 1 - (1 - eta h_j)^K,    s^2 = eta^2 sum_{k < K} (1 - eta h_j)^{2k},

and who takes part is known, so that the last model is linear in the start, in the c_i and in the noise:

    x_R = v x_0 + sum_i u_i c_i + (noise of variance n s^2 sigma^2 / J),

    E|x_R|^2 = v^2 |x_0|^2 + t_j^2 (|u - (sum_i u_i) f|^2 + d) + n s^2 sigma^2 / J,

with d from cohorts that are drawn. The numbers v, u_i, n, d come from one sweep backwards (``loops.trace_sweeps``).
Let l_r be the derivative of x_R by x_r, so that l_R = 1. A round x_{r+1} = x_r + g sum_i w_i delta_i gives

    l_r = l_{r+1} (1 - g b sum_i w_i),    u_i += g b w_i l_{r+1},    n += g^2 sum_i w_i^2 l_{r+1}^2.

Memories of latest updates add the derivative m_i by what client i sent last. In a round of MIFA, client i's update
has the derivative k_i = m_i + (g/N) l_{r+1} if it is new, and m_i becomes that if it is not. So k_i is g/N times the
sum of l over the rounds up to the client's next one, a difference of two running sums. l_r = l_{r+1} - b sum_i k_i over
the participants, u_i += b k_i, n += k_i^2. FedVarp's new update has k_i = m_i + (g/|S|) l_{r+1}, and the one before it
m_i = g (1/N - 1/|S|) l_{r+1}.

A uniform cohort of m of those in a set A has the mean weights 1/|A|, E[sum_i w_i^2] = 1/m and adds 1/m - 1/|A| to d,
times (g b l_{r+1})^2: the variance of a mean of m orthonormal vectors. Snapshots are such rounds, A = everyone. Where
m_j of the a_j that are there in group j are drawn, m = sum_j m_j, it is sum_j m_j (1 - m_j/a_j) / m^2.

Where clients answer independently, with a chance c_i and then the weight w_i, the sum of the weights is random too, and
a sweep forwards (``answering_sweep``) has the moments: what is chosen on a trace by planned rates is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.aggregation import (
    MIFA,
    AverageAll,
    AverageParticipating,
    Constant,
    FedAUWeights,
    FedVarp,
    GroupWeights,
    Known,
    SampleShares,
)
from ..algorithms.algorithm import ClientRound
from ..algorithms.cohort_rules import GroupSelection, NaiveSelection, UniformSelection, VarSelection
from ..algorithms.fast import Fast
from ..algorithms.server_step import Plain
from ..schedule import StepRule
from ..weights import FedAU

if TYPE_CHECKING:
    from ..algorithms.algorithm import Algorithm
    from ..algorithms.cohort_rules import Selection
    from ..federations import Quadratic

EIGENVALUES = 3
"""Number of eigenvalues of a twin, from the strong convexity to the smoothness, in equal ratios."""

NAMES = ("smoothness", "strong_convexity", "gradient_noise", "dissimilarity_at_optimum", "initial_distance")
"""Constants of a twin."""


@dataclass(frozen=True)
class Trace:
    """Participants of each round.

    Attributes:
        mask: (rounds, clients) bool.
    """

    mask: np.ndarray

    @cached_property
    def first(self) -> np.ndarray:
        """The first entry of each round, and the number of all, (rounds + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of participants of each round, (rounds,)."""
        return np.asarray(self.mask.sum(axis=1, dtype=np.int64))

    @cached_property
    def entries(self) -> tuple[np.ndarray, np.ndarray]:
        """The round and the client of each participation, by round."""
        rounds, client = np.nonzero(self.mask)
        return rounds, client

    @cached_property
    def again(self) -> np.ndarray:
        """The round of the client's next participation, of each; the number of rounds if there is none."""
        rounds, client = self.entries
        found = np.full(len(rounds), len(self.mask))
        order = np.lexsort((rounds, client))
        same = client[order][1:] == client[order][:-1]
        found[order[:-1][same]] = rounds[order[1:][same]]
        return found

    def estimated(self, cutoff: float) -> np.ndarray:
        """Return FedAU's omega of each participation."""
        return estimates([self], cutoff)[0]

    def planned(self, selection: VarSelection) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of the groups and the estimates of their participation, both (rounds, groups)."""
        return plans([self], selection)[0]


TOGETHER = 2**22
"""The most entries of traces whose weights are estimated together, if they are several."""


def estimates(traces: Sequence[Trace], cutoff: float) -> list[np.ndarray]:
    """Return what `Trace.estimated` does of several traces of as many rounds: they are computed together, and once."""
    kept: list[dict[float, np.ndarray]] = [each.__dict__.setdefault("_estimated", {}) for each in traces]
    missing = [(each, own) for each, own in zip(traces, kept, strict=True) if cutoff not in own]
    at_once = max(1, TOGETHER // max(each.mask.size for each in traces))
    for first in range(0, len(missing), at_once):
        some = missing[first : first + at_once]
        weights = FedAU(cutoff).batch(np.concatenate([each.mask for each, _ in some], axis=1))
        ends = np.cumsum([each.mask.shape[1] for each, _ in some])[:-1]
        for (each, own), part in zip(some, np.split(weights, ends, axis=1), strict=True):
            own[cutoff] = part[each.entries]
    return [own[cutoff] for own in kept]


def plans(traces: Sequence[Trace], selection: VarSelection) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return what `Trace.planned` does of several traces of as many rounds: they are computed together, and once."""
    kept: list[dict[VarSelection, tuple[np.ndarray, np.ndarray]]] = [
        each.__dict__.setdefault("_planned", {}) for each in traces
    ]
    if not all(selection in each for each in kept):
        there = np.stack([_by_group(each.mask, selection) for each in traces])
        rates, estimates = np.empty(there.shape), np.empty(there.shape)
        rule: Any = selection  # of arrays as well as tensors
        memory = rule.initial(np.zeros((len(traces), 1)))
        for r in range(there.shape[1]):
            rates[:, r] = rule.rates(there[:, r], r, memory)
            memory = rule.after(rates[:, r], there[:, r], r, memory)
            estimates[:, r] = memory["estimate"]
        for each, own, estimate in zip(kept, rates, estimates, strict=True):
            each[selection] = own, estimate
    return [each[selection] for each in kept]


def _by_group(mask: np.ndarray, selection: GroupSelection) -> np.ndarray:
    """How many clients of each group are there, (rounds, groups)."""
    groups = np.array(selection.groups)
    return np.asarray(mask.astype(np.int64) @ (groups[:, None] == np.arange(len(selection.group_weight))))


@dataclass(frozen=True)
class Twin:
    """The quadratic twin of a learning problem that is known by its constants: see the module.

    Args:
        smoothness, strong_convexity: the largest and the smallest eigenvalue, in units of F/x^2.
        gradient_noise: standard deviation of a stochastic gradient, over all coordinates, in F/x.
        dissimilarity_at_optimum: largest |grad F_i(x*)|, in F/x.
        initial_distance: |x_0 - x*|, in x.
        fair: (clients,), the clients' weights in the objective, of sum 1.

    Raises:
        ValueError: a constant outside its range, or a smoothness below the strong convexity.
    """

    smoothness: float
    strong_convexity: float
    gradient_noise: float
    dissimilarity_at_optimum: float
    initial_distance: float
    fair: np.ndarray

    def __post_init__(self) -> None:
        for name in NAMES:
            value, positive = getattr(self, name), name in ("smoothness", "strong_convexity")
            if not 0 <= value < np.inf or (positive and value == 0):
                raise ValueError(f"{name} = {value}: allowed is a finite number {'> 0' if positive else '>= 0'}")
        if self.smoothness < self.strong_convexity:
            raise ValueError(
                f"smoothness = {self.smoothness}: allowed is one >= strong_convexity = {self.strong_convexity}"
            )

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """h, (J,); one if the smoothness is the strong convexity."""
        many = EIGENVALUES if self.smoothness > self.strong_convexity else 1
        found = np.geomspace(self.strong_convexity, self.smoothness, many)
        found[0], found[-1] = self.strong_convexity, self.smoothness
        return found

    @cached_property
    def lengths(self) -> np.ndarray:
        """t, (J,): clients' gradients at x* are at most ``dissimilarity_at_optimum`` long, and one is that long."""
        largest = np.sqrt((1 - 2 * self.fair + (self.fair**2).sum()).max())
        return self.dissimilarity_at_optimum / (
            np.sqrt(len(self.eigenvalues)) * self.eigenvalues * max(largest, 1e-300)
        )

    def federation(self, directions: int | None = None, seed: int = 0) -> Quadratic:
        """Return the twin as a federation.

        Args:
            directions: of each block, in which client i has random signs over the root of ``directions``, which are
                orthonormal in the mean; the e_i are these and then their negatives, over the root of 2. Default: as
                many orthonormal e_i as clients.
            seed: of the signs.
        """
        from ..federations import Quadratic

        e = np.eye(len(self.fair))
        if directions is not None:
            signs = np.random.default_rng([seed, 29]).integers(0, 2, (len(self.fair), directions)) * 2 - 1
            e = np.concatenate([signs, -signs], axis=1) / np.sqrt(2 * directions)
        centred = e - self.fair @ e
        return Quadratic.common_hessian(
            offsets=np.concatenate([t * centred for t in self.lengths], axis=1),
            hessian=np.repeat(self.eigenvalues, e.shape[1]),
            gradient_noise=self.gradient_noise,
        )

    def start(self, directions: int | None = None) -> float:
        """Return x_0 of the ``federation``, the same in every coordinate."""
        width = len(self.fair) if directions is None else 2 * directions
        return float(self.initial_distance / np.sqrt(len(self.eigenvalues) * width))


@dataclass(frozen=True)
class TraceErrors:
    """Expected errors of the last model, for each step size.

    Attributes:
        squared_distance: (J, S), E|x_R - x*|^2 in each eigenvalue's block.
        loss: (S,), E[F(x_R)] - F(x*).
        worst_client: (S,), max over clients of E[F_i(x_R)] - F_i(x*).
    """

    squared_distance: np.ndarray
    loss: np.ndarray
    worst_client: np.ndarray


Sweep = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def errors_on_trace(
    twin: Twin, algorithm: Algorithm, trace: Trace, local_lr: Any = None, local_steps: Any = None
) -> TraceErrors:
    """Compute the expected errors of the last model on a trace, for each of several step sizes.

    Args:
        local_lr, local_steps: (S,), instead of the algorithm's own.

    Raises:
        ValueError: an algorithm of other rounds than plain local SGD with a mean, FedAU's or given weights, memories
            of latest updates, uniform cohorts of those who are there, whole numbers or planned rates of groups, or
            periodic snapshots.

    >>> from fedtheory.algorithms import fedavg
    >>> twin = Twin(1.0, 1.0, 0.0, 1.0, 0.0, np.array([0.5, 0.5]))
    >>> mask = np.array([[1, 0], [1, 0]], dtype=bool)  # one step of 1/2 and one more, to the first client's minimiser
    >>> errors_on_trace(twin, fedavg(local_lr="1/2"), Trace(mask)).squared_distance
    array([[0.5625]])
    """
    kind = _kind_of(algorithm)
    lr = np.atleast_1d(np.asarray(float(kind.local_lr) if local_lr is None else local_lr, dtype=float))  # type: ignore[arg-type]
    steps = np.broadcast_to(np.asarray(kind.local_steps if local_steps is None else local_steps), lr.shape)
    left = 1 - lr[None] * twin.eigenvalues[:, None]
    gain = 1 - left ** steps[None]
    spread = _noise(lr[None], left, steps[None])
    v, u, noise, drawn = (
        each.reshape(*each.shape[:-1], *gain.shape) for each in _sweep(algorithm, kind, twin, trace, gain.ravel())
    )
    with np.errstate(invalid="ignore", over="ignore"):
        fair, t = twin.fair[:, None, None], twin.lengths[:, None]
        blocks = len(twin.eigenvalues)
        q = u - u.sum(axis=0) * fair
        square = (
            v**2 * twin.initial_distance**2 / blocks
            + t**2 * ((q**2).sum(axis=0) + drawn)
            + noise * spread * twin.gradient_noise**2 / blocks
        )
        # |x - c_i|^2 - |c_i|^2 = |x|^2 - 2 x . c_i, and sum_k q_k e_k . (e_i - sum_k f_k e_k) = q_i - q . f.
        towards = q - (q * fair).sum(axis=0)
        h = twin.eigenvalues[:, None] / 2
        worst = (h * (square - 2 * t**2 * towards)).sum(axis=1).max(axis=0)
        loss = (h * square).sum(axis=0)
    return TraceErrors(*(np.where(np.isfinite(each), each, np.inf) for each in (square, loss, worst)))


def _noise(lr: np.ndarray, left: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """s^2 = eta^2 sum_{k < K} (1 - eta h)^{2k}; the sum is K where 1 - eta h is 1 or -1."""
    square = left**2
    near = np.abs(1 - square) < 1e-9
    ratio = (1 - square**steps) / np.where(near, 1, 1 - square)
    return lr**2 * np.where(near, steps, ratio)


def _kind_of(algorithm: Algorithm) -> ClientRound:
    """The kind of round of whoever shows up; ``ValueError`` if the algorithm has others than this module knows."""
    first, kind = algorithm.kinds
    known = (AverageParticipating, AverageAll, Constant, Known, SampleShares, FedAUWeights, MIFA, FedVarp, GroupWeights)
    good = (
        isinstance(kind, ClientRound)
        and (kind == first or (isinstance(algorithm, Fast) and algorithm.periodic and not algorithm.replacement))
        and kind.trains_alike
        and kind.by_sgd
        and kind.proximal == 0
        and not isinstance(kind.local_lr, StepRule)
        and isinstance(kind.server, Plain)
        and not isinstance(kind.server.global_lr, StepRule)
        and isinstance(kind.aggregation, known)
    )
    if good:
        good = _selects(kind.selection, kind.aggregation)  # type: ignore[union-attr]
    if not good:
        raise ValueError(
            f"algorithm = {algorithm}: allowed is plain local SGD with a plain server and fixed steps; with a mean, "
            "with weights that are given or FedAU's, with latest updates, with a whole budget of a mean, with planned "
            "rates of groups, or snapshots with a period"
        )
    assert isinstance(kind, ClientRound)
    return kind


def _selects(selection: Selection | None, rule: Any) -> bool:
    """Whether the cohorts of this rule are known here."""
    if selection is None:
        return not isinstance(rule, GroupWeights)
    if isinstance(selection, VarSelection):
        planned = selection.counts == "planned" and selection.answers == "independent"
        own = isinstance(rule, GroupWeights) and rule.estimate is None and not rule.divided
        return planned and own and (rule.groups, rule.group_weight) == (selection.groups, selection.group_weight)
    if not isinstance(rule, AverageParticipating) or len(selection.budget) != 1:
        return False
    (budget,) = selection.budget
    if isinstance(selection, NaiveSelection):
        return selection.answers == "drawn" and all((p * budget).denominator == 1 for p in selection.group_weight)
    return isinstance(selection, UniformSelection) and budget.denominator == 1


def _sweep(algorithm: Algorithm, kind: ClientRound, twin: Twin, trace: Trace, gain: np.ndarray) -> Sweep:
    from ..loops.trace_sweeps import answering_sweep, latest_sweep, weighted_sweep

    rule, clients = kind.aggregation, trace.mask.shape[1]
    global_lr = float(kind.server.global_lr)  # type: ignore[arg-type]
    client = trace.entries[1]
    if isinstance(rule, MIFA | FedVarp):
        found: Sweep = latest_sweep(
            trace.first,
            client,
            trace.again,
            isinstance(rule, FedVarp),
            rule.steps_when_empty,
            gain,
            global_lr,
            clients,
        )
        return found
    if isinstance(kind.selection, VarSelection):
        mean, variance = _answers(kind.selection, trace)
        return answering_sweep(trace.first, client, mean, variance, twin.fair, gain, global_lr)  # type: ignore[no-any-return]
    if isinstance(kind.selection, NaiveSelection):
        weight, squares, spread = _drawn_by_group(kind.selection, trace)
        nobody = np.zeros(len(trace.sizes))
        return weighted_sweep(trace.first, client, weight, nobody, squares, spread, gain, global_lr, clients)  # type: ignore[no-any-return]
    weight = _weights(rule, trace)
    squares, spread, everyone = _sums(weight**2, trace), np.zeros(len(trace.sizes)), np.zeros(len(trace.sizes))
    first = trace.first
    if kind.selection is not None:
        taken = np.minimum(float(kind.selection.budget[0]), trace.sizes)
        inverse = np.divide(1.0, taken, out=np.zeros(len(taken)), where=taken > 0)
        spread = inverse - np.divide(1.0, trace.sizes, out=np.zeros(len(taken)), where=taken > 0)
        squares = inverse
    if isinstance(algorithm, Fast):
        snapshot = _snapshots(algorithm, len(trace.sizes))
        everyone[snapshot], squares[snapshot] = 1 / clients, 1 / algorithm.cohort
        spread[snapshot] = 1 / algorithm.cohort - 1 / clients
        kept = ~snapshot[trace.entries[0]]
        client, weight = client[kept], weight[kept]
        first = np.concatenate([[0], np.cumsum(np.where(snapshot, 0, trace.sizes))])
    return weighted_sweep(first, client, weight, everyone, squares, spread, gain, global_lr, clients)  # type: ignore[no-any-return]


def _answers(selection: VarSelection, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of each participation's weight, w_i with the chance c_i and else 0."""
    rates, estimates = trace.planned(selection)
    rounds, client = trace.entries
    group = np.array(selection.groups)[client]
    chance = rates[rounds, group] / _by_group(trace.mask, selection)[rounds, group]
    estimate = estimates[rounds, group]
    p = np.array([float(each) for each in selection.group_weight])[group]
    weight = np.divide(p, estimate, out=np.zeros(len(p)), where=estimate > 0)
    return weight * chance, weight**2 * chance * (1 - chance)


def _taken(selection: NaiveSelection, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """How many of each group are drawn, and how many are there, both (rounds, groups)."""
    there = _by_group(trace.mask, selection)
    wanted = np.array([float(p * selection.budget[0]) for p in selection.group_weight])
    return np.minimum(wanted, there), there


def _drawn_by_group(selection: NaiveSelection, trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean weight of each participation; each round's sum of squared weights, and the spread of the mean."""
    taken, there = _taken(selection, trace)
    rounds, client = trace.entries
    group = np.array(selection.groups)[client]
    number = np.maximum(taken.sum(axis=1), 1)
    share = np.divide(taken, there, out=np.zeros(taken.shape), where=there > 0)
    spread = (taken * (1 - share)).sum(axis=1) / number**2
    return share[rounds, group] / number[rounds], (taken.sum(axis=1) > 0) / number, spread


def _snapshots(algorithm: Fast, rounds: int) -> np.ndarray:
    """Which rounds are snapshots, (rounds,) bool."""
    assert algorithm.snapshot_period is not None  # `_kind_of` refuses others
    return np.asarray(np.arange(rounds) % algorithm.snapshot_period == 0)


def _weights(rule: Any, trace: Trace) -> np.ndarray:
    """The mean weight of each participation."""
    (rounds, client), clients = trace.entries, trace.mask.shape[1]
    if isinstance(rule, AverageAll):
        return np.full(len(client), 1 / clients)
    if isinstance(rule, Constant):
        return np.array([float(w) for w in rule.aggregation_weight])[client] / clients
    if isinstance(rule, Known):
        return 1 / (np.array([float(p) for p in rule.participation_probability or ()])[client] * clients)
    if isinstance(rule, FedAUWeights):
        return trace.estimated(rule.cutoff) / clients
    if isinstance(rule, SampleShares):
        held = np.array([float(n) for n in rule.samples or ()])[client]
        return np.asarray(held / _sums(held, trace)[rounds])
    return np.asarray(1 / trace.sizes[rounds])


def _sums(values: np.ndarray, trace: Trace) -> np.ndarray:
    """The sum over each round's participations, (rounds,)."""
    return np.bincount(trace.entries[0], values, minlength=len(trace.sizes))


def uploads(algorithm: Algorithm, trace: Trace) -> np.ndarray:
    """Return how many updates are sent in each round of a trace, in the mean."""
    kind = _kind_of(algorithm)
    sizes = trace.sizes
    found = sizes.astype(float)
    if isinstance(kind.selection, VarSelection):
        return np.asarray(trace.planned(kind.selection)[0].sum(axis=1))
    if isinstance(kind.selection, NaiveSelection):
        return np.asarray(_taken(kind.selection, trace)[0].sum(axis=1))
    if kind.selection is not None:
        found = np.minimum(found, float(kind.selection.budget[0]))
    if isinstance(algorithm, Fast):
        found = np.where(_snapshots(algorithm, len(sizes)), algorithm.cohort, found)
    return found


def fair_weights(clients: int, given: Sequence[float] = ()) -> np.ndarray:
    """Return the clients' weights in the objective: those given over their sum, else 1/N each.

    Raises:
        ValueError: not one for each client, or not finite numbers >= 0 with a sum > 0.
    """
    found = np.ones(clients) if not len(given) else np.asarray(given, dtype=float)
    if found.shape != (clients,) or not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise ValueError(f"fair: allowed is one finite number >= 0 for each of {clients} clients, not all 0")
    return np.asarray(found / found.sum())


def twin_of(constants: Mapping[str, float], fair: np.ndarray) -> Twin:
    """Return the twin with these constants.

    Raises:
        ValueError: one is missing, or out of its range.
    """
    missing = [name for name in NAMES if name not in constants]
    if missing:
        raise ValueError(f"constants: {missing[0]} is missing; allowed are {', '.join(NAMES)}")
    return Twin(**{name: float(constants[name]) for name in NAMES}, fair=fair)
