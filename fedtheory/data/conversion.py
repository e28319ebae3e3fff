"""Data sets out of arrays, tensors, torch data sets and those of Hugging Face's ``datasets``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

CHANNELS = (1, 3, 4)
_ALLOWED = "an array or tensor, a torch data set whose items are pairs, or one of Hugging Face's datasets"


@dataclass(frozen=True)
class _Read:
    """Arrays, and what the data set says of its classes."""

    x: np.ndarray
    y: np.ndarray
    class_names: tuple[str, ...] = ()
    clients: np.ndarray | None = None


def read_parts(
    x: Any,
    y: Any,
    test: Any,
    tested: bool,
    classes: int | None,
    channels: str | None,
    clients: Any,
    columns: tuple[str, str] | None,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The fields of a data set, and of its test set where one is read; see ``Dataset.of``.

    Args:
        tested: whether there is a test set already, so that none is looked for.
    """
    if channels not in (None, "first", "last"):
        raise ValueError(f"channels = {channels!r}: allowed is 'first', 'last' or None")
    if y is None and isinstance(x, Mapping):  # a DatasetDict
        if "train" not in x:
            raise ValueError(f"x has the splits {', '.join(map(str, x))}: allowed is one split, or train among them")
        x, test = x["train"], x.get("test") if test is None and not tested else test
    read = _read("x", x, y, clients, columns)
    parts = [read] if test is None else [read, _read_test(test, clients, columns)]
    count = _classes(parts, read.class_names, classes)
    owners = [each.clients for each in parts if each.clients is not None]
    names = tuple(np.unique(np.concatenate([np.unique(each) for each in owners])).tolist()) if owners else ()
    number = {each: i for i, each in enumerate(names)}

    def fields(part: _Read) -> dict[str, Any]:
        own = None if part.clients is None else np.array([number[each] for each in part.clients.tolist()], np.int64)
        known = part.class_names if count == len(part.class_names) else ()
        return {
            "features": _images(part.x, channels),
            "labels": part.y,
            "classes": count,
            "clients": own,
            "client_names": tuple(map(str, names)),
            "class_names": known,
        }

    return fields(read), None if len(parts) == 1 else fields(parts[1])


def _read_test(test: Any, clients: Any, columns: tuple[str, str] | None) -> _Read:
    column = clients if isinstance(clients, str) else None
    if isinstance(test, tuple) and len(test) == 2:
        return _read("test", *test, None, columns)
    return _read("test", test, None, column, columns)


def _read(name: str, x: Any, y: Any, clients: Any, columns: tuple[str, str] | None) -> _Read:
    if y is not None:
        found = _Read(_array(name, x), _array("y", y))
    elif hasattr(x, "column_names") and hasattr(x, "with_format"):
        return _of_columns(name, x, clients, columns)
    elif hasattr(x, "__getitem__") and hasattr(x, "__len__") and not hasattr(x, "dtype") and not isinstance(x, list):
        found = _of_items(name, x)
    else:
        lacks = "; y is lacking" if hasattr(x, "dtype") or isinstance(x, list) else ""
        raise ValueError(f"{name} is {type(x).__name__}{lacks}: allowed is {_ALLOWED}; arrays with their y")
    if isinstance(clients, str):
        raise ValueError(f"clients = {clients!r}: allowed of arrays is a client for each sample")
    return found if clients is None else replace(found, clients=_owners(clients, len(found.x)))


def _owners(clients: Any, count: int) -> np.ndarray:
    owners = _array("clients", clients)
    if owners.shape != (count,) or owners.dtype.kind not in "iuUS":
        raise ValueError(f"clients is {owners.dtype} {owners.shape}: allowed is ({count},), integers or names")
    return owners


def _of_items(name: str, data: Any) -> _Read:
    """A torch data set's items, each asked for once; of a ``TensorDataset`` its tensors."""
    names = tuple(map(str, classes)) if isinstance(classes := getattr(data, "classes", None), list | tuple) else ()
    tensors = getattr(data, "tensors", None)
    if isinstance(tensors, tuple) and len(tensors) == 2:
        return _Read(_array(name, tensors[0]), _array("y", tensors[1]), names)
    features, targets = [], []
    for i in range(len(data)):
        item = data[i]
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise ValueError(f"{name}[{i}] is {type(item).__name__}: allowed is a pair of features and target")
        features.append(_array(f"{name}[{i}]", item[0]))
        targets.append(_array(f"{name}[{i}]", item[1]))
    if not features:
        raise ValueError(f"{name} is empty: allowed is a data set with samples")
    return _Read(_stacked(name, features), _stacked("y", targets), names)


