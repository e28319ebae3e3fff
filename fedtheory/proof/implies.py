"""Last link of a chain: the derived bound implies the claim, on the claim's own data.

Every need of the derivation has to follow from the claim's hypotheses. For every product of data (sigma^2, |x_0 -
x*|^2, ...) the claim's coefficient has to be at least the derived one on the claim's domain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import sympy

from ..assumptions import ASSUMPTIONS
from ..claims.schedules import by_rule
from ..claims.statement import Ambiguity, Claim, Hypothesis, slack_of
from ..quantities import QUANTITIES
from .atoms import DURATIONS, Atoms, Unsupported, has_atoms, rooted, solve_choice
from .derivations import Derivation, expression_of
from .domain import Domain, Follows, bare, rational
from .identity import is_identity
from .positivity import Certificate
from .steps import Check, Evidence, Finding, Identity, Step

_SYMBOLS = tuple(sympy.Symbol(name) for name, known in QUANTITIES.items() if known.data)
"""Quantities that measure a federation or a run. The coefficients of their products are compared one by one."""

_ETA, _LOG = map(sympy.Symbol, ("local_lr", "log_factor"))


CLAIM = "claim."
"""Prefix of the names of steps that tie a derivation to a claim."""

ASSUMES = f"{CLAIM}assumes."
"""Prefix of the names of steps that say whether the claim makes an assumption of the derivation."""


def tie(claim: Claim, derivation: Derivation, assumed: Iterable[str] = ()) -> tuple[Step, ...]:
    """Return the steps that lead from the bound of ``derivation`` to the statement of ``claim``. The derivation's
    steps take the assumptions of the kinds ``assumed``."""
    return tuple(tying(claim, derivation, assumed))


def tying(claim: Claim, derivation: Derivation, assumed: Iterable[str] = ()) -> Iterator[Step]:
    """Yield the steps of ``tie`` one after another, so that later ones need not be made if an earlier one fails."""
    for step in words(claim, derivation, assumed):
        yield replace(step, paper=claim.paper)
    try:
        for step in _from_data(claim, derivation):
            yield replace(step, paper=claim.paper)
    except Unsupported as reason:
        says = f"the comparison with what is derived cannot be made, {reason}"
        yield Step("claim.form", claim.source, says, "unclear", expected="unknown", paper=claim.paper)


def domains_of(claim: Claim, derivation: Derivation) -> Iterator[tuple[str, Domain]]:
    """Yield a suffix for names and the claim's hypotheses, for each combination of the options that the derivation
    covers. A hypothesis says nothing if it has several readings of which the derivation does not speak."""
    options = {}
    for ambiguity in claim.ambiguities:
        covered = [o for o in derivation.options(ambiguity.name) if o in ambiguity.options]
        if covered and any(_decides(ambiguity, h) for h in claim.hypotheses):
            options[ambiguity] = covered
    for chosen in itertools.product(*options.values()):
        reading = dict(zip(options, chosen, strict=True))
        slacks = [(h.name, bare(_read(h, reading))) for h in claim.hypotheses if _read(h, reading) is not None]
        several = [o for a, o in reading.items() if len(options[a]) > 1]
        yield "".join(f".{o}" for o in several).replace(" ", "_"), Domain(tuple(slacks))


def _decides(ambiguity: Ambiguity, hypothesis: Hypothesis) -> bool:
    """Whether the ambiguity says which of the hypothesis' readings is meant."""
    return bool(hypothesis.alternatives) and set(hypothesis.alternatives) < set(ambiguity.options)


def _read(hypothesis: Hypothesis, reading: dict[Ambiguity, str]) -> sympy.Expr | None:
    if not hypothesis.alternatives:
        return hypothesis.slack
    for ambiguity, option in reading.items():
        if _decides(ambiguity, hypothesis):
            return slack_of(hypothesis.alternatives.get(option, hypothesis.relation))
    return None


