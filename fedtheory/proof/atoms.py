"""Logarithms, roots and powers in a comparison: each is replaced by a number of its own that is >= 0.

A bound that is shown for all such numbers holds for the expressions that they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sympy

from .domain import ATOMS, Domain, Follows

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
