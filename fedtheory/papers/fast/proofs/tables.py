"""Symbols and short ways to write steps, shared by FAST's tables.

In the comments z = smoothness * local_steps * local_lr, h = q/m + (1 - q)/n, p = 1 - q, D bounds E|x_k - x|^2.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from ....proof.gram import Gram
from ....proof.regions import Part, Region, capped, count, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step, Vectors

L, mu, sigma, sigma_G = sympy.symbols("smoothness strong_convexity gradient_noise dissimilarity")
m, n, M, K, R = sympy.symbols("cohort arbitrary_cohort clients local_steps rounds")
eta, q, epsilon = sympy.symbols("local_lr snapshot_probability young_parameter")
G1, G2, G3 = sympy.symbols("peak_full_pseudogradient peak_arbitrary_pseudogradient peak_cohort_pseudogradient")
d, zeta, gradient, decrease = sympy.symbols("initial_distance initial_gap gradient_norm objective_decrease")
full, cohort, arbitrary = sympy.symbols("full_pseudogradient cohort_pseudogradient arbitrary_pseudogradient")
displacement, perturbation = sympy.symbols("displacement perturbation")

p = 1 - q
z = L * K * eta
h = q / m + (1 - q) / n
half, quarter = sympy.Rational(1, 2), sympy.Rational(1, 4)

PAIRS = tuple[tuple[sympy.Expr, sympy.Expr], ...]

FREE = region(
    positive("local_lr"),
    capped("strong_convexity", L),
    positive("smoothness"),
    count("local_steps"),
    count("cohort"),
    count("arbitrary_cohort"),
    interval("snapshot_probability"),
    nonnegative("gradient_noise"),
    nonnegative("dissimilarity"),
    positive("young_parameter"),
)
"""Every quantity anywhere the vocabulary allows, with mu <= L."""


def setting(*extra: Part, cap: sympy.Expr, least: int = 1) -> Region:
    """A step size under a cap, and all other quantities free."""
    return region(
        *extra,
        capped("local_lr", cap),
        positive("smoothness"),
        count("local_steps"),
        count("cohort", least),
        count("arbitrary_cohort", least),
        interval("snapshot_probability"),
    )


def under(constant: sympy.Expr) -> Region:
    """z <= constant."""
    return setting(cap=constant / (L * K))


def same(name: str, equation: str, says: str, pairs: Iterable[tuple[sympy.Expr, sympy.Expr]], **more: object) -> Step:
    """An identity step; ``pairs`` are the sides."""
    checks = tuple(Identity(left, right) for left, right in pairs)
    return Step(name, equation, says, more.pop("kind", "identity"), checks, **more)


def nonnegative_step(
    name: str, equation: str, says: str, expression: sympy.Expr, *cases: Region, **more: object
) -> Step:
    """A polynomial step."""
    return Step(name, equation, says, more.pop("kind", "polynomial"), (Nonnegative(expression, cases),), **more)


def gram(
    name: str,
    equation: str,
    says: str,
    expression: sympy.Expr,
    given: PAIRS = (),
    zero: PAIRS = (),
    where: Region = FREE,
    **more: object,
) -> Step:
    """A step about vectors; ``given`` and ``zero`` pair hypotheses with their multipliers."""
    return Step(
        name, equation, says, more.pop("kind", "gram"), (vectors_check(expression, given, zero, where),), **more
    )


def vectors_check(expression: sympy.Expr, given: PAIRS = (), zero: PAIRS = (), where: Region = FREE) -> Vectors:
    """The check of a Gram statement."""
    return Vectors(Gram(expression, where, given, zero))


def given(name: str, equation: str, says: str, **more: object) -> Step:
    """A definition, or a fact that is taken as given."""
    return Step(name, equation, says, "definition", expected="given", **more)


def coefficient_step(
    name: str,
    equation: str,
    says: str,
    expected: str,
    why: str,
    expression: sympy.Expr,
    regions: tuple[Region, ...] = (),
    identity: bool = False,
    **more: object,
) -> Step:
    """A step about coefficients: an identity ``expression = 0``, or ``expression >= 0`` on every region."""
    check = Identity(expression) if identity else Nonnegative(expression, regions)
    kind = "identity" if identity else "polynomial"
    return Step(name, equation, says, kind, (check,), why, expected, **more)