def words(claim: Claim, derivation: Derivation, assumed: Iterable[str]) -> Iterator[Step]:
    """Yield the steps about assumptions and readings."""
    made = {a.quantity for a in claim.assumptions if a.from_below == (a.quantity == "strong_convexity")}
    for quantity in derivation.assumptions:
        kind = "definition" if quantity in made else "unclear"
        says = f"assumes a bound on {quantity}" if quantity in made else f"does not assume a bound on {quantity}"
        yield _word(f"{ASSUMES}{quantity}", claim, says, kind)
    for name in (name for name in assumed if not ASSUMPTIONS[name].quantity):
        made_too, meaning = name in claim.assumed, ASSUMPTIONS[name].meaning
        says = f"{'assumes' if made_too else 'does not assume'} {name}: {meaning}"
        yield _word(f"{ASSUMES}{name}", claim, says, "definition" if made_too else "unclear")
    options = {a.name: a.options for a in claim.ambiguities}
    for name in derivation.readings:
        covered = derivation.options(name)
        known = bool({*covered} & {*options.get(name, ())})
        option = " or ".join(o for o in covered if o in options[name] or not known) if name in options else covered[0]
        says = f"read with {name} = {option}" if known else f"cannot be read with {name} = {option}"
        yield _word(f"claim.reading.{name}", claim, says, "definition" if known else "unclear")
    for name in sorted(options.keys() - derivation.readings.keys()):
        says = f"can be read with {name} = {' or '.join(options[name])}, of which the derivation says nothing"
        yield _word(f"claim.reading.{name}", claim, says, "unclear")


def _word(name: str, claim: Claim, says: str, kind: str) -> Step:
    return Step(
        name.replace(" ", "_"),
        claim.source,
        f"the claim {says}",
        kind,
        expected="given" if kind == "definition" else "unknown",
    )


def _from_data(claim: Claim, derivation: Derivation) -> Iterator[Step]:
    for suffix, domain in domains_of(claim, derivation):
        yield from _under_hypotheses(claim, derivation, domain, suffix)


def _under_hypotheses(claim: Claim, derivation: Derivation, domain: Domain, suffix: str) -> Iterator[Step]:
    bound = derivation.right_side
    if bound is None:
        if expression_of(claim.functional) is None:
            raise Unsupported(f"{claim.functional.name} is no expression of values")
        right = bare(claim.right_side)
        for option, left in _left_sides(claim, derivation):
            says = f"{claim.functional.meaning} is at most {right}"
            yield _step(f"claim.value{option}{suffix}", claim, says, right - bare(left), domain)
        return
    choices = {name: bare(choice) for name, choice in claim.choices.items()}
    if changing := sorted(name for name, choice in choices.items() if by_rule(choice)):
        raise Unsupported(f"the claim's {changing[0]} changes, and the derivation has one size of it")
    if any(choice.has(sympy.log) for choice in choices.values()):
        if set(choices) != {"local_lr"}:
            raise Unsupported(f"the claim chooses {' and '.join(choices)}, with a logarithm")
        yield from _minimum_of_steps(claim, derivation, bound, domain, choices["local_lr"])
        return
    put_in, rounds, conditions = _chosen(choices)
    domain = Domain(tuple((name, slack.xreplace(put_in)) for name, slack in domain.slacks), rounds)
    for i, condition in enumerate(conditions, 1):
        says = f"{condition} >= 0, for the step size chosen"
        yield _step(f"claim.choice.{i}{suffix}", claim, says, condition, domain)
    yield from _needs(claim, derivation, domain, put_in, suffix)
    right, derived = bare(claim.right_side).xreplace(put_in), bound.xreplace(put_in)
    if powers := _real_powers(right) + _real_powers(derived):
        if right != derived:
            raise Unsupported(f"powers with exponents that are not whole, in unlike sums: {powers[0]}")
        says = "the claim's right side is the derived one"
        yield Step(f"claim.same{suffix}", claim.source, says, "identity", (Identity(sympy.S.Zero),))
        return
    if has_atoms(right) or has_atoms(derived):
        atoms = Atoms(domain)
        right, derived = atoms.put(right), atoms.put(derived)
        says = "logarithms, roots and powers are of the signs with which they are compared"
        if atoms.checks:
            yield Step(f"claim.signs{suffix}", claim.source, says, "polynomial", tuple(atoms.checks))
    yield from compare(claim, right, derived, domain, suffix)


