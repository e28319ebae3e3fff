"""Participation logs in the forms that they have: one history through every reader, and what is told and refused."""

from __future__ import annotations

import gzip
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from fedtheory.files import Damaged
from fedtheory.participation import log_times, read_log

HERE = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 0], [1, 0, 0], [1, 0, 1]])
"""Rounds x clients a, b, c; b never comes, nobody comes in round 2."""
NAMES = "abc"


def write(folder: Path, text: str, name: str = "log.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def forms(folder: Path) -> dict[str, Path]:
    """The same history in each form, with a minute a round where there are times."""
    came = [(r, NAMES[i]) for r, i in zip(*np.nonzero(HERE), strict=True)]
    runs = [("a", 0, 1), ("a", 3, 5), ("c", 0, 2), ("c", 4, 5)]
    iso = [datetime.fromtimestamp(60 * r, UTC).isoformat() for r in range(6)]
    events = sorted([(s, n, "on") for n, s, _ in runs] + [(e, n, "off") for n, _, e in runs])
    lines = {
        "intervals": "client,start,end\n" + "".join(f"{n},{iso[s]},{iso[e]}\n" for n, s, e in runs),
        "rounds": "round,client\n" + "".join(f"{r},{n}\n" for r, n in reversed(came)),
        "status": "server_round,cid,status\n"
        + "".join(f"{r},{NAMES[i]},{'ok' if HERE[r, i] else 'dropped'}\n" for r in range(5) for i in range(3)),
        "transitions": "client,time,state\n" + "".join(f"{n},{60 * r},{what}\n" for r, n, what in events),
        "mask": "round,a,b,c\n" + "".join(f"{r},{','.join(map(str, HERE[r]))}\n" for r in range(5)),
        "traffic": "round,sender,receiver,bytes\n"
        + "".join(f"{r},server,{NAMES[i]},9\n" for r in range(5) for i in range(3))
        + "".join(f"{r},{n},server,7\n" for r, n in came),
    }
    found = {form: write(folder, text, f"{form}.csv") for form, text in lines.items()}
    objects = "".join(json.dumps({"round": int(r), "client": n}) + "\n" for r, n in came)
    found["json lines"] = write(folder, objects, "rounds.jsonl")
    minutes = {n: [(60 * s, 60 * e) for m, s, e in runs if m == n] for n in NAMES}
    scale = {
        n: {"active": [s for s, _ in m], "inactive": [e for _, e in m], "finish_time": 300} for n, m in minutes.items()
    }
    found["fedscale"] = write(folder, json.dumps(scale), "scale.json")
    clock = [f"1970-01-01 00:{r:02d}:00" for r in range(6)]
    messages = {
        n: {"messages": f"{clock[0]}\twifi\n{clock[0]}\t80.0%\n"
            + "".join(f"{clock[s]}\tbattery_charged_on\n{clock[e]}\tbattery_charged_off\n"
                      for m, s, e in runs if m == n)}
        for n in NAMES
    }  # fmt: skip
    found["flash"] = write(folder, json.dumps(messages), "flash.json")
    return found


@pytest.mark.parametrize("shuffled", [False, True])
def test_one_history_through_every_reader(tmp_path: Path, shuffled: bool) -> None:
    for form, path in forms(tmp_path).items():
        if shuffled and path.suffix == ".csv":
            header, *rows = path.read_text().splitlines()
            path.write_text("\n".join([header, *np.random.default_rng(0).permutation(rows)]) + "\n")
        options = {"tz": "UTC", "where": ["charging", "wifi"]} if form == "flash" else {}
        log = read_log(path, names="abc", **options)
        width = None if log.unit == "rounds" else 60
        assert log.mask(width).astype(int).tolist() == HERE.tolist(), form
        assert log.never == ("b",) and not log.censored.any(), form
        assert log.recorded(width).mask.tolist() == HERE.astype(bool).tolist()


def test_dates_without_a_zone_are_read_in_the_zone_that_is_given(tmp_path: Path) -> None:
    path = write(tmp_path, "client,start,end\na,2026-03-28T22:00:00+01:00,2026-03-29T06:00:00+02:00\n"
                 "b,2026-03-29 01:00,2026-03-29 05:30\n")  # fmt: skip
    with pytest.raises(Damaged, match=r"line 3, column 'start': '2026-03-29 01:00' has no time zone"):
        read_log(path)
    log = read_log(path, tz="Europe/Berlin")
    (a,), (b,) = log.intervals("a"), log.intervals("b")
    assert a[1] - a[0] == 7 * 3600 and b[1] - b[0] == 3.5 * 3600
    assert a[0] == datetime(2026, 3, 28, 21, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(("cell", "wrong"), [("2026-03-29 02:30", "never comes"), ("2026-10-25 02:30", "comes twice")])
def test_local_times_that_name_no_moment_are_refused(cell: str, wrong: str) -> None:
    zone = log_times.zone("Europe/Berlin")
    with pytest.raises(ValueError, match=wrong):
        log_times.moment(cell, zone)
    assert log_times.moment(cell + "+01:00", zone) == datetime.fromisoformat(cell + "+01:00").timestamp()


def test_what_is_not_taken_as_it_stands_is_told(tmp_path: Path) -> None:
    log = read_log(write(tmp_path, "client,start,end\na,0,10\na,0,10\na,5,12\na,12,13\nb,5,\nb,7,7\nc,1,1\n"))
    assert log.intervals("a") == [(0, 13)] and log.intervals("b") == [(5, 13)] and log.never == ("c",)
    assert log.told == (
        "1: rows that stand there twice (first: line 3)",
        "2: intervals of no length, which are left out (first: line 7)",
        "1: intervals without an end: counted until the log ends (first: line 6)",
        "1: intervals that overlap an earlier one of the same client: merged (first: line 4)",
    )
    assert log.censored.tolist() == [[False, False], [False, True]]
    assert read_log(tmp_path / "log.csv", until=20).intervals("b") == [(5, 20)]


def test_comings_and_goings_that_do_not_match(tmp_path: Path) -> None:
    rows = "a,5,off\na,9,on\na,10,on\na,12,off\na,13,off\nb,2,join\n"
    log = read_log(write(tmp_path, "user,timestamp,event\n" + rows))
    assert log.intervals("a") == [(2, 5), (9, 12)] and log.intervals("b") == [(2, 13)]
    assert log.censored.tolist() == [[True, False], [False, False], [False, True]]
    assert len(log.told) == 4


@pytest.mark.parametrize("rows", ["off first", "on first"])
def test_who_leaves_and_comes_at_one_moment_stays(tmp_path: Path, rows: str) -> None:
    """Words that say who comes stand before or after those who leaves, where a log is sorted by them."""
    pair = ["a,5,off", "a,5,on"] if rows == "off first" else ["a,5,on", "a,5,off"]
    text = "\n".join(["client,time,state", "a,0,on", *pair, "b,5,on", "b,5,off", "a,9,off", "b,9,on"])
    log = read_log(write(tmp_path, text), until=10)
    assert log.intervals("a") == [(0, 9)] and log.intervals("b") == [(9, 10)]
    assert not [line for line in log.told if "change nothing" in line]


def test_a_dropped_client_did_not_take_part(tmp_path: Path) -> None:
    log = read_log(write(tmp_path, "round,client,status\n3,a,ok\n4,a,failed\n5,b,weird\n"), present=["ok"])
    assert log.mask().astype(int).tolist() == [[1, 0], [0, 0], [0, 0]] and log.begins == 3


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("client,start,end\na,5,4\n", r"line 2: start = 5, end = 4: allowed is start <= end"),
        ("client,start,end\na,5,\na,5,2026-01-01T00:00:00Z\n", "line 3: one of start and end has dates"),
        ("client,start,end\na,1,2\nb,2026-01-01T00:00:00Z,\n", r"line 3, column 'start': .* is a date, and others"),
        ("client,start,end\na,1,x\n", r"line 2, column 'end': 'x': allowed is a finite number"),
        ("client,start,end\n,1,2\n", r"line 2, column 'client': empty"),
        ("round,client\n-1,a\n", r"line 2, column 'round': '-1': allowed is an integer >= 0"),
        ("round,client,status\n0,a,weird\n", r"'weird' is no known state: allowed is present="),
        ("round,client,status\n0,a,ok\n0,a,failed\n", r"line 3: client 'a' is in round 0 twice, .* by line 2 alone"),
        ("round,a,b\n0,1,1\n2,0,1\n0,0,1\n", "line 4: round 0 stands there twice"),
        ("a,b\n0,1\n1,2\n", "line 3, column 'b': '2': allowed is 0 or 1"),
        ("round,sender,receiver\n0,a,srv\n0,a,b\n1,b,c\n", "line 4: no name is in every row up to here"),
        ("a,b\n1,2\n", r"its columns are a, b: allowed are client, start, end \(intervals\)"),
        ("client,start,end\na,1\n", "line 2: 2 cells: allowed is 3"),
        ("client,client,end\na,1,2\n", "line 1: its columns are client, client, end"),
        ("client,start,end\n", "no row: allowed is at least one"),
        ("round,sender,receiver\n0,a,b\n1,c,d\n", "allowed with server= alone"),
    ],
)
def test_what_is_refused_names_the_line(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(Damaged, match=wrong):
        read_log(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("round;client\n0;a\n1;b\n", "of a spreadsheet.csv"),
        ("round\tclient\n0\ta\n1\tb\n", "log.tsv"),
        ("round|client\n0|a\n1|b\n", "bars.csv"),
        ('{"server-round": 1, "node_id": "a", "status": "OK"}\n{"server-round": 2, "node_id": "b", "status": "ok"}\n'
         '{"server-round": 2, "node_id": "a", "status": "FAILURE"}\n', "flower.jsonl"),
        ('{"current_round": 0, "client_name": "a", "status": "ACCEPTED"}\n{"current_round": 0, "client_name": "b", '
         '"status": "DISCARDED"}\n{"current_round": 1, "client_name": "b", "status": "ACCEPTED"}\n', "nvflare.jsonl"),
        ('{"msg_type": 2, "sender": 0, "receiver": "a", "round_idx": 0}\n{"msg_type": 2, "sender": 0, "receiver": "b", '
         '"round_idx": 0}\n{"msg_type": 3, "sender": "a", "receiver": 0, "round_idx": 0}\n'
         '{"msg_type": 3, "sender": "b", "receiver": 0, "round_idx": 1}\n', "fedml.jsonl"),
        ("round_idx,client_idx\n0,a\n1,b\n", "fedml.csv"),
        (",round,client\n5,0,a\n9,1,b\n", "of a data frame.csv"),
        ("a,b\nTrue,False\nFALSE,TRUE\n", "truth.csv"),
        ("a,b\n1.0,0.0\n0.0,1.0\n", "floats.csv"),
        (",a,b\n1,False,True\n0,True,False\n", "frame of truth.csv"),
        ('"note, on;\nrounds";"round";client\n5" disk;0;a\nx;1;b\n', "a title of two lines.csv"),
        ("Client,round,client\nx,0,a\ny,1,b\n", "names alike.csv"),
        ("Client,CLIENT,Round\na,x,0\nb,y,1\n", "no name just so.csv"),
        ('\ufeff{"round": 0, "client": "a"}\n{"round": 1, "client": "b"}\n', "with a mark.jsonl"),
        ('\ufeff{"a": {"active": [0], "inactive": [1]}, "b": {"active": [1], "inactive": [2]}}', "with a mark.json"),
    ],
)  # fmt: skip
def test_what_other_programs_write(tmp_path: Path, text: str, name: str) -> None:
    log = read_log(write(tmp_path, text, name))
    assert sorted(log.names) == ["a", "b"]
    assert log.mask(None if log.unit == "rounds" else 1)[:, np.argsort(log.names)].astype(int).tolist() == [
        [1, 0],
        [0, 1],
    ]


