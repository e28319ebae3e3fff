"""What an example does not check is not met: over all claims, and by old lines put back."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory.algorithms import own
from fedtheory.assumptions import (
    ASSUMPTIONS,
    INDEPENDENT_DRAWS,
    INDEPENDENT_NOISE,
    INDEPENDENT_PARTICIPATION,
    STATIONARY_AVAILABILITY,
    UNBIASED_NOISE,
    UNCORRELATED_NOISE,
    UNIFORM_COHORTS,
)
from fedtheory.evidence import judge as judging
from fedtheory.evidence.judge import Judgement, judge
from fedtheory.evidence.replay import ReplayError, replay
from fedtheory.federations import Quadratic
from fedtheory.files import read_json
from fedtheory.papers import all_claims, claim, instance_path
from fedtheory.papers.flics.examples.selection_points import SelectionPoint
from fedtheory.papers.flics.examples.selection_settings import PolicyTrace, Process, SelectionRun, Trace
from fedtheory.papers.registry import contradiction, subject_of
from fedtheory.participation import Bernoulli, Fixed, GroupChain, Participation, Uniform
from fedtheory.setting import Setting
from fedtheory.subjects.custom_points import OwnPoint
from fedtheory.subjects.protocol import NOT_CHECKED, VIOLATED, Checked, Examined, Instance, Point
from tests.loops import looped

ONE, HALF, NONE = F(1), F(1, 2), F(0)
ASSUMING = {c.ref: c for c in all_claims() if c.assumptions}
VACUOUS = [ref for ref, c in ASSUMING.items() if contradiction(c)]
DRAWS = 400


def examples(ref: str) -> Iterator[tuple[Point, Examined]]:
    """Points of the claim's own space, as they would be written to a file."""
    statement, rng = ASSUMING[ref], np.random.default_rng(0)
    space = subject_of(statement).space(statement)
    for candidate in filter(None, (space.draw(rng) for _ in range(DRAWS))):
        found = space.assess(candidate)
        point = None if found is None else next(space.rounded(found[0], 3), None)
        if point is not None:
            try:
                yield point, point.examined(statement, follow=False)
            except ValueError:  # too large for exact arithmetic
                continue


def test_a_claim_of_which_nothing_is_drawn_is_about_no_run() -> None:
    """No find of a search meets hypotheses that contradict each other, which is proved of these claims."""
    assert [*VACUOUS] == ["fedau.cor4.nearly_optimal@long_runs"]
    for ref in VACUOUS:
        assert next(examples(ref), None) is None


@looped("ref", [ref for ref in ASSUMING if ref not in VACUOUS])
def test_every_assumption_of_every_claim_is_checked(ref: str) -> None:
    """A search draws nothing that leaves one of the claim's assumptions open: its finds would refute nothing."""
    point, examined = next(examples(ref))
    checks = judging._assumed(ASSUMING[ref], Instance(ref, point), examined)
    assert list(checks) == [a.name for a in ASSUMING[ref].assumptions]
    for name, check in checks.items():
        assert check.slack is not None and check.how not in (NOT_CHECKED, VIOLATED), name
        assert check.how.startswith(
            ("by construction: ", "by the law of the process: ", "by the process: ", "computed")
        )


