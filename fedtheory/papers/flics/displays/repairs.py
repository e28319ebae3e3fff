"""Facts that FLICS's printed displays use: who answers, noise, the sums of vectors with weights."""

from __future__ import annotations

import sympy

from ....assumptions import COHORT_BEFORE_NOISE, INDEPENDENT_ANSWERS, UNBIASED_NOISE
from ....proof.gram import norm2, vectors
from ....proof.symbol_regions import interval, nonnegative, positive, region
from ....proof.steps import Identity, Step
from ....proof.write import given, same
from ...fast.displays.symbols import vectors_check
from .symbols import delta, s

x, S = vectors("x S")
part, total, share_so_far = sympy.symbols("part total share_so_far")
cov, s_i, s_j, hat_i, hat_j, p_i, p_j = sympy.symbols("covariance s_i s_j hat_i hat_j p_i p_j")
_r = "repaired"
_next = region(interval("share", 0, delta), nonnegative("weight_mismatch"), nonnegative("part"),
               positive("share_so_far"))  # fmt: skip


LOCAL = (
    given("flics.answers", "Definition 1, Algorithm 1", "given the past, the round's availability and the rates, every "
          "available client of group j answers on its own with probability r_j/a_j, whatever its data are",
          assumes=(INDEPENDENT_ANSWERS,)),
    given("flics.noise", "Assumption 3", "given its past, a stochastic gradient is grad F_j plus noise of mean 0 and "
          "E|noise|^2 <= sigma_L^2", assumes=(UNBIASED_NOISE,)),
    # S = sum of p_i c_i x_i over the groups so far, total of p_i |x_i|^2; share plays |c|, part the next p
    Step("flics.jensen", _r, "|sum_j p_j c_j x_j|^2 <= (sum_j p_j) max|c|^2 sum_j p_j |x_j|^2 for weights p >= 0, by "
         "induction", "induction",
         (vectors_check(part**2 * delta**2 * norm2(x) - norm2(part * s * x), where=_next),
          vectors_check((share_so_far + part) * delta**2 * (total + part * norm2(x)) - norm2(S + part * s * x),
                        ((share_so_far * delta**2 * total - norm2(S), (share_so_far + part) / share_so_far),),
                        where=_next),
          Identity((share_so_far * delta**2 * total).subs(share_so_far, 1), delta**2 * total)), printed=False),
)  # fmt: skip

LEMMA_6 = (
    given("flics.covariance", "Lemma 6", "E S_i S_j = s_i s_j + Sigma_ij; the x_i are independent of the S_i",
          assumes=(COHORT_BEFORE_NOISE,)),
    same("flics.lemma6.moments", _r, "E|sum_i p_i/s^_i S_i x_i|^2 = |sum_i p_i rho_i x_i|^2 + sum_ij p_i p_j "
         "Sigma_ij/(s^_i s^_j) <x_i, x_j>, pair by pair",
         [(p_i / hat_i * p_j / hat_j * (s_i * s_j + cov),
           p_i * (s_i / hat_i) * p_j * (s_j / hat_j) + p_i * p_j * cov / (hat_i * hat_j))],
         kind="probabilistic", printed=False, rests_on=("flics.covariance",)),
)  # fmt: skip

THEOREM_1 = (
    Step("flics.descent", "(9)", "Lemma 1 of smooth functions at w^t and w^{t+1} = w^t + eta Delta, in expectation",
         "lemma", rests_on=("lemma1.integral",)),
)  # fmt: skip

ALL = (*LOCAL, *LEMMA_6, *THEOREM_1)
