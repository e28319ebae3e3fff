"""Theorems on learning problems and their samples: events of a product law, and what follows from them.

A problem has a class of hypotheses with labels 0 and 1, a target's law P, and independent samples: ``server_samples``
of the server's law, and others of the clients' one. All of them together are the pool, Q is the mixture of their laws.
A theorem says of every such problem that meets its assumptions, and of all letters in its region, that

    form >= 0 (or = 0), for all hypotheses, wherever all of its events happen.

Form is a polynomial, or a quotient, in letters. Each letter is free, or is a number of the problem with a meaning that
is declared once (``Problem``): a probability, a frequency among the samples, a power of what was declared before it.
An event keeps how it may fail; ``bounds`` adds up the failures. Nothing else makes such a theorem, and every rule
computes its conclusion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from .regions import Condition, Where, standing
from .scalars import Ring, Scalar
from .sealed import MAKER, Refused, Sealed, intact

POOL, SERVER, TARGET, CLIENTS = "pool", "server", "target", "clients"
"""Laws: Q, the server's, P, the clients'. The first two are also the names of the samples of these laws."""

ANY, OTHER, BEST_OF_Q, BEST_OF_P = "any", "other", "best of Q", "best of P"
MINIMISER, CHECKED = "minimiser", "checked"
"""Hypotheses: any two; one with the least risk under Q, and under P, fixed before the samples are drawn; any with the
fewest errors on the pool; any of these that has no more errors on the server's samples than the best of Q."""

_LAWS, _SAMPLES, _FIXED = (POOL, SERVER, TARGET, CLIENTS), (POOL, SERVER), (BEST_OF_Q, BEST_OF_P)
_HYPOTHESES = (ANY, OTHER, *_FIXED, MINIMISER, CHECKED)

Meaning = tuple[str | Scalar, ...]
"""Kind of a number, and of what it is."""

_GROWN = ("growth", "growth of pairs", "complexity")
_OF_SCALARS = {
    "power": 2, "level": 2, **dict.fromkeys(_GROWN, 3), "maximum": 2, "minimum": 2, "distance": 1, "tail": 3,
}  # fmt: skip
"""Numbers made of scalars: x^p (0^0 = 1); log(1/x)/n; of x, n and d in this order (d log(e max(2 n, d)/d) +
log(4/x))/n, (2 d log(e max(2 n, d)/d) + log(8/x))/n, and (d max(log(max(n, d)/d), 1) + log(1/x))/n; the larger and the
lesser of two, the absolute value of one, and P[X >= t] of a binomial number X with N trials of probability p."""

_OF_PROBLEM = {
    "risk": (_LAWS, _HYPOTHESES), "frequency": (_SAMPLES, _HYPOTHESES),
    "excess": (_LAWS, _HYPOTHESES), "disagreement": (_LAWS, _HYPOTHESES, _HYPOTHESES),
    "disagreement frequency": (_SAMPLES, _HYPOTHESES, _HYPOTHESES),
    "failure": (("any learner", "functions"),), "related gap": (),
    "only": (_LAWS, _HYPOTHESES, _HYPOTHESES), "only frequency": (_SAMPLES, _HYPOTHESES, _HYPOTHESES),
}  # fmt: skip
"""Numbers of the problem: how probable an error is, and how frequent; a risk less the least one under the same law; how
probable, and how frequent, it is that two hypotheses differ, and that the first errs and the second does not; of the
two-point problem the least over learners of the larger of P[error >= error_level] under the two targets; relatedness
times excess(Q, any)^relatedness_exponent."""

_AT_MOST_ONE = {*_OF_PROBLEM, "tail"} - {"related gap"}

PARAMETERS = (
    "class_size", "samples", "server_samples", "clients", "arbitrary_cohort", "samples_per_client", "rare_mass",
    "error_level", "target_width", "source_width", "threshold_distance", "outside_support", "client_share",
    "relatedness", "relatedness_exponent", "noise_constant", "noise_exponent", "vc_dimension",
)  # fmt: skip
"""Quantities of a problem, and constants of its assumptions, that scalars stand for."""

_SIZES = {POOL: "samples", SERVER: "server_samples"}
_BEST = {POOL: BEST_OF_Q, TARGET: BEST_OF_P}

