"""Files that are written whole or not at all, and read with limits and clear errors; locks.

Whatever is read may be from elsewhere. It is opened without blocking, and only if it is a regular file. Its size is
known before it is read, and what is packed is counted while it is unpacked. Whatever a parser then says of it becomes
one error, `Damaged`, with the file and the place. The limits are `largest` (bytes of a text or of what is unpacked),
`DEEPEST` (lists in lists) and, of numbers in text, those of `numerals`.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import errno
import fcntl
import gzip
import io
import json
import logging
import math
import os
import re
import secrets
import shutil
import signal
import stat
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .numerals import DIGITS, rational, whole

if TYPE_CHECKING:
    import numpy as np

LARGEST = 2**28
"""Bytes that a file may have whose content is read as one text, and that a packed one may have when unpacked."""
RAISED = "FEDTHEORY_LARGEST_FILE"
"""The environment variable that says another number of bytes than ``LARGEST``."""
LARGEST_TOML = 2**22
"""Bytes that a TOML file may have."""
DEEPEST = 100
"""Lists and objects that may stand in each other."""
TEMPORARY = ".fedtheory-*.part"
"""Pattern of the names of files while they are written."""
TEMPORARY_FOLDER = ".fedtheory-*.new"
"""Pattern of the names of folders while they are filled."""
_BLOCK = 2**20
_LONGEST, _LINES = 1000, 20
"""Characters of a line of a message, and its lines."""


class Damaged(ValueError):
    """A file that cannot be taken for what it should be.

    Args:
        path: the file.
        wrong: what is wrong, and what is allowed; may name the file itself, in each of several lines.
        place: where in the file, such as "line 3"; "" for the whole.

    >>> raise Damaged("a.csv", "2 cells: allowed is 3", "line 3")
    Traceback (most recent call last):
    fedtheory.files.Damaged: a.csv, line 3: 2 cells: allowed is 3
    """

    def __init__(self, path: str | Path, wrong: str, place: str = "") -> None:
        wrong, place = "\n".join(map(_cut, wrong.split("\n")[:_LINES])), _cut(place)
        super().__init__(str(path), wrong, place)
        self.path, self.wrong, self.place = Path(path), wrong, place

    def __str__(self) -> str:
        named = self.wrong.startswith(self.args[0])  # in each of several lines
        return self.wrong if named else f"{self.args[0]}{', ' * bool(self.place)}{self.place}: {self.wrong}"


def _cut(line: str) -> str:
    """A line of a message without its middle where it is long: what it quotes is from elsewhere."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"


def largest() -> int:
    """Bytes that a text, or what is unpacked, may have: ``LARGEST``, or what ``FEDTHEORY_LARGEST_FILE`` says.

    Raises:
        ValueError: it is no number of bytes.
    """
    text = os.environ.get(RAISED, "")
    if not re.fullmatch(r"[0-9]{0,18}", text):
        raise ValueError(f"{RAISED} = {text[:80]!r}: allowed is a number of bytes")
    return int(text or LARGEST)


@contextlib.contextmanager
def parsing(path: str | Path, wrong: str, advice: str = "") -> Iterator[None]:
    """Raise as `Damaged` whatever a parser raises inside: libraries say in a dozen ways that a file is none.

    >>> with parsing("a.npz", "no archive"):
    ...     {}["x"]
    Traceback (most recent call last):
    fedtheory.files.Damaged: a.npz: no archive (KeyError: 'x')
    """
    try:
        yield
    except (Damaged, FileNotFoundError):
        raise
    except Exception as error:
        said = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise Damaged(path, f"{wrong} ({_cut(' '.join(said.split()))}){advice}") from error


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
    above = next((folder for folder in path.absolute().parents if folder.exists()), path)
    if _is_special(path) or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise ValueError(f"path = {str(path)!r}: allowed is a file in a folder that can be written to")
    return path


def check_no_links(path: Path, inner: int) -> None:
    """Refuse a path whose last ``inner`` components are links already: what is written there would be elsewhere.

    Raises:
        Damaged: one is.
    """
    for place in (path, *path.parents)[:inner]:
        if place.is_symlink():
            raise Damaged(place, "is a symbolic link: allowed is a folder, or nothing")


