"""Verdicts, the scorecard's rule, and what `verify` compares."""

import copy
import json
from functools import partial
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

import fedtheory as ft
from fedtheory.cli import app
from fedtheory.evidence import assess, scorecard
from fedtheory.evidence.replay import ReplayError
from fedtheory.evidence.result_cache import Cache
from fedtheory.evidence.verdict import VERDICTS, Verdict
from fedtheory.evidence.verdict_rule import PROVED_AND_REFUTED, covered, overall, with_readings
from fedtheory.evidence.verify import verify
from fedtheory.papers import all_claims
from fedtheory.printing import print_scorecard

PUBLISHED = json.loads((assess.PUBLISHED / "scorecard.json").read_text())
ROWS = {f"{row['id']}@{row['edition']}": row for row in PUBLISHED["rows"]}


def test_published_scorecard_has_a_row_for_every_claim_and_follows_the_schema():
    assert PUBLISHED["schema"] == scorecard.SCHEMA
    assert list(ROWS) == [claim.ref for claim in all_claims()]
    for row in PUBLISHED["rows"]:
        assert set(row) | {"readings"} == {"id", "edition", "verdict", "readings", "why", "evidence", "tightness",
                                             "instance"}  # fmt: skip
        assert row.get("readings", {}) in ({}, (row["evidence"]["proof"] or {}).get("readings"))
        assert row["verdict"] in VERDICTS
        assert set(row["evidence"]) == {"units", "consistency", "proof", "exact", "measured", "needs"}


def test_published_verdicts_follow_from_their_evidence():
    for row in PUBLISHED["rows"]:
        assert overall(row["evidence"])[0] == row["verdict"]


def test_at_most_a_tenth_of_the_claims_is_undecided():
    undecided = [ref for ref, row in ROWS.items() if row["verdict"] in ("unproved", "not checked", "holds")]
    assert len(undecided) <= len(ROWS) / 10


def test_no_refuted_claim_is_proved_and_every_refuted_one_has_an_instance():
    for ref, row in ROWS.items():
        if row["verdict"] == "refuted":
            assert row["evidence"]["proof"]["outcome"] != "proved"
            assert (assess.PUBLISHED / row["instance"]).name == f"{ref}.json"


def test_every_measured_row_meets_every_hypothesis():
    measured = [row for row in PUBLISHED["rows"] if row["evidence"]["measured"]]
    assert {row["id"] for row in measured} == {"fast.thm1", "fast.thm2", "safari.thm4", "safari.thm5"}
    for row in measured:
        digits = [m for m in row["evidence"]["measured"] if m["data"] == "digits"]
        assert digits and digits[0]["clients"] == 50
        for found in row["evidence"]["measured"]:
            seen = scorecard.least_exceeding(found)
            (low, high), left = found["left_interval"], found["left"]
            # More than half the interval, since the mean itself varies, and less than all of it.
            assert seen is not None and min(1, (high - low) / 2 / left) <= 1 - 1 / seen <= (high - low) / left
            assert found["hypotheses_hold"] and min(found["slack"].values()) >= 0


def _evidence(**changes):
    """Evidence on a claim about which nothing is known but a search that found nothing."""
    blank = {
        "units": {"homogeneous": True, "findings": []},
        "consistency": [],
        "proof": None,
        "exact": {"search": copy.deepcopy(SEARCHED), "instance": None},
        "measured": [],
        "needs": [],
    }
    return blank | changes


SEARCHED = {"candidates": 9, "admissible": 5, "seeds": [0], "largest_ratio": 0.5, "largest_ratio_rounds": 1,
            "largest_late_ratio": 0.0, "largest_late_ratio_rounds": 0}  # fmt: skip
