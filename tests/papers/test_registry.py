"""Papers are found in folders, under entry points and in files; one that is broken keeps no other from being used."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import sympy

from fedtheory.claims.statement import Claim, Term, algorithm_of
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, LINEARIZATION_ERROR, SQUARED_MOVEMENT, WEIGHTED_INCREASE
from fedtheory.papers import all_claims, claim, load, paper, papers, registry
from fedtheory.papers.index import listed
from fedtheory.papers.paper import Paper, PaperError
from fedtheory.papers.proofs import library_with, prove, sentence
from fedtheory.proof.chains import decided_by
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.write import given
from fedtheory.quantities import symbol, symbols

L, displacement = symbols("smoothness", "displacement")
WITHOUT_STEPS = ("khaled2020",)
"""Papers all of whose claims are theorems of the kernel, without a step of their own."""
BUILT_IN = [name for name, one in papers().items() if one.home.startswith("fedtheory.papers.")]
MINE = """
import sympy
from fedtheory.claims.statement import Assumption, Claim, Term
from fedtheory.functionals import LINEARIZATION_ERROR
from fedtheory.papers.paper import Paper
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.write import same
from fedtheory.quantities import symbols

L, d = symbols("smoothness", "displacement")
CLAIM = Claim(
    id="mine.thm1", title="Twice the quadratic model", source="mine, Theorem 1", functional=LINEARIZATION_ERROR,
    terms=(Term("curvature", L * d**2),), assumptions=(Assumption("smooth", "smoothness", "Assumption 1"),),
)
x = sympy.Symbol("x")
PAPER = Paper(
    name="mine", title="Mine", letters={"smoothness": r"\\ell"}, claims=(CLAIM,),
    steps=(same("mine.rounded", "(1)", "x + x = 2x", [(x + x, 2 * x)], rests_on=("lemma1.integral",)),),
    printed_proofs=(PrintedProof("twice Lemma 1", ("mine.thm1@main",), ("mine.rounded",)),),
)
"""


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch):
    """The registry with other entry points, which forgets what it has found before and after."""

    def with_points(*points: EntryPoint) -> None:
        monkeypatch.setattr(registry, "entry_points", lambda group: points)
        registry._found.cache_clear()
        registry._stated.cache_clear()

    yield with_points
    monkeypatch.undo()
    registry._found.cache_clear()
    registry._stated.cache_clear()


def package(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, **modules: str) -> EntryPoint:
    """A package of that name on the path, and the entry point that names its ``PAPER``."""
    home = folder / f"package_of_{name}"
    home.mkdir()
    for module, text in modules.items():
        (home / f"{'__init__' if module == 'init' else module}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    return EntryPoint(name, f"{home.name}:PAPER", registry.GROUP)


HEAD = "from fedtheory.papers.paper import Paper\nPAPER = Paper(name={name!r}, title='A title', home=__name__)\n"


def test_a_statement_keeps_letters_of_its_own() -> None:
    """Assumption 1 of SAFARI is about two laws, P in Theorem 3 and Q in Theorem 2, with letters for each."""
    letters = {c.ref: c.letters["noise_exponent"] for c in papers()["safari"].claims}
    assert letters["safari.thm2@main"] == r"\beta_Q"
    assert {letters[f"safari.{ref}"] for ref in ("thm3@main", "lemma2@corrected", "rem2.thm3@main")} == {r"\beta_P"}


def test_the_papers_of_the_folders() -> None:
    assert list(papers())[:4] == ["fast", "safari", "fedau", "flics"]
    for name, one in papers().items():
        assert one.name == name and one.title and one.folder.name == name
        assert paper(name) is one and repr(one) == f"Paper({name!r})"
        assert all(c.paper == name and c.letters.keys() == one.letters.keys() for c in one.claims)
        assert {s.paper for s in one.steps} == (set() if name in WITHOUT_STEPS else {name})
        assert {d.algorithm for d in one.derivations} == {one.algorithm}
    assert [c for one in papers().values() for c in one.claims] == list(all_claims())


def test_an_entry_point_is_a_paper_like_the_others(found, tmp_path, monkeypatch) -> None:
    text = MINE.replace("PAPER = ", "_ = ") + "CLAIMS = (CLAIM,)\n"
    found(package(tmp_path, "mine", monkeypatch, init=HEAD.format(name="mine"), statements=text))
    assert list(papers()) == [*BUILT_IN, "mine"]
    assert claim("mine.thm1").title == "Twice the quadratic model" and all_claims()[-1].ref == "mine.thm1@main"
    assert listed(paper("mine"), paper("mine").folder)[0]["claim"] == "mine.thm1@main"
    assert paper("mine").steps == () and paper("mine").counterexamples == {}
    with pytest.raises(ValueError, match=r"unknown claim 'mine\.thm2': did you mean 'mine\.thm1'"):
        claim("mine.thm2")


def test_a_paper_that_does_not_import_is_named_and_the_others_go_on(found, tmp_path, monkeypatch) -> None:
    found(package(tmp_path, "broken", monkeypatch, init="x = 1\ny = absent\n"))
    assert list(papers()) == BUILT_IN
    why = registry.failures()["broken"]
    assert why.endswith("__init__.py, line 2: NameError: name 'absent' is not defined")
    with pytest.raises(PaperError, match=r"paper 'broken' cannot be used: .*line 2: NameError"):
        claim("broken.thm1")
    with pytest.warns(UserWarning, match=r"paper 'broken' is left out: .*line 2"):
        assert {c.paper for c in all_claims()} == {*BUILT_IN}
    assert claim("fast.thm1").ref == "fast.thm1@main"


def test_statements_that_do_not_import_are_named(found, tmp_path, monkeypatch) -> None:
    bad = "import sympy\nCLAIMS = (\n"
    found(package(tmp_path, "half", monkeypatch, init=HEAD.format(name="half"), statements=bad))
    assert "half" in papers()
    with pytest.raises(PaperError, match=r"claim 'half\.thm1': .*statements\.py, line 2: SyntaxError"):
        claim("half.thm1")
    with pytest.warns(UserWarning, match="'half' is left out"):
        all_claims()


def test_two_papers_of_one_name(found, tmp_path, monkeypatch) -> None:
    found(package(tmp_path, "fast", monkeypatch, init=HEAD.format(name="fast")))
    assert paper_home("fast") == "fedtheory.papers.fast"
    assert "another paper is named 'fast': fedtheory.papers.fast" in registry.failures()["fast"]


def paper_home(name: str) -> str:
    return papers()[name].home


def test_what_is_no_paper(found) -> None:
    found(EntryPoint("odd", "math:pi", registry.GROUP))
    assert "PAPER = 3.14" in registry.failures()["odd"]


def test_claims_have_their_papers_name_and_one_ref() -> None:
    this = claim("fast.lemma1")
    with pytest.raises(PaperError, match=r"fast\.lemma1@main: allowed is a ref that begins with 'other'"):
        Paper("other", "Other", claims=(this,))
    with pytest.raises(PaperError, match="is there once"):
        Paper("fast", "FAST", claims=(this, this))


# A user's file.


def test_a_users_theorem_is_proved_with_the_lemmas_of_others(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    mine = load(path)
    (this,) = mine.claims
    assert prove(this, mine).verdict == "proved"  # what the kernel composes of Lemma 1 is tried first
    found = library_with(mine)
    chain = decided_by(this, found.printed_proof(this), found)
    assert [d.step.name for d in chain.open] == ["claim.joined"] and chain.verdict == "unknown"
    assert [d.step.name for d in chain.decisions][:4] == [
        "lemma1.path", "lemma1.integrand", "lemma1.integral", "mine.rounded",
    ]  # fmt: skip
    assert r"\ell" in this.latex() and "mine" not in papers()
    half = this.edited("main", "", terms={"curvature": L * displacement**2 / 4})
    lost = prove(half, mine)
    assert lost.outcome == "unknown" and "claimed - derived = -1/4*L" in sentence(lost.first_open, mine)


def test_a_file_with_a_claim_and_steps_is_a_paper(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE.replace("PAPER = ", "_ = ") + "\nSTEPS = _.steps\n")
    mine = load(path)
    assert (mine.name, len(mine.claims), len(mine.steps), mine.algorithm) == ("mine", 1, 1, "")
    example = load(Path(__file__).parents[2] / "docs" / "referee" / "my_theorem.py")
    assert (example.name, example.algorithm) == ("example", "fast") and example.letters == paper("fast").letters
    assert {step.paper for step in example.steps} == {"example"}


def test_files_that_state_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    for text, message in (
        ("x = 1\nraise OSError('full')", r"mine\.py, line 2: OSError: full; the theorem's state is unknown"),
        ("x = (", r"mine\.py, line 1: SyntaxError"),
        ("x = 1", "neither CLAIM nor PAPER is there"),
        ("PAPER = 1", "PAPER = 1: allowed is"),
    ):
        path.write_text(text)
        with pytest.raises(PaperError, match=message):
            load(path)
    with pytest.raises(PaperError, match="no such file"):
        load(tmp_path / "absent.py")


def test_names_of_steps_are_one_papers() -> None:
    twice = Paper("mine", "Mine", steps=(given("lemma2", "", ""),), claims=())
    with pytest.raises(ValueError, match=r"step 'lemma2': its name occurs twice, in fast and mine"):
        library_with(twice)


# Whose runs.


def test_the_algorithm_of_a_claim() -> None:
    server, snapshots, both = map(symbol, ("server_lr", "snapshot_probability", "global_lr"))

    def of(expression: sympy.Expr, functional=SQUARED_MOVEMENT) -> Claim:
        return Claim(id="mine.thm1", title="", source="", functional=functional, terms=(Term("only", expression),))

    assert algorithm_of(of(server)) == "safari" and algorithm_of(of(snapshots)) == "fast"
    assert algorithm_of(of(server * snapshots)) is None and algorithm_of(of(server), "fast") is None
    assert algorithm_of(of(L)) is None and algorithm_of(of(L), "fedau") == "fedau"
    assert algorithm_of(of(both)) is None and algorithm_of(of(both), "flics") == "flics"
    assert algorithm_of(of(L, WEIGHTED_INCREASE)) == "fedau" and algorithm_of(of(L, WEIGHTED_INCREASE), "fast") is None
    assert LINEARIZATION_ERROR.algorithm == AVERAGE_SQUARED_GRADIENT.algorithm == ""


def test_misspelt_readings_are_refused() -> None:
    condition = claim("fast.thm1").hypothesis("q_condition")
    with pytest.raises(ValueError, match="q-condition = 'prodct': allowed is 'quotient'"):
        condition.under({"q-condition": "prodct"})
    with pytest.raises(ValueError, match="snapshots = 'perid': allowed is 'period' or 'probability'"):
        PrintedProof("mine", (), (), {"snapshots": "perid"})
