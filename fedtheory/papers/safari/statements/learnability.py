"""SAFARI, section 3 and its proofs in appendix A: limits of every learner, and the gain from a server's data.

"With probability at least 1 - delta" is written as a bound on a quantile. Excess risks are those of finite classes; a
pooled sample has n_T samples of P and n_S of D, and Q is their mixture.
"""

from __future__ import annotations

from sympy import Pow, Rational

from ....assumptions import ONE_TARGET, POSITIVELY_RELATED, SERVER_OF_TARGET, SOURCE_NOISE, TARGET_NOISE
from ....claims import readings
from ....claims.hidden_constants import may_depend_on_the_problem
from ....claims.statement import Ambiguity, Assumption, Claim, Hypothesis, Term, at_least, at_most
from ....functionals import (
    CHECKED_EXCESS, NEGATED_FAILURE, NEGATED_FAILURE_OF_FUNCTIONS, NEGATED_SOURCE_EXCESS, POOLED_EXCESS, RARE_TAIL,
    RELATEDNESS_GAP, TARGET_EXCESS, of_values,
)  # fmt: skip
from ....quantities import symbols

M, m, rare, level = symbols("clients", "arbitrary_cohort", "rare_mass", "error_level")
(n,) = symbols("samples_per_client")
n_T, n_S, d = symbols("server_samples", "client_samples", "vc_dimension")
a, a_T = symbols("complexity", "server_complexity")
a_d, a_dT = symbols("vc_complexity", "server_vc_complexity")
(c,) = symbols("hidden_constant")
alpha, beta, nu, b = symbols("relatedness", "relatedness_exponent", "noise_constant", "noise_exponent")
e_Q, gap, e_0, share = symbols("source_excess", "related_gap", "best_excess", "client_share")
width_P, width_Q, distance, outside = symbols(
    "target_width", "source_width", "threshold_distance", "outside_support"
)  # fmt: skip

SECTION = "SAFARI, section 3"
_missing = 1 - m / M
"""1 - omega."""

RELATED = Assumption("assumption_2", kind=POSITIVELY_RELATED, source="Assumption 2")
OF_THE_TARGET = Assumption("server_of_target", kind=SERVER_OF_TARGET, source="section 3.2: T i.i.d. from P")
NOISE_OF_Q = Assumption("assumption_1_q", kind=SOURCE_NOISE, source="Assumption 1")
NOISE_OF_P = Assumption("assumption_1_p", kind=TARGET_NOISE, source="Assumption 1")
LETTERS_OF_P = {"noise_constant": r"\alpha_P", "noise_exponent": r"\beta_P"}
"""Letters of Assumption 1 where it is about the target's law; the paper's others are of the mixture's, Q."""

# Theorem 1 -----------------------------------------------------------------------------------------------------------
# The statement is that a process, a distribution and a target exist; the functional is of the proof's. Errors there are
# 0 or P(x_2), so that > (1 - omega)/8 and >= (1 - omega)/8 are the same.

_AWAY = Hypothesis("some_stay_away", at_most(m, M - 1), "section 3.1: m in [0, M)")
THEOREM_1 = Claim(
    id="safari.thm1",
    title="No learner succeeds where clients stay away",
    source="SAFARI, section 3.1, Theorem 1; appendix A, (2) to (11)",
    functional=NEGATED_FAILURE,
    terms=(Term("probability", -Rational(1, 20)),),
    hypotheses=(_AWAY,),
    bound={"rare_mass": _missing / 2, "error_level": _missing / 8},
)
THEOREM_1_SHARP = THEOREM_1.edited(
    "sharp", "SAFARI, Theorem 1, sharpened", title="The error (1 - omega)/2, with probability 2/5",
    terms={"probability": -Rational(2, 5)}, bound={"rare_mass": _missing / 2, "error_level": _missing / 2},
)  # fmt: skip
THEOREM_1_FUNCTIONS = THEOREM_1_SHARP.edited(
    "functions", "SAFARI, Theorem 1, sharpened for learners that draw no lots",
    title="The error (1 - omega)/2, with probability 4/5, for learners that are functions of the data",
    functional=NEGATED_FAILURE_OF_FUNCTIONS, terms={"probability": -Rational(4, 5)},
)  # fmt: skip
TAIL = Claim(
    id="safari.app1.tail",
    title="The rare point does not come up too often",
    source="SAFARI, appendix A, proof of Theorem 1, the display before (2)",
    functional=RARE_TAIL,
    terms=(Term("probability", Rational(17, 20)),),
    hypotheses=(_AWAY,),
    bound={"rare_mass": _missing / 2},
)

