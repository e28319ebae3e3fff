"""Axioms on all clients' paths together, whoever takes part: the mean of their iterates, their noises and values, and
the end of a round. Expectations are over the whole run, at any of its rounds.

The mean over all clients is by their weights p_i, which sum to 1, and F is that mean of the F_i.
"""

from __future__ import annotations

from dataclasses import dataclass

from .axioms import (
    ITERATE,
    MEAN_ITERATE,
    NEXT,
    NOISE,
    OPTIMUM,
    UNBIASED,
    UNCORRELATED,
    OnRegion,
    at,
    gradient_at,
)  # fmt: skip
from .forms import PATH, STEP, Atom, Form, Value, Vector, dot, square
from .regions import Where
from .scalars import Scalar
from .theorems import Refused, Theorem, _follows, at_step, joined, split

LOWEST = Atom("x_own", True)
"""Minimizer of F_i; a strongly convex function has one."""
LAST = ITERATE._replace(step=(0, 1, 0))
_DRAWN = ("independent_draws", None)


@dataclass(frozen=True)
class MeanAxioms(OnRegion):
    """Axioms on a region, for rounds of local steps of size ``step``, which may depend on the step k."""

    step: Scalar
    context = "run"

    @property
    def parameters(self) -> dict[str, Scalar]:
        return {"local_lr": self.step}

    @property
    def _last(self) -> Vector:
        """mean x_{i,K}."""
        return self.vector(LAST, "M")

    # along the steps

    def mean_iterate(self, other: Vector) -> Theorem:
        """State the axiom <xbar_k - mean x_{i,k}, w> = 0 for every k, which defines xbar_k."""
        apart = self.vector(MEAN_ITERATE) - self.vector(ITERATE, "M")
        return self._fact("mean iterate", dot(apart, other), equality=True, other=other)

    def optimal_along(self, other: Vector) -> Theorem:
        """State the axiom <grad F(x*), w> = 0 for any w, as grad F(x*) = 0."""
        return self._fact(
            "optimal along", dot(self.vector(gradient_at(OPTIMUM), "M"), other), equality=True, other=other
        )

    def uncorrelated_clients(self, clients: Scalar) -> Theorem:
        """State the axiom |mean N_{i,k}|^2 = mean |N_{i,k}|^2 / M of M clients that weigh the same."""
        noise = self.vector(NOISE)
        form = square(noise.under("M")) - square(noise).under("M") / clients
        assumed = UNCORRELATED, UNBIASED, ("equal_weights", None)
        more = _steady("clients", clients)
        return self._fact("uncorrelated clients", form, *assumed, equality=True, more=more, clients=clients)

    def weighted_noise(self, bound: Scalar) -> Theorem:
        """State the axiom E|mean N_{i,k}|^2 <= B, where E|N_{i,k}|^2 <= sigma_i^2 and B is the sum of the p_i^2
        sigma_i^2."""
        form = Form.constant(bound) - square(self.vector(NOISE, "M"))
        assumed = ("bounded_weighted_noise", bound), UNCORRELATED, UNBIASED
        return self._fact("weighted noise", form, *assumed, bound=bound)

    def stochastic_gradient(self, squared: Scalar) -> Theorem:
        """State the axiom E|grad F_i(x_{i,k}) + N_{i,k}|^2 <= G^2."""
        form = Form.constant(squared) - square(self.vector(gradient_at(ITERATE)) + self.vector(NOISE))
        return self._fact("stochastic gradient", form, ("bounded_stochastic_gradients", squared), squared=squared)

    # least values

    def lowest(self, point: Atom, mu: Scalar, L: Scalar) -> Theorem:
        """State the axiom 2 L (F_i(p) - inf F_i) >= |grad F_i(p)|^2: F_i at p - grad F_i(p)/L is no less than inf
        F_i."""
        self._has_minimum(mu)
        one = self.where.ring.number(1)
        above = Form(self.where.ring, {Value("", point): one, Value("", LOWEST): -one})
        form = above * (2 * L) - square(self.vector(gradient_at(point)))
        return self._fact("lowest", form, ("smooth", L), ("strongly_convex", mu), point=point, mu=mu, L=L)

    def heterogeneity(self, gap: Scalar, mu: Scalar) -> Theorem:
        """State the axiom mean (F_i(x*) - inf F_i) <= Gamma."""
        self._has_minimum(mu)
        one = self.where.ring.number(1)
        above = Form(self.where.ring, {Value("M", OPTIMUM): one, Value("M", LOWEST): -one})
        assumed = ("bounded_heterogeneity_gap", gap), ("strongly_convex", mu)
        return self._fact("heterogeneity", Form.constant(gap) - above, *assumed, gap=gap, mu=mu)

    def _has_minimum(self, mu: Scalar) -> None:
        if not (self.where.certifies(mu) and self.where.never_zero(mu)):
            raise Refused(f"mu = {mu}: not certified to be > 0, so that F_i need not have a least value")

    # how a round ends

    def everyone(self, other: Vector) -> Theorem:
        """State the axiom <x+ - mean x_{i,K}, w> = 0 for any w, where all clients take part."""
        apart = self.vector(NEXT) - self._last
        return self._fact("everyone", dot(apart, other), ("full_participation", None), equality=True, other=other)

    def drawn_mean(self, other: Vector, share: Scalar) -> Theorem:
        """State the axiom <x+ - mean x_{i,K}, w> = 0 for w known before the draw: who is drawn for x+ is independent of
        all paths, and every drawn client is i with probability p_i."""
        self.known(other, PATH, "what does not depend on the draw")
        form, more = dot(self.vector(NEXT) - self._last, other), _steady("share", share)
        return self._fact("drawn mean", form, _DRAWN, equality=True, more=more, other=other, share=share)

    def spread_of_draw(self, share: Scalar) -> Theorem:
        """State the axiom |x+ - mean x_{i,K}|^2 = share (mean |x_{i,K}|^2 - |mean x_{i,K}|^2): with ``share`` 1/S for S
        clients drawn independently with replacement, (M - S)/(S (M - 1)) for S of M that weigh the same, without."""
        last = self.vector(ITERATE)
        spread = at_step(square(last).under("M"), 0, 1, 0) - square(self._last)
        form, more = square(self.vector(NEXT) - self._last) - spread * share, _steady("share", share)
        return self._fact("spread of draw", form, _DRAWN, equality=True, more=more, share=share)


