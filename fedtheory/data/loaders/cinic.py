"""CINIC-10: 270,000 colour images of CIFAR-10's classes, as PNG files train|valid|test/<class>/<name>.png.

Source: L. N. Darlow, E. J. Crowley, A. Antoniou and A. J. Storkey, "CINIC-10 is not ImageNet or CIFAR-10", 2018. It is
read from the official archive or from a folder into which that was unpacked.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...extras import needed
from ...files import Counted, Damaged, largest, open_regular, parsing, read_counted, read_file
from ..cache import Arrays
from ..dataset import Dataset, Normalisation
from ..entry import Download, Entry
from .common import read_once

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SPLITS = ("train", "valid", "test")
MOST, MOST_IMAGE = 2**32, 2**16
"""Bytes that the archive may have unpacked, and an image."""
EACH = 9_000
"""Images of each class in each split."""
ARCHIVE = "CINIC-10.tar.gz"
CINIC10 = Entry(
    name="cinic-10",
    bare=False,
    classes=10,
    samples=(90_000, 90_000),
    loader="cinic:cinic10",
    source='L. N. Darlow and others, "CINIC-10 is not ImageNet or CIFAR-10", 2018',
    layouts=(SPLITS, (ARCHIVE,)),
    inner=("CINIC-10",),
    downloads=(
        Download(
            f"https://datashare.ed.ac.uk/bitstream/handle/10283/3192/{ARCHIVE}",
            "md5:6ee4d0c996905fe93221de577967a372",
            "public loaders of CINIC-10 (tgz_md5)",
        ),
    ),
)
_NORMAL = Normalisation(
    (0.47889522, 0.47227842, 0.43047404), (0.24205776, 0.23828046, 0.25874835), "FedAU's public code, for CINIC-10"
)

_END = b"\0\0\0\0IEND\xaeB`\x82"

Place = tuple[str, int]  # split, class


def cinic10(validation: bool = False) -> Dataset:
    """CINIC-10: 90,000 + 90,000 colour images (3, 32, 32), ten classes; grey images are made colour images.

    Args:
        validation: whether the 90,000 validation images are training data too.

    Raises:
        FileNotFoundError: if no folder holds the archive or the three folders.
        ValueError: if an image is damaged or of another size, or a class has another number of images.

    >>> CINIC10.samples
    (90000, 90000)
    """
    folder, layout = CINIC10.located()
    archive = folder / ARCHIVE if layout == (ARCHIVE,) else None
    wanted = SPLITS if validation else ("train", "test")
    files = [archive] if archive else [path for split in wanted for path in sorted((folder / split).rglob("*.png"))]

    def parse() -> Arrays:
        found = _in_archive(archive, wanted) if archive else _in_folder(folder, wanted)
        return _arrays(archive or folder, found, wanted)

    arrays, copy = read_once(CINIC10, "cinic-10", folder, files, {"splits": wanted}, parse)

    def part(split: str, test: Dataset | None = None) -> Dataset:
        return Dataset(
            "cinic-10",
            arrays[f"{split}_images"],
            arrays[f"{split}_labels"],
            10,
            test,
            copy,
            _NORMAL,
            class_names=CLASSES,
        )

    return part("train", part("test"))


def _arrays(whence: Path, found: Iterator[tuple[Place, str, bytes]], wanted: tuple[str, ...]) -> Arrays:
    """Images by split, class and name, in that order; with validation images after the training images."""
    images: dict[Place, list[tuple[str, np.ndarray]]] = {(s, c): [] for s in wanted for c in range(len(CLASSES))}
    for place, name, content in found:
        images[place].append((name, read_png(f"{whence}: {name}", content)))
        if len(images[place]) > EACH:
            break
    for (split, c), each in images.items():
        if len(each) != EACH:
            raise Damaged(whence, f"{split}/{CLASSES[c]} has {len(each)} images; allowed is exactly {EACH}")
    arrays: Arrays = {}
    for part, splits in (("train", [s for s in wanted if s != "test"]), ("test", ["test"])):
        places = [(split, c) for split in splits for c in range(len(CLASSES))]
        ordered = [image for place in places for _, image in sorted(images[place], key=lambda pair: pair[0])]
        arrays[f"{part}_images"] = np.stack(ordered)
        arrays[f"{part}_labels"] = np.repeat(np.array([c for _, c in places], dtype=np.uint8), EACH)
    return arrays


def _in_folder(folder: Path, wanted: tuple[str, ...]) -> Iterator[tuple[Place, str, bytes]]:
    for split in wanted:
        for path in sorted((folder / split).rglob("*.png")):
            name = path.relative_to(folder).as_posix()
            yield _place(folder, name), name, read_file(path, MOST_IMAGE)


def _in_archive(archive: Path, wanted: tuple[str, ...]) -> Iterator[tuple[Place, str, bytes]]:
    """The images in the archive, in its order; it is read to its very end, so that its own checksums are checked."""
    with parsing(archive, "not read as a .tar.gz archive", "; allowed is a complete one"):
        yield from _members(archive, wanted)


def _members(archive: Path, wanted: tuple[str, ...]) -> Iterator[tuple[Place, str, bytes]]:
    with open_regular(archive) as file, gzip.open(file) as packed:
        raw = Counted(archive, packed, max(largest(), MOST))
        with tarfile.open(fileobj=raw, mode="r|") as members:  # type: ignore[call-overload]
            for member in members:
                name = member.name.removeprefix("./").removeprefix("CINIC-10/")
                if member.isfile() and name.endswith(".png") and name.split("/")[0] in wanted:
                    stream = members.extractfile(member)
                    content = read_counted(f"{archive}: {name}", stream, MOST_IMAGE) if stream else b""
                    yield _place(archive, name), name, content
        while raw.read(2**20):
            pass


def _place(whence: Path, name: str) -> Place:
    parts = name.split("/")
    if len(parts) != 3 or parts[1] not in CLASSES:
        raise Damaged(whence, f"{name}; allowed is <split>/<class>/<name>.png, classes {', '.join(CLASSES)}")
    return parts[0], CLASSES.index(parts[1])


def read_png(where: str, content: bytes) -> np.ndarray:
    """A PNG image of 32 x 32 pixels as (3, 32, 32) uint8.

    Raises:
        ValueError: if it is damaged, no PNG, or of another size.
    """
    Image = needed("PIL.Image")  # lazily

    with parsing(where, "not read as a PNG image", "; allowed is a complete one"), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # its size is looked at before it is unpacked
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            image.verify()  # the checksum of every chunk; the image has to be opened anew then
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            size = image.size
            pixels = np.asarray(image.convert("RGB")) if size == (32, 32) else None
    if not content.endswith(_END):
        raise Damaged(where, "does not end with the last chunk of a PNG image; allowed is exactly one image")
    if pixels is None:
        raise Damaged(where, f"{size[0]} x {size[1]} pixels; allowed is 32 x 32")
    return pixels.transpose(2, 0, 1).copy()
