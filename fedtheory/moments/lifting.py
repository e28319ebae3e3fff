"""Rounds of the algorithms' parts as linear maps of the lifted state (see ``linear_rounds``).

Let delta_i = -(I - A_i) y + b_i + n_i (see ``rounds``). Let 1_i = 1 if client i takes part, else 0. Let e = 1 if
somebody takes part, or if the aggregation steps in empty rounds too, else 0. An aggregation and a server do

    Delta = (1/M) sum_j y_j + sum_i u_i c_i (delta_i - y_i),    y_i' = y_i + 1_i (delta_i - y_i),
    y' = y + e (a Delta + b v),                                 v' = v + e (c Delta + d v).

The remembered updates y_i (FedVarp, MIFA) and the server's memory v (momentum) are there only if the algorithm has
them. Otherwise they are 0. The aggregations differ in the family of the u_i and in the fixed numbers c_i, the servers
in a, b, c, d:

    plain: a = global_lr;    momentum: a = global_lr, b = global_lr momentum, c = 1, d = momentum - 1;
    amplified: a = c = 1, and in the last round of a period a = global_lr, b = global_lr - 1, d = -1.

Take a selection with fixed rates, where everybody is available and answers independently. It is ``Constant`` under
``Bernoulli``: the probabilities r_j / a_j, the weights M p_j / s^_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algorithms.aggregation import (
    MIFA,
    Aggregation,
    AverageAll,
    AverageParticipating,
    Constant,
    FedAUWeights,
    FedVarp,
    GivenWeights,
    GroupWeights,
    Known,
    LatestUpdates,
    ObjectiveShares,
    SampleShares,
)
from ..algorithms.algorithm import ClientRound
from ..algorithms.server_step import Adam, Amplified, Momentum, Plain, Server
from ..claims.balls import matrix_product
from .linear_rounds import LinearRound, Noise
from .participation_laws import COUNT, PRESENT, SHARE, Draws

if TYPE_CHECKING:
    from .round_maps import LocalMaps


class NotClosed(ValueError):
    """Error of a round whose state's first and second moments do not determine those of the next one."""


@dataclass(frozen=True)
class Layout:
    """The places of the parts of the state: the model's error, the server's memory, the remembered updates, and 1.

    Attributes:
        dimension: D.
        server: whether the server remembers a vector.
        remembered: the clients whose updates are remembered; those that never take part are not: theirs stay 0.
    """

    dimension: int
    server: bool = False
    remembered: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of entries of the state, with the last 1."""
        return self.dimension * (1 + self.server + len(self.remembered)) + 1

    @property
    def of_model(self) -> slice:
        """The place of the model's error."""
        return slice(0, self.dimension)

    @property
    def of_start(self) -> list[slice]:
        """The places of the entries that are x_0 - x* before round 0."""
        return [self.of_model]

    @property
    def of_server(self) -> slice:
        """The place of the server's memory, empty if it has none."""
        return slice(self.dimension, self.dimension * (1 + self.server))

    def of_update(self, client: int) -> slice:
        """Return the place of a client's remembered update."""
        place = 1 + self.server + self.remembered.index(client)
        return slice(place * self.dimension, (place + 1) * self.dimension)


class Weighing(NamedTuple):
    """Weights w_i = u_i c_i: the family of u, and c, (clients,) Fractions."""

    family: str
    coefficients: list[Fraction]


def weighing(aggregation: Aggregation, clients: int) -> Weighing:
    """Return the weights of a round's updates.

    Raises:
        NotClosed: the weights depend on earlier rounds in a way that no linear recursion follows.
    """
    M = clients
    match aggregation:
        case AverageParticipating() | FedVarp() | SampleShares():  # whose draws have shares by samples
            return Weighing(SHARE, [Fraction(1)] * M)
        case ObjectiveShares(p):
            return Weighing(SHARE, [M * p_i for p_i in p])
        case AverageAll():
            return Weighing(COUNT, [Fraction(1, M)] * M)
        case MIFA():
            return Weighing(PRESENT, [Fraction(1, M)] * M)
        case Known(tuple() as p):
            return Weighing(COUNT, [1 / (M * Fraction(p_i)) for p_i in p])
        case Constant(omega):
            return Weighing(COUNT, [Fraction(w) / M for w in omega])
        case GivenWeights():
            why = "weights that are given round by round differ, so there is no limit; allowed are moments of rounds"
        case FedAUWeights():
            why = "weights estimated from participation that is drawn depend on all that the iterate has been through"
        case GroupWeights():
            why = "weights that follow the rates so far differ from round to round"
        case _:
            why = "its weights are not known here"
    raise NotClosed(
        f"aggregation = {type(aggregation).__name__}: {why}, so moments do not close; allowed are "
        "AverageParticipating, ObjectiveShares, SampleShares, AverageAll, Known, Constant, FedVarp and MIFA"
    )


