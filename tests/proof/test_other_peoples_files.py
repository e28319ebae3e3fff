"""Words that a file of somebody else's may not earn: by an expression that says nothing, under a name that is taken, by
steps whose order is only declared, or from hypotheses that nothing meets. Where a check alone stands in the way, a test
takes it out and sees the word come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import sympy
from sympy import Ge, Le, Rational, exp, sqrt

from fedtheory import functionals
from fedtheory.claims import readings
from fedtheory.claims.statement import Ambiguity, Claim, Hypothesis, Term
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE, Functional, of_values
from fedtheory.own import define
from fedtheory.papers import added, claim
from fedtheory.papers import proofs as module
from fedtheory.papers.paper import Paper, PaperError
from fedtheory.papers.proofs import library, library_with, proof_of, prove
from fedtheory.papers.registry import subject_of
from fedtheory.proof import chains, checker
from fedtheory.proof.claim_goals import Goal, claim_data
from fedtheory.proof.claim_theorems import ClaimTheorem
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.kernel.number_bounds import value
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import Definition, RunBound, enlarge, restrict, weaken
from fedtheory.proof.kernel.run_bounds import define as define_log
from fedtheory.proof.kernel.saved_claims import digest, saved_claim
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.sealed import Refused
from fedtheory.proof.library import Library
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.steps import Identity, Step
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.quantities import LENGTH, Quantity, symbols

ONE = Step("mine.one", "(1)", "1 = 1", "identity", (Identity(sympy.Integer(1), sympy.Integer(1)),))
FAST = claim("fast.thm2@sharp")
L, mu, q, K, M, n, R, eta, gap, distance = symbols(
    "smoothness", "strong_convexity", "snapshot_probability", "local_steps", "clients", "arbitrary_cohort", "rounds",
    "local_lr", "initial_gap", "initial_distance",
)  # fmt: skip


def mine(of: Claim = FAST, **changes: Any) -> Claim:
    return replace(of, id="mine.thm", edition="main", **changes)


def paper(this: Claim, *steps: Step) -> Paper:
    """A paper of one's own with one claim, and a printed proof of it by these steps."""
    covered = {a.name: a.options for a in this.ambiguities}
    by = PrintedProof("mine", (this.ref,), tuple(s.name for s in steps) or ("mine.one",), covered)
    return Paper("mine", "Mine", algorithm="fast", claims=(this,), steps=steps or (ONE,), printed_proofs=(by,))


def by_number(this: Claim, bound: Callable[[], RunBound], letters: Mapping[str, str], **more: str) -> Paper:
    """A paper of one's own with one claim on numbers, and a bound of the kernel for it."""
    made = MadeBound(bound, letters, this.functional.name, more)
    return Paper("mine", "Mine", claims=(this,), derivations=(made.derivation("mine", (this.ref,)),))


def word(this: Claim, its: Paper | None = None) -> str:
    """What is proved of it, or "open"."""
    found = proof_of(this, its or Paper("mine", "Mine", algorithm="fast", claims=(this,)))
    return "open" if found is None else found.verdict


# An expression says nothing of runs ---------------------------------------------------------------------------------

CHANCE = Ring("q")


def one() -> RunBound:
    """q <= 1."""
    number = CHANCE.number(1)
    return weaken(value(Where(CHANCE, (Condition("q", "interval", number),)), CHANCE["q"]), number)


def nought() -> RunBound:
    """0 <= 0."""
    return value(Where(CHANCE, ()), CHANCE.number(0))


@pytest.mark.parametrize("scope", [scope for scope in functionals.SCOPES if scope != "values"])
@pytest.mark.parametrize("name", ["average_squared_gradient", "my_error"])
def test_an_expression_is_no_left_side_but_of_values(scope: str, name: str) -> None:
    """ "0 <= 0" shows nothing of what is named and meant."""
    copied = replace(AVERAGE_SQUARED_GRADIENT, name=name, scope=scope, expression=sympy.Integer(0))
    if (name, scope) == ("average_squared_gradient", "round"):
        with pytest.raises(PaperError, match="another scope than the built-in 'average_squared_gradient'"):
            word(mine(functional=copied), paper(mine(functional=copied)))
    if name == "my_error" or scope == "run":
        this = mine(functional=copied, terms=(Term("nothing", gap * 0),), hypotheses=(), assumptions=(), ambiguities=())
        assert word(this, by_number(this, nought, {"q": "snapshot_probability"})) == "open"


