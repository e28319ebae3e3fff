"""Checkpoints: one file a segment of rounds, written beside and renamed.

A segment holds the rows recorded since the previous one and all the state that the next round needs. Loading a run
is concatenating its segments; resuming it is restoring the last one. What the algorithm remembers may be large (models
of all clients): when two later segments are there, a segment is written once more, without it. The one before the last
keeps it, since the last one may be damaged. Segments are sealed and checked (segment.py), and a store is used by one
process or thread at a time: who comes second waits, and then finds what the first one has done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..files import Damaged, check_no_links, json_text, locked, read_json, remove_leftovers, write_beside
from ..provenance import Record, differences, together
from ..seals import check_seal, sealed
from .client_tables import ClientTables
from .kept_models import Chunk, model_name, models_of, shapes_of, state_arrays
from .run import Row, Run, by_round, row_names
from .segment import (
    STATE_DICTS,
    STATE_TENSORS,
    Segment,
    check_segment,
    read_segment,
    segment_name,
    without_memory,
    write_segment,
)

if TYPE_CHECKING:
    from .state import Plan, State


class Checkpoints:
    """The segments of one chunk of replicas; in memory only when there is no directory."""

    def __init__(self, directory: Path | None, every: int, made_by: list[Record], begun: Segment | None = None) -> None:
        self.directory, self.every, self.made_by = directory, every, made_by
        # without what the algorithm remembers, but for one to go on from
        self.segments: list[Segment] = [] if begun is None else [begun]
        self.pending: list[tuple[int, Row]] = []
        self.models: dict[int, np.ndarray] = {}  # of rounds since the last segment
        self.last: tuple[Chunk, ...] = ()
        self.tables: ClientTables | None = None

    @classmethod
    @contextlib.contextmanager
    def open(
        cls, directory: str | Path, label: dict[str, Any], every: int, made_by: Record, mixed: bool = False
    ) -> Iterator[Checkpoints]:
        """The store in ``directory``/replica-<first>, locked; an existing one must carry the same label, or that of a
        run of fewer rounds, which is gone on with.

        Args:
            made_by: what makes the bits of rounds that are still to come; it is that of the rounds which are there.
            mixed: whether it may be something else. The store then has both records.

        Raises:
            ValueError: the directory holds another run, or one that something else has begun, of which the differing
                entries are named; or it is damaged.
        """
        folder = Path(directory) / f"replica-{label['first_replica']:06d}"
        check_no_links(folder, 1)
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            remove_leftovers(folder)
            tag = folder / "run.json"
            if not tag.exists() or _is_empty(folder, label):
                _write_label(tag, label, [made_by])
            found = read_label(tag)
            history, last = found.pop("made_by", [{}]), _last_round(found, label)
            _check_label(found | ({} if last is None else {"rounds": label["rounds"]}), label, directory)
            segments = read_chain(folder, but=None if last is None else last + 1, forget=True)
            done = bool(segments) and int(segments[-1]["next_round"]) > label["rounds"]
            what = f"directory = {str(directory)!r} holds"
            now = history if done else continued(history if segments else [], made_by, mixed, what)
            if last is not None:  # the other order would leave the segment of that round to a longer run
                (folder / segment_name(last + 1)).unlink(missing_ok=True)
            if last is not None or now != history:
                _write_label(tag, label, now)
            store = cls(folder, every, now)
            store.segments = segments
            yield store

    def restore(self, plan: Plan, state: State) -> int:
        """Put the last segment's state back; the round to go on with (0 for a new run).

        Raises:
            ValueError: a segment is none of this run.
        """
        if state.tables:
            assert self.directory is not None
            self.tables = ClientTables(self.directory, {name: state.memory[name] for name in state.tables})
        if not self.segments:
            state.memory |= self.tables.begin() if self.tables else {}
            return 0
        last = self.segments[-1]
        for segment in self.segments:
            check_segment(self._path(int(segment["next_round"])), segment, plan, state, last=segment is last)
        device = state.x.device
        for name in STATE_TENSORS:
            setattr(state, name, torch.as_tensor(last[name], device=device, dtype=getattr(state, name).dtype))
        for kind in STATE_DICTS:
            for name in state.sums:
                getattr(state, kind)[name] = torch.as_tensor(last[f"{kind}.{name}"], device=device)
        for name in state.kept:
            state.kept[name] = torch.as_tensor(last[f"kept.{name}"], device=device)
        tables = self.tables.restored(last) if self.tables else {}
        names = state.stored_memory.keys() - tables.keys()
        kept = {name: torch.as_tensor(last[f"memory.{name}"], device=device) for name in sorted(names)}
        state.restore_memory(kept | tables)
        self.segments[-1] = without_memory(last)
        return int(last["next_round"])

    @property
    def spacing(self) -> int | None:
        """The rounds from one checkpoint to the next; ``None`` if none are kept."""
        return self.every if self.directory is not None else None

    def record(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Keep rows of every statistic, each with its round."""
        self.pending.extend(rows)

    def rows(self, names: Iterable[str]) -> Iterator[tuple[int, Row]]:
        """Yield these rows of the segments, round after round."""
        names = list(names)
        for segment in self.segments:
            yield from by_round(segment["rounds"], {name: segment[name] for name in names})

    def record_models(self, round: int, state: State) -> None:
        """Keep the models before this round."""
        self.models[round] = state.x.cpu().numpy().copy()

    def remember(self, state: State) -> None:
        """Keep the state before the last round is observed: a longer run goes on from it."""
        self.last = (Chunk.of(state),)

    def maybe_save(self, next_round: int, state: State) -> None:
        """Save the state, if a checkpoint is due before this round."""
        if self.directory is not None and next_round % self.every == 0:
            self._save(next_round, state)

    def finish(self, rounds: int, state: State) -> None:
        """Write the rows that are left, unless a finished run was only loaded."""
        if self.pending:
            self._save(rounds + 1, state)

    def _save(self, next_round: int, state: State) -> None:
        arrays = {
            "first_round": self.segments[-1]["next_round"] if self.segments else np.array(0),
            "next_round": np.array(next_round),
            "rounds": np.array([round for round, _ in self.pending], dtype=np.int64),
        }
        after = state_arrays(state)
        if self.tables:
            after |= self.tables.changed(state.memory, state.changed)
        arrays |= {name: value for name, value in after.items() if name.partition(".")[0] not in STATE_DICTS}
        arrays |= {model_name(round): values for round, values in self.models.items()}
        for name in row_names(state.sums):
            columns = [row[name] for _, row in self.pending]
            empty = np.zeros((len(state.ids), 0, *_shape_of(state, name)))
            arrays[name] = np.stack(columns, axis=1) if columns else empty
        arrays |= after  # statistics come last, as in older files
        if self.directory is not None:
            write_segment(self._path(next_round), arrays)
            if self.tables:
                self.tables.settle(arrays)
                state.changed, state.memory = [], state.memory | self.tables.mapped()
            if len(self.segments) > 1 and state.memory:
                write_segment(self._path(int(self.segments[-2]["next_round"])), self.segments[-2])
        self.segments.append(without_memory(arrays))
        self.pending, self.models = [], {}

    def _path(self, next_round: int) -> Path:
        return (self.directory or Path("start")) / segment_name(next_round)

    def load(self, plan: Plan, state: State) -> Run:
        """All segments as one run."""
        rows = {
            name: np.concatenate([segment[name] for segment in self.segments], axis=1) for name in row_names(state.sums)
        }
        rounds = np.concatenate([segment["rounds"] for segment in self.segments])
        peaks = {name: value.cpu().numpy() for name, value in state.kept.items()}
        every = {name: watch.every for watch in plan.observers for name in watch.names if watch.every > 1}
        where = together(self.made_by) | plan.where
        models = models_of(self.segments, plan.rounds)
        shapes = shapes_of(plan.federation)
        return Run(rounds, rows, peaks, state.diverged_at.cpu().numpy(), every, where, models, shapes, self.last)


