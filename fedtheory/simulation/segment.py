"""One segment of a run as a file: sealed when it is written, and checked against its run when it is read.

The seal is a SHA-256 hash of all names, types, shapes and numbers. It finds accidents and edits; that every number has
the place, type and range which it can have in this run is checked besides.

A segment holds the rows of its rounds and the state after them. What the algorithm remembers may be as large as the
models of all clients; the last segments of a run alone have it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import Damaged, archived, parsing, read_arrays, write_beside
from .run import row_names

if TYPE_CHECKING:
    from .state import Plan, State

Segment = dict[str, np.ndarray]

STATE_DICTS = ("sums", "least", "most", "current")
STATE_TENSORS = ("x", "diverged_at", "probability", "accuracy")
_MEMORY = "memory."
PLACES, ROWS = "memory.places", "memory.rows."
"""Names of what clients' tables in files have changed to: the places, and the rows of each table."""
_ADVICE = "remove it to go on from the one before"


def segment_name(next_round: int) -> str:
    """The file of the segment after which ``next_round`` comes.

    >>> segment_name(50)
    'segment-000000000050.npz'
    """
    return f"segment-{next_round:012d}.npz"


def before_name(next_round: int) -> str:
    """The file of what clients' rows were before the segment after which ``next_round`` comes.

    >>> before_name(50)
    'before-000000000050.npz'
    """
    return f"before-{next_round:012d}.npz"


def seal(arrays: Segment) -> np.ndarray:
    """The SHA-256 hash of a segment, (32,) uint8.

    >>> bool((seal({"x": np.zeros(2)}) == seal({"x": np.zeros((2, 1))})).all())
    False
    """
    content = hashlib.sha256()
    for name in sorted(arrays):
        values = np.asarray(arrays[name])
        content.update(f"{name!r} {values.dtype.str} {values.shape}\n".encode())
        content.update(np.ascontiguousarray(values).data)
    return np.frombuffer(content.digest(), dtype=np.uint8)


def write_segment(path: Path, arrays: Segment) -> None:
    """Write a segment with its seal."""
    write_beside(path, sealed_segment(arrays))


def sealed_segment(arrays: Segment) -> bytes:
    """The content of a segment's file."""
    return archived(seal=seal(arrays), **arrays)


def read_segment(path: Path, name_of: Callable[[int], str] = segment_name) -> Segment:
    """The arrays of a segment, whose seal fits and whose name says where it ends.

    Args:
        name_of: the file's name, from the round that comes after it.

    Raises:
        Damaged: in whatever way, changed, or with another one's name.
    """
    with parsing(path, "damaged segment", f"; {_ADVICE}"):
        try:
            segment = read_arrays(path)
        except (Damaged, FileNotFoundError) as error:
            raise ValueError(error.wrong if isinstance(error, Damaged) else "it is not there any more") from None
        found = segment.pop("seal", None)
        if found is None or not np.array_equal(found, seal(segment)):
            raise ValueError(f"it {'has no seal' if found is None else 'was changed after it was sealed'}")
        first, after = int(segment["first_round"]), int(segment["next_round"])
        if not 0 <= first < after or path.name != name_of(after):
            raise ValueError(f"it says that it goes from round {first} to {after}")
    return segment


def without_memory(segment: dict[str, Any]) -> dict[str, Any]:
    """Return a segment without the algorithm's memory.

    >>> without_memory({"x": 1, "memory.controls": 2})
    {'x': 1}
    """
    return {name: value for name, value in segment.items() if not name.startswith(_MEMORY)}