LEAD = {"search": SEARCHED | {"largest_ratio": 1.5}, "instance": None}
FALLS = {"search": None, "instance": {"file": "f", "refutes": True, "ratio": 2.0, "readings": 4, "only_under": []}}
SOMETIMES = FALLS["instance"] | {"refutes": False, "only_under": [{"cohort": "with replacement"}]}
FALLS_SOMETIMES = {"search": LEAD["search"], "instance": SOMETIMES}
PROVED = {"outcome": "proved", "joints": "kernel", "steps": 3, "decided": {"polynomial": {"decided": 3, "of": 3}},
          "repaired": 1, "first_open": None, "readings": {"cohort": ["without replacement"]},
          "assuming": []}  # fmt: skip
DECIDED = PROVED | {"joints": "declared"}
OPEN = PROVED | {"outcome": "unknown", "first_open": "(7): nobody knows", "readings": {}}
EMPTY = [{"name": "contradictory", "what": "a step above and below its cap", "evidence": {}}]
NOTHING = {"search": SEARCHED | {"admissible": 0, "largest_ratio": 0.0}, "instance": None}
HELD = [{"data": "digits", "outcome": "holds"}]
EXCEEDED = [{"data": "digits", "outcome": "exceeded"}]


@pytest.mark.parametrize(
    ("changes", "verdict", "why"),
    [
        ({}, "holds", "left over right is at most 0.5"),
        ({"exact": NOTHING}, "untested", "None of the 9 settings that were tried meets every hypothesis."),
        ({"exact": NOTHING, "proof": OPEN}, "untested", "None of the 9 settings"),
        (
            {"exact": NOTHING, "proof": PROVED},
            "untested",
            "Its proof is complete, of what may say nothing. None of the 9",
        ),
        ({"exact": NOTHING, "measured": HELD}, "holds", "None of the 9 settings"),
        ({"exact": NOTHING, "consistency": EMPTY}, "vacuous", "a step above"),
        ({"exact": LEAD}, "not checked", "a ratio of 1.5; no instance confirms it"),
        ({"exact": LEAD, "proof": PROVED}, "not checked", "a ratio of 1.5"),
        ({"measured": EXCEEDED}, "not checked", "exceeded on digits"),
        ({"measured": EXCEEDED, "exact": FALLS}, "refuted", "2 times, under all 4"),
        ({"exact": FALLS_SOMETIMES}, "not checked", "no instance confirms it"),
        ({"exact": FALLS, "consistency": EMPTY}, "refuted", "small setting"),
        ({"consistency": EMPTY, "proof": PROVED}, "vacuous", "a step above and below its cap"),
        ({"proof": PROVED}, "proved", "1 printed step does not hold and is replaced. Read with cohort: without repl"),
        ({"proof": DECIDED}, "steps decided", "Each of the 3 steps of its proof has a certificate"),
        ({"proof": OPEN}, "unproved", "open at (7): nobody knows"),
        ({"exact": {"search": None, "instance": None}}, "not checked", "No search covers it"),
        (
            {"exact": {"search": SEARCHED, "instance": SOMETIMES}},
            "holds",
            "it falls, read with cohort: with replacement",
        ),
        ({"exact": {"search": SEARCHED, "instance": SOMETIMES}, "proof": PROVED}, "proved", "cohort: with replacement"),
    ],
)
def test_the_rule(changes, verdict, why):
    word, sentence = overall(_evidence(**changes))
    assert word == verdict and why in sentence


def test_readings_that_a_proof_covers_stand_beside_the_word(capsys):
    narrow, wide = _evidence(proof=PROVED), _evidence(proof=PROVED | {"readings": {}})
    verdicts = [Verdict("a.thm1@main", "steps decided", "why", narrow), Verdict("a.thm2@main", "proved", "why", wide),
                Verdict("a.thm3@main", "holds", "why", narrow)]  # fmt: skip
    card = scorecard.to_json(verdicts)
    assert [row["readings"] for row in card["rows"]] == [{"cohort": ["without replacement"]}, {}, {}]
    assert [with_readings(row) for row in card["rows"]] == [
        "steps decided (cohort: without replacement)", "proved", "holds",
    ]  # fmt: skip
    print_scorecard(card)
    assert "(cohort:" in capsys.readouterr().out


