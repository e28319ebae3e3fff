"""A theorem of the kernel proves claims about algorithms with its rounds, and about no other ones: every published
derivation is written down again for every algorithm that the engine has, as its own author might."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from sympy import Le

from fedtheory import algorithms as engine
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.neural import SGD
from fedtheory.papers import claim
from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex
from fedtheory.papers.fedau.proofs import thm1_thm2 as of_fedau
from fedtheory.papers.paper import Paper
from fedtheory.papers.proofs import library, proof_of, prove
from fedtheory.papers.registry import algorithm_of, algorithms, subject_of
from fedtheory.papers.safari.proofs.repaired_editions import server_descent
from fedtheory.participation import Bernoulli, Fixed, Incomplete, Mixture, Multinomial, Uniform
from fedtheory.proof import checker
from fedtheory.proof.algorithm_match import Rounds, read_rounds, strange
from fedtheory.proof.claim_goals import theorems_of
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.kernel.axioms import START_POINT, Axioms
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.quantities import symbols

COMPOSED = library().derivations
STEP: dict[str, Any] = {"local_lr": "1/10", "local_steps": 2}
EVERYONE = Fixed(range(2))


def _step(x, memory, round, *, local_lr):
    return x - local_lr * (round.share * round.gradient(x)).sum(1), {}


STRANGE = {
    "proximal": (engine.fedprox(proximal=1, **STEP), EVERYONE),
    "momentum": (engine.fedavgm(momentum="9/10", **STEP), EVERYONE),
    "fast_with_momentum": (engine.fast(cohort=2, snapshot_period=2, momentum="1/2", **STEP), EVERYONE),
    "adaptive_snapshots": (engine.fast(cohort=2, adaptivity=1, **STEP), EVERYONE),
    "amplified": (engine.fedamplify(period=2, global_lr=2, **STEP), EVERYONE),
    "adam": (engine.fedadam(global_lr="1/10", **STEP), EVERYONE),
    "global_lr": (engine.fedavg(global_lr=2, **STEP), EVERYONE),
    "the_mean_over_all": (engine.fedavg(average="all", **STEP), Bernoulli(["1/2", "1/4"])),
    "a_budget": (engine.fedavg(budget=1, **STEP), EVERYONE),
    "latest_updates": (engine.mifa(**STEP), EVERYONE),
    "corrected_updates": (engine.fedvarp(**STEP), EVERYONE),
    "weight_decay": (engine.fedavg(**STEP).trained_by(SGD(weight_decay=0.1)), EVERYONE),
    "steps_of_their_own": (
        engine.fedavg(objective_weight=["1/2", "1/2"], average="weighted", local_steps=[1, 2], local_lr="1/10"),
        EVERYONE,
    ),
    "ones_own": (engine.own(_step, name="mine", local_lr="1/10"), EVERYONE),
}
"""Algorithms for whose rounds the kernel has no words."""

THIRDS = ["1/2", "1/3", "1/6"]
WEIGHING = engine.fedavg(objective_weight=THIRDS, **STEP)
SHARES = engine.fedavg(average="weighted", objective_weight=THIRDS, **STEP)
KNOWN = {
    "fast": subject_of(claim("fast.thm1")).runs_as(claim("fast.thm1")),
    "safari": subject_of(claim("safari.thm4")).runs_as(claim("safari.thm4")),
    "fedau": subject_of(claim("fedau.thm1")).runs_as(claim("fedau.thm1")),
    "constant_weights": (engine.constant_weights(aggregation_weight=[1, 2], **STEP), Bernoulli(["1/2", "1/4"])),
    "local_sgd": subject_of(claim("khaled2020.thm1")).runs_as(claim("khaled2020.thm1")),
    "fedavg": (engine.fedavg(**STEP), EVERYONE),
    "weighing_alike": (WEIGHING, Fixed(range(3))),
    "by_their_shares": (SHARES, Fixed(range(3))),
    "drawn_by_weight": (WEIGHING, Multinomial(2, THIRDS)),
    "drawn_by_other_weights": (WEIGHING, Multinomial(2, THIRDS[::-1])),
    "drawn_uniformly": (engine.fedavg(**STEP), Uniform(1)),
    "drawn_twice": (engine.fedavg(**STEP), Uniform(1, replacement=True)),
}  # fmt: skip


@dataclass(frozen=True)
class Stub:
    """A subject whose runs are an algorithm's."""

    name: str
    of: tuple[Any, Any]

    def runs_as(self, claim: Claim) -> tuple[Any, Any]:
        return self.of


def anew(derivation: Derivation, name: str, **changed: Any) -> Paper:
    """The claim of a derivation, about another algorithm's runs, and the derivation, as a paper of its own."""
    own = replace(claim(derivation.proves[0]), id="mine.thm", algorithm=name, letters={}, **changed)
    origin = derivation.origin
    assert origin is not None
    again = origin.derivation("mine", (own.ref,))
    subjects = {name: Stub(name, ALL[name])} if name in ALL and name not in algorithms() else {}
    return Paper("mine", "", algorithm=name, claims=(own,), derivations=(again,), subjects=subjects)


