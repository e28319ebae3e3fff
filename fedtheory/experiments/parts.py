"""Parts of a setting in a file: a table whose ``kind`` names what is called in Python, its other keys the arguments.

What a kind takes is read off its signature, so that an algorithm or a process that is added to its package can stand in
a file at once.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError, create_model

from .reading import Strict, explained

Kinds = Mapping[str, Callable[..., Any]]

NO_ALGORITHMS = ("check_theorem_4_tie", "check_theorem_5_tie", "theorem_4_server_lr", "theorem_5_server_lr")


@functools.cache
def algorithms() -> Kinds:
    """The algorithms, by the names of the functions that make them."""
    from .. import algorithms as package

    made = {name: getattr(package, name) for name in package.__all__}
    return {name: each for name, each in made.items() if inspect.isfunction(each) and name not in NO_ALGORITHMS}


@functools.cache
def processes() -> Kinds:
    """The participation processes, by the names of their classes."""
    from .. import participation as package

    base = package.Participation
    made = {name: getattr(package, name) for name in dir(package)}
    return {
        name: each for name, each in made.items()
        if inspect.isclass(each) and issubclass(each, base) and not inspect.isabstract(each)
    }  # fmt: skip


@functools.cache
def federations() -> Kinds:
    """The federations, by the names of what makes them."""
    from ..federations import Quadratic, random_quadratic

    return {
        "common_hessian": Quadratic.common_hessian,
        "random_quadratic": random_quadratic,
        "logistic": logistic,
    }


def logistic(
    dataset: str,
    clients: int,
    alpha: float,
    l2: float,
    *,
    seed: int = 0,
    bias: bool = False,
    gradient_noise: float = 0.0,
    noise: str = "two-point",
    server_noise: float = 0.0,
) -> Any:
    """Logistic regression on a named data set, normalised, its rows split by Dirichlet(alpha): ``Logistic.split``.

    Raises:
        ValueError: an argument outside its range, or a data set that is unknown.
        FileNotFoundError: the data are not there.
    """
    from .. import data
    from ..federations import Logistic

    rows = data.load(dataset).normalised(bias)
    return Logistic.split(rows, clients, alpha, l2, seed, gradient_noise, noise, server_noise)


def built(part: BaseModel, kinds: Kinds) -> Any:
    """What a checked part stands for: its kind called with its arguments; nested processes are built first."""
    given = {name: getattr(part, name) for name in part.model_fields_set if name != "kind"}
    return kinds[str(getattr(part, "kind", ""))](**{name: _plain(value) for name, value in given.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return built(value, processes())
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


@functools.cache
def union(family: str) -> Any:
    """The models of all kinds of a family (algorithms, processes or federations), told apart by ``kind``."""
    kinds: Kinds = {"algorithms": algorithms, "processes": processes, "federations": federations}[family]()
    models = [model_of(name, make) for name, make in kinds.items()]
    return Annotated[Union[tuple(models)], Field(discriminator="kind")]  # noqa: UP007 (made at run time)


def model_of(kind: str, make: Callable[..., Any]) -> type[Strict]:
    """A model of the arguments that a function or class takes.

    >>> sorted(model_of("Uniform", processes()["Uniform"]).model_fields)
    ['cohort', 'kind', 'replacement']
    """
    function = make.__init__ if inspect.isclass(make) else make
    hints = get_type_hints(function, None, _Names(getattr(function, "__globals__", {})))
    fields: dict[str, Any] = {"kind": (Literal[kind], ...)}
    for name, parameter in inspect.signature(make).parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (in_file(hints.get(name, Any)), default)
    return create_model(kind, __base__=Strict, **fields)


class _Names(dict[str, Any]):
    """What annotations speak of; what a module imports for type checkers alone is anything, but for processes."""

    def __missing__(self, name: str) -> Any:
        if name == "Participation":
            from ..participation import Participation

            return Participation
        return getattr(builtins, name, Any)


def in_file(annotation: Any) -> Any:
    """The type that a value of this annotation has in a file: sequences are lists, exact numbers texts or numbers."""
    from ..participation import Participation

    if annotation in (int, float, bool, str, type(None)):
        return annotation
    if annotation is Fraction:
        return float | str
    if annotation is Participation:
        return Annotated[Any, BeforeValidator(_process)]
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return Union[tuple(in_file(each) for each in get_args(annotation))]  # noqa: UP007 (made at run time)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Sequence):
        return list[in_file(get_args(annotation)[0])]  # type: ignore[misc]
    return bool | int | float | str | list[Any]


def _process(value: Any) -> Any:
    """A process inside a process."""
    try:
        return TypeAdapter(union("processes")).validate_python(value)
    except ValidationError as error:
        kinds = processes()
        given = value.get("kind") if isinstance(value, Mapping) else None
        known = model_of(given, kinds[given]) if isinstance(given, str) and given in kinds else Strict
        raise ValueError(explained(error, "a process", known)) from None
