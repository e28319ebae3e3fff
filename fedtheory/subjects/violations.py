"""Runs that violate an assumption which the claim does not make.

The violations are noise that all clients share, cohorts that the noise chooses, and noise whose variance depends on the
state.

Identical clients x^2/2 show it best: nothing but noise keeps them from their minimiser, and how much of it is left
after averaging is what such assumptions decide.

On quadratics a second moment of a run is affine in the variances that the noises have, given the past, with factors
>= 0. So a bound from above that holds for noise of the largest variance holds for noise that depends on the state too:
only claims that need noise, such as bounds from below, fall by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, product
from math import isqrt
from typing import Any, cast

import numpy as np

from ..assumptions import COHORT_BEFORE_NOISE, CONSTANT_NOISE, INDEPENDENT_NOISE, UNCORRELATED_NOISE
from ..claims.arithmetic import compiled
from ..claims.statement import Claim
from ..federations import Quadratic
from ..federations.noise_laws import COMMON, ONE_SIDED
from ..moments.evaluators import Question
from ..moments.evaluators import left as left_side
from ..participation import Fixed, LargestNoise
from ..quantities import symbol
from ..setting import Setting
from .enclosures import LEAST, PROGRESS, progress_everywhere, with_new_steps
from .file_entries import FREE, is_about_one_round
from .lead import ratio
from .run_points import RunPoint
from .run_subject import Part, from_setting

VIOLATIONS: Mapping[str, frozenset[str]] = {
    UNCORRELATED_NOISE: frozenset({UNCORRELATED_NOISE, INDEPENDENT_NOISE}),
    COHORT_BEFORE_NOISE: frozenset({COHORT_BEFORE_NOISE}),
    CONSTANT_NOISE: frozenset({CONSTANT_NOISE}),
}
"""Assumptions that can be violated, each with all that are violated with it.

They are violated by common noise, by the cohort of the largest noise, and by noise on one side of 0 only.
"""

HORIZONS = np.unique(np.geomspace(1, 10**6, 13).astype(np.int64))
SHORT = np.array([1, 2, 4])
"""Numbers of rounds of runs whose laws are enumerated, with few clients."""

CLIENTS, LOCAL_STEPS, COUNTS, FEW = (2, 16), (1, 2), (1, 2, 16), (1, 2)
CROWDS = (100, 300, 1000)
"""Numbers of identical clients to try where a claim does not fall with ``CLIENTS``.

