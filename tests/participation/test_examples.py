"""The table of examples has every process, for any number of clients."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest
import torch

from fedtheory import participation
from fedtheory.experiments.setting_parts import kinds
from fedtheory.participation import Keys, Participation
from fedtheory.participation.examples import examples
from fedtheory.randomness import Axis
from fedtheory.report.site.part_pages import NOT_DRAWN


def processes() -> set[str]:
    """The names of all processes of the package that are no frame for others, found in its modules."""
    modules = [importlib.import_module(f"{participation.__name__}.{each.name}")
               for each in pkgutil.iter_modules(participation.__path__)]  # fmt: skip
    return {
        name for module in modules for name, each in vars(module).items()
        if inspect.isclass(each) and issubclass(each, Participation) and not inspect.isabstract(each)
        and each.__module__ == module.__name__
    }  # fmt: skip


def missing(table: dict[str, Participation]) -> list[str]:
    return sorted(processes() - {name for name, each in table.items() if type(each).__name__ == name})


def test_every_process_has_an_example() -> None:
    assert missing(examples(4)) == [] and examples(4).keys() == processes()
    without = {name: each for name, each in examples(4).items() if name != "GroupChain"}
    assert missing(without) == ["GroupChain"]
    assert missing(without | {"GroupChain": examples(4)["Uniform"]}) == ["GroupChain"]


def test_the_pages_draw_every_process_or_say_why_not() -> None:
    assert kinds("process").keys() == examples(4).keys() | {"ByClass", "Everyone", "recorded_text"}
    assert NOT_DRAWN.keys() == {"LargestNoise", "ByClass", "Everyone", "recorded_text"}


@pytest.mark.parametrize("clients", [2, 3, 4, 5, 7, 12, 33])
def test_examples_are_for_any_number_of_clients(clients: int) -> None:
    keys = Keys(0, Axis.ARBITRARY, torch.arange(64), clients)
    for name, process in examples(clients).items():
        least, most = process.sizes(clients)
        state = process.init(keys)
        for round in range(3):
            counts, state = process.step(state, round)
            assert counts.shape == (64, clients), name
            present = counts.sum(1)
            assert least <= present.min() and present.max() <= most, name


def test_a_single_client_is_refused() -> None:
    with pytest.raises(ValueError, match="clients = 1"):
        examples(1)
