"""Meaning of each assumption: the kernel's axioms that name it, with the vocabulary's quantities for their letters.

This is an assumption's one meaning. A proof uses these forms. Tests evaluate the same forms on runs of a setting, with
the constants that evaluators compute for it, to see that they hold there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from fedtheory.assumptions import constant_of
from fedtheory.proof.kernel.answering_clients import MEAN_ANSWER, Answers
from fedtheory.proof.kernel.axioms import ITERATE, MEAN_ITERATE, NEXT, NOISE, OPTIMUM, START_POINT, Axioms
from fedtheory.proof.kernel.client_means import LAST, LOWEST, MeanAxioms
from fedtheory.proof.kernel.forms import STEPS, Atom, Vector
from fedtheory.proof.kernel.participation_intervals import Intervals
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_rules import expect_uniform
from fedtheory.proof.kernel.scalars import Ring, Scalar
from fedtheory.proof.kernel.server_rounds import ServerAxioms
from fedtheory.proof.kernel.theorems import Theorem, combine, over_steps
from fedtheory.proof.kernel.weighted_rounds import BIAS, WeightedRounds

CONSTANTS = (
    "smoothness strong_convexity dissimilarity gradient_noise server_noise weighted_noise heterogeneity_gap "
    "gradient_bound global_gradient_bound local_gradient_bound"
)
"""Quantities that bound a federation's constants."""
PARAMETERS = (
    "local_lr server_lr weighted_lr selected_lr size clients share mismatch proxy second_moment scale error "
    "snapshot_probability client_round_probability absence cutoff tail history head ended"
)
"""Parameters of the algorithms, by their names in theorems; ``size`` is that of the cohort."""
RING = Ring(f"{CONSTANTS} {PARAMETERS} k K")
"""Ring of all quantities; local steps are k = 0, ..., K - 1."""

_COUNTS, _POSITIVE = ("clients", "size", STEPS), ("strong_convexity", "smoothness", "local_lr", "server_lr")
_NONNEGATIVE = ("gradient_bound", "local_gradient_bound", "mismatch", "proxy", "second_moment", "scale", "error",
                "history")  # fmt: skip
_ONE = RING.number(1)
WHERE = Where(RING, (
    Condition("share", "interval", _ONE / RING["size"]),
    *(Condition(name, "interval", _ONE) for name in ("snapshot_probability", "client_round_probability", "absence")),
    *(Condition(name, "count") for name in (*_COUNTS, "ended")),
    *(Condition(name, "positive") for name in _POSITIVE), *(Condition(name, "nonnegative") for name in _NONNEGATIVE),
))  # fmt: skip
"""Region on which the axioms are stated; for a weight after t rounds see ``_of_intervals``."""


def constant(name: str) -> Scalar:
    """Return the constant of an assumption in axioms: a quantity, or its square."""
    quantity, power = constant_of(name)
    return RING[quantity] ** power


@cache
def axioms() -> tuple[Theorem, ...]:
    """Return every axiom of the kernel at the points, and paired with the vectors, at which proofs may take it. Rules
    that take an assumption are there as what they say of one theorem.

    >>> len({theorem.rule for theorem in axioms()})
    54
    """
    found = (
        _of_federations(),
        _of_cohorts(),
        _of_all_clients(),
        _of_servers(),
        _of_weights(),
        _of_answers(),
        _of_intervals(),
        _of_uniform_cohorts(),
    )
    return tuple(theorem for each in found for theorem in each)


def meaning(name: str) -> tuple[Theorem, ...]:
    """Return the axioms that take this assumption; none if no rule of the kernel speaks of it.

    >>> [said] = [t for t in meaning("bounded_local_gradients") if t.rule == "bounded local gradient"]
    >>> sorted(map(str, said.form.entries.values()))
    ['-1', '-1', '-2', 'local_gradient_bound^2']
    >>> meaning("positively_related")
    ()
    """
    return tuple(theorem for theorem in axioms() if any(name == own for own, _ in theorem.assumptions))