# The one-dimensional example, and mixtures ----------------------------------------------------------------------------

_NESTED = Hypothesis("nested", at_most(width_Q, width_P), "a <= a' <= b' <= b")
_WHERE = Ambiguity(
    readings.THRESHOLDS,
    (readings.ANYWHERE, readings.IN_THE_SUPPORT),
    "the class is {h_t: t in R}, and 'for any hypothesis h_t with threshold t' the excess risks are printed as lengths "
    "over widths, which they are within [a', b'] alone",
)
_WITHIN = Hypothesis(
    "threshold", at_most(width_Q, width_P), "t in R", alternatives={readings.IN_THE_SUPPORT: at_most(outside, 0)}
)
EXAMPLE = Claim(
    id="safari.ex1",
    title="Uniform distributions are (1 - (b'-a')/(b-a), 1)-positively related",
    source="SAFARI, section 3.2, after Assumption 2",
    functional=RELATEDNESS_GAP,
    terms=(Term("related", (1 - width_Q / width_P) * e_Q),),
    hypotheses=(_NESTED, _WITHIN),
    ambiguities=(_WHERE,),
)
SOURCE_EXCESS = Claim(
    id="safari.ex1.q",
    title="The excess risk under Q is a length over a width: from below",
    source="SAFARI, section 3.2, after Assumption 2",
    functional=NEGATED_SOURCE_EXCESS,
    terms=(Term("length", -distance / width_Q),),
    hypotheses=(_NESTED, _WITHIN),
    ambiguities=(_WHERE,),
)
_SUPPORT = (_NESTED, Hypothesis("in_the_support", at_most(outside, 0), "t in [a', b']"))
EXAMPLE_WITHIN = EXAMPLE.edited(
    "within", "SAFARI, section 3.2, after Assumption 2, for thresholds in the support of Q",
    title="Uniform distributions are (1 - (b'-a')/(b-a), 1)-positively related, for thresholds in the support of Q",
    hypotheses=_SUPPORT, ambiguities=(),
)  # fmt: skip
SOURCE_EXCESS_WITHIN = SOURCE_EXCESS.edited(
    "within", "SAFARI, section 3.2, after Assumption 2, for thresholds in the support of Q",
    title="The excess risk under Q is a length over a width, in the support of Q", hypotheses=_SUPPORT, ambiguities=(),
)  # fmt: skip
MIXTURE = Claim(
    id="safari.ex1",
    edition="corrected",
    title="A mixture with P is (alpha, 1)-positively related to P for alpha >= max(1, lambda_1/lambda_2)",
    source="SAFARI, section 3.2, for Q = lambda_1 D + lambda_2 P and one target",
    functional=RELATEDNESS_GAP,
    terms=(Term("related", alpha * e_Q),),
    hypotheses=(
        Hypothesis("at_least_1", at_least(alpha, 1), "e_Q - e_P <= e_Q"),
        Hypothesis("at_least_the_shares", at_least(alpha * (1 - share), share), "e_P <= e_Q/lambda_2"),
    ),
    assumptions=(Assumption("one_target", kind=ONE_TARGET, source="'Denote the target hypothesis t*'"), OF_THE_TARGET),
)

# Theorem 2 -----------------------------------------------------------------------------------------------------------

