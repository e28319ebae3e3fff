"""Tightness of a claim about an algorithm of one's own: its bound against the worst case over convex functions.

The rounds are followed along all cohorts and draws, so this is for two clients and one round or two, without noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..algorithms.custom_algorithm import Own
from ..assumptions import UNIFORM_COHORTS
from ..claims.evaluation import Bound
from ..claims.statement import Claim
from ..functionals import AVERAGES
from ..papers.registry import algorithm_of, algorithms, papers
from ..quantities import QUANTITIES, symbol
from ..rationals import exact_number
from ..worstcase.classes import convex, strongly_convex
from ..worstcase.program import METRICS
from ..worstcase.worst import worst_case
from .function_class import NotApplicable, differences
from .matched_problem import DEFAULTS, matched, own_quantities

CLIENTS, ROUNDS = 2, (1, 2)
"""Number of clients where none is given, and the numbers of rounds that are looked at."""

DISSIMILARITY = {
    "dissimilarity": Fraction(1, 100),
    "dissimilarity_at_optimum": Fraction(1, 100),
    "dissimilarity_offset": Fraction(1, 100),
    "dissimilarity_factor": Fraction(1),
}
"""Values of what bounds how clients differ, where they are not given; of the first three, the first that the claim has
bounds |grad F_i(x*)|."""


def step_of(statement: Claim) -> Own | None:
    """Return the algorithm of one's own that a claim is about, or ``None``."""
    name = algorithm_of(statement) or ""
    own = [known] if (known := papers().get(statement.paper)) else []
    for paper in (*own, *algorithms().get(name, ())):
        found = getattr(paper.subjects.get(name), "algorithm", None)
        if isinstance(found, Own):
            return found
    return None


def bounds_and_worst(
    statement: Claim, algorithm: Own, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[tuple[int, float, float | None]], tuple[str, ...]]:
    """Return the quantities, (rounds, bound, worst case) for few rounds, and how the class differs from the claim's.

    A worst case is ``None`` where the solve was inaccurate.

    Raises:
        NotApplicable: no worst case is known of what the claim bounds.
        ValueError: a quantity is unknown or not allowed, or no choice of the others meets the hypotheses.
    """
    if statement.functional.name not in METRICS:
        raise NotApplicable(f"it bounds {statement.functional.name}, no error of a run that a worst case is known of")
    defaults = _defaults(statement, algorithm, given)
    if unknown := set(statement.quantities) - defaults.keys() - {"local_lr"}:
        raise NotApplicable(f"no worst case knows of its {', '.join(sorted(unknown))}")
    if exact_number("gradient_noise", given.get("gradient_noise", 0)):
        raise NotApplicable("gradient_noise: worst cases of a step of one's own are without noise")
    quiet = {"gradient_noise": 0} if "gradient_noise" in own_quantities(statement) else {}

    def compared(bound: Bound, values: dict[str, Fraction]) -> tuple[dict[str, Any], Any]:
        try:
            return values, _after(statement, algorithm, values)
        except NotApplicable as error:  # other quantities would not help
            return values, error

    values, found = matched(statement, {**given, **quiet}, compared, defaults)
    if isinstance(found, NotApplicable):
        raise found
    said, _ = differences(statement)
    zeta = _dissimilarity(statement)
    more = ["the functions are convex, the noise is 0"]
    more += ["the start is at most a distance away, from which its gap follows"] * ("initial_gap" in values)
    more += [f"of {zeta} it keeps that |grad F_i(x*)| is at most that, in the mean of squares"] * bool(zeta)
    return values, found, (*said, *more)


def _defaults(statement: Claim, algorithm: Own, given: Mapping[str, Any]) -> dict[str, Fraction]:
    numbers = {n: v for n, v in algorithm.numbers.items() if n in QUANTITIES and isinstance(v, Fraction)}
    base = {**DEFAULTS, **DISSIMILARITY, **numbers, "clients": Fraction(CLIENTS), "rounds": Fraction(1)}
    base.pop("local_lr", None)
    clients = int(given.get("clients", CLIENTS))
    bound = statement.bound.get("arbitrary_cohort")
    few = UNIFORM_COHORTS in statement.assumed or "cohort" in statement.quantities
    cohort = 1 if few else clients
    cohort = clients if bound == symbol("clients") else int(bound) if bound is not None and bound.is_Integer else cohort
    base |= {"arbitrary_cohort": Fraction(cohort), "cohort": Fraction(cohort)}
    L, D = (exact_number(n, given.get(n, 1)) for n in ("smoothness", "initial_distance"))
    return base | {"initial_gap": L * D**2 / 2}


def _dissimilarity(statement: Claim) -> str:
    """What bounds |grad F_i(x*)| in a claim, or ""."""
    asked = {*statement.quantities, *(a.quantity for a in statement.assumptions)}
    return next((name for name in DISSIMILARITY if name in asked and name != "dissimilarity_factor"), "")


def _after(statement: Claim, algorithm: Own, values: Mapping[str, Any]) -> list[tuple[int, float, float | None]]:
    L, mu, zeta = values["smoothness"], values["strong_convexity"], _dissimilarity(statement)
    strong = "strongly_convex" in statement.assumed and mu
    functions = strongly_convex(smoothness=L, strong_convexity=mu) if strong else convex(smoothness=L)
    numbers = {n: values[n] for n in algorithm.numbers if n in values}
    uniform = UNIFORM_COHORTS in statement.assumed or "cohort" in statement.quantities
    size = int(values["cohort" if "cohort" in statement.quantities else "arbitrary_cohort"])
    clients = int(values["clients"])
    who: dict[str, Any] = {"cohort" if uniform else "arbitrary_cohort": size} if size < clients else {}
    readings = {a.name: a.options[0] for a in statement.ambiguities}
    found: list[tuple[int, float, float | None]] = []
    why = "no number of rounds meets the hypotheses"
    for rounds in ROUNDS if "rounds" in statement.quantities else ROUNDS[:1]:
        inside = {n: v for n, v in values.items() if n in statement.quantities and n not in statement.choices}
        bound = statement.evaluate(**inside | ({"rounds": Fraction(rounds)} if "rounds" in inside else {}))
        if bound.hypotheses_hold is False:
            continue
        try:
            worst = worst_case(
                functions,
                algorithm.with_numbers(**numbers),
                rounds=rounds,
                metric=statement.functional.name,
                average=readings.get("average", AVERAGES[0]),
                clients=clients,
                distance=values["initial_distance"],
                dissimilarity_at_optimum=values[zeta] if zeta else None,
                **who,
            )
        except ValueError as error:  # not affine, or too large
            why = str(error)
            break
        found.append((rounds, float(bound.value), worst.value))
    if not found:
        raise NotApplicable(why)
    return found
