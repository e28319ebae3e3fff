"""The site of docs/: every page is in it; and every host of continuous integration calls the one command."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import fedtheory

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not (DOCS / "index.md").exists(), reason="the docs are not beside the tests")


def listed() -> set[str]:
    """Pages that the table of contents names, without their suffix; patterns as what they match."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    names = [line for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
             for line in block.splitlines() if line and not line.startswith(":")]  # fmt: skip
    return {str(path.relative_to(DOCS).with_suffix("")) for name in names for path in DOCS.glob(f"{name}.md")}


def test_every_page_is_in_the_table_of_contents() -> None:
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert len(pages) > 20 and listed() == pages


@pytest.mark.parametrize("host", [".github/workflows/ci.yml", ".gitlab-ci.yml"])
def test_every_host_calls_the_one_command(host: str) -> None:
    calls = re.findall(r"^\s*-(?: run:)? (\S*/\S*)$", (ROOT / host).read_text(encoding="utf-8"), re.MULTILINE)
    assert [each for each in calls if "@" not in each] == [".ci/run"]


@pytest.mark.parametrize("host", [".github/workflows/nightly.yml", ".gitlab-ci.yml"])
def test_frameworks_are_tried_every_night(host: str) -> None:
    text = (ROOT / host).read_text(encoding="utf-8")
    assert "schedule" in text and re.search(r"^\s*-(?: run:)? make frameworks$", text, re.MULTILINE)
    assert re.search(
        r"^frameworks: .*\n\t.*tests/frameworks\.py$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )


def test_the_site_is_built_on_every_change() -> None:
    assert re.search(r"^make docs$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installed = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower()
    assert all(f"\n{each.split('>=')[0]}==" in installed for each in extras["docs"])


def test_what_is_cited_is_this_version() -> None:
    assert f"\nversion: {fedtheory.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
