"""Proven intervals of errors where moments do not close: how far a run is from the path of its mean map.

A round is x' = x + sum_i c_i D_i(x) + noise, D_i the way of client i's local steps (or of the server's own) without
noise, and c_i coefficients that are drawn anew in every round, of mean p and covariance C. The path of the mean map is

    z_{r+1} = z_r + sum_i p_i D_i(z_r),    z_0 = x_0.

If every F_i is mu-strongly convex and L-smooth, then E|x_r - z_r|^2 <= s_r^2 with s_0 = 0 and

    s_{r+1}^2 = (rho s_r + sum_i p_i b_i)^2 + (tau s_r + sigma(z_r) + beta)^2 + nu^2.

The first square is that of E[x' | x] - z', the others bound the variance of x' given x; Minkowski's inequality takes
both to the mean over x. A gradient step of size eta_i has the factor g_i = max(|1 - eta_i mu|, |1 - eta_i L|):

    rho         = |1 - sum_i p_i| + sum_i p_i g_i^{K_i}                   as I + D_i is K_i such steps,
    tau^2       = sum_ij |C_ij| k_i k_j,  k_i = eta_i L sum_{k<K_i} g_i^k   the Lipschitz constant of D_i,
    sigma(z)^2  = sum_ij C_ij <D_i(z), D_j(z)>,
    nu^2        = sum_i E[c_i^2] e_i^2,  e_i^2 = eta_i^2 v_i^2 sum_{k<K_i} g_i^{2k}   of noise of variance v_i^2,
    b_i         = eta_i L sum_{k<K_i} e_i(k)   how far noise moves the mean of local steps, e_i(k) the same after k,
    beta^2      = sum_ij |C_ij| b_i b_j.

Weights omega_i that are estimated from participation remember the past. If clients take part independently, with
probability P_i, a coefficient of round r is c_i = a_i omega_i/P_i in a round in which i takes part, a_i = global_lr
P_i/M. Weights are between 1 and W, the lesser of the cutoff and r. Given the past, x' has the mean x + sum_i a_i
omega_i D_i(x), and the path has E[omega_i] in omega_i's place. With V_i = Var[omega_i] and Q_i = E[omega_i^2]

    s_{r+1}^2 = (rho s_r + delta(z_r) + sum_i a_i Q_i^(1/2) b_i)^2 + (tau s_r + sigma(z_r) + beta)^2 + nu^2,
    delta(z)^2  = sum_i a_i^2 V_i |D_i(z)|^2        how far estimated weights are from their means,
    sigma(z)^2  = sum_i (1/P_i - 1) a_i^2 Q_i |D_i(z)|^2,    beta^2 = the same of the b_i,
    tau^2       = W^2 sum_i (1/P_i - 1) a_i^2 k_i^2,         nu^2 = sum_i a_i^2 Q_i e_i^2/P_i,

and rho holds whatever the weights are, for sums S = sum_i a_i omega_i from sum_i a_i to W sum_i a_i. It is the lesser
of two bounds, each at its worse end, as both are convex in S:

    |1 - S| + S g^K,    max(|1 - S eta K mu|, |1 - S eta K L|) + S ((1 + eta L)^K - 1 - eta K L).

The second one holds since D is J - I, J a product of K factors I - eta H with mu <= H <= L: it is -eta sum H but for
the last term.

So (E|x_r - x*|^2)^(1/2) is in |z_r - x*| +- s_r, and (E|grad F(x_r)|^2)^(1/2) in |grad F(z_r)| +- L s_r. Nothing of
this is an estimate; it is computed in floating point, whose rounding is not enclosed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.aggregation import FedAUWeights
from ..algorithms.algorithm import ClientRound, ServerRound
from ..algorithms.server_step import Plain
from ..extras import torch
from ..federations.federation import ConvexFederation, Pairs
from ..functionals import AVERAGES, Functional, check_average
from ..participation import Bernoulli
from ..participation.noise_chosen import LargestNoise
from ..schedule import StepRule
from ..weights.exact_moments import weight_moments
from .lifting import weighing
from .participation_laws import draws_of

if TYPE_CHECKING:
    from ..setting import Setting

INDEPENDENT_NOISE = ("two-point", "gaussian")
"""Laws of noise that is independent between clients, of one variance everywhere."""


@dataclass(frozen=True)
class Step:
    """The local steps of clients, or the server's own: how they contract, and what noise makes of them.

    Attributes:
        factor: g^K, the Lipschitz constant of I + D.
        move: k, that of D.
        noise: e, the root of the mean squared distance that noise makes.
        shift: b, how far noise moves the mean.
    """

    factor: float
    move: float
    noise: float
    shift: float

    @classmethod
    def of(cls, steps: int, lr: float, smoothness: float, strong_convexity: float, noise: float) -> Step:
        """Make it of ``steps`` gradient steps of size ``lr`` with noise of this standard deviation.

        >>> Step.of(2, 0.5, smoothness=1.0, strong_convexity=1.0, noise=1.0)
        Step(factor=0.25, move=0.75, noise=0.5590169943749475, shift=0.25)
        """
        one = max(abs(1 - lr * strong_convexity), abs(1 - lr * smoothness))
        square, shift = 0.0, 0.0
        for _ in range(steps):
            shift += lr * smoothness * math.sqrt(square)
            square = one**2 * square + (lr * noise) ** 2
        return cls(one**steps, lr * smoothness * sum(one**k for k in range(steps)), math.sqrt(square), shift)


@dataclass(frozen=True)
class MeanPath:
    """Path of the mean map of a setting, and how far runs are from it; arrays have an entry for each round 0..R.

    Attributes:
        distance: |z_r - x*|.
        gradient: |grad F(z_r)|.
        spread: s_r.
        smoothness: L.
        optimum_error: how far the known x* may be from the true one.
    """

    distance: np.ndarray
    gradient: np.ndarray
    spread: np.ndarray
    smoothness: float
    optimum_error: float

    def interval(
        self, functional: Functional, rounds: np.ndarray, average: str = AVERAGES[0]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers between which the functional lies at each of these rounds.

        Raises:
            ValueError: it is no final value or plain average of |x_r - x*|^2 or |grad F(x_r)|^2.
        """
        of = {
            "squared_distance": (self.distance, self.spread + self.optimum_error),
            "squared_gradient": (self.gradient, self.smoothness * self.spread),
        }
        if functional.observable not in of or functional.of_all_rounds:
            raise ValueError(f"{functional.name}: allowed are final values and averages of {' and '.join(of)}")
        centre, radius = of[functional.observable]
        ends = np.maximum(centre - radius, 0.0) ** 2, (centre + radius) ** 2
        if not functional.average:
            return ends[0][rounds], ends[1][rounds]
        check_average(average)
        last = rounds - (average == AVERAGES[1])
        first = int(average == AVERAGES[0])
        low, high = (np.cumsum(end[first:])[last - first] / rounds for end in ends)
        return low, high


