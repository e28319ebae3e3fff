"""Section 3 and the first part of appendix A, display by display.

N = M n samples, k = (M - m) n are left out, p = P(x_2) = 4 epsilon; s is how often x_2 comes up. For the bounds on
excess risk a = log(|H|/delta)/n, and for a pair X = 1[h* errs] - 1[h errs] on one sample.
"""

from __future__ import annotations

import sympy

from ....assumptions import ONE_TARGET, POSITIVELY_RELATED, SERVER_OF_TARGET, SOURCE_NOISE, TARGET_NOISE
from ....proof.symbol_regions import at_least, capped, count, interval, nonnegative, positive, region
from ....proof.steps import Identity, Step
from ....proof.write import given, nonnegative_step, same

M, m, n, epsilon, share, pi, k, u = sympy.symbols("M m n epsilon share pi k u")
first, second, third = sympy.symbols("first second third")
alpha, nu, a, a_2, e_0, e_P, e_Q, e_D, gap = sympy.symbols("alpha nu a a_2 e_0 e_P e_Q e_D gap")
width_P, width_Q, distance = sympy.symbols("width_P width_Q distance")
x, y, S, e, t, beta = sympy.symbols("x y S e t beta")

one, half = sympy.Integer(1), sympy.Rational(1, 2)
third_of, three_20 = sympy.Rational(1, 3), sympy.Rational(3, 20)
_omega = m / M

IMPOSSIBILITY = (
    given("learn.two_points", "proof of Theorem 1", "P has two points, x_2 with probability 4 epsilon = (1 - omega)/2; "
          "as many of the m n samples as possible are x_1, so that all are if s <= k = (M - m) n"),
    same("learn.mean", "before (2)", "E s = 4 epsilon M n is half of (1 - omega) M n = (M - m) n; the epsilon printed "
         "for the binomial law is to be 4 epsilon",
         [(4 * (1 - _omega) / 8 * M * n, (M - m) * n / 2), ((1 - _omega) * M * n, (M - m) * n)],
         rests_on=("learn.two_points",)),
    given("learn.chernoff", "before (2)", "Chernoff: a binomial number with mean mu is at least 2 mu with probability "
          "at most e^(-mu/3)"),
    given("learn.exponential", "before (2)", "e^x >= 1 + x + x^2/2 for x >= 0"),
    nonnegative_step("learn.exponent", "before (2)", "k >= 1, so that e^(-k/6) <= e^(-1/6)", k / 6 - one / 6,
                     region(count("k"))),
    nonnegative_step("learn.tail", "before (2)", "e^(-1/6) <= 17/20, as 1 + 1/6 + 1/72 >= 20/17",
                     1 + one / 6 + one / 72 - sympy.Rational(20, 17), region(count("k")),
                     rests_on=("learn.mean", "learn.chernoff", "learn.exponential", "learn.exponent")),
    # as printed, R(h_s, f) does not depend on f: both errors are those under f_1
    same("learn.2", "before (2)", "R(h_s, f_1) + R(h_s, f_2) with R(h_s, f) = P[L != f_1, x != x_1], for f_1 and f_2: "
         "the two add up to 4 epsilon", [(third * 4 * epsilon + third * 4 * epsilon, 4 * epsilon)], expected="gap",
         why="the second is meant to be against f_2", repaired_by=("learn.4",)),
    # first = 1[L(x_1) != f_1(x_1)], second = 1[L(x_1) != f_2(x_2)], as printed
    same("learn.3", "(3)", "the errors under f_1 and f_2 add up to 4 epsilon, by indicators at x_1",
         [(first * 4 * epsilon + second * (1 - 4 * epsilon), 4 * epsilon)], expected="gap",
         why="what is meant are both indicators at x_2, with P(x_2)", repaired_by=("learn.4",)),
    # third = 1[L(x_2) != f_1(x_2)]; labels are two, so L errs on x_2 under exactly one target
    same("learn.4", "(4)", "where x_2 is hidden the data are the same under both targets, and a hypothesis errs on x_2 "
         "under exactly one of them", [(third * 4 * epsilon + (1 - third) * 4 * epsilon, 4 * epsilon)],
         kind="probabilistic", printed=False, rests_on=("learn.two_points",)),
    Step("learn.half", "after (4)", "so under one of the targets the mean error where x_2 is hidden is at least 2 "
         "epsilon", "probabilistic", (Identity(4 * epsilon / 2, 2 * epsilon),), rests_on=("learn.3",)),
    same("learn.8", "(5) to (8)", "2 epsilon <= 4 epsilon pi + epsilon (1 - pi) says pi >= 1/3",
         [(4 * epsilon * pi + epsilon * (1 - pi) - 2 * epsilon, 3 * epsilon * (pi - third_of))],
         rests_on=("learn.half",)),
    same("learn.11", "(9) to (11)", "the probability is at least 1/3 (1 - 17/20) = 1/20",
         [(third_of * (1 - sympy.Rational(17, 20)), sympy.Rational(1, 20))], rests_on=("learn.8", "learn.tail")),
    # What holds
    same("learn.sharp.values", "sharpened", "errors are 0 or 4 epsilon, so 2 epsilon <= 4 epsilon pi, pi >= 1/2",
         [(4 * epsilon * pi - 2 * epsilon, 4 * epsilon * (pi - half))], printed=False,
         rests_on=("learn.4",)),
    given("learn.cantelli", "sharpened", "Cantelli: a random number exceeds its mean by t or more with probability at "
          "most v/(v + t^2), for any v that is at least its variance"),
    # s >= k + 1 exceeds k/2 by u + 1, u = k/2, which bounds the variance too
    same("learn.sharp.tail", "sharpened", "with u = k/2: 1/5 - u/(u + (u + 1)^2) is a square over a number > 0",
         [(one / 5 - u / (u + (u + 1) ** 2), (u - 1) ** 2 / (5 * (u + (u + 1) ** 2)))], printed=False,
         rests_on=("learn.mean", "learn.cantelli")),
    same("learn.sharp.any", "sharpened", "so the error is 4 epsilon with probability at least 1/2 (1 - 1/5) = 2/5",
         [(half * (1 - one / 5), sympy.Rational(2, 5))], printed=False,
         rests_on=("learn.sharp.values", "learn.sharp.tail")),
    Step("learn.sharp.functions", "sharpened", "a function of the data has one value where x_2 is hidden, since the "
         "data are x_1 with its label m n times; so under one target it errs there each time: 1 - 1/5 = 4/5",
         "probabilistic", (Identity(1 - one / 5, sympy.Rational(4, 5)),), printed=False,
         rests_on=("learn.4", "learn.sharp.tail")),
)  # fmt: skip

