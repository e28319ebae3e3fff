"""The units check: what it says of the papers' claims, and that it sees every changed exponent, by both routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fedtheory.claims.statement import Claim
from fedtheory.evidence.units_check import UnitsError, check_units, scaling_defect, units_of
from fedtheory.papers import all_claims
from fedtheory.quantities import CURVATURE, DIMENSIONLESS, LENGTH, QUANTITIES, STEP, symbol, symbols
from tests.loops import looped

CLAIMS = {c.ref: c for c in all_claims()}
every_claim = looped("each", CLAIMS.values(), ids=CLAIMS)
some_claims = looped("each", CLAIMS.values(), ids=CLAIMS, quick=24)
"""What takes long: the quick tests try some."""

# What the paper prints with clashing units; nothing else may be flagged.
CLASHES = {
    "fast.eq23@main": {"rate_cap"},
    "fast.eq39@main": {"arbitrary_rounds", "q_condition"},
    "fast.thm2@main": {"arbitrary_rounds", "q_condition"},
    # The floor that clashes in Theorem 2 is in the chosen step size and in every logarithm; R is compared with m L.
    "fast.cor3@main": {"arbitrary_rounds", "heterogeneity", "noise", "q_condition", "many_rounds", "local_lr"},
    # SAFARI's root covers L K, its G_4/mu clashes with 4 eta G_3, and Corollary 1 chooses steps that are numbers.
    **{f"safari.thm4@{edition}": {"step_cap", "q_condition"} for edition in ("main", "appendix", "submission")},
    **{f"safari.cor1.{part}": {"optimization", "server_noise", "drift", "noise", "server_lr", "local_lr", "step_cap",
                               "q_condition"} for part in ("a@main", "b@main", "c@main", "c@submission")},
    **{f"safari.{name}": {"q_condition", "q_condition_at_peak"} for name in ("thm5@main", "thm5@appendix",
                                                                             "cor2@main")},
    "safari.eq50@main": {"step_cap"},
    "safari.rem5.a@main": {"step_cap"},
    "safari.rem5.b@main": {"step_cap"},
    # The appendix lost the factor sigma_L^2 + G^2.
    "flics.thm1@appendix": {"selection"},
}  # fmt: skip

DEFECT = 1e-6
"""A defect is rounding below this (some 1e-13) and real above: it is |c^a s^b - 1| with c, s in [1.5, 3] and small
integers a, b, or what adding such a factor to one of several summands of like size leaves of it."""


def flagged(each: Claim) -> set[str]:
    return {finding.where for finding in check_units(each)}


def defective(each: Claim, seed: int = 0) -> set[str]:
    return {name for name, defect in scaling_defect(each, seed).items() if not defect < DEFECT}


@every_claim
def test_only_the_known_clashes_are_flagged(each: Claim) -> None:
    assert flagged(each) == CLASHES.get(each.ref, set())


@some_claims
@pytest.mark.parametrize("seed", range(2))
def test_both_routes_agree(each: Claim, seed: int) -> None:
    places = {item.name for item in (*each.terms, *each.hypotheses)} | set(each.choices)
    left = {each.functional.name} if each.functional.expression is not None else set()
    by_numbers, by_symbols = scaling_defect(each, seed), flagged(each)
    assert set(by_numbers) == places | left
    assert {name for name, defect in by_numbers.items() if not defect < DEFECT} == by_symbols
    # Homogeneous is homogeneous up to the rounding of some twenty operations on numbers of the order of 1.
    assert all(by_numbers[name] < 1e-12 for name in set(by_numbers) - by_symbols)


def test_findings_say_what_clashes() -> None:
    term, condition = check_units(CLAIMS["fast.thm2@main"])
    assert term.what.endswith(" has units x^4/F^2 where x^2 is needed")
    assert condition.what.startswith("it adds or compares ")
    assert " 1 with units 1 and " in condition.what


# Mutations.


def has_units(s: sympy.Symbol) -> bool:
    return QUANTITIES[s.name].units != DIMENSIONLESS


def throughout(expression: sympy.Expr) -> Iterator[tuple[str, sympy.Expr]]:
    """One quantity squared wherever it occurs."""
    for s in sorted(filter(has_units, expression.free_symbols), key=str):
        yield s.name, expression.xreplace({s: s**2})


def in_one_place(expression: sympy.Expr) -> Iterator[tuple[str, sympy.Expr]]:
    """One occurrence of one quantity squared."""
    if expression.is_Symbol and has_units(expression):
        yield expression.name, expression**2
    for i, part in enumerate(expression.args):
        for name, changed in in_one_place(part):
            yield name, expression.func(*expression.args[:i], changed, *expression.args[i + 1 :])


Change = Callable[[sympy.Expr], Iterator[tuple[str, sympy.Expr]]]


def mutants(each: Claim, change: Change) -> Iterator[tuple[str, str, Claim]]:
    """(where, quantity, the changed claim), for every term, choice and both sides of every hypothesis as printed; but
    for those that clash as printed, which a change may mend."""
    return (mutant for mutant in all_mutants(each, change) if mutant[0] not in CLASHES.get(each.ref, ()))


def all_mutants(each: Claim, change: Change) -> Iterator[tuple[str, str, Claim]]:
    """(where, quantity, the changed claim), everywhere."""
    for i, term in enumerate(each.terms):
        for name, expression in change(term.expression):
            terms = (*each.terms[:i], replace(term, expression=expression), *each.terms[i + 1 :])
            yield term.name, name, replace(each, terms=terms)
    for hypothesis in each.hypotheses:
        for name, relation in changed_relations(hypothesis.relation, change):
            yield hypothesis.name, name, with_hypothesis(each, replace(hypothesis, relation=relation))
    for chosen, choice in each.choices.items():
        for name, expression in change(choice):
            yield chosen, name, replace(each, choices={**each.choices, chosen: expression})


def mutants_of_alternatives(each: Claim, change: Change) -> Iterator[tuple[str, str, Claim]]:
    for hypothesis in each.hypotheses:
        for option, relation in hypothesis.alternatives.items():
            for name, changed in changed_relations(relation, change):
                alternatives = dict(hypothesis.alternatives) | {option: changed}
                yield hypothesis.name, name, with_hypothesis(each, replace(hypothesis, alternatives=alternatives))


def changed_relations(
    relation: sympy.core.relational.Relational, change: Change
) -> Iterator[tuple[str, sympy.core.relational.Relational]]:
    if relation.rhs == 0 and not relation.lhs.is_Add:  # zero has any units, so that nothing can clash
        return
    for name, side in change(relation.lhs):
        yield name, relation.func(side, relation.rhs, evaluate=False)
    for name, side in change(relation.rhs):
        yield name, relation.func(relation.lhs, side, evaluate=False)


def with_hypothesis(each: Claim, changed: object) -> Claim:
    return replace(each, hypotheses=tuple(changed if h.name == changed.name else h for h in each.hypotheses))


def unseen(changed: Iterator[tuple[str, str, Claim]], sees: Callable[[Claim], set[str]]) -> list[tuple[str, str]]:
    listed = list(changed)
    return [(where, name) for where, name, mutant in listed if where not in sees(mutant)]


changed_claim = looped(
    "each",
    [c for c in CLAIMS.values() if c.edition != "appendix" and c.id != "fast.cor3"],
    ids=lambda c: c.ref,
    quick=16,
)


@changed_claim
def test_a_changed_exponent_is_seen_by_both_routes(each: Claim) -> None:
    assert unseen(mutants(each, throughout), flagged) == []
    assert unseen(mutants(each, throughout), defective) == []


@changed_claim
def test_a_change_in_a_single_place_is_seen(each: Claim) -> None:
    assert unseen(mutants(each, in_one_place), flagged) == []


@some_claims
def test_a_changed_alternative_is_seen(each: Claim) -> None:
    if any(h.alternatives for h in each.hypotheses):
        assert unseen(mutants_of_alternatives(each, in_one_place), flagged) == []


def test_the_numerical_route_sees_both_arguments_of_a_minimum() -> None:
    with_minima = [f"fast.thm{i}@{edition}" for i in (1, 2) for edition in ("main", "corrected")]
    assert all(unseen(mutants(CLAIMS[ref], in_one_place), defective) == [] for ref in with_minima)


def test_a_changed_choice_is_seen() -> None:
    each = CLAIMS["fast.cor3@corrected"]
    changed = [mutant for mutant in mutants(each, throughout) if mutant[0] == "local_lr"]
    assert len(changed) == 5
    assert unseen(iter(changed), flagged) == unseen(iter(changed), defective) == []


def test_the_numerical_route_sees_alternatives() -> None:
    each = CLAIMS["fast.thm1@main"]
    assert unseen(mutants_of_alternatives(each, throughout), defective) == []


@changed_claim
def test_other_places_stay_clean(each: Claim) -> None:
    for where, _, mutant in mutants(each, throughout):
        assert flagged(mutant) == CLASHES.get(each.ref, set()) | {where}


# Units of expressions.

L, eta, x0, K, q = symbols("smoothness", "local_lr", "initial_distance", "local_steps", "snapshot_probability")


@pytest.mark.parametrize(
    ("expression", "units"),
    [
        (L, CURVATURE), (3 * L * eta, DIMENSIONLESS), (sympy.sqrt(eta / L), STEP),
        (1 / L + eta, STEP), (sympy.Min(eta, 1 / L, evaluate=False), STEP), (sympy.exp(-L * eta * K), DIMENSIONLESS),
        (sympy.pi * x0, LENGTH), (2**K, DIMENSIONLESS), (sympy.log(L * eta), DIMENSIONLESS),
        ((1 - L * eta) ** K * x0, LENGTH), (sympy.Integer(5), DIMENSIONLESS),
    ],
)  # fmt: skip
def test_units_of(expression: sympy.Expr, units: object) -> None:
    assert units_of(expression) == units


@pytest.mark.parametrize(
    "expression",
    [
        L + eta, 1 + L, 1 - L * eta**2, sympy.exp(-eta), sympy.log(L), L**K, 2**eta, (1 + eta) ** 2,
        sympy.Min(eta, L, evaluate=False), sympy.exp(L * eta + eta), x0 * (q + x0),
    ],
)  # fmt: skip
def test_mixed_units_are_refused(expression: sympy.Expr) -> None:
    with pytest.raises(UnitsError):
        units_of(expression)


dimensional = st.sampled_from([name for name in QUANTITIES if QUANTITIES[name].units != DIMENSIONLESS])


@given(dimensional, st.integers(-3, 3), dimensional, st.integers(-3, 3))
def test_units_of_monomials_are_those_of_the_vocabulary(first: str, a: int, second: str, b: int) -> None:
    expected = QUANTITIES[first].units ** a * QUANTITIES[second].units ** b
    assert units_of(sympy.Rational(2, 7) * symbol(first) ** a * symbol(second) ** b) == expected


def test_zero_has_whatever_units_are_needed() -> None:
    bound = next(each for each in all_claims() if each.ref == "fast.thm2@appendix")
    nothing = bound.edited("main", "0 for the noise", terms={"noise": sympy.Integer(0)})
    assert check_units(nothing) == ()
    L, R = symbols("smoothness", "rounds")
    assert units_of(sympy.Max(0, L)) == CURVATURE
    assert [f.where for f in check_units(bound.edited("main", "R for the noise", terms={"noise": R}))] == ["noise"]
