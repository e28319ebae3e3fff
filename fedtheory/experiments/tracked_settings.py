"""Names of an experiment's runs in a tracker, and the settings that are shown there, without paths of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..simulation.trackers import Tracker
    from ..simulation.tracking import Tracking

PARTS = ("federation", "algorithm", "participation", "run")
"""Tables of an experiment file whose entries are shown."""
NOT_SHOWN = ("seeds", "seeded")
"""Entries of ``run`` that are of other runs too."""


def tracked(tracker: Tracker, experiment: str, point: str, seed: int, content: Mapping[str, Any]) -> Tracking:
    """The tracking of a setting of an experiment file with a seed."""
    from ..simulation.tracking import Tracking

    shown = shown_settings(experiment, point, seed, content)
    return Tracking(tracker, f"{shown['experiment']}, {point}, seed {seed}", shown)


def shown_settings(experiment: str, point: str, seed: int, content: Mapping[str, Any]) -> dict[str, str]:
    """A setting by dotted key, for a tracker's table of parameters."""
    paper, name = content.get("paper") or "", Path(experiment).stem
    flat = {"experiment": f"{paper}.{name}" if paper else name, "setting": point, "seed": str(seed)}
    for part in PARTS:
        flat |= dict(_flat(part, content.get(part, {})))
    return {key: value for key, value in flat.items() if key.rpartition(".")[2] not in NOT_SHOWN}


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}", inner)
    else:
        many = isinstance(value, list | tuple)
        yield key, ", ".join(without_folders(str(each)) for each in value) if many else without_folders(str(value))


def without_folders(text: str) -> str:
    """A path without its folders; other texts, such as rules with a division, as they are.

    >>> [without_folders(text) for text in ("/home/me/own.py:Net", "own/net.py:Net", "~/data", "1/2.5", "1/(2 + r)")]
    ['own.py:Net', 'net.py:Net', 'data', '1/2.5', '1/(2 + r)']
    """
    whole = PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute() or text.startswith(("~", "."))
    named = re.fullmatch(r"[^()*+]*[\\/][^()*+\\/]+\.[A-Za-z]\w{0,7}(:\w+)?", text)
    return re.split(r"[\\/]", text.rstrip("\\/"))[-1] if whole or named else text
