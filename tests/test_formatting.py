"""Lines are as the formatter makes them, but for tables of data."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import fedtheory

ROOT = Path(fedtheory.__file__).parent
OF_PROOFS = re.compile(r"proof/|papers/\w+/(proofs|displays)/")
"""Where formulas stand in functions, a term a row."""


def skipped(source: str) -> list[tuple[int, ast.stmt | None, bool]]:
    """The lines that the formatter leaves, the innermost statement of each, and whether it is one of the module's."""
    comments = [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and "fmt: skip" in token.string
    ]
    tree = ast.parse(source)
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    found = []
    for line in comments:
        around = [node for node in statements if node.lineno <= line <= (node.end_lineno or 0)]
        inner = min(around, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)
        found.append((line, inner, inner in tree.body))
    return found


def faults(name: str, source: str) -> list[str]:
    """What is no table: all but assignments of a module, letters that a paper imports, and rows of formulas."""
    return [
        f"{name}:{line}"
        for line, statement, of_module in skipped(source)
        if not (
            (of_module and isinstance(statement, ast.Assign | ast.AnnAssign))
            or (name.startswith("papers/") and isinstance(statement, ast.ImportFrom))
            or (OF_PROOFS.match(name) and isinstance(statement, ast.stmt) and not isinstance(statement, ast.Assert))
        )
    ]


def test_only_tables_are_left_by_the_formatter() -> None:
    found = [
        fault
        for path in sorted(ROOT.rglob("*.py"))
        for fault in faults(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    assert not found


def test_what_is_no_table_is_found() -> None:
    assert faults("a.py", "def f():\n    return g(\n        1)  # fmt: skip\n") == ["a.py:3"]
    assert faults("a.py", "from b import (\n    c)  # fmt: skip\n")
    assert faults("a.py", "if a:\n    b = [1]  # fmt: skip\n")
    assert not faults("a.py", "A = {\n    1: 2, 3: 4,\n}  # fmt: skip\n")
