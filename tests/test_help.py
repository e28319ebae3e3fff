"""Every command's help says what it does, with an example, in under 15 lines of 80 columns; ``--help-all`` says all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
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


ROOT = Path(__file__).parents[1]
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


def unknown(text: str) -> list[str]:
    """What pages write in code after `fedtheory` that is no command, or no option of it."""
    code = re.findall(r"```\w*\n(.*?)```|`([^`]+)`", text, re.DOTALL)
    lines = "\n".join(block.replace("\\\n", " ") or " ".join(span.split()) for block, span in code).splitlines()
    found = []
    for command in (line.partition(" #")[0].split() for line in lines if line.startswith("fedtheory ")):
        path = tuple(command[1:3]) if tuple(command[1:3]) in ALL else tuple(command[1:2])
        if path in ALL:
            known = {name for each in ALL[path].params for name in (*each.opts, *each.secondary_opts)}
            named = {word.partition("=")[0] for word in command if word.startswith("--")}
            found += [f"{' '.join(path)} {name}" for name in named - known - {"--help", "--help-all"}]
        elif re.fullmatch(r"[a-z]+", path[0]) and command[1:] != ["data"] and path[0] != "claim":  # a file's format
            found.append(path[0])
    return found


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are not beside the tests")
def test_commands_on_pages_are_there_with_their_options() -> None:
    """Planted: a command and an option that are not."""
    planted = (
        "`fedtheory proves` `fedtheory data get`\n```sh\nfedtheory run X --seed 1 --set \\\n  a=1  # as it is\n```\n"
    )
    assert sorted(unknown(planted)) == ["data", "proves", "run --seed"]
    texts = {path: path.read_text(encoding="utf-8") for path in TEXTS}
    assert sum(text.count("`fedtheory ") for text in texts.values()) > 100
    assert {path: found for path, text in texts.items() if (found := unknown(text))} == {}
