"""Which commit is named, and what records of runs say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fedtheory
from fedtheory import provenance
from fedtheory.provenance import OF_MACHINE, commit_of_checkout, differences, machine, together

PACKAGE = Path(fedtheory.__file__).parent
PROJECT = '[project]\nname = "{}"\n'
FOUND = '[tool.setuptools.packages.find]\ninclude = ["fedtheory*"]\n'


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false")
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(folder), *named, *words]
    return subprocess.run(command, capture_output=True, text=True, env=own, check=True).stdout.strip()


def repository(folder: Path, name: str, package: Path) -> str:
    """A repository of a project of this name, with a package in it; its commit."""
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (folder / "pyproject.toml").write_text(PROJECT.format(name))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "c")
    return git(folder, "rev-parse", "--short=12", "HEAD")


def test_the_commit_of_its_own_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "fedtheory"
    commit = repository(tmp_path, "fedtheory", package)
    assert commit_of_checkout(package) == commit
    (tmp_path / "pyproject.toml").write_text(PROJECT.format("fedtheory") + "# other\n")
    (package / "untracked.py").write_text("")
    assert commit_of_checkout(package) == commit
    other = tmp_path / "other"
    repository(other, "fedtheory", other / "fedtheory")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert commit_of_checkout(package) == commit
    (package / "__init__.py").write_text("changed = True\n")
    assert commit_of_checkout(package) == f"{commit}+"


@pytest.mark.parametrize("inner", ["fedtheory", "env/lib/site-packages/fedtheory", "vendored/fedtheory"])
def test_a_users_own_repository_is_not_named(tmp_path: Path, inner: str) -> None:
    repository(tmp_path, "thesis", tmp_path / inner)
    assert commit_of_checkout(tmp_path / inner) is None
    (tmp_path / inner).parent.joinpath("pyproject.toml").write_text(PROJECT.format("fedtheory"))
    assert (commit_of_checkout(tmp_path / inner) is None) == (inner != "fedtheory")


def test_a_package_that_git_does_not_know_is_not_named(tmp_path: Path) -> None:
    repository(tmp_path, "fedtheory", tmp_path / "another")
    (tmp_path / "fedtheory").mkdir()
    assert commit_of_checkout(tmp_path / "fedtheory") is None
    assert commit_of_checkout(tmp_path / "none" / "fedtheory") is None


def test_what_was_built_says_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    monkeypatch.setattr(provenance, "commit_of_checkout", lambda package: None)
    version = f"version {fedtheory.__version__}"
    for text, said in (("abc123\n", "abc123"), ("\n", version), ("\xe9", version), (None, version)):
        (tmp_path / provenance.COMMIT).unlink(missing_ok=True)
        if text is not None:
            (tmp_path / provenance.COMMIT).write_text(text, encoding="latin-1")
        assert provenance.commit.__wrapped__() == said


def test_a_build_writes_the_commit_down(tmp_path: Path) -> None:
    """A small package with this project's setup.py."""
    setup = PACKAGE.parent / "setup.py"
    if not setup.is_file():
        pytest.skip("not a source tree")
    package = tmp_path / "fedtheory"
    package.mkdir()
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "one.toml").write_text("")
    (tmp_path / "MANIFEST.in").write_text("graft experiments\n")
    for name in ("provenance.py", "lazy.py"):
        shutil.copy(PACKAGE / name, package / name)
    (package / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "pyproject.toml").write_text(PROJECT.format("fedtheory") + 'version = "0.1.0"\n' + FOUND)
    shutil.copy(setup, tmp_path / "setup.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "c")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    build = [sys.executable, "setup.py", "-q", "build", "--build-lib", "built"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True, timeout=100)
    written = tmp_path / "built" / "fedtheory" / provenance.COMMIT
    assert written.read_text() == f"{commit}\n" and not (package / provenance.COMMIT).exists()
    subprocess.run([sys.executable, "setup.py", "-q", "sdist", "--formats=tar"], cwd=tmp_path, check=True,
                   capture_output=True, timeout=100)  # fmt: skip
    (made,) = (tmp_path / "dist").glob("*.tar")
    shutil.unpack_archive(made, tmp_path / "unpacked", filter="data")
    (root,) = (tmp_path / "unpacked").iterdir()
    subprocess.run(build, cwd=root, check=True, capture_output=True, timeout=100)
    assert (root / "built" / "fedtheory" / provenance.COMMIT).read_text() == f"{commit}\n"


def test_records() -> None:
    here = machine("cpu", 1)
    assert tuple(here) == OF_MACHINE and all(here.values())
    assert differences(here, here | {"device": "cuda: one"}) == ["device = cpu there, cuda: one here"]
    assert differences(here, here | {"path": "loop"}, OF_MACHINE) == []
    assert together([here, here]) == here
    assert together([{"a": "2"}, {"a": "1 | 3"}, {}]) == {"a": "1 | 2 | 3 | not recorded"}
