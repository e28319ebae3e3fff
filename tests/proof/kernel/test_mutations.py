"""Every proof that the kernel makes, with one thing changed: in the proof, in its file, in the claim, in both. Each
change loses the proof, or gives another theorem, which is true and has a proof of its own."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cache

import pytest

from fedtheory.papers.fast.proofs import thm1_thm2 as composed
from fedtheory.papers.fast.proofs.kinds_of_round import K, L, eta, h, m, mu, n, p, q, sigma_G, z
from fedtheory.proof import checker
from fedtheory.proof.kernel.regions import Where
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.scalars import Scalar
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem, about_start

from .published import NAMES, makes, of_rounds, proofs
from .replayed import Made, changes, lines, remade, replayed, stated

DRAWN = 2
"""Of each proof's changes; ``test_every_change`` makes all of them."""
LINES = 3
"""Of the changed lines of its file."""


def has_own_proof(theorem: Theorem, name: str) -> bool:
    """Whether the independent checker accepts it, and it holds in every small model."""
    assert checker.check(json.loads(json.dumps(saved(theorem)))) > 0
    return not proofs()[name].fails(theorem)


@cache
def proof_lines(name: str) -> tuple[list[Made], list[Theorem], list[Where]]:
    theorem = proofs()[name].make()
    proof = lines(theorem)
    return proof, ancestry(theorem), list(dict.fromkeys(line.where for line in proof))


def test_every_derivation_of_the_kernel_is_there() -> None:
    """One proof for each theorem that a derivation rests on, whoever wrote it down."""
    composed = of_rounds()
    made = {id(proof.make()) for proof in proofs().values()}
    assert {id(make()) for d in composed for make in makes(d.origin)} == made
    assert {d.proves[0].split(".")[0] for d in composed} == {name.split(".")[0] for name in proofs()}
    assert len(proofs()) == len(made) > 30


def test_a_proof_is_true_in_the_models_of_its_paper() -> None:
    for name, proof in proofs().items():
        assert any(proof.least([proof.make()], model) for model in proof.models), name
        assert not proof.fails(proof.make())


@pytest.mark.parametrize("name", NAMES)
def test_a_proof_made_again_is_the_same(name: str) -> None:
    proof, made, _ = proof_lines(name)
    assert stated(replayed(proof, known=made[: max(0, len(made) - 20)])) == stated(made[-1])


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_proof_is_refused_or_shows_what_is_true(name: str) -> None:
    proof, made, regions = proof_lines(name)
    every = [(i, changed) for i, line in enumerate(proof) for _, changed in changes(line, i, regions)]
    variants = []
    for i, changed in random.Random(name).sample(every, min(DRAWN, len(every))):
        with suppress(ValueError):
            variants.append(remade(proof, made, i, changed))
    shown = [v for v in variants if stated(v) != stated(made[-1])]
    assert all(has_own_proof(variant, name) for variant in shown[:1])


def test_everything_is_changed() -> None:
    """A premise, a region, a coefficient, a need, an index, of some line."""
    proof, _, regions = proof_lines("fast.thm1.sharper")
    whats = [what for i, line in enumerate(proof) for what, _ in changes(line, i, regions)]
    kinds = {what.split(" ")[0].split(":")[0] for what in whats}
    assert {"premise", "region", "multipliers", "squares", "constant", "claimed", "other"} <= kinds


# In the file ----------------------------------------------------------------------------------------------------------


