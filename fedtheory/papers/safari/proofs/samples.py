"""SAFARI's statements on learners and samples, composed by the kernel: of finite classes, thresholds, mixtures, and of
learners whose clients stay away.

N hypotheses, n samples of the pool or of the server; a = log(N/delta)/n. With e for an excess risk, r = 1/(2 - b) and
Bernstein's inequality without centring, a minimiser has

    e <= sqrt(2 nu e^b a) + a/3, and so e <= (8 nu a)^r + 2a/3.

By the growth L of a class of dimension d the same holds with sqrt(32 nu e^b L) + 16 L in the place of the right side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

from ....claims import readings
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.sampling_laws import (
    ANY, BEST_OF_P, BEST_OF_Q, CHECKED, CLIENTS, MINIMISER, OTHER, POOL, SERVER, TARGET, Meaning, Problem,
    SampleTheorem, absolute, add, bernstein, bounds, bounds_deviation, cancel, cantelli, checked, excess, frequent,
    largest, learner, level_of_power, minimiser, mixture, noise, of_maximum, of_target, order_of_exponents,
    power_at_most, power_of_power, power_of_product, probability, raised, related, related_gap, relative, root, solve,
    split, sum_of_exponents, triangle, uniform, growth_at_most, least, power_at_least, relative_pair,
)  # fmt: skip
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.translate.sample_bounds import OfSamples

Multiples = list[tuple[SampleTheorem, Scalar | int]]
"""Theorems, each with its multiplier."""
Numbers = Mapping[str, Meaning]
"""Meanings of letters."""

_FREE = "SA c eps d n_T n_S N n delta alpha beta nu b share M m away dist w_P w_Q"
_NUMBERS = (
    "a a2 a3 R R0 R1 F F0 F1 D D0 D1 D2 e e0 e1 eD eP E z z0 zE zb w w0 v va vb y wa a1 A8 x1 G GG gap off s fails "
    "X t Y X1 p f u1 u2 one two L A B fA fB wA wB uB W0 cx mn"
)
RING = Ring(f"{_FREE} {_NUMBERS}")
SA, c, eps, d, n_T, n_S, N, n, delta, alpha, beta, nu, b, share, M, m, _, dist, w_P, w_Q = (
    RING[name] for name in _FREE.split()
)
_one, _half, _third = RING.number(1), RING.number(Fraction(1, 2)), RING.number(Fraction(1, 3))
_rate = 1 / (2 - b)

_USUAL = (
    Condition("N", "count"), Condition("delta", "capped", _one), Condition("n", "count"), Condition("d", "count"),
    Condition("nu", "nonnegative"), Condition("b", "interval", _one), Condition("alpha", "nonnegative"),
    Condition("beta", "nonnegative"),
)  # fmt: skip


def _problem(parameters: Mapping[str, Scalar], numbers: Numbers, *conditions: Condition) -> Problem:
    """Return the problem with these conditions, and the usual ones of all other letters that occur."""
    parts = (part for meaning in numbers.values() for part in meaning if isinstance(part, Scalar))
    used = {name for part in (*parameters.values(), *parts) for name in part.names} - {c.name for c in conditions}
    return Problem(Where(RING, (*conditions, *(c for c in _USUAL if c.name in used))), parameters, numbers)


def _power(base: Scalar, exponent: Scalar | int) -> Meaning:
    return "power", base, _one * exponent


def _root(base: Scalar) -> Meaning:
    return "power", base, _half


# Hypotheses that samples choose -------------------------------------------------------------------------------------

_OF_DRAWN, _OF_GROWTH = "a a2 a3 D e e0 eP E z z0 zE w w0 y wa p f u1 u2", "L A B fA fB wA wB uB W0 cx"
a, a2, a3, D, e, e0, eP, E, z, z0, zE, w, w0, y, wa, p, f, u1, u2 = (RING[name] for name in _OF_DRAWN.split())
L, A, B, fA, fB, wA, wB, uB, W0, cx = (RING[name] for name in _OF_GROWTH.split())


_POOLED, _SERVED, _PAIR = (POOL, MINIMISER, BEST_OF_Q), (SERVER, CHECKED, BEST_OF_Q), (POOL, ANY, OTHER)
"""Samples, the hypothesis that they draw, and the one that it is compared with."""


def _learned(
    letters: str, pair: tuple[str, str, str], own: Numbers | None = None, *conditions: Condition, massart: bool = False
) -> Problem:
    """Return the problem of these numbers, of a pair of hypotheses: R and R0 their risks, F and F0 their frequencies of
    errors, A and B what only one of them errs in, fA and fB how often; e the drawn one's excess risk, under P of a
    checked one, e0 that of h_Q*. ``own`` numbers are something else. All exponents are 1 if it is ``massart``'s."""
    names, (sample, drawn, than), (power, moved) = letters.split(), pair, (_one, _one) if massart else (b, beta)
    of_server, width = sample == SERVER, 32 * L if "L" in names else 2 * a
    known: dict[str, Meaning] = {
        "a": ("level", delta / N, n), "a2": ("level", delta / N**2, n), "L": ("growth", delta, n, d),
        "cx": ("complexity", delta, n, d),
        "R": ("risk", sample, drawn), "R0": ("risk", sample, than), "R1": ("risk", TARGET, BEST_OF_P),
        "one": ("risk", TARGET, drawn), "two": ("risk", TARGET, BEST_OF_Q),
        "F": ("frequency", sample, drawn), "F0": ("frequency", sample, than),
        "A": ("only", sample, drawn, than), "B": ("only", sample, than, drawn),
        "fA": ("only frequency", sample, drawn, than), "fB": ("only frequency", sample, than, drawn),
        "D": ("disagreement", sample, than, drawn), "D0": ("disagreement", TARGET, than, drawn),
        "D1": ("disagreement", TARGET, BEST_OF_P, drawn), "D2": ("disagreement", TARGET, BEST_OF_P, BEST_OF_Q),
        "p": ("disagreement", sample, drawn, than), "f": ("disagreement frequency", sample, drawn, than),
        "e": ("excess", TARGET if of_server else sample, drawn), "eP": ("excess", TARGET, drawn),
        "e0": ("excess", TARGET, BEST_OF_Q), "E": ("maximum", e, e0),
        "z": _power(e, power), "z0": _power(e0, power), "zE": _power(E, power), "zb": _power(e, moved),
        "w0": _root(D * width), "W0": _root(D * width), "wA": _root(16 * L * A), "wB": _root(16 * L * fB),
        "uB": _root(16 * L * B), "w": _root(nu * width * (2 * zE if of_server else z)),
        "y": _power(nu * width * (8 if of_server else 4), _rate), "wa": _power(a, _rate), "a1": _power(a, 1),
    }  # fmt: skip
    parameters = {} if "L" in names else {"class_size": N}
    parameters["server_samples" if of_server else "samples"] = n
    parameters |= {"vc_dimension": d} if "L" in names else {}
    parameters |= {"noise_constant": nu, "noise_exponent": power} if {"z", "z0"} & {*names} else {}
    parameters |= {"relatedness": alpha, "relatedness_exponent": moved} if "eP" in names else {}
    return _problem(parameters, {name: (own or {}).get(name) or known[name] for name in names}, *conditions)


