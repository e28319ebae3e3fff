"""Rounds in which drawn clients send their updates with weights. They move by x+ = x + eta Delta, where Delta is the
sum over groups j, and over the clients of group j that answer, of p_j/s^_j times the client's update. The clients of a
group have the same objective and noise of the same law. F = sum_j p_j F_j, and the mean over all clients is by p_j: its
client i is one of group i. S_l is the sum over the steps of client l's stochastic gradients, so that its update is
-eta_L S_l. With c = eta eta_L the move -(x+ - x)/c is

    Y = sum_j p_j/s^_j sum_{l of j that answer} S_l,   B = E[Y | what is given],   Z = Y - B.

With s_j the sum over the steps of the gradients of a client of group j, rho_j = E[N_j/s^_j | what is given], N_j the
number of answers, and delta = max_j |rho_j - 1|,

    B = E[sum_j p_j s_j + delta A | what is given],   A = sum_j p_j (rho_j - 1)/delta s_j   (0 where delta = 0).

Given is the round's start with all that came before, and in some theorems also who is there. The parameters are c
(``selected_lr``), ``mismatch`` delta, and one of the weights' law. If it is given who is there, that one is ``proxy`` V
= E[sum_j p_j^2 N_j/s^_j^2 | ...]. If not, it is ``second_moment`` W = E[V + (sum_j p_j r_j/s^_j)^2 | ...], with r_j the
mean of N_j given who is there. Either s^_j is known with who is there, or it is (h_j + N_j)/t, with h_j >= 0 and t so
known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .axioms import (
    ITERATE,
    NEXT,
    NOISE,
    START_POINT,
    UNBIASED,
    OnRegion,
    bound_of_each,
    gradient_at,
)  # fmt: skip
from .forms import END, START, STEP, Atom, Form, Vector, dot, square
from .scalars import Scalar
from .theorems import Refused, Theorem

MEAN_ANSWER, MISMATCH, SPREAD = (Atom(f"{name}_answers", stage=END) for name in "BAZ")
"""B, which is known at the round's start, A and Z."""
_BEFORE = "what is known at the round's start, and B"
_ANSWERS, _NOISE = ("independent_answers", None), ("independent_noise", None)


@dataclass(frozen=True)
class Answers(OnRegion):
    """Axioms on a region, for one size of the local steps, one c and one delta throughout a round."""

    step: Scalar
    selected_step: Scalar
    mismatch: Scalar

    def __post_init__(self) -> None:
        if any(STEP in scalar.names for scalar in (self.step, self.selected_step, self.mismatch)):
            raise Refused("a round of answers: allowed are a step size, c and delta that do not depend on k")

    @property
    def parameters(self) -> dict[str, Scalar]:
        return {"local_lr": self.step, "selected_lr": self.selected_step, "mismatch": self.mismatch}

    @property
    def _gradient(self) -> Vector:
        return self.vector(gradient_at(ITERATE))

    @property
    def _stochastic(self) -> Vector:
        return self._gradient + self.vector(NOISE)

    # how a round moves

    def round(self, other: Vector) -> Theorem:
        """State the axiom <x+ - x + c (B + Z), w> = 0 for any w."""
        equation = self.vector(NEXT) - self.vector(START_POINT)
        equation = equation + (self.vector(MEAN_ANSWER) + self.vector(SPREAD)) * self.selected_step
        return self._fact("answered round", dot(equation, other), equality=True, other=other)

    def descent(self, L: Scalar) -> Theorem:
        """State the axiom F_i(x+) <= F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 for every group i."""
        return self._descent("answered descent", L)

    # moments of what is sent

    def mean(self, other: Vector) -> Theorem:
        """State the axiom <B - sum_k mean grad F_i(x_{i,k}) - delta A, w> = 0 for w known at the start, or B: first
        moments."""
        self.known(other, START, _BEFORE, but=MEAN_ANSWER)
        sums = self._gradient.under("M").under("K") + self.vector(MISMATCH) * self.mismatch
        form = dot(self.vector(MEAN_ANSWER) - sums, other)
        return self._fact("mean of answers", form, UNBIASED, _ANSWERS, equality=True, other=other)

    def apart(self, other: Vector) -> Theorem:
        """State the axiom <Z, w> = 0 for w known at the start, or B: Z = Y - E Y."""
        self.known(other, START, _BEFORE, but=MEAN_ANSWER)
        return self._fact("answers around their mean", dot(self.vector(SPREAD), other), equality=True, other=other)

    def mismatched(self, theorem: Theorem) -> Theorem:
        """State the axiom |A|^2 <= C, from |s_i|^2 <= C for every group: |sum p_i a_i s_i|^2 <= sum p_i a_i^2 |s_i|^2,
        |a_i| <= 1."""
        form = bound_of_each(theorem, self._gradient.under("K"), self.where) - square(self.vector(MISMATCH))
        return self._fact("mismatch of answers", form, premise=theorem)

    def spread(self, theorem: Theorem, proxy: Scalar) -> Theorem:
        """State the axiom E|Z|^2 <= V C, from |S_i|^2 <= C for every group, given who is there: second moments."""
        form = bound_of_each(theorem, self._stochastic.under("K"), self.where) * proxy - square(self.vector(SPREAD))
        more = {"proxy": proxy}
        return self._fact("spread of answers", form, _ANSWERS, _NOISE, premise=theorem, more=more, proxy=proxy)

    def second_moment(self, theorem: Theorem, second: Scalar) -> Theorem:
        """State the axiom E|B + Z|^2 <= W C, from |S_i|^2 <= C for every group, where it is not given who is there."""
        sent = self.vector(MEAN_ANSWER) + self.vector(SPREAD)
        form = bound_of_each(theorem, self._stochastic.under("K"), self.where) * second - square(sent)
        more = {"second_moment": second}
        return self._fact("second moment of answers", form, _ANSWERS, _NOISE, premise=theorem, more=more, second=second)

    # along the paths

    def stochastic_gradient(self, squared: Scalar) -> Theorem:
        """State the axiom E|grad F_i(x_{i,k}) + N_{i,k}|^2 <= G^2 given the round's start, of all that may happen."""
        form = Form.constant(squared) - square(self._stochastic)
        return self._of_paths("bounded local gradient", form, squared)

    def path(self, squared: Scalar) -> Theorem:
        """State the axiom E|x_{i,k} - x|^2 <= k^2 eta^2 G^2 for k <= K: |sum of k vectors|^2 is at most k times the sum
        of squares."""
        moved, steps = self.vector(ITERATE) - self.vector(START_POINT), self.where.ring[STEP]
        form = Form.constant(steps**2 * self.step**2 * squared) - square(moved)
        return self._of_paths("path of bounded steps", form, squared, path_to_the_end=True)

    def _of_paths(self, rule: str, form: Form, squared: Scalar, **more: Any) -> Theorem:
        """State what bounded local gradients say of a path."""
        if STEP in squared.names:
            raise Refused(f"G^2 = {squared}: allowed is what is the same at every step")
        assumption = "bounded_local_gradients", squared
        return self._fact(rule, form, assumption, parameters={"local_lr": self.step}, squared=squared, **more)
