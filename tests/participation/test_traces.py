"""Traces: files, rounds of time, FLICS's recipe for patterns of use, and who receives which."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.participation import (
    RandomPatterns,
    Recorded,
    Resampled,
    Table,
    history,
    light_use,
    read_intervals,
    read_log,
    read_usage,
    rounds_of,
)


def write(tmp_path: Path, text: str, name: str = "trace.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def table_of(rows: list[tuple], clients: int = 3) -> Table:
    """Rows of (client, start, end) or (client, start, end, amount)."""
    columns = [np.array(column, dtype=float) for column in zip(*rows, strict=True)]
    return Table(tuple("abc"[:clients]), columns[0].astype(int), *columns[1:])


def test_a_file_becomes_a_process(tmp_path):
    path = write(tmp_path, "client,start,end,note\nann,0,5,x\nbob,3,12.5,\n ann , 10, 20,y\n")
    table = read_intervals(path)
    assert table.names == ("ann", "bob")
    mask = rounds_of(table, width=5)
    assert mask.astype(int).tolist() == [[1, 1], [0, 1], [1, 1], [1, 0]]
    process = Recorded(mask)
    assert history(process, 2, 4)[:, 0].tolist() == mask.astype(int).tolist()
    with pytest.raises(ValueError, match=r"round = 4: the record has the rounds 0 to 3; allowed beyond is after="):
        history(process, 2, 5)
    named = read_intervals(path, names=["cid", "bob", "ann"])
    assert (rounds_of(named, 5) == mask[:, [0, 0, 0]] * 0 + np.c_[np.zeros(4), mask[:, 1], mask[:, 0]]).all()


BAD = {
    "no file": (None, r"cannot be read"),
    "empty": ("", r"no row: allowed is at least one"),
    "columns": ("client,opens,end\na,0,1\n", r"no column 'start': its columns are client, opens, end"),
    "column twice": ("client,start,end,start\n", r"its columns are client, start, end, start: allowed are"),
    "no rows": ("client,start,end\n", r"no row: allowed is at least one"),
    "short line": ("client,start,end\na,0,1\na,2\n", r"line 3: 2 cells: allowed is 3"),
    "after an empty line": ("client,start,end\na,0,1\n\na,2\n", r"line 4: 2 cells: allowed is 3"),
    "open end": ("client,start,end\na,0,\n", r"line 2, column 'end': '': allowed is a finite number"),
    "date without a zone": ("client,start,end\na,2026-03-28,2026-03-29\n", r"line 2, column 'start': .* no time zone"),
    "dates and numbers": ("client,start,end\na,0,2026-03-29T00:00Z\n", r"start and end has dates, the other numbers"),
    "no number": ("client,start,end\na,0,1\na,2,later\n", r"line 3, column 'end': 'later': allowed is a finite number"),
    "nan": ("client,start,end\na,nan,1\n", r"line 2, column 'start': 'nan': allowed is a finite number"),
    "infinite": ("client,start,end\na,0,inf\n", r"line 2, column 'end': 'inf'"),
    "no name": ("client,start,end\n,0,1\n", r"line 2, column 'client': empty"),
    "reversed": ("client,start,end\na,0,1\na,5,4\n", r"line 3: start = 5, end = 4: allowed is start <= end"),
    "no time": ("client,start,end\na,0,0\n", r"line 2: start = 0, end = 0: allowed is start < end"),
    "overlap": (
        "client,start,end\na,4,6\nb,0,9\na,0,5\n",
        r"line 4: client 'a' is already there then, by line 2: allowed are intervals that do not overlap",
    ),
    "nested": ("client,start,end\na,0,9\nb,0,9\na,1,2\n", r"line 4: client 'a' is already there then, by line 2"),
    "twice": ("client,start,end\na,0,9\na,0,9\n", r"line 3: client 'a' is already there then, by line 2"),
    "quote": ('client,start,end\n"a,0,1\n', r"cannot be read"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_bad_interval_files(tmp_path, text, message):
    path = tmp_path / "missing.csv" if text is None else write(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        read_intervals(path)
    assert str(caught.value).startswith(str(path))


def test_unknown_clients_and_names(tmp_path):
    path = write(tmp_path, "client,start,end\na,0,1\nz,0,1\n")
    with pytest.raises(ValueError, match=r"line 3: client 'z' is not in names: allowed are a, b, c, d, e and 2 more"):
        read_intervals(path, names="abcdefg")
    with pytest.raises(ValueError, match=r"names = \['a', 'a'\]: allowed are distinct names"):
        read_intervals(path, names=["a", "a"])


def test_intervals_may_touch(tmp_path):
    table = read_intervals(write(tmp_path, "client,start,end\na,5,9\na,0,5\n"))
    assert rounds_of(table, 1).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,start,end,bytes\nu,5,4,1\n", r"line 2: start = 5, end = 4: allowed is start <= end"),
        ("user,start,end,bytes\nu,4,4,1\nu,4,5,-1\n", r"line 3, column 'bytes': -1: allowed is a finite number >= 0"),
        ("user,start,end,bytes\nu,4,4,\n", r"line 2, column 'bytes': '': allowed is a finite number"),
        (
            "user,start,end,bytes\nu,4,4,2026-03-29T00:00Z\n",
            r"line 2, column 'bytes': 2026.*: allowed is a finite number",
        ),
        ("user,start,end\nu,4,4\n", r"no column 'bytes': its columns are user, start, end"),
    ],
)
def test_bad_usage_files(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_usage(write(tmp_path, text))


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"trace.parquet: reading Parquet needs pyarrow \(pip install pyarrow\)"):
        read_intervals(tmp_path / "trace.parquet")


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def save(**columns: list) -> Path:
        parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
        return tmp_path / "t.parquet"

    csv = read_intervals(write(tmp_path, "client,start,end\n7,0.1,1\n8,0,2\n"))
    table = read_intervals(save(end=[1, 2], client=[7, 8], start=[0.1, 0.0]))
    assert table.names == csv.names
    assert table.start.tolist() == csv.start.tolist() and table.end.tolist() == csv.end.tolist()
    with pytest.raises(ValueError, match=r"row 2, column 'end': '': allowed is a finite number"):
        read_intervals(save(client=["a", "b"], start=[0, 0], end=[1, None]))
    with pytest.raises(ValueError, match=r"no column 'start': its columns are client"):
        read_intervals(save(client=["a"]))
    (tmp_path / "t.parquet").write_text("no table")
    with pytest.raises(ValueError, match="cannot be read"):
        read_intervals(tmp_path / "t.parquet")


whole = st.integers(-20, 40)
intervals = st.lists(st.tuples(st.integers(0, 2), whole, st.integers(1, 15)), min_size=1, max_size=8)


@settings(deadline=None)
@given(intervals, st.integers(1, 7), st.integers(-5, 10), st.integers(1, 12), st.sampled_from(["any", "start"]))
def test_rounds_by_definition(rows, width, origin, rounds, rule):
    """In whole numbers, moment by moment: an interval [start, end) holds start, start + 1, ..., end - 1."""
    table = table_of([(c, s, s + d) for c, s, d in rows])
    mask = rounds_of(table, width, rounds=rounds, origin=origin, rule=rule)
    for r in range(rounds):
        begin = origin + r * width
        moments = range(begin, begin + (width if rule == "any" else 1))
        for client in range(3):
            there = any(c == client and s <= t < s + d for c, s, d in rows for t in moments)
            assert mask[r, client] == there


@settings(deadline=None)
@given(intervals, st.integers(1, 7))
def test_rounds_by_default_end_with_the_last_interval(rows, width):
    table = table_of([(c, s, s + d) for c, s, d in rows])
    mask = rounds_of(table, width)
    last = (max(s + d for _, s, d in rows) - min(s for _, s, _ in rows)) / width
    assert len(mask) - 1 < last <= len(mask) and mask[0].any() and mask[-1].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(width=0), r"width = 0: allowed is a positive finite number"),
        (dict(width=float("nan")), r"width = nan"),
        (dict(width=1, origin=float("inf")), r"origin = inf: allowed is a finite number"),
        (dict(width=1, origin=10), r"origin = 10: allowed is one before the last end, 5.0"),
        (dict(width=1, rounds=0), r"rounds = 0: allowed is an integer >= 1"),
        (dict(width=1, rule="all"), r"rule = 'all': allowed is one of any, start"),
        (dict(width=2**-40), r"width = 9.0\d*e-13: 5497558138880 rounds of 3 clients are too many"),
    ],
)
def test_rounds_errors(options, message):
    with pytest.raises(ValueError, match=message):
        rounds_of(table_of([(0, 0, 5)]), **options)


uses = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 25), st.integers(0, 40)), min_size=1, max_size=10
)


@settings(deadline=None)
@given(uses, st.sampled_from(["spread", "start"]), st.sampled_from(["span", "used"]))
def test_light_use_by_definition(rows, traffic, active):
    """Slot by slot and use by use, in Fractions."""
    slot, limit = 10, 20
    rows = [*rows, *((client, 30, 5, 0) for client in range(3))]  # every user uses something
    begin = min(s for _, s, _, _ in rows)
    slots = max(max(-(-(s + d - begin) // slot), (s - begin) // slot + 1) for _, s, d, _ in rows)
    found = light_use(table_of([(c, s, s + d, b) for c, s, d, b in rows]), slot, limit, traffic, active)
    assert found.mask.shape == (slots, 3)
    for client in range(3):
        used, heavy = [False] * slots, [Fraction(0)] * slots
        for c, s, d, b in rows:
            if c != client:
                continue
            if traffic == "start":
                heavy[(s - begin) // slot] += b
            for t in range(slots):
                low, high = begin + t * slot, begin + (t + 1) * slot
                inside = max(0, min(high, s + d) - max(low, s))
                if inside > 0 or (d == 0 and low <= s < high):
                    used[t] = True
                    if traffic == "spread":
                        heavy[t] += Fraction(b * inside, d) if d else b
        there = [u and h < limit for u, h in zip(used, heavy, strict=True)]
        # A total of exactly the limit may round to either side of it when shares of uses are summed.
        sure = [h != limit or traffic == "start" for h in heavy]
        assert all(found.mask[t, client] == there[t] for t in range(slots) if sure[t])
        if all(sure):
            time = sum(used) if active == "used" else slots - used.index(True) - used[::-1].index(True)
            assert found.availability[client] == pytest.approx(sum(there) / time, rel=1e-15)


def test_light_use_reads_as_the_paper_says(tmp_path):
    """Hours, and less than 10 MB in each."""
    lines = ["user,app,start,end,bytes", "u,chat,0,10,9999999", "u,film,3600,3700,10000000", "u,chat,7300,7300,0"]
    table = read_usage(write(tmp_path, "\n".join([*lines, "v,chat,0,7200,30e6"])))
    found = light_use(table)
    assert found.names == ("u", "v")
    assert found.mask.astype(int).tolist() == [[1, 0], [0, 0], [1, 0]]
    assert found.availability.tolist() == [2 / 3, 0]
    assert light_use(table, traffic="start").mask[:, 1].tolist() == [False, True, False]
    for options, message in [
        (dict(slot=0), r"slot = 0: allowed is a positive"),
        (dict(limit=float("nan")), r"limit = nan"),
        (dict(traffic="end"), r"traffic = 'end': allowed is one of spread, start"),
        (dict(active="x"), r"active = 'x': allowed is one of span, used"),
    ]:
        with pytest.raises(ValueError, match=message):
            light_use(table, **options)
    with pytest.raises(ValueError, match=r"table: it has no amounts; allowed is what read_usage gives"):
        light_use(table_of([(0, 0, 1)]))


def test_real_correlated_groups_follow_availability():
    mask = np.eye(7)
    available = [0.4, 0.9, 0.1, 0.5, 0.4, 0.8, 0.2]
    groups = [0, 1, 2, 3, 3, 0, 2]
    process = RandomPatterns.real_correlated(mask, groups, available, after="repeat")
    assert process.pools == ((2, 6, 0), (4, 3), (5, 1))  # 0.1 0.2 0.4 | 0.4 0.5 | 0.8 0.9
    assert process.pool_of == (0, 0, 1, 2, 2, 0, 1)  # groups 0 and 1 | 2 | 3
    falling = RandomPatterns.real_correlated(mask, groups, available, order="descending")
    assert falling.pools == ((1, 5, 3), (0, 4), (6, 2))
    seen = history(process, 7, 7, replicas=300).sum(dim=(0, 1))
    assert (seen == 300).all()  # every user is there once
    with pytest.raises(ValueError, match=r"order = 'up': allowed is one of ascending, descending"):
        RandomPatterns.real_correlated(mask, groups, available, order="up")


def test_a_record_is_a_copy_and_cannot_be_changed():
    mask = np.ones((2, 2), dtype=bool)
    process = Recorded(mask)
    mask[0, 0] = False
    assert process.mask.all() and repr(process) == repr(Recorded(np.ones((2, 2))))
    with pytest.raises(ValueError, match="read-only"):
        process.mask[0, 0] = False
    assert repr(Recorded(mask)) != repr(process)
    assert repr(Recorded([[1, 0, 1, 1]])) != repr(Recorded([[1, 0], [1, 1]]))


def test_moments_of_a_record_with_equal_rounds():
    assert Recorded([[1, 0]] * 3).inclusion(2).first.tolist() == [1, 0]
    for process in (Recorded([[1, 0]] * 3, "absent"), Recorded([[1, 0], [1, 1]])):
        with pytest.raises(ValueError, match="its rounds differ"):
            process.inclusion(2)
    assert floor(Recorded([[1, 0]], "absent").marginal(2, 5).first.sum()) == 0


def test_resampled_blocks_are_those_of_the_record() -> None:
    rng = np.random.default_rng(0)
    record = rng.random((17, 4)) < 0.4
    process = Resampled(record, block=5)
    drawn = history(process, 4, 100, replicas=3, seed=2).numpy()
    doubled = np.concatenate([record, record])
    for replica in range(3):
        for first in range(0, 100, 5):
            block = drawn[first : first + 5, replica]
            assert any((block == doubled[s : s + 5]).all() for s in range(17)), (replica, first)
    aligned = history(Resampled(record, block=5, starts="aligned"), 4, 50, replicas=2).numpy()
    assert all(any((aligned[k : k + 5, m] == record[s : s + 5]).all() for s in (0, 5, 10))
               for k in range(0, 50, 5) for m in range(2))  # fmt: skip


def test_resampled_rounds_of_one_are_independent_and_those_of_a_day_are_not() -> None:
    record = np.array([[1, 0], [1, 1], [0, 0]])
    process = Resampled(record, block=1)
    assert process.independent_rounds and process.inclusion(2).second.tolist() == [
        [Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(1, 3)]]  # fmt: skip
    with pytest.raises(ValueError, match="depend on each other; see marginal"):
        Resampled(record, block=2).inclusion(2)
    assert Resampled(record, block=3, starts="aligned").deterministic


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"block": 4}, "block = 4: allowed is 1 to 3, the record's rounds"),
        ({"block": "1 day"}, "allowed with width="),
        ({"block": "1 dog", "width": 60.0}, "such as '1 day' or '6 hours'"),
        ({"block": "90 seconds", "width": 60.0}, "allowed is a whole number of rounds of 60 seconds"),
        ({"block": 1, "starts": "here"}, "starts = 'here'"),
    ],
)
def test_blocks_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Resampled(np.eye(3), **options)


def test_a_log_is_resampled_by_the_day(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("client,start,end\na,0,3600\nb,86400,90000\na,172799,172800\n")
    process = Resampled(read_log(file), block="1 day", width=3600.0, starts="aligned")
    assert process.block == 24 and process.mask.shape == (48, 2)
    assert process.expected(2, round=24).tolist() == [Fraction(1, 2), Fraction(1, 2)]


@given(st.integers(1, 5000), st.integers(-(10**6), 10**12), st.integers(0, 2000), st.integers(1, 50))
@settings(max_examples=300, deadline=None)
def test_decimal_moments_are_in_the_rounds_that_their_digits_say(width: int, begin: int, first: int, many: int) -> None:
    """Thousandths, as a log has them: of doubles, .3 // .1 is 2, and a client would come a round too early."""
    moments = [(begin + width * r) / 1000 for r in (0, first, first + many)]
    table = Table(("a", "b"), np.array([0, 1]), np.array([moments[0], moments[1]]), np.array([moments[1], moments[2]]))
    for rule in ("any", "start"):
        mask = rounds_of(table, width / 1000, rule=rule)
        assert mask.shape == (first + many, 2) and mask[:, 0].sum() == first and mask[:first, 0].all()
        assert mask[:, 1].sum() == many and mask[first:, 1].all()


def test_a_log_of_decimal_moments_has_no_round_more(tmp_path):
    ends = [k for k in range(1, 400) if np.ceil((0.1 + 0.1 * k - 0.1) / 0.1) != k]
    assert ends  # of these doubles alone would make one more
    for k in ends:
        log = read_log(write(tmp_path, f"client,start,end\na,0.1,{0.1 + 0.1 * k!r}\n"))
        assert log.mask(0.1).tolist() == [[True]] * k


def test_what_is_clearly_beside_an_edge_stays_there():
    """Thousands of units in the last place: doubles tell them apart."""
    table = table_of([(0, 0.0, 10.0), (1, 10 - 1e-12, 10.0), (1, 20.0, 20 + 1e-12)], 2)
    assert rounds_of(table, 10.0, rounds=3).astype(int).tolist() == [[1, 1], [0, 0], [0, 1]]
