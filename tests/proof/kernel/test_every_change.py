"""Each proof that the kernel makes with every one of the changes of ``replayed``: a premise, a region, a coefficient, a
need, an index, one at a time. A change is refused; or leaves the theorem as it is; or gives another theorem, which the
independent checker accepts and which holds in every small model. Larger proofs take longer (``-m exhaustive``).

    python -m tests.proof.kernel.test_every_change NAME ...    says how many changes there are of each sort
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from fedtheory.papers.fast.proofs import composed, composed_curved, composed_rounds
from fedtheory.papers.safari.proofs import composed4, composed5
from fedtheory.papers.safari.proofs import composed_repaired as repaired
from fedtheory.proof.kernel.saved import ancestry
from fedtheory.proof.kernel.theorems import Theorem

from . import test_on_models as of_fast
from . import test_safari as of_safari
from .growing import Growing
from .replayed import changes, lines, remade, stated

FAST: dict[str, Callable[[], Theorem]] = {
    "fast.eq17": composed_rounds.gradient_error, "fast.eq28": composed_rounds.full_progress,
    "fast.thm1.corrected": composed.nonconvex_corrected, "fast.thm1.sharp": composed.nonconvex_sharp,
    "fast.thm1.sharper": composed.nonconvex, "fast.thm1.averaged": composed.nonconvex_averaged,
    "fast.thm2.corrected": composed_curved.strongly_convex_corrected, "fast.thm2.wide": composed_curved.strongly_convex,
    "fast.thm2.sharper": composed.strongly_convex, "fast.thm2.averaged": composed.strongly_convex_averaged,
    "fast.cor3.corrected": composed_curved.mostly_snapshots,
}  # fmt: skip
SAFARI: dict[str, Callable[[], Theorem]] = {
    "safari.eq28": repaired.server_fall, "safari.eq58": repaired.server_distance,
    "safari.rem5": repaired.server_descent,
    "safari.thm4.corrected": repaired.clients_descent, "safari.thm5.corrected": repaired.contraction_corrected,
    "safari.thm4.sharper": composed4.nonconvex, "safari.thm4.averaged": composed4.nonconvex_averaged,
    "safari.thm5.sharper": composed5.strongly_convex,
}  # fmt: skip
QUICK = ("safari.eq28", "safari.eq58", "safari.rem5", "fast.eq17")
TOO_LARGE = ("too many terms", "certificate too large")
"""How the checker says that a proof is beyond its limits; what it says has to hold in the models all the same."""


def _models(name: str) -> tuple[Callable, Iterable]:
    """How a theorem is evaluated, and the models of its paper."""
    of = of_fast if name in FAST else of_safari
    return of.least, of.MODELS.values()


def sorted_changes(name: str) -> tuple[Counter[str], list[tuple[int, str, str]]]:
    """How many changes are refused, make no difference, or give another theorem; and the survivors: those that make
    something that the checker rejects, or a theorem that fails in a model; each with its line and why."""
    theorem = (FAST | SAFARI)[name]()
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
        least, models = _models(name)
        known[said] = all(slack >= 0 for model in models for _, slack in least([theorem], model))
    return known[said]


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in (*FAST, *SAFARI)]
)
def test_no_change_survives(name: str) -> None:
    counts, survivors = sorted_changes(name)
    assert survivors == []
    assert counts["refused"] > 10 and counts["another theorem"] > 10


if __name__ == "__main__":
    for one in sys.argv[1:] or (*FAST, *SAFARI):
        found, left = sorted_changes(one)
        print(one, dict(found), "survivors:", left, flush=True)
