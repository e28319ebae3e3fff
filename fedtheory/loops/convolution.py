"""First block of a network, compiled: 3 x 3 convolution of few channels, max-pool of 2 x 2 pixels, ReLU.

It replaces the torch line ``relu(max_pool2d(conv2d(x, weight, bias), 2))`` of ``torch.nn.functional``, and its gradient
by weight and bias.

Each pooled pixel comes from 4 x 4 pixels of the image, whose convolution at four places need not be kept: the largest
of the four, and which it was, are enough for the gradient by the weights. Sixteen channels of the output are computed
at once (``lanes``).

Images (B, channels, H, W) come with the zeros around them that are their padding; weights are (channels, 9, outputs);
what comes out has its channels last, (B, (H - 2) // 2, (W - 2) // 2, outputs), in float32 or as the bits of half
precision (``lanes``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled
from .lanes import (
    LANES,
    fma,
    load,
    sixteen,
    store,
    store_bytes,
    where_equal,
    where_larger,
    zeros,
)

Array = np.ndarray[Any, Any]

NOWHERE = np.float32(4)


@compiled
def forwards(
    images: Array, weight: Array, bias: Array, y: Array, which: Array, kink: bool, first: int, last: int
) -> None:
    """Fill the pooled outputs y, and which of the four pixels was the largest, as ``max_pool.forwards`` does.

    With ``kink`` ReLU follows, and 4 stands where it gives 0. The images are those from ``first`` to before
    ``last``.
    """
    height, width, outputs = y.shape[1:]
    channels = images.shape[1]
    none = zeros()
    for b in range(first, last):
        for o in range(0, outputs, LANES):
            start = load(bias, o)
            for i in range(height):
                for j in range(width):
                    s0 = s1 = s2 = s3 = start
                    for c in range(channels):
                        w = _nine(weight, (c * 9) * outputs + o, outputs)
                        image = images[b, c]
                        s0 = _scored(image, 2 * i, 2 * j, w, s0)
                        s1 = _scored(image, 2 * i, 2 * j + 1, w, s1)
                        s2 = _scored(image, 2 * i + 1, 2 * j, w, s2)
                        s3 = _scored(image, 2 * i + 1, 2 * j + 1, w, s3)
                    at = where_larger(s1, s0, sixteen(np.float32(1)), none)
                    s0 = where_larger(s1, s0, s1, s0)
                    at = where_larger(s2, s0, sixteen(np.float32(2)), at)
                    s0 = where_larger(s2, s0, s2, s0)
                    at = where_larger(s3, s0, sixteen(np.float32(3)), at)
                    s0 = where_larger(s3, s0, s3, s0)
                    if kink:
                        at = where_larger(s0, none, at, sixteen(NOWHERE))
                        s0 = where_larger(s0, none, s0, none)
                    place = ((b * height + i) * width + j) * outputs + o
                    store(y, place, s0)
                    store_bytes(which, place, at)


@compiled
def backwards(images: Array, slope: Array, which: Array, weight: Array, bias: Array, first: int, last: int) -> None:
    """Turn the gradient at the pooled outputs into those by the weights and biases, of each image by itself.

    They are weight (B, channels, 9, outputs) and bias (B, outputs).
    """
    height, width, outputs = slope.shape[1:]
    channels = images.shape[1]
    none = zeros()
    for b in range(first, last):
        for o in range(0, outputs, LANES):
            for c in range(channels):
                image = images[b, c]
                s = (none, none, none, none, none, none, none, none, none)
                summed = none
                for i in range(height):
                    for j in range(width):
                        place = ((b * height + i) * width + j) * outputs + o
                        given, at = load(slope, place), load(which, place)
                        g0 = where_equal(at, none, given, none)
                        g1 = where_equal(at, sixteen(np.float32(1)), given, none)
                        g2 = where_equal(at, sixteen(np.float32(2)), given, none)
                        g3 = where_equal(at, sixteen(np.float32(3)), given, none)
                        s = _felt(image, 2 * i, 2 * j, g0, s)
                        s = _felt(image, 2 * i, 2 * j + 1, g1, s)
                        s = _felt(image, 2 * i + 1, 2 * j, g2, s)
                        s = _felt(image, 2 * i + 1, 2 * j + 1, g3, s)
                        summed = fma(np.float32(1), where_equal(at, sixteen(NOWHERE), none, given), summed)
                _put_nine(weight, ((b * channels + c) * 9) * outputs + o, outputs, s)
                store(bias, b * outputs + o, summed)


@compiled
def _scored(image: Array, i: int, j: int, w: Any, s: Any) -> Any:
    """s plus the products of nine pixels from (i, j) on with the weights."""
    s = fma(image[i, j], w[0], s)
    s = fma(image[i, j + 1], w[1], s)
    s = fma(image[i, j + 2], w[2], s)
    s = fma(image[i + 1, j], w[3], s)
    s = fma(image[i + 1, j + 1], w[4], s)
    s = fma(image[i + 1, j + 2], w[5], s)
    s = fma(image[i + 2, j], w[6], s)
    s = fma(image[i + 2, j + 1], w[7], s)
    return fma(image[i + 2, j + 2], w[8], s)


@compiled
def _felt(image: Array, i: int, j: int, g: Any, s: Any) -> Any:
    """Nine sums s plus the products of g with nine pixels from (i, j) on."""
    return (
        fma(image[i, j], g, s[0]),
        fma(image[i, j + 1], g, s[1]),
        fma(image[i, j + 2], g, s[2]),
        fma(image[i + 1, j], g, s[3]),
        fma(image[i + 1, j + 1], g, s[4]),
        fma(image[i + 1, j + 2], g, s[5]),
        fma(image[i + 2, j], g, s[6]),
        fma(image[i + 2, j + 1], g, s[7]),
        fma(image[i + 2, j + 2], g, s[8]),
    )


@compiled
def _nine(array: Array, at: int, apart: int) -> Any:
    return (
        load(array, at),
        load(array, at + apart),
        load(array, at + 2 * apart),
        load(array, at + 3 * apart),
        load(array, at + 4 * apart),
        load(array, at + 5 * apart),
        load(array, at + 6 * apart),
        load(array, at + 7 * apart),
        load(array, at + 8 * apart),
    )


@compiled
def _put_nine(array: Array, at: int, apart: int, s: Any) -> None:
    store(array, at, s[0])
    store(array, at + apart, s[1])
    store(array, at + 2 * apart, s[2])
    store(array, at + 3 * apart, s[3])
    store(array, at + 4 * apart, s[4])
    store(array, at + 5 * apart, s[5])
    store(array, at + 6 * apart, s[6])
    store(array, at + 7 * apart, s[7])
    store(array, at + 8 * apart, s[8])
