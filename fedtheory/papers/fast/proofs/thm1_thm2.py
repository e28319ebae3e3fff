"""Theorems 1 and 2 of FAST for every q, composed by the kernel from its axioms: one round's progress.

With p = 1 - q, h = q/m + p/n, z = L K eta, in expectation given the start x of a round that ends in x+:

    under eta <= mu/(8 L^2 K)      |x+ - x*|^2 <= (1 - K eta (mu - 2 L^2 K eta - 4 mu^2 K eta)) |x - x*|^2
                    + K eta (p^2/mu + (6/5 q/m + 3/4 q + 4 p) K eta) sigma_G^2 + K eta^2 (9/8 h + 3/5) sigma^2
    under eta <= 1/(8 L K)         F(x+) <= F(x) - K eta/2 (1 - 7 z) |grad F(x)|^2 + ...

and the same under eta <= h mu/(8 L^2 K) and eta <= h/(16 L K) with noise that falls with the cohorts. What the repaired
editions of Theorem 1 say follows with other parameters of Young's inequality between grad F(x) and the drift: 2 z, and
1/4, by which the drift costs z^2 and not z. The bias of
arbitrary rounds enters through the projection of their cohorts' mean gradient on what the start knows, hence p^2 and
not p; co-coercivity pays for the squares of gradients, hence no L^2 in their price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from ....proof.kernel.round_rules import average, contraction
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.tactics import coefficient, of_runs, over_rounds, rounded, with_letters
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate
from ....proof.local_sgd import cocoercive, monotone
from . import eq17_eq28, lemmas_1_2, round_displays, thm2_curved
from ....proof.kernel.fixed_kinds import iterate_periods, telescope_periods
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.run_bounds import (
    FINAL_DISTANCE,
    MEAN_GRADIENT,
    Definition,
    RunBound,
    enlarge,
    iterate,
    restrict,
    weaken,
)
from ....proof.kernel.step_choices import choose_by_logarithm
from ....proof.translate.claim_bounds import made_bounds
from .kinds_of_round import LETTERS, RING, K, Kinds, L, a, eta, h, m, mu, p, q, region, sigma, sigma_G, z

_one = RING.number(1)
_SPLIT, _SHARE = _one / 5, _one / 8
"""Young parameters between K mean_S grad F_i(x) and the drift, and between the noise and the drift."""


@cache
def mixed_distance() -> Theorem:
    """Bound |x+ - x*|^2 after a round, with the Young parameter a between x - x* and the drift still free."""
    kinds = Kinds(convex=True)
    whole = kinds.sgd.one_round(a, _SPLIT, _SHARE, kinds.with_young)
    return kinds.mixed(whole, kinds.sgd.distance, -2 * eta * K)


@cache
def mixed_descent() -> Theorem:
    """Bound F(x+) after a round, with the Young parameter a between grad F(x) and the drift still free."""
    kinds = Kinds(convex=False)
    whole = kinds.sgd.one_descent(a, _SPLIT, _SHARE, kinds.with_young)
    return kinds.mixed(whole, kinds.gradient, -eta * K)


def _contraction(young: Scalar, cap: Scalar, rate: Scalar, floor: Scalar, noise: Scalar) -> Theorem:
    """E|x+ - x*|^2 <= (1 - K eta rate) |x - x*|^2 + K eta (floor sigma_G^2 + noise sigma^2), if certified."""
    kinds, where = Kinds(convex=True), region(cap, convex=True)
    mixed = instantiate(mixed_distance(), {"a": young}, where)
    g, D = kinds.gradient, kinds.sgd.distance
    price = coefficient(mixed.form, g, g)
    premises: Multiples = [
        (mixed, 1),
        (monotone(kinds.sgd.axioms, mu), 2 * eta * K - price * (mu + L)),
        (cocoercive(kinds.sgd.axioms, mu, L), price),
        (kinds.bias.bound(), p**2 * eta * K / mu),
    ]
    squares = [(D * mu + kinds.bias.vector * p, "", eta * K / mu)]
    exact = combine(premises, where=where, context="start", squares=squares)
    factor, addition = contraction(exact)
    short = K * eta * (floor * sigma_G**2 + noise * sigma**2)
    return rounded(exact, where, [(D, "", 1 - K * eta * rate - factor)], short - addition)


def _descent(young: Scalar, cap: Scalar, share: Scalar, floor: Scalar, noise: Scalar) -> Theorem:
    """E F(x+) <= F(x) - K eta/2 (share |grad F(x)|^2 - floor sigma_G^2 - noise sigma^2), where that is certified."""
    kinds, where = Kinds(convex=False), region(cap, convex=False)
    mixed = instantiate(mixed_descent(), {"a": young}, where)
    g = kinds.gradient
    premises: Multiples = [(mixed, 1), (kinds.bias.bound(), p**2 * eta * K / 2)]
    squares = [(g + kinds.bias.vector * p, "", eta * K / 2)]
    exact = combine(premises, where=where, context="start", squares=squares)
    fall, addition = average(exact)
    short = K * eta / 2 * (floor * sigma_G**2 + noise * sigma**2)
    return rounded(exact, where, [(g, "", fall - K * eta / 2 * share)], short - addition)


_CURVED = 2 * L**2 * K * eta


@cache
def strongly_convex() -> Theorem:
    """Contraction of E|x+ - x*|^2 in a round of strongly convex clients, under eta <= mu/(8 L^2 K)."""
    return _contraction(
        _CURVED,
        mu / (8 * L**2 * K),
        mu - _CURVED - 4 * mu**2 * K * eta,
        p**2 / mu + (q / m * 6 / 5 + q * 3 / 4 + p * 4) * K * eta,
        (h * 9 / 8 + _one * 3 / 5) * eta,
    )


@cache
def strongly_convex_averaged() -> Theorem:
    """Contraction of E|x+ - x*|^2 under eta <= h mu/(8 L^2 K), with noise that falls with the cohort."""
    return _contraction(
        _CURVED / h,
        mu * h / (8 * L**2 * K),
        mu - _CURVED / h - 4 * mu**2 * K * eta,
        p**2 / mu + (q / m * 6 / 5 + q * 3 / 4 + p * 4) * K * eta,
        h * eta * 7 / 4,
    )


@cache
def nonconvex() -> Theorem:
    """Descent of E F(x+) in a round, under eta <= 1/(8 L K)."""
    return _descent(
        z,
        1 / (8 * L * K),
        1 - 7 * z,
        p**2 + (q / m * 6 / 5 + q * 7 / 4 + p * 6) * z,
        (h * 9 / 8 + (1 - 1 / K) * 3) * L * eta,
    )


@cache
def nonconvex_averaged() -> Theorem:
    """Descent of E F(x+) under eta <= h/(16 L K), with noise that falls with the cohort."""
    return _descent(
        z / h, h / (16 * L * K), 1 - 7 * z / h, p**2 + (q / m * 6 / 5 + q * 7 / 4 + p * 6) * z, h * L * eta * 3
    )


@cache
def nonconvex_sharp() -> Theorem:
    """Descent of E F(x+) under eta <= 1/(42 L K), with sharper constants."""
    return _descent(2 * z, 1 / (42 * L * K), 1 - 21 * z, p**2 + 22 * z, (h * 2 + _one * 11 / 5) * L * eta)


@cache
def nonconvex_corrected() -> Theorem:
    """Descent of E F(x+) by half of |grad F(x)|^2, with a drift of the order z^2."""
    return _descent(
        _one / 4,
        1 / (20 * L * K),
        _one / 2,
        p**2 * 2 + (q / m + 2 * p) * 4 * z + z**2 * 53 / 2,
        (h * 9 / 8 + z * 51 / 10) * L * eta,
    )


_ROUNDS = {
    "thm1@corrected": nonconvex_corrected,
    "thm1@sharp": nonconvex_sharp,
    "thm1@sharper": nonconvex,
    "thm1@averaged": nonconvex_averaged,
    "thm2@sharper": strongly_convex,
    "thm2@averaged": strongly_convex_averaged,
    "thm2@wide": thm2_curved.strongly_convex,
    "thm2@corrected": thm2_curved.strongly_convex_corrected,
}
"""The theorem on one round from which each claim's bound follows."""
_FUNCTIONALS = {"thm1": MEAN_GRADIENT, "thm2": FINAL_DISTANCE}
_LETTERS = {theorem: LETTERS | of_runs(functional) for theorem, functional in _FUNCTIONALS.items()}


