"""A federation holds large arrays: it is freed when the last name of it goes, not by a later search for cycles."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from fedtheory import Setting, algorithms, participation
from fedtheory.federations import Federation

from .table import STARTS, logistic, network, quadratic

MADE: dict[str, Callable[[], Federation]] = {"quadratic": quadratic, "logistic": logistic, "network": network}


def simulate(federation: Federation, start: list[float] | None) -> None:
    algorithm = algorithms.fedavg(local_lr="1/8", local_steps=2)
    setting = Setting(federation, algorithm, participation.Uniform(2), start=start)
    setting.simulate(replicas=2, rounds=2, seed=0)


@pytest.mark.parametrize("kind", MADE)
def test_a_federation_is_freed_with_its_last_name(kind: str) -> None:
    simulate(MADE[kind](), STARTS[kind])  # what libraries load late may hold on to the first one
    gc.collect()
    gc.disable()
    try:
        federation = MADE[kind]()
        simulate(federation, STARTS[kind])
        moved = federation.to("cpu", federation.dtype)
        found = [weakref.ref(each) for each in (federation, moved)]
        del federation, moved
        assert [each() for each in found] == [None, None]
    finally:
        gc.enable()
