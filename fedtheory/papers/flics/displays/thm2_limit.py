"""The limit of Theorem 2 for sigma_T = the policy's objective, f(s^(T)) with f(s) = sum_j p_j^2/s_j.

There are finitely many states c = (a, k), with shares pi of the rounds in the long run. s* has the least f of all
means sum_c pi(c) r(c) of rates that are allowed in the states; r*(c) are its rates, A the most clients of a group.

The policy loses against r* in no round more than a tangent says, so that over a block of delta n rounds f(s^) - f(s*)
shrinks by 1 - delta, up to delta times what is small with delta and 1/n. The best in hindsight is near s* because what
T rounds allow is near what the long run allows.

For one group p = p_j, x and y are participations, h = (t-1) s^(t-1).
"""

from __future__ import annotations

import sympy

from ....assumptions import STATIONARY_AVAILABILITY
from ....proof.symbol_regions import at_least, equal, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same
from .thm2 import FIRST_ORDER, hat, p, r, s, t, x, y

A, m, n, d, b, end, V, N, B, f, least = sympy.symbols(
    "largest floor start way history last value number level objective least"
)
delta, epsilon, first, second, price, now, spread, here, there, target, e, c, i, X = sympy.symbols(
    "block epsilon first second price now spread here there target excess error index slope"
)
_r = "repaired"
_A = positive("largest")

MODEL = (
    given("flics.limit.shares", "Assumption 1", "there are finitely many states (a, k), and along almost every "
          "realization each comes up in a share of the first T rounds that tends to its probability (Birkhoff)",
          assumes=(STATIONARY_AVAILABILITY,)),
    given("flics.limit.best", "repaired", "s* has the least f of all means of plans of the long run; every s*_j > 0, "
          "because in some plan every group takes part in r_min > 0 or more", printed=False),
    given("flics.limit.start", "(5), Algorithm 1", "where a group that has not taken part is absent, (5) is infinite "
          "whatever is planned: then, as for a small s^(0) > 0, rates are r_j = min(max(p_j nu - h_j, 0), a_j), so "
          "that who is there for the first time takes part", printed=False),
    given("flics.limit.hindsight", "(8)", "the best in hindsight is over those T for which r_min leaves a plan: all "
          "but finitely many where r_min < s*_j, as Theorem 1 has it", printed=False),
    given("flics.limit.hoffman", "repaired", "of two polyhedra {x: A x <= b} and {x: A x <= b'} that are not empty, "
          "every point of one is within a constant times |b - b'| of the other (Hoffman 1952)", printed=False),
)  # fmt: skip

# Along the policy ----------------------------------------------------------------------------------------------------

_x, _r_part = interval("x", 0, A), interval("rate", 0, A)
_two = at_least("t", sympy.Integer(2))
_sums = region(at_least("last", b), positive("history"), interval("rate", 0, A), _A, positive("weight"))
_block_mean = ((1 + delta) * second - first) / delta
_means = region(interval("first", s - epsilon, s + epsilon), interval("second", s - epsilon, s + epsilon),
                positive("block"), positive("epsilon"), positive("share"))  # fmt: skip

