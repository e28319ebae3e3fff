"""FedAvg with decaying steps: the theorems are proved, nothing is found against them, and what is not them falls."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb
from sympy import Ge

from fedtheory.algorithms import fedavg
from fedtheory.claims.statement import Claim
from fedtheory.evidence.confirm import refuting_point
from fedtheory.evidence.judge import judge, parse
from fedtheory.evidence.refute import falls_without
from fedtheory.evidence.search import search
from fedtheory.moments.evaluators import Question
from fedtheory.moments.evaluators import left as left_side
from fedtheory.papers import claim, paper
from fedtheory.papers.li2020.decaying_run_points import FedAvgPoint, _ExaminedFedAvg
from fedtheory.papers.li2020.decaying_runs import Training
from fedtheory.papers.li2020.statements.theorems import BY_WEIGHT, EVERYONE, UNIFORM, E, N, R, S, gamma, kappa, mu, t
from fedtheory.papers.li2020.subjects import FedAvgRuns
from fedtheory.papers.proofs import library, proof_of, prove
from fedtheory.papers.registry import from_setting, subject_of
from fedtheory.papers.saved_certificates import reverify
from fedtheory.participation import Fixed, Uniform
from fedtheory.proof.chains import GOAL
from fedtheory.subjects.protocol import Instance, Sides

REFS = [c.ref for c in paper("li2020").claims]
THM = {number: claim(f"li2020.thm{number}") for number in (1, 2, 3)}
SEARCHED = {"candidates": 108, "climbs": 0, "steps": 0}
"""The structured candidates."""


@pytest.mark.parametrize("ref", REFS)
def test_each_is_the_kernels_theorem(ref: str) -> None:
    chain = prove(claim(ref))
    assert chain.verdict == "proved" and len(chain.readings) == 1
    assert [d.step.name for d in chain.decisions] == [GOAL]
    assert reverify(ref).outcome == "proved"


def test_the_printed_induction_does_not_show_the_main_text() -> None:
    """8/(8 + 2 - 1) |w_1 - w*|^2 is printed, 9/(8 + 2) shown."""
    (broken,) = (step for step in library().steps if step.paper == "li2020" and step.printed)
    assert broken.name == "li2020.constants" and library().decided(broken.name).outcome == "gap"
    assert broken.of == tuple(f"li2020.thm{number}@main" for number in (1, 2, 3))
    assert library().decided("li2020.start").outcome == "proved"
    assert Fraction(8, 9) < Fraction(9, 10)


@pytest.mark.parametrize("ref", REFS)
def test_nothing_is_found_against_it(ref: str) -> None:
    report = search(ref, candidates=130, climbs=1, steps=10)
    assert report.lead is None and report.admissible > 60 and 0.4 < report.best.ratio < 1


def scaled(number: int, **factors: object) -> Claim:
    """The theorem with terms multiplied."""
    return THM[number].edited(
        "main", "changed", terms={n: THM[number].term(n).expression * f for n, f in factors.items()}
    )


def without(number: int, name: str) -> Claim:
    """The theorem without a hypothesis or an assumption of that kind."""
    old = THM[number]
    return replace(old, hypotheses=tuple(h for h in old.hypotheses if h.name != name),
                   assumptions=tuple(a for a in old.assumptions if a.kind != name))  # fmt: skip


def stepping(rule: object) -> Claim:
    """Theorem 1 with other step sizes."""
    return replace(THM[1], choices={"local_lr": rule})


_B = ("noise", "heterogeneity", "drift")
_half, _time = sympy.Rational(1, 2), gamma + R * E
_weighted_noise, _G, _Gamma, _initial = (f"of {data}: claimed - derived" for data in ("B", "G^2", "Gamma", "d^2"))
_schedule = "local_lr = (2)/(mu*t + mu*shift + mu): allowed is"

REFUTED = {
    "initial distance halved": (scaled(1, initial=_half), _initial),
    "noise quartered": (scaled(1, noise=_half**2), _weighted_noise),
    "noise dropped": (scaled(1, noise=0), _weighted_noise),
    "p_k^3 for p_k^2 where all are 1/N": (scaled(1, noise=1 / N), _weighted_noise),
    "mu for mu^2 below the noise": (scaled(1, noise=mu), _weighted_noise),
    "mu^3 for mu^2 below B": (scaled(1, **dict.fromkeys(_B, 1 / mu)), _Gamma),
    "kappa dropped": (scaled(1, **dict.fromkeys((*_B, "initial"), 1 / kappa)), _Gamma),
    "1/T^2 for 1/T": (scaled(1, **dict.fromkeys((*_B, "initial"), 1 / _time)), _Gamma),
    "drift dropped": (scaled(1, drift=0), _G),
    "(E - 1)^2 missing": (scaled(1, drift=1 / (E - 1) ** 2), _G),
    "heterogeneity, drift and C dropped": (scaled(2, heterogeneity=0, drift=0, sampling=0), _Gamma),
    "no cap, gamma >= E alone": (without(1, "first_step"), "(-8*L + mu*shift)/(mu) >= 0: not certified"),
    "mu^2 for mu in the steps": (stepping(2 / (mu**2 * (gamma + t + 1))), _schedule),
    "a quarter of the steps": (stepping(1 / (2 * mu * (gamma + t + 1))), _schedule),
}
"""By slip: the claim, and what is said to be missing. Quadratic clients refute each."""

UNPROVED = {
    "noise halved": (scaled(1, noise=_half), _weighted_noise),  # quadratics have a third of it
    "Gamma dropped": (
        scaled(1, heterogeneity=0),
        _Gamma,
    ),  # on quadratics the drift's term is larger where Gamma counts
    "E - 1 for (E - 1)^2": (scaled(1, drift=1 / (E - 1)), _G),
    "gamma without E": (without(1, "slow_decay"), "-K + shift"),  # the drift's term grows with E too
    "gamma >= kappa": (
        THM[1].edited("main", "changed", hypotheses={"first_step": Ge(gamma, kappa)}),
        "(-8*L + mu*shift)/(mu) >= 0: not certified",
    ),
    "half the steps": (stepping(1 / (mu * (gamma + t + 1))), _schedule),
    "the initial distance by 1/T^2": (scaled(1, initial=gamma / _time), _initial),  # contraction is as fast
    "C of Theorem 2 dropped": (scaled(2, sampling=0), _G),  # below 6 L Gamma and the drift's term on quadratics
    "S^2 for S": (scaled(2, sampling=1 / S), _G),
    "(N - S)/(N - 1) squared": (scaled(3, sampling=(N - S) / (N - 1)), _G),
    "Theorem 1 for clients drawn": (replace(THM[1], ambiguities=THM[2].ambiguities), "cohort: it is read as everyone"),
    "Theorem 3 for any draws": (without(3, "independent_draws"), "the claim does not assume independent_draws"),
    "noise of any correlation": (without(1, "uncorrelated_noise"), "the claim does not assume uncorrelated_noise"),
    "no bound on gradients": (
        without(1, "bounded_stochastic_gradients"),
        "the claim does not assume bounded_stochastic_gradients",
    ),
}
"""No quadratic clients refute them, but the proof does not carry them: what is said to be missing."""


@pytest.mark.parametrize("slip", REFUTED)
def test_slips_are_refuted_by_an_exact_instance(slip: str) -> None:
    wrong, _ = REFUTED[slip]
    judgement = refuting_point(wrong, search(wrong, **SEARCHED).lead)
    assert judgement.refutes and judgement.to_json()["algorithm"]["kind"] == "fedavg_decaying"
    assert parse(judgement.instance.to_json(), wrong) == judgement.instance
    true = THM[int(wrong.id[-1])]
    assert not judge(judgement.instance, statement=true).refutes


@pytest.mark.parametrize("slip", [*REFUTED, *UNPROVED])
def test_slips_are_not_proved_for_a_reason(slip: str) -> None:
    wrong, says = (REFUTED | UNPROVED)[slip]
    assert says in prove(wrong).first_open.step.says  # of a proof no step is open


@pytest.mark.parametrize("number", THM)
def test_without_uncorrelated_noise_it_falls(number: int) -> None:
    wrong = without(number, "uncorrelated_noise")
    found = falls_without(wrong)
    assert list(found) == ["uncorrelated_noise"] and found["uncorrelated_noise"].refutes
    assert parse(found["uncorrelated_noise"].to_json(), wrong) == found["uncorrelated_noise"].instance
    assert judge(found["uncorrelated_noise"].instance, statement=THM[number]).readings[0].failing == ["uncorrelated"]
    assert falls_without(THM[number]) == {}


@pytest.mark.parametrize("kind", sorted({a.kind for c in THM.values() for a in c.assumptions}))
def test_every_assumption_is_used(kind: str) -> None:
    for number, statement in THM.items():
        if kind in {a.kind for a in statement.assumptions}:
            assert proof_of(without(number, kind)) is None


# The errors, by every sequence of signs and draws --------------------------------------------------------------------


def drawn(training: Training, models: list[Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    """(probability, the server's model) of every draw."""
    clients = range(len(models))
    if training.cohort == EVERYONE:
        yield Fraction(1), sum(p * model for p, model in zip(training.weights, models, strict=True))
    elif training.cohort == BY_WEIGHT:
        for who in itertools.product(clients, repeat=training.drawn):
            chance = Fraction(np.prod([training.weights[k] for k in who]))
            yield chance, sum(models[k] for k in who) / training.drawn
    else:
        sets = list(itertools.combinations(clients, training.drawn))
        for who in sets:
            yield Fraction(1, len(sets)), sum(models[k] for k in who) / training.drawn


def enumerated(training: Training, steps: list[Fraction]) -> tuple[Fraction, Fraction]:
    """E x^2 after the last round, and the largest E|stochastic gradient|^2, on a line."""
    clients, length = len(training.weights), training.local_steps
    h, c = training.curvatures[:, 0], training.minimisers[:, 0]
    states, largest = [(Fraction(1), training.start[0])], Fraction(0)
    for first in range(0, len(steps), length):
        new = []
        seen = np.zeros((length, clients), dtype=object)
        signs = length if training.common_noise else length * clients
        for (chance, x), noise in itertools.product(states, itertools.product((-1, 1), repeat=signs)):
            models = [x] * clients
            each = chance / 2**signs
            for i, k in itertools.product(range(length), range(clients)):
                sign = noise[i] if training.common_noise else noise[i * clients + k]
                gradient = h[k] * (models[k] - c[k]) + training.noises[k] * sign
                seen[i, k] += each * gradient**2
                models[k] -= steps[first + i] * gradient
            new += [(each * p, model) for p, model in drawn(training, models)]
        states, largest = new, max(largest, seen.max())
    return sum(chance * (x - training.optimum[0]) ** 2 for chance, x in states), largest


def column(*numbers: object) -> np.ndarray:
    return np.array([[Fraction(x)] for x in numbers], dtype=object)


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize(("cohort", "count", "weights", "local_steps", "rounds"), [
    (EVERYONE, 1, ("1/4", "3/4"), 2, 2), (BY_WEIGHT, 2, ("1/4", "3/4"), 2, 2), (BY_WEIGHT, 1, ("1/4", "3/4"), 1, 3),
    (UNIFORM, 1, ("1/2", "1/2"), 2, 2), (UNIFORM, 2, ("1/3", "1/3", "1/3"), 1, 2), (UNIFORM, 1, ("1",), 2, 2),
])  # fmt: skip
def test_errors_by_every_sequence_of_signs_and_draws(
    cohort: str, count: int, weights: tuple[str, ...], local_steps: int, rounds: int, common: bool
) -> None:
    clients = len(weights)
    p, noises = (np.array([Fraction(x) for x in numbers], dtype=object)
                 for numbers in (weights, (1, 2, "1/2")[:clients]))  # fmt: skip
    training = Training(column(1, 2, "3/2")[:clients], column(3, -1, 2)[:clients], p, noises,
                        np.array([Fraction(5)], dtype=object), cohort, count, local_steps, common)  # fmt: skip
    steps = [Fraction(2, 8 + i) for i in range(local_steps * rounds)]
    *_, (gap, square, _) = every = list(training.errors(steps))
    exact, largest = enumerated(training, steps)
    assert (square, gap) == (exact, exact * training.mean_curvature[0] / 2)
    assert max(seen.max() for _, _, seen in every) == largest


@pytest.mark.parametrize("cohort", [EVERYONE, BY_WEIGHT, UNIFORM])
def test_many_rounds_at_once_in_floats(cohort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Fractions, to rounding: some 10 operations a round, by 2^-53 each; blocks end where they may."""
    rng = np.random.default_rng(1)
    for together, clients, dimension, local_steps in zip((1, 4, 512), (1, 3, 5), (1, 2, 3), (3, 2, 1), strict=True):
        monkeypatch.setattr("fedtheory.papers.li2020.decaying_runs.TOGETHER", together)
        p = np.full(clients, 1 / clients) if cohort == UNIFORM else rng.dirichlet(np.ones(clients))
        h, c = rng.uniform(0.5, 2, (clients, dimension)), rng.normal(size=(clients, dimension))
        floats = Training(h, c, p, rng.uniform(0, 2, clients), rng.normal(size=dimension), cohort,
                          min(2, clients) if cohort != EVERYONE else clients, local_steps)  # fmt: skip
        exact = replace(floats, **{name: np.vectorize(Fraction, otypes=[object])(getattr(floats, name)) for name in
                                   ("curvatures", "minimisers", "weights", "noises", "start")})  # fmt: skip
        steps = 2 / (8 + np.arange(9 * local_steps))
        found, expected = list(floats.errors(steps)), list(exact.errors([Fraction(s) for s in steps.tolist()]))
        assert len(found) == len(expected) == 9
        for one, other in zip(found, expected, strict=True):
            for value, true in zip(one, other, strict=True):
                np.testing.assert_allclose(value, np.asarray(true, dtype=float), rtol=1e-12)


@pytest.mark.parametrize("ref", REFS)
def test_the_example_by_the_settings_own_moments(ref: str) -> None:
    statement = claim(ref)
    example = paper("li2020").example(statement)
    rounds = np.array([1, 2, 10])
    bound = statement.at(example.setting, rounds=rounds, **example.stated)
    assert bound.hypotheses_hold and bound.slack["local_lr_choice"] == 0
    lefts = left_side(statement.functional, Question(example.setting, rounds, next(statement.readings())))
    for i, count in enumerate(rounds.tolist()):
        point = from_setting(statement, example.setting, count, **example.stated)
        (reading,) = judge(Instance(ref, point), statement=statement).readings
        assert not reading.failing and reading.left < reading.right
        assert float(reading.left) == pytest.approx(lefts[i], rel=1e-12)
        bounds = float(point.constants["gradient_bound"]), float(bound.quantities["gradient_bound"])
        assert bounds[0] == pytest.approx(bounds[1], rel=1e-5) and bounds[0] > bounds[1]


def test_settings_of_other_runs_make_no_point() -> None:
    example = paper("li2020").example(THM[1])
    with pytest.raises(ValueError, match="step_shift is not in a setting"):
        from_setting(THM[1], example.setting, 1)
    drawn = Uniform(2, replacement=True)  # by equal weights, of clients that weigh differently
    weights = ["1/2", "1/3", "1/6"]
    other_steps = fedavg(local_lr="1/8", local_steps=4, average="weighted", objective_weight=weights)
    faster = fedavg(local_lr="1/8", global_lr=2, objective_weight=weights)
    for change, message in (
        ({"algorithm": other_steps}, "allowed is what li2020.thm1@main chooses"),
        ({"algorithm": faster}, "allowed is FedAvg"),
        ({"participation": Fixed([0])}, "Multinomial draws by weight"),
        ({"participation": drawn}, "where all weigh"),
    ):
        with pytest.raises(ValueError, match=message):
            from_setting(THM[1], replace(example.setting, **change), 1, **example.stated)


def test_both_sides_of_the_theorem_in_fractions() -> None:
    # x^2/2 from 1, no noise, one step: (1 - 2/9)^2/2 <= 8/(8 + 1)/2
    training = Training(
        column(1), column(0), *(np.array([Fraction(x)], dtype=object) for x in (1, 0, 1)), EVERYONE, 1, 1
    )
    constants = {
        "smoothness": 1,
        "strong_convexity": 1,
        "weighted_noise": 0,
        "gradient_bound": 1,
        "heterogeneity_gap": 0,
        "step_shift": 8,
    }
    point = FedAvgPoint(training, 1, {name: Fraction(value) for name, value in constants.items()})
    (reading,) = judge(Instance(THM[1].ref, point)).readings
    assert not reading.failing and not reading.refutes
    assert abs(reading.left - 49 / 162) < 1e-12 and abs(reading.right - 4 / 9) < 1e-12


# Files ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data() -> dict:
    wrong = REFUTED["noise dropped"][0]
    return refuting_point(wrong, search(wrong, **SEARCHED).lead).instance.to_json()


@pytest.mark.parametrize(("part", "change", "message"), [
    ("federation", {"weights": ["2"]}, "weights: allowed are numbers > 0 with sum 1"),
    ("federation", {"noises": ["1", "1"]}, "noises: 2 in all, allowed are 1"),
    ("federation", {"hessians": [["0", "1"]]}, "hessians and noises: allowed are numbers > 0"),
    ("federation", {"common_noise": 1}, "common_noise = 1: allowed is true or false"),
    ("algorithm", {"kind": "fedavg"}, "kind = 'fedavg': allowed is 'fedavg_decaying'"),
    ("algorithm", {"local_steps": 0}, "local_steps, rounds: allowed are numbers > 0"),
    ("constants", {"step_shift": "0"}, "step_shift = 0"),
    ("participation", {"kind": UNIFORM}, "averages the models of everyone"),
    ("participation", {"kind": "all"}, "kind = 'all': allowed is 'everyone'"),
    ("constants", {"gradient_bound": "-1"}, "gradient_bound = -1"),
])  # fmt: skip
def test_what_a_file_may_not_say(data: dict, part: str, change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(data | {part: data[part] | change}, REFUTED["noise dropped"][0])


def test_an_enclosure_that_fails_refutes_nothing(data: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = REFUTED["noise dropped"][0]
    instance = parse(data, wrong)
    assert judge(instance, statement=wrong).refutes
    for value in ("nan", "0 +/- inf"):
        monkeypatch.setattr(
            _ExaminedFedAvg,
            "sides",
            lambda self, reading, left=arb(value): Sides(left, self.values),  # noqa: B008
        )
        assert not judge(instance, statement=wrong).refutes


def test_constants_below_the_true_ones_decide_nothing(data: dict) -> None:
    wrong = REFUTED["noise dropped"][0]
    for name, value in (("weighted_noise", "0"), ("gradient_bound", "0"), ("smoothness", "1/1000")):
        if Fraction(data["constants"][name]) > Fraction(value):
            low = data | {"constants": data["constants"] | {"strong_convexity": "1/1000", name: value}}
            assert not judge(parse(low, wrong), statement=wrong).refutes


def test_candidates_obey_every_hypothesis() -> None:
    rng = np.random.default_rng(1)
    for statement in THM.values():
        space = subject_of(statement).space(statement)
        assert isinstance(space, FedAvgRuns) and not space.measurable and not space.repairable
        candidate = space.draw(rng)
        for _ in range(10):
            candidate = space.perturb(candidate, rng, 0.3)
            assert space.assess(candidate) is not None


def test_a_claim_on_these_runs_chooses_the_step_size() -> None:
    with pytest.raises(ValueError, match=r"choices of mine.thm1@main: allowed in a claim about .* is one of local_lr"):
        FedAvgRuns(replace(claim("li2020.thm1"), id="mine.thm1", edition="main", choices={}))
