"""Theorems and what a participation log says of their assumptions."""

from __future__ import annotations

from collections.abc import Mapping

from ..papers import all_claims


def theorems_on_log(evidence: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return for each claim what a log answers to each of its assumptions on participation.

    Args:
        evidence: by assumption, with an ``answer``: see ``Diagnosis.assumptions``.

    >>> table = theorems_on_log({"uniform_cohorts": {"answer": "cannot be told from this log"}})
    >>> sorted({answer for row in table.values() for answer in row.values()})
    ['cannot be told from this log']
    """
    found = {}
    for claim in all_claims():
        row = {kind: evidence[kind]["answer"] for kind in sorted(claim.assumed & evidence.keys())}
        if row:
            found[claim.ref] = row
    return found
