"""Findings of all checks about a claim, one row each: the common ground of ``errata`` and ``referee``."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import sympy

from ..assumptions import ASSUMPTIONS
from ..claims.comparison import PRINTED, Difference, compare, is_printed, part_of
from ..claims.statement import Claim
from ..claims.typeset import expression_latex
from ..papers import all_claims, editions, papers
from ..papers.index import FILE
from . import work_done
from .assess import published_instance, published_needs, refuting
from .consistency import Finding as Inconsistency
from .consistency import check_consistency
from .result_cache import Cache
from .units_check import check_units

if TYPE_CHECKING:
    from ..proof.library import Library
    from ..proof.steps import Decision


@dataclass(frozen=True)
class Row:
    """One finding.

    Attributes:
        claim: the ref of the claim, or the refs of several, separated by commas.
        where: a term, a hypothesis, an equation of the proof, or the whole statement.
        what: one sentence.
        check: what found it: ``units``, ``consistency``, ``proof``, ``instance``, ``rate``, ``edition``, ``search``,
            ``repair``, ``tables``, ``proof and instance``.
        shown: the same for a page, in LaTeX and without what a page says once; or "".
    """

    claim: str
    where: str
    what: str
    check: str
    shown: str = ""

    def data(self) -> dict[str, str]:
        """Return the row as plain data, without an empty ``shown``."""
        return {name: value for name, value in asdict(self).items() if value or name != "shown"}


UNDECIDED = " This is neither proved nor refuted."
CLAIMED = "it is claimed that "
"""Opening of a sentence on a step. ``UNDECIDED`` ends one on a step that is not decided."""


def errata(
    paper: str,
    cache: Cache | None = None,
    progress: Callable[[int, int], None] | None = None,
    spent: dict[str, float] | None = None,
) -> tuple[Row, ...]:
    """List every finding about what a paper prints, without any search.

    Findings come from units, contradictions, gaps of proofs, rates, differences between editions, the published
    instances, replayed, and the paper's tables.

    Args:
        cache: findings about statements are taken from it where they are there, and put there.
        progress: called with (how much is done, 1000), in thousandths of the work that it took before.
        spent: is given the CPU seconds of every piece of work.

    Raises:
        ValueError: no claim of that paper is known.
    """
    papers = sorted({claim.paper for claim in all_claims()})
    if paper not in papers:
        raise ValueError(f"paper = {paper!r}: allowed is {' or '.join(papers)}")
    printed = [claim for claim in all_claims() if claim.paper == paper and is_printed(claim)]
    work, begun = work_of_errata(paper, [claim.ref for claim in printed]), time.process_time()
    ends, names = accumulate(work.values(), initial=0.0), iter(work)

    def tell() -> None:
        nonlocal begun
        if progress:
            progress(round(1000 * next(ends) / sum(work.values())), 1000)
        begun = time.process_time()

    def ended() -> None:
        if spent is not None:
            spent[next(names)] = time.process_time() - begun
        tell()

    tell()
    found: list[Row] = []
    for claim in printed:
        found += kept_findings(claim, cache)
        ended()
    rows = merged((*found, *step_rows(paper, found)))
    ended()
    rows = (*rows, *table_rows(paper))
    ended()
    return rows


def work_of_errata(paper: str, refs: Iterable[str]) -> dict[str, float]:
    """Return how much work the findings about each claim are, those about steps of proofs, and those about tables.

    It is what they took at publication, or else what the checks took that they are made of.
    """
    kinds, known = ("proof", "replay", "consistency"), work_done.recorded(work_done.FILE)
    made_of = {f"errata {ref}": [f"{kind} {ref}" for kind in kinds] for ref in refs}
    made_of |= {f"errata {paper}.{kind}": [f"{kind} {paper}"] for kind in ("steps", "tables")}
    return {name: known.get(name) or sum(work_done.work_of(parts).values()) for name, parts in made_of.items()}


NO_CLAIM = "no claim"


def step_rows(paper: str, known: Iterable[Row], library: Library | None = None) -> Iterator[Row]:
    """Report the printed steps that do not hold and that no finding mentions yet: those that the proofs of today do
    without.

    Args:
        library: decides the steps; by default they are decided anew.
    """
    from ..papers import proofs
    from ..proof.step_certificates import own_steps

    library = library or proofs.library()
    said = {(row.where, row.what) for row in known}
    for name in own_steps(paper, library):
        decision = library.decided(name)
        if decision.closed or not decision.step.printed:
            continue
        by = [printed for printed in library.printed_proofs if name in library.needed(printed.steps)]
        shown = [*(ref for printed in by for ref in printed.claims), *decision.step.of]
        of = [ref for ref in shown if ref.partition("@")[2] in PRINTED] or [NO_CLAIM]
        for row in (open_row(ref, decision) for ref in dict.fromkeys(of)):
            if (row.where, row.what) not in said:
                yield row


def kept_findings(claim: Claim, cache: Cache | None) -> list[Row]:
    """Return ``findings``, which depend on the code and on the files of all papers, and are kept by both."""
    if cache is None:
        return list(findings(claim))
    key = f"errata {claim.ref} {papers_fingerprint()}"
    kept = cache.get(key)
    if kept is not None:
        return [Row(**row) for row in kept]
    found = list(findings(claim))
    cache.put(key, [row.data() for row in found])
    return found


def papers_fingerprint() -> str:
    """Hash the files of all papers: statements, proofs, certificates, instances."""
    content = hashlib.sha256()
    for name, paper in papers().items():
        for path in sorted(paper.folder.rglob("*")) if paper.folder else ():
            if path.is_file() and "__pycache__" not in path.parts and path.name != FILE:
                content.update(f"{name} {path.name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()


def table_rows(paper: str) -> Iterator[Row]:
    """Check the paper's printed tables: a row for each entry that is not borne out, and one that counts the checks."""
    from ..experiments.curves import findings as curve_findings
    from ..experiments.table_checks import check

    try:
        found = [*check(paper), *curve_findings(paper)]
    except FileNotFoundError as error:
        yield Row("tables", "all", f"not checked: {error}", "tables")
        return
    for finding in found:
        if finding.verdict != "agrees":
            yield Row(finding.tables, finding.where, f"{finding.verdict}: {finding.what}", "tables")
    right = sum(finding.verdict == "agrees" for finding in found)
    if found:
        yield Row("tables", "all", f"{len(found)} checks of the printed tables, {right} found nothing wrong", "tables")


