"""Solving claims: the largest step, rounds against closed forms, minima against grids."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import fedtheory
from fedtheory.claims.balls import exact_slack, fold
from fedtheory.claims.solve import dominant_term, largest_step, minimize, required, rounds_to
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import QUANTITIES, symbol
from fedtheory.testing import quantity_values, values_of
from tests.loops import looped

F = Fraction
INF = math.inf
eta, q, m, R = (symbol(name) for name in ("local_lr", "snapshot_probability", "cohort", "rounds"))
THM1, THM2 = claim("fast.thm1"), claim("fast.thm2")
PEAKS = ("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")


def to_fraction(number: sympy.Rational) -> Fraction:
    return F(int(number.p), int(number.q))


def holds(slack: sympy.Expr, values: dict[str, Fraction]) -> bool:
    return exact_slack(slack, values) >= 0


# The largest step.


def is_rational(expression: sympy.Expr) -> bool:
    powers = expression.atoms(sympy.Pow)
    return not expression.has(sympy.exp, sympy.log) and all(power.exp.is_Integer for power in powers)


def caps(each: Claim) -> list[sympy.Expr]:
    """What limits the clients' step size."""
    return [h.slack for h in each.hypotheses if eta in h.slack.free_symbols]


STEPS = [c for c in all_claims() if caps(c) and not c.choices and all(map(is_rational, caps(c)))]


@pytest.mark.parametrize("each", STEPS, ids=lambda c: c.ref)
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_the_largest_step(each: Claim, data: st.DataObject) -> None:
    undecided = data.draw(st.booleans())
    values = data.draw(values_of(set(each.quantities) - {"local_lr", *(PEAKS if undecided else ())}))
    decided = [h for h in each.hypotheses if {s.name for s in h.slack.free_symbols} <= {*values, "local_lr"}]
    try:
        step = largest_step(each, **values)
    except ValueError as error:
        assert str(error).startswith("no local_lr satisfies the hypotheses")
        for x in [data.draw(quantity_values("local_lr")) for _ in range(3)] + [F(1, 10**9)]:
            assert not all(holds(h.slack, values | {"local_lr": x}) for h in decided)
        return
    assert all(holds(h.slack, values | {"local_lr": F(step)}) for h in decided)
    assert each.evaluate(**{k: float(v) for k, v in values.items()}, local_lr=step).hypotheses_hold in (True, None)
    # It stays within 64 roundings of the supremum, and nothing above that is allowed.
    for beyond in (F(step) * (1 + F(1, 10**13)), F(step) * 2, F(step) * 10**6):
        assert not all(holds(h.slack, values | {"local_lr": beyond}) for h in decided)


def only(*relations: sympy.Basic, terms: tuple = THM1.terms) -> Claim:
    named = tuple(Hypothesis(f"h{i}", relation, "here") for i, relation in enumerate(relations))
    return replace(THM1, hypotheses=named, terms=tuple(terms))


def test_steps_by_hand() -> None:
    caps = {"smoothness": 2, "local_steps": 3, "cohort": 2, "arbitrary_cohort": 4, "snapshot_probability": 0.25}
    # min(1/48, (5/2)/240 = 1/96); Theorem 2: min(1/240, 1/480).
    for each, cap in ((THM1, F(1, 96)), (replace(THM2, hypotheses=THM2.hypotheses[:1]), F(1, 480))):
        step = each.largest_step(**caps)
        assert 0 <= cap - F(step) <= cap * F(1, 10**15)
    # An end that is not attained: eta < 1/4, and {1/8} or eta <= -1.
    assert largest_step(only(sympy.Ge(1 / (sympy.Rational(1, 4) - eta), 0))) == math.nextafter(0.25, 0)
    assert largest_step(only(sympy.Le((eta - sympy.Rational(1, 8)) ** 2, 0, evaluate=False))) == 0.125
    # Two that agree in [1/5, 1/4] only.
    both = only(sympy.Le(eta, sympy.Rational(1, 4)), sympy.Ge(eta, sympy.Rational(1, 5)))
    assert both.largest_step() == 0.25
    with pytest.raises(ValueError, match="every large local_lr satisfies the hypotheses h0 of"):
        largest_step(only(sympy.Ge(eta, 1)))
    with pytest.raises(ValueError, match="no local_lr satisfies the hypotheses h0, h1 of"):
        largest_step(only(sympy.Ge(eta, 1), sympy.Le(eta, sympy.Rational(1, 2))))
    with pytest.raises(ValueError, match=r"can be decided: step_cap needs smoothness, cohort, .*; q_condition needs"):
        largest_step(THM2)
    with pytest.raises(ValueError, match="can be decided: it has none"):
        largest_step(only())


