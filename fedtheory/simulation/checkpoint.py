"""Checkpoints: one immutable file a segment of rounds, written beside and renamed, never overwritten.

A segment holds the rows recorded since the previous one and all the state that the next round needs. Loading a run
is concatenating its segments; resuming it is restoring the last one.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..files import write_beside
from .run import STATISTICS, Run, row_names

if TYPE_CHECKING:
    from .state import Plan, State

_STATE_DICTS = ("sums", "least", "most", "current")
_STATE_TENSORS = ("x", "diverged_at", "probability", "accuracy")


class Checkpoints:
    """The segments of one chunk of replicas; in memory only when there is no directory."""

    def __init__(self, directory: Path | None, every: int) -> None:
        self.directory, self.every = directory, every
        self.segments: list[dict[str, np.ndarray]] = []
        self.pending: list[tuple[int, dict[str, np.ndarray]]] = []
        self.final: dict[str, np.ndarray] = {}

    @classmethod
    def open(cls, directory: str | Path | None, label: dict[str, Any], every: int) -> Checkpoints:
        """The store in ``directory``/replica-<first>; an existing one must carry the same label.

        Raises:
            ValueError: the directory holds another run; the differing entries are named.
        """
        if directory is None:
            return cls(None, every)
        folder = Path(directory) / f"replica-{label['first_replica']:06d}"
        folder.mkdir(parents=True, exist_ok=True)
        tag = folder / "run.json"
        if not tag.exists():
            write_beside(tag, json.dumps(label, indent=1).encode())
        found = _read_label(tag)
        differing = [f"{k} = {found.get(k)!r} there, {v!r} here" for k, v in label.items() if found.get(k) != v]
        if differing:
            raise ValueError(f"directory = {str(directory)!r} holds another run: {'; '.join(differing)}")
        store = cls(folder, every)
        for path in sorted(folder.glob("segment-*.npz")):
            segment = _read_arrays(path)
            expected = int(store.segments[-1]["next_round"]) if store.segments else 0
            if int(segment["first_round"]) != expected:
                raise ValueError(f"{path}: starts at round {segment['first_round']}, allowed is {expected}: "
                                 "a segment is missing")  # fmt: skip
            store.segments.append(segment)
        return store

    def restore(self, state: State) -> int:
        """Put the last segment's state back; the round to go on with (0 for a new run)."""
        if not self.segments:
            return 0
        last = self.segments[-1]
        device = state.x.device
        for name in _STATE_TENSORS:
            setattr(state, name, torch.as_tensor(last[name], device=device, dtype=getattr(state, name).dtype))
        for kind in _STATE_DICTS:
            for name in state.sums:
                getattr(state, kind)[name] = torch.as_tensor(last[f"{kind}.{name}"], device=device)
        for kind in ("memory", "kept"):
            for name in getattr(state, kind):
                getattr(state, kind)[name] = torch.as_tensor(last[f"{kind}.{name}"], device=device)
        return int(last["next_round"])

    def record(self, round: int, state: State) -> None:
        """Keep a row of every statistic."""
        row = {}
        for name in state.sums:
            for statistic, kind in zip(STATISTICS, ("current", "sums", "least", "most"), strict=True):
                row[name + statistic] = getattr(state, kind)[name].cpu().numpy()
        self.pending.append((round, row))

    def maybe_save(self, next_round: int, state: State) -> None:
        if self.directory is not None and next_round % self.every == 0:
            self._save(next_round, state)

    def finish(self, rounds: int, state: State) -> None:
        """Write what is left, unless a finished run was only loaded."""
        if self.pending:
            self._save(rounds + 1, state)

    def _save(self, next_round: int, state: State) -> None:
        arrays = {
            "first_round": self.segments[-1]["next_round"] if self.segments else np.array(0),
            "next_round": np.array(next_round),
            "rounds": np.array([round for round, _ in self.pending], dtype=np.int64),
        }
        arrays |= {name: getattr(state, name).cpu().numpy() for name in _STATE_TENSORS}
        arrays |= {f"memory.{name}": value.cpu().numpy() for name, value in state.memory.items()}
        arrays |= {f"kept.{name}": value.cpu().numpy() for name, value in state.kept.items()}
        for name in row_names(state.sums):
            columns = [row[name] for _, row in self.pending]
            empty = np.zeros((len(state.ids), 0, *_shape_of(state, name)))
            arrays[name] = np.stack(columns, axis=1) if columns else empty
        for kind in _STATE_DICTS:
            for name in state.sums:
                arrays[f"{kind}.{name}"] = getattr(state, kind)[name].cpu().numpy()
        if self.directory is not None:
            _save_arrays(self.directory / f"segment-{next_round:012d}.npz", arrays)
        self.segments.append(arrays)
        self.pending = []

    def load(self, plan: Plan, state: State) -> Run:
        """All segments as one run."""
        last = self.segments[-1]
        rows = {name: np.concatenate([segment[name] for segment in self.segments], axis=1)
                for name in row_names(state.sums)}  # fmt: skip
        rounds = np.concatenate([segment["rounds"] for segment in self.segments])
        peaks = {name: last[f"kept.{name}"] for name in state.kept}
        every = {name: watch.every for watch in plan.observers for name in watch.names if watch.every > 1}
        return Run(rounds, rows, peaks, last["diverged_at"], every, plan.where)


def _shape_of(state: State, name: str) -> tuple[int, ...]:
    """The axes of a row after those of replicas and rounds."""
    known = next(value for key, value in state.current.items() if name in row_names([key]))
    return tuple(known.shape[1:])


def known_choices(directory: str | Path | None) -> dict[str, str] | None:
    """What the run that is kept in ``directory`` has chosen by measured speed; ``None`` if there is none."""
    tags = [] if directory is None else sorted(Path(directory).glob("replica-*/run.json"))
    found = _read_label(tags[0]).get("choices") if tags else None
    return found if isinstance(found, dict) else None


def _read_label(path: Path) -> dict[str, Any]:
    try:
        label = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({error})") from None
    if not isinstance(label, dict):
        raise ValueError(f"{path}: damaged (holds a {type(label).__name__}, allowed is an object)")
    return label


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a segment; every way in which the file can be damaged is a ``ValueError`` that names it."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            segment = dict(arrays)
        int(segment["first_round"]), int(segment["next_round"])
    except (ValueError, TypeError, KeyError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: damaged segment ({type(error).__name__}: {error}); remove it to go on from the "
                         "one before") from None  # fmt: skip
    return segment


def _save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_beside(path, buffer.getvalue())
