"""Evaluation of claims in floating point, over arrays."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functionals import HISTORY, OBJECTIVE_WEIGHT
from ..quantities import (
    DIMENSIONLESS,
    ORDERED_PAIRS,
    QUANTITIES,
    RUN_QUANTITIES,
    SERVER_RUN_QUANTITIES,
    Quantity,
    check_values,
)
from .arithmetic import Compiled, compiled, compiled_slack, compiled_term, seen_in_range
from .balls import fold
from .schedules import by_rule, difference, linked_from, rule_of

if TYPE_CHECKING:
    from ..setting import Setting
    from .statement import Claim

__all__ = ["CHOICE_TOLERANCE", "Bound", "at_setting", "compiled", "evaluate", "fold"]

CHOICE_TOLERANCE = 1e-9
"""Relative tolerance within which a setting's step size counts as the one that a claim chooses.

The choice is computed in floating point.
"""


ROUNDING = 1e-12
"""A dimensionless value below 0 by no more counts as 0: floating-point sums of numbers near 1 are off by less."""


@dataclass(frozen=True)
class Bound:
    """A claim at given values. What divides by zero follows the rule of ``fedtheory.claims.arithmetic``.

    Attributes:
        statement: the claim; ``claim`` is its ref.
        value: the right side; scalar or array, in the functional's units.
        terms: the right side's summands by name; +inf where one is undefined.
        slack: by hypothesis: >= 0 where it holds; ``None`` where a quantity of it is not known ("undecided").
        quantities: the values that went in, and those that the claim chose.
        rates: the printed O(.)'s at the values, without the constants that they hide, by name; ``None`` where a
            quantity of one is not known.
        undecided: by undecided hypothesis, the quantities that are missing.
        unused: what was given and is no quantity of the claim.
        rounded: what was given as a negative number within rounding of 0 (``ROUNDING``), and counts as 0.
        provenance: by quantity, where its value comes from (when taken from a setting).
    """

    statement: Claim
    value: np.ndarray
    terms: Mapping[str, np.ndarray]
    slack: Mapping[str, np.ndarray | None]
    quantities: Mapping[str, Any]
    provenance: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, np.ndarray | None] = field(default_factory=dict)
    undecided: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    rounded: tuple[str, ...] = ()

    @property
    def claim(self) -> str:
        """The claim's ref."""
        return self.statement.ref

    @property
    def hypotheses_hold(self) -> bool | None:
        """Whether every hypothesis holds everywhere; ``None`` if none fails but some is undecided."""
        if any(slack is not None and np.any(slack < 0) for slack in self.slack.values()):
            return False
        return None if any(slack is None for slack in self.slack.values()) else True


@dataclass(frozen=True)
class _Program:
    """A claim, compiled."""

    needed: tuple[str, ...]
    of_bound: tuple[str, ...]
    bound: Mapping[str, Compiled]
    choices: Mapping[str, Compiled]
    terms: Mapping[str, Compiled]
    slack: Mapping[str, tuple[frozenset[str], Compiled]]
    rates: Mapping[str, tuple[frozenset[str], Compiled]]
    used: frozenset[str]

    def lacking(self, known: Collection[str]) -> frozenset[str]:
        """The quantities of hypotheses and rates that are not known."""
        return self._may_lack.difference(known)

    @functools.cached_property
    def _may_lack(self) -> frozenset[str]:
        return frozenset().union(*(names for names, _ in (*self.slack.values(), *self.rates.values())))


@functools.lru_cache(maxsize=256)
def _program(claim: Claim) -> _Program:
    slacks = {h.name: h.slack for h in claim.hypotheses}
    of_a_run = {*RUN_QUANTITIES, *SERVER_RUN_QUANTITIES}
    needed = tuple(name for name in claim.quantities if name not in of_a_run and name not in claim.choices)
    sides = [*(term.expression for term in claim.terms), *claim.choices.values()]
    in_bound = {s.name for side in sides for s in side.free_symbols}
    in_rates = {s.name for rate in claim.rates for s in rate.expression.free_symbols}
    return _Program(
        needed,
        tuple(name for name in needed if name in in_bound),
        {name: compiled(value) for name, value in claim.bound.items()},
        {name: compiled(choice) for name, choice in claim.choices.items() if not by_rule(choice)},
        {term.name: compiled_term(term.expression) for term in claim.terms},
        {
            name: (frozenset(s.name for s in slack.free_symbols), compiled_slack(slack))
            for name, slack in slacks.items()
        },
        {
            rate.name: (frozenset(s.name for s in rate.expression.free_symbols), compiled_term(rate.expression))
            for rate in claim.rates
        },
        frozenset({*claim.quantities, *claim.bound, *in_rates}),
    )


