"""Checks a saved proof from axioms to theorem, or a certificate of a worst case. Stands alone: plain Python, nothing of
the package, no library.

    python checker.py FILE

Everything is computed again from what the file says of a rule's arguments: forms, contexts, assumptions, parameters.
Coefficients are compared at random points modulo a prime; what has to be >= 0 is written in the parameters of its
region and has to have no negative coefficient there. It knows the kernel's rules, and shares no line with them.

Of a certificate the forms are made again from class, rounds and metric, by the clients' gradients themselves, and what
the multipliers leave is decided by exact fractions.
"""

from __future__ import annotations

import functools
import json
import math
import operator
import re
import secrets
import sys
from fractions import Fraction
from itertools import product as pairs_of

PRIME = 2**61 - 1
POINTS = 3
LARGEST = {
    "theorems": 5000, "terms": 200000, "power": 60, "digits": 400, "intervals": 8, "regions": 200, "work": 20_000_000,
    "certificate": 5_000_000, "file": 64 * 2**20,
}  # fmt: skip
"""What a file may have; its work is counted in products of terms, of which a second does about half a million."""
BINDERS = ("", "K", "M", "S", "KM", "KS")
NUMBER = re.compile(r"-?[0-9]+(/[0-9]+)?")
STAGES = {  # (name, of a client, has a step): (stage, lag)
    ("x", False, False): ("start", 0), ("x*", False, False): ("start", 0), ("x+", False, False): ("end", 0),
    ("g_start", True, False): ("start", 0), ("g_opt", True, False): ("start", 0),
    ("E arbitrary g_start", False, False): ("start", 0), ("E uniform g_start", False, False): ("start", 0),
    ("E arbitrary g_opt", False, False): ("start", 0), ("E uniform g_opt", False, False): ("start", 0),
    ("N_server", False, False): ("end", 0),
    ("x", True, True): ("path", 0), ("g", True, True): ("path", 0), ("N", True, True): ("path", 1),
    ("x_mean", False, True): ("path", 0), ("g_mean", True, True): ("path", 0), ("x_own", True, False): ("start", 0),
    **{(f"{g}point_{j}", g != "", False): ("start", 0) for j in range(3) for g in ("", "g_")},
    ("A_weights", False, False): ("end", 0), ("V_weights", False, False): ("end", 0),
    ("U_weights", False, False): ("end", 0), ("g_centre", False, False): ("start", 0),
    **{(f"{name}_answers", False, False): ("end", 0) for name in "BAZ"}, ("unit", False, False): ("start", 0),
    **{(f"{name}{ended}", False, False): ("end", 0) for name in ("interval", "weight") for ended in ("", "_ended")},
    ("unit_ended", False, False): ("end", 0),
}  # fmt: skip
STAGES |= {(f"x_{r}", False, False): ("end", 0) for r in range(2, 61)}  # the server's points after several rounds
START_POINT, OPTIMUM, NEXT = ("x", False, ()), ("x*", False, ()), ("x+", False, ())
SERVER_NOISE, LOWEST = ("N_server", False, ()), ("x_own", True, ())
WEIGHT_BIAS, PARTICIPATION, ROUND_NOISE = ((name, False, ()) for name in ("A_weights", "V_weights", "U_weights"))
MEAN_ANSWER, MISMATCH, SPREAD = ((f"{name}_answers", False, ()) for name in "BAZ")
UNIT, INTERVAL, WEIGHT = (("unit", False, ()), ("interval", False, ()), ("weight", False, ()))
UNIT_ENDED, INTERVAL_ENDED, WEIGHT_ENDED = ((f"{x[0]}_ended", False, ()) for x in (UNIT, INTERVAL, WEIGHT))
MEAN_ITERATE, LAST = ("x_mean", False, (1, 0, 0)), ("x", True, (0, 1, 0))
ITERATE, NOISE, ALONG = ("x", True, (1, 0, 0)), ("N", True, (1, 0, 0)), ("g", True, (1, 0, 0))


UNREADABLE = (
    KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, RecursionError, OverflowError,
)  # fmt: skip
"""What reading data of another shape raises."""


class Wrong(Exception):
    """The file is not a proof; the message says where and why."""


def need(truth: bool, why: str) -> None:
    if not truth:
        raise Wrong(why)


WORK = {"left": 0}


def spend(work: int) -> None:
    """Count work before it is done, so that no file takes long."""
    WORK["left"] -= work
    need(WORK["left"] >= 0, "a certificate too large: more work than any proof takes")


# polynomials: {powers: Fraction}; scalars: (top, bottom)


def times(a: dict, b: dict) -> dict:
    spend(len(a) * len(b))
    made: dict = {}
    for (p, c), (r, d) in pairs_of(a.items(), b.items()):
        key = tuple(x + y for x, y in zip(p, r, strict=True))
        made[key] = made.get(key, 0) + c * d
    need(len(made) <= LARGEST["terms"], "a polynomial of too many terms")
    return {key: c for key, c in made.items() if c}


def plus(a: dict, b: dict) -> dict:
    made = dict(a)
    for key, c in b.items():
        made[key] = made.get(key, 0) + c
    return {key: c for key, c in made.items() if c}


BITS = 12
"""Of a power in a packed power product: polynomials {packed powers: whole number} are for signs, where speed counts."""
TOO_LARGE = sum(3 << BITS * i + BITS - 2 for i in range(200))
"""The bits of powers so large that the next product might leave its place."""


def packed(polynomial: dict) -> dict:
    return {sum(p << BITS * i for i, p in enumerate(powers)): int(c) for powers, c in polynomial.items()}


def together(scalar: tuple) -> tuple:
    """Top and bottom times one positive number, so that all coefficients are whole."""
    scale = math.lcm(*(c.denominator for part in scalar for c in part.values()))
    return tuple({powers: c * scale for powers, c in part.items()} for part in scalar)


def unit(index: int) -> dict:
    return {1 << BITS * index: 1}


def product(a: dict, b: dict) -> dict:
    made: dict = {}
    add_product(made, a, b)
    return {key: c for key, c in made.items() if c}


def add_product(made: dict, a: dict, b: dict) -> None:
    spend(len(a) * len(b))
    get = made.get
    for p, c in a.items():
        for r, d in b.items():
            made[p + r] = get(p + r, 0) + c * d
    need(len(made) <= LARGEST["terms"], "a polynomial of too many terms")


def places(indices: set) -> int:
    """All bits of these names' powers."""
    return sum((1 << BITS) - 1 << BITS * index for index in indices)


def support_of(key: int) -> set:
    found, index = set(), 0
    while key:
        if key & ((1 << BITS) - 1):
            found.add(index)
        key, index = key >> BITS, index + 1
    return found


def first_and_later(made: dict, step: int) -> tuple[dict, dict]:
    """A polynomial with 0, and with 1 more, for the parameter that is a step: a whole number."""
    shift = BITS * step
    first: dict = {}
    later: dict = {}
    for key, c in made.items():
        p = key >> shift & ((1 << BITS) - 1)
        if p == 0:
            first[key] = c
        spend(p + 1)
        for r in range(p + 1):
            lower = key - ((p - r) << shift)
            later[lower] = later.get(lower, 0) + c * math.comb(p, r)
    return first, {key: c for key, c in later.items() if c}


def _pulled(made: dict, substitutions: list, names: list) -> dict:
    """With every substitution (name, top, bottom), the last one first, times bottoms."""
    for name, top, bottom in reversed(substitutions):
        shift = BITS * names.index(name)
        by_power: dict = {}
        for key, c in made.items():
            p = key >> shift & ((1 << BITS) - 1)
            by_power.setdefault(p, {})[key - (p << shift)] = c
        degree = max(by_power, default=0)
        if degree == 0:
            continue
        tops, bottoms = [{0: 1}], [{0: 1}]
        for _ in range(degree):
            tops.append(product(tops[-1], top))
            bottoms.append(product(bottoms[-1], bottom))
        made = {}
        for p, part in by_power.items():
            add_product(made, part, product(tops[p], bottoms[degree - p]))
        made = {key: c for key, c in made.items() if c}
        need(not any(key & TOO_LARGE for key in made), "a power too large")
    return made


def _positive(made: dict, positive: set, pairs: list) -> bool:
    """Whether it is > 0: no negative coefficient, and whichever of an interval's two parameters is not 0, a term
    of such parameters and of those > 0 alone."""
    need(len(pairs) <= LARGEST["intervals"], "a region of too many intervals")
    spend(len(made) << len(pairs))
    return all(c > 0 for c in made.values()) and all(
        any(not key & ~allowed for key in made)
        for allowed in (places(positive | set(chosen)) for chosen in pairs_of(*pairs))
    )


class Proof:
    """A file, read; and what its checks share: names, random points, regions."""

    def __init__(self, data: dict) -> None:
        need(isinstance(data, dict) and set(data) == {"format", "names", "regions", "theorems"}, "another file")
        WORK["left"] = LARGEST["work"]
        need(all(isinstance(data[part], list) for part in ("names", "regions", "theorems")), "no lists")
        need(data["format"] == "fedtheory theorem 1", f"format {data['format']!r} is another version's")
        self.names = [str(name) for name in data["names"]]
        need(len(set(self.names)) == len(self.names) <= 40, "names: twice the same, or too many")
        self.width = len(self.names)
        self.one = self.constant(Fraction(1))
        self.points = [[1 + secrets.randbelow(PRIME - 1) for _ in self.names] for _ in range(POINTS)]
        need(len(data["regions"]) <= LARGEST["regions"], "too many regions")
        try:
            self.regions = [
                [(n, kind, None if b is None else self.scalar(b)) for n, kind, b in r] for r in data["regions"]
            ]
        except UNREADABLE as error:
            raise Wrong(f"regions: unreadable: {error!r}") from None
        need(0 < len(data["theorems"]) <= LARGEST["theorems"], "too few theorems or too many")
        self.count = len(data["theorems"])
        self.theorems: list[dict] = []
        self.charts: dict = {}
        self.signs: list[tuple] = []
        for number, line in enumerate(data["theorems"]):
            try:
                self.theorems.append(checked(self, line))
            except Wrong as wrong:
                raise Wrong(f"theorem {number}: {wrong}") from None
            except UNREADABLE as error:
                raise Wrong(f"theorem {number}: unreadable: {error!r}") from None

        for number, scalar, region in self.signs:
            try:
                need(self._nonnegative(scalar, region), "what has to be >= 0 may be negative")
            except Wrong as wrong:
                raise Wrong(f"theorem {number}: {wrong}") from None

    # scalars

    def constant(self, value: Fraction) -> tuple:
        unit = {(0,) * self.width: Fraction(1)}
        return ({(0,) * self.width: value} if value else {}, unit)

    def name(self, name: str) -> tuple:
        return ({tuple(int(n == name) for n in self.names): Fraction(1)}, self.one[1])

    def scalar(self, data: dict) -> tuple:
        need(set(data) == {"top", "bottom"}, "a scalar has a top and a bottom")
        top, bottom = (self.polynomial(data[part]) for part in ("top", "bottom"))
        need(bool(bottom), "a division by 0")
        need(bool(top) or bottom == self.one[1], "a 0 that is not written as 0/1")
        return top, bottom

    def polynomial(self, data: list) -> dict:
        made = {}
        need(len(data) <= LARGEST["terms"], "a polynomial of too many terms")
        for powers, text in data:
            need(
                len(powers) == self.width and all(type(p) is int and 0 <= p <= LARGEST["power"] for p in powers),
                "powers",
            )
            need(isinstance(text, str) and len(text) <= LARGEST["digits"], "a coefficient")
            need(NUMBER.fullmatch(text) is not None, "a coefficient that is no quotient of whole numbers")
            need(tuple(powers) not in made, "a power product twice")
            made[tuple(powers)] = Fraction(text)
        return {key: c for key, c in made.items() if c}

    def multiplied(self, a: tuple, b: tuple) -> tuple:
        return times(a[0], b[0]), times(a[1], b[1])

    def residues(self, scalar: tuple, replaced: dict | None = None) -> tuple:
        """The values at the random points, with other values for some names."""
        found = []
        for j, point in enumerate(self.points):
            at = [replaced[n][j] if replaced and n in replaced else x for n, x in zip(self.names, point, strict=True)]
            top, bottom = (self._residue(part, at) for part in scalar)
            need(bottom != 0, "a division by 0")
            found.append(top * pow(bottom, -1, PRIME) % PRIME)
        return tuple(found)

    def _residue(self, polynomial: dict, at: list) -> int:
        spend(len(polynomial))
        total = 0
        for powers, c in polynomial.items():
            term = c.numerator * pow(c.denominator, -1, PRIME)
            for x, p in zip(at, powers, strict=True):
                if p:
                    term = term * pow(x, p, PRIME) % PRIME
            total += term
        return total % PRIME

    def depends(self, scalar: tuple, name: str) -> bool:
        at = self.names.index(name)
        return any(powers[at] for part in scalar for powers in part)

    def summed(self, scalar: tuple) -> tuple:
        """The residues of sum_{k=0}^{K-1} of a scalar that is a polynomial in k."""
        at = self.names.index("k")
        need(not any(powers[at] for powers in scalar[1]), "a sum over k of a quotient by k")
        by_power: dict[int, dict] = {}
        for powers, c in scalar[0].items():
            rest = tuple(0 if i == at else p for i, p in enumerate(powers))
            by_power.setdefault(powers[at], {})[rest] = c
        total = (0,) * POINTS
        count = self.residues(self.name("K"))
        for p, part in by_power.items():
            value = self.residues((part, scalar[1]))
            total = tuple((t + v * _power_sum(p, n)) % PRIME for t, v, n in zip(total, value, count, strict=True))
        return total

    # regions

    def chart(self, region: int) -> tuple:
        """([(name, top, bottom)], which parameters are > 0, which two are not both 0): every scalar by parameters >= 0,
        the last scalar by the earlier ones."""
        if region not in self.charts:
            self.charts[region] = self._chart(self.regions[region])
        return self.charts[region]

    def _chart(self, conditions: list) -> tuple:
        labels = [*self.names]
        seen: set[str] = set()
        positive: set[int] = set()
        made: list[tuple] = []
        pairs: list[tuple] = []

        def new(label: str) -> int:
            labels.append(label)
            return len(labels) - 1

        number = {0: 1}
        for name, kind, bound in reversed(conditions):
            need(name in self.names and name not in seen, f"region: {name} twice, or no name")
            need(name != "k", "region: k is any step, from 0 to K - 1")
            top, bottom = ({}, {}) if bound is None else (packed(part) for part in together(bound))
            if bound is not None:
                used = {n for part in bound for powers in part for n, p in zip(self.names, powers, strict=True) if p}
                need(used <= seen, f"region: the bound of {name} uses what is not yet given")
                need(_positive(_pulled(bottom, made, self.names), positive, pairs), f"region: {name}: a bound over 0")
            seen.add(name)
            u = unit(new(f"{name}'"))
            if kind == "positive":
                positive.add(len(labels) - 1)
                made.append((name, u, number))
            elif kind == "nonnegative":
                made.append((name, u, number))
            elif kind == "count" and name == "K":
                k = unit(new("k'"))
                made += [("k", k, number), (name, plus(plus(number, u), k), number)]
            elif kind == "count":
                made.append((name, plus(number, u), number))
            elif kind == "capped":
                made.append((name, top, product(bottom, plus(number, u))))
            elif kind == "interval":
                v = unit(new(f"{name}''"))
                pairs.append((len(labels) - 2, len(labels) - 1))
                made.append((name, product(top, u), product(bottom, plus(u, v))))
            elif kind == "at_least":
                made.append((name, plus(top, product(u, bottom)), bottom))
            else:
                raise Wrong(f"region: a condition {kind!r}")
        return made, positive, pairs

    def pulled(self, polynomial: dict, region: int) -> dict:
        """The polynomial in the parameters, times a positive number and bottoms that are > 0 on the region."""
        made = _pulled(packed(together((polynomial, self.one[1]))[0]), self.chart(region)[0], self.names)
        need(not any(key & ((1 << BITS * self.width) - 1) for key in made), "a scalar of which the region says nothing")
        return made

    def nonnegative(self, scalar: tuple, region: int) -> bool:
        """Noted, to be decided when all else is right: a scalar that is not >= 0 makes the file no proof."""
        self.signs.append((len(self.theorems), scalar, region))
        return True

    def _nonnegative(self, scalar: tuple, region: int) -> bool:
        if not scalar[0]:
            return True
        top, bottom = scalar
        if not self.positive(bottom, region):
            top, bottom = ({key: -c for key, c in part.items()} for part in scalar)
        if not self.positive(bottom, region):
            return False
        made, step = self.pulled(top, region), self.step_of(region)
        return self._has_signs(made) or (step is not None and all(map(self._has_signs, first_and_later(made, step))))

    def _has_signs(self, made: dict) -> bool:
        multiplier = {0: 1} | {1 << BITS * i: 1 for i in support_of(functools.reduce(operator.or_, made, 0))}
        for _ in range(4):
            if all(c > 0 for c in made.values()):
                return True
            made = product(made, multiplier)
        return False

    def step_of(self, region: int) -> int | None:
        """Which parameter is the step k itself."""
        found = [top for name, top, _ in self.chart(region)[0] if name == "k"]
        return next(iter(support_of(*found[0]))) if found else None

    def positive(self, polynomial: dict, region: int) -> bool:
        return _positive(self.pulled(polynomial, region), *self.chart(region)[1:])

    def never_zero(self, polynomial: dict, region: int) -> bool:
        return self.positive(polynomial, region) or self.positive({key: -c for key, c in polynomial.items()}, region)

    def within(self, inner: int, outer: int) -> bool:
        mine = [(n, kind, None if b is None else self.residues(b)) for n, kind, b in self.regions[inner]]
        for name, kind, bound in self.regions[outer]:
            if (name, kind, None if bound is None else self.residues(bound)) in mine:
                continue
            if name not in {n for n, *_ in mine}:
                return False
            for scalar, strict in self.conditions(name, kind, bound):
                if not self.nonnegative(scalar, inner) or (strict and not self.never_zero(scalar[0], inner)):
                    return False
        return True

    def conditions(self, name: str, kind: str, bound: tuple | None) -> list:
        x = self.name(name)
        if kind in ("positive", "nonnegative"):
            return [(x, kind == "positive")]
        if kind == "count":
            return [((plus(x[0], self.constant(Fraction(-1))[0]), x[1]), False)]
        if bound is None:
            raise Wrong("a condition without its bound")
        top, bottom = bound
        rest = plus(top, {key: -c for key, c in times(x[0], bottom).items()})
        if kind == "at_least":
            return [(({key: -c for key, c in rest.items()}, bottom), False)]
        return [(x, kind == "capped"), ((rest, bottom), False)]

    def __len__(self) -> int:
        return len(self.theorems)


