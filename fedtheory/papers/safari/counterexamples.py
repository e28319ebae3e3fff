"""The instances by which SAFARI's statements fall: two clients, of which one takes part, with short numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from ...claims.statement import Claim
from ...federations import Quadratic
from ...participation import Fixed
from ...setting import Setting
from ...subjects.instance import ValuesInstance
from ...subjects.safari.instance import CLIENT, SERVER, SafariInstance, from_safari

ONE, HALF = Fraction(1), Fraction(1, 2)


def _pair(ref: str, curvature: Fraction, strongly_convex: bool, **changes: object) -> SafariInstance:
    """Clients with minimisers 1 and -1, of which the first takes part in every client round, q = 1/2, no noise."""
    values = {"smoothness": curvature, "gradient_noise": Fraction(0), "server_noise": Fraction(0),
              "dissimilarity": curvature} | ({"strong_convexity": curvature} if strongly_convex else {})  # fmt: skip
    parts = {
        "hessians": ((curvature,),) * 2, "centres": ((ONE,), (-ONE,)), "client_round_probability": HALF,
        "local_steps": 1, "local_lr": None, "server_lr": None, "members": (0,), "constants": MappingProxyType(values),
    }  # fmt: skip
    return SafariInstance(ref, **(parts | changes))


def far_pair(ref: str, **changes: object) -> SafariInstance:
    """F = x^2/2, clients at 1 and -1, the first in every client round, x_0 = 2, server_lr = 1/100, R = 10^4.

    Here L = sigma_G = K = m = 1, and local_lr = 2 server_lr = 1/50 is below 1/(4 sqrt(30)) = 0.0456 in both readings of
    the root. The bound is 2 F(x_0)/(R server_lr) + 40 server_lr^2 6 = 0.04 + 0.024 = 0.064.

    Kinds drawn: E x_{r+1} = (1 - 3/200) E x_r + 1/100 decreases from 2 to 2/3, so that E|grad F|^2 >= (E x)^2 >= 4/9.
    In the order server, client, ...: x stays above its limit 198/298 before server rounds, and 198^2/298^2 > 0.44.

    The condition on q: G_1 = E x_0^2 = 4 is at the start, and so is G_2 = E(x_0 - 1)^2 = 1 (0.98^2 if a server round
    comes first; times 0.98^2 if local gradients are those at k = 1..K). With a = 1/100 or 1/100^2 the excess
    4 - 4 G_2 (1/2 - 2 a) is between 2 and 2.4, and (1 - 1/100) G_1 is 3.96: the bound on q is at least
    3.96/(2.4 + 3.96) > 0.6. The quotient divides by positive numbers, so the product says the same.
    """
    parts = {"start": (Fraction(2),), "server_lr": Fraction(1, 100), "rounds": 10**4, "order": (SERVER, CLIENT)}
    return _pair(ref, ONE, strongly_convex=False, **(parts | changes))


def steep_pair(ref: str, curvature: int, rounds: int, **changes: object) -> SafariInstance:
    """F = h x^2/2, clients at 1 and -1, the first in every client round, x_0 = 1: L = mu = sigma_G = h.

    With rate = local_lr h/2 = server_lr h, a client round moves x a share 2 rate of the way to 1, a server round a
    share rate to 0. So E x_{r+1} = (1 - 3 rate/2) E x_r + rate decreases from 1 to 2/3, and E|x_R|^2 >= 4/9, while the
    bound is little more than (1 - rate)^R + 16 q rate.

    Every run stays between (1 - rate)^R and 1, so G_4/G_3 = (x - 2)/(2 h x) between its values there. The condition on
    q, at a ratio p, is q <= 1/(1 + (cost - 4 p/h)/gain), with the printed gain 1/(2 h) - rate/h^2 and the cost
    4 rate (1 + ...)/h^2 (without 1/h^2 in the appendix). As -4 p/h = 2 (2 - x)/(h^2 x), what is added to 1 is about
    4 (2 - x)/(h x), small for large h: the gain is too large by a factor h/2. With 1/(L mu) in place of 1/(L + mu) it
    is 2 (2 - x)/x, and q = 1/2 is refused below x = 4/3.
    """
    return _pair(ref, Fraction(curvature), strongly_convex=True, start=(ONE,), rounds=rounds, **changes)


def identical_clients(ref: str) -> ValuesInstance:
    """What two rounds of identical clients F_i(x) = x^2/2 from x_0 = 1 show, the first the clients', the second the
    server's, with server_lr = 1/100, so local_lr = 1/50: G_2 = x_0^2 = 1 and G_1 = x_1^2 = (49/50)^2.

    The bound on q is 1/(1 - G_2 (2 - 8/100^2)/((1 - 1/100) G_1)), and the quotient is 1.9992/0.950796 > 2: the bound is
    negative, although the remark has it at least 1. (Before dividing, the condition allows every q.)
    """
    values = {"smoothness": ONE, "local_steps": ONE, "server_lr": Fraction(1, 100)}
    return ValuesInstance(ref, values | {"peak_server_gradient": Fraction(49, 50) ** 2,
                                         "peak_arbitrary_pseudogradient": ONE})  # fmt: skip


def diverging_server(ref: str) -> SafariInstance:
    """F = h x^2/2 with h = 10^4, identical clients, q = 0, server_lr = 1/4400, no noise, x_0 = 1, one round.

    With L K inside the root the cap on local_lr = 1/2200 is 1/(4 sqrt(30 h)) = 1/2190.9, although server_lr = 2.27/h:
    x_1 = -(14/11) x_0, and runs diverge. The bound is 2 F(x_0)/server_lr = 4.4 10^7, the squared gradient 10^8 at x_0.
    As a quotient the condition divides N = -4 G_2 (1/2 - 2 h/4400^2) < 0 by (1 - 2.27) G_1 < 0, so it allows q = 0;
    multiplied out, or with 2 L eta_s for 2 L eta_s^2, it does not. With the root of 30 alone the step is too large.
    """
    curvature = Fraction(10**4)
    nothing = dict.fromkeys(("gradient_noise", "server_noise", "dissimilarity"), Fraction(0))
    return _pair(
        ref, curvature, strongly_convex=False, start=(ONE,), centres=((Fraction(0),),) * 2, rounds=1, order=(SERVER,),
        client_round_probability=Fraction(0), server_lr=Fraction(1, 4400),
        constants=MappingProxyType({"smoothness": curvature} | nothing),
    )  # fmt: skip


def _theorem_5(ref: str) -> SafariInstance:
    return steep_pair(ref, 1000, 3 * 10**5, local_lr=Fraction(2, 10**8))


CONSTRUCTIONS: dict[str, Callable[[str], SafariInstance | ValuesInstance]] = {
    "safari.thm4@main": far_pair,
    "safari.thm4@appendix": far_pair,
    "safari.thm5@main": _theorem_5,
    "safari.thm5@appendix": _theorem_5,
    "safari.cor1.a@main": lambda ref: far_pair(ref, server_lr=None),
    "safari.cor1.b@main": lambda ref: far_pair(ref, server_lr=None),
    "safari.cor1.c@main": lambda ref: far_pair(ref, server_lr=None),
    "safari.cor2@main": lambda ref: steep_pair(ref, 10**6, 1000),
    "safari.rem5.a@main": identical_clients,
}

PARTLY: dict[str, Callable[[str], SafariInstance]] = {"safari.thm4@submission": diverging_server}
"""Instances by which a claim falls under some of its readings, not under all."""


# From a search -------------------------------------------------------------------------------------------------------

SHARES = "exact shares"
"""The reading of kinds of rounds under which so many are the clients', in whatever order."""