def test_a_packed_log_is_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress
    for form, path in forms(tmp_path).items():
        options = {"tz": "UTC", "where": ["charging", "wifi"]} if form == "flash" else {}
        other = tmp_path / f"{path.name}.gz"
        other.write_bytes(packed(path.read_bytes()))
        assert str(read_log(other, **options)) == str(read_log(path, **options)), form
    other.write_bytes(packed(b"round,client\n0,a\n")[:-9])
    with pytest.raises(Damaged, match=r"no valid gzip stream \(.*\); allowed is a complete"):
        read_log(other)
    other.write_bytes(packed(b"a" * 10**6))
    monkeypatch.setenv("FEDTHEORY_LARGEST_FILE", "10000")
    with pytest.raises(Damaged, match="has more than 10000 bytes"):
        read_log(other)


@pytest.mark.parametrize(
    ("text", "name", "wrong"),
    [
        ('{"round": 0, "client": "a"}\n{"round": 1, "client": ["a", "b"]}\n', "a.jsonl",
         r"line 2, column 'client': \['a', 'b'\]: allowed is a text or a number"),
        ('{"round": {"n": 0}, "client": "a"}\n', "a.jsonl", r"line 1, column 'round': \{'n': 0\}: allowed is a text"),
        ("round,client\n0,a\n", "log.csv.gz", "no valid gzip stream .*; allowed is a complete, undamaged one"),
        ("round,client\n0,a\n", "log.csv.bz2", "is packed, by its name: allowed is CSV or .jsonl, also with .gz"),
        ("round,client\n0,a\n", "log.parquet.gz", "is packed, by its name"),
        ("a,,b\n1,0,1\n", "a.csv", "line 1: its columns are a, , b: allowed are distinct names"),
        ("x;y\n1,5;2\n", "a.csv", "its columns are x, y"),
    ],
)  # fmt: skip
def test_other_files_that_are_refused(tmp_path: Path, text: str, name: str, wrong: str) -> None:
    with pytest.raises(Damaged, match=wrong):
        read_log(write(tmp_path, text, name))
    write(tmp_path, '{"round": 0, "client": "a", "more": [1]}\n', "b.jsonl")  # what is not looked at may be anything
    assert read_log(tmp_path / "b.jsonl").names == ("a",)


