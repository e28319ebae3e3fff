"""Goal of a claim: what a bound of the kernel on whole runs has to say, to be the claim's theorem.

A bound is the claim's theorem if its functional, its right side and its rounds are the claim's, and if whatever it asks
is asked by the claim: each condition of its region is one of the vocabulary, or one of the claim's hypotheses; each
assumption is made by the claim, with the same constant, or is a reading of it; each parameter is the quantity itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import sympy
from flint.utils.flint_exceptions import DomainError

from .. import functionals
from ..assumptions import ASSUMPTIONS, AT_ONE_PLACE
from ..claims import readings
from ..claims.statement import Claim, Hypothesis, leaves_objective_open
from ..quantities import QUANTITIES, bare
from . import answer_goals, weight_goals
from .algorithm_match import LAWS, WEIGHTED, Rounds, is_of_an_end, strange
from .kernel.fixed_kinds import PERIOD, PERIODIC, SHARES
from .kernel.forms import STEP, STEPS
from .kernel.interval_bounds import CHANCE, CHOSEN_CUTOFF, CUTOFF, ENDED, HISTORY
from .kernel.number_bounds import VALUE
from .kernel.regions import Condition, Where
from .kernel.round_bounds import OF_POINTS
from .kernel.round_rules import UNIFORM
from .kernel.run_bounds import MEAN_GRADIENT, ROUNDS, Definition, RunBound, untouched
from .kernel.scalars import Ring, Scalar
from .kernel.step_choices import ABOVE, BELOW, LEAST, of_choice
from .kernel.theorems import Assumption, Theorem, said_besides

Letters = Mapping[str, str]
"""Quantity for which each letter of a bound stands, or "a - b" for a letter that is by how much a exceeds b, so that a
is b plus the letter; one that is left out stands for any number of its condition."""

READINGS = {
    "random_kinds": (readings.SNAPSHOTS, readings.PROBABILITY),
    "random_client_rounds": (readings.KINDS_OF_ROUNDS, readings.PROBABILITY),
    "cohort_is_a_set": (readings.UNIFORM_COHORT, readings.WITHOUT_REPLACEMENT),
    "weights_of_the_round": (readings.CONDITIONING, readings.OF_THE_ROUND),
    PERIODIC: (readings.SNAPSHOTS, readings.PERIOD),
}
"""Assumptions that are a reading of the algorithm."""
ALTERNATING = {
    **{law: quantity for law, (_, quantity) in LAWS.items()},
    PERIODIC: "snapshot_period", SHARES: "client_round_probability",
}  # fmt: skip
"""Assumptions that say how kinds of round alternate, and the quantity that the constant of each is."""

SCALE_KNOWN = "scale_known_beforehand"
KNOWN_SCALE = {readings.WEIGHTS: readings.GIVEN, readings.SCALE: readings.KNOWN_BEFOREHAND}
"""The assumption that the weights' scale is a number that a run does not change, and the readings that say so."""

PARAMETERS = {"probability": "snapshot_probability", PERIOD: "snapshot_period"} | {name: name for name in (
    "local_lr", "server_lr", "cohort", "arbitrary_cohort", "client_round_probability", "rounds", "initial_distance",
    "initial_gap", "step_index", "clients", "weight_error", "peak_weight_error", "objective_error",
    "expected_weight_scale", "weight_scale", "update_weight", "least_objective_weight", "gradient_norm",
    "objective_decrease", "displacement", "perturbation", "arbitrary_pseudogradient", "full_pseudogradient",
    "cohort_pseudogradient",
)} | weight_goals.PARAMETERS  # fmt: skip
"""Quantity that each parameter of an algorithm or of a run is; the free ``share`` of a draw is none."""

PRODUCTS = {"weighted_lr": ("local_lr", "global_lr")}
"""Quantities whose product a parameter is."""

BY_ROOTS = (ROUNDS, "groups")
"""Quantities by whose roots a step may be chosen, each by the first of these in its square."""

EXPONENTS = {sympy.Symbol(ROUNDS): "power", sympy.Symbol("local_steps") * sympy.Symbol(ROUNDS): "steps"}
"""Sorts of a number to the power of this."""

_N, _S = sympy.symbols("clients arbitrary_cohort")
DRAWS = {readings.BY_WEIGHT: 1 / _S, readings.UNIFORMLY: (_N - _S) / (_S * (_N - 1))}
"""Variance of the mean of S clients drawn, divided by that of one, by how they are drawn: independently, by weight; or
a set of S of N."""
DRAWN, EVERYONE = "independent_draws", "full_participation"
"""Assumptions on how a round ends, which are readings of who takes part."""

SIZES = {"uniform": "cohort", "arbitrary": "arbitrary_cohort"}
"""Quantity that is the size of a cohort, where all rounds are of a kind."""

