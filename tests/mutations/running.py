"""Tests of one module under its mutants: collected once, then run in a fork for each mutant.

A change inside a function is put in place of the code of the function that is there. One elsewhere (a constant, a
default, a class), and one that all tests pass, is tried again with everything imported anew. The quickest tests come
first, after those that found the most so far; a test that takes far longer than it does without a change has found the
mutant.
"""

from __future__ import annotations

import ast
import functools
import gc
import json
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutations.operators import Mutant

PASSED, OTHERWISE = 0, 99
"""What a fork ends with: all tests passed; the change cannot be put in place."""


class Quick:
    """A plugin of pytest: the quickest tests first, none for long; hypothesis neither shrinks nor remembers."""

    def __init__(self, seconds: dict[str, float], limit: float | None = None) -> None:
        self.seconds, self.limit, self.failed = seconds, limit, ""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("mutants", deadline=None, database=None, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.limit is not None and self.seconds:
            items[:] = _within([item for item in items if item.nodeid in self.seconds], self.seconds, self.limit)
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if self.seconds:
            used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
            _, hard = resource.getrlimit(resource.RLIMIT_CPU)
            resource.setrlimit(resource.RLIMIT_CPU, (int(used + 6 + 6 * self.seconds.get(item.nodeid, 1)), hard))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def _within(items: list[pytest.Item], seconds: dict[str, float], limit: float) -> list[pytest.Item]:
    """The quickest that take so many seconds together."""
    taken, total = [], 0.0
    for item in sorted(items, key=lambda item: seconds[item.nodeid]):
        total += seconds[item.nodeid]
        if total <= limit:
            taken.append(item)
    return taken


class Timed(Quick):
    """Notes how long each test takes."""

    def __init__(self, written: Path) -> None:
        super().__init__({})
        self.written, self.taken = written, Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.taken[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        self.written.write_text(json.dumps(self.taken))


class Swapped(Quick):
    """Instead of running the tests once, runs them in a fork for each mutant whose change is inside a function."""

    def __init__(
        self, seconds: dict[str, float], limit: float | None, target: Path, chosen: Sequence[Mutant], written: Path
    ) -> None:  # fmt: skip
        super().__init__(seconds, limit)
        self.target, self.chosen, self.written = target, chosen, written

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions, caches = _functions(self.target)
        killers: Counter[str] = Counter()
        killed: list[int] = []
        unchanged = Mutant(0, "", "", ast.unparse(ast.parse(self.target.read_text())), True)
        if self._run(session, unchanged, functions, caches)[0] != PASSED:
            return True
        for i, mutant in enumerate(self.chosen):
            if not mutant.inside:
                continue
            session.items.sort(key=lambda item: (-killers[item.nodeid], self.seconds.get(item.nodeid, 0)))
            status, killer = self._run(session, mutant, functions, caches)
            if status not in (PASSED, OTHERWISE):
                killed.append(i)
                killers[killer] += 1
        self.written.write_text(json.dumps(killed))
        return True

    def _run(
        self, session: pytest.Session, mutant: Mutant, functions: dict[str, list[FunctionType]], caches: list[Any]
    ) -> tuple[int, str]:  # fmt: skip
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (3600, 3600))
                for cache in caches:
                    cache.cache_clear()
                status = self._tests(session) if _put(mutant, self.target, functions) else OTHERWISE
                os.write(writing, self.failed.encode())
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading) as said:
            killer = said.read()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), killer

    @staticmethod
    def _tests(session: pytest.Session) -> int:
        from _pytest.main import pytest_runtestloop

        try:
            pytest_runtestloop(session)
        except session.Failed:
            return 1
        return 1 if session.testsfailed else PASSED


def _functions(target: Path) -> tuple[dict[str, list[FunctionType]], list[Any]]:
    """The functions that the module has made, by qualified name, and the caches of the package."""
    functions: dict[str, list[FunctionType]] = {}
    caches = []
    for found in gc.get_objects():  # `isinstance` would ask some of them for their class, and they warn
        if type(found) is FunctionType and found.__code__.co_filename == str(target):
            functions.setdefault(found.__code__.co_qualname, []).append(found)
        elif type(found) is functools._lru_cache_wrapper and str(found.__module__).startswith("fedtheory"):
            caches.append(found)
    return functions, caches


def _put(mutant: Mutant, target: Path, functions: dict[str, list[FunctionType]]) -> bool:
    """Puts the mutant's code in place; whether that could be done."""
    codes = list(_codes(compile(mutant.source, str(target), "exec")))
    names = Counter(code.co_qualname for code in codes)
    for code in codes:
        if names[code.co_qualname] > 1:
            continue
        for function in functions.get(code.co_qualname, ()):
            if len(code.co_freevars) != len(function.__code__.co_freevars):
                return False
            function.__code__ = code
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The outermost functions' codes below a module's or a class's."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & CO_OPTIMIZED:
                yield constant
            else:
                yield from _codes(constant)


def run(copy: Path, tests: list[str], plugin: Quick, limit: int = 3600) -> int:
    """What pytest ends with, in a fork of its own in the copy, within so many seconds of its own computing."""
    child = os.fork()
    if child == 0:
        _test(copy, tests, plugin, limit)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _test(copy: Path, tests: list[str], plugin: Quick, limit: int) -> None:
    status = 1
    try:
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        os.chdir(copy)
        root = str(Path(__file__).resolve().parents[2])
        sys.path[:] = [str(copy), *(entry for entry in sys.path if entry not in ("", root))]
        os.environ["PYTHONPATH"] = str(copy)
        sys.dont_write_bytecode = not isinstance(plugin, Timed)
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "fedtheory")]:
            del sys.modules[name]
        options = ["-x", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=0", f"--rootdir={copy}"]
        status = int(pytest.main([*options, *tests], plugins=[plugin]))
    finally:
        os._exit(status)
