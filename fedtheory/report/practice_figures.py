"""Theory beside practice: for several settings a theorem's bound and the exact error on a convex twin, and what a model
measures with the same participants; does the theory predict which setting is best?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ..claims.statement import Claim
from ..claims.typeset import rounds_letter
from ..federations import Quadratic, estimated_constants
from ..functionals import AVERAGES, Functional
from ..setting import Setting
from ..simulation.iterates import iterates
from ..simulation.practice_observers import Evaluation
from .settling import MARKERS
from .style import DASHED, KEY, captioned, covered, finish, functional_label, in_words, panels, several, styled

TWIN_REPLICAS = 64
"""Runs of a twin, where its moments do not close."""


@dataclass(frozen=True)
class Pair:
    """Setting of one method, in practice and as a twin.

    Attributes:
        practice: on data, with a `Network`.
        twin: the same method and participation on a federation whose errors are exact.
        longer: so many times as many rounds has the twin, whose steps are smaller.
    """

    practice: Setting
    twin: Setting
    longer: int = 1


@dataclass(frozen=True)
class Watched:
    """The watched functional of twins.

    Attributes:
        functional: of a run.
        average: over which iterates, where it is an average.
    """

    functional: Functional
    average: str = AVERAGES[0]


@dataclass(frozen=True)
class Beside:
    """Results of one method, in theory and in practice.

    Attributes:
        rounds: of the twin's curves.
        bounds: by claim its values at ``rounds``; empty where it has none.
        said: by claim the hypotheses that hold and fail at the last of ``rounds``, or why there is no bound.
        error: the twin's functional.
        exact: whether ``error`` is exact, or measured on ``TWIN_REPLICAS`` runs.
        seen: rounds of the practice's curve.
        accuracy: (replicas, rounds) on test points.
    """

    rounds: np.ndarray
    bounds: Mapping[str, np.ndarray]
    said: Mapping[str, str]
    error: np.ndarray
    exact: bool
    seen: np.ndarray
    accuracy: np.ndarray


def twin_of(federation: Any, digits: int = 3, **noise: Any) -> Quadratic:
    """F_i(x) = |x - pi_i|^2 / 2 with pi_i the shares of the classes among client i's training points, (classes,).

    The clients' minimisers are as far apart as their labels are; L = mu = 1, and all errors are exact.

    Args:
        federation: a `Network` on labelled data.
        digits: to which the shares are rounded.
        noise: of the gradients, as ``Quadratic.common_hessian`` takes it.
    """
    dataset = federation.dataset
    counts = federation.partition.counts(dataset.labels, dataset.classes).astype(float)
    shares = counts / counts.sum(1, keepdims=True)
    return Quadratic.common_hessian([[f"{share:.{digits}f}" for share in row] for row in shares], **noise)


def compare(
    claims: Sequence[Claim], pair: Pair, rounds: int, replicas: int, seed: int = 0, watched: Watched | None = None
) -> Beside:
    """Compute bounds and errors of one method's twin, and the method's accuracy.

    Args:
        claims: about one functional.
        watched: that of the twin; by default the claims'.
        rounds: of the practice.
        replicas: of the practice.
    """
    horizons = np.unique(np.geomspace(1, pair.longer * rounds, 60).astype(np.int64))
    bounds, said = {}, {}
    for claim in claims:
        try:
            found = claim.at(pair.twin, rounds=horizons)
        except ValueError as lacking:
            said[claim.ref] = "no bound, it" + str(lacking).removeprefix(claim.ref).partition(":")[0]
        else:
            bounds[claim.ref] = np.broadcast_to(np.asarray(found.value, dtype=float), horizons.shape)
            said[claim.ref] = hypotheses(found.slack)
    watched = watched or Watched(claims[0].functional)
    error, exact = _error(watched, pair.twin, horizons, seed)
    every = max(1, rounds // 30)
    run = pair.practice.simulate(
        replicas=replicas,
        rounds=rounds,
        seed=seed,
        record_every=every,
        observers=[Evaluation(every=every)],
        device="cpu",
    )
    return Beside(horizons, bounds, said, error, exact, run.rounds, run.rows["test_accuracy"])


def hypotheses(slack: Mapping[str, Any]) -> str:
    """Say in words which hypotheses hold at the last round, fail, or are undecided.

    >>> hypotheses({"step_cap": 0.1, "q_condition": [0.5, -1.0], "run": None})
    'step_cap holds, q_condition fails, run is undecided'
    """
    words = {None: "is undecided", True: "holds", False: "fails"}
    last = {name: None if value is None else bool(np.ravel(value)[-1] >= 0) for name, value in slack.items()}
    return ", ".join(f"{name} {words[holds]}" for name, holds in last.items()) or "no hypotheses on constants"


def _error(watched: Watched, twin: Setting, horizons: np.ndarray, seed: int) -> tuple[np.ndarray, bool]:
    """The functional of the twin, exact if its moments close."""
    try:
        return twin.exact(horizons).functional(watched.functional, watched.average), True
    except ValueError:
        run = twin.simulate(
            replicas=TWIN_REPLICAS,
            rounds=int(horizons[-1]),
            seed=seed,
            record_every=1,
            observers=[watched.functional.observable],
            device="cpu",
        )
        mean, _, _ = run.interval(watched.functional, watched.average)
        return mean[np.searchsorted(run.rounds[-len(mean) :], horizons)], False


def constants_seen(setting: Setting, rounds: int, seed: int = 0) -> dict[str, float]:
    """Estimate the constants of a setting's federation at the start, middle and end of one run."""
    points = iterates(setting, rounds=rounds, seed=seed, every=max(1, rounds // 2), device="cpu")[:, 0]
    federation: Any = setting.federation
    found = estimated_constants(federation, points, steps=8, draws=16, seed=seed)
    return {name: float(constant.value) for name, constant in found.items()}


@dataclass(frozen=True)
class Order:
    """Agreement of two rankings of methods.

    Attributes:
        tau: Kendall's, of the twin's last error against the accuracy (1: the lower the error, the higher the accuracy).
        pairs: by two methods, the better one first by the twin, the share of replicas in which it is more accurate.
    """

    tau: float
    pairs: Mapping[tuple[str, str], float] = field(default_factory=dict)


def order(found: Mapping[str, Beside], last: int = 5) -> Order:
    """The twin's order of methods against the measured one, by means over the last looks; replicas are paired."""
    from scipy.stats import kendalltau

    late = {name: each.accuracy[:, -last:].mean(1) for name, each in found.items()}
    errors = {name: float(each.error[-1]) for name, each in found.items()}
    by_error = sorted(errors, key=errors.__getitem__)
    pairs = {
        (better, worse): float((late[better] > late[worse]).mean())
        for n, better in enumerate(by_error)
        for worse in by_error[n + 1 :]
    }
    tau = kendalltau([-errors[name] for name in by_error], [late[name].mean() for name in by_error]).statistic
    return Order(float(tau), pairs)


@styled()
def plot_practice(
    claims: Sequence[Claim],
    pairs: Mapping[str, Pair],
    rounds: int,
    replicas: int,
    title: str,
    watched: Watched | None = None,
    seed: int = 0,
) -> Figure:
    """Draw three panels: the twin's errors with bounds dashed; the measured accuracy; one against the other at the end.

    Args:
        claims: their bounds, the printed one first; the label of a bound is its line style.
        pairs: methods by name.
        title: what the data and the model are.
        watched, seed: see ``compare``.
    """
    found = {name: compare(claims, pair, rounds, replicas, seed, watched) for name, pair in pairs.items()}
    figure, (left, middle, right) = panels(14, 5.2, columns=3)
    for colour, marker, (name, each) in zip(several(len(found)), itertools.cycle(MARKERS), found.items(), strict=False):
        _draw(left, middle, right, colour, marker, name, each)
    styles = dict(zip([claim.ref for claim in claims], (DASHED, "dotted"), strict=False))
    for ref, style in styles.items():
        if any(ref in each.bounds for each in found.values()):
            left.plot([], [], color=KEY, ls=style, lw=1.2, label=f"bound of {ref}")
    exact, letter = all(each.exact for each in found.values()), rounds_letter(claims[0].letters)
    finish(
        left,
        f"Convex twin: {'exact' if exact else 'exact where moments close'}",
        f"rounds {letter}",
        functional_label(claims[0].functional, letter),
        legend=False,
    )
    left.set(xscale="log", yscale="log")
    finish(middle, title, "round", "test accuracy", legend=False)
    agreed = order(found)
    finish(
        right,
        f"The order: Kendall's tau = {agreed.tau:.2f}",
        "twin's error at the end",
        "test accuracy, mean of the last 5 looks",
        legend=False,
    )
    ends = [float(each.error[-1]) for each in found.values()]
    if max(ends) > 5 * min(ends) > 0:
        right.set_xscale("log")
        right.xaxis.set_minor_formatter(NullFormatter())
    right.margins(x=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(found) + len(styles))
    first = next(iter(pairs.values()))
    return captioned(figure, *notes(found, constants_seen(first.practice, rounds, seed), replicas))


def _draw(left: Axes, middle: Axes, right: Axes, colour: str, marker: str, name: str, each: Beside) -> None:
    left.plot(each.rounds, each.error, color=colour, marker=marker, markevery=12, ms=5, label=name)
    bounds = list(each.bounds.values())
    for n, (style, (ref, values)) in enumerate(zip((DASHED, "dotted"), each.bounds.items(), strict=False)):
        look = {"lw": 1.2} | covered(values, bounds[n + 1 :], share=0.9)
        left.plot(each.rounds, values, color=colour, ls=style, **look, label=f"_{name}, bound of {ref}")
    middle.plot(each.seen, each.accuracy.mean(0), color=colour, marker=marker, markevery=6, ms=5, label=name)
    middle.fill_between(
        each.seen,
        each.accuracy.min(0),
        each.accuracy.max(0),
        color=colour,
        alpha=0.15,
        lw=0,
        label=f"_{name}, least to largest replica",
    )
    late = each.accuracy[:, -5:].mean(1)
    right.errorbar(each.error[-1], late.mean(), late.std(ddof=1), color=colour, marker=marker, capsize=3, label=name)


def notes(found: Mapping[str, Beside], constants: Mapping[str, float], replicas: int) -> list[str]:
    """Write the notes below the figure: constants, and hypotheses claim by claim, methods that agree together."""
    listed = ", ".join(f"{in_words(name)} {value:.3g}" for name, value in constants.items())
    lines = [
        f"Estimated on the data along a run of the first method: {listed}. {replicas} paired replicas; bands are "
        "the least and the largest."
    ]
    refs = list(next(iter(found.values())).said)
    for ref in refs:
        by_words: dict[str, list[str]] = {}
        for name, each in found.items():
            by_words.setdefault(each.said[ref], []).append(name)
        lines += [f"{ref} on the twin, {' / '.join(names)}: {words}" for words, names in by_words.items()]
    return lines