Event = tuple[str, ...]
"""Name of an event, of which samples and hypotheses it is, and the letter of its level."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Meanings of the letters of a proof.

    Attributes:
        where: region of the letters.
        parameters: scalars that quantities of the problem are, by name: see ``PARAMETERS``.
        numbers: meanings of letters, in order; a meaning uses scalars of earlier ones.

    Raises:
        Refused: a meaning that is none, or not shown to be one on the region: a power of what may be below 0.
    """

    where: Where
    parameters: Mapping[str, Scalar]
    numbers: Mapping[str, Meaning]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "numbers", MappingProxyType({n: tuple(m) for n, m in self.numbers.items()}))
        if unknown := self.parameters.keys() - set(PARAMETERS):
            raise Refused(f"{sorted(unknown)}: no quantities of a problem")
        letters = list(self.numbers)
        for i, (letter, meaning) in enumerate(self.numbers.items()):
            self._check(letter, meaning, letters[i:])

    def _check(self, letter: str, meaning: Meaning, later: Sequence[str]) -> None:
        kind, parts = str(meaning[0]), meaning[1:]
        if letter not in self.where.ring.names or sum(meaning == other for other in self.numbers.values()) > 1:
            raise Refused(f"{letter}: allowed is a letter of the ring, and one letter for a meaning")
        if kind in _OF_PROBLEM:
            allowed = _OF_PROBLEM[kind]
            if len(parts) != len(allowed) or any(p not in a for p, a in zip(parts, allowed, strict=True)):
                raise Refused(f"{letter}: {meaning} is no number of a problem")
            if kind.startswith("disagreement") and str(parts[1]) > str(parts[2]):
                raise Refused(f"{letter}: allowed are two hypotheses in the order of their names")
            return
        if kind not in _OF_SCALARS or len(parts) != _OF_SCALARS[kind] or not all(isinstance(p, Scalar) for p in parts):
            raise Refused(f"{letter}: {meaning} is no number")
        if any(p.names & {*later} for p in parts):  # type: ignore[union-attr]
            raise Refused(f"{letter}: allowed are letters that are given before it")
        above: list[Any] = [self._base(parts[0]), *parts[1:]] if kind in ("level", *_GROWN) else []
        chances: list[Any] = [parts[1]] if kind == "tail" else above[:1]
        for least in (
            *((above or parts) if kind != "distance" else ()),
            *(1 - x for x in chances),
        ):  # so that it is >= 0
            if not self.certifies(least, later):
                raise Refused(f"{letter}: {kind} of {parts}: {least} is not certified to be >= 0")
        if not all(self.never_zero(each, later) for each in above):
            raise Refused(f"{letter}: {parts} may be 0")
        if not all(self.defines(part, later) for part in parts):  # type: ignore[arg-type]
            raise Refused(f"{letter}: divides by what may be 0 on the region")

    def _base(self, scalar: Any) -> Scalar:
        """Return x for the letter of x^p; another scalar as it is. If x is from 0 to 1, so is x^p, and 0 only
        if x is."""
        kind, *parts = self.numbers.get(str(scalar), ("",))
        return parts[0] if kind == "power" else scalar  # type: ignore[return-value]

    def conditions(self, names: Iterable[str], unknown: Sequence[str] = ()) -> Where:
        """Return what is known of these letters: the region's conditions on them, and on all by which these bound them;
        and that numbers are >= 0. Nothing that uses a letter of ``unknown`` is known."""
        asked = {*names}
        for condition in self.where.conditions:  # a bound has letters of later conditions alone
            asked |= condition.used if condition.name in asked else frozenset()
        own = [c for c in self.where.conditions if c.name in asked and c.name not in unknown]
        usable = standing(own, self.numbers.keys() - {*unknown})
        named = {c.name for c in usable}
        more = [n for n in self.numbers if n in asked and n not in named and n not in unknown]
        return _where(self.where.ring, (*usable, *(Condition(n, "nonnegative") for n in more)))

    def certifies(self, scalar: Scalar, unknown: Sequence[str] = ()) -> bool:
        """Whether a scalar is certified to be >= 0 on the region, in which all numbers are."""
        return self.conditions(scalar.names, unknown).certifies(scalar)

    def never_zero(self, scalar: Scalar, unknown: Sequence[str] = ()) -> bool:
        """Whether a scalar's numerator is seen to be > 0 on the region."""
        return self.conditions(scalar.names, unknown).never_zero(scalar)

    def defines(self, scalar: Scalar, unknown: Sequence[str] = ()) -> bool:
        """Whether a scalar divides by nothing that may be 0 on the region."""
        return self.conditions(scalar.bottom.names, unknown).defines(scalar)

    def number(self, *meaning: str | Scalar) -> Scalar:
        """Return the letter of a meaning. Two hypotheses that differ are in either order.

        Raises:
            Refused: no letter has it.
        """
        if str(meaning[0]).startswith("disagreement"):
            meaning = (*meaning[:2], *sorted(meaning[2:]))  # type: ignore[type-var]
        for letter, other in self.numbers.items():
            if other == meaning:
                return self.where.ring[letter]
        raise Refused(f"{meaning}: no letter has this meaning")

    def parameter(self, name: str) -> Scalar:
        """Return the scalar that a quantity is."""
        if name not in self.parameters:
            raise Refused(f"{name}: allowed is a problem in which it is given")
        return self.parameters[name]

    def parts(self, letter: str, kind: str) -> list[Any]:
        """Return of what a letter is the number of this kind."""
        found, *parts = self.numbers.get(letter, ("",))
        if found != kind:
            raise Refused(f"{letter}: allowed is the letter of a {kind}")
        return parts


@lru_cache(maxsize=2000)
def _where(ring: Ring, conditions: tuple[Condition, ...]) -> Where:
    """Return a region; equal ones share what is known of them."""
    return Where(ring, conditions)


@dataclass(frozen=True, eq=False)
class SampleTheorem(Sealed):
    """Theorem on samples: see the module. With a ``functional`` it is a bound on it, said of the whole problem; with a
    ``confidence`` too, it holds but for a probability of at most so much."""

    of: Problem
    assumptions: frozenset[str]
    events: frozenset[Event]
    form: Scalar
    equality: bool
    functional: str
    confidence: Scalar | None
    rule: str
    premises: tuple[SampleTheorem, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    _maker: InitVar[object] = None

    @property
    def made_of(self) -> tuple[SampleTheorem, ...]:
        return self.premises

    def said(self) -> tuple[Any, ...]:
        of = self.of
        return (
            of.where.ring.names, of.where.conditions, dict(of.parameters), dict(of.numbers),
            sorted(self.assumptions), sorted(self.events), self.form, self.equality, self.functional, self.confidence,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, sorted(self.events)))}] {self.form} {'=' if self.equality else '>='} 0"


