"""Replaying files: what a file says is what its numbers say, for instances of every kind."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fedtheory import __version__
from fedtheory.claims.balls import ball, working_precision
from fedtheory.claims.statement import Claim
from fedtheory.evidence import replay as replaying
from fedtheory.evidence.constructions import construct, constructions
from fedtheory.evidence.judge import ENCLOSED, EXACTLY, Judgement, parse
from fedtheory.evidence.replay import ReplayError, replay
from fedtheory.files import read_json
from fedtheory.moments.function_points import Points
from fedtheory.papers import claim, instance_path, papers
from fedtheory.subjects.functions import FunctionPoint
from fedtheory.subjects.protocol import COMPUTED, Instance
from tests.loops import looped
from tests.work import counted

from .numbers import Numbers, as_printed, biased_quartet, judge

ALL = constructions()
FAST = [ref for ref in ALL if ref.startswith("fast.")]
QUARTET = biased_quartet("fast.thm1@main", rounds=10**5, cohort=4, local_lr=Fraction(1, 200))


@pytest.fixture(scope="module")
def quartet() -> Judgement:
    return judge(QUARTET)


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    """A file of about as few rounds as its claim falls with, so that replaying it often is quick."""
    judgement = judge(replace(QUARTET, rounds=30_000))
    assert judgement.refutes
    return json.loads(json.dumps(judgement.to_json()))


def test_replay_of_its_own_file(quartet):
    data = json.loads(json.dumps(quartet.to_json()))
    again = replay(data)
    assert again.refutes and again.instance.to_json() == QUARTET.to_json() and again.to_json() == data
    assert replay(data | {"fedtheory": "99.0"}).refutes  # the version that wrote the file is for people
    assert Numbers.of(parse(data)) == QUARTET


def leaves(data: Any, path: tuple = ()) -> Iterator[tuple]:
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*path, key))
    else:
        yield path


def value_at(data: Any, path: tuple) -> Any:
    for key in path:
        data = data[key]
    return data


def with_value(data: dict, path: tuple, value: Any) -> dict:
    changed = copy.deepcopy(data)
    value_at(changed, path[:-1])[path[-1]] = value
    return changed


def other_values(value: Any) -> list[Any]:
    """Values near a leaf, of its kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    try:
        number = Fraction(value)
    except ValueError:
        return [value + "x", ""]
    if "." in value:  # a recorded decimal: its last digit
        return [value[:-1] + str((int(value[-1]) + 1) % 10), "0"]
    return [str(number + Fraction(1, 1000)), str(-number) if number else "1", str(2 * number) if number else "-1"]


INPUTS = (
    "claim", "federation", "algorithm", "participation", "start", "rounds", "constants", "function", "points", "values",
)  # fmt: skip


def test_every_recorded_leaf_counts(small, monkeypatch):
    """What the file says about the outcome: no leaf can be changed unnoticed. (The instance stays the same, so it is
    judged once.)"""
    judgement = judge(parse(small))
    monkeypatch.setattr(replaying, "judge", lambda instance, statement: judgement)
    replay(small)
    places = [path for path in leaves(small) if path[0] not in (*INPUTS, "fedtheory")]
    assert len(places) > 400
    for path in places:
        for value in other_values(value_at(small, path))[:1]:
            with pytest.raises(ValueError):
                replay(with_value(small, path, value))


@pytest.mark.slow
def test_every_input_leaf_counts(small):
    """What the file says about the instance."""
    for path in leaves(small):
        for value in other_values(value_at(small, path)) if path[0] in INPUTS else ():
            with pytest.raises(ValueError):
                replay(with_value(small, path, value))


@pytest.mark.parametrize(
    ("name", "value"), [("strong_convexity", "1/2"), ("strong_convexity", "7"), ("dissimilarity", "-1")]
)
def test_constants_that_no_hypothesis_speaks_of_are_refused(small, name, value):
    with pytest.raises(ValueError):
        replay(with_value(small, ("constants", name), value))