# Rounds.


def parts(each: Claim, values: dict[str, Fraction]) -> Fraction:
    """The right side's limit: all terms without rounds."""
    return sum(fold(t.expression, values, to_fraction) for t in each.terms if R not in t.expression.free_symbols)


REACHED = [f"fast.thm{i}@{edition}" for i in (1, 2) for edition in ("main", "appendix", "corrected")]


@pytest.mark.parametrize("each", [claim(ref) for ref in REACHED], ids=REACHED)
@given(data=st.data(), above=st.fractions(F(1, 10**9), 3, max_denominator=10**9))
@settings(max_examples=15, deadline=None)
def test_rounds_to_is_minimal(each: Claim, data: st.DataObject, above: Fraction) -> None:
    values = data.draw(values_of({s.name for s in each.right_side.free_symbols} - {"rounds"}))
    floor = parts(each, values)
    found = each.rounds_to(floor + above, **values)
    rate = values["local_steps"] * values["local_lr"]
    if each.id == "fast.thm1":
        expected = math.ceil(4 * values["initial_gap"] / rate / above)
    else:
        with mpmath.workdps(60):
            ratio = mpmath.mpf(above.numerator) / above.denominator
            exponent = values["strong_convexity"] * rate
            start = values["initial_distance"] ** 2
            expected = 0
            if start > above:
                log = mpmath.log(mpmath.mpf(start.numerator) / start.denominator / ratio)
                expected = int(mpmath.ceil(log * exponent.denominator / exponent.numerator))
    assert found == max(1, expected)
    for too_low in (floor, floor - F(1, 10**12)):
        constant = values.get("initial_gap", values.get("initial_distance")) == 0 and too_low == floor
        if too_low > 0 and not constant:
            with pytest.raises(ValueError, match=r"allowed is a number above the floor"):
                each.rounds_to(too_low, **values)
        elif too_low > 0:
            assert each.rounds_to(too_low, **values) == 1


def test_rounds_by_evaluating() -> None:
    values = {"smoothness": 1.0, "strong_convexity": 0.1, "gradient_noise": 0.3, "dissimilarity": 0.05,
              "initial_distance": 3.0, "cohort": 2, "arbitrary_cohort": 3, "local_steps": 2, "local_lr": 1e-8,
              "snapshot_probability": 0.99}  # fmt: skip
    found = rounds_to(THM2, 0.2, **values)
    assert found > 10**9
    value = THM2.evaluate(**values, rounds=[found - 1, found]).value
    # One round changes the bound by mu K eta |x_R - x*|^2 = 3e-10, far above its rounding.
    assert value[1] <= 0.2 < value[0]


def bound_of(*expressions: sympy.Expr) -> Claim:
    return replace(THM1, hypotheses=(), terms=tuple(Term(f"t{i}", e) for i, e in enumerate(expressions)))


def test_rounds_where_no_single_term_decides() -> None:
    assert rounds_to(bound_of(3 / R, -1 / R), F(1, 100)) == 200
    assert rounds_to(bound_of((R + 2) / (R + 1)), F(101, 100)) == 99
    assert rounds_to(bound_of(sympy.exp(-R / 7), sympy.Rational(1, 2)), F(1, 2) + F(1, 10**40)) == 645
    for rising, first in ((R, 1), (1 - 1 / R, 1), ((R - 3) ** 2 / R**3, 2), (R * sympy.exp(-R), 1)):
        assert rounds_to(bound_of(rising), 1) == first
    with pytest.raises(ValueError, match=r"epsilon = 0.25: .* above the floor 0.5 of fast.thm1@main"):
        rounds_to(bound_of(sympy.Rational(1, 2) + 0 * R), 0.25)
    assert rounds_to(bound_of(sympy.Rational(1, 2) + 0 * R), 0.5) == 1


