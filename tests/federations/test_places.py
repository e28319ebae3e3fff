"""Tensors are made where a federation first computes, and anew where it is moved to."""

import pytest
import torch

from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.federations.base import ConvexFederation, Pairs

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