def _over_rounds(ref: str) -> RunBound:
    return over_rounds(_ROUNDS[ref](), _FUNCTIONALS[ref[:4]])


_CONSTANT = "step_constant"


def _with_step_constant() -> RunBound:
    """Theorem 1, with a letter for the constant by which the corollaries choose the step."""
    return over_rounds(nonconvex_corrected(), MEAN_GRADIENT, _CONSTANT)


PERIODS = Ring(" ".join([*RING.names, "R", "I", "start", "power", "decay"]))
"""The letters above; rounds, the period, |x_0 - x*| or F(x_0) - inf F, P^R and what the claim has in its place."""


def _periodic_descent() -> RunBound:
    return telescope_periods(nonconvex(), PERIODS, "R", "start", "I")


def _periodic_contraction() -> RunBound:
    return iterate_periods(strongly_convex(), PERIODS, "R", "start", "power", "I")


_OF_RUNS = {name: quantity for name, quantity in LETTERS.items() if name != "q"} | {
    "R": "rounds",
    "I": "snapshot_period",
}


def _by_exponential(made: Theorem) -> RunBound:
    """E|x_R - x*|^2 <= exp(-mu K R eta) |x_0 - x*|^2 + B/(1 - P), from a contraction by P <= 1 - mu K eta."""
    start, of = iterate(made, PERIODS, "R", "start", "power"), {name: PERIODS[name] for name in PERIODS.names}
    short = weaken(start, of["power"] * of["start"] ** 2 + start.bound.coefficients("power")[0])
    rate = of["mu"] * of["K"] * of["R"] * of["eta"]
    return enlarge(short, "power", Definition("decay", "exponential", rate))


