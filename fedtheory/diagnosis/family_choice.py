"""Choice of the family of a log: by its likelihood on rounds that were held out, and by a check that may say none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..participation import Incomplete, Participation
from .fitted_families import Family, candidates, schedule
from .predictive_check import Check, check

HELD_OUT = 3
"""A log is fitted on all but the last of so many parts, which is held out."""

ODDS = 5.0
"""Logarithm of how many times likelier the held-out rounds must be, before a family with more parameters is taken."""


@dataclass(frozen=True)
class FamilyChoice:
    """Family of a log.

    Attributes:
        name: of the family, such as "Markov"; "none" if no family fits.
        nearest: the family that predicts best, whether it fits or not.
        process: the nearest family's process, fitted to the whole log, clients who never came being absent; None for a
            log without anybody.
        log_likelihoods: of each candidate, of a held-out round, in nats.
        check: of the nearest family; None where rounds repeat exactly.
        described: what was fitted, beside rates.
    """

    name: str
    nearest: str
    process: Participation | None
    log_likelihoods: dict[str, float]
    check: Check | None
    described: dict[str, Any]

    @property
    def fits(self) -> bool:
        """Whether some family fits."""
        return self.name != "none"


def choose_family(
    mask: np.ndarray, groups: np.ndarray | None = None, seed: int = 0, places: np.ndarray | None = None
) -> FamilyChoice:
    """Choose the family of a log (rounds, clients).

    Every family is fitted on the first two thirds of the rounds and predicts the last. The best is taken, or the one
    with the fewest parameters that is not e^5 times less likely. It is fitted to the whole
    log and checked: see ``predictive_check``. Clients that never came are left out.

    Args:
        groups: each client's group, if they are known; else they are looked for.
        places: the number that each column has in the process; default: its own.

    >>> from fedtheory.participation import Bernoulli, history
    >>> log = history(Bernoulli(["1/4"] * 6), clients=6, rounds=400)[:, 0].numpy() > 0
    >>> choose_family(log).name
    'Bernoulli'
    """
    clients = mask.shape[1]
    places = np.arange(clients) if places is None else places
    came = mask.any(axis=0)
    if not came.any():
        return FamilyChoice("none", "none", None, {}, None, {})
    order = canonical_order(mask[:, came])
    present = np.flatnonzero(came)[order]
    here = np.ascontiguousarray(mask[:, present])
    numbers = None if groups is None else np.unique(np.asarray(groups)[present], return_inverse=True)[1]
    repeated = schedule(here)
    if repeated is not None:
        return _chosen(repeated, None, {repeated.name: 0.0}, places[present], clients)
    first = max(2, len(here) - len(here) // HELD_OUT)
    by_round = {}
    for family in candidates(here[:first], numbers, here):
        by_round[_key(family)] = (family.parameters, family.log_likelihood(here, 1))
    held_out = {name: values[first - 1 :] for name, (_, values) in by_round.items()}
    best = max(held_out, key=lambda name: held_out[name].sum())
    # Of as many parameters, the likelihood of all rounds decides.
    taken = min(
        (name for name in by_round if _close(held_out[best], held_out[name])),
        key=lambda name: (by_round[name][0], -by_round[name][1].sum()),
    )
    family = next(each for each in candidates(here, numbers, here) if _key(each) == taken)
    means = {name: float(values.mean()) for name, values in held_out.items()}
    return _chosen(family, check(family, here, seed), means, places[present], clients)


def canonical_order(mask: np.ndarray) -> np.ndarray:
    """Return an order of the clients by what they did, so that nothing depends on their names or places."""
    columns = np.packbits(mask, axis=0)
    return np.lexsort(columns[::-1])


def _key(family: Family) -> str:
    groups = family.exchangeable
    return family.name if groups is None else f"{family.name}, {groups.max() + 1} kinds of clients"


def _close(best: np.ndarray, other: np.ndarray) -> bool:
    """Whether the other is not worse beyond what chance explains.

    Were it the truth, the best would be e^5 times as likely, or more, with a chance of at most e^-5: its mean is 1.
    """
    return bool((best - other).sum() <= ODDS)


def _chosen(
    family: Family, checked: Check | None, means: dict[str, float], present: np.ndarray, clients: int
) -> FamilyChoice:
    name = family.name if checked is None or checked.fits else "none"
    process = _on_all(family, present, clients)
    return FamilyChoice(name, family.name, process, means, checked, family.described())


def _on_all(family: Family, present: np.ndarray, clients: int) -> Participation:
    """The process on all clients, in their own order."""
    back = np.argsort(present, kind="stable")
    process = reordered(family, back).process()
    absent = sorted({*range(clients)} - {*present.tolist()})
    return Incomplete(process, absent) if absent else process


def reordered(family: Family, order: np.ndarray) -> Family:
    """Return the family with its clients in another order: whatever has an entry a client is put in order."""
    from copy import copy

    found = copy(family)
    found.__dict__.pop("_laws", None)
    for name in family.per_client:
        value = getattr(family, name)
        setattr(found, name, value[..., order] if isinstance(value, np.ndarray) else value)
    for name in family.per_part:
        parts = [reordered(p, order) if isinstance(p, Family) else p[order] for p in getattr(family, name)]
        setattr(found, name, parts)
    if found.exchangeable is not None and "exchangeable" not in family.per_client:
        found.exchangeable = found.exchangeable[order]
    return found