def _level(of: Problem) -> tuple[str, Scalar, Scalar]:
    """Return what a drawn hypothesis is worse by than its errors say: the letter of sqrt(x D), x, and what is added."""
    return ("W0", 32 * L, 16 * L) if "L" in of.numbers else ("w0", 2 * a, a / 3)


def _ahead(of: Problem, sample: str, drawn: str, fewer: SampleTheorem) -> Multiples:
    """R - R0 <= sqrt(2 D a) + a/3, or sqrt(32 L D) + 16 L, where the drawn hypothesis has no more errors than h_Q* on
    the samples: A - B <= fB + wA - B <= wA + wB, wB <= uB + 16 L, (wA + uB)^2 <= 2 (wA^2 + uB^2) = 32 L D."""
    if "a" in of.numbers:
        return [(bernstein(of, sample, drawn, BEST_OF_Q, "a"), 1), (fewer, 1)]
    below, above = (relative(of, sample, drawn, BEST_OF_Q, "L", side) for side in (False, True))
    rooted = add(of, [(root(of, "uB"), 1), (root(of, "wB"), -1), (above, 16 * L)], constant=16 * L * uB)
    of_frequency = cancel(rooted, uB + wB)  # uB + 16 L - wB >= 0
    parts = {kind: split(of, kind, sample, drawn, BEST_OF_Q) for kind in ("disagreement", "frequency", "risk")}
    roots: Multiples = [(root(of, "W0"), 1), (root(of, "wA"), -2), (root(of, "uB"), -2)]
    square = add(of, [*roots, (parts["disagreement"], 32 * L)], squares=[(wA - uB, 1)])
    both = cancel(square, W0 + wA + uB)
    premises: Multiples = [(each, 1) for each in (below, above, fewer, parts["frequency"], of_frequency, both)]
    return [(add(of, [*premises, (parts["risk"], -1)]), 1)]


_BY_SIZE, _BY_GROWTH = "a R R0 F F0 D e z w0 w y", "R R0 F F0 D e z L A B fA fB wA wB uB W0 w y"
_TO_TARGET = "a R R0 F F0 D e eP z zb w0 w y"
"""Numbers of a minimiser of the pool; and of one whose excess risk under P is bounded."""


def _minimiser(of: Problem) -> SampleTheorem:
    """e <= sqrt(2 D a) + a/3, or sqrt(32 L D) + 16 L."""
    ahead = _ahead(of, POOL, MINIMISER, minimiser(of, MINIMISER, BEST_OF_Q))
    return add(of, [*ahead, (excess(of, POOL, MINIMISER), -1)])