TWO = "client,start,end\na,0,10\nb,0,1\n"


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"columns": ["client"]}, "columns is of type list"),
        ({"columns": {"client": None}}, r"columns\['client'\] is None"),
        ({"present": 3}, "present is 3: allowed is a list of words"),
        ({"where": 3}, "where is 3: allowed is a list of words"),
        ({"where": ["charging"]}, "where: allowed is with a log of flash, and this one is of intervals"),
        ({"server": "s"}, "server: allowed is with a log of traffic"),
        ({"present": ["on"]}, "present: allowed is with a log of transitions or rounds"),
        ({"names": 3}, "names is 3"),
        ({"names": []}, "names is empty"),
        ({"tz": 3}, "tz = 3: allowed is the name of a time zone"),
        ({"until": "2026-01-01T00:00Z"}, "until = '2026-01-01T00:00Z' is a date, and the log has numbers"),
    ],
)
def test_options_that_are_refused(tmp_path: Path, options: dict, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        read_log(write(tmp_path, TWO), **options)


def test_statuses_are_of_a_log_that_has_some(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="present: allowed is with a column status"):
        read_log(write(tmp_path, "round,client\n0,a\n"), present=["on"])


def test_a_mask_has_a_client(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no column but the round: allowed is one of 0 and 1 for each client"):
        read_log(write(tmp_path, "round\n0\n1\n"), "mask")


def test_files_and_widths_of_other_kinds(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="path is 3: allowed is a file's name"):
        read_log(3)  # type: ignore[arg-type]
    log = read_log(write(tmp_path, TWO.replace("0,10", "-1e308,1e308")))
    for width, wrong in (
        ("1", "width is '1'"),
        ([1], "width is of type list"),
        (1e307, "inf rounds; allowed are fewer"),
    ):
        with pytest.raises(ValueError, match=wrong):
            log.mask(width)  # type: ignore[arg-type]
    nobody = read_log(write(tmp_path, "round,client,status\n0,a,failed\n1000000000000,b,failed\n"))
    with pytest.raises(ValueError, match=r"1e\+12 rounds; allowed are fewer"):
        nobody.mask()


def test_one_state_of_who_is_there_is_a_word_and_not_its_letters(tmp_path: Path) -> None:
    path = write(tmp_path, "round,client,status\n0,a,here\n1,b,gone\n")
    assert read_log(path, present="here").mask().astype(int).tolist() == [[1, 0], [0, 0]]
    assert read_log(path, present=["here ", "heer"]).told[0] == "1: state of who is there that no row has, 'heer'"
    with pytest.raises(Damaged, match="column 'status': no row has 'heer': allowed as present= are 'here', 'gone'"):
        read_log(path, present="heer")


def test_names_that_look_alike_are_told(tmp_path: Path) -> None:
    path = write(tmp_path, "round,client\n0,ann\n1,bo b\n2, Ann\n3,bo  b\n4,ann\u200b\n5,ann \n6,bob\n")
    log = read_log(path)
    assert log.names == ("ann", "bo b", "Ann", "bo  b", "ann\u200b", "bob")
    alike = "names that differ from an earlier one by case, blanks or unseen signs: other clients (first: line 4)"
    assert log.told == (f"3: {alike}",)
    assert not read_log(path, names=log.names).told  # a roster says who there is


def test_a_server_that_writes_to_itself_is_no_client(tmp_path: Path) -> None:
    path = write(tmp_path, "round,sender,receiver\n0,s,a\n0,a,s\n0,s,s\n1,s,b\n")
    log = read_log(path)
    assert log.names == ("a", "b") and log.mask().astype(int).tolist() == [[1, 0], [0, 0]]
    assert log.told == ("1: clients a round that were sent something and sent nothing: counted as away",)


def test_a_mask_of_many_clients_is_read_in_time_that_grows_with_its_size(tmp_path: Path) -> None:
    """A list of all columns was once made for each column: 20000 took minutes, and take a second."""
    width = 20_000
    path = write(tmp_path, ",".join(f"c{i}" for i in range(width)) + "\n" + ",".join("01" * (width // 2)) + "\n")
    start = time.process_time()
    assert read_log(path).mask().sum() == width // 2
    assert time.process_time() - start < 20


def test_a_log_of_nobody_who_took_part(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("round,client,status\n0,a,missing\n1,b,failed\n")
    log = read_log(tmp_path / "log.csv")
    assert log.names == log.never == ("a", "b") and log.mask().tolist() == [[False, False]] * 2


def test_columns_that_are_called_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path, "phone,von,end\na,0,1\n")
    assert read_log(path, columns={"client": "phone", "start": "von"}).intervals("a") == [(0, 1)]
    with pytest.raises(ValueError, match=r"its columns are phone, von, end \(is 'phone' meant\?\)"):
        read_log(path, "intervals", columns={"client": "phon", "start": "von"})
    with pytest.raises(Damaged, match=r"no column 'client': .*columns=\{'client': NAME\} names it"):
        read_log(path, "intervals")
    with pytest.raises(ValueError, match="columns has 'clint'"):
        read_log(path, columns={"clint": "phone"})


def test_a_roster_says_who_there_is(tmp_path: Path) -> None:
    path = write(tmp_path, "round,client\n0,a\n")
    assert read_log(path, names=["b", "a"]).mask().tolist() == [[False, True]]
    with pytest.raises(Damaged, match="line 2: client 'a' is not in names"):
        read_log(path, names=["b"])
    with pytest.raises(ValueError, match="distinct names"):
        read_log(path, names=["a", "a"])


def test_conditions_of_a_device(tmp_path: Path) -> None:
    text = "2020-01-01 00:00:00\twifi\n2020-01-01 00:01:00\tbattery_charged_on\n2020-01-01 00:09:00\t4G\n"
    path = write(tmp_path, json.dumps({"d": {"messages": text}}), "f.json")
    (held,) = read_log(path, tz="UTC", where=["wifi", "charging"]).intervals("d")
    assert held[1] - held[0] == 8 * 60
    with pytest.raises(Damaged, match="no message ever says locked"):
        read_log(path, tz="UTC")
    never = "2020-01-01 00:00:00\twifi\n2020-01-01 00:01:00\t4G\n2020-01-01 00:02:00\tbattery_charged_on\n"
    apart = write(tmp_path, json.dumps({"d": {"messages": never}}), "apart.json")
    with pytest.raises(Damaged, match="wifi, charging never hold at once"):
        read_log(apart, tz="UTC", where=["wifi", "charging"])
    with pytest.raises(ValueError, match="where has 'wify'"):
        read_log(path, tz="UTC", where=["wify"])
    with pytest.raises(Damaged, match="client 'd', message 1: '2020-01-01 00:00:00' has no time zone"):
        read_log(path)
    numbers = "0\twifi\n1\tbattery_charged_on\n9\t4G\n"
    own = write(tmp_path, json.dumps({"d": {"messages": numbers}}), "numbers.json")
    held = read_log(own, where=["wifi", "charging"])
    assert held.intervals("d") == [(1, 9)] and held.unit == "numbers"
    date = "'2020-01-01 00:00:00' is a date"
    for first, second, wrong in ((text, numbers, "'0' is a number"), (numbers, text, date)):
        both = write(tmp_path, json.dumps({"d": {"messages": first}, "e": {"messages": second}}), "both.json")
        with pytest.raises(Damaged, match=f"client 'e', message 1: {wrong}, unlike that of client 'd', message 1"):
            read_log(both, tz="UTC", where=["wifi", "charging"])


def test_nobody_may_have_come(tmp_path: Path) -> None:
    for text in (
        "a,b\n0,0\n0,0\n",
        "round,client,status\n0,a,failed\n1,b,failed\n",
        "client,start,end\na,0,0\nb,2,2\n",
    ):
        log = read_log(write(tmp_path, text))
        assert log.never == ("a", "b") and not log.client.size
        assert not log.mask(None if log.unit == "rounds" else 1.0).any()
    with pytest.raises(Damaged, match="server = 'srw' is nowhere in column 'receiver'"):
        read_log(write(tmp_path, "round,sender,receiver\n0,a,srv\n"), server="srw")


def test_widths_belong_to_logs_of_times(tmp_path: Path) -> None:
    by_round = read_log(write(tmp_path, "round,client\n0,a\n"))
    by_time = read_log(write(tmp_path, "client,start,end\na,0,2\n", "t.csv"))
    for log, width, wrong in (
        (by_round, 2.0, "nothing"),
        (by_time, None, "how long a round is"),
        (by_time, -1, "positive"),
    ):
        with pytest.raises(ValueError, match=wrong):
            log.mask(width)
    with pytest.raises(ValueError, match="no time before the log's last, 2"):
        read_log(tmp_path / "t.csv", until=1)
    with pytest.raises(ValueError, match="tz = 'Europe/Berlim'"):
        read_log(tmp_path / "t.csv", tz="Europe/Berlim")


def test_leaf_says_who_trained_in_one_file_and_who_was_evaluated_in_another(tmp_path):
    file = tmp_path / "metrics.csv"
    head = "client_id,round_number,hierarchy,num_samples,set,"
    file.write_text(head + "bytes_written,bytes_read,local_computations\nf1,1,,18,train,3,3,9\nf2,2,,5,train,3,3,9\n")
    assert read_log(file).mask().astype(int).tolist() == [[1, 0], [0, 1]]
    file.write_text(head + "accuracy,loss\nf1,1,,18,test,0.5,1.2\nf2,1,,5,test,0.1,2.0\n")
    with pytest.raises(ValueError, match="whether they trained or not"):
        read_log(file)
    assert read_log(file, like="rounds").mask().astype(int).tolist() == [[1, 1]]


PLAIN = {
    "rounds": "round,client\n3,b\n1,a\n1,b\n",
    "names that look like numbers": "client,start,end\n007,1,2\n7,0.1,1e3\n",
    "names that are numbers": "round,client\n1,10\n1,7\n2,10\n",
    "other columns": "x,round,client\nhello,1,a\n,2,b\n",
    "statuses": "round,client,status\n1,a,ok\n1,b,failed\n2,b,ok\n",
    "transitions": "client,time,state\nb,0,on\na,1.5,on\na,3,off",
    "open ends": "client,start,end\na,1,\nb,2,3\n",
    "dates": "client,start,end\na,2026-01-01T00:00Z,2026-01-02T00:00Z\n",
    "a mask": "a,b\n1,0\n0,1\n",
    "quotes": 'round,client\n1,"a,b"\n2,c\n',
    "spaces": "round, client\n1, a\n2,a \n",
    "empty lines": "round,client\n1,a\n\n2,b\n\n",
    "a carriage return": "round,client\r\n1,a\r\n2,b\r\n",
    "a cell too few": "round,client\n1,a\n2\n",
    "a cell too few and one too many": "round,client\n1,a\n2\n3,b,c\n",
    "no name": "round,client\n1,\n2,b\n",
    "a fraction": "round,client\n1.5,a\n2,b\n",
    "a whole fraction": "round,client\n1.0,a\n2.0,b\n",
    "below zero": "round,client\n-1,a\n2,b\n",
    "a huge round": "round,client\n1234567890123456,a\n2,b\n",
    "an infinite one": "client,start,end\na,1,inf\n",
    "not a number": "client,start,end\na,1,nan\n",
    "ends before its start": "client,start,end\na,3,4\nb,5,1\n",
    "a column twice": "round,round\n1,2\n",
    "truth": "client,time,state\na,True,on\n",
    "underlines": "client,start,end\na,1_0,2_0\n",
    "no row": "round,client\n",
    "twice with two statuses": "round,client,status\n1,a,ok\n1,a,failed\n",
    "long numbers": "client,start,end\n"
    + "".join(f"a,{k + 0.1234567890123456789 / (k + 1)!r}123,{k + 0.9!r}9999\n" for k in range(200)),
}
"""Files that pandas may read, or must not."""


@pytest.mark.parametrize("name", PLAIN)
def test_pandas_reads_what_the_lines_say_or_nothing(name, tmp_path, monkeypatch):
    from fedtheory.participation import log_columns

    pytest.importorskip("pandas")
    file = tmp_path / "log.csv"
    file.write_bytes(PLAIN[name].encode())

    def outcome():
        try:
            log = read_log(file)
        except ValueError as error:
            return str(error)
        return log.names, log.client.tolist(), log.start.tolist(), log.end.tolist(), log.censored.tolist(), str(log)

    by_lines = outcome()
    monkeypatch.setattr(log_columns, "MANY", 0)
    assert outcome() == by_lines


def test_pandas_is_asked_where_it_may(tmp_path, monkeypatch):
    """Without this the test above could compare the lines with themselves."""
    from fedtheory.participation import log_columns

    pytest.importorskip("pandas")
    monkeypatch.setattr(log_columns, "MANY", 0)
    read = ("rounds", "other columns", "statuses", "names that are numbers")
    not_read = ("names that look like numbers", "quotes", "spaces", "open ends", "a cell too few")
    for name in (*read, *not_read):
        file = tmp_path / "log.csv"
        file.write_text(PLAIN[name])
        assert (log_columns._plain_csv(file, {}) is not None) == (name in read), name
