"""Records of what made a number: the commit of the code, and what a run's bits depend on besides its draws.

A record is a name for each such thing with its value as a text: versions, threads, processor, device, and how the run
was split into parts. Runs are gone on with, and published together, only where records agree, unless that is asked for.
"""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

Record = dict[str, str]
OF_MACHINE = ("fedtheory", "torch", "numpy", "numba", "threads", "processor", "vector", "device")
"""The entries that all runs on one machine share; the others follow from the setting."""
UNKNOWN = "not recorded"
COMMIT = "commit.txt"
"""File in which a built package has its commit."""


def machine(device: str, threads: int) -> Record:
    """Record what a run's bits owe to the machine: versions, threads, processor, the width of its vectors, device.

    >>> tuple(machine("cpu", 1)) == OF_MACHINE
    True
    """
    import torch

    return {
        "fedtheory": _version(),
        "torch": torch.__version__,
        "numpy": _version("numpy"),
        "numba": _version("numba"),
        "threads": str(threads),
        "processor": processor(),
        "vector": torch.backends.cpu.get_cpu_capability(),
        "device": device,
    }


@functools.cache
def _version(package: str = "fedtheory") -> str:
    if package == "fedtheory":
        from . import __version__

        return __version__
    return metadata.version(package)


@functools.cache
def processor() -> str:
    """The architecture and the name of the processor, as far as the system says."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return " ".join(filter(None, (platform.machine(), names[0] if names else platform.processor())))


def differences(there: Mapping[str, str], here: Mapping[str, str], names: Iterable[str] | None = None) -> list[str]:
    """Describe in words the differences of two records, of ``names`` only, if given.

    >>> differences({"threads": "1"}, {"threads": "2", "path": "loop"})
    ['threads = 1 there, 2 here', 'path = not recorded there, loop here']
    """
    names = dict.fromkeys((*there, *here)) if names is None else names
    pairs = [(name, there.get(name, UNKNOWN), here.get(name, UNKNOWN)) for name in names]
    return [f"{name} = {a} there, {b} here" for name, a, b in pairs if a != b]


def together(records: Iterable[Mapping[str, str]]) -> Record:
    """One record of several: where they differ, all values, sorted.

    >>> together([{"threads": "1", "device": "cpu"}, {"threads": "2", "device": "cpu"}])
    {'threads': '1 | 2', 'device': 'cpu'}
    """
    records = list(records)
    names = dict.fromkeys(name for record in records for name in record)
    every = {name: [each for record in records for each in record.get(name, UNKNOWN).split(" | ")] for name in names}
    return {name: " | ".join(sorted(set(values))) for name, values in every.items()}


@functools.cache
def commit() -> str:
    """The commit of the code that runs: as it was written down when the package was built; else git's, with ``+`` if
    files differ from it, where the package lies in a checkout of its own repository; else the version."""
    package = Path(__file__).resolve().parent
    try:
        return (package / COMMIT).read_text(encoding="ascii").strip() or f"version {_version()}"
    except (OSError, UnicodeDecodeError):
        return commit_of_checkout(package) or f"version {_version()}"


def commit_of_checkout(package: Path) -> str | None:
    """Ask git for the commit of the package's folder; ``None`` outside of fedtheory's own repository."""
    top = package.parent

    def git(*words: str) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        run = subprocess.run(
            ["git", "-C", str(top), *words], capture_output=True, text=True, timeout=20, check=True, env=own
        )
        return run.stdout.strip()

    try:
        project = tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
        if project != "fedtheory" or Path(git("rev-parse", "--show-toplevel")).resolve() != top:
            return None
        git("ls-files", "--error-unmatch", f"{package.name}/__init__.py")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", package.name)
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return None
