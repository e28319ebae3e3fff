"""Tutorials and how-to pages: every block is run as it stands, and what a page shows is what is printed.

Blocks of a page go on in one folder, in their order. "Save it as `NAME`" makes the next block that file. A block of
`python` goes on with the names of those before it; one of `sh` runs as a script, with the status that its comment
names. Lines of a `text` block stand in what was printed last, in their order; `...` leaves some out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fedtheory.data.catalogue import available
from fedtheory.extras import absent

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [*sorted(DOCS.glob("tutorials/*.md")), *sorted(DOCS.glob("howto/*.md")),
         *(DOCS / f"{name}.md" for name in ("testing", "diagnose", "experiment-files", "worst-case"))]  # fmt: skip
"""Those that are not here have tests of their own: cluster, real-clients (deploy), referee (worked files)."""
BLOCK = re.compile(r"```(\{literalinclude\} )?(\S*)\n(.*?)```", re.DOTALL)
SAVED = re.compile(r"Save\s+it\s+as `([\w.]+)`")

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are not beside the tests")


class Block(NamedTuple):
    """A block of a page: the language, the text, and the file as which the words before it have it saved."""

    language: str
    text: str
    saved: str


def blocks(page: Path) -> Iterator[Block]:
    text, end = page.read_text(encoding="utf-8"), 0
    for found in BLOCK.finditer(text):
        before, end = text[end : found.start()], found.end()
        saved = SAVED.findall(before.split("\n\n")[-2] if before.endswith("\n\n") else before)
        if found[1]:
            yield Block("python", (page.parent / found[2]).read_text(encoding="utf-8"), saved[-1])
        else:
            yield Block(found[2], found[3], saved[-1] if saved else "")


def lacking(text: str) -> str:
    """Why a block cannot be run here: a data set that it names is not there; or ""."""
    named = re.search(r"# needs the data set ([\w-]+)", text)
    if named and not available(named[1]):
        return f"the data set {named[1]} is not on this machine"
    return "there is no GPU" if "# needs a GPU" in text and not _gpu() else ""


def _gpu() -> bool:
    import torch

    return torch.cuda.is_available()


class Page:
    """A reader of one page, who does what it says in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.printed, self.skipped = folder, "", list[str]()
        bin = folder / "bin"
        bin.mkdir()
        for name, module in {"fedtheory": "-m fedtheory", "python": ""}.items():
            script = bin / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
            script.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "MPLBACKEND": "agg", "COLUMNS": "200"}
        self.session: subprocess.Popen[str] | None = None

    def run(self, command: list[str], status: int) -> None:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == status, f"{command[-1]}\nstatus {done.returncode}\n{done.stderr[-3000:]}"
        self.printed = done.stdout

    def typed(self, text: str) -> str:
        """What a block prints that is typed into a session of Python, which goes on."""
        if self.session is None:
            pipes = {name: subprocess.PIPE for name in ("stdin", "stdout")}
            self.session = subprocess.Popen(
                [sys.executable, "-c", SESSION], cwd=self.folder, env=self.environment, text=True,
                stderr=subprocess.STDOUT, **pipes,
            )  # fmt: skip
        assert self.session.stdin and self.session.stdout
        self.session.stdin.write(f"{len(text)}\n{text}")
        self.session.stdin.flush()
        lines: list[str] = []
        for line in self.session.stdout:
            if line == f"{MARK}\n":
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"{text}\n{''.join(lines)[-3000:]}")

    def close(self) -> None:
        if self.session:
            self.session.communicate()

    def do(self, block: Block) -> None:
        if block.saved:
            (self.folder / block.saved).write_text(block.text)
        elif reason := lacking(block.text):
            self.skipped.append(reason)
        elif block.language == "python":
            self.printed = self.typed(block.text)
        elif block.language == "sh":
            if block.text.startswith("pip install"):
                return  # `tests/wheel.py` tries the wheel with each extra
            status = re.search(r"# status (\d+)", block.text)
            self.run(["sh", "-ec", block.text], int(status[1]) if status else 0)
        elif block.language == "text":
            self.see(block.text)
        else:
            raise AssertionError(f"a block of {block.language!r}: allowed is python, sh, text, or one that is saved")

    def see(self, shown: str) -> None:
        lines = iter(" ".join(line.split()) for line in self.printed.splitlines())
        for line in shown.splitlines():
            wanted = " ".join(line.split())
            assert wanted == "..." or any(wanted in each for each in lines), f"{wanted!r} is not in\n{self.printed}"


MARK = "-- the next block --"
SESSION = f"""
import sys

sys.path.insert(0, "")
names = {{"__name__": "__main__"}}
while length := sys.stdin.readline():
    exec(sys.stdin.read(int(length)), names)
    print({MARK!r}, flush=True)
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for extra in ("torch", "sklearn", "cvxpy"):
        if absent(extra):
            pytest.skip(f"{extra} is not installed")
    reader, done = Page(tmp_path), 0
    try:
        for block in blocks(page):
            reader.do(block)
            done += 1
    finally:
        reader.close()
    if page.parent.name == "tutorials":
        assert done >= 5
    if reader.skipped:
        pytest.skip("; ".join(reader.skipped))


def test_what_a_page_shows_is_compared(tmp_path: Path) -> None:
    """Planted: a block that fails, an output that is not printed, a file that is not saved."""
    page = tmp_path / "page.md"
    page.write_text("Save it as `a.py`:\n\n```python\nX = 1\n```\n\n```python\nfrom a import X\nprint(X)\n```\n\n"
                    "```text\n2\n```\n")  # fmt: skip
    (folder := tmp_path / "first").mkdir()
    reader, found = Page(folder), list(blocks(page))
    assert [each.saved for each in found] == ["a.py", "", ""]
    reader.do(found[0]), reader.do(found[1])
    with pytest.raises(AssertionError, match="'2' is not in"):
        reader.do(found[2])
    with pytest.raises(AssertionError, match="status 1"):
        reader.do(Block("sh", "false", ""))
    with pytest.raises(AssertionError, match="allowed is python"):
        reader.do(Block("toml", "a = 1", ""))
    reader.close()
