"""Small changes of a module, one at a time, each of which some test has to notice."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
DROPPED = (ast.Add, ast.Sub, ast.Mult)
"""Operations of which either side may be left out."""

PAIRS = (
    ("min", "max"), ("floor", "ceil"), ("any", "all"), ("lower", "upper"), ("minimum", "maximum"), ("argmin", "argmax"),
    ("is_nonnegative", "is_positive"), ("is_nonpositive", "is_negative"), ("below", "above"), ("low", "high"),
)  # fmt: skip
SWAPPED = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes:
        line: where, in the module as it is.
        text: that line, without its indentation.
        change: the two texts of what is changed.
        source: the whole module, changed.
        inside: whether the change is in the body of a function.
    """

    line: int
    text: str
    change: str
    source: str
    inside: bool


def mutants(source: str) -> Iterator[Mutant]:
    """Every change of a module's code; not of docstrings and annotations.

    >>> [mutant.change for mutant in mutants("x = a < 2 and b")]
    ['a < 2 and b -> a < 2 or b', 'a < 2 and b -> b', 'a < 2 and b -> a < 2', 'a < 2 -> a <= 2', 'a < 2 -> a > 2', \
'2 -> 3', '2 -> 1']
    """
    tree = ast.parse(source)
    for found in _found(tree, source.splitlines()):
        yield _made(tree, *found)


def mutant(source: str, number: int) -> Mutant:
    """One of them, counted from 0 as by ``names``.

    >>> mutant("x = a == 2", 1).change
    '2 -> 3'
    """
    tree = ast.parse(source)
    return _made(tree, *next(itertools.islice(_found(tree, source.splitlines()), number, None)))


def _made(tree: ast.AST, path: Path, line: int, text: str, change: str, other: ast.expr) -> Mutant:
    mutated = copy.deepcopy(tree)
    _put(mutated, path, other)
    whole = ast.unparse(ast.fix_missing_locations(mutated))
    return Mutant(line, text, change, whole, _is_inside(tree, path))


def names(source: str) -> Iterator[tuple[str, str]]:
    """The line and the change of every mutant, which takes far less time than making them.

    >>> list(names("x = a == 2"))
    [('x = a == 2', 'a == 2 -> a != 2'), ('x = a == 2', '2 -> 3'), ('x = a == 2', '2 -> 1')]
    """
    for _, _, text, change, _ in _found(ast.parse(source), source.splitlines()):
        yield text, change


def _found(tree: ast.AST, lines: list[str]) -> Iterator[tuple[Path, int, str, str, ast.expr]]:
    """Where, the line's number and text, what is changed into what, and the latter."""
    for path in _places(tree):
        node = _at(tree, path)
        for other in _changes(node):
            line = getattr(node, "lineno", 1)
            yield path, line, lines[line - 1].strip(), f"{ast.unparse(node)} -> {ast.unparse(other)}", other


Path = tuple[tuple[str, int | None], ...]


def _places(node: ast.AST, path: Path = ()) -> Iterator[Path]:
    """Paths to all expressions, the outer ones first."""
    if isinstance(node, ast.expr):
        yield path
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        if isinstance(value, ast.AST):
            yield from _places(value, (*path, (name, None)))
        elif isinstance(value, list):
            for i, child in enumerate(value):
                if isinstance(child, ast.AST) and not _is_text(child):
                    yield from _places(child, (*path, (name, i)))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _at(tree: ast.AST, path: Path) -> ast.AST:
    for name, i in path:
        child = getattr(tree, name)
        tree = child if i is None else child[i]
    return tree


def _is_inside(tree: ast.AST, path: Path) -> bool:
    for name, i in path:
        if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return name == "body"
        tree = _at(tree, ((name, i),))
    return False


def _put(tree: ast.AST, path: Path, other: ast.AST) -> None:
    (name, i), parent = path[-1], _at(tree, path[:-1])
    if i is None:
        setattr(parent, name, other)
    else:
        getattr(parent, name)[i] = other


def _changes(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for i, operation in enumerate(node.ops):
            for other in COMPARISONS[type(operation)]:
                yield ast.Compare(node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        if isinstance(node.op, DROPPED):
            yield from (node.left, node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for i in range(len(node.values)):
            rest = [*node.values[:i], *node.values[i + 1 :]]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant):
        yield from _constants(node.value)
    elif isinstance(node, ast.Name) and node.id in SWAPPED:
        yield ast.Name(SWAPPED[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in SWAPPED:
        yield ast.Attribute(node.value, SWAPPED[node.attr], node.ctx)


def _constants(value: object) -> Iterator[ast.Constant]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, float) and value:
        yield from (ast.Constant(value * 2), ast.Constant(value / 2))
    elif isinstance(value, (int, float)):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
