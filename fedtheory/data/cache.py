"""Arrays parsed once: kept as ``.npy`` files in a folder named by what they were parsed from, and memory-mapped.

The name is a hash of the content of all files read, of the options, and of ``VERSION``; so a changed file, another
option or a changed parser never meets old arrays. A folder is written beside, synced and then renamed. Each file has
its hash in a sealed list, which is checked when the file is opened; what does not fit is parsed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..files import json_text, read_json, temporary_folder
from ..seals import check_seal, sealed
from .folders import cache_folder

VERSION = 2
"""Raise it when a parser's result, or what is kept of it, changes."""
LIST = "arrays.json"
"""The arrays of a folder, with their shapes and hashes."""

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
        listed = read_json(folder / LIST)
        check_seal(listed)
        files = {name: folder / f"{name}.npy" for name in listed["arrays"]}
        hashes = {name: entry["sha256"] for name, entry in listed["arrays"].items()}
        if any(path.parent != folder or _hash(path) != hashes[name] for name, path in files.items()):
            return None
        arrays = {name: np.load(path, mmap_mode="c", allow_pickle=False) for name, path in files.items()}
        shapes = {name: entry["shape"] for name, entry in listed["arrays"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, EOFError):
        return None
    return arrays if shapes == _shapes(arrays) else None


def _hash(path: Path) -> str:
    """SHA-256 of a regular file, in hexadecimal digits; of a link, a pipe or a device there is none."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{path} is no regular file")
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _shapes(arrays: Arrays) -> dict[str, list]:
    return {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}


def _write(folder: Path, arrays: Arrays) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder.parent) as beside, temporary_folder(folder.parent) as aside:
        listed = {}
        for name, shape in _shapes(arrays).items():
            path = beside / f"{name}.npy"
            np.save(path, arrays[name], allow_pickle=False)
            listed[name] = {"shape": shape, "sha256": _hash(path)}
            _sync(path)
        (beside / LIST).write_text(json_text(sealed({"arrays": listed})), encoding="utf-8")
        _sync(beside / LIST)
        _sync(beside)
        if folder.is_dir() and not folder.is_symlink():  # damaged: it could not be read
            os.replace(folder, aside / "damaged")
        elif folder.exists() or folder.is_symlink():
            folder.unlink()
        os.replace(beside, folder)
        _sync(folder.parent)


def _sync(path: Path) -> None:
    """Have a file or folder written to the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
