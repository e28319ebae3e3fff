"""Ways to have a false theorem called `proved` through what anybody may write: readers, letters, regions, checks and
derivations of one's own. Each of these was `proved`, or read as if it were true, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sympy

from fedtheory.claims.statement import Claim, Term
from fedtheory.papers import claim
from fedtheory.papers.fast.proofs.kinds_of_round import LETTERS
from fedtheory.papers.fast.proofs.thm1_thm2 import PERIODS, nonconvex
from fedtheory.papers.fedau.proofs import thm1_thm2 as weighted
from fedtheory.papers.fedau.proofs import thm3 as law
from fedtheory.papers.fedau.proofs.thm3 import C, a, p, q
from fedtheory.papers.flics.proofs import thm1 as answered
from fedtheory.papers.paper import Paper
from fedtheory.papers.proofs import chain, proof_of
from fedtheory.proof.chains import GOAL
from fedtheory.proof.claim_goals import theorem_of
from fedtheory.proof.composition import Composed
from fedtheory.proof.derivations import Derivation, Origin
from fedtheory.proof.kernel.axioms import ITERATE, START_POINT
from fedtheory.proof.kernel.fixed_kinds import telescope_periods
from fedtheory.proof.kernel.forms import Form, square
from fedtheory.proof.kernel.interval_bounds import bound_every_error, bound_moment
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_bounds import bound_round
from fedtheory.proof.kernel.run_bounds import MEAN_GRADIENT
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.tactics import Square, of_runs, over_rounds, show
from fedtheory.proof.kernel.theorems import Multiples, Refused, Theorem, combine, instantiate
from fedtheory.proof.kernel.weighted_run_bounds import EXPECTED_SCALE, telescope_weights
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.steps import Finding, Step
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.proof.verdict_word import is_of_kernel
from fedtheory.quantities import symbols

Make = Callable[[], Theorem]


def reader(make: Make, of: type[MadeBound] | None = None) -> MadeBound:
    """A bound on runs from every round, read by a class."""
    letters = LETTERS | of_runs(MEAN_GRADIENT)
    return (of or MadeBound)(lambda: over_rounds(make(), MEAN_GRADIENT), letters, MEAN_GRADIENT, of_rounds=True)


def verdict(this: Claim, right_side: sympy.Expr, origin: Origin, *, step: Step | None = None,
            derivation: Derivation | None = None, **changed: Any) -> str:  # fmt: skip
    """Of this claim with another right side, in a paper of one's own whose theorem has this origin, and which has a
    printed proof by a step."""
    own = replace(this, id="mine.thm", edition="main", terms=(Term("all", right_side),), letters={}, **changed)
    steps = () if step is None else (replace(step, paper="mine"),)
    shown = derivation or origin.derivation("mine", (own.ref,))
    covered = {a.name: a.options for a in own.ambiguities}
    printed = (PrintedProof("mine", (own.ref,), tuple(s.name for s in steps), covered),) if steps else ()
    paper = Paper("mine", "", algorithm=this.paper, claims=(own,), steps=steps, derivations=(shown,),
                  printed_proofs=printed)  # fmt: skip
    found = proof_of(own, paper)
    return found.verdict if found and found.source and found.source.name == "mine" else "unproved"


# A theorem about one cutoff is about no other ------------------------------------------------------------------------

chance, cutoff = symbols("participation_probability", "cutoff")
COUNT, CHANCE, TAIL = Condition("C", "count"), Condition("p", "capped", law._one), law._TAIL


def put(make: Make, values: dict[str, Scalar], *conditions: Condition) -> Make:
    return lambda: instantiate(make(), values, Where(law.RING, conditions))


OTHER_LETTERS: dict[str, tuple[dict[str, Scalar], tuple[Condition, ...], str, sympy.Expr]] = {
    "0 for q^C": ({"a": 0 * p}, (COUNT, CHANCE), "negated_interval_mean", -1 / chance),
    "q for q^C": ({"a": q}, (COUNT, CHANCE), "interval_variance", 0 * chance),
    "1 for C": ({"C": law._one}, (TAIL, CHANCE), "negated_interval_variance", ((1 - (1 - chance) ** cutoff) ** 2
                 - (2 - chance - (1 - chance) ** cutoff * (2 + chance))) / chance**2),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHER_LETTERS)
def test_a_theorem_about_one_cutoff(what: str) -> None:
    values, conditions, bounded, _ = OTHER_LETTERS[what]
    first, second = (put(make, values, *conditions) for make in (law.length, law.squared_length))
    with pytest.raises(ValueError, match=r"letters of their own|allowed is"):
        bound_moment(bounded, first(), second(), law.WIDE)


def test_these_are_false() -> None:
    """Of p = 1/2 and C = 2 the mean is 3/2 and the variance 1/4."""
    at = {chance: sympy.Rational(1, 2), cutoff: 2}
    mean, variance = (claim(f"fedau.lemmaB_6_1.{part}").right_side.subs(at) for part in ("mean", "variance"))
    assert (mean, variance) == (sympy.Rational(3, 2), sympy.Rational(1, 4))
    below, none, other = (false.subs(at) for *_, false in OTHER_LETTERS.values())
    assert -mean > below and variance > none and -variance > other


def test_a_history_that_is_the_cutoffs_own() -> None:
    """Of t = C - 1 alone, and with q^C for q^t."""
    early = Where(law.RING, (TAIL, Condition("C", "at_least", law._one * 2), law._CHANCE))
    last = lambda: instantiate(law.early(), {"t": C - 1, "b": a}, early)  # noqa: E731
    with pytest.raises(ValueError):
        bound_every_error(law.late(), last(), law.WIDE)


def test_a_theorem_for_long_cutoffs_alone() -> None:
    far = Where(law.RING, tuple(Condition("C", "at_least", law.t + 9) if c.name == "C" else c
                                for c in law.FROM_1.conditions))  # fmt: skip
    with pytest.raises(Refused, match="of no rounds that have a name"):
        bound_every_error(law.late(), combine([(law.early(), 1)], where=far, context="run"), law.WIDE)


# Means over the rounds are put in for what is every round's own ------------------------------------------------------

E, Q, c, L, K, n = weighted.E, weighted.Q, weighted.c, weighted.L, weighted.K, weighted.n
_BY_SCALE = weighted.region(steps=(weighted._LOCAL, Condition("c", "capped", n / (54 * L * K * (n + Q)))))


def _under_the_scale() -> Theorem:
    bounded = (weighted.ROUNDS.bounded_gradient(weighted.G**2), c * K * E * 81 / 16)
    return weighted._falling(weighted.descent(True), _BY_SCALE, weighted._one / 8, bounded)


MEANS: dict[str, Callable[[], Theorem]] = {
    "a cap on every round's scale, for the mean": weighted.bounded,
    "a cap on a step by every round's scale": _under_the_scale,
    "half of the mean, twice": lambda: combine(
        [(instantiate(weighted.bounded_corrected(), {"E": 2 * E}, weighted.WHERE), 1)],
        where=weighted.WHERE, context="start", constant=E**2),
}  # fmt: skip


@pytest.mark.parametrize("what", MEANS)
def test_a_mean_over_the_rounds_is_no_rounds_own(what: str) -> None:
    with pytest.raises(ValueError, match=r"a condition on every round's|every round's own|letters of their own"):
        telescope_weights(MEANS[what](), weighted.RUNS, "R", "gap", EXPECTED_SCALE)


def test_what_is_linear_in_the_mean_may_have_it() -> None:
    made = telescope_weights(weighted.bounded_corrected(), weighted.RUNS, "R", "gap", EXPECTED_SCALE)
    assert dict(made.parameters)[EXPECTED_SCALE] == weighted.RUNS["Q"] and "Q" in made.bound.names


@pytest.mark.parametrize("ref", ["fedau.thm2@main", "fedau.thm2@corrected"])
def test_a_mean_is_read_as_it_is_shown(ref: str) -> None:
    """By default the mean over the rounds is over x_1, ..., x_R, and whose weights they are is open."""
    this = claim(ref)
    for kept in ((), this.ambiguities[1:], this.ambiguities[:1]):
        found = proof_of(replace(this, ambiguities=kept))
        assert (found is not None) == (kept == this.ambiguities)


# What is said of every step, or of every round, is said of none ------------------------------------------------------


def _by_step() -> Theorem:
    """|grad F_i(x_{i,k}) - grad F(x)|^2 <= 2 L^2 k^2 eta^2 G^2 + 2 sigma_G^2, with S for sigma_G."""
    L, k, eta, G, S = (answered.RING[name] for name in ("L", "k", "eta", "G", "S"))
    axioms, answers, own = answered.AXIOMS, answered.ANSWERS, answered._along
    goal = Form.constant(2 * L**2 * k**2 * eta**2 * G**2 + 2 * S**2) - square(own - answered._g)
    premises: Multiples = [
        (axioms.smooth(ITERATE, START_POINT, L), 2), (answers.path(G**2), 2 * L**2),
        (axioms.dissimilar(START_POINT, S**2), 2),
    ]  # fmt: skip
    squares: list[Square] = [(own - answered._g0 * 2 + answered._g, "", answered._one)]
    return show(goal, premises, where=answered.FREE, context="start", squares=squares)


def test_a_bound_by_the_step_is_none_of_all_steps() -> None:
    """With 0 for it the bound would be one for the first step alone."""
    ring = Ring(" ".join([*answered.RING.names, "slope", "R"]))
    with pytest.raises(Refused, match="free of the step"):
        bound_round(_by_step(), ring, "local_gradient_error", ("slope", "R"), plain=True)


# Of rounds that are snapshots, or are none ---------------------------------------------------------------------------


def _where_snapshots_are_many() -> Theorem:
    """Under eta <= (1 + q)/(16 L K), which is half as much for a round that is no snapshot; what is added then is less
    from there on."""
    theorem = nonconvex()
    ring = theorem.where.ring
    eta, L, K, q, sigma = (ring[name] for name in ("eta", "L", "K", "q", "sigma"))
    cap = Condition("eta", "capped", (1 + q) / (16 * L * K))
    where = Where(ring, (cap, *(c for c in theorem.where.conditions if c.name != "eta")))
    many = (1 + q - 16 * L * K * eta) * (1 - q) * sigma**2 * 1000
    return combine([(theorem, 1)], where=where, context="start", constant=many)


def test_a_need_is_every_rounds() -> None:
    """A cap by the share of snapshots is none of a round that is no snapshot."""
    with pytest.raises(Refused, match="in the same region"):
        telescope_periods(_where_snapshots_are_many(), PERIODS, "R", "start", "I")


# Right sides, checks and derivations of one's own --------------------------------------------------------------------

FALLS = claim("fast.thm1@sharper")


class Half(MadeBound):
    """A reader that says twice as much of a claim as it says."""

    def check(self, claim: Claim, *others: Any) -> Any:
        return super().check(replace(claim, terms=(Term("all", 2 * claim.right_side),)), *others)


class Sure(Composed):
    """A check that is equal to all others, takes nothing and finds everything proved."""

    assumes = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def certified(self) -> Finding:
        return Finding("proved", ("",))

    decide = certified


class Alike(Derivation):
    """A derivation that is equal to all others."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Two:
    """Makes one theorem when it is first asked for one, and another one later."""

    def __init__(self, *makes: Make) -> None:
        self.makes = list(makes)

    def __call__(self) -> Theorem:
        return (self.makes.pop(0) if len(self.makes) > 1 else self.makes[0])()


