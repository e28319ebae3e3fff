"""What all tests share: properties are about values, not about times, so that a loaded machine fails none of them; the
collector of cycles looks seldom at the many expressions and tests that stay, which takes a fourteenth of the time
otherwise; nothing waits for the disk; a worker gets whole files, or folders, so that what their tests share is made
once (``scheduling.py``); and processes that tests start can be interrupted, also where the tests themselves run in the
background of a shell, which has them ignore it."""

import gc
import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import scheduling, slowest

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # what is ignored stays so in processes that are started
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Of the terminal of who starts the tests, or of continuous integration, which asks for colours: what is printed here
# goes to neither.
OF_A_TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE",
                 "TTY_INTERACTIVE")  # fmt: skip
for name in OF_A_TERMINAL:
    os.environ.pop(name, None)

SELDOM = (100_000, 20, 20)
gc.set_threshold(*SELDOM)  # while tests are collected, too


@pytest.fixture(scope="session", autouse=True)
def _seldom_collected() -> Iterator[None]:
    """What was imported and collected stays, so it is not looked at again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _no_power_cut() -> Iterator[None]:
    """No test cuts the power, so that none has to wait until the disk has what is written: only what is to be written
    there is still looked at. Processes that tests start and kill write as they do elsewhere."""

    def sync(file: Any) -> None:
        os.fstat(file if isinstance(file, int) else file.fileno())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        yield


ROOT = Path(__file__).parents[1]

SLOW = frozenset(slowest.LIST.read_text(encoding="utf-8").splitlines())
"""Tests that `make test-all` runs, and `make test` does not, beside those that are marked where they stand."""
SLOW_FILES = frozenset(name.partition("::")[0] for name in SLOW)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests alone are asked for, leave out files without any: most take longer to import than to read."""
    only = collection_path.suffix == ".py" and slowest.only_slow(config.getoption("markexpr"))
    return True if only and not _may_be_slow(collection_path.relative_to(ROOT)) else None


@cache
def _may_be_slow(path: Path) -> bool:
    """Whether tests of a file are in the list, or may be marked where they stand."""
    name = ".".join(path.with_suffix("").parts)
    return name in SLOW_FILES or slowest.marks_slow((ROOT / path).read_text(encoding="utf-8"))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark what is slow; of what is left then, a worker takes first what takes longest."""
    for item in items:
        name = slowest.name_of(item.nodeid)
        if name in SLOW or name.partition("[")[0] in SLOW:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and not _may_be_slow(item.path.relative_to(ROOT)):
            raise pytest.UsageError(f"{item.nodeid} is slow, and `make test-all` does not see it in the file's text")
    yield
    if hasattr(config, "workerinput"):
        long = scheduling.LONG.read_text(encoding="utf-8").splitlines()
        items[:] = [items[i] for i in scheduling.longest_first([item.nodeid for item in items], long)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile``, some folders are as one file, and what takes longest begins first."""
    return scheduling.scheduler(config, log) if config.getvalue("dist") == "loadfile" else None
