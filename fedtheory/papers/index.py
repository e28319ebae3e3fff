"""The list of all claims, kept as a file, so that it can be shown without building every expression."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ..files import write_beside

PATH = Path(__file__).parent / "index.json"


def listing(path: Path = PATH) -> list[dict[str, str]]:
    """``claim``, ``title`` and ``source`` of every claim: from the file, or, where that is damaged or the claims have
    changed, from the claims.

    >>> listing()[0]["claim"]
    'fast.lemma1@main'
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return _built()
    return kept["claims"] if kept.get("sources") == _sources() else _built()


def refresh() -> None:
    """Write the file anew."""
    content = {"sources": _sources(), "claims": _built()}
    write_beside(PATH, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def _built() -> list[dict[str, str]]:
    from . import all_claims

    return [{"claim": c.ref, "title": c.title, "source": c.source} for c in all_claims()]


def _sources() -> str:
    """A hash of the code that defines the claims."""
    content, here = hashlib.sha256(), Path(__file__).parent
    for path in sorted(here.rglob("*.py")):
        content.update(path.relative_to(here).as_posix().encode() + path.read_bytes())
    return content.hexdigest()
