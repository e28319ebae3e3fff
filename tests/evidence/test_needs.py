"""What a claim needs and does not state: instances that violate it, verdicts, and proofs that lose it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
import torch

from fedtheory.algorithms import fast, safari
from fedtheory.assumptions import ASSUMPTIONS, COHORT_BEFORE_NOISE, INDEPENDENT_NOISE, UNCORRELATED_NOISE
from fedtheory.evidence import assess
from fedtheory.evidence.judge import judge
from fedtheory.evidence.refute import falls_without
from fedtheory.evidence.replay import ReplayError, replay
from fedtheory.evidence.rule import PROVED_AND_REFUTED, overall
from fedtheory.federations import Quadratic
from fedtheory.federations.base import Pairs
from fedtheory.moments.one_round import one_round
from fedtheory.papers import all_claims, claim
from fedtheory.papers.proofs import library, proof_of
from fedtheory.participation import Fixed, LargestNoise, history
from fedtheory.printing import print_judgement
from fedtheory.proof.chains import made_of
from fedtheory.proof.steps import decide_all
from fedtheory.proof.tie import words
from fedtheory.setting import Setting
from fedtheory.subjects.base import Instance
from fedtheory.subjects.run import from_setting
from fedtheory.subjects.run_parts import PARTS
from fedtheory.subjects.violations import VIOLATIONS

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def enumerated(setting: Setting, arbitrary: bool) -> dict[str, Fraction]:
    """One client round of identical clients x^2/2 from x_0, by all signs of all noises, word by word."""
    fed, process, algorithm = setting.federation, setting.participation, setting.algorithm.client_rounds[0]
    sigma, eta, steps = fed.exact_gradient_noise, algorithm.local_lr, algorithm.local_steps
    common, start = fed.noise == "common two-point", setting.exact_start[0]
    draws = list(product((1, -1), repeat=steps * (1 if common else fed.clients)))
    found = dict.fromkeys(("distance", "movement", "sums", "drift"), Fraction(0))
    for signs in draws:
        rows = [signs[0 if common else steps * i :][:steps] for i in range(fed.clients)]
        chosen = list(range(fed.clients))
        if arbitrary and isinstance(process, LargestNoise):
            chosen = sorted(chosen, key=lambda i: (-rows[i][0], i))[: process.count]
        elif arbitrary:
            chosen = list(process.members)
        ends, sums, drifts = [], [], []
        for i in chosen:
            x, total, drift = start, Fraction(0), Fraction(0)
            for k in range(steps):
                drift += (x - start) ** 2
                total += x
                x -= eta * (x + sigma * rows[i][k])
            ends.append(x), sums.append(total), drifts.append(drift)
        end, total = sum(ends) / len(ends), sum(sums) / len(sums)
        values = (end**2, (end - start) ** 2, total**2, sum(drifts) / len(drifts))
        for name, value in zip(found, values, strict=True):
            found[name] += value / len(draws)
    return found


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("noise, who", [("common two-point", Fixed([0, 2])), ("two-point", LargestNoise(1)),
                                        ("two-point", LargestNoise(2)), ("two-point", LargestNoise(3))])  # fmt: skip
def test_moments_are_those_of_all_draws(steps: int, noise: str, who: Fixed | LargestNoise) -> None:
    """One round of SAFARI's clients, and the run's recursion after one round, in Fractions, against enumeration."""
    fed = Quadratic.common_hessian([0, 0, 0], gradient_noise=2, noise=noise)
    algorithm = safari(client_round_probability=1, local_lr=TENTH, server_lr=TENTH, local_steps=steps)
    setting = Setting(fed, algorithm, who, start=Fraction(-3, 2))
    by_hand = enumerated(setting, arbitrary=True)
    found = one_round(setting, exact=True)
    assert found.lefts["final_squared_distance"] == by_hand["distance"]
    assert found.lefts["squared_movement"] == by_hand["movement"]
    assert found.known["arbitrary_pseudogradient"] == by_hand["sums"]
    assert found.known["arbitrary_drift"] == by_hand["drift"]
    assert setting.exact([1], exact=True).squared_distance[0] == by_hand["distance"]


def test_snapshots_of_common_noise() -> None:
    """A uniform cohort averages nothing away where the noise is common; arbitrary rounds are another kind."""
    fed = Quadratic.common_hessian([0, 0, 0], gradient_noise=1, noise="common two-point")
    setting = Setting(fed, fast(cohort=2, local_lr=TENTH, local_steps=2, snapshot_probability=1), Fixed([0]), start=1)
    by_hand = enumerated(setting, arbitrary=False)
    assert setting.exact([1], exact=True).squared_distance[0] == by_hand["distance"]
    assert one_round(setting, exact=True).known["cohort_pseudogradient"] == by_hand["sums"]


@pytest.mark.parametrize("noise, who", [("common two-point", Fixed([0, 1])), ("two-point", LargestNoise(1))])
def test_the_engine_runs_them(noise: str, who: Fixed | LargestNoise) -> None:
    """Mean squared errors of 4000 runs, within five standard errors of the exact ones (a false alarm in 10^6)."""
    fed = Quadratic.common_hessian([0, 0], gradient_noise=1, noise=noise)
    setting = Setting(fed, fast(cohort=1, local_lr=HALF, local_steps=2, snapshot_probability=0), who, start=1)
    found = setting.simulate(replicas=4000, rounds=3, seed=1).rows["squared_distance"][:, -1]
    exact = setting.exact([3]).squared_distance[0]
    assert abs(found.mean() - exact) < 5 * found.std() / 4000**0.5
    independent = Setting(Quadratic.common_hessian([0, 0], gradient_noise=1), setting.algorithm, Fixed([0, 1]), start=1)
    assert abs(independent.exact([3]).squared_distance[0] - exact) > 20 * found.std() / 4000**0.5


def test_the_largest_noise_is_the_clients_own() -> None:
    """Who takes part is who draws the largest noise in the round: the same draws as the federation's."""
    fed = Quadratic.common_hessian([0] * 5, gradient_noise=1)
    counts = history(LargestNoise(2), clients=5, rounds=6, replicas=3, seed=4)
    for round in range(6):
        everyone = Pairs.of(torch.ones(3, 5, dtype=torch.bool), torch.arange(3), 4, round)
        drawn = fed.draw_noise(everyone)[:, 0].reshape(5, 3).T
        for replica in range(3):
            order = sorted(range(5), key=lambda i: (-float(drawn[replica, i]), i))
            assert counts[round, replica].nonzero().flatten().tolist() == sorted(order[:2])


