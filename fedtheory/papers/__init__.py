"""The papers' statements as data, one folder a paper and one file a theorem; and the registry of all papers.

A paper is found as a folder here that defines ``PAPER``, under the entry points ``fedtheory.papers`` of an installed
package, or in a file or folder elsewhere (``load``). One that cannot be imported keeps no other from being used: see
``failures``.
"""

from __future__ import annotations

import pkgutil
import runpy
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TYPE_CHECKING

from .. import functionals
from ..quantities import nearest
from .paper import Paper, PaperError

if TYPE_CHECKING:
    from ..claims.statement import Claim

GROUP = "fedtheory.papers"
"""Name of the entry points by which other packages name a ``Paper``."""


def papers() -> dict[str, Paper]:
    """Return all papers that can be imported, by name.

    >>> list(papers())[:4]
    ['fast', 'safari', 'fedau', 'flics']
    """
    return _found()[0] | _ADDED


def built_in() -> dict[str, Paper]:
    """Return the papers that come with this package: its folders here.

    >>> "fast" in built_in()
    True
    """
    own = [getattr(sys.modules.get(place), "PAPER", None) for _, place, _ in _folders()]
    return {name: one for name, one in _found()[0].items() if one in own}


def load_evaluators() -> None:
    """Import the modules in which papers register evaluators of their quantities and functionals."""
    for one in papers().values():
        for module in one.evaluators:
            import_module(f"{one.home}.{module}")


@contextmanager
def added(paper: Paper) -> Iterator[None]:
    """Add one paper, such as a user's own, to ``papers()`` for the length of a ``with`` block; it is the last.

    Raises:
        PaperError: another one has its name, or it redefines what another one has: see ``redefined``.
    """
    check_own_names(paper)
    _ADDED[paper.name] = paper
    try:
        yield
    finally:
        del _ADDED[paper.name]


_ADDED: dict[str, Paper] = {}


def check_own_names(paper: Paper) -> None:
    """Refuse a paper that gives another meaning to a name that is known: of a paper, of an algorithm or a subject whose
    examples another paper or this package draws, or of a left side of ``functionals`` that it would compute otherwise.
    (Quantities: see ``own.define``.)

    Raises:
        PaperError: it does; both are named.
    """
    if papers().get(paper.name, paper) is not paper:
        raise PaperError(f"paper {paper.name!r}: another one has that name: {papers()[paper.name].home or 'given'}")
    if papers().get(paper.name) is paper:
        return  # it is one of the known ones, which have been looked at
    from ..subjects import known as known_subjects
    from .dispatch import algorithms

    for name in (*paper.subjects, *paper.scopes):
        others = [f"paper {other.name!r}" for other in algorithms().get(name, ()) if other is not paper]
        others += [
            f"paper {other.name!r}" for other in papers().values() if other is not paper and name in other.scopes
        ]
        others += ["this package"] if name in known_subjects() else []
        if others:
            raise PaperError(
                f"paper {paper.name!r}: its subject {name!r} would be another one than that of "
                f"{others[0]}: allowed is a name of its own"
            )
    for claim in paper.claims:
        for there in functionals.named(claim.functional.name):
            if apart := claim.functional.apart_from(there):
                known = f"the built-in {there.name!r}, {there.meaning}"
                raise PaperError(
                    f"{claim.ref}: its functional {there.name!r} has another {' and '.join(apart)} than "
                    f"{known}: allowed is a name of its own"
                )


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


def load(path: str | Path) -> Paper:
    """The paper of a Python file, or of a folder that is a package, which is EXECUTED: its ``PAPER``; or the one that
    its ``CLAIM``, and the ``STEPS`` of the proof if there are any, make up, in the letters of the paper whose algorithm
    the claim is about.

    Raises:
        PaperError: the file fails, or defines neither; it is said where.
    """
    path = Path(path)
    if not (path.is_file() or (path / "__init__.py").is_file()):
        raise PaperError(f"{path}: no such file, nor a folder with an __init__.py")
    try:
        names = runpy.run_path(str(path)) if path.is_file() else vars(_package(path))
    except (Exception, SystemExit) as error:
        raise PaperError(f"{explained(error, path)}; the theorem's state is unknown") from None
    if "PAPER" in names:
        if not isinstance(names["PAPER"], Paper):
            raise PaperError(f"{path}: PAPER = {names['PAPER']!r}: allowed is a fedtheory.papers.paper.Paper")
        return names["PAPER"].with_subjects(_own_subjects(names, path))
    made = _paper_of(names.get("CLAIM"), tuple(names.get("STEPS", ())), path)
    return made.with_subjects(_own_subjects(names, path))


def _own_subjects(names: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return, by name, the runs of the algorithms that a file makes of steps of its own."""
    if "fedtheory.algorithms.custom_algorithm" not in sys.modules:  # nobody has made one
        return {}
    from ..algorithms.custom_algorithm import Own
    from ..subjects.custom_search import OwnSubject
    from .dispatch import algorithms

    found: dict[str, Any] = {}
    for algorithm in dict.fromkeys(value for value in names.values() if isinstance(value, Own)):
        if algorithm.name in found or algorithm.name in algorithms():
            raise PaperError(f"{path}: algorithm {algorithm.name!r}: another one has that name")
        found[algorithm.name] = OwnSubject(algorithm)
    return found


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


def _paper_of(claim: object, steps: tuple, path: Path) -> Paper:
    from ..claims.statement import Claim
    from ..claims.algorithm_named import algorithm_of
    from ..proof.steps import Step

    if not isinstance(claim, Claim):
        raise PaperError(f"{path}: CLAIM = {claim!r}: allowed is a fedtheory.claims.statement.Claim")
    if not all(isinstance(step, Step) for step in steps):
        raise PaperError(f"{path}: STEPS: allowed is a list of fedtheory.proof.steps.Step")
    algorithm = algorithm_of(claim) or ""
    like = papers().get(claim.paper) or next((p for p in papers().values() if p.algorithm == algorithm), None)
    wording: dict[str, Any] = (
        {} if like is None else {"letters": like.letters, "prose": like.prose, "shorthands": like.shorthands}
    )
    return Paper(claim.paper, claim.title, algorithm=algorithm, claims=(claim,), steps=steps, derivations=(), **wording)


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
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        if module.ispkg:
            place = module.name
            yield place.rpartition(".")[2], place, partial(_read, place)


def _read(place: str) -> object:
    return getattr(import_module(place), "PAPER", None)


def _entry_points() -> Iterator[Place]:
    for point in entry_points(group=GROUP):
        yield point.name, f"entry point {point.value!r}", point.load


def _package(folder: Path) -> ModuleType:
    """The package of a folder, under a name that no other module has."""
    name = f"fedtheory_paper_{folder.resolve().name}"
    for known in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[known]
    spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None  # the folder has an __init__.py
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _stated(one: Paper) -> tuple[tuple[Claim, ...], str]:
    """A paper's claims, or why there are none."""
    try:
        return one.claims, ""
    except Exception as error:
        return (), str(error) if isinstance(error, PaperError) else explained(error)
