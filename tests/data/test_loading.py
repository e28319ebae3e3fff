"""Data sets: their normalisation, their loaders, and what happens when files are missing or wrong."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedtheory import data
from fedtheory.data import Dataset, fashion_mnist, fetch

needs_fashion_mnist = pytest.mark.skipif(
    not fashion_mnist.available(), reason="Fashion-MNIST is not on this machine; `make data` fetches it"
)


def toy(**change: object) -> Dataset:
    rng = np.random.default_rng(0)
    arguments = {
        "name": "toy",
        "features": rng.normal(size=(6, 3)),
        "labels": np.arange(6) % 2,
        "classes": 2,
        "test_features": rng.normal(size=(2, 3)),
        "test_labels": np.array([0, 1]),
    }
    return Dataset(**(arguments | change))


@pytest.mark.parametrize("bias", [False, True])
def test_normalisation_uses_one_constant_of_the_training_rows(bias: bool) -> None:
    raw, scaled = toy(), toy().normalised(bias)
    assert np.isclose(np.mean(np.sum(scaled.features**2, axis=1)), 1.0, rtol=1e-14)
    ratios = np.concatenate([scaled.features[:, :3] / raw.features, scaled.test_features[:, :3] / raw.test_features])
    np.testing.assert_allclose(ratios, ratios[0, 0], rtol=1e-14)
    assert scaled.features.shape == (6, 3 + bias) and scaled.test_features.shape == (2, 3 + bias)
    if bias:
        for rows in (scaled.features, scaled.test_features):
            np.testing.assert_allclose(rows[:, 3], np.sqrt(0.5), rtol=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": 1}, "classes = 1: allowed is an integer >= 2"),
        ({"features": np.zeros(3)}, r"features has shape \(3,\)"),
        ({"features": np.zeros((6, 0))}, "features has shape"),
        ({"features": np.full((6, 3), np.nan)}, "features has entries that are not finite"),
        ({"labels": np.zeros(5, dtype=int)}, r"labels has shape \(5,\)"),
        ({"labels": np.zeros(6)}, "type float64: allowed"),
        ({"labels": np.full(6, 2)}, "labels range over 2 to 2: allowed is 0 to 1"),
        ({"labels": np.full(6, -1)}, "labels range over -1 to -1"),
        ({"test_labels": None}, "give both or neither"),
        ({"test_features": np.zeros((2, 4))}, r"test_features has shape \(2, 4\): allowed is \(N, 3\)"),
        ({"test_labels": np.array([0, 7])}, "test_labels range"),
    ],
)
def test_dataset_refuses(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        toy(**change)


def test_nothing_to_normalise() -> None:
    with pytest.raises(ValueError, match="all 0"):
        toy(features=np.zeros((6, 3))).normalised()


def test_digits() -> None:
    digits = data.load("digits")
    assert digits.features.shape == (1797, 64) and digits.features.dtype == np.float64
    assert (digits.features.min(), digits.features.max()) == (0.0, 1.0)
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_unknown_name_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'fashon-mnist'.*digits, fashion-mnist; did you mean 'fashion-mnist'\?"):
        data.load("fashon-mnist")
    with pytest.raises(ValueError, match=r"allowed is one of digits, fashion-mnist$"):
        data.load("qqqq")


# Fashion-MNIST, made up at a smaller size in a folder of the test's own.


def write(folder: Path, name: str, shape: tuple[int, ...], value: int = 0, packed: bool = True) -> None:
    content = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + bytes([value]) * int(np.prod(shape))
    path = folder / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content, 1) if packed else content)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No folder that is looked in holds the data; sets hold 3 and 2 images."""
    monkeypatch.setattr(fashion_mnist, "SYSTEM_FOLDER", tmp_path / "system")
    monkeypatch.setattr(fashion_mnist, "_SIZES", {"train": 3, "t10k": 2})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(fashion_mnist.FOLDER_VARIABLE, raising=False)
    return tmp_path


