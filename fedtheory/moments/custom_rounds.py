"""Rounds of an algorithm of one's own as linear maps of the lifted state, where its step is affine in state and noise.

The step is called once for each cohort that may come, on forms that are affine in the state before the round and in the
round's noise (``affine_numbers``). What it returns is the map itself, z' = T_S z + sum_s L_Ss n_s for the cohort S; a
round is these maps with u_S = 1 if the cohort is S, so that E[u_S u_T] is the probability of S on the diagonal and 0
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.algorithm import ClientRound, OwnRound
from ..algorithms.custom_algorithm import CLIENTS, MODEL, Round, StepError, numbers_at, taken
from ..extras import torch
from ..federations.federation import COMMON
from ..federations.quadratic import Quadratic
from ..own import place
from ..quantities import check_values
from .affine_numbers import Affine, NotLinear, Space
from .cohorts import Law
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


class AffineRound(Round):
    """A round of one replica with given counts."""

    def __init__(self, fed: Quadratic, space: Space, counts: tuple[int, ...], maps: LocalMapsOf) -> None:
        self.fed, self.space, self.counts, self.maps = fed, space, counts, maps
        total, column = sum(counts), [[[Fraction(n)] for n in counts]]
        self.count = space.constant(column)
        self.share = self.count * Fraction(1, max(1, total))
        self.present = space.constant([[[Fraction(int(n > 0))] for n in counts]])
        self.somebody = space.constant([[Fraction(int(total > 0))]])
        self.noises: list[tuple[np.ndarray, slice]] = []
        self.of_server: slice | None = None

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
        if self.of_server is None and level:
            self.of_server = self._noise(level * _identity(fed))
        forms = self._of_one(self._errors(x)[0, 0], fed.exact_hessian, None, self.of_server)
        return Affine(self.space, forms[None])

    def _of_clients(self, x: Affine, slopes: np.ndarray, offsets: np.ndarray, noise: np.ndarray) -> Affine:
        """slope_i (x - x*) + offset_i + noise of each participant, (1, clients, D); 0 of others."""
        errors, here = self._errors(x), [i for i, n in enumerate(self.counts) if n > 0]
        common = self.fed.noise == COMMON
        columns: dict[int, slice | None] = {}
        for i in here:
            shared = columns[here[0]] if common and columns else None
            columns[i] = shared or (self._noise(noise[i]) if noise[i].any() else None)
        forms = np.full((1, len(self.counts), self.fed.dimension, self.space.columns), Fraction(0), dtype=object)
        for i in here:
            forms[0, i] = self._of_one(errors[0, i], slopes[i], offsets[i], columns[i])
        return Affine(self.space, forms)

    def _of_one(self, error: np.ndarray, slope: np.ndarray, offset: Any, columns: slice | None) -> np.ndarray:
        """(D, columns)."""
        forms = np.full((len(slope), self.space.columns), Fraction(0), dtype=object)
        forms[:, : error.shape[-1]] = slope @ error
        if offset is not None:
            forms[:, self.space.state - 1] = forms[:, self.space.state - 1] + offset
        if columns is not None:
            forms[:, columns] = forms[:, columns] + _identity(self.fed)
        return forms

    def _errors(self, x: Any) -> np.ndarray:
        """x - x* for each client, (1, clients, D, columns)."""
        clients, dimension = len(self.counts), self.fed.dimension
        if not isinstance(x, Affine) or x.shape not in ((1, dimension), (1, clients, dimension)):
            shape = getattr(x, "shape", None)
            raise ValueError(f"a point of shape {shape}: allowed is {(1, dimension)} or {(1, clients, dimension)}")
        forms = (x - self.fed.exact_optimum).forms
        forms = forms if forms.ndim == 4 else forms[:, None]
        return np.broadcast_to(forms, (1, clients, *forms.shape[2:]))

    def _noise(self, covariance: np.ndarray) -> slice:
        self.noises.append((covariance, self.space.noise(len(covariance))))
        return self.noises[-1][1]


def _identity(fed: Quadratic) -> np.ndarray:
    return np.array([[Fraction(int(i == j)) for j in range(fed.dimension)] for i in range(fed.dimension)], dtype=object)


def _number(value: Any) -> Fraction:
    """A number that a step hands on, exactly.

    Raises:
        ValueError: it is irrational, or depends on the state.
    """
    if isinstance(value, Affine):
        raise value._refused("a step size that is computed in the round")
    if isinstance(value, float):
        raise ValueError(f"{value} is a float, which is not exact: allowed are the algorithm's numbers")
    return Fraction(value)


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
    maps = trainings(fed)
    increments, noises, dtype = [], [], object if exact else float
    for place_, (counts, _) in enumerate(law):
        change, sources = one_cohort(kind, fed, counts, layout, maps)
        increments.append(change.astype(dtype))
        noises += [Noise(cov.astype(dtype), [place_], load[None].astype(dtype)) for cov, load in sources]
    check_on_tensors(kind, fed, law[0][0], layout, trainings)
    first = np.array([p for _, p in law], dtype=object).astype(dtype)
    return LinearRound(np.stack(increments), first, np.diag(first) if not exact else _diagonal(first), tuple(noises))


def _diagonal(values: np.ndarray) -> np.ndarray:
    matrix = np.full((len(values), len(values)), Fraction(0), dtype=object)
    np.fill_diagonal(matrix, values)
    return matrix


def one_cohort(
    kind: OwnRound, fed: Quadratic, counts: tuple[int, ...], layout: OwnLayout, maps: LocalMapsOf
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Return T - I (size, size), and the covariance and L (size, D) of each noise, in Fractions."""
    forms, noises = _called(kind, fed, counts, layout, maps)
    again, _ = _called(kind, fed, counts, layout, maps)
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
    told = TensorRound(fed, x, torch.tensor([counts] * replicas, dtype=torch.int8), ids, 0, kind.round or 0)
    moved, after = taken(kind, x, memory, told, numbers_at(kind, kind.round, float))
    found = [moved, *(after[name].reshape(replicas, -1) for name, _ in kind.memory)]
    return torch.cat(found, 1).numpy() - shift[:-1]


