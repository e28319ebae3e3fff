"""The registry of papers: which there are, which cannot be used, and their claims by name."""

from __future__ import annotations

import pkgutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import check_kind
from ..quantities import nearest
from .paper import Paper, PaperError

if TYPE_CHECKING:
    from ..claims.statement import Claim

GROUP = "fedtheory.papers"
"""Name of the entry points by which other packages name a ``Paper``."""

ADDED: dict[str, Paper] = {}
"""Papers that are there for a while, such as a user's own: see ``added``."""


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


def explained(error: BaseException, path: Path | None = None) -> str:
    """Describe an error with the file and line that it comes from: the last of ``path``, if given."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if path is None or f.filename == str(path)]
    file: str | Path | None = path
    line: int | None = None
    if isinstance(error, SyntaxError):
        file, line = error.filename, error.lineno
    elif frames:
        file, line = frames[-1].filename, frames[-1].lineno
    return f"{path or file}{f', line {line}' if line else ''}: {type(error).__name__}: {error}"


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
