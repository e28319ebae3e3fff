"""Base of the kinds of pictures: settings and values in figure files, and how captions say them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, BeforeValidator, Field, model_validator

from ...experiments.part_models import built, union
from ...experiments.reading import Listed, Strict
from ...papers import claim
from ...quantities import nearest
from ...setting import Setting
from ..style import in_words

Number = int | float | str
"""A number, or a text that stands for one exactly, such as "1/50"."""


COUNTED = {"clients": "{} clients", "rounds": "{} rounds", "replicas": "{} replicas", "seed": "seed {}"}
"""Entries that are one number of something, and how captions say them, in this order."""

NAMES = {
    "fast": "FAST", "safari": "SAFARI", "fedavg": "FedAvg", "fedprox": "FedProx", "fedavgm": "FedAvgM",
    "fedadam": "FedAdam", "fedau": "FedAU", "fedvarp": "FedVarp", "mifa": "MIFA", "flics_avg": "FLICS-AVG",
    "flics_adam": "FLICS-Adam", "naive": "NAIVE", "Bernoulli": "Bernoulli", "Markov": "Markov",
    "common_hessian": "quadratics of one Hessian", "random_quadratic": "random quadratics", "Quadratic": "quadratics",
    "logistic": "logistic regression",
}  # fmt: skip
"""Names of parts in captions, by their names in files."""


class Kind(Strict):
    """The ``[figure]`` table of a file, checked.

    Attributes:
        seen: entries that the picture itself shows, which no caption repeats.
        words: what a caption calls entries, where that is not their name.
    """

    seen: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Mapping[str, str]] = {}

    def drawn(self) -> Figure:
        """Draw the picture, without caption."""
        raise NotImplementedError

    def said(self) -> str:
        """Write the entries of the table as sentences, for the caption."""
        given = [name for name in type(self).model_fields if name in self.model_fields_set - {"kind", *self.seen}]
        counted = [name for name in COUNTED if name in given and isinstance(getattr(self, name), int)]
        sentences = [text for name in given if name not in counted for text in self.sentences(name)]
        numbers = [COUNTED[name].format(f"{getattr(self, name):,}".replace(",", " ")) for name in counted]
        return " ".join(f"{text[:1].upper()}{text[1:]}." for text in [*sentences, ", ".join(numbers)] if text)

    def sentences(self, name: str) -> list[str]:
        """Write one entry as sentences, without full stops."""
        value, word = getattr(self, name), self.words.get(name, one_word(name))
        if isinstance(value, SettingPart):
            return [f"{what}: {text}" for what, text in value.items().items()]
        return [f"{word}: {said(value)}"]

    def claims(self) -> tuple[str, ...]:
        """List the refs of the claims that the picture shows."""
        return ()


def known_claim(ref: Any) -> Any:
    """Return a claim's ref, written in full."""
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
            raise ValueError(
                f"first = {self.first:g}, last = {self.last:g}: allowed is first < last, and "
                "0 < first for spacing = 'log'"
            )
        return self

    def values(self) -> np.ndarray:
        """Return the values as an array."""
        space = np.geomspace if self.spacing == "log" else np.linspace
        return space(self.first, self.last, self.points)


class SettingPart(Strict):
    """A setting, as in an experiment file."""

    federation: union("federation")  # type: ignore[valid-type]
    algorithm: union("algorithm")  # type: ignore[valid-type]
    participation: union("process")  # type: ignore[valid-type]
    start: Number | Listed[Number] | None = None

    def items(self) -> dict[str, str]:
        """Return the parts in words, by what each is."""
        found = {
            "clients": said(self.federation),
            "algorithm": said(self.algorithm),
            "participants": said(self.participation),
        }
        return found | ({} if self.start is None else {"start": said(self.start)})

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
    """Return a part with other arguments.

    Raises:
        ValueError: an argument that it does not have.
    """
    known = [name for name in type(algorithm).model_fields if name != "kind"]
    for name in changes:
        if name not in known:
            raise ValueError(f"{algorithm.kind} has no {name}; {nearest(name, known)}")
    return algorithm.model_copy(update=dict(changes))


