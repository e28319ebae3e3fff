"""Participation processes, which decide the clients of each round.

- `Uniform`, `Weighted`, `IndexBeta`, `IndexGamma`, `IndexWeibull`: a cohort of one size, drawn afresh every round.
- `Bernoulli`: every client for itself; `Markov`, `Cyclic`: with a memory. `participation_probabilities` are FedAU's.
- `UniformGroups`, `PoissonGroups`, `DayNightGroups`, `RandomPatterns`: FLICS's availability, client by client.
- `GroupChain`: how many of each group are there, by any finite law, with or without a memory.
- `Fixed`, `Phases`, `Recorded`: sets, schedules and traces (`read_log`; `read_intervals`, `rounds_of`; `read_usage`,
  `light_use`); `Resampled`: blocks of a trace in random order.
- `LargestNoise`: the clients whose gradient noise is largest, which most theorems exclude without a word.
- `Incomplete`: any of these, some clients never taking part; `Mixture`: one of several in every round.

`history` draws many rounds; `estimated_marginal` is for a process whose moments have no formula.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
