"""Commands that list what the package has: statements, parts, data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import listings
from ..printing import print_json, print_markdown, print_table, print_tree
from .app import Json, app


@app.command()
def claims(
    counts: Annotated[
        bool, typer.Option("--counts", help="Only how many have which published verdict: printed ones, and our own.")
    ] = False,
    into: Annotated[Path | None, typer.Option(help="With --counts: put it between the markers of this file.")] = None,
    json: Json = False,
) -> None:
    """List every claim in every edition.

    Example: fedtheory claims --counts
    """
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
        print_markdown(text(all_claims(), rows))


@app.command()
def quantities(json: Json = False) -> None:
    """List the quantities that a statement can be made of.

    Example: fedtheory quantities
    """
    _list(listings.quantities(), json)


@app.command()
def functionals(json: Json = False) -> None:
    """List the left sides that a statement can bound.

    Example: fedtheory functionals --json
    """
    _list(listings.functionals(), json)


@app.command()
def assumptions(json: Json = False) -> None:
    """List what a statement can assume.

    Example: fedtheory assumptions
    """
    _list(listings.assumptions(), json)


@app.command()
def algorithms(json: Json = False) -> None:
    """List the algorithms that a statement can name, so that it is about their runs alone.

    Example: fedtheory algorithms
    """
    _list(listings.algorithms(), json)


@app.command()
def explain(word: Annotated[str, typer.Argument(help="A word, or a letter of a paper.")], json: Json = False) -> None:
    """Say what a word means: a verdict, a quantity or its letter, an assumption, a left side, a reading.

    Example: fedtheory explain needs
    """
    from ..explanations import explain as explained

    entries = explained(word)
    if json:
        print_json(entries)
        return
    for entry in entries:
        print_tree({entry["kind"]: entry["word"]} | {k: v for k, v in entry.items() if k not in ("kind", "word")})


def _list(rows: listings.Rows, json: bool) -> None:
    if json:
        print_json(rows)
    else:
        print_table([{key: ", ".join(v) if isinstance(v, list) else v for key, v in row.items()} for row in rows])