def archived(**arrays: np.ndarray) -> bytes:
    """The content of an ``.npz`` file of these arrays; without pickles."""
    import numpy as np

    buffer = io.BytesIO()
    with _interrupts_wait():  # an archive that is closed half made has an error of its own
        np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Signals that end this program by an exception, which else come anywhere, come at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in usual.items() if callable(handler)}
    came: list[int] = []
    for number in handlers:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for each in came:
        handlers[signal.Signals(each)](each, None)


def write_beside(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file, of one piece or of several, so that it is there whole or not at all: beside, under a name of its
    own, synced, renamed. What killed processes left in the folder while they wrote is removed.

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
            stream.writelines((content,) if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(file)
            os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files and folders whose writer is gone: as long as it lives it holds a lock on them. What has
    such a name and is neither, such as a link or a pipe, is left alone.
    """
    for path in (*folder.glob(TEMPORARY), *folder.glob(TEMPORARY_FOLDER)):
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                mode = os.fstat(file).st_mode
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISREG(mode) and path.match(TEMPORARY):
                    path.unlink()
                elif stat.S_ISDIR(mode) and path.match(TEMPORARY_FOLDER):
                    shutil.rmtree(path)
            finally:
                os.close(file)


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """An empty folder in another one, locked as long as it is used, and removed in the end, unless it was renamed. What
    killed processes left there is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name, temporary_folder(Path(name)) as folder:
    ...     _ = os.replace(folder, Path(name, "whole"))
    ...     sorted(path.name for path in Path(name).iterdir())
    ['whole']
    """
    remove_leftovers(parent)
    while True:
        path = parent / TEMPORARY_FOLDER.replace("*", secrets.token_hex(8))
        path.mkdir()
        with contextlib.suppress(FileNotFoundError):  # taken for a leftover before it was locked
            file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with contextlib.suppress(OSError):  # a file system without locks, on which nobody removes leftovers
                fcntl.flock(file, fcntl.LOCK_EX)
            if path.exists():
                break
            os.close(file)
    try:
        yield path
    finally:
        os.close(file)
        shutil.rmtree(path, ignore_errors=True)


def _temporary(folder: Path) -> tuple[Path, int]:
    """A new file in the folder, open and locked."""
    while True:
        path = folder / TEMPORARY.replace("*", secrets.token_hex(8))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with contextlib.suppress(OSError):  # a file system without locks, on which nobody removes leftovers
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            return path, file
        os.close(file)  # taken for a leftover before it was locked


@contextlib.contextmanager
def locked(path: Path, make: bool = False, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file or folder, against threads and processes; the operating system frees it when the process
    ends, however it ends. Who has to wait says so in the log. Where a file system has no locks, nobody waits.

    Args:
        make: whether it is a file of its own, which is made if it is not there. Nothing is written to it.
        wait: whether to wait for a lock that another holds.

    Raises:
        Damaged: in its place is a link, which is not followed, a pipe or a device, which are not waited for; or another
            holds the lock, and it is not to be waited for.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW if make else os.O_RDONLY
    try:
        file = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if make and error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise Damaged(path, f"is no regular file ({error.strerror}): allowed is one, or nothing") from None
        raise
    try:
        mode = os.fstat(file).st_mode
        if not (stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and not make)):
            raise Damaged(path, "is no regular file: allowed is one, or nothing")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise Damaged(path, "is in use by another process or thread: allowed is one at a time") from None
            logging.getLogger(__name__).warning("%s is in use by another process or thread: waiting for it", path)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EINVAL):
                raise
        yield
    finally:
        os.close(file)


def in_use(path: Path) -> bool:
    """Whether another process or thread holds the lock of a file; not if there is none."""
    try:
        with locked(path, wait=False):
            return False
    except FileNotFoundError:
        return False
    except Damaged:
        return True


@contextlib.contextmanager
def open_regular(path: str | Path) -> Iterator[IO[bytes]]:
    """A regular file, open for reading; a device or a pipe might never end, or block.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it is no regular file, or cannot be opened.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # a name with a zero byte
        said = error.strerror if isinstance(error, OSError) else error
        raise Damaged(path, f"cannot be read ({said}): allowed is a regular file") from None
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        what = "a pipe" if stat.S_ISFIFO(mode) else "a folder" if stat.S_ISDIR(mode) else "a device"
        raise Damaged(path, f"is {what}: allowed is a regular file")
    with open(file, "rb") as stream:
        yield stream


def read_file(path: str | Path, most: int | None = None) -> bytes:
    """The content of a regular file.

    Args:
        most: bytes that it may have; by default ``largest()``.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it is no regular file, cannot be read, or has more bytes.
    """
    raised, most = most is None, largest() if most is None else most
    with open_regular(path) as stream:
        if os.fstat(stream.fileno()).st_size > most:
            raise _too_large(path, most, raised)
        try:
            return read_counted(path, stream, None if raised else most)
        except OSError as error:
            raise Damaged(path, f"cannot be read ({error.strerror}): allowed is a regular file") from None


def read_unpacked(path: str | Path) -> bytes:
    """The content of a regular file, unpacked if its name ends in ``.gz``, without the mark that UTF-8 may begin with.

    Raises:
        FileNotFoundError: there is none.
        Damaged: as of `read_file`; or no complete gzip stream.
    """
    if not str(path).lower().endswith(".gz"):
        return read_file(path).removeprefix(codecs.BOM_UTF8)
    with open_regular(path) as file, parsing(path, "no valid gzip stream", "; allowed is a complete, undamaged one"):
        return read_counted(path, gzip.GzipFile(fileobj=file)).removeprefix(codecs.BOM_UTF8)


def read_counted(path: str | Path, stream: Any, most: int | None = None) -> bytes:
    """Read a stream of a file, unpacked or not, and count the bytes while it is read.

    Raises:
        Damaged: it holds more than ``most`` bytes, by default ``largest()``.
    """
    raised, most, content = most is None, largest() if most is None else most, bytearray()
    while block := stream.read(min(_BLOCK, most - len(content) + 1)):
        content += block
        if len(content) > most:
            raise _too_large(path, most, raised)
    return bytes(content)


def _too_large(path: str | Path, most: int, raised: bool = True) -> Damaged:
    """The error of a file with more bytes, and what raises the limit, if anything does."""
    more = f"; {RAISED} raises it" if raised else ""
    return Damaged(path, f"has more than {most} bytes: allowed is a file of at most so many{more}")


class Counted:
    """A stream of a file that may hold so many bytes and no more: for readers that take a stream."""

    def __init__(self, path: str | Path, stream: Any, most: int) -> None:
        self._path, self._stream, self._most, self._left = path, stream, most, most

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes, all by default; raise ``Damaged`` beyond the limit."""
        block: bytes = self._stream.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(block)
        if self._left < 0:
            raise _too_large(self._path, self._most)
        return block


def read_text(path: str | Path) -> str:
    """The text in a file.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it cannot be read, is too large, or no UTF-8.
    """
    return _decoded(path, read_file(path))


def _decoded(path: str | Path, content: bytes) -> str:
    with parsing(path, "cannot be read: not UTF-8"):
        return content.decode("utf-8-sig")


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        FileNotFoundError: there is no file.
        Damaged: it cannot be read, is no JSON object, names a key twice, or is deeper than ``DEEPEST``; the place is
            named.
    """
    return parse_json(read_file(path), path)


def parse_json(content: bytes, path: str | Path) -> dict[str, Any]:
    """Parse the bytes of a JSON file, checked as ``read_json`` does."""
    with parsing(path, "not a JSON file"):
        _check_depth(content)
        data = json.loads(
            content.decode("utf-8"), object_pairs_hook=_object, parse_int=whole, parse_constant=_no_constant
        )
    if not isinstance(data, dict):
        raise Damaged(path, f"holds a {type(data).__name__}, allowed is an object")
    return data


_MARKS = re.compile(rb""""(?:[^"\\]|\\.)*+(?:"|\Z)|[\[{]|[\]}]""", re.DOTALL)


def _check_depth(content: bytes) -> None:
    """Refuse lists in lists beyond ``DEEPEST``, before anything recurses on them."""
    depth = 0
    for mark in _MARKS.finditer(content):
        byte = content[mark.start()]
        depth += (byte in b"[{") - (byte in b"]}")
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} lists and objects in each other")


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def plain_toml(content: bytes, name: str) -> dict[str, Any]:
    """The content of a TOML file; ``name`` is what errors call it.

    Raises:
        Damaged: it is no TOML, is too large, or has a number with more digits, or a larger exponent, than allowed.
    """
    if len(content) > LARGEST_TOML:
        raise Damaged(name, f"has more than {LARGEST_TOML} bytes: allowed is a TOML file of at most so many")
    import tomllib

    with parsing(name, "not a TOML file"):
        data = tomllib.loads(content.decode("utf-8"), parse_float=_toml_float)
        _check_plain(data)
    return data


def _toml_float(text: str) -> float:
    return float(text) if text.lstrip("+-") in ("inf", "nan") else float(rational(text))


def _check_plain(data: Any) -> None:
    """Refuse what is too deep, and integers of too many digits."""
    waiting = [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} tables and lists in each other")
        if type(value) is int and abs(value) >= 10**DIGITS:
            raise ValueError(f"an integer has more than {DIGITS} digits")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting += [(each, depth + 1) for each in inner]


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; ``json`` itself lets the last of several equal keys win."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:100]!r} is there twice in one object, allowed is once")
        found[key] = value
    return found


