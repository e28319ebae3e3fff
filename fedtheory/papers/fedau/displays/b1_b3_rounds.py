"""The displays of appendices B.1 and B.3, (B.1.1) to (B.3.10): one round, for any f~ = sum phi_n F_n.

g = grad f~(x_t); y = y_{t,i}^n - x_t; v = grad F_n(y_{t,i}^n), x = grad F_n(x_t), xi the noise of a local step.
Of a round: A = sum (p_n omega_n/N - phi_n) s_n and B = sum phi_n s_n, where s_n is the sum over local steps of
grad F_n(y_{t,i}^n); C = B - I g; V = sum (1_n - p_n) omega_n s_n/N and U = sum 1_n omega_n (noises)/N. E = N times
sum (p_n omega_n/N - phi_n)^2, Q = mean of p_n omega_n^2; drift and square bound E|y|^2 and E|v|^2 for every n and i.
<u, v> stands for E_t<u, v>.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from ....assumptions import INDEPENDENT_PARTICIPATION
from ....proof.analytic import Enclosed
from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import at_least, capped, count, interval, nonnegative, positive, region
from ....proof.steps import Ball, Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same
from .symbols import (
    FIXED, GLOBAL_CAP, UNDER_CAPS, E, I, L, N, Q, bracket, c, d, delta, gamma, gram, half, local_drift, one, quarter,
    setting, share, sigma, vectors_check, z,
)  # fmt: skip

a, b, u, v, x, y, xi = vectors("a b u v x y xi")
A, B, C, S, U, V, X, g = vectors("A B C S U V X g")
f_0, f_1, drift, least, square, total = sympy.symbols("f_0 f_1 drift least square total")
weights, more, k = sympy.symbols("weights more k")
growth, euler, chance, summand, z2 = sympy.symbols("growth euler chance summand squared_step")
two, three = sympy.Integer(2), sympy.Integer(3)

# Appendix B.1 ---------------------------------------------------------------------------------------------------------

_rho = sympy.Symbol("rho")
_free = region(positive("rho"))
PRELIMINARIES = (
    gram("fedau.B.1.1", "(B.1.1)", "|mean of M vectors|^2 <= mean of |.|^2, and |sum|^2 <= M times the sum of |.|^2",
         total / k - norm2(S / k), given=((k * total - norm2(S), 1 / k**2),), where=region(count("k")),
         rests_on=("jensen",)),
    gram("fedau.B.1.2", "(B.1.2)", "<u, v> <= rho |u|^2/2 + |v|^2/(2 rho)",
         _rho / 2 * norm2(u) + norm2(v) / (2 * _rho) - dot(u, v), where=_free),
    gram("fedau.B.1.3", "(B.1.3)", "|u + v|^2 <= (1 + rho)|u|^2 + (1 + 1/rho)|v|^2",
         (1 + _rho) * norm2(u) + (1 + 1 / _rho) * norm2(v) - norm2(u + v),
         given=((_rho / 2 * norm2(u) + norm2(v) / (2 * _rho) - dot(u, v), two),), where=_free,
         rests_on=("fedau.B.1.2",)),
    # a = E u, v = u - E u
    gram("fedau.B.1.4", "(B.1.4)", "E|u|^2 = |E u|^2 + E|u - E u|^2", norm2(a) + norm2(v) - norm2(a + v),
         zero=((dot(a, v), -two),), kind="probabilistic"),
)  # fmt: skip

# Sums over clients and local steps ------------------------------------------------------------------------------------

_sizes = region(positive("weights"), nonnegative("more"))
SUMS = (
    # total plays sum phi_j |v_j|^2, weights sum phi_j, S sum phi_j v_j; a further vector v of weight more
    Step("fedau.weighted.jensen", "(B.3.2), (B.3.7)", "|sum of phi_j v_j|^2 <= (sum of phi_j)(sum of phi_j |v_j|^2), "
         "by induction", "induction",
         (vectors_check((weights + more) * (total + more * norm2(v)) - norm2(S + more * v),
                        ((weights * total - norm2(S), 1 + more / weights),), where=_sizes),)),
    Step("fedau.weighted.sum", "(B.3.9), (B.3.10)", "sum of a_j X_j <= M sum of a_j where a_j >= 0, X_j <= M, by "
         "induction", "induction",
         (vectors_check((weights + more) * square - (total + more * summand),
                        ((weights * square - total, one), (square - summand, more)), where=_sizes),)),
    # k clients, each with vectors of mean 0 that are orthogonal to the others'
    Step("fedau.weighted.orthogonal", "(B.3.8)", "E|sum of independent vectors of mean 0|^2 = sum of E|.|^2, by "
         "induction", "induction",
         (vectors_check(total + norm2(v) - norm2(S + v), ((total - norm2(S), one),), ((dot(S, v), -two),)),)),
    given("fedau.round", "Assumption 4, (B.1.4), Algorithm B.2.1", "in round t, given x_t and the weights of round t, "
          "the indicators 1_n are independent of one another and of all gradients and noises, with E 1_n = p_n; all "
          "clients train, and x_{t+1} = x_t - c sum 1_n omega_n (stochastic gradients)/N",
          assumes=(INDEPENDENT_PARTICIPATION,)),
)  # fmt: skip

# Lemma B.3.1 ----------------------------------------------------------------------------------------------------------

_apart = norm2(x - a) + norm2(a - g)  # a = grad f
DIVERGENCE = (
    given("fedau.objective", "(B.3.1)", "f~ is the sum of phi_n F_n, phi_n >= 0 of sum 1; f has phi_n = 1/N"),
    same("fedau.B.3.2_added", "(B.3.2)", "grad f subtracted and added", [(norm2(x - g), norm2((x - a) + (a - g)))]),
    gram("fedau.B.3.2_squares", "(B.3.2)", "|a + b|^2 <= 2|a|^2 + 2|b|^2", 2 * _apart - norm2(x - g)),
    gram("fedau.B.3.2_jensen", "(B.3.2)", "grad f - grad f~ is the sum of phi_n (grad f - grad F_n), so at most delta",
         delta**2 - norm2(a - g), given=((total - norm2(a - g), one), (delta**2 - total, one)),
         where=region(nonnegative("dissimilarity")),
         rests_on=("fedau.objective", "fedau.weighted.jensen", "fedau.weighted.sum")),
    gram("fedau.B.3.2", "(B.3.2)", "|grad F_n - grad f~|^2 <= (2 delta)^2", 4 * delta**2 - norm2(x - g),
         given=((2 * _apart - norm2(x - g), one), (delta**2 - norm2(x - a), two), (delta**2 - norm2(a - g), two)),
         where=region(nonnegative("dissimilarity")),
         rests_on=("fedau.B.3.2_added", "fedau.B.3.2_squares", "fedau.B.3.2_jensen")),
)  # fmt: skip

_rest = 1 - chance  # chance plays phi_n
SHARP_DIVERGENCE = (
    gram("fedau.B.3.2.sharp.pair", "sharpened", "|grad F_n - grad F_m|^2 <= 4 delta^2", 4 * delta**2 - norm2(x - b),
         given=((delta**2 - norm2(x - a), two), (delta**2 - norm2(b - a), two)),
         where=region(nonnegative("dissimilarity")), printed=False),
    gram("fedau.B.3.2.sharp", "sharpened", "grad F_n - grad f~ is the sum over m of phi_m (grad F_n - grad F_m), where "
         "n itself adds nothing", _rest**2 * 4 * delta**2 - norm2(x - g),
         given=((_rest * total - norm2(x - g), one), (_rest * 4 * delta**2 - total, _rest)),
         where=region(interval("chance"), nonnegative("dissimilarity")), printed=False,
         rests_on=("fedau.objective", "fedau.weighted.jensen", "fedau.weighted.sum", "fedau.B.3.2.sharp.pair")),
    nonnegative_step("fedau.B.3.2.sharp.least", "sharpened", "phi_n is at least the least of all",
                     (1 - least) ** 2 - _rest**2, region(interval("chance", least, one), interval("least")),
                     printed=False, rests_on=("fedau.B.3.2.sharp",)),
)  # fmt: skip

# Lemma B.3.2 ----------------------------------------------------------------------------------------------------------

_next = norm2(y - gamma * (v + xi))
_by_parts = L**2 * norm2(y) + d**2 + norm2(g)
_factor = 1 / (I - half)
_step_sum = gamma**2 * sigma**2 + 6 * I * gamma**2 * (d**2 + norm2(g))
_quarter = setting(capped("local_lr", quarter / (L * I)))
_bounded_step = region(capped("squared_step", sympy.Rational(1, 30)), count("local_steps"))
_x, _r = sympy.symbols("x r")
_log_gap = _x - 1 - sympy.log(_x)
_ahead = _r + sympy.Rational(4, 9) * _r**3 - (sympy.log(1 + _r) - sympy.log(1 - _r)) / 2
_sharp_power = sympy.exp(sympy.Rational(4, 9) * _r**2)

DRIFT = (
    gram("fedau.B.3.4_orthogonal", "(B.3.4), (a) to (c)", "the noise of a step is orthogonal to what went before",
         norm2(y - gamma * v) + gamma**2 * sigma**2 - _next, given=((sigma**2 - norm2(xi), gamma**2),),
         zero=((dot(y, xi), 2 * gamma), (dot(v, xi), -2 * gamma**2)), kind="probabilistic", rests_on=("drift.noise",)),
    gram("fedau.B.3.4_young", "(B.3.4), (d)", "Peter-Paul with b = 1/(2I - 1), for which 1 + 1/b = 2I",
         (1 + 1 / (2 * I - 1)) * norm2(y) + 2 * I * gamma**2 * norm2(v) - norm2(y - gamma * v),
         rests_on=("fedau.B.1.3",)),
    gram("fedau.B.3.4_three", "(B.3.4), (e)", "|grad F_n(y)|^2 <= 3 (L^2 |y - x|^2 + d^2 + |g|^2)",
         3 * _by_parts - norm2(v),
         given=((L**2 * norm2(y) - norm2(v - x), three), (d**2 - norm2(x - g), three)), rests_on=("fedau.B.3.2",)),
    gram("fedau.B.3.4", "(B.3.4)", "the pieces together",
         (1 + 1 / (2 * I - 1) + 6 * I * gamma**2 * L**2) * norm2(y) + _step_sum - _next,
         given=((norm2(y - gamma * v) + gamma**2 * sigma**2 - _next, one),
                ((1 + 1 / (2 * I - 1)) * norm2(y) + 2 * I * gamma**2 * norm2(v) - norm2(y - gamma * v), one),
                (3 * _by_parts - norm2(v), 2 * I * gamma**2)),
         rests_on=("fedau.B.3.4_orthogonal", "fedau.B.3.4_young", "fedau.B.3.4_three")),
    nonnegative_step("fedau.B.3.4_cap", "after (B.3.4)", "6 I gamma^2 L^2 <= 1/(5I) where gamma <= 1/(sqrt(30) L I)",
                     1 / (5 * I) - 6 * z2 / I, _bounded_step),
    nonnegative_step("fedau.B.3.4_factor", "after (B.3.4)", "1/(2I - 1) + 1/(5I) <= 2/(2I - 1) = 1/(I - 1/2)",
                     _factor - 1 / (2 * I - 1) - 1 / (5 * I), region(count("local_steps"))),
    gram("fedau.B.3.4_recursion", "after (B.3.4)", "E|y_{i+1} - x|^2 <= (1 + 1/(I - 1/2)) E|y_i - x|^2 + what a step "
         "adds",
         (1 + _factor) * norm2(y) + _step_sum - _next,
         given=(((1 + 1 / (2 * I - 1) + 6 * I * gamma**2 * L**2) * norm2(y) + _step_sum - _next, one),
                ((_factor - 1 / (2 * I - 1) - 1 / (5 * I)) * norm2(y), one),
                ((1 / (5 * I) - 6 * I * gamma**2 * L**2) * norm2(y), one)),
         rests_on=("fedau.B.3.4", "fedau.B.3.4_cap", "fedau.B.3.4_factor")),
    # with r = 1 + 1/(I - 1/2); growth plays its power r^i
    Step("fedau.B.3.4_unrolled", "after (B.3.4)", "the sum over i < I of r^i is (r^I - 1)(I - 1/2), by induction",
         "induction",
         (Identity((one - 1) * (I - half)),
          Identity((growth * (1 + _factor) - 1) * (I - half) - (growth - 1) * (I - half), growth)),
         rests_on=("fedau.B.3.4_recursion",)),
    Step("fedau.log", "used for (B.3.3), (B.6.9), (B.7.1)", "log x <= x - 1 for x > 0: equal at 1, and (x - 1 - log "
         "x)' = 1 - 1/x has the sign of x - 1", "analytic",
         (Identity(_log_gap.subs(_x, 1)), Nonnegative(sympy.diff(_log_gap, _x), (region(at_least("x", one)),)),
          Nonnegative(-sympy.diff(_log_gap, _x), (region(capped("x", one)),))), printed=False),
    # log(1 + 1/z) <= 1/z
    same("fedau.B.3.4_e", "after (B.3.4), (a)", "(1 + 1/z)^z <= e, from log(1 + 1/z) <= 1/z",
         [((1 + 1 / k) - 1, 1 / k)], kind="analytic", rests_on=("fedau.log",)),
    nonnegative_step("fedau.B.3.4_three_halves", "after (B.3.4), (a)", "1 + 1/(I - 1/2) <= 3", 3 - 1 - _factor,
                     region(count("local_steps"))),
    # (7/4)^2 >= 3
    Step("fedau.B.3.4_constant", "after (B.3.4)", "(sqrt(3) e - 1)(I - 1/2) <= 5 I, from sqrt 3 <= 7/4 and e <= 14/5",
         "analytic",
         (Ball(Enclosed(sympy.Rational(14, 5) - sympy.exp(_x), "x", Fraction(1), Fraction(1))),
          Nonnegative(sympy.Rational(7, 4) ** 2 - 3, (region(count("local_steps")),)),
          Nonnegative(5 * I - (sympy.Rational(7, 4) * sympy.Rational(14, 5) - 1) * (I - half),
                      (region(count("local_steps")),))), rests_on=("fedau.B.3.4_e", "fedau.B.3.4_three_halves")),
    # growth plays r^I
    gram("fedau.B.3.3", "(B.3.3)", "so E|y_i - x|^2 <= 5 I (what a step adds)", local_drift(5, 30) - drift,
         given=(((growth - 1) * (I - half) * _step_sum - drift, one),
                ((5 * I - (growth - 1) * (I - half)) * _step_sum, one)),
         where=setting(positive("growth")), rests_on=("fedau.B.3.4_recursion", "fedau.B.3.4_unrolled",
                                                      "fedau.B.3.4_constant")),
    gram("fedau.B.3.3_from_the_sharper_drift", "(B.3.3)", "the drift lemma with grad f~ for grad F and d for sigma_G: "
         "its proof uses only |grad F_n - grad f~| <= d", local_drift(5, 30) - drift,
         given=((local_drift(2, 12) - drift, one),), kind="lemma", printed=False, rests_on=("drift", "fedau.B.3.2")),
)  # fmt: skip

# With e - 1: u = 1/(2I) and r^I = exp(atanh(u)/u)
SHARP_DRIFT = (
    Step("fedau.B.3.3.sharp.atanh", "sharpened", "atanh u <= u + 4/9 u^3 for 0 <= u <= 1/2: equal at 0, and the "
         "derivatives differ by u^2 (1/3 - 4/3 u^2)/(1 - u^2)", "analytic",
         (Identity(_ahead.subs(_r, 0)),
          Identity(sympy.diff(_ahead, _r), _r**2 * (1 - 4 * _r**2) / (3 * (1 - _r**2))),
          Nonnegative(sympy.diff(_ahead, _r), (region(interval("r", 0, half)),))), printed=False),
    same("fedau.B.3.3.sharp.power", "sharpened", "1 + 1/(I - 1/2) = (1 + u)/(1 - u) with u = 1/(2I)",
         [(1 + _factor, (1 + 1 / (2 * I)) / (1 - 1 / (2 * I)))], printed=False),
    Step("fedau.B.3.3.sharp.e", "sharpened", "e >= 8/3, by the first four terms of its series", "analytic",
         (Ball(Enclosed(sympy.exp(_x) - 1 - _x - _x**2 / 2 - _x**3 / 6, "x", Fraction(0), Fraction(1), order=4)),
          Identity((1 + _x + _x**2 / 2 + _x**3 / 6).subs(_x, 1), sympy.Rational(8, 3))), printed=False),
    Step("fedau.B.3.3.sharp.constant", "sharpened", "(r^I - 1)(1 - u) <= e - 1, as exp(4/9 u^2) (1 - u) + 3/8 u <= 1",
         "analytic",
         (Ball(Enclosed(1 - _sharp_power * (1 - _r) - 3 * _r / 8, "r", Fraction(0), Fraction(1, 2), order=1)),),
         printed=False, rests_on=("fedau.B.3.3.sharp.atanh", "fedau.B.3.3.sharp.power", "fedau.B.3.3.sharp.e",
                                  "fedau.B.3.4_unrolled")),
    nonnegative_step("fedau.B.3.3.sharp.factor", "sharpened", "1/(2I - 1) + 6 I gamma^2 L^2 <= 1/(I - 1/2) already "
                     "under z <= 1/4", _factor - 1 / (2 * I - 1) - 6 * I * gamma**2 * L**2, _quarter, printed=False),
    gram("fedau.B.3.3.sharp.recursion", "sharpened", "the recursion under z <= 1/4",
         (1 + _factor) * norm2(y) + _step_sum - _next,
         given=(((1 + 1 / (2 * I - 1) + 6 * I * gamma**2 * L**2) * norm2(y) + _step_sum - _next, one),
                ((_factor - 1 / (2 * I - 1) - 6 * I * gamma**2 * L**2) * norm2(y), one)),
         printed=False, rests_on=("fedau.B.3.4", "fedau.B.3.3.sharp.factor")),
    # growth plays r^I, euler plays e
    gram("fedau.B.3.3.sharp", "sharpened", "E|y_i - x|^2 <= (e - 1) I (what a step adds)",
         (euler - 1) * I * _step_sum - drift,
         given=(((growth - 1) * (I - half) * _step_sum - drift, one),
                ((euler - 1 - (growth - 1) * (1 - 1 / (2 * I))) * _step_sum, I)),
         where=setting(positive("growth"), positive("euler")), printed=False,
         rests_on=("fedau.B.3.3.sharp.recursion", "fedau.B.3.4_unrolled", "fedau.B.3.3.sharp.constant")),
    Step("fedau.B.3.3.sharp.rounded", "sharpened", "e - 1 <= 7/4", "analytic",
         (Ball(Enclosed(sympy.Rational(11, 4) - sympy.exp(_x), "x", Fraction(1), Fraction(1))),), printed=False,
         rests_on=("fedau.B.3.3.sharp",)),
)  # fmt: skip

# Lemma B.3.3 ----------------------------------------------------------------------------------------------------------

_moved = A + B + U + V
_descent = f_0 - c * dot(g, A + B) + c**2 * L / 2 * norm2(_moved) - f_1
_right_7 = c / I * I**2 * E * square + c / (2 * I) * I**2 * L**2 * drift - c / (2 * I) * norm2(B) - c * I / 4 * norm2(g)
_noise = I * sigma**2 * Q / N
_spread = Q / N * I**2 * square
_right_8 = c**2 * L * (_noise + _spread + 2 * I**2 * E * square + 2 * norm2(B))
_right_9 = 15 * L**2 * I * gamma**2 * (sigma**2 + 6 * I * d**2) + 3 * d**2 + (90 * z**2 + 3) * norm2(g)
_right_10a = (
    c / I * sympy.Rational(3, 2) * I**2 * E * square + c / (2 * I) * I**2 * L**2 * drift
    + c**2 * L * (_noise + _spread) - c * I / 4 * norm2(g)
)  # fmt: skip
_capped = setting(GLOBAL_CAP)
_thin = 1 / (2 * I) - 2 * c * L
_of_square = c / I * sympy.Rational(3, 2) * I**2 * E + c**2 * L * Q / N * I**2
_put_in = ((_right_9 - square, _of_square), (local_drift(5, 30) - drift, c * I * L**2 / 2))
_thin_cap = sympy.Rational(1, 240) - z**2
_after_10 = FIXED + c * I * bracket(15) * norm2(g)

DESCENT = (
    gram("fedau.B.3.6_smooth", "(B.3.6)", "f~ is L-smooth, as a mean of L-smooth functions",
         L**2 * norm2(y) - norm2(v), given=((total - norm2(v), one), (L**2 * norm2(y) - total, one)),
         rests_on=("fedau.objective", "fedau.weighted.jensen", "fedau.weighted.sum")),
    gram("fedau.B.3.6", "(B.3.6)", "Lemma 1 for f~, E 1_n = p_n, noise of mean 0, all given the weights of round t",
         _descent, given=((f_0 - c * dot(g, _moved) + c**2 * L / 2 * norm2(_moved) - f_1, one),),
         zero=((dot(g, U), c), (dot(g, V), c)), kind="probabilistic",
         rests_on=("lemma1.integral", "fedau.B.3.6_smooth", "fedau.round", "drift.noise")),
    same("fedau.B.3.7_split", "(B.3.7), its first lines", "B and I g added and subtracted",
         [(-c * dot(g, A + I * g + C), -c * dot(g, A) - c / I * dot(I * g, C) - c * I * norm2(g))]),
    gram("fedau.B.3.7_a", "(B.3.7), (a)", "Peter-Paul for A, and <I g, C> = (|B|^2 - |I g|^2 - |C|^2)/2",
         c * I / 4 * norm2(g) + c / I * norm2(A) + c * I / 2 * norm2(g) + c / (2 * I) * norm2(C)
         - c / (2 * I) * norm2(I * g + C) - c * I * norm2(g) + c * dot(g, A + I * g + C),
         rests_on=("fedau.B.3.7_split", "fedau.B.1.2")),
    # total plays sum_n |(p_n omega_n/N - phi_n) s_n|^2, summand the same with I sum_i |v|^2 for |s_n|^2
    gram("fedau.B.3.7_error", "(B.3.7), its third line", "|A|^2 <= N I sum of (p_n omega_n/N - phi_n)^2 sum_i |v|^2",
         N * I * summand - norm2(A), given=((N * total - norm2(A), one), (I * summand - total, N)),
         rests_on=("fedau.B.1.1",)),
    gram("fedau.B.3.7_drift", "(B.3.7), its third line", "|C|^2 <= I sum phi_n sum_i L^2 |y|^2 <= I^2 L^2 drift",
         I**2 * L**2 * drift - norm2(C),
         given=((total - norm2(C), one), (I * summand - total, one), (I * L**2 * drift - summand, I)),
         rests_on=("jensen", "fedau.weighted.jensen", "fedau.weighted.sum")),
    gram("fedau.B.3.7", "(B.3.7)", "the pieces together",
         (_right_7 + c * dot(g, A + B)),
         given=((c * I / 4 * norm2(g) + c / I * norm2(A) + c * I / 2 * norm2(g) + c / (2 * I) * norm2(B - I * g)
                 - c / (2 * I) * norm2(B) - c * I * norm2(g) + c * dot(g, A + B), one),
                (I**2 * E * square - norm2(A), c / I), (I**2 * L**2 * drift - norm2(B - I * g), c / (2 * I))),
         rests_on=("fedau.B.3.7_a", "fedau.B.3.7_error", "fedau.B.3.7_drift", "fedau.weighted.sum")),
    gram("fedau.B.3.8_halves", "(B.3.8), its first lines", "|U + X|^2 <= 2|U|^2 + 2|X|^2, for the noise and the "
         "gradients",
         c**2 * L * norm2(U) + c**2 * L * norm2(A + B + V) - c**2 * L / 2 * norm2(_moved)),
    # chance plays p_n, summand omega_n^2; v the noise of one client
    gram("fedau.B.3.8_noise", "(B.3.8), (a) and (b)", "E|1_n omega_n (noises)|^2 = p_n omega_n^2 E|noises|^2 <= p_n "
         "omega_n^2 I sigma^2 (an equation in (b), where the variance is only bounded); orthogonal for different n",
         I * sigma**2 * chance * summand - chance * summand * norm2(v),
         given=((I * sigma**2 - norm2(v), chance * summand),),
         where=setting(interval("chance"), nonnegative("summand")), kind="probabilistic",
         rests_on=("noise.client", "noise.uncorrelated", "fedau.round", "fedau.weighted.orthogonal")),
    gram("fedau.B.3.8_variance", "(B.3.8), (c)", "E|sum 1_n omega_n s_n/N|^2 = |A + B|^2 + E|V|^2, as V has mean 0",
         norm2(A + B) + norm2(V) - norm2(A + B + V), zero=((dot(A, V), -two), (dot(B, V), -two)),
         kind="probabilistic", rests_on=("fedau.round", "fedau.B.1.4")),
    gram("fedau.B.3.8_bernoulli", "(B.3.8), (d)", "E|(1_n - p_n) omega_n s_n|^2 = p_n (1 - p_n) omega_n^2 E|s_n|^2 <= "
         "p_n omega_n^2 E|s_n|^2; orthogonal for different n",
         chance * summand * norm2(v) - chance * (1 - chance) * summand * norm2(v),
         where=setting(interval("chance"), nonnegative("summand")), kind="probabilistic",
         rests_on=("fedau.round", "fedau.weighted.orthogonal")),
    same("fedau.B.3.8_indicator", "(B.3.8), (d)", "Var 1_n = p_n (1 - p_n)^2 + (1 - p_n) p_n^2 = p_n (1 - p_n)",
         [(chance * (1 - chance) ** 2 + (1 - chance) * chance**2, chance * (1 - chance))]),
    gram("fedau.B.3.8", "(B.3.8)", "the pieces together", _right_8 - c**2 * L / 2 * norm2(_moved),
         given=((c**2 * L * norm2(U) + c**2 * L * norm2(A + B + V) - c**2 * L / 2 * norm2(_moved), one),
                (_noise - norm2(U), c**2 * L), (norm2(A + B) + norm2(V) - norm2(A + B + V), c**2 * L),
                (_spread - norm2(V), c**2 * L),
                (I**2 * E * square - norm2(A), 2 * c**2 * L), (2 * norm2(A) + 2 * norm2(B) - norm2(A + B), c**2 * L)),
         rests_on=("fedau.B.3.8_halves", "fedau.B.3.8_noise", "fedau.B.3.8_variance", "fedau.B.3.8_bernoulli",
                   "fedau.B.3.8_indicator", "fedau.B.3.7_error",
                   "jensen", "fedau.weighted.sum")),
    gram("fedau.B.3.9", "(B.3.9)", "|v|^2 <= 3 (L^2 |y|^2 + d^2 + |g|^2), with Lemma B.3.2", _right_9 - norm2(v),
         given=((3 * (L**2 * norm2(y) + d**2 + norm2(g)) - norm2(v), one),
                (local_drift(5, 30) - norm2(y), 3 * L**2)), rests_on=("fedau.B.3.4_three", "fedau.B.3.3")),
    nonnegative_step("fedau.B.3.10_squares", "(B.3.10), (a)", "2 c^2 L <= c/(2I) where c <= 1/(4 L I): what is "
                     "subtracted of |B|^2 covers what (B.3.8) adds", _thin, _capped),
    gram("fedau.B.3.10_a", "(B.3.10), (a)", "(B.3.7) and (B.3.8) together",
         _right_10a + c * dot(g, A + B) - c**2 * L / 2 * norm2(_moved),
         given=((_right_7 + c * dot(g, A + B), one),
                (_right_8 - c**2 * L / 2 * norm2(_moved), one),
                (_thin * norm2(B), c), (_thin * square, c * I**2 * E)),
         rests_on=("fedau.B.3.7", "fedau.B.3.8", "fedau.B.3.10_squares")),
    nonnegative_step("fedau.B.3.10_constants", "(B.3.10), (b) and (c)", "3 + 90 z^2 <= 27/8 where gamma <= 1/(4 "
                     "sqrt(15) L I); 15 z^2 <= 1/16 likewise", share - 3 - 90 * z2,
                     region(capped("squared_step", sympy.Rational(1, 240)))),
    gram("fedau.B.3.10", "(B.3.10), (b) and (c)", "Lemma B.3.2 and (B.3.9) put in, with both constants",
         _after_10 + c * dot(g, A + B) - c**2 * L / 2 * norm2(_moved),
         given=((_right_10a + c * dot(g, A + B) - c**2 * L / 2 * norm2(_moved), one), *_put_in,
                (_thin_cap * (d**2 + norm2(g)), 90 * _of_square), (_thin_cap * sigma**2, 15 * c**2 * L * I * Q / N)),
         rests_on=("fedau.B.3.10_a", "fedau.B.3.10_constants", "fedau.B.3.9", "fedau.B.3.3")),
    gram("fedau.B.3.5", "(B.3.5)", "(B.3.10) in (B.3.6)", f_0 + _after_10 - f_1,
         given=((_descent, one), (_after_10 + c * dot(g, A + B) - c**2 * L / 2 * norm2(_moved), one)),
         rests_on=("fedau.B.3.6", "fedau.B.3.10")),
)  # fmt: skip

SHARPER = (
    gram("fedau.descent.square", "repaired", "|v|^2 <= 3 (L^2 |y|^2 + d^2 + |g|^2), with the constants 2 and 12 of the "
         "drift",
         3 * (L**2 * local_drift(2, 12) + d**2 + norm2(g)) - norm2(v),
         given=((3 * (L**2 * norm2(y) + d**2 + norm2(g)) - norm2(v), one),
                (local_drift(2, 12) - norm2(y), 3 * L**2)), printed=False, rests_on=("fedau.B.3.4_three", "drift")),
    gram("fedau.descent", "repaired", "(B.3.5) under z <= 1/15, with 6 z^2 for its 15 z^2", f_0 + FIXED
         + c * I * bracket(6) * norm2(g) - f_1,
         given=((_descent, one), (_right_10a + c * dot(g, A + B) - c**2 * L / 2 * norm2(_moved), one),
                (3 * (L**2 * local_drift(2, 12) + d**2 + norm2(g)) - square, _of_square),
                (local_drift(2, 12) - drift, c * I * L**2 / 2)),
         where=UNDER_CAPS, printed=False, rests_on=("fedau.B.3.6", "fedau.B.3.10_a", "fedau.descent.square", "drift")),
    gram("fedau.descent.printed", "(B.3.5)", "so (B.3.5) holds under z <= 1/15", f_0 + _after_10 - f_1,
         given=((f_0 + FIXED + c * I * bracket(6) * norm2(g) - f_1, one),), printed=False, rests_on=("fedau.descent",)),
)  # fmt: skip

ALL = (*PRELIMINARIES, *SUMS, *DIVERGENCE, *SHARP_DIVERGENCE, *DRIFT, *SHARP_DRIFT, *DESCENT, *SHARPER)
