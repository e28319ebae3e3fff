"""Shared parts of loaders: checks on labels and counts, the words on which copy was read, and data sets out of
arrays."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...files import Damaged, open_regular, parsing, read_file
from ..cache import Arrays, digest, key_of, parsed_once
from ..entry import Entry

NOTE = "COPY.txt"
"""A file beside the data that says in words which copy they are."""


def check_labels(path: Path, labels: np.ndarray, classes: int, first: int = 0) -> None:
    """Refuse labels outside ``first`` to ``first + classes - 1``, with the place of the first that is.

    Raises:
        ValueError: naming the file.
    """
    wrong = np.flatnonzero((labels < first) | (labels >= first + classes))
    if len(wrong):
        allowed = f"{first} to {first + classes - 1}"
        raise Damaged(path, f"label {labels[wrong[0]]} of sample {wrong[0]}; allowed is {allowed}")


def check_count(path: Path, count: int, allowed: int) -> None:
    """Refuse another number of samples than published.

    Raises:
        ValueError: naming the file.
    """
    if count != allowed:
        raise Damaged(path, f"{count} samples; allowed is exactly {allowed}")


def read_once(
    entry: Entry, name: str, folder: Path, files: Sequence[Path], options: dict[str, Any], parse: Callable[[], Arrays]
) -> tuple[Arrays, str]:
    """Return the arrays that ``parse`` makes of files, from the cache where they are there already.

    Also says in words which copy was read: what the folder's ``COPY.txt`` says, if there is one; whether the files'
    content, unpacked, has its published checksum; and the first digits of their common hash.

    Args:
        entry: what is published.
        name: of the folder in the cache.
        folder: where the files are.
        files: all that is read.
        options: what else decides the result.
        parse: called if the cache has nothing; it may raise.
    """
    content = digest(files)
    key = key_of(content, {**options, "published": dict(entry.content)})
    arrays = parsed_once(name, key, lambda: parse() | {"verdict": np.array(_verdict(entry, files))})
    return arrays, "; ".join(filter(None, [_note(folder), str(arrays["verdict"]), f"hash {content[:12]}"]))


def words_on(entry: Entry, folder: Path, files: Sequence[Path]) -> str:
    """Describe which copy these files are, without their hash; "" where nothing is known."""
    return "; ".join(filter(None, [_note(folder), _verdict(entry, files)]))


def _note(folder: Path) -> str:
    path = folder / NOTE
    return " ".join(read_file(path).decode("utf-8", errors="replace").split())[:500] if path.is_file() else ""


def _verdict(entry: Entry, files: Sequence[Path]) -> str:
    known = [path for path in files if _plain(path) in entry.content]
    if not known:
        return ""
    other = [_plain(path) for path in known if not _fits(path, entry.content[_plain(path)])]
    differs = f"not the published content: {', '.join(other)}" if other else "the published content"
    unknown = len(files) - len(known)
    rest = f"; {unknown} of {len(files)} files have no checksum and were not checked" if unknown else ""
    return f"{differs} (checksums from {entry.content_source}){rest}"


def _plain(path: Path) -> str:
    return path.name.removesuffix(".gz")


def _fits(path: Path, checksum: str) -> bool:
    kind, expected = checksum.split(":")
    total = hashlib.new(kind)
    with parsing(path, "cannot be read to its end"), open_regular(path) as file:
        stream = gzip.open(file) if path.suffix == ".gz" else file  # noqa: SIM115
        while block := stream.read(2**20):
            total.update(block)
    return total.hexdigest() == expected
