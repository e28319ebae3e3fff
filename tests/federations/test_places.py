"""Tensors are made where a federation first computes, and anew where it is moved to."""

import pytest
import torch

from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.federations.federation import ConvexFederation, Pairs

QUADRATIC = Quadratic([[[2, 1], [1, 3]], [[1, 0], [0, 1]]], [[1, 2], [3, 4]])
TILTED = Quadratic.with_slopes([[1, 2], [3, 1]], [[1, 0], [2, 1]])
KINKED = Piecewise([[PiecewiseLinear([1, 2], [0])], [PiecewiseLinear([1, 3], [1])]], server_noise=0)


@pytest.mark.parametrize("fed", [QUADRATIC, TILTED, KINKED], ids=["quadratic", "tilted", "kinked"])
def test_a_copy_computes_in_its_own_precision(fed: ConvexFederation) -> None:
    """Also one that was made after the original had computed; the original goes on in its own."""
    for name in ("float64", "float32", "float64"):
        to, dtype = fed if name == "float64" else fed.to("cpu", name), getattr(torch, name)
        x = torch.ones(1, fed.dimension, dtype=dtype)
        pairs = Pairs.of(torch.tensor([[True, False]]), torch.tensor([0]), 0, 0)
        for found in (to.exact_gradient(x, pairs), to.global_gradient(x), to.loss(x, pairs), to.global_loss(x)):
            assert found.dtype == dtype


SOURCES = {
    "quadratic": (
        lambda: Quadratic([[2, 1], [1, 3]], [[1, 2], [3, 4]]),
        {"_given_products", "centres", "_rounded_optimum"},
    ),
    "tilted": (lambda: Quadratic.with_slopes([[1, 2], [3, 1]], [[1, 0], [2, 1]]), {"_given_products", "exact_slopes"}),
    "kinked": (lambda: Piecewise([[PiecewiseLinear([1, 2], [0])]] * 2), {"mean_gradient"}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_copies_share_what_their_tensors_are_made_of(name: str) -> None:
    """It takes long for many clients, and every run makes a copy."""
    build, sources = SOURCES[name]
    fed = build()
    one, other = fed.to("cpu", "float32"), fed.to("cpu", "float64")
    x, pairs = torch.ones(1, fed.dimension), Pairs.of(torch.tensor([[True, False]]), torch.tensor([0]), 0, 0)
    one.exact_gradient(x, pairs), one.global_loss(x)
    assert all(vars(one)[each] is vars(other)[each] for each in sources)


def test_exact_numbers_make_no_tensor() -> None:
    fed = Quadratic([[2, 1], [1, 3]], [[1, 2], [3, 4]])
    assert fed.constants()["smoothness"].value == 3 and fed.exact_optimum.shape == (2,)
    assert not [name for name, value in vars(fed).items() if isinstance(value, torch.Tensor)]


def test_constants_are_found_once_and_those_on_a_region_apart() -> None:
    from fedtheory.federations.constants import Region

    for fed in (QUADRATIC, KINKED):
        assert fed.constants() is fed.constants()
        region = Region(centre=[0.0] * fed.dimension, radius=1.0)
        assert fed.constants(region)["dissimilarity"].value < fed.constants()["dissimilarity"].value
