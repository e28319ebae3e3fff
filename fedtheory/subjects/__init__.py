"""What functionals are of: values, functions, weights, selections, learning problems, rounds, runs; ``base`` says what
each knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from .protocol import Point, Space, Subject

NEEDED = ("space", "parse")
"""What every subject does."""


@dataclass(frozen=True)
class _BuiltIn:
    """A subject whose modules load on first use."""

    name: str
    points: str
    searched: str

    def _module(self, name: str) -> Any:
        return import_module(f".{name}", __name__)

    def space(self, claim: Claim) -> Space:
        module, _, name = self.searched.partition(":")
        return getattr(self._module(module), name)(claim)

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Point:
        return self._module(self.points).parse(data, claim)


_SUBJECTS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        _BuiltIn("values", "values", "values:Values"),
        _BuiltIn("function", "functions", "functions:Functions"),
        _BuiltIn("weights", "weights.point", "weights.samples:EstimatedWeights"),
        _BuiltIn("selection", "selection.point", "selection.samples:Selections"),
        _BuiltIn("learning", "learning.point", "learning.samples:LearningProblems"),
    )
}
"""By name, of those that are no algorithm's; a paper names those of its algorithm's runs. A subject may also have
``from_setting``, where a setting makes a point, ``findings``, what it has to say on a claim's hypotheses, and, of an
algorithm's runs, ``runs_as``: such an algorithm as the engine runs it, and who takes part."""


def register(subject: Subject) -> None:
    """Add what functionals of one more kind are of.

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
    """The names of the subjects that are no algorithm's.

    >>> "values" in known()
    True
    """
    return tuple(_SUBJECTS)


def named(name: str, what: str = "subject") -> Subject:
    """The subject of that name.

    Raises:
        ValueError: there is none; ``what`` is of it is said.

    >>> named("values").name
    'values'
    """
    if name not in _SUBJECTS:
        raise ValueError(f"{what} of a {name}: known subjects are {', '.join(_SUBJECTS)}")
    return _SUBJECTS[name]
