"""Logistic regression: losses and gradients, noise, the optimum with its certificates, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from torch import Tensor

from fedtheory import data
from fedtheory.federations import logistic, logistic_optimum
from fedtheory.federations.constants import Region
from fedtheory.federations.federation import Pairs
from fedtheory.federations.local_training import LocalTraining, local_steps
from fedtheory.federations.logistic import Logistic

SIZES = {"equal": (6, 6, 6, 6), "unequal": (3, 9, 1, 6)}


def random_federation(
    sizes: tuple[int, ...] = SIZES["unequal"],
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


def all_pairs(fed: Logistic, replicas: int, share: float = 1.0, seed: int = 0) -> Pairs:
    mask = torch.rand(replicas, fed.clients, generator=torch.Generator().manual_seed(seed)) < share
    return Pairs.of(mask, torch.arange(replicas), seed=0, round=0)


def points(fed: Logistic, count: int, scale: float = 1.0, seed: int = 0) -> Tensor:
    return scale * torch.from_numpy(np.random.default_rng(seed).normal(size=(count, fed.dimension)))


def own_rows(fed: Logistic, client: int) -> tuple[Tensor, Tensor]:
    span = slice(fed._starts[client], fed._starts[client + 1])
    return fed._rows[span], fed._labels[span]


def reference_loss(fed: Logistic, x: Tensor, client: int) -> Tensor:
    """F_i(x), the textbook way."""
    rows, labels = own_rows(fed, client)
    scores = torch.stack([rows @ weights for weights in x.reshape(fed.classes, -1)], dim=1)
    return torch.nn.functional.cross_entropy(scores, labels) + fed.l2 / 2 * x.dot(x)


def reference_gradient(fed: Logistic, x: Tensor, client: int) -> Tensor:
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(reference_loss(fed, x, client), x)
    return gradient


@pytest.fixture(scope="module")
def digits() -> Logistic:
    return Logistic.split(data.load("digits").normalised(), clients=50, alpha=0.3, l2=0.1, seed=0)


# Losses and gradients.


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("classes", [2, 5])
def test_local_loss_and_gradient_against_autograd(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], stacked: bool, classes: int
) -> None:
    """Both paths, with clients of which some pairs, one, or none take part."""
    if not stacked:
        monkeypatch.setattr(logistic, "_STACKED", {})
    fed = random_federation(sizes, classes=classes)
    pairs = Pairs.of(torch.arange(5)[:, None] < torch.tensor([3, 0, 5, 1]), torch.arange(5), seed=0, round=0)
    x = points(fed, len(pairs), 2.0).requires_grad_()
    losses = torch.stack([reference_loss(fed, x[k], int(i)) for k, i in enumerate(pairs.client)])
    (expected,) = torch.autograd.grad(losses.sum(), x)
    torch.testing.assert_close(fed.loss(x.detach(), pairs), losses.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(fed.exact_gradient(x.detach(), pairs), expected, rtol=1e-12, atol=1e-12)


def test_stacking_is_used_where_it_can_be() -> None:
    for name, sizes in SIZES.items():
        fed = random_federation(sizes)
        assert (fed.stacked(all_pairs(fed, 2)) is not None) == (name == "equal")
    nobody = Pairs.of(torch.zeros(2, fed.clients, dtype=torch.bool), torch.arange(2), seed=0, round=0)
    assert fed.stacked(nobody) is None


@pytest.mark.parametrize("columns", [4, 200])
def test_many_rows_are_not_copied_to_be_stacked(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    fed = random_federation(SIZES["equal"], columns)
    monkeypatch.setattr(logistic, "_STACKED", {"cpu": 4 * 6 * fed.classes})  # scores of all clients, once
    first = Pairs.of(torch.eye(1, fed.clients, dtype=torch.bool), torch.arange(1), seed=0, round=0)
    assert (fed.stacked(first) is not None) == (columns == 4)
    assert fed.stacked(all_pairs(fed, 1)) is not None


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("proximal", [0.0, 0.25])
def test_local_training_is_step_by_step(sizes: tuple[int, ...], noise: float, proximal: float) -> None:
    """Clients one after the other, or stacked, with the draws and gradients of single steps."""
    fed = random_federation(sizes)
    fed.gradient_noise = noise
    pairs = Pairs.of(torch.arange(5)[:, None] < torch.tensor([3, 0, 5, 1]), torch.arange(5), seed=0, round=0)
    start, how = points(fed, len(pairs), 2.0), LocalTraining(3, (0.5, 0.25, 0.125), proximal)
    found, _ = fed.local_update(start, pairs, how, {})
    expected, _ = local_steps(fed, start, pairs, how, {})
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_copies_in_one_place_share_their_tensors() -> None:
    fed = random_federation()
    single = fed.to("cpu", torch.float32)
    assert fed.to("cpu", torch.float32)._rows is single._rows and single._rows.dtype == torch.float32
    assert single.to("cpu", torch.float64)._rows.equal(fed._rows)


def test_gradient_against_finite_differences() -> None:
    """Central differences of step 1e-5: truncation near 1e-11, rounding near 1e-11; 1e-8 is allowed."""
    fed = random_federation()
    pairs, h = all_pairs(fed, 1), 1e-5
    x = points(fed, len(pairs))
    gradient = fed.exact_gradient(x, pairs)
    for k in range(fed.dimension):
        shift = h * torch.eye(fed.dimension, dtype=torch.float64)[k]
        difference = (fed.loss(x + shift, pairs) - fed.loss(x - shift, pairs)) / (2 * h)
        torch.testing.assert_close(gradient[:, k], difference, rtol=0, atol=1e-8)


@pytest.mark.parametrize("entries", [2**22, 40])
def test_global_objective_is_the_mean_over_clients(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    """Clients count equally though they hold from 1 to 9 rows; in one chunk or in many."""
    monkeypatch.setattr(logistic, "_ENTRIES", entries)
    fed = random_federation()
    x = points(fed, 6, 3.0)
    assert len(list(fed._chunks(6))) == (1 if entries > 100 else 10)
    pairs = all_pairs(fed, 6)
    losses, gradients = torch.zeros(6, dtype=torch.float64), torch.zeros_like(x)
    losses.index_add_(0, pairs.replica, fed.loss(x[pairs.replica], pairs) / fed.clients)
    gradients.index_add_(0, pairs.replica, fed.exact_gradient(x[pairs.replica], pairs) / fed.clients)
    torch.testing.assert_close(fed.global_loss(x), losses, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(fed.global_gradient(x), gradients, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_a_pair_does_not_see_its_batch(sizes: tuple[int, ...]) -> None:
    """Gradients agree to rounding, and noise to the last bit, whatever else is in the batch."""
    fed = random_federation(sizes, gradient_noise=0.5)
    mask = torch.rand(7, fed.clients, generator=torch.Generator().manual_seed(1)) < 0.7
    ids = torch.arange(100, 107)
    whole = Pairs.of(mask, ids, seed=3, round=5).at_step(2)
    x = points(fed, len(whole))
    gradient, noise = fed.gradient(x, whole), fed.draw_noise(whole)
    for rows in (slice(0, 1), slice(1, 4), slice(4, 7)):
        part = Pairs.of(mask[rows], ids[rows], seed=3, round=5).at_step(2)
        inside = (whole.replica >= rows.start) & (whole.replica < rows.stop)
        torch.testing.assert_close(fed.gradient(x[inside], part), gradient[inside], rtol=1e-12, atol=1e-12)
        assert torch.equal(fed.draw_noise(part), noise[inside])
    assert not torch.equal(fed.draw_noise(whole.at_step(3)), noise)


@pytest.mark.parametrize("noise", ["two-point", "gaussian"])
def test_noise_has_the_variance_given(noise: str) -> None:
    """1,000 draws: two-point noise has squared norm sigma^2 each time (1e-6 leaves room for float32); the mean of the
    Gaussian's has relative standard error sqrt(2 / 12000) = 1.3 percent, and five of them are allowed."""
    fed = random_federation(gradient_noise=0.7, noise=noise)
    pairs = all_pairs(fed, 250)
    x = points(fed, len(pairs))
    added = fed.gradient(x, pairs) - fed.exact_gradient(x, pairs)
    squares = added.square().sum(1)
    assert abs(float(squares.mean()) / 0.49 - 1) < (1e-6 if noise == "two-point" else 0.065)


