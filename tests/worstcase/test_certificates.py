"""Certificates prove what the solver found, and no changed one passes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.worstcase import (
    Arbitrary,
    Certificate,
    CertificateError,
    Cohort,
    Problem,
    ServerStep,
    additive_constant,
    convex,
    local_sgd,
    mixture,
    plan_of,
    quadratic,
    smooth,
    solved,
    strongly_convex,
    worst_case,
)
from fedtheory.worstcase.exact_matrices import is_semidefinite
from tests.work import counted

STRONG = strongly_convex(smoothness=2, strong_convexity="1/5")
TWO = local_sgd(local_lr="1/4", local_steps=2)
CASES = {
    "one round": (STRONG, TWO, {}),
    "one step": (STRONG, local_sgd(local_lr="1/4"), {}),
    "one client": (STRONG, TWO, {"clients": 1, "dissimilarity_at_optimum": 0}),
    "small steps": (STRONG, local_sgd(local_lr="1/4000", local_steps=3), {"rounds": 2}),
    "gap": (STRONG, TWO, {"rounds": 2, "metric": "final_gap"}),
    "gradients": (convex(smoothness=2), TWO, {"rounds": 2, "metric": "average_squared_gradient"}),
    "from round 0": (STRONG, TWO, {"rounds": 2, "metric": "average_gap", "average": "r = 0..R-1"}),
    "everywhere": (STRONG, TWO, {"rounds": 2, "everywhere": True}),
    "cohort": (STRONG, local_sgd(local_lr="1/4", local_steps=2, participants=Cohort(2)), {"clients": 5}),
    "server": (STRONG, mixture(("1/4", local_sgd(local_lr="1/4", local_steps=2, participants=Arbitrary(2))),
                               ("3/4", ServerStep(Fraction(1, 4)))), {"clients": 5}),
    "quadratics": (quadratic(smoothness=2, strong_convexity="1/5"), TWO, {}),
    "quadratics' gap": (quadratic(smoothness=2, strong_convexity="1/5"), TWO, {"rounds": 2, "metric": "final_gap"}),
    "one Hessian": (strongly_convex(smoothness=2, strong_convexity=2), TWO, {"metric": "final_gap"}),
}  # fmt: skip

KEPT = Path(__file__).parents[2] / "docs" / "certificates"
WITHOUT_PAIRS = ("quadratics", "quadratics' gap", "one Hessian")


@pytest.fixture(scope="module")
def made():
    """Each case's worst case and certificate, as they are first asked for."""
    known: dict = {}

    def make(name: str):
        if name not in known:
            functions, algorithm, options = CASES[name]
            found = worst_case(functions, algorithm, **{"dissimilarity_at_optimum": 1, **options})
            known[name] = found, found.certificate()
        return known[name]

    return make


@pytest.mark.parametrize("name", CASES)
def test_a_certificate_proves_the_value(made, name, tmp_path):
    found, certificate = made(name)
    certificate.save(tmp_path / "it.json")
    read = Certificate.load(tmp_path / "it.json")
    with counted(200_000):
        read.verify()
    problem = found.problem
    bound = read.bound(distance=problem.distance, dissimilarity_at_optimum=problem.dissimilarity_at_optimum)
    assert bound == pytest.approx(found.value, rel=1e-6)  # from above, but for what the solver is accurate to
    assert bound >= found.lower - 1e-8
    assert read.to_json() == certificate.to_json()


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_PAIRS])
def test_no_number_may_be_changed_for_the_worse(made, name):
    """A bound lower by one in its last digit; a multiplier of a pair, either way."""
    _, certificate = made(name)
    given_ = certificate.multipliers
    last = Fraction(1, max(v.denominator for v in (given_.contraction, *given_.pairs.values())))
    changed = [replace(given_, contraction=given_.contraction - last)]
    for at, nu in given_.additive.items():
        changed.append(replace(given_, additive={**given_.additive, at: nu - last}))
    for at, value in given_.pairs.items():
        changed += [replace(given_, pairs={**given_.pairs, at: value + d}) for d in (last, -last)]
    assert given_.pairs
    for each in changed:
        with pytest.raises(CertificateError):
            Certificate(certificate.problem, each).verify()


@pytest.mark.parametrize("name", ["quadratics", "quadratics' gap"])
def test_bounds_of_quadratics_cannot_be_lowered(made, name):
    _, certificate = made(name)
    given_ = certificate.multipliers
    lower = [replace(given_, contraction=given_.contraction - Fraction(1, 10**8)),
             replace(given_, additive={(0, 0): given_.additive[0, 0] - Fraction(1, 10**8)}),
             replace(given_, operators=[{at: -v for at, v in each.items()} for each in given_.operators])]  # fmt: skip
    for each in lower:
        with pytest.raises(CertificateError):
            Certificate(certificate.problem, each).verify()


def test_a_given_contraction_is_kept():
    for metric in ("final_squared_distance", "final_gap"):
        known = worst_case(STRONG, TWO, metric=metric, dissimilarity_at_optimum=1).recursion
        tau = Fraction(f"{known.contraction:.4f}")
        found = additive_constant(STRONG, TWO, contraction=tau, metric=metric)
        certificate = found.certificate()
        certificate.verify()
        assert certificate.contraction == tau
        assert float(certificate.additive) == pytest.approx(found.value, rel=1e-5)
        lower = replace(certificate.multipliers, contraction=certificate.multipliers.contraction - Fraction(1, 10**7))
        with pytest.raises(CertificateError):
            Certificate(certificate.problem, lower).verify()


