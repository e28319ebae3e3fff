"""The check of processes passes right ones, and names each planted bug."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import torch

from fedtheory import testing
from fedtheory.participation import AnySize, Bernoulli, Cyclic, Fixed, Keys, LargestNoise, Markov, Recorded, Uniform
from fedtheory.participation.base import Inclusion
from fedtheory.participation.bernoulli import client_uniforms, independent_inclusion
from fedtheory.randomness import Axis
from fedtheory.testing import check_participation

P = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 3)]


@dataclass(frozen=True)
class Coins(AnySize):
    """Three clients of chances 1/4, 1/2, 1/3: right, but for what a subclass does."""

    deterministic = False

    def check(self, clients):
        if clients != 3:
            raise ValueError(f"clients = {clients}: allowed are 3")

    def sizes(self, clients):
        return 0, 3

    def inclusion(self, clients):
        return independent_inclusion(P)

    def chances(self, keys, round):
        return client_uniforms(keys, round)

    def step(self, state, round):
        return (self.chances(state, round) < torch.tensor([float(p) for p in P])).to(torch.int8), state


class Unkeyed(Coins):
    def chances(self, keys, round):
        return torch.rand(len(keys.replica_ids), 3)


class ByPlace(Coins):
    def chances(self, keys, round):
        here = Keys(keys.seed, keys.axis, torch.arange(len(keys.replica_ids)), 3)
        return client_uniforms(here, round)


class ByBatch(Coins):
    """The first replica of a batch has what the last one has."""

    def chances(self, keys, round):
        return client_uniforms(keys, round).roll(1, 0) if len(keys.replica_ids) > 2 else client_uniforms(keys, round)


class NoSeed(Coins):
    def chances(self, keys, round):
        return client_uniforms(Keys(0, keys.axis, keys.replica_ids, 3), round)


class NoReplica(Coins):
    def chances(self, keys, round):
        alike = torch.zeros_like(keys.replica_ids)
        return client_uniforms(Keys(keys.seed, keys.axis, alike, 3), round)


class InPairs(Coins):
    """Two replicas share their draws."""

    def chances(self, keys, round):
        return client_uniforms(Keys(keys.seed, keys.axis, keys.replica_ids // 2, 3), round)


class NoRound(Coins):
    def chances(self, keys, round):
        return client_uniforms(keys, 0)


class EveryThird(Coins):
    """The rounds r and r + 3 are the same."""

    def chances(self, keys, round):
        return client_uniforms(keys, round % 3)


class OtherChances(Coins):
    def inclusion(self, clients):
        return independent_inclusion([Fraction(1, 4), Fraction(1, 2), Fraction(3, 8)])


class OtherPairs(Coins):
    """Clients 0 and 1 come together, and are said not to."""

    def chances(self, keys, round):
        drawn = client_uniforms(keys, round)
        return torch.stack([drawn[:, 1] / 2, drawn[:, 1], drawn[:, 2]], 1)


class OftenTogether(Coins):
    """Each client comes with probability .9, clients 0 and 1 both with .85, and are said to be independent: .81."""

    def inclusion(self, clients):
        return independent_inclusion([Fraction(9, 10)] * 3)

    def step(self, state, round):
        drawn = client_uniforms(state, round)
        here = drawn < 0.9
        here[:, 1] = drawn[:, 1] < torch.where(here[:, 0], 0.85 / 0.9, 0.5)
        return here.to(torch.int8), state


class Expects(Coins):
    def expected(self, clients, round):
        return np.array([Fraction(1, 2)] * 3, dtype=object)


class LaterOthers(Coins):
    """From round 5 on the chances are others."""

    def chances(self, keys, round):
        return client_uniforms(keys, round) * (1.3 if round > 4 else 1)


class Negative(Coins):
    def step(self, state, round):
        return -super().step(state, round)[0], state


class Long(Coins):
    def step(self, state, round):
        return super().step(state, round)[0].long(), state


class TooMany(Coins):
    def sizes(self, clients):
        return 0, 2


class OtherChunks(Coins):
    def steps(self, state, first, rounds):
        counts, state = super().steps(state, first, rounds)
        return counts.flip(0), state


class CountsSteps(Coins):
    """A round is how often it was stepped, in a state that is changed."""

    def init(self, keys):
        return {"keys": keys, "round": 0}

    def step(self, state, round):
        state["round"] += 1
        return super().step(state["keys"], state["round"])[0], state


class CountsItself(Coins):
    """The same, and a state is not changed: a round that is reached at once is another."""

    def init(self, keys):
        return keys, 0

    def step(self, state, round):
        keys, walked = state
        return super().step(keys, walked)[0], (keys, walked + 1)


class ChangesItsState(Coins):
    """Right step by step and at once; but a state, once stepped, is another."""

    def init(self, keys):
        return {"keys": keys, "last": -1}

    def step(self, state, round):
        again, state["last"] = state["last"] == round, round
        return super().step(state["keys"], round + 1000 * again)[0], state


class SaysCertain(Coins):
    deterministic = True


class Sticky(Markov):
    """A chain that says that its rounds are independent."""

    independent_rounds = True

    def inclusion(self, clients):
        return self.marginal(clients, 0)


class OtherMemory(Markov):
    """A chain whose correlations are others than it says."""

    def twice(self, clients, lag):
        return np.array(self.law, dtype=object) ** 2


class LateOthers(Coins):
    """From round 500 on everybody comes."""

    def step(self, state, round):
        counts, state = super().step(state, round)
        return (counts if round < 500 else torch.ones_like(counts)), state


class Repeats(Coins):
    """Rounds come again after 20."""

    def chances(self, keys, round):
        return client_uniforms(keys, round % 20)


class StandsStill(Coins):
    """From round 100 on nothing changes."""

    def chances(self, keys, round):
        return client_uniforms(keys, min(round, 100))


class SomeSeeds(Coins):
    """Seeds differ in their last bits alone."""

    def chances(self, keys, round):
        return client_uniforms(Keys(keys.seed % 4, keys.axis, keys.replica_ids, 3), round)


class OneAxis(Coins):
    """Snapshots see the arbitrary rounds."""

    def chances(self, keys, round):
        return client_uniforms(Keys(keys.seed, Axis.ARBITRARY, keys.replica_ids, 3), round)


class NoState(Coins):
    def step(self, state, round):
        return None


class NoInclusion(Coins):
    def inclusion(self, clients):
        return [1, 2, 3]


class ShortInclusion(Coins):
    def inclusion(self, clients):
        return independent_inclusion(P[:2])


class Fails(Coins):
    def step(self, state, round):
        raise RuntimeError("two\nlines")


class NoSizes(Coins):
    def sizes(self, clients):
        return None


PLANTED = {
    LateOthers(): "MomentsError",
    Repeats(): "RoundCovarianceError",
    StandsStill(): "RoundCovarianceError",
    SomeSeeds(): "DeterminismError",
    OneAxis(): "DeterminismError",
    NoState(): "CountsError",
    NoInclusion(): "MomentsError",
    ShortInclusion(): "MomentsError",
    NoSizes(): "CountsError",
    Unkeyed(): "UnkeyedDrawsError",
    ByPlace(): "BatchPlaceError",
    ByBatch(): "BatchPlaceError",
    NoSeed(): "DeterminismError",
    NoReplica(): "DeterminismError",
    InPairs(): "ReplicaCovarianceError",
    NoRound(): "RoundCovarianceError",
    EveryThird(): "RoundCovarianceError",
    OtherChances(): "MomentsError",
    OtherPairs(): "MomentsError",
    OftenTogether(): "MomentsError",
    Expects(): "MomentsError",
    LaterOthers(): "MomentsError",
    Negative(): "CountsError",
    Long(): "CountsError",
    TooMany(): "CountsError",
    OtherChunks(): "ChunkError",
    CountsSteps(): "FarRoundError",
    CountsItself(): "FarRoundError",
    ChangesItsState(): "ResumeError",
    SaysCertain(): "DeterminismError",
    Sticky(["1/4", "1/2"], ["1/8", "1/4"]): "RoundCovarianceError",
    OtherMemory(["1/4", "1/2"], ["1/8", "1/4"]): "RoundCovarianceError",
}


@pytest.mark.parametrize("process", PLANTED, ids=lambda process: type(process).__name__)
def test_each_planted_bug_is_named(process) -> None:
    with pytest.raises(testing.PropertyError) as caught:
        check_participation(process)
    assert type(caught.value).__name__ == PLANTED[process], caught.value
    assert caught.value.what in str(caught.value) and "expected" in str(caught.value)


def test_a_right_process_passes_for_every_seed() -> None:
    """A wrong refusal is an event of chance 10^-8."""
    for seed in range(20):
        assert len(check_participation(Coins(), seed=seed, replicas=2000)) == 9


@pytest.mark.parametrize(
    ("process", "clients"),
    [(Coins(), 3), (Markov(["1/4", "1/2"], ["1/8", "1/4"]), 2), (Uniform(2), 6), (Fixed([8]), 9), (Uniform(20), 20)],
    ids=str,
)
def test_the_number_of_clients_is_found(process, clients: int) -> None:
    assert check_participation(process).how_far["counts in range"] == f"of {clients} clients"


def test_what_is_rare_is_not_taken_for_certain() -> None:
    assert len(check_participation(Bernoulli([1e-6, 1e-6]))) == 9
    assert len(check_participation(Cyclic([1, 0], 4))) == 9


def test_what_ends_or_says_nothing_is_checked_as_far_as_it_goes() -> None:
    assert "moments of one round" in check_participation(Recorded([[0, 1], [1, 1], [1, 0]]))
    checked = check_participation(LargestNoise(2), 4)
    assert "far rounds" in checked and "moments of one round" not in checked


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="process = 3: allowed is a Participation"):
        check_participation(3)
    with pytest.raises(ValueError, match="replicas = 10: allowed is an integer >= 1000"):
        check_participation(Coins(), replicas=10)
    with pytest.raises(ValueError, match="clients = 4: allowed are 3"):
        check_participation(Coins(), 4)
    with pytest.raises(ValueError, match="clients: Bernoulli runs on none"):
        check_participation(Bernoulli([0.5] * 257))
    with pytest.raises(
        ValueError, match=r"runs on none of 1 to 256 \(of 3, which it accepts: RuntimeError: two lines\)"
    ):
        check_participation(Fails())


def test_moments_may_be_of_floats_or_fractions() -> None:
    class Floats(Coins):
        def inclusion(self, clients):
            return Inclusion(*(np.asarray(each, float) for each in vars(super().inclusion(clients)).values()))

    assert len(check_participation(Floats())) == 9
