"""Assumptions of claims: every kind once, with its meaning.

An assumption of a kind with a ``quantity`` bounds the federation's own constant by that quantity. The others say how a
round's randomness hangs together, or what a learning problem is like; those on a round that a claim does not make, the
search may violate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """Kind of assumption.

    Attributes:
        name: its one name in code.
        meaning: one line.
        quantity: the quantity that bounds the federation's own constant, or "".
        from_below: whether it bounds it from below.
        implies: weaker kinds that hold with it.
        power: the power of the quantity in the kernel's axioms: 2 if they bound a square.
    """

    name: str
    meaning: str
    quantity: str = ""
    from_below: bool = False
    implies: tuple[str, ...] = ()
    power: int = 1


UNBIASED_NOISE, UNBIASED_SERVER_NOISE = "unbiased_noise", "unbiased_server_noise"
UNCORRELATED_NOISE, INDEPENDENT_NOISE = "uncorrelated_noise", "independent_noise"
COHORT_BEFORE_NOISE, UNIFORM_COHORTS = "cohort_before_noise", "uniform_cohorts"
INDEPENDENT_PARTICIPATION, INDEPENDENT_ANSWERS = "independent_participation", "independent_answers"
CONSTANT_NOISE = "constant_noise"
POSITIVELY_RELATED, SOURCE_NOISE, TARGET_NOISE = "positively_related", "source_noise", "target_noise"
ONE_TARGET, SERVER_OF_TARGET = "one_target", "server_of_target"
STATIONARY_AVAILABILITY, INDEPENDENT_DRAWS = "stationary_availability", "independent_draws"

_KINDS = (
    Kind("smooth", "every F_i has a Lipschitz gradient", "smoothness"),
    Kind("strongly_convex", "every F_i is strongly convex", "strong_convexity", from_below=True),
    Kind("bounded_noise", "a client's gradient noise has a bounded variance, given the past", "gradient_noise",
         power=2),
    Kind("bounded_server_noise", "the server's gradient noise has a bounded variance, given the past", "server_noise",
         power=2),
    Kind("bounded_dissimilarity", "clients' gradients are near the global one, everywhere", "dissimilarity", power=2),
    Kind("bounded_relative_dissimilarity", "the mean of the clients' squared gradients is at most a multiple "
         "of that of F and an offset, everywhere", "dissimilarity_offset", power=2),
    Kind("bounded_gradient", "the global gradient is bounded along the run", "global_gradient_bound", power=2),
    Kind("bounded_stochastic_gradients", "every client's stochastic gradient, whether it takes part or not, is bounded "
         "in the mean square",
         "gradient_bound", power=2),
    Kind("bounded_local_gradients", "given a round's start, every client's stochastic gradients, whether it is "
         "asked or not, are bounded in the mean square",
         "local_gradient_bound", power=2),
    Kind("bounded_weighted_noise", "clients' gradient noises have bounded variances, given the past, whose sum by "
         "squared weights is bounded", "weighted_noise"),
    Kind("bounded_heterogeneity_gap", "F* exceeds the weighted mean of the clients' least values by no more",
         "heterogeneity_gap"),
    Kind(UNBIASED_NOISE, "given the past of all clients, a client's gradient noise has mean 0"),
    Kind(UNBIASED_SERVER_NOISE, "given the past, the server's gradient noise has mean 0"),
    Kind(UNCORRELATED_NOISE, "given the past of all clients, the noises of different clients in a step are "
         "uncorrelated"),
    Kind(INDEPENDENT_NOISE, "given a round's start, the noises of different clients in the round are independent",
         implies=(UNCORRELATED_NOISE,)),
    Kind(CONSTANT_NOISE, "given the past, a client's gradient noise has the variance gradient_noise^2, at every point "
         "the same, and no smaller one"),
    Kind(COHORT_BEFORE_NOISE, "who takes part in a round is chosen before the round's gradient noise is drawn, or "
         "independently of it"),
    Kind(UNIFORM_COHORTS, "a cohort that the algorithm draws uniformly is uniform given the past, and independent of "
         "the round's noise"),
    Kind(INDEPENDENT_DRAWS, "whom the algorithm draws in a round is independent of the past and of the round's noise",
         implies=(COHORT_BEFORE_NOISE,)),
    Kind(INDEPENDENT_PARTICIPATION, "clients take part independently of one another, of the past and of the noise, "
         "each with a probability of its own", implies=(COHORT_BEFORE_NOISE,)),
    Kind(INDEPENDENT_ANSWERS, "given the past, the round's availability is independent of the noise, and clients that "
         "are asked answer independently of one another and of the noise", implies=(COHORT_BEFORE_NOISE,)),
    Kind(POSITIVELY_RELATED, "P and Q are (relatedness, relatedness_exponent)-positively related"),
    Kind(ONE_TARGET, "a hypothesis of the class gives every sample's label, of the server and of the clients"),
    Kind(SERVER_OF_TARGET, "the server's samples are of P"),
    Kind(SOURCE_NOISE, "Q(h != h_Q*) <= noise_constant e_Q(h)^noise_exponent for every hypothesis"),
    Kind(TARGET_NOISE, "P(h != h_P*) <= noise_constant e_P(h)^noise_exponent for every hypothesis"),
    Kind(STATIONARY_AVAILABILITY, "availability and budgets are a stationary ergodic process"),
)  # fmt: skip

ASSUMPTIONS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Kinds of assumption, by name."""

