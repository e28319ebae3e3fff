"""Regions for deciding inequalities, from a claim's hypotheses and from the vocabulary's bounds on its quantities.

A region encodes one cap of a step size, one way to solve each other hypothesis for one quantity, and the allowed values
of the rest, so it contains all that the claim speaks of. A certificate on any one of them is a proof; a counterexample
counts only if it obeys every hypothesis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import sympy

from ..claims.balls import denominators
from ..quantities import QUANTITIES, quantity
from . import smt
from .polynomial_data import Ratio, substituted
from .positivity import Certificate, Counterexample, certify, negative_at, refute
from .steps import Evidence, Finding
from .symbol_regions import Part, Region, at_least, capped, count, equal, interval, nonnegative, positive, region

_SOLVED_FOR = (
    "local_lr", "server_lr", "strong_convexity", "rounds", "snapshot_probability", "client_round_probability",
    "local_steps",
)  # fmt: skip
"""The quantities for which a hypothesis is solved, the first that occurs linearly."""

ATOMS = tuple(f"atom_{i}" for i in range(8))
"""Numbers >= 0 that stand for logarithms, roots and powers."""

AUXILIARY = ("log_factor", "excess", *ATOMS)
"""Numbers >= 0 that stand for parts of a chosen step size; every other name has to be a quantity of the vocabulary."""

_PROBABILITIES = ("snapshot_probability", "client_round_probability")

_ENDS = Ratio.of(sympy.S.Zero), Ratio.of(sympy.S.One)
"""0 and 1."""

_POLYA = 1
"""Largest Polya exponent that is tried on these regions. They have many parameters, and higher powers cost too much."""


def bare(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression with symbols known by their names alone."""
    return _bare(sympy.sympify(expression))


@lru_cache(maxsize=5000)
def _bare(expression: sympy.Expr) -> sympy.Expr:
    return expression.xreplace({s: sympy.Symbol(s.name) for s in expression.free_symbols})


@dataclass(frozen=True)
class Domain:
    """Set of all values that the vocabulary allows and for which every slack is >= 0.

    Attributes:
        slacks: (name of the hypothesis, its slack), over bare symbols.
        replaced: quantities that are written through others, such as the rounds through a chosen step size.
    """

    slacks: tuple[tuple[str, sympy.Expr], ...] = ()
    replaced: tuple[tuple[str, sympy.Expr], ...] = ()

    def regions(self, names: Iterable[str]) -> Iterator[Region]:
        """Yield regions of these quantities that contain the domain, the most informative first.

        >>> eta, L = sympy.symbols("local_lr smoothness")
        >>> [part for part, _ in next(Domain((("cap", 1 / L - eta),)).regions(["local_lr"])).substitutions]
        ['local_lr', 'smoothness']
        """
        choices: dict[str, list[Part]] = {}
        for _, slack in self.slacks:
            for part in _parts(slack):
                choices.setdefault(part[0], []).append(part)
        fixed = {name: [equal(name, value)] for name, value in self.replaced}
        wanted, seen = sorted(set(names)), []
        constrained = sorted(choices)
        for combination in itertools.product(*([*choices[n], _allowed(n)] for n in constrained)):
            table = dict(zip(constrained, combination, strict=True)) | {n: p[0] for n, p in fixed.items()}
            made = _region(wanted, table)
            if made is not None and made not in seen:
                seen.append(made)
                yield made

    def admits(self, point: Mapping[str, Fraction]) -> bool:
        """Whether a point is in the domain: the vocabulary, the replaced quantities and every hypothesis allow it. The
        point gives all their quantities, each of a known name and with a value that its definition allows."""
        values = {sympy.Symbol(n): sympy.Rational(x.numerator, x.denominator) for n, x in point.items()}
        if not all(_admitted(name, value) for name, value in point.items()):
            return False
        if point.get("strong_convexity", 0) > point.get("smoothness", math.inf):
            return False
        put_in = {symbol: value.xreplace(values) for symbol, value in self._replacements()}
        if any(symbol in values and values[symbol] != value for symbol, value in put_in.items()):
            return False
        for symbol, value in put_in.items():
            if value.is_finite is False:
                return False
            if value.is_Rational and not _admitted(symbol.name, Fraction(int(value.p), int(value.q))):
                return False
        slacks = [slack.xreplace(dict(self._replacements())).xreplace(values) for _, slack in self.slacks]
        return all(slack.is_extended_nonnegative for slack in slacks)

    def completed(self, point: Mapping[str, Fraction]) -> dict[str, Fraction] | None:
        """Return the point with 1 for every quantity that it leaves out, if that is in the domain, else ``None``."""
        names = {s.name for _, slack in self.slacks for s in slack.free_symbols}
        full = dict.fromkeys(names - {n for n, _ in self.replaced}, Fraction(1)) | dict(point)
        return full if self.admits(full) else None

    def _replacements(self) -> Iterator[tuple[sympy.Symbol, sympy.Expr]]:
        for name, value in self.replaced:
            yield sympy.Symbol(name), value