def _made(
    rule: str,
    of: Problem,
    form: Scalar,
    premises: Sequence[SampleTheorem] = (),
    *,
    equality: bool = False,
    assumes: Sequence[str] = (),
    events: Sequence[Event] = (),
    said: tuple[str, Scalar | None] = ("", None),
    **arguments: Any,
) -> SampleTheorem:
    for premise in map(intact, premises):
        if premise.of is not of or premise.functional:
            raise Refused(f"{premise}: allowed is a theorem of this problem, which is not said of the whole")
    if not of.defines(form):
        raise Refused(f"{form}: divides by what may be 0 on the region")
    return SampleTheorem(
        of,
        frozenset(assumes).union(*(p.assumptions for p in premises)),
        frozenset(events).union(*(p.events for p in premises)),
        form,
        equality,
        *said,
        rule,
        tuple(premises),
        arguments,
        _maker=MAKER,
    )


def _certify(of: Problem, scalar: Scalar, what: str) -> None:
    if not of.certifies(scalar):
        raise Refused(f"{what}: {scalar} is not certified to be >= 0 on the region")


# Rules --------------------------------------------------------------------------------------------------------------


def add(
    of: Problem,
    premises: Sequence[tuple[SampleTheorem, Scalar | int]],
    squares: Sequence[tuple[Scalar, Scalar | int]] = (),
    constant: Scalar | int = 0,
) -> SampleTheorem:
    """Add theorems times multipliers >= 0 (of any sign for an equality), squares times scalars >= 0, and a scalar
    >= 0. All events of the premises have to happen."""
    one, total = of.where.ring.number(1), of.where.ring.number(0)
    factors = [one * c for _, c in premises]
    for (theorem, _), factor in zip(premises, factors, strict=True):
        if not theorem.equality:
            _certify(of, factor, "multiplier")
        total = total + theorem.form * factor
    for base, c in squares:
        _certify(of, one * c, "multiplier of a square")
        total = total + base * base * c
    _certify(of, one * constant, "constant")
    equality = not squares and (one * constant).is_zero and all(t.equality for t, _ in premises)
    kept = [(base, one * c) for base, c in squares]
    if not all(of.defines(c) for c in (*factors, *(base for base, _ in squares))):
        raise Refused("a multiplier divides by what may be 0 on the region")
    return _made(
        "add", of, total + constant, [t for t, _ in premises], equality=equality,
        multipliers=factors, squares=kept, constant=one * constant,
    )  # fmt: skip


def cancel(theorem: SampleTheorem, factor: Scalar, by: Scalar | int = 1) -> SampleTheorem:
    """Conclude g >= 0 from m g >= 0, where m >= 0 and c m + g >= 0: if g < 0, then c m >= -g > 0, so that m g < 0."""
    of, g = theorem.of, theorem.form / factor
    scale = of.where.ring.number(1) * by
    for what, scalar in {"factor": factor, "scale": scale, "scale factor + rest": scale * factor + g}.items():
        _certify(of, scalar, what)
    return _made("cancel", of, g, [theorem], factor=factor, by=scale)


def solve(theorem: SampleTheorem, unknown: str, root: str, power: str) -> SampleTheorem:
    """Conclude e <= (4 s)^(1/(2 - b)) + 2 t from e <= root of (s e^b) + t, t >= 0, 0 <= b <= 1.

    If e > 2 t, then t < e/2, so that e/2 < the root and e^2 < 4 s e^b; as e > 0, e^(2 - b) < 4 s.
    """
    of, ring = theorem.of, theorem.of.where.ring
    e, w, y = ring[unknown], ring[root], ring[power]
    inside, half = of.parts(root, "power")
    base, exponent = of.parts(power, "power")
    if not of.never_zero(exponent):
        raise Refused(f"{power}: allowed is a power > 0")
    b = 2 - 1 / exponent
    found = [ring[n] for n, m in of.numbers.items() if m == ("power", e, b)]
    t = theorem.form - w + e
    if half != Fraction(1, 2) or not any(inside == base / 4 * z for z in found):
        raise Refused(f"{root}, {power}: allowed is the root of s {unknown}^b, and the power 1/(2 - b) of 4 s")
    for what, scalar in {unknown: e, "b": b, "1 - b": 1 - b, "rest": t, "s": base}.items():
        _certify(of, scalar, what)
    return _made("solve", of, y + 2 * t - e, [theorem], unknown=unknown, root=root, power=power)


def raised(theorem: SampleTheorem, larger: str, smaller: str) -> SampleTheorem:
    """Conclude x^p >= y^p from x >= y, for powers of the same p >= 0 of x, y >= 0."""
    of, ring = theorem.of, theorem.of.where.ring
    (x, p), (y, q) = of.parts(larger, "power"), of.parts(smaller, "power")
    if p != q or theorem.form != x - y:
        raise Refused(f"{larger}, {smaller}: allowed are the same powers of x and y, with x - y >= 0")
    return _made("raised", of, ring[larger] - ring[smaller], [theorem], larger=larger, smaller=smaller)


def largest(first: SampleTheorem, second: SampleTheorem, letter: str) -> SampleTheorem:
    """Conclude f >= max(x, y) from f - x >= 0 and f - y >= 0."""
    return _one_of_two("largest", first, second, letter, first.of.parts(letter, "maximum"), -1)


