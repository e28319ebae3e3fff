"""The proofs of FLICS: every display as expected, every chain with its open steps, and no proof kept that a changed
claim should lose."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from functools import cache
from importlib import import_module

import pytest
import sympy
from sympy import Le, Rational

from fedtheory.claims import readings
from fedtheory.claims.readings import OPTIONS
from fedtheory.claims.statement import Ambiguity, Claim, Hypothesis, Term
from fedtheory.papers import claim
from fedtheory.papers.flics import display_steps as flics
from fedtheory.papers.flics.printed_proofs import PRINTED_PROOFS
from fedtheory.papers.flics.proofs import DERIVATIONS
from fedtheory.papers.flics.statements import eq7, lemmas, thm1, thm2
from fedtheory.papers.proofs import library, proof_of, prove, sentence
from fedtheory.proof.chains import Chain
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.steps import Identity, Vectors
from fedtheory.proof.text import describe, lines
from fedtheory.quantities import symbols
from fedtheory.selection.rational import var_rates

MODULES = ("lemmas", "thm1", "eq7", "thm2")
CLAIMS = {c.ref: c for m in MODULES for c in import_module(f"fedtheory.papers.flics.statements.{m}").EDITIONS}
K, L, M, T, eta, eta_L, G, delta, epsilon = symbols(
    "local_steps", "smoothness", "groups", "rounds", "global_lr", "local_lr", "local_gradient_bound",
    "weight_mismatch", "relative_error",
)  # fmt: skip

_LEMMA_4 = ("flics.4.24", "flics.4.number", "flics.4.ratio", "flics.4.equality", "flics.4.factor")
_LEMMA_7 = (
    "flics.7.split", "flics.6.products", "flics.7.lemma6", "flics.7.one_step", "flics.7.signs", "flics.7.last",
)  # fmt: skip
_THEOREM_1 = (
    "flics.5.lemma4", *_LEMMA_7, "flics.4.equality", "flics.4.ratio", "flics.1.lemmas", "flics.1.bracket",
    "flics.1.second",
)  # fmt: skip
OPEN = dict.fromkeys(CLAIMS, ()) | {
    "flics.lemma4@main": _LEMMA_4,
    "flics.lemma5@main": ("flics.5.lemma4",),
    "flics.lemma6@main": ("flics.6.products",),
    "flics.lemma7@main": _LEMMA_7,
    "flics.thm1@main": _THEOREM_1,
    "flics.thm1@appendix": _THEOREM_1,
    "flics.cor1_1@main": _THEOREM_1,
}
"""The open steps of each claim; none for what is proved."""
REPAIRED = {
    "flics.lemma5@main": ["flics.5.sign", "flics.5.cauchy"],
    "flics.lemma6@main": ["flics.6.moments"],
    "flics.lemma7@main": ["flics.7.groups"],
    "flics.thm1@main": ["flics.5.sign", "flics.5.cauchy", "flics.7.groups", "flics.1.sign", "flics.1.rounds",
                        "flics.1.over_T"],
    "flics.cor1_1@main": ["flics.5.sign", "flics.5.cauchy", "flics.7.groups", "flics.1.sign", "flics.1.rounds",
                          "flics.1.over_T", "flics.1.rate"],
    "flics.thm2@main": ["flics.2.12_weight", "flics.2.14", "flics.2.18", "flics.2.21"],
}  # fmt: skip
"""The printed steps that fail and are repaired."""


@cache
def chain(ref: str) -> Chain:
    return prove(CLAIMS[ref])


@cache
def proved(this: Claim) -> bool:
    return proof_of(this) is not None


# Steps -----------------------------------------------------------------------------------------------------------


def test_every_step_comes_out_as_derived_by_hand() -> None:
    found = {s.name: library().decided(s.name).outcome for s in flics.STEPS}
    assert found == {s.name: s.expected for s in flics.STEPS}


def test_names_are_unique_and_every_step_is_used() -> None:
    names = [s.name for s in library().steps]
    assert len(set(names)) == len(names)
    used = {name for p in PRINTED_PROOFS for name in library().needed(p.steps)}
    failing = {s.name for s in flics.STEPS if s.of}  # of claims that the kernel proves
    repairs = {name for s in flics.STEPS if s.of for name in s.repaired_by}
    assert {s.name for s in flics.STEPS} == {name for name in used if name.startswith("flics.")} | failing | repairs
    assert not failing & used and all(s.printed and s.expected == "gap" for s in flics.STEPS if s.of)


def test_the_displays_are_all_there() -> None:
    """(7) to (28), but for the problems (8) and (10); there is no (27)."""
    covered: set[int] = set()
    for each in flics.STEPS:
        if each.printed and not each.equation.startswith(("Lemma", "Definition", "Assumption", "Theorem", "Corollary")):
            numbers = [int(n) for n in "".join(c if c.isdigit() else " " for c in each.equation).split()]
            covered |= set(range(min(numbers), max(numbers) + 1)) if " to " in each.equation else set(numbers)
    assert set(range(7, 29)) - covered == {8, 10, 27, 28}
    assert any(s.equation == "Lemma 7, last display" for s in flics.STEPS)


def test_two_noisy_steps_by_hand() -> None:
    """F = -w^2/2 at w = 0, two steps of 1/2 with noise +-1: E|g_0 + g_1|^2 against the two squares apart."""
    step, together, apart = F(1, 2), F(0), F(0)
    for first, second in itertools.product((1, -1), repeat=2):
        later = step * first  # -w_1
        together += F((first + later + second) ** 2) / 4
        apart += F((first + second) ** 2 + later**2) / 4
    assert together - apart == 2 * step
    found = library().decided("flics.7.split").evidence[0]
    t, ((xi,),) = F(dict(found.parameters)["p_t"]), [x for name, x in found.coordinates if name == "xi"]
    assert F(found.value) == -2 * t * F(xi) ** 2


def test_the_band_by_its_two_bounds() -> None:
    """Each side of the band is the sum of both bounds on s/s^ with the given multipliers."""
    n, p, s, hat, e = sympy.symbols("n p s hat e", positive=True)
    variance, above, below = p**2 / hat**2 * (s - s**2 / n), s - (1 - e) * hat, (1 + e) * hat - s
    most, least = (p**2 * w / (2 * n * hat**2) for w in (2 * n - s - hat, s + hat))
    lower = variance - (1 - e) * p**2 / hat + p**2 / n
    upper = (1 + e) * p**2 / hat - p**2 / n - variance
    assert sympy.simplify(lower - most * above - least * below) == 0
    assert sympy.simplify(upper - least * above - most * below) == 0
    # it fails without s^ <= n, and without s <= n
    for side, point in ((upper, {n: 1, p: 1, s: 1, hat: Rational(3, 2), e: Rational(1, 3)}),
                        (lower, {n: 1, p: 1, s: 2, hat: 1, e: 1})):  # fmt: skip
        assert above.subs(point) >= 0 and below.subs(point) >= 0 and side.subs(point) < 0


def test_hoeffdings_bound_against_binomial_tails() -> None:
    """Exact tails of sums of up to 12 answers, in Fractions, below exp(-2 N x^2)."""
    for number, tenths in itertools.product((1, 2, 5, 12), (1, 3, 5, 9)):
        r = F(tenths, 10)
        law = [math.comb(number, k) * r**k * (1 - r) ** (number - k) for k in range(number + 1)]
        for k in range(number + 1):
            x = F(k, number) - r
            if x > 0:
                assert float(sum(law[k:])) <= math.exp(-2 * number * float(x) ** 2) * (1 + 1e-12)


def test_the_bound_for_random_availability_on_two_groups() -> None:
    """Group 1 or group 2 is there, each with probability 1/2 in every round, p = s = s^ = (1/2, 1/2): the mismatch is
    0. F_j = (w - c_j)^2/2 with c = +-1, one step: w' = w - x (w - c), so |w| <= 1 and G = 2; V and the spread are 1."""
    G, V, spread, rounds = 2, 1, 1, 200
    for x in (F(1, 100), F(1, 10), F(1, 2), F(1)):
        mean, square, total = F(1), F(1), F(0)
        for _ in range(rounds):
            total += square
            mean, square = (1 - x) * mean, (1 - x) ** 2 * square + x**2
        bound = 2 * F(1, 2) / (x * rounds) + x * G**2 * (V + spread)
        assert total / rounds <= bound < (20 if x > F(1, 10) else 2)
    # in the limit x/(2 - x), which the bound without the selection term does not cover
    assert square == 1 and total / rounds == 1 > F(1, rounds)


