"""A strict reader of IDX files, the format of MNIST and its relatives.

An IDX file is: two zero bytes; one byte for the type of an entry; one byte for the number n of dimensions; n sizes,
each a big-endian unsigned 32-bit integer; the entries, big-endian, last index fastest. Nothing may follow.
Source: Y. LeCun, C. Cortes and C. Burges, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..files import Damaged, largest, open_regular, parsing

MOST = 2**30
"""Bytes that an array may have: the largest published one has 0.55 x 10^9."""
_LOOKED_BEYOND = 2**16
"""Bytes read behind the array to say how many there are."""

_TYPES: dict[int, np.dtype] = {
    0x08: np.dtype(">u1"),
    0x09: np.dtype(">i1"),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}


def read_idx(path: str | Path, ndim: int | None = None, dtype: np.dtype | type | str | None = None) -> np.ndarray:
    """The array in an IDX file, plain or (if its name ends in ``.gz``) compressed by gzip.

    Args:
        path: the file.
        ndim, dtype: what the caller expects; None takes anything.

    Returns:
        The entries in native byte order, writeable, in the shape that the file declares.

    Raises:
        FileNotFoundError: if there is no such file.
        Damaged: if it is anything but one well-formed IDX array of that kind, or states more bytes than ``MOST``
            and than ``files.largest()``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pair-idx1-ubyte")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    ...     read_idx(path, ndim=1).tolist()
    [7, 9]
    """
    path = Path(path)
    with open_regular(path) as file:
        if path.suffix != ".gz":
            return _read(path, file, ndim, dtype)
        with parsing(path, "no valid gzip stream", "; allowed is a complete, undamaged one"), gzip.open(file) as stream:
            return _read(path, stream, ndim, dtype)


def _read(path: Path, stream: Any, ndim: int | None, dtype: Any) -> np.ndarray:
    """The array of an IDX stream, unpacked; what its header states is looked at before the rest is read."""
    head = stream.read(4)
    entry, shape = _header(path, head + (stream.read(4 * head[3]) if len(head) == 4 else b""))
    if ndim is not None and len(shape) != ndim:
        raise Damaged(path, f"the array has {len(shape)} dimensions; allowed here is {ndim}")
    if dtype is not None and entry.newbyteorder("=") != np.dtype(dtype):
        raise Damaged(path, f"entries are of type {entry.name}; allowed here is {np.dtype(dtype).name}")
    needed, most = math.prod(shape) * entry.itemsize, max(largest(), MOST)
    if needed > most:
        raise Damaged(path, f"shape {shape} of {entry.name} allows exactly {needed} bytes of data; allowed are {most}")
    content = bytearray()
    while block := stream.read(min(2**20, needed + _LOOKED_BEYOND - len(content))):
        content += block
    if len(content) != needed:
        missing, more = needed - len(content), len(content) - needed
        least = "at least " if more == _LOOKED_BEYOND else ""
        fault = f"{missing} are missing" if missing > 0 else f"{least}{more} trail behind"
        raise Damaged(path, f"shape {shape} of {entry.name} allows exactly {needed} bytes of data, {fault}")
    return np.frombuffer(content, entry).reshape(shape).astype(entry.newbyteorder("="))


def _header(path: Path, content: bytes) -> tuple[np.dtype, tuple[int, ...]]:
    if len(content) < 4:
        raise Damaged(path, f"{len(content)} bytes long; allowed is a header of at least 4")
    if content[:2] != b"\0\0":
        raise Damaged(path, f"begins with bytes 0x{content[:2].hex()}; allowed is 0x0000")
    code, dimensions = content[2], content[3]
    if code not in _TYPES:
        allowed = ", ".join(f"0x{known:02x} ({kind.name})" for known, kind in _TYPES.items())
        raise Damaged(path, f"type code 0x{code:02x}; allowed is one of {allowed}")
    if dimensions == 0:
        raise Damaged(path, "declares 0 dimensions; allowed is at least 1")
    if len(content) < 4 + 4 * dimensions:
        raise Damaged(
            path,
            f"ends within its header of {4 + 4 * dimensions} bytes; allowed is one size for each of its "
            f"{dimensions} dimensions",
        )
    return _TYPES[code], tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, offset=4))