@dataclass(frozen=True)
class Follows:
    """Check that an expression is >= 0 on a domain."""

    expression: sympy.Expr
    domain: Domain

    def regions(self) -> tuple[Region, ...]:
        """Return the regions on which a certificate proves the inequality."""
        return tuple(self.domain.regions(Ratio.of(self.expression).names))

    def certified(self) -> Finding:
        """Return a certificate on one of the regions, or one for each of ``ends``, or ``unknown``."""
        found = self.directly()
        if found.outcome == "proved" or not self.ends():
            return found
        both = [end.directly() for end in self.ends()]
        if any(end.outcome != "proved" for end in both):
            return found
        return Finding("proved", tuple(e for end in both for e in end.evidence))

    def directly(self) -> Finding:
        """Return a certificate on one of the regions, or ``unknown``."""
        return _certified(self)

    def ends(self) -> tuple[Follows, ...]:
        """Return two checks that together suffice if the expression is affine in a probability q: with 0 and with 1 in
        the place of q, on the whole domain. Each of them may use another hypothesis. There are none if the
        expression is not affine in a probability. In lowest terms it is affine if q is not in the denominator and
        at most once in the numerator's terms.

        >>> a, q = sympy.symbols("local_lr snapshot_probability")
        >>> [end.expression for end in Follows(q * a + (1 - q) * a**2, Domain()).ends()]
        [local_lr**2, local_lr]
        """
        ratio = Ratio.of(self.expression)
        for name in _PROBABILITIES:
            if name in ratio.numerator.names and name not in ratio.denominator.names:
                place = ratio.numerator.names.index(name)
                if all(powers[place] <= 1 for powers, _ in ratio.numerator.terms):
                    low, high = (substituted(ratio, [(name, end)]).expression() for end in _ENDS)
                    return Follows(low, self.domain), Follows(high, self.domain)
        return ()

    def decide(self) -> Finding:
        """Return a certificate, a counterexample that obeys every hypothesis, the solver's word, or ``unknown``."""
        finding = self.certified()
        if finding.outcome == "proved":
            return finding
        candidates = self.regions()
        for where in candidates:
            found = refute(self.expression, where, samples=200, allowed=self.refuted_by)
            if found is not None:
                return Finding("gap", (found,))
        for where in candidates[:3]:
            if smt.decide(self.expression, where) is True:
                return Finding("proved", ("z3",))
        return Finding("unknown")

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether this is a counterexample in the domain."""
        return len(evidence) == 1 and isinstance(evidence[0], Counterexample) and self.refuted_by(evidence[0])

    def refuted_by(self, found: Counterexample) -> bool:
        """Whether the counterexample obeys every hypothesis, with 1 for the quantities that it leaves out, and divides
        by zero nowhere."""
        point = {name: Fraction(value) for name, value in found.point}
        values = {sympy.Symbol(n): sympy.Rational(x.numerator, x.denominator) for n, x in point.items()}
        if any(d.xreplace(values) == 0 for d in denominators(self.expression)):
            return False
        return found.refutes(self.expression, found.region) and self.domain.completed(point) is not None

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether this certificate proves the inequality, or these two prove its ends; nothing is searched."""
        if len(evidence) == 2 and (ends := self.ends()):
            return all(end.accepts((one,)) for end, one in zip(ends, evidence, strict=True))
        return (
            len(evidence) == 1
            and isinstance(evidence[0], Certificate)
            and evidence[0].region in self.regions()
            and evidence[0].proves(self.expression, evidence[0].region)
        )