EXAMPLE = (
    given("learn.uniform", "after Assumption 2", "the excess risk of a threshold is the probability of what lies "
          "between it and t*; for t in [a', b'] that is |t - t*| over the width, under P and under Q"),
    same("learn.uniform_p", "after Assumption 2", "for t in [a', b']: e_P = e_Q (b'-a')/(b-a)",
         [(distance / width_P, distance / width_Q * width_Q / width_P)], rests_on=("learn.uniform",)),
    nonnegative_step("learn.example", "after Assumption 2", "so e_Q - e_P = (1 - (b'-a')/(b-a)) e_Q >= 0",
                     (1 - width_Q / width_P) * e_Q,
                     region(capped("width_Q", width_P), positive("width_P"), nonnegative("e_Q")),
                     rests_on=("learn.uniform_p",)),
    given("learn.target", "section 3.2", "the server's samples T are of P", assumes=(SERVER_OF_TARGET,)),
    given("learn.mixture", "section 3.2", "with one target e_Q = lambda_1 e_D + lambda_2 e_P, lambda_2 = 1 - lambda_1",
          printed=False, assumes=(ONE_TARGET,)),
    # alpha (1 - lambda_1) >= lambda_1, as lambda_1 = alpha/(1 + alpha) u
    nonnegative_step("learn.mixture.above", "section 3.2", "e_P - e_Q <= alpha e_Q where alpha lambda_2 >= lambda_1",
                     alpha * (share * e_D + (1 - share) * e_P) - (e_P - (share * e_D + (1 - share) * e_P)),
                     region(interval("share", 0, alpha / (1 + alpha)), nonnegative("alpha"), nonnegative("e_D"),
                            nonnegative("e_P")), printed=False, rests_on=("learn.mixture", "learn.target")),
    nonnegative_step("learn.mixture.below", "section 3.2", "e_Q - e_P <= alpha e_Q where alpha >= 1",
                     alpha * e_Q - (e_Q - e_P),
                     region(at_least("alpha", one), nonnegative("e_Q"), nonnegative("e_P")), printed=False,
                     rests_on=("learn.mixture",)),
)  # fmt: skip