def evaluate(claim: Claim, values: Mapping[str, Any]) -> Bound:
    """Evaluate a claim; see ``Claim.evaluate``."""
    claim = linked_from(claim, values)
    program = _program(claim)
    values, rounded = without_rounding(values)
    values = _with_bound(claim, values)
    arrays = checked(values)
    for name in claim.choices:
        if name in values:
            raise ValueError(f"{name} = {values[name]}: {claim.ref} chooses it, leave it out")
    missing = [name for name in program.of_bound if name not in values]
    if missing:
        raise ValueError(f"{claim.ref} needs {', '.join(missing)}")
    unused = () if program.used.issuperset(values) else tuple(name for name in values if name not in program.used)
    lacking = program.lacking(arrays.keys() | program.choices.keys())
    numbers = all(type(array) is np.float64 for array in arrays.values())
    at: Callable[..., Any] = Compiled.of_numbers if numbers else Compiled.__call__
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        with seen_in_range():
            chosen: dict[str, Any] = {name: at(choice, arrays) for name, choice in program.choices.items()}
            arrays |= chosen
            terms = {name: at(term, arrays) for name, term in program.terms.items()}
            slack, rates = (
                {
                    name: at(each, arrays) if lacking.isdisjoint(names) else None
                    for name, (names, each) in several.items()
                }
                for several in (program.slack, program.rates)
            )
        chosen |= {name: rule_of(claim, name, values) for name in claim.choices if name not in chosen}
        value: Any = functools.reduce(operator.add, terms.values())
    undecided = {
        name: tuple(n for n in claim.quantities if n in program.slack[name][0] - arrays.keys())
        for name, known in slack.items()
        if known is None
    }
    if _anywhere(value != value):  # inf - inf
        value = np.where(np.isnan(value), np.inf, value)[()]
    return Bound(claim, value, terms, slack, dict(values) | chosen, {}, rates, undecided, unused, rounded)


