"""The displays of appendices B.4 and B.5, (B.4.1) to (B.5.5), and what holds without a step that depends on the run.

g = grad h(x_t) in B.4 and grad f(x_t) in B.5; fall = E h(x_t) - E h(x_{t+1}), or of f; E, Q as in ``b1_b3_rounds``.
"""

from __future__ import annotations

import sympy

from ....proof.gram import norm2, vectors
from ....proof.symbol_regions import capped, count, interval, positive, region
from ....proof.steps import Step
from ....proof.write import nonnegative_step, same
from .symbols import (
    CAP, FIXED, E, F, G, I, L, N, Q, T, bracket, c, d, delta, eta, gamma, gram, one, quarter, setting, share, sigma,
    vectors_check, w, z,
)  # fmt: skip

(g,) = vectors("g")
f_0, f_1, fall, omega, chance, cohort, z2 = sympy.symbols("f_0 f_1 fall omega chance cohort squared_step")
first, last, least, falls = sympy.symbols("first last least falls")
P, number = sympy.symbols("total_weight number")

# Appendix B.4: eta~ = eta P/N, alpha_n = omega_n N/P, w = P/N; the mean of p_n alpha_n^2 is Q/w^2 ---------------------

_scaled = {E: 0, eta: eta * w, Q: Q / w**2}
_step = c * w
_squares = N * Q / w**2
_right_2 = (
    sympy.Rational(5, 2) * gamma**3 * (eta * w) * L**2 * I**2 * (sigma**2 + 6 * I * d**2)
    + _step**2 * L * I / N**2 * (sympy.Rational(17, 16) * sigma**2 + share * I * d**2) * _squares
)
_bracket_2 = 15 * z**2 + share * _step * L * I / N**2 * _squares - quarter
_right_3 = (
    20 * gamma**2 * L**2 * I * (sigma**2 + 6 * I * d**2)
    + 8 * _step * L / N**2 * (sympy.Rational(17, 16) * sigma**2 + share * I * d**2) * _squares
)
_weighted = setting(positive("update_weight"))

CONSTANT_WEIGHTS = (
    same("fedau.B.4.1_scaled", "(B.4.1), before (B.4.2)", "eta~ alpha_n = eta omega_n, so Algorithm 1 does the same",
         [((eta * P / N) * (omega * N / P), eta * omega)], rests_on=("fedau.round",)),
    same("fedau.B.4.1_objective", "(B.4.1), before (B.4.2)", "phi_n = omega_n p_n/P = p_n alpha_n/N, so no objective "
         "error",
         [(chance * (omega * N / P) / N, omega * chance / P)], rests_on=("fedau.objective", "fedau.B.4.1_scaled")),
    same("fedau.B.4.2", "(B.4.2)", "Lemma B.3.3 with eta~, alpha_n and phi_n",
         [(FIXED.subs(_scaled), _right_2), (bracket(15).subs(_scaled), _bracket_2)],
         rests_on=("fedau.B.4.1_objective", "fedau.descent.printed", "fedau.B.3.2")),
    gram("fedau.B.4.3", "(B.4.3)", "8/(gamma eta~ I) times (B.4.2), where its bracket is at most -1/8",
         8 / (_step * I) * (f_0 - f_1) + _right_3 - norm2(g),
         given=((f_0 + _right_2 + _step * I * _bracket_2 * norm2(g) - f_1, 8 / (_step * I)),
                ((-sympy.Rational(1, 8) - _bracket_2) * norm2(g), 8 * one)),
         where=_weighted, rests_on=("fedau.B.4.2",)),
    gram("fedau.telescope", "(B.4.4), (B.5.5)", "the decreases of successive rounds add up to h(x_0) - h(x_T) <= "
         "h(x_0) - h*, by induction",
         first - least - falls - (last - f_1), given=((f_1 - least, one),), zero=((falls - (first - last), -one),),
         kind="induction"),
    # first, last play the sums of the left and the right sides before round t, f_0, f_1 round t's
    Step("fedau.rounds.sum", "(B.4.4), (6)", "what every round satisfies its sums over the rounds satisfy, by "
         "induction; the bounds are linear in fall, E and Q, so the means of these stand in the mean", "induction",
         (vectors_check(last + f_1 - (first + f_0), ((last - first, one), (f_1 - f_0, one))),)),
    gram("fedau.rounds.gap", "(B.4.4), (6)", "so the decreases contribute at most their factor times F/T",
         number * F / (c * I * T) - number / (c * I) * fall, given=((F - T * fall, number / (c * I * T)),),
         where=setting(positive("number"), count("rounds")), kind="polynomial",
         rests_on=("fedau.telescope", "fedau.rounds.sum")),
    gram("fedau.B.4.4", "(B.4.4)", "the mean of (B.4.3) over the rounds", 8 * F / (_step * I * T) + _right_3 - norm2(g),
         given=((8 / (_step * I) * fall + _right_3 - norm2(g), one), (F - T * fall, 8 / (_step * I * T))),
         where=setting(positive("update_weight"), count("rounds")), kind="polynomial",
         rests_on=("fedau.B.4.3", "fedau.telescope", "fedau.rounds.sum")),
)  # fmt: skip

