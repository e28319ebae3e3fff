"""What kinds of pictures have in common: settings and values in figure files, and how captions say them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, BeforeValidator, Field, model_validator

from ...experiments.parts import built, union
from ...experiments.reading import Listed, Strict
from ...papers import claim
from ...quantities import nearest
from ...setting import Setting
from ..style import in_words

Number = int | float | str
"""A number, or a text that stands for one exactly, such as "1/50"."""


class Kind(Strict):
    """The ``[figure]`` table of a file, checked.

    Attributes:
        seen: entries that the picture itself shows, which no caption repeats.
    """

    seen: ClassVar[tuple[str, ...]] = ()

    def drawn(self) -> Figure:
        """The picture, without caption."""
        raise NotImplementedError

    def said(self) -> str:
        """What its table gives, entry by entry, in words: for the caption."""
        given = [name for name in type(self).model_fields if name in self.model_fields_set - {"kind", *self.seen}]
        return "; ".join(f"{one_word(name)}: {said(getattr(self, name))}" for name in given)

    def claims(self) -> tuple[str, ...]:
        """The refs of the claims that it shows."""
        return ()


def known_claim(ref: Any) -> Any:
    """A claim's ref, written in full."""
    return claim(ref).ref if isinstance(ref, str) else ref


Ref = Annotated[str, BeforeValidator(known_claim)]
"""A claim that exists."""


class Range(Strict):
    """Values from ``first`` to ``last``, evenly spaced in their logarithms or as they are."""

    first: float
    last: float
    points: int = Field(ge=2)
    spacing: Literal["log", "linear"] = "log"

    @model_validator(mode="after")
    def _check(self) -> Range:
        if not self.first < self.last or (self.spacing == "log" and self.first <= 0):
            raise ValueError(f"first = {self.first:g}, last = {self.last:g}: allowed is first < last, and "
                             "0 < first for spacing = 'log'")  # fmt: skip
        return self

    def values(self) -> np.ndarray:
        space = np.geomspace if self.spacing == "log" else np.linspace
        return space(self.first, self.last, self.points)


class SettingPart(Strict):
    """A setting, as in an experiment file."""

    federation: union("federation")  # type: ignore[valid-type]
    algorithm: union("algorithm")  # type: ignore[valid-type]
    participation: union("process")  # type: ignore[valid-type]
    start: Number | Listed[Number] | None = None

    def built(self, **changes: Any) -> Setting:
        """The ``Setting``, with these arguments of the algorithm changed.

        Raises:
            ValueError: an argument outside its range, or one that the algorithm does not have.
        """
        return setting_of(self.federation, self.algorithm, self.participation, self.start, changes)


def setting_of(
    federation: Any, algorithm: Any, participation: Any, start: Any = None, changes: Mapping[str, Any] | None = None
) -> Setting:
    """A ``Setting`` of checked parts, or of a federation that is built already."""
    made = built(federation) if isinstance(federation, BaseModel) else federation
    who = built(participation)
    who = who.on(made) if hasattr(who, "on") else who
    given = {} if start is None else {"start": list(start) if isinstance(start, tuple) else start}
    return Setting(made, built(changed(algorithm, changes or {})), who, **given)


def changed(algorithm: Any, changes: Mapping[str, Any]) -> Any:
    """A part with other arguments.

    Raises:
        ValueError: an argument that it does not have.
    """
    known = [name for name in type(algorithm).model_fields if name != "kind"]
    for name in changes:
        if name not in known:
            raise ValueError(f"{algorithm.kind} has no {name}; {nearest(name, known)}")
    return algorithm.model_copy(update=dict(changes))


def one_word(name: str) -> str:
    """How captions spell a name of the vocabulary.

    >>> one_word("local_lr"), one_word("common_hessian"), one_word("IndexBeta")
    ('local step size', 'common Hessian', 'index beta')
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    text = text.lower() if text[:1].isupper() and not text.isupper() else text
    return in_words(text).replace("hessian", "Hessian")


def said(value: Any, longest: int = 12) -> str:
    """A value of a file in a caption: parts with their arguments, long lists by their ends.

    >>> said([1, 2, 3]), said(list(range(30))), said("1/50"), said({"local_lr": 0.1})
    ('1, 2, 3', '0, 1, 2, ..., 29', '1/50', 'local step size 0.1')
    """
    if isinstance(value, BaseModel):
        return _part_said(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{one_word(str(name))} {said(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        if len(value) * (len(value[0]) if value and isinstance(value[0], (list, tuple)) else 1) > 4 * longest:
            return f"a table of {len(value)} rows"
        if len(value) > longest:
            return f"{', '.join(map(said, value[:3]))}, ..., {said(value[-1])}"
        return ", ".join(f"({said(each)})" if isinstance(each, (list, tuple)) else said(each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and value.isidentifier():
        return in_words(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _part_said(part: BaseModel) -> str:
    given = {name: getattr(part, name) for name in type(part).model_fields if name in part.model_fields_set}
    kind = given.pop("kind", None)
    arguments = ", ".join(f"{one_word(name)} {_bracketed(value)}" for name, value in given.items())
    if kind is None:
        return arguments
    return f"{one_word(str(kind))} ({arguments})" if arguments else one_word(str(kind))


def _bracketed(value: Any) -> str:
    listed = isinstance(value, (list, tuple)) and len(value) > 1
    return f"({said(value)})" if listed else said(value)
