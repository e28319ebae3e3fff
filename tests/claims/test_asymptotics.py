"""What bounds become with many rounds: by hand, and against slopes of the evaluated terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

from fedtheory.claims.arithmetic import compiled
from fedtheory.claims.growth import growth
from fedtheory.claims.rates import premise
from fedtheory.claims.statement import Claim, Term
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import QUANTITIES, symbol, symbols
from tests.loops import looped

R, L, mu, q, eta = symbols("rounds", "smoothness", "strong_convexity", "snapshot_probability", "local_lr")
m, K, sigma_G = symbols("cohort", "local_steps", "dissimilarity")
log, exp, sqrt = sympy.log, sympy.exp, sympy.sqrt

# Theorem 2 with the step size of Corollary 3, and its printed rates.
DERIVED = replace(claim("fast.thm2"), choices=claim("fast.cor3").choices, rates=claim("fast.cor3").rates)
CLAIMS = {each.ref: each for each in all_claims()} | {"derived": DERIVED}
GENERIC = {name: 0.3 + (0.1 if known.upper > 1 else 0.005) * i for i, (name, known) in enumerate(QUANTITIES.items())}
GENERIC |= {
    "snapshot_probability": 0.3, "strong_convexity": 0.5, "smoothness": 0.9, "local_lr": 0.01, "server_lr": 0.01,
    "cohort": 2.0, "arbitrary_cohort": 3.0, "local_steps": 2.0,
}  # fmt: skip


@looped("each", CLAIMS.values(), ids=CLAIMS, quick=16)
def test_slopes(each: Claim) -> None:
    """The terms at R = 10^40 and 10^80 against the leading order: a second route, without sympy's help."""
    found = each.asymptotics(all_claims())
    far = GENERIC | {"rounds": np.array([1e40, 1e80])}
    far |= {name: compiled(choice)(far) for name, choice in each.choices.items()}
    for term in (*each.terms, *each.rates):
        with np.errstate(over="ignore"):
            value = np.broadcast_to(np.asarray(compiled(term.expression)(far), dtype=float), 2)
        g = found.terms[term.name] if term in each.terms else found.rates[term.name]
        if not g.power.is_finite:
            assert g.power < 0 and (value == 0).all()
            continue
        leading = (
            compiled(g.coefficient)(GENERIC) * far["rounds"] ** float(g.power) * np.log(far["rounds"]) ** float(g.logs)
        )
        # log(c R) / log(R) - 1 = log(c) / log(R), at most 0.1 and halved by squaring R; all else is exact, or off by
        # powers of R that are below rounding.
        off = np.abs(value - leading) / np.where(leading == 0, 1, np.abs(leading))
        assert (off < 1e-12).all() or (g.logs and off[0] < 0.1 and off[1] <= 0.51 * off[0])
    limit = sum(compiled(t.expression)(far) * np.ones(2) for t in each.terms)[1]
    if found.floor != sympy.oo:
        assert limit == pytest.approx(float(compiled(found.floor)(GENERIC)), rel=1e-12, abs=1e-15)


def test_corollary_1_prints_what_follows_in_the_rounds() -> None:
    found = claim("fast.cor1").asymptotics()
    assert [found.terms[name].power for name in found.terms] == [-sympy.Rational(1, 2)] * 2 + [-1]
    assert all(found.covered(name) for name in found.terms)
    assert found.floor == 0 and found.fading == tuple(found.terms)
    assert found.terms["optimization"].exponent("local_steps") == -sympy.Rational(1, 2)
    assert found.terms["heterogeneity"].exponent("local_steps") == 1
    assert sympy.simplify(found.rates["first"].rate - claim("fast.cor1").rates[0].expression) == 0


def test_the_floor_of_corollary_1_as_repaired() -> None:
    found = replace(claim("fast.cor1@corrected"), rates=claim("fast.cor1").rates).asymptotics()
    assert sympy.expand(found.floor - 4 * (1 - q) ** 2 * sigma_G**2) == 0
    assert [name for name in found.terms if not found.covered(name)] == ["arbitrary_rounds"]
    assert set(found.terms) - set(found.fading) == {"arbitrary_rounds"}