def test_rounds_of_a_corollary() -> None:
    # Theorem 1 with the chosen step: (4 zeta/c + 4 L c sigma^2) sqrt(h/(K R)) + 120 (1 - q) ... / (h R), here
    # h = K = L = sigma = c = zeta = 1 and sigma_G = 0: 8/sqrt(R) <= 1/10 from R = 6400.
    given = {"smoothness": 1, "gradient_noise": 1, "dissimilarity": 0, "initial_gap": 1, "cohort": 1,
             "arbitrary_cohort": 1, "local_steps": 1, "snapshot_probability": 1, "step_constant": 1}  # fmt: skip
    assert claim("fast.cor1").rounds_to(F(1, 10) + F(1, 10**9), **given) == 6400
    assert claim("fast.cor1").rounds_to(F(1, 10), **given) == 6400  # equal, under roots
    assert claim("fast.cor1").rounds_to(F(1, 10) - F(1, 10**9), **given) == 6401
    with pytest.raises(ValueError, match=r"above the floor 1 of fast.cor1@corrected"):
        claim("fast.cor1@corrected").rounds_to(0.5, **given | {"dissimilarity": 1, "snapshot_probability": 0.5})
    assert claim("fast.cor1").dominant_term(rounds=5, **given | {"gradient_noise": 3}) == "noise"


def test_what_a_claim_chooses_is_neither_given_nor_asked_for() -> None:
    cor1 = claim("fast.cor1")
    for call in (
        lambda: cor1.largest_step(smoothness=1), lambda: cor1.minimize("local_lr", smoothness=1),
        lambda: cor1.rounds_to(1, local_lr=1), lambda: cor1.required("step_cap", "local_lr"),
        lambda: cor1.dominant_term(local_lr=1),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"local_lr: fast.cor1@main chooses it"):
            call()


def test_corollaries_are_solved_for_rounds() -> None:
    """cor1 chooses c sqrt(m n/(h K R)), h = n q + m (1 - q); with m = n = h = K = L = 1 the cap is 1/8: R >= 64 c^2."""
    cor1, ones = claim("fast.cor1"), {"smoothness": 1, "local_steps": 1, "cohort": 1, "arbitrary_cohort": 1}
    for constant, least in ((1, 64), (F(1, 3), 8), (F(5, 4), 100)):
        found = cor1.required("step_cap", "rounds", **ones, snapshot_probability=1, step_constant=constant)
        assert found.intervals == ((least, INF, True, False),)
    constant = cor1.required("step_cap", "step_constant", **ones, snapshot_probability=1, rounds=50)
    assert constant.largest == pytest.approx(math.sqrt(50) / 8, rel=1e-15)
    # SAFARI's Corollary 1: 2/(K sqrt(R)) <= 1/(4 sqrt(30 L K)) exactly from R = 64 * 30 L / K on.
    found = claim("safari.cor1.a").required("step_cap", "rounds", smoothness=2, local_steps=3)
    assert found.intervals == ((1280, INF, True, False),)
    # Corollary 3's step is a minimum, of the cap among others.
    others = {"strong_convexity": 1, "initial_distance": 1, "dissimilarity": 1, "gradient_noise": 1}
    assert claim("fast.cor3").required("step_cap", "rounds", **ones, **others, snapshot_probability=0.5).everything


FLICS = {"smoothness": 2.0, "groups": 7, "local_steps": 3, "weight_concentration": 0.3}


def test_a_step_under_a_root() -> None:
    """drift_cap: eta <= 1/(sqrt(30) K L groups sum p^2)."""
    cap = claim("flics.thm1").required("drift_cap", "local_lr", **FLICS)
    assert cap.largest == pytest.approx(1 / (math.sqrt(30) * 3 * 2 * 7 * 0.3), rel=1e-15)
    step = claim("fedau.thm2").largest_step(smoothness=2.0, local_steps=3)
    assert step == pytest.approx(math.sqrt(15) / 360, rel=1e-14) and F(step) ** 2 * 360**2 <= 15
    assert F(math.nextafter(step, 1)) ** 2 * 360**2 > 15
    chosen, value = claim("fedau.thm2").minimize("local_lr", **MINIMUM)
    assert chosen <= step
    for other in np.geomspace(chosen / 10, step, 9):
        assert float(claim("fedau.thm2").evaluate(local_lr=other, **MINIMUM).value) >= value * (1 - 1e-12)