def _power_sum(p: int, n: int) -> int:
    """sum_{k=0}^{n-1} k^p modulo the prime, as a polynomial in n: by its values at 0, ..., p + 1 (Lagrange)."""
    values, total = [0], 0
    for k in range(p + 1):
        values.append((values[-1] + pow(k, p, PRIME)) % PRIME)
    for i, value in enumerate(values):
        term = value
        for j in range(len(values)):
            if j != i:
                term = term * (n - j) % PRIME * pow(i - j, -1, PRIME) % PRIME
        total += term
    return total % PRIME


# vectors: [(term, scalar)]; forms while they are made: [(entry, scalar or residues)]; forms compared: {entry: residues}


def atom_of(data: list) -> tuple:
    name, client, step = data
    need((name, client, bool(step)) in STAGES and len(step) in (0, 3), "no vector of the algorithm")
    need(all(type(part) is int for part in step) and (not step or step[0] in (0, 1)), f"{data!r}: a step")
    return name, client, tuple(step)


def term_of(data: list) -> tuple:
    bound, atom = data
    need(bound in BINDERS, "binders of a vector")
    return bound, atom_of(atom)


def stage(atom: tuple) -> tuple:
    return STAGES[atom[0], atom[1], bool(atom[2])]


def open_client(term: tuple) -> bool:
    return term[1][1] and not set(term[0]) & {"M", "S"}


def open_step(term: tuple) -> bool:
    return bool(term[1][2]) and term[1][2][0] != 0 and "K" not in term[0]


def free(entry: tuple) -> set:
    if entry[0] == "one":
        return set()
    bound, terms = entry[1], entry[2:] if entry[0] == "product" else [("", entry[2])]
    clients = any(map(open_client, terms)) or entry[0] == "value"
    found = {"i"} if clients and not set(bound) & {"M", "S"} else set()
    return found | ({"k"} if any(map(open_step, terms)) and "K" not in bound else set())


def entry_of(data: list) -> tuple:
    if data[0] == "one":
        return ("one",)
    need(data[1] in BINDERS, "binders of an entry")
    if data[0] == "value":
        return "value", data[1], atom_of(data[2])
    need(data[0] == "product", f"entry {data[0]!r}")
    return "product", data[1], *sorted((term_of(data[2]), term_of(data[3])))


def started(atom: tuple) -> tuple:
    if atom[2] == (0, 0, 0) and atom[0] in ("x", "g", "x_mean", "g_mean"):
        return START_POINT if atom[0][0] == "x" else ("g_start", True, ())
    return atom


def shifted(atom: tuple, a: int, b: int, c: int) -> tuple:
    p, q, r = atom[2]
    return started((atom[0], atom[1], (p * a, q + p * b, r + p * c)))


def at_start(entry: tuple) -> bool:
    if entry[0] == "one":
        return True
    atoms = [entry[2]] if entry[0] == "value" else [t[1] for t in entry[2:]]
    bounds = entry[1] + ("" if entry[0] == "value" else entry[2][0] + entry[3][0])
    return "S" not in bounds and all(stage(atom)[0] == "start" for atom in atoms)


def of_cohort(entry: tuple) -> bool:
    """Whether a cohort's mean, or the round's end, occurs in it."""
    if entry[0] == "product":
        binders = entry[1] + entry[2][0] + entry[3][0]
        return "S" in binders or "end" in (stage(entry[2][1])[0], stage(entry[3][1])[0])
    return entry[0] == "value" and ("S" in entry[1] or stage(entry[2])[0] == "end")


def of_algorithm(form: dict) -> bool:
    names = {t[1][0] for e in form if e[0] == "product" for t in e[2:]}
    return not all(map(at_start, form)) or any(name.startswith("E ") for name in names)


def one_algorithm(parameters: dict) -> None:
    """Refuse parameters of which one algorithm has not all: of weighted updates, of clients that answer, of intervals
    between participations, of a server's rounds, of cohorts'."""
    marks = (("weighted_lr",), ("selected_lr",), ("cutoff",), ("server_lr", "client_round_probability"),
             ("cohort", "probability"))  # fmt: skip
    need(sum(any(n in parameters for n in mark) for mark in marks) <= 1, f"two algorithms: {sorted(parameters)}")


