"""Lemmas B.3.1 to B.3.3 and B.5.1 and Theorems 1 and 2, composed by the kernel from its axioms: one round's progress.

Let g = grad F(x) of any mean F = sum phi_i F_i, with |grad F_i(x) - g| <= d; s_i is the sum of client i's gradients
along its path. Let z = L K gamma <= 1/15 and c = gamma eta <= 1/(4 L K). Given the start x of a round that ends in x+
and its weights:

    |s_i|^2 <= K^2 (4 L^2 K gamma^2 sigma^2 + 27/8 d^2 + 27/8 |g|^2)                                           (= C)
    -c <g, B + A> = c/(2 K) (|K g - B - A|^2 - K^2 |g|^2 - |B + A|^2),    B = sum_k mean grad F_i(x_{i,k}),
    |K g - B - A|^2 <= 3/2 |K g - B|^2 + 3 |A|^2,   |A|^2 <= E C,   E|V|^2 <= Q C/n,   E|U|^2 <= Q K sigma^2/n

so that E F(x+) - F(x) is at most the right side of (B.3.5), with 2 z^2 for its 15 z^2 and less noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from ....proof.kernel.axioms import ITERATE, NEXT, NOISE, START_POINT, Axioms, at
from ....proof.kernel.forms import Form, Value, square
from ....proof.kernel.client_means import LAST, own_share
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.tactics import Square, coefficient, each, restricted, rounded, show, show_by_induction
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate, last_step, over_clients, over_steps
from ....proof.kernel.weighted_rounds import BIAS, CENTRE, PARTICIPATION, ROUND_NOISE, WeightedRounds
from ....proof.kernel.run_bounds import RunBound
from ....proof.kernel.round_bounds import bound_round
from ....proof.kernel.weighted_run_bounds import (
    EXPECTED_SCALE, LARGEST_SCALE, telescope_constant_weights, telescope_weights,
)  # fmt: skip
from ....proof.local_sgd import LocalSGD
from ....proof.translate.claim_bounds import Bounds, made_bounds

RING = Ring("eta c L K k n E Q peak sigma d G w")
eta, c, L, K, k, n, E, Q, peak, sigma, d, G, w = RING.symbols
_one = RING.number(1)
z = L * K * eta
SHARE = _one * 27 / 8


_LOCAL, _GLOBAL = Condition("eta", "capped", 1 / (15 * L * K)), Condition("c", "capped", 1 / (4 * L * K))
_FREE_LOCAL, _FREE_GLOBAL = Condition("eta", "positive"), Condition("c", "positive")


def region(*scales: Condition, steps: tuple[Condition, ...] = (_LOCAL, _GLOBAL)) -> Where:
    """Return the region z <= 1/15 and c <= 1/(4 L K), unless said otherwise, with conditions on E and Q."""
    own = {condition.name for condition in scales}
    known = (*steps, Condition("L", "positive"), *each("count", "K n"), *each("nonnegative", "E Q sigma d G"))
    return Where(RING, (*scales, *(condition for condition in known if condition.name not in own)))


WHERE = region()
AXIOMS, ROUNDS = Axioms(WHERE, eta, n, "start"), WeightedRounds(WHERE, eta, c, n)
_SGD = LocalSGD(AXIOMS, L, sigma**2, convex=False)
_x, _next = AXIOMS.vector(START_POINT), AXIOMS.vector(NEXT)
_g0, _along = AXIOMS.gradient(START_POINT), AXIOMS.gradient(ITERATE)
_g, _B = _g0.under("M"), _along.under("M").under("K")
_A, _V, _U = (AXIOMS.vector(atom) for atom in (BIAS, PARTICIPATION, ROUND_NOISE))


@cache
def around_any() -> Theorem:
    """|grad F_i(x) - g|^2 <= (2 delta)^2, whatever mean F is; d is delta."""
    where, centre = region(steps=(_FREE_LOCAL, _FREE_GLOBAL)), AXIOMS.vector(CENTRE)
    around = WeightedRounds(where, eta, c, n).around_plain_mean(d**2)
    goal = Form.constant(4 * d**2) - square(_g0 - _g)
    squares: list[Square] = [(_g0 - centre * 2 + _g, "", _one), (_g0 - _g, "M", _one * 2)]
    return show(goal, [(around, 2), (over_clients(around, "M"), 2)], squares=squares)


@cache
def around_by_weight() -> Theorem:
    """|grad F_i(x) - g|^2 <= 4 (1 - w)^2 delta^2, no client's weight in F below w."""
    free = region(steps=(_FREE_LOCAL, _FREE_GLOBAL))
    where = Where(RING, (*free.conditions, Condition("w", "interval", _one)))
    around = WeightedRounds(free, eta, c, n).around_plain_mean(d**2)
    return own_share(around, _g0, AXIOMS.vector(CENTRE), w, where)


