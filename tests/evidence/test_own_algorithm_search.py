"""Claims about an algorithm of one's own: whose settings are drawn, what is exact and what is only simulated, how an
instance is written and read; a file that is wrong ends with one message."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.random import default_rng as random
from sympy import Integer

from fedtheory.algorithms import fast, fedavg, own
from fedtheory.claims.statement import Term
from fedtheory.evidence.confirm import confirmed
from fedtheory.evidence.judge import judge
from fedtheory.evidence.referee import RefereeError, examine, load, referee, status
from fedtheory.evidence.refute import followed_up
from fedtheory.evidence.replay import ReplayError, replay
from fedtheory.evidence.search import search
from fedtheory.federations import Quadratic
from fedtheory.functionals import (
    AVERAGE_SQUARED_GRADIENT,
    BEST_GAP,
    FINAL_GAP,
    FINAL_SQUARED_DISTANCE,
    GAP_OF_AVERAGE,
    GAP_OF_WEIGHTED_AVERAGE,
    Functional,
)
from fedtheory.moments.evaluators import Question, left
from fedtheory.moments.step_trace import traces
from fedtheory.own import define
from fedtheory.papers import added
from fedtheory.papers.paper import Paper
from fedtheory.papers.registry import from_setting, subject_of
from fedtheory.participation import Bernoulli, Cyclic, Fixed, Markov, Participation, Phases, Uniform
from fedtheory.quantities import DIMENSIONLESS, QUANTITIES, Quantity, symbol
from fedtheory.setting import Setting
from fedtheory.subjects.custom_points import MOST_COPIES, OwnPoint, _read, _written
from fedtheory.subjects.custom_search import (
    AVAILABLE,
    CROWD,
    EVERYONE,
    HALVES,
    INDEPENDENT,
    MARKOV,
    MOST_LOCAL_STEPS,
    NOISY,
    SWAPPED,
    UNIFORM,
    Candidate,
    OwnRuns,
)
from fedtheory.subjects.custom_search import FIXED as SOME
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.varying_steps import surely

F = Fraction
WORKED = Path(__file__).parents[2] / "docs" / "referee" / "own_algorithm.py"

FILE = """
import torch
from sympy import Le
from fedtheory.algorithms import own
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.quantities import symbols

L, mu, sigma, eta = symbols("smoothness", "strong_convexity", "gradient_noise", "local_lr")
D, R, M = symbols("initial_distance", "rounds", "clients")

def step(x, memory, round, *, local_lr):
    way = (round.share * round.gradient(x)).sum(1)
    {body}

mine = own(step, name="mine", {memory}local_lr="1/10")
CLAIM = Claim(
    id="own.thm1", title="a step of one's own", source="here", functional=FINAL_SQUARED_DISTANCE,
    terms=({terms}), hypotheses=(Hypothesis("cap", Le(eta, 1 / L), "here"),),
    assumptions=(Assumption("smooth", "smoothness", "A"),
                 Assumption("convex", "strong_convexity", "A", from_below=True),
                 Assumption("noise", "gradient_noise", "A"), Assumption("free", kind="uncorrelated_noise", source="A"),
                 {assumed}),
    algorithm="mine", bound={{"arbitrary_cohort": M}},
)
"""
DESCENT = 'Term("start", (1 - eta * mu) ** R * D**2), Term("noise", eta * sigma**2 / (M * mu)),'


def written(path: Path, body: str, terms: str = DESCENT, memory: str = "", assumed: str = "") -> Path:
    path.write_text(FILE.format(body=body, terms=terms, memory=memory, assumed=assumed))
    return path


@pytest.fixture(autouse=True)
def _known_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The definitions of a test end with it, and what it searches is little."""
    known = cast(dict[str, Quantity], QUANTITIES)
    before = dict(known)
    monkeypatch.setattr("fedtheory.evidence.search.search.__defaults__", (60, 2, 5, 0, None))
    yield
    known.clear()
    known.update(before)


def test_a_false_theorem_falls_and_replays_and_a_true_one_stands(tmp_path: Path) -> None:
    paper = load(WORKED)
    true, false = paper.claims
    with added(paper):
        found = search(true, candidates=200, climbs=3, steps=10)
        assert found.lead is None and found.admissible > 100 and 0.9 < found.best.ratio <= 1
        report = examine(false, candidates=300)
        assert report.state == "refuted"
        judgement = replay(report.instance, false)
        assert judgement.refutes and judgement.instance.point.algorithm.name == "averaged"
        changed = json.loads(json.dumps(report.instance))
        changed["algorithm"]["averaging_share"] = "1"  # nothing is averaged then, so nothing is divided
        with pytest.raises(ReplayError, match=r"the bound is not exceeded|recomputed"):
            replay(changed, false)


def test_exact_left_sides_are_those_of_the_moments() -> None:
    """In balls and in Fractions: of a point, with a memory and a cohort drawn anew in every round."""
    paper = load(WORKED)
    with added(paper):
        (subject,) = paper.subjects.values()
        algorithm = subject.algorithm.with_numbers(local_lr="1/4", averaging_share="1/3")
        fed = Quadratic([[1], [2], [4]], [[1], [-1], [0]], gradient_noise=2)
        chains = (Markov([1, "1/2", 1], [1, "1/4", 1]), Cyclic([1, "1/2", 1], 2))
        processes = (Fixed([0, 1, 2]), Uniform(2), Bernoulli(["1/2", "1/3", 1]), *chains)
        functionals = (FINAL_SQUARED_DISTANCE, AVERAGE_SQUARED_GRADIENT, FINAL_GAP)
        for who, functional in product(processes, functionals):
            claim = replace(paper.claims[0], bound={}, functional=functional)
            setting = Setting(fed, algorithm, who, start=3)
            point = from_setting(claim, setting, 4)
            judged = judge(Instance(claim.ref, point), statement=claim)
            exact = left(functional, Question(setting, 4, numbers="exact"))
            assert isinstance(exact, F)
            assert abs(float(judged.readings[0].left) - float(exact)) < 1e-15 * float(exact)
            assert subject.parse(point.to_json(), claim) == point
        with pytest.raises(ValueError, match="algorithm is Fast: allowed is averaged"):
            from_setting(claim, Setting(fed, fast(cohort=1, snapshot_probability=0, local_lr=1), Fixed([0])), 4)


