"""The page on the kernel, by which it is read: each rule and axiom of the code has a row there, and each row is one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fedtheory.proof import checker
from tests.trusted_lines import PROOF, SEARCH, WRITING

PAGE = Path(__file__).parents[3] / "docs" / "kernel.md"
STATE = {"_theorem", "_bound", "_made", "_fact", "_follows", "_whole", "_draw", "mixed", "_descent",
         "_one_of_two", "_by_level", "_given_kind", "_of_paths", "_of_rounds", "_of_periods", "_of_steps"}  # fmt: skip
"""Functions of the kernel that are given the name of a rule, and state its conclusion."""
BY_EVENT = {"relative", "relative pair"}
"""Rules that are called like their events, and get the name from these."""

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the page is not beside the tests")


def rows(page: str) -> set[str]:
    """The names in the first cells of the tables of axioms and rules."""
    tables = re.findall(r"^\| (?:axiom|rule|axiom or rule) \|.*\n\| ---.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = [line.split("|")[1] for table in tables for line in table.splitlines()]
    return {name.strip() for cell in cells for name in cell.split(",")}


def stated(code: str) -> set[str]:
    """The names of rules under which a module of the kernel states conclusions."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) and node.args]
    named = [(getattr(call.func, "id", getattr(call.func, "attr", "")), call.args[0]) for call in calls]
    return {str(first.value) for name, first in named if name in STATE and isinstance(first, ast.Constant)}


def of_the_kernel() -> set[str]:
    files = [path for path in (PROOF / "kernel").glob("*.py") if f"kernel/{path.name}" not in SEARCH | WRITING]
    return BY_EVENT.union(*(stated(path.read_text(encoding="utf-8")) for path in files))


def of_the_checker() -> set[str]:
    return {*checker.RULES, *checker.STARTS, *checker.RUN_RULES, *checker.SAMPLE_RULES}


def test_each_rule_is_on_the_page_and_each_row_is_a_rule() -> None:
    told = rows(PAGE.read_text(encoding="utf-8"))
    assert len(told) > 120 and told == of_the_kernel() == of_the_checker()


def test_a_missing_rule_is_seen() -> None:
    """Planted: a row that goes, one that no code has, a rule that only the kernel has."""
    page = PAGE.read_text(encoding="utf-8")
    assert of_the_kernel() - rows(page.replace("\n| own share |", "\n| |")) == {"own share"}
    assert rows(page.replace("\n| variance |", "\n| variances |")) - of_the_kernel() == {"variances"}
    assert stated('return _theorem("guess", [], form=form)') == {"guess"}
