"""Claims on real data: what several of them ask for is computed once."""

from dataclasses import replace

import pytest

from fedtheory.evidence import measured
from fedtheory.evidence.measured import DIGITS, measure
from fedtheory.setting import Setting

SHORT = replace(DIGITS, clients=5, cohort=2, arbitrary_cohort=2, rounds=4, replicas=2)


def test_editions_with_one_run_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "_KNOWN", {})
    runs: list[Setting] = []
    simulate = Setting.simulate

    def counted(setting: Setting, **options: object) -> object:
        runs.append(setting)
        return simulate(setting, **options)

    monkeypatch.setattr(Setting, "simulate", counted)
    one, other = (measure(f"safari.thm4@{edition}", SHORT) for edition in ("sharper", "averaged"))
    assert len(runs) == 1 and one["left"] == other["left"] and one["right"] != other["right"]
    assert measure("safari.thm4@sharp", SHORT)["left"] != one["left"]  # other steps
    assert measure("safari.thm4@sharper", SHORT, seed=1)["left"] != one["left"]
    assert measure("safari.thm4@sharper", replace(SHORT, rounds=5))["left"] != one["left"]
    assert len(runs) == 4
