"""Keys of an experiment file: which are needed, their defaults and meanings, read off the models that check it.

The pages of the documentation and ``fedtheory new`` show these; there is no other list.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticUndefined

from ..files import json_text
from ..markdown import cell
from .grid import with_defaults
from .schema import Called, RunPlan, Search, Stage, Statistic, Variant, model

TABLES: tuple[tuple[str, Any], ...] = (
    ("", None), ("run", RunPlan), ("statistics", Statistic), ("variants", Variant), ("called", Called),
    ("search", Search), ("search.stages", Stage),
)  # fmt: skip
"""Tables of a file, in the order in which they are shown, and the models of their entries."""


@dataclass(frozen=True)
class Key:
    """One key.

    Attributes:
        name: dotted, with its table.
        default: as it would stand in a file; "needed" where there is none, "" where it is told in the meaning.
        meaning: in a sentence.
    """

    name: str
    default: str
    meaning: str


def keys() -> Iterator[Key]:
    """Every key of a file, table by table."""
    for table, of in TABLES:
        checked = of or model()
        meanings, filled = meaning(checked), with_defaults({}, "")
        known = {"": filled, "run": filled["run"], "statistics": {"name": ""}}.get(table, {})
        fields = checked.model_fields
        first = [name for name in meanings if name in fields and fields[name].is_required() and name not in known]
        for name in [*first, *(name for name in meanings if name not in first)]:
            default = known.get(name, fields[name].get_default(call_default_factory=True))
            shown = "needed" if default is PydanticUndefined else _shown(default)
            yield Key(f"{table}.{name}" if table else name, shown, meanings[name])


def _shown(default: Any) -> str:
    """A default as a file has it; "" for an empty one."""
    if isinstance(default, dict) and set(default) == {"kind"}:
        return f"{{ kind = {json_text(default['kind'])} }}"
    return "" if default in (None, "", (), []) or isinstance(default, dict) else json_text(default)


def meaning(checked: Any) -> dict[str, str]:
    """Read what each key of a model means off the attributes of its docstring.

    >>> meaning(Called)["label"]
    "instead of the key's last word"
    """
    classes = [each for each in checked.__mro__ if "Attributes:" in (each.__doc__ or "")]
    text = inspect.cleandoc(classes[0].__doc__).partition("Attributes:\n")[2].split("\n\n")[0]
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, flags=re.MULTILINE)
    return {name: " ".join(said.split()).rstrip(".") for name, said in entries}


def markdown() -> str:
    """The table of all keys, for the documentation."""
    rows = [f"| `{each.name}` | {cell(each.default)} | {cell(each.meaning).replace('``', '`')} |" for each in keys()]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows]) + "\n"