def test_availability_drawn_once_for_all_rounds_is_known_from_the_past() -> None:
    """As above, but the group of the first round stays: w goes to its minimiser, and the error to 1. On average over
    all runs r/s^ is 1; given the past it is 2 or 0 from round 2 on, so the mismatch is 1 and the bound holds."""
    G, rounds, x = 2, 10**5, F(1, 1000)
    squares = [(1 - (1 - float(x)) ** t) ** 2 for t in range(rounds)]  # |w_t| = 1 - (1 - x)^t, for either group
    average = sum(squares) / rounds
    bound = 2 * F(1, 2) / (x * rounds) + x * G**2 * 2
    assert average > 0.98 > 0.05 > bound
    mismatch = F(rounds - 1, rounds)
    assert average <= bound + 2 * G**2 * mismatch


def test_the_policy_solves_the_mended_14() -> None:
    """p^2/(h + r)^2 is one price inside, at most it where r = 0, at least it where r = a."""
    weight, history, there = (F(1, 2), F(1, 3), F(1, 6)), (F(1), F(2), F(1, 4)), (2, 3, 1)
    for budget in (F(1, 2), F(1), F(2), F(3)):
        rates = var_rates(history, there, budget, weight)
        prices = [(p / (h + r)) ** 2 for p, h, r in zip(weight, history, rates, strict=True)]
        inside = {p for p, r, a in zip(prices, rates, there, strict=True) if 0 < r < a}
        assert len(inside) == 1
        (level,) = inside
        for price, r, a in zip(prices, rates, there, strict=True):
            assert price <= level if r == 0 else price >= level if r == a else price == level


