"""Rounds of an algorithm of one's own as linear maps of the lifted state, where its step is affine in state and noise.

The step is called once for each cohort that may come, and for each way in which its draws may, on forms that are affine
in the state before the round and in the round's noise (``affine_numbers``). What it returns is the map itself,
z' = T_S z + sum_s L_Ss n_s for the cohort S; a round is these maps with u_S = 1 if the cohort, and the draws, are S, so
that E[u_S u_T] is the probability of S on the diagonal and 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.algorithm import ClientRound, OwnRound
from ..algorithms.custom_algorithm import (
    CLIENTS,
    MODEL,
    Outcomes,
    Round,
    StepError,
    check_each,
    checked_chance,
    checked_size,
    checked_weight,
    numbers_at,
    taken,
)
from ..extras import torch
from ..federations.elimination import solve_exactly
from ..federations.federation import COMMON
from ..federations.quadratic import Quadratic
from ..own import place
from ..participation import Participation
from ..quantities import check_values
from ..rationals import checked_count
from .affine_numbers import Affine, NotLinear, Space, exact_value
from .cohorts import CrowdLaw, Law, law_of_crowd
from .lifting import NotClosed
from .linear_rounds import LinearRound, Noise


@dataclass(frozen=True)
class OwnLayout:
    """The places of the parts of the state: the model's error, what is remembered, and 1.

    What begins as the model is kept as an error too.

    Attributes:
        dimension, clients: D, M.
        memory: (name, kind) as the algorithm has it.
    """

    dimension: int
    clients: int
    memory: tuple[tuple[str, str], ...]

    def _widths(self) -> list[int]:
        return [self.dimension, *(self.dimension * (self.clients if kind == CLIENTS else 1) for _, kind in self.memory)]

    @property
    def size(self) -> int:
        """The number of entries of the state, with the last 1."""
        return sum(self._widths()) + 1

    @property
    def of_model(self) -> slice:
        """The place of the model's error."""
        return slice(0, self.dimension)

    @property
    def of_memory(self) -> dict[str, slice]:
        """The places of what is remembered, by name."""
        ends = np.cumsum(self._widths()).tolist()
        pairs = zip(self.memory, ends[:-1], ends[1:], strict=True)
        return {name: slice(begin, end) for (name, _), begin, end in pairs}

    @property
    def of_start(self) -> list[slice]:
        """The places of the entries that are x_0 - x* before round 0."""
        return [self.of_model, *(self.of_memory[name] for name, kind in self.memory if kind == MODEL)]


LocalMapsOf = Callable[[ClientRound], Any]
"""The clients' maps (``round_maps.LocalMaps``) of a way of training, in Fractions."""

Trainings = Callable[[Quadratic], LocalMapsOf]


MOST_WAYS = 4096
"""The most cohorts and ways of a round's draws that are told apart."""


