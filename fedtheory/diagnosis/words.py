"""A diagnosis in plain sentences, and as plain data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .time_dependence import survival, two_sided

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

FORMAT = "fedtheory diagnosis 1"


def sentences(found: Diagnosis) -> list[str]:
    """Return the diagnosis as lines for a screen."""
    rate, clients = found.rates.rate, len(found.names)
    level, tail = f"{found.level:.0%}", (1 - found.level) / 4
    width = "" if found.width is None else f" of {found.width:g} {'seconds' if found.times else 'units'}"
    lines = [
        f"{clients} clients, {found.rounds} rounds{width}; {found.mask.sum(axis=1).mean():.3g} clients a round.",
        *found.told,
    ]
    middle = int(np.argsort(rate, kind="stable")[clients // 2])
    lines.append(
        f"Rates: from {rate.min():.3g} to {rate.max():.3g}; the middle client's {rate[middle]:.3g} "
        f"({found.rates.low[middle]:.3g} to {found.rates.high[middle]:.3g} at {level})."
    )
    if found.never:
        most = found.rates.high[found.never[0]]
        lines.append(f"Never came: {_some(found, found.never)}; their rates are below {most:.2g}.")
    for kind, verb in (("joined", "Joined late"), ("left", "Left"), ("changed", "Changed their rate")):
        which = [each for each in found.changes if each.kind == kind]
        if which:
            said = ", ".join(f"{found.names[c.client]} in round {c.round}" for c in which[:4])
            lines.append(f"{verb}: {len(which)} ({said}{', ...' if len(which) > 4 else ''}).")
    if found.family is None:
        lines.append(f"Dependence and family: not said; {found.missing}.")
    else:
        lines += _dependence(found, tail)
        lines.append(_family(found))
    fair = "n_i/n" if len({*found.fair.tolist()}) > 1 else "1/N"
    lines.append(
        f"What averages minimise, against {fair} (share of the objective at the wrong clients; gradient at the"
        " fair optimum, in units of heterogeneity: worst, typical):"
    )
    for each in found.objectives:
        span = "exactly" if each.low == each.high else f"{each.low:.3f} to {each.high:.3f}"
        lines.append(f"  {each.rule:24} {each.distance:.3f} ({span}); {each.worst:.3f}, {each.typical:.3f}")
    errors = ", ".join(
        f"{_cutoff(k)}: {v:.3g}"
        for k, v in found.weight_errors.items()
        if k in (found.best_cutoff, 1.0, 10.0, 50.0, math.inf)
    )
    lines.append(f"FedAU's weight error by cutoff: {errors}; least at {_cutoff(found.best_cutoff)}.")
    for name, entry in found.assumptions().items():
        if entry["answer"] != "cannot be told from this log":
            lines.append(f"{name.replace('_', ' ').capitalize()}: {entry['answer']} ({entry['why']}).")
    if found.rounds_for_ten_percent:
        rounds = found.rounds_for_ten_percent
        lines.append(f"To tell the middle client's rate from one a tenth away takes {rounds} rounds (in 8 of 10 logs).")
    return lines


def _dependence(found: Diagnosis, tail: float) -> list[str]:
    if math.isnan(found.memory):
        return ["In time: every client is always there, or never."]
    depends = two_sided(found.runs_z) < tail
    said = "rounds depend on each other" if depends else "no memory found"
    lengths = "like geometric ones"
    if two_sided(found.absences_z) < tail:
        lengths = "more unequal than geometric ones" if found.absences_z > 0 else "more even than geometric ones"
    correlation = f"correlation {found.memory:+.3f} with the next round, z = {found.runs_z:.1f}"
    lines = [f"In time: {said} ({correlation}); absences are {lengths} (z = {found.absences_z:.1f})."]
    s = found.sizes
    said = (
        f"the size of a round varies {s.ratio:.2f} times ({s.low:.2f} to {s.high:.2f}) as much as of independent ones"
    )
    if found.pairs is None:
        pairs = "too many clients to compare pairs"
    else:
        pairs = f"{len(found.pairs)} pairs stand out" if found.pairs else "no pair stands out"
    lines.append(f"Between clients: {said}; {pairs}.")
    for each in found.calendar:
        if each.p is None:
            what = {"hour": "days", "weekday": "weeks"}[each.of]
            lines.append(f"By {each.of}: not said; {each.missing} more {what} are needed.")
        else:
            verb = "differ" if each.p < tail else "are not found to differ"
            lines.append(f"By {each.of}: rounds {verb} (ripple {each.ripple:.0%} of the mean size, p = {each.p:.3f}).")
    return lines


def _family(found: Diagnosis) -> str:
    family = found.family
    assert family is not None
    if family.check is None:
        return f"Family: {family.name}; rounds repeat exactly, every {family.described.get('period')}."
    if family.fits:
        return f"Family: {family.name}; new logs of it look like this one (p = {family.check.p:.2g})."
    return (
        f"Family: none fits. {family.nearest} predicts best, but its logs differ: {family.check.worst} is "
        f"{family.check.deviations[family.check.worst]:+.1f} standard deviations away."
    )


def _cutoff(k: float) -> str:
    return "none" if math.isinf(k) else f"{k:g}"


def _some(found: Diagnosis, columns: list[int]) -> str:
    names = [found.names[i] for i in columns]
    return f"{len(names)} ({', '.join(names[:4])}{', ...' if len(names) > 4 else ''})"


def to_json(found: Diagnosis) -> dict[str, Any]:
    """Return every number of a diagnosis, by name; clients by theirs, in alphabetical order."""
    names, order = found.names, sorted(range(len(found.names)), key=lambda i: found.names[i])
    rates, family = found.rates, found.family
    return {
        "what": FORMAT,
        "clients": len(names),
        "rounds": found.rounds,
        "width": found.width,
        "unit": found.unit,
        "told": list(found.told),
        "missing": found.missing,
        "level": found.level,
        "block": rates.block,
        "rates": {
            names[i]: {
                "rate": float(rates.rate[i]),
                "low": float(rates.low[i]),
                "high": float(rates.high[i]),
                "inflation": float(rates.inflation[i]),
            }
            for i in order
        },
        "never": sorted(names[i] for i in found.never),
        "changes": {
            names[c.client]: {"kind": c.kind, "round": c.round, "before": c.before, "after": c.after, "p": c.p}
            for c in sorted(found.changes, key=lambda c: names[c.client])
        },
        "time": {
            "memory": found.memory,
            "runs_z": found.runs_z,
            "absences_z": found.absences_z,
            "presences_z": found.presences_z,
            "survival": survival(found.mask),
        },
        "between clients": {
            "ratio": found.sizes.ratio,
            "low": found.sizes.low,
            "high": found.sizes.high,
            "correlation": found.sizes.correlation,
            "pairs": None
            if found.pairs is None
            else sorted(
                (
                    {"clients": sorted((names[p.one], names[p.other])), "correlation": p.correlation, "p": p.p}
                    for p in found.pairs
                ),
                key=lambda each: each["clients"],
            ),
        },
        "calendar": {
            each.of: {
                "labels": each.labels,
                "means": each.means,
                "ripple": each.ripple,
                "p": each.p,
                "missing": each.missing,
            }
            for each in found.calendar
        },
        "family": None
        if family is None
        else {
            "name": family.name,
            "nearest": family.nearest,
            "log_likelihoods": family.log_likelihoods,
            "p": family.check.p if family.check else None,
            "deviations": family.check.deviations if family.check else {},
            "replicas": family.check.replicas if family.check else None,
        },
        "objectives": {
            each.rule: {
                "distance": each.distance,
                "by_chance": each.by_chance,
                "low": each.low,
                "high": each.high,
                "worst": each.worst,
                "typical": each.typical,
                "weight": {names[i]: float(each.weight[i]) for i in order},
                "labels": None if each.labels is None else each.labels.tolist(),
            }
            for each in found.objectives
        },
        "weight_errors": {_cutoff(k): v for k, v in found.weight_errors.items()},
        "weight_error_bands": {_cutoff(k): list(v) for k, v in found.weight_error_bands.items()},
        "assumptions": found.assumptions(),
        "rounds_for_ten_percent": found.rounds_for_ten_percent,
    }
