"""Instances of claims about SAFARI's runs: small, exact settings in files that anyone can replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...algorithms import Safari, safari
from ...claims.balls import Ball
from ...claims.statement import Claim
from ...federations import Quadratic
from ...participation import Fixed
from ...setting import Setting
from ..entries import (
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
from ..stated import (
    LARGEST,
    by_vocabulary,
    check_constants,
    check_one_round,
    check_scope,
    check_size,
    constants_of,
    is_about_one_round,
    stated_constants,
    texts,
)

STEPS = ("local_lr", "server_lr")

CLIENT, SERVER = "client", "server"
"""The kinds of round."""

LARGEST_ORDER = 1000


def speaks_of_servers(statement: Claim) -> bool:
    """Whether a claim is about an algorithm in which some rounds are the server's.

    >>> from fedtheory.papers.safari.statements import thm4
    >>> speaks_of_servers(thm4.MAIN)
    True
    """
    names = {*statement.quantities, *statement.choices}
    return bool({"server_lr", "client_round_probability"} & names) and statement.functional.scope in ("run", "round")


@dataclass(frozen=True)
class SafariInstance:
    """A setting with rational numbers, for one claim about runs or about one round.

    Attributes:
        claim: its ref.
        hessians: (M, D), diagonals. centres: (M, D). start: (D,). All Fractions.
        client_round_probability: q.
        local_steps: K. local_lr, server_lr: the step sizes; ``None``: the one that the claim chooses.
        members: the clients of every client round.
        rounds: R.
        constants: the values of ``stated_constants``. The federation has the noises that are stated.
        order: the kinds of the first rounds, repeated: for readings under which exactly a share q of the rounds is the
            clients', in whatever order; empty where none is stated. Other readings draw each round's kind.
    """

    claim: str
    hessians: tuple[Rationals, ...]
    centres: tuple[Rationals, ...]
    start: Rationals
    client_round_probability: Fraction
    local_steps: int
    local_lr: Fraction | Ball | None
    server_lr: Fraction | Ball | None
    members: tuple[int, ...]
    rounds: int
    constants: Mapping[str, Fraction]
    order: tuple[str, ...] = ()

    @property
    def federation(self) -> Quadratic:
        noises = {name: self.constants.get(name, Fraction(0)) for name in ("gradient_noise", "server_noise")}
        return Quadratic(self.hessians, self.centres, **noises)

    def setting(self) -> Setting:
        """The setting, the kind of each round drawn.

        Raises:
            ValueError: numbers out of bounds, or a step size that is yet to be chosen.
        """
        steps = {name: getattr(self, name) for name in STEPS}
        missing = [name for name, step in steps.items() if step is None]
        if missing:
            raise ValueError(f"{missing[0]} = None: the claim chooses it, so it is known to `judge` only")
        balls = {name: step for name, step in steps.items() if isinstance(step, Ball)}
        algorithm = safari(
            client_round_probability=self.client_round_probability, local_steps=self.local_steps,
            **steps | dict.fromkeys(balls, Fraction(1)),
        )  # fmt: skip
        algorithm = replace(algorithm, **balls)  # which no algorithm that runs could have
        return Setting(self.federation, algorithm, Fixed(self.members), start=list(self.start))

    def check(self, statement: Claim) -> None:
        """Raise ``ValueError`` unless this is an instance of the claim, with numbers in bounds."""
        check_scope(statement, "run", "round")
        if not speaks_of_servers(statement):
            raise ValueError(f"{statement.ref} speaks of no server rounds: allowed is another algorithm")
        check_constants(statement, self.constants)
        for name in STEPS:
            step, chosen = getattr(self, name), name in statement.choices
            if (step is None) != chosen:
                rule = "left to the claim, which chooses it" if chosen else "a rational"
                raise ValueError(f"{name} = {CHOSEN if step is None else step}: allowed is {rule}")
        for name in ("local_steps", "rounds"):
            if not 1 <= getattr(self, name) <= LARGEST[name]:
                raise ValueError(f"{name} = {shown(getattr(self, name))}: allowed is an integer from 1 to "
                                 f"{LARGEST[name]}")  # fmt: skip
        if statement.functional.scope == "round" and self.rounds != 1:
            raise ValueError(f"rounds = {self.rounds}: allowed is 1, the claim is about one round")
        self._check_order()
        check_size("clients", len(self.centres))
        check_size("dimension", len(self.start))
        self.with_steps({name: Fraction(1) for name in STEPS}).setting()  # checks shapes, bounds and members
        if is_about_one_round(statement):
            numbers = [v for row in (*self.hessians, *self.centres, self.start) for v in row]
            numbers += [step for step in (self.local_lr, self.server_lr) if isinstance(step, Fraction)]
            check_one_round(numbers, len(self.centres) * len(self.start) * self.local_steps)

    def _check_order(self) -> None:
        if not self.order:
            return
        wrong = [kind for kind in self.order if kind not in (CLIENT, SERVER)]
        if wrong or len(self.order) > LARGEST_ORDER:
            raise ValueError(f"order = {shown(wrong or self.order)}: allowed are at most {LARGEST_ORDER} entries "
                             f"{CLIENT!r} or {SERVER!r}")  # fmt: skip
        share = Fraction(self.order.count(CLIENT), len(self.order))
        if share != self.client_round_probability or self.rounds % len(self.order):
            raise ValueError(
                f"order: a share {share} of its {len(self.order)} rounds is the clients'; allowed is "
                f"{self.client_round_probability}, and rounds that are a multiple of its length"
            )

    def with_steps(self, steps: Mapping[str, Any]) -> SafariInstance:
        """The instance with those step sizes that are yet to be chosen."""
        return replace(self, **{name: steps[name] for name in STEPS if getattr(self, name) is None})

    def to_json(self) -> dict[str, Any]:
        """The instance as plain data; ``parse`` reads it back."""
        steps = {name: getattr(self, name) for name in STEPS}
        return {
            "claim": self.claim,
            "federation": {
                "kind": "quadratic",
                "hessians": [texts(row) for row in self.hessians],
                "centres": [texts(row) for row in self.centres],
            },
            "algorithm": {
                "kind": "safari",
                "client_round_probability": str(self.client_round_probability),
                "local_steps": self.local_steps,
                **{name: CHOSEN if step is None else str(step) for name, step in steps.items()},
                **({"order": list(self.order)} if self.order else {}),
            },
            "participation": {"kind": "fixed", "members": list(self.members)},
            "start": texts(self.start),
            "rounds": self.rounds,
            "constants": by_vocabulary(self.constants),
        }


def parse_safari(data: Mapping[str, Any], statement: Claim) -> SafariInstance:
    """An instance from plain data, not yet checked.

    Raises:
        ValueError: an entry is missing or of the wrong kind; it is named.
    """
    federation, algorithm, participation = (
        entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    for part, kind in ((federation, "quadratic"), (algorithm, "safari"), (participation, "fixed")):
        check_kind(part, kind)
    order = entry(algorithm, "order", list) if "order" in algorithm else []
    steps = {name: entry(algorithm, name, str) for name in STEPS}
    return SafariInstance(
        claim=statement.ref,
        hessians=matrix(federation, "hessians"),
        centres=matrix(federation, "centres"),
        start=vector(data, "start"),
        client_round_probability=rational_entry(algorithm, "client_round_probability"),
        local_steps=entry(algorithm, "local_steps", int),
        members=indices(participation, "members"),
        rounds=entry(data, "rounds", int),
        constants=rationals(data, "constants"),
        order=tuple(order),
        **{name: None if step == CHOSEN and name in statement.choices else rational(name, step)
           for name, step in steps.items()},
    )  # fmt: skip


def from_safari(statement: Claim, setting: Setting, rounds: int, given: Mapping[str, Fraction]) -> SafariInstance:
    """The instance of a setting whose numbers an instance can hold.

    Raises:
        ValueError: the federation is not quadratic with diagonal Hessians, or the runs are not SAFARI's with fixed
            participants; it is said which.
    """
    fed, algorithm, participation = setting.federation, setting.algorithm, setting.participation
    if not isinstance(algorithm, Safari):
        raise ValueError(f"algorithm is {type(algorithm).__name__}: allowed is Safari")
    if not isinstance(fed, Quadratic):
        raise ValueError(f"federation is {type(fed).__name__}: allowed is Quadratic")
    if any(np.count_nonzero(h - np.diag(h.diagonal())) for h in fed.hessians):
        raise ValueError("federation has Hessians that are not diagonal")
    if not isinstance(participation, Fixed):
        raise ValueError(f"participation is {type(participation).__name__}: allowed is Fixed")
    return SafariInstance(
        claim=statement.ref,
        hessians=tuple(tuple(row.diagonal()) for row in fed.exact_hessians),
        centres=tuple(tuple(row) for row in fed.exact_centres),
        start=tuple(setting.exact_start),
        client_round_probability=algorithm.client_round_probability,
        local_steps=algorithm.local_steps,
        members=participation.members,
        rounds=rounds,
        constants=constants_of(fed, stated_constants(statement), given),
        **{name: None if name in statement.choices else getattr(algorithm, name) for name in STEPS},
    )
