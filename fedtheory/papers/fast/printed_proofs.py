"""FAST's proofs as they are printed, and two by steps that the kernel does not make."""

from __future__ import annotations

from ...claims import readings
from ...proof.printed_proof import PrintedProof

_DISTINCT = {readings.UNIFORM_COHORT: readings.WITHOUT_REPLACEMENT}
_MIXED = {**_DISTINCT, readings.SNAPSHOTS: readings.PROBABILITY}
_SUMMED = {readings.AVERAGE: readings.FROM_ROUND_0, readings.LOCAL_GRADIENTS: readings.FROM_STEP_0}

_TO_13 = ("a2.7*", "a2.11_under_its_own_cap", "a2.12", "a2.13*")
_TO_23 = (
    "a2.17*", "a2.18*", "a2.20", "a2.21", "a2.22_under_its_own_cap", "a2.22_under_the_cap_1/8", "a2.23*",
)  # fmt: skip
_TO_24 = (
    *_TO_13, *_TO_23, "a2.22_under_both_caps*", "a2.24_shares", "a2.24_coefficient*", "a2.24_telescope", "a2.24_q*",
    "a2.24_squares*", "a2.24_noise_term_dropped",
)  # fmt: skip
_TO_30 = (
    "a3.26", "a3.27_cap_of_the_drift_lemma", "a3.28", "a3.29*", "a3.30_plugging*", "a3.30_distance",
    "a3.30_dissimilarity", "a3.30_noise",
)  # fmt: skip
_TO_35 = ("a3.31", "a3.33*", "a3.35*")
_TO_38 = (*_TO_35, "a3.37", "a3.38_distance", "a3.38_dissimilarity", "a3.38_noise")
_TO_39 = (
    *_TO_30, *_TO_38, "a3.39_kinds", "a3.39_noise_with_4", "a3.39_noise_from_4_to_2", "a3.39_contraction_main",
    "a3.39_floor_main", "a3.38_without_young",
)  # fmt: skip
_TO_40 = (*_TO_39, "a3.40_factor_nonnegative", "a3.40_floors*", "a3.40_geometric_sum", "a3.40_exponential")

PRINTED_PROOFS = (
    PrintedProof(
        "(14) to (23)", ("fast.eq23@main",), _TO_23, {readings.ROOT: (readings.ROOT_OF_30_L_K, readings.ROOT_OF_30)}
    ),
    PrintedProof("(29)", ("fast.eq29@main",), ("a3.29*",), _DISTINCT),
    PrintedProof("(26) to (30)", ("fast.eq30@main",), _TO_30, _DISTINCT),
    PrintedProof("(31) to (38)", ("fast.eq38@main",), _TO_38),
    PrintedProof("(26) to (39)", ("fast.eq39@main",), _TO_39, _MIXED),
    PrintedProof("(26) to (40)", ("fast.thm2@main",), _TO_40, _MIXED),
    PrintedProof(
        "(5) to (24)",
        ("fast.thm1@main", "fast.thm1@appendix", "fast.cor1@main", "fast.cor1@appendix", "fast.cor2@main"),
        _TO_24,
        {**_MIXED, **_SUMMED, readings.Q_CONDITION: readings.PRODUCT},
    ),
    PrintedProof(
        "Theorem 1, with minima",
        ("fast.thm1@minima",),
        ("thm1.minima.mean",),
        {**_DISTINCT, **_SUMMED, readings.SNAPSHOTS: readings.PERIOD, readings.KINDS_OF_ROUNDS: readings.EXACT_SHARES},
        lacks="the least of a quantity over the rounds of a kind, in a bound on the run",
    ),
    PrintedProof(
        "the quotient of leading coefficients",
        ("fast.rem2.b@main",),
        ("rem2.rewritten", "rem2.limit"),
        {readings.Q_CONDITION: (readings.QUOTIENT, readings.PRODUCT), readings.SUMS: readings.HELD},
        lacks="limits",
    ),
)
