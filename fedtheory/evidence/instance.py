"""Instances: small, exact examples of an algorithm on a federation, in files that anyone can replay.

All numbers are integers or strings of rationals ("1/100"); they are parsed, never evaluated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import fast
from ..claims import claim
from ..federations import Quadratic
from ..participation import Fixed
from ..quantities import check_values
from ..setting import Setting

SCHEMA = 1


def stated_constants(ref: str) -> tuple[str, ...]:
    """The constants that an instance of the claim states and that its federation must respect: the claim's
    assumptions speak of them."""
    return tuple(assumption.quantity for assumption in claim(ref).assumptions)


@dataclass(frozen=True)
class Instance:
    """A setting with rational numbers, for one claim.

    Attributes:
        claim: its ref.
        hessians: (M, D), diagonals. centres: (M, D). start: (D,). All Fractions.
        cohort, local_steps, local_lr, snapshot_period: FAST's parameters; the probability is 1 / snapshot_period.
        members: the clients of every arbitrary round.
        rounds: R.
        constants: the values of ``stated_constants`` that enter the claim.
    """

    claim: str
    hessians: tuple[tuple[Fraction, ...], ...]
    centres: tuple[tuple[Fraction, ...], ...]
    start: tuple[Fraction, ...]
    cohort: int
    local_steps: int
    local_lr: Fraction
    snapshot_period: int
    members: tuple[int, ...]
    rounds: int
    constants: Mapping[str, Fraction]

    def setting(self, snapshots: str = "period", cohort_draw: str = "without replacement") -> Setting:
        """The setting, with snapshots by ``period`` or by ``probability``, cohorts drawn as said."""
        snapshot = {"snapshot_period": self.snapshot_period}
        if snapshots == "probability":
            snapshot = {"snapshot_probability": Fraction(1, self.snapshot_period)}
        algorithm = fast(
            cohort=self.cohort, local_lr=self.local_lr, local_steps=self.local_steps,
            replacement=cohort_draw == "with replacement", **snapshot,
        )  # fmt: skip
        federation = Quadratic(self.hessians, self.centres, gradient_noise=self.constants["gradient_noise"])
        return Setting(federation, algorithm, Fixed(self.members), start=list(self.start))

    def to_json(self) -> dict[str, Any]:
        """The instance as plain data; ``parse`` reads it back."""
        return {
            "claim": self.claim,
            "federation": {
                "kind": "quadratic",
                "hessians": [[str(v) for v in row] for row in self.hessians],
                "centres": [[str(v) for v in row] for row in self.centres],
            },
            "algorithm": {
                "kind": "fast",
                "cohort": self.cohort,
                "local_steps": self.local_steps,
                "local_lr": str(self.local_lr),
                "snapshot_period": self.snapshot_period,
            },
            "participation": {"kind": "fixed", "members": list(self.members)},
            "start": [str(v) for v in self.start],
            "rounds": self.rounds,
            "constants": {name: str(self.constants[name]) for name in stated_constants(self.claim)},
        }


def parse(data: Mapping[str, Any]) -> Instance:
    """An instance from plain data.

    Raises:
        ValueError: an entry is missing, of the wrong kind or out of bounds; it is named.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"an instance is a {type(data).__name__}: allowed is an object")
    federation, algorithm, participation = (
        _entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    for entry, kind in ((federation, "quadratic"), (algorithm, "fast"), (participation, "fixed")):
        if entry.get("kind") != kind:
            raise ValueError(f"kind = {entry.get('kind')!r}: allowed is {kind!r}")
    ref = claim(_entry(data, "claim", str)).ref
    constants = _entry(data, "constants", dict)
    unknown = sorted(set(constants) - set(stated_constants(ref)))
    if unknown:
        raise ValueError(f"constants: {unknown[0]} is none of {ref}, allowed are {', '.join(stated_constants(ref))}")
    instance = Instance(
        claim=ref,
        hessians=_matrix(federation, "hessians"),
        centres=_matrix(federation, "centres"),
        start=tuple(rational("start", v) for v in _entry(data, "start", list)),
        cohort=_entry(algorithm, "cohort", int),
        local_steps=_entry(algorithm, "local_steps", int),
        local_lr=rational("local_lr", _entry(algorithm, "local_lr", str)),
        snapshot_period=_entry(algorithm, "snapshot_period", int),
        members=tuple(_entry(participation, "members", list)),
        rounds=_entry(data, "rounds", int),
        constants={name: rational(name, _entry(constants, name, str)) for name in stated_constants(ref)},
    )
    check_values(instance.constants)
    if instance.rounds < 1:
        raise ValueError(f"rounds = {instance.rounds}: allowed is an integer >= 1")
    instance.setting()  # checks shapes, bounds and members
    return instance


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


def rational(name: str, value: object) -> Fraction:
    """A Fraction from "3", "-1/2" or "0.25".

    >>> rational("start", "1/3")
    Fraction(1, 3)
    >>> rational("start", "1e999999999")
    Traceback (most recent call last):
    ValueError: start = '1e999999999': allowed is a rational such as "3", "-1/2" or "0.25"
    """
    if not isinstance(value, str) or not re.fullmatch(r"-?[0-9]{1,60}(\.[0-9]{1,60}|/0*[1-9][0-9]{0,59})?", value):
        raise ValueError(f'{name} = {value!r}: allowed is a rational such as "3", "-1/2" or "0.25"')
    return Fraction(value)


def _entry(data: Mapping[str, Any], key: str, kind: type) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{key} = {value!r}: allowed is {'an' if kind is int else 'a'} {kind.__name__}")
    return value


def _matrix(data: Mapping[str, Any], key: str) -> tuple[tuple[Fraction, ...], ...]:
    rows = _entry(data, key, list)
    if not all(isinstance(row, list) for row in rows):
        raise ValueError(f"{key}: allowed is a list of lists")
    return tuple(tuple(rational(key, v) for v in row) for row in rows)


def from_setting(ref: str, setting: Setting, rounds: int) -> Instance:
    """The instance of a setting whose numbers an instance can hold.

    Raises:
        ValueError: the federation is not quadratic with diagonal Hessians, or the runs are not FAST with periodic
            snapshots and a fixed arbitrary set; it is said which.
    """
    fed, algorithm, participation = setting.federation, setting.algorithm, setting.participation
    if not isinstance(fed, Quadratic):
        raise ValueError(f"federation is {type(fed).__name__}: allowed is Quadratic")
    diagonals = tuple(tuple(row.diagonal()) for row in fed.exact_hessians)
    if any(np.count_nonzero(h - np.diag(h.diagonal())) for h in fed.hessians):
        raise ValueError("federation has Hessians that are not diagonal")
    if not isinstance(participation, Fixed):
        raise ValueError(f"participation is {type(participation).__name__}: allowed is Fixed")
    if not algorithm.periodic or algorithm.replacement:
        raise ValueError("algorithm has random snapshots or replacement: allowed are periodic ones without")
    eigenvalues = [v for row in diagonals for v in row]
    constants = {
        "smoothness": max(eigenvalues),
        "strong_convexity": min(eigenvalues),
        "gradient_noise": fed.exact_gradient_noise,
        "dissimilarity": _root_above(fed.exact_squared_dissimilarity),
    }
    return Instance(
        claim=claim(ref).ref,
        hessians=diagonals,
        centres=tuple(tuple(row) for row in fed.exact_centres),
        start=tuple(setting.exact_start),
        cohort=algorithm.cohort,
        local_steps=algorithm.local_steps,
        local_lr=algorithm.local_lr,
        snapshot_period=algorithm.snapshot_period,
        members=participation.members,
        rounds=rounds,
        constants={name: constants[name] for name in stated_constants(ref)},
    )


def _root_above(square: Fraction) -> Fraction:
    """The square root where it is rational, else a rational just above it.

    >>> _root_above(Fraction(9, 4)), float(_root_above(Fraction(2)))
    (Fraction(3, 2), 1.414213562374)
    """
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if root**2 == square:
        return root
    scale = 10**12
    return Fraction(math.isqrt(square.numerator * scale**2 // square.denominator) + 1, scale)
