"""Files for the stand-alone checker, written by hand."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from fedtheory.proof import checker
from fedtheory.proof.kernel.saved_claims import digest


def scalar(*terms: tuple[str, str], names: str, over: str = "1") -> dict:
    """By terms such as ("2", "x^3 y")."""
    every = names.split()

    def powers(text: str) -> list[int]:
        found = dict.fromkeys(every, 0)
        for factor in text.split():
            name, _, power = factor.partition("^")
            found[name] += int(power or 1)
        return list(found.values())

    return {"top": [[powers(t), c] for c, t in terms], "bottom": [[powers(""), over]]}


def line(rule: str, arguments: dict, form: list, **more: Any) -> dict:
    said = {"rule": rule, "premises": [], "arguments": arguments, "context": "start", "kind": "", "where": 0,
            "assumptions": [], "parameters": {}, "form": form, "equality": False, "path_to_the_end": False}  # fmt: skip
    return said | more


def constant(value: dict, stated: dict | None = None, **more: Any) -> dict:
    """The theorem value >= 0, by a constant that is certified to be; it may be stated otherwise."""
    arguments = {"multipliers": [], "constant": value, "squares": []}
    return line("combine", arguments, [[["one"], stated or value]], **more)


def file(names: str, regions: list, *theorems: dict) -> dict:
    return {"format": "fedtheory theorem 1", "names": names.split(), "regions": regions, "theorems": list(theorems)}


def accepted(data: dict | str) -> bool:
    try:
        checker.check(checker.read(data if isinstance(data, str) else json.dumps(data)))
    except (checker.Wrong, ValueError):
        return False
    return True


@cache
def proof_in(text: str) -> tuple[checker.Proof, str]:
    """A file's proof, checked once, and the roots that it names, as text."""
    data = json.loads(text)
    return checker.proof_of(data), json.dumps(data["roots"])


def why_no_claim(text: str, letters: dict[str, str], words: dict[str, Any], sealed: str = "") -> str:
    """Why the checker does not find that what a file proves is a claim, given by its words; "" where it does."""
    proof, roots = proof_in(text)
    assert proof.claim is not None
    checker.LEFT["work"] = checker.LARGEST["work"]
    try:
        proof.claim.read(letters, words, sealed or digest(letters, words), json.loads(roots))
    except checker.Wrong as found:
        return str(found)
    return ""


LETTERS = "k K a b c"


def number(value: str) -> dict:
    return scalar((value, ""), names=LETTERS)
