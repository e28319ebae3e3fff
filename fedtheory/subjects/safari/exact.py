"""What a claim needs from the runs of an instance of SAFARI, proven: left sides and run quantities in balls.

Second moments follow the exact linear recursion, so a maximum or minimum over rounds of an expectation is found by
following it. Where a claim asks something of every round of every run (Theorem 5), an invariant interval holds all
runs: in one dimension, with one curvature h and without noise, a client round moves y = x - x* a share
a_c = 1 - (1 - eta_c h)^K of the way to the participants' mean minimiser c, a server round a_s = eta_s h of it to 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat

from ...claims.balls import Ball, Number, ball, ball_matrix, interval
from ...claims.statement import Claim
from ...moments.errors import accumulating, initial_moments
from ...moments.linear_rounds import second_moment_map
from ...moments.rounds import kind_of_round, local_maps, observable_weights
from ...moments.timeline import Schedule
from ...quantities import RUN_QUANTITIES, SERVER_RUN_QUANTITIES
from ...setting import Setting
from ..enclosure import FOLLOWED, Box, LeftSide, Undecided
from ..exact_values import chosen_step, true_constants
from .instance import CLIENT, STEPS, SafariInstance

DRAWN = "probability"
"""The reading of a round's kind under which it is the clients' with probability q."""

GRADIENTS = ("peak_server_gradient", "least_server_gradient")
PSEUDOGRADIENTS = ("peak_arbitrary_pseudogradient", "least_arbitrary_pseudogradient")
PROGRESS = ("least_client_progress", "peak_client_progress")


def safari_quantities(instance: SafariInstance, statement: Claim) -> dict[str, Number]:
    """Every quantity that the instance fixes, with the step sizes that the claim chooses."""
    fed = instance.federation
    shift = np.array(instance.start) - fed.exact_optimum
    values = {
        **true_constants(instance),
        "server_noise": fed.exact_server_noise,
        **instance.constants,
        "initial_gap": shift @ (fed.exact_hessians.sum(0) / Fraction(fed.clients)) @ shift / 2,
        "initial_distance": ball(shift @ shift).sqrt(),
        "clients": Fraction(fed.clients),
        "arbitrary_cohort": Fraction(len(instance.members)),
        "local_steps": Fraction(instance.local_steps),
        "rounds": Fraction(instance.rounds),
        "client_round_probability": instance.client_round_probability,
    }
    values |= {name: getattr(instance, name) for name in STEPS if getattr(instance, name) is not None}
    for name in statement.choices:
        values[name] = chosen_step(statement, name, values)
    return values


def with_chosen_steps(instance: SafariInstance, values: Mapping[str, Number]) -> SafariInstance:
    """The instance with every step size known, in a ball where it is irrational."""
    return instance.with_steps({n: v if isinstance(v, Fraction) else Ball(v) for n, v in values.items() if n in STEPS})


def safari_left(instance: SafariInstance, kinds: str) -> LeftSide:
    """The exact expected errors after ``instance.rounds`` rounds, in balls, with each round's kind drawn, or in the
    order that the instance states.

    Raises:
        Undecided: the kinds are not drawn, and the instance states no order.
    """
    setting = _setting_in_balls(instance)
    start = initial_moments(setting, exact=True)
    final, sums, initial = {}, {}, {}
    for name, weight in observable_weights(setting.federation, exact=True).items():
        client, server = _operators(setting, weight)
        cycle, length = _cycle(instance, kinds, client, server)
        state = cycle ** (instance.rounds // length) * ball_matrix(np.append(start, Fraction(0)))
        values = [state[i, 0] for i in range(len(start) + 1)]
        final[name] = sum((ball(w) * v for w, v in zip(weight, values, strict=False)), arb(0))
        sums[name] = values[-1]
        initial[name] = ball(weight @ start)
    return LeftSide(final, sums, initial, instance.rounds)


def _setting_in_balls(instance: SafariInstance) -> Setting:
    """A step size in a ball keeps its powers from growing by their digits."""
    steps = {name: getattr(instance, name) for name in STEPS}
    return replace(instance, **{n: s if isinstance(s, Ball) else Ball(ball(s)) for n, s in steps.items()}).setting()


def _operators(setting: Setting, weight: np.ndarray) -> tuple[arb_mat, arb_mat]:
    """Second moments and the sum of ``weight . moments`` so far, moved on by a client and by a server round."""
    client, server = (second_moment_map(kind_of_round(setting, kind, exact=True)) for kind in setting.algorithm.kinds)
    both = accumulating(Schedule(client, server, 2), weight)
    return ball_matrix(both.first), ball_matrix(both.rest)


def _cycle(instance: SafariInstance, kinds: str, client: arb_mat, server: arb_mat) -> tuple[arb_mat, int]:
    """The operator of a number of rounds, and that number."""
    if kinds == DRAWN:
        q = instance.client_round_probability
        return client * ball(q) + server * ball(1 - q), 1
    product = None
    for kind in _order(instance):
        one = client if kind == CLIENT else server
        product = one if product is None else one * product
    return product, len(instance.order)


def _order(instance: SafariInstance) -> tuple[str, ...]:
    if not instance.order:
        raise Undecided("the instance states no order of its client and server rounds")
    return instance.order


# Run quantities ------------------------------------------------------------------------------------------------------


def safari_box(instance: SafariInstance, statement: Claim, kinds: str, local_index: str) -> Box:
    """An interval for each run quantity of the claim: extremes over rounds of expectations, over all rounds where each
    round's kind is drawn, over those of the kind where the order is given; or of every run, for the clients' progress.

    Raises:
        Undecided: no enclosure; it is said why.
    """
    asked = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES} & set(statement.quantities)
    box: Box = {}
    if asked & {*GRADIENTS, *PSEUDOGRADIENTS}:
        box |= _extremes(instance, kinds, shifted=local_index == "k = 1..K")
    if asked & {*PROGRESS}:
        box |= dict.fromkeys(PROGRESS, progress_interval(instance))
    return box


def _extremes(instance: SafariInstance, kinds: str, shifted: bool) -> Box:
    if instance.rounds > FOLLOWED:
        raise Undecided(f"rounds = {instance.rounds}: moments are followed round by round over at most {FOLLOWED}")
    if instance.constants.get("gradient_noise", 0) != 0:
        raise Undecided("sums of local gradients are enclosed without gradient noise only")
    setting = _setting_in_balls(instance)
    gradient = observable_weights(setting.federation, exact=True)["squared_gradient"]
    forms = [_row(np.append(form, Fraction(0))) for form in (gradient, _pseudogradient_form(setting, shifted))]
    server_values, client_values = _Extremes(), _Extremes()
    for kind, state in _states(instance, setting, kinds, gradient):
        if kind != CLIENT:
            server_values.see((forms[0] * state)[0, 0])
        if kind in (CLIENT, DRAWN):
            client_values.see((forms[1] * state)[0, 0])
    if server_values.least is None or client_values.least is None:
        raise Undecided("all rounds are of one kind, so a maximum is over no rounds")
    extremes = (server_values.peak, server_values.least, client_values.peak, client_values.least)
    return dict(zip((*GRADIENTS, *PSEUDOGRADIENTS), extremes, strict=True))


class _Extremes:
    """The largest and the smallest number seen."""

    peak: arb | None = None
    least: arb | None = None

    def see(self, value: arb) -> None:
        self.peak = value if self.peak is None else self.peak.max(value)
        self.least = value if self.least is None else self.least.min(value)


def _row(values: np.ndarray) -> arb_mat:
    return ball_matrix(values.reshape(1, -1))


def _pseudogradient_form(setting: Setting, shifted: bool) -> np.ndarray:
    """The row w with w . vec(Z) = E|mean over the participants of sum_k grad F_i(x_{i,k})|^2, Z = E[z z^T]."""
    sums = local_maps(setting, exact=True).gradient_sums()
    if shifted:  # one local step later
        single = replace(setting, algorithm=replace(setting.algorithm, local_steps=1))
        sums = np.stack([s @ t for s, t in zip(sums, local_maps(single, exact=True).maps, strict=True)])
    members = list(setting.participation.members)
    mean = sums[members].sum(0) * Fraction(1, len(members))
    return (mean.T @ mean).ravel()


def _states(
    instance: SafariInstance, setting: Setting, kinds: str, weight: np.ndarray
) -> Iterator[tuple[str, arb_mat]]:
    """Each round's kind and the second moments before it."""
    client, server = _operators(setting, weight)
    state = ball_matrix(np.append(initial_moments(setting, exact=True), Fraction(0)))
    if kinds == DRAWN:
        mixed, _ = _cycle(instance, kinds, client, server)
    for round in range(instance.rounds):
        kind = DRAWN if kinds == DRAWN else _order(instance)[round % len(instance.order)]
        yield kind, state
        operator = mixed if kind == DRAWN else client if kind == CLIENT else server
        state = operator * state


