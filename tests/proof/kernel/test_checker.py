"""The independent checker accepts what the kernel saves, and nothing that was changed."""

from __future__ import annotations

import ast
import copy
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.papers.fast.proofs.eq17_eq28 import full_progress
from fedtheory.papers.fast.proofs.thm1_thm2 import (
    nonconvex,
    nonconvex_averaged,
    strongly_convex,
    strongly_convex_averaged,
)
from fedtheory.proof import checker
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.saved_proofs import Unreadable, check_file
from tests.work import counted

TEXT = json.dumps(saved(strongly_convex()))
DATA = json.loads(TEXT)


def rule(name: str, which: int = 0) -> int:
    return [i for i, line in enumerate(DATA["theorems"]) if line["rule"] == name][which]


def test_it_accepts_the_proof() -> None:
    assert checker.check(json.loads(TEXT)) == len(DATA["theorems"]) > 50


@pytest.mark.parametrize("make", [nonconvex, nonconvex_averaged, strongly_convex_averaged])
def test_it_accepts_the_others(make: Callable) -> None:
    assert checker.check(json.loads(json.dumps(saved(make())))) > 50


X, NEXT, SLOPE = ["x", False, []], ["x", True, [1, 0, 1]], ["g", True, [0, 1, 1]]
WORDS = {
    "F_i(x)": ["value", "", X], "mean F(x)": ["value", "M", X], "sum F_i(x[i,k+1])": ["value", "K", NEXT],
    "sum mean F(x[i,k+1])": ["value", "KM", NEXT], "mean |x[i,k+1]|^2": ["product", "M", ["", NEXT], ["", NEXT]],
    "<x, cohort's mean g[i,K+1]>": ["product", "", ["S", SLOPE], ["", X]],
    "|sum g[i,K+1]|^2": ["product", "", ["K", SLOPE], ["K", SLOPE]],
    "F_i(x[i,K-1])": ["value", "", ["x", True, [0, 1, -1]]], "F_i(x[i,k-K])": ["value", "", ["x", True, [1, -1, 0]]],
}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_an_entry_in_words(words: str) -> None:
    assert checker.entry_in_words(checker.entry_of(WORDS[words])) == words


