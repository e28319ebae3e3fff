"""Check an algorithm, a built-in one or one's own, against what runs and exact moments rely on.

Each check is one function of settings, which the project's own tests call too.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from ..algorithms import Algorithm, own
from ..algorithms.algorithm import ServerRound
from ..federations import Federation
from ..participation import Bernoulli, Fixed, Participation, Recorded, Uniform, history
from ..setting import Setting
from ..simulation import Run, simulate
from ..simulation.iterates import iterates
from . import check_errors
from .settings import CLIENTS, STARTS, alike, logistic, quadratic
from .weight_checks import Report

ROUNDS, REPLICAS = 5, 3
"""Number of rounds and replicas of runs that are compared with each other."""

SAMPLE = 8000
"""Number of replicas of a run that is compared with exact moments."""

LEVEL = 1e-7
"""Probability that the runs of a correct algorithm lie outside their bands."""

ROUNDING, ROUNDING_SINGLE, RENAMED = 1e-12, 1e-4, 1e-11
"""Tolerances for rows of order 1: for another order of summation, for single precision, and for another order of
the clients. Single precision rounds at 1e-7, which Adam's small denominators enlarge."""

SETTLED_AFTER, SETTLED = 3000, 0.01
"""Number of rounds after which a run without noise has settled, and the share of its initial distance to the
objective's minimiser that may be left."""

STAYS, MOVES = "stays", "moves"


def check_algorithm(
    algorithm: Algorithm | Callable[..., Any],
    *,
    memory: Mapping[str, str] | None = None,
    clients: int = CLIENTS,
    renamed: Callable[[Sequence[int]], Algorithm] | None = None,
    when_empty: str | None = None,
    objective_weight: Sequence[Any] | None = None,
    settles_under: Participation | None = None,
    seed: int = 0,
    **numbers: Any,
) -> Report:
    """Check an algorithm: raise an error that names the first property that fails.

    The properties, each with the error that reports its failure:

    - A replica gives the same results alone and in a batch (`ReplicaBatchError`).
    - Replicas differ (`AlikeReplicasError`).
    - A round without participants leaves the model where it is (`EmptyRoundError`).
    - Single precision differs from double precision by rounding only (`PrecisionError`).
    - A run that was stopped goes on with the same bits (`StoppedRunError`).
    - The numbering of the clients does not matter (`RenamedClientsError`).
    - Where moments close, they agree with simulated runs (`SimulatedMomentsError`). An error of 10% in a mean is found
      with probability 0.99 if the standard deviation of the runs equals the mean. A correct algorithm is refused for
      one seed in 10^7.
    - With clients of one curvature that all take part, the algorithm settles at the minimiser of its objective
      (`FixedPointError`). This is exact where moments close; otherwise it is tried by 3000 rounds without noise.

    Args:
        algorithm: an algorithm of ``fedtheory.algorithms``; or a custom step, with its ``memory`` and numbers as in
            ``algorithms.custom_algorithm``.
        clients: the number of clients it is run on.
        renamed: a function from an order of the clients to the algorithm with its clients in that order. Without it,
            the numbering is not checked for an algorithm that refers to clients by number.
        when_empty: "stays" or "moves": what the model does in a round in which nobody takes part. By default it may
            move if the algorithm draws its own cohorts, has server rounds, or steps from memory. A custom step may
            move if it has ``memory``, such as a velocity.
        objective_weight: the weights of the objective at whose minimiser it settles; by default the algorithm's own.
        settles_under: the participation under which it settles; by default everyone takes part.

    Returns:
        The names of the properties that were checked.

    Raises:
        PropertyError: the subclass named above; it is an AssertionError.
        ValueError: an algorithm that does not run, or what `own` refuses.

    >>> def averaging(x, memory, round, *, local_lr):
    ...     return x + (round.share * round.train(x, local_lr)).sum(1), {}
    >>> print(*check_algorithm(averaging, local_lr="1/8"), sep=", ")  # doctest: +ELLIPSIS
    replicas alone and in a batch, ..., exact moments, fixed point
    """
    if not isinstance(algorithm, Algorithm):
        algorithm = own(algorithm, memory=memory, **numbers)
    elif memory is not None or numbers:
        raise ValueError(f"{', '.join(numbers) or 'memory'}: allowed with a step alone; this is an algorithm already")
    if when_empty not in (None, STAYS, MOVES):
        raise ValueError(f"when_empty = {when_empty!r}: allowed is {STAYS!r} or {MOVES!r}")
    told: dict[str, str] = {}
    coming = Bernoulli([Fraction(1, 4 + i % 3) for i in range(clients)])
    on_quadratic = _accepted(quadratic(range(clients), gradient_noise=2.5, server_noise=1.5), algorithm, coming)
    noisy = logistic(range(clients), gradient_noise=0.2, noise="gaussian", server_noise=0.1)
    setting = on_quadratic or Setting(noisy, algorithm, coming, STARTS["logistic"])
    alone_as_in_a_batch(setting, seed)
    told["replicas alone and in a batch"] = ""
    replicas_differ(replace(setting, participation=Uniform(min(2, clients))), seed)
    told["replicas that differ"] = ""
    moving = moves_when_empty(algorithm) or bool(getattr(algorithm.kinds[0], "memory", ()))
    if (when_empty or (MOVES if moving else STAYS)) == STAYS:
        empty_rounds_change_nothing(setting, seed)
        told["empty rounds"] = ""
    in_single_precision(replace(setting, federation=_two_point(setting.federation, clients)), seed)
    told["single precision"] = f"within {ROUNDING_SINGLE:g}"
    with tempfile.TemporaryDirectory() as folder:
        goes_on_after_a_stop(setting, Path(folder), seed)
    told["runs that were stopped"] = ""
    if renamed is not None or not names_clients(algorithm, clients):
        _check_names(setting, renamed or (lambda order: algorithm), clients, seed)
        told["names of clients"] = ""
    if on_quadratic and moments_are_those_of_runs(on_quadratic, seed):
        told["exact moments"] = f"of {ROUNDS} rounds, from {SAMPLE} replicas"
    if on_quadratic:
        everyone = settles_under or Fixed(list(range(clients)))
        if settles_at_the_objective(algorithm, everyone, clients, objective_weight):
            told["fixed point"] = ""
    return Report(told)


