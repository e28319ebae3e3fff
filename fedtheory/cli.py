"""The command line: ``fedtheory --help``."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Theorems about federated learning, made executable: evaluate bounds, check claims, replay refutations.",
)  # fmt: skip

Json = Annotated[bool, typer.Option("--json", help="Print JSON with full precision instead of text.")]
Ref = Annotated[str, typer.Argument(help="A claim: fast.thm2, or fast.thm2@appendix for another edition.")]


def main() -> None:
    """Run the command line; a wrong input ends with one line on what is allowed, and exit status 2."""
    try:
        app()
    except (ValueError, FileNotFoundError) as error:
        print(f"fedtheory: {error}", file=sys.stderr)
        sys.exit(2)


@app.command()
def claims(json: Json = False) -> None:
    """List every claim in every edition."""
    from .claims import all_claims

    rows = [{"claim": c.ref, "title": c.title, "source": c.source} for c in all_claims()]
    _print_json(rows) if json else _print_table(rows)


@app.command()
def show(ref: Ref, json: Json = False) -> None:
    """Show what a claim states: both sides, its hypotheses, its open readings, whether its units match."""
    from .claims import claim
    from .evidence.units import check_units

    statement = claim(ref)
    findings = [f"{finding.where}: {finding.what}" for finding in check_units(statement)]
    content = {
        "claim": statement.ref,
        "title": statement.title,
        "source": statement.source,
        "left": statement.functional.meaning,
        "terms": {term.name: str(term.expression) for term in statement.terms},
        "hypotheses": {h.name: str(h.relation) for h in statement.hypotheses},
        "assumptions": {a.name: a.quantity for a in statement.assumptions},
        "readings": {a.name: list(a.options) for a in statement.ambiguities},
        "units": findings or "homogeneous",
        "latex": statement.latex(),
    }
    _print_json(content) if json else _print_tree(content)


@app.command()
def evaluate(
    ref: Ref,
    values: Annotated[list[str], typer.Argument(help="name=number, such as smoothness=1 local_lr=1/100 rounds=10,100")],
    json: Json = False,
) -> None:
    """Evaluate a claim's bound, its terms and the slack of every hypothesis at given values."""
    from .claims import claim

    given = dict(_assignment(text) for text in values)
    bound = claim(ref).evaluate(**given)
    content = {
        "claim": bound.claim,
        "value": _plain(bound.value),
        "terms": {name: _plain(term) for name, term in bound.terms.items()},
        "slack": {name: "undecided" if s is None else _plain(s) for name, s in bound.slack.items()},
        "hypotheses_hold": bound.hypotheses_hold,
    }
    _print_json(content) if json else _print_tree(content)


