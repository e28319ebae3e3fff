"""The independent checker accepts what the kernel saves, and nothing that was changed."""

from __future__ import annotations

import ast
import copy
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fedtheory.papers.fast.proofs.composed import (
    nonconvex,
    nonconvex_averaged,
    strongly_convex,
    strongly_convex_averaged,
)
from fedtheory.proof import checker
from fedtheory.proof.kernel.saved import saved

TEXT = json.dumps(saved(strongly_convex()))
DATA = json.loads(TEXT)


def rule(name: str, which: int = 0) -> int:
    return [i for i, line in enumerate(DATA["theorems"]) if line["rule"] == name][which]


def test_it_accepts_the_proof() -> None:
    assert checker.check(json.loads(TEXT)) == len(DATA["theorems"]) > 50


@pytest.mark.parametrize("make", [nonconvex, nonconvex_averaged, strongly_convex_averaged])
def test_it_accepts_the_others(make: Callable) -> None:
    assert checker.check(json.loads(json.dumps(saved(make())))) > 50


def test_it_stands_alone() -> None:
    tree = ast.parse(Path(checker.__file__).read_text())
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level}
    assert not any(n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_it_rejects_changed_digits() -> None:
    """A file with one digit changed is rejected, or proves the same: it changed a region on the way."""
    digits = [i for i, c in enumerate(TEXT) if c.isdigit()]
    draw, kept = random.Random(0), 0
    for _ in range(80):
        at = draw.choice(digits)
        changed = TEXT[:at] + draw.choice([d for d in "0123456789" if d != TEXT[at]]) + TEXT[at + 1 :]
        try:
            data = json.loads(changed)
            checker.check(data)
        except (checker.Wrong, ValueError):
            continue
        kept += 1
        assert data["theorems"] == DATA["theorems"] and data["names"] == DATA["names"]
        assert data["regions"][DATA["theorems"][-1]["where"]] == DATA["regions"][DATA["theorems"][-1]["where"]]
    assert kept <= 4


def change(line: int, part: str, value: object) -> Callable[[dict], None]:
    def made(data: dict) -> None:
        data["theorems"][line][part] = value

    return made


def drop_assumption(data: dict) -> None:
    last = data["theorems"][-1]
    last["assumptions"] = [a for a in last["assumptions"] if a[0] != "uncorrelated_noise"]


def argument(line: int, name: str, value: object) -> Callable[[dict], None]:
    def made(data: dict) -> None:
        data["theorems"][line]["arguments"][name] = value

    return made


ONE = DATA["theorems"][rule("unbiased")]["arguments"]["other"][0][1]
CHANGES = {
    "an assumption is dropped": drop_assumption,
    "an unknown rule": change(5, "rule", "given"),
    "a premise of its own": change(rule("combine", 1), "premises", [rule("combine", 1)]),
    "a premise that is not there": change(rule("over steps"), "premises", [10_000]),
    "a wider region": change(len(DATA["theorems"]) - 1, "where", 0),
    "another context": change(rule("mix"), "context", "cohort"),
    "an inequality as an equality": change(rule("over clients"), "equality", True),
    "another version": lambda data: data.update(format="fedtheory theorem 2"),
    "noise against its own step": argument(rule("unbiased"), "other", [[["", ["N", True, [1, 0, 0]]], ONE]]),
    "a mean over the cohort for all": argument(rule("over clients"), "binder", "X"),
    "a forged vector": argument(rule("unbiased"), "other", [[["", ["N", False, []]], ONE]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_it_rejects(name: str) -> None:
    data = copy.deepcopy(DATA)
    CHANGES[name](data)
    with pytest.raises(checker.Wrong):
        checker.check(data)


NO_STEP = '{"format": "fedtheory theorem 1", "names": ["k"], "regions": [], "theorems": [1]}'


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": 1}', "null", "[" * 100_000, NO_STEP])
def test_what_is_no_proof_is_told_apart(content: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "proof.json"
    file.write_text(content)
    assert checker.main([str(file)]) in (1, 2)
    assert str(file) in capsys.readouterr().err
