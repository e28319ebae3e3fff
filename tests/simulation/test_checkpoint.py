"""Checkpoints: an interrupted run goes on as if nothing had happened, and what is on disk is whole or not there."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast
from fedtheory.federations import Pairs, Quadratic
from fedtheory.files import write_beside
from fedtheory.participation import Fixed, IndexBeta
from fedtheory.seals import sealed
from fedtheory.setting import Setting
from fedtheory.simulation import OBSERVABLES, Run
from fedtheory.simulation.state import LAYOUT

ROUNDS, EVERY = 23, 5
OPTIONS = {
    "replicas": 5,
    "rounds": ROUNDS,
    "seed": 3,
    "record_every": 4,
    "observers": [*OBSERVABLES, "peaks"],
    "chunk": 2,
}


class Counting(Quadratic):
    """Counts how often each (replica, round) was trained."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.trained: dict[tuple[int, int], int] = {}

    def draw_noise(self, pairs: Pairs, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        for replica in set(pairs.replica_id.tolist()):
            key = replica, pairs.round
            self.trained[key] = self.trained.get(key, 0) + 1
        return super().draw_noise(pairs, dtype)


def make_setting(start: float = 2.0, participation: object = None, noise: float = 0.5, lr: object = "1/10") -> Setting:
    fed = Counting([[1.0, 0.5], [2.0, 1.0], [0.7, 1.3]], [[1, 0], [0, 1], [-1, 2]], gradient_noise=noise)
    algorithm = fast(cohort=2, local_lr=lr, snapshot_probability=0.4, replacement=True)
    return Setting(fed, algorithm, participation or IndexBeta(2), start=start)


def run_once(directory: Path | None, setting: Setting | None = None, **changes: object) -> Run:
    return (setting or make_setting()).simulate(
        **(OPTIONS | {"checkpoint_every": EVERY} | changes), directory=directory
    )


def interrupt_at(call: int) -> Callable[[int, int], None]:
    """A progress callback that raises ``KeyboardInterrupt`` when it is called for the ``call``-th time."""
    calls = []

    def progress(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == call:
            raise KeyboardInterrupt

    return progress


def assert_same_run(run: Run, other: Run) -> None:
    """Bit for bit."""
    assert np.array_equal(run.rounds, other.rounds) and np.array_equal(run.diverged_at, other.diverged_at)
    assert run.rows.keys() == other.rows.keys() and run.peaks.keys() == other.peaks.keys()
    assert all(np.array_equal(run.rows[name], other.rows[name]) for name in run.rows)
    assert all(np.array_equal(run.peaks[name], other.peaks[name]) for name in run.peaks)


def contents(folder: Path) -> dict[str, bytes]:
    """All files, the hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def undisturbed() -> Run:
    return run_once(None)


def test_files(tmp_path, undisturbed):
    """One folder a chunk, in it a label and a segment for every checkpoint and the end; nothing else."""
    assert_same_run(run_once(tmp_path), undisturbed)
    names = ["run.json", *(f"segment-{r:012d}.npz" for r in (5, 10, 15, 20, 24))]
    expected = {f"replica-{first:06d}/{name}" for first in (0, 2, 4) for name in names}
    assert set(contents(tmp_path)) == expected
    label = json.loads((tmp_path / "replica-000002" / "run.json").read_text())
    assert (label["seed"], label["rounds"], label["first_replica"], label["replicas"]) == (3, ROUNDS, 2, 2)
    for path in tmp_path.rglob("*.npz"):
        np.load(path, allow_pickle=False).close()


# A chunk has 23 rounds; the call 5 is in the round that ends with a checkpoint, the call 6 in the one right after it.
@pytest.mark.parametrize("call", [1, 4, 5, 6, 11, 21, 23, 24, 29, 47, 68, 69])
def test_resumed_run_is_the_uninterrupted_one(tmp_path, undisturbed, call):
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(call))
    before = contents(tmp_path)
    setting = make_setting()
    assert_same_run(run_once(tmp_path, setting), undisturbed)
    # Rounds before the last checkpoint are finished, and no checkpoint may be missing before the interrupted round.
    chunk, done = divmod(call - 1, ROUNDS)
    saved = [int(name[-10:-4]) for name in before if name.startswith(f"replica-{2 * chunk:06d}/segment-")]
    kept = max(saved, default=0)
    assert EVERY * (done // EVERY) <= kept <= done + 1
    expected = {(i, r) for i in range(5) for r in range(ROUNDS) if i // 2 > chunk or (i // 2 == chunk and r >= kept)}
    assert setting.federation.trained.keys() == expected
    assert set(setting.federation.trained.values()) == {1}
    after = contents(tmp_path)
    assert all(after[name] == content for name, content in before.items())


@settings(deadline=None, max_examples=6)
@given(
    st.lists(st.integers(1, 3 * ROUNDS), max_size=4), st.lists(st.integers(1, 30), min_size=5, max_size=5),
    st.integers(1, 30), st.integers(1, 5),
)  # fmt: skip
def test_interrupted_again_and_again(tmp_path_factory, calls, every, record_every, chunk):
    """With another distance between checkpoints each time, whatever is recorded."""
    directory = tmp_path_factory.mktemp("run")
    options = {"record_every": record_every, "chunk": chunk}
    for call, distance in zip(calls, every, strict=False):
        with contextlib.suppress(KeyboardInterrupt):
            run_once(directory, progress=interrupt_at(call), checkpoint_every=distance, **options)
    assert_same_run(run_once(directory, checkpoint_every=every[-1], **options), run_once(None, **options))
    assert not [name for name in contents(directory) if "/." in name]


def test_finished_run_is_only_loaded(tmp_path, undisturbed):
    run_once(tmp_path)
    before = contents(tmp_path)
    setting, calls = make_setting(), []
    assert_same_run(run_once(tmp_path, setting, progress=lambda *call: calls.append(call)), undisturbed)
    assert setting.federation.trained == {} and calls == []
    assert contents(tmp_path) == before


def test_more_replicas_later(tmp_path):
    """Whole chunks that are there are taken; the new ones are run."""
    run_once(tmp_path, replicas=2)
    setting = make_setting()
    assert_same_run(run_once(tmp_path, setting, replicas=4), run_once(None, replicas=4))
    assert {replica for replica, _ in setting.federation.trained} == {2, 3}


def test_single_precision_resumes(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, dtype=torch.float32, progress=interrupt_at(13))
    assert_same_run(run_once(tmp_path, dtype=torch.float32), run_once(None, dtype=torch.float32))


def test_diverged_run_resumes(tmp_path):
    options = {"setting": make_setting(lr="1e40"), "observers": OBSERVABLES}
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(13), **options)
    resumed = run_once(tmp_path, **options)
    assert_same_run(resumed, run_once(None, **options))
    assert resumed.divergence.startswith("5 of 5 replicas diverged, the first at round ")


# Another run's directory.


@pytest.mark.parametrize(
    ("changes", "entries"),
    [
        ({"seed": 4}, ["seed = 3 there, 4 here"]),
        ({"rounds": 22}, ["rounds = 23 there, 22 here"]),
        ({"record_every": 5}, ["record_every = 4 there, 5 here"]),
        ({"observers": OBSERVABLES}, ["observers = "]),
        ({"observers": ["squared_gradient"]}, ["observers = "]),
        ({"dtype": torch.float32}, ["dtype = 'torch.float64' there, 'torch.float32' here"]),
        ({"chunk": 3}, ["replicas = 2 there, 3 here"]),
        ({"seed": 4, "rounds": 22}, ["seed = 3 there, 4 here", "rounds = 23 there, 22 here"]),
        ({"setting": make_setting(start=2.5)}, ["setting = "]),
        ({"setting": make_setting(noise=0.6)}, ["setting = "]),
        ({"setting": make_setting(lr="1/11")}, ["setting = "]),
        ({"setting": make_setting(participation=Fixed([0, 1]))}, ["setting = "]),
        ({"setting": make_setting(participation=IndexBeta(2, beta=9.0))}, ["setting = "]),
    ],
)
def test_directory_of_another_run_is_refused(tmp_path, changes, entries):
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(8))
    before = contents(tmp_path)
    with pytest.raises(ValueError) as error:
        run_once(tmp_path, **changes)
    assert str(error.value).startswith(f"directory = {str(tmp_path)!r} holds another run: ")
    assert all(entry in str(error.value) for entry in entries)
    assert str(error.value).count(" there, ") == len(entries)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("layout", [None, LAYOUT - 1])
def test_a_store_of_another_layout_is_refused_by_name(tmp_path, layout):
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(8))
    for tag in tmp_path.glob("*/run.json"):
        label = json.loads(tag.read_text())
        assert label.pop("layout") == LAYOUT
        label |= {} if layout is None else {"layout": layout}
        tag.write_text(json.dumps(sealed(label)))
    with pytest.raises(ValueError, match=f"holds another run: layout = {layout} there, {LAYOUT} here$"):
        run_once(tmp_path)


def test_directory_of_another_federation_is_refused(tmp_path):
    """Gradients x and 2 (x + 1/2) are equal at the probed point -1."""
    algorithm = fast(cohort=1, local_lr="1/10", snapshot_period=2)
    settings = [Setting(Quadratic([[h]], [[c]]), algorithm, Fixed([0]), start=1) for h, c in ((1, 0), (2, "-1/2"))]
    run_once(tmp_path, settings[0])
    with pytest.raises(ValueError, match="holds another run: setting = "):
        run_once(tmp_path, settings[1])


# Files that are damaged, and crashes.


def interrupted(directory: Path, **changes: object) -> Path:
    """The folder of a run that was interrupted after its second checkpoint."""
    with pytest.raises(KeyboardInterrupt):
        run_once(directory, progress=interrupt_at(12), **changes)
    return directory / "replica-000000"


def refusal(directory: Path) -> tuple[type, str]:
    """The error that a run raises, without its traceback."""
    try:
        run_once(directory)
    except Exception as error:
        return type(error), str(error)
    return type(None), ""


DAMAGES = {
    "empty": lambda content: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "last byte missing": lambda content: content[:-1],
    "other bytes": lambda content: b"no such format",
    "a flipped bit": lambda content: content[:300] + bytes([content[300] ^ 1]) + content[301:],
}


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_segment_is_named(tmp_path, damage, which):
    """And nothing is changed."""
    path = sorted(interrupted(tmp_path).glob("segment-*.npz"))[which]
    path.write_bytes(damage(path.read_bytes()))
    before = contents(tmp_path)
    kind, message = refusal(tmp_path)
    assert issubclass(kind, ValueError) and str(path) in message
    assert contents(tmp_path) == before


def test_damaged_last_segment_may_be_removed(tmp_path, undisturbed):
    """As the message says."""
    sorted(interrupted(tmp_path).glob("segment-*.npz"))[-1].unlink()
    assert_same_run(run_once(tmp_path), undisturbed)


def test_missing_segment_is_noticed(tmp_path):
    first, second = sorted(interrupted(tmp_path, chunk=5).glob("segment-*.npz"))
    first.unlink()
    with pytest.raises(ValueError, match="a segment is missing") as error:
        run_once(tmp_path, chunk=5)
    assert str(second) in str(error.value)


@pytest.mark.parametrize("content", [b"", b'{"seed": 3, "rou', b"[]", b"\xff\xfe", b"null"])
def test_damaged_label_is_named(tmp_path, content):
    tag = interrupted(tmp_path) / "run.json"
    tag.write_bytes(content)
    with pytest.raises(ValueError) as error:
        run_once(tmp_path)
    assert "run.json" in str(error.value)


def test_no_pickle_is_loaded(tmp_path):
    """A segment with an object array, whose loading would run code."""
    path = sorted(interrupted(tmp_path).glob("segment-*.npz"))[0]
    with np.load(path, allow_pickle=False) as arrays:
        content = dict(arrays)
    np.savez(path, **(content | {"x": np.array([Ran(tmp_path / "ran")], dtype=object)}))
    with pytest.raises(ValueError, match=r"segment-000000000005\.npz"):
        run_once(tmp_path)
    assert not (tmp_path / "ran").exists()


class Ran:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (os.mkdir, (str(self.path),))


@pytest.mark.parametrize("crash", [1, 2, 3, 5, 6, 7, 9])
def test_crash_between_write_and_rename(tmp_path, monkeypatch, undisturbed, crash):
    """The ``crash``-th file (labels count) is written but not renamed: the state before it stands."""
    replace, calls = os.replace, []

    def crashing(source: object, target: object) -> None:
        calls.append(target)
        if len(calls) == crash:
            raise OSError("power cut")
        assert not Path(target).exists(), "overwritten"
        replace(source, target)

    monkeypatch.setattr(os, "replace", crashing)
    with pytest.raises(OSError, match="power cut"):
        run_once(tmp_path)
    assert len(calls) == crash and not Path(calls[-1]).exists()
    assert set(contents(tmp_path)) == {str(Path(t).relative_to(tmp_path)) for t in calls[:-1]}
    assert_same_run(run_once(tmp_path), undisturbed)
    monkeypatch.undo()
    assert_same_run(run_once(tmp_path), undisturbed)


def test_leftovers_of_a_killed_process_do_no_harm(tmp_path, undisturbed):
    folder = interrupted(tmp_path)
    (folder / ".segment-000000000015.npz.4711").write_bytes(b"half of")
    (folder / ".run.json.4711").write_bytes(b"{")
    assert_same_run(run_once(tmp_path), undisturbed)


def test_nothing_is_written_twice(tmp_path, monkeypatch):
    """Through two interruptions and a reload, no file is ever the target of a second rename."""
    replace, targets = os.replace, []

    def watched(source: object, target: object) -> None:
        targets.append(Path(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    for call in (8, 20):
        with pytest.raises(KeyboardInterrupt):
            run_once(tmp_path, progress=interrupt_at(call))
    run_once(tmp_path)
    run_once(tmp_path)
    assert len(targets) == len(set(targets)) == len(contents(tmp_path)) == 18


def test_content_is_synced_before_the_rename(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (events.append("fsync"), fsync(number)))
    monkeypatch.setattr(os, "replace", lambda *paths: (events.append("replace"), replace(*paths)))
    write_beside(tmp_path / "file", b"content")
    assert events == ["fsync", "replace"]
    assert contents(tmp_path) == {"file": b"content"}


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write_beside(tmp_path / "file", b"old")

    def full(number: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_beside(tmp_path / "file", b"new")
    assert contents(tmp_path) == {"file": b"old"}


def test_what_a_store_must_agree_with_is_asked_for_with_a_store_only(tmp_path, monkeypatch):
    """It takes a look at all data."""
    asked = []
    monkeypatch.setattr(Counting, "identity", lambda fed, server=False: asked.append(fed) or b"")
    run_once(None)
    assert not asked
    run_once(tmp_path)
    assert asked


def edit(folder: Path, **changes: object) -> None:
    """Change what the stores say of their last record, and seal it."""
    for tag in folder.glob("*/run.json"):
        label = json.loads(tag.read_text())
        label["made_by"][-1] |= changes
        tag.write_text(json.dumps(sealed(label)))


@pytest.mark.parametrize(
    ("name", "value"), [("torch", "2.0"), ("threads", "2"), ("vector", "AVX2"), ("processor", "x86_64 another")]
)
def test_what_something_else_has_begun_is_refused_by_name_or_recorded(tmp_path, undisturbed, name, value):
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(8))
    edit(tmp_path, **{name: value})
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=rf"{name} = {value} there, \S.* here\. Allowed is .*--mixed"):
        run_once(tmp_path)
    assert contents(tmp_path) == before
    mixed = run_once(tmp_path, mixed=True)
    assert_same_run(mixed, undisturbed)
    assert mixed.where[name] == " | ".join(sorted((value, undisturbed.where[name])))
    assert run_once(tmp_path).where == mixed.where  # a finished run is only read
    run_once(tmp_path, rounds=ROUNDS + 1)  # and goes on with what made it last


def test_a_store_without_a_record_is_refused_or_mixed(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(8))
    for tag in tmp_path.glob("*/run.json"):
        label = json.loads(tag.read_text())
        tag.write_text(json.dumps({name: value for name, value in label.items() if name not in ("made_by", "seal")}))
    with pytest.raises(
        ValueError, match=r"begun before stores recorded what .* allowed is mixed=True \(--mixed\)"
    ) as told:
        run_once(tmp_path)
    assert "\n" not in str(told.value)
    assert run_once(tmp_path, mixed=True).where["threads"] == "1 | not recorded"


def test_an_edited_record_is_damaged(tmp_path):
    run_once(tmp_path, rounds=6)
    tag = tmp_path / "replica-000000" / "run.json"
    tag.write_text(tag.read_text().replace('"threads": "1"', '"threads": "2"'))
    with pytest.raises(ValueError, match=r"run\.json: damaged \(it: it was changed after it was sealed\)"):
        run_once(tmp_path, rounds=6)


@pytest.mark.parametrize("rounds", [1, 4, 11, 22])
@pytest.mark.parametrize("every", [1, 5, 30])
def test_a_finished_run_goes_on_with_more_rounds(tmp_path, undisturbed, rounds, every):
    """The last round of the shorter run is recorded there whatever the spacing, and is not in the longer one."""
    run_once(tmp_path, rounds=rounds, checkpoint_every=every)
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(2))
    assert_same_run(run_once(tmp_path), undisturbed)
    assert_same_run(run_once(tmp_path), undisturbed)
    for folder in tmp_path.iterdir():  # nothing is left of the shorter one
        ends = {int(path.stem.rpartition("-")[2]) for path in folder.glob("segment-*.npz")}
        assert ends <= {*range(every, ROUNDS + 1, every), *range(EVERY, ROUNDS + 1, EVERY), ROUNDS + 1}


def test_a_longer_run_trains_no_round_again_that_is_kept(tmp_path):
    run_once(tmp_path, rounds=20)
    setting = make_setting()
    run_once(tmp_path, setting)
    assert {round for _, round in setting.federation.trained} == {20, 21, 22}


def test_the_split_is_that_of_the_store(tmp_path):
    """Whatever would be chosen now."""
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(20), pairs_at_once=1)
    found = run_once(tmp_path, chunk=None)
    assert (found.where["chunk"], found.where["pairs_at_once"]) == ("2", "1")
    assert_same_run(found, run_once(None, pairs_at_once=1))


def test_a_split_of_the_store_that_has_no_room_is_refused(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path, progress=interrupt_at(8))
    wrong = r"memory_limit = 1000: the run goes on as it was begun, 2 replicas and .* which needs \d+ bytes"
    with pytest.raises(ValueError, match=wrong):
        run_once(tmp_path, memory_limit=1000)