class Rules:
    """The kernel's rules, each from a line's premises and arguments to what it has to conclude."""

    def __init__(self, proof: Proof, line: dict, premises: list[dict]) -> None:
        self.proof, self.line, self.premises, self.given = proof, line, premises, line["arguments"]
        self.region = line["where"]

    # making forms

    def vector(self, data: list) -> list:
        return [(term_of(term), self.proof.scalar(c)) for term, c in data]

    def of(self, atom: tuple, c: int = 1) -> list:
        return [(("", atom), self.proof.constant(Fraction(c)))]

    def scaled(self, vector: list, c: tuple) -> list:
        return [(term, self.proof.multiplied(c, d)) for term, d in vector]

    def minus(self, vector: list) -> list:
        return self.scaled(vector, self.proof.constant(Fraction(-1)))

    def dot(self, left: list, right: list, c: tuple | None = None) -> list:
        c = c or self.proof.one
        spend(len(left) * len(right))
        return [(("product", "", *sorted((u, v))), self.proof.multiplied(c, self.proof.multiplied(a, b)))
                for (u, a), (v, b) in pairs_of(left, right)]  # fmt: skip

    def square(self, vector: list, c: tuple | None = None) -> list:
        return self.dot(vector, vector, c)

    def number(self, c: tuple) -> list:
        return [(("one",), c)]

    def vector_under(self, vector: list, binder: str) -> list:
        made = []
        for (bound, atom), c in vector:
            opened = open_step((bound, atom)) if binder == "K" else open_client((bound, atom))
            need(opened or binder != "K", "a sum over steps of what does not depend on them is not needed here")
            need(not (binder == "K" and self.proof.depends(c, "k")), "a sum over k of a factor with k")
            made.append((("".join(sorted(bound + binder)) if opened else bound, atom), c))
        return made

    def under(self, items: list, binder: str) -> list:
        return [self._below(entry, c, binder) for entry, c in items]

    def _below(self, entry: tuple, c: tuple, binder: str) -> tuple:
        if ("k" if binder == "K" else "i") not in free(entry):
            return entry, self.proof.summed(c) if binder == "K" else c
        if binder == "K":
            need(isinstance(c[0], dict) and not self.proof.depends(c, "k"), "a sum over k of a factor with k")
        bound = "".join(sorted(entry[1] + binder))
        if entry[0] == "value":
            return ("value", bound, entry[2]), c
        opened = [(open_step if binder == "K" else open_client)(t) for t in entry[2:]]
        if all(opened):
            return ("product", bound, *entry[2:]), c
        terms = [("".join(sorted(t[0] + binder)), t[1]) if o else t for t, o in zip(entry[2:], opened, strict=True)]
        return ("product", entry[1], *sorted(terms)), c

    def total(self, *parts: tuple[list, tuple | None]) -> dict:
        """{entry: residues} of a sum of items times scalars."""
        made: dict = {}
        for items, factor in parts:
            spend(len(items))
            scale = self.proof.residues(factor) if factor else (1,) * POINTS
            for entry, c in items:
                value = self.proof.residues(c) if isinstance(c[0], dict) else c
                old = made.get(entry, (0,) * POINTS)
                made[entry] = tuple((o + v * s) % PRIME for o, v, s in zip(old, value, scale, strict=True))
        return {entry: c for entry, c in made.items() if any(c)}

    def items(self, theorem: dict) -> list:
        return list(theorem["items"].items())

    def moved(self, items: list, a: int, b: int, c: int) -> list:
        """With a k + b K + c for k."""
        need(not any("k" in free(e) and "K" in e[1] for e, _ in items if e[0] != "one"), "a step below a sum")
        index = [
            (a * k + b * n + c) % PRIME
            for k, n in zip(
                self.proof.residues(self.proof.name("k")), self.proof.residues(self.proof.name("K")), strict=True
            )
        ]
        made = []
        for entry, scalar in items:
            if entry[0] == "product":
                terms = [(t[0], shifted(t[1], a, b, c)) if t[1][2] and "K" not in t[0] else t for t in entry[2:]]
                terms = [t if t[1][1] else (t[0].replace("M", "").replace("S", ""), t[1]) for t in terms]
                means = [binder for binder in entry[1] if binder in "MS"]
                entry = ("product", "".join(b for b in entry[1] if b not in "MS"), *sorted(terms))
                for binder in means:
                    entry, _ = self._below(entry, scalar, binder)
            elif entry[0] == "value" and entry[2][2]:
                entry = ("value", entry[1], shifted(entry[2], a, b, c))
            made.append((entry, self.proof.residues(scalar, {"k": index})))
        return made

    # what a line says of itself

    def context_allows(self, theorem: dict, context: str, kind: str) -> None:
        same = theorem["context"] == context and theorem["kind"] in ("", kind)
        need(same or theorem["context"] != "run", "a premise of the whole run, where something is given")
        need(same or all(map(at_start, theorem["form"])), f"a premise given the {theorem['context']} {theorem['kind']}")

    def inside(self, theorem: dict) -> None:
        need(self.proof.within(self.region, theorem["where"]), "a premise shown on a region that does not contain this")

    def inherited(self) -> dict:
        found: dict = {}
        for theorem in self.premises:
            given = dict(theorem["parameters"])
            if self.line["context"] == "start" and theorem["kind"] and "size" in given:
                given["cohort" if theorem["kind"] == "uniform" else "arbitrary_cohort"] = given.pop("size")
            for name, value in given.items():
                need(found.setdefault(name, value) == value, f"two algorithms: {name}")
        one_algorithm(found)
        return found

    def concluded(
        self,
        form: dict,
        *,
        context: str,
        kind: str = "",
        equality: bool = False,
        to_the_end: bool = False,
        more: tuple = (),
        assumptions: set | None = None,
        parameters: dict | None = None,
    ) -> dict:
        every = set().union(*(t["assumptions"] for t in self.premises)) if assumptions is None else assumptions
        given = {(n, None if c is None else self.proof.residues(c)) for n, c in more}
        return {
            "form": form,
            "context": context,
            "kind": kind,
            "equality": equality,
            "path_to_the_end": to_the_end,
            "assumptions": every | given,
            "parameters": self.inherited() if parameters is None else parameters,
        }

    # rules

    def combine(self) -> dict:
        line, multipliers = self.line, [self.proof.scalar(c) for c in self.given["multipliers"]]
        constant, squares = self.proof.scalar(self.given["constant"]), self.given["squares"]
        need(len(multipliers) == len(self.premises), "as many multipliers as premises")
        equality = not squares and not constant[0]
        to_the_end, parts = bool(self.premises) and not self.proof.depends(constant, "k"), []
        for theorem, c in zip(self.premises, multipliers, strict=True):
            self.context_allows(theorem, line["context"], line["kind"])
            self.inside(theorem)
            need(self.proof.never_zero(c[1], self.region), "a multiplier divides by what may be 0")
            need(theorem["equality"] or self.proof.nonnegative(c, self.region), "a multiplier that may be negative")
            equality &= theorem["equality"]
            closed = "k" not in self.frees(theorem)
            to_the_end &= (theorem["path_to_the_end"] or closed) and not self.proof.depends(c, "k")
            parts.append((self.items(theorem), c))
        for vector, bound, data in squares:
            c, items = self.proof.scalar(data), self.square(self.vector(vector))
            need(self.proof.nonnegative(c, self.region), "a square's multiplier that may be negative")
            to_the_end &= not self.proof.depends(c, "k")
            need(bound in BINDERS or bound[::-1] in BINDERS, "binders of a square")
            for binder in bound:
                items = self.under(items, binder)
            parts.append((items, c))
        need(self.proof.nonnegative(constant, self.region), "a constant that may be negative")
        return self.concluded(self.total(*parts, (self.number(constant), None)), context=line["context"],
                              kind=line["kind"], equality=equality, to_the_end=to_the_end)  # fmt: skip

    def frees(self, theorem: dict) -> set:
        found = set().union(*map(free, theorem["form"])) if theorem["form"] else set()
        return found | ({"k"} if any(self.proof.depends(c, "k") for c in theorem["items"].values()) else set())

    def over_clients(self) -> dict:
        (theorem,), binder = self.premises, self.given["binder"]
        need(binder in ("M", "S") and "i" in self.frees(theorem), "a mean over clients of what is for every client")
        about_start = all(map(at_start, theorem["form"]))
        need(binder == "M" or theorem["context"] == "cohort" or about_start, "a mean over a cohort that is not given")
        need(binder == "M" or theorem["context"] != "run", "a mean over a cohort of what holds over the whole run")
        context = "cohort" if binder == "S" else theorem["context"]
        form = self.total((self.under(self.items(theorem), binder), None))
        return self.concluded(form, context=context, kind=theorem["kind"], equality=theorem["equality"],
                              to_the_end=theorem["path_to_the_end"])  # fmt: skip

    def over_steps(self) -> dict:
        (theorem,) = self.premises
        need("k" in self.frees(theorem), "a sum over steps of what is for every step")
        return self.concluded(self.total((self.under(self.items(theorem), "K"), None)), context=theorem["context"],
                              kind=theorem["kind"], equality=theorem["equality"])  # fmt: skip

    def induct(self) -> dict:
        (base, step), factor = self.premises, self.proof.scalar(self.given["factor"])
        bound = [(entry_of(e), self.proof.scalar(c)) for e, c in self.line["form"]]
        need((base["context"], base["kind"]) == (step["context"], step["kind"]), "base and step given another thing")
        need(not any(self.proof.depends((c[1], c[1]), "k") for _, c in bound), "an induction that divides by k")
        need(base["form"] == self.total((self.moved(bound, 0, 0, 0), None)), "the base is another one")
        minus = self.proof.multiplied(self.proof.constant(Fraction(-1)), factor)
        need(step["form"] == self.total((self.moved(bound, 1, 0, 1), None), (bound, minus)), "the step is another one")
        need(self.region == step["where"] and self.proof.within(self.region, base["where"]), "regions of an induction")
        need(self.proof.nonnegative(factor, self.region), "an induction's factor that may be negative")
        need(any(self.proof.depends(c, "k") for _, c in bound) or any("k" in free(e) for e, _ in bound), "no k in it")
        return self.concluded(self.total((bound, None)), context=step["context"], kind=step["kind"], to_the_end=True)

    def last_step(self) -> dict:
        (theorem,) = self.premises
        need(theorem["path_to_the_end"], "shown for k < K only")
        return self.concluded(self.total((self.moved(self.items(theorem), 0, 1, 0), None)), context=theorem["context"],
                              kind=theorem["kind"], equality=theorem["equality"])  # fmt: skip

    def instantiate(self) -> dict:
        (theorem,) = self.premises
        values = {name: self.proof.scalar(c) for name, c in self.given["values"].items()}
        need(not set(values) & {"k", "K"}, "k and K stay what they are")
        need(not any(self.proof.depends(c, "k") for c in values.values()), "a scalar that depends on the step")
        need(all(self.proof.never_zero(c[1], self.region) for c in values.values()), "a value divides by what may be 0")
        at = {name: self.proof.residues(c) for name, c in values.items()}
        for name, kind, bound in self.proof.regions[theorem["where"]]:
            for scalar, strict in self.proof.conditions(name, kind, bound):
                changed = self.replaced(scalar, values)
                need(self.proof.nonnegative(changed, self.region), f"the condition on {name} is not met")
                need(
                    not strict or self.proof.never_zero(changed[0], self.region), f"the condition on {name} is not met"
                )
        form = {e: self.proof.residues(c, at) for e, c in theorem["items"].items()}
        assumptions = {(n, None if c is None else self.proof.residues(c, at)) for n, c in theorem["assumed"]}
        parameters = {n: self.proof.residues(c, at) for n, c in theorem["parametrised"].items()}
        return self.concluded({e: c for e, c in form.items() if any(c)}, context=theorem["context"],
                              kind=theorem["kind"], equality=theorem["equality"], assumptions=assumptions,
                              to_the_end=theorem["path_to_the_end"], parameters=parameters)  # fmt: skip

    def replaced(self, scalar: tuple, values: dict) -> tuple:
        made = [self._replaced(part, values) for part in scalar]
        return times(made[0][0], made[1][1]), times(made[0][1], made[1][0])

    def _replaced(self, polynomial: dict, values: dict) -> tuple:
        total = self.proof.constant(Fraction(0))
        for powers, c in polynomial.items():
            term = self.proof.constant(c)
            for name, p in zip(self.proof.names, powers, strict=True):
                for _ in range(p):
                    term = self.proof.multiplied(term, values.get(name) or self.proof.name(name))
            total = plus(times(total[0], term[1]), times(term[0], total[1])), times(total[1], term[1])
        return total

    def expect_uniform(self) -> dict:
        (theorem,), size, share = self.premises, *(self.proof.scalar(self.given[n]) for n in ("size", "share"))
        self.context_allows(theorem, "cohort", "uniform")
        self.inside(theorem)
        need("i" not in self.frees(theorem), "an expectation over the cohort of what is for every client")
        name = [n for n in self.proof.names if self.proof.residues(self.proof.name(n)) == self.proof.residues(share)]
        at_most = self.proof.residues((size[1], size[0]))
        said = [c for c in self.proof.regions[self.region] if name and c[0] == name[0] and c[1] == "interval"]
        need(any(self.proof.residues(c[2]) == at_most for c in said), "0 <= share <= 1/size is not said")
        rest = plus(self.proof.one[0], {key: -c for key, c in share[0].items()}), share[1]
        form = self.total(*((self.drawn(e, share, rest), c) for e, c in theorem["items"].items()))
        return self.concluded(form, context="kind", kind="uniform", equality=theorem["equality"],
                              more=(("uniform_cohorts", None),),
                              parameters=self.sized(theorem, size) | {"share": self.proof.residues(share)})  # fmt: skip

    def sized(self, theorem: dict, size: tuple) -> dict:
        value = self.proof.residues(size)
        need(theorem["parameters"].get("size", value) == value, "cohorts of another size")
        return theorem["parameters"] | {"size": value}

    def drawn(self, entry: tuple, share: tuple, rest: tuple) -> list:
        one = self.proof.one
        if at_start(entry):
            return [(entry, one)]
        if entry[0] == "value":
            need(stage(entry[2])[0] == "start" or "S" not in entry[1], "a cohort's later value")
            return [
                (("value", entry[1].replace("S", "M") if stage(entry[2])[0] == "start" else entry[1], entry[2]), one)
            ]
        cohorts = ["S" in t[0] for t in entry[2:]]
        if "S" not in entry[1] and not any(cohorts):
            return [(entry, one)]
        need(all(stage(t[1])[0] == "start" for t in entry[2:]), "a cohort's later vector")
        terms = [(t[0].replace("S", "M"), t[1]) for t in entry[2:]]
        far = ("product", entry[1].replace("S", "M"), *sorted(terms))
        if not all(cohorts):
            return [(far, one)]
        return [(("product", "M", *sorted(("", t[1]) for t in terms)), share), (far, rest)]

    def expect_arbitrary(self) -> dict:
        (theorem,), size = self.premises, self.proof.scalar(self.given["size"])
        self.context_allows(theorem, "cohort", "arbitrary")
        need(not any("S" in e[1] for e in theorem["form"] if e[0] != "one"), "a mean of products over any cohort")
        need("i" not in self.frees(theorem) and self.region == theorem["where"], "of every client, or another region")
        return self.concluded(theorem["form"], context="kind", kind="arbitrary", equality=theorem["equality"],
                              parameters=self.sized(theorem, size))  # fmt: skip

    def project(self) -> dict:
        family, other, kind = atom_of(self.given["family"]), self.vector(self.given["other"]), self.line["kind"]
        need(stage(family)[0] == "start" and family[1] and kind in ("uniform", "arbitrary"), "of a family at the start")
        need(
            all(stage(t[1])[0] == "start" and "S" not in t[0] and not open_client(t) for t, _ in other), "with a later"
        )
        need(not any(self.proof.depends(c, "k") for _, c in other), "of a step")
        mean = [(("S", family), self.proof.one)]
        form = self.dot([*mean, *self.of(atom_of([f"E {kind} {family[0]}", False, []]), -1)], other)
        return self.concluded(self.total((form, None)), context="kind", kind=kind, equality=True)

    def two_kinds(self, *kinds: str) -> tuple:
        """The probability of the first of two kinds of round and that of the other: each premise is of its kind, and
        they agree in what is not known at the start."""
        q = self.proof.scalar(self.given["probability"])
        need(q[1] == self.proof.one[1], "a probability that is a quotient")
        p = plus(self.proof.one[0], {key: -c for key, c in q[0].items()}), q[1]
        late = []
        for theorem, kind in zip(self.premises, kinds, strict=True):
            self.context_allows(theorem, "kind", kind)
            self.inside(theorem)
            late.append({e: c for e, c in theorem["form"].items() if not at_start(e)})
        need(self.proof.nonnegative(q, self.region) and self.proof.nonnegative(p, self.region), "no probability")
        need(late[0] == late[1], "what is not known at the start differs between the kinds")
        need(not any("S" in e[1] + "".join(t[0] for t in e[2:] if e[0] == "product") for e in late[0]), "a cohort's")
        return q, p

    def mix(self) -> dict:
        snapshot, arbitrary = self.premises
        q, p = self.two_kinds("uniform", "arbitrary")
        one, other = snapshot["parameters"], arbitrary["parameters"]
        need("size" in one and "size" in other, "no sizes of cohorts")
        need(all(one[n] == other[n] for n in (one.keys() & other.keys()) - {"size"}), "two algorithms")
        parameters = {n: v for n, v in (one | other).items() if n != "size"}
        parameters |= {"cohort": one["size"], "arbitrary_cohort": other["size"], "probability": self.proof.residues(q)}
        form = self.total((self.items(snapshot), q), (self.items(arbitrary), p))
        return self.concluded(form, context="start", parameters=parameters, more=(("random_kinds", q),),
                              equality=snapshot["equality"] and arbitrary["equality"])  # fmt: skip

    def mix_server(self) -> dict:
        server, clients = self.premises
        q, p = self.two_kinds("server", "arbitrary")
        one, other = server["parameters"], clients["parameters"]
        need("server_lr" in one and "size" in other, "no step of the server, or no size of the cohort")
        need(all(one[n] == other[n] for n in one.keys() & other.keys()), "two algorithms")
        parameters = {n: v for n, v in (one | other).items() if n != "size"}
        parameters |= {"arbitrary_cohort": other["size"], "client_round_probability": self.proof.residues(q)}
        form = self.total((self.items(server), p), (self.items(clients), q))
        return self.concluded(form, context="start", parameters=parameters, more=(("random_client_rounds", q),),
                              equality=server["equality"] and clients["equality"])  # fmt: skip

    # axioms

    def axiom(self, items: list, *more: tuple, context: str = "start", equality: bool = False) -> dict:
        need(not self.premises, "an axiom has no premises")
        given = {n: self.proof.residues(self.proof.scalar(c)) for n, c in self.line["parameters"].items()}
        of_paths = {"local_lr", "size"} if context == "cohort" else set()
        if context == "cohort" and self.line["context"] in ("start", "run"):  # of paths, whatever the cohort
            need(not any(map(of_cohort, (e for e, _ in items))), "of a cohort, which is not given")
            context, of_paths = self.line["context"], {"local_lr"}
            more = tuple(part for part in more if part[0] != "cohort_before_noise")
        need(set(given) == of_paths, "parameters of an axiom")
        return self.concluded(
            self.total((items, None)), context=context, equality=equality, more=more, parameters=given
        )

    def points(self) -> tuple:
        p, q = atom_of(self.given["p"]), atom_of(self.given["q"])
        context = "cohort" if {"path", "end"} & {stage(p)[0], stage(q)[0]} else "start"
        return p, q, [*self.of(p), *self.of(q, -1)], context

    def gradient(self, point: tuple) -> list:
        if point[:2] == ("x", True):
            return self.of(started(("g", True, point[2])))
        if point[0] == "x_mean":
            return self.of(started(("g_mean", True, point[2])))
        if re.fullmatch("point_[0-2]", point[0]):
            return self.of((f"g_{point[0]}", True, ()))
        need(point in (START_POINT, OPTIMUM), f"a gradient at {point[0]}")
        return self.of(("g_start" if point == START_POINT else "g_opt", True, ()))

    def argument(self, name: str) -> tuple:
        return self.proof.scalar(self.given[name])

    def smooth(self) -> dict:
        p, q, d, context = self.points()
        L, g = self.argument("L"), [*self.gradient(p), *self.minus(self.gradient(q))]
        squared = self.proof.multiplied(L, L)
        return self.axiom([*self.square(d, squared), *self.square(g, self.proof.constant(Fraction(-1)))],
                          ("smooth", L), context=context)  # fmt: skip

    def cocoercive(self) -> dict:
        p, q, d, context = self.points()
        L, mu, g = self.argument("L"), self.argument("mu"), [*self.gradient(p), *self.minus(self.gradient(q))]
        need(L[1] == mu[1] == self.proof.one[1], "constants that are quotients")
        both = plus(L[0], mu[0]), self.proof.one[1]
        negative = self.proof.multiplied(self.proof.constant(Fraction(-1)), self.proof.multiplied(L, mu))
        items = [*self.dot(g, d, both), *self.square(d, negative), *self.square(g, self.proof.constant(Fraction(-1)))]
        return self.axiom(items, ("smooth", L), ("strongly_convex", mu), context=context)

    def interpolated(self) -> dict:
        p, q, d, context = self.points()
        L, mu, g = self.argument("L"), self.argument("mu"), [*self.gradient(p), *self.minus(self.gradient(q))]
        need(L[1] == mu[1] == self.proof.one[1], "constants that are quotients")
        twice = self.proof.multiplied(self.proof.constant(Fraction(2)), mu)
        wide = plus(times(self.proof.constant(Fraction(2))[0], L[0]), {key: -c for key, c in twice[0].items()}), L[1]
        above = [*self.values(p, q), *self.dot(self.minus(self.gradient(q)), d)]
        negative = self.proof.multiplied(self.proof.constant(Fraction(-1)), self.proof.multiplied(L, mu))
        items = [*((e, self.proof.multiplied(c, wide)) for e, c in above), *self.dot(g, d, twice),
                 *self.square(g, self.proof.constant(Fraction(-1))), *self.square(d, negative)]  # fmt: skip
        return self.axiom(items, ("smooth", L), ("strongly_convex", mu), context=context)

    def values(self, p: tuple, q: tuple) -> list:
        return [(("value", "", p), self.proof.one), (("value", "", q), self.proof.constant(Fraction(-1)))]

    def convex(self) -> dict:
        p, q, d, context = self.points()
        mu = self.argument("mu")
        half = self.proof.multiplied(mu, self.proof.constant(Fraction(-1, 2)))
        items = [*self.values(p, q), *self.dot(self.minus(self.gradient(q)), d), *self.square(d, half)]
        return self.axiom(items, ("strongly_convex", mu), context=context)

    def descent(self) -> dict:
        p, q, d, context = self.points()
        L = self.argument("L")
        half = self.proof.multiplied(L, self.proof.constant(Fraction(1, 2)))
        items = [*self.values(q, p), *self.dot(self.gradient(q), d), *self.square(d, half)]
        return self.axiom(items, ("smooth", L), context=context)

    def constants_in_order(self) -> dict:
        L, mu = self.argument("L"), self.argument("mu")
        minus = self.proof.multiplied(self.proof.constant(Fraction(-1)), mu)
        return self.axiom([*self.number(L), *self.number(minus)], ("smooth", L), ("strongly_convex", mu))

    def dissimilar(self) -> dict:
        point, squared = atom_of(self.given["point"]), self.argument("squared")
        need(not point[1], "dissimilarity at a point that is not the same for all clients")
        g = self.gradient(point)
        apart = [*g, *self.minus(self.vector_under(g, "M"))]
        name = "bounded_dissimilarity" + ("_at_optimum" if point == OPTIMUM else "")
        items = [*self.number(squared), *self.square(apart, self.proof.constant(Fraction(-1)))]
        return self.axiom(items, (name, squared), context="cohort" if stage(point)[0] == "path" else "start")

    def other(self) -> list:
        return self.vector(self.given["other"])

    def optimal(self) -> dict:
        other = self.other()
        need(all(stage(t[1])[0] == "start" and "S" not in t[0] for t, _ in other), "with what is known later")
        return self.axiom(self.dot(self.vector_under(self.gradient(OPTIMUM), "M"), other), equality=True)

    def step(self) -> tuple:
        return self.proof.scalar(self.line["parameters"]["local_lr"])

    def local_step(self) -> dict:
        moved = [*self.of(shifted(ITERATE, 1, 0, 1)), *self.of(ITERATE, -1),
                 *self.scaled([*self.of(ALONG), *self.of(NOISE)], self.step())]  # fmt: skip
        return self.axiom(self.dot(moved, self.other()), context="cohort", equality=True)

    def round(self) -> dict:
        need(not self.proof.depends(self.step(), "k"), "steps of several sizes")
        steps = self.vector_under(self.vector_under([*self.of(ALONG), *self.of(NOISE)], "S"), "K")
        moved = [*self.of(NEXT), *self.of(START_POINT, -1), *self.scaled(steps, self.step())]
        return self.axiom(self.dot(moved, self.other()), context="cohort", equality=True)

    def unbiased(self) -> dict:
        other = self.other()
        need(all(map(self.before_noise, (t for t, _ in other))), "noise against what may depend on it")
        return self.axiom(self.dot(self.of(NOISE), other), ("unbiased_noise", None), ("cohort_before_noise", None),
                          context="cohort", equality=True)  # fmt: skip

    def before_noise(self, term: tuple) -> bool:
        """Whether a term is known before the noise of step k."""
        when, lag = stage(term[1])
        if when != "path":
            return when == "start"
        a, b, c = term[1][2]
        return "K" not in term[0] and (a, b) == (1, 0) and c + lag <= 0

    def variance(self) -> dict:
        squared = self.argument("squared")
        items = [*self.number(squared), *self.square(self.of(NOISE), self.proof.constant(Fraction(-1)))]
        return self.axiom(items, ("bounded_noise", squared), ("cohort_before_noise", None), context="cohort")

    def uncorrelated(self) -> dict:
        size = self.proof.scalar(self.line["parameters"]["size"])
        apart = self.under(self.square(self.of(NOISE)), "S")
        items = [
            *self.square(self.vector_under(self.of(NOISE), "S")),
            *((e, self.proof.multiplied(c, (({k: -v for k, v in size[1].items()}), size[0]))) for e, c in apart),
        ]
        named = ("uncorrelated_noise", "unbiased_noise", "cohort_before_noise", "cohort_is_a_set")
        return self.axiom(items, *((name, None) for name in named), context="cohort", equality=True)

    def steps_apart(self) -> dict:
        noise = self.vector_under(self.of(NOISE), "S")
        apart = self.under(self.square(noise, self.proof.constant(Fraction(-1))), "K")
        items = [*self.square(self.vector_under(noise, "K")), *apart]
        return self.axiom(items, ("unbiased_noise", None), ("cohort_before_noise", None), context="cohort",
                          equality=True)  # fmt: skip

    # a server's round

    def server_axiom(self, items: list, *more: tuple, equality: bool = False) -> dict:
        need(not self.premises, "an axiom has no premises")
        given = {n: self.proof.residues(self.proof.scalar(c)) for n, c in self.line["parameters"].items()}
        need(set(given) == {"server_lr"}, "parameters of an axiom")
        return self.concluded(self.total((items, None)), context="kind", kind="server", equality=equality, more=more,
                              parameters=given)  # fmt: skip

    def closed(self) -> list:
        other = self.other()
        need(not any(open_client(t) or open_step(t) or self.proof.depends(c, "k") for t, c in other), "of every client")
        return other

    def server_round(self) -> dict:
        step = self.proof.scalar(self.line["parameters"]["server_lr"])
        gradient = [*self.vector_under(self.gradient(START_POINT), "M"), *self.of(SERVER_NOISE)]
        moved = [*self.of(NEXT), *self.of(START_POINT, -1), *self.scaled(gradient, step)]
        return self.server_axiom(self.dot(moved, self.closed()), equality=True)

    def server_unbiased(self) -> dict:
        other = self.closed()
        need(all(stage(t[1])[0] == "start" and "S" not in t[0] for t, _ in other), "noise against what is known later")
        return self.server_axiom(self.dot(self.of(SERVER_NOISE), other), ("unbiased_server_noise", None), equality=True)

    def server_variance(self) -> dict:
        squared = self.argument("squared")
        items = [*self.number(squared), *self.square(self.of(SERVER_NOISE), self.proof.constant(Fraction(-1)))]
        return self.server_axiom(items, ("bounded_server_noise", squared))

    def server_descent(self) -> dict:
        L, d = self.argument("L"), [*self.of(NEXT), *self.of(START_POINT, -1)]
        half = self.proof.multiplied(L, self.proof.constant(Fraction(1, 2)))
        items = [*self.values(START_POINT, NEXT), *self.dot(self.gradient(START_POINT), d), *self.square(d, half)]
        return self.server_axiom(items, ("smooth", L))

    # all clients' paths, whoever takes part

    def mean_axiom(self, items: list, *more: tuple, equality: bool = False, also: tuple = ()) -> dict:
        need(not self.premises, "an axiom has no premises")
        given = {n: self.proof.residues(self.proof.scalar(c)) for n, c in self.line["parameters"].items()}
        need(set(given) == {"local_lr", *also}, "parameters of an axiom")
        need(not any(self.proof.depends(self.argument(n), "k") for n in also), "a parameter that is one of a step")
        need(all(given[n] == self.proof.residues(self.argument(n)) for n in also), "a parameter and its argument")
        return self.concluded(self.total((items, None)), context="run", equality=equality, more=more, parameters=given)

    def ended(self) -> list:
        """x+ - mean x_{i,K}."""
        return [*self.of(NEXT), *self.minus(self.vector_under(self.of(LAST), "M"))]

    def mean_iterate(self) -> dict:
        apart = [*self.of(MEAN_ITERATE), *self.minus(self.vector_under(self.of(ITERATE), "M"))]
        return self.mean_axiom(self.dot(apart, self.other()), equality=True)

    def optimal_along(self) -> dict:
        return self.mean_axiom(self.dot(self.vector_under(self.gradient(OPTIMUM), "M"), self.other()), equality=True)

    def uncorrelated_clients(self) -> dict:
        count = self.argument("clients")
        need(bool(count[0]), "no clients")
        share = ({key: -c for key, c in count[1].items()}, count[0])
        items = [*self.square(self.vector_under(self.of(NOISE), "M")),
                 *self.under(self.square(self.of(NOISE), share), "M")]  # fmt: skip
        named = ("uncorrelated_noise", "unbiased_noise", "equal_weights")
        return self.mean_axiom(items, *((name, None) for name in named), equality=True, also=("clients",))

    def weighted_noise(self) -> dict:
        bound, mean = self.argument("bound"), self.vector_under(self.of(NOISE), "M")
        items = [*self.number(bound), *self.square(mean, self.proof.constant(Fraction(-1)))]
        return self.mean_axiom(items, ("bounded_weighted_noise", bound), ("uncorrelated_noise", None),
                               ("unbiased_noise", None))  # fmt: skip

    def stochastic_gradient(self) -> dict:
        squared, whole = self.argument("squared"), [*self.of(ALONG), *self.of(NOISE)]
        items = [*self.number(squared), *self.square(whole, self.proof.constant(Fraction(-1)))]
        return self.mean_axiom(items, ("bounded_stochastic_gradients", squared))

    def has_minimum(self) -> tuple:
        mu = self.argument("mu")
        need(self.proof.nonnegative(mu, self.region) and self.proof.never_zero(mu[0], self.region), "no least value")
        return mu

    def lowest(self) -> dict:
        mu, L, point = self.has_minimum(), self.argument("L"), atom_of(self.given["point"])
        twice = self.proof.multiplied(L, self.proof.constant(Fraction(2)))
        values = [(e, self.proof.multiplied(c, twice)) for e, c in self.values(point, LOWEST)]
        items = [*values, *self.square(self.gradient(point), self.proof.constant(Fraction(-1)))]
        return self.mean_axiom(items, ("smooth", L), ("strongly_convex", mu))

    def heterogeneity(self) -> dict:
        mu, gap = self.has_minimum(), self.argument("gap")
        items = [*self.number(gap), *self.under(self.values(LOWEST, OPTIMUM), "M")]
        return self.mean_axiom(items, ("bounded_heterogeneity_gap", gap), ("strongly_convex", mu))

    def everyone(self) -> dict:
        return self.mean_axiom(self.dot(self.ended(), self.other()), ("full_participation", None), equality=True)

    def drawn_mean(self) -> dict:
        other = self.other()
        need(all(stage(t[1])[0] != "end" and "S" not in t[0] for t, _ in other), "what depends on the draw")
        return self.mean_axiom(self.dot(self.ended(), other), ("independent_draws", None), equality=True,
                               also=("share",))  # fmt: skip

    def spread_of_draw(self) -> dict:
        minus = self.proof.multiplied(self.argument("share"), self.proof.constant(Fraction(-1)))
        mean = self.vector_under(self.of(LAST), "M")
        items = [*self.square(self.ended()), *self.square(mean, self.argument("share")),
                 *self.under(self.square(self.of(LAST), minus), "M")]  # fmt: skip
        return self.mean_axiom(items, ("independent_draws", None), equality=True, also=("share",))

    # rounds that add updates with weights

    def weighted_axiom(self, items: list, *more: tuple, equality: bool = False, also: tuple = ()) -> dict:
        need(len(self.premises) <= 1, "premises of an axiom")
        scalars = {n: self.proof.scalar(c) for n, c in self.line["parameters"].items()}
        inherited = {n for theorem in self.premises for n in theorem["parameters"]}
        need(set(scalars) == {"local_lr", "weighted_lr", "clients", *also, *inherited}, "parameters of an axiom")
        one_algorithm(scalars)
        need(not any(self.proof.depends(scalars[n], "k") for n in ("local_lr", "weighted_lr", "clients")), "of a step")
        given = {n: self.proof.residues(c) for n, c in scalars.items()}
        need(all(given[n] == self.proof.residues(self.argument(n)) for n in also), "a parameter and its argument")
        for theorem in self.premises:
            need(all(given.get(n, v) == v for n, v in theorem["parameters"].items()), "a premise of another algorithm")
        return self.concluded(self.total((items, None)), context="start", equality=equality, more=more,
                              parameters=given)  # fmt: skip

    def parameter(self, name: str) -> tuple:
        return self.proof.scalar(self.line["parameters"][name])

    def no_premise(self) -> None:
        need(not self.premises, "an axiom has no premises")

    def weighted_round(self) -> dict:
        self.no_premise()
        steps = self.vector_under(self.vector_under(self.of(ALONG), "M"), "K")
        steps = [*steps, *self.of(WEIGHT_BIAS), *self.of(PARTICIPATION), *self.of(ROUND_NOISE)]
        moved = [*self.of(NEXT), *self.of(START_POINT, -1), *self.scaled(steps, self.parameter("weighted_lr"))]
        return self.weighted_axiom(self.dot(moved, self.other()), equality=True)

    def weighted_descent(self) -> dict:
        self.no_premise()
        L, d = self.argument("L"), [*self.of(NEXT), *self.of(START_POINT, -1)]
        half = self.proof.multiplied(L, self.proof.constant(Fraction(1, 2)))
        items = [*self.values(START_POINT, NEXT), *self.dot(self.gradient(START_POINT), d), *self.square(d, half)]
        return self.weighted_axiom(items, ("smooth", L))

    def participation(self) -> dict:
        self.no_premise()
        other = self.other()
        free = all((stage(t[1])[0] != "end" or t[1] == WEIGHT_BIAS) and "S" not in t[0] for t, _ in other)
        need(free, "what depends on who takes part")
        return self.weighted_axiom(self.dot(self.of(PARTICIPATION), other), ("independent_participation", None),
                                   equality=True)  # fmt: skip

    def weighted_noise_of_a_round(self) -> dict:
        self.no_premise()
        other = self.other()
        need(all(stage(t[1])[0] == "start" and "S" not in t[0] for t, _ in other), "noise against what is known later")
        return self.weighted_axiom(self.dot(self.of(ROUND_NOISE), other), ("unbiased_noise", None),
                                   ("independent_participation", None), equality=True)  # fmt: skip

    def over_count(self, scalar: tuple) -> tuple:
        top, bottom = self.parameter("clients")
        need(bool(top), "no clients")
        return self.proof.multiplied(scalar, (bottom, top))

    def scaled_noise(self) -> dict:
        self.no_premise()
        squared, scale = self.argument("squared"), self.argument("scale")
        bound = self.proof.multiplied(self.proof.multiplied(scale, self.proof.name("K")), squared)
        items = [*self.number(self.over_count(bound)),
                 *self.square(self.of(ROUND_NOISE), self.proof.constant(Fraction(-1)))]  # fmt: skip
        return self.weighted_axiom(items, ("bounded_noise", squared), ("uncorrelated_noise", None),
                                   ("unbiased_noise", None), ("independent_participation", None),
                                   also=("scale",))  # fmt: skip

    def of_each(self, factor: tuple, atom: tuple) -> list:
        """factor C - |atom|^2, of the premise C - |sum_k grad F_i(x_{i,k})|^2 >= 0 for every client."""
        (theorem,) = self.premises
        need((theorem["context"], theorem["kind"]) == ("start", ""), "a premise given another thing")
        self.inside(theorem)
        own = self.square([(("K", ALONG), self.proof.one)])
        need(len(own) == 1 and theorem["form"].get(own[0][0]) == self.proof.residues(
            self.proof.constant(Fraction(-1))), "a premise of another form")  # fmt: skip
        rest = [(e, c) for e, c in theorem["items"].items() if e != own[0][0]]
        closed = not any(free(e) for e, _ in rest) and not any(self.proof.depends(c, "k") for _, c in rest)
        need(closed, "a bound that is not the same for all clients")
        minus = self.square(self.of(atom), self.proof.constant(Fraction(-1)))
        return [*((e, self.proof.multiplied(c, factor)) for e, c in rest), *minus]

    def error_of_weights(self) -> dict:
        return self.weighted_axiom(self.of_each(self.argument("error"), WEIGHT_BIAS), also=("error",))

    def scale_of_weights(self) -> dict:
        items = self.of_each(self.over_count(self.argument("scale")), PARTICIPATION)
        return self.weighted_axiom(items, ("independent_participation", None), also=("scale",))

    def around_plain_mean(self) -> dict:
        self.no_premise()
        squared, apart = self.argument("squared"), [*self.gradient(START_POINT), *self.of(("g_centre", False, ()), -1)]
        items = [*self.number(squared), *self.square(apart, self.proof.constant(Fraction(-1)))]
        return self.weighted_axiom(items, ("bounded_dissimilarity_of_plain_mean", squared))

    def bounded_gradient(self) -> dict:
        self.no_premise()
        squared, mean = self.argument("squared"), self.vector_under(self.gradient(START_POINT), "M")
        items = [*self.number(squared), *self.square(mean, self.proof.constant(Fraction(-1)))]
        return self.weighted_axiom(items, ("bounded_gradient", squared))

    def own_share(self) -> dict:
        (theorem,) = self.premises
        need(theorem["context"] != "cohort", "a premise given a cohort")
        self.inside(theorem)
        own, centre, least = self.vector(self.given["own"]), self.vector(self.given["centre"]), self.argument("least")
        alone = all(not open_step(t) and not self.proof.depends(c, "k") for t, c in [*own, *centre])
        need(alone and any(open_client(t) for t, _ in own), "a vector that is no client's, or of a step")
        need(not any(open_client(t) for t, _ in centre), "a centre of a client's own")
        need(not self.proof.depends(least, "k"), "a weight of a step")
        rest = {e: c for e, c in theorem["items"].items() if not free(e)}
        near = self.total((self.items(theorem), None), (self.square([*own, *self.minus(centre)]), None))
        need(not any(map(free, near)), "a premise of another form")
        need(not any(self.proof.depends(c, "k") for c in rest.values()), "a bound of a step")
        far = self.one_minus(least)
        need(self.proof.nonnegative(far, self.region), "a weight above 1")
        given = self.inherited()
        need(given.setdefault("least_weight", self.proof.residues(least)) == self.proof.residues(least), "two weights")
        four = self.proof.multiplied(self.power(far, 2), self.proof.constant(Fraction(4)))
        apart = [*own, *self.minus(self.vector_under(own, "M"))]
        form = self.total((list(near.items()), four), (self.square(apart), self.proof.constant(Fraction(-1))))
        return self.concluded(form, context=theorem["context"], kind=theorem["kind"], parameters=given)

    # clients that answer

    def answer_axiom(self, items: list, *more: tuple, equality: bool = False, also: tuple = ()) -> dict:
        """Of rounds of a step size, c and delta; ``also`` are parameters that are arguments too, by their names."""
        scalars = {n: self.proof.scalar(c) for n, c in self.line["parameters"].items()}
        inherited = {n for theorem in self.premises for n in theorem["parameters"]}
        own = ("local_lr", "selected_lr", "mismatch")
        need(set(scalars) == {*own, *(n for n, _ in also), *inherited}, "parameters of an axiom")
        one_algorithm(scalars)
        need(not any(self.proof.depends(scalars[n], "k") for n in own), "of a step")
        given = {n: self.proof.residues(c) for n, c in scalars.items()}
        need(all(given[n] == self.proof.residues(self.argument(a)) for n, a in also), "a parameter and its argument")
        for theorem in self.premises:
            need(all(given[n] == v for n, v in theorem["parameters"].items()), "a premise of another algorithm")
        return self.concluded(self.total((items, None)), context="start", equality=equality, more=more,
                              parameters=given)  # fmt: skip

    def sent_known(self) -> list:
        """What a mean is paired with: a vector known at the start, or B."""
        self.no_premise()
        other = self.other()
        known = all((stage(t[1])[0] == "start" or t[1] == MEAN_ANSWER) and "S" not in t[0] for t, _ in other)
        need(known, "a mean against what is known later")
        return other

    def at_most(self, theorem: dict, summed: list, factor: tuple) -> list:
        """factor C, of a premise C - |sum_k of these|^2 >= 0 for every client."""
        need((theorem["context"], theorem["kind"]) == ("start", ""), "a premise given another thing")
        self.inside(theorem)
        rest = {e: c for e, c in theorem["items"].items() if not free(e)}
        squared = self.square([(("K", atom), self.proof.one) for atom in summed])
        need(not any(self.proof.depends(c, "k") for c in rest.values()), "a bound that is not the same at all steps")
        minus = self.total((squared, self.proof.constant(Fraction(-1))))
        need(minus == {e: c for e, c in theorem["form"].items() if e not in rest}, "a premise of another form")
        return [(e, self.proof.multiplied(c, factor)) for e, c in rest.items()]

    def answered_round(self) -> dict:
        self.no_premise()
        sent = self.scaled([*self.of(MEAN_ANSWER), *self.of(SPREAD)], self.parameter("selected_lr"))
        return self.answer_axiom(self.dot([*self.of(NEXT), *self.of(START_POINT, -1), *sent], self.other()),
                                 equality=True)  # fmt: skip

    def answered_descent(self) -> dict:
        self.no_premise()
        L, d = self.argument("L"), [*self.of(NEXT), *self.of(START_POINT, -1)]
        half = self.proof.multiplied(L, self.proof.constant(Fraction(1, 2)))
        items = [*self.values(START_POINT, NEXT), *self.dot(self.gradient(START_POINT), d), *self.square(d, half)]
        return self.answer_axiom(items, ("smooth", L))

    def mean_of_answers(self) -> dict:
        other = self.sent_known()
        sums = self.vector_under(self.vector_under(self.of(ALONG), "M"), "K")
        whole = [*sums, *self.scaled(self.of(MISMATCH), self.parameter("mismatch"))]
        items = self.dot([*self.of(MEAN_ANSWER), *self.minus(whole)], other)
        return self.answer_axiom(items, ("unbiased_noise", None), ("independent_answers", None), equality=True)

    def answers_around_their_mean(self) -> dict:
        return self.answer_axiom(self.dot(self.of(SPREAD), self.sent_known()), equality=True)

    def mismatch_of_answers(self) -> dict:
        (theorem,) = self.premises
        minus = self.square(self.of(MISMATCH), self.proof.constant(Fraction(-1)))
        return self.answer_axiom([*self.at_most(theorem, [ALONG], self.proof.one), *minus])

    def of_updates(self, name: str, argument: str, bounded: list) -> dict:
        (theorem,) = self.premises
        minus = self.square(bounded, self.proof.constant(Fraction(-1)))
        items = [*self.at_most(theorem, [ALONG, NOISE], self.argument(argument)), *minus]
        return self.answer_axiom(items, ("independent_answers", None), ("independent_noise", None),
                                 also=((name, argument),))  # fmt: skip

    def spread_of_answers(self) -> dict:
        return self.of_updates("proxy", "proxy", self.of(SPREAD))

    def second_moment_of_answers(self) -> dict:
        return self.of_updates("second_moment", "second", [*self.of(MEAN_ANSWER), *self.of(SPREAD)])

    def of_paths(self, items: list, *more: tuple, to_the_end: bool = False) -> dict:
        self.no_premise()
        need(set(self.line["parameters"]) == {"local_lr"}, "parameters of an axiom")
        need(not self.proof.depends(self.step(), "k"), "steps of several sizes")
        need(not any(self.proof.depends(c, "k") for _, c in more), "gradients of which every step has its own bound")
        given = {"local_lr": self.proof.residues(self.step())}
        return self.concluded(self.total((items, None)), context="start", more=more, parameters=given,
                              to_the_end=to_the_end)  # fmt: skip

    def bounded_local_gradient(self) -> dict:
        squared, minus = self.argument("squared"), self.proof.constant(Fraction(-1))
        items = [*self.number(squared), *self.square([*self.of(ALONG), *self.of(NOISE)], minus)]
        return self.of_paths(items, ("bounded_local_gradients", squared))

    def path_of_bounded_steps(self) -> dict:
        squared, k, minus = self.argument("squared"), self.proof.name("k"), self.proof.constant(Fraction(-1))
        reach = self.proof.multiplied(k, self.step())
        most = self.proof.multiplied(self.proof.multiplied(reach, reach), squared)
        items = [*self.number(most), *self.square([*self.of(ITERATE), *self.of(START_POINT, -1)], minus)]
        return self.of_paths(items, ("bounded_local_gradients", squared), to_the_end=True)

    # intervals between participations

    def interval_axiom(self, items: list, *also: str, equality: bool = False) -> dict:
        """Of q, letters for C and q^C, and ``also`` parameters that are arguments too."""
        scalars = {n: self.proof.scalar(c) for n, c in self.line["parameters"].items()}
        need(set(scalars) == {"absence", "cutoff", "tail", *also}, "parameters of an axiom")
        need(self.letter("cutoff") != self.letter("tail"), "one letter for two")
        q = scalars["absence"]
        need(self.proof.nonnegative(q, self.region) and self.proof.nonnegative(self.one_minus(q), self.region), "q")
        need(not any(self.proof.depends(q, self.letter(n)) for n in ("cutoff", "tail")), "q depends on the cutoff")
        given = {n: self.proof.residues(c) for n, c in scalars.items()}
        need(all(given[n] == self.proof.residues(self.argument(n)) for n in also), "a parameter and its argument")
        for theorem in self.premises:
            need(all(given.get(n) == v for n, v in theorem["parameters"].items()), "a premise of another algorithm")
        law = () if self.line["rule"] == "unit" else (("independent_participation", None),)
        return self.concluded(self.total((items, None)), context="run", equality=equality, parameters=given, more=law)

    def letter(self, parameter: str) -> str:
        """The letter that a parameter is."""
        scalar = self.parameter(parameter)
        found = [n for n in self.proof.names if scalar == self.proof.name(n)]
        need(len(found) == 1, f"{parameter} is no letter")
        return found[0]

    def difference(self, a: tuple, b: tuple) -> tuple:
        left, right = times(a[0], b[1]), times(b[0], a[1])
        return plus(left, {key: -c for key, c in right.items()}), times(a[1], b[1])

    def one_minus(self, a: tuple) -> tuple:
        return self.difference(self.proof.one, a)

    def power(self, a: tuple, power: int) -> tuple:
        made = self.proof.one
        for _ in range(power):
            made = self.proof.multiplied(made, a)
        return made

    def unit(self) -> dict:
        self.no_premise()
        items = [*self.square(self.of(UNIT)), *self.number(self.proof.constant(Fraction(-1)))]
        return self.interval_axiom(items, equality=True)

    def degree(self, least: int) -> int:
        d = self.given["power"]
        need(type(d) is int and least <= d <= 2, "a moment of another power")
        return d

    def grows(self, counted: str, head: str, start: dict, first: tuple, growth: tuple) -> None:
        """That the value is ``first`` where a count is the first one and ``head`` its own, and grows with the count."""
        value, q = self.argument("value"), self.parameter("absence")
        need(not any(self.proof.depends((value[1], self.proof.one[1]), n) for n in (counted, head)), "a division")
        at_first = self.proof.residues(self.replaced(value, start))
        need(at_first == self.proof.residues(first), "not what the law's induction gives, at first")
        one_more = self.difference(self.proof.name(counted), self.proof.constant(Fraction(-1)))
        later = self.replaced(value, {counted: one_more, head: self.proof.multiplied(self.proof.name(head), q)})
        pairs = zip(self.proof.residues(later), self.proof.residues(value), strict=True)
        grown = tuple((x - y) % PRIME for x, y in pairs)
        need(grown == self.proof.residues(growth), "not what the law's induction gives")

    def moment_of_an_interval(self) -> dict:
        self.no_premise()
        d, q = self.degree(1), self.parameter("absence")
        C, scale = self.parameter("cutoff"), self.power(self.one_minus(q), d)
        more = self.difference(C, self.proof.constant(Fraction(-1)))
        rise = self.difference(self.power(more, d), self.power(C, d))
        growth = self.proof.multiplied(scale, self.proof.multiplied(self.parameter("tail"), rise))
        cutoff, tail = self.letter("cutoff"), self.letter("tail")
        self.grows(cutoff, tail, {cutoff: self.proof.one, tail: q}, scale, growth)
        items = self.dot(self.of(INTERVAL), self.of(INTERVAL if d == 2 else UNIT), scale)
        return self.interval_axiom([*items, *self.negative(self.argument("value"))], equality=True)

    def negative(self, scalar: tuple) -> list:
        return self.number(self.proof.multiplied(scalar, self.proof.constant(Fraction(-1))))

    def before_cutoff(self) -> tuple[str, str]:
        """The letters of t and q^t, where 0 <= t < C."""
        t, names = self.parameter("history"), [self.letter(n) for n in ("cutoff", "tail", "history", "head")]
        need(len(set(names)) == 4, "one letter for two")
        need(not any(self.proof.depends(self.parameter("absence"), n) for n in names), "q depends on the history")
        left = self.difference(self.difference(self.parameter("cutoff"), self.proof.one), t)
        need(self.proof.nonnegative(t, self.region) and self.proof.nonnegative(left, self.region), "t < C")
        return names[2], names[3]

    def early_moment_of_an_interval(self) -> dict:
        self.no_premise()
        d, q = self.degree(0), self.parameter("absence")
        t, head = self.before_cutoff()
        p = self.one_minus(q)
        scale, more = self.power(p, d), self.difference(self.proof.name(t), self.proof.constant(Fraction(-1)))
        growth = self.proof.multiplied(self.power(p, d + 1), self.proof.multiplied(self.proof.name(head),
                                                                                  self.power(more, d)))  # fmt: skip
        zero = self.proof.constant(Fraction(0))
        self.grows(t, head, {t: zero, head: self.proof.one}, zero, growth)
        u, v = ((UNIT_ENDED, UNIT_ENDED), (INTERVAL_ENDED, UNIT_ENDED), (INTERVAL_ENDED, INTERVAL_ENDED))[d]
        items = self.dot(self.of(u), self.of(v), scale)
        return self.interval_axiom([*items, *self.negative(self.argument("value"))], "history", "head", equality=True)

    def late(self, count: tuple) -> None:
        least = self.proof.multiplied(count, self.parameter("cutoff"))
        need(self.proof.nonnegative(self.difference(self.argument("history"), least), self.region), "t >= m C")

    def mean_of_ended_intervals(self) -> dict:
        self.no_premise()
        self.late(self.proof.one)
        apart = [*self.of(WEIGHT), *self.of(INTERVAL, -1)]
        return self.interval_axiom(self.dot(apart, self.of(UNIT)), "history", equality=True)

    def spread_of_ended_intervals(self) -> dict:
        (mean,) = self.premises
        self.inside(mean)
        need(mean["equality"] and mean["context"] == "run", "a premise of another sort")
        ((entry, _),) = self.dot(self.of(INTERVAL), self.of(UNIT))
        need(set(mean["form"]) <= {entry, ("one",)}, "a premise of another form")
        none = self.proof.constant(Fraction(0))
        scale, shift = (mean["items"].get(e, none) for e in (entry, ("one",)))
        m = self.argument("ended")
        need(self.proof.nonnegative(self.difference(m, self.proof.one), self.region), "m >= 1")
        self.late(m)
        need(bool(m[0]), "no intervals")
        share, squared = (m[1], m[0]), self.power(scale, 2)
        nu = self.proof.multiplied(self.one_minus(share), self.power(shift, 2))
        items = [
            *self.square(self.of(INTERVAL), self.proof.multiplied(squared, share)),
            *self.number(nu),
            *self.square(self.of(WEIGHT), self.proof.multiplied(squared, self.proof.constant(Fraction(-1)))),
        ]
        return self.interval_axiom(items, "ended", "history")

    def early_weight(self) -> dict:
        self.no_premise()
        self.before_cutoff()
        c, d = self.argument("slope"), self.argument("shift")
        both = self.difference(c, self.proof.multiplied(d, self.proof.constant(Fraction(-1))))
        absent = self.proof.multiplied(self.parameter("head"), self.power(both, 2))
        items = [*self.affine(INTERVAL_ENDED, UNIT_ENDED), *self.number(absent), *self.affine(WEIGHT, UNIT, -1)]
        return self.interval_axiom(items, "history", "head")

    def affine(self, of: tuple, unit: tuple, sign: int = 1) -> list:
        """|c of + d unit|^2, or minus it."""
        c, d = self.argument("slope"), self.argument("shift")
        vector = [*self.scaled(self.of(of), c), *self.scaled(self.of(unit), d)]
        return self.square(vector, self.proof.constant(Fraction(sign)))

    def early_weight_of_an_interval(self) -> dict:
        self.no_premise()
        self.before_cutoff()
        items = [*self.affine(INTERVAL_ENDED, UNIT_ENDED), *self.affine(WEIGHT_ENDED, UNIT_ENDED, -1)]
        return self.interval_axiom(items, "history", "head")

    # a certificate of a worst case

    def worst_case(self) -> dict:
        """What the certificate says with L for its own, mu at least its share of that, and no noise."""
        need(not self.premises, "a certificate has no premises")
        given = keys("arguments", self.given, "certificate L mu dissimilarity noise server_noise clients")
        found = WorstCase(given["certificate"])
        L, mu, zeta, noise = (self.argument(n) for n in ("L", "mu", "dissimilarity", "noise"))
        extra = {n: None if given[n] is None else self.argument(n) for n in ("server_noise", "clients")}
        self.positive_scalar(L)
        at_least = [self.less(mu, self.times_number(L, found.mu / found.L)), zeta, self.less(None, noise)]
        at_least += [] if found.nu else [self.less(None, zeta)]
        if extra["clients"] is not None:
            at_least.append(self.less(extra["clients"], self.proof.one))
        assumed: list = [("smooth", L), ("strongly_convex", mu)]
        place = "" if any(p for p, _ in found.nu) else "_at_optimum"
        assumed += [(f"bounded_dissimilarity{place}", zeta), ("equal_weights", None)]
        assumed += [("quadratic", None)] if found.quadratic else []
        assumed += [("bounded_noise", noise), ("cohort_is_a_set", None)] if found.who() else []
        if any(kind["kind"] == SERVER for kinds in found.rounds for _, kind in kinds):
            if extra["server_noise"] is None:
                raise Wrong("a server's round without its noise")
            at_least.append(self.less(None, extra["server_noise"]))
            assumed.append(("bounded_server_noise", extra["server_noise"]))
        for scalar in at_least:
            need(self.proof.nonnegative(scalar, self.region), "a constant that is out of its bounds")
        context, kind, parameters, laws = self.law_of(found, L, extra["clients"])
        residues = {n: self.proof.residues(c) for n, c in parameters.items()}
        return self.concluded(self.total((self.bound_of(found, L, zeta), None)), context=context, kind=kind,
                              more=(*assumed, *laws), parameters=residues)  # fmt: skip

    def positive_scalar(self, scalar: tuple) -> None:
        need(self.proof.nonnegative(scalar, self.region), "L may be negative")
        need(self.proof.never_zero(scalar[0], self.region), "L may be 0")

    def times_number(self, scalar: tuple, number: Fraction) -> tuple:
        return self.proof.multiplied(self.proof.constant(number), scalar)

    def less(self, a: tuple | None, b: tuple) -> tuple:
        """a - b, or - b."""
        minus = {key: -c for key, c in b[0].items()}
        if a is None:
            return minus, b[1]
        return plus(times(a[0], b[1]), times(minus, a[1])), times(a[1], b[1])

    def bound_of(self, found: WorstCase, L: tuple, zeta: tuple) -> list:
        """The items of bound - metric."""
        force, rounds = METRICS[found.metric], len(found.rounds)
        tau, nu = found.tau / found.L**force, found.additive * found.L**2 / found.L**force
        first, spread = self.proof.constant(tau), self.times_number(zeta, nu)
        for _ in range(force):
            first = self.proof.multiplied(first, L)
        for _ in range(2 - force):
            spread = self.proof.multiplied(spread, (L[1], L[0]))
        items = [*self.square([*self.of(START_POINT), *self.of(OPTIMUM, -1)], first), *self.number(spread)]
        if found.metric == "final_squared_distance":
            end = [*self.of(after(rounds)), *self.of(OPTIMUM, -1)]
            return [*items, *self.square(end, self.proof.constant(Fraction(-1)))]
        begin = 1 if found.average == AFTER else 0
        counted = [rounds] if found.metric.startswith("final") else list(range(begin, begin + rounds))
        weight = Fraction(1, len(counted))
        for r in counted:
            if found.metric.endswith("gap"):
                items += [(("value", "M", point), self.proof.constant(c))
                          for point, c in ((after(r), -weight), (OPTIMUM, weight))]  # fmt: skip
            else:
                need(r == 0, "a gradient after a round")
                whole_gradient = self.vector_under(self.gradient(START_POINT), "M")
                items += self.square(whole_gradient, self.proof.constant(-weight))
        return items

    def law_of(self, found: WorstCase, L: tuple, many: tuple | None) -> tuple:
        """(context, kind, parameters, assumptions) of how rounds are drawn."""
        need((found.clients is None) == (many is not None), "a number of clients where there is one, or none")
        clients = many or self.proof.constant(Fraction(found.clients or 1))
        rates: dict = {"clients": clients}
        names = []
        for kinds in found.rounds:
            names.append([self.drawn_how(found, kind) for _, kind in kinds])
            need(len(set(names[-1])) == len(kinds), "two kinds of round that are drawn alike")
            for _, kind in kinds:
                for name, c in self.steps_of(kind, found.L):
                    value = self.proof.multiplied(self.proof.constant(c), (L[1], L[0])) if "_lr" in name else None
                    value = value or self.proof.constant(c)
                    same = self.proof.residues(rates.setdefault(name, value)) == self.proof.residues(value)
                    need(same, f"two algorithms: {name}")
        if len(names) > 1:
            need(all(here == [ALL] for here in names), "several rounds that are not everyone's")
            return "run", "", rates | {"size": clients}, ()
        law = {how: (p, kind) for how, (p, kind) in zip(names[0], found.rounds[0], strict=True)}
        sizes = {how: clients if how == ALL else self.proof.constant(Fraction(kind["who"]["size"]))
                 for how, (_, kind) in law.items() if how != SERVER}  # fmt: skip
        uniform: tuple = ()
        if ANY in law:
            rates["share"] = self.proof.constant(found.spread(law[ANY][1]["who"]))
            uniform = (("uniform_cohorts", None),)
        if set(law) == {SERVER}:
            return "kind", SERVER, rates, ()
        if set(law) == {ANY}:
            return "kind", "uniform", rates | {"size": sizes[ANY]}, uniform
        sets = [how for how in (SET, ALL) if how in law]
        need(len(sets) == 1 and len(law) <= 2, "a mixture of other kinds of round")
        if len(law) == 1:
            return "cohort", "", rates | {"size": sizes[sets[0]]}, ()
        rates["arbitrary_cohort"] = sizes[sets[0]]
        if SERVER in law:
            q = rates["client_round_probability"] = self.proof.constant(law[sets[0]][0])
            return "start", "", rates, (("random_client_rounds", q),)
        q = rates["probability"] = self.proof.constant(law[ANY][0])
        return "start", "", rates | {"cohort": sizes[ANY]}, (*uniform, ("random_kinds", q))

    def drawn_how(self, found: WorstCase, kind: dict) -> str:
        if kind["kind"] == SERVER:
            return SERVER
        need(not kind["who"].get("replacement"), "a cohort that is no set")
        return ALL if found.is_all(kind["who"]) else kind["who"]["kind"]

    def steps_of(self, kind: dict, L: Fraction) -> list:
        """Of an algorithm whose local steps are alike."""
        if kind["kind"] == SERVER:
            return [("server_lr", kind["server_lr"] * L)]
        plain = len(set(kind["local_lr"])) == 1 and kind["proximal"] == 0 and kind["global_lr"] == 1
        need(plain, "local steps that differ, a proximal term, or a step of the server's")
        return [("local_lr", kind["local_lr"][0] * L), ("local_steps", Fraction(len(kind["local_lr"])))]


