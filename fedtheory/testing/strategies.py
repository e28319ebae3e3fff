"""Hypothesis strategies for inputs of the project's parts, small so that failures shrink to readable examples."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import numpy as np

try:
    from hypothesis import strategies as st
    from hypothesis.extra.numpy import arrays
except ImportError:
    raise ImportError("strategies need hypothesis: pip install 'fedtheory[testing]'") from None

from ..algorithms import fedavg
from ..claims.statement import Claim
from ..federations import Quadratic
from ..participation import Fixed, IndexBeta, Participation, Phases, Uniform, Weighted
from ..quantities import QUANTITIES
from ..setting import Setting
from ..weights import ExponentialAverage, FedAU, KnownStatistics, WeightRule

_STEP_SIZES = ("local_lr", "server_lr")


@st.composite
def participation_arrays(
    draw: st.DrawFn, *, max_rounds: int = 12, max_clients: int = 4, max_replicas: int | None = None
) -> np.ndarray:
    """Generate participation histories: uint8 arrays (rounds, clients) or (rounds, replicas, clients) of 0 and 1.

    >>> from hypothesis import find
    >>> find(participation_arrays(), lambda mask: mask.sum() >= 2).tolist()
    [[1, 1]]
    """
    shape = [draw(st.integers(1, max_rounds))]
    if max_replicas is not None:
        shape.append(draw(st.integers(1, max_replicas)))
    shape.append(draw(st.integers(1, max_clients)))
    return draw(arrays(np.uint8, tuple(shape), elements=st.integers(0, 1)))


def participation_processes(clients: int) -> st.SearchStrategy[Participation]:
    """Generate participation processes for so many clients: `Fixed`, `Phases`, `Uniform`, `Weighted`, `IndexBeta`.

    >>> from hypothesis import find
    >>> find(participation_processes(3), lambda process: process.cohort == 2)
    Uniform(cohort=2, replacement=False)
    """
    cohorts = st.integers(1, clients)
    weights = st.lists(st.floats(0.01, 100.0), min_size=clients, max_size=clients)
    shapes = st.floats(0.5, 5.0)
    return st.one_of(
        st.builds(Uniform, cohorts, st.booleans()),
        st.sets(st.integers(0, clients - 1), min_size=1).map(lambda members: Fixed(sorted(members))),
        cohorts.flatmap(lambda size: _phases(clients, size)),
        st.builds(Weighted, cohorts, weights),
        st.builds(IndexBeta, cohorts, shapes, shapes),
    )


@st.composite
def _phases(draw: st.DrawFn, clients: int, size: int) -> Phases:
    """Generate one to three phases of one to four rounds, with ``size`` clients each."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    sets = [sorted(draw(st.permutations(range(clients)))[:size]) for _ in lengths]
    return Phases(sets, lengths, draw(st.booleans()))


@st.composite
def federations(
    draw: st.DrawFn, *, clients: int | None = None, max_clients: int = 3, max_dimension: int = 2
) -> Quadratic:
    """Generate quadratic federations with short rational numbers, half of them with a common Hessian.

    Hessians are diagonal with entries in (0, 4], minimisers in [-4, 4], gradient noise in [0, 2], all multiples of
    1/4.

    >>> from hypothesis import find
    >>> find(federations(clients=2), lambda fed: fed.gradient_noise > 0).exact_centres.tolist()
    [[Fraction(0, 1)], [Fraction(0, 1)]]
    """
    M = draw(st.integers(1, max_clients)) if clients is None else clients
    D = draw(st.integers(1, max_dimension))
    quarters = st.integers(-16, 16).map(lambda n: Fraction(n, 4))
    positive = st.integers(1, 16).map(lambda n: Fraction(n, 4))
    noise = Fraction(draw(st.integers(0, 8)), 4)

    def table(entries: st.SearchStrategy[Fraction], rows: int) -> list[list[Fraction]]:
        return draw(st.lists(st.lists(entries, min_size=D, max_size=D), min_size=rows, max_size=rows))

    if draw(st.booleans()):
        return Quadratic.common_hessian(table(quarters, M), table(positive, 1)[0], noise)
    return Quadratic(table(positive, M), table(quarters, M), noise)


