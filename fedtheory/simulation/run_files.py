"""A run as one file, and as a table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import needed
from ..files import Damaged, archived, check_target, parse_json, parsing, read_arrays, write_beside

if TYPE_CHECKING:
    from .run import Run

FORMAT = "fedtheory run, version 1"


def save_run(run: Run, path: str | Path, weights: bool = False) -> None:
    """Write a run as an ``.npz`` file of plain arrays and a line of JSON; it is there whole or not at all.

    Raises:
        ValueError: another suffix, or a place that cannot be written to.
    """
    target = check_target(path, ".npz")
    about: dict[str, Any] = {"format": FORMAT, "every": run.every, "where": run.where}
    arrays = {f"rows.{name}": values for name, values in run.rows.items()}
    arrays |= {f"peaks.{name}": values for name, values in run.peaks.items()}
    if weights:
        arrays |= {f"models.{round}": values for round, values in run.models.items()}
        about["shapes"] = {name: list(shape) for name, shape in run.shapes.items()}
    about_line = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    content = archived(about=about_line, rounds=run.rounds, diverged_at=run.diverged_at, **arrays)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_beside(target, content)


def load_run(path: str | Path) -> dict[str, Any]:
    """Read a file that ``save_run`` has written, as the fields of a ``Run``; nothing in the file is executed.

    Raises:
        Damaged: there is no file, it is damaged, or holds something else.
    """
    with parsing(path, "no run can be read from it"):
        try:
            arrays = read_arrays(path)
        except (Damaged, FileNotFoundError) as error:
            raise ValueError(error.wrong if isinstance(error, Damaged) else "no such file") from None
        about = parse_json(arrays.pop("about").tobytes(), path)
        fields = {"rounds": arrays.pop("rounds"), "diverged_at": arrays.pop("diverged_at")}
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}, allowed is {FORMAT!r}")
        every, where = dict(about["every"]), dict(about["where"])
        shapes = {name: tuple(map(int, shape)) for name, shape in about.get("shapes", {}).items()}
        models = {int(name.removeprefix("models.")): value for name, value in arrays.items() if name[:7] == "models."}
    rows = {name.removeprefix("rows."): value for name, value in arrays.items() if name.startswith("rows.")}
    peaks = {name.removeprefix("peaks."): value for name, value in arrays.items() if name.startswith("peaks.")}
    _check_shapes(path, fields, rows, peaks)
    _check_models(path, models, len(fields["diverged_at"]), shapes)
    kept = {"models": models, "shapes": shapes}
    return {**fields, "rows": rows, "peaks": peaks, "every": every, "where": where, **kept}


def _check_shapes(path: str | Path, fields: dict[str, np.ndarray], rows: dict[str, Any], peaks: dict[str, Any]) -> None:
    if fields["rounds"].ndim != 1 or fields["diverged_at"].ndim != 1:
        raise Damaged(path, "no run can be read from it (rounds or diverged_at are no lists)")
    replicas, recorded = len(fields["diverged_at"]), len(fields["rounds"])
    for name, values in rows.items():
        if values.shape[:2] != (replicas, recorded):
            raise Damaged(path, f"row {name} has shape {values.shape}, allowed is ({replicas}, {recorded}, ...)")
    for name, values in peaks.items():
        if values.shape != (replicas,):
            raise Damaged(path, f"peak {name} has shape {values.shape}, allowed is ({replicas},)")


def _check_models(
    path: str | Path, models: dict[int, np.ndarray], replicas: int, shapes: dict[str, tuple[int, ...]]
) -> None:
    dimensions = {math.prod(shape) for shape in shapes.values()} and {sum(map(math.prod, shapes.values()))}
    for round, values in models.items():
        if values.ndim != 2 or len(values) != replicas or {values.shape[1]} != (dimensions or {values.shape[1]}):
            dimension = next(iter(dimensions), "D")
            raise Damaged(
                path, f"models of round {round} have shape {values.shape}, allowed is ({replicas}, {dimension})"
            )


def to_pandas(run: Run, by_client: bool = False) -> Any:
    """A run as a pandas table with one line for each (replica, round), or each (replica, round, client).

    Raises:
        MissingExtra: pandas is not installed.
        ValueError: no row is of each client.
    """
    pandas = needed("pandas")
    chosen = {name: values for name, values in run.rows.items() if values.ndim == (3 if by_client else 2)}
    if by_client and not chosen:
        raise ValueError("by_client: no row of this run is of each client; allowed with Evaluation(by_client=True)")
    levels = [range(run.replicas), run.rounds]
    names = ["replica", "round"]
    if by_client:
        levels.append(range(next(iter(chosen.values())).shape[2]))
        names.append("client")
    index = pandas.MultiIndex.from_product(levels, names=names)
    return pandas.DataFrame({name: values.ravel() for name, values in chosen.items()}, index=index)
