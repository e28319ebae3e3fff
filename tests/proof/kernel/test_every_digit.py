"""Saved proofs with one digit changed, every digit in turn: the checker rejects each, but for digits of a region or of
the number of a region or a premise, with which the file proves the same theorem, or proves it on another region. Larger
files take many minutes (``-m exhaustive``).

    python -m tests.proof.kernel.test_every_digit NAME ...    says how many digits there are, and which changes are
                                                              kept; of NAME:300 that many are drawn
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from fedtheory.proof import checker
from fedtheory.proof.kernel.saved_theorems import saved

from .growing import Growing
from .published import NAMES, proofs

PAGE = Path(__file__).parents[3] / "docs" / "kernel.md"
QUICK = ("safari.eq28",)
STATED = ("context", "kind", "assumptions", "parameters", "form", "equality", "path_to_the_end")
"""What a line says, and not how it is shown."""


Digit = tuple[str, int, int]
"""One of a proof's: in its theorems or its regions, in which of them, and where in the text."""


def digits(data: dict) -> list[Digit]:
    """All of them."""
    return [(part, number, at) for part in ("theorems", "regions") for number, one in enumerate(data[part])
            for at, c in enumerate(json.dumps(one)) if c.isdigit()]  # fmt: skip


def with_another(data: dict, digit: Digit) -> dict | list | None:
    """The line or the region with this digit one larger, and 0 for 9; ``None`` where that is no number."""
    part, number, at = digit
    text = json.dumps(data[part][number])
    try:
        return json.loads(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")
    except ValueError:  # it would begin with 0
        return None


def accepted(file: Growing, every: list, digit: Digit, changed: dict | list | None) -> bool:
    """Whether the checker may accept the file: a line is checked against those before it, which are as they were."""
    part, number, _ = digit
    if changed is None or part == "regions":
        return changed is not None
    file.theorems = every[:number]
    return file.accepts_line(changed)


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


def kept_digits(name: str, drawn: int = 0) -> tuple[int, Counter[tuple[str, str]]]:
    """How many digits there are in the regions and lines of a proof, or are ``drawn``; and how many can be changed so
    that the file is a proof, by what it then proves and where the digit is."""
    theorem = proofs()[name].make()
    data, file = json.loads(json.dumps(saved(theorem))), Growing(theorem)
    every, all_of = file.theorems, digits(data)
    kept = Counter[tuple[str, str]]()
    chosen = random.Random(name).sample(all_of, min(drawn, len(all_of))) if drawn else all_of
    for digit in chosen:
        changed = with_another(data, digit)
        if not accepted(file, every, digit, changed):
            continue
        part, number, _ = digit
        other = data | {part: [*data[part][:number], changed, *data[part][number + 1 :]]}
        where = "region"
        if part == "theorems":
            where = next(key for key in changed if changed[key] != data[part][number][key])
        kept[another_proof(data, other), where] += 1
    return len(chosen), Counter({key: n for key, n in kept.items() if key[0]})


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in NAMES])
def test_no_digit_can_be_another(name: str) -> None:
    """``another_proof`` fails where what is shown is another theorem than before."""
    count, kept = kept_digits(name)
    assert count > 200 and kept.total() < count / 10  # of the shortest proofs the region is a large part
    assert {part for _, part in kept} <= {"region", "premises", "where"}


@pytest.mark.skipif(not PAGE.exists(), reason="the docs are not beside the tests")
def test_the_page_has_as_many_digits_as_there_are() -> None:
    """Of proofs that were tried in full; and every sum is one."""
    row = r"^\| (\S[^|]*) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$"
    text = PAGE.read_text(encoding="utf-8").partition("\nEvery digit (")[2].partition("\n## ")[0]
    tables = [re.findall(row, part, flags=re.M) for part in text.partition("\nOf larger ones 300")[::2]]
    for table in tables:
        *each, (last, *total) = [(name, *map(int, numbers)) for name, *numbers in table]
        assert last == "all of these" and [sum(column) for column in list(zip(*each, strict=True))[1:]] == total
        assert all(number == rejected + same + others for _, number, rejected, same, others in each)
    told = {name: int(number) for name, number, *_ in tables[0][:-1]}
    assert len(told) > 30
    assert told == {name: len(digits(json.loads(json.dumps(saved(proofs()[name].make()))))) for name in told}


if __name__ == "__main__":
    for one in sys.argv[1:] or NAMES:
        of, _, number = one.partition(":")
        seen, left = kept_digits(of, int(number or 0))
        print(of, seen, "digits, kept:", dict(left), flush=True)