def test_large_parameters_stay_accurate() -> None:
    """At W of size 1e8 the cross-entropy is the largest score minus the label's, to rounding; nothing overflows."""
    fed = random_federation(l2=1e-12)
    pairs = all_pairs(fed, 3)
    x = points(fed, len(pairs), 1e8)
    loss = fed.loss(x, pairs) - 0.5 * fed.l2 * x.square().sum(1)
    for k, client in enumerate(pairs.client.tolist()):
        rows, labels = own_rows(fed, client)
        scores = rows @ x[k].view(fed.classes, -1).T
        margin = scores.amax(1) - scores.gather(1, labels[:, None])[:, 0]
        assert abs(float(loss[k] - margin.mean())) <= 1e-6 * float(scores.abs().max())
    assert fed.exact_gradient(1e4 * x, pairs).isfinite().all() and fed.global_loss(x).isfinite().all()


def test_other_precision(digits: Logistic) -> None:
    """float32 agrees to 1e-5, and the optimum and constants are those of the float64 original."""
    single = digits.to(dtype=torch.float32)
    pairs = all_pairs(digits, 2, share=0.2)
    x = points(digits, len(pairs))
    gradient = single.exact_gradient(x.float(), pairs)
    assert gradient.dtype == torch.float32 and single.global_loss(x.float()).dtype == torch.float32
    torch.testing.assert_close(gradient.double(), digits.exact_gradient(x, pairs), rtol=1e-5, atol=1e-5)
    assert single.optimum is digits.optimum and single.optimum.dtype == torch.float64
    again = single.to(dtype=torch.float64)
    assert torch.equal(again.exact_gradient(x, pairs), digits.exact_gradient(x, pairs))
    assert digits._rows.dtype == torch.float64


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_the_gpu(digits: Logistic) -> None:
    moved = digits.to("cuda")
    pairs = all_pairs(digits, 4, share=0.5)
    mask = torch.zeros(4, digits.clients, dtype=torch.bool)
    mask[pairs.replica, pairs.client] = True
    there = Pairs.of(mask.cuda(), torch.arange(4).cuda(), seed=0, round=0)
    x = points(digits, len(pairs))
    expected = digits.exact_gradient(x, pairs)
    torch.testing.assert_close(moved.exact_gradient(x.cuda(), there).cpu(), expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(moved.global_loss(x.cuda()).cpu(), digits.global_loss(x), rtol=1e-12, atol=1e-12)


# The optimum.


def test_optimum_in_closed_form() -> None:
    """One row a = 1 of label 0, two classes: w_0 = -w_1 = w with l2 w = 1 / (1 + exp(2 w))."""
    fed = Logistic([[[1.0]]], [[0]], l2=0.3)
    w = brentq(lambda w: 0.3 * w - 1 / (1 + np.exp(2 * w)), 0, 10, xtol=1e-15)
    assert fed.optimum.tolist() == pytest.approx([w, -w], abs=1e-12)
    assert fed.optimal_value == pytest.approx(np.log1p(np.exp(-2 * w)) + 0.3 * w**2, abs=1e-14)


@pytest.mark.parametrize("l2", [1e-3, 1e-1, 10.0])
def test_optimum_against_scikit_learn(l2: float) -> None:
    """Its solver stops at a gradient of 1e-9 in its own scaling; the distance is at most that over l2, some 1e-6."""
    from sklearn.linear_model import LogisticRegression

    fed = random_federation((5, 40, 11), columns=6, classes=4, l2=l2)
    solver = LogisticRegression(C=1 / l2, fit_intercept=False, tol=1e-9, max_iter=10_000)
    solver.fit(fed._rows.numpy(), fed._labels.numpy(), sample_weight=fed._weights.numpy())
    distance = np.linalg.norm(solver.coef_.ravel() - fed.optimum.numpy())
    assert distance < 1e-5
    assert fed.optimal_value <= float(fed.global_loss(torch.from_numpy(solver.coef_.reshape(1, -1)))[0]) + 1e-14


@pytest.mark.parametrize("l2", [1e-6, 1e-2, 1e3])
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e3])
def test_certificates(l2: float, size: float) -> None:
    """Problems of condition number up to 1e12: the norm is that of the gradient there, and as small as promised."""
    base = random_federation(l2=l2)
    parts = [own_rows(base, i) for i in range(base.clients)]
    fed = Logistic([size * rows.numpy() for rows, _ in parts], [y.numpy() for _, y in parts], l2, classes=3)
    at_zero = float(fed.global_gradient(torch.zeros(1, fed.dimension, dtype=torch.float64)).norm())
    assert fed.optimum_gradient_norm <= 1e-10 * at_zero
    measured = float(fed.global_gradient(fed.optimum[None]).norm())
    assert measured == pytest.approx(fed.optimum_gradient_norm, abs=1e-13 * size)
    assert fed.optimum_error == fed.optimum_gradient_norm / l2
    assert fed.optimal_value_error == fed.optimum_gradient_norm**2 / (2 * l2)
    assert fed.optimal_value == pytest.approx(float(fed.global_loss(fed.optimum[None])[0]), rel=1e-12)


