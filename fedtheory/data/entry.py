"""What the catalogue knows of a data set: its sizes, its files, and where they can be downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .places import FOLDER_VARIABLE, file, folders


@dataclass(frozen=True)
class Download:
    """One file to download.

    Attributes:
        url: where from.
        md5: its published MD5, in hexadecimal digits; "" where none was found.
        published: who published that checksum; "" with "" only.
        archive: whether it is an archive (tar or zip) to be unpacked.
        verified: whether a real download has matched the checksum, on a machine that reaches the host.
    """

    url: str
    md5: str = ""
    published: str = ""
    archive: bool = False
    verified: bool = False

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[1]

    @property
    def status(self) -> str:
        """What is known of the checksum, in words."""
        if not self.md5:
            return "unverified: no published checksum found"
        return f"{'verified' if self.verified else 'unverified'}: MD5 from {self.published}"


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
        inner: the folders that official archives make.
        downloads: what ``fetch`` gets.
        package: the Debian package that has the files, or "".
    """

    name: str
    classes: int
    samples: tuple[int, int] | None
    loader: str
    source: str
    layouts: tuple[tuple[str, ...], ...] = ()
    inner: tuple[str, ...] = ()
    downloads: tuple[Download, ...] = ()
    package: str = ""

    def places(self) -> list[Path]:
        """The folders looked in, in order."""
        return folders(self.name, self.inner)

    def found(self, layouts: Sequence[Sequence[str]] | None = None) -> tuple[Path, tuple[str, ...]] | None:
        """The first folder that holds all files of one of these layouts (all of the data set's, if not given), and
        that layout; None if there is none."""
        for folder in self.places():
            for layout in self.layouts if layouts is None else layouts:
                if all(file(folder, name) or (folder / name).is_dir() for name in layout):
                    return folder, tuple(layout)
        return None

    def located(self, layouts: Sequence[Sequence[str]] | None = None) -> tuple[Path, tuple[str, ...]]:
        """The same, or an error that names the places.

        Raises:
            FileNotFoundError: if no folder holds the files.
        """
        found = self.found(layouts)
        if found is not None:
            return found
        wanted = "; or ".join(", ".join(layout) for layout in (self.layouts if layouts is None else layouts))
        places = "".join(f"\n  {place}" for place in self.places())
        raise FileNotFoundError(
            f"{self.name} is in none of the folders looked in:{places}\nGet it with `fedtheory data fetch {self.name}`, "
            f"or set {FOLDER_VARIABLE} to a folder that holds {wanted} (plain or .gz)."
        )