@lru_cache(maxsize=2000)
def _certified(check: Follows) -> Finding:
    for where in check.domain.regions(Ratio.of(check.expression).names):
        negative = list(negative_at(check.expression, where))
        if any(check.domain.completed(point) is not None for point in negative):
            break  # where the hypotheses hold, so it does not follow
        found = None if negative else certify(check.expression, where, _POLYA)
        if found is not None:
            return Finding("proved", (found,))
    return Finding("unknown")


def _allowed(name: str) -> Part:
    """Return the part of a region that the vocabulary gives for a quantity."""
    if name == "strong_convexity":
        return capped(name, sympy.Symbol("smoothness"))
    if name in AUXILIARY:
        return nonnegative(name)
    known = quantity(name)
    if known.lower == -math.inf:
        raise ValueError(f"{name}: allowed is a quantity whose sign is known")
    if known.upper < math.inf:
        return interval(name, _exactly(known.lower), _exactly(known.upper))
    if known.integer:
        return count(name, int(known.lower))
    if known.lower > 0:
        return at_least(name, _exactly(known.lower))
    return positive(name) if known.positive else nonnegative(name)


def _admitted(name: str, value: Fraction) -> bool:
    """Whether a quantity may have this value: one of the vocabulary, or an auxiliary one, which is >= 0."""
    if name in AUXILIARY:
        return value >= 0
    if name not in QUANTITIES:
        return False
    try:
        QUANTITIES[name].check(value)
    except ValueError:
        return False
    return True


def _exactly(number: float) -> sympy.Rational:
    exact = Fraction(number)
    return sympy.Rational(exact.numerator, exact.denominator)


def _region(wanted: list[str], table: Mapping[str, Part]) -> Region | None:
    """The region of the wanted quantities and of those that their parts use, users first; ``None`` for a circle."""
    parts: dict[str, Part] = {}
    uses: dict[str, set[str]] = {}
    queue = list(wanted)
    while queue:
        name = queue.pop()
        if name in parts:
            continue
        parts[name] = table[name] if name in table else _allowed(name)
        new = set(parts[name][2])
        uses[name] = {s.name for s in parts[name][1].free_symbols} - new
        queue.extend(sorted(uses[name]))
    ordered: list[str] = []
    while len(ordered) < len(parts):
        free = sorted(n for n in parts if n not in ordered and not any(n in uses[o] for o in parts if o not in ordered))
        if not free:
            return None
        ordered.append(free[0])
    return region(*(parts[name] for name in ordered))


@lru_cache(maxsize=2000)
def _parts(slack: sympy.Expr) -> tuple[Part, ...]:
    """Return slack >= 0 solved for one quantity. There are no parts if it is not of a known form, or if a name occurs
    that may stand for a negative number."""
    if all(_smallest(symbol.name) >= 0 for symbol in slack.free_symbols):
        return tuple(_solved(slack))
    return ()


def _smallest(name: str) -> float:
    """The least value of a quantity; of an unknown name that is any number."""
    return 0 if name in AUXILIARY else QUANTITIES[name].lower if name in QUANTITIES else -math.inf


