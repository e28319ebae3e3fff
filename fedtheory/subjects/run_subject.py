"""Runs of an algorithm with uniform and arbitrary rounds, as a subject: read from files, made of settings, searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms import Algorithm, Fast
from ..claims.statement import Claim
from ..federations import Piecewise, Quadratic
from ..federations.noise_laws import VIOLATED_BY_NOISE, rise_of
from ..setting import Setting
from . import kinked_points
from .algorithm_parts import OfPart, Part, steps_of
from .enclosures import with_new_steps
from .file_entries import (
    Participants,
    check_kind,
    entry,
    matrix,
    rationals,
    read_participants,
    shown,
    stated_constants,
    vector,
)
from .protocol import Space
from .run_points import RunPoint, diagonals, run_point
from .short_numbers import constants_of


@dataclass(frozen=True)
class RunSubject(OfPart):
    """Subject of the runs of one algorithm, with fixed participants on quadratic clients.

    Attributes:
        part: what is the algorithm's own.
        space: the space in which a claim is searched.
    """

    name: str
    part: Part
    space: Callable[[Claim], Space]

    def parse(self, data: Mapping[str, Any], claim: Claim) -> RunPoint:
        """Read a point from plain data, not yet checked."""
        return parse(data, claim, self.part)

    def from_setting(self, claim: Claim, setting: Setting, rounds: int, **given: Fraction) -> RunPoint:
        """Make the exact point of a setting; see ``from_setting``."""
        return from_setting(claim, setting, rounds, self.part, **given)


def parse(data: Mapping[str, Any], claim: Claim, part: Part) -> RunPoint:
    """Read a run of the part's algorithm from plain data, not yet checked."""
    federation, algorithm, participation = (
        entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    check_kind(algorithm, part.kind)
    if federation.get("kind") == "piecewise":
        check_kind(participation, "fixed")
        return kinked_points.parse(data, claim, part)
    check_kind(federation, "quadratic")
    law = entry(federation, "noise", str) if "noise" in federation else "two-point"
    if law not in VIOLATED_BY_NOISE and rise_of(law) is None:
        raise ValueError(
            f"noise = {shown(law)}: allowed is 'two-point', 'two-point 2' to 'two-point 999', "
            f"{' or '.join(map(repr, VIOLATED_BY_NOISE))}"
        )
    made, order = part.read(algorithm, claim)
    hessians, centres, start = matrix(federation, "hessians"), matrix(federation, "centres"), vector(data, "start")
    return run_point(
        hessians,
        centres,
        start,
        made,
        read_participants(participation),
        entry(data, "rounds", int),
        rationals(data, "constants"),
        order,
        part,
        law,
    )


def from_setting(claim: Claim, setting: Setting, rounds: int, part: Part, **given: Fraction) -> RunPoint:
    """Make the point of a setting whose numbers a file can hold; ``given`` are values of ``file_entries.FREE``.

    Raises:
        ValueError: the federation is not quadratic with diagonal Hessians, or the runs are not those of the part's
            algorithm with fixed sets and without replacement; it is said which.
    """
    fed, participation = setting.federation, setting.participation
    algorithm: Algorithm = setting.algorithm
    if not isinstance(algorithm, part.algorithm):
        raise ValueError(f"algorithm is {type(algorithm).__name__}: allowed is {part.algorithm.__name__}")
    if isinstance(fed, Piecewise):
        return kinked_points.from_setting(claim, setting, rounds, part, **given)
    if not isinstance(fed, Quadratic):
        raise ValueError(f"federation is {type(fed).__name__}: allowed are Quadratic and Piecewise")
    if any(np.count_nonzero(h - np.diag(h.diagonal())) for h in fed.hessians):
        raise ValueError("federation has Hessians that are not diagonal")
    if not isinstance(participation, Participants):
        raise ValueError(f"participation is {type(participation).__name__}: allowed is Fixed, Phases or LargestNoise")
    if isinstance(algorithm, Fast) and (algorithm.replacement or algorithm.adaptive):
        raise ValueError("algorithm has replacement or adaptive snapshots: allowed is neither")
    constants = constants_of(fed, stated_constants(claim), given)
    open_steps = {name: None for name in steps_of(algorithm) if name in claim.choices}
    return run_point(
        diagonals(fed),
        fed.exact_centres,
        setting.exact_start,
        with_new_steps(algorithm, open_steps),
        participation,
        rounds,
        constants,
        part=part,
        law=fed.noise if fed.noise in VIOLATED_BY_NOISE or rise_of(fed.noise) else "two-point",
    )
