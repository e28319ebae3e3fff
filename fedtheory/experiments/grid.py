"""Settings of an experiment file, from its plain content: every variant, with every combination of the grid."""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ..files import json_text

ROUNDS = 1000
"""Rounds of a run, where neither a file nor a caller of ``simulate`` says how many."""
EVERYONE = "Everyone"
"""The participation where a file names none."""
MOST = 10_000
"""Settings that a file may have."""
ONLY = "only"
"""The name of a file's setting that has no other name."""
ASIDE_OF_RUN = ("seeds", "pilot", "checkpoint_every", "device", "threads", "memory_limit", "memory_on_disk", "mixed")
"""Keys of ``run`` that do not decide the numbers of a run with one of the seeds."""
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
        content: as read, with what it leaves out: see ``with_defaults``.
    """

    name: str
    content: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", with_defaults(self.content, self.name))

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
            put = {**variant.get("set", {}), **{key: value for key, (_, value) in zip(grid, chosen, strict=True)}}
            found.append(Point(", ".join(short) or ONLY, labels, with_values(self.content, put, self.name)))
        return found

    def label(self, key: str) -> str:
        """Return the label of a key of the grid: as the file calls it, or its last word."""
        return str(self.content.get("called", {}).get(key, {}).get("label", key.rpartition(".")[2]))

    def _texts_and_values(self, key: str) -> list[tuple[str, Any]]:
        values, called = self.content["grid"][key], self.content.get("called", {}).get(key, {}).get("values")
        return list(zip(called or map(text_of, values), values, strict=True))


def with_defaults(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The content of a file with what it may leave out: the title (the file's name), who participates (everyone), the
    rounds, and the names of statistics (their rows').

    >>> found = with_defaults({"algorithm": {"local_lr": 1}, "statistics": [{"of": "gap"}]}, "some/plain.toml")
    >>> found["title"], found["participation"], found["run"], found["statistics"]
    ('plain', {'kind': 'Everyone'}, {'rounds': 1000}, [{'of': 'gap', 'name': 'gap'}])
    """
    known = {"title": PurePath(name).stem, "participation": {"kind": EVERYONE}, "run": {}, "statistics": []}
    made = {**content, **{key: value for key, value in known.items() if key not in content}}
    if isinstance(made["run"], Mapping) and "rounds" not in made["run"]:
        made["run"] = {**made["run"], "rounds": ROUNDS}
    if isinstance(made["statistics"], list):
        made["statistics"] = [
            {**each, "name": each.get("name", each["of"])} if isinstance(each, Mapping) and "of" in each else each
            for each in made["statistics"]
        ]
    return made


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


def text_of(value: Any) -> str:
    """A value as the name of a setting has it: of a table its kind."""
    text = value.get("kind", "table") if isinstance(value, dict) else value
    return str(text).replace("/", "|")


def asked_for(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a setting that decides its numbers.

    It lacks titles, reasons, seeds of others, and what costs time only.
    """
    words = ("title", "paper", "reproduces", "likeness", "chosen", "labels")
    asked = {key: value for key, value in content.items() if key not in words}
    asked["run"] = {key: value for key, value in asked["run"].items() if key not in ASIDE_OF_RUN}
    return json.loads(json_text(asked))  # type: ignore[no-any-return]
