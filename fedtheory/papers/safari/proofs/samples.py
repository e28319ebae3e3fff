"""SAFARI's statements on learners and samples, composed by the kernel: of finite classes, thresholds, mixtures, and of
learners whose clients stay away.

N hypotheses, n samples of the pool or of the server; a = log(N/delta)/n. With e for an excess risk, r = 1/(2 - b) and
Bernstein's inequality without centring, a minimiser has

    e <= sqrt(2 nu e^b a) + a/3, and so e <= (8 nu a)^r + 2a/3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction


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

_FREE = "SA c eps d n_T n_S N n delta alpha beta nu b share M m away dist w_P w_Q"
_NUMBERS = (
    "a a2 a3 R R0 R1 F F0 F1 D D0 D1 D2 e e0 e1 eD eP E z z0 zE zb w w0 v va vb y wa a1 A8 x1 G GG gap off s fails "
    "X t Y X1 p f u1 u2 one two L A B fA fB wA wB uB W0 cx mn"
)
RING = Ring(f"{_FREE} {_NUMBERS}")
_L = {name: RING[name] for name in RING.names}
_half, _third = RING.number(Fraction(1, 2)), RING.number(Fraction(1, 3))
N, n, delta, alpha, beta, nu, b = (_L[x] for x in ("N", "n", "delta", "alpha", "beta", "nu", "b"))
_rate = 1 / (2 - b)
_one = RING.number(1)

_SIZE, _DELTA, _COUNT = Condition("N", "count"), Condition("delta", "capped", _one), Condition("n", "count")
_SAMPLES = (_SIZE, _DELTA, _COUNT)
_NU, _B = Condition("nu", "nonnegative"), Condition("b", "interval", _one)
_ALPHA, _BETA = Condition("alpha", "nonnegative"), Condition("beta", "nonnegative")
_NOISE = {"noise_constant": nu, "noise_exponent": b}
_RELATED = {"relatedness": alpha, "relatedness_exponent": beta}


def _problem(
    conditions: Sequence[Condition], parameters: Mapping[str, Scalar], numbers: Mapping[str, Meaning]
) -> Problem:
    return Problem(Where(RING, tuple(conditions)), parameters, numbers)


def _power(base: Scalar | str, exponent: Scalar | int) -> Meaning:
    return "power", _L[base] if isinstance(base, str) else base, _one * exponent


# The pool's minimiser -----------------------------------------------------------------------------------------------


def _of_pool(exponent: Scalar, power: Scalar) -> dict[str, Meaning]:
    """Numbers of a minimiser of the pool: e = R - R0 its excess risk under Q, P(h^ != h_Q*) = D."""
    return {
        "a": ("level", delta / N, n),
        "R": ("risk", POOL, MINIMISER), "R0": ("risk", POOL, BEST_OF_Q),
        "F": ("frequency", POOL, MINIMISER), "F0": ("frequency", POOL, BEST_OF_Q),
        "D": ("disagreement", POOL, BEST_OF_Q, MINIMISER), "e": ("excess", POOL, MINIMISER),
        "eP": ("excess", TARGET, MINIMISER),
        "z": _power("e", exponent), "zb": _power("e", power),
        "w0": _power(2 * _L["D"] * _L["a"], _half), "w": _power(2 * nu * _L["z"] * _L["a"], _half),
        "y": _power(8 * nu * _L["a"], _rate),
    }  # fmt: skip


def _pooled(more: Sequence[Condition] = (), numbers: Mapping[str, Meaning] | None = None) -> Problem:
    conditions = (*more, *_SAMPLES, _NU, _B, _ALPHA, _BETA)
    parameters = {"class_size": N, "samples": n, **_NOISE, **_RELATED}
    return _problem(conditions, parameters, {**_of_pool(b, beta), **(numbers or {})})


def _minimiser(of: Problem) -> SampleTheorem:
    """e <= sqrt(2 D a) + a/3."""
    premises = [
        (bernstein(of, POOL, MINIMISER, BEST_OF_Q, "a"), 1),
        (minimiser(of, MINIMISER, BEST_OF_Q), 1),
        (excess(of, POOL, MINIMISER), -1),
    ]
    return add(of, premises)


def _source(of: Problem) -> SampleTheorem:
    """e <= (8 nu a)^r + 2a/3."""
    wider = raised(add(of, [(noise(of, POOL, MINIMISER), 2 * _L["a"])]), "w", "w0")
    return solve(add(of, [(_minimiser(of), 1), (wider, 1)]), "e", "w", "y")


def _transferred(of: Problem, source: SampleTheorem, power: str) -> SampleTheorem:
    """e_P <= x + alpha x^beta from e_Q <= x."""
    premises: Multiples = [(related(of, MINIMISER, above=True), 1), (source, 1), (raised(source, power, "zb"), alpha)]
    return add(of, premises)


def excess_corrected() -> SampleTheorem:
    """e_Q <= (8 nu a)^r + 2a/3 with probability 1 - delta."""
    numbers = _of_pool(b, beta)
    del numbers["eP"], numbers["zb"]
    of = _problem((*_SAMPLES, _NU, _B), {"class_size": N, "samples": n, **_NOISE}, numbers)
    return bounds(_source(of), "pooled_source_excess", delta)


def theorem_2_corrected() -> SampleTheorem:
    """e_P <= x + alpha x^beta with x = (8 nu a)^r + 2a/3."""
    of = _pooled(numbers={"v": _power(_L["y"] + 2 * _L["a"] / 3, beta)})
    return bounds(_transferred(of, _source(of), "v"), "pooled_excess", delta)


def theorem_2_massart() -> SampleTheorem:
    """e_P <= (1 + alpha) (2 nu + 2/3) a at beta = beta_Q = 1."""
    parameters = {"class_size": N, "samples": n, "noise_constant": nu, "noise_exponent": _one,
                  "relatedness": alpha, "relatedness_exponent": _one}  # fmt: skip
    numbers = {**_of_pool(_one, _one)}
    del numbers["y"], numbers["w"], numbers["zb"]
    of = _problem((*_SAMPLES, _NU, _ALPHA), parameters, numbers)
    a, e, w0 = (_L[x] for x in ("a", "e", "w0"))
    same = root(of, "z")
    differ = add(of, [(noise(of, POOL, MINIMISER), 1), (same, -nu)])
    most = e / 2 + nu * a
    product = add(of, [(root(of, "w0"), -1), (differ, 2 * a)], squares=[(e / 2 - nu * a, 1)])
    tangent = cancel(product, most + w0)
    source = add(of, [(_minimiser(of), 2), (tangent, 2)])
    linear = add(of, [(related(of, MINIMISER, above=True), 1), (same, -alpha), (source, 1 + alpha)])
    return bounds(linear, "pooled_excess", delta)


_CONSTANT_2 = Condition("c", "at_least", (1 + alpha) * _L["GG"])


def theorem_2() -> SampleTheorem:
    """e_P <= c a^r + c a^(beta r) for a <= 1, c >= (1 + alpha) (8 nu + 2)^(1 + beta)."""
    wa, va, GG, G, c = (_L[x] for x in ("wa", "va", "GG", "G", "c"))
    of = _pooled(
        more=(_CONSTANT_2, Condition("a", "interval", _one)),
        numbers={
            "wa": _power("a", _rate), "va": _power("a", beta * _rate), "a1": _power("a", 1),
            "A8": _power(8 * nu, _rate), "x1": _power(8 * nu + 2, 1), "G": _power(8 * nu + 2, beta),
            "GG": _power(8 * nu + 2, 1 + beta), "vb": _power("wa", beta),
            "v": _power((8 * nu + 2) * wa, beta),
        },
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


def _of_server(exponent: Scalar) -> dict[str, Meaning]:
    """Numbers of a checked minimiser: e its excess risk under P, e0 that of h_Q*."""
    return {
        "a": ("level", delta / N, n),
        "R": ("risk", SERVER, CHECKED), "R0": ("risk", SERVER, BEST_OF_Q),
        "one": ("risk", TARGET, CHECKED), "two": ("risk", TARGET, BEST_OF_Q), "R1": ("risk", TARGET, BEST_OF_P),
        "F": ("frequency", SERVER, CHECKED), "F0": ("frequency", SERVER, BEST_OF_Q),
        "D": ("disagreement", SERVER, BEST_OF_Q, CHECKED), "D0": ("disagreement", TARGET, BEST_OF_Q, CHECKED),
        "D1": ("disagreement", TARGET, BEST_OF_P, CHECKED), "D2": ("disagreement", TARGET, BEST_OF_P, BEST_OF_Q),
        "e": ("excess", TARGET, CHECKED), "e0": ("excess", TARGET, BEST_OF_Q),
        "z": _power("e", exponent), "z0": _power("e0", exponent), "w0": _power(2 * _L["D"] * _L["a"], _half),
    }  # fmt: skip


def _server(more: Sequence[Condition], exponent: Scalar, numbers: Mapping[str, Meaning]) -> Problem:
    parameters = {
        "class_size": N, "server_samples": n, "noise_constant": nu, "noise_exponent": exponent,
    }  # fmt: skip
    own = () if exponent == 1 else (_B,)
    return _problem((*more, *_SAMPLES, _NU, *own), parameters, {**_of_server(exponent), **numbers})


def _checked(of: Problem) -> SampleTheorem:
    """e <= e0 + sqrt(2 D a) + a/3."""
    premises = [
        (bernstein(of, SERVER, CHECKED, BEST_OF_Q, "a"), 1),
        (checked(of), 1),
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
    """E <= (16 nu a)^r + 2 e0 + 2a/3, E = max(e, e0), by E <= e0 + sqrt(4 nu E^b a) + a/3."""
    a, w = _L["a"], _L["w"]
    larger = [raised(of_maximum(of, "E", second), "zE", power) for second, power in ((False, "z"), (True, "z0"))]
    differs = add(of, [(_differs(of), 2 * a), *((each, 2 * nu * a) for each in larger)])
    wider = raised(differs, "w", "w0")
    first = add(of, [(_checked(of), 1), (wider, 1)])
    second = add(of, [], constant=w + a / 3)
    return solve(largest(first, second, "E"), "E", "w", "y")


_MAXIMUM: dict[str, Meaning] = {
    "E": ("maximum", _L["e"], _L["e0"]), "zE": _power("E", b), "w": _power(4 * nu * _L["zE"] * _L["a"], _half),
    "y": _power(16 * nu * _L["a"], _rate),
}  # fmt: skip


def theorem_3_corrected() -> SampleTheorem:
    """e <= (16 nu a)^r + 2 e0 + 2a/3."""
    of = _server((), b, _MAXIMUM)
    return bounds(add(of, [(_by_maximum(of), 1), (of_maximum(of, "E"), 1)]), "checked_excess", delta)


def theorem_3() -> SampleTheorem:
    """e <= c a^r for e0 <= a <= 1 and c >= 16 nu + 5."""
    a, e0, wa, c = (_L[x] for x in ("a", "e0", "wa", "c"))
    conditions = (
        Condition("c", "at_least", 16 * nu + 5), Condition("e0", "interval", a), Condition("a", "interval", _one),
    )  # fmt: skip
    powers = {"wa": _power("a", _rate), "a1": _power("a", 1), "A8": _power(16 * nu, _rate)}
    of = _server(conditions, b, {**_MAXIMUM, **powers})
    least = add(of, [(order_of_exponents(of, "wa", "a1"), 1), (root(of, "a1"), 1)])
    premises: Multiples = [
        (_by_maximum(of), 1), (of_maximum(of, "E"), 1), (power_of_product(of, "y", "A8", "wa"), -1),
        (power_at_most(of, "A8"), wa), (least, _one * 8 / 3),
    ]  # fmt: skip
    rest = (c - 16 * nu - 5) * wa + wa * 4 / 3 + 2 * (a - e0)
    return bounds(add(of, premises, constant=rest), "checked_excess", delta)


def theorem_3_massart() -> SampleTheorem:
    """e <= 3 e0 + (2 nu + 2/3) a at beta_P = 1."""
    of = _server((), _one, {})
    a, e, e0, w0 = (_L[x] for x in ("a", "e", "e0", "w0"))
    differs = add(of, [(_differs(of), 1), (root(of, "z"), -nu), (root(of, "z0"), -nu)])
    half_sum = (e + e0) / 2
    product = add(of, [(root(of, "w0"), -1), (differs, 2 * a)], squares=[(half_sum - nu * a, 1)])
    tangent = cancel(product, half_sum + nu * a + w0)
    return bounds(add(of, [(_checked(of), 2), (tangent, 2)]), "checked_excess", delta)


def lemma_2_corrected() -> SampleTheorem:
    """R^(h^) - R^(h_P*) <= e0 + sqrt(2 nu e0^b a) + a/3 on the server's samples."""
    numbers: dict[str, Meaning] = {
        "a": ("level", delta / N, n),
        "R": ("risk", SERVER, BEST_OF_P), "R0": ("risk", SERVER, BEST_OF_Q),
        "R1": ("risk", TARGET, BEST_OF_P), "two": ("risk", TARGET, BEST_OF_Q),
        "F": ("frequency", SERVER, CHECKED), "F0": ("frequency", SERVER, BEST_OF_Q),
        "F1": ("frequency", SERVER, BEST_OF_P),
        "D": ("disagreement", SERVER, BEST_OF_P, BEST_OF_Q), "D2": ("disagreement", TARGET, BEST_OF_P, BEST_OF_Q),
        "e0": ("excess", TARGET, BEST_OF_Q), "z0": _power("e0", b),
        "w0": _power(2 * _L["D"] * _L["a"], _half), "w": _power(2 * nu * _L["z0"] * _L["a"], _half),
    }  # fmt: skip
    parameters = {"class_size": N, "server_samples": n, **_NOISE}
    of = _problem((*_SAMPLES, _NU, _B), parameters, numbers)
    a = _L["a"]
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


