"""Files that are written whole or not at all, and tables that are read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


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
