"""Points of claims about an algorithm of one's own: runs on quadratic clients, or ones with kinks, with rational
numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np

from ..algorithms.custom_algorithm import Own
from ..assumptions import (
    INDEPENDENT_DRAWS,
    INDEPENDENT_NOISE,
    INDEPENDENT_PARTICIPATION,
    STATIONARY_AVAILABILITY,
    UNCORRELATED_NOISE,
    UNIFORM_COHORTS,
)
from ..claims.balls import Number, Undecided, ball
from ..claims.statement import OF_RUNS, Claim
from ..federations import Piecewise, Quadratic
from ..federations.federation import COMMON
from ..federations.noise_laws import met_by_noise
from ..federations.relative_dissimilarity import least_squared_offset
from ..functionals import AVERAGES
from ..moments.averages import value_in_balls
from ..moments.custom_kinks import values_at
from ..moments.enclosed import Imprecise
from ..moments.evaluators import BALL, Question, quantity
from ..moments.exchangeable import TooMany
from ..moments.kinked_runs import piecewise
from ..moments.linear_rounds import NotClosed
from ..moments.round_maps import layout_of, quadratic
from ..participation import Bernoulli, Cyclic, Fixed, Markov, Participation, Phases, Uniform
from ..quantities import QUANTITIES
from ..schedule import INDICES
from ..setting import Setting
from .file_entries import (
    LARGEST,
    by_vocabulary,
    check_constants,
    check_counts,
    check_kind,
    check_number,
    check_scope,
    check_size,
    entry,
    indices,
    matrix,
    rational,
    rationals,
    read_participants,
    shown,
    stated_constants,
    texts,
    vector,
    written_participants,
)
from .kinked_points import kinked_constants, read_gradients
from .protocol import CHOSEN_BEFORE, Examined, Point, Reading, Sides, assumption_checks, own_values
from .run_points import diagonals
from .short_numbers import constants_of
from .varying_steps import computed_left

MOST_COPIES = 10**4
"""The most clients of an instance; of more than ``LARGEST["clients"]``, a file has those that are alike once."""

LARGEST_STATE = 32
"""Largest number of entries of the state: the model's error and what is remembered. Exact moments have their square."""


BY_THE_PROCESS = "by the process: every round is drawn anew, by draws of its own"
WITH_A_MEMORY = "by the process: it begins in its stationary law"

DRAWN: tuple[tuple[type[Participation], tuple[str, ...]], ...] = (
    (Uniform, (UNIFORM_COHORTS, INDEPENDENT_DRAWS, STATIONARY_AVAILABILITY)),
    (Bernoulli, (INDEPENDENT_PARTICIPATION, INDEPENDENT_DRAWS, STATIONARY_AVAILABILITY)),
    (Fixed, (INDEPENDENT_PARTICIPATION, INDEPENDENT_DRAWS, STATIONARY_AVAILABILITY)),
    (Markov, (STATIONARY_AVAILABILITY,)),
    (Cyclic, (STATIONARY_AVAILABILITY,)),
)
"""The kinds of assumption about participants that a process meets."""