POLICY = (
    # y = x + (r - x)/t, d = y - x
    Step("flics.limit.tangent", _r, "for every r that is allowed, f(s^(t)) <= f(s^ + (r - s^)/t) <= f(s^) - W.(r - "
         "s^)/t + sum_j 2 p_j^2 A^2/(t^2 m^3), s^ = s^(t-1) >= m and W its prices p_j^2/s^_j^2", "polynomial",
         (Identity(p**2 / (x + d) - p**2 / x + p**2 * d / x**2, p**2 * d**2 / (x**2 * (x + d))),
          Nonnegative(x + (r - x) / t - x / 2, (region(_two, positive("x"), nonnegative("rate")),)),
          Nonnegative(A**2 - (r - x) ** 2, (region(_x, _r_part, _A),)),
          Nonnegative(2 * p**2 * A**2 / (t**2 * m**3) - p**2 * A**2 / (t**2 * x**2 * y),
                      (region(at_least("y", x / 2), at_least("x", m), positive("floor"), positive("weight"),
                              positive("t"), _A),))),
         printed=False, rests_on=("flics.2.policy",)),
    # b and b + r are sums up to A more than the last one of the block
    Step("flics.limit.sums", _r, "with b = t s^(t): over a block, sum_j p_j^2/b_j falls by sum_j p_j^2 N_j/(b_j + A)^2 "
         "at least, b_j at its end, N_j the sum of r*_j over its rounds", "polynomial",
         (Identity(p**2 / b - p**2 / (b + r), p**2 * r / (b * (b + r))),
          Nonnegative(p**2 * r / (b * (b + r)) - p**2 * r / (end + A) ** 2, (_sums,))),
         printed=False, rests_on=("flics.2.policy", "flics.limit.start", "flics.2.14_signs")),
    # first and second are within epsilon of s*
    Step("flics.limit.blocks", _r, "the means of r* over the first T rounds tend to s*, and so do those over the "
         "rounds from n to (1 + delta) n", "polynomial",
         (Identity((n * (1 + delta) * second - n * first) / (n * (1 + delta) - n), _block_mean),
          *(Nonnegative((2 + delta) * epsilon / delta + sign * (_block_mean - s), (_means,)) for sign in (1, -1))),
         printed=False, rests_on=("flics.limit.shares", "flics.limit.best")),
    # V the sum of p_j^2/b_j before, N the sum of r*_j over so many rounds that it is beyond every bound
    nonnegative_step("flics.limit.all", _r, "every b_j grows beyond every bound B: else sum_j p_j^2/b_j falls below 0",
                     p**2 * N / (B + A) ** 2 - V,
                     region(at_least("number", V * (B + A) ** 2 / p**2), nonnegative("value"), positive("weight"),
                            positive("level"), _A),
                     kind="analytic", printed=False, rests_on=("flics.limit.sums", "flics.limit.blocks")),
    # n to 2n; b >= A; V = f/(2n) at the end; N_j >= n s*_j/2 >= n least/2
    Step("flics.limit.bounded", _r, "so f(s^(2n)) <= max(f(s^(n)), 16/min_j s*_j) once b_j >= A and N_j >= n s*_j/2, "
         "and f is at most twice as large in between: s^_j >= m > 0 from some round on", "polynomial",
         (Nonnegative(4 * b**2 - (b + A) ** 2, (region(at_least("history", A), _A),)),
          Nonnegative(p**2 / b**2 - p**3 / b**2, (region(interval("weight"), positive("history")),)),
          Identity(n * (f / (2 * n) + n * least / 8 * (f / (2 * n)) ** 2), f / 2 + least * f**2 / 32),
          Nonnegative(f / 2 + least * f**2 / 32 - f, (region(at_least("objective", 16 / least), positive("least")),)),
          Nonnegative(2 * n * V - t * X, (region(equal("value", X + sympy.Symbol("room")), interval("t", n, 2 * n),
                                                 positive("start"), nonnegative("slope"), nonnegative("room")),)),
          Nonnegative(s - p**2 / f, (region(at_least("objective", p**2 / s), positive("share"), positive("weight")),))),
         printed=False, rests_on=("flics.limit.sums", "flics.limit.blocks", "flics.limit.all", "flics.jensen")),
)  # fmt: skip

_apart = interval("price", now - c * delta, now + c * delta)
_between = region(interval("t", n, n * (1 + delta)), positive("start"), positive("block"))

BLOCK = (
    # W(tau) and s^(tau) against W(n) and s^(n): price, here against now, there
    Step("flics.limit.still", _r, "within a block s^ moves by at most A delta, prices by a multiple of delta, so that "
         "-W(tau).(r - s^(tau))/(tau + 1) is -W(n).(r - s^(n))/n up to a multiple of delta/n", "polynomial",
         (Identity(-price * (r - here) + now * (r - there), (now - price) * (r - here) + now * (here - there)),
          *(Nonnegative(c * delta * A + sign * (now - price) * (r - here),
                        (region(_apart, _r_part, interval("here", 0, A), _A, positive("block"), positive("error"),
                                nonnegative("now")),)) for sign in (1, -1)),
          *(Nonnegative(now * A * delta + sign * now * (here - there),
                        (region(interval("here", there - A * delta, there + A * delta), _A, positive("block"),
                                nonnegative("now"), nonnegative("there")),)) for sign in (1, -1)),
          Nonnegative(delta / n - (1 / n - 1 / t), (_between,)), Nonnegative(1 / n - 1 / t, (_between,)),
          Nonnegative(A / n - A / t, (region(at_least("t", n), positive("start"), _A),)),
          *(Nonnegative(price * A + sign * price * (r - here),
                        (region(_r_part, interval("here", 0, A), _A, nonnegative("price")),)) for sign in (1, -1))),
         printed=False, rests_on=("flics.limit.bounded", "flics.2.convex")),
    # target = s*_j, r the mean of r*_j over the block, epsilon their distance, here = s^_j(n); e = f(s^(n)) - f(s*)
    Step("flics.limit.block", _r, "so with e(n) = f(s^(n)) - f(s*): e((1 + delta) n) <= (1 - delta) e(n) + delta c, c "
         "as small as delta and 1/n are, delta the block's own share", "analytic",
         (Identity(-price * (r - here), -price * (target - here) - price * (r - target)),
          Nonnegative(p**2 / target - p**2 / here + (p / here) ** 2 * (target - here),
                      (region(at_least("target", here), positive("here"), positive("weight")),
                       region(at_least("here", target), positive("target"), positive("weight")))),
          *(Nonnegative(price * epsilon + sign * price * (r - target),
                        (region(interval("rate", target - epsilon, target + epsilon), nonnegative("price"),
                                nonnegative("epsilon"), nonnegative("target")),)) for sign in (1, -1)),
          Identity(e + delta * (c - e), (1 - delta) * e + delta * c)),
         printed=False, rests_on=("flics.limit.tangent", "flics.limit.blocks", "flics.limit.still")),
    # (1 - delta)^i -> 0
    Step("flics.limit.above", _r, "so f(s^(T)) - f(s*) is at most c, in the limit, and c is as small as delta: over i "
         "blocks what is above c shrinks by (1 - delta)^i <= 1/(1 + i delta), and within one f moves by a multiple of "
         "delta", "analytic",
         (Identity((1 - delta) * e + delta * c - c, (1 - delta) * (e - c)),
          Nonnegative(1 / (1 + (i + 1) * delta) - (1 - delta) / (1 + i * delta),
                      (region(interval("block"), nonnegative("index")),)),
          Nonnegative(p**2 * A * delta / m**2 - (p**2 / y - p**2 / x),
                      (region(interval("x", y, y + A * delta), at_least("y", m), positive("floor"), positive("weight"),
                              positive("block"), _A),))),
         printed=False, rests_on=("flics.limit.block",)),
)  # fmt: skip

