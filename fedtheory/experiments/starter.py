"""A commented experiment file to begin with, which runs as it is."""

from __future__ import annotations

import textwrap

from .keys import keys

HEAD = """\
# An experiment. `fedtheory run {name}` runs it, or goes on with it;
# `fedtheory run {name} --set algorithm.local_lr=0.05` runs it with another value.
# What stands after a # is another possibility; `fedtheory new --keys` prints every key with its default.

title = "FedAvg on handwritten digits"

[federation]
kind = "Network"
dataset = "digits"
model = { kind = "multinomial_logistic", features = 64 }
partition = { kind = "Dirichlet", clients = 20, alpha = 0.3, test = 0.2 }
batch_size = 16
# partition = { kind = "LabelDirichlet", clients = 20, alpha = 0.3, least = 1, test = 0.2 }  # unbalanced
# partition = { kind = "LabelsPerClient", clients = 20, labels = 2, test = 0.2 }
# local_epochs = 2  # a visit is two passes over a client's points; then local_steps is the most steps that it has
# drop_last = true  # an epoch leaves out the points after its last whole batch
# objective = "samples"  # F weighs clients by their points
# A network and data of your own, from a Python file beside this one, which is executed; further keys are arguments:
# model = { kind = "mine.py:Net", width = 32 }
# dataset = "mine.py:points"

[algorithm]
kind = "fedavg"
local_lr = 0.1
local_steps = 5
# average = "samples"  # n_i / (the sum of n_j over the cohort)
# local_lr = "1/(10 + round_index)"  # a rule in round_index and step_index
# local_lr = "piecewise((0.1, round_index < 20), (0.01, True))"  # milestones
# local_lr = "(1 + cos(pi*round_index/40))/20"  # cosine
# kind = "fedau"  # weights for clients that come at different rates
# kind = "mine.py:algorithm"  # a function that returns an algorithm

# [local_solver]
# kind = "SGD"
# momentum = 0.9

[participation]
kind = "Uniform"
cohort = 5
# Without this table everyone takes part. By what clients hold:
# [participation]
# kind = "ByClass"
# pattern = "Markov"
# mean = 0.3
# Or a process of your own:
# [participation]
# kind = "mine.py:Rotating"

[run]
rounds = 40
"""

TAIL = """
# Numbers of a run; without these, the last value of everything that is watched.
# [[statistics]]
# of = "test_accuracy"
# take = "mean"
# last = 5

# Settings: every combination of these values.
# [grid]
# "algorithm.local_lr" = [0.05, 0.1]

# Settings by name.
# [[variants]]
# name = "plain"
# [[variants]]
# name = "by samples"
# set = { "algorithm.average" = "samples" }
"""


EXAMPLES = {
    "record_every": "5", "observers": '[{ kind = "evaluation", of = "test", every = 5 }]', "dtype": '"float64"',
    "checkpoint_every": "10", "keep_models": "10", "memory_limit": "4294967296",
    "seeded": '["federation.partition.seed"]', "pilot": "[0]",
}  # fmt: skip
"""Values of keys of ``run`` whose default is not one that a file could have."""


def starter(name: str) -> str:
    """The text of a file of this name."""
    lines = []
    for each in keys():
        table, _, key = each.name.partition(".")
        if table == "run" and key not in ("", "rounds"):
            said = f"{key} = {each.default or EXAMPLES[key]}  # {each.meaning.replace('``', '')}"
            lines += textwrap.wrap(said, 114, initial_indent="# ", subsequent_indent="#     ")
    return (HEAD + "\n".join(lines) + "\n" + TAIL).replace("{name}", name)
