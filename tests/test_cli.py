"""The command line: what it prints, its JSON, its errors and exit statuses."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

import fedtheory
from fedtheory.cli.statuses import run as status_of
from fedtheory.papers import all_claims, instance_path, papers
from fedtheory.printing import assignment, print_judgement

INSTANCE = instance_path("fast.thm1@main")
INSTANCES = [path for paper in papers().values() for path in sorted((paper.folder / "instances").glob("*.json"))]
VALUES = {
    "smoothness": 1, "strong_convexity": 0.5, "gradient_noise": 0, "dissimilarity": 0.05, "initial_distance": 1,
    "cohort": 1, "arbitrary_cohort": 1, "local_steps": 1, "local_lr": 0.01, "snapshot_probability": 0.9, "rounds": 10,
}  # fmt: skip


def run(*arguments):
    """A command in this process, which has loaded already what most of them need: a process of its own differs in
    nothing but time, as ``test_a_process_says_the_same`` sees."""
    command, out, error = list(map(str, arguments)), io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        status = status_of(command)
    return subprocess.CompletedProcess(command, status, out.getvalue(), error.getvalue())


def complaints(done):
    """What a command says on standard error, but for what it is doing, which a loaded machine has it say."""
    doing = ("fedtheory: judging ", "fedtheory: flics.lemma6: ")
    return [line for line in done.stderr.splitlines() if not line.startswith(doing)]


def sentences(printed):
    """What was printed, without the breaks of lines that are too long, after which all are indented."""
    return [" ".join(one.split()) for one in re.sub(r"\n +", " ", printed).splitlines()]


@pytest.mark.parametrize(
    "arguments", [["evaluate", "fast.thm2", "smothness=1"], ["prove", "flics.lemma6"], ["replay", "fast.thm1"]]
)
def test_a_process_says_the_same(arguments):
    command = [sys.executable, "-m", "fedtheory.cli", *arguments]
    environment = dict(os.environ)  # without the COLUMNS that readline, which pytest loads, puts in behind it
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    here = run(*arguments)
    assert (done.returncode, done.stdout, complaints(done)) == (here.returncode, here.stdout, complaints(here))


def assignments(**changes):
    return [f"{name}={value}" for name, value in (VALUES | changes).items() if value is not None]


def test_claims_lists_every_edition():
    listed = json.loads(run("claims", "--json").stdout)
    assert [row["claim"] for row in listed] == [claim.ref for claim in all_claims()]
    text = run("claims").stdout
    assert all(row["source"] in text for row in listed)


def test_show_names_terms_hypotheses_and_clashing_units():
    shown = json.loads(run("show", "fast.thm2", "--json").stdout)
    assert list(shown["terms"]) == ["initial", "arbitrary_rounds", "heterogeneity", "noise"]
    assert [line.split(":")[0] for line in shown["units"]] == ["arbitrary_rounds", "q_condition"]
    assert "units: homogeneous" in run("show", "fast.thm2@appendix").stdout
    chosen = json.loads(run("show", "li2020.thm1", "--json").stdout)["choices"]
    assert chosen == {"local_lr": "2/(strong_convexity*(step_index + step_shift + 1))"}


def test_evaluate_by_hand():
    done = run("evaluate", "fast.thm2", *assignments(rounds="10,20"), "--json")
    bound = json.loads(done.stdout)
    # (1 - q) K eta / (2 mu) and 8 K eta sigma_G^2 / mu.
    assert bound["terms"]["arbitrary_rounds"] == pytest.approx(0.1 * 0.01 / (2 * 0.5), rel=1e-15)
    assert bound["terms"]["heterogeneity"] == pytest.approx(8 * 0.01 * 0.0025 / 0.5, rel=1e-14)
    assert len(bound["value"]) == 2 and bound["value"][0] > bound["value"][1]
    assert bound["hypotheses_hold"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "fast.thm2", *assignments(strong_convexity=None)], "needs strong_convexity"),
        (
            ["evaluate", "fast.thm2", *assignments(), "--reading", "q=1"],
            "reading of 'q': allowed for fast.thm2",
        ),
        (["evaluate", "fast.thm2", *assignments(), "smothness=1"], "did you mean 'smoothness'?"),
        (["evaluate", "fast.thm2", "L=1", "sigmaa=2"], "unknown quantity 'sigmaa': did you mean 'sigma'?"),
        (["evaluate", "fast.lemma1", "zzz=1"], "'zzz': those of fast.lemma1@main are displacement, smoothness"),
        (["explain", "sigmma"], "'sigmma' is no word of fedtheory: did you mean 'sigma'?"),
        (["evaluate", "fast.thm2", *assignments(gradient_noise="nan")], "gradient_noise = nan: allowed"),
        (["evaluate", "fast.thm2", *assignments(strong_convexity=2)], "strong_convexity = 2.0: allowed"),
        (["evaluate", "fast.thm2", *assignments(snapshot_probability=1.5)], "snapshot_probability = 1.5: allowed"),
        (["evaluate", "fast.thm2", *assignments(clients=1, cohort=2)], "cohort = 2.0: allowed"),
        (["evaluate", "fast.thm2", *assignments(local_lr="1/0")], "local_lr = '1/0': allowed"),
        (["evaluate", "fast.thm2", "__import__('os')"], "allowed is name=number"),
        (["show", "fast.thm3"], "unknown claim 'fast.thm3': did you mean 'fast.thm"),
        (["prove", "fast.thm3"], "unknown claim 'fast.thm3': did you mean 'fast.thm"),
        (["errata", "--paper", "slow"], "paper = 'slow': allowed is fast"),
        (["referee", "absent.py"], "absent.py: no such file"),
        (["replay", "absent.json"], "absent.json"),
        (
            ["diagnose", "absent.csv", "--column", "client=a", "--column", "client=b"],
            "client = a and b: allowed is one",
        ),
        (["experiments", "--price", "docs/real_clients/../../pyproject.toml"], "allowed are experiment files of"),
        (["replay", ""], ": no such file, and no claim either"),
        (["refute", "fast.thm1", "--seed", "-1"], "seed = -1: allowed is an integer from 0"),
        (["referee", "docs/referee/my_theorem.py", "--seed", "-1"], "seed = -1: allowed is an integer from 0"),
        (["learnability", "--seed", "-1"], "seed = -1: allowed is an integer from 0"),
        (["learnability", "--clients", "1"], "clients = 1: allowed is an integer >= 2"),
        (["errata", "--paper", "safari", "--into", "absent.md"], "absent.md: no such file"),
        (["errata", "--paper", "safari", "--into", "README.md"], "allowed is a file with one line '<!-- generated: b"),
    ],
)
def test_wrong_input_is_named_in_one_line(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "fast.thm2", "--latex", "--json"],
        ["prove", "--check", "a.json", "--save", "b.json"],
        ["prove", "--missing", "--recheck"],
        ["prove", "fast.thm2@sharper", "--export", "coq", "--json"],
        ["prove", "fast.thm2@sharper", "--export", "coq", "--save", "b.json"],
    ],
)
def test_options_that_would_do_nothing_are_refused(arguments):
    done = run(*arguments)
    assert done.returncode == 2 and ": allowed " in " ".join(done.stderr.split()) and not done.stdout


def test_replay_of_the_published_instance_and_of_a_changed_one(tmp_path):
    done = run("replay", INSTANCE, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["refutes"] is True
    content = json.loads(INSTANCE.read_text())
    content["algorithm"]["local_lr"] = "1/2"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(content))
    done = run("replay", changed)
    assert done.returncode == 1
    assert "the hypothesis step_cap does not hold" in done.stderr


@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.stem)
def test_every_published_instance_can_be_printed(path, capsys):
    """What `replay` prints is made of the file's own entries: of every kind, refuting in whole or in part."""
    content = json.loads(path.read_text())
    print_judgement(content)
    lines = sentences(capsys.readouterr().out)
    falling = [reading for reading in content["readings"] if reading["refutes"]]
    assert lines[0] == f"{content['claim']}: {content['functional']}"
    assert lines[1].startswith(f"left {falling[0]['left']} > right")
    assert ("rounds" in lines[1]) is ("rounds" in content)
    readings = content["readings"]
    assert lines[-1] == f"refuted under {len(falling)} of {len(readings)} reading{'s' * (len(readings) != 1)}"
    assert len([line for line in lines if line.split()[0] in {h["name"] for h in content["hypotheses"]}]) == len(
        content["hypotheses"]
    )