def test_certificates_hold_of_a_poor_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """An early stop is within its own certificates of the true optimum, though not within a twentieth of them."""
    true, poor = random_federation(l2=0.5), random_federation(l2=0.5)
    _ = true.optimum
    monkeypatch.setattr(logistic_optimum, "_TOLERANCE", 0.2)
    distance = float((poor.optimum - true.optimum).norm())
    assert poor.optimum_error / 20 < distance <= poor.optimum_error
    assert poor.optimal_value_error / 400 < poor.optimal_value - true.optimal_value <= poor.optimal_value_error
    largest = max(float(reference_gradient(true, true.optimum, i).norm()) for i in range(true.clients))
    constant = poor.constants()["dissimilarity_at_optimum"]
    at_poor = max(float(reference_gradient(true, poor.optimum, i).norm()) for i in range(true.clients))
    assert largest <= constant.value and constant.kind == "bound"
    slack = poor.constants()["smoothness"].value * poor.optimum_error
    assert constant.value == pytest.approx(at_poor + slack, rel=1e-9)


def test_missing_the_certificate_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logistic_optimum, "_NEWTON_STEPS", 2)
    with pytest.raises(RuntimeError, match=r"no optimum: \|grad F\| = .* after 2 Newton steps"):
        _ = random_federation().optimum