class AffineRound(Round):
    """A round of one replica with given counts and draws."""

    def __init__(
        self, fed: Quadratic, space: Space, counts: tuple[int, ...], maps: LocalMapsOf, outcomes: Outcomes
    ) -> None:
        self.fed, self.space, self.counts, self.maps, self.outcomes = fed, space, counts, maps, outcomes
        self.copies = space.crowd or (1,) * len(counts)
        self.clients = sum(self.copies)
        total = sum(n * m for n, m in zip(counts, self.copies, strict=True))
        column = [[[Fraction(n)] for n in counts]]
        self.count = space.constant(column)
        self.share = self.count * Fraction(1, max(1, total))
        self.present = space.constant([[[Fraction(int(n > 0))] for n in counts]])
        self.somebody = space.constant([[Fraction(int(total > 0))]])
        self.noises: list[tuple[np.ndarray, slice]] = []

    def each(self, values: Sequence[Any]) -> Affine:
        check_each(values, self.clients)
        self._of_each("round.each")
        return self.space.constant(np.array([[[_number(value)] for value in values]], dtype=object))

    def _of_each(self, operation: str) -> None:
        """Refuse what tells the clients of a crowd apart."""
        if self.space.crowd:
            raise self.space.constant([Fraction(0)])._refused(f"{operation}, of each client of a crowd")

    def train(self, start: Affine, local_lr: Any, local_steps: int = 1, proximal: Any = 0) -> Affine:
        check_values({"local_steps": local_steps})
        sizes = tuple(map(_number, local_lr)) if isinstance(local_lr, tuple) else _number(local_lr)
        found = self.maps(ClientRound(int(local_steps), sizes, proximal=_number(proximal)))
        return self._of_clients(start, -found.shares, found.maps[:, :-1, -1], found.noise)

    def gradient(self, x: Affine) -> Affine:
        fed = self.fed
        minimisers = fed.exact_centres - fed.exact_optimum
        offsets = np.stack([-h @ m for h, m in zip(fed.exact_hessians, minimisers, strict=True)])
        level = fed.exact_gradient_noise**2 / fed.dimension
        return self._of_clients(x, fed.exact_hessians, offsets, np.stack([level * _identity(fed)] * fed.clients))

    def server_gradient(self, x: Affine) -> Affine:
        fed, level = self.fed, self.fed.exact_server_noise**2 / self.fed.dimension
        noise = self._noise(level * _identity(fed)) if level else None
        errors = self._errors(x)[0, 0]
        return self._of_one(errors, fed.exact_hessian, None, noise)._arranged(lambda forms: forms[None])

    def proximal(self, x: Affine, weight: Any) -> Affine:
        fed, rho = self.fed, _number(weight)
        checked_weight(rho)
        minimisers = fed.exact_centres - fed.exact_optimum
        inverses = [solve_exactly(h + rho * _identity(fed), _identity(fed)) for h in fed.exact_hessians]
        slopes = np.stack([-inverse @ h for inverse, h in zip(inverses, fed.exact_hessians, strict=True)])
        offsets = np.stack([-slope @ m for slope, m in zip(slopes, minimisers, strict=True)])
        return self._of_clients(x, slopes, offsets, np.zeros((fed.clients, 1), dtype=int))

    def draw(self, probability: Any, clients: bool = False) -> Affine:
        chance = checked_chance(_number(probability))
        if clients:
            self._of_each("round.draw")
        found = self.outcomes.draws(chance, [n > 0 for n in self.counts] if clients else [True])
        values = np.array(found, dtype=object) * Fraction(1)
        return self.space.constant(values[None, :, None] if clients else values[None])

    def permutation(self, number: int) -> list[Affine]:
        self._of_each("round.permutation")
        items = np.arange(checked_count("number", number))
        places = ((items == item).astype(int).astype(object) * Fraction(1) for item in self.outcomes.order(number))
        return [self.space.constant(place[None, :, None]) for place in places]

    def noise(self, size: Any, clients: bool = False) -> Affine:
        level = checked_size(_number(size)) ** 2 / self.fed.dimension
        none, identity = self.space.constant([Fraction(0)] * self.fed.dimension), _identity(self.fed)
        drawn = []
        for count, many in zip(self.counts, self.copies, strict=True) if clients else [(1, 1)]:
            columns = self._noise(level * identity / many) if count else None
            drawn.append(none if columns is None else self._of_one(none, 0 * identity, None, columns))
        return _stacked(self.space, drawn) if clients else _stacked(self.space, drawn)[:, 0]

    def _of_clients(self, x: Affine, slopes: np.ndarray, offsets: np.ndarray, noise: np.ndarray) -> Affine:
        """slope_i (x - x*) + offset_i + noise of each participant, (1, clients, D); 0 of others."""
        errors, here = self._errors(x), [i for i, n in enumerate(self.counts) if n > 0]
        common = self.fed.noise == COMMON
        columns: dict[int, slice | None] = {}
        for i in here:  # of clients that one entry stands for, the mean of their noises
            shared, own = columns[here[0]] if common and columns else None, 1 if common else self.copies[i]
            columns[i] = shared or (self._noise(noise[i] * Fraction(1, own)) if noise[i].any() else None)
        none = self.space.constant([[Fraction(0)] * self.fed.dimension])
        each = [errors._arranged(lambda forms, i=i: forms[0, i]) for i in range(len(self.counts))]  # type: ignore[misc]
        moved = [
            self._of_one(each[i], slopes[i], offsets[i], columns[i]) if i in columns else none[0]
            for i in range(len(self.counts))
        ]
        return _stacked(self.space, moved)

    def _of_one(self, error: Affine, slope: np.ndarray, offset: Any, columns: slice | None) -> Affine:
        """slope (x - x*) + offset + noise, (D,)."""
        known = self.space.constant([Fraction(0)] * len(slope) if offset is None else offset)
        error = error.all_columns()
        sizes = None if error.sizes is None else (np.abs(slope).astype(float) + np.eye(len(slope))) @ error.sizes
        moved = Affine(self.space, slope @ error.forms, sizes) + known
        if columns is not None:
            moved.forms[:, columns] = moved.forms[:, columns] + _identity(self.fed)
        return moved

    def _errors(self, x: Any) -> Affine:
        """x - x* for each client, (1, clients, D)."""
        clients, dimension = len(self.counts), self.fed.dimension
        if not isinstance(x, Affine) or x.shape not in ((1, dimension), (1, self.clients, dimension)):
            shape = getattr(x, "shape", None)
            raise ValueError(f"a point of shape {shape}: allowed is {(1, dimension)} or {(1, self.clients, dimension)}")
        from_optimum = x - self.fed.exact_optimum
        if x.ndim == 3:
            return from_optimum
        return from_optimum._arranged(lambda forms: np.broadcast_to(forms[:, None], (1, clients, *forms.shape[1:])))

    def _noise(self, covariance: np.ndarray) -> slice:
        self.noises.append((covariance, self.space.noise(len(covariance))))
        return self.noises[-1][1]


