"""FAST's theorems against values worked out by hand from the paper."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy

from fedtheory.claims.balls import fold
from fedtheory.papers import claim, editions
from fedtheory.quantities import RUN_QUANTITIES


def to_fraction(number: sympy.Rational) -> Fraction:
    return Fraction(int(number.p), int(number.q))


# The theorems at points worked out by hand, from the paper's displays. Above all, m and n must not be exchanged.

# Theorem 1 with L = 2, K = 3, eta_c = 1/100, q = 1/4, R = 10, zeta = 5, sigma = 3, sigma_G = 2; (2) and (24) agree.
#   4 zeta / (K R eta_c) = 20 / (3/10) = 200/3, and (120 (3/4) + 60/4) 2^2 3^2 2^2 / 100^2 = 105 * 144 / 10^4.
#   m, n = 2, 4: q n + (1 - q) m = 5/2: noise = 4 (5/2) / 8 * 2/100 * 9; caps 1/48 and (5/2) / (5 * 8 * 2 * 3) = 1/96.
#   m, n = 4, 2: 7/2 instead; noise = 4 (7/2) / 8 * 18/100; the second cap is 7/480. m = n = 1: 18 * 4/100; 1/48 < 1/30.
# The condition on q, 2 L K eta_c = 3/25 and 2 K^2 sigma_G^2 = 72: with G_2 = 50 its numerator is 72 - 44 = 28.
#   G_1, G_3 = 30, 25: denominator 30 + 28 - 3 = 55. G_1, G_3 = 0, 300: 28 - 36 = -8. The other reading multiplies.
THEOREM_1 = [
    ((2, 4), (30, 50, 25), Fraction(9, 40), Fraction(1, 96), Fraction(1, 4) - Fraction(28, 55), Fraction(-57, 4)),
    ((4, 2), (0, 50, 300), Fraction(63, 200), Fraction(7, 480), Fraction(15, 4), Fraction(-30)),
    ((1, 1), (90, 50, 50), Fraction(18, 25), Fraction(1, 48), Fraction(0), Fraction(0)),
]


@pytest.mark.parametrize("edition", ["main", "appendix"])
@pytest.mark.parametrize(("cohorts", "peaks", "noise", "cap", "q_slack", "q_product"), THEOREM_1)
def test_theorem_1_by_hand(
    edition: str, cohorts: tuple, peaks: tuple, noise: Fraction, cap: Fraction, q_slack: Fraction, q_product: Fraction
) -> None:
    values = {
        "smoothness": Fraction(2), "local_steps": Fraction(3), "local_lr": Fraction(1, 100), "rounds": Fraction(10),
        "snapshot_probability": Fraction(1, 4), "initial_gap": Fraction(5), "gradient_noise": Fraction(3),
        "dissimilarity": Fraction(2), "cohort": Fraction(cohorts[0]), "arbitrary_cohort": Fraction(cohorts[1]),
    } | dict(zip(RUN_QUANTITIES, map(Fraction, peaks), strict=True))  # fmt: skip
    each = claim(f"fast.thm1@{edition}")
    expected = {"optimization": Fraction(200, 3), "noise": noise, "heterogeneity": Fraction(189, 125)}
    assert {t.name: fold(t.expression, values, to_fraction) for t in each.terms} == expected
    slack = {"step_cap": cap - Fraction(1, 100), "q_condition": q_slack}
    assert {h.name: fold(h.slack, values, to_fraction) for h in each.hypotheses} == slack
    product = each.hypothesis("q_condition").under({"q-condition": "product"})
    assert fold(product.slack, values, to_fraction) == q_product
    bound = each.evaluate(**{name: float(value) for name, value in values.items()})
    # Rounding of some ten operations each; the slacks cancel numbers of the order of 1.
    assert float(bound.value) == pytest.approx(float(sum(expected.values())), rel=1e-14)
    assert {k: float(v) for k, v in bound.slack.items()} == pytest.approx({k: float(v) for k, v in slack.items()},
                                                                          abs=1e-14)  # fmt: skip
    assert each.functional.name == "average_squared_gradient"


# Theorem 2 with L = 2, mu = 1/2, K = 3, eta_c = 1/1000, R = 2000, |x_0 - x*| = 5, sigma = 3, sigma_G = 2.
#   exp(-mu K R eta_c) kappa = 25 exp(-3), (8/mu) K eta_c sigma_G^2 = 16 * 3/1000 * 4 = 24/125.
#   q = 1/4: (1 - q)/(2 mu) K eta_c = 3/4 * 3/1000 = 9/4000, times sigma_G^2 = 4 in (25).
#   m, n = 2, 4: noise = 2 (5/2) / (8/2) * 9/1000; m, n = 4, 2: 2 (7/2) / 4 * 9/1000. The caps are 1/240 and 1/480.
#   q = 1, m, n = 1, 5: noise = 2/mu eta_c sigma^2 / m = 4 * 9/1000; the cap is 1/600.
# The condition on q: mu K eta_c - 16 L^2 K^2 eta_c^2 = 3/2000 - 576/10^6 = 924/10^6; divided by 4 sigma_G^2 = 16, or 4.
PROGRESS = Fraction(924, 10**6)
THEOREM_2 = [
    (Fraction(1, 4), (2, 4), Fraction(9, 4000), Fraction(9, 800), Fraction(1, 480)),
    (Fraction(1, 4), (4, 2), Fraction(9, 4000), Fraction(63, 4000), Fraction(1, 480)),
    (Fraction(1), (1, 5), Fraction(0), Fraction(9, 250), Fraction(1, 600)),
]


@pytest.mark.parametrize("edition", ["main", "appendix"])
@pytest.mark.parametrize(("q", "cohorts", "floor", "noise", "cap"), THEOREM_2)
def test_theorem_2_by_hand(
    edition: str, q: Fraction, cohorts: tuple, floor: Fraction, noise: Fraction, cap: Fraction
) -> None:
    values = {
        "smoothness": Fraction(2), "strong_convexity": Fraction(1, 2), "local_steps": Fraction(3),
        "local_lr": Fraction(1, 1000), "rounds": Fraction(2000), "snapshot_probability": q,
        "initial_distance": Fraction(5), "gradient_noise": Fraction(3), "dissimilarity": Fraction(2),
        "cohort": Fraction(cohorts[0]), "arbitrary_cohort": Fraction(cohorts[1]),
    }  # fmt: skip
    each = claim(f"fast.thm2@{edition}")
    in_appendix = edition == "appendix"
    expected = {"arbitrary_rounds": 4 * floor if in_appendix else floor, "heterogeneity": Fraction(24, 125),
                "noise": noise}  # fmt: skip
    rational = {t.name: t.expression for t in each.terms if t.name != "initial"}
    assert {name: fold(expression, values, to_fraction) for name, expression in rational.items()} == expected
    slack = {"step_cap": cap - Fraction(1, 1000), "q_condition": q - 1 + PROGRESS / (4 if in_appendix else 16)}
    assert {h.name: fold(h.slack, values, to_fraction) for h in each.hypotheses} == slack
    bound = each.evaluate(**{name: float(value) for name, value in values.items()})
    # Rounding of some ten operations each.
    assert float(bound.terms["initial"]) == pytest.approx(25 * math.exp(-3), rel=1e-14)
    assert float(bound.value) == pytest.approx(25 * math.exp(-3) + float(sum(expected.values())), rel=1e-14)
    assert each.functional.name == "final_squared_distance"


# The two editions of a theorem, against each other.


def test_the_appendix_repeats_theorem_1_and_changes_theorem_2_in_two_places() -> None:
    main, appendix, *_ = editions("fast.thm1")
    assert main.terms == appendix.terms
    assert main.hypotheses == appendix.hypotheses
    main, appendix, *_ = editions("fast.thm2")
    changed = [a.name for a, b in zip(main.terms, appendix.terms, strict=True) if a != b]
    changed += [a.name for a, b in zip(main.hypotheses, appendix.hypotheses, strict=True) if a != b]
    assert changed == ["arbitrary_rounds", "q_condition"]
