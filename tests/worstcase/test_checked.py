"""The checker that stands alone verifies certificates of worst cases, with matrices of its own, and refuses others."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.proof import checker
from fedtheory.proof.saved_proofs import Unreadable, check_file, checked_in
from fedtheory.worstcase import (
    Arbitrary,
    Certificate,
    Cohort,
    ServerStep,
    convex,
    local_sgd,
    mixture,
    quadratic,
    strongly_convex,
    worst_case,
)
from tests.work import counted

FILES = sorted((Path(__file__).parents[2] / "docs" / "certificates").glob("*.json"))
KEPT = {file.stem: json.loads(file.read_text()) for file in FILES}

STRONG, QUADRATIC = (make(smoothness=2, strong_convexity="1/5") for make in (strongly_convex, quadratic))
TWO = local_sgd(local_lr="1/4", local_steps=2)


def two(who: Any, **options: Any) -> Any:
    return local_sgd(local_lr="1/4", local_steps=2, participants=who, **options)


OTHERS = {
    "one client": (STRONG, TWO, {"clients": 1, "dissimilarity_at_optimum": 0}),
    "alike": (STRONG, two(Arbitrary(1)), {"clients": 2, "dissimilarity_at_optimum": 0}),
    "gradients": (convex(smoothness=2), TWO, {"rounds": 2, "metric": "average_squared_gradient"}),
    "from round 0": (STRONG, TWO, {"rounds": 2, "metric": "average_gap", "average": "r = 0..R-1"}),
    "everywhere": (STRONG, TWO, {"rounds": 2, "everywhere": True}),
    "replacement": (STRONG, two(Cohort(2, True)), {"clients": 3}),
    "pull": (STRONG, two(Arbitrary(2), proximal="1/3", global_lr="3/2"), {"clients": 3}),
    "two paths": (STRONG, mixture(("1/4", two(Arbitrary(2))), ("3/4", local_sgd(local_lr="1/8", local_steps=3))),
                  {"clients": 4}),
    "server": (STRONG, mixture(("1/4", two(Arbitrary(2))), ("3/4", ServerStep(Fraction(1, 4)))), {"clients": 3}),
    "quadratics of two sorts": (QUADRATIC, two(Arbitrary(2)), {"clients": 3, "rounds": 2, "metric": "final_gap"}),
    "one Hessian": (strongly_convex(smoothness=2, strong_convexity=2), TWO, {"metric": "final_gap"}),
    "one Hessian of quadratics": (quadratic(smoothness=2, strong_convexity=2), TWO, {"metric": "final_gap"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def others() -> dict[str, dict]:
    """Certificates of classes, rounds and metrics of every sort, with L = 2."""
    made = {}
    for name, (functions, algorithm, options) in OTHERS.items():
        found = worst_case(functions, algorithm, **{"dissimilarity_at_optimum": 1, **options})
        made[name] = json.loads(json.dumps(found.certificate().to_json()))
    return made


def numbers(data: Any, at: tuple = ()) -> Iterator[tuple[tuple, Fraction]]:
    """The place and the value of every number of the multipliers and of the bound."""
    if isinstance(data, str):
        yield at, Fraction(data)
    elif isinstance(data, list):
        for k, part in enumerate(data):
            yield from numbers(part, (*at, k))


def places(data: Any, at: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Every leaf of a file, with its place."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if parts is None:
        yield at, data
        return
    for k, part in parts:
        yield from places(part, (*at, k))


def changed(data: dict, at: tuple, value: object) -> dict:
    made = copy.deepcopy(data)
    here: Any = made
    for k in at[:-1]:
        here = here[k]
    here[at[-1]] = value
    return made


def proves(data: dict) -> bool:
    try:
        checker.verified(data)
    except checker.Wrong:
        return False
    return True


def package_proves(data: dict) -> bool:
    try:
        Certificate.from_json(data).verify()
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", KEPT)
def test_it_verifies_what_is_kept(name: str) -> None:
    with counted(10**6):
        found = checker.verified(KEPT[name])
    certificate = Certificate.from_json(KEPT[name])
    assert (found.tau, found.additive) == (certificate.contraction, certificate.additive)
    said = found.statement()
    assert f"<= {found.tau} |x_0 - x*|^2 + {found.additive} zeta^2" in said
    assert ("quadratic" in said) == ("quadratics" in name) and ("drawn uniformly" in said) == ('"cohort"' in json.dumps(
        KEPT[name]))  # fmt: skip


def test_it_verifies_all_sorts(others: dict) -> None:
    for name, data in others.items():
        assert checker.verified(data), name


def test_of_sets_in_several_rounds_it_is_said_that_they_are_one() -> None:
    """Of (x - 1)^2/2 and (x + 1)^2/2 one step by either client leads from 0 to a square distance of (361/100)^2."""
    step = {"kind": "training", "local_lr": ["19/10"], "global_lr": "1", "proximal": "0"}
    of_a_set = [["1", step | {"participants": {"kind": "arbitrary", "size": 1}}]]
    data = {
        "what": "worst-case certificate", "schema": 1, "clients": 2, "rounds": [of_a_set, of_a_set],
        "functions": {"smoothness": "1", "strong_convexity": "1", "quadratic": False},
        "metric": "final_squared_distance", "average": "r = 1..R", "everywhere": False, "contraction": "6561/5000",
        "additive": [[0, 0, "361/5000"]], "pairs": [], "operators": [], "symmetric": [],
    }  # fmt: skip
    same = ", the same set each time:"
    assert same in checker.verified(data).statement()
    once = data | {"rounds": [of_a_set], "contraction": "2", "additive": [[0, 0, "8"]]}
    assert same not in checker.verified(once).statement()


def last_digit(value: Fraction) -> Fraction:
    return Fraction(1, max(value.denominator, 10**9))


@pytest.mark.parametrize("name", KEPT)
def test_each_number_fails_in_the_wrong_direction(name: str) -> None:
    """The bound's, one digit less; of a pair, one more or less, as the functions' values have to cancel. Of quadratics,
    every multiplier moved far either way fails in one of them at least, and no multiplier may be negated."""
    data = KEPT[name]
    for part in ("contraction", "additive", "pairs"):
        for at, value in numbers(data[part], (part,)):
            for sign in (-1,) if part != "pairs" else (-1, 1):
                assert not proves(changed(data, at, str(value + sign * last_digit(value)))), (at, sign)
    for part in ("operators", "symmetric"):
        for at, value in numbers(data[part], (part,)):
            size = abs(value) / 10
            assert not (proves(changed(data, at, str(value + size))) and proves(changed(data, at, str(value - size))))
            assert not proves(changed(data, at, str(-value))), at


def test_the_two_routes_agree(others: dict) -> None:
    """On files with one leaf changed: the checker accepts what the package verifies, which has another code for the
    matrices and for their pivots. It is stricter with what says nothing: p = q of a multiplier of symmetry."""
    draw, files = random.Random(7), [*KEPT.values(), *others.values()]
    kept = {True: 0, False: 0}
    for _ in range(400):
        data = draw.choice(files)
        at, value = draw.choice(list(places(data)))
        if isinstance(value, bool):
            new: object = not value
        elif isinstance(value, int):
            new = value + draw.choice((-1, 1))
        elif isinstance(value, str) and checker.NUMBER.fullmatch(value):
            v = Fraction(value)
            new = str(
                draw.choice((v + last_digit(v), v - last_digit(v), v * Fraction(11, 10), v * Fraction(9, 10), -v))
            )
        else:
            continue
        data = changed(data, at, new)
        accepted = proves(data)
        kept[accepted] += 1
        if at[0] != "symmetric" or isinstance(new, str):
            assert accepted == package_proves(data), (at, value, new)
        else:
            assert package_proves(data) or not accepted
    assert kept[True] > 20 and kept[False] > 150


def test_another_problem_is_not_proved() -> None:
    """A larger class, longer steps, more of them, fewer clients in a cohort, more of them outside, another metric."""
    cohort, fast, gap = (KEPT[name] for name in ("uniform_cohort", "fast", "local_sgd.two_rounds.final_gap"))
    steps, who = ("rounds", 0, 0, 1, "local_lr"), ("rounds", 0, 0, 1, "participants")
    for data, at, value in (
        (cohort, ("functions", "strong_convexity"), "99/1000"),
        (cohort, ("functions", "smoothness"), "101/100"),
        (cohort, (*steps, 3), "11/100"),
        (cohort, steps, ["1/10"] * 5),
        (cohort, steps, ["1/10"] * 3),
        (cohort, (*who, "size"), 1),
        (cohort, (*who, "replacement"), True),
        (cohort, ("clients",), 11),
        (cohort, who, {"kind": "arbitrary", "size": 2}),
        (cohort, ("metric",), "final_squared_gradient"),
        (fast, ("rounds", 0, 0, 0), "1/5"),
        (fast, ("rounds", 0, 1, 1, "participants", "size"), 4),
        (gap, ("average",), "r = 0..R-1"),
        (gap, ("metric",), "average_gap"),
        (gap, ("metric",), "final_squared_gradient"),
        (gap, ("rounds",), gap["rounds"][:1]),
        (gap, ("rounds",), gap["rounds"] * 2),
        (gap, ("functions", "quadratic"), True),
        (KEPT["local_sgd.quadratics"], ("functions", "quadratic"), False),
    ):
        same = at == ("average",)  # which a final gap does not use
        assert proves(changed(data, at, value)) == same, (at, value)


ONE = KEPT["local_sgd"]
SQUARE = KEPT["local_sgd.quadratics"]
BAD = {
    "another file": (ONE | {"what": "a proof"}, "another version's"),
    "another version": (ONE | {"schema": 2}, "another version's"),
    "a version that is true": (ONE | {"schema": True}, "another version's"),
    "a field more": (ONE | {"context": "start"}, "allowed are exactly"),
    "a field less": ({k: v for k, v in ONE.items() if k != "everywhere"}, "allowed are exactly"),
    "no class": (ONE | {"functions": {"smoothness": "1"}}, "functions: allowed are exactly"),
    "mu above L": (changed(ONE, ("functions", "strong_convexity"), "11/10"), "0 <= strong_convexity <= smoothness"),
    "L = 0": (ONE | {"functions": dict(smoothness="0", strong_convexity="0", quadratic=False)}, "functions: allowed"),
    "a decimal": (ONE | {"contraction": "0.9"}, r"contraction = '0\.9'"),
    "a division by 0": (ONE | {"contraction": "1/0"}, "contraction = '1/0'"),
    "a huge exponent": (ONE | {"contraction": "1e999999999"}, "contraction = "),
    "many digits": (ONE | {"contraction": "9" * 10_000}, "contraction = "),
    "a pair twice": (ONE | {"pairs": [*ONE["pairs"], ONE["pairs"][0]]}, "is there twice"),
    "a pair of a point": (ONE | {"pairs": [[0, 1, 1, "1"]]}, "a point with itself"),
    "a point that is not there": (ONE | {"pairs": [[0, 0, 5, "0"]]}, "an index of pairs = 5"),
    "a negative index": (ONE | {"pairs": [[0, 0, -1, "0"]]}, "an index of pairs = -1"),
    "a true index": (ONE | {"pairs": [[0, 0, True, "0"]]}, "an index of pairs = True"),
    "a sort that is not there": (ONE | {"pairs": [[1, 0, 1, "0"]]}, "an index of pairs = 1"),
    "a negative multiplier": (ONE | {"pairs": [[0, 0, 1, "-1"], [0, 1, 0, "-1"]]}, "pairs: allowed are numbers >= 0"),
    "a negative bound": (ONE | {"additive": [[0, 0, "-1"]]}, "additive: allowed are numbers >= 0"),
    "dissimilarity elsewhere": (ONE | {"additive": [[1, 0, "1"]]}, "dissimilarity at 1 is not bounded"),
    "pairs of quadratics": (SQUARE | {"pairs": ONE["pairs"]}, "pairs: allowed are none"),
    "operators of others": (ONE | {"operators": SQUARE["operators"]}, "allowed are 0 of each"),
    "an operator below its diagonal": (changed(SQUARE, ("operators", 0, 1), [2, 1, "0"]), "allowed are p <= q"),
    "operators below 0": (changed(SQUARE, ("operators", 0, 0, 2), "-1"), "operators: not positive semidefinite"),
    "half a probability": (changed(ONE, ("rounds", 0, 0, 0), "1/2"), "numbers > 0, sum 1"),
    "a negative step": (changed(ONE, ("rounds", 0, 0, 1, "local_lr", 0), "-1/10"), "allowed is a number > 0"),
    "no round": (ONE | {"rounds": []}, "rounds: allowed is at least one"),
    "no step": (changed(ONE, ("rounds", 0, 0, 1, "local_lr"), []), "at least one step"),
    "many steps": (changed(ONE, ("rounds", 0, 0, 1, "local_lr"), ["1/10"] * 10**6), "entries, allowed are"),
    "many points": (ONE | {"rounds": ONE["rounds"] * 40}, "more than 60 points"),
    "many rounds": (ONE | {"rounds": ONE["rounds"] * 10**5}, "entries, allowed are"),
    "many pairs": (ONE | {"pairs": [[0, 0, 1, "0"]] * 10**5}, "entries, allowed are"),
    "half a client": (ONE | {"clients": 2.5}, "clients = 2.5"),
    "a cohort of nobody": (changed(KEPT["uniform_cohort"], ("rounds", 0, 0, 1, "participants", "size"), 0), "size = 0"),
    "a cohort of how many": (KEPT["uniform_cohort"] | {"clients": None}, "clients: needed with cohort"),
    "random rounds, twice": (KEPT["uniform_cohort"] | {"rounds": KEPT["uniform_cohort"]["rounds"] * 2},
                             "allowed is 1 where they are random"),
    "another metric": (ONE | {"metric": "loss"}, "metric = 'loss'"),
    "a metric that is a list": (ONE | {"metric": ["final_gap"]}, "metric = "),
    "an unknown kind": (changed(ONE, ("rounds", 0, 0, 1, "kind"), "guess"), "kind = 'guess'"),
    "steps that are numbers": (changed(ONE, ("rounds", 0, 0, 1, "local_lr", 0), 0.1), "local_lr = '0.1'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_by_name_at_once(name: str) -> None:
    data, message = BAD[name]
    with pytest.raises(checker.Wrong, match=message), counted(10**6):
        checker.verified(data)


def test_work_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of many points whose numbers have many digits: the pivots would grow without bound."""
    monkeypatch.setitem(checker.LARGEST, "certificate", 500_000)
    draw = random.Random(1)
    data = changed(SQUARE, ("rounds", 0, 0, 1, "local_lr"), [f"1/{draw.randrange(10**90)}" for _ in range(40)])
    rows = [(p, q) for p in range(1, 41) for q in range(p, 41)]
    data["operators"] = [[[p, q, f"{draw.randrange(1, 10**90)}/{10**90 if p != q else 10**80}"] for p, q in rows]]
    with pytest.raises(checker.Wrong, match="a certificate too large"), counted(4 * 10**6):
        checker.verified(data)


