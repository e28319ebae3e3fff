"""The objective that rounds of averages go down in the mean, whatever objective was meant."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ..algorithms.aggregation import LatestUpdates
from ..algorithms.algorithm import ClientRound
from .lifting import NotClosed, weighing
from .round_maps import drawn_by

if TYPE_CHECKING:
    from ..setting import Setting


def implied_objective(setting: Setting) -> tuple[Fraction, ...]:
    """Compute phi_i = E[w_i] / sum_j E[w_j], of the weights w_i with which a round averages its clients, in Fractions.

    After one local step of size eta, E[x_{r+1} | x_r] - x_r = -eta global_lr sum_i E[w_i] grad F_i(x_r): the mean step
    goes down sum_i phi_i F_i. So the algorithm minimises this objective, up to noise and the drift of more local steps,
    and not the F in which the result is measured, where the two differ. For ``fedavg``, with M clients:

    - "all": p_i / sum_j p_j if clients come independently with probabilities p, 1/M for uniform cohorts of S.
    - "participating": E[N_i/|N|] / P(somebody) and 1/M.
    - "weighted": q_i E[N_i/|N|] / sum_j q_j E[N_j/|N|] and q_i, with q the ``objective_weight``.
    - "samples": E[n_i N_i / sum_j n_j N_j] / P(somebody), and the sum of n_i / sum_{j in S} n_j over cohorts with i,
      over their number C(M, S).

    The last one is n_i / sum_j n_j only for equal n_i, or if everyone takes part; for S = 1 it is 1/M.

    Raises:
        ValueError: participants with a memory or with rounds that differ in law, whose mean weights differ from round
            to round; weights that depend on earlier rounds; kinds of round that alternate; or nobody ever takes part.

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
    if isinstance(second.aggregation, LatestUpdates):
        raise NotClosed(f"aggregation = {type(second.aggregation).__name__}: its steps are of earlier rounds too")
    clients = setting.federation.clients
    if second.uniform is None:
        setting.participation.inclusion(clients)  # says why not, of rounds that are not alike
    kind = second.bound(setting.participation, clients)
    family, coefficients = weighing(kind.aggregation, clients)
    draws, *_ = drawn_by(setting, kind, exact=True)
    means = [Fraction(u) * c for u, c in zip(draws.first(family), coefficients, strict=True)]
    if not any(means):
        raise ValueError(f"participation = {setting.participation}: nobody ever takes part with a weight")
    return tuple(mean / sum(means) for mean in means)