def _source(of: Problem) -> SampleTheorem:
    """e <= (8 nu a)^r + 2a/3, or (128 nu L)^r + 32 L."""
    letter, width, _ = _level(of)
    wider = raised(add(of, [(noise(of, POOL, MINIMISER), width)]), "w", letter)
    return solve(add(of, [(_minimiser(of), 1), (wider, 1)]), "e", "w", "y")


def _transferred(of: Problem, source: SampleTheorem, power: str) -> SampleTheorem:
    """e_P <= x + alpha x^beta from e_Q <= x."""
    premises: Multiples = [(related(of, MINIMISER, above=True), 1), (source, 1), (raised(source, power, "zb"), alpha)]
    return add(of, premises)


def _source_excess(letters: str) -> SampleTheorem:
    """e_Q <= (8 nu a)^r + 2a/3, or (128 nu L)^r + 32 L, with probability 1 - delta."""
    return bounds(_source(_learned(letters, _POOLED)), "pooled_source_excess", delta)


def _target_excess(letters: str, rest: Scalar) -> SampleTheorem:
    """e_P <= x + alpha x^beta with x = (8 nu a)^r + 2a/3, or (128 nu L)^r + 32 L."""
    of = _learned(letters, _POOLED, {"v": _power(y + rest, beta)})
    return bounds(_transferred(of, _source(of), "v"), "pooled_excess", delta)


def theorem_2_massart() -> SampleTheorem:
    """e_P <= (1 + alpha) (2 nu + 2/3) a at beta = beta_Q = 1."""
    of = _learned("a R R0 F F0 D e eP z w0", _POOLED, massart=True)
    same = root(of, "z")
    differ = add(of, [(noise(of, POOL, MINIMISER), 1), (same, -nu)])
    most = e / 2 + nu * a
    product = add(of, [(root(of, "w0"), -1), (differ, 2 * a)], squares=[(e / 2 - nu * a, 1)])
    tangent = cancel(product, most + w0)
    source = add(of, [(_minimiser(of), 2), (tangent, 2)])
    linear = add(of, [(related(of, MINIMISER, above=True), 1), (same, -alpha), (source, 1 + alpha)])
    return bounds(linear, "pooled_excess", delta)


def theorem_2() -> SampleTheorem:
    """e_P <= c a^r + c a^(beta r) for a <= 1, c >= (1 + alpha) (8 nu + 2)^(1 + beta)."""
    va, G, GG = (RING[name] for name in ("va", "G", "GG"))
    of = _learned(
        f"{_TO_TARGET} wa va a1 A8 x1 G GG vb v", _POOLED,
        {
            "va": _power(a, beta * _rate), "A8": _power(8 * nu, _rate), "x1": _power(8 * nu + 2, 1),
            "G": _power(8 * nu + 2, beta), "GG": _power(8 * nu + 2, 1 + beta), "vb": _power(wa, beta),
            "v": _power((8 * nu + 2) * wa, beta),
        },
        Condition("c", "at_least", (1 + alpha) * GG), Condition("a", "interval", _one),
    )  # fmt: skip
    least = add(of, [(order_of_exponents(of, "wa", "a1"), 1), (root(of, "a1"), 1)])
    factor: Multiples = [(power_of_product(of, "y", "A8", "wa"), -1), (power_at_most(of, "A8"), wa)]
    source = add(of, [(_source(of), 1), *factor, (least, _one * 2 / 3)], constant=wa / 3)
    moved = _transferred(of, source, "v")  # x + alpha v, x = (8 nu + 2) wa, v = x^beta = G va
    split = [(power_of_product(of, "v", "G", "vb"), -alpha), (power_of_power(of, "va", "wa"), alpha * G)]
    larger = [
        (order_of_exponents(of, "x1", "GG"), wa), (root(of, "x1"), wa), (order_of_exponents(of, "G", "GG"), alpha * va),
    ]  # fmt: skip
    rest = (c - (1 + alpha) * GG) * (wa + va) + alpha * GG * wa + GG * va
    return bounds(add(of, [(moved, 1), *split, *larger], constant=rest), "pooled_excess", delta)


# Checked on the server's samples ------------------------------------------------------------------------------------

_CHECKED = "R R0 one two R1 F F0 D D0 D1 D2 e e0 z z0"
_CHECKED_BY_SIZE, _CHECKED_BY_GROWTH = f"a {_CHECKED} w0 E zE w y", f"{_CHECKED} L A B fA fB wA wB uB W0 E zE w y"