LONGEST_CYCLE = 100
"""Rounds after which the order of kinds of a rounded run repeats, at most."""


def rounded_safari(
    statement: Claim, setting: Setting, rounds: int, members: Fixed, share: Fraction, short: Callable[..., Fraction]
) -> SafariInstance:
    """The run with its numbers rounded by ``short``, the steps down from this share of theirs; where the probability of
    client rounds is a short fraction and the claim may mean exact shares, with an order that has as many of them.

    Raises:
        ValueError: no instance can hold it.
    """
    exact = from_safari(statement, replace(setting, participation=members), rounds, {})
    hessians, centres = ([[short(v) for v in row] for row in rows] for rows in (exact.hessians, exact.centres))
    fed = setting.federation
    noises = {"gradient_noise": short(fed.exact_gradient_noise), "server_noise": short(fed.exact_server_noise)}
    federation = Quadratic(hessians, centres, **noises)
    offset = [short(v) for v in setting.exact_start - fed.exact_optimum]
    algorithm = replace(
        setting.algorithm,
        client_round_probability=min(ONE, short(setting.algorithm.client_round_probability)),
        local_lr=short(setting.algorithm.local_lr * share, rounding=ROUND_FLOOR),
        server_lr=short(setting.algorithm.server_lr * share, rounding=ROUND_FLOOR),
    )
    rounded = Setting(federation, algorithm, members, list(federation.exact_optimum + np.array(offset)))
    shares = any(reading.get("kinds of rounds") == SHARES for reading in statement.readings())
    cycle = _spread(algorithm.client_round_probability) if shares else ()
    length = int(short(rounds, whole=True))
    if cycle and length > len(cycle):
        length -= length % len(cycle)
    instance = from_safari(statement, rounded, length, {})
    return replace(instance, order=cycle if length % max(1, len(cycle)) == 0 else ())


def _spread(q: Fraction) -> tuple[str, ...]:
    """An order with a share q of client rounds, evenly spread, the server first; empty where its cycle is too long.

    >>> _spread(Fraction(2, 5))
    ('server', 'server', 'client', 'server', 'client')
    """
    length = q.denominator
    if length > LONGEST_CYCLE:
        return ()
    clients = [q * (r + 1) // 1 - q * r // 1 for r in range(length)]
    return tuple(CLIENT if one else SERVER for one in clients)