def _rarely_arbitrary(falls: RunBound) -> RunBound:
    """A bound with 1 - q for a, given that it is at most (mu K eta - 5 mu^2 K^2 eta^2)/2."""
    ring = falls.where.ring
    mu, K, eta, q = (ring[name] for name in ("mu", "K", "eta", "q"))
    rare = (mu * K * eta - 5 * mu**2 * K**2 * eta**2) / 2 - (1 - q)
    kept = [Condition("q", "interval", ring.number(1)) if c.name == "a" else c for c in falls.where.conditions]
    where = Where(ring, tuple(c for c in kept if c.name != "size"))
    return restrict(falls, where, {"a": 1 - q, "size": ring.number(1)}, [rare])


def _chosen_by_logarithm() -> RunBound:
    """Corollary 3: exp(-mu K R eta) |x_0 - x*|^2 + A eta at the step min(l/(mu K R), 1/(20 m L K)), l = log(max(|x_0 -
    x*|^2 mu K R/A, 1))."""
    falls = _by_exponential(thm2_curved.mostly_snapshots())
    eta, m, L, mu, K, R, D = (PERIODS[name] for name in ("eta", "m", "L", "mu", "K", "R", "start"))
    plain = _rarely_arbitrary(falls)
    floor = plain.bound.coefficients("decay")[0] / eta
    return choose_by_logarithm(plain, "local_lr", D**2 * mu * K * R / floor, 1 / (20 * m * L * K), "I", "power")


