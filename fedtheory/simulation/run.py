"""Recorded runs, the results of simulations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functionals import Functional, check_average
from ..provenance import together
from ..quantities import nearest
from .run_files import load_run, save_run, to_pandas

if TYPE_CHECKING:
    from torch import nn

    from .kept_models import Chunk, Origin

OBSERVABLES = ("squared_distance", "squared_gradient")
"""Default observables of convex federations."""
ADAPTIVE_OBSERVABLES = ("snapshot_probability", "snapshot", "training_accuracy")
"""Observables that are always recorded where the snapshot probability follows the training accuracy."""
SHOWN = 12
"""Kept rounds that an error names."""
STATISTICS = ("", "_sum", "_min", "_max")
Row = dict[str, np.ndarray]
"""Every statistic of every observable in one round, (replicas, ...)."""


def row_names(observables: Iterable[str]) -> list[str]:
    """The rows that a run of these observables has."""
    return [name + statistic for name in observables for statistic in STATISTICS]


def by_round(rounds: np.ndarray, rows: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Row]]:
    """Yield recorded rows, (replicas, n, ...) by name, round after round."""
    for place, round in enumerate(rounds.tolist()):
        yield round, {name: values[:, place] for name, values in rows.items()}


class NoRow(KeyError, ValueError):
    """A row that a run does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class Rows(dict[str, np.ndarray]):
    """Rows by name; one that is not there is said to be missing among those that are."""

    def __missing__(self, name: object) -> np.ndarray:
        test = ", which needs data with a test part" if str(name).startswith("test_") else ""
        raise NoRow(f"rows: {name!r} was not observed{test}; {nearest(str(name), self)}")