ALL = {**KNOWN, **STRANGE}


@pytest.mark.parametrize("name", STRANGE)
def test_the_kernel_has_no_words_for_these(name: str) -> None:
    with pytest.raises(ValueError, match="no words for"):
        read_rounds(*STRANGE[name])


OF_ROUNDS = {
    **{f"fast.thm1@{edition}": {"fast"} for edition in ("corrected", "sharp", "sharper", "averaged")},
    **{f"fast.thm2@{edition}": {"fast"} for edition in ("corrected", "sharper", "averaged", "wide")},
    **{ref: {"safari"} for ref in ("safari.thm4@sharper", "safari.thm4@averaged", "safari.thm4@corrected",
                                   "safari.thm5@sharper", "safari.thm5@corrected")},
    "fedau.thm1@main": {"fedau", "constant_weights"}, "fedau.cor4@main": {"fedau"},  # of its weights
    "khaled2020.thm1@main": {"local_sgd", "fedavg", "drawn_uniformly"},  # where everyone takes part
    "li2020.thm1@main": {"local_sgd", "fedavg", "drawn_uniformly", "by_their_shares"},
    "li2020.thm2@main": {"drawn_by_weight"},
    "li2020.thm3@main": {"drawn_uniformly"},
}  # fmt: skip
"""By claim on runs, the rounds of which its theorem is."""


@pytest.mark.parametrize("ref", OF_ROUNDS)
def test_a_bound_is_about_algorithms_with_its_rounds(ref: str) -> None:
    (made,) = [d for d in COMPOSED if d.proves[0] == ref]
    own = made.origin.check(claim(ref), "", lambda *_: read_rounds(*KNOWN[min(OF_ROUNDS[ref])]))
    assert own.bound is not None
    for name, of in KNOWN.items():
        apart = list(replace(own.goal, rounds=read_rounds(*of)).differences(own.bound))
        assert (not apart) == (name in OF_ROUNDS[ref]), (name, apart)


END_TO_END = (
    *(("composed, khaled2020.thm1@main", name, "gap") for name in ("momentum", "weighing_alike", "nobodys", "fedau")),
    ("composed, khaled2020.thm1@main", "fedavg", "proved"), ("composed, fast.eq17@main", "proximal", "gap"),
    ("composed, fast.eq17@main", "safari", "proved"), ("composed, li2020.thm1@main", "fast", "gap"),
    ("composed, fast.lemma1@main", "momentum", "proved"),
    ("composed, li2020.thm2@main", "drawn_by_other_weights", "gap"),
)  # fmt: skip


@pytest.mark.parametrize(("derivation", "name", "how"), END_TO_END)
def test_a_claim_about_other_rounds_is_not_proved(derivation: str, name: str, how: str) -> None:
    (this,) = [d for d in COMPOSED if d.name == derivation]
    paper = anew(this, name)
    found = proof_of(paper.claims[0], paper)
    assert (found.verdict if found else "gap") == how


def test_what_is_open_says_why() -> None:
    (khaled,) = [d for d in COMPOSED if d.proves == ("khaled2020.thm1@main",)]
    paper = anew(khaled, "proximal")
    step = prove(paper.claims[0], paper).first_open.step
    assert step.name == "claim.composed" and step.says.endswith("no words for rounds with a proximal term")


def test_an_algorithm_that_the_checker_does_not_know_is_not_proved() -> None:
    """The second lock knows algorithms by their names: of the rounds of one's own it is not told."""
    (second,) = [d for d in COMPOSED if d.proves == ("li2020.thm2@main",)]
    paper = anew(second, "drawn_by_weight")
    step = prove(paper.claims[0], paper).first_open.step
    assert step.name == "claim.composed" and step.says.endswith("its saved proof is not accepted")


def test_steps_by_a_rule_are_not_of_one_size() -> None:
    (khaled,) = [d for d in COMPOSED if d.proves == ("khaled2020.thm1@main",)]
    own = khaled.origin.check(claim("khaled2020.thm1@main"), "", lambda *_: read_rounds(*KNOWN["local_sgd"]))
    assert own.bound is not None and not list(own.goal.differences(own.bound))
    decaying = read_rounds(engine.fedavg(local_lr="2/(8 + step_index)", local_steps=2), EVERYONE)
    apart = list(replace(own.goal, rounds=decaying).differences(own.bound))
    assert apart == ["its steps are of one size, and the claim's of several"]


def test_the_checker_knows_the_algorithm_whose_steps_decay() -> None:
    said = object.__new__(checker.ClaimOfRuns)
    said.claim, said.letters = {"algorithm": "fedavg_decaying"}, {}
    with pytest.raises(checker.Wrong, match="steps of several sizes"):
        said.check_rounds({"functional": "final_squared_distance", "parameters": {}, "kind": ""}, [])


