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

from functools import cache, partial

from ....proof.kernel.round_rules import average, contraction
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.tactics import coefficient, follow, iterated, of_every_round, rounded, with_letters
from ....proof.kernel.theorems import Multiples, Theorem, instantiate
from ....proof.local_sgd import cocoercive, monotone
from . import eq17_eq28, lemmas_1_2, round_displays, thm2_curved
from ....proof.kernel.fixed_kinds import iterate_periods, telescope_periods
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.run_bounds import FINAL_DISTANCE, MEAN_GRADIENT, Definition, RunBound, enlarge, restrict, weaken
from ....proof.kernel.step_choices import choose_by_logarithm
from ....proof.translate.claim_bounds import Bounds, made_bounds
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


@cache
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
    exact = follow(premises, [(D * mu + kinds.bias.vector * p, "", eta * K / mu)])
    factor, addition = contraction(exact)
    short = K * eta * (floor * sigma_G**2 + noise * sigma**2)
    return rounded(exact, where, [(D, "", 1 - K * eta * rate - factor)], short - addition)


@cache
def _descent(young: Scalar, cap: Scalar, share: Scalar, floor: Scalar, noise: Scalar) -> Theorem:
    """E F(x+) <= F(x) - K eta/2 (share |grad F(x)|^2 - floor sigma_G^2 - noise sigma^2), where that is certified."""
    kinds, where = Kinds(convex=False), region(cap, convex=False)
    mixed = instantiate(mixed_descent(), {"a": young}, where)
    g = kinds.gradient
    premises: Multiples = [(mixed, 1), (kinds.bias.bound(), p**2 * eta * K / 2)]
    exact = follow(premises, [(g + kinds.bias.vector * p, "", eta * K / 2)])
    fall, addition = average(exact)
    short = K * eta / 2 * (floor * sigma_G**2 + noise * sigma**2)
    return rounded(exact, where, [(g, "", fall - K * eta / 2 * share)], short - addition)


_CURVED = 2 * L**2 * K * eta


_CAP, _FLOOR = mu / (8 * L**2 * K), p**2 / mu + (q / m * 6 / 5 + q * 3 / 4 + p * 4) * K * eta
strongly_convex = partial(
    _contraction, _CURVED, _CAP, mu - _CURVED - 4 * mu**2 * K * eta, _FLOOR, (h * 9 / 8 + _one * 3 / 5) * eta
)
"""Contraction of E|x+ - x*|^2 in a round of strongly convex clients, under eta <= mu/(8 L^2 K)."""
strongly_convex_averaged = partial(
    _contraction, _CURVED / h, _CAP * h, mu - _CURVED / h - 4 * mu**2 * K * eta, _FLOOR, h * eta * 7 / 4
)
"""Contraction of E|x+ - x*|^2 under eta <= h mu/(8 L^2 K), with noise that falls with the cohort."""

_LOW = p**2 + (q / m * 6 / 5 + q * 7 / 4 + p * 6) * z
nonconvex = partial(_descent, z, 1 / (8 * L * K), 1 - 7 * z, _LOW, (h * 9 / 8 + (1 - 1 / K) * 3) * L * eta)
"""Descent of E F(x+) in a round, under eta <= 1/(8 L K)."""
nonconvex_averaged = partial(_descent, z / h, h / (16 * L * K), 1 - 7 * z / h, _LOW, h * L * eta * 3)
"""Descent of E F(x+) under eta <= h/(16 L K), with noise that falls with the cohort."""
nonconvex_sharp = partial(
    _descent, 2 * z, 1 / (42 * L * K), 1 - 21 * z, p**2 + 22 * z, (h * 2 + _one * 11 / 5) * L * eta
)
"""Descent of E F(x+) under eta <= 1/(42 L K), with sharper constants."""
_OF_SQUARES = p**2 * 2 + (q / m + 2 * p) * 4 * z + z**2 * 53 / 2
nonconvex_corrected = partial(
    _descent, _one / 4, 1 / (20 * L * K), _one / 2, _OF_SQUARES, (h * 9 / 8 + z * 51 / 10) * L * eta
)
"""Descent of E F(x+) by half of |grad F(x)|^2, with a drift of the order z^2."""

