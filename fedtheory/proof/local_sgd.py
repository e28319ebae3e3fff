"""Lemmas on a round of local SGD, for any cohort. They are made by the kernel and shared by the papers' proofs.

Notation: d_k = x_{i,k} - x, e = sum_k mean_S (grad F_i(x_{i,k}) - grad F_i(x)), w = sum_k mean_S N_{i,k}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from .kernel.axioms import ITERATE, NEXT, NOISE, OPTIMUM, START_POINT, Axioms, at
from .kernel.forms import ONE, Form, Vector, square
from .kernel.regions import Where
from .kernel.round_rules import ARBITRARY, conditional_mean, expect_arbitrary, project
from .kernel.scalars import Scalar
from .kernel.tactics import Square, atom_of, coefficient, follow, rounded, show_by_induction
from .kernel.theorems import Multiples, Theorem, combine, over_clients, over_steps


@dataclass(frozen=True)
class LocalSGD:
    """Round of K local steps of clients that are L-smooth, and convex unless ``convex`` is false, with noise of
    variance at most ``variance``.

    The axioms' region has to contain K, the step size eta <= 1/(8 L K) and L > 0.
    """

    axioms: Axioms
    L: Scalar
    variance: Scalar
    convex: bool = True

    @cached_property
    def K(self) -> Scalar:
        """Number of local steps, as a scalar."""
        return self.axioms.where.ring["K"]

    @cached_property
    def k(self) -> Scalar:
        """Index of the local step, as a scalar."""
        return self.axioms.where.ring["k"]

    @cached_property
    def start(self) -> Vector:
        """Server's point x at the round's start."""
        return self.axioms.vector(START_POINT)

    @cached_property
    def distance(self) -> Vector:
        """Vector x - x*."""
        return self.start - self.axioms.vector(OPTIMUM)

    @cached_property
    def next_distance(self) -> Vector:
        """Vector x+ - x*."""
        return self.axioms.vector(NEXT) - self.axioms.vector(OPTIMUM)

    @cached_property
    def moved(self) -> Vector:
        """Displacement d_k = x_{i,k} - x of a client."""
        return self.axioms.vector(ITERATE) - self.start

    @cached_property
    def gradient_at_start(self) -> Vector:
        """Gradient grad F_i(x)."""
        return self.axioms.gradient(START_POINT)

    @cached_property
    def gradient_along(self) -> Vector:
        """Gradient grad F_i(x_{i,k})."""
        return self.axioms.gradient(ITERATE)

    @cached_property
    def noise(self) -> Vector:
        """Noise N_{i,k} of a client's gradient."""
        return self.axioms.vector(NOISE)

    @cached_property
    def cohort_gradient(self) -> Vector:
        """Mean gradient of the cohort, mean_S grad F_i(x)."""
        return self.gradient_at_start.under("S")

    @cached_property
    def drift(self) -> Vector:
        """Drift e of the cohort's gradients."""
        return (self.gradient_along - self.gradient_at_start).under("S").under("K")

    @cached_property
    def cohort_noise(self) -> Vector:
        """Sum w of the cohort's mean noise over the steps."""
        return self.noise.under("S").under("K")

    @cached_property
    def path(self) -> Theorem:
        """Prove E|d_k|^2 <= (k + k^2/K) eta^2 ((K + 2) |grad F_i(x)|^2 + sigma^2) for k <= K, by induction with the
        factor 1 + 1/K. The noise is orthogonal to what precedes it, and a gradient step of a convex client expands by
        no more than its first gradient says."""
        ax, eta, d, g, g0 = self.axioms, self.axioms.step, self.moved, self.gradient_along, self.gradient_at_start
        premises: Multiples = [
            *self._one_step,
            (ax.cocoercive(ITERATE, START_POINT, 0 * self.L, self.L), 2 * eta / self.L),
        ]
        squares: Sequence[Square] = [
            (d / self.K + g0 * eta, "", self.K),
            (g - g0 * 2, "", eta**2),
            (g - g0, "", 2 * eta / self.L - 2 * eta**2),
        ]
        return self._by_induction(self.K + 2, self.k + self.k**2 / self.K, 1 + 1 / self.K, premises, squares)

    @cached_property
    def rough_path(self) -> Theorem:
        """Prove E|d_k|^2 <= (k + 4/5 k^2/K + k^3/K^2) eta^2 ((K + 1) |grad F_i(x)|^2 + sigma^2) for k <= K, of clients
        that need not be convex, under eta <= 1/(8 L K): a gradient step expands by at most 1 + L eta."""
        ax, eta, K, L = self.axioms, self.axioms.step, self.K, self.L
        d, g0 = self.moved, self.gradient_at_start
        change = self.gradient_along - g0
        expands = (1 + 1 / K) * (1 + L * eta) ** 2
        premises: Multiples = [
            *self._one_step,
            (ax.smooth(ITERATE, START_POINT, L), (1 + 1 / K) * (eta / L + eta**2)),
        ]
        squares: Sequence[Square] = [
            ((d - change * eta) / K + g0 * eta, "", K),
            (d * L + change, "", (1 + 1 / K) * eta / L),
            (d, "", 1 + Fraction(8, 5) / K - expands),
        ]
        rise = self.k + self.k**2 * 4 / 5 / K + self.k**3 / K**2
        return self._by_induction(K + 1, rise, 1 + Fraction(8, 5) / K, premises, squares)

    @property
    def _one_step(self) -> list[tuple[Theorem, Scalar | int]]:
        """Prove E|d_{k+1}|^2 <= |d_k - eta grad F_i(x_{i,k})|^2 + eta^2 sigma^2."""
        ax, eta, d, g = self.axioms, self.axioms.step, self.moved, self.gradient_along
        after = ax.vector(at(ITERATE, 1)) - self.start
        return [
            (ax.local_step(after + d - (g + self.noise) * eta), -1),
            (ax.unbiased(d - g * eta), 2 * eta),
            (ax.variance(self.variance), eta**2),
        ]

    def _by_induction(
        self, weight: Scalar, rise: Scalar, factor: Scalar, premises: Multiples, squares: Sequence[Square]
    ) -> Theorem:
        """Prove E|d_k|^2 <= rise(k) eta^2 (weight |grad F_i(x)|^2 + sigma^2) for k <= K."""
        scale = self.axioms.step**2 * rise
        bound = square(self.gradient_at_start) * (weight * scale) + Form.constant(self.variance * scale)
        bound = bound - square(self.moved)
        return show_by_induction(bound, factor, premises, squares)

    @cached_property
    def exact_drift_bound(self) -> Theorem:
        """Prove that E|e|^2 is at most L^2 K times the sum over k of the bounds on mean_S E|d_k|^2. Nothing is rounded
        up, and there is no drift at K = 1."""
        return self.drift_over("S")

    def drift_over(self, binder: str) -> Theorem:
        """Prove the same of the drift of the cohort's gradients (S), or of all clients' (M), given the cohort."""
        ax, K, L = self.axioms, self.K, self.L
        change = self.gradient_along - self.gradient_at_start
        drift = change.under(binder).under("K")
        squares = [(change - drift / K, f"{binder}K", K)]
        spread = combine([], where=ax.where, context=ax.given, squares=squares)
        smooth = over_steps(over_clients(ax.smooth(ITERATE, START_POINT, L), binder))
        paths = over_steps(over_clients(self.path if self.convex else self.rough_path, binder))
        return combine([(spread, 1), (smooth, K), (paths, K * L**2)], where=ax.where, context=ax.given)

    @cached_property
    def drift_bound(self) -> Theorem:
        """Prove E|e|^2 <= L^2 eta^2 K^3 (K mean_S |grad F_i(x)|^2 + 5/6 sigma^2); without convexity 4/3 for 1, and
        16/15 (1 - 1/K) for 5/6, as the noise of a single local step does not drift."""
        ax, K, L, g0, whole = self.axioms, self.K, self.L, self.gradient_at_start, self.exact_drift_bound
        share = K * Fraction(5, 6) if self.convex else (K - 1) * Fraction(16, 15)
        scale = L**2 * ax.step**2 * K**2
        squares = [
            (g0, "S", scale * K**2 * (1 if self.convex else Fraction(4, 3)) - coefficient(whole.form, g0, g0, "S"))
        ]
        return rounded(whole, ax.where, squares, scale * share * self.variance - whole.form.entries[ONE])

    @cached_property
    def noise_bound(self) -> Theorem:
        """Prove E|w|^2 <= K sigma^2 / size."""
        ax = self.axioms
        variance = over_steps(over_clients(ax.variance(self.variance), "S"))
        return follow([(ax.steps_apart(), -1), (over_steps(ax.uncorrelated()), -1), (variance, 1 / ax.size)])

    def one_round(self, near: Scalar, split: Scalar, share: Scalar, where: Where) -> Theorem:
        """Bound |x+ - x*|^2, given the cohort, with free Young parameters > 0: ``near`` between x - x* and e,
        ``split`` between K mean_S grad F_i(x) and e, ``share`` between w and e."""
        ax, K, eta = self.axioms, self.K, self.axioms.step
        D, G, e, w = self.distance, self.cohort_gradient, self.drift, self.cohort_noise
        summed, squares = self.sum_of_gradients(split, share, self.drift_bound, eta**2)
        premises: Multiples = [
            (ax.round(self.next_distance + D - (G * K + e + w) * eta), -1),
            (over_steps(over_clients(ax.unbiased(D), "S")), 2 * eta),
            (self.drift_bound, eta / (near * K)),
            *summed,
        ]
        near_square = (D + e / (near * K), "", near * eta * K)
        return combine(premises, where=where, context=ax.given, squares=[near_square, *squares])

    def falls(self, scale: Scalar | int) -> Multiples:
        """Return premises by which ``scale`` times F(x) - E F(x+) is at least what the move x - x+ has along grad F(x),
        less L/2 times its square, given the cohort; the noise has nothing along it."""
        ax, g = self.axioms, self.gradient_at_start.under("M")
        moved = ax.vector(NEXT) - self.start
        move = (self.gradient_along.under("S").under("K") + self.cohort_noise) * ax.step
        return [
            (over_clients(ax.descent(NEXT, START_POINT, self.L), "M"), scale),
            (ax.round(g + (moved - move) * self.L / 2), scale * -1),
            (over_steps(over_clients(ax.unbiased(g), "S")), scale * ax.step),
        ]

    def one_descent(self, near: Scalar, split: Scalar, share: Scalar, where: Where) -> Theorem:
        """Bound from below the decrease of F, given the cohort, with free Young parameters > 0: ``near`` between grad
        F(x) and e, the others as in ``kernel.round_bounds``."""
        ax, K, eta = self.axioms, self.K, self.axioms.step
        g, e = self.gradient_at_start.under("M"), self.drift
        half = self.L / 2
        summed, squares = self.sum_of_gradients(split, share, self.drift_bound, eta**2 * half)
        premises: Multiples = [
            *self.falls(1),
            (self.drift_bound, eta / (2 * near * K)),
            *summed,
        ]
        near_square = (g + e / (near * K), "", near * eta * K / 2)
        return combine(premises, where=where, context=ax.given, squares=[near_square, *squares])

    def summed_descent(self, squared_dissimilarity: Scalar, kind: str) -> Theorem:
        """Prove, given the cohort, with W the sum over the steps of its mean gradients, z = L K eta <= 1/8 and no
        convexity,

            4/(K eta) (F(x) - E F(x+)) - |grad F(x)|^2 + (4 L eta/K - 2/K^2) |W|^2
                + (4 + 32/3 z^2) sigma_G^2 + (4 L eta/size + 64/15 (K - 1) L^2 eta^2) sigma^2 >= 0,

        from <g, W> = (|K g|^2 + |W|^2 - |K g - W|^2)/(2 K), where K g - W = K (g - mean_S g_i) - e."""
        ax, K, eta, L = self.axioms, self.K, self.axioms.step, self.L
        g0, G, e, w = self.gradient_at_start, self.cohort_gradient, self.drift, self.cohort_noise
        g, W = g0.under("M"), self.gradient_along.under("S").under("K")
        z = L * K * eta
        far, near = z**2 * 16 / 3, over_clients(ax.dissimilar(START_POINT, squared_dissimilarity), "S")
        premises: Multiples = [
            *self.falls(4 / (K * eta)),
            (self.noise_bound, 4 * L * eta / K),
            (self.drift_bound, 4 / K**2),
            (near, 4 + 2 * far),
        ]
        squares: Sequence[Square] = [
            (W - w, "", 2 * L * eta / K), ((g - G) * K + e, "", 2 / K**2), (g0 - G, "S", K * 4 / K),
            (g0 - g * 2, "S", far), (g, "", 1 - 2 * far),
        ]  # fmt: skip
        return combine(premises, where=ax.where, context=ax.given, kind=kind, squares=squares)

    def sum_of_gradients(
        self, split: Scalar, share: Scalar, drift: Theorem, factor: Scalar
    ) -> tuple[Multiples, Sequence[Square]]:
        """Return premises and squares that bound ``factor`` |K mean_S grad F_i(x) + e + w|^2. The bound is by |mean_S
        grad F_i(x)|^2, the theorem ``drift`` on e, and the bound of w."""
        K, G, e, w = self.K, self.cohort_gradient, self.drift, self.cohort_noise
        across = over_steps(over_clients(self.axioms.unbiased(G), "S"))
        of_drift, of_noise = (1 + 1 / split + 1 / share) * factor, (1 + share) * factor
        return (
            [(across, -2 * K * factor), (drift, of_drift), (self.noise_bound, of_noise)],
            [(G * K - e / split, "", split * factor), (w - e / share, "", share * factor)],
        )


