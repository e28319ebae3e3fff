"""A round of a step whose participants are left open, as a combination of vectors.

The factors of the vectors are numbers of who takes part: of client i how often it does, N_i, its share
s_i = N_i / sum_j N_j, and 1_i = 1 if it does, else 0; and e = 1 if anybody does, else 0. Whoever takes part,

    1_i^2 = 1_i,  1_i s_i = s_i,  1_i N_i = N_i,  e^2 = e,  and e times any of client i's is the latter,

so products of these are among them, and others are refused. The step is called for one client and a crowd of all
others: on a crowd, what tells clients apart is refused, so any client in the place of the one moves as it does. What
``round.each`` gives a client is left open too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from ..algorithms.algorithm import OwnRound
from ..algorithms.custom_algorithm import CLIENTS, Outcomes
from .affine_numbers import Affine, NotLinear, Space
from .participation_laws import COUNT, PRESENT, SHARE
from .step_trace import DEVIATION, TRAINING, TracedRound, called

ONE, SOMEBODY = "one", "somebody"
RANKS = {ONE: 0, SOMEBODY: 1, PRESENT: 2, COUNT: 3, SHARE: 3}


ALL, OWN = -1, 0
"""Owners of a vector or a number: all, or one client."""


class Factor(NamedTuple):
    """A number of who takes part.

    Attributes:
        family: 1, e, or the family of a client's number.
        of: ``ALL`` of 1 and e alone, else the client.
        weighed: whether the client's value of ``round.each`` multiplies it.
    """

    family: str
    of: int = ALL
    weighed: bool = False

    def times(self, other: Factor) -> Factor:
        """Return the product.

        Raises:
            NotLinear: it is none of these numbers.
        """
        clients = {self.of, other.of} - {ALL}
        low, high = sorted((self, other), key=lambda each: RANKS[each.family])
        closed = RANKS[low.family] < RANKS[high.family] or RANKS[high.family] <= RANKS[PRESENT]
        if len(clients) > 1 or not closed or (self.weighed and other.weighed):
            raise NotLinear.in_("*, of two numbers of who takes part")
        return Factor(high.family, max(self.of, other.of), self.weighed or other.weighed)


class Open:
    """A sum of numbers of who takes part, each with a factor; it mixes with whole numbers and Fractions.

    >>> share, somebody = Open({Factor(SHARE, OWN): Fraction(1)}), Open({Factor(SOMEBODY): Fraction(1)})
    >>> [(factor.family, str(value)) for factor, value in (2 * somebody * (share - 1)).terms.items()]
    [('share', '2'), ('somebody', '-2')]
    """

    __slots__ = ("terms",)

    def __init__(self, terms: dict[Factor, Fraction]) -> None:
        self.terms = {factor: value for factor, value in terms.items() if value}

    @classmethod
    def of(cls, value: Any) -> Open:
        """Return a number as such a sum."""
        return value if isinstance(value, Open) else cls({Factor(ONE): Fraction(value)})

    def __add__(self, other: Any) -> Open:
        terms = dict(self.terms)
        for factor, value in Open.of(other).terms.items():
            terms[factor] = terms.get(factor, Fraction(0)) + value
        return Open(terms)

    def __mul__(self, other: Any) -> Open:
        if not isinstance(other, Open):
            return Open({factor: value * other for factor, value in self.terms.items()})
        total = Open({})
        for one, value in self.terms.items():
            for another, more in other.terms.items():
                total = total + Open({one.times(another): value * more})
        return total

    def __neg__(self) -> Open:
        return self * -1

    def __sub__(self, other: Any) -> Open:
        return self + -Open.of(other)

    def __rsub__(self, other: Any) -> Open:
        return Open.of(other) - self

    def __rtruediv__(self, other: Any) -> Open:
        raise NotLinear.in_("/, by a number of who takes part")

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        return self.terms == Open.of(other).terms

    __radd__, __rmul__ = __add__, __mul__
    __hash__ = None  # type: ignore[assignment]


class _OpenRound(TracedRound):
    """A round in which every client may take part, and whose answers are 0 where it does not."""

    def _take(self, counts: tuple[int, ...]) -> None:
        super()._take(counts)
        of = {family: self._each(family) for family in (COUNT, SHARE, PRESENT)}
        self.count, self.share, self.present = of[COUNT], of[SHARE], of[PRESENT]
        self.somebody = self.space.constant([[Open({Factor(SOMEBODY): Fraction(1)})]])

    def _each(self, family: str, weighed: bool = False) -> Affine:
        clients = range(len(self.counts))
        return self.space.constant([[[Open({Factor(family, i, weighed): Fraction(1)})] for i in clients]])

    def each(self, values: Sequence[Any]) -> Affine:
        return self._each(ONE, weighed=True)

    def train(self, start: Affine, local_lr: Any, local_steps: int = 1, proximal: Any = 0) -> Affine:
        return self.present * super().train(start, local_lr, local_steps, proximal)


class Part(NamedTuple):
    """Part of a round: coefficient times factor times vector, added to what is returned.

    Attributes:
        to: x, or something remembered, by its name, and of whom it is.
        vector: the same, from before the round; or ``TRAINING``: the client's delta_i.
        of_client: whether there is such a part for each client.
    """

    to: tuple[str, int]
    vector: tuple[str, int]
    factor: Factor
    coefficient: Fraction
    of_client: bool


@lru_cache(maxsize=512)
def parts_of(
    step: Callable[..., Any], memory: tuple[tuple[str, str], ...], numbers: tuple[tuple[str, Any], ...], clients: int
) -> tuple[Part, ...]:
    """Return what a round of this step adds to the model and to what is remembered, of all and of any one client.

    Args:
        numbers: beside those of a training; what is given to ``round.each`` does not matter.

    Raises:
        NotLinear: it is not affine, as far as it is followed, or tells clients apart; it is said where.

    >>> from fedtheory.algorithms.built_in_steps import fedavg
    >>> (part,) = parts_of(fedavg, (), (("global_lr", Fraction(3, 2)),), 20)
    >>> part.to, part.vector, part.factor.family, part.coefficient
    (('x', -1), ('training', 0), 'share', Fraction(3, 2))
    """
    training = (("local_lr", Fraction(1)), ("local_steps", Fraction(1)), ("proximal", Fraction(0)))
    kind, crowd = OwnRound(step, step.__name__, memory, (*training, *numbers)), (1, clients - 1) * (clients > 1)
    entries, many = range(len(crowd) or 1), {name for name, what in memory if what == CLIENTS}
    known = [("x", 0)]
    for name, _ in memory:
        known += [(name, i) for i in (entries if name in many else [0])]
        known += [(name, DEVIATION)] if crowd and name in many else []
    trace = called(
        kind, (1,) * len(entries), tuple(known), Space.of(len(known), 1, 1, False, crowd), 1, Outcomes(), _OpenRound
    )
    (question,) = trace.questions
    one = {(name, 0): (name, OWN if name in many else ALL) for name, _ in known} | {(TRAINING, 0): (TRAINING, OWN)}
    vectors = [one.get(each) for each in [*known, ("1", 0), *((question.of, i) for i in question.asked)]]
    found = []
    for name, of in trace.returned.items():
        to = one[name, 0]
        for vector, number in zip(vectors, of.factors[0, 0], strict=False):  # the last are deviations, 0 of one client
            for factor, value in (Open.of(number) - int(vector == to)).terms.items():
                if vector and factor.of in (ALL, OWN):
                    found.append(Part(to, vector, factor, value, OWN in (to[1], vector[1], factor.of)))
    return tuple(found)
