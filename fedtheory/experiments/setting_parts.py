"""Parts of a setting in a file: a table whose ``kind`` names what is called in Python, its other keys the arguments.

What a kind takes is read off its signature, so that an algorithm or a process that is added to its package can stand
in a file at once. Where an argument is a part itself (a process inside a process, a network's model), a table stands
there. Long lists of integers have short spellings: see ``numbers``. What a file has is checked by `part_models`; here
it is called, which needs no more than a simulation does. A kind with a colon is one of a Python file: `files_beside`.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from ..arguments import check_count
from ..quantities import nearest
from .files_beside import FilesBeside, check_family, is_of_file
from .grid import EVERYONE

Kinds = Mapping[str, Callable[..., Any]]

NO_ALGORITHMS = ("check_theorem_4_tie", "check_theorem_5_tie", "theorem_4_server_lr", "theorem_5_server_lr")


def _algorithms() -> Kinds:
    from .. import algorithms as package

    made = {name: getattr(package, name) for name in package.__all__}
    return {name: each for name, each in made.items() if inspect.isfunction(each) and name not in NO_ALGORITHMS}


def _processes() -> Kinds:
    from .. import participation as package
    from .by_class import ByClass

    own: Kinds = {"ByClass": ByClass, EVERYONE: Everyone, "recorded_text": package.Recorded.of_text}
    return {**_classes(package, package.Participation), **own}


def _partitions() -> Kinds:
    from ..data import partition as package

    return _classes(package, package.Scheme)


def _classes(package: Any, base: type) -> Kinds:
    made = {name: getattr(package, name) for name in dir(package) if not name.startswith("_")}
    return {
        name: each
        for name, each in made.items()
        if inspect.isclass(each) and issubclass(each, base) and not inspect.isabstract(each)
    }


def _federations() -> Kinds:
    from ..federations import Network, Quadratic, random_quadratic

    return {
        "Network": Network,
        "Quadratic": Quadratic,
        "common_hessian": Quadratic.common_hessian,
        "logistic": logistic,
        "quadratic_twin": quadratic_twin,
        "random_quadratic": random_quadratic,
    }


def _models() -> Kinds:
    from ..neural import models as package

    made = {name: getattr(package, name) for name in dir(package) if not name.startswith("_")}
    return {
        name: each
        for name, each in made.items()
        if inspect.isfunction(each) and each.__module__ == package.__name__ and name != "parameters"
    }


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
LONGEST = 10**6
"""Integers that a table in a file may stand for."""
NESTED = {
    "Participation": "process", "Module": "model", "FlatModel": "model", "Partition": "partition",
    "Scheme": "partition", "Dataset": "dataset", "Augmentation": "augmentation",
}  # fmt: skip
"""Families that stand in a file for an argument, by the class that the argument is annotated with."""


@functools.cache
def kinds(family: str) -> Kinds:
    """Everything of a family, by the name that it has in Python."""
    return FAMILIES[family]()


@dataclass(frozen=True)
class Everyone:
    """All clients take part in every round."""

    def on(self, federation: Any) -> Any:
        """The process for this federation's clients."""
        from ..participation import Fixed

        return Fixed(range(federation.clients))


def logistic(
    dataset: str,
    clients: int,
    alpha: float,
    l2: float,
    *,
    seed: int = 0,
    bias: bool = False,
    points: int | None = None,
    pooling: int = 1,
    gradient_noise: float = 0.0,
    noise: str = "two-point",
    server_noise: float = 0.0,
) -> Any:
    """Logistic regression on a named data set, normalised, its rows split by Dirichlet(alpha): ``Logistic.split``.

    Args:
        points: only the first so many points of the data set; ``None``: all.
        pooling: images are averaged over squares of so many pixels a side.

    Raises:
        ValueError: an argument outside its range, or a data set that is unknown.
        FileNotFoundError: the data are not there.
    """
    from .. import data
    from ..federations import Logistic

    loaded = data.load(dataset)
    loaded = loaded if points is None else loaded.first(points)
    rows = (loaded if pooling == 1 else loaded.pooled(pooling)).vectors()
    return Logistic.split(rows.normalised(bias), clients, alpha, l2, seed, gradient_noise, noise, server_noise)


