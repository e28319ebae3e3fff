"""Bounds of proved claims on what is recommended for a log: above the exact errors, and only where they are met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedtheory.diagnosis import Recommendation
from fedtheory.diagnosis.recommendation import Scored
from fedtheory.diagnosis.trace_errors import Trace, Twin, fair_weights
from fedtheory.evidence import bounds_on_logs
from fedtheory.evidence.bounds_on_logs import with_bounds
from fedtheory.papers import claim
from fedtheory.participation import Uniform, history

BY_PERIOD = "fast.thm2@periodic"


@pytest.fixture(scope="module")
def chosen() -> Recommendation:
    """For logs of cohorts of 3 of 6 clients, with a round in which one more comes."""
    masks = (history(Uniform(3), 6, 40, replicas=4).numpy() > 0).transpose(1, 0, 2).copy()
    for mask in masks:
        mask[5, np.flatnonzero(~mask[5])[0]] = True
    twin, traces = Twin(1.0, 0.8, 3.0, 0.5, 2.0, fair_weights(6)), [Trace(mask) for mask in masks]
    scored = Scored(twin, traces[1:], traces[0], None, None, 0.9, [1])
    kinds = {"mean": ("fedavg", {}), "MIFA": ("mifa", {})}
    kinds |= {f"FAST {period}": ("fast", {"snapshot_period": period, "cohort": 3}) for period in (2, 5)}
    rows = tuple(row for name, made in kinds.items() if (row := scored.best(name, made, {})))
    return Recommendation(rows, rows[0], None, None, None, twin, 3, 3, "", masks[0], {}, None, 0.9)


def test_bounds_are_those_of_proved_claims_and_above_every_exact_error(chosen: Recommendation) -> None:
    found = with_bounds(chosen)
    bounded = [row for row in found.choices if row.bound is not None]
    assert len(bounded) == 2 and {row.arguments["kind"] for row in bounded} == {"fast"}
    for row in bounded:
        by_hand = claim(BY_PERIOD).evaluate(
            smoothness=1.0, strong_convexity=0.8, gradient_noise=3.0, dissimilarity=0.5, initial_distance=2.0,
            cohort=row.arguments["cohort"], arbitrary_cohort=3, local_steps=1, rounds=row.rounds,
            local_lr=float(row.arguments["local_lr"]), snapshot_period=row.arguments["snapshot_period"],
        ).value / 2  # fmt: skip
        assert row.bound == pytest.approx(float(by_hand), rel=1e-12) and row.bound_by == BY_PERIOD
        assert row.bound >= max(row.score, row.on_log)
        assert row.table_row()["evidence"] == f"exact; {BY_PERIOD}: <= {row.bound:.3g}"
    others = [row for row in found.choices if row.arguments["kind"] != "fast"]
    assert others and {row.bound_by for row in others} == {"no proved claim is about its last model"}
    assert "No proved claim bounds this error: no proved claim is about its last model." in str(found)
    assert f"Proved: {BY_PERIOD} bounds this error by" in str(replace(found, chosen=bounded[0]))


def reasons(chosen: Recommendation) -> set[str]:
    rows = [row for row in with_bounds(chosen).choices if row.arguments["kind"] == "fast"]
    assert all(row.bound is None for row in rows)
    return {row.bound_by for row in rows}


def test_a_claim_that_is_not_proved_bounds_nothing(chosen: Recommendation, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = bounds_on_logs.published_rows() | {BY_PERIOD: {"verdict": "holds"}}
    monkeypatch.setattr(bounds_on_logs, "published_rows", lambda: rows)
    assert reasons(chosen) == {"no proved claim is about its last model"}


def test_an_assumption_that_nobody_checked_is_not_met(chosen: Recommendation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_on_logs, "met_by_noise", lambda law: {})
    assert reasons(chosen) == {f"{BY_PERIOD}: unbiased_noise is not checked, uncorrelated_noise is not checked"}


def test_a_hypothesis_that_fails_is_named(chosen: Recommendation) -> None:
    steep = replace(chosen, twin=replace(chosen.twin, smoothness=100.0))
    assert reasons(steep) == {f"{BY_PERIOD}: step_cap fails"}
    nobody = replace(chosen, fewest=0)
    assert reasons(nobody) == {"nobody comes in some round, of which no claim speaks"}
    uneven = replace(chosen, twin=replace(chosen.twin, fair=np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])))
    assert reasons(uneven) == {"proved claims are about the plain mean of the clients"}


def test_snapshots_by_a_coin_are_another_reading(chosen: Recommendation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted relapse: read as if each snapshot were drawn, other editions would be taken."""
    monkeypatch.setattr(bounds_on_logs, "_runs_as", lambda algorithm: {
        "snapshots": "probability", "uniform cohort": "without replacement",
    })  # fmt: skip
    by = {row.bound_by for row in with_bounds(chosen).choices if row.bound is not None}
    assert by and BY_PERIOD not in by
