"""Bounds on runs with all that they were made from, and the claim that they prove, as plain data that an independent
checker reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from .regions import Where
from .run_bounds import RunBound, by_data, untouched
from .sampling_laws import SampleTheorem
from .saved_theorems import _data, region, saved
from .scalars import Scalar
from .theorems import Theorem

FORMAT, OF_SAMPLES = "fedtheory claim 1", "fedtheory claim on samples 1"


def saved_claim(
    bound: RunBound, letters: Mapping[str, str], claim: Mapping[str, Any], roots: Sequence[Scalar] = ()
) -> dict[str, Any]:
    """Return the proof of a claim: the theorems on one round, the bounds on a run in the order of making, the
    quantities that letters stand for, and the claim in words that the checker reads, with the roots that are drawn in
    it. Of a bound without a premise there are no theorems.

    Raises:
        Refused: a theorem or a bound was changed after it was made.
    """
    chain: list[RunBound] = []
    premise: Theorem | RunBound | None = bound
    while isinstance(premise, RunBound):
        chain.append(untouched(premise))
        premise = premise.premise
    names = bound.where.ring.names
    round_theorem = {"names": names, "regions": [], "theorems": []} if premise is None else saved(premise)
    width = len(names) - len(round_theorem["names"])
    regions = _padded(round_theorem["regions"], width)
    known: list[Where] = []
    lines = []
    for one in reversed(chain):
        if one.where not in known:
            known.append(one.where)
        lines.append(_line(one, len(regions) + known.index(one.where)))
    return {
        "format": FORMAT,
        "names": list(names),
        "regions": [*regions, *map(region, known)],
        "theorems": _padded(round_theorem["theorems"], width),
        "bounds": lines,
        "letters": dict(letters),
        "claim": dict(claim),
        "roots": _data(roots),
        "digest": digest(letters, claim),
    }


def saved_sample_claim(theorem: SampleTheorem, letters: Mapping[str, str], claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the proof of a claim on samples: that of its theorem, the quantities that letters stand for, and the claim
    in words that the checker reads.

    Raises:
        Refused: a theorem was changed after it was made.
    """
    said = {"letters": dict(letters), "claim": dict(claim), "digest": digest(letters, claim)}
    return saved(theorem) | {"format": OF_SAMPLES} | said


def digest(letters: Mapping[str, str], claim: Mapping[str, Any]) -> str:
    """Return a hash of a claim's words and of the quantities that letters stand for, by which a change of a name is
    seen too."""
    return sha256(json.dumps([letters, claim], sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _line(bound: RunBound, where: int) -> dict[str, Any]:
    """Return one bound as plain data; its premise is the one before it, or the last theorem."""
    return {
        "rule": bound.rule,
        "arguments": _data(bound.arguments),
        "functional": bound.functional,
        "kind": bound.kind,
        "where": where,
        "given": _data(bound.given),
        "definitions": [[d.name, d.sort, _data(d.of)] for d in bound.definitions],
        "assumptions": sorted(([n, _data(c)] for n, c in bound.assumptions), key=str),
        "parameters": {n: _data(c) for n, c in bound.parameters},
        "bound": [_data(data * part) for data, part in by_data(bound.bound, bound.where).items()],
    }


def _padded(data: Any, width: int) -> Any:
    """Return data whose scalars have so many letters more, which do not occur in them."""
    if isinstance(data, Mapping):
        if data.keys() == {"top", "bottom"}:
            return {part: [[[*powers, *[0] * width], c] for powers, c in data[part]] for part in data}
        return {name: _padded(part, width) for name, part in data.items()}
    return [_padded(part, width) for part in data] if isinstance(data, list) else data
