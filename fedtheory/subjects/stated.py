"""What every instance of runs states and is checked for: sizes, and the constants of a claim's assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from sympy import Le

from ..claims.statement import Claim
from ..federations import Quadratic
from ..papers import claim
from ..quantities import QUANTITIES, check_values, symbol
from .entries import Rationals

FREE = ("young_parameter", "step_constant")
"""Quantities that neither a federation nor an algorithm has: where a claim speaks of one, the instance states it."""

LARGEST = {
    "clients": 100, "dimension": 4, "cohort": 10**15, "local_steps": 100, "snapshot_period": 10**15, "rounds": 10**15,
}  # fmt: skip
"""What an instance may have: exact arithmetic takes too long beyond."""

LARGEST_ROUND = 300_000
"""What one round, which is exact throughout, may have of clients * dimension * local_steps * bits: so many bits its
longest numbers can reach, where the longest number of the instance has ``bits``."""


def stated_constants(statement: Claim | str) -> tuple[str, ...]:
    """The quantities that an instance of the claim states: those that its assumptions speak of, which its federation
    must respect, and those in ``FREE`` that it uses.

    >>> stated_constants("fast.eq38")
    ('smoothness', 'gradient_noise', 'dissimilarity', 'strong_convexity', 'young_parameter')
    """
    statement = claim(statement) if isinstance(statement, str) else statement
    free = (name for name in FREE if name in statement.quantities)
    return (*(assumption.quantity for assumption in statement.assumptions), *free)


def is_about_one_round(statement: Claim) -> bool:
    """Whether the claim speaks of one round from x_0, by its functional or by the hypothesis rounds <= 1."""
    one_round = Le(symbol("rounds"), 1)
    return statement.functional.scope == "round" or any(h.relation == one_round for h in statement.hypotheses)


def check_scope(statement: Claim, *scopes: str) -> None:
    """Raise ``ValueError`` unless the claim bounds a functional of one of these scopes."""
    if statement.functional.scope not in scopes:
        raise ValueError(f"{statement.ref} is about a {statement.functional.scope}: "
                         f"allowed with such an instance is one about a {' or '.join(scopes)}")  # fmt: skip


def check_constants(statement: Claim, constants: Mapping[str, Fraction]) -> None:
    """Raise ``ValueError`` unless these are values of the claim's ``stated_constants``, all of them, in bounds."""
    check_names("constants", constants, stated_constants(statement), statement)


def check_names(what: str, values: Mapping[str, Fraction], names: tuple[str, ...], statement: Claim) -> None:
    """Raise ``ValueError`` unless there is a value in bounds for every name, and for no other one."""
    for name in sorted(set(values) - set(names)):
        raise ValueError(f"{what}: {name} is none of {statement.ref}, allowed are {', '.join(names)}")
    for name in (name for name in names if name not in values):
        raise ValueError(f"{name} = None: allowed is {QUANTITIES[name].allowed}")
    check_values(values)


def check_one_round(numbers: Iterable[Fraction], size: int) -> None:
    """Raise ``ValueError`` where one round of so many clients * dimension * local_steps takes too long."""
    work = size * max(v.numerator.bit_length() + v.denominator.bit_length() for v in numbers)
    if work > LARGEST_ROUND:
        raise ValueError(f"clients * dimension * local_steps * bits = {work}: allowed in one round is at most "
                         f"{LARGEST_ROUND}")  # fmt: skip


def check_size(name: str, size: int) -> None:
    """Raise ``ValueError`` where there are more of something than an instance may have."""
    if size > LARGEST[name]:
        raise ValueError(f"{name} = {size}: allowed in an instance is at most {LARGEST[name]}")


def by_vocabulary(values: Mapping[str, Fraction]) -> dict[str, str]:
    """Values as plain data, in the vocabulary's order."""
    return {name: str(values[name]) for name in QUANTITIES if name in values}


def texts(values: Rationals) -> list[str]:
    """Numbers as plain data."""
    return [str(value) for value in values]


def constants_of(fed: Quadratic, names: tuple[str, ...], given: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The federation's constants of these names; ``given`` ones take precedence.

    Raises:
        ValueError: one is neither given nor the federation's.
    """
    known = {
        "smoothness": lambda: fed.exact_hessians.max(),
        "strong_convexity": lambda: min(min(h.diagonal()) for h in fed.exact_hessians),
        "gradient_noise": lambda: fed.exact_gradient_noise,
        "server_noise": lambda: fed.exact_server_noise,
        "dissimilarity": lambda: _root_above(fed.exact_squared_dissimilarity),
    }
    missing = [name for name in names if name not in known and name not in given]
    if missing:
        raise ValueError(f"{missing[0]} is not in a setting: give it")
    return {name: given[name] if name in given else known[name]() for name in names}


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