MINIMUM = {"smoothness": 2.0, "local_steps": 3, "global_lr": 1.0, "initial_gap": 1.0, "rounds": 1000, "clients": 10,
           "weight_error": 0.1, "dissimilarity": 0.5, "global_gradient_bound": 1.0, "gradient_noise": 0.5,
           "weight_scale": 2.0}  # fmt: skip


@pytest.mark.parametrize("edition", ["main", "appendix", "derived", "corrected", "sharp"])
def test_rounds_of_theorem_5_of_safari(edition: str) -> None:
    """(1 - K eta mu/2)^R |x_0 - x*|^2 with a fixed base: at R rounds within epsilon, at R - 1 not."""
    each = claim(f"safari.thm5@{edition}")
    values = {"smoothness": 2.0, "strong_convexity": 0.5, "gradient_noise": 0.25, "dissimilarity": 0.5,
              "initial_distance": 3.0, "arbitrary_cohort": 4, "local_steps": 2, "server_noise": 0.125,
              "local_lr": 0.0025, "server_lr": 0.01, "client_round_probability": 0.25}  # fmt: skip
    values = {name: value for name, value in values.items() if name in each.quantities and name not in each.choices}
    floor = float(each.evaluate(**values, rounds=10**9).value)
    for epsilon in (floor * 1.001, floor * 3, floor + 8):
        found = each.rounds_to(epsilon, **values)
        before, after = each.evaluate(**values, rounds=[found - 1, found]).value
        assert after <= epsilon < before
    if edition == "main":
        first = each.evaluate(**values, rounds=1).terms
        rate, start = F(1) - F(0.0025) * 2 * F(1, 2) / 2, F(9)
        total = sum(term for name, term in first.items() if name != "initial")
        target = floor * 3 - float(total)
        assert each.rounds_to(floor * 3, **values) == math.ceil(math.log(target / float(start)) / math.log(float(rate)))
    with pytest.raises(ValueError, match="allowed is a number above the floor"):
        each.rounds_to(floor * 0.999, **values)


def test_a_choice_stands_for_its_quantity_in_the_largest_step() -> None:
    # eta <= 1/(8 m) with m chosen to be 2 K: 1/(16 K).
    chosen = replace(only(sympy.Le(eta, 1 / (8 * m))), choices={"cohort": 2 * symbol("local_steps")})
    assert chosen.largest_step(local_steps=2) == 1 / 32
    with pytest.raises(ValueError, match="h0 needs local_steps"):
        chosen.largest_step()


# Minima.


def brute(each: Claim, name: str, values: dict[str, float], grid: np.ndarray) -> float:
    """The least right side on a grid, where all decidable hypotheses hold."""
    filler = dict.fromkeys(set(each.quantities) - {*values, name, *PEAKS}, 1.0)
    bound = each.evaluate(**filler | values | {name: grid})
    ok = np.ones(len(grid), dtype=bool)
    for slack in bound.slack.values():
        ok &= True if slack is None else np.broadcast_to(slack >= 1e-14, grid.shape)  # 0 up to rounding may be < 0
    value = np.broadcast_to(bound.value, grid.shape)
    return float(value[ok].min()) if ok.any() else math.inf


