"""Local SGD on identical data: its theorem is proved and searched by a folder of its own, wherever the folder lies."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sympy import Le

from fedtheory.algorithms import fast, fedavg
from fedtheory.claims.balls import ball
from fedtheory.claims.statement import Claim
from fedtheory.evidence.confirm import refuting_point
from fedtheory.evidence.judge import judge, parse
from fedtheory.evidence.referee import RefereeError, referee, status
from fedtheory.evidence.search import search
from fedtheory.federations import Quadratic
from fedtheory.papers import claim, paper, papers, registry
from fedtheory.papers.proofs import prove
from fedtheory.papers.registry import from_setting, subject_of
from fedtheory.papers.saved_certificates import reverify
from fedtheory.participation import Fixed
from fedtheory.proof.chains import GOAL
from fedtheory.quantities import symbols
from fedtheory.setting import Setting
from fedtheory.subjects.protocol import Instance

THM1 = claim("khaled2020.thm1")
FOLDER = Path(registry.__file__).parent / "khaled2020"
L, mu, sigma, M, H, R, gamma, distance = symbols(
    "smoothness",
    "strong_convexity",
    "gradient_noise",
    "clients",
    "local_steps",
    "rounds",
    "local_lr",
    "initial_distance",
)
SEARCHED = {"candidates": 78, "climbs": 1, "steps": 10}


def test_it_is_the_kernels_theorem() -> None:
    chain = prove(THM1)
    assert chain.verdict == "proved" and chain.readings == ({},)
    assert [d.step.name for d in chain.decisions] == [GOAL]
    assert reverify(THM1.ref).outcome == "proved"


def test_nothing_is_found_against_it() -> None:
    report = search(THM1, **SEARCHED)
    assert report.lead is None and report.admissible == report.candidates
    assert 0.9 < report.best.ratio <= 1 and 0.5 < report.best_late.ratio < 0.6


def half(name: str) -> Claim:
    return terms(**{name: THM1.term(name).expression / 2})


def terms(**changed: object) -> Claim:
    return THM1.edited("main", "mutated", terms=changed)


def capped(cap: object) -> Claim:
    return THM1.edited("main", "mutated", hypotheses={"step_cap": Le(gamma, cap)})


REFUTED = {
    "noise halved": half("noise"),
    "noise over M^2": terms(noise=gamma * sigma**2 / (mu * M**2)),
    "noise dropped": terms(noise=0 * sigma),
    "mu^2 for mu in the noise": terms(noise=gamma * sigma**2 / (mu**2 * M)),
    "initial term halved": half("initial"),
    "twice the rate": terms(initial=(1 - 2 * gamma * mu) ** (H * R) * distance**2),
    "cap 4/L": capped(4 / L),
}
UNPROVED = {
    "drift halved": half("drift"),
    "(H - 1) dropped": terms(drift=2 * L * gamma**2 * sigma**2 / mu),
    "the rate squared": terms(initial=(1 - gamma * mu) ** (2 * H * R) * distance**2),
    "cap 1/(3L)": capped(1 / (3 * L)),
    "any data": replace(THM1, hypotheses=tuple(h for h in THM1.hypotheses if h.name != "identical_data")),
    "anyone": replace(THM1, hypotheses=tuple(h for h in THM1.hypotheses if h.name != "everyone")),
}


@pytest.mark.parametrize("slip", REFUTED)
def test_slips_are_refuted_by_an_exact_instance(slip: str) -> None:
    wrong = REFUTED[slip]
    report = search(wrong, **SEARCHED)
    judgement = refuting_point(wrong, report.lead)
    assert judgement.refutes and judgement.to_json()["algorithm"]["kind"] == "local_sgd"
    assert parse(judgement.instance.to_json(), wrong) == judgement.instance
    assert not judge(judgement.instance, statement=THM1).refutes


MISSING = {
    "of sigma^2: claimed - derived": (
        "noise halved", "noise over M^2", "noise dropped", "mu^2 for mu in the noise", "drift halved",
        "(H - 1) dropped",
    ),
    "of d^2: claimed - derived": ("initial term halved",),
    "**(local_steps*rounds): none of the letters": ("twice the rate",),
    "**(2*local_steps*rounds): allowed are": ("the rate squared",),
    "(-eta*L + 1/4)/(L) >= 0: not certified": ("cap 4/L", "cap 1/(3L)"),
    "sigma_G": ("any data",),
    "everyone takes part, which is no hypothesis": ("anyone",),
}  # fmt: skip
"""What is said to be missing where a slip is not the kernel's theorem."""


@pytest.mark.parametrize(("says", "slip"), [(says, slip) for says, slips in MISSING.items() for slip in slips])
def test_slips_are_not_proved_for_a_reason(says: str, slip: str) -> None:
    wrong = (REFUTED | UNPROVED)[slip]
    first = prove(wrong).first_open  # of a proof no step is open
    assert first.step.name == "claim.composed" and says in first.step.says


def test_every_slip_has_its_reason() -> None:
    assert {slip for slips in MISSING.values() for slip in slips} == {*REFUTED, *UNPROVED}


