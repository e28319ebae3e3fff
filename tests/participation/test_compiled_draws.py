"""Compiled draws of independent clients: the bits of the formula, also where a number meets a probability."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.loops import independent_clients
from fedtheory.participation import Bernoulli, Cyclic, Keys, Markov
from fedtheory.participation import markov as markov_module
from fedtheory.participation.bernoulli import client_uniforms
from fedtheory.randomness import Axis

CLIENTS, REPLICAS = 7, 3


def keys(seed: int = 0, clients: int = CLIENTS) -> Keys:
    return Keys(seed, Axis.ARBITRARY, torch.arange(2**40, 2**40 + REPLICAS), clients)


@settings(max_examples=60)
@given(
    p=st.lists(st.floats(0, 1), min_size=CLIENTS, max_size=CLIENTS),
    first=st.integers(0, 2**40),
    seed=st.integers(-(2**63), 2**63 - 1),
)
def test_bernoulli_is_the_formula(p: list[float], first: int, seed: int) -> None:
    process, k = Bernoulli(p), keys(seed)
    drawn, state = process.steps(process.init(k), first, 5)
    for t in range(5):
        expected = (client_uniforms(k, first + t) < torch.tensor(p, dtype=torch.float64)).to(torch.int8)
        assert torch.equal(drawn[t], expected)
        assert torch.equal(process.step(state, first + t)[0], expected)


@settings(max_examples=40)
@given(p=st.floats(0.01, 0.99), pace=st.floats(0.01, 1.0), first=st.integers(0, 30), seed=st.integers(0, 2**40))
def test_chains_step_as_they_are_looked_up(p: float, pace: float, first: int, seed: int) -> None:
    largest = min(Fraction(1), Fraction(p) / (1 - Fraction(p)))  # a float may be more
    process, k = Markov([p] * CLIENTS, [Fraction(pace) * largest] * CLIENTS), keys(seed)
    state = process.init(k)
    for round in range(first, first + 6):
        looked_up = process.step(process.init(k), round)[0]
        drawn, state = process.step(state, round)
        assert torch.equal(drawn, looked_up)


def edges() -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are the numbers of round 4, and the least ones above them; of one replica."""
    numbers = client_uniforms(Keys(0, Axis.ARBITRARY, torch.arange(1), 200), 4)[0].numpy()
    return numbers, np.nextafter(numbers, 1)


def met() -> tuple[int, int]:
    k = Keys(0, Axis.ARBITRARY, torch.arange(1), 200)
    found = [Bernoulli(each.tolist()) for each in edges()]
    counts = [int(process.step(process.init(k), 4)[0].sum()) for process in found]
    return counts[0], counts[1]


def test_a_number_is_not_below_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert met() == (0, 200)
    assert independent_clients.thresholds(np.array([0.0, 2.0**-53, 1.0])).tolist() == [0, 0, 2**52]
    off = lambda p: np.floor(p * 2.0**52 + 0.5).astype(np.uint64)  # noqa: E731
    monkeypatch.setattr(independent_clients, "thresholds", off)  # the relapse: half a step further
    assert met() != (0, 200)


def test_devices_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch draws where there are no compiled loops."""
    rng, k = np.random.default_rng(0), keys()
    p = rng.uniform(0.1, 0.9, CLIENTS)
    for process in (Bernoulli(p.tolist()), Markov(p.tolist(), (0.5 * np.minimum(1, p / (1 - p))).tolist())):
        state = process.init(k)
        nothing = None if isinstance(process, Bernoulli) else (None, None)
        compiled, by_torch = process.steps(state, 0, 20)[0], process.steps(state._replace(below=nothing), 0, 20)[0]
        assert torch.equal(compiled, by_torch) and 0 < int(compiled.sum()) < compiled.numel()


def test_laws_of_many_clients_are_made_once() -> None:
    """A million Fractions are made anew in no round."""
    process = Cyclic([0.25] * 5)
    assert process.law is process.law and markov_module.Markov(["1/2"], ["1/8"]).exits == (0.125,)
