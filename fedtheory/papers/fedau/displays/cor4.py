"""Corollary 4: the steps that it chooses, put into Theorem 2, and the same for the repaired theorem.

root = sqrt(F N/(Q s L I T)), s = I delta^2 + sigma^2, is the first entry of the minimum that is c; lead = root Q s L/N
is sqrt(L F Q s/(N I T)). F is written through root: it is root^2 Q s L I T/N. In the repaired one Q is the expected Q
and s = I (delta^2 + G^2) + sigma^2.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import Region, capped, count, equal, nonnegative, positive, region
from ....proof.steps import Nonnegative, Step
from ....proof.write import Pairs, nonnegative_step, same
from .symbols import CAP, F, G, I, L, N, Q, T, delta, gram, one, sigma

root, slope, inverse, bounded = sympy.symbols("root slope inverse bounded")
lead = root * Q * slope * L / N
_gap = root**2 * Q * slope * L * I * T / N
_slopes = (nonnegative("slope"), positive("weight_scale"), positive("smoothness"), count("local_steps"),
           count("clients"), count("rounds"))  # fmt: skip
_global_cap, _scale_cap = 4 * L * I, 54 * L * I * Q / N
"""Inverses of the other two entries of the minimum."""


def _where(*parts: tuple) -> Region:
    return region(*parts, equal("initial_gap", _gap), positive("root"), *_slopes)


_CASES = (
    _where(equal("inverse", 1 / root)),
    _where(equal("inverse", _global_cap)),
    _where(equal("inverse", _scale_cap)),
)
_no_slope = tuple(
    region(equal("inverse", value), nonnegative("initial_gap"), positive("weight_scale"), positive("smoothness"),
           count("local_steps"), count("clients"), count("rounds"))
    for value in (_global_cap, _scale_cap)
)  # fmt: skip
_noise = sympy.Rational(17, 2) * sigma**2 + 27 * I * delta**2
_repaired_noise = sympy.Rational(17, 16) * sigma**2 + sympy.Rational(27, 8) * I * (delta**2 + G**2)
_data = (nonnegative("gradient_noise"), nonnegative("dissimilarity"), nonnegative("global_gradient_bound"))
_cap = sympy.Rational(64, 3) * L * F / T
_caps = 32 * L * F / T + 432 * L * F * Q / (N * T)


def _below_root(slopes: sympy.Expr) -> Region:
    """c = step <= root, for that s."""
    return region(capped("step", root), equal("slope", slopes), positive("root"), *_slopes[1:], *_data)


_step = sympy.Symbol("step")
_s, _wide = I * delta**2 + sigma**2, I * (delta**2 + G**2) + sigma**2
_third, _drift = sympy.Rational(16, 3), sympy.Rational(40, 3)

# falls, scale, W and local play the first term of the theorem, the one with Q, the weight error, and L^2 I gamma^2
falls, scale, W, W_bound, local = sympy.symbols("falls scale weight_error bound local")
_known = region(*_slopes, *_data, nonnegative("initial_gap"), positive("root"))


def _away(small: sympy.Expr) -> sympy.Expr:
    return 15 * small * sigma**2 + sympy.Rational(27, 8) * (delta**2 + G**2)


def _theorem(weights: int, drift: sympy.Rational | int) -> sympy.Expr:
    """The right side of Theorem 2."""
    return falls + weights * _away(local) * W + scale + drift * local * (sigma**2 + 6 * I * delta**2)


def _sum_of(leading: sympy.Expr | int, weights: int, drift: sympy.Rational | int, caps: sympy.Expr) -> sympy.Expr:
    """The right side of Corollary 4."""
    return leading * lead + weights * _away(1 / (I * T)) * W_bound + caps + drift * (sigma**2 / I + 6 * delta**2) / T


def _pieces(weights: int, drift: sympy.Rational | int) -> Pairs:
    """Return the inequalities to insert for the weight error and the local step."""
    small = 1 / (I * T) - local
    return (
        (small * W, 15 * weights * sigma**2),
        (small, drift * (sigma**2 + 6 * I * delta**2)),
        (W_bound - W, weights * _away(1 / (I * T))),
    )


CHOSEN = (
    same("fedau.cor4.lead", "Corollary 4", "lead^2 = L F Q s/(N I T), and F/(I T root) = lead",
         [(lead**2, L * _gap * Q * slope / (N * I * T)), (_gap / (I * T * root), lead)]),
    # squared_step plays gamma^2
    Step("fedau.cor4.local", "appendix B.7", "gamma^2 <= 1/(L^2 I^2 T), so L^2 I gamma^2 <= 1/(I T), and gamma <= 1/(4 "
         "sqrt(15) L I) <= 1/(15 L I)", "polynomial",
         (Nonnegative(1 / (I * T) - L**2 * I * sympy.Symbol("squared_step"),
                      (region(capped("squared_step", 1 / (L**2 * I**2 * T)), positive("smoothness"),
                              count("local_steps"), count("rounds")),)),
          Nonnegative(CAP**2 - sympy.Rational(1, 240), (region(count("rounds")),)))),
    nonnegative_step("fedau.cor4.inverse", "appendix B.7", "1/c, the maximum of three inverses, is at most their sum: "
                     "8F/(c I T) <= 8 lead + 32 L F/T + 432 L F Q/(N T)", 8 * lead + _caps - 8 * F / (I * T) * inverse,
                     *_CASES, rests_on=("fedau.cor4.lead",)),
    nonnegative_step("fedau.cor4.no_slope", "appendix B.7", "without noise and dissimilarity the first entry is "
                     "infinite, and c one of the others", _caps - 8 * F / (I * T) * inverse, *_no_slope, printed=False),
    nonnegative_step("fedau.cor4.step", "appendix B.7", "c <= root: c L Q/N (17/2 sigma^2 + 27 I delta^2) <= 27 lead",
                     27 * lead - _step * L / N * Q * _noise, _below_root(_s), rests_on=("fedau.cor4.lead",)),
    Step("fedau.cor4.roots", "appendix B.7", "sqrt(I delta^2 + sigma^2) <= sqrt(I) delta + sigma, by squares",
         "polynomial",
         (Nonnegative((bounded * delta + sigma) ** 2 - (bounded**2 * delta**2 + sigma**2),
                      (region(nonnegative("bounded"), nonnegative("dissimilarity"), nonnegative("gradient_noise")),)),
          )),
    gram("fedau.cor4", "(8)", "all of it in Theorem 2, with Lemma B.7.1 for the weight error",
         _sum_of(35, 12, 20, _caps) - _theorem(12, 20),
         given=((8 * lead + _caps - falls, one), (27 * lead - scale, one), *_pieces(12, 20)), where=_known,
         kind="polynomial",
         rests_on=("fedau.cor4.local", "fedau.cor4.inverse", "fedau.cor4.no_slope", "fedau.cor4.step",
                   "fedau.cor4.roots", "fedau.B.7.1",
                   "fedau.B.5.3_under_1/15", "fedau.rounds.gap")),
)  # fmt: skip

REPAIRED = (
    nonnegative_step("fedau.cor4.corrected.inverse", "repaired", "16F/(3 c I T) <= 16/3 lead + 64/3 L F/T",
                     _third * lead + _cap - _third * F / (I * T) * inverse, *_CASES[:2],
                     printed=False, rests_on=("fedau.cor4.lead",)),
    nonnegative_step("fedau.cor4.corrected.no_slope", "repaired", "and where the first entry is infinite",
                     _cap - _third * F / (I * T) * inverse, _no_slope[0], printed=False),
    nonnegative_step("fedau.cor4.corrected.step", "repaired", "with s = I (delta^2 + G^2) + sigma^2: 16/3 c L Q/N "
                     "(17/16 sigma^2 + 27/8 I (delta^2 + G^2)) <= 18 lead",
                     18 * lead - _third * _step * L / N * Q * _repaired_noise, _below_root(_wide), printed=False,
                     rests_on=("fedau.cor4.lead",)),
    gram("fedau.cor4.corrected", "repaired", "all of it in the repaired Theorem 2, with Lemma B.7.1",
         _sum_of(sympy.Rational(70, 3), 8, _drift, _cap) - _theorem(8, _drift),
         given=((_third * lead + _cap - falls, one), (18 * lead - scale, one), *_pieces(8, _drift)), where=_known,
         kind="polynomial", printed=False,
         rests_on=("fedau.cor4.local", "fedau.cor4.corrected.inverse", "fedau.cor4.corrected.no_slope",
                   "fedau.cor4.corrected.step", "fedau.B.7.1", "fedau.thm2.corrected", "fedau.rounds.gap")),
)  # fmt: skip

ALL = (*CHOSEN, *REPAIRED)
