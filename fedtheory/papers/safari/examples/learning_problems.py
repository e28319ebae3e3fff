"""Kinds of learning problems, with their quantities and functionals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from flint import arb, ctx

from ....claims.balls import ball
from ....functionals import (
    CHECKED_EMPIRICAL_GAP,
    CHECKED_EXCESS,
    DISAGREEMENT_DEFICIT,
    DISAGREEMENT_EXCESS,
    NEGATED_FAILURE,
    NEGATED_FAILURE_OF_FUNCTIONS,
    NEGATED_SOURCE_EXCESS,
    PAIR_DEVIATION,
    POOLED_EXCESS,
    POOLED_SOURCE_EXCESS,
    RARE_TAIL,
    RELATEDNESS_GAP,
    TARGET_EXCESS,
    Functional,
)
from ....learning.finite_domains import FiniteClass, Law
from ....learning.impossibility import TwoPoints
from ....learning.pooled_risk import LARGEST_ENUMERATED, excess_shown, pooled
from ....learning.tails import LARGEST_EXACT, binomial_tail
from .deviations import deviation_quantile
from .likely_counts import law, tables_of

Constants = Mapping[str, Fraction]


class Problem(Protocol):
    """A learning problem with exact numbers."""

    def __hash__(self) -> int: ...

    @property
    def kind(self) -> str:
        """The name in files."""

    @property
    def functionals(self) -> tuple[Functional, ...]:
        """The functionals that claims may bound of it."""

    def check(self) -> None:
        """Raise ``ValueError`` unless its numbers are in bounds."""

    def quantities(self, constants: Constants) -> dict[str, Any]:
        """Return the values of the quantities that it has, beside the stated ones."""

    def left(self, functional: Functional, constants: Constants) -> Any:
        """Return the value of one of its functionals."""

    def holds(self, kind: str, constants: Constants) -> bool:
        """Whether an assumption of a kind holds with the stated constants."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""


@dataclass(frozen=True)
class Hiding:
    """Two points, M clients of n samples, m of which take part; x_2 has probability ``rare_mass``."""

    clients: int
    participants: int
    samples_per_client: int
    rare_mass: Fraction
    kind = "two points"
    functionals = (NEGATED_FAILURE, NEGATED_FAILURE_OF_FUNCTIONS, RARE_TAIL)

    @cached_property
    def problem(self) -> TwoPoints:
        """The learning problem on two points."""
        return TwoPoints(self.clients, self.participants, self.samples_per_client, self.rare_mass)

    def check(self) -> None:
        """Raise ``ValueError`` if there are too many samples."""
        if self.problem.samples > LARGEST_EXACT:
            raise ValueError(
                f"clients * samples_per_client = {self.problem.samples}: allowed is at most {LARGEST_EXACT}"
            )

    def quantities(self, constants: Constants) -> dict[str, Any]:
        """Return the values of its quantities."""
        return {
            "clients": Fraction(self.clients),
            "arbitrary_cohort": Fraction(self.participants),
            "samples_per_client": Fraction(self.samples_per_client),
            "rare_mass": self.rare_mass,
        }

    def left(self, functional: Functional, constants: Constants) -> Fraction:
        """Return the value of one of its functionals."""
        if functional == RARE_TAIL:
            return binomial_tail(self.problem.samples, self.rare_mass, self.problem.spare - 1)
        if constants["error_level"] > self.rare_mass:
            return Fraction(0)
        if constants["error_level"] == 0:
            return Fraction(-1)
        return -self.problem.failure("any" if functional == NEGATED_FAILURE else "deterministic")

    def holds(self, kind: str, constants: Constants) -> bool:
        """Whether an assumption of a kind holds: none does."""
        return False

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "clients": self.clients,
            "participants": self.participants,
            "samples_per_client": self.samples_per_client,
            "rare_mass": str(self.rare_mass),
        }


