"""The instances by which FLICS's statements fall: one or two groups, short numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

from ...claims.statement import Claim
from ...subjects.base import Point
from ...subjects.selection.examples import Answers, PolicyTrace, SelectionRound, SelectionRun, State, Trace
from ...subjects.selection.point import SelectionPoint

ONE, HALF = F(1), F(1, 2)


def with_its_error(point: SelectionRound) -> SelectionPoint:
    """The round with epsilon = max_j |s_j - s^_j|, the error of its estimates, and r_min = min_j s_j."""
    values = point.round.values(("largest_estimate_error", "least_group_participation"), {})
    constants = {"estimate_error": values["largest_estimate_error"],
                 "least_participation": values["least_group_participation"]}  # fmt: skip
    return SelectionPoint(point, constants)


def one_client(claim: Claim, **changes: Any) -> SelectionPoint:
    """A group of one client that answers with probability 1/2, F(x) = x^2 / 2, x_0 = 1, one noiseless step of size
    1/10. The estimate is 3/4, as after three answers in four rounds: epsilon is 1/4 and epsilon^ = 1 + (1/4)/(1/2) is
    3/2, but s/s^ is 2/3.

    Lemma 4: E Delta = (2/3) vbar, vbar = -1/10, which is neither (3/2) vbar nor (5/2) vbar. One answer at most: a
    division by the number of answers changes nothing. Lemma 5: <grad f, E Delta + (3/2)/10 grad f> = 1/12 is not at
    most 15 (3/2)/1000 = 9/400.
    """
    parts: dict[str, Any] = {
        "weight": (ONE,), "estimate": (F(3, 4),), "states": (State(ONE, (1,), (HALF,)),), "curvature": ONE,
        "centres": (F(0),), "start": ONE, "gradient_noise": F(0), "local_steps": 1, "local_lr": F(1, 10),
    }  # fmt: skip
    return with_its_error(SelectionRound(**(parts | changes)))


def opposite_vectors(claim: Claim) -> SelectionPoint:
    """x = (1, -1) with p = (1/2, 1/2), and everybody answers, so Sigma = 0 and the bound is 0. But the second
    estimate is 6/5 for 1: what is left is (1/2 - 5/12)^2 = 1/144."""
    return with_its_error(SelectionRound(
        (HALF, HALF), (ONE, F(6, 5)), (State(ONE, (1, 1), (ONE, ONE)),), ONE, (-ONE, ONE), F(0), F(0), 1, F(1, 10)
    ))  # fmt: skip


def ten_local_steps(claim: Claim) -> SelectionPoint:
    """A client that answers with probability 1/10 makes ten steps, and its estimate is exact: with small steps
    E|Delta|^2 is K^2/s = 1000 times the squared step, where the bound has (1 - s)/s = 9, or 1/s^2 = 100 with the
    correlation, and about K^2 = 100, for want of a factor K^2."""
    return one_client(
        claim,
        estimate=(F(1, 10),),
        states=(State(ONE, (1,), (F(1, 10),)),),
        local_steps=10,
        local_lr=F(1, 1000),
    )


def rarely_asked(claim: Claim) -> SelectionPoint:
    """A client is asked in the first round and then with probability 1/100, in 20 rounds of 10^4 local steps.

    F(x) = x^2 / 2 and x_0 = 1. What the steps move is eta eta_L K = 1/5, so that x_1 is about 4/5, and there it stays
    with probability 0.99^19. The bound is x_0^2 / (2 c / 5 * 20), about a quarter, and a selection term that is too
    small by K^2. Every estimate is positive in every reading: the client answers in round 1 for certain.
    """
    trace = Trace((ONE,), ((1,), (1,)), (ONE, F(1, 100)))
    steps = 10**4
    point = SelectionRun(
        trace, F(1, 10), ONE, (F(0),), ONE, F(0), steps, 20, local_lr=F(1, 100 * steps), global_lr=F(20)
    )
    constants = {"estimate_error": ONE, "least_participation": F(9, 1000), "descent_constant": F(49, 100)}
    return SelectionPoint(point, constants)


def hardly_asked(claim: Claim) -> SelectionPoint:
    """As ``rarely_asked``, with one local step, the corollary's step sizes, and a probability of 10^-56 after the first
    of 64 rounds: the bound is 1/(2 c sqrt(T)), about 0.24, and x_1 = 1 - 1/8 stays. For a larger constant take more
    rounds; constants that may depend on r_min, which is below the probability, it does not refute."""
    trace = Trace((ONE,), ((1,), (1,)), (ONE, F(1, 10**56)))
    point = SelectionRun(trace, F(1, 10), ONE, (F(0),), ONE, F(0), 1, 64, local_lr=None, global_lr=None)
    constants = {"estimate_error": ONE, "least_participation": F(1, 2 * 10**56), "descent_constant": F(26, 100)}
    return SelectionPoint(point, constants)


def seldom_answers(claim: Claim) -> SelectionPoint:
    """A client that answers with probability 10^-6 has not answered in 1000 rounds, with probability 0.999: the
    estimate is 0. A constant 100 in the O(.) asks for 100 log(10) / (1/2)^2 = 921 rounds; for a larger constant take a
    smaller probability."""
    constants = {"relative_error": HALF, "failure_probability": F(1, 10), "hidden_constant": F(100)}
    return SelectionPoint(Answers(F(1, 10**6), 1, 1000), constants)


def two_alike(claim: Claim) -> SelectionPoint:
    """Two groups of one client and a budget of 1: s = s^ = (1/2, 1/2) in every round. The best in hindsight has
    sum p^2/s = 1, the policy's objective too; but sum p/s is 2, and sum p_i p_j Sigma_ij / (s_i s_j) is 1/2, or 2 with
    the correlations."""
    point = PolicyTrace(Trace((HALF, HALF), ((1, 1),), (ONE,)), 1)
    return SelectionPoint(point, {"least_participation": F(1, 4)})


COUNTEREXAMPLES: dict[str, Callable[[Claim], Point]] = {
    "flics.lemma4@main": one_client,
    "flics.lemma5@main": one_client,
    "flics.lemma6@main": opposite_vectors,
    "flics.lemma7@main": ten_local_steps,
    "flics.thm1@main": rarely_asked,
    "flics.thm1@appendix": rarely_asked,
    "flics.cor1_1@main": hardly_asked,
    "flics.eq7.e@main": seldom_answers,
    "flics.thm2@main": two_alike,
}
"""By ref. Theorem 2's refutes two of its three sigma_T, Corollary 1.1's and Hoeffding's step's uniform constants."""