def test_participants_are_those_of_the_claim() -> None:
    paper = load(WORKED)
    with added(paper):
        claim = paper.claims[0]

        def who(**changes: Any) -> tuple[str, ...]:
            changed = replace(claim, **changes)
            return subject_of(changed).space(changed).who

        of_kind = replace(claim.assumptions[-1], name="who", kind="uniform_cohorts")
        assert who() == (EVERYONE,) and who(bound={})[-2:] == (MARKOV, AVAILABLE)
        assert MARKOV not in who(bound={"arbitrary_cohort": Integer(2)})  # their number changes
        for kind, besides in (("stationary_availability", (MARKOV, AVAILABLE)), ("independent_draws", ())):
            assumed = (*claim.assumptions, replace(of_kind, kind=kind))
            assert who(bound={}, assumptions=assumed) == (EVERYONE, SOME, UNIFORM, *besides)
        of_kind = replace(of_kind, kind="independent_participation")
        assert who(bound={}, assumptions=(*claim.assumptions, of_kind)) == (INDEPENDENT,)


@pytest.mark.parametrize(("noise", "state"), [("s**2", "survived"), ("s**2 / 2", "refuted"), ("sigma**2", "refuted")])
def test_a_claim_may_speak_of_the_servers_noise(tmp_path: Path, noise: str, state: str) -> None:
    """Descent by the server's gradients is tight after one step of 1/L, and has no noise of clients."""
    terms = f'Term("start", (1 - eta * mu) ** R * D**2), Term("noise", eta * {noise} / mu),'
    path = written(tmp_path / "mine.py", "return x - local_lr * round.server_gradient(x), {}", terms, assumed=SERVER)
    path.write_text(path.read_text().replace("D, R, M = symbols(", 's, D, R, M = symbols("server_noise", '))
    [report] = referee(path, candidates=40)
    assert report.state == state
    if state == "refuted":
        assert F(report.instance["constants"]["server_noise"]) > 0
        paper = load(path)
        with added(paper):
            assert replay(report.instance, paper.claims[0]).refutes


SERVER = 'Assumption("server", "server_noise", "A"), Assumption("fair", kind="unbiased_server_noise", source="A"),'


def test_few_runs_by_rule_are_followed_far(tmp_path: Path) -> None:
    """Each of their rounds is traced for itself, once for all settings with as many clients."""
    path = written(
        tmp_path / "mine.py", "return x - local_lr * way, {}", 'Term("start", D**2), Term("noise", sigma**2),'
    )
    path.write_text(path.read_text().replace('local_lr="1/10"', 'local_lr="2/(10 + round_index)"'))
    paper = load(path)
    with added(paper):
        claim = replace(paper.claims[0], hypotheses=paper.claims[0].hypotheses[1:])
        space = subject_of(claim).space(claim)
        [two, one] = [next(c for c in space.structured() if c.clients == n and c.far) for n in (2, 1)]
        traces.cache_clear()
        far, near = ({f.rounds for f in space.assess(c) if f} for c in (two, replace(two, far=False, start=0.5)))
        assert traces.cache_info().misses == int(space.horizons[-1]) == 1000 and max(near) <= 100
        assert not space.perturb(two, random(0), 0.1).far and one.far
        assert "most settings at most 100, as a number is a rule" in space.searched
        assert max(far) <= 1000 and traces.cache_info().hits >= 100


def test_what_is_not_assumed_may_be_violated() -> None:
    paper = load(WORKED)
    with added(paper):
        kept = tuple(a for a in paper.claims[0].assumptions if a.kind != "uncorrelated_noise")
        report = examine(replace(paper.claims[0], assumptions=kept), candidates=20)
    assert report.state == "needs" and report.instance["violates"] == ["independent_noise", "uncorrelated_noise"]


CLIPPED = "return x - local_lr * torch.clamp(way, -1, 1), {}"


@pytest.mark.parametrize(
    ("terms", "state", "ratio"),
    [('Term("all", 4 * D**2 + 4 * R * eta * sigma**2 / mu),', "survived", (0, 1)), (DESCENT, "open", (1.01, math.inf))],
)
def test_what_is_not_linear_is_simulated_and_refutes_nothing(
    tmp_path: Path, terms: str, state: str, ratio: tuple[float, float]
) -> None:
    """Far from x* clipped steps are short, so the error does not contract at the rate of descent. The first bound is
    true: with c = clip(g + n) and symmetric n, coordinate by coordinate (E c)^2 <= |g| |E c|, and Var c <= Var n, so
    that E y'^2 <= y^2 - 2 eta y E c + eta^2 (E c)^2 + eta^2 Var n <= y^2 + eta^2 Var n for eta <= 1/L."""
    (report,) = referee(written(tmp_path / "clip.py", CLIPPED, terms), candidates=60)
    assert report.state == state and status([report]) == (0 if state == "survived" else 2)
    why = "mine is not linear in the state at `clamp` (clip.py, line 14): judged by simulation"
    assert why in report.search["searched"] and "not refuted by it" in report.search["searched"]
    assert ratio[0] < report.search["largest_ratio"] <= ratio[1] and report.instance is None
    if state == "open":
        told = report.rows[0].what
        assert why in told and "; not refuted by it. 4000 runs of" in told and "confidence interval [" in told


IN_A_SHELL = {"argument"}
"""Of the wrong ones; the others are examined in this process, which has loaded the proofs already."""