def test_an_inequality_between_numbers_is_proved_by_a_bound_on_numbers() -> None:
    letters = {"q": "snapshot_probability"}
    this = mine(functional=of_values("my_value", "q", q, "q"), terms=(Term("one", sympy.Integer(1)),), hypotheses=(),
                assumptions=(), ambiguities=())  # fmt: skip
    assert word(this, by_number(this, one, letters)) == "proved"
    half = replace(this, terms=(Term("half", Rational(1, 2)),))
    assert word(half, by_number(half, one, letters)) == "open"
    computed = replace(this, functional=replace(this.functional, compute=lambda asked: 2))
    assert word(computed, by_number(computed, one, letters)) == "open"
    assert word(this, paper(this)) == "open"


# Names that are taken ------------------------------------------------------------------------------------------------


def test_what_a_compute_gives_is_another_left_side() -> None:
    """A million at R = 12345, under the name of the error."""
    other = replace(FINAL_SQUARED_DISTANCE, compute=lambda asked: 10**6 * (asked.rounds == 12345))
    assert other != FINAL_SQUARED_DISTANCE
    about = [d for d in library().derivations if d.functional == FINAL_SQUARED_DISTANCE.name]
    assert about and all(d.bounds(FINAL_SQUARED_DISTANCE) and not d.bounds(other) for d in about)
    named = mine(functional=replace(other, name="my_error"))
    assert word(named) == "open"


def test_a_name_alone_would_prove_another_left_side(monkeypatch) -> None:
    """With names compared instead of what stands behind them."""
    other = mine(functional=replace(FINAL_SQUARED_DISTANCE, compute=lambda asked: 10**6 * (asked.rounds == 12345)))
    monkeypatch.setattr(module, "check_own_names", lambda paper: None)
    assert word(other) == "open"
    monkeypatch.setattr(Derivation, "bounds", lambda self, functional: functional.name == self.functional)
    assert word(replace(other, title="again")) == "open"  # the goal compares what stands behind them too
    own = Goal.differences

    def but_the_functional(goal: Goal, bound: RunBound) -> Iterator[str]:
        return (each for each in own(goal, bound) if not each.startswith("it bounds"))

    monkeypatch.setattr(Goal, "differences", but_the_functional)
    assert word(replace(other, title="once more")) == "proved"  # not one that was decided before


@pytest.mark.parametrize(
    "change",
    [{"compute": lambda asked: 0}, {"average": True}, {"meaning": "0"}, {"scope": "values", "expression": q},
     {"observable": "gap"}, {"objective": "implied"}],
)  # fmt: skip
def test_a_functional_with_the_name_of_another(change: dict[str, Any]) -> None:
    this = mine(functional=replace(FINAL_SQUARED_DISTANCE, **change))
    own = r"mine\.thm@main: its functional 'final_squared_distance' has another"
    both = rf"{own} .*{next(iter(change))}.* than the built-in 'final_squared_distance'"
    with pytest.raises(PaperError, match=both):
        word(this)
    with pytest.raises(PaperError, match=both), added(paper(this)):
        pass


@dataclass(frozen=True)
class Renamed:
    """The subject of another claim, under a name; drawn by ``drawn``, if that is given."""

    of: Claim
    name: str
    drawn: Claim | None = None

    def space(self, this: Claim) -> Any:
        shown = self.drawn or self.of
        return subject_of(shown).space(shown)

    def parse(self, data: Mapping[str, Any], this: Claim) -> Any:
        return subject_of(self.of).parse(data, this)

    def runs_as(self, this: Claim) -> Any:
        return subject_of(self.of).runs_as(self.of)


LOCAL = claim("khaled2020.thm1@main")


def said_of(name: str, of: Claim, **subject: Any) -> tuple[Claim, Paper]:
    """A theorem, said of an algorithm of this name, in a paper that says that its runs are local SGD's."""
    this = mine(of, algorithm=name, letters={})
    known = next(d for d in library().derivations if of.ref in d.proves)
    origin, subjects = known.origin, {name: Renamed(LOCAL, name, **subject)}
    assert isinstance(origin, MadeBound)
    shown = origin.derivation("mine", (this.ref,))
    return this, Paper("mine", "", algorithm=name, claims=(this,), derivations=(shown,), subjects=subjects)


