"""Constants of a quadratic twin, from the federation or the model and data that it stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import check_count
from ..data import Dataset, Partition
from ..extras import torch
from ..federations.constant_estimates import dissimilarity_at, estimated_constants
from ..federations.constants import BOUND, ESTIMATE, Constant, Constants, Region
from ..federations.federation import ConvexFederation, ExactFederation, Pairs
from .trace_errors import NAMES

if TYPE_CHECKING:
    from torch import Tensor

    from ..neural.flat import FlatModel, Loss

ITERATIONS = 500
"""Number of iterations of L-BFGS that look for the minimiser."""

LINEAR_LOSSES = ("cross_entropy", "squared_error")
"""Losses that are convex in the scores, so in the parameters of a linear model."""

Parts = Sequence[tuple[Any, Any]]
"""Features and targets of each client."""


def estimate_constants(
    federation: Any,
    data: Parts | None = None,
    *,
    start: Any = None,
    points: Any = None,
    region: Region | None = None,
    loss: str | Loss | None = None,
    batch_size: int | None = 32,
    l2: float = 0.0,
    resamples: int = 20,
    confidence: float = 0.95,
    seed: int = 0,
) -> Constants:
    r"""Estimate what `recommend` asks of a federation, or of a torch module and its clients' data: ``NAMES``, and
    ``dissimilarity``, the bound of it on all points that are looked at. Each says how it is known.

    - Those of a convex federation are its own, proved; ``dissimilarity`` holds on all of R^D, or on ``region``. The
      distance is that of the start from its optimum.
    - Of a module, or a `Network`, F + (l2/2) |x|^2 is minimised by L-BFGS from the start, where F = (1/M) sum_i F_i, or
      what the network's ``objective`` says. Its constants are those of `estimated_constants` at the start, half-way,
      and the minimiser: curvatures by Lanczos iteration on products with Hessians, noise of minibatches by draws. For
      intervals, clients are drawn with replacement, and rows of each, ``resamples`` times, and all is done anew; an
      interval is the value times or divided by exp(t s), with s the deviation of the logarithms and t Student's
      quantile. So it is about other clients and rows of the same kind, and approximate: a largest value over clients
      rises a little with resampling.
    - With ``points``, those of any federation are `estimated_constants` there, and the dissimilarity at the last.

    Args:
        data: with a module, (features, targets) of each client; targets of integers are classes.
        start: x_0, a number or (D,); default: 0, and of a module its parameters.
        points: (n, D), the start first and the best model last.
        region: of a convex federation, where ``dissimilarity`` is to hold.
        loss: as of `FlatModel`; default: cross-entropy of classes, else squared error.
        batch_size: of a module's stochastic gradients; ``None``: all rows.
        l2: weight of the ridge. It is a proved strong convexity of a linear model with a usual loss.
        resamples: how often rows and clients are drawn; 0 leaves the intervals of `estimated_constants`.

    Raises:
        ValueError: data for a federation, or none for a module; no points for a federation that is neither convex nor a
            network; or no strong convexity is found.

    >>> from fedtheory.federations import Logistic
    >>> found = estimate_constants(Logistic([[[1.0]], [[1.0]]], [[0], [1]], l2=1.0, gradient_noise=0.5), start=1.0)
    >>> {name: round(found[name].value, 2) for name in NAMES}
    {'smoothness': 1.5, 'strong_convexity': 1.0, 'gradient_noise': 0.5, 'dissimilarity_at_optimum': 0.71,
     'initial_distance': 1.41}
    """
    from ..federations import Network

    is_module = isinstance(federation, torch.nn.Module)
    if is_module == (data is None):
        raise ValueError("data: allowed are (features, targets) of each client with a torch module, and none without")
    if l2 and (points is not None or not isinstance(federation, torch.nn.Module | Network)):
        raise ValueError(f"l2 = {l2}: allowed with a module or a network, without points")
    if isinstance(federation, ConvexFederation) and points is None:
        return _proved(federation, 0.0 if start is None else start, region)
    if points is not None:
        given = torch.as_tensor(points)
        return _at(federation, given, confidence)
    if data is not None:
        problem = Problem.of_module(federation, data, loss, batch_size, l2)
        parts = [(np.asarray(features), np.asarray(targets)) for features, targets in data]
    elif isinstance(federation, Network) and federation.unbiased:
        seen = federation.dataset
        objective = "clients" if federation.objective_weight is None else "samples"
        problem = Problem(federation.model, seen, federation.batch_size, l2, objective)
        parts = [(seen.features[each], seen.labels[each]) for each in federation.partition.train]
    else:
        raise ValueError(
            "points: allowed without any are convex federations, and networks without dropout and augmentation whose "
            "minibatches are drawn independently; else the start first, the best model last"
        )
    begin = problem.model.initial(seed) if start is None else torch.as_tensor(start)
    begin = begin.double().expand(problem.model.dimension)
    return problem.constants(parts, begin, check_count("resamples", resamples, 0), confidence, seed)


def constants_toml(constants: Mapping[str, Constant]) -> str:
    """Return constants as TOML, each with its interval, if it has one, and how it is known: what ``fedtheory
    recommend --constants`` reads.

    >>> print(constants_toml({"smoothness": Constant(2.0, "estimate", "largest curvature", (1.5, 2.5))}), end="")
    smoothness = { value = 2.0, low = 1.5, high = 2.5, kind = "estimate", how = "largest curvature" }
    """
    lines = []
    for name, each in constants.items():
        low, high = each.interval or (each.value, each.value)
        ends = f", low = {low!r}, high = {high!r}" if each.interval and high < inf else ""
        about = f"kind = {json.dumps(each.kind)}, how = {json.dumps(each.how, ensure_ascii=False)}"
        lines.append(f"{name} = {{ value = {each.value!r}{ends}, {about} }}\n")
    return "".join(lines)


def _proved(federation: ConvexFederation, start: Any, region: Region | None) -> Constants:
    """A convex federation's own constants."""
    own = federation.constants(region)
    x = np.broadcast_to(np.asarray(start, dtype=float), (federation.dimension,))
    distance = float(np.linalg.norm(x - np.asarray(federation.optimum, dtype=float)))
    error = federation.optimum_error
    how = "distance of the start from the optimum that was computed"
    far = Constant(distance + error, BOUND, how, (max(0.0, distance - error), distance + error))
    entries = {**own, "initial_distance": far}
    return Constants({name: entries[name] for name in (*NAMES, "dissimilarity") if name in NAMES or name in entries})


