"""The constants of logistic regression against curvatures and gradients at points that come close to attaining them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from fedtheory import data
from fedtheory.federations.constants import Region
from fedtheory.federations.federation import Pairs
from fedtheory.federations.logistic import Logistic
from fedtheory.federations.logistic_constants import _largest_eigenvalue


def random_federation(
    sizes: tuple[int, ...] = (3, 9, 1, 6),
    columns: int = 4,
    classes: int = 3,
    seed: int = 0,
    positive: bool = False,
    **options: object,
) -> Logistic:
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(n, columns)) + rng.normal(size=columns) for n in sizes]
    labels = [rng.integers(0, classes, n) for n in sizes]
    rows = [np.abs(block) for block in rows] if positive else rows
    return Logistic(rows, labels, **({"l2": 0.1, "classes": classes} | options))


def points(fed: Logistic, count: int, scale: float = 1.0, seed: int = 0) -> Tensor:
    return scale * torch.from_numpy(np.random.default_rng(seed).normal(size=(count, fed.dimension)))


def local_gradients(fed: Logistic, x: Tensor) -> Tensor:
    """grad F_i at each point (B, D) for each client, shape (M, B, D)."""
    pairs = Pairs.of(torch.ones(len(x), fed.clients, dtype=torch.bool), torch.arange(len(x)), seed=0, round=0)
    return fed.exact_gradient(x[pairs.replica], pairs).view(fed.clients, *x.shape)


def own_rows(fed: Logistic, client: int) -> tuple[Tensor, Tensor]:
    span = slice(fed._starts[client], fed._starts[client + 1])
    return fed._rows[span], fed._labels[span]


@pytest.fixture(scope="module")
def digits() -> Logistic:
    return Logistic.split(data.load("digits").normalised(), clients=50, alpha=0.3, l2=0.1, seed=0)


def deviations(fed: Logistic, x: Tensor) -> Tensor:
    """|grad F_i(x) - grad F(x)| of all clients at all points, (points, clients)."""
    return (local_gradients(fed, x) - fed.global_gradient(x)).norm(dim=2).T


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("positive", [True, False])
def test_curvature_lies_between_the_constants(classes: int, positive: bool) -> None:
    """Whole spectra of all clients' Hessians at random points; the smallest eigenvalue is always l2. Hessians are
    central differences of step 1e-5, right to about 1e-10."""
    fed = random_federation(classes=classes, positive=positive)
    constants, h = fed.constants(), 1e-5 * torch.eye(fed.dimension, dtype=torch.float64)
    for x in torch.cat([points(fed, 2, scale) for scale in (1e-3, 1.0, 10.0)]):
        hessians = (local_gradients(fed, x + h) - local_gradients(fed, x - h)) / 2e-5
        spectra = torch.linalg.eigvalsh((hessians + hessians.mT) / 2)
        torch.testing.assert_close(spectra[:, 0], torch.full((4,), 0.1, dtype=torch.float64), rtol=0, atol=1e-8)
        assert float(spectra.max()) <= constants["smoothness"].value + 1e-8
    assert constants["strong_convexity"].value == 0.1 and constants["strong_convexity"].kind == "exact"


def test_curvature_of_digits(digits: Logistic) -> None:
    """Rayleigh quotients along random directions and along that which attains the smoothness in the limit."""
    constants = digits.constants()
    smoothness, l2 = constants["smoothness"], constants["strong_convexity"].value
    h = 1e-5
    for x, v in zip(points(digits, 3, 3.0), points(digits, 3, seed=1), strict=True):
        step = (h * v / v.norm())[None]
        difference = local_gradients(digits, x + step) - local_gradients(digits, x - step)
        quotients = (difference * step).sum(2) / (2 * h**2)
        assert l2 - 1e-8 <= quotients.min() and quotients.max() <= smoothness.value + 1e-8
    assert smoothness.kind == "exact"
    assert largest_quotient(digits, x=two_class_point(digits, 1e4)) == pytest.approx(smoothness.value, rel=1e-6)


def two_class_point(fed: Logistic, size: float) -> Tensor:
    """Where only two classes are likely, and they equally, for rows with positive sums."""
    x = torch.full((fed.classes, fed.dimension // fed.classes), -size, dtype=torch.float64)
    x[:2] = 0.0
    return x.flatten()


def largest_quotient(fed: Logistic, x: Tensor) -> float:
    """The largest over clients of v' Hessian v, v = (a, -a, 0, ...) with a their rows' first singular vector."""
    best = 0.0
    for i in range(fed.clients):
        direction = torch.zeros(fed.classes, fed.dimension // fed.classes, dtype=torch.float64)
        direction[0] = torch.linalg.svd(own_rows(fed, i)[0], full_matrices=False)[2][0] / 2**0.5
        direction[1] = -direction[0]
        step = 1e-6 * direction.flatten()[None]
        difference = local_gradients(fed, x + step) - local_gradients(fed, x - step)
        best = max(best, float((difference * step).sum(2)[i]) / 2e-12)
    return best


@pytest.mark.parametrize(
    ("classes", "positive", "kind"), [(2, False, "exact"), (3, True, "exact"), (3, False, "bound")]
)
def test_smoothness_is_called_exact_only_where_it_is_attained(classes: int, positive: bool, kind: str) -> None:
    fed = random_federation((6, 6, 6, 6), classes=classes, positive=positive)
    smoothness = fed.constants()["smoothness"]
    assert smoothness.kind == kind
    if kind == "exact":
        assert largest_quotient(fed, two_class_point(fed, 1e4)) == pytest.approx(smoothness.value, rel=1e-6)
    assert fed.constants(Region(np.zeros(fed.dimension), 1.0))["smoothness"].kind == "bound"


def misclassified(
    first: np.ndarray, second: np.ndarray, labels: tuple[int, int], others: int, classes: int
) -> Logistic:
    """Client 0 holds ``first``; ``others`` clients hold ``second``."""
    return Logistic([[first], *[[second]] * others], [[labels[0]], *[[labels[1]]] * others], l2=0.1, classes=classes)


def certain(fed: Logistic, first: np.ndarray, second: np.ndarray, winners: tuple[int, int]) -> Tensor:
    """A point at which ``first`` and ``second``, linearly independent, get their winners with certainty."""
    scores = np.zeros((2, fed.classes))
    scores[0, winners[0]] = scores[1, winners[1]] = 100.0
    return torch.from_numpy(np.linalg.lstsq(np.stack([first, second]), scores, rcond=None)[0].T.ravel())[None]


@settings(max_examples=40, deadline=None)
@given(
    a=st.tuples(st.floats(0.1, 3.0), st.floats(0.0, 3.0)),
    b=st.tuples(st.floats(0.0, 3.0), st.floats(0.1, 3.0)),
    others=st.integers(1, 4),
    classes=st.integers(2, 4),
)
def test_dissimilarity_is_attained_by_misclassified_rows(
    a: tuple[float, float], b: tuple[float, float], others: int, classes: int
) -> None:
    """One row a client, non-negative, each taken for the other's label with certainty: nothing can be worse, and the
    bound is that value. So no factor or term of it can be smaller."""
    first, second = np.array(a), np.array(b)
    assume(abs(np.linalg.det(np.stack([first, second]))) > 0.05)
    fed = misclassified(first, second, (0, 1), others, classes)
    attained = float(deviations(fed, certain(fed, first, second, (1, 0)))[0, 0])
    assert attained <= fed.constants()["dissimilarity"].value <= attained * (1 + 1e-9)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_dissimilarity_is_nearly_attained_by_opposite_rows(classes: int) -> None:
    """Rows of either sign: a and nearly -a, both of label 0 and both taken for label 1."""
    first, second = np.array([1.0, 0.0]), np.array([-1.0, 1e-3])
    fed = misclassified(first, second, (0, 0), 1, classes)
    attained = float(deviations(fed, certain(fed, first, second, (1, 1)))[0, 0])
    assert attained <= fed.constants()["dissimilarity"].value <= attained * (1 + 1e-5)


def steepest(fed: Logistic, client: int, start: Tensor) -> Tensor:
    """A local maximum of |grad F_i - grad F|, by gradient ascent."""

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        x = torch.from_numpy(flat).requires_grad_()
        difference = 0.0
        for i in range(fed.clients):
            rows, labels = own_rows(fed, i)
            residuals = torch.softmax(rows @ x.view(fed.classes, -1).T, 1) - torch.eye(fed.classes)[labels]
            difference = difference + ((i == client) - 1 / fed.clients) * residuals.T @ rows / len(rows)
        value = difference.norm()
        return -value.item(), -torch.autograd.grad(value, x)[0].numpy()

    return torch.from_numpy(minimize(objective, start.numpy(), jac=True, method="L-BFGS-B").x)[None]


@pytest.mark.parametrize("seed", range(12))
def test_dissimilarity_bounds_what_ascent_finds(seed: int) -> None:
    """Every client's own bound, before the maximum over clients, on small problems of all kinds."""
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 4, size=int(rng.integers(2, 5))).tolist())
    fed = random_federation(sizes, columns=2, classes=int(rng.integers(2, 4)), seed=seed, positive=seed % 2 == 0)
    fed.constants()
    known = fed._known.constants
    for client in range(fed.clients):
        for start in points(fed, 3, 3.0, seed):
            found = float(deviations(fed, steepest(fed, client, start))[0, client])
            assert found <= min(float(known._triangle[client]), float(known._relaxation[client])) * (1 + 1e-9)


