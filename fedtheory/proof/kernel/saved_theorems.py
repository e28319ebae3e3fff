"""Theorems, with all that they were made from, as plain data that an independent checker reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq_mpoly

from .forms import Atom, Entry, Form, Product, Term, Value, Vector
from .regions import Where
from .sampling_laws import SampleTheorem
from .scalars import Scalar
from .sealed import ancestry, intact
from .theorems import Theorem

FORMAT, OF_SAMPLES = "fedtheory theorem 1", "fedtheory samples 1"


def saved(theorem: Theorem | SampleTheorem) -> dict[str, Any]:
    """Return the proof of a theorem: its ancestry in the order of making, each with rule, premises, arguments,
    conclusion.

    Raises:
        Refused: one of them was changed after it was made.
    """
    return _saved_samples(theorem) if isinstance(theorem, SampleTheorem) else saved_together([theorem])[0]


def saved_together(theorems: Sequence[Theorem], names: tuple[str, ...] = ()) -> tuple[dict[str, Any], list[int]]:
    """Return the proof of several theorems, and the number of each in it; the last one stands last. Their scalars are
    written in ``names``, or in those of the last one's ring."""
    names = names or theorems[-1].where.ring.names
    order = list(dict.fromkeys(intact(each) for theorem in theorems for each in ancestry(theorem)))
    numbers = {id(one): i for i, one in enumerate(order)}
    regions: list[Where] = []
    lines = []
    for one in order:
        if one.where not in regions:
            regions.append(one.where)
        said = line(one, [numbers[id(p)] for p in one.premises], regions.index(one.where))
        lines.append(_spread(said, one.where.ring.names, names))
    made = {
        "format": FORMAT,
        "names": list(names),
        "regions": [_spread(region(w), w.ring.names, names) for w in regions],
        "theorems": lines,
    }
    return made, [numbers[id(theorem)] for theorem in theorems]


def _saved_samples(theorem: SampleTheorem) -> dict[str, Any]:
    order, of = [intact(each) for each in ancestry(theorem)], theorem.of
    numbers = {id(one): i for i, one in enumerate(order)}
    used = {c.name for c in of.where.conditions} | of.numbers.keys()
    used |= {
        name for c in (*of.parameters.values(), *(c.bound for c in of.where.conditions if c.bound)) for name in c.names
    }
    places = [i for i, name in enumerate(of.where.ring.names) if name in used]
    return _in_places(
        places,
        {
            "format": OF_SAMPLES,
            "names": list(of.where.ring.names),
            "regions": [region(of.where)],
            "parameters": _data(of.parameters),
            "numbers": [[letter, _data(meaning)] for letter, meaning in of.numbers.items()],
            "theorems": [_of_samples(one, [numbers[id(p)] for p in one.premises]) for one in order],
        },
    )


def _spread(data: Any, own: tuple[str, ...], names: tuple[str, ...]) -> Any:
    """Return data whose scalars are in a ring's own names with their powers at the places of these in others."""
    if own == names:
        return data
    at = [names.index(name) for name in own]

    def spread(part: Any) -> Any:
        if isinstance(part, dict) and part.keys() == {"top", "bottom"}:
            return {side: [[_placed(powers, at, len(names)), c] for powers, c in part[side]] for side in part}
        if isinstance(part, dict):
            return {name: spread(each) for name, each in part.items()}
        return [spread(each) for each in part] if isinstance(part, list) else part

    return spread(data)


def _placed(powers: list[int], at: list[int], width: int) -> list[int]:
    placed = [0] * width
    for place, power in zip(at, powers, strict=True):
        placed[place] = power
    return placed


def _in_places(places: list[int], data: Any) -> Any:
    """Return data whose names, and powers in scalars, are those in these places alone."""
    if isinstance(data, dict) and data.keys() == {"top", "bottom"}:
        return {part: [[[powers[i] for i in places], c] for powers, c in data[part]] for part in data}
    if isinstance(data, dict):
        names = {"names": [data["names"][i] for i in places]} if "names" in data else {}
        return {name: _in_places(places, part) for name, part in data.items()} | names
    return [_in_places(places, part) for part in data] if isinstance(data, list) else data


def _of_samples(theorem: SampleTheorem, premises: list[int]) -> dict[str, Any]:
    return {
        "rule": theorem.rule,
        "premises": premises,
        "arguments": _data(theorem.arguments),
        "where": 0,
        "assumptions": sorted(theorem.assumptions),
        "events": [list(event) for event in sorted(theorem.events)],
        "form": _data(theorem.form),
        "equality": theorem.equality,
        "functional": theorem.functional,
        "confidence": None if theorem.confidence is None else _data(theorem.confidence),
    }


def line(theorem: Theorem, premises: list[int], where: int) -> dict[str, Any]:
    """Return one theorem as plain data, with the numbers of its premises and of its region."""
    return {
        "rule": theorem.rule,
        "premises": premises,
        "arguments": _data(theorem.arguments),
        "context": theorem.context,
        "kind": theorem.kind,
        "where": where,
        "assumptions": sorted(([n, _data(c)] for n, c in theorem.assumptions), key=str),
        "parameters": {n: _data(c) for n, c in theorem.parameters},
        "form": _data(theorem.form),
        "equality": theorem.equality,
        "path_to_the_end": theorem.path_to_the_end,
    }


def region(where: Where) -> list:
    """Return the conditions of a region as lists: name, kind, bound."""
    return [[c.name, c.kind, None if c.bound is None else _data(c.bound)] for c in where.conditions]


def _data(value: Any) -> Any:
    if isinstance(value, Scalar):
        return {"top": _polynomial(value.numerator), "bottom": _polynomial(value.denominator)}
    if isinstance(value, Atom):
        return [value.name, value.client, list(value.step)]
    if isinstance(value, Term):
        return [value.bound, _data(value.atom)]
    if isinstance(value, Vector):
        return [[_data(term), _data(c)] for term, c in value.terms.items()]
    if isinstance(value, Form):
        return [[_entry(entry), _data(c)] for entry, c in value.entries.items()]
    if isinstance(value, Mapping):
        return {name: _data(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_data(part) for part in value]
    return value


def _entry(entry: Entry) -> list:
    if isinstance(entry, Product):
        return ["product", entry.bound, _data(entry.left), _data(entry.right)]
    if isinstance(entry, Value):
        return ["value", entry.bound, _data(entry.point)]
    return ["one"]


def _polynomial(polynomial: fmpq_mpoly) -> list:
    return [[[int(p) for p in powers], str(c)] for powers, c in sorted(polynomial.to_dict().items(), reverse=True)]
