"""One round on a quadratic federation, as a linear map.

With y = x - x*, client i's local training is the affine map y -> A_i y + b_i + noise. With the minimiser m_i = c_i - x*
of F_i, the step size eta and the proximal weight rho, and B_{i,k} the map from y - m_i before the round to that after k
steps,

    B_{i,0} = I,  B_{i,k+1} = (I - eta (H_i + rho I)) B_{i,k} + eta rho I,  A_i = B_{i,K},  b_i = (I - A_i) m_i,
    noise covariance eta^2 sigma^2/D sum_{k<K} (I - eta (H_i + rho I))^{2k},

and the server's own step is another one, y -> (I - eta_s H) y + noise, as of a single client with the objective F. What
the server makes of such maps is linear in the lifted state z = (y, what is remembered, 1) for the first moments, and
linear in Z = E[z z^T] for the second moments (``lifting``, ``linear_rounds``); a round whose kind is random mixes the
kinds' operators, and participants with a memory are followed together with the state (``participation_laws``).
Everything here works on float arrays and, where numbers are exact, on arrays of Fractions (dtype object), by the same
formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.aggregation import SampleShares
from ..algorithms.algorithm import ClientRound, Kind, OwnRound, ServerRound
from ..algorithms.cohort_rules import NaiveSelection, UniformSelection
from ..algorithms.custom_algorithm import CLIENTS
from ..federations.federation import COMMON, ONE_SIDED, Federation
from ..federations.quadratic import Quadratic
from ..participation import Bernoulli, Fixed, LargestNoise, Participation
from ..schedule import one_number
from .centred import Forms, identity_like, product, squares, whole
from .chosen_noise import as_one_client, chosen_noise
from .cohorts import Law, certain, law_of
from .custom_rounds import LocalMapsOf, OwnLayout, crowd_law, linear_round
from .lifting import Layout, client_round, server_round
from .linear_rounds import LinearRound, NotClosed
from .participation_laws import (
    PRESENT,
    Draws,
    FloatsOnly,
    answering,
    averaged_noise,
    chain_of,
    draws_of,
    draws_of_set,
    phases_of,
)
from .remembering_crowds import CrowdLayout, crowd_layout, crowd_round
from .sample_shares import sample_share_draws, sample_shares_of_set

if TYPE_CHECKING:
    from ..setting import Setting

AnyLayout = Layout | OwnLayout | CrowdLayout


@dataclass(frozen=True)
class LocalMaps:
    """Maps of each client's local training in a round, in lifted coordinates (y, 1) with y = x - x*.

    By coordinates that evolve alone (see ``centred``), an axis of blocks follows that of the clients, and D = 1.

    Attributes:
        maps: (M, *blocks, D + 1, D + 1), [[A_i, b_i], [0, 1]].
        shares: (M, *blocks, D, D), I - A_i: a sum of its own, since the difference loses its digits where steps are
            small.
        noise: (M, *blocks, D, D), the covariance of what gradient noise adds.
        gradients: (M, *blocks, D, D + 1): the map from (y, 1) to client i's sum of local gradients,
            sum_k H_i (y_{i,k} - m_i), without noise.
        common_noise: whether the noise is the same for all clients, which then have the same Hessian.
    """

    maps: np.ndarray
    shares: np.ndarray
    noise: np.ndarray
    gradients: np.ndarray
    common_noise: bool = False

    @property
    def blocks(self) -> tuple[int, ...]:
        """The shape of the axes of blocks, empty for the whole federation."""
        return self.maps.shape[1:-2]

    def gradient_sums(self) -> np.ndarray:
        """Return ``gradients``."""
        return self.gradients


def local_maps(setting: Setting, exact: bool = False) -> LocalMaps:
    """Return the clients' maps in rounds in which they train, in Fractions if ``exact``.

    Raises:
        ValueError: the federation is not quadratic, or the algorithm's kinds of round train in different ways.
    """
    kinds = [kind for kind in setting.algorithm.kinds if isinstance(kind, ClientRound)]
    if len({(kind.local_steps, kind.local_lr, kind.proximal) for kind in kinds}) > 1:
        raise ValueError(f"algorithm = {setting.algorithm}: allowed is one way of local training")
    return training_maps(quadratic(setting), kinds[0], exact)


def quadratic(setting: Setting) -> Quadratic:
    """Return the setting's federation; raise ``ValueError`` unless it is quadratic."""
    if not isinstance(setting.federation, Quadratic):
        raise ValueError(f"exact moments need a Quadratic federation, not {type(setting.federation).__name__}")
    return setting.federation


