"""The command line's two commands on selection: what they print, and what they write."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.selection import offvar, online, read_availability
from fedtheory.selection.readers import write_plan

TRACE = "round,north,south\n1,4,4\n2,4,0\n3,4,4\n"


@pytest.fixture
def files(tmp_path):
    for name, text in {
        "a.csv": TRACE, "k.csv": "budget\n4\n2\n4\n", "p.csv": "group,weight\nsouth,0.5\nnorth,0.5\n"
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


def run(files, command, *more):
    arguments = [command, str(files / "a.csv"), "--budget", str(files / "k.csv"), "--weights", str(files / "p.csv")]
    return CliRunner().invoke(app, [*arguments, *more], catch_exceptions=True)


def test_offvar_prints_the_solution_and_writes_its_plan(files):
    done = run(files, "offvar", "--json", "--plan", str(files / "plan.csv"))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    expected = offvar([[4, 4], [4, 0], [4, 4]], [4, 2, 4], [0.5, 0.5])
    assert found["totals"] == {"north": 5.0, "south": 5.0}
    assert found["objective"] == expected.objective == pytest.approx(2 * 0.25 * 3 / 5, rel=1e-15)
    assert found["lower_bound"] <= found["objective"] * (1 + 1e-15) and found["gap"] < 1e-12 and found["seconds"] > 0
    header, *rows = (files / "plan.csv").read_text().splitlines()
    assert header == "round,north,south"
    plan = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    assert plan[:, 0].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(plan[:, 1:], expected.plan())


def test_select_steps_the_policy_and_compares_it(files):
    done = run(files, "select", "--json", "--plan", str(files / "plan.csv"))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    policy = online(read_availability(files / "a.csv").counts, [4, 2, 4], [0.5, 0.5])
    assert found["objective"] == policy.objective()[-1]
    assert found["gap"] == found["objective"] - found["genie"] >= -1e-15
    assert (files / "plan.csv").read_text().splitlines()[2] == "2,2.0,0.0"


def test_a_plan_is_read_as_the_numbers_that_were_written(tmp_path, monkeypatch):
    """Numbers of every size, in more rounds than are written at a time, and names that have to be quoted."""
    monkeypatch.setattr("fedtheory.selection.readers._CHUNK", 7)
    rng = np.random.default_rng(0)
    rates = rng.integers(0, 2**62, (100, 3)).view(float)
    rates[::3] = rng.uniform(0, 9, rates[::3].shape)
    rates[0], rates[1], rates[2] = (0.0, 5e-324, 2.0**53), (1e16, 1e-7, 1e22), (0.1, 3.0, 123456789012345678.0)
    for rounds in (1, 7, 100):
        write_plan(tmp_path / "plan.csv", rates[:rounds], ["a", "b, c", 'd"'])
        header, *rows = csv.reader((tmp_path / "plan.csv").read_text().splitlines())
        assert header == ["round", "a", "b, c", 'd"']
        assert [int(row[0]) for row in rows] == list(range(1, rounds + 1))
        assert [[float(cell) for cell in row[1:]] for row in rows] == rates[:rounds].tolist()
    assert (tmp_path / "plan.csv").read_text().splitlines()[1] == "1,0.0,5e-324,9007199254740992.0"


def test_a_plan_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    write_plan(tmp_path / "plan.csv", np.ones((2, 1)), ["a"])
    before = (tmp_path / "plan.csv").read_bytes()
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_plan(tmp_path / "plan.csv", np.zeros((2, 1)), ["a"])
    assert (tmp_path / "plan.csv").read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_wrong_cells_are_named(files):
    (files / "a.csv").write_text(TRACE.replace("2,4,0", "2,-4,0"))
    done = run(files, "offvar")
    assert done.exit_code != 0
    assert "a.csv, line 3, column 'north': '-4': allowed is a whole number" in str(done.exception)
    (files / "a.csv").write_text(TRACE)
    assert "counts = 'seen': allowed is one of planned, received" in str(
        run(files, "select", "--counts", "seen").exception
    )
