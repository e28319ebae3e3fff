"""Evaluation with compiled pools has the bits of PyTorch's own layers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fedtheory.neural import FlatModel, Samples, manual_backward
from fedtheory.neural.model_evaluation import per_sample, points_at_once
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