def _at(federation: ExactFederation, points: Tensor, confidence: float) -> Constants:
    """Constants at points, the start first and the best model last."""
    found = dict(estimated_constants(federation, points, confidence=confidence))
    least = found.get("strong_convexity")
    if least is None or least.value <= 2 * ((least.interval or (0.0, inf))[1] - least.value):  # it drowns in rounding
        raise ValueError(
            "points: the curvature is not positive at them; allowed are points about a minimum, or a module with l2 > 0"
        )
    found["dissimilarity_at_optimum"] = dissimilarity_at(federation, points[-1:])
    if "initial_distance" not in found:  # without a curvature that is surely positive
        distance = float((points[0] - points[-1]).norm())
        found["initial_distance"] = Constant(distance, ESTIMATE, "distance from x_0 to the last point")
    return Constants({name: found[name] for name in (*NAMES, "dissimilarity")})


@dataclass(frozen=True)
class Problem:
    """A model's problem, whatever the data.

    Attributes:
        model: with its loss. like: a data set of the same kind.
        batch_size: of stochastic gradients, or None. l2: weight of the ridge.
        objective: "clients" or "samples", as of `Network`.
        convex: whether the losses are known to be convex in the parameters.
    """

    model: FlatModel
    like: Dataset
    batch_size: int | None
    l2: float
    objective: str = "clients"
    convex: bool = False

    @classmethod
    def of_module(cls, module: Any, data: Parts, loss: str | Loss | None, batch_size: int | None, l2: float) -> Problem:
        """Return the problem of a torch module, whose parameters are the start."""
        from ..neural.flat import FlatModel

        if not len(data):
            raise ValueError("data: there are no clients; allowed is at least one")
        if not 0 <= l2 < inf:
            raise ValueError(f"l2 = {l2}: allowed is a finite number >= 0")
        targets = [np.asarray(each) for _, each in data]
        whole = all(each.dtype.kind in "iu" for each in targets)
        usual = "cross_entropy" if whole else "squared_error"
        classes = max(2, 1 + max(int(each.max()) for each in targets)) if whole else 0
        convex = isinstance(module, torch.nn.Linear) and (loss or usual) in LINEAR_LOSSES
        like = Dataset("given", np.asarray(data[0][0]), targets[0], classes)
        return cls(FlatModel(module, loss or usual, initial="module"), like, batch_size, float(l2), convex=convex)

    def federation(self, parts: Parts) -> ExactFederation:
        """Return the federation of these clients' data."""
        from ..federations import Network

        features, targets = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        edges = np.cumsum([0, *(len(part[1]) for part in parts)])
        split = Partition(tuple(np.arange(first, last) for first, last in pairwise(edges)))
        rows = replace(
            self.like,
            features=features,
            labels=targets,
            test=None,
            clients=None,
            client_names=(),
            groups=None,
            coarse_labels=None,
        )
        net = Network(self.model, rows, split, self.batch_size, objective=self.objective)
        return Ridged(net.to("cpu", "float64"), self.l2)

    def constants(self, parts: Parts, start: Tensor, resamples: int, confidence: float, seed: int) -> Constants:
        """Return the constants on these data, with intervals of data that are drawn from them."""
        found, best = self._once(parts, start, start, confidence)
        if self.convex and self.l2 > 0 and found["strong_convexity"].value <= 1.001 * self.l2:
            entries = dict(found)
            entries["strong_convexity"] = Constant(self.l2, BOUND, "the ridge: losses of a linear model are convex")
            found = Constants(entries)
        if resamples < 2:
            return found
        rng = np.random.default_rng([seed, 31])
        logs: dict[str, list[float]] = {name: [] for name in found}
        for _ in range(resamples):
            chosen = [parts[i] for i in rng.integers(0, len(parts), len(parts))]
            rows = [rng.integers(0, len(targets), len(targets)) for _, targets in chosen]
            drawn = [(features[at], targets[at]) for (features, targets), at in zip(chosen, rows, strict=True)]
            again, _ = self._once(drawn, start, best, confidence)
            for name in found:
                logs[name].append(log(max(again[name].value, 1e-300)))
        return Constants({name: self._widened(name, each, logs[name], confidence) for name, each in found.items()})

    def _once(self, parts: Parts, start: Tensor, guess: Tensor, confidence: float) -> tuple[Constants, Tensor]:
        federation = self.federation(parts)
        best = minimiser(federation, guess)
        return _at(federation, torch.stack([start, (start + best) / 2, best]), confidence), best

    def _widened(self, name: str, found: Constant, logs: Sequence[float], confidence: float) -> Constant:
        """The constant with an interval that holds its own one, and what resampling leaves open."""
        from scipy.stats import t as student

        if found.kind != ESTIMATE or found.value == 0:
            return found
        half = float(student.ppf((1 + confidence) / 2, len(logs) - 1)) * float(np.std(logs, ddof=1))
        own = found.interval or (found.value, found.value)
        low, high = min(own[0], found.value * np.exp(-half)), max(own[1], found.value * np.exp(half))
        if name == "strong_convexity" and self.convex:
            low = max(low, self.l2)
        how = f"{found.how}; interval by {len(logs)} draws of clients and rows"
        return Constant(found.value, ESTIMATE, how, (float(low), float(high)))


