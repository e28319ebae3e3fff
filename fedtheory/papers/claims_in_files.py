"""Comparison of the claims that saved proofs say with those of the papers, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..claims.statement import algorithm_of
from ..proof.answer_goals import whichever
from ..proof.claim_goals import claim_data
from .registry import claim, papers


def compare_with_known(file: Path, said: Mapping[str, Any] | None) -> bool:
    """Compare what a file says that a claim says with the claim of this name, and return whether there is one; what no
    paper has is the file's alone.

    Raises:
        ValueError: they differ; the message names the parts.
    """
    if said is None:
        return False
    ref = f"{said['id']}@{said['edition']}"
    try:
        known = claim(ref)
    except ValueError:
        return False
    read = said["readings"]
    own = claim_data(known, read, algorithm_of(known, papers()[known.paper].algorithm) or "")
    apart = [part for part in own if own[part] != said[part]]
    options = {a.name: a.options for a in known.ambiguities if a.name not in whichever(known)}
    if read.keys() != options.keys() or any(option not in options[name] for name, option in read.items()):
        apart.append("readings")
    if apart:
        raise ValueError(f"{file}: what is proved is not {ref}: of that claim {', '.join(apart)} differ")
    return True