def _shown(name: str, check: int = 0) -> sympy.Expr:
    """The expression that a step's check shows to be >= 0; the right side of an identity."""
    made = library().step(name).checks[check]
    if isinstance(made, Identity):
        return made.right
    return (made.statement if isinstance(made, Vectors) else made).expression


def test_the_right_side_is_what_the_last_step_shows() -> None:
    """price_drift is the mean over the rounds of u (max D - min D)."""
    high, low, used = sympy.symbols("high low used")
    assert sympy.expand(_shown("flics.2.spread", 3) - used * (high - low)) == 0
    assert claim("flics.thm2@corrected").right_side == symbols("price_drift")[0]


# Chains ----------------------------------------------------------------------------------------------------------


_SLOW = "flics.thm1@appendix"


@pytest.mark.parametrize("ref", [pytest.param(ref, marks=pytest.mark.slow) if ref == _SLOW else ref for ref in CLAIMS])
def test_the_open_steps(ref: str) -> None:
    made = chain(ref)
    assert tuple(d.step.name for d in made.open) == OPEN[ref]
    assert made.outcome == ("gap" if OPEN[ref] else "proved")
    assert ref in (made.source.claims if isinstance(made.source, PrintedProof) else made.source.proves)
    repaired = [d.step.name for d in made.decisions if d.outcome == "gap" and d not in made.open]
    assert repaired == REPAIRED.get(ref, repaired)
    assert describe(made)["outcome"] == made.outcome and lines(made)[0].startswith(f"{ref}: {made.verdict}")
    for decision in made.decisions:
        if not decision.closed and decision.step.printed:
            assert sentence(decision).startswith(decision.step.equation)


def test_what_stands_is_what_is_corrected_and_display_7() -> None:
    standing = (
        {ref for ref in CLAIMS if ref.endswith(("@corrected", "@intermittent", "@received"))}
        | {f"flics.eq7.{part}@main" for part in "abcde"}
        | {"flics.thm2@main"}
    )
    assert {ref for ref in CLAIMS if not OPEN[ref]} == standing
    by_kernel, printed = ({ref for d in DERIVATIONS for ref in d.proves}, {r for p in PRINTED_PROOFS for r in p.claims})
    assert set(CLAIMS) == by_kernel | printed and not by_kernel & printed


def test_every_proof_as_printed_is_open_and_no_other() -> None:
    for printed in PRINTED_PROOFS:
        names = library().needed(printed.steps)
        closed = {n for n in names if library().decided(n).closed}
        left = [n for n in names if n not in closed and not {*library().step(n).repaired_by} & closed]
        assert bool(left) == printed.name.endswith("as printed")


def test_what_is_said_of_bracket_and_display_14_in_the_papers_letters() -> None:
    said = {
        d.step.name: sentence(d) for ref in OPEN if ref != _SLOW for d in chain(ref).decisions if d.outcome == "gap"
    }
    assert "where eta eta_L <= 1/(K L). At L = 1, K = 1, eta_L = 1, eta = 1, inflation = 2" in said["flics.1.bracket"]
    assert "below 0 for every r_i > 0" in said["flics.2.14"]
    assert "is solved by r_i = min(max(p_i nu - h_i, 0), a_i)" in said["flics.2.14"]
    assert "eta_c" not in "".join(said.values())


