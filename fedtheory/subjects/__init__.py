"""Subjects, on which functionals are defined: values, functions, weights, selections, learning problems, rounds, runs.

``protocol`` says what a subject has to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from .protocol import Point, Space, Subject

NEEDED = ("space", "parse")
"""Methods that every subject has."""


@dataclass(frozen=True)
class LazySubject:
    """A subject whose modules load on first use.

    Attributes:
        name: the scope of functionals that are of it.
        points: the module whose ``parse`` reads a point.
        searched: ``module:name`` of the class of its spaces.
    """

    name: str
    points: str
    searched: str

    def space(self, claim: Claim) -> Space:
        """Return the space in which the claim is searched."""
        module, _, name = self.searched.partition(":")
        space: Space = getattr(import_module(module), name)(claim)
        return space

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Point:
        """Read a point from plain data, not yet checked."""
        point: Point = import_module(self.points).parse(data, claim)
        return point


_SUBJECTS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        LazySubject("values", f"{__name__}.values", f"{__name__}.values:Values"),
        LazySubject("function", f"{__name__}.functions", f"{__name__}.functions:Functions"),
    )
}
"""Subjects that belong to no algorithm, by name; a paper names those of its algorithm's runs.

A subject may have further methods: ``from_setting``, where a setting makes a point; ``findings``, on a claim's
hypotheses; and, for an algorithm's runs, ``runs_as``, such an algorithm as the engine runs it and its participants.
"""


def register(subject: Subject) -> None:
    """Add the subject of one more kind of functionals.

    Raises:
        ValueError: it has no name, or not a method that every subject needs; or there is one of that name.

    >>> register(object())
    Traceback (most recent call last):
    ValueError: subject <object object at ...>: name is missing, a subject needs name, space, parse
    """
    missing = [part for part in ("name", *NEEDED) if not hasattr(subject, part)]
    missing += [part for part in NEEDED if part not in missing and not callable(getattr(subject, part))]
    if missing:
        shown = getattr(subject, "name", repr(subject))
        raise ValueError(f"subject {shown}: {missing[0]} is missing, a subject needs name, {', '.join(NEEDED)}")
    if subject.name in _SUBJECTS:
        raise ValueError(f"subject {subject.name}: there is one of that name")
    _SUBJECTS[subject.name] = subject


def known() -> tuple[str, ...]:
    """Return the names of the subjects that are no algorithm's.

    >>> "values" in known()
    True
    """
    return tuple(_SUBJECTS)


def named(name: str, what: str = "subject", others: Mapping[str, Subject] | None = None) -> Subject:
    """Return the subject of that name, among these or ``others``.

    Raises:
        ValueError: there is none; ``what`` says what needs it.

    >>> named("values").name
    'values'
    """
    every = _SUBJECTS | dict(others or {})
    if name not in every:
        raise ValueError(f"{what} of a {name}: known subjects are {', '.join(every)}")
    return every[name]
