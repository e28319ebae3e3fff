"""The list of all claims, kept as a file in each paper's folder, so that it can be shown without building every
expression."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ..files import write_beside
from . import papers
from .paper import Paper

FILE = "index.json"


def listing() -> list[dict[str, str]]:
    """``claim``, ``title`` and ``source`` of every claim: see ``listed``.

    >>> listing()[0]["claim"]
    'fast.lemma1@main'
    """
    return [row for paper in papers().values() for row in listed(paper, paper.folder)]


def listed(paper: Paper, folder: Path | None) -> list[dict[str, str]]:
    """One paper's rows: from the folder's file, or, where that is damaged or the paper has changed, from its claims."""
    try:
        kept = json.loads((folder / FILE).read_text(encoding="utf-8")) if folder else {}
    except (FileNotFoundError, ValueError):
        kept = {}
    return kept["claims"] if kept.get("sources") == sources(paper) and "claims" in kept else built(paper)


def refresh() -> None:
    """Write every paper's file anew."""
    for paper in papers().values():
        if paper.folder:
            content = {"sources": sources(paper), "claims": built(paper)}
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            write_beside(paper.folder / FILE, text.encode())


def built(paper: Paper) -> list[dict[str, str]]:
    """The rows of a paper's claims."""
    return [{"claim": c.ref, "title": c.title, "source": c.source} for c in paper.claims]


def sources(paper: Paper) -> str | None:
    """A hash of the code that makes the paper's statements."""
    if paper.folder is None:
        return None
    content = hashlib.sha256()
    for path in sorted([paper.folder / "__init__.py", *(paper.folder / "statements").rglob("*.py")]):
        content.update(path.relative_to(paper.folder).as_posix().encode() + path.read_bytes())
    return content.hexdigest()
