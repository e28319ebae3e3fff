"""Commands of the experiments: the papers' tables, and what runs in their likeness."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, TextIO

import typer

from ..printing import Progress, print_json, print_markdown, print_table, print_wrapped
from .app import Json, app

Paper = Annotated[str, typer.Option(help="A paper: fast, flics, safari or fedau.")]


def _papers_with(read: Callable[[str], object]) -> str:
    """The papers of which something can be read, as an error lists what is allowed."""
    from ..experiments.printed_tables import folder

    return " or ".join(path.name for path in sorted(folder().iterdir()) if path.is_dir() and read(path.name))


@app.command()
def tables(
    paper: Paper,
    number: Annotated[str | None, typer.Option(help="Only the table of this number.")] = None,
    json: Json = False,
) -> None:
    """Print the tables of a paper, every number as it is printed there.

    Example: fedtheory tables --paper flics
    """
    from ..experiments.printed_tables import tables as read

    found = [table for table in read(paper) if number in (None, table.number)]
    if not found:
        if known := [table.number for table in read(paper)]:
            raise ValueError(f"number = {number!r}: allowed is {', '.join(known)}")
        raise ValueError(f"paper = {paper!r}: none of its tables is here: allowed is {_papers_with(read)}")
    if json:
        print_json([table.model_dump(mode="json") for table in found])
        return
    for table in found:
        print_wrapped(f"{table.name} ({table.place}): {table.caption}", "  ")
        names = [name for name in dict.fromkeys(chain(*(c.labels for c in table.cells))) if name not in table.labels]
        print_table([{name: c.labels.get(name, "") for name in names} | {"printed": c.text} for c in table.cells])


@app.command()
def curves(
    paper: Annotated[str, typer.Option(help="A paper whose authors published curves: fast.")],
    archive: Annotated[Path | None, typer.Option(help="The archive; by default in FEDTHEORY_DATA.")] = None,
    into: Annotated[Path | None, typer.Option(help="Write what was computed here, as JSON.")] = None,
) -> None:
    """Compare a paper's tables with the curves that its authors published.

    Example: fedtheory curves --paper fast
    """
    from ..experiments.curves import archive_path, compare, read_rule, to_json
    from ..files import check_target, json_text, write_beside

    if into:
        check_target(into, ".json")
    rule = read_rule(paper)
    if rule is None:
        allowed = _papers_with(read_rule)
        raise ValueError(f"paper = {paper!r}: its authors published no curves: allowed is {allowed}")
    path = archive or archive_path(rule)
    with Progress() as progress:
        progress.doing(f"reading the curves of {path}")
        content = to_json(paper, compare(paper, path), path)
    if into:
        write_beside(into, (json_text(content, indent=1) + "\n").encode())
    else:
        print_json(content)


@app.command()
def experiments(
    into: Annotated[Path | None, typer.Option(help="Write the list here, as Markdown.")] = None,
    pages: Annotated[bool, typer.Option("--pages", help="Write the pages of tables beside the results.")] = False,
    prices: Annotated[
        list[Path] | None,
        typer.Option("--price", help="Time some rounds of this experiment file, and keep the price; repeatable."),
    ] = None,
) -> None:
    """List what there is: printed tables, experiment files, what was run and what it cost.

    Example: fedtheory experiments
    """
    from ..experiments.overview import overview
    from ..files import check_target, write_beside

    if pages:
        for path in _write_pages():
            print(path)
    if prices:
        from ..experiments.prices import measured, write_prices
        from ..experiments.printed_tables import folder
        from ..experiments.results import experiment_files

        ours = {path.resolve() for path in experiment_files()}
        if strange := [path for path in map(_at_hand, prices) if path.is_file() and path.resolve() not in ours]:
            raise ValueError(
                f"--price {strange[0]}: allowed are experiment files of {folder()}, beside which prices are"
            )
        for path in map(_at_hand, prices):
            found = measured(path)
            write_prices({path: found})
            print(f"{path}: {found['seconds a round']} CPU seconds a round of {found['setting']!r}")
    if (pages or prices) and not into:
        return
    if into:
        check_target(into, ".md")
    with Progress() as progress:
        progress.doing("reading the results of every experiment")
        text = overview()
    if into:
        write_beside(into, text.encode())
    else:
        print_markdown(text)


def _write_pages() -> Iterator[Path]:
    """Write the page of every table that results stand beside, and the curves of every file whose results do."""
    from ..experiments.published import read_current
    from ..experiments.results import experiment_files, published
    from ..experiments.schema import read_experiment
    from ..experiments.table_pages import figure_name
    from ..experiments.table_pages import pages as all_pages
    from ..files import write_beside
    from ..report.style import save
    from ..report.training import plot_curves

    for path, text in all_pages().items():
        write_beside(path, text.encode())
        yield path
    for path in experiment_files():
        experiment = read_experiment(path)
        if experiment.checked.likeness and (content := read_current(path, experiment)) is not None:
            target = published(path).parent / figure_name(path)
            curves = plot_curves(content, experiment.grid_labels, by=experiment.first_label)
            save(curves, target)
            yield target


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("experiment.toml"),
    keys: Annotated[bool, typer.Option("--keys", help="Print every key with its default and meaning instead.")] = False,
) -> None:
    """Write a commented experiment file that runs as it is. A file that is there is not replaced.

    Example: fedtheory new my_experiment.toml
    """
    from ..experiments.keys import keys as every_key
    from ..experiments.starter import starter
    from ..files import check_target, write_beside

    if keys:
        print_table([{"key": each.name, "default": each.default, "meaning": each.meaning} for each in every_key()])
        return
    check_target(file, ".toml")
    if not str(file).isprintable():
        raise ValueError(f"file = {str(file)!r}: allowed is a name in UTF-8 that can be printed")
    if file.exists() or file.is_symlink():
        raise ValueError(f"{file} is there already: allowed is another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_beside(file, starter(file.name).encode())
    print(f"{file}: fedtheory run {shlex.quote(str(file))} runs it")


@app.command()
def run(
    files: Annotated[list[Path] | None, typer.Argument(help="Experiment files and figure files (TOML).")] = None,
    all: Annotated[bool, typer.Option("--all", help="Run every experiment file of the experiments folder.")] = False,
    all_figures: Annotated[bool, typer.Option("--all-figures", help="Draw every figure file of that folder.")] = False,
    budget: Annotated[str | None, typer.Option(help="Time after which nothing new begins: 90s, 30m, 2h.")] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set a value in all settings: KEY=VALUE, as algorithm.local_lr=0.1; repeatable."),
    ] = None,
    only: Annotated[str, typer.Option(help="Run settings of this name, with * and ?: 'FedAvg*'.")] = "*",
    store: Annotated[Path, typer.Option(help="Where runs are kept, and resumed from.")] = Path("runs"),
    workers: Annotated[int, typer.Option(help="Worker processes on this machine; 0: this process alone.")] = 0,
    scheduler: Annotated[str | None, typer.Option(help="The address of a Dask scheduler.")] = None,
    track: Annotated[
        str | None, typer.Option(help="Report live to tensorboard:FOLDER, mlflow:ADDRESS or wandb:PROJECT.")
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Keep the results in tables/ours, with those that are there already.")
    ] = False,
    device: Annotated[
        str | None, typer.Option(help="Where runs are computed: cpu, cuda, cuda:1, auto; by default as a file says.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of each run; by default as a file says, else 1.")] = None,
    memory_limit: Annotated[
        int | None,
        typer.Option(help="Bytes that a run may hold besides its data; another split may change its last bits."),
    ] = None,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="Resume, and publish together, what other machines or versions began.")
    ] = False,
    together: Annotated[
        bool, typer.Option("--together", help="Advance runs of a network that differ in their seed alone in one batch.")
    ] = False,
    methods: Annotated[
        int, typer.Option(help="With --together: how many settings at once, of the same network, data and rounds.")
    ] = 1,
    missing: Annotated[bool, typer.Option("--missing", help="Leave out runs that tables/ours has already.")] = False,
    figures: Annotated[Path, typer.Option(help="Where figures are drawn, their numbers beside them.")] = Path(
        "figures"
    ),
    svg: Annotated[bool, typer.Option("--svg", help="Draw figures as SVG, not as PNG.")] = False,
    json: Json = False,
) -> None:
    """Run experiment files, or resume them, and draw figure files. Exit status 1 if something failed; the others are
    run all the same. 2 if nothing was run. Python files that an experiment file names are executed; it says so.

    Example: fedtheory run experiments/fast/figures/thm1.toml
    """
    from ..experiments.commands import RunOptions, change, run_files
    from ..experiments.results import experiment_files, short
    from ..experiments.work_units import seconds
    from ..files import TEMPORARY, remove_leftovers
    from .statuses import INTERRUPTED, NO, NO_ANSWER, TERMINATED, Terminated

    if bool(files) == (all or all_figures):
        raise ValueError("files: allowed are experiment files and figure files, or --all, or --all-figures")
    if methods < 1 or (methods > 1 and not together):
        raise ValueError(f"--methods {methods}: allowed is an integer >= 1, and 1 without --together")
    abreast = methods if together else 0
    options = RunOptions(
        store, budget, workers, scheduler, track, publish, only, missing, device, threads, memory_limit, abreast, mixed
    )
    changes = [change(each) for each in set or []]
    if len(dict(changes)) < len(changes):
        raise ValueError(f"--set {', '.join(key for key, _ in changes)}: allowed is each key once")
    options = replace(options, changes=dict(changes))
    drawn, others = _split([_at_hand(path) for path in files or []], all_figures)
    if drawn and changes:
        raise ValueError(f"--set: allowed with experiment files, {drawn[0]} draws a figure")
    if not drawn and (svg or figures != Path("figures")):
        raise ValueError("--figures, --svg: allowed with figure files, or --all-figures")
    deadline = math.inf if budget is None else time.time() + seconds(budget)
    try:
        with Progress() as progress:
            failed, made = _draw(
                drawn, figures, "svg" if svg else "png", progress, deadline, sys.stderr if json else sys.stdout
            )
            progress.doing("setting up the first run")
            left = None if budget is None else f"{max(deadline - time.time(), 0):.3f}s"
            options = replace(options, budget=left, progress=progress, tell=_tell)
            report = run_files(experiment_files() if all else others, options)
    except (KeyboardInterrupt, Terminated) as stop:
        for folder in {path.parent for path in store.rglob(TEMPORARY)}:  # of workers that were ended while they wrote
            remove_leftovers(folder)
        print(f"fedtheory: interrupted; the same command goes on from the checkpoints in {store}", file=sys.stderr)
        raise typer.Exit(TERMINATED if isinstance(stop, Terminated) else INTERRUPTED) from None
    if json:
        print_json(report.contents)
    else:
        for content in report.contents:
            print(content["file"])
            print_table([short(row) for row in content["settings"]])
    for line in report.lines:
        _tell(line)
    if report.failed or failed:
        raise typer.Exit(NO if report.contents or made else NO_ANSWER)


def _tell(line: str) -> None:
    """Say something before it is done."""
    from .statuses import printable

    print(f"fedtheory: {printable(line)}", file=sys.stderr)


def _at_hand(path: Path) -> Path:
    """The file of that name, or else the one that comes with fedtheory: experiments/fast/figures/thm1.toml anywhere."""
    from ..experiments.printed_tables import folder

    parts = path.parts[1:] if path.parts[:1] == ("experiments",) else path.parts
    if path.exists() or path.is_absolute() or ".." in parts:
        return path
    kept = folder().joinpath(*parts)
    return kept if kept.is_file() else path


def _split(files: list[Path], all_figures: bool) -> tuple[list[Path], list[Path]]:
    """Figure files, and others; a file that is not there is said of by what runs the others."""
    from ..report.figure_files import figure_files, is_figure

    drawn = [path for path in files if path.is_file() and is_figure(path)]
    others = [path for path in files if path not in drawn]
    return drawn + (figure_files() if all_figures else []), others


def _draw(
    files: list[Path], into: Path, format: str, progress: Progress, deadline: float, told: TextIO
) -> tuple[bool, int]:
    """Draw figure files one after another until a deadline, and tell where they are; whether one failed, and how many
    are drawn."""
    if not files:
        return False, 0
    from ..files import check_target
    from ..report.drawing import written

    check_target(into / "any")
    failed, made = False, 0
    for done, path in enumerate(files):
        if time.time() >= deadline:
            _tell(f"{len(files) - done} figures wait; the same command draws all anew")
            break
        if len(files) > 1:
            progress("figures", done, len(files))
        else:
            progress.doing(f"drawing {path}")
        try:
            print(written(path, into, format), file=told)
            made += 1
        except (ValueError, FileNotFoundError) as error:
            failed = True
            print(f"fedtheory: {error}", file=sys.stderr)
    return failed, made
