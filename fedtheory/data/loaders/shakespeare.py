"""Shakespeare's plays: a client for each speaking role, windows of characters, and the character that comes next.

Sources: H. B. McMahan, E. Moore, D. Ramage, S. Hampson and B. Aguera y Arcas, "Communication-efficient learning of deep
networks from decentralized data", 2017; S. Caldas and others, "LEAF: a benchmark for federated settings", 2018. Read is
either LEAF's JSON or plain text in which a line "NAME:" begins a speech and an empty line ends it. Plain text has no
length of its own: one cut short at the end of a line is read as it is, and only ``copy`` tells.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...files import Damaged, read_text
from ..cache import Arrays
from ..dataset import Dataset
from ..entry import Download, Entry
from . import leaf
from .common import read_once

LEAF_VOCABULARY = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
"""The 80 characters of LEAF's models."""
TEXT = "input.txt"
_SHA256 = "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
SHAKESPEARE = Entry(
    name="shakespeare",
    classes=len(LEAF_VOCABULARY),
    samples=None,
    loader="shakespeare:shakespeare",
    source='S. Caldas and others, "LEAF: a benchmark for federated settings", 2018',
    layouts=(leaf.SPLIT, leaf.WHOLE, (TEXT,)),
    inner=("data",),
    bare=False,
    downloads=(
        Download(
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
            _SHA256,
            "public loaders of tinyshakespeare",
        ),
    ),
    content={TEXT: _SHA256},
    content_source="public loaders of tinyshakespeare",
)
TARGETS = ("last", "every")
UNKNOWN = ("space", "refuse")


def shakespeare(
    window: int = 80,
    stride: int = 1,
    targets: str = "last",
    test_share: float = 0.2,
    vocabulary: str = LEAF_VOCABULARY,
    unknown: str = "space",
) -> Dataset:
    """Windows (N, window) of indices into the vocabulary, uint8, and the next character; ``clients`` are the roles.

    From plain text, a role's speeches, joined by line ends, make one text. Its last ``test_share`` (in characters,
    rounded down) is test text, the rest training text; windows, ``stride`` characters apart, never reach from one into
    the other. From LEAF's files, windows are as they are there (``window`` must be theirs, ``stride`` is 1), and
    ``test_share`` matters only without LEAF's own split: then it is the last windows of a role, and windows on both
    sides may share characters. Roles without a training window are left out.

    Args:
        window: characters of a window; 80 as in LEAF.
        stride: from one window to the next.
        targets: "last": labels (N,), the character after the window; "every": (N, window), the one after each.
        test_share: in (0, 1).
        vocabulary: the characters, each once, at most 256; LEAF's 80 by default.
        unknown: of characters outside it: "space": a space instead (counted in ``copy``); "refuse": an error.

    Raises:
        FileNotFoundError: if no folder holds the files.
        ValueError: an argument outside its range; a damaged file, or one with another window.

    >>> len(LEAF_VOCABULARY)
    80
    """
    _check(window, stride, targets, test_share, vocabulary, unknown)
    folder, layout = SHAKESPEARE.located()
    options = {"window": window, "stride": stride, "vocabulary": vocabulary, "unknown": unknown}
    coder = Coder(vocabulary, unknown)
    if layout == (TEXT,):
        arrays, copy = _from_text(folder, coder, window, stride, test_share, options)
    else:
        if stride != 1:
            raise ValueError(f"stride = {stride}: allowed with LEAF's files is 1")
        arrays, copy = leaf.load_users(
            SHAKESPEARE, folder, layout, test_share, partial(_leaf_windows, coder, window), options
        )
    names = tuple(str(name) for name in arrays["names"])

    def part(split: str, test: Dataset | None = None) -> Dataset:
        features, following = arrays[f"{split}_x"], arrays[f"{split}_y"]
        labels = following if targets == "last" else np.hstack([features[:, 1:], following[:, None]])
        return Dataset(
            "shakespeare",
            features,
            labels,
            len(vocabulary),
            test,
            copy,
            clients=arrays[f"{split}_clients"],
            client_names=names,
            vocabulary=vocabulary,
        )

    return part("train", part("test"))