def _stacked(name: str, values: list[np.ndarray]) -> np.ndarray:
    shapes = {each.shape for each in values}
    if len(shapes) > 1:
        raise ValueError(f"{name} has samples of shapes {', '.join(map(str, sorted(shapes)[:3]))}: allowed is one")
    return np.stack(values)


def _of_columns(name: str, data: Any, clients: Any, columns: tuple[str, str] | None) -> _Read:
    """A split of a Hugging Face data set."""
    there, kinds = list(data.column_names), {key: type(kind).__name__ for key, kind in data.features.items()}

    def column(given: str | None, usual: tuple[str, ...], kind: str, what: str) -> str:
        if given is not None:
            found = [given] if given in there else []
        else:
            found = [each for each in usual if each in there][:1] or [each for each in there if kinds[each] == kind]
        if len(found) != 1:
            raise ValueError(
                f"columns: {name} has {', '.join(there)}, of which {given or 'none or several'} may be {what}; allowed "
                "is the pair of columns of features and targets"
            )
        return found[0]

    features, targets = columns or (None, None)
    of_x = column(features, ("image", "img"), "Image", "features")
    of_y = column(targets, ("label", "labels"), "ClassLabel", "targets")
    names = tuple(map(str, getattr(data.features[of_y], "names", None) or ()))
    rows = data.with_format("numpy")
    x, y = (_column(each, rows[each][:]) for each in (of_x, of_y))
    if clients is None:
        return _Read(x, y, names)
    if not isinstance(clients, str):
        return _Read(x, y, names, _owners(clients, len(x)))
    if clients not in there:
        raise ValueError(f"clients = {clients!r}: {name} has {', '.join(there)}; allowed is one of these")
    return _Read(x, y, names, _owners(rows[clients][:], len(x)))


def _column(name: str, values: Any) -> np.ndarray:
    if isinstance(values, list) or getattr(getattr(values, "dtype", None), "kind", "") == "O":
        return _stacked(name, [_array(name, each) for each in values])
    return _array(name, values)


def _array(name: str, values: Any) -> np.ndarray:
    """An array of numbers or names, of whatever numpy or torch can make one of (a tensor, a picture, a list)."""
    convert: Callable[[Any], Any] = np.asarray
    if hasattr(values, "detach"):
        convert = lambda tensor: tensor.detach().cpu().numpy()  # noqa: E731
    try:
        found = np.asarray(convert(values))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} is no array ({str(error).splitlines()[0]}): allowed is {_ALLOWED}") from None
    if found.dtype == bool:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iufUS":
        raise ValueError(f"{name} is {found.dtype} {found.shape}: allowed is {_ALLOWED}, of numbers")
    return found


def _classes(parts: list[_Read], names: tuple[str, ...], classes: int | None) -> int:
    kinds = {part.y.dtype.kind for part in parts}
    if kinds <= {"f"} or classes == 0:
        if classes:
            raise ValueError(f"classes = {classes}, y is {parts[0].y.dtype}: allowed with classes are integers")
        return 0
    if not kinds <= {"i", "u"}:
        raise ValueError(f"y is {' and '.join(str(p.y.dtype) for p in parts)}: allowed are integers or floats alone")
    if classes is not None:
        return classes
    return max(2, len(names), *(int(part.y.max()) + 1 for part in parts if part.y.size))


def _images(x: np.ndarray, channels: str | None) -> np.ndarray:
    """Features as a data set has them: images with their channels first."""
    if x.ndim == 3:
        x = x[:, None]
    elif x.ndim == 4:
        first, last = x.shape[1] in CHANNELS, x.shape[3] in CHANNELS
        if first and last:  # then which reading makes squares
            first, last = x.shape[2] == x.shape[3], x.shape[1] == x.shape[2]
        if channels is None and first == last:
            raise ValueError(
                f"x has shape {x.shape}: which axis has the channels is open; allowed is channels='first' or 'last'"
            )
        if channels == "last" or (channels is None and last):
            x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    elif x.ndim != 2:
        raise ValueError(f"x has shape {x.shape}: allowed is (N, p), (N, H, W), (N, C, H, W) or (N, H, W, C)")
    if x.ndim == 4 and x.dtype.kind in "iu" and x.dtype != np.uint8:
        if x.min() < 0 or x.max() > 255:
            raise ValueError(f"x ranges over {x.min()} to {x.max()}: allowed of whole numbers is 0 to 255")
        x = x.astype(np.uint8)
    return x
