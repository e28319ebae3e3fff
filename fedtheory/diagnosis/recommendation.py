"""Recommendation of an algorithm and its numbers for a participation log, from a few constants of the problem.

Candidates are scored by exact moments of a quadratic twin (``trace_errors``) on many logs that might have been:
blocks of the log drawn with replacement, and runs of the process that was fitted to it, if that fits. The score is an
upper quantile over them. All clients of a twin have one Hessian: nothing is said of what local steps cost where they
differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import constant_weights, fast, fedau, fedavg, fedvarp, flics_avg, mifa, naive
from ..algorithms.aggregation import FedAUWeights
from ..algorithms.cohort_rules import VarSelection
from ..arguments import check_count
from ..federations.constants import BOUND, ESTIMATE
from ..federations.constants import EXACT as EXACT_VALUE
from ..participation import Recorded, Resampled, history
from .averaging import usual_cutoffs
from .family_choice import canonical_order
from .time_dependence import runs_of
from .trace_errors import NAMES, Trace, Twin, errors_on_trace, estimates, fair_weights, plans, twin_of, uploads

if TYPE_CHECKING:
    from ..algorithms.algorithm import Algorithm
    from ..participation import Participation
    from .diagnosis import Diagnosis

FORMAT = "fedtheory recommendation 1"

LOCAL_STEPS = (1, 2, 5, 10, 20)
"""Numbers of local steps that are tried unless others are given."""

HALVINGS = 16
"""Number of step sizes, each half of the one before, of which the first is 1/smoothness."""

FINE = 8
"""Number of step sizes to a factor of 2, around the best of the coarse ones."""

NEAREST = 8
"""Number of the fine step sizes that are compared on all logs."""

FEW = 24
"""Number of logs on which coarse step sizes, and sensitivities, are compared."""

MOST_ENTRIES = 4_000_000_000
"""Most rounds times clients of all logs of one kind; a log's entry is a byte, and some are held twice."""

QUANTILE = 0.9
"""Share of logs on which the error is at most the score."""

CHANGE = 1.1
"""Factor by which a constant is changed for the sensitivity to it."""

NEAR = 1.05
"""Ratio of an error and the least that hindsight would have had, up to which a choice is near the best."""

LOOSE = 2.0
"""Ratio of score and median above which it is said that the score hangs on rare clients."""

EXACT, SIMULATED = "exact", "simulated"

ABOUT = ("kind", "how")
"""Entries of a constant's table beside its numbers: how it is known."""

Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """A candidate with its best step size.

    Attributes:
        name: of the rule.
        algorithm: ready to run.
        arguments: of the function that makes it, by name; ``kind`` is its name.
        rounds: how long it runs, within the budget.
        uploads: updates that are sent, in the mean over logs.
        score: an upper quantile over logs of E[F(x_R)] - F(x*).
        median: the middle of these errors.
        on_log: that on the log itself, repeated where it is too short.
        worst_client: the same quantile of max over clients of E[F_i(x_R)] - F_i(x*).
        evidence: "exact", of the twin's moments on each log; or "simulated".
        sensitivity: by what power of each constant the score grows, the steps staying as they are.
        interval: the least and the largest score as one constant after the other goes to the ends of its interval.
        pareto: whether no other has both a lower score and fewer uploads. pareto_worst: likewise of the worst client.
        bound: of the score by a proved claim, if `evidence.bounds_on_logs` found one. bound_by: which, or why none.
    """

    name: str
    algorithm: Algorithm
    arguments: Numbers
    rounds: int
    uploads: float
    score: float
    median: float
    on_log: float
    worst_client: float
    evidence: str
    sensitivity: Mapping[str, float]
    interval: tuple[float, float]
    pareto: bool = False
    pareto_worst: bool = False
    bound: float | None = None
    bound_by: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return every number, by name."""
        content = dict(vars(self))
        del content["algorithm"]
        return content

    def table_row(self) -> dict[str, Any]:
        """Return what a screen shows: "*" marks the front of error, "+" that of the worst client's, against uploads."""
        strongest = max(self.sensitivity, key=lambda name: abs(self.sensitivity[name]), default=None)
        return {
            "candidate": self.name + " *" * self.pareto + " +" * self.pareto_worst,
            "score": f"{self.score:.3g}",
            "worst client": "-" if math.isnan(self.worst_client) else f"{self.worst_client:.3g}",
            "uploads": f"{self.uploads:.4g}",
            "rounds": str(self.rounds),
            "local_lr": str(self.arguments.get("local_lr", "-")),
            "steps": str(self.arguments.get("local_steps", "-")),
            "depends on": "-" if strongest is None else f"{strongest}^{self.sensitivity[strongest]:.2g}",
            "evidence": self.evidence
            if self.bound is None
            else f"{self.evidence}; {self.bound_by}: <= {self.bound:.3g}",
        }