def without_rounding(values: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Replace negative numbers within rounding of 0 by 0, and name the quantities where that was done.

    It is done in [-ROUNDING, 0) for dimensionless quantities that may be 0 but not negative, such as variances that
    were computed by a difference.
    """
    rounded = {
        name: np.maximum(value, 0)
        for name, value in values.items()
        if (type(value) is not float or -ROUNDING <= value < 0) and _is_rounded(name, value)
    }
    return ({**values, **rounded}, tuple(rounded)) if rounded else (values, ())


def _is_rounded(name: str, value: Any) -> bool:
    known = QUANTITIES.get(name)
    if known is None or known.lower != 0 or known.positive or known.integer or known.units != DIMENSIONLESS:
        return False
    if isinstance(value, (float, int)):
        return -ROUNDING <= value < 0
    try:
        array = np.asarray(value, dtype=float)
        return bool(array.size and -ROUNDING <= array.min() < 0)  # false for NaN
    except (TypeError, ValueError, OverflowError):
        return False


def _with_bound(claim: Claim, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values with those that the claim binds quantities to, where these are not given."""
    if not claim.bound:
        return values
    left_out = {name: value for name, value in claim.bound.items() if name not in values}
    while ready := [name for name, value in left_out.items() if {s.name for s in value.free_symbols} <= values.keys()]:
        arrays = checked(values)
        values = {**values, **{name: _program(claim).bound[name](arrays) for name in ready}}
        left_out = {name: value for name, value in left_out.items() if name not in ready}
    return values


def at_setting(claim: Claim, setting: Setting, rounds: Any, overrides: Mapping[str, Any]) -> Bound:
    """Evaluate a claim at a setting; see ``Claim.at``."""
    from ..federations.constants import Constant

    asked = [name for name in claim.quantities if name not in overrides]
    stated = dict(overrides)
    if claim.functional.objective:
        stated[OBJECTIVE_WEIGHT] = claim.functional.objective
    known = setting.quantities(rounds, needed=asked, stated=stated)
    given = {name: value for name, value in overrides.items() if name not in (OBJECTIVE_WEIGHT, HISTORY)}
    plain = {name: value for name, value in given.items() if not isinstance(value, Constant)}
    known |= {name: value for name, value in given.items() if name not in plain}
    values = {name: constant.value for name, constant in known.items()} | plain
    provenance = {name: f"{constant.kind}: {constant.how}" for name, constant in known.items()}
    provenance |= dict.fromkeys(plain, "given")
    stated_values = _with_bound(claim, without_rounding(values)[0])
    provenance |= {name: f"bound to {claim.bound[name]}" for name in stated_values if name not in values}
    values = dict(stated_values)
    missing = [name for name in _program(claim).needed if name not in values]
    if missing:
        raise ValueError(f"{claim.ref} needs {', '.join(missing)}: {_reason(setting, rounds, missing[0], stated)}")
    own = {name: values.pop(name) for name in claim.choices if name in values}
    checked(own)
    bound = evaluate(claim, values)
    slack = dict(bound.slack)
    rules = [name for name, choice in claim.choices.items() if by_rule(choice)]
    for name, value in ((name, value) for name, value in own.items() if name not in rules):
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(bound.quantities[name] / np.asarray(value, dtype=float) - 1)
        slack[f"{name}_choice"] = np.where(off <= CHOICE_TOLERANCE, 0.0, -np.nan_to_num(off, nan=np.inf))[()]
    for name in rules:
        slack[f"{name}_choice"] = _slack_of_rule(bound.quantities[name], name, setting, rounds)
    return replace(bound, slack=slack, quantities={**bound.quantities, **own}, provenance=provenance)


def _slack_of_rule(chosen: Any, name: str, setting: Setting, rounds: Any) -> np.ndarray:
    """0 where the setting's own step sizes are those of the rule, else how far off they are, negative."""
    own, kinds = setting.algorithm.number(name), setting.algorithm.client_rounds
    steps = kinds[0].local_steps if kinds else int(setting.algorithm.number("local_steps") or 1)
    horizon = 10**9 if rounds is None else int(np.max(rounds))
    off = np.vectorize(lambda rule: difference(rule, own, steps, horizon), otypes=[float])(chosen)
    return np.where(off <= CHOICE_TOLERANCE, 0.0, -off)[()]


def _reason(setting: Setting, rounds: Any, missing: str, stated: Mapping[str, Any]) -> str:
    """Why the setting does not have the quantity, and who could supply it."""
    try:
        setting.quantities(rounds, needed=[missing], stated=stated, strict=True)
    except ValueError as reason:
        return str(reason)
    return "state its value"


def checked(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Turn values into floats, -0.0 into 0.0, and check them.

    Raises:
        ValueError: as ``check_values``, which finds the words; here it is only seen, in one pass over each array,
            whether there is anything to say.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, value in values.items():
        array = _allowed_floats(QUANTITIES[name], value) if name in QUANTITIES else None
        if array is None:
            check_values(values)
            array = np.asarray(value, dtype=float) + 0.0
        arrays[name] = array
    if any(
        small in arrays and large in arrays and _anywhere(arrays[small] > arrays[large])
        for small, large in ORDERED_PAIRS
    ):
        check_values(values)
    return arrays


def _anywhere(flags: Any) -> bool:
    """Whether one of the flags, or the one flag, is set."""
    return bool(flags) if type(flags) is np.bool_ else bool(flags.any())


def _allowed_floats(known: Quantity, value: Any) -> np.ndarray | None:
    """A number or an array of numbers as floats, if all are plainly allowed."""
    if type(value) is float:
        inside = known.lower <= value <= known.upper and -math.inf < value < math.inf
        allowed = inside and (value != 0 or not known.positive) and not (known.integer and value % 1)
        return np.float64(value + 0.0) if allowed else None  # type: ignore[return-value]
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**53):
        low = high = value
        fractional = known.integer and math.isfinite(value) and value != int(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size:
        low, high = value.min(), value.max()  # NaN if any entry is
        fractional = known.integer and value.dtype.kind == "f" and bool((value != np.rint(value)).any())
    else:
        return None
    inside = known.lower <= low and high <= known.upper and -math.inf < low and high < math.inf
    if fractional or not inside or (known.positive and low == 0):
        return None
    if isinstance(value, np.ndarray):
        return np.asarray(value, dtype=float) + 0.0 if low == 0 else np.asarray(value, dtype=float)
    scalar: Any = np.float64(value + 0.0)
    return scalar
