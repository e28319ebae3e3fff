"""Bounds on runs whose kinds of round alternate otherwise than by chance alone: snapshots in every I-th round, and
shares of the clients' rounds, exact or by chance."""

from __future__ import annotations

from .regions import Condition
from .round_rules import ARBITRARY, average, contraction
from .run_bounds import (
    DISTANCE,
    FINAL_DISTANCE,
    GAP,
    MEAN_GRADIENT,
    ROUNDS,
    Definition,
    RunBound,
    _of_rounds,
    telescoped,
)  # fmt: skip
from .scalars import Ring, Scalar
from .sealed import Refused
from .server_rounds import SERVER, of_either
from .theorems import Theorem, said_besides

PERIOD, PERIODIC, SHARES = "period", "periodic_kinds", "shares_of_client_rounds"
"""Parameter I of a run whose snapshots are the rounds 0, I, 2I, ...; that they are; and that of the rounds of a run a
share q, exactly or in expectation, are the clients'."""


def telescope_kinds(
    clients: Theorem, server: Theorem, probability: Scalar, ring: Ring, rounds: str, gap: str
) -> RunBound:
    """Conclude from F(x) - E F(x+) - c |grad F(x)|^2 + B >= 0 in the clients' rounds, and with the same c and B_s in
    the server's,

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + (q B + (1 - q) B_s)/c.

    Added up, the values in between cancel, and of R rounds q R are the clients', or so many in expectation.
    """
    (fall, added), (other, by_server) = average(clients), average(server)
    if (clients.kind, server.kind) != (ARBITRARY, SERVER) or fall != other or not clients.where.within(server.where):
        raise Refused(f"{clients}, {server}: allowed are the clients' rounds and the server's, with the same fall")
    if not (clients.where.certifies(probability) and clients.where.certifies(1 - probability)):
        raise Refused(f"probability {probability}: not certified to be in [0, 1]")
    q, both = probability.within(ring), probability * added + (1 - probability) * by_server
    return _of_rounds(
        "telescope kinds",
        clients,
        ring,
        MEAN_GRADIENT,
        {ROUNDS: rounds, GAP: gap},
        telescoped(ring, rounds, gap, fall, both),
        kind="",
        parameters=of_either(dict(server.parameters), dict(clients.parameters), probability),
        assumptions={*clients.assumptions, *server.assumptions, (SHARES, probability)},
        probability=q,
        others=(server,),
    )


def telescope_periods(theorem: Theorem, ring: Ring, rounds: str, gap: str, period: str) -> RunBound:
    """Conclude from F(x) - E F(x+) - c |grad F(x)|^2 + B(q) >= 0 in every round, for every probability q of a snapshot,

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + (s B(1) + a B(0))/c

    where the rounds 0, I, 2I, ... are snapshots. Of R rounds at most R/I + 1 - 1/I are snapshots, and at most (1 - 1/I)
    R are none: s = 1/I + (1 - 1/I)/R, and a = 1 - 1/I.
    """
    fall, added = average(theorem)
    fall, own = fall.within(ring), 1 / ring[period]
    snapshots, others = own + (1 - own) / ring[rounds], 1 - own
    right = telescoped(ring, rounds, gap, fall, _of_kinds(theorem, fall, added, ring, snapshots, others))
    return _of_periods("telescope periods", theorem, ring, MEAN_GRADIENT, {ROUNDS: rounds, GAP: gap}, period, right)


def iterate_periods(theorem: Theorem, ring: Ring, rounds: str, distance: str, power: str, period: str) -> RunBound:
    """Conclude from P |x - x*|^2 + B(q) - E|x+ - x*|^2 >= 0 in every round, for every probability q of a snapshot,

        E|x_R - x*|^2 <= P^R |x_0 - x*|^2 + (s B(1) + a B(0))/(1 - P)

    where the rounds 0, I, 2I, ... are snapshots. What a round r adds is left P^{R-1-r} times. As these weights grow, a
    snapshot's is at most each of the I - 1 after it, and at least each of the I - 1 before it; the last snapshot lacks
    some of the former, the last one's followers the latter, I - 1 weights of at most 1. So I times the snapshots'
    weight is within I - 1 of that of all rounds, at most 1/(1 - P): s = 1/I + (1 - 1/I) (1 - P), a = (1 - 1/I) (2 - P).
    """
    factor, added = contraction(theorem)
    fall, own = 1 - factor.within(ring), 1 / ring[period]
    snapshots, others = own + (1 - own) * fall, (1 - own) * (1 + fall)
    added = _of_kinds(theorem, fall, added, ring, snapshots, others)
    right = ring[power] * ring[distance] ** 2 + added / fall
    defined = Definition(power, "power", factor.within(ring))
    letters = {ROUNDS: rounds, DISTANCE: distance}
    return _of_periods("iterate periods", theorem, ring, FINAL_DISTANCE, letters, period, right, defined)


def _probability(theorem: Theorem) -> str:
    """Return the letter of a snapshot's probability, any in [0, 1], of which nothing else depends."""
    found = [str(q) for name, q in theorem.assumptions if name == "random_kinds"]
    letter = found[0] if len(found) == 1 else ""
    own = Condition(letter, "interval", theorem.where.ring.number(1))
    others = said_besides(theorem, "probability", assumption="random_kinds")
    if theorem.context != "start" or own not in theorem.where.conditions or any(letter in o.names for o in others):
        raise Refused(f"{theorem}: allowed is a theorem for every probability of a snapshot, in the same region")
    return letter


def _of_kinds(theorem: Theorem, fall: Scalar, added: Scalar, ring: Ring, snapshots: Scalar, others: Scalar) -> Scalar:
    """Return s B(1) + a B(0)."""
    letter = _probability(theorem)
    if letter in fall.names:
        raise Refused(f"{fall}: allowed is what does not depend on the kind of round")
    one, other = (added.replace({letter: added.ring.number(q)}).within(ring) for q in (1, 0))
    return snapshots * one + others * other


def _of_periods(
    rule: str, theorem: Theorem, ring: Ring, functional: str, letters: dict[str, str], period: str, right: Scalar,
    *defined: Definition,
) -> RunBound:  # fmt: skip
    letter = _probability(theorem)
    parameters = {name: value for name, value in theorem.parameters if name != "probability"}
    return _of_rounds(
        rule,
        theorem,
        ring,
        functional,
        letters | {PERIOD: period},
        right,
        defined,
        parameters=parameters,
        assumptions={a for a in theorem.assumptions if a[0] != "random_kinds"} | {(PERIODIC, ring[period])},
        conditions=(c for c in theorem.where.conditions if c.name != letter),
    )
