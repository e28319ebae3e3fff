"""A network whose parameters are one flat vector."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .dropout import KeyedDropout, with_keyed_dropout
from .rewriting import pooled_first

Loss = Callable[[Tensor, Tensor], Tensor]
"""Class scores (N, classes) and labels (N,), or outputs and targets, to the loss of each sample, (N,)."""

BUFFERS = ("refuse", "average", "keep")
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """Compute -log softmax(scores)[label] of each sample, (N,)."""
    return nn.functional.cross_entropy(scores, labels, reduction="none")


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Compute |output - target|^2 / 2 of each sample, (N,): outputs are (N, k), targets (N, k), or (N,) if k = 1."""
    return (outputs - targets.view_as(outputs)).square().sum(-1) / 2


LOSSES: dict[str, Loss] = {"cross_entropy": cross_entropy, "squared_error": squared_error}


class FlatModel:
    """A network f(x, .) with flat parameters x in R^D, and the loss of a batch: the mean of its samples' losses.

    The flat vector holds the trainable parameters in the order of ``module.named_parameters()``, then, with
    ``buffers="average"``, the running statistics of batch norm. Parameters that do not require gradients stay what they
    are in ``module``, of which a copy is kept.

    Args:
        module: maps features (B, ...) to class scores (B, classes), or to outputs (B, k) of regression.
        loss: "cross_entropy", "squared_error" (of regression, |output - target|^2 / 2), or a function of scores
            (N, classes) and labels (N,) to losses (N,).
        buffers: what becomes of tensors that a forward pass may change. "refuse" says which ones there are; "average"
            takes the running statistics of batch norm into x, so that the server averages them like parameters
            (in training a batch is normalised by its own moments, in evaluation by the running ones); "keep" holds all
            of them constant.
        initial: "reset" draws initial parameters anew for each seed, by ``reset_parameters``; "module" starts from
            the values in ``module``, whatever the seed.

    Raises:
        ValueError: for buffers that are refused, and for state that cannot be flattened.

    Attributes:
        dimension: D.
        trained: how many coordinates are parameters; the others, at the end, are running statistics.

    >>> model = FlatModel(nn.Linear(3, 2))
    >>> model.dimension, model.initial(seed=0).shape
    (8, torch.Size([8]))
    """

    def __init__(
        self, module: nn.Module, loss: str | Loss = "cross_entropy", buffers: str = "refuse", initial: str = "reset"
    ) -> None:
        if not isinstance(module, nn.Module):
            raise ValueError(f"module is {type(module).__name__}: allowed is an nn.Module")
        if buffers not in BUFFERS:
            raise ValueError(f"buffers = {buffers!r}: allowed is one of {', '.join(BUFFERS)}")
        if initial not in ("reset", "module"):
            raise ValueError(f"initial = {initial!r}: allowed is 'reset' or 'module'")
        if not (callable(loss) or loss in LOSSES):
            raise ValueError(
                f"loss = {loss!r}: allowed is 'cross_entropy', 'squared_error' or a function of scores and labels"
            )
        self.losses: Loss = LOSSES[loss] if isinstance(loss, str) else loss
        self.buffers = buffers
        self.starts_from_module = initial == "module"
        _check_state(module)
        self.module = pooled_first(with_keyed_dropout(_copied(module).to("cpu"))).eval()
        trained = {name: p.shape for name, p in self.module.named_parameters() if p.requires_grad}
        self.trained = sum(map(prod, trained.values()))
        self.statistics = self._statistics()
        batches = "num_batches_tracked"  # counted, and of no consequence where batch norm has a momentum
        self._counters = [n for n, _ in self.module.named_buffers() if self.statistics and n.endswith(batches)]
        self.trainable = tuple(trained)
        self._aliases = _aliases(self.module)
        self.shapes = {**trained, **self.statistics}
        self.dimension = sum(map(prod, self.shapes.values()))
        self._source = module
        self._dropout = [each for each in self.module.modules() if isinstance(each, KeyedDropout)]
        self._dropout_shapes: dict[tuple[int, ...], list[tuple[int, ...]]] = {}

    @property
    def has_dropout(self) -> bool:
        """Whether some layer drops anything."""
        return any(each.dropped for each in self._dropout)

    @property
    def mixes_samples(self) -> bool:
        """Whether a sample's scores depend on the others of its batch, as with batch norm: then nothing may fill it
        up."""
        return any(isinstance(each, _NORMS) for each in self.module.modules())

    def initial(self, seed: int) -> Tensor:
        """Return the model at which training starts, (D,) float32 (or the module's own dtype): a function of the seed
        alone.

        Raises:
            ValueError: if a layer with parameters has no ``reset_parameters``.
        """
        module = self.copied()
        if not self.starts_from_module:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                _reset(module)
        return self.flattened(module)

    def flattened(self, module: nn.Module) -> Tensor:
        """The numbers of a module of this architecture, (D,)."""
        values = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        return torch.cat([values[name].detach().flatten() for name in self.shapes])

    def unflattened(self, x: Tensor, names: Sequence[str] | None = None) -> dict[str, Tensor]:
        """View x (..., D) as the named tensors, (..., shape): all, or those that x holds."""
        shapes = self.shapes if names is None else {name: self.shapes[name] for name in names}
        pieces = x.split([prod(shape) for shape in shapes.values()], dim=-1) if shapes else ()
        named = zip(shapes.items(), pieces, strict=True)
        return {name: piece.view(*x.shape[:-1], *shape) for (name, shape), piece in named}

    def state_dict(self, x: Tensor) -> dict[str, Tensor]:
        """The ``state_dict`` of the module for parameters x (D,), which ``module.load_state_dict`` takes."""
        state = {name: value.detach().clone() for name, value in self._source.state_dict().items()}
        names = {id(value): name for name, value in _named(self._source)}
        values, every = self.unflattened(x), _named(self._source, remove_duplicate=False)
        return state | {name: values[names[id(each)]].clone() for name, each in every if names[id(each)] in values}

    def copied(self) -> nn.Module:
        """Return a copy of the module as it was given, on the CPU."""
        return copy.deepcopy(self._source).to("cpu")

    def scores(self, tensors: dict[str, Tensor], features: Tensor, factors: tuple[Tensor, ...] | None = None) -> Tensor:
        """Compute class scores (B, classes) with parameters by name; in training with the dropout layers'
        ``factors``."""
        counters = {name: torch.zeros((), dtype=torch.int64) for name in self._counters}
        shared = {name: tensors[first] for name, first in self._aliases.items() if first in tensors}
        with self._dropping(factors):
            return functional_call(self.module, tensors | shared | counters, (features,), tie_weights=False)

    def factors(self, keys: Tensor | None, features: Tensor) -> tuple[Tensor, ...]:
        """Draw the factors of each dropout layer, (P, B, ...), for features (P, B, ...); () without dropout."""
        if not self.has_dropout:
            return ()
        if keys is None:
            raise ValueError("keys is None: allowed are int64 keys of shape (P,), since the network has dropout")
        shapes = self._shapes_of(features[0, :1])
        samples, dtype = features.shape[1], torch.get_default_dtype() if features.dtype.is_complex else features.dtype
        dtype = dtype if dtype.is_floating_point else torch.float32
        return tuple(
            layer.draw(keys, number, samples, shape, dtype)
            for number, (layer, shape) in enumerate(zip(self._dropout, shapes, strict=True))
        )

    def loss(
        self,
        x: Tensor,
        features: Tensor,
        labels: Tensor,
        keys: Tensor | None = None,
        weights: Tensor | None = None,
    ) -> Tensor:
        """Compute the loss of each pair's batch: x (P, D), features (P, B, ...), labels (P, B) to (P,).

        With ``keys`` (P,) as in training (dropout, the batch's own moments in batch norm), without as in evaluation.
        ``weights`` (P, B) weigh the samples: sum_b w_b l_b / sum_b w_b.
        """
        training = keys is not None
        factors = self.factors(keys, features) if training else None
        found = []
        with self.training(training):
            for p in range(len(x)):
                mine = None if factors is None else tuple(each[p] for each in factors)
                scores = self.scores(self.unflattened(x[p].clone()), features[p], mine)
                found.append(mean_loss(self.losses(scores, labels[p]), None if weights is None else weights[p]))
        return torch.stack(found)

    @contextmanager
    def training(self, on: bool = True) -> Iterator[None]:
        """Put the layers in training mode meanwhile: batch norm normalises by the batch's own moments, unless it is
        kept."""
        self.module.train(on)
        for layer in self.module.modules():
            if isinstance(layer, _NORMS) and self.buffers == "keep":
                layer.eval()
        try:
            yield
        finally:
            self.module.eval()

    def check(self, features: Tensor, labels: Tensor) -> int:
        """Try the network on a few samples, features (B, ...) and labels (B,), and return how many classes it tells
        apart; of regression, with targets (B,) or (B, k), 0.

        Raises:
            ValueError: features do not fit, scores are not (B, classes), a label has no score, or the module draws
                random numbers of its own or changes a buffer that was to be kept.
        """
        if len(features) != len(labels) or len(features) == 0:
            raise ValueError(f"{len(features)} features, {len(labels)} labels: allowed is as many of both, not none")
        module, x, features = self.module, self.initial(0), features.cpu()
        before = {name: value.clone() for name, value in module.named_buffers() if name not in self.statistics}
        with torch.random.fork_rng(devices=[]), torch.no_grad(), self.training():
            state, changes = torch.get_rng_state(), features._version
            try:
                scores = self.scores(self.unflattened(x.clone()), features)
            except Exception as error:
                raise ValueError(
                    f"{type(self._source).__name__} does not take features of shape {_shape(features)} and type "
                    f"{_dtype(features)}: {_first_line(error)}"
                ) from error
            if not torch.equal(state, torch.get_rng_state()):
                raise ValueError(
                    f"{type(self._source).__name__} draws random numbers of its own: allowed are layers nn.Dropout, "
                    "nn.Dropout1d, 2d and 3d, whose draws are keyed"
                )
        if features._version != changes:
            raise ValueError(
                f"{type(self._source).__name__} writes over its features: allowed is a module that leaves them as they "
                "are, since a client's points are used again (inplace=False in its first layer)"
            )
        if self.has_dropout:
            self._shapes_of(features)
        for name, value in module.named_buffers():
            if name in before and self.buffers == "keep" and not torch.equal(value, before[name]):
                raise ValueError(
                    f"buffer {name!r} changed in a forward pass: allowed with buffers='keep' is a constant"
                )
        if scores.dim() != 2 or len(scores) != len(features) or not scores.dtype.is_floating_point:
            raise ValueError(
                f"scores have shape {_shape(scores)} and type {_dtype(scores)}: allowed is ({len(features)}, classes), "
                "floating-point"
            )
        of_classes, outputs = not labels.dtype.is_floating_point, labels[0].numel()
        if of_classes if self.losses is squared_error else (not of_classes and self.losses is cross_entropy):
            raise ValueError(
                f"loss {'of regression, labels are classes' if of_classes else 'of classes, labels are numbers'}: "
                "allowed is loss='cross_entropy' with classes, loss='squared_error' with targets of regression"
            )
        if not of_classes:
            if scores.shape[1] != outputs:
                raise ValueError(f"the model has {scores.shape[1]} outputs: allowed is {outputs}, as targets have")
            return 0
        if labels.dtype != torch.int64 or int(labels.min()) < 0 or int(labels.max()) >= scores.shape[1]:
            raise ValueError(
                f"labels of type {_dtype(labels)} from {labels.min()} to {labels.max()}: allowed are int64 from 0 to "
                f"{scores.shape[1] - 1}, of which the network has scores"
            )
        return scores.shape[1]

    @contextmanager
    def _dropping(self, factors: tuple[Tensor, ...] | None) -> Iterator[None]:
        for layer, each in zip(self._dropout, factors or (None,) * len(self._dropout), strict=True):
            layer.factors = each
        try:
            yield
        finally:
            for layer in self._dropout:
                layer.factors = None

    def _shapes_of(self, sample: Tensor) -> list[tuple[int, ...]]:
        """The shapes that reach the dropout layers, of one sample each."""
        kind = tuple(sample.shape[1:])
        if kind not in self._dropout_shapes:
            x = self.initial(0).to(sample.device)
            x = x.to(sample.dtype) if sample.dtype.is_floating_point else x
            for each in self._dropout:
                each.uses = 0
            with torch.no_grad():
                self.scores(self.unflattened(x), sample)
            if any(each.uses > 1 for each in self._dropout):
                raise ValueError(
                    "a dropout layer is used several times in a pass, where it would drop the same: "
                    "allowed is a layer of its own for each place"
                )
            self._dropout_shapes[kind] = [each.shape or () for each in self._dropout]
        return self._dropout_shapes[kind]

    def _statistics(self) -> dict[str, torch.Size]:
        """The buffers that join the flat vector, and a refusal of those that may not be there."""
        found: dict[str, torch.Size] = {}
        named = dict(self.module.named_buffers())
        if named and self.buffers == "refuse":
            raise ValueError(
                f"{type(self.module).__name__} has buffers ({', '.join(named)}), which are no parameters, so that no "
                "gradient step moves them and no theorem here speaks of them: allowed is a network without, such as "
                "one with group norm, or buffers='average' (the server averages running statistics) or 'keep'"
            )
        if self.buffers != "average":
            return found
        for owner, layer in self.module.named_modules():
            for name, value in layer.named_buffers(recurse=False):
                full = f"{owner}.{name}" if owner else name
                if not isinstance(layer, _NORMS) or layer.momentum is None:
                    raise ValueError(f"buffer {full!r}: allowed with buffers='average' is batch norm with a momentum")
                if name != "num_batches_tracked":
                    found[full] = value.shape
        return found