@dataclass(frozen=True, eq=False)
class OwnPoint(Point):
    """Runs on clients with diagonal Hessians, or with kinks, for one claim. Two are equal where their files are.

    Attributes:
        setting: of participants that a file can hold (``_written``); the federation has the noises that are stated.
        rounds: R.
        constants: the values of ``stated_constants``.
    """

    setting: Setting
    rounds: int
    constants: Mapping[str, Fraction]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnPoint) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    @property
    def algorithm(self) -> Own:
        """The user's algorithm."""
        assert isinstance(self.setting.algorithm, Own)
        return self.setting.algorithm

    @property
    def kinked(self) -> bool:
        """Whether gradients are piecewise linear."""
        return isinstance(self.setting.federation, Piecewise)

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        check_scope(claim, *OF_RUNS)
        check_left(claim)
        if claim.functional.scope == "round" and self.rounds != 1:
            raise ValueError(f"rounds = {self.rounds}: allowed is 1, as {claim.ref} is about one round")
        if claim.algorithm != self.algorithm.name:
            raise ValueError(f"{claim.ref} is not about {self.algorithm.name}: allowed is another algorithm")
        check_constants(claim, self.constants)
        self._check_numbers()
        check_counts(rounds=self.rounds)
        check_size("clients", self.setting.federation.clients, MOST_COPIES)
        check_size("dimension", self.setting.federation.dimension)
        if not self.kinked and (size := layout_of(self.setting).size) > LARGEST_STATE:
            raise ValueError(f"a state of {size} numbers: allowed in an instance are at most {LARGEST_STATE}")

    def _check_numbers(self) -> None:
        """Raise ``ValueError`` where a quantity would be one number in the runs, and another in the claim."""
        numbers = self.algorithm.numbers
        for name in sorted(self.constants.keys() & numbers.keys()):
            if self.constants[name] != numbers[name]:
                raise ValueError(
                    f"{name} = {self.constants[name]}: allowed is {numbers[name]}, which the algorithm has"
                )
        process, own = self.setting.participation, numbers.get("participation_probability")
        if own is not None and isinstance(process, Bernoulli) and {*map(Fraction, process.probabilities)} != {own}:
            raise ValueError(f"participation_probability = {own}: allowed is that with which every client takes part")

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """Return the runs as the claim speaks of them."""
        return _ExaminedOwn(self, claim)

    @property
    def _federation(self) -> Quadratic | Piecewise:
        return piecewise(self.setting) if self.kinked else quadratic(self.setting)

    def _written_clients(self) -> dict[str, Any]:
        fed = self._federation
        law = {"noise": COMMON} if fed.noise == COMMON else {}
        if isinstance(fed, Piecewise):
            rows = [[g.to_json() for g in row] for row in fed.gradients]
            return {"kind": "piecewise", "multiplicities": list(fed.multiplicities), "gradients": rows, **law}
        hessians, centres = ([texts(tuple(row)) for row in rows] for rows in (diagonals(fed), fed.exact_centres))
        copies: dict[str, Any] = {}
        if fed.clients > LARGEST["clients"]:
            runs = [(own, len(list(of))) for own, of in groupby(zip(hessians, centres, strict=True))]
            hessians, centres = [own[0] for own, _ in runs], [own[1] for own, _ in runs]
            copies = {"copies": [number for _, number in runs]}
        return {"kind": "quadratic", "hessians": hessians, "centres": centres, **copies, **law}

    @property
    def violated(self) -> frozenset[str]:
        """The kinds of assumption (``fedtheory.assumptions``) that the runs do not meet."""
        fed = self._federation
        shared = fed.noise == COMMON and fed.clients > 1
        return frozenset({UNCORRELATED_NOISE, INDEPENDENT_NOISE}) if shared else frozenset()

    @property
    def met(self) -> Mapping[str, str]:
        """The assumptions that its noise and its participants meet, with reasons."""
        drawn = next((kinds for process, kinds in DRAWN if isinstance(self.setting.participation, process)), ())
        law = self._federation.noise
        why = BY_THE_PROCESS if self.setting.participation.independent_rounds else WITH_A_MEMORY
        return {**met_by_noise(law), **CHOSEN_BEFORE, **dict.fromkeys(drawn, why)}

    def to_json(self) -> dict[str, Any]:
        """Return plain data; ``parse`` reads it back."""
        return {
            "federation": self._written_clients(),
            "algorithm": {"kind": self.algorithm.name, **{n: _text(v) for n, v in self.algorithm.numbers.items()}},
            "participation": _written(self.setting.participation),
            "start": texts(tuple(self.setting.exact_start)),
            "rounds": self.rounds,
            "constants": by_vocabulary(self.constants),
        }

    def quantities(self, claim: Claim) -> dict[str, Number]:
        """Every quantity that the point fixes; exact, but for lengths that are square roots."""
        fed = self._federation
        shift = self.setting.exact_start - fed.exact_optimum
        start = list(self.setting.exact_start)
        gap = fed.exact_gap(start) if isinstance(fed, Piecewise) else shift @ fed.exact_hessian @ shift / 2
        true = {**self.true_constants(), **self.constants}
        asked = [name for name in OF_OWN_ROUND if name in claim.quantities and not self.kinked]
        question = Question(self.setting, 1, numbers=BALL)
        values: dict[str, Number] = {
            **true,
            "initial_gap": gap,
            "initial_distance": ball(shift @ shift).sqrt(),
            **{name: ball(square).sqrt() for name, square in fed.exact_squared_constants().items() if name not in true},
            "rounds": Fraction(self.rounds),
            **{n: v for n, v in exactly_known(self.setting).items() if n not in true},
            **dict[str, Any]((name, quantity(name, question).value) for name in asked),
        }
        return values | own_values(claim, self.setting, self.rounds)

    def true_constants(self, squared: bool = False) -> dict[str, Number]:
        """Return the federation's constants, with ``squared`` its lengths squared.

        Without a common Hessian, or kinks between the same outer slopes, there is no dissimilarity. The offset is that
        of the stated factor.
        """
        fed = self._federation
        squares = dict(fed.exact_squared_constants())
        factor = self.constants.get("dissimilarity_factor")
        offset = None if factor is None else least_squared_offset(fed, factor**2)
        if offset is not None:
            squares["dissimilarity_offset"] = offset
        roots = {n: v if squared else ball(v).sqrt() for n, v in squares.items()}
        return {**fed.exact_constants(), **roots}


