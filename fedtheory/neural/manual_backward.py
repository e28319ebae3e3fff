"""The gradient of one pair written out: layers forwards, and then backwards, without PyTorch's graph of operations.

For networks of layers in a row, on a CPU. It saves building the graph, the input's own gradient and
what the first layers would pass on, and takes for each operation the kernel that is fastest on small batches: products
of ``matrix_products.product``, a convolution's bias apart from its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional

from . import first_block, pooling
from .dropout import KeyedDropout
from .flat import FlatModel, cross_entropy, mean_loss
from .grouped import ELEMENTWISE, POOLS
from .grouped import refusal as refused_by_grouped
from .matrix_products import product
from .packed import laid_out
from .rewriting import in_a_row

Back = Callable[[Tensor, bool], Tensor]
"""Function from the gradient at a layer's output to that at its input, which is needed or not.

It leaves the gradient by the layer's parameters with the run.
"""

Forward = Callable[["_Run", nn.Module, Tensor], tuple[Tensor, Back]]

Step = tuple[Forward, nn.Module, str, bool]
"""A layer's pass, the layer, the prefix of its parameters' names, and whether it has any."""

_STEPS: WeakKeyDictionary[FlatModel, list[Step] | str] = WeakKeyDictionary()


def covers(model: FlatModel, x: Tensor, precision: str) -> bool:
    """Whether gradients at x are computed here."""
    known = precision == "float32" or (precision == "bfloat16" and x.dtype in (torch.float32, torch.bfloat16))
    return x.device.type == "cpu" and known and refusal(model) is None


def refusal(model: FlatModel) -> str | None:
    """Say why this network's gradients are left to PyTorch's graph on a CPU; None where they are written out.

    >>> refusal(FlatModel(nn.Linear(3, 2))) is None
    True
    >>> print(refusal(FlatModel(nn.Sequential(nn.Linear(3, 2), nn.Softplus()))))
    layer Softplus is not one of Linear, Conv2d, ...
    """
    steps = _steps(model)
    return steps if isinstance(steps, str) else None


def _steps(model: FlatModel) -> list[Step] | str:
    """The layers in their order, or why they are not known here."""
    if model not in _STEPS:
        layers, reason = _layers(model.module), refused_by_grouped(model)
        prefixes = {id(each): f"{name}." if name else "" for name, each in model.module.named_modules()}
        unknown = [type(each).__name__ for each in layers if type(each) not in _FORWARD]
        if reason is None and unknown:
            reason = f"layer {unknown[0]} is not one of {', '.join(each.__name__ for each in _FORWARD)}"
        _STEPS[model] = reason or [
            (forward, each, prefixes[id(each)], next(each.parameters(), None) is not None)
            for forward, each in _joined(layers)
        ]
    return _STEPS[model]


def _joined(layers: list[nn.Module]) -> Iterator[tuple[Forward, nn.Module]]:
    """Each layer with its pass; a convolution takes a max-pool along that follows it, and a pool a ReLU."""
    number = 0
    while number < len(layers):
        first = layers[number]
        pool = next(iter(layers[number + 1 : number + 2]), None) if type(first) is nn.Conv2d else first
        if type(pool) is not nn.MaxPool2d:
            yield _FORWARD[type(first)], first
            number += 1
            continue
        number += 1 if pool is first else 2
        kink = number < len(layers) and type(layers[number]) is nn.ReLU
        number += kink
        given = {"kink": kink} if pool is first else {"kink": kink, "pool": pool}
        yield partial(_max_pool if pool is first else _convolution_and_pool, **given), first  # type: ignore[arg-type]


def loss_and_slopes(
    model: FlatModel,
    tensors: dict[str, Tensor],
    features: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    factors: tuple[Tensor, ...],
    precision: str = "float32",
) -> tuple[Tensor, list[Tensor]]:
    """Compute the loss of one pair's batch and its gradient by each trained parameter.

    The arguments are features (B, ...), labels and weights (B,), and dropout's factors (B, ...). In bfloat16 dense
    layers and convolutions, and what follows them, are computed as under PyTorch's autocast; losses are not. Gradients
    have the parameters' type, which may be bfloat16 already.
    """
    own = next(iter(tensors.values())).dtype
    with torch.no_grad():
        given = {name: each.bfloat16() for name, each in tensors.items()} if precision == "bfloat16" else tensors
        run = _Run(model, given, factors)
        found = run.forwards(features)
    if own == torch.bfloat16 and model.losses is cross_entropy:
        loss, slope = _in_one_pass(found.float(), labels, weights)
    else:
        loss, slope = _loss_and_slope(model, found.to(torch.float32 if own == torch.bfloat16 else own), labels, weights)
    with torch.no_grad():
        run.backwards(slope.to(found.dtype))
    return loss, [run.slopes[name].to(own) for name in model.trainable]


def _in_one_pass(scores: Tensor, labels: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Compute the mean cross-entropy and its gradient by the scores, in their place, by a compiled loop."""
    from ..loops import logistic_regression as loops

    shares = scores.new_full((len(labels),), 1 / len(labels)) if weights is None else (weights / weights.sum()).float()
    loss = loops.shared_errors(scores.numpy(), labels.numpy(), shares.numpy())
    if loss == -1:
        raise ValueError(f"labels outside the classes: allowed are numbers from 0 to {scores.shape[1] - 1}")
    return scores.new_tensor(loss), scores


