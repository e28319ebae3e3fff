"""The registry of papers: which there are, which cannot be used, their claims by name, and what each claim is about.

A claim is about an algorithm, and has a subject: what draws, reads and makes examples of the runs, or other things,
that its functional is of.
"""

from __future__ import annotations

import pkgutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import subjects
from ..arguments import check_kind
from ..quantities import nearest
from .paper import Paper, PaperError

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from ..setting import Setting
    from ..subjects.protocol import Point, Space, Subject

GROUP = "fedtheory.papers"
"""Name of the entry points by which other packages name a ``Paper``."""

ADDED: dict[str, Paper] = {}
"""Papers that are there for a while, such as a user's own: see ``added``."""

PLAIN = "fast"
"""Algorithm on whose settings a claim about runs or rounds is searched that has nothing of one algorithm alone.

FAST has rounds with everyone, with uniform cohorts and with any others.
"""


def papers() -> dict[str, Paper]:
    """Return all papers that can be imported, by name.

    >>> list(papers())[:4]
    ['fast', 'safari', 'fedau', 'flics']
    """
    return _found()[0] | ADDED


def built_in() -> dict[str, Paper]:
    """Return the papers that come with this package: its folders here.

    >>> "fast" in built_in()
    True
    """
    found = _found()[0]  # which imports them
    own = [getattr(sys.modules.get(place), "PAPER", None) for _, place, _ in _folders()]
    return {name: one for name, one in found.items() if one in own}


def load_evaluators() -> None:
    """Import the modules in which papers register evaluators of their quantities and functionals."""
    for one in papers().values():
        for module in one.evaluators:
            import_module(f"{one.home}.{module}")


def paper(name: str) -> Paper:
    """Return the paper of that name.

    >>> paper("fats")
    Traceback (most recent call last):
    ValueError: unknown paper 'fats': did you mean 'fast'?
    """
    found, failed = papers(), _found()[1]
    if name in failed:
        raise PaperError(f"paper {name!r} cannot be used: {failed[name]}")
    if name not in found:
        raise ValueError(f"unknown paper {name!r}: {nearest(name, found)}")
    return found[name]


def failures() -> dict[str, str]:
    """Return the papers that cannot be used, or whose statements cannot, with the reasons.

    >>> failures()
    {}
    """
    return _found()[1] | {name: why for name, one in papers().items() if (why := _stated(one)[1])}


def editions(id: str) -> tuple[Claim, ...]:
    """Return all editions of a statement.

    >>> [claim.edition for claim in editions("fast.thm2")]
    ['main', 'appendix', 'room', 'corrected', 'sharp', 'sharper', 'averaged', 'wide', 'periodic']
    """
    name = id.partition(".")[0]
    found: tuple[Claim, ...] = ()
    if name in _found()[1] or name in papers():
        stated, failure = _stated(paper(name))
        if failure:
            raise PaperError(f"claim {id!r}: the statements of paper {name!r} cannot be used: {failure}")
        found = tuple(claim for claim in stated if claim.id == id)
    if not found:
        raise ValueError(f"unknown claim {id!r}: {nearest(id, {claim.id for claim in all_claims()})}")
    return found


def claim(ref: str) -> Claim:
    """Return the claim named ``<id>`` (its edition ``main``) or ``<id>@<edition>``.

    >>> claim("fast.thm1").source
    'FAST, section 4.2, Theorem 1, (2)'
    >>> claim("fast.thm2@appendx")
    Traceback (most recent call last):
    ValueError: unknown edition 'appendx' of fast.thm2: did you mean 'appendix'?
    """
    check_kind("ref", ref, str, "text, such as 'fast.thm2@appendix'")
    id, _, edition = ref.partition("@")
    known = {claim.edition: claim for claim in editions(id)}
    if (edition or "main") not in known:
        raise ValueError(f"unknown edition {edition!r} of {id}: {nearest(edition, known)}")
    return known[edition or "main"]


