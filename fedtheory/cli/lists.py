"""Commands that list what there is."""

from __future__ import annotations

from .. import listings
from ..printing import print_json, print_table
from .app import Json, app


@app.command()
def claims(json: Json = False) -> None:
    """List every claim in every edition."""
    from ..papers.index import listing

    _list(listing(), json)


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
