"""Searches as they are kept: how much was looked at, and the candidates with the largest left / right, to be judged
again.

``published/searches.json`` is ``{"schema", "fedtheory", "searches"}``; the last has by claim what ``search_data``
returns. Editions with the same mathematics share the search of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import __version__
from ..claims.balls import decimal
from ..claims.statement import Claim
from ..files import read_json
from ..papers.registry import subject_of
from ..subjects.lead import Found
from ..subjects.protocol import Instance, Space
from .candidate_data import candidate_data, candidate_from, classes_of
from .judge import judge
from .search import ROUNDING, SearchReport

SCHEMA = 1

FILE = Path(str(files("fedtheory.evidence"))) / "published" / "searches.json"
"""The searches that come with the package."""

PLACES = ("overall", "late")
"""Places that are kept: the largest left / right, and the largest once the bound's first term has faded."""

NUMBERS = ("left", "right", "ratio")

EXACT_DIGITS = 16
"""Significant digits of the exact point near the largest ratio."""

MOST_READINGS = 16
"""Readings under which an exact point is judged at most; of a claim that has more, none is kept."""

ACCURACY = ROUNDING
"""Relative difference up to which a number counts as the kept one.

A candidate and its numbers are kept to the last bit, but another processor or library adds in another order; what
float recursions over 10^8 rounds lose by that is bounded as for a search: see ``search.ROUNDING``.
"""


def search_data(report: SearchReport, statement: Claim, depth: Mapping[str, int]) -> dict[str, Any]:
    """Return a search of a claim as plain data.

    Args:
        depth: how much was searched: the numbers of ``candidates``, ``climbs`` and ``steps`` that were asked for.
    """
    space = subject_of(statement).space(statement)
    return {
        "candidates": report.candidates,
        "admissible": report.admissible,
        "seeds": [report.seed],
        "depth": dict(depth),
        **{name: _place(found) for name, found in zip(PLACES, (report.best, report.best_late), strict=True)},
        "exact": exact_near(statement, space, report.best) if report.best else None,
    }


def _place(found: Found | None) -> dict[str, Any] | None:
    if found is None:
        return None
    numbers = {name: float(getattr(found, name)) for name in NUMBERS}
    return {"rounds": int(found.rounds), **numbers, "candidate": candidate_data(found.candidate)}


def exact_near(statement: Claim, space: Space, found: Found) -> dict[str, Any] | None:
    """Judge the exact point that is nearest to a find, in rational and ball arithmetic.

    Returns:
        The ``instance``, whether it ``refutes`` the claim, and by reading both sides, their ratio and the hypotheses
        that are not shown to hold there (``fails``); ``None`` where there is no such point, or too many readings.
    """
    if len(list(statement.readings())) > MOST_READINGS:
        return None
    try:
        point = next(iter(space.rounded(found, EXACT_DIGITS)), None)
        if point is None:
            return None
        judgement = judge(Instance(statement.ref, point), follow=False, statement=statement)
    except ValueError:  # no point can hold it, or be judged
        return None
    readings = [
        {
            "reading": dict(each.reading),
            **{name: decimal(getattr(each, name)) for name in NUMBERS},
            "fails": list(each.failing),
        }
        for each in judgement.readings
    ]
    return {"instance": judgement.instance.to_json(), "refutes": judgement.refutes, "readings": readings}


def merged(searches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return several searches of one claim, by different seeds, as one."""
    one = dict(searches[0]) | {
        name: max(filter(None, (found[name] for found in searches)), key=lambda at: at["ratio"], default=None)
        for name in PLACES
    }
    one["exact"] = max(searches, key=lambda kept: kept["overall"]["ratio"] if kept["overall"] else 0.0)["exact"]
    one |= {key: sum(found[key] for found in searches) for key in ("candidates", "admissible")}
    return one | {"seeds": sorted(seed for found in searches for seed in found["seeds"])}


def summary(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the scorecard tells of a search."""
    told = {key: kept[key] for key in ("candidates", "admissible", "seeds")}
    for name, key in zip(PLACES, ("largest_ratio", "largest_late_ratio"), strict=True):
        at = kept[name]
        told |= {key: float(at["ratio"]) if at else 0.0, f"{key}_rounds": at["rounds"] if at else 0}
    return told


def to_json(searches: Mapping[str, Any]) -> dict[str, Any]:
    """Return the published file's content."""
    return {"schema": SCHEMA, "fedtheory": __version__, "searches": dict(searches)}


def published() -> dict[str, dict[str, Any]]:
    """Read the published searches, by claim.

    >>> sorted(published()["fast.thm2@sharper"])
    ['admissible', 'candidates', 'depth', 'exact', 'late', 'overall', 'seeds']
    """
    return read_json(FILE)["searches"]  # type: ignore[no-any-return]


def judged_again(statement: Claim, name: str, at: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Judge the candidate that a search kept as one of its ``PLACES``; return rounds and ``NUMBERS`` there, and of the
    overall one the exact point near it.

    Every hypothesis is looked at again. The worst horizon of those at which they hold is taken, as in a search, and
    where the bound is exceeded what is certain of the left side.

    Raises:
        ValueError: the candidate cannot be read, or it meets no hypothesis at any horizon.
    """
    space = subject_of(statement).space(statement)
    result = space.assess(candidate_from(at["candidate"], classes_of(space)))
    found = result[PLACES.index(name)] if result else None
    if found is None:
        raise ValueError("the candidate does not meet every hypothesis")
    if name == PLACES[0] and result and result[1] and found.rounds != at["rounds"]:
        found = result[1]  # a climb on late horizons may end above all others
    if found.ratio > 1 + ROUNDING:
        found = space.certain(found)
    exact = exact_near(statement, space, found) if name == PLACES[0] else None
    return {"rounds": int(found.rounds), **{key: float(getattr(found, key)) for key in NUMBERS}}, exact


def same(kept: Any, value: float, exact: bool = False) -> bool:
    """Whether a kept number, which may be a word for an infinite one, is that value, but for ``ACCURACY`` unless it has
    to be ``exact``."""
    try:
        number = kept if exact else float(kept)
    except (TypeError, ValueError):
        return False
    if exact or number == value:
        return type(number) is type(value) and number == value
    return abs(number - value) <= ACCURACY * max(abs(number), abs(value))
