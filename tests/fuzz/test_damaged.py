"""A mutation test for every kind of file: whatever is changed, the file is read to what it meant or to what such a file
may say, or it is `Damaged`; no other error, in little memory and time, and nothing is written.

``FEDTHEORY_MUTATIONS`` says how many changes of each kind; by default few.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import random
import resource
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtheory import Setting, algorithms, federations, participation
from fedtheory.data.idx import read_idx
from fedtheory.data.loaders.cifar import read_records
from fedtheory.data.loaders.cinic import _in_archive, read_png
from fedtheory.data.loaders.leaf import read_users
from fedtheory.data.loaders.shakespeare import read_speeches
from fedtheory.data.loaders.svhn import read_mat
from fedtheory.experiments.curves import Curves, read_curves
from fedtheory.experiments.printed_tables import Table
from fedtheory.experiments.reading import read_toml
from fedtheory.experiments.schema import read_experiment
from fedtheory.files import DEEPEST, Damaged, largest, read_arrays, read_csv, read_file, read_json
from fedtheory.participation.interval_tables import read_intervals
from fedtheory.report.drawing import read_figure
from fedtheory.selection.readers import read_availability, read_budget, read_group_weight
from fedtheory.simulation import Run
from fedtheory.simulation.checkpoint import read_label
from fedtheory.simulation.segment import read_segment
from fedtheory.worstcase.certificates import Certificate
from tests.data.formats import leaf, mat, png, tar_gz
from tests.work import counted

from .bad import TEXTS, spoiled

CHANGES = int(os.environ.get("FEDTHEORY_MUTATIONS", "200"))
MOST_MEMORY, MOST_CALLS = 512 * 2**20, 10**7
ROOT = Path(__file__).parents[2]

EXPERIMENT = b"""title = "x"
federation = { kind = "common_hessian", offsets = [1, -1] }
algorithm = { kind = "fedavg", local_lr = "1/10" }
participation = { kind = "Fixed", members = { first = 2 } }
run = { rounds = 10, observers = ["squared_distance"], seeds = [1, 2] }
statistics = [{ name = "d", of = "squared_distance", scale = 1.5e1 }]
[grid]
"algorithm.local_lr" = ["1/10", "1/20"]
"""
TABLE = b"""paper = "x"
number = "1"
place = "p"
caption = "c"
keys = ["q"]
columns = [{ measure = "m" }]
rows = [["0", "71.40"], ["1", "80"]]
[measures.m]
statistic = "mean"
"""


@functools.cache
def stored() -> dict[str, tuple[str, bytes]]:
    """Files of a run: saved, a segment, and the label of its store."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        at = Path(name)
        fed = federations.Quadratic.common_hessian(offsets=[1, -1])
        setting = Setting(fed, algorithms.fedvarp(local_lr="1/2"), participation.Uniform(1), start=2.0)
        setting.simulate(replicas=1, rounds=3, directory=at / "store").save(at / "run.npz")
        segment = sorted((at / "store").rglob("segment-*.npz"))[-1]
        (label,) = (at / "store").rglob("run.json")
        return {path.name: (path.name, path.read_bytes()) for path in (at / "run.npz", segment, label)}


def packed(name: str) -> tuple[str, bytes]:
    """The same archive, packed."""
    whole = next(content for key, content in stored().values() if key == name)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, old.read(member))
    return name, out.getvalue()


