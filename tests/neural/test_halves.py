"""Plain steps with a copy in half precision are those of the gradients in bfloat16, with nothing lost between steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from fedtheory.neural import SGD, FlatModel, Visits, bfloat16, local_update, models
from fedtheory.neural.flat import mean_loss
from fedtheory.neural.manual_backward import _in_one_pass
from tests.neural.common import IMAGE, samples_for, seeded, visits_for

NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "small": models.small_cnn,
    "dropout": lambda: models.fast_fashion_cnn(dropout=(0.25, 0.5)),
    "odd": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 7), nn.Tanh(), nn.Linear(7, 10)),
}


@pytest.mark.parametrize("size", [3, 16, 53])
def test_a_step_is_rounded_once_and_its_copy_is_the_nearest(size: int) -> None:
    draws = torch.Generator().manual_seed(size)
    model = FlatModel(nn.Linear(size, 1, bias=False))
    x, slope = torch.randn(size, generator=draws), torch.randn(size, generator=draws).bfloat16()
    found = x.clone()
    copied = bfloat16.Copied(model, found)
    copied.move([slope], 0.3)
    expected = (x.double() + float(np.float32(-0.3)) * slope.double()).float()
    assert torch.equal(found, expected)
    (copy,) = copied.tensors.values()
    assert torch.equal(copy.flatten(), expected.bfloat16())


@pytest.mark.parametrize("ragged", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_visits_are_those_of_gradients_in_bfloat16(name: str, ragged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, samples = FlatModel(seeded(NETWORKS[name])), samples_for(IMAGE)
    visits = visits_for(samples, 2, 4, 24)
    weights = (torch.arange(24) < torch.tensor([[24, 24, 20, 0], [24, 5, 0, 0]])[..., None]).float() if ragged else None
    visits = Visits(visits.index, weights, torch.arange(8).view(2, 4) if model.has_dropout else None)
    start = torch.stack([model.initial(seed) for seed in (0, 1)])
    before = start.clone()
    used: list[torch.Tensor] = []
    move = bfloat16.Copied.move
    monkeypatch.setattr(bfloat16.Copied, "move", lambda self, *given: (used.append(given), move(self, *given)))
    found = local_update(model, start, samples, visits, 0.01, path="loop", precision="bfloat16")
    assert len(used) == (5 if ragged else 8)
    monkeypatch.setattr(bfloat16, "covers", lambda *given: False)
    expected = local_update(model, start, samples, visits, 0.01, path="loop", precision="bfloat16")
    assert len(used) == (5 if ragged else 8)
    assert torch.equal(start, before)
    assert float((found.models - start).abs().max()) > 1e-3
    assert torch.allclose(found.models, expected.models, rtol=0, atol=2e-6)
    assert torch.allclose(found.losses, expected.losses, rtol=1e-3)


@pytest.mark.parametrize("weighted", [True, False])
def test_the_loss_in_one_pass_is_pytorchs(weighted: bool) -> None:
    draws = torch.Generator().manual_seed(0)
    scores, labels = 5 * torch.randn(9, 4, generator=draws), torch.randint(4, (9,), generator=draws)
    weights = torch.rand(9, generator=draws).mul_(torch.arange(9) != 3) if weighted else None
    leaf = scores.double().requires_grad_()
    expected = mean_loss(nn.functional.cross_entropy(leaf, labels, reduction="none"), weights)
    loss, slope = _in_one_pass(scores.clone(), labels, weights)
    assert abs(float(loss - expected.detach())) < 1e-6
    assert torch.allclose(slope.double(), torch.autograd.grad(expected, [leaf])[0], rtol=0, atol=1e-7)
    for wrong in (-1, 4):
        labels[5] = wrong
        with pytest.raises(ValueError, match="labels outside the classes: allowed are numbers from 0 to 3"):
            _in_one_pass(scores.clone(), labels, weights)


def test_what_takes_other_steps() -> None:
    model, samples = FlatModel(seeded(models.small_cnn)), samples_for(IMAGE)
    x = model.initial(0)[None]
    assert bfloat16.covers(model, x, "bfloat16")
    assert not bfloat16.covers(model, x, "float32")
    assert not bfloat16.covers(model, x.double(), "bfloat16")
    visits, given = visits_for(samples, 1, 3, 8), {"path": "loop", "precision": "bfloat16"}
    plain = local_update(model, x, samples, visits, 0.01, **given).models
    decayed = local_update(model, x, samples, visits, 0.01, SGD(weight_decay=0.5), **given).models
    assert float((decayed - plain).abs().max()) > 1e-4
