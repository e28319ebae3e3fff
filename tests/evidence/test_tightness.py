"""Tightness of claims: against what is known by hand, against exact errors from below, against what is proved."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from functools import cache, partial
from math import inf, prod
from pathlib import Path

import pytest
import sympy

import fedtheory.evidence
from fedtheory.claims.statement import Claim, Term
from fedtheory.cli.statuses import run
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import symbols
from fedtheory.tightness import iterated_rounds, scorecard_column
from fedtheory.tightness.function_class import of_gradients, of_one_round
from fedtheory.tightness.matched_problem import comparison
from fedtheory.tightness.measure import NOT_APPLICABLE, Tightness, tightness, worst_errors
from fedtheory.tightness.scorecard_column import column, published
from fedtheory.tightness.tightness_curves import curve
from fedtheory.tightness.tightness_table import convergence_claims, page
from fedtheory.worstcase.worst import solved
from tests.loops import looped

PUBLISHED = Path(fedtheory.evidence.__file__).parent / "published" / "scorecard.json"
PAGE = Path(__file__).parents[2] / "docs" / "tightness.md"
CARD = {f"{row['id']}@{row['edition']}": row for row in json.loads(PUBLISHED.read_text())["rows"]}
VERDICTS = {ref: row["verdict"] for ref, row in CARD.items()}
CONVEX = [each for each in all_claims() if "strongly_convex" in each.assumed]
PROVED = [each.ref for each in CONVEX if VERDICTS.get(each.ref) == "proved" and each.functional.scope == "run"
          and not of_one_round(each)]  # fmt: skip
ONE_ROUND = [each.ref for each in all_claims() if of_one_round(each)]
OF_A_LARGER_CLASS = tuple(ref for ref in PROVED if ref.startswith("li2020."))
"""They bound stochastic gradients too, which no program knows."""
CHOOSES_BY_THE_START = ("fast.cor3@corrected",)
"""Their step depends on the initial distance, so that there is no additive constant to compare."""
ALIKE = {"smoothness": 1, "strong_convexity": 1}
"""Every F_i is then |x - b_i|^2 / 2 and a constant, and all is known by hand."""


@cache
def at_defaults(ref: str) -> Tightness:
    return tightness(ref)


def scaled(ref: str, factor: object, *names: str) -> Claim:
    """The claim with some of its terms multiplied."""
    terms = tuple(Term(t.name, t.expression * factor if t.name in names else t.expression) for t in claim(ref).terms)
    return replace(claim(ref), edition="changed", terms=terms)


def test_fast_by_hand() -> None:
    """A cohort of 2 of 4 or an adversary's 2: with a = (1 - eta)^K, B = (1 - a) zeta,

    E|x+|^2 = a^2 d^2 + q B^2 (M - m)/(m (M - 1))      in snapshots,      (a d + B)^2      in the others.
    """
    q, K, eta, zeta = 0.25, 3, 0.003, 0.2
    found = tightness("fast.thm2@sharp", **ALIKE, local_steps=K, local_lr=eta, dissimilarity=zeta,
                      snapshot_probability=q)  # fmt: skip
    a = (1 - eta) ** K
    B = (1 - a) * zeta
    tau = found.contraction
    assert tau == pytest.approx(float(sympy.exp(-(1 - 18 * K * eta) * K * eta)))
    one = B**2 * (q * 2 / (2 * 3) + (1 - q) + ((1 - q) * a) ** 2 / (tau - a**2))
    rounds = int(found.values["rounds"])
    assert found.best_additive == pytest.approx(one * (1 - tau**rounds) / (1 - tau), rel=1e-5)
    assert found.looseness == pytest.approx(found.additive / found.best_additive)
    first = found.after[0]
    assert first.rounds == 1
    assert first.worst == pytest.approx(a**2 + 2 * (1 - q) * a * B + B**2 * (q / 3 + 1 - q), rel=1e-7)
    assert first.attained == pytest.approx(first.worst, rel=1e-7)


def test_noise_by_hand() -> None:
    """Identical clients: the noise of K steps, averaged over M; and what is gained for sure."""
    K, eta, sigma, M = 3, 0.1, 0.5, 4
    found = tightness("khaled2020.thm1", **ALIKE, local_steps=K, local_lr=eta, gradient_noise=sigma, rounds=40)
    of_noise = (eta * sigma) ** 2 / M * sum((1 - eta) ** (2 * k) for k in range(K))
    tau = (1 - eta) ** K
    assert found.contraction == pytest.approx(tau)
    assert found.best_additive == pytest.approx(of_noise * (1 - tau**40) / (1 - tau), rel=1e-6)
    last = found.after[-1]
    exact = tau**80 + of_noise * (1 - tau**80) / (1 - tau**2)
    assert last.rounds == 40
    assert last.worst == pytest.approx(exact, rel=1e-6)
    assert last.decrement_ratio == pytest.approx((1 - last.bound) / (1 - exact), rel=1e-6)


def test_gap_of_several_rounds_by_hand() -> None:
    """Decaying steps, all rounds in one program."""
    found = tightness("li2020.thm1@from_0", **ALIKE, rounds=2, local_steps=2)
    shift = int(found.values["step_shift"])
    assert found.whole and shift == 8
    assert found.after[0].worst == pytest.approx(prod((1 - 2 / (shift + t)) ** 2 for t in range(4)) / 2, rel=1e-6)
    assert found.after[0].attained == pytest.approx(found.after[0].worst, rel=1e-6)


def test_noise_by_weights_is_that_of_each_client() -> None:
    """weighted_noise = sigma^2 / M of M clients that weigh the same; and what a gap allows of the dissimilarity."""
    found = tightness("li2020.thm1@from_0", **ALIKE, weighted_noise=0.01, clients=4, heterogeneity_gap=0)
    steps = [2 / (int(found.values["step_shift"]) + t) for t in range(2)]
    exact = ((1 - steps[0]) * (1 - steps[1])) ** 2 + 0.01 * ((steps[0] * (1 - steps[1])) ** 2 + steps[1] ** 2)
    assert found.after[0].worst == pytest.approx(exact / 2, rel=1e-6)
    same = tightness("li2020.thm1@from_0", **ALIKE, gradient_noise=0.2, clients=4, heterogeneity_gap=0)
    assert same.after[0].worst == pytest.approx(found.after[0].worst, rel=1e-9)
    spread = comparison(claim("li2020.thm1"), {"heterogeneity_gap": 0.02})
    assert spread.dissimilarity == pytest.approx(0.2)


def test_there_are_proved_claims() -> None:
    assert {"fast.thm2@sharp", "fast.thm2@sharper", "safari.thm5@sharp"} <= set(PROVED)


@pytest.mark.parametrize("ref", [ref for ref in PROVED if ref not in OF_A_LARGER_CLASS])
@pytest.mark.parametrize("given", [{}, {"gradient_noise": 0.1, "dissimilarity": 0.05, "local_steps": 3, "clients": 5}])
def test_what_is_proved_is_not_exceeded(ref: str, given: dict) -> None:
    asked = {each.name for each in claim(ref).hypotheses}
    if given and "identical_data" in asked:
        given = given | {"dissimilarity": 0}
    if given and asked & {"identical_data", "arbitrary_cohort_at_least"}:  # of everyone
        given = given | {"arbitrary_cohort": given["clients"]}
    if given and "arbitrary_cohort_at_least" in asked:  # steps are so small that less noise would be lost in rounding
        given = given | {"gradient_noise": 2, "dissimilarity": 0.5}
    found = tightness(ref, **given) if given else at_defaults(ref)
    assert found.status == "solved" and not found.larger
    assert (found.looseness is None) == (ref in CHOOSES_BY_THE_START)
    assert found.looseness is None or found.looseness >= 1
    assert found.after
    for each in found.after:
        assert each.worst is not None and each.attained is not None
        assert each.attained <= each.worst * (1 + 1e-6)
        assert each.worst <= each.bound * (1 + 1e-9)
    assert not found.exceeded and not found.refuted


@pytest.mark.parametrize("ref", OF_A_LARGER_CLASS)
def test_what_a_larger_class_does_refutes_nothing(ref: str) -> None:
    found = at_defaults(ref)
    assert found.status == "solved" and found.larger and not found.refuted
    assert all(each.attained <= each.worst * (1 + 1e-6) for each in found.after)


@pytest.mark.parametrize("ref", [each.ref for each in CONVEX])
def test_every_claim_on_convex_functions_has_an_entry(ref: str) -> None:
    found = at_defaults(ref)
    if claim(ref).functional.scope == "function":  # no round: nothing that could converge
        assert found.status == NOT_APPLICABLE and "of one function at given points, where no round is made" in found.why
        return
    assert found.status in ("solved", "unbounded")
    assert column(found)["value"] is not None or found.status == "unbounded"
    for each in found.after:
        assert each.worst is not None
        assert each.attained is None or each.worst == inf or each.attained <= each.worst * (1 + 1e-6)
    if VERDICTS.get(ref) in ("proved", "steps decided"):
        assert not found.refuted and not found.exceeded
    json.dumps(found.to_json())


def test_a_constant_that_is_too_small_is_seen() -> None:
    floor = ("client_rounds", "drift", "noise", "server_noise")
    assert at_defaults("safari.thm5@sharper").looseness < 1.3
    found = tightness(scaled("safari.thm5@sharper", sympy.Rational(3, 5), *floor))
    assert found.exceeded and found.refuted
    assert found.looseness == pytest.approx(0.6 * at_defaults("safari.thm5@sharper").looseness)


def test_a_factor_that_no_function_class_has() -> None:
    """A round contracts by (1 - mu eta)^(2 K), about exp(-2 mu K eta), and not by more."""
    K, R, mu, eta, d = symbols("local_steps", "rounds", "strong_convexity", "local_lr", "initial_distance")
    for times, status in ((sympy.Rational(3, 2), "solved"), (sympy.Rational(21, 10), "unbounded")):
        terms = [t for t in claim("fast.thm2@sharp").terms if t.name != "initial"]
        faster = Term("initial", sympy.exp(-times * mu * K * R * eta) * d**2)
        found = tightness(replace(claim("fast.thm2@sharp"), edition="faster", terms=(faster, *terms)))
        assert found.status == status and found.exceeded == (status == "unbounded")
    assert found.best_additive == inf and found.looseness is None


OF_LONG_RUNS = [each.ref for each in all_claims() if of_gradients(each)
                and any(h.name == "many_rounds" for h in each.hypotheses)]  # fmt: skip
"""They ask for more rounds than are followed here."""

OF_GRADIENTS = [each.ref for each in all_claims() if of_gradients(each) and each.paper in ("fast", "safari")
                and "cor" not in each.ref and each.ref not in OF_LONG_RUNS]  # fmt: skip


@pytest.mark.parametrize("ref", OF_LONG_RUNS)
def test_claims_on_long_runs_alone_say_so(ref: str) -> None:
    found = at_defaults(ref)
    assert found.status == "not applicable" and not found.constants and "many_rounds" in found.why


@pytest.mark.parametrize("ref", OF_GRADIENTS)
def test_every_claim_on_squared_gradients_has_constants(ref: str) -> None:
    found = at_defaults(ref)
    assert found.status == "solved" and found.constants[0].of == "initial_gap"
    for each in found.constants:
        assert each.coefficient == pytest.approx(sum(own for own, _ in each.terms.values()))
        assert each.least is not None and each.looseness == each.coefficient / each.least
        assert all(least == max(0, each.least - (each.coefficient - own)) for own, least in each.terms.values())
    if VERDICTS[ref] in ("proved", "steps decided"):
        assert not found.exceeded and all(each.looseness > 1 for each in found.constants)
        assert found.after[0].worst < found.after[0].bound
    assert column(found)["value"] == min(each.looseness for each in found.constants)
    json.dumps(found.to_json())


def test_steps_of_the_server_by_hand() -> None:
    """Gradient descent: |grad F(x_1)|^2 <= 2 L max(1/(1 + 2 eta L), (1 - eta L)^2) (F(x_0) - F*)."""
    for L in (1, 3):
        found = tightness("safari.rem5.b", rounds=1, server_lr="1/64", smoothness=L)
        assert [each.of for each in found.constants] == ["initial_gap"]
        assert found.whole and found.contraction is None
        assert found.constants[0].coefficient == pytest.approx(2 * 64)
        known = 2 * L * max(1 / (1 + 2 * L / 64), (1 - L / 64) ** 2)
        assert found.constants[0].least == pytest.approx(known, rel=1e-6)


def test_the_least_constant_does_not_depend_on_the_claimed_one() -> None:
    whole = at_defaults("safari.thm4@sharper")
    half = tightness(scaled("safari.thm4@sharper", sympy.Rational(1, 2), "noise"))
    by_name = {each.of: each for each in half.constants}
    for each in whole.constants[2:]:
        assert by_name[each.of].least == pytest.approx(each.least, rel=1e-4)
        assert by_name[each.of].looseness == pytest.approx(each.looseness / 2, rel=1e-4)


def test_a_term_that_is_too_small_is_seen() -> None:
    """The dissimilarity's is 40 times too large there, the gap's 3.4 times; with too little of one no multiple of the
    other is enough."""
    found = tightness(scaled("safari.thm4@sharper", sympy.Rational(1, 50), "client_rounds", "drift"))
    assert found.exceeded and found.constants[1].looseness < 1 and found.constants[0].least == inf
    assert tightness(scaled("safari.thm4@sharper", sympy.Rational(1, 4), "optimization")).exceeded


def test_lemmas_of_one_round() -> None:
    assert {"fast.eq28@main", "fast.eq13@main", "safari.eq65@main", "safari.eq58@main"} < set(ONE_ROUND)
    for ref in ONE_ROUND:
        found = at_defaults(ref)
        if ref == "safari.eq28@main":
            continue
        assert found.status == "solved" and found.constants and not found.after
        assert all(each.least is not None and each.least <= each.coefficient * (1 + 1e-6) for each in found.constants)
        assert not found.exceeded
        json.dumps(found.to_json())


def test_a_step_of_the_server_is_tight() -> None:
    """|x - eta grad F(x) - x*|^2 <= (1 - 2 eta mu L/(mu + L)) |x - x*|^2 + eta (eta - 2/(mu + L)) |grad F(x)|^2, of
    which a quadratic of curvature mu or L has equality."""
    (constant,) = tightness("safari.eq58", server_lr="1/2", smoothness=2, strong_convexity="1/2").constants
    assert constant.coefficient == pytest.approx(1 - 2 * 0.5 * 2 * 0.5 / 2.5)
    assert constant.looseness == pytest.approx(1, rel=1e-6)
    short = tightness(scaled("safari.eq58", sympy.Rational(99, 100), "distance"))
    assert short.exceeded and short.constants[0].looseness == pytest.approx(0.99, rel=1e-5)


def test_noise_of_a_movement_by_hand() -> None:
    """One step: E|x_1 - x_0|^2 has eta^2 sigma^2 / m, and of |x_0 - x*|^2 and delta^2 what a cohort's mean has."""
    found = {each.of: each for each in tightness("fast.eq29", local_steps=1, local_lr="1/10").constants}
    assert found["gradient_noise"].least == pytest.approx(0.01 / 2, rel=1e-5)


