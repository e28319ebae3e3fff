"""What the commands share: the application, and options that several take."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Theorems about federated learning, made executable: evaluate bounds, check claims, replay refutations.",
)  # fmt: skip

Json = Annotated[bool, typer.Option("--json", help="Print JSON with full precision instead of text.")]
Ref = Annotated[str, typer.Argument(help="A claim: fast.thm2, or fast.thm2@appendix for another edition.")]
