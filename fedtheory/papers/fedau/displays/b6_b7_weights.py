"""The displays (B.6.7) to (B.6.9) and appendix B.7: the error of FedAU's weights, in a round and in the mean.

M intervals have ended before round t. a = q^K, b = q^t and logarithms are numbers of their own: log_T = log T, log_2 =
log 2, rate = -log(1 - min p_n), so that R = 1/(2 rate) and K = ceil(R log T).
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import at_least, capped, count, equal, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same
from .b6_intervals import MEAN, VARIANCE
from .symbols import K, T, gram, half, one, p, q, t

a, b, m, n, first, second = sympy.symbols("a b m n first second")
J, u, log_T, log_2, log_ratio = sympy.symbols("J u log_T log_2 log_ratio")
rate, number, ratio, constant, R = sympy.symbols("rate number ratio constant R")
small, large, smaller, larger = sympy.symbols("small large smaller larger")
x, y = vectors("x y")

_law = region(interval("participation_probability"), interval("a"), count("cutoff"))
SPREAD = sympy.cancel(p**2 * VARIANCE)
"""p^2 Var S = q - (2K - 1) p q^K - q^(2K)."""

EARLY_MOMENT = q - b * (q + p**2 * t**2)
"""E[(p S - 1)^2; S <= t] for t < K."""

_one_round = {K: 2, a: q**2}
"""A cutoff of 2 and a history of one round: whoever came has omega = 1, with the error q^2; so has who did not."""


def _square_of_mean(size: sympy.Expr) -> sympy.Expr:
    """E[(mean of X_1..X_size)^2; M = n]."""
    return ((norm2(x) + norm2(y)) / 2 + (size - 1) * dot(x, y)) / size


# One round ------------------------------------------------------------------------------------------------------------

ROUND = (
    given("fedau.ended", "Algorithm 2", "M = n says S_1 + ... + S_n <= t < S_1 + ... + S_(n+1), whatever the order of "
          "S_1, ..., S_n is; omega_t is their mean, or 1 if n = 0. So for X_i = S_i - E S, or p S_i - 1, E[X_i; M = n] "
          "and E[X_i^2; M = n] are the same for all i <= n, and E[X_i X_j; M = n] for all i < j <= n"),
    nonnegative_step("fedau.B.6.7", "(B.6.7)", "omega = 1 until an interval has ended: (p - 1)^2 <= 1",
                     1 - (p - 1) ** 2, region(interval("participation_probability")), rests_on=("fedau.ended",)),
    # x, y: two of the X_i where M = n
    gram("fedau.ended_square", "(B.6.8)", "for m <= n the mean of X_1..X_n has on M = n a square no larger than that "
         "of X_1..X_m", _square_of_mean(m) - _square_of_mean(n), where=region(at_least("n", m), count("m")),
         printed=False, kind="probabilistic", rests_on=("fedau.ended",)),
    same("fedau.ended_mean", "(B.6.8)", "and the same mean", [(n * first / n, m * first / m)], printed=False,
         kind="probabilistic", rests_on=("fedau.ended",)),
    # floor(t/K) = m says m K <= t <= m K + K - 1
    Step("fedau.late_intervals", "(B.6.8)", "floor(t/K) intervals have always ended, as none is longer than K; from t "
         "= K on that is at least 1, and at least t/(2K)", "polynomial",
         (Nonnegative(t - m * K, (region(at_least("history", m * K), count("m"), count("cutoff")),)),
          Nonnegative(m - t / (2 * K),
                      (region(interval("history", m * K, m * K + K - 1), count("m"), count("cutoff")),))),
         rests_on=("fedau.law",)),
    Step("fedau.late_mean", "(B.6.8)", "so for t >= K: E omega_t = E S", "lemma", printed=False,
         rests_on=("fedau.ended_mean", "fedau.late_intervals")),
    # first = E X of the weight, second = E X^2
    gram("fedau.late_a", "(B.6.8), (a)", "for t >= K: E(p omega - 1)^2 = p^2 E(omega - E S)^2 + q^(2K)",
         p**2 * second + a**2 - (p**2 * second + 2 * p * (p * MEAN - 1) * first + (p * MEAN - 1) ** 2),
         zero=((first, 2 * p * a),), where=region(interval("participation_probability"), interval("a")), printed=False,
         kind="probabilistic", rests_on=("fedau.late_mean", "fedau.mean")),
    # m independent X_i: the mean's square is m Var/m^2
    same("fedau.late_b", "(B.6.8), (b)", "for t >= K: E(omega - E S)^2 <= Var S/floor(t/K)",
         [(m * second / m**2, second / m)], printed=False, kind="probabilistic",
         rests_on=("fedau.ended_square", "fedau.late_intervals", "fedau.weighted.orthogonal", "fedau.law")),
    nonnegative_step("fedau.late_b_next", "(B.6.8), after (b)", "for t >= K: 1/floor(t/K) <= 2K/t", 2 * K / t - 1 / m,
                     region(interval("history", m * K, m * K + K - 1), count("m"), count("cutoff")), printed=False,
                     rests_on=("fedau.late_b", "fedau.late_intervals")),
    nonnegative_step("fedau.B.6.8_c", "(B.6.8), (c)", "Var S <= q/p^2", q - SPREAD, _law, rests_on=("fedau.variance",)),
    Step("fedau.late", "(B.6.8)", "so for t >= K the error is at most p^2 Var S/floor(t/K) + q^(2K) <= 2Kq/t + q^(2K)",
         "lemma", printed=False, rests_on=("fedau.late_a", "fedau.late_b", "fedau.late_b_next", "fedau.B.6.8_c")),
)  # fmt: skip

EARLY = (
    # below the cutoff an interval that has ended ended with a participation; b = q^t
    Step("fedau.early_moment", "(B.6.8)", "E[(p S - 1)^2; S <= t] = q - q^t (q + p^2 t^2) for t < K, by induction",
         "induction",
         (Identity(EARLY_MOMENT.subs({t: 0, b: 1})),
          Identity(EARLY_MOMENT.subs({t: t + 1, b: b * q}, simultaneous=True) - EARLY_MOMENT,
                   p * b * (p * (t + 1) - 1) ** 2)), printed=False, rests_on=("fedau.law",)),
    nonnegative_step("fedau.early_given", "(B.6.8)", "for t < K the error, given that an interval has ended, is at "
                     "most q: E[(p omega - 1)^2; M >= 1] <= E[(p S_1 - 1)^2; S_1 <= t] <= q (1 - q^t)",
                     q * (1 - b) - EARLY_MOMENT,
                     region(interval("participation_probability"), interval("b"), count("history", 0)), printed=False,
                     kind="probabilistic", rests_on=("fedau.early_moment", "fedau.ended_square")),
    nonnegative_step("fedau.early_all", "(B.6.8)", "and so it is without that condition: P(M = 0) = q^t, omega = 1",
                     q - (EARLY_MOMENT + b * (p - 1) ** 2),
                     region(interval("participation_probability"), interval("b"), count("history", 0)), printed=False,
                     kind="probabilistic", rests_on=("fedau.early_moment", "fedau.ended_square", "fedau.ended")),
    nonnegative_step("fedau.early", "(B.6.8)", "for 1 <= t < K: q <= 2Kq/t + q^(2K)", 2 * K * q / t + a**2 - q,
                     region(at_least("cutoff", t), interval("participation_probability"), interval("a"),
                            count("history")), printed=False, rests_on=("fedau.early_given", "fedau.early_all")),
    nonnegative_step("fedau.every_round", "(B.6.7)", "in every round, from t = 0 on, the error is at most q: for t >= "
                     "K it is at most p^2 Var S + q^(2K) = q - (2K - 1) p q^K", q - (SPREAD + a**2), _law,
                     printed=False,
                     rests_on=("fedau.early_all", "fedau.late_a", "fedau.late_b", "fedau.variance")),
)  # fmt: skip

_chance = region(interval("participation_probability"))
LINES = (
    nonnegative_step("fedau.B.6.8_a", "(B.6.8), (a)", "the mean of omega_t is E S in every round in which an interval "
                     "has ended, so that the error is p^2 E(omega - E S)^2 + q^(2K); for K = 2, t = 1: q^2 <= p^2 q^2 "
                     "+ q^4",
                     (p**2 * (1 - MEAN) ** 2 + a**2).subs(_one_round) - q**2, _chance, expected="gap",
                     why="an interval that has ended within t < K rounds is one of at most t",
                     repaired_by=("fedau.late_a", "fedau.early")),
    nonnegative_step("fedau.B.6.8_b", "(B.6.8), (b)", "the error is at most p^2 Var S/max(floor(t/K), 1) + q^(2K); for "
                     "K = 2, t = 1: q^2 <= p^2 Var S + q^4", (SPREAD + a**2).subs(_one_round) - q**2, _chance,
                     expected="gap", why="the mean of at least floor(t/K) intervals, but of short ones",
                     repaired_by=("fedau.late_b", "fedau.early")),
    nonnegative_step("fedau.B.6.8_b_next", "(B.6.8), after (b)", "the error is at most p^2 2K Var S/t + q^(2K); for K "
                     "= 2, t = 1: q^2 <= 4 p^2 Var S + q^4", (2 * K * SPREAD + a**2).subs(_one_round) - q**2, _chance,
                     expected="gap", repaired_by=("fedau.late_b_next", "fedau.early")),
    Step("fedau.B.6.8", "(B.6.8), its last line", "2Kq/t + q^(2K) bounds the error in every round t >= 1, also given "
         "that an interval has ended", "lemma", rests_on=("fedau.B.6.8_a", "fedau.B.6.8_b", "fedau.B.6.8_b_next",
                                                          "fedau.late", "fedau.early")),
)  # fmt: skip

# All rounds -----------------------------------------------------------------------------------------------------------

_total = region(count("cutoff"), count("rounds"), interval("participation_probability"), interval("a"),
                nonnegative("log_T"), nonnegative("number"), nonnegative("log_ratio"))  # fmt: skip
_blocks = region(count("J", 2), interval("u"))
_first_69 = K + (T - 1) * a**2 + 2 * K * q * number
_second_69 = (K + 2 * K * q * (log_T + 1)) / T + a**2
_third_69 = (3 * K + 2 * K * log_T) / T + a**2

MEAN_ERROR = (
    # number plays the sum of 1/t over t < T
    nonnegative_step("fedau.B.6.9_sum", "(B.6.9), its first line", "1 <= K for t = 0, and the last line of (B.6.8)",
                     _first_69 - (1 + (T - 1) * a**2 + 2 * K * q * number), _total,
                     rests_on=("fedau.B.6.7", "fedau.B.6.8", "fedau.rounds.sum")),
    # log(n + 1) - log n = -log(n/(n + 1)) >= 1 - n/(n + 1)
    Step("fedau.harmonic", "after (B.6.9)", "the sum of 1/t over t <= n is at most log n + 1, by induction from 1 <= "
         "1; so over t < T at most log T + 1", "induction",
         (Identity(1 - n / (n + 1), 1 / (n + 1)),), rests_on=("fedau.log",)),
    nonnegative_step("fedau.B.6.9_second", "(B.6.9), its second line", "(T - 1)/T <= 1, and the sum of 1/t",
                     _second_69 - (K + (T - 1) * a**2 + 2 * K * q * (log_T + 1)) / T, _total,
                     rests_on=("fedau.B.6.9_sum", "fedau.harmonic")),
    nonnegative_step("fedau.B.6.9", "(B.6.9), its last line", "q <= 1", _third_69 - _second_69, _total,
                     rests_on=("fedau.B.6.9_second",)),
    Step("fedau.thm3", "(7)", "averaged over the clients", "lemma", rests_on=("fedau.B.6.9", "fedau.rounds.sum")),
    nonnegative_step("fedau.thm3_rate", "(7)", "from T = 2 on 3K/T <= (3/log 2) K log T/T",
                     3 / log_2 * K * log_T / T - 3 * K / T,
                     region(at_least("log_T", log_2), positive("log_2"), count("cutoff"), count("rounds")),
                     rests_on=("fedau.thm3", "fedau.log_2")),
    # T = K (J + u), 0 <= u < 1
    Step("fedau.sharp.blocks", "sharpened", "the sum of 1/floor(t/K) over K <= t < T is K (sum of 1/j over j < J) + K "
         "u/J, at most K (1 + log(T/K)): for J >= 2 as log(J + u) - log(J - 1) >= (1 + u)/(J + u) >= u/J, for J = 1 as "
         "u <= 1", "polynomial",
         (Identity(1 - (J - 1) / (J + u), (1 + u) / (J + u)), Nonnegative((1 + u) / (J + u) - u / J, (_blocks,)),
          Nonnegative(1 - u, (_blocks,))), printed=False, rests_on=("fedau.harmonic", "fedau.log")),
    nonnegative_step("fedau.sharp.sum", "sharpened", "q in the K rounds t < K, q/floor(t/K) + q^(2K) after them",
                     q * K * (2 + log_ratio) / T + a**2 - (K * q + q * K * (1 + log_ratio) + (T - K) * a**2) / T,
                     _total, printed=False,
                     rests_on=("fedau.every_round", "fedau.late", "fedau.B.6.8_c", "fedau.sharp.blocks",
                               "fedau.rounds.sum")),
)  # fmt: skip

# Appendix B.7: number plays R log T, so K <= number + 1 ---------------------------------------------------------------

_long = (at_least("log_T", log_2), at_least("log_2", half), count("rounds"))
_many = region(capped("cutoff", number + 1), at_least("number", one), *_long)
_few = region(at_least("number", T), *_long)
_single = region(at_least("ratio", one), *_long)
_lemma, _sharp = 4 + 7 / log_2, 2 + 5 / log_2


def _single_client_round(factor: sympy.Expr) -> sympy.Expr:
    """Multiply out 1/c <= factor log_T^2/(log c T) for K = 1, with T <= c = ratio T and log c <= log T + ratio - 1."""
    return factor * log_T**2 * ratio - (log_T + ratio - 1)


CUTOFF = (
    Step("fedau.log_2", "used for (7), (B.7.1)", "log 2 >= 1/2, as log(1/2) <= 1/2 - 1", "analytic",
         (Identity(half - 1, -half),), printed=False, rests_on=("fedau.log",)),
    Step("fedau.power", "(B.7.2)", "(1 - p_n)^(2K) <= (1 - min p_n)^(2K), by induction over the exponent", "induction",
         (Nonnegative(large * larger - small * smaller,
                      (region(interval("small", 0, large), interval("smaller", 0, larger), nonnegative("large"),
                              nonnegative("larger")),)),)),
    nonnegative_step("fedau.B.7.2_cutoff", "(B.7.2)", "K >= log T/(2 rate) gives 2K rate >= log T, (1 - p)^(2K) <= 1/T",
                     2 * K * rate - log_T,
                     region(at_least("cutoff", log_T / (2 * rate)), positive("rate"), nonnegative("log_T")),
                     rests_on=("fedau.power",)),
    nonnegative_step("fedau.B.7.2", "(B.7.2)", "1/T <= (log T/log 2)^2/T for T >= 2", (log_T / log_2) ** 2 / T - 1 / T,
                     region(*_long), rests_on=("fedau.B.7.2_cutoff", "fedau.log_2")),
    nonnegative_step("fedau.B.7.1_uniform", "after (B.7.2)", "R log^2 T/T + log^2 T/T is O(R log^2 T/T), with one "
                     "constant for all p, so that constant R >= 1 for every R", constant * R - 1,
                     region(equal("R", half / constant), positive("constant")), expected="gap",
                     why="R tends to 0 as p tends to 1; with a constant that depends on p it holds",
                     repaired_by=("fedau.B.7.1_many", "fedau.B.7.1_one")),
    nonnegative_step("fedau.B.7.1_many", "(B.7.1)", "for K >= 2, R log T > 1 and K <= R log T + 1: 3K + 2K log T + 1 "
                     "<= (4 + 7/log 2) R log^2 T", _lemma * number * log_T - (3 * K + 2 * K * log_T + 1), _many,
                     printed=False, rests_on=("fedau.thm3", "fedau.B.7.2_cutoff", "fedau.log_2")),
    nonnegative_step("fedau.B.7.1_one", "(B.7.1)", "for K = 1 all weights are 1, the error is at most (1 - min p_n)^2 "
                     "= 1/c and T <= c: 1/c <= (4 + 7/log 2) R log^2 T/T", _single_client_round(_lemma), _single,
                     printed=False, rests_on=("fedau.log", "fedau.log_2", "fedau.ended")),
    Step("fedau.B.7.1", "(B.7.1)", "so the mean error is at most (4 + 7/log 2) R log^2 T/T", "lemma",
         rests_on=("fedau.B.7.1_uniform", "fedau.B.7.1_many", "fedau.B.7.1_one")),
    nonnegative_step("fedau.B.7.1.sharp_many", "sharpened", "for K >= 2 and T >= K: K (2 + log T) + 1 <= (2 + 5/log 2) "
                     "R log^2 T", _sharp * number * log_T - (K * (2 + log_T) + 1), _many, printed=False,
                     rests_on=("fedau.sharp.sum", "fedau.B.7.2_cutoff", "fedau.log_2")),
    nonnegative_step("fedau.B.7.1.sharp_few", "sharpened", "for K > T: R log T >= K - 1 >= T, and the error is at most "
                     "1",
                     _sharp * number * log_T - T, _few, printed=False, rests_on=("fedau.every_round", "fedau.log_2")),
    nonnegative_step("fedau.B.7.1.sharp_one", "sharpened", "for K = 1 as before: 1/c <= (2 + 5/log 2) R log^2 T/T",
                     _single_client_round(_sharp), _single, printed=False,
                     rests_on=("fedau.log", "fedau.log_2", "fedau.ended")),
)  # fmt: skip

ALL = (*ROUND, *EARLY, *LINES, *MEAN_ERROR, *CUTOFF)
