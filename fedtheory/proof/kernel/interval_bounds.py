"""Bounds on the weights that are means of participation intervals (see ``participation_intervals``), and on intervals.

A theorem is of one client, for every probability p of taking part, every cutoff C and every round t >= C, or t < C; a =
q^C, q = 1 - p. A bound is of one client too, or of the mean over clients with probabilities of their own: what is
linear in q and q^(2C) has its mean at their means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .forms import ONE, Atom, Form, Product, Term, Vector, dot, square
from .participation_intervals import INTERVAL, UNIT, UNIT_ENDED, WEIGHT, WEIGHT_ENDED
from .regions import Condition, Where
from .run_bounds import ROUNDS, Definition, RunBound, _bound, _follows, untouched
from .scalars import Ring, Scalar
from .sealed import intact
from .theorems import Assumption, Refused, Theorem

AVERAGE_ERROR, ROUND_ERROR, LONG_RUN_BIAS = "average_weight_error", "round_weight_error", "long_run_bias"
MOMENTS = ("interval_mean", "negated_interval_mean", "interval_variance", "negated_interval_variance")
CHANCE, CUTOFF, HISTORY, ENDED = "participation_probability", "cutoff", "history", "guaranteed_intervals"
ABSENCE, BIAS, SPREAD, LEAST = "absence", "cutoff_bias", "weight_spread", "least_participation_probability"
"""Parameters: p, C, t, floor(t/C); the means over clients of q and q^(2C), E(omega - E S)^2, and the least p."""
CHOSEN_CUTOFF = "logarithmic_cutoff"
"""Parameter that is 1 where the cutoff is ceil(R log T), R = -1/(2 log(1 - min p))."""

IN_EXPECTATION: Assumption = ("in_expectation", None)
"""Reading of a bound that is not shown given that an interval has ended."""


@dataclass(frozen=True)
class _Intervals:
    """A theorem's letters: those of p, C, q^C; of t < C and q^t, or m and r of t = m C + r >= C; ``wide`` is the ring
    of the bound."""

    theorem: Theorem
    wide: Ring
    p: str
    C: str
    a: str
    t: str = ""
    m: str = ""
    r: str = ""
    first: int = 0

    @property
    def ring(self) -> Ring:
        """Ring of the theorem's scalars."""
        return self.theorem.where.ring

    def number(self, atom: Atom, factor: Scalar | int = 1) -> Vector:
        """Return a random number times a factor, as a vector."""
        return Vector(self.ring, {Term("", atom): self.ring.number(1) * factor})

    def constant(self, form: Form) -> Scalar:
        """Return the number that a form is, in the wide ring."""
        value = form.entries.get(ONE, self.ring.number(0))
        if form != Form.constant(value):
            raise Refused(f"{self.theorem}: allowed is a bound by a number")
        return value.within(self.wide)

    @property
    def power(self) -> Definition:
        """The letter that stands for q^C."""
        return Definition(self.a, "tail", 1 - self.wide[self.p])

    @property
    def error(self) -> Form:
        """E(p omega - 1)^2."""
        return square(self.number(WEIGHT, self.ring[self.p]) - self.number(UNIT))

    def of_error(self) -> Scalar:
        """Return B of B - E(p omega - 1)^2 >= 0."""
        return self.constant(self.theorem.form + self.error)

    def of_error_below(self) -> Scalar:
        """Return the same in the theorem's own ring."""
        return (self.theorem.form + self.error).entries.get(ONE, self.ring.number(0))

    def in_round(self, bound: Scalar, t: Scalar) -> Scalar:
        """Return a bound for t >= C as one in t, which does not depend on how many intervals of C rounds fit in."""
        found = bound.replace({self.r: t - self.wide[self.m] * self.wide[self.C]}) if self.r else bound
        if self.m and self.m in found.names:
            raise Refused(f"{bound}: depends on the round otherwise than by its number")
        return found


