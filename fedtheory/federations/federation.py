"""The interface of federations, and the bookkeeping of the clients that compute in a round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from ..extras import is_tensor, torch
from ..randomness import Axis, normals, rare, refined, scaled_signs, words
from .attendance import listed
from .constants import EXACT, Constant, Constants, Region
from .local_training import LocalTraining, State, local_steps
from .noise_laws import COMMON, ONE_SIDED, rise_of

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True)
class Pairs:
    """The (replica, participating client) pairs of one round, sorted by client.

    Attributes:
        client, replica: (P,) int64; ``replica`` counts rows of the batch, ``replica_id`` is the replica's own number
            (the two differ when replicas run in chunks).
        replica_id: (P,) int64.
        offsets: (clients + 1,) int64; the pairs of client i are ``offsets[i]:offsets[i + 1]``, so that a federation
            can use each client's data once for all its replicas.
        seed, round, step: what, besides client and replica, the draws depend on. The round is a tensor (P,) of pairs
            of several rounds, of which parts are made and keys are drawn; nothing else takes them.
    """

    client: Tensor
    replica: Tensor
    replica_id: Tensor
    offsets: Tensor
    seed: int
    round: int
    step: int = 0
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _whole: tuple[Pairs, int] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, mask: Tensor, replica_ids: Tensor, seed: int, round: int) -> Pairs:
        """Return the pairs where ``mask`` (replicas, clients) is true.

        >>> pairs = Pairs.of(torch.tensor([[True, False], [True, True]]), torch.arange(2), seed=0, round=0)
        >>> pairs.client.tolist(), pairs.replica.tolist(), pairs.offsets.tolist()
        ([0, 0, 1], [0, 1, 1], [0, 2, 3])
        """
        return cls.of_rounds(mask[None], replica_ids, seed, round)[0]

    @classmethod
    def of_rounds(cls, mask: Tensor, replica_ids: Tensor, seed: int, first: int) -> list[Pairs]:
        """Return the pairs of several rounds from the ``first`` on, for ``mask`` (rounds, replicas, clients).

        Their keys are drawn at once.
        """
        round, client, replica, offsets, sizes = listed(mask)
        ids = replica_ids.index_select(0, replica)
        if len(mask) == 1:
            return [cls(client, replica, ids, offsets[0], seed, first, 0, {"sizes": sizes[0]})]
        whole = cls(client, replica, ids, offsets[0], seed, cast(int, round + first), 0, {"sizes of rounds": sizes})
        ends = sizes.sum(1).cumsum().tolist()
        lengths = np.diff([0, *ends]).tolist()
        parts = zip(*(each.split(lengths) for each in (client, replica, ids)), [0, *ends[:-1]], strict=True)
        return [
            cls(c, r, n, offsets[i], seed, first + i, 0, {"sizes": sizes[i]}, (whole, start))
            for i, (c, r, n, start) in enumerate(parts)
        ]

    def at_step(self, step: int) -> Pairs:
        """Return these pairs at another local step."""
        return replace(self, step=step)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Call ``make`` once for all steps of these pairs, and return its result."""
        if name not in self._known:
            self._known[name] = make()
        return cast(T, self._known[name])

    def drawn(self, name: str, make: Callable[[Pairs], Tensor]) -> Tensor:
        """Return these pairs' columns of ``make``'s tensor, (..., P), made once for all pairs that are drawn
        together."""
        whole, start = self.drawn_with
        found = whole.once(name, lambda: make(whole))
        return found if whole is self else found[..., start : start + len(self)]

    def ahead(self, name: str, make: Callable[[Pairs], T], most: int) -> T:
        """Return the rows that ``make`` gives for these pairs, made for a number of coming pairs at once."""
        whole, start = self.drawn_with
        stop = start + len(self)
        begin, end = whole._known.get(f"{name}, where", (0, -1))
        if not begin <= start <= stop <= end:
            begin, end = start, max(stop, min(start + most, len(whole)))
            whole._known[name] = make(whole if end - begin == len(whole) else whole._between(begin, end))
            whole._known[f"{name}, where"] = begin, end
        found = whole._known[name]
        return cast(T, found if stop - start == end - begin else found[start - begin : stop - begin])

    def _between(self, start: int, stop: int) -> Pairs:
        """Those numbered so, of whichever rounds: what is drawn for them, and no more, can be asked of them."""
        chosen, round = slice(start, stop), cast(Any, self.round)
        return replace(
            self,
            client=self.client[chosen],
            replica=self.replica[chosen],
            _whole=(self, start),
            replica_id=self.replica_id[chosen],
            _known={},
            round=cast(int, round[chosen] if is_tensor(round) else round),
        )

    @property
    def known_client(self) -> np.ndarray:
        """``client`` in main memory, for which no device is waited for."""
        whole, start = self.drawn_with
        return whole.once("known client", whole._clients_by_sizes)[start : start + len(self)]

    def _clients_by_sizes(self) -> np.ndarray:
        sizes = self._known["sizes of rounds"] if "sizes of rounds" in self._known else self.sizes[None]
        return np.tile(np.arange(sizes.shape[1]), len(sizes)).repeat(sizes.flatten())

    def known(self, name: str) -> Tensor | None:
        """Return the tensor that was ``drawn`` before under this name for these pairs, if it was."""
        whole, _ = self.drawn_with
        return None if name not in whole._known else self.drawn(name, lambda all: cast("Tensor", all._known[name]))

    @property
    def drawn_with(self) -> tuple[Pairs, int]:
        """All pairs that were drawn at once with these, and how many of them come before these."""
        return self._whole or (self, 0)

    @property
    def sizes(self) -> np.ndarray:
        """The number of pairs of each client, (clients,) int64, in main memory."""
        return self.once("sizes", lambda: self.offsets.diff().cpu().numpy())

    @property
    def place(self) -> Tensor:
        """The flat place of each pair's number in (replicas, clients): replica * clients + client, (P,)."""
        return self.drawn("place", lambda all: all.replica * (len(all.offsets) - 1) + all.client)

    def part(self, start: int, stop: int) -> Pairs:
        """Return the pairs numbered ``start`` to ``stop - 1``.

        >>> pairs = Pairs.of(torch.tensor([[True, False], [True, True]]), torch.arange(2), seed=0, round=0)
        >>> pairs.part(1, 3).replica.tolist(), pairs.part(1, 3).offsets.tolist()
        ([1, 1], [0, 1, 2])
        """
        chosen = slice(start, stop)
        offsets = (self.offsets - start).clamp(0, stop - start)
        whole, first = self.drawn_with
        ends = np.concatenate([[0], self.sizes.cumsum()]) - start
        known = {"sizes": np.diff(ends.clip(0, stop - start))}
        return replace(
            self,
            client=self.client[chosen],
            replica=self.replica[chosen],
            _whole=(whole, first + start),
            replica_id=self.replica_id[chosen],
            offsets=offsets,
            _known=known,
        )

    def __len__(self) -> int:
        return self.client.shape[0]  # len() of a tensor takes longer