def test_what_moments_do_not_follow_is_refused() -> None:
    for fed in (Quadratic([[1], [2]], [[0], [0]]), Quadratic.common_hessian([0, 1])):
        setting = Setting(fed, fast(cohort=1, local_lr=TENTH, snapshot_probability=0), LargestNoise(1))
        with pytest.raises(ValueError, match="identical clients"):
            setting.exact([1])
    fed = Quadratic([[1], [2]], [[0], [0]], gradient_noise=1, noise="common two-point")
    with pytest.raises(ValueError, match="same Hessian"):
        Setting(fed, fast(cohort=1, local_lr=TENTH, snapshot_probability=0), Fixed([0])).exact([1])
    with pytest.raises(ValueError, match="depends on the round's noise"):
        LargestNoise(1).inclusion(2)


# The instances by which Theorem 2 of FAST falls, in all printed editions ---------------------------------------------


def theorem_2(setting: Setting, edition: str, rounds: int = 10**6):
    statement = claim(f"fast.thm2@{edition}")
    point = from_setting(statement, setting, rounds, PARTS["fast"])
    return judge(Instance(statement.ref, point), statement=statement)


@pytest.mark.parametrize("edition", ["main", "appendix"])
def test_common_noise(edition: str) -> None:
    """16 identical clients that all take part, with the same noise: the error tends to eta/(2 - eta) = 1.565e-3, not to
    2 eta/m = 3.906e-4."""
    fed = Quadratic.common_hessian([0] * 16, gradient_noise=1, noise="common two-point")
    algorithm = fast(cohort=16, local_lr=Fraction(1, 320), snapshot_probability=1)
    found = theorem_2(Setting(fed, algorithm, Fixed(range(16))), edition)
    assert found.refutes
    assert float(found.readings[0].left) == pytest.approx(1 / 639, rel=1e-6)
    assert float(found.readings[0].right) == pytest.approx(3.90625e-4, rel=1e-6)
    assert found.to_json()["violates"] == [INDEPENDENT_NOISE, UNCORRELATED_NOISE]