def _read(theorem: Theorem, wide: Ring, when: str = "", every: bool = True) -> _Intervals:
    """Read a theorem for rounds that are ``late`` (t >= C) or ``early`` (t < C), or of none. Where C, q^C and p, or t
    and q^t, are no letters of their own it would be about no other cutoff or chance. ``every`` asks for p = 0 too."""
    intact(theorem)
    if not {*theorem.where.ring.names} <= {*wide.names}:
        raise Refused(f"ring {' '.join(wide.names)}: allowed is one with the names of the theorem's ring")
    of, ring = dict(theorem.parameters), theorem.where.ring
    extra = {"late": {"history", "ended"}, "early": {"history", "head"}, "": set()}[when]
    needed = {"absence", "cutoff", "tail", *(extra - {"ended"})}
    if theorem.context != "run" or not needed <= of.keys() <= needed | extra:
        raise Refused(f"{theorem}: allowed is a theorem on intervals{f', of {when} rounds' if when else ''}")
    (p,) = of["absence"].names or {""}
    C, a = str(of["cutoff"]), str(of["tail"])
    if not p or of["absence"] != 1 - ring[p]:
        raise Refused(f"q = {of['absence']}: allowed is 1 - p of a letter p")
    q, cutoff = 1 - ring[p], of["cutoff"]
    chances = {"interval"} if every else {"interval", "capped"}
    known: dict[str, tuple[set[str], Scalar | None]] = {p: (chances, ring.number(1)), a: ({"interval"}, q)}
    t = m = r = ""
    if when == "early":
        t, b = str(of["history"]), str(of["head"])
        known |= {C: ({"at_least"}, of["history"] + 1), b: ({"interval"}, ring.number(1))}
        known |= {t: ({"nonnegative", "count"}, None)}
    else:
        known[C] = {"count"}, None
    if when == "late":
        count = of["history"].coefficients(C).get(1, ring.number(0))
        rest = of["history"] - count * cutoff
        m, r = str(count), str(rest)
        if of.get("ended", count) != count:
            raise Refused(f"{theorem}: another number of intervals than fits in")
        known |= {m: ({"count"}, None), r: ({"interval"}, cutoff - 1)}
    free = {c.name: c for c in theorem.where.conditions}
    letters = len(known) == (5 if when else 3)
    if not letters or free.keys() != known.keys() or not known.keys() <= {*ring.names}:
        raise Refused(f"{theorem}: allowed are letters of their own for {', '.join(known)}, and no others")
    for name, (kinds, bound) in known.items():
        if free[name].kind not in kinds or free[name].bound != bound:
            raise Refused(f"{free[name]}: of no rounds that have a name, or of no every chance")
    return _Intervals(theorem, wide, p, C, a, t, m, r, int(bool(t) and free[t].kind == "count"))


def _made(
    rule: str,
    functional: str,
    premises: Sequence[Theorem | None],
    where: Where,
    *,
    assumed: Sequence[Assumption] = (),
    **said: Any,
) -> RunBound:
    """Make a bound from theorems on intervals, those of them that there are."""
    theorem, *others = (premise for premise in premises if premise is not None)
    assumptions = [*assumed, *(a for each in (theorem, *others) for a in each.assumptions)]
    return _bound(
        rule, theorem, functional=functional, where=where, assumptions=assumptions, others=tuple(others), **said
    )


def _same_letters(one: _Intervals, other: _Intervals) -> None:
    if (one.p, one.C, one.a) != (other.p, other.C, other.a) or one.ring is not other.ring:
        raise Refused(f"{other.theorem}: other letters than {one.p}, {one.C} and {one.a}")


def bound_moment(functional: str, first: Theorem, second: Theorem, ring: Ring) -> RunBound:
    """Conclude what the mean mu of an interval is, or its variance v - mu^2, from either side, by E S - mu = 0 and E
    S^2 - v = 0. For p = 0 nothing is said."""
    of, more = _read(first, ring, every=False), _read(second, ring, every=False)
    _same_letters(of, more)
    if functional not in MOMENTS or not (first.equality and second.equality):
        raise Refused(f"{functional}: allowed are {', '.join(MOMENTS)}, by two equalities")
    mean = of.constant(dot(of.number(INTERVAL), of.number(UNIT)) - first.form)
    variance = more.constant(square(more.number(INTERVAL)) - second.form) - mean**2
    bound = (mean if functional.endswith("mean") else variance) * (-1 if functional.startswith("negated") else 1)
    where = Where(ring, (Condition(of.p, "capped", ring.number(1)), Condition(of.C, "count")))
    said: dict[str, Any] = {"parameters": {CHANCE: ring[of.p], CUTOFF: ring[of.C]}, "definitions": [of.power]}
    return _made("bound moment", functional, [first, second], where, bound=bound, **said)