def _checked(of: Problem) -> SampleTheorem:
    """e <= e0 + sqrt(2 D a) + a/3, or e0 + sqrt(32 L D) + 16 L."""
    premises = [
        *_ahead(of, SERVER, CHECKED, checked(of)),
        (of_target(of, "risk", CHECKED), 1),
        (of_target(of, "risk", BEST_OF_Q), -1),
        (excess(of, TARGET, CHECKED), -1),
        (excess(of, TARGET, BEST_OF_Q), 1),
    ]
    return add(of, premises)


def _differs(of: Problem) -> SampleTheorem:
    """D <= nu (e^b + e0^b)."""
    premises = [
        (of_target(of, "disagreement", CHECKED, BEST_OF_Q), -1),
        (triangle(of, TARGET, CHECKED, BEST_OF_Q, BEST_OF_P), 1),
        (noise(of, TARGET, CHECKED), 1),
        (noise(of, TARGET, BEST_OF_Q), 1),
    ]
    return add(of, premises)


def _by_maximum(of: Problem) -> SampleTheorem:
    """E <= (16 nu a)^r + 2 e0 + 2a/3, E = max(e, e0), by E <= e0 + sqrt(4 nu E^b a) + a/3; or (256 nu L)^r + 2 e0 +
    32 L."""
    letter, width, rest = _level(of)
    larger = [raised(of_maximum(of, "E", second), "zE", power) for second, power in ((False, "z"), (True, "z0"))]
    differs = add(of, [(_differs(of), width), *((each, nu * width) for each in larger)])
    wider = raised(differs, "w", letter)
    first = add(of, [(_checked(of), 1), (wider, 1)])
    second = add(of, [], constant=w + rest)
    return solve(largest(first, second, "E"), "E", "w", "y")


def _checked_excess(letters: str) -> SampleTheorem:
    """e <= (16 nu a)^r + 2 e0 + 2a/3, or (256 nu L)^r + 2 e0 + 32 L."""
    of = _learned(letters, _SERVED)
    return bounds(add(of, [(_by_maximum(of), 1), (of_maximum(of, "E"), 1)]), "checked_excess", delta)


def theorem_3() -> SampleTheorem:
    """e <= c a^r for e0 <= a <= 1 and c >= 16 nu + 5."""
    conditions = (
        Condition("c", "at_least", 16 * nu + 5), Condition("e0", "interval", a), Condition("a", "interval", _one),
    )  # fmt: skip
    of = _learned(f"{_CHECKED_BY_SIZE} wa a1 A8", _SERVED, {"A8": _power(16 * nu, _rate)}, *conditions)
    least = add(of, [(order_of_exponents(of, "wa", "a1"), 1), (root(of, "a1"), 1)])
    premises: Multiples = [
        (_by_maximum(of), 1), (of_maximum(of, "E"), 1), (power_of_product(of, "y", "A8", "wa"), -1),
        (power_at_most(of, "A8"), wa), (least, _one * 8 / 3),
    ]  # fmt: skip
    rest = (c - 16 * nu - 5) * wa + wa * 4 / 3 + 2 * (a - e0)
    return bounds(add(of, premises, constant=rest), "checked_excess", delta)


def theorem_3_massart() -> SampleTheorem:
    """e <= 3 e0 + (2 nu + 2/3) a at beta_P = 1."""
    of = _learned(f"a {_CHECKED} w0", _SERVED, massart=True)
    differs = add(of, [(_differs(of), 1), (root(of, "z"), -nu), (root(of, "z0"), -nu)])
    half_sum = (e + e0) / 2
    product = add(of, [(root(of, "w0"), -1), (differs, 2 * a)], squares=[(half_sum - nu * a, 1)])
    tangent = cancel(product, half_sum + nu * a + w0)
    return bounds(add(of, [(_checked(of), 2), (tangent, 2)]), "checked_excess", delta)


def lemma_2_corrected() -> SampleTheorem:
    """R^(h^) - R^(h_P*) <= e0 + sqrt(2 nu e0^b a) + a/3 on the server's samples."""
    own: Numbers = {
        "F": ("frequency", SERVER, CHECKED), "F1": ("frequency", SERVER, BEST_OF_P),
        "D": ("disagreement", SERVER, BEST_OF_P, BEST_OF_Q), "w": _root(2 * nu * z0 * a),
    }  # fmt: skip
    of = _learned("a R R0 R1 two F F0 F1 D D2 e0 z0 w0 w", (SERVER, BEST_OF_P, BEST_OF_Q), own)
    apart = [(noise(of, TARGET, BEST_OF_Q), 2 * a), (of_target(of, "disagreement", BEST_OF_P, BEST_OF_Q), -2 * a)]
    premises = [
        (bernstein(of, SERVER, BEST_OF_P, BEST_OF_Q, "a"), 1),
        (checked(of), 1),
        (of_target(of, "risk", BEST_OF_P), 1),
        (of_target(of, "risk", BEST_OF_Q), -1),
        (excess(of, TARGET, BEST_OF_Q), 1),
        (raised(add(of, apart), "w", "w0"), 1),
    ]
    return bounds(add(of, premises), "checked_empirical_gap", delta)


