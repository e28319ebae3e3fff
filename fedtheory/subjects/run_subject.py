"""Runs of an algorithm with uniform and arbitrary rounds, as a subject: read from files, made of settings, searched.

What is the algorithm's own, its parameters in files and its runs under a reading, is a ``Part``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ..algorithms import Algorithm, Fast, Safari, fast, safari
from ..algorithms.fast import fast_of
from ..claims.balls import Number, Undecided
from ..claims.statement import Claim
from ..federations import Piecewise, Quadratic
from ..federations.noise_laws import VIOLATED_BY_NOISE, rise_of
from ..participation import Fixed, Participation
from ..setting import Setting
from . import kinked_points
from .enclosures import FIRST, SECOND, Way, steps_of, with_new_steps, with_steps
from .file_entries import (
    CHOSEN,
    Participants,
    check_counts,
    check_kind,
    chosen_or_rational,
    entry,
    is_about_one_round,
    matrix,
    rational_entry,
    rationals,
    read_participants,
    shown,
    stated_constants,
    vector,
)
from .protocol import Reading, Space
from .run_points import RunPoint, diagonals, run_point
from .short_numbers import constants_of


class Part(Protocol):
    """Reader of an algorithm's parameters in files, which also knows how the algorithm runs under a reading.

    A paper about another algorithm that runs as a special case of one of these brings a part of its own.

    Attributes:
        kind: the algorithm's name in files.
        algorithm: the class of algorithms as which it runs.
    """

    kind: str
    algorithm: Any

    def read(self, data: Mapping[str, Any], claim: Claim) -> tuple[Algorithm, tuple[str, ...]]:
        """Read the algorithm, and the order of its kinds of round where a file gives one."""

    def write(self, algorithm: Any, order: tuple[str, ...]) -> dict[str, Any]:
        """Write the entries from which ``read`` makes the algorithm again."""

    def quantities(self, algorithm: Any) -> dict[str, Number]:
        """Return the algorithm's quantities besides the local steps and the step sizes."""

    def check(self, point: RunPoint) -> None:
        """Raise ``ValueError`` unless the point's runs are the algorithm's."""

    def way(self, point: RunPoint, claim: Claim, reading: Reading, algorithm: Any) -> Way:
        """Return the runs of a reading, with the step sizes of ``algorithm``."""

    def small(self, clients: int, count: int, local_steps: int, local_lr: Fraction) -> Iterator[Algorithm]:
        """Make simple algorithms of the kind, for clients x^2/2 of which ``count`` take part."""


class FastPart(Part):
    """Parameters and runs of ``fast``."""

    kind, algorithm = "fast", Fast

    def read(self, data: Mapping[str, Any], claim: Claim) -> tuple[Algorithm, tuple[str, ...]]:
        step = chosen_or_rational(data, "local_lr", claim)
        numbers: dict[str, Any] = {name: entry(data, name, int) for name in ("cohort", "local_steps")}
        by_probability = "snapshot_probability" in data
        if by_probability and "snapshot_period" in data:
            raise ValueError("snapshot_period and snapshot_probability: give exactly one of them")
        if not by_probability:
            numbers["snapshot_period"] = entry(data, "snapshot_period", int)
        check_counts(**numbers)
        if by_probability:
            numbers["snapshot_probability"] = rational_entry(data, "snapshot_probability")
        return with_steps(fast, local_lr=step, **numbers), ()

    def write(self, algorithm: Fast, order: tuple[str, ...]) -> dict[str, Any]:
        snapshots: dict[str, Any] = {"snapshot_period": algorithm.snapshot_period}
        if not algorithm.periodic:
            snapshots = {"snapshot_probability": str(algorithm.snapshot_probability)}
        counts = {"cohort": algorithm.cohort, "local_steps": algorithm.local_steps}
        return counts | _written_steps(algorithm) | snapshots

    def quantities(self, algorithm: Fast) -> dict[str, Number]:
        q = algorithm.snapshot_probability
        values: dict[str, Number] = {"cohort": Fraction(algorithm.cohort), "snapshot_probability": q}
        return values | ({"snapshot_period": Fraction(q.denominator)} if q.numerator == 1 else {})

    def check(self, point: RunPoint) -> None:
        algorithm = fast_of(point.setting)
        if point.order or algorithm.replacement or algorithm.adaptive or not algorithm.plain:
            raise ValueError(
                "algorithm has replacement, adaptive snapshots or more than plain fast: allowed is none of these"
            )
        check_counts(cohort=algorithm.cohort, snapshot_period=algorithm.snapshot_period)

    def way(self, point: RunPoint, claim: Claim, reading: Reading, algorithm: Fast) -> Way:
        """Return the runs of a reading, with the step sizes of ``algorithm``.

        A claim about one round speaks of the probability of its kind. Where a claim does not say which, snapshots come
        as the point has them.
        """
        own, q = "period" if algorithm.periodic else "probability", algorithm.snapshot_probability
        by = "probability" if is_about_one_round(claim) else reading.get("snapshots", own)
        if by == "period" and q.numerator != 1:
            raise Undecided(f"snapshots with probability {q} have no period")
        drawn, twice = by == "probability", reading.get("uniform cohort") == "with replacement"
        read = replace(
            algorithm,
            replacement=twice,
            snapshot_period=None if drawn else q.denominator,
            fixed_probability=q if drawn else None,
        )
        return Way(replace(point.setting, algorithm=read), point.rounds)

    def small(self, clients: int, count: int, local_steps: int, local_lr: Fraction) -> Iterator[Algorithm]:
        for q in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)):
            yield fast(cohort=count, local_steps=local_steps, local_lr=local_lr, snapshot_probability=q)