class Asked(NamedTuple):
    """Arguments of ``Federation.local_change``."""

    start: Tensor
    pairs: Pairs
    training: LocalTraining
    state: State


class Footprint(NamedTuple):
    """Memory in bytes.

    ``federation`` counts however many pairs train, ``pair`` for each pair that trains at a time, ``replica`` for each
    replica. At most ``together`` pairs are trained at a time, since more would be slower.
    """

    base: int
    pair: int
    replica: int
    together: int = 2**62


class Federation(ABC):
    """Federation of clients i = 1..M with local objectives F_i on R^D and the global objective F = (1/M) sum_i F_i.

    Parameters are flat: a batch of them has shape (P, D) when it goes with ``Pairs`` and (replicas, D) otherwise.
    This is all that local training, aggregation and the engine need; ``ConvexFederation`` knows more.
    """

    clients: int
    dimension: int
    server_noise: float = 0.0
    objective_weight: tuple[Fraction, ...] | None = None
    """phi, where F = sum_i phi_i F_i instead of the mean."""

    @cached_property
    def dtype(self) -> torch.dtype:
        """The precision in which runs compute unless they are told otherwise."""
        return torch.float64

    @abstractmethod
    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        """Compute F_i(x) for each pair, shape (P,), in units of F."""

    @abstractmethod
    def gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        """Draw a stochastic gradient of F_i at x for each pair, shape (P, D), in units of F / x.

        It is unbiased, and drawn afresh for every (replica, client, round, step).
        """

    @abstractmethod
    def to(self, device: torch.device | str = "cpu", dtype: torch.dtype | str = "float64") -> Federation:
        """Return this federation with its tensors on another device or in another precision ("float32", "float64").

        Raises:
            ValueError: there is no such device here, or it is another precision.
        """

    @property
    def deterministic(self) -> bool:
        """Whether ``gradient`` is the gradient of F_i, without noise."""
        return False

    @property
    def starts(self) -> bool:
        """Whether the federation draws an x_0 of its own for each replica, as networks do; else it is 0."""
        return False

    def initial(self, seed: int, replica_ids: Tensor) -> Tensor:
        """Return x_0 of each replica where none is given, (replicas, D), on the CPU: 0, unless the federation
        ``starts``."""
        return torch.zeros(len(replica_ids), self.dimension, dtype=self.dtype)

    def local_update(self, start: Tensor, pairs: Pairs, training: LocalTraining, state: State) -> tuple[Tensor, State]:
        """Train every pair locally from ``start`` (P, D), and return the models and the solver's next state.

        The arguments stay unchanged. The method may be called for parts of a round's pairs.
        """
        return local_steps(self, start, pairs, training, state)

    def local_change(self, start: Tensor, pairs: Pairs, training: LocalTraining, state: State) -> tuple[Tensor, State]:
        """Compute the change of ``start`` by ``local_update``, up to rounding, (P, D), and the solver's new state.

        The engine calls this method.
        """
        x, state = self.local_update(start, pairs, training, state)
        return x - start, state

    def way(self, training: LocalTraining) -> Hashable:
        """Return what rounds have to share to be trained in one batch; ``None``: each is trained alone."""
        return None

    def changes_together(self, asked: Sequence[Asked]) -> list[tuple[Tensor, State]]:
        """Compute ``local_change`` of each, in one batch; all train in one ``way``."""
        return [self.local_change(*each) for each in asked]

    def choose(self, training: LocalTraining, x: Tensor) -> Federation:
        """Return the federation for runs of this kind of training, with all decided that changes results by rounding
        only.

        ``x`` is a replica's, (1, D).
        """
        return self

    @property
    def choices(self) -> dict[str, str]:
        """Return the decisions of ``choose``, and whatever else of this kind a run's bits depend on.

        It is recorded with the run, and one that is taken up again goes on with the same.
        """
        return {}

    def with_choices(self, choices: Mapping[str, str]) -> Federation:
        """Return this federation with these choices."""
        return self

    def working(self) -> AbstractContextManager[object]:
        """Return the context of a run, which sets up what the run needs and puts it away."""
        return nullcontext()

    def footprint(self, training: LocalTraining, x: Tensor, limit: int) -> Footprint:
        """Return the memory of a round besides models and updates, as far as it is known.

        ``x`` is a replica's model, (1, D).
        """
        return Footprint(0, 4 * x.nbytes, 0)

    def proximal_way(self, x: Tensor, pairs: Pairs, weight: float) -> Tensor:
        """Compute argmin_y F_i(y) + (weight/2) |y - x|^2, minus x, for each pair, (P, D); weight > 0.

        Raises:
            ValueError: it is not known exactly here. A quadratic federation overrides this.
        """
        raise ValueError(f"{type(self).__name__} has no exact proximal step: allowed is Quadratic")

    def server_gradient(self, x: Tensor, replica_ids: Tensor, seed: int, round: int, draw: int = 0) -> Tensor:
        """Draw a stochastic gradient of F from the server's own data, shape (replicas, D).

        It is unbiased, and drawn afresh for every (replica, round, draw).

        Raises:
            ValueError: the server has no data here.
        """
        raise ValueError(f"{type(self).__name__} has no server_gradient: allowed is a federation whose server has data")

    def training_accuracy(self, x: Tensor) -> Tensor:
        """Compute the share of a client's training points that x classifies right, averaged over the clients as F is.

        The result is (replicas,) float64 in [0, 1].

        Raises:
            ValueError: nothing is classified here. A federation that classifies overrides this.
        """
        raise ValueError(
            f"{type(self).__name__} has no training accuracy: allowed is a federation that classifies, such as Logistic"
        )

    def constants(self, region: Region | None = None) -> Constants:
        """Return the known constants, on all of R^D or on ``region``.

        They are smoothness, strong_convexity, dissimilarity, dissimilarity_at_optimum and gradient_noise, and
        server_noise where there is any. Each says whether it is exact, a bound in the safe direction, or an
        estimate.
        """
        return Constants({})

    def exact_constants(self) -> dict[str, Fraction]:
        """Return the ``constants`` on all of R^D that are known as Fractions."""
        return {}

    def exact_squared_constants(self) -> dict[str, Fraction]:
        """Return the squares of the ``constants`` on all of R^D whose squares are known as Fractions."""
        return {}

    def identity(self, server: bool = False) -> bytes:
        """Return bytes that tell this federation from others.

        They are the clients' gradients at three random points, and the levels of its noise; with ``server``, also those
        of the server's.
        """
        everyone = Pairs.of(torch.ones(1, self.clients, dtype=torch.bool), torch.zeros(1).long(), 0, 0)
        points = normals(words(0, Axis.GRADIENT_NOISE, torch.arange(3)), self.dimension)
        gradient = getattr(self, "exact_gradient", self.gradient)
        return b"".join(gradient(point.expand(self.clients, -1), everyone).numpy().tobytes() for point in points)