WRONG = {
    "fails": ("return x - 1 / 0, {}", "", "line 14: algorithm mine: step fails: ZeroDivisionError: division by zero"),
    "shape": ("return way.sum(1), {}", "", "line 12: algorithm mine: step returns x = "),
    "forgets": ("return x - local_lr * way, {}", 'memory={"v": "vector"}, ', "line 12: algorithm mine: step forgets v"),
    "late": ("n = mine.__dict__.setdefault('n', []); n += [1]; return x - local_lr * (1 + len(n) // 40) * way, {}", "",
             "line 12: algorithm mine: two calls of step with the same arguments return different things"),
    "tensor": ("return x + local_lr * torch.randn(1), {}", "", "'Tensor'; allowed are no tensors of its own: round."),
    "hidden": ("mine.__dict__.setdefault('n', []).append(1); return x * len(mine.__dict__['n']), {}", "",
               "line 12: algorithm mine: two calls of step with the same arguments return different things"),
    "memory": ("return x, {}", 'memory={"v": "velocity"}, ', "line 12: memory['v'] = 'velocity': allowed is one of"),
    "argument": ("return x, {}", "cutoff=3, ", "unexpected keyword argument 'cutoff'; allowed is a step(x, "),
    "numbers": ("return x, {}", "learning_rate=3, ", "got an unexpected keyword argument 'learning_rate'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_file_with_a_wrong_step_ends_with_one_message(name: str, tmp_path: Path) -> None:
    body, memory, why = WRONG[name]
    file = written(tmp_path / "own.py", body, memory=memory)
    if name not in IN_A_SHELL:
        with pytest.raises(RefereeError, match=re.escape(why)) as told_once:
            referee(file, candidates=60)
        assert str(told_once.value).count(why) == 1 and str(told_once.value).startswith(f"{file}, line")
        return
    done = subprocess.run([sys.executable, "-m", "fedtheory.cli", "referee", str(file)], capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2 and "Traceback" not in told
    assert told.count(why) == 1 and "own.py, line" in told, told


def test_names_are_of_one_algorithm(tmp_path: Path) -> None:
    body = "return x - local_lr * way, {}"
    file = written(tmp_path / "own.py", body)
    twice = 'other = own(step, name="mine", local_lr=1)\nCLAIM ='
    for old, new in (('name="mine"', 'name="fast"'), ("CLAIM =", twice)):
        text = FILE.format(body=body, terms=DESCENT, memory="", assumed="").replace(old, new, 1)
        file.write_text(text)
        with pytest.raises(RefereeError, match=r"own.py: algorithm '(fast|mine)': another one has that name"):
            load(file)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "fast"}, "kind = 'fast': allowed is 'averaged'"),
        ({"momentum": "1/2"}, "algorithm: momentum is none of averaged's numbers: local_lr, averaging_share"),
        ({"averaging_share": None}, "averaging_share = None: allowed is a rational"),
        ({"averaging_share": "2"}, "averaging_share = 2: allowed is a number in"),
        ({"local_lr": "1e-3"}, "local_lr = '1e-3': allowed is a rational"),
    ],
)
def test_a_file_that_holds_no_instance_is_refused(change: dict[str, Any], why: str) -> None:
    paper = load(WORKED)
    with added(paper):
        (subject,) = paper.subjects.values()
        fed = Quadratic([[1], [2]], [[1], [-1]])
        point = from_setting(paper.claims[0], Setting(fed, subject.algorithm, Fixed([0, 1])), 4)
        data = point.to_json()
        with pytest.raises(ValueError, match=why):
            subject.parse(data | {"algorithm": data["algorithm"] | change}, paper.claims[0])
        with pytest.raises(
            ValueError,
            match="kind = 'beta': allowed is 'fixed', 'phases', 'uniform', 'bernoulli', 'markov' or 'cyclic'",
        ):
            subject.parse(data | {"participation": {"kind": "beta"}}, paper.claims[0])


def test_an_instance_states_no_other_number_than_its_algorithm_has() -> None:
    """The right side would be judged at one value, and the runs made with another."""

    def step(x, memory, round, *, local_lr, step_shift):
        return x - local_lr / step_shift * (round.share * round.gradient(x)).sum(1), {}

    base = next(iter(load(WORKED).claims))
    claim = replace(base, terms=(Term("shift", symbol("step_shift") * base.terms[0].expression),))
    setting = Setting(Quadratic([[1]], [[1]]), own(step, name="averaged", local_lr="1/2", step_shift=3), Fixed([0]))
    constants = {"smoothness": F(1), "strong_convexity": F(1), "gradient_noise": F(0)}
    OwnPoint(setting, 1, {**constants, "step_shift": F(3)}).check(claim)
    with pytest.raises(ValueError, match="step_shift = 4: allowed is 3, which the algorithm has"):
        OwnPoint(setting, 1, {**constants, "step_shift": F(4)}).check(claim)


def test_clients_come_as_often_as_the_algorithm_says() -> None:
    def step(x, memory, round, *, local_lr, participation_probability):
        return x - local_lr / participation_probability * (round.present * round.gradient(x)).sum(1), {}

    claim = next(iter(load(WORKED).claims))
    claim = replace(claim, terms=(Term("often", symbol("participation_probability") * claim.terms[0].expression),))
    algorithm = own(step, name="averaged", local_lr="1/2", participation_probability="1/3")
    constants = {"smoothness": F(1), "strong_convexity": F(1), "gradient_noise": F(0)}
    for chances, allowed in (["1/3", "1/3"], True), (["1/3", "1/2"], False), (["1/2", "1/2"], False):
        point = OwnPoint(Setting(Quadratic([[1], [1]], [[1], [1]]), algorithm, Bernoulli(chances)), 1, constants)
        if allowed:
            point.check(claim)
        else:
            with pytest.raises(ValueError, match="participation_probability = 1/3: allowed is that with which every"):
                point.check(claim)
    drawn = replace(CANDIDATE, numbers=(("participation_probability", F(3, 4)),), chance=0.25, who=INDEPENDENT)
    assert drawn.participation() == Bernoulli([F(3, 4)] * 2)