# By the dimension of the class ----------------------------------------------------------------------------------------

_DIMENSION = Condition("d", "count")


def _by_growth(of_law: str, drawn: str) -> dict[str, Meaning]:
    """L, and what only one of a drawn hypothesis and h_Q* errs in: A and B, their frequencies fA and fB."""
    return {
        "L": ("growth", delta, n, _L["d"]),
        "A": ("only", of_law, drawn, BEST_OF_Q), "B": ("only", of_law, BEST_OF_Q, drawn),
        "fA": ("only frequency", of_law, drawn, BEST_OF_Q), "fB": ("only frequency", of_law, BEST_OF_Q, drawn),
        "wA": _power(16 * _L["L"] * _L["A"], _half), "wB": _power(16 * _L["L"] * _L["fB"], _half),
        "uB": _power(16 * _L["L"] * _L["B"], _half), "W0": _power(32 * _L["L"] * _L["D"], _half),
    }  # fmt: skip


def _grown(of: Problem, sample: str, drawn: str, fewer: SampleTheorem) -> SampleTheorem:
    """R - R0 <= sqrt(32 L D) + 16 L, where the drawn hypothesis has no more errors than h_Q* on the samples:
    A - B <= fB + wA - B <= wA + wB, wB <= uB + 16 L, (wA + uB)^2 <= 2 (wA^2 + uB^2) = 32 L D."""
    L, wA, wB, uB, W0 = (_L[x] for x in ("L", "wA", "wB", "uB", "W0"))
    below = relative(of, sample, drawn, BEST_OF_Q, "L", above=False)
    above = relative(of, sample, drawn, BEST_OF_Q, "L", above=True)
    rooted = add(of, [(root(of, "uB"), 1), (root(of, "wB"), -1), (above, 16 * L)], constant=16 * L * uB)
    of_frequency = cancel(rooted, uB + wB)  # uB + 16 L - wB >= 0
    square = add(
        of,
        [
            (root(of, "W0"), 1), (root(of, "wA"), -2), (root(of, "uB"), -2),
            (split(of, "disagreement", sample, drawn, BEST_OF_Q), 32 * L),
        ],
        squares=[(wA - uB, 1)],
    )  # fmt: skip
    both = cancel(square, W0 + wA + uB)
    premises = [
        (below, 1), (above, 1), (fewer, 1), (split(of, "frequency", sample, drawn, BEST_OF_Q), 1), (of_frequency, 1),
        (both, 1), (split(of, "risk", sample, drawn, BEST_OF_Q), -1),
    ]  # fmt: skip
    return add(of, premises)


