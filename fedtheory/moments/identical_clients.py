r"""Rounds of identical clients, as rounds of one: it matters how many take part, not who.

Clients with the same F_i come back from a round with the same mean, and differ by their noises alone. So their mean,
with weights w_i that add up to 1, is one client's model, and of its noise's variance there is left

    E sum_i w_i^2,  1/n for n participants, each counted once,

where noises are independent, and all of it where they are the same. Nothing else of a round grows with the clients.
"""

from __future__ import annotations

from fractions import Fraction

from ..algorithms.algorithm import ClientRound
from ..federations.quadratic import Quadratic
from ..participation import Fixed, Participation, Uniform


def averaged_noise(fed: Quadratic, kind: ClientRound, process: Participation) -> Fraction | None:
    """Return E sum_i w_i^2 of the clients that take part in a round of this kind; ``None`` where they do not act as
    one.

    The setting's participants are those of ``process``. The clients act as one if they are several identical ones,
    their models are averaged, and a fixed set or a uniform cohort takes part.

    >>> from fedtheory.algorithms import fast
    >>> fed = Quadratic.common_hessian([0] * 1000, gradient_noise=1)
    >>> kinds = fast(cohort=50, local_lr="1/10", snapshot_probability="1/2").kinds
    >>> [averaged_noise(fed, kind, Fixed([3, 4])) for kind in kinds]
    [Fraction(1, 50), Fraction(1, 2)]
    """
    if fed.clients == 1 or not kind.plain or not fed.identical:
        return None
    who = process if kind.uniform is None else kind.uniform
    if type(who) not in (Fixed, Uniform):
        return None
    who.check(fed.clients)
    repeated = isinstance(who, Uniform) and who.replacement  # then two of the draws may be one client
    pairs = Fraction(who.cohort - 1, fed.clients) if repeated else Fraction(0)
    return (1 + pairs) / who.cohort
