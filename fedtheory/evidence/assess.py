"""All evidence on claims: gathered piece by piece, each piece kept by its content, then judged by one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import data
from ..assumptions import strongest
from ..claims.statement import Claim
from ..federations.devices import device_name, find_device
from ..files import read_json
from ..papers import all_claims, instance_path
from ..papers import claim as find_claim
from ..papers.registry import subject_of
from ..subjects.violations import VIOLATIONS
from . import kept_searches
from .measured import DIGITS, FASHION_MNIST, RealData, measure
from .parallel_work import run_all
from .replay import replay
from .result_cache import Cache
from .search import search
from .units_check import check_units
from .verdict import Verdict
from .verdict_rule import overall
from .work_done import work_of

if TYPE_CHECKING:
    from ..proof.chains import Chain
    from .consistency import Finding

PUBLISHED = Path(str(files("fedtheory.evidence"))) / "published"
"""The scorecard that comes with the package."""

Progress = Callable[[str, int, int], None]
"""Called with what has ended, work done, work in all."""


@dataclass(frozen=True)
class Depth:
    """Amount of searching.

    Attributes:
        candidates, climbs, steps: of one search.
        seeds: one search each.
        refuted_too: whether claims that an instance refutes are searched all the same.
    """

    candidates: int
    climbs: int
    steps: int
    seeds: int
    refuted_too: bool

    @property
    def looks(self) -> int:
        """Number of candidates of a claim that are looked at, at most."""
        return self.seeds * (self.candidates + 2 * self.climbs * self.steps)


QUICK = Depth(candidates=300, climbs=8, steps=30, seeds=1, refuted_too=False)
FULL = Depth(candidates=20_000, climbs=100, steps=200, seeds=20, refuted_too=True)


def assess(claim: str | Claim) -> Verdict:
    """Gather all evidence on one claim, or on the one of that name, and its verdict: see ``assess_all``."""
    return assess_all([find_claim(claim) if isinstance(claim, str) else claim], workers=1)[0]


def assess_all(
    statements: Sequence[Claim] | None = None,
    depth: Depth = QUICK,
    workers: int | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
    executor: Executor | None = None,
    beside: Mapping[str, Callable[[], Any]] | None = None,
    device: str = "cpu",
    spent: dict[str, float] | None = None,
) -> list[Verdict]:
    """Gather all evidence on claims (default: every one), and their verdicts by ``verdict_rule.overall``.

    Editions with the same mathematics share their search and their runs. Published instances are replayed every time,
    and units are checked; all else is taken from ``cache`` where it is there, and put there as soon as it is found.

    Args:
        beside: other tasks for the same processes, such as figures that are drawn, by name; not kept.
        device: where claims are measured on real data. Evidence says where it was.
        spent: is given the CPU seconds of every piece of work that was done.

    Raises:
        ReplayError: a published instance does not say what its numbers say.
        ValueError: there is no such device here.
    """
    statements = all_claims() if statements is None else statements
    instances = {s.ref: recorded_instance(s.ref) for s in statements}
    first_of = twins(statements)
    kept = _tasks(statements, instances, set(first_of.values()), depth, device)
    known = {name: found for name in kept if cache and (found := cache.get(name)) is not None}
    tasks = {name: task for name, task in kept.items() if name not in known}
    first = {name: tasks.pop(name) for name in [*tasks] if _on_data(name)}
    tasks = first | dict(beside or {}) | tasks | {f"replay {s.ref}": partial(_replayed, s.ref) for s in statements}

    def done(name: str, result: Any) -> None:
        if cache and name in kept:
            cache.put(name, result)

    together = {name: dataset for name in first if (dataset := _on_data(name))}
    work = work_of(tasks)
    results = known | run_all(tasks, workers, progress, done, executor, together, (__name__,), work=work, spent=spent)
    verdicts = []
    for statement in statements:
        twin, instance = first_of[statement.ref], instances[statement.ref]
        searches = [result for name, result in results.items() if name.startswith(f"search {twin} ")]
        search = kept_searches.merged(searches) if searches else None
        evidence = _evidence(statement, twin, instance, results, device, search)
        word, why = overall(evidence)
        verdicts.append(
            Verdict(statement.ref, word, why, evidence, instance, search if statement.ref == twin else None)
        )
    return verdicts


def twins(statements: Sequence[Claim]) -> dict[str, str]:
    """Map each claim to the first one with the same mathematics."""
    first: dict[Claim, str] = {}
    return {s.ref: first.setdefault(mathematics(s), s.ref) for s in statements}


def _on_data(name: str) -> str:
    """The data set on which a task measures, or ""."""
    return next((plan.dataset for plan in plans() if name.startswith(f"{plan.dataset} ")), "")


def _tasks(
    statements: Sequence[Claim], instances: Mapping[str, Any], twins: set[str], depth: Depth, device: str
) -> dict[str, Callable[[], Any]]:
    """List the tasks of an assessment, the longest first."""
    searched = [s for s in statements if s.ref in twins]
    tasks: dict[str, Callable[[], Any]] = {}
    for plan in reversed(plans()):
        tasks |= {
            _measuring(plan, s.ref, device): partial(measure, s.ref, plan, device=device)
            for s in searched
            if measurable(s)
        }
    for statement in searched:
        if is_searched(statement, instances[statement.ref], depth):
            for seed in range(depth.seeds):
                name = f"search {statement.ref} {depth.candidates} {depth.climbs} {depth.steps} seed {seed}"
                tasks[name] = partial(_search, statement.ref, depth, seed)
    tasks |= {f"proof {s.ref}": partial(_proof, s.ref) for s in statements}
    tasks |= {f"consistency {s.ref}": partial(_consistency, s.ref) for s in searched}
    return tasks


def is_searched(statement: Claim, instance: Mapping[str, Any] | None, depth: Depth) -> bool:
    """Whether a claim is searched: where a lead of a search would say that it falls, and no instance says so."""
    beyond = any(map(statement.beyond_instances, statement.readings()))
    return not beyond and (depth.refuted_too or not (instance and instance["refutes"]))


def _measuring(plan: RealData, ref: str, device: str) -> str:
    """What the task is called in which a claim is measured: there, so that what is kept of one device is not taken for
    another's."""
    place = find_device(device)
    return f"{plan.dataset} {ref}" + f" on {device_name(place)}" * (place.type != "cpu")