def test_tightness_stands_in_the_rows_and_in_the_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")  # a row a line
    known = ("safari.thm5@sharper", "fast.cor3@main", "safari.thm5@main", "safari.cor2@main", "fast.lemma1@main")
    card = scorecard.to_json([Verdict(ref, "proved", "why", _evidence(proof=PROVED)) for ref in known])
    assert [row["tightness"] for row in card["rows"]] == [ROWS[ref]["tightness"] for ref in known]
    assert card["rows"][0]["tightness"]["value"] == pytest.approx(1.21, abs=0.01)
    print_scorecard(card)
    lines = [line for line in capsys.readouterr().out.splitlines() if "proved" in line]
    shown = ("1.21 ", "% of the gain", " - ", "(larger class)", "not applicable")
    assert all(text in line for text, line in zip(shown, lines, strict=True))


@pytest.mark.parametrize("proof", [PROVED, DECIDED])
def test_proved_and_refuted_is_a_word_of_its_own(proof):
    word, why = overall(_evidence(exact=FALLS, proof=proof))
    assert word == PROVED_AND_REFUTED and "an exact instance against it (f refutes it)" in why


@pytest.mark.parametrize("covered", [{}, {"cohort": ["with replacement"]}])
def test_so_is_refuted_under_a_reading_that_the_proof_covers(covered):
    word, why = overall(_evidence(exact=FALLS_SOMETIMES, proof=PROVED | {"readings": covered}))
    assert word == PROVED_AND_REFUTED and "under a reading that the proof covers" in why


def test_a_refuted_verdict_needs_an_instance_and_a_known_word():
    with pytest.raises(ValueError, match="refuted without an instance"):
        Verdict("fast.thm1@main", "refuted", "because")
    with pytest.raises(ValueError, match="allowed is one of"):
        Verdict("fast.thm1@main", "wrong", "because")


def test_a_tampered_published_instance_fails_the_assessment(tmp_path, monkeypatch):
    ref = "fast.thm1@main"
    content = assess.published_instance(ref)
    assert content["refutes"] is True
    content["ratio"] = "3.3"
    monkeypatch.setattr(assess, "instance_path", lambda ref, violated="": tmp_path / f"{ref}.json")
    scorecard.write_json(tmp_path / f"{ref}.json", content)
    with pytest.raises(ReplayError, match=r"the file says ratio = .3\.3."):
        assess.published_instance(ref)


def test_differences_name_changed_missing_and_new_rows():
    card = copy.deepcopy(PUBLISHED)
    assert scorecard.differences(card, PUBLISHED) == []
    first = next(row for row in card["rows"] if row["verdict"] == "refuted")
    first["verdict"] = "holds"
    gone = card["rows"].pop()
    lines = scorecard.differences(card, PUBLISHED)
    assert any(f"{first['id']}@{first['edition']}: verdict is holds, published is refuted" in line for line in lines)
    assert any(f"{gone['id']}@{gone['edition']}: verdict is absent" in line for line in lines)


def test_the_first_edition_with_the_same_mathematics():
    statements = ft.papers.all_claims()
    twins = assess.twins(statements)
    assert list(twins) == [s.ref for s in statements]
    for s in statements[:40]:
        assert twins[s.ref] == next(t.ref for t in statements if assess.same_mathematics(s, t))
    assert twins["fast.thm1@appendix"] == "fast.thm1@main" and twins["fast.thm2@appendix"] == "fast.thm2@appendix"