def _shape_of(state: State, name: str) -> tuple[int, ...]:
    """The axes of a row after those of replicas and rounds."""
    known = next(value for key, value in state.current.items() if name in row_names([key]))
    return tuple(known.shape[1:])


def _is_empty(folder: Path, label: dict[str, Any]) -> bool:
    """Whether nothing is computed of the run that a folder is labelled for, and that is another one."""
    if any(folder.glob("segment-*.npz")):
        return False
    return {key: value for key, value in read_label(folder / "run.json").items() if key != "made_by"} != label


def _last_round(found: dict[str, Any], label: dict[str, Any]) -> int | None:
    """The last round of a kept run, where it is asked to go on beyond it."""
    rounds = found.get("rounds")
    return rounds if isinstance(rounds, int) and 0 < rounds < label["rounds"] else None


def known_label(directory: str | Path | None) -> dict[str, Any]:
    """Read what is said of the run in ``directory``; {} if there is no run, or nothing of it is computed."""
    tags = [] if directory is None else sorted(Path(directory).glob("replica-*/run.json"))
    if not tags or not any(tag.parent.glob("segment-*.npz") for tag in tags):
        return {}
    return read_label(tags[0])


def known_spacing(label: dict[str, Any], rounds: int) -> int | None:
    """The rounds between recorded rows of a kept run, where a longer one is asked for."""
    every = label.get("record_every")
    return every if _last_round(label, {"rounds": rounds}) is not None and isinstance(every, int) else None