def test_weighing_clients_are_no_plain_mean() -> None:
    """Khaled's theorem divides the noise by M: false where one client weighs nearly all."""
    weighing = replace(read_rounds(*KNOWN["local_sgd"]), plain_mean=False)
    (khaled,) = [d for d in COMPOSED if d.proves == ("khaled2020.thm1@main",)]
    apart = [why for theorem in theorems_of(khaled.origin.bound) for why in strange(theorem, weighing)]
    assert apart == ["it has equal_weights, and here clients weigh differently"]


def test_a_cohort_may_be_no_set() -> None:
    (safari,) = [d for d in COMPOSED if d.proves == ("safari.thm5@sharper",)]
    twice = replace(read_rounds(*KNOWN["safari"]), sets=False)
    apart = [why for theorem in theorems_of(safari.origin.bound) for why in strange(theorem, twice)]
    assert apart == ["it has cohort_is_a_set, and here a client may be drawn twice"]


def test_arbitrary_cohorts_beside_uniform_ones_may_be_no_sets() -> None:
    """The reading of FAST's snapshots is of these: other rounds have whoever comes, drawn twice by parts of a process
    too."""
    fast, twice = KNOWN["fast"][0], Multinomial(2, ["1/2", "1/2"])
    for process in (twice, Mixture([EVERYONE, Incomplete(twice, [])], ["1/2", "1/2"])):
        apart = list(strange(nonconvex(), read_rounds(fast, process)))
        assert "it has cohort_is_a_set, and here a client may be drawn twice" in apart
    assert read_rounds(fast, Mixture([EVERYONE, Uniform(2)], ["1/2", "1/2"])).sets


def test_nobody_may_take_part_in_no_round_of_a_cohort() -> None:
    """Without participants F does not fall, whatever is said of cohorts with some; clients' paths are as ever."""
    nobody = Bernoulli(["0", "0"])
    for process in (Incomplete(nobody, []), nobody):
        rounds = read_rounds(KNOWN["fast"][0], process)
        assert list(strange(nonconvex(), rounds)) == [
            "it is about as many clients in every round, and here nobody may take part"
        ]
    assert list(strange(of_fedau.local_drift(), replace(rounds, kinds=("weighted",), chance=""))) == []


def test_a_kind_by_another_quantity() -> None:
    """All rounds are the server's where the clients' have probability 0, by the algorithm's own letter for it."""
    (remark,) = [d for d in COMPOSED if d.proves == ("safari.rem5.b@main",)]
    own = remark.origin.check(claim("safari.rem5.b@main"), "safari", lambda *_: read_rounds(*KNOWN["safari"]))
    assert not list(own.apart()) and own.bound is not None
    other = Rounds(("arbitrary", "server"), "snapshot_probability")
    assert "all its rounds are server, which is no hypothesis" in " ".join(
        replace(own.goal, rounds=other).differences(own.bound)
    )
    assert list(strange(server_descent(), Rounds(("server",)))) == []


def test_an_objective_that_is_left_open_is_any_mean() -> None:
    """The clients' gradients are within delta of the plain mean's, and not of any mean's."""
    where = of_fedau.region(steps=(of_fedau._FREE_LOCAL, of_fedau._FREE_GLOBAL))
    axioms = Axioms(where, of_fedau.eta, of_fedau.n, "start")
    near = claim("fedau.lemmaB_3_1")
    false = replace(near, id="mine.thm", terms=(Term("all", near.right_side / 4),), letters={})

    def paper(plain: bool) -> Paper:
        within = partial(axioms.dissimilar, START_POINT, of_fedau.d**2)
        make = partial(of_fedau._of_round, within, "weighted_divergence", plain=plain)
        assert not plain or make().bound == of_fedau.RUNS["d"] ** 2
        origin = MadeBound(make, of_fedau._LETTERS, "weighted_divergence", of_rounds=True)
        return Paper("mine", "", algorithm="fedau", claims=(false,),
                     derivations=(origin.derivation("mine", ("mine.thm@main",)),))  # fmt: skip

    (error,) = symbols("weight_error")
    spoken = replace(false, hypotheses=(*near.hypotheses, Hypothesis("spoken_of", Le(error, 10**9), "")))
    for this in (false, spoken):
        assert prove(this, replace(paper(True), claims=(this,))).verdict == "unknown"
    with pytest.raises(ValueError, match="known of the plain mean"):
        of_fedau._of_round(lambda: axioms.dissimilar(START_POINT, of_fedau.d**2), "weighted_divergence")


def test_a_step_size_that_changes_is_not_one_size() -> None:
    eta, index = symbols("local_lr", "round_index")
    this = claim("fast.thm1@sharper")
    K, L = symbols("local_steps", "smoothness")
    others = tuple(h for h in this.hypotheses if not h.relation.has(eta))
    size = (1 + index) / (2 + index) / (8 * L * K)  # between the half and the whole cap
    terms = (Term("all", 1000 * this.right_side.subs(eta, 1 / (8 * L * K))),)
    changing = replace(this, choices={"local_lr": size}, terms=terms, hypotheses=others)
    found = [d for d in library().fitting(changing) if d.origin is not None]
    assert algorithm_of(changing) == "fast" and found
    chain = prove(changing)
    assert chain.verdict == "unknown" and chain.first_open.step.name == "claim.composed"