@pytest.mark.parametrize("name", ["fast", "safari", "local_sgd", "fedavg_decaying", "values", "selection"])
def test_an_algorithm_or_a_subject_with_the_name_of_another(name: str) -> None:
    this, its = said_of("mine_sgd", LOCAL)
    its = replace_subjects(its, {name: Renamed(LOCAL, name)})
    with pytest.raises(PaperError, match=f"paper 'mine': its subject '{name}' would be another one than that of "):
        word(this, its)
    with pytest.raises(PaperError, match="would be another one"), added(its):
        pass


def replace_subjects(its: Paper, subjects: Mapping[str, Any]) -> Paper:
    return Paper(
        "mine", "", algorithm=its.algorithm, claims=its.claims, steps=its.steps, derivations=(), subjects=subjects
    )


def test_an_algorithm_is_what_its_examples_are(monkeypatch) -> None:
    """A subject says that its rounds are local SGD's, and draws FAST's. Nothing then says what its rounds are."""
    this, its = said_of("mine_sgd", LOCAL)
    own = library_with(its).rounds(this, this.algorithm)
    this, lying = said_of("mine_sgd", LOCAL, drawn=FAST)
    with pytest.raises(ValueError, match="and examples have others"):
        library_with(lying).rounds(this, this.algorithm)
    monkeypatch.setattr(module, "_check_examples", lambda *arguments: None)
    assert library_with(lying).rounds(this, this.algorithm) == own


def test_a_bound_of_the_kernel_is_of_an_algorithm_that_the_checker_knows() -> None:
    """Local SGD under another name: the checker, which reads the claim from its text alone, knows none of that name."""
    this, its = said_of("mine_sgd", LOCAL)
    with pytest.raises(checker.Wrong, match="claim: algorithm = 'mine_sgd': allowed is one of"):
        checker.check(checker.read(theorem_said_of(this, its).text()))
    assert word(this, its) == "open"


def theorem_said_of(this: Claim, its: Paper) -> ClaimTheorem:
    origin = its.derivations[0].origin
    assert isinstance(origin, MadeBound)
    rounds = library_with(its).rounds(this, this.algorithm)
    return ClaimTheorem(this, origin.make, tuple(origin.letters.items()), rounds, this.algorithm)


def test_a_paper_with_the_name_of_another() -> None:
    this = replace(FAST, edition="mine")
    with pytest.raises(PaperError, match=r"paper 'fast': another one has that name: fedtheory\.papers\.fast"):
        word(this, Paper("fast", "Mine", algorithm="local_sgd", claims=(this,)))


def test_a_quantity_with_the_name_of_another() -> None:
    for own in (
        Quantity("initial_distance", "|x_0|", LENGTH),
        Quantity("rounds", "R", LENGTH, compute=lambda asked: 1),
    ):
        with pytest.raises(ValueError, match=f"{own.name} is a quantity already: .*; allowed is another name"):
            define(own)


# Letters whose meaning changes on the way ----------------------------------------------------------------------------

NAMED = Ring("x l m")
(decrease,) = symbols("objective_decrease")


def renamed() -> RunBound:
    """x <= x for all x, with l = log 2 for x, and then log 3 for l in the right side alone."""
    bound = define_log(value(Where(NAMED, (Condition("x", "real"),)), NAMED["x"]), "l", NAMED.number(2))
    bound = restrict(bound, Where(NAMED, ()), {"x": NAMED["l"]})
    return enlarge(bound, "l", Definition("m", "log", NAMED.number(3)))


def line_of(rule: str, where: int, value: Any, bound: Any, definitions: Sequence[Any], **arguments: Any) -> dict:
    """A bound on a number in a file."""
    return {
        "rule": rule, "arguments": arguments, "functional": "value", "kind": "", "where": where, "given": [],
        "definitions": definitions, "assumptions": [], "parameters": {"value": value}, "bound": [bound],
    }  # fmt: skip


