"""Comparison of a kernel theorem with an algorithm's rounds. The rounds are read off the algorithm that the engine
runs, and the subject of the theorem is read off the theorem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..claims import readings
from .kernel.forms import COHORT, END, Value
from .kernel.round_rules import ARBITRARY, UNIFORM
from .kernel.server_rounds import SERVER
from .kernel.theorems import Theorem, entry_binders

if TYPE_CHECKING:
    from ..algorithms import Algorithm
    from ..algorithms.algorithm import Kind
    from ..claims.statement import Claim
    from ..participation import Participation

WEIGHTED, BY_SHARES = "weighted", "by shares"
"""Rounds that add the clients' updates with weights, and those that average models by the clients' shares in F."""

LAWS: Mapping[str, tuple[tuple[str, str], str]] = {
    "random_kinds": ((UNIFORM, ARBITRARY), "snapshot_probability"),
    "random_client_rounds": ((ARBITRARY, SERVER), "client_round_probability"),
}
"""Table from an assumption to the two kinds of round that a theorem mixes, and the quantity that is the first one's
probability."""

_ENDS = {"full_participation": {readings.EVERYONE}, "independent_draws": {readings.BY_WEIGHT, readings.UNIFORMLY}}
"""Table from an assumption to the ways in which the clients' last iterates make a round's end."""

OF_EQUAL_WEIGHTS = frozenset({"equal_weights", "uniform_cohorts"})
"""Assumptions under which F is the plain mean of the clients' functions."""

_OF_SGD = frozenset({"local_lr", "local_steps", "clients"})
_OF_KIND = {
    UNIFORM: _OF_SGD | {"size", "share", "cohort", "probability"}, ARBITRARY: _OF_SGD | {"size", "arbitrary_cohort"},
    SERVER: frozenset({"server_lr", "clients"}), WEIGHTED: _OF_SGD | {"weighted_lr", "error", "scale", "least_weight"},
    BY_SHARES: _OF_SGD,
}  # fmt: skip
"""Parameters of a theorem that rounds of a kind have."""


@dataclass(frozen=True)
class Rounds:
    """Rounds of an algorithm, as far as the kernel has words for them.

    Attributes:
        kinds: one kind, or two, the first of which comes with a probability.
        chance: the quantity that is this probability, or "".
        ends: options of ``readings.WHO``: where x+ is the mean of all clients' last iterates by their weights in F, if
            as many take part as there are, or of clients drawn so that this is its mean.
        plain_mean: whether F is the plain mean of the clients' functions.
        sets: whether no client takes part twice in a round; for uniform cohorts a reading says it.
        by_intervals: whether the weights are means of the lengths of participation intervals.
        by_rule: whether steps have sizes by a rule.
        of_one_size: whether as many clients take part in every round that clients make; else there may be nobody.
    """

    kinds: tuple[str, ...]
    chance: str = ""
    ends: frozenset[str] = frozenset()
    plain_mean: bool = True
    sets: bool = True
    by_intervals: bool = False
    by_rule: bool = False
    of_one_size: bool = True

    @property
    def parameters(self) -> frozenset[str]:
        """Parameters that a theorem on these rounds may have."""
        own = frozenset[str]().union(*(_OF_KIND[kind] for kind in self.kinds))
        own |= {"client_round_probability"} if self.chance == "client_round_probability" else set()
        return own | ({"share"} if self.ends & {readings.BY_WEIGHT, readings.UNIFORMLY} else set())


