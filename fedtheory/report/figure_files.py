"""Recognition of figure files. It precedes every run of experiment files, so nothing that draws is imported here."""

from __future__ import annotations

from pathlib import Path

from ..experiments.printed_tables import folder
from ..files import read_file

FOLDER = "figures"
"""The folder of a paper's figure files, below its experiments; also the folder of drawn figures."""


def figure_files(root: Path | None = None) -> list[Path]:
    """List all figure files, by paper and name."""
    return sorted((root or folder()).glob(f"*/{FOLDER}/*.toml"))


def is_figure(path: Path) -> bool:
    """Whether a file is a figure's: it has a table ``[figure]``, or lies in a folder of them.

    Raises:
        FileNotFoundError: there is no such file.
    """
    lines = read_file(path).decode("utf-8", errors="replace").splitlines()
    return path.resolve().parent.name == FOLDER or any(line.strip() == "[figure]" for line in lines)
