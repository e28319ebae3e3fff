"""Lemmas 5 and 7 and Theorem 1, repaired, composed by the kernel from its axioms: one round's progress.

With g = grad F(x), c = eta eta_L, h = sum_k mean grad F_i(x_{i,k}), and B, A and Z of
``proof.kernel.answering_clients``, given the start x of a round that ends in x+, D the sum over k < K of k^2 eta_L^2
G^2:

    |s_i|^2 <= K^2 G^2,   |S_i|^2 <= K^2 G^2,   |A|^2 <= K^2 G^2,   |K g - h|^2 <= K L^2 D
    |K g - B|^2 <= 2 |K g - h|^2 + 2 delta^2 |A|^2, as B is what h + delta A is on average
    E|x+ - x|^2 = c^2 (|B|^2 + E|Z|^2), E|Z|^2 <= V K^2 G^2; or at most c^2 W K^2 G^2

so that, by -c <g, B> = c/(2 K) (|K g - B|^2 - K^2 |g|^2 - |B|^2), F falls by c K/2 |g|^2 but for what is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

from ....proof.kernel.answer_bounds import (
    INNER_PRODUCT,
    MEAN_SQUARED_GRADIENT,
    SQUARED_AGGREGATE,
    bound_inner_product,
    bound_square,
    telescope_answers,
)  # fmt: skip
from ....proof.kernel.answering_clients import MEAN_ANSWER, MISMATCH, SPREAD, Answers
from ....proof.kernel.axioms import ITERATE, NEXT, NOISE, START_POINT, Axioms
from ....proof.kernel.forms import Form, Value, Vector, dot, square
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.run_bounds import RunBound
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.tactics import Square, each, restricted, show
from ....proof.kernel.theorems import Multiples, Theorem, over_clients, over_steps
from ....proof.translate.claim_bounds import Bounds, made_bounds

RING = Ring("eta c L K k delta V S G")
eta, c, L, K, k, delta, V, S, G = RING.symbols
_one = RING.number(1)
DRIFT = K * (K - 1) * (2 * K - 1) / 6 * eta**2 * G**2
"""D."""


def region(step: Condition) -> Where:
    """Return the region with this condition on c, and all else free."""
    return Where(RING, (step, *each("positive", "eta L"), *each("count", "K"), *each("nonnegative", "delta V S G")))


CAPPED, FREE = region(Condition("c", "capped", 1 / (L * K))), region(Condition("c", "positive"))
AXIOMS, ANSWERS = Axioms(FREE, eta, _one, "start"), Answers(FREE, eta, c, delta)
_x, _next, _N = (AXIOMS.vector(atom) for atom in (START_POINT, NEXT, NOISE))
_B, _A, _Z = (AXIOMS.vector(atom) for atom in (MEAN_ANSWER, MISMATCH, SPREAD))
_g0, _along = AXIOMS.gradient(START_POINT), AXIOMS.gradient(ITERATE)
_g, _h = _g0.under("M"), _along.under("M").under("K")


def each_gradient() -> Theorem:
    """|grad F_i(x_{i,k})|^2 <= G^2: the noise has mean 0."""
    goal = Form.constant(G**2) - square(_along)
    premises: Multiples = [(ANSWERS.stochastic_gradient(G**2), 1), (AXIOMS.unbiased(_along), 2)]
    return show(goal, premises)


def _sum(bounded: Theorem, vector: Vector) -> Theorem:
    """|sum_k v_k|^2 <= K^2 G^2, from |v_k|^2 <= G^2."""
    whole = vector.under("K")
    goal = Form.constant(K**2 * G**2) - square(whole)
    return show(goal, [(over_steps(bounded), K)], squares=[(vector - whole / K, "K", K)])


def each_sum() -> Theorem:
    """|s_i|^2 <= K^2 G^2."""
    return _sum(each_gradient(), _along)


@cache
def each_update() -> Theorem:
    """E|S_i|^2 <= K^2 G^2."""
    return _sum(ANSWERS.stochastic_gradient(G**2), _along + _N)


def drift() -> Theorem:
    """|K g - h|^2 <= K L^2 D."""
    change = _along - _g0
    goal = Form.constant(K * L**2 * DRIFT) - square(_g * K - _h)
    premises: Multiples = [
        (over_steps(over_clients(AXIOMS.smooth(ITERATE, START_POINT, L), "M")), K),
        (over_steps(over_clients(ANSWERS.path(G**2), "M")), K * L**2),
    ]
    return show(goal, premises, squares=[(change - (_h - _g * K) / K, "MK", K)])


@cache
def error() -> Theorem:
    """|K g - B|^2 <= 2 K L^2 D + 2 delta^2 K^2 G^2."""
    e, f = _g * K - _B, _g * K - _h
    goal = Form.constant(2 * K * L**2 * DRIFT + 2 * delta**2 * K**2 * G**2) - square(e)
    premises: Multiples = [
        (ANSWERS.mean(e), 2),
        (drift(), 2),
        (ANSWERS.mismatched(each_sum()), 2 * delta**2),
    ]
    squares: list[Square] = [(e - f + _A * delta, "", _one), (f + _A * delta, "", _one)]
    return show(goal, premises, squares=squares)


@cache
def inner() -> Theorem:
    """Lemma 5: <g, K eta_L g - eta_L B> <= eta_L K/2 |g|^2 + eta_L/(2 K) (|K g - B|^2 - |B|^2)."""
    bound = Form.constant(eta / K * (K * L**2 * DRIFT + delta**2 * K**2 * G**2))
    goal = bound + square(_g) * (eta * K / 2) - square(_B) * (eta / (2 * K)) - dot(_g, _g * K - _B) * eta
    return show(goal, [(error(), eta / (2 * K))])


@cache
def second_moment() -> Theorem:
    """Lemma 7: E|B + Z|^2 <= |B|^2 + V K^2 G^2."""
    goal = square(_B) + Form.constant(V * K**2 * G**2) - square(_B + _Z)
    return show(goal, [(ANSWERS.spread(each_update(), V), 1), (ANSWERS.apart(_B), -2)])


def _descent(where: Where, moment: Theorem, second: Scalar) -> Theorem:
    """F falls by c K/2 |g|^2 but for what is added, from E|B + Z|^2 <= second K^2 G^2, or that and |B|^2."""
    values = Form(RING, {Value("M", START_POINT): _one, Value("M", NEXT): -_one})
    added = c / K * (K * L**2 * DRIFT + delta**2 * K**2 * G**2) + L * c**2 / 2 * second * K**2 * G**2
    goal = values + Form.constant(added) - square(_g) * (c * K / 2)
    moved, sent = _next - _x, _B + _Z
    premises: Multiples = [
        (over_clients(ANSWERS.descent(L), "M"), 1),
        (ANSWERS.round(_g + (moved - sent * c) * (L / 2)), -1),
        (ANSWERS.apart(_g), c),
        (error(), c / (2 * K)),
        (moment, L * c**2 / 2),
    ]
    return show(goal, premises, where=where)


@cache
def given_availability() -> Theorem:
    """Theorem 1 given the availability: c <= 1/(L K)."""
    return _descent(CAPPED, second_moment(), V)


@cache
def given_the_past() -> Theorem:
    """Theorem 1 given the past alone, whatever the steps are."""
    return _descent(FREE, ANSWERS.second_moment(each_update(), V + S), V + S)


_WIDE = Ring(" ".join([*RING.names, "global_lr", "rounds", "gap", "groups", "gradient", "update"]))
_eta, _L, _K, _global = (_WIDE[name] for name in ("eta", "L", "K", "global_lr"))
_none, _CAP = _WIDE.number(0), 1 / (_L * _K) - _eta * _global
_ROUNDS = 1 / (_K * _L * _eta) ** 2
"""The rounds at which the local step 1/(sqrt(T) K L) is eta."""


def _restricted(bound: RunBound, values: Mapping[str, Scalar], given: Sequence[Scalar] = ()) -> RunBound:
    """Put eta times the global step in for c, and these for other letters: 0 for those that do not occur."""
    return restricted(bound, {"c": _eta * _global, **values}, [Condition("global_lr", "positive")], given)


def _of_run(of_state: bool, chosen: bool = False) -> RunBound:
    """Theorem 1 given the availability, or the past alone; with the rounds at which the local step is the one that is
    ``chosen`` by them."""
    start = telescope_answers(given_availability() if of_state else given_the_past(), _WIDE, "rounds", "gap")
    values = ({"S": _none} if of_state else {}) | ({"rounds": _ROUNDS} if chosen else {})
    return _restricted(start, values, [*([_CAP] if of_state else []), *([_ROUNDS - 1] if chosen else [])])


def lemma_5() -> RunBound:
    """Lemma 5, repaired: of one round."""
    return _restricted(bound_inner_product(inner(), _WIDE, "gradient", "update"), {"V": _none, "S": _none})


def lemma_7() -> RunBound:
    """Lemma 7, repaired: of one round, in the mean over who is there."""
    return _restricted(bound_square(second_moment(), _WIDE, "update"), {"delta": _none, "S": _none})


_LETTERS = {"eta": "local_lr", "global_lr": "global_lr", "L": "smoothness", "K": "local_steps",
            "G": "local_gradient_bound"}  # fmt: skip
_OF_RUN = {**_LETTERS, "rounds": "rounds", "gap": "initial_gap"}
_PLANNED, _RECEIVED, _PAST = (
    {**_OF_RUN, "delta": "weight_mismatch", "V": "selection_proxy"},
    {**_OF_RUN, "delta": "answer_mismatch", "V": "answer_proxy"},
    {**_OF_RUN, "delta": "mean_mismatch", "V": "selection_proxy", "S": "rate_spread"},
)
_GROUPS = {"groups": "groups"}

_BOUNDS: Bounds = {
    "lemma5@corrected": (lemma_5, {**_LETTERS, "delta": "weight_mismatch", "gradient": "gradient_norm",
                                   "update": "squared_mean_update"}, INNER_PRODUCT),
    "lemma7@corrected": (lemma_7, {**_LETTERS, "V": "selection_proxy", "update": "squared_state_update"},
                         SQUARED_AGGREGATE),
    "thm1@corrected": (partial(_of_run, True), _PLANNED, MEAN_SQUARED_GRADIENT),
    "thm1@intermittent": (partial(_of_run, False), _PAST, MEAN_SQUARED_GRADIENT),
    "thm1@received": (partial(_of_run, True), _RECEIVED, MEAN_SQUARED_GRADIENT),
    "cor1_1@corrected": (partial(_of_run, True, chosen=True), _PLANNED | _GROUPS, MEAN_SQUARED_GRADIENT),
    "cor1_1@intermittent": (partial(_of_run, False, chosen=True), _PAST | _GROUPS, MEAN_SQUARED_GRADIENT),
    "cor1_1@received": (partial(_of_run, True, chosen=True), _RECEIVED | _GROUPS, MEAN_SQUARED_GRADIENT),
}  # fmt: skip

DERIVATIONS = made_bounds("flics", _BOUNDS)
