"""Part of the goals of claims on answers: which quantities a bound's parameters have to be, and how the claim is
read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import sympy

from ..claims import readings
from ..claims.statement import Claim
from . import weight_goals
from .kernel.answer_bounds import (
    AGGREGATE_BIAS,
    INNER_PRODUCT,
    MEAN_SQUARED_GRADIENT,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
)
from .kernel.number_bounds import RATIO_FAILURE, VALUE
from .kernel.run_bounds import RunBound
from .kernel.scalars import Scalar

OF_ANSWERS = (
    MEAN_SQUARED_GRADIENT, INNER_PRODUCT, SQUARED_AGGREGATE, AGGREGATE_BIAS, SQUARED_SELECTED_VECTOR, RATIO_FAILURE,
    VALUE,
)  # fmt: skip
"""Functionals of answers, and of numbers: the rounds are those of the bound's rule, and no engine's."""

_UNDIVIDED = {readings.LINE_14: readings.NOT_DIVIDED}
READ: Mapping[str, Mapping[str, str]] = {
    MEAN_SQUARED_GRADIENT: _UNDIVIDED, INNER_PRODUCT: _UNDIVIDED, SQUARED_AGGREGATE: _UNDIVIDED,
    AGGREGATE_BIAS: _UNDIVIDED,
}  # fmt: skip
"""Readings of how the answers are added up, by what is bounded."""

WHICHEVER: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    MEAN_SQUARED_GRADIENT: {readings.START: (readings.FORGOTTEN, readings.COUNTED)},
    **weight_goals.WHICHEVER,
}
"""Ambiguities whose options, all of these, make no difference, by what is bounded."""

PLANNED, RECEIVED, PAST = "planned counts", "received counts", "planned counts, given the past alone"
LAWS: Mapping[str, tuple[Mapping[str, str], str]] = {
    PLANNED: ({"rms_mismatch": "weight_mismatch", "mean_proxy": "selection_proxy"}, readings.PLANNED),
    RECEIVED: ({"rms_mismatch": "answer_mismatch", "mean_proxy": "answer_proxy"}, readings.RECEIVED),
    PAST: (
        {"rms_mismatch": "mean_mismatch", "mean_second_moment": "selection_proxy + rate_spread"}, readings.PLANNED,
    ),
}  # fmt: skip
"""Laws of the weights of a run: what its parameters are, and how the counts are read."""

_SAME = (
    "local_lr", "rounds", "initial_gap", "gradient_norm", "squared_mean_update", "squared_state_update",
    "squared_mean_vector", "mean_squared_vector", "vector_covariance", "largest_estimate_error",
    "least_group_participation", "mean_update_length", "group_clients", "response_probability", "relative_error",
)  # fmt: skip
PARAMETERS: Mapping[str, str] = {
    **{name: name for name in _SAME}, "selected_lr": "global_lr*local_lr", "mismatch": "weight_mismatch",
    "mean_proxy": "selection_proxy", "level": "failure_probability", "logarithm": "log(1/failure_probability)",
}  # fmt: skip
"""Expression in quantities that each other parameter is."""

OF_HYPOTHESES = frozenset({readings.CONSTANTS, readings.FRACTIONS, readings.Q_CONDITION, readings.ROOT})
"""The ambiguities that concern a claim's hypotheses alone, or an expression that is its left side, so that a proof may
name the option that it covers."""


def whichever(claim: Claim) -> set[str]:
    """Return the ambiguities of a claim of whose options it makes no difference which is read."""
    all_of = WHICHEVER.get(claim.functional.name, {})
    return {a.name for a in claim.ambiguities if {*a.options} <= {*all_of.get(a.name, ())}}


Read = Callable[[sympy.Expr], Scalar]


def law_of(bound: RunBound, read: Read) -> tuple[Mapping[str, str], str] | None:
    """Return the only law of the weights that a bound on a run is of, or ``None``."""
    of = {name: value for name, value in bound.parameters if any(name in law for law, _ in LAWS.values())}
    fits = [
        (law, option) for law, option in LAWS.values()
        if law.keys() == of.keys() and all(of[name] == _read(text, read) for name, text in law.items())
    ]  # fmt: skip
    return fits[0] if len(fits) == 1 else None


def readings_of(bound: RunBound, read: Read) -> dict[str, str]:
    """Return the option of every ambiguity under which a bound on answers holds."""
    law = law_of(bound, read) if bound.functional == MEAN_SQUARED_GRADIENT else None
    return {**READ.get(bound.functional, {}), **({} if law is None else {readings.COUNTS: law[1]})}


def other_parameters(bound: RunBound, read: Read) -> Iterator[str]:
    """List in words the parameters that are not the quantities that they have to be."""
    law = law_of(bound, read) if bound.functional == MEAN_SQUARED_GRADIENT else None
    if bound.functional == MEAN_SQUARED_GRADIENT and law is None:
        yield f"delta, V or W: allowed are those of {', '.join(LAWS)}"
    known = {**PARAMETERS, **(law[0] if law else {})}
    for name, value in bound.parameters:
        if name != VALUE and (name not in known or value != _read(known[name], read)):
            yield f"{name} = {value}: allowed is {known.get(name, 'no such parameter')}"


def _read(text: str, read: Read) -> Scalar | None:
    """Return what a sum or product of quantities is in the bound's letters; ``None`` where one has no letter."""
    if text.startswith("log(1/"):
        return read(sympy.log(1 / sympy.Symbol(text[len("log(1/") : -1])))
    joined = sympy.Add if "+" in text else sympy.Mul
    try:
        return read(joined(*map(sympy.Symbol, text.replace("+", "*").replace(" ", "").split("*"))))
    except ValueError:
        return None