def _near(own: bool) -> tuple[Theorem, Scalar]:
    """|grad F_i(x) - g|^2 <= D: D = d^2 where F is the plain mean, else 4 d^2."""
    return (AXIOMS.dissimilar(START_POINT, d**2), d**2) if own else (around_any(), 4 * d**2)


@cache
def each_sum(own: bool) -> Theorem:
    """|s_i|^2 <= C."""
    near, bound = _near(own)
    s, change = _along.under("K"), _along - _g0
    sum_of_changes = s - _g0 * K
    goal = Form.constant(K**2 * (4 * L**2 * K * eta**2 * sigma**2 + SHARE * bound)) + square(_g) * (SHARE * K**2)
    moved = over_steps(_SGD.rough_path)
    premises: Multiples = [
        (over_steps(AXIOMS.smooth(ITERATE, START_POINT, L)), 3 * K),
        (moved, 3 * K * L**2),
        (near, SHARE * K**2),
    ]
    # |g_i|^2 <= 27/16 |g_i - g|^2 + 27/11 |g|^2 is more than enough
    of_each = (SHARE - _one * 3 / 2) * K**2 - 3 * K * L**2 * coefficient(moved.form, _g0, _g0)
    squares: list[Square] = [
        (_g0 * K - sum_of_changes * 2, "", _one / 2),
        (change - sum_of_changes / K, "K", 3 * K),
        (_g0 - _g * (SHARE * K**2 / of_each), "", of_each),
    ]
    return show(goal - square(s), premises, squares=squares)


@cache
def descent(own: bool, drift_of_gradient: int = 2) -> Theorem:
    """E F(x+) - F(x) <= (B.3.5) with 2 z^2 or more for its 15 z^2, where F is the plain mean, or any."""
    near, bound = _near(own)
    each, moved = each_sum(own), _next - _x
    change, whole = _along - _g0, _B + _A + _V + _U
    drift = _B - _g * K
    premises: Multiples = [
        (over_clients(ROUNDS.descent(L), "M"), 1),
        (ROUNDS.round(_g + (moved - whole * c) * (L / 2)), -1),
        (ROUNDS.noise(_g), c),
        (ROUNDS.participation(_g), c),
        (ROUNDS.participation(_B + _A), -2 * L * c**2),
        (ROUNDS.noise_bound(sigma**2, Q), L * c**2),
        (ROUNDS.scale_of_weights(each, Q), L * c**2),
        (ROUNDS.error_of_weights(each, E), c * 3 / (2 * K)),
        (over_steps(over_clients(AXIOMS.smooth(ITERATE, START_POINT, L), "M")), c * 3 / 4),
        (over_steps(over_clients(_SGD.rough_path, "M")), c * L**2 * 3 / 4),
        (over_clients(near, "M"), c * K * 2 * z**2),
    ]
    squares: list[Square] = [
        (_B + _A + _V - _U, "", L * c**2 / 2),
        (drift - _A * 2, "", c / (4 * K)),
        (_B + _A, "", c / (2 * K) - L * c**2),
        (change - drift / K, "MK", c * 3 / 4),
    ]
    bracket = E * 81 / 16 + drift_of_gradient * z**2 + SHARE * c * L * K * Q / n - _one / 4
    fixed = c * K * E * 3 / 2 * (15 * L**2 * K * eta**2 * sigma**2 + SHARE * bound)
    fixed = fixed + c * L**2 * K**2 * eta**2 * (sigma**2 + 6 * K * bound) * 5 / 2
    fixed = fixed + c**2 * L * K * Q / n * (sigma**2 * 17 / 16 + SHARE * K * bound)
    values = Form(RING, {Value("M", START_POINT): _one, Value("M", NEXT): -_one})
    goal = values + Form.constant(fixed) + square(_g) * (c * K * bracket)
    return show(goal, premises, squares=squares)


