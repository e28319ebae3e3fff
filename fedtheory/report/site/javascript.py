"""Expressions as JavaScript: the same tree, written over an arithmetic that is given (see ``assets/arithmetic.js``).

An expression becomes a call tree such as ``o.mul(v.x, o.pow(v.y, o.num(2, 1)))``. ``o`` is plain floating point, or
numbers of unlimited range where the plain ones leave theirs, as in `claims.arithmetic`; ``v`` are the values by name.
Operations come in the order in which `claims.arithmetic` has them, so that a difference that is 0 there is 0 here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from ...claims.balls import two_sided_denominators

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


def function(expression: sympy.Expr, undefined: str | None) -> str:
    """Write an object ``{at, undefined}`` in JavaScript.

    ``at`` gives the value and what it divides by of either sign. ``undefined`` is what counts where one of these is 0
    or the value is no number. With ``None``, division by zero is what it is in floating point.

    >>> print(function(sympy.Symbol("x") / 2, "Infinity"))
    {at:(o,v)=>{return [o.mul(o.num(1,2),v["x"])]},undefined:Infinity}
    """
    sides = () if undefined is None else two_sided_denominators(expression)
    common, written = sympy.cse([expression, *sides]) if sides else ([], [expression])
    local: dict[sympy.Symbol, str] = {}
    lines = []
    for name, part in common:
        lines.append(f"const {name}={_written(part, local)};")
        local[name] = name.name
    values = ",".join(_written(part, local) for part in written)
    return f"{{at:(o,v)=>{{{''.join(lines)}return [{values}]}},undefined:{undefined or 'NaN'}}}"


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
        return f"o.add({parts(*node.as_ordered_terms())})"
    if node.is_Mul:
        return _quotient(node, parts)
    if node.is_Pow:
        return (
            f"o.div(o.num(1,1),{parts(sympy.sqrt(node.base))})" if node.exp == -_HALF else f"o.pow({parts(*node.args)})"
        )
    if isinstance(node, sympy.Sum) and len(node.limits) == 1:
        index, low, high = node.limits[0]
        name = "n" * (len(bound) + 1)
        return f"o.sum({parts(low, high)},({name})=>{_written(node.function, {**bound, index: name})})"
    if type(node) in FUNCTIONS:
        return f"o.{FUNCTIONS[type(node)]}({parts(*node.args)})"
    raise ValueError(f"no arithmetic for {type(node).__name__} in {node}")


_HALF = sympy.Rational(1, 2)


def _quotient(node: sympy.Mul, parts: Callable[..., str]) -> str:
    """A product, what is divided by in one denominator, a sign in front."""
    coefficient, _ = node.as_coeff_Mul()
    if coefficient.is_negative:
        return f"o.neg({parts(-node)})"
    factors = node.as_ordered_factors()
    below = [factor for factor in factors if factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative]
    above = [factor for factor in factors if factor not in below] or [sympy.Integer(1)]
    top = parts(*above) if len(above) == 1 else f"o.mul({parts(*above)})"
    if not below:
        return top
    under = parts(*(sympy.Pow(factor.base, -factor.exp) for factor in below))
    return f"o.div({top},{under if len(below) == 1 else f'o.mul({under})'})"