def _stacked(space: Space, parts: list[Affine]) -> Affine:
    """Forms one after another, (1, number, D)."""
    whole = [part.all_columns() for part in parts]
    sizes = np.stack([each.sizes for each in whole])[None] if space.rounding else None  # type: ignore[misc]
    return Affine(space, np.stack([each.forms for each in whole])[None], sizes)


def _identity(fed: Quadratic) -> np.ndarray:
    return np.array([[Fraction(int(i == j)) for j in range(fed.dimension)] for i in range(fed.dimension)], dtype=object)


def _number(value: Any) -> Fraction:
    """A number that a step hands on, exactly.

    Raises:
        ValueError: it is irrational, or depends on the state.
    """
    if isinstance(value, Affine):
        raise value._refused("a step size that is computed in the round")
    return exact_value(value)


def exactly(value: Any) -> Fraction:
    """Return a number of the algorithm in Fractions.

    Raises:
        NotLinear: it is irrational.
    """
    if isinstance(value, float):
        raise NotLinear(f"has the irrational number {value}: allowed for exact moments are rational ones")
    return Fraction(value)


def linear_round(
    kind: OwnRound, fed: Quadratic, law: Law, layout: OwnLayout, trainings: Trainings, exact: bool
) -> LinearRound:
    """Return the round under this law of the cohorts, where ``trainings`` knows how a federation's clients train.

    Raises:
        NotLinear: the step is not affine in the state and the noise, as far as it is followed; it is said where.
        StepError: it does not do what a step has to.
    """
    crowds = _crowds(fed, law) if isinstance(law, CrowdLaw) else {}
    maps = None if crowds else trainings(fed)
    increments, noises, dtype = [], [], object if exact else float
    chances: list[Fraction] = []
    for counts, p in law:
        way: Outcomes | None = Outcomes()
        while way is not None:
            if len(chances) == MOST_WAYS:
                raise NotClosed(
                    f"{place(kind.step)}: algorithm {kind.name}: its draws come in more than {MOST_WAYS} ways: allowed "
                    "for exact moments are fewer"
                )
            change, sources = one_cohort(
                kind, fed, counts, layout, maps or trainings(crowds[counts].fed), way, crowds.get(counts)
            )
            noises += [Noise(cov.astype(dtype), [len(chances)], load[None].astype(dtype)) for cov, load in sources]
            increments.append(change.astype(dtype))
            chances.append(p * way.probability)
            way = way.next()
    check_on_tensors(kind, fed, law[0][0], layout, trainings, crowds.get(law[0][0]))
    first = np.array(chances, dtype=object).astype(dtype)
    return LinearRound(np.stack(increments), first, np.diag(first) if not exact else _diagonal(first), tuple(noises))


@dataclass(frozen=True)
class Crowd:
    """Clients of which those that are alike, in a round in which all or none of them take part, stand together.

    Attributes:
        fed: one client for each group, F as it is.
        counts: how often each client of a group takes part.
        copies: how many clients a group has.
    """

    fed: Quadratic
    counts: tuple[int, ...]
    copies: tuple[int, ...]


