"""Selection of clients by the server: the problems of FLICS-OPT, solved exactly at scale.

- `var`: the rates of one round, in batches (problem (5)-(6)).
- `offvar`: the best plan in hindsight (problem (8)), with a certificate; `lower_bound` from any prices.
- `online`: the policy of Algorithm 1 along a trace; `genie_gap` compares it with `offvar`.
- `fair`, `stationary`: other objectives, and policies for a known availability law.
- `Round`: exact moments of the aggregated update.
- `rounded`: whole numbers of clients.
- availability processes and readers of availability, budget and weights files.
"""

from .availability import CyclicAvailability, PoissonAvailability, UniformAvailability
from .fairness import FairSolution, StationaryPolicy, fair, stationary
from .offline import OffVarSolution, lower_bound, offvar, proxy
from .online import GenieGap, OnlineRun, genie_gap, online
from .readers import Availability, read_availability, read_budget, read_group_weight
from .update_moments import AggregateMoments, Round
from .variance import VarSolution, var
from .whole_clients import rounded

__all__ = [
    "AggregateMoments",
    "Availability",
    "CyclicAvailability",
    "FairSolution",
    "GenieGap",
    "OffVarSolution",
    "OnlineRun",
    "PoissonAvailability",
    "Round",
    "StationaryPolicy",
    "UniformAvailability",
    "VarSolution",
    "fair",
    "genie_gap",
    "lower_bound",
    "offvar",
    "online",
    "proxy",
    "read_availability",
    "read_budget",
    "read_group_weight",
    "rounded",
    "stationary",
    "var",
]
