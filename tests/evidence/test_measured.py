"""Claims on real data: what several of them ask for is computed once."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fedtheory.evidence import assess, measured
from fedtheory.evidence.assess import measurable
from fedtheory.evidence.measured import DIGITS, federation, measure, setting_on
from fedtheory.evidence.result_cache import Cache
from fedtheory.evidence.scorecard import differences
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import RUN_QUANTITIES, SERVER_RUN_QUANTITIES
from fedtheory.setting import Setting
from fedtheory.testing.pretended_device import pretended_device

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


@pytest.mark.parametrize("ref", ["fast.thm1@main", "safari.thm4@sharp"])
def test_runs_of_half_as_many_bits_say_the_same(monkeypatch: pytest.MonkeyPatch, ref: str) -> None:
    """To 1e-6, while the replicas leave open more than a thousandth. An interval's half width is half the difference
    of the two replicas, times Student's quantile: 64 at one degree of freedom. So its ends may be off 65 times as much.
    """
    monkeypatch.setattr(measured, "_KNOWN", {})
    exact, short = (measure(ref, replace(SHORT, precision=each)) for each in ("float64", "float32"))
    assert exact["left"] != short["left"] and exact["outcome"] == short["outcome"] == "holds"
    for name in ("left", "right", "ratio"):
        assert short[name] == pytest.approx(exact[name], rel=1e-6), name
    assert short["left_interval"] == pytest.approx(exact["left_interval"], abs=65e-6 * exact["left"])
    assert short["slack"] == pytest.approx(exact["slack"], rel=1e-5)
    low, high = exact["left_interval"]
    assert high - low > 1e-3 * exact["left"]


def test_of_an_infinite_right_side_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = measured.bound_on_run
    monkeypatch.setattr(measured, "bound_on_run", lambda *asked: replace(evaluated(*asked), value=float("inf")))
    assert measure("fast.thm1@main", SHORT)["outcome"] == "not applicable"


def test_runs_from_elsewhere_or_of_other_functions_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a paper of one's own may have them."""
    monkeypatch.setattr(measured, "_KNOWN", {})
    plain = setting_on(claim("safari.thm4@sharper"), SHORT)
    less = federation(replace(SHORT, alpha=10.0))
    others = replace(plain, start=1.0), replace(plain, start=2.0), replace(plain, federation=less)
    runs = [measured._run(SHORT, each, ("squared_distance",), 0, None) for each in (plain, *others)]
    assert len({float(run.rows["squared_distance"][0, -1]) for run in runs}) == 4


def test_what_cannot_be_measured_has_no_setting() -> None:
    for ref in ("fedau.thm1@main", "flics.thm1@main"):
        assert not measurable(claim(ref))
        with pytest.raises(ValueError, match="real data: allowed are claims about runs that can be measured"):
            setting_on(claim(ref), SHORT)


@pytest.mark.parametrize("ref", [each.ref for each in all_claims() if measurable(each)])
def test_a_setting_meets_what_can_be_told_beforehand(ref: str) -> None:
    """Every hypothesis but those about the run, also where all clients have to take part."""
    statement = claim(ref)
    slack = statement.at(setting_on(statement, SHORT), rounds=4).slack
    known = {name: value for name, value in slack.items() if value is not None}
    assert known and all(float(value) >= 0 for value in known.values()), known
    of_runs = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES}
    for name in slack.keys() - known.keys():
        assert {s.name for s in statement.hypothesis(name).relation.free_symbols} & of_runs


def test_what_is_measured_is_of_the_cpu_unless_a_device_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "_KNOWN", {})
    with pretended_device() as counts:
        here = measure("fast.thm1@main", SHORT)
        assert here["device"] == "cpu" and counts.totals() == (0, 0, 0)
        there = measure("fast.thm1@main", SHORT, device="auto")
    assert there["device"] == "cuda: pretended" and counts.operations
    assert there["left"] == pytest.approx(here["left"], rel=1e-12) and there["outcome"] == here["outcome"]


def test_what_is_kept_of_one_device_is_not_taken_for_anothers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "_KNOWN", {})
    monkeypatch.setattr(assess, "plans", lambda: (SHORT,))
    depth = assess.Depth(candidates=5, climbs=1, steps=1, seeds=1, refuted_too=False)
    options = {"depth": depth, "workers": 1, "cache": Cache(tmp_path)}
    (here,) = assess.assess_all([claim("fast.thm1@main")], **options)
    with pretended_device():
        (there,) = assess.assess_all([claim("fast.thm1@main")], **options, device="cuda")
        (again,) = assess.assess_all([claim("fast.thm1@main")], **options)
    assert [each.evidence["measured"][0]["device"] for each in (here, there, again)] == [
        "cpu",
        "cuda: pretended",
        "cpu",
    ]
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="torch finds no CUDA device"):
            assess.assess_all([claim("fast.thm1@main")], **options, device="cuda")


def test_a_verdict_that_differs_says_of_which_devices() -> None:
    row = {"id": "a.thm1", "edition": "main", "verdict": "holds", "instance": None}
    there = row | {"verdict": "untested", "evidence": {"measured": [{"device": "cuda: pretended"}]}}
    here = row | {"evidence": {"measured": [{}]}}
    (line,) = differences({"rows": [there]}, {"rows": [here]})
    assert line.endswith("verdict is untested, published is holds (measured on cuda: pretended, published on cpu)")
    assert differences({"rows": [row | {"verdict": "untested"}]}, {"rows": [row]})[0].endswith("published is holds")
