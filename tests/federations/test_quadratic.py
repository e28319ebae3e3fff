"""Quadratic federations: gradients, the optimum, the constants, the generator, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedtheory.federations.constants import Constant, Region
from fedtheory.federations.federation import Pairs
from fedtheory.federations.generators import random_quadratic
from fedtheory.federations.quadratic import Quadratic


def random_hessians(clients: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
    """Symmetric to the last bit, positive definite, different for every client."""
    roots = rng.normal(size=(clients, dimension, dimension))
    matrices = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(dimension)
    return (matrices + matrices.transpose(0, 2, 1)) / 2


def random_federation(clients: int = 4, dimension: int = 3, seed: int = 0, **options: object) -> Quadratic:
    rng = np.random.default_rng(seed)
    return Quadratic(random_hessians(clients, dimension, rng), rng.normal(size=(clients, dimension)), **options)


def common_federation(clients: int = 4, dimension: int = 3, seed: int = 0) -> Quadratic:
    rng = np.random.default_rng(seed)
    hessian = random_hessians(1, dimension, rng)[0]
    return Quadratic.common_hessian(rng.normal(size=(clients, dimension)), hessian)


def every_pair(fed: Quadratic, replicas: int) -> Pairs:
    return Pairs.of(torch.ones(replicas, fed.clients, dtype=torch.bool), torch.arange(replicas), seed=0, round=0)


def client_gradients(fed: Quadratic, x: Tensor) -> Tensor:
    """grad F_i at each point, (clients, replicas, D)."""
    pairs = every_pair(fed, len(x))
    return fed.exact_gradient(x[pairs.replica], pairs).reshape(fed.clients, len(x), -1)


def points(fed: Quadratic, count: int, scale: float = 3.0, seed: int = 1) -> Tensor:
    return scale * torch.from_numpy(np.random.default_rng(seed).normal(size=(count, fed.dimension)))


# Losses and gradients.


@pytest.mark.parametrize("dimension", [1, 3])
def test_losses_are_the_formula_and_gradients_their_derivatives(dimension: int) -> None:
    fed = random_federation(dimension=dimension)
    pairs = Pairs.of(torch.tensor([[True, False, True, True], [False, False, True, False]]), torch.arange(2), 0, 0)
    x = points(fed, len(pairs)).requires_grad_()
    losses = fed.loss(x, pairs)
    for loss, client, at in zip(losses.tolist(), pairs.client.tolist(), x.detach().numpy(), strict=True):
        shifted = at - fed.centres[client]
        # Rounding of a sum of nine products.
        assert loss == pytest.approx(shifted @ fed.hessians[client] @ shifted / 2, rel=1e-13)
    (derivatives,) = torch.autograd.grad(losses.sum(), x)
    torch.testing.assert_close(fed.exact_gradient(x.detach(), pairs), derivatives, rtol=1e-13, atol=1e-13)


def test_the_global_objective_is_the_mean_of_the_clients() -> None:
    fed = random_federation()
    x = points(fed, 5).requires_grad_()
    pairs = every_pair(fed, 5)
    mean_loss = fed.loss(x.detach()[pairs.replica], pairs).reshape(fed.clients, 5).mean(0)
    # The global loss comes from x* and F(x*): other operations, on numbers of the order of 10.
    torch.testing.assert_close(fed.global_loss(x.detach()), mean_loss, rtol=1e-12, atol=1e-12)
    mean_gradient = client_gradients(fed, x.detach()).mean(0)
    torch.testing.assert_close(fed.global_gradient(x.detach()), mean_gradient, rtol=1e-12, atol=1e-12)
    (derivative,) = torch.autograd.grad(fed.global_loss(x).sum(), x)
    torch.testing.assert_close(derivative, mean_gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("noise", ["two-point", "gaussian"])
def test_noise_has_the_stated_variance_and_is_fresh(noise: str) -> None:
    fed = random_federation(dimension=3, gradient_noise=0.6, noise=noise)
    count = 20_000
    pairs = every_pair(fed, count)
    x = torch.zeros(len(pairs), 3, dtype=torch.float64)
    draws = [fed.gradient(x, pairs.at_step(step)) - fed.exact_gradient(x, pairs) for step in (0, 1)]
    assert not torch.equal(*draws)
    size = 0.6 / math.sqrt(3)
    moments = torch.cat([draws[0], draws[1]], dim=1)
    # 80000 samples: means within 6 standard errors (chance 2e-9 each); covariances too, their error being at most
    # sqrt(2) size^2 / sqrt(80000).
    assert float(moments.mean(0).abs().max()) < 6 * size / math.sqrt(4 * count)
    covariance = moments.T @ moments / len(moments)
    expected = size**2 * torch.eye(6, dtype=torch.float64)
    assert float((covariance - expected).abs().max()) < 6 * math.sqrt(2) * size**2 / math.sqrt(4 * count)


def test_two_point_noise_has_one_size() -> None:
    fed = random_federation(dimension=3, gradient_noise=0.6)
    noise = fed.draw_noise(every_pair(fed, 50))
    # One rounding of 0.6 / sqrt(3).
    expected = torch.full(noise.shape, 0.6 / 3**0.5, dtype=torch.float64)
    torch.testing.assert_close(noise.abs(), expected, rtol=1e-15, atol=0)


def test_without_noise_the_gradient_is_exact() -> None:
    fed = random_federation()
    pairs = every_pair(fed, 2)
    assert torch.equal(fed.gradient(points(fed, len(pairs)), pairs), fed.exact_gradient(points(fed, len(pairs)), pairs))


def test_another_precision() -> None:
    fed = random_federation()
    single = fed.to(dtype=torch.float32)
    x = points(fed, 3)
    assert single.global_gradient(x.float()).dtype == torch.float32
    # float32 numbers of the order of 10.
    torch.testing.assert_close(single.global_gradient(x.float()).double(), fed.global_gradient(x), rtol=0, atol=1e-4)
    assert client_gradients(single, x.float()).dtype == torch.float32
    assert fed.global_gradient(x).dtype == torch.float64
    assert single.exact_optimum is fed.exact_optimum or (single.exact_optimum == fed.exact_optimum).all()


# The optimum.

entries = st.fractions(-4, 4, max_denominator=9)


@st.composite
def exact_federations(draw: st.DrawFn) -> Quadratic:
    """Rational Hessians B^T B (singular ones too), and one that is regular."""
    clients, dimension = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    hessians = []
    for _ in range(clients):
        rank = draw(st.integers(0, dimension))
        root = [[draw(entries) for _ in range(dimension)] for _ in range(rank)]
        hessians.append([[sum((b[i] * b[j] for b in root), Fraction(0)) for j in range(dimension)]
                         for i in range(dimension)])  # fmt: skip
    for i in range(dimension):
        hessians[0][i][i] += 1
    return Quadratic(hessians, [[draw(entries) for _ in range(dimension)] for _ in range(clients)])


def exact_gradient(fed: Quadratic, client: int, x: Sequence[Fraction]) -> list[Fraction]:
    hessian, centre = fed.exact_hessians[client], fed.exact_centres[client]
    return [sum(h * (a - c) for h, a, c in zip(row, x, centre, strict=True)) for row in hessian]


@given(exact_federations())
@settings(max_examples=60, deadline=None)
def test_the_gradient_vanishes_exactly_at_the_optimum(fed: Quadratic) -> None:
    x = list(fed.exact_optimum)
    assert all(isinstance(entry, Fraction) for entry in x)
    gradients = [exact_gradient(fed, i, x) for i in range(fed.clients)]
    assert [sum(column) for column in zip(*gradients, strict=True)] == [0] * fed.dimension
    values = [
        sum((a - c) * g for a, c, g in zip(x, fed.exact_centres[i], gradients[i], strict=True))
        for i in range(fed.clients)
    ]
    assert fed.exact_optimal_value == Fraction(sum(values)) / (2 * fed.clients)
    assert fed.optimal_value == float(fed.exact_optimal_value)
    assert fed.optimum.tolist() == [float(entry) for entry in x]


def test_entries_are_kept_exactly() -> None:
    fed = Quadratic([["1/3"], [Fraction(2, 3)]], [[1], ["1/7"]], gradient_noise=Fraction(1, 10))
    # (1/3 + 2/3) x* = 1/3 + 2/21.
    assert fed.exact_optimum.tolist() == [Fraction(3, 7)]
    assert fed.exact_gradient_noise == Fraction(1, 10)
    assert Quadratic([[0.1]], [[0]]).exact_hessians[0, 0, 0] == Fraction(0.1) != Fraction(1, 10)


def test_the_ways_to_write_a_hessian_agree() -> None:
    offsets = [[1, 2], [3, 5]]
    full = Quadratic([[[2, 0], [0, 2]]] * 2, offsets)
    for same in (
        Quadratic([[2, 2]] * 2, offsets),
        Quadratic.common_hessian(offsets, 2),
        Quadratic.common_hessian(offsets, [2, 2]),
        Quadratic.common_hessian(offsets, [[2, 0], [0, 2]]),
        Quadratic.common_hessian(np.array(offsets, dtype=float), np.float64(2)),
    ):
        assert (same.exact_hessians == full.exact_hessians).all()
        assert (same.exact_centres == full.exact_centres).all()
    flat = Quadratic.common_hessian([1, -1])
    assert (flat.clients, flat.dimension) == (2, 1)


# Constants.


@pytest.mark.parametrize("dimension", [1, 4])
def test_smoothness_and_strong_convexity_against_sampling(dimension: int) -> None:
    fed = random_federation(clients=3, dimension=dimension)
    constants = fed.constants().values_only()
    steps = points(fed, 4000)
    differences = client_gradients(fed, steps) - client_gradients(fed, torch.zeros_like(steps))
    growth = differences.norm(dim=2) / steps.norm(dim=1)
    curvature = (differences * steps).sum(2) / steps.square().sum(1)
    L, mu = constants["smoothness"], constants["strong_convexity"]
    # Rounding of one quotient.
    assert float(growth.max()) <= L * (1 + 1e-13)
    assert float(curvature.min()) >= mu * (1 - 1e-13)
    # 4000 directions in four dimensions come within a few percent of the extreme ones.
    assert float(growth.max()) > 0.9 * L
    assert float(curvature.min()) < mu + 0.1 * (L - mu) + 1e-13
    # ... and the extreme ones attain them.
    values, directions = torch.linalg.eigh(torch.as_tensor(fed.hessians))
    assert float(values.max()) == pytest.approx(L, rel=1e-13)
    assert float(values.min()) == pytest.approx(mu, rel=1e-11)
    assert directions.shape == fed.hessians.shape


def sampled_dissimilarity(fed: Quadratic, x: Tensor) -> Tensor:
    """max over i of |grad F_i(x) - grad F(x)| at each point."""
    gradients = client_gradients(fed, x)
    return (gradients - gradients.mean(0)).norm(dim=2).amax(0)


def test_dissimilarity_of_a_common_hessian_is_the_same_everywhere() -> None:
    fed = common_federation()
    known = fed.constants()["dissimilarity"]
    sampled = sampled_dissimilarity(fed, points(fed, 50))
    # Differences of gradients of the order of 10.
    torch.testing.assert_close(sampled, torch.full_like(sampled, known.value), rtol=1e-12, atol=0)
    assert known.kind == "exact"
    assert fed.constants()["dissimilarity_at_optimum"].value == known.value
    assert fed.constants(Region(np.zeros(3), 1.0))["dissimilarity"] == known


def test_dissimilarity_is_infinite_when_hessians_differ() -> None:
    fed = random_federation()
    known = fed.constants()["dissimilarity"]
    assert (known.value, known.kind) == (math.inf, "exact")
    # It is: it grows in proportion to the distance.
    far, farther = (float(sampled_dissimilarity(fed, points(fed, 1, scale)).max()) for scale in (1e6, 1e7))
    assert farther == pytest.approx(10 * far, rel=1e-5)  # up to the residuals, of the order of 1e-6 of it
    at_optimum = float(sampled_dissimilarity(fed, fed.optimum[None]).max())
    assert fed.constants()["dissimilarity_at_optimum"].value == pytest.approx(at_optimum, rel=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.floats(0, 5), st.floats(-3, 3))
@settings(max_examples=60, deadline=None)
def test_the_bound_on_a_ball_holds(seed: int, clients: int, dimension: int, radius: float, shift: float) -> None:
    fed = random_federation(clients, dimension, seed)
    known = fed.constants(Region(np.full(dimension, shift), radius))["dissimilarity"]
    directions = points(fed, 200, seed=seed)
    spheres = radius * directions / directions.norm(dim=1, keepdim=True)
    inside = shift + spheres * torch.linspace(0, 1, 200, dtype=torch.float64)[:, None]
    sampled = torch.cat([sampled_dissimilarity(fed, shift + spheres), sampled_dissimilarity(fed, inside)])
    # Rounding, relative to gradients of the order of 100.
    assert float(sampled.max()) <= known.value * (1 + 1e-12) + 1e-12
    if dimension == 1:  # an affine function on an interval: its largest absolute value is at an end, and is the bound
        assert float(sampled.max()) == pytest.approx(known.value, rel=1e-11, abs=1e-12)
    if clients > 1:
        assert known.kind == "bound"


def test_a_ball_of_radius_zero_is_its_centre() -> None:
    fed = random_federation()
    centre = np.array([0.5, -1.0, 2.0])
    bound = fed.constants(Region(centre, 0.0))["dissimilarity"].value
    assert bound == pytest.approx(float(sampled_dissimilarity(fed, torch.from_numpy(centre)[None])), rel=1e-12)


def test_a_singular_hessian_of_one_client_is_allowed() -> None:
    fed = Quadratic([[[1, 1], [1, 1]], [[2, 0], [0, 1]]], [[1, 0], [0, 1]])
    constants = fed.constants()
    assert constants["strong_convexity"].value == pytest.approx(0, abs=1e-15)  # one rounding of an eigenvalue 2
    assert constants["strong_convexity"].value >= 0
    assert constants["smoothness"].value == pytest.approx(2, rel=1e-14)
    # [[3, 1], [1, 2]] x = [1, 1] + [0, 1].
    assert fed.exact_optimum.tolist() == [Fraction(0), Fraction(1)]
    nothing = Quadratic([[0], [2]], [[5], [1]])
    assert nothing.exact_optimum.tolist() == [Fraction(1)]


# The generator.


@st.composite
def prescriptions(draw: st.DrawFn) -> dict:
    L = draw(st.floats(1e-3, 1e3))
    clients, dimension = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    return {
        "clients": clients,
        "dimension": dimension,
        "smoothness": L,
        "strong_convexity": L if dimension == 1 else L * draw(st.floats(1e-4, 1)),
        "dissimilarity": 0.0 if clients == 1 else draw(st.just(0.0) | st.floats(1e-3, 1e3)),
        "gradient_noise": draw(st.floats(0, 10)),
        "seed": draw(st.integers(0, 100)),
    }


@given(prescriptions())
@settings(max_examples=100, deadline=None)
def test_the_generator_hits_the_prescribed_constants(wanted: dict) -> None:
    fed = random_quadratic(**wanted)
    assert (fed.clients, fed.dimension) == (wanted["clients"], wanted["dimension"])
    constants = fed.constants()
    # Eigenvalues of a diagonal matrix, by a solver that does not know it is one. The optimum is 0 up to the rounding
    # of the offsets, whose size is up to dissimilarity / strong_convexity.
    tolerances = {"smoothness": 1e-14, "strong_convexity": 1e-11, "gradient_noise": 0, "dissimilarity": 1e-9}
    for name, tolerance in tolerances.items():
        assert constants[name].value == pytest.approx(wanted[name], rel=tolerance, abs=0), name
        assert constants[name].kind == "exact"
    pulls = (fed.hessians @ fed.centres[:, :, None])[:, :, 0]
    # The gradients at 0: the longest has the prescribed length, and they cancel, to rounding.
    assert np.linalg.norm(pulls, axis=1).max() == pytest.approx(wanted["dissimilarity"], rel=1e-14)
    assert np.abs(pulls.sum(0)).max() <= 1e-14 * max(wanted["dissimilarity"], 1e-300) * wanted["clients"]
    assert fed.has_common_hessian


def test_the_generator_repeats_itself_and_depends_on_its_seed() -> None:
    one, same, other = (random_quadratic(4, 3, seed=seed).centres for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strong_convexity": 2.0}, r"strong_convexity = 2\.0: allowed is a number in \(0, smoothness\] = \(0, 1\.0\]"),
        ({"strong_convexity": 0.0}, r"strong_convexity = 0\.0: allowed is a finite number > 0"),
        ({"dissimilarity": -1.0}, r"dissimilarity = -1\.0: allowed is a finite number >= 0"),
        ({"gradient_noise": math.nan}, r"gradient_noise = nan: allowed is a finite number >= 0"),
        ({"clients": 0}, r"clients = 0\.0: allowed is an integer >= 1"),
        ({"dimension": 0}, r"dimension = 0: allowed is an integer >= 1"),
        ({"dimension": 1}, r"strong_convexity = 0\.1: in one dimension allowed is smoothness = 1\.0"),
        ({"clients": 1}, r"dissimilarity = 1\.0: with one client allowed is 0"),
        ({"noise": "white"}, r"noise = 'white': allowed is one of two-point, gaussian"),
    ],
)
def test_what_the_generator_refuses(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        random_quadratic(**({"clients": 3, "dimension": 2} | arguments))


# What is refused.

TWO = [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([[[1, 2], [2, 1]], [[9, 0], [0, 9]]], TWO),
            r"hessians: client 0 has the eigenvalue -1\.0*\d*: allowed is >=",
        ),
        (([[5, 5], [1, -1e-3]], TWO), r"hessians: client 1 has the eigenvalue -0\.001: allowed is >= 0"),
        (([[[1, 0], [1, 1]], [[1, 0], [0, 1]]], TWO), "hessians: allowed are symmetric matrices"),
        (([[1, 0], [1, 0]], TWO), "hessians: their mean is singular, so the global minimiser is not unique"),
        (([[[1, 1], [1, 1]]] * 2, TWO), "hessians: their mean is singular"),
        (([[0, 0], [0, 0]], TWO), "hessians: their mean is singular"),
        (([[1, 1]], TWO), r"shapes \(1, 2\) and \(2, 2\): allowed is \(M, D, D\) or \(M, D\), and \(M, D\)"),
        (([1, 1], TWO), r"shapes \(2,\) and \(2, 2\)"),
        (([1, 1], [1, 1]), r"shapes \(2,\) and \(2,\)"),
        (([[1, 1, 1], [1, 1, 1]], TWO), r"shapes \(2, 3\) and \(2, 2\)"),
        (([[1, math.nan], [1, 1]], TWO), "hessians = nan: allowed is a finite number"),
        (([[1, 1], [1, 1]], [[0, math.inf], [1, 1]]), "centres = inf: allowed is a finite number"),
        (([[1, 1], [1, 1]], [["x", 0], [1, 1]]), "centres = 'x': allowed is a finite number"),
        (([[1, 1], [1]], TWO), "hessians"),
        (([], TWO), "hessians is empty"),
        (([[1, 1], [1, 1]], TWO, -1.0), r"gradient_noise = -1\.0: allowed is a finite number >= 0"),
        (([[1, 1], [1, 1]], TWO, math.nan), r"gradient_noise = nan: allowed is a finite number"),
        (([[1, 1], [1, 1]], TWO, math.inf), r"gradient_noise = inf: allowed is a finite number"),
        (([[1, 1], [1, 1]], TWO, 0.0, "white"), r"noise = 'white': allowed is one of two-point, gaussian"),
    ],
)
def test_what_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Quadratic(*arguments)


@pytest.mark.parametrize("hessians", [np.ones((2, 2, 3)), np.ones((2, 2, 1))])
def test_hessians_that_are_not_square_are_refused_for_their_shape(hessians: np.ndarray) -> None:
    with pytest.raises(ValueError, match="hessians and centres have shapes"):
        Quadratic(hessians, TWO)


@pytest.mark.parametrize("radius", [-1.0, math.nan, math.inf])
def test_regions_without_a_radius_are_refused(radius: float) -> None:
    with pytest.raises(ValueError, match=f"radius = {radius}: allowed is a finite number >= 0"):
        Region(np.zeros(2), radius)


@pytest.mark.parametrize("centre", [[math.nan, 0.0], [0.0]])
def test_regions_without_a_centre_are_refused(centre: list[float]) -> None:
    with pytest.raises(ValueError, match="centre"):
        Quadratic([[1, 2], [2, 1]], TWO).constants(Region(np.array(centre), 1.0))


def test_constants_of_an_unknown_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="kind = 'guess': allowed is exact, bound or estimate"):
        Constant(1.0, "guess", "out of the blue")


# By slopes.


def test_slopes_are_another_way_to_say_it() -> None:
    """grad F_i(0) = -H_i c_i; the constant of F_i is left out, so that losses differ by those of 0."""
    by_centres = Quadratic([[1, 2], ["3/2", 1]], [[2, -1], [0, "1/3"]], gradient_noise="1/2")
    by_slopes = Quadratic.with_slopes([[1, 2], ["3/2", 1]], [[-2, 2], [0, "-1/3"]], gradient_noise="1/2")
    assert (by_centres.exact_slopes == by_slopes.exact_slopes).all()
    assert (by_centres.exact_centres == by_slopes.exact_centres).all()
    assert (by_centres.exact_optimum == by_slopes.exact_optimum).all()
    assert by_slopes.constants().values_only() == pytest.approx(by_centres.constants().values_only(), rel=1e-15)
    x, everyone = torch.tensor([[0.5, -2.0]]).double(), torch.ones(1, 2, dtype=torch.bool)
    pairs = Pairs.of(everyone, torch.zeros(1).long(), 0, 0)
    points, origin = x.expand(2, -1), torch.zeros(2, 2).double()
    assert torch.allclose(by_slopes.exact_gradient(points, pairs), by_centres.exact_gradient(points, pairs), 1e-15)
    difference = by_centres.loss(points, pairs) - by_centres.loss(origin, pairs)
    assert torch.allclose(by_slopes.loss(points, pairs), difference, 1e-14)
    assert torch.allclose(by_slopes.global_loss(x), difference.mean()[None], 1e-14)
    assert torch.allclose(by_slopes.gap(x), by_centres.gap(x), 1e-14)
    assert torch.allclose(by_slopes.global_gradient(x), by_centres.global_gradient(x), 1e-14)


def test_slopes_of_what_has_no_minimum() -> None:
    """F_1 = -x^2 + 3x and F_2 = x^2/2 at 2: gradients -1 and 2, losses 2 and 2."""
    fed = Quadratic.with_slopes([[-2], [1]], [[3], [0]])
    x, pairs = torch.tensor([[2.0]]).double(), Pairs.of(torch.ones(1, 2, dtype=torch.bool), torch.zeros(1).long(), 0, 0)
    assert not fed.has_optimum
    assert fed.exact_gradient(x.expand(2, -1), pairs).flatten().tolist() == [-1, 2]
    assert fed.loss(x.expand(2, -1), pairs).tolist() == [2, 2]
    assert (fed.global_gradient(x).item(), fed.global_loss(x).item()) == (0.5, 2.0)
    assert fed.constants().values_only() == {
        "smoothness": 2.0, "strong_convexity": -2.0, "dissimilarity": math.inf, "gradient_noise": 0.0,
    }  # fmt: skip
    alike = Quadratic.with_slopes([[-1], [-1]], [[3], [1]]).constants()
    assert (alike["dissimilarity"].value, "dissimilarity_at_optimum" in alike) == (1.0, False)
    for ask in (lambda: fed.optimum, lambda: fed.gap(x), lambda: fed.optimal_value):
        with pytest.raises(ValueError, match="no unique global minimiser"):
            ask()
    with pytest.raises(ValueError, match="client 1's is singular, so it has no unique minimiser"):
        Quadratic.with_slopes([[1], [0]], [[0], [1]]).exact_centres  # noqa: B018 - asks for it
    with pytest.raises(ValueError, match="hessians and slopes have shapes"):
        Quadratic.with_slopes([[1], [0]], [[0, 1]])
    with pytest.raises(ValueError, match="symmetric"):
        Quadratic.with_slopes([[[1, 2], [0, 1]]], [[0, 1]])


@pytest.mark.parametrize(
    ("matrix", "expected"), [([[2, -1], [-1, 2]], True), ([[1, 2], [2, 1]], False), ([[0, 0], [0, 1]], False)]
)
def test_whether_slopes_have_an_optimum(matrix: list, expected: bool) -> None:
    assert Quadratic.with_slopes([matrix], [[1, 1]]).has_optimum == expected


# An objective that weighs clients otherwise than alike: clients that count twice are as two clients.


def test_weighted_objectives_are_those_of_repeated_clients() -> None:
    hessians, centres = [[1, 2], [3, 1]], [[1, -1], ["1/2", 2]]
    weighted = Quadratic(hessians, centres, "1/2", objective_weight=["1/3", "2/3"])
    repeated = Quadratic([hessians[i] for i in (0, 1, 1)], [centres[i] for i in (0, 1, 1)], "1/2")
    assert (weighted.exact_optimum == repeated.exact_optimum).all()
    assert (weighted.exact_hessian == repeated.exact_hessian).all()
    assert weighted.exact_optimal_value == repeated.exact_optimal_value
    x = torch.tensor([[0.5, 1.5], [-2.0, 3.0]], dtype=torch.float64)
    for fed in (weighted, weighted.to("cpu")):
        torch.testing.assert_close(fed.global_gradient(x), repeated.global_gradient(x))
        torch.testing.assert_close(fed.global_loss(x), repeated.global_loss(x))
    region = Region(np.zeros(2), 1.0)
    found, expected = (fed.constants(region).values_only() for fed in (weighted, repeated))
    assert found == pytest.approx(expected)


def test_equal_weights_are_the_mean() -> None:
    plain, named = (Quadratic([[1, 1], [2, 3]], TWO, objective_weight=w) for w in (None, ["1/2", "1/2"]))
    assert (plain.exact_optimum == named.exact_optimum).all()
    assert plain.exact_weight.tolist() == named.exact_weight.tolist()


@pytest.mark.parametrize("weights", [["1/2"], ["1/2", "1/3"], ["3/2", "-1/2"]])
def test_weights_that_are_refused(weights: list[str]) -> None:
    with pytest.raises(ValueError, match=r"objective_weight = .*: allowed are 2 numbers >= 0 with the sum 1"):
        Quadratic([[1, 1], [1, 1]], TWO, objective_weight=weights)


@pytest.mark.parametrize("least", ["1e-12", "1e-15", "1e-300"])
def test_curvatures_far_apart_are_not_singular(least: str) -> None:
    fed = Quadratic([[1, least], [1, least]], [[0, 0], [0, 2]])
    assert fed.exact_optimum.tolist() == [0, 1]
    assert fed.constants()["strong_convexity"].value == float(least)
    assert fed.constants()["smoothness"].value == 1
