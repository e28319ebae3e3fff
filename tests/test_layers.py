"""The layers: nothing imports from a higher one, nothing is in a circle, and general code names no paper."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import fedtheory
from fedtheory.doors import DOORS, through

ROOT = Path(fedtheory.__file__).parent

LAYERS = (
    ("units", "quantities", "functionals", "assumptions", "rationals", "schedule", "own", "files",
     "arguments", "code_digest", "numerals", "markdown", "seals", "provenance", "doors", "lazy", "extras",
     "randomness", "loops"),
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
    ("diagnosis",),
    ("worstcase",),
    ("experiments",),
    ("subjects",),
    ("proof",),
    ("papers",),
    ("tightness",),
    ("evidence",),
    ("report",),
    ("deploy", "testing", "cli", "gpu", "printing", "listings", "explanations"),
    ("__main__",),
)  # fmt: skip
"""From below: each imports from its own and from those before it."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

BY_NAME = {
    "data/catalogue.py": "the loader of a data set",
    "doors.py": "what is behind a door",
    "experiments/files_beside.py": "what a file beside an experiment file imports",
    "experiments/setting_parts.py": "the loader that a file names",
    "extras.py": "packages of an extra, which need not be installed",
    "lazy.py": "members of a package, on first use",
    "moments/__init__.py": "members, on first use",
    "moments/evaluators.py": "evaluators beside it, before the first question",
    "papers/registry.py": "papers: folders, and modules that they name",
    "papers/paper.py": "parts of a paper, on first use",
    "subjects/__init__.py": "modules of a subject, on first use",
    "subjects/run_search.py": "searches over orders, beside it",
}
"""What imports modules whose names are values, with what they are."""

GENERAL = ("claims", "evidence", "moments", "subjects", "tightness")
PAPERS = re.compile(r"\b(FAST|SAFARI|FLICS|FedAU|Khaled|khaled2020|li2020)\b|\b(fast|safari|flics|fedau)\.[a-z]+\d")
"""Names of papers, and ids of their claims."""


def files() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        if path != ROOT / "__init__.py":
            yield path.relative_to(ROOT).as_posix(), path


def module_of(name: str) -> str:
    """The module of a file."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def modules() -> frozenset[str]:
    return frozenset(module_of(name) for name, _ in files())


def targets(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """What is imported from this package, as ``fedtheory.a.b.name``: in functions too, but not under TYPE_CHECKING."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("fedtheory."))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *filter(None, [node.module])))
            if base.split(".")[0] == "fedtheory":
                yield from (f"{base}.{alias.name}" for alias in node.names)


def longest(name: str) -> str:
    """The module of ``fedtheory.a.b.name``, without the first word; "" for the whole package."""
    parts = name.split(".")[1:]
    return next((".".join(parts[:k]) for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in modules()), "")


@cache
def edges() -> frozenset[tuple[str, str]]:
    """(file, module) for every import from another module of fedtheory."""
    found = set()
    for name, path in files():
        package = ("fedtheory", *path.relative_to(ROOT).parent.parts)
        found |= {(name, longest(target)) for target in targets(ast.parse(path.read_text()), package)}
    return frozenset((name, to) for name, to in found if to and to != module_of(name))


def own(name: str) -> str:
    """The package, or the module, at the top that a file or a module is in."""
    return re.split(r"[/.]", name)[0]


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle of a graph, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_package_has_a_layer() -> None:
    assert {own(name) for name, _ in files()} == LEVEL.keys()


def test_imports_are_found() -> None:
    found = edges()
    assert ("simulation/state.py", "randomness") in found  # in the head of a module
    assert ("moments/evaluators.py", "claims.arithmetic") in found  # in a function
    assert ("moments/stationary.py", "setting") not in found  # under TYPE_CHECKING
    assert ("evidence/measured.py", "data") in found  # from .. import data


def test_nothing_is_imported_from_a_higher_layer() -> None:
    assert not {(name, to) for name, to in edges() if LEVEL[own(to)] > LEVEL[own(name)]}


def test_packages_form_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for name, to in edges():
        if own(name) != own(to):
            graph.setdefault(own(name), set()).add(own(to))
    assert not circle(graph)


def test_files_form_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for name, to in edges():
        graph.setdefault(module_of(name), set()).add(to)
    assert not circle(graph)


def test_circles_are_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_doors_lead_upwards_and_what_is_behind_them_is_there() -> None:
    for place, behind in DOORS.items():
        assert LEVEL[own(behind.partition(":")[0])] > LEVEL[own(place)]
        assert callable(through(place))


