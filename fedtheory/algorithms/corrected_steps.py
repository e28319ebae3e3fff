"""Algorithms whose clients correct their steps by what is remembered of gradients, and the server's averages by the
clients' steps. Each is one function that does a round, readable from top to bottom: see ``custom_algorithm``.

With exact gradients SCAFFOLD, FedDyn, SAG and SAGA settle at the optimum x*, however the clients differ. FedLin and
Scaffnew do where all clients take part, and FedNova does there as its step size tends to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ..arguments import is_real, listed
from ..rationals import Number, positive, probability, whole
from .custom_algorithm import Own, own


def _scaffold(x, memory, round, *, local_lr, local_steps, global_lr, option):  # type: ignore[no-untyped-def]
    mine = memory["controls"]
    mean, y = mine.mean(1)[:, None], x[:, None] + 0 * round.count
    for _ in range(local_steps):
        y = y - local_lr * (round.gradient(y) - mine + mean)
    way = round.present * (y - x[:, None])
    renewed = round.gradient(x) if option == 1 else mine - mean - way / (local_steps * local_lr)
    moved = x + global_lr * (round.share * way).sum(1)
    return moved, {"controls": mine + round.present * (renewed - mine)}


def scaffold(*, local_lr: Number, local_steps: int = 1, global_lr: Number = 1, option: int = 2) -> Own:
    """SCAFFOLD: local steps corrected by control variates c_i of the clients and c, their mean:

        y_i <- y_i - local_lr (g_i(y_i) - c_i + c),    x <- x + global_lr mean_S (y_i - x),
        c_i <- g_i(x) (option 1), or c_i - c + (x - y_i)/(K local_lr) (option 2),    for i in S.

    Args:
        local_lr, local_steps, global_lr: eta_l, K, eta_g.
        option: 1 asks for one more gradient a round, at x; 2 takes the mean of those along the way.

    Raises:
        ValueError: a value out of bounds.

    Source: Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning" (2020), Algorithm 1.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic([[1], [3]], [[0], [4]])  # x* = 3
    >>> setting = ft.Setting(fed, scaffold(local_lr="1/10", local_steps=3), ft.participation.Uniform(1))
    >>> setting.fixed_point(exact=True).point.tolist()
    [Fraction(3, 1)]
    """
    if not is_real(option) or option not in (1, 2):
        raise ValueError(f"option = {option!r}: allowed is 1 or 2")
    rate = positive("global_lr", global_lr)
    return _made(_scaffold, "scaffold", {"controls": "clients"}, local_lr, local_steps, global_lr=rate, option=option)


def _fedlin(x, memory, round, *, local_lr, local_steps):  # type: ignore[no-untyped-def]
    there = round.gradient(x)
    all_of, y = (round.share * there).sum(1)[:, None], x[:, None] + 0 * round.count
    for _ in range(local_steps):
        y = y - local_lr * (round.gradient(y) - there + all_of)
    return x + (round.share * (y - x[:, None])).sum(1), {}


def fedlin(*, local_lr: Number, local_steps: int = 1) -> Own:
    """FedLin, without compression: local steps corrected by the gradients at the round's start,

        y_i <- y_i - local_lr (g_i(y_i) - g_i(x) + mean_S g_j(x)),    x <- mean_S y_i.

    Raises:
        ValueError: a value out of bounds.

    Source: Mitra et al., "Linear Convergence in Federated Learning: Tackling Client Heterogeneity and Sparse Gradients"
    (2021), Algorithm 1 with H_i = H and exact uploads; all clients take part there.
    """
    return _made(_fedlin, "fedlin", {}, local_lr, local_steps)


def _scaffnew(x, memory, round, *, local_lr, chance):  # type: ignore[no-untyped-def]
    offsets, shift = memory["offsets"], memory["shifts"]
    y = x[:, None] + offsets - local_lr * (round.gradient(x[:, None] + offsets) - shift)
    mean, meet = y.mean(1), round.draw(chance)
    after = y + meet[:, None] * (mean[:, None] - y)
    shift = shift + chance / local_lr * (after - y)  # of which the sum is 0 from the beginning
    return mean, {"offsets": after - mean[:, None], "shifts": shift - shift.mean(1)[:, None]}


def scaffnew(*, local_lr: Number, communication_probability: Number) -> Own:
    """Scaffnew, which is ProxSkip for averages: a round is one local step of every client, and with a probability p the
    clients meet at their mean:

        y_i = x_i - local_lr (g_i(x_i) - h_i),    x_i <- mean_j y_j with probability p, else y_i,
        h_i <- h_i + (p/local_lr) (x_i - y_i).

    The model is the mean of the x_i. It asks for full participation: an absent client's gradient would be 0.

    Args:
        communication_probability: p in (0, 1].

    Raises:
        ValueError: a value out of bounds.

    Source: Mishchenko et al., "ProxSkip: Yes! Local Gradient Steps Provably Lead to Communication Acceleration!
    Finally!" (2022), Algorithm 2.
    """
    chance = positive("communication_probability", probability("communication_probability", communication_probability))
    memory = {"offsets": "clients", "shifts": "clients"}
    return own(_scaffnew, memory=memory, name="scaffnew", local_lr=local_lr, chance=chance)


def _feddyn(x, memory, round, *, local_lr, local_steps, penalty):  # type: ignore[no-untyped-def]
    mine, y = memory["gradients"], x[:, None] + 0 * round.count
    for _ in range(local_steps):
        y = y - local_lr * (round.gradient(y) - mine + penalty * (y - x[:, None]))
    way = round.present * (y - x[:, None])
    mine = mine - penalty * way
    return x + (round.share * way).sum(1) - round.somebody * mine.mean(1) / penalty, {"gradients": mine}


def feddyn(*, local_lr: Number, local_steps: int, penalty: Number) -> Own:
    """FedDyn, with gradient steps for its inexact minimisation of F_i(y) - <h_i, y> + (penalty/2) |y - x|^2:

        y_i <- y_i - local_lr (g_i(y_i) - h_i + penalty (y_i - x)),    h_i <- h_i - penalty (y_i - x),
        x <- mean_S y_i - h/penalty,    h the mean of all h_j.

    Args:
        penalty: alpha > 0, in units of F/x^2.

    Raises:
        ValueError: a value out of bounds.

    Source: Acar et al., "Federated Learning Based on Dynamic Regularization" (2021), Algorithm 1.
    """
    memory = {"gradients": "clients"}
    return _made(_feddyn, "feddyn", memory, local_lr, local_steps, penalty=positive("penalty", penalty))


def _fednova(x, memory, round, *, local_lr, steps, global_lr):  # type: ignore[no-untyped-def]
    y, own = x[:, None] + 0 * round.count, round.each(steps)
    for k in range(max(steps)):
        y = y - local_lr * round.each([int(k < each) for each in steps]) * round.gradient(y)
    way = (round.share * (y - x[:, None]) / own).sum(1)
    return x + global_lr * (round.share * own).sum(1) * way, {}


def fednova(*, local_lr: Number, local_steps: Sequence[int], global_lr: Number = 1) -> Own:
    """FedNova with plain SGD: client i takes tau_i local steps, and the server averages the ways per step,

        x <- x + global_lr (mean_S tau_i) mean_S (y_i - x)/tau_i.

    Args:
        local_steps: tau, one for each client, >= 1.

    Raises:
        ValueError: a value out of bounds; in a round, if there is not one number for each client.

    Source: Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization" (2020),
    section 4, with |a_i|_1 = tau_i and tau_eff = sum p_i tau_i.
    """
    steps = [whole(f"local_steps[{i}]", each) for i, each in enumerate(listed("local_steps", local_steps))]
    if not steps:
        raise ValueError("local_steps is empty: allowed is one number for each client")
    return own(_fednova, name="fednova", local_lr=local_lr, steps=steps, global_lr=positive("global_lr", global_lr))


def _sag(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
    known = memory["gradients"]
    known = known + round.present * (round.gradient(x) - known)
    return x - local_lr * known.mean(1), {"gradients": known}


def sag(*, local_lr: Number) -> Own:
    """SAG: steps by the mean of all clients' latest gradients, of which a round renews those of its participants:

        y_i <- g_i(x) for i in S,    x <- x - local_lr (1/M) sum_j y_j.

    With a cohort of 1 it is the published one, whose components are the clients.

    Raises:
        ValueError: a value out of bounds.

    Source: Schmidt, Le Roux and Bach, "Minimizing Finite Sums with the Stochastic Average Gradient" (2017), Algorithm
    1, with d/n for its d/m.
    """
    return own(_sag, memory={"gradients": "clients"}, name="sag", local_lr=local_lr)


def _saga(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
    known = memory["gradients"]
    change = round.present * (round.gradient(x) - known)
    return x - local_lr * ((round.share * change).sum(1) + known.mean(1)), {"gradients": known + change}


def saga(*, local_lr: Number) -> Own:
    """SAGA: unbiased steps by the participants' gradients, with the latest ones as control variates:

        x <- x - local_lr (mean_S (g_i(x) - y_i) + (1/M) sum_j y_j),    then y_i <- g_i(x) for i in S.

    With a cohort of 1 it is the published one, whose components are the clients.

    Raises:
        ValueError: a value out of bounds.

    Source: Defazio, Bach and Lacoste-Julien, "SAGA: A Fast Incremental Gradient Method With Support for Non-Strongly
    Convex Composite Objectives" (2014).
    """
    return own(_saga, memory={"gradients": "clients"}, name="saga", local_lr=local_lr)


def _made(step: Any, name: str, memory: dict[str, str], local_lr: Number, local_steps: int, **more: Any) -> Own:
    """The algorithm of this step, its numbers checked."""
    return own(step, memory=memory, name=name, local_lr=local_lr, local_steps=whole("local_steps", local_steps), **more)


def _fedavg(x, memory, round, *, local_lr, local_steps, global_lr):  # type: ignore[no-untyped-def]
    return x + global_lr * (round.share * round.train(x, local_lr, local_steps)).sum(1), {}


def by_name(name: str) -> Own | None:
    """Return the algorithm that a claim names, if it is ``fedavg`` or one of this module, but for ``fednova``,
    which takes a list; ``None`` if it is another.

    A search draws those of its numbers that are quantities.

    >>> by_name("fedlin").numbers, by_name("fast")
    ({'local_lr': Fraction(1, 100), 'local_steps': Fraction(1, 1)}, None)
    """
    step = Fraction(1, 100)
    made: dict[str, Callable[[], Own]] = {
        "scaffold": lambda: scaffold(local_lr=step),
        "fedlin": lambda: fedlin(local_lr=step),
        "scaffnew": lambda: scaffnew(local_lr=step, communication_probability="1/2"),
        "feddyn": lambda: feddyn(local_lr=step, local_steps=1, penalty=1),
        "sag": lambda: sag(local_lr=step),
        "saga": lambda: saga(local_lr=step),
        "fedavg": lambda: own(_fedavg, name="fedavg", local_lr=step, local_steps=1, global_lr=1),
    }
    return made[name]() if name in made else None
