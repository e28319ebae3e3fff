"""Construction of one setting from plain content: the setting, its observers, and its statistics.

A file's content is checked when it is read (`schema`); here nothing is needed that a simulation does not need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..quantities import nearest
from ..setting import Setting
from .files_beside import FilesBeside, is_model, named
from .setting_parts import make


def setting(content: Mapping[str, Any], beside: FilesBeside | None = None) -> Setting:
    """The ``Setting`` of one point's content.

    Args:
        beside: the Python files that may define kinds; they are executed.

    Raises:
        ValueError: an argument outside its range, or a Python file that fails.
        FileNotFoundError: data that are not there.
    """
    _check_workers(content["federation"])
    federation = make("federation", content["federation"], beside)
    algorithm = make("algorithm", content["algorithm"], beside)
    participation = make("process", content["participation"], beside)
    participation = participation.on(federation) if hasattr(participation, "on") else participation
    if content.get("local_solver") is not None:
        algorithm = algorithm.trained_by(make("solver", content["local_solver"]))
    start = content.get("start")
    if beside is not None and isinstance(start, str) and is_model(start):
        start = beside.start(start, federation)
    return Setting(federation, algorithm, participation, **({} if start is None else {"start": start}))


def _check_workers(federation: Mapping[str, Any]) -> None:
    """Refuse worker processes of a network that a Python file defines: they could not import it."""
    model = federation.get("model")
    if federation.get("workers") and named(model.get("kind") if isinstance(model, Mapping) else model):
        raise ValueError(f"workers = {federation['workers']}: allowed is 0 with a model of a Python file")


def observers(content: Mapping[str, Any]) -> list[Any] | None:
    """Make the observers of a setting; ``None``: those that its federation usually has."""
    given = content["run"].get("observers")
    return None if given is None else [make("observer", each) for each in given]


def wanted(content: Mapping[str, Any], rows: Mapping[str, Any]) -> list[Any]:
    """The statistics that are asked for: by default the last value of everything that is observed, but for what is
    observed of each client.

    >>> wanted({}, {"gap": np.ones((2, 3)), **{f"gap_{each}": np.ones((2, 3)) for each in ("sum", "min", "max")}})
    [{'of': 'gap', 'name': 'gap'}]
    """
    asked = content.get("statistics")
    observed = [name for name in rows if all(f"{name}_{each}" in rows for each in ("sum", "min", "max"))]
    return asked or [{"of": name, "name": name} for name in sorted(observed) if np.ndim(rows[name]) == 2]


def statistics(
    content: Mapping[str, Any], rounds: Any, rows: Mapping[str, Any]
) -> Iterator[tuple[str, list[float], list[float]]]:
    """Yield each statistic's name, its values in all replicas, and their deviations over evaluations.

    Deviations are NaN for others than means of several.

    Raises:
        ValueError: a row that was not observed, or fewer evaluations than asked for.
    """
    for each in wanted(content, rows):
        name, of, last, last_rounds = each["name"], each["of"], each.get("last"), each.get("last_rounds")
        if of not in rows:
            raise ValueError(f"statistic {name}: of = {of!r} was not observed; {nearest(of, rows)}")
        values = each.get("plus", 0.0) + each.get("scale", 1.0) * np.asarray(rows[of], dtype=float)
        if each.get("take", "end") == "mean":
            chosen = np.asarray(rounds) > rounds[-1] - last_rounds if last_rounds else slice(-last, None)
            values = values[:, chosen]
            if values.shape[1] < (last or 1):
                raise ValueError(f"statistic {name}: {values.shape[1]} evaluations, allowed are {last} or more")
            several = values.shape[1] > 1
            with np.errstate(invalid="ignore"):  # of a run that diverged it is no number
                spread = values.std(1, ddof=1) if several else np.full(len(values), math.nan)
            yield name, values.mean(1).tolist(), spread.tolist()
        else:
            taken = {"end": values[:, -1], "best": values.max(1), "least": values.min(1)}[each.get("take", "end")]
            yield name, taken.tolist(), [math.nan] * len(values)