def _grown_pool(more: Mapping[str, Meaning], conditions: Sequence[Condition] = ()) -> tuple[Problem, SampleTheorem]:
    """e <= (128 nu L)^r + 32 L of the pool's minimiser."""
    L, e = _L["L"], _L["e"]
    numbers: dict[str, Meaning] = {
        "R": ("risk", POOL, MINIMISER), "R0": ("risk", POOL, BEST_OF_Q), "F": ("frequency", POOL, MINIMISER),
        "F0": ("frequency", POOL, BEST_OF_Q), "D": ("disagreement", POOL, BEST_OF_Q, MINIMISER),
        "e": ("excess", POOL, MINIMISER), "z": _power(e, b), **_by_growth(POOL, MINIMISER),
        "w": _power(32 * nu * _L["z"] * L, _half), "y": _power(128 * nu * L, _rate), **more,
    }  # fmt: skip
    to_target = "eP" in more
    own_conditions = conditions or (_DELTA, _COUNT, _DIMENSION, _NU, _B, *((_ALPHA, _BETA) if to_target else ()))
    parameters = {"samples": n, "vc_dimension": _L["d"], **_NOISE, **(_RELATED if to_target else {})}
    of = _problem(own_conditions, parameters, numbers)
    own = add(
        of, [(_grown(of, POOL, MINIMISER, minimiser(of, MINIMISER, BEST_OF_Q)), 1), (excess(of, POOL, MINIMISER), -1)]
    )
    wider = raised(add(of, [(noise(of, POOL, MINIMISER), 32 * L)]), "w", "W0")
    return of, solve(add(of, [(own, 1), (wider, 1)]), "e", "w", "y")


