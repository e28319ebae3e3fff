"""Commands on one statement: what it says, its bound at given values."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from textwrap import indent
from typing import Annotated, Any

import typer

from ..printing import assignment, columns, plain, print_json, print_tree, print_wrapped
from .app import Json, Ref, app


@app.command()
def show(
    ref: Ref,
    latex: Annotated[bool, typer.Option("--latex", help="Print the statement as LaTeX, and nothing else.")] = False,
    json: Json = False,
) -> None:
    """Show what a claim states: both sides, its hypotheses, its open readings, whether its units match.

    Example: fedtheory show fast.thm2@appendix
    """
    from ..evidence.claim_summaries import shown
    from ..papers import claim

    if latex and json:
        raise typer.BadParameter("--latex, --json: allowed is one of them; JSON has the LaTeX too")
    if latex:
        print(claim(ref).latex())
    elif json:
        print_json(shown(ref) | {"latex": claim(ref).latex()})
    else:
        print_tree(shown(ref))
        _print_formula(ref)


def _print_formula(ref: str) -> None:
    """Print the right side in the paper's letters, and what they stand for."""
    from ..claims.terminal_formula import formula, letters_of
    from ..papers import claim

    statement = claim(ref)
    encoding = sys.stdout.encoding or "ascii"
    print("formula of the right side:\n")
    print(indent(formula(statement, columns() - 2, encoding.lower().startswith("utf")), "  "))
    if letters := {letter: name for name, letter in letters_of(statement).items() if letter != name}:
        print()
        print_wrapped(f"with {', '.join(f'{letter} = {name}' for letter, name in letters.items())}", "    ")


@app.command()
def evaluate(
    ref: Ref,
    values: Annotated[
        list[str], typer.Argument(help="name=number, such as smoothness=1 (or L=1) local_lr=1/100 rounds=10,100")
    ],
    reading: Annotated[
        list[str] | None, typer.Option(help="How to read it, such as q-condition=product; `show` lists the options.")
    ] = None,
    json: Json = False,
) -> None:
    """Evaluate a claim's bound, its terms, its printed rates and the slack of every hypothesis at given values; what
    only hypotheses use may be left out. Quantities have names, or the letters of the paper: L=1 is smoothness=1.

    Example: fedtheory evaluate fedau.thm3 K=50 T=1000 cutoff_bias=0
    """
    from ..claims.paper_letters import by_letter, quantity_named
    from ..papers import claim
    from ..quantities import QUANTITIES, nearest

    statement = claim(ref)
    typed = each_once(assignment(text) for text in values)
    named = {name: quantity_named(statement, name, QUANTITIES) for name in typed}
    for name in [name for name, quantity in named.items() if quantity not in QUANTITIES]:
        meant = nearest(name, {*QUANTITIES, *by_letter(statement.letters)})
        own = f"those of {statement.ref} are {', '.join(sorted(statement.quantities))}"
        raise ValueError(f"unknown quantity {name!r}: {meant if meant.startswith('did you mean') else own}")
    given = each_once((named[name], value) for name, value in typed.items())
    _check_lengths(given)
    read = each_once(_option(text) for text in reading or ())
    bound = statement.evaluate(reading=read, **given)
    letters = {name: quantity for name, quantity in named.items() if name != quantity}
    undecided = {name: f"undecided: needs {', '.join(missing)}" for name, missing in bound.undecided.items()}
    content = {
        "claim": bound.claim,
        **({"letters": letters} if letters else {}),
        **({"reading": read} if read else {}),
        "value": plain(bound.value),
        "terms": {name: plain(term) for name, term in bound.terms.items()},
        "slack": {name: undecided.get(name, plain(slack)) for name, slack in bound.slack.items()},
        "hypotheses_hold": bound.hypotheses_hold,
        **(
            {"rates": {name: "unknown" if r is None else plain(r) for name, r in bound.rates.items()}}
            if bound.rates
            else {}
        ),
        **(
            {"chosen": {name: plain(bound.quantities[name]) for name in bound.statement.choices}}
            if bound.statement.choices
            else {}
        ),
        **({"unused": list(bound.unused)} if bound.unused else {}),
        **({"counts_as_0": list(bound.rounded)} if bound.rounded else {}),
    }
    print_json(content) if json else print_tree(content)


def each_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Pairs as a dictionary; ``ValueError`` where a name has two values."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name} = {found[name]} and {value}: allowed is one value")
        found[name] = value
    return found


def _check_lengths(given: dict[str, Any]) -> None:
    """Refuse lists of several lengths, whose numbers do not belong together."""
    lengths = {name: len(value) for name, value in given.items() if isinstance(value, list)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length} values" for name, length in lengths.items())
        raise ValueError(f"{listed}: allowed are lists of one length")


def _option(text: str) -> tuple[str, str]:
    """'q-condition=product' as the ambiguity and the option."""
    name, equals, option = text.partition("=")
    if not equals:
        raise ValueError(f"--reading {text!r}: allowed is ambiguity=option")
    return name, option


@app.command()
def cite(
    ref: Ref,
    format: Annotated[str, typer.Option(help="text, or bibtex.")] = "text",
    json: Json = False,
) -> None:
    """Cite a statement: its paper with the statement's number, and this work with its version and its verdict.

    Example: fedtheory cite fast.thm2 --format bibtex
    """
    from ..evidence import citations
    from ..papers import claim

    if format not in citations.FORMATS:
        raise typer.BadParameter(f"--format {format}: allowed is {' or '.join(citations.FORMATS)}")
    entry = citations.cited(claim(ref))
    if json:
        print_json(entry)
    elif format == "bibtex":
        print(citations.bibtex(entry))
    else:
        for line in citations.text(entry).splitlines():
            print_wrapped(line, "  ")
