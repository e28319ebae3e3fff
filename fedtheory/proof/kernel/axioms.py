"""Axioms of a round of local SGD. Each takes an assumption, which it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .forms import END, PATH, START, STEP, Atom, Form, Value, Vector, dot, known_before, square
from .regions import Where
from .scalars import Scalar
from .theorems import Assumption, Context, Refused, Theorem, _theorem, about_start, entry_binders, joined, started

_FIRST = (1, 0, 0)
START_POINT, OPTIMUM, NEXT = Atom("x"), Atom("x*"), Atom("x+", stage=END)
ITERATE = Atom("x", True, _FIRST, PATH, 0)
POINTS = tuple(Atom(f"point_{j}") for j in range(3))
"""Any three points."""
_GRADIENTS = {START_POINT: Atom("g_start", True), OPTIMUM: Atom("g_opt", True),
              **{point: Atom(f"g_{point.name}", True) for point in POINTS}}  # fmt: skip
NOISE = Atom("N", True, _FIRST, PATH, 1)
MEAN_ITERATE = Atom("x_mean", False, _FIRST, PATH, 0)
UNBIASED, UNCORRELATED, BEFORE_NOISE = (
    (name, None) for name in ("unbiased_noise", "uncorrelated_noise", "cohort_before_noise")
)
"""Assumptions on noise that have no constant."""


def at(atom: Atom, shift: int) -> Atom:
    """Return the member of a path's family ``shift`` steps later."""
    return started(atom._replace(step=(1, 0, shift)))


def gradient_at(point: Atom) -> Atom:
    """Return grad F_i at a point: the start, the optimum, any of ``POINTS``, an iterate of client i, or the mean of all
    clients' iterates."""
    if point in _GRADIENTS:
        return _GRADIENTS[point]
    if point.step and point == ITERATE._replace(step=point.step):
        return started(Atom("g", True, point.step, PATH, 0))
    if point.step and point == MEAN_ITERATE._replace(step=point.step):
        return started(Atom("g_mean", True, point.step, PATH, 0))
    raise Refused(f"{point.name}: allowed is the start, the optimum, a point, a client's iterate, or the mean of all")


def bound_of_each(theorem: Theorem, vector: Vector, where: Where) -> Form:
    """Return C of a theorem C - |vector|^2 >= 0 given a round's start, for every client, C the same for all."""
    bound = theorem.form + square(vector)
    if theorem.context != "start" or theorem.kind or bound.open:
        raise Refused(f"{theorem}: allowed is C - |{vector}|^2 >= 0 for every client, C the same for all")
    if not where.within(theorem.where):
        raise Refused(f"{theorem}: shown on a region that does not contain this one")
    return bound


@dataclass(frozen=True)
class OnRegion:
    """Axioms on a region of scalars: what all of them are given, and the parameters of the rounds that they are on."""

    where: Where
    context: ClassVar[Context] = "start"
    kind: ClassVar[str] = ""

    @property
    def parameters(self) -> dict[str, Scalar]:
        """Parameters that every axiom has."""
        raise NotImplementedError

    def vector(self, atom: Atom, bound: str = "") -> Vector:
        """Return a single vector as a combination."""
        return Vector.one(self.where.ring, atom, bound)

    def known(
        self,
        vector: Vector,
        stage: int = START,
        allowed: str = "what is known at the round's start",
        but: Atom | None = None,
    ) -> None:
        """Refuse a vector that is not known at a stage, whatever the cohort is, but for one atom."""
        if any((t.atom.stage > stage and t.atom != but) or "S" in t.bound for t in vector.terms):
            raise Refused(f"{vector}: allowed is {allowed}")

    def _fact(
        self,
        rule: str,
        form: Form,
        *assumptions: Assumption,
        premise: Theorem | None = None,
        equality: bool = False,
        more: Mapping[str, Scalar] | None = None,
        **arguments: Any,
    ) -> Theorem:
        """State an axiom, with ``more`` parameters of its own; of a premise, if there is one, with what that assumes,
        and the same parameters. A context and parameters that are named are those of this axiom."""
        said = {"context": self.context, "parameters": {**self.parameters, **(more or {})}} | arguments
        if premise is not None:
            said["parameters"] = joined(dict(premise.parameters), said["parameters"])
        return _theorem(
            rule,
            [] if premise is None else [premise],
            kind=self.kind,
            where=self.where,
            form=form,
            assumptions=[*(() if premise is None else premise.assumptions), *assumptions],
            equality=equality,
            **said,
        )

    def _descent(self, rule: str, L: Scalar) -> Theorem:
        """State the axiom F_i(x+) <= F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 for every i."""
        one, moved = self.where.ring.number(1), self.vector(NEXT) - self.vector(START_POINT)
        form = Form(self.where.ring, {Value("", START_POINT): one, Value("", NEXT): -one})
        form = form + dot(self.vector(gradient_at(START_POINT)), moved) + square(moved) * L / 2
        return self._fact(rule, form, ("smooth", L), L=L)


