"""Parsed arrays are kept under what they were parsed from, whole or not at all, and are never wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedtheory.data import cache
from fedtheory.data.cache import digest, key_of, parsed_once

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


def folder(nowhere: Path) -> Path:
    (only,) = (nowhere / "cache/fedtheory/parsed").iterdir()
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
