"""Repaired editions of SAFARI's Theorems 4 and 5, and its displays on a server's round, composed by the kernel from its
axioms.

With z = L K eta_c and the paper's ties of the step sizes, F falls in either kind of round by eta_s/2 |grad F(x)|^2 but
for constants (eta_c = 2 eta_s/K, under z <= 1/21), and with rate = mu K eta_c/2

    |x+ - x*|^2 <= (1 - rate) |x - x*|^2 + q (2 K eta_c/mu + 4 K^2 eta_c^2) sigma_G^2 + (the drift, the noises)

(eta_s = (L + mu) K eta_c/(4 L), under z <= 1/20).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ....claims import readings
from ....proof.kernel.axioms import START_POINT
from ....proof.kernel.forms import ONE
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.round_rules import ARBITRARY, expect_arbitrary
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.server_rounds import SERVER, ServerAxioms, mix_server
from ....proof.kernel.tactics import Square, coefficient, follow, rounded, with_letters
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate, over_clients
from ....proof.local_sgd import cocoercive
from ....proof.kernel.fixed_kinds import telescope_kinds
from ....proof.kernel.round_bounds import bound_round
from ....proof.kernel.run_bounds import FINAL_DISTANCE, RunBound, telescope, weaken
from ....proof.translate.claim_bounds import made_bounds
from . import thm5
from .kinds_of_round import LETTERS, RING, K, Kinds, L, eta, eta_s, m, mu, q, sigma, sigma_G, sigma_s

_one = RING.number(1)


def _tied(convex: bool, step: str, cap: Scalar) -> Where:
    """The region with one of the two step sizes, under a cap; the other is tied to it."""
    kept = [c for c in Kinds(convex=convex).where.conditions if c.name not in ("eta", "eta_s")]
    return Where(RING, (Condition(step, "capped", cap), *kept))


_TIED_4 = _tied(False, "eta_s", 1 / (42 * L))
_TIED_5 = _tied(True, "eta", 1 / (20 * L * K))
_DISTANCE = Kinds(convex=True).sgd.distance
_POSITIVE, _SMOOTH = Condition("eta_s", "positive"), (Condition("L", "positive"), Condition("sigma_s", "nonnegative"))

# The server's rounds ------------------------------------------------------------------------------------------------


@cache
def server_distance() -> Theorem:
    """(58): |x+ - x*|^2 <= (1 - 2 eta_s L mu/(L + mu)) |x - x*|^2 + eta_s (eta_s - 2/(L + mu)) |grad F(x)|^2
    + eta_s^2 sigma_s^2, for every step size."""
    kept = (c for c in Kinds(convex=True).where.conditions if c.name in ("L", "mu", "sigma_s"))
    where = Where(RING, (_POSITIVE, *kept))
    server, sgd = ServerAxioms(where, eta_s), Kinds(convex=True).sgd
    g, D = server.gradient, sgd.distance
    ax = type(sgd.axioms)(where, eta, RING["size"])
    premises: Multiples = [
        (server.round(sgd.next_distance + D - (g + server.noise) * eta_s), -1),
        (server.unbiased(D - g * eta_s), 2 * eta_s),
        (server.variance(sigma_s**2), eta_s**2),
        (cocoercive(ax, mu, L), 2 * eta_s / (mu + L)),
    ]
    return combine(premises, where=where, context="kind", kind=SERVER)


@cache
def server_fall() -> Theorem:
    """(28): 2/eta_s (F(x) - E F(x+)) - (2 - L eta_s) |grad F(x)|^2 + L eta_s sigma_s^2 >= 0, for every step size."""
    where = Where(RING, (_POSITIVE, *_SMOOTH))
    server = ServerAxioms(where, eta_s)
    g, step = server.gradient, (server.gradient + server.noise) * eta_s
    premises: Multiples = [
        (over_clients(server.descent(L), "M"), 2 / eta_s),
        (server.round(g + (server.moved - step) * L / 2), -2 / eta_s),
        (server.unbiased(g * (1 - L * eta_s)), 2 * _one),
        (server.variance(sigma_s**2), L * eta_s),
    ]
    return combine(premises, where=where, context="kind", kind=SERVER)


@cache
def server_descent() -> Theorem:
    """F(x) - E F(x+) - eta_s/2 |grad F(x)|^2 + L eta_s^2/2 sigma_s^2 >= 0 under eta_s <= 1/L."""
    where = Where(RING, (Condition("eta_s", "capped", 1 / L), *_SMOOTH))
    g = ServerAxioms(where, eta_s).gradient
    fall = follow([(server_fall(), eta_s / 2)], where=where)
    return rounded(fall, where, [(g, "", -coefficient(fall.form, g, g) - eta_s / 2)])


# Theorem 4 ----------------------------------------------------------------------------------------------------------


@cache
def clients_descent() -> Theorem:
    """F(x) - E F(x+) - eta_s/2 |grad F(x)|^2 + eta_s/2 ((4 + 120 z^2) sigma_G^2 + (4 z/m + 20 z^2) sigma^2/K) >= 0,
    with eta_c = 2 eta_s/K and 1/2 for Young's parameter between grad F(x) and the drift."""
    kinds, half = Kinds(convex=False), eta * K / 2
    sgd, g0, G = kinds.sgd, kinds.sgd.gradient_at_start, kinds.sgd.cohort_gradient
    whole = sgd.one_descent(_one / 2, _one / 5, _one / 5, kinds.where)
    each, together = coefficient(whole.form, g0, g0, "S"), coefficient(whole.form, G, G)
    near = over_clients(sgd.axioms.dissimilar(START_POINT, sigma_G**2), "S")
    squares: list[Square] = [(g0, "S", half - each - together), (g0 - G, "S", together)]
    of_cohort = follow([(whole, 1), (near, half)], squares, kind=ARBITRARY)
    tied = instantiate(of_cohort, {"size": m, "eta": 2 * eta_s / K}, _TIED_4)
    noise = (4 / m + 40 * L * eta_s) * 2 * L * eta_s / K
    claimed = ((4 + 480 * L**2 * eta_s**2) * sigma_G**2 + noise * sigma**2) * eta_s / 2
    given = expect_arbitrary(tied, m)
    return rounded(given, _TIED_4, constant=claimed - given.form.entries[ONE])