SCALES = (1e-3, 1.0, 1.0, 1e3)
"""Sizes of the states at which tensors and forms are compared."""

AGREE = 1e-9
"""Tolerance of differences between states, as a share of the states: float64 rounding over the operations of a
round."""

_CHECKED: set[tuple[Any, ...]] = set()


def check_on_tensors(
    kind: OwnRound, fed: Quadratic, counts: tuple[int, ...], layout: OwnLayout, trainings: Trainings
) -> None:
    """Raise ``StepError`` unless the step does on tensors what it does on forms, without noise.

    It is tried from places near and far in replicas of one batch, once for each step and number of clients and
    dimensions.
    """
    key = kind.step, counts, layout
    if key in _CHECKED:
        return
    quiet = Quadratic(fed.exact_hessians, fed.exact_centres)
    forms, _ = _called(kind, quiet, counts, layout, trainings(quiet))
    rng = np.random.default_rng(0)
    states = rng.standard_normal((len(SCALES), layout.size)) * np.array(SCALES)[:, None]
    states[:, -1] = 1
    moved = states @ forms.astype(float).T
    found = _on_tensors(kind, quiet, counts, layout, states)
    off = np.abs(found - moved).max(1) / (np.abs(moved).max(1) + np.abs(states).max(1))
    if not (off < AGREE).all():
        raise StepError(
            f"{place(kind.step)}: algorithm {kind.name}: on tensors step does something else than on exact forms: "
            "allowed is one that treats each replica alone and does not look at what its arguments are made of"
        )
    _CHECKED.add(key)


def _called(
    kind: OwnRound, fed: Quadratic, counts: tuple[int, ...], layout: OwnLayout, maps: LocalMapsOf
) -> tuple[np.ndarray, list[tuple[np.ndarray, slice]]]:
    """The forms of the state after the round, but for its last 1, (size - 1, columns)."""
    space = Space(layout.size, layout.size)
    optimum, shifted = fed.exact_optimum, dict(kind.memory)
    x = space.entries(layout.of_model, (1, layout.dimension)) + optimum
    memory = {}
    for name, part in layout.of_memory.items():
        shape = (1, layout.clients, layout.dimension) if shifted[name] == CLIENTS else (1, layout.dimension)
        memory[name] = space.entries(part, shape) + (optimum if shifted[name] == MODEL else 0)
    round = AffineRound(fed, space, counts, maps)
    try:
        numbers = numbers_at(kind, kind.round, exactly)
    except NotLinear as error:
        raise error.at(f"{place(kind.step)}: algorithm {kind.name}") from None
    moved, kept = taken(kind, x, memory, round, numbers)
    if space.refused is not None:
        raise space.refused.at(f"{place(kind.step)}: algorithm {kind.name}")
    after = [moved - optimum]
    after += [kept[name] - optimum if what == MODEL else kept[name] for name, what in kind.memory]
    return np.concatenate([each.all_columns().reshape(-1, space.columns) for each in after]), round.noises
