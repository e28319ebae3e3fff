"""Instance files: what is written is read back, and what is wrong is refused by its name."""

from __future__ import annotations

import copy
import json
import os
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.evidence.judge import parse
from fedtheory.files import read_json
from fedtheory.subjects.file_entries import rational
from tests.loops import looped
from tests.work import counted

from .numbers import Numbers, stated_constants

CODE = "__import__('os')._exit(3)"

DATA = {
    "claim": "fast.thm2@appendix",
    "federation": {
        "kind": "quadratic",
        "hessians": [["1", "1/2"], ["1", "1/2"], ["1", "1/2"]],
        "centres": [["1", "0"], ["-1/3", "2"], ["-2/3", "-2"]],
    },
    "algorithm": {"kind": "fast", "cohort": 2, "local_steps": 3, "local_lr": "1/200", "snapshot_period": 4},
    "participation": {"kind": "fixed", "members": [0, 2]},
    "start": ["19/10", "-7"],
    "rounds": 100,
    "constants": {"smoothness": "1", "strong_convexity": "1/2", "gradient_noise": "1/4", "dissimilarity": "3"},
}


def changed(path: tuple, value: Any) -> dict[str, Any]:
    """``DATA`` with one entry replaced, or left out if ``value`` is ``...``."""
    data = copy.deepcopy(DATA)
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


rationals = st.fractions(-99, 99, max_denominator=9999)
positive = st.fractions(Fraction(1, 1000), 99, max_denominator=9999)


@st.composite
def instances(draw) -> Numbers:
    clients, dimension = draw(st.integers(1, 5)), draw(st.integers(1, 3))

    def rows(entries):
        row = st.tuples(*[entries] * dimension)
        return draw(st.tuples(*[row] * clients))

    members = draw(st.permutations(range(clients)))[: draw(st.integers(1, clients))]
    ref = draw(st.sampled_from(["fast.thm1@main", "fast.thm1@appendix", "fast.thm2@main", "fast.thm2@appendix"]))
    constants = {name: draw(positive) for name in stated_constants(ref)}
    if "strong_convexity" in constants:
        constants["smoothness"] += constants["strong_convexity"]
    return Numbers(
        ref,
        rows(positive), rows(rationals), tuple(draw(rationals) for _ in range(dimension)),
        draw(st.integers(1, clients)), draw(st.integers(1, 9)), draw(positive), draw(st.integers(1, 9)),
        tuple(members), draw(st.integers(1, 10**9)), constants,
    )  # fmt: skip


@settings(deadline=None)
@given(instances())
def test_round_trip(instance):
    """Through the text of a file, exactly."""
    text = json.dumps(instance.to_json())
    assert Numbers.of(parse(json.loads(text))) == instance
    assert parse(json.loads(text)).to_json() == instance.to_json()


def test_every_entry_of_the_example_is_read():
    assert Numbers.of(parse(DATA)) == Numbers(
        claim="fast.thm2@appendix",
        hessians=((Fraction(1), Fraction(1, 2)),) * 3,
        centres=((Fraction(1), Fraction(0)), (Fraction(-1, 3), Fraction(2)), (Fraction(-2, 3), Fraction(-2))),
        start=(Fraction(19, 10), Fraction(-7)),
        cohort=2, local_steps=3, local_lr=Fraction(1, 200), snapshot_period=4, members=(0, 2), rounds=100,
        constants={"smoothness": Fraction(1), "strong_convexity": Fraction(1, 2), "gradient_noise": Fraction(1, 4),
                   "dissimilarity": Fraction(3)},
    )  # fmt: skip


def test_default_edition():
    assert parse(changed(("claim",), "fast.thm2")).claim == "fast.thm2@main"


@pytest.mark.parametrize("snapshots", ["period", "probability"])
@pytest.mark.parametrize("cohort_draw", ["without replacement", "with replacement"])
def test_setting(snapshots, cohort_draw):
    setting = Numbers.of(parse(DATA)).setting(snapshots, cohort_draw)
    algorithm, fed = setting.algorithm, setting.federation
    assert (algorithm.cohort, algorithm.local_steps, algorithm.local_lr) == (2, 3, Fraction(1, 200))
    assert algorithm.snapshot_probability == Fraction(1, 4)
    assert algorithm.periodic == (snapshots == "period")
    assert algorithm.replacement == (cohort_draw == "with replacement")
    assert setting.participation.members == (0, 2)
    assert setting.exact_start.tolist() == [Fraction(19, 10), Fraction(-7)]
    assert fed.exact_centres[1].tolist() == [Fraction(-1, 3), Fraction(2)]
    assert fed.exact_hessians[2].tolist() == [[1, 0], [0, Fraction(1, 2)]]
    assert fed.exact_gradient_noise == Fraction(1, 4)


