"""The path "grouped": layers that many sets of weights go through at once.

A tensor of P pairs is (P, B, ...). Dense layers are batched products of matrices; convolutions take the pairs as groups
of channels of one image, (B, P * channels, height, width). For logistic regression the gradient is written out: softmax
minus one at the label, times the features.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional

from .dropout import KeyedDropout
from .flat import FlatModel, cross_entropy, mean_loss
from .models import LastOutput, Residual
from .packed import Batches, reduced
from .rewriting import in_a_row, watched

ELEMENTWISE = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.ELU, nn.SiLU, nn.LeakyReLU, nn.Identity)
POOLS = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)


_REFUSALS: WeakKeyDictionary[FlatModel, str | None] = WeakKeyDictionary()
_LOGISTIC: WeakKeyDictionary[FlatModel, str | None] = WeakKeyDictionary()


def refusal(model: FlatModel) -> str | None:
    """Say why there is no grouped path for this network; None where there is one."""
    if model not in _REFUSALS:
        _REFUSALS[model] = _refusal(model)
    return _REFUSALS[model]


def _refusal(model: FlatModel) -> str | None:
    for layer in _layers(model.module):
        if type(layer) not in _FORWARD:
            return f"layer {type(layer).__name__} is not one of {', '.join(each.__name__ for each in _FORWARD)}"
        if (reason := _unusual(layer)) is not None:
            return reason
    for name, layer in model.module.named_modules():
        if watched(layer):
            return f"module {name!r} has hooks, or a forward of its own"
    frozen = [name for name, each in model.module.named_parameters() if not each.requires_grad]
    if frozen:
        return f"parameter {frozen[0]!r} is not trained"
    owned = [id(each) for layer in model.module.modules() for each in layer.parameters(recurse=False)]
    return "several layers share a parameter" if len(set(owned)) < len(owned) else None


def _unusual(layer: nn.Module) -> str | None:
    """Say what a layer of a known type has that is not known here."""
    if isinstance(layer, nn.Conv2d) and (layer.padding_mode != "zeros" or isinstance(layer.padding, str)):
        return f"a convolution has padding {layer.padding!r} of mode {layer.padding_mode!r}, not a number of zeros"
    if isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) != (1, -1):
        return "a layer flattens other axes than all of a sample's"
    if isinstance(layer, nn.MaxPool2d) and layer.return_indices:
        return "a pool says where its maxima were"
    if isinstance(layer, nn.Embedding) and layer.scale_grad_by_freq:
        return "an embedding's gradient is divided by how often a symbol occurs in a batch"
    if isinstance(layer, LastOutput) and not _is_plain(layer.lstm):
        return "the LSTM is bidirectional, projected or without biases"
    return None


def grouped_gradients(
    model: FlatModel, x: Tensor, batches: Batches, precision: str = "float32"
) -> tuple[Tensor, Tensor]:
    """Compute losses (P,) and gradients (P, D), all pairs in one pass.

    Raises:
        ValueError: for a layer that is not known here.
    """
    leaves = leaves_of(model, x)
    losses, slopes, moved = leaf_gradients(model, leaves, batches, precision)
    taken = [leaves[name] - moved[name] for name in moved]
    return losses, torch.cat([each.flatten(1) for each in (*slopes, *taken)], dim=1)


def grouped_scores(model: FlatModel, x: Tensor, features: Tensor) -> Tensor:
    """The scores (P, B, classes) of each of x (P, D) for the same features (B, ...), without dropout.

    Raises:
        ValueError: for a layer that is not known here.
    """
    return _Pass(model, leaves_of(model, x), ())(features.expand(len(x), *features.shape))


def leaves_of(model: FlatModel, x: Tensor) -> dict[str, Tensor]:
    """Return a tensor (P, ...) of its own for every parameter and statistic."""
    reason = refusal(model)
    if reason is not None:
        raise ValueError(f"path = 'grouped' does not exist for this network: {reason}; allowed is 'loop' or 'vmap'")
    return {name: value.detach().contiguous() for name, value in model.unflattened(x).items()}


def leaf_gradients(
    model: FlatModel, leaves: dict[str, Tensor], batches: Batches, precision: str
) -> tuple[Tensor, list[Tensor], dict[str, Tensor]]:
    """Compute losses (P,), the gradient of every parameter, and the next running statistics."""
    dense = logistic(model)
    if dense is not None and batches.weights is None and precision == "float32":
        features, labels = batches.features.flatten(2), batches.labels[:, None]
        weight, bias = leaves[f"{dense}weight"], leaves[f"{dense}bias"][..., None]
        each, errors = logistic_errors(weight, bias, features, labels, features.new_ones(labels.shape))
        errors /= features.shape[1]
        slopes = {f"{dense}weight": torch.bmm(errors, features), f"{dense}bias": errors.sum(2)}
        return each.mean((1, 2)), [slopes[name] for name in model.trainable], {}
    factors = model.factors(batches.keys, batches.features)
    trained = {name: leaves[name].detach().requires_grad_() for name in model.trainable}
    moved = {name: leaves[name].clone() for name in model.statistics}
    with model.training(), reduced(batches.features.device, precision):
        scores = _Pass(model, trained | moved, factors)(batches.features)
    scores = scores.to(next(iter(trained.values())).dtype)
    losses = mean_loss(_losses(model, scores, batches.labels), batches.weights)
    slopes_of = torch.autograd.grad(losses.sum(), list(trained.values()), materialize_grads=True)
    return losses.detach(), list(slopes_of), moved


def logistic(model: FlatModel) -> str | None:
    """The prefix of the names of weight and bias, where the network is logistic regression."""
    if model not in _LOGISTIC:
        _LOGISTIC[model] = _logistic(model)
    return _LOGISTIC[model]


def _logistic(model: FlatModel) -> str | None:
    if model.losses is not cross_entropy or refusal(model) is not None:
        return None
    *before, last = _layers(model.module)
    if type(last) is not nn.Linear or last.bias is None or any(type(each) is not nn.Flatten for each in before):
        return None
    (name,) = (name for name, layer in model.module.named_modules() if layer is last)
    return f"{name}." if name else ""


def logistic_errors(
    weight: Tensor, bias: Tensor, features: Tensor, labels: Tensor, ones: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute each sample's loss, (P, 1, B), and softmax - one at the label, (P, classes, B).

    The arguments are weight (P, classes, p), bias (P, classes, 1), features (P, B, p) and labels (P, 1, B); ``ones``
    are as many as the labels.
    """
    logs = functional.log_softmax(torch.bmm(weight, features.transpose(1, 2)).add_(bias), 1)
    losses = -logs.gather(1, labels)
    return losses, logs.exp_().scatter_add_(1, labels, -ones)