def test_an_honest_reader_proves_it() -> None:
    assert verdict(FALLS, FALLS.right_side, reader(nonconvex)) == "proved"


def test_a_reader_of_ones_own_reads_nothing() -> None:
    assert verdict(FALLS, FALLS.right_side / 2, reader(nonconvex, Half)) == "unproved"


class Anything(MadeBound):
    """A reader that says that any claim is the theorem of another one."""

    def of_claim(self, claim: Claim, *_: Any) -> Any:
        return _for(claim)


def _for(this: Claim) -> Any:
    """A theorem of the kernel on whole runs, with its certificate, which is said to be another claim's."""
    (honest,) = (check for d in chain(FALLS.ref).decisions if d.step.name == GOAL for check in d.step.checks)
    honest.certified()
    false = replace(honest, claim=this)
    false.__dict__.update(honest.__dict__ | {"claim": this})
    return false


@pytest.mark.parametrize("where", ["class", "instance"])
def test_a_theorem_on_runs_of_ones_own_proves_nothing(where: str) -> None:
    origin = reader(nonconvex, Anything if where == "class" else None)
    if where == "instance":
        for name in ("of_claim", "check"):
            object.__setattr__(origin, name, lambda claim, *_: _for(claim))
    assert _for(FALLS).certified().outcome == "proved"
    assert verdict(FALLS, FALLS.right_side / 2, origin) == "unproved"