def training_maps(fed: Quadratic, kind: ClientRound, exact: bool = False, forms: Forms | None = None) -> LocalMaps:
    """Return the clients' maps in a round of this kind, by default of the whole federation.

    Raises:
        ValueError: its step size changes with the round, or is irrational where Fractions are asked for; or clients do
            not step by plain SGD.
    """
    forms = forms or whole(fed, exact)
    sizes, way = step_sizes(kind, exact, forms.in_balls), (kind.local_steps, kind.local_lr, kind.proximal)
    if way not in forms.trained:  # two kinds of round, and all phases, train alike
        if isinstance(kind.local_steps, tuple):
            made = _unequal_maps(forms, sizes[0], kind.local_steps, kind.proximal)
        elif isinstance(kind.local_lr, tuple):
            made = _varying_maps(forms, sizes, kind.proximal)
        else:
            made = _maps(forms, forms.gradient_noise, sizes[0], kind.local_steps, kind.proximal)
        forms.trained[way] = replace(made, common_noise=has_common_noise(fed))
    return forms.trained[way]


def step_sizes(kind: ClientRound, exact: bool, as_known: bool = False) -> list[Any]:
    """Return the sizes of a round's local steps.

    Where Fractions are asked for, floats are refused, or taken ``as_known``.

    Raises:
        ValueError: as ``training_maps``.
    """
    if not kind.by_sgd:
        raise ValueError(f"local_solver = {kind.local_solver}: moments are known of plain SGD")
    sizes = kind.local_lr if isinstance(kind.local_lr, tuple) else [one_number("local_lr", kind.local_lr)]
    if exact and any(isinstance(size, float) for size in sizes):
        if not as_known:
            raise ValueError(f"local_lr = {sizes[0]} is irrational: allowed in Fractions are rational steps")
        sizes = [Fraction(size) if isinstance(size, float) else size for size in sizes]
    if isinstance(kind.local_steps, tuple):
        return list(sizes)
    return list(sizes) * (kind.local_steps if len(sizes) == 1 else 1)


def _varying_maps(forms: Forms, sizes: list[Any], proximal: Fraction) -> LocalMaps:
    """Return the local maps as ``_maps`` does, with a size of its own for each step.

    With S_k = I - eta_k (H + rho I), step by step

        I - B_{k+1} = (I - B_k) + eta_k (H B_k - rho (I - B_k)),  N_{k+1} = S_k N_k S_k + eta_k^2 sigma^2/D I.
    """
    hessians, number = forms.hessians, _numbers_of(forms)
    identity = identity_like(hessians)
    variance, rho = number(forms.gradient_noise**2 / forms.dimension), number(proximal)
    shares, visited, added = 0 * hessians, 0 * hessians, 0 * hessians
    for eta in map(number, sizes):
        moved, step = identity - shares, identity - eta * (hessians + rho * identity)
        visited = visited + moved
        shares = shares + eta * (product(hessians, moved) - rho * shares)
        added = product(product(step, added), step) + eta**2 * variance * identity
    return _local(forms, identity - shares, shares, added, visited)


def _unequal_maps(forms: Forms, lr: Fraction, steps: tuple[int, ...], proximal: Fraction) -> LocalMaps:
    """Return the local maps as ``_maps`` does, where client i makes ``steps[i]`` steps of the size ``lr``.

    A client that has made its steps stays where it is: its map is that after them, put in its place.
    """
    made = {count: _maps(forms, forms.gradient_noise, lr, count, proximal) for count in {*steps}}

    def own(name: str) -> np.ndarray:
        return np.stack([getattr(made[count], name)[i] for i, count in enumerate(steps)])

    return LocalMaps(own("maps"), own("shares"), own("noise"), own("gradients"))


def _numbers_of(forms: Forms) -> Any:
    """Return the conversion of a Fraction to a number of the forms' kind."""
    return (lambda value: value) if forms.dtype == object else float


def _local(forms: Forms, moved: np.ndarray, shares: np.ndarray, added: np.ndarray, visited: np.ndarray) -> LocalMaps:
    """The maps from A_i, I - A_i, the noise's covariance and the sum of the B_{i,k}, each (M, *blocks, d, d)."""
    minimisers, (*outer, size) = forms.minimisers[..., None], forms.minimisers.shape
    maps = np.zeros((*outer, size + 1, size + 1), dtype=int).astype(forms.dtype)
    maps[..., :-1, :-1], maps[..., :-1, -1:] = moved, shares @ minimisers
    maps[..., -1, -1] = _numbers_of(forms)(Fraction(1))
    sums = product(forms.hessians, visited)
    return LocalMaps(maps, shares, added, np.concatenate([sums, -(sums @ minimisers)], axis=-1))


