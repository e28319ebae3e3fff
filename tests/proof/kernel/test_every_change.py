"""Each proof that the kernel makes with every one of the changes of ``replayed``: a premise, a region, a coefficient, a
need, an index, one at a time. A change is refused; or leaves the theorem as it is; or gives another theorem, which the
independent checker accepts and which holds in every small model. Larger proofs take longer (``-m exhaustive``).

    python -m tests.proof.kernel.test_every_change NAME ...    says how many changes there are of each sort
"""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem

from .growing import Growing
from .published import ALL, NAMES, not_yet_run, proofs, rows
from .replayed import changes, lines, remade, stated

QUICK = ("safari.eq28", "safari.eq58", "safari.rem5.b", "fast.eq17")
TOO_LARGE = ("too many terms", "too large")
"""How the checker says that a proof is beyond its limits; what it says has to hold in the models all the same."""


def sorted_changes(name: str) -> tuple[Counter[str], list[tuple[int, str, str]]]:
    """How many changes are refused, make no difference, or give another theorem; and the survivors: those that make
    something that the checker rejects, or a theorem that fails in a model; each with its line and why."""
    theorem = proofs()[name].make()
    proof, made, file = lines(theorem), ancestry(theorem), Growing(theorem)
    regions = list(dict.fromkeys(line.where for line in proof))
    counts: Counter[str] = Counter()
    known: dict[str, bool] = {}
    survivors = []
    for i, line in enumerate(proof):
        for what, changed in changes(line, i, regions):
            fresh: list[Theorem] = []
            try:
                variant = remade(proof, made, i, changed, fresh)
            except ValueError:
                counts["refused"] += 1
                continue
            same = stated(variant) == stated(theorem)
            counts["the same theorem" if same else "another theorem"] += 1
            wrong = file.rejects(fresh)
            if any(limit in wrong for limit in TOO_LARGE):
                counts["too large for the checker"] += 1
                wrong = ""
            if not same and not _holds(variant, name, known):
                wrong = "fails in a model"
            if wrong:
                survivors.append((i, what, wrong))
    return counts + Counter({"other theorems, each once": len(known)}), survivors


def _holds(theorem: Theorem, name: str, known: dict[str, bool]) -> bool:
    """Whether a theorem holds in every model; each statement is evaluated once."""
    said = str(stated(theorem))
    if said not in known:
        known[said] = not proofs()[name].fails(theorem)
    return known[said]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in NAMES])
def test_no_change_survives(name: str) -> None:
    counts, survivors = sorted_changes(name)
    assert survivors == []
    assert counts["refused"] + counts["another theorem"] > counts["the same theorem"] / 2


def test_the_page_has_every_proof() -> None:
    """Its changes are lost, or give the same theorem or other true ones."""
    table = rows()
    total = table.pop(ALL)
    assert set(table) | not_yet_run() == set(proofs()) and not set(table) & not_yet_run()
    assert [sum(column) for column in zip(*table.values(), strict=True)] == total
    for name, (number, lost, same, others, _, survivors) in table.items():
        assert (number, survivors) == (lost + same + others, 0), name


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in NAMES])
def test_the_page_has_as_many_changes_as_there_are(name: str) -> None:
    proof = lines(proofs()[name].make())
    regions = list(dict.fromkeys(line.where for line in proof))
    found = sum(1 for i, line in enumerate(proof) for _ in changes(line, i, regions))
    assert name in not_yet_run() or found == rows()[name][0]


if __name__ == "__main__":
    for one in sys.argv[1:] or NAMES:
        found, left = sorted_changes(one)
        print(one, dict(found), "survivors:", left, flush=True)