def read_csv(path: str | Path, separators: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file, perhaps packed (``read_unpacked``): the number of the last line that each ends in, and
    its cells, stripped.

    Args:
        separators: what may stand between cells; it is the first of these that the first line has outside of quotes.

    Raises:
        Damaged: there is none, it cannot be read, is no UTF-8, or no CSV; the line is named.
    """
    try:
        text = _decoded(path, read_unpacked(path))
    except FileNotFoundError:
        raise Damaged(path, "cannot be read: no such file") from None
    before = re.escape(separators) + r"\r\n"
    first = re.search(rf'(?:(?<![^{before}])"[^"]*"|[^\r\n])+', text)  # a quoted cell may have several lines
    header = re.sub(r'"[^"]*"', "", first[0]) if first else ""
    separator = next((each for each in separators if each in header), separators[0])
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise Damaged(path, f"cannot be read: {error}", f"line {reader.line_num}") from None
        yield reader.line_num, [cell.strip() for cell in cells]


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file, by name, of numbers or texts. What its directory and the arrays' headers state
    is looked at before anything is unpacked, and no more is unpacked than that: at most the file's own size, or
    ``largest()`` if that is more.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it is no such file, or states more.
    """
    found: dict[str, np.ndarray] = {}
    with open_regular(path) as stream, parsing(path, "not an archive of arrays"):
        size = os.fstat(stream.fileno()).st_size
        archive = zipfile.ZipFile(stream)
        members = archive.infolist()
        most = max(size, largest())
        if sum(each.file_size for each in members) > most or sum(each.compress_size for each in members) > size:
            raise _too_large(path, most)
        for each in members:
            name = each.filename.removesuffix(".npy")
            if name == each.filename or name in found:
                raise ValueError(f"member {each.filename[:100]!r}: allowed are names that end in .npy, each once")
            if each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"member {name!r} is packed by method {each.compress_type}: allowed are 0 and 8")
            with archive.open(each) as member:
                found[name] = _array(member, each.file_size)
    return found