def test_no_letter_loses_its_meaning_where_a_parameter_has_it() -> None:
    """The number that is bounded would be l of which nothing is known: any quantity would be at most log 3."""
    with pytest.raises(Refused, match="l: allowed are letters of which the region says something"):
        renamed()
    x, low, high = ({"top": [[[int(at == i) for i in range(3)], "1"]], "bottom": ONE_AS_DATA} for at in range(3))
    two, three = ({"top": [[[0, 0, 0], n]], "bottom": ONE_AS_DATA} for n in "23")
    letters = {"l": "objective_decrease"}
    said = {
        "id": "mine.thm", "edition": "main", "source": "", "algorithm": "", "functional": "objective_decrease",
        "terms": {"one": "log(3)"}, "choices": {}, "hypotheses": {}, "assumptions": [], "readings": {},
    }  # fmt: skip
    file = {
        "format": checker.OF_CLAIM, "names": ["x", "l", "m"], "regions": [[["x", "real", None]], []], "theorems": [],
        "bounds": [
            line_of("value", 0, x, x, [], expression=x),
            line_of("define", 0, x, x, [["l", "log", two]], letter="l", of=two),
            line_of("restrict", 1, low, low, [["l", "log", two]], values={"x": low}),
            line_of("enlarge", 1, low, high, [["m", "log", three]], letter="l", name="m", sort="log", of=three),
        ],
        "letters": letters, "claim": said, "roots": [], "digest": digest(letters, said),
    }  # fmt: skip
    with pytest.raises(checker.Wrong, match="bound 3: a parameter by what nothing is said of"):
        checker.check(file)
    said["terms"] = {"one": "log(2)"}  # it is the checker's own rule that is missing: all else is as it should be
    file |= {"bounds": file["bounds"][:3], "digest": digest(letters, said)}
    with pytest.raises(checker.Wrong, match="no letter stands for 'objective_decrease'"):
        checker.check(file)


ONE_AS_DATA = [[[0, 0, 0], "1"]]


def test_a_claim_divides_by_what_its_own_text_divides_by() -> None:
    """b <= x for x > b, with x (x - b)/(x - b) for x in the file: x >= b is all that the claim says. One that is
    infinite at x = b says nothing there."""
    b = {"top": [[[0, 1], "1"]], "bottom": [[[0, 0], "1"]]}
    quotient = {"top": [[[2, 0], "1"], [[1, 1], "-1"]], "bottom": [[[1, 0], "1"], [[0, 1], "-1"]]}
    infinite = {"top": [*quotient["top"], [[0, 0], "1"]], "bottom": quotient["bottom"]}
    letters = {"x": "perturbation", "b": "displacement"}
    said = {
        "id": "mine.thm", "edition": "main", "source": "", "algorithm": "", "functional": "displacement",
        "terms": {"one": "perturbation"}, "choices": {}, "assumptions": [], "readings": {},
        "hypotheses": {"far": "perturbation >= displacement"},
    }  # fmt: skip
    file = {
        "format": checker.OF_CLAIM, "names": ["x", "b"], "theorems": [], "letters": letters, "claim": said,
        "regions": [[["x", "above", b], ["b", "real", None]]], "roots": [], "digest": digest(letters, said),
        "bounds": [
            line_of("value", 0, b, b, [], expression=b), line_of("weaken", 0, b, quotient, [], multipliers=[]),
        ],
    }  # fmt: skip
    with pytest.raises(checker.Wrong, match="claim: x: a condition that the claim does not make"):
        checker.check(file)
    said["terms"] = {"one": "perturbation", "other": "1/(perturbation - displacement)"}
    file["bounds"][1] = line_of("weaken", 0, b, infinite, [], multipliers=[])
    assert checker.check(file | {"digest": digest(letters, said)}) == 0  # no theorem on a round


def test_no_quantity_is_what_a_letter_is_defined_to_be() -> None:
    """E|x_R - x*|^2 <= perturbation |x_0 - x*|^2 + ..., as (1 - mu eta)^(K R) has a letter."""
    (other,) = symbols("perturbation")
    terms = [replace(t, expression=distance**2 * other) if t.name == "initial" else t for t in LOCAL.terms]
    this, known = mine(LOCAL, terms=tuple(terms)), next(d for d in library().derivations if LOCAL.ref in d.proves)
    assert isinstance(known.origin, MadeBound)
    origin = replace(known.origin, letters={**known.origin.letters, "power": "perturbation"})
    its = Paper("mine", "", algorithm="local_sgd", claims=(this,), derivations=(origin.derivation("m", (this.ref,)),))
    assert word(this, its) == "open"
    goal = origin.check(this, "local_sgd", library_with(its).rounds).goal
    assert list(goal.differences(origin.bound)) == ["power: defined, so that no quantity is what it stands for"]
    said = claim_data(this, {}, "local_sgd")
    with pytest.raises(checker.Wrong, match="no letter stands for 'perturbation'"):
        checker.check(checker.read(json.dumps(saved_claim(origin.bound, origin.letters, said))))