def is_one_sided(fed: Federation) -> bool:
    """Whether a quadratic federation's noise depends on the state, so that its rounds are no linear maps."""
    if not isinstance(fed, Quadratic):
        return False
    return fed.noise == ONE_SIDED and bool(fed.exact_gradient_noise or fed.exact_server_noise)


def has_common_noise(fed: Quadratic) -> bool:
    """Whether the clients' noise is the same.

    Raises:
        ValueError: it is, and their Hessians differ; or its variance depends on the state.
    """
    if is_one_sided(fed):
        raise ValueError(f"noise = {fed.noise!r}: its variance depends on the state, so moments do not close")
    if fed.noise == COMMON and not fed.has_common_hessian:
        raise ValueError("noise = 'common two-point': moments are known for clients with the same Hessian")
    return fed.noise == COMMON


def server_map(fed: Quadratic, kind: ServerRound, exact: bool = False, forms: Forms | None = None) -> LocalMaps:
    """Return the server's map in a round of its own, as of a single client that minimises F."""
    forms = forms or whole(fed, exact)
    one = replace(forms, hessians=forms.hessian[None], minimisers=0 * forms.minimisers[:1])
    size = one_number("server_lr", kind.server_lr)
    return _maps(one, forms.server_noise, Fraction(size) if forms.in_balls else size, kind.steps)


def _maps(forms: Forms, noise: Fraction, lr: Fraction, steps: int, proximal: Fraction = Fraction(0)) -> LocalMaps:
    """``steps`` gradient steps of each client, all of the size ``lr``."""
    number, identity = _numbers_of(forms), identity_like(forms.hessians)
    eta = number(lr)
    pull, back = eta * forms.hessians, eta * number(proximal) * identity
    step = identity - pull - back
    noise_level = eta**2 * number(noise**2 / forms.dimension)
    power, shares, added = np.broadcast_to(identity, step.shape), 0 * step, 0 * step
    moved, visited = power, 0 * step
    for _ in range(steps):
        added = added + noise_level * product(power, power)
        shares = shares + product(power, pull)
        visited = visited + moved
        power = product(power, step)
        moved = product(step, moved) + back
    return _local(forms, moved, shares, added, visited)


