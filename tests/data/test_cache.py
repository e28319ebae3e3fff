"""Parsed arrays are kept under what they were parsed from, whole or not at all, and are never wrong."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedtheory.data import cache
from fedtheory.data.cache import digest, key_of, parsed_once
from fedtheory.seals import sealed

ARRAYS = {"x": np.arange(6, dtype=np.uint8).reshape(2, 3), "names": np.array(["a", "bc"])}


class Parser:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> cache.Arrays:
        self.calls += 1
        return dict(ARRAYS)


def check(arrays: cache.Arrays) -> None:
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def relisted(path: Path, change: Callable[[dict], object]) -> None:
    """Change the list, and seal it anew."""
    listed = json.loads((path / "arrays.json").read_text())
    change(listed["arrays"])
    (path / "arrays.json").write_text(json.dumps(sealed(listed)))


def linked(path: Path) -> None:
    elsewhere = path.parents[1] / "elsewhere.npy"
    os.replace(path, elsewhere)
    os.symlink(elsewhere, path)


def folder(nowhere: Path) -> Path:
    (only,) = (nowhere / "cache/fedtheory/parsed").glob("toy-*")
    return only


def test_parsed_once_and_memory_mapped(nowhere: Path) -> None:
    parse = Parser()
    for _ in range(3):
        arrays = parsed_once("toy", "k" * 64, parse)
        check(arrays)
        assert isinstance(arrays["x"], np.memmap)
        arrays["x"][0, 0] = 200  # in memory only
    assert parse.calls == 1
    parsed_once("toy", "l" * 64, parse)
    assert parse.calls == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: (path / "x.npy").write_bytes((path / "x.npy").read_bytes()[:-1]),
        lambda path: (path / "x.npy").unlink(),
        lambda path: (path / "arrays.json").unlink(),
        lambda path: (path / "arrays.json").write_text("[1]"),
        lambda path: (path / "arrays.json").write_text('{"y": 1}'),
        lambda path: np.save(path / "x.npy", np.zeros(3)),
        lambda path: flip(path / "x.npy", -1),
        lambda path: flip(path / "names.npy", -8),
        lambda path: flip(path / "arrays.json", 40),
        lambda path: relisted(path, lambda arrays: arrays["x"].update(sha256="0" * 64)),
        lambda path: relisted(path, lambda arrays: arrays["x"].update(shape=["|u1", [3, 2]])),
        lambda path: relisted(path, lambda arrays: arrays.update({"../../x": arrays["x"]})),
        lambda path: linked(path / "x.npy"),
        lambda path: shutil.rmtree(path) or path.write_text("a file where the folder should be"),
        lambda path: shutil.rmtree(path) or os.symlink("/", path),
        lambda path: np.save(path / "x.npy", np.array([{}]), allow_pickle=True),
    ],
)
def test_what_is_damaged_is_parsed_again(nowhere: Path, damage) -> None:
    parse = Parser()
    parsed_once("toy", "k" * 64, parse)
    damage(folder(nowhere))
    check(parsed_once("toy", "k" * 64, parse))
    check(parsed_once("toy", "k" * 64, parse))
    assert parse.calls == 2 and sorted(path.name for path in folder(nowhere).iterdir()) == [
        "arrays.json", "names.npy", "x.npy"
    ]  # fmt: skip


def test_nothing_half_written_stays(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = []

    def full(path: Path, *_: object, **__: object) -> None:
        saved.append(path)
        if len(saved) == 2:
            raise OSError(28, "No space left on device")
        path.write_bytes(b"")

    monkeypatch.setattr(np, "save", full)
    check(parsed_once("toy", "k" * 64, Parser()))
    assert len(saved) == 2 and list((nowhere / "cache/fedtheory/parsed").iterdir()) == []


def test_what_is_kept_is_synced_before_it_has_its_name(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file, the folder, and the folder's name."""
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(file: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        sync(file)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("renamed"), replace(a, b)))
    parsed_once("toy", "k" * 64, Parser())
    place = done.index("renamed")
    assert {"x.npy", "names.npy", "arrays.json"} <= {*done[:place]} and place == 4
    assert done[place + 1 :] == ["parsed"]


def test_a_parser_that_refuses_leaves_nothing(nowhere: Path) -> None:
    def refuse() -> cache.Arrays:
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        parsed_once("toy", "k" * 64, refuse)
    assert not (nowhere / "cache").exists()


def test_a_cache_that_cannot_be_written_is_done_without(nowhere: Path) -> None:
    (nowhere / "cache").write_text("a file where the folder should be")
    parse = Parser()
    check(parsed_once("toy", "k" * 64, parse))
    check(parsed_once("toy", "k" * 64, parse))
    assert parse.calls == 2


def test_keys_follow_content_names_options_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    one, same, other = tmp_path / "a", tmp_path / "elsewhere/a", tmp_path / "b"
    one.write_bytes(b"1"), same.write_bytes(b"1"), other.write_bytes(b"1")
    assert digest([one]) == digest([same]) != digest([other])
    before = digest([one])
    one.write_bytes(b"2")
    assert digest([one]) != before
    keys = {key_of("c", {}), key_of("d", {}), key_of("c", {"window": 80})}
    monkeypatch.setattr(cache, "VERSION", cache.VERSION + 1)
    assert len(keys | {key_of("c", {})}) == 4
