"""Generation of the parts of Markdown files between two markers: docs/findings has a paper's verdicts and findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..assumptions import ASSUMPTIONS
from ..claims.comparison import is_printed
from ..evidence.counts import read_literally
from ..evidence.findings import CLAIMED, UNDECIDED, Row
from ..evidence.scorecard import published_rows
from ..evidence.verdict_rule import with_readings
from ..files import plain_toml, read_file, write_beside
from ..markdown import cell
from ..papers import all_claims, papers
from ..proof.text import in_letters
from ..proof.verdict_word import KERNEL
from .errata_pages import errata

BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"

VERDICTS_READ = (
    "A claim is a statement of the paper (`thm1`) in an edition (`@main`: as in the text); [the "
    "scorecard](../scorecard.md) says what the verdicts mean. *Largest* is the largest left side over right side: of "
    "the instance that refutes "
    "the claim, else of a search among settings that meet every hypothesis, where up to 1 the claim holds (in "
    "brackets: once the bound's first term has faded to a tenth). *Proof* is how many steps of a proof are decided, "
    "and whether [the kernel](../kernel.md) composes it from its axioms; or where it is open."
)
FINDINGS_READ = (
    "*Where* is a place in the paper, or a term or a hypothesis by its name. An *instance* is exact and "
    "meets every hypothesis that is printed, and its left side > its right side, both enclosed. A finding of the "
    "*proof* says what is claimed there, and where that fails; one that is *undecided* is neither proved nor refuted."
)


HEAD = ("| claim | where | found by | finding |", "| --- | --- | --- | --- |")


def put(path: Path, generated: str) -> None:
    """Replace the text between the markers of a file.

    Raises:
        ValueError: the file has not exactly one marker of each kind, in order.
    """
    before, after = around(path)
    write_beside(path, f"{before}{BEGIN}\n{generated}\n{END}{after}".encode())


def around(path: Path) -> tuple[str, str]:
    """Return the text before and after the markers of a file; raise ``ValueError`` as ``put`` does."""
    text = read_file(path).decode("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in after:
        raise ValueError(f"{path}: allowed is a file with one line {BEGIN!r} and, after it, one line {END!r}")
    return before, after


ON_DATA = """## Bounds on real data

Regularised logistic regression on Fashion-MNIST, whose smoothness, strong convexity and dissimilarity are proved and
whose noise is known, so that a bound has a value. The error is proved to lie between a floor and a ceiling: how far
runs can be from the path of the mean map (`fedtheory.moments.mean_path`). That needs rounds that are drawn
independently, steps of one size, and weights that remember nothing or are FedAU's; a statement needs a left side that
is a squared distance or a squared gradient, and no constants of an O(.). Its condition on quantities of the run, if it
has one, is undecided here."""


def generated(paper: str, rows: Sequence[Row]) -> str:
    """Write errata, verdicts from the published scorecard, bounds on real data, and findings, as Markdown."""
    return "\n\n".join(filter(None, [errata(paper), verdicts(paper), bounds_on_data(paper), findings(paper, rows)]))


def bounds_on_data(paper: str) -> str:
    """Show the paper's figures of bounds beside what was measured on data, one a theorem; empty if it has none."""
    from .figure_files import figure_files

    shown = []
    for path in figure_files():
        content = plain_toml(read_file(path), str(path))
        if path.parents[1].name == paper and content["figure"]["kind"] == "measured_bounds":
            shown.append(f"![{content['title']}](../../figures/{paper}.{path.stem}.png)")
    return "\n\n".join([ON_DATA, *shown]) if shown else ""


def verdicts(paper: str) -> str:
    """Write the verdicts of a paper's statements, printed ones and our own apart."""
    card = published_rows()
    claims = [claim for claim in all_claims() if claim.paper == paper and claim.ref in card]
    lines = ["## Verdicts", "", VERDICTS_READ]
    for title, printed in (("As printed", True), ("Editions of our own", False)):
        some = [claim for claim in claims if is_printed(claim) is printed]
        lines += (
            [
                "",
                f"### {title}",
                "",
                "| claim | source | verdict | largest | proof | remark |",
                "| --- | --- | --- | --- | --- | --- |",
            ]
            if some
            else []
        )
        for claim in some:
            row = card[claim.ref]
            word = with_readings(row) + ("" if read_literally(claim, row) else "; not the literal reading")
            parts = (claim.ref, claim.source, word, _largest(row["evidence"]), _proof(row), _remark(row["evidence"]))
            lines.append(f"| {' | '.join(map(cell, parts))} |")
    return "\n".join(lines)


