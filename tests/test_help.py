"""Every command's help says what it does, with an example, in under 15 lines of 80 columns; ``--help-all`` says all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from fedtheory.cli import app
from fedtheory.cli.app import FULL, GROUPS, MOST
from fedtheory.cli.statuses import run


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", {})
    if not inner:
        yield path, command
    for name, each in inner.items():
        yield from commands(each, (*path, name))


ALL = dict(commands(typer.main.get_command(app)))


def test_help_lists_every_command_in_one_group() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted({path[0] for path in ALL})


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_help_is_short_and_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(ALL) >= 23
    for path, command in ALL.items():
        assert run([*path, "--help"]) == 0
        text = capsys.readouterr().out
        lines = text.rstrip().splitlines()
        assert len(lines) <= MOST < 15 and max(map(len, lines)) <= 80, (path, text)
        assert "-h," not in text, path  # help says nothing of itself
        assert f"Example: fedtheory {' '.join(path)}" in text, path
        named = [name for each in command.params for name in getattr(each, "opts", ()) if name.startswith("--")]
        assert all(name in text for name in named if "help" not in name), (path, text)


def test_short_help_says_what_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    for path, command in ALL.items():
        assert run([*path, "--help"]) == 0
        rows = capsys.readouterr().out.partition("More: ")[0]
        needed = [each for each in command.params if each.required]
        assert rows.count("[required]") == len(needed), path


def test_the_names_of_help_keep_their_order() -> None:
    group = typer.main.get_command(app)
    whole = group.make_context("fedtheory", [], resilient_parsing=True)
    for command in (group, *group.commands.values(), *ALL.values()):
        context = command.make_context("it", [], parent=whole, resilient_parsing=True)
        assert command.get_help_option_names(context) == ["-h", "--help", FULL], command.name


def test_all_help_has_what_the_short_one_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    for path, command in ALL.items():
        assert run([*path, "--help-all"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert " ".join((command.help or "").split()) in told, path
        assert all(" ".join(each.help.split()) in told for each in command.params if getattr(each, "help", "")), path