# What is refused.

NO_RATIONALS = [
    1, 0.5, True, None, [], {}, "", " 1", "1 ", "1/0", "1/00", "nan", "inf", "-inf", "1e3", "1e999999999", "1E9", "+1",
    "--1", "1/-2", "1//2", "1/2/3", "1.", ".5", "1.5/2", "0x10", "1_000", "1,5", "½", "1\n", CODE, "(1)", "1+1", "2**9",
    "9" * 61, "1/" + "9" * 61, "0." + "1" * 61, "1j", "x",
]  # fmt: skip

RATIONALS = {
    ("start", 0): "start",
    ("algorithm", "local_lr"): "local_lr",
    ("federation", "hessians", 0, 1): "hessians",
    ("federation", "centres", 1, 0): "centres",
    **{("constants", name): name for name in stated_constants("fast.thm2@appendix")},
}


@looped(("path", "name"), RATIONALS.items(), ids=RATIONALS.values())
def test_what_is_no_rational_is_refused(path, name):
    """By the name of its entry; quickly, however large the number that it would stand for."""
    for value in NO_RATIONALS:
        with pytest.raises(ValueError) as error, counted(10_000):
            parse(changed(path, value))
        assert str(error.value).startswith(f"{name} = {value!r}: allowed is "), value


@pytest.mark.parametrize("value", ["١", "１", "۳.۵"])
def test_digits_are_the_ten_of_ascii(value):
    with pytest.raises(ValueError):
        rational("start", value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("-0", 0), ("-3", -3), ("007", 7), ("1/3", Fraction(1, 3)), ("-2/4", Fraction(-1, 2)), ("1/02", "1/2"),
     ("0.25", "1/4"), ("-0.10", "-1/10"), ("9" * 60, 10**60 - 1)],
)  # fmt: skip
def test_what_is_a_rational(text, value):
    assert rational("start", text) == Fraction(value)


@given(st.text(max_size=12))
def test_any_text_is_a_rational_or_refused(text):
    """A text that is taken stands for what Python's own Fraction reads in it."""
    try:
        value = rational("start", text)
    except ValueError as error:
        assert str(error).startswith("start = ")
    else:
        assert value == Fraction(text)


COUNTS = {
    ("algorithm", "cohort"): "cohort",
    ("algorithm", "local_steps"): "local_steps",
    ("algorithm", "snapshot_period"): "snapshot_period",
    ("rounds",): "rounds",
}


@looped(("path", "name"), COUNTS.items(), ids=COUNTS.values())
@pytest.mark.parametrize("value", [0, -1, -(10**30), 2.0, 2.5, True, False, None, "2", "nan", [], {}, CODE])
def test_what_is_no_count_is_refused(path, name, value):
    with pytest.raises(ValueError) as error:
        parse(changed(path, value))
    assert str(error.value).startswith(f"{name} = ") and "allowed is " in str(error.value)


@pytest.mark.parametrize(
    "path", [("algorithm", "cohort"), ("algorithm", "local_steps"), ("algorithm", "snapshot_period")]
)
def test_counts_beyond_all_floats_are_refused(path):
    with pytest.raises(ValueError):
        parse(changed(path, 10**400))


