"""Exit statuses, files that are none, and what the command line says of itself."""

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fedtheory.cli import statuses
from fedtheory.cli.app import app
from fedtheory.cli.statuses import STATUSES, run
from fedtheory.evidence import findings, referee
from fedtheory.evidence.findings import Row
from fedtheory.evidence.result_cache import Cache
from fedtheory.files import LARGEST, check_target, read_file, read_json, write_beside
from fedtheory.papers import claim, instance_path
from fedtheory.printing import PIPE, print_findings, print_table
from fedtheory.proof.saved_proofs import check_file
from tests.work import counted

PAGE = Path(__file__).parent.parent / "docs" / "exit-statuses.md"
ROWS = {row[0].strip(): row[1].strip() for line in PAGE.read_text().splitlines()
        if len(row := re.split(r"(?<!\\)\|", line.strip("|"))) == 2}  # fmt: skip
THEOREM = ["smoothness=1", "strong_convexity=0.5", "gradient_noise=0", "dissimilarity=0.05", "initial_distance=1",
           "cohort=1", "arbitrary_cohort=1", "local_steps=1", "snapshot_probability=0.9"]  # fmt: skip


def told(capsys, *arguments):
    """The status, and what was said on standard error."""
    status = run(list(map(str, arguments)))
    return status, capsys.readouterr().err


def refused(capsys, *arguments):
    """The one line that refuses these arguments."""
    status, text = told(capsys, *arguments)
    assert status == 2 and text.startswith("fedtheory: ") and text.count("\n") == 1, text
    return text


# What statuses there are.


def test_the_page_says_what_every_status_means():
    assert {int(key): text.replace("\\|", "|") for key, text in ROWS.items() if key.isdigit()} == STATUSES


def test_the_page_names_commands_only():
    named = {key.strip("`") for key in ROWS if key.startswith("`")}
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    inner = {
        f"data {command.callback.__name__}" for command in app.registered_groups[0].typer_instance.registered_commands
    }
    assert len(named) == 8 and named <= known | inner


def test_a_defect_is_no_answer(monkeypatch, capsys):
    """Python's own status for an uncaught error, 1, would say no."""

    def broken(arguments):
        raise KeyError("rounds")

    monkeypatch.setattr(statuses, "_invoked", broken)
    status, text = told(capsys)
    assert status == 70 and "KeyError" in text and "this is a defect" in text


def python(*arguments, **options):
    command = [sys.executable, "-m", "fedtheory", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, **options)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="a device that is always full")
@pytest.mark.parametrize("arguments", [["--version"], ["claims", "--json"]], ids=["short", "long"])
def test_a_full_disk_is_told(arguments):
    with open("/dev/full", "w") as full:
        done = python(*arguments, stdout=full)
    assert done.returncode == 2 and done.stderr == "fedtheory: No space left on device\n"


