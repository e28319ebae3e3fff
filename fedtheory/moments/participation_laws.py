"""Laws of who takes part in a round, as exact moments need them.

Three families of random numbers, one for each client, are all with which the algorithms weigh their clients:

    count    N_i, how often client i is drawn,
    share    N_i / sum_j N_j, and 0 where nobody is drawn,
    present  1 if N_i > 0, else 0.

Where nobody is drawn twice, N_i^2 = N_i, and every moment of first and second order is an entry of one of

    J_k = E[N_i N_j / |N|^k],  |N| = sum_j N_j,  k = 0, 1, 2  (0 where |N| = 0).

Identical clients come back from a round with the same mean, and differ by their noises alone: it matters how many take
part, not who (``averaged_noise``).

Participants with a memory are a finite Markov chain s_0, s_1, ..., whose state says who takes part in the round. It is
followed together with the lifted state z of the algorithm (see ``linear_rounds``). With
Z_s(r) = E[z_r z_r^T 1(s_r = s)],

    Z_t(r + 1) = sum_s P(s -> t) (what a round with the participants of s makes of Z_s(r)),

and E z_r z_r^T is the sum over s. The sizes multiply: these are exact numbers of small federations.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, comb, floor, lcm, prod
from typing import NamedTuple

import numpy as np

from ..algorithms.algorithm import ClientRound
from ..algorithms.cohort_rules import NaiveSelection
from ..federations.quadratic import Quadratic
from ..participation import (
    AnySize,
    Bernoulli,
    Cyclic,
    DayNightGroups,
    Fixed,
    Incomplete,
    Markov,
    Multinomial,
    Participation,
    Phases,
    PoissonGroups,
    Recorded,
    Uniform,
)
from ..participation.groups import GroupAvailability
from .linear_rounds import check_size

COUNT, SHARE, PRESENT = FAMILIES = ("count", "share", "present")


class FloatsOnly(ValueError):
    """Error of a process that knows its probabilities in floats only, where Fractions are asked for."""


class Draws(ABC):
    """The moments of one round's draws; arrays of Fractions (dtype object) or floats."""

    @abstractmethod
    def first(self, family: str) -> np.ndarray:
        """Return E[u_i], (clients,)."""

    @abstractmethod
    def second(self, one: str, other: str) -> np.ndarray:
        """Return E[u_i v_j], (clients, clients), with u of the family ``one`` and v of the family ``other``."""

    def somebody(self) -> object:
        """Return the probability that anybody takes part."""
        return 1


class AtMostOnce(Draws):
    """Draws in which nobody is drawn twice; a subclass gives the J_k."""

    @abstractmethod
    def joint(self, power: int) -> np.ndarray:
        """Return J_k with k = ``power``, (clients, clients)."""

    def first(self, family: str) -> np.ndarray:
        return np.diagonal(self.joint(int(family == SHARE)))

    def second(self, one: str, other: str) -> np.ndarray:
        return self.joint((one, other).count(SHARE))


@dataclass(frozen=True)
class OneSize(AtMostOnce):
    """Cohorts of the same size in every round: J_k = J_0 / cohort^k."""

    pairs: np.ndarray
    cohort: int
    _joint: dict[int, np.ndarray] = field(default_factory=dict, init=False, compare=False, repr=False)

    def joint(self, power: int) -> np.ndarray:
        if power not in self._joint:
            self._joint[power] = self.pairs / self.cohort**power if self.cohort else self.pairs.copy()
            self._joint[power].flags.writeable = False
        return self._joint[power]

    def somebody(self) -> int:
        return int(self.cohort > 0)