def test_who_draws_the_larger_noise() -> None:
    """Of two identical clients the one with the larger noise answers: the mean of the noise is 1/2 and stays in x."""
    fed = Quadratic.common_hessian([0, 0], gradient_noise=1)
    algorithm = fast(cohort=1, local_lr=Fraction(1, 100), snapshot_probability=0)
    found = theorem_2(Setting(fed, algorithm, LargestNoise(1)), "main")
    by_probability = [r for r in found.readings if r.reading["snapshots"] == "probability"]
    assert all(r.refutes for r in by_probability)
    left, right = float(by_probability[0].left), float(by_probability[0].right)
    assert left == pytest.approx(0.25 + 0.75 * 0.01 / 1.99, rel=1e-6)  # mean^2 + variance eta/(2 - eta)
    assert right == pytest.approx(0.025, rel=1e-6)
    assert found.to_json()["violates"] == [COHORT_BEFORE_NOISE]


def test_an_instance_of_what_is_assumed_is_none() -> None:
    """The corrected editions assume both, so the same runs are no instances of them."""
    fed = Quadratic.common_hessian([0] * 16, gradient_noise=1, noise="common two-point")
    algorithm = fast(cohort=16, local_lr=Fraction(1, 32 * 16), snapshot_probability=1)
    found = theorem_2(Setting(fed, algorithm, Fixed(range(16))), "corrected")
    assert not found.refutes and found.readings[0].failing == ["independent_noise"]


# Published -----------------------------------------------------------------------------------------------------------

PUBLISHED = {(statement.ref, kind): content for statement in all_claims() for kind in VIOLATIONS
             if (content := assess.recorded_instance(statement.ref, kind)) is not None}  # fmt: skip


def test_some_are_published() -> None:
    assert {ref for ref, _ in PUBLISHED} >= {"fast.thm2@main", "fast.thm2@appendix", "safari.eq77@main"}


@pytest.mark.parametrize("ref, kind", list(PUBLISHED))
def test_published_instances_fall_and_the_claim_that_assumes_more_does_not(ref: str, kind: str) -> None:
    content = PUBLISHED[ref, kind]
    assert assess.published_needs(ref)[kind] == content
    judgement = replay(content)
    assert judgement.refutes and kind in content["violates"]
    assuming = claim(ref).assuming(kind)
    found = judge(Instance(ref, judgement.instance.point), statement=assuming)
    assert all(kind in reading.failing for reading in found.readings)


def test_what_is_violated_is_printed(capsys: pytest.CaptureFixture) -> None:
    print_judgement(dict(PUBLISHED["fast.thm2@main", COHORT_BEFORE_NOISE]))
    shown = capsys.readouterr().out
    assert "violates cohort_before_noise, which the claim does not assume" in shown
    assert "falls under 4 of 4 readings" in shown and "refuted" not in shown


def test_a_file_that_hides_what_it_violates_is_refused() -> None:
    content = dict(PUBLISHED["fast.thm2@main", UNCORRELATED_NOISE])
    del content["violates"]
    with pytest.raises(ReplayError, match="violates"):
        replay(content)