CANDIDATE = Candidate(2, 1, 0, 1.0, 1.0, 1.0, 0.0, 3.0, EVERYONE, 1, 1.0, ())


ONE_BY_ONE = """for i in range(round.share.shape[1]):
        x = x - local_lr * round.gradient(x)[:, i]
    return x, {}"""
ORDER = ('Term("start", (1 - eta * mu) ** (M * R) * D**2), Term("noise", 10 * eta * sigma**2 / mu), '
         'Term("order", eta**2 * L * {} * symbols("dissimilarity_at_optimum")[0] ** 2 / mu)')  # fmt: skip


@pytest.mark.parametrize("size, falls", [("M**2", False), ("M**2 / 8", True), ("M", True)])
def test_what_the_order_of_clients_costs(size: str, falls: bool, tmp_path: Path) -> None:
    """Clients one after another: M^2 gradients at the optimum, an eighth of it falls with two clients, M with many
    that pull one way first; what the gradients at the optimum are, the instance knows."""
    paper = load(written(tmp_path / "mine.py", ONE_BY_ONE, ORDER.format(size)))
    with added(paper):
        report = search(paper.claims[0], candidates=100, climbs=1, steps=2)
        judged, _ = followed_up(paper.claims[0], report)
    assert report.admissible and (report.lead is not None) == (judged is not None) == falls
    assert judged is None or judged.instance.point.setting.federation.clients == (CROWD if size == "M" else 2)


ROUND = """
from sympy import Le
from fedtheory.algorithms import own
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import {left}
from fedtheory.quantities import symbols

L, sigma, eta, gradient, M = symbols("smoothness", "gradient_noise", "local_lr", "gradient_norm", "clients")

def step(x, memory, round, *, local_lr):
    return x - local_lr * (round.share * round.gradient(x)).sum(1), {{}}

mine = own(step, name="descent_of_all", local_lr="1/10")
CLAIM = Claim(
    id="moves.lemma1", title="one round", source="here", functional={left},
    terms=(Term("way", eta**2 * gradient**2), Term("noise", {noise})),
    hypotheses=(Hypothesis("cap", Le(eta, 1 / L), "here"),),
    assumptions=(Assumption("smooth", "smoothness", "A"), Assumption("noise", "gradient_noise", "A"),
                 Assumption("free", kind="uncorrelated_noise", source="A")),
    algorithm="descent_of_all", bound={{"arbitrary_cohort": M}},
)
"""


def _lemma(folder: Path, left: str, noise: str) -> Path:
    path = folder / "moves.py"
    path.write_text(ROUND.format(left=left, noise=noise))
    return path


@pytest.mark.parametrize(("square", "falls"), [("M", False), ("M**2", True)])
def test_a_lemma_about_one_round_is_judged_exactly(square: str, falls: bool, tmp_path: Path) -> None:
    """E|x_1 - x_0|^2 = eta^2 |grad F(x_0)|^2 + eta^2 sigma^2 / M where everyone takes part: with M^2 it falls."""
    paper = load(_lemma(tmp_path, "SQUARED_MOVEMENT", f"eta**2 * sigma**2 / {square}"))
    with added(paper):
        (claim,) = paper.claims
        report = search(claim, candidates=40, climbs=1, steps=2)
        assert report.admissible >= 40 and (report.lead is not None) == falls
        if not falls:
            assert math.isclose(report.best.ratio, 1, rel_tol=1e-9)  # both sides are equal, up to rounding
            return
        judgement, _ = followed_up(claim, report)
        assert judgement.refutes and judgement.instance.point.rounds == 1
        assert replay(judgement.to_json(), claim).refutes
        with pytest.raises(ValueError, match="rounds = 2: allowed is 1"):
            replay({**judgement.to_json(), "rounds": 2}, claim)


def test_a_claim_that_says_nothing_of_who_takes_part_is_searched_with_all(tmp_path: Path) -> None:
    paper = load(_lemma(tmp_path, "SQUARED_MOVEMENT", "eta**2 * sigma**2"))
    with added(paper):
        claim = replace(paper.claims[0], bound={})
        space = subject_of(claim).space(claim)
        for who in space.who:
            assert space.assess(replace(next(space.structured()), clients=3, kinds=0, who=who)) is not None


def test_what_a_file_computes_is_asked_of_settings_that_the_claim_allows(tmp_path: Path) -> None:
    """Not of one in which everyone takes part, whose process has no probabilities."""
    asked = set()

    def least(question: Question) -> F:
        asked.add(type(question.setting.participation))
        return F(min(question.setting.participation.probabilities))

    chance = define(Quantity("least_chance", "min p_i", DIMENSIONLESS, compute=least))
    drawn = 'Assumption("drawn", kind="independent_participation", source="A")'
    paper = load(written(tmp_path / "own.py", "return x - local_lr * way, {}", assumed=drawn))
    start = symbol("initial_distance") ** 2
    claim = replace(paper.claims[0], bound={}, terms=(Term("start", start / chance),))
    with added(paper):
        space = subject_of(claim).space(claim)
        assert all(space.assess(candidate) for candidate in islice(space.structured(), 3))
    assert asked == {Bernoulli}


def test_local_iterates_of_a_step_have_no_names(tmp_path: Path) -> None:
    with pytest.raises(RefereeError, match=r"local_gradient_error is about local iterates.*allowed of its rounds are"):
        referee(_lemma(tmp_path, "LOCAL_GRADIENT_ERROR", "eta"))


@pytest.mark.parametrize("more", ["round.noise(1)", "(round.share * round.proximal(x, 1)).sum(1)"])
def test_what_is_not_followed_with_kinks_is_searched_without_them(tmp_path: Path, more: str) -> None:
    """Gaussian noise and proximal points: none of the candidates ends the search, and what was searched is said."""
    paper = load(written(tmp_path / "mine.py", f"return x - local_lr * way + {more}, {{}}"))
    with added(paper):
        space, rng = subject_of(paper.claims[0]).space(paper.claims[0]), random(0)
        assert not any(each.kink for each in (*space.structured(), *(space.draw(rng) for _ in range(50))))
        assert "kinks" not in space.searched
        assert search(paper.claims[0], candidates=10, climbs=1, steps=5).admissible