@pytest.mark.parametrize("make", [random_federation, lambda: random_federation(positive=True)])
def test_dissimilarity_bounds_samples(make: Callable[[], Logistic]) -> None:
    fed = make()
    bound = fed.constants()["dissimilarity"]
    assert bound.kind == "bound"
    for scale in (0.01, 1.0, 10.0, 1000.0):
        assert float(deviations(fed, points(fed, 200, scale)).max()) <= bound.value


def test_dissimilarity_of_digits(digits: Logistic) -> None:
    """Samples stay below the bound; ascent reaches more than three quarters of it, so it is not loose either."""
    bound = digits.constants()["dissimilarity"].value
    x = torch.cat([points(digits, 20, scale) for scale in (0.1, 3.0, 100.0)])
    sampled = deviations(digits, x)
    assert float(sampled.max()) <= bound
    found = float(deviations(digits, steepest(digits, 24, points(digits, 1, 0.1)[0])).max())
    assert 0.75 * bound < found <= bound


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("radius", [0.0, 0.1, 1.0, 10.0])
def test_dissimilarity_on_a_region(positive: bool, radius: float) -> None:
    """Each client's bound holds at points on the sphere; the constant is at most that over all of R^D."""
    fed = random_federation(positive=positive)
    centre = points(fed, 1)[0]
    region = Region(centre.numpy(), radius)
    directions = points(fed, 300, seed=1)
    x = centre + radius * directions / directions.norm(dim=1, keepdim=True)
    constant, everywhere = fed.constants(region)["dissimilarity"], fed.constants()["dissimilarity"]
    local = fed._known.constants._from_centre(region)
    assert bool((deviations(fed, x) <= local * (1 + 1e-12)).all())
    assert float(deviations(fed, x).max()) <= constant.value <= everywhere.value
    if radius == 0.0:
        assert constant.value == pytest.approx(float(deviations(fed, centre[None]).max()), rel=1e-9)


