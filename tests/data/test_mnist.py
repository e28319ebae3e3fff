"""MNIST, Fashion-MNIST and EMNIST from files that the tests make: where they are found, and every way to be wrong."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedtheory import data
from fedtheory.data.loaders import mnist as module

from .formats import idx, tenths, write

needs_fashion_mnist = pytest.mark.skipif(
    not data.available("fashion-mnist"), reason="Fashion-MNIST is not on this machine; `make data` fetches it"
)
SIZES = {"train": 3, "t10k": 2}


@pytest.fixture
def small(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets hold 3 and 2 images."""
    for name in ("MNIST", "FASHION_MNIST"):
        monkeypatch.setattr(module, name, replace(getattr(module, name), samples=(3, 2)))
    splits = {name: replace(split, samples=((3, 2),)) for name, split in module.EMNIST_SPLITS.items()}
    monkeypatch.setattr(module, "EMNIST_SPLITS", splits)
    return nowhere


def images(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, 28, 28), dtype=np.uint8)


def fill(folder: Path, packed: bool = True, label: int = 9) -> None:
    """The four files; every image of another content."""
    for split, size in SIZES.items():
        for stem, array in (("images-idx3", images(size)), ("labels-idx1", np.full(size, label))):
            content = idx(array)
            name = f"{split}-{stem}-ubyte"
            write(folder / (f"{name}.gz" if packed else name), gzip.compress(content, 1) if packed else content)


def test_missing_data_lists_the_places(small: Path) -> None:
    assert not data.available("fashion-mnist")
    with pytest.raises(FileNotFoundError) as caught:
        data.load("fashion-mnist")
    places = [small / "mine", small / "mine/fashion-mnist", small / "system/fashion-mnist", small / "cache/fedtheory"]
    assert all(str(place) in str(caught.value) for place in places)
    assert "fedtheory data fetch fashion-mnist" in str(caught.value) and "train-images-idx3-ubyte" in str(caught.value)


@pytest.mark.parametrize(
    "place", ["mine", "mine/fashion-mnist", "system/fashion-mnist", "cache/fedtheory/fashion-mnist"]
)
@pytest.mark.parametrize("packed", [True, False])
def test_every_place_is_looked_in(small: Path, place: str, packed: bool) -> None:
    fill(small / place, packed)
    loaded = data.load("fashion-mnist")
    assert data.available("fashion-mnist")
    np.testing.assert_array_equal(loaded.features[:, 0], images(3))
    np.testing.assert_array_equal(loaded.test.features[:, 0], images(2))
    assert loaded.labels.tolist() == [9, 9, 9] and loaded.test.labels.tolist() == [9, 9]
    assert "not the published content: train-images-idx3-ubyte" in loaded.copy


def test_the_named_folder_comes_first(small: Path) -> None:
    fill(small / "system/fashion-mnist", label=1)
    fill(small / "mine", label=2)
    assert data.load("fashion-mnist").labels[0] == 2


def test_files_of_mnist_in_the_bare_folder_are_not_taken(small: Path) -> None:
    """Fashion-MNIST's files have the same names."""
    fill(small / "mine")
    assert data.available("fashion-mnist") and not data.available("mnist")
    fill(small / "mine/mnist", label=4)
    assert data.mnist().labels.tolist() == [4, 4, 4] and data.mnist().name == "mnist"


def test_three_files_are_not_enough(small: Path) -> None:
    fill(small / "system/fashion-mnist")
    (small / "system/fashion-mnist/t10k-labels-idx1-ubyte.gz").unlink()
    assert not data.available("fashion-mnist")


def test_a_note_says_which_copy_it_is(small: Path) -> None:
    fill(small / "mine")
    write(small / "mine/COPY.txt", b"made up\nby a test\n")
    assert data.fashion_mnist().copy.startswith("made up by a test; not the published content")


WRONG: list[tuple[str, Callable[[], np.ndarray], str]] = [
    ("train-images-idx3-ubyte", lambda: np.zeros((3, 28)), "has 2 dimensions; allowed here is 3"),
    ("train-images-idx3-ubyte", lambda: np.zeros((3, 28, 27)), r"shape \(3, 28, 27\); allowed is \(3, 28, 28\)"),
    ("train-images-idx3-ubyte", lambda: np.zeros((2, 28, 28)), "holds 2 images but .* 3 labels"),
    ("t10k-labels-idx1-ubyte", lambda: np.zeros(1), "holds 2 images but .* 1 labels"),
    ("t10k-labels-idx1-ubyte", lambda: np.array([0, 10]), "label 10 of sample 1; allowed is 0 to 9"),
]