@dataclass(frozen=True)
class Recommendation:
    """Candidates for a log, the lowest score first, and the one that is recommended.

    Attributes:
        choices: see `Choice`.
        chosen: with a target, the one that meets it with the fewest uploads; else, or if none does, the lowest score.
        met: whether it meets the target; ``None`` without one.
        target, budget: as given.
        twin: the quadratic twin.
        logs: how many logs were scored. fewest: clients in a round of any of them.
        fitted: the family whose process gave some of them; "" if none fits.
        mask: the log.
        known: of each constant, whether it is certified, estimated or given.
        near: on what share of a few of the logs the choice's error is at most 1.05 times the least of all candidates,
            step sizes and local steps that were tried: of what hindsight would have chosen for that log.
        quantile: of the scores.
    """

    choices: tuple[Choice, ...]
    chosen: Choice
    met: bool | None
    target: float | None
    budget: float | None
    twin: Twin
    logs: int
    fewest: int
    fitted: str
    mask: np.ndarray
    known: Mapping[str, str]
    near: float | None
    quantile: float

    def python(self) -> str:
        """Return the line of Python that makes the recommended algorithm."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.chosen.arguments.items() if name != "kind")
        return f"algorithm = fedtheory.algorithms.{self.chosen.arguments['kind']}({given})"

    def toml(self, title: str = "Recommended for a participation log", seeds: int = 8) -> str:
        """Return an experiment file, for ``fedtheory run``: the recommended algorithm on the twin and the log.

        The twin has random directions there (``Twin.federation``): errors agree with the score in the mean.
        """
        twin, clients = self.twin, self.mask.shape[1]
        directions = min(16, max(2, clients))
        federation: dict[str, Any] = {"kind": "quadratic_twin", "clients": clients}
        federation |= {name: getattr(twin, name) for name in NAMES if name != "initial_distance"}
        federation |= {"directions": directions}
        if len({*twin.fair.tolist()}) > 1:
            federation["fair"] = twin.fair.tolist()
        record = Recorded(self.mask)
        tables = {
            "federation": federation,
            "algorithm": dict(self.chosen.arguments),
            "participation": {
                "kind": "recorded_text",
                "clients": clients,
                "after": "repeat",
                "record": record.to_text(),
            },
            "run": {"rounds": self.chosen.rounds, "seeds": list(range(seeds)), "observers": ["gap"]},
        }
        lines = [f"title = {_toml(title)}", f"start = {twin.start(directions)!r}"]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return every number, by name."""
        return {
            "format": FORMAT,
            "chosen": self.chosen.name,
            "met": self.met,
            "target": self.target,
            "budget": self.budget,
            "constants": {name: getattr(self.twin, name) for name in NAMES},
            "constants_known": dict(self.known),
            "logs": self.logs,
            "fewest": self.fewest,
            "near": self.near,
            "quantile": self.quantile,
            "fitted": self.fitted,
            "python": self.python(),
            "choices": [each.to_json() for each in self.choices],
        }

    def __str__(self) -> str:
        own, logs = self.chosen, f"{self.logs} logs that might have been"
        lines = [
            f"Take {own.name}: {self.python()}",
            f"Its error E[F(x)] - F(x*) after {own.rounds} rounds and {own.uploads:.4g} uploads is at most "
            f"{own.score:.3g} on {self.quantile:.0%} of {logs} (median {own.median:.3g}; on this log "
            f"{own.on_log:.3g}).",
        ]
        if self.met is False:
            lines.append(
                f"No candidate meets the target {self.target:g}: this one, of the lowest score, is "
                f"{own.score / self.target:.3g} times above it."  # type: ignore[operator]
            )
        strongest = max(own.sensitivity, key=lambda name: abs(own.sensitivity[name]), default=None)
        if strongest is not None:
            lines.append(
                f"It depends most on {strongest}: 1% more changes the score by {own.sensitivity[strongest]:+.2g}%. "
                f"At the ends of the constants' intervals the score is {own.interval[0]:.3g} to {own.interval[1]:.3g}."
            )
        estimated = [name for name, how in self.known.items() if how == "estimated"]
        if estimated:
            lines.append(f"Estimated, not certified: {', '.join(estimated)}.")
        if own.bound is not None:
            lines.append(f"Proved: {own.bound_by} bounds this error by {own.bound:.3g} on all these logs.")
        elif own.bound_by:
            lines.append(f"No proved claim bounds this error: {own.bound_by}.")
        if own.score > LOOSE * own.median:
            rare = float(self.mask.mean(axis=0).min())
            lines.append(
                f"The score is {own.score / own.median:.2g} times the median: on {1 - self.quantile:.0%} of the logs "
                f"somebody hardly comes (the rarest client has the rate {rare:.2g}), and a longer log may move it."
            )
        if self.near is not None and self.near < 1:
            lines.append(
                f"It is within {NEAR - 1:.0%} of what hindsight would choose on {self.near:.0%} of these logs; on the "
                "others, who comes when decides what is best, and no choice beforehand knows that."
            )
        if own.arguments["kind"] == "fast":
            lines.append("FAST needs a server that reaches a uniform cohort of all clients in snapshot rounds.")
        return "\n".join(lines)