# The best in hindsight ---------------------------------------------------------------------------------------------

HINDSIGHT = (
    Step("flics.limit.first_order", _r, "W*.(s - s*) <= 0 for the mean s of any plan of the long run, W* the prices at "
         "s*: else a small step towards s would make f smaller", "analytic", FIRST_ORDER, printed=False,
         rests_on=("flics.limit.best",)),
    # x the mean of a plan of T rounds, y = s*, here the mean of the same rates by state with the long run's shares
    Step("flics.limit.below", _r, "no plan of T rounds is better than f(s*) minus what tends to 0: f(s) >= f(s*) - "
         "W*.(s - s*), and s is within sum_c |share(c) - pi(c)| A of the mean of a plan of the long run", "analytic",
         (Nonnegative(p**2 / x - p**2 / y + (p / y) ** 2 * (x - y),
                      (region(at_least("x", y), positive("y"), positive("weight")),
                       region(at_least("y", x), positive("x"), positive("weight")))),
          Identity(price * (x - y), price * (here - y) + price * (x - here)),
          *(Nonnegative(epsilon * A + sign * d * r,
                        (region(interval("way", -epsilon, epsilon), _r_part, _A, positive("epsilon")),))
            for sign in (1, -1))),
         printed=False, rests_on=("flics.limit.shares", "flics.limit.first_order")),
)  # fmt: skip

LIMIT = (
    same("flics.limit.objective", "before (12)", "read so, sigma_T of the policy is the value of (5) in round T, which "
         "is (8) at its rates", [(p**2 / (((t - 1) * hat + r) / t), t * p**2 / ((t - 1) * hat + r))], printed=False,
         rests_on=("flics.3.mean",)),
    same("flics.limit.participation", "repaired", "f(s^(T)) -> f(s*) gives s^(T) -> s*: of what f has above its "
         "tangent every group's part is >= 0",
         [(p**2 / x - p**2 / y + p**2 * (x - y) / y**2, p**2 * (x - y) ** 2 / (x * y**2))],
         printed=False, rests_on=("flics.limit.above", "flics.limit.below")),
    nonnegative_step("flics.limit.near", _r, "so s* is the long-term participation, which is r_min or more: "
                     "some plan of T rounds that r_min allows has its mean within d of s*, d tends to 0, and f there "
                     "is at most f(s*) + sum_j 2 p_j^2 d/s*_j^2",
                     2 * p**2 * d / s**2 - (p**2 / (s - d) - p**2 / s),
                     region(interval("way", 0, s / 2), positive("share"), positive("weight")),
                     printed=False,
                     rests_on=("flics.limit.shares", "flics.limit.participation", "flics.limit.hindsight",
                               "flics.limit.hoffman")),
    # x the policy's value, y the best one; d bounds how far either is from f(s*)
    Step("flics.limit.end", _r, "|f(s^(T)) - (the best in hindsight)| is at most the sum of their distances from f(s*)",
         "analytic",
         tuple(Nonnegative(epsilon + d + sign * (x - y),
                           (region(interval("x", f - epsilon, f + epsilon), interval("y", f - d, f + d),
                                   positive("objective"), positive("epsilon"), positive("way")),)) for sign in (1, -1)),
         printed=False,
         rests_on=("flics.limit.objective", "flics.limit.above", "flics.limit.below", "flics.limit.near")),
)  # fmt: skip

ALL = (*MODEL, *POLICY, *BLOCK, *HINDSIGHT, *LIMIT)
