"""One example of every participation process, for any number of clients from 2 on."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from ..arguments import check_count
from .base import Participation
from .bernoulli import Bernoulli
from .group_chain import GroupChain
from .groups import DayNightGroups, PoissonGroups, UniformGroups
from .incomplete import Incomplete
from .index_laws import IndexGamma, IndexWeibull
from .markov import Cyclic, Markov
from .mixture import Mixture
from .multinomial import Multinomial
from .noise_chosen import LargestNoise
from .processes import Fixed, Phases, Uniform
from .recorded import RandomPatterns, Recorded
from .resampled import Resampled
from .successive_sampling import IndexBeta, Weighted


def examples(clients: int) -> dict[str, Participation]:
    """Return an example of each process by the name of its class.

    Clients differ wherever a process lets them. Two groups of clients lie within each other; the record has rounds
    with everybody, and of four clients one with nobody.

    Raises:
        ValueError: fewer than 2 clients.

    >>> found = examples(4)
    >>> found["Uniform"], found["Bernoulli"].inclusion(4).first.tolist()[-1]
    (Uniform(cohort=2, replacement=False), Fraction(1, 2))
    """
    check_count("clients", clients, least=2)
    everyone = range(clients)
    cohort, half, quarter = isqrt(clients), clients // 2, max(1, clients // 4)
    rates = [Fraction(i + 1, clients + 4) for i in everyone]
    weights = [float(i + 1) for i in everyone]
    groups = [0 if i < clients // 4 or i >= 3 * clients // 4 else 1 for i in everyone]
    outer, inner = groups.count(0), groups.count(1)
    common, rare = clients / 4, clients / 12
    record = np.array([[r * (i + 2) // 2 % 3 == 0 for i in everyone] for r in range(clients + 1)], dtype=int)
    absent = range(1, clients, 4)

    def two_from(first: int) -> list[int]:
        return sorted({first, (first + 1) % clients})

    return {
        type(process).__name__: process
        for process in (
            Uniform(cohort),
            Fixed(sorted({0, clients // 4, clients // 3})),
            Phases([two_from(0), two_from(half), two_from(5 * clients // 6)], [half, quarter, quarter], cyclic=True),
            Multinomial(3, [Fraction(2 * i + 2, clients * (clients + 1)) for i in everyone]),
            Weighted(cohort, weights),
            IndexBeta(cohort, alpha=1.0, beta=2.0),
            IndexGamma(cohort, shape=2.0, scale=0.25),
            IndexWeibull(cohort, shape=2.0, scale=0.5),
            Bernoulli(rates),
            Markov(rates, [rate / 4 for rate in rates]),
            Cyclic([Fraction(1 + (i == 1), 4) for i in everyone], period=4 * max(1, clients // 3)),
            Mixture([Uniform(half), Fixed([0, 1])], ["1/4", "3/4"]),
            Incomplete(Bernoulli([rates[i] for i in everyone if i not in absent]), absent),
            Recorded(record, after="repeat"),
            Resampled(record, block=2),
            RandomPatterns.real_random(record, clients, after="repeat"),
            UniformGroups(groups, lowest=[0, inner // 4], highest=[min(2, outer), max(1, inner - 1)]),
            PoissonGroups(groups, rates=[rare, common]),
            DayNightGroups(groups, day=[common, rare], night=[rare / 2, rare]),
            GroupChain(
                groups,
                [[1, inner - inner // 3], [outer - outer // 3, 1]],
                ["1/2", "1/2"],
                [["3/4", "1/4"], ["1/4", "3/4"]],
            ),
            LargestNoise(cohort),
        )
    }
