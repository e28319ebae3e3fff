"""SAFARI's two kinds of round, for theorems that the kernel composes: the server's, and the clients' of any cohort."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ....proof.curved_sgd import CurvedSGD
from ....proof.kernel.axioms import START_POINT, Axioms
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.scalars import Ring
from ....proof.kernel.server_rounds import ServerAxioms
from ....proof.kernel.tactics import each
from ....proof.local_sgd import Bias, LocalSGD

RING = Ring("q eta eta_s L mu K k m sigma sigma_s sigma_G size")
q, eta, eta_s, L, mu, K, k, m, sigma, sigma_s, sigma_G, size = RING.symbols
z = L * K * eta
client_step = q * K * eta
mean_step = (1 - q) * eta_s + client_step

LETTERS = {
    "eta": "local_lr", "eta_s": "server_lr", "q": "client_round_probability", "L": "smoothness",
    "mu": "strong_convexity", "K": "local_steps", "m": "arbitrary_cohort", "sigma": "gradient_noise",
    "sigma_s": "server_noise", "sigma_G": "dissimilarity",
}  # fmt: skip
"""The quantities that the letters stand for."""


@dataclass(frozen=True)
class Kinds:
    """Rounds of either kind under eta <= 1/(8 L K), and eta_s <= 2/(L + mu) with convex clients, 1/L without."""

    convex: bool

    @cached_property
    def where(self) -> Where:
        """The conditions on step sizes, counts and constants."""
        most = 2 / (L + mu) if self.convex else 1 / L
        caps = Condition("eta", "capped", 1 / (8 * L * K)), Condition("eta_s", "capped", most)
        chance = Condition("q", "interval", RING.number(1))
        curvature = (Condition("L", "at_least", mu), *each("positive", "mu")) if self.convex else each("positive", "L")
        data = *each("count", "K m size"), *each("nonnegative", "sigma sigma_s sigma_G")
        return Where(RING, (*caps, chance, *curvature, *data))

    @cached_property
    def server(self) -> ServerAxioms:
        """The axioms of the server's step."""
        return ServerAxioms(self.where, eta_s)

    @cached_property
    def sgd(self) -> LocalSGD:
        """The local SGD of a cohort's clients."""
        return LocalSGD(Axioms(self.where, eta, size), L, sigma**2, self.convex)

    @cached_property
    def curved(self) -> CurvedSGD:
        """The local SGD of strongly convex clients."""
        return CurvedSGD(self.sgd, mu, sigma_G**2)

    @cached_property
    def bias(self) -> Bias:
        """E[mean_S grad F_i(x) | start, the clients' round] - grad F(x), which is at most sigma_G."""
        near = self.sgd.axioms.dissimilar(START_POINT, sigma_G**2)
        return Bias(self.sgd.gradient_at_start, self.server.gradient, near, m)