def test_constants_on_the_command_line(capsys: pytest.CaptureFixture) -> None:
    status, out, _ = told(capsys, "fast.thm1@sharper", "rounds=2")
    assert status == 0 and re.search(r"gradient_noise +noise +2 +4 ", out) and "convex" in out


def test_bounds_that_do_not_contract_are_said() -> None:
    assert any("does not contract" in each for each in at_defaults("fast.eq30").warnings)
    assert at_defaults("fast.thm2@sharp").warnings == ()
    assert any("diverges" in each for each in at_defaults("safari.thm5").warnings)


def test_classes_that_are_larger_refute_nothing() -> None:
    found = at_defaults("safari.cor2")
    assert found.exceeded and found.larger and not found.refuted
    assert any("q_condition" in each for each in found.differences)


@pytest.mark.parametrize(("ref", "why"), [
    ("safari.cor1.a", "after 4 rounds the hypotheses step_cap fail"),
    ("fedau.thm2", "weight_error"),
    ("fedau.thm3", "it bounds"),
    ("fast.lemma2", "it bounds perturbed_linearization_error of one function at given points, where no round is made"),
    ("fast.eq17", "it bounds local_gradient_error, no error of a run"),
    ("safari.eq28", "nothing of its right side is a multiple"),
    ("fedau.thm1", "it bounds average_squared_weighted_gradient"),
])  # fmt: skip
def test_what_no_worst_case_is_known_of(ref: str, why: str) -> None:
    found = tightness(ref)
    assert found.status == NOT_APPLICABLE and why in found.why
    assert found.to_json() == {"claim": claim(ref).ref, "status": NOT_APPLICABLE, "why": found.why}