def recommend(
    found: Diagnosis,
    constants: Numbers,
    *,
    budget: float | None = None,
    target: float | None = None,
    rounds: int | None = None,
    local_steps: Sequence[int] = LOCAL_STEPS,
    resamples: int = 200,
    quantile: float = QUANTILE,
    also: Mapping[str, Algorithm] | None = None,
    seed: int = 0,
) -> Recommendation:
    """Recommend an algorithm, its step sizes, cutoff, snapshots and budget of a round, for a log.

    Args:
        found: the log's diagnosis, of `diagnose`; its fair weights are the objective's.
        constants: smoothness, strong_convexity, gradient_noise, dissimilarity_at_optimum and initial_distance, each a
            number, or with ``value``, ``low`` and ``high``; `estimate_constants` gives them.
        budget: updates that may be sent in all; a candidate stops when it has sent so many.
        target: a score that is good enough: a candidate stops when it is there, about.
        rounds: at most so many; default: those of the log.
        local_steps: numbers of local steps that are tried. What they cost the clients is not counted.
        resamples: logs that might have been, by blocks of this one; as many again of the fitted process, if it fits.
        quantile: of the score.
        also: algorithms that are simulated on the twin as they are, by name.

    Raises:
        ValueError: an argument outside its range, a missing constant, a budget that does not last for one round, or
            more than ``MOST_ENTRIES`` rounds of clients in all logs.
    """
    (values, ends), known = numbers_of(constants), how_known(constants)
    mask, clients = found.mask, found.mask.shape[1]
    length = check_count("rounds", len(mask) if rounds is None else rounds)
    entries = length * clients * check_count("resamples", resamples)
    if entries > MOST_ENTRIES:
        raise ValueError(
            f"resamples = {resamples}: logs of {length} rounds of {clients} clients have {entries:.3g} entries; "
            f"allowed are at most {MOST_ENTRIES:.3g}: fewer rounds, or fewer logs"
        )
    steps = sorted({check_count("local_steps", k) for k in local_steps})
    if not steps:
        raise ValueError("local_steps = []: allowed is at least one number")
    if not 0 < quantile < 1:
        raise ValueError(f"quantile = {quantile}: allowed is a number in (0, 1)")
    for name, value in {"budget": budget, "target": target}.items():
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"{name} = {value}: allowed is a finite number > 0")
    if not mask.any():
        raise ValueError("log: nobody came; allowed is a log with at least one client who did")
    twin = twin_of(values, fair_weights(clients, found.fair.tolist()))
    family = found.family
    fits = family is not None and family.fits and family.process is not None
    process = family.process if fits and family is not None else None
    traces = _logs(mask, found, process, length, resamples, seed)
    scored = Scored(twin, traces, Trace(_repeated(mask, length)), budget, target, quantile, steps)
    rows = [row for name, made in candidates(mask, found.fair) if (row := scored.best(name, made, ends))]
    if not rows:
        raise ValueError(f"budget = {budget}: allowed is one for at least one round of some candidate")
    for name, algorithm in (also or {}).items():
        rows.append(scored.simulated(name, algorithm, seed))
    rows = _with_fronts(sorted(rows, key=lambda row: row.score))
    meeting = [row for row in rows if target is not None and row.score <= target]
    chosen = min(meeting, key=lambda row: (row.uploads, row.score)) if meeting else rows[0]
    met = None if target is None else bool(meeting)
    near = scored.near(chosen.name)
    fitted = family.name if fits and family is not None else ""
    fewest = min(int(each.sizes.min()) for each in (*traces, scored.log))
    return Recommendation(
        tuple(rows), chosen, met, target, budget, twin, len(traces), fewest, fitted, mask, known, near, quantile
    )