def check_segment(path: Path, segment: Segment, plan: Plan, state: State, last: bool = True) -> None:
    """Refuse a segment that cannot be one of this run.

    Args:
        state: the run's state before round 0, which has the shapes and types of all later ones.
        last: whether the run goes on from it; what the algorithm remembers is not looked at in others.

    Raises:
        Damaged: there is an array too many or too few, of another type or shape; other rounds than those that are
            recorded; or a number that is not finite in a replica that has not diverged by then.
        ValueError: the run goes on from a segment without what the algorithm remembers.
    """

    def refuse(what: str) -> None:
        raise Damaged(path, f"damaged segment ({what}); {_ADVICE}")

    rounds = _recorded(segment, plan)
    changed = len(segment[PLACES]) if PLACES in segment and segment[PLACES].ndim == 1 else 0
    expected = _expected(state, len(rounds), changed) | _expected_models(segment, plan, state)
    if last and without_memory(expected).keys() == segment.keys() != expected.keys():
        raise ValueError(
            f"{path}: what the algorithm remembers is kept in the last segments alone, and later ones are "
            "missing; allowed is a store that has them"
        )
    if not last:
        segment, expected = without_memory(segment), without_memory(expected)
    if wrong := sorted(segment.keys() ^ expected.keys()):
        refuse(f"{wrong[0]} is {'missing' if wrong[0] in expected else 'none of this run'}")
    for name, (kind, shape) in expected.items():
        values = segment[name]
        if values.shape != shape or (values.dtype != kind if kind else values.dtype.kind not in "fiub"):
            known = f", allowed is {kind or 'a number type'} {shape}"
            refuse(f"{name} is {values.dtype} {values.shape}{known}")
    if segment["rounds"].tolist() != rounds:
        refuse(f"its rounds are not those from {segment['first_round']} to {segment['next_round']} that are recorded")
    places = segment.get(PLACES, np.empty(0, np.int64))
    if len(places) and (
        places[0] < 0 or places[-1] >= state.ids.numel() * plan.federation.clients or (np.diff(places) <= 0).any()
    ):
        refuse(f"{PLACES} are not those of clients, in order")
    after, diverged_at = int(segment["next_round"]), segment["diverged_at"]
    if after > plan.rounds + 1 or ((diverged_at < -1) | (diverged_at >= after)).any():
        refuse(f"it speaks of rounds after {min(after - 1, plan.rounds)}")
    if infinite := _not_finite(segment, state, np.array(rounds)):
        refuse(f"{infinite} is not finite in a replica that has not diverged")


def _recorded(segment: Segment, plan: Plan) -> list[int]:
    """The rounds between the segment's first and last that the run records."""
    between = range(int(segment["first_round"]), min(int(segment["next_round"]), plan.rounds + 1))
    return [round for round in between if round % plan.record_every == 0 or round == plan.rounds]


def _expected(state: State, recorded: int, changed: int = 0) -> dict[str, tuple[np.dtype | None, tuple[int, ...]]]:
    """The type and shape of every array of a segment; no type: any of numbers."""
    counter = np.dtype(np.int64)
    found: dict[str, tuple[np.dtype | None, tuple[int, ...]]] = {
        "first_round": (counter, ()),
        "next_round": (counter, ()),
        "rounds": (counter, (recorded,)),
    }
    tensors = {name: getattr(state, name) for name in STATE_TENSORS}
    tables = {name: state.memory[name] for name in state.tables}
    remembered = {name: value for name, value in state.stored_memory.items() if name not in tables}
    tensors |= {f"{_MEMORY}{name}": value for name, value in remembered.items()}
    tensors |= {f"kept.{name}": value for name, value in state.kept.items()}
    if tables:
        found[PLACES] = counter, (changed,)
    for name, value in tables.items():
        found[f"{ROWS}{name}"] = value[:0].numpy().dtype, (changed, *value.shape[2:])
    tensors |= {f"{kind}.{name}": value for kind in STATE_DICTS for name, value in getattr(state, kind).items()}
    for name, value in tensors.items():
        array = value.cpu().numpy()
        found[name] = (None if name.startswith("current.") else array.dtype, array.shape)
    for name, value in state.sums.items():
        shape = (len(value), recorded, *value.shape[1:])
        found |= {row: (None if row == name else np.dtype(np.float64), shape) for row in row_names([name])}
    return found


def _expected_models(segment: Segment, plan: Plan, state: State) -> dict[str, tuple[np.dtype | None, tuple[int, ...]]]:
    """The same of the models that were to be kept."""
    if plan.keep_models is None:
        return {}
    kind, shape = state.x[:0].cpu().numpy().dtype, tuple(state.x.shape)
    between = range(int(segment["first_round"]), min(int(segment["next_round"]), plan.rounds))
    return {f"models.{round}": (kind, shape) for round in between if round % plan.keep_models == 0}


def _not_finite(segment: Segment, state: State, rounds: np.ndarray) -> str | None:
    """An array that is not finite where the run is; NaN is allowed where there is a number for each client, and
    nothing is said of what algorithms remember."""
    diverged_at = segment["diverged_at"]
    sound = diverged_at < 0
    names = [name for name in segment if name in STATE_TENSORS or name.split(".")[0] in ("kept", *STATE_DICTS)]
    for name in names:
        if not _finite(segment[name][sound], per_client=name.split(".")[0] in STATE_DICTS and segment[name].ndim > 1):
            return name
    before = sound[:, None] | (rounds < diverged_at[:, None])
    for name in row_names(state.sums):
        if not _finite(segment[name][before], per_client=segment[name].ndim > 2):
            return name
    return None


def _finite(values: np.ndarray, per_client: bool = False) -> bool:
    return bool((np.isfinite(values) | (np.isnan(values) if per_client else False)).all())
