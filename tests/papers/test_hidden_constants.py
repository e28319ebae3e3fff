"""One rule for the constants of every O(.): read as uniform and as of the problem, or the claim says why not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from fedtheory.claims import readings
from fedtheory.claims.hidden_constants import has_hidden_constants, may_depend_on_the_problem, unsaid
from fedtheory.evidence.constructions import constructions, families
from fedtheory.evidence.judge import judge
from fedtheory.papers import all_claims, claim
from fedtheory.subjects.protocol import Instance
from tests.loops import looped

HIDING = [c for c in all_claims() if has_hidden_constants(c)]
FAMILIES = families()


@looped("statement", all_claims(), ids=lambda c: c.ref)
def test_every_o_has_both_readings_or_says_why_not(statement) -> None:
    assert unsaid(statement) == ""


@looped("statement", HIDING, ids=lambda c: c.ref)
def test_a_reading_that_is_missing_is_noticed(statement) -> None:
    """The relapse: an O(.) of which nothing is said, or a reason that is left behind where no O(.) is."""
    fewer = tuple(a for a in statement.ambiguities if a.name != readings.CONSTANTS)
    relations = tuple(replace(h, alternatives={}) for h in statement.hypotheses)
    silent = replace(statement, ambiguities=fewer, hypotheses=relations, constants="")
    assert unsaid(silent) == f"{statement.ref}: on what the constants of its O(.) may depend"
    without = claim("fast.thm1")
    assert unsaid(replace(without, constants="a reason"))
    assert unsaid(replace(without, ambiguities=(*without.ambiguities, may_depend_on_the_problem("an O(.)"))))


def test_the_ambiguity_is_made_in_one_place() -> None:
    """Where the problem may decide on the constants no instance does; those that a claim's conditions name are numbers
    of an instance, so that it does."""
    for statement in HIDING:
        for each in statement.ambiguities:
            if each.name == readings.CONSTANTS and readings.OF_THE_CONDITIONS not in each.options:
                assert each == may_depend_on_the_problem(each.why)
                reading = {readings.CONSTANTS: readings.OF_THE_PROBLEM}
                assert statement.beyond_instances(reading) == readings.OF_THE_PROBLEM


def test_what_is_refuted_under_every_reading_leaves_no_constant_open() -> None:
    """No claim with an O(.) falls by one instance alone: it has a family, or the constants of its conditions are
    named."""
    named = {c.ref for c in HIDING if any(readings.OF_THE_CONDITIONS in a.options for a in c.ambiguities)}
    without = [c for c in HIDING if c.ref in constructions() and c.ref not in FAMILIES]
    for statement in without:
        assert statement.ref in named or any(map(statement.beyond_instances, statement.readings())), statement.ref
    assert {c.ref for c in HIDING if "family of instances" in c.constants} == {
        ref for ref in FAMILIES if not any(a.name == readings.CONSTANTS for a in claim(ref).ambiguities)
    }


def stays(point, grows: tuple[str, ...]) -> dict:
    """What an instance's file says of the problem, without what grows, and without what is stated of it: a confidence,
    a complexity."""
    data = point.to_json()
    left_out = {"samples": ("server_samples", "client_samples"), "server_samples": ("server_samples", "client_samples"),
                "rounds": ("rounds",)}  # fmt: skip
    names = {name for quantity in grows for name in left_out.get(quantity, (quantity,))}
    if "smoothness" in grows:
        names |= {"hessians", "curvature"}
    if "samples" in grows or "server_samples" in grows:
        names |= {"confidence", "sample_complexity"}

    def without(part):
        if isinstance(part, dict):
            return {key: without(value) for key, value in part.items() if key not in names}
        return [without(each) for each in part] if isinstance(part, list) else part

    return without(data)


@pytest.mark.parametrize("ref", sorted(set(FAMILIES) - {"safari.cor1.b@main", "safari.cor1.c@main"}))
def test_left_over_right_grows_along_a_family_of_one_problem(ref: str) -> None:
    """Each size is an instance that refutes the literal reading, of the same problem, and left/right is at least half
    as large again as at the size before. (Corollaries 1.b and 1.c of SAFARI have the same pair as 1.a.)"""
    statement, family = claim(ref), FAMILIES[ref]
    points = [family.member(statement, size) for size in family.sizes]
    literal = [judge(Instance(ref, point)).readings[0] for point in points]
    assert all(reading.refutes for reading in literal)
    ratios = [float(reading.ratio) for reading in literal]
    assert all(later > 1.5 * earlier for earlier, later in itertools.pairwise(ratios)), ratios
    assert all(stays(point, family.grows) == stays(points[0], family.grows) for point in points[1:])
    assert constructions()[ref](statement) in points
