"""How much an update counts: FedAU's weights, the law of participation intervals, and exact weight errors.

Needs numpy and scipy only.
"""

from .choice import RULE_OF_THUMB, best_cutoff, logarithmic_cutoff, weight_error_bound
from .cutoff_geometric import CutoffGeometric
from .dependent import (
    cyclic_long_run_weight,
    cyclic_weight_moments,
    markov_long_run_weight,
    markov_weight_moments,
)
from .fedau import FedAU
from .moments import WeightMoments, largest_scale, long_run_weight, weight_moments
from .objective import (
    average_participating_objective,
    fedau_objective,
    fixed_point,
    implied_objective,
    inconsistency_rate,
    known_statistics_objective,
    objective_minimiser,
)
from .rules import ExponentialAverage, Intervals, KnownStatistics, LongRun, Shared, WeightRule

__all__ = [
    "RULE_OF_THUMB",
    "CutoffGeometric",
    "ExponentialAverage",
    "FedAU",
    "Intervals",
    "KnownStatistics",
    "LongRun",
    "Shared",
    "WeightMoments",
    "WeightRule",
    "average_participating_objective",
    "best_cutoff",
    "cyclic_long_run_weight",
    "cyclic_weight_moments",
    "fedau_objective",
    "fixed_point",
    "implied_objective",
    "inconsistency_rate",
    "known_statistics_objective",
    "largest_scale",
    "logarithmic_cutoff",
    "long_run_weight",
    "markov_long_run_weight",
    "markov_weight_moments",
    "objective_minimiser",
    "weight_error_bound",
    "weight_moments",
]