def continued(history: list[Record], made_by: Record, mixed: bool, what: str) -> list[Record]:
    """The records of a run that is gone on with; ``what`` holds it, and has another in its place."""
    if not history or history[-1] == made_by:
        return history or [made_by]
    if not mixed:
        if not history[-1]:
            raise ValueError(
                f"{what} a run that was begun before stores recorded what made their bits: allowed is mixed=True "
                "(--mixed), to go on with it all the same, which is recorded, or another directory"
            )
        other = "; ".join(differences(history[-1], made_by))
        raise ValueError(
            f"{what} a run whose bits something else has made: {other}. "
            "Allowed is the same, another directory, or mixed=True (--mixed), "
            "which is recorded"
        )
    return [*history, made_by]


def _check_label(found: dict[str, Any], label: dict[str, Any], directory: str | Path) -> None:
    label = {"keep_models": None, "memory_on_disk": None, **label}
    differing = [f"{k} = {found.get(k)!r} there, {v!r} here" for k, v in label.items() if found.get(k) != v]
    if differing:
        raise ValueError(f"directory = {str(directory)!r} holds another run: {'; '.join(differing)}")


def read_chain(folder: Path, but: int | None = None, forget: bool = False) -> list[Segment]:
    """The segments of a store from round 0 to the last round that was reached; ``but`` for one.

    Where a file system has no locks, processes with different distances between their checkpoints leave segments of
    several ways to the same rounds; one of these ways is taken.

    Args:
        forget: whether a segment that still has what the algorithm remembers, though two later ones have it, is written
            once more without: its writer was killed before it could. Whoever asks for it holds the folder's lock.
    """
    segments: dict[int, Segment] = {}
    remembering: dict[int, Path] = {}
    left_out = None if but is None else segment_name(but)
    for path in sorted(path for path in folder.glob("segment-*.npz") if path.name != left_out):
        segment = read_segment(path)
        first = int(segment["first_round"])
        if first and first not in segments:
            known = " or ".join(map(str, (0, *segments)))
            raise Damaged(path, f"starts at round {first}, allowed is {known}: a segment is missing")
        if len(without_memory(segment)) < len(segment):
            remembering[int(segment["next_round"])] = path
        segments = {after: without_memory(earlier) for after, earlier in segments.items()}
        segments[int(segment["next_round"])] = segment
    chain: list[Segment] = []
    at = max(segments, default=0)
    while at:
        chain.append(segments[at])
        at = int(segments[at]["first_round"])
    for segment in chain[2:] if forget else ():
        after = int(segment["next_round"])
        if after in remembering:
            with contextlib.suppress(OSError):  # a store that can be read only
                write_segment(remembering[after], segment)
    return chain[::-1]


def _write_label(path: Path, label: dict[str, Any], made_by: list[Record]) -> None:
    write_beside(path, json_text(sealed({**label, "made_by": made_by}), indent=1).encode())


def read_label(path: Path) -> dict[str, Any]:
    """Read what a store says of its run; of one without a record of what made it there is no seal either.

    Raises:
        ValueError: it is damaged.
    """
    try:
        found = read_json(path)
        if "made_by" not in found and "seal" not in found:
            return found
        check_seal(found, "it")
        history = found.get("made_by")
        if not isinstance(history, list) or not history or not all(map(_is_record, history)):
            raise ValueError("made_by: allowed is a list of records")
    except (FileNotFoundError, ValueError) as error:
        raise Damaged(path, f"damaged ({error.wrong if isinstance(error, Damaged) else error})") from None
    found.pop("seal")
    return found


def _is_record(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(value, str) for value in entry.values())
