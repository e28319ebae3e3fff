"""Citations of a statement: the paper with the statement's number, and this work with its version and verdict."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from .. import __version__
from ..claims.comparison import is_printed
from ..claims.statement import Claim
from ..papers import papers
from ..papers.in_print import Citation
from .scorecard import published_rows

TITLE = "fedtheory: theorems about federated learning, made executable"
AUTHORS = "The fedtheory authors"
RELEASED = "2026-11-27"
"""Day of this version. CITATION.cff has it too, with ``TITLE`` and ``AUTHORS``; a test compares them."""

FORMATS = ("text", "bibtex")


def cited(claim: Claim) -> dict[str, Any]:
    """Return what is known of a statement's paper, and of this work, as plain data.

    >>> from fedtheory.papers import claim
    >>> entry = cited(claim("safari.thm5"))
    >>> entry["paper"]["year"], entry["statement"], entry["printed"]
    (2024, 'SAFARI, section 4, Theorem 5', True)
    """
    paper = papers()[claim.paper]
    known = paper.citation or Citation()
    row = published_rows().get(claim.ref)
    return {
        "claim": claim.ref,
        "statement": claim.source,
        "printed": is_printed(claim),
        "verdict": row["verdict"] if row else "not checked",
        "paper": {
            "name": paper.name,
            "title": paper.title,
            "authors": list(known.authors) or ["Anonymous"],
            "year": known.year or None,
            "where": known.where or None,
            "arxiv": known.arxiv or None,
            "note": known.note or None,
        },
        "work": {"title": TITLE, "authors": [AUTHORS], "year": int(RELEASED[:4]), "version": __version__},
    }


def text(entry: Mapping[str, Any]) -> str:
    """Write a citation in sentences: the paper, then this work."""
    paper, work = entry["paper"], entry["work"]
    when = [paper["where"], paper["year"], paper["arxiv"] and f"arXiv:{paper['arxiv']}", paper["note"]]
    said = ", ".join(str(each) for each in when if each)
    return (
        f"{', '.join(paper['authors'])}. {paper['title']}. {said}.\n"
        f"Statement: {_about(entry)}.\n\n"
        f"{work['authors'][0]}. {work['title']}. Version {work['version']}, {work['year']}.\n"
        f"Verdict: {_judged(entry)}."
    )


def bibtex(entry: Mapping[str, Any]) -> str:
    """Write a citation as two entries for BibTeX."""
    paper, work = entry["paper"], entry["work"]
    note = "; ".join(filter(None, (paper["note"], _about(entry))))
    first = {
        "author": " and ".join(paper["authors"]),
        "title": f"{{{paper['title']}}}",
        "booktitle": paper["where"],
        "year": paper["year"],
        "eprint": paper["arxiv"],
        "archiveprefix": paper["arxiv"] and "arXiv",
        "note": note,
    }
    second = {
        "author": f"{{{work['authors'][0]}}}",
        "title": f"{{{work['title']}}}",
        "year": work["year"],
        "note": f"Version {work['version']}. Verdict: {_judged(entry)}",
    }
    kind = "inproceedings" if paper["where"] else "misc"
    return f"{_entry(kind, paper['name'], first)}\n\n{_entry('misc', 'fedtheory', second)}"


def _about(entry: Mapping[str, Any]) -> str:
    return entry["statement"] if entry["printed"] else f"{entry['statement']} (an edition of fedtheory, not printed)"


def _judged(entry: Mapping[str, Any]) -> str:
    return f"{entry['verdict']} ({entry['claim']})"


def _entry(kind: str, key: str, fields: Mapping[str, Any]) -> str:
    lines = [f"  {name} = {{{_latex(str(value))}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _latex(text: str) -> str:
    """Text in which BibTeX reads every letter and sign as it is meant.

    >>> _latex("Mónica & 50%_")
    "M{\\\\'o}nica \\\\& 50\\\\%\\\\_"
    """
    plain = re.sub(r"([&%#_$])", r"\\\1", text)
    accented = re.sub("([A-Za-z])\u0301", r"{\\'\1}", unicodedata.normalize("NFD", plain))
    return unicodedata.normalize("NFC", accented)