def absolute(first: SampleTheorem, second: SampleTheorem, letter: str) -> SampleTheorem:
    """Conclude f >= |x| from f - x >= 0 and f + x >= 0."""
    (x,) = first.of.parts(letter, "distance")
    return _one_of_two("absolute", first, second, letter, [x, -x], -1)


def least(first: SampleTheorem, second: SampleTheorem, letter: str, factor: Scalar | int) -> SampleTheorem:
    """Conclude f + c min(x, y) >= 0 from f + c x >= 0 and f + c y >= 0: the lesser is one of the two."""
    of, c = first.of, first.of.where.ring.number(1) * factor
    if not of.defines(c):
        raise Refused(f"{c}: a factor that divides by what may be 0 on the region")
    return _one_of_two("least", first, second, letter, of.parts(letter, "minimum"), c, factor=c)


def _one_of_two(
    rule: str, first: SampleTheorem, second: SampleTheorem, letter: str, parts: list[Any], c: Any, **more: Any
) -> SampleTheorem:
    """Conclude f + c z >= 0 from f + c x >= 0 and f + c y >= 0, where the number z is x or y."""
    of, (x, y) = first.of, parts
    f = first.form - c * x
    if f != second.form - c * y:
        raise Refused(f"{letter}: allowed are f + {c} ({x}) >= 0 and f + {c} ({y}) >= 0, with the same f")
    return _made(rule, of, f + c * of.where.ring[letter], [first, second], letter=letter, **more)


# Numbers ------------------------------------------------------------------------------------------------------------


def root(of: Problem, letter: str) -> SampleTheorem:
    """(x^(1/n))^n = x, n a whole number from 1 to 4."""
    base, exponent = of.parts(letter, "power")
    for n in range(1, 5):
        if exponent * n == 1:
            return _made("root", of, of.where.ring[letter] ** n - base, equality=True, letter=letter)
    raise Refused(f"{letter}: allowed is a power 1/n, n from 1 to 4")


def sum_of_exponents(of: Problem, whole: str, first: str, second: str) -> SampleTheorem:
    """x^(p + q) = x^p x^q."""
    (x, r), (y, p), (z, q) = (of.parts(letter, "power") for letter in (whole, first, second))
    if not x == y == z or r != p + q:
        raise Refused(f"{whole}, {first}, {second}: allowed are x^(p + q), x^p and x^q")
    form = of.where.ring[whole] - of.where.ring[first] * of.where.ring[second]
    return _made("sum of exponents", of, form, equality=True, whole=whole, first=first, second=second)


def power_of_product(of: Problem, whole: str, first: str, second: str) -> SampleTheorem:
    """(x y)^p = x^p y^p."""
    (x, r), (y, p), (z, q) = (of.parts(letter, "power") for letter in (whole, first, second))
    if x != y * z or not r == p == q:
        raise Refused(f"{whole}, {first}, {second}: allowed are (x y)^p, x^p and y^p")
    a, b, c = (of.where.ring[letter] for letter in (whole, first, second))
    return _made("power of product", of, a - b * c, equality=True, whole=whole, first=first, second=second)


def power_of_power(of: Problem, whole: str, inner: str) -> SampleTheorem:
    """x^(p q) = (x^p)^q, where the letter of the latter is the power q of the letter of x^p."""
    x, p = of.parts(inner, "power")
    outer = [n for n, m in of.numbers.items() if m[0] == "power" and m[1] == of.where.ring[inner]]
    y, r = of.parts(whole, "power")
    for letter in outer:
        if x == y and r == p * of.numbers[letter][2]:
            return _made(
                "power of power", of, of.where.ring[whole] - of.where.ring[letter], equality=True,
                whole=whole, inner=inner,
            )  # fmt: skip
    raise Refused(f"{whole}, {inner}: allowed are x^(p q) and x^p, and a letter for (x^p)^q")


def order_of_exponents(of: Problem, lower: str, higher: str) -> SampleTheorem:
    """x^p >= x^q for 0 <= x <= 1 and p <= q, or x^q >= x^p for x >= 1."""
    (x, p), (y, q) = of.parts(lower, "power"), of.parts(higher, "power")
    if x != y:
        raise Refused(f"{lower}, {higher}: allowed are powers of the same number")
    _certify(of, q - p, "exponents in order")
    falls = of.certifies(1 - x)
    if not falls:
        _certify(of, x - 1, "neither below 1 nor above")
    a, b = of.where.ring[lower], of.where.ring[higher]
    return _made("order of exponents", of, a - b if falls else b - a, lower=lower, higher=higher, falls=falls)


def power_at_most(of: Problem, letter: str) -> SampleTheorem:
    """x^p <= 1 + x for 0 <= p <= 1: it is at most 1 for x <= 1, and at most x beyond."""
    x, p = of.parts(letter, "power")
    _certify(of, 1 - p, "1 - p")
    return _made("power at most", of, 1 + x - of.where.ring[letter], letter=letter)


def power_at_least(of: Problem, letter: str) -> SampleTheorem:
    """x^p >= min(x, 1) for 0 <= p <= 1."""
    x, p = of.parts(letter, "power")
    _certify(of, 1 - p, "1 - p")
    form = of.where.ring[letter] - of.number("minimum", x, of.where.ring.number(1))
    return _made("power at least", of, form, letter=letter)