def test_corollary_3_leaves_out_a_strong_convexity() -> None:
    found = DERIVED.asymptotics()
    for name in ("arbitrary_rounds", "heterogeneity", "noise"):
        growth = found.terms[name]
        assert (growth.power, growth.logs, growth.exponent("strong_convexity")) == (-1, 1, -2)
        assert found.rates[name].exponent("strong_convexity") == -1
        assert not found.covered(name) and found.covered(name, logarithms=True)
    assert sympy.simplify(found.excess("heterogeneity") - log(R) / mu) == 0
    assert sympy.simplify(found.excess("arbitrary_rounds") - log(R) / mu) == 0
    # The initial term becomes a/(mu K R): it fades like 1/R, not exponentially.
    assert found.terms["initial"].order == (-1, 0) and found.excess("initial") == sympy.oo
    assert found.covered("initial")
    printed = claim("fast.cor3").asymptotics(all_claims())
    assert printed.terms["noise"].exponent("strong_convexity") == -1
    assert claim("fast.cor3@corrected").asymptotics().terms["noise"].exponent("strong_convexity") == -2
    assert found.floor == printed.floor == 0
    with pytest.raises(ValueError, match="name = 'first': allowed is a printed rate's, one of"):
        found.excess("first")


def test_fixed_steps_leave_floors() -> None:
    found = claim("fast.thm2@corrected").asymptotics()
    assert found.fading == ("initial",) and str(found.terms["initial"]) == "exponentially small"
    floor = sympy.Add(*(t.expression for t in claim("fast.thm2@corrected").terms if t.name != "initial"))
    assert sympy.expand(found.floor - floor) == 0
    # Of the sharp edition the rate mu - 18 L^2 K eta is > 0 by its step cap only.
    sharp = claim("fast.thm2@sharp")
    assert sharp.asymptotics().fading == ("initial",)
    with pytest.raises(ValueError, match="of a known sign"):
        replace(sharp, hypotheses=()).asymptotics()


def test_what_printed_rates_do_not_cover() -> None:
    # By hand: exp(-mu K R eta) kappa, (1-q) K eta/(2 mu), 8 K eta sigma_G^2/mu, 2 eta sigma^2/(m mu) at eta =
    # log(..)/(mu K R) are all of the order 1/(mu^2 R), where 1/(mu R) is printed.
    found = claim("fast.cor3").asymptotics(all_claims()).unmatched
    assert [text.split()[3] for text in found] == ["initial", "arbitrary_rounds", "heterogeneity", "noise"]
    assert all("fast.thm2@main with the local_lr chosen here" in text for text in found)
    assert all("as strong_convexity goes to 0, it exceeds" in text for text in found)
    assert "2*gradient_noise**2*log(rounds)/(cohort*local_steps*rounds*strong_convexity**2)" in found[3]
    # With 1/(mu^2 R) printed nothing is left: the initial term is covered by the others' sum.
    theorem = replace(claim("fast.cor3"), terms=claim("fast.thm2").terms)
    assert len(theorem.asymptotics(all_claims()).unmatched) == 4
    rates = tuple(replace(r, expression=r.expression / mu) for r in theorem.rates)
    assert replace(theorem, rates=rates).asymptotics(all_claims()).unmatched == ()
    for ref in ("fast.cor1", "fast.cor1@appendix", "fast.cor2", "fast.thm2", "fast.cor3@corrected"):
        assert claim(ref).asymptotics(all_claims()).unmatched == ()


def test_each_way_out_of_printed_rates() -> None:
    cor1 = claim("fast.cor1@appendix")

    def ways(*rates: sympy.Expr, of: Claim = cor1) -> list[str]:
        changed = replace(of, rates=tuple(Term(f"t{i}", rate) for i, rate in enumerate(rates)))
        return [text.split(": as ")[1].split(",")[0] for text in changed.asymptotics(all_claims()).unmatched]

    printed = [rate.expression for rate in cor1.rates]
    assert ways(*printed) == []
    # optimization and noise fade like 1/sqrt(R), heterogeneity like 1/R.
    assert ways(printed[0] / R) == ["the rounds grow"] * 3
    assert ways(printed[2]) == ["the rounds grow"] * 2
    assert ways(printed[0] * (1 - q)) == ["snapshot_probability goes to 1"] * 2
    assert ways(printed[0] * q) == ["snapshot_probability goes to 0"] * 2
    assert ways(printed[0] / K) == ["local_steps grows"] * 2
    assert ways(printed[0] * sqrt(m)) == []
    # Of the noise alone, sigma^2 grows beyond a rate that displays sigma, and optimization where sigma goes to 0.
    sigma = symbols("gradient_noise")[0]
    assert ways(printed[0] * sigma) == ["gradient_noise goes to 0", "gradient_noise grows"]
    # Of the repaired theorem, the floor does not fade, and sigma_G^2/sqrt(R) of the cohorts is nowhere printed.
    assert ways(*printed, of=claim("fast.cor1@corrected")) == ["the rounds grow", "dissimilarity grows"]