def _accepted(federation: Federation, algorithm: Algorithm, participation: Participation) -> Setting | None:
    """Return the setting, or None if the algorithm needs something that the federation does not have."""
    try:
        setting = Setting(federation, algorithm, participation, STARTS["quadratic"])
        simulate(setting, replicas=1, rounds=1)
    except ValueError as error:
        if "federation" in str(error):
            return None
        raise
    return setting


def _two_point(federation: Federation, clients: int) -> Federation:
    """Return the federation with two-point noise, as Gaussian draws in single precision are different draws."""
    if isinstance(federation, type(quadratic())):
        return federation
    return logistic(range(clients), gradient_noise=0.2, server_noise=0.1)


def moves_when_empty(algorithm: Algorithm) -> bool:
    """Whether the algorithm may move x in rounds in which nobody takes part."""
    if algorithm.own_cohorts or any(isinstance(kind, ServerRound) for kind in algorithm.kinds):
        return True
    return any(kind.aggregation.steps_when_empty for kind in algorithm.client_rounds)


def names_clients(algorithm: Algorithm, clients: int) -> bool:
    """Whether the algorithm refers to clients by number: by drawing or selecting them, or by a number for each."""
    rounds = algorithm.client_rounds
    drawn = any(own.cohort < clients or own.replacement for own in algorithm.own_cohorts)
    numbers = [value for kind in rounds for value in vars(kind.aggregation).values()]
    each = any(np.ndim(value) and np.shape(value)[-1] == clients for value in numbers)
    return drawn or each or any(kind.selection is not None for kind in rounds)


# Runs against runs --------------------------------------------------------------------------------------------------


def everything(run: Run) -> dict[str, np.ndarray]:
    """Return all results of a run by name: its rows, its peaks and the rounds of divergence."""
    return run.rows | run.peaks | {"diverged_at": run.diverged_at}