def read_rounds(algorithm: Algorithm, participation: Participation) -> Rounds:
    """Read the rounds of an algorithm that the engine runs, with the clients that this participation process brings.

    Raises:
        ValueError: a kind of round has something of which the kernel's axioms say nothing.

    >>> from fedtheory.algorithms import fast, fedprox
    >>> from fedtheory.participation import Fixed
    >>> read_rounds(fast(cohort=2, snapshot_period=2, local_lr="1/100"), Fixed([0])).kinds
    ('uniform', 'arbitrary')
    >>> read_rounds(fedprox(local_lr="1/100", proximal=1), Fixed([0]))
    Traceback (most recent call last):
    ValueError: EveryRound: the kernel has no words for rounds with a proximal term
    """
    from ..algorithms import FedAUWeights
    from ..participation import Multinomial, Uniform

    weighed = getattr(algorithm, "weighed", None)
    weights = algorithm.objective_weight(2 if weighed is None else len(weighed))
    plain_mean, found = len({*weights}) == 1, [_kind(algorithm, kind, weights) for kind in _taken(algorithm)]
    kinds = tuple(dict.fromkeys(found))
    if algorithm.adaptive:
        raise ValueError(f"{type(algorithm).__name__}: the kernel has no words for kinds that depend on the run")
    laws = (chance for pair, chance in LAWS.values() if pair == kinds and chance in algorithm.quantities())
    if not (chance := next(laws, "")) and len(kinds) > 1:
        raise ValueError(f"{type(algorithm).__name__}: the kernel has no words for how {' and '.join(kinds)} alternate")
    twice, ends = _draws_twice(participation), set()
    of_clients = kinds in ((ARBITRARY,), (ARBITRARY, SERVER))
    if not twice and (kinds == (BY_SHARES,) or (of_clients and plain_mean)):
        ends.add(readings.EVERYONE)
    if kinds == (ARBITRARY,) and isinstance(participation, Multinomial) and _same(participation, weights):
        ends.add(readings.BY_WEIGHT)
    if kinds == (ARBITRARY,) and isinstance(participation, Uniform) and plain_mean and not twice:
        ends.add(readings.UNIFORMLY)
    by_intervals = all(type(getattr(kind, "aggregation", None)) is FedAUWeights for kind in _taken(algorithm))
    by_rule, sized = any(kind.by_rule for kind in _taken(algorithm)), _has_one_size(participation)
    return Rounds(kinds, chance, frozenset(ends), plain_mean, not twice, by_intervals, by_rule, sized)


def _has_one_size(participation: Participation) -> bool:
    try:
        return participation.cohort > 0
    except ValueError:
        return False


def _taken(algorithm: Algorithm) -> tuple[Kind, ...]:
    """The kinds of round that there are."""
    both = algorithm.adaptive or 0 < algorithm.share < 1
    return algorithm.kinds if both else (algorithm.kinds[0 if algorithm.share else 1],)


def _draws_twice(part: Any) -> bool:
    """Whether a process, or one that it is made of, may draw a client twice in a round."""
    from ..participation import Multinomial, Participation, Uniform

    own = isinstance(part, Multinomial) or (isinstance(part, Uniform) and part.replacement)
    inside = part if isinstance(part, tuple | list) else vars(part).values() if isinstance(part, Participation) else ()
    return own or any(map(_draws_twice, inside))


def _same(participation: Participation, weights: tuple[Fraction, ...]) -> bool:
    drawn = [Fraction(p) for p in participation.probabilities]  # type: ignore[attr-defined]
    return [p * sum(weights) for p in drawn] == [p * sum(drawn) for p in weights]


def _kind(algorithm: Algorithm, kind: Kind, weights: tuple[Fraction, ...]) -> str:
    """The kernel's word for a kind of round."""
    from ..algorithms import Constant, FedAUWeights, GivenWeights, Known, Plain
    from ..algorithms.aggregation import ObjectiveShares
    from ..algorithms.algorithm import PARTICIPANTS_MEAN, PLAIN, ClientRound, ServerRound
    from ..federations.local_training import PLAIN_SGD

    if isinstance(kind, ServerRound) and kind.steps == 1:
        return SERVER
    lacks = "of one's own"
    if isinstance(kind, ClientRound):
        own, uniform = kind.aggregation, kind.uniform is not None
        if kind.plain:
            return UNIFORM if uniform else ARBITRARY
        lacks = f"that end by {type(own).__name__} and {kind.server}"
        if not kind.trains_alike:
            lacks = "in which clients make different numbers of steps"
        elif kind.proximal != 0:
            lacks = "with a proximal term"
        elif kind.local_solver != PLAIN_SGD:
            lacks = f"of {kind.local_solver}"
        elif kind.selection is not None:
            lacks = f"of {type(kind.selection).__name__}"
        elif not uniform and type(own) is ObjectiveShares and (own.objective_weight, kind.server) == (weights, PLAIN):
            return BY_SHARES
        elif not uniform and type(own) in (Constant, GivenWeights, Known, FedAUWeights) and type(kind.server) is Plain:
            return WEIGHTED
        elif own == PARTICIPANTS_MEAN and kind.server != PLAIN:
            lacks = f"that end by {kind.server}"
    raise ValueError(f"{type(algorithm).__name__}: the kernel has no words for rounds {lacks}")


