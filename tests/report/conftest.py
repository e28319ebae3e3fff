"""Figures of files, drawn once for all tests that look at them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from matplotlib.figure import Figure

from fedtheory.report.drawing import read_figure
from fedtheory.report.figure_files import figure_files


@pytest.fixture(scope="session")
def drawn() -> Callable[[str], Figure]:
    """Called with a figure's name, the figure."""
    files = {file.name: file for file in map(read_figure, figure_files())}
    return cache(lambda name: files[name].drawn())
