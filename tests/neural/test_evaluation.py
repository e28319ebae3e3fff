"""Evaluation with compiled pools has the bits of PyTorch's own layers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fedtheory.neural import FlatModel, Samples, manual_backward
from fedtheory.neural.model_evaluation import per_sample, points_at_once
from fedtheory.testing.pretended_device import CUDA, pretended_device
from tests.neural.common import PAPERS, samples_for, seeded
from tests.neural.test_written_out import LAYERS

CNNS = [name for name in PAPERS if name.endswith("_cnn")]


def network(name: str) -> tuple[FlatModel, Samples]:
    make, shape = PAPERS[name] if name in PAPERS else (LAYERS[name], (3, 8, 8))
    return FlatModel(seeded(make)), samples_for(shape)


def both(
    model: FlatModel, x: Tensor, samples: Samples, precision: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Tensor], list[Tensor], int]:
    """Losses and hits with compiled pools and without them, and how often pools were compiled."""
    uses, scores = [], manual_backward.scores
    monkeypatch.setattr(manual_backward, "scores", lambda *given: uses.append(given) or scores(*given))
    found = per_sample(model, x, samples, 16, precision)
    monkeypatch.setattr(manual_backward, "covers", lambda *given: False)
    return list(found), list(per_sample(model, x, samples, 16, precision)), len(uses)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [*CNNS, *LAYERS])
def test_compiled_pools_do_not_change_a_bit(name: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    model, samples = network(name)
    samples = Samples(samples.features.to(dtype), samples.labels)
    x = torch.stack([model.initial(seed) for seed in (0, 1)]).to(dtype)
    found, expected, uses = both(model, x, samples, "float32", monkeypatch)
    assert uses == 2 * 3
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1], expected[1])


def test_evaluation_in_half_precision_is_autocasts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, samples = network("small_cnn")
    found, expected, uses = both(model, model.initial(0)[None], samples, "bfloat16", monkeypatch)
    assert uses == 0
    assert torch.equal(found[0], expected[0])


@pytest.mark.parametrize("name, size", [("multinomial_logistic", 2000), ("small_cnn", 100), ("fast_char_lstm", 64)])
def test_samples_at_once_change_nothing_but_rounding(name: str, size: int) -> None:
    model, samples = network(name)
    assert points_at_once(model) == size
    many = Samples(samples.features.repeat(4, *(1,) * (samples.features.dim() - 1)), samples.labels.repeat(4))
    x = model.initial(0)[None]
    assert torch.allclose(per_sample(model, x, many)[0], per_sample(model, x, many, 7)[0], rtol=1e-5)


@pytest.mark.parametrize("name", PAPERS)
def test_on_a_device_few_samples_go_through_several_models_at_once(name: str) -> None:
    """Sums of float32 run in another order there; what is right may not depend on that in networks so far from it."""
    model, samples = network(name)
    few = Samples(samples.features[:3], samples.labels[:3])
    x = torch.stack([model.initial(seed) for seed in range(5)])
    losses, correct = per_sample(model, x, few)
    with pretended_device() as counts:
        there, placed = few.to(CUDA), x.to(CUDA)
        asked = []
        alone = () if name == "fast_char_lstm" else ((1, 15), (5, 3))  # torch's LSTM asks for the device's library
        for models, size in ((5, 15), (5, 6), *alone):
            counts.clear()
            found = per_sample(model, placed[:models], there, size)
            asked.append(sum(counts.operations.values()))
            assert torch.allclose(found[0].cpu(), losses[:models], rtol=1e-4, atol=1e-6)
            assert torch.equal(found[1].cpu(), correct[:models])
        assert asked[0] < asked[1] and (not alone or (asked[0] < 2 * asked[2] + 25 and 4 * asked[2] < asked[3]))
