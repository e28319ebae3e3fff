"""Max-pools of 2 x 2 pixels, compiled, of images in the order (images, height, width, channels).

They replace the torch line ``max_pool2d(x, 2)`` of ``torch.nn.functional``, the ``relu`` that follows it, and their
gradients.

Which pixel of a window was the largest is kept in a byte, 0 to 3 in the order of rows and columns; 4 says that none
gets a gradient. As in PyTorch the first of several largest ones counts, and the last NaN if there is one. A ReLU that
follows is done on the way, and its gradient too.

Numbers of half precision (bfloat16) come as the whole numbers that their bits are, int16. Signs taken apart, these are
in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled

Array = np.ndarray[Any, Any]

NOWHERE = np.uint8(4)
MAGNITUDE, INFINITE = np.int16(0x7FFF), np.int16(0x7F80)


@compiled
def forwards(x: Array, y: Array, which: Array, kink: bool, first: int, last: int) -> None:
    """Pool the images x (B, H, W, C) from ``first`` to before ``last`` into y (B, H // 2, W // 2, C).

    ``which`` then says which pixels were the largest. With ``kink`` ReLU follows.
    """
    height, width, channels = y.shape[1:]
    for b in range(first, last):
        for i in range(height):
            for j in range(width):
                upper, next_upper = x[b, 2 * i, 2 * j], x[b, 2 * i, 2 * j + 1]
                lower, next_lower = x[b, 2 * i + 1, 2 * j], x[b, 2 * i + 1, 2 * j + 1]
                pooled, place = y[b, i, j], which[b, i, j]
                for c in range(channels):
                    largest, at = upper[c], np.uint8(0)
                    v = next_upper[c]
                    if v > largest or v != v:
                        largest, at = v, np.uint8(1)
                    v = lower[c]
                    if v > largest or v != v:
                        largest, at = v, np.uint8(2)
                    v = next_lower[c]
                    if v > largest or v != v:
                        largest, at = v, np.uint8(3)
                    if kink and largest <= 0:
                        largest, at = x.dtype.type(0), NOWHERE
                    pooled[c] = largest
                    place[c] = at


@compiled
def forwards_in_halves(x: Array, y: Array, which: Array, kink: bool, first: int, last: int) -> None:
    """Pool as ``forwards`` does, for numbers of half precision."""
    height, width, channels = y.shape[1:]
    for b in range(first, last):
        for i in range(height):
            for j in range(width):
                upper, next_upper = x[b, 2 * i, 2 * j], x[b, 2 * i, 2 * j + 1]
                lower, next_lower = x[b, 2 * i + 1, 2 * j], x[b, 2 * i + 1, 2 * j + 1]
                pooled, place = y[b, i, j], which[b, i, j]
                for c in range(channels):
                    largest, at = upper[c], np.uint8(0)
                    best = _ordered(largest)
                    v = next_upper[c]
                    if _ordered(v) > best or (v & MAGNITUDE) > INFINITE:
                        largest, best, at = v, _ordered(v), np.uint8(1)
                    v = lower[c]
                    if _ordered(v) > best or (v & MAGNITUDE) > INFINITE:
                        largest, best, at = v, _ordered(v), np.uint8(2)
                    v = next_lower[c]
                    if _ordered(v) > best or (v & MAGNITUDE) > INFINITE:
                        largest, best, at = v, _ordered(v), np.uint8(3)
                    if kink and best <= 0:
                        largest, at = np.int16(0), NOWHERE
                    pooled[c] = largest
                    place[c] = at


@compiled
def _ordered(bits: np.int16) -> np.int16:
    """A whole number that is larger for larger numbers, 0 for both zeros, and largest for NaN."""
    magnitude = np.int16(bits & MAGNITUDE)
    return magnitude if bits >= 0 or magnitude > INFINITE else np.int16(-magnitude)


@compiled
def backwards(slope: Array, which: Array, into: Array, first: int, last: int) -> None:
    """Put the gradient at a pool's output, (B, H // 2, W // 2, C), where the largest pixels of its input were.

    ``into`` (B, H, W, C) gets zeros elsewhere.
    """
    height, width, channels = slope.shape[1:]
    nothing = slope.dtype.type(0)
    for b in range(first, last):
        for i in range(height):
            for j in range(width):
                given, place = slope[b, i, j], which[b, i, j]
                for at in range(4):  # one at a time, which a compiler can see not to overlap
                    pixel, wanted = into[b, 2 * i + at // 2, 2 * j + at % 2], np.uint8(at)
                    for c in range(channels):
                        pixel[c] = given[c] if place[c] == wanted else nothing
            into[b, 2 * i : 2 * i + 2, 2 * width :] = nothing
        into[b, 2 * height :] = nothing