class Coder:
    """Characters as indices into a vocabulary.

    >>> Coder("ab ", "space").encode("b?a").tolist()
    [1, 2, 0]
    """

    def __init__(self, vocabulary: str, unknown: str) -> None:
        self._vocabulary, self._unknown = vocabulary, unknown
        points = [ord(character) for character in vocabulary]
        self._table = np.full(max(*points, 255) + 1, -1, dtype=np.int64)
        self._table[points] = np.arange(len(points))

    def encode(self, text: str, where: str = "text") -> np.ndarray:
        """The indices, uint8, (len(text),).

        Raises:
            ValueError: a character outside the vocabulary, if those are refused.
        """
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
        known = points < len(self._table)
        indices = np.where(known, self._table[np.where(known, points, 0)], -1)
        strange = np.flatnonzero(indices < 0)
        if len(strange):
            if self._unknown == "refuse":
                raise ValueError(f"{where}: character {text[strange[0]]!r}; allowed are {self._vocabulary!r}")
            indices[strange] = self._vocabulary.index(" ")
        return indices.astype(np.uint8)

    def strange(self, text: str) -> int:
        """Count the characters outside the vocabulary."""
        return sum(character not in self._vocabulary for character in text)


def read_speeches(path: Path) -> dict[str, str]:
    """The text of each role, in the order in which they first speak; speeches are joined by line ends.

    Raises:
        ValueError: if the file is not UTF-8, does not end with a line end, or has a paragraph that does not begin with
            a line "NAME:".
    """
    text = read_text(path)
    if not text.endswith("\n"):
        raise Damaged(path, "ends within a line; allowed is a complete file")
    speeches: dict[str, list[str]] = {}
    line = 1
    for paragraph in text.removesuffix("\n").split("\n\n"):
        head, _, speech = paragraph.lstrip("\n").partition("\n")
        if not head.endswith(":") or len(head) < 2 or ":" in head[:-1]:
            raise Damaged(path, f"the paragraph at line {line} begins with {head[:40]!r}; allowed is 'NAME:'")
        speeches.setdefault(head[:-1], []).extend([speech] if speech else [])
        line += paragraph.count("\n") + 2
    return {role: "\n".join(each) for role, each in speeches.items()}


def windows(codes: np.ndarray, window: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows (n, window) and the code after each, (n,).

    >>> windows(np.arange(5), 3, 1)[1].tolist()
    [3, 4]
    """
    if len(codes) <= window:
        return np.empty((0, window), codes.dtype), np.empty(0, codes.dtype)
    views = np.lib.stride_tricks.sliding_window_view(codes, window + 1)[::stride]
    return views[:, :-1].copy(), views[:, -1].copy()


def _from_text(
    folder: Path, coder: Coder, window: int, stride: int, test_share: float, options: dict[str, Any]
) -> tuple[Arrays, str]:
    path = folder / TEXT

    def parse() -> Arrays:
        train, test = {}, {}
        roles = read_speeches(path)
        for role, text in roles.items():
            codes = coder.encode(text, str(path))
            cut = len(codes) - int(test_share * len(codes))
            pair = windows(codes[:cut], window, stride)
            if len(pair[1]):
                train[role], test[role] = pair, windows(codes[cut:], window, stride)
        strange = sum(coder.strange(text) for text in roles.values())
        return leaf.gathered(train, test) | {"strange": np.array([strange])}

    options = {**options, "test_share": test_share}
    arrays, copy = read_once(SHAKESPEARE, "shakespeare", folder, [path], options, parse)
    strange = int(arrays["strange"][0])
    return arrays, f"{copy}; characters made spaces: {strange}" if strange else copy


def _leaf_windows(coder: Coder, window: int, path: Path, x: list[Any], y: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    if not all(isinstance(each, str) and len(each) == window for each in x):
        raise Damaged(path, f"an x is no text of {window} characters; allowed is window = the files' own")
    if not all(isinstance(each, str) and len(each) == 1 for each in y):
        raise Damaged(path, "a y is no single character; allowed is one")
    return coder.encode("".join(x), str(path)).reshape(-1, window), coder.encode("".join(y), str(path))


def _check(window: int, stride: int, targets: str, test_share: float, vocabulary: str, unknown: str) -> None:
    for name, value in (("window", window), ("stride", stride)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} = {value!r}: allowed is an integer >= 1")
    for name, option, allowed in (("targets", targets, TARGETS), ("unknown", unknown, UNKNOWN)):
        if option not in allowed:
            raise ValueError(f"{name} = {option!r}: allowed is one of {', '.join(allowed)}")
    if not 0 < test_share < 1:
        raise ValueError(f"test_share = {test_share}: allowed is a number in (0, 1)")
    if not 2 <= len(vocabulary) <= 256 or len(set(vocabulary)) < len(vocabulary):
        raise ValueError(f"vocabulary = {vocabulary!r}: allowed are 2 to 256 characters, each once")
    if unknown == "space" and " " not in vocabulary:
        raise ValueError("vocabulary has no space: allowed is one that has, or unknown='refuse'")
