"""Replay of recorded instances, judged afresh: a file has to say what its numbers say."""

from __future__ import annotations

import json
from typing import Any

from ..claims.balls import decimal
from ..claims.statement import Claim
from ..subjects.file_entries import shown
from .judge import SCHEMA, Judgement, judge, parse


class ReplayError(ValueError):
    """A recorded instance does not say what its numbers say."""


def replay(data: dict[str, Any], statement: Claim | None = None) -> Judgement:
    """Judge a recorded instance afresh, of its claim or of ``statement`` instead, and compare everything that the file
    states.

    A file states all of what comes of it, or nothing but the instance and what it violates. It may fall under some
    readings only: its ``refutes`` says whether it falls under all.

    Raises:
        ReplayError: under every reading a hypothesis fails or the bound is not exceeded (it is said how under the
            literal one), or a recorded number is not the recomputed one.
        ValueError: the file is not an instance.
    """
    if type(data.get("schema")) is not int or data["schema"] not in (1, SCHEMA):
        raise ValueError(f"schema = {shown(data.get('schema'))}: allowed is 1 or {SCHEMA}")
    judgement = judge(parse(data, statement), statement=statement)
    ref, literal = judgement.instance.claim, judgement.readings[0]
    if not any(reading.refutes for reading in judgement.readings):
        if literal.failing:
            failing = literal.failing[0]
            raise ReplayError(f"{ref}: the hypothesis {failing} does not hold ({literal.checks[failing].how})")
        sides = f"left {decimal(literal.left)}, right {decimal(literal.right)}"
        raise ReplayError(f"{ref}: the bound is not exceeded: {sides}")
    recomputed = judgement.to_json()
    given = {"schema", "fedtheory", "violates", *judgement.instance.to_json()}
    if data.keys() <= given:  # it states nothing of what comes of it
        recomputed = {key: value for key, value in recomputed.items() if key in given}
    for key, value in recomputed.items():
        if key != "fedtheory" and not _same(data.get(key), _as_stated(key, value, data["schema"])):
            recorded = shown(data.get(key))
            raise ReplayError(f"{ref}: the file says {key} = {recorded}, recomputed is {shown(value)}")
    for key in data:
        if key not in recomputed:
            raise ReplayError(f"{ref}: the file says {shown(key)}, which no instance has")
    return judgement


def _as_stated(key: str, value: Any, schema: int) -> Any:
    """An entry as files of the schema have it: those of schema 1 do not say how anything was checked."""
    if schema == SCHEMA or key not in ("schema", "hypotheses", "readings"):
        return value
    if key == "schema":
        return schema
    return [{name: part for name, part in row.items() if name != "checked"} for row in value]


def _same(recorded: Any, value: Any) -> bool:
    """Whether two pieces of plain data are the same: compared as text, since 1, 1.0 and True are equal to Python."""
    try:
        return json.dumps(recorded) == json.dumps(value)
    except (RecursionError, TypeError, ValueError):  # too deep, or no plain data
        return False
