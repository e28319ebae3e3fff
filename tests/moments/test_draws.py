"""Moments of counts, shares and presence against the enumeration of each law."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from fedtheory.algorithms.algorithm import ClientRound
from fedtheory.federations import Quadratic
from fedtheory.moments.participation_laws import (
    COUNT,
    FAMILIES,
    PRESENT,
    SHARE,
    Draws,
    averaged_noise,
    draws_of,
    draws_of_set,
    phases_of,
)
from fedtheory.participation import (
    Bernoulli,
    DayNightGroups,
    Fixed,
    Incomplete,
    IndexBeta,
    Markov,
    Participation,
    Phases,
    Recorded,
    Uniform,
    UniformGroups,
    Weighted,
)

Law = list[tuple[tuple[int, ...], F]]
P = [F(1, 2), F(1, 3), F(1), F(0)]


def bernoulli(p: list[F]) -> Law:
    sets = product((0, 1), repeat=len(p))
    return [(counts, prod(q if n else 1 - q for q, n in zip(p, counts, strict=True))) for counts in sets]


def with_replacement(clients: int, cohort: int) -> Law:
    draws = product(range(clients), repeat=cohort)
    return [(tuple(drawn.count(i) for i in range(clients)), F(1, clients**cohort)) for drawn in draws]


def groups() -> Law:
    """0, 1 or 2 of the clients 0, 2, 3 and 0 or 1 of the clients 1, 4, each number equally likely."""
    law = []
    for a, b in product(range(3), range(2)):
        pairs = list(product(combinations((0, 2, 3), a), combinations((1, 4), b)))
        law += [(tuple(int(i in one + other) for i in range(5)), F(1, 6 * len(pairs))) for one, other in pairs]
    return law


CASES = {
    "Bernoulli": (Bernoulli(P), bernoulli(P)),
    "one client": (Bernoulli(["1/3"]), bernoulli([F(1, 3)])),
    "uniform": (Uniform(2), [((1, 1, 0), F(1, 3)), ((1, 0, 1), F(1, 3)), ((0, 1, 1), F(1, 3))]),
    "with replacement": (Uniform(2, replacement=True), with_replacement(3, 2)),
    "many draws": (Uniform(3, replacement=True), with_replacement(2, 3)),
    "many draws of one": (Uniform(3, replacement=True), with_replacement(1, 3)),
    "incomplete": (Incomplete(Bernoulli(["1/2", "1/4"]), [1]), [((a, 0, b), p) for (a, b), p in
                                                              bernoulli([F(1, 2), F(1, 4)])]),
    "fixed": (Fixed([0, 2]), [((1, 0, 1), F(1))]),
    "a record": (Recorded.of_sets([[0, 2]], 3, "repeat"), [((1, 0, 1), F(1))]),
    "an empty record": (Recorded.of_sets([[]], 3, "repeat"), [((0, 0, 0), F(1))]),
}  # fmt: skip
IN_FLOATS = {
    "groups": (UniformGroups([0, 1, 0, 0, 1], [0, 0], [2, 1]), groups()),
    "weighted": (Weighted(1, [1, 1, 2]), [((1, 0, 0), F(1, 4)), ((0, 1, 0), F(1, 4)), ((0, 0, 1), F(1, 2))]),
    **CASES,
}


def numbers(counts: tuple[int, ...]) -> dict[str, list[F]]:
    total = max(1, sum(counts))
    return {COUNT: list(counts), SHARE: [F(n, total) for n in counts], PRESENT: [int(n > 0) for n in counts]}


def moments(law: Law) -> dict[object, np.ndarray]:
    """By family, and by pair of families; and the probability that anybody comes."""
    assert sum(p for _, p in law) == 1
    found = {"somebody": sum(p for counts, p in law if any(counts))}
    for f in FAMILIES:
        found[f] = sum(p * np.array(numbers(counts)[f], dtype=object) for counts, p in law)
        for g in FAMILIES:
            found[f, g] = sum(p * np.outer(*(np.array(numbers(c)[h], dtype=object) for h in (f, g))) for c, p in law)
    return found


def of(draws: Draws) -> dict[object, np.ndarray]:
    pairs = {(f, g): draws.second(f, g) for f in FAMILIES for g in FAMILIES}
    return pairs | {f: draws.first(f) for f in FAMILIES} | {"somebody": draws.somebody()}


@pytest.mark.parametrize(("process", "law"), CASES.values(), ids=CASES)
def test_fractions(process: object, law: Law) -> None:
    wanted = moments(law)
    for name, found in of(draws_of(process, len(law[0][0]), exact=True)).items():
        assert np.all(found == wanted[name]), name


@pytest.mark.parametrize(("process", "law"), IN_FLOATS.values(), ids=IN_FLOATS)
def test_floats(process: object, law: Law) -> None:
    wanted = moments(law)
    for name, found in of(draws_of(process, len(law[0][0]))).items():
        # Sums of products of numbers >= 0, or a quadrature.
        np.testing.assert_allclose(np.array(found, float), np.array(wanted[name], float), rtol=1e-13, err_msg=str(name))


def test_many_clients_keep_their_digits() -> None:
    """E[sum_i N_i / |N|] = P(somebody); E[sum_ij N_i N_j / |N|^2] is the same."""
    p = [F(i + 1, 400) for i in range(80)]
    found = draws_of(Bernoulli(p), 80)
    somebody = 1 - prod(1 - float(q) for q in p)
    assert found.first(SHARE).sum() == pytest.approx(somebody, rel=1e-13)
    assert found.second(SHARE, SHARE).sum() == pytest.approx(somebody, rel=1e-12)
    assert found.second(SHARE, COUNT).sum() == pytest.approx(float(sum(p)), rel=1e-12)


def test_sets() -> None:
    assert draws_of_set([], 2).somebody() == 0 and not draws_of_set([], 2).second(SHARE, SHARE).any()


@pytest.mark.parametrize(
    ("process", "message"),
    [
        (Markov(["1/2"] * 2, ["1/3"] * 2), "its rounds depend on each other"),
        (Phases([[0], [1]], [1, 1]), "the moments of a round differ between phases"),
        (Recorded.of_sets([[0], [1]], 2), "its rounds differ"),
        (DayNightGroups([0, 0], [1.0], [2.0]), "its rounds differ in law"),
        (IndexBeta(1), "IndexBeta knows its inclusion probabilities in floating point only"),
    ],
)
def test_refused(process: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draws_of(process, 2, exact=True)


def test_phases() -> None:
    """Each round's process has that round's law."""
    changing = [
        DayNightGroups([0, 0, 1], [1.0, 0.5], [2.0, 1.5]),
        DayNightGroups([0, 0, 1], [1.0, 0.5], [2.0, 1.5], first="day"),
        Phases([[0], [2], [1]], [2, 1, 3], cyclic=True),
        Phases([[0], [2]], [2, 1]),
        Recorded.of_sets([[0], [0], [], [1, 2]], 3, "repeat"),
        Recorded.of_sets([[0], [0], [1, 2]], 3, "absent"),
    ]
    for process in changing:
        found = phases_of(process)
        order = [part for part, length in zip(found.processes, found.lengths, strict=True) for _ in range(length)]
        for r in range(9):
            now = order[r % len(order)] if found.cyclic else order[min(r, len(order) - 1)]
            assert now.marginal(3, r).second.tolist() == process.marginal(3, r).second.tolist()
    assert phases_of(Uniform(1)) is None


@pytest.mark.parametrize(
    "process", [Fixed([0]), Fixed([1, 3, 4]), Uniform(1), Uniform(3), Uniform(5), Uniform(3, replacement=True)], ids=str
)
def test_noise_that_identical_clients_keep_is_that_of_their_shares(process: Participation) -> None:
    """E sum_i w_i^2 in closed form, where many clients act as one, and by the moments of all their shares."""
    fed, kind = Quadratic.common_hessian([0] * 5, gradient_noise=1), ClientRound(1, F(1, 10))
    shares = draws_of(process, 5, exact=True).second(SHARE, SHARE)
    assert averaged_noise(fed, kind, process) == np.trace(shares)