def built_in(claim: Claim, algorithm: str) -> Rounds:
    """Return the rounds of FAST and SAFARI, whatever the claim.

    Raises:
        ValueError: of others, which a paper has to tell.

    >>> from fedtheory.papers import claim
    >>> built_in(claim("safari.thm5"), "safari").chance
    'client_round_probability'
    """
    from ..subjects.run_subject import PARTS, runs_as

    if algorithm not in PARTS:
        raise ValueError(f"{algorithm or 'no algorithm'}: nothing says what its rounds are")
    return read_rounds(*runs_as(PARTS[algorithm]))


# What a theorem is about --------------------------------------------------------------------------------------------


def kinds_of(theorem: Theorem) -> tuple[str, ...]:
    """Return the kinds of round whose ends a theorem is about, or none if it is about paths or points alone."""
    names = {name for name, _ in theorem.assumptions}
    if theorem.context == "kind":
        return (theorem.kind,)
    weighted = (WEIGHTED,) if "weighted_lr" in dict(theorem.parameters) else ()
    return next((kinds for law, (kinds, _) in LAWS.items() if law in names), weighted)


def is_of_an_end(theorem: Theorem) -> bool:
    """Whether a theorem speaks of a cohort, or of where a round ends; else it is of clients' paths, or of the start."""
    entries = [e for e in theorem.form.entries if not isinstance(e, str)]
    atoms = {term.atom for term in theorem.form.terms} | {e.point for e in entries if isinstance(e, Value)}
    return any("S" in entry_binders(e) for e in entries) or any(atom.stage in (COHORT, END) for atom in atoms)


def strange(theorem: Theorem, rounds: Rounds) -> Iterator[str]:
    """List in words the parts of a theorem that do not belong to these rounds.

    >>> from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex
    >>> list(strange(nonconvex(), Rounds(("uniform", "arbitrary"), "snapshot_probability")))
    []
    >>> next(strange(nonconvex(), Rounds(("arbitrary", "server"), "client_round_probability")))
    'it is about uniform and arbitrary rounds, and these are arbitrary and server'
    """
    kinds, names = kinds_of(theorem), {name for name, _ in theorem.assumptions}
    own = f"these are {' and '.join(rounds.kinds)}"
    if theorem.context == "kind" and theorem.kind not in rounds.kinds:
        yield f"it is about {theorem.kind} rounds, and {own}"
    elif theorem.context != "kind" and kinds and kinds != rounds.kinds:
        yield f"it is about {' and '.join(kinds)} rounds, and {own}"
    laws = [law for law, (_, chance) in LAWS.items() if law in names and chance != rounds.chance]
    yield from (f"it has {law}, and these are of a kind by {rounds.chance or 'nothing'}" for law in laws)
    ends = [end for end, options in _ENDS.items() if end in names and not options & rounds.ends]
    yield from (f"it has {end}, and these end otherwise" for end in ends)
    if not rounds.of_one_size and ARBITRARY in kinds:
        yield "it is about as many clients in every round, and here nobody may take part"
    if foreign := {name for name, _ in theorem.parameters} - rounds.parameters:
        yield f"it has {', '.join(sorted(foreign))}, and {own}"
    if not rounds.plain_mean and (unequal := sorted(names & OF_EQUAL_WEIGHTS)):
        yield f"it has {', '.join(unequal)}, and here clients weigh differently"
    if "cohort_is_a_set" in names and kinds != (UNIFORM,) and not rounds.sets:
        yield "it has cohort_is_a_set, and here a client may be drawn twice"
