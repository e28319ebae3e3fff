"""Draws of randomness.py, compiled: the same hash, and the numbers that are made of its bits.

They replace torch's operations on whole tensors, which do the same elsewhere: ``randomness._mix`` for the hash, signs
by a table of bytes, and ``sqrt(-2 * log(u)) * cos(angle)`` for normal numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled
from .elementary import cos_double, cos_single, log_double, log_single, sin_double, sin_single

U, F, I = np.uint64, np.float32, np.int32
GOLDEN = U(0x9E3779B97F4A7C15)
_FIRST, _SECOND = U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)
AT_ONCE = 2048
"""The most numbers that are made of words at a time, in a cache."""


@compiled
def mix(x: np.uint64) -> np.uint64:
    """Return the finalizer of the hash."""
    x = (x ^ (x >> U(30))) * _FIRST
    x = (x ^ (x >> U(27))) * _SECOND
    return x ^ (x >> U(31))


@compiled
def mix_all(x: np.ndarray) -> None:
    """Do x = mix(x + golden) for each of the uint64 ``x`` (n,)."""
    for i in range(len(x)):
        x[i] = mix(x[i] + GOLDEN)


@compiled
def derive(keys: np.ndarray, out: np.ndarray) -> None:
    """Put the words number 1, 2, ... of each of the ``keys`` (n,) into ``out`` (n, count); all uint64."""
    for i in range(len(keys)):
        for j in range(out.shape[1]):
            out[i, j] = mix(keys[i] + U(j + 1) * GOLDEN)


@compiled
def signs_single(keys: np.ndarray, scale: np.uint32, out: np.ndarray) -> None:
    """Put ``scale`` with random signs into ``out`` (n, dimension), as the bits of float32, uint32.

    The signs are the bits of derived words, lowest first: + for 1.
    """
    dimension = out.shape[1]
    for i in range(len(keys)):
        word = U(0)
        for half in range((dimension + 31) // 32):
            word = (word >> U(32)) if half % 2 else ~mix(keys[i] + U(half // 2 + 1) * GOLDEN)
            low = np.uint32(word)
            row = out[i, 32 * half : min(dimension, 32 * half + 32)]
            for d in range(len(row)):
                row[d] = scale ^ np.uint32(np.uint32(low >> np.uint32(d)) << np.uint32(31))


@compiled
def signs_double(keys: np.ndarray, scale: np.uint64, out: np.ndarray) -> None:
    """Put ``scale`` with random signs into ``out``, as ``signs_single`` does, as the bits of float64, uint64."""
    dimension = out.shape[1]
    for i in range(len(keys)):
        for block in range((dimension + 63) // 64):
            word = ~mix(keys[i] + U(block + 1) * GOLDEN)
            row = out[i, 64 * block : min(dimension, 64 * block + 64)]
            for d in range(len(row)):
                row[d] = scale ^ ((word >> U(d)) << U(63))


@compiled
def signed(keys: np.ndarray, scale: Any, out: np.ndarray) -> None:
    """Call ``signs_single`` or ``signs_double``, by the size of the numbers of ``out``."""
    if out.itemsize == 4:
        signs_single(keys, scale, out)
    else:
        signs_double(keys, scale, out)


@compiled
def _turned(quarter: Any, cosine: Any, sine: Any) -> Any:
    """cos(a + quarter pi / 2) of cos a and sin a."""
    found = sine if quarter & 1 else cosine
    return -found if (quarter + 1) & 2 else found


def normals(keys: np.ndarray, scale: float, out: np.ndarray) -> None:
    """Put ``randomness.normals`` of the ``keys`` (n,) uint64 into ``out`` (n, dimension), float32 or float64."""
    half = -(-out.shape[1] // 2)
    together = max(1, min(len(keys), AT_ONCE // max(1, half)))
    found = np.empty((2, together, half), out.dtype)
    cosines, sines = found.reshape(2, -1)
    if out.dtype == np.float32:
        words, halves = np.empty((together, half), U), np.empty((2, together, half), I)
        radii, angles = halves.reshape(2, -1)
        _normals_single(keys, F(scale), words, words.view(I), halves, radii, angles, found, cosines, sines, out)
    else:
        words = np.empty((together, 2 * half), U)
        _normals_double(keys, float(scale), words, found, cosines, sines, out)


@compiled
def _normals_single(
    keys: np.ndarray,
    scale: np.float32,
    words: np.ndarray,
    bits: np.ndarray,
    halves: np.ndarray,
    radii: np.ndarray,
    angles: np.ndarray,
    found: np.ndarray,
    cosines: np.ndarray,
    sines: np.ndarray,
    out: np.ndarray,
) -> None:
    together, half = words.shape
    for first in range(0, len(keys), together):
        count = min(together, len(keys) - first)
        derive(keys[first : first + count], words)
        for i in range(count):
            for j in range(half):
                halves[0, i, j] = bits[i, j]
                halves[1, i, j] = bits[i, half + j]
        _box_muller_single(radii[: count * half], angles, scale, cosines, sines)
        _put(found, first, count, out)


@compiled
def _box_muller_single(
    radii: np.ndarray, angles: np.ndarray, scale: np.float32, cosines: np.ndarray, sines: np.ndarray
) -> None:
    for i in range(len(radii)):
        u = F(I(radii[i] & I(0x7FFFFFFF))) * F(2.0**-31) + F(2.0**-32)
        radius = np.sqrt(F(-2) * log_single(u)) * scale
        angle = angles[i]
        quarter = I(I(angle + I(1 << 29)) >> I(30))
        a = F(I(angle - I(quarter << I(30)))) * F(np.pi * 2.0**-31)
        cosine, sine = cos_single(a), sin_single(a)
        cosines[i] = radius * _turned(quarter, cosine, sine)
        sines[i] = radius * _turned(quarter - 1, cosine, sine)


@compiled
def _normals_double(
    keys: np.ndarray,
    scale: float,
    words: np.ndarray,
    found: np.ndarray,
    cosines: np.ndarray,
    sines: np.ndarray,
    out: np.ndarray,
) -> None:
    together, half = found.shape[1:]
    for first in range(0, len(keys), together):
        count = min(together, len(keys) - first)
        derive(keys[first : first + count], words)
        for i in range(count):
            for j in range(half):
                found[0, i, j] = _uniform(words[i, j])
                found[1, i, j] = _uniform(words[i, half + j])
        _box_muller_double(cosines[: count * half], sines, scale)
        _put(found, first, count, out)


@compiled
def _box_muller_double(radii: np.ndarray, turns: np.ndarray, scale: float) -> None:
    """Turn uniform numbers into normal ones in place: cosines take the place of what gives radii, sines that of
    angles."""
    for i in range(len(radii)):
        radius = np.sqrt(-2.0 * log_double(radii[i]))
        quarter = np.int64(4.0 * turns[i] + 0.5)
        a = (turns[i] - 0.25 * quarter) * (2.0 * np.pi)
        cosine, sine = cos_double(a), sin_double(a)
        radii[i] = radius * _turned(quarter, cosine, sine) * scale
        turns[i] = radius * _turned(quarter - 1, cosine, sine) * scale


@compiled
def _uniform(word: np.uint64) -> float:
    """``randomness.uniforms``."""
    return (np.float64(np.int64(word >> U(12))) + 0.5) * 2.0**-52


@compiled
def _put(found: np.ndarray, first: int, count: int, out: np.ndarray) -> None:
    """The first halves of numbers beside the second ones, of which the last may be too many."""
    half = found.shape[2]
    for i in range(count):
        for j in range(half):
            out[first + i, j] = found[0, i, j]
        for j in range(out.shape[1] - half):
            out[first + i, half + j] = found[1, i, j]