def test_files_are_found_checked_and_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    file.write_text(json.dumps(ONE))
    assert check_file(file) == {"worst case": 1}
    assert checked_in(file)[0].says == checker.verified(ONE).statement()
    done = CliRunner().invoke(app, ["prove", "--check", str(file)])
    assert done.exit_code == 0 and "E|x_1 - x*|^2 <= 23070382537/25000000000" in done.stdout
    file.write_text(json.dumps(ONE | {"contraction": "1/2"}))
    done = CliRunner().invoke(app, ["prove", "--check", str(file)])
    assert done.exit_code == 1 and "not positive semidefinite" in done.stderr
    with pytest.raises(ValueError, match="no proof: what the multipliers leave"):
        check_file(file)
    file.write_text('{"what": ' + "[" * 100_000)
    with pytest.raises(Unreadable):
        check_file(file)


def test_it_runs_by_itself(tmp_path: Path) -> None:
    """With Python's own library alone: no package that is installed is in reach."""
    for file, status in ((FILES[0], 0), (tmp_path / "none.json", 2)):
        done = subprocess.run([sys.executable, "-I", "-S", checker.__file__, str(file)], capture_output=True, text=True,
                              cwd=tmp_path, timeout=60)  # fmt: skip
        assert done.returncode == status, done.stderr
        assert ("zeta^2" in done.stdout) == (status == 0)


def test_a_file_that_is_too_long_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(checker.LARGEST, "file", 1000)
    (tmp_path / "it.json").write_text(json.dumps(ONE))
    assert checker.main([str(tmp_path / "it.json")]) == 2
    assert "allowed are 1000 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(("rows", "truth"), [
    ([[1, 1], [1, 1]], True), ([[0, 1], [1, 5]], False), ([[0, 0], [0, 0]], True), ([[1, 2], [2, 3]], False),
    ([[0, 0, 0], [0, 2, 1], [0, 1, 1]], True), ([[2, -1, -1], [-1, 2, -1], [-1, -1, 2]], True),
    ([[2, -1, -1], [-1, 2, -1], [-1, -1, Fraction(199, 100)]], False), ([[-1]], False), ([], True),
])  # fmt: skip
def test_semidefinite(rows: list, truth: bool) -> None:
    checker.LEFT["work"] = 10**6
    assert checker.semidefinite([[Fraction(c) for c in row] for row in rows]) == truth
