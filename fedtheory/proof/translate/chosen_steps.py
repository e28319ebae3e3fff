"""Bounds with chosen step sizes and a chosen cutoff. They follow from a theorem on rounds that add updates with
weights, and from theorems on the intervals of which the weights are means.

With gamma the local step, c = gamma eta, W the mean error of the weights and every coefficient >= 0, the first says

    mean over r < R of E|grad F(x_r)|^2 <= a A/c + c B + D(gamma^2, W)      for c <= c_1, ..., c_n and gamma <= g.

Let B <= b S, coefficient by coefficient, for a sum S of the same products. Let c = min(sqrt(A/S), c_1, ..., c_n) and
gamma = min(g_1, g_2), where g_2 <= g. As 1/min is at most the sum of the inverses and c <= sqrt(A/S),

    a A/c + c B + D(gamma^2, W) <= (a + b) sqrt(A S) + a A (1/c_1 + ... + 1/c_n) + D(g_1^2, W_1),

W_1 a bound on W for the chosen cutoff. If S = 0 the root is no entry of the minimum, B = 0, and the same holds. If A =
0 no step > 0 is chosen, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import sympy

from ...claims.statement import least
from ...quantities import QUANTITIES, symbol
from ..algorithm_match import Rounds, strange
from ..composition import Composed
from ..domain import bare
from ..implies import is_positive_product
from ..kernel.theorems import Refused
from .cutoffs import LogarithmicCutoff
from .vocabulary import ReadOff
from .weighted_updates import WeightedDescent

_GAMMA, _ETA, _C, _W = *map(sympy.Symbol, ("local_lr", "global_lr")), sympy.Symbol("c"), sympy.Symbol("weight_error")


@dataclass(frozen=True)
class ChosenSteps(WeightedDescent):
    """Bound with these choices; see the module.

    Attributes:
        error: the theorem that bounds W.
        slope: S, in the vocabulary's symbols.
        local_lr: g_1, whose square is rational.
        local_cap: g_2.
    """

    _: KW_ONLY
    error: LogarithmicCutoff
    slope: sympy.Expr
    local_lr: sympy.Expr
    local_cap: sympy.Expr

    @property
    def all_of(self) -> tuple[ReadOff, ...]:
        """All theorems that are used, that on rounds first, in the vocabulary."""
        return (self.own, *self.error.all_of)

    @property
    def checks(self) -> tuple[Composed, ...]:
        return (Composed(self.make), *self.error.checks)

    def strange_to(self, rounds: Rounds) -> Iterator[str]:
        """List in words the parts of the theorem on rounds that do not belong to these rounds, and a difference between
        their weights and those of the other theorems."""
        yield from strange(self.own.theorem, rounds)
        yield from self.weights.strange_to(rounds)
        if not rounds.by_intervals:
            yield "its weights are means of the lengths of intervals, and these are others"

    def right_side(self) -> sympy.Expr:
        share, first, multiple = self._parts[:3]
        inverses = sympy.Add(*(1 / cap for cap in self._caps[_C]))
        rest = self._parts[3].subs(_GAMMA, bare(self.local_lr)).subs(_W, self.error.right_side())
        return (share + multiple) * bare(sympy.sqrt(_known(first) * self.slope)) + share * first * inverses + rest

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the needs of the cutoff, and the theorem's needs of other quantities than the steps. The steps are
        chosen so that nothing is asked of them."""
        if not self._caps[_C] or any(not _at_most(bare(self.local_cap), cap) for cap in self._caps[_GAMMA]):
            raise Refused(f"{self.local_cap}: allowed is a local step of at most {self._caps[_GAMMA]}, and a cap of c")
        return (*self._not_of_steps, *self.error.needs())

    def choices(self) -> Mapping[str, sympy.Expr]:
        root, caps = sympy.sqrt(_known(self._parts[1]) / self.slope), map(_known, self._caps[_C])
        local = least(self.local_lr, self.local_cap)
        chosen = {"local_lr": local, "global_lr": least(root, *caps) / local}
        return {**self.error.choices(), **{name: bare(choice) for name, choice in chosen.items()}}

    @cached_property
    def _parts(self) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr]:
        """(a, A, b, D).

        Raises:
            Refused: the bound is of another form, S lacks a product of B, or the square of g_1 is not rational.
        """
        powers: dict[int, list[sympy.Expr]] = {-1: [], 0: [], 1: []}
        whole = sympy.expand(super().right_side().subs(_ETA, _C / _GAMMA))
        for term in sympy.Add.make_args(whole):
            c, gamma = (term.as_powers_dict()[step] for step in (_C, _GAMMA))
            rest = term / _C**c
            if c not in powers or gamma not in ((0, 2) if c == 0 else (0,)) or not _is_nonnegative(rest):
                raise Refused(f"{term}: allowed are terms >= 0 of c, 1/c, gamma^2, or no step")
            powers[c].append(rest)
        if len(powers[-1]) != 1 or not (bare(self.local_lr) ** 2).is_rational_function():
            raise Refused(f"{whole}: allowed is one term of 1/c, and a local step with a rational square")
        ((share, first),) = (term.as_coeff_Mul() for term in powers[-1])
        return share, first, self._multiple(powers[1]), sympy.Add(*powers[0])

    def _multiple(self, terms: list[sympy.Expr]) -> sympy.Expr:
        """b."""
        of_slope = {data: factor for factor, data in map(_split, sympy.Add.make_args(sympy.expand(bare(self.slope))))}
        if not all(_is_nonnegative(data) and factor > 0 for data, factor in of_slope.items()):
            raise Refused(f"{self.slope}: allowed is a sum of terms >= 0")
        ratios = []
        for factor, data in map(_split, terms):
            if data not in of_slope:
                raise Refused(f"{data}: allowed are the products of the slope {self.slope}")
            ratios.append(factor / of_slope[data])
        return max(ratios, default=sympy.S.Zero)

    @property
    def _not_of_steps(self) -> Iterator[tuple[str, sympy.Expr]]:
        """Yield the theorem's needs of other quantities than the steps, which are the claim's to state."""
        of_steps = {_C, _GAMMA, _ETA}
        return (
            (name, need)
            for name, need in self.own.needs()
            if not _is_nonnegative(need) and not need.free_symbols & of_steps
        )

    @cached_property
    def _caps(self) -> Mapping[sympy.Symbol, tuple[sympy.Expr, ...]]:
        """Largest allowed values of c and gamma, read off the needs of the theorem.

        Raises:
            Refused: it needs something else.
        """
        caps: dict[sympy.Symbol, list[sympy.Expr]] = {_C: [], _GAMMA: []}
        for name, need in self.own.needs():
            if _is_nonnegative(need):
                continue
            of_steps = sympy.cancel(need.subs(_ETA, _C / _GAMMA))
            if not of_steps.free_symbols & {*caps}:
                continue  # asked of the claim
            step = next((s for s in caps if of_steps.free_symbols & {*caps} == {s}), None)
            cap = _largest(of_steps, step) if step is not None else None
            if step is None or cap is None:
                raise Refused(f"{name}: {need} >= 0, allowed are caps of the local step, and of its product with eta")
            caps[step].append(cap)
        return {step: tuple(found) for step, found in caps.items()}