def bound_late_error(theorem: Theorem, ring: Ring, mean: Theorem | None = None, spread: str = "") -> RunBound:
    """Conclude E(p omega - 1)^2 <= B for every t >= C, from the theorem that says so. By p E S - nu = 0 (``mean``) what
    is a multiple of E(p omega - nu)^2 in it is one of p^2 E(omega - E S)^2, for which ``spread`` is a letter."""
    of = _read(theorem, ring, "late")
    rest, entry = theorem.form + of.error, Product("", *[Term("", WEIGHT)] * 2)
    conditions = [Condition(of.r, "interval", ring[of.C] - 1), Condition(of.m, "count"), Condition(of.C, "count")]
    conditions.append(Condition(of.p, "interval", ring.number(1)))
    p, history = ring[of.p], ring[of.m] * ring[of.C] + ring[of.r]
    parameters = {CHANCE: p, CUTOFF: ring[of.C], HISTORY: history, ENDED: ring[of.m]}
    bound = ring.number(0)
    if mean is not None:
        known, chance = _read(mean, ring), of.ring[of.p]
        _same_letters(of, known)
        if not mean.equality or entry not in rest.entries or spread in {of.p, of.C, of.a, of.m, of.r}:
            raise Refused(f"{mean}: allowed is p E S - nu = 0, for a bound with E(p omega - nu)^2, and a new letter")
        nu = dot(known.number(INTERVAL), known.number(UNIT)) * chance - mean.form
        known.constant(nu)
        factor = rest.entries[entry] / chance**2
        around = of.number(WEIGHT, chance) - of.number(UNIT, nu.entries.get(ONE, of.ring.number(0)))
        rest = rest - square(around) * factor
        bound = factor.within(ring) * p**2 * ring[spread]
        parameters[SPREAD] = ring[spread]
        conditions.insert(0, Condition(spread, "nonnegative"))
    return _made(
        "bound late error",
        ROUND_ERROR,
        [theorem, mean],
        Where(ring, tuple(conditions)),
        definitions=[of.power],
        parameters=parameters,
        bound=bound + of.constant(rest),
        given=[history - ring[of.C]],
        letters=[spread] if mean is not None else [],
    )


def bound_every_error(late: Theorem, early: Theorem, ring: Ring, given: Theorem | None = None) -> RunBound:
    """Conclude E(p omega - 1)^2 <= B(t) in every round, from theorems for t >= C and for t < C with the same B. If B
    P(M >= 1) - E[(p omega - 1)^2; M >= 1] >= 0 for t < C (``given``), it holds given that an interval has ended too;
    from C on one always has. Where B does not depend on t, the round t = 0 counts too."""
    of, before = _read(late, ring, "late"), _read(early, ring, "early")
    _same_letters(of, before)
    t, p = ring[before.t], ring[of.p]
    bound = of.in_round(of.of_error(), t)
    starts = [before]
    if bound != before.of_error():
        raise Refused(f"{early}: another bound before the cutoff than from then on")
    if given is not None:
        ended = _read(given, ring, "early")
        _same_letters(before, ended)
        unit = ended.number(UNIT_ENDED)
        rest = given.form + square(ended.number(WEIGHT_ENDED, ended.ring[ended.p]) - unit)
        if ended.t != before.t or rest != square(unit) * before.of_error_below():
            raise Refused(f"{given}: another bound where it is given that an interval has ended")
        starts.append(ended)
    if any(each.first for each in starts) and before.t not in bound.names:
        raise Refused(f"{early}: allowed is a theorem from t = 0 on, of which there is one round")
    first: Condition = Condition(before.t, "count" if before.first else "nonnegative")
    conditions = first, Condition(of.C, "count"), Condition(of.p, "interval", ring.number(1))
    return _made(
        "bound every error",
        ROUND_ERROR,
        [late, early, given],
        Where(ring, conditions),
        definitions=[of.power],
        parameters={CHANCE: p, CUTOFF: ring[of.C], HISTORY: t},
        bound=bound,
        assumed=[IN_EXPECTATION] if given is None else [],
    )


