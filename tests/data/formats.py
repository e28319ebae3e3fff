"""Files in the official formats, written the slow way: byte by byte, independent of the readers."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np


def idx(array: np.ndarray) -> bytes:
    """An IDX file of bytes."""
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + bytes(array.ravel().tolist())


def cifar(labels: list[tuple[int, ...]], images: np.ndarray) -> bytes:
    """Records: the label bytes, then red, green and blue, row by row; images (N, 3, 32, 32)."""
    records = []
    for label, image in zip(labels, images.tolist(), strict=True):
        pixels = [image[c][row][column] for c in range(3) for row in range(32) for column in range(32)]
        records.append(bytes([*label, *pixels]))
    return b"".join(records)


def mat(**arrays: np.ndarray) -> bytes:
    """A MATLAB 5 file, little-endian, not compressed, of matrices of bytes."""
    out = b"MATLAB 5.0 MAT-file, made by a test".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    for name, array in arrays.items():
        flags = struct.pack("<IIII", 6, 8, 9, 0)  # mxUINT8
        dims = _element(5, struct.pack(f"<{array.ndim}i", *array.shape))
        body = flags + dims + _element(1, name.encode()) + _element(2, bytes(array.ravel(order="F").tolist()))
        out += struct.pack("<II", 14, len(body)) + body
    return out


def _element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def png(image: np.ndarray) -> bytes:
    """A PNG image: (3, H, W) in colour or (H, W) grey."""
    colour = image.ndim == 3
    height, width = image.shape[-2:]
    rows = image.transpose(1, 2, 0).reshape(height, -1) if colour else image
    raw = b"".join(b"\0" + bytes(row.tolist()) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if colour else 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def tar_gz(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue())


def leaf(users: dict[str, tuple[list, list]]) -> bytes:
    """One of LEAF's JSON files."""
    content = {
        "users": list(users),
        "num_samples": [len(y) for _, y in users.values()],
        "user_data": {user: {"x": x, "y": y} for user, (x, y) in users.items()},
    }
    return json.dumps(content).encode()


def tenths(content: bytes) -> Iterator[bytes]:
    """The content cut short, at every tenth of it."""
    for tenth in range(10):
        yield content[: len(content) * tenth // 10]


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