CLIENT, SERVER = "client", "server"
"""The kinds of rounds of ``safari``."""

LARGEST_ORDER = 1000

BY_PROBABILITY = "probability"
"""The reading of a round's kind under which it is the clients' with probability q."""


class SafariPart(Part):
    """Parameters and runs of ``safari``.

    ``order`` has the kinds of the first rounds, which repeat. It serves readings under which exactly a share q of the
    rounds is the clients', in whatever order. Other readings draw each round's kind.
    """

    kind, algorithm = "safari", Safari

    def read(self, data: Mapping[str, Any], claim: Claim) -> tuple[Algorithm, tuple[str, ...]]:
        order = entry(data, "order", list) if "order" in data else []
        steps = {name: chosen_or_rational(data, name, claim) for name in ("local_lr", "server_lr")}
        q, local_steps = rational_entry(data, "client_round_probability"), entry(data, "local_steps", int)
        check_counts(local_steps=local_steps)
        return with_steps(safari, client_round_probability=q, local_steps=local_steps, **steps), tuple(order)

    def write(self, algorithm: Safari, order: tuple[str, ...]) -> dict[str, Any]:
        q = {"client_round_probability": str(algorithm.share), "local_steps": algorithm.local_steps}
        return q | _written_steps(algorithm) | ({"order": list(order)} if order else {})

    def quantities(self, algorithm: Safari) -> dict[str, Number]:
        return {"client_round_probability": algorithm.share}

    def check(self, point: RunPoint) -> None:
        order, q = point.order, point.setting.algorithm.share
        wrong = [kind for kind in order if kind not in (CLIENT, SERVER)]
        if wrong or len(order) > LARGEST_ORDER:
            raise ValueError(
                f"order = {shown(wrong or order)}: allowed are at most {LARGEST_ORDER} entries {CLIENT!r} or {SERVER!r}"
            )
        if order and (order.count(CLIENT) != q * len(order) or point.rounds % len(order)):
            raise ValueError(
                f"order: a share {Fraction(order.count(CLIENT), len(order))} of its {len(order)} rounds is the "
                f"clients'; allowed is {q}, and rounds that are a multiple of its length"
            )

    def way(self, point: RunPoint, claim: Claim, reading: Reading, algorithm: Safari) -> Way:
        setting = replace(point.setting, algorithm=algorithm)
        if reading.get("kinds of rounds", BY_PROBABILITY) == BY_PROBABILITY or is_about_one_round(claim):
            return Way(setting, point.rounds)
        if not point.order:
            raise Undecided("the instance states no order of its client and server rounds")
        return Way(setting, point.rounds, tuple({CLIENT: FIRST, SERVER: SECOND}[kind] for kind in point.order))

    def small(self, clients: int, count: int, local_steps: int, local_lr: Fraction) -> Iterator[Algorithm]:
        """Make algorithms with the server's step size that Theorems 4 and 5 tie to the clients'."""
        tied: dict[str, Any] = {"local_lr": local_lr, "server_lr": local_lr * local_steps / 2}
        for q in (Fraction(1), Fraction(1, 2), max(Fraction(9, 10), 1 - Fraction(1, count * local_steps))):
            yield safari(client_round_probability=q, local_steps=local_steps, **tied)


def _written_steps(algorithm: Algorithm) -> dict[str, str]:
    return {name: CHOSEN if step is None else str(step) for name, step in steps_of(algorithm).items()}


def runs_as(part: Part) -> tuple[Algorithm, Participation]:
    """Return an algorithm as the engine runs it, with both kinds of round where there are two, and its participants.

    >>> runs_as(PARTS["safari"])[0].share
    Fraction(1, 2)
    """
    made = list(part.small(2, 2, 2, Fraction(1, 4)))
    return next((one for one in made if 0 < one.share < 1), made[0]), Fixed(range(2))


class OfPart:
    """Subject whose runs are a part's."""

    part: Part

    def runs_as(self, claim: Claim) -> tuple[Algorithm, Participation]:
        """Return such an algorithm as the claim is about, as the engine runs it, and its participants."""
        return runs_as(self.part)


PARTS: dict[str, Part] = {"fast": FastPart(), "safari": SafariPart()}
"""Parts by the algorithm's name."""


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
        law,
        part=part,
    )


def from_setting(claim: Claim, setting: Setting, rounds: int, part: Part, **given: Fraction) -> RunPoint:
    """Make the point of a setting whose numbers a file can hold; ``given`` are values of ``file_entries.FREE``.

    Raises:
        ValueError: the federation is neither quadratic with diagonal Hessians nor piecewise, or the runs are not
            those of the part's algorithm with fixed sets and without replacement; it is said which.
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