def _mean(value: Scalar, p: str, a: str, absence: Scalar, bias: Scalar) -> Scalar:
    """Return the mean over clients of what is linear in q and q^(2C), with the means of these."""
    ring = value.ring
    by_tail = value.replace({p: 1 - ring[p]}).coefficients(a)  # the letter of p stands for q now
    zero = ring.number(0)
    by_q, squared = by_tail.get(0, zero).coefficients(p), by_tail.get(2, zero)
    if {*by_tail} - {0, 2} or {*by_q} - {0, 1} or p in squared.names:
        raise Refused(f"{value}: allowed is what is linear in q and q^(2C), whose means over clients have names")
    return by_q.get(0, zero) + by_q.get(1, zero) * absence + squared * bias


def over_clients(premise: RunBound, absence: str, bias: str) -> RunBound:
    """Conclude the same for the mean over clients with probabilities of their own, from a bound for one of them, for
    every p in [0, 1], that is linear in q and q^(2C): with their means, for which there are letters."""
    untouched(premise)
    of, ring = dict(premise.parameters), premise.where.ring
    tails = [d for d in premise.definitions if d.sort == "tail"]
    if CHANCE not in of or len(tails) != len(premise.definitions) or premise.given or SPREAD in of:
        raise Refused(f"{premise}: allowed is a bound for one client, of every probability")
    p, a = str(of[CHANCE]), tails[0].name if tails else ""
    if Condition(p, "interval", ring.number(1)) not in premise.where.conditions:
        raise Refused(f"{p}: allowed is a bound for every p in [0, 1]")
    kept = [c for c in premise.where.conditions if c.name != p]
    if any(c.bound is not None and p in c.bound.names for c in kept):
        raise Refused(f"{p}: a condition that depends on it")
    right = _mean(premise.bound, p, a, ring[absence], ring[bias])
    new = [Condition(name, "interval", ring.number(1)) for name in (absence, bias)]
    parameters = {name: value for name, value in of.items() if name != CHANCE}
    if {absence, bias} & {p, a, *(c.name for c in kept)} or absence == bias:
        raise Refused(f"{absence}, {bias}: allowed are letters that are not used yet")
    return _follows(
        "over clients",
        premise,
        right,
        where=Where(ring, (*new, *kept)),
        definitions=(),
        parameters=parameters | {ABSENCE: ring[absence], BIAS: ring[bias]},
        letters=[absence, bias],
    )


def average_errors(
    late: Theorem, first: Theorem, ring: Ring, letters: Sequence[str], early: Theorem | None = None
) -> RunBound:
    """Conclude a bound on the mean over the rounds t < T, and over clients, of E(p omega - 1)^2. From a bound x/t + y
    for t >= 1 (``late`` and ``early``), and z from t = 0 on (``first``), it is

        (z + x (1 + log T))/T + y,   as the sum of 1/t over 1 <= t < T is at most 1 + log T.

    From a bound x/m + y for t >= C alone, m = floor(t/C), and z before, it is for T >= C

        (C z + C x (1 + log(T/C)))/T + y,   as the sum of 1/floor(t/C) over C <= t < T is at most C (1 + log(T/C)).

    With T = C (n + u), 0 <= u < 1, that sum is C (1 + 1/2 + ... + 1/(n - 1) + u/n). For n >= 2 the sum to 1/(n - 1) is
    at most 1 + log(n - 1), and u/n <= (1 + u)/(n + u) <= log((n + u)/(n - 1)). For n = 1 it is C u. The letters are
    those of T, the logarithm, and the means of q and q^(2C).
    """
    of, before = _read(late, ring, "late"), _read(first, ring, "early")
    _same_letters(of, before)
    C = ring[of.C]
    rounds, logarithm, absence, bias = letters
    if len({*letters}) < 4 or {*letters} & {c.name for each in (late, first) for c in each.where.conditions}:
        raise Refused(f"{', '.join(letters)}: allowed are four new letters")
    if before.first:
        raise Refused(f"{first}: allowed is a theorem from t = 0 on")
    z, bound = before.of_error(), of.of_error()
    T, log = ring[rounds], ring[logarithm]
    if early is not None:
        other = _read(early, ring, "early")
        _same_letters(of, other)
        count, many, condition = other.t, ring.number(1), Condition(rounds, "count")
        bound = of.in_round(bound, ring[count])
        if bound != other.of_error() or other.first > 1:
            raise Refused(f"{early}: another bound before the cutoff than from then on")
    else:
        count, many, condition = of.m, C, Condition(rounds, "at_least", C)
    by_count = (bound * ring[count]).coefficients(count)
    share, rest = by_count.get(0, 0 * bound), by_count.get(1, 0 * bound)
    varying = {before.t, of.m, of.r, count}
    if {*by_count} - {0, 1} or (z.names | share.names | rest.names) & varying:
        raise Refused(f"{bound}, {z}: allowed is x/t + y, or x/floor(t/C) + y, and the same before the cutoff")
    share, rest, z = (_mean(part, of.p, of.a, ring[absence], ring[bias]) for part in (share, rest, z))
    conditions = [condition, Condition(of.C, "count")]
    conditions += [Condition(name, "interval", ring.number(1)) for name in (absence, bias)]
    where = Where(ring, tuple(conditions))
    if not all(map(where.certifies, (share, rest, z))):
        raise Refused(f"{share}, {rest}, {z}: not certified to be >= 0")
    return _made(
        "average errors",
        AVERAGE_ERROR,
        [late, first, early],
        where,
        definitions=[Definition(logarithm, "log", T / many)],
        parameters={ROUNDS: T, CUTOFF: C, ABSENCE: ring[absence], BIAS: ring[bias]},
        bound=many * (z + share * (1 + log)) / T + rest,
        letters=list(letters),
    )


