"""Lists of all claims and of all algorithms, kept as a file in each paper's folder.

So they can be shown without building every expression, and without loading what draws runs.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..files import read_json, write_beside
from .paper import Paper
from .registry import by_algorithm, papers

FILE = "index.json"


def listing() -> list[dict[str, str]]:
    """List ``claim``, ``title`` and ``source`` of every claim: see ``listed``.

    >>> listing()[0]["claim"]
    'fast.lemma1@main'
    """
    return [row for paper in papers().values() for row in listed(paper, paper.folder)]


def algorithms() -> dict[str, list[Paper]]:
    """Return the papers of each algorithm, as ``registry.algorithms`` gives them.

    >>> list(algorithms())
    ['fast', 'safari', 'fedau', 'flics', 'local_sgd', 'fedavg_decaying']
    """
    return by_algorithm(lambda paper: drawn(paper, paper.folder))


def listed(paper: Paper, folder: Path | None) -> list[dict[str, str]]:
    """List one paper's rows: from the folder's file, or, where that is damaged or the paper has changed, from its
    claims."""
    kept = _kept(paper, folder)
    return kept["claims"] if "claims" in kept else built(paper)


def drawn(paper: Paper, folder: Path | None) -> list[str]:
    """List the algorithms whose runs a paper draws: from the folder's file, as ``listed``, or from its subjects."""
    kept = _kept(paper, folder)
    return kept["draws"] if "draws" in kept else list(paper.subjects)


def _kept(paper: Paper, folder: Path | None) -> dict[str, Any]:
    """Read a folder's file, if it was made of the paper as it is now."""
    try:
        kept = read_json(folder / FILE) if folder else {}
    except (FileNotFoundError, ValueError):
        kept = {}
    return kept if kept.get("sources") == sources(paper) else {}


def refresh() -> None:
    """Write every paper's file anew."""
    for paper in papers().values():
        if paper.folder:
            content = {"sources": sources(paper), "draws": list(paper.subjects), "claims": built(paper)}
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            write_beside(paper.folder / FILE, text.encode())


def built(paper: Paper) -> list[dict[str, str]]:
    """Build the rows of a paper's claims."""
    return [{"claim": c.ref, "title": c.title, "source": c.source} for c in paper.claims]


def sources(paper: Paper) -> str | None:
    """Hash the code that makes the paper's statements, and that which draws its runs."""
    if paper.folder is None:
        return None
    content = hashlib.sha256()
    folders = (paper.folder / name for name in ("statements", "subjects"))
    parts = [path for folder in folders for path in folder.rglob("*.py")]
    for path in sorted([paper.folder / "__init__.py", *paper.folder.glob("subjects.py"), *parts]):
        content.update(path.relative_to(paper.folder).as_posix().encode() + path.read_bytes())
    return content.hexdigest()
