"""An example of each algorithm and each process, to be drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

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
from ...participation import (
    Bernoulli,
    Cyclic,
    DayNightGroups,
    Fixed,
    GroupChain,
    Incomplete,
    IndexBeta,
    IndexGamma,
    IndexWeibull,
    Markov,
    Mixture,
    Multinomial,
    Participation,
    Phases,
    PoissonGroups,
    RandomPatterns,
    Recorded,
    Uniform,
    UniformGroups,
    Weighted,
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

_CLIENTS = 12
_RATES = [f"{i + 1}/16" for i in range(_CLIENTS)]
_TRACE = np.array([[(r * (i + 2) // 5) % 3 == 0 for i in range(_CLIENTS)] for r in range(30)], dtype=int)
_HALVES = (0,) * 6 + (1,) * 6

PROCESSES: Mapping[str, Callable[[], tuple[Participation, int]]] = {
    "Uniform": lambda: (Uniform(3), _CLIENTS),
    "Fixed": lambda: (Fixed([0, 3, 4]), _CLIENTS),
    "Phases": lambda: (Phases([[0, 1], [6, 7], [10, 11]], [12, 6, 9], cyclic=True), _CLIENTS),
    "Multinomial": lambda: (Multinomial(3, [Fraction(i + 1, 78) for i in range(_CLIENTS)]), _CLIENTS),
    "Weighted": lambda: (Weighted(3, [float(i + 1) for i in range(_CLIENTS)]), _CLIENTS),
    "IndexBeta": lambda: (IndexBeta(3), _CLIENTS),
    "IndexGamma": lambda: (IndexGamma(3), _CLIENTS),
    "IndexWeibull": lambda: (IndexWeibull(3), _CLIENTS),
    "Bernoulli": lambda: (Bernoulli(_RATES), _CLIENTS),
    "Markov": lambda: (Markov(_RATES, [Fraction(i + 1, 64) for i in range(_CLIENTS)]), _CLIENTS),
    "Cyclic": lambda: (Cyclic(["1/4"] * _CLIENTS, period=16), _CLIENTS),
    "Mixture": lambda: (Mixture([Uniform(6), Fixed([0, 1])], ["1/4", "3/4"]), _CLIENTS),
    "Incomplete": lambda: (Incomplete(Bernoulli(["1/2"] * 9), absent=[2, 5, 6]), _CLIENTS),
    "Recorded": lambda: (Recorded(_TRACE, after="repeat"), _CLIENTS),
    "RandomPatterns": lambda: (RandomPatterns.real_random(_TRACE, _CLIENTS, after="repeat"), _CLIENTS),
    "UniformGroups": lambda: (UniformGroups(_HALVES, lowest=[0, 1], highest=[2, 5]), _CLIENTS),
    "PoissonGroups": lambda: (PoissonGroups(_HALVES, rates=[1.0, 3.0]), _CLIENTS),
    "GroupChain": lambda: (
        GroupChain(_HALVES, [[1, 4], [4, 1]], ["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]),
        _CLIENTS,
    ),
    "DayNightGroups": lambda: (DayNightGroups(_HALVES, day=[3.0, 1.0], night=[0.5, 1.0]), _CLIENTS),
}
"""Examples of processes by name, each with its number of clients here."""
