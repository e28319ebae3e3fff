"""Multinomial logistic regression, compiled: the scores of a batch, softmax, and plain steps, pair after pair.

It replaces, for every step, the torch lines ``errors = softmax(samples @ weight.T + bias, 1) - one_hot(labels)`` and
``weight -= size / B * errors.T @ samples``, likewise for ``bias``. In evaluation it replaces ``cross_entropy(samples @
weight.T + bias, labels, reduction="none")``.

Scores are sums of sixteen partial sums (``lanes``), of four samples by five classes at a time: as many as stay in a
processor's registers. Where samples or classes do not fill these, the last one is computed again, to the same bits.
While a batch is worked on, the samples of the next one are fetched: most of the time goes by waiting for them.

Arrays here have rows of a multiple of sixteen numbers, ``width``, filled up by zeros: ``rows`` (B, width) of samples,
``weight`` (classes, width). ``source`` is ``rows`` or, where samples can be used as they lie, all of them, and ``at``
(B,) says where in it the samples of the batch begin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .compiler import compiled
from .elementary import log_single
from .lanes import LANES, fetch, fma, load, store, total, zeros

Array = np.ndarray[Any, Any]
Scaling = tuple[np.float32, Array, Array]

MANY = 64
"""Samples whose scores are judged at once."""

HALF, ONE, LEAST, LOG2_E = np.float32(0.5), np.float32(1), np.float32(-87), np.float32(1 / math.log(2))
LN2_FRONT = np.float32(355 / 512)
"""The first bits of log(2), whose product with a small whole number is exact."""
LN2_REST = np.float32(math.log(2) - 355 / 512)
THIRD, FOURTH, FIFTH, SIXTH, SEVENTH = (np.float32(1 / math.factorial(n)) for n in (3, 4, 5, 6, 7))


@compiled
def unfit(index: Array, labels: Array, classes: int) -> int:
    """Return 1 if ``index`` (P, K, B) names a sample that is not there, 2 if a label it leads to is no class, else
    0."""
    for i in index.flat:
        if i < 0 or i >= len(labels):
            return 1
        if labels[i] < 0 or labels[i] >= classes:
            return 2
    return 0


@compiled
def train(
    x: Array,
    place: tuple[int, int, int],
    features: Array,
    numbers: Array,
    scaling: Scaling,
    labels: Array,
    index: Array,
    weights: Array,
    sizes: Array,
    losses: Array,
    first: int,
    last: int,
) -> None:
    """Make all steps of the pairs from ``first`` to before ``last``, on x (P, D) in place.

    ``place`` is where weight and bias begin in a model, and the number of classes. ``features`` (N, p) are floats or
    bytes a, which stand for (a / largest - mean) / std. ``scaling`` is (largest, mean, std) with mean and std (p,), or
    empty for a / largest. ``numbers`` are the array of features where it can be used as it lies, and otherwise an empty
    one. The others are index (P, K, B), sizes (K,) and losses (P, K), and the samples' weights (P, K, B) in the mean
    loss, or an empty array where all count alike; where all are 0, no step is made.
    """
    (at_weight, at_bias, classes), p = place, features.shape[1]
    width = (p + LANES - 1) // LANES * LANES
    steps, batch = index.shape[1:]
    rows, weight = np.zeros((batch, width), np.float32), np.zeros((classes, width), np.float32)
    scores, chosen = np.empty((batch, classes), np.float32), np.empty(batch, np.int64)
    source = numbers if len(numbers) > 0 else rows
    shares = np.empty(batch if len(weights) > 0 else 0, np.float32)
    for q in range(first, last):
        bias = x[q, at_bias : at_bias + classes]
        for c in range(classes):
            weight[c, :p] = x[q, at_weight + c * p : at_weight + (c + 1) * p]
        for k in range(steps):
            now = index[q, k]
            coming = index[q, k + 1] if k + 1 < steps else index[min(q + 1, last - 1), 0]
            if len(weights) > 0 and not _shared(weights[q, k], shares):
                losses[q, k] = 0
                continue
            for b in range(batch):
                chosen[b] = labels[now[b]]
            at = placed(features, numbers, scaling, now, rows)
            scores_of(source, at, weight, bias, scores, features, coming)
            loss, alike = shared_errors(scores, chosen, shares), 1 if len(weights) > 0 else batch
            losses[q, k] = loss / alike
            _step(weight, bias, source, at, scores, np.float32(-sizes[k] / alike))
        for c in range(classes):
            x[q, at_weight + c * p : at_weight + (c + 1) * p] = weight[c, :p]


@compiled
def evaluate(
    weight: Array, bias: Array, features: Array, labels: Array, losses: Array, correct: Array, first: int, last: int
) -> None:
    """Compute losses and whether the label has the largest score, (models, N), for the samples ``first`` to ``last`` -
    1.

    ``features`` (N, p) are floats or bytes. ``weight`` is (models, classes, width) with zeros from p on, and width the
    next multiple of sixteen; ``bias`` is (models, classes).
    """
    models, classes, width = weight.shape
    p, own = features.shape[1], np.empty(MANY, np.int64)
    scores = np.zeros((classes, MANY), np.float32)
    rows = np.zeros((0 if p == width else MANY, width), features.dtype)
    source, places = features if p == width else rows, np.arange(MANY) * width
    for begin in range(first, last, MANY):
        count = min(MANY, last - begin)
        at = places[:count] + (begin * width if p == width else 0)
        for b in range(count):
            own[b] = labels[begin + b]
            if p < width:
                rows[b, :p] = features[begin + b]
        for m in range(models):
            scores_of(source, at, weight[m], bias[m], scores.T, features, at[:0])  # what comes next lies beside it
            span = slice(begin, begin + count)
            _judge(scores, own, losses[m, span], correct[m, span])


@compiled
def _judge(scores: Array, labels: Array, losses: Array, correct: Array) -> None:
    """Losses and hits from the scores, which change."""
    classes, count = len(scores), len(losses)
    highest, place = scores[0].copy(), np.zeros(MANY, np.int32)
    for c in range(1, classes):
        for b in range(MANY):  # NaN counts as larger than any, and the first of equals as the largest
            v, h = scores[c, b], highest[b]
            larger = (v > h) | ((v != v) & (h == h))
            highest[b] = v if larger else h
            place[b] = np.int32(c) if larger else place[b]
    for c in range(classes):
        for b in range(MANY):
            scores[c, b] -= highest[b]
    for b in range(count):
        losses[b] = -scores[labels[b], b]
        correct[b] = place[b] == labels[b]
    exponentials(scores)
    summed = np.zeros(MANY, np.float32)
    for c in range(classes):
        for b in range(MANY):
            summed[b] += scores[c, b]
    for b in range(count):
        losses[b] += log_single(summed[b]) if summed[b] == summed[b] else summed[b]


@compiled
def placed(features: Array, numbers: Array, scaling: Scaling, chosen: Array, rows: Array) -> Array:
    """Return where the chosen samples begin in ``numbers``, or put them into ``rows`` and return where they begin
    there."""
    if len(numbers) > 0:
        return chosen * numbers.shape[1]
    largest, mean, std = scaling
    for b in range(len(chosen)):
        row, own = features[chosen[b]], rows[b]
        for j in range(len(row)):
            own[j] = np.float32(row[j]) / largest
        for j in range(len(mean)):
            own[j] = (own[j] - mean[j]) / std[j]
    return np.arange(len(chosen)) * rows.shape[1]


@compiled
def scores_of(
    source: Array, at: Array, weight: Array, bias: Array, scores: Array, features: Array, coming: Array
) -> None:
    """Compute scores[b, c] = sum_j weight[c, j] sample_b[j] + bias[c], while the samples ``coming`` are fetched."""
    (classes, width), batch, p = weight.shape, len(at), features.shape[1]
    for b in range(0, batch, 4):
        b1, b2, b3 = min(b + 1, batch - 1), min(b + 2, batch - 1), min(b + 3, batch - 1)
        for c in range(0, classes, 5):
            of = _five_rows(c, classes, width)
            s0 = s1 = s2 = s3 = (zeros(), zeros(), zeros(), zeros(), zeros())
            fetching = c == 0 and len(coming) > 0
            for j in range(0, width, LANES):
                if fetching:
                    fetch(features, coming[b] * p + j)
                    fetch(features, coming[b1] * p + j)
                    fetch(features, coming[b2] * p + j)
                    fetch(features, coming[b3] * p + j)
                w = _five(weight, of, j)
                s0, s1 = _more(load(source, at[b] + j), w, s0), _more(load(source, at[b1] + j), w, s1)
                s2, s3 = _more(load(source, at[b2] + j), w, s2), _more(load(source, at[b3] + j), w, s3)
            _totals(scores[b], bias, c, s0)
            _totals(scores[b1], bias, c, s1)
            _totals(scores[b2], bias, c, s2)
            _totals(scores[b3], bias, c, s3)


@compiled
def _step(weight: Array, bias: Array, source: Array, at: Array, errors: Array, size: np.float32) -> None:
    """weight[c] += size sum_b errors[b, c] sample_b, and bias[c] += size sum_b errors[b, c]: sums are added once, so
    that a weight is rounded once."""
    (classes, width), batch = weight.shape, len(at)
    for c in range(classes):
        total = np.float32(0)
        for b in range(batch):
            errors[b, c] *= size
            total += errors[b, c]
        bias[c] += total
    for j in range(0, width, 2 * LANES):
        k = min(j + LANES, width - LANES)
        for c in range(0, classes, 5):
            of = _five_rows(c, classes, width)
            left = right = (zeros(), zeros(), zeros(), zeros(), zeros())
            for b in range(batch):
                e = _five_errors(errors, b, c)
                left = _more_times(e, load(source, at[b] + j), left)
                right = _more_times(e, load(source, at[b] + k), right)
            left, right = _added(left, _five(weight, of, j)), _added(right, _five(weight, of, k))
            _put(weight, of, j, left)
            _put(weight, of, k, right)


@compiled
def _shared(weights: Array, shares: Array) -> bool:
    """Fill in w_b / sum_b w_b, unless all are 0."""
    whole = weights.sum()
    for b in range(len(weights)):
        shares[b] = weights[b] / whole if whole > 0 else 0
    return whole > 0


@compiled
def shared_errors(scores: Array, labels: Array, shares: Array) -> float:
    """Turn scores into softmax minus one at the label, in place, and return the sum of the losses.

    Each is times its sample's share, if there are any. The result is -1, and nothing else is done, where a label is no
    class.
    """
    loss = 0.0
    for label in labels:
        if label < 0 or label >= scores.shape[1]:
            return -1.0
    for b in range(len(labels)):
        row = scores[b]
        row -= _highest(row)
        loss -= row[labels[b]] * (float(shares[b]) if len(shares) > 0 else 1.0)
    exponentials(scores)
    for b in range(len(labels)):
        row = scores[b]
        all_of_them = row.sum()
        loss += math.log(all_of_them) * (float(shares[b]) if len(shares) > 0 else 1.0)
        row /= all_of_them
        row[labels[b]] -= ONE
        if len(shares) > 0:
            row *= shares[b]
    return loss


@compiled
def exponentials(values: Array) -> None:
    """Put exp(v) in the place of each v <= 0, to 2e-7 of it, and 0 at -87 and below; NaN stays.

    That is 2^-k exp(r) of v = r - k log(2) with |r| <= log(2) / 2, by exp's series up to r^7.
    """
    flat = values.ravel()
    exponent = np.empty(len(flat), np.int32)
    for i in range(len(flat)):
        v = flat[i]
        bounded = v if v > LEAST else LEAST
        k = np.int32(HALF - bounded * LOG2_E)
        r = (bounded + np.float32(k) * LN2_FRONT) + np.float32(k) * LN2_REST
        e = (((SEVENTH * r + SIXTH) * r + FIFTH) * r + FOURTH) * r + THIRD
        e = ((e * r + HALF) * r + ONE) * r + ONE
        flat[i] = e if v == v else v
        exponent[i] = np.int32(127 - k) << np.int32(23) if bounded > LEAST else np.int32(0)
    power = exponent.view(np.float32)
    for i in range(len(flat)):
        flat[i] *= power[i]


@compiled
def _highest(row: Array) -> float:
    highest = row[0]
    for each in row:
        highest = max(highest, each)
    return highest


@compiled
def _five_rows(c: int, classes: int, width: int) -> Any:
    """Return where five rows begin, from the c-th on; the last one again where there are fewer."""
    last = classes - 1
    return (
        c * width,
        min(c + 1, last) * width,
        min(c + 2, last) * width,
        min(c + 3, last) * width,
        min(c + 4, last) * width,
    )


@compiled
def _five(weight: Array, of: Any, j: int) -> Any:
    return (
        load(weight, of[0] + j),
        load(weight, of[1] + j),
        load(weight, of[2] + j),
        load(weight, of[3] + j),
        load(weight, of[4] + j),
    )


@compiled
def _put(weight: Array, of: Any, j: int, value: Any) -> None:
    store(weight, of[0] + j, value[0])
    store(weight, of[1] + j, value[1])
    store(weight, of[2] + j, value[2])
    store(weight, of[3] + j, value[3])
    store(weight, of[4] + j, value[4])


@compiled
def _five_errors(errors: Array, b: int, c: int) -> Any:
    last = errors.shape[1] - 1
    return (
        errors[b, c],
        errors[b, min(c + 1, last)],
        errors[b, min(c + 2, last)],
        errors[b, min(c + 3, last)],
        errors[b, min(c + 4, last)],
    )


@compiled
def _more(a: Any, w: Any, s: Any) -> Any:
    return fma(a, w[0], s[0]), fma(a, w[1], s[1]), fma(a, w[2], s[2]), fma(a, w[3], s[3]), fma(a, w[4], s[4])


@compiled
def _more_times(e: Any, a: Any, s: Any) -> Any:
    return fma(e[0], a, s[0]), fma(e[1], a, s[1]), fma(e[2], a, s[2]), fma(e[3], a, s[3]), fma(e[4], a, s[4])


@compiled
def _added(s: Any, w: Any) -> Any:
    return fma(ONE, s[0], w[0]), fma(ONE, s[1], w[1]), fma(ONE, s[2], w[2]), fma(ONE, s[3], w[3]), fma(ONE, s[4], w[4])


@compiled
def _totals(row: Array, bias: Array, c: int, s: Any) -> None:
    last = len(bias) - 1
    for place, value in ((c + 4, s[4]), (c + 3, s[3]), (c + 2, s[2]), (c + 1, s[1]), (c, s[0])):
        row[min(place, last)] = total(value) + bias[min(place, last)]
