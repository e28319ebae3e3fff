"""A bound below 0 is exceeded by an error above 0: what a setting shows must not depend on signs."""

from __future__ import annotations

from dataclasses import replace

import fedtheory as ft
from fedtheory.claims.statement import Term


def test_a_negative_bound_does_not_hold() -> None:
    fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    algorithm = ft.algorithms.fast(snapshot_period=1, cohort=2, local_lr="1/50")
    setting = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=1)
    true = ft.claim("fast.thm1")
    assert ft.verify(true, setting, rounds=50).verdict == "holds"
    negated = replace(true, edition="negated", terms=tuple(Term(t.name, -t.expression) for t in true.terms))
    found = ft.verify(negated, setting, rounds=50)
    assert found.verdict != "holds" and found.why.startswith("Left exceeds right")