def _known(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression with the vocabulary's symbols, whose signs are known."""
    return expression.xreplace({s: symbol(s.name) for s in expression.free_symbols})


def _split(term: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    return term.as_coeff_Mul()


def _is_nonnegative(term: sympy.Expr) -> bool:
    """Whether a product is one of a number >= 0 and of quantities that are."""
    factor, data = term.as_coeff_Mul()
    powers = data.as_powers_dict()
    known = all(
        base.is_Symbol and base.name in QUANTITIES and QUANTITIES[base.name].lower >= 0 for base in powers if base != 1
    )
    return bool(factor >= 0) and known


def _largest(need: sympy.Expr, step: sympy.Symbol) -> sympy.Expr | None:
    """The P/Q of P - Q step >= 0 over a denominator that is positive, P and Q products of positive quantities."""
    top, bottom = sympy.fraction(sympy.together(need))
    linear = sympy.Poly(top, step)
    if linear.degree() != 1 or not is_positive_product(bottom.subs(step, _GAMMA)):
        return None
    slope, at_zero = -linear.coeff_monomial(step), linear.coeff_monomial(1)
    if not all(map(is_positive_product, (slope, at_zero))):
        return None
    return sympy.cancel(at_zero / slope)


def _at_most(value: sympy.Expr, bound: sympy.Expr) -> bool:
    ratio = sympy.cancel(value / bound)
    return bool(ratio.is_number and ratio <= 1)
