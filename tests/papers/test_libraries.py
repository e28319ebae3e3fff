"""A paper's own library proves its statements as the library of all papers does, and imports no paper besides."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fedtheory.claims.statement import OF_RUNS, algorithm_of
from fedtheory.papers import Paper, built_in, claim
from fedtheory.papers.proofs import _library_for, library, library_of
from fedtheory.proof.printed_proof import PrintedProof


def differences(paper: Paper) -> list[str]:
    """The claims of which the paper's library has other theorems, steps or rounds than that of all papers."""
    own, whole, wrong = library_of(paper), library(), []
    for each in paper.claims:
        mine, all_of_them = own.nearest(each), whole.nearest(each)
        same = [source.name for source in mine] == [source.name for source in all_of_them]
        shown = [source for source in mine if isinstance(source, PrintedProof)]
        same = same and all(own.needed(p.steps) == whole.needed(p.steps) for p in shown)
        same = same and all(own.step(n) is whole.step(n) for p in shown for n in own.needed(p.steps))
        algorithm = algorithm_of(each, paper.algorithm)
        if each.functional.scope in OF_RUNS and algorithm:
            same = same and own.rounds(each, algorithm) == whole.rounds(each, algorithm)
        wrong += [] if same else [each.ref]
    return wrong


@pytest.mark.parametrize("name", built_in())
def test_a_papers_library_proves_what_the_whole_one_does(name: str) -> None:
    assert not differences(built_in()[name])


@pytest.mark.parametrize("name", [name for name, paper in built_in().items() if paper.rests_on])
def test_without_a_paper_that_it_rests_on_steps_are_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = built_in()[name]
    monkeypatch.setitem(paper.__dict__, "rests_on", ())
    with pytest.raises(ValueError, match="unknown step"):
        differences(paper)


def test_only_a_papers_own_statements_are_put_to_its_library() -> None:
    printed = claim("fast.lemma1")
    assert _library_for(printed, None) is library_of(built_in()["fast"]) is not library()
    assert _library_for(printed.edited("main", "another title"), None) is library()


def test_a_proof_imports_no_paper_that_it_does_not_rest_on() -> None:
    program = (
        "import sys; from fedtheory.cli.statuses import run; assert run(['prove', 'fast.lemma2', '--json']) == 0;"
        "print(sorted({name.split('.')[2] for name in sys.modules if name.startswith('fedtheory.papers.')"
        " and '.proofs.' in name}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "['fast']", done.stderr