def after(rounds: int) -> tuple:
    """The server's point after so many rounds."""
    need(rounds <= 60, "too many rounds")
    return (START_POINT, NEXT)[rounds] if rounds < 2 else (f"x_{rounds}", False, ())


# certificates of worst cases: metric <= contraction |x_0 - x*|^2 + additive zeta^2 for every federation of a class


CERTIFICATE, SCHEMA = "worst-case certificate", 1
MOST = {"points": 60, "clients": 10**30, "steps": 200}
"""What the program of a certificate may have; its work is counted besides."""
METRICS = {  # what is bounded, and the power of a force's unit (L times a length) in it
    "final_squared_distance": 0, "final_gap": 1, "average_gap": 1, "final_squared_gradient": 2,
    "average_squared_gradient": 2,
}  # fmt: skip
AFTER, BEFORE = "r = 1..R", "r = 0..R-1"
ANY, ALL, SET, SERVER = "cohort", "everyone", "arbitrary", "server"


def keys(what: str, data: object, allowed: str) -> dict:
    if not isinstance(data, dict) or set(data) != set(allowed.split()):
        raise Wrong(f"{what}: allowed are exactly {allowed}")
    return data


def fraction(what: str, text: object) -> Fraction:
    if not (isinstance(text, str) and len(text) <= LARGEST["digits"] and NUMBER.fullmatch(text)):
        raise Wrong(f"{what} = {str(text)[:60]!r}: allowed is a text such as '3/4'")
    bottom = text.partition("/")[2]
    need(not bottom or int(bottom) > 0, f"{what} = {text[:60]!r}: a division by 0")
    return Fraction(text)