GRIDS = {
    "local_lr": np.geomspace(1e-9, 1, 20001),
    "snapshot_probability": np.linspace(0, 1, 2001),
    "local_steps": np.arange(1.0, 3001),
    "cohort": np.arange(1.0, 21),
}


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("each", [THM1, claim("fast.thm2@appendix")], ids=lambda c: c.ref)
@given(data=st.data(), rounds=st.sampled_from([10, 1000, 10**6]))
@settings(max_examples=5, deadline=None)
def test_minima_against_a_grid(each: Claim, name: str, data: st.DataObject, rounds: int) -> None:
    values = data.draw(values_of(set(each.quantities) - {name, "rounds", *PEAKS})) | {"rounds": rounds}
    if name == "cohort":
        values |= {"clients": 20, "arbitrary_cohort": min(values["arbitrary_cohort"], F(20))}
    if name != "local_lr":
        values["local_lr"] /= 100
    floats = {key: float(value) for key, value in values.items()}
    best = brute(each, name, floats, GRIDS[name])
    try:
        argument, value = minimize(each, name, **floats)
    except ValueError as error:
        assert "satisfies the hypotheses" in str(error) or "has no minimum over" in str(error)
        if "satisfies" in str(error):
            assert best == INF
        return
    assert value <= best * (1 + 1e-12)  # rounding of the right side, summed in another order
    assert float(each.evaluate(**floats | {name: argument}).value) == pytest.approx(value, rel=1e-13)
    for h in each.hypotheses:
        if {s.name for s in h.slack.free_symbols} <= {name, *values}:
            exact = {key: F(v) for key, v in floats.items()} | {name: F(argument)}
            assert holds(h.slack, exact)
    if QUANTITIES[name].integer:
        assert isinstance(argument, int)


def test_minima_by_hand() -> None:
    # 4/x + x/9 at 6, then with x <= 5, x >= 7, and x < 5, which is not attained; 40000/x + 4 x at 100 among integers.
    curve = (4 / eta, eta / 9)
    argument, value = minimize(bound_of(*curve), "local_lr")
    assert (argument, value) == (pytest.approx(6, rel=1e-6), pytest.approx(4 / 3, rel=1e-12))
    terms = bound_of(*curve).terms
    assert minimize(only(sympy.Le(eta, 5), terms=terms), "local_lr") == (5.0, pytest.approx(4 / 5 + 5 / 9))
    assert minimize(only(sympy.Ge(eta, 7), terms=terms), "local_lr") == (7.0, pytest.approx(4 / 7 + 7 / 9))
    with pytest.raises(ValueError, match=r"no minimum over local_lr: it falls towards 5, which is not allowed"):
        minimize(only(sympy.Ge(1 / (5 - eta), 0), terms=terms), "local_lr")
    # Two valleys, of which the allowed set leaves the worse one, or its two edges.
    two = bound_of((eta - 1) ** 2 * (eta - 4) ** 2 + eta / 100)
    assert minimize(two, "local_lr")[0] == pytest.approx(1, abs=1e-2)
    assert minimize(replace(two, hypotheses=only(sympy.Ge(eta, 3)).hypotheses), "local_lr")[0] == pytest.approx(
        4, abs=1e-2
    )
    assert minimize(replace(two, hypotheses=only(sympy.Ge((eta - 2) * (eta - 3), 0)).hypotheses), "local_lr")[
        0
    ] == pytest.approx(1, abs=1e-2)
    m_curve = bound_of(10**14 / m, m)
    assert minimize(m_curve, "cohort") == (10**7, 2e7)
    assert minimize(m_curve, "cohort", clients=1000) == (1000, 1e11 + 1000)
    assert minimize(bound_of(2 * (m - 7) ** 2 + 3), "cohort") == (7, 3)
    # A right side that does not use the quantity: the smallest allowed value.
    assert minimize(bound_of(sympy.Integer(3)), "cohort") == (1, 3)
    assert minimize(bound_of(q), "snapshot_probability") == (0, 0)
    assert minimize(bound_of(1 - q), "snapshot_probability") == (1, 0)
    with pytest.raises(ValueError, match=r"no local_lr satisfies the hypotheses h0 of fast.thm1@main"):
        minimize(only(sympy.Le(eta, -1, evaluate=False)), "local_lr", **RIGHT_OF_1)


