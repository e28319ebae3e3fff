"""Papers of one's own: read from a file or a folder, checked, and added to those that are known."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import functionals
from ..subjects import known as known_subjects
from .paper import Paper, PaperError, several
from .registry import ADDED, algorithms, explained, papers


@contextmanager
def added(paper: Paper) -> Iterator[None]:
    """Add one paper, such as a user's own, to ``papers()`` for the length of a ``with`` block; it is the last.

    Raises:
        PaperError: another one has its name, or it redefines what another one has: see ``check_own_names``.
    """
    check_own_names(paper)
    ADDED[paper.name] = paper
    try:
        yield
    finally:
        del ADDED[paper.name]


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file may raise what it likes, and may end
        raise PaperError(f"{explained(error, path)}; the theorem's state is unknown") from None
    if "PAPER" in names:
        if not isinstance(names["PAPER"], Paper):
            raise PaperError(f"{path}: PAPER = {names['PAPER']!r}: allowed is a fedtheory.papers.paper.Paper")
        return names["PAPER"].with_subjects(_own_subjects(names, names["PAPER"].claims, path))
    if "CLAIM" not in names:
        raise PaperError(f"{path}: neither CLAIM nor PAPER is there: allowed is one of them")
    made = _paper_of(names["CLAIM"], names.get("STEPS", ()), path)
    return made.with_subjects(_own_subjects(names, made.claims, path))


def _own_subjects(names: Mapping[str, Any], claims: Iterable[Any], path: Path) -> dict[str, Any]:
    """Return, by name, the runs of the algorithms that a file makes of steps of its own, and of the steps of this
    package that its claims name."""
    asked = {claim.algorithm for claim in claims} - {"", *algorithms()}
    if "fedtheory.algorithms.custom_algorithm" not in sys.modules and not asked:  # nobody has made one
        return {}
    from ..algorithms.corrected_steps import by_name
    from ..algorithms.custom_algorithm import Own
    from ..subjects.custom_search import OwnSubject

    found: dict[str, Any] = {}
    for algorithm in dict.fromkeys(value for value in names.values() if isinstance(value, Own)):
        if algorithm.name in found or algorithm.name in algorithms():
            raise PaperError(f"{path}: algorithm {algorithm.name!r}: another one has that name")
        found[algorithm.name] = OwnSubject(algorithm)
    for name in sorted(asked - found.keys()):
        if (known := by_name(name)) is not None:
            found[name] = OwnSubject(known)
    return found


def _paper_of(claim: object, steps: Any, path: Path) -> Paper:
    from ..claims.statement import Claim
    from ..claims.statement import algorithm_of
    from ..proof.steps import Step

    if not isinstance(claim, Claim):
        raise PaperError(f"{path}: CLAIM = {claim!r}: allowed is a fedtheory.claims.statement.Claim")
    try:
        steps = several("STEPS", steps, Step)
    except PaperError as error:
        raise PaperError(f"{path}: {error}") from None
    algorithm = algorithm_of(claim) or ""
    like = papers().get(claim.paper) or next((p for p in papers().values() if p.algorithm == algorithm), None)
    wording: dict[str, Any] = (
        {} if like is None else {"letters": like.letters, "prose": like.prose, "shorthands": like.shorthands}
    )
    return Paper(claim.paper, claim.title, algorithm=algorithm, claims=(claim,), steps=steps, derivations=(), **wording)


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