def test_the_certificates_that_are_kept():
    """Those of docs/certificates: each verifies in few operations."""
    files = sorted(KEPT.glob("*.json"))
    assert len(files) >= 7
    for file in files:
        with counted(200_000):
            Certificate.load(file).verify()


def test_verification_needs_no_solver():
    program = ("import sys; from fedtheory.worstcase import Certificate; "
               f"Certificate.load({str(KEPT / 'fast.json')!r}).verify(); "
               "print([name for name in ('clarabel', 'scs', 'cvxpy', 'torch') if name in sys.modules])")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_certificate_of_another_problem_proves_nothing(made):
    """A larger step, a larger class, fewer participants: the same multipliers do not do."""
    data = made("cohort")[1].to_json()
    training = data["rounds"][0][0][1]
    for other in (
        {"rounds": [[["1", {**training, "local_lr": ["1/4", "13/50"]}]]]},
        {"functions": {**data["functions"], "strong_convexity": "1/6"}},
        {"rounds": [[["1", {**training, "participants": {"kind": "cohort", "size": 1, "replacement": False}}]]]},
        {"clients": 6},
        {"metric": "final_squared_gradient"},
    ):
        with pytest.raises(ValueError):
            Certificate.from_json({**data, **other}).verify()


BROKEN = [
    ({"what": "a proof"}, "what, schema"),
    ({"schema": True}, "what, schema"),
    ({"contraction": "0.9"}, "contraction = '0.9'"),
    ({"contraction": "1/0"}, "contraction = '1/0'"),
    ({"pairs": [[0, 0, 1, "1"], [0, 0, 1, "1"]]}, "is there twice"),
    ({"pairs": [[0, 0, "1"]]}, "allowed is 3 whole numbers"),
    ({"functions": {"smoothness": "1"}}, "functions: "),
    ({"clients": "five"}, "clients = five"),
    ({"surprise": 1}, "allowed are exactly"),
    ({"everywhere": 1}, "everywhere = 1"),
    ({"rounds": []}, "rounds = 0"),
    ({"metric": "loss"}, "metric = 'loss'"),
]


@pytest.mark.parametrize(("change", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_broken_files_are_refused(made, change, said):
    data = json.loads(json.dumps(made("one round")[1].to_json()))
    with pytest.raises(ValueError, match=said):
        Certificate.from_json({**data, **change})


def test_multipliers_of_nothing_are_refused(made):
    _, certificate = made("one round")
    for pairs in ({(1, 0, 1): Fraction(0)}, {(0, 0, 9): Fraction(0)}, {(0, 1, 1): Fraction(0)}):
        wrong = replace(certificate.multipliers, pairs=certificate.multipliers.pairs | pairs)
        with pytest.raises(CertificateError, match="allowed are"):
            Certificate(certificate.problem, wrong).verify()
    negative = {at: certificate.multipliers.pairs.get(at, Fraction(0)) - 5 for at in ((0, 0, 1), (0, 1, 0))}
    for wrong in (replace(certificate.multipliers, pairs=certificate.multipliers.pairs | negative),
                  replace(certificate.multipliers, additive={(0, 0): Fraction(-1)})):  # fmt: skip
        with pytest.raises(CertificateError, match="allowed are numbers >= 0"):
            Certificate(certificate.problem, wrong).verify()
    wrong = replace(certificate.multipliers, additive={(1, 0): Fraction(1)})
    with pytest.raises(CertificateError, match="it is bounded at"):
        Certificate(certificate.problem, wrong).verify()


def test_replay_on_the_command_line(made, tmp_path):
    _, certificate = made("cohort")
    certificate.save(tmp_path / "it.json")
    done = CliRunner().invoke(app, ["replay", str(tmp_path / "it.json"), "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["contraction"] == str(certificate.contraction)
    data = certificate.to_json()
    (tmp_path / "it.json").write_text(json.dumps({**data, "contraction": "1/2"}))
    assert CliRunner().invoke(app, ["replay", str(tmp_path / "it.json")]).exit_code == 1


def test_what_has_no_certificate(made):
    noisy = worst_case(STRONG, TWO, clients=2, gradient_noise=1)
    at_optimum = worst_case(STRONG, TWO, distance=0, dissimilarity_at_optimum=1)
    gradients = solved(Problem(STRONG, plan_of(TWO), "one_round", combination={"squared_gradient": 1}))
    any_function = additive_constant(smooth(smoothness=2), local_sgd(local_lr="1/4"), contraction=4)
    for found, said in ((noisy, "gradient_noise"), (at_optimum, "distance > 0"),
                        (gradients, "metric = 'one_round'"), (any_function, "functions = smooth"),
                        (replace(noisy, status="inaccurate"), "status = 'inaccurate'")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            found.certificate()


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(0, 3), st.randoms(use_true_random=False))
def test_semidefinite_is_what_eigenvalues_say(side, rank, random):
    """Of products B B^T, which are; and less a little, where they are not."""
    b = np.array([[Fraction(random.randint(-3, 3), random.randint(1, 3)) for _ in range(rank)] for _ in range(side)],
                 dtype=object).reshape(side, rank)  # fmt: skip
    matrix = b @ b.T if rank else np.full((side, side), Fraction(0), dtype=object)
    assert is_semidefinite(matrix)
    k = random.randrange(side)
    least = np.linalg.eigvalsh(matrix.astype(float))[0]
    lower = matrix.copy()
    lower[k, k] -= Fraction(1, 50)
    assert is_semidefinite(lower) == (np.linalg.eigvalsh(lower.astype(float))[0] >= -1e-12) or abs(least) > 1e-9