class Ridged(ExactFederation):
    """A federation whose objectives all have (l2/2) |x|^2 added."""

    def __init__(self, federation: ExactFederation, l2: float) -> None:
        self.federation, self.l2 = federation, l2
        self.clients, self.dimension = federation.clients, federation.dimension
        self.least_loss, self.server_noise = federation.least_loss, federation.server_noise

    @property
    def unbiased(self) -> bool:
        """Whether stochastic gradients are unbiased: as those of the federation."""
        return self.federation.unbiased

    def to(self, device: Any = "cpu", dtype: Any = "float64") -> Ridged:
        """Return it on another device or in another precision."""
        return Ridged(self.federation.to(device, dtype), self.l2)  # type: ignore[arg-type]

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        """Compute F_i(x), (P,)."""
        return self.federation.loss(x, pairs) + self.l2 / 2 * x.square().sum(1)

    def gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        """Draw a stochastic gradient of F_i, (P, D)."""
        return self.federation.gradient(x, pairs) + self.l2 * x

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        """Compute the gradient of F_i, (P, D)."""
        return self.federation.exact_gradient(x, pairs) + self.l2 * x

    def global_loss(self, x: Tensor) -> Tensor:
        """Compute F(x), (replicas,)."""
        return self.federation.global_loss(x) + self.l2 / 2 * x.square().sum(1)

    def global_gradient(self, x: Tensor) -> Tensor:
        """Compute the gradient of F, (replicas, D)."""
        return self.federation.global_gradient(x) + self.l2 * x


def minimiser(federation: ExactFederation, start: Tensor) -> Tensor:
    """Return a minimiser of F, by L-BFGS from a start (D,)."""
    from scipy.optimize import minimize

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.from_numpy(x)[None]
        return float(federation.global_loss(point)), federation.global_gradient(point)[0].numpy()

    options = {"maxiter": ITERATIONS, "gtol": 1e-8, "ftol": 1e-15}
    found = minimize(value, start.numpy(), jac=True, method="L-BFGS-B", options=options)
    return torch.from_numpy(np.array(found.x, dtype=float))
