"""What an instance of runs fixes, exactly: the quantities that a claim may speak of."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import sympy

from ..claims.balls import Number, ball, decimal, evaluate_in_balls, rational_value
from ..claims.statement import Claim
from .instance import Instance


def exact_quantities(instance: Instance, statement: Claim) -> dict[str, Number]:
    """Every quantity that the instance fixes, with the step size that the claim chooses; exact, but for lengths that
    are square roots and for steps that are irrational."""
    fed = instance.federation
    shift = np.array(instance.start) - fed.exact_optimum
    values = {
        **true_constants(instance),
        **instance.constants,
        "initial_gap": shift @ (fed.exact_hessians.sum(0) / Fraction(fed.clients)) @ shift / 2,
        "initial_distance": ball(shift @ shift).sqrt(),
        "clients": Fraction(fed.clients),
        "cohort": Fraction(instance.cohort),
        "arbitrary_cohort": Fraction(len(instance.members)),
        "local_steps": Fraction(instance.local_steps),
        "local_lr": instance.local_lr,
        "rounds": Fraction(instance.rounds),
        "snapshot_probability": instance.probability,
    }
    if instance.period is not None:
        values["snapshot_period"] = Fraction(instance.period)
    if instance.local_lr is None:
        values["local_lr"] = chosen_step(statement, "local_lr", values)
    return values


def chosen_step(statement: Claim, name: str, values: Mapping[str, Number]) -> Number:
    """The step size of this name that the claim chooses; exact where it is rational.

    Raises:
        ValueError: it is not a number > 0.
    """
    choice = known(statement.choices[name], values)
    enclosure = evaluate_in_balls(choice, values)
    if not enclosure > 0:
        raise ValueError(f"{name}: {statement.ref} chooses {decimal(enclosure)} here, allowed is a number > 0")
    exact = rational_value(choice, values)
    return enclosure if exact is None or not enclosure.overlaps(ball(exact)) else exact


def true_constants(instance: Instance, squared: bool = False) -> dict[str, Number]:
    """The federation's constants; ``squared``: its lengths squared, which makes them rational. Without a common
    Hessian there is no dissimilarity."""
    fed = instance.federation
    eigenvalues = [v for row in instance.hessians for v in row]
    constants = {
        "smoothness": max(eigenvalues),
        "strong_convexity": min(eigenvalues),
        "gradient_noise": fed.exact_gradient_noise,
    }
    if fed.has_common_hessian:
        square = fed.exact_squared_dissimilarity
        constants["dissimilarity"] = square if squared else ball(square).sqrt()
    return constants


def known(expression: sympy.Expr, values: Mapping[str, Number]) -> sympy.Expr:
    """The expression, of which every quantity has a value."""
    unknown = sorted({s.name for s in expression.free_symbols} - set(values))
    if unknown:
        raise ValueError(f"{unknown[0]}: such an instance does not have it, or cannot enclose it")
    return expression