# With the confidence beside the logarithm: A >= C = (d max(log(n/d), 1) + log(1/delta))/n, n >= d ---------------------


def _beside(least: Scalar) -> tuple[Condition, ...]:
    return Condition("c", "at_least", least), Condition("SA", "at_least", cx), Condition("n", "at_least", d)


def excess_main() -> SampleTheorem:
    """e_Q <= c A^r for c >= 640 nu + 161: e_Q <= (128 nu L)^r + 32 L, L <= 5 A, and e_Q <= 1 where A > 1."""
    own: Numbers = {
        "v": _power(640 * nu * SA, _rate), "A8": _power(640 * nu, _rate), "wa": _power(SA, _rate),
        "mn": ("minimum", SA, _one),
    }  # fmt: skip
    of = _learned(f"{_BY_GROWTH} cx v A8 wa mn", _POOLED, own, *_beside(640 * nu + 161))
    level = add(of, [(growth_at_most(of, "L", "cx"), 1)], constant=5 * (SA - cx))  # 5 A - L >= 0
    larger = raised(add(of, [(level, 128 * nu)]), "v", "y")
    factor: Multiples = [(power_of_product(of, "v", "A8", "wa"), -1), (power_at_most(of, "A8"), wa)]
    first = add(of, [(_source(of), 1), (larger, 1), *factor, (level, 32)])  # (1 + 640 nu) wa + 160 A - e >= 0
    second = add(of, [(probability(of, "e"), 1)], constant=(1 + 640 * nu) * wa + 159)
    both = least(first, second, "mn", 160)
    rest = (c - 640 * nu - 161) * wa
    return bounds(add(of, [(both, 1), (power_at_least(of, "wa"), 160)], constant=rest), "pooled_source_excess", delta)


def _of_all_pairs(letters: str, own: Numbers) -> Problem:
    """All pairs, by the growth L of pairs: how probable it is that they differ, p, and how frequent, f."""
    growth: Numbers = {"L": ("growth of pairs", delta, n, d)}
    return _learned(f"L cx p f {letters}", _PAIR, {**growth, **own}, *_beside(512 * _one))


def _complex(of: Problem) -> SampleTheorem:
    """c A - 64 L >= 0."""
    return add(of, [(growth_at_most(of, "L", "cx"), 64)], constant=c * SA - 512 * cx)


def _off_main(above: bool) -> SampleTheorem:
    """f - 2 p <= 16 L <= c A, or p/2 - f <= 8 L <= c A, for all pairs, as sqrt(16 L f) <= f/2 + 8 L."""
    q = f if above else p
    of = _of_all_pairs("w", {"w": _root(16 * L * q)})
    tangent = cancel(add(of, [(root(of, "w"), -1)], squares=[(q / 2 - 8 * L, 1)]), q / 2 + 8 * L + w)
    half = add(of, [(relative_pair(of, POOL, "disagreement", ANY, OTHER, "L", above), 1), (tangent, 1)])
    most = add(of, [(half, 2 if above else 1), (_complex(of), 1)], constant=(48 if above else 56) * L)
    return bounds(most, _OFF[above], delta)


_OFF = {True: "disagreement_excess", False: "disagreement_deficit"}
"""Functionals of how frequent it is that two hypotheses differ: above how probable it is, and below."""


def deviation_main() -> SampleTheorem:
    """(16) with x = c A: (R(h) - R(g)) - (R^(h) - R^(g)) <= sqrt(16 L A) + sqrt(16 L fB) <= wA + wB, wA = sqrt(16 L
    p) and wB = sqrt(16 L f), which differ by at most 16 L; and 2 sqrt(16 L p) <= sqrt(p x)."""
    x = c * SA
    own: Numbers = {
        "w": _root(16 * L * A), "w0": _root(16 * L * fB), "wA": _root(16 * L * p), "wB": _root(16 * L * f),
        "u1": _root(p * x), "u2": _root(f * x),
    }  # fmt: skip
    of = _of_all_pairs("R R0 F F0 A B fA fB w w0 wA wB u1 u2", own)
    parts = [
        (relative_pair(of, POOL, "only", ANY, OTHER, "L", above=False), 1),
        (relative_pair(of, POOL, "only", OTHER, ANY, "L", above=True), 1),
        (split(of, "risk", POOL, ANY, OTHER), -1),
        (split(of, "frequency", POOL, ANY, OTHER), 1),
    ]
    inside = [(split(of, kind, POOL, ANY, OTHER), 16 * L) for kind in ("disagreement", "disagreement frequency")]
    of_p = raised(add(of, inside[:1], constant=16 * L * B), "wA", "w")
    of_f = raised(add(of, inside[1:], constant=16 * L * fA), "wB", "w0")
    together = add(of, [*parts, (of_p, 1), (of_f, 1)])  # wA + wB less the difference
    found = []
    for near, far, q, u, above in ((wA, wB, p, u1, True), (wB, wA, f, u2, False)):
        off = relative_pair(of, POOL, "disagreement", ANY, OTHER, "L", above)
        apart = add(of, [(root(of, str(near)), 1), (root(of, str(far)), -1), (off, 16 * L)], constant=16 * L * near)
        farther = cancel(apart, near + far)  # near + 16 L - far >= 0
        wide = add(of, [(root(of, str(u)), 1), (root(of, str(near)), -4), (_complex(of), q)])
        double = cancel(wide, u + 2 * near)
        found.append(add(of, [(together, 1), (farther, 1), (double, 1), (_complex(of), 1)], constant=48 * L))
    return bounds_deviation(found[0], found[1], delta, roots=("u1", "u2"))


