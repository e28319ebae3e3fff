"""The command that writes the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..printing import Progress, print_json
from .app import Json, app


@app.command()
def report(
    into: Annotated[Path, typer.Option(help="The folder of the pages; index.html is the first.")] = Path("report/site"),
    figures: Annotated[Path, typer.Option(help="Pictures that pages show, if they are there.")] = Path("figures"),
    docs: Annotated[
        str, typer.Option(help="Where the pages of docs are, as seen from the folder: pages link to them.")
    ] = "",
    json: Json = False,
) -> None:
    """Write what is known as a folder of pages that a browser opens without a network: the published scorecard, a page
    for each claim with a calculator, tables, algorithms, participation. Nothing is verified anew.

    Example: fedtheory report --into pages
    """
    with Progress() as progress:
        progress.doing("reading the claims")
        from ..report.site import write

        written = write(into, figures, progress, docs)
    first = into / "index.html"
    if json:
        print_json({"first": str(first), "pages": [str(path) for path in written if path.suffix == ".html"]})
    else:
        print(f"Wrote {len(written)} files; open {first}")
