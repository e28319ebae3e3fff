"""Fashion-MNIST: 60,000 + 10,000 grey images of clothes, 28 x 28 pixels, ten classes of equal size.

Source: H. Xiao, K. Rasul and R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine learning
algorithms", 2017. The files are never part of this package; ``make data`` fetches them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from .dataset import Dataset
from .idx import read_idx

CLASSES = 10
FOLDER_VARIABLE = "FEDTHEORY_DATA"
SYSTEM_FOLDER = Path("/usr/share/datasets/fashion-mnist")  # where Debian's dataset-fashion-mnist puts it
_SIZES = {"train": 60_000, "t10k": 10_000}
_PARTS = {"images": "images-idx3-ubyte", "labels": "labels-idx1-ubyte"}
FILES = tuple(f"{split}-{part}" for split in _SIZES for part in _PARTS.values())


def own_folder() -> Path:
    """Where ``make data`` puts files that it downloads: below ``FEDTHEORY_DATA``, or in the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) / "fashion-mnist" if named else _cache_folder()


def folders() -> list[Path]:
    """The folders looked in, in this order: FEDTHEORY_DATA and its subfolder, the system's, the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return [*([Path(named), own_folder()] if named else []), SYSTEM_FOLDER, _cache_folder()]


def available() -> bool:
    """Whether some folder holds all four files (their content is checked by ``load``)."""
    return _folder() is not None


def load() -> Dataset:
    """The data set, features in [0, 1] of shape (60000, 784) and (10000, 784).

    Raises:
        FileNotFoundError: if no folder holds all four files.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> load().features.shape if available() else (60000, 784)
    (60000, 784)
    """
    folder = _folder()
    if folder is None:
        places = "".join(f"\n  {place}" for place in folders())
        raise FileNotFoundError(
            f"Fashion-MNIST is in none of the folders looked in:{places}\nGet it with `make data`, or set "
            f"{FOLDER_VARIABLE} to a folder that holds {', '.join(FILES)} (plain or .gz)."
        )
    features, labels = _read_split(folder, "train")
    return Dataset("fashion-mnist", features, labels, CLASSES, *_read_split(folder, "t10k"))


def _cache_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "fedtheory" / "fashion-mnist"


def _read_split(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    paths = {part: _file(folder, f"{split}-{stem}") or folder / f"{split}-{stem}" for part, stem in _PARTS.items()}
    images = read_idx(paths["images"], ndim=3, dtype=np.uint8)
    labels = read_idx(paths["labels"], ndim=1, dtype=np.uint8)
    if len(images) != len(labels):
        raise ValueError(
            f"{paths['images']} holds {len(images)} images but {paths['labels']} {len(labels)} labels: "
            "allowed is as many of the one as of the other"
        )
    expected = (_SIZES[split], 28, 28)
    if images.shape != expected:
        raise ValueError(f"{paths['images']}: shape {images.shape}; allowed is {expected}")
    if labels.max() >= CLASSES:
        raise ValueError(f"{paths['labels']}: a label is {labels.max()}; allowed is 0 to {CLASSES - 1}")
    return images.reshape(len(images), -1) / 255.0, labels.astype(np.int64)


def _folder() -> Path | None:
    return next((folder for folder in folders() if all(_file(folder, name) for name in FILES)), None)


def _file(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