@pytest.mark.parametrize(("name", "array", "message"), WRONG)
def test_wrong_content(small: Path, name: str, array: Callable[[], np.ndarray], message: str) -> None:
    fill(small / "mine", packed=False)
    write(small / "mine" / name, idx(array().astype(np.uint8)))
    with pytest.raises(ValueError, match=message) as caught:
        data.fashion_mnist()
    assert str(small / "mine" / name) in str(caught.value)
    assert not list((small / "cache").rglob("*"))  # nothing half-parsed is kept


def test_wrong_number_of_images(small: Path) -> None:
    fill(small / "mine", packed=False)
    write(small / "mine/train-images-idx3-ubyte", idx(images(4)))
    write(small / "mine/train-labels-idx1-ubyte", idx(np.zeros(4, np.uint8)))
    with pytest.raises(ValueError, match="4 and 2 images; allowed are 3 and 2"):
        data.fashion_mnist()


def test_every_truncation_is_refused(small: Path) -> None:
    fill(small / "mine", packed=False)
    path = small / "mine/train-images-idx3-ubyte"
    for content in [*tenths(path.read_bytes()), path.read_bytes() + b"\0"]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="train-images-idx3-ubyte"):
            data.fashion_mnist()


def emnist_folder(folder: Path, split: str, labels: list[int]) -> None:
    for part, count in (("train", 3), ("test", 2)):
        write(folder / f"emnist-{split}-{part}-images-idx3-ubyte.gz", gzip.compress(idx(images(count))))
        marks = idx(np.array(labels[:count], dtype=np.uint8))
        write(folder / f"emnist-{split}-{part}-labels-idx1-ubyte.gz", gzip.compress(marks))


def test_emnist_is_upright_and_letters_count_from_0(small: Path) -> None:
    emnist_folder(small / "mine/emnist/gzip", "letters", [1, 26, 2])  # the folder that the official archive makes
    letters = data.emnist("letters")
    np.testing.assert_array_equal(letters.features[:, 0], images(3).transpose(0, 2, 1))
    assert letters.labels.tolist() == [0, 25, 1] and letters.classes == 26 and letters.class_names[25] == "Z"
    with pytest.raises(FileNotFoundError, match="emnist-balanced-train-images"):
        data.emnist()


@pytest.mark.parametrize(
    ("split", "labels", "allowed"),
    [("letters", [0, 1, 2], "1 to 26"), ("letters", [27, 1, 2], "1 to 26"), ("balanced", [47, 0, 0], "0 to 46"),
     ("byclass", [62, 0, 0], "0 to 61")],
)  # fmt: skip
def test_emnist_refuses_labels(small: Path, split: str, labels: list[int], allowed: str) -> None:
    emnist_folder(small / "mine/emnist", split, labels)
    with pytest.raises(ValueError, match=f"label {labels[0]} of sample 0; allowed is {allowed}"):
        data.emnist(split)


def test_emnist_names_as_many_classes_as_it_has() -> None:
    assert all(len(split.names) == split.classes for split in module.EMNIST_SPLITS.values())
    with pytest.raises(ValueError, match="split = 'writers': allowed is one of byclass"):
        data.emnist("writers")


@needs_fashion_mnist
def test_fashion_mnist() -> None:
    loaded = data.load("fashion-mnist")
    assert loaded.features.shape == (60_000, 1, 28, 28) and loaded.test.features.shape == (10_000, 1, 28, 28)
    assert np.bincount(loaded.labels).tolist() == [6000] * 10
    assert np.bincount(loaded.test.labels).tolist() == [1000] * 10
    measured = data.Normalisation.of(loaded.features)
    np.testing.assert_allclose([*measured.mean, *measured.std], [0.2860, 0.3530], atol=5e-5)
    assert (loaded.normalisation.mean, loaded.normalisation.std) == ((0.2860,), (0.3530,))
    assert loaded.copy.startswith("the published content")
