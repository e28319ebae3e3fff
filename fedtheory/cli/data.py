"""Commands on data sets: which there are, where they are, and how to get them."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..printing import Progress, print_json, print_table, print_tree, print_wrapped
from .app import App, Commands, Json, app

data = App(cls=Commands, no_args_is_help=True, help="Data sets: what there is, where it lies, and how to get it.")
app.add_typer(data, name="data")

Name = Annotated[str, typer.Argument(help="A data set, as `data list` names it.")]


@data.command("list")
def list_all(json: Json = False) -> None:
    """List every data set: classes, samples, where it was found, which copy that is, what is known of checksums.

    Example: fedtheory data list
    """
    from ..data.catalogue import ENTRIES
    from ..data.status import status

    rows = [status(entry) for entry in ENTRIES.values()]
    if json:
        print_json(rows)
        return
    print_table([{key: _text(row[key]) for key in ("name", "classes", "samples", "found")} for row in rows])
    print("\nchecksums of downloads, and which copies were found:")
    for row in rows:
        for line in dict.fromkeys([*row["checksums"], *([row["copy"]] if row["copy"] else [])]):
            print_wrapped(f"{row['name']}: {line}", "    ", "  ")


@data.command()
def where(name: Name, json: Json = False) -> None:
    """Say where a data set was found, or where it is looked for; exit status 1 if it is not there.

    Example: fedtheory data where fashion-mnist
    """
    from ..data.catalogue import entry
    from ..data.status import status

    known = entry(name)
    content = status(known) | {"places": [str(place) for place in known.places()] if known.layouts else []}
    print_json(content) if json else print_tree({key: _text(value) for key, value in content.items()})
    if known.layouts and not content["found"]:
        raise typer.Exit(1)


@data.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Data sets, as `data list` names them.")], json: Json = False
) -> None:
    """Get data sets: from the system's package or by download, which resumes where it was cut short. Exit status 1 if
    one could not be had.

    Example: fedtheory data fetch svhn
    """
    from ..data.catalogue import entry
    from ..data.fetch import fetch as get

    for name in names:
        entry(name)  # an unknown name is refused before anything is fetched
    outcomes: dict[str, dict[str, Any]] = {}
    with Progress() as progress:
        for name in names:
            try:
                outcomes[name] = {"fetched": True, "how": get(name, progress)}
            except ValueError as error:
                outcomes[name] = {"fetched": False, "how": str(error)}
    if json:
        print_json(outcomes)
    else:
        for name, outcome in outcomes.items():
            print(f"{name}: {outcome['how']}", file=sys.stdout if outcome["fetched"] else sys.stderr)
    if not all(outcome["fetched"] for outcome in outcomes.values()):
        raise typer.Exit(1)


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return " + ".join(map(str, value)) if all(isinstance(each, int) for each in value) else "; ".join(value)
    return "-" if value in (None, "") else value