# Appendix B.5 ---------------------------------------------------------------------------------------------------------

_away = 15 * L**2 * I * gamma**2 * sigma**2
_drift = gamma**2 * L**2 * I * (sigma**2 + 6 * I * d**2)
_scale = c * L / N * Q
_after_1 = f_0 + FIXED + c * I * bracket(15) * norm2(g) - f_1
_sharper = f_0 + FIXED + c * I * bracket(6) * norm2(g) - f_1
_thin_cap = sympy.Rational(1, 240) - z**2
_sixteenth = sympy.Rational(1, 16)
_thin_scale = _sixteenth - share * c * L * I * Q / N
_optimal = sympy.Rational(1, 81) - E
_eight_one = sympy.Rational(81, 16)
_right_53 = (
    8 / (c * I) * (f_0 - f_1) + 12 * (_away + share * (d**2 + G**2)) * E + 20 * _drift
    + _scale * (sympy.Rational(17, 2) * sigma**2 + 27 * I * d**2)
)  # fmt: skip
_right_55 = (
    16 / (c * I) * (f_0 - f_1) + 24 * (_away + share * d**2) * E + 40 * _drift
    + _scale * (17 * sigma**2 + 54 * I * d**2)
)  # fmt: skip
_right_repaired = (
    sympy.Rational(16, 3) / (c * I) * (f_0 - f_1) + 8 * (_away + share * (d**2 + G**2)) * E
    + sympy.Rational(40, 3) * _drift
    + sympy.Rational(16, 3) * _scale * (sympy.Rational(17, 16) * sigma**2 + share * I * (d**2 + G**2))
)  # fmt: skip
# the sums over clients of (p_n omega_n - 1)^2 and of p_n omega_n^2
errors, scales = sympy.symbols("errors scales")
_of_f = {E: errors / N, Q: scales / N, d: delta}
_printed_51 = (
    3 * gamma * eta * I / (2 * N) * (15 * L**2 * I * gamma**2 * sigma**2 + 27 * delta**2 / 8) * errors
    + 5 * gamma**3 * eta * L**2 * I**2 / 2 * (sigma**2 + 6 * I * delta**2)
    + gamma**2 * eta**2 * L * I / N**2 * (17 * sigma**2 / 16 + 27 * I * delta**2 / 8) * scales
)
_bracket_51 = 81 / (16 * N) * errors + 15 * z**2 + 27 * gamma * eta * L * I / (8 * N**2) * scales - quarter
_small = (sympy.Rational(1, 16) - 6 * z**2) * norm2(g)

GIVEN_WEIGHTS = (
    same("fedau.B.5.1_objective", "Lemma B.5.1", "with phi_n = 1/N, N (p_n omega_n/N - 1/N)^2 = (p_n omega_n - 1)^2/N",
         [(N * (chance * omega / N - 1 / N) ** 2, (chance * omega - 1) ** 2 / N)], rests_on=("fedau.objective",)),
    same("fedau.B.5.1", "(B.5.1)", "(B.3.5) with phi_n = 1/N, where Assumption 3 gives delta for 2 delta",
         [(FIXED.subs(_of_f), _printed_51), (bracket(15).subs(_of_f), _bracket_51)],
         rests_on=("fedau.B.5.1_objective", "fedau.B.3.5")),
    nonnegative_step("fedau.B.5.2_local_cap", "after (B.5.1)", "15 L^2 I^2 gamma^2 <= 1/16 where gamma <= 1/(4 "
                     "sqrt(15) L I)",
                     _sixteenth - 15 * z2, region(capped("squared_step", sympy.Rational(1, 240)))),
    nonnegative_step("fedau.B.5.2_scale_cap", "after (B.5.1)", "27 c L I Q/(8N) <= 1/16 where c <= N/(54 L I Q); the "
                     "mean of p_n omega_n^2 in a round is at most Q", _thin_scale,
                     setting(capped("global_lr", N / (54 * L * I * Q * gamma)))),
    gram("fedau.B.5.2", "(B.5.2)", "where |grad f(x_t)| <= G",
         c * I * (_eight_one * E * G**2 - norm2(g) / 8) - c * I * bracket(15) * norm2(g),
         given=((G**2 - norm2(g), c * I * _eight_one * E), (_thin_cap * norm2(g), 15 * c * I),
                (_thin_scale * norm2(g), c * I)), rests_on=("fedau.B.5.2_local_cap", "fedau.B.5.2_scale_cap")),
    gram("fedau.B.5.3", "(B.5.3)", "8/(c I) times (B.5.1), in total expectation", _right_53 - norm2(g),
         given=((_after_1, 8 / (c * I)),
                (c * I * (_eight_one * E * G**2 - norm2(g) / 8) - c * I * bracket(15) * norm2(g), 8 / (c * I))),
         rests_on=("fedau.B.5.1", "fedau.B.5.2")),
    gram("fedau.B.5.4", "(B.5.4)", "where the mean of (p_n omega_n - 1)^2 is at most 1/81 in every round",
         -c * I / 16 * norm2(g) - c * I * bracket(15) * norm2(g),
         given=((_optimal * norm2(g), c * I * _eight_one), (_thin_cap * norm2(g), 15 * c * I),
                (_thin_scale * norm2(g), c * I)), rests_on=("fedau.B.5.2_local_cap", "fedau.B.5.2_scale_cap")),
    gram("fedau.B.5.5", "(B.5.5)", "16/(c I) times (B.5.1), in total expectation", _right_55 - norm2(g),
         given=((_after_1, 16 / (c * I)), (-c * I / 16 * norm2(g) - c * I * bracket(15) * norm2(g), 16 / (c * I))),
         rests_on=("fedau.B.5.1", "fedau.B.5.4")),
)  # fmt: skip

