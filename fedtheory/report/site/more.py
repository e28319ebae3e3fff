"""The pages besides the claims'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def more_pages(figures: Path | None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    return iter(())