@st.composite
def run_settings(draw: st.DrawFn, *, max_clients: int = 3) -> Setting:
    """Generate settings of FedAvg on a quadratic federation, whose exact errors are known.

    Step sizes are k / (8 L), k = 1 to 8, where L = 4 bounds the curvature. There are one to three local steps, and
    starts lie in [-4, 4].

    >>> from hypothesis import find
    >>> found = find(run_settings(), lambda setting: setting.federation.clients == 2)
    >>> found.algorithm.round.local_steps, float(found.exact([1]).squared_distance[0]) >= 0
    (1, True)
    """
    federation = draw(federations(max_clients=max_clients))
    steepest = Fraction(4)  # no Hessian of `federations` has a larger entry
    share, steps = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    algorithm = fedavg(local_lr=Fraction(share, 8) / steepest, local_steps=steps)
    process = draw(participation_processes(federation.clients))
    return Setting(federation, algorithm, process, start=Fraction(draw(st.integers(-16, 16)), 4))


@st.composite
def selection_problems(draw: st.DrawFn, *, max_groups: int = 3, max_rounds: int = 4) -> dict[str, Any]:
    """Generate arguments of ``selection.offvar``, with every group available in the first round.

    >>> from hypothesis import find
    >>> problem = find(selection_problems(), lambda problem: len(problem["group_weight"]) == 2)
    >>> problem["availability"], problem["budget"], problem["group_weight"]
    ([[1, 1]], [1], [0.5, 0.5])
    """
    groups, rounds = draw(st.integers(1, max_groups)), draw(st.integers(1, max_rounds))
    row = st.lists(st.integers(0, 4), min_size=groups, max_size=groups)
    availability = draw(st.lists(row, min_size=rounds, max_size=rounds))
    availability[0] = [max(1, number) for number in availability[0]]
    budget = draw(st.lists(st.integers(1, 4), min_size=rounds, max_size=rounds))
    shares = draw(st.lists(st.integers(1, 4), min_size=groups, max_size=groups))
    return {"availability": availability, "budget": budget, "group_weight": [n / sum(shares) for n in shares]}


def weight_rules(*, max_cutoff: int = 6) -> st.SearchStrategy[WeightRule]:
    """Generate rules for any number of clients: `FedAU`, `ExponentialAverage`, `KnownStatistics` (one p for all).

    >>> from hypothesis import find
    >>> find(weight_rules(), lambda rule: rule.cutoff == 2)
    FedAU(cutoff=2)
    """
    cutoffs = st.one_of(st.integers(1, max_cutoff), st.just(math.inf))
    return st.one_of(
        st.builds(FedAU, cutoffs),
        st.builds(ExponentialAverage, st.floats(0.05, 1.0), cutoffs),
        st.builds(KnownStatistics, st.floats(0.01, 1.0)),
    )


def quantity_values(name: str) -> st.SearchStrategy[Fraction]:
    """Generate allowed exact values of a quantity, of order 1 (step sizes: 1/100), with 0 where it is allowed.

    Raises:
        KeyError: the vocabulary has no such quantity.

    >>> from hypothesis import find
    >>> find(quantity_values("client_round_probability"), lambda q: q > Fraction(1, 2))
    Fraction(1, 1)
    """
    known = QUANTITIES[name]
    if known.integer:
        return st.integers(1, 8).map(Fraction)
    if name in _STEP_SIZES:
        return st.fractions(Fraction(1, 300), Fraction(1, 3), max_denominator=300)
    if known.upper == 1:
        return st.fractions(0, 1, max_denominator=12)
    if known.lower > 0:
        return st.fractions(Fraction(known.lower), Fraction(known.lower) + 2, max_denominator=30)
    if known.lower < 0:
        return st.fractions(-2, 2, max_denominator=30)
    positive = st.fractions(Fraction(1, 30), 2, max_denominator=30)
    return positive if known.positive else st.one_of(st.just(Fraction(0)), positive)


@st.composite
def values_of(draw: st.DrawFn, names: Collection[str]) -> dict[str, Fraction]:
    """Generate values of several quantities that fit together: smoothness >= strong_convexity, clients >= cohort.

    >>> from hypothesis import find
    >>> find(values_of(["clients", "cohort"]), lambda values: True)
    {'clients': Fraction(9, 1), 'cohort': Fraction(1, 1)}
    """
    values = {name: draw(quantity_values(name), label=name) for name in sorted(names)}
    if "strong_convexity" in values and "smoothness" in values:
        values["smoothness"] += values["strong_convexity"]
    if "clients" in values:
        values["clients"] += 8  # no cohort has more
    return values


def claim_values(claim: Claim) -> st.SearchStrategy[dict[str, Fraction]]:
    """Generate allowed values of all quantities of a claim; its hypotheses may or may not hold.

    >>> from hypothesis import find
    >>> from fedtheory.papers import claim
    >>> sorted(find(claim_values(claim("fast.lemma1")), lambda values: True))
    ['displacement', 'smoothness']
    """
    return values_of([name for name in claim.quantities if name not in claim.choices])
