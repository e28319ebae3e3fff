"""The contract of every claim, from one table; and FAST's theorems against values worked out by hand from the paper."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy
from flint import arb, fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser

import fedtheory
from fedtheory.claims import MODULES, all_claims, claim, editions
from fedtheory.claims.evaluation import fold
from fedtheory.claims.statement import Claim, slack_of
from fedtheory.quantities import QUANTITIES, RUN_QUANTITIES, symbol, symbols

CLAIMS = {c.ref: c for c in all_claims()}
every_claim = pytest.mark.parametrize("each", CLAIMS.values(), ids=CLAIMS)

TYPICAL = {
    "smoothness": 2.0, "strong_convexity": 0.5, "gradient_noise": 3.0, "dissimilarity": 2.0,
    "dissimilarity_at_optimum": 1.0, "initial_gap": 5.0, "initial_distance": 5.0, "clients": 8, "cohort": 2,
    "arbitrary_cohort": 4, "local_steps": 3, "rounds": 10, "local_lr": 0.01, "snapshot_probability": 0.25,
    "snapshot_period": 4, "peak_full_pseudogradient": 30.0, "peak_arbitrary_pseudogradient": 50.0,
    "peak_cohort_pseudogradient": 25.0,
}  # fmt: skip


def random_values(each: Claim, rng: np.random.Generator, size: int | tuple = ()) -> dict[str, np.ndarray]:
    """Allowed values of every quantity that the claim uses."""
    values = {}
    for name in each.quantities:
        known = QUANTITIES[name]
        draw = rng.integers(1, 9, size) if known.integer else rng.uniform(0.05, 0.95, size)
        values[name] = np.asarray(draw, dtype=float)
    if "strong_convexity" in values:
        values["smoothness"] = values["smoothness"] + 1
    return values


def relations(each: Claim) -> dict[str, sympy.core.relational.Relational]:
    """All relations of the claim, the alternative readings included."""
    found = {h.name: h.relation for h in each.hypotheses}
    for hypothesis in each.hypotheses:
        found |= {f"{hypothesis.name} as {option}": r for option, r in hypothesis.alternatives.items()}
    return found


# What a claim says about itself.


def test_refs_are_unique_and_lead_to_their_claim() -> None:
    assert len(CLAIMS) == len(all_claims())
    assert set(CLAIMS) == {"fast.thm1@main", "fast.thm1@appendix", "fast.thm2@main", "fast.thm2@appendix"}
    for id in MODULES:
        assert claim(id) is claim(f"{id}@main")
        assert all(edition.id == id for edition in editions(id))


@every_claim
def test_names_and_sources(each: Claim) -> None:
    assert claim(each.ref) is each
    assert re.fullmatch(r"[a-z]+\.(thm|cor|lemma|eq|rem|asm|ex|app)\w+(\.\w+)?@\w+", each.ref)
    assert each.paper == each.id.partition(".")[0]
    assert each.title
    assert each.source.lower().startswith(each.paper)
    for named in (each.terms, each.hypotheses, each.assumptions, each.ambiguities):
        names = [item.name for item in named]
        assert len(names) == len(set(names))
    assert all(h.source for h in each.hypotheses)
    assert all(a.source for a in each.assumptions)


@every_claim
def test_every_symbol_is_the_vocabularys(each: Claim) -> None:
    expressions = [t.expression for t in each.terms] + [slack_of(r) for r in relations(each).values()]
    used = set().union(*(e.free_symbols for e in expressions))
    # Equal symbols have equal names AND equal assumptions.
    assert used == {symbol(name) for name in each.quantities}
    assert list(each.quantities) == [name for name in QUANTITIES if name in each.quantities]
    assert all(a.quantity in QUANTITIES for a in each.assumptions)


@every_claim
def test_terms_and_hypotheses_are_found_by_name(each: Claim) -> None:
    assert [each.term(t.name) for t in each.terms] == list(each.terms)
    assert [each.hypothesis(h.name) for h in each.hypotheses] == list(each.hypotheses)
    with pytest.raises(ValueError, match=f"no term of {each.ref} is named 'nose': known are .*noise"):
        each.term("nose")
    with pytest.raises(ValueError, match=f"no hypothesis of {each.ref} is named 'cap': known are .*step_cap"):
        each.hypothesis("cap")


@every_claim
def test_readings_start_with_the_literal_one_and_are_complete(each: Claim) -> None:
    readings = list(each.readings())
    assert readings[0] == {a.name: a.options[0] for a in each.ambiguities}
    assert len(readings) == math.prod(len(a.options) for a in each.ambiguities)
    assert len({tuple(r.items()) for r in readings}) == len(readings)
    options = {option for a in each.ambiguities for option in a.options}
    for hypothesis in each.hypotheses:
        assert set(hypothesis.alternatives) <= options
        assert hypothesis.under(readings[0]) == hypothesis
        for option, relation in hypothesis.alternatives.items():
            assert hypothesis.under({"any": option}).relation == relation


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("fast.thm3", r"unknown claim 'fast\.thm3': did you mean 'fast\.thm[12]'\?"),
        ("fast.thm2@apendix", r"unknown edition 'apendix' of fast\.thm2: did you mean 'appendix'\?"),
        ("zzz", r"unknown claim 'zzz': known are fast\.thm1, fast\.thm2"),
    ],
)
def test_unknown_refs(ref: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        claim(ref)


# Typesetting.


def balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0 and text.count(r"\left") == text.count(r"\right")


@every_claim
@pytest.mark.parametrize("vocabulary", [False, True])
def test_latex_is_well_formed(each: Claim, vocabulary: bool) -> None:
    text = each.latex(vocabulary)
    assert balanced(text)
    assert text.startswith(each.functional.latex + r" \le ")
    MathTextParser("path").parse("$" + text.replace(r"\le ", r"\leq ") + "$")  # an independent reader


@every_claim
def test_latex_uses_the_papers_letters(each: Claim) -> None:
    text, spelled = each.latex(), each.latex(vocabulary=True)
    in_terms = {s.name for t in each.terms for s in t.expression.free_symbols}
    for name in in_terms:
        in_latex = name.replace("_", r"\_")
        letter = QUANTITIES[name].letters.get(each.paper)
        assert (letter or in_latex) in text
        assert in_latex not in text or letter is None
        assert in_latex in spelled
    assert each._repr_latex_() == f"$\\displaystyle {text}$"


# Evaluation.


@every_claim
def test_the_value_is_the_sum_of_the_terms(each: Claim) -> None:
    rng = np.random.default_rng(0)
    bound = each.evaluate(**random_values(each, rng, 50))
    assert list(bound.terms) == [t.name for t in each.terms]
    # The same additions in the same order.
    np.testing.assert_array_equal(bound.value, sum(bound.terms.values()))
    assert set(bound.slack) == {h.name for h in each.hypotheses}
    assert bound.claim == each.ref


@every_claim
def test_arrays_give_what_scalars_give(each: Claim) -> None:
    rng = np.random.default_rng(1)
    values = random_values(each, rng)
    values["rounds"], values["local_lr"] = np.arange(1, 8), rng.uniform(0.001, 0.9, (5, 1))
    bound = each.evaluate(**values)
    assert bound.value.shape == (5, 7)
    for index in np.ndindex(5, 7):
        one = each.evaluate(
            **values | {"rounds": int(index[1]) + 1, "local_lr": float(values["local_lr"][index[0], 0])}
        )
        # numpy's vectorised exp and power may differ from the scalar ones in the last place.
        np.testing.assert_allclose(bound.value[index], one.value, rtol=1e-15)
        for kind in ("terms", "slack"):
            for name, entry in getattr(one, kind).items():
                several = np.broadcast_to(getattr(bound, kind)[name], (5, 7))[index]
                # A slack is a difference of numbers of the order of 1.
                np.testing.assert_allclose(several, entry, rtol=1e-14, atol=1e-15)


@every_claim
def test_whole_numbers_and_floats_are_the_same(each: Claim) -> None:
    values = {name: TYPICAL[name] for name in each.quantities}
    as_floats = {name: float(value) for name, value in values.items()}
    assert each.evaluate(**values).value == each.evaluate(**as_floats).value


@every_claim
def test_each_missing_quantity_is_named(each: Claim) -> None:
    values = {name: TYPICAL[name] for name in each.quantities}
    for name in set(values) - set(RUN_QUANTITIES):
        with pytest.raises(ValueError) as caught:
            each.evaluate(**{other: value for other, value in values.items() if other != name})
        assert str(caught.value) == f"{each.ref} needs {name}"
    with pytest.raises(ValueError) as caught:
        each.evaluate()
    assert str(caught.value) == f"{each.ref} needs " + ", ".join(n for n in each.quantities if n not in RUN_QUANTITIES)


@every_claim
def test_unknown_and_undefined_inputs_are_named(each: Claim) -> None:
    values = {name: TYPICAL[name] for name in each.quantities}
    with pytest.raises(ValueError, match=r"unknown quantity 'local_step': did you mean 'local_steps'\?"):
        each.evaluate(**values, local_step=1)
    for name in values:
        for wrong in (math.nan, math.inf, [1, math.nan]):
            with pytest.raises(ValueError, match=f"^{name} = (nan|inf): allowed is "):
                each.evaluate(**values | {name: wrong})


@every_claim
def test_known_but_unused_names_are_accepted_and_change_nothing(each: Claim) -> None:
    used = {name: TYPICAL[name] for name in each.quantities}
    assert each.evaluate(**TYPICAL).value == each.evaluate(**used).value


@every_claim
def test_hypotheses_about_the_run_are_undecided_without_it(each: Claim) -> None:
    values = {name: TYPICAL[name] for name in each.quantities if name not in RUN_QUANTITIES}
    bound = each.evaluate(**values)
    about_the_run = [h.name for h in each.hypotheses if {s.name for s in h.slack.free_symbols} & set(RUN_QUANTITIES)]
    assert [name for name, slack in bound.slack.items() if slack is None] == about_the_run
    if all(slack >= 0 for slack in bound.slack.values() if slack is not None):
        assert bound.hypotheses_hold is (None if about_the_run else True)
    # One that fails decides the whole, whatever is open.
    assert each.evaluate(**values | {"local_lr": 100.0}).hypotheses_hold is False


# Shape of the right side, whatever else the claim says: more rounds never hurt, more noise or heterogeneity never help.


@every_claim
@pytest.mark.parametrize(("name", "direction"), [("rounds", -1), ("gradient_noise", 1), ("dissimilarity", 1)])
def test_monotonicity(each: Claim, name: str, direction: int) -> None:
    rng = np.random.default_rng(2)
    values = {key: value[:, None] for key, value in random_values(each, rng, 40).items()}
    grid = np.arange(1, 200) if name == "rounds" else np.linspace(0, 5, 200)
    value = np.broadcast_to(each.evaluate(**values | {name: grid}).value, (40, len(grid)))
    # Sums of a few monotone terms, each rounded: neighbours are off by some 1e-16 at most.
    assert (direction * np.diff(value) >= -1e-15 * value[:, 1:]).all()
    assert (direction * (value[:, -1] - value[:, 0]) > 0).all()


# Hypotheses in exact arithmetic.

small = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)


@st.composite
def exact_values(draw: st.DrawFn, each: Claim) -> dict[str, Fraction]:
    values = {}
    for name in each.quantities:
        if QUANTITIES[name].integer:
            values[name] = Fraction(draw(st.integers(1, 6)))
        elif name == "snapshot_probability":
            values[name] = draw(st.fractions(0, 1, max_denominator=12))
        else:
            values[name] = draw(small)
    return values


def to_fraction(number: sympy.Rational) -> Fraction:
    return Fraction(int(number.p), int(number.q))


@every_claim
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_slack_is_non_negative_exactly_where_the_relation_holds(each: Claim, data: st.DataObject) -> None:
    values = data.draw(exact_values(each))
    at = {symbol(name): sympy.Rational(v.numerator, v.denominator) for name, v in values.items()}
    for relation in relations(each).values():
        try:
            slack = fold(slack_of(relation), values, to_fraction)
        except ZeroDivisionError:
            assume(False)
        assert (slack >= 0) == bool(relation.lhs.xreplace(at) <= relation.rhs.xreplace(at) if relation.rel_op == "<="
                                    else relation.lhs.xreplace(at) >= relation.rhs.xreplace(at))  # fmt: skip


def widened(value: Fraction) -> arb:
    """The ball of all numbers that differ from ``value`` by at most a rounding."""
    ball = arb(fmpq(value.numerator, value.denominator))
    return ball + arb(0, abs(float(value)) * 2.0**-52)


@every_claim
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_exact_arithmetic_agrees_with_numpy(each: Claim, data: st.DataObject) -> None:
    values = data.draw(exact_values(each))
    assume(values.get("strong_convexity", 0) <= values["smoothness"])
    bound = each.evaluate(**{name: float(value) for name, value in values.items()})
    balls = {name: widened(value) for name, value in values.items()}
    places = [(t.expression, bound.terms[t.name]) for t in each.terms]
    places += [(h.slack, bound.slack[h.name]) for h in each.hypotheses]
    for expression, value in places:
        ball = fold(expression, balls, lambda c: widened(to_fraction(c)))
        assume(ball.is_finite())  # else a denominator may be 0
        # The ball encloses what an error of one rounding in every input and constant can do. Rounding in the
        # operations between them, in any order, is the like of a few such errors in each: 8 of them are allowed.
        assert abs(float(value) - float(ball.mid())) <= 8 * float(ball.rad())
        if not expression.has(sympy.exp):
            exact = fold(expression, values, to_fraction)
            assert isinstance(exact, Fraction)
            assert ball.overlaps(arb(fmpq(exact.numerator, exact.denominator)))


def test_folding_a_minimum_and_what_it_refuses() -> None:
    x, y = symbols("local_lr", "rounds")
    values = {"local_lr": Fraction(1, 2), "rounds": Fraction(3)}
    assert fold(sympy.Min(x, y, evaluate=False), values, to_fraction) == Fraction(1, 2)
    assert fold(sympy.Min(x * y**2, y, 5, evaluate=False), values, to_fraction) == 3
    assert fold(x**-2 - y / 3, values, to_fraction) == 3
    for beyond in (sympy.sqrt(x), sympy.log(x)):
        with pytest.raises(ValueError, match="no exact arithmetic for"):
            fold(beyond, values, to_fraction)


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


def test_a_condition_that_divides_by_zero() -> None:
    values = {name: TYPICAL[name] for name in claim("fast.thm2").quantities} | {"dissimilarity": 0.0}
    # The step is small enough that mu K eta - 16 L^2 K^2 eta^2 > 0: q >= -infinity holds.
    holds = claim("fast.thm2@main").evaluate(**values | {"local_lr": 1e-3})
    assert holds.slack["q_condition"] == np.inf
    # K = 1, eta = 1/128: mu K eta = 1/256 = 16 * 4 / 128^2, exactly. 0/0 says nothing and counts as failing.
    nothing = claim("fast.thm2@main").evaluate(
        **values | {"strong_convexity": 0.5, "smoothness": 2.0, "local_steps": 1, "local_lr": 2.0**-7}
    )
    assert nothing.slack["q_condition"] == -np.inf
    assert nothing.hypotheses_hold is False


# The two editions of a theorem, against each other.


def test_the_appendix_repeats_theorem_1_and_changes_theorem_2_in_two_places() -> None:
    main, appendix = editions("fast.thm1")
    assert main.terms == appendix.terms
    assert main.hypotheses == appendix.hypotheses
    main, appendix = editions("fast.thm2")
    changed = [a.name for a, b in zip(main.terms, appendix.terms, strict=True) if a != b]
    changed += [a.name for a, b in zip(main.hypotheses, appendix.hypotheses, strict=True) if a != b]
    assert changed == ["arbitrary_rounds", "q_condition"]


# Imports.


def run_python(code: str) -> str:
    home = Path(fedtheory.__file__).parents[1]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=home)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_table_of_claims_loads_nothing_heavy() -> None:
    code = "import sys, fedtheory.claims; print(*{'numpy', 'sympy', 'scipy', 'torch', 'flint'} & set(sys.modules))"
    assert run_python(code).split() == []


def test_claims_are_complete_without_torch() -> None:
    code = """
import sys
sys.modules["torch"] = None
from fedtheory.claims import all_claims
from fedtheory.evidence.units import check_units
from fedtheory.quantities import QUANTITIES
values = {name: 1.0 for name in QUANTITIES} | {"snapshot_probability": 0.5}
for each in all_claims():
    assert each.latex() and each.evaluate(**values).value > 0 and check_units(each) is not None
print(len(all_claims()))
"""
    assert run_python(code).split() == [str(len(CLAIMS))]
