"""The page of a theorem that the referee examined: the same as a published claim's, with the referee's findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...claims.statement import Claim
from ...evidence.referee import STATES, Report, save_instances
from ...files import check_target, write_beside
from ...papers.registry import algorithm_of
from ...subjects.protocol import Point
from .calculator import calculator
from .claim_page import ClaimPage, Shown, letters_of, shown, statement_of
from .instance_pages import point_of, values_of
from .pages import render_alone


def save(reports: Sequence[Report], path: str | Path) -> Path:
    """Write the page of one report, or of several a list at ``path`` and a page each beside it, named after the claim;
    and each refuting instance in a file that can be replayed. Every page has all that it needs inside it.

    Raises:
        ValueError: the name does not end in .html, or no file can be written there.
    """
    path = check_target(path, ".html")
    path.parent.mkdir(parents=True, exist_ok=True)
    pages = {
        report.claim: path if len(reports) == 1 else path.with_name(f"{path.stem}.{report.claim}.html")
        for report in reports
    }
    for report in reports:
        others = [other.statement for other in reports if other.statement is not None]
        write_beside(pages[report.claim], page(report, others, pages).encode())
    if len(reports) != 1:
        listed = [(report, pages[report.claim].name) for report in reports]
        write_beside(path, render_alone("refereed.html", reports=listed).encode())
    save_instances(reports, path.parent)
    return path


def page(report: Report, stated: Sequence[Claim] = (), pages: Mapping[str, Path] | None = None) -> str:
    """Write the page of one report.

    ``stated`` are all claims of its file, among them its other editions, and ``pages`` where theirs are.

    Raises:
        ValueError: the report does not hold its claim.
    """
    claim = report.statement
    if claim is None:
        raise ValueError(f"{report.claim}: the report does not hold its claim")
    others = [other for other in stated if other.id == claim.id and other.edition != claim.edition]
    links = {ref: where.name for ref, where in (pages or {}).items()}
    return render_alone("claim.html", page=_content(report, claim, others), address=links.__getitem__)


def _content(report: Report, claim: Claim, others: Sequence[Claim]) -> ClaimPage:
    point = _point(claim, report.instance)
    made, why = None, ""
    try:
        made = calculator(claim, values_of(claim, point) if point else {})
    except ValueError as reason:
        why = str(reason)
    found: tuple[Shown, ...] = ()
    if report.instance:
        file, command = report.instance_file, f"fedtheory replay {report.instance_file} --theorem FILE"
        found = (
            shown(claim, file, command, report.instance, point)
            if point
            else Shown(file, command, report.instance, None, "only your file can read it"),
        )
    return ClaimPage(
        claim,
        "Examined by the referee",
        statement_of(claim),
        tuple(statement_of(other, claim) for other in others),
        None,
        report.state,
        "",
        (),
        algorithm_of(claim) or "",
        None,
        found,
        made,
        why,
        letters_of(claim),
        refereed=_told(report),
    )


def _point(claim: Claim, instance: Mapping[str, Any] | None) -> Point | None:
    """The instance's point; ``None`` where there is none, or where only the user's file can read it."""
    try:
        return point_of(claim, instance) if instance else None
    except ValueError:
        return None


def _told(report: Report) -> dict[str, Any]:
    return report.data() | {"meaning": STATES.get(report.state, "")}
