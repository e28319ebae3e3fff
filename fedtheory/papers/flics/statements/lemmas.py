"""FLICS, appendix C, Lemmas 4 to 7: bounds on one round in the proof of Theorem 1.

Lemma 5 prints |f(w)|^2 for |grad f(w)|^2, and its last term without the sum over groups and with w for the local
iterates; Lemma 7 prints grad F for grad F_i; all are read as their proofs have them. The trace in Lemma 7 is the
selection variance, which holds for Y_t = (p_1/s^_1, ..., p_M/s^_M); Y_t is not defined.
"""

from __future__ import annotations

from sympy import Integer

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_most
from ....functionals import (
    AGGREGATE_BIAS,
    AGGREGATE_ERROR,
    INNER_PRODUCT,
    SCALED_INNER_PRODUCT,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
)
from ....quantities import symbols
from .common import (
    ERROR_ITSELF, ESTIMATES, LEAST_PARTICIPATION, LINE_14, LOCAL_CAP, UNDIVIDED, G, K, L, M, NOISE, P, ROUNDS, SIGMA,
    assumptions, drift, epsilon, eta_L, gradient, inflation, mismatch, proxy, pseudogradient, r_min, sigma, sigma_G,
    spread,
)  # fmt: skip

update_length, mean_update, state_update = symbols("mean_update_length", "squared_mean_update", "squared_state_update")
mean_vector, vectors, covariance = symbols("squared_mean_vector", "mean_squared_vector", "vector_covariance")

# An equality of vectors, as a bound on the length of their difference. epsilon is a bound on the estimates' error, and
# 1 + epsilon/r_min stands on both sides of equalities and of inequalities here: with any bound an equality falls
# trivially, so that epsilon is read as the error itself.
LEMMA_4 = Claim(
    id="flics.lemma4",
    title="The aggregated update is a multiple of the mean update",
    source="FLICS, appendix C, Lemma 4, (23)",
    functional=AGGREGATE_ERROR,
    terms=(Term("zero", Integer(0)),),
    hypotheses=(ESTIMATES, ERROR_ITSELF, LEAST_PARTICIPATION),
    assumptions=assumptions(*ROUNDS, *NOISE),
    ambiguities=(
        Ambiguity(
            readings.FACTOR,
            (readings.ONE_PLUS_EPSILON, readings.EPSILON),
            "(23) prints 1 + epsilon^, its proof ends with epsilon^",
        ),
        LINE_14,
    ),
)
LEMMA_4_CORRECTED = LEMMA_4.edited(
    "corrected",
    "FLICS, Lemma 4, repaired",
    title="The aggregated update is near the mean update",
    functional=AGGREGATE_BIAS,
    terms=(Term("estimates", epsilon / (r_min - epsilon) * update_length),),
    hypotheses=(
        ESTIMATES,
        LEAST_PARTICIPATION,
        Hypothesis("small_error", at_most(epsilon, r_min), "repaired; where they are equal the bound is infinite"),
    ),
    ambiguities=(UNDIVIDED,),
)

LEMMA_5 = Claim(
    id="flics.lemma5",
    title="The aggregated update and the gradient",
    source="FLICS, appendix C, Lemma 5",
    functional=SCALED_INNER_PRODUCT,
    terms=(
        Term("gradient", inflation * eta_L * K / 2 * (1 + 30 * K**2 * L**2 * eta_L**2 * M * P) * gradient**2),
        Term("drift", 5 * inflation * eta_L**3 * L**2 * K**2 * M * P / 2 * (sigma**2 + 6 * K * sigma_G**2)),
        Term("pseudogradient", -inflation * eta_L / (2 * K) * pseudogradient),
    ),
    hypotheses=(ESTIMATES, ERROR_ITSELF, LEAST_PARTICIPATION, LOCAL_CAP),
    assumptions=assumptions("smoothness", *ROUNDS, *NOISE, "dissimilarity"),
    ambiguities=(LINE_14,),
)
LEMMA_5_CORRECTED = LEMMA_5.edited(
    "corrected",
    "FLICS, Lemma 5, repaired",
    functional=INNER_PRODUCT,
    terms=(
        Term("gradient", eta_L * K / 2 * gradient**2),
        Term("drift", eta_L * K * drift),
        Term("mismatch", eta_L * K * mismatch**2 * G**2),
        Term("mean_update", -mean_update / (2 * eta_L * K)),
    ),
    hypotheses=(),
    assumptions=assumptions("smoothness", *ROUNDS, *NOISE, "local_gradient_bound"),
    ambiguities=(UNDIVIDED,),
)

LEMMA_6 = Claim(
    id="flics.lemma6",
    title="The second moment of a weighted selection",
    source="FLICS, appendix C, Lemma 6",
    functional=SQUARED_SELECTED_VECTOR,
    terms=(Term("mean", inflation**2 * mean_vector), Term("covariance", covariance)),
    hypotheses=(ESTIMATES, LEAST_PARTICIPATION),
    assumptions=assumptions(*ROUNDS),
)
LEMMA_6_CORRECTED = LEMMA_6.edited(
    "corrected",
    "FLICS, Lemma 6, repaired",
    terms=(
        Term("mean", (1 + mismatch) * mean_vector),
        Term("mismatch", (1 + mismatch) * mismatch * vectors),
        Term("covariance", covariance),
    ),
    hypotheses=(),
)

LEMMA_7 = Claim(
    id="flics.lemma7",
    title="The second moment of the aggregated update",
    source="FLICS, appendix C, Lemma 7, (28)",
    functional=SQUARED_AGGREGATE,
    terms=(
        Term("noise", inflation**2 * eta_L**2 * K * sigma**2 * P),
        Term("pseudogradient", eta_L**2 * inflation**2 * pseudogradient),
        Term("selection", eta_L**2 * (sigma**2 + G**2) * spread),
    ),
    hypotheses=(ESTIMATES, LEAST_PARTICIPATION),
    assumptions=assumptions(*ROUNDS, *NOISE, "local_gradient_bound"),
    ambiguities=(
        Ambiguity(
            readings.LOCAL_GRADIENTS,
            (readings.FROM_STEP_1_OF_K, readings.FROM_STEP_0),
            "(28) sums from 1, local training from 0",
        ),
        LINE_14,
        SIGMA,
    ),
)
LEMMA_7_CORRECTED = LEMMA_7.edited(
    "corrected",
    "FLICS, Lemma 7, repaired",
    terms=(Term("mean", state_update), Term("selection", eta_L**2 * K**2 * G**2 * proxy)),
    hypotheses=(),
    ambiguities=(UNDIVIDED,),
)

EDITIONS = (
    LEMMA_4, LEMMA_4_CORRECTED, LEMMA_5, LEMMA_5_CORRECTED, LEMMA_6, LEMMA_6_CORRECTED, LEMMA_7, LEMMA_7_CORRECTED,
)  # fmt: skip