# Theorem 5 ----------------------------------------------------------------------------------------------------------

_FALL = mu * K * eta / 2
_TIE = {"eta_s": (L + mu) * K * eta / (4 * L)}


def _server_contracts() -> Theorem:
    """|x+ - x*|^2 <= (1 - rate) |x - x*|^2 + eta_s^2 sigma_s^2."""
    made = instantiate(thm5.server_round(), _TIE, _TIED_5)
    x = Kinds(convex=True).sgd.start
    return rounded(made, _TIED_5, [(_DISTANCE, "", 1 - _FALL - coefficient(made.form, x, x))])


def _clients_contract() -> Theorem:
    """|x+ - x*|^2 <= (1 - rate) |x - x*|^2 + 2 K eta_c/mu sigma_G^2 + (the drift, the noise), rate being Young's
    parameter between x - x* and the bias."""
    curved, made = Kinds(convex=True).curved, instantiate(thm5.client_round(), _TIE, _TIED_5)
    bound, x = instantiate(curved.bias(m).bound(), _TIE, _TIED_5), curved.sgd.start
    young = curved.by_young(made, bound, _FALL, 1 / _FALL, _TIED_5, most=K * eta)
    return rounded(young, _TIED_5, [(_DISTANCE, "", 1 - _FALL - coefficient(young.form, x, x))])


@cache
def contraction_corrected() -> Theorem:
    """Contraction of E|x+ - x*|^2 in a round of either kind, with Theorem 5's tie of the step sizes."""
    return mix_server(_server_contracts(), _clients_contract(), q, _TIED_5)


_ROOT = {readings.ROOT: readings.ROOT_OF_30}

RUNS = Ring(" ".join([*RING.names, "R", "gap", "distance", "slope", "decrease", "summed"]))
"""The letters above; rounds, F(x_0) - inf F, and of a round |x - x*|, |grad F(x)|, F(x) - E F(x+) and the squared sum
of local gradients."""


