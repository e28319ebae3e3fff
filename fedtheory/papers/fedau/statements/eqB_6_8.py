"""FedAU, (B.6.7) and (B.6.8): the error of one client's weight in one round, line by line.

Line (a) takes the weight's mean to be that of an interval. In a round t >= K it is; before, an interval that has ended
is one of at most t rounds, and the weight is too small in the mean. So (a), (b) and the line after (b) fail for t < K.
From t >= K on all three hold: given how many intervals have ended, and the lengths but for their order, those lengths
are exchangeable, so that the average of them all is the conditional mean of the average of the first floor(t/K), and
Jensen's inequality applies. The last line, after (c), holds in every round.
"""

from __future__ import annotations


from ....claims.statement import Claim, Hypothesis, Term, at_least
from ....functionals import ROUND_WEIGHT_ERROR, of_values
from ....quantities import symbols
from .common import OF_WEIGHTS, CONDITION, ZERO, K, absence, p, t
from .lemmaB_6_1 import variance

weight_spread, intervals = symbols("weight_spread", "guaranteed_intervals")

# omega = 1 in the rounds before the first interval has ended.
INITIAL = Claim(
    id="fedau.eqB_6_7",
    title="The weight error before the first participation",
    source="FedAU, appendix B.6, (B.6.7)",
    functional=of_values(
        "initial_weight_error", "(p_n omega - 1)^2 at omega = 1", (p - 1) ** 2, r"\mathbb{E}[(p_n\omega_t^n-1)^2]"
    ),
    terms=(Term("one", ZERO + 1),),
)

# Below K: E[(p omega - 1)^2] <= E[(p G - 1)^2; G <= t] + q^t q^2, G geometric, where q = E[(p G - 1)^2] and given
# G > t it is at least q^2. From K on: p^2 Var[S] + q^(2K) = q - (2K - 1) p q^K.
INITIAL_SHARP = Claim(
    id="fedau.eqB_6_7",
    edition="sharp",
    title="The weight error in every round, whatever the cutoff",
    source="FedAU, (B.6.7), sharpened",
    functional=ROUND_WEIGHT_ERROR,
    assumptions=OF_WEIGHTS,
    terms=(Term("absence", absence),),
)

_BIAS = Term("bias", (1 - p) ** (2 * K))
AFTER_THE_CUTOFF = Hypothesis("after_the_cutoff", at_least(t, K), "repaired")


def _line(part: str, title: str, where: str, first: Term) -> Claim:
    return Claim(
        id=f"fedau.eqB_6_8.{part}",
        title=title,
        source=f"FedAU, appendix B.6, (B.6.8), {where}",
        functional=ROUND_WEIGHT_ERROR,
        assumptions=OF_WEIGHTS,
        terms=(first, _BIAS),
        ambiguities=(CONDITION,),
    )


def _after_the_cutoff(line: Claim) -> Claim:
    return line.edited(
        "corrected",
        f"{line.source}, for t >= K",
        title=f"{line.title}, from round K on",
        hypotheses=(AFTER_THE_CUTOFF,),
        ambiguities=(),
    )


# An equation; the proof uses it as an upper bound.
A = _line("a", "Bias and variance of a weight", "(a)", Term("spread", p**2 * weight_spread))
B = _line(
    "b", "The variance of a weight by the number of intervals", "(b)", Term("variance", p**2 * variance / intervals)
)
B_NEXT = _line(
    "b_next", "The variance of a weight by the number of rounds", "the line after (b)",
    Term("variance", p**2 * 2 * K * variance / t),
)  # fmt: skip
C = _line("c", "The weight error of a round", "(c)", Term("variance", 2 * K * (1 - p) / t))

EDITIONS = (
    INITIAL, INITIAL_SHARP, A, _after_the_cutoff(A), B, _after_the_cutoff(B), B_NEXT, _after_the_cutoff(B_NEXT), C,
)  # fmt: skip
