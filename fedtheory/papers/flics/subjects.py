"""An example of FLICS's settings; its subject, selections, is the same for any algorithm."""

from fractions import Fraction

from ...algorithms import flics_avg
from ...claims.statement import Claim
from ...federations import Quadratic
from ...participation import Recorded
from ...setting import Setting
from ..paper import Example


def example(claim: Claim) -> Example:
    """Two groups of two and three clients at 1 and -1; so many of each are there in two rounds, of which the second one
    stays."""
    weight, groups = [Fraction(2, 5), Fraction(3, 5)], [0, 0, 1, 1, 1]
    own = [weight[group] / groups.count(group) for group in groups]
    federation = Quadratic.common_hessian([1, 1, -1, -1, -1], 2, Fraction(1, 4), objective_weight=own)
    algorithm = flics_avg(
        groups=groups, budget=[3, Fraction(5, 4)], budget_after="last", local_lr="1/100", group_weight=weight
    )
    present = Recorded.of_counts([[2, 1], [1, 3]], groups, after="last")
    stated = {
        "estimate_error": 0.3,
        "least_participation": 0.4,
        "descent_constant": 0.2,
        "relative_error": 0.5,
        "failure_probability": 0.1,
        "hidden_constant": 1.0,
    }
    stated = {name: value for name, value in stated.items() if name in claim.quantities}
    return Example(Setting(federation, algorithm, present, start=3), 8, stated)