def _rare_arbitrary_rounds(main: bool) -> RunBound:
    """Theorem 2 as printed, from ``corrected`` without its cap by mu, for z <= 1/(20 m) and 1/(20 n). In the appendix
    4 p <= mu K eta - 16 z^2; in the main text that is divided by sigma_G^2.

    With g = (mu K eta - 16 z^2)/4 - p >= 0, p^2 = p (mu K eta - 16 z^2)/4 - p g; and mu K eta <= z <= 1/20. So the
    floor p^2/(mu (mu - 5 mu^2 K eta)) is at most p K eta/(3 mu), below p K eta/(2 mu). Of the noise, 8/3 z = 8/3 (q z +
    p z) is at most 8/60 h, and z h at most h/20; of the heterogeneity 1 + 10 z at most 8.
    """
    falls = _by_exponential(thm2_curved.strongly_convex_corrected())
    names = ("eta", "m", "n", "L", "mu", "K", "q", "sigma", "sigma_G", "start", "decay")
    eta, m, n, L, mu, K, q, sigma, sigma_G, D, decay = (PERIODS[name] for name in names)
    p, z = 1 - q, L * K * eta
    small, rare = 1 / (20 * n * L * K) - eta, (mu * K * eta - 16 * z**2) / 4
    new = [Condition("eta", "capped", 1 / (20 * m * L * K)), *([Condition("sigma_G", "positive")] if main else [])]
    printed = with_letters(falls, {"size": 1}, [small, rare / sigma_G**2 - p if main else rare - p], *new)
    added = p * K * eta / 2 * (1 if main else sigma_G**2)
    floors = added + 8 * K * eta * sigma_G**2 + 2 * (q / m + p / n) * eta * sigma**2
    factors = [p * L * K * eta * sigma**2 / mu * 8 / 3, p * sigma_G**2 / (mu**2 * (1 - 5 * mu * K * eta))]
    return weaken(printed, decay * D**2 + floors / mu, factors)


_OF_COR3 = LETTERS | {"R": "rounds", "start": "initial_distance"}
_CHOSEN: dict[str, tuple[Callable[[], RunBound], Mapping[str, str], str]] = {
    "cor3@corrected": (_chosen_by_logarithm, _OF_COR3, "final_squared_distance"),
    "thm2@appendix": (partial(_rare_arbitrary_rounds, False), _OF_COR3, "final_squared_distance"),
    "thm2@main": (partial(_rare_arbitrary_rounds, True), _OF_COR3, "final_squared_distance"),
}

_PERIODIC = {
    "thm1@periodic": (_periodic_descent, _OF_RUNS | {"start": "initial_gap"}, "average_squared_gradient"),
    "thm2@periodic": (_periodic_contraction, _OF_RUNS | {"start": "initial_distance"}, "final_squared_distance"),
}  # fmt: skip
"""Bounds on runs with snapshots at fixed times, from the same theorems on one round."""

_BY_ROUNDS: dict[str, tuple[Callable[[], RunBound], Mapping[str, str], str]] = {
    ref: (partial(_over_rounds, ref), _LETTERS[ref[:4]], _FUNCTIONALS[ref[:4]]) for ref in _ROUNDS
}
_BY_ROUNDS |= {
    ref: (_with_step_constant, LETTERS | of_runs(MEAN_GRADIENT, _CONSTANT), MEAN_GRADIENT)
    for ref in ("cor1@corrected", "cor2@corrected")
}

DERIVATIONS = (
    *made_bounds(
        "fast", _BY_ROUNDS | _PERIODIC | _CHOSEN | eq17_eq28.BOUNDS | round_displays.BOUNDS, of_rounds=True,
        also={"cor3@corrected": ("fast.rem3@main",)},
    ),
    *made_bounds("fast", lemmas_1_2.BOUNDS),
)  # fmt: skip
