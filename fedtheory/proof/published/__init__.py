"""The proofs as files, verified anew without a search and without a solver (but for the signs of logarithms).

``steps.json`` has the decisions of all steps of the derivations, once; ``<ref>.json`` those that tie a claim to them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from ...files import write_beside
from ...papers import all_claims
from ...papers import claim as claim_of
from .. import registry
from ..chains import Chain, prove
from ..polynomials import fields, list_of, parse_text
from ..steps import Decision, Finding, Step, conclude, evidence_data, evidence_from
from ..tie import tie

FOLDER = Path(__file__).parent
SHARED = "steps.json"
_REGION, _NUMBER = {"substitutions", "kinds"}, "region_number"


def chain_data(chain: Chain) -> dict:
    """A chain with all its evidence, as plain data."""
    return {
        "claim": chain.claim.ref,
        "derivation": chain.derivation.name if chain.derivation else "",
        "outcome": chain.outcome,
        "steps": [_decision_data(d) for d in chain.decisions],
    }


def publish(folder: Path = FOLDER) -> list[Path]:
    """Decide every claim that has a derivation and write the folder's files; others of its JSON files are removed."""
    chains = [c for c in map(prove, all_claims()) if c.derivation is not None]
    shared = [_decision_data(registry.decided(name)) for name in registry.needed(s.name for s in registry.STEPS)]
    regions: list[object] = []
    steps = _with_numbers(shared, regions)
    contents: dict[str, object] = {SHARED: {"regions": regions, "steps": steps}}
    for chain in chains:
        own = len(registry.needed(chain.derivation.steps))
        contents[f"{chain.claim.ref}.json"] = chain_data(chain) | {
            "steps": [_decision_data(d) for d in chain.decisions[own:]]
        }
    for old in set(Path(folder).glob("*.json")) - {Path(folder) / name for name in contents}:
        old.unlink()
    for name, content in contents.items():
        write_beside(Path(folder) / name, json.dumps(content, separators=(",", ":")).encode())
    return [Path(folder) / name for name in contents]


def published(folder: Path = FOLDER) -> tuple[str, ...]:
    """The refs of the claims that have a file."""
    return tuple(sorted(p.stem for p in Path(folder).glob("*.json") if p.name != SHARED))


def reverify(ref: str, folder: Path = FOLDER) -> Chain:
    """The chain of a claim's file, its certificates and counterexamples checked against the steps and the claim of now.

    Nothing is searched and no solver asked, but for the signs of logarithms (see ``atoms``), which are decided anew.

    Raises:
        ValueError: a file is no chain, evidence does not show what the file says, or an outcome differs.

    >>> reverify("fast.lemma2@main").outcome
    'proved'
    """
    path = Path(folder) / f"{ref}.json"
    named, name, outcome, steps = fields(parse_text(path.read_text()), "claim", "derivation", "outcome", "steps")
    if named != ref:
        raise ValueError(f"claim = {named!r}: allowed is {ref!r} in {path.name}")
    claim = claim_of(ref)
    derivation = next((d for d in registry.DERIVATIONS if d.name == name and d.fits(claim)), None)
    if derivation is None:
        raise ValueError(f"derivation = {name!r}: none of that name bounds the functional of {ref}")
    text = (Path(folder) / SHARED).read_text()
    decisions = {name: _verified_shared(text, name) for name in registry.needed(derivation.steps)}
    chain = Chain(claim, derivation, tuple((decisions | _verified(tie(claim, derivation), steps, ref)).values()))
    if chain.outcome != outcome:
        raise ValueError(f"outcome of {ref} = {outcome!r}: the evidence shows {chain.outcome}")
    return chain


@lru_cache(maxsize=4)
def _shared(text: str) -> Mapping[str, object]:
    """The data of all shared steps, by name."""
    regions, steps = fields(parse_text(text), "regions", "steps")
    steps = list_of(_without_numbers(steps, list_of(regions)))
    expected = registry.needed(s.name for s in registry.STEPS)
    if len(steps) != len(expected):
        raise ValueError(f"steps of {SHARED}: {len(steps)} in the file, {len(expected)} expected")
    return dict(zip(expected, steps, strict=True))


@lru_cache(maxsize=8192)
def _verified_shared(text: str, name: str) -> Decision:
    """One shared step, after those that it rests on."""
    earlier = {other: _verified_shared(text, other) for other in registry.needed([name]) if other != name}
    return _decision(registry.step(name), _shared(text)[name], earlier)


def _with_numbers(data: object, regions: list[object]) -> object:
    """The data with every region replaced by its number in ``regions``, to which new ones are added."""
    if isinstance(data, list):
        return [_with_numbers(item, regions) for item in data]
    if not isinstance(data, dict):
        return data
    if set(data) != _REGION:
        return {key: _with_numbers(value, regions) for key, value in data.items()}
    if data not in regions:
        regions.append(data)
    return {_NUMBER: regions.index(data)}


def _without_numbers(data: object, regions: list[object]) -> object:
    if isinstance(data, list):
        return [_without_numbers(item, regions) for item in data]
    if not isinstance(data, dict):
        return data
    if set(data) != {_NUMBER}:
        return {key: _without_numbers(value, regions) for key, value in data.items()}
    if data[_NUMBER] not in range(len(regions)):
        raise ValueError(f"region = {data[_NUMBER]!r}: allowed is a whole number below {len(regions)}")
    return regions[data[_NUMBER]]


def _verified(expected: Iterable[Step], steps: object, where: str) -> dict[str, Decision]:
    expected = tuple(expected)
    if len(list_of(steps)) != len(expected):
        raise ValueError(f"steps of {where}: {len(steps)} in the file, {len(expected)} expected")
    decisions: dict[str, Decision] = {}
    for step, data in zip(expected, steps, strict=True):
        decisions[step.name] = _decision(step, data, decisions)
    return decisions


def _decision_data(decision: Decision) -> dict:
    return {
        "name": decision.step.name,
        "outcome": decision.outcome,
        "findings": [
            {"outcome": f.outcome, "evidence": [evidence_data(e) for e in f.evidence]} for f in decision.findings
        ],
    }


def _decision(step: Step, data: object, earlier: dict[str, Decision]) -> Decision:
    name, outcome, findings = fields(data, "name", "outcome", "findings")
    if name != step.name or len(list_of(findings)) != len(step.checks):
        raise ValueError(f"step = {name!r}: allowed is {step.name!r} with {len(step.checks)} findings")
    verified = []
    for check, finding in zip(step.checks, findings, strict=True):
        said, evidence = fields(finding, "outcome", "evidence")
        read = tuple(evidence_from(e) for e in list_of(evidence))
        shown = {"proved": check.accepts, "gap": check.refuted, "unknown": lambda _: True}
        if said not in shown or not shown[said](read):
            raise ValueError(f"step {step.name!r}: the evidence does not show {said!r}")
        verified.append(Finding(said, read))
    decision = conclude(step, tuple(verified), earlier)
    if decision.outcome != outcome:
        raise ValueError(f"step {step.name!r}: outcome = {outcome!r}, the evidence shows {decision.outcome}")
    return decision