OF_OWN_ROUND = ("gradient_norm", "objective_decrease")
"""Quantities of one round from x_0 that are known of a step of one's own."""

LEFTS_OF_OWN_ROUND = ("squared_gradient", "squared_movement")
"""Left sides about one round from x_0 that are: others speak of local iterates, which a step gives no names."""


def check_left(claim: Claim) -> None:
    """Raise ``ValueError`` where a claim bounds something about one round that is not known of a step of one's own."""
    functional = claim.functional
    if functional.scope == "round" and functional.compute is None and functional.name not in LEFTS_OF_OWN_ROUND:
        raise ValueError(
            f"{claim.ref}: {functional.name} is about local iterates, which a step of one's own gives no names: "
            f"allowed of its rounds are {', '.join(LEFTS_OF_OWN_ROUND)} and left sides of one's own"
        )


def exactly_known(setting: Setting) -> dict[str, Fraction]:
    """Return the quantities that a setting of one's own algorithm knows as Fractions, its own numbers among them."""
    fed = setting.federation
    fewest, most = setting.participation.sizes(fed.clients)
    numbers = setting.algorithm.numbers if isinstance(setting.algorithm, Own) else {}
    process, known = setting.participation, {**fed.exact_constants(), "clients": Fraction(fed.clients)}
    if fewest == most:
        known["arbitrary_cohort"] = Fraction(most)
    if isinstance(process, Uniform):
        known["cohort"] = Fraction(process.cohort)
    if isinstance(process, Bernoulli) and len(set(process.probabilities)) == 1:
        known["participation_probability"] = Fraction(process.probabilities[0])
    given = {n: v for n, v in numbers.items() if n in QUANTITIES and isinstance(v, Fraction)}
    return {**known, **given}


