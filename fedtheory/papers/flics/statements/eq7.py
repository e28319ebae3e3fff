"""FLICS, section III-B: display (7), its band, and the step by Hoeffding's bound between them.

Display (7) and the band are sums over groups of the inequalities for one group, which is what is stated here. There
n, the number of clients of a group, answer independently with probability r_i each.
"""

from __future__ import annotations

from sympy import Rational, exp, log

from ....claims import readings
from ....claims.hidden_constants import may_depend_on_the_problem
from ....claims.statement import Claim, Hypothesis, Term, at_least, at_most
from ....functionals import RATIO_FAILURE, of_values
from ....quantities import symbols

p, n, s, estimate, r = symbols(
    "group_weight", "group_clients", "group_participation", "participation_estimate", "response_probability"
)
epsilon, delta, t, C = symbols("relative_error", "failure_probability", "rounds", "hidden_constant")

_SOURCE = "FLICS, section III-B, (7)"
variance = p**2 / estimate**2 * (s - s**2 / n)
_printed = p**2 / estimate**2 * n * r * (1 - r)
_LATEX = r"\frac{p_i^2}{\hat s_i(t)^2}nr_i(1-r_i)"
_BAND = r"\frac{p_i^2}{\hat s_i(t)^2}\Big(s_i-\frac{s_i^2}{n}\Big)"
_given = {s: n * r}

AT_MOST = Claim(
    id="flics.eq7.a",
    title="The variance of a group, in its participation: at most",
    source=_SOURCE,
    functional=of_values("group_variance", "p^2/s^^2 n r (1 - r)", _printed, _LATEX),
    terms=(
        Term("participation", (p**2 / estimate**2 * s).subs(_given)),
        Term("square", -(p**2 / estimate**2 * s**2 / n).subs(_given)),
    ),
)
AT_LEAST = AT_MOST.edited(
    "main",
    _SOURCE,
    id="flics.eq7.b",
    title="The variance of a group, in its participation: at least",
    functional=of_values("negated_group_variance", "-p^2/s^^2 n r (1 - r)", -_printed, "-" + _LATEX),
    terms={term.name: -term.expression for term in AT_MOST.terms},
)

# Both counts are of at most n clients, which is not written.
_counts = (
    Hypothesis("participation_of_n", at_most(s, n), "a number of n clients", implicit=True),
    Hypothesis("estimate_of_n", at_most(estimate, n), "an empirical mean of such numbers", implicit=True),
)
_ratio = (
    Hypothesis("ratio_above", at_least(s, (1 - epsilon) * estimate), "before the band"),
    Hypothesis("ratio_below", at_most(s, (1 + epsilon) * estimate), "before the band"),
)
LOWER = Claim(
    id="flics.eq7.c",
    title="The band of (7): at least",
    source="FLICS, section III-B, after (7)",
    functional=of_values("negated_variance", "-p^2/s^^2 (s - s^2/n)", -variance, "-" + _BAND),
    terms=(Term("estimate", -(1 - epsilon) * p**2 / estimate), Term("clients", p**2 / n)),
    hypotheses=(*_ratio, *_counts),
)
UPPER = LOWER.edited(
    "main",
    LOWER.source,
    id="flics.eq7.d",
    title="The band of (7): at most",
    functional=of_values("variance", "p^2/s^^2 (s - s^2/n)", variance, _BAND),
    terms={"estimate": (1 + epsilon) * p**2 / estimate, "clients": -(p**2) / n},
)

# The O(.) with its constant spelled out; beta and delta, which are both printed, are one number. An O(.) is about small
# delta and epsilon. Where the constant may depend on the group it is read as any from an explicit one on.
HOEFFDING = Claim(
    id="flics.eq7.e",
    title="How many rounds make the estimates good",
    source="FLICS, section III-B, between (7) and the band",
    functional=RATIO_FAILURE,
    terms=(Term("failure", delta),),
    hypotheses=(
        Hypothesis("many_rounds", at_least(t, C * log(1 / delta) / epsilon**2), "t = O(log(1/delta)/epsilon^2)"),
        Hypothesis(
            "constant", at_least(C, 1), "O(.)", alternatives={readings.OF_THE_PROBLEM: at_least(C, 4 / (n * r**2))}
        ),
        Hypothesis("small_delta", at_most(delta, Rational(1, 2)), "O(.), delta to 0", implicit=True),
        Hypothesis("small_epsilon", at_most(epsilon, 1), "O(.), epsilon to 0", implicit=True),
    ),
    ambiguities=(
        may_depend_on_the_problem(
            "O(log(1/delta)/epsilon^2) does not say whether its constant is the same for all "
            "groups or may depend on how many clients there are and how often they answer"
        ),
    ),
)
# Hoeffding's bound is about |s - s^|: relative to s it costs 1/r^2.
HOEFFDING_CORRECTED = HOEFFDING.edited(
    "corrected",
    "FLICS, between (7) and the band, repaired",
    terms=(Term("failure", 2 * exp(-2 * n * t * epsilon**2 * r**2 / (1 + epsilon) ** 2)),),
    hypotheses=(),
    ambiguities=(),
)

EDITIONS = (AT_MOST, AT_LEAST, LOWER, UPPER, HOEFFDING, HOEFFDING_CORRECTED)