def test_a_check_of_ones_own_checks_nothing() -> None:
    """Beside a theorem, or in its place."""
    sure = Step("mine.step", "", "", "composed", (Sure(nonconvex),))
    less = tuple(each for each in FALLS.assumptions if each.kind != "uncorrelated_noise")
    origin = reader(nonconvex)
    assert verdict(FALLS, FALLS.right_side, origin, step=sure, assumptions=less) == "unproved"


def test_a_derivation_of_ones_own_says_nothing() -> None:
    origin = reader(nonconvex)
    alike = Alike("mine", MEAN_GRADIENT, (), origin)
    assert verdict(FALLS, FALLS.right_side / 2, origin, derivation=alike) == "unproved"
    assert not is_of_kernel(alike.of("fast"))


def test_what_is_read_is_what_is_checked() -> None:
    """Else the assumptions of one theorem are those of another one."""
    origin = reader(Two(nonconvex, weighted.bounded))
    assert theorem_of(origin.bound) is theorem_of(origin.make()) is nonconvex()


def test_a_theorem_is_not_changed() -> None:
    theorem = nonconvex()
    for changed in ({"form": theorem.form * 2}, {"assumptions": frozenset()}, {"where": Where(theorem.where.ring, ())}):
        with pytest.raises(Refused, match="by the rules of the kernel alone"):
            replace(theorem, **changed)
