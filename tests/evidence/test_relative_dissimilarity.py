"""A user's file whose theorems speak of (B, G)-dissimilarity is judged: the true one survives, the slips fall."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from fedtheory.evidence.judge import judge, parse
from fedtheory.evidence.referee import load, referee
from fedtheory.evidence.replay import replay
from fedtheory.subjects.protocol import Instance

FILE = '''
"""One step of m clients that are drawn uniformly: with <y, grad F> >= gap + mu/2 |y|^2, |grad F|^2 <= 2 L gap and
E|gradient|^2 <= G^2 + B^2 |grad F|^2 + sigma^2/m, steps up to 1/(L B^2) leave eta G^2/mu + eta sigma^2/(m mu)."""

from sympy import Le, Rational, exp

from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.papers.paper import Paper
from fedtheory.quantities import symbols

L, mu, sigma, B, G = symbols(
    "smoothness", "strong_convexity", "gradient_noise", "dissimilarity_factor", "dissimilarity_offset"
)
m, R, eta, distance = symbols("cohort", "rounds", "local_lr", "initial_distance")


def stated(edition, share=1, factor=B):
    return Claim(
        id="relative.thm1", edition=edition, title="Sampled clients, one step", source="example, Theorem 1",
        functional=FINAL_SQUARED_DISTANCE,
        terms=(
            Term("initial", exp(-mu * R * eta) * distance**2),
            Term("heterogeneity", share * eta * G**2 / mu),
            Term("noise", eta * sigma**2 / (m * mu)),
        ),
        hypotheses=(Hypothesis("step_cap", Le(eta, 1 / (L * factor**2)), "Theorem 1"),),
        assumptions=(
            Assumption("smooth", "smoothness", "A1"),
            Assumption("noise", "gradient_noise", "A2"),
            Assumption("alike", "dissimilarity_offset", "A3"),
            Assumption("strongly_convex", "strong_convexity", "A4", from_below=True),
            Assumption("unbiased", kind="unbiased_noise", source="A2"),
            Assumption("uncorrelated", kind="uncorrelated_noise", source="A2"),
            Assumption("before", kind="cohort_before_noise", source="A2"),
            Assumption("drawn", kind="uniform_cohorts", source="A5"),
        ),
        algorithm="fast", bound={"snapshot_probability": 1, "local_steps": 1},
    )


PAPER = Paper(name="relative", title="relative", claims=(
    stated("main"), stated("eighth", Rational(1, 8)),))
'''


@pytest.fixture
def theorems(tmp_path: Path) -> Path:
    path = tmp_path / "relative.py"
    path.write_text(FILE)
    return path


def test_they_are_judged(theorems: Path) -> None:
    reports = {report.claim: report for report in referee(theorems, candidates=150)}
    states = {ref.partition("@")[2]: report.state for ref, report in reports.items()}
    assert states == {"main": "survived", "eighth": "refuted"}
    fell = reports["relative.thm1@eighth"].instance
    assert Fraction(fell["constants"]["dissimilarity_factor"]) >= 1
    assert Fraction(fell["constants"]["dissimilarity_offset"]) > 0


def test_an_instance_states_both_and_a_smaller_offset_is_none(theorems: Path) -> None:
    """Clients of different Hessians: G for the stated B; a smaller G, or a B that makes it infinite, is seen."""
    statement = load(theorems).claims[1]
    data = {
        "claim": statement.ref,
        "federation": {"kind": "quadratic", "hessians": [["1"], ["2"]], "centres": [["1"], ["-1/2"]]},
        "algorithm": {"kind": "fast", "cohort": 1, "local_steps": 1, "local_lr": "1/100", "snapshot_probability": "1"},
        "participation": {"kind": "fixed", "members": [0]}, "start": ["0"], "rounds": 10000,
        "constants": {"smoothness": "2", "gradient_noise": "0", "strong_convexity": "1", "dissimilarity_factor": "2",
                      "dissimilarity_offset": "51/50"},
    }  # fmt: skip

    def judged(**constants: str):
        changed = json.loads(json.dumps(data))
        changed["constants"] |= constants
        return judge(Instance(statement.ref, parse(changed, statement).point), statement=statement)

    assert judged().refutes  # gradients x - 1 and 2 x + 1, so -13/2 x^2 + x + 1 is largest: G^2 = 27/26
    assert replay(judged().to_json(), statement).refutes
    smaller = judged(dissimilarity_offset="101/100")
    assert not smaller.refutes and "alike" in smaller.readings[0].failing
    with pytest.raises(ValueError, match=r"dissimilarity_offset of alike: .* infinite"):
        judged(dissimilarity_factor="1")
