"""The summary of each claim for ``fedtheory show``, kept as a file in its paper's folder.

Building expressions takes longer than reading them.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import read_json, write_beside
from ..papers import claim, papers
from ..papers.index import sources

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from ..papers.paper import Paper

FILE = "shown.json"

_OF_CLAIMS = ("statement", "wellformed", "schedules", "typeset")
SAYING = (
    *(f"claims/{name}.py" for name in _OF_CLAIMS), "quantities.py", "functionals.py", "units.py", "assumptions.py",
    "evidence/units_check.py", "evidence/claim_summaries.py", "papers/paper.py", "papers/dispatch.py",
)  # fmt: skip
"""Source files on which a summary depends besides the paper's own; a test compares what is kept with what it says."""


def shown(ref: str) -> dict[str, Any]:
    """Summarise a claim as plain data: both sides, its hypotheses, its readings, whether its units match.

    The summary is read from the paper's folder. Where the file there is damaged or of other code, it is made anew.

    Raises:
        ValueError: there is no such claim.

    >>> shown("fast.thm1")["units"]
    'homogeneous'
    """
    id, _, edition = ref.partition("@")
    paper = papers().get(id.partition(".")[0])
    kept = {} if paper is None else _kept(paper)
    return kept.get(f"{id}@{edition or 'main'}") or said(claim(ref))


def said(statement: Claim) -> dict[str, Any]:
    """Summarise a claim from its expressions; see ``shown``."""
    from ..papers.dispatch import algorithm_of
    from .units_check import check_units

    findings = [f"{finding.where}: {finding.what}" for finding in check_units(statement)]
    return {
        "claim": statement.ref,
        "title": statement.title,
        "source": statement.source,
        "left": statement.functional.meaning,
        "terms": {term.name: str(term.expression) for term in statement.terms},
        "hypotheses": {h.name: str(h.relation) for h in statement.hypotheses},
        "algorithm": algorithm_of(statement) or "not said",
        "bound": {name: str(value) for name, value in statement.bound.items()},
        "choices": {name: str(choice) for name, choice in statement.choices.items()},
        "assumptions": {a.name: f"{a.kind}: {a.meaning} ({a.source})" for a in statement.assumptions},
        "readings": {a.name: list(a.options) for a in statement.ambiguities},
        **({"constants": statement.constants} if statement.constants else {}),
        "units": findings or "homogeneous",
        "latex": statement.latex(),
    }


def refresh() -> None:
    """Write every paper's file anew."""
    for paper in papers().values():
        if paper.folder:
            content = {"sources": code_of(paper), "claims": {each.ref: said(each) for each in paper.claims}}
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            write_beside(paper.folder / FILE, text.encode())


def code_of(paper: Paper) -> str:
    """Hash everything that decides what is said of a paper's claims."""
    content = hashlib.sha256(f"{sources(paper)} {version('sympy')}".encode())
    package = Path(__file__).parent.parent
    for path in SAYING:
        content.update(path.encode() + (package / path).read_bytes())
    return content.hexdigest()


def _kept(paper: Paper) -> dict[str, dict[str, Any]]:
    """Read the summaries in the folder's file, if they were made of the paper and by the code as they are now."""
    try:
        kept = read_json(paper.folder / FILE) if paper.folder else {}
    except (FileNotFoundError, ValueError):
        return {}
    right = isinstance(kept.get("claims"), dict) and kept.get("sources") == code_of(paper)
    return kept["claims"] if right else {}