@dataclass(frozen=True)
class Run:
    """Recorded replicas.

    Attributes:
        rounds: (n,) int64, the recorded rounds, 0 first.
        rows: by name, (replicas, n), or (replicas, n, clients) where something was observed of each client:
            ``squared_distance`` and ``squared_gradient`` before each recorded round r, their ``_sum`` over the rounds
            before r, ``_min`` and ``_max`` up to r; or what else was observed.
            Runs with adaptive snapshots have ``training_accuracy`` acc_r, ``snapshot_probability`` q_r and
            ``snapshot`` (1 if round r is a snapshot, else 0; ``snapshot_sum`` counts those before r) besides.
        peaks: by name, (replicas,): what observers kept in the end, such as the run quantities: maxima over all rounds.
        diverged_at: (replicas,) int64, the first round r at which x_r, an observable, its sum over the rounds up to r
            or a maximum over the rounds before r is no finite number; -1 if none is.
        every: by name, the rounds between two looks of its observer, where they are more than one.
        where: what made its bits: versions (``fedtheory``, ``torch``, ``numpy``, ``numba``), ``threads``, ``processor``
            and its ``vector`` instructions, ``device``, what the federation has chosen (of networks the ``path`` of
            gradients and the points ``evaluated_at_once``), ``chunk`` and ``pairs_at_once``; where parts of it differ,
            all values, with " | " between. And what ran: ``dtype``, ``seed``, and the kinds of federation, algorithm
            and participation as ``setting``.
        models: by round, x_r of each replica, (replicas, D): the last, those that ``keep_models`` asked for, and those
            of checkpoints.
        shapes: of a network's parts by name, in the order in which x has them; {} of other federations.
        state: what the run goes on from, of each chunk of replicas, if it is returned by ``simulate`` and not too
            large: see ``simulate(start=run)``.
        origin: the setting and the options that made it, in the process that did.
    """

    rounds: np.ndarray
    rows: dict[str, np.ndarray]
    peaks: dict[str, np.ndarray]
    diverged_at: np.ndarray
    every: dict[str, int] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    models: dict[int, np.ndarray] = field(default_factory=dict, repr=False)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)
    state: tuple[Chunk, ...] = field(default=(), repr=False, compare=False)
    origin: Origin | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", Rows(self.rows))
        object.__setattr__(self, "peaks", Rows(self.peaks))

    @classmethod
    def join(cls, parts: Sequence[Run]) -> Run:
        """Chunks of replicas put together."""
        return cls(
            parts[0].rounds,
            {name: np.concatenate([part.rows[name] for part in parts]) for name in parts[0].rows},
            {name: np.concatenate([part.peaks[name] for part in parts]) for name in parts[0].peaks},
            np.concatenate([part.diverged_at for part in parts]),
            parts[0].every,
            together([part.where for part in parts]),
            {
                round: np.concatenate([part.models[round] for part in parts])
                for round in parts[0].models
                if all(round in part.models for part in parts)
            },
            parts[0].shapes,
            tuple(chunk for part in parts for chunk in part.state) if all(part.state for part in parts) else (),
        )

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to other processes: all but the setting, whose data may be large."""
        return {**self.__dict__, "origin": None}

    def save(self, path: str | Path, weights: bool = False) -> None:
        """Write the run to an ``.npz`` file, whole or not at all; plain arrays, without pickles.

        Args:
            weights: whether to write the ``models`` too.

        Raises:
            ValueError: another suffix, or a place that cannot be written to.
        """
        save_run(self, path, weights)

    def parameters(self, round: int | None = None) -> np.ndarray:
        """x_r of each replica in a kept round, by default the last one, (replicas, D).

        Raises:
            ValueError: of this round no models are kept.
        """
        if not self.models:
            raise ValueError("round: this run has no models; allowed is one that was not saved without its weights")
        if (last := max(self.models) if round is None else round) not in self.models:
            known = sorted(self.models)
            kept = ", ".join(map(str, known[:SHOWN])) + (f", ..., {known[-1]}" if len(known) > SHOWN else "")
            raise ValueError(f"round = {round}: allowed are the rounds whose models are kept, {kept} (see keep_models)")
        return self.models[last]

    def model(self, replica: int = 0, round: int | None = None, into: nn.Module | None = None) -> nn.Module:
        """A network with the parameters x_r of one replica, by default those after the last round.

        Args:
            round: a round of ``models``.
            into: a module of the same architecture, which is filled and returned; by default a copy of the setting's,
                in evaluation mode, where the run is one that ``simulate`` has returned in this process.

        Raises:
            ValueError: there is no such replica or round, the run is none of a network, or the module is of another
                architecture.
        """
        if not 0 <= replica < self.replicas:
            raise ValueError(f"replica = {replica}: allowed is 0 to {self.replicas - 1}")
        if not (self.shapes or (self.origin is None and into is not None)):
            raise ValueError("model: the run is none of a network; allowed is run.parameters()")
        from ..neural.model_files import load_parameters, shapes_like  # which needs torch

        x = self.parameters(round)[replica]
        if into is not None:
            return load_parameters("the run", x, self.shapes or shapes_like("the run", x, into), into)
        if self.origin is None:
            raise ValueError("into = None: the run was loaded, so that its module is not known; allowed is a module")
        federation: Any = self.origin.setting.federation
        return load_parameters("the run", x, self.shapes, federation.model.copied()).eval()

    def save_model(self, path: str | Path, replica: int = 0, round: int | None = None) -> None:
        """Write the network of one replica and round to an ``.npz`` or ``.safetensors`` file, which
        ``neural.load_model`` loads into a module.

        Raises:
            ValueError: as of ``model``; another suffix, or a place that cannot be written to.
        """
        from ..neural.model_files import save_model

        save_model(self.model(replica, round), path)

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """The run that ``save`` has written; of a folder of checkpoints see ``simulation.stored_run``.

        Raises:
            ValueError: there is no file, it is damaged, or holds something else.
        """
        return cls(**load_run(path))

    def to_pandas(self, by_client: bool = False) -> Any:
        """A pandas table, a line for each (replica, round) with a column for each row of the run; with ``by_client`` a
        line for each (replica, round, client), of the rows that have a number for each client.

        Raises:
            MissingExtra: pandas is not installed.
            ValueError: there are no such rows.
        """
        return to_pandas(self, by_client)

    @property
    def replicas(self) -> int:
        """The number of replicas."""
        return len(self.diverged_at)

    @property
    def divergence(self) -> str | None:
        """A line that says how many replicas diverged, and when first; ``None`` if none did."""
        diverged = self.diverged_at >= 0
        if not diverged.any():
            return None
        first = self.diverged_at[diverged].min()
        return f"{diverged.sum()} of {self.replicas} replicas diverged, the first at round {first}"

    def samples(self, functional: Functional, average: str = "r = 1..R") -> np.ndarray:
        """The functional's random variable for R = each recorded round (0 excluded for averages), (replicas, n).

        Raises:
            ValueError: its observable was not watched, or not in every round.
        """
        name = functional.observable
        if name not in self.rows or name in self.every:
            seen = f"every {self.every[name]} rounds" if name in self.every else "never"
            raise ValueError(f"{functional.name} needs {name or 'an observable'} of every round, observed here: {seen}")
        if functional.of_all_rounds:
            raise ValueError(f"{functional.name} is no average of {name} over rounds and not its value at the last one")
        values = self.rows[name]
        if not functional.average:
            return values
        check_average(average)
        total = self.rows[name + "_sum"]
        if average == "r = 1..R":
            total = total + values - values[:, :1]
        return total[:, self.rounds > 0] / self.rounds[self.rounds > 0]

    def rounds_of(self, functional: Functional) -> np.ndarray:
        """The rounds that ``samples`` speaks about."""
        return self.rounds[self.rounds > 0] if functional.average else self.rounds

    def interval(
        self, functional: Functional, average: str = "r = 1..R", confidence: float = 0.99
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean over replicas and the ends of Student's confidence interval at each recorded round, each (n,).

        One replica, or one that diverged, leaves the whole line. The interval is pointwise, and
        approximate where the mean of ``replicas`` samples is not near normal.
        """
        return mean_and_interval(self.samples(functional, average), confidence)


def mean_and_interval(samples: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of samples (replicas, n) and the ends of Student's confidence interval, each (n,)."""
    from scipy import stats  # lazily: it takes half as long to import as torch

    mean = samples.mean(0)
    half = np.full_like(mean, np.inf)
    finite = np.isfinite(samples).all(0)
    if len(samples) > 1:
        quantile = stats.t.ppf((1 + confidence) / 2, len(samples) - 1)
        with np.errstate(over="ignore"):  # an infinite deviation is the right answer
            half[finite] = quantile * samples[:, finite].std(0, ddof=1) / np.sqrt(len(samples))
    low = np.full_like(mean, -np.inf)
    low[finite] = mean[finite] - half[finite]
    return mean, low, mean + half