@dataclass(frozen=True)
class Axioms(OnRegion):
    """Axioms of a round of local SGD on a region of scalars. The step size is ``step``; the cohort has ``size``
    clients, and the round ends in the mean of its clients' last iterates.

    Clients have virtual paths: every client has iterates and noise, whether it takes part or not. What is ``given``
    along the paths is the round's start and its cohort; or its start alone, or nothing (the ``run``), where nothing is
    said of the cohort.
    """

    step: Scalar
    size: Scalar
    given: Literal["cohort", "start", "run"] = "cohort"

    @property
    def parameters(self) -> dict[str, Scalar]:
        return {"local_lr": self.step, "size": self.size}

    def gradient(self, point: Atom) -> Vector:
        """Return grad F_i(point)."""
        return self.vector(gradient_at(point))

    def global_gradient(self, point: Atom) -> Vector:
        """Return grad F(point) for a point that is the same for all clients."""
        if point.client:
            raise Refused(f"{point.name}: every client has its own")
        return self.gradient(point).under("M")

    def _fact(self, rule: str, form: Form, *assumptions: Assumption, **arguments: Any) -> Theorem:
        """State an axiom, given the cohort if it speaks of paths or of the round's end, and else given the start."""
        context: Context = "start" if about_start(form) else "cohort"
        parameters = self.parameters if context == "cohort" else {}
        if context == "cohort" and self.given != "cohort":
            if any("S" in entry_binders(e) for e in form.entries) or any(t.atom.stage == END for t in form.terms):
                raise Refused(f"{form}: of a cohort, which is not given")
            context, parameters = self.given, {"local_lr": self.step}
            assumptions = tuple(a for a in assumptions if a != BEFORE_NOISE)
        return super()._fact(rule, form, *assumptions, context=context, parameters=parameters, **arguments)

    # federations

    def smooth(self, p: Atom, q: Atom, L: Scalar) -> Theorem:
        """State the axiom |grad F_i(p) - grad F_i(q)| <= L |p - q|."""
        form = square(self.vector(p) - self.vector(q)) * L**2 - square(self.gradient(p) - self.gradient(q))
        return self._fact("smooth", form, ("smooth", L), p=p, q=q, L=L)

    def cocoercive(self, p: Atom, q: Atom, mu: Scalar, L: Scalar) -> Theorem:
        """State the axiom (mu + L) <grad F_i(p) - grad F_i(q), p - q> >= mu L |p - q|^2 + |grad F_i(p) - grad F_i(q)|^2
        (Nesterov, Introductory Lectures on Convex Optimization, Theorem 2.1.12; mu = 0: co-coercivity)."""
        d, g = self.vector(p) - self.vector(q), self.gradient(p) - self.gradient(q)
        form = dot(g, d) * (mu + L) - square(d) * (mu * L) - square(g)
        return self._fact("cocoercive", form, ("smooth", L), ("strongly_convex", mu), p=p, q=q, mu=mu, L=L)

    def convex(self, p: Atom, q: Atom, mu: Scalar) -> Theorem:
        """State the axiom F_i(p) >= F_i(q) + <grad F_i(q), p - q> + mu/2 |p - q|^2."""
        d = self.vector(p) - self.vector(q)
        form = self._values(p, q) - dot(self.gradient(q), d) - square(d) * mu / 2
        return self._fact("convex", form, ("strongly_convex", mu), p=p, q=q, mu=mu)

    def descent(self, p: Atom, q: Atom, L: Scalar) -> Theorem:
        """State the axiom F_i(p) <= F_i(q) + <grad F_i(q), p - q> + L/2 |p - q|^2."""
        d = self.vector(p) - self.vector(q)
        form = dot(self.gradient(q), d) + square(d) * L / 2 - self._values(p, q)
        return self._fact("descent", form, ("smooth", L), p=p, q=q, L=L)

    def interpolated(self, p: Atom, q: Atom, mu: Scalar, L: Scalar) -> Theorem:
        """State the axiom of interpolation by a mu-strongly convex, L-smooth function (Taylor, Hendrickx and Glineur,
        Smooth strongly convex interpolation, Theorem 4):

            2 (L - mu) (F_i(p) - F_i(q) - <grad F_i(q), p - q>) >= |grad F_i(p) - grad F_i(q)|^2 + mu L |p - q|^2
                - 2 mu <grad F_i(p) - grad F_i(q), p - q>.

        The function is convex and (L - mu)-smooth once mu/2 |x|^2 is taken away.
        """
        d, g = self.vector(p) - self.vector(q), self.gradient(p) - self.gradient(q)
        above = self._values(p, q) - dot(self.gradient(q), d)
        form = above * (2 * (L - mu)) - square(g) - square(d) * (mu * L) + dot(g, d) * (2 * mu)
        return self._fact("interpolated", form, ("smooth", L), ("strongly_convex", mu), p=p, q=q, mu=mu, L=L)

    def _values(self, p: Atom, q: Atom) -> Form:
        one = self.where.ring.number(1)
        return Form(self.where.ring, {Value("", p): one}) - Form(self.where.ring, {Value("", q): one})

    def constants_in_order(self, mu: Scalar, L: Scalar) -> Theorem:
        """State the axiom mu <= L, of an objective that is mu-strongly convex and L-smooth (on a space that is not
        0)."""
        return self._fact("mu <= L", Form.constant(L - mu), ("smooth", L), ("strongly_convex", mu), mu=mu, L=L)

    def dissimilar(self, point: Atom, squared: Scalar) -> Theorem:
        """State the axiom |grad F_i - grad F|^2 <= sigma_G^2, at the optimum, or (everywhere) at another point that all
        clients share."""
        form = Form.constant(squared) - square(self.gradient(point) - self.global_gradient(point))
        name = "bounded_dissimilarity_at_optimum" if point == OPTIMUM else "bounded_dissimilarity"
        return self._fact("dissimilar", form, (name, squared), point=point, squared=squared)

    # equations of vectors, paired with any vector

    def optimal(self, other: Vector) -> Theorem:
        """State the axiom <grad F(x*), w> = 0 for w known at the start."""
        self.known(other)
        return self._fact("optimal", dot(self.global_gradient(OPTIMUM), other), equality=True, other=other)

    def local_step(self, other: Vector) -> Theorem:
        """State the axiom <x_{i,k+1} - x_{i,k} + eta (grad F_i(x_{i,k}) + N_{i,k}), w> = 0 for every k < K."""
        step = self.vector(ITERATE._replace(step=(1, 0, 1))) - self.vector(ITERATE)
        moved = step + (self.gradient(ITERATE) + self.vector(NOISE)) * self.step
        return self._fact("local step", dot(moved, other), equality=True, other=other)

    def round(self, other: Vector) -> Theorem:
        """State the axiom <x+ - x + eta sum_k mean_S (grad F_i(x_{i,k}) + N_{i,k}), w> = 0: the mean of the cohort's
        last iterates, each the sum of its steps, which are of one size."""
        if STEP in self.step.names:
            raise Refused(f"step {self.step}: allowed is the same size in all steps of a round")
        steps = (self.gradient(ITERATE) + self.vector(NOISE)).under("S").under("K")
        moved = self.vector(NEXT) - self.vector(START_POINT) + steps * self.step
        return self._fact("round", dot(moved, other), equality=True, other=other)

    # noise

    def unbiased(self, other: Vector) -> Theorem:
        """State the axiom <N_{i,k}, w> = 0 for w known before the noise of step k is drawn."""
        if not all(known_before(term, _FIRST) for term in other.terms):
            raise Refused(f"{other}: allowed is what is known before the noise of step k")
        form = dot(self.vector(NOISE), other)
        return self._fact("unbiased", form, UNBIASED, BEFORE_NOISE, equality=True, other=other)

    def variance(self, squared: Scalar) -> Theorem:
        """State the axiom E|N_{i,k}|^2 <= sigma^2."""
        form = Form.constant(squared) - square(self.vector(NOISE))
        return self._fact("variance", form, ("bounded_noise", squared), BEFORE_NOISE, squared=squared)

    def uncorrelated(self) -> Theorem:
        """State the axiom |mean_S N_{i,k}|^2 = mean_S |N_{i,k}|^2 / size: no two different clients' noises of a step
        are correlated, and the cohort is a set."""
        noise = self.vector(NOISE)
        form = square(noise.under("S")) - square(noise).under("S") / (self.where.ring.number(1) * self.size)
        a_set: Assumption = ("cohort_is_a_set", None)
        return self._fact("uncorrelated", form, UNCORRELATED, UNBIASED, BEFORE_NOISE, a_set, equality=True)

    def steps_apart(self) -> Theorem:
        """State the axiom |sum_k mean_S N_{i,k}|^2 = sum_k |mean_S N_{i,k}|^2: a later noise has mean 0 given an
        earlier one."""
        noise = self.vector(NOISE).under("S")
        form = square(noise.under("K")) - square(noise).under("K")
        return self._fact("steps apart", form, UNBIASED, BEFORE_NOISE, equality=True)
