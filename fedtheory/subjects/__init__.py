"""What functionals are of: values, functions, weights, selections, rounds, runs; ``base`` says what each knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..functionals import AVERAGE_SQUARED_WEIGHTED_GRADIENT, LOCAL_DRIFT, WEIGHTED_DIVERGENCE, WEIGHTED_INCREASE

if TYPE_CHECKING:
    from ..claims.statement import Claim
    from ..setting import Setting
    from .base import Point, Space, Subject

NEEDED = ("space", "parse")
"""What every subject does."""

_OF_WEIGHTED_UPDATES = (
    "global_lr", "weight_scale", "expected_weight_scale", "weight_error", "peak_weight_error", "update_weight",
    "objective_error", "least_objective_weight",
)  # fmt: skip
_FUNCTIONALS_OF_WEIGHTED_UPDATES = (
    AVERAGE_SQUARED_WEIGHTED_GRADIENT, LOCAL_DRIFT, WEIGHTED_DIVERGENCE, WEIGHTED_INCREASE,
)  # fmt: skip
_OF_SERVER_ROUNDS = ("server_lr", "client_round_probability")


def run_algorithm(claim: Claim) -> str:
    """The algorithm whose runs and rounds a claim is about, by what it speaks of.

    >>> from fedtheory.papers import claim
    >>> [run_algorithm(claim(id)) for id in ("fast.thm1", "safari.thm4", "fedau.lemmaB_3_2")]
    ['fast', 'safari', 'fedau']
    """
    names = {*claim.quantities}
    if claim.functional in _FUNCTIONALS_OF_WEIGHTED_UPDATES or names & {*_OF_WEIGHTED_UPDATES}:
        return "fedau"
    return "safari" if names & {*_OF_SERVER_ROUNDS} else "fast"


@dataclass(frozen=True)
class _BuiltIn:
    """A subject whose modules load on first use."""

    name: str
    points: str
    searched: str

    def _module(self, name: str) -> Any:
        return import_module(f".{name}", __name__)

    def space(self, claim: Claim) -> Space:
        module, _, name = self.searched.partition(":")
        return getattr(self._module(module), name)(claim)

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Point:
        return self._module(self.points).parse(data, claim)


class _Runs(_BuiltIn):
    def from_setting(self, claim: Claim, setting: Setting, rounds: int, **given: Any) -> Point:
        return self._module(self.points).from_setting(claim, setting, rounds, **given)


class _WeightedUpdates(_BuiltIn):
    def findings(self, claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
        return self._module("fedau.consistency").estimated_weights_findings(claim)


_SUBJECTS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        _BuiltIn("values", "values", "values:Values"),
        _BuiltIn("function", "functions", "functions:Functions"),
        _BuiltIn("weights", "weights.point", "weights.samples:EstimatedWeights"),
        _BuiltIn("selection", "selection.point", "selection.samples:Selections"),
        _Runs("fast", "run", "runs:Runs"),
        _Runs("safari", "run", "server_runs:ServerRuns"),
        _WeightedUpdates("fedau", "fedau.point", "fedau.runs:FedauRuns"),
    )
}
"""By name. A subject may also have ``from_setting``, where a setting makes a point, and ``findings``, what it has to
say on a claim's hypotheses."""


def register(subject: Subject) -> None:
    """Add what functionals of one more kind are of.

    Raises:
        ValueError: it has no name, or not a method that every subject needs; or there is one of that name.

    >>> register(object())
    Traceback (most recent call last):
    ValueError: subject <object object at ...>: name is missing, a subject needs name, space, parse
    """
    missing = [part for part in ("name", *NEEDED) if not hasattr(subject, part)]
    missing += [part for part in NEEDED if part not in missing and not callable(getattr(subject, part))]
    if missing:
        shown = getattr(subject, "name", repr(subject))
        raise ValueError(f"subject {shown}: {missing[0]} is missing, a subject needs name, {', '.join(NEEDED)}")
    if subject.name in _SUBJECTS:
        raise ValueError(f"subject {subject.name}: there is one of that name")
    _SUBJECTS[subject.name] = subject


def subject_of(claim: Claim) -> Subject:
    """What the claim's functional is of; of runs and rounds, those of the claim's algorithm.

    Raises:
        ValueError: nothing of that name is registered.

    >>> from fedtheory.papers import claim
    >>> [subject_of(claim(id)).name for id in ("fast.rem2.a", "fast.thm1", "safari.thm4", "flics.thm1")]
    ['values', 'fast', 'safari', 'selection']
    """
    name = claim.functional.scope
    name = run_algorithm(claim) if name in ("run", "round") else name
    if name not in _SUBJECTS:
        known = ", ".join(_SUBJECTS)
        raise ValueError(f"{claim.ref} bounds {claim.functional.name} of a {name}: known subjects are {known}")
    return _SUBJECTS[name]


def from_setting(claim: Claim, setting: Setting, rounds: int, **given: Any) -> Point:
    """The exact point of a setting, for a claim; ``given`` are values of quantities that no setting has.

    Raises:
        ValueError: a setting makes no point of what the claim speaks of; it is said why.
    """
    subject = subject_of(claim)
    try:
        make = subject.from_setting
    except AttributeError:
        raise ValueError(f"{claim.ref} is about {subject.name}: no setting makes an exact point of it") from None
    return make(claim, setting, rounds, **given)


def findings(claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(name, sentence, evidence) of what the claim's subject has to say on its hypotheses."""
    own = getattr(subject_of(claim), "findings", None)
    return iter(()) if own is None else own(claim)
