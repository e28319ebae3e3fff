"""Which tests run which lines of the package: ``python -m tests.mutations.covered map.json -m 'not slow'``.

Every block of statements of a function (its body, an arm of an ``if``, the body of a loop) begins with a call that
notes its number, so a run takes little longer than without. What runs in other processes, in compiled loops, and while
modules are imported is not seen.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNSEEN = ("fedtheory/loops/",)
"""What is compiled to machine code."""

LISTED = 80
"""So many tests of each block are kept, the quickest."""


class Blocks(ast.NodeTransformer):
    """Puts the call in front of every block of a function."""

    def __init__(self, module: str, known: list[tuple[str, int, int]]) -> None:
        self.module, self.known, self.inside = module, known, False

    def visit_FunctionDef(self, node: Any) -> Any:
        outer, self.inside = self.inside, True
        self.generic_visit(node)
        self.inside = outer
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        outer, self.inside = self.inside, False
        self.generic_visit(node)
        self.inside = outer
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self.inside and not isinstance(node, ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                block = getattr(node, part, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    setattr(node, part, self._noted(block))
        return node

    def _noted(self, block: list[ast.stmt]) -> list[ast.stmt]:
        first, last = block[0], block[-1]
        self.known.append((self.module, first.lineno, last.end_lineno or last.lineno))
        text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        called = ast.Call(ast.Name("__ran__", ast.Load()), [ast.Constant(len(self.known) - 1)], [])
        note = ast.fix_missing_locations(ast.copy_location(ast.Expr(called), block[0]))
        return [first, note, *block[1:]] if text else [note, *block]


class Map:
    """A plugin of pytest: notes what each test ran, how long it took, and whether it passed."""

    def __init__(self, written: Path) -> None:
        self.written, self.known, self.ran = written, list[tuple[str, int, int]](), set[int]()
        self.seconds, self.failed, self.by_test = dict[str, float](), set[str](), dict[str, list[int]]()

    def install(self) -> None:
        """Has the package's modules compiled with the calls in them, from here on."""
        builtins.__ran__ = self.ran.add  # type: ignore[attr-defined]
        plain = importlib.machinery.SourceFileLoader.get_code

        def get_code(loader: Any, name: str) -> CodeType | None:
            path = Path(loader.path)
            if not path.is_relative_to(ROOT / "fedtheory") or str(path.relative_to(ROOT)).startswith(UNSEEN):
                return plain(loader, name)
            tree = Blocks(str(path.relative_to(ROOT)), self.known).visit(ast.parse(path.read_bytes()))
            return compile(tree, str(path), "exec", dont_inherit=True)

        importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> None:
        self.ran.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "teardown":
            self.by_test[report.nodeid] = sorted(self.ran)
            if len(self.by_test) % 200 == 0:
                self.write()

    def pytest_sessionfinish(self) -> None:
        self.write()

    def write(self) -> None:
        tests = sorted(self.by_test, key=lambda test: self.seconds[test])
        of_block: dict[int, list[int]] = {}
        for i, test in enumerate(tests):
            for block in self.by_test[test] if test not in self.failed else ():
                of_block.setdefault(block, []).append(i)
        self.written.write_text(json.dumps({
            "tests": [[test, round(self.seconds[test], 3), test not in self.failed] for test in tests],
            "blocks": [[*self.known[block], ran[:LISTED]] for block, ran in sorted(of_block.items())],
        }))  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    written, *options = sys.argv[1:] if arguments is None else arguments
    plugin = Map(Path(written))
    plugin.install()
    return int(pytest.main(["-n0", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *options], plugins=[plugin]))


if __name__ == "__main__":
    sys.exit(main())
