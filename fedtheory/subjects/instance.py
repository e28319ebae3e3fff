"""Instances: small, exact examples of what a claim speaks about, in files that anyone can replay.

Five kinds, by what the claim bounds: runs of an algorithm on a federation (one round is a run of one round), a
function at points, weights that clients estimate, a server's selection, values of quantities. All numbers are integers
or strings of rationals ("1/100"); they are parsed, never evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import fast
from ..claims.balls import Ball
from ..claims.statement import Claim
from ..federations import Quadratic
from ..moments.points import Points
from ..papers import claim
from ..participation import Fixed
from ..setting import Setting
from .entries import (
    CHOSEN,
    Rationals,
    check_kind,
    entry,
    indices,
    matrix,
    rational,
    rational_entry,
    rationals,
    shown,
    vector,
)
from .fedau.instance import FedauInstance, parse_fedau
from .fedau.quantities import speaks_of_weights
from .safari.instance import SafariInstance, from_safari, parse_safari, speaks_of_servers
from .selection.instance import SelectionInstance, parse_selection
from .stated import (
    LARGEST,
    by_vocabulary,
    check_constants,
    check_names,
    check_one_round,
    check_scope,
    check_size,
    constants_of,
    is_about_one_round,
    stated_constants,
    texts,
)
from .weights.instance import WeightsInstance, parse_weights

SCHEMA = 1


@dataclass(frozen=True)
class Instance:
    """A setting with rational numbers, for one claim about runs or about one round.

    Attributes:
        claim: its ref.
        hessians: (M, D), diagonals. centres: (M, D). start: (D,). All Fractions.
        cohort, local_steps, local_lr: FAST's parameters; a step size ``None`` is the one that the claim chooses.
        snapshot_period: I, which stands for the probability 1/I where the claim is read so; or ``None``.
        members: the clients of every arbitrary round.
        rounds: R.
        constants: the values of ``stated_constants``. The federation has the gradient noise that is stated.
        snapshot_probability: q, exactly where there is no period.
    """

    claim: str
    hessians: tuple[Rationals, ...]
    centres: tuple[Rationals, ...]
    start: Rationals
    cohort: int
    local_steps: int
    local_lr: Fraction | Ball | None
    snapshot_period: int | None
    members: tuple[int, ...]
    rounds: int
    constants: Mapping[str, Fraction]
    snapshot_probability: Fraction | None = None

    @property
    def probability(self) -> Fraction:
        """q, or 1/I."""
        return self.snapshot_probability if self.snapshot_period is None else Fraction(1, self.snapshot_period)

    @property
    def period(self) -> int | None:
        """I, or 1/q where that is a whole number."""
        return self.probability.denominator if self.probability.numerator == 1 else None

    @property
    def federation(self) -> Quadratic:
        return Quadratic(self.hessians, self.centres, gradient_noise=self.constants.get("gradient_noise", Fraction(0)))

    def setting(self, snapshots: str | None = None, cohort_draw: str = "without replacement") -> Setting:
        """The setting, with snapshots by ``period`` or by ``probability`` (default: as the instance has them), cohorts
        drawn as said.

        Raises:
            ValueError: numbers out of bounds; a step size that is yet to be chosen; no period.
        """
        snapshots = snapshots or ("probability" if self.snapshot_period is None else "period")
        if self.local_lr is None:
            raise ValueError("local_lr = None: the claim chooses it, so it is known to `judge` only")
        if snapshots == "period" and self.period is None:
            raise ValueError(f"snapshot_probability = {self.probability}: allowed with a period is 1/period")
        rule = {"snapshot_period": self.period} if snapshots == "period" else {"snapshot_probability": self.probability}
        is_ball = isinstance(self.local_lr, Ball)
        algorithm = fast(
            cohort=self.cohort, local_lr=Fraction(1) if is_ball else self.local_lr, local_steps=self.local_steps,
            replacement=cohort_draw == "with replacement", **rule,
        )  # fmt: skip
        if is_ball:  # which no algorithm that runs could have
            algorithm = replace(algorithm, local_lr=self.local_lr)
        return Setting(self.federation, algorithm, Fixed(self.members), start=list(self.start))

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an instance of the claim, with numbers in bounds."""
        check_scope(statement, "run", "round")
        check_constants(statement, self.constants)
        unknown = sorted(set(statement.choices) - {"local_lr"})
        if unknown:
            raise ValueError(f"{statement.ref} chooses {unknown[0]}: allowed is local_lr")
        if (self.local_lr is None) != bool(statement.choices):
            rule = "left to the claim, which chooses it" if statement.choices else "a rational"
            raise ValueError(f"local_lr = {CHOSEN if self.local_lr is None else self.local_lr}: allowed is {rule}")
        if (self.snapshot_period is None) == (self.snapshot_probability is None):
            raise ValueError("snapshot_period and snapshot_probability: give exactly one of them")
        sizes = {name: getattr(self, name) for name in ("cohort", "local_steps", "snapshot_period", "rounds")}
        for name, size in sizes.items():
            if size is not None and not 1 <= size <= LARGEST[name]:
                raise ValueError(f"{name} = {shown(size)}: allowed is an integer from 1 to {LARGEST[name]}")
        if statement.functional.scope == "round" and self.rounds != 1:
            raise ValueError(f"rounds = {self.rounds}: allowed is 1, the claim is about one round")
        step = Fraction(1) if self.local_lr is None else self.local_lr
        check_size("clients", len(self.centres))
        check_size("dimension", len(self.start))
        replace(self, local_lr=step).setting()  # checks shapes, bounds and members
        if is_about_one_round(statement):
            self._check_one_round()

    def _check_one_round(self) -> None:
        numbers = [v for row in (*self.hessians, *self.centres, self.start) for v in row]
        numbers += [self.local_lr] if isinstance(self.local_lr, Fraction) else []
        check_one_round(numbers, len(self.centres) * len(self.start) * self.local_steps)

    def to_json(self) -> dict[str, Any]:
        """The instance as plain data; ``parse`` reads it back."""
        snapshots = {"snapshot_period": self.snapshot_period}
        if self.snapshot_period is None:
            snapshots = {"snapshot_probability": str(self.snapshot_probability)}
        return {
            "claim": self.claim,
            "federation": {
                "kind": "quadratic",
                "hessians": [texts(row) for row in self.hessians],
                "centres": [texts(row) for row in self.centres],
            },
            "algorithm": {
                "kind": "fast",
                "cohort": self.cohort,
                "local_steps": self.local_steps,
                "local_lr": CHOSEN if self.local_lr is None else str(self.local_lr),
                **snapshots,
            },
            "participation": {"kind": "fixed", "members": list(self.members)},
            "start": texts(self.start),
            "rounds": self.rounds,
            "constants": by_vocabulary(self.constants),
        }