ALL_OF_KIND = {
    ("uniform", "snapshot_probability"): 1, ("arbitrary", "snapshot_probability"): 0,
    ("arbitrary", "client_round_probability"): 1, ("server", "client_round_probability"): 0,
}  # fmt: skip
"""Probability, by its quantity, at which all rounds are of a kind."""


class Inexpressible(ValueError):
    """Error of a claim, or of a part of it, that the language of goals cannot say; the message says which."""


@dataclass(frozen=True)
class Goal:
    """Claim in the letters of a bound.

    Attributes:
        rounds: the rounds of the claim's algorithm, where an engine runs them.
        more: options of ambiguities that concern the claim's hypotheses alone.
    """

    claim: Claim
    letters: Letters
    ring: Ring
    rounds: Rounds | None
    more: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if others := dict(self.more).keys() - answer_goals.OF_HYPOTHESES:
            raise Inexpressible(f"{', '.join(sorted(others))}: no ambiguity that concerns a claim's hypotheses alone")
        if len({*self.letters.values()}) < len(self.letters) or {*self.letters} - {*self.ring.names}:
            raise Inexpressible(f"letters {dict(self.letters)}: allowed is one quantity a letter of the ring")
        if self.letters.get(STEPS, "local_steps") != "local_steps" or STEP in self.letters:
            raise Inexpressible(f"letters {dict(self.letters)}: {STEPS} is local_steps, and {STEP} any step")
        of = {symbol.name for choice in self.claim.choices.values() for symbol in choice.free_symbols} - {ROUNDS}
        if of & self.claim.choices.keys():
            raise Inexpressible(f"{self.claim.ref} chooses {', '.join(self.claim.choices)}, one by another")

    def letter(self, quantity: str, known: Mapping[str, Scalar] | None = None) -> Scalar:
        """Return the letter of a quantity, or what the claim has in its place: see ``in_place``."""
        known = self.in_place if known is None else known
        if quantity in known:
            return known[quantity]
        for letter, name in self.letters.items():
            if name == quantity:
                return self.ring[letter]
        raise Inexpressible(f"{quantity} has no letter among {', '.join(self.letters)}")

    @cached_property
    def in_place(self) -> Mapping[str, Scalar]:
        """Scalars in the place of quantities: what the claim chooses for them; of two that a hypothesis (a - b)^2
        <= 0 makes equal, the one for the other; b plus a letter for a, where the letter is a - b; and the rounds at
        which a step has the size x, chosen by a root of them: x = choice gives x^2 = choice^2, which is A/rounds or A
        rounds, so that they are A/x^2 or x^2/A; so the groups."""
        found: dict[str, Scalar] = {}
        for letter, (large, small) in self.differences_of.items():
            found[large] = self.letter(small, found) + self.ring[letter]
        for slack in (hypothesis.slack for hypothesis in self.settled):
            names = sorted(slack.free_symbols, key=str)
            if len(names) == 2 and sympy.expand(slack + (names[0] - names[1]) ** 2) == 0:
                found[names[0].name] = self.letter(names[1].name, found)
        if any(text == weight_goals.WITHIN for text in self.letters.values()):
            (rest,) = (self.ring[n] for n, text in self.letters.items() if text == weight_goals.WITHIN)
            found[HISTORY] = self.letter(ENDED, found) * self.letter(CUTOFF, found) + rest
        choices = {n: c for n, c in self.claim.choices.items() if not c.has(sympy.Min)}  # a bound says how it is chosen
        if weight_goals.is_logarithmic(choices.get(CUTOFF)):
            del choices[CUTOFF]
        rooted = {name: choice for name, choice in choices.items() if _has_root(choice)}
        for name, choice in rooted.items():
            square = sympy.cancel(choice**2)
            of = next((q for q in BY_ROOTS if any(symbol.name == q for symbol in square.free_symbols)), ROUNDS)
            if of in found:
                raise Inexpressible(f"{self.claim.ref} chooses {', '.join(rooted)} by roots of the same quantity")
            found[of] = self._solved(square, of, self.letter(name, found) ** 2, found)
        for name in choices.keys() - rooted.keys():
            found[name] = self.scalar(self.claim.choices[name], known=dict(found))
        return found

    @property
    def differences_of(self) -> dict[str, tuple[str, str]]:
        """Letters that are by how much one quantity exceeds another, with the two."""
        return {n: (q.split(" - ")[0], q.split(" - ")[1]) for n, q in self.letters.items() if q.count(" - ") == 1}

    def _solved(self, square: sympy.Expr, of: str, x: Scalar, known: Mapping[str, Scalar]) -> Scalar:
        """Return the quantity at which x is this expression of it: of the rounds, most often."""
        rounds = weight_goals.named(square, of)
        for power in (1, -1):
            rest = sympy.cancel(square * rounds**power)
            if not rest.has(rounds):
                factor = self.scalar(rest, known=known)
                return factor / x if power > 0 else x / factor
        raise Inexpressible(f"{self.claim.ref}: allowed is a choice whose square is a multiple of {of} or 1/{of}")

    @property
    def bounded_below(self) -> tuple[Scalar, ...]:
        """Expressions that are >= 0 as the vocabulary says how large at least a quantity is that others stand for."""
        return tuple(
            value - int(QUANTITIES[name].lower) for name, value in self.in_place.items() if QUANTITIES[name].integer
        )

    @property
    def settled(self) -> list[Hypothesis]:
        """The claim's hypotheses, but those that have several readings: what holds without one holds with it."""
        fixed = self.claim.under(dict(self.more)).hypotheses
        read = [{*a.options} for a in self.claim.ambiguities if a.name in dict(self.more)]
        return [h for h in fixed if not h.alternatives or any({*h.alternatives} < options for options in read)]

    def slacks(self) -> tuple[Scalar, ...]:
        """Return expressions that are all >= 0 where the claim's hypotheses hold. One that cannot be said in these
        letters is left out, too. What stands before a letter, and is above 0, is divided by: eta L <= 1 is a cap of
        eta."""
        found = []
        for relation in (hypothesis.relation for hypothesis in self.settled):
            small, large = sides(relation)
            tops = large.args if isinstance(large, sympy.Min) else (large,)
            bottoms = small.args if isinstance(small, sympy.Max) else (small,)
            with suppress(Inexpressible):
                found += [self.scalar(_above(top)) - self.scalar(bottom) for top in tops for bottom in bottoms]
        return (*found, *(cap for slack in found for cap in self._caps(slack)))

    def _caps(self, slack: Scalar) -> Iterator[Scalar]:
        """Yield a slack a - b x divided by b, for each letter x for which that is above 0, and not 1."""
        for name in sorted(slack.names - slack.bottom.names):
            parts = slack.coefficients(name)
            if parts.keys() <= {0, 1} and parts[1] != -1 and self.surely_positive(-parts[1]):
                yield slack / -parts[1]

    def surely_positive(self, scalar: Scalar) -> bool:
        """Whether a scalar is > 0 as its coefficients are, in letters of quantities that are."""
        of = [QUANTITIES.get(self.letters.get(name, "")) for name in scalar.names]
        signs = [{c > 0 for c in part.coeffs()} for part in (scalar.numerator, scalar.denominator)]
        return (
            signs[0] == signs[1]
            and len(signs[0]) == 1
            and all(q is not None and (q.positive or q.lower > 0) for q in of)
        )

    def parameter(self, name: str, kind: str = "") -> Scalar | None:
        """Return what a parameter of an algorithm or of a run has to be, or ``None`` if nothing says that."""
        quantity = PARAMETERS.get(name) or (SIZES.get(kind) if name == "size" else None)
        if name in PRODUCTS:
            one, other = map(self.letter, PRODUCTS[name])
            return one * other
        return None if quantity is None else self.letter(quantity)

    def right_side(self, definitions: tuple[Definition, ...] = (), where: Where | None = None) -> Scalar:
        """Return the claim's right side, with defined letters in the places of what they stand for, and roots drawn on
        a region."""
        terms = (self.scalar(term.expression, definitions, where) for term in self.claim.terms)
        return sum(terms, self.ring.number(0))

    def scalar(
        self,
        expression: sympy.Expr,
        definitions: tuple[Definition, ...] = (),
        where: Where | None = None,
        known: Mapping[str, Scalar] | None = None,
    ) -> Scalar:
        """Return an expression in quantities as a scalar in letters. A root is drawn of a square y^2 where y >= 0 is
        certified on the region.

        Raises:
            Inexpressible: a part of it is no letter, number, sum, product, whole power or defined letter.
        """
        if expression.is_Symbol:
            return self.letter(expression.name, known)
        if expression.is_Rational:
            return self.ring.number(int(expression.p)) / int(expression.q)
        if expression.is_Add:
            parts = (self.scalar(part, definitions, where, known) for part in expression.args)
            return sum(parts, self.ring.number(0))
        if expression.is_Mul or (expression.is_Pow and expression.exp.is_Rational):
            total, radicand = self._surd(expression, definitions, where, known)
            return total if radicand == 1 else total * self._root(radicand, definitions, where)

        def read(part: sympy.Expr) -> Scalar:
            return self.scalar(part, known=known)

        if isinstance(expression, sympy.log) and isinstance(expression.args[0], sympy.Max):
            (of,) = (read(part) for part in expression.args[0].args if part != 1)
            if found := [d.name for d in definitions if d.sort == "gain" and d.of == of]:
                return self.ring[found[0]]
        if (number := weight_goals.number(expression, definitions, read, self.ring)) is not None:
            return number
        if isinstance(expression, sympy.log) and str(expression) in self.letters.values():
            return self.letter(str(expression), known)
        if isinstance(expression, sympy.exp):
            sort, of = "exponential", -self.scalar(expression.args[0], known=known)
        elif expression.is_Pow and (sort := EXPONENTS.get(bare(expression.exp), "")):
            of = self.scalar(expression.base, known=known)
        else:
            raise Inexpressible(f"{expression}: allowed are sums, products, whole powers, exp and powers of the rounds")
        found = [d.name for d in definitions if d.sort == sort and d.of == of]
        if not found:
            raise Inexpressible(f"{expression}: none of the letters {', '.join(map(str, definitions)) or '(none)'}")
        return self.ring[found[0]]

    def _surd(
        self,
        expression: sympy.Expr,
        definitions: tuple[Definition, ...] = (),
        where: Where | None = None,
        known: Mapping[str, Scalar] | None = None,
    ) -> tuple[Scalar, Scalar]:
        """Return (a, r) of a product of powers and roots that is a sqrt(r)."""
        total = radicand = self.ring.number(1)
        for factor in sympy.Mul.make_args(expression):
            base, exponent = factor.as_base_exp() if factor.is_Pow and factor.exp.is_Rational else (factor, sympy.S.One)
            value, twice = self.scalar(base, definitions, where, known), exponent * 2
            if twice.is_Integer and twice % 2:
                radicand = radicand * (value ** int(twice) if twice > 0 else 1 / value ** int(-twice))
            elif exponent.is_Integer:
                total = total * (value ** int(exponent) if exponent > 0 else 1 / value ** int(-exponent))
            else:
                raise Inexpressible(f"{factor}: allowed are whole powers and square roots")
        return total, radicand

    def _root(self, radicand: Scalar, definitions: tuple[Definition, ...], where: Where | None) -> Scalar:
        """Return the root of y^2, or of y^2 X where a letter is the root of X, for a y >= 0."""
        roots = [(self.ring.number(1), self.ring.number(1))]
        roots += [(self.ring[d.name], d.of) for d in definitions if d.sort == "root"]
        for letter, of in roots if where is not None else ():
            rest = radicand / of
            for sign in (1, -1):
                try:
                    y = Scalar(self.ring, rest.numerator.sqrt(), rest.denominator.sqrt()) * sign
                except (ValueError, DomainError):  # no square
                    break
                if where is not None and y * y == rest and where.certifies(y):
                    return y * letter
        raise Inexpressible(f"sqrt({radicand}): allowed is the root of a square y^2, y >= 0 certified on the region")

    def read(self, bound: RunBound) -> dict[str, str]:
        """Return the option of every ambiguity under which a bound holds."""
        if bound.functional in answer_goals.OF_ANSWERS:
            return answer_goals.readings_of(bound, self.scalar) | dict(self.more)
        names, found = {name for name, _ in bound.assumptions}, dict(self.more)
        for name, (ambiguity, option) in READINGS.items():
            if name in names and (name != "cohort_is_a_set" or "uniform_cohorts" in names):
                found[ambiguity] = option
        if EVERYONE in names and any(a.name == readings.WHO for a in self.claim.ambiguities):
            found[readings.WHO] = readings.EVERYONE
        if DRAWN in names:
            found[readings.WHO] = self.drawn(bound)
        if SCALE_KNOWN in names:
            asked = next((a.name for a in self.claim.ambiguities if a.name in KNOWN_SCALE), readings.WEIGHTS)
            found[asked] = KNOWN_SCALE[asked]
        if "in_expectation" in names and any(a.name == readings.CONDITION for a in self.claim.ambiguities):
            found[readings.CONDITION] = readings.IN_EXPECTATION
        return found | ({readings.AVERAGE: readings.FROM_ROUND_0} if bound.functional == MEAN_GRADIENT else {})

    def drawn(self, bound: RunBound) -> str:
        """Return how the clients are drawn whose share is that of a bound; "" if it is none of ``DRAWS``."""
        own, share = {*self.letters.values()}, dict(bound.parameters).get("share")
        laws = {w: law for w, law in DRAWS.items() if {symbol.name for symbol in law.free_symbols} <= own}
        return next((who for who, law in laws.items() if self.scalar(law) == share), "")

    def whichever(self, bound: RunBound) -> set[str]:
        """Return the ambiguities of the claim whose options make no difference to a bound, which is read with none."""
        shared = {readings.KINDS_OF_ROUNDS} if any(name == SHARES for name, _ in bound.assumptions) else set()
        left = set() if self.claim.functional.alternatives else {readings.ROOT} - dict(self.more).keys()
        return (answer_goals.whichever(self.claim) | shared | left) - self.read(bound).keys()

    def differences(self, bound: RunBound) -> Iterator[str]:
        """List in words what a bound says otherwise than the claim; none if it is the claim's theorem.

        Raises:
            Inexpressible: a part of the claim that cannot be said in the bound's letters.
        """
        untouched(bound)
        functional, value = self.claim.functional, self.claim.functional.under(self.read(bound)).expression
        known = functional.compute is None and functional in functionals.named(functional.name)
        if functional.scope == "values" and bound.functional == VALUE and functional.compute is None:
            if value is None or dict(bound.parameters)[VALUE] != self.scalar(bare(value)):
                yield f"it bounds {dict(bound.parameters)[VALUE]}, and the claim {value}"
        elif bound.functional != functional.name or not known:
            yield f"it bounds {bound.functional}, and the claim {functional.name}"
        if defined := {d.name for d in bound.definitions} & self.letters.keys():
            yield f"{', '.join(sorted(defined))}: defined, so that no quantity is what it stands for"
        right = self.right_side(bound.definitions, bound.known)
        if bound.where.ring is not self.ring or bound.bound != right:
            yield f"its right side is {bound.bound}, and the claim's {right}"
        yield from self._region(bound)
        yield from self._assumptions(bound)
        yield from self._parameters(bound)
        if bound.functional not in (*answer_goals.OF_ANSWERS, *weight_goals.OF_INTERVALS, *OF_POINTS):
            yield from self._of_rounds(bound)
        read, options = self.read(bound), {a.name: a.options for a in self.claim.ambiguities}
        for name in sorted({*read, *options} - self.whichever(bound)):
            if read.get(name) not in options.get(name, ()):
                yield f"{name}: it is read as {read.get(name)}, and the claim as {' or '.join(options.get(name, ()))}"

    def _of_rounds(self, bound: RunBound) -> Iterator[str]:
        theorems = theorems_of(bound)
        if not theorems or self.rounds is None:
            yield "nothing says what its rounds are"
            return
        for theorem in theorems:
            yield from strange(theorem, self.rounds)
        several = self.rounds.by_rule or "step_index" in self.letters.values()
        if several and "step_index" not in dict(bound.parameters):
            yield "its steps are of one size, and the claim's of several"
        names = {name for name, _ in bound.assumptions}
        if DRAWN in names and self.drawn(bound) not in self.rounds.ends:
            yield f"its clients are drawn {self.drawn(bound) or 'by no known law'}, and here otherwise"
        if not self.rounds.by_intervals and {name for name, _ in bound.parameters} & weight_goals.PARAMETERS_OF_LAW:
            yield "its weights are means of the lengths of intervals, and these are others"
        yield from self._kind(bound)

    def _region(self, bound: RunBound) -> Iterator[str]:
        slacks = self.slacks()
        for condition in bound.where.conditions:
            if condition.name in self.differences_of:
                if self.ring[condition.name] not in slacks or condition.kind not in ("nonnegative", "positive"):
                    yield f"{condition}: no hypothesis of the claim"
                elif condition.kind == "positive" and self._tends(bound.bound, condition.name, 0) != 1:
                    yield f"{condition}: allowed is >= 0, as the claim is not infinite where it is 0"
            elif self.letters.get(condition.name, "").startswith("log(1/"):
                if condition.kind != "nonnegative" or not self._level_is_at_most_1(condition.name, bound.where):
                    yield f"{condition}: allowed is >= 0, of a level in (0, 1]"
            elif condition.name in self.letters:
                known = weight_goals.is_within(condition, bound, dict(self.letters), slacks)
                if known or self._is_of_draw(condition, bound):
                    continue
                if not (self._in_vocabulary(condition, bound) or self._in_hypotheses(condition, slacks, bound)):
                    late = self.letters[condition.name] == weight_goals.WITHIN
                    what = "history >= cutoff" if late else f"{condition}"
                    yield f"{what}: neither of the vocabulary nor a hypothesis of the claim"
            elif not self._is_share(condition, bound):
                yield f"{condition}: of a letter that stands for no quantity"
        for expression in bound.given:
            if expression not in (*slacks, *self.bounded_below):
                yield f"{expression} >= 0: no hypothesis of the claim"

    def _in_vocabulary(self, condition: Condition, bound: RunBound) -> bool:
        known = QUANTITIES.get(self.letters[condition.name])
        if known is None:
            return False
        both = {"smoothness", "strong_convexity"} <= {a.quantity for a in self.claim.assumptions}
        if known.name == "smoothness" and condition.kind == "at_least" and both:
            return condition.bound == self.letter("strong_convexity")
        return {
            "positive": condition.kind == "positive" and self._above_zero(condition.name, bound),
            "nonnegative": known.lower >= 0,
            "count": known.integer and known.lower >= 1,
            "interval": condition.bound == 1 and known.lower >= 0 and known.upper <= 1,
            "capped": condition.bound == 1 and known.upper <= 1 and self._above_zero(condition.name, bound),
            "real": True,
        }.get(condition.kind, False)

    def _level_is_at_most_1(self, letter: str, where: Where) -> bool:
        """Whether the quantity x of a letter for log(1/x) is in (0, 1], by its own condition."""
        level = self.letters[letter][len("log(1/") : -1]
        own = [c for c in where.conditions if self.letters.get(c.name) == level and c.kind == "capped"]
        return bool(own) and where.certifies(1 - self.ring[own[0].name])

    def _above_zero(self, letter: str, bound: RunBound) -> bool:
        """Whether a letter is > 0 as the vocabulary says so, or may be taken to be, as the claim divides by it. What is
        divided by 0 is its limit. So it is where a hypothesis tends to -infinity, or is undefined, at 0. Else all
        hypotheses with the letter have to divide by it. One that holds at 0 tends to infinity then, and holds near 0
        too. So the bound at 0 is the limit of those above it, if neither the run nor what is chosen changes with the
        letter, or the left side is continuous in it."""
        known = QUANTITIES[self.letters[letter]]
        if known.positive or known.lower > 0 or known.lower < 0:
            return known.lower >= 0
        signs = [self._tends(slack, letter, 0) for slack in self.slacks() if letter in slack.names]
        right = self._tends(bound.bound, letter, 0) if self.letters[letter] == CHANCE else None
        continuous = bound.functional in (VALUE, *weight_goals.OF_INTERVALS)
        fixed = [*self.in_place.values(), *(() if continuous else (value for _, value in bound.parameters))]
        moved = {*signs, right} == {None} or None in signs or any(letter in each.names for each in fixed)
        return -1 in signs or not moved

    def _tends(self, scalar: Scalar, letter: str, value: Scalar | int) -> int | None:
        """Return the sign of the infinity to which a quotient tends as a letter falls to a value, or 0 if that is not
        seen at the signs of its coefficients; ``None`` if it does not divide by 0 there."""
        x, zero = self.ring[letter], {letter: self.ring.number(0)}
        moved = scalar.replace({letter: value + x})
        if not moved.bottom.replace(zero).is_zero:
            return None
        left = (moved * x ** min(moved.bottom.coefficients(letter))).replace(zero)
        signs = [{c > 0 for c in part.coeffs()} for part in (left.numerator, left.denominator)]
        of = (QUANTITIES.get(self.letters.get(name, "")) for name in left.names)
        if any(known is not None and known.lower < 0 for known in of) or {len(each) for each in signs} != {1}:
            return 0
        return 1 if signs[0] == signs[1] else -1

    def _in_hypotheses(self, condition: Condition, slacks: tuple[Scalar, ...], bound: RunBound) -> bool:
        known, x = QUANTITIES.get(self.letters[condition.name]), self.ring[condition.name]
        if condition.bound is None or known is None:
            return False
        above = condition.kind == "capped" and self._above_zero(condition.name, bound)
        above |= condition.kind == "interval" and known.lower >= 0
        above |= condition.kind == "above" and self._tends(bound.bound, condition.name, condition.bound) == 1
        slack = x - condition.bound if condition.kind in ("at_least", "above") else condition.bound - x
        return (above or condition.kind == "at_least") and slack in slacks

    def _is_share(self, condition: Condition, bound: RunBound) -> bool:
        """Whether a letter is the share of a uniform draw, which may be any in [0, 1/size] and is nowhere else."""
        parameters, letter = dict(bound.parameters), self.ring[condition.name]
        if parameters.get("share") != letter or condition.kind != "interval" or condition.bound is None:
            return False
        size = parameters.get("cohort", parameters.get("size"))
        elsewhere = [bound.bound, *bound.given, *(d.of for d in bound.definitions), *said_besides(bound, "share")]
        alone = not any(condition.name in e.names for e in elsewhere)
        return size is not None and condition.bound == 1 / size and alone

    def _is_of_draw(self, condition: Condition, bound: RunBound) -> bool:
        """Whether a condition says no more than that a set of S of N clients has S <= N, or that N is not 1, where the
        claim divides by 0: with S = 1, too, it does not tend to -infinity."""
        if (DRAWN, None) not in bound.assumptions or self.drawn(bound) != readings.UNIFORMLY:
            return False
        clients, drawn = self.letter("clients"), self.letter("arbitrary_cohort")
        capped = self.ring[condition.name] == drawn and condition.kind == "capped" and condition.bound == clients
        if capped or self.ring[condition.name] != clients or condition.kind != "at_least" or condition.bound != 2:
            return capped
        (name,), alone = drawn.names, self.ring.number(1)
        one = self._tends(bound.bound.replace({name: alone}), condition.name, 1)
        return self._tends(bound.bound, condition.name, 1) is not None and one in (None, 1)

    def lacks(self, bound: RunBound) -> list[str]:
        """Return the names of assumptions of a bound that the claim neither makes nor says otherwise. The tactics
        change none of them, so that a claim that lacks one of the bound that they begin with is not reached."""
        made, otherwise = self.claim.assumed, {*ALTERNATING, EVERYONE, *self._read_as}
        names = (name for name, _ in asked_of(bound) if name not in otherwise)
        return [name for name in names if AT_ONE_PLACE.get(name, name) not in made]

    @property
    def _read_as(self) -> set[str]:
        """Names of assumptions that are readings of the claim, or hold by what its rounds are."""
        return {*READINGS, SCALE_KNOWN, "in_expectation"} | ({"equal_weights"} if self._is_plain_mean else set())

    def _assumptions(self, bound: RunBound) -> Iterator[str]:
        read_as, lacks = self._read_as, self.lacks(bound)
        for name, constant in asked_of(bound):
            kind = ASSUMPTIONS.get(AT_ONE_PLACE.get(name, name))
            if name in ALTERNATING:
                if constant != self.letter(ALTERNATING[name]):
                    yield f"{name}({constant}): allowed is {ALTERNATING[name]}"
            elif name == EVERYONE:
                if self.letter("arbitrary_cohort") - self.letter("clients") not in self.slacks():
                    yield "everyone takes part, which is no hypothesis of the claim"
            elif name in read_as:
                continue
            elif kind is None or name in lacks:
                yield f"it assumes {name}, and the claim does not"
            elif kind.quantity:
                own = self.letter(kind.quantity) ** kind.power
                weaker = name == "strongly_convex" and constant == 0  # a strongly convex function is convex
                if constant != own and not weaker:
                    yield f"{name}({constant}): allowed is {own}"
                if not any(
                    a.quantity == kind.quantity and a.from_below == kind.from_below for a in self.claim.assumptions
                ):
                    yield f"it assumes {name}, and the claim has no bound {kind.quantity} of that kind"

    @property
    def _is_plain_mean(self) -> bool:
        """Whether F is the plain mean of the clients' functions."""
        if self.rounds is None or not self.rounds.plain_mean:
            return False
        return WEIGHTED not in self.rounds.kinds or not leaves_objective_open(self.claim)

    def _parameters(self, bound: RunBound) -> Iterator[str]:
        if bound.functional in answer_goals.OF_ANSWERS:
            yield from answer_goals.other_parameters(bound, self.scalar)
            return
        for name, value in bound.parameters:
            if name == "share" and (DRAWN, None) in bound.assumptions:
                if not self.drawn(bound):
                    yield f"share = {value}: allowed is that of a draw, {' or '.join(map(str, DRAWS.values()))}"
            elif name == "share":
                if not any(self._is_share(condition, bound) for condition in bound.where.conditions):
                    yield f"share = {value}: allowed is any in [0, 1/size]"
            elif name == CHOSEN_CUTOFF:
                if value != 1 or not weight_goals.is_logarithmic(self.claim.choices.get(CUTOFF)):
                    yield f"the cutoff is {weight_goals.LOGARITHMIC}, which the claim does not choose"
            elif any(f" {word} " in name for word in (ABOVE, BELOW, LEAST)):
                continue
            elif value != (own := self.parameter(name, bound.kind)):
                yield f"{name} = {value}: allowed is {'no such parameter' if own is None else own}"
        for word, is_chosen in ((ABOVE, self._is_chosen), (LEAST, self._is_least)):
            for name in {name.split(f" {word} ")[0] for name, _ in bound.parameters if f" {word} " in name}:
                if not is_chosen(name, bound):
                    yield f"{name}: chosen otherwise than by the claim"

    def _is_least(self, name: str, bound: RunBound) -> bool:
        """Whether the claim chooses a parameter as the least of the same scalars as a bound does."""
        entries = [value for n, value in bound.parameters if n.startswith(f"{name} {LEAST} ")]
        choice = self.claim.choices.get(PARAMETERS.get(name, ""), sympy.S.Zero)
        own = [self.scalar(bare(entry), bound.definitions) for entry in sympy.Min.make_args(choice)]
        return all(entry in own for entry in entries) and all(entry in entries for entry in own)

    def _is_chosen(self, name: str, bound: RunBound) -> bool:
        """Whether the claim chooses what a parameter is as a bound does: as the least of y_i >= 0, y_i^2 S_i = A_i."""
        given, choices = dict(bound.parameters), self.claim.choices
        entries = [(given[of_choice(name, i)[0]], given[of_choice(name, i)[1]]) for i in range(len(given))
                   if of_choice(name, i)[0] in given]  # fmt: skip
        parts = PRODUCTS.get(name) or (PARAMETERS.get(name, ""),)
        if not {*parts} <= choices.keys():
            return False
        for entry in sympy.Min.make_args(sympy.Mul(*(choices[part] for part in parts))):
            factor, radicand = self._surd(bare(entry))
            fits = [one for one in entries if factor**2 * radicand * one[1] == one[0] and not one[1].is_zero]
            if not fits or not bound.known.certifies(factor):
                return False
            entries.remove(fits[0])
        return not entries

    def _kind(self, bound: RunBound) -> Iterator[str]:
        if self.rounds is None or len(self.rounds.kinds) == 1:
            return
        if not bound.kind:
            alternating = {name for name, _ in bound.assumptions} & ALTERNATING.keys()
            if not alternating and any(map(is_of_an_end, theorems_of(bound))):
                yield "it says nothing of how its kinds of round alternate"
            return
        at = ALL_OF_KIND.get((bound.kind, self.rounds.chance))
        if at is None or (at - self.letter(self.rounds.chance)) * (-1 if at else 1) not in self.slacks():
            yield f"all its rounds are {bound.kind}, which is no hypothesis of the claim"


