"""Figures of files, drawn once for all tests that look at them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from matplotlib.figure import Figure

from fedtheory.report.drawing import figure_files, read_figure


@pytest.fixture(scope="session")
def drawn() -> Callable[[str], Figure]:
    """Called with a figure's name, the figure."""
    files = {file.name: file for file in map(read_figure, figure_files())}
    return cache(lambda name: files[name].drawn())
