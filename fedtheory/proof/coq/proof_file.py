"""Export of a saved proof of the kernel to a file for Coq."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from ..kernel.regions import Condition
from .axiom_lemmas import Axioms
from .lemma_writer import pattern
from .round_conclusions import Rounds
from .scalar_text import NotExported, halves, read_scalar
from .sign_certificates import Region
from .theorem_lemmas import Line, condition_text
from .vector_products import File

RULES = (
    "combine", "over clients", "over steps", "induct", "last step", "instantiate", "expect uniform", "expect arbitrary",
    "project", "mix", "mix server", "smooth", "cocoercive", "convex", "descent", "interpolated", "dissimilar",
    "optimal", "local step", "round", "unbiased", "variance", "uncorrelated", "steps apart", "server round",
    "server unbiased", "server variance", "server descent",
)  # fmt: skip
"""Rules and axioms of the kernel that are exported."""


def prelude() -> str:
    """Return the comment, for a {title}, and the definitions and lemmas with which every file begins."""
    return files(__package__).joinpath("prelude.v").read_text()


def export(data: Mapping, title: str) -> str:
    """Write a saved theorem with its whole proof as a file for Coq, which compiles if the proof is valid.

    Raises:
        NotExported: it uses a rule, an assumption or a shape of which there is no export.
    """
    if not re.fullmatch(r"[\w.@-]+", title):
        raise NotExported(f"title = {title!r}: allowed are letters, digits, and _ . @ -, which end no comment of Coq's")
    writer = File([str(name) for name in data["names"]])
    writer.regions = [Region((_condition(c, writer) for c in region), writer.real) for region in data["regions"]]
    writer.add("Unset Implicit Arguments.", "")
    for number, region in enumerate(writer.regions):
        writer.add(*_region(writer, number, region))
    lines: list[Line] = []
    for number, saved in enumerate(data["theorems"]):
        if saved["rule"] not in RULES:
            raise NotExported(f"theorem {number}: rule {saved['rule']!r}: exported are {', '.join(RULES)}")
        if saved["context"] == "run":
            raise NotExported(f"theorem {number}: of the whole run: exported is what is given a round's start, or more")
        lines.append(Line(number, saved, lines, writer.ring))
        theorem = Axioms(writer, lines[-1])
        theorem.prove()
        theorem.write()
    last = f"thm_{len(lines) - 1}"
    if Rounds(writer, lines[-1]).concluded():
        last = f"(conj {last} (conj one_round all_rounds))"
    end = ["End Round.", "", f"Definition exported := {last}.", "Print Assumptions exported.", ""]
    return prelude().replace("{title}", title, 1) + "\n".join([*writer.lines, *end])


def _condition(data: list, w: File) -> Condition:
    name, kind, bound = data
    if kind not in ("positive", "nonnegative", "count", "capped", "interval", "at_least"):
        raise NotExported(f"{name}: a condition {kind!r}")
    return Condition(name, kind, None if bound is None else read_scalar(bound, w.ring))


def _region(w: File, number: int, region: Region) -> list[str]:
    """The definition of a region, and the signs of its letters."""
    conditions = region.conditions
    stated = " /\\\n  ".join(condition_text(c, w.real) for c in conditions)
    signs = {c: f"0 {'<' if c.name in region.strict else '<='} {w.real[c.name]}" for c in conditions}
    signs_of = " /\\ ".join(signs.values())
    proofs = [
        f"  assert (F_{c.name} : {signs[c]}) by ({_sign_of(c, c.name in region.strict)})." for c in reversed(conditions)
    ]
    return [
        f"Definition region_{number} ({w.all_letters} Kr : R) : Prop :=\n  {stated}.",
        f"Lemma facts_{number} ({w.all_letters} Kr : R) : region_{number} {w.all_letters} Kr -> {signs_of}.",
        f"Proof.\n  intros {pattern('C_', conditions)}.",
        *proofs,
        "  repeat split; assumption.",
        "Qed.",
        "",
    ]


def _sign_of(c: Condition, strict: bool) -> str:
    if c.kind in ("positive", "nonnegative"):
        return f"exact C_{c.name}"
    if c.kind == "count":
        return "lra"
    if c.kind in ("capped", "interval"):
        return f"exact (proj1 C_{c.name})"
    assert c.bound
    close = "pos" if strict else "nonneg"
    if halves(c.bound)[1] != 1:
        close = f"apply quotient_{close}; [{close}|pos]"
    return f"refine ({'Rlt_le_trans' if strict else 'Rle_trans'} _ _ _ _ C_{c.name}); {close}"


__all__ = ["export", "prelude"]