def local_gradients(fed: Quadratic, kind: ClientRound, exact: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return E|stochastic gradient|^2 of each client and local step as a form of the state before the round.

    Returns:
        the forms on vec E[(y, 1) (y, 1)^T], (M K, (D + 1)^2), and what noise adds, (M K,).
    """
    number = object if exact else float
    hessians, shifted = fed.exact_hessians.astype(number), (fed.exact_centres - fed.exact_optimum).astype(number)
    identity = np.eye(fed.dimension, dtype=int).astype(number)
    level: tuple[Any, ...] = (fed.exact_gradient_noise**2 / fed.dimension, kind.proximal)
    variance, rho = level if exact else map(float, level)
    forms, added = [], []
    for hessian, minimiser in zip(hessians, shifted, strict=True):
        path = np.column_stack([identity, -minimiser])  # of y_k - m_i, from (y, 1)
        start, covariance = path, 0 * hessian
        for eta in [size if exact else float(size) for size in step_sizes(kind, exact)]:
            gradient = hessian @ path
            forms.append((gradient.T @ gradient).ravel())
            added.append(np.trace(hessian @ covariance @ hessian) + variance * fed.dimension)
            path = path - eta * (gradient + rho * (path - start))
            step = identity - eta * (hessian + rho * identity)
            covariance = step @ covariance @ step + eta**2 * variance * identity
    return np.array(forms, dtype=number), np.array(added, dtype=number)


def layout_of(setting: Setting) -> AnyLayout:
    """Return the layout of the algorithm's state."""
    for own in setting.algorithm.kinds:
        if isinstance(own, OwnRound):
            fed = setting.federation
            crowd = crowd_layout(own, fed, setting.participation) if isinstance(fed, Quadratic) else None
            return crowd or OwnLayout(fed.dimension, fed.clients, own.memory)
    kinds = [kind for kind in setting.algorithm.kinds if isinstance(kind, ClientRound)]
    server = any(kind.server.remembers for kind in kinds)
    remembering = [kind for kind in kinds if kind.aggregation.tables]
    if not remembering:
        return Layout(setting.federation.dimension, server, ())
    changes, taking_part = phases_of(setting.participation), set()
    for process in (setting.participation,) if changes is None else changes.processes:
        for kind in remembering:
            for draws in drawn_by(replace(setting, participation=process), kind, exact=False):
                taking_part |= set(np.flatnonzero(draws.first(PRESENT) > 0).tolist())
    return Layout(setting.federation.dimension, server, tuple(sorted(taking_part)))


def drawn_by(setting: Setting, kind: ClientRound, exact: bool) -> list[Draws]:
    """Return the draws of the participants in a round of this kind: one for each state of participants with a memory,
    or one."""
    process, clients = setting.participation, setting.federation.clients
    match kind.selection:
        case None:
            pass
        case NaiveSelection() if not isinstance(kind.aggregation, SampleShares):
            return [answering(kind.selection, process, clients, exact)]
        case UniformSelection(budget) if not isinstance(kind.aggregation, SampleShares):
            among_all = NaiveSelection((0,) * clients, (Fraction(1),), budget, "drawn")
            return [answering(among_all, process, clients, exact)]
        case _:
            raise NotClosed(
                f"selection = {type(kind.selection).__name__}: its rates follow the participation so far, so moments "
                "do not close; allowed are None, NaiveSelection and UniformSelection"
            )
    chain, own = chain_of(process, clients), kind.aggregation
    if isinstance(own, SampleShares):
        if kind.uniform is None and not process.independent_rounds:
            return [sample_shares_of_set(members, clients, own) for members in chain.sets]
        who = process if kind.uniform is None else kind.uniform
        return [sample_share_draws(who, clients, own, exact)] * len(chain.sets)
    if kind.uniform is not None:
        return [draws_of(kind.uniform, clients, exact)] * len(chain.sets)
    return [draws_of(process, clients, exact)] if process.independent_rounds else chain.draws(clients)


def rounds_of_kind(
    setting: Setting,
    kind: Kind,
    exact: bool = False,
    layout: AnyLayout | None = None,
    forms: Forms | None = None,
) -> list[LinearRound]:
    """Return a round of this kind as linear maps of the state: one for each state of participants with a memory, or
    one.

    Args:
        layout, forms: of what the state is, by default of the whole one; by coordinates, the layout is that of one.

    Raises:
        ValueError: the federation is not quadratic; moments do not close under the algorithm; the participants'
            moments are not the same in every round; or Fractions are asked for and the participation process knows
            floats only.
    """
    fed, layout = quadratic(setting), layout or layout_of(setting)
    draws = drawn(setting, kind, exact, forms is not None and forms.in_balls)
    return rounds_with(setting.participation, fed, kind, draws, exact, layout, forms)


def drawn(setting: Setting, kind: Kind, exact: bool, as_known: bool = False) -> list[Any]:
    """Return the law of the participants in a round of this kind: one for each state of participants with a memory, or
    one.

    In rounds of the server's own the participants do not matter. For a step of one's own the cohorts are told apart; of
    one that remembers something of each client it is a process, whose cohorts the layout tells apart. If Fractions are
    asked for and the process knows floats only, they are refused, or floats are given if ``as_known``.
    """
    if as_known:
        try:
            return drawn(setting, kind, exact)
        except FloatsOnly:
            exact = False
    if isinstance(kind, OwnRound):
        process, clients = setting.participation, setting.federation.clients
        if any(what == CLIENTS for _, what in kind.memory):  # its law is told as far as the layout asks
            if process.independent_rounds:
                return [process]
            sets = chain_of(process, clients).sets
            return [Fixed(members) if members else Bernoulli([0] * clients) for members in sets]
        if process.independent_rounds:
            crowd = crowd_law(kind, quadratic(setting), process, layout_of(setting), _trainings)
            return [law_of(process, clients) if crowd is None else crowd]
        return [_law_of_set(setting, kind, members) for members in chain_of(process, clients).sets]
    if isinstance(kind, ServerRound):
        return [draws_of_set((), 1)] * len(chain_of(setting.participation, setting.federation.clients).sets)
    if isinstance(setting.participation, LargestNoise) and kind.uniform is None:
        return [draws_of(Fixed([0]), 1, exact)]
    if averaged_noise(quadratic(setting), kind, setting.participation) is not None:
        states = chain_of(setting.participation, setting.federation.clients).sets  # of those whom other rounds ask
        return [draws_of(Fixed([0]), 1, exact)] * len(states)
    return drawn_by(setting, kind, exact)


def _law_of_set(setting: Setting, kind: OwnRound, members: tuple[int, ...]) -> Law:
    """The law of exactly these participants, by kinds of client where they are a crowd."""
    fed, layout = quadratic(setting), layout_of(setting)
    assert isinstance(layout, OwnLayout)
    crowd = crowd_law(kind, fed, Fixed(members), layout, _trainings) if members else None
    return certain(members, fed.clients) if crowd is None else crowd


def _trainings(fed: Quadratic) -> LocalMapsOf:
    """The clients' maps in Fractions by the way of training, each made once."""
    return cache(partial(training_maps, fed, exact=True))


def rounds_with(
    process: Participation,
    fed: Quadratic,
    kind: Kind,
    draws: list[Any],
    exact: bool,
    layout: Any,
    forms: Forms | None = None,
) -> list[LinearRound]:
    """Return the rounds of this kind for each of these draws."""
    if isinstance(kind, OwnRound):
        has_common_noise(fed)  # refuses what is not followed
        found = [_own_round(kind, fed, law, layout, exact) for law in draws]
        return [each.in_balls() for each in found] if forms is not None and forms.in_balls else found
    if isinstance(kind, ServerRound):
        return [server_round(layout, server_map(fed, kind, exact, forms))] * len(draws)
    if exact and isinstance(kind.server.global_lr, float) and not (forms is not None and forms.in_balls):
        raise ValueError(f"global_lr = {kind.server.global_lr} is irrational: allowed in Fractions are rational steps")
    bound, local = kind.bound(process, fed.clients), training_maps(fed, kind, exact, forms)
    if isinstance(process, LargestNoise) and kind.uniform is None:
        local = as_one_client(local, chosen_noise(fed, kind, process, exact))
    elif (share := averaged_noise(fed, kind, process)) is not None:
        noise = local.noise[:1] if local.common_noise else local.noise[:1] * (share if exact else float(share))
        local = replace(local, maps=local.maps[:1], shares=local.shares[:1], noise=noise, gradients=local.gradients[:1])
    return [client_round(bound, layout, local, each) for each in draws]


def _own_round(kind: OwnRound, fed: Quadratic, who: Law | Participation, layout: Any, exact: bool) -> LinearRound:
    """The round of a step under a law of cohorts, or under a process, whose cohorts are told apart as the layout is."""
    if isinstance(layout, CrowdLayout):
        assert isinstance(who, Participation)
        return crowd_round(kind, fed, who, layout, _trainings, exact)
    law = law_of(who, fed.clients) if isinstance(who, Participation) else who
    return linear_round(kind, fed, law, layout, _trainings, exact)


def kind_of_round(setting: Setting, kind: Kind, exact: bool = False) -> LinearRound:
    """Return a round of this kind as one linear map of the state, independent of what happened before.

    Raises:
        ValueError: as ``rounds_of_kind``, or participants with a memory.
    """
    if not setting.participation.independent_rounds:
        setting.participation.inclusion(setting.federation.clients)  # says why not
    return rounds_of_kind(setting, kind, exact)[0]


def observable_weights(fed: Quadratic, exact: bool = False, layout: AnyLayout | None = None) -> dict[str, np.ndarray]:
    """Return row vectors w with w . vec(Z) = E|x - x*|^2 and = E|grad F(x)|^2, each (size^2,).

    They are for participants without a memory, and by default for an algorithm that remembers nothing, of size D +
    1.
    """
    layout, forms = layout or Layout(fed.dimension), squares(fed.exact_hessian if exact else fed.mean_hessian)
    weights = {}
    for name in ("squared_distance", "squared_gradient"):
        padded = np.zeros((layout.size, layout.size), dtype=int).astype(forms[name].dtype)
        padded[layout.of_model, layout.of_model] = forms[name]
        weights[name] = padded.ravel()
    return weights


def initial_state(setting: Setting, exact: bool = False) -> np.ndarray:
    """Return z_0 = (x_0 - x*, 0, ..., 0, 1), (size,)."""
    layout = layout_of(setting)
    state = np.full(layout.size, Fraction(0), dtype=object)
    for part in layout.of_start:
        state[part] = setting.exact_start - quadratic(setting).exact_optimum
    state[-1] = Fraction(1)
    return state if exact else state.astype(float)


def spread_over_participation(setting: Setting, state: np.ndarray) -> np.ndarray:
    """Spread the algorithm's start over the states of participants with a memory, each times its probability.

    It is the same in every state of participants with a memory, times its probability.
    """
    return chain_of(setting.participation, setting.federation.clients).spread(state)


def initial_moments(setting: Setting, exact: bool = False) -> np.ndarray:
    """Return vec(z_0 z_0^T) with z_0 = (x_0 - x*, 0 for what is remembered, 1).

    For participants with a memory it is times the probability of each of their states.
    """
    state = initial_state(setting, exact)
    return spread_over_participation(setting, np.outer(state, state).ravel())
