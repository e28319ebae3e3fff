"""Entries of files that anyone may have written: parsed, never evaluated, and checked.

An entry that is wrong is refused by its name.
"""

from __future__ import annotations

import contextlib
import re
import reprlib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from sympy import Le

from .. import numerals
from ..claims.statement import Claim
from ..participation import Fixed, LargestNoise, Participation, Phases
from ..quantities import QUANTITIES, check_values, symbol
from ..schedule import INDICES, StepSize, step_size

Rationals = tuple[Fraction, ...]

CHOSEN = "chosen"
"""Entry of a file in the place of a step size or a cutoff that the claim chooses."""


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        return f"a whole number of {x.bit_length()} bits" if x.bit_length() > 1000 else repr(x)


_SHORT = _Short()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 120, 120


def shown(value: object) -> str:
    """Write a value as an error message shows it: its ``repr``, cut where it is long or deep.

    >>> deep = []
    >>> for _ in range(10**5):
    ...     deep = [deep]
    >>> shown("1e5"), shown(deep), len(shown("9" * 10**6)) < 200
    ("'1e5'", '[[[[...]]]]', True)
    """
    text = _SHORT.repr(value)
    return text if len(text) <= 160 else text[:157] + "..."


def rational(name: str, value: object) -> Fraction:
    """Parse a Fraction from "3", "-1/2" or "0.25".

    >>> rational("start", "1/3")
    Fraction(1, 3)
    >>> rational("start", "1e999999999")
    Traceback (most recent call last):
    ValueError: start = '1e999999999': allowed is a rational such as "3", "-1/2" or "0.25"
    """
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+([./][0-9]+)?", value):
        with contextlib.suppress(ValueError):
            return numerals.rational(value)
    raise ValueError(f'{name} = {shown(value)}: allowed is a rational such as "3", "-1/2" or "0.25"')


