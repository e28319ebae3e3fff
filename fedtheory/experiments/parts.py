"""Parts of a setting in a file: a table whose ``kind`` names what is called in Python, its other keys the arguments.

What a kind takes is read off its signature, so that an algorithm or a process that is added to its package can stand
in a file at once. Where an argument is a part itself (a process inside a process, a network's model), a table stands
there. Long lists of integers have short spellings: see ``numbers``.
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
MAKERS: dict[type[BaseModel], Callable[..., Any]] = {}
"""What each model of a part is the arguments of."""


def _algorithms() -> Kinds:
    from .. import algorithms as package

    made = {name: getattr(package, name) for name in package.__all__}
    return {name: each for name, each in made.items() if inspect.isfunction(each) and name not in NO_ALGORITHMS}


def _processes() -> Kinds:
    from .. import participation as package
    from .by_class import ByClass

    return {**_classes(package, package.Participation), "ByClass": ByClass}


def _partitions() -> Kinds:
    from ..data import partition as package

    return _classes(package, package.Scheme)


def _classes(package: Any, base: type) -> Kinds:
    made = {name: getattr(package, name) for name in dir(package) if not name.startswith("_")}
    return {
        name: each for name, each in made.items()
        if inspect.isclass(each) and issubclass(each, base) and not inspect.isabstract(each)
    }  # fmt: skip


def _federations() -> Kinds:
    from ..federations import Network, Quadratic, random_quadratic

    return {
        "Network": Network,
        "Quadratic": Quadratic,
        "common_hessian": Quadratic.common_hessian,
        "logistic": logistic,
        "random_quadratic": random_quadratic,
    }


def _models() -> Kinds:
    from ..neural import models as package

    made = {name: getattr(package, name) for name in dir(package) if not name.startswith("_")}
    return {
        name: each for name, each in made.items()
        if inspect.isfunction(each) and each.__module__ == package.__name__ and name != "parameters"
    }  # fmt: skip


def _datasets() -> Kinds:
    from .. import data
    from ..data.catalogue import ENTRIES

    def loader(name: str) -> Callable[..., Any]:
        @functools.wraps(functools.partial(data.load, name))
        def load(**options: Any) -> Any:
            return data.load(name, **options)

        load.__signature__ = inspect.signature(_function(ENTRIES[name].loader))  # type: ignore[attr-defined]
        return load

    return {name: loader(name) for name in data.NAMES}


def _function(spec: str) -> Callable[..., Any]:
    from importlib import import_module

    module, name = spec.split(":")
    return getattr(import_module(f"fedtheory.data.loaders.{module}"), name)  # type: ignore[no-any-return]


def _augmentations() -> Kinds:
    from ..neural import augmentation

    return {"fedau": augmentation.fedau}


def _solvers() -> Kinds:
    from ..neural import SGD, Adam

    return {"SGD": SGD, "Adam": Adam}


def _availabilities() -> Kinds:
    from ..selection import CyclicAvailability, PoissonAvailability, UniformAvailability

    return {each.__name__: each for each in (CyclicAvailability, PoissonAvailability, UniformAvailability)}


def _observers() -> Kinds:
    from ..simulation import OBSERVERS

    return OBSERVERS


FAMILIES: dict[str, Callable[[], Kinds]] = {
    "algorithm": _algorithms, "process": _processes, "partition": _partitions, "federation": _federations,
    "model": _models, "dataset": _datasets, "augmentation": _augmentations, "solver": _solvers,
    "observer": _observers, "availability": _availabilities,
}  # fmt: skip
NESTED = {
    "Participation": "process", "Module": "model", "FlatModel": "model", "Partition": "partition",
    "Scheme": "partition", "Dataset": "dataset", "Augmentation": "augmentation",
}  # fmt: skip
"""By the class that an argument is annotated with, the family that stands there in a file."""


@functools.cache
def kinds(family: str) -> Kinds:
    """Everything of a family, by the name that it has in Python."""
    return FAMILIES[family]()


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

    loaded = data.load(dataset)
    rows = loaded.vectors() if loaded.kind == "images" else loaded
    return Logistic.split(rows.normalised(bias), clients, alpha, l2, seed, gradient_noise, noise, server_noise)


def built(part: BaseModel) -> Any:
    """What a checked part stands for: its kind called with its arguments, of which the parts are built first."""
    given = {name: getattr(part, name) for name in part.model_fields_set if name != "kind"}
    return MAKERS[type(part)](**{name: _plain(value) for name, value in given.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return built(value)
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


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
    function = make.__init__ if inspect.isclass(make) else make
    hints = get_type_hints(function, None, _Names(getattr(function, "__globals__", {})))
    fields: dict[str, Any] = {"kind": (Literal[kind], ...)}
    for name, parameter in inspect.signature(make).parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (in_file(hints.get(name, Any)), default)
    made = create_model(kind, __base__=Strict, **fields)
    MAKERS[made] = make
    return made


class _Names(dict[str, Any]):
    """What annotations speak of; what a module imports for type checkers alone is anything, but for processes."""

    def __missing__(self, name: str) -> Any:
        if name == "Participation":
            from ..participation import Participation

            return Participation
        return getattr(builtins, name, Any)


def in_file(annotation: Any) -> Any:
    """The type that a value of this annotation has in a file: sequences are lists, exact numbers texts or numbers."""
    if annotation is float:
        return int | float  # a whole number stays one
    if annotation in (int, bool, str, type(None)):
        return annotation
    if annotation is Fraction:
        return float | str
    if family := NESTED.get(getattr(annotation, "__name__", "")):
        return part(family)
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        members = get_args(annotation)
        nested = [family for each in members if (family := NESTED.get(getattr(each, "__name__", "")))]
        if nested:
            return Annotated[Any, BeforeValidator(functools.partial(_or_nothing, nested[0]))]
        return Union[tuple(in_file(each) for each in members)]  # noqa: UP007 (made at run time)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Sequence):
        inner: Any = list[in_file(get_args(annotation)[0])]  # type: ignore[misc]
        return Annotated[inner, BeforeValidator(numbers)] if get_args(annotation)[0] is int else inner
    return bool | int | float | str | list[Any]


def numbers(value: Any) -> Any:
    """A list of integers; in a file a table may stand for a long one.

    Raises:
        ValueError: a table with other keys, or counts below 1.

    >>> numbers({"first": 3}), numbers({"groups": 2, "clients": 3})
    ([0, 1, 2], [0, 0, 0, 1, 1, 1])
    """
    if not isinstance(value, Mapping):
        return value
    if set(value) not in ({"first"}, {"groups", "clients"}) or not all(
        isinstance(each, int) and not isinstance(each, bool) and each >= 1 for each in value.values()
    ):
        raise ValueError(f"{dict(value)}: allowed is a list of integers, {{ first = n }} for 0 to n - 1, or "
                         "{ groups = g, clients = c } for each of 0 to g - 1 c times, of integers >= 1")  # fmt: skip
    if "first" in value:
        return list(range(value["first"]))
    return [group for group in range(value["groups"]) for _ in range(value["clients"])]


def _or_nothing(family: str, value: Any) -> Any:
    return None if value is None else checked(family, value)
