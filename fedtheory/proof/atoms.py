"""Logarithms, roots and powers in a comparison: each is replaced by a number of its own that is >= 0.

A bound that is shown for all such numbers holds for the expressions that they stand for.
"""

from __future__ import annotations

import sympy

from .domain import ATOMS, Domain, Follows
from .square_roots import Unsupported

DURATIONS = (sympy.Symbol("rounds"), sympy.Symbol("rounds") * sympy.Symbol("local_steps"))
"""Durations of a run, in rounds and in steps. Powers with such an exponent are compared by their bases."""


def has_atoms(expression: sympy.Expr) -> bool:
    """Whether there is a logarithm in it, or a power whose exponent is a quantity other than ``DURATIONS``.

    >>> T, K, q = sympy.symbols("rounds cutoff q")
    >>> has_atoms(q**T / T), has_atoms(q ** (2 * K)), has_atoms(sympy.log(T) / T)
    (False, True, True)
    """
    powers = expression.atoms(sympy.Pow)
    return expression.has(sympy.log) or any(
        p.exp.free_symbols and p.exp not in DURATIONS and p.base != sympy.E for p in powers
    )


class Atoms:
    """Names for logarithms, roots and powers, in the order in which they are met, the same for equal ones.

    >>> T, K, p = sympy.symbols("rounds cutoff participation_probability")
    >>> atoms = Atoms(Domain())
    >>> atoms.put(sympy.log(T) / T + (1 - p) ** (2 * K) + 1 / sympy.log(1 - p))
    atom_0**2 + atom_2/rounds - 1/atom_1
    >>> [check.expression for check in atoms.checks]
    [1 - participation_probability, participation_probability, rounds - 1]
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.checks: list[Follows] = []
        self._signed: dict[sympy.Expr, sympy.Expr] = {}

    def put(self, expression: sympy.Expr) -> sympy.Expr:
        """Replace every atom of the expression by its name; raise ``Unsupported`` for one whose sign the domain does
        not tell."""
        if expression.is_Symbol or expression.is_Rational:
            return expression
        if expression.is_Add:
            return sympy.Add(*map(self.put, sorted(expression.args, key=str)))
        if expression.is_Mul or expression.is_Pow:
            return self._product(expression)
        if expression.func is sympy.log:
            return self._logarithm(expression)
        raise Unsupported(f"allowed are sums, products, powers, roots and logarithms: {expression}")

    def _product(self, expression: sympy.Expr) -> sympy.Expr:
        """All square roots in a product as one."""
        total, radicand = sympy.Integer(1), sympy.Integer(1)
        for factor in sorted(sympy.Mul.make_args(expression), key=str):
            if not factor.is_Pow:
                total *= self.put(factor)
            elif factor.exp.is_Integer:
                total *= self.put(factor.base) ** factor.exp
            elif factor.exp.is_Rational and factor.exp.q == 2:
                radicand *= factor.base**factor.exp.p
            else:
                total *= self._power(factor)
        return total if radicand == 1 else total * self._root(radicand)

    def _root(self, radicand: sympy.Expr) -> sympy.Expr:
        return self._atom(sympy.sqrt(sympy.factor(radicand), evaluate=False))

    def _power(self, power: sympy.Pow) -> sympy.Expr:
        """base^(n k) as the n-th power of base^k, for a base >= 0."""
        times, exponent = power.exp.as_coeff_Mul()
        if not times.is_Integer or not exponent.free_symbols:
            raise Unsupported(f"the exponent of {power}")
        key = sympy.Pow(power.base, exponent, evaluate=False)
        if key not in self._signed:
            self.checks.append(Follows(sympy.together(power.base), self.domain))
        return self._atom(key) ** times

    def _logarithm(self, logarithm: sympy.Expr) -> sympy.Expr:
        """log x is >= 0 where x >= 1, and <= 0 where x <= 1."""
        if logarithm not in self._signed:
            (x,) = logarithm.args
            for sign in (1, -1):
                check = Follows(sympy.together(sign * (x - 1)), self.domain)
                if check.certified().outcome == "proved":
                    self.checks.append(check)
                    return self._atom(logarithm, sign)
            raise Unsupported(f"the sign of {logarithm}")
        return self._signed[logarithm]

    def _atom(self, key: sympy.Expr, sign: int = 1) -> sympy.Expr:
        if key not in self._signed:
            if len(self._signed) == len(ATOMS):
                raise Unsupported(f"more than {len(ATOMS)} logarithms, roots and powers")
            self._signed[key] = sign * sympy.Symbol(ATOMS[len(self._signed)])
        return self._signed[key]