@dataclass(frozen=True)
class Thresholds:
    """P = U[a, b] and Q = U[a', b'] inside it, labelled by one threshold t* in [a', b']; the hypothesis is at t."""

    target: tuple[Fraction, Fraction]
    source: tuple[Fraction, Fraction]
    best: Fraction
    threshold: Fraction
    kind = "thresholds"
    functionals = (RELATEDNESS_GAP, NEGATED_SOURCE_EXCESS, TARGET_EXCESS)

    def check(self) -> None:
        """Raise ``ValueError`` unless Q's interval lies in P's, and the best threshold in Q's."""
        (a, b), (c, d) = self.target, self.source
        if not a <= c < d <= b:
            raise ValueError(f"source = [{c}, {d}]: allowed is an interval in target = [{a}, {b}]")
        if not c <= self.best <= d:
            raise ValueError(f"best = {self.best}: allowed is a threshold in [{c}, {d}]")

    def excess(self, support: tuple[Fraction, Fraction]) -> Fraction:
        """Return the probability of what lies between t* and t."""
        low, high = support
        inside = min(max(self.threshold, low), high)
        return abs(inside - self.best) / (high - low)

    def quantities(self, constants: Constants) -> dict[str, Any]:
        """Return the values of its quantities."""
        low, high = self.source
        return {
            "target_width": self.target[1] - self.target[0],
            "source_width": high - low,
            "threshold_distance": abs(self.threshold - self.best),
            "source_excess": self.excess(self.source),
            "outside_support": max(low - self.threshold, self.threshold - high, Fraction(0)),
        }

    def left(self, functional: Functional, constants: Constants) -> Fraction:
        """Return the value of one of its functionals."""
        of_p, of_q = self.excess(self.target), self.excess(self.source)
        return {RELATEDNESS_GAP: abs(of_p - of_q), NEGATED_SOURCE_EXCESS: -of_q, TARGET_EXCESS: of_p}[functional]

    def holds(self, kind: str, constants: Constants) -> bool:
        """Whether an assumption of a kind holds: none does."""
        return False

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "target": list(map(str, self.target)),
            "source": list(map(str, self.source)),
            "best": str(self.best),
            "threshold": str(self.threshold),
        }


@lru_cache(maxsize=1024)
def first_equal(problem: Problem) -> Problem:
    """Return the first of equal problems, with all that has been computed of it: claims are searched on the same."""
    return problem