@app.command()
def replay(
    instance: Annotated[Path, typer.Argument(help="An instance file, as the package and `refute` write them.")],
    json: Json = False,
) -> None:
    """Judge an instance afresh, in rational and ball arithmetic; exit status 1 if it does not refute its claim."""
    from .evidence.confirm import ReplayError
    from .evidence.confirm import replay as judge_again
    from .evidence.instance import read_json

    try:
        judgement = judge_again(read_json(instance))
    except ReplayError as error:
        print(f"fedtheory: replay failed: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    content = judgement.to_json()
    if json:
        _print_json(content)
    else:
        _print_judgement(content)
    if not judgement.refutes:
        raise typer.Exit(1)


@app.command()
def refute(
    ref: Ref,
    save: Annotated[Path | None, typer.Option(help="Write the instance here.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    json: Json = False,
) -> None:
    """Search for an instance that refutes a claim under every reading; exit status 1 if none is found."""
    from .evidence.confirm import Judgement
    from .evidence.scorecard import write_json
    from .evidence.search import refute as search_instance

    with _Progress() as progress:
        result = search_instance(ref, seed=seed, progress=lambda done, total: progress(f"{ref}: search", done, total))
    if not isinstance(result, Judgement):
        best = {"claim": result.claim, "candidates": result.candidates, "admissible": result.admissible,
                "largest_ratio": result.best.ratio if result.best else 0.0}  # fmt: skip
        _print_json(best) if json else _print_tree(best)
        raise typer.Exit(1)
    content = result.to_json()
    if save:
        write_json(save, content)
    _print_json(content) if json else _print_judgement(content)


@app.command()
def verify(
    report: Annotated[Path, typer.Option(help="Folder of scorecard.json and the instances.")] = Path("report"),
    figures: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("figures"),
    accept: Annotated[bool, typer.Option(help="Take what was found as the published scorecard.")] = False,
    json: Json = False,
) -> None:
    """Judge every claim: units, exact errors and search, real data. Exit status 1 if a verdict differs from the
    published scorecard or an instance does not replay. A refuted theorem is no error."""
    from .evidence import scorecard
    from .evidence.instance import read_json
    from .evidence.work import run_all
    from .report.theorems import FIGURES, draw_theorem

    with _Progress() as progress:

        def tell(label: str):
            return lambda name, done, total: progress(label, done, total)

        verdicts = scorecard.assess_all(progress=tell("evidence"))
        tasks = {f"{id}.png": partial(draw_theorem, id, figures) for id in FIGURES}
        drawn = list(run_all(tasks, progress=tell("figures")).values())
    card = scorecard.to_json(verdicts)
    scorecard.write_json(report / "scorecard.json", card)
    for verdict in verdicts:
        if verdict.instance:
            scorecard.write_json(report / "instances" / f"{verdict.claim}.json", verdict.instance)
    published = scorecard.PUBLISHED / "scorecard.json"
    if accept:
        scorecard.write_json(published, card)
    lines = scorecard.differences(card, read_json(published))
    if json:
        _print_json(card | {"differences": lines})
    else:
        _print_scorecard(card)
        print(f"\nWrote {report / 'scorecard.json'} and {', '.join(str(path) for path in drawn)}")
    for line in lines:
        print(f"fedtheory: differs from the published scorecard: {line}", file=sys.stderr)
    if lines:
        raise typer.Exit(1)


def _assignment(text: str) -> tuple[str, Any]:
    """'name=1', 'name=1/3', 'name=1e-2' or 'name=1,2,3' as a name and numbers; nothing is evaluated."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r}: allowed is name=number")
    try:
        numbers = [float(Fraction(part)) if "/" in part else float(part) for part in value.split(",")]
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f"{name} = {value!r}: allowed is a number such as 0.01, 1e-2 or 1/100, or a list 1,2,3"
        ) from None
    return name, numbers if "," in value else numbers[0]


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False))


def _print_tree(content: dict[str, Any], indent: str = "") -> None:
    for key, value in content.items():
        if isinstance(value, dict):
            print(f"{indent}{key}:")
            _print_tree(value, indent + "  ")
        elif isinstance(value, list):
            print(f"{indent}{key}: {', '.join(map(str, value))}")
        else:
            print(f"{indent}{key}: {value}")


def _print_table(rows: list[dict[str, Any]]) -> None:
    widths = {key: max(len(key), *(len(str(row[key])) for row in rows)) for key in rows[0]}
    for row in ({key: key for key in widths}, *rows):
        print("  ".join(str(row[key]).ljust(width) for key, width in widths.items()).rstrip())


def _print_judgement(content: dict[str, Any]) -> None:
    readings = content["readings"]
    falls = sum(reading["refutes"] for reading in readings)
    print(f"{content['claim']}: {content['functional']}")
    print(
        f"left {content['left']} > right {content['right']}, {content['ratio']} times, after {content['rounds']} rounds"
    )
    _print_table(
        [{"hypothesis": h["name"], "slack": h["slack"], "statement": h["statement"]} for h in content["hypotheses"]]
    )
    print(f"refuted under {falls} of {len(readings)} readings")


def _print_scorecard(card: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("claim", "verdict", "units", "exact: largest left/right", "measured: left/right", "why")
    for row in card["rows"]:
        evidence = row["evidence"]
        units = "match" if evidence["units"]["homogeneous"] else "do not match"
        instance, found = evidence["exact"]["instance"], evidence["exact"]["search"]
        exact = f"{instance['ratio']:.3g} (instance)" if instance else f"{found['largest_ratio']:.4g} (search)"
        measured = "\n".join(f"{m['data']} {m['ratio']:.2g} {m['outcome']}" for m in evidence["measured"])
        table.add_row(f"{row['id']}@{row['edition']}", row["verdict"], units, exact, measured, row["why"])
    console = Console()
    console.width = max(console.width, 120)
    console.print(table)


class _Progress:
    """A progress bar on standard error, where that is a terminal; called with (label, done, total)."""

    def __enter__(self) -> _Progress:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        self.bars = Progress(console=console, transient=True, disable=not console.is_terminal)
        self.bars.start()
        self.tasks: dict[str, Any] = {}
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        if label not in self.tasks:
            self.tasks[label] = self.bars.add_task(label, total=total)
        self.bars.update(self.tasks[label], completed=done)


if __name__ == "__main__":
    main()