def test_it_stands_alone() -> None:
    tree = ast.parse(Path(checker.__file__).read_text())
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level}
    assert not any(n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def one_digit_changed(text: str, draw: random.Random) -> str:
    at = draw.choice([i for i, c in enumerate(text) if c.isdigit()])
    return text[:at] + draw.choice([d for d in "0123456789" if d != text[at]]) + text[at + 1 :]


MAKERS = {
    "strongly_convex": strongly_convex, "strongly_convex_averaged": strongly_convex_averaged, "nonconvex": nonconvex,
    "nonconvex_averaged": nonconvex_averaged,
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_it_rejects_changed_digits(name: str) -> None:
    """A file with one digit changed is rejected; or it is another proof of the same theorem, with another region on the
    way to it."""
    text, draw, kept = json.dumps(saved(MAKERS[name]())), random.Random(name), 0
    data = json.loads(text)
    for _ in range(40):
        try:
            changed = json.loads(one_digit_changed(text, draw))
            checker.check(changed)
        except (checker.Wrong, ValueError):
            continue
        kept += 1
        assert changed["theorems"] == data["theorems"] and changed["names"] == data["names"]
        last = data["theorems"][-1]["where"]
        assert changed["regions"][last] == data["regions"][last] and changed["regions"] != data["regions"]
    assert kept <= 2


def change(line: int, part: str, value: object) -> Callable[[dict], None]:
    def made(data: dict) -> None:
        data["theorems"][line][part] = value

    return made


def drop_assumption(data: dict) -> None:
    last = data["theorems"][-1]
    last["assumptions"] = [a for a in last["assumptions"] if a[0] != "uncorrelated_noise"]


def argument(line: int, name: str, value: object) -> Callable[[dict], None]:
    def made(data: dict) -> None:
        data["theorems"][line]["arguments"][name] = value

    return made


ONE = DATA["theorems"][rule("unbiased")]["arguments"]["other"][0][1]
CHANGES = {
    "an assumption is dropped": drop_assumption,
    "an unknown rule": change(5, "rule", "given"),
    "a wider region": change(len(DATA["theorems"]) - 1, "where", 0),
    "another context": change(rule("mix"), "context", "cohort"),
    "an inequality as an equality": change(rule("over clients"), "equality", True),
    "another version": lambda data: data.update(format="fedtheory theorem 2"),
    "noise against its own step": argument(rule("unbiased"), "other", [[["", ["N", True, [1, 0, 0]]], ONE]]),
    "a mean over the cohort for all": argument(rule("over clients"), "binder", "X"),
    "a forged vector": argument(rule("unbiased"), "other", [[["", ["N", False, []]], ONE]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_it_rejects(name: str) -> None:
    data = copy.deepcopy(DATA)
    CHANGES[name](data)
    with pytest.raises(checker.Wrong):
        checker.check(data)


def with_a_premise(at: int) -> str:
    """Why the proof up to a line is refused, where that line has the first one as its premise; "" if it is not."""
    data = copy.deepcopy(DATA)
    data["theorems"] = data["theorems"][: at + 1]
    data["theorems"][at]["premises"] = [0]
    try:
        checker.check(data)
    except checker.Wrong as wrong:
        return str(wrong)
    return ""


def test_an_axiom_has_no_premises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a table by which every rule has premises, with which some are accepted."""
    lines = {line["rule"]: at for at, line in enumerate(DATA["theorems"]) if at}
    axioms = [at for name, at in lines.items() if name not in checker.FROM_PREMISES]
    assert len(axioms) > 5 and all("an axiom has no premises" in with_a_premise(at) for at in axioms)
    monkeypatch.setattr(checker, "FROM_PREMISES", {*checker.RULES})
    assert "" in [with_a_premise(at) for at in axioms]


COHORTS_MEAN = [[["S", ["g_start", True, []]], ONE]]
ALONE: dict[str, Callable[[dict], object]] = {
    "a cohort's mean where none is given": lambda line: line["arguments"].update(other=COHORTS_MEAN),
    "given the cohort": lambda line: line.update(context="cohort"),
    "given the cohort, with a size": lambda line: line.update(
        context="cohort", parameters=line["parameters"] | {"size": ONE}
    ),
    "with the size of a cohort": lambda line: line.update(parameters=line["parameters"] | {"size": ONE}),
    "without a mean of 0": lambda line: line.update(assumptions=[]),
}


@pytest.mark.parametrize("name", ALONE)
def test_it_rejects_of_paths_given_the_start(name: str) -> None:
    data = json.loads(json.dumps(saved(full_progress())))
    assert checker.check(copy.deepcopy(data)) > 20
    line = next(line for line in data["theorems"] if line["rule"] == "unbiased")
    assert line["context"] == "start" and [a for a, _ in line["assumptions"]] == ["unbiased_noise"]
    ALONE[name](line)
    with pytest.raises(checker.Wrong):
        checker.check(data)


def huge(count: int) -> list:
    """A polynomial of many terms."""
    width = len(DATA["names"])
    return [[[i % 50, i // 50 % 50, i // 2500 % 50, *[0] * (width - 3)], "1"] for i in range(count)]


def big(line: int) -> Callable[[dict], None]:
    return lambda data: argument(line, "constant", {"top": huge(20_000), "bottom": ONE["bottom"]})(data)


def wide(data: dict) -> None:
    """A square of a vector of very many terms."""
    line = data["theorems"][rule("combine")]
    line["arguments"]["squares"] = [[[[["", ["x", False, []]], ONE]] * 30_000, "", ONE]]


def squares_of_squares(data: dict) -> None:
    """A letter for which a large polynomial is put into high powers."""
    line = data["theorems"][rule("instantiate")]
    line["arguments"]["values"] = {name: {"top": huge(3000), "bottom": ONE["bottom"]} for name in ("a", "size", "eta")}


def many_intervals(data: dict) -> None:
    data["names"] += [f"s{i}" for i in range(24)]
    for part in json_scalars(data):
        for term in part:
            term[0] += [0] * 24
    one = [[[0] * len(data["names"]), "1"]]
    bound = {"top": one, "bottom": one}
    data["regions"] = [r + [[f"s{i}", "interval", bound] for i in range(24)] for r in data["regions"]]


def json_scalars(data: object) -> Iterator[list]:
    """All polynomials in a file, each once."""
    waiting, seen = [data], set()
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict) and set(here) == {"top", "bottom"}:
            for part in here.values():
                if id(part) not in seen:
                    seen.add(id(part))
                    yield part
        elif isinstance(here, dict | list):
            waiting += here.values() if isinstance(here, dict) else here


def exponent(data: dict) -> None:
    data["theorems"][rule("combine")]["arguments"]["constant"]["top"] = [[[0] * len(data["names"]), "1e999999999"]]


def nested(data: dict) -> None:
    deep: list = []
    for _ in range(50_000):
        deep = [deep]
    data["theorems"][rule("unbiased")]["arguments"]["other"] = deep


LAST = len(DATA["theorems"]) - 1
BAD = {
    "another version": (lambda data: data.update(format="fedtheory theorem 2"), "another version's"),
    "no lists": (lambda data: data.update(theorems={"0": 1}), "theorems: allowed is a list"),
    "a cycle of one": (change(rule("combine", 1), "premises", [rule("combine", 1)]), "a cycle"),
    "a longer cycle": (change(rule("over steps"), "premises", [LAST]), "a cycle"),
    "a premise that is not there": (change(rule("over steps"), "premises", [10_000]), "premise 10000 does not exist"),
    "a premise before the first": (change(rule("over steps"), "premises", [-1]), "premise -1 does not exist"),
    "a missing premise": (change(rule("over steps"), "premises", []), "unreadable"),
    "a huge certificate": (big(rule("combine")), "not what the rule concludes|too large|too many terms"),
    "a huge vector": (wide, "too large"),
    "huge powers": (squares_of_squares, "too large|too many terms|not what the rule concludes"),
    "many intervals": (many_intervals, "too many intervals"),
    "a huge exponent": (exponent, "no quotient of whole numbers"),
    "deeply nested": (nested, "a part of a vector"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_name_with_bounded_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(checker.LARGEST, "work", 2_000_000)  # the proof itself takes a fiftieth of that
    data, (spoil, message) = copy.deepcopy(DATA), BAD[name]
    spoil(data)
    with pytest.raises(checker.Wrong, match=message), counted(3 * 10**7):
        checker.check(data)


def test_work_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(checker.LARGEST, "work", 1000)
    with pytest.raises(checker.Wrong, match="a certificate too large"):
        checker.check(copy.deepcopy(DATA))


def test_proofs_in_files_are_found_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "theorem.json"
    file.write_text(TEXT)
    assert check_file(file) == {"theorem": len(DATA["theorems"])}
    chain = {"steps": [{"name": "a.round", "findings": [{"evidence": [{"type": "text", "data": TEXT}]}]}]}
    file.write_text(json.dumps(chain))
    assert check_file(file) == {"a.round": len(DATA["theorems"])}
    spoiled = copy.deepcopy(DATA)
    drop_assumption(spoiled)
    chain["steps"][0]["findings"][0]["evidence"][0]["data"] = json.dumps(spoiled)
    file.write_text(json.dumps(chain))
    with pytest.raises(ValueError, match=rf"a.round: no proof: theorem {LAST}: combine"):
        check_file(file)
    for content in ('{"steps": []}', "[" * 100_000, "{", '{"steps": [{"findings": "z3"}]}'):
        file.write_text(content)
        with pytest.raises(Unreadable, match="cannot be read"):
            check_file(file)
    with pytest.raises(Unreadable, match="cannot be read"):
        check_file(tmp_path / "none.json")


def test_the_command_checks_a_file(tmp_path: Path) -> None:
    file = tmp_path / "theorem.json"
    file.write_text(TEXT)
    done = CliRunner().invoke(app, ["prove", "--check", str(file)])
    assert done.exit_code == 0 and f"{len(DATA['theorems'])} theorems, all checked" in done.stdout
    assert "not checked: that the axioms hold of an algorithm" in done.stdout and "|x+|^2" in done.stdout
    file.write_text(TEXT.replace("fedtheory theorem 1", "fedtheory theorem 2"))
    done = CliRunner().invoke(app, ["prove", "--check", str(file)])
    assert done.exit_code == 1 and "another version's" in done.stderr
    file.write_text("{")
    assert CliRunner().invoke(app, ["prove", "--check", str(file)]).exit_code == 2
    assert CliRunner().invoke(app, ["prove"]).exit_code == 2


def test_the_command_says_what_it_checked_and_what_it_did_not(tmp_path: Path) -> None:
    """The claim that a file names is told, and not confirmed; whatever its words are, each refusal is one line."""
    file = tmp_path / "chain.json"
    chain: dict = {
        "claim": "fast.thm1@main",
        "steps": [{"name": "mine\nstep", "findings": [{"type": "text", "data": TEXT}]}],
    }
    file.write_text(json.dumps(chain))
    done = CliRunner().invoke(app, ["prove", "--check", str(file)])
    assert done.exit_code == 0
    assert "the file says that it is of fast.thm1@main, which is not checked here" in done.stdout
    for part in ("mine\\nstep: ", "for 0 < eta <= ", "smooth(L)", "given the round's start", ">= 0",
                 "checked: that each theorem", "not checked: that the axioms hold of an algorithm"):  # fmt: skip
        assert part in done.stdout
    (row,) = json.loads(CliRunner().invoke(app, ["prove", "--check", str(file), "--json"]).stdout)
    assert row["claim_in_file"] == "fast.thm1@main" and row["theorems"] == len(DATA["theorems"]) and row["not_checked"]
    for spoil, status in ((drop_assumption, 1), (change(0, "equality", 0), 2), (change(0, "rule", "a\nb"), 2)):
        spoiled = copy.deepcopy(DATA)
        spoil(spoiled)
        chain["steps"][0]["findings"][0]["data"] = json.dumps(spoiled)
        file.write_text(json.dumps(chain))
        done = CliRunner().invoke(app, ["prove", "--check", str(file)])
        assert done.exit_code == status and done.stderr.count("\n") == 1 and "theorem " in done.stderr


NO_STEP = '{"format": "fedtheory theorem 1", "names": ["k"], "regions": [], "theorems": [1]}'


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": 1}', "null", "[" * 100_000, NO_STEP])
def test_what_is_no_proof_is_told_apart(content: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "proof.json"
    file.write_text(content)
    assert checker.main([str(file)]) in (1, 2)
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize("most", [10**7, 0])
def test_a_sign_is_that_of_the_polynomial_on_the_region(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for a second time too, whether it is kept or there is no room for it: x = u > 0, and x = u >= 0."""
    monkeypatch.setitem(checker.LARGEST, "signs", most)
    proof = checker.Proof.__new__(checker.Proof)
    proof.width, proof.shown_signs, proof.remembered = 1, {}, 0
    written = [(0, {checker.place(1): 1}, checker.POLYNOMIAL_ONE)]
    proof.charts = {0: (written, {1}, []), 1: (written, set(), [])}
    checker.LEFT["work"] = 10**6
    checker.let_go()
    x = {checker.place(0): 1}
    for _ in range(2):
        assert [proof.sign(x, 0), proof.sign(checker.minus(x), 0), proof.sign(x, 1)] == [1, -1, 0]
        assert [proof.sign(checker.plus(x, {0: c}), 1) for c in (1, -1)] == [1, 0]
        assert proof.never_zero(checker.minus(x), 0) and not proof.never_zero(checker.minus(x), 1)
    assert bool(proof.shown_signs) is bool(most)