def _solved(slack: sympy.Expr) -> Iterator[Part]:
    for smallest in sorted(slack.atoms(sympy.Min), key=str):
        if slack.coeff(smallest) == 1 and not (slack - smallest).has(smallest):
            for argument in sorted(smallest.args, key=str):
                yield from _solved(slack - smallest + argument)
        return
    slack = _without_roots(slack)
    if slack is None or slack.atoms(sympy.Function, sympy.Min, sympy.Max):
        return
    top, bottom = sympy.fraction(sympy.cancel(sympy.together(slack)))
    signs = _signs(bottom)
    if signs not in ({1}, {-1}):
        return
    top = sympy.expand(top * min(signs))
    yield from _equal_pair(top)
    for name in _SOLVED_FOR:
        x = sympy.Symbol(name)
        if sympy.degree(top, x) != 1 if top.has(x) else True:
            continue
        factor = top.coeff(x)
        signs = _signs(factor)
        # a factor that may vanish would leave points out
        if signs in ({1}, {-1}) and not _may_vanish(factor):
            part = _bound(name, sympy.cancel((factor * x - top) / factor), upper=signs == {-1})
            if part is not None:
                yield part
            return


def _bound(name: str, value: sympy.Expr, upper: bool) -> Part | None:
    """name <= value or name >= value as a part."""
    known = QUANTITIES[name]
    if upper:
        if value == _exactly(known.lower):
            return equal(name, value)
        return capped(name, value) if known.positive else None
    if known.upper < math.inf and value == _exactly(known.upper):
        return equal(name, value)
    if known.upper < math.inf:
        top = _exactly(known.upper)
        # where value > top nothing is allowed, and where value < 0 more than is allowed is covered
        return interval(name, value, top) if value != top else None
    return at_least(name, value)


def _equal_pair(top: sympy.Expr) -> Iterator[Part]:
    """-(a - b)^2 >= 0 says that a = b."""
    names = sorted(s.name for s in top.free_symbols)
    if len(names) == 2:
        a, b = map(sympy.Symbol, names)
        if sympy.expand(top + (a - b) ** 2) == 0:
            yield equal(names[0], b)


def _signs(polynomial: sympy.Expr) -> set[int]:
    """The signs of a polynomial's coefficients; its symbols stand for numbers >= 0."""
    names = sorted(polynomial.free_symbols, key=str)
    coefficients = sympy.Poly(polynomial, *names).coeffs() if names else [polynomial]
    return {1 if c > 0 else -1 if c < 0 else 0 for c in coefficients}


def _may_vanish(polynomial: sympy.Expr) -> bool:
    """Whether a polynomial whose coefficients have one sign may be 0: no term has positive quantities alone."""
    terms = sympy.Add.make_args(polynomial)
    return not any(all(_is_positive(s.name) for s in term.free_symbols) for term in terms)


def _is_positive(name: str) -> bool:
    return name in QUANTITIES and (QUANTITIES[name].positive or QUANTITIES[name].lower > 0)


def _without_roots(slack: sympy.Expr) -> sympy.Expr | None:
    """The slack with every root of a number replaced by a larger rational, where that makes it larger."""
    for root in sorted(slack.atoms(sympy.Pow), key=str):
        if root.exp.is_Integer:
            continue
        if root.exp != sympy.Rational(1, 2) or not root.base.is_Rational:
            return None
        terms = [t for t in sympy.Add.make_args(sympy.expand(slack)) if t.has(root)]
        if any(_signs(part) != {1} for t in terms for part in sympy.fraction(sympy.cancel(t / root))):
            return None
        square = Fraction(int(root.base.p), int(root.base.q))
        above = Fraction(math.isqrt(math.floor(square * 10**12)) + 1, 10**6)
        assert above**2 >= square
        slack = sympy.expand(slack).xreplace({root: sympy.Rational(above.numerator, above.denominator)})
    return slack


def rational(expression: sympy.Expr) -> bool:
    """Whether ``Follows`` can take the expression."""
    try:
        Ratio.of(expression)
    except ValueError:
        return False
    return True
