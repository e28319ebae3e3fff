"""Lemmas on a round of local SGD, for any cohort: made by the kernel, shared by the papers' proofs.

Notation: d_k = x_{i,k} - x, e = sum_k mean_S (grad F_i(x_{i,k}) - grad F_i(x)), w = sum_k mean_S N_{i,k}.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .kernel.axioms import ITERATE, NEXT, NOISE, OPTIMUM, START_POINT, Axioms, at
from .kernel.forms import ONE, Form, Vector, square
from .kernel.regions import Where
from .kernel.scalars import Scalar
from .kernel.tactics import coefficient, show
from .kernel.theorems import Multiples, Theorem, at_step, combine, induct, over_clients, over_steps


@dataclass(frozen=True)
class LocalSGD:
    """A round of K local steps of convex clients, L-smooth, with noise of variance at most ``variance``.

    The axioms' region has to contain K, the step size eta <= 1/L and L > 0.
    """

    axioms: Axioms
    L: Scalar
    variance: Scalar

    @cached_property
    def K(self) -> Scalar:
        return self.axioms.where.ring["K"]

    @cached_property
    def k(self) -> Scalar:
        return self.axioms.where.ring["k"]

    @cached_property
    def start(self) -> Vector:
        return self.axioms.vector(START_POINT)

    @cached_property
    def distance(self) -> Vector:
        """x - x*."""
        return self.start - self.axioms.vector(OPTIMUM)

    @cached_property
    def next_distance(self) -> Vector:
        """x+ - x*."""
        return self.axioms.vector(NEXT) - self.axioms.vector(OPTIMUM)

    @cached_property
    def moved(self) -> Vector:
        """d_k."""
        return self.axioms.vector(ITERATE) - self.start

    @cached_property
    def gradient_at_start(self) -> Vector:
        """grad F_i(x)."""
        return self.axioms.gradient(START_POINT)

    @cached_property
    def gradient_along(self) -> Vector:
        """grad F_i(x_{i,k})."""
        return self.axioms.gradient(ITERATE)

    @cached_property
    def noise(self) -> Vector:
        return self.axioms.vector(NOISE)

    @cached_property
    def cohort_gradient(self) -> Vector:
        """mean_S grad F_i(x)."""
        return self.gradient_at_start.under("S")

    @cached_property
    def drift(self) -> Vector:
        """e."""
        return (self.gradient_along - self.gradient_at_start).under("S").under("K")

    @cached_property
    def cohort_noise(self) -> Vector:
        """w."""
        return self.noise.under("S").under("K")

    @cached_property
    def path(self) -> Theorem:
        """E|d_k|^2 <= (k + k^2/K) eta^2 ((K + 2) |grad F_i(x)|^2 + sigma^2) for k <= K, by induction with the factor
        1 + 1/K: the noise is orthogonal to what precedes it, and a gradient step of a convex client expands by no more
        than its first gradient says."""
        ax, eta, d, g, g0 = self.axioms, self.axioms.step, self.moved, self.gradient_along, self.gradient_at_start
        rise, one = self.k + self.k**2 / self.K, self.K / self.K
        bound = square(g0) * ((self.K + 2) * eta**2 * rise) + Form.constant(eta**2 * self.variance * rise) - square(d)
        after = ax.vector(at(ITERATE, 1)) - self.start
        factor = one + 1 / self.K
        premises: Multiples = [
            (ax.local_step(after + d - (g + self.noise) * eta), -1),
            (ax.unbiased(d - g * eta), 2 * eta),
            (ax.variance(self.variance), eta**2),
            (ax.cocoercive(ITERATE, START_POINT, 0 * self.L, self.L), 2 * eta / self.L),
        ]
        squares = [
            (d / self.K + g0 * eta, "", self.K),
            (g - g0 * 2, "", eta**2),
            (g - g0, "", 2 * eta / self.L - 2 * eta**2),
        ]
        step = show(
            at_step(bound, 1, 0, 1) - bound * factor, premises, where=ax.where, context="cohort", squares=squares
        )
        return induct(combine([], where=ax.where, context="cohort"), step, bound, factor)

    @cached_property
    def drift_bound(self) -> Theorem:
        """E|e|^2 <= L^2 eta^2 K^3 (K mean_S |grad F_i(x)|^2 + 5/6 sigma^2)."""
        ax, K, L, g0 = self.axioms, self.K, self.L, self.gradient_at_start
        change = self.gradient_along - g0
        spread = combine([], where=ax.where, context="cohort", squares=[(change - self.drift / K, "SK", K)])
        smooth = over_steps(over_clients(ax.smooth(ITERATE, START_POINT, L), "S"))
        paths = over_steps(over_clients(self.path, "S"))
        whole = combine([(spread, 1), (smooth, K), (paths, K * L**2)], where=ax.where, context="cohort")
        scale = L**2 * ax.step**2 * K**3
        squares = [(g0, "S", scale * K - coefficient(whole.form, g0, g0, "S"))]
        return combine([(whole, 1)], where=ax.where, context="cohort", squares=squares,
                       constant=scale * self.variance * 5 / 6 - whole.form.entries[ONE])  # fmt: skip

    @cached_property
    def noise_bound(self) -> Theorem:
        """E|w|^2 <= K sigma^2 / size."""
        ax = self.axioms
        variance = over_steps(over_clients(ax.variance(self.variance), "S"))
        return combine([(ax.steps_apart(), -1), (over_steps(ax.uncorrelated()), -1), (variance, 1 / ax.size)],
                       where=ax.where, context="cohort")  # fmt: skip

    def one_round(self, near: Scalar, split: Scalar, share: Scalar, where: Where) -> Theorem:
        """What |x+ - x*|^2 is at most, given the cohort, with free Young parameters > 0: ``near`` between x - x* and e,
        ``split`` between K mean_S grad F_i(x) and e, ``share`` between w and e."""
        ax, K, eta = self.axioms, self.K, self.axioms.step
        D, G, e, w = self.distance, self.cohort_gradient, self.drift, self.cohort_noise
        premises: Multiples = [
            (ax.round(self.next_distance + D - (G * K + e + w) * eta), -1),
            (over_steps(over_clients(ax.unbiased(D), "S")), 2 * eta),
            (over_steps(over_clients(ax.unbiased(G), "S")), -2 * eta**2 * K),
            (self.drift_bound, eta / (near * K) + eta**2 * (1 + 1 / split + 1 / share)),
            (self.noise_bound, eta**2 * (1 + share)),
        ]
        squares = [(D + e / (near * K), "", near * eta * K), (G * K - e / split, "", eta**2 * split),
                   (w - e / share, "", eta**2 * share)]  # fmt: skip
        return combine(premises, where=where, context="cohort", squares=squares)
