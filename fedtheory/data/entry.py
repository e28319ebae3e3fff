"""Entries of the catalogue: a data set's sizes, its files, and where they can be downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .folders import FOLDER_VARIABLE, file, folders


@dataclass(frozen=True)
class Download:
    """One file to download.

    Attributes:
        url: where from.
        checksum: the published one, such as "md5:..." or "sha256:..."; "" where none was found.
        published: the public source that the checksum was copied from; "" with "" only.
        archive: whether it is an archive (tar or zip) to be unpacked.
        verified: whether a real download has matched the checksum, on a machine that reaches the host.
    """

    url: str
    checksum: str = ""
    published: str = ""
    archive: bool = False
    verified: bool = False

    @property
    def name(self) -> str:
        """The file's name, the last part of the address."""
        return self.url.rsplit("/", 1)[1]

    @property
    def status(self) -> str:
        """The state of the checksum, in words."""
        if not self.checksum:
            return "unverified: no published checksum found"
        kind = self.checksum.split(":")[0].upper().replace("SHA", "SHA-")
        return f"{'verified' if self.verified else 'unverified'}: {kind} from {self.published}"


@dataclass(frozen=True)
class Entry:
    """A data set of the catalogue.

    Attributes:
        name: what ``load`` calls it.
        classes: how many.
        samples: of training and of test data, as published; None where options decide.
        loader: ``module:function`` below ``fedtheory.data.loaders``.
        source: whose data these are.
        layouts: sets of files or folders, any of which makes the data set complete; () where no file is needed.
        packed: whether a file may have ``.gz`` appended to its name.
        inner: the folders that official archives make.
        bare: whether files may lie in the folder FEDTHEORY_DATA itself, not only in one of the data set's own.
        downloads: what ``fetch`` gets.
        package: the Debian package that has the files, or "".
        content: published checksums of unpacked files by name, and ``content_source``, the public source that they were
            copied from: they tell which copy was read.
    """

    name: str
    classes: int
    samples: tuple[int, int] | None
    loader: str
    source: str
    layouts: tuple[tuple[str, ...], ...] = ()
    packed: bool = False
    inner: tuple[str, ...] = ()
    bare: bool = True
    downloads: tuple[Download, ...] = ()
    package: str = ""
    content: Mapping[str, str] = field(default_factory=dict)
    content_source: str = ""

    def places(self) -> list[Path]:
        """The folders looked in, in order."""
        return folders(self.name, self.inner, self.bare)

    def found(self, layouts: Sequence[Sequence[str]] | None = None) -> tuple[Path, tuple[str, ...]] | None:
        """Find the first folder that holds all files of one of these layouts, and that layout; None if there is none.

        Layouts are all of the data set's, if not given.
        """
        for folder in self.places():
            for layout in self.layouts if layouts is None else layouts:
                if all(file(folder, name, self.packed) or (folder / name).is_dir() for name in layout):
                    return folder, tuple(layout)
        return None

    def located(self, layouts: Sequence[Sequence[str]] | None = None) -> tuple[Path, tuple[str, ...]]:
        """Return what ``found`` does, or raise an error that names the places.

        Raises:
            FileNotFoundError: if no folder holds the files.
        """
        found = self.found(layouts)
        if found is not None:
            return found
        wanted = "; or ".join(", ".join(layout) for layout in (self.layouts if layouts is None else layouts))
        places = "".join(f"\n  {place}" for place in self.places())
        raise FileNotFoundError(
            f"{self.name} is in none of the folders looked in:{places}\n"
            f"Get it with `fedtheory data fetch {self.name}`, or set {FOLDER_VARIABLE} to a folder that holds {wanted}"
            f"{' (plain or .gz)' if self.packed else ''}."
        )
