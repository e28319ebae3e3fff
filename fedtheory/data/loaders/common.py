"""What loaders share: checks on labels and counts, the words on which copy was read, and data sets out of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

NOTE = "COPY.txt"
"""A file beside the data that says in words which copy they are."""


def check_labels(path: Path, labels: np.ndarray, classes: int) -> None:
    """Refuse labels outside 0 to ``classes - 1``, with the place of the first.

    Raises:
        ValueError: naming the file.
    """
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(wrong):
        raise ValueError(f"{path}: label {labels[wrong[0]]} of sample {wrong[0]}; allowed is 0 to {classes - 1}")


def check_count(path: Path, count: int, allowed: int) -> None:
    """Refuse another number of samples than published.

    Raises:
        ValueError: naming the file.
    """
    if count != allowed:
        raise ValueError(f"{path}: {count} samples; allowed is exactly {allowed}")


def copy_text(folder: Path, files: Sequence[Path], published: Mapping[str, str], whose: str, key: str) -> str:
    """Which copy of a data set was read, in words: what the folder's ``COPY.txt`` says, if there is one; whether the
    files have their published MD5; and the first digits of their common hash.

    Args:
        folder: where they are.
        files: what was read.
        published: MD5 of some of the files by name.
        whose: who published these.
        key: the hash of all files.
    """
    words = []
    if (folder / NOTE).is_file():
        words.append(" ".join((folder / NOTE).read_text(encoding="utf-8", errors="replace").split())[:500])
    known = [path for path in files if path.name in published]
    if known:
        other = [path.name for path in known if _md5(path) != published[path.name]]
        verdict = f"{', '.join(other)} differ from the published files" if other else "the published files"
        words.append(f"{verdict} (MD5 from {whose})")
    return "; ".join([*words, f"content {key[:12]}"])


def _md5(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()
