"""The application, and options that several commands take."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

GROUPS = {
    "Theorems": (
        "claims",
        "show",
        "evaluate",
        "cite",
        "explain",
        "quantities",
        "functionals",
        "assumptions",
        "algorithms",
    ),
    "Evidence": ("prove", "replay", "refute", "tightness", "errata", "referee", "verify"),
    "Weights and selection": ("offvar", "select", "learnability"),
    "Participation logs": ("diagnose", "recommend"),
    "Experiments": ("tables", "experiments", "new", "run", "curves"),
    "Data": ("data",),
    "Pages": ("report",),
}
"""Commands by what they are about, each in one group, in the order in which help lists them."""

FIRST = """Theorems about federated learning, made executable.
Three things to try:

  fedtheory show fast.thm2           what a theorem states
  fedtheory replay fast.thm1@main    a refutation, anew
  fedtheory prove fast.thm2@sharper  a proof, by a kernel

fedtheory --help lists every command,
fedtheory explain WORD says what a word means.
"""


MOST = 14
"""Lines of a command's short help, at 80 columns."""

FULL = "--help-all"


class StableHelp:
    """A command whose names of the option for help stand in the order in which the application gives them.

    Typer takes them from a set, so that each call would print another order.
    """

    params: list[Any]

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """List the names that no other option has taken."""
        taken = {name for each in self.params for name in (*each.opts, *each.secondary_opts)}
        return [name for name in ctx.help_option_names if name not in taken]


class Command(StableHelp, TyperCommand):
    """A command whose ``--help`` fits ``MOST`` lines: the first sentence, the example, and as many options as there is
    room for, the others by name; ``--help-all`` has all of it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and keep whether all help is asked for."""
        ctx.meta[FULL] = FULL in args
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short help, or all of it after ``--help-all``."""
        if ctx.meta.get(FULL):
            return super().format_help(ctx, formatter)
        self.format_usage(ctx, formatter)
        text, _, example = (self.help or "").partition("Example:")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_sentence(text))
            if example:
                formatter.write_paragraph()
                formatter.write_text(f"Example: {' '.join(example.split())}")
        formatter.write_paragraph()
        rows = [row for each in self.get_params(ctx) if (row := _row(each, ctx))]
        head = formatter.getvalue().count("\n")
        for shown in range(len(rows), -1, -1):
            made = type(formatter)(width=formatter.width)
            with made.indentation():
                if shown:
                    made.write_dl(rows[:shown])
                names = ", ".join(_name(name) for name, _ in rows[shown:])
                if names or _sentence(text) != " ".join(text.split()):
                    made.write_text(f"More: {names}{'; ' if names else ''}see {ctx.command_path} {FULL}")
            if head + made.getvalue().count("\n") <= MOST or not shown:
                formatter.write(made.getvalue())
                return


def _row(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    """A parameter's name and meaning; help says nothing of itself."""
    if "--help" in parameter.opts:
        return None
    return parameter.get_help_record(ctx)


def _name(text: str) -> str:
    """'--plan' of '--plan <path>'."""
    return text.split(" <")[0].split("...")[0]


class App(typer.Typer):
    """An application whose commands are of the class ``Command``."""

    def command(self, name: str | None = None, **options: Any) -> Any:
        """Register a command."""
        return super().command(name, **{"cls": Command} | options)


class Commands(StableHelp, TyperGroup):
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


app = App(
    cls=Commands, invoke_without_command=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help", FULL]},
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
