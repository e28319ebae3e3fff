"""FedAU's statements: what they are, values by hand, the algebra of its proofs, and symmetries."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy
from sympy import Rational, log, simplify, sqrt

from fedtheory.claims.statement import Claim, slack_of
from fedtheory.claims.typeset import left_latex
from fedtheory.evidence.units_check import check_units, scaling_defect
from fedtheory.papers import claim
from fedtheory.papers.fedau.statements import asm5, cor4, eqB_6_8, lemmaB_6_1, lemmaB_7_1, rounds, thm1, thm2, thm3
from fedtheory.quantities import symbol, symbols

MODULES = (rounds, thm1, thm2, lemmaB_6_1, eqB_6_8, thm3, lemmaB_7_1, cor4, asm5)
CLAIMS = {claim.ref: claim for module in MODULES for claim in module.EDITIONS}
every_claim = pytest.mark.parametrize("each", CLAIMS.values(), ids=list(CLAIMS))

sigma, delta, L, F, G = symbols("gradient_noise", "dissimilarity", "smoothness", "initial_gap", "global_gradient_bound")
N, I, T = symbols("clients", "local_steps", "rounds")
gamma, eta, W = symbols("local_lr", "global_lr", "weight_error")
Q, Q_expected = symbols("weight_scale", "expected_weight_scale")
gradient, objective_error, w = symbols("gradient_norm", "objective_error", "update_weight")


def test_the_claims_are_these() -> None:
    assert list(CLAIMS) == [
        "fedau.lemmaB_3_1@main", "fedau.lemmaB_3_1@sharp", "fedau.lemmaB_3_2@main", "fedau.lemmaB_3_2@sharp",
        "fedau.lemmaB_3_3@main", "fedau.lemmaB_5_1@main",
        "fedau.thm1@main", "fedau.thm2@main", "fedau.thm2@corrected", "fedau.thm2.nearly_optimal@main",
        "fedau.lemmaB_6_1.mean@main", "fedau.lemmaB_6_1.mean_below@main", "fedau.lemmaB_6_1.variance@main",
        "fedau.lemmaB_6_1.variance_below@main", "fedau.eqB_6_7@main", "fedau.eqB_6_7@sharp",
        "fedau.eqB_6_8.a@main", "fedau.eqB_6_8.a@corrected", "fedau.eqB_6_8.b@main", "fedau.eqB_6_8.b@corrected",
        "fedau.eqB_6_8.b_next@main", "fedau.eqB_6_8.b_next@corrected", "fedau.eqB_6_8.c@main", "fedau.thm3@main",
        "fedau.thm3@appendix", "fedau.thm3@sharp", "fedau.lemmaB_7_1@main", "fedau.lemmaB_7_1@sharp",
        "fedau.eqB_7_2@main", "fedau.cor4@main", "fedau.cor4@corrected", "fedau.cor4.nearly_optimal@main",
        "fedau.cor4.nearly_optimal@long_runs", "fedau.asm5.interval@main",
        "fedau.appA_3.scale@main", "fedau.appA_3.error@main",
    ]  # fmt: skip


@every_claim
def test_latex_is_in_the_papers_letters(each: Claim) -> None:
    each = claim(each.ref)
    for vocabulary in (False, True):
        text = each.latex(vocabulary)
        left = left_latex(each.functional, "R" if vocabulary else each.letters.get("rounds", "R"))
        assert text.startswith(left + r" \le ") and "+ -" not in text
    names = {s.name for term in each.terms for s in term.expression.free_symbols}
    assert all(each.letters[name] in each.latex() for name in names)


@every_claim
def test_everything_is_homogeneous(each: Claim) -> None:
    """By symbols, and by numbers (1e-12 is what floating point leaves)."""
    assert check_units(each) == ()
    assert max(scaling_defect(each, points=10).values()) < 1e-12


@every_claim
def test_conditions_and_choices(each: Claim) -> None:
    options = {option for ambiguity in each.ambiguities for option in ambiguity.options}
    for hypothesis in each.hypotheses:
        assert hypothesis.source and set(hypothesis.alternatives) <= options
    for name in each.choices:
        assert symbol(name) not in each.right_side.free_symbols
    assert set(each.choices) in ({*()}, {"cutoff"}, {"cutoff", "local_lr", "global_lr"})


# Values by hand.


def test_theorem_3_by_hand() -> None:
    """K = 3, T = 10, (1-p)^(2K) = 1/64 at p = 1/2."""
    at = {"cutoff": 3, "rounds": 10, "cutoff_bias": 1 / 64}
    known = (9 + 6 * math.log(10)) / 10 + 1 / 64
    assert float(CLAIMS["fedau.thm3@appendix"].evaluate(**at).value) == pytest.approx(known, rel=1e-14)
    loosened = 3 * math.log(10) * (2 + 3 / math.log(2)) / 10 + 1 / 64
    assert float(CLAIMS["fedau.thm3@main"].evaluate(**at).value) == pytest.approx(loosened, rel=1e-14)
    sharp = 0.5 * 3 * (2 + math.log(10 / 3)) / 10 + 1 / 64
    assert float(CLAIMS["fedau.thm3@sharp"].evaluate(absence=0.5, **at).value) == pytest.approx(sharp, rel=1e-14)


def test_theorem_3_is_the_function_of_the_weights_package() -> None:
    from fedtheory.weights import weight_error_bound

    for p, K, rounds_ in ((0.02, 50, 10_000), (0.7, 3, 2)):
        bound = CLAIMS["fedau.thm3@appendix"].evaluate(cutoff=K, rounds=rounds_, cutoff_bias=(1 - p) ** (2 * K))
        assert float(bound.value) == pytest.approx(weight_error_bound(p, K, rounds_), rel=1e-13)


def test_the_sharper_theorem_3_is_never_above_the_printed_one() -> None:
    """absence <= 1 and K >= 1: 2 + log(T/K) <= 3 + 2 log T."""
    K, absence = symbols("cutoff", "absence")
    gap = (CLAIMS["fedau.thm3@appendix"].right_side - CLAIMS["fedau.thm3@sharp"].right_side) * T / K
    assert simplify(sympy.expand(gap - (3 + 2 * log(T) - absence * (2 + log(T / K))))) == 0


def test_the_chosen_cutoff_is_the_exact_one() -> None:
    from fedtheory.weights import logarithmic_cutoff

    lemma = CLAIMS["fedau.lemmaB_7_1@main"]
    for p, rounds_ in ((0.02, 10_000), (0.3, 2), (0.9, 10**6), (0.5, 4**10 + 1)):
        bound = lemma.evaluate(least_participation_probability=p, rounds=rounds_)
        assert float(bound.quantities["cutoff"]) == logarithmic_cutoff(p, rounds_)
        rate = math.log(rounds_) ** 2 / rounds_ / (-2 * math.log(1 - p))
        assert float(bound.value) == pytest.approx((4 + 7 / math.log(2)) * rate, rel=1e-13)


@pytest.mark.parametrize(
    ("weight", "error"), [(Fraction(16, 9), Fraction(1, 81)), (Fraction(20, 9), Fraction(1, 81)), (2, 0)]
)
def test_the_ends_of_assumption_5s_interval(weight: Fraction, error: Fraction) -> None:
    """p = 1/2: 8/(9p) = 16/9 and 10/(9p) = 20/9 have a relative error of exactly 1/9."""
    assert (Fraction(1, 2) * weight - 1) ** 2 == error
    claim = CLAIMS["fedau.asm5.interval@main"]
    for hypothesis in claim.hypotheses:
        at = {symbol("participation_probability"): Rational(1, 2), symbol("aggregation_weight"): Rational(weight)}
        assert hypothesis.slack.subs(at) >= 0


# The algebra of the proofs: (B.5.1) gives Theorem 2's two displays, and our own.


def decrease(divergence: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """(B.5.1) for one round: everything but the decrease, and the bracket of the decrease."""
    step = gamma * eta
    rest = (
        3 * step * I / 2 * (15 * L**2 * I * gamma**2 * sigma**2 + Rational(27, 8) * divergence**2) * W
        + Rational(5, 2) * gamma**3 * eta * L**2 * I**2 * (sigma**2 + 6 * I * divergence**2)
        + step**2 * L * I / N * (Rational(17, 16) * sigma**2 + Rational(27, 8) * I * divergence**2) * Q
    )
    bracket = Rational(81, 16) * W + 15 * L**2 * I**2 * gamma**2 + 27 * step * L * I * Q / (8 * N) - Rational(1, 4)
    return rest, bracket


def equal(one: sympy.Expr, other: sympy.Expr) -> bool:
    return sympy.expand(sympy.together(one - other)) == 0


def test_lemmas_b_3_1_and_b_3_2_as_printed() -> None:
    """With delta~ = 2 delta; gamma <= 1/(sqrt(30) L I)."""
    tilde = 2 * delta
    drift = 5 * I * gamma**2 * (sigma**2 + 6 * I * tilde**2) + 30 * I**2 * gamma**2 * gradient**2
    assert equal(CLAIMS["fedau.lemmaB_3_1@main"].right_side, tilde**2)
    assert equal(CLAIMS["fedau.lemmaB_3_2@main"].right_side, drift)
    assert CLAIMS["fedau.lemmaB_3_2@main"].hypothesis("local_cap").slack.subs(gamma, 1 / (sqrt(30) * L * I)) == 0


def test_lemma_b_5_1_as_printed() -> None:
    rest, bracket = decrease(delta)
    assert equal(CLAIMS["fedau.lemmaB_5_1@main"].right_side, rest + gamma * eta * I * bracket * gradient**2)


def test_lemma_b_3_3_is_b_5_1_with_twice_the_divergence() -> None:
    rest, bracket = decrease(2 * delta)
    printed = (rest + gamma * eta * I * bracket * gradient**2).subs(W, N * objective_error)
    assert equal(CLAIMS["fedau.lemmaB_3_3@main"].right_side, printed)


@pytest.mark.parametrize(
    ("ref", "left_over", "extra"),
    [
        ("fedau.thm2@main", Rational(1, 8), Rational(81, 16) * W * G**2),
        ("fedau.thm2.nearly_optimal@main", Rational(1, 16), 0),
        ("fedau.thm2@corrected", Rational(3, 16),
         Rational(81, 16) * W * G**2 + Rational(27, 8) * gamma * eta * L * I / N * Q * G**2),
    ],
)  # fmt: skip
def test_theorem_2_from_its_lemma(ref: str, left_over: sympy.Rational, extra: sympy.Expr) -> None:
    """What is left of -1/4 after the other parts of the bracket are bounded; ``extra`` are those that G^2 bounds."""
    rest, _ = decrease(delta)
    step = gamma * eta
    derived = (F / T + rest + step * I * extra) / (step * I * left_over)
    assert equal(CLAIMS[ref].right_side.subs(Q_expected, Q), derived)


def test_what_is_left_of_the_bracket() -> None:
    """At the caps 15 L^2 I^2 gamma^2 = 1/16, 27 step L I Q / (8 N) = 1/16, and (81/16) / 81 = 1/16."""
    assert equal((15 * L**2 * I**2 * gamma**2).subs(gamma, 1 / (4 * sqrt(15) * L * I)), Rational(1, 16))
    assert equal((27 * eta * L * I * Q / (8 * N)).subs(eta, N / (54 * L * I * Q)), Rational(1, 16))
    caps = {h.name: slack_of(h.relation) for h in CLAIMS["fedau.thm2@main"].hypotheses}
    assert caps["local_cap"].subs(gamma, 1 / (4 * sqrt(15) * L * I)) == 0
    at = {L: 2, I: 3, N: 5, Q: 7, gamma: Rational(1, 100)}
    for scale, cap in ((7, Rational(5, 54 * 2 * 3 * 7)), (Rational(1, 9), Rational(1, 24))):
        assert caps["global_cap"].subs(at | {Q: scale, eta: 100 * cap}) == 0


def test_theorem_1_from_lemma_b_3_3() -> None:
    """Weights omega N / P and global_lr P / N make the objective error 0; then as in Theorem 2 with 1/8 left."""
    rest, _ = decrease(2 * delta)
    scaled = rest.subs(W, 0).subs({eta: eta * w, Q: Q / w**2}, simultaneous=True)
    derived = 8 * (F / T + scaled) / (gamma * eta * w * I)
    assert equal(CLAIMS["fedau.thm1@main"].right_side, derived)


def test_theorem_1_does_not_see_the_scale_of_the_weights() -> None:
    c = sympy.Symbol("c", positive=True)
    change = {eta: eta / c, w: c * w, Q: c**2 * Q}
    each = CLAIMS["fedau.thm1@main"]
    for expression in (each.right_side, *(h.slack for h in each.hypotheses)):
        assert equal(expression.subs(change, simultaneous=True), expression)
    assert not equal(CLAIMS["fedau.thm2@main"].right_side.subs(change, simultaneous=True),
                     CLAIMS["fedau.thm2@main"].right_side)  # fmt: skip


@pytest.mark.parametrize(("edition", "theorem", "scale"), [("main", "main", Q), ("corrected", "corrected", Q_expected)])
def test_corollary_4_bounds_theorem_2_at_its_steps(edition: str, theorem: str, scale: sympy.Symbol) -> None:
    """At 200 random points: no term set is below Theorem 2's at the chosen steps (up to rounding), and the steps meet
    its hypotheses. W is the bound of Lemma B.7.1."""
    import random

    draw = random.Random(0)
    corollary, base = CLAIMS[f"fedau.cor4@{edition}"], CLAIMS[f"fedau.thm2@{theorem}"]
    closest = 0.0
    for _ in range(200):
        point = {name: 10 ** draw.uniform(-2, 2) for name in corollary.quantities if name not in corollary.choices}
        counts = {"clients": draw.randint(1, 9), "local_steps": draw.randint(1, 9), "rounds": draw.randint(2, 10**4)}
        point |= counts | {"least_participation_probability": draw.uniform(0.01, 0.99)}
        bound = corollary.evaluate(**point)
        rate = math.log(point["rounds"]) ** 2 / point["rounds"]
        rate /= -2 * math.log(1 - point["least_participation_probability"])
        steps = {name: float(bound.quantities[name]) for name in ("local_lr", "global_lr")}
        steps = {"local_lr": steps["local_lr"] * (1 - 1e-12), "global_lr": steps["global_lr"]}
        used = point | steps | {"weight_error": (4 + 7 / math.log(2)) * rate}
        behind = base.evaluate(**{name: used[name] for name in base.quantities})
        assert behind.hypotheses_hold
        closest = max(closest, float(behind.value) / float(bound.value))
    assert 0.5 < closest <= 1 + 1e-9
