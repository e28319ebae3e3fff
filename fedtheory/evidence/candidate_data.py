"""Candidates of a search as plain data, from which the same candidates are read: the settings that a search keeps."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..numerals import rational
from ..subjects.protocol import Space

Classes = Mapping[str, type]

MOST_DIGITS = 4000
"""The most digits of a fraction's numerator and denominator."""
"""Classes by their names in files: of dataclasses the module's and the class's."""

_SCALARS = ("float64", "float32", "int64", "int32", "bool")


def classes_of(space: Space) -> Classes:
    """Return the classes that a candidate of a space may be made of: the dataclasses that the modules of the space and
    of its bases know."""
    known = {}
    for base in type(space).__mro__:
        for value in vars(sys.modules[base.__module__]).values():
            if isinstance(value, type) and dataclasses.is_dataclass(value):
                known[_name(value)] = value
    return known


def candidate_data(value: Any) -> Any:
    """Return a candidate as plain data, in which no number loses a digit.

    Numbers, texts and ``None`` stand as they are and tuples are lists; everything else is an object whose first key
    says what it is. Fields that take no part in a comparison are left out: they keep what was computed.

    Raises:
        TypeError: a part is of a kind that cannot be written.

    >>> candidate_data((1, 0.1, Fraction(1, 3), float("inf")))
    [1, 0.1, {'fraction': '1/3'}, {'float': 'inf'}]
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.generic) and value.dtype.name in _SCALARS:
        return {"number": candidate_data(value.item()), "of": value.dtype.name}
    if isinstance(value, np.ndarray) and value.dtype.name in _SCALARS:
        cells = [candidate_data(cell) for cell in value.ravel().tolist()]
        return {"array": cells, "shape": list(value.shape), "of": value.dtype.name}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, tuple):
        return [candidate_data(part) for part in value]
    if isinstance(value, list):
        return {"list": [candidate_data(part) for part in value]}
    if isinstance(value, Mapping):
        return {"map": [[candidate_data(key), candidate_data(part)] for key, part in value.items()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: candidate_data(getattr(value, field.name)) for field in _fields(type(value))}
        return {"class": _name(type(value)), "fields": fields}
    raise TypeError(f"{type(value).__name__}: allowed are numbers, texts, tuples, lists, maps, arrays and dataclasses")


def candidate_from(data: Any, classes: Classes) -> Any:
    """Read a candidate from plain data.

    Args:
        classes: those that may occur, as ``classes_of`` returns them.

    Raises:
        ValueError: something in it is of no known kind or class, or has other fields than its class; it is named.

    >>> candidate_from(candidate_data((1, 0.1, Fraction(1, 3), float("inf"))), {})
    (1, 0.1, Fraction(1, 3), inf)
    """
    if data is None or type(data) in (bool, int, str, float):
        return data
    if isinstance(data, list):
        return tuple(candidate_from(part, classes) for part in data)
    if not isinstance(data, dict):
        raise ValueError(f"{data!r:.80}: allowed is plain data")
    match data:
        case {"float": str(text), **rest} if not rest and text in ("inf", "-inf", "nan"):
            return float(text)
        case {"fraction": str(text), **rest} if not rest:
            return rational(text, MOST_DIGITS)
        case {"number": number, "of": str(kind), **rest} if not rest and kind in _SCALARS:
            return np.dtype(kind).type(candidate_from(number, classes))
        case {"array": list(cells), "shape": list(shape), "of": str(kind), **rest} if not rest and kind in _SCALARS:
            return np.array([candidate_from(cell, classes) for cell in cells], dtype=kind).reshape(shape)
        case {"list": list(parts), **rest} if not rest:
            return [candidate_from(part, classes) for part in parts]
        case {"map": list(pairs), **rest} if not rest:
            return {candidate_from(key, classes): candidate_from(part, classes) for key, part in pairs}
        case {"class": str(name), "fields": dict(fields), **rest} if not rest:
            return _object(name, fields, classes)
    raise ValueError(f"{', '.join(map(str, data))}: allowed is an object that candidate_data writes")


def _object(name: str, fields: Mapping[str, Any], classes: Classes) -> Any:
    if name not in classes:
        raise ValueError(f"class = {name!r}: allowed is {' or '.join(sorted(classes)) or 'none'}")
    expected = {field.name for field in _fields(classes[name])}
    if wrong := sorted(expected ^ fields.keys()):
        says = "it is missing" if wrong[0] in expected else f"allowed are {', '.join(sorted(expected))}"
        raise ValueError(f"{name}: field {wrong[0]!r}: {says}")
    return classes[name](**{key: candidate_from(part, classes) for key, part in fields.items()})


def _fields(of: type) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(of) if field.init and (field.compare or not _has_default(field))]


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _name(of: type) -> str:
    return f"{of.__module__}.{of.__qualname__}"