def growth_at_most(of: Problem, growth: str, complexity: str) -> SampleTheorem:
    """A growth is at most 5 complexities, that of pairs 8, of the same x, n and d, for n >= d >= 1.

    With l = max(log(n/d), 1), log(2 e n/d) <= 17/10 + l, log 4 <= 14/10 and log 8 <= 21/10: d (17/10 + l) + 14/10 is at
    most 5 d l, and 2 d (17/10 + l) + 21/10 at most 8 d l.
    """
    pairs = of.numbers.get(growth, ("",))[0] == "growth of pairs"
    own, other = of.parts(growth, "growth of pairs" if pairs else "growth"), of.parts(complexity, "complexity")
    if own != other:
        raise Refused(f"{growth}, {complexity}: allowed are those of the same x, n and d")
    _certify(of, own[1] - own[2], "as many samples as the dimension")
    _certify(of, own[2] - 1, "a dimension of at least 1")
    form = of.where.ring[complexity] * (8 if pairs else 5) - of.where.ring[growth]
    return _made("growth at most", of, form, growth=growth, complexity=complexity)


def of_maximum(of: Problem, letter: str, second: bool = False) -> SampleTheorem:
    """max(x, y) >= x, or y."""
    part = of.parts(letter, "maximum")[int(second)]
    return _made("of maximum", of, of.where.ring[letter] - part, letter=letter, second=second)


def level_of_power(of: Problem, level: str, lower: str) -> SampleTheorem:
    """log(1/x^p)/n = p log(1/x)/n, where the first level is of the letter of a power of x."""
    (x, n), (y, count) = of.parts(level, "level"), of.parts(lower, "level")
    for letter, meaning in of.numbers.items():
        if meaning[0] == "power" and of.where.ring[letter] == x and meaning[1] == y and n == count:
            form = of.where.ring[level] - of.where.ring[lower] * meaning[2]  # type: ignore[operator]
            return _made("level of power", of, form, equality=True, level=level, lower=lower)
    raise Refused(f"{level}, {lower}: allowed are the levels of x^p and x, for as many samples")


def probability(of: Problem, letter: str) -> SampleTheorem:
    """A probability, a frequency, or an excess risk is at most 1."""
    if of.numbers.get(letter, ("",))[0] not in _AT_MOST_ONE:
        raise Refused(f"{letter}: allowed is the letter of a probability or a frequency")
    return _made("probability", of, 1 - of.where.ring[letter], letter=letter)


# Axioms of learning problems ----------------------------------------------------------------------------------------


def excess(of: Problem, law: str, hypothesis: str) -> SampleTheorem:
    """The excess risk under Q, or P, is the risk less that of the best hypothesis."""
    if law not in _BEST:
        raise Refused(f"{law}: allowed are {' and '.join(_BEST)}")
    risk, least = of.number("risk", law, hypothesis), of.number("risk", law, _BEST[law])
    form = of.number("excess", law, hypothesis) - risk + least
    return _made("excess", of, form, equality=True, law=law, hypothesis=hypothesis)


def minimiser(of: Problem, hypothesis: str, than: str) -> SampleTheorem:
    """A minimiser, checked or not, has no more errors on the pool than any hypothesis."""
    if hypothesis not in (MINIMISER, CHECKED):
        raise Refused(f"{hypothesis}: allowed is a minimiser")
    form = of.number("frequency", POOL, than) - of.number("frequency", POOL, hypothesis)
    return _made("minimiser", of, form, hypothesis=hypothesis, than=than)


def checked(of: Problem) -> SampleTheorem:
    """A checked one has no more errors on the server's samples than the best hypothesis under Q."""
    form = of.number("frequency", SERVER, BEST_OF_Q) - of.number("frequency", SERVER, CHECKED)
    return _made("checked", of, form)


def of_target(of: Problem, kind: str, first: str, second: str = "") -> SampleTheorem:
    """The server's law is P: risks, and how probable it is that two hypotheses differ, are the same."""
    if kind not in ("risk", "disagreement") or (second and kind == "risk"):
        raise Refused(f"{kind}, {second!r}: allowed is the risk of one hypothesis, or the disagreement of two")
    more = (first, second) if kind == "disagreement" else (first,)
    form = of.number(kind, SERVER, *more) - of.number(kind, TARGET, *more)
    return _made(
        "of target", of, form, equality=True, assumes=["server_of_target"], kind=kind, first=first, second=second
    )


def noise(of: Problem, law: str, hypothesis: str) -> SampleTheorem:
    """A hypothesis differs from the best one with probability at most noise_constant excess^noise_exponent."""
    if law not in _BEST:
        raise Refused(f"{law}: allowed are {' and '.join(_BEST)}")
    nu, b = of.parameter("noise_constant"), of.parameter("noise_exponent")
    power = of.number("power", of.number("excess", law, hypothesis), b)
    form = nu * power - of.number("disagreement", law, hypothesis, _BEST[law])
    kind = "source_noise" if law == POOL else "target_noise"
    return _made("noise", of, form, assumes=[kind], law=law, hypothesis=hypothesis)


def triangle(of: Problem, law: str, first: str, second: str, by: str) -> SampleTheorem:
    """Two hypotheses differ only where one of them differs from a third one."""
    one, two, whole = ((first, by), (by, second), (first, second))
    form = sum((of.number("disagreement", law, *pair) for pair in (one, two)), of.where.ring.number(0))
    form = form - of.number("disagreement", law, *whole)
    return _made("triangle", of, form, law=law, first=first, second=second, by=by)