@pytest.mark.parametrize("name", ["objective_decrease", "gradient_norm"])
def test_what_is_known_of_one_round_on_quadratics_alone_is_searched_there(tmp_path: Path, name: str) -> None:
    paper = load(written(tmp_path / "mine.py", "return x - local_lr * way, {}"))
    claim = replace(paper.claims[0], functional=FINAL_SQUARED_DISTANCE, terms=(Term("of_round", symbol(name)),))
    with added(paper):
        space, rng = subject_of(claim).space(claim), random(0)
        assert not any(each.kink for each in (*space.structured(), *(space.draw(rng) for _ in range(50))))


def test_kinks_and_noise_come_together(tmp_path: Path) -> None:
    """Few signs of noise in all, of which every one is followed: what the search sees is what an exact point has."""
    paper = load(_lemma(tmp_path, "FINAL_SQUARED_DISTANCE", "sigma"))
    with added(paper):
        claim = replace(paper.claims[0], terms=paper.claims[0].terms[1:])
        space, rng = subject_of(claim).space(claim), random(0)
        drawn = (space.draw(rng) for _ in range(1000))
        noisy = [each for each in drawn if each.kink is not None and each.kink.noise][:10]
        assert len(noisy) == 10 and all(each.clients <= NOISY for each in noisy)
        assessed = [space.assess(each) for each in [*noisy, *(space.perturb(each, rng, 0.1) for each in noisy)]]
        finds = [both[0] for both in assessed if both is not None]  # some have no minimum
        assert len(finds) >= 6
        for found in finds:
            [point] = space.rounded(found, 3)
            judged = judge(Instance(claim.ref, point), statement=claim)
            assert found.rounds <= 2 and point.constants["gradient_noise"] > 0
            assert math.isclose(float(judged.readings[0].left), found.left, rel_tol=1e-6)


def test_what_floats_round_of_runs_with_kinks_is_no_lead(tmp_path: Path) -> None:
    """Descent brings a quadratic nearer to x* by 1 - eta mu a round, until doubles cannot tell it from there."""
    terms = 'Term("start", (1 - eta * mu) ** (2 * R) * D**2), Term("noise", eta * sigma**2 / mu),'
    paper = load(written(tmp_path / "own.py", "return x - local_lr * way, {}", terms))
    with added(paper):
        space = subject_of(paper.claims[0]).space(paper.claims[0])
        kinked = next(c for c in space.structured() if c.kink is not None)
        line = replace(kinked.kink, left=1.0, right=1.0, width=0.0, level=0.0, offset=-1.01, start=0.011, noise=0.0)
        for smoothness in (1.93, 1.0, 3.1):
            found, _ = space.assess(replace(kinked, kink=replace(line, smoothness=smoothness), share=1.0))
            assert found.ratio <= 1