def test_replay_of_an_instance_without_rounds_and_of_one_that_refutes_in_part():
    whole, part = map(instance_path, ("flics.lemma5@main", "fedau.lemmaB_3_3@main"))
    done = run("replay", whole)
    assert done.returncode == 0 and "readings" in done.stdout.splitlines()[-1] and not complaints(done)
    done = run("replay", part)
    assert done.returncode == 1 and "refuted under 1 of 2 readings" in done.stdout and not complaints(done)


@pytest.mark.parametrize("ref", ["safari.thm2.improvement", "safari.lemma2"])
def test_claims_on_values_and_on_learning_are_replayed_without_torch(ref):
    code = "import sys; sys.modules['torch'] = None; from fedtheory.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "replay", ref], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "refuted under" in done.stdout and not complaints(done)


def test_broken_files_are_named(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema": 1,')
    done = run("replay", broken)
    assert done.returncode == 2 and "broken.json: not a JSON file" in done.stderr


def test_prove_prints_the_chain_and_fails_where_a_step_is_open(tmp_path):
    done = run("prove", "fast.lemma2", "--json", "--save", tmp_path / "lemma2.json")
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said["outcome"] == said["verdict"] == "proved"
    assert said["uses"]["assumptions"] == ["smooth(smoothness)", "strongly_convex(strong_convexity)"]
    saved = json.loads((tmp_path / "lemma2.json").read_text())
    assert saved["claim"]["id"] == "fast.lemma2" and saved["theorems"] and saved["bounds"]
    assert "fast.lemma2@main: proved" in run("prove", "fast.lemma2", "--recheck").stdout
    done = run("prove", "flics.lemma6")
    assert done.returncode == 1
    assert done.stdout.startswith("flics.lemma6@main: gap") and "first open step" in done.stdout


def test_a_referee_file_that_does_not_import_is_named_in_one_line(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("x = 1\nimport absent_module\n")
    done = run("referee", path)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
    assert "mine.py, line 2: ModuleNotFoundError" in done.stderr and "state is unknown" in done.stderr


def test_numbers_are_parsed_not_evaluated():
    assert assignment("local_lr=1/100") == ("local_lr", 0.01)
    assert assignment("rounds=1,10") == ("rounds", [1.0, 10.0])
    with pytest.raises(ValueError, match="allowed is a number"):
        assignment("local_lr=1+1")


@pytest.mark.parametrize(
    ("command", "first", "keys"),
    [
        ("quantities", "smoothness", {"name", "units", "allowed", "of", "algorithms", "meaning"}),
        ("functionals", "final_squared_distance", {"name", "constant", "units", "of", "algorithms", "meaning"}),
        ("assumptions", "smooth", {"name", "quantity", "bound", "implies", "meaning"}),
        ("algorithms", "fast", {"name", "papers", "quantities", "meaning"}),
    ],
)
def test_what_a_statement_can_be_made_of_is_listed(command, first, keys):
    rows = json.loads(run(command, "--json").stdout)
    assert rows[0]["name"] == first and all(set(row) == keys and row["meaning"] for row in rows)
    text = run(command).stdout
    assert len(text.splitlines()) == len(rows) + 1 and all(row["name"] in text for row in rows)


def test_the_lists_are_the_tables():
    from fedtheory import listings
    from fedtheory.assumptions import ASSUMPTIONS
    from fedtheory.papers.registry import algorithms
    from fedtheory.quantities import QUANTITIES

    assert [row["name"] for row in listings.quantities()] == list(QUANTITIES)
    assert [row["name"] for row in listings.assumptions()] == list(ASSUMPTIONS)
    assert {row["name"]: row["papers"] for row in listings.algorithms()} == {
        name: [paper.name for paper in papers] for name, papers in algorithms().items()
    }
    cohort = next(row for row in listings.quantities() if row["name"] == "cohort")
    assert cohort["algorithms"] == ["fast"] and cohort["allowed"] == "an integer >= 1"
    assert next(row for row in listings.algorithms() if row["name"] == "fast")["quantities"][0] == "cohort"


@pytest.mark.parametrize("command", ["refute", "prove"])
def test_where_a_result_is_saved_is_checked_first(tmp_path, command):
    (tmp_path / "file").write_text("")
    for target in ("a.txt", "file/a.json"):
        done = run(command, "fast.thm1", "--save", tmp_path / target)
        assert done.returncode == 2 and "allowed is a " in done.stderr and not done.stdout


@pytest.mark.parametrize("paper", ["fast", "fedau", "flics", "safari"])
def test_every_printed_table_is_printed(paper):
    found, done = json.loads(run("tables", "--paper", paper, "--json").stdout), run("tables", "--paper", paper)
    assert done.returncode == 0 and len(re.findall(r" printed\n", done.stdout)) == len(found)


def strict(text):
    def refuse(name):
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def test_json_has_no_number_that_is_not_finite(tmp_path, capsys):
    from fedtheory.evidence.scorecard import write_json
    from fedtheory.files import json_text
    from fedtheory.printing import print_json

    content = {"a": [float("inf"), {"b": float("nan")}], "c": -float("inf"), "d": 0.1, "e": (1, None, True)}
    expected = {"a": ["Infinity", {"b": "NaN"}], "c": "-Infinity", "d": 0.1, "e": [1, None, True]}
    print_json(content)
    write_json(tmp_path / "a.json", content)
    for text in (json_text(content), capsys.readouterr().out, (tmp_path / "a.json").read_text()):
        assert strict(text) == expected and float(strict(text)["a"][0]) == float("inf")


def test_json_of_a_bound_that_is_infinite_is_valid():
    done = run("evaluate", "fast.thm2", *assignments(initial_distance="1e200"), "--json")
    assert strict(done.stdout)["terms"]["initial"] == "Infinity"


def test_a_statement_is_cited_with_its_number_its_verdict_and_this_version():
    told = json.loads(run("cite", "safari.thm5", "--json").stdout)
    assert (told["paper"]["year"], told["statement"], told["verdict"]) == (
        2024,
        "SAFARI, section 4, Theorem 5",
        "refuted",
    )
    assert told["work"]["version"] == fedtheory.__version__
    known = papers()["safari"].citation
    assert told["paper"]["authors"] == [*known.authors] and told["paper"]["note"] is None
    assert (told["paper"]["where"], told["paper"]["arxiv"]) == (known.where, known.arxiv) and known.where
    text = " ".join(sentences(run("cite", "fast.thm1@sharp").stdout))
    assert "Anonymous. FAST:" in text and "(an edition of fedtheory, not printed)" in text
    entry = run("cite", "flics.thm1", "--format", "bibtex").stdout
    assert entry.startswith("@misc{flics,\n  author = {M{\\'o}nica Ribero and") and entry.count("{") == entry.count("}")
    assert f"Version {fedtheory.__version__}. Verdict: refuted (flics.thm1@main)" in entry
    assert "allowed is text or bibtex" in run("cite", "fast.thm1", "--format", "ris").stderr
