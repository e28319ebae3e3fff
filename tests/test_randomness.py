"""The random draws: what they depend on, and whether they look random.

Statistical tests run at a fixed seed and at level 1e-6 each. Means of bounded draws are held against Hoeffding's
inequality, with a union bound over all that is compared; other moments against a normal bound; whole laws against
Kolmogorov and Smirnov's test.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtheory import randomness
from fedtheory.loops import draws as compiled_draws
from fedtheory.randomness import Axis, exponentials, normals, scaled_signs, signs, uniforms, words

LEVEL = 1e-6
MANY = 20_000
int64 = st.integers(-(2**63), 2**63 - 1)
small = st.integers(0, 2**40)


def reference(seed: int, axis: int, *coordinates: int) -> int:
    """The same hash in Python's integers."""
    golden, mask = 0x9E3779B97F4A7C15, 2**64 - 1

    def mix(z: int) -> int:
        z &= mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return z ^ z >> 31

    state = 0
    for coordinate in (seed, axis, *coordinates):
        state = mix((state ^ mix(coordinate + golden)) + golden)
    return state - 2**64 if state >= 2**63 else state


def hoeffding(samples: int, comparisons: int = 1) -> float:
    """Means of +-1 draws are all within this of their expectations, but with chance LEVEL."""
    return sqrt(2 * log(2 * comparisons / LEVEL) / samples)


def bits(x: torch.Tensor) -> torch.Tensor:
    """The 64 bits of each word, as +-1.0."""
    return 1.0 - 2.0 * ((x[..., None] >> torch.arange(64)) & 1).double()


def some_words(count: int = MANY, seed: int = 0) -> torch.Tensor:
    return words(seed, Axis.GRADIENT_NOISE, torch.arange(count), 3)


@settings(deadline=None)
@given(int64, st.sampled_from(Axis), st.lists(int64, max_size=4))
def test_words_are_the_documented_hash(seed, axis, coordinates):
    assert words(seed, axis, *coordinates).tolist() == reference(seed, axis, *coordinates)


def test_first_splitmix64_output():
    """The published test vector of the finalizer: the generator SplitMix64 seeded with 0 starts with this number."""
    assert randomness._mix(torch.tensor(randomness._GOLDEN)).item() % 2**64 == 0xE220A8397B1DCDAF


@settings(deadline=None)
@given(small, st.lists(small, min_size=1, max_size=6), st.lists(small, min_size=1, max_size=6), small)
def test_words_do_not_depend_on_the_batch(seed, replicas, clients, round):
    together = words(seed, Axis.COHORT, torch.tensor(replicas)[:, None], torch.tensor(clients), round)
    assert together.shape == (len(replicas), len(clients)) and together.dtype == torch.int64
    for a, replica in enumerate(replicas):
        for b, client in enumerate(clients):
            assert together[a, b] == words(seed, Axis.COHORT, replica, client, round)


def single(words: torch.Tensor, dimension: int) -> torch.Tensor:
    """In float32."""
    return normals(words, dimension, torch.float32)


@pytest.mark.parametrize(
    "draw", [uniforms, exponentials, lambda w: signs(w, 67), lambda w: normals(w, 5), lambda w: single(w, 5)]
)
def test_draws_do_not_depend_on_the_batch(draw):
    """Bit for bit, also where vectorised instructions handle the rest of an array on their own."""
    together = draw(some_words(1009))
    for start, stop in [(0, 1), (7, 8), (1, 4), (500, 515), (3, 1009), (1008, 1009)]:
        assert torch.equal(draw(some_words(1009)[start:stop]), together[start:stop])
        assert torch.equal(draw(some_words(1009)[start:stop].clone()), together[start:stop])
    square = some_words(1024).view(32, 32)
    assert torch.equal(draw(square.T), draw(square).transpose(0, 1))


@pytest.mark.parametrize("block", [1, 8, 4096])
def test_blocks_do_not_matter(monkeypatch, block):
    """Normal numbers are made of some keys at a time; there may be no keys."""
    keys = some_words(1009)
    drawn = [normals(keys, 9, dtype) for dtype in (torch.float32, torch.float64)]
    monkeypatch.setattr(compiled_draws, "AT_ONCE", block)
    for known in drawn:
        assert torch.equal(normals(keys, 9, known.dtype), known)
    assert single(keys[:0], 9).shape == (0, 9)