def test_the_premise_asks_no_more_than_its_corollary() -> None:
    refs = {each.ref: premise(each, all_claims()) for each in all_claims() if each.choices and each.paper == "fast"}
    assert {ref: found and found.ref for ref, found in refs.items()} == {
        "fast.cor1@main": "fast.thm1@main", "fast.cor1@appendix": "fast.thm1@main",
        "fast.cor1@corrected": "fast.thm1@corrected", "fast.cor2@main": "fast.thm1@main",
        "fast.cor2@corrected": "fast.thm1@corrected",
        "fast.cor3@main": "fast.thm2@main", "fast.cor3@corrected": "fast.thm2@appendix",
        "fast.rem1.a@main": "fast.thm1@main", "fast.rem3@main": "fast.thm2@appendix",
        "fast.rem1.b@main": None,  # at q = 1 the condition on q is about G_1 and G_3, and Table 1 prints none
    }  # fmt: skip
    cor3 = claim("fast.cor3")
    assert premise(replace(cor3, hypotheses=cor3.hypotheses[1:]), all_claims()) is None
    assert premise(replace(cor3, assumptions=cor3.assumptions[1:]), all_claims()) is None
    assert premise(replace(cor3, functional=claim("fast.thm1").functional), all_claims()) is None


@pytest.mark.parametrize(
    ("expression", "power", "logs", "coefficient"),
    [
        (R, 1, 0, 1), (L + 3 / R, 0, 0, L), (sqrt(R + L) / R, -sympy.Rational(1, 2), 0, 1),
        (sympy.Min(1 / R, 1 / sqrt(R)), -1, 0, 1), (sympy.Max(L * R, 1), 1, 0, L),
        (log(sympy.Max(L * R**2, 1)) ** 2 / R, -1, 2, 4), (exp(1 / R) + exp(-R), 0, 0, 1),
        (exp(-log(L * R)), -1, 0, 1 / L), (exp(-R / L) * R**5, -sympy.oo, 0, 1), (exp(-mu) / R, -1, 0, exp(-mu)),
        (1 / log(R) + 1 / R, 0, -1, 1), ((1 - q) * log(R) / R + 2 / R, -1, 1, 1 - q), (exp(L * R) + R, sympy.oo, 0, 1),
        (exp(-eta * sympy.Min(log(L * R) / (eta * R), 1) * R), -1, 0, 1 / L), (log(L + 1 / R), 0, 0, log(L)),
    ],
    ids=str,
)  # fmt: skip
def test_growth_by_hand(expression: sympy.Expr, power: object, logs: object, coefficient: object) -> None:
    found = growth(expression)
    assert (found.power, found.logs) == (power, logs)
    assert sympy.simplify(found.coefficient - coefficient) == 0


@pytest.mark.parametrize(
    "expression",
    [(1 + 1 / R) - 1 * sympy.Pow(1 + 2 / R, 2), log(log(R)), exp(log(R) * log(R)), exp((L - mu) * R)],
    ids=str,
)
def test_what_has_no_such_order_is_refused(expression: sympy.Expr) -> None:
    with pytest.raises(ValueError, match="allowed is"):
        growth(expression)


def test_text() -> None:
    text = str(claim("fast.cor3").asymptotics(all_claims()))
    assert "heterogeneity ~ 8*dissimilarity**2*log(rounds)/(rounds*strong_convexity)" in text
    assert "printed heterogeneity: O(dissimilarity**2/(rounds*strong_convexity))" in text and text.endswith("floor 0")
    assert claim("fast.cor3").asymptotics().derived_rates["heterogeneity"] == sigma_G**2 * log(R) / (R * mu)
    assert symbol("rounds") == R