def entry(data: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return the entry ``key``, which must be of that kind."""
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{key} = {shown(value)}: allowed is {'an' if kind is int else 'a'} {kind.__name__}")
    return value


def rational_entry(data: Mapping[str, Any], key: str) -> Fraction:
    """Parse the entry ``key``, a rational."""
    return rational(key, entry(data, key, str))


def rationals(data: Mapping[str, Any], key: str) -> dict[str, Fraction]:
    """Parse the entry ``key``, an object of rationals."""
    inner = entry(data, key, dict)
    return {name: rational_entry(inner, name) for name in inner}


def vector(data: Mapping[str, Any], key: str) -> Rationals:
    """Parse the entry ``key``, a list of rationals."""
    return tuple(rational(key, value) for value in entry(data, key, list))


def indices(data: Mapping[str, Any], key: str, most: int = 1000) -> tuple[int, ...]:
    """Return the entry ``key``, a list of at most ``most`` whole numbers, none far off 0."""
    values = entry(data, key, list)
    if len(values) > most or not all(type(value) is int and abs(value) < 10**15 for value in values):
        raise ValueError(f"{key} = {shown(values)}: allowed is a list of at most {most} whole numbers below 10^15")
    return tuple(values)


def matrix(data: Mapping[str, Any], key: str) -> tuple[Rationals, ...]:
    """Parse the entry ``key``, a list of lists of rationals."""
    rows = entry(data, key, list)
    if not all(isinstance(row, list) for row in rows):
        raise ValueError(f"{key}: allowed is a list of lists")
    return tuple(tuple(rational(key, value) for value in row) for row in rows)


def check_kind(data: Mapping[str, Any], kind: str) -> None:
    """Refuse an object whose entry ``kind`` is another one."""
    if data.get("kind") != kind:
        raise ValueError(f"kind = {shown(data.get('kind'))}: allowed is {kind!r}")


# What instances state, and how large they may be --------------------------------------------------------------------

FREE = ("young_parameter", "step_constant", "step_shift", "dissimilarity_factor")
"""Quantities that neither a federation nor an algorithm has, or of which a federation has many.

Where a claim speaks of one, the instance states it.
"""

LARGEST = {
    "clients": 100, "dimension": 4, "cohort": 10**15, "local_steps": 100, "snapshot_period": 10**15, "rounds": 10**15,
}  # fmt: skip
"""Largest numbers that an instance may have: exact arithmetic takes too long beyond."""

MOST_IDENTICAL = 1000
"""Largest number of clients that are all the same, whose rounds are those of one of them."""

LARGEST_ROUND = 300_000
"""Largest clients * dimension * local_steps * bits of one round, which is exact throughout.

``bits`` are those of the instance's longest number; the product bounds the bits of the longest number in the round.
"""


def stated_constants(statement: Claim) -> tuple[str, ...]:
    """Return the names of the quantities that an instance of the claim states.

    Its assumptions speak of them, and its federation must respect them; or they are among ``FREE`` and the claim uses
    them.

    >>> from fedtheory.papers import claim
    >>> stated_constants(claim("fast.eq38"))
    ('smoothness', 'gradient_noise', 'dissimilarity', 'strong_convexity', 'young_parameter')
    """
    bounding = [a.quantity for a in statement.assumptions if a.quantity]
    spoken = {*statement.quantities, *({"dissimilarity_factor"} if "dissimilarity_offset" in bounding else ())}
    return (*bounding, *(name for name in FREE if name in spoken and name not in bounding))


def is_about_one_round(statement: Claim) -> bool:
    """Whether the claim speaks of one round from x_0, by its functional or by the hypothesis rounds <= 1."""
    one_round = Le(symbol("rounds"), 1)
    return statement.functional.scope == "round" or any(h.relation == one_round for h in statement.hypotheses)


def check_scope(statement: Claim, *scopes: str) -> None:
    """Raise ``ValueError`` unless the claim bounds a functional of one of these scopes."""
    if statement.functional.scope not in scopes:
        raise ValueError(
            f"{statement.ref} is about a {statement.functional.scope}: "
            f"allowed with such an instance is one about a {' or '.join(scopes)}"
        )


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
        raise ValueError(
            f"clients * dimension * local_steps * bits = {work}: allowed in one round is at most {LARGEST_ROUND}"
        )


def check_size(name: str, size: int, most: int | None = None) -> None:
    """Raise ``ValueError`` where there are more of something than an instance may have, or than ``most``."""
    if size > (most or LARGEST[name]):
        raise ValueError(f"{name} = {size}: allowed in an instance is at most {most or LARGEST[name]}")


def check_counts(**sizes: int | None) -> None:
    """Raise ``ValueError`` unless these numbers, where there are any, are whole ones from 1 to their ``LARGEST``."""
    for name, size in sizes.items():
        if size is not None:
            check_number(name, size, LARGEST[name])


def check_number(name: str, number: int, most: int) -> None:
    """Raise ``ValueError`` unless a whole number is one from 1 to ``most``."""
    if not 1 <= number <= most:
        raise ValueError(f"{name} = {shown(number)}: allowed is an integer from 1 to {most}")


def check_chosen(statement: Claim, rule: str = "a rational", **values: object) -> None:
    """Raise ``ValueError`` unless exactly those of these values that the claim chooses are left to it (``None``)."""
    for name, value in values.items():
        if (value is None) != (name in statement.choices):
            allowed = "left to the claim, which chooses it" if name in statement.choices else rule
            raise ValueError(f"{name} = {CHOSEN if value is None else value}: allowed is {allowed}")


def chosen_or_rational(data: Mapping[str, Any], key: str, statement: Claim) -> StepSize | None:
    """Parse the entry ``key``, a rational or a step size by rule; ``None`` where the file leaves it to the claim."""
    text = entry(data, key, str)
    if any(index in text for index in INDICES):
        return step_size(key, text, within_rounds=key == "local_lr")
    return None if text == CHOSEN and key in statement.choices else rational(key, text)


def by_vocabulary(values: Mapping[str, Fraction]) -> dict[str, str]:
    """Write values as plain data, in the vocabulary's order."""
    return {name: str(values[name]) for name in QUANTITIES if name in values}


def texts(values: Rationals) -> list[str]:
    """Write numbers as plain data."""
    return [str(value) for value in values]


# Participants -------------------------------------------------------------------------------------------------------

Participants = Fixed | LargestNoise | Phases

MOST_PHASES = 1000
"""Largest number of phases that a file may have."""


def written_participants(process: Participation) -> dict[str, Any]:
    """Write a process as plain data; ``read_participants`` reads it back.

    >>> written_participants(Phases([[0], [1]], [1, 2], cyclic=True))
    {'kind': 'phases', 'sets': [[0], [1]], 'lengths': [1, 2], 'cyclic': True}
    """
    if isinstance(process, LargestNoise):
        return {"kind": "largest_noise", "count": process.count}
    if isinstance(process, Phases):
        sets = [list(members) for members in process.sets]
        return {"kind": "phases", "sets": sets, "lengths": list(process.lengths), "cyclic": process.cyclic}
    assert isinstance(process, Fixed)
    return {"kind": "fixed", "members": list(process.members)}


def read_participants(participation: Mapping[str, Any], most: int = 1000) -> Participants:
    """Read a process from plain data, not yet checked against the clients, of whom a set has at most so many.

    Raises:
        ValueError: an entry is missing, of the wrong kind or out of bounds.
    """
    if participation.get("kind") == "largest_noise":
        count = entry(participation, "count", int)
        check_number("count", count, LARGEST["clients"])
        return LargestNoise(count)
    if participation.get("kind") == "phases":
        return _phases(participation, most)
    check_kind(participation, "fixed")
    return Fixed(indices(participation, "members", most))


def _phases(data: Mapping[str, Any], most: int) -> Phases:
    sets, lengths = entry(data, "sets", list), indices(data, "lengths")
    if not 1 <= len(sets) <= MOST_PHASES:
        raise ValueError(f"sets = {shown(sets)}: allowed are 1 to {MOST_PHASES} lists of clients")
    if not all(1 <= length <= LARGEST["rounds"] for length in lengths):
        raise ValueError(f"lengths = {shown(lengths)}: allowed are integers from 1 to {LARGEST['rounds']}")
    if type(data.get("cyclic")) is not bool:
        raise ValueError(f"cyclic = {shown(data.get('cyclic'))}: allowed is true or false")
    return Phases([indices({"sets": members}, "sets", most) for members in sets], lengths, data["cyclic"])
