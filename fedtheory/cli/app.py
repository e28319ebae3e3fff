"""The application, and options that several commands take."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

GROUPS = {
    "Theorems": ("claims", "show", "evaluate", "explain", "quantities", "functionals", "assumptions", "algorithms"),
    "Evidence": ("prove", "replay", "refute", "tightness", "errata", "referee", "verify"),
    "Weights and selection": ("offvar", "select", "learnability"),
    "Experiments": ("tables", "experiments", "run", "curves"),
    "Data": ("data",),
    "Pages": ("report",),
}
"""Commands by what they are about, each in one group, in the order in which help lists them."""

FIRST = """Theorems about federated learning, made executable. Three things to try:

  fedtheory show fast.thm2            what a theorem states, as a formula
  fedtheory replay fast.thm1@main     an instance that refutes one, judged anew
  fedtheory prove fast.thm2@sharper   a proof, composed by a small kernel

fedtheory --help lists every command, fedtheory explain WORD says what a word means.
"""


class Commands(TyperGroup):
    """A group whose help says the whole first sentence of each command, of ``GROUPS`` one after another."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands, a group after another, with the whole first sentence of each."""
        known = self.list_commands(ctx)
        groups = {title: [name for name in names if name in known] for title, names in GROUPS.items()}
        if not any(groups.values()):  # those of a command, such as data
            groups = {"Commands": known}
        for title, names in groups.items():
            with formatter.section(title):
                formatter.write_dl([(name, _sentence(self.commands[name].help or "")) for name in names])


def _sentence(help: str) -> str:
    """Return the first sentence of a help text.

    >>> _sentence("Show it: all of it. More.")
    'Show it: all of it.'
    """
    return " ".join(help.split()).partition(". ")[0].rstrip(".") + "."


app = typer.Typer(
    cls=Commands, invoke_without_command=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Theorems about federated learning, made executable: evaluate bounds, check claims, replay refutations.",
    epilog="Exit status: 0 done, or yes; 1 no; 2 no answer, as after wrong input; more in docs/exit-statuses.md.",
)  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        print(f"fedtheory {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Options without a command; what to try first where there is none."""
    if context.invoked_subcommand is None:
        print(FIRST, end="")


Json = Annotated[bool, typer.Option("--json", help="Print JSON with full precision instead of text.")]
Ref = Annotated[str, typer.Argument(help="A claim: fast.thm2, or fast.thm2@appendix for another edition.")]
