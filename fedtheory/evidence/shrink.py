"""From a lead to an instance with short numbers that refutes a claim under every reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..papers import claim
from ..subjects.instance import Instance, stated_constants
from .confirm import Judgement, judge

MARGIN = 2
"""A shrunk instance must exceed its bound by this factor: a reader should see it at a glance."""


def charitable_instance(ref: str, seed: int = 0, starts: int = 40, steps: int = 50) -> Judgement | None:
    """An instance of the quartet family (minimisers u, -u, 1, -1; client u alone in arbitrary rounds) that refutes
    the claim under every reading, with numbers as short as they go; ``None`` if hill climbing from so many
    ``starts`` did not find one.

    The score climbed is the number of readings under which the claim falls, then left / right.
    """
    rng = np.random.default_rng(seed)
    for _ in range(starts):
        best = judge(_quartet(ref, rng), follow=False)
        for _ in range(steps):
            if best.refutes:
                return _shrink(best)
            best = max(best, judge(_neighbour(best.instance, rng), follow=False), key=_score)
    return None


def _score(judgement: Judgement) -> tuple[int, float]:
    ratio = float(judgement.readings[0].left / judgement.readings[0].right)
    return sum(reading.refutes for reading in judgement.readings), ratio


def _quartet(ref: str, rng: np.random.Generator) -> Instance:
    u = Fraction(int(rng.integers(1, 20)), 20)
    return Instance(
        claim=claim(ref).ref,
        hessians=((Fraction(1),),) * 4,
        centres=((u,), (-u,), (Fraction(1),), (Fraction(-1),)),
        start=(Fraction(int(rng.integers(2, 60)), 20),),
        cohort=4,
        local_steps=1,
        local_lr=Fraction(1, int(rng.integers(20, 400))),
        snapshot_period=2,
        members=(0,),
        rounds=10**5,
        constants={name: Fraction(int(name != "gradient_noise")) for name in stated_constants(ref)},
    )


def _neighbour(instance: Instance, rng: np.random.Generator) -> Instance:
    """One number moved by a step of its grid."""
    step = Fraction(int(rng.choice([-2, -1, 1, 2])), 20)
    kind = rng.integers(3)
    u = instance.centres[0][0]
    if kind == 0 and 0 < u + step <= 1:
        return replace(instance, centres=((u + step,), (-u - step,), *instance.centres[2:]))
    if kind == 1:
        return replace(instance, start=(instance.start[0] + step,))
    denominator = max(20, round(float(1 / instance.local_lr) * float(rng.choice([0.7, 1.5]))))
    return replace(instance, local_lr=Fraction(1, denominator))


def _shrink(judgement: Judgement) -> Judgement:
    """Shorter numbers, one change at a time, as long as every reading still falls by ``MARGIN``."""
    current, changed = judgement, True
    while changed:
        changed = False
        for instance in _shorter(current.instance):
            attempt = judge(instance, follow=False)
            if attempt.refutes and all(r.left > MARGIN * r.right for r in attempt.readings):
                current, changed = attempt, True
                break
    return judge(current.instance)


def _shorter(instance: Instance) -> Iterator[Instance]:
    """Neighbours whose numbers take fewer digits: fewer rounds, round denominators."""
    if instance.rounds > 10:
        yield replace(instance, rounds=instance.rounds // 10)
    for denominator in (10, 20, 50, 100, 200, 500, 1000):
        if len(str(denominator).rstrip("0")) < len(str(instance.local_lr.denominator).rstrip("0")):
            yield replace(instance, local_lr=Fraction(1, denominator))
    for denominator in (1, 2, 4, 5, 10):
        start = Fraction(round(instance.start[0] * denominator), denominator)
        u = Fraction(round(instance.centres[0][0] * denominator), denominator)
        if start.denominator < instance.start[0].denominator:
            yield replace(instance, start=(start,))
        if 0 < u < 1 and u.denominator < instance.centres[0][0].denominator:
            yield replace(instance, centres=((u,), (-u,), *instance.centres[2:]))