def quadratic_twin(
    clients: int,
    smoothness: float,
    strong_convexity: float,
    gradient_noise: float,
    dissimilarity_at_optimum: float,
    *,
    directions: int = 8,
    seed: int = 0,
    fair: Sequence[float] = (),
) -> Any:
    """Make the quadratic twin of a problem of which these constants are known: ``diagnosis.trace_errors.Twin``.

    Args:
        fair: the clients' weights in the objective, of sum 1; default: 1/clients each.

    Raises:
        ValueError: an argument outside its range.
    """
    from ..diagnosis.trace_errors import Twin, fair_weights

    check_count("directions", directions)
    weights = fair_weights(check_count("clients", clients), fair)
    constants = smoothness, strong_convexity, gradient_noise, dissimilarity_at_optimum
    return Twin(*constants, initial_distance=0.0, fair=weights).federation(directions, seed)


def make(family: str, content: Any, beside: FilesBeside | None = None) -> Any:
    """Make a part of this family: call its kind with its arguments, of which the parts are made first.

    A name alone is a kind without arguments.

    Args:
        beside: the Python files that may define kinds, which are executed; ``None``: there are none.

    Raises:
        ValueError: there is no such kind, or none is named.

    >>> make("process", {"kind": "Uniform", "cohort": 2}).cohort
    2
    """
    given = {"kind": content} if isinstance(content, str) else dict(content)
    kind, known = given.pop("kind", None), kinds(family)
    if beside is not None and check_family(family, kind):
        found = beside.kind(family, kind)
        arguments = _arguments(found, given, beside)
        return beside.made(family, kind, lambda: found(**arguments))
    if kind not in known:
        raise ValueError(f"{family} of kind {kind!r} is unknown; {nearest(str(kind), known)}")
    return call(known[kind], given, beside)


def call(kind: Callable[..., Any], arguments: Mapping[str, Any], beside: FilesBeside | None = None) -> Any:
    """A kind called with arguments as they stand in a file."""
    return kind(**_arguments(kind, arguments, beside))


def _arguments(kind: Callable[..., Any], given: Mapping[str, Any], beside: FilesBeside | None) -> dict[str, Any]:
    hints = annotated(kind)
    return {name: _argument(hints.get(name), value, beside) for name, value in given.items()}


def annotated(kind: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotation of each argument of a kind; of a Python file's none, if they cannot be read."""
    function = kind.__init__ if inspect.isclass(kind) else kind
    try:
        return get_type_hints(function, None, _Names(getattr(function, "__globals__", {})))
    except Exception:
        if not is_of_file(kind):
            raise
        return {}


def nested_family(annotation: Any) -> str | None:
    """The family of parts that stands where an argument has this annotation, or one of these; ``None``: none does.

    >>> from ..participation import Participation
    >>> nested_family(Participation | None), nested_family(int)
    ('process', None)
    """
    names = (getattr(each, "__name__", "") for each in (annotation, *get_args(annotation)))
    return next((NESTED[name] for name in names if name in NESTED), None)


def _argument(annotation: Any, value: Any, beside: FilesBeside | None) -> Any:
    family = nested_family(annotation)
    if family is not None:
        return None if value is None else make(family, value, beside)
    return numbers(value) if isinstance(value, Mapping) else value


class _Names(dict[str, Any]):
    """Names in annotations; a name that a module imports for type checkers alone is anything, but for processes."""

    def __missing__(self, name: str) -> Any:
        if name == "Participation":
            from ..participation import Participation

            return Participation
        return getattr(builtins, name, Any)


def numbers(value: Any) -> Any:
    """A list of integers; in a file a table may stand for a long one.

    Raises:
        ValueError: a table with other keys, or counts below 1 or of more than ``LONGEST`` in all.

    >>> numbers({"first": 3}), numbers({"groups": 2, "clients": 3})
    ([0, 1, 2], [0, 0, 0, 1, 1, 1])
    """
    if not isinstance(value, Mapping):
        return value
    if set(value) not in ({"first"}, {"groups", "clients"}) or not all(
        isinstance(each, int) and not isinstance(each, bool) and each >= 1 for each in value.values()
    ):
        raise ValueError(
            f"{dict(value)}: allowed is a list of integers, {{ first = n }} for 0 to n - 1, or "
            "{ groups = g, clients = c } for each of 0 to g - 1 c times, of integers >= 1"
        )
    if math.prod(value.values()) > LONGEST:
        raise ValueError(f"{dict(value)}: allowed are at most {LONGEST} integers, as many as there are clients")
    if "first" in value:
        return list(range(value["first"]))
    return [group for group in range(value["groups"]) for _ in range(value["clients"])]