def spoiled(data: dict) -> Iterator[tuple[str, int, dict]]:
    """(what is changed, in which line, the line), of what a line says and does not compute."""
    for number, line in enumerate(data["theorems"]):
        for i, premise in enumerate(line["premises"]):
            changed = [*line["premises"][:i], premise - 1, *line["premises"][i + 1 :]]
            yield "premise", number, line | {"premises": changed}
        for i, (entry, c) in enumerate(line["form"]):
            other = [[powers, str(Fraction(text) * 101 / 100)] for powers, text in c["top"]]
            form = [*line["form"][:i], [entry, c | {"top": other}], *line["form"][i + 1 :]]
            yield "coefficient", number, line | {"form": form}
            yield "term left out", number, line | {"form": line["form"][:i] + line["form"][i + 1 :]}
        yield "equality", number, line | {"equality": not line["equality"]}
        yield "path", number, line | {"path_to_the_end": not line["path_to_the_end"]}
        for context in {"cohort", "kind", "start"} - {line["context"]}:
            yield "context", number, line | {"context": context}
        for i, _ in enumerate(line["assumptions"]):
            yield "assumption", number, line | {"assumptions": line["assumptions"][:i] + line["assumptions"][i + 1 :]}
        for name in line["parameters"]:
            rest = {key: value for key, value in line["parameters"].items() if key != name}
            yield "parameter", number, line | {"parameters": rest}


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_line_of_a_file_is_rejected(name: str) -> None:
    made = ancestry(proofs()[name].make())
    data = json.loads(json.dumps(saved(made[-1])))
    every = list(spoiled(data))
    for what, number, line in random.Random(name).sample(every, min(LINES, len(every))):
        theorems = [*data["theorems"][:number], line, *data["theorems"][number + 1 :]]
        try:
            checker.check(copy.deepcopy(data | {"theorems": theorems}))
        except checker.Wrong:
            continue
        # the line before may say the same, so that it is as good a premise; what is about the start holds given more
        same = what == "premise" and line["premises"] != data["theorems"][number]["premises"]
        assert same or (what == "context" and about_start(made[number].form)), (what, number)


# Named changes ------------------------------------------------------------------------------------------------------

ONE = K / K
FLOOR = p**2 / mu + (q / m * 6 / 5 + q * 3 / 4 + p * 4) * K * eta
BIAS = p**2 + (q / m * 6 / 5 + q * 7 / 4 + p * 6) * z
RATE = mu - 2 * L**2 * K * eta - 4 * mu**2 * K * eta
NOISE, DRIFT_NOISE = (h * 9 / 8 + ONE * 3 / 5) * eta, (h * 9 / 8 + (1 - 1 / K) * 3) * L * eta
CAP_1, CAP_2 = 1 / (8 * L * K), mu / (8 * L**2 * K)


def falls(young: Scalar = z, cap: Scalar = CAP_1, share: Scalar = 1 - 7 * z, floor: Scalar = BIAS,
          noise: Scalar = DRIFT_NOISE) -> Callable[[], Theorem]:  # fmt: skip
    return lambda: composed._descent(young, cap, share, floor, noise)


def contracts(young: Scalar = 2 * L**2 * K * eta, cap: Scalar = CAP_2, rate: Scalar = RATE, floor: Scalar = FLOOR,
              noise: Scalar = NOISE) -> Callable[[], Theorem]:  # fmt: skip
    return lambda: composed._contraction(young, cap, rate, floor, noise)


def test_nothing_changed_is_what_is_proved() -> None:
    """The changes below are of these."""
    assert stated(falls()()) == stated(composed.nonconvex())
    assert stated(contracts()()) == stated(composed.strongly_convex())


