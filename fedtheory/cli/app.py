"""The application, and options that several commands take."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup


class Commands(TyperGroup):
    """A group whose help says the whole first sentence of each command."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with the whole first sentence of each."""
        rows = [(name, self.commands[name].get_short_help_str(1000)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
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
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Options without a command."""


Json = Annotated[bool, typer.Option("--json", help="Print JSON with full precision instead of text.")]
Ref = Annotated[str, typer.Argument(help="A claim: fast.thm2, or fast.thm2@appendix for another edition.")]
