"""Algorithms of one's own, each given as one function that does a round."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, factorial
from typing import TYPE_CHECKING, Any

from ..arguments import check_has, check_kind
from ..code_digest import code_digest
from ..extras import torch
from ..own import ComputeError, place
from ..participation import Participation, Uniform
from ..quantities import OF_A_SETTING, QUANTITIES
from ..rationals import exact_number, option
from ..schedule import StepRule, at_round, step_size
from .aggregation import Memory
from .algorithm import Algorithm, OwnRound

if TYPE_CHECKING:
    from torch import Tensor

VECTOR, MODEL, CLIENTS = MEMORIES = ("vector", "model", "clients")
"""Kinds of memory: D numbers that are 0 before round 0, D numbers that are x_0 then, or D numbers for each client, 0
then."""


class StepError(ComputeError):
    """Error of a user's step that does not do what it has to; it says where."""


class Round(ABC):
    """One round as a user's step sees it. All values of clients are 0 for those who do not take part.

    Attributes:
        count: N_i, how often each client takes part, (replicas, clients, 1).
        share: N_i / sum_j N_j, and 0 where nobody does, of the same shape.
        present: 1 for who takes part, else 0, of the same shape.
        somebody: 1 if anybody does, else 0, (replicas, 1).
    """

    count: Any
    share: Any
    present: Any
    somebody: Any

    def __getattr__(self, name: str) -> Any:
        names = [each for each in (*Round.__annotations__, *vars(Round)) if not each.startswith("_")]
        raise AttributeError(f"round.{name}: allowed are {', '.join(names)}")

    @abstractmethod
    def cohort(self, size: int, where: Any = 1, replacement: bool = False) -> Round:
        """Draw so many of all clients uniformly, and return this round with them as its participants.

        Where ``where``, (replicas, 1) and as drawn by ``draw``, is 0, it has the participants that it has here.
        """

    @abstractmethod
    def each(self, values: Sequence[Any]) -> Any:
        """Numbers of the clients, one for each, that multiply what is theirs, (1, clients, 1)."""

    @abstractmethod
    def train(self, start: Any, local_lr: Any, local_steps: int = 1, proximal: Any = 0) -> Any:
        """Train locally from ``start``, (replicas, D) or one for each client, and return the ways x_{i,K} - x_{i,0}.

        They are (replicas, clients, D), by local SGD of the participants:

            x_{i,k+1} = x_{i,k} - local_lr (grad F_i(x_{i,k}) + noise + proximal (x_{i,k} - x_{i,0})).
        """

    @abstractmethod
    def gradient(self, x: Any) -> Any:
        """The participants' stochastic gradients at ``x``, (replicas, D) or one for each client; (replicas, clients,
        D). Each call draws noise afresh."""

    @abstractmethod
    def proximal(self, x: Any, weight: Any) -> Any:
        """The ways from ``x`` to the participants' proximal points, argmin_y F_i(y) + (weight/2) |y - x|^2.

        They are (replicas, clients, D), exact, with ``weight`` > 0; x is one point, or one for each client. Of
        ``Quadratic`` federations.
        """

    @abstractmethod
    def server_gradient(self, x: Any) -> Any:
        """The server's stochastic gradient of F at ``x``, (replicas, D). Each call draws noise afresh."""

    @abstractmethod
    def draw(self, probability: Any, clients: bool = False) -> Any:
        """Draw 1 with this probability, else 0, (replicas, 1); or of each client for itself, (replicas, clients, 1)."""

    @abstractmethod
    def permutation(self, number: int) -> Sequence[Any]:
        """Draw an order of the numbers 0, ..., number - 1, all orders being as likely.

        Returns the places in turn: each is (replicas, number, 1), 1 at the number that has this place, else 0. So
        ``(order[k] * values).sum(1)`` are the values, (replicas, number, D), of the k-th.
        """

    @abstractmethod
    def noise(self, size: Any, clients: bool = False) -> Any:
        """Draw a Gaussian vector with E|n|^2 = size^2, the same in all directions, (replicas, D); or one for each
        participant, (replicas, clients, D)."""


