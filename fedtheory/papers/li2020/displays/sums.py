"""Theorems 1 to 3: all steps together."""

from __future__ import annotations

import sympy

from fedtheory.proof.gram import dot, norm2, vectors
from fedtheory.proof.symbol_regions import at_least, capped, count, nonnegative, positive, region
from fedtheory.proof.steps import Identity, Nonnegative, Step
from fedtheory.proof.write import given, nonnegative_step

from .symbols import SCHEDULE, E, G, Gamma, L, V, cap, eta, gram, mu, noise, one, s, step_size, t, vectors_check

y, z = vectors("y z")
now, then, total, C, v, gamma, T = sympy.symbols("now then total C v gamma T")
f_x, f_star = sympy.symbols("f_x f_star")

_rate = 1 - mu * step_size(t)


def start_left(steps: sympy.Expr) -> sympy.Expr:
    """Return the product of 1 - mu eta over the first steps."""
    return (s - 2) * (s - 1) / ((s + steps - 2) * (s + steps - 1))


def noise_left(steps: sympy.Expr) -> sympy.Expr:
    """Return a bound on what eta^2 in every step adds up to."""
    return 4 / (mu**2 * (s + steps))


_added = noise + 6 * L * Gamma + 8 * (E - 1) ** 2 * G**2

STEPS = (
    nonnegative_step("li2020.cap", "Theorem 1", "eta <= 1/(4L) for s >= 8 kappa", 1 / (4 * L) - step_size(t), SCHEDULE),
    # now and then play E|wbar - w*|^2 at t + 1 and t
    Step("li2020.recursion", "Theorems 1 and 2", "E|wbar_{t+1} - w*|^2 <= (1 - mu eta) E|wbar_t - w*|^2 + eta^2 "
         "(B + C)",
         "polynomial",
         (vectors_check((1 - mu * eta) * then + eta**2 * (_added + C) - now,
                        (((1 - mu * eta) * then + eta**2 * noise + 6 * L * eta**2 * Gamma + 2 * V + eta**2 * C - now,
                          one), (4 * eta**2 * (E - 1) ** 2 * G**2 - V, 2 * one)), where=cap(nonnegative("C"))),),
         rests_on=("li2020.cap", "li2020.lemma1", "li2020.lemma3")),
    Step("li2020.recursion_of_draws", "Theorem 2", "a synchronisation of clients drawn adds at most eta^2 C to "
         "E|vbar_{t+1} - w*|^2, other steps nothing", "polynomial",
         (Nonnegative(eta**2 * C, (region(nonnegative("local_lr"), nonnegative("C")),)),),
         rests_on=("li2020.recursion", "li2020.drawn")),
    nonnegative_step("li2020.rate", "Theorem 1", "1 - mu eta >= 0", _rate, SCHEDULE),
    Step("li2020.unrolled", "Theorem 1", "after t steps E|wbar - w*|^2 <= (s - 2)(s - 1)/((s + t - 2)(s + t - 1)) "
         "|w_1 - w*|^2 + 4 (B + C)/(mu^2 (s + t)), by induction", "induction",
         (Identity(start_left(sympy.Integer(0)), one), Identity(_rate * start_left(t), start_left(t + 1)),
          Nonnegative(noise_left(t), (SCHEDULE,)),
          Nonnegative(noise_left(t + 1) - _rate * noise_left(t) - step_size(t) ** 2, (SCHEDULE,))),
         printed=False, rests_on=("li2020.recursion", "li2020.rate")),
    nonnegative_step("li2020.start", "Theorem 1", "(s - 2)(s - 1)/((s + t - 2)(s + t - 1)) <= (s - 1)/(s + t - 1)",
                     (s - 1) / (s + t - 1) - start_left(t), SCHEDULE, printed=False, rests_on=("li2020.unrolled",)),
    nonnegative_step("li2020.later", "Theorem 1", "1/(s + t) <= 1/(s + t - 1)", noise_left(t - 1) - noise_left(t),
                     SCHEDULE, printed=False),
    # v >= 4 (B + C)/mu^2 and v >= s |w_1 - w*|^2; total plays B + C
    Step("li2020.induction", "Theorem 1", "after t steps E|wbar - w*|^2 <= v/(s + t), v = max(4 (B + C)/mu^2, s "
         "|w_1 - w*|^2), by induction", "induction",
         (Nonnegative(v / (s + t + 1) - _rate * v / (s + t) - step_size(t) ** 2 * total,
                      (region(at_least("v", 4 * total / mu**2), nonnegative("total"), at_least("s", 8 * L / mu),
                              capped("strong_convexity", L), positive("smoothness"), nonnegative("t")),)),),
         rests_on=("li2020.recursion", "li2020.rate")),
    # eta_t = 2/(mu (gamma + t)) from t = 1, so s = gamma + 1
    nonnegative_step("li2020.constants", "Theorem 1", "for the main text's eta_t, whose s is gamma + 1, the induction "
                     "gives gamma/(gamma + T - 1) |w_1 - w*|^2 after T - 1 steps",
                     gamma / (gamma + T - 1) - (gamma + 1) / (gamma + T),
                     region(at_least("gamma", sympy.Integer(8)), count("T")), expected="gap",
                     why="it gives (gamma + 1)/(gamma + T), which is more from T = 2 on: the appendix' gamma is less "
                     "by one, the printed eta_t the same", repaired_by=("li2020.start",),
                     rests_on=("li2020.induction",)),
    given("li2020.optimum", "Theorem 1", "grad F(w*) = 0"),
    gram("li2020.gap", "Theorem 1", "F(w) - F* <= L/2 |w - w*|^2", L / 2 * norm2(y) - (f_x - f_star),
         given=((f_star + dot(z, y) + L / 2 * norm2(y) - f_x, one),), zero=((dot(z, y), -one),),
         rests_on=("lemma1.integral", "li2020.optimum")),
    given("li2020.steps_taken", "Theorem 1", "R rounds are R E steps, after which wbar is the server's model"),
)  # fmt: skip
