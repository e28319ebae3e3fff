"""Mixtures of two kinds of round that the kernel refuses, made without its checks: the checker rejects each."""

from __future__ import annotations

import json

import pytest

from fedtheory.papers.fast.proofs.thm1_thm2 import strongly_convex
from fedtheory.proof import checker
from fedtheory.proof.kernel import round_rules
from fedtheory.proof.kernel.regions import Where
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem, combine

MIXED: Theorem = next(t for t in ancestry(strongly_convex()) if t.rule == "mix")
SNAPSHOT, ARBITRARY = MIXED.premises
Q, WHERE = dict(MIXED.parameters)["probability"], MIXED.where


def checked(theorem: Theorem) -> int:
    return checker.check(json.loads(json.dumps(saved(theorem))))


def test_the_true_mixture_is_accepted() -> None:
    assert checked(round_rules.mix(SNAPSHOT, ARBITRARY, Q, WHERE)) > 10


def test_both_of_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_rules, "_check_context", lambda *arguments: None)
    with pytest.raises(checker.Wrong, match="kind"):
        checked(round_rules.mix(ARBITRARY, ARBITRARY, Q, WHERE))


def test_no_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Where, "certifies", lambda *arguments: True)
        made = round_rules.mix(SNAPSHOT, ARBITRARY, Q + 1, WHERE)
    with pytest.raises(checker.Wrong, match=r"no probability|may be negative"):
        checked(made)


def test_what_is_late_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = combine([(ARBITRARY, 2)], where=ARBITRARY.where, context="kind", kind="arbitrary")
    with monkeypatch.context() as patched:
        patched.setattr(round_rules, "known_at_start", lambda entry: True)
        made = round_rules.mix(SNAPSHOT, twice, Q, WHERE)
    with pytest.raises(checker.Wrong, match="differs between the kinds"):
        checked(made)
