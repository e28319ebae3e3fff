"""Commands on participation logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..printing import Progress, print_json, print_table, print_wrapped
from .app import Command, app
from .statements import each_once

if TYPE_CHECKING:
    from ..participation import Log

STANDARD_OUTPUT = "-"


class OptionalJson(Command):
    """A command whose ``--json`` may name a file, which ends in .json; alone it prints."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, ``--json`` alone being ``--json -``."""
        found = []
        for k, each in enumerate(args):
            found.append(each)
            if each == "--json" and not (k + 1 < len(args) and args[k + 1].endswith(".json")):
                found.append(STANDARD_OUTPUT)
        return super().parse_args(ctx, found)


LogFile = Annotated[Path, typer.Argument(help="The log: CSV, .jsonl, .parquet, or .json (FedScale, FLASH).")]
Width = Annotated[str | None, typer.Option(help="How long a round is: '1 hour', or a number in the log's unit.")]
Zone = Annotated[str | None, typer.Option(help="Zone of dates without one, and of hours: Europe/Berlin.")]
Like = Annotated[str, typer.Option(help="The form of the log; by default told from its columns.")]
Column = Annotated[list[str] | None, typer.Option(help="What a column is called in the log: client=phone. Repeatable.")]
Roster = Annotated[
    Path | None, typer.Option(help="CSV with a column client: all there are, also those who never came.")
]
Until = Annotated[str | None, typer.Option(help="When the log ends, if later than its last moment.")]
Present = Annotated[list[str] | None, typer.Option(help="A state or status that means: is there. Repeatable.")]
Where = Annotated[list[str] | None, typer.Option(help="FLASH: a condition, such as charging. Repeatable.")]
Server = Annotated[str | None, typer.Option(help="Traffic: the server's name.")]
Samples = Annotated[
    Path | None, typer.Option(help="CSV: client,samples. Clients then weigh n_i/n in the fair objective.")
]
JsonFile = Annotated[str | None, typer.Option("--json", help="Print every number as JSON, or write it to FILE.json.")]


def read(
    log: Path,
    like: str,
    column: list[str] | None,
    tz: str | None,
    roster: Path | None,
    until: str | None,
    present: list[str] | None,
    where: list[str] | None,
    server: str | None,
) -> Log:
    """Read a log with the options of the command line."""
    from ..participation import read_log

    columns = each_once(_column(each) for each in column or ())
    names = None if roster is None else list(_by_client(roster, "client"))
    return read_log(
        log,
        like,
        columns=columns,
        tz=tz,
        names=names,
        until=until,
        present=present or None,
        where=where or (),
        server=server,
    )


def _column(text: str) -> tuple[str, str]:
    """'client=phone' as what a column holds and its name."""
    what, sign, name = text.partition("=")
    if not sign or not name:
        raise ValueError(f"--column {text}: allowed is WHAT=NAME, such as client=phone")
    return what, name


def width_of(text: str | None) -> float | None:
    """Return a width: a number, or a time in seconds.

    >>> width_of("1 hour"), width_of("30")
    (3600.0, 30.0)
    """
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        from ..participation.resampled import seconds_of

        seconds = seconds_of(text)
        if seconds is None:
            raise ValueError(
                f"width = {text!r}: allowed is a number in the log's unit, or a time such as '1 hour'"
            ) from None
        return float(seconds)


def _by_client(path: Path, what: str) -> dict[str, str]:
    """Read a column by client."""
    from ..files import Damaged
    from ..participation.log_columns import read_columns

    columns = read_columns(path)
    names = columns.of("client")
    if what not in columns.cells and what != "client":
        raise Damaged(path, f"its columns are {', '.join(columns.cells)}: allowed are client, {what}")
    found: dict[str, str] = {}
    for i, (name, cell) in enumerate(zip(names, names if what == "client" else columns.cells[what], strict=True)):
        if name in found:
            raise Damaged(path, f"client {name!r} is there twice: allowed is one row a client", columns.place(i))
        found[name] = cell
    return found


def _numbers(path: Path, what: str) -> dict[str, float]:
    from ..files import Damaged

    found = {}
    for name, cell in _by_client(path, what).items():
        try:
            found[name] = float(cell)
        except ValueError:
            raise Damaged(path, f"client {name!r}, column {what!r}: {cell!r}: allowed is a number") from None
    return found


def _labels(path: Path) -> Mapping[str, list[float]]:
    from ..participation.log_columns import read_columns

    columns = read_columns(path)
    client = columns.named("client")
    each = {name: _numbers(path, name) for name in columns.cells if name != client}
    return {name: [numbers[name] for numbers in each.values()] for name in columns.of("client")}


