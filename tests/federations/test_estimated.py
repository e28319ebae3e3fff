"""Estimated constants against federations whose constants are known."""

from __future__ import annotations

from math import cosh, inf, sqrt

import numpy as np
import pytest
import torch
from torch import Tensor

from fedtheory import Setting
from fedtheory.algorithms import fast
from fedtheory.federations import Constant, Logistic, Pairs, Quadratic, estimated_constants, random_quadratic
from fedtheory.federations.curvature import _missed_share, curvatures
from fedtheory.papers import claim
from fedtheory.participation import Uniform
from fedtheory.simulation.iterates import iterates

NO_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_CUDA])]


def quadratic(dimension: int = 4, clients: int = 3, seed: int = 0, **options: object) -> Quadratic:
    """Random full Hessians, not scaled to anything."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(clients, dimension, dimension))
    hessians = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(dimension)
    return Quadratic(hessians, rng.normal(size=(clients, dimension)), **options)


def logistic(seed: int = 0, **options: object) -> Logistic:
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(n, 4)) for n in (5, 9, 7)]
    return Logistic(rows, [rng.integers(0, 3, len(block)) for block in rows], l2=0.2, classes=3, **options)


def points(dimension: int, count: int = 3, seed: int = 1, scale: float = 1.0) -> Tensor:
    return scale * torch.from_numpy(np.random.default_rng(seed).normal(size=(count, dimension)))


def inside(found: Constant, true: float) -> bool:
    return found.interval[0] <= true <= found.interval[1]


@pytest.mark.parametrize("seed", range(4))
def test_a_quadratic_federations_estimates_are_its_constants(seed: int) -> None:
    fed = quadratic(seed=seed, gradient_noise=0.3, server_noise=0.7)
    x = points(4, seed=seed, scale=10.0**seed)
    found, true = estimated_constants(fed, x), fed.constants()
    for name in ("smoothness", "strong_convexity", "gradient_noise", "server_noise"):
        # Differences of gradients, 10^3 long, lose six digits of sixteen to rounding.
        assert found[name].value == pytest.approx(true[name].value, rel=1e-6), name
        assert inside(found[name], true[name].value), name
        assert found[name].kind == "estimate"
    gradients = np.stack([[h @ (p - c) for h, c in zip(fed.hessians, fed.centres, strict=True)] for p in x.numpy()])
    expected = np.linalg.norm(gradients - gradients.mean(1, keepdims=True), axis=2).max()
    assert found["dissimilarity"].value == pytest.approx(expected, rel=1e-12)
    assert inside(found["dissimilarity"], expected)


def test_dissimilarity_of_a_common_hessian_is_the_exact_one() -> None:
    fed = random_quadratic(5, 3, smoothness=2.0, strong_convexity=0.5, dissimilarity=3.0)
    assert inside(estimated_constants(fed, points(3))["dissimilarity"], 3.0)


@pytest.mark.parametrize("seed", range(3))
def test_initial_gap_and_distance_lie_in_their_intervals_and_are_tight_near_the_optimum(seed: int) -> None:
    fed = quadratic(seed=seed)
    x = torch.stack([fed.optimum + 2.0, fed.optimum + 0.5, fed.optimum + 1e-3])
    found = estimated_constants(fed, x)
    gap, distance = float(fed.gap(x[:1])[0]), float((x[0] - fed.optimum).norm())
    assert inside(found["initial_gap"], gap) and inside(found["initial_distance"], distance)
    assert found["initial_gap"].value == pytest.approx(gap, rel=1e-5)
    assert found["initial_gap"].interval[1] < 1.01 * gap
    assert found["initial_gap"].value <= gap * (1 + 1e-12)  # no point is below the optimum
    assert found["initial_distance"].value == pytest.approx(distance, rel=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_logistic_estimates_stay_below_certified_bounds(seed: int) -> None:
    fed = logistic(seed, gradient_noise=0.1)
    setting = Setting(fed, fast(snapshot_period=2, cohort=2, local_lr="1/4"), Uniform(1))
    x = iterates(setting, rounds=20, every=5, replicas=2).flatten(0, 1)
    found, certified = estimated_constants(fed, x), fed.constants()
    assert found["smoothness"].interval[0] <= certified["smoothness"].value
    assert found["smoothness"].value <= certified["smoothness"].value * (1 + 1e-7)
    assert found["dissimilarity"].value <= certified["dissimilarity"].value
    assert inside(found["strong_convexity"], fed.l2) and found["strong_convexity"].value == pytest.approx(0.2, rel=1e-6)
    assert inside(found["gradient_noise"], 0.1)
    gap = float(fed.gap(x[:1])[0])
    assert inside(found["initial_gap"], gap)
    assert inside(found["initial_distance"], float(fed.optimum.norm()))


def test_logistic_curvature_is_that_of_the_hessian() -> None:
    fed = logistic(2)
    x = points(fed.dimension, 1)[0]
    pairs = Pairs.of(torch.ones(1, 3, dtype=torch.bool), torch.zeros(1).long(), 0, 0)
    columns = []
    for direction in torch.eye(fed.dimension, dtype=torch.float64):  # the whole matrix, column by column
        ahead, behind = (fed.exact_gradient((x + s * 1e-5 * direction).expand(3, -1), pairs) for s in (1, -1))
        columns.append((ahead - behind) / 2e-5)
    spectra = torch.linalg.eigvalsh(torch.stack(columns, dim=2))
    found = curvatures(fed, x, length=1.0, steps=40, failure=1e-3, seed=0)
    assert found.most == pytest.approx(spectra[:, -1].numpy(), rel=1e-7)
    assert found.least == pytest.approx(spectra[:, 0].numpy(), rel=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("build", [quadratic, logistic])
def test_float32_is_as_good_as_its_precision(build: object, device: str) -> None:
    fed = build(gradient_noise=0.25)
    x = points(fed.dimension)
    double = estimated_constants(fed, x)
    single = estimated_constants(fed.to(device, torch.float32), x.to(device, torch.float32))
    assert single.keys() == double.keys()
    for name, constant in double.items():
        # The best point of the gap is the same one; differences of gradients keep about four digits.
        assert single[name].value == pytest.approx(constant.value, rel=5e-3), name
        assert single[name].interval[0] <= constant.interval[1] and constant.interval[0] <= single[name].interval[1]
    assert inside(single["gradient_noise"], 0.25)


def test_noise_with_a_law_of_its_own_is_covered_as_often_as_stated() -> None:
    fed = Quadratic.common_hessian([[1.0] * 8, [-1.0] * 8], gradient_noise=0.5, noise="gaussian")
    found = [estimated_constants(fed, torch.zeros(1, 8).double(), seed=seed, confidence=0.9, draws=32)["gradient_noise"]
             for seed in range(80)]  # fmt: skip
    covered = np.mean([inside(constant, 0.5) for constant in found])
    assert covered > 0.8  # 90% and 3 sigma of 80 experiments
    assert np.mean([constant.interval[1] - constant.interval[0] for constant in found]) < 0.25


def test_draws_of_an_estimate_are_none_of_a_simulations() -> None:
    fed = Quadratic.common_hessian([1.0, -1.0], gradient_noise=0.5, noise="gaussian")
    x = torch.zeros(1, 1).double()
    found = estimated_constants(fed, x, seed=0)["gradient_noise"]
    assert found == estimated_constants(fed, x, seed=0)["gradient_noise"]
    assert found != estimated_constants(fed, x, seed=1)["gradient_noise"]
    pairs = Pairs.of(torch.ones(3, 2, dtype=torch.bool), torch.arange(3), seed=0, round=0)
    draws = torch.stack([fed.draw_noise(pairs.at_step(step)) for step in range(64)])[:, :, 0]
    of_replicas = draws.square().mean(0).sqrt().reshape(2, 3).amax(0)
    assert (abs(of_replicas - found.value) > 1e-6).all()


class Indefinite(Quadratic):
    """F_i + (its curvature made negative in one direction): differences of gradients see it."""

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        return super().exact_gradient(x, pairs) - 5.0 * x[:, :1] * torch.eye(self.dimension).to(x)[0]


def test_negative_curvature_is_smoothness_and_no_strong_convexity() -> None:
    fed = Indefinite.common_hessian([[1.0, 0.0], [-1.0, 0.0]])
    found = estimated_constants(fed, points(2))
    assert found["smoothness"].value == pytest.approx(4.0, rel=1e-6)
    assert "strong_convexity" not in found and "initial_distance" not in found
    assert found["initial_gap"].interval[1] == inf


@pytest.mark.parametrize(("dimension", "steps", "failure"), [(30, 4, 0.3), (60, 8, 0.1)])
def test_few_steps_miss_no_more_than_is_said(dimension: int, steps: int, failure: float) -> None:
    """One large eigenvalue far from a bulk, and a bulk that goes up to it: the harder case for a random start."""
    spectrum = np.linspace(0.1, 1.0, dimension)
    fed = Quadratic.common_hessian(np.zeros((40, dimension)), spectrum)  # 40 clients: 40 starts
    found = curvatures(fed, torch.zeros(dimension).double(), length=1.0, steps=steps, failure=failure, seed=3)
    assert (found.most <= 1.0 + 1e-9).all() and (found.least >= 0.1 - 1e-9).all()
    missed = (found.most + found.outside < 1.0) | (found.least - found.outside > 0.1)
    assert missed.mean() <= failure  # far below: the bound holds for the worst spectrum
    assert (found.outside < 1.0).all() and np.median(found.most) < 0.999  # there is something to miss


def test_the_missed_share_inverts_the_law_of_a_coordinate() -> None:
    """In three dimensions a coordinate of the sphere is uniform on [-1, 1]: P(|u_1| < s) = s."""
    share = _missed_share(3, steps=2, failure=0.02)
    assert 1 / cosh(3 * np.arctanh(sqrt(share))) == pytest.approx(0.01, rel=1e-9)
    assert _missed_share(1, steps=1, failure=0.01) == 0.0


def test_a_basis_that_is_exhausted_early_is_exact() -> None:
    fed = Quadratic.common_hessian(np.zeros((2, 50)), [2.0] * 49 + [0.5])  # two eigenvalues: two steps suffice
    found = curvatures(fed, torch.ones(50).double(), length=1.0, steps=20, failure=1e-3, seed=0)
    assert found.most == pytest.approx(2.0, rel=1e-8) and found.least == pytest.approx(0.5, rel=1e-8)
    assert (found.outside == 0).all()


def test_clients_in_parts_are_as_clients_together(monkeypatch: pytest.MonkeyPatch) -> None:
    fed, x = quadratic(clients=5), points(4)
    together = estimated_constants(fed, x)
    monkeypatch.setattr("fedtheory.federations.curvature._BYTES", 2 * 4 * 4 * 8)
    assert {n: c.value for n, c in estimated_constants(fed, x).items()} == pytest.approx(
        together.values_only(), rel=1e-9
    )


def test_a_claim_takes_estimates_with_their_provenance_and_their_cautious_ends() -> None:
    fed = logistic(gradient_noise=0.1)
    setting = Setting(fed, fast(snapshot_period=2, cohort=2, local_lr="1/100"), Uniform(1))
    found = estimated_constants(fed, iterates(setting, rounds=4).flatten(0, 1))
    statement = claim("fast.thm2")
    bound = statement.at(setting, rounds=50, **found)
    assert bound.provenance["dissimilarity"].startswith("estimate: ")
    assert bound.value == statement.at(setting, rounds=50, **found.values_only()).value
    assert bound.quantities["smoothness"] == found["smoothness"].value
    assert bound.value < statement.at(setting, rounds=50, **found.cautious()).value
    assert found.cautious()["strong_convexity"] == found["strong_convexity"].interval[0]
    assert found.cautious()["smoothness"] == found["smoothness"].interval[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": torch.zeros(4)}, r"points has shape \(4,\): allowed is \(n, 4\)"),
        ({"points": torch.zeros(0, 4)}, r"points has shape \(0, 4\)"),
        ({"points": torch.full((1, 4), torch.nan)}, "not finite"),
        ({"steps": 0}, "steps = 0: allowed is an integer >= 1"),
        ({"draws": 1}, "draws = 1: allowed is an integer >= 2"),
        ({"confidence": 1.0}, "confidence = 1.0: allowed is between 0 and 1"),
    ],
)
def test_wrong_arguments_are_named(changes: dict, message: str) -> None:
    given = {"points": torch.zeros(1, 4).double()} | changes
    with pytest.raises(ValueError, match=message):
        estimated_constants(quadratic(), given.pop("points"), **given)


def test_an_interval_holds_its_value() -> None:
    with pytest.raises(ValueError, match="interval"):
        Constant(1.0, "estimate", "draws", interval=(1.1, 1.2))
