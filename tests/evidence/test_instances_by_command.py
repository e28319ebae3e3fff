"""Every published instance from the command line: it replays, as text and as JSON, and `refute` finds and saves one."""

import json
import re
from functools import partial

import pytest
from typer.testing import CliRunner

from fedtheory import __version__
from fedtheory.cli import app
from fedtheory.evidence import refute as refutes
from fedtheory.evidence import replay as replaying
from fedtheory.evidence.constructions import construct
from fedtheory.evidence.search import search
from fedtheory.papers import claim, papers
from fedtheory.papers.proofs import proof_of
from fedtheory.proof.chains import Chain
from tests.loops import looped

FOLDERS = ("instances", "needs")
PATHS = [path for p in papers().values() for name in FOLDERS for path in sorted((p.folder / name).glob("*.json"))]


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def sentences(printed):
    """What was printed, without the breaks of lines that are too long, after which all are indented."""
    return [" ".join(one.split()) for one in re.sub(r"\n +", " ", printed).splitlines()]


@pytest.fixture
def judged_once(monkeypatch):
    """What is said of an instance as text and as JSON is of one judgement, which the same instance has anyway."""
    known, afresh = {}, replaying.judge

    def judge(instance, **options):
        key = json.dumps(instance.to_json())
        if key not in known:
            known[key] = afresh(instance, **options)
        return known[key]

    monkeypatch.setattr(replaying, "judge", judge)
    monkeypatch.setattr("fedtheory.printing.Progress.QUIET", 1e9)  # on a loaded machine it would say how far it is
    return known


@looped("path", PATHS, ids=lambda path: path.stem, quick=16)
def test_every_published_instance_replays(path, judged_once):
    judged_once.clear()
    content = json.loads(path.read_text())
    falling = [reading for reading in content["readings"] if reading["refutes"]]
    status = 0 if content["refutes"] else 1
    text, plain = run("replay", path), run("replay", path, "--json")
    assert (text.exit_code, plain.exit_code, text.stderr, plain.stderr) == (status, status, "", "")
    assert json.loads(plain.stdout) == content | {"fedtheory": __version__} and falling
    lines = sentences(text.stdout)
    assert lines[0] == f"{content['claim']}: {content['functional']}"
    assert lines[1].startswith(f"left {falling[0]['left']} > right")
    assert ("after" in lines[1]) is ("rounds" in content)
    assert lines[-1].split()[0] == ("falls" if "violates" in content else "refuted")
    readings = content["readings"]
    assert lines[-1].endswith(f"under {len(falling)} of {len(readings)} reading{'s' * (len(readings) != 1)}")
    assert len(judged_once) == 1


OF_EACH_KIND = {"values": "safari.thm2.improvement", "weights": "fedau.eqB_6_8.b", "selection": "flics.lemma6"}


@pytest.mark.parametrize("kind", OF_EACH_KIND)
def test_refute_finds_and_saves_what_is_no_run(kind, tmp_path):
    ref, target = OF_EACH_KIND[kind], tmp_path / "found.json"
    found = run("refute", ref, "--save", target)
    assert found.exit_code == 0 and found.stdout.startswith(f"{claim(ref).ref}: {claim(ref).functional.meaning}")
    assert run("replay", target).stdout == found.stdout


@pytest.fixture
def short_search(monkeypatch):
    monkeypatch.setattr(refutes, "search", partial(search, candidates=20, climbs=1, steps=1))


@pytest.mark.parametrize("ref", ["flics.thm1@appendix", "flics.thm1@main"])
def test_what_no_search_finds_a_paper_constructs(ref, tmp_path, short_search):
    target = tmp_path / "found.json"
    assert run("refute", ref, "--save", target).exit_code == 0
    assert json.loads(target.read_text()) == json.loads(json.dumps(construct(ref).to_json()))
    assert run("replay", target, "--json").exit_code == 0


def test_a_construction_that_refutes_in_part_is_told_and_not_saved(tmp_path, short_search):
    target = tmp_path / "found.json"
    done = run("refute", "fast.rem2.a", "--save", target)
    assert done.exit_code == 1 and not target.exists()
    falling = [reading.refutes for reading in construct("fast.rem2.a").readings]
    assert f"constructed: an instance that refutes it under {sum(falling)} of {len(falling)} readings" in done.stdout
    assert 0 < sum(falling) < len(falling)


def test_a_construction_is_of_its_own_claim_alone():
    from dataclasses import replace

    thm1 = claim("flics.thm1")
    assert construct(thm1).refutes
    assert construct(replace(thm1, terms=thm1.terms[:1])) is None
    assert construct(replace(thm1, id="mine.thm1")) is None


def test_an_instance_against_what_is_proved_is_told_with_the_proof(tmp_path, monkeypatch):
    """Of fast.rem2.a one reading is proved and the other falls. Were that one proved, both would be told."""
    (path,) = [path for path in PATHS if path.stem == "fast.rem2.a@main"]
    shown = proof_of(claim("fast.rem2.a"))
    (falling,) = [r["reading"] for r in json.loads(path.read_text())["readings"] if r["refutes"]]
    assert run("replay", path).stderr == ""
    monkeypatch.setattr(Chain, "readings", (falling,))
    done = run("replay", path, "--json")
    assert done.exit_code == 1 and "fast.rem2.a@main: There is a complete proof of it" in done.stderr
    proof = json.loads(done.stdout)["proof"]
    assert proof["outcome"] == "proved" and len(proof["steps"]) == len(shown.decisions)
