"""Builds the wheel and tries it where nothing else is: the core alone, then with each extra.

``python tests/wheel.py`` makes an environment for each Python and each choice of extras, installs the wheel, runs ten
commands, and prints sizes and seconds; exit status 1 if one fails. The core's environment becomes that of the extra
tried after it: every extra has the core. ``--extras core search`` tries some, and ``--pythons python3.12 python3.13``
names interpreters. Environments lie in a temporary folder, and go.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("core", "simulate", "search", "oracle", "data", "report", "testing", "cluster", "flower", "nvflare",
          "tracking", "pandas", "all")  # fmt: skip
UNPINNED = ("flower", "tracking", "all")
"""Extras that constraints.txt is not for: it has no trackers, and newer versions than Flower asks for."""
LARGEST_CORE = 400
"""MB that an environment of the core may take."""

ALWAYS = (
    ("fedtheory",), ("fedtheory", "claims"), ("fedtheory", "show", "fast.thm2"), ("fedtheory", "explain", "needs"),
    ("fedtheory", "evaluate", "fedau.thm3", "K=5", "T=100", "cutoff_bias=0"),
    ("fedtheory", "prove", "fast.thm2@sharper", "--recheck"), ("fedtheory", "replay", "fast.thm1@main"),
    ("fedtheory", "replay", "fedau.eqB_6_8.b@main"), ("fedtheory", "tables", "--paper", "flics"),
)  # fmt: skip
"""What works from the wheel whatever extras there are; a tenth command is the extra's own."""

QUADRATIC = (
    "import fedtheory as ft; fed = ft.federations.Quadratic.common_hessian([1, -1]);"
    "s = ft.Setting(fed, ft.algorithms.fedavg(local_lr=0.1), ft.participation.Fixed([0]), start=1);"
)
OWN = {
    "core": ("fedtheory", "claims", "--counts"),
    "simulate": ("python", "-c", QUADRATIC + "assert s.simulate(replicas=2, rounds=3).rows"),
    "search": ("fedtheory", "prove", "safari.thm1"),
    "oracle": (
        "python",
        "-c",
        "from fedtheory.selection.oracle import solve_offvar as s; s([[4, 4]], [4], [0.5, 0.5])",
    ),
    "data": ("python", "-c", "import fedtheory as ft; assert len(ft.data.load('digits')) == 1797"),
    "report": (
        "python",
        "-c",
        "import numpy as np; from fedtheory.data import Partition; from fedtheory.report import plot_partition;"
        "plot_partition(Partition((np.arange(3), np.arange(3, 5))), np.array([0, 1, 0, 1, 1])).savefig('plot.png')",
    ),
    "testing": ("python", "-c", "import fedtheory as ft; ft.testing.participation_arrays"),
    "cluster": ("python", "-c", "from distributed import Client"),
    "flower": ("python", "-c", "from fedtheory.deploy.flower import DeployedStrategy"),
    "nvflare": ("python", "-c", "from fedtheory.deploy.nvflare import DeployedController"),
    "tracking": ("python", "-c", "from fedtheory.simulation.trackers import tracker; tracker"),
    "pandas": ("python", "-c", "import pandas, fedtheory.simulation.run_files"),
    "all": ("fedtheory", "experiments"),
}
MISSING = ("fedtheory", "learnability", "digits")
"""Needs the extra ``data`` first: where that is not, it is named."""


def ran(command: tuple[str, ...], bin: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """One command of an environment, in a folder that has nothing of the project."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    whole = [str(bin / command[0]), *command[1:]]
    return subprocess.run(whole, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)


def version(python: str) -> str:
    """As 3.12.1."""
    said = "import sys; print('{}.{}.{}'.format(*sys.version_info))"
    return subprocess.run([python, "-c", said], check=True, capture_output=True, text=True).stdout.strip()


def made(python: str, where: Path) -> Path:
    """A new environment of that Python; its folder of programs."""
    subprocess.run([python, "-m", "venv", str(where)], check=True)
    return where / "bin"


def built(into: Path, pip: Path) -> Path:
    """The wheel, from a copy of what it is made of: nothing that another build leaves, or is writing, gets into it."""
    source = into / "source"
    for name in ("fedtheory", "experiments"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, source)
    write_commit(source / "fedtheory")
    subprocess.run([str(pip), "wheel", "-q", "--no-deps", "-w", str(into), str(source)], check=True)
    (wheel,) = into.glob("fedtheory-*.whl")
    return wheel


def write_commit(package: Path) -> None:
    """Tell a copy of the package whose copy it is."""
    sys.path.insert(0, str(ROOT))
    from fedtheory.provenance import COMMIT, commit_of_checkout

    (package / COMMIT).write_text(f"{commit_of_checkout(ROOT / 'fedtheory') or ''}\n", encoding="ascii")


def tried(wheel: Path, label: str, extra: str, bin: Path) -> list[str]:
    """Install the wheel with one extra in an environment and run its commands; what failed."""
    where, begun = bin.parent, time.monotonic()
    asked = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
    pinned = [] if extra in UNPINNED else ["-c", str(ROOT / "constraints.txt")]
    installing = [str(bin / "pip"), "install", "-q", *pinned, asked]
    subprocess.run(installing, check=True, stderr=subprocess.DEVNULL)
    size = sum(path.lstat().st_size for path in where.rglob("*") if path.is_file()) / 1e6
    print(f"{label} {extra}: {size:.0f} MB, installed in {time.monotonic() - begun:.0f} s", flush=True)
    failed = [f"{extra}: {size:.0f} MB: allowed are {LARGEST_CORE}"] if extra == "core" and size > LARGEST_CORE else []
    for command in (*ALWAYS, OWN[extra]):
        begun = time.monotonic()
        done = ran(command, bin, where.parent)
        print(f"  {time.monotonic() - begun:5.1f} s  status {done.returncode}  {' '.join(command)[:90]}", flush=True)
        if done.returncode:
            failed.append(f"{extra}: {' '.join(command)}: {done.stderr.strip()[-300:]}")
    if extra not in ("data", "all"):
        done = ran(MISSING, bin, where.parent)
        if done.returncode != 2 or "pip install 'fedtheory[" not in done.stderr:
            failed.append(f"{extra}: {' '.join(MISSING)}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    return failed


def main() -> None:
    """Try every choice, and end with status 1 where something failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", nargs="+", default=EXTRAS, choices=EXTRAS)
    parser.add_argument("--pythons", nargs="+", default=[sys.executable])
    given = parser.parse_args()
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        wheel = None
        for python in given.pythons:
            label, of_core = version(python), None
            for extra in given.extras:
                bin = of_core or made(python, Path(name) / f"{label}-{extra}")
                wheel = wheel or built(Path(name), bin / "pip")
                failed += tried(wheel, label, extra, bin)
                of_core = bin if extra == "core" else None
    print("\n".join(failed) or "everything ran")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
