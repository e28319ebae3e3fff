"""Compiled loops are made anew when what becomes part of them has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fedtheory

PROGRAM = """
import numpy as np
from fedtheory.compiled import compiled
from fedtheory.lanes import load, total

@compiled
def found(array):
    return total(load(array, 0))

print(found(np.arange(16, dtype=np.float32)))
"""


def test_what_is_kept_on_disk_is_not_used_for_other_operations(tmp_path: Path) -> None:
    source = Path(fedtheory.__file__).parent
    package = tmp_path / "fedtheory"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("compiled.py", "lanes.py"):
        (package / name).write_text((source / name).read_text())
    (tmp_path / "program.py").write_text(PROGRAM)
    assert ran(tmp_path) == 120
    assert list(tmp_path.rglob("*.nbi"))
    lanes = package / "lanes.py"
    changed = lanes.read_text().replace("left = builder.fadd(*halves)", "left = halves[0]")
    assert changed != lanes.read_text()
    lanes.write_text(changed)
    assert ran(tmp_path) == 0


def ran(folder: Path) -> float:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, folder / "program.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)