def enumerated(clients: int, local_steps: int, rounds: int, curvature: Fraction, start: Fraction, noise: Fraction,
               step: Fraction) -> Fraction:  # fmt: skip
    """E x^2 of local SGD on curvature x^2/2, noise +-noise with equal chances: all sequences of signs, one by one."""
    total, draws = Fraction(0), clients * local_steps * rounds
    for signs in itertools.product((-1, 1), repeat=draws):
        sign, server = iter(signs), start
        for _ in range(rounds):
            models = [server] * clients
            for m in range(clients):
                for _ in range(local_steps):
                    models[m] -= step * (curvature * models[m] + noise * next(sign))
            server = sum(models) / clients
        total += server**2
    return total / 2**draws


@pytest.mark.parametrize(("clients", "local_steps", "rounds"), [(1, 1, 1), (2, 2, 2), (3, 2, 1), (1, 3, 3), (2, 1, 4)])
def test_the_left_side_by_all_runs_one_by_one(clients: int, local_steps: int, rounds: int) -> None:
    curvature, start, noise, step = Fraction(2), Fraction(1), Fraction(3), Fraction(1, 8)
    federation = Quadratic([[curvature]] * clients, [[0]] * clients, noise)
    everyone = Fixed(range(clients))
    exact = enumerated(clients, local_steps, rounds, curvature, start, noise, step)
    for algorithm in (
        fedavg(local_lr=step, local_steps=local_steps),
        fast(cohort=1, snapshot_probability=0, local_lr=step, local_steps=local_steps),
    ):
        setting = Setting(federation, algorithm, everyone, start=[start])
        assert setting.exact([rounds]).functional(THM1.functional)[0] == pytest.approx(float(exact), rel=1e-12)
        judgement = judge(Instance(THM1.ref, from_setting(THM1, setting, rounds)))
        (reading,) = judgement.readings
        assert not reading.failing and reading.left.overlaps(ball(exact)) and reading.left < reading.right


def test_points_are_runs_with_everyone() -> None:
    subject = subject_of(THM1)
    assert subject.name == "local_sgd" and "local_sgd" in paper("khaled2020").subjects
    federation = Quadratic([[1]] * 2, [[0]] * 2)
    point = from_setting(THM1, Setting(federation, fedavg(local_lr="1/8", local_steps=3), Fixed([0, 1]), start=[1]), 5)
    data = Instance(THM1.ref, point).to_json()
    assert data["algorithm"] == {"kind": "local_sgd", "local_steps": 3, "local_lr": "1/8"}
    with pytest.raises(ValueError, match="participation has 1 members: allowed is everyone"):
        parse(data | {"participation": {"kind": "fixed", "members": [0]}}, THM1)
    with pytest.raises(ValueError, match="kind = 'fast': allowed is 'local_sgd'"):
        parse(data | {"algorithm": data["algorithm"] | {"kind": "fast"}}, THM1)
    with pytest.raises(ValueError, match="algorithm has snapshots"):
        snapshots = fast(cohort=2, snapshot_period=2, local_lr="1/8")
        judge(Instance(THM1.ref, from_setting(THM1, Setting(federation, snapshots, Fixed([0, 1]), start=[1]), 5)))
    other = federation.__class__([[1]] * 2, [[1], [-1]])
    unlike = from_setting(THM1, Setting(other, fedavg(local_lr="1/8"), Fixed([0, 1]), start=[1]), 5)
    assert judge(Instance(THM1.ref, unlike)).readings[0].failing == ["identical_data"]


def test_candidates_obey_every_hypothesis() -> None:
    space, rng = subject_of(THM1).space(THM1), np.random.default_rng(1)
    candidate = space.draw(rng)
    for _ in range(15):
        candidate = space.perturb(candidate, rng, 0.5)
        assert space.assess(candidate) is not None
    assert not space.measurable and not space.repairable and space.family_member(rng) is None


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch):
    """The registry without this paper."""
    rest = [place for place in registry._folders() if place[0] != "khaled2020"]
    monkeypatch.setattr(registry, "_folders", lambda: iter(rest))
    registry._found.cache_clear()
    yield
    monkeypatch.undo()
    registry._found.cache_clear()


def test_the_folder_gives_the_same_verdict_elsewhere(tmp_path: Path, hidden: None) -> None:
    assert "khaled2020" not in papers()
    shutil.copytree(FOLDER, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    (report,) = referee(tmp_path / "mine", candidates=40)
    assert (report.claim, report.state, report.steps) == (THM1.ref, "proved", 1)
    assert report.search["largest_ratio"] <= 1 and not report.rows
    assert "khaled2020" not in papers()


@pytest.mark.slow
def test_a_slip_in_the_folder_is_refuted_elsewhere(tmp_path: Path, hidden: None) -> None:
    shutil.copytree(FOLDER, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "mine" / "statements" / "thm1.py"
    text = file.read_text()
    file.write_text(text.replace("gamma * sigma**2 / (mu * M)", "gamma * sigma**2 / (2 * mu * M)"))
    assert file.read_text() != text
    reports = referee(tmp_path / "mine", candidates=60)
    (shown,) = (report.markdown() for report in reports)
    assert status(reports) == 1 and "**refuted**" in shown and "| instance |" in shown


def test_beside_the_built_in_one_its_name_is_taken() -> None:
    with pytest.raises(RefereeError, match="paper 'khaled2020': another one has that name"):
        referee(FOLDER)
