"""Folders of data sets: those that are searched, and those for downloads and parsed arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

FOLDER_VARIABLE = "FEDTHEORY_DATA"
SYSTEM_FOLDER = Path("/usr/share/datasets")  # where Debian's packages dataset-* put them


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/fedtheory``, or the folder below the home folder."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "fedtheory"


def own_folder(name: str) -> Path:
    """Return the folder for a download of this data set: below ``FEDTHEORY_DATA``, or in the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return (Path(named) if named else cache_folder()) / name


def folders(name: str, inner: Iterable[str] = (), bare: bool = True) -> list[Path]:
    """List the folders that are searched, in their order.

    They are FEDTHEORY_DATA and its subfolder ``name``, the system's and the user's cache. Each is followed by its
    folders ``inner``, which the official archive makes.

    Args:
        name: of the data set.
        inner: further folders within each.
        bare: whether files may lie in FEDTHEORY_DATA itself; not where other data sets have files of the same names.

    >>> [path.as_posix() for path in folders("svhn")][-2]
    '/usr/share/datasets/svhn'
    """
    named = os.environ.get(FOLDER_VARIABLE)
    outer = [*([Path(named), Path(named) / name] if named else []), SYSTEM_FOLDER / name, cache_folder() / name]
    places = [place for folder in outer for place in (folder, *(folder / each for each in inner))]
    return [place for place in places if bare or not named or place != Path(named)]


def file(folder: Path, name: str, packed: bool = True) -> Path | None:
    """Return the file of this name, or if ``packed`` perhaps with ``.gz`` appended; None if it is not there."""
    names = (name, f"{name}.gz") if packed else (name,)
    return next((folder / each for each in names if (folder / each).is_file()), None)
