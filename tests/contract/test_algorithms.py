"""Every algorithm of the table passes the check that anybody's is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fedtheory.participation import Bernoulli
from fedtheory.testing import FixedPointError, check_algorithm

from .table import ALGORITHMS

P = ["1/4", "1/2", "1/2", "1/3"]
OMEGA = [1, 2, "1/2", 3]
OPTIONS: Mapping[str, dict[str, Any]] = {
    "known": {"settles_under": Bernoulli(P)},
    "constant": {"objective_weight": OMEGA},
    "by samples": {"objective_weight": OMEGA},
}
"""Where an algorithm is to settle, other than at the plain mean with everyone there."""

ELSEWHERE = {"given"}
"""Its two rows of weights, in turns, have no one objective."""


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_passes_its_check(name: str) -> None:
    if name in ELSEWHERE:
        with pytest.raises(FixedPointError):
            check_algorithm(ALGORITHMS[name])
        return
    checked = check_algorithm(ALGORITHMS[name], **OPTIONS.get(name, {}))
    assert {"replicas alone and in a batch", "runs that were stopped", "single precision"} <= {*checked}


@pytest.mark.parametrize("name", OPTIONS)
def test_where_it_settles_is_told_from_elsewhere(name: str) -> None:
    with pytest.raises(FixedPointError):
        check_algorithm(ALGORITHMS[name])