TRANSFER = Claim(
    id="safari.eq15",
    title="From Q to P",
    source="SAFARI, appendix A, (12) to (15)",
    functional=TARGET_EXCESS,
    terms=(Term("difference", gap), Term("source", e_Q)),
    assumptions=(RELATED,),
)
_rate = 1 / (2 - b)
_constant = 1 + alpha
_CONSTANTS = may_depend_on_the_problem(
    "O~ does not say whether its constant is one for all distributions or may depend on alpha, alpha_P and alpha_Q; in "
    "the second case it is read as any from an explicit one on"
)


def hidden(needed: object, option: str = readings.OF_THE_PROBLEM, source: str = "O~") -> Hypothesis:
    """Make the hypothesis on the constant of an O(.): at least 1, or under the reading ``option`` at least
    ``needed``."""
    return Hypothesis("constant", at_least(c, 1), source, alternatives={option: at_least(c, needed)})


_FEW_FAIL = Hypothesis("enough_samples", at_most(a, 1), "where A > 1 the rate says nothing")
THEOREM_2 = Claim(
    id="safari.thm2",
    title="Excess risk with a server's data",
    source="SAFARI, section 3.2, Theorem 2, (1); appendix A",
    functional=POOLED_EXCESS,
    terms=(Term("first", c * Pow(a, _rate)), Term("second", c * Pow(a, beta * _rate))),
    hypotheses=(hidden(_constant * (8 * nu + 2) ** (1 + beta)), _FEW_FAIL),
    assumptions=(NOISE_OF_Q, RELATED, OF_THE_TARGET),
    ambiguities=(_CONSTANTS,),
)
_excess_of_q = Pow(8 * nu * a, _rate) + 2 * a / 3
THEOREM_2_CORRECTED = THEOREM_2.edited(
    "corrected", "SAFARI, Theorem 2, with every constant, for finite classes",
    title="Excess risk with a server's data, with every constant",
    terms=(Term("source", _excess_of_q), Term("difference", alpha * Pow(_excess_of_q, beta))),
    hypotheses=(), ambiguities=(),
)  # fmt: skip
_BETA_1 = (
    Hypothesis("relatedness_exponent_is_1", at_least(beta, 1), "beta = 1"),
    Hypothesis("beta_at_most_1", at_most(beta, 1), "beta = 1"),
)
_NOISE_1 = (Hypothesis("noise_exponent_is_1", at_least(b, 1), "noise exponent 1"),)
THEOREM_2_MASSART = THEOREM_2_CORRECTED.edited(
    "massart", "SAFARI, Theorem 2, with every constant, at beta = beta_Q = 1",
    title="Excess risk with a server's data, at beta = beta_Q = 1",
    terms=(Term("source", (1 + alpha) * (2 * nu + Rational(2, 3)) * a),), hypotheses=(*_BETA_1, *_NOISE_1),
)  # fmt: skip

_excess_of_vc = Pow(128 * nu * a_d, _rate) + 32 * a_d
THEOREM_2_VC = THEOREM_2_CORRECTED.edited(
    "vc", "SAFARI, Theorem 2, with every constant, for classes of finite Vapnik-Chervonenkis dimension",
    title="Excess risk with a server's data, with every constant, by the dimension of the class",
    terms=(Term("source", _excess_of_vc), Term("difference", alpha * Pow(_excess_of_vc, beta))),
)  # fmt: skip