_CAP = (117 / (2560 * L * K) - 2 * eta_s / K).within(RUNS)
_OF_FALL = ("decrease", "slope", "summed", "R")
_SMALL = Condition("eta_s", "capped", RUNS.number(117) / (5120 * RUNS["L"]))
"""The cap of eta_c = 2 eta_s/K, which caps eta_s."""


def clients_slope() -> Theorem:
    """(50), with eta_c = 2 eta_s/K."""
    given = Kinds(convex=False).sgd.summed_descent(sigma_G**2, ARBITRARY)
    tied = instantiate(given, {"size": m, "eta": 2 * eta_s / K}, _tied(False, "eta_s", 1 / (16 * L)))
    return expect_arbitrary(tied, m)


def _clients_slope() -> RunBound:
    """(50): eta_c = 2 eta_s/K <= 117/(2560 L K) caps eta_s by 117/(5120 L)."""
    return _capped(bound_round(clients_slope(), RUNS, "squared_gradient", _OF_FALL, plain=True), {"size": 1})


def _capped(made: RunBound, values: Mapping[str, int], *new: Condition) -> RunBound:
    """The cap of eta_c = 2 eta_s/K, with other conditions for the whole bound."""
    short = with_letters(made, values, made.given, _SMALL, *new)
    return with_letters(short, {}, [*made.given, _CAP], _POSITIVE)


def _servers_alone() -> RunBound:
    """Remark 5: no round is the clients'. What caps eta_c = 2 eta_s/K caps eta_s by 117/(5120 L)."""
    short = with_letters(telescope(server_descent(), RUNS, "R", "gap"), {}, (), _SMALL)
    return with_letters(short, {}, [_CAP], _POSITIVE, Condition("K", "count"))


def _clients_share() -> RunBound:
    """Theorem 4: a share q of a run's rounds are the clients'. eta_c = 2 eta_s/K <= 1/(21 L K) caps eta_s."""
    start = telescope_kinds(clients_descent(), server_descent(), q, RUNS, "R", "gap")
    return with_letters(start, {"size": 1}, [(1 / (21 * L * K) - 2 * eta_s / K).within(RUNS)], _POSITIVE)


def _clients_alone() -> RunBound:
    """Remark 5: every round is the clients', who are alike; eta_c = 2 eta_s/K <= 117/(2560 L K) caps eta_s."""
    alike = Condition("sigma_G", "interval", RUNS.number(0))
    bound = _capped(telescope(clients_descent(), RUNS, "R", "gap"), {"size": 1}, alike)
    return weaken(bound, bound.bound.replace({"sigma_G": RUNS.number(0)}))


_OF_RUNS = LETTERS | {
    "R": "rounds", "gap": "initial_gap", "distance": "initial_distance", "slope": "gradient_norm",
    "decrease": "objective_decrease", "summed": "arbitrary_pseudogradient",
}  # fmt: skip
DERIVATIONS = made_bounds(
    "safari",
    {
        "eq28@main": (
            lambda: bound_round(server_fall(), RUNS, "squared_gradient", _OF_FALL), _OF_RUNS, "squared_gradient",
        ),
        "eq50@main": (_clients_slope, _OF_RUNS, "squared_gradient"),
        "eq58@main": (
            lambda: bound_round(server_distance(), RUNS, FINAL_DISTANCE, ("distance", "slope", "R")), _OF_RUNS,
            FINAL_DISTANCE,
        ),
        "rem5.b@main": (_servers_alone, _OF_RUNS, "average_squared_gradient"),
        "thm4@corrected": (_clients_share, _OF_RUNS, "average_squared_gradient"),
        "rem5.a@main": (_clients_alone, _OF_RUNS, "average_squared_gradient"),
    },
    {"eq50@main": _ROOT, "rem5.a@main": _ROOT, "rem5.b@main": _ROOT},
    of_rounds=True,
)  # fmt: skip
"""Claims' theorems: on a server's round, on its rounds alone, and on the clients' rounds and the server's."""