def sides(relation: Any) -> tuple[sympy.Expr, sympy.Expr]:
    """Return the smaller and the larger side of an inequality."""
    return (relation.lhs, relation.rhs) if relation.rel_op == "<=" else (relation.rhs, relation.lhs)


def _has_root(expression: sympy.Expr) -> bool:
    """Whether a square root is in an expression."""
    return any(power.exp.is_Rational and power.exp.q == 2 for power in expression.atoms(sympy.Pow))


def _above(cap: sympy.Expr) -> sympy.Expr:
    """Return a cap with the next 64th above in the place of the square root of a whole number, where it is a product
    whose other factors are >= 0: what is at most the cap is at most that."""
    factors = sympy.Mul.make_args(cap)
    roots = [f for f in factors if f.is_Pow and f.base.is_Integer and f.exp == sympy.Rational(1, 2)]
    others = [f.as_base_exp()[0] for f in factors if f not in roots]
    known = all(b.is_positive if b.is_Rational else b.is_Symbol and QUANTITIES[b.name].lower >= 0 for b in others)
    if not roots or not known:
        return cap
    return cap.xreplace({f: sympy.Rational(isqrt(4096 * int(f.base)) + 1, 64) for f in roots})


def asked_of(bound: RunBound) -> list[Assumption]:
    """Return the assumptions of a bound, but one that is made by another: a cohort that is drawn uniformly is
    independent of the round's noise, so that noise is after it where all rounds have such cohorts."""
    implied = "cohort_before_noise" if bound.kind == UNIFORM and ("uniform_cohorts", None) in bound.assumptions else ""
    return sorted((a for a in bound.assumptions if a[0] != implied), key=str)