L, MU, ETA = RING["smoothness"], RING["strong_convexity"], RING["local_lr"]
_COHORTS, _MEANS = Axioms(WHERE, ETA, RING["size"]), MeanAxioms(WHERE, ETA)
_GIVEN_START = Axioms(WHERE, ETA, RING["size"], given="start")
_SERVER, _WEIGHTED = ServerAxioms(WHERE, RING["server_lr"]), WeightedRounds(WHERE, ETA, RING["weighted_lr"],
                                                                             RING["clients"])  # fmt: skip
_ANSWERS = Answers(WHERE, ETA, RING["selected_lr"], RING["mismatch"])
PAIRS = ((START_POINT, OPTIMUM), (OPTIMUM, START_POINT), (ITERATE, START_POINT), (ITERATE, OPTIMUM), (OPTIMUM, ITERATE),
         (MEAN_ITERATE, OPTIMUM))  # fmt: skip
"""Points between which functions are compared."""


def _vectors(*atoms: Atom) -> list[Vector]:
    return [_COHORTS.vector(atom) for atom in atoms]


_AT_START = [*_vectors(START_POINT, OPTIMUM), _COHORTS.gradient(OPTIMUM).under("M"),
             _COHORTS.global_gradient(START_POINT)]  # fmt: skip
_BEFORE_NOISE = [*_vectors(START_POINT, OPTIMUM, ITERATE), _COHORTS.gradient(START_POINT), _COHORTS.gradient(ITERATE),
                 _COHORTS.gradient(ITERATE).under("M"), _COHORTS.gradient(ITERATE).under("S")]  # fmt: skip
"""Vectors that are known before the noise of step k."""


def _of_federations() -> Iterator[Theorem]:
    for p, q in PAIRS:
        for at in (_COHORTS, _GIVEN_START):
            yield at.smooth(p, q, L)
            yield at.cocoercive(p, q, MU, L)
            yield at.convex(p, q, MU)
            yield at.descent(p, q, L)
            yield at.interpolated(p, q, MU, L)
    yield _COHORTS.constants_in_order(MU, L)
    for point in (START_POINT, MEAN_ITERATE):
        yield _COHORTS.dissimilar(point, constant("bounded_dissimilarity"))
    yield _COHORTS.dissimilar(OPTIMUM, constant("bounded_dissimilarity_at_optimum"))
    yield from map(_COHORTS.optimal, _AT_START)


def _of_cohorts() -> Iterator[Theorem]:
    for other in _vectors(START_POINT, ITERATE, NOISE):
        yield _COHORTS.local_step(other)
    for other in _AT_START:
        yield _COHORTS.round(other)
    yield from map(_COHORTS.unbiased, _BEFORE_NOISE)
    yield _COHORTS.variance(constant("bounded_noise"))
    yield _COHORTS.uncorrelated()
    yield _COHORTS.steps_apart()


def _of_all_clients() -> Iterator[Theorem]:
    mean = _vectors(MEAN_ITERATE)[0]
    yield _MEANS.mean_iterate(mean)
    yield from map(_MEANS.optimal_along, _vectors(MEAN_ITERATE, NOISE))
    yield _MEANS.uncorrelated_clients(RING["clients"])
    yield _MEANS.weighted_noise(constant("bounded_weighted_noise"))
    yield _MEANS.stochastic_gradient(constant("bounded_stochastic_gradients"))
    for point in (START_POINT, OPTIMUM, ITERATE, MEAN_ITERATE):
        yield _MEANS.lowest(point, MU, L)
    yield _MEANS.heterogeneity(constant("bounded_heterogeneity_gap"), MU)
    for other in _vectors(START_POINT, LAST, NEXT, LOWEST):
        yield _MEANS.everyone(other)
    for other in _vectors(START_POINT, LAST, NOISE):
        yield _MEANS.drawn_mean(other, RING["share"])
    yield _MEANS.spread_of_draw(RING["share"])


def _of_servers() -> Iterator[Theorem]:
    closed = [*_AT_START[:2], _SERVER.gradient]
    yield from (_SERVER.round(other) for other in closed)
    yield from (_SERVER.unbiased(other) for other in closed)
    yield _SERVER.variance(constant("bounded_server_noise"))
    yield _SERVER.descent(L)


