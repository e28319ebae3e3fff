"""Checks as test functions, so that a test file needs one line for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def as_test(subject: Any, **options: Any) -> Callable[[], None]:
    """Return a test function, for pytest or any other runner, that checks ``subject``:

        test_mine = as_test(MyEstimator())

    The check is `check_participation` for a ``Participation``, `check_algorithm` for an ``Algorithm`` or a step (a
    function of x, memory and round), and `check_weight_estimator` for anything else.

    Args:
        options: keyword arguments of the check.

    >>> from fedtheory.weights import FedAU
    >>> test_mine = as_test(FedAU(cutoff=5), participation_probability=0.3)
    >>> test_mine()
    """

    def test() -> None:
        _check(subject)(subject, **options)

    test.__doc__ = f"{type(subject).__name__} keeps what its users rely on."
    return test


def _check(subject: Any) -> Callable[..., Any]:
    from ..weights import WeightRule
    from .weight_checks import check_weight_estimator

    if isinstance(subject, WeightRule) or hasattr(subject, "batch"):
        return check_weight_estimator
    from ..algorithms import Algorithm
    from ..participation import Participation
    from .algorithm_checks import check_algorithm
    from .process_checks import check_participation

    if isinstance(subject, Participation):
        return check_participation
    code = getattr(subject, "__code__", None)
    if isinstance(subject, Algorithm) or (code is not None and code.co_argcount >= 3):
        return check_algorithm
    return check_weight_estimator