def test_doors_are_used_where_they_are_said_to_be() -> None:
    used = {}
    for name, path in files():
        for door in re.findall(r'through\("([a-z_.]+)"\)', path.read_text()):
            used.setdefault(door, set()).add(module_of(name))
    assert used.pop("setting.simulate") == {"setting", "doors"}  # an example
    assert {door: place for door, (place,) in used.items()} == {
        door: "moments.evaluators" if door == "moments.evaluators" else "setting"
        for door in DOORS if door != "setting.simulate"
    }  # fmt: skip


def test_modules_are_imported_by_a_value_only_where_it_is_said() -> None:
    found = {name for name, path in files() if re.search(r"\bimport_module\(|__import__\(", path.read_text())}
    assert found == set(BY_NAME)


def prose(source: str) -> str:
    """A file without its examples and without what it imports."""
    kept = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string
        if token.type == tokenize.STRING:
            text = re.sub(r"(?m)^\s*>>>.*\n(?:(?!\s*$).+\n?)*", "", text)  # to the next empty line
        kept.append(text)
    return " ".join(kept)


@pytest.mark.parametrize("package", GENERAL)
def test_general_code_names_no_paper(package: str) -> None:
    found = {name: PAPERS.search(prose(path.read_text())) for name, path in files() if own(name) == package}
    assert not {name: match.group() for name, match in found.items() if match}


def test_papers_are_found_in_prose_and_not_in_examples() -> None:
    assert PAPERS.search(prose('"""As FAST does.\n\n>>> 1\n1\n"""\n'))
    assert not PAPERS.search(prose('"""A claim.\n\n>>> claim("fast.thm1")\n\'fast.thm1\'\n"""\n'))


CONTENTS = ("statements", "displays", "proofs")
"""Parts of a paper that have a file a theorem, named alike in every paper and by what the theorem is about."""


def names() -> dict[str, list[str]]:
    """Files by name, beside commands, whose files are named by what they are about, and the contents of papers."""
    found: dict[str, list[str]] = {}
    for name, path in files():
        contents = own(name) == "papers" and name.count("/") > 2 and name.split("/")[2] in CONTENTS
        if own(name) != "cli" and not contents and path.stem not in ("__init__", "__main__"):
            found.setdefault(path.stem, []).append(name)
    return found


def test_no_two_files_have_one_name() -> None:
    """But for the files that every paper's folder may have."""
    several = {stem: found for stem, found in names().items() if len(found) > 1}
    known = {"subjects", "counterexamples", "exclusions", "citation", "errata", "display_steps", "printed_proofs"}
    assert several.keys() <= known, several
    assert all(name.startswith("papers/") and name.count("/") == 2 for found in several.values() for name in found)


GRAMMAR = re.compile(
    "own|whose|tie|several|found|kept|likeness|misc|utils?|helpers?|others?|more|stuff|things|here|written_out|halves|"
    "by_kind|adding|read_off|of_.*"
)
"""Words that say nothing of what a file defines."""

FORMER = {"own.py": "the name that users' files import", "papers/whose.py": "a former name, for users' files"}


def test_files_are_named_by_what_they_define() -> None:
    wrong = {name for stem, found in names().items() if GRAMMAR.fullmatch(stem) for name in found}
    assert wrong == FORMER.keys()


def test_doors_open() -> None:
    assert import_module("fedtheory.simulation").simulate is through("setting.simulate")


PAGES = [ROOT.parent / "docs" / "design.md", *sorted((ROOT.parent / "docs" / "decisions").glob("*.md"))]


def missing(text: str) -> list[str]:
    """The files and folders that a page names and that are not there; `<paper>` stands for any one."""
    found = []
    for said in re.findall(r"`([\w/<>*.]+(?:\.py|/))`", text):
        pattern = said.replace("<paper>", "*").rstrip("/")
        if not next(ROOT.glob(f"**/{pattern}"), None) and not next(ROOT.parent.glob(pattern), None):
            found.append(said)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_what_is_there(page: Path) -> None:
    assert not missing(page.read_text())


def test_what_is_missing_is_found() -> None:
    assert missing("`moments/whose.py`, `dispatch.py` and `joints/`, not `moments/`, `evidence/judge.py`") == [
        "moments/whose.py", "dispatch.py", "joints/",
    ]  # fmt: skip
