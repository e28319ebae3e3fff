"""The errata of a paper for its page in docs/findings: formulas typeset, an instance in words with both sides."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from ..claims.statement import BOUND, Claim
from ..claims.typeset import claim_latex, expression_latex
from ..evidence.counts import DECIDED
from ..evidence.scorecard import published_rows
from ..files import read_json
from ..papers import claim, instance_path, papers
from ..papers.in_print import Erratum
from ..quantities import symbol

HEAD = (
    "Each entry has the printed formula, the inequality that is judged, what is wrong, a small instance with both "
    "sides in exact arithmetic, and what is true instead. Letters are the paper's; a repair says what others mean."
)
NO_THEOREM = "This is derived for clients like those of the instance. No theorem is stated or proved in its place."


def errata(paper: str) -> str:
    """Write the errata of a paper as Markdown; nothing of a paper without any."""
    told = papers()[paper].errata
    parts = [part for number, each in enumerate(told, start=1) for part in _entry(number, each)]
    return "\n\n".join(["## Errata", HEAD, *parts]) if told else ""


def _entry(number: int, erratum: Erratum) -> Iterator[str]:
    first = claim(erratum.claims[0])
    yield f"### Erratum {number}: {_place(first)}"
    yield f"**Printed.** {first.title}:"
    yield from (f"$$\n{display}\n$$" for display in erratum.printed)
    yield "**As it is judged.** Abbreviations and hidden constants are written out:"
    yield statement(first)
    if first.constants:
        yield f"Constants that the text hides: {first.constants}."
    yield f"**What is wrong.** {erratum.wrong}"
    yield f"**A small instance.** {erratum.instance} {_sides(first.ref)} `fedtheory replay {first.ref}` shows it."
    if len(erratum.claims) > 1:
        others = "; ".join(dict.fromkeys(_place(claim(ref)) for ref in erratum.claims[1:]))
        yield f"**What falls with it.** {others}."
    yield f"**What is true instead.** {erratum.true}"
    for ref in erratum.editions:
        edition = claim(ref)
        yield f"{edition.title}:"
        yield statement(edition)
        yield f"{_shown(ref)}: `fedtheory prove {ref}`."
    if not erratum.editions:
        yield NO_THEOREM
    if erratum.objection:
        yield f"**What may be objected.** {erratum.objection} **Answer.** {erratum.answer}"


def statement(printed: Claim) -> str:
    """Write a claim as a formula, its printed hypotheses, and the step sizes that it chooses."""
    lines = [f"$$\n{claim_latex(printed)}\n$$"]
    under = [h for h in printed.hypotheses if not h.implicit and h.source != BOUND]
    if under:
        lines += ["under", "\n".join(f"- ${expression_latex(h.relation, printed.letters)}$" for h in under)]
    if chosen := [expression_latex(equation, printed.letters) for equation in _chosen(printed)]:
        lines += ["with", *(f"$$\n{latex}\n$$" for latex in chosen)]
    return "\n\n".join(lines)


def _chosen(printed: Claim) -> Iterator[sympy.Basic]:
    """Equations of the step sizes that a statement chooses."""
    for name, choice in printed.choices.items():
        yield sympy.Eq(symbol(name), choice, evaluate=False)


def _place(printed: Claim) -> str:
    """Name the place where a statement is printed, without the paper: 'Section 4.2, Theorem 1, (2)'."""
    place = printed.source.partition(", ")[2] or printed.source
    return place[0].upper() + place[1:]


def _sides(ref: str) -> str:
    """Tell both sides of a published instance, and how often the left one is the right one."""
    path = instance_path(ref)
    assert path is not None
    judged = read_json(path)
    left, right = (float(judged[name]) for name in ("left", "right"))
    times = f": the left one is {left / right:.4g} times as large" if right > 0 else ""
    readings = len(judged["readings"])
    under = f" So it is under each of the {readings} ways to read the text." if readings > 1 else ""
    return f"The left side is {left:.4g} and the right side {right:.4g}{times}.{under}"


def _shown(ref: str) -> str:
    """Tell the verdict on an edition in words."""
    word = published_rows()[ref]["verdict"]
    if word not in DECIDED:
        raise ValueError(f"{ref}: {word}: what is true instead is proved, or its steps are decided")
    return "Proved" if word == "proved" else "Every step decided"