def alike_runs(error: type[check_errors.PropertyError], one: Run, other: Run, tolerance: float) -> None:
    """Raise ``error`` if two runs differ by more than ``tolerance``, relative plus absolute; 0 asks for equality."""
    for name, expected in everything(one).items():
        found = everything(other)[name]
        near = np.isclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
        if not near.all():
            place = tuple(np.argwhere(~near)[0].tolist())
            where = ", ".join(f"{what} {i}" for what, i in zip(("replica", "row"), place, strict=False))
            raise error(expected[place], found[place], told=f"{name}, {where}")


def _options(seed: int, **more: Any) -> dict[str, Any]:
    return {"rounds": ROUNDS, "replicas": REPLICAS, "seed": seed, "record_every": 1} | more


def alone_as_in_a_batch(setting: Setting, seed: int, **options: Any) -> None:
    """Check that all replicas in one chunk and in chunks of two give the same finite results, to rounding."""
    together, apart = (simulate(setting, **_options(seed, chunk=chunk, **options)) for chunk in (REPLICAS, 2))
    if not (together.diverged_at == -1).all():
        raise check_errors.ReplicaBatchError("finite numbers", f"divergence in round {together.diverged_at.max()}")
    alike_runs(check_errors.ReplicaBatchError, together, apart, ROUNDING)


def replicas_differ(setting: Setting, seed: int) -> None:
    """Check that the squared distances of all replicas differ after the last round."""
    last = simulate(setting, **_options(seed)).rows["squared_distance"][:, -1]
    if len(set(last.tolist())) < REPLICAS:
        raise check_errors.AlikeReplicasError(f"{REPLICAS} different errors after {ROUNDS} rounds", last)


def empty_rounds_change_nothing(setting: Setting, seed: int, others_move: bool = False) -> None:
    """Check that the distance to x* stays the same, bit by bit, in rounds in which nobody takes part.

    With ``others_move``, check also that it changes in all other rounds.
    """
    clients, rounds = setting.federation.clients, 8
    nobody = (history(setting.participation, clients, rounds, REPLICAS, seed).sum(2) == 0).T.numpy()
    distance = simulate(setting, **_options(seed, rounds=rounds)).rows["squared_distance"]
    stayed = distance[:, 1:] == distance[:, :-1]
    for replica, round in np.argwhere(nobody & ~stayed)[:1].tolist():
        raise check_errors.EmptyRoundError(
            distance[replica, round],
            distance[replica, round + 1],
            told=f"squared distance, replica {replica}, round {round}",
        )
    for replica, round in np.argwhere(~nobody & stayed)[:1].tolist() if others_move else []:
        raise check_errors.EmptyRoundError(
            "another distance after a round with participants",
            distance[replica, round],
            told=f"replica {replica}, round {round}",
        )


def in_single_precision(setting: Setting, seed: int, **options: Any) -> None:
    """Check that a run in float32 agrees with the run in float64 to ``ROUNDING_SINGLE``."""
    double, single = (simulate(setting, **_options(seed, dtype=kind, **options)) for kind in ("float64", "float32"))
    alike_runs(check_errors.PrecisionError, double, single, ROUNDING_SINGLE)


class _Stop(Exception):
    pass


def goes_on_after_a_stop(setting: Setting, folder: Path, seed: int, every: int = 2, **options: Any) -> Run:
    """Check that a run stopped near its end resumes from its last checkpoint bit by bit; return the whole run."""
    options = _options(seed, checkpoint_every=every, **options)

    def stop(done: int, total: int) -> None:
        if done >= (options["rounds"] - 1) * options["replicas"]:
            raise _Stop

    try:
        simulate(setting, **options, directory=folder, progress=stop)
    except _Stop:
        if not list(folder.rglob("segment-*")):
            raise AssertionError(f"no checkpoint in {folder}") from None
    else:
        raise AssertionError("the run was not stopped")
    resumed, through = simulate(setting, **options, directory=folder), simulate(setting, **options)
    alike_runs(check_errors.StoppedRunError, through, resumed, 0.0)
    return through


# Names --------------------------------------------------------------------------------------------------------------