def related(of: Problem, hypothesis: str, above: bool) -> SampleTheorem:
    """P and Q are positively related: the excess risks differ by at most relatedness excess_Q^relatedness_exponent."""
    alpha, beta = of.parameter("relatedness"), of.parameter("relatedness_exponent")
    e_P, e_Q = (of.number("excess", law, hypothesis) for law in (TARGET, POOL))
    form = alpha * of.number("power", e_Q, beta) - (e_P - e_Q if above else e_Q - e_P)
    return _made("related", of, form, assumes=["positively_related"], hypothesis=hypothesis, above=above)


def related_gap(of: Problem) -> SampleTheorem:
    """The related gap is relatedness excess_Q^relatedness_exponent, of any hypothesis."""
    power = of.number("power", of.number("excess", POOL, ANY), of.parameter("relatedness_exponent"))
    return _made("related gap", of, of.number("related gap") - of.parameter("relatedness") * power, equality=True)


def mixture(of: Problem) -> SampleTheorem:
    """Excess risks mix as the laws do, by the clients' share, since with one target they are risks."""
    share = of.parameter("client_share")
    e_Q, e_D, e_P = (of.number("excess", law, ANY) for law in (POOL, CLIENTS, TARGET))
    form = e_Q - share * e_D - (1 - share) * e_P
    return _made("mixture", of, form, equality=True, assumes=["one_target", "server_of_target"])


def uniform(of: Problem, law: str) -> SampleTheorem:
    """The excess risk of a threshold is its distance over the width, of thresholds on an interval under a uniform law
    that has both in its support, with the best one's label."""
    width = of.parameter({TARGET: "target_width", POOL: "source_width"}.get(law, law))
    _certify(of, -of.parameter("outside_support"), "a threshold in the support of Q")
    _certify(of, of.parameter("target_width") - of.parameter("source_width"), "the support of Q in that of P")
    form = of.number("excess", law, ANY) * width - of.parameter("threshold_distance")
    return _made("uniform", of, form, equality=True, law=law)


# Events -------------------------------------------------------------------------------------------------------------


def _family(first: str, second: str) -> tuple[str, str]:
    """The hypotheses of an event: a drawn one is any. Two that are not fixed are any two."""
    moves = [name not in _FIXED for name in (first, second)]
    if all(moves):
        return ANY, OTHER
    return (ANY if moves[0] else first), (ANY if moves[1] else second)


def _by_level(rule: str, of: Problem, off: Scalar, event: Event, first: str, second: str, **more: Any) -> SampleTheorem:
    """off <= sqrt(2 P(h != g) a) + a/3, a the level log(1/x)/n by the number of these samples."""
    (_, sample, *_, level), half = event, of.where.ring.number(Fraction(1, 2))
    if of.parts(level, "level")[1] != of.parameter(_SIZES.get(sample, sample)):
        raise Refused(f"{level}: allowed is a level by the number of samples of the {sample}")
    a = of.where.ring[level]
    root = of.number("power", 2 * of.number("disagreement", sample, first, second) * a, half)
    said = {"sample": sample, "first": first, "second": second, "level": level} | more
    return _made(rule, of, root + a / 3 - off, events=[event], **said)


def bernstein(of: Problem, sample: str, first: str, second: str, level: str) -> SampleTheorem:
    """(R(h) - R(g)) - (R^(h) - R^(g)) <= sqrt(2 P(h != g) a) + a/3, h and g the first and the second hypothesis."""
    risks, frequencies = (
        of.number(kind, sample, first) - of.number(kind, sample, second) for kind in ("risk", "frequency")
    )
    event = ("risks", sample, *_family(first, second), level)
    return _by_level("bernstein", of, risks - frequencies, event, first, second)


def frequent(of: Problem, sample: str, first: str, second: str, level: str, above: bool) -> SampleTheorem:
    """The frequency with which h and g differ is off its probability by at most sqrt(2 P(h != g) a) + a/3, upwards or
    downwards."""
    p, f = (of.number(kind, sample, first, second) for kind in ("disagreement", "disagreement frequency"))
    event = ("often" if above else "seldom", sample, *sorted(_family(first, second)), level)
    return _by_level("frequent", of, f - p if above else p - f, event, first, second, above=above)


def _by_growth(
    of: Problem, growth: str, event: Event, kind: str, first: str, second: str, above: bool, said: Mapping[str, Any]
) -> SampleTheorem:
    """p - f <= sqrt(16 L p), or f - p <= sqrt(16 L f): p how probable it is what two hypotheses do, f how frequent, L
    the growth by the dimension of the class and the number of these samples."""
    (rule, sample, *_, level), ring = event, of.where.ring
    _, count, dimension = of.parts(level, growth)
    if count != of.parameter(_SIZES.get(sample, sample)) or dimension != of.parameter("vc_dimension"):
        raise Refused(f"{level}: allowed is the growth by the dimension and the number of samples of the {sample}")
    p, f = (of.number(each, sample, first, second) for each in (kind, f"{kind} frequency"))
    w = of.number("power", 16 * ring[level] * (f if above else p), ring.number(Fraction(1, 2)))
    return _made(rule, of, w - (f - p if above else p - f), events=[event], **said)


def relative(of: Problem, sample: str, first: str, second: str, level: str, above: bool) -> SampleTheorem:
    """The frequency of errors of h that g does not make is below their probability p by at most sqrt(16 L p); that of
    errors of g that h does not make is above theirs by at most sqrt(16 L f), f that frequency. g is fixed, and L the
    growth by the dimension of the class."""
    if second not in _FIXED or first in _FIXED:
        raise Refused(f"{first}, {second}: allowed is a hypothesis that is drawn, and one that is fixed")
    said = {"sample": sample, "first": first, "second": second, "level": level, "above": above}
    pair = (second, first) if above else (first, second)
    return _by_growth(of, "growth", ("relative", sample, ANY, second, level), "only", *pair, above, said)


