"""SAFARI's proofs as they are printed."""

from __future__ import annotations

from ...claims import readings
from ...proof.printed_proof import PrintedProof

_EITHER = (readings.EXACT_SHARES, readings.PROBABILITY)
_RANDOM = {readings.KINDS_OF_ROUNDS: readings.PROBABILITY}
_ROOT = {readings.ROOT: readings.ROOT_OF_30}
_FROM_START = {readings.AVERAGE: readings.FROM_ROUND_0}
_SUMMED = {**_FROM_START, **_ROOT, readings.LOCAL_GRADIENTS: readings.FROM_STEP_0}
# Minima over the rounds of a run whose kinds are drawn depend on how many of each there are: the mean over the rounds
# then is no average of the two with the shares 1 - q and q, for which the condition is.
_MINIMA = {
    **_SUMMED, readings.KINDS_OF_ROUNDS: readings.EXACT_SHARES,
    readings.Q_CONDITION: (readings.PRODUCT, readings.PRODUCT_ETA_S, readings.QUOTIENT, readings.QUOTIENT_ETA_S),
}  # fmt: skip
_TO_50 = ("s4.38", "s4.39")
"""Steps that are printed beside those on which (50) rests."""
_TO_83 = ("s5.80", "s5.81", "s5.83")
_RECURSION = ("s5.83_every_round", "s5.84_factor", "s5.84_sum_of_delta")
_PRINTED_85 = (*_TO_83, "s5.83_gain", *_RECURSION)

PRINTED_PROOFS = (
    PrintedProof("rates for few samples, as printed", ("safari.thm2.improvement@main",), ("learn.improvement",)),
    PrintedProof("(29) to (50)", ("safari.eq50@main",), (*_TO_50, "s4.50", "s4.50_tied"), _ROOT),
    PrintedProof(
        "(25) to (55), with minima",
        ("safari.thm4@submission", "safari.cor1.c@submission"),
        (*_TO_50, "s4.53", "s4.55_squared_step", "s4.54_minima"),
        _MINIMA,
    ),
    PrintedProof(
        "(25) to (55)",
        ("safari.thm4@main", "safari.thm4@appendix", "safari.cor1.a@main", "safari.cor1.b@main", "safari.cor1.c@main"),
        (*_TO_50, "s4.53", "s4.54_squares_replaced_by_their_maximum", "s4.55_quotient", "s4.55_squared_step"),
        {**_SUMMED, readings.KINDS_OF_ROUNDS: _EITHER, readings.Q_CONDITION: readings.PRODUCT_ETA_S},
    ),
    PrintedProof(
        "Remark 5, identical clients", ("safari.rem5.a@main",), ("rem5.identical",), {**_FROM_START, **_ROOT}
    ),
    PrintedProof("(59) to (65)", ("safari.eq65@main",), ("s5.65", "s5.65_every_step")),
    PrintedProof("(59) to (77)", ("safari.eq77@main",), ("s5.75", "s5.77", "s5.77_from_a_fourth")),
    PrintedProof("(56) to (83)", ("safari.eq83@main",), _TO_83),
    PrintedProof(
        "(56) to (85)", ("safari.thm5@derived",), (*_TO_83, "s5.83_gain_corrected", *_RECURSION), _RANDOM
    ),
    PrintedProof(
        "(56) to (85), as printed",
        ("safari.thm5@main", "safari.thm5@appendix"),
        _PRINTED_85,
        {**_RANDOM, readings.Q_CONDITION: readings.PRODUCT},
    ),
    PrintedProof(
        "(56) to (85), as printed, with an O(.)",
        ("safari.cor2@main",),
        _PRINTED_85,
        {**_RANDOM, readings.Q_CONDITION: readings.PRODUCT,
         readings.CONSTANTS: (readings.UNIFORM, readings.OF_THE_PROBLEM)},
    ),
)  # fmt: skip
