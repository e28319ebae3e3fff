"""What benchmarks say of diagnoses of many logs, and of choices that know the process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("benchmarks.families", reason="the benchmarks are not beside the tests")

from benchmarks import families, hindsight
from fedtheory.participation.examples import examples

from .test_recommendation import whole

NUMBERS = range(19)
"""A log of each process."""


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_what_goes_on_with_the_same_draws_is_the_log_itself(number: int) -> None:
    name, mask, _ = whole(number)
    (again,) = hindsight.going_on(name, 100 + number, 30, 600, 300, 1, again=0)
    assert (again == mask[600:]).all()


def test_a_chain_goes_on_from_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients stay as they were with the chains' own probabilities, within four standard deviations of 200 draws."""
    number = next(n for n in NUMBERS if whole(n)[0] == "Markov")
    before, process = whole(number)[1][599], examples(30)["Markov"]
    on = np.array([float(p) for p in process.probabilities])
    enter = np.array([float(p) for p in process.entries])
    same = np.where(before, 1 - enter * (1 - on) / on, 1 - enter)

    def away() -> float:
        drawn = hindsight.going_on("Markov", 100 + number, 30, 600, 1, 200)[:, 0]
        return float((drawn == before).mean() - same.mean()) / float(np.sqrt((same * (1 - same)).sum() / 200)) * 30

    assert abs(away()) < 4
    monkeypatch.setattr(hindsight, "REMEMBERED", set())
    assert away() < -4


def test_logs_are_counted_and_a_broken_line_is_done_again(tmp_path: Path) -> None:
    file, kinds = tmp_path / "found.jsonl", ["Fixed", "Cyclic"]
    families.extended(file, 2, 0, kinds)
    whole_file = file.read_text()
    file.write_text(whole_file[:-9])
    families.extended(file, 2, 0, kinds)
    assert file.read_text() == whole_file
    found = families.table(families.read(file))
    assert found.count("| 2 of 2 |") == 4 and "| Cyclic | Cyclic | 2 of 2 | 0.158 to 1.000 |" in found


def test_families_that_are_not_asked_are_told() -> None:
    row = {"kind": "Markov", "log": 0, "family": "none", "nearest": "Markov", "p": 0.005, "worst": "long absences"}
    found = families.table([row | {"covered": 90, "one": False}])
    assert "| 0 of 1 | 0.000 to 0.975 | none 1 (Markov: long absences 1) | 0.9000 | 0 of 1 | 0.05 |" in found
