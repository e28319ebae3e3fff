"""CIFAR-10 and CIFAR-100, in the "binary version": records of label bytes and 3,072 pixel bytes, channels first.

Source: A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009. A record of CIFAR-10 has one label
byte, one of CIFAR-100 two, the coarse label first. Pixels: 1,024 red, 1,024 green, 1,024 blue, each row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...files import Damaged, read_file
from ..cache import Arrays
from ..dataset import Dataset, Normalisation
from ..entry import Download, Entry
from .common import check_labels, read_once

PIXELS = 3 * 32 * 32
_HOME = "https://www.cs.toronto.edu/~kriz/"
_PAGE = "the data set's page, www.cs.toronto.edu/~kriz/cifar.html"
_DLDATASET = "github.com/rai-project/dldataset"
_BATCHES = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
CIFAR10 = Entry(
    name="cifar-10",
    classes=10,
    samples=(50_000, 10_000),
    loader="cifar:cifar10",
    source='A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009',
    layouts=((*_BATCHES, "test_batch.bin"),),
    inner=("cifar-10-batches-bin",),
    downloads=(
        Download(f"{_HOME}cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530", _PAGE, archive=True),
    ),
    content={
        "data_batch_1.bin": "md5:5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "md5:5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "md5:942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "md5:ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "md5:53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "md5:803d5f7f4d78ea53de84dbe85f74fb6d",
    },
    content_source=_DLDATASET,
)
CIFAR100 = Entry(
    name="cifar-100",
    bare=False,
    classes=100,
    samples=(50_000, 10_000),
    loader="cifar:cifar100",
    source='A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009',
    layouts=(("train.bin", "test.bin"),),
    inner=("cifar-100-binary",),
    downloads=(
        Download(f"{_HOME}cifar-100-binary.tar.gz", "md5:03b5dce01913d631647c71ecec9e9cb8", _PAGE, archive=True),
    ),
    content={
        "train.bin": "md5:6172c7755cfe09b2fe270c85cebc1b15",
        "test.bin": "md5:4499cfba6c016c1be1438163640a0898",
    },
    content_source=_DLDATASET,
)
COARSE = 20
_NAMES10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_NORMAL10 = Normalisation(
    (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616), "commonly used for CIFAR-10's training set"
)
_NORMAL100 = Normalisation(
    (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762), "commonly used for CIFAR-100's training set"
)


def cifar10() -> Dataset:
    """CIFAR-10: 50,000 + 10,000 colour images (3, 32, 32), ten classes.

    Raises:
        FileNotFoundError: if no folder holds the six files.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> CIFAR10.samples
    (50000, 10000)
    """
    return _load(CIFAR10, (*_BATCHES,), "test_batch.bin", 1, _NORMAL10)


def cifar100() -> Dataset:
    """CIFAR-100: 50,000 + 10,000 colour images (3, 32, 32), 100 classes; ``coarse_labels`` are the 20 superclasses.

    Raises:
        FileNotFoundError: if no folder holds the two files.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> CIFAR100.classes
    100
    """
    return _load(CIFAR100, ("train.bin",), "test.bin", 2, _NORMAL100)


def read_records(path: Path, label_bytes: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels (count, label_bytes) and images (count, 3, 32, 32) of a file of records, both uint8.

    Raises:
        ValueError: if the file has another length.
    """
    record = label_bytes + PIXELS
    content = np.frombuffer(read_file(path), np.uint8)
    if len(content) != count * record:
        raise Damaged(
            path, f"{len(content)} bytes; allowed is exactly {count * record}, {count} records of {record} bytes"
        )
    rows = content.reshape(count, record)
    return rows[:, :label_bytes], rows[:, label_bytes:].reshape(count, 3, 32, 32)


def _load(entry: Entry, train: Sequence[str], test: str, label_bytes: int, normalisation: Normalisation) -> Dataset:
    folder, _ = entry.located()
    samples = entry.samples or (0, 0)
    files = {name: folder / name for name in (*train, test)}

    def parse() -> Arrays:
        each = samples[0] // len(train)
        parts = [read_records(files[name], label_bytes, each) for name in train]
        held = read_records(files[test], label_bytes, samples[1])
        for name, (labels, _) in zip((*train, test), (*parts, held), strict=True):
            check_labels(files[name], labels[:, -1], entry.classes)
            if label_bytes == 2:
                check_labels(files[name], labels[:, 0], COARSE)
        return {
            "train_images": np.concatenate([images for _, images in parts]),
            "train_labels": np.concatenate([labels for labels, _ in parts]),
            "test_images": held[1],
            "test_labels": held[0],
        }

    arrays, copy = read_once(entry, entry.name, folder, list(files.values()), {}, parse)
    return _dataset(entry, arrays, copy, normalisation)


def _dataset(entry: Entry, arrays: Arrays, copy: str, normalisation: Normalisation) -> Dataset:
    def part(split: str, test: Dataset | None = None) -> Dataset:
        labels = arrays[f"{split}_labels"]
        return Dataset(
            entry.name,
            arrays[f"{split}_images"],
            labels[:, -1],
            entry.classes,
            test=test,
            copy=copy,
            normalisation=normalisation,
            coarse_labels=labels[:, 0] if labels.shape[1] == 2 else None,
            class_names=_NAMES10 if entry.classes == 10 else (),
        )

    return part("train", part("test"))