def tar(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def segment_of() -> tuple[str, bytes]:
    return next(each for name, each in stored().items() if name.startswith("segment"))


def same_run(one: Run, other: Run) -> bool:
    rows = one.rows.keys() == other.rows.keys() and all(np.array_equal(one.rows[n], other.rows[n]) for n in one.rows)
    return rows and np.array_equal(one.rounds, other.rounds)


def same_arrays(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


IMAGE = np.arange(3 * 32 * 32, dtype=np.uint8).reshape(3, 32, 32) % 251
RULE = Curves(archive="a", source="s", measure="m", last=2, patterns=["run[.]csv"], words=[])
CERTIFICATE = ROOT / "docs" / "certificates" / "fast.json"
FIGURE = ROOT / "experiments" / "fast" / "figures" / "thm1.toml"
IDX = b"\0\0\x08\x01\0\0\0\x03abc"

Kind = tuple[Callable[[], tuple[str, bytes]], Callable[[Path], Any], Callable[[Any, Any], bool] | None]
KINDS: dict[str, Kind] = {
    "json": (lambda: ("a.json", b'{"a": [1, 2.5e3, {"b": "c\\n"}], "d": null}'), read_json, None),
    "csv": (lambda: ("a.csv", b'a,b\n1,"2"\n'), lambda path: list(read_csv(path)), None),
    "availability": (lambda: ("a.csv", b"a,b\n1,2\n3,4\n"), read_availability, None),
    "budget": (lambda: ("b.csv", b"round,budget\n1,0.5\n2,3\n"), lambda path: read_budget(path, 2), None),
    "weights": (lambda: ("w.csv", b"group,weight\na,0.25\nb,0.75\n"), lambda p: read_group_weight(p, ("a", "b")), None),
    "intervals": (lambda: ("i.csv", b"client,start,end\na,0,1\nb,2,3.5\n"), read_intervals, None),
    "experiment": (lambda: ("e.toml", EXPERIMENT), read_experiment, None),
    "table": (lambda: ("t.toml", TABLE), lambda path: read_toml(path, Table), None),
    "figure": (lambda: ("f.toml", FIGURE.read_bytes()), read_figure, None),
    "run": (lambda: stored()["run.npz"], Run.load, None),
    "packed run": (lambda: packed("run.npz"), Run.load, None),
    "arrays": (lambda: packed("run.npz"), read_arrays, None),
    "segment": (segment_of, read_segment, same_arrays),
    "packed segment": (lambda: packed(segment_of()[0]), read_segment, same_arrays),
    "label": (lambda: stored()["run.json"], read_label, None),
    "idx": (lambda: ("i", IDX), read_idx, None),
    "packed idx": (lambda: ("i.gz", gzip.compress(IDX, mtime=0)), read_idx, np.array_equal),
    "records": (lambda: ("r.bin", bytes(3073)), lambda path: read_records(path, 1, 1), None),
    "mat": (lambda: ("m.mat", mat(X=np.zeros((32, 32, 3, 2), np.uint8), y=np.ones((2, 1), np.uint8))), read_mat, None),
    "png": (lambda: ("p.png", png(IMAGE)), lambda path: read_png(str(path), path.read_bytes()), np.array_equal),
    "images": (lambda: ("c.tar.gz", tar_gz({"train/cat/a.png": png(IMAGE)})),
               lambda path: list(_in_archive(path, ("train",))), lambda one, other: one == other),
    "curves": (lambda: ("c.tar", tar("run.csv", b"Wall time,Step,Value\n0,0,0.5\n0,10,0.6\n0,20,0.7\n")),
               lambda path: list(read_curves(RULE, path)), None),
    "users": (lambda: ("u.json", leaf({"u": ([[0.5] * 784], [3])})), read_users, None),
    "speeches": (lambda: ("s.txt", b"A:\nword\n\nB:\nother\n"), read_speeches, None),
    "certificate": (lambda: ("c.json", CERTIFICATE.read_bytes()), Certificate.load, None),
}  # fmt: skip
"""By kind: a file that is right, what reads it, and whether what is read means the same, where a checksum says so."""


def changed(content: bytes, rng: random.Random) -> bytes:
    """Other bytes: cut, doubled, flipped; bits; numbers and sizes where there are some; text that means something."""
    at = rng.randrange(len(content) + 1)
    if rng.random() < 0.4:
        return spoiled(content, rng)
    return rng.choice([
        lambda: content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :] if at < len(content)
        else content + b"\0",
        lambda: content[:at] + rng.choice([b"\xff" * 4, b"\0" * 8, b"\x7f" + b"\xff" * 7]) + content[at + 4 :],
        lambda: content[:at] + rng.choice([b"1e99999999", b"9" * 5000, b"[" * 3000, b"{" * 3000, b"NaN", b"\0",
                                           b"\x1b[2J", b"../" * 9, b"-1", b"1e400", b"\n" * 50]) + content[at:],
        lambda: content[:at] + rng.choice(TEXTS).encode() + content[at + rng.randrange(4) :],
    ])()  # fmt: skip


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_file_is_damaged_or_means_something(tmp_path: Path, kind: str) -> None:
    make, read, same = KINDS[kind]
    name, content = make()
    path = tmp_path / name
    path.write_bytes(content)
    right = read(path)  # and its libraries are loaded
    rng, before, refused = random.Random(kind), peak(), 0
    for _ in range(CHANGES):
        path.write_bytes(changed(content, rng))
        try:
            with counted(MOST_CALLS), warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ResourceWarning)
                found = read(path)
            assert same is None or same(found, right), path.read_bytes()
        except Damaged as error:
            refused += 1
            assert (
                str(error).startswith(str(path))
                and len(str(error)) < 25000
                and max(map(len, str(error).splitlines())) < 1500
            ), str(error)
        assert [each.name for each in tmp_path.iterdir()] == [name], "written"
    assert refused > CHANGES // 40 and peak() - before < MOST_MEMORY