def how_known(constants: Numbers) -> dict[str, str]:
    """Return of each constant whether it is certified, estimated, or just given.

    >>> how_known({"smoothness": 2.0, "gradient_noise": {"value": 1.0, "kind": "estimate"}})
    {'smoothness': 'given', 'gradient_noise': 'estimated'}
    """
    words = {EXACT_VALUE: "certified", BOUND: "certified", ESTIMATE: "estimated"}
    found = {}
    for name in NAMES:
        if (each := constants.get(name)) is not None:
            kind = each.get("kind") if isinstance(each, Mapping) else getattr(each, "kind", None)
            if kind not in (None, *words):
                raise ValueError(f"constants: {name}: kind = {kind!r}: allowed is one of {', '.join(words)}")
            found[name] = "given" if kind is None else words[kind]
    return found


def numbers_of(constants: Numbers) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Return the values of constants, and the ends of those that have an interval.

    Raises:
        ValueError: an unknown name, what is no number, or an interval that does not hold the value.

    >>> numbers_of({"smoothness": {"value": 2.0, "low": 1.0, "high": 4.0}, "gradient_noise": 1})
    ({'smoothness': 2.0, 'gradient_noise': 1.0}, {'smoothness': (1.0, 4.0)})
    """
    values, ends = {}, {}
    for name, given in constants.items():
        if name == "dissimilarity":  # a bound everywhere, of which errors of the twin do not depend
            continue
        if name not in NAMES:
            raise ValueError(f"constants: {name} is unknown; allowed are {', '.join(NAMES)}")
        table = {k: v for k, v in given.items() if k not in ABOUT} if isinstance(given, Mapping) else {"value": given}
        interval = getattr(given, "interval", None)
        if hasattr(given, "interval"):
            table = {"value": given.value} | (
                {} if interval is None else dict(zip(("low", "high"), interval, strict=True))
            )
        for key, each in table.items():
            if key not in ("value", "low", "high") or isinstance(each, bool) or not isinstance(each, int | float):
                raise ValueError(f"constants: {name} = {given}: allowed is a number, or value, low and high")
        if "value" not in table or len(table) == 2:
            raise ValueError(f"constants: {name} = {given}: allowed is a number, or value, low and high")
        values[name] = float(table["value"])
        if len(table) == 3:
            if not table["low"] <= table["value"] <= table["high"]:
                raise ValueError(f"constants: {name} = {given}: allowed is low <= value <= high")
            ends[name] = (float(table["low"]), float(table["high"]))
    return values, ends


Maker = tuple[str, Numbers]


def candidates(mask: np.ndarray, fair: np.ndarray) -> list[tuple[str, Maker]]:
    """Return the candidates for a log, by name: each a function of ``algorithms`` and its arguments but the steps.

    - the mean of those who came, of all, of uniform cohorts of half and a quarter as many as come, or by samples;
    - FedAU with the usual cutoffs, and weights 1/p for the log's rates p, if everybody came;
    - memories of latest updates: MIFA, FedVarp;
    - FAST with a snapshot in every 2, 5, 10 or 20 rounds, of as many clients as come in the mean;
    - selection among groups of clients of like rates, of half as many as come: NAIVE and FLICS-Avg.
    """
    sizes, rate = mask.sum(axis=1), mask.mean(axis=0)
    mean = max(1, round(float(sizes[sizes > 0].mean())))
    found: list[tuple[str, Maker]] = [("mean of those who came", ("fedavg", {}))]
    found += [
        (f"mean of at most {k}", ("fedavg", {"budget": k}))
        for k in sorted({max(1, mean // 4), max(1, mean // 2)})
        if k < sizes.max()
    ]
    scale = _short(1 / float(rate.mean()))
    found.append(("sum over all clients", ("fedavg", {"average": "all", "global_lr": scale})))
    if len({*fair.tolist()}) > 1:
        found.append(("mean by samples", ("fedavg", {"average": "samples", "samples": fair.tolist()})))
    longest = int(max(runs_of(~mask).length, default=0))  # cutoffs much longer than any absence are none
    cutoffs = [k for k in usual_cutoffs(len(mask)) if 5 <= k <= 2 * longest or math.isinf(k)]
    found += [
        ("FedAU, no cutoff", ("fedau", {}))
        if math.isinf(k)
        else (f"FedAU, cutoff {k:g}", ("fedau", {"cutoff": int(k)}))
        for k in cutoffs
    ]
    if rate.all():
        weights = [_short(1 / float(p)) for p in rate]
        found.append(("weights 1/p", ("constant_weights", {"aggregation_weight": weights})))
    found += [("MIFA", ("mifa", {})), ("FedVarp", ("fedvarp", {}))]
    if len(rate) > 1:
        found += [
            (f"FAST, a snapshot in {period} rounds", ("fast", {"snapshot_period": period, "cohort": mean}))
            for period in (2, 5, 10, 20)
        ]
    groups = groups_by_rate(mask, mean - 1)
    number = max(groups) + 1
    budget = number * max(1, mean // (2 * number))
    if number > 1 and fair.all():
        given: dict[str, Any] = {"groups": groups, "budget": budget}
        if len({*fair.tolist()}) > 1:
            given["group_weight"] = np.bincount(groups, fair).tolist()
        else:  # whole numbers of each group
            found.append((f"NAIVE, {number} groups, at most {budget}", ("naive", given)))
        found.append((f"FLICS-Avg, {number} groups, at most {budget}", ("flics_avg", given)))
    return found


def groups_by_rate(mask: np.ndarray, most: int) -> list[int]:
    """Return groups of clients of like rates, all of one size: 4 of them, or else 3, 5 or 2, but at ``most`` so many;
    one if none divides them.

    >>> groups_by_rate(np.array([[1, 0, 1, 1], [0, 0, 1, 1]], dtype=bool), most=3)
    [0, 0, 1, 1]
    """
    clients = mask.shape[1]
    number = next((k for k in (4, 3, 5, 2) if clients % k == 0 and k <= most), 1)
    order = canonical_order(mask)
    order = order[np.argsort(mask.sum(axis=0)[order], kind="stable")]
    found = np.empty(clients, dtype=int)
    found[order] = np.arange(clients) * number // clients
    return [int(each) for each in found]


MAKERS: Mapping[str, Any] = {
    "fedavg": fedavg, "fedau": fedau, "constant_weights": constant_weights, "mifa": mifa, "fedvarp": fedvarp,
    "fast": fast, "naive": naive, "flics_avg": flics_avg,
}  # fmt: skip


@dataclass(frozen=True)
class Scored:
    """Scores on logs.

    Attributes:
        twin: the problem.
        traces: the logs that might have been. log: the log itself.
        budget: uploads that may be sent, or ``None``. target: a score that is good enough, or ``None``.
        quantile: of the score. steps: numbers of local steps.
    """

    twin: Twin
    traces: Sequence[Trace]
    log: Trace
    budget: float | None
    target: float | None
    quantile: float
    steps: Sequence[int]

    def best(self, name: str, maker: Maker, ends: Mapping[str, tuple[float, float]]) -> Choice | None:
        """Return a candidate with its best step size and number of local steps; ``None`` if the budget is too low."""
        kind, given = maker
        rule = MAKERS[kind](local_lr=1, **given)
        rounds, sent = self._rounds(rule)
        if rounds == 0:
            return None
        rounds = self._enough(rule, rounds)
        traces = self._cut(rounds)
        _plan(rule, traces)
        lr, k = self.coarse()
        coarse = self._losses(self.twin, rule, _some(traces), lr, k)
        lr, k = self.finer(lr, k, _upper(coarse, self.quantile))
        fine = self._losses(self.twin, rule, _some(traces), lr, k)
        near = np.argsort(_upper(fine, self.quantile), kind="stable")[:NEAREST]
        found = [errors_on_trace(self.twin, rule, trace, lr[near], k[near]) for trace in traces]
        losses, worst = np.array([each.loss for each in found]), np.array([each.worst_client for each in found])
        at = int(np.argmin(_upper(losses, self.quantile)))
        own = losses[:, at]
        self._few[name] = _some(own), np.minimum(coarse.min(axis=1), fine.min(axis=1))
        step, local = _short(float(lr[near[at]])), int(k[near[at]])
        arguments: dict[str, Any] = {"kind": kind, "local_lr": step, "local_steps": local, **given}
        algorithm = MAKERS[kind](local_lr=step, local_steps=local, **given)
        sensitivity, interval = self._sensitivity(algorithm, _some(traces), ends)
        score, few = float(_upper(own, self.quantile)), float(_upper(_some(own), self.quantile))
        return Choice(
            name=name,
            algorithm=algorithm,
            arguments=arguments,
            rounds=rounds,
            uploads=float(sent[rounds - 1]),
            score=score,
            median=float(np.median(own)),
            on_log=float(errors_on_trace(self.twin, algorithm, Trace(self.log.mask[:rounds])).loss[0]),
            worst_client=float(_upper(worst[:, at], self.quantile)),
            evidence=EXACT,
            sensitivity=sensitivity,
            interval=(interval[0] * score / few, interval[1] * score / few) if few > 0 else (score, score),
        )

    @property
    def _few(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Of each candidate so far, its error on a few logs, and the least that each log has with any of its steps."""
        found: dict[str, tuple[np.ndarray, np.ndarray]] = self.__dict__.setdefault("_errors_on_few", {})
        return found

    def near(self, name: str) -> float | None:
        """Return on what share of a few logs a candidate is near the best that hindsight would choose; None of one that
        was simulated."""
        if name not in self._few:
            return None
        best = np.min([least for _, least in self._few.values()], axis=0)
        return float((self._few[name][0] <= NEAR * best).mean())

    def _cut(self, rounds: int) -> Sequence[Trace]:
        """The logs' first rounds; the same ones where the number is, so that they keep what they know."""
        kept = self.__dict__.setdefault("_kept", {})
        if rounds not in kept:
            full = rounds == len(self.log.mask)
            kept[rounds] = self.traces if full else [Trace(each.mask[:rounds]) for each in self.traces]
        found: Sequence[Trace] = kept[rounds]
        return found

    def _scores(self, rule: Algorithm, traces: Sequence[Trace], lr: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.asarray(_upper(self._losses(self.twin, rule, traces, lr, k), self.quantile))

    def coarse(self) -> tuple[np.ndarray, np.ndarray]:
        """Return step sizes and numbers of local steps to begin with."""
        sizes = 2.0 ** -np.arange(HALVINGS) / self.twin.smoothness
        return np.repeat(sizes, len(self.steps)), np.tile(np.array(self.steps), len(sizes))

    def finer(self, lr: np.ndarray, k: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return finer step sizes about the best one, for the best two numbers of local steps."""
        by_steps = sorted((float(scores[k == each].min()), each) for each in self.steps)[:2]
        factors = 2.0 ** (np.arange(-FINE, FINE + 1) / FINE)
        found = [(float(lr[k == each][np.argmin(scores[k == each])]) * factors, each) for _, each in by_steps]
        sizes = np.concatenate([sizes for sizes, _ in found])
        return np.array([float(_short(x)) for x in sizes]), np.repeat([each for _, each in found], len(factors))

    def simulated(self, name: str, algorithm: Algorithm, seed: int, replicas: int = 32) -> Choice:
        """Return the row of an algorithm that is simulated on the log itself, on the twin with random directions."""
        from ..setting import Setting

        clients = self.log.mask.shape[1]
        directions = min(16, max(2, clients))
        fed = self.twin.federation(directions, seed)
        rounds = len(self.log.mask)
        setting = Setting(fed, algorithm, Recorded(self.log.mask), start=self.twin.start(directions))
        run = setting.simulate(replicas=replicas, rounds=rounds, seed=seed, record_every=rounds, observers=["gap"])
        last = np.asarray(run.rows["gap"])[:, -1]
        score = float(_upper(last, self.quantile))
        sent = float(self.log.sizes.sum())
        return Choice(
            name,
            algorithm,
            {"kind": type(algorithm).__name__},
            rounds,
            sent,
            score,
            float(np.median(last)),
            float(last.mean()),
            math.nan,
            SIMULATED,
            {},
            (score, score),
        )

    def _rounds(self, rule: Algorithm) -> tuple[int, np.ndarray]:
        """How many rounds the budget lasts, in the mean over logs, and what is sent up to each round."""
        _plan(rule, self.traces)
        sent = np.mean([uploads(rule, trace) for trace in self.traces], axis=0).cumsum()
        rounds = len(sent) if self.budget is None else int(np.searchsorted(sent, self.budget, side="right"))
        return rounds, sent

    def _enough(self, rule: Algorithm, rounds: int) -> int:
        """The fewest rounds, to a tenth, that meet the target on a few logs with a coarse step size, if there is a
        target and it is met at all; else all."""
        if self.target is None:
            return rounds
        lr, k = self.coarse()
        few = [each.mask for each in _some(self.traces)]

        def met(number: int) -> bool:
            traces = [Trace(each[:number]) for each in few]
            _plan(rule, traces)
            found = self._scores(rule, traces, lr, k)
            return bool(found.min() <= self.target)

        if not met(rounds):
            return rounds
        low, high = 0, rounds
        while high - low > max(1, high // 10):
            middle = (low + high) // 2
            low, high = (low, middle) if met(middle) else (middle, high)
        return high

    @staticmethod
    def _losses(twin: Twin, rule: Algorithm, traces: Iterable[Trace], lr: Any, k: Any) -> np.ndarray:
        return np.array([errors_on_trace(twin, rule, trace, lr, k).loss for trace in traces])

    def _sensitivity(
        self, algorithm: Algorithm, traces: Sequence[Trace], ends: Mapping[str, tuple[float, float]]
    ) -> tuple[dict[str, float], tuple[float, float]]:
        """Powers of the constants with which the score grows, and its least and largest value between their ends."""

        def at(name: str, value: float) -> float:
            changed: dict[str, Any] = {name: value}
            try:
                twin = replace(self.twin, **changed)
            except ValueError:  # a smoothness below the strong convexity
                return math.nan
            return float(_upper(self._losses(twin, algorithm, traces, None, None)[:, 0], self.quantile))

        found, seen = {}, [at("gradient_noise", self.twin.gradient_noise)]
        for name in NAMES:
            value = getattr(self.twin, name)
            high, low = at(name, value * CHANGE), at(name, value / CHANGE)
            if value and high > 0 and low > 0:
                found[name] = math.log(high / low) / (2 * math.log(CHANGE))
            seen += [at(name, end) for end in ends.get(name, ())]
        kept = [each for each in seen if not math.isnan(each)]
        return found, (min(kept), max(kept))


def _upper(values: np.ndarray, quantile: float) -> Any:
    """The least value that at least this share of the logs, the first axis, does not exceed."""
    return np.quantile(values, quantile, axis=0, method="inverted_cdf")


def _plan(rule: Algorithm, traces: Sequence[Trace]) -> None:
    """Plan the rates of a rule that selects among groups, or estimate FedAU's weights, on all traces together, which is
    faster than one by one."""
    selection, aggregation = (getattr(rule.kinds[-1], name, None) for name in ("selection", "aggregation"))
    if isinstance(selection, VarSelection):
        plans(traces, selection)
    if isinstance(aggregation, FedAUWeights):
        estimates(traces, aggregation.cutoff)


def _some(traces: Any) -> Any:
    """A few of the logs, of both kinds, or of what is of them."""
    return traces[:: max(1, len(traces) // FEW)][:FEW]


def _repeated(mask: np.ndarray, rounds: int) -> np.ndarray:
    return np.ascontiguousarray(mask[np.arange(rounds) % len(mask)])


def _logs(
    mask: np.ndarray, found: Diagnosis, process: Participation | None, rounds: int, count: int, seed: int
) -> list[Trace]:
    """Logs that might follow: whole days of a log with dates, else blocks; and those of a process."""
    day = 0 if not found.times or not found.width or 86_400 % found.width else int(86_400 // found.width)
    block = min(len(mask), max(1, found.rates.block))
    if day and len(mask) >= 4 * day:
        resampled = Resampled(mask, min(len(mask) // day, -(-block // day)) * day, starts="aligned")
    else:
        resampled = Resampled(mask, block)
    processes = [resampled] if process is None else [resampled, process]
    # They go on where the log ends, so that hours and schedules do.
    drawn = [history(each, mask.shape[1], rounds, count, seed, first=len(mask)).numpy() > 0 for each in processes]
    return [Trace(np.ascontiguousarray(each[:, k])) for each in drawn for k in range(count)]


def _short(value: float) -> str:
    """A number as a decimal of three digits, which files and Python read exactly.

    >>> _short(0.0123456), _short(2.0)
    ('0.0123', '2')
    """
    text = format(Decimal(f"{value:.3g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _with_fronts(rows: Sequence[Choice]) -> list[Choice]:
    """The rows, of which some are on the fronts of error, or worst client's error, against uploads."""

    def front(value: str) -> list[bool]:
        points = [(getattr(row, value), row.uploads) for row in rows]
        return [
            not math.isnan(e) and not any((a <= e and b <= u) and (a, b) != (e, u) for a, b in points)
            for e, u in points
        ]

    return [
        replace(row, pareto=one, pareto_worst=other)
        for row, one, other in zip(rows, front("score"), front("worst_client"), strict=True)
    ]


def _toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
