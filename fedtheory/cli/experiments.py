"""Commands of the experiments: the papers' tables, and what runs in their likeness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..printing import print_json, print_table
from .app import Json, app

Paper = Annotated[str, typer.Option(help="A paper: fast, flics, safari or fedau.")]


@app.command()
def tables(paper: Paper, number: str | None = None, json: Json = False) -> None:
    """Print the tables of a paper, every number as it is printed there."""
    from ..experiments.tables import tables as read

    found = [table for table in read(paper) if number in (None, table.number)]
    if not found:
        known = ", ".join(table.number for table in read(paper)) or "another paper: this one has none"
        raise ValueError(f"paper = {paper!r}, number = {number!r}: allowed is {known}")
    if json:
        print_json([table.model_dump(mode="json") for table in found])
        return
    for table in found:
        print(f"{table.name} ({table.place}): {table.caption}")
        shared = set(table.labels)
        print_table([{k: v for k, v in cell.labels.items() if k not in shared} | {"printed": cell.text}
                     for cell in table.cells])  # fmt: skip


@app.command()
def curves(
    paper: Paper,
    archive: Annotated[Path | None, typer.Option(help="The archive; by default in FEDTHEORY_DATA.")] = None,
    into: Annotated[Path | None, typer.Option(help="Write what was computed here, as JSON.")] = None,
) -> None:
    """Compare a paper's tables with the curves that its authors published."""
    from ..experiments.curves import archive_path, compare, read_rule, to_json
    from ..files import check_target, json_text, write_beside

    if into:
        check_target(into, ".json")
    rule = read_rule(paper)
    if rule is None:
        raise ValueError(f"paper = {paper!r}: its authors published no curves")
    path = archive or archive_path(rule)
    content = to_json(paper, compare(paper, path), path)
    if into:
        write_beside(into, (json_text(content, indent=1) + "\n").encode())
    else:
        print_json(content)
