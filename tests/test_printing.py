"""How far a long command is: a bar on a terminal, lines elsewhere, none for a short one; and how long it will take."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import pytest

from fedtheory.cli.statuses import run
from fedtheory.loops import first_compilation
from fedtheory.printing import Progress, _Stage, print_judgement, print_markdown, print_wrapped


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that pass when a test says so; what ticks by itself is off."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Progress, "_tick", lambda self: None)
    return now


def test_a_long_command_says_how_much_is_left_and_how_long_it_takes(clock, capsys) -> None:
    with Progress() as progress:
        for done in range(1, 9):
            clock[0] += 5.0
            progress("claim: search", done, 9)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [  # the pace is that since the first call
        "fedtheory: claim: search: 1 of 9",
        "fedtheory: claim: search: 3 of 9, about 0:00:30 left",
        "fedtheory: claim: search: 5 of 9, about 0:00:20 left",
        "fedtheory: claim: search: 7 of 9, about 0:00:10 left",
    ]


def test_a_short_command_says_nothing_and_one_that_begins_names_no_time(clock, capsys) -> None:
    with Progress() as progress:
        for done in range(1, 3):
            clock[0] += 1.0
            progress("short", done, 2)
        clock[0] += 30.0
        progress("last", 3, 3)
        progress("begun", 0, 7)
    assert capsys.readouterr().err.splitlines() == ["fedtheory: begun: 0 of 7"]


def test_a_line_comes_while_a_piece_of_work_goes_on(capsys, monkeypatch) -> None:
    monkeypatch.setattr(Progress, "QUIET", 0.1)
    with Progress() as progress:
        progress.doing("reading mine.py")
        for _ in range(100):  # a thread tells it, some half a second later
            time.sleep(0.05)
            if said := capsys.readouterr().err:
                break
    assert said == "fedtheory: reading mine.py\n"


def test_what_an_earlier_run_has_done_and_the_set_up_are_no_pace(clock) -> None:
    with Progress() as progress:
        clock[0] += 40.0  # the set-up
        progress("runs", 50, 100)
        clock[0] += 10.0
        progress("runs", 60, 100)
        assert progress.stages["runs"].left(clock[0]) == 40.0
        progress("runs", 0, 100)  # another search of that name
        assert progress.stages["runs"].left(clock[0]) is None


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_is_a_bar_at_once(monkeypatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with Progress() as progress:
        progress.doing("reading mine.py")
        progress.bars.refresh()
        assert "reading mine.py" in screen.getvalue()
        progress("mine.thm1: search", 371, 1000)
        progress.bars.refresh()
        assert "mine.thm1: search" in screen.getvalue() and "37 %" in screen.getvalue()
        assert [*progress.tasks] == ["mine.thm1: search"]


LOGS = json.loads((Path(__file__).parent / "reference" / "progress_logs.json").read_text())
"""By command and stage, the calls of ``Progress`` that it made, as (seconds, done, total).

Of ``verify`` and ``errata``, what is done is told by what pieces of work took in one run, and the seconds are those of
another run; of ``verify``
they are of two workers that take the longest piece first, reckoned from the seconds of each piece. Of ``run`` they are
CPU seconds, of three settings of `fedtheory new`'s file with 1, 20 and 5 local steps over 4000 rounds.
"""


def factors(calls: list[list[float]]) -> list[float]:
    """How far off the time was that was told to be left, from the first tenth of the work to the last second of it."""
    (begun, first), (end, _), total = calls[0][:2], calls[-1][:2], calls[0][2]
    stage, found = _Stage(total, [(begun, first)], (begun, first)), []
    for at, done, _ in calls:
        stage.call(at, done)
        told, left = stage.left(at), end - at
        if told is not None and done - first >= (total - first) / 10 and left > 1:
            found.append(max(told, 1e-9) / left)
    return found


@pytest.mark.parametrize("command", LOGS)
def test_the_time_left_is_within_a_factor_2_from_the_first_tenth_on(command: str) -> None:
    for label, calls in LOGS[command].items():
        found = factors(calls)
        assert found and all(1 / 2 <= factor <= 2 for factor in found), (label, min(found), max(found))


def test_the_first_compilation_is_told_once(capsys, clock) -> None:
    from numba import njit

    import fedtheory.loops.compiler  # noqa: F401 - which listens

    def new(a: float) -> float:
        return a + 1

    def other(a: float) -> float:
        return a + 2

    with Progress():
        assert njit(new)(1.0) == 2.0
        assert njit(other)(1.0) == 3.0
    assert first_compilation.tell is None
    assert capsys.readouterr().err == f"fedtheory: {first_compilation.SAID}\n"


NARROW = (
    "", "--help", "claims", "claims --counts", "show fast.thm2", "evaluate fedau.thm3 K=50 T=1000 cutoff_bias=0",
    "explain L", "quantities", "functionals", "assumptions", "algorithms", "tables --paper flics",
    "data list", "experiments",
    "replay fast.thm1@main", "prove fast.thm2@sharper --recheck", "prove --missing",
)  # fmt: skip


def test_what_is_printed_fits_60_columns(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for command in NARROW:
        assert run(command.split()) == 0
        wide = [line for line in capsys.readouterr().out.splitlines() if len(line) > 60]
        assert not wide, (command, wide[:3])


def test_markdown_in_a_pipe_stays_one_line_a_row(monkeypatch, capsys) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_markdown(f"| {'word ' * 60}|")
    assert capsys.readouterr().out.count("\n") == 1


def test_a_formula_is_broken_at_its_signs_and_nothing_is_lost(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    formula = "initial_distance**2*exp(-local_lr*local_steps*rounds*strong_convexity)"
    print_wrapped(f"initial: {formula}", "    ")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 30 and "".join(line.strip() for line in lines) == f"initial: {formula}"


def test_a_right_side_of_0_has_no_ratio(capsys) -> None:
    reading = {"refutes": True, "left": "1", "right": "0", "ratio": "inf", "reading": {}}
    print_judgement({"claim": "a.thm1@main", "functional": "x", "readings": [reading], "hypotheses": []})
    assert capsys.readouterr().out.splitlines()[1:] == ["left 1 > right 0", "refuted under 1 of 1 reading"]
    double = {**reading, "right": "1/2", "ratio": "2"}
    print_judgement({"claim": "a.thm1@main", "functional": "x", "readings": [reading, double], "hypotheses": []})
    assert capsys.readouterr().out.endswith("refuted under 2 of 2 readings\n")
