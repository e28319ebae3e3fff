"""MNIST and Fashion-MNIST: grey images of 28 x 28 pixels in IDX files.

Sources: Y. LeCun, C. Cortes and C. Burges, "The MNIST database of handwritten digits", 1998; H. Xiao, K. Rasul and
R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms", 2017.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..cache import Arrays, digest, parsed_once
from ..dataset import Dataset, Normalisation
from ..entry import Download, Entry
from ..idx import read_idx
from ..places import file
from .common import check_labels, copy_text

_SPLITS = {"train": "train", "test": "t10k"}
_STEMS = ("images-idx3-ubyte", "labels-idx1-ubyte")
FILES = tuple(f"{split}-{stem}" for split in _SPLITS.values() for stem in _STEMS)
_TORCHVISION = "torchvision/datasets/mnist.py"


def _downloads(home: str, *md5: str) -> tuple[Download, ...]:
    return tuple(Download(f"{home}{n}.gz", m, _TORCHVISION) for n, m in zip(FILES, md5, strict=True))


MNIST = Entry(
    name="mnist",
    classes=10,
    samples=(60_000, 10_000),
    loader="mnist:mnist",
    source='Y. LeCun, C. Cortes and C. Burges, "The MNIST database of handwritten digits", 1998',
    layouts=(FILES,),
    downloads=_downloads(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
)
FASHION_MNIST = Entry(
    name="fashion-mnist",
    classes=10,
    samples=(60_000, 10_000),
    loader="mnist:fashion_mnist",
    source='H. Xiao, K. Rasul and R. Vollgraf, "Fashion-MNIST: a novel image dataset", 2017',
    layouts=(FILES,),
    downloads=_downloads(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
    package="dataset-fashion-mnist",
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
    return _load(MNIST, normalisation, tuple("0123456789"))


def fashion_mnist() -> Dataset:
    """Fashion-MNIST: 60,000 + 10,000 images of clothes, (1, 28, 28), ten classes of equal size.

    Raises:
        FileNotFoundError: if no folder holds all four files.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> fashion_mnist().features.shape if FASHION_MNIST.found() else (60000, 1, 28, 28)
    (60000, 1, 28, 28)
    """
    normalisation = Normalisation((0.2860,), (0.3530,), "commonly used for Fashion-MNIST's training set")
    return _load(FASHION_MNIST, normalisation, _CLOTHES)


def read_pair(images: Path, labels: Path, classes: int, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 28, 28) and labels (N,), both uint8, from two IDX files; labels are counted from ``first``.

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
    check_labels(labels, marks.astype(np.int64) - first, classes)
    return pixels, marks - np.uint8(first)


def _load(entry: Entry, normalisation: Normalisation, class_names: tuple[str, ...]) -> Dataset:
    folder, _ = entry.located()
    files = [file(folder, name) or folder / name for name in FILES]
    key = digest(files)

    def parse() -> Arrays:
        arrays: Arrays = {}
        for split, images, labels, count in zip(_SPLITS, files[::2], files[1::2], entry.samples or (), strict=True):
            pixels, marks = read_pair(images, labels, entry.classes)
            if len(pixels) != count:
                raise ValueError(f"{images}: shape {pixels.shape}; allowed is {(count, 28, 28)}")
            arrays |= {f"{split}_images": pixels[:, None], f"{split}_labels": marks}
        return arrays

    arrays = parsed_once(entry.name, key, parse)
    published = {download.name: download.md5 for download in entry.downloads}
    copy = copy_text(folder, files, published, _TORCHVISION, key)

    def part(split: str, test: Dataset | None = None) -> Dataset:
        return Dataset(
            entry.name, arrays[f"{split}_images"], arrays[f"{split}_labels"], entry.classes, test, copy,
            normalisation, class_names=class_names,
        )  # fmt: skip

    return part("train", part("test"))