def _steady(name: str, value: Scalar) -> dict[str, Scalar]:
    """Return a parameter that is the same at every step."""
    if STEP in value.names:
        raise Refused(f"{name} {value}: allowed is what is the same at every step")
    return {name: value}


# What the steps of all rounds add up to. Every reader computes what it returns from a theorem's form.


def one_step(theorem: Theorem) -> tuple[Scalar, Scalar]:
    """Return (P, B) of a theorem P A_k + B - A_{k+1} >= 0 for every k < K, with A_k = E|mean x_{i,k} - x*|^2 and B >=
    0."""
    ring = theorem.where.ring
    now, then = (Vector.one(ring, at(ITERATE, shift), "M") - Vector.one(ring, OPTIMUM) for shift in (0, 1))
    return _read(theorem, square(then), square(now))


def round_end(theorem: Theorem) -> Scalar:
    """Return C of a theorem A_K + C - E|x+ - x*|^2 >= 0, with A_K = E|mean x_{i,K} - x*|^2 and C >= 0."""
    ring = theorem.where.ring
    optimum, last, end = Vector.one(ring, OPTIMUM), Vector.one(ring, LAST, "M"), Vector.one(ring, NEXT)
    factor, addition = _read(theorem, square(end - optimum), square(last - optimum))
    if factor != 1:
        raise Refused(f"{theorem}: allowed is A_K + C - E|x+ - x*|^2 >= 0")
    return addition


def _read(theorem: Theorem, bounded: Form, by: Form) -> tuple[Scalar, Scalar]:
    """(P, B) of a theorem P by + B - bounded >= 0 of the whole run, B >= 0."""
    if theorem.context != "run":
        raise Refused(f"{theorem}: allowed is a theorem of the whole run")
    parts = split(theorem.form + bounded, {"P": by})
    theorem.where.ask(parts[""], "addition")
    return parts["P"], parts[""]


def own_share(theorem: Theorem, own: Vector, centre: Vector, least: Scalar, where: Where) -> Theorem:
    """Prove |u_i - mean u|^2 <= 4 (1 - w)^2 D for every client, from |u_i - c|^2 <= D with D and c the same for all. No
    client's weight phi_i in the mean may be below w. The difference u_i - mean u is the sum over j other than i of
    phi_j (u_i - u_j). Their weights sum to 1 - phi_i <= 1 - w, and |u_i - u_j| <= 2 sqrt D."""
    bound = theorem.form + square(own - centre)
    if theorem.context == "cohort" or "i" not in own.open or centre.open or bound.open or "k" in own.open:
        raise Refused(f"{theorem}: allowed is D - |u_i - c|^2 >= 0 for every client, D and c the same for all of them")
    if not where.within(theorem.where):
        raise Refused(f"{theorem}: shown on a region that does not contain this one")
    if not where.certifies(1 - least) or "k" in least.names:
        raise Refused(f"w = {least}: not certified to be at most 1, or not the same at every step")
    form = bound * (4 * (1 - least) ** 2) - square(own - own.under("M"))
    said = {"where": where, "parameters": joined(dict(theorem.parameters), {"least_weight": least})}
    return _follows("own share", theorem, form, equality=False, **said, own=own, centre=centre, least=least)