def bound_bias(mean: Theorem, ring: Ring, letters: Sequence[str]) -> RunBound:
    """Conclude that the mean over clients of (p E S - 1)^2 is what p E S - nu = 0 says, (nu - 1)^2 = c q^(2C); the
    letters are those of the means of q and q^(2C)."""
    of = _read(mean, ring)
    absence, bias = letters
    if not mean.equality or absence == bias or {*letters} & {of.p, of.C, of.a}:
        raise Refused(f"{mean}: allowed is p E S - nu = 0, and two new letters")
    nu = of.constant(dot(of.number(INTERVAL), of.number(UNIT)) * of.ring[of.p] - mean.form)
    conditions = Condition(of.C, "count"), *(Condition(name, "interval", ring.number(1)) for name in letters)
    parameters = {CUTOFF: ring[of.C], ABSENCE: ring[absence], BIAS: ring[bias]}
    bound = _mean((nu - 1) ** 2, of.p, of.a, ring[absence], ring[bias])
    said: dict[str, Any] = {"parameters": parameters, "bound": bound, "letters": list(letters)}
    return _made("bound bias", LONG_RUN_BIAS, [mean], Where(ring, conditions), **said)


def choose_cutoff(premise: RunBound, letters: Sequence[str], first: Theorem | None = None) -> RunBound:
    """Conclude what a bound on the weights' mean error says for the cutoff C = ceil(R log T), R = -1/(2 log(1 - min
    p)), from T = 2 on. From (C (f + s log T))/T + y q^(2C), with numbers f, s and y, it is at most

        (2 s + (2 f + y)/log 2) R log^2 T/T,   if 2 s + 2 f + y >= 6.

    For every client q^(2C) <= (1 - min p)^(2 R log T) = 1/T, and with l = log T, 1/2 <= log 2 <= l:

    - C >= 2: then R l > 1, so that C < R l + 1 <= 2 R l, and 1 <= R l.
    - C = 1: all lengths are 1, and so are the weights: the error is q^2 <= exp(-1/R). With exp(1/R) = v T, v >= 1 as R
      l <= 1, and 1/R = l + log v <= l + v <= 2 l^2 v + 4 l^2 v, it is at most 6 R l^2/T.
    - T < C, where the bound is one for T >= C: then R l > C - 1 >= T, and the error is at most 1 <= 6 R l^2/T. That it
      is at most 1 before the cutoff a theorem says (``first``).

    The letters are those of the least p, R and log 2.
    """
    untouched(premise)
    of, ring, (_, decay, two) = dict(premise.parameters), premise.where.ring, letters
    T, C, conditions = of.get(ROUNDS), of.get(CUTOFF), {c.name: c for c in premise.where.conditions}
    logs = premise.definitions
    if premise.functional != AVERAGE_ERROR or T is None or C is None or premise.given or len(logs) != 1:
        raise Refused(f"{premise}: allowed is a bound on {AVERAGE_ERROR}, for every cutoff")
    if logs[0].sort != "log" or logs[0].of != T or BIAS not in of:
        raise Refused(f"{logs[0]}: allowed is the logarithm of the rounds")
    own = {str(value) for value in of.values()}
    if conditions.keys() != own or not len(own) == len(of) == 4 or {*letters} & {*own, logs[0].name}:
        raise Refused(f"{premise}: allowed are letters for T, C and the means of q and q^(2C), and three new ones")
    late = conditions[str(T)] == Condition(str(T), "at_least", C)
    if conditions[str(C)].kind != "count" or not (late or conditions[str(T)].kind == "count"):
        raise Refused(f"{premise}: allowed is a bound for every C, and for every T or T >= C")
    if late:
        before = None if first is None else _read(first, ring, "early")
        if before is None or before.first:
            raise Refused(f"{first}: allowed is a theorem for all t < C, where the bound is for T >= C")
        if not before.theorem.assumptions <= premise.assumptions:
            raise Refused(f"{first}: allowed is a theorem that assumes no more than the bound")
        before.constant(before.theorem.form + before.error)
        if not before.theorem.where.certifies(1 - before.of_error_below()):
            raise Refused(f"{before.of_error_below()}: not certified to be at most 1")
    l, zero = ring[logs[0].name], ring.number(0)
    by_log = (premise.bound * T).coefficients(logs[0].name)
    f, s = by_log.get(0, zero).replace({str(of[BIAS]): zero}) / C, by_log.get(1, zero) / C
    y = (premise.bound - C * (f + s * l) / T) / of[BIAS]
    if f.names or s.names or y.names or premise.bound != C * (f + s * l) / T + y * of[BIAS]:
        raise Refused(f"{premise.bound}: allowed is C (f + s log T)/T + y q^(2C), with numbers f, s and y")
    if not all(premise.where.certifies(c) for c in (f, s, y, 2 * s + 2 * f + y - 6)):
        raise Refused(f"{f}, {s}, {y}: allowed are numbers >= 0 with 2 s + 2 f + y >= 6")
    return _follows(
        "choose cutoff",
        premise,
        (2 * s + (2 * f + y) / ring[two]) * ring[decay] * l**2 / T,
        **_with_cutoff(ring, str(T), logs[0].name, letters),
        letters=list(letters),
        others=() if first is None else (first,),
    )


