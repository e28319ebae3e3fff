"""Federated algorithms: a few kinds of round, and a rule that says which kind a round is.

- `fast`, `safari`: kinds of round that alternate.
- `fedavg`, `fedprox`, `fedavgm`, `fedadam`, `fedamplify`: one kind of round; local training, or the server, differ.
- `fedau`, `known_statistics`, `constant_weights`, `given_weights`: weights for clients that come at different rates.
- `fedvarp`, `mifa`, `afl`: the server remembers every client's latest update.
- `scaffold`, `fedlin`, `scaffnew`, `feddyn`: clients correct their steps by gradients that are remembered; `sag`,
  `saga`: the same for single steps; `fednova`: clients take different numbers of steps.
- `flics_avg`, `flics_adam`, `naive`: the server selects among groups of clients; `weighted_groups`: its
  rounds with given estimates.
- `custom_algorithm`: an algorithm of one's own, given as one function.

A kind of round in which clients train, `ClientRound`, is put together from parts: `aggregation`, `server`, `selection`.
What its clients do with their gradients is a solver: ``algorithm.trained_by(neural.SGD(momentum=0.9))``, or Adam.
"""

from ..schedule import StepRule
from .aggregation import (
    MIFA,
    Aggregation,
    AverageAll,
    AverageParticipating,
    Constant,
    FedAUWeights,
    FedVarp,
    GivenWeights,
    GroupWeights,
    Known,
    SampleShares,
    Updates,
)
from .algorithm import Algorithm, ClientRound, OwnRound, ServerRound, Weights
from .cohort_rules import GroupSelection, NaiveSelection, Selection, UniformSelection, VarSelection
from .corrected_steps import feddyn, fedlin, fednova, sag, saga, scaffnew, scaffold
from .custom_algorithm import Own, Round, StepError, own
from .every_round import EveryRound, fedadam, fedamplify, fedavg, fedavgm, fedprox
from .fast import Fast, fast
from .flics import flics_adam, flics_avg, naive, weighted_groups
from .linked_steps import check_theorem_4_tie, check_theorem_5_tie, theorem_4_server_lr, theorem_5_server_lr
from .safari import Safari, safari
from .server_step import Adam, Amplified, Momentum, Plain, Server
from .unknown_participation import afl, constant_weights, fedau, fedvarp, given_weights, known_statistics, mifa

__all__ = [
    "MIFA",
    "Adam",
    "Aggregation",
    "Algorithm",
    "Amplified",
    "AverageAll",
    "AverageParticipating",
    "ClientRound",
    "Constant",
    "EveryRound",
    "Fast",
    "FedAUWeights",
    "FedVarp",
    "GivenWeights",
    "GroupSelection",
    "GroupWeights",
    "Known",
    "Momentum",
    "NaiveSelection",
    "Own",
    "OwnRound",
    "Plain",
    "Round",
    "Safari",
    "SampleShares",
    "Selection",
    "Server",
    "ServerRound",
    "StepError",
    "StepRule",
    "UniformSelection",
    "Updates",
    "VarSelection",
    "Weights",
    "afl",
    "check_theorem_4_tie",
    "check_theorem_5_tie",
    "constant_weights",
    "fast",
    "fedadam",
    "fedamplify",
    "fedau",
    "fedavg",
    "fedavgm",
    "feddyn",
    "fedlin",
    "fednova",
    "fedprox",
    "fedvarp",
    "flics_adam",
    "flics_avg",
    "given_weights",
    "known_statistics",
    "mifa",
    "naive",
    "own",
    "safari",
    "sag",
    "saga",
    "scaffnew",
    "scaffold",
    "theorem_4_server_lr",
    "theorem_5_server_lr",
    "weighted_groups",
]
