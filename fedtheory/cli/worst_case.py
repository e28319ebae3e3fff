"""Commands on worst cases: how tight claims are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..printing import Progress, assignment, print_json, print_table, print_tree
from .app import Json, app
from .statements import each_once

if TYPE_CHECKING:
    from ..tightness.measure import Tightness

PICTURES, PAGES = (".png", ".svg", ".pdf"), (".md",)


@app.command()
def tightness(
    ref: Annotated[
        str | None,
        typer.Argument(
            help="A claim: fast.thm2, or fast.thm2@sharp; or a file that states claims of your own, which is executed; "
            "none with --all."
        ),
    ] = None,
    values: Annotated[
        list[str] | None, typer.Argument(help="name=number, such as local_steps=4; the others are chosen.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Compare every convergence claim, at its defaults.")] = False,
    over: Annotated[
        str | None,
        typer.Option(
            help="Along a curve: local_lr (a picture's default), local_steps, a cohort, a probability or a period."
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Draw bound, worst case and exact error here (.png); with --all, or for a file, write a page (.md)."
        ),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="With --all: publish what was found, the scorecard's column with it.")
    ] = False,
    json: Json = False,
) -> None:
    """Compare a claim's bound with the worst case over all (strongly) convex functions that it is about. Of a claim on
    squared gradients, each constant is compared with the least that would do after a few rounds.

    A file has each of its claims compared. One about a step of your own is compared with two clients without noise,
    after one round and after two.

    Example: fedtheory tightness fast.thm2@sharp --over cohort
    """
    if every == (ref is not None):
        raise ValueError("tightness: allowed is a claim, or --all without one")
    if accept and not every:
        raise ValueError("--accept: allowed is with --all")
    own = ref is not None and (Path(ref).suffix == ".py" or Path(ref).is_dir())
    if own and over:
        raise ValueError(f"--over {over}: allowed is with a claim")
    _check_save(save, every or own)
    if ref is None:
        _every(save, accept, json)
    elif own:
        _in_file(Path(ref), each_once(assignment(text) for text in values or ()), save, json)
    else:
        _one(ref, each_once(assignment(text) for text in values or ()), over, save, json)


def _check_save(save: Path | None, every: bool) -> None:
    from ..files import check_target

    allowed = PAGES if every else PICTURES
    if save and save.suffix not in allowed:
        raise ValueError(f"--save {save}: allowed is a name that ends with {' or '.join(allowed)}")
    if save:
        check_target(save)


def _every(save: Path | None, accept: bool, json: bool) -> None:
    from ..evidence.assess import PUBLISHED
    from ..tightness.scorecard_column import accept as publish
    from ..tightness.tightness_table import table

    with Progress() as progress:
        entries = table(progress=lambda done, total: progress("worst cases", done, total))
    if accept:
        publish(entries, PUBLISHED / "scorecard.json")
    _show(entries, save, json)


def _in_file(file: Path, given: dict[str, Any], save: Path | None, json: bool) -> None:
    """Compare the claims that a file or a folder states."""
    from ..evidence.referee import load
    from ..papers import added
    from ..tightness.tightness_table import remarks, table

    with Progress() as progress:
        progress.doing(f"reading {file}")
        paper = load(file)
        with added(paper):
            entries = table(paper.claims, lambda done, total: progress("worst cases", done, total), **given)
            _show(entries, save, json)
    if not json:
        for each in entries:
            for remark in remarks(each):
                print(f"- {each.claim}: {remark}")


def _show(entries: list[Tightness], save: Path | None, json: bool) -> None:
    from ..files import write_beside
    from ..tightness.measure import NOT_APPLICABLE
    from ..tightness.tightness_table import page, rows, rows_of_constants

    if save:
        write_beside(save, page(entries).encode())
    if json:
        print_json([each.to_json() for each in entries])  # type: ignore[arg-type]
        return
    for lines in (
        rows([each for each in entries if each.status != NOT_APPLICABLE and not each.constants]),
        rows_of_constants(entries),
    ):
        if lines:
            print_table(lines)
    for each in entries:
        if each.status == NOT_APPLICABLE:
            print(f"{each.claim}: not applicable: {each.why}")


def _one(ref: str, given: dict[str, Any], over: str | None, save: Path | None, json: bool) -> None:
    from ..papers import claim
    from ..tightness.measure import NOT_APPLICABLE
    from ..tightness.measure import tightness as tightness_of
    from ..tightness.tightness_curves import curve, to_json
    from ..tightness.tightness_table import content, over_rounds, over_values, remarks, rows_of_constants

    statement = claim(ref)
    with Progress() as progress:
        progress.doing(f"{statement.ref}: worst case")
        found = tightness_of(statement, **given)
        if found.status == NOT_APPLICABLE:
            raise ValueError(f"{found.claim}: not applicable: {found.why}")
        progress.doing(f"{statement.ref}: worst cases along {over or 'local_lr'}")
        along = curve(statement, given, over or "local_lr") if save or over else {}
    if save:
        from ..report.style import save as save_figure
        from ..report.worst_case_figures import figure

        save_figure(figure(statement, along, over or "local_lr"), save)
    if json:
        print_json(found.to_json() | ({"curve": to_json(along, over or "local_lr")} if along else {}))
        return
    print_tree(content(found))
    if found.constants:
        print_table([{k: v for k, v in row.items() if k != "claim"} for row in rows_of_constants([found])])
    if found.after:
        print_table(over_rounds(found))
    if along:
        print_table(over_values(along, over or "local_lr"))
    for remark in remarks(found):
        print(f"- {remark}")
