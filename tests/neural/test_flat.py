"""Flattening is exact, dropout is keyed, and what cannot be flattened is refused with the reason."""

from __future__ import annotations

import copy
import sys

import pytest
import torch
from torch import nn

from fedtheory.neural import Batches, FlatModel, evaluate, gradients, models
from fedtheory.neural.dropout import KeyedDropout, dropout_keys
from fedtheory.neural.gradients import PATHS, fastest
from fedtheory.neural.rewriting import pooled_first
from tests.neural.common import IMAGE, samples_for, seeded

KEYS = dropout_keys(3, torch.arange(4), torch.arange(4) + 5, 2, 1)


def with_batch_norm() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 3, 5, 4), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 10))


def batches(pairs: int = 4, batch: int = 3, keys: torch.Tensor | None = None) -> Batches:
    samples = samples_for(IMAGE)
    index = torch.arange(pairs * batch).view(pairs, batch)
    return Batches(samples.of(index), samples.labels[index], keys)


def starts(model: FlatModel, pairs: int = 4) -> torch.Tensor:
    return torch.stack([model.initial(seed) for seed in range(pairs)])


def test_the_flat_vector_is_the_modules_parameters_in_their_order() -> None:
    module = models.small_cnn()
    model = FlatModel(module, initial="module")
    expected = nn.utils.parameters_to_vector(module.parameters()).detach()
    assert torch.equal(model.initial(0), expected)
    other = models.small_cnn()
    other.load_state_dict(model.state_dict(expected))
    assert torch.equal(nn.utils.parameters_to_vector(other.parameters()), expected)


def test_initial_parameters_are_a_function_of_the_seed_and_disturb_no_generator() -> None:
    model = FlatModel(models.fedau_cnn("svhn"))
    before = torch.get_rng_state()
    assert torch.equal(model.initial(1), model.initial(1)) and not torch.equal(model.initial(1), model.initial(2))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(model.initial(0), FlatModel(seeded(lambda: models.fedau_cnn("svhn"))).initial(0))


@pytest.mark.parametrize("path", ["vmap", "grouped"])
@pytest.mark.parametrize("name", ["fast_fashion_cnn", "flics_emnist_cnn"])
def test_every_path_drops_the_same(name: str, path: str) -> None:
    model = FlatModel(getattr(models, name)())
    x, given = starts(model, 2), batches(2, keys=KEYS[:2])
    losses, found = gradients(model, x, given, "loop")
    again, other = gradients(model, x, given, path)
    assert float((losses - again).abs().max()) < 1e-5
    assert float((found - other).abs().max()) < 1e-5
    changed, _ = gradients(model, x, Batches(given.features, given.labels, KEYS[2:]), path)
    assert float((changed - again).abs().min()) > 1e-4


def test_a_mask_depends_on_its_key_its_layer_and_its_sample_only() -> None:
    layer = KeyedDropout(0.3)
    full = layer.draw(KEYS, 0, 6, (7, 5), torch.float32)
    assert torch.equal(layer.draw(KEYS[2:3], 0, 4, (7, 5), torch.float32), full[2:3, :4])
    assert not torch.equal(layer.draw(KEYS, 1, 6, (7, 5), torch.float32), full)
    assert not torch.equal(full[:, 0], full[:, 1])


@pytest.mark.parametrize("rate", [0.2, 0.25, 0.5])
def test_dropout_keeps_means(rate: float) -> None:
    found = KeyedDropout(rate).draw(KEYS, 0, 50, (1001,), torch.float64)
    assert sorted(set(found.flatten().tolist())) == [0.0, pytest.approx(1 / (1 - rate), rel=1e-4)]
    deviation = (rate / (1 - rate) / found.numel()) ** 0.5
    assert abs(float(found.mean()) - 1) < 4 * deviation


def test_whole_channels_are_dropped() -> None:
    model = FlatModel(nn.Sequential(nn.Conv2d(1, 8, 3), nn.Dropout2d(0.5), nn.Flatten(), nn.Linear(8 * 26 * 26, 10)))
    factors = model.factors(KEYS, batches().features)
    assert factors[0].shape == (4, 3, 8, 1, 1)


def test_dropout_without_keys_is_refused_and_evaluation_drops_nothing() -> None:
    model, plain = FlatModel(models.fast_fashion_cnn()), FlatModel(models.fast_fashion_cnn(dropout=(0, 0)))
    x = starts(model, 1)
    with pytest.raises(ValueError, match="keys is None"):
        gradients(model, x, batches(1), "loop")
    assert torch.equal(evaluate(model, x, samples_for(IMAGE))[0], evaluate(plain, x, samples_for(IMAGE))[0])