LOST = {
    "22 z as (8 q/m + 8 (1-q)) z": falls(floor=p**2 + (q / m * 8 + p * 8) * z),
    "the floor halved": falls(floor=BIAS / 2),
    "the floor without p^2": falls(floor=BIAS - p**2),
    "p^2 as p^3": falls(floor=BIAS - p**2 + p**3),
    "no drift in the floor": falls(floor=p**2),
    "the drift without uniform rounds": falls(floor=BIAS - q * z * 7 / 4),
    "noise that falls with the cohort, under the large cap": falls(noise=h * L * eta * 9 / 8),
    "noise halved": falls(noise=DRIFT_NOISE / 2),
    "no noise": falls(noise=0 * eta),
    "no noise in the drift": falls(noise=h * L * eta),
    "K off by one in the noise": falls(noise=(h * 9 / 8 + (1 - 2 / K) * 3) * L * eta),
    "the whole fall": falls(share=ONE),
    "half the loss in the fall": falls(share=1 - z),
    "the cap 1/(2 L K)": falls(cap=1 / (2 * L * K)),
    "the cap 1/(8 L)": falls(cap=1 / (8 * L)),
    "K off by one in the cap": falls(cap=1 / (8 * L * (K - 1 + 1 / K) / 2)),
    "a rate of 2 mu": contracts(rate=2 * mu - 2 * L**2 * K * eta - 4 * mu**2 * K * eta),
    "the rate mu itself": contracts(rate=mu),
    "L for mu in the rate": contracts(rate=L - 2 * L**2 * K * eta - 4 * mu**2 * K * eta),
    "the floor halved, Theorem 2": contracts(floor=FLOOR / 2),
    "the floor of Theorem 2 over L": contracts(floor=FLOOR - p**2 / mu + p**2 / L),
    "no drift, Theorem 2": contracts(floor=p**2 / mu),
    "noise of Theorem 2 that falls with the cohort": contracts(noise=h * eta * 9 / 8),
    "noise of Theorem 2 halved": contracts(noise=NOISE / 2),
    "L for mu in the cap": contracts(cap=1 / (4 * L * K)),
    "no square in the cap": contracts(cap=mu / (L * K)),
    "m and n exchanged": contracts(noise=((q / n + p / m) * 9 / 8 + ONE * 3 / 5) * eta),
    "q and 1 - q exchanged": contracts(floor=q**2 / mu + (p / m * 6 / 5 + p * 3 / 4 + q * 4) * K * eta),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_a_false_theorem_is_refused_though_claim_and_proof_agree(name: str) -> None:
    """Claims are compared with what is computed from the theorem, so a change of both is a change of the theorem."""
    with pytest.raises(ValueError, match=r"not certified|divides by what may be 0"):
        LOST[name]()


VARIANTS = {
    "1% less of the whole floor": falls(floor=BIAS - (BIAS - p**2) / 100),
    "1% less noise": contracts(noise=NOISE * Fraction(99, 100)),
    "a smaller cap": falls(cap=1 / (20 * L * K)),
    "twice the floor": contracts(floor=2 * FLOOR),
    "another Young parameter": contracts(young=3 * L**2 * K * eta, rate=RATE - L**2 * K * eta),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_true_variant_has_a_proof_of_its_own(name: str) -> None:
    """What is lost here by rounding may be claimed as well: then the kernel composes it, and the checker agrees."""
    try:
        variant = VARIANTS[name]()
    except ValueError:
        assert name.startswith("1%")
        return
    assert has_own_proof(variant, "fast.thm1.sharper")
    assert stated(variant) not in [stated(proof.make()) for proof in proofs().values()]


def test_no_bias_is_another_assumption() -> None:
    """|b|^2 <= 0 is shown of federations without dissimilarity only; such a theorem gives no claim."""
    from fedtheory.papers import claim
    from fedtheory.papers.fast.proofs.kinds_of_round import LETTERS
    from fedtheory.proof.algorithm_match import built_in
    from fedtheory.proof.kernel.run_bounds import MEAN_GRADIENT
    from fedtheory.proof.kernel.tactics import of_runs, over_rounds
    from fedtheory.proof.kernel.theorems import instantiate
    from fedtheory.proof.translate.claim_bounds import MadeBound

    identical = instantiate(composed.nonconvex(), {"sigma_G": 0 * sigma_G}, composed.nonconvex().where)
    letters = LETTERS | of_runs(MEAN_GRADIENT)
    origin = MadeBound(lambda: over_rounds(identical, MEAN_GRADIENT), letters, MEAN_GRADIENT, of_rounds=True)
    (why,) = origin.apart_from(claim("fast.thm1@sharper"), "fast", built_in)
    assert "bounded_dissimilarity(0): allowed is sigma_G^2" in why
