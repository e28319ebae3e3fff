"""The displays of the proof of Theorem 2 (appendix B), (11) to (22), and what holds instead.

For one group p = p_j, h is the sum of its earlier rates, r its rate, a and k are availability and budget. W_j(t) is
(p_j/s^_j(t))^2 after round t, and D_j(t) = W_j(T) - W_j(t).
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import at_least, capped, equal, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same

p, s, hat, epsilon, now, last = sympy.symbols("weight share estimate epsilon now last")
h, r, a, k, t, T_0, T, C, mu, mu_k, gamma, q, nu = sympy.symbols(
    "history rate available budget t first rounds early mu mu_k gamma other_rate level"
)
x, y, d, theta, X, total, used, high, low, D, there = sympy.symbols(
    "x y d theta slope total used high low spread there"
)

FIRST_HALF = (
    same("flics.2.11", "(11)", "Lemma 3: s^(T) converges, and it is the mean of the rates",
         [(t * ((t - 1) * hat + r) / t, (t - 1) * hat + r)], rests_on=("flics.3", "flics.3.mean")),
    nonnegative_step("flics.2.12_upper", "before (12)", "after T_0 every s^_i(t) is at least s_i - epsilon",
                     p / (s - epsilon) - p / hat,
                     region(at_least("estimate", s - epsilon), at_least("share", epsilon + sympy.Symbol("room")),
                            positive("room"), positive("epsilon"), positive("weight"))),
    nonnegative_step("flics.2.12_weight", "before (12)", "the summands p_i/s^_i(t) are those of (5) and (8), and no "
                     "larger", p**2 / hat - p / hat, region(interval("weight"), positive("estimate")), expected="gap",
                     why="(5) and (8) have p_i^2", repaired_by=("flics.limit.objective",)),
    Step("flics.2.12", "(12)", "the early rounds and epsilon vanish in the limit: the mean of T rounds, T_0 of which "
         "add up to C, is at most X + epsilon for T >= C/epsilon", "analytic",
         (Nonnegative(X + epsilon - (C + (T - T_0) * X) / T,
                      (region(at_least("rounds", T_0 + C / epsilon), nonnegative("slope"), positive("epsilon"),
                              nonnegative("early"), nonnegative("first")),)),)),
    nonnegative_step("flics.2.12_lower", "(12)", "the other half, which is not shown: every s^_i(t) is at most s_i + "
                     "epsilon after T_0", p / hat - p / (s + epsilon),
                     region(capped("estimate", s + epsilon), positive("share"), positive("epsilon"),
                            positive("weight")), printed=False),
    given("flics.2.13", "(13)", "the policy's rates are one of the plans among which the best is chosen, where r_min "
          "does not exclude them"),
)  # fmt: skip

_kkt = p**2 / (h + r) ** 2
_allowed = region(capped("rate", a), positive("available"), nonnegative("mu"), capped("other_rate", k),
                  positive("budget"), nonnegative("mu_k"), nonnegative("gamma"))  # fmt: skip

SECOND_HALF = (
    Step("flics.2.convex", "before (14)", "1/r is convex, with a Lipschitz derivative on [r_min, r_max]", "polynomial",
         (Nonnegative((1 / x + 1 / y) / 2 - 2 / (x + y), (region(at_least("x", y), positive("y")),)),
          Nonnegative(2 * (x - y) / r**3 - (1 / y**2 - 1 / x**2),
                      (region(at_least("x", y), at_least("y", r), positive("rate")),)))),
    given("flics.2.multipliers", "(14) to (17)", "a convex problem with linear constraints has multipliers >= 0 that "
          "are 0 where their constraint is slack (Karush, Kuhn and Tucker)"),
    # gamma = 0 where r > 0, by (17); mu plays the sum of the mu_j
    nonnegative_step("flics.2.14", "(14)", "U'(r_i) + gamma_i - sum of mu_j = 0 has a solution with r_i > 0, U = 1/r: "
                     "the left side is at least 0", -1 / r**2 - mu, region(positive("rate"), nonnegative("mu")),
                     expected="gap", why="both signs are reversed: it is below 0 for every r_i > 0",
                     repaired_by=("flics.2.14_signs",)),
    # at a level nu: r = p nu - h inside, r = a where p nu >= h + a, r = 0 where p nu <= h
    Step("flics.2.14_signs", "(14)", "p_i^2/(h_i + r_i)^2 = mu_i + mu_{M+1} - gamma_i, h_i the sum of earlier rates, "
         "is solved by r_i = min(max(p_i nu - h_i, 0), a_i) and mu_{M+1} = 1/nu^2", "polynomial",
         (Identity(_kkt.subs(r, p * nu - h), 1 / nu**2),
          Nonnegative(_kkt.subs(r, a) - 1 / nu**2,
                      (region(at_least("level", (h + a) / p), positive("weight"), nonnegative("history"),
                              positive("available")),)),
          Nonnegative(1 / nu**2 - _kkt.subs(r, 0),
                      (region(at_least("history", p * nu), positive("weight"), positive("level")),))),
         printed=False),
    # minus the left side of (14), less 1/r^2
    nonnegative_step("flics.2.14_no_solution", "(14)", "as printed it has no solution with r_i > 0: its left side is "
                     "at most -1/r_i^2", 1 / r**2 + mu - 1 / r**2, region(positive("rate"), nonnegative("mu")),
                     printed=False),
    nonnegative_step("flics.2.18", "(18)", "Psi, with its first two penalties as printed and gamma r added, is at most "
                     "sigma", mu * (r - a) - mu_k * (q - k) - gamma * r,
                     _allowed, expected="gap", why="mu (r - a) is at most 0", repaired_by=("flics.2.18_signs",)),
    nonnegative_step("flics.2.18_signs", "(18)", "with + mu (r - a) + mu_{M+1} (sum r - k) - gamma r it is, for every "
                     "plan that is allowed", -mu * (r - a) - mu_k * (q - k) + gamma * r,
                     _allowed, printed=False),
    Step("flics.2.tangent", "(19)", "Psi is above its tangent: p^2/x >= p^2/y - p^2 (x - y)/y^2", "polynomial",
         (Nonnegative(p**2 / x - p**2 / y + p**2 * (x - y) / y**2,
                      (region(at_least("x", y), positive("y"), positive("weight")),
                       region(at_least("y", x), positive("x"), positive("weight")))),)),
    same("flics.2.21", "(20), (21)", "the multipliers of round t, which belong to s^(t), cancel the derivative at "
         "s^(T)", [(1 / last**2, 1 / now**2)], expected="gap", why="only where both are the same, or in the limit",
         repaired_by=("flics.limit.block",)),
    Step("flics.2.end", "after (21)", "(13), (12) and Lemma 3, with what repairs them, give the limit", "lemma",
         rests_on=("flics.2.11", "flics.2.12_upper", "flics.2.12_weight", "flics.2.12", "flics.2.13", "flics.2.convex",
                   "flics.2.multipliers", "flics.2.14", "flics.2.18", "flics.2.tangent", "flics.2.21",
                   "flics.limit.end")),
)  # fmt: skip

# What holds along every trace -----------------------------------------------------------------------------------------

_mixed = region(interval("rate", 0, a), interval("other_rate", 0, a), interval("theta"), positive("available"))
_half_way = region(interval("theta", 0, sympy.Rational(1, 2)), at_least("d", -s), positive("share"))
_C = sympy.Symbol("curvature")
_ascent = region(positive("slope"), nonnegative("curvature"))

FIRST_ORDER = (
    Nonnegative(a - ((1 - theta) * r + theta * q), (_mixed,)),
    Nonnegative((1 - theta) * r + theta * q, (_mixed,)),
    Identity(p**2 / (s + theta * d) - p**2 / s + theta * d * (p / s) ** 2,
             theta**2 * p**2 * d**2 / (s**2 * (s + theta * d))),
    Nonnegative(s + theta * d - s / 2, (_half_way,)),
    # X = sum W_j d_j > 0 and X <= theta C for 0 < theta <= 1/2 contradict each other at theta = X/(2 (X + C))
    Nonnegative(X - X / (2 * (X + _C)) * _C - X / 2, (_ascent,)),
    Nonnegative(sympy.Rational(1, 2) - X / (2 * (X + _C)), (_ascent,)),
)  # fmt: skip
"""Proof that sum W_j d_j <= 0 at the least sum p_j^2/s_j of a convex set, where d leads from there to any of its
points."""

REPAIRED = (
    given("flics.2.policy", "(5), (6)", "planned counts: s^(t) is the mean of r(1), ..., r(t), and r(t) minimises "
          "sum_j p_j^2/s^_j(t) over 0 <= r <= a(t), sum r <= k(t); groups of weight 0 are left out, and where a group "
          "of weight > 0 has not taken part the price drift is infinite", printed=False),
    # x = s_j of any plan, y = s^_j(T)
    Step("flics.2.duality", "repaired", "for every plan of mean s: sum p_j^2/s^_j(T) - sum p_j^2/s_j <= sum W_j(T) "
         "(s_j - s^_j(T)), the mean over the rounds of W(T).(r(t) - r^F(t))", "polynomial",
         (Nonnegative((p / y) ** 2 * (x - y) - p**2 / y + p**2 / x,
                      (region(at_least("x", y), positive("y"), positive("weight")),
                       region(at_least("y", x), positive("x"), positive("weight")))),
          Identity(((t - 1) * s + r) / t - ((t - 1) * hat + q) / t, ((t - 1) * (s - hat) + (r - q)) / t)),
         printed=False, rests_on=("flics.2.policy",)),
    same("flics.2.derivative", "repaired", "the derivative of p_j^2/s^_j(t) by r_j(t) is -W_j(t)/t",
         [(sympy.diff(p**2 * t / (h + r), r), -((p * t / (h + r)) ** 2) / t)], printed=False,
         rests_on=("flics.2.policy",)),
    # d = (r_j - r^F_j)/t; from r^F the share theta of the way to r
    Step("flics.2.first_order", "repaired", "so W(t).(r - r^F(t)) <= 0 for all rates that are allowed: else a small "
         "step towards r would make the minimum smaller", "analytic",
         FIRST_ORDER,
         printed=False, rests_on=("flics.2.derivative",)),
    # total = sum of r, there = sum of a, used = u(t) = min(k, there)
    Step("flics.2.all_used", "repaired", "both plans may be taken to use u(t) = min(k, sum of a): more of r_j, up to "
         "a_j, only raises W(T).r and lowers the policy's objective", "polynomial",
         (Identity(total + (used - total) / (there - total) * (there - total), used),
          Nonnegative(1 - (used - total) / (there - total),
                      (region(at_least("there", used + sympy.Symbol("room")), at_least("used", total),
                              positive("room"), nonnegative("total")),)),
          Nonnegative(p**2 / s - p**2 / (s + x), (region(positive("share"), nonnegative("x"), positive("weight")),))),
         printed=False, rests_on=("flics.2.policy",)),
    # D between low and high, differences of prices
    Step("flics.2.spread", "repaired", "W(T).(r - r^F(t)) <= D(t).(r - r^F(t)) <= u(t) (max D(t) - min D(t))",
         "polynomial",
         (Identity(last * (r - q), now * (r - q) + (last - now) * (r - q)),
          Nonnegative((high - D) * r, (region(at_least("high", D), equal("spread", last - now),
                                                              nonnegative("rate"), nonnegative("last"),
                                                              nonnegative("now")),)),
          Nonnegative((D - low) * q, (region(equal("low", D - sympy.Symbol("room")), equal("spread", last - now),
                                             nonnegative("room"), nonnegative("other_rate"), nonnegative("last"),
                                             nonnegative("now")),)),
          Identity(high * x + high * (used - x) - low * y - low * (used - y), used * (high - low))),
         printed=False, rests_on=("flics.2.first_order", "flics.2.all_used", "flics.2.duality")),
)  # fmt: skip

ALL = (*FIRST_HALF, *SECOND_HALF, *REPAIRED)
