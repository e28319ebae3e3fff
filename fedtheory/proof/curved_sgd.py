"""A round of local SGD of strongly convex clients, whose step is capped by 1/(8 L K) and not by the curvature: made by
the kernel.

Notation: D = x - x*, d_k = x_{i,k} - x, v_k = grad F_i(x_{i,k}), g_i = grad F_i(x), b_i = grad F_i(x*),
u_i = g_i - b_i - mu D; z = L K eta. Where <D, v_k> is wanted, the clients' values do what Young's inequality between
D and the drift does at the price of L^2/mu:

    <v_k, x_{i,k} - x*> >= F_i(x_{i,k}) - F_i(x*) + mu/2 |x_{i,k} - x*|^2        (strong convexity)
    F_i(x_{i,k}) - <v_k, d_k> >= F_i(x) - L/2 |d_k|^2                            (descent)
    F_i(x) - F_i(x*) >= <b_i, D> + mu/2 |D|^2 + |u_i|^2/(2 L)                    (interpolation)
    E<D, d_k> = -eta sum_{j<k} E<D, v_j>                                         (noise has mean 0)

The last term of the third line pays for the squares of gradients. By the fourth the noise of local steps enters through
L/2 |d_k|^2 alone, of the order z K eta^2 sigma^2 a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .kernel.axioms import ITERATE, OPTIMUM, START_POINT
from .kernel.forms import ONE, Form, Vector, dot, square
from .kernel.regions import Where
from .kernel.round_rules import expect_arbitrary
from .kernel.scalars import Scalar
from .kernel.tactics import Square, coefficient, follow, rounded, show_by_induction
from .kernel.theorems import Multiples, Theorem, combine, over_clients, over_steps
from .local_sgd import Bias, LocalSGD


@dataclass(frozen=True)
class CurvedSGD:
    """Round of local SGD whose clients are mu-strongly convex, and dissimilar at the optimum by at most
    ``dissimilarity``, a square. The region has to have 0 < eta <= 1/(8 L K) and 0 < mu <= L."""

    sgd: LocalSGD
    mu: Scalar
    dissimilarity: Scalar

    @property
    def where(self) -> Where:
        """Region of the theorems."""
        return self.sgd.axioms.where

    @cached_property
    def z(self) -> Scalar:
        """Product z = L K eta."""
        return self.sgd.L * self.sgd.K * self.sgd.axioms.step

    @cached_property
    def at_optimum(self) -> Vector:
        """Gradient b_i = grad F_i(x*)."""
        return self.sgd.axioms.gradient(OPTIMUM)

    @cached_property
    def cohort_at_optimum(self) -> Vector:
        """Cohort's mean of the gradients at the optimum, mean_S b_i."""
        return self.at_optimum.under("S")

    @cached_property
    def rest(self) -> Vector:
        """Vector u_i = g_i - b_i - mu D."""
        return self.sgd.gradient_at_start - self.at_optimum - self.sgd.distance * self.mu

    @cached_property
    def near_optimum(self) -> Theorem:
        """Prove |b_i|^2 <= sigma_G^2, as grad F(x*) = 0."""
        ax, b = self.sgd.axioms, self.at_optimum
        mean = b.under("M")
        premises: Multiples = [(ax.dissimilar(OPTIMUM, self.dissimilarity), 1), (ax.optimal(b * 2 - mean), -1)]
        return combine(premises, where=self.where, context="start")

    @cached_property
    def above_optimum(self) -> Theorem:
        """Prove F_i(x) - F_i(x*) >= <b_i, D> + mu/2 |D|^2 + |u_i|^2/(2 L)."""
        ax, mu, L = self.sgd.axioms, self.mu, self.sgd.L
        premises: Multiples = [
            (ax.interpolated(START_POINT, OPTIMUM, mu, L), 1 / (2 * L)),
            (ax.convex(START_POINT, OPTIMUM, mu), mu / L),
        ]
        return combine(premises, where=self.where, context="start")

    @cached_property
    def across(self) -> Theorem:
        """Prove a lower bound of E<D, d_k> by induction; noise has mean 0 given D. The bound is -k eta (2 mu |D|^2 +
        <D, b_i> + |u_i|^2/(2 mu)), less L^2 eta/(2 mu) times the bound on the sum over j < k of E|d_j|^2."""
        s, mu = self.sgd, self.mu
        ax, eta, k, K, D = s.axioms, s.axioms.step, s.k, s.K, s.distance
        earlier = k * (k - 1) / 2 + k * (k - 1) * (2 * k - 1) / (6 * K)
        each = square(s.gradient_at_start) * (K + 2) + Form.constant(s.variance)
        bound = dot(D, s.moved) + each * (s.L**2 * eta**3 / (2 * mu) * earlier)
        bound = bound + (square(D) * (2 * mu) + dot(D, self.at_optimum) + square(self.rest) / (2 * mu)) * (k * eta)
        share = eta / (2 * mu)
        premises: Multiples = [
            (ax.local_step(D), 1),
            (ax.unbiased(D), -eta),
            (ax.smooth(ITERATE, START_POINT, s.L), share),
            (s.path, s.L**2 * share),
        ]
        change = s.gradient_along - s.gradient_at_start
        squares: list[Square] = [(D * mu - change, "", share), (D * mu - self.rest, "", share)]
        return show_by_induction(bound, self.where.ring.number(1), premises, squares)

    @cached_property
    def progress(self) -> Theorem:
        """Prove a lower bound of sum_k mean_S E<v_k, D>. It is K (<mean_S b_i, D> + mu |D|^2 + mean_S |u_i|^2/(2 L)),
        but for terms of the order K^2 eta."""
        ax, mu, L = self.sgd.axioms, self.mu, self.sgd.L
        premises: Multiples = [
            (ax.convex(OPTIMUM, ITERATE, mu), 1),
            (ax.descent(START_POINT, ITERATE, L), 1),
            (self.above_optimum, 1),
            (self.across, mu),
            (self.sgd.path, (L - mu) / 2),
        ]
        each = combine(premises, where=self.where, context="cohort")
        return over_steps(over_clients(each, "S"))

    @cached_property
    def one_round(self) -> Theorem:
        """Bound |x+ - x*|^2, given the cohort, by |D|^2, <mean_S b_i, D> and constants. Young's parameters are z
        between K mean_S g_i, e and w, and 1/(2 z) between mean_S u_i and mu D + mean_S b_i."""
        s, z, mu, where = self.sgd, self.z, self.mu, self.where
        ax, K, eta, D = s.axioms, s.K, s.axioms.step, s.distance
        u, b, g, U, B = self.rest, self.at_optimum, s.gradient_at_start, self.rest.under("S"), self.cohort_at_optimum
        summed, squares = s.sum_of_gradients(z, z, s.exact_drift_bound, eta**2)
        whole = s.cohort_gradient * K + s.drift + s.cohort_noise
        unit, paid = (1 + z) * K**2 * eta**2, self._of_gradients(1 + 2 / z)
        premises: Multiples = [
            (ax.round(s.next_distance + D - whole * eta), -1),
            (over_steps(over_clients(ax.unbiased(D), "S")), 2 * eta),
            (self.progress, 2 * eta),
            *summed,
            (over_clients(self.near_optimum, "S"), unit * (1 + 2 * z) + paid * 2),
        ]
        most = combine(
            premises,
            where=where,
            context="cohort",
            squares=[
                *squares,
                (U / (2 * z) - D * mu - B, "", unit * 2 * z),
                (u - U, "S", unit * (1 + 1 / (2 * z))),
                (b - B, "S", unit * (1 + 2 * z)),
                (b - u - D * mu, "S", paid),
                (u - D * mu, "S", paid * 2),
            ],
        )
        left = coefficient(most.form, g, g, "S")
        return rounded(most, where, [(u, "S", -left)])

    def short_round(self, whole: Theorem, size: Scalar) -> Theorem:
        """Round up the coefficients of ``one_round``, of cohorts of this size."""
        s, z, K, eta, mu = self.sgd, self.z, self.sgd.K, self.sgd.axioms.step, self.mu
        drift = (1 + 10 * z) * K**2 * eta**2 * self.dissimilarity
        noise = ((1 + z) / size + (1 - 1 / K) * z * 8 / 3) * K * eta**2 * s.variance
        factor = 1 - 2 * mu * K * eta + 5 * mu**2 * K**2 * eta**2
        squares: list[Square] = [(s.distance, "", factor - coefficient(whole.form, s.start, s.start))]
        return rounded(whole, self.where, squares, drift + noise - whole.form.entries[ONE])

    @cached_property
    def cohort_progress(self) -> Theorem:
        """Bound sum_k mean_S E<v_k, D> from below by |D|^2, <mean_S b_i, D> and constants."""
        s, D, u, b, g = self.sgd, self.sgd.distance, self.rest, self.at_optimum, self.sgd.gradient_at_start
        eta, room = s.axioms.step, s.L**2 * s.axioms.step**3 * s.K * (s.K - 1) / 2
        paid = self._of_gradients(0 * eta) / (2 * eta) + room
        squares = [(b - u - D * self.mu, "S", paid), (u - D * self.mu, "S", paid * 2), (g, "S", room)]
        most = follow([(self.progress, 1), (over_clients(self.near_optimum, "S"), paid * 2)], squares)
        left = coefficient(most.form, g, g, "S")
        return rounded(most, self.where, [(u, "S", -left)])

    def bias(self, size: Scalar) -> Bias:
        """Bias of an arbitrary cohort's gradients at the optimum, whose mean over all clients is 0."""
        return Bias(self.at_optimum, self.at_optimum * 0, self.near_optimum, size)

    def arbitrary(self, whole: Theorem, size: Scalar) -> Theorem:
        """Turn a bound given an arbitrary cohort of this size, with <mean_S b_i, D>, into one with <bias, D>."""
        cross = coefficient(whole.form, self.sgd.start, self.cohort_at_optimum)
        projected = self.bias(size).projected(self.sgd.distance)
        return follow([(expect_arbitrary(whole, size), 1), (projected, -cross)])

    def unbiased(self, whole: Theorem) -> Theorem:
        """Leave <mean b_i, D> out of a bound given the kind of round: it is 0."""
        cross = coefficient(whole.form, self.sgd.start, self.at_optimum.under("M"))
        premises: Multiples = [(whole, 1), (self.sgd.axioms.optimal(self.sgd.distance), -cross)]
        return follow(premises)

    def by_young(
        self, whole: Theorem, bound: Theorem, young: Scalar, scale: Scalar, where: Where, most: Scalar | None = None
    ) -> Theorem:
        """Bound the product 2 scale young pull <bias, D> of a theorem by scale (young^2 |D|^2 + pull^2 |bias|^2), where
        ``bound`` is on the last, and the pull by ``most``, if that is given."""
        bias = self.bias(self.sgd.axioms.size).vector
        pull = -coefficient(whole.form, self.sgd.start, bias) / (2 * scale * young)
        squares = [(self.sgd.distance * young + bias * pull, "", scale)]
        rest = 0 if most is None else (most**2 - pull**2) * scale * self.dissimilarity
        return follow([(whole, 1), (bound, scale * pull**2)], squares, rest, where=where)

    def _of_gradients(self, drifts: Scalar) -> Scalar:
        """The multiple of mean_S |g_i|^2 by which the paths' lengths enter, with ``drifts`` eta^2 times |e|^2."""
        s, g = self.sgd, self.sgd.gradient_at_start
        K, eta = s.K, s.axioms.step
        in_progress = coefficient(self.progress.form, g, g, "S") + K / (2 * s.L) - eta * K * (K - 1) / 4
        return 2 * eta * in_progress + drifts * eta**2 * coefficient(s.exact_drift_bound.form, g, g, "S")