def test_a_device_draws_the_same_words_and_nearly_the_same_normal_numbers(monkeypatch):
    keys = some_words(1009).view(1009, 1).expand(-1, 2)
    draws = [lambda: words(3, Axis.COHORT, keys, 5), lambda: signs(keys, 67)]
    draws += [lambda t=t: scaled_signs(keys, 67, 0.3, t) for t in (torch.float32, torch.float64)]
    here = [draw() for draw in draws]
    single, double = (normals(keys, 5, dtype, 0.5) for dtype in (torch.float32, torch.float64))
    monkeypatch.setattr(randomness, "in_memory", lambda x: False)
    assert all(torch.equal(draw(), known) for draw, known in zip(draws, here, strict=True))
    torch.testing.assert_close(normals(keys, 5, torch.float32, 0.5), single, rtol=0, atol=2e-6)
    torch.testing.assert_close(normals(keys, 5, torch.float64, 0.5), double, rtol=0, atol=4e-15)


@settings(deadline=None)
@given(int64)
def test_uniforms_are_open_and_symmetric(word):
    u = float(uniforms(torch.tensor([word])))
    assert 0.0 < u < 1.0
    assert float(uniforms(torch.tensor([~word]))) == 1.0 - u


@pytest.mark.parametrize("word", [0, -1, 2**63 - 1, -(2**63)])
def test_extreme_words_give_finite_draws(word):
    w = torch.tensor([word])
    assert 0.0 < float(uniforms(w)) < 1.0
    assert 0.0 < float(exponentials(w)) < 37.0
    assert torch.isfinite(normals(w, 4)).all() and single(w, 4).abs().max() < 6.7
    assert (signs(w, 70).abs() == 1).all()


LAWS = {"uniform": (uniforms, "uniform"), "exponential": (exponentials, "expon"), "normal": (normals, "norm"),
        "normal, single": (single, "norm")}  # fmt: skip


