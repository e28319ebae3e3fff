"""Rounds of built-in algorithms as linear maps of the lifted state (see ``linear_rounds``), read from their steps.

Let delta_i = -(I - A_i) y + b_i + n_i (see ``round_maps``). A round of an algorithm's step adds known multiples of the
delta_i and of what is remembered to the model's error y and to what is remembered, with numbers of who takes part as
factors (``open_rounds``). The remembered updates y_i (FedVarp, MIFA) and the server's memory v (momentum, amplified
steps) are there only if the algorithm has them.

Take a selection with fixed rates, where everybody is available and answers independently. It is ``Constant`` under
``Bernoulli``: the probabilities r_j / a_j, the weights M p_j / s^_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algorithms.aggregation import AverageParticipating, FedAUWeights, GivenWeights, GroupWeights, SampleShares
from ..algorithms.algorithm import ClientRound
from ..algorithms.built_in_steps import step_of
from ..algorithms.server_step import Adam, Amplified
from .linear_rounds import LinearRound, Noise, NotClosed
from .open_rounds import ALL, ONE, SOMEBODY, Part, parts_of
from .participation_laws import FAMILIES, PRESENT, Draws
from .step_trace import TRAINING

if TYPE_CHECKING:
    from .round_maps import LocalMaps


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


NOT_CLOSED: dict[type, str] = {
    GivenWeights: "weights that are given round by round differ, so there is no limit",
    FedAUWeights: "weights estimated from participation that is drawn depend on all that the iterate has been through",
    GroupWeights: "weights that follow the rates so far differ from round to round",
    Amplified: "its step differs between the rounds of a period, so there is no limit",
    Adam: "its step divides by a root of the updates' squares",
}
"""Why no linear recursion follows these aggregations and servers, unless what they depend on is known."""


def parts(kind: ClientRound, clients: int) -> tuple[tuple[Part, ...], list[Fraction]]:
    """Return what a round of this kind adds to the state, and what multiplies the parts that are ``weighed``.

    Raises:
        NotClosed: the round depends on earlier ones in a way that no linear recursion follows.
    """
    by_samples = isinstance(kind.aggregation, SampleShares)  # whose draws have shares by samples
    rule = AverageParticipating() if by_samples else kind.aggregation
    own = step_of(rule, kind.server, clients)
    for name, each in (("aggregation", rule), ("server", kind.server)):
        why = NOT_CLOSED.get(type(each), "" if own else "no step is known of it here")
        if why:
            raise NotClosed(
                f"{name} = {type(each).__name__}: {why}, so moments do not close; allowed are the aggregations "
                "AverageParticipating, ObjectiveShares, SampleShares, AverageAll, Known, Constant, FedVarp and MIFA, "
                "and the servers Plain and Momentum"
            )
    assert own is not None
    step, memory, numbers = own
    values = next((each for each in numbers.values() if isinstance(each, list)), [])
    plain = {name: each for name, each in numbers.items() if not isinstance(each, list)}
    plain |= {"global_lr": Fraction(kind.server.global_lr)}  # type: ignore[arg-type]
    plain |= {name: () for name, each in numbers.items() if isinstance(each, list)}
    return parts_of(step, tuple(memory.items()), tuple(plain.items()), clients), values


class Weighing(NamedTuple):
    """Weights w_i = u_i c_i with which x moves by the delta_i: the family of u, and c, (clients,) Fractions."""

    family: str
    coefficients: list[Fraction]


def weighing(kind: ClientRound, clients: int) -> Weighing:
    """Return the weights of a round's updates, with the server's step size.

    Raises:
        NotClosed: as ``parts``.
    """
    found, values = parts(kind, clients)
    (own,) = (each for each in found if (each.to[0], each.vector[0]) == ("x", TRAINING))
    each = values if own.factor.weighed else [Fraction(1)] * clients
    return Weighing(own.factor.family, [own.coefficient * value for value in each])


def client_round(kind: ClientRound, layout: Layout, local: LocalMaps, draws: Draws) -> LinearRound:
    """Return a round in which ``participation_laws`` says who trains, in the arithmetic of ``local``.

    Its random numbers are 1 or e, then the families' numbers of the clients that ever take part.
    """
    dtype, size, clients = local.maps.dtype, layout.size, len(local.maps)
    here = np.flatnonzero(draws.first(PRESENT) > 0).tolist()
    of_round, values = parts(kind, clients)
    used = {part.factor.family for part in of_round}
    alone = [family for family in (ONE, SOMEBODY) if family in used] or [SOMEBODY]
    families = [family for family in FAMILIES if family in used]
    place = {(family, ALL): a for a, family in enumerate(alone)}
    place |= {key: len(alone) + a for a, key in enumerate((family, i) for family in families for i in here)}
    increments = _zeros(dtype, len(place), *local.blocks, size, size)
    changes, one = {i: _update(layout, local, i) for i in here}, _identity(dtype, layout.dimension)
    loads: dict[int, dict[int, np.ndarray]] = {i: {} for i in here}
    for part, i in [(each, i) for each in of_round for i in (range(clients) if each.of_client else [ALL])]:
        a = place.get((part.factor.family, i if part.factor.family in FAMILIES else ALL))
        target, trained = _place(layout, part.to[0], i), part.vector[0] == TRAINING
        source = None if trained else _place(layout, part.vector[0], i)
        if a is None or target is None or (trained and i not in changes) or not (trained or source):
            continue
        number: Any = part.coefficient * values[i] if part.factor.weighed else part.coefficient
        number = number if dtype.hasobject else float(number)
        if source is not None:
            increments[a, ..., target, source] = increments[a, ..., target, source] + number * one
            continue
        change = changes[i] if number == 1 else number * changes[i]
        increments[a, ..., target, :] = increments[a, ..., target, :] + change
        load = loads[i].setdefault(a, _zeros(dtype, size, layout.dimension))
        load[target] = load[target] + number * one
    noises = [Noise(local.noise[i], list(own), np.array(list(own.values()))) for i, own in loads.items() if own]
    if local.common_noise and noises:
        factors = [factor for noise in noises for factor in noise.factors]
        noises = [Noise(local.noise[0], factors, np.concatenate([noise.loads for noise in noises]))]
    return LinearRound(increments, *_moments(draws, alone, families, here, dtype), tuple(noises))


def _place(layout: Layout, name: str, client: int) -> slice | None:
    """The place of x, of the server's memory, or of the client's update, if that is remembered."""
    if name == "x":
        return layout.of_model
    if name != "updates":
        return layout.of_server
    return layout.of_update(client) if client in layout.remembered else None


def _moments(
    draws: Draws, alone: list[str], families: list[str], clients: list[int], dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """E[u_a] and E[u_a u_b]; 1, and e, are 1 wherever another number is not 0."""
    somebody: Any = draws.somebody()
    certain = np.array([somebody * 0 + 1 if family == ONE else somebody for family in alone])
    first = np.concatenate([certain, *(draws.first(family)[clients] for family in families)])
    second = np.empty((len(first), len(first)), dtype=first.dtype)
    for a in reversed(range(len(alone))):
        second[a], second[:, a] = first, first
    if clients and families:
        own = [[draws.second(f, g)[np.ix_(clients, clients)] for g in families] for f in families]
        second[len(alone) :, len(alone) :] = np.block(own) if len(families) > 1 else own[0][0]
    return _of_kind(first, dtype), _of_kind(second, dtype)


def server_round(layout: Layout, local: LocalMaps) -> LinearRound:
    """Return a round of the server's own, as of a single client with certain participation; all that is remembered
    stays."""
    kind = local.maps.dtype
    increment = _zeros(kind, 1, *local.blocks, layout.size, layout.size)
    increment[0, ..., layout.of_model, :] = _update(layout, local, 0)
    certain = np.ones(1, dtype=int).astype(kind)
    noise = Noise(local.noise[0], [0], _unit(kind, layout, layout.of_model)[None])
    return LinearRound(increment, certain, certain[None], (noise,))


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