# Pairs of hypotheses ------------------------------------------------------------------------------------------------


def _off_corrected(above: bool) -> SampleTheorem:
    """f - 2 p <= 5/6 a2, or p/2 - f <= 4/3 a2, for all pairs: f - p, or p - f, is at most sqrt(2 p a2) + a2/3, and the
    root at most p + a2/2, or p/2 + a2."""
    of = _learned("a2 p f w", _PAIR, {"w": _root(2 * p * a2)})
    most, other = (p, a2 / 2) if above else (p / 2, a2)
    tangent = cancel(add(of, [(root(of, "w"), -1)], squares=[(most - other, 1)]), most + other + w)
    made = add(of, [(frequent(of, POOL, ANY, OTHER, "a2", above), 1), (tangent, 1)])
    return bounds(made, _OFF[above], delta)


def deviation_corrected() -> SampleTheorem:
    """(16) with x = 97/27 a2, from the level a3 = 4/3 a2 for risks and frequencies.

    With w = sqrt(2 p a3), u = sqrt(f x) and T = u + 85/36 a3: p <= f + w + a3/3 gives (T - w) (T + w - 2 a3) >= 0.
    """
    chance, x, t = delta / N**2, a2 * 97 / 27, RING["t"]
    own: Numbers = {
        "X": _power(chance, _one * 4 / 3), "X1": _power(chance, 1), "t": _power(chance, _third),
        "a3": ("level", RING["X"], n), "w": _root(2 * p * a3), "u1": _root(p * x), "u2": _root(f * x),
    }  # fmt: skip
    of = _learned("a2 p f X X1 t a3 w u1 u2 R R0 F F0", _PAIR, own)
    level = level_of_power(of, "a3", "a2")  # a3 - 4/3 a2 = 0
    of_risks = bernstein(of, POOL, ANY, OTHER, "a3")
    by_p = raised(add(of, [(level, -2 * p)], constant=p * (x - a2 * 8 / 3)), "u1", "w")
    first = add(of, [(of_risks, 1), (by_p, 1), (level, -_third)], constant=x - a2 * 4 / 9)
    # with a3 for 4/3 a2: T = u2 + 85/27 a2
    top = u2 + a2 * 85 / 27
    a = a2 * 4 / 3
    seldom = frequent(of, POOL, ANY, OTHER, "a3", above=False)  # p - f <= w + a3/3
    known = add(of, [(seldom, 1), (level, -_third)])  # w + a/3 - p + f >= 0
    rooted = add(of, [(root(of, "w"), -1), (level, -2 * p), (known, 2 * a)])  # 2 a (w + a/3 + f) - w^2 >= 0
    squared = add(of, [(rooted, 1), (root(of, "u2"), _one * 72 / 97)])
    k = _one * 85 / 36
    rest = u2**2 * 25 / 97 + 2 * (k - 1) * u2 * a + (k * k - 2 * k - _one * 2 / 3) * a * a
    product = add(of, [(squared, 1)], constant=rest)
    below = cancel(product, top + w - 2 * a)
    second = add(of, [(of_risks, 1), (level, -_third), (below, 1)], constant=x - a2 * 85 / 27 - a / 3)
    upper = 2 * N / (3 * N - 1)  # t <= upper, t^3 = delta/N^2
    cubes = add(of, [(root(of, "t"), -1)], constant=upper**3 - chance)
    least = cancel(cubes, upper**2 + upper * t + t**2, 1 / upper)
    times = N * (N - 1) * 3 / 2
    few: Multiples = [
        (sum_of_exponents(of, "X", "X1", "t"), -times), (root(of, "X1"), -times * t), (least, times * chance),
    ]  # fmt: skip
    spare = add(of, few, constant=delta * 2 / (3 * N - 1))
    return bounds_deviation(first, second, delta, spare, roots=("u1", "u2"))


# Numbers ------------------------------------------------------------------------------------------------------------

_EXCESSES: dict[str, Meaning] = {"e": ("excess", POOL, ANY), "eP": ("excess", TARGET, ANY)}
_OFF_BY: dict[str, Meaning] = {"off": ("distance", eP - e)}


