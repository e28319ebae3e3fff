"""Compiled loops are made anew when what becomes part of them has changed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fedtheory
from fedtheory.loops.compiler import SHARED, compiled

PROGRAM = """
import numpy as np
from fedtheory.loops.compiler import compiled
from fedtheory.loops.lanes import load, total

@compiled
def found(array):
    return total(load(array, 0))

print(found(np.arange(16, dtype=np.float32)))
"""


def test_what_is_kept_on_disk_is_not_used_for_other_operations(tmp_path: Path) -> None:
    source = Path(fedtheory.__file__).parent / "loops"
    package = tmp_path / "fedtheory" / "loops"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    for name in (*SHARED, "first_compilation.py"):
        (package / name).write_text((source / name).read_text())
    (tmp_path / "program.py").write_text(PROGRAM)
    assert ran(tmp_path) == 120
    assert list(tmp_path.rglob("*.nbi"))
    lanes = package / "lanes.py"
    changed = lanes.read_text().replace("left = builder.fadd(*halves)", "left = halves[0]")
    assert changed != lanes.read_text()
    lanes.write_text(changed)
    assert ran(tmp_path) == 0


def test_a_loop_is_compiled_where_it_cannot_be_kept() -> None:
    names: dict[str, Any] = {}
    exec("def one_more(x):\n    return x + 1", names)  # of no file
    assert compiled(names["one_more"])(1) == 2


def test_what_loops_take_from_other_files_is_known() -> None:
    """All modules of loops that modules of loops import from."""
    root = Path(fedtheory.__file__).parent
    loops = {path for path in root.rglob("*.py") if "@compiled\n" in path.read_text()}
    assert len(loops) > 8
    taken = {target for path in loops for target in imported(path, root) if target in loops or target.name in SHARED}
    assert {path.relative_to(root / "loops").as_posix() for path in taken} == set(SHARED)


def imported(path: Path, root: Path) -> Iterator[Path]:
    """The files of the package that a module imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > 0 and node.module:
            yield path.parents[node.level - 1].joinpath(*node.module.split(".")).with_suffix(".py")


def ran(folder: Path) -> float:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, folder / "program.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)
