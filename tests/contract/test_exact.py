"""Exact moments, where they are known, against simulated runs."""

from __future__ import annotations

import pytest

from fedtheory.testing.algorithm_checks import moments_are_those_of_runs

from .table import ALGORITHMS, PROCESSES, refusal, setting

ROUNDS, REPLICAS, SEED = 5, 2000, 0
CONFIDENCE = 0.99
"""That no number of the whole table lies outside its band by chance: each band has its share of the remaining 1%."""

MEMORYLESS = ["fast, probability", "safari", "fedavg", "average all", "fedprox", "known", "known from the process",
              "constant", "afl, cross device", "weighted", "fedavg, by rule"]  # fmt: skip
REMEMBERING = ["fedavgm", "fedvarp", "mifa", "mifa, staying"]
NOT_COMPARED = ["Cyclic", "RandomPatterns", "GroupChain", "Mixture", "Resampled"]
"""Rounds depend on each other for ever, which is followed exactly at a high price ("Cyclic"), or not at all; or the law
of their size is not known."""

TABLE = [(a, p) for a in MEMORYLESS + REMEMBERING for p in PROCESSES
         if p not in NOT_COMPARED and refusal(a, p, "quadratic") is None]  # fmt: skip
TABLE += [
    (a, p) for a in ("fast, period", "fast, proximal and momentum") for p in ("Bernoulli", "UniformGroups", "Weighted")
]
SHARES_NOT_KNOWN = ["Weighted", "IndexBeta", "IndexGamma", "IndexWeibull", "UniformGroups", "PoissonGroups",
                    "DayNightGroups"]  # fmt: skip
"""Whose cohorts are so many that shares by samples, which depend on all of a cohort, are not summed."""
TABLE += [("by samples", p) for p in PROCESSES if p not in NOT_COMPARED + SHARES_NOT_KNOWN]
FEW = ["with replacement", "Bernoulli"]
TABLE += [("given", process) for process in FEW]
TABLE += [("own", process) for process in [*FEW, "Multinomial", "Markov", "Recorded", "Incomplete", "Uniform", "Fixed"]]


def compare(algorithm: str, process: str) -> None:
    """Bands are narrow enough to say something."""
    level = (1 - CONFIDENCE) / len(TABLE)
    assert moments_are_those_of_runs(setting(algorithm, process), SEED, level=level, widest=0.25,
                                     replicas=REPLICAS)  # fmt: skip


@pytest.mark.parametrize(("algorithm", "process"), [row for row in TABLE if row[1] in FEW])
def test_exact_moments_are_those_of_the_runs(algorithm: str, process: str) -> None:
    compare(algorithm, process)


@pytest.mark.slow
@pytest.mark.parametrize("process", [process for process in PROCESSES if process not in FEW])
def test_the_same_under_every_process(process: str) -> None:
    rows = [algorithm for algorithm, brought in TABLE if brought == process]
    assert bool(rows) != (process in NOT_COMPARED)
    for algorithm in rows:
        compare(algorithm, process)


@pytest.mark.parametrize("algorithm", ["fedadam", "fedau", "fedau, no cutoff"])
def test_moments_that_do_not_close_are_refused(algorithm: str) -> None:
    with pytest.raises(ValueError, match="moments"):
        setting(algorithm, "Bernoulli").exact([ROUNDS])


@pytest.mark.parametrize("process", SHARES_NOT_KNOWN)
def test_shares_by_samples_that_are_not_known_are_refused(process: str) -> None:
    with pytest.raises(ValueError, match="the moments of shares by samples are known here for Bernoulli and Uniform"):
        setting("by samples", process).exact([ROUNDS])


def test_every_algorithm_is_compared_or_known_not_to_close() -> None:
    open_ones = {"fedadam", "fedamplify", "fedau", "fedau, no cutoff", "fast, adaptive"}
    selecting = {name for name in ALGORITHMS if name.startswith(("flics", "naive"))}
    assert set(ALGORITHMS) == {a for a, _ in TABLE} | open_ones | selecting
