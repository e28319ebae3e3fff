"""Pictures of settings: where runs settle, who takes part, who has which labels, adaptive probabilities, practice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field, model_validator

from ... import functionals
from ...claims.statement import Claim
from ...experiments.part_models import built, union
from ...experiments.reading import Listed, Strict
from ...papers import claim
from ...quantities import nearest
from ...setting import Setting
from ..adaptive import plot_adaptive
from ..participation_figures import plot_participation
from ..partitions import plot_partition
from ..practice_figures import Pair, Watched, plot_practice, twin_of
from ..settling import plot_algorithms, plot_floors
from .picture import Kind, Number, Ref, SettingPart, setting_of

WATCHED = {each.name: each for each in vars(functionals).values()
           if isinstance(each, functionals.Functional) and each.scope == "run"}  # fmt: skip
"""Functionals of runs that may be watched, by name."""


OF_SETTINGS: Mapping[str, str] = {"federation": "clients", "participation": "participants"}
"""Names of the parts of settings in captions."""


class Settling(Strict):
    """A line on the left of ``Floors``.

    Attributes:
        name: of the line.
        steps: the algorithm's step sizes there.
    """

    name: str
    steps: dict[str, Number]


class Floor(Strict):
    """Level at which runs settle by a claim: one of its terms, with all of its quantities but q from the setting.

    Attributes:
        name: of the line.
        claim, term: of which the term.
    """

    name: str
    claim: Ref
    term: str


class Floors(Kind):
    """The error over the share q of rounds, where runs settle and after some rounds: ``plot_floors``.

    Attributes:
        setting: of what; its q is varied.
        share: which of the algorithm's probabilities is q.
        settling, floors: the lines on the left.
        started: the setting on the right, whose q is varied too.
        rounds: on the right.
    """

    seen = ("settling", "floors", "share", "rounds")
    kind: Literal["floors"] = "floors"
    setting: SettingPart
    share: Literal["snapshot_probability", "client_round_probability"]
    settling: Listed[Settling] = Field(min_length=1, max_length=2)
    floors: Listed[Floor] = Field(min_length=1)
    started: SettingPart
    rounds: Listed[int] = Field(min_length=1, max_length=3)
    points: int = Field(default=100, ge=10)

    def claims(self) -> tuple[str, ...]:
        return tuple(floor.claim for floor in self.floors)

    def sentences(self, name: str) -> list[str]:
        if name != "started":
            return super().sentences(name)
        before = self.setting.items()
        return [
            f"on the right {what}: {text}" for what, text in self.started.items().items() if before.get(what) != text
        ]

    @model_validator(mode="after")
    def _check(self) -> Floors:
        for floor in self.floors:
            claim(floor.claim).term(floor.term)
        return self

    def drawn(self) -> Figure:
        def varied(setting: SettingPart, **steps: Number) -> Callable[[float], Setting]:
            return lambda q: setting.built(**{self.share: q}, **steps)

        floors = {each.name: self._floor(claim(each.claim), each.term) for each in self.floors}
        settling = {each.name: varied(self.setting, **each.steps) for each in self.settling}
        words = self.share.replace("_", " ")
        return plot_floors(settling, floors, varied(self.started), self.rounds, f"{words} q", self.points)

    def _floor(self, statement: Claim, term: str) -> Callable[[np.ndarray], np.ndarray]:
        setting = self.setting.built(**{self.share: 0.5}, **self.settling[-1].steps)

        def floor(q: np.ndarray) -> np.ndarray:
            given: dict[str, Any] = {self.share: q}
            return np.asarray(statement.at(setting, rounds=1, **given).terms[term], dtype=float)

        return floor


class Method(Strict):
    """An algorithm, by name."""

    name: str
    algorithm: union("algorithm")  # type: ignore[valid-type]


class Algorithms(Kind):
    """Methods on one federation with the same participants: ``plot_algorithms``.

    Attributes:
        methods: of one local step size, that of the left side.
        rounds: of the left side. steps: local step sizes of the right side.
    """

    words = OF_SETTINGS
    kind: Literal["algorithms"] = "algorithms"
    federation: union("federation")  # type: ignore[valid-type]
    participation: union("process")  # type: ignore[valid-type]
    start: Number
    rounds: int = Field(default=1000, ge=1)
    steps: Listed[float] = ()
    methods: Listed[Method] = Field(min_length=1, max_length=7)

    @model_validator(mode="after")
    def _check(self) -> Algorithms:
        sizes = {str(each.algorithm.local_lr) for each in self.methods}
        if len(sizes) > 1:
            raise ValueError(f"methods have local_lr {', '.join(sorted(sizes))}: allowed is one step size for all")
        return self

    def drawn(self) -> Figure:
        def made(method: Method) -> Callable[[Any], Setting]:
            return lambda lr: setting_of(
                self.federation, method.algorithm, self.participation, self.start, {"local_lr": lr}
            )

        return plot_algorithms(
            {each.name: made(each) for each in self.methods},
            self.methods[0].algorithm.local_lr,
            self.rounds,
            self.steps,
        )


class ParticipationRun(Kind):
    """One run of a participation process: ``plot_participation``."""

    words = OF_SETTINGS
    kind: Literal["participation"] = "participation"
    participation: union("process")  # type: ignore[valid-type]
    clients: int = Field(ge=1)
    rounds: int = Field(ge=1)
    seed: int = Field(default=0, ge=0)

    def drawn(self) -> Figure:
        return plot_participation(built(self.participation), self.clients, self.rounds, self.seed)


class Labels(Kind):
    """Counts of the samples of each label of every client: ``plot_partition``."""

    kind: Literal["labels"] = "labels"
    dataset: union("dataset")  # type: ignore[valid-type]
    partition: union("partition")  # type: ignore[valid-type]

    def drawn(self) -> Figure:
        dataset = built(self.dataset)
        return plot_partition(built(self.partition).split(dataset), dataset.labels, dataset.classes)


class Adaptive(Kind):
    """Snapshot probabilities that follow the training accuracy: ``plot_adaptive``."""

    kind: Literal["adaptive"] = "adaptive"
    setting: SettingPart
    adaptivities: Listed[Number] = Field(min_length=1, max_length=4)
    rounds: int = Field(ge=2)
    replicas: int = Field(default=1, ge=1)
    seed: int = Field(default=0, ge=0)

    def drawn(self) -> Figure:
        runs = {}
        for adaptivity in self.adaptivities:
            setting = self.setting.built(adaptivity=adaptivity)
            runs[rf"$\lambda$ = {adaptivity}"] = setting.simulate(
                replicas=self.replicas,
                rounds=self.rounds,
                seed=self.seed,
                record_every=1,
                observers=["squared_gradient"],
                device="cpu",
            )
        return plot_adaptive(runs)


class Compared(Strict):
    """A method of ``Practice``.

    Attributes:
        name: of the method.
        algorithm: on the data.
        twin: what its arguments are on the twin.
    """

    name: str
    algorithm: union("algorithm")  # type: ignore[valid-type]
    twin: dict[str, Number]


class Practice(Kind):
    """Bounds and exact errors on a convex twin beside a model's accuracy: ``plot_practice``.

    Attributes:
        above: the data and the model, in a title.
        bounds: the printed claim first.
        federation: a ``Network``; its twin has the shares of classes of its clients as minimisers.
        longer: so many times as many rounds has the twin.
        watched: the functional that is watched of the twin, and over which iterates; by default the claims'.
    """

    seen = ("above", "bounds", "watched", "average")
    words: ClassVar[Mapping[str, str]] = {**OF_SETTINGS, "longer": "the twin's rounds, as multiples of theirs"}
    kind: Literal["practice"] = "practice"
    above: str
    bounds: Listed[Ref] = Field(min_length=1, max_length=2)
    federation: union("federation")  # type: ignore[valid-type]
    participation: union("process")  # type: ignore[valid-type]
    methods: Listed[Compared] = Field(min_length=2)
    rounds: int = Field(ge=30)
    replicas: int = Field(ge=2)
    seed: int = Field(default=0, ge=0)
    longer: int = Field(default=1, ge=1)
    watched: str | None = None
    average: str = "r = 0..R-1"

    @model_validator(mode="after")
    def _check(self) -> Practice:
        if self.watched is not None and self.watched not in WATCHED:
            raise ValueError(f"watched = {self.watched!r} is unknown; {nearest(self.watched, WATCHED)}")
        return self

    def claims(self) -> tuple[str, ...]:
        return self.bounds

    def drawn(self) -> Figure:
        federation = built(self.federation)
        twin = twin_of(federation)
        pairs = {
            each.name: Pair(
                setting_of(federation, each.algorithm, self.participation),
                setting_of(twin, each.algorithm, self.participation, changes=each.twin),
                self.longer,
            )
            for each in self.methods
        }
        watched = None if self.watched is None else Watched(WATCHED[self.watched], self.average)
        claims = [claim(ref) for ref in self.bounds]
        return plot_practice(claims, pairs, self.rounds, self.replicas, self.above, watched, self.seed)


KINDS = (Floors, Algorithms, ParticipationRun, Labels, Adaptive, Practice)
