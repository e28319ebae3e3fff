"""The heat map shows how many samples of each label every client has, by group where there are groups."""

from __future__ import annotations

import numpy as np

from fedtheory.data import LabelGroups, LabelsPerClient, load
from fedtheory.report import plot_partition


def test_cells_bars_and_numbers_are_the_counts() -> None:
    digits = load("digits")
    parts = LabelsPerClient(clients=5, labels=3, samples=91).split(digits)
    counts = parts.counts(digits.labels, 10)
    above, below, _ = plot_partition(parts, digits.labels, 10, class_names=tuple("abcdefghij")).axes
    np.testing.assert_array_equal(below.images[0].get_array(), counts.T)
    assert [bar.get_height() for bar in above.patches] == [91] * 5
    written = {(*map(int, text.get_position()), int(text.get_text())) for text in below.texts}
    assert written == {(i, c, counts[i, c]) for i, c in np.argwhere(counts)}
    assert [label.get_text() for label in below.get_yticklabels()] == list("abcdefghij")


def test_clients_are_ordered_by_group() -> None:
    digits = load("digits")
    parts = LabelGroups(clients=40).split(digits)
    _, below, _ = plot_partition(parts, digits.labels).axes
    order = np.argsort(parts.groups, kind="stable")
    np.testing.assert_array_equal(below.images[0].get_array(), parts.counts(digits.labels)[order].T)
    assert [line.get_xdata()[0] for line in below.lines] == [4 * k - 0.5 for k in range(1, 10)]
    assert below.get_xlabel() == "client, by group"
