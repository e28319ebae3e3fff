"""FAST's two kinds of round, for theorems that the kernel composes: they turn bounds given the cohort into bounds
without."""

from __future__ import annotations

from dataclasses import dataclass

from ....proof.kernel.axioms import START_POINT, Axioms
from ....proof.kernel.forms import Vector
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.round_rules import ARBITRARY, expect_arbitrary, expect_uniform, mix
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.tactics import coefficient, each, follow
from ....proof.kernel.theorems import Multiples, Theorem, instantiate, over_clients
from ....proof.curved_sgd import CurvedSGD
from ....proof.local_sgd import Bias, LocalSGD

RING = Ring("a q share eta L mu K k m n sigma sigma_G size")
a, q, share, eta, L, mu, K, k, m, n, sigma, sigma_G, size = RING.symbols
p = 1 - q
z = L * K * eta
h = q / m + p / n

LETTERS = {
    "eta": "local_lr", "q": "snapshot_probability", "L": "smoothness", "mu": "strong_convexity", "K": "local_steps",
    "m": "cohort", "n": "arbitrary_cohort", "sigma": "gradient_noise", "sigma_G": "dissimilarity",
}  # fmt: skip
"""The quantities that the letters stand for."""


def region(cap: Scalar, *more: Condition, convex: bool) -> Where:
    """The region under a cap of the step size, and with convex clients mu <= L."""
    chances = Condition("q", "interval", RING.number(1)), Condition("share", "interval", 1 / m)
    curvature = (Condition("L", "at_least", mu), *each("positive", "mu")) if convex else each("positive", "L")
    data = *each("count", "K m n size"), *each("nonnegative", "sigma sigma_G")
    return Where(RING, (Condition("eta", "capped", cap), *more, *chances, *curvature, *data))


@dataclass(frozen=True)
class Kinds:
    """Rounds of either kind under eta <= 1/(8 L K), with one Young parameter a > 0 still free."""

    convex: bool

    @property
    def plain(self) -> Where:
        """The conditions without the Young parameter."""
        return region(1 / (8 * L * K), convex=self.convex)

    @property
    def with_young(self) -> Where:
        """The conditions with a Young parameter a > 0."""
        return region(1 / (8 * L * K), Condition("a", "positive"), convex=self.convex)

    @property
    def sgd(self) -> LocalSGD:
        """The local SGD of a cohort's clients."""
        return LocalSGD(Axioms(self.plain, eta, size), L, sigma**2, self.convex)

    @property
    def gradient(self) -> Vector:
        """grad F(x)."""
        return self.sgd.gradient_at_start.under("M")

    @property
    def curved(self) -> CurvedSGD:
        """The local SGD of strongly convex clients."""
        return CurvedSGD(self.sgd, mu, sigma_G**2)

    @property
    def bias(self) -> Bias:
        """E[mean_S grad F_i(x) | start, arbitrary] - grad F(x), which is at most sigma_G."""
        sgd = self.sgd
        near = sgd.axioms.dissimilar(START_POINT, sigma_G**2)
        return Bias(sgd.gradient_at_start, self.gradient, near, n)

    def mixed(self, whole: Theorem, other: Vector, multiple: Scalar) -> Theorem:
        """Turn a bound given the cohort into one given the round's start, by mixing both kinds of round.

        The bound has ``multiple`` times <mean_S grad F_i(x), other> in it.
        """
        sizes = [instantiate(whole, {"size": number}, self.with_young) for number in (m, n)]
        return mix(self._snapshot(sizes[0]), self._arbitrary(sizes[1], other, multiple), q, self.with_young)

    def _snapshot(self, whole: Theorem) -> Theorem:
        """Bound the squares of a uniform cohort's gradients by |grad F|^2 + sigma_G^2."""
        drawn, g0 = expect_uniform(whole, m, share, self.with_young), self.sgd.gradient_at_start
        premises: Multiples = [(drawn, 1), (over_clients(self.bias.near, "M"), coefficient(drawn.form, g0, g0, "M"))]
        return follow(premises)

    def _arbitrary(self, whole: Theorem, other: Vector, multiple: Scalar) -> Theorem:
        """Bound the squares of an arbitrary cohort's gradients by 2 |grad F|^2 + 2 sigma_G^2, and project its mean
        gradient."""
        g0, G, g = self.sgd.gradient_at_start, self.sgd.cohort_gradient, self.gradient
        each, together = coefficient(whole.form, g0, g0, "S"), coefficient(whole.form, G, G)
        squares = [(g * 2 - g0, "S", each), (g * 2 - G, "", together), (g0 - G, "S", together * 2)]
        premises: Multiples = [(whole, 1), (over_clients(self.bias.near, "S"), (each + together) * 2)]
        bounded = follow(premises, squares, kind=ARBITRARY)
        return follow([(expect_arbitrary(bounded, n), 1), (self.bias.projected(other), -multiple)])
