"""CIFAR, SVHN and CINIC-10 from files that the tests make, and every way in which those can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from fedtheory import data
from fedtheory.data.loaders import cifar, cinic, svhn

from .formats import cifar as records
from .formats import mat, png, tar_gz, tenths, write

BATCHES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]


def pixels(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def refuses(path: Path, contents: list[bytes], load: Callable[[], object], message: str | None = None) -> None:
    """Each of these contents of a file is refused by an error that names the file, and nothing of it is kept."""
    good = path.read_bytes()
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            load()
        assert path.name in str(caught.value) and "allowed" in str(caught.value)
    path.write_bytes(good)
    load()


# CIFAR-10 and CIFAR-100


@pytest.fixture
def cifar10(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two images in each of the six files; the labels are 0, 1, ..., 9 and then 3, 7."""
    monkeypatch.setattr(cifar, "CIFAR10", replace(cifar.CIFAR10, samples=(10, 2)))
    for i, name in enumerate(BATCHES):
        labels = [(2 * i,), (2 * i + 1,)] if i < 5 else [(3,), (7,)]
        write(nowhere / "mine/cifar-10-batches-bin" / name, records(labels, pixels(2, 3, 32, 32, seed=i)))
    return nowhere / "mine/cifar-10-batches-bin"


def test_cifar10(cifar10: Path) -> None:
    loaded = data.cifar10()
    expected = np.concatenate([pixels(2, 3, 32, 32, seed=i) for i in range(5)])
    np.testing.assert_array_equal(loaded.features, expected)
    np.testing.assert_array_equal(loaded.test.features, pixels(2, 3, 32, 32, seed=5))
    assert loaded.labels.tolist() == list(range(10)) and loaded.test.labels.tolist() == [3, 7]
    assert loaded.coarse_labels is None and loaded.class_names[9] == "truck"


def test_cifar10_refuses(cifar10: Path) -> None:
    path = cifar10 / "data_batch_4.bin"
    good = path.read_bytes()
    refuses(path, [*tenths(good), good + b"\0"], data.cifar10, "allowed is exactly 6146, 2 records of 3073 bytes")
    refuses(path, [good[:3073] + b"\x0a" + good[3074:]], data.cifar10, "label 10 of sample 1; allowed is 0 to 9")


@pytest.fixture
def cifar100(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cifar, "CIFAR100", replace(cifar.CIFAR100, samples=(3, 1)))
    folder = nowhere / "mine/cifar-100/cifar-100-binary"
    write(folder / "train.bin", records([(19, 99), (0, 5), (4, 0)], pixels(3, 3, 32, 32)))
    write(folder / "test.bin", records([(7, 50)], pixels(1, 3, 32, 32)))
    return folder


def test_cifar100_has_coarse_labels_first(cifar100: Path) -> None:
    loaded = data.cifar100()
    assert loaded.labels.tolist() == [99, 5, 0] and loaded.coarse_labels.tolist() == [19, 0, 4]
    assert (loaded.test.labels[0], loaded.test.coarse_labels[0], loaded.classes) == (50, 7, 100)
    np.testing.assert_array_equal(loaded.features, pixels(3, 3, 32, 32))


def test_cifar100_refuses(cifar100: Path) -> None:
    path = cifar100 / "train.bin"
    good = path.read_bytes()
    refuses(path, [*tenths(good), good + good[:3074]], data.cifar100, "records of 3074 bytes")
    refuses(path, [b"\x14" + good[1:]], data.cifar100, "label 20 of sample 0; allowed is 0 to 19")
    refuses(path, [good[:1] + b"\x64" + good[2:]], data.cifar100, "label 100 of sample 0; allowed is 0 to 99")


# SVHN


def svhn_file(path: Path, labels: list[int], seed: int) -> Path:
    marks = np.array(labels, dtype=np.uint8)[:, None]
    return write(path, mat(X=pixels(32, 32, 3, len(labels), seed=seed), y=marks))


