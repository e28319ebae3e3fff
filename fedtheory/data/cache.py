"""Arrays parsed once: kept as ``.npy`` files in a folder named by what they were parsed from, and memory-mapped.

The name is a hash of the content of all files read, of the options, and of ``VERSION``; so a changed file, another
option or a changed parser never meets old arrays. A folder is written beside and then renamed. What is kept is checked
for its shapes and types when it is read, not for single bits.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from .folders import cache_folder

VERSION = 1
"""Raise it when a parser's result changes."""

Arrays = dict[str, np.ndarray]


def digest(files: Sequence[Path]) -> str:
    """SHA-256 of the names and contents of files, in hexadecimal digits."""
    total = hashlib.sha256()
    for path in files:
        with open(path, "rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{path.name} {content}\n".encode())
    return total.hexdigest()


def key_of(content: str, options: Mapping[str, object]) -> str:
    """Return the key of the arrays that are parsed from this content under these options."""
    return hashlib.sha256(json.dumps([VERSION, content, options], sort_keys=True).encode()).hexdigest()


def parsed_once(name: str, key: str, parse: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of ``parse`` from the cache if they are there; otherwise parse and keep them.

    The arrays are memory-mapped copy-on-write: writing to them changes memory, never the file. If the cache cannot be
    written, the arrays are returned as they are.
    """
    folder = cache_folder() / "parsed" / f"{name}-{key[:32]}"
    kept = _read(folder)
    if kept is not None:
        return kept
    arrays = parse()
    try:
        _write(folder, arrays)
    except OSError:
        return arrays
    return _read(folder) or arrays


def _read(folder: Path) -> Arrays | None:
    """The arrays of a folder, or None if it is not there or not what was written."""
    try:
        shapes = json.loads((folder / "arrays.json").read_text(encoding="utf-8"))
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False) for name in shapes}
    except (OSError, ValueError):
        return None
    return arrays if shapes == _shapes(arrays) else None


def _shapes(arrays: Arrays) -> dict[str, list]:
    return {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}


def _write(folder: Path, arrays: Arrays) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, array in arrays.items():
            np.save(beside / f"{name}.npy", array, allow_pickle=False)
        (beside / "arrays.json").write_text(json.dumps(_shapes(arrays)), encoding="utf-8")
        if folder.exists():  # damaged: it could not be read
            os.replace(folder, beside / "damaged")
        os.replace(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(folder / "damaged", ignore_errors=True)