@dataclass(frozen=True)
class Own(Algorithm):
    """An algorithm that ``own`` makes."""

    round: OwnRound

    @property
    def name(self) -> str:
        """The name of the step."""
        return self.round.name

    @property
    def kinds(self) -> Any:
        """``OwnRound``, twice, since code that asks for kinds made of parts tells it apart first."""
        return self.round, self.round

    @property
    def share(self) -> Fraction:
        """The share of the first kind, 0: there is none."""
        return Fraction(0)

    def with_share(self, share: Fraction) -> Own:
        """Return this algorithm, since both kinds are one."""
        return self

    @property
    def plain(self) -> bool:
        """Whether rounds are plain: never, since what the step does is its own."""
        return False

    @property
    def numbers(self) -> dict[str, Any]:
        """The step's numbers by name, Fractions or rules."""
        return dict(self.round.numbers)

    def number(self, name: str) -> Any:
        return self.numbers.get(name)

    def with_numbers(self, **numbers: Any) -> Own:
        """Return this algorithm with other numbers for its step.

        Raises:
            ValueError: it has none of that name, or a value is out of bounds.
        """
        return replace(self, round=replace(self.round, numbers=_numbers(self.numbers | numbers)))

    def quantities(self) -> dict[str, float]:
        """The claims' quantities that the algorithm fixes: those of its numbers that are quantities."""
        known = {name: value for name, value in self.numbers.items() if name in QUANTITIES}
        fixed = {name: value for name, value in known.items() if not isinstance(value, StepRule | tuple)}
        return {name: int(value) if QUANTITIES[name].integer else float(value) for name, value in fixed.items()}

    def check(self, clients: int, participation: Participation) -> None:
        """Check nothing: nothing can be told before the step runs."""


def own(step: Callable[..., Any], *, memory: Mapping[str, str] | None = None, name: str = "", **numbers: Any) -> Own:
    """Make an algorithm of one's own: ``step(x, memory, round, **numbers)`` returns x and the memory after a round.

    In the engine x is a tensor (replicas, D), what is remembered has the same shape or (replicas, clients, D), and
    ``round`` is a ``Round``. A step keeps nothing but what it returns, and draws by ``round`` alone.

    Args:
        memory: by name, what is remembered: "vector", "model" or "clients", see ``MEMORIES``.
        name: what claims call the algorithm (``Claim(algorithm=...)``); by default the function's.
        numbers: what the step takes by name, each a number, several of them in a list, or a rule in ``round_index``
            (``local_lr`` also in ``step_index``). The step is given them as numbers, or tuples; ``local_lr`` by rule
            has one for each local step. Claims can speak of those that are quantities of the vocabulary, or of one's
            own (``fedtheory.own.define``); these have their bounds.

    Raises:
        ValueError: a memory of another kind, a number that is none, is out of bounds or has the name of what clients or
            runs have, or a step that does not take these arguments.

    >>> def averaging(x, memory, round, *, local_lr, local_steps):
    ...     return x + (round.share * round.train(x, local_lr, local_steps)).sum(1), {}
    >>> own(averaging, local_lr="1/10", local_steps=2).numbers
    {'local_lr': Fraction(1, 10), 'local_steps': Fraction(2, 1)}
    """
    check_has("step", step, ("__call__",), "a function of x, memory, round and numbers")
    where = place(step)
    check_kind("name", name, str, "a text")
    name = name or getattr(step, "__name__", "")
    if not name.isidentifier():
        raise ValueError(f"{where}: name = {name!r}: allowed is a name such as 'heavy_ball'")
    check_kind("memory", memory, (Mapping, type(None)), "a dict of kinds by name, such as {'controls': 'clients'}")
    kept = dict(memory or {})
    for key, kind in kept.items():
        option(f"{where}: memory[{key!r}]", kind, MEMORIES)
    try:
        inspect.signature(step).bind(None, None, None, **numbers)
    except (TypeError, ValueError) as error:  # what is no function, or tells nothing of its arguments
        listed = ", ".join(["x", "memory", "round", *(["*", *numbers] if numbers else [])])
        raise ValueError(f"{where}: algorithm {name}: {error}; allowed is a step({listed})") from None
    return Own(OwnRound(step, name, tuple(kept.items()), _numbers(numbers), digest=code_digest(step)))