def mean_loss(losses: Tensor, weights: Tensor | None) -> Tensor:
    """Compute sum_b w_b l_b / sum_b w_b over the last axis, the plain mean without weights."""
    return losses.mean(-1) if weights is None else (losses * weights).sum(-1) / weights.sum(-1)


def _named(module: nn.Module, remove_duplicate: bool = True) -> list[tuple[str, Tensor]]:
    """Parameters and buffers with their names: the first, or all, of those that stand in several places."""
    parameters = module.named_parameters(remove_duplicate=remove_duplicate)
    return [*parameters, *module.named_buffers(remove_duplicate=remove_duplicate)]


def _aliases(module: nn.Module) -> dict[str, str]:
    """Further names of parameters that different layers share, and their first name. A layer that itself stands in
    several places has one: PyTorch's ``functional_call``, told of both, would leave in it what it was called with."""
    first: dict[int, str] = {}
    found = {}
    for owner, layer in module.named_modules():
        for name, value in layer.named_parameters(recurse=False, remove_duplicate=False):
            full = f"{owner}.{name}" if owner else name
            if first.setdefault(id(value), full) != full:
                found[full] = first[id(value)]
    return found


def _copied(module: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise ValueError(
            f"{type(module).__name__} cannot be copied ({_first_line(error)}): allowed is a module that copy.deepcopy "
            "takes, such as one whose weights are no results of a computation"
        ) from error


def _check_state(module: nn.Module) -> None:
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Embedding | nn.EmbeddingBag) and (layer.max_norm is not None or layer.sparse):
            raise ValueError(
                f"layer {name!r} has max_norm = {layer.max_norm}, sparse = {layer.sparse}: allowed are None, since a "
                "forward pass would change parameters, and False, since a gradient is a flat vector"
            )
    parameters = dict(module.named_parameters())
    for name, value in parameters.items():
        if isinstance(value, nn.parameter.UninitializedParameter):
            raise ValueError(f"parameter {name!r} has no shape yet: allowed are layers that are not lazy")
        if not value.dtype.is_floating_point:
            raise ValueError(f"parameter {name!r} is {_dtype(value)}: allowed are real floating-point numbers")
        if value.layout != torch.strided or value.is_quantized:
            raise ValueError(f"parameter {name!r} is sparse or quantized: allowed are dense numbers")
    trained = {name: value for name, value in parameters.items() if value.requires_grad}
    if not trained:
        raise ValueError(f"{type(module).__name__} has no parameter that is trained: allowed is at least one")
    dtypes = {value.dtype for value in trained.values()}
    if len(dtypes) > 1:
        names = ", ".join(sorted(str(each).removeprefix("torch.") for each in dtypes))
        raise ValueError(f"parameters are of several types ({names}): allowed is one, since they form one vector")


def _reset(module: nn.Module) -> None:
    """Draw all parameters of a module, as its layers do when they are made."""
    if callable(getattr(module, "reset_parameters", None)):
        module.reset_parameters()  # type: ignore[operator]
        return
    own = [name for name, _ in module.named_parameters(recurse=False)]
    if own:
        raise ValueError(
            f"{type(module).__name__} has no reset_parameters to draw {', '.join(own)} with: allowed is a module that "
            "has, or initial='module' to start from the values that it holds"
        )
    for child in module.children():
        _reset(child)


def _shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def _dtype(x: Any) -> str:
    return str(x.dtype).removeprefix("torch.")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