def test_sizes_are_looked_at_before_anything_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives of a few hundred bytes that say they hold, or hold, far more."""
    monkeypatch.setenv("FEDTHEORY_LARGEST_FILE", str(2**20))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**21,)})
    before = peak()
    bombs = {
        "honest.npz": header.getvalue() + bytes(2**24),
        "short.npz": header.getvalue() + bytes(64),
        "empty strings.npz": header.getvalue().replace(b"<f8", b"<U0"),
    }
    for name, member in bombs.items():
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", member)
        with pytest.raises(Damaged):
            read_arrays(tmp_path / name)
    (tmp_path / "i.gz").write_bytes(gzip.compress(b"\0\0\x08\x01\x7f\xff\xff\xff" + bytes(2**24)))
    with pytest.raises(Damaged, match="bytes of data; allowed are"):
        read_idx(tmp_path / "i.gz")
    (tmp_path / "longer.gz").write_bytes(gzip.compress(b"\0\0\x08\x01\0\0\0\1" + bytes(2**24)))
    with pytest.raises(Damaged):
        read_idx(tmp_path / "longer.gz")
    with open(tmp_path / "sparse.json", "wb") as file:
        file.truncate(2**40)
    with pytest.raises(Damaged, match="FEDTHEORY_LARGEST_FILE raises it"):
        read_json(tmp_path / "sparse.json")
    assert peak() - before < 2**26


def test_the_option_raises_the_limit_and_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(1000))
    monkeypatch.setenv("FEDTHEORY_LARGEST_FILE", "999")
    with pytest.raises(Damaged, match=r"more than 999 bytes.*raises it"):
        read_file(tmp_path / "a")
    with pytest.raises(Damaged, match=r"more than 9 bytes: allowed is a file of at most so many$"):
        read_file(tmp_path / "a", 9)
    monkeypatch.setenv("FEDTHEORY_LARGEST_FILE", "1000")
    assert len(read_file(tmp_path / "a")) == 1000
    for text in ("many", "-1", "1e9", "9" * 30):
        monkeypatch.setenv("FEDTHEORY_LARGEST_FILE", text)
        with pytest.raises(ValueError, match="FEDTHEORY_LARGEST_FILE"):
            largest()


@pytest.mark.parametrize(
    "text", ['{"a": ' + "[" * 5000, '{"a": "' + '\\"' * 10**6, '{"a": ' + "[" * DEEPEST + "]" * DEEPEST + "}"]
)
def test_depth_is_counted_before_anything_recurses(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(Damaged), counted(10_000):
        read_json(tmp_path / "a.json")


def test_a_sign_is_no_digit(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for sign in ("", "-"):
        path.write_text(f'{{"a": {sign}{"1" * 60}}}', encoding="utf-8")
        assert abs(read_json(path)["a"]) == int("1" * 60)
        path.write_text(f'{{"a": {sign}{"1" * 61}}}', encoding="utf-8")
        with pytest.raises(Damaged, match="a number of 61 digits: allowed are at most 60"):
            read_json(path)


def test_brackets_in_texts_are_no_depth(tmp_path: Path) -> None:
    content = {"a": "[" * 1000 + '\\"' + "{" * 1000}
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert read_json(tmp_path / "a.json") == content