PERIODS = Ring(" ".join([*RING.names, "R", "I", "start", "power", "decay"]))
"""The letters above; rounds, the period, |x_0 - x*| or F(x_0) - inf F, P^R and what the claim has in its place."""


_OF_RUNS = {name: quantity for name, quantity in LETTERS.items() if name != "q"} | {
    "R": "rounds",
    "I": "snapshot_period",
}


def _by_exponential(made: Theorem) -> RunBound:
    """E|x_R - x*|^2 <= exp(-mu K R eta) |x_0 - x*|^2 + B/(1 - P), from a contraction by P <= 1 - mu K eta."""
    rate = PERIODS["mu"] * PERIODS["K"] * PERIODS["R"] * PERIODS["eta"]
    return enlarge(iterated(made, PERIODS, "R", "start"), "power", Definition("decay", "exponential", rate))


def _rarely_arbitrary(falls: RunBound) -> RunBound:
    """A bound with 1 - q for a, given that it is at most (mu K eta - 5 mu^2 K^2 eta^2)/2."""
    ring = falls.where.ring
    mu, K, eta, q = (ring[name] for name in ("mu", "K", "eta", "q"))
    rare = (mu * K * eta - 5 * mu**2 * K**2 * eta**2) / 2 - (1 - q)
    any_q = Condition("q", "interval", ring.number(1))
    kept = (any_q if c.name == "a" else c for c in falls.where.conditions if c.name != "size")
    return restrict(falls, Where(ring, tuple(kept)), {"a": 1 - q, "size": ring.number(1)}, [rare])


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
_of_fall, _of_contraction = (partial(of_every_round, what, LETTERS) for what in (MEAN_GRADIENT, FINAL_DISTANCE))
_BOUNDS: Bounds = {
    "thm1@corrected": _of_fall(nonconvex_corrected),
    "thm1@sharp": _of_fall(nonconvex_sharp),
    "thm1@sharper": _of_fall(nonconvex),
    "thm1@averaged": _of_fall(nonconvex_averaged),
    "thm2@sharper": _of_contraction(strongly_convex),
    "thm2@averaged": _of_contraction(strongly_convex_averaged),
    "thm2@wide": _of_contraction(thm2_curved.strongly_convex),
    "thm2@corrected": _of_contraction(thm2_curved.strongly_convex_corrected),
    "cor1@corrected": _of_fall(nonconvex_corrected, "step_constant"),
    "cor2@corrected": _of_fall(nonconvex_corrected, "step_constant"),
    "thm1@periodic": (lambda: telescope_periods(nonconvex(), PERIODS, "R", "start", "I"),
                      _OF_RUNS | {"start": "initial_gap"}, MEAN_GRADIENT),
    "thm2@periodic": (lambda: iterate_periods(strongly_convex(), PERIODS, "R", "start", "power", "I"),
                      _OF_RUNS | {"start": "initial_distance"}, FINAL_DISTANCE),
    "cor3@corrected": (_chosen_by_logarithm, _OF_COR3, FINAL_DISTANCE),
    "thm2@appendix": (partial(_rare_arbitrary_rounds, False), _OF_COR3, FINAL_DISTANCE),
    "thm2@main": (partial(_rare_arbitrary_rounds, True), _OF_COR3, FINAL_DISTANCE),
}  # fmt: skip

DERIVATIONS = (
    *made_bounds(
        "fast", {**_BOUNDS, **eq17_eq28.BOUNDS, **round_displays.BOUNDS}, of_rounds=True,
        also={"cor3@corrected": ("fast.rem3@main",)},
    ),
    *made_bounds("fast", lemmas_1_2.BOUNDS),
)  # fmt: skip
