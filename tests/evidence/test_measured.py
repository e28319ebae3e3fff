"""Claims on real data: what several of them ask for is computed once."""

from dataclasses import replace

import pytest

from fedtheory.evidence import measured
from fedtheory.evidence.assess import measurable
from fedtheory.evidence.measured import DIGITS, federation, measure, setting_on
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import RUN_QUANTITIES, SERVER_RUN_QUANTITIES
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