def _check_names(setting: Setting, algorithm: Callable[[Sequence[int]], Algorithm], clients: int, seed: int) -> None:
    order = [(3 * i + 2) % clients if clients % 3 else (i + 1) % clients for i in range(clients)]
    mask = history(setting.participation, clients, 2 * ROUNDS, 1, seed)[:, 0].numpy()
    build = quadratic if isinstance(setting.federation, type(quadratic())) else logistic

    def ordered(order: Sequence[int]) -> Setting:
        schedule: Participation = Recorded(mask[:, order] > 0)
        try:
            return Setting(build(order), algorithm(order), schedule, setting.start)
        except ValueError:  # what needs to know the law of who takes part
            return Setting(build(order), algorithm(order), Fixed(list(range(clients))), setting.start)

    names_do_not_matter(ordered, order, 2 * ROUNDS, seed)


def names_do_not_matter(
    ordered: Callable[[Sequence[int]], Setting], order: Sequence[int], rounds: int, seed: int
) -> None:
    """Check that ``ordered(order)``, whose client i is client order[i] of ``ordered([0, 1, ...])``, runs alike."""
    one, other = (simulate(ordered(each), **_options(seed, rounds=rounds)) for each in (sorted(order), order))
    alike_runs(check_errors.RenamedClientsError, one, other, RENAMED)


# Moments ------------------------------------------------------------------------------------------------------------


def moments_are_those_of_runs(
    setting: Setting,
    seed: int,
    rounds: int = ROUNDS,
    level: float = LEVEL,
    widest: float = math.inf,
    replicas: int = SAMPLE,
) -> bool:
    """Check that exact moments agree with simulated runs in every round; return False if moments do not close.

    Every round is compared, as algorithms may differ in the first one only.

    Args:
        level: the probability that any number of a correct algorithm lies outside its band.
        widest: the largest half-width of a band, relative to its moment; a wider band is an error.

    Raises:
        SimulatedMomentsError: a mean lies outside its band, or a band is too wide.
    """
    try:
        exact = setting.exact(range(1, rounds + 1))
    except ValueError:
        return False
    run = simulate(setting, rounds=rounds, replicas=replicas, seed=seed, record_every=1)
    observed = ("squared_distance", "squared_gradient")
    quantile = norm.ppf(1 - level / (2 * rounds * len(observed)))
    for name in observed:
        samples, expected = run.rows[name][:, 1:], getattr(exact, name)
        half = quantile * samples.std(0, ddof=1) / math.sqrt(replicas)
        away = np.abs(samples.mean(0) - expected)
        for r in np.flatnonzero((away > half + 1e-12) | (half > widest * expected))[:1]:
            raise check_errors.SimulatedMomentsError(
                f"{expected[r]:.6g} within {half[r]:.2g}",
                f"{samples.mean(0)[r]:.6g}",
                told=f"{name} after {r + 1} rounds",
            )
    return True


def settles_at_the_objective(
    algorithm: Algorithm, participation: Participation, clients: int, objective_weight: Sequence[Any] | None = None
) -> bool:
    """Check that a run with clients of one curvature settles at the weighted mean of their minimisers.

    The weights are those of the objective. Return False if this cannot be checked: for step sizes that follow a rule,
    and for settings with noise whose moments do not close.

    Raises:
        FixedPointError: the run settles elsewhere.
    """
    given = objective_weight if objective_weight is not None else algorithm.objective_weight(clients)
    weight = np.array([Fraction(w) for w in given], dtype=object)
    if algorithm.by_rule:  # steps that fade may never arrive
        return False
    federation = alike(clients, objective_weight=algorithm.objective_weight(clients))
    setting = Setting(federation, algorithm, participation, STARTS["quadratic"])
    expected = ((weight / weight.sum()) @ federation.exact_centres).astype(float)
    try:
        found, within = setting.fixed_point().point, 1e-9
    except ValueError:  # moments do not close
        if not setting.deterministic:
            return False
        found = iterates(setting, rounds=SETTLED_AFTER, every=SETTLED_AFTER)[-1].mean(0).numpy()
        within = SETTLED * float(np.abs(np.asarray(STARTS["quadratic"]) - expected).max())
    if not np.abs(found - expected).max() <= within:
        raise check_errors.FixedPointError(expected, found)
    return True
