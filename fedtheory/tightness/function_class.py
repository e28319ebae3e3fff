"""The rounds of a claim's worst case, and how the class of functions differs from the claim's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sympy import Symbol

from ..algorithms import Algorithm, EveryRound, Fast, Safari, fast, fedavg, safari
from ..assumptions import INDEPENDENT_DRAWS
from ..claims.statement import Claim
from ..papers import papers
from ..papers.registry import algorithm_of, algorithms
from ..participation import Fixed, Multinomial, Uniform
from ..quantities import CLIENT_ROUND_QUANTITIES, ROUND_QUANTITIES, RUN_QUANTITIES, SERVER_RUN_QUANTITIES

OF_RUNS = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES, *ROUND_QUANTITIES, *CLIENT_ROUND_QUANTITIES}
"""Quantities that belong to a run, and are not chosen before it."""


class NotApplicable(ValueError):
    """Error where no worst case is known of what the claim speaks of; the message says why."""


@cache
def _example(statement: Claim) -> Any:
    """A setting of the claim's algorithm: its paper's, or that of the paper whose algorithm it is; ``None`` if there is
    none."""
    known = papers().get(statement.paper)
    if known and known.example:
        return known.example(statement).setting
    name = algorithm_of(statement) or ""
    of_others = (p.example(p.claims[0]) for p in algorithms().get(name, ()) if p.example and name not in BY_NAME)
    found = next(of_others, None)
    return found and found.setting


BY_NAME: dict[str, type[Algorithm]] = {"fast": Fast, "safari": Safari}
"""Algorithms whose rounds need no example."""


def algorithm_at(statement: Claim, values: Mapping[str, Any]) -> tuple[Algorithm, str]:
    """Return the claim's algorithm with the values' numbers, and how its participants are drawn.

    They are drawn by nobody (""), without replacement ("once"), or with it ("twice").
    """
    setting = _example(statement)
    name = algorithm_of(statement)
    kind = type(setting.algorithm) if setting is not None else BY_NAME.get(name or "")
    steps: dict[str, Any] = {"local_lr": values.get("local_lr"), "local_steps": int(values["local_steps"])}
    if kind is Safari and "local_lr" not in values:
        steps["local_lr"] = values["server_lr"]  # of rounds of the server alone
    participation = setting.participation if setting is not None else Fixed([0])
    drawn = "once" if isinstance(participation, Uniform) else "twice" if isinstance(participation, Multinomial) else ""
    if not drawn and INDEPENDENT_DRAWS in statement.assumed:
        raise NotApplicable("it does not say how its participants are drawn")
    if not isinstance(participation, Fixed | Uniform | Multinomial):
        raise NotApplicable(f"{type(participation).__name__}: no worst case knows of that participation")
    if kind is Fast:
        return fast(cohort=int(values["cohort"]), **_snapshots(statement, values), **steps), drawn
    if kind is Safari:
        share = values["client_round_probability"]
        return safari(client_round_probability=share, server_lr=values["server_lr"], **steps), drawn
    if kind is EveryRound and all(each.proximal == 0 for each in setting.algorithm.client_rounds):
        return fedavg(**steps), drawn
    raise NotApplicable(f"algorithm {name or 'not said'}: no worst case is known of its rounds")


def _snapshots(statement: Claim, values: Mapping[str, Any]) -> dict[str, Any]:
    """Every how many rounds a snapshot comes, or with which probability."""
    if "snapshot_period" in statement.quantities:
        return {"snapshot_period": int(values["snapshot_period"])}
    return {"snapshot_probability": values["snapshot_probability"]}


GRADIENTS = ("average_squared_gradient", "final_squared_gradient")
ROUND_LEFTS = ("squared_movement", "negated_full_progress", "negated_arbitrary_progress", "squared_gradient")


def of_gradients(statement: Claim) -> bool:
    """Whether a claim bounds squared gradients by the initial gap: its terms are then compared over a few rounds."""
    return statement.functional.name in GRADIENTS and "initial_gap" in statement.quantities


def of_one_round(statement: Claim) -> bool:
    """Whether both sides consist of what happens in one round, and of multiples of constants."""
    inside = {s.name for term in statement.terms for s in term.expression.free_symbols}
    run_wide = inside & (OF_RUNS - {*ROUND_QUANTITIES, *CLIENT_ROUND_QUANTITIES})
    left_open = inside & {*ROUND_QUANTITIES, *CLIENT_ROUND_QUANTITIES}
    name = statement.functional.name
    return not run_wide and (name in ROUND_LEFTS or (name == "final_squared_distance" and bool(left_open)))


def differences(statement: Claim) -> tuple[tuple[str, ...], bool]:
    """Say how the class differs from the claim's, and whether an assumption or a hypothesis is left out."""
    said, larger = [], False
    if of_gradients(statement) and "strongly_convex" not in statement.assumed:
        said.append("functions: the class's are convex, the claim's need not be")
    if "bounded_dissimilarity" in statement.assumed:
        said.append("dissimilarity: the claim bounds it everywhere, the class at x* and at the server's points")
    if "heterogeneity_gap" in statement.quantities:
        said.append(
            "dissimilarity: of the heterogeneity gap the class keeps that the mean of |grad F_i(x*)|^2 is at "
            "most 2 smoothness heterogeneity_gap"
        )
        larger = True
    if "gradient_bound" in statement.quantities:
        said.append("the class does not bound stochastic gradients")
        larger = True
    left_out = [h.name for h in statement.hypotheses if _of_run(h.slack.free_symbols)]
    if left_out:
        said.append(f"the class leaves out what the run has to meet: {', '.join(left_out)}")
        larger = True
    if "snapshots" in {a.name for a in statement.ambiguities if len(a.options) > 1}:
        said.append("a round is a snapshot with a probability, also where the claim may be read with a period")
    if "gradient_noise" in statement.quantities or "weighted_noise" in statement.quantities:
        said.append("noise: of its law only second moments count, and different clients' are independent")
    return tuple(said), larger


def _of_run(symbols: set[Symbol]) -> bool:
    return any(each.name in OF_RUNS for each in symbols)
