"""Square roots in a claim's terms and in the step size that it chooses, removed exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sympy


class Unsupported(ValueError):
    """Error of a form that the comparison with a claim's data does not take."""


def solve_choice(chosen: sympy.Expr, name: str, step: str = "local_lr") -> tuple[sympy.Expr, list[sympy.Expr]]:
    """Solve the choice of a step size for the quantity ``name``, from step = chosen with chosen^2 = A / quantity or A
    quantity. Return the quantity and the expressions that have to be >= 0 so that ``chosen`` is.

    >>> c, R, K = sympy.symbols("step_constant rounds local_steps")
    >>> solve_choice(c / sympy.sqrt(R * K), "rounds")
    (step_constant**2/(local_lr**2*local_steps), [step_constant])
    >>> solve_choice(sympy.sqrt(R * K), "rounds", "global_lr")
    (global_lr**2/local_steps, [1])
    """
    x = sympy.Symbol(name)
    rational_part, radicand = _split(chosen)
    square = sympy.cancel(rational_part**2 * radicand)
    inverse, direct = sympy.cancel(square * x), sympy.cancel(square / x)
    if not inverse.has(x):
        return sympy.cancel(inverse / sympy.Symbol(step) ** 2), [rational_part]
    if not direct.has(x):
        return sympy.cancel(sympy.Symbol(step) ** 2 / direct), [rational_part]
    raise Unsupported(f"{step} = {chosen}: its square is not proportional to {name} or to 1/{name}")


def rooted(summands: Iterable[sympy.Expr], replaced: Mapping[str, sympy.Expr]) -> tuple[sympy.Expr, list[sympy.Expr]]:
    """Make the replacements in a sum and draw every square root of a square; return it with the expressions that have
    to be >= 0 for it."""
    total, conditions = sympy.Integer(0), []
    put_in = {sympy.Symbol(name): value for name, value in replaced.items()}
    for summand in summands:
        if not _has_roots(summand):
            total += summand.xreplace(put_in)
            continue
        rational_part, radicand = _split(sympy.factor_terms(summand))
        root, factors = _draw_root(radicand.xreplace(put_in))
        total += rational_part.xreplace(put_in) * root
        conditions += factors
    return total, conditions


def _has_roots(expression: sympy.Expr) -> bool:
    return any(not p.exp.is_Integer for p in expression.atoms(sympy.Pow) if p.exp.is_Rational)


def _split(product: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """product = first * sqrt(second), both rational."""
    first, second = sympy.Integer(1), sympy.Integer(1)
    for factor in sympy.Mul.make_args(product):
        base, exponent = factor.as_base_exp()
        if exponent.is_Rational and exponent.q == 2:
            second *= base**exponent.p
        else:
            first *= factor
    if _has_roots(first) or _has_roots(second):
        raise Unsupported(f"{product}: allowed is one square root of a rational function, times another")
    return first, second


def _draw_root(radicand: sympy.Expr) -> tuple[sympy.Expr, list[sympy.Expr]]:
    """The root of a square, as a product of factors, each of which has to be >= 0."""
    root, factors = sympy.Integer(1), []
    for part, sign in zip(sympy.fraction(sympy.cancel(radicand)), (1, -1), strict=True):
        constant, powers = sympy.factor_list(part)
        number = sympy.sqrt(constant)
        if any(power % 2 for _, power in powers) or not number.is_Rational:
            raise Unsupported(f"sqrt({radicand}): allowed is the root of a square")
        root *= number**sign
        for base, power in powers:
            base = _positive_somewhere(base)
            root *= base ** (sign * (power // 2))
            if (power // 2) % 2:
                factors.append(base)
    return root, factors


def _positive_somewhere(factor: sympy.Expr) -> sympy.Expr:
    """The factor or its negative, whichever is positive at a point where quantities have usual sizes."""
    point = {
        s: sympy.Rational(1, 2) if s.name.endswith("probability") else sympy.Integer(2) for s in factor.free_symbols
    }
    return factor if factor.subs(point) > 0 else sympy.expand(-factor)