With so many, common noise is far from its mean's, and the largest of their noises, skewed so that it is rare, is about
0.6 sqrt(M) standard deviations.
"""
STEPS = tuple(Fraction(1, denominator) for denominator in (20, 40, 100, 320, 640))
"""Step sizes, times smoothness * local_steps."""
STARTS = tuple(Fraction(tenths, 10) for tenths in (0, 1, -1, 10, 100))
STEPS_AWAY = (0, 2, 5, 10)
"""Starts of crowds, in steps of ``local_lr``: a mean noise of so many standard deviations moves x as far."""
GIVEN = (Fraction(1), Fraction(1, 10**6))
"""Values of ``file_entries.FREE``; the second is for clients that are alike, so that nothing stands beside what is
small."""
CLEAR = 2
"""Ratio that a reader sees at a glance: of settings that reach it, those with the fewest clients come first."""


def violating(statement: Claim, part: Part, kind: str) -> Iterator[RunPoint]:
    """Yield points at which the claim falls in floating point and which violate an assumption of this kind.

    The kind is one of ``VIOLATIONS``, the points are runs of a part's algorithm, of few clients, then of ``CROWDS``.
    The most telling for each share of the algorithm's kinds of round comes first, then the second most telling, ... (a
    reading may leave no runs of one of the shares).
    """
    yield from _falling(statement, part, kind, GIVEN[0])
    if kind != CONSTANT_NOISE:
        for value in reversed(GIVEN) if {*FREE} & {*statement.quantities} else GIVEN[:1]:
            if any(True for _ in _falling(statement, part, kind, value, CROWDS[-1:])):  # most is left of noise there
                yield from _falling(statement, part, kind, value, CROWDS)


def _falling(
    statement: Claim, part: Part, kind: str, value: Fraction, crowds: Sequence[int] = (0,)
) -> Iterator[RunPoint]:
    """Yield points of few clients (0) or of ``crowds``, with this value of what an instance states freely."""
    horizons = SHORT if kind == CONSTANT_NOISE else HORIZONS
    horizons = horizons[:1] if is_about_one_round(statement) else horizons
    given: dict[str, Any] = {name: value for name in FREE if name in statement.quantities}
    found: list[tuple[bool, int, float, Setting, int]] = []
    made = (_settings(cast(Any, part), kind, crowd) for crowd in crowds)  # a protocol is not known to be hashable
    settings: Iterable[Setting] = chain.from_iterable(made)
    tried: Iterable[tuple[Setting, np.ndarray]] = ((setting, horizons) for setting in settings)
    if any(choice.has(symbol("rounds")) for choice in statement.choices.values()):
        made_once = [setting for setting in settings if _local_way(setting) == STEPS[-1]]
        tried = (
            (_chosen(statement, setting, rounds), np.array([rounds]))
            for setting in made_once
            for rounds in horizons[::4]
        )
    for setting, at in tried:
        worst = _worst(statement, setting, at, given)
        if worst is not None and worst[0] > 1:
            clear, clients = worst[0] >= CLEAR, setting.federation.clients
            found.append((not clear, clients if clear else 0, -worst[0], setting, worst[1]))
    seen: Counter[Fraction] = Counter()
    ranked = []
    for *key, setting, rounds in sorted(found, key=lambda entry: entry[:3]):
        share = setting.algorithm.share
        ranked.append((seen[share], key, setting, rounds))
        seen[share] += 1
    for *_, setting, rounds in sorted(ranked, key=lambda entry: entry[:2]):
        with suppress(ValueError):  # no file can hold it
            yield from_setting(statement, setting, rounds, part, **given)


@lru_cache(maxsize=16)
def _settings(part: Any, kind: str, crowd: int) -> tuple[Setting, ...]:
    """Make the settings of a part and a kind, and keep them with their errors: claims about the same runs are many."""
    return tuple(_crowded(part, kind, crowd) if crowd else _made(part, kind))


def _made(part: Part, kind: str) -> Iterator[Setting]:
    law = {UNCORRELATED_NOISE: COMMON, CONSTANT_NOISE: ONE_SIDED}.get(kind, "two-point")
    enumerated = kind == CONSTANT_NOISE
    few, sizes, starts = (FEW, STEPS[:2], STARTS[:3]) if enumerated else (CLIENTS, STEPS, STARTS)
    for clients, count, steps in product(few, COUNTS, LOCAL_STEPS):
        if count > clients or (enumerated and count * steps > 2):
            continue
        who = LargestNoise(count) if kind == COHORT_BEFORE_NOISE else Fixed(range(count))
        federation = Quadratic.common_hessian([0] * clients, gradient_noise=1, noise=law)
        for step in sizes:
            algorithms = part.small(clients, count, steps, step / steps)
            unmoved = [Setting(federation, algorithm, who) for algorithm in algorithms]
            yield from (setting.started(start) for start in starts for setting in unmoved)


def _crowded(part: Part, kind: str, clients: int) -> Iterator[Setting]:
    """Many identical clients, that all take part with the same noise, or of which the noise chooses one."""
    chosen = kind == COHORT_BEFORE_NOISE
    for steps, size in product((1, 2, 3), STEPS[2:]):
        # a (1 - exp(-clients/a^2)), about the mean of the largest, is largest at clients = 1.26 a^2
        law = f"two-point {isqrt(clients * 4 // 5)}" if chosen else COMMON
        who = LargestNoise(1) if chosen else Fixed(range(clients))
        federation = Quadratic.common_hessian([0] * clients, gradient_noise=1, noise=law)
        for algorithm in part.small(clients, who.cohort, steps, size / steps):
            for away in STEPS_AWAY:
                yield Setting(federation, algorithm, who, start=away * size / steps)


def _local_way(setting: Setting) -> Fraction:
    """local_lr * local_steps."""
    training = setting.algorithm.client_rounds[0]
    return Fraction(cast(Any, training.local_lr) * training.local_steps)


def _chosen(statement: Claim, setting: Setting, rounds: int) -> Setting:
    """The setting with the step sizes that the claim chooses for so many rounds, in floating point."""
    names = {s.name for choice in statement.choices.values() for s in choice.free_symbols} - {"rounds"}
    values = {name: known.value for name, known in setting.quantities(1, needed=names).items()}
    steps = {
        name: Fraction(float(compiled(choice)(values | {"rounds": np.float64(rounds)})))
        for name, choice in statement.choices.items()
    }
    return replace(setting, algorithm=with_new_steps(setting.algorithm, steps))


def _worst(
    statement: Claim, setting: Setting, horizons: np.ndarray, given: Mapping[str, Any]
) -> tuple[float, int] | None:
    """Left / right at the worst admissible horizon, and that; ``None`` where there is none or a side is not known."""
    progress = progress_everywhere(setting) if {*PROGRESS} & {*statement.quantities} else None
    if progress is not None:
        given = {**given, **dict(zip(PROGRESS, progress, strict=True))}
    if least := {*LEAST} & {*statement.quantities}:
        if setting.algorithm.share in (0, 1):  # a minimum is over no rounds
            return None
        given = {**given, **dict.fromkeys(least, Fraction(0))}  # that of some run may be so small
    try:
        bound = statement.at(setting, rounds=horizons, **{name: float(value) for name, value in given.items()})
        slacks = [slack for slack in bound.slack.values()]
        admissible = np.all([np.broadcast_to(s is not None and np.asarray(s) >= 0, horizons.shape) for s in slacks], 0)
        if slacks and not admissible.any():
            return None
        left = left_side(statement.functional, Question(setting, horizons, next(statement.readings())))
    except ValueError:
        return None
    ratios = np.broadcast_to(ratio(np.broadcast_to(left, horizons.shape), bound.terms.values()), horizons.shape)
    ratios = np.where(admissible, ratios, -1.0)
    worst = int(ratios.argmax())
    return float(ratios[worst]), int(horizons[worst])