@dataclass(frozen=True)
class Amplifying:
    """The step of the server ``Amplified`` in one round: its period's last one, or another."""

    global_lr: Fraction
    last: bool


class ServerStep(NamedTuple):
    """Numbers a, b, c, d of a server's step y' = y + e (a Delta + b v), v' = v + e (c Delta + d v), in Fractions."""

    update_to_model: Fraction
    memory_to_model: Fraction = Fraction(0)
    update_to_memory: Fraction = Fraction(0)
    memory_change: Fraction = Fraction(0)


GATHERING = ServerStep(Fraction(1), update_to_memory=Fraction(1))
"""The server's step in all rounds of a period but its last one: v is the way gone in it."""


def server_step(server: Server | Amplifying) -> ServerStep:
    """Return the numbers of a server's step.

    Raises:
        NotClosed: the server's step is not linear in its state, or differs between rounds.
    """
    match server:
        case Plain(global_lr):
            return ServerStep(global_lr)
        case Momentum(global_lr, momentum):
            return ServerStep(global_lr, global_lr * momentum, Fraction(1), momentum - 1)
        case Amplifying(global_lr, last):
            return ServerStep(global_lr, global_lr - 1, Fraction(0), Fraction(-1)) if last else GATHERING
        case Amplified():
            why = (
                "differs between the rounds of a period, so there is no limit; allowed are the moments of given rounds"
            )
        case Adam():
            why = "divides by a root of the updates' squares, so moments do not close; allowed are Plain and Momentum"
        case _:
            why = "is not known here; allowed are Plain and Momentum"
    raise NotClosed(f"server = {type(server).__name__}: its step {why}")


def client_round(kind: ClientRound, layout: Layout, local: LocalMaps, draws: Draws) -> LinearRound:
    """Return a round in which ``participation_laws`` says who trains, in the arithmetic of ``local``.

    Its random numbers are e, then the u_i of the clients that ever take part, then their 1_i if they are others.
    """
    return _Builder(kind, layout, local, draws).round()


def server_round(layout: Layout, local: LocalMaps) -> LinearRound:
    """Return a round of the server's own, as of a single client with certain participation; all that is remembered
    stays."""
    kind = local.maps.dtype
    increment = _zeros(kind, 1, *local.blocks, layout.size, layout.size)
    increment[0, ..., layout.of_model, :] = _update(layout, local, 0)
    certain = np.ones(1, dtype=int).astype(kind)
    noise = Noise(local.noise[0], [0], _unit(kind, layout, layout.of_model)[None])
    return LinearRound(increment, certain, certain[None], (noise,))