def _written(process: Participation) -> dict[str, Any]:
    match process:
        case Fixed(members=members):
            return {"kind": "fixed", "members": list(members)}
        case Uniform(replacement=False, cohort=cohort):
            return {"kind": "uniform", "cohort": cohort}
        case Bernoulli(probabilities=p):
            return {"kind": "bernoulli", "probabilities": texts(tuple(p))}
        case Markov(probabilities=p, entries=entries):
            return {"kind": "markov", "probabilities": texts(tuple(p)), "entries": texts(tuple(entries))}
        case Cyclic(probabilities=p, period=period, rounding="nearest"):
            return {"kind": "cyclic", "probabilities": texts(tuple(p)), "period": period}
        case Phases():
            return written_participants(process)
    raise ValueError(
        f"participation is {type(process).__name__}: allowed is Fixed, Phases, Uniform without replacement, Bernoulli, "
        "Markov or Cyclic with the nearest numbers of rounds"
    )


def _read(data: Mapping[str, Any]) -> Participation:
    match data.get("kind"):
        case "fixed":
            return Fixed(indices(data, "members", MOST_COPIES))
        case "uniform":
            cohort = entry(data, "cohort", int)
            check_number("cohort", cohort, MOST_COPIES)
            return Uniform(cohort)
        case "bernoulli":
            return Bernoulli(vector(data, "probabilities"))
        case "markov":
            return Markov(vector(data, "probabilities"), vector(data, "entries"))
        case "cyclic":
            period = entry(data, "period", int)
            check_number("period", period, LARGEST["clients"])
            return Cyclic(vector(data, "probabilities"), period)
        case "phases":
            return read_participants(data, MOST_COPIES)
    kinds = "'fixed', 'phases', 'uniform', 'bernoulli', 'markov' or 'cyclic'"
    raise ValueError(f"kind = {shown(data.get('kind'))}: allowed is {kinds}")


def parse(data: Mapping[str, Any], template: Own) -> OwnPoint:
    """Read a run of the template's step from plain data, not yet checked."""
    federation, algorithm, participation = (
        entry(data, key, dict) for key in ("federation", "algorithm", "participation")
    )
    if federation.get("kind") != "piecewise":
        check_kind(federation, "quadratic")
    check_kind(algorithm, template.name)
    law = federation.get("noise", "two-point")
    if law not in ("two-point", COMMON):
        raise ValueError(f"noise = {shown(law)}: allowed is 'two-point' or {COMMON!r}")
    if unknown := sorted(set(algorithm) - {"kind", *template.numbers}):
        raise ValueError(f"algorithm: {unknown[0]} is none of {template.name}'s numbers: {', '.join(template.numbers)}")
    numbers = {name: _number(name, algorithm.get(name)) for name in template.numbers}
    for name, own in template.numbers.items():
        if name not in QUANTITIES and _text(numbers[name]) != _text(own):
            raise ValueError(
                f"algorithm: {name} = {shown(_text(numbers[name]))}: allowed is {_text(own)}, which {template.name} "
                "has, as no claim speaks of it"
            )
    constants = rationals(data, "constants")
    fed = _clients(federation, constants, law)
    setting = Setting(fed, template.with_numbers(**numbers), _read(participation), start=list(vector(data, "start")))
    return OwnPoint(setting, entry(data, "rounds", int), constants)


def _clients(data: Mapping[str, Any], constants: Mapping[str, Fraction], law: str) -> Quadratic | Piecewise:
    if data.get("kind") == "piecewise":
        return piecewise_of(read_gradients(data), indices(data, "multiplicities"), constants, law)
    hessians, centres = matrix(data, "hessians"), matrix(data, "centres")
    if "copies" in data:
        copies = indices(data, "copies")
        if len(copies) != len(hessians) or not 1 <= sum(copies) <= MOST_COPIES or min(copies) < 1:
            raise ValueError(f"copies = {shown(copies)}: allowed is a number >= 1 for each row, {MOST_COPIES} in all")
        hessians, centres = (
            tuple(row for row, n in zip(rows, copies, strict=True) for _ in range(n)) for rows in (hessians, centres)
        )
    return federation_of(hessians, centres, constants, law)


