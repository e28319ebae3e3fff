"""Networks that differ in who holds which points alone, as one federation, whose replicas are theirs in turn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from ..neural.batches import Samples, Visits
from ..neural.local_solver import SGD, State
from ..neural.local_update import Sized
from ..neural.model_evaluation import per_sample
from .federation import Asked, Pairs
from .local_training import LocalTraining
from .network import Network
from .network_data import samples_of, test_rows
from .network_evaluation import holders_means, kept
from .visits import Minibatches


@dataclass(frozen=True, eq=False)
class MinibatchesOfRuns(Minibatches):
    """Minibatches where each run has holders of its own: ``sizes`` are those of the first run, then of the second, ...

    A pair's draws are keyed by its client, as in a run alone; which points these are follows from its run.

    Attributes:
        runs: their number.
        replicas: of each run.
    """

    runs: int = 1
    replicas: int = 1

    @property
    def visited_sizes(self) -> np.ndarray:
        of_runs = self.known_sizes.reshape(self.runs, -1)
        return of_runs[:, : of_runs.shape[1] - self.servers].flatten()

    def holder(self, pairs: Pairs) -> Tensor:
        return pairs.client + len(self.sizes) // self.runs * (pairs.replica_id // self.replicas)

    def known_holder(self, pairs: Pairs) -> np.ndarray:
        run = pairs.replica_id.cpu().numpy() // self.replicas
        return pairs.known_client + len(self.sizes) // self.runs * run


class PackedNetworks(Network):
    """Networks as one federation: replica n is one of network n // R, on whose points it trains and is tested.

    Args:
        networks: alike in all but which points each client, and the server, hold.
        replicas: R, of each network.

    Raises:
        ValueError: networks that differ in more.
    """

    def __init__(self, networks: Sequence[Network], replicas: int = 1) -> None:
        first = networks[0]
        kinds = [(each.alike, each.objective_weight, each.partition.test is None) for each in networks]
        if any(kind != kinds[0] for kind in kinds):
            raise ValueError("networks: allowed in one batch are such as differ in who holds which points alone")
        self.__dict__ |= {name: value for name, value in vars(first).items() if name not in ("alike", "_identity")}
        self._original, self._points, self._footprints, self._working = None, {}, {}, None
        self._latest = (self._device, self._precision), self._points
        self.networks, self.replicas = tuple(networks), replicas
        rows = torch.cat([each._rows for each in networks])
        self._held, self._places = rows.unique(return_inverse=True)

        def together(rules: list[Minibatches]) -> MinibatchesOfRuns:
            one, sizes, runs = rules[0], torch.cat([each.sizes for each in rules]), len(rules)
            kind = one.batch_size, one.sampling, one.epochs, one.drop_last, one.servers
            return MinibatchesOfRuns(sizes, *kind, runs, replicas)

        self._batches = together([each._batches for each in networks])
        self._servers_batches = together([each._servers_batches for each in networks])

    @kept
    def samples(self) -> Samples:
        """All points that somebody holds, each once."""
        found = samples_of(self.dataset, self._held, self._precision, self.augmentation is not None)
        return found.to(self._device)

    @kept
    def _rows_of_points(self) -> Tensor:
        """The place among ``samples`` of each holder's points, run after run."""
        return self._places.to(self._device)

    def _drawn(self, pairs: Pairs, batches: Minibatches, first: int, steps: int) -> Visits:
        visits = super()._drawn(pairs, batches, first, steps)
        return replace(visits, index=self._rows_of_points[visits.index])

    def way(self, training: LocalTraining) -> Hashable:
        """Return what rounds of these networks have to share to be trained in one batch: all but how large plain
        steps are, in the path "grouped" with batches that are drawn point by point."""
        own_sizes = self.path == "grouped" and self._batches.sampling == "independent" and self._working is None
        plain = training.solver == SGD() and training.proximal == 0 and not self.model.statistics
        sizes = None if own_sizes and plain else training.sizes
        return id(self.networks), self.path, training.steps, training.proximal, training.solver, sizes

    def changes_together(self, asked: Sequence[Asked]) -> list[tuple[Tensor, State]]:
        visits = Visits.joined([self.visits(each.pairs, each.pairs.step, each.training.steps) for each in asked])
        start, first = torch.cat([each.start for each in asked]), asked[0]
        state = {name: torch.cat([each.state[name] for each in asked]) for name in first.state}
        spans = [
            Sized(sum(len(each.start) for each in some), sizes)
            for sizes, some in groupby(asked, lambda each: each.training.sizes)
        ]
        models, state = self._visited(start, visits, first.training, state, spans if len(spans) > 1 else ())
        counts = [len(each.start) for each in asked]
        states = {name: value.split(counts) for name, value in state.items()}
        changes = (models - start).split(counts)
        return [(change, {name: parts[i] for name, parts in states.items()}) for i, change in enumerate(changes)]

    # evaluation: all points are evaluated once, for all replicas

    @kept
    def _clients_points(self) -> list[tuple[Tensor, Tensor]]:
        """For each run the places of clients' points among ``samples``, one client after the other, and their sizes."""
        found, begin = [], 0
        for each in self.networks:
            ends = each._starts
            places = self._places[begin : begin + ends[self.clients]]
            found.append((places.to(self._device), each.sizes.to(self._device)))
            begin += ends[-1]
        return found

    @kept
    def _tested_on(self) -> list[tuple[Tensor, Tensor]]:
        """The same of the test points, among ``_test_samples``."""
        found, begin = [], 0
        for each in self.networks:
            sizes = [len(part) for part in each.partition.test or ()]
            places = self._test_places[begin : begin + sum(sizes)]
            found.append((places.to(self._device), torch.tensor(sizes, device=self._device)))
            begin += sum(sizes)
        return found

    @kept
    def _test_rows(self) -> tuple[Tensor, Tensor]:
        rows = torch.cat([test_rows(self.dataset, each.partition)[1] for each in self.networks])
        return rows.unique(return_inverse=True)

    @property
    def _test_places(self) -> Tensor:
        return self._test_rows[1]

    @kept
    def _test_samples(self) -> Samples:
        """All points on which somebody is tested, each once."""
        part, _ = test_rows(self.dataset, self.partition)
        return samples_of(part, self._test_rows[0], self._precision, False).to(self._device)

    def client_losses(self, x: Tensor, of: str = "train") -> tuple[Tensor, Tensor]:
        if of == "test" and self.partition.test is None:
            return super().client_losses(x, of)
        points, runs = (self.samples, self._clients_points) if of == "train" else (self._test_samples, self._tested_on)
        return self._means(x, points, runs)

    def _means(self, x: Tensor, points: Samples, runs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """Mean loss and accuracy over each client's points of each replica's run, (replicas, clients) float64."""
        if len(x) != self.replicas * len(runs):
            raise ValueError(f"x has {len(x)} rows: allowed is one for each of {self.replicas * len(runs)} replicas")
        losses, right = per_sample(self.model, x, points, self.at_once)
        right &= losses.isfinite()
        found = []
        for (places, sizes), first in zip(runs, range(0, len(x), self.replicas), strict=True):
            own = slice(first, first + self.replicas)
            holder = torch.arange(len(sizes), device=x.device).repeat_interleave(sizes, output_size=len(places))
            found.append([holders_means(each[own][:, places], holder, sizes) for each in (losses, right)])
        loss, accuracy = (torch.cat(each) for each in zip(*found, strict=True))
        return loss, accuracy

    def training_accuracy(self, x: Tensor) -> Tensor:
        if not self.dataset.classes or self.accuracy_points is None:
            return super().training_accuracy(x)
        most, runs = self.accuracy_points, []
        for places, sizes in self._clients_points:
            chosen = torch.cat([each[:most] for each in places.split(sizes.tolist())])
            runs.append((chosen, sizes.clamp(max=most)))
        return self._over_clients(self._means(x, self.samples, runs)[1])

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        raise ValueError("exact gradients: allowed of runs alone, not of several in one batch")

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        raise ValueError("a loss at all points of a client: allowed of runs alone, not of several in one batch")

    def global_gradient(self, x: Tensor) -> Tensor:
        raise ValueError("exact gradients: allowed of runs alone, not of several in one batch")