def excess_vc() -> SampleTheorem:
    """e_Q <= (128 nu L)^r + 32 L with probability 1 - delta."""
    return bounds(_grown_pool({})[1], "pooled_source_excess", delta)


def theorem_2_vc() -> SampleTheorem:
    """e_P <= x + alpha x^beta with x = (128 nu L)^r + 32 L."""
    more: dict[str, Meaning] = {
        "eP": ("excess", TARGET, MINIMISER), "zb": _power("e", beta), "v": _power(_L["y"] + 32 * _L["L"], beta),
    }  # fmt: skip
    of, source = _grown_pool(more)
    return bounds(_transferred(of, source, "v"), "pooled_excess", delta)


def theorem_3_vc() -> SampleTheorem:
    """e <= (256 nu L)^r + 2 e0 + 32 L."""
    L, w = _L["L"], _L["w"]
    numbers = _of_server(b)
    del numbers["a"], numbers["w0"]
    numbers |= _by_growth(SERVER, CHECKED) | {
        "E": ("maximum", _L["e"], _L["e0"]), "zE": _power("E", b), "w": _power(64 * nu * _L["zE"] * L, _half),
        "y": _power(256 * nu * L, _rate),
    }  # fmt: skip
    parameters = {"server_samples": n, "vc_dimension": _L["d"], **_NOISE}
    of = _problem((_DELTA, _COUNT, _DIMENSION, _NU, _B), parameters, numbers)
    premises = [
        (_grown(of, SERVER, CHECKED, checked(of)), 1),
        (of_target(of, "risk", CHECKED), 1),
        (of_target(of, "risk", BEST_OF_Q), -1),
        (excess(of, TARGET, CHECKED), -1),
        (excess(of, TARGET, BEST_OF_Q), 1),
    ]
    larger = [raised(of_maximum(of, "E", second), "zE", power) for second, power in ((False, "z"), (True, "z0"))]
    wider = raised(add(of, [(_differs(of), 32 * L), *((each, 32 * nu * L) for each in larger)]), "w", "W0")
    first = add(of, [(add(of, premises), 1), (wider, 1)])
    second = add(of, [], constant=w + 16 * L)
    most = solve(largest(first, second, "E"), "E", "w", "y")
    return bounds(add(of, [(most, 1), (of_maximum(of, "E"), 1)]), "checked_excess", delta)


