"""The site of docs/: every page is in it; and every host of continuous integration calls the one command."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import fedtheory
from fedtheory.evidence import citations
from tests.links import dead_links

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
    assert re.search(r"^make .*\bdocs\b", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installed = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower()
    assert all(f"\n{each.split('>=')[0]}==" in installed for each in extras["docs"])


def test_dead_links_are_found(tmp_path: Path) -> None:
    """Planted: a page that is not there, one outside the folder, and a name that its page does not have."""
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top">x</h1><a href="a/b.html#two">b</a><a href="https://x.y/z">c</a>')
    (tmp_path / "a" / "b.html").write_text(
        '<p id="two"><a href="../index.html#top">i</a><a href="#two">t</a><img src="b.html">'
    )
    assert dead_links(tmp_path) == []
    (tmp_path / "a" / "c.html").write_text(
        '<a href="b.html#three">1</a><a href="d.html">2</a><a href="../../e.html">3</a><img src="f.png">'
    )
    assert dead_links(tmp_path) == [f"a/c.html: {link}" for link in ("b.html#three", "d.html", "../../e.html", "f.png")]


def test_the_links_of_the_site_are_followed() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndocs: ")[2].partition("\n\n")[0].splitlines()
    assert lines[-1].endswith("python tests/links.py build/docs") and "sphinx" in lines[1]


def test_every_public_package_is_in_the_reference(tmp_path: Path) -> None:
    """Planted: a package that lists public names, and that the face does not list."""
    assert unlisted(ROOT / "fedtheory") == set()
    (package := tmp_path / "planted").mkdir()
    (package / "__init__.py").write_text('__all__ = ["name"]\n')
    assert unlisted(tmp_path) == {"planted"}


def test_what_files_of_theorems_import_is_said_to_be_stable_or_not() -> None:
    """A module is listed, or it is a package of the reference, whose names are."""
    text = (DOCS / "stability.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if "a file of theorems imports" in line)
    files = [path.read_text(encoding="utf-8") for path in (DOCS / "referee").glob("*.py")]
    used = {name for file in files for name in re.findall(r"^from fedtheory\.(\S+) import", file, re.MULTILINE)}
    unstable = {name for name in used if name.startswith("proof.kernel.") or name == "proof.multiplier_search"}
    assert "`proof.multiplier_search`" in text.partition("## Not stable")[2] and unstable
    assert set(re.findall("`([^`]+)`", row)) == used - unstable - set(fedtheory.__all__)


def test_a_public_name_without_an_entry_ends_the_build() -> None:
    """Planted: an entry that is missing."""
    errors = pytest.importorskip("sphinx.errors")
    conf = runpy.run_path(str(DOCS / "conf.py"))
    entries = {f"{package}.{name}" for package, names in conf["public_names"]().items() for name in names}

    def ended(there: set[str]) -> None:
        conf["all_are_there"](SimpleNamespace(env=SimpleNamespace(domaindata={"py": {"objects": there}})), None)

    ended(entries)
    with pytest.raises(errors.ExtensionError, match=r"not in the reference: fedtheory\.Setting$"):
        ended(entries - {"fedtheory.Setting"})


def unlisted(folder: Path) -> set[str]:
    """Packages that list public names, and that ``fedtheory.__all__``, from which the reference is made, does not."""
    listing = {
        path.parent.name
        for path in folder.glob("*/__init__.py")
        if re.search(r"__all__\b.* = ", path.read_text("utf-8"))
    }
    return listing - set(fedtheory.__all__) - {"cli"}  # whose names are commands


def test_what_is_cited_is_this_version() -> None:
    assert f"\nversion: {fedtheory.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_citation_file_says_what_the_command_says() -> None:
    told = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'\ntitle: "{citations.TITLE}"\n' in told and f'\n  - name: "{citations.AUTHORS}"\n' in told
    assert f"\ndate-released: {citations.RELEASED}\n" in told
    assert f"\n## {fedtheory.__version__}, {citations.RELEASED}\n" in (ROOT / "CHANGELOG.md").read_text(
        encoding="utf-8"
    )


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "fedtheory.__version__"}


RUNS = re.compile(
    r"\b(eval|exec|compile|__import__)\(|exec_module|pickle\.|\.recv\(|subprocess\.run|os\.system|torch\.load|"
    r"allow_pickle=True|\.load\(point|sympify\((?![a-z_]+(, strict=True)?\))"
)
PLACES = {
    "data/fetch.py": "apt-get", "experiments/files_beside.py": "fedtheory run FILE",
    "papers/loading.py": "referee FILE", "neural/training_workers.py": "Worker processes", "provenance.py": "Git",
}  # fmt: skip
"""Modules that execute what they are given, or start a program, with the words of SECURITY.md on it."""


def places() -> set[str]:
    package, found = ROOT / "fedtheory", set()
    for path in package.rglob("*.py"):
        code = [line.partition("#")[0] for line in path.read_text(encoding="utf-8").splitlines()]
        if any(
            RUNS.search(re.sub(r"re\.compile\(|_eval\(|\.eval\(|\w_compile\(|``[^`]*``", "", line)) for line in code
        ):
            found.add(path.relative_to(package).as_posix())
    return found


def test_what_is_executed_is_what_the_page_on_security_says() -> None:
    told = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert places() == set(PLACES) and all(word in told for word in PLACES.values())
    for planted in ("eval(text)", "pickle.loads(content)", "sympy.sympify(text, locals={})", "exec(code)"):
        assert RUNS.search(planted), planted
