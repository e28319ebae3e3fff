"""MNIST, Fashion-MNIST and EMNIST: grey images of 28 x 28 pixels in IDX files.

Sources: Y. LeCun, C. Cortes and C. Burges, "The MNIST database of handwritten digits", 1998; H. Xiao, K. Rasul and
R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms", 2017; G. Cohen,
S. Afshar, J. Tapson and A. van Schaik, "EMNIST: extending MNIST to handwritten letters", 2017.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..cache import Arrays
from ..dataset import Dataset, Normalisation
from ..entry import Download, Entry
from ..folders import file
from ..idx import read_idx
from .common import check_labels, read_once

_SPLITS = {"train": "train", "test": "t10k"}
_STEMS = ("images-idx3-ubyte", "labels-idx1-ubyte")
FILES = tuple(f"{split}-{stem}" for split in _SPLITS.values() for stem in _STEMS)
_TORCHVISION = "torchvision/datasets/mnist.py"


def _downloads(home: str, *md5: str) -> tuple[Download, ...]:
    return tuple(Download(f"{home}{n}.gz", f"md5:{m}", _TORCHVISION) for n, m in zip(FILES, md5, strict=True))


def _content(*md5: str) -> dict[str, str]:
    return {name: f"md5:{each}" for name, each in zip(FILES, md5, strict=True)}


MNIST = Entry(
    name="mnist",
    bare=False,
    classes=10,
    samples=(60_000, 10_000),
    loader="mnist:mnist",
    source='Y. LeCun, C. Cortes and C. Burges, "The MNIST database of handwritten digits", 1998',
    layouts=(FILES,),
    packed=True,
    downloads=_downloads(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
    content=_content(
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    ),
    content_source="public loaders that check the unpacked files",
)
FASHION_MNIST = Entry(
    name="fashion-mnist",
    classes=10,
    samples=(60_000, 10_000),
    loader="mnist:fashion_mnist",
    source='H. Xiao, K. Rasul and R. Vollgraf, "Fashion-MNIST: a novel image dataset", 2017',
    layouts=(FILES,),
    packed=True,
    downloads=_downloads(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
    package="dataset-fashion-mnist",
    content=_content(
        "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "9018921c3c673c538a1fc5bad174d6f9",
        "8181f5470baa50b63fa0f6fddb340f0a",
        "15d484375f8d13e6eb1aabb0c3f46965",
    ),
    content_source="public loaders that check the unpacked files",
)


@dataclass(frozen=True)
class Split:
    """One of EMNIST's ways of labelling: classes, (training, test) samples as published, the first label in its files,
    and the classes' names."""

    classes: int
    samples: tuple[tuple[int, int], ...]
    first: int
    names: str


_MERGED = string.digits + string.ascii_uppercase + "abdefghnqrt"  # the lower case letters that look like no other
EMNIST_SPLITS = {
    "byclass": Split(62, ((697_932, 116_323),), 0, string.digits + string.ascii_uppercase + string.ascii_lowercase),
    "bymerge": Split(47, ((697_932, 116_323),), 0, _MERGED),
    "balanced": Split(47, ((112_800, 18_800),), 0, _MERGED),
    "letters": Split(26, ((124_800, 20_800), (88_800, 14_800)), 1, string.ascii_uppercase),
    "digits": Split(10, ((240_000, 40_000),), 0, string.digits),
    "mnist": Split(10, ((60_000, 10_000),), 0, string.digits),
}


def emnist_files(split: str) -> tuple[str, ...]:
    """The four files of one of EMNIST's splits."""
    return tuple(f"emnist-{split}-{part}-{stem}" for part in ("train", "test") for stem in _STEMS)


EMNIST = Entry(
    name="emnist",
    classes=62,
    samples=(697_932, 116_323),
    loader="mnist:emnist",
    source='G. Cohen, S. Afshar, J. Tapson and A. van Schaik, "EMNIST: extending MNIST to handwritten letters", 2017',
    layouts=tuple(emnist_files(split) for split in EMNIST_SPLITS),
    packed=True,
    inner=("gzip",),
    downloads=(
        Download(
            "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
            "md5:58c8d27c78d21e728a6bc7b3cc06412e",
            _TORCHVISION,
            archive=True,
        ),
    ),
)
_CLOTHES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def mnist() -> Dataset:
    """MNIST: 60,000 + 10,000 images of handwritten digits, (1, 28, 28), ten classes.

    Raises:
        FileNotFoundError: if no folder holds all four files.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> MNIST.samples
    (60000, 10000)
    """
    normalisation = Normalisation((0.1307,), (0.3081,), "commonly used for MNIST's training set")
    return _load(MNIST, "mnist", FILES, Split(10, _published(MNIST), 0, string.digits), normalisation)


