"""A finished run as its store has it, read without its setting: the rows of sealed segments, and what made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..provenance import Record, together
from .checkpoint import read_chain, read_label
from .kept_models import models_of
from .run import STATISTICS, Run
from .segment import STATE_TENSORS, Segment, seal


@dataclass(frozen=True)
class Stored:
    """Content of a store of a finished run.

    Attributes:
        run: its rows; without peaks.
        label: what the first replicas say of the run, as its seed.
        made_by: the records of what made it; one, unless others went on with it.
        seal: a hash of all its rows, whatever the spacing of the segments that hold them.
    """

    run: Run
    label: dict[str, Any]
    made_by: tuple[Record, ...]
    seal: str


def stored_run(directory: str | Path) -> Run:
    """Load the finished run that a folder of checkpoints has: its rows, without peaks, and its models, of those rounds
    that ``keep_models`` asked for and of checkpoints.

    Raises:
        ValueError: there is none, it is damaged, or not finished.
    """
    return read_stored(Path(directory), models=True).run


def read_stored(directory: Path, models: bool = False) -> Stored:
    """The run in a directory, from its segments alone, with its models if they are asked for.

    Raises:
        ValueError: there is none, it is damaged, not finished, or of parts that do not belong together.
    """
    parts = list(parts_of(directory, models))
    history = list[Record]()
    for label, _ in parts:
        history += [record for record in label.get("made_by", [{}]) if record not in history]
    try:
        run = Run.join([part for _, part in parts])
    except (KeyError, ValueError) as error:
        raise ValueError(f"{directory}: damaged store (replicas have other rows than others: {error})") from None
    content = {"rounds": run.rounds, "diverged_at": run.diverged_at, **run.rows}
    return Stored(run, parts[0][0], tuple(history), seal(content).tobytes().hex())


def parts_of(directory: Path, models: bool = False) -> Iterator[tuple[dict[str, Any], Run]]:
    """Yield the chunks of the run in a directory, each with what its store says of it.

    Raises:
        ValueError: as ``read_stored``.
    """
    folders = sorted(directory.glob("replica-*"))
    if not folders:
        raise ValueError(f"{directory}: no run is kept here")
    first = read_label(folders[0] / "run.json")
    of_all = {key: value for key, value in first.items() if key not in ("first_replica", "replicas", "made_by")}
    replicas = 0
    for folder in folders:
        label = read_label(folder / "run.json")
        if label.get("first_replica") != replicas or any(label.get(key) != value for key, value in of_all.items()):
            raise ValueError(f"{folder}: its replicas are not those after replica {replicas} of the run beside it")
        part = _part(folder, label, models)
        replicas += part.replicas
        yield label, part


def _part(folder: Path, label: dict[str, Any], models: bool) -> Run:
    """One chunk of replicas."""
    counts: list[int] = [label.get(key, 0) for key in ("rounds", "record_every", "replicas")]
    if not all(isinstance(each, int) and each >= 1 for each in counts):
        raise ValueError(f"{folder / 'run.json'}: damaged (rounds, record_every, replicas: allowed are integers >= 1)")
    rounds, every, replicas = counts
    chain = read_chain(folder)
    if not chain or int(chain[-1]["next_round"]) != rounds + 1:
        raise ValueError(f"{folder}: the run is not finished")
    names = [name for name in _rows(chain[-1]) if name]
    try:
        rows = {name: np.concatenate([segment[name] for segment in chain], axis=1) for name in names}
        found = Run(np.concatenate([segment["rounds"] for segment in chain]), rows, {}, chain[-1]["diverged_at"])
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{folder}: damaged store (its segments do not fit together: {error})") from None
    recorded = (rounds - 1) // every + 2
    shaped = all(values.shape[:2] == (replicas, recorded) for values in rows.values()) and len(found.rounds) == recorded
    wanted = [*range(0, rounds, every), rounds] if shaped else []
    if found.rounds.tolist() != wanted or found.diverged_at.shape != (replicas,) or not shaped or not rows:
        raise ValueError(f"{folder}: damaged store (it has other rounds or replicas than its label says)")
    kept = models_of(chain, rounds) if models else {}
    return Run(found.rounds, rows, {}, found.diverged_at, {}, together(label.get("made_by", [{}])), kept)


def _rows(segment: Segment) -> list[str]:
    """The names of a segment's rows."""
    others = {"first_round", "next_round", "rounds", *STATE_TENSORS}
    known = {name for name in segment if name not in others and "." not in name}
    plain = [name for name in known if all(name + statistic in known for statistic in STATISTICS)]
    return [name + statistic for name in sorted(plain) for statistic in STATISTICS]