@pytest.mark.parametrize(
    ("ref", "readings"),
    [
        ("flics.thm1@corrected", [{"counts": "planned", "start": s} for s in ("forgotten", "counted")]),
        ("flics.cor1_1@corrected", [{"counts": "planned", "start": s} for s in ("forgotten", "counted")]),
        ("flics.thm1@intermittent", [{"counts": "planned", "start": s} for s in ("forgotten", "counted")]),
        ("flics.thm1@received", [{"counts": "received", "start": s} for s in ("forgotten", "counted")]),
        ("flics.lemma7@corrected", [{}]),
    ],
)
def test_the_readings_under_which_it_is_proved(ref: str, readings: list[dict[str, str]]) -> None:
    assert list(chain(ref).readings) == [{"line 14": "not divided", **each} for each in readings]


# Changed claims ------------------------------------------------------------------------------------------------

_NEGATIVE = "a negative term dropped makes the right side larger"
_SENT = {"not assuming assumption_3": "G bounds what is sent, whatever its noise is"}
IMPLIED = {
    **dict.fromkeys(
        (f"{name}@{e}" for name in ("thm1", "cor1_1") for e in ("corrected", "intermittent", "received")), _SENT
    ),
    "lemma4@corrected": {"not assuming assumption_3": "of an update only the mean counts"},
    "lemma5@corrected": {"without mean_update": _NEGATIVE, **_SENT},
    "lemma7@corrected": _SENT,
    "eq7.a@main": {"without square": _NEGATIVE},
    "eq7.b@main": {"without participation": _NEGATIVE},
    "eq7.d@main": {"without clients": _NEGATIVE},
}
PROVED = [ref for d in DERIVATIONS for ref in d.proves]
"""Theorems of the kernel."""


@pytest.mark.parametrize("ref", PROVED)
def test_only_implied_changes_keep_a_proof(ref: str, mutants: Callable, keeping: Callable) -> None:
    this = CLAIMS[ref]
    assert proved(this)
    kept = keeping(mutants(this), proved)
    assert kept == set(IMPLIED.get(ref.removeprefix("flics."), {}))


@pytest.mark.parametrize("ref", PROVED)
def test_a_larger_right_side_keeps_the_proof(ref: str) -> None:
    this = CLAIMS[ref]
    assert proved(this.edited("mine", "", terms={"more": Rational(1, 100)}))


@pytest.mark.parametrize(
    "terms",
    [
        {"drift": thm1.CORRECTED.term("drift").expression * eta_L * L},
        {"selection": thm1.CORRECTED.term("selection").expression / K},
        {"mismatch": 2 * G**2 * delta**3},
        {"optimization": thm1.CORRECTED.term("optimization").expression / K},
    ],
)
def test_a_changed_exponent_loses_the_proof(terms: dict[str, sympy.Expr]) -> None:
    assert not proved(thm1.CORRECTED.edited("mine", "", terms=terms))


def test_a_changed_exponent_of_hoeffdings_bound_loses_the_proof() -> None:
    this = eq7.HOEFFDING_CORRECTED
    (failure,) = (term.expression for term in this.terms)
    r, n = symbols("response_probability", "group_clients")
    for factor in (Rational(101, 100), 1 / r, n, 1 + epsilon):
        exponent = failure.atoms(sympy.exp).pop().args[0]
        assert not proved(this.edited("mine", "", terms={"failure": 2 * sympy.exp(exponent * factor)})), factor
    # (1 + epsilon)^2 is at least 1 + epsilon: a smaller exponent makes the bound larger
    assert proved(this.edited("mine", "", terms={"failure": 2 * sympy.exp(exponent / (1 + epsilon))}))


def test_the_step_by_hoeffding_is_proved_with_a_constant_of_the_group_alone() -> None:
    """Not with one of all groups, nor a smaller one, nor for delta up to 1 or a large epsilon."""
    whole = eq7.HOEFFDING
    many, constant, *small = whole.hypotheses
    assert proved(whole) and not proved(whole.under({readings.CONSTANTS: readings.UNIFORM}))
    (option, relation), *_ = constant.alternatives.items()
    uniform = replace(constant, alternatives={})
    smaller = replace(constant, alternatives={option: relation.func(2 * relation.lhs, relation.rhs)})
    for hypotheses in ((many,), (many, uniform, *small), (many, smaller, *small), (many, constant, small[0]),
                       (many, constant, small[1])):  # fmt: skip
        assert not proved(replace(whole, hypotheses=hypotheses))
    assert not proved(eq7.HOEFFDING_CORRECTED.edited("mine", "", terms=whole.terms, hypotheses=(many,)))