def _evidence(
    statement: Claim, twin: str, instance: dict | None, results: Mapping[str, Any], device: str, search: dict | None
) -> dict[str, Any]:
    found = {
        **results[f"replay {statement.ref}"],
        "consistency": results[f"consistency {twin}"],
        "proof": results[f"proof {statement.ref}"],
    }
    measured = [results[_measuring(plan, twin, device)] for plan in plans() if measurable(statement)]
    return row_evidence(found, instance, measured, search)


def row_evidence(
    found: Mapping[str, Any], instance: dict | None, measured: list[dict[str, Any]], search: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The evidence of a scorecard's row, in the order in which it is written; ``found`` has what is never measured."""
    return {
        "units": found["units"],
        "consistency": found["consistency"],
        "proof": found["proof"],
        "exact": {"search": kept_searches.summary(search) if search else None, "instance": instance_evidence(instance)},
        "measured": measured,
        "needs": found["needs"],
    }


def plans() -> tuple[RealData, ...]:
    """List the measurements for which real data are at hand."""
    return (DIGITS, FASHION_MNIST) if data.available("fashion-mnist") else (DIGITS,)


def measurable(statement: Claim) -> bool:
    """Whether a claim is measured on real data."""
    return subject_of(statement).space(statement).measurable


def mathematics(statement: Claim) -> Claim:
    """Return the claim without where it is printed: the same for editions that differ in nothing else."""
    return replace(statement, edition="", source="")


def same_mathematics(one: Claim, other: Claim) -> bool:
    """Whether two editions differ in nothing but where they are printed."""
    return mathematics(one) == mathematics(other)


def published_instance(ref: str) -> dict[str, Any] | None:
    """Replay the refuting instance that comes with the package; ``None`` if there is none.

    Raises:
        ReplayError: the file does not say what its numbers say.
    """
    content = recorded_instance(ref)
    if content is not None:
        replay(content)
    return content


def published_needs(ref: str) -> dict[str, dict[str, Any]]:
    """Replay the published instances that refute a claim by violating an assumption which it does not make.

    They are keyed by the kind of assumption; each refutes the claim at least under some readings.

    Raises:
        ReplayError: a file does not say what its numbers say.
    """
    found = {kind: content for kind in VIOLATIONS if (content := recorded_instance(ref, kind)) is not None}
    for content in found.values():
        replay(content)
    return found


def recorded_instance(ref: str, violated: str = "") -> dict[str, Any] | None:
    """Read the refuting instance that comes with the package, without a replay; ``None`` if there is none.

    Args:
        violated: a kind of assumption; the instance is then the one that violates it.
    """
    path = instance_path(ref, violated)
    if path is None or not path.exists():
        return None
    content = read_json(path)
    if content.get("claim") != ref:
        raise ValueError(f"{path.name}: claim = {content.get('claim')!r}, allowed is {ref!r}")
    return content


def _replayed(ref: str) -> dict[str, Any]:
    """Compute what is never kept: units, and the published instances, replayed."""
    published_instance(ref)
    needs = [needs_evidence(kind, content) for kind, content in published_needs(ref).items()]
    return {"units": units_evidence(find_claim(ref)), "needs": needs}


def _search(ref: str, depth: Depth, seed: int) -> dict[str, Any]:
    asked = {"candidates": depth.candidates, "climbs": depth.climbs, "steps": depth.steps}
    report = search(ref, depth.candidates, depth.climbs, depth.steps, seed)
    return kept_searches.search_data(report, find_claim(ref), asked)


def _proof(ref: str) -> dict[str, Any]:
    from ..papers.proofs import prove

    return proof_evidence(prove(find_claim(ref)), prove)


def proof_evidence(chain: Chain, prove: Callable[[Claim], Chain | None]) -> dict[str, Any]:
    """Return what the scorecard tells of a chain; of the one with the assumptions that it takes and the claim does not
    make, if ``prove`` completes that.
    """
    from ..proof.text import describe

    assuming: tuple[str, ...] = ()
    whole = prove(chain.claim.assuming(*chain.lacking)) if chain.lacking else None
    if whole is not None and whole.outcome == "proved":
        chain, assuming = whole, strongest(chain.lacking)
    described = describe(chain)
    first = chain.first_open
    return {
        "outcome": described["outcome"],
        "joints": described["joints"],
        "steps": sum(count["of"] for count in described["decided"].values()),
        "decided": described["decided"],
        "repaired": described["repaired"],
        "first_open": f"{first.step.equation}: {first.step.says}" if first else None,
        "readings": chain.narrowed,
        "assuming": list(assuming),
    }


def _consistency(ref: str) -> list[dict[str, Any]]:
    from .consistency import check_consistency

    return consistency_evidence(check_consistency(find_claim(ref)))


def consistency_evidence(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return what the scorecard tells of findings about hypotheses."""
    return [{"name": f.name, "what": f.what, "evidence": f.evidence} for f in found]


def units_evidence(statement: Claim) -> dict[str, Any]:
    """Return what the scorecard tells of a claim's units."""
    findings = [{"where": finding.where, "what": finding.what} for finding in check_units(statement)]
    return {"homogeneous": not findings, "findings": findings}


def needs_evidence(kind: str, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the scorecard tells of an instance that violates an assumption of a kind."""
    return {
        "assumption": kind,
        "violates": instance["violates"],
        "ratio": float(instance["ratio"]),
        "file": f"needs/{instance['claim']}.{kind}.json",
        "readings": len(instance["readings"]),
        **({} if instance["refutes"] else {"only_under": refuting(instance["readings"])}),
    }


def instance_evidence(instance: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what the scorecard tells of the instance that refutes a claim."""
    if instance is None:
        return None
    return {
        "file": f"instances/{instance['claim']}.json",
        "refutes": instance["refutes"],
        "ratio": float(instance["ratio"]),
        "readings": len(instance["readings"]),
        "only_under": [] if instance["refutes"] else refuting(instance["readings"]),
    }


def refuting(judged: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the readings that fall, without the ambiguities on which that does not depend."""
    falls = {tuple(each["reading"].items()): each["refutes"] for each in judged}
    names = list(judged[0]["reading"])
    for name in judged[0]["reading"]:
        others = [n for n in names if n != name]
        without = {tuple((n, dict(r)[n]) for n in others): refutes for r, refutes in falls.items()}
        if all(without[tuple((n, dict(r)[n]) for n in others)] == refutes for r, refutes in falls.items()):
            names, falls = others, without
    return [dict(reading) for reading, refutes in falls.items() if refutes]