def monotone(axioms: Axioms, mu: Scalar) -> Theorem:
    """Prove <grad F(x), x - x*> >= mu |x - x*|^2."""
    both = [
        (over_clients(axioms.convex(*points, mu), "M"), 1)
        for points in ((START_POINT, OPTIMUM), (OPTIMUM, START_POINT))
    ]
    distance = axioms.vector(START_POINT) - axioms.vector(OPTIMUM)
    return combine([*both, (axioms.optimal(distance), 1)], where=axioms.where, context="start")


@dataclass(frozen=True)
class Bias:
    """Bias E[mean_S u_i | start] - c of a family u_i over an arbitrary cohort of this size; ``near`` says that
    |u_i - c|^2 <= D for every client."""

    family: Vector
    c: Vector
    near: Theorem
    size: Scalar

    @property
    def mean(self) -> Vector:
        """Conditional mean E[mean_S u_i | start]."""
        return conditional_mean(atom_of(self.family).atom, ARBITRARY, self.near.where.ring)

    @property
    def vector(self) -> Vector:
        """The bias itself."""
        return self.mean - self.c

    def projected(self, other: Vector) -> Theorem:
        """Prove <mean_S u_i - E[mean_S u_i | start], w> = 0 for w known at the start."""
        return project(atom_of(self.family).atom, other, ARBITRARY, self.near.where)

    def bound(self) -> Theorem:
        """Prove |bias|^2 <= D."""
        where, mean = self.near.where, self.family.under("S")
        cohort = rounded(over_clients(self.near, "S"), where, [(self.family - mean, "S", 1)], kind=ARBITRARY)
        premises: Multiples = [(expect_arbitrary(cohort, self.size), 1), (self.projected(self.vector), 2)]
        return follow(premises, [(mean - self.mean, "", 1)])


def cocoercive(axioms: Axioms, mu: Scalar, L: Scalar) -> Theorem:
    """Prove (mu + L) <grad F(x), x - x*> >= mu L |x - x*|^2 + |grad F(x)|^2."""
    distance = axioms.vector(START_POINT) - axioms.vector(OPTIMUM)
    g, g_opt = axioms.global_gradient(START_POINT), axioms.global_gradient(OPTIMUM)
    spread = axioms.gradient(START_POINT) - axioms.gradient(OPTIMUM) - g + g_opt
    premises: Multiples = [
        (over_clients(axioms.cocoercive(START_POINT, OPTIMUM, mu, L), "M"), 1),
        (axioms.optimal(distance), mu + L),
        (axioms.optimal(g), -2),
    ]
    return combine(premises, where=axioms.where, context="start", squares=[(spread, "M", 1), (g_opt, "", 1)])
