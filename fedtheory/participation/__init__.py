"""Who shows up: participation processes.

- `Uniform`, `Weighted`, `IndexBeta`, `IndexGamma`, `IndexWeibull`: a cohort of one size, drawn afresh every round.
- `Bernoulli`: every client for itself; `Markov`, `Cyclic`: with a memory. `participation_probabilities` are FedAU's.
- `UniformGroups`, `PoissonGroups`, `DayNightGroups`, `RandomPatterns`: FLICS's availability, client by client.
- `Fixed`, `Phases`, `Recorded`: sets, schedules and traces (`read_intervals`, `rounds_of`; `read_usage`, `light_use`).
- `Incomplete`: any of these, some clients never taking part; `Mixture`: one of several in every round.

`history` draws many rounds; `estimated_marginal` is for a process whose moments have no formula.
"""

from .base import AnySize, Inclusion, Keys, Participation, history
from .bernoulli import Bernoulli
from .estimate import EstimatedInclusion, estimated_marginal
from .fedau import class_weights, participation_probabilities
from .groups import DayNightGroups, GroupAvailability, PoissonGroups, UniformGroups
from .incomplete import Incomplete
from .index_laws import IndexGamma, IndexWeibull
from .memory import Cyclic, Markov
from .mixture import Mixture
from .processes import Fixed, Phases, Uniform
from .recorded import RandomPatterns, Recorded
from .tables import Table, read_intervals, read_usage
from .traces import LightUse, light_use, rounds_of
from .weighted import IndexBeta, Weighted

__all__ = [
    "AnySize",
    "Bernoulli",
    "Cyclic",
    "DayNightGroups",
    "EstimatedInclusion",
    "Fixed",
    "GroupAvailability",
    "Inclusion",
    "Incomplete",
    "IndexBeta",
    "IndexGamma",
    "IndexWeibull",
    "Keys",
    "LightUse",
    "Markov",
    "Mixture",
    "Participation",
    "Phases",
    "PoissonGroups",
    "RandomPatterns",
    "Recorded",
    "Table",
    "Uniform",
    "UniformGroups",
    "Weighted",
    "class_weights",
    "estimated_marginal",
    "history",
    "light_use",
    "participation_probabilities",
    "read_intervals",
    "read_usage",
    "rounds_of",
]