def _left_sides(claim: Claim, derivation: Derivation) -> Iterator[tuple[str, sympy.Expr]]:
    """A suffix and the left side for each combination of the options that the derivation covers."""
    left = claim.functional
    deciding = [a for a in claim.ambiguities if {*left.alternatives} & {*a.options}]
    covered = [[o for o in a.options if o in derivation.options(a.name)] for a in deciding]
    for options in itertools.product(*covered):
        several = [o for o, all_of in zip(options, covered, strict=True) if len(all_of) > 1]
        suffix = "".join(f".{o}" for o in several).replace(" ", "_")
        yield suffix, left.under(dict(zip((a.name for a in deciding), options, strict=True))).expression


Replacements = tuple[tuple[str, sympy.Expr], ...]


def _chosen(choices: Mapping[str, sympy.Expr]) -> tuple[dict[sympy.Symbol, sympy.Expr], Replacements, list[sympy.Expr]]:
    """Return the expressions for the chosen quantities; those for the rounds or groups, if a step size is chosen
    through their root; and the expressions that have to be >= 0 for that."""
    names = {sympy.Symbol(name) for name in choices}
    if any(choice.free_symbols & names for choice in choices.values()):
        raise Unsupported("a chosen quantity is chosen through another one")
    if all(rational(choice) for choice in choices.values()):
        return {sympy.Symbol(name): choice for name, choice in choices.items()}, (), list(choices.values())
    put_in: dict[sympy.Symbol, sympy.Expr] = {}
    replaced: dict[str, sympy.Expr] = {}
    conditions: list[sympy.Expr] = []
    first = next((name for name in ("server_lr", "local_lr") if name in choices), None)
    if first is not None:
        replaced["rounds"], conditions = solve_choice(choices[first], "rounds", first)
    for name, choice in choices.items():
        if name == first:
            continue
        if name == "global_lr" and not rational(choice):  # a root of the number of groups stays a step size
            replaced["groups"], more = solve_choice(choice, "groups", name)
        else:
            put_in[sympy.Symbol(name)], more = rooted([choice], replaced)
        conditions = [*conditions, *more]
    return put_in, tuple(replaced.items()), conditions


def _needs(
    claim: Claim, derivation: Derivation, domain: Domain, put_in: Mapping[sympy.Symbol, sympy.Expr], suffix: str = ""
) -> Iterator[Step]:
    for name, need in derivation.needs:
        slack = _cancelled(need.xreplace(put_in)) if put_in else need
        if not rational(slack):
            if not any(known == slack for _, known in domain.slacks):
                raise Unsupported(f"claim.needs.{name}: not rational: {slack}")
            says = f"a hypothesis of the claim is {slack} >= 0"
            yield Step(f"claim.needs.{name}{suffix}", claim.source, says, "identity", (Identity(sympy.S.Zero),))
            continue
        says = f"the claim's hypotheses give {_factored(slack)} >= 0"
        yield Step(f"claim.needs.{name}{suffix}", claim.source, says, "polynomial", (Needed(slack, domain),))


def compare(
    claim: Claim,
    right: sympy.Expr,
    derived: sympy.Expr,
    domain: Domain,
    suffix: str = "",
    case: str = "",
    ignore: bool = False,
) -> Iterator[Step]:
    """Yield a step for every product of data: the claim's coefficient is at least the derived one. With ``ignore``, an
    exponential's coefficient in the claim may be left out as >= 0."""
    replaced = dict(domain.replaced)
    ours, theirs = coefficients(derived), coefficients(right)
    for data in sorted({*ours, *theirs}, key=str):
        name = f"claim.term.{_label(data)}{suffix}"
        of = "free of the data" if data == 1 else f"of {_label(data)}"
        says = f"the claim's coefficient {of} is at least the derived one{case}"
        claimed, shown = theirs.get(data, []), ours.get(data, [])
        if ignore:
            claimed = [t for t in claimed if not (t.has(sympy.exp) and _plain_sign(t))]
        checks: list[Check] = []
        claimed, shown, exponents = _exponentials(claimed, shown)
        checks += [Follows(e, domain) for e in exponents]
        total, conditions = rooted(claimed, replaced)
        other, more = rooted(shown, replaced)
        difference = total - other
        checks += [Follows(c, domain) for c in (*conditions, *more)]
        if has_unknown_sign(data):
            checks.append(Identity(total, other))
        elif rational(difference):
            checks.append(Follows(difference, domain))
        else:
            raise Unsupported(f"the coefficient of {data} is not rational: {difference}")
        yield Step(name, claim.source, says, "polynomial", tuple(checks))