def _falling(whole: Theorem, where: Where, share: Scalar, *more: tuple[Theorem, Scalar]) -> Theorem:
    """F falls by at least c K share |g|^2 but for what is added; ``more`` bounds |g|^2 where E or Q multiply it."""
    made = combine([(whole, 1), *more], where=where, context="start")
    return rounded(made, where, [(_g, "", -coefficient(made.form, _g, _g) - c * K * share)])


@cache
def constant_weights() -> Theorem:
    """Descent for Theorem 1: no error of weights, and an eighth of |g|^2."""
    cap = n * (_one / 8 - 15 * z**2) / (SHARE * c * L * K)
    where = region(Condition("Q", "interval", cap), Condition("E", "nonnegative"))
    return _falling(instantiate(descent(False), {"E": 0 * E}, where), where, _one / 8)


@cache
def bounded() -> Theorem:
    """Descent for Theorem 2, Option 2: c <= n/(54 L K Q)."""
    where = region(Condition("Q", "interval", n / (54 * L * K * c)), Condition("E", "nonnegative"))
    return _falling(descent(True), where, _one / 8, (ROUNDS.bounded_gradient(G**2), c * K * E * 81 / 16))


@cache
def bounded_corrected() -> Theorem:
    """Descent for Theorem 2, Option 2, repaired: no step depends on Q."""
    price = E * 81 / 16 + SHARE * c * L * K * Q / n
    return _falling(descent(True), WHERE, _one * 3 / 16, (ROUNDS.bounded_gradient(G**2), c * K * price))


@cache
def nearly_optimal() -> Theorem:
    """Descent for Theorem 2, Option 1: E <= peak <= 1/81."""
    where = region(
        Condition("Q", "interval", n / (54 * L * K * c)),
        Condition("E", "interval", peak),
        Condition("peak", "interval", _one / 81),
    )
    return _falling(descent(True), where, _one / 16)


_WIDE = region(steps=(Condition("eta", "capped", _one * 11 / (60 * L * K)), _FREE_GLOBAL))
"""Conditions with z <= 11/60, which is above 1/sqrt 30."""
_QUARTER = region(steps=(Condition("eta", "capped", 1 / (4 * L * K)), _FREE_GLOBAL))

_PACES = {
    False: (_WIDE, K, _one / 2, k + k**2 / K + 2 * k**3 / K**2, _one * 5),
    True: (_QUARTER, 2 * K, _one / 2 + 3 / (4 * K * (2 * K + 1)), k + k**2 / K / 2 + k**3 / K**2 / 4, _one * 7 / 4),
}
"""Whether a path is slow: the region, the number m and Young's parameter of the induction over its steps, what it is
about, and the drift's price."""


