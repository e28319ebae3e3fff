"""State of a data set on this machine, without parsing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .entry import Entry
from .folders import file
from .loaders.common import words_on


def status(entry: Entry) -> dict[str, Any]:
    """Describe a data set of the catalogue and its files on this machine.

    The entries are the name, the classes, and the samples (training and test, None where options decide). Then follow
    the folder it was found in (None if it was not, or needs no files), the words on which copy that is ("" if nothing
    is known), one line for the checksum of each download, and the source.

    >>> from fedtheory.data.catalogue import entry
    >>> status(entry("cifar-100"))["checksums"]
    ["unverified: MD5 from the data set's page, www.cs.toronto.edu/~kriz/cifar.html"]
    """
    found = entry.found()
    return {
        "name": entry.name,
        "classes": entry.classes,
        "samples": None if entry.samples is None else list(entry.samples),
        "found": str(found[0]) if found else None,
        "copy": words_on(entry, found[0], _files(*found)) if found else "",
        "checksums": [download.status for download in entry.downloads],
        "source": entry.source,
    }


def _files(folder: Path, layout: tuple[str, ...]) -> list[Path]:
    return [path for path in (file(folder, name) for name in layout) if path]