def progress_interval(instance: SafariInstance) -> arb:
    """Where G_4/G_3 = (1 - 2 c/y)/(2 h) is in every round of every run, with y = x_r - x*, if the run starts on c's
    side of x*. With y_0 > 0 and c >= 0, a client round leads to at least min(y, c) and to at least (1 - a_c) y, a
    server round to (1 - a_s) y; so y_r is at least (1 - a_s)^r min(y_0, c), and at least (1 - max(a_c, a_s))^r y_0. It
    is at most max(y_0, c), and the ratio increases with y.

    Raises:
        Undecided: the runs are not of this kind.
    """
    curvatures = {row[0] for row in instance.hessians}
    noisy = any(instance.constants.get(name, 0) != 0 for name in ("gradient_noise", "server_noise"))
    if len(instance.start) > 1 or len(curvatures) > 1 or noisy:
        raise Undecided("the clients' progress is enclosed in one dimension, with one curvature and without noise only")
    (h,) = curvatures
    eta_c, eta_s = (ball(getattr(instance, name)) for name in STEPS)
    shares = [1 - (1 - eta_c * ball(h)) ** instance.local_steps, eta_s * ball(h)]
    if not all(share >= 0 and share < 1 for share in shares):
        raise Undecided("a round moves past its target, or away from it")
    optimum = instance.federation.exact_optimum[0]
    y = instance.start[0] - optimum
    c = sum(instance.centres[i][0] for i in instance.members) / len(instance.members) - optimum
    if y < 0:
        y, c = -y, -c
    if not (y > 0 and c >= 0):
        raise Undecided("the start is not on the same side of the optimum as the participants' minimiser")
    last = instance.rounds - 1
    lowest = (ball(min(y, c)) * (1 - shares[1]) ** last).max(ball(y) * (1 - shares[0].max(shares[1])) ** last)
    ends = lowest, ball(max(y, c))
    return interval(*((1 - 2 * ball(c) / end) / (2 * ball(h)) for end in ends))
