"""Rounds as plain data: who trains, with which steps. The module needs no torch; ``algorithm_plans`` makes rounds of an
algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..rationals import exact_number


@dataclass(frozen=True)
class Everyone:
    """All clients take part."""


@dataclass(frozen=True)
class Cohort:
    """Cohort of ``size`` clients, drawn uniformly, without replacement unless said otherwise."""

    size: int
    replacement: bool = False


@dataclass(frozen=True)
class Arbitrary:
    """Set of ``size`` clients that an adversary chooses; the same one in all rounds."""

    size: int


Participants = Everyone | Cohort | Arbitrary


@dataclass(frozen=True)
class Training:
    """Clients train, the server averages: for every participant i and k = 0..K-1,

        x_{i,k+1} = x_{i,k} - local_lr[k] (grad F_i(x_{i,k}) + noise + proximal (x_{i,k} - x)),    x_{i,0} = x,
        x+ = x + global_lr mean_S (x_{i,K} - x).

    Attributes:
        local_lr: one step size for each local step, > 0, in units of x^2/F.
        participants: S.
        global_lr: without units. proximal: in units of F/x^2.
    """

    local_lr: tuple[Fraction, ...]
    participants: Participants = Everyone()
    global_lr: Fraction = Fraction(1)
    proximal: Fraction = Fraction(0)


@dataclass(frozen=True)
class ServerStep:
    """Server's step x+ = x - server_lr (grad F(x) + noise)."""

    server_lr: Fraction


Kind = Training | ServerStep
Round = tuple[tuple[Fraction, Kind], ...]
"""Kinds of round with their probabilities, which add up to 1."""


def local_sgd(
    *,
    local_lr: Any,
    local_steps: int = 1,
    global_lr: Any = 1,
    proximal: Any = 0,
    participants: Participants | None = None,
) -> Training:
    """Return a round of local SGD with one step size.

    Raises:
        ValueError: a value out of bounds.

    >>> local_sgd(local_lr="1/10", local_steps=2).local_lr
    (Fraction(1, 10), Fraction(1, 10))
    """
    check_steps("local_steps", local_steps)
    who = Everyone() if participants is None else participants
    step = positive("local_lr", local_lr)
    pull = exact_number("proximal", proximal)
    if pull < 0:
        raise ValueError(f"proximal = {pull}: allowed is a number >= 0")
    return Training((step,) * local_steps, who, positive("global_lr", global_lr), pull)


MOST_STEPS = 100_000
"""The most rounds or local steps that are listed, far more than those of which a program fits a machine."""


def check_steps(name: str, value: int) -> None:
    """Raise ``ValueError`` unless the value is a whole number from 1 to ``MOST_STEPS``."""
    if type(value) is not int or not 1 <= value <= MOST_STEPS:
        raise ValueError(f"{name} = {value}: allowed is a whole number from 1 to {MOST_STEPS}")


def positive(name: str, value: Any) -> Fraction:
    """Return the value as a Fraction; raise ``ValueError`` unless it is a finite number > 0."""
    number = exact_number(name, value)
    if number <= 0:
        raise ValueError(f"{name} = {number}: allowed is a number > 0")
    return number


def mixture(*kinds: tuple[Any, Kind]) -> Round:
    """Return a round that is of each kind with its probability, independently of all else.

    Raises:
        ValueError: a probability below 0, or they do not add up to 1.

    >>> snapshot = local_sgd(local_lr="1/10", participants=Cohort(2))
    >>> len(mixture(("1/4", snapshot), ("3/4", local_sgd(local_lr="1/10", participants=Arbitrary(2)))))
    2
    """
    for each in kinds:
        if not (isinstance(each, tuple) and len(each) == 2 and isinstance(each[1], Training | ServerStep)):
            raise ValueError(f"{each!r}: allowed are pairs of a probability and a Training or a ServerStep")
    known = tuple((exact_number("probability", p), kind) for p, kind in kinds)
    if any(p < 0 for p, _ in known) or sum(p for p, _ in known) != 1:
        raise ValueError(f"probabilities = {[str(p) for p, _ in known]}: allowed are numbers >= 0 with the sum 1")
    return tuple((p, kind) for p, kind in known if p > 0)


@dataclass(frozen=True)
class Plan:
    """Rounds that run, and the number of clients among which they do.

    Attributes:
        rounds: at least one.
        clients: M; ``None`` where all take part without noise, whose worst case is the same for every M >= 2.

    Raises:
        ValueError: no round, a set of clients that is none among so many, or several rounds that are random.
    """

    rounds: tuple[Round, ...]
    clients: int | None = None

    def __post_init__(self) -> None:
        if not self.rounds:
            raise ValueError("rounds = 0: allowed is a whole number >= 1")
        if self.clients is not None and (type(self.clients) is not int or self.clients < 1):
            raise ValueError(f"clients = {self.clients}: allowed is a whole number >= 1")
        for who in self.participants:
            self._check(who)
        sizes = {who.size for who in self.participants if isinstance(who, Arbitrary)}
        if len(sizes) > 1:
            raise ValueError(f"arbitrary_cohort = {sorted(sizes)}: allowed is one number")
        if len(self.rounds) > 1 and self.random:
            raise ValueError(
                f"rounds = {len(self.rounds)}: allowed is 1 where rounds are random; `Recursion.after` "
                "iterates what one round does"
            )

    def _check(self, who: Participants) -> None:
        if isinstance(who, Everyone):
            return
        name = "cohort" if isinstance(who, Cohort) else "arbitrary_cohort"
        if self.clients is None:
            raise ValueError(f"clients: needed with {name} = {who.size}")
        most = None if isinstance(who, Cohort) and who.replacement else self.clients
        if type(who.size) is not int or who.size < 1 or (most is not None and who.size > most):
            allowed = ">= 1" if most is None else f"from 1 to clients = {self.clients}"
            raise ValueError(f"{name} = {who.size}: allowed is a whole number {allowed}")

    @property
    def kinds(self) -> list[Kind]:
        """All kinds of round, in order."""
        return [kind for each in self.rounds for _, kind in each]

    @property
    def participants(self) -> list[Participants]:
        """Participants of each kind of round in which clients train."""
        return [kind.participants for kind in self.kinds if isinstance(kind, Training)]

    @property
    def random(self) -> bool:
        """Whether a round's outcome is random but for noise."""
        drawn = any(isinstance(who, Cohort) and not self.is_everyone(who) for who in self.participants)
        return drawn or any(len(each) > 1 for each in self.rounds)

    def is_everyone(self, who: Participants) -> bool:
        """Whether these are all the clients."""
        whole = isinstance(who, Everyone) or who.size == self.clients
        return whole and not (isinstance(who, Cohort) and who.replacement and self.clients != 1)

    @property
    def chosen(self) -> int | None:
        """Size of the adversary's set, if it is a proper subset."""
        return next((w.size for w in self.participants if isinstance(w, Arbitrary) and not self.is_everyone(w)), None)
