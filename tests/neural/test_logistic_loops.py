"""Compiled logistic regression is PyTorch's, to rounding; a pair's bits depend on nothing but that pair, a sample's
evaluation on nothing but that sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedtheory.neural import FlatModel, Samples, Visits, compiled_logistic, evaluate, local_update, models
from fedtheory.neural.compiled_logistic import covers
from fedtheory.neural.local_update import Sized
from fedtheory.neural.model_evaluation import per_sample
from tests.neural.common import seeded, visits_for

SHAPES = [((784,), 10, 32), ((3, 5, 4), 10, 5), ((16,), 2, 1), ((33,), 47, 3), ((7,), 5, 6), ((48,), 1, 4)]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def model_of(shape: tuple[int, ...], classes: int) -> FlatModel:
    return FlatModel(seeded(lambda: nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), classes))))


def samples_of(shape: tuple[int, ...], classes: int, kind: str, count: int = 70) -> Samples:
    draws = torch.Generator().manual_seed(0)
    labels = torch.randint(classes, (count,), generator=draws)
    if kind == "floats":
        return Samples(torch.randn(count, *shape, generator=draws), labels)
    images = torch.randint(256, (count, *((1,) * (3 - len(shape))), *shape), generator=draws).to(torch.uint8)
    if kind == "bytes":
        return Samples(images, labels)
    channels = images.shape[1]
    mean, std = [0.3, 0.5, 0.1][:channels], [0.2, 0.4, 0.7][:channels]
    return Samples(images if kind == "normalised bytes" else images / 255, labels, mean, std)


def starts(model: FlatModel, pairs: int) -> Tensor:
    return torch.stack([model.initial(seed) for seed in range(pairs)])


@pytest.mark.parametrize("kind", ["floats", "bytes", "normalised bytes", "normalised"])
@pytest.mark.parametrize("shape, classes, batch", SHAPES)
def test_steps_and_evaluation_are_pytorchs(shape: tuple[int, ...], classes: int, batch: int, kind: str) -> None:
    model, samples = model_of(shape, classes), samples_of(shape, classes, kind)
    start, visits, sizes = starts(model, 3), visits_for(samples, 3, 4, batch), [0.02, 0.01, 0.04, 0.02]
    assert covers(model, start, samples, None)
    found = local_update(model, start, samples, visits, sizes, path="grouped")
    expected = local_update(model, start.double(), in_double(samples), visits, sizes, path="loop")
    assert float((expected.models - start).abs().max()) > 1e-3 or classes == 1
    assert float((found.models - expected.models).abs().max()) < 2e-6
    assert torch.allclose(found.losses.double(), expected.losses, rtol=2e-6, atol=2e-6)
    losses, correct = per_sample(model, found.models, samples)
    true_losses, true_correct = per_sample(model, found.models.double(), in_double(samples))
    assert torch.allclose(losses, true_losses, rtol=2e-6, atol=2e-6)
    assert torch.equal(correct, true_correct)


@pytest.mark.parametrize("kind", ["floats", "bytes"])
@pytest.mark.parametrize("shape, classes, batch", [SHAPES[0], SHAPES[1], SHAPES[3]])
def test_samples_may_count_differently_or_not_at_all(
    shape: tuple[int, ...], classes: int, batch: int, kind: str
) -> None:
    """As where a last batch is smaller, and where a pair makes fewer steps; each pair in turn, and with own sizes."""
    model, samples = model_of(shape, classes), samples_of(shape, classes, kind)
    start, plain, sizes = starts(model, 3), visits_for(samples, 3, 4, batch), [0.02, 0.01, 0.04, 0.02]
    weights = torch.rand(3, 4, batch, generator=torch.Generator().manual_seed(1))
    weights[0, 3, 2:], weights[1, 2], weights[2] = 0, 0, 1
    visits = Visits(plain.index, weights)
    found = local_update(model, start, samples, visits, sizes, path="grouped")
    expected = local_update(model, start.double(), in_double(samples), visits, sizes, path="loop")
    assert float((found.models - expected.models).abs().max()) < 2e-6
    assert torch.allclose(found.losses.double(), expected.losses, rtol=2e-6, atol=2e-6)
    assert float(found.losses[1, 2]) == 0 and float(found.losses.min()) >= 0
    alike = local_update(model, start, samples, plain, sizes, path="grouped")
    assert float((found.models[2] - alike.models[2]).abs().max()) < 2e-6
    assert float((found.models[0] - alike.models[0]).abs().max()) > 1e-4
    spans = [Sized(1, sizes), Sized(2, sizes[::-1])]
    apart = local_update(model, start, samples, visits, sizes, path="grouped", spans=spans)
    turned = local_update(model, start, samples, visits, sizes[::-1], path="grouped")
    assert torch.equal(apart.models, torch.cat([found.models[:1], turned.models[1:]]))


def in_double(samples: Samples) -> Samples:
    return Samples(samples.of(torch.arange(len(samples))[None])[0].double(), samples.labels)


@pytest.mark.parametrize("kind", ["floats", "bytes"])
@pytest.mark.parametrize("shape", [(784,), (33,)])
def test_bits_depend_on_nothing_else(shape: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, samples = model_of(shape, 10), samples_of(shape, 10, kind, 700)
    start, visits = starts(model, 5), visits_for(samples, 5, 3, 6)
    torch.set_num_threads(1)
    together = local_update(model, start, samples, visits, 0.1, path="grouped")
    losses, correct = per_sample(model, start, samples)
    torch.set_num_threads(3)
    monkeypatch.setattr(compiled_logistic, "MULTIPLICATIONS_A_THREAD", 1)
    threaded = local_update(model, start, samples, visits, 0.1, path="grouped")
    assert torch.equal(threaded.models, together.models) and torch.equal(threaded.losses, together.losses)
    assert torch.equal(per_sample(model, start, samples)[0], losses)
    for p in range(5):
        alone = local_update(model, start[p : p + 1], samples, visits[p : p + 1], 0.1, path="grouped")
        assert torch.equal(alone.models[0], together.models[p]) and torch.equal(alone.losses[0], together.losses[p])
        few = Samples(samples.features[13:98], samples.labels[13:98])
        own_losses, own_correct = per_sample(model, start[p : p + 1], few)
        assert torch.equal(own_losses[0], losses[p, 13:98]) and torch.equal(own_correct[0], correct[p, 13:98])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 3e38])
def test_numbers_that_are_not_finite_are_pytorchs(bad: float) -> None:
    model, samples = model_of((16,), 4), samples_of((16,), 4, "floats")
    start = starts(model, 2)
    start[1].view(-1)[16:20] = bad  # of the second class
    losses, correct = per_sample(model, start, samples)
    found = local_update(model, start, samples, visits_for(samples, 2, 1, 5), 0.1, path="grouped")
    expected = local_update(model, start, samples, visits_for(samples, 2, 1, 5), 0.1, path="loop")
    assert torch.equal(found.models.isfinite(), expected.models.isfinite())
    for p in range(2):
        scores = model.scores(model.unflattened(start[p]), samples.features)
        expected_losses = nn.functional.cross_entropy(scores, samples.labels, reduction="none")
        # Whether sums of numbers near the largest one overflow depends on their order, which is the processor's.
        same = (expected_losses.isfinite() & losses[p].isfinite()) | (abs(bad) != 3e38)
        assert torch.allclose(losses[p].float()[same], expected_losses[same], equal_nan=True, rtol=1e-5, atol=1e-5)
        assert torch.equal(correct[p][same], (scores.argmax(1) == samples.labels)[same]) and same.sum() > 9


def test_the_first_of_equal_scores_is_the_largest() -> None:
    model, samples = model_of((16,), 4), samples_of((16,), 4, "floats")
    correct = per_sample(model, torch.zeros(1, model.dimension), samples)[1][0]
    assert torch.equal(correct, samples.labels == 0) and 0 < int(correct.sum()) < len(samples)


@pytest.mark.parametrize("index", [-1, 70])
def test_samples_that_are_not_there_are_refused(index: int) -> None:
    model, samples = model_of((16,), 4), samples_of((16,), 4, "floats")
    visits = Visits(torch.tensor([[[0, 1], [2, index]]]))
    with pytest.raises(ValueError, match="index outside what there is: allowed are numbers from 0 to 69"):
        local_update(model, starts(model, 1), samples, visits, 0.1, path="grouped")


@pytest.mark.parametrize("label", [-1, 4])
def test_labels_that_are_no_class_are_refused(label: int) -> None:
    model, samples = model_of((16,), 4), samples_of((16,), 4, "floats")
    samples.labels[3] = label
    visits = Visits(torch.tensor([[[0, 1], [2, 3]]]))
    with pytest.raises(ValueError, match="labels outside what there is: allowed are numbers from 0 to 3"):
        local_update(model, starts(model, 1), samples, visits, 0.1, path="grouped")
    with pytest.raises(ValueError, match="labels outside the classes: allowed are numbers from 0 to 3"):
        evaluate(model, starts(model, 1), samples)


def test_exponentials() -> None:
    from fedtheory.loops.logistic_regression import exponentials

    values = np.concatenate([-np.linspace(0, 120, 100_001), [-np.inf, np.nan]]).astype(np.float32)
    found = values.copy()
    exponentials(found)
    expected = np.exp(values.astype(np.float64))
    near = values > -87
    assert found[0] == 1 and np.abs(found[near] / expected[near] - 1).max() < 2e-7
    assert (found[values <= -87] == 0).all() and np.isnan(found[-1])


def test_what_is_left_to_pytorch() -> None:
    model, samples = FlatModel(models.multinomial_logistic()), samples_of((784,), 10, "floats")
    start = model.initial(0)[None]
    assert not covers(model, start.double(), samples, None)
    assert not covers(model, start, samples, None, "bfloat16")
    assert not covers(model, start, in_double(samples), None)
    strided = Samples(samples.features.t().contiguous().t(), samples.labels)
    assert not covers(model, start, strided, None)
    assert torch.allclose(evaluate(model, start, strided)[0], evaluate(model, start, samples)[0])
