"""Expressions as JavaScript: the same tree, written over an arithmetic that is given (see ``assets/arithmetic.js``).

An expression becomes a call tree such as ``o.mul(v.x, o.pow(v.y, o.num(2, 1)))``. ``o`` is plain floating point, or
numbers of unlimited range where the plain ones leave theirs, as in `claims.arithmetic`; ``v`` are the values by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from ...claims.arithmetic import two_sided_denominators

FUNCTIONS: Mapping[Any, str] = {
    sympy.exp: "exp", sympy.log: "log", sympy.Min: "min", sympy.Max: "max", sympy.Abs: "abs", sympy.ceiling: "ceil",
    sympy.floor: "floor",
}  # fmt: skip


def literal(value: Any) -> str:
    """Plain data as JavaScript that may stand in a page: no ``</script>`` in a text ends the script.

    >>> literal("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def javascript(expression: sympy.Basic) -> str:
    """The expression over ``o`` and ``v``.

    Raises:
        ValueError: a function in it that the arithmetic does not have.

    >>> x, y = sympy.symbols("x y")
    >>> javascript(x / (3 * y))
    'o.div(o.mul(o.num(1,3),v["x"]),v["y"])'
    >>> javascript(sympy.Sum(x**2, (x, 1, y)))
    'o.sum(o.num(1,1),v["y"],(n)=>o.pow(n,o.num(2,1)))'
    """
    return _written(expression, {})


def function(expression: sympy.Expr, undefined: str) -> str:
    """An object ``{at, sides}``: the value, and what it divides by of either sign; ``undefined`` is what counts where
    one of these is 0 or the value is no number."""
    sides = ",".join(javascript(d) for d in two_sided_denominators(expression))
    return f"{{at:(o,v)=>{javascript(expression)},sides:(o,v)=>[{sides}],undefined:{undefined}}}"


def _written(node: Any, bound: Mapping[sympy.Symbol, str]) -> str:
    def parts(*several: Any) -> str:
        return ",".join(_written(part, bound) for part in several)

    if node.is_Symbol:
        return bound.get(node) or f"v[{literal(node.name)}]"
    if node.is_Rational:
        return f"o.num({node.p},{node.q})"
    if node.is_number and not node.args:  # pi, a float, an infinity
        return f"o.num({float(node)!r},1)".replace("inf", "Infinity")
    if node.is_Add:
        return f"o.add({parts(*node.args)})"
    if node.is_Mul:
        return _quotient(node, parts)
    if node.is_Pow:
        return f"o.div(o.num(1,1),{_power(node.base, -node.exp, parts)})" if _below(node) else _power(*node.args, parts)
    if isinstance(node, sympy.Sum) and len(node.limits) == 1:
        index, low, high = node.limits[0]
        name = "n" * (len(bound) + 1)
        return f"o.sum({parts(low, high)},({name})=>{_written(node.function, {**bound, index: name})})"
    if type(node) in FUNCTIONS:
        return f"o.{FUNCTIONS[type(node)]}({parts(*node.args)})"
    raise ValueError(f"no arithmetic for {type(node).__name__} in {node}")


def _below(node: sympy.Expr) -> bool:
    """Whether it is a power that belongs under a fraction's bar."""
    return bool(node.is_Pow and node.exp.is_Rational and node.exp.is_negative)


def _power(base: sympy.Expr, exponent: sympy.Expr, parts: Callable[..., str]) -> str:
    return parts(base) if exponent == 1 else f"o.pow({parts(base, exponent)})"


def _quotient(node: sympy.Mul, parts: Callable[..., str]) -> str:
    """A product, what is divided by in one denominator."""
    below = [sympy.Pow(factor.base, -factor.exp) for factor in node.args if _below(factor)]
    above = [factor for factor in node.args if not _below(factor)] or [sympy.Integer(1)]
    top = parts(*above) if len(above) == 1 else f"o.mul({parts(*above)})"
    if not below:
        return top
    return f"o.div({top},{parts(*below) if len(below) == 1 else f'o.mul({parts(*below)})'})"