# With the confidence beside the logarithm: A >= C = (d max(log(n/d), 1) + log(1/delta))/n, n >= d ---------------------

_A, _C = _L["SA"], _L["cx"]
_BESIDE = (
    Condition("SA", "at_least", _C), Condition("n", "at_least", _L["d"]), _DELTA, _DIMENSION,
)  # fmt: skip
_COMPLEXITY: dict[str, Meaning] = {"cx": ("complexity", delta, n, _L["d"])}


def excess_main() -> SampleTheorem:
    """e_Q <= c A^r for c >= 640 nu + 161: e_Q <= (128 nu L)^r + 32 L, L <= 5 A, and e_Q <= 1 where A > 1."""
    wa, c = _L["wa"], _L["c"]
    conditions = (Condition("c", "at_least", 640 * nu + 161), *_BESIDE, _NU, _B)
    more: dict[str, Meaning] = {
        **_COMPLEXITY, "v": _power(640 * nu * _A, _rate), "A8": _power(640 * nu, _rate), "wa": _power(_A, _rate),
        "mn": ("minimum", _A, _one),
    }  # fmt: skip
    of, source = _grown_pool(more, conditions)
    level = add(of, [(growth_at_most(of, "L", "cx"), 1)], constant=5 * (_A - _C))  # 5 A - L >= 0
    larger = raised(add(of, [(level, 128 * nu)]), "v", "y")
    factor: Multiples = [(power_of_product(of, "v", "A8", "wa"), -1), (power_at_most(of, "A8"), wa)]
    first = add(of, [(source, 1), (larger, 1), *factor, (level, 32)])  # (1 + 640 nu) wa + 160 A - e >= 0
    second = add(of, [(probability(of, "e"), 1)], constant=(1 + 640 * nu) * wa + 159)
    both = least(first, second, "mn", 160)
    rest = (c - 640 * nu - 161) * wa
    return bounds(add(of, [(both, 1), (power_at_least(of, "wa"), 160)], constant=rest), "pooled_source_excess", delta)


def _of_all_pairs(numbers: Mapping[str, Meaning]) -> Problem:
    """All pairs, by the growth L of pairs: how probable it is that they differ, p, and how frequent, f."""
    own: dict[str, Meaning] = {
        "L": ("growth of pairs", delta, n, _L["d"]), **_COMPLEXITY, "p": ("disagreement", POOL, ANY, OTHER),
        "f": ("disagreement frequency", POOL, ANY, OTHER),
    }  # fmt: skip
    conditions = (Condition("c", "at_least", 512 * _one), *_BESIDE)
    return _problem(conditions, {"samples": n, "vc_dimension": _L["d"]}, {**own, **numbers})


def _complex(of: Problem) -> SampleTheorem:
    """c A - 64 L >= 0."""
    return add(of, [(growth_at_most(of, "L", "cx"), 64)], constant=_L["c"] * _A - 512 * _C)


def _half_of_all_pairs(above: bool) -> SampleTheorem:
    """f/2 - p, or p/2 - f, is at most 8 L, as sqrt(16 L f) <= f/2 + 8 L."""
    L, w = _L["L"], _L["w"]
    q = _L["f"] if above else _L["p"]
    of = _of_all_pairs({"w": _power(16 * L * q, _half)})
    tangent = cancel(add(of, [(root(of, "w"), -1)], squares=[(q / 2 - 8 * L, 1)]), q / 2 + 8 * L + w)
    return add(of, [(relative_pair(of, POOL, "disagreement", ANY, OTHER, "L", above), 1), (tangent, 1)])


def frequency_main() -> SampleTheorem:
    """f - 2 p <= 16 L <= c A for all pairs."""
    half = _half_of_all_pairs(True)
    most = add(half.of, [(half, 2), (_complex(half.of), 1)], constant=48 * _L["L"])
    return bounds(most, "disagreement_excess", delta)


def deficit_main() -> SampleTheorem:
    """p/2 - f <= 8 L <= c A for all pairs."""
    half = _half_of_all_pairs(False)
    most = add(half.of, [(half, 1), (_complex(half.of), 1)], constant=56 * _L["L"])
    return bounds(most, "disagreement_deficit", delta)