def test_a_left_side_that_is_read_in_two_ways_is_read_in_one() -> None:
    """q <= 1, and 5 q in the other reading, of which nothing is shown."""
    first, second = readings.OPTIONS[readings.ROOT]
    left = replace(of_values("my_value", "q", q, "q"), alternatives={second: 5 * q})
    this = mine(functional=left, terms=(Term("one", sympy.Integer(1)),), hypotheses=(), assumptions=(),
                ambiguities=(Ambiguity(readings.ROOT, (first, second), ""),))  # fmt: skip
    letters = {"q": "snapshot_probability"}
    assert word(this, by_number(this, one, letters)) == "open"
    assert word(this, by_number(this, one, letters, **{readings.ROOT: second})) == "open"
    assert word(this, by_number(this, one, letters, **{readings.ROOT: first})) == "proved"


def test_quantities_are_not_equal_by_one_of_several_readings() -> None:
    """a <= b where a = b, or where a <= 1, as the hypothesis is read."""
    first, second = readings.OPTIONS[readings.ROOT]
    ring, (a, b) = Ring("x y"), symbols("perturbation", "displacement")
    same = Hypothesis("same", Le((a - b) ** 2, 0), "", {second: Le(a, 1)})
    this = mine(functional=of_values("my_value", "a", a, "a"), terms=(Term("one", b),), hypotheses=(same,),
                assumptions=(), ambiguities=(Ambiguity(readings.ROOT, (first, second), ""),))  # fmt: skip
    letters = {"x": "perturbation", "y": "displacement"}
    made = lambda: value(Where(ring, (Condition("x", "nonnegative"),)), ring["x"])  # noqa: E731
    assert word(this, by_number(this, made, letters)) == "open"
    assert word(this, by_number(this, made, letters, **{readings.ROOT: second})) == "open"
    assert word(this, by_number(this, made, letters, **{readings.ROOT: first})) == "proved"


def test_a_symbol_of_another_making() -> None:
    with pytest.raises(ValueError, match="is a symbol of another making"):
        mine(
            functional=replace(
                of_values("v", "v", q, "v"), alternatives={"x": sympy.Symbol("rounds") * 0 + sympy.Symbol("rounds")}
            )
        )


# Steps that only their file joins ------------------------------------------------------------------------------------


def nothing() -> Claim:
    """E|x_R - x*|^2 <= 0."""
    return mine(terms=(Term("nothing", FAST.terms[0].expression * 0),))


def test_steps_of_ones_own_are_joined_by_nobody(monkeypatch) -> None:
    this = nothing()
    its = paper(this)
    assert word(this, its) == "open" and prove(this, its).first_open.step.name == "claim.joined"
    monkeypatch.setattr(Library, "vouches_for", lambda self, printed: True)
    assert word(this, its) == "steps decided"


def test_nor_are_steps_of_others() -> None:
    """Each holds; that they end in 0 is declared in the file."""
    this, known = nothing(), next(p for p in library().printed_proofs if p.lacks)
    by = replace(known, name="mine", claims=(this.ref,), readings={a.name: a.options for a in this.ambiguities})
    its = Paper("mine", "Mine", algorithm="fast", claims=(this,), steps=(), printed_proofs=(by,))
    assert word(this, its) == "open"


def test_a_step_has_no_name_of_those_that_tie_a_claim() -> None:
    this = nothing()
    with pytest.raises(ValueError, match=r"step 'claim\.one': allowed is a name that does not begin with 'claim\.'"):
        word(this, paper(this, replace(ONE, name="claim.one")))


class Lenient(Derivation):
    """A theorem of one's own kind, which bounds everything."""

    def bounds(self, functional: Functional) -> bool:
        return True


def test_a_derivation_of_ones_own_kind() -> None:
    this = nothing()
    known = next(d for d in library().derivations if FAST.ref in d.proves or d.functional == FAST.functional.name)
    by = Lenient(**{f: getattr(known, f) for f in Derivation.__dataclass_fields__})
    assert word(this, Paper("mine", "", algorithm="fast", claims=(this,), derivations=(by,))) == "open"


