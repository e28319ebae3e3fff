"""The papers' networks have the layers that are stated: parameter counts by formula, shapes, initial laws."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from fedtheory.neural import FlatModel, models
from fedtheory.neural.models import parameters
from tests.neural.common import COLOUR, IMAGE, PAPERS, samples_for


def conv(inputs: int, outputs: int, kernel: int, bias: bool = True) -> int:
    return outputs * inputs * kernel**2 + outputs * bias


def dense(*sizes: int) -> int:
    return sum(a * b + b for a, b in pairwise(sizes))


def lstm(inputs: int, hidden: int) -> int:
    """Four gates, each with two weight matrices and two biases."""
    return 4 * (hidden * inputs + hidden * hidden + 2 * hidden)


def residual(inputs: int, outputs: int) -> int:
    norm = 2 * outputs
    shortcut = 0 if inputs == outputs else conv(inputs, outputs, 1, bias=False) + norm
    return conv(inputs, outputs, 3, bias=False) + conv(outputs, outputs, 3, bias=False) + 2 * norm + shortcut


STAGES = sum(residual(a, b) for a, b in [(64, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256)])
STAGES += residual(256, 512) + residual(512, 512)

COUNTS = {
    "multinomial_logistic": (models.multinomial_logistic(), dense(784, 10)),
    "small_cnn": (models.small_cnn(), conv(1, 16, 3) + conv(16, 32, 3) + dense(32 * 7 * 7, 48, 10)),
    "fast_fashion_cnn": (models.fast_fashion_cnn(), conv(1, 32, 3) + conv(32, 64, 3) + dense(64 * 12 * 12, 128, 10)),
    "fast_fashion_cnn, 62": (
        models.fast_fashion_cnn(classes=62),
        conv(1, 32, 3) + conv(32, 64, 3) + dense(64 * 12 * 12, 128, 62),
    ),
    "fast_cifar_cnn": (
        models.fast_cifar_cnn(),
        conv(3, 16, 3) + conv(16, 32, 3) + conv(32, 64, 3) + dense(64 * 4 * 4, 500, 10),
    ),
    "fast_char_lstm": (models.fast_char_lstm(), 80 * 8 + lstm(8, 256) + lstm(256, 256) + dense(256, 80)),
    "safari_cifar_cnn": (models.safari_cifar_cnn(), conv(3, 64, 5) + conv(64, 64, 5) + dense(64 * 8 * 8, 384, 192, 10)),
    "safari_cifar_cnn, 24": (
        models.safari_cifar_cnn(size=24),
        conv(3, 64, 5) + conv(64, 64, 5) + dense(64 * 6 * 6, 384, 192, 10),
    ),
    "fedau_cnn, SVHN": (models.fedau_cnn("svhn"), conv(3, 32, 3) + conv(32, 32, 3) + dense(32 * 8 * 8, 128, 10)),
    "fedau_cnn, CIFAR-10": (
        models.fedau_cnn("cifar-10"),
        conv(3, 32, 3) + conv(32, 32, 3) + dense(32 * 8 * 8, 256, 64, 10),
    ),
    "fedau_cnn, CIFAR-100": (
        models.fedau_cnn("cifar-100"),
        conv(3, 32, 3) + conv(32, 32, 3) + dense(32 * 8 * 8, 512, 256, 100),
    ),
    "fedau_cnn, CINIC-10": (
        models.fedau_cnn("cinic-10"),
        conv(3, 32, 3) + conv(32, 32, 3) + dense(32 * 8 * 8, 512, 256, 10),
    ),
    "fedau_cnn, Fashion-MNIST": (
        models.fedau_cnn("fashion-mnist"),
        conv(1, 32, 3) + conv(32, 32, 3) + dense(32 * 7 * 7, 128, 10),
    ),
    "flics_emnist_cnn": (models.flics_emnist_cnn(), conv(1, 32, 3) + conv(32, 64, 3) + dense(64 * 12 * 12, 128, 10)),
    "resnet18_group_norm": (models.resnet18_group_norm(), conv(3, 64, 3, bias=False) + 128 + STAGES + dense(512, 100)),
    "resnet18_group_norm, ImageNet's stem": (
        models.resnet18_group_norm(stem="imagenet"),
        conv(3, 64, 7, bias=False) + 128 + STAGES + dense(512, 100),
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_are_as_many_as_the_layers_say(name: str) -> None:
    module, count = COUNTS[name]
    assert parameters(module) == count
    assert FlatModel(module).dimension == count


@pytest.mark.parametrize("name", PAPERS)
def test_every_network_takes_its_data(name: str) -> None:
    make, shape = PAPERS[name]
    samples = samples_for(shape, count=2)
    assert FlatModel(make()).check(samples.features, samples.labels) == (80 if name == "fast_char_lstm" else 10)


@pytest.mark.parametrize("dataset, rate", [("svhn", 0), ("cifar-10", 0), ("cifar-100", 0.2), ("cinic-10", 0.2)])
def test_fedau_drops_out_before_every_dense_layer_of_two_data_sets_only(dataset: str, rate: float) -> None:
    layers = list(models.fedau_cnn(dataset))
    before = [layers[i - 1] for i, layer in enumerate(layers) if isinstance(layer, nn.Linear)]
    found = [each.p if isinstance(each, nn.Dropout) else 0 for each in before]
    assert found == [rate] * len(before)


@pytest.mark.parametrize("last", [False, True])
def test_fedau_starts_from_kaimings_law(last: bool) -> None:
    model = FlatModel(models.fedau_cnn("cifar-10", initialise_last=last))
    tensors = model.unflattened(model.initial(seed=3))
    names = list(tensors)
    for weight, bias in zip(names[::2], names[1::2], strict=True):
        fan = tensors[weight][0].numel()
        if weight != names[-2] or last:
            assert (tensors[bias] == 0).all()
            spread = float(tensors[weight].std())
            error = 4 * math.sqrt(0.5 / tensors[weight].numel())  # four standard deviations of the estimate
            assert abs(spread * math.sqrt(fan / 2) - 1) < error
        else:
            assert (tensors[bias] != 0).any()
            assert float(tensors[weight].abs().max()) <= 1 / math.sqrt(fan)


def test_logistic_regression_may_start_from_zero() -> None:
    assert (FlatModel(models.multinomial_logistic(initial="zero")).initial(5) == 0).all()
    assert (FlatModel(models.multinomial_logistic()).initial(5) != 0).all()


def test_what_a_network_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed is one of fashion-mnist, svhn"):
        models.fedau_cnn("mnist")
    with pytest.raises(ValueError, match="allowed is a divisor of 64"):
        models.resnet18_group_norm(groups=3)
    with pytest.raises(ValueError, match="'cifar' or 'imagenet'"):
        models.resnet18_group_norm(stem="none")
    with pytest.raises(ValueError, match="multiple of 4"):
        models.safari_cifar_cnn(size=30)
    with pytest.raises(ValueError, match="two probabilities"):
        models.fast_fashion_cnn(dropout=(0.5,))
    with pytest.raises(ValueError, match="'uniform' or 'zero'"):
        models.multinomial_logistic(initial="ones")


def test_input_of_another_shape_is_refused_before_the_run() -> None:
    grey, colour = samples_for(IMAGE, 2), samples_for(COLOUR, 2)
    with pytest.raises(ValueError, match=r"does not take features of shape \(2, 3, 32, 32\) and type float32"):
        FlatModel(models.small_cnn()).check(colour.features, colour.labels)
    with pytest.raises(ValueError, match="labels of type int64 from 10 to 10: allowed are int64 from 0 to 9"):
        FlatModel(models.small_cnn()).check(grey.features, torch.tensor([10, 10]))
