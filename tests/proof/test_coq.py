"""What is exported for Coq compiles, assumes nothing but the reals' axioms, and does not compile once it is changed."""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.papers.fast.proofs.thm1_thm2 import strongly_convex
from fedtheory.papers.saved_certificates import reverify
from fedtheory.proof.coq import NotExported, exported
from fedtheory.proof.coq.lemma_writer import Writer
from fedtheory.proof.coq.proof_file import RULES, export, prelude
from fedtheory.proof.coq.theorem_lemmas import condition_text
from fedtheory.proof.kernel.regions import Condition
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.sealed import ancestry

REALS = {"ClassicalDedekindReals.sig_forall_dec", "ClassicalDedekindReals.sig_not_dec",
         "FunctionalExtensionality.functional_extensionality_dep"}  # fmt: skip
"""The axioms on which Coq's own real numbers rest."""

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")


def compiled(text: str, folder: Path) -> subprocess.CompletedProcess:
    (folder / "proof.v").write_text(text)
    return subprocess.run(["coqc", "-q", "proof.v"], cwd=folder, capture_output=True, text=True, timeout=1800)


def axioms(printed: str) -> set[str]:
    """The names that ``Print Assumptions`` lists."""
    return {line.split(" ")[0] for line in printed.splitlines() if line and line[0] not in " "} - {"Axioms:"}


@cache
def drift() -> str:
    """A proof of a few theorems: how far a client's path goes, by induction over its steps."""
    return json.dumps(saved(next(t for t in ancestry(strongly_convex()) if t.rule == "induct")))


def saved_line(rule: str) -> str:
    """A proof of one axiom alone."""
    return json.dumps(saved(next(t for t in ancestry(strongly_convex()) if t.rule == rule)))


@needs_coq
@pytest.mark.parametrize(
    "ref",
    [
        "fast.thm1@corrected",
        *(
            pytest.param(ref, marks=pytest.mark.exhaustive)
            for ref in (
                "fast.thm2@corrected",
                "safari.thm5@corrected",
                "fast.thm1@sharper",
                "fast.thm2@sharper",
                "safari.thm4@sharper",
                "safari.thm5@sharper",
            )
        ),
    ],
)
def test_a_theorem_compiles_from_the_reals_axioms_alone(ref: str, tmp_path: Path) -> None:
    made = compiled(exported(reverify(ref)), tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    assert made.stdout.count("Axioms:") == 1  # of the last theorem, of one round, and of all rounds together
    assert set() < axioms(made.stdout) <= REALS


def scalars(data: object, path: tuple = ()) -> Iterator[tuple]:
    """Where the numerators are: coefficients of forms, multipliers, factors of squares, constants."""
    if isinstance(data, dict) and set(data) == {"top", "bottom"}:
        yield from ((*path, "top", i) for i in range(len(data["top"])))
    elif isinstance(data, dict | list):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from scalars(part, (*path, key))


def part_of(path: tuple) -> str:
    """What a number in a theorem is."""
    return path[3] if path[2] == "arguments" else path[2]


def changed(data: dict, path: tuple, sign: bool) -> dict:
    """With one coefficient one larger, or of the other sign."""
    made = copy.deepcopy(data)
    here = made
    for key in path:
        here = here[key]
    top, _, bottom = here[1].partition("/")
    number = -int(top) if sign else int(top) + (1 if top != "-1" else 2)
    here[1] = f"{number}/{bottom}" if bottom else str(number)
    return made


PARTS = ("form", "multipliers", "squares", "constant", "factor")


def mutations(seed: int, count: int, parts: tuple[str, ...] = PARTS) -> list[tuple[str, tuple, bool]]:
    """Some of each part of the theorems."""
    rng, found = random.Random(seed), []
    every = list(scalars(json.loads(drift())["theorems"], ("theorems",)))
    for part in parts:
        paths = [path for path in every if part_of(path) == part]
        assert paths, part
        found += [(part, path, bool(i % 2)) for i, path in enumerate(rng.sample(paths, min(count, len(paths))))]
    return [(part, path, sign and not has_no_sign(path)) for part, path, sign in found]


def has_no_sign(path: tuple) -> bool:
    """Whether a number is the only one of a vector below a square, which is the same for either sign."""
    if part_of(path) != "squares" or path[5]:
        return False
    vector = json.loads(drift())["theorems"][path[1]]["arguments"]["squares"][path[4]][0]
    return len(vector) == 1 == len(vector[0][1]["top"])


def rejected(path: tuple, sign: bool, folder: Path) -> bool:
    """Whether the export of the changed proof is refused or does not compile."""
    try:
        text = export(changed(json.loads(drift()), path, sign), "changed")
    except NotExported:
        return True
    return compiled(text, folder).returncode != 0


@needs_coq
def test_a_proof_with_one_number_changed_does_not_compile(tmp_path: Path) -> None:
    assert compiled(export(json.loads(drift()), "drift"), tmp_path).returncode == 0
    for part, path, sign in mutations(seed=1, count=1, parts=PARTS[:3]):
        assert rejected(path, sign, tmp_path), (part, path)


@needs_coq
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(5))
def test_no_changed_number_survives(seed: int, tmp_path: Path) -> None:
    for part, path, sign in mutations(seed, count=8):
        assert rejected(path, sign, tmp_path), (part, path)


@needs_coq
def test_a_sign_that_does_not_hold_does_not_compile(tmp_path: Path) -> None:
    """The larger cap of a region, under which a factor of a square is negative, with the old certificate."""
    text = export(json.loads(drift()), "drift")
    cap = "eta <= ((1) / (8 * Kr * L))"
    assert cap in text
    assert compiled(text.replace(cap, "eta <= ((1) / (Kr * L / 2))"), tmp_path).returncode != 0


