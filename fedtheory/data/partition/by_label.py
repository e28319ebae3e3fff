"""Partitions by label: every client has a label distribution, or a few labels, of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arguments import check_option
from ..dataset import Dataset
from .balanced import drawn as balanced_draw
from .dirichlet_draws import SMALL, log_dirichlet, relative, within
from .split import Drawn, ForClients, check_alpha, check_count, class_labels, enough_for_each

OVER, ROUNDING, CHOICES = ("classes", "clients"), ("down", "nearest"), ("random", "even")


@dataclass(frozen=True, kw_only=True)
class Uniform(ForClients):
    """Samples dealt at random, whatever their labels: sizes differ by at most 1, and every sample is given.

    >>> from fedtheory.data import load
    >>> sorted(set(Uniform(clients=100).split(load("digits")).sizes.tolist()))
    [17, 18]
    """

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        return Drawn(self.dealt(dataset, rng))


@dataclass(frozen=True, kw_only=True)
class Dirichlet(ForClients):
    """The balanced Dirichlet partition: floor(N / clients) samples each, labels from pi_i ~ Dirichlet(alpha, ...).

    See ``dirichlet``, which draws it: ``split`` gives the same parts for the same seed. ``distributions`` are the pi_i.

    >>> from fedtheory.data import load
    >>> Dirichlet(clients=50, alpha=0.3).split(load("digits")).sizes.tolist() == [35] * 50
    True
    """

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_alpha("alpha", self.alpha)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        parts, distributions = balanced_draw(class_labels(dataset), self.clients, self.alpha, self.seed)
        return Drawn(parts, distributions=distributions)


@dataclass(frozen=True, kw_only=True)
class LabelDirichlet(ForClients):
    """The unbalanced partition: each class is cut between the clients in random proportions; every sample is given.

    Attributes:
        clients: how many.
        alpha: concentration; small: few labels a client.
        over: "classes": client i draws pi_i ~ Dirichlet(alpha, ...) over the classes, and gets the share
            pi_i[c] / sum_j pi_j[c] of class c; ``distributions`` are the pi_i. "clients": class c draws its shares
            p_c ~ Dirichlet(alpha, ...) over the clients.
        rounding: of the places where a class is cut, "down" or to the "nearest".
        least: if some client gets fewer samples, everything is drawn again, at most 1000 times; the partition's
            ``redraws`` say how often. Its law is then that of shares given that every client gets so many.

    Sources: "classes", rounded down: the public code of FAST; rounded to the nearest: that of FedAU, whose paper has
    the pi_i (appendix C.6.2) and leaves sizes open; its class-dependent participation (C.6.1) is
    ``participation.participation_probabilities(parts.distributions, q)``, where its public code has the shares that
    came out, ``parts.label_shares(labels)``. "clients": M. Yurochkin and others, "Bayesian nonparametric federated
    learning of neural networks", 2019, with ``least`` = 10.

    >>> from fedtheory.data import load
    >>> parts = LabelDirichlet(clients=10, alpha=0.5).split(load("digits"))
    >>> int(parts.sizes.sum()), len(set(parts.sizes.tolist())) > 1
    (1797, True)
    """

    alpha: float
    over: str = "classes"
    rounding: str = "down"
    least: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("least", self.least)
        check_alpha("alpha", self.alpha)
        for name, value, allowed in (("over", self.over, OVER), ("rounding", self.rounding, ROUNDING)):
            check_option(name, value, allowed)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        labels = class_labels(dataset)
        classes = [np.flatnonzero(labels == c) for c in range(dataset.classes)]

        def draw() -> tuple[np.ndarray, Any]:
            shares, distributions = self._shares(len(classes), rng)
            ends = np.cumsum(shares, axis=0) / shares.sum(axis=0)
            cuts = ends * [len(samples) for samples in classes]
            places = np.floor(cuts) if self.rounding == "down" else np.rint(cuts)
            sizes = np.diff(places, axis=0, prepend=0)
            sizes[-1] += [len(samples) - place for samples, place in zip(classes, places[-1], strict=True)]
            return sizes.sum(axis=1), (places, distributions)

        found, redraws = enough_for_each(draw, self.clients, self.alpha, self.least, len(dataset))
        places, distributions = found
        return Drawn(self._cut(classes, places, rng), distributions=distributions, redraws=redraws)

    def _cut(self, classes: list[np.ndarray], places: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """The samples of each client: each class in random order, cut at its places."""
        pieces = [np.split(rng.permutation(samples), places[:-1, c].astype(int)) for c, samples in enumerate(classes)]
        return [np.concatenate([piece[client] for piece in pieces]) for client in range(self.clients)]

    def _shares(self, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        """(clients, classes), columns with a positive sum; and what ``distributions`` are.

        The largest of the clients' shares of a class is below t with probability t^(alpha clients) or so: where that
        exponent is small, all of them may be too small for numbers, and logarithms are compared.
        """
        if self.over == "clients":
            return rng.dirichlet(np.full(self.clients, within(self.alpha)), size=classes).T, None
        if self.alpha < SMALL and self.alpha * self.clients < 1:
            logs = log_dirichlet(rng, self.alpha, self.clients, classes)
            return relative(logs, axis=0), np.exp(logs)
        shares = rng.dirichlet(np.full(classes, within(self.alpha)), size=self.clients)
        return shares, shares


@dataclass(frozen=True, kw_only=True)
class LabelsPerClient(ForClients):
    """Each client has samples of a few labels, equally many of each, and all clients equally many.

    Attributes:
        clients: how many.
        labels: of each client, 1 to the number of classes.
        samples: of each client; by default floor(N / clients), and if parts are disjoint at most what the label wanted
            most often allows. Its labels get floor(samples / labels) each, some one more.
        choice: "random": each client draws its labels uniformly without replacement, whatever others have; "even": all
            labels are drawn equally often, up to 1.
        shared: whether each client draws from all samples of its labels (without replacement, so that it has no sample
            twice, but clients may share some) or from those that nobody has yet.

    With "proportions", test samples are drawn by the same rule for the same labels, floor(N_test / clients) a client.

    Source: SAFARI, appendix B.1: each of 10 clients selects p = 1, 2, 5 or 10 classes at random and samples evenly
    within them without replacement; whether clients may share samples is not said. With N / clients samples each and
    one label drawn at random they must (two clients of one label want more than there are), so they may by default. The
    process of McMahan et al. (2017), to which it refers, is nearer to "even" and disjoint.

    >>> from fedtheory.data import load
    >>> digits = load("digits")
    >>> parts = LabelsPerClient(clients=10, labels=2, samples=100).split(digits)
    >>> sorted(set(parts.counts(digits.labels).ravel().tolist()))
    [0, 50]
    """

    labels: int
    samples: int | None = None
    choice: str = "random"
    shared: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("labels", self.labels)
        if self.samples is not None:
            check_count("samples", self.samples)
        check_option("choice", self.choice, CHOICES)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        check_count("clients", self.clients, len(dataset), "the number of samples")
        present = np.unique(class_labels(dataset))
        check_count("labels", self.labels, len(present), "the number of classes that have samples")
        chosen = present[self._chosen(len(present), rng)]
        parts = self._sampled(class_labels(dataset), dataset.classes, chosen, self.samples, rng)
        test = None
        if self.test == "proportions" and dataset.test is not None:
            test = self._sampled(class_labels(dataset.test), dataset.classes, chosen, None, rng)
        distributions = np.zeros((self.clients, dataset.classes))
        np.put_along_axis(distributions, chosen, 1 / self.labels, axis=1)
        return Drawn(parts, distributions=distributions, shared=self.shared, test=test)

    def _chosen(self, classes: int, rng: np.random.Generator) -> np.ndarray:
        """The labels of each client, (clients, labels), as numbers below ``classes``."""
        if self.choice == "random":
            return np.array([rng.choice(classes, self.labels, replace=False) for _ in range(self.clients)])
        drawn = np.zeros(classes, dtype=np.int64)
        chosen = np.empty((self.clients, self.labels), dtype=np.int64)
        for client in range(self.clients):  # those drawn least often so far, ties broken at random
            chosen[client] = np.lexsort((rng.random(classes), drawn))[: self.labels]
            drawn[chosen[client]] += 1
        return chosen

    def _sampled(
        self, labels: np.ndarray, classes: int, chosen: np.ndarray, samples: int | None, rng: np.random.Generator
    ) -> list[np.ndarray]:
        stock = [np.flatnonzero(labels == c) for c in range(classes)]
        wanted = np.bincount(chosen.ravel(), minlength=classes)
        have = np.array([len(each) for each in stock])
        takers = 1 if self.shared else np.maximum(wanted, 1)
        most = int((have // takers)[wanted > 0].min())  # that each taker of a label can have
        if most == 0:
            label = int(np.flatnonzero((wanted > 0) & (have < takers))[0])
            raise ValueError(
                f"clients = {self.clients}: {wanted[label]} of them have label {label}, which has {have[label]} "
                "samples; allowed are fewer clients, or shared=True"
            )
        size = min(len(labels) // self.clients, most * self.labels) if samples is None else samples
        if size < self.labels or -(-size // self.labels) > most:
            raise ValueError(
                f"samples = {size} of {self.labels} labels: allowed is an integer from {self.labels} to "
                f"{most * self.labels}, for some label has no more samples for each of its clients"
            )
        mixed = [rng.permutation(each) for each in stock]
        parts, taken = [], np.zeros(classes, dtype=np.int64)
        for mine in chosen:
            each = np.full(self.labels, size // self.labels)
            each[rng.permutation(self.labels)[: size % self.labels]] += 1
            pieces = []
            for label, count in zip(mine, each, strict=True):
                start = 0 if self.shared else taken[label]
                source = rng.permutation(stock[label]) if self.shared else mixed[label]
                pieces.append(source[start : start + count])
                taken[label] += count
            parts.append(np.concatenate(pieces))
        return parts
