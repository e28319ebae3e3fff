"""An example of each algorithm, to be drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...algorithms import (
    Algorithm,
    afl,
    constant_weights,
    fast,
    fedadam,
    fedamplify,
    fedau,
    fedavg,
    fedavgm,
    fedprox,
    fedvarp,
    flics_adam,
    flics_avg,
    given_weights,
    known_statistics,
    mifa,
    naive,
    own,
    safari,
    weighted_groups,
)

_STEP = "1/10"
_GROUPS = (0, 0, 1, 1)


def _halved(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
    """Half a step towards what the participants have, on average."""
    return x + (round.share * round.train(x, local_lr, 1)).sum(1) / 2, memory


ALGORITHMS: Mapping[str, Callable[[], Algorithm]] = {
    "fast": lambda: fast(cohort=2, snapshot_probability="1/4", local_lr=_STEP),
    "safari": lambda: safari(client_round_probability="1/2", local_lr=_STEP, server_lr=_STEP),
    "fedavg": lambda: fedavg(local_lr=_STEP),
    "fedprox": lambda: fedprox(local_lr=_STEP, local_steps=5, proximal=2),
    "fedavgm": lambda: fedavgm(local_lr=_STEP, momentum="1/2"),
    "fedadam": lambda: fedadam(local_lr=_STEP, global_lr="1/20", epsilon="1/100"),
    "fedamplify": lambda: fedamplify(local_lr=_STEP, period=5, global_lr="3/2"),
    "fedau": lambda: fedau(local_lr=_STEP, cutoff=20),
    "known_statistics": lambda: known_statistics(local_lr=_STEP),
    "constant_weights": lambda: constant_weights(local_lr=_STEP, aggregation_weight=[3, 3, 1, 1]),
    "given_weights": lambda: given_weights(local_lr=_STEP, aggregation_weight=[[2, 2, 1, 1], [4, 4, 1, 1]] * 100),
    "fedvarp": lambda: fedvarp(local_lr=_STEP),
    "mifa": lambda: mifa(local_lr=_STEP),
    "afl": lambda: afl(local_lr=_STEP),
    "flics_avg": lambda: flics_avg(groups=_GROUPS, budget=1, local_lr=_STEP),
    "flics_adam": lambda: flics_adam(groups=_GROUPS, budget=1, local_lr=_STEP, global_lr="1/20", epsilon="1/100"),
    "naive": lambda: naive(groups=_GROUPS, budget=1, local_lr=_STEP),
    "weighted_groups": lambda: weighted_groups(groups=_GROUPS, estimate=["2/5", "8/5"], local_lr=_STEP),
    "own": lambda: own(_halved, name="halved", local_lr=_STEP),
}
"""Examples of algorithms by name, on four clients of two groups."""
