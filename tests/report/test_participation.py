"""The picture shows the run and the law."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.participation import Cyclic, DayNightGroups, IndexGamma, Uniform, history
from fedtheory.report.participation import plot_participation

PROCESSES = [IndexGamma(3), Uniform(5, replacement=True), Cyclic([0.3] * 12), DayNightGroups([0] * 12, [9.0], [1.0])]


@pytest.mark.parametrize("process", PROCESSES, ids=lambda p: type(p).__name__)
def test_the_picture_shows_the_run_and_the_law(process):
    figure = plot_participation(process, clients=12, rounds=31, seed=4)
    above, below = figure.axes
    counts = history(process, 12, 31, seed=4)[:, 0].numpy()
    image = above.images[0]
    assert (np.asarray(image.get_array()) == counts.T).all()
    assert image.origin == "lower" and image.get_extent() == [-0.5, 30.5, -0.5, 11.5]
    assert image.get_clim() == (0, max(1, counts.max()))
    assert [bar.get_height() for bar in below.patches] == counts.mean(axis=0).tolist()
    expected = np.mean([process.marginal(12, r).first.astype(float) for r in range(31)], axis=0)
    np.testing.assert_allclose(below.lines[0].get_ydata(), expected, rtol=1e-12)
    assert [text.get_text() for text in below.get_legend().get_texts()] == ["expected", "this run"]
    assert type(process).__name__ in above.get_title(loc="left")
