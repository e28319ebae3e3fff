"""The rule that turns evidence into one word: every branch, by changing one thing of a row's evidence."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fedtheory.evidence.search import ROUNDING
from fedtheory.evidence.verdict_rule import PROVED_AND_REFUTED, covered, needed, overall, with_readings
from fedtheory.proof.verdict_word import DECLARED, KERNEL, PROVED, STEPS_DECIDED

COMPLETE = {
    "outcome": "proved", "readings": {}, "assuming": [], "joints": KERNEL, "repaired": 0, "steps": 7,
    "first_open": None,
}  # fmt: skip
OPEN = COMPLETE | {"outcome": "open", "first_open": "step 3"}
SEARCH = {"admissible": 4, "candidates": 9, "largest_ratio": "0.5", "largest_late_ratio": "0.25"}
SURVIVED = (
    "Of 9 settings that were tried, none that meets the hypotheses exceeds the bound: left over right is at most 0.5, "
    "and 0.25 once the first term has faded."
)
NONE = "None of the 9 settings that were tried meets every hypothesis."
FALLS = "It falls without what is not printed: a small setting exceeds the bound 2 times without independent noise"
DECIDED = "Each of the 7 steps of its proof has a certificate; that they add up to the claim is declared by hand"
INSTANCE = {"refutes": True, "file": "one.json", "ratio": "1.5", "readings": 1, "only_under": []}
NEED = {"violates": ["independent_noise"], "assumption": "independent_noise", "ratio": "2", "file": "needs.json"}
BARE = {
    "proof": None, "exact": {"instance": None, "search": None}, "needs": [], "measured": [], "consistency": [],
    "units": {"findings": []},
}  # fmt: skip


def row(**changes: Any) -> dict[str, Any]:
    """Evidence with some of its parts; ``search`` and ``instance`` are those of ``exact``."""
    evidence = copy.deepcopy(BARE)
    for name in ("search", "instance"):
        if name in changes:
            evidence["exact"][name] = changes.pop(name)
    return evidence | changes


def only_under(*readings: dict[str, str]) -> dict[str, Any]:
    return INSTANCE | {"refutes": False, "only_under": list(readings)}


WORDS = [
    (row(), "not checked", "No search covers it."),
    (row(search=SEARCH), "holds", SURVIVED),
    (row(search=SEARCH | {"largest_late_ratio": None}), "holds",
     SURVIVED.partition(", and")[0] + "."),
    (row(search=SEARCH | {"admissible": 0}), "untested", NONE),
    (row(search=SEARCH | {"admissible": 0}, measured=[{"outcome": "holds", "data": "digits"}]), "holds",
     NONE),
    (row(search=SEARCH | {"admissible": 0}, measured=[{"outcome": "undecided", "data": "digits"}]), "untested",
     NONE),
    (row(proof=COMPLETE, search=SEARCH | {"admissible": 0}), "untested",
     f"Its proof is complete, of what may say nothing. {NONE}"),
    (row(instance=INSTANCE), "refuted",
     "A small setting meets every printed hypothesis and exceeds the bound 1.5 times."),
    (row(instance=INSTANCE | {"ratio": "inf"}), "refuted",
     "A small setting meets every printed hypothesis and exceeds the bound."),
    (row(instance=INSTANCE | {"readings": 2}, proof=OPEN, search=SEARCH), "refuted",
     "A small setting meets every printed hypothesis and exceeds the bound 1.5 times, under all 2 readings of the "
     "text."),
    (row(proof=COMPLETE, search=SEARCH), PROVED,
     f"The kernel composes the whole proof, from axioms to the right side. {SURVIVED}"),
    (row(proof=COMPLETE), PROVED, "The kernel composes the whole proof, from axioms to the right side."),
    (row(proof=COMPLETE | {"joints": DECLARED}), STEPS_DECIDED, DECIDED + "."),
    (row(proof=COMPLETE | {"joints": DECLARED, "repaired": 1}), STEPS_DECIDED,
     DECIDED + ". 1 printed step does not hold and is replaced."),
    (row(proof=COMPLETE | {"joints": DECLARED, "repaired": 2, "readings": {"root": ["a", "b"]}}), STEPS_DECIDED,
     DECIDED + ". 2 printed steps do not hold and are replaced. Read with root: a or b."),
    (row(proof=COMPLETE | {"assuming": ["x", "y"]}, search=SEARCH), "unproved",
     "Its proof takes x and y, which is not printed. With that it is complete, and no setting shows that it falls "
     f"without. {SURVIVED}"),
    (row(proof=OPEN, search=SEARCH), "unproved", f"Its proof is open at step 3. {SURVIVED}"),
    (row(proof=OPEN | {"first_open": None}, search=SEARCH), "holds", SURVIVED),
    (row(proof=OPEN, search=SEARCH | {"admissible": 0}), "untested",
     NONE),
    (row(search=SEARCH | {"largest_ratio": "1.25"}, proof=COMPLETE), "not checked",
     "The search found a ratio of 1.25; no instance confirms it."),
    (row(search=SEARCH | {"largest_ratio": "nan"}, proof=COMPLETE), "not checked",
     "The search found a ratio of nan; no instance confirms it."),
    (row(search=SEARCH | {"largest_ratio": str(1 + ROUNDING)}), "holds",
     SURVIVED.replace("0.5", "1")),
    (row(measured=[{"outcome": "holds", "data": "a"}, {"outcome": "exceeded", "data": "b"},
                   {"outcome": "exceeded", "data": "c"}], proof=COMPLETE), "not checked",
     "The bound is exceeded on b; no exact instance confirms it."),
    (row(consistency=[{"name": "undecided", "what": "p"}, {"name": "contradictory", "what": "q"},
                      {"name": "contradictory", "what": "r"}], proof=COMPLETE), "vacuous",
     "Its hypotheses contradict each other: q."),
    (row(consistency=[{"name": "undecided", "what": "p"}], search=SEARCH), "holds", SURVIVED),
    (row(search=SEARCH, units={"findings": [{"where": "noise"}, {"where": "drift"}]}), "holds",
     f"{SURVIVED} Not homogeneous in noise and drift."),
    (row(proof=COMPLETE, search=SEARCH, units={"findings": [{"where": "noise"}]}), PROVED,
     f"The kernel composes the whole proof, from axioms to the right side. {SURVIVED} Not homogeneous in noise."),
    (row(search=SEARCH, instance=only_under({"a": "1", "b": "2"}, {"a": "3"})), "holds",
     f"{SURVIVED} In a small setting it falls, read with a: 1, b: 2 or a: 3."),
    (row(needs=[NEED], search=SEARCH, proof=OPEN), "needs",
     f"{FALLS}. {SURVIVED}"),
    (row(needs=[NEED], units={"findings": [{"where": "noise"}]}), "needs",
     f"{FALLS}. Not homogeneous in noise."),
    (row(needs=[NEED, NEED | {"assumption": "z", "ratio": "3"}]), "needs",
     f"{FALLS} and 3 times without z."),
    (row(needs=[NEED], proof=COMPLETE | {"assuming": ["independent_noise", "y"]}), "needs",
     f"{FALLS}. "
     "With independent noise and y a proof is complete. The kernel composes the whole proof, from axioms to the right "
     "side."),
]  # fmt: skip


@pytest.mark.parametrize(("evidence", "word", "why"), WORDS, ids=lambda part: part if isinstance(part, str) else "")
def test_one_word_and_why(evidence, word, why):
    assert overall(evidence) == (word, why)


def test_proved_and_refuted_is_told_with_both():
    word, why = overall(row(instance=INSTANCE, proof=COMPLETE, search=SEARCH | {"largest_ratio": "1.5"}))
    assert word == PROVED_AND_REFUTED
    assert why.startswith(
        "There is a complete proof of it (7 steps), and an exact instance against it (one.json refutes "
    )
    proof = COMPLETE | {"readings": {"root": ["a", "b"], "mean": ["c"]}}
    for reading in ({"root": "b", "mean": "c"}, {"root": "a"}, {"other": "x"}, {}):
        word, why = overall(row(instance=only_under({"root": "z"}, reading), proof=proof))
        assert word == PROVED_AND_REFUTED and "one.json refutes it under a reading that the proof covers" in why
    for reading in ({"root": "z", "mean": "c"}, {"root": "a", "mean": "z"}, {"mean": "z"}):
        assert overall(row(instance=only_under(reading), proof=proof))[0] == PROVED
    assert overall(row(instance=only_under({}), proof=OPEN | {"first_open": None}, search=SEARCH))[0] == "holds"


def test_an_instance_violates_what_the_proof_takes():
    """Independent noise is uncorrelated too: what violates one of the two may be what the proof takes."""
    other = NEED | {"violates": ["fixed_weights"], "file": "other.json"}
    taking = COMPLETE | {"assuming": ["independent_noise"]}
    word, why = overall(row(needs=[NEED, other], proof=taking))
    assert word == PROVED_AND_REFUTED and "other.json refutes it and violates nothing that the proof takes" in why
    assert overall(row(needs=[NEED | {"violates": ["uncorrelated_noise"]}], proof=taking))[0] == "needs"
    assert overall(row(needs=[other], proof=OPEN))[0] == "needs"


def test_what_is_shown_beside_the_word():
    proof = {"readings": {"root": ["a", "b"], "mean": ["c"]}, "assuming": ["x"]}
    for word, shown in (
        (PROVED, "(root: a or b; mean: c)"), (STEPS_DECIDED, "(root: a or b; mean: c)"),
        ("needs", "x (root: a or b; mean: c)"), ("holds", ""),
    ):  # fmt: skip
        evidence = {"proof": proof, "needs": [{"assumption": "y"}]}
        assert with_readings({"verdict": word, "evidence": evidence}) == f"{word} {shown}".rstrip()
    assert covered("proved", {"proof": None}) == {} and covered("proved", {}) == {}
    for evidence, kinds in (({"proof": proof}, ("x",)), ({"proof": None}, ("y", "z")), ({}, ("y", "z")),
                            ({"proof": {"assuming": []}}, ("y", "z"))):  # fmt: skip
        assert needed("needs", evidence | {"needs": [{"assumption": "y"}, {"assumption": "z"}]}) == kinds
    assert needed("refuted", {"needs": [{"assumption": "y"}]}) == ()