@pytest.mark.parametrize(("given", "message"), [
    ({"smothness": 1}, "smothness: allowed for fast.thm2@sharp is one of"),
    ({"strong_convexity": 2}, "strong_convexity = 2: allowed is at most smoothness = 1"),
    ({"strong_convexity": 0}, "strong_convexity = 0: allowed is a finite number > 0"),
    ({"local_lr": 1}, "the hypotheses step_cap fail"),
    ({"local_steps": 1.5}, "local_steps = 3/2: allowed is a whole number"),
    ({"rounds": 10**7}, "allowed are at most 1000000"),
    ({"local_lr": [1, 2]}, "allowed is one number"),
    ({"arbitrary_cohort": 5, "clients": 4}, "arbitrary_cohort = 5: allowed is at most clients = 4"),
    ({"cohort": 5, "clients": 4}, "cohort = 5"),
])  # fmt: skip
def test_bad_input(given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tightness("fast.thm2@sharp", **given)


def test_worst_errors_are_after_some_rounds() -> None:
    with pytest.raises(ValueError, match="rounds is empty: allowed is one number or more"):
        worst_errors("khaled2020.thm1", [])


def test_what_the_claim_chooses_is_not_given() -> None:
    with pytest.raises(ValueError, match=r"li2020[.]thm1@main chooses it"):
        tightness("li2020.thm1", local_lr=0.1)
    with pytest.raises(ValueError, match=r"cohort: allowed for safari[.]thm5@sharp is one of"):
        tightness("safari.thm5@sharp", cohort=2)
    with pytest.raises(ValueError, match="heterogeneity_gap, dissimilarity: give at most one"):
        tightness("li2020.thm1", heterogeneity_gap=0.1, dissimilarity=0.1)
    turned = tightness("safari.thm5@corrected", server_lr=0.01)
    assert float(turned.values["local_lr"]) == pytest.approx(0.01 * 4 / (2 * 1.1))


def test_the_page_is_up_to_date() -> None:
    """Words are the same; numbers to 2 %, for solvers differ from machine to machine."""
    found = page([at_defaults(each.ref) for each in convergence_claims()])
    here, there = (text.split() for text in (found, PAGE.read_text()))
    assert len(here) == len(there)
    for one, other in zip(here, there, strict=True):
        if one != other:
            assert float(one.strip(",.:")) == pytest.approx(float(other.strip(",.:")), rel=0.02)


@looped("ref", [each.ref for each in all_claims()], quick=20)
def test_the_scorecard_has_what_is_found_now(ref: str) -> None:
    """Numbers to 2 %, as on the page."""
    entry = at_defaults(ref)
    here, there = column(entry), CARD[ref]["tightness"]
    assert here | {"value": None} == there | {"value": None} == published()[ref]["column"] | {"value": None}
    assert published()[ref]["column"]["value"] == there["value"]
    assert (there["value"] is None) == bool(there["why"])
    assert here["value"] == (there["value"] and pytest.approx(there["value"], rel=0.02))


def test_what_the_column_says() -> None:
    assert column(at_defaults("fast.thm2@sharper"))["value"] == at_defaults("fast.thm2@sharper").looseness
    by_gain = column(at_defaults("fast.cor3@main"))
    assert (by_gain["measure"], by_gain["value"]) == ("gain", at_defaults("fast.cor3@main").after[-1].decrement_ratio)
    assert "no constant is enough" in column(at_defaults("safari.thm5@main"))["why"]
    assert column(at_defaults("safari.cor2@main"))["larger"] and not column(at_defaults("fast.thm2@sharp"))["larger"]
    inaccurate = replace(at_defaults("fast.thm2@sharp"), status="inaccurate", looseness=None, after=())
    assert column(inaccurate) == {"status": "inaccurate", "measure": None, "value": None, "of": "", "larger": False,
                                  "why": "the solve is inaccurate"}  # fmt: skip


def test_an_inaccurate_solve_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the constant nor of the errors over rounds nor in the scorecard."""
    monkeypatch.setattr(iterated_rounds, "solved", partial(solved, accuracy=1e-30))
    for ref in ("fast.thm2@sharp", "fast.thm2@periodic"):
        found = tightness(ref)
        assert found.status == "inaccurate" and not found.exceeded
        assert (found.best_additive, found.looseness, found.class_contraction) == (None, None, None)
        assert found.after and all(each.worst is None and each.decrement_ratio is None for each in found.after)
        assert (column(found)["value"], column(found)["why"]) == (None, "the solve is inaccurate")


def test_publishing_changes_the_column_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card, file = tmp_path / "scorecard.json", tmp_path / "tightness.json"
    rows = [row for ref, row in CARD.items() if ref in ("fast.thm2@sharp", "fast.lemma1@main")]
    card.write_text(json.dumps({"schema": 3, "rows": rows}))
    monkeypatch.setattr(scorecard_column, "FILE", file)
    scorecard_column.accept([replace(at_defaults("fast.thm2@sharp"), looseness=7.0)], card)
    found = json.loads(card.read_text())["rows"]
    assert [row["tightness"]["value"] for row in found] == [None, 7.0]
    assert [row | {"tightness": None} for row in found] == [row | {"tightness": None} for row in rows]
    assert json.loads(file.read_text())["claims"]["fast.thm2@sharp"]["column"] == found[1]["tightness"]
    published.cache_clear()


def test_the_page_has_every_claim_on_convex_functions() -> None:
    text = PAGE.read_text()
    assert all(each.ref in text for each in CONVEX)


def told(capsys: pytest.CaptureFixture, *arguments: str) -> tuple[int, str, str]:
    status = run(["tightness", *arguments])
    return status, *capsys.readouterr()


def test_on_the_command_line(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    status, out, _ = told(capsys, "fast.thm2@sharp", "local_steps=3", "--json")
    assert status == 0 and json.loads(out) == tightness("fast.thm2@sharp", local_steps=3).to_json()
    status, out, _ = told(capsys, "safari.cor2")
    assert status == 0 and "the worst case exceeds the bound, in a class that is larger" in out
    picture = tmp_path / "curve.png"
    status, out, _ = told(capsys, "fast.thm2@sharper", "--over", "local_steps", "--save", str(picture))
    assert status == 0 and picture.read_bytes().startswith(b"\x89PNG") and "looseness: 2.09" in out


@pytest.mark.parametrize(("arguments", "message"), [
    ((), "allowed is a claim, or --all"),
    (("fast.thm2", "--all"), "allowed is a claim, or --all"),
    (("fast.lemma2",), "not applicable: it bounds perturbed_linearization_error"),
    (("fast.thm9",), "fast.thm9"),
    (("fast.thm2@sharp", "local_steps=400"), "with 401 points a client: the program needs about"),
    (("fast.thm2", "--accept"), "--accept: allowed is with --all"),
    (("fast.thm2", "--save", "x.txt"), "allowed is a name that ends with .png"),
    (("--all", "--save", "x.png"), "allowed is a name that ends with .md"),
    (("fast.thm2", "local_lr=1,2"), "allowed is one number"),
    (("fast.thm2", "local_lr=0.001", "local_lr=0.002"), "allowed is one value"),
    (("fast.thm2", "--over", "rounds", "--save", "x.png"), "over = 'rounds': allowed is"),
    (("fast.thm2@sharper", "cohort=2", "--over", "cohort"), "cohort = 2.0: it is what is varied, leave it out"),
    (("safari.thm5@sharp", "--over", "cohort"), "over = 'cohort': allowed for safari.thm5@sharp is one of local_lr"),
    (("li2020.thm1", "--save", "x.png"), "li2020.thm1@main chooses it; allowed is local_steps"),
    (("fast.thm2", "local_lr=0.001", "--save", "x.png"), "it is what is varied, leave it out"),
])  # fmt: skip
def test_refused(capsys: pytest.CaptureFixture, arguments: tuple[str, ...], message: str) -> None:
    status, _, err = told(capsys, *arguments)
    assert status == 2 and message in err and err.count("\n") == 1


def test_a_curve() -> None:
    """Step sizes up to the cap, the rest as it is there; the bound is above the worst case, that above the exact."""
    found = curve(claim("fast.thm2@sharper"), {}, "local_lr")
    assert max(found) == at_defaults("fast.thm2@sharper").values["local_lr"]
    for step, each in found.items():
        assert each.values["local_lr"] == step and each.values["rounds"] == 1000
        last = each.after[-1]
        assert last.attained <= last.worst * (1 + 1e-6) and last.worst <= last.bound


def test_a_curve_over_participation(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    """Snapshots alone, of m of 4: less variance with more clients, none with all; the file and the picture have it."""
    picture = tmp_path / "cohorts.png"
    status, out, _ = told(capsys, "fast.thm2@sharper", "snapshot_probability=1", "--over", "cohort", "--json", "--save",
                          str(picture))  # fmt: skip
    rows = json.loads(out)["curve"]
    assert status == 0 and picture.read_bytes().startswith(b"\x89PNG")
    assert [row["cohort"] for row in rows] == ["1", "2", "3", "4"]
    assert all(one["worst"] > other["worst"] for one, other in itertools.pairwise(rows))
    for row in rows:
        there = tightness("fast.thm2@sharper", snapshot_probability=1, cohort=int(row["cohort"]))
        assert row["looseness"] == pytest.approx(there.looseness) and row["attained"] <= row["worst"] * (1 + 1e-6)
        assert row["bound_over_worst"] == row["bound"] / row["worst"] > 1
    status, out, _ = told(capsys, "fast.thm2@sharper", "--over", "snapshot_probability")
    assert status == 0 and re.search(r"^0.875 +1000 ", out, re.MULTILINE)


def test_a_curve_leaves_out_what_the_hypotheses_refuse() -> None:
    """Squared gradients after rounds of both kinds are no one program."""
    assert list(curve(claim("safari.thm4@sharper"), {"rounds": 1}, "client_round_probability")) == [0, 1]


def test_worst_cases_are_near_what_is_attained_where_errors_settle() -> None:
    for ref in ("safari.thm5@sharp", "fast.thm2@sharper", "safari.cor2"):
        last = at_defaults(ref).after[-1]
        assert last.attained <= last.worst <= 1.06 * last.attained