# Hypotheses that nothing meets ---------------------------------------------------------------------------------------

CONTRADICTORY: Sequence[tuple[Any, ...]] = (
    (Ge(q, 2),), (Ge(q, Rational(2, 3)), Le(q, Rational(1, 3))), (Ge(K, Rational(6, 5)), Le(K, Rational(9, 5))),
    (Ge(mu, 2 * L),), (Ge(n, M + 1),), (Le(gap, 0), Ge(distance, 1)), (Ge(R, 3), Le(R**2, 5)),
    (Ge(eta * L, 1), Le(eta, 1 / (3 * L))), (Le(exp(q), q / 2),), (Le(sqrt(L) + q + 1, sqrt(mu)),),
)  # fmt: skip


def under(of: Claim, relations: Sequence[Any]) -> Claim:
    more = (Hypothesis(f"more_{i}", relation, "") for i, relation in enumerate(relations))
    return mine(of, hypotheses=(*of.hypotheses, *more))


@pytest.mark.parametrize("relations", CONTRADICTORY, ids=str)
def test_from_contradictory_hypotheses_nothing_is_proved(relations: Sequence[Any], monkeypatch) -> None:
    """Whether that is known (most) or only that nothing is known that meets them (the last two)."""
    this = under(FAST, relations)
    assert word(this) == "open"
    opened = prove(this, Paper("mine", "", algorithm="fast", claims=(this,))).open
    assert any(decision.step.name == "claim.hypotheses" for decision in opened)
    monkeypatch.setattr(chains, "_met", lambda *arguments: iter(()))
    assert word(this) == "proved"


@pytest.mark.parametrize("ref", ["fast.lemma1@main", "fast.eq28@main", "fast.rem2.a@main", "flics.eq7.a@main"])
def test_by_no_route(ref: str) -> None:
    """The kernel's on runs, at points, and on numbers."""
    this = claim(ref)
    name = next(s for s in this.quantities)
    (x,) = symbols(name)
    again = replace(this, hypotheses=(*this.hypotheses, Hypothesis("low", Le(x + 1, x**2 / (1 + x**2)), "")))
    assert prove(this).outcome == "proved" and prove(again).outcome != "proved"


def test_under_a_reading_that_nothing_meets_nothing_is_proved(monkeypatch) -> None:
    """Which its proof covers, and no other."""
    options = readings.OPTIONS[readings.ROOT]
    low = Hypothesis("low", Le(eta, 1 / L), "", {options[1]: Le(eta, 1 / (4 * L))})
    curved = Hypothesis("curved", Le(mu, 1 + L), "", {options[1]: Ge(mu, 2 * L)})
    this = mine(
        functional=of_values("my_value", "L eta", L * eta, "L"),
        terms=(Term("half", Rational(1, 2)),),
        ambiguities=(Ambiguity(readings.ROOT, options, ""),),
        hypotheses=(low, curved),
        assumptions=(),
    )
    assert shown_read_otherwise(this) == "open"
    assert shown_read_otherwise(replace(this, hypotheses=(low,))) == "proved"
    monkeypatch.setattr(chains, "_met", lambda *arguments: iter(()))
    assert shown_read_otherwise(this) == "proved"


def shown_read_otherwise(this: Claim) -> str:
    """L eta <= 1/4 where eta <= 1/(4 L)."""
    ring = Ring("eta L")
    step, smoothness = ring.symbols
    where = Where(ring, (Condition("eta", "capped", 1 / (4 * smoothness)), Condition("L", "positive")))
    letters, other = {"eta": "local_lr", "L": "smoothness"}, {readings.ROOT: readings.OPTIONS[readings.ROOT][1]}
    made = lambda: weaken(value(where, smoothness * step), ring.number(1) / 2)  # noqa: E731
    return word(this, by_number(this, made, letters, **other))


def test_hypotheses_that_values_meet() -> None:
    """Though no short ones do."""
    for relations in ((Le(sqrt(L) + q, mu - 1), Le(mu, L / 2)), (Le(q**2, Rational(1, 2)), Ge(q, Rational(7, 10)))):
        assert word(under(FAST, relations)) == "proved"


@pytest.fixture(autouse=True)
def _no_paper_is_left() -> Iterator[None]:
    yield
    module._library.cache_clear()