def transfer() -> SampleTheorem:
    """(15): e_P <= gap + e_Q."""
    parameters = {"relatedness": alpha, "relatedness_exponent": beta}
    of = _problem(parameters, _EXCESSES | {"zb": _power(e, beta), "gap": ("related gap",)})
    return bounds(add(of, [(related(of, ANY, above=True), 1), (related_gap(of), 1)]), "target_excess")


def _thresholds(numbers: Numbers) -> Problem:
    parameters = {
        "target_width": w_P, "source_width": w_Q, "threshold_distance": dist, "outside_support": RING.number(0),
    }  # fmt: skip
    wide = Condition("w_P", "at_least", w_Q), Condition("w_Q", "positive")
    return _problem(parameters, numbers, *wide, Condition("dist", "nonnegative"))


def example_source() -> SampleTheorem:
    """-e_Q <= -|t - t*|/(b' - a')."""
    of = _thresholds({"e": ("excess", POOL, ANY)})
    return bounds(add(of, [(uniform(of, POOL), 1 / w_Q)]), "negated_source_excess")


def example() -> SampleTheorem:
    """|e_P - e_Q| <= (1 - (b' - a')/(b - a)) e_Q."""
    of = _thresholds(_EXCESSES | _OFF_BY)
    same = add(of, [(uniform(of, TARGET), 1 / w_P), (uniform(of, POOL), -1 / w_P)])  # e_P - e_Q w_Q/w_P = 0
    above = add(of, [(same, -1)], constant=2 * (1 - w_Q / w_P) * e)
    return bounds(absolute(above, add(of, [(same, 1)]), "off"), "relatedness_gap")


def example_mixture() -> SampleTheorem:
    """|e_P - e_Q| <= alpha e_Q for alpha >= 1, alpha (1 - share) >= share."""
    eD, few = RING["eD"], Condition("share", "interval", alpha / (1 + alpha))
    of = _problem(
        {"client_share": share, "relatedness": alpha}, _EXCESSES | {"eD": ("excess", CLIENTS, ANY)} | _OFF_BY,
        few, Condition("alpha", "at_least", _one),
    )  # fmt: skip
    mixed = mixture(of)  # e - share eD - (1 - share) eP = 0
    above = add(of, [(mixed, 1 + alpha)], constant=(1 + alpha) * (share * eD + (1 - share) * eP) - eP)
    below = add(of, [], constant=(alpha - 1) * e + eP)
    return bounds(absolute(above, below, "off"), "relatedness_gap")


def first_dominates() -> SampleTheorem:
    """(d/(n_T + n_S))^(beta r) <= (d/(n_T + n_S))^r for beta >= 1, d <= n_T + n_S."""
    total = n_T + n_S
    conditions = (
        Condition("d", "interval", total), Condition("n_T", "count"), Condition("n_S", "count"),
        Condition("b", "interval", _one), Condition("beta", "at_least", _one),
    )  # fmt: skip
    of = _problem({}, {"va": _power(d / total, beta * _rate), "wa": _power(d / total, _rate)}, *conditions)
    return bounds(order_of_exponents(of, "wa", "va"), "value", letter="va")


# Clients that stay away ---------------------------------------------------------------------------------------------

_rare = (M - m) / (2 * M)
_mean = (M - m) * n / 2
"""Probability of the rare point, and mean number of samples of it, which is at least their variance."""


def _two_points(beyond: int, numbers: Numbers, *more: Condition) -> tuple[Problem, SampleTheorem]:
    """s, how probable it is that at least (M - m) n + beyond samples are the rare point, is at most u/(u + (u +
    beyond)^2), u their mean."""
    parameters = {"clients": M, "arbitrary_cohort": m, "samples_per_client": n, "rare_mass": _rare}
    parameters |= {"error_level": eps} if more else {}
    tail: Meaning = ("tail", M * n, _rare, (M - m) * n + beyond)
    of = _problem(parameters, {"s": tail, **numbers}, *more, Condition("m", "interval", M - 1), Condition("M", "count"))
    total = _mean + (_mean + beyond) ** 2
    return of, add(of, [(cantelli(of, "s"), 1 / total), (probability(of, "s"), _mean * _rare / total)])


def _fails(functions: bool, part: Scalar = _half) -> SampleTheorem:
    """P[error >= eps] >= 2/5 for every learner, or 4/5 for one that draws no lots: the error is rare_mass where the
    rare point is hidden, with at least 4/5. The level is at most this part of those that stay away, at most 1/2."""
    name, level = "functions" if functions else "any learner", Condition("eps", "interval", (M - m) / M * part)
    of, by_mean = _two_points(1, {"fails": ("failure", name)}, level)
    shown = add(of, [(by_mean, 1)], squares=[(_mean - 1, 1 / (5 * (_mean + (_mean + 1) ** 2)))])
    fails = add(of, [(learner(of, functions), 1), (shown, 1 if functions else _half)])
    return bounds(fails, "negated_failure_of_functions" if functions else "negated_failure")