def piecewise_of(gradients: Any, multiplicities: Any, constants: Mapping[str, Fraction], law: str) -> Piecewise:
    """Make a federation with kinks and the noises that are stated."""
    check_size("clients", sum(multiplicities))
    noise, server_noise = (constants.get(name, Fraction(0)) for name in ("gradient_noise", "server_noise"))
    return Piecewise(gradients, multiplicities, noise, law, server_noise)


def _text(value: Any) -> Any:
    """A number as a file has it, or several, or a rule."""
    return [str(each) for each in value] if isinstance(value, tuple) else str(value)


def _number(name: str, text: Any) -> Any:
    if isinstance(text, list) and len(text) < 1000:
        return tuple(rational(f"{name}[{i}]", each) for i, each in enumerate(text))
    by_rule = isinstance(text, str) and any(index in text for index in INDICES) and len(text) < 1000
    return text if by_rule else rational(name, text)


def federation_of(hessians: Any, centres: Any, constants: Mapping[str, Fraction], law: str) -> Quadratic:
    """Make a quadratic federation with the noises that are stated."""
    check_size("clients", len(centres), MOST_COPIES)
    noise, server_noise = (constants.get(name, Fraction(0)) for name in ("gradient_noise", "server_noise"))
    return Quadratic(hessians, centres, noise, law, server_noise)


def from_setting(claim: Claim, setting: Setting, rounds: int, template: Own, **given: Fraction) -> OwnPoint:
    """Make the point of a setting whose numbers a file can hold; ``given`` are values of ``file_entries.FREE``.

    Raises:
        ValueError: the runs are not the template's, or no file can hold them; it is said which.
    """
    algorithm, fed = setting.algorithm, setting.federation
    if not isinstance(algorithm, Own) or algorithm.round.digest != template.round.digest:
        raise ValueError(
            f"algorithm is {getattr(algorithm, 'name', type(algorithm).__name__)}: allowed is {template.name}"
        )
    _written(setting.participation)
    if isinstance(fed, Piecewise):
        law, known = fed.noise if fed.noise == COMMON else "two-point", kinked_constants(claim, fed, given)
        federation: Any = piecewise_of(fed.gradients, fed.multiplicities, known, law)
        return OwnPoint(replace(setting, federation=federation), rounds, known)
    if not isinstance(fed, Quadratic) or any(np.count_nonzero(h - np.diag(h.diagonal())) for h in fed.hessians):
        raise ValueError("federation: allowed are quadratic clients with diagonal Hessians, and piecewise ones")
    constants = constants_of(fed, stated_constants(claim), given)
    law = fed.noise if fed.noise == COMMON else "two-point"
    federation = federation_of(diagonals(fed), fed.exact_centres, constants, law)
    return OwnPoint(replace(setting, federation=federation), rounds, constants)


class _ExaminedOwn(Examined):
    def __init__(self, point: OwnPoint, claim: Claim) -> None:
        self.point, self.claim, self.values = point, claim, point.quantities(claim)
        self.checks = assumption_checks(claim, point.constants, point.true_constants(squared=True))
        self._sides: dict[str, Any] = {}

    def sides(self, reading: Reading) -> Sides:
        functional, average = self.claim.functional, reading.get("average", AVERAGES[0])
        one_round = functional.scope == "round" and not self.point.kinked
        if functional.compute is not None or one_round:
            return Sides(computed_left(self.point.setting, self.point.rounds, functional, average), self.values)
        if self.point.kinked:
            try:
                [value] = values_at(self.point.setting, functional, [self.point.rounds], average)
            except (NotClosed, TooMany) as error:
                raise Undecided(str(error)) from None
            return Sides(value, self.values)
        if average not in self._sides:
            try:
                [self._sides[average]] = value_in_balls(self.point.setting, functional, [self.point.rounds], average)
            except (NotClosed, Imprecise) as error:
                raise Undecided(str(error)) from None
        return Sides(self._sides[average], self.values)