def deviation_main() -> SampleTheorem:
    """(16) with x = c A: (R(h) - R(g)) - (R^(h) - R^(g)) <= sqrt(16 L A) + sqrt(16 L fB) <= wA + wB, wA = sqrt(16 L
    p) and wB = sqrt(16 L f), which differ by at most 16 L; and 2 sqrt(16 L p) <= sqrt(p x)."""
    L, p, f, wA, wB, u1, u2 = (_L[x] for x in ("L", "p", "f", "wA", "wB", "u1", "u2"))
    x = _L["c"] * _A
    of = _of_all_pairs({
        "R": ("risk", POOL, ANY), "R0": ("risk", POOL, OTHER), "F": ("frequency", POOL, ANY),
        "F0": ("frequency", POOL, OTHER), "A": ("only", POOL, ANY, OTHER), "B": ("only", POOL, OTHER, ANY),
        "fA": ("only frequency", POOL, ANY, OTHER), "fB": ("only frequency", POOL, OTHER, ANY),
        "w": _power(16 * L * _L["A"], _half), "w0": _power(16 * L * _L["fB"], _half),
        "wA": _power(16 * L * p, _half), "wB": _power(16 * L * f, _half), "u1": _power(p * x, _half),
        "u2": _power(f * x, _half),
    })  # fmt: skip
    parts = [
        (relative_pair(of, POOL, "only", ANY, OTHER, "L", above=False), 1),
        (relative_pair(of, POOL, "only", OTHER, ANY, "L", above=True), 1),
        (split(of, "risk", POOL, ANY, OTHER), -1),
        (split(of, "frequency", POOL, ANY, OTHER), 1),
    ]
    inside = [(split(of, kind, POOL, ANY, OTHER), 16 * L) for kind in ("disagreement", "disagreement frequency")]
    of_p = raised(add(of, inside[:1], constant=16 * L * _L["B"]), "wA", "w")
    of_f = raised(add(of, inside[1:], constant=16 * L * _L["fA"]), "wB", "w0")
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

_PAIRS: dict[str, Meaning] = {
    "a2": ("level", delta / N**2, n), "p": ("disagreement", POOL, ANY, OTHER),
    "f": ("disagreement frequency", POOL, ANY, OTHER),
}  # fmt: skip
_OF_PAIRS = {"class_size": N, "samples": n}


def _tangent(above: bool) -> SampleTheorem:
    """f - p, or p - f, is at most sqrt(2 p a2) + a2/3, and the root at most p + a2/2, or p/2 + a2."""
    p, a2, w = (_L[x] for x in ("p", "a2", "w"))
    of = _problem(_SAMPLES, _OF_PAIRS, {**_PAIRS, "w": _power(2 * p * a2, _half)})
    x, y = (p, a2 / 2) if above else (p / 2, a2)
    tangent = cancel(add(of, [(root(of, "w"), -1)], squares=[(x - y, 1)]), x + y + w)
    return add(of, [(frequent(of, POOL, ANY, OTHER, "a2", above), 1), (tangent, 1)])


def frequency_corrected() -> SampleTheorem:
    """P^(h != g) - 2 P(h != g) <= 5/6 a2 for all pairs."""
    return bounds(_tangent(True), "disagreement_excess", delta)


def deficit_corrected() -> SampleTheorem:
    """P(h != g)/2 - P^(h != g) <= 4/3 a2 for all pairs."""
    return bounds(_tangent(False), "disagreement_deficit", delta)


def deviation_corrected() -> SampleTheorem:
    """(16) with x = 97/27 a2, from the level a3 = 4/3 a2 for risks and frequencies.

    With w = sqrt(2 p a3), u = sqrt(f x) and T = u + 85/36 a3: p <= f + w + a3/3 gives (T - w) (T + w - 2 a3) >= 0.
    """
    p, f, a2, a3, w, u2, X, t = (_L[x] for x in ("p", "f", "a2", "a3", "w", "u2", "X", "t"))
    share = delta / N**2
    x = a2 * 97 / 27
    of = _problem(
        _SAMPLES,
        _OF_PAIRS,
        {
            **_PAIRS, "X": _power(share, _one * 4 / 3), "X1": _power(share, 1), "t": _power(share, _third),
            "a3": ("level", X, n), "w": _power(2 * p * a3, _half), "u1": _power(p * x, _half),
            "u2": _power(f * x, _half),
            "R": ("risk", POOL, ANY), "R0": ("risk", POOL, OTHER), "F": ("frequency", POOL, ANY),
            "F0": ("frequency", POOL, OTHER),
        },
    )  # fmt: skip
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
    cubes = add(of, [(root(of, "t"), -1)], constant=upper**3 - share)
    least = cancel(cubes, upper**2 + upper * t + t**2, 1 / upper)
    times = N * (N - 1) * 3 / 2
    few = add(
        of,
        [
            (sum_of_exponents(of, "X", "X1", "t"), -times),
            (root(of, "X1"), -times * t),
            (least, times * share),
        ],
        constant=delta * 2 / (3 * N - 1),
    )
    return bounds_deviation(first, second, delta, few, roots=("u1", "u2"))