@pytest.mark.parametrize("ref", ["fast.eq29", "safari.eq50"])
def test_the_search_finds_them(ref: str) -> None:
    statement = claim(ref)
    found = falls_without(statement)
    assert {kind: judgement.to_json() for kind, judgement in found.items()} == {
        kind: content for (name, kind), content in PUBLISHED.items() if name == statement.ref
    }


# Proofs --------------------------------------------------------------------------------------------------------------

STATED = [s for s in all_claims() if any(not a.quantity for a in s.assumptions)]


@pytest.mark.parametrize("statement", STATED, ids=lambda s: s.ref)
def test_a_claim_that_drops_an_assumption_of_its_proof_loses_it(statement) -> None:
    """Every assumption that the proof takes is one that the claim names; without it the proof is open at just that, and
    what is left, if anything, is another proof."""
    chain = proof_of(statement)
    if chain is None:
        pytest.skip("no proof")
    taken = {d.step.name.removeprefix("claim.assumes.") for d in chain.decisions if "claim.assumes." in d.step.name}
    for assumption in statement.assumptions:
        less = replace(statement, assumptions=tuple(a for a in statement.assumptions if a is not assumption))
        lost = taken & {assumption.quantity or assumption.kind, *ASSUMPTIONS[assumption.kind].implies} - less.assumed
        left = proof_of(less)
        assert (left is None or left.derivation != chain.derivation) == bool(lost)
        # What the derivation that proved the claim says of this one: only its words, which no solver decides.
        said = words(less, chain.derivation, library().assumed(chain.derivation.steps))
        again = made_of(less, chain.derivation, decide_all(tuple(said)), library())
        assert lost == {d.step.name.removeprefix("claim.assumes.") for d in again.open}


PROVED = ("fast.thm1@corrected", "fast.thm2@corrected", "fast.thm2@sharp", "safari.thm4@corrected", "safari.thm4@sharp",
          "safari.thm5@corrected", "safari.thm5@sharp", "khaled2020.thm1@main")  # fmt: skip


@pytest.mark.parametrize("ref", PROVED)
def test_what_the_search_finds_needed_the_proof_takes(ref: str) -> None:
    """Runs that violate what a claim no longer assumes are looked for without the proof: where the claim falls, its
    proof has to be lost."""
    statement = claim(ref)
    for kind, violated in VIOLATIONS.items():
        less = replace(statement, assumptions=tuple(a for a in statement.assumptions if a.kind not in violated))
        if kind in falls_without(less, [kind]):
            assert proof_of(statement) is not None and proof_of(less) is None, kind


def test_the_rule() -> None:
    """Needs comes after refuted and before proved; a proof that does not take what an instance violates is an error."""
    proof = {"outcome": "proved", "joints": "kernel", "steps": 3, "decided": {}, "repaired": 0, "first_open": None,
             "readings": {}, "assuming": [INDEPENDENT_NOISE]}  # fmt: skip
    found = {"assumption": UNCORRELATED_NOISE, "violates": [INDEPENDENT_NOISE, UNCORRELATED_NOISE], "ratio": 4.0,
             "file": "needs/x.json", "readings": 1}  # fmt: skip
    evidence = {"proof": proof, "needs": [found], "exact": {"instance": None, "search": None}, "measured": [],
                "consistency": [], "units": {"findings": []}}  # fmt: skip
    word, why = overall(evidence)
    assert word == "needs" and "4 times without uncorrelated_noise" in why and "Proved with independent_noise" in why
    assert overall(evidence | {"needs": []})[0] == "unproved"
    assert overall(evidence | {"needs": [], "proof": proof | {"assuming": []}})[0] == "proved"
    declared = evidence | {"proof": proof | {"joints": "declared"}}
    assert "Steps decided with independent_noise" in overall(declared)[1]
    for taken in ([], [COHORT_BEFORE_NOISE]):
        assert overall(evidence | {"proof": proof | {"assuming": taken}})[0] == PROVED_AND_REFUTED
