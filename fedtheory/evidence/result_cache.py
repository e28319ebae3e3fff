"""Cache of results by their content: what was asked, of which claim, by which code."""

from __future__ import annotations

import functools
import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..files import read_file, write_beside

LIBRARIES = ("numpy", "scipy", "sympy", "torch", "python-flint", "z3-solver", "scikit-learn")
"""Libraries on which a result may depend; another version of one asks again."""


@functools.cache
def code_fingerprint() -> str:
    """Hash this package's source and the versions of the libraries that results depend on."""
    content = hashlib.sha256()
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        content.update(str(path.relative_to(package)).encode() + path.read_bytes())
    for name in LIBRARIES:
        content.update(f"{name} {_version(name)}".encode())
    return content.hexdigest()


def _version(name: str) -> str:
    """The version of a library, or that it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


class Cache:
    """JSON results in a folder, one file each; a changed line of code makes all of them unknown.

    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> cache.get("search fast.thm2") is None
    True
    >>> cache.put("search fast.thm2", {"largest_ratio": 0.5})
    >>> cache.get("search fast.thm2")
    {'largest_ratio': 0.5}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> Any | None:
        """Return the result that this code stored under the key; ``None`` if there is none, or if the file cannot be
        read."""
        try:
            stored = json.loads(read_file(self._path(key)))
        except (OSError, ValueError, RecursionError):
            return None
        return stored["result"] if isinstance(stored, dict) and stored.get("key") == key else None

    def put(self, key: str, result: Any) -> None:
        """Store a result, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_beside(self._path(key), json.dumps({"key": key, "result": result}).encode())

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(f"{code_fingerprint()} {key}".encode()).hexdigest()
        return self.folder / f"{name[:32]}.json"