def rare_tail() -> SampleTheorem:
    """P[s >= (M - m) n] <= 2/3."""
    of, by_mean = _two_points(0, {})
    return bounds(add(of, [(by_mean, 1)], constant=_one * 2 / 3 - 1 / (1 + _mean)), "rare_tail")


LETTERS = {
    "SA": "sample_complexity",
    "c": "hidden_constant", "delta": "confidence", "d": "vc_dimension", "n_T": "server_samples",
    "n_S": "client_samples", "beta": "relatedness_exponent", "b": "noise_exponent",
}  # fmt: skip
"""The quantities of letters that no number, and no quantity of the problem, is."""

_BOUNDED: dict[str, tuple[Callable[[], SampleTheorem], str]] = {
    "lemma1.excess.corrected": (partial(_source_excess, _BY_SIZE), "pooled_source_excess"),
    "lemma1.excess.main": (excess_main, "pooled_source_excess"),
    "lemma1.frequency.main": (partial(_off_main, True), "disagreement_excess"),
    "lemma1.deficit.main": (partial(_off_main, False), "disagreement_deficit"),
    "lemma1.deviation.main": (deviation_main, "pair_deviation"),
    "lemma1.excess.vc": (partial(_source_excess, _BY_GROWTH), "pooled_source_excess"),
    "thm2.vc": (partial(_target_excess, f"{_BY_GROWTH} eP zb v", 32 * L), "pooled_excess"),
    "thm3.vc": (partial(_checked_excess, _CHECKED_BY_GROWTH), "checked_excess"),
    "thm2.corrected": (partial(_target_excess, f"{_TO_TARGET} v", 2 * a / 3), "pooled_excess"),
    "thm2.massart": (theorem_2_massart, "pooled_excess"),
    "thm2.main": (theorem_2, "pooled_excess"),
    "thm3.corrected": (partial(_checked_excess, _CHECKED_BY_SIZE), "checked_excess"),
    "thm3.main": (theorem_3, "checked_excess"),
    "thm3.massart": (theorem_3_massart, "checked_excess"),
    "lemma2.corrected": (lemma_2_corrected, "checked_empirical_gap"),
    "lemma1.frequency.corrected": (partial(_off_corrected, True), "disagreement_excess"),
    "lemma1.deficit.corrected": (partial(_off_corrected, False), "disagreement_deficit"),
    "lemma1.deviation.corrected": (deviation_corrected, "pair_deviation"),
    "eq15.main": (transfer, "target_excess"),
    "ex1.q.within": (example_source, "negated_source_excess"),
    "ex1.within": (example, "relatedness_gap"),
    "ex1.corrected": (example_mixture, "relatedness_gap"),
    "thm2.first.main": (first_dominates, "second_rate"),
    "thm1.main": (partial(_fails, False, _one / 8), "negated_failure"),
    "thm1.sharp": (partial(_fails, False), "negated_failure"),
    "thm1.functions": (partial(_fails, True), "negated_failure_of_functions"),
    "app1.tail.main": (rare_tail, "rare_tail"),
}
"""Maker of each theorem, and the functional that it bounds."""
MAKERS = {name: make for name, (make, _) in _BOUNDED.items()}

_OF_THE_PROBLEM = {readings.CONSTANTS: readings.OF_THE_PROBLEM}
_WITHIN = {readings.THRESHOLDS: readings.IN_THE_SUPPORT}

_BESIDE_THE_LOGARITHM = {readings.CONFIDENCE_TERM: readings.BESIDE_WITH_MAX}
_READ = {
    "thm2.main": _OF_THE_PROBLEM,
    "thm3.main": _OF_THE_PROBLEM,
    "lemma1.excess.main": _BESIDE_THE_LOGARITHM | _OF_THE_PROBLEM,
    **dict.fromkeys((f"lemma1.{part}.main" for part in ("frequency", "deficit", "deviation")), _BESIDE_THE_LOGARITHM),
}
_ALSO = {
    "thm2.main": ("safari.rem2.thm2@main",),
    "thm2.corrected": ("safari.rem2.thm2@corrected",),
}  # fmt: skip


THEOREMS = {
    name: OfSamples(make, LETTERS, functional, _READ.get(name, {})) for name, (make, functional) in _BOUNDED.items()
} | {
    "ex1.q.main": OfSamples(example_source, LETTERS, "negated_source_excess", _WITHIN),
    "ex1.main": OfSamples(example, LETTERS, "relatedness_gap", _WITHIN),
}

DERIVATIONS = tuple(
    theorem.derivation(f"composed, safari.{name}", (f"safari.{'@'.join(name.rsplit('.', 1))}", *_ALSO.get(name, ())))
    for name, theorem in THEOREMS.items()
)