def _real_powers(expression: sympy.Expr) -> list[sympy.Expr]:
    """The powers B^E in it whose exponent depends on a quantity that need not be whole."""
    real = {sympy.Symbol(name) for name, known in QUANTITIES.items() if not known.integer}
    return [power for power in expression.atoms(sympy.Pow) if power.exp.free_symbols & real]


_cancelled = lru_cache(maxsize=1000)(sympy.cancel)
_factored = lru_cache(maxsize=1000)(sympy.factor)


@lru_cache(maxsize=1000)
def coefficients(expression: sympy.Expr) -> dict[sympy.Expr, list[sympy.Expr]]:
    """Return the summands of every product of data, without the product.

    >>> from sympy import Symbol
    >>> coefficients(2 * Symbol("smoothness") * Symbol("gradient_noise") ** 2 + 1)
    {1: [1], gradient_noise**2: [2*smoothness]}
    """
    table: dict[sympy.Expr, list[sympy.Expr]] = {}
    for term in sympy.Add.make_args(sympy.Add(*map(_expanded, sympy.Add.make_args(expression)))):
        data: list[sympy.Expr] = []
        rest: list[sympy.Expr] = []
        for factor in sympy.Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            data_factor = base in _SYMBOLS and exponent.is_Integer and exponent > 0
            (data if data_factor else rest).append(factor)
        coefficient = sympy.Mul(*rest)
        if coefficient.free_symbols & {*_SYMBOLS}:
            raise Unsupported(f"the claim is no polynomial in its data: {term}")
        table.setdefault(sympy.Mul(*data), []).append(coefficient)
    return table


@lru_cache(maxsize=5000)
def _expanded(summand: sympy.Expr) -> sympy.Expr:
    """One summand multiplied out: claims share most of theirs."""
    return sympy.expand(summand, power_exp=False, power_base=False, log=False)


def _exponentials(claimed: list, shown: list) -> tuple[list, list, list[sympy.Expr]]:
    """Compare exponentials and powers by their parts, and return the c, the c', and the expressions that have to be >=
    0. It uses c exp(E) >= c' exp(E') from c >= c' and E >= E'; c >= c' exp(-E) from c >= c'/(1 + E) and E >= 0; and c
    B^T >= c' B'^T, T a duration, from c >= c' and B >= B' >= 0."""
    if not any(t.has(sympy.exp) or _powers(t) for t in (*claimed, *shown)):
        return claimed, shown, []
    if len(shown) == 1 and _is_exponential(shown[0]) and not any(t.has(sympy.exp) or _powers(t) for t in claimed):
        factor, exponent = _split_exponential(shown[0])
        return claimed, [factor / (1 - exponent)], [sympy.together(-exponent)]
    if len(claimed) == len(shown) == 1 and all(map(_is_exponential, (*claimed, *shown))):
        (factor, exponent), (other_factor, other) = _split_exponential(claimed[0]), _split_exponential(shown[0])
        return [factor], [other_factor], [sympy.together(exponent - other)]
    if len(claimed) == len(shown) == 1 and len(_powers(claimed[0])) == len(_powers(shown[0])) == 1:
        (power,), (other_power,) = _powers(claimed[0]), _powers(shown[0])
        factor, other_factor = claimed[0] / power, shown[0] / other_power
        if power.exp == other_power.exp and factor.is_nonnegative and other_factor.is_nonnegative:
            base, other_base = power.base, other_power.base
            return [factor], [other_factor], [sympy.together(base - other_base), sympy.together(other_base)]
    raise Unsupported(f"exponentials that are not compared one to one: {claimed} and {shown}")


def _powers(term: sympy.Expr) -> list[sympy.Pow]:
    """The factors B^T, T a duration."""
    return [f for f in sympy.Mul.make_args(term) if f.is_Pow and f.exp in DURATIONS]


def _is_exponential(term: sympy.Expr) -> bool:
    """Whether a term is c exp(E) with a number c >= 0."""
    factor, exponent = _split_exponential(term)
    return exponent != 0 and factor.is_nonnegative is True


