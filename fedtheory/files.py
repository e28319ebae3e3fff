"""Files that are written whole or not at all; JSON and Parquet, read with clear errors."""

from __future__ import annotations

import json
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


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        ValueError: the file is no JSON object; the place is named.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file ({error})") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: holds a {type(data).__name__}, allowed is an object")
    return data


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
