"""SAFARI's lemmas on samples, and Remark 2 on a server whose samples are of another law than P."""

from __future__ import annotations

from dataclasses import replace

from sympy import Max, Pow, Symbol, log, sqrt

from ....claims import readings
from ....claims.hidden_constants import may_depend_on_the_problem
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_least
from ....functionals import (
    CHECKED_EMPIRICAL_GAP, DISAGREEMENT_DEFICIT, DISAGREEMENT_EXCESS, PAIR_DEVIATION, POOLED_SOURCE_EXCESS,
)  # fmt: skip
from ....quantities import symbols
from .learnability import (
    LETTERS_OF_P,
    NOISE_OF_P,
    NOISE_OF_Q,
    OF_THE_TARGET,
    RELATED,
    THEOREM_2,
    THEOREM_2_CORRECTED,
    THEOREM_3,
    hidden,
)

N, n_T, d, delta = symbols("samples", "server_samples", "vc_dimension", "confidence")
a, a_T, a_2, a_d, A = symbols(
    "complexity", "server_complexity", "pair_complexity", "vc_complexity", "sample_complexity"
)  # fmt: skip
c, alpha, beta, nu, b, e_0 = symbols(
    "hidden_constant", "relatedness", "relatedness_exponent", "noise_constant", "noise_exponent", "best_excess"
)  # fmt: skip

# Lemma 1 -------------------------------------------------------------------------------------------------------------

_log_delta = log(1 / delta)


def complexity(n: Symbol, source: str) -> Hypothesis:
    """sample_complexity is at least A(n, delta) as printed, d/n log(n/d + log(1/delta)/n), or with the confidence
    beside the logarithm, as the works that are cited have it: d/n log(max(n, d)/d) + log(1/delta)/n. That logarithm is
    read as at least 1, without which the lemma would fail at n = d."""
    beside = d / n * Max(log(Max(n, d) / d), 1) + _log_delta / n
    return Hypothesis(
        "complexity",
        at_least(A, d / n * log(n / d + _log_delta / n)),
        source,
        alternatives={readings.BESIDE_WITH_MAX: at_least(A, beside)},
    )


def enough_samples(n: Symbol) -> Hypothesis:
    """Make the hypothesis, not printed ('for any m'), that there are at least as many samples as the dimension.

    With fewer A can be below 0, which no constant mends.
    """
    return Hypothesis("samples", at_least(n, d), "A(m, delta) > 0", implicit=True)


LEMMA_1 = Claim(
    id="safari.lemma1.frequency",
    title="How often two hypotheses differ on samples",
    source="SAFARI, appendix A, Lemma 1, (17)",
    functional=DISAGREEMENT_EXCESS,
    terms=(Term("complexity", c * A),),
    hypotheses=(
        complexity(N, "Lemma 1: A(m, delta)"), enough_samples(N),
        hidden(512, readings.BESIDE_WITH_MAX, "'c in (0, infinity) is a constant'"),
    ),
    ambiguities=(
        Ambiguity(readings.CONFIDENCE_TERM, (readings.IN_THE_LOGARITHM, readings.BESIDE_WITH_MAX),
                  "printed d/m log(m/d + 1/m log(1/delta)) in both versions; the works that are cited have the term "
                  "beside the logarithm, and max(m, d) in it"),
    ),
    constants="'c in (0, infinity) is a constant': beside the logarithm one number will do for all laws and classes; "
              "inside it none will do, even one of the law and of the class: these stay along the family of instances",
)  # fmt: skip
LEMMA_1_CORRECTED = LEMMA_1.edited(
    "corrected", "SAFARI, Lemma 1, (17), with every constant, for finite classes",
    title="How often two hypotheses of a finite class differ on samples",
    terms={"complexity": 5 * a_2 / 6}, hypotheses=(), ambiguities=(), constants="",
)  # fmt: skip
DEFICIT = replace(
    LEMMA_1, id="safari.lemma1.deficit", title="How seldom two hypotheses differ on samples",
    functional=DISAGREEMENT_DEFICIT,
)  # fmt: skip
DEFICIT_CORRECTED = DEFICIT.edited(
    "corrected", "SAFARI, Lemma 1, (17), from below, with every constant, for finite classes",
    title="How seldom two hypotheses of a finite class differ on samples",
    terms={"complexity": 4 * a_2 / 3}, hypotheses=(), ambiguities=(), constants="",
)  # fmt: skip
# (16) has c sqrt(min A) + c A, which is at most sqrt(min x) + x for x = c^2 A, c >= 1: up to the constant, that x
DEVIATION = replace(
    LEMMA_1, id="safari.lemma1.deviation", title="How far differences of empirical risks are off",
    source="SAFARI, appendix A, Lemma 1, (16)", functional=PAIR_DEVIATION,
)  # fmt: skip
DEVIATION_CORRECTED = DEVIATION.edited(
    "corrected", "SAFARI, Lemma 1, (16), with every constant, for finite classes",
    title="How far differences of empirical risks are off, in a finite class",
    terms={"complexity": 97 * a_2 / 27}, hypotheses=(), ambiguities=(), constants="",
)  # fmt: skip
_rate = 1 / (2 - b)
EXCESS = replace(
    LEMMA_1, id="safari.lemma1.excess", title="The excess risk of a minimiser under the samples' law",
    source="SAFARI, appendix A, Lemma 1, (18)", functional=POOLED_SOURCE_EXCESS,
    terms=(Term("complexity", c * Pow(A, _rate)),), assumptions=(NOISE_OF_Q,),
    hypotheses=(
        *LEMMA_1.hypotheses[:-1],
        hidden(640 * nu + 161, readings.OF_THE_PROBLEM, "(18), '=' for at most up to a constant"),
    ),
    ambiguities=(
        *LEMMA_1.ambiguities,
        may_depend_on_the_problem("(18) has no constant, and = for at most up to one, which may be the same for all "
                                  "laws or depend on alpha_Q"),
    ),
    constants="",
)  # fmt: skip
EXCESS_CORRECTED = EXCESS.edited(
    "corrected", "SAFARI, Lemma 1, (18), with every constant, for finite classes",
    title="The excess risk of a minimiser of a finite class",
    terms=(Term("rate", Pow(8 * nu * a, _rate)), Term("complexity", 2 * a / 3)), hypotheses=(), ambiguities=(),
    constants="",
)  # fmt: skip
EXCESS_VC = EXCESS_CORRECTED.edited(
    "vc", "SAFARI, Lemma 1, (18), with every constant, for classes of finite Vapnik-Chervonenkis dimension",
    title="The excess risk of a minimiser, by the dimension of the class",
    terms=(Term("rate", Pow(128 * nu * a_d, _rate)), Term("complexity", 32 * a_d)),
)  # fmt: skip