def _crowds(fed: Quadratic, law: CrowdLaw) -> dict[tuple[int, ...], Crowd]:
    """The crowd of each of the law's cohorts."""
    kinds, weights = kinds_of(fed), fed.exact_weight
    made: dict[Any, Quadratic] = {}
    found = {}
    for counts, _ in law:
        groups: dict[tuple[int, int], list[int]] = {}
        for i, own in enumerate(zip(kinds, counts, strict=True)):
            groups.setdefault(own, []).append(i)
        parts = list(groups.values())
        while len(parts) < max(2, fed.dimension + 1):  # so that no other axis is as long as the clients'
            largest = max(parts, key=len)
            parts.remove(largest)
            parts += [largest[:1], largest[1:]]
        key = tuple((part[0], len(part)) for part in parts)
        if key not in made:
            first = [part[0] for part in parts]
            shares = [sum((weights[i] for i in part), Fraction(0)) for part in parts]
            made[key] = Quadratic(
                fed.exact_hessians[first],
                fed.exact_centres[first],
                fed.exact_gradient_noise,
                fed.noise,
                fed.exact_server_noise,
                shares,
            )
        found[counts] = Crowd(made[key], tuple(counts[part[0]] for part in parts), tuple(map(len, parts)))
    return found


def kinds_of(fed: Quadratic) -> tuple[int, ...]:
    """Return of which kind each client is, (clients,): those of a kind have one Hessian and one minimiser."""
    numbers: dict[Any, int] = {}
    rows = zip(fed.exact_hessians, fed.exact_centres, strict=True)
    return tuple(numbers.setdefault((*h.ravel(), *c), len(numbers)) for h, c in rows)


LEAST_CROWD, MOST_KINDS = 9, 6
"""Number of clients from which on they are counted by kind, and the most kinds there may be then."""


def crowd_law(kind: OwnRound, fed: Quadratic, process: Participation, layout: OwnLayout, trainings: Trainings) -> Any:
    """Return the law of a round's cohorts by kinds of client; ``None`` where these do not tell all.

    They do where the clients are a crowd of few kinds, and the step treats all alike and remembers nothing of each.
    That the step does so shows on forms that stand for all clients of a kind: what tells them apart is refused.
    """
    if fed.clients < max(LEAST_CROWD, fed.dimension + 2) or any(what == CLIENTS for _, what in kind.memory):
        return None
    kinds = kinds_of(fed)
    law = law_of_crowd(process, kinds) if max(kinds) < MOST_KINDS else None
    if not law:
        return None
    counts, _ = law[0]
    crowd = _crowds(fed, CrowdLaw(law[:1]))[counts]
    try:
        _called(kind, crowd.fed, crowd.counts, layout, trainings(crowd.fed), Outcomes(), crowd=crowd)
    except ValueError:  # followed client by client, it tells what it does not allow
        return None
    return law


def _diagonal(values: np.ndarray) -> np.ndarray:
    matrix = np.full((len(values), len(values)), Fraction(0), dtype=object)
    np.fill_diagonal(matrix, values)
    return matrix