def test_minima_far_from_one() -> None:
    # a/x + b x at sqrt(a/b), where it is 2 sqrt(ab): far below the cap of 1, and far above 1 without one.
    for exponent in (16, 40, 120):
        far = sympy.Integer(10) ** exponent
        for terms, hypotheses, at, least in (
            ((1 / (far * eta), eta), (sympy.Le(eta, 1),), 10.0 ** (-exponent // 2), 2 * 10.0 ** (-exponent // 2)),
            ((far / eta, eta), (), 10.0 ** (exponent // 2), 2 * 10.0 ** (exponent // 2)),
        ):
            argument, value = minimize(replace(only(*hypotheses), terms=bound_of(*terms).terms), "local_lr")
            assert (argument, value) == (pytest.approx(at, rel=1e-6), pytest.approx(least, rel=1e-12))


RIGHT_OF_1 = {"smoothness": 1, "gradient_noise": 1, "dissimilarity": 1, "initial_gap": 1, "cohort": 1,
              "arbitrary_cohort": 1, "local_steps": 1, "snapshot_probability": 1, "rounds": 9}  # fmt: skip


# The dominant term, and comparing.


@looped("each", all_claims(), ids=lambda c: c.ref, quick=32)
@given(data=st.data())
@settings(max_examples=3, deadline=None)
def test_the_dominant_term(each: Claim, data: st.DataObject) -> None:
    values = {k: float(v) for k, v in data.draw(values_of(set(each.quantities) - {*PEAKS, *each.choices})).items()}
    terms = each.evaluate(**values).terms
    assert terms[each.dominant_term(**values)] == max(terms.values())


def test_of_equal_terms_the_first_printed() -> None:
    assert dominant_term(bound_of(1 / R, 2 / R, 2 / R), rounds=3) == "t1"


# What is refused.


def test_wrong_inputs() -> None:
    def refused(message: str, function: object, *args: object, **values: object) -> None:
        with pytest.raises(ValueError, match=message):
            function(*args, **values)

    good = RIGHT_OF_1 | {"local_lr": 0.1}
    for function, args, asked in (
        (required, (THM1, "step_cap", "local_lr"), "local_lr"),
        (largest_step, (THM1,), "local_lr"),
        (rounds_to, (THM1, 1.0), "rounds"),
        (minimize, (THM1, "local_lr"), "local_lr"),
        (dominant_term, (THM1,), None),
    ):
        values = {name: value for name, value in good.items() if name != asked}
        refused("unknown quantity 'smothness': did you mean 'smoothness'", function, *args, **values, smothness=1)
        refused(r"smoothness = -1.0: allowed is a finite number > 0", function, *args, **values | {"smoothness": -1})
        refused(
            r"cohort = \[1, 2\]: allowed is a single number, an integer", function, *args, **values | {"cohort": [1, 2]}
        )
        refused("cohort = 9: .*clients", function, *args, **values | {"cohort": 9, "clients": 4})
        if asked:
            refused(f"{asked} = 1: allowed is to leave out", function, *args, **values | {asked: 1})
    for function, args in (
        (required, (THM1, "step_cap", "local_lr")), (rounds_to, (THM1, 1)), (minimize, (THM1, "local_lr")),
        (dominant_term, (THM1,)),
    ):  # fmt: skip
        refused(r"of fast.thm1@main needs .*arbitrary_cohort", function, *args)
    refused("no hypothesis of fast.thm1@main is named 'cap': known are step_cap", required, THM1, "cap", "local_lr")
    refused("unknown quantity 'lr'", required, THM1, "step_cap", "lr")
    refused("unknown quantity 'lr'", minimize, THM1, "lr")
    for epsilon in (0, -1, math.nan, math.inf, "x", None):
        refused("epsilon = .*: allowed is a finite number", rounds_to, THM1, epsilon)


def test_methods_delegate() -> None:
    caps = {"smoothness": 2, "local_steps": 3, "cohort": 2, "arbitrary_cohort": 4, "snapshot_probability": 0.25}
    assert THM1.required("step_cap", "local_lr", **caps) == required(THM1, "step_cap", "local_lr", **caps)
    assert THM1.minimize("local_lr", **RIGHT_OF_1) == minimize(THM1, "local_lr", **RIGHT_OF_1)


def test_no_torch() -> None:
    code = "import sys; sys.modules['torch'] = None; import fedtheory.claims.solve; print('scipy' in sys.modules)"
    home = Path(fedtheory.__file__).parents[1]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=home)
    assert (result.returncode, result.stdout.strip()) == (0, "False"), result.stderr