SAMPLED = """
from sympy import Ge, Le
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.quantities import symbols

L, mu, sigma, G = symbols("smoothness", "strong_convexity", "gradient_noise", "dissimilarity_at_optimum")
N, S, K, R, eta, D, g = symbols(
    "clients", "arbitrary_cohort", "local_steps", "rounds", "local_lr", "initial_distance", "global_lr"
)
step = K * eta * g
CLAIM = Claim(
    id="sampled.thm1", title="cohorts", source="here", functional=FINAL_SQUARED_DISTANCE,
    terms=(Term("start", (1 - mu * step / 2) ** R * D**2), Term("sampling", {sampling}), Term("noise", {noise}),
           Term("drift", {drift})),
    hypotheses=(Hypothesis("cap", Le(eta, 1 / ({cap} * L * K * g)), "here"), Hypothesis("global", Ge(g, 1), "here")),
    assumptions=(Assumption("smooth", "smoothness", "A"),
                 Assumption("convex", "strong_convexity", "A", from_below=True),
                 Assumption("noise", "gradient_noise", "A"),
                 Assumption("free", kind="independent_noise", source="A"),
                 Assumption("cohort", kind="uniform_cohorts", source="A")),
    algorithm="{algorithm}",
)
"""
DRIFT = "36 * step**2 / mu * L * G**2"
SLIPS = {
    "squared share of who is absent": (
        "fedavg",
        "8 * step / mu * G**2 / S * (1 - S / N) ** 2",
        "4 * step * sigma**2 / (mu * K * S)",
        DRIFT,
        "16",
    ),
    "squared cohort": (
        "fedavg",
        "8 * step / mu * G**2 / S",
        "2 * step * sigma**2 / (mu * K * S**2) * (1 + S / g**2)",
        DRIFT,
        "16",
    ),
    # Karimireddy et al. 2020, Theorem VII, has 9 N / S where 9 + 1 are here: a control is as old as N / S rounds
    "age of controls": (
        "scaffold",
        "(1 - mu * step / 2) ** R * 9 * step**2 * G**2",
        "24 * step * sigma**2 / (mu * K * S) * (1 + S / g**2)",
        "(1 - mu * step / 2) ** R * step**2 * G**2",
        "81 * N",  # which is at most the smaller one of the theorem's two caps
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_what_shows_with_many_clients_is_among_the_first_candidates(slip: str, tmp_path: Path) -> None:
    """Only one or all but one of 30 clients, or large cohorts with large global steps, show these slips."""
    algorithm, sampling, noise, drift, cap = SLIPS[slip]
    text = SAMPLED.format(algorithm=algorithm, sampling=sampling, noise=noise, drift=drift, cap=cap)
    (tmp_path / "sampled.py").write_text(text)
    paper = load(tmp_path / "sampled.py")
    with added(paper):
        (claim,) = paper.claims
        space = subject_of(claim).space(claim)
        assessed = (space.assess(candidate) for candidate in islice(space.structured(), 30))
        found = next(both[0] for both in assessed if both and both[0].ratio > 1.01)
        judgement, why = confirmed(claim, found, space)
        assert judgement is not None and judgement.refutes, why
        assert found.candidate.clients == CROWD


SAMPLING = "8 * step / mu * G**2 / S"
NOISE = "24 * step * sigma**2 / (mu * {} * {}) * (1 + S / g**2)"


def _sampled(folder: Path, **parts: str) -> Paper:
    text = {"algorithm": "fedavg", "sampling": SAMPLING, "noise": NOISE.format("K", "S"), "drift": DRIFT, "cap": "16"}
    (folder / "sampled.py").write_text(SAMPLED.format(**text | parts))
    return load(folder / "sampled.py")


@pytest.mark.parametrize(
    ("steps", "cohort", "clients"),
    [("K**2", "S", 1), ("K", "S**2", MOST_COPIES), ("K", "S", 1)],
)
def test_loose_constants_do_not_hide_a_square(steps: str, cohort: str, clients: int, tmp_path: Path) -> None:
    """24 is 48 times what noise costs, so that it takes as many local steps, or participants, to see a square."""
    paper = _sampled(tmp_path, noise=NOISE.format(steps, cohort))
    with added(paper):
        (claim,) = paper.claims
        space = subject_of(claim).space(claim)
        noisy = (c for c in space.structured() if c.noise and c.spread and c.clients == clients)
        assessed = (space.assess(candidate) for candidate in noisy)
        found = next((both[0] for both in assessed if both and both[0].ratio > 1.01), None)
        assert (found is not None) == ("**" in steps + cohort)
        if found is not None:
            judgement, why = confirmed(claim, found, space)
            assert judgement is not None and judgement.refutes, why


@pytest.mark.parametrize("process", [
    Uniform(MOST_COPIES), Fixed(range(MOST_COPIES)),
    Phases([range(MOST_COPIES // 2), range(MOST_COPIES // 2, MOST_COPIES)], [1, 1]),
])  # fmt: skip
def test_participants_of_the_largest_crowd_are_read_as_they_are_written(process: Participation) -> None:
    """Else the instance of a claim that falls on a crowd alone could not be replayed."""
    text = json.dumps(_written(process))
    assert _written(_read(json.loads(text))) == _written(process)
    with pytest.raises(ValueError, match=f"cohort = {MOST_COPIES + 1}: allowed is an integer from 1 to {MOST_COPIES}"):
        _read({"kind": "uniform", "cohort": MOST_COPIES + 1})


def test_common_noise_shows_where_many_take_part(tmp_path: Path) -> None:
    """It is not averaged; the bound says so of more than 48 participants alone."""
    paper = _sampled(tmp_path)
    with added(paper):
        claim = replace(paper.claims[0], assumptions=tuple(a for a in paper.claims[0].assumptions if a.name != "free"))
        point = next(subject_of(claim).space(claim).violating("uncorrelated_noise"))
        assert point.setting.federation.clients > 48
        judged = judge(Instance(claim.ref, point), statement=claim)
        assert judged.refutes and "uncorrelated_noise" in judged.instance.point.violated


OF_ALL = """
from sympy import Le
from fedtheory.claims.statement import Ambiguity, Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import AVERAGE_GAP
from fedtheory.quantities import symbols

L, sigma, G, B = symbols("smoothness", "gradient_noise", "dissimilarity_offset", "dissimilarity_factor")
N, S, K, T, eta, D = symbols("clients", "arbitrary_cohort", "local_steps", "rounds", "local_lr", "initial_distance")
g, = symbols("global_lr")
way = K * eta * g
CLAIM = Claim(
    id="of_all.thm1", title="convex", source="here", functional=AVERAGE_GAP,
    terms=(Term("start", 3 * D**2 / (way * T)), Term("sampling", {sampling}), Term("drift", {drift})),
    ambiguities=(Ambiguity("average", ("r = 0..R-1",), "here"),),
    hypotheses=(Hypothesis("cap", Le(eta, 1 / (8 * L * K * g * (1 + B**2))), "here"),
                Hypothesis("global", Le(1, g), "here"), Hypothesis("exact", Le(sigma, 0), "here")),
    assumptions=(Assumption("smooth", "smoothness", "A"),
                 Assumption("convex", "strong_convexity", "A", from_below=True),
                 Assumption("noise", "gradient_noise", "A"), Assumption("near", "dissimilarity_offset", "A"),
                 Assumption("cohort", kind="uniform_cohorts", source="A")),
    algorithm="fedavg",
)
"""
PRINTED = {"sampling": "12 * way * G**2 / S * (1 - S / N)", "drift": "54 * L * way**2 * G**2"}
LOOSE = {
    "as printed": {},
    "squared share of who is absent": {"sampling": "12 * way * G**2 / S * (1 - S / N) ** 2"},
    "squared cohort": {"sampling": "12 * way * G**2 / S**2 * (1 - S / N)"},
    "dropped drift": {"drift": "0 * L * way**2 * G**2"},
    "drift that falls faster": {"drift": "54 * L**2 * way**3 * G**2"},
}


@pytest.mark.parametrize("slip", LOOSE)
def test_constants_of_some_tens_do_not_hide_what_is_wrong(slip: str, tmp_path: Path) -> None:
    """Karimireddy et al. 2020, Lemmas 7 and 8, summed over the rounds of a convex F: ``way / 3`` times the gap is at
    most the fall of |x - x*|^2 and 4 way^2 G^2 (1 - S/N)/S + 18 L way^3 G^2. From x* cohorts cost a 48th of what the
    bound has for them, N/(N - 1) times, so that N or S have to be larger than 48; drift shows where all take part,
    a wrong power of it with small steps."""
    (tmp_path / "of_all.py").write_text(OF_ALL.format(**PRINTED | LOOSE[slip]))
    paper = load(tmp_path / "of_all.py")
    with added(paper):
        (claim,) = paper.claims
        space = subject_of(claim).space(claim)
        from_optimum = (c for c in space.structured() if c.start == 0 and not c.kink and c.clients <= 1000)
        finds = [both[0] for both in map(space.assess, from_optimum) if both is not None]
        found = max(finds, key=lambda each: each.ratio)
        assert len(finds) >= 10 and (found.ratio > 1.01) == (slip != "as printed")
        if slip != "as printed":
            judgement, why = confirmed(claim, found, space)
            assert judgement is not None and judgement.refutes, why


DRAWN = """
from fedtheory.algorithms import own

def twice(x, memory, round, *, local_lr, local_steps, global_lr, cohort):
    some = round.cohort(cohort, replacement=True)
    return x + global_lr * (some.share * some.train(x, local_lr, local_steps)).sum(1), {{}}

ALGORITHM = own(twice, name="twice", local_lr="1/100", local_steps=2, global_lr=1, cohort=2)
"""


@pytest.mark.parametrize("power", [1, 2])
def test_a_squared_cohort_shows_where_a_step_draws_it_with_replacement(power: int, tmp_path: Path) -> None:
    """By hand as above, a mean of S draws varying by G^2/S whatever N is; the bound has 12 way G^2/S^power. From x*
    with common curvature the gap is way G^2/(4 S), a 48th of that, so that constants are an eighth as large here."""
    text = OF_ALL.replace("S, K", "K").replace('"arbitrary_cohort", ', "") + DRAWN
    sampling = {"sampling": f"Rational(3, 2) * way * G**2 / S**{power}", "drift": PRINTED["drift"]}
    text = text.replace('g, = symbols("global_lr")', 'g, S = symbols("global_lr", "cohort")')
    text = text.replace("import Le", "import Le, Rational").replace('algorithm="fedavg"', 'algorithm="twice"')
    text = text.replace('Assumption("cohort", kind="uniform_cohorts", source="A")', "")
    text = text.replace('algorithm="twice",', 'algorithm="twice", bound={{"arbitrary_cohort": N}},')
    (tmp_path / "drawn.py").write_text(text.format(**sampling))
    paper = load(tmp_path / "drawn.py")
    with added(paper):
        (claim,) = paper.claims
        space = subject_of(claim).space(claim)
        of_ten = (c for c in space.structured() if c.start == 0 and not c.kink and c.clients == 10)
        found = max((both[0] for both in map(space.assess, of_ten) if both), key=lambda each: each.ratio)
        assert (found.ratio > 1.01) == (power == 2) and dict(found.candidate.numbers)["cohort"] == 10
        if power == 2:
            judgement, why = confirmed(claim, found, space)
            assert judgement is not None and judgement.refutes, why


@pytest.mark.parametrize(("power", "falls"), [(1, False), (2, True)])
def test_the_way_to_the_optimum_does_not_hide_noise(power: int, falls: bool, tmp_path: Path) -> None:
    """The start's share of an average fades as 1/T alone. Noise costs way sigma^2 / (4 K S), of which the bound has 48
    times as much, S times less with a square; where 1 + S/g^2 is small, since global steps are large."""
    (tmp_path / "of_all.py").write_text(OF_ALL.format(**PRINTED))
    paper = load(tmp_path / "of_all.py")
    steps, cohort, rate, noise = (symbol(n) for n in ("local_steps", "arbitrary_cohort", "global_lr", "gradient_noise"))
    way = steps * symbol("local_lr") * rate
    bound = Term("noise", 12 * way * noise**2 / (steps * cohort**power) * (1 + cohort / rate**2))
    with added(paper):
        claim = replace(
            paper.claims[0], terms=(*paper.claims[0].terms, bound), hypotheses=paper.claims[0].hypotheses[:2]
        )
        space = subject_of(claim).space(claim)
        all_of = (c for c in space.structured() if c.noise and c.clients == MOST_COPIES)
        (large,) = (c for c in all_of if dict(c.numbers)["global_lr"] > 1)
        found, _ = space.assess(large)
        assert (found.ratio > 1.01) == falls
        if falls:
            judgement, why = confirmed(claim, found, space)
            assert judgement is not None and judgement.refutes, why


SHORT_STEPS = """
from sympy import Ge, Le
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import FINAL_GAP
from fedtheory.quantities import symbols

L, mu, sigma = symbols("smoothness", "strong_convexity", "gradient_noise")
K, R, eta, gap, M = symbols("local_steps", "rounds", "local_lr", "initial_gap", "clients")
CLAIM = Claim(
    id="short.thm1", title="corrected steps", source="here", functional=FINAL_GAP,
    terms=(Term("gap", (1 - mu / (6 * L)) ** R * gap),),
    hypotheses=(Hypothesis("most", Le(eta, 1 / {step}), "here"), Hypothesis("least", Ge(eta, 1 / {step}), "here"),
                Hypothesis("exact", Le(sigma, 0), "here")),
    assumptions=(Assumption("smooth", "smoothness", "A"),
                 Assumption("convex", "strong_convexity", "A", from_below=True),
                 Assumption("noise", "gradient_noise", "A")),
    algorithm="fedlin", bound={{"arbitrary_cohort": M}},
)
"""


@pytest.mark.parametrize(("step", "falls"), [("(6 * L * K)", False), ("(2 * L)", True), ("(4 * L)", True)])
def test_a_step_that_forgets_how_many_there_are_falls_with_many(
    step: str, falls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is FedLin's Theorem 1. With the second, a round multiplies the error by 1 - (1 + K/2)/4 where half of
    the clients have the Hessian L, the others nearly 0, and K is large. With the third, three of five have L: K = 30
    multiplies it by 3/5 * 2/5 + 2/5 * (1 - 30/4 * 3/5) = -29/25."""
    monkeypatch.setattr("fedtheory.subjects.custom_search.FAR_LOCAL_STEPS", 30)
    (tmp_path / "short.py").write_text(SHORT_STEPS.format(step=step))
    paper = load(tmp_path / "short.py")
    with added(paper):
        (claim,) = paper.claims
        space = subject_of(claim).space(claim)
        (many,) = (c for c in space.structured() if dict(c.numbers)["local_steps"] == 30)
        found, _ = space.assess(many)
        assert (found.ratio > 1) == falls
        few = space.perturb(many, random(0), 0.1)
        assert dict(few.numbers)["local_steps"] <= MOST_LOCAL_STEPS


UNLIKE_STEPS = """
def step(x, memory, round, *, local_lr):
    own, there = {own}, round.gradient(x)
    y = x[:, None] + 0 * there
    for k in range(max(own)):
        here = round.each([int(k < each) for each in own])
        y = y - local_lr * {over} * here * (round.gradient(y) - there + (round.share * there).sum(1)[:, None])
    return (round.share * y).sum(1), {{}}

mine = own(step, name="unlike", local_lr="1/10")
"""


@pytest.mark.parametrize(
    ("steps", "over", "falls"),
    [
        ("(1, 2, 60)", "(1 / round.each(own))", False),
        ("(1, 2, 60)", "1", True),
        ("(60, 2, 1)", "1", True),
    ],
)
def test_whoever_takes_many_steps_is_looked_at_with_a_nearly_flat_loss(
    steps: str, over: str, falls: bool, tmp_path: Path
) -> None:
    """FedLin's Theorem 1 has steps of 1/(6 L tau_i). Without tau_i, where two clients of three have the Hessian L and
    the one with 60 steps nearly 0, it goes 60/6 * 2/3 times its way to x*, and their mean more than twice its own."""
    text = SHORT_STEPS.format(step="(6 * L)").replace('"fedlin", bound={', '"unlike", bound={"clients": 3, ')
    text = text.replace("symbols\n", "symbols\nfrom fedtheory.algorithms import own\n", 1)
    (tmp_path / "unlike.py").write_text(text + UNLIKE_STEPS.format(own=steps, over=over))
    paper = load(tmp_path / "unlike.py")
    with added(paper):
        (claim,) = paper.claims
        space = subject_of(claim).space(claim)
        flat = [c for c in space.structured() if c.mixed and c.seed in (HALVES, SWAPPED)]
        found = max((space.assess(c)[0] for c in flat), key=lambda each: each.ratio)
        assert len(flat) == 2 and (found.ratio > 1.01) == falls
        if falls:
            judgement, why = confirmed(claim, found, space)
            assert judgement is not None and judgement.refutes, why


def asking(x, memory, round, *, local_lr, cohort):
    asked = round.cohort(cohort, replacement=True)
    return x + (asked.share * asked.train(x, local_lr)).sum(1), {}


def test_a_step_asks_no_more_than_all_clients(tmp_path: Path) -> None:
    paper = load(written(tmp_path / "own.py", "return x - local_lr * way, {}"))
    with added(paper):
        (claim,) = paper.claims
        claim = replace(claim, terms=(*claim.terms, Term("asked", 1 / symbol("cohort"))))
        algorithm = own(asking, local_lr="1/10", cohort=2)
        space = OwnRuns(claim, algorithm)
        alone = replace(next(space.structured()), clients=1, kinds=0)
        assert space.setting(alone).algorithm.numbers["cohort"] == 1 and space.assess(alone) is not None
        kinked = (c for c in space.structured() if c.kink is not None)
        rounds = {both[0].rounds for both in map(space.assess, islice(kinked, 3)) if both}
        assert rounds and rounds <= {1, 2}  # its draws branch, as cohorts of the process do
        bound = OwnRuns(replace(claim, bound={"cohort": Integer(4)}), algorithm)
        assert min(c.clients for c in bound.structured()) == 4 and not bound.why_simulated


def test_clients_whose_hessians_differ_are_looked_at_from_the_optimum(tmp_path: Path) -> None:
    """Two local steps leave it there, although the clients' mean stays with one Hessian."""
    two = "y = x[:, None] - local_lr * round.gradient(x)\n    return (y - local_lr * round.gradient(y)).mean(1), {}"
    paper = load(written(tmp_path / "two.py", two))
    with added(paper):
        space = subject_of(paper.claims[0]).space(paper.claims[0])
        moved = {c.mixed for c in space.structured() if c.start == 0 and not c.noise and space.assess(c)[0].ratio > 1}
    assert moved == {True}


@pytest.mark.parametrize("dimension, curvatures", [(1, [3.0]), (2, [3.0, 0.75]), (3, [3.0, 1.5, 0.75])])
def test_curvatures_of_candidates_go_from_the_largest_to_the_smallest(dimension: int, curvatures: list[float]) -> None:
    drawn = Candidate(clients=2, dimension=dimension, seed=5, spread=1.0, conditioning=0.25, smoothness=3.0, noise=0.0,
                      start=1.0, who=EVERYONE, cohort=0, share=1.0, numbers=())  # fmt: skip
    hessians = cast(Quadratic, drawn.federation()).exact_hessians
    assert [own.diagonal().tolist() for own in hessians] == [curvatures] * 2


@pytest.mark.parametrize("functional", [FINAL_GAP, BEST_GAP, GAP_OF_AVERAGE, GAP_OF_WEIGHTED_AVERAGE])
def test_what_floats_round_is_no_lead(functional: Functional) -> None:
    """From x* with exact gradients everything stays 0, as does the right side, but for rounding."""
    fed, rounds = Quadratic([[1], [1]], [[1], [-1]]), np.array([1, 10, 100])
    setting = Setting(fed, fedavg(local_lr="1/10"), Fixed([0, 1]), start=0)
    seen, right = np.array([1e-20, 1e-17, 0.1]), np.array([0.0, 1e-18, 0.0])
    assert surely(setting, rounds, functional, "r = 0..R-1", seen, right).tolist() == [0.0, 0.0, 0.1]
