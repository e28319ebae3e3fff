"""Runs the tests of real clients behind Flower and NVFlare, each in an environment of its own beside this one.

``python tests/frameworks.py`` makes an environment for each that has the packages of this one, and, before these, the
framework with its own versions of what it pins. Tests and examples then run with its Python, on the loopback. Where
packages cannot be had, that is said in a line and no test is run. ``--frameworks flower`` tries one, and ``--whole``
runs the examples of many minutes too. Environments lie in a temporary folder, and go.
"""

from __future__ import annotations

import argparse
import os
import site
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FRAMEWORKS = ("flower", "nvflare")
"""Extras, and words by which pytest finds the tests of each."""
OLDER = ("-W", "default::DeprecationWarning")
"""Older versions of what a framework pins call what newer ones of other packages deprecate."""


def requirements(extra: str) -> list[str]:
    """What an extra asks for.

    >>> requirements("flower")[0].startswith("flwr>=")
    True
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"][extra])


def pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """This environment's pip for another Python."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def environment(extra: str, folder: Path) -> Path | None:
    """The Python of a new environment with an extra; none where its packages cannot be had."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    beside = "".join(f"import site; site.addsitedir({each!r})\n" for each in site.getsitepackages())
    (packages / "beside.pth").write_text(beside)
    python = folder / "bin" / "python"
    if pip(python, "install", "--dry-run", "--no-deps", "--ignore-installed", *requirements(extra)).returncode:
        return None
    done = pip(python, "install", *requirements(extra))
    if done.returncode:
        raise SystemExit(f"{extra}: {done.stderr.strip()[-500:]}")
    return python


def main() -> None:
    """Run the tests of each framework, and end with the last status that is not 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frameworks", nargs="+", default=FRAMEWORKS, choices=FRAMEWORKS)
    parser.add_argument("--whole", action="store_true", help="also the examples of many minutes")
    given = parser.parse_args()
    status = 0
    with tempfile.TemporaryDirectory() as name:
        for extra in given.frameworks:
            python = environment(extra, Path(name) / extra)
            if python is None:
                print(f"{extra}: skipped: {requirements(extra)} cannot be installed from here")
                continue
            packages = next(python.parents[1].glob("lib/python*/site-packages"))
            print(pip(python, "list", "--format=freeze", "--path", str(packages)).stdout, flush=True)
            marked = ["-m", "slow or exhaustive or not slow"] if given.whole else []
            for tests in (["tests/deploy", "-k", extra, *marked], ["tests/test_docstrings.py", "-k", "deploy"]):
                command = [str(python), "-m", "pytest", "-rs", "--durations=5", *OLDER, *tests]
                done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
                status = done.returncode or status
    sys.exit(status)


if __name__ == "__main__":
    main()
