"""A report takes the place of an earlier one, and of nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedtheory.report.site.replaced_folder import LIST, fresh, listed


def write(into: Path, **files: str) -> None:
    with fresh(into) as new:
        for name, text in files.items():
            path = new / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def inside(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name != LIST}  # fmt: skip


def test_vanished_pages_go_and_what_others_wrote_stays(tmp_path):
    into = tmp_path / "a" / "site"
    write(into, claims__old="1", claims__kept="1", gone__page="1")
    (into / "notes.txt").write_text("mine")
    (into / "claims" / "mine").write_text("mine")
    write(into, claims__kept="2", index="2")
    assert inside(into) == {"claims/kept": "2", "claims/mine": "mine", "index": "2", "notes.txt": "mine"}
    assert not (into / "gone").exists() and set(listed(into)) == {"claims/kept", "index"}


def test_a_page_that_was_changed_since_stays(tmp_path):
    write(tmp_path, old="1", other="1")
    (tmp_path / "old").write_text("changed")
    write(tmp_path, index="2")
    assert inside(tmp_path) == {"index": "2", "old": "changed"}


def test_nothing_changes_if_it_fails(tmp_path):
    write(tmp_path, index="1")
    before = inside(tmp_path)
    with pytest.raises(RuntimeError), fresh(tmp_path) as new:
        (new / "index").write_text("2")
        raise RuntimeError
    assert inside(tmp_path) == before
    with pytest.raises(RuntimeError), fresh(tmp_path / "never"):
        raise RuntimeError
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("content", ["no JSON", "[1]", '{"../outside": "x", "/etc/hosts": "x", "a": 3}'])
def test_a_list_that_was_tampered_with_removes_nothing(tmp_path, content):
    (tmp_path / "outside").write_text("mine")
    write(tmp_path / "site", index="1")
    (tmp_path / "site" / LIST).write_text(content)
    write(tmp_path / "site", other="2")
    assert (tmp_path / "outside").read_text() == "mine"
    assert inside(tmp_path / "site") == {"index": "1", "other": "2"}
    assert set(json.loads((tmp_path / "site" / LIST).read_text())) == {"other"}
