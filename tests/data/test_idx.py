"""The IDX reader: every entry type, and every way in which a file can be wrong."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from fedtheory.data.idx import read_idx


def idx_bytes(array: np.ndarray, code: int) -> bytes:
    """An IDX file written the slow way, independent of the reader: struct, entry by entry."""
    letter = {0x08: "B", 0x09: "b", 0x0B: "h", 0x0C: "i", 0x0D: "f", 0x0E: "d"}[code]
    header = struct.pack(">HBB", 0, code, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + b"".join(struct.pack(f">{letter}", entry) for entry in array.ravel().tolist())


CASES = [
    (0x08, np.uint8, [[0, 255], [7, 1], [2, 3]]),
    (0x09, np.int8, [-128, 127]),
    (0x0B, np.int16, [-300, 300]),
    (0x0C, np.int32, [[[-70000]], [[70000]]]),
    (0x0D, np.float32, [1.5, -0.25]),
    (0x0E, np.float64, [1e-300, np.pi]),
]


@pytest.mark.parametrize(("code", "dtype", "entries"), CASES)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_reads_what_was_written(tmp_path: Path, code: int, dtype: type, entries: list, suffix: str) -> None:
    array = np.array(entries, dtype=dtype)
    path = tmp_path / f"file{suffix}"
    content = idx_bytes(array, code)
    path.write_bytes(gzip.compress(content) if suffix else content)
    read = read_idx(path, ndim=array.ndim, dtype=dtype)
    assert read.dtype == array.dtype and read.dtype.isnative and read.flags.writeable
    np.testing.assert_array_equal(read, array)


GOOD = idx_bytes(np.arange(6, dtype=np.uint8).reshape(2, 3), 0x08)

DAMAGED = {
    "empty": (b"", "0 bytes long"),
    "three bytes": (GOOD[:3], "3 bytes long"),
    "first byte": (b"\1" + GOOD[1:], "begins with bytes 0x0100; allowed is 0x0000"),
    "second byte": (GOOD[:1] + b"\2" + GOOD[2:], "begins with bytes 0x0002"),
    "type code": (GOOD[:2] + b"\x0a" + GOOD[3:], r"type code 0x0a; allowed is one of 0x08 \(uint8\)"),
    "no dimension": (GOOD[:3] + b"\0", "declares 0 dimensions; allowed is at least 1"),
    "within the header": (GOOD[:11], "ends within its header of 12 bytes"),
    "too many dimensions": (GOOD[:3] + b"\xff" + GOOD[4:], "ends within its header of 1024 bytes"),
    "header only": (GOOD[:12], "allows exactly 6 bytes of data, 6 are missing"),
    "one byte short": (GOOD[:-1], "1 are missing"),
    "one byte long": (GOOD + b"\0", "1 trail behind"),
    "much too long": (GOOD + bytes(2**17), "at least 65536 trail behind"),
    "huge shape": (GOOD[:4] + b"\xff" * 8 + GOOD[12:], f"allows exactly {(2**32 - 1) ** 2} bytes"),
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_refuses_damaged_files(tmp_path: Path, damage: str, suffix: str) -> None:
    content, message = DAMAGED[damage]
    path = tmp_path / f"images{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(ValueError, match=message) as caught:
        read_idx(path)
    assert str(path) in str(caught.value) and "allow" in str(caught.value)


def test_an_error_names_the_limit_that_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images").write_bytes(GOOD[:3] + b"\1" + b"\xff" * 4)
    monkeypatch.setenv("FEDTHEORY_LARGEST_FILE", str(2**31))
    with pytest.raises(ValueError, match=f"bytes of data; allowed are {2**31}"):
        read_idx(tmp_path / "images")


def flipped(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :]


PACKED = gzip.compress(GOOD)
BROKEN_GZIP = {
    "not gzip": (GOOD, "no valid gzip stream"),
    "truncated": (PACKED[:-9], "no valid gzip stream"),
    "checksum missing": (PACKED[:-1], "no valid gzip stream"),
    "checksum wrong": (flipped(PACKED, len(PACKED) - 5), "no valid gzip stream"),
    "length wrong": (flipped(PACKED, len(PACKED) - 1), "no valid gzip stream"),
    "garbage behind": (PACKED + b"garbage", "no valid gzip stream"),
    "block damaged": (flipped(PACKED, 10), "no valid gzip stream"),
}


@pytest.mark.parametrize("damage", BROKEN_GZIP)
def test_refuses_broken_gzip(tmp_path: Path, damage: str) -> None:
    content, message = BROKEN_GZIP[damage]
    path = tmp_path / "images.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_idx(path)
    assert str(path) in str(caught.value) and "allowed" in str(caught.value)


def test_refuses_another_kind_of_array(tmp_path: Path) -> None:
    path = tmp_path / "images"
    path.write_bytes(GOOD)
    with pytest.raises(ValueError, match="the array has 2 dimensions; allowed here is 3"):
        read_idx(path, ndim=3)
    with pytest.raises(ValueError, match="entries are of type uint8; allowed here is float32"):
        read_idx(path, dtype=np.float32)


def test_byte_order_does_not_count_as_another_type(tmp_path: Path) -> None:
    path = tmp_path / "shorts"
    path.write_bytes(idx_bytes(np.array([258], dtype=np.int16), 0x0B))
    assert read_idx(path, dtype=np.int16).tolist() == [258]