@pytest.mark.parametrize(
    ("path", "value", "hypothesis"),
    [
        (("start", 0), "1/10", "q_condition"),
        (("start", 0), "0", "q_condition"),
        (("algorithm", "local_lr"), "1/2", "step_cap"),
        (("algorithm", "local_lr"), "126/1000", "step_cap"),
        (("algorithm", "local_steps"), 26, "step_cap"),
        (("constants", "dissimilarity"), "1/2", "assumption_3"),
        (("constants", "dissimilarity"), "999/1000", "assumption_3"),
        (("constants", "smoothness"), "1/2", "assumption_1"),
        (("constants", "smoothness"), "26", "step_cap"),
        (("federation", "centres", 2, 0), "11/10", "assumption_3"),
    ],
)
def test_failing_hypotheses_are_named(small, path, value, hypothesis):
    with pytest.raises(ReplayError) as error:
        replay(with_value(small, path, value))
    how = {"q_condition": ENCLOSED, "step_cap": EXACTLY}.get(hypothesis, COMPUTED)
    assert str(error.value) == f"fast.thm1@main: the hypothesis {hypothesis} does not hold ({how})"


def test_replay_errors_say_what_differs(small, monkeypatch):
    with pytest.raises(ReplayError, match=r"the bound is not exceeded: left 3\.57399025"):
        replay(with_value(small, ("rounds",), 1))
    with pytest.raises(ValueError, match="schema = 3: allowed is 1 or 2"):
        replay(small | {"schema": 3})
    judgement = judge(parse(small))
    monkeypatch.setattr(replaying, "judge", lambda instance, statement: judgement)  # the instance stays the same
    for key, value in (("left", "0.05"), ("refutes", False), ("functional", "E|x|")):
        with pytest.raises(ReplayError, match=f"the file says {key} = "):
            replay(with_value(small, (key,), value))
    for key in small:
        if key != "fedtheory":
            with pytest.raises(ValueError):
                replay({k: v for k, v in small.items() if k != key})


@pytest.mark.parametrize(("key", "value"), [("schema", True), ("schema", 1.0), ("refutes", 1)])
def test_kinds_of_leaves_count(small, key, value):
    with pytest.raises(ValueError):
        replay(small | {key: value})


def test_smoothness_zero_is_an_error_of_the_file(small):
    with pytest.raises(ValueError):
        replay(with_value(small, ("constants", "smoothness"), "0"))


def test_hessians_that_differ_are_refused(small):
    with pytest.raises(ValueError, match="hessians differ"):
        replay(with_value(small, ("federation", "hessians", 0, 0), "1/2"))


def test_statement_in_the_file_is_the_claims(small):
    """Each printed hypothesis with its relation; a reader needs nothing else."""
    by_name = {h["name"]: h for h in small["hypotheses"]}
    for hypothesis in claim("fast.thm1").hypotheses:
        assert by_name[hypothesis.name]["statement"] == str(hypothesis.relation)
    assert [h["slack"] for h in small["hypotheses"]] == list(small["readings"][0]["slack"].values())


def test_ratio_and_sides_are_the_enclosures(quartet):
    data = quartet.to_json()
    assert data["right"] == "0.0166900000000"
    assert float(data["ratio"]) == pytest.approx(float(data["left"]) / float(data["right"]), rel=1e-11)
    with working_precision():
        left = quartet.readings[0].left
        assert abs(float(left - ball(Fraction(data["left"])))) < 1e-12 * float(left)


# Files of every kind.


def changed_claim(ref: str, **factors: Fraction) -> Claim:
    """The claim with some terms multiplied, which makes it false."""
    statement = claim(ref)
    return statement.edited("changed", "", terms={n: f * statement.term(n).expression for n, f in factors.items()})


def one_round_instance() -> Numbers:
    """A mixture of both kinds of round, with noise and with the bias of client 0."""
    constants = {"smoothness": 1, "strong_convexity": 1, "gradient_noise": Fraction(1, 3), "dissimilarity": 1}
    return Numbers(
        "fast.eq39@changed", ((Fraction(1),),) * 2, ((Fraction(1),), (Fraction(-1),)), (Fraction(100),), 1, 2,
        Fraction(1, 1000), None, (0,), 1, {n: Fraction(v) for n, v in constants.items()}, Fraction(9999, 10000),
    )  # fmt: skip


def random_run() -> Numbers:
    """Random snapshots, with noise and with the bias of client 0."""
    constants = {"smoothness": 1, "strong_convexity": 1, "gradient_noise": Fraction(1, 10), "dissimilarity": 1}
    return Numbers(
        "fast.thm2@changed", ((Fraction(1),),) * 2, ((Fraction(1),), (Fraction(-1),)), (Fraction(3),), 1, 1,
        Fraction(1, 1000), None, (0,), 1000, {n: Fraction(v) for n, v in constants.items()}, Fraction(1, 5),
    )  # fmt: skip


