"""Download of data sets: ``fedtheory data fetch NAME``, and ``python -m fedtheory.data.fetch``, which ``make data``
runs.

A data set is looked for, then taken from the system's package, then downloaded. A download that was cut short is
resumed, nothing is moved into place before all checksums fit, and what does not fit is removed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..extras import needed
from .catalogue import entry
from .entry import Entry
from .folders import own_folder

Progress = Callable[[str, int, int], None]
"""Function of what is downloaded, the bytes there are, and the bytes there will be (0 where that is not known)."""

_TIMEOUT = 300  # seconds for one command
_SILENCE = (30, 60)  # seconds to wait for a connection, and for the next bytes
_BLOCK = 2**18


def main() -> None:
    """Make Fashion-MNIST available if that is possible, and print one line on the outcome."""
    try:
        outcome = fetch("fashion-mnist")
    except Exception as error:  # whatever it is, the caller goes on without the data
        outcome = f"not available ({' '.join(str(error).split())[:500]}). What needs it is skipped."
    print(f"Fashion-MNIST: {outcome}")


def fetch(name: str, progress: Progress | None = None) -> str:
    """Make a data set available, and say in a few words how.

    Raises:
        ValueError: an unknown name; or it cannot be had, with what was tried.
    """
    known = entry(name)
    if not known.layouts:
        return "needs no files."
    found = known.found()
    if found:
        return "already available."
    reasons = []
    for attempt in (_install_package, _download):
        try:
            how = attempt(known, progress or (lambda label, done, total: None))
            if known.found():
                return how
            reasons.append(f"{how.removesuffix('.')}, but the files are not where they should be")
        except Exception as error:  # a network, a system or a server may fail in any way
            reasons.append(" ".join(f"{type(error).__name__}: {error}".split())[:300])
    raise ValueError(f"{name} could not be fetched: {'; '.join(reasons)}")


def _install_package(known: Entry, progress: Progress) -> str:
    if not known.package:
        raise RuntimeError("there is no system package")
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise RuntimeError(f"package {known.package} not tried, that takes root and apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", known.package]):
        subprocess.run(["apt-get", "-qq", *command], check=True, capture_output=True, env=environment, timeout=_TIMEOUT)
    return f"installed the package {known.package}."


def _download(known: Entry, progress: Progress) -> str:
    """Download all files beside the target folder, check them, unpack archives, and only then rename them into it."""
    pooch = needed("pooch")

    if not known.downloads:
        raise RuntimeError(f"there is nothing to download; see the help of data.{known.loader.split(':')[1]}")
    pooch.get_logger().setLevel("ERROR")
    target = own_folder(known.name)
    beside = target.with_name(f".{target.name}-download")
    ready = beside / "ready"
    shutil.rmtree(ready, ignore_errors=True)
    ready.mkdir(parents=True)
    for each in known.downloads:
        pooch.retrieve(
            each.url,
            known_hash=each.checksum or None,
            fname=each.name,
            path=beside,
            downloader=Resuming(beside / f"{each.name}.part", progress),
        )
    for each in known.downloads:
        if each.archive:
            unpack(beside / each.name, ready)
        else:
            os.replace(beside / each.name, ready / each.name)
    target.mkdir(exist_ok=True)
    for path in sorted(ready.iterdir()):
        if (target / path.name).is_dir():
            shutil.rmtree(target / path.name)
        os.replace(path, target / path.name)
    shutil.rmtree(beside)
    return f"downloaded to {target}."


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar or zip archive; nothing is written outside the folder.

    Raises:
        ValueError: if it is neither, or damaged.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as content:
                content.extractall(folder)
        else:
            with tarfile.open(archive) as members:
                members.extractall(folder, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(
            f"{archive}: cannot be unpacked ({error}); allowed is a complete tar or zip archive"
        ) from error


class Resuming:
    """A downloader for pooch that keeps what it has in a file, and goes on from there the next time."""

    def __init__(self, part: Path, progress: Progress) -> None:
        self._part, self._progress = part, progress

    def __call__(self, url: str, output_file: Any, pooch: Any, check_only: bool = False) -> bool | None:
        requests = needed("requests")

        if check_only:
            return bool(requests.head(url, timeout=_SILENCE, allow_redirects=True).ok)
        have = self._part.stat().st_size if self._part.exists() else 0
        headers = (
            {"Range": f"bytes={have}-", "Accept-Encoding": "identity"} if have else {"Accept-Encoding": "identity"}
        )
        with requests.get(url, stream=True, timeout=_SILENCE, headers=headers) as answer:
            if answer.status_code == requests.codes.requested_range_not_satisfiable:
                total = have  # it was complete already
            else:
                answer.raise_for_status()
                total = self._save(answer, have)
        size = self._part.stat().st_size
        if total and size != total:
            raise OSError(f"{url}: {size} of {total} bytes came; they are kept, and the rest is fetched the next time")
        os.replace(self._part, output_file)
        return None

    def _save(self, answer: Any, have: int) -> int:
        """Append the answer, or start anew where the server does not resume; the bytes there should be then."""
        resumed = answer.status_code == 206
        have = have if resumed else 0
        total = have + int(answer.headers.get("Content-Length", 0)) if "Content-Length" in answer.headers else 0
        with open(self._part, "ab" if resumed else "wb") as file:
            for block in answer.iter_content(_BLOCK):
                file.write(block)
                have += len(block)
                self._progress(self._part.stem, have, total)
        return total


if __name__ == "__main__":
    main()