def choose_cutoff_of_bias(premise: RunBound, letters: Sequence[str]) -> RunBound:
    """Conclude y/T from a bound y q^(2C) on the long-run bias for the same cutoff, from T = 2 on, as q^(2C) <= 1/T for
    every client. The letters are those of T, log T, the least p, R and log 2."""
    untouched(premise)
    of, ring, (rounds, logarithm, *others) = dict(premise.parameters), premise.where.ring, letters
    y = premise.bound / of[BIAS] if BIAS in of else None
    own = {str(value) for value in of.values()} | {*(c.name for c in premise.where.conditions)}
    if premise.functional != LONG_RUN_BIAS or y is None or y.names or not premise.where.certifies(y):
        raise Refused(f"{premise}: allowed is a bound y q^(2C) on the long-run bias, y a number >= 0")
    if {*letters} & own or premise.given or premise.definitions:
        raise Refused(f"{', '.join(letters)}: allowed are new letters")
    return _follows(
        "choose cutoff of bias",
        premise,
        y / ring[rounds],
        **_with_cutoff(ring, rounds, logarithm, others),
        letters=list(letters),
    )


def _with_cutoff(ring: Ring, rounds: str, logarithm: str, letters: Sequence[str]) -> dict[str, Any]:
    """Return what a bound for the cutoff says besides: of two rounds or more, with log T, log 2 and R."""
    least, decay, two = letters
    return {
        "where": Where(
            ring, (Condition(rounds, "at_least", ring.number(2)), Condition(least, "interval", ring.number(1)))
        ),
        "definitions": [
            Definition(logarithm, "log", ring[rounds]),
            Definition(two, "log", ring.number(2)),
            Definition(decay, "decay", ring[least]),
        ],
        "parameters": {ROUNDS: ring[rounds], LEAST: ring[least], CHOSEN_CUTOFF: ring.number(1)},
    }