def leaves(data: Any, path: tuple = ()) -> list[tuple]:
    """Every place of a nested structure, the inner ones too."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [p for key, value in items for p in [(*path, key), *leaves(value, (*path, key))]]


@looped("path", [p for p in leaves(DATA) if isinstance(p[-1], str)], ids=".".join)
def test_missing_entries_are_named(path):
    with pytest.raises(ValueError) as error:
        parse(changed(path, ...))
    assert str(error.value).startswith(f"{path[-1]} = None: allowed is ")


@looped("path", leaves(DATA), ids=lambda p: ".".join(map(str, p)))
@pytest.mark.parametrize("value", [None, True, 0.5, {}, [[]], CODE, "nan", ["nan"], [CODE], [0.5], [True]])
def test_nothing_of_the_wrong_kind_passes(path, value):
    """Whatever is put anywhere: a ``ValueError``, which names the entry; inside a list, the list's name, and in an
    empty object the first name that it lacks."""
    name = next(key for key in reversed(path) if isinstance(key, str))
    names = [name, "smoothness" if name == "constants" else "kind"] if value == {} else [name]
    with pytest.raises(ValueError) as error:
        parse(changed(path, value))
    assert any(name in str(error.value) for name in names)


def test_nothing_is_evaluated(monkeypatch):
    """Strings that are Python code end up in an error message and nowhere else."""
    monkeypatch.setattr(os, "_exit", lambda code: pytest.fail("evaluated"))
    for path in leaves(DATA):
        for code in (CODE, f"1 if {CODE} else 2", f"fast.thm1@{CODE}"):
            with pytest.raises(ValueError):
                parse(changed(path, code))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("claim",), "fast.thm3", "unknown claim 'fast.thm3': did you mean 'fast.thm2'?"),
        (("claim",), "fats.thm1", "unknown claim 'fats.thm1': did you mean 'fast.thm1'?"),
        (("claim",), "fast.thm1@mian", "unknown edition 'mian' of fast.thm1: did you mean 'main'?"),
        (("federation", "kind"), "logistic", "kind = 'logistic': allowed is 'quadratic'"),
        (("algorithm", "kind"), "fedau", "kind = 'fedau': allowed is 'fast'"),
        (("participation", "kind"), "uniform", "kind = 'uniform': allowed is 'fixed'"),
        (("participation", "members"), [3], "members = [3]: client 3 is not in 0 to 2"),
        (("participation", "members"), [-1], "members = [-1]: client -1 is not in 0 to 2"),
        (("participation", "members"), [1, 1], "members = [1, 1]: allowed is a non-empty list of distinct clients"),
        (("participation", "members"), [], "members = []: allowed is a non-empty list of distinct clients"),
        (("algorithm", "cohort"), 4, "cohort = 4: allowed is 1 to clients = 3"),
        (("algorithm", "local_lr"), "0", "local_lr = 0.0: allowed is a finite number > 0"),
        (("algorithm", "local_lr"), "-1/2", "local_lr = -0.5: allowed is a finite number > 0"),
        (("constants", "gradient_noise"), "-1", "gradient_noise = -1.0: allowed is a finite number >= 0"),
        (("start",), ["1"], "start has shape (1,): allowed is () or (2,)"),
        (("start",), ["1", "1", "1"], "start has shape (3,): allowed is () or (2,)"),
        (("start",), [], "start "),
        (("federation", "hessians"), [], "hessians is empty"),
        (("federation", "hessians"), [[], [], []], "hessians is empty"),
        (("federation", "hessians"), [["1", "1"]] * 2, "hessians and centres have shapes"),
        (("federation", "hessians", 0), ["1"], "hessians"),
        (("federation", "hessians", 0, 0), "-1", "hessians: client 0 has the eigenvalue -1.0: allowed is >= 0"),
        (("federation", "hessians"), [["1", "0"]] * 3, "hessians: their mean is singular"),
        (("federation", "hessians"), ["11", "11", "11"], "hessians: allowed is a list of lists"),
        (("federation", "centres"), [["1", "1"]] * 4, "hessians and centres have shapes"),
        (("federation", "centres", 2), ["1"], "centres"),
    ],
)
def test_errors_say_what_is_allowed(path, value, message):
    with pytest.raises(ValueError) as error:
        parse(changed(path, value))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("smoothness", "0"), ("smoothness", "-1"), ("strong_convexity", "0"), ("strong_convexity", "-1"),
     ("strong_convexity", "2"), ("dissimilarity", "-3")],
)  # fmt: skip
def test_constants_must_be_allowed_values(name, value):
    """The vocabulary's bounds (positive curvatures, mu <= L, no negative length) hold for instances too."""
    with pytest.raises(ValueError, match=name):
        parse(changed(("constants", name), value))


@pytest.mark.parametrize("data", [[], None, "instance", 3])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(ValueError):
        parse(data)


# Files.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a JSON file"),
        (b'{"rounds": 1', "not a JSON file"),
        (b"\xff\xfe", "not a JSON file"),
        (b"[1]", "holds a list, allowed is an object"),
        (b"null", "holds a NoneType, allowed is an object"),
        pytest.param(
            b"[" * 10**5, "not a JSON file"
        ),
        pytest.param(
            b'{"rounds": ' + b"9" * 5000 + b"}", "not a JSON file"
        ),
    ],
    ids=["empty", "cut", "bytes", "list", "null", "deep", "huge"],
)  # fmt: skip
def test_what_is_no_json_object_is_refused_with_its_path(tmp_path, content, message):
    path = tmp_path / "instance.json"
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        read_json(path)
    assert str(error.value).startswith(f"{path}: ") and message in str(error.value)


def test_files_are_read(tmp_path):
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(DATA), encoding="utf-8")
    assert read_json(path) == DATA and parse(read_json(str(path))) == parse(DATA)
