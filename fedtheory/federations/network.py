"""A network with its clients' data, as one more federation."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..arguments import check_kind
from ..data import Dataset, Partition
from ..data.partition import Scheme
from ..data.partition.split import targets
from ..neural.augmentation import Augmentation
from ..neural.batches import Samples, Visits
from ..neural.flat import LOSSES, FlatModel
from ..neural.gradients import CHOSEN, PATHS, choose_path, gradients
from ..neural.grouped import refusal
from ..neural.local_solver import State
from ..neural.local_update import Sized, local_update
from ..neural.model_evaluation import per_sample
from ..neural.packed import PRECISIONS
from ..neural.training_workers import Workers
from ..randomness import Axis, in_memory, words
from ..rationals import checked_count, option
from .devices import find_device, find_dtype
from .federation import Footprint, Pairs
from .local_training import LocalTraining
from .memory_ledger import peak_bytes
from .network_data import check_partition, samples_of, server_rows, tell_what_is_lacking
from .network_evaluation import Evaluated, kept, some, weighted_gradient
from .visits import AHEAD, Minibatches


class Network(Evaluated):
    r"""A network f(x, .) with flat parameters x, whose data are split between clients.

    Client i holds points (a_s, y_s), s = 1..n_i, and F_i(x) = (1/n_i) sum_s loss(f(x, a_s), y_s), F = (1/M) sum_i F_i:
    clients count equally, however many points they hold, unless ``objective`` is "samples": F = sum_i n_i F_i / sum n.
    Losses are the model's; by default cross-entropy, and |f(x, a_s) - y_s|^2 / 2 of data with targets of regression.

    A stochastic gradient is that of the mean loss over a minibatch, drawn by (seed, replica, client, round, step), as
    the masks of dropout and the augmentation of images are: nothing depends on what shares the batch. Without dropout
    and augmentation, and with independent minibatches, it is unbiased for grad F_i. ``loss`` and exact gradients are
    those of evaluation: of all points, without dropout and augmentation.

    Every replica starts from weights of its own, drawn by (seed, replica), unless the setting gives a start.

    Args:
        model: an ``nn.Module`` that maps features (B, ...) to scores (B, classes), or a ``FlatModel``, which has
            options for its losses, its buffers (refused unless it says otherwise) and its initial weights.
        dataset: images, text or vectors; images are seen as (x / 255 - mean) / std, if the data set has a
            normalisation.
        partition: which points each client has, or a scheme that says so.
        batch_size: B, the points of a minibatch; ``None``: all of the client's, and then there is no noise, so that
            dropout and augmentation are refused.
        sampling: "independent", "shuffled" or "one pass" (see ``Minibatches``).
        local_epochs: E: a visit is E passes over the client's points, so that clients with more points make more steps;
            "one pass" is E = 1. It ends earlier if the algorithm asks for fewer steps: ``visit_steps`` are enough.
        objective: "clients" or "samples", by which the F_i are weighed in F, and the clients' accuracies in the mean.
        drop_last: whether an epoch leaves out the points after its last whole batch.
        augmentation: of images in training, see ``neural.augmentation``.
        path: how gradients of several pairs are computed: "auto" (by a rule of layers, sizes and device), "timed" (what
            a trial finds fastest, which another process may find otherwise), or one of ``neural.gradients.PATHS``.
        precision: "float32", or "bfloat16" for the layers that autocast takes.
        server_points: how many points the server holds for gradients of its own (SAFARI): drawn once, uniformly and
            without replacement, from all clients' points, of which it has copies. ``None``: the server has no data.
        server_batch_size: the points of its minibatches; by default ``batch_size``.
        server_seed: of the draw of the server's points.
        accuracy_points: the training accuracy is that of at most so many points of each client (the first of them);
            ``None``: of all.
        workers: processes of one thread each among which a CPU's pairs are shared out, in place of threads; 0: none.
            They start with a run and end with it. A program that uses them has to be a file whose own work is under
            ``if __name__ == "__main__"``, since they import it.

    Raises:
        ValueError: an argument outside its range, data that the model does not fit, a partition of other data.

    Source: McMahan et al. (2017) for the problem; SAFARI, section 4, for the server's points.

    >>> from fedtheory import data
    >>> scheme = data.Dirichlet(clients=50, alpha=0.3)
    >>> net = Network(torch.nn.Linear(64, 10), data.load("digits"), scheme, batch_size=16)
    >>> net.clients, net.dimension
    (50, 650)
    """

    dtype = torch.float32

    def __init__(
        self,
        model: nn.Module | FlatModel,
        dataset: Dataset,
        partition: Partition | Scheme,
        batch_size: int | None = 32,
        *,
        sampling: str = "independent",
        local_epochs: int | None = None,
        drop_last: bool = False,
        objective: str = "clients",
        augmentation: Augmentation | None = None,
        path: str = "auto",
        precision: str = "float32",
        server_points: int | None = None,
        server_batch_size: int | None = None,
        server_seed: int = 0,
        accuracy_points: int | None = None,
        workers: int = 0,
    ) -> None:
        check_kind("model", model, (nn.Module, FlatModel), "a torch module, such as torch.nn.Linear(64, 10)")
        check_kind("dataset", dataset, Dataset, 'a data set, such as data.load("digits")')
        check_kind("partition", partition, (Partition, Scheme), "a partition, such as data.Uniform(clients=3)")
        option("objective", objective, ("clients", "samples"))
        for name, value, allowed in (("path", path, (*CHOSEN, *PATHS)), ("precision", precision, PRECISIONS)):
            option(name, value, allowed)
        if augmentation is not None and dataset.kind != "images":
            raise ValueError(f"augmentation of {dataset.kind}: allowed is that of images")
        workers = checked_count("workers", workers, 0)
        if not isinstance(model, FlatModel):
            model = FlatModel(model, "cross_entropy" if dataset.classes else "squared_error")
        self.model = model
        if path == "grouped" and (why := refusal(self.model)) is not None:
            raise ValueError(f"path = 'grouped': {why}; allowed is auto, timed, loop or vmap")
        self.workers = workers
        self._working: Workers | None = None
        self.dimension = self.model.dimension
        self.least_loss = 0.0 if self.model.losses in LOSSES.values() else None
        self.partition = partition.split(dataset) if isinstance(partition, Scheme) else partition
        check_partition(self.partition, dataset)
        tell_what_is_lacking(self.partition, dataset)
        self.dataset = self.partition.seen(dataset)
        self.augmentation, self.path, self.precision = augmentation, path, precision
        self.clients = self.partition.clients
        if objective == "samples":
            points = [len(part) for part in self.partition.train]
            self.objective_weight = tuple(Fraction(n, sum(points)) for n in points)
        self.batch_size = batch_size
        for name, count in (
            ("server_points", server_points),
            ("server_batch_size", server_batch_size),
            ("accuracy_points", accuracy_points),
            ("batch_size", batch_size),
        ):
            if count is not None:
                checked_count(name, count, allowed="an integer >= 1, or None")
        if batch_size is None and (self.model.has_dropout or augmentation is not None):
            raise ValueError("batch_size = None: with dropout or augmentation allowed is an integer >= 1")
        self.accuracy_points, self.server_points = accuracy_points, server_points
        rows = [torch.from_numpy(np.asarray(part)) for part in self.partition.train]
        if server_points is not None:
            rows.append(server_rows(torch.cat(rows), server_points, server_seed))
        self._rows = torch.cat(rows)
        self._starts = [0, *np.cumsum([len(part) for part in rows]).tolist()]
        if local_epochs is not None:
            if batch_size is None or sampling == "shuffled":
                raise ValueError(
                    f"local_epochs = {local_epochs}: allowed with a batch_size, and without sampling = 'shuffled'"
                )
            sampling = "one pass"
        held = torch.tensor([len(part) for part in rows])
        epochs = 1 if local_epochs is None else local_epochs
        self._batches = Minibatches(held, batch_size or 1, sampling, epochs, drop_last, int(server_points is not None))
        self._servers_batches = Minibatches(self._batches.sizes, server_batch_size or batch_size or 1)
        self._server_has_all = server_batch_size is None and batch_size is None
        self.classes = self._check_model()
        self._device, self._precision = torch.device("cpu"), self.dtype
        self._points: dict[str, Any] = {}
        self._original: Network | None = None  # that ``to`` has copied
        self._latest = (self._device, self._precision), self._points
        self._footprints: dict[Any, tuple[int, Footprint]] = {}  # by way of training, of all copies

    def _check_model(self) -> int:
        """Return how many classes the model tells apart; raise ``ValueError`` if it does not take the data."""
        few = samples_of(self.dataset, self._rows[:2], self.dtype, self.augmentation is not None)
        classes = self.model.check(few.of(torch.arange(len(few))[None])[0], few.labels)
        if classes < self.dataset.classes:  # 0 of both in regression
            raise ValueError(
                f"the model has scores of {classes} classes: allowed is at least {self.dataset.classes}, "
                f"the classes of {self.dataset.name!r}"
            )
        return classes

    # Where, and in which precision.

    def to(self, device: torch.device | str = "cpu", dtype: torch.dtype | str = torch.float32) -> Network:
        place, source = (find_device(device), find_dtype(dtype, self.dtype)), self._original or self
        if source._latest[0] != place:
            source._latest = place, {}
        moved = copy.copy(source)
        moved._original, (moved._device, moved._precision) = source, place
        moved._points = source._latest[1]  # which may be there already
        moved.model = copy.deepcopy(self.model)
        moved.model.module.to(moved._device)
        moved._batches, moved._servers_batches = (
            each.to(moved._device) for each in (self._batches, self._servers_batches)
        )
        return moved

    @kept
    def samples(self) -> Samples:
        """All holders' points, one holder after the other."""
        found = samples_of(self.dataset, self._rows, self._precision, self.augmentation is not None)
        return found.to(self._device)

    # Training.

    @property
    def deterministic(self) -> bool:
        return self.batch_size is None and self.unbiased and (self.server_points is None or self._server_has_all)

    @property
    def unbiased(self) -> bool:
        """Whether stochastic gradients are unbiased given all that was before: neither dropout nor augmentation, and
        minibatches that are drawn independently."""
        plain = not self.model.has_dropout and self.augmentation is None
        return plain and (self.batch_size is None or self._batches.sampling == "independent")

    @property
    def starts(self) -> bool:
        return True

    def initial(self, seed: int, replica_ids: Tensor) -> Tensor:
        """The model's initial weights of each replica, (replicas, D), on the CPU: a function of (seed, replica)."""
        own = words(seed, Axis.INITIAL, replica_ids) & (2**63 - 1)  # what torch's generator takes as a seed
        return torch.stack([self.model.initial(int(each)) for each in own])

    def gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        self._check(x, pairs)
        if self.batch_size is None and self.unbiased:
            return self.exact_gradient(x, pairs)
        visits = self.visits(pairs, pairs.step, 1)
        found = gradients(self.model, x, visits.batches(self.samples, 0, self.augmentation), self.path, self.precision)
        if visits.weights is None:
            return found[1]
        return torch.where((visits.weights[:, 0] > 0).any(1)[:, None], found[1], 0.0)

    def local_update(self, start: Tensor, pairs: Pairs, training: LocalTraining, state: State) -> tuple[Tensor, State]:
        self._check(start, pairs)
        if self.batch_size is None and self.unbiased:
            return super().local_update(start, pairs, training, state)
        visits = self.visits(pairs, pairs.step, training.steps)
        return self._visited(start, visits, training, state)

    def _visited(
        self, start: Tensor, visits: Visits, training: LocalTraining, state: State, spans: Sequence[Sized] = ()
    ) -> tuple[Tensor, State]:
        """Train on minibatches that are drawn; ``spans`` are those of ``neural.local_update``."""
        trained = self.model.trained
        own = {
            name: value[:, :trained] if value.shape[1:] == (self.dimension,) else value for name, value in state.items()
        }
        options: dict[str, Any] = {
            "proximal": training.proximal,
            "augmentation": self.augmentation,
            "path": self.path,
            "precision": self.precision,
            "spans": spans,
        }
        if self._working is not None:
            done = self._working.local_update(start, visits, training.sizes, training.solver, state=own, **options)
        else:
            done = local_update(
                self.model, start, self.samples, visits, training.sizes, training.solver, state=own, **options
            )
        return done.models, {name: _widened(value, state[name]) for name, value in done.state.items()}

    def choose(self, training: LocalTraining, x: Tensor) -> Network:
        """Return the network with a path for batches of this size, by the rule or "timed" on eight pairs."""
        if self.path not in CHOSEN or (self.batch_size is None and self.unbiased):
            return self
        if self.model.statistics:  # what batches change is followed pair by pair
            return self.with_choices({"path": "loop"})
        who = self.of_holder(int(self.sizes.argmax()), torch.zeros(8, dtype=torch.int64, device=x.device), 0, 0)
        batches = self.visits(who, 0, 1).batches(self.samples, 0, self.augmentation)
        return self.with_choices({"path": choose_path(self.model, x.expand(8, -1), batches, self.precision, self.path)})

    @property
    def choices(self) -> dict[str, str]:
        exact = self.batch_size is None and self.unbiased
        shared = {} if self.path == "loop" or exact else {"workers": str(self.workers)}
        return {"path": "exact" if exact else self.path, **shared, "evaluated_at_once": str(self.at_once)}

    def with_choices(self, choices: Mapping[str, str]) -> Network:
        if self.path not in CHOSEN or choices.get("path") not in PATHS:
            return self
        chosen = copy.copy(self)
        chosen.path = choices["path"]
        return chosen

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run the worker processes meanwhile, if there are to be any."""
        if self.workers == 0 or self._device.type != "cpu":
            yield
            return
        with Workers(self.model, self.samples, self.workers) as self._working:
            try:
                yield
            finally:
                self._working = None

    def footprint(self, training: LocalTraining, x: Tensor, limit: int) -> Footprint:
        """Measure the memory on at most two steps of one pair and of two, once for each way of training.

        Draws and evaluation are counted.
        """
        way = replace(training, lr=0.0), self.path, self.workers, x.dtype, x.device
        if way not in self._footprints:
            self._footprints[way] = measured_footprint(self, training, x, limit)
        one, found = self._footprints[way]
        check_one(one, limit)
        return found

    def server_gradient(self, x: Tensor, replica_ids: Tensor, seed: int, round: int, draw: int = 0) -> Tensor:
        """Compute the gradient of the mean loss over a minibatch of the server's own points, (replicas, D).

        Without dropout and augmentation it is unbiased for the loss on those points. The server draws as one more
        client, with the number after the last one's.

        Raises:
            ValueError: the server holds no points.
        """
        if self.server_points is None:
            raise ValueError("server_points = None: allowed is how many points the server holds, for steps of its own")
        pairs = self.of_holder(self.clients, replica_ids, seed, round)
        if self._server_has_all:
            return self.exact_gradient(x, pairs)
        visits = self._drawn(pairs, self._servers_batches, draw, 1)
        batches = visits.batches(self.samples, 0, self.augmentation)
        return gradients(self.model, x, batches, self.path, self.precision)[1]

    def of_holder(self, holder: int, replica_ids: Tensor, seed: int, round: int) -> Pairs:
        """Return pairs of one client, or of the server, whose number is the one after the last client's."""
        count, holders = len(replica_ids), len(self._starts) - 1
        client = torch.full_like(replica_ids, holder)
        replica = torch.arange(count, device=replica_ids.device)
        sizes = np.zeros(holders, dtype=np.int64)
        sizes[holder] = count
        offsets = torch.tensor([0, *sizes.cumsum().tolist()], device=replica_ids.device)
        return Pairs(client, replica, replica_ids, offsets, seed, round, _known={"sizes": sizes})

    @property
    def visit_steps(self) -> int:
        """The most steps of a client's visit of ``local_epochs``, E ceil(n / B), or E floor(n / B) with ``drop_last``:
        local_steps of algorithms that let every visit end by itself.

        Raises:
            ValueError: visits end with the algorithm's local_steps only.
        """
        if self._batches.sampling != "one pass":
            raise ValueError(f"sampling = {self._batches.sampling!r}: allowed is 'one pass', or local_epochs")
        return int(self._batches.steps_of_visits(self._batches.known_sizes[: self.clients]).max())

    def visits(self, pairs: Pairs, first: int, steps: int) -> Visits:
        """Return the ``samples`` that each pair uses in the steps ``first`` to ``first + steps - 1``, and the keys of
        other draws."""
        return self._drawn(pairs, self._batches, first, steps)

    def _drawn(self, pairs: Pairs, batches: Minibatches, first: int, steps: int) -> Visits:
        return batches.of(pairs, first, steps, self.model.has_dropout, self.augmentation is not None)

    def identity(self, server: bool = False) -> bytes:
        """A hash of the model, of the data and of how they are used."""
        return (self._original or self)._identity

    @cached_property
    def _identity(self) -> bytes:
        content = self._model_and_use()
        content.update(self._rows.numpy().tobytes() + self._batches.sizes.numpy().tobytes())
        self._add_data(content)
        return content.digest()

    @cached_property
    def alike(self) -> bytes:
        """A hash of all but who holds which points."""
        content = self._model_and_use()
        self._add_data(content)
        return content.digest()

    def _model_and_use(self) -> hashlib._Hash:
        options = (
            self.batch_size,
            str(self._batches),
            repr(self.augmentation),
            self.precision,
            self.accuracy_points,
            self.server_points,
            self._servers_batches.batch_size,
            self._server_has_all,
            *(() if self.objective_weight is None else ("by samples",)),
        )
        content = hashlib.sha256(repr((str(self.model.module), tuple(self.model.shapes.items()), options)).encode())
        content.update(self.model.initial(0).numpy().tobytes())
        return content

    def _add_data(self, content: hashlib._Hash) -> None:
        for array in (self.dataset.features, targets(self.dataset)):
            content.update(np.ascontiguousarray(array).tobytes())


