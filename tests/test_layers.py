"""The layers: nothing imports from a higher one, no packages import one another in a circle, no file is long."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import fedtheory

ROOT = Path(fedtheory.__file__).parent

LAYERS = (
    (
        "units",
        "quantities",
        "functionals",
        "assumptions",
        "rationals",
        "schedule",
        "own",
        "files",
        "doors",
        "loops",
        "randomness",
        "lazy",
    ),
    ("process_workers",),
    ("data", "neural"),
    ("federations", "selection", "weights"),
    ("participation",),
    ("learning",),
    ("algorithms",),
    ("setting",),
    ("claims",),
    ("simulation",),
    ("moments",),
    ("worstcase",),
    ("experiments",),
    ("subjects",),
    ("proof",),
    ("papers",),
    ("tightness",),
    ("evidence",),
    ("report",),
    ("testing", "cli", "gpu", "printing", "listings"),
    ("__main__",),
)
"""From below: each imports from its own and from those before it."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

DOORS = {("setting.py", "moments"), ("setting.py", "simulation")}
"""What a method of a setting imports when it is called."""

STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What imports stand in; an expression has none."""


def files() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        if path != ROOT / "__init__.py":
            yield path.relative_to(ROOT).as_posix(), path


def imports(path: Path) -> Iterator[str]:
    """The packages of fedtheory that a file imports from, anywhere but under TYPE_CHECKING."""
    package = ("fedtheory", *path.relative_to(ROOT).parent.parts)
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS)]
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *filter(None, [node.module])))
            names = [f"{base}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "fedtheory" and len(parts) > 1 and parts[1] in LEVEL:
                yield parts[1]


@cache
def edges() -> frozenset[tuple[str, str]]:
    """(file, package) for every import from another package than the file's own."""
    return frozenset((name, to) for name, path in files() for to in imports(path) if to != own(name))


def own(name: str) -> str:
    """The package, or the module, that a file is in."""
    return name.split("/")[0].removesuffix(".py")


def test_every_package_has_a_layer() -> None:
    assert {own(name) for name, _ in files()} == LEVEL.keys()


def test_imports_are_found() -> None:
    found = edges()
    assert ("simulation/state.py", "randomness") in found  # in the head of a module
    assert ("setting.py", "simulation") in found  # in a function
    assert ("moments/stationary.py", "setting") not in found  # under TYPE_CHECKING
    assert ("evidence/measured.py", "data") in found  # from .. import data


def test_nothing_is_imported_from_a_higher_layer() -> None:
    upward = {(name, to) for name, to in edges() if LEVEL[to] > LEVEL[own(name)]} - DOORS
    assert not upward


def test_packages_form_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for name, to in edges() - DOORS:
        graph.setdefault(own(name), set()).add(to)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
