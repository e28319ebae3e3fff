"""Mutates one module and runs its tests: `python -m tests.mutations fedtheory/claims/balls.py --sample 30 --seed 0`.

Works on a temporary copy. The tests (the module's own of ``table.py``, or --tests) are collected once; each mutant is
a fork that runs them (see ``running.py``). A mutant is killed if a test fails, or takes far longer than it does without
a change. Exit status: 0 if every mutant was killed or is known to be equivalent, 1 if some survived, 2 if the tests
fail unchanged.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutations import running
from tests.mutations.operators import Mutant, mutants
from tests.mutations.table import ANY, EQUIVALENT, FOCUSED

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("fedtheory", "tests", "docs", "figures", "pyproject.toml", "README.md", "Makefile")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.splitlines()[0])
    parser.add_argument("module", help="a file of fedtheory")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn; all of them by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", help="only those from one line to another: 120-180")
    parser.add_argument("--tests", nargs="*", help="instead of the module's own tests")
    parser.add_argument("--seconds", type=float, help="only the quickest tests, which take so long together")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    path = options.module
    name = path.removeprefix("fedtheory/")
    own = options.tests or [f"tests/{test}" for test in FOCUSED.get(name, ())]
    chosen = _chosen((options.root / path).read_text(), options)
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        _copied(options.root, Path(folder))
        try:
            return _told(path, chosen, _living(Path(folder), path, [path, *own], chosen, options.seconds))
        except RuntimeError as error:
            print(error)
            return 2


def _told(path: str, chosen: list[Mutant], living: Iterator[Mutant]) -> int:
    """Print what lives; the exit status."""
    survivors = known = 0
    equivalent = EQUIVALENT.get(path.removeprefix("fedtheory/"), {})
    for mutant in living:
        why = equivalent.get((mutant.text, mutant.change)) or equivalent.get((mutant.text, ANY))
        survivors, known = survivors + (why is None), known + (why is not None)
        print(f"{path}:{mutant.line}: {mutant.change}  [{'equivalent: ' + why if why else 'SURVIVED'}]", flush=True)
    print(f"{path}: {len(chosen)} mutants, {len(chosen) - survivors - known} killed, {known} equivalent, "
          f"{survivors} survived", flush=True)  # fmt: skip
    return 1 if survivors else 0


def _chosen(source: str, options: argparse.Namespace) -> list[Mutant]:
    first, last = map(int, options.lines.split("-")) if options.lines else (0, sys.maxsize)
    some = [mutant for mutant in mutants(source) if first <= mutant.line <= last]
    if options.sample is None or options.sample >= len(some):
        return some
    return sorted(random.Random(options.seed).sample(some, options.sample), key=lambda mutant: mutant.line)


def _living(
    copy: Path, path: str, tests: list[str], chosen: list[Mutant], seconds: float | None
) -> Iterator[Mutant]:  # fmt: skip
    """The mutants that live, as they are found.

    Raises:
        RuntimeError: the tests fail without a change.
    """
    _import_libraries()
    target, written = copy / path, copy / ".written"
    if running.run(copy, tests, running.Timed(written)) != 0:
        raise RuntimeError("the tests fail without a change")
    taken = json.loads(written.read_text())
    written.write_text("[]")
    if running.run(copy, tests, running.Swapped(taken, seconds, target, chosen, written), 10**6) != 0:
        print(f"{path}: no change could be put in place", flush=True)
    killed = set(json.loads(written.read_text()))
    for i, mutant in enumerate(chosen):
        shutil.rmtree(target.parent / "__pycache__", ignore_errors=True)
        target.write_text(mutant.source)
        if i not in killed and running.run(copy, tests, running.Quick(taken, seconds)) == 0:
            yield mutant


def _copied(root: Path, copy: Path) -> None:
    for part in (root / part for part in COPIED):
        if part.is_dir():
            shutil.copytree(part, copy / part.name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif part.is_file():
            shutil.copy(part, copy / part.name)


def _import_libraries() -> None:
    import flint  # noqa: F401
    import numpy  # noqa: F401
    import scipy.optimize  # noqa: F401
    import sympy  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
