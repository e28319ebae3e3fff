"""A folder whose files are replaced together: written whole in a new one, then moved into place."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ...files import check_no_links, read_json, temporary_folder, write_beside

LIST = "written.json"
"""The list of files written into a folder, with the SHA-256 of each. Files that it lacks belong to somebody else."""


@contextlib.contextmanager
def fresh(into: Path) -> Iterator[Path]:
    """Yield an empty folder to write to; in the end its files are moved into ``into``.

    Files of an earlier report that this one does not have are removed there. Files that no report wrote, or that were
    changed since, stay as they are. If something fails on the way, ``into`` stays as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for page in ("old.html", "new.html"):
    ...         with fresh(Path(name)) as folder:
    ...             _ = (folder / page).write_text(page)
    ...     sorted(path.name for path in Path(name).iterdir())
    ['new.html', 'written.json']
    """
    existed = into.is_dir()
    into.mkdir(parents=True, exist_ok=True)
    try:
        with temporary_folder(into) as folder:
            yield folder
            _move(folder, into)
    except BaseException:
        if not existed:
            with contextlib.suppress(OSError):  # others have written there
                into.rmdir()
        raise


def _move(new: Path, into: Path) -> None:
    before = listed(into)
    now = {path.relative_to(new).as_posix(): _digest(path) for path in sorted(new.rglob("*")) if path.is_file()}
    vanished = {name: digest for name, digest in before.items() if name not in now}
    write_beside(into / LIST, json.dumps(before | now, indent=0).encode())  # an interrupted move can be taken up again
    for name in now:
        check_no_links((into / name).parent, len(Path(name).parts) - 1)
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / name, into / name)
    for name, digest in vanished.items():
        _remove(into, into / name, digest)
    write_beside(into / LIST, json.dumps(now, indent=0).encode())


def listed(into: Path) -> dict[str, str]:
    """Return the files that the last report wrote into a folder, by name; nothing where that is not known."""
    try:
        found = read_json(into / LIST)
    except (FileNotFoundError, ValueError):
        return {}
    return {name: digest for name, digest in found.items() if isinstance(digest, str) and _inside(name)}


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _remove(into: Path, path: Path, digest: str) -> None:
    """Remove a file if it is still the one that was written, and the folders that it leaves empty."""
    linked = any(folder.is_symlink() for folder in (path, *path.parents)[: len(path.relative_to(into).parts)])
    if linked or not path.is_file() or _digest(path) != digest:
        return
    path.unlink()
    for folder in path.relative_to(into).parents:
        if folder != Path():
            with contextlib.suppress(OSError):  # it holds something else
                (into / folder).rmdir()