def _array(member: IO[bytes], size: int) -> np.ndarray:
    """The array of an ``.npy`` stream of so many bytes."""
    import numpy as np

    version = np.lib.format.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array has version {version}: allowed are (1, 0) and (2, 0)")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(member)
    left, count = size - member.tell(), math.prod(shape)
    if kind.kind not in "biufcSU" or any(length < 0 for length in shape):
        raise ValueError(f"an array is {kind} {shape}: allowed are numbers and texts")
    if count * kind.itemsize != left or (kind.itemsize == 0 and count > 1):
        raise ValueError(f"an array states {kind} {shape} and has {left} bytes: allowed is as many as it states")
    content = bytearray()
    while block := member.read(_BLOCK):  # to the end, where the archive's checksum is compared
        content += block
    if kind.itemsize == 0:
        return np.zeros(shape, kind)
    values = np.frombuffer(content, kind)
    return values.reshape(shape[::-1]).T if fortran else values.reshape(shape)


def read_parquet(path: Path) -> Any:
    """The file as a pyarrow table.

    Raises:
        ValueError: pyarrow is not installed.
        Damaged: the file cannot be read, or says that it is too large.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError(f"{path}: reading Parquet needs pyarrow (pip install pyarrow), or convert it to CSV") from None
    with open_regular(path) as stream, parsing(path, "cannot be read"):
        file = pyarrow.parquet.ParquetFile(stream)
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        stated = max(8 * file.metadata.num_rows * file.metadata.num_columns, sum(g.total_byte_size for g in groups))
        if stated > largest():
            raise _too_large(path, largest())
        return file.read()
