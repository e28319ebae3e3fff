"""Saved proofs with one digit changed, every digit in turn: the checker rejects each, but for digits of a region or of
the number of a region or a premise, with which the file proves the same theorem, or proves it on another region. Larger
files take many minutes (``-m exhaustive``).

    python -m tests.proof.kernel.test_every_digit NAME ...    says how many digits there are, and which changes are kept
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from fedtheory.proof import checker
from fedtheory.proof.kernel.saved import saved

from .growing import Growing
from .published import PROOFS

QUICK = ("safari.eq28",)
STATED = ("context", "kind", "assumptions", "parameters", "form", "equality", "path_to_the_end")
"""What a line says, and not how it is shown."""


def with_a_digit_changed(text: str) -> Iterator[str]:
    """The text with each of its digits one larger, and 0 for 9."""
    for at, c in enumerate(text):
        if c.isdigit():
            yield f"{text[:at]}{(int(c) + 1) % 10}{text[at + 1 :]}"


def changed_lines(file: Growing, data: dict) -> Iterator[tuple[bool, int, dict | None]]:
    """(whether the checker accepts that line, its number, the line where it does) for every digit of every line. A line
    is checked against those before it, which are as they were."""
    every = file.theorems
    for number, line in enumerate(data["theorems"]):
        file.theorems = every[:number]
        for text in with_a_digit_changed(json.dumps(line)):
            try:
                changed = json.loads(text)
            except ValueError:  # a number that begins with 0
                yield False, number, None
                continue
            accepted = file.accepts_line(changed)
            yield accepted, number, changed if accepted else None
    file.theorems = every


def another_proof(data: dict, changed: dict) -> str:
    """What a file is accepted as: nothing, another proof of the same theorem, or of it on another region."""
    try:
        checker.check(changed)
    except checker.Wrong:
        return ""
    mine, other = data["theorems"][-1], changed["theorems"][-1]
    assert all(mine[part] == other[part] for part in STATED), "another theorem, by one digit"
    same = data["regions"][mine["where"]] == changed["regions"][other["where"]]
    return "the same theorem" if same else "on another region"


def kept_digits(name: str) -> tuple[int, Counter[tuple[str, str]]]:
    """How many digits there are in the regions and lines of a proof; and how many can be changed so that the file is a
    proof, by what it then proves and where the digit is."""
    theorem = PROOFS[name].make()
    data, file = json.loads(json.dumps(saved(theorem))), Growing(theorem)
    count, kept = 0, Counter[tuple[str, str]]()
    for accepted, number, line in changed_lines(file, data):
        count += 1
        if accepted:
            lines = [*data["theorems"][:number], line, *data["theorems"][number + 1 :]]
            part = next(part for part in line if line[part] != data["theorems"][number][part])
            kept[another_proof(data, data | {"theorems": lines}), part] += 1
    for number, region in enumerate(data["regions"]):
        for text in with_a_digit_changed(json.dumps(region)):
            count += 1
            regions = [*data["regions"][:number], json.loads(text), *data["regions"][number + 1 :]]
            kept[another_proof(data, data | {"regions": regions}), "region"] += 1
    return count, Counter({key: n for key, n in kept.items() if key[0]})


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in PROOFS])
def test_no_digit_can_be_another(name: str) -> None:
    """``another_proof`` fails where what is shown is another theorem than before."""
    count, kept = kept_digits(name)
    assert count > 200 and kept.total() <= max(20, count / 50)
    assert {part for _, part in kept} <= {"region", "premises", "where"}


if __name__ == "__main__":
    for one in sys.argv[1:] or PROOFS:
        digits, left = kept_digits(one)
        print(one, digits, "digits, kept:", dict(left), flush=True)