@dataclass(frozen=True)
class _Builder:
    kind: ClientRound
    layout: Layout
    local: LocalMaps
    draws: Draws

    def round(self) -> LinearRound:
        family, coefficients = weighing(self.kind.aggregation, len(self.local.maps))
        here = np.flatnonzero(self.draws.first(PRESENT) > 0).tolist()
        families = [family] + ([PRESENT] if self.remembers and family != PRESENT else [])
        shape = (*self.local.blocks, self.layout.size, self.layout.size)
        increments = _zeros(self.dtype, 1 + len(families) * len(here), *shape)
        increments[0] = self._if_anybody()
        noises: list[Noise] = []
        known: dict[tuple[int, int], np.ndarray] = {}  # clients' weights are often equal
        for a, i in enumerate(here, start=1):
            weight = coefficients[i]
            place = weight.numerator, weight.denominator
            if place not in known:
                known[place] = self._to_server(weight)
            loads = {a: known[place]}
            change = _update(self.layout, self.local, i)
            if self.remembers:
                own = self._part(self.layout.of_update(i))
                change = change - own.T
                present = a + (len(families) - 1) * len(here)
                loads[present] = loads.get(present, 0 * own) + own
            for factor, load in loads.items():
                increments[factor] = matrix_product(load, change)
            noises.append(Noise(self.local.noise[i], list(loads), np.array(list(loads.values()))))
        return LinearRound(increments, *self._moments(families, here), self._sources(noises))

    def _sources(self, noises: list[Noise]) -> tuple[Noise, ...]:
        """The clients' noises, or the one that they have in common."""
        if not (self.local.common_noise and noises):
            return tuple(noises)
        factors = [factor for noise in noises for factor in noise.factors]
        return (Noise(self.local.noise[0], factors, np.concatenate([noise.loads for noise in noises])),)

    @property
    def dtype(self) -> np.dtype:
        return self.local.maps.dtype

    @property
    def remembers(self) -> bool:
        return isinstance(self.kind.aggregation, LatestUpdates)

    @cached_property
    def _step(self) -> ServerStep:
        """The server's; floats are, among exact numbers, the dyadic ones that they are."""
        step = server_step(self.kind.server)
        exact = self.dtype == object
        return ServerStep(*(Fraction(each) if exact and isinstance(each, float) else each for each in step))

    def _number(self, value: Fraction) -> object:
        return value if self.dtype == object else float(value)

    def _part(self, part: slice) -> np.ndarray:
        """The embedding of one part in the state, (size, D); its transpose is the map to that part."""
        return _unit(self.dtype, self.layout, part)

    def _to_server(self, weight: Fraction) -> np.ndarray:
        """Return the map of an update of this weight to the state, (size, D)."""
        step = self._step
        load = self._number(step.update_to_model * weight) * self._part(self.layout.of_model)
        if step.update_to_memory != 0:
            load = load + self._number(step.update_to_memory * weight) * self._part(self.layout.of_server)
        return load

    def _if_anybody(self) -> np.ndarray:
        """Return the increment that comes whenever the server steps, (size, size)."""
        layout, step = self.layout, self._step
        increment = _zeros(self.dtype, layout.size, layout.size)
        if self.remembers and layout.remembered:
            updates = np.sum([self._part(layout.of_update(i)) for i in layout.remembered], axis=0)
            increment = self._to_server(Fraction(1, len(self.local.maps))) @ updates.T
        if (step.memory_to_model, step.memory_change) != (0, 0):
            memory = self._part(layout.of_server)
            target = self._number(step.memory_to_model) * self._part(layout.of_model)
            increment = increment + (target + self._number(step.memory_change) * memory) @ memory.T
        return increment

    def _moments(self, families: list[str], clients: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """E[u_a] and E[u_a u_b]; u_0 = e is 1 wherever another number is not 0."""
        somebody: Any = self.draws.somebody()
        steps = np.array([somebody * 0 + 1 if self.kind.aggregation.steps_when_empty else somebody])
        first = np.concatenate([steps, *(self.draws.first(family)[clients] for family in families)])
        blocks = [[self.draws.second(f, g)[np.ix_(clients, clients)] for g in families] for f in families]
        second = np.empty((len(first), len(first)), dtype=first.dtype)
        second[0], second[:, 0] = first, first
        if clients:
            second[1:, 1:] = np.block(blocks) if len(families) > 1 else blocks[0][0]
        return _of_kind(first, self.dtype), _of_kind(second, self.dtype)


def _update(layout: Layout, local: LocalMaps, client: int) -> np.ndarray:
    """The map from the state to delta_i without its noise, (*blocks, D, size)."""
    rows = _zeros(local.maps.dtype, *local.blocks, layout.dimension, layout.size)
    rows[..., layout.of_model], rows[..., -1] = -local.shares[client], local.maps[client, ..., :-1, -1]
    return rows


def _unit(kind: np.dtype, layout: Layout, part: slice) -> np.ndarray:
    return _identity(kind, layout.size)[:, part]


@cache
def _identity(kind: np.dtype, size: int) -> np.ndarray:
    identity = np.eye(size, dtype=int).astype(kind)
    identity.flags.writeable = False
    return identity


def _of_kind(numbers: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Numbers as floats, or exactly; floats among exact ones are the dyadic numbers that they are."""
    if kind.hasobject and any(isinstance(number, float) for number in numbers.ravel()[:1]):
        return np.vectorize(Fraction, otypes=[object])(numbers)
    return numbers.astype(kind)


def _zeros(kind: np.dtype, *shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=int).astype(kind)