# "for 0 < beta < 1 ... an improvement from (1/n_T)^(1/(2 - beta_Q)) to (1/(n_T + n_S))^(beta/(2 - beta_Q))"
IMPROVEMENT = Claim(
    id="safari.thm2.improvement",
    title="What the clients' data improve for beta < 1",
    source="SAFARI, section 3.2, after Theorem 2",
    functional=of_values("pooled_rate", "(1/(n_T + n_S))^(beta/(2 - beta_Q))", Pow(1 / (n_T + n_S), beta * _rate),
                         r"\Big(\frac{1}{n_T+n_S}\Big)^{\frac{\beta}{2-\beta_Q}}"),
    terms=(Term("server_alone", Pow(1 / n_T, _rate)),),
    hypotheses=(
        Hypothesis("below_1", at_most(beta, 1), "0 < beta < 1"),
        Hypothesis("many_clients", at_least(n_S, 1000 * n_T), "n_S >> n_T"),
    ),
)  # fmt: skip
DOMINATES = Claim(
    id="safari.thm2.first",
    title="The first term dominates from beta = 1 on",
    source="SAFARI, section 3.2, after Theorem 2",
    functional=of_values("second_rate", "(d/(n_T + n_S))^(beta/(2 - beta_Q))", Pow(d / (n_T + n_S), beta * _rate),
                         r"\Big(\frac{d_{\mathcal{H}}}{n_T+n_S}\Big)^{\frac{\beta}{2-\beta_Q}}"),
    terms=(Term("first_rate", Pow(d / (n_T + n_S), _rate)),),
    hypotheses=(
        Hypothesis("from_1_on", at_least(beta, 1), "'when beta >= 1'"),
        Hypothesis("enough_samples", at_most(d, n_T + n_S), "else a bound above 1 says nothing", implicit=True),
    ),
)  # fmt: skip

# Theorem 3 ---------------------------------------------------------------------------------------------------------

THEOREM_3 = Claim(
    id="safari.thm3",
    title="No worse than the server alone",
    source="SAFARI, section 3.2, Theorem 3; appendix A, (19) to (21)",
    functional=CHECKED_EXCESS,
    terms=(Term("rate", c * Pow(a_T, _rate)),),
    hypotheses=(
        hidden(16 * nu + 5),
        Hypothesis("best_of_q", at_most(e_0, a_T), "e_P(h_Q*) = O(A(n_T, delta))"),
        Hypothesis("enough_samples", at_most(a_T, 1), "where A > 1 the rate says nothing"),
    ),
    assumptions=(NOISE_OF_P, OF_THE_TARGET),
    ambiguities=(_CONSTANTS,),
    letters=LETTERS_OF_P,
)
THEOREM_3_CORRECTED = THEOREM_3.edited(
    "corrected", "SAFARI, Theorem 3, with every constant, for finite classes",
    title="No worse than the server alone, with every constant",
    terms=(Term("rate", Pow(16 * nu * a_T, _rate)), Term("best", 2 * e_0), Term("complexity", 2 * a_T / 3)),
    hypotheses=(), ambiguities=(),
)  # fmt: skip
THEOREM_3_MASSART = THEOREM_3_CORRECTED.edited(
    "massart", "SAFARI, Theorem 3, with every constant, at beta_P = 1",
    title="No worse than the server alone, at beta_P = 1",
    terms=(Term("best", 3 * e_0), Term("rate", (2 * nu + Rational(2, 3)) * a_T)), hypotheses=_NOISE_1,
)  # fmt: skip
THEOREM_3_VC = THEOREM_3_CORRECTED.edited(
    "vc", "SAFARI, Theorem 3, with every constant, for classes of finite Vapnik-Chervonenkis dimension",
    title="No worse than the server alone, with every constant, by the dimension of the class",
    terms=(Term("rate", Pow(256 * nu * a_dT, _rate)), Term("best", 2 * e_0), Term("complexity", 32 * a_dT)),
)  # fmt: skip

EDITIONS = (
    THEOREM_1, THEOREM_1_SHARP, THEOREM_1_FUNCTIONS, TAIL, EXAMPLE, EXAMPLE_WITHIN, MIXTURE, SOURCE_EXCESS,
    SOURCE_EXCESS_WITHIN, TRANSFER, THEOREM_2, THEOREM_2_CORRECTED, THEOREM_2_MASSART, THEOREM_2_VC, IMPROVEMENT,
    DOMINATES, THEOREM_3, THEOREM_3_CORRECTED, THEOREM_3_MASSART, THEOREM_3_VC,
)  # fmt: skip
