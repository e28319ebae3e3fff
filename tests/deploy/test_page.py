"""The examples of docs/real-clients.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fedtheory.extras import absent
from fedtheory.participation import read_log
from tests.test_readme import DOCS, example, examples, printed

PAGE = DOCS / "real-clients.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the page is not beside the tests")


def test_a_server_without_a_framework(tmp_path: Path) -> None:
    """Updates of 1, weights of 1: two of three clients in round 0, one of three in round 2."""
    last, mask = printed(example(PAGE, "with Server("), tmp_path)
    rounds, *model = last.replace("[", " ").replace("]", " ").split()
    assert rounds == "3" and [float(x) for x in model] == pytest.approx([1, 1], abs=1e-15)
    assert ast.literal_eval(mask) == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]
    assert read_log(tmp_path / "state" / "log.csv").names == ("a", "b", "c")


@pytest.mark.skipif(absent("flwr"), reason="the extra 'flower' is not installed")
def test_a_server_app_of_flower(tmp_path: Path) -> None:
    assert printed(example(PAGE, "ServerApp"), tmp_path) == ["ServerApp"]


@pytest.mark.skipif(absent("nvflare"), reason="the extra 'nvflare' is not installed")
def test_a_controller_of_nvflare(tmp_path: Path) -> None:
    assert printed(example(PAGE, "DeployedController"), tmp_path) == ["DeployedController"]


def test_there_are_no_other_examples() -> None:
    assert len(examples(PAGE)) == 3