def mean_path(setting: Setting, rounds: int) -> MeanPath:
    """Follow the mean map over so many rounds, beside the bound on a run's distance from it: see above.

    Raises:
        ValueError: the federation is not strongly convex with known constants; the rounds are not drawn independently
            of the past and of noise; clients or the server do more than plain steps of one size; or noise is not
            independent between clients.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> s = ft.Setting(fed, ft.algorithms.fedavg(local_lr="1/10"), ft.participation.Uniform(1), start=3)
    >>> path = mean_path(s, 50)
    >>> low, high = path.interval(ft.functionals.FINAL_SQUARED_DISTANCE, np.array([1, 50]))
    >>> bool((low <= s.exact([1, 50]).squared_distance).all() and (s.exact([1, 50]).squared_distance <= high).all())
    True
    """
    fed = setting.federation
    if not isinstance(fed, ConvexFederation):
        raise ValueError(f"federation = {type(fed).__name__}: allowed is a strongly convex one with known constants")
    constants = fed.constants()
    smoothness, convexity = constants["smoothness"].value, constants["strong_convexity"].value
    if not convexity > 0:
        raise ValueError(f"strong_convexity = {convexity}: allowed is a number > 0")
    _check_noise(setting)
    kinds, laws = _laws(setting, smoothness, convexity, rounds)
    ways = [_way(fed, kind) for kind in kinds]
    optimum = fed.optimum
    z, spread = setting.start_vector.clone(), 0.0
    found: list[tuple[float, float, float]] = []
    for law in laws:
        gradient = fed.global_gradient(z[None])[0]
        found.append((float((z - optimum).norm()), float(gradient.norm()), spread))
        moved = torch.cat([way(z) for way in ways])
        drawn = float(((torch.from_numpy(law.covariance) @ moved) * moved).sum())
        sigma = math.sqrt(max(drawn, 0.0))
        delta = math.sqrt(float(torch.from_numpy(law.drift) @ moved.square().sum(1)))
        mean, around = law.rho * spread + delta + law.pull, law.tau * spread + sigma + law.beta
        spread = math.sqrt(mean**2 + around**2 + law.nu)
        z = z + torch.from_numpy(law.first) @ moved
    distance, gradients, spreads = np.array(found).T
    return MeanPath(distance, gradients, spreads, smoothness, fed.optimum_error)


