"""Docstrings begin with a verb or a noun, and their sentences can be read at once."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import fedtheory
from fedtheory.extras import absent

ROOT = Path(fedtheory.__file__).parent

NO_BEGINNING = frozenset(
    [
        "also",
        "and",
        "as",
        "at",
        "beside",
        "besides",
        "but",
        "by",
        "else",
        "for",
        "from",
        "he",
        "here",
        "how",
        "if",
        "in",
        "into",
        "it",
        "its",
        "like",
        "not",
        "of",
        "on",
        "only",
        "or",
        "out",
        "over",
        "so",
        "such",
        "than",
        "that",
        "the\xa0same",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "under",
        "upon",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "with",
        "within",
        "without",
    ]
)
"""Words that neither do nor name anything. "Whether" is allowed: it begins what a true or false value says."""

LONGEST = 45
"""Words in a sentence."""

MEAN = 25
"""Words in a sentence, on average over a package."""

PACKAGES = sorted({path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")} - {"__init__"})

FRAMEWORKS = {"flower": "flwr", "nvflare": "nvflare"}
"""Modules of ``deploy`` that are read where their frameworks are installed."""

Documented = tuple[str, str | None]


def modules(package: str) -> Iterator[str]:
    """The modules of a package, by name; what starts a program when it is imported is left out."""
    for path in sorted([*ROOT.glob(f"{package}.py"), *(ROOT / package).rglob("*.py")]):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        framework = FRAMEWORKS.get(parts[-1]) if parts[1] == "deploy" else None
        if parts[-1] != "__main__" and not (framework and absent(framework)):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def public(module: ModuleType) -> Iterator[Documented]:
    """A module's public names with their docstrings: its own, of its functions, of its classes and their methods,
    which inherit them, and of its constants, if they have one."""
    yield module.__name__, inspect.getdoc(module)
    for name, one in vars(module).items():
        if name.startswith("_") or getattr(one, "__module__", "") != module.__name__:
            continue
        if inspect.isclass(one):
            yield f"{module.__name__}.{name}", one.__doc__
            for member, value in vars(one).items():
                function = getattr(value, "fget", None) or getattr(value, "func", None) or value
                if (
                    not member.startswith("_")
                    and getattr(one, member, None) is not None
                    and (inspect.isroutine(function) or isinstance(value, property))
                ):
                    yield f"{module.__name__}.{name}.{member}", inspect.getdoc(getattr(one, member))
        elif inspect.isroutine(one):
            yield f"{module.__name__}.{name}", inspect.getdoc(one)
    yield from constants(module)


def constants(module: ModuleType) -> Iterator[Documented]:
    """The docstrings of constants, which stand below them."""
    body = ast.parse(Path(str(module.__file__)).read_text()).body
    for before, node in pairwise(body):
        if not isinstance(before, ast.Assign | ast.AnnAssign) or not isinstance(node, ast.Expr):
            continue
        if isinstance(node.value, ast.Constant):
            target = before.targets[0] if isinstance(before, ast.Assign) else before.target
            yield f"{module.__name__}.{ast.unparse(target)}", inspect.cleandoc(str(node.value.value))


def sentences(doc: str) -> list[str]:
    """The sentences before the example, without formulas of their own line."""
    text = re.split(r"\n\s*>>>", doc)[0]
    lines = [line for line in text.split("\n") if not re.match(r"\s+\S.*[=<>≤≥].*\S$", line) or ":" in line]
    joined = re.sub(r"\n\s*\n", ".\n\n", "\n".join(lines))
    return [found for found in re.split(r"(?<=[.!?:;])\s+", " ".join(joined.split())) if found.strip(".")]


def faults(documented: Documented) -> list[str]:
    """Sentences on what is wrong with a docstring."""
    name, doc = documented
    if not doc:
        return [f"{name}: no docstring"]
    words = re.findall(r"[^\s]+", doc)
    first = "the\N{NO-BREAK SPACE}same" if words[:2] == ["The", "same"] else words[0].lower().strip(",.:;`*")
    found = [f"{name}: begins with {words[0]!r}"] if first in NO_BEGINNING else []
    found += [f"{name}: {len(s.split())} words: {s}" for s in sentences(doc) if len(s.split()) > LONGEST]
    return found


@cache
def documented(package: str) -> tuple[Documented, ...]:
    return tuple(each for name in modules(package) for each in public(import_module(name)))


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_can_be_read(package: str) -> None:
    found = [fault for each in documented(package) for fault in faults(each)]
    assert not found, "\n".join([f"{len(found)} faults", *found])
    said = [s for _, doc in documented(package) if doc for s in sentences(doc)]
    assert sum(len(s.split()) for s in said) <= MEAN * len(said)


def test_faults_are_found() -> None:
    assert faults(("a", None)) and faults(("a", "The same for b.")) and faults(("a", "Of ``b``, the mean."))
    assert faults(("a", "Say " + "very " * 45 + "much.")) and not faults(("a", "Say much."))
    assert not faults(("a", "The mean of b.")) and not faults(("a", "Whether b is there."))
