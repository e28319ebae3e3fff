"""Lemma 1 with every constant, and the bounds of Theorems 2 and 3 for classes of finite Vapnik-Chervonenkis dimension.

For a finite class s^2 is a_2 = log(|H|^2/delta)/n up to a factor, and p^2, q^2 are the probability and the frequency
with which two hypotheses differ.

For dimension d: S is how many labellings of 2n points there are at most, L = (log S + log(4/delta))/n, t^2 = 16 L. For
a set A of samples p^2 = P(A), P the mean of the samples' laws, y is its frequency and x that among n samples more; of
A = {h errs, h* does not} and of B = {h* errs, h does not} there are at most S on 2n points.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import at_least, capped, count, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same

a_2, d, delta, e_0, L, m, n, nu, p, q, r, root2, s, S, t, u, w, x, y, z = sympy.symbols(
    "a_2 d delta e_0 L m n nu p q r root2 s S t u w x y z"
)
one = sympy.Integer(1)


def _ratio(top: int, bottom: int) -> sympy.Rational:
    return sympy.Rational(top, bottom)


_ROOT_2 = capped("root2", _ratio(17, 12))

LEMMA_1 = (
    # (16): all ordered pairs for the risks, all pairs for how often they differ: 3/2 |H| (|H| - 1) events
    given("learn.16.log", "(16), with constants", "log(3/2) <= 2/3 log 2 <= 1/3 log(|H|^2/delta)", printed=False),
    same("learn.16.level", "(16), with constants", "at the level 4 a_2/3 every pair fails with a probability that is "
         "less than 2 delta/(3 |H|^2), since log(|H|^2/delta) + log(3/2) is at most 4/3 of the first",
         [(one + _ratio(1, 3), _ratio(4, 3))], printed=False, kind="probabilistic",
         rests_on=("learn.bernstein", "learn.16.log")),
    Step("learn.16.frequency", "(16), with constants", "P - sqrt(2 P s^2) - s^2/3 <= P^ gives sqrt(P) <= sqrt(P^) + "
         "5s/3: beyond it, p^2 - 17/12 s p - s^2/3 - q^2 > 0", "polynomial",
         (Nonnegative(p**2 - root2 * s * p - s**2 / 3 - q**2,
                      (region(at_least("p", q + _ratio(5, 3) * s), nonnegative("q"), nonnegative("s"), _ROOT_2),)),
          Nonnegative(_ratio(17, 12) ** 2 - 2, (region(nonnegative("q")),))), printed=False,
         rests_on=("learn.16.level",)),
    nonnegative_step("learn.16", "(16), with constants", "so the difference is at most sqrt(2 P^ s^2) + (17/12 5/3 + "
                     "1/3) s^2, and at most sqrt(2 P s^2) + s^2/3: sqrt(min x) + x for x = 97/36 s^2",
                     _ratio(97, 36) * s**2 - (root2 * _ratio(5, 3) + _ratio(1, 3)) * s**2,
                     region(_ROOT_2, nonnegative("s")), printed=False, rests_on=("learn.16.frequency",)),
    same("learn.16.constant", "(16), with constants", "97/36 4/3 = 97/27, and 2 <= 97/36 under the root",
         [(_ratio(97, 36) * _ratio(4, 3) * a_2, 97 * a_2 / 27)], printed=False, rests_on=("learn.16",)),
    Step("learn.17.below", "(17), with constants", "sqrt(2 P a_2) <= P/2 + a_2, as (x - y)^2 >= 0, P = x^2, 2 a_2 = "
         "y^2: for all pairs P/2 - P^ <= 4 a_2/3 with probability 1 - delta", "probabilistic",
         (Identity(x**2 / 2 + y**2 / 2 - x * y, (x - y) ** 2 / 2), Identity(a_2 + a_2 / 3, 4 * a_2 / 3)),
         printed=False, rests_on=("learn.bernstein",)),
    # A below 0: for fewer samples than dimensions
    nonnegative_step("learn.16.printed", "(16), (17), (18)", "d/m log(m/d) >= 0 for all m, that is m/d >= 1", z - 1,
                     region(positive("z")), expected="gap",
                     why="it is below 0 for fewer samples than dimensions; the works that are cited have max(m, d)",
                     repaired_by=("learn.16.constant", "learn.17.below", "learn.general.excess")),
)  # fmt: skip

_ghost = "with probability at least 1/2, by Cantelli's inequality, as the variance is at most P(A)/n"
VC = (
    given("learn.vc.shatter", "with the dimension", "a class of dimension d has at most (e 2n/d)^d labellings of 2n >= "
          "d points (Sauer); A and B are known from those of h, h* being fixed", printed=False),
    given("learn.vc.ghost", "with the dimension", f"of n samples more, x >= P(A) - (t/2) sqrt(P(A)) {_ghost}; and x <= "
          "P(A) + (t/2) sqrt(y) likewise where y >= P(A)", printed=False),
    given("learn.vc.signs", "with the dimension", "given the 2n samples, exchanging the two of a pair changes no law; "
          "a sum of random signs times z_i exceeds u with probability at most e^(-u^2/(2 sum of z_i^2)) (Hoeffding); "
          "here the sum of z_i^2 is at most n (x + y)", printed=False),
    given("learn.vc.log", "with the dimension", "log(4/delta) >= 1 for delta <= 1", printed=False),
    nonnegative_step("learn.vc.half", "with the dimension", "v/(v + (t/2)^2 P) <= 1/2 for v <= P/n, since n t^2 >= 4: "
                     "n t^2 = 16 n L >= 16", 16 * u - 4, region(at_least("u", one)), printed=False,
                     rests_on=("learn.vc.ghost", "learn.vc.log")),
    # y < p^2 - t p, so p >= t; x >= p^2 - t p/2
    nonnegative_step("learn.vc.less", "with the dimension", "y <= P - t sqrt(P), x >= P - (t/2) sqrt(P): (x - y)^2 >= "
                     "t^2/8 (x + y)",
                     (t * p / 2 + u + w) ** 2 - t**2 / 8 * (2 * p**2 - _ratio(3, 2) * t * p + u - w),
                     region(at_least("p", t), nonnegative("t"), nonnegative("u"), nonnegative("w")), printed=False,
                     rests_on=("learn.vc.half",)),
    # y = q^2
    nonnegative_step("learn.vc.more", "with the dimension", "y = q^2 >= P + t q, x <= P + (t/2) q: (y - x)^2 >= t^2/8 "
                     "(x + y)", (t * q / 2 + w) ** 2 - t**2 / 8 * (2 * q**2 - t * q / 2 - w),
                     region(nonnegative("q"), nonnegative("t"), nonnegative("w")), printed=False,
                     rests_on=("learn.vc.half",)),
    same("learn.vc.exponent", "with the dimension", "so a labelling has one of them with probability at most e^(-n "
         "t^2/16)", [((n * z) ** 2 / (2 * n * m), n * z**2 / (2 * m)), (n * (t**2 / 8 * m) / (2 * m), n * t**2 / 16)],
         printed=False, kind="probabilistic", rests_on=("learn.vc.signs", "learn.vc.less", "learn.vc.more")),
    same("learn.vc.union", "with the dimension", "2 2 S e^(-n t^2/16) = delta for n t^2/16 = log(4 S/delta)",
         [(2 * 2 * S * delta / (4 * S), delta), (n * (16 * L) / 16, n * L)], printed=False, kind="probabilistic",
         rests_on=("learn.vc.exponent",)),
    nonnegative_step("learn.vc.few", "with the dimension", "for 2n <= d a bound of 32 d/n says nothing", 32 * d / n - 1,
                     region(at_least("d", 2 * n), count("n")), printed=False, rests_on=("learn.vc.shatter",)),
    # P^(B) = q^2 <= r^2 + 4 s q, P(B) = r^2, s^2 = L
    nonnegative_step("learn.vc.root", "with the dimension", "sqrt(P^(B)) <= sqrt(P(B)) + 4 sqrt(L): beyond it, q^2 - 4 "
                     "s q - r^2 > 0", q**2 - 4 * s * q - r**2,
                     region(at_least("q", r + 4 * s), nonnegative("r"), nonnegative("s")), printed=False,
                     rests_on=("learn.vc.union",)),
    nonnegative_step("learn.vc.difference", "with the dimension", "P(A) <= P^(A) + 4 sqrt(P(A) L), P^(A) <= P^(B), so "
                     "P(A) - P(B) <= 4 s (p + q) <= 4 s (p + r) + 16 L", 4 * s * (p + r) + 16 * s**2 - 4 * s * (p + q),
                     region(capped("q", r + 4 * s), nonnegative("r"), nonnegative("s"), nonnegative("p")),
                     printed=False, rests_on=("learn.vc.root",)),
    same("learn.vc.sum", "with the dimension", "(p + r)^2 <= 2 (p^2 + r^2), so 4 s (p + r) <= sqrt(32 L P(h != h*))",
         [(2 * (p**2 + r**2) - (p + r) ** 2, (p - r) ** 2), (16 * s**2 * 2 * (p**2 + r**2), 32 * s**2 * (p**2 + r**2))],
         printed=False, rests_on=("learn.vc.difference",)),
    same("learn.vc.excess", "with the dimension", "a minimiser has e_Q <= S e_Q^(beta_Q/2) + 16 L, S^2 = 32 alpha_Q L, "
         "so e_Q <= (128 alpha_Q L)^(1/(2-beta_Q)) + 32 L with probability 1 - delta",
         [(4 * (32 * nu * L), 128 * nu * L), (2 * (16 * L), 32 * L)], printed=False, kind="probabilistic",
         rests_on=("learn.vc.sum", "learn.vc.few", "learn.general.noise_q", "learn.general.solved")),
    Step("learn.vc.2", "Theorem 2, with the dimension", "e_Q + alpha e_Q^beta increases in e_Q", "lemma", printed=False,
         rests_on=("learn.vc.excess", "learn.15", "learn.power")),
    # for e >= e_0, as e <= e_0 is less than 2 e_0; h_Q* in the place of h*
    same("learn.vc.3", "Theorem 3, with the dimension", "h^ has no more errors on T than h_Q*, and P(h^ != h_Q*) <= 2 "
         "alpha_P e^beta_P for e >= e_0: e <= S e^(beta_P/2) + e_0 + 16 L with S^2 = 64 alpha_P L",
         [(4 * (32 * (2 * nu) * L), 256 * nu * L), (2 * (e_0 + 16 * L), 2 * e_0 + 32 * L)], printed=False,
         kind="probabilistic",
         rests_on=("learn.vc.sum", "learn.vc.few", "learn.target", "learn.general.noise_p", "learn.general.solved")),
)  # fmt: skip