@dataclass(frozen=True)
class Law:
    """Law of a round's coefficients, and what it makes of a distance, by the names above.

    Attributes:
        first: p. covariance: C of the past's mean, in sigma. drift: a_i^2 V_i, in delta. nu: nu^2.
    """

    first: np.ndarray
    covariance: np.ndarray
    drift: np.ndarray
    rho: float
    tau: float
    pull: float
    beta: float
    nu: float


def _laws(
    setting: Setting, smoothness: float, convexity: float, rounds: int
) -> tuple[list[ClientRound | ServerRound], Iterable[Law]]:
    """The kinds of round that coefficients are of, and the law of each of the rounds 0..R."""
    fed: Any = setting.federation
    kind = setting.algorithm.kinds[0]
    if isinstance(kind, ClientRound) and isinstance(kind.aggregation, FedAUWeights):
        return [kind], _estimated(setting, kind, smoothness, convexity, rounds)
    first, second, sources = _coefficients(setting)
    steps = [_steps(fed, kind, smoothness, convexity) for kind, count in sources for _ in range(count)]
    factor, move, noise, shift = (
        np.array([getattr(each, name) for each in steps]) for name in ("factor", "move", "noise", "shift")
    )
    covariance = second - np.outer(first, first)
    size = np.abs(covariance)
    law = Law(
        first,
        covariance,
        np.zeros(len(first)),
        rho=float(abs(1 - first.sum()) + first @ factor),
        tau=math.sqrt(move @ size @ move),
        pull=float(first @ shift),
        beta=math.sqrt(shift @ size @ shift),
        nu=float(np.diagonal(second) @ noise**2),
    )
    return [kind for kind, _ in sources], repeat(law, rounds + 1)


def _estimated(setting: Setting, kind: ClientRound, smoothness: float, convexity: float, rounds: int) -> Iterator[Law]:
    """The laws with estimated weights."""
    fed: Any = setting.federation
    who, clients = setting.participation, fed.clients
    if not isinstance(who, Bernoulli):
        raise ValueError(f"participation = {type(who).__name__}: allowed with estimated weights is Bernoulli")
    _check_plain(kind)
    chance = np.array([float(p) for p in who.stationary(clients)])
    step, lr = _steps(fed, kind, smoothness, convexity), _size(kind.local_lr)
    share = float(kind.server.global_lr) * chance / clients  # a
    absent = np.divide(1 - chance, chance, out=np.zeros(clients), where=chance > 0) * share**2  # (1/P - 1) a^2
    present = float(kind.server.global_lr) / clients * share  # a^2/P
    cutoff = kind.aggregation.cutoff  # type: ignore[attr-defined]
    weights = weight_moments(chance, cutoff, rounds + 1)
    along = int(kind.local_steps) * lr
    rest = (1 + lr * smoothness) ** int(kind.local_steps) - 1 - along * smoothness

    def longest(total: float) -> tuple[float, float]:
        """Two bounds on rho where the weights have this sum."""
        ends = max(abs(1 - total * along * convexity), abs(1 - total * along * smoothness))
        return abs(1 - total) + total * step.factor, ends + total * rest

    for round in range(rounds + 1):
        largest = min(cutoff, max(round, 1))
        mean, variance = weights.mean[:, round], weights.variance[:, round]
        square, least = variance + mean**2, share.sum()
        rho = min(max(each) for each in zip(longest(least), longest(largest * least), strict=True))
        yield Law(
            share * mean,
            np.diag(absent * square),
            share**2 * variance,
            rho=rho,
            tau=largest * step.move * math.sqrt(absent.sum()),
            pull=step.shift * float(share @ np.sqrt(square)),
            beta=step.shift * math.sqrt(absent @ square),
            nu=step.noise**2 * float(present @ square),
        )


Source = tuple[ClientRound | ServerRound, int]
"""A kind of round, and how many coefficients it has: one a client, or one for the server."""


