"""How an example meets what a claim assumes. What nobody checks is not met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..assumptions import (
    COHORT_BEFORE_NOISE,
    CONSTANT_NOISE,
    INDEPENDENT_NOISE,
    UNBIASED_NOISE,
    UNBIASED_SERVER_NOISE,
    UNCORRELATED_NOISE,
    with_implied,
)
from ..claims.balls import Number
from ..federations.base import COMMON, ONE_SIDED

Slack = Number | None
"""A proven lower bound of a slack that is >= 0; ``None`` where the hypothesis is not shown to hold."""

TWO_POINT = "two-point"
NOT_CHECKED, VIOLATED = "not checked", "violated by construction"
COMPUTED = "computed: the federation's own constant against the stated one"
OWN_CONSTANT = "computed: it is the example's own constant"


@dataclass(frozen=True)
class Checked:
    """An assumption or a hypothesis, as an example meets it: the slack, and how it was found."""

    slack: Slack
    how: str


_BEFORE = "by construction: who takes part does not depend on noise"
_SERVER = "by construction: the server's noise is +-sigma_s by a fair coin"
_COIN = "by construction: noise is +-sigma, in every step by a fair coin"
_OWN_COIN = f"{_COIN} of the client's own"
_SIDED = "by construction: where there is noise, it is +-sigma by a fair coin of the client's own"

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
"""By law of the gradient noise, the kinds of assumption that it meets, and why; a law that is not here meets none."""

CHOSEN_BEFORE = {COHORT_BEFORE_NOISE: _BEFORE}


def without(kinds: Mapping[str, str], violated: Iterable[str]) -> dict[str, str]:
    """Those kinds that are not violated."""
    return {kind: how for kind, how in kinds.items() if kind not in set(violated)}


def why_met(kind: str, met: Mapping[str, str]) -> str:
    """Why an assumption of this kind holds, where these kinds do, or "".

    >>> why_met("uncorrelated_noise", {"independent_noise": "by construction"}), why_met("one_target", {})
    ('by construction', '')
    """
    return next((how for other, how in met.items() if kind in with_implied([other])), "")