def theorem_of(bound: RunBound) -> Theorem | None:
    """Return the theorem on one round that a bound on runs is made from; ``None`` if there is none."""
    premise: Theorem | RunBound | None = bound
    while isinstance(premise, RunBound):
        premise = premise.premise
    return premise


def theorems_of(bound: RunBound) -> tuple[Theorem, ...]:
    """Return all theorems on a round that a bound on runs is made from, each once; not those on intervals, of which a
    bound on weights' error is made, and whose parameters are the run's."""
    found: dict[int, Theorem] = {}
    for part in bound.made_of:
        if isinstance(part, RunBound) and part.functional in weight_goals.OF_INTERVALS:
            continue
        of = theorems_of(part) if isinstance(part, RunBound) else (part,)
        found |= {id(theorem): theorem for theorem in of if isinstance(theorem, Theorem)}
    return tuple(found.values())


def claim_data(claim: Claim, read: Mapping[str, str], algorithm: str) -> dict[str, Any]:
    """Return all that a claim says, as it stands in a saved proof: expressions in quantities as text, the left side too
    if it is one, and the options under which it is read."""
    assumed = [f"{a.kind}({a.quantity})" if a.quantity else a.kind for a in claim.assumptions]
    fixed = claim.under({name: option for name, option in read.items() if name in {a.name for a in claim.ambiguities}})
    functional = claim.functional.under(read)
    return {
        "id": claim.id,
        "edition": claim.edition,
        "source": claim.source,
        "algorithm": algorithm,
        "functional": functional.name if functional.scope != "values" else str(functional.expression),
        "terms": {term.name: str(term.expression) for term in claim.terms},
        "choices": {name: str(choice) for name, choice in claim.choices.items()},
        "hypotheses": {hypothesis.name: str(hypothesis.relation) for hypothesis in fixed.hypotheses},
        "assumptions": assumed,
        "readings": dict(read),
    }