def one_word(name: str) -> str:
    """Spell a name of the vocabulary, or of a part, as captions do.

    >>> one_word("local_lr"), one_word("common_hessian"), one_word("IndexBeta"), one_word("fast")
    ('local step size', 'quadratics of one Hessian', 'index beta', 'FAST')
    """
    if name in NAMES:
        return NAMES[name]
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    text = text.lower() if text[:1].isupper() and not text.isupper() else text
    return in_words(text).replace("hessian", "Hessian")


def said(value: Any, longest: int = 12) -> str:
    """A value of a file in a caption: parts with their arguments, long lists by their ends, named parts with what all
    of them share said once.

    >>> said([1, 2, 3]), said(list(range(30))), said("1/50"), said({"local_lr": 0.1})
    ('1, 2, 3', '0, 1, 2, ..., 29', '1/50', 'local step size 0.1')
    """
    if isinstance(value, BaseModel) and "name" in type(value).model_fields:
        return _named_said([value])
    if isinstance(value, BaseModel):
        return _with(*_arguments(value))
    if isinstance(value, Mapping):
        return ", ".join(f"{one_word(str(name))} {said(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return _list_said(value, longest)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and value.isidentifier():
        return one_word(value)
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).replace("step_index", "t").replace("round_index", "r")


def _list_said(values: Any, longest: int) -> str:
    if values and all(isinstance(each, BaseModel) and "name" in type(each).model_fields for each in values):
        return _named_said(values)
    if len(values) > 3 and all(each == values[0] for each in values):
        return f"{len(values)} times {said(values[0])}"
    if all(isinstance(each, (list, tuple)) and len(each) == 1 for each in values):
        values = [each[0] for each in values]
    if values and isinstance(values[0], bool):
        values = [int(each) for each in values]  # of a mask
    rows = len(values[0]) if values and isinstance(values[0], (list, tuple)) else 1
    if len(values) * rows > 4 * longest:
        return f"a table of {len(values)} rows"
    if len(values) > longest:
        return f"{', '.join(map(said, values[:3]))}, ..., {said(values[-1])}"
    return ", ".join(f"({said(each)})" if isinstance(each, (list, tuple)) else said(each) for each in values)


def _named_said(entries: Any) -> str:
    """Parts that have names, each with what is its own, and then what they share."""
    told = [_flat(each) for each in entries]
    shared = {name: text for name, text in told[0].items() if all(each.get(name) == text for each in told)}
    shared = shared if len(entries) > 1 else {}
    own = [{name: text for name, text in each.items() if name not in shared} for each in told]
    each_said = [
        f"{entry.name} ({_joined(given)})" if given else entry.name for entry, given in zip(entries, own, strict=True)
    ]
    return "; ".join(each_said) + (f"; all with {_joined(shared)}" if shared else "")


def _flat(entry: BaseModel) -> dict[str, str]:
    """The entries of a named part, and the arguments of the parts in it, as said; ``""`` is a part's kind."""
    found: dict[str, str] = {}
    for name in type(entry).model_fields:
        value = getattr(entry, name)
        if name == "name" or name not in entry.model_fields_set:
            continue
        if isinstance(value, BaseModel):
            kind, given = _arguments(value)
            found |= {"": kind, **given} if kind not in ("", entry.name) else given  # type: ignore[attr-defined]
        elif isinstance(value, Mapping):
            found |= {f"{one_word(name)}: {one_word(key)}": said(each) for key, each in value.items()}
        else:
            found[one_word(name)] = _bracketed(value)
    return found


def _joined(given: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {text}".strip() for name, text in given.items())


def _arguments(part: BaseModel) -> tuple[str, dict[str, str]]:
    """Return the kind of a part, in a caption's word, and its arguments."""
    given = {name: getattr(part, name) for name in type(part).model_fields if name in part.model_fields_set}
    kind = given.pop("kind", None)
    return "" if kind is None else one_word(str(kind)), {one_word(n): _bracketed(v) for n, v in given.items()}


def _with(kind: str, given: Mapping[str, str]) -> str:
    return f"{kind} with {_joined(given)}" if kind and given else kind or _joined(given)


def _bracketed(value: Any) -> str:
    if isinstance(value, BaseModel):
        kind, given = _arguments(value)
        return f"{kind} ({_joined(given)})" if given else kind
    listed = isinstance(value, (list, tuple)) and len(value) > 1
    return f"({said(value)})" if listed else said(value)