_bernstein = "log E e^(s(X - E X)) <= E X^2 (e^s - s - 1) for X <= 1; so a mean of n independent such numbers exceeds "
TRANSFER = (
    given("learn.related", "Assumption 2", "|e_P(h) - e_Q(h)| <= alpha e_Q(h)^beta, called gap here",
          assumes=(POSITIVELY_RELATED,)),
    # what is added and taken away between (12) and (13)
    same("learn.13", "(12), (13)", "e_P = (e_P - e_Q) + e_Q", [((e_P - e_Q) + e_Q, e_P)]),
    nonnegative_step("learn.15", "(14), (15)", "e_P <= |e_P - e_Q| + e_Q <= gap + e_Q", gap + e_Q - e_P,
                     region(capped("e_P", e_Q + gap), nonnegative("gap"), positive("e_Q")),
                     rests_on=("learn.13", "learn.related")),
    given("learn.bernstein", "Lemma 1", f"{_bernstein}its mean by sqrt(2 v a) + a/3 with probability at most e^(-n a), "
          "v >= the mean of the E X^2", printed=False),
    given("learn.noise_q", "Assumption 1", "E X^2 = Q(h != h_Q*) <= alpha_Q e_Q(h), beta_Q = 1", printed=False,
          assumes=(SOURCE_NOISE,)),
    given("learn.noise_p", "Assumption 1", "E X^2 = P(h != h_P*) <= alpha_P e_P(h), beta_P = 1", printed=False,
          assumes=(TARGET_NOISE,)),
    # e <= sqrt(2 nu a e) + a/3, with sqrt(2 nu a e) = x y, x^2 = 2 nu a, y^2 = e
    same("learn.massart.root", "with constants", "sqrt(2 nu a e) <= e/2 + nu a, as (x - y)^2 >= 0",
         [(y**2 / 2 + x**2 / 2 - x * y, (x - y) ** 2 / 2)], printed=False),
    same("learn.massart.excess", "with constants", "a minimiser has e_Q <= sqrt(2 nu a e_Q) + a/3, so e_Q <= 2 nu a + "
         "2a/3 with probability 1 - delta", [(2 * (nu * a + a / 3), 2 * nu * a + 2 * a / 3)], printed=False,
         kind="probabilistic", rests_on=("learn.bernstein", "learn.noise_q", "learn.massart.root")),
    same("learn.massart.2", "Theorem 2, with constants", "at beta = 1: e_P <= (1 + alpha) e_Q",
         [((1 + alpha) * (2 * nu * a + 2 * a / 3), (1 + alpha) * (2 * nu + sympy.Rational(2, 3)) * a)], printed=False,
         rests_on=("learn.massart.excess", "learn.15")),
    # P^ <= P + sqrt(2 P a_2) + a_2/3, with P = x^2, a_2/2 = y^2
    Step("learn.frequency", "(17), with constants", "sqrt(2 P a) <= P + a/2, as (x - y)^2 >= 0, P = x^2, a/2 = y^2: "
         "for all pairs P^ <= 2 P + 5a/6 with probability 1 - delta", "probabilistic",
         (Identity(x**2 + y**2 - 2 * x * y, (x - y) ** 2), Identity(a_2 / 2 + a_2 / 3, 5 * a_2 / 6)), printed=False,
         rests_on=("learn.bernstein",)),
    # u = R^(h_Q*) - R^(h^) >= 0 on T
    nonnegative_step("learn.22", "(22)", "h^ has no more errors on T than h_Q*, of which the same is taken away", u,
                     region(nonnegative("u"))),
    # (24) turns sqrt(P(h_Q* != h_P*) A) into O(A): at P = 1 it is sqrt(A)
    nonnegative_step("learn.24", "(24)", "sqrt(P(h_Q* != h_P*) A) = O(A): with A = x^2 and P = 1, x <= x^2",
                     x**2 - x, region(positive("x")), expected="gap",
                     why="it holds if P(h_Q* != h_P*) = O(A), as under noise exponent 1; else it is A^((1+beta_P)/2)",
                     repaired_by=("learn.massart.3",)),
    same("learn.21_exponent", "after (21)", "A^((1 + beta)/2) is at most A^(1/(2 - beta)) for A <= 1: "
         "(1 + beta)(2 - beta) - 2 = beta (1 - beta) >= 0", [((1 + u) * (2 - u) - 2, u * (1 - u))], printed=False),
    # e - e_0 <= sqrt(2 nu (e + e_0) a) + a/3 <= (e + e_0)/2 + nu a + a/3
    same("learn.massart.3", "Theorem 3, with constants", "h^ has no more errors on T than h_Q*, and P(h^ != h_Q*) <= "
         "nu (e + e_0): e <= e_0 + sqrt(2 nu (e + e_0) a) + a/3, so e <= 3 e_0 + 2 nu a + 2a/3",
         [(2 * (e_0 + e_0 / 2 + nu * a + a / 3), 3 * e_0 + (2 * nu + sympy.Rational(2, 3)) * a)], printed=False,
         kind="probabilistic", rests_on=("learn.bernstein", "learn.target", "learn.noise_p", "learn.massart.root")),
    Step("learn.21", "(19) to (21)", "so the excess risk is O(A(n_T, delta)^(1/(2 - beta_P)))", "lemma",
         rests_on=("learn.24", "learn.21_exponent")),
)  # fmt: skip

