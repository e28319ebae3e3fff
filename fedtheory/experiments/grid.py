"""Settings of an experiment file, from its plain content: every variant, with every combination of the grid."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST = 10_000
"""Settings that a file may have."""
ASIDE = ("grid", "called", "variants", "search", "likeness")
"""Keys of a file that no setting has."""


@dataclass(frozen=True)
class Point:
    """One setting of an experiment.

    Attributes:
        name: the values that make it this one; a folder's name.
        labels: the same, by key.
        content: the file's content with these values.
    """

    name: str
    labels: Mapping[str, str]
    content: Mapping[str, Any]


@dataclass(frozen=True)
class ExperimentFile:
    """The content of an experiment file, as it stands there; `schema.Experiment` is one that was checked.

    Attributes:
        name: what errors and results call it.
        content: as read.
    """

    name: str
    content: Mapping[str, Any]

    def points(self) -> list[Point]:
        """Every variant, with every combination of the grid.

        Raises:
            ValueError: a dotted key that does not lead into a table of the file, or more than ``MOST`` settings.

        >>> file = ExperimentFile("a.toml", {"algorithm": {"local_lr": 1}, "grid": {"algorithm.local_lr": [1, 2]}})
        >>> [(point.name, point.content["algorithm"]) for point in file.points()]
        [('local_lr=1', {'local_lr': 1}), ('local_lr=2', {'local_lr': 2})]
        """
        variants = self.content.get("variants") or [{"name": "", "set": {}}]
        grid = self.content.get("grid", {})
        many = len(variants) * math.prod(map(len, grid.values()))
        if many > MOST:
            raise ValueError(f"{self.name}: grid and variants make {many} settings: allowed are at most {MOST}")
        found = []
        for variant, *chosen in itertools.product(variants, *(self._texts_and_values(key) for key in grid)):
            named = {self.label(key): text for key, (text, _) in zip(grid, chosen, strict=True)}
            labels = {**self.content.get("labels", {}), **variant.get("labels", {}), **named}
            short = [variant["name"]] if variant["name"] else []
            short += [f"{label}={text}" for label, text in named.items()]
            put = {**variant["set"], **{key: value for key, (_, value) in zip(grid, chosen, strict=True)}}
            found.append(Point(", ".join(short) or "only", labels, with_values(self.content, put, self.name)))
        return found

    def label(self, key: str) -> str:
        """Return the label of a key of the grid: as the file calls it, or its last word."""
        return str(self.content.get("called", {}).get(key, {}).get("label", key.rpartition(".")[2]))

    def _texts_and_values(self, key: str) -> list[tuple[str, Any]]:
        values, called = self.content["grid"][key], self.content.get("called", {}).get(key, {}).get("values")
        return list(zip(called or map(_text, values), values, strict=True))


def with_values(content: Mapping[str, Any], values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the content with these values at these dotted keys, and without the keys of several settings.

    Raises:
        ValueError: a key that does not lead into a table of the file, or a value where a table has to stand.
    """
    made = copy.deepcopy({key: value for key, value in content.items() if key not in ASIDE})
    for key, value in values.items():
        _put(made, key, value, name)
    return made


def _put(content: dict[str, Any], key: str, value: Any, name: str) -> None:
    *path, last = key.split(".")
    place = content
    for step in path:
        if not isinstance(place.get(step), dict):
            raise ValueError(f"{name}: {key}: allowed is a key of a table in the file, as algorithm.local_lr")
        place = place[step]
    if isinstance(value, dict) or not isinstance(place.get(last), dict):
        place[last] = copy.deepcopy(value)
    else:
        raise ValueError(f"{name}: {key} = {value!r}: allowed is a table")


def _text(value: Any) -> str:
    text = value.get("kind", "table") if isinstance(value, dict) else value
    return str(text).replace("/", "|")
