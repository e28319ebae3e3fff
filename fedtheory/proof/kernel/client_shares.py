"""Rule on the distance of a client's vector from the mean over all clients, in which it has its own weight."""

from __future__ import annotations

from .forms import Vector, square
from .regions import Where
from .scalars import Scalar
from .theorems import Refused, Theorem, _theorem


def own_share(theorem: Theorem, own: Vector, centre: Vector, least: Scalar, where: Where) -> Theorem:
    """Prove |u_i - mean u|^2 <= 4 (1 - w)^2 D for every client, from |u_i - c|^2 <= D with D and c the same for all. No
    client's weight phi_i in the mean may be below w. The difference u_i - mean u is the sum over j other than i of
    phi_j (u_i - u_j). Their weights sum to 1 - phi_i <= 1 - w, and |u_i - u_j| <= 2 sqrt D."""
    bound = theorem.form + square(own - centre)
    if theorem.context == "cohort" or "i" not in own.open or centre.open or bound.open or "k" in own.open:
        raise Refused(f"{theorem}: allowed is D - |u_i - c|^2 >= 0 for every client, D and c the same for all of them")
    if not where.within(theorem.where):
        raise Refused(f"{theorem}: shown on a region that does not contain this one")
    if not where.certifies(1 - least) or "k" in least.names:
        raise Refused(f"w = {least}: not certified to be at most 1, or not the same at every step")
    parameters = dict(theorem.parameters)
    if parameters.get("least_weight", least) != least:
        raise Refused(f"w = {least}: the theorem has {parameters['least_weight']}")
    form = bound * (4 * (1 - least) ** 2) - square(own - own.under("M"))
    return _theorem(
        "own share",
        [theorem],
        context=theorem.context,
        kind=theorem.kind,
        where=where,
        form=form,
        parameters=parameters | {"least_weight": least},
        own=own,
        centre=centre,
        least=least,
    )
