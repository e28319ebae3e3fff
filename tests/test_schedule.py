"""Step sizes by rule: what text and expressions mean, and what is refused."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fedtheory import claim, schedule
from fedtheory.algorithms import StepRule, fast, fedavg, own, safari
from fedtheory.federations import Quadratic
from fedtheory.moments.evaluators import Question, Unserved, quantity
from fedtheory.participation import Fixed
from fedtheory.quantities import symbols
from fedtheory.schedule import one_number, step_size
from fedtheory.setting import Setting
from fedtheory.weights import fixed_point

F = Fraction
r, t = symbols("round_index", "step_index")


@pytest.mark.parametrize(
    ("text", "at", "size"),
    [
        ("1/(1 + round_index)", (3, 7), F(1, 4)),
        ("2/(3*(8 + step_index))", (3, 7), F(2, 45)),
        ("-(-0.1)*2**(1 - round_index)", (2, 0), F(1, 20)),
        ("min(1/2, 3/(1 + step_index), 4)", (0, 11), F(1, 4)),
        ("Max(1, round_index)/sqrt(16)", (9, 0), F(9, 4)),
        ("1/(1 + floor(step_index/4)) + 0*ceiling(step_index/3)", (0, 11), F(1, 3)),
        ("(1 + round_index)**(-1/2)", (3, 0), F(1, 2)),
        ("(1 + round_index)**(3/2)", (3, 0), F(8)),
        ("1e-2", (0, 0), F(1, 100)),
    ],
)
def test_rules_are_exact(text: str, at: tuple[int, int], size: Fraction) -> None:
    found = StepRule(text).at(*at)
    assert found == size and isinstance(found, Fraction)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("(1 + cos(pi*round_index/4))/20", [F(1, 10), (1 + math.cos(math.pi / 4)) / 20, 0.05]),
        ("exp(-round_index)/2", [F(1, 2), math.exp(-1) / 2, math.exp(-2) / 2]),
        ("piecewise((1/2, round_index < 1), (1/3, round_index <= 1), (1/4, True))", [F(1, 2), F(1, 3), F(1, 4)]),
        ("Piecewise((1/3, (round_index >= 1) & (round_index < 2)), (1/2, True))", [F(1, 2), F(1, 3), F(1, 2)]),
        ("piecewise((1/3, Eq(round_index, 2) | (0 < round_index < 2)), (1/2, True))", [F(1, 2), F(1, 3), F(1, 3)]),
        ("piecewise((1, round_index == 0), (1/round_index, round_index != 0))", [F(1), F(1), F(1, 2)]),
    ],
)  # fmt: skip
def test_schedules_of_practice(text: str, sizes: list) -> None:
    """Only the piece that counts is computed: 1/round_index is not asked for in round 0."""
    found = [StepRule(text).at(round, 0) for round in range(3)]
    assert found == pytest.approx(sizes, rel=1e-15) and [*map(type, found)] == [*map(type, sizes)]


def test_schedules_of_sympy() -> None:
    rule = step_size(
        "local_lr", sympy.Piecewise(((1 + r) / 50, r < 5), ((1 + sympy.cos(sympy.pi * r / 100)) / 20, True))
    )
    assert rule.at(3, 0) == F(4, 50) and rule.at(60, 0) == pytest.approx((1 + math.cos(0.6 * math.pi)) / 20, rel=1e-15)
    both = sympy.Piecewise((F(1, 3), (r > 1) & (r < 3)), (1, sympy.Eq(r, 5)), (2, True))
    assert [
        step_size("local_lr", both + 0 * t + r / 1000 - r / 1000 + sympy.exp(-r) * 0).at(k, 0) for k in (2, 5, 6)
    ] == [F(1, 3), 1, 2]


def test_which_round_is_negative_is_told() -> None:
    fed, algorithm = Quadratic([[1], [1]], [[0], [1]]), fedavg(local_lr="cos(pi*round_index/8)")
    setting = Setting(fed, algorithm, Fixed([0]))
    with pytest.raises(
        ValueError, match=r"step size cos.* is -0.38\d* at round_index = 5, .*allowed is a finite number > 0"
    ):
        setting.simulate(replicas=2, rounds=4).rows and StepRule("cos(pi*round_index/8)").at(5, 0)
    with pytest.raises(ValueError, match="at round_index = 5"):
        setting.simulate(replicas=2, rounds=9)
    with pytest.raises(ValueError, match=r"no_size is -2.0 at round_index = 3, .*allowed is a finite number > 0"):
        Setting(fed, fedavg(local_lr=no_size), Fixed([0])).simulate(replicas=2, rounds=9)


def test_a_round_without_a_size_is_known_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    fed, begun = Quadratic([[1], [1]], [[0], [1]]), []

    def step(x, memory, round, *, local_lr, local_steps):  # type: ignore[no-untyped-def]
        return x - local_lr[0] * x, {}

    falling, late = "1/2 - step_index/8", "1/2 - round_index/6"  # two steps a round: 0 in round 2; 0 in round 3
    algorithms = {
        "fedavg": (fedavg(local_lr=falling, local_steps=2), 2),
        "the server's": (fedavg(local_lr="1/2", global_lr=late), 3),
        "fast": (fast(cohort=2, snapshot_period=2, local_lr=late), 3),
        "safari": (safari(client_round_probability="1/2", local_lr="1/9", server_lr=late), 3),
        "of one's own": (own(step, local_lr=falling, local_steps=2), 2),
    }
    from fedtheory.simulation import engine

    monkeypatch.setattr(engine, "_chunk", lambda *a: begun.append(a))
    for name, (algorithm, bad) in algorithms.items():
        algorithm.check_rounds(bad), algorithm.check_rounds(0)
        with pytest.raises(ValueError, match=f"is 0 at round_index = {bad}, .*allowed is a finite number > 0"):
            Setting(fed, algorithm, Fixed([0])).simulate(replicas=1, rounds=5)
        assert not begun, name


def no_size(round_index: int) -> float:
    return 1.0 - round_index if round_index > 2 else 0.5


def test_a_function_runs_as_the_expression_does() -> None:
    fed = Quadratic([[1], [2]], [[0], [1]], "1/2")

    def run(local_lr: object) -> list[float]:
        s = Setting(fed, fedavg(local_lr=local_lr, local_steps=2, global_lr=lambda n: 1 + n), Fixed([0, 1]), 3)
        assert "local_lr" not in s.algorithm.quantities()
        rows = s.simulate(replicas=3, rounds=5, record_every=1, seed=1).rows["squared_distance"]
        return [*rows.flatten().tolist(), *s.exact([3]).squared_distance]

    assert run(lambda round_index, step_index: 1 / (4 + step_index)) == run("1/(4 + step_index)")
    assert run(lambda round_index: F(1, 4 + round_index)) == run("1/(4 + round_index)")
    assert run(lambda n: 1 / (4 + n)) != run(lambda n: 1 / (5 + n))


def test_functions_are_told_apart_and_named() -> None:
    fed = Quadratic([[1], [1]], [[0], [1]])
    one, two = (Setting(fed, fedavg(local_lr=f), Fixed([0])) for f in (lambda n: 1 / (4 + n), lambda n: 1 / (5 + n)))
    assert one.fingerprint() != two.fingerprint()
    setting = Setting(fed, fast(cohort=2, snapshot_period=2, local_lr=no_size), Fixed([0]), 1)
    with pytest.raises(ValueError, match="local_lr: it is of the function no_size, of which no claim speaks"):
        claim("fast.thm1@main").at(setting, rounds=[1])
    for wrong in (lambda: 1, lambda a, b, c: 1):
        with pytest.raises(ValueError, match="allowed are functions of round_index, or of round_index and step_index"):
            fedavg(local_lr=wrong)
    with pytest.raises(ValueError, match="allowed is an expression in round_index"):
        fedavg(local_lr=1, global_lr=lambda a, b: 1)
    with pytest.raises(ValueError, match="is nothing at round_index = 0"):
        fedavg(local_lr=lambda n: "nothing")


def test_irrational_sizes_are_floats() -> None:
    assert StepRule("1/sqrt(2 + round_index)").at(1, 0) == 1 / 3**0.5
    assert StepRule("(2 + round_index)**(1/3)").at(0, 0) == 2.0 ** (1 / 3)


def test_sizes_of_a_round_count_steps_over_all_rounds() -> None:
    assert StepRule("1/(1 + step_index)").sizes(2, 3) == (F(1, 7), F(1, 8), F(1, 9))
    assert StepRule("1/(1 + round_index)").sizes(2, 3) == F(1, 3)
    assert StepRule("max(1, step_index - 100)").sizes(2, 3) == 1  # one number where they agree


expressions = st.recursive(
    st.sampled_from([r, t, sympy.Integer(2), sympy.Rational(3, 7), sympy.Float(0.3)]),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, b: a / (1 + b), inner, inner),
        st.builds(sympy.Min, inner, inner),
        st.builds(sympy.floor, inner),
    ),
    max_leaves=6,
)


@given(expressions, st.integers(0, 50), st.integers(0, 50))
def test_a_rule_of_an_expression_is_the_expression(expression: sympy.Expr, round: int, step: int) -> None:
    """Floats are the dyadic numbers that they are."""
    expression = 1 + expression
    floats = {n: sympy.Rational(*float(n).as_integer_ratio()) for n in expression.atoms(sympy.Float)}
    value = expression.xreplace(floats).subs({r: round, t: step})
    assert StepRule.of(expression).at(round, step) == F(int(value.p), int(value.q))


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "__import__('os')", "round_index.real", "[1]", "round_index if 1 else 2", "1 < 2", "lambda: 1", "True",
     "sqrt", "sqrt()", "sqrt(1, 2)", "min()", "1e400", "'a'", "round_index @ 2", "f(round_index)", "min(key=1)",
     "piecewise()", "piecewise(1)", "piecewise((1, 2))", "piecewise((1, round_index))", "piecewise((1, True, 2))",
     "cos", "cos()", "pi()", "(1, True)", "round_index & 1", "not round_index", "piecewise((True, True))", "Eq(1, 1)",
     "(" * 300 + "1" + ")" * 300, "1 + " * 900 + "1"],
)  # fmt: skip
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed (is an expression in round_index and step_index|are round_index)"):
        StepRule(text)


def test_other_names_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="uses smoothness: allowed are round_index and step_index"):
        StepRule("1/(smoothness + round_index)")


@pytest.mark.parametrize(
    ("text", "why"),
    [("1/round_index", "at round_index = 0"), ("1 - round_index", "0 at round_index = 1"),
     ("sqrt(0 - 1 - round_index)", "nan"), ("9**(9**(9**9)) + round_index", "nan"),
     ("(round_index - 2)**(1/3)", "is")],
)  # fmt: skip
def test_sizes_that_are_none_are_refused(text: str, why: str) -> None:
    rule = StepRule(text)
    with pytest.raises(ValueError, match=rf"{why}.*allowed is a finite number > 0"):
        for round in (0, 1):
            rule.at(round, 0)


def test_what_algorithms_take() -> None:
    assert fedavg(local_lr="1/10").local_lr == F(1, 10)
    assert fedavg(local_lr=1 / (2 + r)).local_lr == fedavg(local_lr="1/(round_index + 2)").local_lr
    assert fast(cohort=1, snapshot_probability=0, local_lr=StepRule("1/(1 + step_index)")).by_rule
    assert not fast(cohort=1, snapshot_probability=0, local_lr=1).by_rule
    assert fedavg(local_lr=1, global_lr="1/(1 + round_index)").round.at(3).server.global_lr == F(1, 4)
    assert safari(client_round_probability=1, local_lr=1, server_lr="2 + round_index").kinds[1].at(1).server_lr == 3
    for wrong in ({"global_lr": "1/(1 + step_index)"}, {"global_lr": "0*round_index"}, {"local_lr": "x*round_index"}):
        with pytest.raises(ValueError, match="allowed"):
            fedavg(**{"local_lr": 1, **wrong})
    with pytest.raises(ValueError, match="server_lr = step_index: allowed is an expression in round_index"):
        safari(client_round_probability=1, local_lr=1, server_lr="step_index")


def test_where_one_number_is_needed_a_rule_is_refused_in_words() -> None:
    rule = step_size("local_lr", "1/(1 + step_index)")
    algorithm = fast(cohort=2, snapshot_period=2, local_lr=rule)
    assert "local_lr" not in algorithm.quantities() and "local_lr" not in fedavg(local_lr=rule).quantities()
    assert "local_lr" in fedavg(local_lr=1, global_lr="1 + round_index").quantities()
    setting = Setting(Quadratic([[1], [1]], [[0], [1]]), algorithm, Fixed([0]))
    settled = replace(setting, algorithm=fedavg(local_lr=rule))
    for refused in (lambda: one_number("local_lr", rule), lambda: float(rule), settled.fixed_point, settled.stationary,
                    lambda: fixed_point([1], [[1]], [[0]], local_steps=1, local_lr=rule)):  # fmt: skip
        with pytest.raises(ValueError, match="step_index"):
            refused()
    with pytest.raises(Unserved, match="peak_full_pseudogradient: the step sizes change"):
        quantity("peak_full_pseudogradient", Question(setting, 3))


def first_wrong(rule: StepRule, rounds: int, local_steps: int) -> tuple[int, int] | None:
    """The first round and step without a size, one after another."""
    for place in range(rounds * local_steps):
        try:
            rule.at(place // local_steps, place)
        except ValueError:
            return place // local_steps, place
    return None


def said(rule: StepRule, rounds: int, local_steps: int) -> tuple[int, int] | None:
    """What ``check_rounds`` says, by floats first."""
    with mock.patch.object(schedule, "_EXACTLY", 0), mock.patch.object(schedule, "_AT_ONCE", 7):
        try:
            rule.check_rounds("local_lr", rounds, local_steps)
        except ValueError as error:
            numbers = re.search(r"is .* at round_index = (\d+), step_index = (\d+): .*no round is run", str(error))
            assert numbers is not None and str(error).startswith("local_lr: step size")
            return int(numbers[1]), int(numbers[2])
    return None


@given(expressions, expressions, st.integers(1, 40), st.integers(1, 3))
def test_the_first_round_without_a_size_is_known_before(
    one: sympy.Expr, other: sympy.Expr, rounds: int, local_steps: int
) -> None:
    rule = StepRule.of(2 + one - other)
    assert said(rule, rounds, local_steps) == first_wrong(rule, rounds, local_steps if rule.uses_steps else 1) or (
        rule.uses_steps is False and said(rule, rounds, 1) == first_wrong(rule, rounds, 1)
    )


ROUNDED = "27/1000 - round_index*(9/1000)"
"""It is 0 in round 3, where its floats are above 0."""


def test_a_size_that_rounding_hides_is_found() -> None:
    assert said(StepRule(ROUNDED), 60, 1) == (3, 3)
    with mock.patch.object(schedule, "_NEAR", -1.0):  # without a look at what is near 0
        assert said(StepRule(ROUNDED), 60, 1) == (4, 4)


@pytest.mark.parametrize("text", [
    "1/10 - round_index/70", "piecewise((1, round_index < 30), (0.5, round_index < 40))", "cos(round_index/30)",
    "piecewise((1, (round_index < 30) | (round_index > 33)), (0, True))", "exp(-25*round_index)", ROUNDED,
    "min(1, 1/(20 - round_index))", "sqrt(40 - round_index)", "floor(37/(1 + round_index))", "1/10",
    "1 - pi*step_index/99", "min(1, exp(40*round_index))",
])  # fmt: skip
def test_floats_find_the_round_that_exact_numbers_do(text: str) -> None:
    rule = StepRule(text)
    assert said(rule, 60, 1) == first_wrong(rule, 60, 1)


def test_a_million_rounds_are_looked_at_in_a_moment() -> None:
    StepRule("piecewise((0.1, round_index < 20000), ((1 + cos(pi*round_index/1000001))/20, True))").check_rounds(
        "x", 10**6
    )
    with pytest.raises(ValueError, match="is 0 at round_index = 900000,"):
        StepRule("9/10 - round_index/1000000").check_rounds("local_lr", 10**6)


def test_steps_of_every_part_are_looked_at() -> None:
    fed = Quadratic([[1], [2]], [[0], [1]])
    for algorithm, name in (
        (fedavg(local_lr="1/2 - round_index/8"), "local_lr"),
        (fedavg(local_lr=1, global_lr="1/2 - round_index/8"), "global_lr"),
        (fast(cohort=1, snapshot_period=2, local_lr="1/2 - round_index/8"), "local_lr"),
        (safari(local_lr="1/9", server_lr="1/2 - round_index/8", client_round_probability="1/2"), "server_lr"),
        (
            own(lambda x, memory, round, *, local_lr: (x, memory), name="still", local_lr="1/2 - round_index/8"),
            "local_lr",
        ),
    ):
        setting = Setting(fed, algorithm, Fixed([0]), 3)
        with pytest.raises(ValueError, match=rf"^{name}: step size .* at round_index = 4, .*no round is run"):
            setting.simulate(replicas=1, rounds=6)
        setting.simulate(replicas=1, rounds=4)


def test_functions_are_not_asked_before_the_run() -> None:
    asked = []

    def size(round_index: int) -> Fraction:
        asked.append(round_index)
        return F(1, 2) - F(round_index, 8)

    setting = Setting(Quadratic([[1], [2]], [[0], [1]]), fedavg(local_lr=size), Fixed([0]), 3)
    with pytest.raises(ValueError, match="is 0 at round_index = 4"):
        setting.simulate(replicas=1, rounds=6)
    assert max(asked) == 4
