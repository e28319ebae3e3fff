"""Objects that the kernel's rules alone make, and that are known to be as they were made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary


class Refused(ValueError):
    """Error of a rule that was asked for a conclusion that does not follow."""


MAKER = object()
"""Token that a rule gives to what it makes."""


class Sealed(ABC):
    """Base of what rules make. Its parts are those of a frozen dataclass, and a hash of all that it says, and of its
    premises' hashes, is kept from its making on: see ``intact``."""

    rule: str
    arguments: Mapping[str, Any]

    @property
    @abstractmethod
    def made_of(self) -> tuple[Sealed, ...]:
        """Premises of the rule."""

    @abstractmethod
    def said(self) -> tuple[Any, ...]:
        """All that it says, besides rule and arguments, such that equal parts have equal representations."""

    def __post_init__(self, _maker: object) -> None:
        if _maker is not MAKER:
            raise Refused("a theorem is made by the rules of the kernel alone")
        object.__setattr__(self, "arguments", MappingProxyType(dict(self.arguments)))
        _SEALS[self] = _seal(self)


_SEALS: WeakKeyDictionary[Sealed, str] = WeakKeyDictionary()
"""Hashes of all that a rule made, as it was made."""

Made = TypeVar("Made", bound=Sealed)


def _seal(made: Sealed) -> str:
    parts = (*made.said(), made.rule, dict(made.arguments), [_SEALS.get(premise) for premise in made.made_of])
    return sha256(repr(parts).encode()).hexdigest()


def intact(made: Made) -> Made:
    """Return the theorem if it says what it said when a rule made it. This is asked wherever one is used, saved or read
    off.

    Raises:
        Refused: it was changed since, or no rule made it.
    """
    if _SEALS.get(made) != _seal(made):
        raise Refused(f"{made.rule}: a theorem that was changed after it was made, or that no rule made")
    return made


def ancestry(made: Made) -> list[Made]:
    """Return a theorem and all that it was made from, each once, in the order of making."""
    found: dict[int, Any] = {}
    waiting: list[Any] = [made]
    while waiting:
        missing = [p for p in waiting[-1].made_of if id(p) not in found]
        if missing:
            waiting += missing
        else:
            found.setdefault(id(waiting[-1]), waiting[-1])
            waiting.pop()
    return list(found.values())
