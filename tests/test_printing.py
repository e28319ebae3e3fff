"""How far a long command is: lines where standard error is no terminal, and none for a short one."""

from __future__ import annotations

import time

import pytest

from fedtheory.printing import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_long_command_says_how_much_is_left_and_how_long_it_takes(clock, capsys) -> None:
    with Progress() as progress:
        for done in range(1, 31):
            clock[0] += 5.0
            progress("claim: search", done, 30)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [  # the pace is that since the first call
        "fedtheory: claim: search: 2 of 30, about 0:01:10 left",
        "fedtheory: claim: search: 14 of 30, about 0:01:14 left",
        "fedtheory: claim: search: 26 of 30, about 0:00:19 left",
    ]


def test_a_short_command_says_nothing_and_one_that_begins_names_no_time(clock, capsys) -> None:
    with Progress() as progress:
        for done in range(1, 4):
            clock[0] += 3.0
            progress("short", done, 3)
        clock[0] += 30.0
        progress("last", 3, 3)
        progress("begun", 0, 7)
    assert capsys.readouterr().err.splitlines() == ["fedtheory: begun: 0 of 7"]