@pytest.mark.parametrize("path", ["loop", "grouped"])
def test_averaged_running_statistics_are_pytorchs(path: str) -> None:
    module = seeded(with_batch_norm)
    model = FlatModel(module, buffers="average", initial="module")
    x, given = model.initial(0).expand(2, -1), batches(2)
    assert model.dimension - model.trained == 6
    _, found = gradients(model, x, given, path)
    for p in range(2):
        other = seeded(with_batch_norm).train()
        nn.functional.cross_entropy(other(given.features[p]), given.labels[p]).backward()
        slopes = torch.cat([each.grad.flatten() for each in other.parameters()])
        assert float((found[p, : model.trained] - slopes).abs().max()) < 1e-5
        after = torch.cat([other[1].running_mean, other[1].running_var])
        assert float((x[p] - found[p] - torch.cat([x[p, : model.trained] - slopes, after])).abs().max()) < 1e-5
    assert fastest(model, x, given) != "vmap"
    with pytest.raises(ValueError, match="does not exist with buffers='average'"):
        gradients(model, x, given, "vmap")


def test_kept_statistics_do_not_move() -> None:
    module = seeded(with_batch_norm)
    model = FlatModel(module, buffers="keep", initial="module")
    given = batches(1)
    losses, _ = gradients(model, model.initial(0)[None], given, "loop")
    expected = nn.functional.cross_entropy(module.eval()(given.features[0]), given.labels[0])
    assert float((losses[0] - expected.detach()).abs()) < 1e-6
    assert model.dimension == model.trained


def test_weights_of_0_fill_up_batches() -> None:
    model = FlatModel(models.small_cnn())
    x, full = starts(model, 2), batches(2)
    short = Batches(full.features[:, :2], full.labels[:, :2])
    padded = Batches(full.features, full.labels, None, torch.tensor([[1.0, 1.0, 0.0]]).expand(2, -1))
    for path in PATHS:
        for a, b in zip(gradients(model, x, short, path), gradients(model, x, padded, path), strict=True):
            assert float((a - b).abs().max()) < 1e-6


def test_evaluation_does_not_depend_on_its_batches() -> None:
    model, samples = FlatModel(models.small_cnn()), samples_for(IMAGE, 23)
    x = starts(model, 2)
    losses, accuracy = evaluate(model, x, samples, batch=7)
    for row in range(2):
        scores = model.scores(model.unflattened(x[row]), samples.features)
        loss = nn.functional.cross_entropy(scores, samples.labels)
        assert float(losses[row]) == pytest.approx(float(loss), abs=1e-5)
        assert float(accuracy[row]) == pytest.approx(float((scores.argmax(1) == samples.labels).float().mean()))


def test_pooling_first_is_the_same_function_with_the_same_gradient() -> None:
    module = seeded(lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()))
    images = samples_for(IMAGE, 5).features
    weight = module[0].weight
    slope = torch.autograd.grad(module(images).square().sum(), weight)[0]
    expected = module(images)
    pooled_first(module)
    assert isinstance(module[1], nn.MaxPool2d) and isinstance(module[2], nn.ReLU)
    assert torch.equal(module(images), expected)
    assert torch.allclose(torch.autograd.grad(module(images).square().sum(), weight)[0], slope, rtol=1e-5)


def test_bfloat16_is_near_float32_and_other_precisions_are_refused() -> None:
    model = FlatModel(models.small_cnn())
    x, given = starts(model, 2), batches(2)
    exact, near = gradients(model, x, given, "loop")[1], gradients(model, x, given, "loop", "bfloat16")[1]
    assert 0 < float((exact - near).norm() / exact.norm()) < 0.2
    with pytest.raises(ValueError, match="precision = 'float8'"):
        gradients(model, x, given, "loop", "float8")
    with pytest.raises(ValueError, match="path = 'fast'"):
        gradients(model, x, given, "fast")


