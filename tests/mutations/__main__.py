"""Mutates one module and runs its tests: `python -m tests.mutations fedtheory/claims/balls.py --sample 30 --seed 0`.

Works on a temporary copy. The libraries are imported once; each mutant is a fork that runs the module's own tests (see
``table.py``, or --tests). A mutant is killed if a test fails, or takes far longer than it does without a change. Exit
status: 0 if every mutant was killed or is known to be equivalent, 1 if some survived, 2 if the tests fail unchanged.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.operators import Mutant, mutants
from tests.mutations.table import EQUIVALENT, FOCUSED

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("fedtheory", "tests", "docs", "figures", "pyproject.toml", "README.md", "Makefile")


class Quick:
    """A plugin of pytest: hypothesis neither shrinks nor remembers."""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("mutants", deadline=None, database=None, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.splitlines()[0])
    parser.add_argument("module", help="a file of fedtheory")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn; all of them by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", help="only those from one line to another: 120-180")
    parser.add_argument("--tests", nargs="*", help="instead of the module's own tests")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    path = options.module
    name = path.removeprefix("fedtheory/")
    own = options.tests or [f"tests/{test}" for test in FOCUSED.get(name, ())]
    chosen = _chosen((options.root / path).read_text(), options)
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        return _run(Path(folder), options.root, path, [path, *own], chosen, EQUIVALENT.get(name, {}))


def _chosen(source: str, options: argparse.Namespace) -> list[Mutant]:
    first, last = map(int, options.lines.split("-")) if options.lines else (0, sys.maxsize)
    some = [mutant for mutant in mutants(source) if first <= mutant.line <= last]
    if options.sample is None or options.sample >= len(some):
        return some
    return sorted(random.Random(options.seed).sample(some, options.sample), key=lambda mutant: mutant.line)


def _run(
    copy: Path, root: Path, path: str, tests: list[str], chosen: list[Mutant], equivalent: dict[tuple[str, str], str]
) -> int:  # fmt: skip
    for part in (root / part for part in COPIED):
        if part.is_dir():
            shutil.copytree(part, copy / part.name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif part.is_file():
            shutil.copy(part, copy / part.name)
    _import_libraries()
    started = time.monotonic()
    if _status(copy, tests, 3600, writes=True) != 0:
        print("the tests fail without a change")
        return 2
    limit = 20 + 5 * int(time.monotonic() - started)
    survivors = known = 0
    target = copy / path
    for mutant in chosen:
        shutil.rmtree(target.parent / "__pycache__", ignore_errors=True)
        target.write_text(mutant.source)
        if _status(copy, tests, limit, writes=False) == 0:
            why = equivalent.get((mutant.text, mutant.change))
            known, survivors = known + (why is not None), survivors + (why is None)
            print(f"{path}:{mutant.line}: {mutant.change}  [{'equivalent: ' + why if why else 'SURVIVED'}]", flush=True)
    print(f"{path}: {len(chosen)} mutants, {len(chosen) - survivors - known} killed, {known} equivalent, "
          f"{survivors} survived", flush=True)  # fmt: skip
    return 1 if survivors else 0


def _import_libraries() -> None:
    import flint  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize  # noqa: F401
    import sympy  # noqa: F401


def _status(copy: Path, tests: list[str], limit: int, writes: bool) -> int:
    """What pytest ends with, in a fork of its own in the copy."""
    child = os.fork()
    if child == 0:
        _test(copy, tests, limit, writes)
    deadline = time.monotonic() + 10 * limit
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def _test(copy: Path, tests: list[str], limit: int, writes: bool) -> None:
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        os.chdir(copy)
        sys.path[:] = [str(copy), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
        os.environ["PYTHONPATH"] = str(copy)
        sys.dont_write_bytecode = not writes
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "fedtheory")]:
            del sys.modules[name]
        import pytest

        options = ["-x", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=0", f"--rootdir={copy}"]
        status = int(pytest.main([*options, *tests], plugins=[Quick()]))
    finally:
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
