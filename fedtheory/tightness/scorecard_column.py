"""The scorecard's column on tightness, one number a claim, and the file that it is read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import json_text, read_json, write_beside
from .measure import NOT_APPLICABLE, Tightness, tightness

SCHEMA = 1

FILE = Path(str(files("fedtheory.evidence"))) / "published" / "tightness.json"
"""File ``{"schema", "fedtheory", "claims"}``: for each ref the ``tightness`` with all quantities left out, and its
``column``."""

CONSTANT, GAIN, TERMS = "constant", "gain", "terms"
"""Measures that the number may stand for.

They are the looseness of the additive constant, the share of the certain gain that the bound shows, or the least
looseness of its constants' terms.
"""

SHORT = {
    "initial_gap": "gap",
    "initial_distance": "distance",
    "dissimilarity": "dissimilarity",
    "gradient_noise": "noise",
}
"""Short names of the constants whose terms a number is about."""

UNKNOWN = {"status": NOT_APPLICABLE, "measure": None, "value": None, "of": "", "larger": False,
           "why": "the published file does not have it"}  # fmt: skip


def column(entry: Tightness) -> dict[str, Any]:
    """Make the scorecard's entry on a tightness.

    It has ``status``, ``measure``, ``value``, what it is ``of``, whether the class is ``larger`` than the claim's (a
    value below 1 refutes nothing then), and ``why`` there is no value. The measures are:

    - "constant": what the bound adds to its multiple of |x_0 - x*|^2, over the least that would do (``looseness``);
    - "gain": where there is no such constant, (|x_0 - x*|^2 - bound) / (|x_0 - x*|^2 - worst) after its rounds
      (``decrement_ratio``);
    - "terms": of squared gradients or of one round, the least of what the bound has of the initial gap or of |x_0 -
      x*|^2, of delta^2 and of sigma^2, each over the least that would do; which one is ``of``;
    - ``None``, with ``why``.

    >>> column(tightness("flics.thm1"))["why"]
    'it bounds least_squared_gradient, no error of a run that a worst case is known of'
    """
    known = {"status": entry.status, "measure": None, "value": None, "of": "", "larger": entry.larger, "why": ""}
    if entry.looseness is not None:
        return known | {"measure": CONSTANT, "value": entry.looseness}
    compared = [each for each in entry.constants if each.looseness is not None]
    if compared:
        least = min(compared, key=lambda each: each.looseness or 0.0)
        return known | {"measure": TERMS, "value": least.looseness, "of": least.of}
    last = entry.after[-1].decrement_ratio if entry.after else None
    if last is not None:
        return known | {"measure": GAIN, "value": last}
    return known | {"why": entry.why or _nothing(entry)}


def _nothing(entry: Tightness) -> str:
    """Why a claim that there is a worst case of has no number."""
    if entry.contraction is not None and entry.best_additive == float("inf"):
        return (
            f"the class of functions does not contract by the bound's factor {entry.contraction:.3g} a round: no "
            "constant is enough"
        )
    return f"the solve is {entry.status}" if entry.status != "solved" else "the least constant is 0"


def text(found: Mapping[str, Any]) -> str:
    """Format a ``column`` for a table: "2.09", "99.9% of the gain", "-" or "not applicable".

    >>> text({"status": "solved", "measure": "constant", "value": 2.0931, "of": "", "larger": False, "why": ""})
    '2.09'
    >>> text({"status": "solved", "measure": "gain", "value": 0.9999967, "of": "", "larger": False, "why": ""})
    '99.9997% of the gain'
    """
    if found["value"] is None:
        return NOT_APPLICABLE if found["status"] == NOT_APPLICABLE else "-"
    value = float(found["value"])
    if found["measure"] == GAIN:
        return f"{100 * value:.6g}% of the gain"
    of = f" ({SHORT[found['of']]})" if found["of"] else ""
    return f"{value:.3g}{of}{' (larger class)' if found['larger'] and value < 1 else ''}"


def to_json(entries: Sequence[Tightness]) -> dict[str, Any]:
    """Return the published file's content, its numbers to six digits."""
    claims = {each.claim: _rounded(each.to_json() | {"column": column(each)}) for each in entries}
    return {"schema": SCHEMA, "fedtheory": __version__, "claims": claims}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value


@cache
def published() -> dict[str, dict[str, Any]]:
    """Read the published file: its entry for each ref.

    >>> sorted(published()["fast.thm2@sharper"]["column"])
    ['larger', 'measure', 'of', 'status', 'value', 'why']
    """
    return read_json(FILE)["claims"]


def published_column(ref: str) -> dict[str, Any]:
    """Return a claim's entry in the scorecard, which says so where the published file does not have the claim."""
    return dict(published()[ref]["column"] if ref in published() else UNKNOWN)


def accept(entries: Sequence[Tightness], scorecard: Path) -> None:
    """Publish what was found, and put it into a scorecard's rows; a claim that is not there is not applicable."""
    card, known = read_json(scorecard), {each.claim for each in entries}
    refs = [f"{row['id']}@{row['edition']}" for row in card["rows"]]
    content = to_json([*entries, *(tightness(ref) for ref in refs if ref not in known)])
    for row in card["rows"]:
        row["tightness"] = content["claims"][f"{row['id']}@{row['edition']}"]["column"]
    for path, data in ((FILE, content), (scorecard, card)):
        write_beside(path, (json_text(data, indent=1) + "\n").encode())
    published.cache_clear()