# Numbers ------------------------------------------------------------------------------------------------------------


def transfer() -> SampleTheorem:
    """(15): e_P <= gap + e_Q."""
    numbers: dict[str, Meaning] = {
        "e": ("excess", POOL, ANY), "eP": ("excess", TARGET, ANY), "zb": _power("e", beta), "gap": ("related gap",),
    }  # fmt: skip
    of = _problem((_ALPHA, _BETA), _RELATED, numbers)
    return bounds(add(of, [(related(of, ANY, above=True), 1), (related_gap(of), 1)]), "target_excess")


def _thresholds(numbers: Mapping[str, Meaning]) -> Problem:
    conditions = (
        Condition("w_P", "at_least", _L["w_Q"]), Condition("w_Q", "positive"), Condition("dist", "nonnegative"),
    )  # fmt: skip
    parameters = {
        "target_width": _L["w_P"], "source_width": _L["w_Q"], "threshold_distance": _L["dist"],
        "outside_support": RING.number(0),
    }  # fmt: skip
    return _problem(conditions, parameters, {"e": ("excess", POOL, ANY), **numbers})


def example_source() -> SampleTheorem:
    """-e_Q <= -|t - t*|/(b' - a')."""
    of = _thresholds({})
    return bounds(add(of, [(uniform(of, POOL), 1 / _L["w_Q"])]), "negated_source_excess")


def example() -> SampleTheorem:
    """|e_P - e_Q| <= (1 - (b' - a')/(b - a)) e_Q."""
    e, eP, w_P, w_Q = (_L[x] for x in ("e", "eP", "w_P", "w_Q"))
    of = _thresholds({"eP": ("excess", TARGET, ANY), "off": ("distance", eP - e)})
    same = add(of, [(uniform(of, TARGET), 1 / w_P), (uniform(of, POOL), -1 / w_P)])  # e_P - e_Q w_Q/w_P = 0
    above = add(of, [(same, -1)], constant=2 * (1 - w_Q / w_P) * e)
    return bounds(absolute(above, add(of, [(same, 1)]), "off"), "relatedness_gap")


def example_mixture() -> SampleTheorem:
    """|e_P - e_Q| <= alpha e_Q for alpha >= 1, alpha (1 - share) >= share."""
    e, eP, eD, share = (_L[x] for x in ("e", "eP", "eD", "share"))
    numbers: dict[str, Meaning] = {
        "e": ("excess", POOL, ANY), "eP": ("excess", TARGET, ANY), "eD": ("excess", CLIENTS, ANY),
        "off": ("distance", eP - e),
    }  # fmt: skip
    conditions = (Condition("share", "interval", alpha / (1 + alpha)), Condition("alpha", "at_least", _one))
    of = _problem(conditions, {"client_share": share, "relatedness": alpha}, numbers)
    mixed = mixture(of)  # e - share eD - (1 - share) eP = 0
    above = add(of, [(mixed, 1 + alpha)], constant=(1 + alpha) * (share * eD + (1 - share) * eP) - eP)
    below = add(of, [], constant=(alpha - 1) * e + eP)
    return bounds(absolute(above, below, "off"), "relatedness_gap")


def first_dominates() -> SampleTheorem:
    """(d/(n_T + n_S))^(beta r) <= (d/(n_T + n_S))^r for beta >= 1, d <= n_T + n_S."""
    total = _L["n_T"] + _L["n_S"]
    conditions = (
        Condition("d", "interval", total), Condition("n_T", "count"), Condition("n_S", "count"), _B,
        Condition("beta", "at_least", _one),
    )  # fmt: skip
    numbers = {"va": _power(_L["d"] / total, beta * _rate), "wa": _power(_L["d"] / total, _rate)}
    of = _problem(conditions, {}, numbers)
    return bounds(order_of_exponents(of, "wa", "va"), "value", letter="va")


# Clients that stay away ---------------------------------------------------------------------------------------------


def _two_points(numbers: Mapping[str, Meaning], more: Sequence[Condition] = ()) -> Problem:
    M, m = _L["M"], _L["m"]
    rare = (M - m) / (2 * M)
    conditions = (*more, Condition("m", "interval", M - 1), Condition("M", "count"), Condition("n", "count"))
    parameters = {"clients": M, "arbitrary_cohort": m, "samples_per_client": n, "rare_mass": rare}
    parameters |= {"error_level": _L["eps"]} if more else {}
    return _problem(conditions, parameters, numbers)


def _rare(beyond: int) -> Meaning:
    M, m = _L["M"], _L["m"]
    return "tail", M * n, (M - m) / (2 * M), (M - m) * n + beyond


