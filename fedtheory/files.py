"""Files that are written whole or not at all, and read with clear errors; locks."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import logging
import math
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

LARGEST = 2**28
"""Bytes that a file may have whose content is read as one text."""
TEMPORARY = ".fedtheory-*.part"
"""Pattern of the names of files while they are written."""


def json_text(content: Any, **layout: Any) -> str:
    """Content as JSON that every reader takes, in which numbers that are not finite are texts that ``float`` reads.

    >>> json_text({"ratio": float("inf"), "slack": [1.5, float("nan")]})
    '{"ratio": "Infinity", "slack": [1.5, "NaN"]}'
    """
    return json.dumps(_finite(content), allow_nan=False, ensure_ascii=False, **layout)


def _finite(content: Any) -> Any:
    if isinstance(content, float) and not math.isfinite(content):
        return "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    if isinstance(content, Mapping):
        return {key: _finite(value) for key, value in content.items()}
    return [_finite(value) for value in content] if isinstance(content, (list, tuple)) else content


def check_target(path: str | Path, *suffixes: str) -> Path:
    """Refuse a path at which no file can be written, before there is one to write; of a folder that is not there, the
    nearest one above is looked at.

    Raises:
        ValueError: another suffix, a folder, a device or a pipe, or a folder that cannot be written to.
    """
    path = Path(path)
    if suffixes and path.suffix not in suffixes:
        raise ValueError(f"path = {str(path)!r}: allowed is a name that ends in {' or '.join(suffixes)}")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if _is_special(path) or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise ValueError(f"path = {str(path)!r}: allowed is a file in a folder that can be written to")
    return path


def archived(**arrays: np.ndarray) -> bytes:
    """The content of an ``.npz`` file of these arrays; without pickles."""
    import numpy as np

    buffer = io.BytesIO()
    with _interrupts_wait():  # an archive that is closed half made has an error of its own
        np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C, which else comes anywhere, comes at the end."""
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        raise KeyboardInterrupt


def write_beside(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all: beside, under a name of its own, synced, renamed. What
    killed processes left in the folder while they wrote is removed.

    Raises:
        ValueError: there is a folder, a device or a pipe of that name, which a renamed file would replace.
        OSError: the folder is not there, cannot be written to, or is full; what was there before stays.
    """
    if _is_special(path):
        raise ValueError(f"{path} is no regular file: allowed is one, or a name that is not taken")
    remove_leftovers(path.parent)
    beside, file = _temporary(path.parent)
    try:
        with open(file, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(file)
            os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files whose writer is gone: as long as it lives it holds a lock on its file."""
    for path in folder.glob(TEMPORARY):
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(file)


def _temporary(folder: Path) -> tuple[Path, int]:
    """A new file in the folder, open and locked."""
    while True:
        path = folder / TEMPORARY.replace("*", secrets.token_hex(8))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with contextlib.suppress(OSError):  # a file system without locks, on which nobody removes leftovers
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            return path, file
        os.close(file)  # taken for a leftover before it was locked


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder, against threads and processes; the operating system frees it when the process
    ends, however it ends. Who has to wait says so in the log. Where a file system has no locks, nobody waits.
    """
    file = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logging.getLogger(__name__).warning("%s is in use by another process or thread: waiting for it", path)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EINVAL):
                raise
        yield
    finally:
        os.close(file)


def read_file(path: str | Path, largest: int = LARGEST) -> bytes:
    """The content of a regular file; a device or a pipe might never end.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no regular file, cannot be read, or has more than ``largest`` bytes.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            content = stream.read(largest + 1) if stat.S_ISREG(mode) else None
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): allowed is a regular file") from None
    if content is None:
        raise ValueError(f"{path} is {'a pipe' if stat.S_ISFIFO(mode) else 'a device'}: allowed is a regular file")
    if len(content) > largest:
        raise ValueError(f"{path} has more than {largest} bytes: allowed is a file of at most so many")
    return content


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        FileNotFoundError: there is no file.
        ValueError: it cannot be read, is no JSON object, or names a key twice; the place is named.
    """
    content = read_file(path)
    try:
        data = json.loads(content.decode("utf-8"), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file ({error})") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: holds a {type(data).__name__}, allowed is an object")
    return data


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; ``json`` itself lets the last of several equal keys win."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:100]!r} is there twice in one object, allowed is once")
        found[key] = value
    return found


def read_parquet(path: Path) -> Any:
    """The file as a pyarrow table.

    Raises:
        ValueError: pyarrow is not installed, or the file cannot be read.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError(f"{path}: reading Parquet needs pyarrow (pip install pyarrow), or convert it to CSV") from None
    try:
        return pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
