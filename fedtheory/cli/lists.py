"""Commands that list what the package has: statements, parts, data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import listings
from ..printing import print_json, print_table
from .app import Json, app


@app.command()
def claims(
    counts: Annotated[
        bool, typer.Option("--counts", help="Only how many have which published verdict: printed ones, and our own.")
    ] = False,
    into: Annotated[Path | None, typer.Option(help="With --counts: put it between the markers of this file.")] = None,
    json: Json = False,
) -> None:
    """List every claim in every edition."""
    from ..papers.index import listing

    if into and (json or not counts):
        raise typer.BadParameter("--into FILE: allowed with --counts, and not with --json")
    if counts:
        _counts(into, json)
    else:
        _list(listing(), json)


def _counts(into: Path | None, json: bool) -> None:
    from dataclasses import asdict

    from ..evidence.counts import counted, text
    from ..evidence.scorecard import published_rows
    from ..papers import all_claims
    from ..report.generated_docs import put

    rows = published_rows()
    if json:
        print_json({verdict: asdict(count) for verdict, count in counted(all_claims(), rows).items()})
    elif into:
        put(into, text(all_claims(), rows))
    else:
        print(text(all_claims(), rows))


@app.command()
def quantities(json: Json = False) -> None:
    """List the quantities that a statement can be made of."""
    _list(listings.quantities(), json)


@app.command()
def functionals(json: Json = False) -> None:
    """List the left sides that a statement can bound."""
    _list(listings.functionals(), json)


@app.command()
def assumptions(json: Json = False) -> None:
    """List what a statement can assume."""
    _list(listings.assumptions(), json)


@app.command()
def algorithms(json: Json = False) -> None:
    """List the algorithms that a statement can name, so that it is about their runs alone."""
    _list(listings.algorithms(), json)


def _list(rows: listings.Rows, json: bool) -> None:
    if json:
        print_json(rows)
    else:
        print_table([{key: ", ".join(v) if isinstance(v, list) else v for key, v in row.items()} for row in rows])