@pytest.mark.parametrize("ref", ["fast.thm1@main", "safari.thm2@main", "fedau.thm1@main", "flics.lemma6@main"])
def test_a_kind_of_which_an_example_knows_nothing_is_not_met(ref: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = "tomorrow_is_like_today"
    monkeypatch.setitem(ASSUMPTIONS, kind, ASSUMPTIONS[UNIFORM_COHORTS])
    statement = ASSUMING[ref].assuming(kind)
    point, examined = next(examples(ref))
    (name,) = {a.name for a in statement.assumptions} - {a.name for a in ASSUMING[ref].assumptions}
    assert judging._assumed(statement, Instance(ref, point), examined)[name] == Checked(None, NOT_CHECKED)


# A process that is not stationary and ergodic ------------------------------------------------------------------------


def rarely_asked(**changes: object) -> SelectionRun:
    """A client that is asked in the first round and then with probability 1/100: nothing of it comes back."""
    trace = Trace((ONE,), ((1,), (1,)), (ONE, F(1, 100)))
    parts = {
        "availability": trace, "initial_estimate": F(1, 10), "curvature": ONE, "centres": (NONE,), "start": ONE,
        "gradient_noise": NONE, "local_steps": 10**4, "rounds": 20, "local_lr": F(1, 10**6), "global_lr": F(20),
    }  # fmt: skip
    return SelectionRun(**(parts | changes))


def judged(run: SelectionRun) -> Judgement:
    constants = {"estimate_error": ONE, "least_participation": F(9, 1000), "descent_constant": F(49, 100)}
    statement = claim("flics.thm1@main")
    return judge(Instance(statement.ref, SelectionPoint(run, constants)), statement=statement)


def leak() -> bool:
    """Whether theorem 1 falls by a trace that is no stationary process, though both sides say so."""
    judgement = judged(rarely_asked())
    assert all(r.left > r.right for r in judgement.readings)
    return judgement.refutes


def test_a_trace_whose_first_state_never_comes_back_refutes_nothing() -> None:
    judgement = judged(rarely_asked())
    assert not leak() and all(r.failing == ["assumption_1"] for r in judgement.readings)
    assert judgement.readings[0].checks["assumption_1"] == Checked(None, NOT_CHECKED)
    with pytest.raises(ReplayError, match=r"the hypothesis assumption_1 does not hold \(not checked\)"):
        replay(json.loads(json.dumps(judgement.to_json())))


def test_slack_0_by_definition_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = judging._assumed

    def by_definition(*arguments: object) -> dict[str, Checked]:
        return {name: check if check.slack is not None else Checked(NONE, check.how)
                for name, check in real(*arguments).items()}  # fmt: skip

    monkeypatch.setattr(judging, "_assumed", by_definition)
    assert leak()


def test_a_declared_stationarity_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trace, "stationary", "declared")
    assert leak()


COIN, STAY = ((HALF, HALF), (HALF, HALF)), ((ONE, NONE), (NONE, ONE))
TURNS, SLOW = ((NONE, ONE), (ONE, NONE)), ((F(1, 4), F(3, 4)), (HALF, HALF))


@pytest.mark.parametrize(("initial", "rows", "how"), [
    ((HALF, HALF), None, "every round's state is drawn anew"),
    ((F(1, 10), F(9, 10)), None, "every round's state is drawn anew"),
    ((HALF, HALF), COIN, "every round's state is drawn anew"),
    ((HALF, HALF), TURNS, "irreducible chain"),
    ((F(2, 5), F(3, 5)), SLOW, "irreducible chain"),
    ((ONE, NONE), TURNS, ""),  # it begins in a state that is known
    ((HALF, HALF), SLOW, ""),  # its stationary law is (2/5, 3/5)
    ((HALF, HALF), STAY, ""),  # stationary, and it never leaves the first state
    ((ONE, NONE), STAY, ""),
    ((HALF, HALF), ((ONE, NONE), (HALF, HALF)), ""),  # the second state does not come back
    ((NONE, ONE), ((HALF, HALF), (NONE, ONE)), ""),  # nor does the first; that it never comes is not looked at
])  # fmt: skip
def test_stationarity_is_computed(initial: tuple, rows: tuple | None, how: str) -> None:
    process = Process((HALF, HALF), ((1, 3), (3, 1)), initial, rows, (F(4),))
    assert (how in process.stationary) if how else process.stationary == ""
    met = SelectionPoint(rarely_asked(availability=process, centres=(ONE, -ONE)), {}).met
    assert (STATIONARY_AVAILABILITY in met) is bool(how)


