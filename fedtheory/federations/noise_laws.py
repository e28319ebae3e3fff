"""Laws of the gradient noise of federations, by name, and the assumptions that each meets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..arguments import is_real
from ..assumptions import (
    CONSTANT_NOISE,
    INDEPENDENT_NOISE,
    UNBIASED_NOISE,
    UNBIASED_SERVER_NOISE,
    UNCORRELATED_NOISE,
)

TWO_POINT = "two-point"
COMMON = "common two-point"
ONE_SIDED = "one-sided two-point"
NOISES = (TWO_POINT, "gaussian", COMMON, ONE_SIDED)
SKEWED = re.compile(r"two-point ([2-9]|[1-9][0-9]{1,2})")


def rise_of(noise: str) -> int | None:
    """Return how many times its level two-point noise rises, or ``None`` for other laws.

    It is 1 for fair signs. "two-point a", a = 2, ..., 999, is a with probability 1/(1 + a^2) and else -1/a, times the
    level: of mean 0 and variance 1.

    >>> rise_of("two-point"), rise_of("two-point 13"), rise_of("gaussian")
    (1, 13, None)
    """
    skewed = SKEWED.fullmatch(noise)
    return int(skewed[1]) if skewed else 1 if noise == "two-point" else None


def check_noise(gradient_noise: float, noise: str, server_noise: float = 0.0) -> None:
    """Raise ``ValueError`` unless the arguments describe a law of noise."""
    for name, level in {"gradient_noise": gradient_noise, "server_noise": server_noise}.items():
        if not (is_real(level) and 0 <= level < float("inf")):
            raise ValueError(f"{name} = {level}: allowed is a finite number >= 0")
    if not isinstance(noise, str) or (noise not in NOISES and rise_of(noise) is None):
        raise ValueError(
            f"noise = {noise!r}: allowed is one of {', '.join(NOISES)}, or 'two-point 2' to 'two-point 999'"
        )


_SERVER = "by construction: the server's noise is +-sigma_s by a fair coin"
_SIDED_SERVER = "by construction: where the server has noise, it is +-sigma_s by a fair coin"
_SKEWED_SERVER = "by construction: the server's noise is a sigma_s or -sigma_s/a, of mean 0, by a coin of its own"
_COIN = "by construction: noise is +-sigma, in every step by a fair coin"
_OWN_COIN = f"{_COIN} of the client's own"
_SIDED = "by construction: where there is noise, it is +-sigma by a fair coin of the client's own"

_SKEWED = "by construction: noise is a sigma or -sigma/a, of mean 0, in every step by a coin of the client's own"

MET_BY_NOISE: Mapping[str, Mapping[str, str]] = {
    TWO_POINT: {
        UNBIASED_NOISE: _COIN, UNBIASED_SERVER_NOISE: _SERVER, UNCORRELATED_NOISE: _OWN_COIN,
        INDEPENDENT_NOISE: _OWN_COIN, CONSTANT_NOISE: _COIN,
    },
    COMMON: {UNBIASED_NOISE: _COIN, UNBIASED_SERVER_NOISE: _SERVER, CONSTANT_NOISE: _COIN},
    ONE_SIDED: {
        UNBIASED_NOISE: _SIDED, UNBIASED_SERVER_NOISE: _SIDED_SERVER, UNCORRELATED_NOISE: _SIDED,
        INDEPENDENT_NOISE: _SIDED,
    },
}  # fmt: skip
"""Kinds of assumption that each law of the gradient noise meets, with reasons; of those that are not here, skewed
noise meets some (``met_by_noise``), and others none."""

VIOLATED_BY_NOISE = {
    law: frozenset(MET_BY_NOISE[TWO_POINT]) - met.keys() for law, met in MET_BY_NOISE.items() if law != TWO_POINT
}
"""Laws of noise that a file names, and the assumptions that they violate."""


def met_by_noise(law: str) -> Mapping[str, str]:
    """Return the assumptions that a law of noise meets, with reasons: ``MET_BY_NOISE``, and skewed two-point noise.

    Skewed noise is described at ``rise_of``.

    >>> met_by_noise("two-point 13")["unbiased_noise"][:43], met_by_noise("gaussian")
    ('by construction: noise is a sigma or -sigma', {})
    """
    skewed = dict.fromkeys((UNBIASED_NOISE, UNCORRELATED_NOISE, INDEPENDENT_NOISE, CONSTANT_NOISE), _SKEWED)
    return MET_BY_NOISE.get(law) or (skewed | {UNBIASED_SERVER_NOISE: _SKEWED_SERVER} if rise_of(law) else {})