def relative_pair(
    of: Problem, sample: str, kind: str, first: str, second: str, level: str, above: bool
) -> SampleTheorem:
    """p - f <= sqrt(16 L p), and f - p <= sqrt(16 L f), of any two hypotheses: p how probable it is that they differ
    (disagreement), or that the first alone errs (only), f how frequent, L the growth of pairs by the dimension."""
    if kind not in ("only", "disagreement"):
        raise Refused(f"{kind}: allowed are only and disagreement")
    said = {"sample": sample, "kind": kind, "first": first, "second": second, "level": level, "above": above}
    event = ("relative pair", sample, ANY, OTHER, level)
    return _by_growth(of, "growth of pairs", event, kind, first, second, above, said)


def split(of: Problem, kind: str, law: str, first: str, second: str) -> SampleTheorem:
    """Two risks, or frequencies of errors, differ by what the one hypothesis errs in and the other does not; both
    together are where the two differ, as labels are two."""
    only = "only frequency" if kind.endswith("frequency") else "only"
    one, other = of.number(only, law, first, second), of.number(only, law, second, first)
    if kind in ("risk", "frequency"):
        form = of.number(kind, law, first) - of.number(kind, law, second) - one + other
    elif kind in ("disagreement", "disagreement frequency"):
        form = of.number(kind, law, first, second) - one - other
    else:
        raise Refused(f"{kind}: allowed are risk, frequency, disagreement, disagreement frequency")
    return _made("split", of, form, equality=True, kind=kind, law=law, first=first, second=second)


def failure(of: Problem, event: Event) -> Scalar:
    """Return how probable it is at most that an event does not happen: a relative one with the growth's x. One pair's
    fails with probability x at the level log(1/x)/n, and there are N - 1 of one with a fixed hypothesis, N (N - 1) of
    ordered pairs, half as many of pairs, N the size of the class."""
    name, _, first, second, level = event
    if name in ("relative", "relative pair"):
        return of.parts(level, "growth" if name == "relative" else "growth of pairs")[0]  # type: ignore[no-any-return]
    x = of.parts(level, "level")[0]
    open_ones = sum(each not in _FIXED for each in (first, second))
    if open_ones == 0:
        return x
    size = of.parameter("class_size")
    if open_ones == 1:
        return (size - 1) * x
    return size * (size - 1) * (x if name == "risks" else x / 2)


# The two-point problem ----------------------------------------------------------------------------------------------


def cantelli(of: Problem, letter: str) -> SampleTheorem:
    """P[X >= t] <= v/(v + (t - N p)^2), v = N p (1 - p), for t >= N p."""
    trials, p, t = of.parts(letter, "tail")
    _certify(of, t - trials * p, "above the mean")
    v = trials * p * (1 - p)
    return _made("cantelli", of, v - (v + (t - trials * p) ** 2) * of.where.ring[letter], letter=letter)


def learner(of: Problem, functions: bool) -> SampleTheorem:
    """Whatever a learner does, it errs by rare_mass under one of two targets with half the probability that the rare
    point can be left out by whoever chooses m n of the M n samples; with all of it, if it draws no lots."""
    M, m, n = (of.parameter(name) for name in ("clients", "arbitrary_cohort", "samples_per_client"))
    p, least = of.parameter("rare_mass"), of.parameter("error_level")
    _certify(of, p - least, "the error level is reached")
    _certify(of, M - m, "no more take part than there are")
    tail = of.number("tail", M * n, p, (M - m) * n + 1)
    share = 1 if functions else Fraction(1, 2)
    fails = of.number("failure", "functions" if functions else "any learner")
    return _made("learner", of, fails - (1 - tail) * share, functions=functions)


# What is said of the whole problem ----------------------------------------------------------------------------------


VALUES: Mapping[str, tuple[tuple[int, Meaning], ...]] = {
    "target_excess": ((1, ("excess", TARGET, ANY)),),
    "negated_source_excess": ((-1, ("excess", POOL, ANY)),),
    "negated_failure": ((-1, ("failure", "any learner")),),
    "negated_failure_of_functions": ((-1, ("failure", "functions")),),
}
"""Functionals without samples, as sums of numbers; ``relatedness_gap``, ``rare_tail`` and ``value`` are others."""

QUANTILES: Mapping[str, tuple[tuple[Fraction | int, Meaning], ...]] = {
    "pooled_excess": ((1, ("excess", TARGET, MINIMISER)),),
    "pooled_source_excess": ((1, ("excess", POOL, MINIMISER)),),
    "checked_excess": ((1, ("excess", TARGET, CHECKED)),),
    "checked_empirical_gap": ((1, ("frequency", SERVER, CHECKED)), (-1, ("frequency", SERVER, BEST_OF_P))),
    "disagreement_excess": (
        (1, ("disagreement frequency", POOL, ANY, OTHER)), (-2, ("disagreement", POOL, ANY, OTHER)),
    ),
    "disagreement_deficit": (
        (Fraction(1, 2), ("disagreement", POOL, ANY, OTHER)), (-1, ("disagreement frequency", POOL, ANY, OTHER)),
    ),
}  # fmt: skip
"""Functionals that are quantiles of numbers of the samples, counted as at least 0."""

