"""A strict reader of IDX files, the format of MNIST and its relatives.

An IDX file is: two zero bytes; one byte for the type of an entry; one byte for the number n of dimensions; n sizes,
each a big-endian unsigned 32-bit integer; the entries, big-endian, last index fastest. Nothing may follow.
Source: Y. LeCun, C. Cortes and C. Burges, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

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
        ValueError: if the file is anything but one well-formed IDX array of that kind; it names the file, what is
            wrong and what is allowed.
        OSError: if the file cannot be opened.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pair-idx1-ubyte")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    ...     read_idx(path, ndim=1).tolist()
    [7, 9]
    """
    path = Path(path)
    content = _content(path)
    entry, shape = _header(path, content)
    if ndim is not None and len(shape) != ndim:
        raise ValueError(f"{path}: the array has {len(shape)} dimensions; allowed here is {ndim}")
    if dtype is not None and entry.newbyteorder("=") != np.dtype(dtype):
        raise ValueError(f"{path}: entries are of type {entry.name}; allowed here is {np.dtype(dtype).name}")
    start = 4 + 4 * len(shape)
    needed, present = math.prod(shape) * entry.itemsize, len(content) - start
    if present != needed:
        fault = f"{needed - present} are missing" if present < needed else f"{present - needed} trail behind"
        raise ValueError(f"{path}: shape {shape} of {entry.name} allows exactly {needed} bytes of data, {fault}")
    return np.frombuffer(content, entry, offset=start).reshape(shape).astype(entry.newbyteorder("="))


def _content(path: Path) -> bytes:
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        with gzip.open(path) as stream:
            return stream.read()
    except EOFError as error:
        raise ValueError(f"{path}: the gzip stream is cut short; allowed is a complete one") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: no valid gzip stream ({error}); allowed is a complete, undamaged one") from error


def _header(path: Path, content: bytes) -> tuple[np.dtype, tuple[int, ...]]:
    if len(content) < 4:
        raise ValueError(f"{path}: {len(content)} bytes long; allowed is a header of at least 4")
    if content[:2] != b"\0\0":
        raise ValueError(f"{path}: begins with bytes 0x{content[:2].hex()}; allowed is 0x0000")
    code, dimensions = content[2], content[3]
    if code not in _TYPES:
        allowed = ", ".join(f"0x{known:02x} ({kind.name})" for known, kind in _TYPES.items())
        raise ValueError(f"{path}: type code 0x{code:02x}; allowed is one of {allowed}")
    if dimensions == 0:
        raise ValueError(f"{path}: declares 0 dimensions; allowed is at least 1")
    if len(content) < 4 + 4 * dimensions:
        raise ValueError(
            f"{path}: ends within its header of {4 + 4 * dimensions} bytes; allowed is one size for each of its "
            f"{dimensions} dimensions"
        )
    return _TYPES[code], tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, offset=4))
