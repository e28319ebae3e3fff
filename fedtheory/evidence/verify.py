"""The verdict on one claim: in general, or on one setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arguments import check_has
from ..claims.statement import Claim
from ..moments.evaluators import Question
from ..moments.evaluators import left as left_side
from ..papers import claim as find_claim
from ..papers.registry import from_setting
from ..setting import Setting
from ..subjects.lead import ratio
from ..subjects.protocol import Instance
from .assess import assess
from .judge import judge
from .search import ROUNDING
from .verdict import Verdict


def verify(claim: str | Claim, setting: Setting | None = None, rounds: int = 10_000, **stated: Any) -> Verdict:
    """Give the verdict on a claim (or on the one of that name).

    With a quadratic ``setting``, it is on that after each of at most 200 numbers of rounds from 1 to ``rounds``, where
    ``stated`` are quantities that no setting has. Without a setting, it is general: units, proof, recorded
    instance, search, real data; see ``assess.assess``.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.fast(snapshot_period=1, cohort=2, local_lr="1/50")
    >>> ft.verify("fast.thm1@main", ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=1)).verdict
    'holds'
    """
    check_has("claim", claim, ("partition",) if isinstance(claim, str) else ("ref", "at"), "a claim, or its name")
    if setting is not None:
        check_has("setting", setting, ("federation", "algorithm", "participation"), "a Setting")
    if setting is None:
        return assess(claim)
    statement = find_claim(claim) if isinstance(claim, str) else claim
    horizons = np.unique(np.geomspace(1, rounds, 200).astype(np.int64))
    try:
        bound = statement.at(setting, rounds=horizons, **stated)
    except ValueError as error:
        return Verdict(statement.ref, "not applicable", f"{error}.")
    failing = [name for name, slack in bound.slack.items() if slack is not None and np.any(slack < 0)]
    undecided = [name for name, slack in bound.slack.items() if slack is None]
    if failing:
        return Verdict(statement.ref, "not applicable", f"The hypothesis {failing[0]} fails on this setting.")
    if undecided:
        return Verdict(statement.ref, "not checked", f"{undecided[0]} needs quantities of a random run.")
    try:
        literal = Question(setting, horizons, next(statement.readings()), stated=stated)
        left = np.broadcast_to(np.asarray(left_side(statement.functional, literal), dtype=float), horizons.shape)
    except ValueError as error:
        return Verdict(statement.ref, "not checked", f"The left side is not known: {error}.")
    ratios = np.broadcast_to(ratio(left, bound.terms.values()), horizons.shape)  # either side may be negative
    worst = int(ratios.argmax())
    evidence = {"exact": {"largest_ratio": float(ratios[worst]), "rounds": int(horizons[worst])}}
    if ratios[worst] <= 1 + ROUNDING:
        why = f"Left / right is at most {ratios[worst]:.3g} on this setting, at {horizons[worst]} rounds."
        return Verdict(statement.ref, "holds", why, evidence)
    return _confirmed(statement, setting, int(horizons[worst]), stated, evidence)


def _confirmed(
    statement: Claim, setting: Setting, rounds: int, stated: Mapping[str, Any], evidence: dict[str, Any]
) -> Verdict:
    """A ratio above 1 in floating point, decided in ball arithmetic where the setting has an instance."""
    try:
        judgement = judge(
            Instance(statement.ref, from_setting(statement, setting, rounds, **stated)), statement=statement
        )
    except ValueError as error:
        why = f"Left exceeds right in floating point; no exact instance can decide it: {error}."
        return Verdict(statement.ref, "not checked", why, evidence)
    survivors = sum(not reading.refutes for reading in judgement.readings)
    if survivors == 0:
        why = f"Left exceeds right after {rounds} rounds, under all {len(judgement.readings)} readings."
        return Verdict(statement.ref, "refuted", why, evidence, judgement.to_json())
    why = (
        f"Left exceeds right after {rounds} rounds, but {survivors} of {len(judgement.readings)} readings are not "
        "refuted by this setting."
    )
    return Verdict(statement.ref, "not checked", why, evidence)