def fill(folder: Path, packed: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in (("train", 3), ("t10k", 2)):
        write(folder, f"{split}-images-idx3-ubyte", (size, 28, 28), 51, packed)
        write(folder, f"{split}-labels-idx1-ubyte", (size,), 9, packed)


def test_missing_data_lists_the_places(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDTHEORY_DATA", str(nowhere / "mine"))
    assert not fashion_mnist.available()
    with pytest.raises(FileNotFoundError) as caught:
        data.load("fashion-mnist")
    places = [nowhere / "mine", nowhere / "mine/fashion-mnist", nowhere / "system", nowhere / "cache/fedtheory"]
    assert all(str(place) in str(caught.value) for place in places)
    assert "make data" in str(caught.value) and "train-images-idx3-ubyte" in str(caught.value)


@pytest.mark.parametrize("place", ["mine", "mine/fashion-mnist", "system", "cache/fedtheory/fashion-mnist"])
@pytest.mark.parametrize("packed", [True, False])
def test_every_place_is_looked_in(nowhere: Path, monkeypatch: pytest.MonkeyPatch, place: str, packed: bool) -> None:
    monkeypatch.setenv("FEDTHEORY_DATA", str(nowhere / "mine"))
    fill(nowhere / place, packed)
    loaded = data.load("fashion-mnist")
    assert fashion_mnist.available() and loaded.features.shape == (3, 784) and loaded.test_features.shape == (2, 784)
    assert np.all(loaded.features == 0.2) and loaded.labels.tolist() == [9, 9, 9]


def test_three_files_are_not_enough(nowhere: Path) -> None:
    fill(nowhere / "system")
    (nowhere / "system/t10k-labels-idx1-ubyte.gz").unlink()
    assert not fashion_mnist.available()


@pytest.mark.parametrize(
    ("name", "shape", "value", "message"),
    [
        ("train-images-idx3-ubyte", (3, 28), 0, "has 2 dimensions; allowed here is 3"),
        ("train-images-idx3-ubyte", (3, 28, 27), 0, r"shape \(3, 28, 27\); allowed is \(3, 28, 28\)"),
        ("train-images-idx3-ubyte", (2, 28, 28), 0, "holds 2 images but .* 3 labels"),
        ("t10k-labels-idx1-ubyte", (1,), 0, "holds 2 images but .* 1 labels"),
        ("t10k-labels-idx1-ubyte", (2,), 10, "a label is 10; allowed is 0 to 9"),
    ],
)
def test_wrong_content(nowhere: Path, name: str, shape: tuple[int, ...], value: int, message: str) -> None:
    fill(nowhere / "system")
    write(nowhere / "system", name, shape, value)
    with pytest.raises(ValueError, match=message) as caught:
        fashion_mnist.load()
    assert str(nowhere / "system" / name) in str(caught.value)


def test_wrong_number_of_images(nowhere: Path) -> None:
    fill(nowhere / "system")
    write(nowhere / "system", "train-images-idx3-ubyte", (4, 28, 28))
    write(nowhere / "system", "train-labels-idx1-ubyte", (4,))
    with pytest.raises(ValueError, match=r"shape \(4, 28, 28\); allowed is \(3, 28, 28\)"):
        fashion_mnist.load()


@needs_fashion_mnist
def test_fashion_mnist() -> None:
    loaded = data.load("fashion-mnist")
    assert loaded.features.shape == (60_000, 784) and loaded.test_features.shape == (10_000, 784)
    assert np.bincount(loaded.labels).tolist() == [6000] * 10
    assert np.bincount(loaded.test_labels).tolist() == [1000] * 10
    assert (loaded.features.min(), loaded.features.max()) == (0.0, 1.0)
    # The mean grey value of the training images, known from the literature as 0.2860.
    assert abs(loaded.features.mean() - 0.2860) < 5e-5


# Fetching.


def forbidden(*_: object, **__: object) -> None:
    pytest.fail("nothing is to be installed or downloaded")  # no Exception, so that nothing can swallow it


def test_fetch_leaves_well_alone(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(nowhere / "system")
    monkeypatch.setattr(fetch.subprocess, "run", forbidden)
    monkeypatch.setattr("pooch.retrieve", forbidden)
    fetch.main()
    assert capsys.readouterr().out == "Fashion-MNIST: already available.\n"


def as_user(monkeypatch: pytest.MonkeyPatch, retrieve: Callable) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(fetch.subprocess, "run", forbidden)
    monkeypatch.setattr("pooch.retrieve", retrieve)


def test_fetch_downloads_all_or_nothing(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def retrieve(url: str, known_hash: str, fname: str, path: str) -> None:
        if fname.startswith("t10k-labels"):
            raise ValueError("the hash of\nthe file is wrong")
        Path(path, fname).write_bytes(b"")

    as_user(monkeypatch, retrieve)
    fetch.main()
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and "not available" in out and "hash of the file is wrong" in out
    assert [path for path in (nowhere / "cache").rglob("*") if path.is_file()] == []
    assert list((nowhere / "cache/fedtheory").iterdir()) == []


@pytest.mark.parametrize("named", [True, False])
def test_fetch_downloads(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: bool
) -> None:
    if named:
        monkeypatch.setenv("FEDTHEORY_DATA", str(nowhere / "mine"))
    fill(nowhere / "home")
    asked = {}

    def retrieve(url: str, known_hash: str, fname: str, path: str) -> None:
        asked[url] = known_hash
        Path(path, fname).write_bytes((nowhere / "home" / fname).read_bytes())

    as_user(monkeypatch, retrieve)
    fetch.main()
    target = nowhere / ("mine/fashion-mnist" if named else "cache/fedtheory/fashion-mnist")
    assert capsys.readouterr().out == f"Fashion-MNIST: downloaded to {target}.\n"
    assert sorted(path.name for path in target.iterdir()) == sorted(f"{name}.gz" for name in fashion_mnist.FILES)
    assert [path.name for path in target.parent.iterdir()] == ["fashion-mnist"]
    assert len(fashion_mnist.load()) == 3
    assert len(asked) == 4 and all(value.startswith("md5:") and len(value) == 36 for value in asked.values())


def test_fetch_installs_the_package_as_root(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = []

    def run(command: list[str], **_: object) -> None:
        commands.append(command)
        if "install" in command:
            fill(nowhere / "system")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(fetch.shutil, "which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(fetch.subprocess, "run", run)
    monkeypatch.setattr("pooch.retrieve", forbidden)
    fetch.main()
    assert capsys.readouterr().out == "Fashion-MNIST: installed the package dataset-fashion-mnist.\n"
    assert [command[2] for command in commands] == ["update", "install"]
    assert "dataset-fashion-mnist" in commands[1]
