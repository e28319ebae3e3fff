"""SVHN, street view house numbers, in the "cropped digits" files: MATLAB 5 files with X (32, 32, 3, N) and y (N, 1).

Source: Y. Netzer, T. Wang, A. Coates, A. Bissacco, B. Wu and A. Y. Ng, "Reading digits in natural images with
unsupervised feature learning", 2011. The files label the digit 0 by 10.
"""

from __future__ import annotations

import math
import os
import re
import struct
from pathlib import Path

import numpy as np

from ...files import Damaged, largest, open_regular, parsing
from ..cache import Arrays
from ..dataset import Dataset, Normalisation
from ..entry import Download, Entry
from .common import check_count, check_labels, read_once

_HOME = "http://ufldl.stanford.edu/housenumbers/"
_TORCHVISION = "torchvision/datasets/svhn.py"
COUNTS = {"train": 73_257, "test": 26_032, "extra": 531_131}
SVHN = Entry(
    name="svhn",
    classes=10,
    samples=(73_257, 26_032),
    loader="svhn:svhn",
    source='Y. Netzer and others, "Reading digits in natural images with unsupervised feature learning", 2011',
    layouts=(("train_32x32.mat", "test_32x32.mat"),),
    downloads=(
        Download(f"{_HOME}train_32x32.mat", "md5:e26dedcc434d2e4c54c9b2d4a06d8373", _TORCHVISION),
        Download(f"{_HOME}test_32x32.mat", "md5:eb5a983be6a315427106f1b164d9cef3", _TORCHVISION),
    ),
    content={
        "train_32x32.mat": "md5:e26dedcc434d2e4c54c9b2d4a06d8373",
        "test_32x32.mat": "md5:eb5a983be6a315427106f1b164d9cef3",
        "extra_32x32.mat": "md5:a93ce644f1a588dc4d68dda5feec44a7",
    },
    content_source=_TORCHVISION,
)
_NORMAL = Normalisation(
    (0.4376821, 0.4437697, 0.47280442), (0.19803012, 0.20101562, 0.19703614), "FedAU's public code, for SVHN"
)


def svhn(extra: bool = False) -> Dataset:
    """SVHN: 73,257 + 26,032 colour images (3, 32, 32) of house numbers' digits, ten classes.

    Args:
        extra: whether the 531,131 "extra" images are training data too.

    Raises:
        FileNotFoundError: if no folder holds the files.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> SVHN.samples
    (73257, 26032)
    """
    splits = ("train", "extra", "test") if extra else ("train", "test")
    names = [f"{split}_32x32.mat" for split in splits]
    folder, _ = SVHN.located([names])
    files = [folder / name for name in names]

    def parse() -> Arrays:
        parts = [read_mat(path, COUNTS[split]) for split, path in zip(splits, files, strict=True)]
        train, test = parts[:-1], parts[-1]
        return {
            "train_images": np.concatenate([images for images, _ in train]),
            "train_labels": np.concatenate([labels for _, labels in train]),
            "test_images": test[0],
            "test_labels": test[1],
        }

    arrays, copy = read_once(SVHN, "svhn", folder, files, {}, parse)

    def part(split: str, held: Dataset | None = None) -> Dataset:
        images, labels = arrays[f"{split}_images"], arrays[f"{split}_labels"]
        return Dataset("svhn", images, labels, 10, held, copy, _NORMAL, class_names=tuple("0123456789"))

    return part("train", part("test"))


def read_mat(path: Path, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 3, 32, 32) and labels (N,), both uint8, the label of a digit being the digit.

    Args:
        count: how many there have to be; what the file states is looked at before it is unpacked.

    Raises:
        Damaged: if the file is no complete MATLAB 5 file of exactly X and y in that form.
    """
    from scipy.io import loadmat, whosmat  # lazily: it takes a while to import

    _check_length(path)
    with parsing(path, "not read as a MATLAB 5 file", "; allowed is a complete one"), open_regular(path) as file:
        stated = {name: (shape, kind) for name, shape, kind in whosmat(file, appendmat=False)}
    if sorted(stated) != ["X", "y"]:
        raise Damaged(path, f"holds {', '.join(sorted(stated)) or 'nothing'}; allowed are exactly X and y")
    (shape, kind), (marked, marks_kind) = stated["X"], stated["y"]  # before anything is unpacked
    if kind != "uint8" or len(shape) != 4 or shape[:3] != (32, 32, 3):
        raise Damaged(path, f"X has shape {shape}, type {kind}; allowed is (32, 32, 3, N), uint8")
    if marked != (shape[3], 1) or not re.fullmatch(r"u?int\d+|single|double", marks_kind):
        raise Damaged(path, f"y has shape {marked}, type {marks_kind}; allowed is ({shape[3]}, 1), whole numbers")
    if count is not None:
        check_count(path, shape[3], count)
    elif math.prod(shape) > largest():
        raise Damaged(path, f"X has {math.prod(shape)} bytes; allowed are {largest()}")
    with parsing(path, "not read as a MATLAB 5 file", "; allowed is a complete one"), open_regular(path) as file:
        content = loadmat(file, appendmat=False)
    pixels, marks = content["X"], content["y"]
    if pixels.dtype != np.uint8 or pixels.shape != shape or marks.shape != marked or (marks != np.floor(marks)).any():
        raise Damaged(
            path, f"y has shape {marks.shape}, type {marks.dtype}; allowed is ({pixels.shape[3]}, 1), whole numbers"
        )
    labels = marks[:, 0].astype(np.int64)
    check_labels(path, labels, 10, first=1)
    return np.ascontiguousarray(pixels.transpose(3, 2, 0, 1)), (labels % 10).astype(np.uint8)


def _check_length(path: Path) -> None:
    """Refuse a file whose elements do not end where the file ends: 128 bytes of header, then elements of 8 bytes that
    say their length, and so many bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        order = {b"IM": "<", b"MI": ">"}.get(file.read(128)[126:])
        place = 128
        while order and place < size:
            file.seek(place)
            tag = file.read(8)
            place = place + 8 + struct.unpack(f"{order}II", tag)[1] if len(tag) == 8 else size + 1
    if order is None or place != size:
        fault = "the header names no byte order" if order is None else "an element ends elsewhere than the file"
        raise Damaged(path, f"not read as a MATLAB 5 file ({fault}); allowed is a complete one")
