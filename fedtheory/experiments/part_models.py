"""Models of parts of a setting in a file: what stands there is checked against the signature of what is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError, create_model

from .reading import Strict, explained
from .setting_parts import annotated, call, kinds, nested_family, numbers

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
    return Annotated[Any, BeforeValidator(functools.partial(checked, family))]


@functools.cache
def _adapter(family: str) -> TypeAdapter[Any]:
    return TypeAdapter(union(family))


def checked(family: str, value: Any) -> Any:
    """A table as a part of a family; a name alone stands for a kind without arguments.

    Raises:
        ValueError: it is none.
    """
    value = {"kind": value} if isinstance(value, str) else value
    try:
        return _adapter(family).validate_python(value)
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
        allowed = _or_nothing if origin in (Union, UnionType) else checked
        return Annotated[Any, BeforeValidator(functools.partial(allowed, family))]
    if origin in (Union, UnionType):
        return Union[tuple(map(in_file, get_args(annotation)))]  # noqa: UP007 (made at run time)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Sequence):
        inner: Any = list[in_file(get_args(annotation)[0])]  # type: ignore[misc]
        return Annotated[inner, BeforeValidator(numbers)] if get_args(annotation)[0] is int else inner
    return bool | int | float | str | list[Any]


def _or_nothing(family: str, value: Any) -> Any:
    return None if value is None else checked(family, value)
