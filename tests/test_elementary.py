"""Logarithm, sine and cosine of compiled loops, and square roots, against more digits than they have."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch

from fedtheory.loops import elementary
from fedtheory.loops.compiler import compiled, fma
from fedtheory.loops.square_roots import square_root

KINDS = {"single": np.float32, "double": np.float64}
MANY = 4000


def units(kind: type, found: np.ndarray, exact: list[mpmath.mpf]) -> float:
    """The largest error, in units in the last place of the exact result."""
    with mpmath.workprec(120):
        return max(float(abs(mpmath.mpf(float(f)) - e) / float(np.spacing(kind(abs(e)))))
                   for f, e in zip(found, exact, strict=True))  # fmt: skip


def of(function: object, kind: type, numbers: np.ndarray) -> np.ndarray:
    return np.array([function(kind(x)) for x in numbers])  # type: ignore[operator]


def arguments_of_log(kind: type) -> np.ndarray:
    """All powers of 2 that are normal, numbers beside them and beside sqrt(1/2) times them, and random ones."""
    info, rng = np.finfo(kind), np.random.default_rng(0)
    powers = kind(2) ** np.arange(info.minexp + 1, info.maxexp, dtype=kind)
    beside = [np.nextafter(base, kind(side)) for base in (powers, powers * kind(0.5**0.5)) for side in (0, np.inf)]
    below_one = 1 - rng.random(MANY) * 2.0 ** -rng.integers(0, info.nmant, MANY)
    found = np.concatenate([powers, *beside, below_one, rng.random(MANY), 2 * rng.random(MANY)]).astype(kind)
    return found[(found >= info.tiny) & (found < np.inf) & (found != 1)]


@pytest.mark.parametrize("name", KINDS)
def test_logarithms(name: str) -> None:
    kind, log = KINDS[name], getattr(elementary, f"log_{name}")
    numbers = arguments_of_log(kind)
    with mpmath.workprec(120):
        exact = [mpmath.log(mpmath.mpf(float(x))) for x in numbers]
    assert units(kind, of(log, kind, numbers), exact) < 1.5
    assert log(kind(1)) == 0


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("function", ["sin", "cos"])
def test_sines_and_cosines(function: str, name: str) -> None:
    kind, rng = KINDS[name], np.random.default_rng(1)
    sizes = [rng.random(MANY), 2.0 ** -rng.integers(0, 60, MANY), np.linspace(0, 1, 501)[1:]]
    angles = np.concatenate(sizes).astype(kind) * kind(np.pi / 4)
    angles = np.concatenate([angles, -angles])
    with mpmath.workprec(120):
        exact = [getattr(mpmath, function)(mpmath.mpf(float(x))) for x in angles]
    assert units(kind, of(getattr(elementary, f"{function}_{name}"), kind, angles), exact) < 1.5


def test_fma_rounds_once() -> None:
    @compiled
    def squared_less_one(a: float) -> float:
        return fma(a, a, -1.0)

    assert squared_less_one(1 + 2.0**-30) == 2.0**-29 + 2.0**-60


def nearest(root: np.floating, number: np.floating) -> bool:
    """Whether a root is the number of its kind that is nearest to the exact one."""
    below, here, above = (Fraction(float(np.nextafter(root, root.dtype.type(to)))) for to in (0, root, np.inf))
    return ((below + here) / 2) ** 2 <= Fraction(float(number)) <= ((here + above) / 2) ** 2


@pytest.mark.parametrize("name", KINDS)
def test_square_roots_are_rounded_correctly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where torch's are off: here by a unit in the last place."""
    numbers = (np.random.default_rng(0).random(2000) * 2.0 ** np.arange(-100, 100).repeat(10)).astype(KINDS[name])
    root, infinite = torch.sqrt, torch.tensor(torch.inf, dtype=torch.from_numpy(numbers).dtype)
    monkeypatch.setattr(torch, "sqrt", lambda x, **more: torch.nextafter(root(x, **more), infinite))
    given, out = torch.from_numpy(numbers), torch.empty(2000, dtype=infinite.dtype)
    assert all(map(nearest, square_root(given).numpy(), numbers))
    assert square_root(given, out=out) is out and square_root(given, out=given) is given
    assert out.tolist() == given.tolist() and not all(map(nearest, torch.sqrt(out**2).numpy(), numbers))
    assert all(map(nearest, square_root(numbers), numbers))
