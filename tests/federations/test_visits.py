"""What is drawn on a device for several rounds at once are the draws of each round alone, bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory import Setting, algorithms
from fedtheory.federations import Quadratic, visits
from fedtheory.federations.federation import Pairs
from fedtheory.federations.visits import SAMPLINGS, Minibatches
from fedtheory.neural.batches import Visits
from fedtheory.participation import Bernoulli
from fedtheory.simulation import state
from fedtheory.testing.pretended_device import CPU, CUDA, pretended_device

SIZES = torch.tensor([3, 7, 1, 5])
REPLICAS, ROUNDS, STEPS, BATCH = torch.tensor([4, 9]), 5, 3, 2


def masks(seed: int) -> torch.Tensor:
    """Who takes part, (rounds, replicas, clients); in some rounds nobody."""
    drawn = torch.rand(ROUNDS, len(REPLICAS), len(SIZES), generator=torch.Generator().manual_seed(seed)) < 0.6
    drawn[seed % ROUNDS] = False
    return drawn


def parts_of(pairs: Pairs, halved: bool) -> Iterator[Pairs]:
    middle = len(pairs) // 2 if halved else len(pairs)
    for start, stop in ((0, middle), (middle, len(pairs))):
        if stop > start:
            yield pairs.part(start, stop) if halved else pairs


def numbers(drawn: Visits) -> list[list[int] | None]:
    """All that a visit has, as lists."""
    counting = None if drawn.counts is None else drawn.counts.tolist()
    tensors = drawn.index, drawn.weights, drawn.dropout_keys, drawn.augmentation_keys
    return [counting, *(None if each is None else each.tolist() for each in tensors)]


def drawn_in(masks: torch.Tensor, first: int, sampling: str, halved: bool) -> tuple[list[list], int]:
    """The visits of all rounds on the device of ``masks``, and how often something was drawn there."""
    batches, device = Minibatches(SIZES, BATCH, sampling), masks.device
    batches, whole = batches.to(device), Minibatches._drawn
    calls: list[int] = []

    def counted(self, pairs, *others):
        calls.append(len(pairs))
        return whole(self, pairs, *others)

    with patch.object(Minibatches, "_drawn", counted):
        rounds = Pairs.of_rounds(masks, REPLICAS.to(device), 11, first)
        parts = itertools.chain(*(parts_of(pairs, halved) for pairs in rounds))
        return [numbers(batches.of(part, 1, STEPS, dropout=True, augmented=True)) for part in parts], len(calls)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 50), ahead=st.sampled_from([1, 30, 10**6]), halved=st.booleans())
def test_draws_do_not_depend_on_how_many_are_made_at_once(sampling: str, seed: int, ahead: int, halved: bool) -> None:
    who = masks(seed)
    alone = [Pairs.of(each, REPLICAS, 11, 6 + r) for r, each in enumerate(who)]
    batches = Minibatches(SIZES, BATCH, sampling)
    known = [numbers(batches.of(part, 1, STEPS, dropout=True, augmented=True))
             for pairs in alone for part in parts_of(pairs, halved)]  # fmt: skip
    with pretended_device(), patch.object(visits, "AHEAD", ahead):
        found, calls = drawn_in(who.to(CUDA), 6, sampling, halved)
    assert found == known
    assert calls == (1 if ahead == 10**6 else calls) and (ahead > 1 or calls == len(known))
    assert drawn_in(who, 6, sampling, halved) == (known, len(known))  # in main memory a round's at a time


def test_a_round_that_is_not_its_own_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake that would be easy to make: the round of the first pair for all that are drawn with it."""
    right = visits._before_step

    def first(pairs: Pairs) -> tuple:
        *others, round = right(pairs)
        return (*others, round if isinstance(round, int) else round[:1])

    monkeypatch.setattr(visits, "_before_step", first)
    with pretended_device():
        found, _ = drawn_in(masks(1).to(CUDA), 6, "independent", False)
    assert found != drawn_in(masks(1), 6, "independent", False)[0]


@pytest.mark.parametrize("ahead", [1, 5, 10**4])
@pytest.mark.parametrize("how", [{"snapshot_probability": "1/3"}, {"snapshot_period": 3}])
def test_kinds_of_rounds_do_not_depend_on_how_many_are_drawn_at_once(
    ahead: int, how: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = algorithms.fast(cohort=2, local_lr="1/8", **how)
    setting = Setting(Quadratic.common_hessian([1, -1, 2], 0.5), algorithm, Bernoulli(["1/2", "1/4", "3/4"]))
    options = {"replicas": 2, "rounds": 12, "seed": 5, "record_every": 1, "observers": ["traffic"]}
    known = setting.simulate(**options, device=CPU).rows
    monkeypatch.setattr(state, "AHEAD", ahead)
    with pretended_device():
        found = setting.simulate(**options, device=CUDA).rows
    assert len({*known["snapshots_taken"][:, -1]} | {0.0}) > 1
    for name, values in known.items():
        assert found[name].tolist() == values.tolist(), name