# Lemma 2 -------------------------------------------------------------------------------------------------------------

LEMMA_2 = Claim(
    id="safari.lemma2",
    title="Empirical risks under P",
    source="SAFARI, appendix A, Lemma 2, (22) to (24)",
    functional=CHECKED_EMPIRICAL_GAP,
    terms=(Term("best", e_0), Term("complexity", c * A)),
    hypotheses=(complexity(n_T, "Theorem 3: A(n_T, delta)"), enough_samples(n_T)),
    assumptions=(OF_THE_TARGET,),
    ambiguities=LEMMA_1.ambiguities,
    constants="no constant of any law and class will do: these stay along the family of instances, and left/right "
              "grows with the samples without bound",
)  # fmt: skip
LEMMA_2_CORRECTED = LEMMA_2.edited(
    "corrected", "SAFARI, Lemma 2, with the root that (24) leaves out, under Assumption 1",
    title="Empirical risks under P, with the root of the noise",
    terms=(Term("best", e_0), Term("root", sqrt(2 * nu * Pow(e_0, b) * a_T)), Term("complexity", a_T / 3)),
    hypotheses=(), ambiguities=(), assumptions=(NOISE_OF_P, OF_THE_TARGET), constants="", letters=LETTERS_OF_P,
)  # fmt: skip

# Remark 2 ------------------------------------------------------------------------------------------------------------
# T is of P', and Q = lambda_1 D + lambda_2 P' is positively related with P.

_REMARK_2 = "SAFARI, section 3.2, Remark 2"
REMARK_2_2 = replace(
    THEOREM_2, id="safari.rem2.thm2", source=f"{_REMARK_2}, of Theorem 2",
    title="Excess risk where the server's samples are of another law", assumptions=(NOISE_OF_Q, RELATED),
)  # fmt: skip
REMARK_2_2_CORRECTED = replace(
    THEOREM_2_CORRECTED, id="safari.rem2.thm2", source=f"{_REMARK_2}, of Theorem 2, with every constant",
    title="Excess risk where the server's samples are of another law, with every constant",
    assumptions=(NOISE_OF_Q, RELATED),
)  # fmt: skip
REMARK_2_3 = replace(
    THEOREM_3, id="safari.rem2.thm3", source=f"{_REMARK_2}, of Theorem 3",
    title="No worse than the server alone where its samples are of another law",
    hypotheses=(
        hidden((1 + alpha) * (16 * nu + 5) ** (1 + beta), readings.OF_THE_CONDITIONS), *THEOREM_3.hypotheses[1:],
    ),
    assumptions=(NOISE_OF_P, RELATED),
    ambiguities=(
        Ambiguity(readings.CONSTANTS, (readings.UNIFORM, readings.OF_THE_CONDITIONS),
                  "O~ does not say whether its constant is one for all distributions or may depend on those of the "
                  "noise condition and of positive relatedness; in the second case it is read as any from an explicit "
                  "one on"),
    ),
)  # fmt: skip

EDITIONS = (
    LEMMA_1, LEMMA_1_CORRECTED, DEFICIT, DEFICIT_CORRECTED, DEVIATION, DEVIATION_CORRECTED, EXCESS, EXCESS_CORRECTED,
    EXCESS_VC, LEMMA_2, LEMMA_2_CORRECTED, REMARK_2_2, REMARK_2_2_CORRECTED, REMARK_2_3,
)  # fmt: skip
