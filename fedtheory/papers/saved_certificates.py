"""Proofs as files in the papers' folders, verified anew without a search (see ``proof.step_certificates``).

``certificates/steps.json`` has the decisions of all steps of a paper, once; ``certificates/<ref>.json`` those on a
claim itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from pathlib import Path

from ..files import read_json, read_text, write_beside
from ..proof.derivations import Derivation
from ..proof.library import Library
from ..proof.step_certificates import Shelf, chain_data, decision_data, own_steps, steps_data, verified_all
from ..proof.chains import Chain, tied
from ..proof.polynomial_data import fields, parse_text
from ..proof.printed_proof import PrintedProof
from .registry import claim as claim_of
from .registry import papers
from .proofs import library, library_of, prove

STEPS = "steps.json"

Folders = Mapping[str, Path]
"""Folder of certificates of each paper, by its name."""


def folders() -> Folders:
    """Return the folders of certificates that come with the papers."""
    return {name: paper.folder / "certificates" for name, paper in papers().items() if paper.folder}


def publish(into: Folders | None = None) -> list[Path]:
    """Decide every claim that has a theorem or a printed proof to be compared with, and write the folders' files;
    others of their JSON files are removed."""
    written = []
    for name, folder in (into or folders()).items():
        decisions = map(library().decided, own_steps(name, library()))
        contents: dict[str, object] = {STEPS: steps_data(decisions)}
        for chain in map(prove, papers()[name].claims):
            if chain.source is not None:
                on_claim = [decision_data(d) for d in chain.decisions[len(_own(chain.source, library())) :]]
                contents[f"{chain.claim.ref}.json"] = chain_data(chain) | {"steps": on_claim}
        folder.mkdir(parents=True, exist_ok=True)
        for old in set(folder.glob("*.json")) - {folder / file for file in contents}:
            old.unlink()
        for file, content in contents.items():
            write_beside(folder / file, json.dumps(content, separators=(",", ":")).encode())
            written.append(folder / file)
    return written


def _own(source: Derivation | PrintedProof, used: Library) -> tuple[str, ...]:
    """Return the names of a printed proof's steps; a theorem of the kernel has none."""
    return used.needed(source.steps) if isinstance(source, PrintedProof) else ()


def source_of(ref: str, name: str, used: Library) -> Derivation | PrintedProof | None:
    """Return the theorem of the kernel, or the printed proof, with which a claim's file says that it was compared."""
    return next((source for source in used.nearest(claim_of(ref)) if source.name == name), None)


def published() -> tuple[str, ...]:
    """Return the refs of the claims that have a file."""
    return tuple(sorted(p.stem for folder in folders().values() for p in folder.glob("*.json") if p.name != STEPS))


def published_outcome(ref: str) -> str:
    """Read the outcome of the proof's steps from a claim's file of certificates; "" where there is none.

    >>> published_outcome("fast.lemma2@main"), published_outcome("fast.thm1@main"), published_outcome("mine.thm1@main")
    ('proved', 'gap', '')
    """
    folder = folders().get(ref.partition(".")[0])
    file = folder / f"{ref}.json" if folder else None
    return read_json(file)["outcome"] if file and file.exists() else ""


def reverify(ref: str, places: Folders | None = None) -> Chain:
    """Check the chain of a claim's file: its certificates and counterexamples, against the steps and the claim of now.

    Raises:
        ValueError: a file is no chain, evidence does not show what the file says, or an outcome differs.

    >>> reverify("fast.lemma2@main").outcome
    'proved'
    """
    places = folders() if places is None else places
    claim = claim_of(ref)
    text = read_text(places[claim.paper] / f"{ref}.json")
    named, name, outcome, steps = fields(parse_text(text), "claim", "source", "outcome", "steps")
    if named != ref:
        raise ValueError(f"claim = {named!r}: allowed is {ref!r} in {ref}.json")
    used = library_of(papers()[claim.paper])
    source = source_of(ref, name, used)
    if source is None:
        raise ValueError(f"source = {name!r}: no theorem or proof of that name bounds the functional of {ref}")
    read = shelf(places, used)
    decisions = {name: read.decision(name) for name in _own(source, used)}
    decisions |= verified_all(tied(claim, source, used), steps, ref)
    chain = Chain(claim, source, tuple(decisions.values()))
    if chain.outcome != outcome:
        raise ValueError(f"outcome of {ref} = {outcome!r}: the evidence shows {chain.outcome}")
    return chain


def certified_library(places: Folders | None = None) -> Library:
    """Return the library of all papers' proofs, whose steps are decided by the published certificates, each verified.

    >>> certified_library().decided("lemma2").outcome
    'proved'
    """
    read = copy(library())
    read.decided = shelf(places).decision  # type: ignore[method-assign]
    return read


def steps_decided() -> list[dict[str, str]]:
    """Return the claims whose steps are decided, by their files, while it is declared how these are joined.

    Each comes with what the kernel lacks to compose its proof.
    """
    rows = []
    for ref in published():
        data = parse_text(read_text(folders()[claim_of(ref).paper] / f"{ref}.json"))
        printed = library().printed_proof(claim_of(ref))
        if printed is not None and (data["source"], data["outcome"]) == (printed.name, "proved"):
            rows.append({"claim": ref, "missing": printed.lacks})
    return rows


def shelf(places: Folders | None = None, used: Library | None = None) -> Shelf:
    """Return the published decisions of the steps of a library, by default of all papers."""
    places, used = folders() if places is None else places, used or library()
    of = {step.paper for step in used.steps}
    return _shelf(tuple((name, read_text(folder / STEPS)) for name, folder in places.items() if name in of), used)


@lru_cache(maxsize=16)
def _shelf(texts: tuple[tuple[str, str], ...], used: Library) -> Shelf:
    return Shelf(dict(texts), used)