@app.command(cls=OptionalJson)
def diagnose(
    log: LogFile,
    width: Width = None,
    tz: Zone = None,
    json: JsonFile = None,
    page: Annotated[Path | None, typer.Option(help="Write a page with figures here: .html.")] = None,
    roster: Roster = None,
    samples: Samples = None,
    labels: Annotated[Path | None, typer.Option(help="CSV: client, and a column of counts for each label.")] = None,
    groups: Annotated[Path | None, typer.Option(help="CSV: client,group; else groups are looked for.")] = None,
    theorems: Annotated[
        bool, typer.Option("--theorems", help="Say which theorems' assumptions the log violates.")
    ] = False,
    like: Like = "auto",
    column: Column = None,
    until: Until = None,
    present: Present = None,
    where: Where = None,
    server: Server = None,
) -> None:
    """Say what a participation log says: each client's rate, dependence in time and between clients, the family of
    processes it may be of, or none, and what each rule of averaging minimises on it. Intervals and tests hold where
    rounds depend on each other; see docs/diagnose.md.

    Example: fedtheory diagnose log.csv --width '1 hour' --tz Europe/Berlin
    """
    from ..diagnosis import diagnose as find
    from ..files import check_target, json_text, write_beside
    from ..participation.log_times import zone

    into = None if json in (None, STANDARD_OUTPUT) else check_target(str(json), ".json")
    if page:
        check_target(page, ".html")
    with Progress() as progress:
        progress.doing(f"reading {log}")
        read_one = read(log, like, column, tz, roster, until, present, where, server)
        progress.doing(f"diagnosing {log}")
        found = find(
            read_one,
            width=width_of(width),
            tz=zone(tz),
            samples=_numbers(samples, "samples") if samples else None,
            labels=_labels(labels) if labels else None,
            groups=_by_client(groups, "group") if groups else None,
        )
        content = found.to_json()
        if theorems:
            from ..evidence.assumptions_on_logs import theorems_on_log

            content["theorems"] = theorems_on_log(content["assumptions"])
        if into:
            write_beside(into, (json_text(content, indent=1) + "\n").encode())
        if page:
            from ..report.diagnosis_page import diagnosis_page

            progress.doing(f"drawing {page}")
            write_beside(page, diagnosis_page(found, log.name).encode())
    if json == STANDARD_OUTPUT:
        print_json(content)
        return
    for line in str(found).splitlines():
        print_wrapped(line, " " * (len(line) - len(line.lstrip()) + 4))
    if theorems:
        answers = ("violated", "not violated", "cannot be told from this log")
        rows = [
            {"theorem": ref} | {each: ", ".join(k for k, v in row.items() if v == each) for each in answers}
            for ref, row in content["theorems"].items()
        ]
        print_table(rows)


@app.command(cls=OptionalJson)
def recommend(
    log: LogFile,
    constants: Annotated[Path, typer.Option(help="TOML: smoothness = 4, and so on.")],
    budget: Annotated[float | None, typer.Option(help="Updates that may be sent in all.")] = None,
    target: Annotated[float | None, typer.Option(help="An error F(x) - F(x*) that is good enough.")] = None,
    rounds: Annotated[int | None, typer.Option(help="At most so many; default: those of the log.")] = None,
    local_steps: Annotated[
        list[int] | None, typer.Option(help="A number of local steps to try; default: 1, 2, 5, 10, 20. Repeatable.")
    ] = None,
    resamples: Annotated[int, typer.Option(help="Logs that might have been, of each kind.")] = 200,
    quantile: Annotated[
        float | None, typer.Option(help="Share of these logs on which the error is at most the score; default: 0.9.")
    ] = None,
    into: Annotated[Path | None, typer.Option(help="Write a file for fedtheory run here: .toml.")] = None,
    page: Annotated[Path | None, typer.Option(help="Write a page with figures here: .html.")] = None,
    json: JsonFile = None,
    width: Width = None,
    tz: Zone = None,
    roster: Roster = None,
    samples: Samples = None,
    like: Like = "auto",
    column: Column = None,
    until: Until = None,
    present: Present = None,
    where: Where = None,
    server: Server = None,
) -> None:
    """Recommend an algorithm for a participation log: that of least error on logs like it, or with --target of fewest
    uploads. It comes with its step sizes, local steps, cutoff, snapshots and cohort. Errors are F(x) - F(x*), by exact
    moments of a quadratic twin with these constants. A constant may have an interval, such as smoothness = { value = 4,
    low = 3, high = 5 }; see docs/diagnose.md.

    Example: fedtheory recommend log.csv --constants c.toml --into best.toml
    """
    from ..diagnosis import diagnose as find
    from ..diagnosis import recommend as choose
    from ..diagnosis.recommendation import LOCAL_STEPS, QUANTILE, numbers_of
    from ..diagnosis.trace_errors import fair_weights, twin_of
    from ..evidence.bounds_on_logs import with_bounds
    from ..files import check_target, json_text, plain_toml, read_file, write_beside
    from ..participation.log_times import zone

    json_into = None if json in (None, STANDARD_OUTPUT) else check_target(str(json), ".json")
    for path, suffix in ((into, ".toml"), (page, ".html")):
        if path:
            check_target(path, suffix)
    given = plain_toml(read_file(constants), str(constants))
    try:
        twin_of(numbers_of(given)[0], fair_weights(1))
    except ValueError as error:
        raise ValueError(f"{constants}: {error}") from None
    with Progress() as progress:
        progress.doing(f"reading {log}")
        read_one = read(log, like, column, tz, roster, until, present, where, server)
        progress.doing(f"diagnosing {log}")
        found = find(
            read_one,
            width=width_of(width),
            tz=zone(tz),
            samples=_numbers(samples, "samples") if samples else None,
        )
        progress.doing("scoring candidates")
        chosen = choose(
            found,
            given,
            budget=budget,
            target=target,
            rounds=rounds,
            local_steps=local_steps or LOCAL_STEPS,
            resamples=resamples,
            quantile=QUANTILE if quantile is None else quantile,
        )
        chosen = with_bounds(chosen)
        content = chosen.to_json()
        if json_into:
            write_beside(json_into, (json_text(content, indent=1) + "\n").encode())
        if into:
            write_beside(into, chosen.toml(f"Recommended for {log.name}").encode())
        if page:
            from ..report.diagnosis_page import diagnosis_page

            progress.doing(f"drawing {page}")
            write_beside(page, diagnosis_page(found, log.name, chosen).encode())
    if json == STANDARD_OUTPUT:
        print_json(content)
        return
    for line in str(chosen).splitlines():
        print_wrapped(line, "    ")
    print_table([each.table_row() for each in chosen.choices])