def _widened(value: Tensor, like: Tensor) -> Tensor:
    """``value`` in the first coordinates of ``like``."""
    if value.shape == like.shape:
        return value
    wide = like.clone()
    wide[:, : value.shape[1]] = value
    return wide


_POINT = 40  # bytes of a point in an evaluation: its loss, whether it is right, its holder, and copies of these
_DRAW = 96  # bytes of a point of a batch while it is drawn
_KERNELS = 1.25  # what libraries take besides tensors, relative to these
_TRIAL_STEPS = 2


def measured_footprint(net: Network, training: LocalTraining, x: Tensor, limit: int) -> tuple[int, Footprint]:
    """Measure the bytes that one client's local training takes, and the footprint.

    The footprint follows from the training of one pair and of two, and an evaluation.

    Raises:
        ValueError: as ``check_one``.
    """
    trial = replace(training, steps=min(training.steps, _TRIAL_STEPS), lr=0.0)
    largest = int(net.sizes.argmax())

    def train(pairs: int) -> int:
        # Replicas of one client, since their number is not bounded by that of the clients.
        who = net.of_holder(largest, torch.zeros(pairs, dtype=torch.int64, device=x.device), 0, 0)
        start = x.expand(pairs, -1).contiguous()
        return peak_bytes(lambda: net.local_update(start, _as_clients(net, who), trial, trial.solver.start(start)))

    train(1)  # what is set up once counts in no measurement
    one = train(1)
    check_one(one, limit)
    pair = max(train(2) - one, x.nbytes)
    few = some(net.samples, slice(0, min(net.at_once, len(net.samples))))
    weights = torch.ones(len(few), dtype=torch.float64, device=x.device)
    evaluated = max(
        peak_bytes(lambda: per_sample(net.model, x, few, net.at_once)),
        peak_bytes(lambda: weighted_gradient(net.model, x, few, weights, net.at_once)),
    )
    drawn = _DRAW * (training.steps * (net.batch_size or 1) + int(net.sizes.max()))
    ahead = 0 if in_memory(x) else _DRAW * AHEAD
    base = int(_KERNELS * (max(one - pair, 0) * max(1, net.workers) + evaluated)) + ahead
    return one, Footprint(base, int(_KERNELS * (pair + x.nbytes)) + drawn, _POINT * len(net.samples))


def check_one(one: int, limit: int) -> None:
    """Raise ``ValueError`` if one client's training needs more than ``limit``."""
    if one > limit:
        raise ValueError(f"memory_limit = {limit}: the training of one client needs {one} bytes; allowed is more")


def _as_clients(net: Network, pairs: Pairs) -> Pairs:
    """Return the pairs without the server's place."""
    return replace(pairs, offsets=pairs.offsets[: net.clients + 1])