@cache
def _path(slow: bool) -> Theorem:
    """E|x_{i,k} - x|^2 <= rise gamma^2 (3 K |grad F_i(x)|^2 + sigma^2) for k <= K, rise = k + k^2/K + 2 k^3/K^2, or k +
    k^2/(2 K) + k^3/(4 K^2), by induction with the factor 1 + 2/m."""
    where, m, share, rise, _ = _PACES[slow]
    ax = Axioms(where, eta, n, "start")
    y, N = ax.vector(ITERATE), ax.vector(NOISE)
    moved, after, change = y - _x, ax.vector(at(ITERATE, 1)) - _x, _along - _g0
    bound = square(_g0) * (3 * K * rise * eta**2) + Form.constant(rise * eta**2 * sigma**2) - square(moved)
    premises: Multiples = [
        (ax.local_step(after + moved - (_along + N) * eta), -1),
        (ax.unbiased(moved - _along * eta), 2 * eta),
        (ax.variance(sigma**2), eta**2),
        (ax.smooth(ITERATE, START_POINT, L), (1 + 1 / share) * (m + 1) * eta**2),
    ]
    squares: list[Square] = [
        (moved / m + _along * eta, "", m),
        (_g0 - change / share, "", (m + 1) * eta**2 * share),
        (moved, "", 1 / m - (1 + 1 / share) * (m + 1) * L**2 * eta**2),
    ]
    return show_by_induction(bound, 1 + 2 / m, premises, squares)


def _drift(slow: bool, last: bool) -> Theorem:
    """E|x_{i,k} - x|^2 <= a K gamma^2 (sigma^2 + 6 K (4 delta^2 + |g|^2)) at a step, or after the last one; a = 5, or
    7/4."""
    *_, rise, a = _PACES[slow]
    moved = AXIOMS.vector(LAST if last else ITERATE) - _x
    goal = (Form.constant(sigma**2 + 24 * K * d**2) + square(_g) * (6 * K)) * (K * eta**2 * a)
    price = 3 * K * (rise.replace({"k": K}) if last else rise) * eta**2
    path = last_step(_path(slow)) if last else _path(slow)
    squares: list[Square] = [(_g0 - _g * 2, "", price)]
    premises: Multiples = [(path, 1), (around_any(), 2 * price)]
    return show(goal - square(moved), premises, squares=squares)


local_drift, last_drift = cache(partial(_drift, False, False)), cache(partial(_drift, False, True))
"""Bounds on a client's drift before its last local step, and after it, for z <= 11/60."""
local_slow_drift, last_slow_drift = cache(partial(_drift, True, False)), cache(partial(_drift, True, True))
"""Bounds on the same for z <= 1/4."""


# Claims ---------------------------------------------------------------------------------------------------------------

RUNS = Ring(" ".join([*RING.names, "g", "R", "gap", "slope", "mean_weight", "S", "OE"]))
"""The letters above; global step size, rounds, F(x_0) - inf F, |grad F(x_0)|, mean weight, Q of constant weights, and
the objective's error."""
_eta, _L, _K, _n, _Q = (RUNS[name] for name in ("eta", "L", "K", "n", "Q"))
_STEPS = {"c": _eta * RUNS["g"]}
_POSITIVE = {"eta": Condition("eta", "positive"), "g": Condition("g", "positive")}


def _root_cap(above: Scalar) -> Condition:
    """Cap the local step by a number over L K; where the claim's number has a root, by the next one above."""
    return Condition("eta", "capped", above / (_L * _K))


_LOCAL_CAP = _root_cap(RUNS.number(31) / 480)  # sqrt 15 <= 31/8
_DRIFT_CAP = _root_cap(RUNS.number(117) / 640)  # sqrt 30 <= 351/64
_QUARTER_CAP = _root_cap(RUNS.number(1) / 4)
_GLOBAL_CAP = 1 / (4 * _L * _K) - _eta * RUNS["g"]
_SCALE_CAP = _n / (54 * _L * _K * _Q) - _eta * RUNS["g"]


def _of_run(make: Callable[[], Theorem], scale: str, given: Sequence[Scalar]) -> RunBound:
    start = telescope_weights(make(), RUNS, "R", "gap", scale)
    return restricted(start, _STEPS, [Condition("Q", "positive"), _LOCAL_CAP, _POSITIVE["g"]], given)


