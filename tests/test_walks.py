"""How many modules something enters, and whether the pictures of it are those of the code."""

from __future__ import annotations

from itertools import pairwise

import pytest

from .walks import ACTIONS, VOCABULARY, WAYS, picture, rooms, walk

MOST = {"claim": 23, "instance": 25, "exact": 22, "run": 32, "proof": 20}
"""Modules that are entered besides. A proof makes its claim anew, and reads off the algorithm of the engine which
rounds it is about."""


@pytest.fixture(scope="module")
def walks() -> dict[str, list[str]]:
    return {name: walk(action) for name, action in ACTIONS.items()}


@pytest.mark.parametrize("name", ACTIONS)
def test_few_modules_are_entered(walks: dict[str, list[str]], name: str) -> None:
    entered = set(walks[name]) - VOCABULARY
    assert len(entered) <= MOST[name], sorted(entered)


@pytest.mark.parametrize("name", ACTIONS)
def test_pictures_are_of_the_code(walks: dict[str, list[str]], name: str) -> None:
    """Drawn anew by `python -m tests.walks`."""
    assert (WAYS / f"{name}.svg").read_text() == picture(walks[name])


def test_a_walk_is_followed() -> None:
    stays = walk(ACTIONS["exact"])
    assert "moments" in rooms(stays) and "report" not in rooms(stays)
    assert all(a != b for a, b in pairwise(stays))
