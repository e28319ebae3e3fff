"""Every parser on generated bad input: a value, or a ``ValueError`` that says what is wrong, and nothing else."""

import gzip
import json
import random
import warnings

import numpy as np
import pytest

from fedtheory.algorithms import fast
from fedtheory.data.idx import read_idx
from fedtheory.data.loaders.cifar import read_records
from fedtheory.data.loaders.cinic import read_png
from fedtheory.data.loaders.leaf import read_users
from fedtheory.data.loaders.shakespeare import read_speeches
from fedtheory.evidence.judge import parse
from fedtheory.experiments.printed_tables import folder
from fedtheory.experiments.schema import read_experiment
from fedtheory.federations import Quadratic
from fedtheory.files import read_json
from fedtheory.papers import claim, instance_path
from fedtheory.participation import Fixed
from fedtheory.printing import assignment
from fedtheory.proof.steps import evidence_from
from fedtheory.rationals import exact_array, exact_number
from fedtheory.schedule import step_size
from fedtheory.selection.readers import read_availability, read_budget, read_group_weight
from fedtheory.setting import Setting
from fedtheory.simulation import Run
from fedtheory.simulation.segment import read_segment
from fedtheory.subjects.file_entries import rational

from .bad import TEXTS, VALUES, mutated, spoiled

SEED = 20262


def refuses_clearly(parser, *given):
    """A value or a ``ValueError`` with something to say, without any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # broken archives that numpy leaves open
        try:
            parser(*given)
        except ValueError as error:
            assert str(error).strip()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run's file, and a segment."""
    at = tmp_path_factory.mktemp("runs")
    setting = Setting(
        Quadratic([[1.0]], [[1.0]]), fast(cohort=1, local_lr="1/2", snapshot_period=2), Fixed([0]), start=2.0
    )
    setting.simulate(replicas=1, rounds=3, directory=at / "store").save(at / "run.npz")
    return at / "run.npz", sorted((at / "store").rglob("segment-*.npz"))[-1]


def contents(runs):
    """By what it is: a name, a content that is right, and what reads such a file."""
    idx = b"\0\0\x08\x01\0\0\0\x03abc"
    png = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
    users = {"users": ["u"], "num_samples": [1], "user_data": {"u": {"x": [[0.5] * 784], "y": [3]}}}
    first = next(path for path in sorted(folder().glob("*/*.toml")) if path.name.startswith("table"))
    return {
        "json": ("a.json", b'{"a": [1, 2, {"b": "c"}], "d": null}', read_json),
        "availability": ("a.csv", b"a,b\n1,2\n3,4\n", read_availability),
        "budget": ("b.csv", b"round,budget\n1,0.5\n2,3\n", lambda path: read_budget(path, 2)),
        "weights": ("w.csv", b"group,weight\na,0.25\nb,0.75\n", lambda path: read_group_weight(path, ("a", "b"))),
        "parquet": ("a.parquet", b"PAR1\x15\x04PAR1", read_availability),
        "experiment": ("e.toml", first.read_bytes(), read_experiment),
        "run": ("run.npz", runs[0].read_bytes(), Run.load),
        "segment": (runs[1].name, runs[1].read_bytes(), read_segment),
        "idx": ("i", idx, read_idx),
        "packed idx": ("i.gz", gzip.compress(idx), read_idx),
        "records": ("r.bin", bytes(3073), lambda path: read_records(path, 1, 1)),
        "png": ("p.png", png, lambda path: read_png(str(path), path.read_bytes())),
        "users": ("u.json", json.dumps(users).encode(), read_users),
        "speeches": ("s.txt", b"<html><a name=speech1><b>A</b></a>word</html>", read_speeches),
    }


COUNTS = {"experiment": 12, "run": 60, "segment": 60}
KINDS = ["json", "availability", "budget", "weights", "parquet", "experiment", "run", "segment", "idx", "packed idx",
         "records", "png", "users", "speeches"]  # fmt: skip


@pytest.mark.parametrize("what", KINDS)
def test_files(tmp_path, runs, what):
    name, content, parser = contents(runs)[what]
    rng = random.Random(SEED)
    for _ in range(COUNTS.get(what, 80)):
        (tmp_path / name).write_bytes(spoiled(content, rng))
        refuses_clearly(parser, tmp_path / name)


@pytest.mark.parametrize("kind", ["run", "segment"])
def test_archives_of_other_arrays(tmp_path, runs, kind):
    path, parser = (runs[0], Run.load) if kind == "run" else (runs[1], read_segment)
    rng = random.Random(SEED)
    with np.load(path, allow_pickle=False) as file:
        good = dict(file)
    for _ in range(60):
        name = rng.choice(sorted(good))
        other = rng.choice([np.zeros(0), np.array("text"), np.array([1 + 2j]), np.array(np.nan), np.array(10**18),
                            np.array([True]), np.zeros((2, 3, 4)), np.array(np.datetime64("NaT"))])  # fmt: skip
        arrays = {key: value for key, value in good.items() if key != name} | (
            {name: other} if rng.random() < 0.9 else {}
        )
        np.savez(tmp_path / path.name, **arrays)
        refuses_clearly(parser, tmp_path / path.name)


@pytest.mark.parametrize("ref", ["fast.thm1@main", "flics.thm2@main", "fedau.eqB_6_8.a@main", "safari.thm5@main",
                                 "safari.thm3@main", "flics.cor1_1@main", "fedau.lemmaB_5_1@main"])  # fmt: skip
def test_instances(ref):
    rng, content = random.Random(SEED), instance_path(ref).read_text()
    for _ in range(80):
        refuses_clearly(parse, mutated(json.loads(content), rng))


def test_values():
    for value in VALUES:
        for parser in (rational, exact_number, exact_array, step_size):
            refuses_clearly(parser, "local_lr", value)
        for kind in (value, "text", "Certificate", "Counterexample", "GramCertificate", "GramCounterexample"):
            refuses_clearly(evidence_from, {"type": kind, "data": value})


def test_texts():
    rng = random.Random(SEED)
    marks = "0123456789.e/*+-() r,=_^" + "sqrtk"
    made = ["".join(rng.choices(marks, k=rng.randint(1, 30))) for _ in range(300)]
    for text in (*TEXTS, *made):
        for parser in (rational, exact_number, step_size):
            refuses_clearly(parser, "local_lr", text)
        refuses_clearly(assignment, text)
        refuses_clearly(assignment, f"local_lr={text}")
        refuses_clearly(claim, text)