class ExactFederation(Federation):
    """A federation whose losses and gradients can be computed without noise, such as a network's over all data."""

    least_loss: float | None = None
    """A number below which no F_i is, where one is known beforehand."""

    @property
    def unbiased(self) -> bool:
        """Whether the mean of ``gradient``, given all that was before, is ``exact_gradient``."""
        return True

    @abstractmethod
    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        """Compute the gradient of F_i at x for each pair, shape (P, D), in units of F / x."""

    @abstractmethod
    def global_loss(self, x: Tensor) -> Tensor:
        """Compute F(x), shape (replicas,)."""

    @abstractmethod
    def global_gradient(self, x: Tensor) -> Tensor:
        """Compute the gradient of F, shape (replicas, D)."""

    def gradient_from(self, exact: Tensor, x: Tensor, pairs: Pairs) -> Tensor:
        """``gradient`` at x, where the exact one is known already."""
        return self.gradient(x, pairs)


class ConvexFederation(ExactFederation):
    """A federation whose F has one minimiser, which is known, as the clients' gradients are.

    A stochastic gradient is the exact one plus noise of total variance ``gradient_noise ** 2``:
    +-gradient_noise / sqrt(D) in each coordinate ("two-point", the default), or Gaussian of the same covariance, or
    "two-point a" with a whole a > 1, which is rarely a times as much and else -1/a times (see
    ``noise_laws.rise_of``), or "common two-point", the same draw for all clients in a step, or "one-sided
    two-point": none in the coordinates in which the point is not positive, so that the variance depends on it and
    ``gradient_noise ** 2`` bounds it.
    The server's own stochastic gradient of F has noise of the same law, of total variance ``server_noise ** 2``.
    """

    gradient_noise: float
    noise: str
    optimum_error: float = 0.0
    """A proven bound on the distance from ``optimum`` to the true minimiser."""
    optimal_value_error: float = 0.0
    """A proven bound on ``optimal_value`` - min F."""

    @property
    @abstractmethod
    def optimum(self) -> Tensor:
        """The minimiser x* of F, shape (D,), float64."""

    @property
    @abstractmethod
    def optimal_value(self) -> float:
        """The least value F(x*)."""

    @abstractmethod
    def constants(self, region: Region | None = None) -> Constants:
        """All of the constants that ``Federation.constants`` names."""

    @property
    def deterministic(self) -> bool:
        return self.gradient_noise == 0

    def optimum_for(self, x: Tensor) -> Tensor:
        """``optimum`` in the precision and on the device of x; the last one asked for is kept."""
        known = self._optimum_there
        if known is None or known.dtype != x.dtype or known.device != x.device:
            known = self._optimum_there = self.optimum.to(x)
        return known

    _optimum_there: Tensor | None = None

    def gap(self, x: Tensor) -> Tensor:
        """Compute F(x) - F(x*), (replicas,)."""
        return self.global_loss(x) - self.optimal_value

    def gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        return self.with_noise(self.exact_gradient(x, pairs), pairs, x)

    def gradient_from(self, exact: Tensor, x: Tensor, pairs: Pairs) -> Tensor:
        return self.with_noise(exact, pairs, x)

    def with_noise(self, gradient: Tensor, pairs: Pairs, x: Tensor) -> Tensor:
        """Return a stochastic gradient at x from the exact one, (P, D)."""
        if self.gradient_noise == 0:
            return gradient
        return gradient + self.felt(self.draw_noise(pairs, gradient.dtype), x)

    def felt(self, noise: Tensor, x: Tensor) -> Tensor:
        """Return the part of the noise that acts at x."""
        return noise * (x > 0) if self.noise == ONE_SIDED else noise

    def draw_noise(self, pairs: Pairs, dtype: torch.dtype | None = None) -> Tensor:
        """Draw the additive noise of ``gradient``, shape (P, D); where it depends on x, as it is where there is
        most."""
        return self.noise_of(refined(self.noise_keys(pairs), pairs.step), dtype or torch.float64)

    def noise_keys(self, pairs: Pairs) -> Tensor:
        """Return the keys, (P,), from which the noise of a round's steps is drawn once each step has refined them."""

        def draw(pairs: Pairs) -> Tensor:
            client = torch.zeros_like(pairs.client) if self.noise == COMMON else pairs.client
            return words(pairs.seed, Axis.GRADIENT_NOISE, pairs.replica_id, client, pairs.round)

        return pairs.drawn("noise", draw)

    def step_keys(self, pairs: Pairs, steps: int) -> Tensor:
        """The refined keys of the steps ``pairs.step``, ..., (steps, P)."""

        def draw(all: Pairs) -> Tensor:
            numbers = torch.arange(pairs.step, pairs.step + steps, device=all.client.device)
            return refined(self.noise_keys(all), numbers[:, None])

        return pairs.drawn(f"noise of steps {pairs.step} to {pairs.step + steps}", draw)

    def noise_of(self, keys: Tensor, dtype: torch.dtype) -> Tensor:
        """Draw the noise from refined keys, ``keys.shape + (D,)``."""
        return self._noise(keys, self.gradient_noise, dtype)

    def server_gradient(self, x: Tensor, replica_ids: Tensor, seed: int, round: int, draw: int = 0) -> Tensor:
        gradient = self.global_gradient(x)
        if self.server_noise == 0:
            return gradient
        # The server draws as one more client, with the number after the last one's.
        key = words(seed, Axis.GRADIENT_NOISE, replica_ids, self.clients, round, draw)
        return gradient + self.felt(self._noise(key, self.server_noise, gradient.dtype), x)

    def identity(self, server: bool = False) -> bytes:
        noise = [self.gradient_noise, self.noise] + ([self.server_noise] if server else [])
        return super().identity(server) + repr(noise).encode()

    def _known_server_noise(self) -> dict[str, Constant]:
        """``server_noise`` as an entry of ``constants``, where there is any."""
        return {"server_noise": Constant(self.server_noise, EXACT, "as constructed")} if self.server_noise else {}

    def _noise(self, key: Tensor, level: float, dtype: torch.dtype) -> Tensor:
        scale = level / self.dimension**0.5
        if self.noise == "gaussian":
            return normals(key, self.dimension, dtype, scale)
        if rise := self._rise:
            risen = rare(key, self.dimension, 1 / (1 + rise**2))
            values = torch.tensor([-scale / rise, rise * scale], dtype=dtype, device=key.device)
            return values[risen.long()]
        return scaled_signs(key, self.dimension, scale, dtype)

    @property
    def _rise(self) -> int:
        """The factor by which skewed noise rises above its level; 0 where the noise is another."""
        rise = rise_of(self.noise) or 1
        return rise if rise > 1 else 0

    @property
    def has_fair_signs(self) -> bool:
        """Whether noise has one size and a fair sign in each coordinate."""
        return self.noise != "gaussian" and not self._rise
