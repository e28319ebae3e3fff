"""Every process of the table keeps what the engine and exact moments rely on, by the check that anybody's is given."""

from __future__ import annotations

import pytest

from fedtheory.testing import check_participation

from .table import CLIENTS, PROCESSES


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_passes_its_check(name: str) -> None:
    process = PROCESSES[name]
    checked = check_participation(process, CLIENTS)
    assert {"far rounds", "any chunk of rounds", "moments of one round", "replicas independent"} <= {*checked}
    followed = process.independent_rounds or hasattr(process, "twice")
    assert ("dependence between rounds" in checked) == followed