@dataclass(frozen=True)
class IndependentGroups(AtMostOnce):
    """A_k participants of group k, independent between groups and uniformly chosen within; independent clients are
    groups of one.

    For i in group k of s_k clients, and j != i in group l,

        E[N_i / |N|^p] = E[A_k |A|^-p] / s_k,
        E[N_i N_j / |N|^p] = E[A_k A_l |A|^-p] / (s_k s_l),  or  E[A_k (A_k - 1) |A|^-p] / (s_k (s_k - 1)) if l = k,

    by convolution of the groups' laws. Only products and sums of numbers >= 0 occur, so floats keep their digits.

    Attributes:
        groups: each client's group.
        laws: for each group, P(A_k = a), a = 0, 1, ...
    """

    groups: Sequence[int]
    laws: Sequence[np.ndarray]
    _joint: dict[int, np.ndarray] = field(default_factory=dict, init=False, compare=False, repr=False)

    def joint(self, power: int) -> np.ndarray:
        if power not in self._joint:
            self._joint[power] = self._of_clients(*self._expectations(power))
            self._joint[power].flags.writeable = False
        return self._joint[power]

    def somebody(self) -> object:
        return 1 - np.prod([law[0] for law in self.laws])

    def _of_clients(self, alone: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        groups = np.array(self.groups)
        sizes = np.bincount(groups)
        between = pairs[np.ix_(groups, groups)] / np.outer(sizes, sizes)[np.ix_(groups, groups)]
        within = np.diagonal(pairs) / np.maximum(sizes * (sizes - 1), 1)  # a group of one client has no pairs
        same = groups[:, None] == groups
        between[same] = np.broadcast_to(within[groups][:, None], same.shape)[same]
        np.fill_diagonal(between, alone[groups] / sizes[groups])
        return between

    def _expectations(self, power: int) -> tuple[np.ndarray, np.ndarray]:
        """E[A_k |A|^-p], (groups,), and E[A_k A_l |A|^-p], (groups, groups), with A_k (A_k - 1) on the diagonal."""
        total = sum(len(law) - 1 for law in self.laws)
        values = np.array([Fraction(1, n**power) if n else Fraction(0) for n in range(total + 1)])
        if self.laws[0].dtype != object:
            return _convolved(values.astype(float), self.laws)
        (values, scale), *parts = map(_in_whole_numbers, (values, *self.laws))
        unit = Fraction(1, scale * prod(denominator for _, denominator in parts))
        alone, pairs = _convolved(values, [law for law, _ in parts])
        return alone * unit, pairs * unit


def _in_whole_numbers(numbers: np.ndarray) -> tuple[np.ndarray, int]:
    """Fractions as whole numbers over one denominator, which are convolved without being reduced each time."""
    denominator = lcm(*(each.denominator for each in numbers))
    return np.array([int(each * denominator) for each in numbers], dtype=object), denominator


def _convolved(values: np.ndarray, laws: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """E[A_k v(|A|)], (groups,), and E[A_k A_l v(|A|)], (groups, groups), with A_k (A_k - 1) on the diagonal."""
    count, kind = len(laws), values.dtype
    alone, pairs = np.empty(count, dtype=kind), np.empty((count, count), dtype=kind)
    drawn = [law * np.arange(len(law)) for law in laws]
    after = [values]  # at n: the expectation of ``values`` at n plus what the groups still to come bring
    for law in reversed(laws):
        after.append(np.convolve(after[-1], law[::-1], "valid"))
    after.reverse()
    last = [np.convolve(still, own[::-1], "valid") for still, own in zip(after[1:], drawn, strict=True)]
    before = np.ones(1, dtype=int).astype(kind)  # the law of how many the groups so far bring
    for k in range(count):
        through = np.convolve(before, drawn[k])
        alone[k] = through @ after[k + 1]
        pairs[k, k] = np.convolve(before, drawn[k] * (np.arange(len(drawn[k])) - 1)) @ after[k + 1]
        for j in range(k + 1, count):
            pairs[k, j] = pairs[j, k] = through @ last[j]
            through = np.convolve(through, laws[j])
        before = np.convolve(before, laws[k])
    return alone, pairs


@dataclass(frozen=True)
class WithReplacement(Draws):
    """``cohort`` independent draws of client i with probability p_i. For i != j, with a_i = (1 - p_i)^S,

    E[N_i N_j] = S (S - 1) p_i p_j,  E[N_i 1(N_j > 0)] = S p_i (1 - (1 - p_j)^(S - 1)),
    P(N_i > 0) = 1 - a_i,  P(N_i > 0, N_j > 0) = 1 - a_i - a_j + (1 - p_i - p_j)^S.

    Attributes:
        probabilities: p, Fractions.
    """

    probabilities: tuple[Fraction, ...]
    cohort: int

    @property
    def _p(self) -> np.ndarray:
        return np.array(self.probabilities, dtype=object)

    def first(self, family: str) -> np.ndarray:
        p = self._p
        return {COUNT: self.cohort * p, SHARE: p, PRESENT: 1 - (1 - p) ** self.cohort}[family]

    def second(self, one: str, other: str) -> np.ndarray:
        p, S = self._p, self.cohort
        if one == other == PRESENT:
            missed = (1 - p) ** S
            second = 1 - missed[:, None] - missed + (1 - p[:, None] - p) ** S
            own = 1 - missed
        elif PRESENT in (one, other):
            second, own = np.outer(S * p, 1 - (1 - p) ** (S - 1)), S * p
            second = second if other == PRESENT else second.T
        else:
            second, own = S * (S - 1) * np.outer(p, p), S * (S - 1) * p * p + S * p
        second[range(len(p)), range(len(p))] = own
        return second / Fraction(S ** (one, other).count(SHARE))


@dataclass(frozen=True)
class Embedded(Draws):
    """Draws of ``inner``, whose clients are the ``present`` ones of more clients; the others are never drawn."""

    inner: Draws
    present: Sequence[int]
    clients: int

    def first(self, family: str) -> np.ndarray:
        inner = self.inner.first(family)
        full = np.full(self.clients, inner[0] * 0, dtype=inner.dtype)
        full[list(self.present)] = inner
        return full

    def second(self, one: str, other: str) -> np.ndarray:
        inner = self.inner.second(one, other)
        full = np.full((self.clients, self.clients), inner[0, 0] * 0, dtype=inner.dtype)
        full[np.ix_(self.present, self.present)] = inner
        return full

    def somebody(self) -> object:
        return self.inner.somebody()


def draws_of_set(members: Sequence[int], clients: int, exact: bool = True) -> Draws:
    """Return the draws in which ``members`` take part for certain; there may be none. In Fractions if ``exact``.

    >>> draws_of_set([0, 2], 3).first("share").tolist()
    [Fraction(1, 2), Fraction(0, 1), Fraction(1, 2)]
    """
    none, one = (Fraction(0), Fraction(1)) if exact else (0.0, 1.0)
    present = sorted(members)
    pairs = np.full((len(present) or clients,) * 2, one if present else none)
    inner = OneSize(pairs, len(present))
    return Embedded(inner, present, clients) if 0 < len(present) < clients else inner


def draws_of(process: Participation, clients: int, exact: bool = False) -> Draws:
    """Compute the moments of a round of ``process``, the same in every round; in Fractions if ``exact``.

    Raises:
        ValueError: the rounds' moments are not the same or not independent of the past; Fractions are asked for and
            the process knows floats only; or its rounds differ in size and the law of the size is not known.

    >>> from fedtheory.participation import Bernoulli
    >>> draws_of(Bernoulli(["1/2", "1/3"]), 2, exact=True).first("share").tolist()  # 1/2 2/3 + 1/6 1/2, ...
    [Fraction(5, 12), Fraction(1, 4)]
    """
    if type(process) in (Uniform, Fixed):
        return _plain_draws(process, clients, exact)
    if isinstance(process, Incomplete):
        process.check(clients)
        present = [i for i in range(clients) if i not in process.absent]
        return Embedded(draws_of(process.process, len(present), exact), present, clients)
    return _draws_by_law(process, clients, exact)


@lru_cache(maxsize=1024)
def _plain_draws(process: Uniform | Fixed, clients: int, exact: bool) -> Draws:
    """Return the draws that nearly every setting asks for; they are kept."""
    process.check(clients)
    if isinstance(process, Fixed):
        return draws_of_set(process.members, clients, exact)
    found = _draws_by_law(process, clients, exact)
    if isinstance(found, OneSize):
        found.pairs.flags.writeable = False
    return found


def _draws_by_law(process: Participation, clients: int, exact: bool) -> Draws:
    inclusion = process.inclusion(clients)
    if exact and inclusion.first.dtype != object:
        raise FloatsOnly(f"{type(process).__name__} knows its inclusion probabilities in floating point only")
    match process:
        case Uniform(replacement=True):
            return WithReplacement((Fraction(1, clients),) * clients, process.cohort)
        case Multinomial():
            return WithReplacement(tuple(process.probabilities), process.cohort)
        case Bernoulli():
            laws = [np.array([1 - p, p], dtype=object) for p in process.probabilities]
            return IndependentGroups(range(clients), [law if exact else law.astype(float) for law in laws])
        case GroupAvailability():
            laws = [law[: size + 1] for law, size in zip(process.chances(0), process.group_sizes, strict=True)]
            return IndependentGroups(process.groups, laws)
        case AnySize() if (inclusion.second == np.outer(inclusion.first, inclusion.first)).all() and set(
            inclusion.first
        ) <= {0, 1}:
            return draws_of_set(np.flatnonzero(inclusion.first).tolist(), clients)
        case AnySize():
            raise ValueError(
                f"participation = {type(process).__name__}: the law of its rounds' size is not known; allowed are "
                "rounds of one size, Bernoulli, groups and processes with a memory"
            )
    return OneSize((inclusion if exact else inclusion.as_floats()).second, process.cohort)


def answering(selection: NaiveSelection, process: Participation, clients: int, exact: bool = False) -> Draws:
    """Return the moments of the participants where the server takes r_j = min(p_j k, a_j) of the a_j clients of group
    j.

    ``process`` makes the a_j clients available. The server chooses uniformly within a group, independently between
    groups.

    Raises:
        ValueError: the budget k changes; the process is not one under which the available clients of each group are
            independent of other groups and exchangeable; or Fractions are asked for and it knows floats only.
    """
    if len(selection.budget) > 1:
        raise ValueError(f"budget = {[str(k) for k in selection.budget]}: allowed is one number for all rounds here")
    process.check(clients)
    rates = [p * selection.budget[0] for p in selection.group_weight]
    available = _availability(process, selection.groups)
    laws = [_answers(available[j], rates[j], selection.answers) for j in range(len(rates)) if len(available[j]) > 1]
    if exact and any(law.dtype != object for law in laws):
        raise FloatsOnly(f"{type(process).__name__} knows its inclusion probabilities in floating point only")
    members = process.members if isinstance(process, Fixed) else range(clients)
    here = sorted(members)
    there = {j: place for place, j in enumerate(j for j in range(len(rates)) if len(available[j]) > 1)}
    groups = [there[selection.groups[i]] for i in here]
    return Embedded(IndependentGroups(groups, laws if exact else [law.astype(float) for law in laws]), here, clients)


def _availability(process: Participation, groups: Sequence[int]) -> list[np.ndarray]:
    """P(A_j = a), a = 0, 1, ..., of each group."""
    labels = range(max(groups) + 1)
    match process:
        case Fixed(members=members):
            sizes = [sum(groups[i] == j for i in members) for j in labels]
            return [np.array([Fraction(0)] * size + [Fraction(1)], dtype=object) for size in sizes]
        case Bernoulli(probabilities=p):
            each = [[p_i for p_i, group in zip(p, groups, strict=True) if group == j] for j in labels]
            if all(len(set(own)) == 1 for own in each):
                return [_binomial(len(own), own[0]) for own in each]
        case GroupAvailability() if tuple(process.groups) == tuple(groups):
            process.inclusion(len(groups))  # refuses rounds of different laws
            return [law[: size + 1] for law, size in zip(process.chances(0), process.group_sizes, strict=True)]
    raise ValueError(
        f"participation = {type(process).__name__}: allowed with a selection are Fixed, Bernoulli with one probability "
        "in each of the selection's groups, and availability of the same groups"
    )


def _answers(available: np.ndarray, rate: Fraction, how: str) -> np.ndarray:
    """The law of how many of A clients take part at the rate min(rate, A)."""
    law = available * 0
    for number, chance in enumerate(available):
        r = min(rate, Fraction(number))
        if how == "independent":
            own = _binomial(number, r / max(number, 1))
        else:
            own = np.full(number + 1, Fraction(0), dtype=object)
            own[floor(r)] += 1 - r + floor(r)
            own[ceil(r)] += r - floor(r)
        law[: number + 1] = law[: number + 1] + chance * own.astype(law.dtype)
    return law


def _binomial(number: int, p: Fraction) -> np.ndarray:
    return np.array([comb(number, n) * p**n * (1 - p) ** (number - n) for n in range(number + 1)], dtype=object)


def averaged_noise(fed: Quadratic, kind: ClientRound, process: Participation) -> Fraction | None:
    """Return E sum_i w_i^2 of the clients that take part in a round of this kind; ``None`` where they do not act as
    one.

    Their mean, with weights w_i that add up to 1, is one client's model, of whose noise's variance this share is left
    where noises are independent: 1/n for n participants, each counted once. The setting's participants are those of
    ``process``. The clients act as one if they are several identical ones, their models are averaged, and a fixed set
    or a uniform cohort takes part.

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


class Changes(NamedTuple):
    """Processes one after another, each for its number of rounds: the last for ever, or all of them in a cycle.

    Attributes:
        ends: whether there are no rounds after the last one, so that "for ever" is not asked.
    """

    processes: tuple[Participation, ...]
    lengths: tuple[int, ...]
    cyclic: bool
    ends: bool = False

    def place(self, round: int) -> int:
        """Return the index of the process that brings the participants of a round."""
        left = round % sum(self.lengths) if self.cyclic else round
        for place, length in enumerate(self.lengths[:-1]):
            if left < length:
                return place
            left -= length
        return len(self.lengths) - 1


def phases_of(process: Participation) -> Changes | None:
    """Return the phases of a process whose rounds differ in law; ``None`` where they do not.

    A record that ends has a last phase without end; that it ends is for the caller to see.
    """
    match process:
        case Phases():
            return _changes(process)
        case DayNightGroups():
            rates = [getattr(process, name) for name in ("day", "night")]
            laws = tuple(PoissonGroups(process.groups, r) for r in rates)
            return Changes(laws if process.first == "day" else laws[::-1], (1, 1), True)
        case Recorded():
            sets = [tuple(np.flatnonzero(row).tolist()) for row in process.mask]
            sets += [()] if process.after == "absent" else []
            runs = [(members, len(list(rounds))) for members, rounds in itertools.groupby(sets)]
            same = [Fixed(members) if members else _nobody(process.mask.shape[1]) for members, _ in runs]
            lengths = tuple(length for _, length in runs)
            return Changes(tuple(same), lengths, process.after == "repeat", process.after == "refuse")
        case Incomplete():
            inner = phases_of(process.process)
            if inner is None:
                return None
            return inner._replace(processes=tuple(Incomplete(each, process.absent) for each in inner.processes))
    return None


@lru_cache(maxsize=256)
def _changes(process: Phases) -> Changes:
    """Return the phases of one process, which a setting is asked for again and again."""
    return Changes(tuple(Fixed(members) for members in process.sets), process.lengths, process.cyclic)


@cache
def _nobody(clients: int) -> Participation:
    return Bernoulli([0] * clients)


# Participants with a memory -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chain:
    """A Markov chain of participants; numbers are Fractions.

    Attributes:
        sets: who takes part in each state.
        initial: (states,), the law of s_0, which is stationary.
        transitions: (states, states), [s, t] = P(s -> t).
    """

    sets: tuple[tuple[int, ...], ...]
    initial: np.ndarray
    transitions: np.ndarray

    def draws(self, clients: int) -> list[Draws]:
        """Return the draws of the participants in each state of the chain."""
        return [draws_of_set(members, clients) for members in self.sets]

    def operator(self, of_state: Sequence[np.ndarray]) -> np.ndarray:
        """Return the operator on (Z_s)_s from those of a round in each state, (*blocks, states * size, states *
        size)."""
        if len(of_state) == 1:
            return of_state[0]
        transitions = self.transitions.astype(of_state[0].dtype)
        return np.block([[p * of for p, of in zip(column, of_state, strict=True)] for column in transitions.T])

    def spread(self, start: np.ndarray) -> np.ndarray:
        """Spread a start that does not depend on the chain over the chain's initial states, (*blocks, states *
        size)."""
        each = self.initial.astype(start.dtype)[:, None] * start[..., None, :]
        return each.reshape(*start.shape[:-1], -1)

    def summed(self, weight: np.ndarray) -> np.ndarray:
        """Return the row vector on (Z_s)_s that stands for ``weight`` on their sum."""
        return np.concatenate([weight] * len(self.sets), axis=-1)


ALONE = Chain(((),), np.array([Fraction(1)], dtype=object), np.array([[Fraction(1)]], dtype=object))
"""The chain of participants whose rounds are independent: one state, of whose set nobody asks."""


@dataclass(frozen=True)
class _Client:
    """One client's chain: its initial law, its transitions, and in which states it takes part."""

    initial: list[Fraction]
    transitions: np.ndarray
    on: list[bool]


def chain_of(process: Participation, clients: int) -> Chain:
    """Return the chain of a process whose rounds depend on each other; ``ALONE`` where they do not.

    Raises:
        ValueError: the process has more than ``linear_rounds.LARGEST`` states, or none that are known.

    >>> from fedtheory.participation import Markov
    >>> chain = chain_of(Markov(["1/2", 1], ["1/4", 1]), 2)
    >>> chain.sets, chain.transitions[0].tolist()
    (((1,), (0, 1)), [Fraction(3, 4), Fraction(1, 4)])
    """
    if process.independent_rounds:
        return ALONE
    process.check(clients)
    alone = _clients(process, clients)
    states = prod(len(client.on) for client in alone)
    check_size(states, f"participation = {type(process).__name__} of {clients} clients", f"{states} joint states")
    sets = [
        tuple(i for i, on in enumerate(state) if on) for state in itertools.product(*(client.on for client in alone))
    ]
    initial, transitions = np.array([Fraction(1)], dtype=object), np.array([[Fraction(1)]], dtype=object)
    for client in alone:
        initial = np.kron(initial, np.array(client.initial, dtype=object))
        transitions = np.kron(transitions, client.transitions)
    return Chain(tuple(sets), initial, transitions)


def _clients(process: Participation, clients: int) -> list[_Client]:
    never = _Client([Fraction(1)], np.array([[Fraction(1)]], dtype=object), [False])
    match process:
        case Incomplete():
            here = iter(_clients(process.process, clients - len(process.absent)))
            return [never if i in process.absent else next(here) for i in range(clients)]
        case Markov():
            both = zip(process.probabilities, process.transitions(clients), strict=True)
            return [_two_states(p, transitions) for p, transitions in both]
        case Cyclic():
            return [_cycle(process.period, p * process.period) for p in process.law]
    raise ValueError(
        f"participation = {type(process).__name__}: its rounds depend on each other, in no way that an exact recursion "
        "follows; allowed are processes with independent rounds, Markov and Cyclic"
    )


def _two_states(p: Fraction, transitions: np.ndarray) -> _Client:
    if p in (0, 1):
        return _Client([Fraction(1)], np.array([[Fraction(1)]], dtype=object), [p == 1])
    return _Client([1 - p, p], transitions, [False, True])


def _cycle(period: int, mean: Fraction) -> _Client:
    """A place in the cycle for each length that the active part may have, the two whole numbers next to its mean; one
    state where it is all or nothing."""
    initial: list[Fraction] = []
    on: list[bool] = []
    successors: list[int] = []
    for active, weight in ((floor(mean), 1 - mean + floor(mean)), (floor(mean) + 1, mean - floor(mean))):
        if weight > 0:
            places = 1 if active in (0, period) else period
            successors += [len(on) + (place + 1) % places for place in range(places)]
            initial += [weight / places] * places
            on += [place < active for place in range(places)]
    transitions = np.full((len(on), len(on)), Fraction(0), dtype=object)
    transitions[range(len(on)), successors] = Fraction(1)
    return _Client(initial, transitions, on)
