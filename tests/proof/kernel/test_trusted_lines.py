"""How much a verdict `proved` rests on does not grow unseen: each rule more raises the limits here."""

from __future__ import annotations

from pathlib import Path

from tests.trusted_lines import PROOF, SEARCH, WRITING, code_lines, table, trusted

MOST = {"lines": 7180, "code": 4920}
"""What there was when vectors and forms came to be one class, rounded up to the next ten."""

MOST_OF_ALL = 17_000
"""Most lines of code of all proofs, with the checker, the papers' proofs and the export to Coq."""


def test_the_trusted_lines_are_few() -> None:
    (*_, lines, code), (*_, of_all) = (row.split() for row in table()[-2:])
    assert int(lines) <= MOST["lines"] and int(code) <= MOST["code"] and int(of_all) <= MOST_OF_ALL


def test_no_file_of_the_kernel_is_left_out() -> None:
    """What is left out is a search, or writes: it makes theorems by rules alone, and none has its token."""
    named = {file.name for file in trusted()} | {Path(name).name for name in SEARCH | WRITING} | {"__init__.py"}
    assert {file.name for file in (PROOF / "kernel").glob("*.py")} <= named
    assert not any("MAKER" in (PROOF / name).read_text(encoding="utf-8") for name in SEARCH | WRITING)


def test_only_three_files_make_theorems() -> None:
    """By the token of ``sealed``: theorems on rounds, bounds on runs, theorems on samples."""
    makers = [file.name for file in PROOF.rglob("*.py") if "_maker=MAKER" in file.read_text(encoding="utf-8")]
    assert sorted(makers) == ["run_bounds.py", "sampling_laws.py", "theorems.py"]


def test_what_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text('"""Says what\nit is."""\n\n# why\nx = (\n    1,\n)\n\n\ndef f():\n    """Is f."""\n    return x\n')
    assert code_lines(file) == 5
