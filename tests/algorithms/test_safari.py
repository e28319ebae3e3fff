"""SAFARI's description: its kinds of round, which round is of which kind, linked step sizes, what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from fedtheory.algorithms import (
    ClientRound,
    Safari,
    ServerRound,
    Weights,
    check_theorem_4_tie,
    check_theorem_5_tie,
    fast,
    safari,
    theorem_4_server_lr,
    theorem_5_server_lr,
)
from fedtheory.papers.safari.statements import thm4, thm5
from fedtheory.participation import Bernoulli, Keys, Phases, Uniform, Weighted
from fedtheory.quantities import symbol
from fedtheory.randomness import Axis

KEYS = Keys(seed=3, axis=Axis.SNAPSHOT, replica_ids=torch.arange(1000), clients=4)


def some_safari(**changes: object) -> Safari:
    return safari(**({"client_round_probability": "1/3", "local_lr": "1/100", "server_lr": "1/50"} | changes))


def test_the_kinds_of_round() -> None:
    algorithm = some_safari(local_steps=5)
    assert algorithm.kinds == (ClientRound(5, Fraction(1, 100)), ServerRound(Fraction(1, 50)))
    assert algorithm.share == Fraction(1, 3) and algorithm.period is None and not algorithm.adaptive
    assert algorithm.with_share(Fraction(1, 7)) == replace(algorithm, client_round_probability=Fraction(1, 7))
    assert algorithm.quantities() == {
        "client_round_probability": 1 / 3, "local_lr": 0.01, "local_steps": 5, "server_lr": 0.02,
    }  # fmt: skip


def test_fast_has_two_kinds_of_client_round() -> None:
    algorithm = fast(cohort=3, local_lr="1/9", local_steps=2, snapshot_period=4)
    assert algorithm.kinds == (ClientRound(2, Fraction(1, 9), Uniform(3)), ClientRound(2, Fraction(1, 9)))
    assert (algorithm.share, algorithm.period) == (Fraction(1, 4), 4)
    assert algorithm.with_share(Fraction(1, 3)) == fast(
        cohort=3, local_lr="1/9", local_steps=2, snapshot_probability="1/3"
    )


def test_a_round_is_the_clients_with_its_probability() -> None:
    # Each of 10^4 draws with probability 1/3: a share off by 0.02 has probability 2e-5.
    share = torch.stack([some_safari().is_first(KEYS, r) for r in range(10)]).double().mean()
    assert abs(share - 1 / 3) < 0.02
    assert not some_safari(client_round_probability=0).is_first(KEYS, 0).any()
    assert some_safari(client_round_probability=1).is_first(KEYS, 0).all()


# The moments of the clients' weights.


def test_weights_are_counts_over_the_cohort() -> None:
    found = ClientRound(1, Fraction(1)).weights(Uniform(2), clients=3, exact=True)
    assert found.first.tolist() == [Fraction(2, 3)] * 3 and found.divisor == 2
    assert found.second[0].tolist() == [Fraction(2, 3), Fraction(1, 3), Fraction(1, 3)]
    own = ClientRound(1, Fraction(1), Uniform(1)).weights(Uniform(2), clients=3)
    assert own.first.tolist() == [1 / 3] * 3 and own.first.dtype == float and own.divisor == 1
    assert Weights.equal(3).second.tolist() == [[1] * 3] * 3 and Weights.equal(3).divisor == 3


@pytest.mark.parametrize(
    ("process", "exact", "message"),
    [
        (Weighted(1, [1, 2, 3]), True, "Weighted knows its inclusion probabilities in floating point only"),
        (Bernoulli(["1/2"] * 3), False, "rounds of Bernoulli differ in size"),
        (Phases([[0], [1]], [3, 4]), False, "the moments of a round differ between phases"),
    ],
)
def test_weights_that_do_not_exist(process, exact, message) -> None:
    with pytest.raises(ValueError, match=message):
        ClientRound(1, Fraction(1)).weights(process, 3, exact)


# Linked steps.


def exactly(expression, **values: Fraction) -> Fraction:
    import sympy

    found = expression.subs({symbol(name): sympy.Rational(v.numerator, v.denominator) for name, v in values.items()})
    return Fraction(int(found.p), int(found.q))


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("mu", [Fraction(1, 2), Fraction(3)])
def test_linked_steps_are_the_claims(K: int, mu: Fraction) -> None:
    L, step = Fraction(3), Fraction(1, 100)
    fourth = theorem_4_server_lr(step, K)
    back = exactly(thm4.MAIN.choices["local_lr"], server_lr=fourth, local_steps=Fraction(K))
    assert back == step
    fifth = theorem_5_server_lr(step, K, smoothness=L, strong_convexity=mu)
    values = {"local_lr": step, "local_steps": Fraction(K), "smoothness": L, "strong_convexity": mu}
    assert fifth == exactly(thm5.SERVER_STEP, **values)
    assert step * K * mu / 2 == 2 * fifth * L * mu / (L + mu)
    assert (fourth == fifth) == (mu == L)


def test_the_cap_of_theorem_5() -> None:
    """L = mu = 1: the cap on server_lr is 1, so that on local_lr is 2."""
    assert theorem_5_server_lr(2, 1, smoothness=1, strong_convexity=1) == 1
    message = r"^local_lr = 2\.5: by .* \(Theorem 5\) server_lr is 5/4, above its cap 2 / \(L \+ mu\) = 1; .* = 2$"
    with pytest.raises(ValueError, match=message):
        theorem_5_server_lr(2.5, 1, smoothness=1, strong_convexity=1)
    with pytest.raises(ValueError, match=r"allowed is local_lr <= 8 L / \(K \(L \+ mu\)\^2\) = 1/4$"):
        theorem_5_server_lr(1, 6, smoothness=3, strong_convexity=1)
    assert theorem_5_server_lr("1/4", 6, smoothness=3, strong_convexity=1) == Fraction(1, 2)


def test_steps_that_contradict_a_tie() -> None:
    """K eta_c / 2 = 3/200; with L = 3, mu = 1 Theorem 5 makes it K eta_c / 3 = 1/100."""
    constants = {"smoothness": 3, "strong_convexity": 1}
    check_theorem_4_tie(some_safari(local_steps=3, server_lr="3/200"))
    check_theorem_4_tie(some_safari(local_steps=3, local_lr=0.01, server_lr=0.015))  # up to rounding
    check_theorem_5_tie(some_safari(local_steps=3, server_lr="1/100"), **constants)
    with pytest.raises(ValueError, match=r"^server_lr = 1/100: eta_c = 2 eta_s / K \(Theorem 4\) makes it 3/200 for "):
        check_theorem_4_tie(some_safari(local_steps=3, server_lr="1/100"))
    with pytest.raises(ValueError, match=r"^server_lr = 3/200: eta_c K mu / 2 = .* \(Theorem 5\) makes it 1/100 for "):
        check_theorem_5_tie(some_safari(local_steps=3, server_lr="3/200"), **constants)
    with pytest.raises(ValueError, match="above its cap"):
        check_theorem_5_tie(some_safari(local_lr=10, server_lr="10/3"), **constants)
    for off in (Fraction(1, 10**9), -Fraction(1, 10**9)):
        with pytest.raises(ValueError, match="Theorem 4"):
            check_theorem_4_tie(some_safari(local_steps=3, server_lr=Fraction(3, 200) * (1 + off)))


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"client_round_probability": 1.5}, "client_round_probability = 1.5: allowed is a number in [0, 1]"),
        ({"client_round_probability": "-1/9"}, "client_round_probability = -0.1111111111111111: allowed is a number"),
        ({"client_round_probability": None}, "client_round_probability = None: allowed is a finite number"),
        ({"local_lr": 0}, "local_lr = 0.0: allowed is a finite number > 0"),
        ({"server_lr": 0}, "server_lr = 0.0: allowed is a finite number > 0"),
        ({"server_lr": float("nan")}, "server_lr = nan: allowed is a finite number"),
        ({"server_lr": "fast"}, "server_lr = 'fast': allowed is a finite number"),
        ({"local_steps": 0}, "local_steps = 0.0: allowed is an integer >= 1"),
        ({"local_steps": 1.5}, "local_steps = 1.5: allowed is an integer >= 1"),
    ],
)
def test_wrong_arguments_are_named(arguments, message) -> None:
    with pytest.raises(ValueError) as error:
        some_safari(**arguments)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "constants", [{"smoothness": 1, "strong_convexity": 2}, {"smoothness": 0, "strong_convexity": 1}]
)
def test_constants_that_contradict(constants) -> None:
    with pytest.raises(ValueError, match=r"^(strong_convexity = 2|smoothness = 0)"):
        theorem_5_server_lr("1/10", 1, **constants)