def fashion_mnist() -> Dataset:
    """Fashion-MNIST: 60,000 + 10,000 images of clothes, (1, 28, 28), ten classes of equal size.

    Raises:
        FileNotFoundError: if no folder holds all four files.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> fashion_mnist().features.shape if FASHION_MNIST.found() else (60000, 1, 28, 28)
    (60000, 1, 28, 28)
    """
    normalisation = Normalisation((0.2860,), (0.3530,), "commonly used for Fashion-MNIST's training set")
    split = Split(10, _published(FASHION_MNIST), 0, "")
    return _load(FASHION_MNIST, "fashion-mnist", FILES, split, normalisation, _CLOTHES)


def emnist(split: str = "balanced") -> Dataset:
    """EMNIST: handwritten digits and letters, (1, 28, 28), upright; the files hold every image transposed.

    These files do not say who wrote what. Writers are in NIST's Special Database 19 and in what LEAF makes of it:
    ``femnist``.

    Args:
        split: "byclass" (62 classes), "bymerge" and "balanced" (47), "letters" (26; its files count labels from 1,
            here from 0), "digits" or "mnist" (10).

    Raises:
        FileNotFoundError: if no folder holds the split's four files.
        ValueError: an unknown split; or a file is damaged or holds something else; it names the file.

    >>> EMNIST_SPLITS["letters"].classes
    26
    """
    if split not in EMNIST_SPLITS:
        raise ValueError(f"split = {split!r}: allowed is one of {', '.join(EMNIST_SPLITS)}")
    return _load(EMNIST, f"emnist-{split}", emnist_files(split), EMNIST_SPLITS[split], None, transposed=True)


def read_pair(images: Path, labels: Path, classes: int, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 28, 28) and labels (N,), both uint8, from two IDX files whose labels are counted from ``first``.

    Raises:
        ValueError: if a file is damaged, the two do not fit each other, or a label is out of range.
    """
    pixels = read_idx(images, ndim=3, dtype=np.uint8)
    marks = read_idx(labels, ndim=1, dtype=np.uint8)
    if len(pixels) != len(marks):
        raise ValueError(
            f"{images} holds {len(pixels)} images but {labels} {len(marks)} labels: "
            "allowed is as many of the one as of the other"
        )
    if pixels.shape[1:] != (28, 28):
        raise ValueError(f"{images}: shape {pixels.shape}; allowed is ({len(pixels)}, 28, 28)")
    check_labels(labels, marks.astype(np.int64), classes, first)
    return pixels, marks - np.uint8(first)


def _published(entry: Entry) -> tuple[tuple[int, int], ...]:
    return () if entry.samples is None else (entry.samples,)


def _load(
    entry: Entry,
    name: str,
    names: Sequence[str],
    split: Split,
    normalisation: Normalisation | None,
    class_names: tuple[str, ...] = (),
    transposed: bool = False,
) -> Dataset:
    folder, _ = entry.located([names])
    files = [file(folder, each) or folder / each for each in names]

    def parse() -> Arrays:
        pairs = [read_pair(files[i], files[i + 1], split.classes, split.first) for i in (0, 2)]
        counts = tuple(len(pixels) for pixels, _ in pairs)
        if counts not in split.samples:
            allowed = " or ".join(f"{train} and {test}" for train, test in split.samples)
            raise ValueError(f"{files[0]} and {files[2]}: {counts[0]} and {counts[1]} images; allowed are {allowed}")
        arrays: Arrays = {}
        for part, (pixels, marks) in zip(_SPLITS, pairs, strict=True):
            upright = pixels.transpose(0, 2, 1) if transposed else pixels
            arrays |= {f"{part}_images": np.ascontiguousarray(upright[:, None]), f"{part}_labels": marks}
        return arrays

    arrays, copy = read_once(entry, name, folder, files, {}, parse)

    def part(split_name: str, test: Dataset | None = None) -> Dataset:
        return Dataset(
            name,
            arrays[f"{split_name}_images"],
            arrays[f"{split_name}_labels"],
            split.classes,
            test,
            copy,
            normalisation,
            class_names=class_names or tuple(split.names),
        )

    return part("train", part("test"))
