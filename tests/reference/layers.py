"""A network of two layers once more: plain loops over points, units and classes, on floats and lists."""

from __future__ import annotations

import math

Vector = list[float]


class TwoLayers:
    """Scores W2 tanh(W1 a + b1) + b2 and cross-entropy; x holds W1 row by row, b1, W2 row by row, b2."""

    def __init__(
        self, rows: list[list[Vector]], labels: list[list[int]], inputs: int, hidden: int, classes: int
    ) -> None:
        self.rows, self.labels = rows, labels
        self.inputs, self.hidden, self.classes = inputs, hidden, classes
        self.clients = len(rows)

    def layers(self, x: Vector) -> tuple[list[Vector], Vector, list[Vector], Vector]:
        p, h, c = self.inputs, self.hidden, self.classes
        first = [x[i * p : (i + 1) * p] for i in range(h)]
        second = [x[h * p + h + i * h : h * p + h + (i + 1) * h] for i in range(c)]
        return first, x[h * p : h * p + h], second, x[h * p + h + c * h :]

    def forward(self, x: Vector, row: Vector) -> tuple[Vector, Vector]:
        """What the hidden units put out, and the scores."""
        first, shift, second, bias = self.layers(x)
        units = [math.tanh(sum(w * a for w, a in zip(ws, row, strict=True)) + b)
                 for ws, b in zip(first, shift, strict=True)]  # fmt: skip
        scores = [sum(w * u for w, u in zip(ws, units, strict=True)) + b for ws, b in zip(second, bias, strict=True)]
        return units, scores

    def gradient(self, i: int, x: Vector) -> Vector:
        total = [0.0] * len(x)
        second = self.layers(x)[2]
        for row, label in zip(self.rows[i], self.labels[i], strict=True):
            units, scores = self.forward(x, row)
            powers = [math.exp(s) for s in scores]
            off = [powers[c] / sum(powers) - (1.0 if c == label else 0.0) for c in range(self.classes)]
            slopes = [(1 - units[j] ** 2) * sum(off[c] * second[c][j] for c in range(self.classes))
                      for j in range(self.hidden)]  # fmt: skip
            each = [slopes[j] * row[k] for j in range(self.hidden) for k in range(self.inputs)] + slopes
            each += [off[c] * units[j] for c in range(self.classes) for j in range(self.hidden)] + off
            total = [t + e for t, e in zip(total, each, strict=True)]
        return [t / len(self.rows[i]) for t in total]

    def accuracy(self, x: Vector) -> float:
        """The mean over clients of the share of points that the highest score puts in their class."""
        shares = []
        for rows, labels in zip(self.rows, self.labels, strict=True):
            guesses = [max(range(self.classes), key=self.forward(x, row)[1].__getitem__) for row in rows]
            shares.append(sum(g == y for g, y in zip(guesses, labels, strict=True)) / len(labels))
        return sum(shares) / len(shares)
