"""Local SGD on quadratics: what its steps come to, whatever shares the batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedtheory.federations import hessians, linear_training
from fedtheory.federations.federation import Pairs
from fedtheory.federations.hessians import Dense, Part
from fedtheory.federations.local_training import LocalTraining, local_steps
from fedtheory.federations.noise_laws import NOISES
from fedtheory.federations.quadratic import Quadratic
from fedtheory.loops import diagonal_sgd

CLIENTS, DIMENSION, REPLICAS = 6, 5, 40
KINDS = ("dense", "common", "diagonal", "common diagonal", "tilted")
TRAININGS = {
    "one step": LocalTraining(1, 0.3),
    "steps": LocalTraining(4, 0.3),
    "pulled": LocalTraining(4, 0.3, proximal=0.5),
    "sizes": LocalTraining(3, (0.4, 0.1, 0.3), proximal=0.5),
}


def federation(kind: str, noise: str | None = None, dimension: int = DIMENSION) -> Quadratic:
    rng = np.random.default_rng(1)
    roots = rng.standard_normal((CLIENTS, dimension, dimension)) / dimension**0.5
    matrices = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(dimension)
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    if "common" in kind:
        matrices[:] = matrices[0]
    if "diagonal" in kind:
        matrices = matrices * np.eye(dimension)
    level, law = (0.0, "two-point") if noise is None else (0.7, noise)
    make = Quadratic.with_slopes if kind == "tilted" else Quadratic
    return make(matrices, rng.standard_normal((CLIENTS, dimension)), gradient_noise=level, noise=law)


def some_pairs(replicas: int = REPLICAS, only: int | None = None) -> Pairs:
    """Client 0 takes part in all replicas; ``only`` one of these takes part at all."""
    mask = torch.as_tensor(np.random.default_rng(0).random((REPLICAS, CLIENTS)) < 0.4)
    mask[:, 0], mask[:, 1] = True, False
    if only is not None:
        mask[torch.arange(REPLICAS) != only] = False
    return Pairs.of(mask[:replicas], torch.arange(replicas) + 7, seed=3, round=2)


def starts(pairs: Pairs, fed: Quadratic, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    each = np.random.default_rng(2).standard_normal((REPLICAS, fed.dimension))
    return torch.as_tensor(each, dtype=dtype)[pairs.replica]


@pytest.mark.parametrize("how", TRAININGS)
@pytest.mark.parametrize("noise", [None, *NOISES])
@pytest.mark.parametrize("kind", KINDS)
def test_the_change_is_that_of_its_steps(kind: str, noise: str | None, how: str) -> None:
    """Sums of twenty numbers of order 1 in another order; later steps draw what they draw alone."""
    fed, pairs, training = federation(kind, noise), some_pairs().at_step(2), TRAININGS[how]
    start = starts(pairs, fed)
    expected = local_steps(fed, start, pairs, training, {})[0] - start
    found, _ = fed.local_change(start, pairs, training, {})
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-13)
    assert expected.abs().max() > 0.1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("noise", [None, "two-point", "gaussian"])
@pytest.mark.parametrize(("kind", "dimension"), [("tilted", 3), *((kind, 50) for kind in KINDS[:4]), ("dense", 130)])
def test_bits_do_not_depend_on_the_batch(kind: str, dimension: int, noise: str | None, dtype: torch.dtype) -> None:
    fed = federation(kind, noise, dimension).to("cpu", dtype)
    together, training = some_pairs(), TRAININGS["pulled"]
    everything, _ = fed.local_change(starts(together, fed, dtype), together, training, {})
    for replica in (0, 23, REPLICAS - 1):
        alone = some_pairs(only=replica)
        own, _ = fed.local_change(starts(alone, fed, dtype), alone, training, {})
        assert torch.equal(own, everything[together.replica == replica])
    middle = len(together) // 3
    for first, last in ((0, middle), (middle, len(together))):
        part = together.part(first, last)
        own, _ = fed.local_change(starts(part, fed, dtype), part, training, {})
        assert torch.equal(own, everything[first:last])


def test_several_rounds_are_the_rounds() -> None:
    mask = torch.as_tensor(np.random.default_rng(0).random((3, REPLICAS, CLIENTS)) < 0.3)
    mask[1] = False
    fed, ids = federation("dense", "two-point"), torch.arange(REPLICAS)
    for i, pairs in enumerate(Pairs.of_rounds(mask, ids, seed=3, first=5)):
        alone = Pairs.of(mask[i], ids, seed=3, round=5 + i)
        for name in ("client", "replica", "replica_id", "offsets", "place"):
            assert torch.equal(getattr(pairs, name), getattr(alone, name)), name
        assert (pairs.sizes == alone.sizes).all() and (pairs.seed, pairs.round) == (3, 5 + i)
        assert torch.equal(fed.draw_noise(pairs), fed.draw_noise(alone))
        half = len(pairs) // 2
        assert torch.equal(fed.step_keys(pairs.part(half, len(pairs)), 2), fed.step_keys(alone, 2)[:, half:])


@pytest.mark.parametrize("kind", KINDS[:4])
def test_without_noise_one_product_does_for_all_steps(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fed, pairs, made = federation(kind), some_pairs(), []
    product = diagonal_sgd.entrywise_product

    def counted_product(*given: torch.Tensor) -> torch.Tensor:
        made.append(given)
        return product(*given)

    monkeypatch.setattr(diagonal_sgd, "entrywise_product", counted_product)
    ((_, part), *others) = fed.products.parts(pairs)
    assert not others
    for method in ("product", "stepped"):
        plain = getattr(type(part), method)

        def counted(self: Part, *given: object, plain: object = plain) -> torch.Tensor:
            made.append(self)
            return plain(self, *given)

        monkeypatch.setattr(type(part), method, counted)
    fed.local_change(starts(pairs, fed), pairs, TRAININGS["steps"], {})
    assert len(made) == 1
    changed = replace(TRAININGS["steps"], lr=0.2)  # another matrix, not the one that was kept
    expected = local_steps(fed, starts(pairs, fed), pairs, changed, {})[0] - starts(pairs, fed)
    torch.testing.assert_close(fed.local_change(starts(pairs, fed), pairs, changed, {})[0], expected)


@pytest.mark.parametrize("clients", [1, 2])
@pytest.mark.parametrize("noise", [None, "two-point", "one-sided two-point"])
@pytest.mark.parametrize("kind", ["dense", "tilted"])
def test_bits_do_not_depend_on_how_many_clients_are_a_part(
    monkeypatch: pytest.MonkeyPatch, kind: str, noise: str | None, clients: int
) -> None:
    fed, training = federation(kind, noise, 50), TRAININGS["sizes"]
    whole, _ = fed.local_change(starts(some_pairs(), fed), some_pairs(), training, {})
    assert len(list(fed.products.parts(some_pairs()))) == 1
    monkeypatch.setattr(hessians, "BLOCK", clients * 50 * 50 * 8)
    assert len(list(fed.products.parts(some_pairs()))) == -(-(CLIENTS - 1) // clients)  # one never takes part
    found, _ = fed.local_change(starts(some_pairs(), fed), some_pairs(), training, {})
    assert torch.equal(found, whole)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("how", TRAININGS)
@pytest.mark.parametrize("noise", [None, "two-point", "gaussian", "common two-point"])
@pytest.mark.parametrize("kind", ["diagonal", "common diagonal"])
def test_compiled_steps_are_those_of_torch(
    monkeypatch: pytest.MonkeyPatch, kind: str, noise: str | None, how: str, dtype: torch.dtype
) -> None:
    """Which are taken on other devices; also where pairs take their steps some at a time."""
    fed, pairs, training = federation(kind, noise).to("cpu", dtype), some_pairs(), TRAININGS[how]
    found = []
    for numbers in (diagonal_sgd.AT_ONCE, 3 * DIMENSION + 1, 1):
        monkeypatch.setattr(diagonal_sgd, "AT_ONCE", numbers)
        found.append(fed.local_change(starts(pairs, fed, dtype), pairs, training, {})[0])
    monkeypatch.setattr(linear_training, "in_memory", lambda x: False)
    expected, _ = fed.local_change(starts(pairs, fed, dtype), pairs, training, {})
    torch.testing.assert_close(found[0], expected, rtol=4 * torch.finfo(dtype).eps, atol=4 * torch.finfo(dtype).eps)
    assert all(torch.equal(each, found[0]) for each in found)


def test_dense_hessians_are_dense() -> None:
    assert isinstance(federation("dense").products, Dense)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dimension", [5, 64, 70])
def test_signs_are_drawn_where_they_are_needed(
    monkeypatch: pytest.MonkeyPatch, dimension: int, dtype: torch.dtype
) -> None:
    """A federation with a law of noise of its own is asked for it instead."""

    class Own(Quadratic):
        def noise_of(self, keys: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
            return super().noise_of(keys, dtype)

    fed, pairs, training = federation("diagonal", "two-point", dimension), some_pairs(), TRAININGS["steps"]
    own = Own(fed._given, fed.exact_centres, fed.gradient_noise).to("cpu", dtype)
    fed = fed.to("cpu", dtype)
    expected, _ = own.local_change(starts(pairs, fed, dtype), pairs, training, {})
    monkeypatch.setattr(Quadratic, "_noise", None)
    assert torch.equal(fed.local_change(starts(pairs, fed, dtype), pairs, training, {})[0], expected)
