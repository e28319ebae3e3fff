"""Bounds on runs with all that they were made from, and the claim that they prove, as plain data that an independent
checker reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from .regions import Where
from .run_bounds import RunBound, untouched
from .sampling_laws import SampleTheorem
from .saved_theorems import _data, region, saved, saved_together
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
    made_of, names = _made_of(bound, chain), bound.where.ring.names
    empty: dict[str, Any] = {"names": names, "regions": [], "theorems": []}
    round_theorem, numbers = saved_together(made_of, names) if made_of else (empty, [])
    numbered = dict(zip(map(id, made_of), numbers, strict=True))
    regions = round_theorem["regions"]
    known: list[Where] = []
    lines = []
    for one in chain:
        if one.where not in known:
            known.append(one.where)
        lines.append(_line(one, len(regions) + known.index(one.where), numbered))
        numbered[id(one)] = len(lines) - 1
    return {
        "format": FORMAT,
        "names": list(names),
        "regions": [*regions, *map(region, known)],
        "theorems": round_theorem["theorems"],
        "bounds": lines,
        "letters": dict(letters),
        "claim": dict(claim),
        "roots": _data(roots),
        "digest": digest(letters, claim),
    }


def _made_of(bound: RunBound, chain: list[RunBound]) -> list[Theorem]:
    """Return the theorems that a bound is made of, the one on a round last; and append all bounds to ``chain``, each
    after what it is from, its premise right before it."""
    theorems: list[Theorem] = []
    for premise in (*untouched(bound).arguments.get("others", ()), bound.premise):
        if premise is not None:
            theorems += _made_of(premise, chain) if isinstance(premise, RunBound) else [premise]
    chain.append(bound)
    return theorems


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


def by_data(scalar: Scalar, where: Where, others: Iterable[Scalar] = ()) -> dict[Scalar, Scalar]:
    """Return the coefficients of the products of letters that are only known to be >= 0, and by which nothing is
    divided, in other scalars neither: the scalar is the sum of products times coefficients."""
    inside = {name for each in (scalar, *others) for name in each.bottom.names}
    parts = {scalar.ring.number(1): scalar}
    for name in (c.name for c in where.conditions if c.kind == "nonnegative" and c.name not in inside):
        letter = scalar.ring[name]
        parts = {
            data * letter**power: part
            for data, whole in parts.items()
            for power, part in whole.coefficients(name).items()
        }
    return parts


def _line(bound: RunBound, where: int, numbered: Mapping[int, int]) -> dict[str, Any]:
    """Return one bound as plain data; its premise is the one before it, or the last theorem. Where a rule has more of
    them, they stand by their numbers."""
    arguments = dict(bound.arguments)
    if "others" in arguments:
        arguments["others"] = [numbered[id(premise)] for premise in arguments["others"]]
        if isinstance(bound.premise, Theorem):
            arguments["theorem"] = numbered[id(bound.premise)]
    return {
        "rule": bound.rule,
        "arguments": _data(arguments),
        "functional": bound.functional,
        "kind": bound.kind,
        "where": where,
        "given": _data(bound.given),
        "definitions": [[d.name, d.sort, _data(d.of)] for d in bound.definitions],
        "assumptions": sorted(([n, _data(c)] for n, c in bound.assumptions), key=str),
        "parameters": {n: _data(c) for n, c in bound.parameters},
        "bound": [_data(data * part) for data, part in by_data(bound.bound, bound.where).items()],
    }