def _numbers(numbers: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    checked: list[tuple[str, Any]] = []
    for name, value in numbers.items():
        if name in OF_A_SETTING:
            raise ValueError(
                f"{name} = {value!r}: clients, start or run say what it is; allowed is a number of another name"
            )
        if isinstance(value, list | tuple):
            checked.append((name, tuple(exact_number(f"{name}[{i}]", each) for i, each in enumerate(value))))
            continue
        size = step_size(name, value, within_rounds=name == "local_lr")
        if not isinstance(size, StepRule) and name in QUANTITIES:
            QUANTITIES[name].check(size)
        checked.append((name, size))
    return tuple(checked)


# Draws --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KnownCohort:
    """Cohort that a step is going to draw, where it is known beforehand.

    Attributes:
        counts: how often each client is in it; of a crowd, each client of an entry.
        probability: of it.
        ways: how many such cohorts there are.
    """

    counts: tuple[int, ...]
    probability: Fraction
    ways: int


class Outcomes:
    """One of all the ways in which a round's draws may come, one after another.

    Attributes:
        probability: of this way, so far.
        number: the most ways that there are, as far as is known so far: fewer where what was drawn says what else is.
        cohorts: those that are known beforehand, in the order in which they are drawn.
    """

    def __init__(self, begun: Sequence[int] = (), cohorts: Sequence[KnownCohort] = ()) -> None:
        self._begun, self._chosen, self._ways = list(begun), [], []  # type: ignore[var-annotated]
        self.probability, self.number = Fraction(1), 1
        self.cohorts, self._drawn = tuple(cohorts), 0

    def _one_of(self, chances: Sequence[Fraction]) -> int:
        """The number of what comes, of events with these chances, of which those with the chance 0 do not come."""
        possible = [i for i, chance in enumerate(chances) if chance > 0]
        found = possible[self.choose(len(possible))]
        self.probability *= chances[found]
        return found

    def choose(self, ways: int) -> int:
        """Return which of so many ways comes; its probability is the caller's to multiply."""
        place = self._begun[len(self._chosen)] if len(self._chosen) < len(self._begun) else 0
        self._chosen.append(place)
        self._ways.append(ways)
        self.number *= ways
        return place

    def cohort(self, clients: int, size: int, replacement: bool, asked: bool = True) -> tuple[int, ...] | None:
        """Return how often each client is in a uniform cohort; ``None``, of as many ways, where it is not ``asked``.

        >>> Outcomes([4]).cohort(4, 2, False), Outcomes([4]).cohort(4, 2, True)
        ((0, 1, 0, 1), (0, 1, 1, 0))
        """
        number = comb(clients + size - 1, size) if replacement else comb(clients, size)
        if not asked:
            self.number *= number
            return None
        if (known := self.known_cohort()) is not None:
            return known
        place, counts = self.choose(number), [0] * clients
        if replacement:  # of the counts, those with fewer of client i come first
            self.probability *= Fraction(factorial(size), clients**size)
            for i in range(clients):
                others = clients - i - 1
                while counts[i] < size and place >= (ways := comb(others + size - counts[i] - 1, size - counts[i])):
                    place, counts[i] = place - ways, counts[i] + 1
                self.probability /= factorial(counts[i])
                size -= counts[i]
            return tuple(counts)
        self.probability /= number
        for i in range(clients):  # of the sets, those with client i come first
            having = comb(clients - i - 1, size - 1) if size else 0
            counts[i] = int(place < having)
            place, size = (place, size - 1) if counts[i] else (place - having, size)
        return tuple(counts)

    def known_cohort(self) -> tuple[int, ...] | None:
        """Return how often each client is in the next cohort, if that is known beforehand."""
        if self._drawn == len(self.cohorts):
            return None
        known = self.cohorts[self._drawn]
        self._drawn += 1
        self.choose(known.ways)
        self.probability *= known.probability
        return known.counts

    def draws(self, chance: Fraction, asked: Sequence[bool]) -> list[int]:
        """Return 1 with this chance, else 0, of each that is ``asked``; 0 of the others."""
        return [self._one_of([1 - chance, chance]) if each else 0 for each in asked]

    def order(self, number: int) -> list[int]:
        """Return an order of 0, ..., number - 1."""
        left, found = list(range(number)), []
        while left:
            found.append(left.pop(self._one_of([Fraction(1, len(left))] * len(left))))
        return found

    def again(self, cohorts: Sequence[KnownCohort] = ()) -> Outcomes:
        """Return the same way, from its beginning, with cohorts that are known now."""
        return Outcomes(self._chosen + self._begun[len(self._chosen) :], cohorts)

    def next(self) -> Outcomes | None:
        """Return the next way; ``None`` after the last one."""
        chosen = list(self._chosen)
        while chosen and chosen[-1] + 1 == self._ways[len(chosen) - 1]:
            chosen.pop()
        return Outcomes([*chosen[:-1], chosen[-1] + 1]) if chosen else None


def check_each(values: Sequence[Any], clients: int) -> int:
    """Return the number of clients; raise ``ValueError`` unless there is one value for each."""
    if len(values) != clients:
        raise ValueError(f"{len(values)} values: allowed is one for each of {clients} clients")
    return clients


def check_point(value: Any, kind: type, shapes: Sequence[tuple[int, ...]], name: str = "a point") -> None:
    """Raise ``ValueError`` unless a value is of this kind and of one of these shapes."""
    if not isinstance(value, kind) or tuple(getattr(value, "shape", ())) not in shapes:
        raise ValueError(f"{name}: {_shown(value)}: allowed is the shape {' or '.join(map(str, shapes))}")


def check_cohort(size: Any, clients: int, replacement: bool) -> Uniform:
    """Return the process of a cohort; raise ``ValueError`` unless so many may be drawn of these clients."""
    if type(size) is not int or size < 1:
        raise ValueError(f"size = {_shown(size)}: allowed is a whole number from 1 on")
    process = Uniform(size, replacement)
    process.check(clients)
    return process


def check_where(value: Any) -> Any:
    """Return what is 1 where a cohort is drawn; raise ``ValueError`` unless it is 0 or 1."""
    if isinstance(value, int | float | Fraction) and value in (0, 1):
        return value
    raise ValueError(f"where = {_shown(value)}: allowed is 0 or 1, or what round.draw gives")


def checked_chance(value: Any) -> Any:
    """Return a probability; raise ``ValueError`` unless it is a number in [0, 1]."""
    if isinstance(value, int | float | Fraction) and 0 <= value <= 1:
        return value
    raise ValueError(f"probability = {_shown(value)}: allowed is a number in [0, 1]")


def checked_weight(value: Any) -> float:
    """Return the weight of a proximal step; raise ``ValueError`` unless it is a number > 0."""
    if isinstance(value, int | float | Fraction) and 0 < value < float("inf"):
        return float(value)
    raise ValueError(f"weight = {_shown(value)}: allowed is a number > 0")


def checked_size(value: Any) -> Any:
    """Return the size of noise; raise ``ValueError`` unless it is a number >= 0."""
    if isinstance(value, int | float | Fraction) and 0 <= value < float("inf"):
        return value
    raise ValueError(f"size = {_shown(value)}: allowed is a number >= 0")


# Rounds -------------------------------------------------------------------------------------------------------------


def numbers_at(kind: OwnRound, round: int | None, number: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the step's numbers in a round.

    Whole ones are ints, quantities' by what they are; others are made by ``number`` of a Fraction (or an irrational
    float).
    """

    def of_kind(name: str, value: Any) -> Any:
        whole = QUANTITIES[name].integer if name in QUANTITIES else isinstance(value, Fraction) and value == int(value)
        return int(value) if whole else number(value)

    found: dict[str, Any] = {}
    for name, value in kind.numbers:
        sized = at_round(value, round or 0, kind.local_steps) if isinstance(value, StepRule) else value
        found[name] = tuple(of_kind(name, each) for each in sized) if isinstance(sized, tuple) else of_kind(name, sized)
    return found


def initial_memory(kind: OwnRound, x: Tensor, clients: int) -> Memory:
    """Return the memory before round 0, for the iterates x (replicas, D)."""
    each = torch.zeros(len(x), clients, x.shape[1], dtype=x.dtype, device=x.device)
    made = {VECTOR: torch.zeros_like(x), MODEL: x.clone(), CLIENTS: each}
    return {name: made[what].clone() for name, what in kind.memory}


def taken(kind: OwnRound, x: Any, memory: Mapping[str, Any], round: Round, numbers: Mapping[str, Any]) -> tuple:
    """Check and return x and the memory that the step returns.

    Raises:
        StepError: it fails, or returns something else than x and the memory, of their shapes and names.
    """
    what = f"algorithm {kind.name}"
    try:
        answer = kind.step(x, dict(memory), round, **numbers)
    except StepError:
        raise
    except Exception as error:
        if isinstance(error, Refused):
            raise error.at(f"{place(kind.step, error)}: {what}") from None
        told = f"{place(kind.step, error)}: {what}: step fails: {type(error).__name__}: {error}"
        if isinstance(error, TypeError) and "'Tensor'" in told:
            told += "; allowed are no tensors of its own: round.each has numbers of clients, round.draw and noise draw"
        raise StepError(told) from None
    where = f"{place(kind.step)}: {what}: step"
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping)):
        raise StepError(f"{where} returns {_shown(answer)}: allowed are x and a dictionary of what is remembered")
    moved, kept = answer
    for names, does in ((set(memory) - set(kept), "forgets"), (set(kept) - set(memory), "remembers besides")):
        if names:
            allowed = ", ".join(memory) or "nothing"
            listed = ", ".join(sorted(map(str, names)))
            raise StepError(f"{where} {does} {listed}: allowed to be remembered is {allowed}")
    for name, new, old in (("x", moved, x), *((f"memory[{name!r}]", kept[name], memory[name]) for name in memory)):
        if type(new) is not type(old) or new.shape != old.shape or new.dtype != old.dtype:
            raise StepError(f"{where} returns {name} = {_shown(new)}: allowed is {_shown(old)}")
    return moved, {name: kept[name] for name in memory}


class Refused(ValueError):
    """Error of an operation of a step that is not followed; ``at`` says of whose step, and where."""

    def at(self, where: str) -> ValueError:
        """Return this error with the place where it happened in front."""
        return type(self)(f"{where} {self}")


def checked_numbers(name: str, value: Any) -> tuple[float, ...]:
    """Return a number, or several, in floats; raise ``ValueError`` unless they are numbers."""
    each = value if isinstance(value, tuple) else (value,)
    if all(isinstance(one, int | float | Fraction) for one in each):
        return tuple(map(float, each))
    raise ValueError(f"{name} = {_shown(value)}: allowed is a number, or one for each step")


def _shown(value: Any) -> str:
    """What a value is, in one line."""
    shape = getattr(value, "shape", None)
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if shape is None:
        return str(value) if isinstance(value, Fraction) else " ".join(repr(value)[:80].split())
    return f"{type(value).__name__} of shape {tuple(shape)} and kind {str(value.dtype).removeprefix('torch.')}"
