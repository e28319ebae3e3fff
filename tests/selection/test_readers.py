"""Files: what is read, and what a wrong file is told, with line and column."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fedtheory.selection import read_availability, read_budget, read_group_weight


@pytest.fixture
def write(tmp_path):
    def put(text, name="FILE.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return put


def test_files_that_fit(write):
    trace = read_availability(write("round,north,south\n1,4,0\n2,3,7\n"))
    assert trace.groups == ("north", "south")
    assert trace.counts.tolist() == [[4, 0], [3, 7]]
    assert trace.counts.dtype == np.int64
    points = read_availability(write("a,b\n3.0,1e2\n")).counts
    assert points.tolist() == [[3, 100]] and points.dtype == np.int64
    assert read_availability(write("\ufeffa\n5\n")).counts.tolist() == [[5]]
    assert read_availability(write("a , b\r\n1, 2\r\n")).groups == ("a", "b")
    assert read_budget(write("budget\n2.5\n0\n"), 2).tolist() == [2.5, 0]
    assert read_budget(write("round,budget\n1,2.5\n2,0\n"), 2).tolist() == [2.5, 0]
    weights = write("group,weight\nsouth,0.25\nnorth,0.75\n")
    assert read_group_weight(weights, trace.groups).tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,-2\n", "line 2, column 'b': '-2': allowed is a whole number >= 0"),
        ("a,b\n1,2\n1.5,2\n", "line 3, column 'a': '1.5': allowed is a whole number >= 0"),
        ("a,b\n1,\n", "line 2, column 'b': '': allowed is a whole number"),
        ("a,b\n1,NaN\n", "line 2, column 'b': 'NaN'"),
        ("a,b\n1,inf\n", "line 2, column 'b': 'inf'"),
        ("a,b\n1,__import__('os')\n", "line 2, column 'b': "),
        ("a,b\n1,1_0\n", "line 2, column 'b': '1_0': allowed is a whole number"),
        (
            "a,b\n1,9223372036854775808\n",
            "line 2, column 'b': '9223372036854775808': allowed is at most 9007199254740992",
        ),
        ("a,b\n1\n", "line 2: 1 cells: allowed is 2"),
        ("a,b\n1,2,3\n", "line 2: 3 cells: allowed is 2"),
        ("a,b\n1,2\n\n3,4,5\n", "line 3: empty"),
        ("a,b\n", "no line after the header"),
        ("", "is empty: allowed is a header"),
        ("1,2\n3,4\n", "line 1, column 1: '1' is no name; the first line names the columns"),
        ("a,\n3,4\n", "line 1, column 2: '' is no name"),
        ("a,a\n3,4\n", "line 1, column 2: 'a' is there twice"),
        ("a,round\n3,4\n", "line 1, column 2: 'round' is allowed in column 1"),
        ("round\n1\n", "allowed is at least one column besides 'round'"),
        ("round,a\n1,4\n3,4\n", "line 3, column 'round': 3: rounds are numbered 1, 2"),
        ('a,b\n1,"2\n', "cannot be read"),
    ],
)
def test_availability_errors_are_placed(write, text, words):
    with pytest.raises(ValueError, match=words):
        read_availability(write(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k\n1\n", "its columns are k: allowed is budget, or round,budget"),
        ("budget\n1\n-1\n", "line 3, column 'budget': '-1': allowed is a finite number >= 0"),
        ("budget\n1\n", "1 budgets: allowed is one a round of the availability, 2"),
        ("round,budget\n2,1\n3,1\n", "line 2, column 'round': 2: rounds are numbered"),
    ],
)
def test_budget_errors_are_placed(write, text, words):
    with pytest.raises(ValueError, match=words):
        read_budget(write(text), 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,weight\na,1\n", "its columns are name, weight: allowed is group,weight"),
        ("group,weight\nc,1\n", "line 2, column 'group': 'c' is none of a, b"),
        ("group,weight\na,1\na,0\n", "line 3, column 'group': 'a' is there twice"),
        ("group,weight\na,1\n", "no weight for b"),
        ("group,weight\na,half\nb,1\n", "line 2, column 'weight': 'half': allowed is a finite number >= 0"),
        ("group,weight\na,0.5\nb,0.4\n", "sums to 0.9: allowed is a sum of 1"),
    ],
)
def test_weight_errors_are_placed(write, text, words):
    with pytest.raises(ValueError, match=words):
        read_group_weight(write(text), ("a", "b"))


def test_a_missing_or_binary_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere.csv: cannot be read"):
        read_availability(tmp_path / "nowhere.csv")
    path = tmp_path / "binary.csv"
    path.write_bytes(b"a,b\n\xff\xfe,1\n")
    with pytest.raises(ValueError, match=r"binary.csv: cannot be read"):
        read_availability(path)


def test_parquet(tmp_path):
    path = tmp_path / "trace.parquet"
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        path.write_bytes(b"")
        with pytest.raises(ValueError, match="reading Parquet needs pyarrow"):
            read_availability(path)
        return
    pyarrow.parquet.write_table(pyarrow.table({"round": [1, 2], "a": [3, 4]}), path)
    assert read_availability(path).counts.tolist() == [[3], [4]]
    pyarrow.parquet.write_table(pyarrow.table({"a": [3, None]}), path)
    with pytest.raises(ValueError, match="line 3, column 'a': 'None'"):
        read_availability(path)


def test_selection_needs_numpy_and_scipy_only():
    heavy = ("torch", "cvxpy", "sympy", "matplotlib", "pyarrow", "sklearn")
    code = f"import sys, fedtheory.selection; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