def _losses(model: FlatModel, scores: Tensor, labels: Tensor) -> Tensor:
    """(P, B)."""
    if model.losses is cross_entropy:
        return functional.cross_entropy(scores.transpose(1, 2), labels, reduction="none")
    return model.losses(scores.flatten(0, 1), labels.flatten(0, 1)).view(labels.shape[:2])


def _layers(module: nn.Module) -> list[nn.Module]:
    """The layers that do something, of a network made of sequences and residual blocks."""
    if type(module) is Residual:
        return [*_layers(module.branch), *_layers(module.shortcut)]
    if in_a_row(module):
        return [layer for child in module for layer in _layers(child)]
    return [module]


def _is_plain(lstm: nn.LSTM) -> bool:
    return lstm.batch_first and lstm.bias and not lstm.bidirectional and lstm.proj_size == 0


class _Pass:
    """One forward pass with parameters (P, ...) by name."""

    def __init__(self, model: FlatModel, tensors: dict[str, Tensor], factors: tuple[Tensor, ...]) -> None:
        self.module, self.tensors = model.module, tensors
        self.prefixes = {id(each): f"{name}." if name else "" for name, each in model.module.named_modules()}
        self.factors = iter(factors)

    def __call__(self, x: Tensor) -> Tensor:
        return self.through(self.module, x)

    def through(self, module: nn.Module, x: Tensor) -> Tensor:
        if type(module) is Residual:
            return self.through(module.branch, x) + self.through(module.shortcut, x)
        if isinstance(module, nn.Sequential):
            for child in module:
                x = self.through(child, x)
            return x
        return _FORWARD[type(module)](self, module, x)

    def of(self, layer: nn.Module, name: str) -> Tensor | None:
        return self.tensors.get(self.prefixes[id(layer)] + name)


def _joined(x: Tensor) -> Tensor:
    """(P, B, C, ...) as (B, P * C, ...): pairs become groups of channels."""
    return x.transpose(0, 1).flatten(1, 2)


def _parted(x: Tensor, pairs: int) -> Tensor:
    return x.unflatten(1, (pairs, -1)).transpose(0, 1)


def _flat(value: Tensor | None) -> Tensor | None:
    return None if value is None else value.flatten(0, 1)


def _linear(run: _Pass, layer: nn.Linear, x: Tensor) -> Tensor:
    weight, bias = run.of(layer, "weight"), run.of(layer, "bias")
    assert weight is not None
    out = torch.bmm(weight, x.flatten(1, -2).transpose(1, 2))
    return (out if bias is None else out + bias[..., None]).transpose(1, 2).unflatten(1, x.shape[1:-1])


