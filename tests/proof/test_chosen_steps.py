"""Steps that are chosen from a theorem on rounds, and a cutoff from one on intervals: what is computed is compared with
the theorem's own bound at the chosen steps, and refused where the choice does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from sympy import Rational, sqrt

from fedtheory.claims.arithmetic import compiled
from fedtheory.claims.statement import Term
from fedtheory.papers import claim
from fedtheory.papers.fedau.proofs.cor4 import THEOREMS, G, I, L, N, Q_expected, T, delta, sigma
from fedtheory.papers.proofs import proof_of
from fedtheory.proof.kernel.theorems import Refused
from fedtheory.proof.translate.weighted_updates import WeightedDescent
from fedtheory.quantities import symbol

CORRECTED = THEOREMS["cor4@corrected"]
SHARED = L * Q_expected / N


def values(seed: int) -> dict[str, float]:
    """Of all quantities, over many sizes."""
    rng = np.random.default_rng(seed)
    free = ("smoothness", "initial_gap", "weight_scale", "expected_weight_scale", "gradient_noise", "dissimilarity",
            "global_gradient_bound")  # fmt: skip
    counts = {name: float(10 ** rng.integers(1, 4)) for name in ("rounds", "clients", "local_steps")}
    shares = {"least_participation_probability": float(rng.uniform(0.01, 0.99))}
    return {name: float(10 ** rng.uniform(-3, 3)) for name in free} | counts | shares


@pytest.mark.parametrize("name", THEOREMS)
def test_it_bounds_the_theorem_at_the_chosen_steps(name: str) -> None:
    """With the weight error that the cutoff allows. Twenty draws meet every entry of both minima, see below."""
    chosen = THEOREMS[name]
    plain = WeightedDescent(chosen.make, chosen.letters, weights=chosen.weights)
    choices, error_of = chosen.choices(), compiled(chosen.error.right_side())
    theorem_of, bound_of = compiled(plain.right_side()), compiled(chosen.right_side())
    asked = {"weight_error", "peak_weight_error"}  # of the claim
    needs = [compiled(need) for _, need in plain.needs() if not asked & {*map(str, need.free_symbols)}]
    for seed in range(20):
        at = values(seed)
        steps = {step: float(compiled(choices[step])(at)) for step in ("local_lr", "global_lr")}
        theorem = float(theorem_of(at | steps | {"weight_error": float(error_of(at))}))
        bound = float(bound_of(at))
        assert theorem <= bound * (1 + 1e-12), seed  # the sums of floats round
        assert bound < 100 * theorem, seed  # and is of its size
        assert all(float(need(at | steps)) >= -1e-12 for need in needs), seed


def test_what_is_needed_of_other_quantities_than_the_steps_is_asked_of_the_claim() -> None:
    """Nearly optimal weights; where the theorem asks for none, nothing but what the cutoff needs."""
    assert {name for name, _ in THEOREMS["cor4.nearly_optimal@main"].needs()} == {"peak_weight_error_1", "two_rounds"}
    assert {name for name, _ in CORRECTED.needs()} == {"two_rounds"}


def test_the_draws_meet_every_entry() -> None:
    met = set()
    for seed in range(20):
        for step in ("local_lr", "global_lr"):
            choice = THEOREMS["cor4@main"].choices()[step]
            least = choice if step == "local_lr" else choice * THEOREMS["cor4@main"].choices()["local_lr"]
            entries = [float(entry.subs(values(seed))) for entry in least.args]
            met.add((step, int(np.argmin(entries))))
    assert met == {("local_lr", 0), ("local_lr", 1), ("global_lr", 0), ("global_lr", 1), ("global_lr", 2)}


def test_a_smaller_slope_costs_a_larger_multiple() -> None:
    """b = 18 for I (delta^2 + G^2) + sigma^2: 16/3 of 27/8; 17/3 for sigma^2 alone would do, and is not enough."""
    assert CORRECTED._parts[::2] == (Rational(16, 3), 18)
    half = replace(CORRECTED, slope=SHARED * (I * (delta**2 + G**2) / 2 + sigma**2))
    assert half._parts[2] == 36


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"slope": SHARED * (I * delta**2 + sigma**2)}, "allowed are the products of the slope"),
        ({"slope": SHARED * (I * (delta**2 + G**2) + sigma**2 - delta * sigma)}, "sum of terms >= 0"),
        ({"local_cap": 1 / (14 * L * I)}, "allowed is a local step of at most"),
        ({"local_lr": sigma ** Rational(1, 4) / (L * I * sqrt(T))}, "rational square"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused(changes: dict, why: str) -> None:
    wrong = replace(CORRECTED, **changes)
    with pytest.raises(Refused, match=why):
        wrong.right_side(), wrong.needs()


CLAIM = claim("fedau.cor4@corrected")


@pytest.mark.parametrize("term", ["leading", "weights", "optimization", "drift"])
def test_no_term_can_be_less(term: str) -> None:
    """One percent off any term, and another step or cutoff, lose the proof; a larger one keeps it."""

    def with_factor(factor: sympy.Expr):
        terms = tuple(Term(t.name, t.expression * (factor if t.name == term else 1)) for t in CLAIM.terms)
        return proof_of(replace(CLAIM, terms=terms))

    assert with_factor(Rational(99, 100)) is None
    assert with_factor(Rational(101, 100)).derivation.origin == CORRECTED


@pytest.mark.parametrize("name", ["local_lr", "global_lr", "cutoff"])
def test_no_choice_can_be_another(name: str) -> None:
    own = CLAIM.choices
    assert proof_of(replace(CLAIM, choices={**own, name: own[name] * 2})) is None
    assert proof_of(replace(CLAIM, choices={k: v for k, v in own.items() if k != name})) is None


def test_a_claim_from_one_round_on_is_not_proved() -> None:
    """log T is 0 at T = 1, and no bound on the weights' error is."""
    assert symbol("rounds") == T
    assert proof_of(replace(CLAIM, hypotheses=())) is None
