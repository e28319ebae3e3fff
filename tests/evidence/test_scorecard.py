"""Verdicts, the scorecard's rule, and what `verify` compares."""

import copy
import json

import pytest
from typer.testing import CliRunner

import fedtheory as ft
from fedtheory.claims import all_claims
from fedtheory.cli import app
from fedtheory.evidence import scorecard
from fedtheory.evidence.confirm import ReplayError
from fedtheory.evidence.verdict import VERDICTS, Verdict, verify

PUBLISHED = json.loads((scorecard.PUBLISHED / "scorecard.json").read_text())


def test_published_scorecard_has_a_row_for_every_claim_and_follows_the_schema():
    assert PUBLISHED["schema"] == 1
    assert [f"{row['id']}@{row['edition']}" for row in PUBLISHED["rows"]] == [claim.ref for claim in all_claims()]
    for row in PUBLISHED["rows"]:
        assert set(row) == {"id", "edition", "verdict", "why", "evidence", "instance"}
        assert row["verdict"] in VERDICTS
        assert set(row["evidence"]) == {"units", "exact", "measured"}


def test_published_verdicts_follow_from_their_evidence():
    for row in PUBLISHED["rows"]:
        assert scorecard._overall(row["evidence"])[0] == row["verdict"]


def test_every_measured_row_meets_every_hypothesis():
    for row in PUBLISHED["rows"]:
        digits = [m for m in row["evidence"]["measured"] if m["data"] == "digits"]
        assert digits and digits[0]["clients"] == 50
        for measured in row["evidence"]["measured"]:
            assert measured["hypotheses_hold"] and min(measured["slack"].values()) >= 0


def test_rule_a_refutation_beats_all_and_a_lead_is_no_verdict():
    evidence = copy.deepcopy(PUBLISHED["rows"][-1]["evidence"])
    assert scorecard._overall(evidence)[0] == "holds"
    lead = copy.deepcopy(evidence)
    lead["exact"]["search"]["largest_ratio"] = 1.5
    assert scorecard._overall(lead)[0] == "not checked"
    measured = copy.deepcopy(evidence)
    measured["measured"][0]["outcome"] = "exceeded"
    assert scorecard._overall(measured)[0] == "not checked"
    measured["exact"]["instance"] = {"file": "f", "refutes": True, "ratio": 2.0, "readings": 4}
    assert scorecard._overall(measured)[0] == "refuted"
    measured["exact"]["instance"]["refutes"] = False
    assert scorecard._overall(measured)[0] == "not checked"


def test_a_refuted_verdict_needs_an_instance_and_a_known_word():
    with pytest.raises(ValueError, match="refuted without an instance"):
        Verdict("fast.thm1@main", "refuted", "because")
    with pytest.raises(ValueError, match="allowed is one of"):
        Verdict("fast.thm1@main", "wrong", "because")


def test_a_tampered_published_instance_fails_the_assessment(tmp_path, monkeypatch):
    ref = "fast.thm1@main"
    content = scorecard.published_instance(ref)
    assert content["refutes"] is True
    content["ratio"] = "3.3"
    monkeypatch.setattr(scorecard, "PUBLISHED", tmp_path)
    scorecard.write_json(tmp_path / "instances" / f"{ref}.json", content)
    with pytest.raises(ReplayError, match=r"the file says ratio = .3\.3."):
        scorecard.published_instance(ref)


def test_differences_name_changed_missing_and_new_rows():
    card = copy.deepcopy(PUBLISHED)
    assert scorecard.differences(card, PUBLISHED) == []
    card["rows"][0]["verdict"] = "holds"
    gone = card["rows"].pop()
    lines = scorecard.differences(card, PUBLISHED)
    assert any("fast.thm1@main: verdict is holds, published is refuted" in line for line in lines)
    assert any(f"{gone['id']}@{gone['edition']}: verdict is absent" in line for line in lines)


def test_editions_with_the_same_mathematics():
    thm1, thm2 = ft.claims.editions("fast.thm1"), ft.claims.editions("fast.thm2")
    assert scorecard.same_mathematics(*thm1)
    assert not scorecard.same_mathematics(*thm2)


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """`verify` without its searches, runs and figures: the published evidence stands in for them."""
    verdicts = [
        Verdict(f"{r['id']}@{r['edition']}", r["verdict"], r["why"], r["evidence"], r["instance"] and {"claim": "x"})
        for r in PUBLISHED["rows"]
    ]
    monkeypatch.setattr(scorecard, "assess_all", lambda **options: verdicts)
    monkeypatch.setattr("fedtheory.report.theorems.FIGURES", {})
    return verdicts, ["verify", "--report", str(tmp_path / "r"), "--figures", str(tmp_path / "f")]


def test_verify_exits_with_zero_on_the_published_verdicts(quick, tmp_path):
    done = CliRunner().invoke(app, quick[1])
    assert done.exit_code == 0, done.output
    written = json.loads((tmp_path / "r" / "scorecard.json").read_text())
    assert written["rows"] == PUBLISHED["rows"]
    assert not list((tmp_path / "r").glob(".*"))


def test_verify_exits_with_one_when_a_verdict_differs(quick):
    verdicts, arguments = quick
    verdicts[2] = Verdict(verdicts[2].claim, "not checked", "why", verdicts[2].evidence)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    assert "fast.thm2@main: verdict is not checked, published is holds" in done.stderr


def _setting(**changes):
    options = {"snapshot_period": 2, "cohort": 2, "local_lr": "1/100"} | changes
    federation = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    return ft.Setting(federation, ft.algorithms.fast(**options), ft.participation.Fixed([0]), start=3)


def test_verify_on_one_setting():
    assert verify("fast.thm1", _setting(snapshot_period=1), rounds=1000).verdict == "holds"
    assert verify("fast.thm1", _setting(local_lr="1/2")).verdict == "not applicable"
    assert verify("fast.thm1", _setting(snapshot_period=None, snapshot_probability="1/2")).verdict == "not checked"
    lead = verify("fast.thm1", _setting(), rounds=20_000)
    assert lead.verdict == "not checked" and "8 of 32 readings" in lead.why


def test_verify_confirms_a_refutation_on_one_setting():
    federation = ft.federations.Quadratic.common_hessian(offsets=["9/20", "-9/20", 1, -1])
    algorithm = ft.algorithms.fast(snapshot_period=2, cohort=4, local_lr="1/200")
    setting = ft.Setting(federation, algorithm, ft.participation.Fixed([0]), start=["19/10"])
    verdict = verify("fast.thm1", setting, rounds=100_000)
    assert verdict.verdict == "refuted"
    assert verdict.replay().refutes