@dataclass(frozen=True)
class Pooled:
    """A finite class, P, the clients' distribution D, how many samples the server has of P and the clients of D.

    Attributes:
        hypothesis: the number of the one of which a claim speaks.
        server: the law of the server's samples, where it is another than P.
    """

    labels: tuple[tuple[int, ...], ...]
    target: tuple[tuple[Fraction, ...], ...]
    clients: tuple[tuple[Fraction, ...], ...]
    server_samples: int
    client_samples: int
    hypothesis: int = 0
    server: tuple[tuple[Fraction, ...], ...] | None = None
    kind = "finite"
    functionals = (
        RELATEDNESS_GAP,
        NEGATED_SOURCE_EXCESS,
        TARGET_EXCESS,
        POOLED_EXCESS,
        CHECKED_EXCESS,
        CHECKED_EMPIRICAL_GAP,
        DISAGREEMENT_EXCESS,
        DISAGREEMENT_DEFICIT,
        PAIR_DEVIATION,
        POOLED_SOURCE_EXCESS,
    )
    _kept: dict[tuple[Functional, Fraction, int], Any] = field(default_factory=dict, compare=False, repr=False)

    def check(self) -> None:
        """Raise ``ValueError`` unless its laws and counts are in bounds, and its tables of counts few enough."""
        for each in (self.p, self.d, self.of_server):
            each.risks(self.hypotheses)
        if not (self.server_samples >= 1 and self.client_samples >= 1):
            raise ValueError(
                f"server_samples, client_samples = {self.server_samples}, {self.client_samples}: allowed "
                "are integers >= 1"
            )
        if len(self.labels) < 2:
            raise ValueError(f"labels has {len(self.labels)} rows: allowed are at least two hypotheses")
        if not 0 <= self.hypothesis < len(self.labels):
            raise ValueError(f"hypothesis = {self.hypothesis}: allowed is an integer from 0 to {len(self.labels) - 1}")
        if (tables := tables_of(self.sources)) > LARGEST_ENUMERATED:
            raise ValueError(f"{tables} tables of counts: allowed is at most {LARGEST_ENUMERATED}")

    @cached_property
    def hypotheses(self) -> FiniteClass:
        """The class of hypotheses."""
        return FiniteClass(self.labels)

    @cached_property
    def p(self) -> Law:
        """The target's law P."""
        return Law([list(row) for row in self.target])

    @cached_property
    def d(self) -> Law:
        """The clients' law D."""
        return Law([list(row) for row in self.clients])

    @cached_property
    def of_server(self) -> Law:
        """The law of the server's samples, which is P unless another one is given."""
        return self.p if self.server is None else Law([list(row) for row in self.server])

    @property
    def sources(self) -> list[tuple[Law, int]]:
        """The laws of the server's and of the clients' samples, each with the number of its samples."""
        return [(self.of_server, self.server_samples), (self.d, self.client_samples)]

    @cached_property
    def q(self) -> Law:
        """The law Q of the pooled samples."""
        return pooled(self.sources)

    @cached_property
    def excesses(self) -> tuple[np.ndarray, np.ndarray]:
        """The excess risks of all hypotheses, under P and under Q."""
        return self.p.excesses(self.hypotheses), self.q.excesses(self.hypotheses)

    def quantities(self, constants: Constants) -> dict[str, Any]:
        """Return the values of the quantities that it has, beside the stated ones."""
        of_p, of_q = self.excesses
        n, size = self.server_samples + self.client_samples, len(self.labels)
        values: dict[str, Any] = {
            "samples": Fraction(n),
            "server_samples": Fraction(self.server_samples),
            "client_samples": Fraction(self.client_samples),
            "client_share": Fraction(self.client_samples, n),
            "class_size": Fraction(size),
            "vc_dimension": Fraction(self.hypotheses.dimension),
            "source_excess": of_q[self.hypothesis],
            "best_excess": of_p[self.q.best(self.hypotheses)],
        }
        if delta := constants.get("confidence"):
            log_delta = -ball(delta).log()
            values["complexity"] = (arb(size).log() + log_delta) / n
            values["server_complexity"] = (arb(size).log() + log_delta) / self.server_samples
            values["pair_complexity"] = (2 * arb(size).log() + log_delta) / n
            for name, count in {"vc_complexity": n, "server_vc_complexity": self.server_samples}.items():
                values[name] = _of_dimension(self.hypotheses.dimension, count, log_delta)
        if "relatedness" in constants and "relatedness_exponent" in constants:
            values["related_gap"] = _power(constants, of_q[self.hypothesis])
        return values

    def left(self, functional: Functional, constants: Constants) -> Any:
        """Return the value of one of its functionals; quantiles are kept."""
        of_p, of_q = (excess[self.hypothesis] for excess in self.excesses)
        simple = {RELATEDNESS_GAP: abs(of_p - of_q), NEGATED_SOURCE_EXCESS: -of_q, TARGET_EXCESS: of_p}
        if functional in simple:
            return simple[functional]
        what = functional, constants["confidence"], ctx.prec
        if what not in self._kept:
            self._kept[what] = self._quantile(functional, constants["confidence"])
        return self._kept[what]

    def _quantile(self, functional: Functional, delta: Fraction) -> Any:
        """What a deviation stays below with probability 1 - delta."""
        if functional in (POOLED_EXCESS, CHECKED_EXCESS):
            server = 0 if functional == CHECKED_EXCESS else None
            shown = excess_shown(self.p, self.hypotheses, self.sources, server=server)
            return law(self.hypotheses, self.sources, shown).quantile(delta)
        if functional == POOLED_SOURCE_EXCESS:
            shown = excess_shown(self.q, self.hypotheses, self.sources)
            return law(self.hypotheses, self.sources, shown).quantile(delta)
        if functional == PAIR_DEVIATION:
            return deviation_quantile(self.hypotheses, self.sources, delta)
        if functional == CHECKED_EMPIRICAL_GAP:
            return self._gap(delta)
        return self._disagreement(functional, delta)

    def _gap(self, delta: Fraction) -> Fraction:
        """The quantile of the server's empirical gap, the worst of several minimisers."""
        best_p, best_q = self.p.best(self.hypotheses), self.q.best(self.hypotheses)

        def value(errors: Sequence[np.ndarray]) -> Fraction:
            total, server = np.add(*errors).tolist(), errors[0].tolist()
            fewest = min(total)
            least = [s for t, s in zip(total, server, strict=True) if t == fewest and s <= server[best_q]]
            return Fraction(max(least, default=server[best_p]) - server[best_p], self.server_samples)

        return law(self.hypotheses, self.sources, value).quantile(delta)

    def _disagreement(self, functional: Functional, delta: Fraction) -> Fraction:
        """The quantile of max over pairs of the share of samples on which they differ less twice the probability; or of
        half the probability less the share."""
        sign, factor = (1, Fraction(2)) if functional == DISAGREEMENT_EXCESS else (-1, Fraction(1, 2))
        labels, n = self.hypotheses.labels, self.server_samples + self.client_samples
        pairs = list(combinations(range(len(labels)), 2))
        table = FiniteClass(np.eye(len(self.p.joint), dtype=int))  # counts points, not errors
        masses = self.q.joint.sum(1)
        differ = [labels[i] != labels[j] for i, j in pairs]
        expected = [sum((masses[x] for x in np.flatnonzero(row)), Fraction(0)) for row in differ]
        points = [(Law([[sum(row), 0] for row in source.joint]), k) for source, k in self.sources]

        def value(counts: Sequence[np.ndarray]) -> Fraction:
            total = np.sum(counts, axis=0)
            values = [
                sign * (Fraction(int(total[row].sum()), n) - factor * e)
                for row, e in zip(differ, expected, strict=True)
            ]
            return max([Fraction(0), *values])  # a hypothesis does not differ from itself

        return law(table, points, value).quantile(delta)

    def holds(self, kind: str, constants: Constants) -> bool:
        """Whether an assumption of a kind holds with the stated constants."""
        of_p, of_q = self.excesses
        if kind == "positively_related":
            pairs = [(abs(x - y), y) for x, y in zip(of_p, of_q, strict=True)]
            return _at_most(pairs, constants["relatedness"], constants["relatedness_exponent"])
        if kind == "one_target":
            risks = [each.risks(self.hypotheses) for each in (self.p, self.d, self.of_server)]
            return bool((np.array(risks) == 0).all(0).any())
        if kind == "server_of_target":
            return self.server is None or bool((self.of_server.joint == self.p.joint).all())
        if kind in ("source_noise", "target_noise"):
            of, excess = (self.q, of_q) if kind == "source_noise" else (self.p, of_p)
            differ = of.disagreements(self.hypotheses, of.best(self.hypotheses))
            pairs = list(zip(differ, excess, strict=True))
            return _at_most(pairs, constants["noise_constant"], constants["noise_exponent"])
        return False

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "labels": [list(row) for row in self.labels],
            "target": [list(map(str, row)) for row in self.target],
            "clients": [list(map(str, row)) for row in self.clients],
            "server_samples": self.server_samples,
            "client_samples": self.client_samples,
            "hypothesis": self.hypothesis,
        } | ({} if self.server is None else {"server": [list(map(str, row)) for row in self.server]})


def _at_most(pairs: list[tuple[Fraction, Fraction]], constant: Fraction, exponent: Fraction) -> bool:
    """Whether gap <= constant base^exponent for all, decided in Fractions."""
    power, root = exponent.numerator, exponent.denominator
    return all(gap**root <= constant**root * base**power for gap, base in pairs)


def _of_dimension(dimension: int, samples: int, log_inverse: Any) -> Any:
    """(d log(e max(2n, d)/d) + log(4/delta))/n."""
    d, most = dimension, max(2 * samples, dimension)
    growth = d * (1 + (arb(most) / d).log()) if d else arb(0)
    return (growth + arb(4).log() + log_inverse) / samples


def _power(constants: Constants, base: Fraction) -> Any:
    """relatedness * base^relatedness_exponent, exact where the exponent is whole."""
    alpha, beta = constants["relatedness"], constants["relatedness_exponent"]
    if beta.denominator == 1:
        return alpha * base**beta.numerator
    return arb(0) if base == 0 else ball(alpha) * ball(base) ** ball(beta)
