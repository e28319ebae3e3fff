"""Evaluating every claim: against sums, scalars, exact arithmetic; what is missing, wrong or divides by zero."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb, fmpq
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fedtheory
from fedtheory.claims.arithmetic import CHUNK, compiled_slack, compiled_term
from fedtheory.claims.balls import exact_slack, fold, two_sided_denominators
from fedtheory.claims.schedules import by_rule
from fedtheory.claims.statement import Claim, Hypothesis, slack_of
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import QUANTITIES, RUN_QUANTITIES, SERVER_RUN_QUANTITIES, check_values, symbol, symbols
from fedtheory.testing import claim_values, quantity_values
from tests.loops import looped

CLAIMS = {c.ref: c for c in all_claims()}
every_claim = looped("each", CLAIMS.values(), ids=CLAIMS)
some_claims = looped("each", CLAIMS.values(), ids=CLAIMS, quick=24)
"""What takes long: the quick tests try some."""

OF_A_RUN = (*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES)

TYPICAL = {
    "smoothness": 2.0, "strong_convexity": 0.5, "gradient_noise": 3.0, "dissimilarity": 2.0,
    "dissimilarity_at_optimum": 1.0, "initial_gap": 5.0, "initial_distance": 5.0, "clients": 8, "cohort": 2,
    "arbitrary_cohort": 4, "local_steps": 3, "rounds": 10, "local_lr": 0.01, "snapshot_probability": 0.25,
    "snapshot_period": 4, "peak_full_pseudogradient": 30.0, "peak_arbitrary_pseudogradient": 50.0,
    "peak_cohort_pseudogradient": 25.0, "gradient_norm": 2.0, "objective_decrease": -1.0, "full_pseudogradient": 3.0,
    "cohort_pseudogradient": 5.0, "arbitrary_pseudogradient": 7.0, "young_parameter": 0.5, "step_constant": 0.75,
    "displacement": 3.0, "perturbation": 2.0, "server_noise": 1.5, "server_lr": 0.02, "client_round_probability": 0.25,
    "peak_server_gradient": 30.0, "least_server_gradient": 20.0, "least_arbitrary_pseudogradient": 10.0,
    "least_client_progress": 0.01, "peak_client_progress": 0.02,
    "least_gradient": 5.0, "arbitrary_excess": 2.0, "arbitrary_drift": 0.1,
}  # fmt: skip
TYPICAL |= {
    name: 3 if known.integer else 0.25 if known.upper == 1 else 0.75 + max(known.lower, 0)
    for name, known in QUANTITIES.items() if name not in TYPICAL
}  # fmt: skip


def inputs(each: Claim) -> list[str]:
    """Every quantity that the claim uses and does not choose."""
    return [name for name in each.quantities if name not in each.choices]


def typical(each: Claim) -> dict[str, float]:
    return {name: TYPICAL[name] for name in inputs(each)}


def random_values(each: Claim, rng: np.random.Generator, size: int | tuple = ()) -> dict[str, np.ndarray]:
    """Allowed values of every quantity that the claim takes."""
    values = {}
    for name in inputs(each):
        known = QUANTITIES[name]
        draw = rng.integers(1, 9, size) if known.integer else rng.uniform(0.05, 0.95, size)
        values[name] = np.asarray(draw, dtype=float)
    if "strong_convexity" in values:
        values["smoothness"] = values["smoothness"] + 1
    if "clients" in values:
        values["clients"] = values["clients"] + 8  # no cohort has more
    return values


def is_rational(expression: sympy.Basic) -> bool:
    """Whether Fractions can compute it."""
    powers = expression.atoms(sympy.Pow)
    return not expression.has(sympy.exp, sympy.log) and all(power.exp.is_Integer for power in powers)


def relations(each: Claim) -> dict[str, sympy.core.relational.Relational]:
    """All relations of the claim, the alternative readings included."""
    found = {h.name: h.relation for h in each.hypotheses}
    for hypothesis in each.hypotheses:
        found |= {f"{hypothesis.name} as {option}": r for option, r in hypothesis.alternatives.items()}
    return found


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


@some_claims
def test_arrays_give_what_scalars_give(each: Claim) -> None:
    rng = np.random.default_rng(1)
    other = "local_lr" if "local_lr" in inputs(each) else "smoothness"
    values = random_values(each, rng)
    values["rounds"], values[other] = np.arange(1, 8), rng.uniform(1, 2, (5, 1)) * (0.01 if other == "local_lr" else 1)
    bound = each.evaluate(**values)
    assert np.broadcast_shapes(bound.value.shape, (5, 7)) == (5, 7)
    for index in np.ndindex(5, 7):
        one = each.evaluate(**values | {"rounds": int(index[1]) + 1, other: float(values[other][index[0], 0])})
        size = sum(map(abs, one.terms.values())) + 1
        for name, entry in {"": one.value, **one.terms, **one.slack}.items():
            several = bound.value if not name else {**bound.terms, **bound.slack}[name]
            # numpy's vectorised exp and power may differ from the scalar ones in the last place, and terms and
            # slacks are differences of numbers of the order of 1.
            np.testing.assert_allclose(np.broadcast_to(several, (5, 7))[index], entry, rtol=1e-14, atol=1e-15 * size)


def continuous(each: Claim) -> list[str]:
    return [name for name in inputs(each) if not QUANTITIES[name].integer]


@looped("each", [c for c in CLAIMS.values() if len(continuous(c)) > 1], ids=lambda c: c.ref)
def test_chunks_give_what_one_piece_gives(each: Claim) -> None:
    rng = np.random.default_rng(3)
    # A step size by rule is a text for each value of what is in it, made one by one: that stays as it is.
    in_rules = {s.name for choice in each.choices.values() if by_rule(choice) for s in choice.free_symbols}
    first, second, *_ = sorted(continuous(each), key=lambda name: name in in_rules)
    values = random_values(each, rng)
    long, wide = 3 * CHUNK + 5, 3
    values[first] = values[first] * rng.uniform(0.999, 1, (wide, 1))
    values[second] = values[second] * rng.uniform(0.999, 1, long)
    whole = each.evaluate(**values)
    places = [0, CHUNK - 1, CHUNK, 2 * CHUNK + 1, long - 1]
    part = each.evaluate(**values | {second: values[second][places]})
    for name, entry in {"": part.value, **part.terms, **part.slack}.items():
        several = whole.value if not name else {**whole.terms, **whole.slack}[name]
        several = np.broadcast_to(several, (wide, long))[:, places]
        # The same operations, whose vectorised exp and power may differ in the last place.
        np.testing.assert_allclose(several, np.broadcast_to(entry, (wide, 5)), rtol=1e-12, atol=1e-15)


@every_claim
def test_directly_compiled_terms_are_the_same(each: Claim) -> None:
    values = random_values(each, np.random.default_rng(4), 100)
    bound = each.evaluate(**values)
    arrays = {**values, **{name: bound.quantities[name] for name in each.choices}}
    places = [(t.expression, bound.terms[t.name]) for t in each.terms]
    places += [(h.slack, bound.slack[h.name]) for h in each.hypotheses]
    for expression, value in places:
        arguments = sorted(expression.free_symbols, key=str)
        with np.errstate(all="ignore"):
            direct = sympy.lambdify(arguments, expression, "numpy")(*(arrays[s.name] for s in arguments))
        # With denominators of either sign, common subexpressions are computed once and rounded once; what then
        # cancels is larger than what is left by 1e5 at most here.
        tolerance = 1e-10 if two_sided_denominators(expression) else 0
        np.testing.assert_allclose(np.broadcast_to(value, np.shape(direct)), direct, rtol=tolerance)


@every_claim
def test_whole_numbers_and_floats_are_the_same(each: Claim) -> None:
    values = typical(each)
    as_floats = {name: float(value) for name, value in values.items()}
    assert each.evaluate(**values).value == each.evaluate(**as_floats).value


def of_the_bound(each: Claim) -> set[str]:
    """What the right side or a choice uses; the rest is of hypotheses alone."""
    sides = [*(term.expression for term in each.terms), *each.choices.values()]
    return {s.name for side in sides for s in side.free_symbols}


@every_claim
def test_each_missing_quantity_is_named(each: Claim) -> None:
    values = typical(each)
    for name in set(values) - set(OF_A_RUN):
        rest = {other: value for other, value in values.items() if other != name}
        if name in of_the_bound(each):
            with pytest.raises(ValueError) as caught:
                each.evaluate(**rest)
            assert str(caught.value) == f"{each.ref} needs {name}"
            continue
        bound = each.evaluate(**rest)
        using = {h.name for h in each.hypotheses if name in {s.name for s in h.slack.free_symbols}}
        assert bound.value == each.evaluate(**values).value
        if name not in each.bound:
            assert using == {h for h, missing in bound.undecided.items() if name in missing}
            assert all(bound.slack[h] is None for h in using)
    needed = [name for name in inputs(each) if name not in OF_A_RUN and name in of_the_bound(each)]
    if needed:
        with pytest.raises(ValueError) as caught:
            each.evaluate()
        assert str(caught.value) == f"{each.ref} needs " + ", ".join(needed)


@every_claim
def test_unknown_and_undefined_inputs_are_named(each: Claim) -> None:
    values = typical(each)
    with pytest.raises(ValueError, match=r"unknown quantity 'local_step': did you mean 'local_steps'\?"):
        each.evaluate(**values, local_step=1)
    for name in values:
        for wrong in (math.nan, math.inf, [1, math.nan]):
            with pytest.raises(ValueError, match=f"^{name} = (nan|inf): allowed is "):
                each.evaluate(**values | {name: wrong})


@every_claim
def test_known_but_unused_names_are_accepted_and_change_nothing(each: Claim) -> None:
    known = {name: value for name, value in TYPICAL.items() if name not in each.choices}
    assert each.evaluate(**known).value == each.evaluate(**typical(each)).value


@every_claim
def test_hypotheses_about_the_run_are_undecided_without_it(each: Claim) -> None:
    unknown = {*OF_A_RUN} - {*of_the_bound(each)}
    values = {name: value for name, value in typical(each).items() if name not in unknown}
    bound = each.evaluate(**values)
    about_the_run = [h.name for h in each.hypotheses if {s.name for s in h.slack.free_symbols} & unknown]
    assert [name for name, slack in bound.slack.items() if slack is None] == about_the_run
    if all(slack >= 0 for slack in bound.slack.values() if slack is not None):
        assert bound.hypotheses_hold is (None if about_the_run else True)
    # One that fails decides the whole, whatever is open.
    if any(symbol("local_lr") in h.slack.free_symbols for h in each.hypotheses) and not each.choices:
        assert each.evaluate(**values | {"local_lr": 100.0}).hypotheses_hold is False


# Shape of the right side, whatever else the claim says: more rounds never hurt, more noise or heterogeneity never help.


@every_claim
@pytest.mark.parametrize(("name", "direction"), [("rounds", -1), ("gradient_noise", 1), ("dissimilarity", 1)])
def test_monotonicity(each: Claim, name: str, direction: int) -> None:
    rng = np.random.default_rng(2)
    values = {key: value[:, None] for key, value in random_values(each, rng, 40).items()}
    for step in {"local_lr", "server_lr"} & set(values):  # within every cap: beyond, repaired statements say nothing
        values[step] = values[step] * 1e-5
    if "equal_cohorts" in [h.name for h in each.hypotheses]:
        values["arbitrary_cohort"] = values["cohort"]
    # Late ones: log(R)/R rises before e, and a step that shrinks with the rounds has to be within its cap.
    grid = np.arange(2000, 2200) if name == "rounds" else np.linspace(0, 5, 200)
    bound = each.evaluate(**values | {"rounds": 2000, name: grid})
    value = np.broadcast_to(bound.value, (40, len(grid)))
    size = np.broadcast_to(sum(map(np.abs, bound.terms.values())), value.shape)
    # Sums of a few monotone terms, each rounded: neighbours are off by some 1e-16 of the largest at most.
    assert (direction * np.diff(value) >= -1e-15 * size[:, 1:]).all()
    used = {s.name for s in each.right_side.free_symbols}
    vanished = (value == 0).all(axis=1)  # an exponential below the floating-point range
    assert (vanished | (direction * (value[:, -1] - value[:, 0]) > 0)).all() or name not in used


# Hypotheses in exact arithmetic.


def with_choices(each: Claim, values: dict[str, Fraction], data: st.DataObject) -> dict[str, Fraction]:
    """Also values of what the claim chooses: its hypotheses may speak of them."""
    return values | {name: data.draw(quantity_values(name)) for name in each.choices}


def to_fraction(number: sympy.Rational) -> Fraction:
    return Fraction(int(number.p), int(number.q))


@some_claims
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_the_slack_is_non_negative_exactly_where_the_relation_holds(each: Claim, data: st.DataObject) -> None:
    values = with_choices(each, data.draw(claim_values(each)), data)
    at = {symbol(name): sympy.Rational(v.numerator, v.denominator) for name, v in values.items()}
    for relation in filter(is_rational, relations(each).values()):
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


def in_balls(expression: sympy.Expr, balls: dict[str, arb]) -> arb:
    try:
        return fold(expression, balls, lambda c: widened(to_fraction(c)))
    except ValueError as error:  # 1 - p at p = 0, where the ball reaches beyond 1
        assume("allowed is a number in [-1, 1]" not in str(error))
        raise


@some_claims
@given(data=st.data())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_exact_arithmetic_agrees_with_numpy(each: Claim, data: st.DataObject) -> None:
    values = {name: value or Fraction(1, 7) for name, value in data.draw(claim_values(each)).items()}
    values |= {name: values[name] / 100 for name in {"local_lr", "server_lr"} & set(values)}
    assume(values.get("sample_complexity", 0) >= 0)  # of which a claim takes powers that are no whole numbers
    bound = each.evaluate(**{name: float(value) for name, value in values.items()})
    balls = {name: widened(value) for name, value in values.items()}
    balls |= {name: in_balls(choice, balls) for name, choice in each.choices.items() if not by_rule(choice)}
    places = [(t.expression, bound.terms[t.name]) for t in each.terms]
    places += [(h.slack, bound.slack[h.name]) for h in each.hypotheses]
    for expression, value in places:
        ball = in_balls(expression, balls)
        assume(ball.is_finite())  # else a denominator may be 0
        # The ball encloses what an error of one rounding in every input and constant can do. Rounding in the
        # operations between them, in any order, is the like of some such errors in each: 64 of them are allowed.
        assert abs(float(value) - float(ball.mid())) <= 64 * float(ball.rad())
        if is_rational(expression) and not {s.name for s in expression.free_symbols} & set(each.choices):
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


def test_a_whole_power_is_exact_and_does_not_grow() -> None:
    rate, R = symbols("local_lr", "rounds")
    power, values = (1 - rate) ** R, {"local_lr": Fraction(1, 3), "rounds": Fraction(5)}
    assert fold(power, values, to_fraction) == Fraction(32, 243)
    balls = {name: arb(fmpq(v.numerator, v.denominator)) for name, v in values.items()}
    ball = fold(power, balls, lambda c: arb(int(c.p)) / int(c.q))
    assert ball.contains(arb(fmpq(32, 243))) and float(ball.rad()) < 1e-15
    assert fold(power, values | {"local_lr": Fraction(1)}, to_fraction) == 0
    assert fold(power, values | {"local_lr": Fraction(5, 4)}, to_fraction) == Fraction(-1, 4**5)
    assert fold((1 - rate) ** (2 * R), values, to_fraction) == Fraction(32, 243) ** 2
    assert fold(sympy.ceiling(7 * rate), balls, lambda c: arb(int(c.p)) / int(c.q)) == 3
    for outside, fifth in ((Fraction(9, 4), Fraction(-3125, 1024)), (Fraction(3), Fraction(-32))):  # an odd exponent
        assert fold(power, values | {"local_lr": outside}, to_fraction) == fifth
        assert fold(power, values | {"local_lr": outside, "rounds": Fraction(2)}, to_fraction) == (1 - outside) ** 2
        with pytest.raises(ValueError, match=r"1 - local_lr = -.*: allowed is a number in \[-1, 1\], or a known"):
            fold(power, values | {"local_lr": outside, "rounds": Fraction(10**7)}, to_fraction)


# Division by zero: one rule, for floats and for exact numbers.

x, y = symbols("dissimilarity", "objective_decrease")
ZERO = {"dissimilarity": Fraction(0), "objective_decrease": Fraction(0)}


@pytest.mark.parametrize(
    ("expression", "slack"),
    [
        (1 / x - 5, math.inf), (-1 / x**2 + 5, -math.inf), (5 - 3 / (x + x**2), -math.inf),  # from above: the limit
        (1 / y, -math.inf), (-1 / y, -math.inf), (1 / y**2, math.inf), (1 / (x - y), -math.inf),  # of either sign
        (x / x**3 * x, math.inf), ((x - y) / x, -math.inf), (1 / x - 1 / x**2, -math.inf),  # 0/0, inf - inf
        (1 / (1 + 1 / x), Fraction(0)), (1 / (1 + 1 / y), -math.inf), (3 - y / (x + 2), Fraction(3)),
        (sympy.Min(1 / x, 4, evaluate=False), Fraction(4)), (sympy.Max(-1 / x, 4, evaluate=False), Fraction(4)),
        (sympy.Min(1 / y, 4, evaluate=False), -math.inf), (abs(x - 1 / (1 + x)) - 1, Fraction(0)),
    ],
    ids=str,
)  # fmt: skip
def test_division_by_zero(expression: sympy.Expr, slack: float) -> None:
    assert exact_slack(expression, ZERO) == slack
    with np.errstate(all="ignore"):
        assert (
            compiled_slack(expression)({"dissimilarity": np.float64(0), "objective_decrease": np.float64(0)}) == slack
        )
        entries = np.array([1.0, 0.0, 2.0])
        assert compiled_slack(expression)({"dissimilarity": entries, "objective_decrease": entries})[1] == slack
        # An undefined term does not bound, where an undefined condition fails.
        undefined = compiled_term(expression)({"dissimilarity": entries, "objective_decrease": entries})[1]
    assert undefined == slack or (undefined, slack) == (math.inf, -math.inf)


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


def test_a_quotient_of_either_sign_has_no_limit() -> None:
    # G_1 = 3/4, G_2 = 1, G_3 = 0 and 2 L K eta = 1/4: the printed quotient is -3/4 over 0, which floats make +-inf.
    values = {"smoothness": 1.0, "local_steps": 1, "local_lr": 0.125, "dissimilarity": 0.0, "gradient_noise": 0.0,
              "initial_gap": 1.0, "cohort": 1, "arbitrary_cohort": 1, "snapshot_probability": 0.5, "rounds": 1,
              "peak_full_pseudogradient": 0.75, "peak_arbitrary_pseudogradient": 1.0,
              "peak_cohort_pseudogradient": 0.0}  # fmt: skip
    thm1 = claim("fast.thm1")
    assert thm1.evaluate(**values).slack["q_condition"] == -np.inf
    rest = {name: value for name, value in values.items() if name != "snapshot_probability"}
    assert thm1.required("q_condition", "snapshot_probability", **rest).empty


def test_minus_zero_is_zero() -> None:
    odd = replace(claim("fast.thm2"), hypotheses=(Hypothesis("odd", sympy.Ge(1 / x, 1), "here"),))
    values = typical(odd)
    for zero in (-0.0, np.array([-0.0, 1.0]), [-0.0, 1.0], np.float64(-0.0)):
        assert np.ravel(odd.evaluate(**values | {"dissimilarity": zero}).slack["odd"])[0] == np.inf


def test_where_an_undefined_term_makes_the_bound_infinite() -> None:
    # 1 - 21 L K eta = 0 with sigma = 0: 0/0 in the noise, and an infinite floor.
    given = {name: TYPICAL[name] for name in claim("fast.thm1@sharp").quantities}
    given |= {"smoothness": 1.0, "local_steps": 1, "local_lr": 1 / 21, "gradient_noise": 0.0}
    bound = claim("fast.thm1@sharp").evaluate(**given)
    assert 1 - 21 * (1 / 21) == 0 and set(bound.terms.values()) == {np.inf} and bound.value == np.inf


# Choices.


def test_a_chosen_step_by_hand() -> None:
    # cor1: c sqrt(mn)/sqrt(R K (nq + m(1-q))) with c = 3, m = n = 4, R = 9, K = 4: 3 * 4 / sqrt(36 * 4) = 1.
    given = {"smoothness": 1.0, "gradient_noise": 1.0, "dissimilarity": 1.0, "initial_gap": 1.0, "cohort": 4,
             "arbitrary_cohort": 4, "local_steps": 4, "rounds": 9, "snapshot_probability": 0.5,
             "step_constant": 3.0}  # fmt: skip
    bound = claim("fast.cor1").evaluate(**given)
    assert bound.quantities["local_lr"] == pytest.approx(1, rel=1e-15)
    assert bound.slack["step_cap"] == pytest.approx(min(1 / 32, 1 / (5 * 4 * 4)) - 1, rel=1e-14)
    with pytest.raises(ValueError, match=r"local_lr = 1: fast.cor1@main chooses it, leave it out"):
        claim("fast.cor1").evaluate(**given, local_lr=1)
    # Its terms are those of Theorem 1 at this step.
    theorem = claim("fast.thm1").evaluate(**given, local_lr=bound.quantities["local_lr"])
    for name, term in theorem.terms.items():
        assert bound.terms[name] == pytest.approx(term, rel=1e-14)


def test_a_settings_own_step_against_the_choice() -> None:
    fed = fedtheory.federations.Quadratic.common_hessian(offsets=[1, -1])

    def slack(local_lr: object, rounds: object) -> np.ndarray:
        algorithm = fedtheory.algorithms.fast(snapshot_period=2, cohort=2, local_lr=local_lr)
        setting = fedtheory.Setting(fed, algorithm, fedtheory.participation.Fixed([0]), start=3)
        bound = claim("fast.cor1").at(setting, rounds=rounds, step_constant=1)
        assert bound.quantities["local_lr"] == setting.quantities()["local_lr"].value
        return bound.slack["local_lr_choice"]

    # m = 2, n = 1, q = 1/2: sqrt(2) / sqrt(3/2 R) is 1/3 at R = 12.
    assert slack("1/3", 12) == 0
    assert slack("1/3", [12, 48]).tolist() == [0, pytest.approx(-0.5, rel=1e-14)]
    assert slack("1/4", 12) == pytest.approx(-1 / 3, rel=1e-14)
    assert slack(1 / 3 * (1 + 1e-8), 12) < 0 == slack(1 / 3 * (1 + 1e-10), 12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cohort": np.array([1.0, 1.5])}, {"cohort": 1.5}, {"cohort": 0}, {"local_lr": np.array([0.0, 1.0])},
        {"local_lr": 0.0}, {"local_lr": np.array([1.0, np.nan])}, {"local_lr": math.inf}, {"rounds": 10**400},
        {"snapshot_probability": np.array([0.5, 1.5])}, {"strong_convexity": np.array([0.5, 2.5, 1.0])},
        {"strong_convexity": 2.5}, {"cohort": np.array([3, 9]), "clients": np.array([8, 8])}, {"gradient_noise": "1"},
        {"gradient_noise": np.array([])}, {"cohort": np.array([1, 0])},
    ],
    ids=str,
)  # fmt: skip
def test_numbers_and_arrays_are_refused_in_the_vocabularys_words(wrong: dict) -> None:
    values = typical(claim("fast.thm2")) | wrong
    with pytest.raises(ValueError) as expected:
        check_values(values)
    with pytest.raises(ValueError) as caught:
        claim("fast.thm2").evaluate(**values)
    assert str(caught.value) == str(expected.value)
    assert str(caught.value).startswith(next(iter(wrong)))


@pytest.mark.parametrize(
    "cohort", [2, 2.0, np.int64(2), np.float32(2), np.array([2, 2]), np.array([2.0]), [2, 2], Fraction(2)], ids=repr
)
def test_every_kind_of_number_is_accepted(cohort: object) -> None:
    values = typical(claim("fast.thm2"))
    bound = claim("fast.thm2").evaluate(**values | {"cohort": cohort})
    assert (bound.value == claim("fast.thm2").evaluate(**values | {"cohort": 2}).value).all()
    assert bound.value.dtype == np.float64


def test_a_call_with_numbers_enters_a_state_of_errors_for_all_terms_at_once(monkeypatch):
    """Entering one costs as much as a term."""
    entered, counted = [], np.errstate

    def errstate(**states):
        entered.append(states)
        return counted(**states)

    monkeypatch.setattr(np, "errstate", errstate)
    for each in (claim("fast.thm1"), claim("fedau.thm2")):  # without an exponential, which enters one of its own
        bound = each.evaluate(**{name: float(TYPICAL[name]) for name in each.quantities})
        assert len(bound.terms) + len(bound.slack) > len(entered) == 2 and np.isfinite(bound.value)
        entered.clear()