def _of_constant_weights() -> RunBound:
    w, S = RUNS["mean_weight"], RUNS["S"]
    start = telescope_constant_weights(constant_weights(), RUNS, "R", "gap", "mean_weight")
    step = _eta * RUNS["g"]
    descends = RUNS.number(1) / 8 - 15 * (_L * _K * _eta) ** 2 - SHARE.within(RUNS) * step * _L * _K * S / (_n * w)
    given = [1 / (4 * _L * _K) - step * w, descends]
    conditions = [_LOCAL_CAP, _POSITIVE["g"], Condition("S", "positive"), Condition("mean_weight", "positive")]
    return restricted(start, {"c": step * w, "Q": S / w**2, "E": 0 * w}, conditions, given)


def _of_round(
    make: Callable[[], Theorem],
    functional: str,
    local: Condition = _POSITIVE["eta"],
    *,
    given: Sequence[Scalar] = (),
    plain: bool = False,
    last: Callable[[], Theorem] | None = None,
) -> RunBound:
    start = bound_round(make(), RUNS, functional, ("slope", "R"), plain, None if last is None else last())
    values, conditions = dict(_STEPS), [local, _POSITIVE["g"]]
    if functional == "weighted_increase" and not plain:
        values["E"] = _n * RUNS["OE"]
        conditions.append(Condition("OE", "nonnegative"))
    if functional != "weighted_increase":
        values |= dict.fromkeys(("E", "Q"), RUNS.number(0))
    return restricted(start, values, conditions, [1 - RUNS["R"], *given])


_LETTERS = {
    "eta": "local_lr", "L": "smoothness", "K": "local_steps", "n": "clients", "sigma": "gradient_noise",
    "d": "dissimilarity", "G": "global_gradient_bound", "g": "global_lr", "R": "rounds", "gap": "initial_gap",
    "slope": "gradient_norm", "peak": "peak_weight_error", "OE": "objective_error", "mean_weight": "update_weight",
    "w": "least_objective_weight",
}  # fmt: skip
_GIVEN = {**_LETTERS, "E": "weight_error", "Q": "weight_scale"}
_CAPS = [_GLOBAL_CAP, _SCALE_CAP]
_MEAN, _ROUND_CAPS = "average_squared_gradient", [_GLOBAL_CAP]

_OF_DESCENT = partial(_of_round, functional="weighted_increase", local=_LOCAL_CAP, given=_ROUND_CAPS)

_BOUNDS: Bounds = {
    "lemmaB_3_1@main": (partial(_of_round, around_any, "weighted_divergence"), _LETTERS, "weighted_divergence"),
    "lemmaB_3_1@sharp": (partial(_of_round, around_by_weight, "weighted_divergence"), _LETTERS, "weighted_divergence"),
    "lemmaB_3_2@main": (partial(_of_round, local_drift, "local_drift", _DRIFT_CAP, last=last_drift), _LETTERS,
                        "local_drift"),
    "lemmaB_3_2@sharp": (partial(_of_round, local_slow_drift, "local_drift", _QUARTER_CAP, last=last_slow_drift),
                         _LETTERS, "local_drift"),
    "lemmaB_3_3@main": (partial(_OF_DESCENT, partial(descent, False, 15)), {**_LETTERS, "Q": "weight_scale"},
                        "weighted_increase"),
    "lemmaB_5_1@main": (partial(_OF_DESCENT, partial(descent, True, 15), plain=True), _GIVEN, "weighted_increase"),
    "thm1@main": (_of_constant_weights, {**_LETTERS, "S": "weight_scale"}, "average_squared_weighted_gradient"),
    "thm2@main": (partial(_of_run, bounded, LARGEST_SCALE, _CAPS), _GIVEN, _MEAN),
    "thm2@corrected": (partial(_of_run, bounded_corrected, EXPECTED_SCALE, _ROUND_CAPS),
                       {**_LETTERS, "E": "weight_error", "Q": "expected_weight_scale"}, _MEAN),
    "thm2.nearly_optimal@main": (partial(_of_run, nearly_optimal, LARGEST_SCALE, _CAPS), _GIVEN, _MEAN),
}  # fmt: skip

DERIVATIONS = made_bounds("fedau", _BOUNDS, of_rounds=True)
"""The claims' theorems, each from one on a round."""
