"""Problems as plain data."""

from __future__ import annotations

import contextlib
import re
from fractions import Fraction
from typing import Any

from ..numerals import rational
from .classes import FunctionClass, convex, quadratic, strongly_convex
from .problem import Problem
from .round_plans import Arbitrary, Cohort, Everyone, Kind, Participants, Plan, ServerStep, Training, mixture, positive

LONGEST = 2000
"""Digits that a numerator or denominator may have: those of multipliers follow from products."""


def exact_text(value: Fraction) -> str:
    """Return a Fraction as text."""
    return str(Fraction(value))


def read_number(name: str, value: Any) -> Fraction:
    """Return the Fraction in a text; raise ``ValueError`` unless it is written as one."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+(/[0-9]+)?", value):
        with contextlib.suppress(ValueError):
            return rational(value, LONGEST)
    raise ValueError(f"{name} = {str(value)[:80]!r}: allowed is a text such as '3/4'")


def entries(name: str, value: Any, indices: int) -> dict[tuple[int, ...], Fraction]:
    """Return {indices: number} from rows [index, ..., number]; raise ``ValueError`` for other data, or if one is there
    twice."""
    if not isinstance(value, list):
        raise ValueError(f"{name} = {value!r}: allowed is a list")
    found: dict[tuple[int, ...], Fraction] = {}
    for row in value:
        if not isinstance(row, list) or len(row) != indices + 1 or any(type(k) is not int for k in row[:-1]):
            raise ValueError(f"{name}: {row!r}: allowed is {indices} whole numbers and a number")
        at = tuple(row[:-1])
        if at in found:
            raise ValueError(f"{name}: {at} is there twice")
        found[at] = read_number(f"{name} {at}", row[-1])
    return found


def problem_data(problem: Problem) -> dict[str, Any]:
    """Return the class, rounds and metric as plain data."""
    functions = problem.functions
    return {
        "functions": {
            "smoothness": exact_text(functions.smoothness),
            "strong_convexity": exact_text(functions.strong_convexity),
            "quadratic": functions.quadratic,
        },
        "rounds": [[[exact_text(p), _kind_data(kind)] for p, kind in each] for each in problem.plan.rounds],
        "clients": problem.plan.clients,
        "metric": problem.metric,
        "average": problem.average,
        "everywhere": problem.everywhere,
    }


def read_problem(data: dict[str, Any], additive: Any) -> Problem:
    """Read a problem; the dissimilarity is 0 if nothing is said of its factor.

    Raises:
        ValueError: data of another form, or values out of bounds; the place is named.
    """
    _keys("certificate", data, {"functions", "rounds", "clients", "metric", "average", "everywhere"})
    clients, everywhere = data["clients"], data["everywhere"]
    if type(everywhere) is not bool:
        raise ValueError(f"everywhere = {everywhere!r}: allowed is true or false")
    if not isinstance(data["rounds"], list) or not all(isinstance(each, list) for each in data["rounds"]):
        raise ValueError("rounds: allowed is a list of lists")
    rounds = []
    for each in data["rounds"]:
        if not all(isinstance(kind, list) and len(kind) == 2 for kind in each):
            raise ValueError("rounds: allowed are pairs of a probability and a kind of round")
        rounds.append(mixture(*((read_number("probability", p), _read_kind(kind)) for p, kind in each)))
    return Problem(
        _read_functions(data["functions"]),
        Plan(tuple(rounds), clients),
        data["metric"],
        data["average"],
        dissimilarity_at_optimum=Fraction(1 if additive else 0),
        everywhere=everywhere,
    )


def _read_functions(data: Any) -> FunctionClass:
    _keys("functions", data, {"smoothness", "strong_convexity", "quadratic"})
    L, mu = (read_number(name, data[name]) for name in ("smoothness", "strong_convexity"))
    if type(data["quadratic"]) is not bool:
        raise ValueError(f"quadratic = {data['quadratic']!r}: allowed is true or false")
    if data["quadratic"]:
        return quadratic(smoothness=L, strong_convexity=mu)
    return strongly_convex(smoothness=L, strong_convexity=mu) if mu else convex(smoothness=L)


def _kind_data(kind: Kind) -> dict[str, Any]:
    if isinstance(kind, ServerStep):
        return {"kind": "server", "server_lr": exact_text(kind.server_lr)}
    return {
        "kind": "training",
        "local_lr": [exact_text(lr) for lr in kind.local_lr],
        "global_lr": exact_text(kind.global_lr),
        "proximal": exact_text(kind.proximal),
        "participants": _who_data(kind.participants),
    }


def _who_data(who: Participants) -> dict[str, Any]:
    if isinstance(who, Cohort):
        return {"kind": "cohort", "size": who.size, "replacement": who.replacement}
    return {"kind": "everyone"} if isinstance(who, Everyone) else {"kind": "arbitrary", "size": who.size}


def _read_kind(data: Any) -> Kind:
    if isinstance(data, dict) and data.get("kind") == "server":
        _keys("server", data, {"kind", "server_lr"})
        return ServerStep(positive("server_lr", read_number("server_lr", data["server_lr"])))
    _keys("training", data, {"kind", "local_lr", "global_lr", "proximal", "participants"})
    if data["kind"] != "training" or not isinstance(data["local_lr"], list) or not data["local_lr"]:
        raise ValueError(f"kind = {data['kind']!r}: allowed is 'training' with steps, or 'server'")
    rates = tuple(positive("local_lr", read_number("local_lr", lr)) for lr in data["local_lr"])
    pull = read_number("proximal", data["proximal"])
    if pull < 0:
        raise ValueError(f"proximal = {pull}: allowed is a number >= 0")
    global_lr = positive("global_lr", read_number("global_lr", data["global_lr"]))
    return Training(rates, _read_who(data["participants"]), global_lr, pull)


def _read_who(data: Any) -> Participants:
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "everyone":
        _keys("participants", data, {"kind"})
        return Everyone()
    if kind == "arbitrary":
        _keys("participants", data, {"kind", "size"})
        return Arbitrary(data["size"])
    if kind != "cohort":
        raise ValueError(f"participants = {data!r}: allowed are everyone, cohort and arbitrary")
    _keys("participants", data, {"kind", "size", "replacement"})
    if type(data["replacement"]) is not bool:
        raise ValueError(f"replacement = {data['replacement']!r}: allowed is true or false")
    return Cohort(data["size"], data["replacement"])


def _keys(name: str, data: Any, allowed: set[str]) -> None:
    if not isinstance(data, dict) or data.keys() != allowed:
        said = sorted(map(str, data)) if isinstance(data, dict) else repr(data)[:80]
        raise ValueError(f"{name}: {said}: allowed are exactly {sorted(allowed)}")