def all_claims() -> tuple[Claim, ...]:
    """Return every edition of every statement, paper by paper; warn of each paper that cannot be used."""
    for name, why in failures().items():
        warnings.warn(f"paper {name!r} is left out: {why}", stacklevel=2)
    return tuple(claim for one in papers().values() for claim in _stated(one)[0])


def instance_path(ref: str, violated: str = "") -> Path | None:
    """Return the path of a claim's published instance, or of the one that violates an assumption of this kind.

    There may be no such file. The path is ``None`` for a paper without a folder.
    """
    folder = papers()[name].folder if (name := ref.partition(".")[0]) in papers() else None
    return folder and (
        folder / "needs" / f"{ref}.{violated}.json" if violated else folder / "instances" / f"{ref}.json"
    )


def algorithm_of(claim: Claim) -> str | None:
    """Return the algorithm that a claim is about, by its paper's where its quantities do not tell.

    See ``claims.statement.algorithm_of``.

    >>> from fedtheory.papers import claim
    >>> algorithm_of(claim("fast.eq28"))
    'fast'
    """
    from ..claims.statement import algorithm_of as told_by

    known = papers().get(claim.paper)
    return told_by(claim, known.algorithm if known else "")


def subject_of(claim: Claim) -> Subject:
    """Return the subject of the claim's functional.

    For runs and rounds, it is the subject of the claim's algorithm (or of ``PLAIN``): that of the claim's own paper,
    else of another one.

    Raises:
        ValueError: nobody says how there are examples of them, or the claim names an algorithm that nobody knows.

    >>> from fedtheory.papers import claim
    >>> [subject_of(claim(id)).name for id in ("fast.rem2.a", "fast.thm1", "safari.thm4", "flics.thm1")]
    ['values', 'fast', 'safari', 'selection']
    """
    from ..claims.statement import OF_RUNS

    if claim.functional.scope not in OF_RUNS:
        if claim.algorithm and claim.algorithm not in algorithms():
            raise _unknown(claim, claim.algorithm, "is about it")
        return subjects.named(claim.functional.scope, f"{claim.ref} bounds {claim.functional.name}", _by_scope())
    algorithm, known = algorithm_of(claim) or PLAIN, papers()
    own = [known[claim.paper]] if claim.paper in known else []
    for paper in (*own, *known.values()):
        if algorithm in paper.subjects:
            return paper.subjects[algorithm]
    try:
        return subjects.named(algorithm, others=_by_scope())
    except ValueError:
        raise _unknown(claim, algorithm, "draws its runs") from None


def _by_scope() -> dict[str, Subject]:
    return {scope: subject for paper in papers().values() for scope, subject in paper.scopes.items()}


def algorithms() -> dict[str, list[Paper]]:
    """Return the papers of each algorithm that a claim may name: those whose claims are about it, or that draw its
    runs.

    >>> list(algorithms())
    ['fast', 'safari', 'fedau', 'flics', 'local_sgd', 'fedavg_decaying']
    """
    return by_algorithm(lambda paper: paper.subjects)


def _unknown(claim: Claim, algorithm: str, does: str) -> ValueError:
    known = [name for name in algorithms() if name != algorithm]
    near = nearest(algorithm, known)
    listed = "" if near.startswith("known") else f" known are {', '.join(sorted(known))}"
    return ValueError(f"algorithm = {algorithm!r} of {claim.ref}: no paper {does}: {near}{listed}")


def searched(claim: Claim, space: Space | None = None) -> tuple[str, str]:
    """Describe what a search for a counterexample draws, in one of the claim's spaces, and what it leaves out.

    Where a claim about runs does not say whose, the words name those on which it is searched, and the way to say it.
    """
    from ..claims.statement import OF_RUNS

    space = space or subject_of(claim).space(claim)
    unsaid = claim.functional.scope in OF_RUNS and algorithm_of(claim) is None
    advice = (
        f" (the claim does not say whose runs it is about: these are {PLAIN}'s; state `algorithm=`, one of "
        f"{', '.join(algorithms())})"
    )
    return space.searched + (advice if unsaid else ""), space.left_out