@pytest.fixture
def houses(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(svhn, "COUNTS", {"train": 3, "test": 2, "extra": 1})
    for seed, (split, labels) in enumerate({"train": [1, 10, 9], "test": [10, 2], "extra": [5]}.items()):
        svhn_file(nowhere / "mine/svhn" / f"{split}_32x32.mat", labels, seed)
    return nowhere / "mine/svhn"


def test_svhn(houses: Path) -> None:
    loaded = data.svhn()
    assert loaded.labels.tolist() == [1, 0, 9] and loaded.test.labels.tolist() == [0, 2]
    original = pixels(32, 32, 3, 3, seed=0)
    assert loaded.features[1, 2, 5, 7] == original[5, 7, 2, 1]  # sample, channel, row, column
    np.testing.assert_array_equal(loaded.features, original.transpose(3, 2, 0, 1))
    assert data.svhn(extra=True).labels.tolist() == [1, 0, 9, 5]


def test_svhn_as_scipy_writes_it(houses: Path) -> None:
    """Compressed, as the official files are."""
    marks = np.array([[3], [4]], dtype=np.uint8)
    original = pixels(32, 32, 3, 2, seed=9)
    scipy.io.savemat(houses / "test_32x32.mat", {"X": original, "y": marks}, do_compression=True)
    np.testing.assert_array_equal(data.svhn().test.features, original.transpose(3, 2, 0, 1))


@pytest.mark.parametrize("compressed", [True, False])
def test_svhn_refuses_damaged_files(houses: Path, compressed: bool) -> None:
    path = houses / "test_32x32.mat"
    if compressed:
        content = {"X": pixels(32, 32, 3, 2), "y": np.array([[3], [4]], dtype=np.uint8)}
        scipy.io.savemat(path, content, do_compression=True)
    good = path.read_bytes()
    refuses(path, [*tenths(good), good[:-1], good + b"garbage!" * 3], data.svhn)
    refuses(path, [good + b"\0" * 4], data.svhn, "an element ends elsewhere")  # half a tag
    refuses(path, [good[:124] + b"\0\2" + good[126:]], data.svhn, "not read as a MATLAB 5 file")  # a version of its own
    refuses(
        path, [b"\x89HDF\r\n\x1a\n" + good[8:124] + b"\0\2IM" + good[128:]], data.svhn, "not read as a MATLAB 5 file"
    )


WRONG_MAT = {
    "label 0": ({"X": pixels(32, 32, 3, 2), "y": np.array([[0], [1]])}, "label 0 of sample 0; allowed is 1 to 10"),
    "label 11": ({"X": pixels(32, 32, 3, 2), "y": np.array([[1], [11]])}, "label 11 of sample 1; allowed is 1 to 10"),
    "too many": ({"X": pixels(32, 32, 3, 3), "y": np.ones((3, 1))}, "3 samples; allowed is exactly 2"),
    "other labels": ({"X": pixels(32, 32, 3, 2), "y": np.ones((3, 1))}, r"y has shape \(3, 1\)"),
    "other shape": ({"X": pixels(3, 32, 32, 2), "y": np.ones((2, 1))}, r"X has shape \(3, 32, 32, 2\)"),
    "no labels": ({"X": pixels(32, 32, 3, 2)}, "holds X; allowed are exactly X and y"),
    "more": ({"X": pixels(32, 32, 3, 2), "y": np.ones((2, 1)), "z": np.ones((1, 1))}, "holds X, y, z; allowed"),
}


@pytest.mark.parametrize("case", WRONG_MAT)
def test_svhn_refuses_other_content(houses: Path, case: str) -> None:
    content, message = WRONG_MAT[case]
    made = mat(**{name: array.astype(np.uint8) for name, array in content.items()})
    refuses(houses / "test_32x32.mat", [made], data.svhn, message)


# CINIC-10


@pytest.fixture
def one_each(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Splits have one image of each class; files are written by the tests."""
    monkeypatch.setattr(cinic, "EACH", 1)
    return nowhere


def cinic_files(splits: tuple[str, ...] = cinic.SPLITS) -> dict[str, bytes]:
    places = [(split, name) for split in splits for name in cinic.CLASSES]
    return {f"{s}/{n}/{s}-{n}.png": png(pixels(3, 32, 32, seed=i)) for i, (s, n) in enumerate(places)}


def test_cinic10_from_folders_and_from_the_archive(one_each: Path) -> None:
    files = cinic_files()
    grey = pixels(32, 32, seed=99)
    files["train/bird/train-bird.png"] = png(grey)
    for name, content in files.items():
        write(one_each / "mine/cinic-10/CINIC-10" / name, content)
    tree = data.cinic10()
    assert tree.labels.tolist() == list(range(10)) and tree.test.labels.tolist() == list(range(10))
    np.testing.assert_array_equal(tree.features[1], pixels(3, 32, 32, seed=1))
    np.testing.assert_array_equal(tree.features[2], np.stack([grey] * 3))
    np.testing.assert_array_equal(tree.test.features[0], pixels(3, 32, 32, seed=20))
    both = data.cinic10(validation=True)
    assert both.labels.tolist() == [*range(10), *range(10)]
    np.testing.assert_array_equal(both.features[10], pixels(3, 32, 32, seed=10))
    shuffled = {name: files[name] for name in sorted(files, key=lambda name: name[::-1])}
    write(one_each / "system/cinic-10/CINIC-10.tar.gz", tar_gz({"README.md": b"about", **shuffled}))
    (one_each / "mine/cinic-10").rename(one_each / "elsewhere")
    packed = data.cinic10()
    np.testing.assert_array_equal(packed.features, tree.features)
    np.testing.assert_array_equal(packed.test.labels, tree.test.labels)
    assert "not the published" not in tree.copy and "hash" in packed.copy


def test_cinic10_refuses_damaged_images(one_each: Path) -> None:
    for name, content in cinic_files(("train", "valid", "test")).items():
        write(one_each / "mine/cinic-10" / name, content)
    path = one_each / "mine/cinic-10/test/ship/test-ship.png"
    good = path.read_bytes()
    places = (0, 20, 30, 200, len(good) - 14, len(good) - 2)  # magic, width, three checksums, pixels
    flipped = [good[:i] + bytes([good[i] ^ 0xFF]) + good[i + 1 :] for i in places]
    refuses(path, [*tenths(good), good[:-1], good + b"\0", *flipped, b"GIF89a" + good[6:]], data.cinic10)
    refuses(path, [png(pixels(3, 32, 31))], data.cinic10, "31 x 32 pixels; allowed is 32 x 32")


def test_cinic10_refuses_other_folders(one_each: Path) -> None:
    for name, content in cinic_files().items():
        write(one_each / "mine/cinic-10" / name, content)
    more = write(one_each / "mine/cinic-10/train/frog/more.png", png(pixels(3, 32, 32)))
    with pytest.raises(ValueError, match="train/frog has 2 images; allowed is exactly 1"):
        data.cinic10()
    more.rename(more.with_name("train-frog.png"))
    data.cinic10()
    write(one_each / "mine/cinic-10/train/unicorn/one.png", png(pixels(3, 32, 32)))
    with pytest.raises(ValueError, match=r"train/unicorn/one\.png; allowed is <split>/<class>/<name>\.png"):
        data.cinic10()


def test_cinic10_refuses_a_damaged_archive(one_each: Path) -> None:
    path = write(one_each / "mine/cinic-10/CINIC-10.tar.gz", tar_gz(cinic_files()))
    good = path.read_bytes()
    middle = len(good) // 2
    flipped = good[:middle] + bytes([good[middle] ^ 0xFF]) + good[middle + 1 :]
    refuses(path, [*tenths(good), good[:-1], good + b"garbage", flipped], data.cinic10)