def test_optimum_of_digits(digits: Logistic) -> None:
    assert digits.optimum_gradient_norm <= 1e-10 and digits.optimum_error <= 1e-9
    assert float(digits.global_gradient(digits.optimum[None]).norm()) <= 1e-10


# What is refused.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"l2": 0.0}, "l2 = 0.0: allowed is a finite number > 0"),
        ({"l2": float("nan")}, "l2 = nan"),
        ({"classes": 1}, "classes = 1: allowed is an integer >= 2"),
        ({"classes": 2.5}, "classes = 2.5"),
        ({"labels": [[2], [0]], "classes": 2}, "classes = 2: allowed is an integer >= 3"),
        ({"gradient_noise": -1.0}, "gradient_noise = -1.0"),
        ({"noise": "uniform"}, "noise = 'uniform'"),
        ({"features": [], "labels": []}, "0 features and 0 labels"),
        ({"labels": [[0]]}, "2 features and 1 labels"),
        ({"features": [[[1.0]], [[1.0, 2.0]]]}, r"features\[1\] has shape \(1, 2\)"),
        ({"features": [[1.0], [1.0]]}, r"features\[0\] has shape \(1,\)"),
        ({"features": [[[1.0]], np.zeros((0, 1))]}, r"features\[1\] has shape \(0, 1\)"),
        ({"features": [[[1.0]], [[np.inf]]]}, r"features\[1\] has entries that are not finite"),
        ({"labels": [[0], [0, 1]]}, r"labels\[1\] of shape \(2,\)"),
        ({"labels": [[0], [-1]]}, r"labels\[1\] of shape"),
        ({"labels": [[0], [0.5]]}, r"labels\[1\] of shape"),
    ],
)
def test_refuses_wrong_arguments(change: dict, message: str) -> None:
    arguments = {"features": [[[1.0]], [[2.0]]], "labels": [[0], [1]], "l2": 0.1} | change
    with pytest.raises(ValueError, match=message):
        Logistic(**arguments)


