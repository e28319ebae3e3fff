"""Models that a run keeps besides its rows, and the state from which it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..provenance import Record
from .segment import STATE_DICTS, STATE_TENSORS, Segment

if TYPE_CHECKING:
    from ..setting import Setting
    from .observer import Observer
    from .run import Run
    from .state import Plan, State

KEPT_STATE = 2**28
"""The most bytes of a chunk's state that a run keeps in memory to go on from."""


@dataclass(frozen=True)
class Origin:
    """The setting and the options that made a run."""

    setting: Setting
    seed: int
    record_every: int
    observers: tuple[Observer, ...]
    dtype: torch.dtype
    keep_models: int | None
    made_by: Record

    @classmethod
    def of(cls, plan: Plan) -> Origin:
        """The setting and the options of a plan."""
        return cls(
            plan.setting, plan.seed, plan.record_every, plan.observers, plan.dtype, plan.keep_models, plan.made_by
        )


@dataclass(frozen=True)
class Chunk:
    """Some replicas' state before the last round's observation, from which a longer run goes on.

    Attributes:
        replicas: how many.
        arrays: the state, as a segment has it; None where it is too large to be kept, or in files.
    """

    replicas: int
    arrays: Segment | None

    @classmethod
    def of(cls, state: State) -> Chunk:
        """Keep the state, unless it is too large."""
        size = state.x.nbytes + sum(value.nbytes for kind in (state.memory, state.kept) for value in kind.values())
        return cls(len(state.ids), None if size > KEPT_STATE or state.tables else state_arrays(state))


def state_arrays(state: State) -> Segment:
    """All that the next round needs, by the names of a segment, but for clients' tables in files."""
    remembered = {name: value for name, value in state.stored_memory.items() if name not in state.tables}
    arrays = {name: getattr(state, name).cpu().numpy() for name in STATE_TENSORS}
    arrays |= {f"memory.{name}": value.cpu().numpy() for name, value in remembered.items()}
    arrays |= {f"kept.{name}": value.cpu().numpy() for name, value in state.kept.items()}
    for kind in STATE_DICTS:
        for name in state.sums:
            arrays[f"{kind}.{name}"] = getattr(state, kind)[name].cpu().numpy()
    return arrays


def begun(run: Run) -> list[Segment]:
    """The segments, of each chunk of replicas, from which a longer run goes on: its rows and models before the last
    round, and the state.

    Raises:
        ValueError: the run does not have its state.
    """
    if not run.state or run.origin is None:
        raise ValueError(
            "start: the run was loaded or sent from elsewhere; allowed is one that simulate has made in this process, "
            "or directory=, where longer runs go on too"
        )
    if any(chunk.arrays is None for chunk in run.state):
        raise ValueError(
            f"start: the run's state has more than {KEPT_STATE} bytes, or is in files, so that it was not kept; "
            "allowed is directory="
        )
    last, keep = int(run.rounds[-1]), run.origin.keep_models
    found, first = [], 0
    for chunk in run.state:
        span = slice(first, first := first + chunk.replicas)
        models = {round: run.models[round][span] for round in range(0, last, keep)} if keep else {}
        found.append(
            {
                "first_round": np.array(0),
                "next_round": np.array(last),
                "rounds": run.rounds[:-1],
                **{name: values[span, :-1] for name, values in run.rows.items()},
                **{model_name(round): values for round, values in models.items()},
                **{name: values.copy() for name, values in (chunk.arrays or {}).items()},  # they change in place
            }
        )
    return found


_MODELS = "models."


def model_name(round: int) -> str:
    """The name under which a segment has the models before a round."""
    return f"{_MODELS}{round}"


def models_of(segments: Sequence[Segment], rounds: int) -> dict[int, np.ndarray]:
    """The models that segments have, by round: those that were to be kept, and those from which rounds went on."""
    found: dict[int, np.ndarray] = {}
    for segment in segments:
        names = [name for name in segment if name.startswith(_MODELS)]
        found |= {int(name.removeprefix(_MODELS)): segment[name] for name in names}
        found[min(int(segment["next_round"]), rounds)] = segment["x"]
    return dict(sorted(found.items()))


def shapes_of(federation: Any) -> dict[str, tuple[int, ...]]:
    """The shapes of a network's parts by name; {} of other federations."""
    model = getattr(federation, "model", None)
    return {} if model is None else {name: tuple(shape) for name, shape in model.shapes.items()}
