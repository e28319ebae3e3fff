"""Exact laws of empirical risk minimisers, and bounds that are never below them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.learning.finite_domains import FiniteClass, Law
from fedtheory.learning.pooled_risk import excess_law, pooled, sampled_law
from fedtheory.learning.relatedness import smallest_alpha, smallest_noise_constant
from fedtheory.learning.risk_bounds import (
    complexity,
    finite_complexity,
    largest_solution,
    pooled_excess,
    theorem_2,
    theorem_3,
    theorem_3_closed,
    transferred_excess,
)

EXPONENTS = (0.0, 0.5, 1.0)


def literally(target: Law, h: FiniteClass, sources, ties: str, server: int | None = None) -> dict[Fraction, Fraction]:
    """By going through every ordered sample."""
    excess, atoms = target.excesses(h), [(x, y) for x in range(h.points) for y in (0, 1)]
    best, found = pooled(sources).best(h), {}
    draws = [i for i, (_, n) in enumerate(sources) for _ in range(n)]
    for sample in itertools.product(atoms, repeat=len(draws)):
        weight = math.prod((sources[i][0].joint[s] for i, s in zip(draws, sample, strict=True)), start=Fraction(1))
        if weight == 0:
            continue
        errors = [sum(row[x] != y for x, y in sample) for row in h.labels]
        least = [i for i, e in enumerate(errors) if e == min(errors)]
        pick = {"worst": max(least, key=lambda i: excess[i]), "best": min(least, key=lambda i: excess[i]),
                "first": least[0]}[ties]  # fmt: skip
        value = excess[pick]
        if server is not None:
            of_server = [(x, y) for i, (x, y) in zip(draws, sample, strict=True) if i == server]
            more = [sum(h.labels[j][x] != y for x, y in of_server) for j in (pick, best)]
            value = Fraction(0) if more[0] > more[1] else value
        found[value] = found.get(value, Fraction(0)) + weight
    return found


def random_law(rng: np.random.Generator, points: int) -> Law:
    weights = rng.integers(0, 5, (points, 2)) * (rng.random((points, 2)) < 0.7)
    if weights.sum() == 0:
        weights[0, 0] = 1
    return Law([[Fraction(int(w), int(weights.sum())) for w in row] for row in weights])


def random_class(rng: np.random.Generator, points: int) -> FiniteClass:
    table = FiniteClass.all(points).labels
    return FiniteClass(table[rng.permutation(len(table))[: int(rng.integers(1, len(table) + 1))]])


@pytest.mark.parametrize("ties", ["worst", "best", "first"])
def test_the_law_literally(ties: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        points = int(rng.integers(1, 3))
        p, d, h = random_law(rng, points), random_law(rng, points), random_class(rng, points)
        sources = [(p, int(rng.integers(1, 3))), (d, int(rng.integers(0, 3)))]
        for server in (None, 0):
            law = excess_law(p, h, sources, ties, server)
            assert dict(zip(law.values, law.probabilities, strict=True)) == literally(p, h, sources, ties, server)
        assert sum(law.probabilities) == 1 and list(law.values) == sorted(law.values)


def test_samples_of_a_mixture_are_another_law_than_two_samples() -> None:
    """Both have the same expected errors, and the fixed shares vary less."""
    p, d, h = Law([["1/4", "3/4"]]), Law([[1, 0]]), FiniteClass([[0], [1]])
    mixture = excess_law(p, h, [(d.mixed(p, "1/2"), 4)])
    apart = excess_law(p, h, [(p, 2), (d, 2)])
    assert mixture != apart and mixture.mean() != apart.mean()


def test_bounds_are_never_below_the_exact_quantiles() -> None:
    """10^4 random problems: the exact (1 - delta)-quantile of e_P under the worst ties against Theorems 2 and 3 with
    every constant, for the smallest alpha and noise constants; samples of the mixture, or of a server and clients."""
    rng = np.random.default_rng(2)
    counted, informative, largest = 0, 0, 0.0
    while counted < 10_000:
        points, n, m = int(rng.integers(1, 3)), int(rng.integers(1, 5)), int(rng.integers(0, 5))
        p, d, h = random_law(rng, points), random_law(rng, points), random_class(rng, points)
        sources = [(p, n), (d, m)] if rng.random() < 0.5 else [(pooled([(p, n), (d, m)]), n + m)]
        q, delta = pooled([(p, n), (d, m)]), Fraction(1, int(rng.integers(2, 50)))
        exponent, beta = float(rng.choice(EXPONENTS)), float(rng.choice((0.0, 0.5, 1.0, 2.0)))
        e_p, e_q = p.excesses(h), q.excesses(h)
        noise = float(smallest_noise_constant(e_q, q.disagreements(h, q.best(h)), exponent).value)
        alpha = float(smallest_alpha(e_p, e_q, beta).value)
        if math.isinf(noise) or math.isinf(alpha):
            continue
        counted += 1
        law = excess_law(p, h, sources)
        bound = theorem_2(alpha, beta, noise, exponent, len(h), n + m, delta)
        assert float(law.quantile(delta)) <= bound * (1 + 1e-9) + 1e-12
        informative += bound < 1
        largest = max(largest, float(law.quantile(delta)) / bound if bound else 0.0)
    assert informative > 500 and largest > 0.3


def test_theorem_3_is_never_below() -> None:
    """10^4 random problems likewise."""
    rng = np.random.default_rng(3)
    counted = 0
    while counted < 10_000:
        points, n, m = int(rng.integers(1, 3)), int(rng.integers(1, 5)), int(rng.integers(0, 4))
        p, d, h = random_law(rng, points), random_law(rng, points), random_class(rng, points)
        q, delta = pooled([(p, n), (d, m)]), Fraction(1, int(rng.integers(2, 50)))
        exponent = float(rng.choice(EXPONENTS))
        noise = float(smallest_noise_constant(p.excesses(h), p.disagreements(h, p.best(h)), exponent).value)
        if math.isinf(noise):
            continue
        counted += 1
        e_0, a = float(p.excesses(h)[q.best(h)]), finite_complexity(len(h), n, delta)
        bound = theorem_3(e_0, noise, exponent, a)
        assert bound <= theorem_3_closed(e_0, noise, exponent, a) * (1 + 1e-12)
        assert float(excess_law(p, h, [(p, n), (d, m)], server=0).quantile(delta)) <= bound * (1 + 1e-9) + 1e-12


def test_clients_data_can_help_do_nothing_and_hurt() -> None:
    p, h = Law([["3/4", "1/4"]]), FiniteClass([[0], [1]])
    alone = excess_law(p, h, [(p, 5)], "first").mean()
    alike = excess_law(p, h, [(p, 5), (p, 10)], "first").mean()
    other = excess_law(p, h, [(p, 5), (Law([["1/4", "3/4"]]), 10)], "first").mean()
    p, h = Law([["3/8", "1/8"], ["1/2", 0]]), FiniteClass([[0, 0], [1, 0]])  # clients see a point that decides nothing
    blind_alone = excess_law(p, h, [(p, 5)], "first").mean()
    blind = excess_law(p, h, [(p, 5), (Law([[0, 0], [1, 0]]), 4)], "first").mean()
    assert alike < alone < other and blind == blind_alone


def test_samples_agree_with_the_law() -> None:
    rng = np.random.default_rng(8)
    for ties in ("worst", "best", "first"):
        p, d, h = random_law(rng, 2), random_law(rng, 2), FiniteClass.all(2)
        sources = [(p, 3), (d, 2)]
        exact, drawn = excess_law(p, h, sources, ties), sampled_law(p, h, sources, 40_000, ties=ties)
        low, high = drawn.interval(1 - 1e-6)
        assert low <= float(exact.mean()) <= high and exact.interval() == (float(exact.mean()),) * 2


def test_solutions_of_the_inequality() -> None:
    for slope, exponent, constant in itertools.product((0.0, 0.1, 1.0, 3.0), (0.0, 0.3, 1.0), (0.0, 0.01, 2.0)):
        x = largest_solution(slope, exponent, constant)
        assert x == pytest.approx(slope * x ** (exponent / 2) + constant, rel=1e-9, abs=1e-12)
        above = 1.001 * x + 1e-6
        assert above > slope * above ** (exponent / 2) + constant


def test_what_is_printed_for_a() -> None:
    """Inside the logarithm the confidence hardly counts; and few samples make it negative."""
    for n in (10, 1000):
        assert complexity(1, n, 1e-300, printed=True) < complexity(1, n, 1e-300) / 10
    assert complexity(5, 5, 0.5) == pytest.approx(math.log(2) / 5)
    with pytest.raises(ValueError, match=r"confidence = 1: allowed is a number in \(0, 1\)"):
        complexity(1, 1, 1)


def test_transfer() -> None:
    for beta in (0.0, 0.5, 1.0, 2.0):
        values = [transferred_excess(1.5, beta, e) for e in (0.0, 0.1, 0.5)]
        assert values == sorted(values)
    assert pooled_excess(2.0, 0.5, 0.0) == 0.0


def test_bad_input() -> None:
    p, h = Law([["1/2", "1/2"]]), FiniteClass([[0], [1]])
    with pytest.raises(ValueError, match="sources is empty"):
        excess_law(p, h, [])
    with pytest.raises(ValueError, match="samples = 0 in all"):
        pooled([(p, 0)])
    big = Law([["1/16", "1/16"]] * 8)
    with pytest.raises(ValueError, match=r"\d+ tables of counts: allowed is at most 500000; sampled_law draws samples"):
        excess_law(big, FiniteClass.thresholds(8), [(big, 30)])
    with pytest.raises(ValueError, match="a class on 1 points: allowed is one on 8"):
        excess_law(big, h, [(big, 1)])
    with pytest.raises(ValueError, match="ties = 'lot'"):
        excess_law(p, h, [(p, 1)], ties="lot")
    with pytest.raises(ValueError, match="joint sums to 3/4"):
        Law([["1/2", "1/4"]])
    with pytest.raises(ValueError, match="probabilities >= 0"):
        Law([["3/2", "-1/2"]])
    with pytest.raises(ValueError, match="joint has shape"):
        Law(["1/2", "1/2"])
    with pytest.raises(ValueError, match="distributions on 1 and 8 points"):
        p.mixed(big, "1/2")
    for labels, what in (([], "at least one hypothesis"), ([[0], [0]], "is there twice"), ([[2]], "are 0 and 1")):
        with pytest.raises(ValueError, match=what):
            FiniteClass(labels)
    with pytest.raises(ValueError, match="points = 40: 1099511627776 labellings, allowed are at most 16 points"):
        FiniteClass.all(40)
    with pytest.raises(ValueError, match="slope, constant"):
        largest_solution(-1.0, 0.0, 0.0)
