"""TOML files checked against a pydantic model: every error names the file, the line, the key and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ..files import Damaged, plain_toml, read_file
from ..quantities import nearest

Step = str | int
Place = tuple[Step, ...]


class Strict(BaseModel):
    """A model that takes nothing it does not know, converts nothing, and does not change."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Field(strict=False)]
"""A list of a file, kept as a tuple; its entries are as strict as ever."""


def _component(name: str) -> str:
    if not re.fullmatch(r"([A-Za-z0-9_][A-Za-z0-9_.+-]{0,99})?", name):
        raise ValueError(
            "allowed is a name of letters, digits and _ . + - that does not begin with . + or -, since "
            "files are named by it"
        )
    return name


Component = Annotated[str, AfterValidator(_component)]
"""A name by which files or folders are named: one component of a path, which leads nowhere else."""


def read_toml(path: str | Path, model: type[M]) -> M:
    """The content of a TOML file as a model.

    Raises:
        Damaged: the file is no TOML, has a key that the model does not know (the nearest is named), lacks one, or
            has a value of another type or range; every such place on a line of its own.
        FileNotFoundError: there is no such file.
    """
    return parse_toml(read_file(path), str(path), model)


def parse_toml(
    content: bytes,
    name: str,
    model: type[M],
    context: Mapping[str, Any] | None = None,
    filled: Callable[[dict[str, Any]], dict[str, Any]] = lambda data: data,
) -> M:
    """Parse and check a file's bytes, as ``read_toml`` does a file.

    Args:
        name: what errors call it.
        context: what the model's validators may ask for.
        filled: gives the content with what may be left out.

    >>> class Run(Strict):
    ...     rounds: int
    >>> parse_toml(b"rounds = 3", "a.toml", Run).rounds
    3
    >>> parse_toml(b"# how long\\nround = 3", "a.toml", Run)
    Traceback (most recent call last):
    fedtheory.files.Damaged: a.toml: rounds is missing
    a.toml, line 2: round is unknown; did you mean 'rounds'?
    """
    data = plain_toml(content, name)
    try:
        return model.model_validate(filled(data), context=dict(context or {}))
    except RecursionError:
        raise Damaged(name, "tables stand in each other without end: allowed are fewer") from None
    except ValidationError as error:
        raise Damaged(name, explained(error, name, model, line_numbers(content.decode()))) from None


def explained(error: ValidationError, name: str, model: Any, lines: Mapping[Place, int] | None = None) -> str:
    """Explain an error with a line for each place: its key, what is allowed, the nearest name."""
    said = [_sentence(each, name, lines or {}, model) for each in _causes(error.errors())]
    return "\n".join(dict.fromkeys(said))


def _causes(errors: Sequence[Any]) -> list[Any]:
    """The errors that follow from no other: a list is too short because its entries are wrong."""
    return [
        each
        for each in errors
        if each["type"] != "too_short"
        or not any(other is not each and other["loc"][: len(each["loc"])] == each["loc"] for other in errors)
    ]


def _sentence(error: Any, name: str, lines: Mapping[Place, int], model: type[BaseModel]) -> str:
    place = _in_file(error["loc"], lines)
    line = next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), None)
    where = f"{name}, line {line}" if line else name
    key = spelled(place) if lines else spelled(error["loc"])
    if error["type"] == "missing":
        return f"{where}: {key} is missing"
    if error["type"] == "union_tag_invalid":
        tags = re.findall(r"'([^']*)'", error["ctx"]["expected_tags"])
        kind = f"{key}.kind" if key else "kind"
        return f"{where}: {kind} = {error['ctx']['tag']!r} is unknown; {nearest(error['ctx']['tag'], tags)}"
    if error["type"] == "union_tag_not_found":
        return f"{where}: {key}.kind is missing" if key else f"{where}: kind is missing"
    if error["type"] == "extra_forbidden":
        known = _keys(model, error["loc"][:-1])
        return f"{where}: {key} is unknown; {nearest(str(place[-1]), known)}" if known else f"{where}: {key} is unknown"
    given = "" if isinstance(error["input"], Mapping | list) else f" = {error['input']!r}"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if not place:
        return f"{where}: {message}"
    return f"{where}: {key}{given}: {message[:1].lower()}{message[1:]}"


def _in_file(location: tuple[Step, ...], lines: Mapping[Place, int]) -> Place:
    """The keys of a pydantic location that stand in the file: names of the members of a union do not."""
    place: Place = ()
    for position, step in enumerate(location):
        longer = (*place, step)
        last = position == len(location) - 1
        if last or isinstance(step, int) or any(known[: len(longer)] == longer for known in lines):
            place = longer
    return place


def _keys(model: Any, location: tuple[Step, ...]) -> list[str]:
    """The keys that the model at this location knows."""
    models = [model]
    for step in location:
        inner: list[Any] = []
        for each in models:
            if isinstance(each, type) and issubclass(each, BaseModel):
                if step in each.model_fields:
                    inner += _models(each.model_fields[str(step)].annotation)
                else:
                    inner.append(each)  # the name of a member of a union, or an entry of a list
            else:
                inner.append(each)
        named = [each for each in inner if _tagged(each, step)]
        models = named or inner
    return sorted({key for each in models for key in each.model_fields})


def _tagged(model: Any, step: Step) -> bool:
    """Whether the step is the tag, or the name, of this member of a union."""
    kind = model.model_fields.get("kind")
    return step == model.__name__ or (kind is not None and step in get_args(kind.annotation))


def _models(annotation: Any) -> Iterator[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not None or isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        for inner in get_args(annotation):
            yield from _models(inner)


def spelled(place: Place) -> str:
    """Write a place as errors do: entries of lists by number, from 0.

    >>> spelled(("rows", 2, "kind"))
    'rows[2].kind'
    """
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_INLINE = re.compile(r"""[{,]\s*([A-Za-z0-9_-]+)\s*=""")


def line_numbers(text: str) -> dict[Place, int]:
    """Find the lines of the keys of a TOML text, by path; lines count from 1.

    Keys of inline tables that stand on one line with their own key are found too.

    >>> line_numbers('a = 1\\n[[b]]\\nc = {d = 2}\\n[[b]]')
    {('a',): 1, ('b',): 2, ('b', 0): 2, ('b', 0, 'c'): 3, ('b', 0, 'c', 'd'): 3, ('b', 1): 4}
    """
    lines: dict[Place, int] = {}
    seen: dict[Place, int] = {}
    head: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            head = _resolved(_split(header[2]), seen, lines, number)
            if header[1] == "[[":
                seen[head] = seen.get(head, -1) + 1
                lines.setdefault(head, number)
                head = (*head, seen[head])
            lines.setdefault(head, number)
        elif key := _KEY.match(line):
            place = (*head, *_split(key[1]))
            for n in range(len(head) + 1, len(place) + 1):
                lines.setdefault(place[:n], number)
            for inner in _INLINE.findall(line[key.end() :]):
                lines.setdefault((*place, inner), number)
    return lines


def _split(dotted: str) -> Place:
    return tuple(part.strip().strip("\"'") for part in re.findall(r"""[^.\s"']+|"[^"]*"|'[^']*'""", dotted))


def _resolved(place: Place, seen: Mapping[Place, int], lines: dict[Place, int], number: int) -> Place:
    """A header's path, with the number of the entry that it speaks of in every list of tables above it."""
    resolved: Place = ()
    for step in place[:-1]:
        resolved = (*resolved, step)
        lines.setdefault(resolved, number)
        if resolved in seen:
            resolved = (*resolved, seen[resolved])
    return (*resolved, place[-1])