def sample(name: str, seed: int, size: int = 3 * MANY) -> np.ndarray:
    draw = LAWS[name][0]
    drawn = draw(some_words(size // 5, seed), 5) if name.startswith("normal") else draw(some_words(size, seed))
    return drawn.double().numpy().ravel()


@pytest.mark.parametrize("seed", [0, 1, 12345])
@pytest.mark.parametrize("name", LAWS)
def test_laws(name, seed):
    assert stats.kstest(sample(name, seed), LAWS[name][1]).pvalue > LEVEL


@pytest.mark.parametrize("name", LAWS)
def test_moments(name):
    """The first four moments, within 5.2 standard deviations (level 2e-7 each, 8e-7 together)."""
    x, law = sample(name, 0, 1_000_000), getattr(stats, LAWS[name][1])
    for power in range(1, 5):
        mean, second = law.moment(power), law.moment(2 * power)
        assert abs((x**power).mean() - mean) < 5.2 * sqrt((second - mean**2) / len(x))


@pytest.mark.parametrize("dimension", [1, 63, 64, 65, 130])
def test_signs_are_fair_and_uncorrelated(dimension):
    drawn = signs(some_words(), dimension)
    assert drawn.shape == (MANY, dimension) and drawn.dtype == torch.int8
    assert (drawn.abs() == 1).all()
    s = drawn.double()
    assert s.mean(0).abs().max() < hoeffding(MANY, dimension)
    off_diagonal = s.T @ s / MANY - torch.eye(dimension)
    assert off_diagonal.abs().max() < hoeffding(MANY, dimension**2)
    neighbours = s[0::2].T @ s[1::2] / (MANY // 2)
    assert neighbours.abs().max() < hoeffding(MANY // 2, dimension**2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dimension", [1, 2, 5, 8])
def test_normals_are_uncorrelated_and_so_are_their_squares(dimension, dtype):
    x = normals(some_words(), dimension, dtype)
    assert x.shape == (MANY, dimension) and x.dtype == dtype
    x = x.double()
    z = -stats.norm.ppf(LEVEL / (4 * dimension**2))  # normal bound, two-sided, over both families of pairs
    off_diagonal = ~torch.eye(dimension, dtype=torch.bool)
    for y, deviation in [(x, 1.0), (x**2 - 1, 2.0)]:
        assert ((y.T @ y / MANY)[off_diagonal].abs() < z * deviation / sqrt(MANY)).all()
        assert ((y[0::2].T @ y[1::2] / (MANY // 2)).abs() < z * deviation / sqrt(MANY // 2)).all()


CLIENT = 10**6


def streams() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Pairs of streams that must have nothing to do with each other."""
    i = torch.arange(MANY)
    base = words(0, Axis.COHORT, i, CLIENT, 7)
    others = {f"axis {axis.name}": words(0, axis, i, CLIENT, 7) for axis in Axis if axis != Axis.COHORT}
    others |= {f"seed {s}": words(s, Axis.COHORT, i, CLIENT, 7) for s in (1, 2, 3, -1, 2**32)}
    others |= {
        "next replica": words(0, Axis.COHORT, i + 1, CLIENT, 7),
        "next client": words(0, Axis.COHORT, i, CLIENT + 1, 7),
        "next round": words(0, Axis.COHORT, i, CLIENT, 8),
        "client and round swapped": words(0, Axis.COHORT, i, 7, CLIENT),
        "replica and client swapped": words(0, Axis.COHORT, CLIENT, i, 7),
        "one coordinate less": words(0, Axis.COHORT, i, CLIENT),
        "one coordinate more": words(0, Axis.COHORT, i, CLIENT, 7, 0),
        "seed and replica together": torch.stack([words(k, Axis.COHORT, k, CLIENT, 7) for k in range(1, 1001)]),
    }
    return {name: (base[: len(other)], other) for name, other in others.items()}


@pytest.mark.parametrize("pair", streams().values(), ids=streams().keys())
def test_streams_are_unrelated(pair):
    """No word in common at any place, and no bit of one correlated with any bit of the other."""
    one, other = pair
    assert (one != other).all()
    correlations = bits(one).T @ bits(other) / len(one)
    assert correlations.abs().max() < hoeffding(len(one), 64 * 64)


def test_seeds_and_axes_are_told_apart():
    """Seed 1 on axis 2 is not seed 2 on axis 1, and seeds equal to the axis are not all one."""
    drawn = torch.stack([words(seed, axis, torch.arange(3)) for seed in range(-20, 40) for axis in Axis])
    assert len(drawn.unique()) == drawn.numel()


@pytest.mark.parametrize("place", [0, 1, 2, 3], ids=["seed", "replica", "client", "round"])
def test_avalanche(place):
    """Flipping any bit of any coordinate flips each of the 64 bits of the word with probability 1/2."""
    contexts = 4_000
    coordinates = [11, torch.arange(contexts), 2, 3]
    before = bits(words(coordinates[0], Axis.ARBITRARY, *coordinates[1:]))
    for bit in (0, 1, 7, 20, 31, 32, 47, 62):
        flipped = list(coordinates)
        flipped[place] = flipped[place] ^ (1 << bit)
        agreement = (before * bits(words(flipped[0], Axis.ARBITRARY, *flipped[1:]))).mean(0)
        assert agreement.abs().max() < hoeffding(contexts, 4 * 8 * 64)
        differing = 32 - 32 * agreement.mean()  # of 64; all bits of all contexts together
        assert abs(differing - 32) < 32 * hoeffding(64 * contexts, 4 * 8)


def test_words_do_not_collide():
    """Half a million of 2^64: a collision has probability 7e-9."""
    drawn = words(0, Axis.COHORT, torch.arange(500)[:, None, None], torch.arange(20)[:, None], torch.arange(50))
    assert len(drawn.unique()) == drawn.numel()


@pytest.mark.parametrize("seed", [1.7, 1.0, "1", None, 2**63, -(2**63) - 1])
def test_a_seed_is_a_whole_number_of_64_bits(seed):
    with pytest.raises(ValueError, match=r"seed = .*: allowed is an integer from -2\^63 to 2\^63 - 1"):
        words(seed, Axis.COHORT, 1)
    assert words(np.int64(7), Axis.COHORT, 1) == words(7, Axis.COHORT, 1)


def test_numbers_of_other_precisions_are_those_of_float64_rounded() -> None:
    drawn = words(5, Axis.COHORT, torch.arange(30), 2)
    exact = normals(drawn, 4)
    for dtype in (torch.float16, torch.bfloat16):
        found = normals(drawn, 4, dtype)
        assert found.dtype == dtype and torch.equal(found, exact.to(dtype))