def _largest(evidence: Mapping[str, Any]) -> str:
    """Write the largest ratio of a refuting instance, else of the search."""
    instance, found = evidence["exact"]["instance"], evidence["exact"]["search"]
    if instance and (instance["refutes"] or not found):
        return f"{float(instance['ratio']):.3g}, instance".replace("inf,", "infinite,")
    if not found:
        return ""
    late = f" ({float(found['largest_late_ratio']):.3g})" if found["largest_late_ratio"] else ""
    return f"{float(found['largest_ratio']):.3g}{late}"


def _proof(row: Mapping[str, Any]) -> str:
    """Say how many steps are decided, and how they are joined; or name the first that is open."""
    proof = row["evidence"]["proof"]
    if proof is None or (row["verdict"] == "refuted" and proof["outcome"] != "proved"):
        return ""
    if proof["outcome"] != "proved":
        return f"open at {proof['first_open']}" if proof["first_open"] else ""
    broken = proof["repaired"]
    replaced = f", {broken} printed one{'s' if broken > 1 else ''} replaced" if broken else ""
    taking = f", with {' and '.join(f'`{kind}`' for kind in proof['assuming'])}" if proof["assuming"] else ""
    count = f"{proof['steps']} step{'s' if proof['steps'] > 1 else ''}"
    return f"{count}{', kernel' if proof['joints'] == KERNEL else ''}{replaced}{taking}"


def _remark(evidence: Mapping[str, Any]) -> str:
    """Write the rest of a row: readings that fall, what it falls without, units."""
    instance, said = evidence["exact"]["instance"], []
    if instance and instance["refutes"] and instance["readings"] > 1:
        said.append(f"under all {instance['readings']} readings")
    if instance and not instance["refutes"]:
        options = (", ".join(f"{name}: {o}" for name, o in reading.items()) for reading in instance["only_under"])
        said.append(f"refuted where read with {' or '.join(options)}")
    for need in evidence["needs"]:
        some = " under some readings" if need.get("only_under") else f" {float(need['ratio']):.3g} times"
        said.append(f"exceeded{some} without `{need['assumption']}`")
    if units := evidence["units"]["findings"]:
        said.append(f"not homogeneous in {' and '.join(finding['where'] for finding in units)}")
    return "; ".join(said)


def findings(paper: str, rows: Sequence[Row]) -> str:
    """The findings: a row for all claims of which the same is said, and for all of their places."""
    sources = {claim.ref: claim.source for claim in all_claims()}
    told: list[Row] = []
    named: dict[str, None] = {}
    for row in rows:
        text, kinds = _in_words(row, paper)
        named |= dict.fromkeys(kinds)
        check = f"{row.check}, undecided" if row.what.endswith(UNDECIDED) else row.check
        where = "statement" if {row.where} == {sources.get(ref) for ref in row.claim.split(", ")} else row.where
        told.append(Row(row.claim, where, text, check))
    for part in ("claim", "where"):
        told = list(_together(told, part))
    lines = ["## Findings", "", FINDINGS_READ, "", *HEAD]
    for row in told:
        where = re.sub(r"_(?=[a-z]{2})", " ", row.where)  # names of the code as words
        lines.append(f"| {' | '.join(map(cell, (row.claim, where, row.check, row.what)))} |")
    meanings = [f"- `{kind}`: {ASSUMPTIONS[kind].meaning}" for kind in ASSUMPTIONS if kind in named]
    return "\n".join([*lines, *(["", "Assumptions that are not stated:", "", *meanings] if meanings else [])])


def _in_words(row: Row, paper: str) -> tuple[str, list[str]]:
    """Write a row in the paper's letters, and list the kinds of assumption that it names, each by its name alone."""
    text = (row.shown or row.what).removesuffix(UNDECIDED).removesuffix(".").removeprefix(CLAIMED)
    if row.check in ("units", "rate", "consistency", "edition") and not row.shown:
        text = re.sub(r"(?<=[\w)])\*(?=[\w(])", " ", in_letters(text, papers()[paper]))
    kinds = []
    for name, kind in ASSUMPTIONS.items():
        if kind.meaning in text:
            text = re.sub(rf"\b{name}(: | \(){re.escape(kind.meaning)}\)?", f"`{name}`", text)
            text = text.replace(f"{name}, which is not stated ({kind.meaning})", f"`{name}`, which is not stated")
            kinds.append(name)
    return text, kinds


def _together(rows: Sequence[Row], part: str) -> Iterator[Row]:
    """Rows that differ in one part alone as one, which names all of it."""
    by: dict[tuple[str, ...], dict[str, None]] = {}
    for row in rows:
        rest = (row.where if part == "claim" else row.claim, row.what, row.check)
        by.setdefault(rest, {})[row.claim if part == "claim" else row.where] = None
    for (other, what, check), of in by.items():
        if part == "claim":
            yield Row(", ".join(dict.fromkeys(ref for refs in of for ref in refs.split(", "))), other, what, check)
        else:
            yield Row(other, "; ".join(of), what, check)