def merged(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Merge rows that differ in nothing but the claim into one, which names all the claims.

    >>> merged([Row("a@main", "(1)", "wrong", "proof"), Row("b@main", "(1)", "wrong", "proof")])[0].claim
    'a@main, b@main'
    """
    claims: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for row in rows:
        claims.setdefault((row.where, row.what, row.check, row.shown), {})[row.claim] = None
    return tuple(Row(", ".join(refs), *rest) for rest, refs in claims.items())


@dataclass(frozen=True)
class Known:
    """Evidence on a claim of which findings tell.

    Attributes:
        instance, needs: the published instances, replayed: see ``assess``.
        consistency: findings about the hypotheses.
        decisions: the decided steps of the proof.
    """

    instance: Mapping[str, Any] | None
    needs: Mapping[str, Mapping[str, Any]]
    consistency: Iterable[Inconsistency]
    decisions: Iterable[Decision]


def known_of(claim: Claim) -> Known:
    """Find out all of it anew."""
    from ..papers.proofs import prove

    return Known(
        published_instance(claim.ref), published_needs(claim.ref), check_consistency(claim), prove(claim).decisions
    )


def findings(claim: Claim, known: Known | None = None) -> Iterator[Row]:
    """Yield the findings about one built-in claim, the gravest first.

    Args:
        known: what the rows tell; by default it is found out.
    """
    known = known or known_of(claim)
    yield from rows_of_instance(claim, known.instance)
    yield from rows_of_needs(claim, known.needs)
    yield from unit_rows(claim)
    yield from _consistency_rows(claim, known.consistency)
    yield from open_rows(claim, known.decisions)
    yield from rate_rows(claim)
    yield from edition_rows(claim)


def instance_rows(claim: Claim) -> Iterator[Row]:
    """Report the published instance, replayed."""
    return rows_of_instance(claim, published_instance(claim.ref))


def rows_of_instance(claim: Claim, instance: Mapping[str, Any] | None) -> Iterator[Row]:
    """Report an instance.

    Where it refutes some readings only, there is a row for each of the options that decide it, whatever the others are.
    """
    if instance and instance["refutes"]:
        yield Row(claim.ref, "statement", refutation_text(instance), "instance", _under_all(instance))
    if instance is None or instance["refutes"]:
        return
    for options in refuting(instance["readings"]):
        those = [each for each in instance["readings"] if options.items() <= each["reading"].items()]
        read = ", ".join(f"{name}: {option}" for name, option in options.items())
        several = f", in all {len(those)} ways to read the rest; in the first" if len(those) > 1 else ""
        sides = f"left {those[0]['left']} > right {those[0]['right']} on an exact instance"
        read_so = f"refuted where read with {read}{several}: "
        yield Row(claim.ref, "statement", read_so + sides, "instance", read_so + _sides(those[0]))


def _under_all(instance: Mapping[str, Any]) -> str:
    readings = len(instance["readings"])
    return f"refuted{f' under all {readings} readings' if readings > 1 else ''}: {_sides(instance)}"


def _sides(judged: Mapping[str, Any]) -> str:
    """Both sides of an instance in short."""
    left, right, ratio = (f"{float(judged[name]):.4g}" for name in ("left", "right", "ratio"))
    return f"{left} > {right}" + ("" if ratio == "inf" else f", {ratio} times")


def rows_of_needs(claim: Claim, needs: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Report the assumptions that a claim needs and does not state, by the instances that violate them."""
    for kind, instance in needs.items():
        judged, under = _falling(instance)
        shown = f"needs `{kind}`, which is not stated{under}: {_sides(judged)} without it"
        yield Row(claim.ref, "assumptions", needs_text(kind, instance), "instance", shown)


def needs_text(kind: str, instance: Mapping[str, Any]) -> str:
    """Describe an instance that violates an assumption, in one sentence."""
    judged, under = _falling(instance)
    return (
        f"needs {kind}, which is not stated ({ASSUMPTIONS[kind].meaning}){under}: left {judged['left']} > right "
        f"{judged['right']} ({judged['ratio']} times) on an exact instance that violates it"
    )


def _falling(instance: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """An instance as it falls: as a whole, or under the first reading under which it does, and how that reads."""
    if instance["refutes"]:
        return instance, ""
    readings = (", ".join(f"{name}: {o}" for name, o in options.items()) for options in refuting(instance["readings"]))
    return next(each for each in instance["readings"] if each["refutes"]), f", read with {' or '.join(readings)}"


def refutation_text(instance: Mapping[str, Any]) -> str:
    """Describe an instance in one sentence."""
    readings = len(instance["readings"])
    under = f" under all {readings} readings" if readings > 1 else ""
    return (
        f"refuted{under}: left {instance['left']} > right {instance['right']} ({instance['ratio']} times) on an exact "
        "instance that meets every hypothesis"
    )


def unit_rows(claim: Claim) -> Iterator[Row]:
    """Report places that change under F -> cF or x -> cx."""
    for finding in check_units(claim):
        yield Row(claim.ref, finding.where, f"units do not match: {finding.what}", "units")


def consistency_rows(claim: Claim) -> Iterator[Row]:
    """Report hypotheses that contradict each other, or the conclusion."""
    return _consistency_rows(claim, check_consistency(claim))


def _consistency_rows(claim: Claim, found: Iterable[Inconsistency]) -> Iterator[Row]:
    for finding in found:
        yield Row(claim.ref, finding.name, finding.what, "consistency")


def open_rows(claim: Claim, decisions: Iterable[Decision]) -> Iterator[Row]:
    """Report the printed steps that are not closed, among decided ones; of comparisons with the claim only the
    first."""
    failing = [d for d in decisions if not d.closed and d.step.printed]
    compared = [d for d in failing if d.step.name.startswith("claim.")]
    for decision in failing:
        if decision not in compared[1:]:
            yield open_row(claim.ref, decision)


def open_row(ref: str, decision: Decision) -> Row:
    """Report one step that is not closed."""
    from ..papers.proofs import sentence

    what = sentence(decision).removeprefix(f"{decision.step.equation}: ")
    return Row(ref, decision.step.equation, what, "proof")


def rate_rows(claim: Claim) -> Iterator[Row]:
    """Report printed rates that do not follow from the terms they summarise."""
    if claim.rates:
        for text in claim.asymptotics(all_claims()).unmatched:
            yield Row(claim.ref, "rate", text, "rate")


def edition_rows(claim: Claim) -> Iterator[Row]:
    """Report the differences between the main text and another printed edition."""
    main = editions(claim.id)[0]
    if claim.edition != main.edition:
        for difference in compare(main, claim):
            there, here = (_in_latex(each, difference) for each in (main, claim))
            what = f"differs from {main.ref}: {difference.before} there, {difference.after} here"
            shown = f"differs from {main.ref}: {there} there, {here} here"
            yield Row(claim.ref, difference.name, what, "edition", shown)


def _in_latex(claim: Claim, difference: Difference) -> str:
    """Write the part of a claim in which it differs from another one."""
    part = part_of(claim, difference)
    if isinstance(part, sympy.Basic):
        return f"${expression_latex(part, claim.letters)}$"
    return "nothing" if part is None else str(part)