@dataclass(frozen=True)
class FunctionInstance:
    """A quadratic function and points, for one claim about functions; ``constants`` as in ``Instance``."""

    claim: str
    points: Points
    constants: Mapping[str, Fraction]

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an instance of the claim, with numbers in bounds."""
        check_scope(statement, "function")
        check_constants(statement, self.constants)
        check_size("dimension", len(self.points.x))

    def to_json(self) -> dict[str, Any]:
        """The instance as plain data; ``parse`` reads it back."""
        points = self.points
        return {
            "claim": self.claim,
            "function": {"kind": "quadratic", "curvatures": texts(points.curvatures), "slope": texts(points.slope)},
            "points": {name: texts(getattr(points, name)) for name in "xyz"},
            "constants": by_vocabulary(self.constants),
        }


@dataclass(frozen=True)
class ValuesInstance:
    """Values of all quantities of a claim about values."""

    claim: str
    values: Mapping[str, Fraction]

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an instance of the claim, with numbers in bounds."""
        check_scope(statement, "values")
        check_names("values", self.values, statement.quantities, statement)

    def to_json(self) -> dict[str, Any]:
        """The instance as plain data; ``parse`` reads it back."""
        return {"claim": self.claim, "values": by_vocabulary(self.values)}


AnyInstance = (
    Instance | SafariInstance | FedauInstance | FunctionInstance | WeightsInstance | SelectionInstance | ValuesInstance
)


