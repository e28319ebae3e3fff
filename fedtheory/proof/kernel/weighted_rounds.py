"""Rounds that add the clients' updates with weights: x+ = x - (c/n) sum_i 1_i omega_i S_i, where S_i is the sum over
the local steps of client i's stochastic gradients, all of n clients make them, and client i takes part (1_i = 1)
independently of all else with probability p_i. Everything is given the round's start and its weights omega_i.

F is any mean of the F_i, by weights phi_i >= 0 that sum to 1, and the mean over all clients is that one. With s_i the
sum over the steps of grad F_i(x_{i,k}), and nu_i that of the noises, the move -(x+ - x)/c is

    sum_k mean grad F_i(x_{i,k}) + A + V + U,     A = sum_i (p_i omega_i/n - phi_i) s_i,
    V = sum_i (1_i - p_i) omega_i s_i/n,          U = sum_i 1_i omega_i nu_i/n.

The parameters are c (``weighted_lr``), n (``clients``), the error E = n sum_i (p_i omega_i/n - phi_i)^2 of the weights
and their scale Q = sum_i p_i omega_i^2/n.
"""

from __future__ import annotations

from dataclasses import dataclass

from .axioms import (
    ITERATE,
    NEXT,
    START_POINT,
    UNBIASED,
    UNCORRELATED,
    OnRegion,
    bound_of_each,
    gradient_at,
)  # fmt: skip
from .forms import END, PATH, STEP, Atom, Form, Vector, dot, square
from .scalars import Scalar
from .theorems import Refused, Theorem

BIAS, PARTICIPATION, ROUND_NOISE = (Atom(name, stage=END) for name in ("A_weights", "V_weights", "U_weights"))
"""A, V and U."""
CENTRE = Atom("g_centre")
"""The plain mean of the clients' gradients at the start."""
_INDEPENDENT = ("independent_participation", None)


@dataclass(frozen=True)
class WeightedRounds(OnRegion):
    """Axioms on a region, for one size of the local steps, one c and one n throughout a round."""

    step: Scalar
    weighted_step: Scalar
    clients: Scalar

    def __post_init__(self) -> None:
        if any(STEP in scalar.names for scalar in (self.step, self.weighted_step, self.clients)):
            raise Refused("a round of weighted updates: allowed are a step size, c and n that do not depend on k")

    @property
    def parameters(self) -> dict[str, Scalar]:
        return {"local_lr": self.step, "weighted_lr": self.weighted_step, "clients": self.clients}

    def round(self, other: Vector) -> Theorem:
        """State the axiom <x+ - x + c (sum_k mean grad F_i(x_{i,k}) + A + V + U), w> = 0 for any w."""
        moved = self.vector(gradient_at(ITERATE)).under("M").under("K")
        moved = moved + self.vector(BIAS) + self.vector(PARTICIPATION) + self.vector(ROUND_NOISE)
        equation = self.vector(NEXT) - self.vector(START_POINT) + moved * self.weighted_step
        return self._fact("weighted round", dot(equation, other), equality=True, other=other)

    def descent(self, L: Scalar) -> Theorem:
        """State the axiom F_i(x+) <= F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 for every client i."""
        return self._descent("weighted descent", L)

    def participation(self, other: Vector) -> Theorem:
        """State the axiom <V, w> = 0 for w of the start, of the paths, or A: who takes part is independent of them."""
        self.known(other, PATH, "what does not depend on who takes part", but=BIAS)
        form = dot(self.vector(PARTICIPATION), other)
        return self._fact("participation", form, _INDEPENDENT, equality=True, other=other)

    def noise(self, other: Vector) -> Theorem:
        """State the axiom <U, w> = 0 for w known at the start."""
        self.known(other)
        form = dot(self.vector(ROUND_NOISE), other)
        return self._fact("weighted noise of a round", form, UNBIASED, _INDEPENDENT, equality=True, other=other)

    def noise_bound(self, squared: Scalar, scale: Scalar) -> Theorem:
        """State the axiom E|U|^2 <= Q K sigma^2/n: all noises are uncorrelated, of clients by assumption, of steps as
        each has mean 0 given what precedes it."""
        bound = scale * self.where.ring["K"] * squared / self.clients
        form = Form.constant(bound) - square(self.vector(ROUND_NOISE))
        assumed = ("bounded_noise", squared), UNCORRELATED, UNBIASED, _INDEPENDENT
        return self._fact("scaled noise", form, *assumed, more={"scale": scale}, squared=squared, scale=scale)

    def error_of_weights(self, theorem: Theorem, error: Scalar) -> Theorem:
        """State the axiom |A|^2 <= E C, from |s_i|^2 <= C for every client: |sum_i b_i s_i|^2 <= sum_i b_i^2 sum_i
        |s_i|^2."""
        form = self._bound(theorem) * error - square(self.vector(BIAS))
        return self._fact("error of weights", form, premise=theorem, more={"error": error}, error=error)

    def scale_of_weights(self, theorem: Theorem, scale: Scalar) -> Theorem:
        """State the axiom E|V|^2 <= Q C/n, from |s_i|^2 <= C for every client: (1_i - p_i) have mean 0 and the
        variances p_i (1 - p_i), independently of one another and of the s_i."""
        form = self._bound(theorem) * (scale / self.clients) - square(self.vector(PARTICIPATION))
        more = {"scale": scale}
        return self._fact("scale of weights", form, _INDEPENDENT, premise=theorem, more=more, scale=scale)

    def _bound(self, theorem: Theorem) -> Form:
        """C of a theorem C - |s_i|^2 >= 0, the same for all clients."""
        return bound_of_each(theorem, self.vector(gradient_at(ITERATE)).under("K"), self.where)

    def around_plain_mean(self, squared: Scalar) -> Theorem:
        """State the axiom |grad F_i(x) - (1/n) sum_j grad F_j(x)|^2 <= delta^2, whatever mean F is."""
        form = Form.constant(squared) - square(self.vector(gradient_at(START_POINT)) - self.vector(CENTRE))
        return self._fact("around plain mean", form, ("bounded_dissimilarity_of_plain_mean", squared), squared=squared)

    def bounded_gradient(self, squared: Scalar) -> Theorem:
        """State the axiom |grad F(x)|^2 <= G^2."""
        form = Form.constant(squared) - square(self.vector(gradient_at(START_POINT)).under("M"))
        return self._fact("bounded gradient", form, ("bounded_gradient", squared), squared=squared)
