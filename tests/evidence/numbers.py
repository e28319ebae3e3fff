"""Instances of runs as the numbers that they are made of, which tests change one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from fedtheory.algorithms import fast, safari
from fedtheory.claims.statement import Claim
from fedtheory.evidence import judge as judging
from fedtheory.papers import claim
from fedtheory.papers.fast import counterexamples as fast_runs
from fedtheory.papers.safari import counterexamples as safari_runs
from fedtheory.participation import Fixed
from fedtheory.quantities import RUN_QUANTITIES, SERVER_RUN_QUANTITIES
from fedtheory.setting import Setting
from fedtheory.subjects import enclosures
from fedtheory.subjects.enclosures import with_steps
from fedtheory.subjects.file_entries import stated_constants as stated_constants_of
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.run_points import RunPoint, diagonals, run_point
from fedtheory.subjects.run_subject import PARTS

DRAWN = "probability"


@dataclass(frozen=True)
class Numbers:
    """Runs of FAST; of SAFARI where there is a ``client_round_probability``."""

    claim: str
    hessians: tuple
    centres: tuple
    start: tuple
    cohort: int | None = None
    local_steps: int = 1
    local_lr: Any = None
    snapshot_period: int | None = None
    members: tuple[int, ...] = (0,)
    rounds: int = 1
    constants: Mapping[str, Fraction] = field(default_factory=dict)
    snapshot_probability: Fraction | None = None
    client_round_probability: Fraction | None = None
    server_lr: Any = None
    order: tuple[str, ...] = ()

    @classmethod
    def of(cls, instance: Instance) -> Numbers:
        point: RunPoint = instance.point
        fed, algorithm = point.setting.federation, point.setting.algorithm
        names = ("cohort", "local_steps", "local_lr", "snapshot_period", "client_round_probability", "server_lr")
        own = {name: getattr(algorithm, name) for name in names if hasattr(algorithm, name)}
        return cls(
            claim=instance.claim, hessians=tuple(diagonals(fed)), centres=tuple(map(tuple, fed.exact_centres)),
            start=tuple(point.setting.exact_start), members=point.setting.participation.members, rounds=point.rounds,
            constants=point.constants, snapshot_probability=getattr(algorithm, "fixed_probability", None),
            order=point.order, **own,
        )  # fmt: skip

    @property
    def point(self) -> RunPoint:
        steps = {"local_lr": self.local_lr, "local_steps": self.local_steps}
        if self.client_round_probability is not None:
            q = self.client_round_probability
            algorithm = with_steps(safari, client_round_probability=q, server_lr=self.server_lr, **steps)
        else:
            rule = {"snapshot_period": self.snapshot_period, "snapshot_probability": self.snapshot_probability}
            algorithm = with_steps(fast, cohort=self.cohort, **steps, **rule)
        return run_point(
            self.hessians,
            self.centres,
            self.start,
            algorithm,
            Fixed(self.members),
            self.rounds,
            self.constants,
            self.order,
            part=PARTS["fast" if self.client_round_probability is None else "safari"],
        )

    @property
    def instance(self) -> Instance:
        return Instance(self.claim, self.point)

    @property
    def federation(self) -> Any:
        return self.point.setting.federation

    def to_json(self) -> dict[str, Any]:
        return self.instance.to_json()

    def check(self, statement: Claim) -> None:
        self.point.check(statement)

    def way(self, snapshots: str | None = None, cohort_draw: str = "without replacement") -> enclosures.Way:
        """How it runs, snapshots (of SAFARI: kinds of rounds) as said."""
        point = self.point
        reading = {"uniform cohort": cohort_draw}
        if snapshots is not None:
            reading |= {"snapshots": snapshots, "kinds of rounds": snapshots}
        return point.part.way(point, claim("fast.thm1"), reading, point.setting.algorithm)

    def setting(self, snapshots: str | None = None, cohort_draw: str = "without replacement") -> Setting:
        return self.way(snapshots, cohort_draw).setting


def judge(instance: Numbers | Instance, **options: Any) -> judging.Judgement:
    return judging.judge(instance.instance if isinstance(instance, Numbers) else instance, **options)


def stated_constants(statement: str | Claim) -> tuple[str, ...]:
    return stated_constants_of(claim(statement) if isinstance(statement, str) else statement)


def left_side(run: Numbers, *how: str) -> enclosures.LeftSide:
    return enclosures.left_side(run.way(*how))


def as_printed(statement: Claim) -> Claim:
    """The claim in its literal reading alone."""
    return replace(statement, ambiguities=tuple(replace(a, options=a.options[:1]) for a in statement.ambiguities))


def run_boxes(run: Numbers, snapshots: str, cohort_draw: str, local_index: str, follow: bool = True) -> list:
    """Of FAST's runs the maxima; of SAFARI's also what is least over rounds of a kind."""
    of_safari = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES} - {*enclosures.EVERY_ROUND}
    asked = {*RUN_QUANTITIES} if run.client_round_probability is None else of_safari
    return enclosures.run_boxes(run.way(snapshots, cohort_draw), local_index, asked, follow)


def quantities(run: Numbers, statement: Claim) -> dict[str, Any]:
    return run.point.quantities(statement)


def built(build: Callable[..., RunPoint], ref: str, *parameters: Any, **changes: Any) -> Numbers:
    """A paper's counterexample for a claim, with some numbers changed."""
    return replace(Numbers.of(Instance(ref, build(claim(ref), *parameters))), **changes)


def biased_quartet(ref: str, rounds: int, **changes: Any) -> Numbers:
    return built(fast_runs.biased_quartet, ref, rounds, **changes)


def flat_and_noisy(ref: str, *parameters: Any) -> Numbers:
    return built(fast_runs.flat_and_noisy, ref, *parameters)


def far_pair(ref: str, **changes: Any) -> Numbers:
    return built(safari_runs.far_pair, ref, Fraction(1, 100), **changes)


def steep_pair(ref: str, *parameters: Any, **changes: Any) -> Numbers:
    return built(safari_runs.steep_pair, ref, *parameters, **changes)