@pytest.mark.parametrize("arguments", [["--version"], ["claims", "--json"]], ids=["short", "long"])
def test_output_that_nobody_reads(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:
        done = python(*arguments, stdout=closed)
    assert done.returncode == 141 and done.stderr == ""


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_what_is_closed_is_no_defect(closed, tmp_path):
    """Nothing is printed there, and no other file takes its place."""
    number = ("stdin", "stdout", "stderr").index(closed)
    command = f"{sys.executable} -m fedtheory {{}} {number}>&-"
    good, bad = (subprocess.run(["sh", "-c", command.format(arguments)], capture_output=True, timeout=60, cwd=tmp_path)
                 for arguments in ("claims", "show fast.thm0"))  # fmt: skip
    assert (good.returncode, bool(good.stdout), good.stderr) == (0, closed != "stdout", b"")
    assert (bad.returncode, bad.stdout, bad.stderr.count(b"\n")) == (2, b"", int(closed != "stderr"))


def test_a_name_that_is_no_utf_8(tmp_path):
    name = os.fsdecode(b"\xff.toml")
    (tmp_path / name).write_text("title = 1")
    for arguments in (["replay", "absent" + name], ["run", name], ["replay", name]):
        done = python(*arguments, stdout=subprocess.PIPE, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "udcff" in done.stderr, done.stderr


ENDED = """
import os, signal, sys
sys.argv = ["fedtheory", "claims"]
import fedtheory.files
from fedtheory.papers import index

def listing():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        print("closed")

index.listing = listing
from fedtheory.__main__ import main
main()
"""


def test_sigterm_is_told_by_the_status_and_closes_what_is_open():
    done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout) == (143, b"", b"closed\n")


def test_a_handler_of_sigterm_that_is_there_stays_and_threads_set_none(monkeypatch):
    """As where a server calls a command: its own handler counts, and a thread may set none."""

    def own(number, frame):
        pass

    def handler(arguments):
        seen.append(signal.getsignal(signal.SIGTERM))
        return 0

    monkeypatch.setattr(statuses, "_invoked", handler)
    before, seen = signal.getsignal(signal.SIGTERM), []
    try:
        for there in (own, signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGTERM, there)
            assert run() == 0 and signal.getsignal(signal.SIGTERM) == there
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(run).result() == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [own, signal.SIG_IGN, statuses._terminate, signal.SIG_DFL]


def test_messages_move_no_cursor(monkeypatch, capsys):
    """What a file says stands in messages."""

    def broken(arguments):
        raise ValueError("a.json: 'x\x1b[2J\u202ey': allowed is 1")

    monkeypatch.setattr(statuses, "_invoked", broken)
    assert told(capsys) == (2, "fedtheory: a.json: 'x\\x1b[2J\\u202ey': allowed is 1\n")


UNGUARDED = """
from pathlib import Path
from fedtheory.experiments.commands import RunOptions, run_files
run_files([Path("e.toml")], RunOptions(Path("runs"), workers=2))
"""


def test_a_script_that_starts_processes_when_it_is_imported(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 1 and "workers: processes import the script" in done.stderr.splitlines()[-1]


INTERRUPTED = """
import builtins, os, signal
real = builtins.__import__

def importing(name, *rest):
    if name == {name!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest)

builtins.__import__ = importing
signal.signal(signal.SIGINT, signal.default_int_handler)
import sys
sys.argv = ["fedtheory", "claims"]
from fedtheory.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["typer", "app", "papers.index"])
def test_interrupted_while_it_imports(name):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED.format(name=name)], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout) == (130, b"", b"")


# Files that are none, or not what they should be.


@pytest.fixture
def strange(tmp_path):
    """Paths by what is wrong with them."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    return {"is a folder|Is a directory": tmp_path / "folder", "is a pipe": tmp_path / "pipe",
            "is a device": "/dev/zero", "symbolic links": tmp_path / "loop"}  # fmt: skip


def test_what_is_no_regular_file_is_refused_at_once(strange, tmp_path):
    for why, path in strange.items():
        for read in (read_json, check_file):
            with pytest.raises(ValueError, match=why), counted(1000, bytes=2**20):
                read(Path(path))
    (tmp_path / "long").write_bytes(b"12345")
    assert read_file(tmp_path / "long", 5) == b"12345" and LARGEST >= 2**20
    with pytest.raises(ValueError, match="has more than 4 bytes"):
        read_file(tmp_path / "long", 4)


def test_commands_refuse_what_is_no_regular_file(strange, tmp_path, capsys):
    budget = tmp_path / "budget.csv"
    budget.write_text("budget\n1\n")
    for why, path in strange.items():
        assert re.search(why, refused(capsys, "replay", path))
        assert re.search(why, refused(capsys, "prove", "--check", path))
        assert re.search(why, refused(capsys, "offvar", path, "--budget", budget, "--weights", budget))
        status, text = told(capsys, "run", path)
        assert status == 2 and re.search(why, text) and text.count("\n") == 1


@pytest.mark.parametrize("content", ['{"a": 1, "a": 2}', '{"b": [{"c": {"a": 1, "d": 2, "a": 1}}]}'])
def test_a_key_that_is_there_twice_is_refused(tmp_path, content):
    (tmp_path / "file.json").write_text(content)
    with pytest.raises(ValueError, match=r"file.json: not a JSON file \(the key 'a' is there twice"):
        read_json(tmp_path / "file.json")


def test_nothing_replaces_a_device_a_pipe_or_a_folder(strange, tmp_path):
    for path in (tmp_path / "pipe", tmp_path / "folder", Path("/dev/null")):
        kind = path.stat().st_mode
        for writing in (check_target, lambda path: write_beside(path, b"")):
            with pytest.raises(ValueError, match="allowed is"):
                writing(path)
        assert path.stat().st_mode == kind


def test_a_plan_that_cannot_be_written_is_refused_before_it_is_made(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fedtheory.selection.readers.read_availability", lambda path: pytest.fail("begun"))
    for command in ("offvar", "select"):
        text = refused(capsys, command, "a.csv", "--budget", "b.csv", "--weights", "c.csv", "--plan", tmp_path)
        assert f"path = {str(tmp_path)!r}: allowed is a file" in text
    (tmp_path / "file").write_text("")
    assert "allowed is a file" in refused(capsys, "verify", "--report", tmp_path / "file" / "report")


def test_a_full_disk_while_a_plan_is_written(tmp_path, capsys, monkeypatch):
    for name, content in {"a": "x,y\n2,3\n", "b": "budget\n1\n", "w": "group,weight\nx,0.5\ny,0.5\n"}.items():
        (tmp_path / f"{name}.csv").write_text(content)

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    files = [tmp_path / "a.csv", "--budget", tmp_path / "b.csv", "--weights", tmp_path / "w.csv"]
    assert "No space left" in refused(capsys, "offvar", *files, "--plan", tmp_path / "plan.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.csv", "w.csv"}


def test_a_header_alone_is_told_without_warnings(tmp_path, capsys, recwarn):
    (tmp_path / "a.csv").write_text("x,y\n")
    text = refused(capsys, "offvar", tmp_path / "a.csv", "--budget", "b.csv", "--weights", "c.csv")
    assert "no line after the header" in text and not recwarn.list


def test_published_instances_are_replayed_by_name(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["replay", "flics.lemma5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claim"] == "flics.lemma5@main"
    missing = "report/instances/fast.thm1@main.json"
    assert "replayed by the name fast.thm1@main" in refused(capsys, "replay", missing)
    assert "fast.lemma2@main has no published instance" in refused(capsys, "replay", "fast.lemma2")
    assert "no such file, and no claim either" in refused(capsys, "replay", "report/mine.json")
    Path("flics.lemma5").write_bytes(instance_path("flics.lemma4@main").read_bytes())
    assert run(["replay", "flics.lemma5", "--json"]) == 0, "a file of that name comes first"
    assert json.loads(capsys.readouterr().out)["claim"] == "flics.lemma4@main"


# What the command line says of itself, and of slips.


def test_version_and_help(capsys):
    assert run(["--version"]) == 0 and re.fullmatch(r"fedtheory \d+\.\d+\.\d+(rc\d+)?\n", capsys.readouterr().out)
    for arguments in (["-h"], ["--help"], ["data", "-h"], ["evaluate", "-h"]):
        assert run(arguments) == 0
        text = capsys.readouterr().out
        assert text.startswith("Usage: fedtheory") and not re.search(r"[a-z]\.\.\.$", text.split("Commands:")[-1], re.M)
    assert run(["--show-completion"]) in (0, 1)


def test_one_value_for_one_name(capsys):
    text = refused(capsys, "evaluate", "fast.thm2", *THEOREM, "rounds=10", "local_lr=0.01", "rounds=20")
    assert "rounds = 10.0 and 20.0: allowed is one value" in text
    read = ["--reading", "q-condition=product", "--reading", "q-condition=product"]
    assert "allowed is one value" in refused(capsys, "evaluate", "fast.thm2", *THEOREM, "rounds=10", *read)


def test_lists_of_one_length(capsys):
    text = refused(capsys, "evaluate", "fast.thm2", *THEOREM, "rounds=10,20,30", "local_lr=0.01,0.02")
    assert "rounds has 3 values, local_lr has 2 values: allowed are lists of one length" in text
    assert run(["evaluate", "fast.thm2", *THEOREM, "rounds=10,20", "local_lr=0.01,0.02"]) == 0


@pytest.mark.parametrize("columns", ["", "60", "200"])
def test_findings_fit(columns, capsys, monkeypatch):
    """In a pipe too, where nobody says how wide it is; nothing is lost but what is said to be left out."""
    monkeypatch.setenv("COLUMNS", columns) if columns else monkeypatch.delenv("COLUMNS", raising=False)
    what = " ".join(f"word{i}" for i in range(200))
    print_findings([Row("fast.thm2@main, fast.thm2@appendix", "(1)", what, "proof")])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= int(columns or PIPE)
    assert re.findall(r"word\d+", shown) == what.split()


def test_a_table_fits_or_says_what_it_left_out(capsys, monkeypatch):
    rows = [{"name": "some_name", "units": "F/x^2", "allowed": "a finite number > 0", "meaning": "word " * 30}]
    print_table(rows)
    assert len(capsys.readouterr().out.splitlines()) == 2  # in a pipe every row is one line
    for columns, left_out in (("100", False), ("40", True)):
        monkeypatch.setenv("COLUMNS", columns)
        print_table(rows)
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= int(columns) and shown.count("word") == 30
        assert ("left out, for want of room: allowed" in " ".join(shown.split())) is left_out


# Findings kept by content.


def test_errata_are_kept_until_a_paper_changes(tmp_path, monkeypatch):
    asked, known = [], claim("fast.lemma2")

    def find(one):
        asked.append(one.ref)
        return [Row(one.ref, "(1)", "wrong", "proof")]

    monkeypatch.setattr(findings, "findings", find)
    cache = Cache(tmp_path)
    first = findings.kept_findings(known, cache)
    assert findings.kept_findings(known, cache) == first == find(known) and asked == [known.ref] * 2
    findings.kept_findings(claim("flics.lemma5"), cache)
    monkeypatch.setattr(findings, "papers_fingerprint", lambda: "another instance")
    findings.kept_findings(known, cache)
    findings.kept_findings(known, None)
    assert len(asked) == 5


def test_the_papers_fingerprint_is_of_their_files(tmp_path, monkeypatch):
    class Fake:
        folder = tmp_path

    monkeypatch.setattr(findings, "papers", lambda: {"own": Fake})
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "a.json").write_text("1")
    seen = {findings.papers_fingerprint(), findings.papers_fingerprint()}
    (tmp_path / "proofs" / "__pycache__").mkdir(parents=True)
    for made in ("proofs/__pycache__/a.pyc", findings.FILE):
        (tmp_path / made).write_text("made of the others")
        seen.add(findings.papers_fingerprint())
    (tmp_path / "instances" / "a.json").write_text("2")
    assert len(seen) == 1 and findings.papers_fingerprint() not in seen


def test_the_referee_says_how_far_it_is(monkeypatch):
    nothing = {"falls_without": lambda claim: {}, "_repair_rows": lambda *given: [], "proof_of": lambda claim: None,
               "_attempt": lambda claim: None, "_own_decisions": lambda *given: [],
               "search_further": lambda claim, report, seed: (report, None, "")}  # fmt: skip
    for name, answer in nothing.items():
        monkeypatch.setattr(referee, name, answer)
    seen = []
    referee.examine(claim("fast.lemma2"), candidates=20, progress=lambda *at: seen.append(at))
    assert [label.rpartition(": ")[2] for label in dict.fromkeys(label for label, *_ in seen)] == [
        "proof", "search", "what was found",
    ]  # fmt: skip
    assert seen[-1][1:] == (1, 1)


def test_a_claim_that_needs_something_replays_by_its_name(capsys):
    """What is published of fast.thm2@main violates an assumption that it does not state; nothing refutes it."""
    assert run(["replay", "fast.thm2@main"]) == 0
    assert "violates cohort_before_noise, which the claim does not assume" in capsys.readouterr().out