def test_all_theorems_on_which_a_claim_rests_are_in_its_file() -> None:
    """Theorem 5 of SAFARI as corrected rests on the clients' rounds and on the server's, in one proof, which stands in
    what is saved of the claim and is exported once."""
    chain = reverify("safari.thm5@corrected")
    text = exported(chain)
    lengths = [len(json.loads(e)["theorems"]) for d in chain.decisions for e in d.evidence
               if isinstance(e, str) and e.startswith("{")]  # fmt: skip
    assert len(lengths) == 1
    assert text.count("Lemma thm_") == lengths[0]
    assert f"Definition exported := (conj thm_{lengths[0] - 1} (conj one_round all_rounds))." in text
    assert "given server" in text and "given arbitrary" in text


def test_every_theorem_is_a_lemma_with_what_it_assumes() -> None:
    data = json.loads(drift())
    text = export(data, "drift")
    for number, line in enumerate(data["theorems"]):
        statement = text.split(f"Lemma thm_{number} :")[1].split("\nProof.")[0]
        for name, _ in line["assumptions"]:
            assert name in statement or name == "cohort_before_noise"
        assert ("local_lr eta" in statement) == ("local_lr" in line["parameters"])
    assert "Admitted" not in text
    assert "Axiom " not in text


@pytest.mark.parametrize("kind", ["count", "at_least", "capped", "interval"])
def test_a_letter_is_written_through_parameters_by_what_its_condition_says(kind: str) -> None:
    """What the lemma assumes, in its order, is what the proofs that it is given are of."""
    writer = Writer(["eta", "L", "K", "k"])
    name, bound = ("K", None) if kind == "count" else ("eta", writer.ring["L"])
    condition = Condition(name, kind, bound)
    *before, last = writer._chart(condition, False)
    lemma, letter, limit, given = re.match(r"destruct \(@(\w+) (\w+) (\(L\)|1) (.*)\) as ", last).groups()
    stated = condition_text(condition, writer.real)
    low, _, high = stated.strip("()").partition(" /\\ ")
    known = {f"C_{name}": stated, f"(proj1 C_{name})": low, f"(proj2 C_{name})": f"{high})"}
    known |= dict(re.match(r"assert \((\w+) : (.*)\) by ", line).groups() for line in before)
    (assumed,) = re.findall(rf"Lemma {lemma} \(x b : R\) :\s+(.*) -> exists", prelude())
    asked = assumed.replace("x", letter).replace("b", limit).split(" -> ")
    assert [known[proof] for proof in re.findall(r"\(.*?\)|\w+", given)] == asked


def test_every_rule_of_the_checker_is_exported_or_refused_by_name() -> None:
    data = json.loads(drift())
    data["theorems"][0]["rule"] = "magic"
    with pytest.raises(NotExported, match="rule 'magic': exported are combine"):
        export(data, "magic")
    assert "combine" in RULES


@pytest.mark.parametrize("rule", ["local step", "unbiased", "variance"])
def test_an_axiom_on_the_path_that_is_not_given_the_cohort_is_refused(rule: str) -> None:
    data = json.loads(saved_line(rule))
    data["theorems"][-1]["context"] = "start"
    with pytest.raises(NotExported, match="not known at the start"):
        export(data, "start")


@pytest.mark.parametrize("kind", ["above", "real"])
def test_a_condition_without_an_export_is_refused_by_name(kind: str) -> None:
    data = json.loads(drift())
    data["regions"][0][0][1] = kind
    with pytest.raises(NotExported, match=f"eta: a condition '{kind}'"):
        export(data, "other")


def test_a_name_that_ends_the_comment_is_refused() -> None:
    with pytest.raises(NotExported, match="end no comment"):
        export(json.loads(drift()), "a.thm1@*) Axiom all : False. (*")


def test_no_two_letters_have_one_name() -> None:
    """Else what Coq proves would be of letters that are equal."""
    names = ["x", "x_", "x__", "a1", "a1_", "u_a", "u_a_", "pos", "pos_", "eta"]
    assert len({*Writer(names).coq.values()}) == len(names)


def test_a_proof_that_the_kernel_did_not_compose_is_refused() -> None:
    with pytest.raises(NotExported, match=r"flics\.thm2@main: no proof of the kernel"):
        exported(reverify("flics.thm2@main"))


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("fast.lemma2@main", r"fast\.lemma2@main: a bound by the rule 'bound at points': exported are theorems on"),
        (
            "khaled2020.thm1@main",
            r"khaled2020\.thm1@main: a bound by the rule 'iterate steps': exported are theorems on",
        ),
        (
            "safari.thm4@corrected",
            r"safari\.thm4@corrected: a bound by the rule 'telescope kinds': exported are theorems",
        ),
        ("fedau.thm1@main", r"fedau\.thm1@main: a bound by the rule '[a-z ]+': exported are theorems on one round"),
    ],
)
def test_what_is_not_exported_yet_is_refused_by_name(ref: str, why: str) -> None:
    with pytest.raises(NotExported, match=why):
        exported(reverify(ref))


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "thm2.v"
    made = CliRunner().invoke(app, ["prove", "fast.thm2@sharper", "--export", "coq", "--into", str(file)])
    assert made.exit_code == 0, made.output
    assert file.read_text().startswith("(* fast.thm2@sharper\n")


def test_another_language_is_refused() -> None:
    made = CliRunner().invoke(app, ["prove", "fast.thm2@sharper", "--export", "lean"])
    assert made.exit_code == 2
    assert "allowed is coq" in made.output