def test_a_copy_of_a_model_takes_the_path_of_its_original(monkeypatch) -> None:
    """Whatever the machine does meanwhile, where paths are timed: two runs in one process, each with a copy, have the
    same bits."""
    own = sys.modules["fedtheory.neural.gradients"]
    monkeypatch.setattr(own, "_FASTEST", type(own._FASTEST)())
    model = FlatModel(models.multinomial_logistic())
    slow = iter([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    monkeypatch.setattr(own, "_seconds", lambda *trial: next(slow))
    first = fastest(model, starts(model), batches())
    assert fastest(copy.deepcopy(model), starts(model), batches()) == first
    assert next(slow) == 3.0  # nothing was tried again


def test_a_trial_chooses_among_the_paths_there_are() -> None:
    model = FlatModel(models.multinomial_logistic())
    assert fastest(model, starts(model), batches()) in PATHS
    own = FlatModel(nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.LogSoftmax(1)))
    assert fastest(own, starts(own), batches()) in ("loop", "vmap")
    with pytest.raises(ValueError, match="layer LogSoftmax is not one of"):
        gradients(own, starts(own), batches(), "grouped")


class Bare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(784, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x.flatten(1), 0.5, self.training) @ self.weight


def mixed() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())


def normed() -> nn.Module:
    """A layer whose weight is a result, which PyTorch does not copy."""
    layer = nn.Linear(2, 2)
    layer.result = layer.weight * 2
    return layer


class DropsTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop, self.dense = nn.Dropout(0.5), nn.Linear(784, 784)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.dense(self.drop(x.flatten(1))))


@pytest.mark.parametrize(
    "make, message",
    [
        (with_batch_norm, r"has buffers \(1.running_mean, 1.running_var, 1.num_batches_tracked\)"),
        (lambda: nn.LazyLinear(3), "no shape yet"),
        (lambda: nn.ReLU(), "no parameter that is trained"),
        (mixed, r"several types \(float32, float64\)"),
        (lambda: nn.LSTM(3, 4, 2, dropout=0.1), "dropout = 0.1 between its layers"),
        (lambda: "small_cnn", "module is str"),
        (lambda: nn.Sequential(nn.Embedding(3, 2, max_norm=1.0)), "layer '0' has max_norm = 1.0, sparse = False"),
        (lambda: nn.EmbeddingBag(3, 2, sparse=True), "layer '' has max_norm = None, sparse = True: allowed are None"),
        (normed, "Linear cannot be copied"),
    ],
)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_state_that_cannot_be_flattened_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FlatModel(make())


def test_what_a_trial_of_the_module_shows_is_refused() -> None:
    samples = samples_for(IMAGE, 2)
    with pytest.raises(ValueError, match="draws random numbers of its own"):
        FlatModel(Bare(), initial="module").check(samples.features, samples.labels)
    with pytest.raises(ValueError, match="no reset_parameters to draw weight"):
        FlatModel(Bare()).initial(0)
    with pytest.raises(ValueError, match=r"scores have shape \(2, 8, 26, 26\)"):
        FlatModel(nn.Conv2d(1, 8, 3)).check(samples.features, samples.labels)


def test_a_network_that_writes_over_its_features_is_refused() -> None:
    """In evaluation they are the clients' own points."""
    samples = samples_for(IMAGE, 2)
    module = nn.Sequential(nn.Flatten(), nn.ReLU(inplace=True), nn.Linear(784, 10))
    with pytest.raises(ValueError, match="Sequential writes over its features"):
        FlatModel(module).check(samples.features, samples.labels)


def test_a_dropout_layer_in_two_places_drops_anew_in_each_or_is_refused() -> None:
    drop, samples = nn.Dropout(0.5), samples_for(IMAGE, 2)
    row = FlatModel(nn.Sequential(nn.Flatten(), drop, nn.Linear(784, 784), drop, nn.Linear(784, 10)))
    row.check(samples.features, samples.labels)
    first, second = row.factors(KEYS, batches().features)
    assert first.shape == second.shape and not torch.equal(first, second)
    own = FlatModel(DropsTwice(), initial="module")
    with pytest.raises(ValueError, match="a dropout layer is used several times in a pass"):
        own.check(samples.features, samples.labels)
    with pytest.raises(ValueError, match="a dropout layer is used several times in a pass"):
        own.factors(KEYS, batches().features)


def test_shared_weights_are_one_piece_of_the_vector() -> None:
    """Of a layer in two places, and of two layers; a pass leaves the network as it was."""
    layer, tied = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)
    tied.weight = layer.weight
    module = nn.Sequential(layer, nn.Tanh(), layer, tied)
    model = FlatModel(module, initial="module")
    assert model.dimension == 20
    x, features = torch.linspace(-1, 1, 20), torch.rand(3, 4)
    with torch.no_grad():
        scores = model.scores(model.unflattened(x), features)
        module.load_state_dict(model.state_dict(x))
        assert torch.equal(module(features), scores)
    model.scores({name: value.requires_grad_() for name, value in model.unflattened(x.clone()).items()}, features)
    assert all(isinstance(each, nn.Parameter) for each in copy.deepcopy(model).module.parameters())
