"""The objective that rounds of averages go down in the mean, whatever objective was meant."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ..algorithms.algorithm import ClientRound
from .lifting import weighing
from .linear_rounds import NotClosed
from .round_maps import drawn_by

if TYPE_CHECKING:
    from ..setting import Setting


def implied_objective(setting: Setting) -> tuple[Fraction, ...]:
    """Compute phi_i = E[w_i] / sum_j E[w_j], of the weights w_i with which a round averages its clients, in Fractions.

    After one local step of size eta, E[x_{r+1} | x_r] - x_r = -eta global_lr sum_i E[w_i] grad F_i(x_r): the mean step
    goes down sum_i phi_i F_i. So the algorithm minimises this objective, up to noise and the drift of more local steps,
    and not the F in which the result is measured, where the two differ.

    Where client i makes K_i steps, its gradient is multiplied by eta K_i, to first order in eta, so that
    phi_i = E[w_i] K_i / sum_j E[w_j] K_j: what FedNova undoes by weights 1/K_i. The point where the mean settles,
    ``fixed_point``, tends to this objective's minimiser as eta tends to 0. If all Hessians are h I, then at any eta it
    is that of weights in proportion to E[w_i] (1 - (1 - eta h)^{K_i}).

    For ``fedavg`` with one number of steps, with M clients:

    - "all": p_i / sum_j p_j if clients come independently with probabilities p, 1/M for uniform cohorts of S.
    - "participating": E[N_i/|N|] / P(somebody) and 1/M.
    - "weighted": q_i E[N_i/|N|] / sum_j q_j E[N_j/|N|] and q_i, with q the ``objective_weight``.
    - "samples": E[n_i N_i / sum_j n_j N_j] / P(somebody), and the sum of n_i / sum_{j in S} n_j over cohorts with i,
      over their number C(M, S).

    The last one is n_i / sum_j n_j only for equal n_i, or if everyone takes part; for S = 1 it is 1/M.

    Raises:
        ValueError: participants with a memory or with rounds that differ in law, whose mean weights differ from round
            to round; weights that depend on earlier rounds; kinds of round that alternate; or nobody ever takes part.

    Source: for steps that differ, Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated
    Optimization" (2020), for SGD.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[0, 0, 0])
    >>> fedavg = ft.algorithms.fedavg(local_lr="1/10", average="samples", samples=[1, 1, 2])
    >>> [[str(w) for w in implied_objective(ft.Setting(fed, fedavg, who))]
    ...  for who in (ft.participation.Fixed([0, 1, 2]), ft.participation.Uniform(2))]
    [['1/4', '1/4', '1/2'], ['5/18', '5/18', '4/9']]
    """
    first, second = setting.algorithm.kinds
    if first != second or not isinstance(second, ClientRound):
        raise ValueError(f"algorithm = {type(setting.algorithm).__name__}: allowed is one kind of round, of clients")
    if second.aggregation.tables:
        raise NotClosed(f"aggregation = {type(second.aggregation).__name__}: its steps are of earlier rounds too")
    clients = setting.federation.clients
    if second.uniform is None:
        setting.participation.inclusion(clients)  # says why not, of rounds that are not alike
    kind = second.bound(setting.participation, clients)
    family, coefficients = weighing(kind, clients)
    draws, *_ = drawn_by(setting, kind, exact=True)
    means = [Fraction(u) * c for u, c in zip(draws.first(family), coefficients, strict=True)]
    if isinstance(kind.local_steps, tuple):
        means = [mean * steps for mean, steps in zip(means, kind.local_steps, strict=True)]
    if not any(means):
        raise ValueError(f"participation = {setting.participation}: nobody ever takes part with a weight")
    return tuple(mean / sum(means) for mean in means)