@pytest.mark.parametrize("active", [0, 1])
def test_dissimilarity_on_a_region_is_attained_to_first_order(active: int) -> None:
    """One client's row is 1, the other's 0; two classes. Along (-1, 1) from 0 both deviations grow at the rate
    1/4 = (1 - 1/M) lambda/2 of their bounds, which for one client comes from its own row, for the other from the
    rest."""
    rows = [[[1.0]], [[0.0]]] if active == 0 else [[[0.0]], [[1.0]]]
    fed, region = Logistic(rows, [[0], [0]], l2=0.1), Region(np.zeros(2), 1e-3)
    attained = deviations(fed, region.radius * torch.tensor([[-1.0, 1.0]], dtype=torch.float64) / 2**0.5)[0]
    assert float(attained.max()) <= fed.constants(region)["dissimilarity"].value <= float(attained.max()) + 1e-9
    bounds = fed._known.constants._from_centre(region)
    assert bool((attained <= bounds).all()) and bool((bounds <= attained + 1e-9).all())


@pytest.mark.parametrize("seed", range(6))
def test_summaries_of_the_rest(seed: int) -> None:
    """Curvatures and sizes of the clients j != i bound what they stand for, computed directly; sizes with the unit
    vectors b_s that the leading singular vector and the rows' own directions suggest."""
    fed = random_federation((3, 5, 2), columns=3, seed=seed)
    fed.constants()
    known = fed._known.constants
    second = [rows.T @ rows / len(rows) for rows in known.blocks]
    for i in range(3):
        rest = [j for j in range(3) if j != i]
        exact = float(torch.linalg.eigvalsh(sum(second[j] for j in rest) / 2)[-1])
        assert exact <= float(known._rest_curvatures[i]) * (1 + 1e-12)
        assert float(torch.linalg.eigvalsh(second[i])[-1]) == pytest.approx(float(known._curvatures[i]), rel=1e-12)
        leading = torch.linalg.eigh(sum(second[j] for j in rest))[1][:, -1]
        signed = sum((known.blocks[j] * (known.blocks[j] @ leading).sign()[:, None]).mean(0) for j in rest) / 2
        assert float(signed.norm()) <= float(known._rest_sizes[i])
        units = [rows / rows.norm(dim=1, keepdim=True) for rows in known.blocks]
        outer = sum(units[j].T @ known.blocks[j] / len(units[j]) for j in rest) / 2
        assert float(outer.norm()) <= float(known._rest_sizes[i])


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (3, 3)])
def test_curvatures_are_found_by_the_smaller_matrix(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """To rounding, largest singular values. Of a client with 60 000 images the other matrix would take 29 GB."""
    rows, asked, real = torch.from_numpy(np.random.default_rng(0).normal(size=shape)), [], torch.linalg.eigvalsh
    monkeypatch.setattr(torch.linalg, "eigvalsh", lambda matrix: real(asked.append(tuple(matrix.shape)) or matrix))
    found = float(_largest_eigenvalue(rows))
    assert found == pytest.approx(float(torch.linalg.matrix_norm(rows, 2)) ** 2 / len(rows), rel=1e-13)
    assert asked == [(min(shape), min(shape))]


def test_dissimilarity_at_the_optimum(digits: Logistic) -> None:
    constants = digits.constants()
    expected = float(local_gradients(digits, digits.optimum[None]).norm(dim=2).max())
    assert constants["dissimilarity_at_optimum"].value == pytest.approx(expected, rel=1e-9)
    assert constants["dissimilarity_at_optimum"].value >= expected
    assert constants["dissimilarity_at_optimum"].value <= constants["dissimilarity"].value


def test_single_client_and_given_noise() -> None:
    constants = random_federation((5,), gradient_noise=0.25).constants()
    assert (constants["dissimilarity"].value, constants["dissimilarity"].kind) == (0.0, "exact")
    assert (constants["gradient_noise"].value, constants["gradient_noise"].kind) == (0.25, "exact")
    assert constants["dissimilarity_at_optimum"].value < 1e-9


@pytest.mark.skipif(
    not data.available("fashion-mnist"), reason="Fashion-MNIST is not on this machine; `make data` fetches it"
)
def test_fashion_mnist() -> None:
    """6,000 of its images between 20 clients, fewer rows than features each."""
    whole = data.load("fashion-mnist")
    some = data.Dataset("some", whole.features[:6000], whole.labels[:6000], whole.classes).normalised()
    fed = Logistic.split(some, clients=20, alpha=0.3, l2=0.1, seed=0)
    assert (fed.dimension, fed.clients) == (7840, 20) and fed.optimum_gradient_norm <= 1e-10
    constants = fed.constants().values_only()
    x = torch.cat([fed.optimum[None], points(fed, 2)])
    measured = deviations(fed, x)
    assert float(measured[0].max()) == pytest.approx(constants["dissimilarity_at_optimum"], rel=1e-8)
    assert float(measured.max()) <= constants["dissimilarity"]
    assert 0.1 < constants["smoothness"] <= 0.1 + 0.5 * float((some.features**2).sum(1).max())
