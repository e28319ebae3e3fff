"""The last link of a chain: what was derived implies the claim, on the claim's own data.

Every need of the derivation has to follow from the claim's hypotheses, and for every product of data (sigma^2, |x_0 -
x*|^2, ...) the claim's coefficient has to be at least the derived one on the claim's domain.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from ..claims.statement import Claim
from .derivations import Derivation
from .domain import Domain, Follows, bare, rational
from .roots import Unsupported, rooted, solve_choice
from .steps import Check, Identity, Step

DATA = (
    "gradient_noise", "dissimilarity", "initial_distance", "initial_gap", "gradient_norm", "objective_decrease",
    "full_pseudogradient", "cohort_pseudogradient", "arbitrary_pseudogradient", "displacement", "perturbation",
)  # fmt: skip
"""The quantities that measure a federation or a run; the coefficients of their products are compared one by one."""

_OF_ANY_SIGN = ("objective_decrease",)
_SYMBOLS = tuple(map(sympy.Symbol, DATA))
_ETA, _LOG = sympy.Symbol("local_lr"), sympy.Symbol("log_factor")


def tie(claim: Claim, derivation: Derivation) -> tuple[Step, ...]:
    """The steps that lead from what ``derivation`` shows to what ``claim`` states."""
    steps = [*_words(claim, derivation)]
    try:
        steps += _from_data(claim, derivation)
    except Unsupported as reason:
        says = f"the comparison with what is derived cannot be made, {reason}"
        steps.append(Step("claim.form", claim.source, says, "unclear", expected="unknown"))
    return tuple(steps)


def domain_of(claim: Claim) -> Domain:
    """The claim's hypotheses; one that has several readings says nothing here."""
    return Domain(tuple((h.name, bare(h.slack)) for h in claim.hypotheses if not h.alternatives))


def _words(claim: Claim, derivation: Derivation) -> Iterator[Step]:
    """Assumptions and readings."""
    made = {a.quantity for a in claim.assumptions if a.from_below == (a.quantity == "strong_convexity")}
    for quantity in derivation.assumptions:
        kind = "definition" if quantity in made else "unclear"
        says = f"assumes a bound on {quantity}" if quantity in made else f"does not assume a bound on {quantity}"
        yield _word(f"claim.assumes.{quantity}", claim, says, kind)
    options = {a.name: a.options for a in claim.ambiguities}
    for name, option in derivation.readings.items():
        known = option in options.get(name, ())
        says = f"read with {name} = {option}" if known else f"cannot be read with {name} = {option}"
        yield _word(f"claim.reading.{name}", claim, says, "definition" if known else "unclear")
    for name in sorted(options.keys() - derivation.readings.keys()):
        says = f"can be read with {name} = {' or '.join(options[name])}, of which the derivation says nothing"
        yield _word(f"claim.reading.{name}", claim, says, "unclear")


def _word(name: str, claim: Claim, says: str, kind: str) -> Step:
    return Step(name.replace(" ", "_"), claim.source, f"the claim {says}", kind,
                expected="given" if kind == "definition" else "unknown")  # fmt: skip


def _from_data(claim: Claim, derivation: Derivation) -> Iterator[Step]:
    domain = domain_of(claim)
    if derivation.right_side is None:
        right = bare(claim.right_side)
        difference = right - bare(claim.functional.expression)
        yield _step("claim.value", claim, f"{claim.functional.meaning} is at most {right}", difference, domain)
        return
    chosen = bare(claim.choices["local_lr"]) if "local_lr" in claim.choices else None
    if chosen is not None and chosen.has(sympy.log):
        yield from _minimum_of_steps(claim, derivation, domain, chosen)
        return
    right = bare(claim.right_side)
    if chosen is not None:
        rounds, conditions = solve_choice(chosen, "rounds")
        domain = Domain(domain.slacks, (("rounds", rounds),))
        for i, condition in enumerate(conditions, 1):
            yield _step(f"claim.choice.{i}", claim, f"{condition} >= 0, for the step size chosen", condition, domain)
    yield from _needs(claim, derivation, domain)
    yield from compare(claim, right, derivation.right_side, domain)


def _needs(claim: Claim, derivation: Derivation, domain: Domain, suffix: str = "") -> Iterator[Step]:
    for name, slack in derivation.needs:
        says = f"the claim's hypotheses give {sympy.factor(slack)} >= 0"
        yield _step(f"claim.needs.{name}{suffix}", claim, says, slack, domain)


def compare(
    claim: Claim,
    right: sympy.Expr,
    derived: sympy.Expr,
    domain: Domain,
    suffix: str = "",
    case: str = "",
    ignore: bool = False,
) -> Iterator[Step]:
    """For every product of data, that the claim's coefficient is at least the derived one. With ``ignore`` a claim's
    coefficient may be left out as >= 0 where it is an exponential's."""
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
        parts, conditions = rooted(claimed, replaced), []
        other, more = rooted(shown, replaced)
        total, conditions = parts
        difference = sympy.together(total - other)
        checks += [Follows(c, domain) for c in (*conditions, *more)]
        if any(s.name in _OF_ANY_SIGN for s in data.free_symbols):
            checks.append(Identity(total, other))
        elif rational(difference):
            checks.append(Follows(difference, domain))
        else:
            raise Unsupported(f"the coefficient of {data} is not rational: {difference}")
        yield Step(name, claim.source, says, "polynomial", tuple(checks))