def whole(what: str, value: object, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise Wrong(f"{what} = {str(value)[:60]}: allowed is a whole number from {low} to {high}")
    return value


def listed(what: str, value: object, most: int | None = None) -> list:
    if not isinstance(value, list):
        raise Wrong(f"{what}: allowed is a list")
    need(most is None or len(value) <= most, f"{what}: {len(value)} entries, allowed are {most}")
    return value


def table(what: str, rows: object, *sizes: tuple[int, int]) -> dict:
    """{indices: Fraction} of rows [index, ..., number], every index within its bounds."""
    made: dict = {}
    for row in listed(what, rows, 2 * MOST["points"] ** 2):
        need(isinstance(row, list) and len(row) == len(sizes) + 1, f"{what}: a row has {len(sizes)} indices, a number")
        at = tuple(whole(f"an index of {what}", k, *size) for k, size in zip(row[:-1], sizes, strict=True))
        need(at not in made, f"{what}: {list(at)} is there twice")
        made[at] = fraction(f"{what} {list(at)}", row[-1])
    return made


def vector_sum(*parts: tuple[dict, Fraction]) -> dict:
    """Of {label: coefficient}, each times a number."""
    made: dict = {}
    for vector, c in parts:
        spend(len(vector))
        if c:
            for label, d in vector.items():
                made[label] = made.get(label, 0) + c * d
    return {label: c for label, c in made.items() if c}


def semidefinite(rows: list) -> bool:
    """Whether a symmetric matrix of Fractions is: what is left after each pivot of L D L^T is, and a pivot 0 stands in
    a row of zeros."""
    while rows:
        (pivot, *rest), *below = rows
        if pivot < 0 or (pivot == 0 and any(rest)):
            return False
        digits = max((c.numerator.bit_length() + c.denominator.bit_length() for row in rows for c in row), default=0)
        spend(len(rows) ** 2 * (2 + (digits // 500) ** 2))
        if pivot:
            below = [[c - row[0] * r / pivot for c, r in zip(row[1:], rest, strict=True)] for row in below]
        else:
            below = [row[1:] for row in below]
        rows = below
    return True


class Slack:
    """What is left of a bound, as a form in Gram matrices: that of what all clients share (the start, and the mean
    gradients of each sort of client), and for each sort that of a client's deviations from its sort's means, whose own
    mean is 0.

    A client's vector is a combination of ("d",), the start's x_0 - x*; ("g", p), its own gradient at point p; and
    ("m", o, p), the mean of these over the clients of sort o. Of clients i of sort o,

        mean <u_i, v_i> = <mean u, mean v> + mean <u_i - mean u, v_i - mean v>.
    """

    def __init__(self, sorts: list, alike: bool, slopes: dict) -> None:
        self.sorts, self.alike, self.slopes = sorts, alike, slopes
        self.shared: dict = {}
        self.apart: list[dict] = [{} for _ in sorts]

    def mean(self, vector: dict, sort: int) -> dict:
        """Of a client's vector, over its sort."""
        return vector_sum(*(({("m", sort, k[1]) if k[0] == "g" else k: c}, Fraction(1)) for k, c in vector.items()))

    def over_all(self, vector: dict) -> dict:
        return vector_sum(*((self.mean(vector, o), share) for o, (share, _) in enumerate(self.sorts)))

    def reduced(self, vector: dict) -> dict:
        """With gradients by others where the class or the optimum says so."""
        parts = []
        for label, c in vector.items():
            if label[0] == "d" or label[-1] not in self.slopes:
                parts.append(({label: Fraction(1)}, c))
                continue
            known = self.slopes[label[-1]]  # of a client, by its own vectors
            parts.append((known if label[0] == "g" else self.mean(known, label[1]), c))
        return self._at_optimum(vector_sum(*parts))

    def _at_optimum(self, vector: dict) -> dict:
        """Without the gradients at x*, where they are 0; their mean over all clients is 0, which gives the first sort's
        by the others'."""
        first, parts = self.sorts[0][0], []
        for label, c in vector.items():
            if label == ("m", 0, 0):
                others = {} if self.alike else {
                    ("m", o, 0): -share / first for o, (share, _) in enumerate(self.sorts) if o}  # fmt: skip
                parts.append((others, c))
            elif not (self.alike and label[0] != "d" and label[-1] == 0):
                parts.append(({label: Fraction(1)}, c))
        return vector_sum(*parts)

    def add(self, sort: int, pairs: list) -> None:
        """The mean over a sort of a sum of c <u_i, v_i>, from (c, u, v)."""
        for c, u, v in pairs:
            if not c:
                continue
            mean_u, mean_v = (self.reduced(self.mean(w, sort)) for w in (u, v))
            self._add(self.shared, c, mean_u, mean_v)
            if self.sorts[sort][1] != 1:
                own = [{k: d for k, d in self.reduced(w).items() if k[0] == "g"} for w in (u, v)]
                self._add(self.apart[sort], c, *own)

    def _add(self, form: dict, c: Fraction, u: dict, v: dict) -> None:
        spend(len(u) * len(v))
        for (a, x), (b, y) in pairs_of(u.items(), v.items()):
            for key in ((a, b), (b, a)):
                form[key] = form.get(key, 0) + c * x * y / 2

    def add_shared(self, c: Fraction, vector: dict) -> None:
        """c |v|^2 of a vector that all clients share."""
        known = self.reduced(vector)
        self._add(self.shared, c, known, known)

    def holds(self) -> bool:
        """Whether it is >= 0 whatever the vectors are."""
        for form in (self.shared, *self.apart):
            labels = sorted({a for a, _ in form})
            spend(len(labels) ** 2)
            if not semidefinite([[Fraction(form.get((a, b), 0)) for b in labels] for a in labels]):
                return False
        return True


class WorstCase:
    """A certificate, read and verified: with its multipliers, bound - metric is a sum of what the class makes >= 0 and
    of a form that is positive semidefinite. Gradients here are the clients' own, in the file's units; its multipliers
    of pairs are in units where L = 1.

    Attributes:
        L, mu, quadratic: the class. clients: M, or ``None`` for any. rounds: [[(probability, kind)]].
        contraction, additive: tau, and nu summed over what it multiplies. everywhere: see ``read``.
    """

    def __init__(self, data: object) -> None:
        self.data = keys("certificate", data, "what schema functions rounds clients metric average everywhere "
                         "contraction additive pairs operators symmetric")  # fmt: skip
        version = self.data["what"], self.data["schema"]
        need(version == (CERTIFICATE, SCHEMA) and type(version[1]) is int, f"{version!r:.80} is another version's")
        self.read_class()
        self.read_rounds()
        self.make_points()
        self.read_multipliers()
        self.verify()

    # reading

    def read_class(self) -> None:
        given = keys("functions", self.data["functions"], "smoothness strong_convexity quadratic")
        self.L, self.mu = (fraction(n, given[n]) for n in ("smoothness", "strong_convexity"))
        self.quadratic = self.truth("quadratic", given["quadratic"])
        need(self.L > 0 and 0 <= self.mu <= self.L, "functions: allowed is 0 <= strong_convexity <= smoothness, not 0")
        self.one_hessian = self.mu == self.L

    def truth(self, what: str, value: object) -> bool:
        if type(value) is not bool:
            raise Wrong(f"{what}: allowed is true or false")
        return value

    def read_rounds(self) -> None:
        data = self.data
        self.clients = None if data["clients"] is None else whole("clients", data["clients"], 1, MOST["clients"])
        self.rounds = []
        for each in listed("rounds", data["rounds"], MOST["points"]):
            kinds = []
            for pair in listed("a round", each, 10):
                need(
                    isinstance(pair, list) and len(pair) == 2, "a round: allowed are pairs of a probability and a kind"
                )
                kinds.append((fraction("probability", pair[0]), self.kind(pair[1])))
            need(sum(p for p, _ in kinds) == 1 and all(p > 0 for p, _ in kinds), "probabilities: numbers > 0, sum 1")
            self.rounds.append(kinds)
        need(bool(self.rounds), "rounds: allowed is at least one")
        self.metric, self.average = data["metric"], data["average"]
        need(isinstance(self.metric, str) and self.metric in METRICS, f"metric = {self.metric!r:.60}: no such metric")
        need(self.average in (AFTER, BEFORE), f"average = {self.average!r:.60}: allowed are {AFTER!r}, {BEFORE!r}")
        self.everywhere = self.truth("everywhere", data["everywhere"])
        sizes = {who["size"] for who in self.who() if who["kind"] == SET}
        need(len(sizes) <= 1, "arbitrary: allowed are sets of one size")
        drawn = any(who["kind"] == ANY and not self.is_all(who) for who in self.who())
        if drawn or any(len(kinds) > 1 for kinds in self.rounds):
            need(len(self.rounds) == 1, "rounds: allowed is 1 where they are random")
            need(self.metric == "final_squared_distance", "metric: of random rounds, allowed is the squared distance")

    def kind(self, data: object) -> dict:
        if isinstance(data, dict) and data.get("kind") == SERVER:
            keys("a server's step", data, "kind server_lr")
            return {"kind": SERVER, "server_lr": self.positive("server_lr", data["server_lr"])}
        given = keys("training", data, "kind local_lr global_lr proximal participants")
        need(given["kind"] == "training", f"kind = {given['kind']!r:.60}: allowed are 'training' and 'server'")
        steps = [self.positive("local_lr", lr) for lr in listed("local_lr", given["local_lr"], MOST["steps"])]
        need(bool(steps), "local_lr: allowed is at least one step")
        pull = fraction("proximal", given["proximal"])
        need(pull >= 0, "proximal: allowed is a number >= 0")
        return {"kind": "training", "local_lr": tuple(steps), "proximal": pull,
                "global_lr": self.positive("global_lr", given["global_lr"]),
                "who": self.participants(given["participants"])}  # fmt: skip

    def positive(self, what: str, text: object) -> Fraction:
        number = fraction(what, text)
        need(number > 0, f"{what} = {number}: allowed is a number > 0")
        return number

    def participants(self, data: object) -> dict:
        kind = data.get("kind") if isinstance(data, dict) else None
        need(kind in (ALL, ANY, SET), f"participants: allowed are {ALL}, {ANY} and {SET}")
        given = keys("participants", data, {ALL: "kind", ANY: "kind size replacement", SET: "kind size"}[str(kind)])
        if kind == ALL:
            return {"kind": ALL}
        again = kind == ANY and self.truth("replacement", given["replacement"])
        if self.clients is None:
            raise Wrong(f"clients: needed with {kind}")
        size = whole("size", given["size"], 1, MOST["clients"] if again else self.clients)
        return {"kind": kind, "size": size, "replacement": again}

    def who(self) -> list:
        return [kind["who"] for kinds in self.rounds for _, kind in kinds if kind["kind"] != SERVER]

    def is_all(self, who: dict) -> bool:
        """Whether these are all the clients, each once."""
        if who["kind"] == ALL:
            return True
        return who["size"] == self.clients and not (who["replacement"] and self.clients != 1)

    # points

    def make_points(self) -> None:
        """Where gradients are taken: 0 is x*, 1 the start; then of each round the points of each sort of local training
        after its first one, and the server's point at its end, where gradients count there.

        Of a client, x - x* is kept as a vector; ``parents`` are the points before, and ``shared`` those of the server.
        """
        chosen = next((w["size"] for w in self.who() if w["kind"] == SET and not self.is_all(w)), None)
        if chosen is None:
            self.sorts: list = [(Fraction(1), self.clients)]
        else:
            assert self.clients is not None
            inside, outside = chosen, self.clients - chosen
            self.sorts = [(Fraction(size, self.clients), size) for size in (inside, outside)]
        self.alike = not listed("additive", self.data["additive"], 2 * MOST["points"])
        self.slopes: dict = {}
        self.slack = Slack(self.sorts, self.alike, self.slopes)
        start = {("d",): Fraction(1)}
        self.places, self.parents, self.shared = [{}, start], [-1, 0], [1]
        self.say_slope(1)
        server, beyond = 1, self.metric != "final_squared_distance"
        beyond &= not (self.metric.startswith("average") and self.average == BEFORE)
        for r, kinds in enumerate(self.rounds):
            moves = {}
            for _, kind in kinds:
                if kind["kind"] != SERVER and (kind["local_lr"], kind["proximal"]) not in moves:
                    moves[kind["local_lr"], kind["proximal"]] = self.train(server, kind)
            self.ends = [(p, kind, self.end(server, kind, moves)) for p, kind in kinds]
            if r + 1 < len(self.rounds) or beyond:
                server = self.new_point(self.ends[0][2][0], server)
                self.shared.append(server)

    def new_point(self, place: dict, parent: int) -> int:
        self.places.append(place)
        self.parents.append(parent)
        need(len(self.places) <= MOST["points"], f"more than {MOST['points']} points at which gradients are taken")
        self.say_slope(len(self.places) - 1)
        return len(self.places) - 1

    def say_slope(self, p: int) -> None:
        """Where all Hessians are L, the gradient at a point is that at x* and L (x - x*)."""
        if self.one_hessian:
            self.slopes[p] = self.slack.reduced(vector_sum(({("g", 0): Fraction(1)}, Fraction(1)),
                                                           (self.places[p], self.L)))  # fmt: skip

    def gradient(self, p: int) -> dict:
        return {("g", p): Fraction(1)}

    def train(self, server: int, kind: dict) -> dict:
        """What local training moves a client by; its points are noted."""
        at, moved = server, vector_sum()
        for k, lr in enumerate(kind["local_lr"]):
            moved = vector_sum((moved, 1 - lr * kind["proximal"]), (self.gradient(at), -lr))
            if k + 1 < len(kind["local_lr"]):
                at = self.new_point(vector_sum((self.places[server], Fraction(1)), (moved, Fraction(1))), at)
        return moved

    def end(self, server: int, kind: dict, moves: dict) -> tuple:
        """(x+ - x* in the mean over the draw, what a client adds to its variance, and its factor)."""
        here = self.places[server]
        if kind["kind"] == SERVER:
            mean = self.slack.over_all(self.gradient(server))
            return vector_sum((here, Fraction(1)), (mean, -kind["server_lr"])), {}, Fraction(0)
        move = vector_sum((moves[kind["local_lr"], kind["proximal"]], kind["global_lr"]))
        who = kind["who"]
        if who["kind"] == SET and not self.is_all(who):
            return vector_sum((here, Fraction(1)), (self.slack.mean(move, 0), Fraction(1))), {}, Fraction(0)
        mean = self.slack.over_all(move)
        apart = vector_sum((move, Fraction(1)), (mean, Fraction(-1)))
        return vector_sum((here, Fraction(1)), (mean, Fraction(1))), apart, self.spread(who)

    def spread(self, who: dict) -> Fraction:
        """c in E|mean_S v|^2 - |mean v|^2 = c mean |v_i - mean v|^2 for a cohort of m of M clients: 1/m of independent
        draws, (M - m)/(m (M - 1)) of a set."""
        if who["kind"] != ANY or self.clients == 1 or self.clients is None:
            return Fraction(0)
        m, M = who["size"], self.clients
        return Fraction(1, m) if who["replacement"] else Fraction(M - m, m * (M - 1))

    # multipliers

    def read_multipliers(self) -> None:
        data, sorts, last = self.data, (0, len(self.sorts) - 1), len(self.places) - 1
        force = METRICS[self.metric]
        self.tau = fraction("contraction", data["contraction"])
        self.nu = table("additive", data["additive"], (0, last), sorts)
        for p, _ in self.nu:
            need(p == 0 or (self.everywhere and p in self.shared), f"additive: dissimilarity at {p} is not bounded")
        pairs = table("pairs", data["pairs"], sorts, (0, last), (0, last))
        need(not any(p == q for _, p, q in pairs), "pairs: a point with itself")
        for what, numbers in (("contraction", [self.tau]), ("additive", self.nu.values()), ("pairs", pairs.values())):
            need(all(c >= 0 for c in numbers), f"{what}: allowed are numbers >= 0")
        need(not (pairs and (self.quadratic or self.one_hessian)), "pairs: allowed are none for these functions")
        self.pairs = {at: c * self.L ** (force - 1) for at, c in pairs.items()}
        both = [listed(what, data[what]) for what in ("operators", "symmetric")]
        many = len(self.sorts) if self.quadratic else 0
        need(len(both[0]) == len(both[1]) == many, f"operators, symmetric: allowed are {many} of each")
        points = (1, last)
        self.operators = [table("operators", each, points, points) for each in both[0]]
        self.skews = [table("symmetric", each, points, points) for each in both[1]]
        need(all(p <= q for each in self.operators for p, q in each), "operators: allowed are p <= q")
        need(all(p < q for each in self.skews for p, q in each), "symmetric: allowed are p < q")

    def weights(self) -> dict:
        """By point, how much of F(x_p) - F(x*) or |grad F(x_p)|^2 the metric takes."""
        if self.metric == "final_squared_distance":
            return {}
        first = 1 if self.average == AFTER else 0
        points = self.shared[-1:] if self.metric.startswith("final") else self.shared[first:][: len(self.rounds)]
        return {p: Fraction(1, len(points)) for p in points}

    def verify(self) -> None:
        self.slack.add_shared(self.tau, {("d",): Fraction(1)})
        for (p, o), nu in self.nu.items():
            apart = vector_sum((self.gradient(p), Fraction(1)), (self.slack.over_all(self.gradient(p)), Fraction(-1)))
            self.slack.add(o, [(nu, apart, apart)])
        self.take_metric()
        for o in range(len(self.sorts)):
            if self.quadratic:
                self.take_operators(o)
            elif not self.one_hessian:
                self.take_pairs(o)
        need(self.slack.holds(), "what the multipliers leave is not positive semidefinite")

    def take_metric(self) -> None:
        weights, slack = self.weights(), self.slack
        if self.metric == "final_squared_distance":
            for probability, _, (mean, apart, factor) in self.ends:
                slack.add_shared(-probability, mean)
                for o, (share, _) in enumerate(self.sorts):
                    slack.add(o, [(-probability * factor * share, apart, apart)])
        elif self.metric.endswith("gradient"):
            for p, w in weights.items():
                slack.add_shared(-w, slack.over_all(self.gradient(p)))
        elif self.quadratic or self.one_hessian:  # F_i(x) - F_i(x*) = <grad F_i(x) + grad F_i(x*), x - x*>/2
            for o, (share, _) in enumerate(self.sorts):
                both = [vector_sum((self.gradient(p), Fraction(1)), (self.gradient(0), Fraction(1))) for p in weights]
                slack.add(o, [(-share * w / 2, g, self.places[p])
                              for g, (p, w) in zip(both, weights.items(), strict=True)])  # fmt: skip

    def take_pairs(self, o: int) -> None:
        """Less lambda times what interpolation makes >= 0, of f_p - f_q and of

            - <g_q, x_p - x_q> - (|g_p - g_q|^2 + mu L |x_p - x_q|^2 - 2 mu <g_p - g_q, x_p - x_q>)/(2 (L - mu)),

        of which the f have to cancel those of the metric."""
        L, mu, share = self.L, self.mu, self.sorts[o][0]
        gaps = self.weights() if self.metric.endswith("gap") else {}
        left = {0: share * sum(gaps.values())} | {p: Fraction(0) for p in range(1, len(self.places))}
        for p, w in gaps.items():
            left[p] -= share * w
        made: dict = {}  # {(what, p, what, q): coefficient}, what being a gradient or a place

        def take(c: Fraction, *signs: tuple) -> None:
            for (a, s), (b, t) in pairs_of(*signs):
                made[a, b] = made.get((a, b), 0) + c * s * t

        for (sort, p, q), c in self.pairs.items():
            if sort == o:
                left[p] -= c
                left[q] += c
                g = ((("g", p), 1), (("g", q), -1))
                x = ((("x", p), 1), (("x", q), -1))
                wide = c / (2 * (L - mu))
                take(c, ((("g", q), 1),), x)
                take(wide, g, g)
                take(wide * mu * L, x, x)
                take(-2 * wide * mu, g, x)
        need(not any(left.values()), "pairs: their multipliers do not cancel the values of the functions")
        self.slack.add(o, self.gathered(made))

    def gathered(self, made: dict) -> list:
        """The sum of c <a, b> as one product for each a."""
        by_first: dict = {}
        for (a, b), c in made.items():
            by_first.setdefault(a, []).append((self.named(b), c))
        return [(Fraction(1), self.named(a), vector_sum(*parts)) for a, parts in by_first.items()]

    def named(self, label: tuple) -> dict:
        return self.gradient(label[1]) if label[0] == "g" else self.places[label[1]]

    def take_operators(self, o: int) -> None:
        """Of a client with Hessian A, s_p = x_p - x_q with the point q before p, u_p = A s_p: less what A being
        symmetric with mu <= A <= L gives, sums of P_pq <u_p - mu s_p, L s_q - u_q> for P >= 0, and of multiples of
        <s_p, u_q> - <s_q, u_p>, which are 0."""
        count, force = len(self.places), METRICS[self.metric]
        steps, changes = {}, {}
        for p in range(1, count):
            before = self.parents[p]
            steps[p] = vector_sum((self.places[p], Fraction(1)), (self.places[before], Fraction(-1)))
            changes[p] = vector_sum((self.gradient(p), Fraction(1)), (self.gradient(before), Fraction(-1)))
        low = {p: vector_sum((changes[p], Fraction(1)), (steps[p], -self.mu)) for p in steps}
        high = {p: vector_sum((steps[p], self.L), (changes[p], Fraction(-1))) for p in steps}
        entry = {**self.operators[o], **{(q, p): c for (p, q), c in self.operators[o].items()}}
        rows = [[entry.get((p, q), Fraction(0)) for q in range(1, count)] for p in range(1, count)]
        need(semidefinite(rows), "operators: not positive semidefinite")
        scale = self.L ** (force - 2)
        for p in steps:
            other = vector_sum(*((high[q], entry.get((p, q), Fraction(0))) for q in steps))
            self.slack.add(o, [(-scale, low[p], other)])
        for (p, q), c in self.skews[o].items():
            scaled = c * self.L ** (force - 1)
            self.slack.add(o, [(scaled, steps[p], changes[q]), (-scaled, steps[q], changes[p])])

    # what it says

    @property
    def additive(self) -> Fraction:
        return sum(self.nu.values(), Fraction(0))

    def statement(self) -> str:
        """The theorem, in words."""
        kind = "quadratic, with Hessians" if self.quadratic else "differentiable, with curvatures"
        who = "any number of clients" if self.clients is None else f"{self.clients} clients"
        zeta = f" + {self.additive} zeta^2" if self.nu else ""
        where = "x* and the server's points" if self.everywhere else "x*"
        if self.nu:
            over = "all clients" if len(self.sorts) == 1 else "the clients of the set, and over the others,"
            apart = (
                f"gradients at {where} whose squared distance from their mean is at most zeta^2 over {over} on average"
            )
        else:
            apart = "x* that minimises every client's function"
        what = {"gap": "F(x_r) - F(x*)", "gradient": "|grad F(x_r)|^2"}.get(self.metric.rsplit("_", 1)[1])
        if what is None:
            left = f"E|x_{len(self.rounds)} - x*|^2"
        elif self.metric.startswith("final"):
            left = what.replace("x_r", f"x_{len(self.rounds)}")
        else:
            left = f"the mean of {what} over {self.average}, R = {len(self.rounds)},"
        done = "; then ".join(" or ".join(self.in_words(p, kind) for p, kind in kinds) for kinds in self.rounds)
        return (f"For {who} whose functions are {kind} from {self.mu} to {self.L}, and {apart}; exact gradients; "
                f"{done}:\n{left} <= {self.tau} |x_0 - x*|^2{zeta}")  # fmt: skip

    def in_words(self, probability: Fraction, kind: dict) -> str:
        often = "" if probability == 1 else f"with probability {probability} "
        if kind["kind"] == SERVER:
            return f"{often}a step of {kind['server_lr']} along grad F"
        who = {ALL: "all clients", ANY: "{size} clients drawn uniformly", SET: "any {size} clients"}[
            kind["who"]["kind"]
        ]
        who = who.format(**kind["who"]) + (" with replacement" if kind["who"].get("replacement") else "")
        steps = ", ".join(map(str, kind["local_lr"]))
        extra = f", proximal {kind['proximal']}" if kind["proximal"] else ""
        extra += f", times {kind['global_lr']}" if kind["global_lr"] != 1 else ""
        return f"{often}local steps of {steps} by {who}{extra}"


def verified(data: object) -> WorstCase:
    """A certificate of a worst case, verified.

    Raises:
        Wrong: what is wrong with it, or that it proves nothing.
    """
    WORK["left"] = LARGEST["certificate"]
    try:
        return WorstCase(data)
    except UNREADABLE as error:
        raise Wrong(f"certificate: unreadable: {error!r:.200}") from None


RULES = {name.replace("_", " "): name for name in (
    "combine", "over_clients", "over_steps", "induct", "last_step", "instantiate", "expect_uniform", "expect_arbitrary",
    "project", "mix", "smooth", "cocoercive", "convex", "descent", "dissimilar", "optimal", "local_step", "round",
    "unbiased", "variance", "uncorrelated", "steps_apart", "interpolated", "server_round", "server_unbiased",
    "server_variance", "server_descent", "mix_server", "worst_case", "mean_iterate", "optimal_along",
    "uncorrelated_clients",
    "weighted_noise", "stochastic_gradient", "lowest", "heterogeneity", "everyone", "drawn_mean", "spread_of_draw",
    "weighted_round", "weighted_descent", "participation", "weighted_noise_of_a_round", "scaled_noise",
    "error_of_weights", "scale_of_weights", "around_plain_mean", "bounded_gradient",
    "answered_round", "answered_descent", "mean_of_answers", "answers_around_their_mean", "mismatch_of_answers",
    "spread_of_answers", "second_moment_of_answers", "bounded_local_gradient", "path_of_bounded_steps", "unit",
    "moment_of_an_interval", "early_moment_of_an_interval", "mean_of_ended_intervals", "spread_of_ended_intervals",
    "early_weight", "early_weight_of_an_interval", "own_share",
)} | {"mu <= L": "constants_in_order"}  # fmt: skip
FIELDS = {"rule", "premises", "arguments", "context", "kind", "where", "assumptions", "parameters", "form", "equality",
          "path_to_the_end"}  # fmt: skip


def checked(proof: Proof, line: dict) -> dict:
    """The theorem that a line states, which is what its rule concludes."""
    need(isinstance(line, dict) and set(line) == FIELDS, "other fields than a theorem's")
    need(isinstance(line["rule"], str) and line["rule"] in RULES, "no rule of that name")
    spend(len(line["premises"]))
    for i in line["premises"]:
        need(type(i) is int and 0 <= i < proof.count, f"premise {i!r} does not exist")
        need(i < len(proof), f"premise {i} comes at or after it: a cycle")
    need(type(line["where"]) is int and 0 <= line["where"] < len(proof.regions), "no such region")
    found = getattr(Rules(proof, line, [proof.theorems[i] for i in line["premises"]]), RULES[line["rule"]])()
    items = {entry_of(e): proof.scalar(c) for e, c in line["form"]}
    need(len(items) == len(line["form"]), "an entry twice")
    assumed = [(n, None if c is None else proof.scalar(c)) for n, c in line["assumptions"]]
    parametrised = {n: proof.scalar(c) for n, c in line["parameters"].items()}
    stated = {
        "form": {e: r for e, c in items.items() if any(r := proof.residues(c))},
        "context": line["context"], "kind": line["kind"], "equality": line["equality"],
        "path_to_the_end": line["path_to_the_end"],
        "assumptions": {(n, None if c is None else proof.residues(c)) for n, c in assumed},
        "parameters": {n: proof.residues(c) for n, c in parametrised.items()},
    }  # fmt: skip
    for part, value in stated.items():
        need(value == found[part], f"{line['rule']}: the file's {part} is not what the rule concludes")
    need(all(proof.never_zero(c[1], line["where"]) for c in items.values()), "a coefficient divides by what may be 0")
    return stated | {"where": line["where"], "items": items, "assumed": assumed, "parametrised": parametrised}


def check(data: dict) -> int:
    """How many theorems a saved proof has, all of them checked; a certificate of a worst case is one.

    Raises:
        Wrong: which theorem does not follow, and why.
    """
    if is_certificate(data):
        verified(data)
        return 1
    return len(Proof(data))


def is_certificate(data: object) -> bool:
    """Whether a file's content says that it is one of a worst case."""
    return isinstance(data, dict) and data.get("what") == CERTIFICATE


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: checker.py FILE", file=sys.stderr)
        return 2
    name = arguments[0]
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read(LARGEST["file"] + 1)
        need(len(text) <= LARGEST["file"], f"allowed are {LARGEST['file']} characters")
        data = json.loads(text)
    except (OSError, ValueError, RecursionError, Wrong) as error:
        print(f"{name}: cannot be read: {error}", file=sys.stderr)
        return 2
    try:
        said = verified(data).statement() if is_certificate(data) else f"{check(data)} theorems, all checked"
    except Wrong as wrong:
        print(f"{name}: no proof: {wrong}", file=sys.stderr)
        return 1
    print(f"{name}: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