def _by_mean(of: Problem, beyond: int) -> SampleTheorem:
    """s <= u/(u + (u + beyond)^2), u = (M - m) n/2 the mean, which bounds the variance."""
    M, m = _L["M"], _L["m"]
    u = (M - m) * n / 2
    total = u + (u + beyond) ** 2
    return add(of, [(cantelli(of, "s"), 1 / total), (probability(of, "s"), u * (M - m) / (2 * M) / total)])


def _fails(functions: bool, share: Scalar = _half) -> SampleTheorem:
    """The error is rare_mass with probability at least 2/5, or 4/5: the rare point is hidden with at least 4/5. The
    error level is at most this share of those that stay away, which is at most 1/2."""
    M, m = _L["M"], _L["m"]
    u = (M - m) * n / 2
    level = Condition("eps", "interval", (M - m) / M * share)
    name = "functions" if functions else "any learner"
    of = _two_points({"s": _rare(1), "fails": ("failure", name)}, (level,))
    shown = add(of, [(_by_mean(of, 1), 1)], squares=[(u - 1, 1 / (5 * (u + (u + 1) ** 2)))])
    fails = add(of, [(learner(of, functions), 1), (shown, 1 if functions else _half)])
    return bounds(fails, "negated_failure_of_functions" if functions else "negated_failure")


def theorem_1_sharp() -> SampleTheorem:
    """P[error >= eps] >= 2/5 for every learner."""
    return _fails(functions=False)


def theorem_1() -> SampleTheorem:
    """P[error >= eps] >= 2/5 for every learner, at lower levels."""
    return _fails(functions=False, share=_one / 8)


def theorem_1_functions() -> SampleTheorem:
    """P[error >= eps] >= 4/5 for every learner that draws no lots."""
    return _fails(functions=True)


def rare_tail() -> SampleTheorem:
    """P[s >= (M - m) n] <= 2/3."""
    M, m = _L["M"], _L["m"]
    of = _two_points({"s": _rare(0)})
    u = (M - m) * n / 2
    return bounds(add(of, [(_by_mean(of, 0), 1)], constant=_one * 2 / 3 - 1 / (1 + u)), "rare_tail")


LETTERS = {
    "SA": "sample_complexity",
    "c": "hidden_constant", "delta": "confidence", "d": "vc_dimension", "n_T": "server_samples",
    "n_S": "client_samples", "beta": "relatedness_exponent", "b": "noise_exponent",
}  # fmt: skip
"""The quantities of letters that no number, and no quantity of the problem, is."""

_BOUNDED: dict[str, tuple[Callable[[], SampleTheorem], str]] = {
    "lemma1.excess.corrected": (excess_corrected, "pooled_source_excess"),
    "lemma1.excess.main": (excess_main, "pooled_source_excess"),
    "lemma1.frequency.main": (frequency_main, "disagreement_excess"),
    "lemma1.deficit.main": (deficit_main, "disagreement_deficit"),
    "lemma1.deviation.main": (deviation_main, "pair_deviation"),
    "lemma1.excess.vc": (excess_vc, "pooled_source_excess"),
    "thm2.vc": (theorem_2_vc, "pooled_excess"),
    "thm3.vc": (theorem_3_vc, "checked_excess"),
    "thm2.corrected": (theorem_2_corrected, "pooled_excess"),
    "thm2.massart": (theorem_2_massart, "pooled_excess"),
    "thm2.main": (theorem_2, "pooled_excess"),
    "thm3.corrected": (theorem_3_corrected, "checked_excess"),
    "thm3.main": (theorem_3, "checked_excess"),
    "thm3.massart": (theorem_3_massart, "checked_excess"),
    "lemma2.corrected": (lemma_2_corrected, "checked_empirical_gap"),
    "lemma1.frequency.corrected": (frequency_corrected, "disagreement_excess"),
    "lemma1.deficit.corrected": (deficit_corrected, "disagreement_deficit"),
    "lemma1.deviation.corrected": (deviation_corrected, "pair_deviation"),
    "eq15.main": (transfer, "target_excess"),
    "ex1.q.within": (example_source, "negated_source_excess"),
    "ex1.within": (example, "relatedness_gap"),
    "ex1.corrected": (example_mixture, "relatedness_gap"),
    "thm2.first.main": (first_dominates, "second_rate"),
    "thm1.main": (theorem_1, "negated_failure"),
    "thm1.sharp": (theorem_1_sharp, "negated_failure"),
    "thm1.functions": (theorem_1_functions, "negated_failure_of_functions"),
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
    "thm2.first.main": OfSamples(first_dominates, LETTERS, "second_rate"),
    "ex1.q.main": OfSamples(example_source, LETTERS, "negated_source_excess", _WITHIN),
    "ex1.main": OfSamples(example, LETTERS, "relatedness_gap", _WITHIN),
}

DERIVATIONS = tuple(
    theorem.derivation(f"composed, safari.{name}", (f"safari.{'@'.join(name.rsplit('.', 1))}", *_ALSO.get(name, ())))
    for name, theorem in THEOREMS.items()
)