def coefficients(expression: sympy.Expr) -> dict[sympy.Expr, list[sympy.Expr]]:
    """The summands of every product of data, without it.

    >>> from sympy import Symbol
    >>> coefficients(2 * Symbol("smoothness") * Symbol("gradient_noise") ** 2 + 1)
    {1: [1], gradient_noise**2: [2*smoothness]}
    """
    table: dict[sympy.Expr, list[sympy.Expr]] = {}
    expanded = sympy.expand(expression, power_exp=False, power_base=False, log=False)
    for term in sympy.Add.make_args(expanded):
        data, rest = [], []
        for factor in sympy.Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            data_factor = base in _SYMBOLS and exponent.is_Integer and exponent > 0
            (data if data_factor else rest).append(factor)
        coefficient = sympy.Mul(*rest)
        if coefficient.free_symbols & {*_SYMBOLS}:
            raise Unsupported(f"the claim is no polynomial in its data: {term}")
        table.setdefault(sympy.Mul(*data), []).append(coefficient)
    return table


def _exponentials(claimed: list, shown: list) -> tuple[list, list, list[sympy.Expr]]:
    """c exp(E) >= c' exp(E') from c >= c' and E >= E': the c, the c', and the differences of exponents."""
    if not any(t.has(sympy.exp) for t in (*claimed, *shown)):
        return claimed, shown, []
    if not (len(claimed) == len(shown) == 1 and _is_exponential(claimed[0]) and _is_exponential(shown[0])):
        raise Unsupported(f"exponentials that are not compared one to one: {claimed} and {shown}")
    (factor, exponent), (other_factor, other) = _split_exponential(claimed[0]), _split_exponential(shown[0])
    return [factor], [other_factor], [sympy.together(exponent - other)]


def _is_exponential(term: sympy.Expr) -> bool:
    """c exp(E) with a number c >= 0."""
    factor, exponent = _split_exponential(term)
    return exponent != 0 and factor.is_nonnegative is True


def _split_exponential(term: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """term = first * exp(second)."""
    factors = sympy.Mul.make_args(term)
    exponents = [f.args[0] for f in factors if isinstance(f, sympy.exp)]
    return sympy.Mul(*(f for f in factors if not isinstance(f, sympy.exp))), sympy.Add(*exponents)


def _plain_sign(term: sympy.Expr) -> bool:
    return all(f.is_positive or f.is_Symbol or isinstance(f, sympy.exp) for f in sympy.Mul.make_args(term))


def _minimum_of_steps(claim: Claim, derivation: Derivation, domain: Domain, chosen: sympy.Expr) -> Iterator[Step]:
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
    exponentials = derivation.right_side.atoms(sympy.exp)
    if len(exponentials) != 1:
        raise Unsupported(f"{derivation.name}: allowed is a bound with one exponential")
    (exponential,) = exponentials
    data, rest = derivation.right_side.coeff(exponential), derivation.right_side.subs(exponential, 0)
    slacks = tuple((name, slack) for name, slack in domain.slacks if not slack.has(_ETA))
    for index, step in enumerate(steps, 1):
        suffix, case = f".step_{index}", f", where the step size is {step}"
        put_in = {_ETA: step}
        if step is first[0]:
            exponent = exponential.args[0].xreplace(put_in)
            yield Step(f"claim.exponent{suffix}", claim.source, "exp(-l) with l = log(max(Y, 1)) is at most 1/Y",
                       "analytic", (Identity(exponent, -_LOG),))  # fmt: skip
            derived = data / ratio + rest.xreplace(put_in)
            where = Domain(slacks, (("local_lr", step),))
            yield from compare(claim, right, sympy.cancel(derived), where, suffix, case, ignore=True)
        else:
            factor = sympy.cancel(first[0] / _LOG)
            where = Domain(slacks, (("log_factor", sympy.Symbol("excess") + step / factor),))
            derived = derivation.right_side.xreplace(put_in)
            yield from compare(claim, right, derived, where, suffix, case)
    for name, slack in derivation.needs:
        yield _step(
            f"claim.needs.{name}", claim, f"the claim's hypotheses give {sympy.factor(slack)} >= 0", slack, domain
        )


def _step(name: str, claim: Claim, says: str, expression: sympy.Expr, domain: Domain) -> Step:
    if not rational(expression):
        raise Unsupported(f"{name}: not rational: {expression}")
    return Step(name, claim.source, says, "polynomial", (Follows(expression, domain),))


def _label(data: sympy.Expr) -> str:
    return str(data).replace("**", "^").replace(" ", "")