def _coefficients(setting: Setting) -> tuple[np.ndarray, np.ndarray, list[Source]]:
    """p, E[c c^T], and what the coefficients are of."""
    algorithm, clients = setting.algorithm, setting.federation.clients
    if algorithm.period is not None or algorithm.adaptive:
        raise ValueError("algorithm: allowed are kinds of round that come with a fixed probability")
    kinds = [algorithm.kinds[0]] if algorithm.kinds[0] == algorithm.kinds[1] else list(algorithm.kinds)
    shares = [1.0] if len(kinds) == 1 else [float(algorithm.share), 1 - float(algorithm.share)]
    sources: list[Source] = [(each, clients if isinstance(each, ClientRound) else 1) for each in kinds]
    total = sum(count for _, count in sources)
    first, second, place = np.zeros(total), np.zeros((total, total)), 0
    for (kind, count), share in zip(sources, shares, strict=True):
        here = slice(place, place + count)
        mean, square = _moments(setting, kind)
        first[here], second[here, here] = share * mean, share * square
        place += count
    return first, second, sources


def _moments(setting: Setting, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """E[c_i] and E[c_i c_j] in rounds of this kind."""
    if isinstance(kind, ServerRound):
        return np.ones(1), np.ones((1, 1))
    clients = setting.federation.clients
    _check_plain(kind)
    process = setting.participation if kind.uniform is None else kind.uniform
    if not process.independent_rounds:
        raise ValueError(f"participation = {type(process).__name__}: allowed is one whose rounds are independent")
    family, weights = weighing(kind.bound(setting.participation, clients), clients)
    if kind.aggregation.remembers:
        raise ValueError(f"aggregation = {type(kind.aggregation).__name__}: allowed is one that remembers nothing")
    draws = draws_of(process, clients)
    scale = np.array([float(weight) for weight in weights])
    first = np.asarray(draws.first(family), dtype=float) * scale
    return first, np.asarray(draws.second(family, family), dtype=float) * np.outer(scale, scale)


def _check_plain(kind: Any) -> None:
    if not isinstance(kind, ClientRound) or not (kind.trains_alike and kind.by_sgd and kind.proximal == 0):
        raise ValueError(
            "algorithm: allowed are rounds of plain SGD, equally many steps of each client, or the server's"
        )
    if kind.selection is not None or not isinstance(kind.server, Plain) or kind.by_rule:
        raise ValueError("algorithm: allowed are step sizes that are numbers, without a selection or a server's memory")


def _check_noise(setting: Setting) -> None:
    fed: Any = setting.federation
    if fed.gradient_noise and fed.noise not in INDEPENDENT_NOISE:
        raise ValueError(f"noise = {fed.noise!r}: allowed is {' or '.join(INDEPENDENT_NOISE)}")
    if fed.gradient_noise and isinstance(setting.participation, LargestNoise):
        raise ValueError("participation = LargestNoise: allowed are participants that are chosen before their noise")


def _steps(fed: ConvexFederation, kind: Any, smoothness: float, convexity: float) -> Step:
    if isinstance(kind, ServerRound):
        return Step.of(kind.steps, _size(kind.server_lr), smoothness, convexity, fed.server_noise)
    return Step.of(int(kind.local_steps), _size(kind.local_lr), smoothness, convexity, fed.gradient_noise)


def _way(fed: ConvexFederation, kind: Any) -> Callable[[Any], Any]:
    """D of every client, (clients, D), or of the server, (1, D), at a point z (D,)."""
    if isinstance(kind, ServerRound):
        return lambda z: _descended(fed.global_gradient, z[None], kind.steps, _size(kind.server_lr)) - z
    everyone = Pairs.of(torch.ones(1, fed.clients, dtype=torch.bool), torch.arange(1), seed=0, round=0)

    def way(z: Any) -> Any:
        start = z.expand(fed.clients, -1)
        return _descended(lambda x: fed.exact_gradient(x, everyone), start, kind.local_steps, _size(kind.local_lr)) - z

    return way


def _descended(gradient: Callable[[Any], Any], x: Any, steps: int, lr: float) -> Any:
    for _ in range(steps):
        x = x - lr * gradient(x)
    return x


def _size(lr: Any) -> float:
    if isinstance(lr, StepRule):
        raise ValueError(f"step size {lr.text}: allowed is a number")
    return float(lr)
