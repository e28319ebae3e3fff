"""The text that a composed step is decided by: a proof, by the checker, of the very theorem that the kernel makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex, strongly_convex
from fedtheory.proof import checker
from fedtheory.proof.composition import Composed
from fedtheory.proof.kernel.saved_theorems import saved

CERTIFICATE = next((Path(__file__).parents[2] / "docs" / "certificates").glob("*.json")).read_text()


def test_the_text_of_another_theorem_is_not_accepted() -> None:
    one, other = Composed(strongly_convex), Composed(nonconvex)
    (text,) = one.certified().evidence
    assert isinstance(text, str) and one.accepts((text,)) and one.accepts((text,))  # the second time from memory
    assert not other.accepts((text,)) and not one.accepts(()) and not one.accepts((text, text))


def test_what_is_no_theorem_of_the_kernel_is_not_accepted() -> None:
    """The checker accepts a certificate of a worst case too, which is about no runs of a claim."""
    assert checker.check(json.loads(CERTIFICATE)) == 1
    changed = saved(strongly_convex())
    changed["theorems"][-1]["equality"] = True
    for text in (CERTIFICATE, json.dumps(changed), "{", "[" * 10**5, "[]", "1"):
        assert not Composed(strongly_convex).accepts((text,))


U, S, T = map(checker.place, range(3))


@pytest.mark.parametrize(
    ("terms", "seen"),
    [
        ([0], True),
        ([0, U, S], True),
        ([U], False),  # U may be 0
        ([S, T], True),  # not both are 0
        ([S], False),
        ([S, S + T], False),
        ([S, T * 5 + U], False),
        ([S * 3, T * 2], True),
        ([], False),
    ],
)
def test_what_is_seen_to_be_positive(terms: list[int], seen: bool) -> None:
    """In three parameters, of which U is any >= 0, and S and T are those of an interval."""
    made, interval = dict.fromkeys(terms, 2), [(1, 2)]
    assert checker.is_positive(made, set(), interval) == seen
    assert checker.is_positive(made, {0, 1, 2}, interval) == bool(terms)  # all > 0
    assert not checker.is_positive(made | {7 * U: -1}, {0, 1, 2}, interval)