REPAIRED = (
    nonnegative_step("fedau.descent.local_cap", "repaired", "6 z^2 <= 1/16 under z <= 1/15", _sixteenth - 6 * z**2,
                     setting(capped("local_lr", CAP / (L * I))), printed=False),
    gram("fedau.B.5.3_under_1/15", "(B.5.3)", "(B.5.3) under z <= 1/15, from the sharper descent", _right_53 - norm2(g),
         given=((_sharper, 8 / (c * I)), (G**2 - norm2(g), 8 * _eight_one * E), (_small, 8 * one),
                (_thin_scale * norm2(g), 8 * one)), printed=False,
         rests_on=("fedau.descent", "fedau.B.5.1_objective", "fedau.descent.local_cap", "fedau.B.5.2_scale_cap")),
    gram("fedau.B.5.5_under_1/15", "(B.5.5)", "(B.5.5) under z <= 1/15, from the sharper descent", _right_55 - norm2(g),
         given=((_sharper, 16 / (c * I)), (_optimal * norm2(g), 16 * _eight_one), (_small, 16 * one),
                (_thin_scale * norm2(g), 16 * one)), printed=False,
         rests_on=("fedau.descent", "fedau.B.5.1_objective", "fedau.descent.local_cap", "fedau.B.5.2_scale_cap")),
    gram("fedau.thm2.corrected", "repaired", "with |g| <= G also where Q multiplies |g|^2, without a cap by Q",
         _right_repaired - norm2(g),
         given=((_sharper, sympy.Rational(16, 3) / (c * I)),
                (G**2 - norm2(g), sympy.Rational(16, 3) * (_eight_one * E + share * c * L * I * Q / N)),
                (_small, sympy.Rational(16, 3))), printed=False,
         rests_on=("fedau.descent", "fedau.B.5.1_objective", "fedau.descent.local_cap")),
)  # fmt: skip

# Assumption 5 and appendix A.3 ----------------------------------------------------------------------------------------

KNOWN = (
    same("fedau.asm5", "after Assumption 5", "1/81 - (p_n omega - 1)^2 = p_n^2 (omega - 8/(9 p_n))(10/(9 p_n) - omega)",
         [(sympy.Rational(1, 81) - (chance * omega - 1) ** 2,
           chance**2 * (omega - 8 / (9 * chance)) * (10 / (9 * chance) - omega))]),
    same("fedau.known_scale", "appendix A.3", "p_n omega_n^2 = 1/p_n for omega_n = 1/p_n, N/S for p_n = S/N, so that "
         "Q/(N T) = 1/(S T)",
         [(chance * (1 / chance) ** 2, 1 / chance), ((N / cohort) / (N * T), 1 / (cohort * T))]),
    same("fedau.known_error", "appendix A.3", "(p_n omega_n - 1)^2 = 0 for omega_n = 1/p_n",
         [((chance / chance - 1) ** 2, 0 * one)]),
    # xi_n = 1_n - p_n of S of N clients drawn without replacement: variance p (1 - p), covariance -p (1 - p)/(N - 1)
    gram("fedau.equiprobable", "appendix A.3", "for S of N clients drawn without replacement, p = S/N, the indicators "
         "are not independent; (B.3.8) only needs Cov <= p: p (1-p) N/(N-1) (|v|^2 - |mean|^2) <= p |v|^2 for N >= 2, "
         "S >= 1, summed over the clients",
         chance * norm2(g) - chance * (1 - chance) * N / (N - 1) * first,
         given=((norm2(g) - first, chance * (1 - chance) * N / (N - 1)),),
         where=region(interval("chance", 1 / N, one), count("clients", 2)), kind="probabilistic", printed=False),
)  # fmt: skip

ALL = (*CONSTANT_WEIGHTS, *GIVEN_WEIGHTS, *REPAIRED, *KNOWN)