def _split_exponential(term: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """term = first * exp(second)."""
    factors = sympy.Mul.make_args(term)
    exponents = [f.args[0] for f in factors if isinstance(f, sympy.exp)]
    return sympy.Mul(*(f for f in factors if not isinstance(f, sympy.exp))), sympy.Add(*exponents)


def _plain_sign(term: sympy.Expr) -> bool:
    return all(f.is_positive or f.is_Symbol or isinstance(f, sympy.exp) for f in sympy.Mul.make_args(term))


def _minimum_of_steps(
    claim: Claim, derivation: Derivation, bound: sympy.Expr, domain: Domain, chosen: sympy.Expr
) -> Iterator[Step]:
    """A step size min(log(max(Y, 1))/A, caps), case by case, with l for the logarithm.

    Where the first is the minimum, exp(-l) = 1/max(Y, 1) <= 1/Y; where a cap is, l = A cap + something >= 0.
    """
    if len(chosen.atoms(sympy.log)) != 1:
        raise Unsupported(f"the chosen step size has several logarithms: {chosen}")
    (logarithm,) = chosen.atoms(sympy.log)
    right = bare(claim.right_side).xreplace({logarithm: _LOG})
    steps = sorted(sympy.Min.make_args(chosen.xreplace({logarithm: _LOG})), key=str)
    inner = logarithm.args[0]
    first = [s for s in steps if s.has(_LOG)]
    if len(first) != 1 or right.has(sympy.log) or not (isinstance(inner, sympy.Max) and 1 in inner.args):
        raise Unsupported(f"the chosen step size is not min(log(max(Y, 1))/A, caps): {chosen}")
    (ratio,) = [a for a in inner.args if a != 1]

    exponentials = bound.atoms(sympy.exp)
    if len(exponentials) != 1:
        raise Unsupported(f"{derivation.name}: allowed is a bound with one exponential")
    (exponential,) = exponentials
    data, rest = bound.coeff(exponential), bound.subs(exponential, 0)
    slacks = tuple((name, slack) for name, slack in domain.slacks if not slack.has(_ETA))
    for index, step in enumerate(steps, 1):
        suffix, case = f".step_{index}", f", where the step size is {step}"
        put_in = {_ETA: step}
        if step is first[0]:
            exponent = exponential.args[0].xreplace(put_in)
            yield Step(
                f"claim.exponent{suffix}",
                claim.source,
                "exp(-l) with l = log(max(Y, 1)) is at most 1/Y",
                "analytic",
                (Identity(exponent, -_LOG),),
            )
            derived = data / ratio + rest.xreplace(put_in)
            where = Domain(slacks, (("local_lr", step),))
            yield from compare(claim, right, sympy.cancel(derived), where, suffix, case, ignore=True)
        else:
            factor = sympy.cancel(first[0] / _LOG)
            where = Domain(slacks, (("log_factor", sympy.Symbol("excess") + step / factor),))
            derived = bound.xreplace(put_in)
            yield from compare(claim, right, derived, where, suffix, case)
    yield from _needs(claim, derivation, domain, {})


def _step(name: str, claim: Claim, says: str, expression: sympy.Expr, domain: Domain) -> Step:
    if not rational(expression):
        raise Unsupported(f"{name}: not rational: {expression}")
    return Step(name, claim.source, says, "polynomial", (Follows(expression, domain),))


def _label(data: sympy.Expr) -> str:
    return str(data).replace("**", "^").replace(" ", "")


_SHARE = sympy.Symbol("client_round_probability")
"""Quantity whose conditions are printed as quotients, q <= N/D."""


@dataclass(frozen=True)
class Needed:
    """Check that an expression is >= 0 on a domain, either directly or by one hypothesis. By a hypothesis it holds if
    the expression is at least factor * slack with factor > 0. Evidence of this kind begins with the name of the
    way.

    >>> x, y = sympy.symbols("objective_decrease smoothness")
    >>> Needed(2 * x + y, Domain((("progress", 2 * x),))).certified().evidence[0]
    'progress'
    """

    expression: sympy.Expr
    domain: Domain

    def ways(self) -> Iterator[tuple[str, tuple[sympy.Expr, ...]]]:
        """Yield (name, expressions that have to be >= 0 on the domain); any one of the ways suffices."""
        yield "", (self.expression,)
        for name, known, conditions in _hypotheses(self.domain):
            for i, factor in enumerate(_factors(self.expression, known)):
                rest = _rest(self.expression, factor * known)
                yield f"{name}{' scaled' * i}", (*conditions, rest)

    def certified(self) -> Finding:
        """Return a certificate on one of the ways, or ``unknown``."""
        return _certified(self)

    def decide(self) -> Finding:
        """Return a certificate on one of the ways, or else the decision of the direct check."""
        finding = self.certified()
        if finding.outcome == "proved" or has_unknown_sign(self.expression):
            return finding
        return self._direct.decide()

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether this is a counterexample in the domain."""
        return self._direct.refuted(evidence)

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether these certificates prove it; nothing is searched."""
        name = evidence[0] if evidence and isinstance(evidence[0], str) else ""
        certificates = evidence[1:] if name else evidence
        if not all(isinstance(c, Certificate) for c in certificates):
            return False
        return any(
            len(parts) == len(certificates)
            and all(Follows(p, self.domain).accepts((c,)) for p, c in zip(parts, certificates, strict=True))
            for way, parts in self.ways()
            if way == name and not any(map(has_unknown_sign, parts))
        )

    @property
    def _direct(self) -> Follows:
        return Follows(self.expression, self.domain)


@lru_cache(maxsize=2000)
def _certified(check: Needed) -> Finding:
    for name, parts in check.ways():
        if any(map(has_unknown_sign, parts)):
            continue
        found = [Follows(part, check.domain).directly() for part in parts]
        if all(f.outcome == "proved" for f in found):
            return Finding("proved", (*([name] if name else []), *(e for f in found for e in f.evidence)))
    return Finding("unknown")


def has_unknown_sign(expression: sympy.Expr) -> bool:
    """Whether a quantity in it may be negative."""
    return any(s.name in QUANTITIES and QUANTITIES[s.name].lower < 0 for s in expression.free_symbols)


Known = tuple[str, sympy.Expr, tuple[sympy.Expr, ...]]
"""A name, what is known to be >= 0, what has to be >= 0 for that."""


def _hypotheses(domain: Domain) -> Iterator[Known]:
    for name, slack in domain.slacks:
        yield from _known(name, slack)


@lru_cache(maxsize=2000)
def _known(name: str, slack: sympy.Expr) -> tuple[Known, ...]:
    return tuple(_of_hypothesis(name, slack))


def _of_hypothesis(name: str, slack: sympy.Expr) -> Iterator[Known]:
    """Return the expressions that a hypothesis makes >= 0. A bound q <= N/D with N >= 0 is also multiplied out. If D >
    0 it says q D <= N; if D < 0 that is so as q >= 0; and if D = 0 it does not hold."""
    if not rational(slack):
        return
    yield name, slack, ()
    bound = sympy.cancel(sympy.together(slack + _SHARE))
    top, bottom = sympy.fraction(bound)
    if slack.has(_SHARE) and not bound.has(_SHARE) and not bottom.is_number:
        assert is_identity(slack, top / bottom - _SHARE)
        for sign, word in ((1, "multiplied out"), (-1, "multiplied out by minus one")):
            yield f"{name} {word}", sign * (top - _SHARE * bottom), (sign * top,)


@lru_cache(maxsize=2000)
def _rest(need: sympy.Expr, known: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(need - known)


@lru_cache(maxsize=2000)
def _factors(need: sympy.Expr, known: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """1, and the quotient of the two at q = 0 where that is a product of positive quantities."""
    first, second = (sympy.cancel(e.subs(_SHARE, 0)) for e in (need, known))
    quotient = sympy.cancel(first / second) if first.is_finite is not False and second != 0 else sympy.Integer(0)
    return (sympy.Integer(1), quotient) if is_positive_product(quotient) else (sympy.Integer(1),)


def is_positive_product(factor: sympy.Expr) -> bool:
    """Whether it is a quotient of products of positive numbers and quantities."""
    parts = sympy.fraction(factor)
    known = [QUANTITIES.get(s.name) for s in factor.free_symbols]
    return all(not part.is_Add and part.as_coeff_Mul()[0] > 0 for part in parts) and all(
        k is not None and (k.positive or k.lower > 0) for k in known
    )
