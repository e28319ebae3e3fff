"""Instances that are no runs on quadratics, as a page shows them step by step: whom a server selects, what weights are
expected, which samples are drawn; with both sides of the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...claims.statement import Claim
from ...moments.evaluators import FLOAT, Question, left
from ...papers.fedau.examples.weight_points import WeightsPoint
from ...papers.flics.examples.selection_points import SelectionPoint
from ...papers.flics.examples.selection_settings import Answers, PolicyTrace, Process, SelectionRun, Trace
from ...papers.safari.examples.learning_points import QUANTILES, LearningPoint
from ...papers.safari.examples.learning_problems import Pooled
from ...participation import history
from ...selection import online
from ...setting import Setting
from ...weights.exact_moments import mean_weight

FRAMES = 120
"""The most rounds of a run that are shown: the first ones all, later ones evenly on a logarithmic scale."""
DRAWS = 24
"""The most numbers of samples that are shown: at each both sides are exact, which takes long for many."""
PLAYED = 12
"""Rounds that are shown of a policy whose trace goes on for ever."""

ROUND, SAMPLE = "round", "samples"
Values = Callable[[LearningPoint], Mapping[str, float]]


@dataclass(frozen=True)
class Film:
    """An instance, step by step.

    Attributes:
        data: ``rounds`` (what is counted), ``left`` and ``right`` (both sides with so many). Of runs on quadratics also
            ``models`` (E x_r), ``optimum``, ``centres`` (the clients' minimisers) and ``participants``, of the rounds
            in which the algorithm does not draw them. Of others ``bars``: ``labels``, and ``series``, each with a
            ``look`` and ``values`` by step and label. All are numbers, ``null`` where there is none.
        of_horizon: whether the right side is that of the instance's R in every round, since the claim chooses a step
            size that depends on R.
        unit: what is counted: rounds or samples.
        keys: (look, words) of what is drawn besides the two sides.
        told: what is to be known of it, a sentence; "" if nothing.
    """

    data: dict[str, Any]
    of_horizon: bool
    unit: str = ROUND
    keys: tuple[tuple[str, str], ...] = (("model", "expected model"), ("client", "clients' minimisers"))
    told: str = ""


def shown_rounds(last: int) -> np.ndarray:
    """Rounds from 0 to the last one, at most ``FRAMES`` of them.

    >>> shown_rounds(3).tolist(), len(shown_rounds(10**6)) <= FRAMES
    ([0, 1, 2, 3], True)
    """
    if last < FRAMES:
        return np.arange(last + 1)
    return np.unique(np.append(0, np.geomspace(1, last, FRAMES - 1).astype(np.int64)))


def plain(numbers: Any) -> Any:
    """Convert to nested lists of floats, with ``None`` for what is not finite."""
    if isinstance(numbers, (float, int, np.floating, np.integer)):
        return float(numbers) if math.isfinite(numbers) else None
    return [plain(entry) for entry in numbers]


def right_side(claim: Claim, values: Mapping[str, float], rounds: np.ndarray) -> np.ndarray:
    """The claim's right side after these rounds, other quantities as given."""
    given = {name: value for name, value in values.items() if name not in claim.choices and name not in claim.bound}
    given |= {"rounds": rounds} if "rounds" in claim.quantities else {}  # type: ignore[dict-item]
    return np.broadcast_to(np.asarray(claim.evaluate(**given).value, dtype=float), rounds.shape)  # type: ignore[arg-type]


def of_selection(claim: Claim, point: SelectionPoint, values: Mapping[str, float], chosen: Mapping[str, Any]) -> Film:
    """A run, a policy or answers, round by round: who is there, whom the server asks for, the estimate."""
    example, stated = point.point, {name: float(value) for name, value in point.constants.items()}
    if isinstance(example, Answers):
        rounds = shown_rounds(example.rounds)[1:]
        return _film(claim, values, rounds, _lefts(claim, example.setting, rounds, stated), False)
    if isinstance(example, SelectionRun):
        steps: dict[str, Any] = {name: Fraction(float(value)) for name, value in chosen.items()}
        setting = replace(example, **steps).setting if steps else example.setting
        rounds = shown_rounds(example.rounds)[1:]
        by_rounds = any("rounds" in {s.name for s in choice.free_symbols} for choice in claim.choices.values())
        lefts, start = _lefts(claim, setting, rounds, stated), float(example.initial_estimate)
        shown = _selected(example.availability, rounds, start)
        told = "" if isinstance(example.availability, Trace) else ONE_DRAW
        return replace(_film(claim, values, rounds, lefts, by_rounds, shown, example.rounds), told=told)
    if not isinstance(example, PolicyTrace):
        raise ValueError("it is about one round: there is nothing to follow")
    rounds = np.arange(1, max(PLAYED, example.rounds) + 1)
    lefts = np.repeat(_lefts(claim, example.setting, np.array([example.rounds]), stated), len(rounds))
    return _film(claim, values, rounds, lefts, False, _selected(example.trace, rounds, 0.0))


def _lefts(claim: Claim, setting: Setting, rounds: np.ndarray, stated: Mapping[str, float]) -> np.ndarray:
    question = Question(setting, rounds, next(claim.readings()), FLOAT, stated)
    return np.broadcast_to(np.asarray(left(claim.functional, question), dtype=float), rounds.shape)


def _film(
    claim: Claim,
    values: Mapping[str, float],
    rounds: np.ndarray,
    lefts: np.ndarray,
    of_horizon: bool,
    bars: tuple[dict[str, Any], tuple[tuple[str, str], ...]] | None = None,
    last: int = 0,
) -> Film:
    right = right_side(claim, values, np.full(len(rounds), last) if of_horizon else rounds)
    data = {"rounds": rounds.tolist(), "left": plain(lefts), "right": plain(right)}
    return Film(data | ({"bars": bars[0]} if bars else {}), of_horizon, keys=bars[1] if bars else ())


SELECTED = (("there", "clients that are there"), ("drawn", "clients that the policy asks for"),
            ("expected", "its estimate after the round"))  # fmt: skip


ONE_DRAW = "Both sides are of all runs; who is there is one draw of the process, with seed 0."


def _selected(
    who: Trace | Process, rounds: np.ndarray, start: float
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Group by group who is there, the policy's rates, and its estimate."""
    at = np.minimum(np.arange(int(rounds[-1])), len(who.budget) - 1)
    there = np.array(who.availability)[at] if isinstance(who, Trace) else _drawn_counts(who, len(at))
    budget, weight = (np.array(list(map(float, row))) for row in (who.budget, who.weight))
    run = online(there, budget[at], weight, start=start)
    shown = rounds - 1
    labels = [f"group {j}" for j in range(there.shape[1])]
    series = zip(SELECTED, (there, run.rates, run.estimate()), strict=True)
    return {"labels": labels, "series": [{"look": k[0], "values": plain(v[shown])} for k, v in series]}, SELECTED


def _drawn_counts(process: Process, rounds: int) -> np.ndarray:
    """(rounds, groups), how many clients of each are there in one draw of the process."""
    clients = history(process.chain, len(process.groups), rounds)[:, 0].numpy()
    members = np.array(process.groups)
    return np.stack([clients[:, members == j].sum(1) for j in range(len(process.weight))], axis=1)


def of_weights(claim: Claim, point: WeightsPoint, values: Mapping[str, float]) -> Film:
    """Weights that clients estimate, round by round."""
    weights = point.settled(claim)
    rounds = shown_rounds(weights.rounds)[1:]
    setting = replace(weights, probabilities=tuple(map(float, weights.probabilities))).question().setting
    keys = (("drawn", "a client's expected weight"), ("expected", "what it estimates, 1/p"))
    known = [p for p in map(float, weights.probabilities) if p > 0]
    expected = np.array([mean_weight(p, weights.cutoff, int(rounds[-1]))[rounds - 1] for p in known]).T
    bars = {
        "labels": [f"p = {p:.4g}" for p in known],
        "series": [
            {"look": "drawn", "values": plain(expected)},
            {"look": "expected", "values": [[1 / p for p in known]] * len(rounds)},
        ],
    }
    return _film(claim, values, rounds, _lefts(claim, setting, rounds, {}), False, (bars, keys))


def of_learning(claim: Claim, point: LearningPoint, values: Values) -> Film:
    """A problem with more and more of its samples: exact sides, and one draw of the samples.

    Raises:
        ValueError: nothing is drawn.
    """
    problem = point.problem
    if not isinstance(problem, Pooled) or claim.functional.name not in QUANTILES:
        raise ValueError("it is about a hypothesis and two distributions: nothing is drawn")
    counts = _numbers_of_samples(problem.server_samples, problem.client_samples)
    lefts, rights = [], []
    for server, clients in counts:
        each = replace(point, problem=replace(problem, server_samples=server, client_samples=clients, _kept={}))
        at = values(each)
        lefts.append(float(each.problem.left(claim.functional, each.constants)))
        rights.append(float(right_side(claim, at, np.ones(1))[0]))
    data = {"rounds": [sum(pair) for pair in counts], "left": plain(lefts), "right": plain(rights)}
    bars = _drawn(problem, counts)
    keys = (("drawn", "one draw of them, with seed 0"), ("expected", "so many are expected"))
    told = "Of both sides the number of samples is the one shown; the samples below are one draw of them."
    return Film(data | {"bars": bars}, False, SAMPLE, keys, told)


def _numbers_of_samples(server: int, clients: int) -> list[tuple[int, int]]:
    """Numbers of the server's and of the clients' samples, growing together to all of them.

    >>> _numbers_of_samples(2, 4)
    [(1, 1), (1, 2), (2, 3), (2, 4)]
    """
    most = max(server, clients)
    steps = np.unique(np.geomspace(1, most, min(DRAWS, most)).round().astype(int))
    return [(max(1, round(server * int(n) / most)), max(1, round(clients * int(n) / most))) for n in steps]


def _drawn(problem: Pooled, counts: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Count how often each point with its label is among the first samples of one draw."""
    draw, labels = np.random.default_rng(0), []
    columns: dict[str, list[Any]] = {"drawn": [], "expected": []}
    for number, (who, (law, _)) in enumerate(zip(("server", "clients"), problem.sources, strict=True)):
        masses = {(x, y): mass for x, row in enumerate(law.joint) for y, mass in enumerate(row) if mass}
        labels += [f"{who}: x{x}, label {y}" for x, y in masses]
        shares, sizes = np.array([float(mass) for mass in masses.values()]), [pair[number] for pair in counts]
        more = [draw.multinomial(n, shares / shares.sum()) for n in np.diff([0, *sizes])]
        columns["drawn"].append(np.cumsum(more, axis=0))
        columns["expected"].append(np.outer(sizes, shares))
    series = [{"look": look, "values": plain(np.hstack(parts))} for look, parts in columns.items()]
    return {"labels": labels, "series": series}