def test_refuses_wrong_points() -> None:
    fed = Logistic([[[1.0]], [[2.0]]], [[0], [1]], l2=0.1)
    pairs = all_pairs(fed, 3)
    for method in (fed.loss, fed.exact_gradient):
        with pytest.raises(ValueError, match=r"x has shape \(5, 2\): allowed is \(6, 2\)"):
            method(torch.zeros(5, 2, dtype=torch.float64), pairs)
        with pytest.raises(ValueError, match="pairs are of 3 clients: allowed is 2"):
            method(torch.zeros(3, 2, dtype=torch.float64), Pairs.of(torch.ones(1, 3) > 0, torch.arange(1), 0, 0))
    for method in (fed.global_loss, fed.global_gradient):
        with pytest.raises(ValueError, match=r"x has shape \(2,\): allowed is \(replicas, 2\)"):
            method(torch.zeros(2, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"region.centre has shape \(3,\): allowed is \(2,\)"):
        fed.constants(Region(np.zeros(3), 1.0))


def test_the_optimum_is_found_once_for_the_same_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another federation of the same data knows it; one of other data, labels, weight or l2 does not."""
    calls: list[float] = []
    minimise = logistic_optimum.minimise

    def counted(*arguments: object) -> object:
        calls.append(0.0)
        return minimise(*arguments)

    monkeypatch.setattr(logistic_optimum, "_KNOWN", type(logistic_optimum._KNOWN)())
    monkeypatch.setattr(logistic_optimum, "_MOST_KNOWN", 3)
    monkeypatch.setattr(logistic_optimum, "minimise", counted)
    rows, labels = [[[0.5, 1.0], [2.0, -1.0]], [[1.0, 1.0]]], [[0, 1], [1]]
    made = [Logistic(rows, labels, 0.1) for _ in range(2)]
    assert made[0].optimum.tolist() == made[1].optimum.tolist() and len(calls) == 1
    others = [
        Logistic(rows, labels, 0.2),
        Logistic(rows, [[1, 1], [0]], 0.1),
        Logistic([rows[0], [[1.0, 2.0]]], labels, 0.1),
    ]
    assert len({tuple(each.optimum.tolist()) for each in [*others, made[0]]}) == 4 and len(calls) == 4
    assert (
        Logistic(rows, labels, 0.1).optimum.tolist() == made[0].optimum.tolist() and len(calls) == 5
    )  # it was the oldest


def test_the_gap_is_that_of_the_point_asked_for(digits: Logistic) -> None:
    """The last one is kept."""
    for scale in (0.0, 0.0, 0.1, 0.0, 0.2):
        x = torch.full((1, digits.dimension), scale, dtype=torch.float64)
        x[0, : digits.dimension // 2] = 0
        wanted = digits.global_loss(x) - digits.optimal_value
        assert torch.equal(digits.gap(x), wanted)
        digits.gap(x).add_(1)  # changes nothing that is kept
        assert torch.equal(digits.gap(x), wanted)
    both = torch.cat([x, 0 * x])
    assert digits.gap(both).shape == (2,) and digits.to("cpu", "float32").gap(x.float()).dtype == torch.float32
