"""What is proved of the papers' claims: all papers' steps and derivations together, since one uses another's lemmas."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache, partial

from ..claims.statement import Claim
from ..proof import chains, text
from ..proof.chains import Chain
from ..proof.library import Library
from ..proof.of_algorithm import Rounds, read_rounds
from ..proof.of_algorithm import built_in as rounds_of_parts
from ..proof.steps import Decision
from . import built_in, check_own_names, explained, papers
from . import claim as claim_of
from .paper import Paper, PaperError


def library() -> Library:
    """The steps and derivations of all papers.

    >>> library().decided("lemma2").outcome
    'proved'
    """
    return _library(tuple(papers().values()))


def library_with(paper: Paper) -> Library:
    """The same with those of one paper more, such as a user's own; its steps may rest on the others'."""
    check_own_names(paper)
    return _library((*(known for known in papers().values() if known is not paper), paper))


def prove(claim: Claim, paper: Paper | None = None) -> Chain:
    """The chain that proves a claim, of ``paper`` where that is not among ``papers()``: see ``chains.prove``.

    >>> from fedtheory.papers import claim
    >>> prove(claim("fast.lemma2")).outcome
    'proved'
    """
    return chains.prove(claim, _library_for(claim, paper))


def proof_of(claim: Claim, paper: Paper | None = None) -> Chain | None:
    """The chain that proves a claim, or ``None``: see ``chains.proof_of``."""
    return chains.proof_of(claim, _library_for(claim, paper))


@cache
def chain(ref: str) -> Chain:
    """The chain of the claim named ``<id>`` or ``<id>@<edition>``.

    >>> chain("fast.eq28").outcome, chain("flics.lemma6").outcome
    ('proved', 'gap')
    """
    return prove(claim_of(ref))


def sentence(decision: Decision, paper: Paper | None = None) -> str:
    """An open step in words, in the letters of ``paper`` or of its own: see ``text.sentence``."""
    step = decision.step
    words = paper or papers().get(step.paper) or Paper(step.paper, "")
    used = library_with(paper) if paper else library()
    repair = used.step(step.repaired_by[0]) if step.repaired_by else None
    return text.sentence(decision, words, repair)


@lru_cache(maxsize=4)
def _library(all_papers: tuple[Paper, ...]) -> Library:
    usable = []
    for paper in all_papers:
        if failure := _failure(paper):
            warnings.warn(f"the proofs of paper {paper.name!r} are left out: {failure}", stacklevel=3)
        else:
            usable.append(paper)
    return Library(
        (step for paper in usable for step in paper.steps),
        (derivation for paper in usable for derivation in paper.derivations),
        {paper.name: paper.algorithm for paper in usable},
        partial(_rounds, all_papers),
        tuple(built_in()),
    )


def _rounds(all_papers: tuple[Paper, ...], claim: Claim, algorithm: str) -> Rounds:
    """What the rounds of a claim's algorithm are, by the subject whose examples a search would draw: that of a paper of
    this package, whose word for it is taken.

    Raises:
        ValueError: there is none, and nothing else says what the rounds are.
    """
    own = [paper for paper in all_papers if paper.name == claim.paper]
    drawing = next((p for p in (*own, *all_papers) if algorithm in p.subjects), None)
    runs_as = None if drawing is None else getattr(drawing.subjects[algorithm], "runs_as", None)
    if runs_as is None:
        return rounds_of_parts(claim, algorithm)
    if drawing not in built_in().values():
        raise ValueError(f"{algorithm}: what its rounds are is said in a file of one's own, and nothing checks it")
    return read_rounds(*runs_as(claim))


def _library_for(claim: Claim, paper: Paper | None) -> Library:
    used = paper or papers().get(claim.paper)
    if used and (failure := _failure(used)):
        raise PaperError(f"claim {claim.ref!r}: the proofs of paper {used.name!r} cannot be used: {failure}")
    return library_with(paper) if paper else library()


@cache
def _failure(paper: Paper) -> str:
    """Why a paper's proofs cannot be imported, or ""."""
    try:
        _ = paper.steps, paper.derivations
    except Exception as error:
        return explained(error)
    return ""