def _convolution(run: _Pass, layer: nn.Conv2d, x: Tensor) -> Tensor:
    weight, bias = _flat(run.of(layer, "weight")), _flat(run.of(layer, "bias"))
    assert weight is not None
    groups = layer.groups * len(x)
    out = functional.conv2d(_joined(x), weight, bias, layer.stride, layer.padding, layer.dilation, groups)
    return _parted(out, len(x))


def _pool(run: _Pass, layer: nn.Module, x: Tensor) -> Tensor:
    return _parted(layer(_joined(x)), len(x))


def _group_norm(run: _Pass, layer: nn.GroupNorm, x: Tensor) -> Tensor:
    weight, bias = _flat(run.of(layer, "weight")), _flat(run.of(layer, "bias"))
    return _parted(functional.group_norm(_joined(x), layer.num_groups * len(x), weight, bias, layer.eps), len(x))


def _batch_norm(run: _Pass, layer: nn.BatchNorm2d, x: Tensor) -> Tensor:
    mean, variance = run.of(layer, "running_mean"), run.of(layer, "running_var")
    if mean is None and layer.running_mean is not None and layer.running_var is not None:  # kept as it is
        mean, variance = (value.to(x).expand(len(x), -1) for value in (layer.running_mean, layer.running_var))
    seen = (_flat(mean), _flat(variance))
    weight, bias = _flat(run.of(layer, "weight")), _flat(run.of(layer, "bias"))
    by_batch = layer.training or mean is None
    out = functional.batch_norm(_joined(x), *seen, weight, bias, by_batch, layer.momentum or 0.0, layer.eps)
    return _parted(out, len(x))


def _embedding(run: _Pass, layer: nn.Embedding, x: Tensor) -> Tensor:
    weight = run.of(layer, "weight")
    assert weight is not None
    first = torch.arange(len(x), device=x.device).view(-1, *(1,) * (x.dim() - 1)) * layer.num_embeddings
    found = functional.embedding(x + first, weight.flatten(0, 1))
    if layer.padding_idx is None:
        return found
    return torch.where((x == layer.padding_idx)[..., None], found.detach(), found)


def _last_output(run: _Pass, layer: LastOutput, x: Tensor) -> Tensor:
    lstm = layer.lstm
    for number in range(lstm.num_layers):
        names = (f"weight_ih_l{number}", f"weight_hh_l{number}", f"bias_ih_l{number}", f"bias_hh_l{number}")
        weights = [run.of(lstm, name) for name in names]
        x = _lstm_layer(x, *weights)  # type: ignore[arg-type]
    return x[:, :, -1]


def _lstm_layer(x: Tensor, into: Tensor, again: Tensor, bias: Tensor, second_bias: Tensor) -> Tensor:
    """(P, B, time, inputs) to (P, B, time, hidden)."""
    pairs, samples, times, _ = x.shape
    steps = torch.bmm(x.flatten(1, 2), into.transpose(1, 2)) + (bias + second_bias)[:, None]
    gates_of = steps.view(pairs, samples, times, -1).unbind(2)
    hidden = x.new_zeros(pairs, samples, again.shape[2])
    cell, outputs, back = hidden, [], again.transpose(1, 2)
    for gates in gates_of:
        take, keep, new, show = torch.baddbmm(gates, hidden.to(gates.dtype), back).chunk(4, dim=2)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(take) * torch.tanh(new)
        hidden = torch.sigmoid(show) * torch.tanh(cell)
        outputs.append(hidden)
    return torch.stack(outputs, dim=2)


_FORWARD: dict[type[nn.Module], Callable[[_Pass, nn.Module, Tensor], Tensor]] = {
    nn.Linear: _linear,  # type: ignore[dict-item]
    nn.Conv2d: _convolution,  # type: ignore[dict-item]
    nn.GroupNorm: _group_norm,  # type: ignore[dict-item]
    nn.BatchNorm1d: _batch_norm,  # type: ignore[dict-item]
    nn.BatchNorm2d: _batch_norm,  # type: ignore[dict-item]
    nn.Embedding: _embedding,  # type: ignore[dict-item]
    LastOutput: _last_output,  # type: ignore[dict-item]
    nn.Flatten: lambda run, layer, x: x.flatten(2),
    KeyedDropout: lambda run, layer, x: x * factor if (factor := next(run.factors, None)) is not None else x,
    **dict.fromkeys(ELEMENTWISE, lambda run, layer, x: layer(x)),
    **dict.fromkeys(POOLS, _pool),
}