DEVIATION, VALUE = "pair_deviation", "value"
_KNOWN = {"excess": ((TARGET, BEST_OF_Q), (POOL, ANY)), "related gap": ((),)}
"""Numbers of a problem that are quantities of claims, so that a bound may have them."""


def left_side(of: Problem, functional: str, letter: str = "") -> Scalar:
    """Return the functional's number in letters.

    Raises:
        Refused: it is no functional that is a number, or a letter of it is not declared.
    """
    ring = of.where.ring
    if (functional == VALUE) != (letter in of.numbers) or (functional != VALUE and letter):
        raise Refused(f"{functional}, {letter!r}: allowed is the letter of a number where a value is bounded")
    if functional == VALUE:
        if not is_quantity(of, ring[letter]):
            raise Refused(f"{letter}: allowed is a number that is made of quantities")
        return ring[letter]
    if functional == "relatedness_gap":
        return of.number("distance", of.number("excess", TARGET, ANY) - of.number("excess", POOL, ANY))
    if functional == "rare_tail":
        M, m, n = (of.parameter(name) for name in ("clients", "arbitrary_cohort", "samples_per_client"))
        return of.number("tail", M * n, of.parameter("rare_mass"), (M - m) * n)
    parts = {**VALUES, **QUANTILES}.get(functional)
    if parts is None:
        raise Refused(f"{functional}: allowed are {', '.join(sorted({**VALUES, **QUANTILES}))}")
    return sum((of.number(*meaning) * c for c, meaning in parts), ring.number(0))


def is_quantity(of: Problem, scalar: Scalar) -> bool:
    """Whether a scalar is made of quantities alone, and of nothing that depends on the samples or on hypotheses that a
    claim does not name."""
    for letter in scalar.names & of.numbers.keys():
        kind, *parts = of.numbers[letter]
        if kind in ("power", "level", *_GROWN, "maximum", "minimum"):
            if not all(is_quantity(of, part) for part in parts):  # type: ignore[arg-type]
                return False
        elif tuple(parts) not in _KNOWN.get(str(kind), ()):
            return False
    return True


def bounds(
    theorem: SampleTheorem,
    functional: str,
    confidence: Scalar | None = None,
    few_fail: SampleTheorem | None = None,
    *,
    letter: str = "",
) -> SampleTheorem:
    """Conclude functional <= bound from bound - functional >= 0; of a quantile, at a confidence that is at least the
    sum of the events' failures: this is certified, or a theorem without events says it. Of ``value`` it is a bound on
    the letter of a number that is made of quantities."""
    of = theorem.of
    bound = theorem.form + left_side(of, functional, letter)
    return _whole(
        "bounds", of, functional, bound, [theorem], confidence, few_fail, functional=functional, letter=letter
    )


def bounds_deviation(
    by_probability: SampleTheorem,
    by_frequency: SampleTheorem,
    confidence: Scalar,
    few_fail: SampleTheorem | None = None,
    *,
    roots: tuple[str, str],
) -> SampleTheorem:
    """Conclude ``pair_deviation`` <= x from (R(h) - R(g)) - (R^(h) - R^(g)) <= sqrt(P x) + x and <= sqrt(P^ x) + x, P
    and P^ how probable and how frequent it is that h and g differ: the lesser of the two counts."""
    of = by_probability.of
    first, second = (of.number("risk", POOL, h) - of.number("frequency", POOL, h) for h in (ANY, OTHER))
    off = first - second
    xs = []
    for theorem, letter, kind in zip(
        (by_probability, by_frequency), roots, ("disagreement", "disagreement frequency"), strict=True
    ):
        x = theorem.form + off - of.where.ring[letter]
        base, half = of.parts(letter, "power")
        if half != Fraction(1, 2) or base != of.number(kind, POOL, ANY, OTHER) * x:
            raise Refused(f"{letter}: allowed is the root of {kind} times {x}")
        xs.append(x)
    if xs[0] != xs[1]:
        raise Refused(f"{xs}: allowed is the same bound twice")
    premises = [by_probability, by_frequency]
    return _whole("bounds deviation", of, DEVIATION, xs[0], premises, confidence, few_fail, roots=list(roots))


def _whole(
    rule: str,
    of: Problem,
    said: str,
    bound: Scalar,
    premises: list[SampleTheorem],
    confidence: Scalar | None,
    few_fail: SampleTheorem | None,
    **more: Any,
) -> SampleTheorem:
    random = said in QUANTILES or said == DEVIATION
    if not is_quantity(of, bound):
        raise Refused(f"{bound}: allowed is a bound in quantities, which depends on no sample and no hypothesis")
    events = frozenset().union(*(p.events for p in premises))
    if (confidence is not None) != random or (events and not random) or (few_fail is not None and not random):
        raise Refused(f"{said}: allowed is a confidence where samples are drawn, and nowhere else")
    if random and confidence is not None:
        _certify(of, bound, "bound of what is counted as at least 0")
        if not is_quantity(of, confidence):
            raise Refused(f"{confidence}: allowed is a confidence in quantities")
        spare = confidence - sum((failure(of, event) for event in sorted(events)), of.where.ring.number(0))
        if few_fail is None:
            _certify(of, spare, "confidence less the failures")
        elif few_fail.events or few_fail.form != spare:
            raise Refused(f"{few_fail}: allowed is {spare} >= 0, without events")
    premises = [*premises, few_fail] if few_fail is not None else premises
    return _made(rule, of, bound, premises, said=(said, confidence), confidence=confidence, **more)
