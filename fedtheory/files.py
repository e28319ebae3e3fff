"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_beside(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all: beside, synced, renamed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