def from_setting(claim: Claim, setting: Setting, rounds: int, **given: Any) -> Point:
    """Make the exact point of a setting, for a claim; ``given`` are values of quantities that no setting has.

    Raises:
        ValueError: a setting makes no point of what the claim speaks of; it is said why.
    """
    subject = subject_of(claim)
    make = getattr(subject, "from_setting", None)
    if make is None:
        raise ValueError(f"{claim.ref} is about {subject.name}: no setting makes an exact point of it")
    return make(claim, setting, rounds, **given)


def contradiction(claim: Claim) -> str:
    """Say why nothing that the claim is about meets its hypotheses, where its subject knows that; "" where it does
    not."""
    own = getattr(subject_of(claim), "contradiction", None)
    found = None if own is None else own(claim)
    return found[0] if found else ""


def findings(claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (name, sentence, evidence) for each finding of the claim's subject on its hypotheses."""
    own = getattr(subject_of(claim), "findings", None)
    return iter(()) if own is None else own(claim)


def by_algorithm(drawn: Callable[[Paper], Iterable[str]]) -> dict[str, list[Paper]]:
    """Return the papers of each algorithm that a claim may name.

    Their claims are about it, or they draw its runs, which ``drawn`` tells of a paper.
    """
    found: dict[str, list[Paper]] = {}
    for paper in papers().values():
        for name in dict.fromkeys((paper.algorithm, *drawn(paper)) if paper.algorithm else drawn(paper)):
            found.setdefault(name, []).append(paper)
    return found


def explained(error: BaseException, path: Path | None = None) -> str:
    """Describe an error in one line, with the file and line that it comes from: the last of ``path``, or in it."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if path is None or frame.filename == str(path) or Path(frame.filename).is_relative_to(path)
    ]
    file: str | Path | None = path
    line: int | None = None
    said: object = error
    if isinstance(error, SyntaxError):
        file, line, said = error.filename, error.lineno, error.msg
    elif frames:
        file, line = frames[-1].filename, frames[-1].lineno
    words = " ".join(str(said).split())
    return f"{file or path}{f', line {line}' if line else ''}: {type(error).__name__}: {words}"


@cache
def _found() -> tuple[dict[str, Paper], dict[str, str]]:
    """The papers, and by name why others cannot be imported."""
    found: dict[str, Paper] = {}
    failed: dict[str, str] = {}
    for name, place, read in (*_folders(), *_entry_points()):
        try:
            one = read()
            if not isinstance(one, Paper):
                raise PaperError(f"{place}: PAPER = {one!r}: allowed is a fedtheory.papers.paper.Paper")
            if one.name in found:
                raise PaperError(f"{place}: another paper is named {one.name!r}: {found[one.name].home}")
        except PaperError as error:
            failed[name] = str(error)
        except Exception as error:
            failed[name] = explained(error)
        else:
            found[one.name] = one
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0]))), failed


Place = tuple[str, str, Callable[[], object]]
"""A paper's name as far as it is known before it is read, where it is, and how to read it."""


def _folders() -> Iterator[Place]:
    for module in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
        if module.ispkg:
            place = module.name
            yield place.rpartition(".")[2], place, partial(_read, place)


def _read(place: str) -> object:
    return getattr(import_module(place), "PAPER", None)


def _entry_points() -> Iterator[Place]:
    for point in entry_points(group=GROUP):
        yield point.name, f"entry point {point.value!r}", point.load


@cache
def _stated(one: Paper) -> tuple[tuple[Claim, ...], str]:
    """A paper's claims, or why there are none."""
    try:
        return one.claims, ""
    except Exception as error:
        return (), str(error) if isinstance(error, PaperError) else explained(error)
