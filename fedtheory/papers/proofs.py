"""Proofs of the papers' claims, from theorems and steps of several papers, since one uses another's lemmas."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..claims.statement import Claim
from ..proof import chains, text
from ..proof.chains import Chain
from ..proof.library import Library
from ..proof.algorithm_match import Rounds, read_rounds
from ..proof.algorithm_match import built_in as rounds_of_parts
from ..proof.steps import Decision
from .loading import check_own_names
from .registry import built_in, explained, papers
from .registry import claim as claim_of
from .paper import Paper, PaperError

if TYPE_CHECKING:
    from ..subjects.protocol import Subject


def library() -> Library:
    """Return the theorems and steps of all papers.

    >>> library().decided("lemma2").outcome
    'proved'
    """
    return _library(tuple(papers().values()))


def library_of(paper: Paper) -> Library:
    """Return the theorems and steps that prove a paper's statements: of a paper that comes with this package its own
    and those of the papers that it rests on, so that no other is imported; of another one those of all papers.

    >>> from fedtheory.papers import paper
    >>> {step.paper for step in library_of(paper("fast")).steps}
    {'fast'}
    """
    known = built_in()
    if known.get(paper.name) is not paper:
        return library()
    return _library(tuple(one for one in known.values() if one is paper or one.name in paper.rests_on))


def library_with(paper: Paper) -> Library:
    """Return the library of all papers' proofs with those of one paper more, such as a user's own.

    Its steps may rest on the others'.
    """
    check_own_names(paper)
    return _library((*(known for known in papers().values() if known is not paper), paper))


def prove(claim: Claim, paper: Paper | None = None) -> Chain:
    """Return the chain that proves a claim, of ``paper`` where that is not among ``papers()``: see ``chains.prove``.

    >>> from fedtheory.papers import claim
    >>> prove(claim("fast.lemma2")).outcome
    'proved'
    """
    return chains.prove(claim, _library_for(claim, paper))


def proof_of(claim: Claim, paper: Paper | None = None) -> Chain | None:
    """Return the chain that proves a claim, or ``None``: see ``chains.proof_of``."""
    return chains.proof_of(claim, _library_for(claim, paper))


@cache
def chain(ref: str) -> Chain:
    """Return the chain of the claim named ``<id>`` or ``<id>@<edition>``.

    >>> chain("fast.eq28").outcome, chain("flics.lemma6").outcome
    ('proved', 'gap')
    """
    return prove(claim_of(ref))


def sentence(decision: Decision, paper: Paper | None = None) -> str:
    """Describe an open step in words, in the letters of ``paper`` or of its own: see ``text.sentence``."""
    step = decision.step
    words = paper or papers().get(step.paper) or Paper(step.paper, "")
    used = library_with(paper) if paper else library()
    repair = used.step(step.repaired_by[0]) if step.repaired_by else None
    return text.sentence(decision, words, repair)


_decided: dict[str, Decision] = {}
"""Decisions of the steps of papers that come with this package, by name; all their libraries share them."""


@lru_cache(maxsize=16)
def _library(all_papers: tuple[Paper, ...]) -> Library:
    usable, known = [], tuple(built_in().values())
    for paper in all_papers:
        if failure := _failure(paper):
            warnings.warn(f"the proofs of paper {paper.name!r} are left out: {failure}", stacklevel=3)
        else:
            usable.append(paper)
    vouched = all(paper in known or not (paper.steps or paper.printed_proofs) for paper in usable)
    return Library(
        lambda: [step for paper in usable for step in paper.steps],
        (derivation for paper in usable for derivation in paper.derivations),
        {paper.name: paper.algorithm for paper in usable},
        partial(_rounds, all_papers),
        None if vouched else _library(known),
        _excluded,
        _decided if vouched else None,
        (printed for paper in usable for printed in paper.printed_proofs),
        partial(_stated, tuple(usable)),
    )


def _stated(all_papers: tuple[Paper, ...], ref: str) -> Claim | None:
    """Return the claim of a ref as its paper states it, or ``None``."""
    return next((claim for paper in all_papers for claim in paper.claims if claim.ref == ref), None)


def _excluded(claim: Claim) -> str:
    """Why nothing that the claim is about meets its hypotheses, by its subject; "" where none knows that."""
    from .registry import contradiction

    try:
        return contradiction(claim)
    except ValueError:  # nobody draws what it is about
        return ""


def _rounds(all_papers: tuple[Paper, ...], claim: Claim, algorithm: str) -> Rounds:
    """Return the rounds of a claim's algorithm, as the subject says whose examples a search would draw.

    The word of a paper of this package is taken, that of another one where its examples bear it out.

    Raises:
        ValueError: there is none, and nothing else says what the rounds are; or examples are of other rounds.
    """
    own = [paper for paper in all_papers if paper.name == claim.paper]
    drawing = next((p for p in (*own, *all_papers) if algorithm in p.subjects), None)
    subject: Any = None if drawing is None else drawing.subjects[algorithm]
    if not hasattr(subject, "runs_as"):
        return rounds_of_parts(claim, algorithm)
    rounds = read_rounds(*subject.runs_as(claim))
    if drawing not in built_in().values() and hasattr(subject, "space"):  # without it nothing is examined
        _check_examples(claim, algorithm, subject, rounds)
    return rounds


EXAMPLES = 20
"""Number of candidates of a search that are looked at, for an algorithm of one's own."""


def _check_examples(claim: Claim, algorithm: str, subject: Subject, rounds: Rounds) -> None:
    """Refuse a subject whose examples have other rounds than it says, or that draws none with rounds."""
    space, draw = subject.space(claim), np.random.default_rng(0)
    candidates = [*islice(space.structured(), EXAMPLES // 2)]
    candidates += [space.draw(draw) for _ in range(EXAMPLES - len(candidates))]
    settings = [found[0].point for candidate in candidates if (found := space.assess(candidate))]
    wrong = [s.algorithm for s in settings if read_rounds(s.algorithm, s.participation) != rounds]
    if wrong or not settings:
        seen = f"examples have others: {wrong[0]}" if wrong else "no example bears it out"
        raise ValueError(f"{algorithm}: its subject says that its rounds are {' and '.join(rounds.kinds)}, and {seen}")


def _library_for(claim: Claim, paper: Paper | None) -> Library:
    used = paper or papers().get(claim.paper)
    if used and (failure := _failure(used)):
        raise PaperError(f"claim {claim.ref!r}: the proofs of paper {used.name!r} cannot be used: {failure}")
    if paper or used is None:
        return library_with(paper) if paper else library()
    return library_of(used) if any(claim is known for known in used.claims) else library()


@cache
def _failure(paper: Paper) -> str:
    """Why a paper's proofs cannot be imported, or ""."""
    try:
        _ = paper.derivations, paper.printed_proofs
        if built_in().get(paper.name) is not paper:
            _ = paper.steps  # those of a paper of this package can be imported
    except Exception as error:
        return explained(error)
    return ""