# Rates over the number of samples n_T + n_S; exponents are those of Theorem 2
RATES = (
    given("learn.first_power", "after Theorem 2", "x^r decreases in r for 0 < x <= 1"),
    nonnegative_step("learn.first", "after Theorem 2", "beta/(2 - beta_Q) >= 1/(2 - beta_Q) for beta >= 1",
                     beta / (2 - u) - 1 / (2 - u), region(at_least("beta", one), interval("u")),
                     rests_on=("learn.first_power",)),
    # at beta = 1/2, beta_Q = 1, squared
    nonnegative_step("learn.improvement", "after Theorem 2", "(n_T + n_S)^beta >= n_T for 0 < beta < 1 and n_S >> n_T; "
                     "for beta = 1/2 and n_S = 1000 n_T: 1001 n_T >= n_T^2", 1001 * n - n**2, region(count("n")),
                     expected="gap", why="it holds if n_T + n_S >= n_T^(1/beta)"),
)  # fmt: skip

# Any exponents: S plays s e^(b/2), s^2 = 2 nu a (or 4 nu a), t = a/3 (or e_0 + a/3)
GENERAL = (
    given("learn.power", "with constants", "x^r increases in x for r > 0, so that e^(1-b/2) <= 2s says "
          "e <= (4 s^2)^(1/(2-b))", printed=False),
    given("learn.general.noise_q", "Assumption 1", "E X^2 = Q(h != h_Q*) <= alpha_Q e_Q(h)^beta_Q", printed=False,
          assumes=(SOURCE_NOISE,)),
    given("learn.general.noise_p", "Assumption 1", "E X^2 = P(h != h_P*) <= alpha_P e_P(h)^beta_P", printed=False,
          assumes=(TARGET_NOISE,)),
    nonnegative_step("learn.general.solved", "with constants", "e <= S + t, S = s e^(b/2), gives e <= 2t, or t <= e/2 "
                     "and so e <= 2S, that is e^(1-b/2) <= 2s", 2 * S - e,
                     region(at_least("S", e - t), capped("t", e / 2), positive("e")), printed=False,
                     rests_on=("learn.power",)),
    same("learn.general.excess", "with constants", "a minimiser has e_Q <= s e_Q^(beta_Q/2) + a/3, s^2 = 2 alpha_Q a, "
         "so e_Q <= (8 alpha_Q a)^(1/(2-beta_Q)) + 2a/3 with probability 1 - delta",
         [(4 * (2 * nu * a), 8 * nu * a), (2 * (a / 3), 2 * a / 3)], printed=False, kind="probabilistic",
         rests_on=("learn.bernstein", "learn.general.noise_q", "learn.general.solved")),
    Step("learn.general.2", "Theorem 2, with constants", "e_Q + alpha e_Q^beta increases in e_Q", "lemma",
         printed=False, rests_on=("learn.general.excess", "learn.15", "learn.power")),
    Step("learn.general.lemma_2", "Lemma 2, with constants", "h^ has no more errors on T than h_Q*, and X for h_Q* and "
         "h_P* has E X^2 <= alpha_P e_0^beta_P", "lemma", printed=False,
         rests_on=("learn.bernstein", "learn.target", "learn.general.noise_p")),
    # for e >= e_0, as e <= e_0 is less than 2 e_0
    same("learn.general.3", "Theorem 3, with constants", "P(h^ != h_Q*) <= alpha_P (e^beta_P + e_0^beta_P) <= 2 "
         "alpha_P e^beta_P for e >= e_0: e <= s e^(beta_P/2) + e_0 + a/3 with s^2 = 4 alpha_P a",
         [(4 * (4 * nu * a), 16 * nu * a), (2 * (e_0 + a / 3), 2 * e_0 + 2 * a / 3)], printed=False,
         kind="probabilistic",
         rests_on=("learn.bernstein", "learn.target", "learn.general.noise_p", "learn.general.solved")),
)  # fmt: skip

ALL = (*IMPOSSIBILITY, *EXAMPLE, *TRANSFER, *RATES, *GENERAL)