def one_cohort(
    kind: OwnRound,
    fed: Quadratic,
    counts: tuple[int, ...],
    layout: OwnLayout,
    maps: LocalMapsOf,
    way: Outcomes,
    crowd: Crowd | None = None,
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Return T - I (size, size), and the covariance and L (size, D) of each noise, in Fractions."""
    fed, counts = (fed, counts) if crowd is None else (crowd.fed, crowd.counts)
    forms, _, noises = _called(kind, fed, counts, layout, maps, way, crowd=crowd)
    again, *_ = _called(kind, fed, counts, layout, maps, way.again(), crowd=crowd)
    if forms.shape != again.shape or (forms != again).any():
        raise StepError(
            f"{place(kind.step)}: algorithm {kind.name}: two calls of step with the same arguments return different "
            "things: allowed is a step that keeps nothing outside its memory and draws nothing by itself"
        )
    identity = np.eye(layout.size, dtype=int).astype(object) * Fraction(1)
    change = np.full((layout.size, layout.size), Fraction(0), dtype=object)
    change[:-1] = forms[:, : layout.size] - identity[:-1]
    loads = []
    for covariance, columns in noises:
        load = np.full((layout.size, len(covariance)), Fraction(0), dtype=object)
        load[:-1] = forms[:, columns]
        loads.append((covariance, load))
    return change, loads


def _on_tensors(
    kind: OwnRound, fed: Quadratic, counts: tuple[int, ...], layout: OwnLayout, states: np.ndarray
) -> np.ndarray:
    """The states (replicas, size) after a round of the engine's kind, but for their last 1."""
    from ..simulation.custom_steps import TensorRound  # lazily, as the engine is

    optimum = fed.exact_optimum.astype(float)
    shift = np.zeros(layout.size)
    for part in layout.of_start:
        shift[part] = optimum
    values = torch.from_numpy(states + shift)
    replicas, kept = len(states), dict(kind.memory)
    each = (replicas, layout.clients, layout.dimension)
    memory = {
        name: values[:, part].reshape(each) if kept[name] == CLIENTS else values[:, part].clone()
        for name, part in layout.of_memory.items()
    }
    x, ids = values[:, layout.of_model].clone(), torch.arange(replicas)
    shown = torch.tensor([counts] * replicas, dtype=torch.int8)
    told = TensorRound(fed, x, shown, ids, 0, kind.round or 0, Outcomes())
    moved, after = taken(kind, x, memory, told, numbers_at(kind, kind.round, float))
    found = [moved, *(after[name].reshape(replicas, -1) for name, _ in kind.memory)]
    return torch.cat(found, 1).numpy() - shift[:-1]


SCALES = (1e-3, 1.0, 1.0, 1e3)
"""Sizes of the states at which tensors and forms are compared."""

AGREE, ROUNDED = 1e-9, 1e-12
"""Tolerances of differences between states: as a share of the states, and as a share of what a step adds up on its way,
of which more is lost where large numbers cancel. It is float64's rounding over thousands of operations."""

_CHECKED: set[tuple[Any, ...]] = set()


def check_on_tensors(
    kind: OwnRound,
    fed: Quadratic,
    counts: tuple[int, ...],
    layout: OwnLayout,
    trainings: Trainings,
    crowd: Crowd | None = None,
) -> None:
    """Raise ``StepError`` unless the step does on tensors what it does on forms, without noise.

    It is tried from places near and far in replicas of one batch, once for each step and number of clients and
    dimensions.
    """
    key = kind.step, counts, layout
    if key in _CHECKED:
        return
    quiet = Quadratic(fed.exact_hessians, fed.exact_centres)
    clients, there = quiet, counts
    if crowd is not None:
        own = crowd.fed
        clients = Quadratic(own.exact_hessians, own.exact_centres, objective_weight=list(own.exact_weight))
        there = crowd.counts
    forms, sizes, _ = _called(kind, clients, there, layout, trainings(clients), Outcomes(), rounding=True, crowd=crowd)
    forms, sizes = forms[:, : layout.size], sizes[:, : layout.size]  # without the step's own noise
    rng = np.random.default_rng(0)
    states = rng.standard_normal((len(SCALES), layout.size)) * np.array(SCALES)[:, None]
    states[:, -1] = 1
    moved = states @ forms.astype(float).T
    found = _on_tensors(kind, quiet, counts, layout, states)
    allowed = AGREE * (np.abs(moved).max(1) + np.abs(states).max(1))[:, None] + ROUNDED * np.abs(states) @ sizes.T
    if not (np.abs(found - moved) < allowed).all():
        raise StepError(
            f"{place(kind.step)}: algorithm {kind.name}: on tensors step does something else than on exact forms: "
            "allowed is one that treats each replica alone and does not look at what its arguments are made of"
        )
    _CHECKED.add(key)


def _called(
    kind: OwnRound,
    fed: Quadratic,
    counts: tuple[int, ...],
    layout: OwnLayout,
    maps: LocalMapsOf,
    way: Outcomes,
    rounding: bool = False,
    crowd: Crowd | None = None,
) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, slice]]]:
    """The forms of the state after the round, but for its last 1, (size - 1, columns); and if ``rounding``, their
    sizes."""
    space = Space(layout.size, layout.size, rounding=rounding, crowd=crowd.copies if crowd else ())
    optimum, shifted = fed.exact_optimum, dict(kind.memory)
    x = space.entries(layout.of_model, (1, layout.dimension)) + optimum
    memory = {}
    for name, part in layout.of_memory.items():
        shape = (1, layout.clients, layout.dimension) if shifted[name] == CLIENTS else (1, layout.dimension)
        memory[name] = space.entries(part, shape) + (optimum if shifted[name] == MODEL else 0)
    round = AffineRound(fed, space, counts, maps, way)
    try:
        numbers = numbers_at(kind, kind.round, exactly)
    except NotLinear as error:
        raise error.at(f"{place(kind.step)}: algorithm {kind.name}") from None
    moved, kept = taken(kind, x, memory, round, numbers)
    if space.refused is not None:
        raise space.refused.at(f"{place(kind.step)}: algorithm {kind.name}")
    after = [moved - optimum]
    after += [kept[name] - optimum if what == MODEL else kept[name] for name, what in kind.memory]
    whole = [each.all_columns() for each in after]
    forms = np.concatenate([each.forms.reshape(-1, space.columns) for each in whole])
    sizes = np.concatenate([each.sizes.reshape(-1, space.columns) for each in whole]) if rounding else forms
    return forms, sizes, round.noises
