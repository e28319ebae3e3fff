"""What the kernel shows of a function at any points: evaluated on functions with kinks, and nothing said of others."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, replace

import pytest

from fedtheory.papers.fast.proofs import lemmas_1_2
from fedtheory.proof import checker
from fedtheory.proof.kernel.forms import Atom
from fedtheory.proof.kernel.round_bounds import bound_at_points
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem

from .mean_models import MeanModel, Way
from .models import Client, Exact
from .models import exact as F

KINKED = (Client(F(1), F(3), F(0), F(-1)), Client(F(3), F(1), F(1, 2), F(2)))


@dataclass(frozen=True, eq=False)
class PointModel(MeanModel):
    """Functions and three points."""

    points: tuple[Exact, ...] = ()

    def atom(self, atom: Atom, way: Way, i: int, k: int) -> Exact:
        if "point" in atom.name:
            point = self.points[int(atom.name[-1])]
            return self.clients[i].gradient(point) if atom.name.startswith("g_") else point
        return super().atom(atom, way, i, k)


MODEL = PointModel(KINKED, (F(1, 2),) * 2, (F(0),), 1, F(1), size=F(1))
GRID = list(itertools.product((F(-1), F(0), F(1, 3), F(2)), repeat=3))
THEOREMS = [t for make in (lemmas_1_2.upper_model, lemmas_1_2.perturbed) for t in ancestry(make())]


def least(theorem: Theorem, model: PointModel) -> Exact:
    at = {**model.numbers, "size": F(1)}
    slacks = [replace(model, points=points)._value(theorem.form, at, i, 0) for points in GRID for i in (0, 1)]
    return min(slacks)


def test_it_holds_at_all_points() -> None:
    assert all(least(theorem, MODEL) >= 0 for theorem in THEOREMS)


@pytest.mark.parametrize(("name", "constant"), [("smooth", ("L", F(1))), ("strongly_convex", ("mu", F(3)))])
def test_only_what_names_a_violated_assumption_fails(name: str, constant: tuple[str, Exact]) -> None:
    failed = [t for t in THEOREMS if least(t, replace(MODEL, claimed=(constant,))) < 0]
    assert failed and all(name in {kind for kind, _ in theorem.assumptions} for theorem in failed)


def test_another_functional_is_no_reading_of_it() -> None:
    ring = lemmas_1_2.POINT_LETTERS
    with pytest.raises(ValueError, match="left over: allowed are displacement and 1"):
        bound_at_points(lemmas_1_2.perturbed(), ring, "linearization_error", ("d",))
    with pytest.raises(ValueError, match="left over: allowed are displacement, perturbation and 1"):
        bound_at_points(lemmas_1_2.upper_model(), ring, "perturbed_linearization_error", ("d", "p"))


def test_a_changed_constant_is_rejected() -> None:
    data = json.loads(json.dumps(saved(lemmas_1_2.perturbed())))
    assert checker.check(data) == 3
    data["theorems"][-1]["arguments"]["squares"][0][2]["top"][0][1] = "1/5"
    with pytest.raises(checker.Wrong):
        checker.check(data)