def test_instances_are_replayed_whatever_is_kept(tmp_path, monkeypatch):
    """And other work runs beside; only what was found on claims is kept."""
    depth = assess.Depth(candidates=5, climbs=1, steps=1, seeds=1, refuted_too=False)
    options = {"depth": depth, "workers": 1, "cache": Cache(tmp_path), "beside": {"drawn": partial(pow, 2, 3)}}
    statements = [ft.claim("fast.rem2.a@main"), ft.claim("fast.lemma1@main")]
    names: list[str] = []
    first = assess.assess_all(statements, **options)
    again = assess.assess_all(statements, **options, progress=lambda name, *_: names.append(name))
    assert first == again and first[0].instance is not None
    assert names == ["", "drawn", "replay fast.rem2.a@main", "replay fast.lemma1@main"]
    monkeypatch.setattr(assess, "replay", Mock(side_effect=ReplayError("the file says otherwise")))
    with pytest.raises(ReplayError, match="says otherwise"):
        assess.assess_all(statements, **options)


def test_editions_with_the_same_mathematics():
    main, appendix, corrected, *_ = ft.papers.editions("fast.thm1")
    assert assess.same_mathematics(main, appendix)
    assert not assess.same_mathematics(main, corrected)
    assert not assess.same_mathematics(*ft.papers.editions("fast.thm2")[:2])


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """`verify` without its searches, runs and figures: the published evidence stands in for them."""
    verdicts = [
        Verdict(f"{r['id']}@{r['edition']}", r["verdict"], r["why"], r["evidence"], r["instance"] and {"claim": "x"})
        for r in PUBLISHED["rows"]
    ]
    monkeypatch.setattr(assess, "assess_all", lambda **options: verdicts)
    monkeypatch.setattr("fedtheory.report.drawing.figures_of_claims", lambda folder: {})
    return verdicts, ["verify", "--search", "--report", str(tmp_path / "r"), "--figures", str(tmp_path / "f")]


def test_verify_exits_with_zero_on_the_published_verdicts(quick, tmp_path):
    done = CliRunner().invoke(app, quick[1])
    assert done.exit_code == 0, done.output
    written = json.loads((tmp_path / "r" / "scorecard.json").read_text())
    assert written["rows"] == [
        row | {"readings": covered(row["verdict"], row["evidence"])} for row in PUBLISHED["rows"]
    ]
    assert not list((tmp_path / "r").glob(".*"))


def test_verify_exits_with_one_when_a_verdict_differs(quick):
    verdicts, arguments = quick
    place = next(i for i, verdict in enumerate(verdicts) if verdict.verdict == "proved")
    verdicts[place] = Verdict(verdicts[place].claim, "not checked", "why", verdicts[place].evidence)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    assert f"{verdicts[place].claim}: verdict is not checked, published is proved" in done.stderr


@pytest.mark.parametrize("accept", [[], ["--accept"]])
def test_verify_exits_with_one_where_a_claim_is_proved_and_refuted(quick, tmp_path, monkeypatch, accept):
    """Both artefacts are written, the sentence is printed, and nothing is taken as published."""
    verdicts, arguments = quick
    place = next(i for i, verdict in enumerate(verdicts) if verdict.claim == "fast.lemma1@main")
    instance = {"refutes": True, "file": "instances/fast.lemma1@main.json", "ratio": 2.0, "readings": 1}
    evidence = {**verdicts[place].evidence, "exact": {"search": None, "instance": instance | {"only_under": []}}}
    verdicts[place] = Verdict("fast.lemma1@main", *overall(evidence), evidence, {"claim": "fast.lemma1@main"})
    monkeypatch.setattr("fedtheory.papers.saved_certificates.publish", lambda: pytest.fail("it is accepted"))
    before = (assess.PUBLISHED / "scorecard.json").read_bytes()
    done = CliRunner().invoke(app, [*arguments, *accept])
    assert done.exit_code == 1 and before == (assess.PUBLISHED / "scorecard.json").read_bytes()
    assert (
        "fast.lemma1@main: There is a complete proof of it" in done.stderr and "one of the two is wrong" in done.stderr
    )
    proof = json.loads((tmp_path / "r" / "proofs" / "fast.lemma1@main.json").read_text())
    assert (proof["claim"], proof["outcome"]) == ("fast.lemma1@main", "proved") and proof["steps"]
    assert (tmp_path / "r" / "instances" / "fast.lemma1@main.json").exists()


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