def _of_weights() -> Iterator[Theorem]:
    for other in _AT_START:
        yield _WEIGHTED.round(other)
        yield _WEIGHTED.noise(other)
    yield _WEIGHTED.descent(L)
    for other in [*_AT_START, *_vectors(ITERATE, NOISE, BIAS), _COHORTS.gradient(ITERATE)]:
        yield _WEIGHTED.participation(other)
    scale, sums = RING["scale"], _sum_of_steps(_COHORTS.gradient(ITERATE))
    yield _WEIGHTED.noise_bound(constant("bounded_noise"), scale)
    yield _WEIGHTED.error_of_weights(sums, RING["error"])
    yield _WEIGHTED.scale_of_weights(sums, scale)
    yield _WEIGHTED.around_plain_mean(constant("bounded_dissimilarity_of_plain_mean"))
    yield _WEIGHTED.bounded_gradient(constant("bounded_gradient"))


def _sum_of_steps(each: Vector) -> Theorem:
    """K^2 G^2 - |sum_k of a gradient, or a stochastic one, of a client|^2 >= 0."""
    met, K = _ANSWERS.stochastic_gradient(constant("bounded_local_gradients")), RING[STEPS]
    own = _COHORTS.gradient(ITERATE)
    if each == own:  # |g|^2 = |g + N|^2 - |N|^2, as N has mean 0 given the iterate
        cross = _GIVEN_START.unbiased(own)
        met = combine([(met, 1), (cross, 2)], where=WHERE, context="start", squares=[(_COHORTS.vector(NOISE), "", 1)])
    mean = each.under("K") / K
    return combine([(over_steps(met), K)], where=WHERE, context="start", squares=[(each - mean, "K", K)])


def _of_answers() -> Iterator[Theorem]:
    known = [*_AT_START, *_vectors(MEAN_ANSWER)]
    for other in known:
        yield _ANSWERS.round(other)
        yield _ANSWERS.mean(other)
        yield _ANSWERS.apart(other)
    yield _ANSWERS.descent(L)
    stochastic = _COHORTS.gradient(ITERATE) + _COHORTS.vector(NOISE)
    yield _ANSWERS.mismatched(_sum_of_steps(_COHORTS.gradient(ITERATE)))
    yield _ANSWERS.spread(_sum_of_steps(stochastic), RING["proxy"])
    yield _ANSWERS.second_moment(_sum_of_steps(stochastic), RING["second_moment"])
    yield _ANSWERS.stochastic_gradient(constant("bounded_local_gradients"))
    yield _ANSWERS.path(constant("bounded_local_gradients"))


def _of_intervals() -> Iterator[Theorem]:
    """Yield the axioms on a weight after t >= m C rounds, and after t < C."""
    q, C, a, t, b, m = (RING[name] for name in ("absence", "cutoff", "tail", "history", "head", "ended"))
    p, own = 1 - q, tuple(c for c in WHERE.conditions if c.name not in ("cutoff", "tail", "history", "head"))
    law = (Condition("tail", "interval", _ONE), Condition("head", "interval", _ONE))
    late = Where(RING, (*law, Condition("history", "at_least", m * C), Condition("cutoff", "count"), *own))
    early = Where(RING, (*law, Condition("cutoff", "at_least", t + 1), Condition("history", "nonnegative"), *own))
    after, before = (Intervals(where, q, C, a) for where in (late, early))
    mean = after.moment(1, 1 - a)
    yield after.unit()
    yield mean
    yield after.moment(2, 1 + q - a * (1 + q + 2 * p * C))
    yield after.mean_ended(t)
    yield after.spread_ended(mean, m, t)
    for power, value in enumerate((1 - b, 1 - b * (1 + p * t), 1 + q - b * (1 + q + 2 * p * t + p**2 * t**2))):
        yield before.early_moment(power, value, t, b)
    yield before.early_weight(p, -_ONE, t, b)
    yield before.early_given(p, -_ONE, t, b)


def _of_uniform_cohorts() -> Iterator[Theorem]:
    """Yield the expectation of |mean_S grad F_i(x) - grad F(x)|^2 >= 0 over a uniform cohort."""
    apart = _COHORTS.gradient(START_POINT).under("S") - _COHORTS.global_gradient(START_POINT)
    spread = combine([], where=WHERE, context="cohort", squares=[(apart, "", 1)])
    yield expect_uniform(spread, RING["size"], RING["share"], WHERE)
