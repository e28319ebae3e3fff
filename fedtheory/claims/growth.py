"""Growth of an expression with the rounds: its leading order, a coefficient times powers of R and of log R."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy

from ..quantities import ORDERED_PAIRS, QUANTITIES, symbol

if TYPE_CHECKING:
    from .statement import Claim

Caps = Mapping[sympy.Symbol, sympy.Expr]


@dataclass(frozen=True)
class Growth:
    """coefficient * rounds^power * log(rounds)^logs: what an expression is asymptotically equal to.

    ``power`` is -oo for what fades exponentially (and oo for what grows so); the coefficient is then 1.
    """

    coefficient: sympy.Expr
    power: sympy.Expr = sympy.S.Zero
    logs: sympy.Expr = sympy.S.Zero

    @property
    def order(self) -> tuple[sympy.Expr, sympy.Expr]:
        """The powers of R and of log R. Of two expressions, the one whose order is lexicographically larger outgrows
        the other."""
        return self.power, self.logs

    def exponent(self, name: str) -> sympy.Expr:
        """Return the power of one quantity as a factor of the whole; 0 where it is none.

        >>> from fedtheory.quantities import symbols
        >>> mu, q = symbols("strong_convexity", "snapshot_probability")
        >>> Growth((1 - q) / mu**2, sympy.Integer(-1)).exponent("strong_convexity")
        -2
        """
        if name == "rounds":
            return self.power
        return sympy.factor(self.coefficient).as_powers_dict().get(symbol(name), sympy.Integer(0))

    @property
    def rate(self) -> sympy.Expr:
        """The leading order without numerical constants, as an O(.) prints it; 0 if it fades exponentially, oo if it
        grows so."""
        if not self.power.is_finite:
            return sympy.Integer(0) if self.power < 0 else sympy.oo
        rounds = symbol("rounds")
        factors = sympy.factor(self.coefficient).as_independent(*self.coefficient.free_symbols)[1]
        return factors * rounds**self.power * sympy.log(rounds) ** self.logs

    def __str__(self) -> str:
        if not self.power.is_finite:
            return "exponentially small" if self.power < 0 else "exponentially large"
        rounds = symbol("rounds")
        return str(self.coefficient * rounds**self.power * sympy.log(rounds) ** self.logs)


def caps_of(claim: Claim) -> dict[sympy.Symbol, sympy.Expr]:
    """Return the caps that single hypotheses put on quantities."""
    upper = [h.relation for h in claim.hypotheses if isinstance(h.relation, sympy.Le)]
    caps = {cap.lhs: cap.rhs for cap in upper if cap.lhs.is_Symbol and not cap.rhs.has(sympy.Min)}
    return caps | _caps_of_choices(claim, caps)


def _caps_of_choices(claim: Claim, caps: Caps) -> dict[sympy.Symbol, sympy.Expr]:
    """Derive caps on the step sizes to which capped chosen ones are proportional."""
    steps, found = {symbol("local_lr"), symbol("server_lr")}, {}
    for name, choice in claim.choices.items():
        for step in choice.free_symbols & steps - {symbol(name)}:
            factor = sympy.cancel(choice / step)
            if symbol(name) in caps and not factor.has(step):
                found[step] = sympy.cancel(caps[symbol(name)] / factor)
    return found


def growth(expression: sympy.Expr, caps: Caps | None = None) -> Growth:
    """Compute the leading order of an expression of rounds that is built from +, *, powers, exp, log, Min and Max.

    Every other symbol is a number > 0 such that no coefficient vanishes, and at most its cap where ``caps`` has one.

    >>> from fedtheory.quantities import symbols
    >>> R, L = symbols("rounds", "smoothness")
    >>> print(growth(sympy.Min(sympy.log(sympy.Max(L * R, 1)) / R, 1) + 3 / R), growth(L * sympy.exp(-R) + L))
    log(rounds)/rounds smoothness
    """
    return _leading(_resolved(expression, caps or {}), caps or {})


def _resolved(expression: sympy.Expr, caps: Caps) -> sympy.Expr:
    """Drop the Min and Max that many rounds decide."""
    if not expression.args or not expression.has(symbol("rounds")):
        return expression
    parts = [_resolved(part, caps) for part in expression.args]
    if isinstance(expression, (sympy.Min, sympy.Max)):
        orders = [_leading(part, caps).order for part in parts]
        best = (min if isinstance(expression, sympy.Min) else max)(orders)
        parts = [part for part, order in zip(parts, orders, strict=True) if order == best]
        return parts[0] if len(parts) == 1 else expression.func(*parts, evaluate=False)
    return expression.func(*parts)


def _leading(expression: sympy.Expr, caps: Caps) -> Growth:
    rounds = symbol("rounds")
    if not expression.has(rounds):
        return Growth(expression)
    if expression == rounds:
        return Growth(sympy.Integer(1), sympy.Integer(1))
    if isinstance(expression, sympy.exp):
        return _exponential(expression.args[0], caps)
    if expression.is_Pow and not (often := expression.exp / rounds).has(rounds) and often.is_positive:
        return _power_of_rounds(expression.base, often, caps)
    parts = [_leading(part, caps) for part in expression.args]
    if any(not part.power.is_finite for part in parts) and not expression.is_Add:
        return _exponential_product(expression, parts)
    if expression.is_Mul:
        return functools.reduce(_product, parts)
    if expression.is_Pow and not expression.exp.has(rounds):
        base, exponent = parts[0], expression.exp
        return Growth(base.coefficient**exponent, base.power * exponent, base.logs * exponent)
    if expression.is_Add or isinstance(expression, (sympy.Min, sympy.Max)):
        best = max(part.order for part in parts)
        leading = [part.coefficient for part in parts if part.order == best]
        coefficient = sympy.simplify(sympy.Add(*leading)) if expression.is_Add else expression.func(*leading)
        if coefficient == 0:
            raise ValueError(f"expression = {expression}: allowed is one whose leading order does not cancel")
        return Growth(sympy.Integer(1) if not best[0].is_finite else coefficient, *best)
    if isinstance(expression, sympy.log) and parts[0].power != 0:
        return Growth(parts[0].power, logs=sympy.Integer(1))
    if isinstance(expression, sympy.log) and parts[0].logs == 0:
        return Growth(sympy.log(parts[0].coefficient))
    raise ValueError(f"expression = {expression}: allowed is one whose order is a power product of rounds and its log")


def _product(a: Growth, b: Growth) -> Growth:
    return Growth(a.coefficient * b.coefficient, a.power + b.power, a.logs + b.logs)


def _exponential(exponent: sympy.Expr, caps: Caps) -> Growth:
    inner = _leading(exponent, caps)
    if inner.order < (0, 0):
        return Growth(sympy.Integer(1))
    if inner.order == (0, 0):
        return Growth(sympy.exp(inner.coefficient))
    sign = _sign(inner.coefficient, caps)
    if inner.power == 0 or sign is None:
        raise ValueError(f"exponent = {exponent}: allowed is one that grows like a power of rounds, of a known sign")
    return Growth(sympy.Integer(1), sympy.oo * sign)


def _power_of_rounds(base: sympy.Expr, often: sympy.Expr, caps: Caps) -> Growth:
    """base^(rounds often), often > 0: exponentially small for a fixed base in [0, 1); where 1 - base = u fades faster
    than 1/sqrt(rounds), asymptotically exp(-rounds often u), as rounds u^2 -> 0."""
    rounds, distance = symbol("rounds"), sympy.expand(1 - base)
    if not distance.has(rounds) and _sign(distance, caps) == 1 and _sign(base, caps, weakly=True) == 1:
        return Growth(sympy.Integer(1), -sympy.oo)
    if distance.has(rounds) and 2 * _leading(distance, caps).power + 1 < 0:
        return _leading(sympy.exp(-sympy.expand(rounds * often * distance)), caps)
    raise ValueError(
        f"base = {base}: allowed is a number in [0, 1), or one that approaches 1 fast, to be raised to rounds"
    )


def _sign(coefficient: sympy.Expr, caps: Caps, weakly: bool = False) -> int | None:
    """The sign with every symbol > 0, at most its cap, and in the order that the vocabulary knows; ``weakly`` if it may
    vanish where a symbol is at its end."""
    room = functools.partial(sympy.Dummy, nonnegative=True)
    below = {name: cap / (1 + room()) for name, cap in caps.items()}
    below |= {symbol(small): symbol(large) / (1 + room()) for small, large in ORDERED_PAIRS}
    below |= {symbol(name): 1 / (1 + sympy.Dummy()) for name, known in QUANTITIES.items() if known.upper == 1}
    counts = {symbol(name): 1 + room() for name, known in QUANTITIES.items() if known.integer and known.lower >= 1}
    counted = below | counts
    for one in (
        coefficient,
        coefficient.xreplace(below),
        coefficient.xreplace(below).xreplace(below),
        coefficient.xreplace(counted).xreplace(counted),
    ):
        above, under = (_one_sign(sympy.expand(part), weakly) for part in sympy.fraction(sympy.together(one)))
        if above is not None and under is not None:
            return above * under
    return None


def _one_sign(expression: sympy.Expr, weakly: bool) -> int | None:
    """The sign that all products of a sum have."""
    terms = sympy.Add.make_args(expression)
    signs = {term.as_coeff_Mul()[0].is_positive for term in terms}
    rooms = [any(isinstance(s, sympy.Dummy) and s.is_nonnegative for s in term.free_symbols) for term in terms]
    if len(signs) > 1 or (all(rooms) and not weakly):
        return None
    return 1 if signs == {True} else -1


def _exponential_product(expression: sympy.Expr, parts: list[Growth]) -> Growth:
    powers = {part.power for part in parts if not part.power.is_finite}
    if expression.is_Mul and len(powers) == 1:
        return Growth(sympy.Integer(1), powers.pop())
    if expression.is_Pow and expression.exp.is_positive:
        return parts[0]
    raise ValueError(f"expression = {expression}: allowed is a product of exponentials that fade, or that grow")