def _loss_and_slope(model: FlatModel, scores: Tensor, labels: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """The mean loss and its gradient by the scores; of cross-entropy softmax minus one at the label."""
    if model.losses is not cross_entropy:
        scores = scores.requires_grad_()
        with torch.enable_grad():
            loss = mean_loss(model.losses(scores, labels), weights)
        (slope,) = torch.autograd.grad(loss, [scores], materialize_grads=True)
        return loss.detach(), slope
    with torch.no_grad():
        logs, at = torch.log_softmax(scores, 1), labels[:, None]
        loss = mean_loss(-logs.gather(1, at)[:, 0], weights)
        even = logs.new_full((1, 1), 1 / len(labels)).expand(at.shape)
        shares = even if weights is None else (weights.to(logs) / weights.sum())[:, None]
        return loss, logs.exp_().mul_(shares).scatter_add_(1, at, -shares)


def scores(model: FlatModel, tensors: dict[str, Tensor], features: Tensor) -> Tensor:
    """Compute ``FlatModel.scores`` in evaluation, to the bit, for networks that are written out.

    Pools, and the ReLU after them, are compiled. All else is done as PyTorch's layers do it.
    """
    with torch.no_grad():
        return _Run(model, tensors, (), as_layers=True).forwards(features)


class _Run:
    """One pass through the layers and back; ``as_layers`` with the convolutions and products of PyTorch's layers."""

    def __init__(
        self, model: FlatModel, tensors: dict[str, Tensor], factors: tuple[Tensor, ...], as_layers: bool = False
    ) -> None:
        steps = _steps(model)
        assert not isinstance(steps, str)
        self.steps, self.tensors, self.as_layers = steps, tensors, as_layers
        self.factors: Iterator[Tensor] = iter(factors)
        self.slopes: dict[str, Tensor] = {}
        self.backs: list[Back] = []

    def forwards(self, x: Tensor) -> Tensor:
        for forward, layer, prefix, trained in self.steps:
            self.prefix = prefix
            x, back = forward(self, layer, x)
            if not self.as_layers and (self.backs or trained):  # before the first parameters no gradient is needed
                self.backs.append(back)
        return x

    def backwards(self, slope: Tensor) -> None:
        """Each layer's results go as soon as they have been used: they and this run hold one another, and would stay
        until the next search for cycles."""
        while self.backs:
            back = self.backs.pop()
            slope = back(slope, len(self.backs) > 0)

    def of(self, name: str) -> Tensor | None:
        """Return a parameter of this layer."""
        return self.tensors.get(self.prefix + name)

    def keep(self, prefix: str, **slopes: Tensor) -> None:
        """Add the gradients of a layer's parameters: a layer may stand in several places."""
        for name, slope in slopes.items():
            if prefix + name in self.tensors:
                other = self.slopes.get(prefix + name)
                self.slopes[prefix + name] = slope if other is None else other + slope


def _layers(module: nn.Module) -> list[nn.Module]:
    if in_a_row(module):
        return [layer for child in module for layer in _layers(child)]
    return [module]


def _linear(run: _Run, layer: nn.Linear, x: Tensor) -> tuple[Tensor, Back]:
    weight, prefix = run.of("weight"), run.prefix
    assert weight is not None
    rows = x.reshape(-1, x.shape[-1]).to(weight.dtype)

    def back(slope: Tensor, wanted: bool) -> Tensor:
        slopes = slope.reshape(-1, slope.shape[-1])
        run.keep(prefix, weight=product(slopes.t(), rows.t()), bias=slopes.sum(0))
        return product(slopes, weight.t()).view_as(x).to(x.dtype) if wanted else slope

    multiplied = functional.linear if run.as_layers else product
    return multiplied(rows, weight, run.of("bias")).view(*x.shape[:-1], -1), back


def _convolution(run: _Run, layer: nn.Conv2d, x: Tensor) -> tuple[Tensor, Back]:
    weight, prefix = run.of("weight"), run.prefix
    assert weight is not None
    how, images = (layer.stride, layer.padding, layer.dilation), laid_out(x.to(weight.dtype))

    def back(slope: Tensor, wanted: bool) -> Tensor:
        into, own, _ = torch.ops.aten.convolution_backward(
            slope, images, weight, None, *how, False, [0, 0], layer.groups, [wanted, True, False]
        )
        run.keep(prefix, weight=own, bias=slope.sum((0, 2, 3)))
        return into.to(x.dtype) if wanted else slope

    return functional.conv2d(images, weight, run.of("bias"), *how, layer.groups), back  # type: ignore[arg-type]


def _relu(run: _Run, layer: nn.Module, x: Tensor) -> tuple[Tensor, Back]:
    y = functional.relu(x)
    return y, lambda slope, wanted: torch.ops.aten.threshold_backward(slope, y, 0.0) if wanted else slope


def _convolution_and_pool(
    run: _Run, layer: nn.Conv2d, x: Tensor, *, pool: nn.MaxPool2d, kink: bool
) -> tuple[Tensor, Back]:
    weight, bias, prefix = run.of("weight"), run.of("bias"), run.prefix
    assert weight is not None
    if run.backs or run.as_layers or not first_block.covers(layer, pool, x, weight):
        y, into_convolution = _convolution(run, layer, x)
        pooled, into_pool = _max_pool(run, pool, y, kink=kink)
        return pooled, lambda slope, wanted: into_convolution(into_pool(slope, True), wanted)
    y, of_parameters = first_block.forwards(layer, x, weight, bias, kink)

    def back(slope: Tensor, wanted: bool) -> Tensor:
        assert not wanted  # by the layers before, which have no parameters
        run.keep(prefix, **of_parameters(slope))
        return slope

    return y, back


def _max_pool(run: _Run, layer: nn.MaxPool2d, x: Tensor, *, kink: bool) -> tuple[Tensor, Back]:
    """Pool x, and with ``kink`` apply ReLU."""
    if pooling.covers(layer, x):
        y, back = pooling.pooled(x, kink)
        return y, lambda slope, wanted: back(slope) if wanted else slope
    sizes = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
    how = (*([each, each] if isinstance(each, int) else list(each) for each in sizes), layer.ceil_mode)
    pooled, where = torch.ops.aten.max_pool2d_with_indices(x, *how)
    y = functional.relu(pooled) if kink else pooled

    def back_to(slope: Tensor, wanted: bool) -> Tensor:
        if not wanted:
            return slope
        slope = torch.ops.aten.threshold_backward(slope, y, 0.0) if kink else slope
        return torch.ops.aten.max_pool2d_with_indices_backward(slope, x, *how, where)  # type: ignore[no-any-return]

    return y, back_to


def _flatten(run: _Run, layer: nn.Flatten, x: Tensor) -> tuple[Tensor, Back]:
    last = torch.channels_last if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) else None

    def back(slope: Tensor, wanted: bool) -> Tensor:
        slope = slope.reshape(x.shape)
        return slope if last is None else slope.contiguous(memory_format=last)

    return x.flatten(1), back


def _dropout(run: _Run, layer: nn.Module, x: Tensor) -> tuple[Tensor, Back]:
    factor = next(run.factors, None)
    if factor is None:
        return x, lambda slope, wanted: slope
    return x * factor, lambda slope, wanted: (slope * factor).to(x.dtype)


def _by_autograd(run: _Run, layer: nn.Module, x: Tensor) -> tuple[Tensor, Back]:
    """Any layer without parameters."""
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        y = layer(leaf.clone() if getattr(layer, "inplace", False) else leaf)
    return y.detach(), lambda slope, wanted: torch.autograd.grad(y, [leaf], slope)[0] if wanted else slope


_FORWARD: dict[type[nn.Module], Forward] = {
    **dict.fromkeys((*ELEMENTWISE, *POOLS), _by_autograd),
    nn.Linear: _linear,  # type: ignore[dict-item]
    nn.Conv2d: _convolution,  # type: ignore[dict-item]
    nn.ReLU: _relu,
    nn.MaxPool2d: partial(_max_pool, kink=False),  # type: ignore[dict-item]
    nn.Flatten: _flatten,  # type: ignore[dict-item]
    KeyedDropout: _dropout,
}
