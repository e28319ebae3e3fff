"""Models of parts of a setting in a file: what stands there is checked against the signature of what is called.

Kinds of Python files (see `files_beside`) are checked so where the files may be executed, which the validation's
context says by ``BESIDE``. Elsewhere, as where pages are made, only their names are looked at.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    create_model,
)

from ..quantities import nearest
from .files_beside import FilesBeside, check_family
from .reading import Strict, explained
from .setting_parts import annotated, call, kinds, nested_family, numbers

BESIDE = "beside"
"""The entry of a validation's context that has the ``FilesBeside`` which may be executed."""

MAKERS: dict[type[BaseModel], Callable[..., Any]] = {}
"""Callables whose arguments the models of parts hold."""


def built(part: BaseModel) -> Any:
    """Build the object that a checked part describes."""
    return call(MAKERS[type(part)], part.model_dump(exclude_unset=True, exclude={"kind"}))


@functools.cache
def union(family: str) -> Any:
    """The models of all kinds of a family, told apart by ``kind``."""
    models = [model_of(name, make) for name, make in kinds(family).items()]
    if len(models) == 1:
        return models[0]
    return Annotated[Union[tuple(models)], Field(discriminator="kind")]  # noqa: UP007 (made at run time)


def part(family: str) -> Any:
    """The type of a field that holds a part of this family."""
    return Annotated[Any, BeforeValidator(functools.partial(_checked_in, family))]


def union_or_python(family: str) -> Any:
    """The type of a field that holds a table of one of the kinds of a family, or of a kind of a Python file."""
    return Annotated[union(family), WrapValidator(functools.partial(_or_python, family))]


def _or_python(family: str, value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
    if isinstance(value, Mapping) and check_family(family, value.get("kind")):
        return _of_python(family, value, (info.context or {}).get(BESIDE))
    return handler(value)


def _of_python(family: str, value: Mapping[str, Any], beside: FilesBeside | None) -> Any:
    """A table whose kind a Python file defines, its keys checked against the signature, if it may be executed."""
    if beside is None:
        return dict(value)
    kind, given = str(value["kind"]), {key: each for key, each in value.items() if key != "kind"}
    found = beside.kind(family, kind)
    hints = annotated(found)
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # of a class that says nothing of its arguments
        return dict(value)
    known = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    open_ended = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for name, argument in given.items():
        if name not in known and not open_ended:
            raise ValueError(f"{kind}: {name} is unknown; {nearest(name, known) if known else 'it takes no keys'}")
        try:
            _argument_adapter(in_file(hints.get(name, Any))).validate_python(argument, context={BESIDE: beside})
        except ValidationError as error:
            raise ValueError(f"{kind}: {explained(error, f'{name} = {argument!r}', Strict)}") from None
    for each in parameters:
        if each.default is each.empty and each.name in known and each.name not in given:
            raise ValueError(f"{kind}: {each.name} is missing")
    return dict(value)


def _argument_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=ConfigDict(strict=True))


@functools.cache
def _adapter(family: str) -> TypeAdapter[Any]:
    return TypeAdapter(union(family))


def checked(family: str, value: Any) -> Any:
    """A table as a part of a family; a name alone stands for a kind without arguments.

    Raises:
        ValueError: it is none.
    """
    return _checked(family, value, None)


def _checked_in(family: str, value: Any, info: ValidationInfo) -> Any:
    return _checked(family, value, (info.context or {}).get(BESIDE))


def _checked(family: str, value: Any, beside: FilesBeside | None) -> Any:
    value = {"kind": value} if isinstance(value, str) else value
    if isinstance(value, Mapping) and check_family(family, value.get("kind")):
        return _of_python(family, value, beside)
    try:
        return _adapter(family).validate_python(value, context={BESIDE: beside})
    except ValidationError as error:
        given = value.get("kind") if isinstance(value, Mapping) else None
        known = model_of(given, kinds(family)[given]) if isinstance(given, str) and given in kinds(family) else Strict
        raise ValueError(explained(error, f"{'an' if family[0] in 'aeiou' else 'a'} {family}", known)) from None


def model_of(kind: str, make: Callable[..., Any]) -> type[Strict]:
    """A model of the arguments that a function or class takes.

    >>> sorted(model_of("Uniform", kinds("process")["Uniform"]).model_fields)
    ['cohort', 'kind', 'replacement']
    """
    hints = annotated(make)
    fields: dict[str, Any] = {"kind": (Literal[kind], ...)}
    for name, parameter in inspect.signature(make).parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (in_file(hints.get(name, Any)), default)
    made = create_model(kind, __base__=Strict, **fields)
    MAKERS[made] = make
    return made


def in_file(annotation: Any) -> Any:
    """The type that a value of this annotation has in a file: sequences are lists, exact numbers texts or numbers."""
    if annotation is float:
        return int | float  # a whole number stays one
    if annotation in (int, bool, str, type(None)):
        return annotation
    if annotation is Fraction:
        return float | str
    origin, family = get_origin(annotation), nested_family(annotation)
    if family is not None:
        allowed = _or_nothing if origin in (Union, UnionType) else _checked_in
        return Annotated[Any, BeforeValidator(functools.partial(allowed, family))]
    if origin in (Union, UnionType):
        return Union[tuple(map(in_file, get_args(annotation)))]  # noqa: UP007 (made at run time)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Sequence):
        inner: Any = list[in_file(get_args(annotation)[0])]  # type: ignore[misc]
        return Annotated[inner, BeforeValidator(numbers)] if get_args(annotation)[0] is int else inner
    return bool | int | float | str | list[Any]


def _or_nothing(family: str, value: Any, info: ValidationInfo) -> Any:
    return None if value is None else _checked_in(family, value, info)
