"""The published proofs verify without a search and without a solver, say what is decided now, and cannot be altered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from fedtheory.papers import all_claims
from fedtheory.papers.proofs import chain, library
from fedtheory.papers.registry import subject_of
from fedtheory.papers.saved_certificates import STEPS, folders, published, reverify, shelf
from fedtheory.proof import gram, positivity, smt
from fedtheory.proof.chains import GOAL
from fedtheory.proof.step_certificates import own_steps
from tests import slowest
from tests.loops import looped

REFS = [c.ref for c in all_claims()]


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    for this in all_claims():  # modules that are imported later would keep what is forbidden here
        _ = subject_of(this)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a search or a solver was called")

    for place in (positivity, gram):
        for name in ("certify", "refute", "draws", "prove", "complete_squares"):
            if hasattr(place, name):
                monkeypatch.setattr(place, name, forbidden)
    monkeypatch.setattr(smt, "solve", forbidden)


def test_every_claim_is_published() -> None:
    assert sorted(REFS) == list(published())


WITHOUT_STEPS = ("khaled2020",)
"""Papers all of whose claims are theorems of the kernel, without a step of their own."""

SIGNS = ("fedau.cor4@", "fedau.cor4.nearly_optimal@", "fedau.eqB_7_2@", "fedau.lemmaB_7_1@", "fedau.thm3@")
"""Claims with logarithms, whose signs are found anew each time, one small certificate each."""


def test_all_verify_without_a_search(no_search: None) -> None:
    with pytest.raises(AssertionError, match="search"):
        positivity.prove(None, None)
    for ref in REFS:
        if not ref.startswith(SIGNS):
            reverify(ref)
    for step in library().steps:  # also those that no claim's proof rests on
        assert shelf().decision(step.name).outcome in ("proved", "given", "gap", "unknown")


def test_those_with_logarithms_verify() -> None:
    refs = [ref for ref in REFS if ref.startswith(SIGNS)]
    outcomes = {ref: reverify(ref).outcome for ref in refs}
    assert outcomes.pop("fedau.cor4.nearly_optimal@long_runs") == "unknown"  # its hypotheses contradict each other
    assert len(outcomes) == 9 and {*outcomes.values()} == {"proved"}


@cache
def shared() -> dict[str, str]:
    """The outcomes of all papers' steps, as published."""
    files = [json.loads((folder / STEPS).read_text()) for folder in folders().values()]
    return {s["name"]: s["outcome"] for file in files for s in file["steps"]}


@pytest.mark.parametrize("paper", folders())
def test_every_step_is_decided_as_published(paper: str, record_property: Callable[[str, object], None]) -> None:
    """From the statements as they stand, without what is kept: a number of a display that changes decides a step
    otherwise."""
    decided = {name: library().decided(name).outcome for name in own_steps(paper, library())}
    record_property(slowest.CASES, len(decided))
    assert bool(decided) is (paper not in WITHOUT_STEPS)
    assert {name: (shared()[name], now) for name, now in decided.items() if shared()[name] != now} == {}


@looped("ref", REFS, quick=24)
def test_what_is_published_is_what_is_decided(ref: str) -> None:
    said = json.loads((folders()[ref.partition(".")[0]] / f"{ref}.json").read_text())
    now = chain(ref)
    assert said["outcome"] == now.outcome and said["source"] == now.source.name
    written = shared() | {s["name"]: s["outcome"] for s in said["steps"]}
    assert {d.step.name: d.outcome for d in now.decisions}.items() <= written.items()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (STEPS, *(f"{ref}.json" for ref in (EQ_13, EQ_17, COROLLARY, THEOREM))):
        shutil.copy(folders()["fast"] / name, tmp_path)
    return tmp_path


def altered(folder: Path, name: str, change: Callable[[dict], object]) -> None:
    data = json.loads((folder / name).read_text())
    change(data)
    (folder / name).write_text(json.dumps(data))


def _step(data: dict, name: str) -> dict:
    return next(s for s in data["steps"] if s["name"] == name)


def _evidence(data: dict, name: str) -> dict:
    return _step(data, name)["findings"][0]["evidence"][0]


def _certificate(data: dict, name: str) -> dict:
    return _evidence(data, name)["data"]


def _outcome(name: str, outcome: str) -> Callable[[dict], None]:
    return lambda data: _step(data, name).update(outcome=outcome)


def _finding(name: str, outcome: str) -> Callable[[dict], None]:
    return lambda data: _step(data, name)["findings"][0].update(outcome=outcome)


EQ_13, COROLLARY, THEOREM = "fast.eq13@main", "fast.cor3@main", "fast.thm1@main"
EQ_17 = "fast.eq17@main"
ALTERED = [
    (EQ_13, f"{EQ_13}.json", lambda d: d.update(outcome="gap"), "outcome"),
    (EQ_13, f"{EQ_13}.json", lambda d: d.update(claim="fast.eq23@main"), "claim = 'fast.eq23@main'"),
    (EQ_13, f"{EQ_13}.json", lambda d: d.update(source="Lemma 1"), "source = 'Lemma 1'"),
    (EQ_13, f"{EQ_13}.json", lambda d: d["steps"].pop(), "steps of"),
    (EQ_13, f"{EQ_13}.json", lambda d: d.update(more=1), "fields"),
    (EQ_13, f"{EQ_13}.json", _outcome("claim.assumes.uncorrelated_noise", "given"), "claim.assumes.uncorrelated_noise"),
    (EQ_17, f"{EQ_17}.json", _outcome(GOAL, "gap"), GOAL),
    (EQ_17, f"{EQ_17}.json", _finding(GOAL, "unknown"), GOAL),
    (EQ_17, f"{EQ_17}.json", lambda d: _evidence(d, GOAL).update(data="{}"), GOAL),
    (EQ_17, f"{EQ_17}.json", lambda d: _evidence(d, GOAL).update(
        data=_evidence(d, GOAL)["data"].replace("60*gradient_norm", "59*gradient_norm")), GOAL),
    (COROLLARY, f"{COROLLARY}.json", lambda d: d.update(outcome="proved"), "outcome"),
    (THEOREM, f"{THEOREM}.json", lambda d: d["steps"].reverse(), "step ="),
    (THEOREM, f"{THEOREM}.json", _outcome("claim.assumes.uniform_cohorts", "gap"), "claim.assumes.uniform_cohorts"),
    (THEOREM, STEPS, _finding("a2.24_noise_term_dropped", "proved"), "a2.24_noise_term_dropped"),
    (THEOREM, STEPS, lambda d: _certificate(d, "drift.gradient")["squares"].pop(), "drift.gradient"),
    (THEOREM, STEPS, lambda d: _certificate(d, "drift.gradient")["given"][0].__setitem__(1, {}), "fields"),
    (THEOREM, STEPS, lambda d: d["regions"].clear(), "region = "),
    (THEOREM, STEPS, lambda d: _step(d, "lemma1.path").update(outcome="proved"), "lemma1.path"),
]  # fmt: skip


@pytest.mark.parametrize(("ref", "name", "change", "message"), ALTERED)
def test_an_altered_file_is_refused(copy: Path, ref: str, name: str, change: Callable, message: str) -> None:
    altered(copy, name, change)
    with pytest.raises(ValueError, match=message):
        reverify(ref, {"fast": copy})