_BY_QUANTITY = {kind.quantity: kind for kind in _KINDS if kind.quantity}

AT_ONE_PLACE = {"bounded_dissimilarity_at_optimum": "bounded_dissimilarity",
                "bounded_dissimilarity_of_plain_mean": "bounded_dissimilarity"}  # fmt: skip
"""Table from assumptions of axioms to the kinds that give them. A bound on the dissimilarity everywhere is one at the
optimum. If F is the plain mean, it is one on the distance from that mean too."""


def kind_of(quantity: str) -> Kind:
    """Return the kind of assumption by which a quantity bounds a constant, or one of its own if the table has none.

    >>> kind_of("strong_convexity").from_below, kind_of("heterogeneity").name
    (True, 'bounded_heterogeneity')
    """
    made = Kind(f"bounded_{quantity}", f"{quantity} bounds the federation's own", quantity)
    return _BY_QUANTITY.get(quantity, made)


def constant_of(name: str) -> tuple[str, int]:
    """Return the quantity that an axiom's assumption bounds a constant by, and its power there.

    Raises:
        KeyError: the assumption has no constant.

    >>> constant_of("bounded_dissimilarity_at_optimum"), constant_of("smooth")
    (('dissimilarity', 2), ('smoothness', 1))
    """
    kind = ASSUMPTIONS[AT_ONE_PLACE.get(name, name)]
    if not kind.quantity:
        raise KeyError(name)
    return kind.quantity, kind.power


def with_implied(names: Iterable[str]) -> frozenset[str]:
    """Return these kinds, and those that hold with them.

    >>> sorted(with_implied(["independent_noise"]))
    ['independent_noise', 'uncorrelated_noise']
    """
    found: set[str] = set()
    for name in names:
        found |= {name, *(with_implied(ASSUMPTIONS[name].implies) if name in ASSUMPTIONS else ())}
    return frozenset(found)


def reason(kind: str, met: Mapping[str, str]) -> str:
    """Return why an assumption of this kind holds where those of other kinds do, each for a reason; "" if nothing says
    so.

    >>> reason("uncorrelated_noise", {"independent_noise": "by construction"}), reason("one_target", {})
    ('by construction', '')
    """
    return next((why for other, why in met.items() if kind in with_implied([other])), "")


def strongest(names: Iterable[str]) -> tuple[str, ...]:
    """Return these kinds without those that another one of them implies.

    >>> strongest(["uncorrelated_noise", "independent_noise"])
    ('independent_noise',)
    """
    given = tuple(dict.fromkeys(names))
    return tuple(n for n in given if not any(n in with_implied([other]) for other in given if other != n))