def test_the_covariance_has_any_sign() -> None:
    """So its coefficient has to be the derived one, in both directions."""
    this = lemmas.LEMMA_6_CORRECTED
    for factor in (2, Rational(1, 2), 0, -1):
        changed = this.term("covariance").expression * factor
        assert not proved(this.edited("mine", "", terms={"covariance": changed}))


def test_a_changed_choice_loses_the_proof() -> None:
    this = thm1.COROLLARY_CORRECTED
    root = sympy.sqrt(K * M)
    others = ({"global_lr": 2 * root}, {"global_lr": sympy.sqrt(K)}, {"global_lr": 1 / root}, {"local_lr": 1 / (T * L)},
              {"local_lr": 2 * this.choices["local_lr"]})  # fmt: skip
    for choices in others:
        assert not proved(replace(this, choices={**this.choices, **choices})), choices
    for name in this.choices:
        assert not proved(replace(this, choices={n: c for n, c in this.choices.items() if n != name}))


def test_the_cap_on_the_steps_is_needed_as_derived() -> None:
    this = thm1.CORRECTED
    for cap in (Rational(101, 100) / (K * L), 1 / L, 1 / K):
        looser = Hypothesis("step_cap", Le(eta * eta_L, cap), "")
        assert not proved(replace(this, hypotheses=(looser,)))
    assert proved(replace(this, hypotheses=(Hypothesis("step_cap", Le(eta * eta_L, 1 / (2 * K * L)), ""),)))


def test_the_spread_of_the_rates_is_needed_without_the_cap() -> None:
    assert not proved(replace(thm1.CORRECTED, hypotheses=()))
    halved = thm1.INTERMITTENT.term("selection").expression.subs(symbols("rate_spread")[0], 0)
    assert not proved(thm1.INTERMITTENT.edited("mine", "", terms={"selection": halved}))
    # with the cap, the mismatch given the round's availability takes its place, which is no smaller
    capped = thm1.INTERMITTENT.edited("mine", "", terms={"selection": halved}, hypotheses=thm1.CORRECTED.hypotheses)
    assert not proved(capped)
    assert proved(capped.edited("mine", "", terms={"mismatch": thm1.CORRECTED.term("mismatch").expression}))


def test_readings_that_the_proof_does_not_cover_lose_it() -> None:
    this = thm1.CORRECTED
    for ambiguity in this.ambiguities:
        for option in {*OPTIONS[ambiguity.name]} - {*ambiguity.options}:
            other = replace(ambiguity, options=(option,))
            assert not proved(
                replace(this, ambiguities=tuple(other if a is ambiguity else a for a in this.ambiguities))
            )
    received = Ambiguity("counts", ("received",), "")
    assert not proved(replace(this, ambiguities=(thm1.UNDIVIDED, received, thm1.START)))
    assert not proved(replace(this, ambiguities=(*this.ambiguities, Ambiguity("which norm", ("1", "2"), ""))))


def test_the_wrong_statements_are_not_proved_with_other_terms() -> None:
    """A refuted statement does not become true by a term of 1/1000 more."""
    for ref in ("lemma4", "lemma5", "lemma6", "lemma7", "thm1"):
        this = CLAIMS[f"flics.{ref}@main"]
        assert not proved(this) and not proved(replace(this, terms=(*this.terms, Term("more", Rational(1, 1000)))))


def test_theorem_2_is_proved_with_the_policys_objective_alone() -> None:
    this = thm2.MAIN
    assert {reading["sigma_T"] for reading in chain(this.ref).readings} == {"the policy's objective"}


def test_an_assumption_from_the_other_side_does_not_count() -> None:
    turned = tuple(replace(a, from_below=True) if a.quantity else a for a in thm1.CORRECTED.assumptions)
    assert not proved(replace(thm1.CORRECTED, assumptions=turned))


def test_another_left_side_of_the_same_name_is_not_bounded() -> None:
    """The band is a statement about one expression, and Theorem 2's repair about one functional."""
    this = eq7.LOWER
    doubled = replace(this.functional, expression=2 * this.functional.expression)
    assert proved(this) and not proved(replace(this, functional=doubled))
    assert not proved(replace(this, functional=replace(this.functional, expression=None)))
    assert not proved(replace(thm2.CORRECTED, functional=replace(thm2.CORRECTED.functional, scope="values")))
