"""Reasons why an example meets a claim's assumptions. An assumption that nobody checks is not met."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..assumptions import (
    COHORT_BEFORE_NOISE,
    CONSTANT_NOISE,
    INDEPENDENT_DRAWS,
    INDEPENDENT_NOISE,
    INDEPENDENT_PARTICIPATION,
    STATIONARY_AVAILABILITY,
    UNBIASED_NOISE,
    UNBIASED_SERVER_NOISE,
    UNCORRELATED_NOISE,
    UNIFORM_COHORTS,
)
from ..claims.balls import Number
from ..federations.federation_arguments import COMMON, ONE_SIDED, rise_of

Slack = Number | None
"""A proven lower bound of a slack that is >= 0; ``None`` where the hypothesis is not shown to hold."""

TWO_POINT = "two-point"
NOT_CHECKED, VIOLATED = "not checked", "violated by construction"
COMPUTED = "computed: the federation's own constant against the stated one"
OWN_CONSTANT = "computed: it is the example's own constant"


class Checked(NamedTuple):
    """Check of an assumption or a hypothesis on an example: the slack, and how it was found."""

    slack: Slack
    how: str


_SERVER = "by construction: the server's noise is +-sigma_s by a fair coin"
_COIN = "by construction: noise is +-sigma, in every step by a fair coin"
_OWN_COIN = f"{_COIN} of the client's own"
_SIDED = "by construction: where there is noise, it is +-sigma by a fair coin of the client's own"

_SKEWED = "by construction: noise is a sigma or -sigma/a, of mean 0, in every step by a coin of the client's own"

NOISE: Mapping[str, Mapping[str, str]] = {
    TWO_POINT: {
        UNBIASED_NOISE: _COIN, UNBIASED_SERVER_NOISE: _SERVER, UNCORRELATED_NOISE: _OWN_COIN,
        INDEPENDENT_NOISE: _OWN_COIN, CONSTANT_NOISE: _COIN,
    },
    COMMON: {UNBIASED_NOISE: _COIN, UNBIASED_SERVER_NOISE: _SERVER, CONSTANT_NOISE: _COIN},
    ONE_SIDED: {
        UNBIASED_NOISE: _SIDED, UNBIASED_SERVER_NOISE: _SERVER, UNCORRELATED_NOISE: _SIDED, INDEPENDENT_NOISE: _SIDED,
    },
}  # fmt: skip
"""Kinds of assumption that each law of the gradient noise meets, with reasons; a law that is not here meets none."""

LAWS = {law: frozenset(NOISE[TWO_POINT]) - met.keys() for law, met in NOISE.items() if law != TWO_POINT}
"""Laws of noise that a file names, and the assumptions that they violate."""


def met_by_noise(law: str) -> Mapping[str, str]:
    """Return the assumptions that a law of noise meets, with reasons: ``NOISE``, and skewed two-point noise.

    Skewed noise is described at ``federations.federation_arguments.rise_of``.

    >>> met_by_noise("two-point 13")["unbiased_noise"][:43], met_by_noise("gaussian")
    ('by construction: noise is a sigma or -sigma', {})
    """
    skewed = dict.fromkeys((UNBIASED_NOISE, UNCORRELATED_NOISE, INDEPENDENT_NOISE, CONSTANT_NOISE), _SKEWED)
    return NOISE.get(law) or (skewed | {UNBIASED_SERVER_NOISE: _SERVER} if rise_of(law) else {})


CHOSEN_BEFORE = {COHORT_BEFORE_NOISE: "by construction: who takes part does not depend on noise"}
UNIFORM_DRAWS = {
    UNIFORM_COHORTS: "by construction: the cohorts that the algorithm draws are uniform, by draws of their own",
}
SAME_CLIENTS = dict.fromkeys(
    (INDEPENDENT_PARTICIPATION, INDEPENDENT_DRAWS, STATIONARY_AVAILABILITY),
    "by the process: the same clients in every round",
)
