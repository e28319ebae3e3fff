"""Instances that refute FLICS's statements: one or two groups, short numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

from ...claims.statement import Claim
from ...subjects.protocol import Point
from .examples.selection_settings import (
    Answers,
    PolicyTrace,
    Process,
    SelectionRound,
    SelectionRun,
    State,
    Trace,
)
from .examples.selection_points import SelectionPoint

ONE, HALF = F(1), F(1, 2)


def with_its_error(point: SelectionRound) -> SelectionPoint:
    """Return the point of a round with epsilon = max_j |s_j - s^_j|, the error of its estimates, and r_min = min_j
    s_j."""
    values = point.round.values(("largest_estimate_error", "least_group_participation"), {})
    constants = {
        "estimate_error": values["largest_estimate_error"],
        "least_participation": values["least_group_participation"],
    }
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
        "weight": (ONE,),
        "estimate": (F(3, 4),),
        "states": (State(ONE, (1,), (HALF,)),),
        "curvature": ONE,
        "centres": (F(0),),
        "start": ONE,
        "gradient_noise": F(0),
        "local_steps": 1,
        "local_lr": F(1, 10),
    }
    return with_its_error(SelectionRound(**(parts | changes)))


def opposite_vectors(claim: Claim) -> SelectionPoint:
    """x = (1, -1) with p = (1/2, 1/2), and everybody answers, so Sigma = 0 and the bound is 0. But the second
    estimate is 6/5 for 1: what is left is (1/2 - 5/12)^2 = 1/144."""
    return with_its_error(
        SelectionRound(
            (HALF, HALF), (ONE, F(6, 5)), (State(ONE, (1, 1), (ONE, ONE)),), ONE, (-ONE, ONE), F(0), F(0), 1, F(1, 10)
        )
    )


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


def one_or_three(claim: Claim) -> SelectionPoint:
    """Two groups with F_j = (x -+ 1)^2/2, of which 1 and 3, or 3 and 1 clients are there, by a fair coin in every
    round: each group's count is drawn anew, uniformly from {1, 3}. Everybody who is there is asked.

    With eta eta_L K = 1/3 a round moves x by -x/3, and by +-1/6 besides once s^ = s = 2, so E x^2 grows from x_0^2 =
    1/400 to about (1/6)^2/(1 - (2/3)^2) = 1/20; where line 14 divides, which makes steps a quarter, to about 1/90. It
    is least after the first round, in which s^ is the count itself: (2/3)^2 x_0^2, or (11/12)^2 x_0^2. The bound is
    3 x_0^2/(2 c T) and next to nothing: K = 1000 local steps of size 10^-7 make the drift and the selection term, which
    is too small by K^2, vanish.
    """
    process = Process((HALF, HALF), ((1, 3), (3, 1)), (HALF, HALF), None, (F(4),))
    steps = 1000
    point = SelectionRun(
        process,
        F(1, 10),
        ONE,
        (ONE, -ONE),
        F(1, 20),
        F(0),
        steps,
        60,
        local_lr=F(1, 10**4 * steps),
        global_lr=F(10**4, 3),
    )
    constants = {"estimate_error": F(3, 2), "least_participation": F(199, 100), "descent_constant": F(499, 1000)}
    return SelectionPoint(point, constants)


def in_turn(claim: Claim) -> SelectionPoint:
    """Return a run like ``one_or_three``'s, with the corollary's step sizes and two groups that change places in every
    round.

    In every round 500 clients of one group are there, and one of the other. Which group begins is a fair coin, so the
    process is stationary, and it is ergodic.

    h = eta eta_L K = sqrt(M K/T) = 4/5. Once s^ is near s, x goes to (1 - h) x + h and (1 - h) x - h in turn, so |x| to
    h/(2 - h) = 2/3; divided by the number of answers x hardly moves. The bound falls like 1/T at a given h: its terms
    are x_0^2/(2 c h T), with sigma_G = 1 the drift 15/(c T), and the selection. For a larger constant take more rounds.
    """
    turns = ((F(0), ONE), (ONE, F(0)))
    process = Process((HALF, HALF), ((1, 500), (500, 1)), (HALF, HALF), turns, (F(501),))
    point = SelectionRun(process, F(1, 10), ONE, (ONE, -ONE), F(2), F(0), 288, 900, local_lr=None, global_lr=None)
    constants = {"estimate_error": F(250), "least_participation": F(250), "descent_constant": F(48, 100)}
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
    "flics.thm1@main": one_or_three,
    "flics.thm1@appendix": one_or_three,
    "flics.cor1_1@main": in_turn,
    "flics.eq7.e@main": seldom_answers,
    "flics.thm2@main": two_alike,
}
"""Makers of counterexamples by the claim's ref.

Theorem 2's refutes two of its three sigma_T, those of Corollary 1.1 and of Hoeffding's step their uniform constants.
"""
