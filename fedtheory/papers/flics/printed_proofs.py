"""FLICS-OPT's proofs as they are printed, and those of Theorem 2 by steps that the kernel does not make."""

from __future__ import annotations

from ...claims import readings
from ...proof.printed_proof import PrintedProof

_UNDIVIDED = {readings.LINE_14: readings.NOT_DIVIDED}
_COVARIANCE = {readings.SIGMA: readings.COVARIANCE}
_LEAST = {
    **_UNDIVIDED, **_COVARIANCE, readings.COUNTS: readings.PLANNED,
    readings.START: (readings.FORGOTTEN, readings.COUNTED), readings.MINIMUM: readings.FROM_T_0,
}  # fmt: skip
_TO_THEOREM_1 = (
    "flics.1.lemmas", "flics.1.sign", "flics.1.constant", "flics.1.second", "flics.1.rounds", "flics.1.sorted",
    "flics.1.over_T", "flics.1.first",
)  # fmt: skip
_ALONG_A_TRACE = "selections along a trace: prices of a convex program in every round, and limits"

PRINTED_PROOFS = (
    PrintedProof(
        "(24) to (23), as printed",
        ("flics.lemma4@main",),
        ("flics.4.24", "flics.4.groups", "flics.4.number", "flics.4.density", "flics.4.ratio", "flics.4.equality",
         "flics.4.factor"),
        {**_UNDIVIDED, readings.FACTOR: readings.EPSILON},
    ),
    PrintedProof(
        "(26), as printed",
        ("flics.lemma5@main",),
        ("flics.5.definition", "flics.5.lemma4", "flics.5.statement", "flics.5.fifteen"),
        _UNDIVIDED,
    ),
    PrintedProof(
        "Lemma 6, as printed",
        ("flics.lemma6@main",),
        ("flics.6.square", "flics.6.moments", "flics.6.products", "flics.6.sum"),
    ),
    PrintedProof(
        "(28), as printed",
        ("flics.lemma7@main",),
        ("flics.7.groups", "flics.7.split", "flics.7.lemma6", "flics.7.one_step", "flics.7.signs", "flics.7.noise",
         "flics.7.last"),
        {**_UNDIVIDED, **_COVARIANCE, readings.LOCAL_GRADIENTS: readings.FROM_STEP_0},
    ),
    PrintedProof(
        "(9) to Theorem 1, as printed", ("flics.thm1@main", "flics.thm1@appendix"), _TO_THEOREM_1, _LEAST
    ),
    PrintedProof(
        "(9) to Corollary 1.1, as printed",
        ("flics.cor1_1@main",),
        (*_TO_THEOREM_1, "flics.1.rate"),
        {**_LEAST, readings.CONSTANTS: (readings.UNIFORM, readings.OF_THE_PROBLEM)},
    ),
    PrintedProof(
        "(11) to (22)",
        ("flics.thm2@main",),
        ("flics.2.12_lower", "flics.2.14_no_solution", "flics.2.end"),
        {readings.SIGMA: (readings.COVARIANCE, readings.CORRELATION), readings.SIGMA_T: readings.OF_THE_POLICY},
        lacks=_ALONG_A_TRACE,
    ),
    PrintedProof(
        "weak duality along a trace", ("flics.thm2@corrected",), ("flics.2.spread",), lacks=_ALONG_A_TRACE
    ),
)  # fmt: skip
