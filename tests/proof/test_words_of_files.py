"""The words of a claim in a file are printed as they are checked: nothing of them is a comment, or moves a cursor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fedtheory.proof import checker
from fedtheory.proof.kernel.number_bounds import value
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import restrict, weaken
from fedtheory.proof.kernel.saved_claims import saved_claim
from fedtheory.proof.kernel.scalars import Ring
from tests.work import counted

RING = Ring("L eta")
WHERE = Where(RING, (Condition("L", "positive"), Condition("eta", "positive")))
LETTERS = {"L": "smoothness", "eta": "local_lr"}
WORDS: dict[str, Any] = {
    "id": "mine.thm", "edition": "main", "source": "here", "algorithm": "fast", "functional": "smoothness",
    "terms": {"all": "local_lr"}, "choices": {}, "hypotheses": {"order": "smoothness <= local_lr"}, "assumptions": [],
    "readings": {},
}  # fmt: skip
"""L <= eta, given L <= eta."""


def check(work: int = 10**6, **changed: Any) -> str:
    """What the checker prints of the proof with words changed, and with their digest."""
    bound = weaken(restrict(value(WHERE, RING["L"]), WHERE, {}, [RING["eta"] - RING["L"]]), RING["eta"], [1])
    return checker.told(json.loads(json.dumps(saved_claim(bound, LETTERS, WORDS | changed))), work)[1]


CLEARED = "\x1b[2J\x1b[H"
CHANGES: dict[str, dict[str, Any]] = {
    "a comment on the right side": {"terms": {"all": "local_lr #/1000"}},
    "a line of it that is written over": {"terms": {"all": "local_lr #\r  <= local_lr/1000"}},
    "a hypothesis that is not shown": {"hypotheses": {"order": f"smoothness <= local_lr #{CLEARED}"}},
    "a name that hides what follows": {"hypotheses": {"\x1b[8m": WORDS["hypotheses"]["order"]}},
    "a name of two lines": {"hypotheses": {"a\nb": WORDS["hypotheses"]["order"]}},
    "letters that are read from the right": {"source": "here\u202e"},
    "letters of another alphabet": {"terms": {"all": "\uff4cocal_lr"}},
    "a claim before that": {"id": f"mine.thm{CLEARED}"},
    "the left side": {"functional": "smoothness #*1000"},
    "a factor far away": {"terms": {"all": f"local_lr{' ' * 2000}*1"}},
    "a source far away": {"source": f"here{' ' * 2000}, and there"},
    "1 that looks like 0 times 1": {"functional": "0x1*smoothness"},
    "0 times 10 that looks like 0 times 1": {"terms": {"all": "local_lr + 0*1_0"}},
}


def test_a_logarithm_of_what_may_be_above_1_is_no_number_at_least_0() -> None:
    """At x = 5 log(1/x) is below 0."""
    ring = Ring("x l")

    def told(most: int) -> str:
        where = Where(ring, (Condition("x", "capped", ring.number(most)), Condition("l", "nonnegative")))
        bound = weaken(value(where, -ring["l"]), ring.number(0))
        said = WORDS | {"functional": "-log(1/smoothness)", "terms": {"all": "0"}}
        said |= {"hypotheses": {"most": f"smoothness <= {most}"}}
        data = saved_claim(bound, {"x": "smoothness", "l": "log(1/smoothness)"}, said)
        return checker.told(json.loads(json.dumps(data)), 10**6)[1]

    assert "-log(1/smoothness)\n  <= 0" in told(1)
    with pytest.raises(checker.Wrong, match="a logarithm that may be negative"):
        told(5)


def test_a_right_side_without_summands_is_0() -> None:
    bound = value(WHERE, RING.number(0))
    said = WORDS | {"functional": "smoothness - smoothness", "terms": {}}
    data = json.loads(json.dumps(saved_claim(bound, LETTERS, said)))
    assert "smoothness - smoothness\n  <= 0" in checker.told(data, 10**6)[1]


@pytest.mark.parametrize("text", ["sqrt(-1)*sqrt(-1)*local_lr", "sqrt(-local_lr)*sqrt(-local_lr)"])
def test_roots_of_what_is_negative_are_no_numbers(text: str) -> None:
    """Their product is -local_lr, if anything."""
    with pytest.raises(checker.Wrong, match="a root of what may be negative"):
        check(terms={"all": text})


def test_a_maximum_of_one_number_is_not_read_as_one_with_1() -> None:
    claim = object.__new__(checker.ClaimOfRuns)
    with pytest.raises(checker.Wrong, match=r"allowed is log\(Max\(1, x\)\)"):
        claim.surd(claim.tree("log(Max(rounds))"))


def test_an_error_shows_what_a_file_has_as_it_is() -> None:
    for what in (CLEARED, [CLEARED]):
        with pytest.raises(checker.Unfit) as error:
            checker.whole("where", what, 0, 1)
        assert str(error.value).isprintable()


def test_every_pair_of_caps_is_counted_as_work() -> None:
    """So is a text that is read."""
    ones, sums = ",".join("1" * 1200), {str(i): f"smoothness <= {'1 + ' * 100}1" for i in range(500)}
    for hypotheses in ({"all": f"Max({ones}) <= Min({ones})"}, sums):
        with pytest.raises(checker.Unfit, match="more work"), counted(10**6):
            check(10**5, hypotheses=hypotheses)


def test_a_file_is_printed_as_it_is_checked() -> None:
    assert "smoothness\n  <= local_lr" in check()


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_not_printed_as_it_is_read_is_refused(what: str) -> None:
    with pytest.raises(checker.Unfit, match=r"allowed is what can be printed|unreadable"):
        check(**CHANGES[what])