def points_instance() -> Instance:
    vectors = ((Fraction(1),), (Fraction(5),), (Fraction(1),), (Fraction(0),), (Fraction(2),))
    constants = dict.fromkeys(("smoothness", "strong_convexity"), Fraction(1))
    return Instance("fast.lemma2@changed", FunctionPoint(Points(*vectors), constants))


KINDS = {
    "chosen step, rational": (lambda: construct("fast.cor2@main"), None, ()),
    # One client at 0: the sign of the start is free.
    "chosen step, irrational": (lambda: construct("fast.cor3@main"), None, ("-1000000",)),
    # Neither side depends on them, and the cap on the step size is 1 / (8 L K) on both sides of these changes.
    "values": (lambda: construct("fast.rem2.a@main").instance, as_printed(claim("fast.rem2.a@main")),
               ("cohort", "arbitrary_cohort", "snapshot_probability")),
    "one round": (one_round_instance, changed_claim("fast.eq39", distance=Fraction(99, 100)), ()),
    "random snapshots": (random_run, changed_claim("fast.thm2@sharp", initial=Fraction(1, 10)), ()),
    # The left side of the lemma cancels the slope.
    "points": (points_instance, changed_claim("fast.lemma2", strong_convexity=Fraction(101, 100)), ("slope",)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_leaf_of_every_kind_counts(kind, monkeypatch):
    """A changed leaf is an error, or (those named above) changes nothing that the claim speaks of."""
    build, statement, irrelevant = KINDS[kind]
    found = build()
    judgement = found if isinstance(found, Judgement) else judge(found, statement=statement)
    assert judgement.refutes
    data = json.loads(json.dumps(judgement.to_json()))
    assert replay(data, statement).to_json() == data
    places = [path for path in leaves(data) if path[0] != "fedtheory" and not set(path) & set(irrelevant)]
    places = [path for path in places if path[0] != "readings" or path[1] == 0]  # one stands for all
    places.sort(key=lambda path: path[0] not in INPUTS)
    for path in places:
        if path[0] not in INPUTS:  # the instance stays the same, so that it need not be judged again
            monkeypatch.setattr(replaying, "judge", lambda instance, statement: judgement)
        for value in other_values(value_at(data, path))[:2]:
            if value not in irrelevant:
                with pytest.raises(ValueError):
                    replay(with_value(data, path, value), statement)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_entries_of_every_kind(kind):
    build, statement, _ = KINDS[kind]
    found = build()
    data = (found if isinstance(found, Judgement) else judge(found, statement=statement)).to_json()
    for key in data:
        if key != "fedtheory":
            with pytest.raises(ValueError):
                replay({k: v for k, v in data.items() if k != key}, statement)
    for schema in (0, 3):
        with pytest.raises(ValueError, match=f"schema = {schema}: allowed is 1 or 2"):
            replay(data | {"schema": schema}, statement)
    with pytest.raises(ReplayError, match="the file says hypotheses"):  # files of schema 1 say less
        replay(data | {"schema": 1}, statement)
    with pytest.raises(ValueError):
        replay(data | {"claim": "fast.thm1@main"}, statement)


def test_a_statement_of_another_name_is_refused():
    statement = KINDS["points"][1]
    data = judge(points_instance(), statement=statement).to_json()
    with pytest.raises(ValueError, match="unknown edition 'changed'"):
        replay(data)
    with pytest.raises(ValueError, match=r"claim = 'fast\.lemma2@changed': allowed is 'fast\.lemma2@main'"):
        replay(data, claim("fast.lemma2"))


def test_a_file_may_fall_under_some_readings_only():
    """It replays if it says so, and does not if it claims to fall under all."""
    judgement = judge(replace(QUARTET, start=(Fraction(3, 2),), rounds=20_000))
    fallen = [reading.refutes for reading in judgement.readings]
    assert any(fallen) and not all(fallen)
    data = json.loads(json.dumps(judgement.to_json()))
    assert replay(data).refutes is False
    with pytest.raises(ReplayError, match="the file says refutes = True"):
        replay(data | {"refutes": True})


# Hostile files: a named error, quickly, whatever is in them.


def deep(depth: int = 10**5) -> list:
    inner: list = []
    for _ in range(depth):
        inner = [inner]
    return inner


HOSTILE = {
    "deep": deep(), "long": "1" * 10**6, "huge": 10**5000, "nan": float("nan"), "infinity": float("inf"), "none": None,
    "true": True, "list of lists": [[["1"]]], "object": {"kind": {"kind": "quadratic"}}, "code": "__import__('os')",
    "zeros": "1/" + "0" * 10**6 + "1",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("kind", ["chosen step, irrational", "values", "points"])
def test_hostile_entries(kind, what, monkeypatch):
    build, statement, _ = KINDS[kind]
    found = build()
    judgement = found if isinstance(found, Judgement) else judge(found, statement=statement)
    data = judgement.to_json()
    monkeypatch.setattr(replaying, "judge", lambda instance, statement: judgement)
    places = [(key,) for key in data if key != "fedtheory"]
    places += [path for path in leaves(data) if path[0] in INPUTS and len(path) > 1]
    for path in places:
        if what == "true" and path == ("refutes",):
            continue  # it is
        with pytest.raises(ValueError) as error, counted(10**7):
            replay(with_value(data, path, HOSTILE[what]), statement)
        named = str(error.value)
        assert len(named) < 500, (path, named)
        assert any(word in named for word in ("allowed is", "the file says", "unknown claim")), (path, named)


def test_entries_that_no_instance_has_are_refused(small, monkeypatch):
    """On top; inside the parts that are compared they always differ."""
    judgement = judge(parse(small))
    monkeypatch.setattr(replaying, "judge", lambda instance, statement: judgement)
    with pytest.raises(ReplayError, match="the file says 'verdict', which no instance has"):
        replay(small | {"verdict": "holds"})
    with pytest.raises(ReplayError, match="the file says federation = "):
        replay(with_value(small, ("federation", "gradient_noise"), "1"))


def test_truncated_files(tmp_path, small):
    text = json.dumps(small)
    path = tmp_path / "cut.json"
    for end in (0, 1, 100, len(text) // 2, len(text) - 1):
        path.write_text(text[:end])
        with pytest.raises(ValueError, match="not a JSON file"):
            replay(read_json(path))


def test_rounds_that_would_take_too_long_are_refused_by_name():
    """Whole rounds are exact: numbers of sixty digits over many steps are not tried."""
    build, statement, _ = KINDS["one round"]
    data = judge(build(), statement=statement).to_json()
    data["algorithm"] |= {"local_lr": "1/" + "9" * 60, "local_steps": 100}
    data["federation"] |= {"hessians": [["1"]] * 50, "centres": [["1"]] * 49 + [["2"]]}
    with pytest.raises(
        ValueError, match=r"clients \* dimension \* local_steps \* bits = 1005000: allowed in one round"
    ):
        replay(data, statement)


# What is published.


@pytest.mark.parametrize("ref", FAST)
def test_published_instances(ref):
    """Each replays, falls under every reading, and is what its construction gives; short numbers throughout."""
    data = read_json(instance_path(ref))
    judgement = replay(data)
    assert any(reading.refutes for reading in judgement.readings) and data["claim"] == ref
    assert judgement.refutes is data["refutes"] is ("rem2" not in ref)
    assert json.loads(json.dumps(construct(ref).to_json())) == data | {"fedtheory": __version__}
    # Remark 1 b has K/(120 c) = 100/12 and would have more with more local steps than an instance may have
    least = {"fast.thm1@main": 3, "fast.thm1@appendix": 3, "fast.rem1.b@main": 8}.get(ref, 100)
    assert max(float(reading["ratio"]) for reading in data["readings"]) > least
    inputs = [value_at(data, path) for path in leaves(data) if path[0] in INPUTS]
    assert all(len(value) <= 7 for value in inputs if isinstance(value, str) and value not in (ref, "quadratic"))


def test_every_published_file_has_a_construction():
    assert {path.stem for paper in papers().values() for path in (paper.folder / "instances").glob("*")} == set(ALL)


@looped("ref", sorted(set(ALL) - set(FAST)), quick=10)
def test_every_other_published_file_replays_to_what_its_construction_gives(ref):
    data = read_json(instance_path(ref))
    assert replay(data).refutes is data["refutes"] and data["claim"] == ref
    assert json.loads(json.dumps(construct(ref).to_json())) == data | {"fedtheory": __version__}


def test_an_instance_alone_is_judged(small):
    """A file may state nothing of what comes of it; one that states some of it states all."""
    given = ("schema", "claim", "federation", "algorithm", "participation", "start", "rounds", "constants")
    alone = {key: small[key] for key in given}
    assert replay(alone).to_json() == replay(small).to_json()
    with pytest.raises(ReplayError, match="says functional = None"):
        replay(alone | {"refutes": True})