def parse(data: Mapping[str, Any], statement: Claim | None = None) -> AnyInstance:
    """An instance from plain data: of the claim that the data name, or of ``statement``, whose ref they must name.

    Raises:
        ValueError: an entry is missing, of the wrong kind or out of bounds; it is named.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"an instance is a {type(data).__name__}: allowed is an object")
    ref = entry(data, "claim", str)
    if len(ref) > 100:
        raise ValueError(f"claim = {shown(ref)}: allowed is a ref such as 'fast.thm1@main'")
    if statement is None:
        statement = claim(ref)
    elif ref != statement.ref:
        raise ValueError(f"claim = {shown(ref)}: allowed is {statement.ref!r}")
    kinds = {"function": _parse_function, "weights": parse_weights, "selection": parse_selection,
             "values": _parse_values}  # fmt: skip
    instance = kinds.get(statement.functional.scope, _parse_run)(data, statement)
    instance.check(statement)
    return instance


def _parse_run(data: Mapping[str, Any], statement: Claim) -> Instance | SafariInstance | FedauInstance:
    if speaks_of_weights(statement):
        return parse_fedau(data, statement)
    if speaks_of_servers(statement):
        return parse_safari(data, statement)
    federation, algorithm, participation = (
        entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    for part, kind in ((federation, "quadratic"), (algorithm, "fast"), (participation, "fixed")):
        check_kind(part, kind)
    step = entry(algorithm, "local_lr", str)
    by_probability = "snapshot_probability" in algorithm
    if by_probability and "snapshot_period" in algorithm:
        raise ValueError("snapshot_period and snapshot_probability: give exactly one of them")
    return Instance(
        claim=statement.ref,
        hessians=matrix(federation, "hessians"),
        centres=matrix(federation, "centres"),
        start=vector(data, "start"),
        cohort=entry(algorithm, "cohort", int),
        local_steps=entry(algorithm, "local_steps", int),
        local_lr=None if step == CHOSEN and statement.choices else rational("local_lr", step),
        snapshot_period=None if by_probability else entry(algorithm, "snapshot_period", int),
        members=indices(participation, "members"),
        rounds=entry(data, "rounds", int),
        constants=rationals(data, "constants"),
        snapshot_probability=rational_entry(algorithm, "snapshot_probability") if by_probability else None,
    )


def _parse_function(data: Mapping[str, Any], statement: Claim) -> FunctionInstance:
    function, points = entry(data, "function", dict), entry(data, "points", dict)
    check_kind(function, "quadratic")
    vectors = {name: vector(function, name) for name in ("curvatures", "slope")}
    vectors |= {name: vector(points, name) for name in "xyz"}
    return FunctionInstance(statement.ref, Points(**vectors), rationals(data, "constants"))


def _parse_values(data: Mapping[str, Any], statement: Claim) -> ValuesInstance:
    return ValuesInstance(statement.ref, rationals(data, "values"))


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        ValueError: the file is no JSON object; the place is named.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file ({error})") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: holds a {type(data).__name__}, allowed is an object")
    return data


def from_setting(statement: Claim | str, setting: Setting, rounds: int, **given: Fraction) -> Instance | SafariInstance:
    """The instance of a setting whose numbers an instance can hold; ``given`` are values of ``FREE``.

    Raises:
        ValueError: the federation is not quadratic with diagonal Hessians, or the runs are not FAST with a fixed
            arbitrary set and without replacement (SAFARI with fixed participants, where the claim speaks of server
            rounds); it is said which.
    """
    statement = claim(statement) if isinstance(statement, str) else statement
    if speaks_of_servers(statement):
        return from_safari(statement, setting, rounds, given)
    fed, algorithm, participation = setting.federation, setting.algorithm, setting.participation
    if not isinstance(fed, Quadratic):
        raise ValueError(f"federation is {type(fed).__name__}: allowed is Quadratic")
    diagonals = tuple(tuple(row.diagonal()) for row in fed.exact_hessians)
    if any(np.count_nonzero(h - np.diag(h.diagonal())) for h in fed.hessians):
        raise ValueError("federation has Hessians that are not diagonal")
    if not isinstance(participation, Fixed):
        raise ValueError(f"participation is {type(participation).__name__}: allowed is Fixed")
    if algorithm.replacement or algorithm.adaptive:
        raise ValueError("algorithm has replacement or adaptive snapshots: allowed is neither")
    return Instance(
        claim=statement.ref,
        hessians=diagonals,
        centres=tuple(tuple(row) for row in fed.exact_centres),
        start=tuple(setting.exact_start),
        cohort=algorithm.cohort,
        local_steps=algorithm.local_steps,
        local_lr=None if statement.choices else algorithm.local_lr,
        snapshot_period=algorithm.snapshot_period,
        members=participation.members,
        rounds=rounds,
        constants=constants_of(fed, stated_constants(statement), given),
        snapshot_probability=None if algorithm.periodic else algorithm.snapshot_probability,
    )
