"""The coefficient inequalities of FAST's proofs (appendix A.2 and A.3) as data, each with the outcome derived by hand.

A step is ``proved``, a ``gap`` (false as a statement about its coefficients, with a rational counterexample), or
``analytic`` (not rational, listed so that nothing is passed over). A gap is a gap of the proof: whether the theorem
fails is another question, which only an instance of the algorithm answers.

In the comments z = smoothness * local_steps * local_lr, h = q/m + (1 - q)/n, p = 1 - q.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import sympy

from ..quantities import symbols
from .positivity import weakest_cap
from .regions import Part, Region, at_least, capped, count, equal, interval, nonnegative, positive, region
from .steps import Step

L, mu, sigma_G = symbols("smoothness", "strong_convexity", "dissimilarity")
m, n, K = symbols("cohort", "arbitrary_cohort", "local_steps")
eta, q = symbols("local_lr", "snapshot_probability")
G1, G2, G3 = symbols("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")
squared_z = sympy.Symbol("squared_step")  # z^2, where a printed cap on z is irrational

z = L * K * eta
h = q / m + (1 - q) / n
_noise_rate = (q * n + (1 - q) * m) / (m * n)  # = h, as printed
_higher_order = (10 * q + 20 * (1 - q)) * L**2 * K * eta**2
_halves = sympy.Rational(1, 2)


def step(name: str) -> Step:
    """The step of that name; ``ValueError`` if there is none."""
    for candidate in STEPS:
        if candidate.name == name:
            return candidate
    raise ValueError(f"unknown step {name!r}: known are {', '.join(s.name for s in STEPS)}")


def _setting(*extra: Part, cap: sympy.Expr, least: int = 1) -> Region:
    """A step size under a cap, and all other quantities free."""
    return region(
        *extra,
        capped("local_lr", cap),
        positive("smoothness"),
        count("local_steps"),
        count("cohort", least),
        count("arbitrary_cohort", least),
        interval("snapshot_probability"),
    )


_CAP_8 = 1 / (8 * L * K)
_CAP_NOISE = _noise_rate / (5 * L * K)  # (nq + m(1-q)) / (5mnLK)

# A.2 -----------------------------------------------------------------------------------------------------------------


def _coefficient_identities() -> Iterable[Step]:
    """What is plugged in and multiplied out, coefficient by coefficient (of |grad F|^2, sigma_G^2, sigma^2)."""
    square = L**2 * K**2 * eta**2
    a, b, eps = sympy.symbols("a b epsilon")
    pairs = {
        # (6): L^2 eta/2 * K * (5K eta^2 (sigma^2 + 6K sigma_G^2) + 30K^2 eta^2 |grad F|^2)
        "a2.7": ("(6) to (7)", [
            (L**2 * eta / 2 * K * 30 * K**2 * eta**2, 15 * L**2 * K**3 * eta**3),
            (L**2 * eta / 2 * K * 5 * K * eta**2 * 6 * K, 15 * L**2 * K**3 * eta**3),
            (L**2 * eta / 2 * K * 5 * K * eta**2, sympy.Rational(5, 2) * L**2 * K**2 * eta**3),
        ]),
        "a2.13": ("(12) to (13)", [
            (15 * L**2 * K**3 * eta**3 * 4 / (K * eta), 60 * square),
            ((L * K * eta**2 / m + sympy.Rational(5, 2) * L**2 * K**2 * eta**3) * 4 / (K * eta),
             4 * L * eta / m + 10 * L**2 * K * eta**2),
            (L * eta**2 * 4 / (K * eta), 4 * L * eta / K),
        ]),
        "a2.17": ("(16) to (17)", [
            (2 * L**2 * 30 * K**2 * eta**2, 60 * square),
            (2 + 2 * L**2 * 30 * K**2 * eta**2, 2 + 60 * square),
            (2 * L**2 * 5 * K * eta**2, 10 * L**2 * K * eta**2),
        ]),
        "a2.18": ("(15), (17) to (18)", [
            (eta / 2 * K * 60 * square, 30 * L**2 * K**3 * eta**3),
            (eta / 2 * K * (2 + 60 * square), K * eta + 30 * L**2 * K**3 * eta**3),
            (eta / 2 * K * 10 * L**2 * K * eta**2, 5 * L**2 * K**2 * eta**3),
        ]),
        "a2.23": ("(22) to (23)", [
            ((K * eta + 30 * L**2 * K**3 * eta**3) * 4 / (K * eta), 4 + 120 * square),
            ((L * K * eta**2 / n + 5 * L**2 * K**2 * eta**3) * 4 / (K * eta),
             4 * L * eta / n + 20 * L**2 * K * eta**2),
            ((eta / (2 * K) - L * eta**2) * 4 / (K * eta), 2 / K**2 - 4 * L * eta / K),
        ]),
        # q times (13) plus p times (23), without the squares of (24) and 4 sigma_G^2, which the q-condition is for
        "a2.24": ("(24), first inequality", [
            (q * (4 * L * eta / m + 10 * L**2 * K * eta**2) + (1 - q) * (4 * L * eta / n + 20 * L**2 * K * eta**2),
             4 * _noise_rate * L * eta + _higher_order),
            (q * 60 * square + (1 - q) * 120 * square, (120 * (1 - q) + 60 * q) * square),
        ]),
        # the same sums serve (29) (with m) and (37) (with n); 2 L^2 K^2 eta^2 times the drift bound
        "a3.29": ("(29), (37)", [
            (2 * square * 30 * square + 4 * square, 4 * square + 60 * square**2),
            (2 * square * 30 * K**2 * eta**2 + 4 * K**2 * eta**2, 4 * K**2 * eta**2 + 60 * L**2 * K**4 * eta**4),
            (2 * square * 5 * K * eta**2 + K * eta**2 / m, K * eta**2 / m + 10 * L**2 * K**3 * eta**4),
        ]),
        # (26) takes A_7 with the factor -2 eta
        "a3.30_plugging": ("(28) to (30)", [
            (2 * eta * 3 * mu * K / 4, 3 * mu * K * eta / 2),
            (2 * eta * 30 * L**3 * K**3 * eta**2, 60 * z**3),
            (2 * eta * 30 * L * K**3 * eta**2, 60 * L * K**3 * eta**3),
            (2 * eta * 5 * L * K**2 * eta**2, 10 * L * K**2 * eta**3),
        ]),
        # of vectors too: both sides are the same combination of |a|^2, <a, b> and |b|^2
        "a3.33": ("(32) to (33)", [
            (a**2 / (4 * eps) + eps * b**2 + a * b, (a + 2 * eps * b) ** 2 / (4 * eps)),
        ]),
        "a3.35": ("(34) to (35)", [
            (2 * L * K * eta * 30 * square, 60 * L**3 * K**3 * eta**3),
            (2 * L * K * eta * 5 * K * eta**2 * 6 * K, 60 * L * K**3 * eta**3),
            (2 * L * K * eta * 5 * K * eta**2, 10 * L * K**2 * eta**3),
        ]),
    }  # fmt: skip
    for name, (equation, sides) in pairs.items():
        for index, (left, right) in enumerate(sides, 1):
            yield Step(
                f"{name}_coefficient_{index}",
                equation,
                f"{left} = {right}",
                "proved",
                "plugging in",
                left - right,
                identity=True,
            )


def _left_side(constant: int, squared: sympy.Expr) -> sympy.Expr:
    """1/2 - constant z^2 >= 1/4."""
    return _halves - constant * squared - sympy.Rational(1, 4)


def squared_cap(cap: sympy.Rational) -> Region:
    """z^2 <= cap."""
    return region(capped("squared_step", cap))


_EQUAL_COHORTS = {
    size: region(
        capped("local_lr", cap / (L * K)),
        positive("smoothness"),
        count("local_steps"),
        equal("cohort", sympy.Integer(size)),
        equal("arbitrary_cohort", sympy.Integer(size)),
        interval("snapshot_probability"),
    )
    # m = n: h = 1/m, so the caps 1/8 and h/5 give z <= 1/8 for m = 1 and z <= 1/(5m) above
    for size, cap in ((1, sympy.Rational(1, 8)), (2, sympy.Rational(1, 10)))
}

_A2 = (
    # z^2 <= 1/60: 15 z^2 <= 1/4, with equality at the cap
    Step("a2.11_under_its_own_cap", "(10) to (11)", "1/2 - 15 z^2 >= 1/4 under z <= 1/(2 sqrt(15))",
         "proved", "15/60 = 1/4", _left_side(15, squared_z), (squared_cap(sympy.Rational(1, 60)),)),
    # 15/64 < 16/64: the theorem's cap 1/8 implies 1/(2 sqrt(15)) = 1/7.75
    Step("a2.11_under_the_cap_1/8", "(10) to (11)", "1/2 - 15 z^2 >= 1/4 under the theorem's z <= 1/8",
         "proved", "15/64 <= 1/4", _left_side(15, z**2), (_setting(cap=_CAP_8),)),
    Step("a2.22_under_its_own_cap", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under z <= 1/(2 sqrt(30))",
         "proved", "30/120 = 1/4", _left_side(30, squared_z), (squared_cap(sympy.Rational(1, 120)),)),
    # 30/64 > 16/64: the theorem's cap 1/8 does not imply 1/(2 sqrt(30)) = 1/10.95
    Step("a2.22_under_the_cap_1/8", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under the theorem's z <= 1/8",
         "gap", "at z = 1/8 it is 1/32", _left_side(30, z**2), (_setting(cap=_CAP_8),)),
    # both caps of the theorem: fails exactly where min(1/8, h/5) > 1/sqrt(120), that is h > 5/sqrt(120) = 0.4564
    Step("a2.22_under_both_caps_m=n=1", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under both caps, m = n = 1",
         "gap", "h = 1: the caps give z <= 1/8", _left_side(30, z**2), (_EQUAL_COHORTS[1],)),
    Step("a2.22_under_both_caps_m=n=2", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under both caps, m = n = 2",
         "gap", "h = 1/2: the caps give z <= 1/10, 30/100 > 1/4", _left_side(30, z**2), (_EQUAL_COHORTS[2],)),
    Step("a2.22_under_both_caps_m,n>=3", "(21) to (22)", "1/2 - 30 z^2 >= 1/4 under both caps, m >= 3 and n >= 3",
         "proved", "h <= 1/3: z <= 1/15, 30/225 < 1/4", _left_side(30, z**2), (_setting(cap=_CAP_NOISE, least=3),),
         printed=False),
    # 1/2 - 30/64 = 1/32: under the theorem's cap only the factor 32 (not 4) can be taken
    Step("a2.22_with_1/32", "(21) to (22)", "1/2 - 30 z^2 >= 1/32 under z <= 1/8",
         "proved", "30/64 = 15/32", _halves - 30 * z**2 - sympy.Rational(1, 32), (_setting(cap=_CAP_8),),
         printed=False),
    # q [G1 + N - 2 z G3] >= N with N = (2z - 1) G2 + 2 K^2 sigma_G^2, from 2/K^2 times it
    Step("a2.24_q_condition_as_a_product", "(24)", "the sum to be dropped is 2/K^2 (N - q (G1 + N - 2 z G3))",
         "proved", "multiplying out",
         -2 / K**2 * q * G1 + 4 * L * eta / K * q * G3 - (2 / K**2 - 4 * L * eta / K) * (1 - q) * G2
         + 4 * (1 - q) * sigma_G**2
         - 2 / K**2 * ((2 * z - 1) * G2 + 2 * K**2 * sigma_G**2
                       - q * (G1 + (2 * z - 1) * G2 - 2 * z * G3 + 2 * K**2 * sigma_G**2)),
         identity=True),
    # with numerator N and denominator D symbols of their own: q >= N / D, D > 0 gives q D >= N
    Step("a2.24_q_condition_divided_by_D>0", "(24)", "q >= N/D implies q D >= N where D > 0",
         "proved", "q = N/D + s: q D - N = s D", sympy.Symbol("q") * sympy.Symbol("D") - sympy.Symbol("N"),
         tuple(region(at_least("q", sympy.Symbol("N") / sympy.Symbol("D")),
                      equal("N", sign * sympy.Symbol("size")), nonnegative("size"), positive("D"))
               for sign in (1, -1)), printed=False),
    # D < 0 <= N: every q >= 0 satisfies the quotient, none the product; D = -d needs 2 z G3 = G1 + N + d
    Step("a2.24_q_condition_divided_by_D<0", "(24)", "q >= N/D implies q D >= N where D < 0",
         "gap", "-q d - N < 0", q * (G1 + (2 * z - 1) * G2 - 2 * z * G3 + 2 * K**2 * sigma_G**2)
         - (2 * z - 1) * G2 - 2 * K**2 * sigma_G**2,
         (_setting(
             equal("peak_cohort_pseudogradient",
                   (G1 + sympy.Symbol("d") + (2 * z - 1) * G2 + 2 * K**2 * sigma_G**2) / (2 * z)),
             equal("peak_arbitrary_pseudogradient", sympy.Integer(0)), nonnegative("peak_full_pseudogradient"),
             positive("dissimilarity"), positive("d"), cap=_CAP_8),)),
    # two snapshot rounds with squares g1 = G1 >= g2: -(g1 + g2) / 2 <= -G1 needs g2 = G1
    Step("a2.24_squares_replaced_by_their_maximum", "(24)",
         "- (mean of the squares over the snapshot rounds) <= - G_1, their maximum",
         "gap", "the mean is below the maximum", (G1 + sympy.Symbol("g2")) / 2 - G1,
         (region(interval("g2", high=G1), positive("peak_full_pseudogradient")),)),
    # the last inequality of (24) drops a nonnegative term; its coefficient would have to be <= 0
    Step("a2.24_noise_term_dropped", "(24), last line", "4 h L eta + (10q + 20p) L^2 K eta^2 <= 4 h L eta",
         "gap", "the dropped coefficient is positive", -_higher_order, (_setting(cap=_CAP_NOISE, least=2),)),
    # z <= h/5: (10q + 20p) z <= (2q + 4p) h = (4 - 2q) h, so 4 + 4 - 2q <= 8
    Step("a2.24_noise_with_8", "(24), last line", "4 h L eta + (10q + 20p) L^2 K eta^2 <= 8 h L eta",
         "proved", "(10q + 20p) z <= 20 h/5 = 4h", 4 * h * L * eta - _higher_order, (_setting(cap=_CAP_NOISE),),
         printed=False),
    Step("a2.24_noise_with_8-2q", "(24), last line", "4 h L eta + (10q + 20p) L^2 K eta^2 <= (8 - 2q) h L eta",
         "proved", "(10q + 20p) z <= (4 - 2q) h, equality at z = h/5",
         (4 - 2 * q) * h * L * eta - _higher_order, (_setting(cap=_CAP_NOISE),), printed=False),
    # for m, n >= 2 the cap h/5 <= 1/10 is the smaller one and is attained: at q = 0 nothing below 8 will do
    Step("a2.24_noise_with_7.92", "(24), last line", "4 h L eta + (10q + 20p) L^2 K eta^2 <= 7.92 h L eta",
         "gap", "at q = 0, z = h/5 the left side is 8 h L eta",
         sympy.Rational(392, 100) * h * L * eta - _higher_order, (_setting(cap=_CAP_NOISE, least=2),), printed=False),
)  # fmt: skip

# A.3 -----------------------------------------------------------------------------------------------------------------


_TWENTIETH = sympy.Rational(1, 20)


def distance_absorption() -> sympy.Expr:
    """8 z^2 minus what (30) and (38) absorb into it (coefficient of |x_r - x*|^2)."""
    return 8 * z**2 - (60 * z**3 + 4 * z**2 + 60 * z**4)


def dissimilarity_absorption() -> sympy.Expr:
    """8 K^2 eta^2 minus what is absorbed into it (coefficient of sigma_G^2)."""
    return 8 * K**2 * eta**2 - (4 * K**2 * eta**2 + 60 * L * K**3 * eta**3 + 60 * L**2 * K**4 * eta**4)


def noise_absorption(size: sympy.Expr) -> sympy.Expr:
    """2K eta^2 / size minus what is absorbed into it (coefficient of sigma^2)."""
    return 2 * K * eta**2 / size - (K * eta**2 / size + 10 * L * K**2 * eta**3 + 10 * L**2 * K**3 * eta**4)


def cohort_cap(size: sympy.Expr, constant: sympy.Expr = _TWENTIETH) -> Region:
    """z <= constant / size."""
    return _setting(cap=constant / (size * L * K))


def _absorptions(equation: str, size: sympy.Expr) -> Iterable[Step]:
    cap = (cohort_cap(size),)
    name, letter = f"a3.{equation[1:-1]}", {m: "m", n: "n"}[size]
    under = f"under z <= 1/(20 {letter})"
    # divided by z^2 (by K^2 eta^2): 60 z + 60 z^2 <= 4; at z = 1/20 it is 3.15
    yield Step(f"{name}_distance", equation, f"60 z^3 + 4 z^2 + 60 z^4 <= 8 z^2 {under}", "proved", "3.15 <= 4",
               distance_absorption(), cap)  # fmt: skip
    yield Step(f"{name}_dissimilarity", equation, f"4 + 60 z + 60 z^2 <= 8, times K^2 eta^2, {under}", "proved",
               "3.15 <= 4", dissimilarity_absorption(), cap)  # fmt: skip
    # divided by K eta^2: 10 z + 10 z^2 <= 1/m; at z = 1/(20m) it is 0.5/m + 0.025/m^2
    yield Step(f"{name}_noise", equation, f"1/{letter} + 10 z + 10 z^2 <= 2/{letter}, times K eta^2, {under}",
               "proved", "0.5/m + 0.025/m^2 <= 1/m", noise_absorption(size), cap)  # fmt: skip


EPSILON = {"main": sigma_G**2 / (K * eta), "appendix": 1 / (K * eta)}
"""The free constant of (33) by edition: the main text's (and the proof's), and the one that (25) corresponds to."""

CONTRACTION = {
    edition: mu * K * eta / 2 - (1 - q) * 2 * K * eta * epsilon - 8 * z**2 for edition, epsilon in EPSILON.items()
}
"""(39), coefficient of |x_r - x*|^2: mu K eta / 2 minus p 2K eta epsilon + 8 z^2."""

_RADIUS = {"main": sigma_G**2, "appendix": sympy.Integer(1)}


def q_condition_holds(edition: str) -> Region:
    """The q-condition, solved for mu: mu K eta = 4 p r + 16 z^2 + s, r = sigma_G^2 (main) or 1 (appendix), and nothing
    else assumed."""
    return region(
        at_least("strong_convexity", (4 * (1 - q) * _RADIUS[edition] + 16 * z**2) / (K * eta)),
        positive("local_lr"),
        positive("smoothness"),
        positive("dissimilarity"),
        count("local_steps"),
        interval("snapshot_probability"),
    )


def all_hypotheses_hold(edition: str) -> Region:
    """A part of where every hypothesis of the edition holds, for counterexamples: m = n = 1, mu = L, z <= 1/20, and
    p = (z - 16 z^2) share / (4 r) with 0 <= share <= 1, which is in [0, 1]; in the main text sigma_G >= 1 to that end.
    """
    return region(
        equal("snapshot_probability", 1 - (z - 16 * z**2) * sympy.Symbol("share") / (4 * _RADIUS[edition])),
        interval("share"),
        at_least("dissimilarity", sympy.Integer(1)) if edition == "main" else positive("dissimilarity"),
        equal("strong_convexity", L),
        capped("local_lr", 1 / (20 * L * K)),
        positive("smoothness"),
        count("local_steps"),
    )


_THIRTY_SECOND = sympy.Rational(1, 32)


def forced_probability() -> tuple[Region, ...]:
    """The appendix's q-condition, q = 1 - (mu K eta - 16 z^2)/4 + s, with mu <= L, in the cases z <= 1/32 and
    z >= 1/32."""
    cases = (capped("local_lr", _THIRTY_SECOND / (L * K)), at_least("local_lr", _THIRTY_SECOND / (L * K)))
    return tuple(
        region(
            at_least("snapshot_probability", 1 - (mu * K * eta - 16 * z**2) / 4),
            interval("strong_convexity", high=L),
            case,
            positive("smoothness"),
            count("local_steps"),
        )
        for case in cases
    )


_q_range = (region(interval("snapshot_probability"), positive("dissimilarity"), count("local_steps"),
                   positive("local_lr"), count("cohort"), count("arbitrary_cohort")),)  # fmt: skip

_mixed_noise = q * 2 * K * eta**2 / m + (1 - q) * 2 * K * eta**2 / n

_A3 = (
    Step("a3.27_cap_of_the_drift_lemma", "(27), (34)", "z <= 1/(20 m) implies the drift lemma's z <= 1/8",
         "proved", "20 m >= 8", sympy.Rational(1, 8) - z, (cohort_cap(m),)),
    *_absorptions("(30)", m),
    *_absorptions("(38)", n),
    # 60/16 + 60/256 = 3.98 <= 4 and 10/11 + 10/121 = 0.992 <= 1: smaller constants do, the first without the cohort
    Step("a3.30_distance_with_1/16", "(30), (38)", "60 z^3 + 4 z^2 + 60 z^4 <= 8 z^2 under z <= 1/16",
         "proved", "3.98 <= 4", distance_absorption(), (_setting(cap=1 / (16 * L * K)),), printed=False),
    Step("a3.30_dissimilarity_with_1/16", "(30), (38)", "4 + 60 z + 60 z^2 <= 8, times K^2 eta^2, under z <= 1/16",
         "proved", "3.98 <= 4", dissimilarity_absorption(), (_setting(cap=1 / (16 * L * K)),), printed=False),
    Step("a3.30_noise_with_1/11", "(30)", "1/m + 10 z + 10 z^2 <= 2/m, times K eta^2, under z <= 1/(11 m)",
         "proved", "10/11 + 10/121 <= 1", noise_absorption(m), (cohort_cap(m, sympy.Rational(1, 11)),), printed=False),
    # p 4K eta eps = 4 p sigma_G^2 (main) or 4 p (appendix): the q-condition, halved, word for word
    Step("a3.39_contraction_main", "(39)", "p 2K eta eps + 8 z^2 <= mu K eta/2, eps and q-condition of the main text",
         "proved", "it is the q-condition", CONTRACTION["main"], (q_condition_holds("main"),)),
    Step("a3.39_contraction_appendix", "(39)", "the same with eps = 1/(K eta) and the appendix's q-condition",
         "proved", "it is the q-condition", CONTRACTION["appendix"], (q_condition_holds("appendix"),)),
    # the appendix prints the statement (25) but proves (39) with eps = sigma_G^2/(K eta): 4 p sigma_G^2 > 4 p
    # where sigma_G > 1 (in the unit of the paper's 1)
    Step("a3.39_contraction_appendix_condition_main_epsilon", "(39)",
         "the same with the appendix's q-condition and the eps that its proof names",
         "gap", "sigma_G^2 > 1 at equality of the q-condition", CONTRACTION["main"],
         (all_hypotheses_hold("appendix"),)),
    # p K eta sigma_G^2 / (2 eps)
    Step("a3.39_floor_main", "(39)", "p K eta sigma_G^2/(2 eps) = p/2 K^2 eta^2, eps of the main text",
         "proved", "plugging in", (1 - q) * K * eta * sigma_G**2 / (2 * EPSILON["main"]) - (1 - q) / 2 * K**2 * eta**2,
         identity=True),
    Step("a3.39_floor_appendix", "(25)", "p K eta sigma_G^2/(2 eps) = p/2 K^2 eta^2 sigma_G^2, eps = 1/(K eta)",
         "proved", "plugging in",
         (1 - q) * K * eta * sigma_G**2 / (2 * EPSILON["appendix"]) - (1 - q) / 2 * K**2 * eta**2 * sigma_G**2,
         identity=True),
    Step("a3.39_floor_appendix_statement_main_epsilon", "(39), (25)",
         "p K eta sigma_G^2/(2 eps), eps of the proof, is at most (25)'s p/2 K^2 eta^2 sigma_G^2",
         "gap", "1 > sigma_G^2",
         (1 - q) / 2 * K**2 * eta**2 * sigma_G**2 - (1 - q) * K * eta * sigma_G**2 / (2 * EPSILON["main"]), _q_range),
    Step("a3.39_noise_with_2", "(39), last line", "q 2K eta^2/m + p 2K eta^2/n = 2 (qn + pm)/(mn) K eta^2",
         "proved", "common denominator", _mixed_noise - 2 * _noise_rate * K * eta**2, identity=True),
    Step("a3.39_noise_with_4", "(39), middle line", "q 2K eta^2/m + p 2K eta^2/n <= 4K (qn + pm)/(mn) eta^2",
         "proved", "2 <= 4", 4 * _noise_rate * K * eta**2 - _mixed_noise, _q_range),
    Step("a3.39_noise_from_4_to_2", "(39), middle to last line", "4K (qn + pm)/(mn) eta^2 <= 2 (qn + pm)/(mn) K eta^2",
         "gap", "4 > 2; the last line holds all the same, directly from (30) and (38)",
         -2 * _noise_rate * K * eta**2, _q_range),
    Step("a3.40_factor_nonnegative", "(40)", "1 - mu K eta >= 0", "proved", "mu K eta <= z <= 1/20", 1 - mu * K * eta,
         (region(interval("strong_convexity", high=L), capped("local_lr", 1 / (20 * m * L * K)),
                 positive("smoothness"), count("local_steps"), count("cohort")),)),
    Step("a3.40_floors_main", "(40)", "(39)'s additive terms over mu K eta are the printed floors, first of three",
         "proved", "dividing", (1 - q) / 2 * K**2 * eta**2 / (mu * K * eta) - (1 - q) / (2 * mu) * K * eta,
         identity=True),
    Step("a3.40_floors_dissimilarity", "(40)", "second of three", "proved", "dividing",
         8 * K**2 * eta**2 / (mu * K * eta) - 8 / mu * K * eta, identity=True),
    Step("a3.40_floors_noise", "(40)", "third of three", "proved", "dividing",
         2 * _noise_rate * K * eta**2 / (mu * K * eta) - 2 * (q * n + (1 - q) * m) / (m * n * mu) * eta,
         identity=True),
    # (8) and (19) of A.2 pay a factor 2 for it; A_8 and A_10 do not
    Step("a3.29_noise_separated", "(29), (36)", "E |sum of stochastic gradients|^2 <= E |sum of gradients|^2 + noise",
         "analytic", "not decided here: later gradients depend on earlier noise, so the cross term is not 0"),
    Step("a3.40_geometric_sum", "(40)", "sum over r of (1 - a)^r <= 1/a for 0 < a <= 1", "analytic",
         "induction over the rounds: (1 - (1 - a)^R)/a, and (1 - a)^R >= 0"),
    Step("a3.40_exponential", "(40)", "(1 - a)^R <= exp(-a R)", "analytic", "1 - a <= exp(-a), both sides >= 0"),
    # not printed: 4 p <= mu K eta - 16 z^2 <= z - 16 z^2 <= 1/64, the maximum being at z = 1/32
    Step("a3.25_forces_q", "(25)", "the appendix's q-condition forces q >= 255/256", "proved",
         "4 p <= z - 16 z^2 <= 1/64", q - sympy.Rational(255, 256), forced_probability(), printed=False),
)  # fmt: skip

STEPS: tuple[Step, ...] = (*_coefficient_identities(), *_A2, *_A3)

CAPS = {
    "a2.11": (_left_side(15, z**2), lambda c: _setting(cap=c / (L * K))),
    "a2.22": (_left_side(30, z**2), lambda c: _setting(cap=c / (L * K))),
    "a3.30_distance": (distance_absorption(), lambda c: cohort_cap(m, c)),
    "a3.30_dissimilarity": (dissimilarity_absorption(), lambda c: cohort_cap(m, c)),
    "a3.30_noise": (noise_absorption(m), lambda c: cohort_cap(m, c)),
    "a3.38_noise": (noise_absorption(n), lambda c: cohort_cap(n, c)),
}
"""Inequality and region by the constant c of the cap: z <= c in A.2, z <= c/m or c/n in A.3."""


def cap_of(name: str, tolerance: Fraction = Fraction(1, 10**4)) -> tuple[Fraction | None, Fraction | None]:
    """The weakest cap of a step: the largest constant proved, and the smallest refuted.

    >>> proved, refuted = cap_of("a2.22", Fraction(1, 100))
    >>> bool(proved**2 <= Fraction(1, 120) <= refuted**2)
    True
    """
    if name not in CAPS:
        raise ValueError(f"no cap is named {name!r}: known are {', '.join(CAPS)}")
    expression, where = CAPS[name]
    return weakest_cap(expression, where, Fraction(0), Fraction(1, 2), tolerance)