@pytest.mark.parametrize("old", ["is_stationary", "is_irreducible"])
def test_a_chain_that_is_not_looked_at_would_be_seen(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With either check left out, one of the chains above passes for stationary and ergodic."""
    monkeypatch.setattr(GroupChain, old, True)
    passing = [Process((HALF, HALF), ((1, 3), (3, 1)), *parts, (F(4),)).stationary != ""
               for parts in (((HALF, HALF), SLOW), ((HALF, HALF), STAY))]  # fmt: skip
    assert passing == [old == "is_stationary", old == "is_irreducible"]


def test_a_budget_that_does_not_allow_everybody_is_refused() -> None:
    with pytest.raises(ValueError, match="budget: allowed is one number >= 4"):
        Process((HALF, HALF), ((1, 3), (3, 1)), (HALF, HALF), None, (F(3),))


def test_a_policy_s_trace_that_changes_is_no_realization_of_a_stationary_process() -> None:
    for rows, met in ((((1, 1),), True), (((2, 1), (1, 1)), False)):
        point = SelectionPoint(PolicyTrace(Trace((HALF, HALF), rows, (ONE,) * len(rows)), 3), {})
        assert (STATIONARY_AVAILABILITY in point.met) is met


def step(x, memory, round, *, local_lr):
    return x + (round.share * round.train(x, local_lr, 1)).sum(1), {}


@pytest.mark.parametrize(("process", "met"), [
    (Fixed([0]), {INDEPENDENT_PARTICIPATION, INDEPENDENT_DRAWS}), (Uniform(1), {UNIFORM_COHORTS, INDEPENDENT_DRAWS}),
    (Bernoulli([HALF, HALF]), {INDEPENDENT_PARTICIPATION, INDEPENDENT_DRAWS}),
])  # fmt: skip
def test_participants_of_an_algorithm_of_one_s_own_meet_what_their_process_gives(
    process: Participation, met: set[str]
) -> None:
    """A fixed set is no uniform cohort, and a uniform cohort's clients are not independent."""
    setting = Setting(Quadratic.common_hessian([1, -1]), own(step, local_lr=HALF), process)
    asked = {UNIFORM_COHORTS, INDEPENDENT_PARTICIPATION, INDEPENDENT_DRAWS}
    assert asked & set(OwnPoint(setting, 1, {}).met) == met


def test_noise_of_a_law_that_nobody_told_meets_nothing() -> None:
    setting = Setting(Quadratic.common_hessian([1, -1], noise="gaussian"), own(step, local_lr=HALF), Fixed([0]))
    assert not {UNBIASED_NOISE, UNCORRELATED_NOISE, INDEPENDENT_NOISE} & set(OwnPoint(setting, 1, {}).met)


# Files --------------------------------------------------------------------------------------------------------------


def recorded(ref: str) -> dict:
    return read_json(instance_path(ref))


def test_a_file_says_how_each_row_was_checked_and_replay_compares_it() -> None:
    data = recorded("flics.lemma6@main")
    assert data["schema"] == 2 and all(row["checked"] for row in data["hypotheses"])
    assert replay(data)
    changed = copy.deepcopy(data)
    changed["hypotheses"][0]["checked"] = "computed exactly"
    with pytest.raises(ReplayError, match="the file says hypotheses"):
        replay(changed)
    del changed["hypotheses"][0]["checked"]
    with pytest.raises(ReplayError, match="the file says hypotheses"):
        replay(changed)


def test_a_file_of_schema_1_says_nothing_of_it_and_replays() -> None:
    data = recorded("flics.lemma6@main") | {"schema": 1}
    with pytest.raises(ReplayError, match="the file says hypotheses"):
        replay(data)
    for row in data["hypotheses"]:
        del row["checked"]
    assert replay(data)
    with pytest.raises(ValueError, match="schema = 3: allowed is 1 or 2"):
        replay(data | {"schema": 3})
