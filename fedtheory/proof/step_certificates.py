"""Decisions as plain data, and their verification anew from it. Nothing is searched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from .chains import GOAL, Chain
from .library import Library
from .polynomial_data import fields, list_of, parse_text
from .steps import Decision, Finding, Step, conclude, evidence_data, evidence_from

_REGION, _NUMBER = {"substitutions", "kinds"}, "region_number"


def chain_data(chain: Chain) -> dict:
    """Return a chain with all its evidence as plain data."""
    return {
        "claim": chain.claim.ref,
        "source": chain.source.name if chain.source else "",
        "outcome": chain.outcome,
        "steps": [decision_data(d) for d in chain.decisions],
    }


def saved_data(chain: Chain) -> dict:
    """Return a proof as it is saved: the kernel's proof of the claim, which the checker reads alone, or else the
    chain."""
    goals = (d for d in chain.decisions if d.step.name == GOAL and chain.outcome == "proved")
    found = next((e for d in goals for e in d.evidence if isinstance(e, str)), None)
    return chain_data(chain) if found is None else json.loads(found)


def decision_data(decision: Decision) -> dict:
    """Return a decision with its evidence as plain data."""
    return {
        "name": decision.step.name,
        "outcome": decision.outcome,
        "findings": [
            {"outcome": f.outcome, "evidence": [evidence_data(e) for e in f.evidence]} for f in decision.findings
        ],
    }


def steps_data(decisions: Iterable[Decision]) -> dict:
    """Return many decisions as plain data, in which a region stands once and is a number elsewhere."""
    regions: list[object] = []

    def number(region: dict) -> object:
        if region not in regions:
            regions.append(region)
        return {_NUMBER: regions.index(region)}

    return {"regions": regions, "steps": _replaced([decision_data(d) for d in decisions], _REGION, number)}


class Shelf:
    """Decisions read from the texts of files that hold ``steps_data``, each verified once.

    Attributes:
        texts: by paper, the texts of its own steps.
        library: the steps as they are now.
    """

    def __init__(self, texts: Mapping[str, str], library: Library) -> None:
        self.library = library
        self._read: dict[str, object] = {}
        self._verified: dict[str, Decision] = {}
        for paper, text in texts.items():
            expected = own_steps(paper, library)
            regions, steps = fields(parse_text(text), "regions", "steps")
            steps = list_of(_without_numbers(steps, list_of(regions)))
            if len(steps) != len(expected):
                raise ValueError(f"steps of {paper}: {len(steps)} in the file, {len(expected)} expected")
            self._read |= dict(zip(expected, steps, strict=True))

    def decision(self, name: str) -> Decision:
        """Return the decision of a step, after those of all that it rests on.

        Raises:
            ValueError: no text has it, or its evidence does not show what is said.
        """
        for other in self.library.needed([name]):
            if other not in self._read:
                raise ValueError(f"step {other!r}: no file has it")
            if other not in self._verified:
                self._verified[other] = verified(self.library.step(other), self._read[other], self._verified)
        return self._verified[name]


def own_steps(paper: str, library: Library) -> tuple[str, ...]:
    """Return the names of a paper's own steps, each after those that it rests on."""
    own = [step.name for step in library.steps if step.paper == paper]
    return tuple(name for name in library.needed(own) if library.step(name).paper == paper)


def verified_all(expected: Iterable[Step], steps: object, where: str) -> dict[str, Decision]:
    """Verify the decisions of a list of steps and return them by name; raise ``ValueError`` if the evidence does not
    show them."""
    expected, read = tuple(expected), list_of(steps)
    if len(read) != len(expected):
        raise ValueError(f"steps of {where}: {len(read)} in the file, {len(expected)} expected")
    decisions: dict[str, Decision] = {}
    for step, data in zip(expected, read, strict=True):
        decisions[step.name] = verified(step, data, decisions)
    return decisions


def verified(step: Step, data: object, earlier: Mapping[str, Decision]) -> Decision:
    """Verify one decision; raise ``ValueError`` if the evidence does not show it."""
    name, outcome, findings = fields(data, "name", "outcome", "findings")
    if name != step.name or len(list_of(findings)) != len(step.checks):
        raise ValueError(f"step = {name!r}: allowed is {step.name!r} with {len(step.checks)} findings")
    found = []
    for check, finding in zip(step.checks, findings, strict=True):
        said, evidence = fields(finding, "outcome", "evidence")
        read = tuple(evidence_from(e) for e in list_of(evidence))
        shown = {"proved": check.accepts, "gap": check.refuted, "unknown": lambda _: True}
        if said not in shown or not shown[said](read):
            raise ValueError(f"step {step.name!r}: the evidence does not show {said!r}")
        found.append(Finding(said, read))
    decision = conclude(step, tuple(found), earlier)
    if decision.outcome != outcome:
        raise ValueError(f"step {step.name!r}: outcome = {outcome!r}, the evidence shows {decision.outcome}")
    return decision


def _without_numbers(data: object, regions: list[object]) -> object:
    def region(number: dict) -> object:
        at = number[_NUMBER]
        if type(at) is not int or at not in range(len(regions)):
            raise ValueError(f"region = {at!r}: allowed is a whole number below {len(regions)}")
        return regions[at]

    return _replaced(data, {_NUMBER}, region)


def _replaced(data: object, keys: set[str], by: Callable[[dict], object]) -> object:
    """The data with every object that has exactly these keys replaced."""
    if isinstance(data, list):
        return [_replaced(item, keys, by) for item in data]
    if not isinstance(data, dict):
        return data
    return by(data) if set(data) == keys else {key: _replaced(value, keys, by) for key, value in data.items()}
