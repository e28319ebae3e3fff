"""Check a saved proof from axioms to theorem, or to a claim on whole runs, or a certificate of a worst case. The file
stands alone: it is plain Python and imports nothing of the package and no library.

    python checker.py FILE

Forms, contexts, assumptions and parameters are all computed again from the arguments that the file gives for each rule.
Scalars are quotients of polynomials with whole coefficients and are compared exactly: a/b = c/d if a d - c b is 0. An
expression that has to be >= 0 is written in the parameters of its region. There, if need be times a power of 1 + their
sum, it must have no negative coefficient. The checker knows the kernel's rules and shares no line with them. A claim
stands in its file as text; it is read anew, and what is proved has to be what it says.

The forms of a certificate are built again from the class, the rounds and the metric, by the clients' gradients
themselves. Exact fractions decide whether the rest that the multipliers leave is positive semidefinite.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import math
import operator
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from itertools import product as pairs_of
from typing import Any

LARGEST = {
    "theorems": 5000, "terms": 200000, "power": 60, "degree": 4000, "digits": 400, "intervals": 8, "regions": 200,
    "work": 4_000_000, "certificate": 8_000_000, "size": 50_000_000, "signs": 10_000_000, "index": 1000,
    "file": 8 * 2**20,
}  # fmt: skip
"""Limits of a file. Work is counted in products of two terms with short coefficients, about a million of which take
one second. Size counts all that is held at once, in pieces of 30 bits."""
BINDERS = ("", "K", "M", "S", "KM", "KS")
CONTEXTS, KINDS = ("cohort", "kind", "start", "run"), ("", "uniform", "arbitrary", "server")
COEFFICIENT, NUMBER = re.compile(r"-?[1-9][0-9]*(/[1-9][0-9]*)?"), re.compile(r"(0|-?[1-9][0-9]*)(/[1-9][0-9]*)?")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
EXPONENTS = {"cutoff": "tail", "rounds": "power", "local_steps * rounds": "steps"}
"""Exponents of powers that letters stand for, and the sorts of these letters."""
EXPONENT = re.compile(r"(-(?=[0-9]+$))?([0-9]+)( \* cutoff)?")
"""Other exponents: a whole number, or a positive one times the cutoff."""
EXPRESSION = re.compile(r"(?!.*\b[0-9]+[A-Za-z_])[A-Za-z0-9_+\-*/()., <>=]*")  # numbers are of digits alone
STAGES = {  # (name, of a client, has a step): (stage, lag)
    ("N", True, True): ("path", 1), ("x_mean", False, True): ("path", 0),
    **{(name, True, True): ("path", 0) for name in ("x", "g", "g_mean")},
    **{(name, True, False): ("start", 0) for name in (
        "g_start", "g_opt", "x_own", "g_point_0", "g_point_1", "g_point_2",
    )},
    **{(name, False, False): ("start", 0) for name in (
        "x", "x*", "g_centre", "unit", "point_0", "point_1", "point_2", "E arbitrary g_start", "E uniform g_start",
        "E arbitrary g_opt", "E uniform g_opt",
    )},
    **{(name, False, False): ("end", 0) for name in (
        "x+", "N_server", "A_weights", "V_weights", "U_weights", "B_answers", "A_answers", "Z_answers", "interval",
        "weight", "interval_ended", "weight_ended", "unit_ended",
    )},
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
"""Exceptions that reading data of another shape raises."""


class Wrong(Exception):
    """Error of a file that is not a proof; the message says where and why."""


class Unfit(Wrong):
    """Error of a file that is not written as a proof is, or larger than what is checked: nothing is decided of it."""


def need(truth: bool, why: str) -> None:
    """Raise ``Wrong`` with this reason if a condition of the proof does not hold."""
    if not truth:
        raise Wrong(why)


def fit(truth: bool, why: str) -> None:
    """Raise ``Unfit`` with this reason if a file is not written as a proof is, or too large."""
    if not truth:
        raise Unfit(why)


# files and their parts: every part is of the one type that it has to be of, and no key is there twice


def read(text: str | bytes) -> object:
    """Read the content of a JSON file.

    Raises:
        ValueError: it is none, a key stands twice in an object, or it is too deeply nested.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _once(pairs: list) -> dict:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(a for a, b in pairwise(sorted(name for name, _ in pairs)) if a == b)
        raise ValueError(f"the key {twice[:60]!r} stands twice in one object")
    return made


def _no_number(text: str) -> object:
    raise ValueError(f"{text}: allowed are finite numbers")


def listed(what: str, value: object, count: int | None = None, most: int | None = None) -> list:
    """Return the value if it is a list, of this count or of at most so many entries."""
    if type(value) is not list:
        raise Unfit(f"{what}: allowed is a list")
    if count is not None and len(value) != count:
        raise Unfit(f"{what}: {len(value)} entries, allowed are {count}")
    if most is not None and len(value) > most:
        raise Unfit(f"{what}: {len(value)} entries, allowed are at most {most}")
    return value


def keyed(what: str, value: object) -> dict:
    """Return the value if it is a JSON object."""
    if type(value) is not dict:
        raise Unfit(f"{what}: allowed is an object")
    return value


def keys(what: str, data: object, allowed: str) -> dict:
    """Return the data if it is a JSON object with exactly these keys."""
    fit(set(keyed(what, data)) == set(allowed.split()), f"{what}: allowed are exactly {allowed}")
    return data  # type: ignore[return-value]


def truth(what: str, value: object) -> bool:
    """Return the value if it is true or false."""
    if type(value) is not bool:
        raise Unfit(f"{what}: allowed is true or false")
    return value


def whole(what: str, value: object, low: int, high: int) -> int:
    """Return the value if it is a whole number between the two bounds."""
    if type(value) is not int or not low <= value <= high:
        raise Unfit(f"{what} = {ascii(value)[:60]}: allowed is a whole number from {low} to {high}")
    return value


def word(what: str, value: object, allowed: tuple | None = None) -> str:
    """Return the value if it is a text, and one of those allowed."""
    if type(value) is not str or (allowed is not None and value not in allowed):
        raise Unfit(f"{what} = {str(value)[:60]!r}: allowed is {'a text' if allowed is None else f'one of {allowed}'}")
    return value


def seen(data: dict) -> dict:
    """Return the data if all texts in it are seen as they are: without what a terminal obeys, or does not show."""
    waiting: list = [data]
    while waiting:
        part = waiting.pop()
        if type(part) is str:
            shown = part.isprintable() and "  " not in part
            fit(shown, f"{ascii(part)[:60]}: allowed is what can be printed, with no two spaces in a row")
        else:
            waiting += [*part, *part.values()] if type(part) is dict else part if type(part) is list else []
    return data


# work and memory are counted before anything is multiplied out

LEFT = {part: LARGEST[part] for part in ("work", "size")}


def spend(work: int) -> None:
    """Count work before it is done, so that no file takes long."""
    LEFT["work"] -= work
    fit(LEFT["work"] >= 0, "a certificate too large: more work than any proof takes")


def hold(*polynomials: dict, left: int | None = None) -> None:
    """Count polynomials as held until ``let_go``. If ``left`` is given, the size that was left then, all that was made
    since is gone except these polynomials."""
    LEFT["size"] = (LEFT["size"] if left is None else left) - sum(map(size, polynomials))
    fit(LEFT["size"] >= 0, "too large: more terms and digits than any proof has")


def let_go() -> None:
    """Reset the count of what is held."""
    LEFT["size"] = LARGEST["size"]


# polynomials: {packed powers: whole number}

FIELD = 16
"""Bits of one power in a packed power product. The lowest field has the sum of all powers. That sum is limited before
anything is multiplied, so no power leaves its field."""
MASK = (1 << FIELD) - 1
TERM = 100
"""Size of a term without its coefficient, in pieces of 30 bits."""
POLYNOMIAL_ONE = {0: 1}


def place(index: int) -> int:
    """Return the letter with this index as a power product."""
    return 1 << FIELD * (index + 1) | 1


def power_of(key: int, index: int) -> int:
    """Return the power of the letter with this index in a packed power product."""
    return key >> FIELD * (index + 1) & MASK


def degree(a: dict) -> int:
    """Return the degree of a polynomial: the largest sum of powers of its terms."""
    return max((key & MASK for key in a), default=0)


def pieces(a: dict) -> int:
    """Return the size of all coefficients together, in pieces of 30 bits."""
    return len(a) + sum(map(int.bit_length, a.values())) // 30


def size(a: dict) -> int:
    """Return the size of a polynomial, in pieces of 30 bits."""
    return pieces(a) + TERM * len(a)


def longest(a: dict) -> int:
    """Return the size of the longest coefficient, in pieces of 30 bits."""
    return max(map(int.bit_length, a.values()), default=0) // 30 + 1


def times(a: dict, b: dict) -> dict:
    """Return the product of two polynomials."""
    if a == POLYNOMIAL_ONE or b == POLYNOMIAL_ONE:
        return b if a == POLYNOMIAL_ONE else a
    return sum_of_products([(a, b)])


def sum_of_products(products: list) -> dict:
    """Return the sum of a b over pairs (a, b) of polynomials."""
    made: dict = {}
    most = TERM + max((longest(a) + longest(b) for a, b in products), default=0)
    for one, other in products:
        few, many = (one, other) if len(one) <= len(other) else (other, one)
        fit(degree(one) + degree(other) <= LARGEST["degree"], "a power too large")
        spend(1 + len(one) * len(other) + pieces(one) * pieces(other) // 500)
        for p, c in few.items():
            if made:
                get = made.get
                for r, d in many.items():
                    key = p + r
                    made[key] = get(key, 0) + c * d
            else:
                made = {p + r: c * d for r, d in many.items()}
            fit(len(made) * most <= LEFT["size"], "a polynomial of too many terms")
    made = {key: c for key, c in made.items() if c}
    hold(made)
    return made


def plus(a: dict, b: dict) -> dict:
    """Return the sum of two polynomials."""
    if not (a and b):
        return a or b
    spend(1 + (size(a) + size(b)) // (2 * TERM))
    made = dict(a)
    for key, c in b.items():
        made[key] = made.get(key, 0) + c
    made = {key: c for key, c in made.items() if c}
    hold(made)
    return made


def minus(a: dict) -> dict:
    """Return the negative of a polynomial."""
    return {key: -c for key, c in a.items()}


def substituted(a: dict, index: int, top: dict, bottom: dict) -> tuple[dict, int]:
    """Substitute top/bottom for a letter; return bottom^d times the result, and d, the polynomial's degree in that
    letter."""
    spend(len(a))
    if not power_of(functools.reduce(operator.or_, a, 0), index):
        return a, 0
    by_power, left = split_by_power(a, index), LEFT["size"]
    highest = max(by_power)
    over, under = powers(top, highest), powers(bottom, highest)
    made = sum_of_products([(part, times(over[p], under[highest - p])) for p, part in by_power.items()])
    hold(made, left=left)
    return made, highest


def split_by_power(a: dict, index: int) -> dict:
    """Return a polynomial's parts by the power of a letter, without that letter."""
    unit, shift = place(index), FIELD * (index + 1)
    found: dict[int, dict] = {}
    for key, c in a.items():
        if p := key >> shift & MASK:
            key -= p * unit
        if p not in found:
            found[p] = {}
        found[p][key] = c
    return found


def powers(a: dict, highest: int) -> list:
    """Return a polynomial's powers from 0 to the highest one."""
    made = [POLYNOMIAL_ONE]
    for _ in range(highest):
        made.append(times(made[-1], a))
    return made


def letters_of(a: dict) -> set:
    """Return the indices of the letters that occur in a polynomial."""
    key, found, index = functools.reduce(operator.or_, a, 0) >> FIELD, set(), 0
    while key:
        if key & MASK:
            found.add(index)
        key, index = key >> FIELD, index + 1
    return found


class Scalar:
    """Quotient top/bottom of two polynomials, the second one not 0. Equal scalars need not be written alike."""

    __slots__ = ("bottom", "top")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, top: dict, bottom: dict = POLYNOMIAL_ONE) -> None:
        need(bool(bottom), "a division by 0")
        self.top, self.bottom = top, bottom

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scalar):
            return NotImplemented
        if self.bottom == other.bottom:
            return self.top == other.top
        return times(self.top, other.bottom) == times(other.top, self.bottom)

    def __mul__(self, other: Scalar) -> Scalar:
        return Scalar(times(self.top, other.top), times(self.bottom, other.bottom))

    def __truediv__(self, other: Scalar) -> Scalar:
        return Scalar(times(self.top, other.bottom), times(self.bottom, other.top))

    def __add__(self, other: Scalar) -> Scalar:
        if self.bottom == other.bottom:
            return Scalar(plus(self.top, other.top), self.bottom)
        top = plus(times(self.top, other.bottom), times(other.top, self.bottom))
        return Scalar(top, times(self.bottom, other.bottom))

    def __neg__(self) -> Scalar:
        return Scalar(minus(self.top), self.bottom)

    def __sub__(self, other: Scalar) -> Scalar:
        return self + -other

    def __pow__(self, p: int) -> Scalar:
        return Scalar(powers(self.top, p)[-1], powers(self.bottom, p)[-1])

    @property
    def letters(self) -> set:
        """Indices of the letters that occur in the scalar as it is written."""
        return letters_of(self.top) | letters_of(self.bottom)

    def has(self, index: int) -> bool:
        """Whether a letter occurs in the scalar as it is written."""
        return any(power_of(functools.reduce(operator.or_, part, 0), index) for part in (self.top, self.bottom))

    def put(self, values: dict, free: int) -> Scalar:
        """Substitute scalars for letters, given by their indices, all at once. Indices from ``free`` on must not be in
        use."""
        parts = [self.top, self.bottom]
        for i in values:  # set apart first, as one's value may have another's letter
            parts = [substituted(part, i, {place(free + i): 1}, POLYNOMIAL_ONE)[0] for part in parts]
        for i, value in values.items():
            (top, d), (bottom, e) = (substituted(part, free + i, value.top, value.bottom) for part in parts)
            parts = [
                times(top, powers(value.bottom, max(e - d, 0))[-1]),
                times(bottom, powers(value.bottom, max(d - e, 0))[-1]),
            ]
        return Scalar(*parts)


def number(value: int | Fraction) -> Scalar:
    """Return a number as a scalar."""
    return Scalar({0: value.numerator} if value else {}, {0: value.denominator})


ONE, MINUS, ZERO, HALF = (number(c) for c in (1, -1, 0, Fraction(1, 2)))


@functools.cache
def power_sum(p: int) -> list:
    """Return the coefficients of sum_{k=0}^{n-1} k^p as a polynomial in n. They follow from sum_j C(p+1, j) sum_k k^j
    = n^(p+1)."""
    fit(p <= 2 * LARGEST["power"], "a power too large")
    made = [Fraction(int(j == p + 1)) for j in range(p + 2)]
    for j in range(p):
        for i, c in enumerate(power_sum(j)):
            made[i] -= math.comb(p + 1, j) * c
    return [c / (p + 1) for c in made]


def first_and_later(made: dict, step: int) -> tuple[dict, dict]:
    """Return a polynomial with 0, and with one more, in the place of the parameter that is a step: a whole number."""
    unit = place(step)
    first = {key: c for key, c in made.items() if not power_of(key, step)}
    return first, substituted(made, step, {0: 1, unit: 1}, POLYNOMIAL_ONE)[0]


def pulled_back(made: dict, substitutions: list) -> dict:
    """Apply every substitution (letter, top, bottom), the last one first, and multiply by the bottoms."""
    left = LEFT["size"]
    for index, top, bottom in reversed(substitutions):
        made, _ = substituted(made, index, top, bottom)
        hold(made, left=left)
    return made


def is_positive(made: dict, positive: set, pairs: list) -> bool:
    """Whether a polynomial in a region's parameters is > 0 there. It has to have no negative coefficient. Whichever of
    an interval's two parameters is not 0, it also needs a term of such parameters and of those > 0 alone."""
    fit(len(pairs) <= LARGEST["intervals"], "a region of too many intervals")
    spend(len(made) << len(pairs))
    return all(c > 0 for c in made.values()) and all(
        any(not key & ~allowed for key in made)
        for allowed in (_fields(positive | set(chosen)) for chosen in pairs_of(*pairs))
    )


def _fields(indices: set) -> int:
    """Return the bit mask of the powers of these letters and of the sum of powers."""
    return MASK | sum(MASK << FIELD * (index + 1) for index in indices)


class Proof:
    """Saved proof, read and checked, with what its checks share: names and regions."""

    def __init__(self, data: object, work: int | None = None) -> None:
        claims = type(data) is dict and data.get("format") == OF_CLAIM
        fields = "format names regions theorems" + " bounds letters claim roots digest" * claims
        given = self.begun(data, fields, (OF_THEOREM, OF_CLAIM), 40, work)
        try:
            self.regions = [self.region(r) for r in listed("regions", given["regions"], most=LARGEST["regions"])]
        except UNREADABLE as error:
            raise Unfit(f"regions: unreadable: {error!r:.200}") from None
        lines = listed("theorems", given["theorems"], most=LARGEST["theorems"])
        fit(bool(lines) or claims, "theorems: allowed is at least one")
        self.count = len(lines)
        for number_of, line in enumerate(lines):
            self.at = f"theorem {number_of}"
            with _named(self.at):
                self.theorems.append(checked(self, line))
        self.claim = ClaimOfRuns(self, given) if claims else None
        for at, scalar, region, why in self.signs:
            with _named(at):
                need(self._nonnegative(scalar, region), why)
        if self.claim is not None:
            self.claim.read(given["letters"], given["claim"], given["digest"], given["roots"])

    def begun(self, data: object, fields: str, formats: tuple, most: int, work: int | None) -> dict:
        """Read the names of a file with these fields, and return its parts."""
        LEFT["work"] = LARGEST["work"] if work is None else work
        let_go()
        given = keys("a proof", data, fields)
        form = str(given["format"])[:60]
        need(given["format"] in formats,
             f"format {form!r} is another version's; `fedtheory prove CLAIM --save FILE` writes one")  # fmt: skip
        self.names = [word("a name", name) for name in listed("names", given["names"], most=most)]
        fit(all(map(NAME.fullmatch, self.names)), "names: allowed are letters, digits and _")
        fit(len(set(self.names)) == len(self.names), "names: twice the same")
        self.width, self.number = len(self.names), {name: i for i, name in enumerate(self.names)}
        self.theorems: list[dict] = []
        self.charts: dict = {}
        self.inside: dict = {}
        self.shown_signs: dict = {}
        self.signs: list[tuple] = []
        self.kept, self.remembered = 0, 0
        return given

    def __len__(self) -> int:
        return len(self.theorems)

    def statement(self) -> str:
        """Return the last theorem in words, or the claim that it leads to."""
        if self.claim is not None:
            return self.claim.statement()
        last = self.theorems[-1]
        where = [self.condition_in_words(*condition) for condition in self.regions[last["where"]]]
        assumed = sorted(n + ("" if c is None else f"({self.shown(c)})") for n, c in last["assumptions"])
        of = sorted(f"{n} = {self.shown(c)}" for n, c in last["parameters"].items())
        given = {
            "cohort": "given the round's start and its cohort",
            "start": "given the round's start",
            "kind": f"given the start of a round of kind {last['kind']}",
            "run": "of the whole run",
        }
        form = " + ".join(f"({self.shown(c)}) {entry_in_words(e)}".rstrip() for e, c in last["form"].items()) or "0"
        return "\n".join(
            [
                f"for {', '.join(where) or 'all scalars'};",
                f"for every federation, participation and algorithm with {', '.join(assumed) or 'no assumption'}"
                + (f"; {', '.join(of)}" if of else "")
                + ";",
                f"{given[last['context']]}, with <u, v> for the expectation of u . v:",
                f"{form} {'=' if last['equality'] else '>='} 0",
            ]
        )

    def condition_in_words(self, name: str, kind: str, bound: Scalar | None) -> str:
        """Return a region's condition in words, such as ``0 < eta <= 1/L``."""
        return CONDITIONS[kind].format(name, "" if bound is None else self.shown(bound))

    def shown(self, scalar: Scalar) -> str:
        """Return a scalar as text."""
        scale = math.gcd(*scalar.top.values(), *scalar.bottom.values())
        top, bottom = (self._shown(part, scale) for part in (scalar.top, scalar.bottom))
        return top if bottom == "1" else f"{f'({top})' if len(scalar.top) > 1 else top}/({bottom})"

    def _shown(self, polynomial: dict, scale: int) -> str:
        terms = []
        for key, c in sorted(polynomial.items(), reverse=True):
            at = ((name, power_of(key, i)) for i, name in enumerate(self.names))
            letters = [name if p == 1 else f"{name}^{p}" for name, p in at if p]
            terms.append(
                " ".join(
                    [str(c // scale)] * (abs(c) != scale or not letters)
                    + ["-"] * (c == -scale and bool(letters))
                    + letters
                )
            )
        return " + ".join(terms).replace("+ -", "- ").replace("-  ", "- ") or "0"

    # scalars

    def name(self, name: str) -> Scalar:
        """Return a letter as a scalar."""
        return Scalar({place(self.number[name]): 1})

    def scalar(self, data: object) -> Scalar:
        """Read a scalar with rational coefficients from a file's data."""
        given = keys("a scalar", data, "top bottom")
        parts = [self.polynomial(given[part]) for part in ("top", "bottom")]
        need(bool(parts[1]), "a division by 0")
        fit(bool(parts[0]) or parts[1] == POLYNOMIAL_ONE, "a 0 that is not written as 0/1")
        scale = 1
        for part in parts:
            for c in part.values():
                scale = math.lcm(scale, c.denominator)
                fit(scale.bit_length() <= 30 * LARGEST["digits"], "coefficients of too many denominators")
        spend(sum(map(len, parts)) * (1 + scale.bit_length() // 3000))
        made = [{key: c.numerator * (scale // c.denominator) for key, c in part.items()} for part in parts]
        hold(*made)
        return Scalar(*made)

    def polynomial(self, data: object) -> dict:
        """Read a polynomial from a file's data, as {packed powers: Fraction}."""
        made: dict = {}
        spend(len(listed("a polynomial", data, most=LARGEST["terms"])))
        for term in data:  # type: ignore[attr-defined]
            powers, text = listed("a term", term, 2)
            at = [whole("a power", p, 0, LARGEST["power"]) for p in listed("powers", powers, self.width)]
            key = sum(p * place(i) for i, p in enumerate(at) if p)
            fit(len(word("a coefficient", text)) <= LARGEST["digits"], "a coefficient of too many digits")
            fit(COEFFICIENT.fullmatch(text) is not None, "a coefficient that is no quotient of whole numbers, or 0")
            fit(key not in made, "a power product twice")
            made[key] = Fraction(*map(int, text.split("/")))
        return made

    def depends(self, scalar: Scalar, name: str) -> bool:
        """Whether a letter occurs in a scalar as it is written."""
        return scalar.has(self.number[name])

    def put(self, scalar: Scalar, values: dict) -> Scalar:
        """Substitute scalars for letters, given by their names, all at once."""
        return scalar.put({self.number[name]: value for name, value in values.items()}, self.width)

    def summed(self, scalar: Scalar) -> Scalar:
        """Return sum_{k=0}^{K-1} of a scalar that is a polynomial in k."""
        at, count = self.number["k"], self.name("K")
        need(not Scalar(scalar.bottom).has(at), "a sum over k of a quotient by k")
        total = ZERO
        for p, part in split_by_power(scalar.top, at).items():
            powers = [count**i * number(c) for i, c in enumerate(power_sum(p)) if c]
            total += functools.reduce(operator.add, powers) * Scalar(part, scalar.bottom)
        return total

    # regions

    def region(self, data: object) -> list:
        """Read the conditions of a region, each as (name, kind, bound)."""
        made = []
        for condition in listed("a region", data, most=40):
            name, kind, bound = listed("a condition", condition, 3)
            fit(word("a condition's name", name) in self.number, f"region: {name[:60]!r} is no name")
            fit(word("a condition", kind) in BOUNDED, f"region: a condition {kind[:60]!r}")
            fit((bound is not None) == BOUNDED[kind], f"region: {name}: {kind}, and {'a' if bound else 'no'} bound")
            made.append((name, kind, None if bound is None else self.scalar(bound)))
        return made

    def chart(self, region: int) -> tuple:
        """Return a region's parametrization: every letter through parameters >= 0 and letters earlier in the list.

        Returns:
            substitutions: [(letter, top, bottom)]. positive: the parameters that are > 0.
            pairs: the pairs of parameters that are not both 0.
        """
        if region not in self.charts:
            self.charts[region] = self._chart(self.regions[region])
        return self.charts[region]

    def _chart(self, conditions: list) -> tuple:
        seen: set[int] = set()
        positive: set[int] = set()
        made: list[tuple] = []
        pairs: list[tuple] = []
        parameters = iter(range(self.width, self.width + 2 * len(conditions)))
        for name, kind, bound in reversed(conditions):
            index, first = self.number[name], next(parameters)
            need(name != "k", "region: k is any step, from 0 to K - 1")
            need(index not in seen, f"region: {name} twice")
            need(name != "K" or kind == "count", "region: K is a count")
            if bound is not None:
                need(bound.letters <= seen, f"region: the bound of {name} uses what is not yet given")
                need(is_positive(pulled_back(bound.bottom, made), positive, pairs), f"region: {name}: a bound over 0")
            seen.add(index)
            u, above = {place(first): 1}, {0: 1, place(first): 1}
            if kind in ("positive", "above"):
                positive.add(first)
            if kind in ("positive", "nonnegative"):
                made.append((index, u, POLYNOMIAL_ONE))
            elif name == "K":
                second = next(parameters)
                made += [
                    (self.number["k"], {place(second): 1}, POLYNOMIAL_ONE),
                    (index, above | {place(second): 1}, POLYNOMIAL_ONE),
                ]
            elif kind == "count":
                made.append((index, above, POLYNOMIAL_ONE))
            elif kind == "capped":
                made.append((index, bound.top, times(bound.bottom, above)))
            elif kind == "interval":
                second = next(parameters)
                pairs.append((first, second))
                both = {place(first): 1, place(second): 1}
                made.append((index, times(bound.top, u), times(bound.bottom, both)))
            elif kind == "real":
                made.append((index, {place(first): 1, place(next(parameters)): -1}, POLYNOMIAL_ONE))
            else:
                made.append((index, plus(bound.top, times(u, bound.bottom)), bound.bottom))
        return made, positive, pairs

    def pulled(self, polynomial: dict, region: int) -> dict:
        """Return a polynomial in the region's parameters, times bottoms that are > 0 on the region."""
        made = pulled_back(polynomial, self.chart(region)[0])
        need(all(index >= self.width for index in letters_of(made)), "a scalar of which the region says nothing")
        return made

    def ask(self, region: int, why: str, *scalars: Scalar, strict: bool = False) -> None:
        """Note that scalars have to be >= 0 on a region, or > 0. The signs are decided when all else is right; if one
        fails, the file is no proof, and that is why."""
        for scalar in scalars:
            self.kept += size(scalar.top) + size(scalar.bottom)
            fit(self.kept <= LARGEST["signs"], "too large: more terms and digits than any proof has")
            self.signs.append((self.at, scalar, region, why))
            need(not strict or self.never_zero(scalar.top, region), why)

    def _nonnegative(self, scalar: Scalar, region: int) -> bool:
        if not scalar.top:
            return True
        sign = self.sign(scalar.bottom, region)
        if not sign:
            return False
        top = scalar.top if sign > 0 else minus(scalar.top)
        made, step = self.pulled(top, region), self.step_of(region)
        return self._has_signs(made) or (step is not None and all(map(self._has_signs, first_and_later(made, step))))

    def _has_signs(self, made: dict) -> bool:
        multiplier, left = POLYNOMIAL_ONE | {place(i): 1 for i in letters_of(made)}, LEFT["size"]
        for _ in range(4):
            if all(c > 0 for c in made.values()):
                return True
            made = times(made, multiplier)
            hold(made, left=left)
        return False

    def step_of(self, region: int) -> int | None:
        """Return the parameter that is the step k itself, or ``None``."""
        found = [top for index, top, _ in self.chart(region)[0] if self.names[index] == "k"]
        return next(iter(letters_of(found[0]))) if found else None

    def sign(self, polynomial: dict, region: int) -> int:
        """Return 1 or -1 if a polynomial is shown to be > 0 or < 0 on a whole region, else 0."""
        asked = region, frozenset(polynomial.items())
        if asked not in self.shown_signs:
            made, chart = self.pulled(polynomial, region), self.chart(region)[1:]
            sign = 1 if is_positive(made, *chart) else -1 if is_positive(minus(made), *chart) else 0
            self.remembered += size(polynomial)
            if self.remembered > LARGEST["signs"]:
                return sign
            self.shown_signs[asked] = sign
        return self.shown_signs[asked]

    def never_zero(self, polynomial: dict, region: int) -> bool:
        """Whether a polynomial is shown to be > 0 or < 0 on a whole region."""
        return self.sign(polynomial, region) != 0

    def within(self, inner: int, outer: int) -> bool:
        """Whether the first region is shown to lie within the second one."""
        if (inner, outer) not in self.inside:
            self.inside[inner, outer] = self._within(inner, outer)
        return self.inside[inner, outer]

    def _within(self, inner: int, outer: int) -> bool:
        mine = self.regions[inner]
        for condition in self.regions[outer]:
            if condition in mine:
                continue
            if condition[0] not in {name for name, *_ in mine}:
                return False
            for scalar, strict in self.conditions(*condition):
                if strict and not self.never_zero(scalar.top, inner):
                    return False
                self.ask(inner, "a premise shown on a region whose conditions may be negative here", scalar)
        return True

    def conditions(self, name: str, kind: str, bound: Scalar | None) -> list:
        """Return a condition as pairs: a scalar that has to be >= 0, and whether it has to be > 0."""
        x = self.name(name)
        if kind in ("positive", "nonnegative"):
            return [(x, kind == "positive")]
        if kind == "count":
            return [(x - ONE, False)]
        if kind == "real":
            return []
        if bound is None:
            raise Wrong("a condition without its bound")
        if kind in ("at_least", "above"):
            return [(x - bound, kind == "above")]
        return [(x, kind == "capped"), (bound - x, False)]


CONDITIONS = {
    "positive": "{} > 0", "nonnegative": "{} >= 0", "count": "{} a count >= 1", "capped": "0 < {} <= {}",
    "interval": "0 <= {} <= {}", "at_least": "{} >= {}", "above": "{} > {}", "real": "{} any number",
}  # fmt: skip
"""Kinds of condition in words."""
BOUNDED = {kind: words.count("{}") == 2 for kind, words in CONDITIONS.items()}
"""Kinds of condition, and whether they have a bound."""


@contextmanager
def _named(at: str) -> Iterator[None]:
    """Say at which theorem, or other part, something is wrong, and let go of what was made for it."""
    let_go()
    try:
        yield
    except Wrong as wrong:
        raise type(wrong)(f"{at}: {wrong}") from None
    except UNREADABLE as error:
        raise Unfit(f"{at}: unreadable: {error!r:.200}") from None


# vectors: [(term, scalar)]; forms while they are made: [(entry, scalar)]; forms compared: {entry: scalar}


def atom_of(data: object) -> tuple:
    """Read a vector of the algorithm: its name, whether it is a client's, and its step a k + b K + c as (a, b, c) or
    ()."""
    name, client, step = listed("a vector", data, 3)
    at = tuple(whole("a step", part, -LARGEST["index"], LARGEST["index"]) for part in listed("a step", step))
    known = (word("a vector", name), truth("whether it is a client's", client), bool(at)) in STAGES
    fit(known and len(at) in (0, 3), "no vector of the algorithm")
    fit(not at or at[0] in (0, 1), f"{at}: a step")
    return name, client, at


def term_of(data: object) -> tuple:
    """Read a term of a vector: its binders (sums and means) and the vector below them."""
    bound, atom = listed("a term of a vector", data, 2)
    return word("binders of a vector", bound, BINDERS), atom_of(atom)


def stage(atom: tuple) -> tuple:
    """Return when a vector is known, and after how many further steps."""
    return STAGES[atom[0], atom[1], bool(atom[2])]


def open_client(term: tuple) -> bool:
    """Whether a term depends on the client i, with no mean over clients above it."""
    return term[1][1] and not set(term[0]) & {"M", "S"}


def open_step(term: tuple) -> bool:
    """Whether a term depends on the step k, with no sum over steps above it."""
    return bool(term[1][2]) and term[1][2][0] != 0 and "K" not in term[0]


def free(entry: tuple) -> set:
    """Return which of the client i and the step k are free in an entry."""
    if entry[0] == "one":
        return set()
    bound, terms = entry[1], entry[2:] if entry[0] == "product" else [("", entry[2])]
    clients = any(map(open_client, terms)) or entry[0] == "value"
    found = {"i"} if clients and not set(bound) & {"M", "S"} else set()
    return found | ({"k"} if any(map(open_step, terms)) and "K" not in bound else set())


def entry_of(data: object) -> tuple:
    """Read an entry of a form: 1, a client's function value, or an inner product."""
    sort, *rest = listed("an entry", data)
    if word("an entry", sort, ("one", "value", "product")) == "one":
        listed("an entry", rest, 0)
        return ("one",)
    bound, *terms = listed("an entry", rest, 2 if sort == "value" else 3)
    word("binders of an entry", bound, BINDERS)
    if sort == "value":
        return "value", bound, atom_of(terms[0])
    return "product", bound, *sorted(map(term_of, terms))


def entry_in_words(entry: tuple) -> str:
    """Return an entry of a form as text."""
    if entry[0] == "one":
        return ""
    if entry[0] == "value":
        return f"{means(entry[1])}F{'' if 'M' in entry[1] else '_i'}({atom_in_words(entry[2])})"
    left, right = (means(bound) + atom_in_words(atom) for bound, atom in entry[2:])
    return means(entry[1]) + (f"|{left}|^2" if left == right else f"<{left}, {right}>")


def means(bound: str) -> str:
    """Return the binders of a term or an entry as text."""
    return "".join({"M": "mean ", "S": "cohort's mean ", "K": "sum "}[binder] for binder in bound)


def atom_in_words(atom: tuple) -> str:
    """Return a vector of the algorithm as text, such as ``x[i,k+1]``."""
    name, client, step = atom
    parts = [
        f"{'-' * (c < 0) if what and abs(c) == 1 else c}{what}"
        for c, what in zip(step, ("k", "K", ""), strict=False)
        if c
    ]
    at = ["i"] * client + (["+".join(parts).replace("+-", "-") or "0"] if step else [])
    return name + (f"[{','.join(at)}]" if at else "")


def started(atom: tuple) -> tuple:
    """Replace a path's vector at step 0 by the vector at the round's start that it is."""
    if atom[2] == (0, 0, 0) and atom[0] in ("x", "g", "x_mean", "g_mean"):
        return START_POINT if atom[0][0] == "x" else ("g_start", True, ())
    return atom


def shifted(atom: tuple, a: int, b: int, c: int) -> tuple:
    """Substitute a k + b K + c for the step k of a vector."""
    p, q, r = atom[2]
    return started((atom[0], atom[1], (p * a, q + p * b, r + p * c)))


def at_start(entry: tuple) -> bool:
    """Whether an entry is known at the round's start."""
    if entry[0] == "one":
        return True
    atoms = [entry[2]] if entry[0] == "value" else [t[1] for t in entry[2:]]
    bounds = entry[1] + ("" if entry[0] == "value" else entry[2][0] + entry[3][0])
    return "S" not in bounds and all(stage(atom)[0] == "start" for atom in atoms)


def over_all(entry: tuple) -> tuple:
    """Return an entry with every mean over the cohort one over all clients."""
    if entry[0] == "one":
        return entry
    terms = entry[2:] if entry[0] == "value" else sorted((t[0].replace("S", "M"), t[1]) for t in entry[2:])
    return (entry[0], entry[1].replace("S", "M"), *terms)


def of_cohort(entry: tuple) -> bool:
    """Whether a cohort's mean, or the round's end, occurs in an entry."""
    if entry[0] == "product":
        binders = entry[1] + entry[2][0] + entry[3][0]
        return "S" in binders or "end" in (stage(entry[2][1])[0], stage(entry[3][1])[0])
    return entry[0] == "value" and ("S" in entry[1] or stage(entry[2])[0] == "end")


def together(*several: dict) -> dict:
    """Return all parameters of several theorems, which are the same where two have one of the same name."""
    found: dict = {}
    for name, value in (item for parameters in several for item in parameters.items()):
        need(found.setdefault(name, value) == value, f"two algorithms: {name}")
    return found


def one_algorithm(parameters: dict) -> None:
    """Raise if parameters belong to two algorithms. The algorithms are weighted updates, clients that answer,
    intervals between participations, a server's rounds, and cohorts."""
    own = {"weighted_lr"}, {"selected_lr"}, {"cutoff"}, {"server_lr", "client_round_probability"}
    need(
        sum(bool(parameters.keys() & marks) for marks in (*own, {"cohort", "probability"})) <= 1,
        f"two algorithms: {sorted(parameters)}",
    )


class Arguments(dict):
    """Arguments of a rule, with a record of those that the rule asked for."""

    def __init__(self, data: dict) -> None:
        super().__init__(data)
        self.asked: set = set()

    def __getitem__(self, name: str) -> object:
        self.asked.add(name)
        return super().__getitem__(name)


def distinct(assumptions: list) -> list:
    """Return the assumptions, each a name with its constant or ``None``, without repetitions."""
    made: list = []
    for each in assumptions:
        if each not in made:
            made.append(each)
    return made


def concludes(rule: str, stated: dict, found: dict, parts: tuple) -> None:
    """Raise unless these parts of what a file states, and the assumptions in any order, are what its rule concludes."""
    for part in parts:
        need(stated[part] == found[part], f"{rule}: the file's {part} is not what the rule concludes")
    both = stated["assumptions"], found["assumptions"]
    same = all(any(a == b for b in those) for these, those in (both, both[::-1]) for a in these)
    need(same, f"{rule}: the file's assumptions are not what the rule concludes")


def bare(names: str) -> tuple:
    """Return assumptions that have no constant."""
    return tuple((name, None) for name in names.split())


class Rules:
    """Rules of the kernel, each from a line's premises and arguments to the theorem that it has to conclude."""

    def __init__(self, proof: Proof, line: dict, premises: list[dict]) -> None:
        self.proof, self.line, self.premises, self.region = proof, line, premises, line["where"]
        self.given = Arguments(keyed("arguments", line["arguments"]))
        self.said = {n: proof.scalar(c) for n, c in keyed("parameters", line["parameters"]).items()}
        pairs = [listed("an assumption", each, 2) for each in listed("assumptions", line["assumptions"], most=100)]
        self.assumptions = [(word("an assumption", n), None if c is None else proof.scalar(c)) for n, c in pairs]
        fit(len(distinct(self.assumptions)) == len(self.assumptions), "an assumption twice")
        parts = [listed("a part of a form", part, 2) for part in listed("form", line["form"])]
        self.form = {entry_of(e): proof.scalar(c) for e, c in parts}
        fit(len(self.form) == len(parts), "an entry twice")
        fit(all(c.top for c in self.form.values()), "an entry that is 0")

    # making forms

    def vector(self, data: object) -> list:
        """Read a linear combination of terms from a file's data."""
        pairs = [listed("a part of a vector", part, 2) for part in listed("a vector", data)]
        return [(term_of(term), self.proof.scalar(c)) for term, c in pairs]

    def of(self, atom: tuple, c: int = 1) -> list:
        """Return a vector of the algorithm times a number, as a linear combination."""
        return [(("", atom), number(c))]

    def scaled(self, vector: list, c: Scalar) -> list:
        """Return a linear combination times a scalar."""
        return [(term, c * d) for term, d in vector]

    def minus(self, vector: list) -> list:
        """Return the negative of a linear combination."""
        return self.scaled(vector, MINUS)

    def dot(self, left: list, right: list, c: Scalar = ONE) -> list:
        """Return the items of c <left, right>."""
        spend(len(left) * len(right))
        return [(("product", "", *sorted((u, v))), c * a * b) for (u, a), (v, b) in pairs_of(left, right)]

    def square(self, vector: list, c: Scalar = ONE) -> list:
        """Return the items of c |vector|^2."""
        return self.dot(vector, vector, c)

    def number(self, c: Scalar) -> list:
        """Return the items of a constant."""
        return [(("one",), c)]

    def above(self, bound: Scalar, vector: list) -> list:
        """Return the items of bound - |vector|^2."""
        return [*self.number(bound), *self.square(vector, MINUS)]

    def way(self, vector: list, c: Scalar) -> list:
        """Return x+ - x + c vector."""
        return [*self.of(NEXT), *self.of(START_POINT, -1), *self.scaled(vector, c)]

    def vector_under(self, vector: list, binder: str) -> list:
        """Return a linear combination under a binder: a mean over clients, or a sum over steps."""
        made = []
        for (bound, atom), c in vector:
            opened = open_step((bound, atom)) if binder == "K" else open_client((bound, atom))
            need(opened or binder != "K", "a sum over steps of what does not depend on them is not needed here")
            need(not (binder == "K" and self.proof.depends(c, "k")), "a sum over k of a factor with k")
            made.append((("".join(sorted(bound + binder)) if opened else bound, atom), c))
        return made

    def under(self, items: list, binder: str) -> list:
        """Return items under a binder: a mean over clients, or a sum over steps."""
        return [self._below(entry, c, binder) for entry, c in items]

    def _below(self, entry: tuple, c: Scalar, binder: str) -> tuple:
        if ("k" if binder == "K" else "i") not in free(entry):
            return entry, self.proof.summed(c) if binder == "K" else c
        if binder == "K":
            need(not self.proof.depends(c, "k"), "a sum over k of a factor with k")
        bound = "".join(sorted(entry[1] + binder))
        if entry[0] == "value":
            return ("value", bound, entry[2]), c
        opened = [(open_step if binder == "K" else open_client)(t) for t in entry[2:]]
        if all(opened):
            return ("product", bound, *entry[2:]), c
        terms = [("".join(sorted(t[0] + binder)), t[1]) if o else t for t, o in zip(entry[2:], opened, strict=True)]
        return ("product", entry[1], *sorted(terms)), c

    def total(self, *parts: tuple[list, Scalar | None]) -> dict:
        """Return a sum of items times scalars as {entry: scalar}. For each entry, the scalars over one denominator are
        added first."""
        made: dict = {}
        for items, factor in parts:
            spend(len(items))
            for entry, c in items:
                value = c if factor is None else c * factor
                alike = made.setdefault(entry, [])
                spend(len(alike))
                at = next((i for i, other in enumerate(alike) if other.bottom == value.bottom), None)
                if at is None:
                    alike.append(value)
                else:
                    alike[at] += value
        sums = ((entry, functools.reduce(operator.add, alike)) for entry, alike in made.items())
        return {entry: c for entry, c in sums if c.top}

    def items(self, theorem: dict) -> list:
        """Return a theorem's form as items (entry, scalar)."""
        return list(theorem["form"].items())

    def moved(self, items: list, a: int, b: int, c: int) -> list:
        """Substitute a k + b K + c for the step k in items. What is below a sum over steps has a k of its own, which
        stays."""
        index = self.proof.name("k") * number(a) + self.proof.name("K") * number(b) + number(c)
        made = []
        for entry, scalar in items:
            summed = entry[0] != "one" and "K" in entry[1]
            if entry[0] == "product" and not summed:
                terms = [(t[0], shifted(t[1], a, b, c)) if t[1][2] and "K" not in t[0] else t for t in entry[2:]]
                terms = [t if t[1][1] else (t[0].replace("M", "").replace("S", ""), t[1]) for t in terms]
                means = [binder for binder in entry[1] if binder in "MS"]
                entry = ("product", "".join(b for b in entry[1] if b not in "MS"), *sorted(terms))
                for binder in means:
                    entry, _ = self._below(entry, scalar, binder)
            elif entry[0] == "value" and entry[2][2] and not summed:
                entry = ("value", entry[1], shifted(entry[2], a, b, c))
            made.append((entry, self.proof.put(scalar, {"k": index})))
        return made

    # what a line says of itself

    def context_allows(self, theorem: dict, context: str, kind: str) -> None:
        """Raise unless a premise holds in this context and kind of round too."""
        same = theorem["context"] == context and theorem["kind"] in ("", kind)
        need(same or theorem["context"] != "run", "a premise of the whole run, where something is given")
        need(same or all(map(at_start, theorem["form"])), f"a premise given the {theorem['context']} {theorem['kind']}")

    def inside(self, theorem: dict) -> None:
        """Raise unless the line's region lies within that of a premise."""
        need(self.proof.within(self.region, theorem["where"]), "a premise shown on a region that does not contain this")

    def inherited(self) -> dict:
        """Return the parameters of all premises, which must be those of one algorithm."""
        several = []
        for theorem in self.premises:
            given = dict(theorem["parameters"])
            if self.line["context"] == "start" and theorem["kind"] and "size" in given:
                several.append({"cohort" if theorem["kind"] == "uniform" else "arbitrary_cohort": given.pop("size")})
            several.append(given)
        return together(*several)

    def concluded(self, form: dict, *, context: str, to_the_end: bool = False, more: tuple = (), **said: Any) -> dict:
        """Return the theorem with this form; assumptions and parameters are those of the premises unless they are
        said, and there is no kind, nor an equality, unless it is said."""
        inherited = [each for t in self.premises for each in t["assumptions"]]
        assumed = distinct([*said.get("assumptions", inherited), *more])
        of = said["parameters"] if "parameters" in said else self.inherited()
        one_algorithm(of)
        for name, c in (*of.items(), *assumed):
            steady = name == "local_lr" or c is None or not self.proof.depends(c, "k")
            need(steady, f"{name}: allowed is what is the same at every step")
        own = {"form": form, "context": context, "path_to_the_end": to_the_end}
        return {"kind": "", "equality": False} | said | own | {"assumptions": assumed, "parameters": of}

    def like(self, theorem: dict, form: dict, **but: Any) -> dict:
        """Return the theorem with this form, given what a premise is and with the same sign, but for what is named."""
        return self.concluded(form, **{part: theorem[part] for part in ("context", "kind", "equality")} | but)

    # rules

    def combine(self) -> dict:
        """Conclude a sum of premises times multipliers, of squares times scalars >= 0, and of a constant >= 0."""
        line, given = self.line, listed("multipliers", self.given["multipliers"], len(self.premises))
        multipliers = [self.proof.scalar(c) for c in given]
        constant, squares = self.argument("constant"), listed("squares", self.given["squares"])
        equality = not squares and not constant.top
        to_the_end, parts = bool(self.premises) and not self.proof.depends(constant, "k"), []
        for theorem, c in zip(self.premises, multipliers, strict=True):
            self.context_allows(theorem, line["context"], line["kind"])
            self.inside(theorem)
            need(self.proof.never_zero(c.bottom, self.region), "a multiplier divides by what may be 0")
            if not theorem["equality"]:
                self.proof.ask(self.region, "a multiplier that may be negative", c)
            equality &= theorem["equality"]
            closed = "k" not in self.frees(theorem)
            to_the_end &= (theorem["path_to_the_end"] or closed) and not self.proof.depends(c, "k")
            parts.append((self.items(theorem), c))
        for data, bound, factor in (listed("a square", each, 3) for each in squares):
            c, vector = self.proof.scalar(factor), self.vector(data)
            need(all(self.proof.never_zero(d.bottom, self.region) for _, d in vector), "a square divides by what is 0")
            items = self.square(vector)
            self.proof.ask(self.region, "a square's multiplier that may be negative", c)
            to_the_end &= not self.proof.depends(c, "k")
            word("binders of a square", bound, (*BINDERS, "MK", "SK"))
            for binder in bound:
                items = self.under(items, binder)
            parts.append((items, c))
        self.proof.ask(self.region, "a constant that may be negative", constant)
        said = {"context": line["context"], "kind": line["kind"], "equality": equality, "to_the_end": to_the_end}
        return self.concluded(self.total(*parts, (self.number(constant), None)), **said)

    def frees(self, theorem: dict) -> set:
        """Return which of the client i and the step k are free in a theorem."""
        found = set().union(*map(free, theorem["form"])) if theorem["form"] else set()
        return found | ({"k"} if any(self.proof.depends(c, "k") for c in theorem["form"].values()) else set())

    def over_clients(self) -> dict:
        """Conclude the mean over all clients, or over the cohort, of a premise that holds for every client."""
        (theorem,), binder = self.premises, word("binder", self.given["binder"], ("M", "S"))
        need("i" in self.frees(theorem), "a mean over clients of what is for every client")
        about_start = all(map(at_start, theorem["form"]))
        need(binder == "M" or theorem["context"] == "cohort" or about_start, "a mean over a cohort that is not given")
        need(binder == "M" or theorem["context"] != "run", "a mean over a cohort of what holds over the whole run")
        context = "cohort" if binder == "S" else theorem["context"]
        form = self.total((self.under(self.items(theorem), binder), None))
        return self.like(theorem, form, context=context, to_the_end=theorem["path_to_the_end"])

    def over_steps(self) -> dict:
        """Conclude the sum over all steps of a premise that holds for every step."""
        (theorem,) = self.premises
        need("k" in self.frees(theorem), "a sum over steps of what is for every step")
        return self.like(theorem, self.total((self.under(self.items(theorem), "K"), None)))

    def induct(self) -> dict:
        """Conclude a form >= 0 at every step k, from the one at step 0 and form(k + 1) >= factor form(k), factor >=
        0."""
        (base, step), factor, bound = self.premises, self.argument("factor"), list(self.form.items())
        need((base["context"], base["kind"]) == (step["context"], step["kind"]), "base and step given another thing")
        need(not any(self.proof.depends(Scalar(c.bottom), "k") for _, c in bound), "an induction that divides by k")
        first, later = self.moved(bound, 0, 0, 0), self.moved(bound, 1, 0, 1)
        need(base["form"] == self.total((first, None)), "the base is another one")
        need(step["form"] == self.total((later, None), (bound, -factor)), "the step is another one")
        need(self.region == step["where"] and self.proof.within(self.region, base["where"]), "regions of an induction")
        self.proof.ask(self.region, "an induction's factor that may be negative", factor)
        need(any(self.proof.depends(c, "k") for _, c in bound) or any("k" in free(e) for e, _ in bound), "no k in it")
        return self.concluded(self.total((bound, None)), context=step["context"], kind=step["kind"], to_the_end=True)

    def last_step(self) -> dict:
        """Conclude a premise at the step K, if it holds up to the path's end."""
        (theorem,) = self.premises
        need(theorem["path_to_the_end"], "shown for k < K only")
        return self.like(theorem, self.total((self.moved(self.items(theorem), 0, 1, 0), None)))

    def instantiate(self) -> dict:
        """Conclude a premise with scalars for its letters, on a region where its conditions hold."""
        (theorem,) = self.premises
        values = {name: self.proof.scalar(c) for name, c in keyed("values", self.given["values"]).items()}
        need(set(values) <= {*self.proof.names} - {"k", "K"}, "values: allowed are letters but k and K")
        need(not any(self.proof.depends(c, "k") for c in values.values()), "a scalar that depends on the step")
        need(all(self.proof.never_zero(c.bottom, self.region) for c in values.values()), "a value divides by what is 0")
        for condition in self.proof.regions[theorem["where"]]:
            for scalar, strict in self.proof.conditions(*condition):
                why = f"the condition on {condition[0]} is not met"
                self.proof.ask(self.region, why, self.proof.put(scalar, values), strict=strict)
        form = {e: self.proof.put(c, values) for e, c in theorem["form"].items()}
        return self.like(
            theorem,
            {e: c for e, c in form.items() if c.top},
            assumptions=[(n, None if c is None else self.proof.put(c, values)) for n, c in theorem["assumptions"]],
            to_the_end=theorem["path_to_the_end"],
            parameters={n: self.proof.put(c, values) for n, c in theorem["parameters"].items()},
        )

    def expect_uniform(self) -> dict:
        """Conclude the expectation over a uniformly drawn cohort of a premise that holds given the cohort."""
        (theorem,), size, share = self.premises, self.argument("size"), self.argument("share")
        self.context_allows(theorem, "cohort", "uniform")
        self.inside(theorem)
        need("i" not in self.frees(theorem), "an expectation over the cohort of what is for every client")
        name = [n for n in self.proof.names if self.proof.name(n) == share]
        at_most = ONE / size
        said = [c for c in self.proof.regions[self.region] if name and c[0] == name[0] and c[1] == "interval"]
        need(any(c[2] == at_most for c in said), "0 <= share <= 1/size is not said")
        form = self.total(*((self.drawn(e, share, ONE - share), c) for e, c in self.items(theorem)))
        parameters = together(theorem["parameters"], {"size": size, "share": share})
        more = bare("uniform_cohorts")
        return self.like(theorem, form, context="kind", kind="uniform", more=more, parameters=parameters)

    def drawn(self, entry: tuple, share: Scalar, rest: Scalar) -> list:
        """Return an entry's expectation over a uniformly drawn cohort, as items."""
        if at_start(entry):
            return [(entry, ONE)]
        if entry[0] == "value":
            need(stage(entry[2])[0] == "start" or "S" not in entry[1], "a cohort's later value")
            return [(over_all(entry), ONE)]
        cohorts = ["S" in t[0] for t in entry[2:]]
        if "S" not in entry[1] and not any(cohorts):
            return [(entry, ONE)]
        far, when = over_all(entry), [stage(t[1])[0] for t in entry[2:]]
        if when != ["start", "start"]:  # what is along the paths is independent of the draw
            need("S" not in entry[1], "a cohort's later vector")
            if all(cohorts):  # a random number
                return [(entry, ONE)]
            known = when[0] if cohorts[1] else when[1]
            need(known == "start" and "path" in when, "a cohort's later vector")
            return [(far, ONE)]
        if not all(cohorts):
            return [(far, ONE)]
        return [(("product", "M", *sorted((t[0].replace("S", ""), t[1]) for t in entry[2:])), share), (far, rest)]

    def expect_arbitrary(self) -> dict:
        """Conclude a premise that holds given the cohort for a round with an arbitrary cohort."""
        (theorem,), size = self.premises, self.argument("size")
        self.context_allows(theorem, "cohort", "arbitrary")
        need(not any("S" in e[1] for e in theorem["form"] if e[0] != "one"), "a mean of products over any cohort")
        need("i" not in self.frees(theorem) and self.region == theorem["where"], "of every client, or another region")
        parameters = together(theorem["parameters"], {"size": size})
        return self.like(theorem, theorem["form"], context="kind", kind="arbitrary", parameters=parameters)

    def expect_everyone(self) -> dict:
        """Conclude a premise that holds given the cohort for a round in which every client takes part, once, so that a
        mean over the cohort is one over all clients, with equal weights."""
        (theorem,), size = self.premises, self.argument("size")
        self.context_allows(theorem, "cohort", "arbitrary")
        need("i" not in self.frees(theorem) and self.region == theorem["where"], "of every client, or another region")
        form = self.total(([(over_all(e), c) for e, c in self.items(theorem)], None))
        parameters, more = together(theorem["parameters"], {"size": size}), bare("full_participation equal_weights")
        return self.like(theorem, form, context="kind", kind="arbitrary", more=more, parameters=parameters)

    def project(self) -> dict:
        """Conclude <mean_S g_i - E mean_S g_i, w> = 0 for a family g_i and a vector w that are known at the start."""
        family, other, kind = atom_of(self.given["family"]), self.vector(self.given["other"]), self.line["kind"]
        need(stage(family)[0] == "start" and family[1] and kind in ("uniform", "arbitrary"), "of a family at the start")
        need(not any(open_client(t) for t, _ in self.known(other)), "of a client")
        need(not any(self.proof.depends(c, "k") for _, c in other), "of a step")
        mean = [(("S", family), ONE)]
        form = self.dot([*mean, *self.of(atom_of([f"E {kind} {family[0]}", False, []]), -1)], other)
        return self.concluded(self.total((form, None)), context="kind", kind=kind, equality=True)

    def two_kinds(self, *kinds: str) -> tuple:
        """Return the probability of the first of two kinds of round and that of the other. Each premise must be of its
        kind, and both must agree in what is not known at the start."""
        q = self.argument("probability")
        p = ONE - q
        late = []
        for theorem, kind in zip(self.premises, kinds, strict=True):
            self.context_allows(theorem, "kind", kind)
            self.inside(theorem)
            late.append({e: c for e, c in theorem["form"].items() if not at_start(e)})
        self.proof.ask(self.region, "no probability", q, p)
        need(late[0] == late[1], "what is not known at the start differs between the kinds")
        need(not any("S" in e[1] + "".join(t[0] for t in e[2:] if e[0] == "product") for e in late[0]), "a cohort's")
        return q, p

    def mix(self) -> dict:
        """Conclude the expectation over the kind of round: uniform with the given probability, otherwise arbitrary."""
        q, p = self.two_kinds("uniform", "arbitrary")
        one, other = (theorem["parameters"] for theorem in self.premises)
        need("size" in one and "size" in other, "no sizes of cohorts")
        several = ({n: v for n, v in of.items() if n != "size"} for of in (one, other))
        of_mixture = {"cohort": one["size"], "arbitrary_cohort": other["size"], "probability": q}
        return self.mixed((q, p), ("random_kinds", q), together(*several, of_mixture))

    def mixed(self, shares: tuple, law: tuple, parameters: dict) -> dict:
        """Conclude the sum of the premises times the shares of their kinds of round, drawn by this law."""
        form = self.total(*((self.items(t), c) for t, c in zip(self.premises, shares, strict=True)))
        equality = all(theorem["equality"] for theorem in self.premises)
        return self.concluded(form, context="start", parameters=parameters, more=(law,), equality=equality)

    def mix_server(self) -> dict:
        """Conclude the expectation over the kind of round: the clients' with the given probability, otherwise the
        server's."""
        q, p = self.two_kinds("server", "arbitrary")
        one, other = (theorem["parameters"] for theorem in self.premises)
        need("server_lr" in one and "size" in other, "no step of the server, or no size of the cohort")
        parameters = together(one, other)
        of_mixture = {"arbitrary_cohort": parameters.pop("size"), "client_round_probability": q}
        return self.mixed((p, q), ("random_client_rounds", q), together(parameters, of_mixture))

    # axioms

    def axiom(self, items: list, *more: tuple, context: str = "start", equality: bool = False) -> dict:
        """Conclude an axiom on the round, its start or a cohort's paths."""
        of_paths = {"local_lr", "size"} if context == "cohort" else set()
        if context == "cohort" and self.line["context"] in ("start", "run"):  # of paths, whatever the cohort
            need(not any(map(of_cohort, (e for e, _ in items))), "of a cohort, which is not given")
            context, of_paths = self.line["context"], {"local_lr"}
            more = tuple(part for part in more if part[0] != "cohort_before_noise")
        return self.stated(items, of_paths, more, context=context, equality=equality)

    def stated(self, items: list, own: set, more: tuple, also: tuple = (), steady: bool = False, **given: Any) -> dict:
        """Conclude an axiom whose parameters are its ``own``, which may have to be steady, the same at every step;
        those of its premises; and ``also``, pairs of a parameter and the argument that it has to equal."""
        inherited = {n for theorem in self.premises for n in theorem["parameters"]}
        need(set(self.said) == {*own, *(n for n, _ in also), *inherited}, "parameters of an axiom")
        need(not steady or not any(self.proof.depends(self.said[n], "k") for n in own), "steps of several sizes")
        need(all(self.said[n] == self.argument(a) for n, a in also), "a parameter and its argument")
        for theorem in self.premises:
            need(all(self.said[n] == v for n, v in theorem["parameters"].items()), "a premise of another algorithm")
        return self.concluded(self.total((items, None)), more=more, parameters=self.said, **given)

    def points(self) -> tuple:
        """Return two points p and q of the arguments, the vector p - q, and the context in which both are known."""
        p, q = atom_of(self.given["p"]), atom_of(self.given["q"])
        context = "cohort" if {"path", "end"} & {stage(p)[0], stage(q)[0]} else "start"
        return p, q, [*self.of(p), *self.of(q, -1)], context

    def slopes(self, p: tuple, q: tuple) -> list:
        """Return grad F_i(p) - grad F_i(q)."""
        return [*self.gradient(p), *self.minus(self.gradient(q))]

    def gradient(self, point: tuple) -> list:
        """Return grad F_i at a point."""
        if point[:2] == ("x", True):
            return self.of(started(("g", True, point[2])))
        if point[0] == "x_mean":
            return self.of(started(("g_mean", True, point[2])))
        if re.fullmatch("point_[0-2]", point[0]):
            return self.of((f"g_{point[0]}", True, ()))
        need(point in (START_POINT, OPTIMUM), f"a gradient at {point[0]}")
        return self.of(("g_start" if point == START_POINT else "g_opt", True, ()))

    def argument(self, name: str) -> Scalar:
        """Read an argument that is a scalar."""
        return self.proof.scalar(self.given[name])

    def smooth(self) -> dict:
        """Conclude L^2 |p - q|^2 - |grad F_i(p) - grad F_i(q)|^2 >= 0."""
        p, q, d, context = self.points()
        L = self.argument("L")
        items = [*self.square(d, L * L), *self.square(self.slopes(p, q), MINUS)]
        return self.axiom(items, ("smooth", L), context=context)

    def cocoercive(self) -> dict:
        """Conclude (mu + L) <grad F_i(p) - grad F_i(q), p - q> >= mu L |p - q|^2 + |grad F_i(p) - grad F_i(q)|^2."""
        p, q, d, context = self.points()
        L, mu, g = self.argument("L"), self.argument("mu"), self.slopes(p, q)
        items = [*self.dot(g, d, L + mu), *self.square(d, -(L * mu)), *self.square(g, MINUS)]
        return self.axiom(items, ("smooth", L), ("strongly_convex", mu), context=context)

    def interpolated(self) -> dict:
        """Conclude the interpolation inequality of mu-strongly convex, L-smooth functions, times 2 (L - mu)."""
        p, q, d, context = self.points()
        L, mu, g = self.argument("L"), self.argument("mu"), self.slopes(p, q)
        twice, wide = number(2) * mu, number(2) * (L - mu)
        above = [*self.values(p, q), *self.dot(self.minus(self.gradient(q)), d)]
        items = [*((e, c * wide) for e, c in above), *self.dot(g, d, twice)]
        items += [*self.square(g, MINUS), *self.square(d, -(L * mu))]
        return self.axiom(items, ("smooth", L), ("strongly_convex", mu), context=context)

    def values(self, p: tuple, q: tuple) -> list:
        """Return the items of F_i(p) - F_i(q)."""
        return [(("value", "", p), ONE), (("value", "", q), MINUS)]

    def convex(self) -> dict:
        """Conclude F_i(p) >= F_i(q) + <grad F_i(q), p - q> + mu/2 |p - q|^2."""
        p, q, d, context = self.points()
        mu = self.argument("mu")
        items = [*self.values(p, q), *self.dot(self.minus(self.gradient(q)), d), *self.square(d, -(mu * HALF))]
        return self.axiom(items, ("strongly_convex", mu), context=context)

    def descent(self) -> dict:
        """Conclude F_i(p) <= F_i(q) + <grad F_i(q), p - q> + L/2 |p - q|^2."""
        p, q, d, context = self.points()
        L = self.argument("L")
        items = [*self.values(q, p), *self.dot(self.gradient(q), d), *self.square(d, L * HALF)]
        return self.axiom(items, ("smooth", L), context=context)

    def constants_in_order(self) -> dict:
        """Conclude mu <= L."""
        L, mu = self.argument("L"), self.argument("mu")
        return self.axiom([*self.number(L), *self.number(-mu)], ("smooth", L), ("strongly_convex", mu))

    def dissimilar(self) -> dict:
        """Conclude |grad F_i - grad F|^2 <= sigma_G^2 at a point that is the same for all clients."""
        point, squared = atom_of(self.given["point"]), self.argument("squared")
        need(not point[1], "dissimilarity at a point that is not the same for all clients")
        g = self.gradient(point)
        apart = [*g, *self.minus(self.vector_under(g, "M"))]
        name = "bounded_dissimilarity" + ("_at_optimum" if point == OPTIMUM else "")
        items = self.above(squared, apart)
        return self.axiom(items, (name, squared), context="cohort" if stage(point)[0] == "path" else "start")

    def other(self) -> list:
        """Read the vector that an axiom is paired with."""
        return self.vector(self.given["other"])

    def known(self, vector: list, *also: tuple) -> list:
        """Return a vector; raise unless it is known at the start, or made of these too."""
        known = all((stage(t[1])[0] == "start" or t[1] in also) and "S" not in t[0] for t, _ in vector)
        need(known, "with what is known later")
        return vector

    def optimal(self) -> dict:
        """Conclude <grad F(x*), w> = 0 for w known at the start."""
        slope = self.vector_under(self.gradient(OPTIMUM), "M")
        return self.axiom(self.dot(slope, self.known(self.other())), equality=True)

    def local_step(self) -> dict:
        """Conclude <x_{i,k+1} - x_{i,k} + eta (grad F_i(x_{i,k}) + N_{i,k}), w> = 0."""
        moved = [
            *self.of(shifted(ITERATE, 1, 0, 1)),
            *self.of(ITERATE, -1),
            *self.scaled([*self.of(ALONG), *self.of(NOISE)], self.said["local_lr"]),
        ]
        return self.axiom(self.dot(moved, self.other()), context="cohort", equality=True)

    def round(self) -> dict:
        """Conclude <x+ - x + eta sum_k mean_S (grad F_i(x_{i,k}) + N_{i,k}), w> = 0."""
        need(not self.proof.depends(self.said["local_lr"], "k"), "steps of several sizes")
        steps = self.vector_under(self.vector_under([*self.of(ALONG), *self.of(NOISE)], "S"), "K")
        moved = self.way(steps, self.said["local_lr"])
        return self.axiom(self.dot(moved, self.other()), context="cohort", equality=True)

    def unbiased(self) -> dict:
        """Conclude <N_{i,k}, w> = 0 for w known before the noise of step k."""
        other = self.other()
        need(all(map(self.before_noise, (t for t, _ in other))), "noise against what may depend on it")
        named = bare("unbiased_noise cohort_before_noise")
        return self.axiom(self.dot(self.of(NOISE), other), *named, context="cohort", equality=True)

    def before_noise(self, term: tuple) -> bool:
        """Whether a term is known before the noise of step k."""
        when, lag = stage(term[1])
        if when != "path":
            return when == "start"
        a, b, c = term[1][2]
        return "K" not in term[0] and (a, b) == (1, 0) and c + lag <= 0

    def variance(self) -> dict:
        """Conclude E|N_{i,k}|^2 <= sigma^2."""
        squared = self.argument("squared")
        items = self.above(squared, self.of(NOISE))
        return self.axiom(items, ("bounded_noise", squared), ("cohort_before_noise", None), context="cohort")

    def uncorrelated(self) -> dict:
        """Conclude |mean_S N_{i,k}|^2 = mean_S |N_{i,k}|^2 / size."""
        size = self.said["size"]
        apart = self.under(self.square(self.of(NOISE)), "S")
        items = [
            *self.square(self.vector_under(self.of(NOISE), "S")),
            *((e, -c / size) for e, c in apart),
        ]
        named = bare("uncorrelated_noise unbiased_noise cohort_before_noise cohort_is_a_set")
        return self.axiom(items, *named, context="cohort", equality=True)

    def steps_apart(self) -> dict:
        """Conclude |sum_k mean_S N_{i,k}|^2 = sum_k |mean_S N_{i,k}|^2."""
        noise = self.vector_under(self.of(NOISE), "S")
        apart = self.under(self.square(noise, MINUS), "K")
        items = [*self.square(self.vector_under(noise, "K")), *apart]
        return self.axiom(items, *bare("unbiased_noise cohort_before_noise"), context="cohort", equality=True)

    # a server's round

    def server_axiom(self, items: list, *more: tuple, equality: bool = False) -> dict:
        """Conclude an axiom on a server's round."""
        return self.stated(items, {"server_lr"}, more, context="kind", kind="server", equality=equality)

    def closed(self) -> list:
        """Read the vector that an axiom is paired with, which must depend on no single client or step."""
        other = self.other()
        need(not any(open_client(t) or open_step(t) or self.proof.depends(c, "k") for t, c in other), "of every client")
        return other

    def server_round(self) -> dict:
        """Conclude <x+ - x + eta (grad F(x) + N), w> = 0 for a server's round with step size eta and noise N."""
        gradient = [*self.vector_under(self.gradient(START_POINT), "M"), *self.of(SERVER_NOISE)]
        moved = self.way(gradient, self.said["server_lr"])
        return self.server_axiom(self.dot(moved, self.closed()), equality=True)

    def server_unbiased(self) -> dict:
        """Conclude <N, w> = 0 for the server's noise N and w known at the start."""
        other = self.known(self.closed())
        return self.server_axiom(self.dot(self.of(SERVER_NOISE), other), ("unbiased_server_noise", None), equality=True)

    def server_variance(self) -> dict:
        """Conclude E|N|^2 <= sigma^2 for the server's noise N."""
        squared = self.argument("squared")
        return self.server_axiom(self.above(squared, self.of(SERVER_NOISE)), ("bounded_server_noise", squared))

    def server_descent(self) -> dict:
        """Conclude F_i(x+) <= F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 for a server's round."""
        return self.server_axiom(self.round_descent(), ("smooth", self.argument("L")))

    def round_descent(self) -> list:
        """Return F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 - F_i(x+)."""
        d, half = self.way([], ONE), self.argument("L") * HALF
        return [*self.values(START_POINT, NEXT), *self.dot(self.gradient(START_POINT), d), *self.square(d, half)]

    # all clients' paths, whoever takes part

    def mean_axiom(self, items: list, *more: tuple, equality: bool = False, also: tuple = ()) -> dict:
        """Conclude an axiom on all clients' paths. ``also`` are parameters that have to equal the arguments of their
        names."""
        pairs = tuple(zip(also, also, strict=True))
        return self.stated(items, {"local_lr"}, more, pairs, context="run", equality=equality)

    def ended(self) -> list:
        """Return x+ - mean x_{i,K}."""
        return [*self.of(NEXT), *self.minus(self.vector_under(self.of(LAST), "M"))]

    def mean_iterate(self) -> dict:
        """Conclude <x_mean - mean x_{i,k}, w> = 0: x_mean is the mean of all clients' iterates."""
        apart = [*self.of(MEAN_ITERATE), *self.minus(self.vector_under(self.of(ITERATE), "M"))]
        return self.mean_axiom(self.dot(apart, self.other()), equality=True)

    def optimal_along(self) -> dict:
        """Conclude <grad F(x*), w> = 0 for any w of the run."""
        return self.mean_axiom(self.dot(self.vector_under(self.gradient(OPTIMUM), "M"), self.other()), equality=True)

    def uncorrelated_clients(self) -> dict:
        """Conclude |mean N_{i,k}|^2 = mean |N_{i,k}|^2 / M over M clients of equal weights."""
        count = self.argument("clients")
        need(bool(count.top), "no clients")
        share = MINUS / count
        items = [
            *self.square(self.vector_under(self.of(NOISE), "M")),
            *self.under(self.square(self.of(NOISE), share), "M"),
        ]
        named = bare("uncorrelated_noise unbiased_noise equal_weights")
        return self.mean_axiom(items, *named, equality=True, also=("clients",))

    def weighted_noise(self) -> dict:
        """Conclude E|mean N_{i,k}|^2 <= bound."""
        bound, mean = self.argument("bound"), self.vector_under(self.of(NOISE), "M")
        named = bare("uncorrelated_noise unbiased_noise")
        return self.mean_axiom(self.above(bound, mean), ("bounded_weighted_noise", bound), *named)

    def stochastic_gradient(self) -> dict:
        """Conclude E|grad F_i(x_{i,k}) + N_{i,k}|^2 <= G^2."""
        squared, whole = self.argument("squared"), [*self.of(ALONG), *self.of(NOISE)]
        return self.mean_axiom(self.above(squared, whole), ("bounded_stochastic_gradients", squared))

    def has_minimum(self) -> Scalar:
        """Return the argument mu, which must be > 0, so that each client's function has a minimizer."""
        mu = self.argument("mu")
        self.proof.ask(self.region, "no least value", mu, strict=True)
        return mu

    def lowest(self) -> dict:
        """Conclude |grad F_i(p)|^2 <= 2 L (F_i(p) - min F_i)."""
        mu, L, point = self.has_minimum(), self.argument("L"), atom_of(self.given["point"])
        twice = L * number(2)
        values = [(e, c * twice) for e, c in self.values(point, LOWEST)]
        items = [*values, *self.square(self.gradient(point), MINUS)]
        return self.mean_axiom(items, ("smooth", L), ("strongly_convex", mu))

    def heterogeneity(self) -> dict:
        """Conclude F(x*) - mean min F_i <= gap."""
        mu, gap = self.has_minimum(), self.argument("gap")
        items = [*self.number(gap), *self.under(self.values(LOWEST, OPTIMUM), "M")]
        return self.mean_axiom(items, ("bounded_heterogeneity_gap", gap), ("strongly_convex", mu))

    def everyone(self) -> dict:
        """Conclude <x+ - mean x_{i,K}, w> = 0 if all clients take part."""
        return self.mean_axiom(self.dot(self.ended(), self.other()), ("full_participation", None), equality=True)

    def drawn_mean(self) -> dict:
        """Conclude <x+ - mean x_{i,K}, w> = 0 for independent draws and w that does not depend on the draw."""
        other = self.other()
        need(all(stage(t[1])[0] != "end" and "S" not in t[0] for t, _ in other), "what depends on the draw")
        items = self.dot(self.ended(), other)
        return self.mean_axiom(items, ("independent_draws", None), equality=True, also=("share",))

    def spread_of_draw(self) -> dict:
        """Conclude |x+ - mean x_{i,K}|^2 = share (mean |x_{i,K}|^2 - |mean x_{i,K}|^2) for independent draws."""
        minus = -self.argument("share")
        mean = self.vector_under(self.of(LAST), "M")
        items = [
            *self.square(self.ended()),
            *self.square(mean, self.argument("share")),
            *self.under(self.square(self.of(LAST), minus), "M"),
        ]
        return self.mean_axiom(items, ("independent_draws", None), equality=True, also=("share",))

    # rounds that add updates with weights

    def weighted_axiom(self, items: list, *more: tuple, equality: bool = False, also: tuple = ()) -> dict:
        """Conclude an axiom on a round that adds updates with weights. ``also`` are parameters that have to equal the
        arguments of their names."""
        own, pairs = {"local_lr", "weighted_lr", "clients"}, tuple(zip(also, also, strict=True))
        return self.stated(items, own, more, pairs, steady=True, context="start", equality=equality)

    def weighted_round(self) -> dict:
        """Conclude <x+ - x + eta (sum_k mean grad F_i(x_{i,k}) + A + V + U), w> = 0. A is the weights' bias, V the
        part of participation and U the round's noise."""
        steps = self.vector_under(self.vector_under(self.of(ALONG), "M"), "K")
        steps = [*steps, *self.of(WEIGHT_BIAS), *self.of(PARTICIPATION), *self.of(ROUND_NOISE)]
        moved = self.way(steps, self.said["weighted_lr"])
        return self.weighted_axiom(self.dot(moved, self.other()), equality=True)

    def weighted_descent(self) -> dict:
        """Conclude F_i(x+) <= F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 for a round that adds updates with
        weights."""
        return self.weighted_axiom(self.round_descent(), ("smooth", self.argument("L")))

    def participation(self) -> dict:
        """Conclude <V, w> = 0 for the part V of participation and w that does not depend on who takes part."""
        other = self.other()
        free = all((stage(t[1])[0] != "end" or t[1] == WEIGHT_BIAS) and "S" not in t[0] for t, _ in other)
        need(free, "what depends on who takes part")
        items = self.dot(self.of(PARTICIPATION), other)
        return self.weighted_axiom(items, ("independent_participation", None), equality=True)

    def weighted_noise_of_a_round(self) -> dict:
        """Conclude <U, w> = 0 for the round's noise U and w known at the start."""
        other = self.known(self.other())
        named = bare("unbiased_noise independent_participation")
        return self.weighted_axiom(self.dot(self.of(ROUND_NOISE), other), *named, equality=True)

    def over_count(self, scalar: Scalar) -> Scalar:
        """Return a scalar divided by the number of clients."""
        need(bool(self.said["clients"].top), "no clients")
        return scalar / self.said["clients"]

    def scaled_noise(self) -> dict:
        """Conclude E|U|^2 <= scale K sigma^2 / M for the round's noise U."""
        squared, scale = self.argument("squared"), self.argument("scale")
        bound = scale * self.proof.name("K") * squared
        items = self.above(self.over_count(bound), self.of(ROUND_NOISE))
        named = bare("uncorrelated_noise unbiased_noise independent_participation")
        return self.weighted_axiom(items, ("bounded_noise", squared), *named, also=("scale",))

    def error_of_weights(self) -> dict:
        """Conclude |A|^2 <= error C for the weights' bias A, from |sum_k grad F_i(x_{i,k})|^2 <= C."""
        items = self.from_each([ALONG], self.argument("error"), self.of(WEIGHT_BIAS))
        return self.weighted_axiom(items, also=("error",))

    def scale_of_weights(self) -> dict:
        """Conclude |V|^2 <= scale C / M for the part V of participation, from |sum_k grad F_i(x_{i,k})|^2 <= C."""
        items = self.from_each([ALONG], self.over_count(self.argument("scale")), self.of(PARTICIPATION))
        return self.weighted_axiom(items, ("independent_participation", None), also=("scale",))

    def around_plain_mean(self) -> dict:
        """Conclude |grad F_i(x) - g|^2 <= sigma_G^2, g the mean of the clients' gradients with equal weights."""
        squared, apart = self.argument("squared"), [*self.gradient(START_POINT), *self.of(("g_centre", False, ()), -1)]
        return self.weighted_axiom(self.above(squared, apart), ("bounded_dissimilarity_of_plain_mean", squared))

    def bounded_gradient(self) -> dict:
        """Conclude |grad F(x)|^2 <= G^2."""
        squared, mean = self.argument("squared"), self.vector_under(self.gradient(START_POINT), "M")
        return self.weighted_axiom(self.above(squared, mean), ("bounded_gradient", squared))

    def own_share(self) -> dict:
        """Conclude |v_i - mean v|^2 <= 4 (1 - w)^2 C, from |v_i - c|^2 <= C with a common centre c, if each client's
        weight is at least w."""
        (theorem,) = self.premises
        need(theorem["context"] != "cohort", "a premise given a cohort")
        self.inside(theorem)
        own, centre, least = self.vector(self.given["own"]), self.vector(self.given["centre"]), self.argument("least")
        alone = all(not open_step(t) and not self.proof.depends(c, "k") for t, c in [*own, *centre])
        need(alone and any(open_client(t) for t, _ in own), "a vector that is no client's, or of a step")
        need(not any(open_client(t) for t, _ in centre), "a centre of a client's own")
        need(not self.proof.depends(least, "k"), "a weight of a step")
        rest = {e: c for e, c in theorem["form"].items() if not free(e)}
        near = self.total((self.items(theorem), None), (self.square([*own, *self.minus(centre)]), None))
        need(not any(map(free, near)), "a premise of another form")
        need(not any(self.proof.depends(c, "k") for c in rest.values()), "a bound of a step")
        far = ONE - least
        self.proof.ask(self.region, "a weight above 1", far)
        given = together(self.inherited(), {"least_weight": least})
        four = far**2 * number(4)
        apart = [*own, *self.minus(self.vector_under(own, "M"))]
        form = self.total((list(near.items()), four), (self.square(apart), MINUS))
        return self.concluded(form, context=theorem["context"], kind=theorem["kind"], parameters=given)

    # clients that answer

    def answer_axiom(self, items: list, *more: tuple, equality: bool = False, also: tuple = ()) -> dict:
        """Conclude an axiom on a round of clients that answer. ``also`` are pairs of a parameter and the argument that
        it has to equal."""
        own = {"local_lr", "selected_lr", "mismatch"}
        return self.stated(items, own, more, also, steady=True, context="start", equality=equality)

    def sent_known(self) -> list:
        """Read the vector that a mean is paired with: known at the start, or the mean answer B."""
        return self.known(self.other(), MEAN_ANSWER)

    def from_each(self, summed: list, factor: Scalar, vector: list) -> list:
        """Return factor C - |vector|^2, from the premise C - |sum_k of these|^2 >= 0 for every client."""
        (theorem,) = self.premises
        need((theorem["context"], theorem["kind"]) == ("start", ""), "a premise given another thing")
        self.inside(theorem)
        rest = {e: c for e, c in theorem["form"].items() if not free(e)}
        squared = self.square([(("K", atom), ONE) for atom in summed])
        need(not any(self.proof.depends(c, "k") for c in rest.values()), "a bound that is not the same at all steps")
        minus = self.total((squared, MINUS))
        need(minus == {e: c for e, c in theorem["form"].items() if e not in rest}, "a premise of another form")
        return [*((e, c * factor) for e, c in rest.items()), *self.square(vector, MINUS)]

    def answered_round(self) -> dict:
        """Conclude <x+ - x + c (B + Z), w> = 0. B is the mean answer, Z the spread of the answers around it, and c the
        step size."""
        moved = self.way([*self.of(MEAN_ANSWER), *self.of(SPREAD)], self.said["selected_lr"])
        return self.answer_axiom(self.dot(moved, self.other()), equality=True)

    def answered_descent(self) -> dict:
        """Conclude F_i(x+) <= F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 for a round of clients that answer."""
        return self.answer_axiom(self.round_descent(), ("smooth", self.argument("L")))

    def mean_of_answers(self) -> dict:
        """Conclude <B - sum_k mean grad F_i(x_{i,k}) - delta A, w> = 0 for the mean answer B and the mismatch delta
        A."""
        other = self.sent_known()
        sums = self.vector_under(self.vector_under(self.of(ALONG), "M"), "K")
        whole = [*sums, *self.scaled(self.of(MISMATCH), self.said["mismatch"])]
        items = self.dot([*self.of(MEAN_ANSWER), *self.minus(whole)], other)
        return self.answer_axiom(items, ("unbiased_noise", None), ("independent_answers", None), equality=True)

    def answers_around_their_mean(self) -> dict:
        """Conclude <Z, w> = 0 for the spread Z of the answers around their mean."""
        return self.answer_axiom(self.dot(self.of(SPREAD), self.sent_known()), equality=True)

    def mismatch_of_answers(self) -> dict:
        """Conclude |A|^2 <= C for the mismatch's direction A, from |sum_k grad F_i(x_{i,k})|^2 <= C."""
        return self.answer_axiom(self.from_each([ALONG], ONE, self.of(MISMATCH)))

    def of_updates(self, name: str, argument: str, bounded: list) -> dict:
        """Conclude |bounded|^2 <= factor C from |sum_k (grad F_i(x_{i,k}) + N_{i,k})|^2 <= C; the factor is an
        argument and a parameter."""
        items = self.from_each([ALONG, NOISE], self.argument(argument), bounded)
        return self.answer_axiom(items, *bare("independent_answers independent_noise"), also=((name, argument),))

    def spread_of_answers(self) -> dict:
        """Conclude |Z|^2 <= V C for the spread Z of the answers, from |sum_k (grad F_i(x_{i,k}) + N_{i,k})|^2 <= C."""
        return self.of_updates("proxy", "proxy", self.of(SPREAD))

    def second_moment_of_answers(self) -> dict:
        """Conclude |B + Z|^2 <= W C for the answers' sum B + Z, from |sum_k (grad F_i(x_{i,k}) + N_{i,k})|^2 <= C."""
        return self.of_updates("second_moment", "second", [*self.of(MEAN_ANSWER), *self.of(SPREAD)])

    def of_paths(self, items: list, *more: tuple, to_the_end: bool = False) -> dict:
        """Conclude an axiom on local paths with bounded gradients and steps of one size."""
        need(not any(self.proof.depends(c, "k") for _, c in more), "gradients of which every step has its own bound")
        return self.stated(items, {"local_lr"}, more, steady=True, context="start", to_the_end=to_the_end)

    def bounded_local_gradient(self) -> dict:
        """Conclude |grad F_i(x_{i,k}) + N_{i,k}|^2 <= G^2."""
        squared, whole = self.argument("squared"), [*self.of(ALONG), *self.of(NOISE)]
        return self.of_paths(self.above(squared, whole), ("bounded_local_gradients", squared))

    def path_of_bounded_steps(self) -> dict:
        """Conclude |x_{i,k} - x|^2 <= (k eta G)^2."""
        squared, reach = self.argument("squared"), self.proof.name("k") * self.said["local_lr"]
        items = self.above(reach * reach * squared, [*self.of(ITERATE), *self.of(START_POINT, -1)])
        return self.of_paths(items, ("bounded_local_gradients", squared), to_the_end=True)

    # intervals between participations

    def interval_axiom(self, items: list, *also: str, equality: bool = False) -> dict:
        """Conclude an axiom on intervals between participations. The parameters are q and letters for C and q^C;
        ``also`` are parameters that have to equal the arguments of their names."""
        own = {"absence", "cutoff", "tail"}
        need(set(self.said) == {*own, *also}, "parameters of an axiom")
        need(self.letter("cutoff") != self.letter("tail"), "one letter for two")
        q = self.said["absence"]
        self.proof.ask(self.region, "q is no probability", q, ONE - q)
        need(not any(self.proof.depends(q, self.letter(n)) for n in ("cutoff", "tail")), "q depends on the cutoff")
        law = () if self.line["rule"] == "unit" else bare("independent_participation")
        return self.stated(items, own, law, tuple(zip(also, also, strict=True)), context="run", equality=equality)

    def letter(self, parameter: str) -> str:
        """Return the letter that a parameter is."""
        scalar = self.said[parameter]
        found = [n for n in self.proof.names if scalar == self.proof.name(n)]
        need(len(found) == 1, f"{parameter} is no letter")
        return found[0]

    def unit(self) -> dict:
        """Conclude |unit|^2 = 1."""
        items = [*self.square(self.of(UNIT)), *self.number(MINUS)]
        return self.interval_axiom(items, equality=True)

    def degree(self, least: int) -> int:
        """Read the power of a moment."""
        return whole("a moment's power", self.given["power"], least, 2)

    def grows(self, counted: str, head: str, start: dict, first: Scalar, growth: Scalar) -> None:
        """Raise unless the argument ``value`` is what an induction over a count gives. It has to be ``first`` at the
        start and to grow by ``growth`` from one count to the next."""
        value, q = self.argument("value"), self.said["absence"]
        need(not any(self.proof.depends(Scalar(value.bottom), n) for n in (counted, head)), "a division")
        need(self.proof.put(value, start) == first, "not what the law's induction gives, at first")
        later = {counted: self.proof.name(counted) + ONE, head: self.proof.name(head) * q}
        need(self.proof.put(value, later) - value == growth, "not what the law's induction gives")

    def moment_of_an_interval(self) -> dict:
        """Conclude the first or second moment of an interval I that is cut off at C, times (1 - q)^power."""
        d, q = self.degree(1), self.said["absence"]
        C, scale = self.said["cutoff"], (ONE - q) ** d
        more = C + ONE
        rise = more**d - C**d
        growth = scale * self.said["tail"] * rise
        cutoff, tail = self.letter("cutoff"), self.letter("tail")
        self.grows(cutoff, tail, {cutoff: ONE, tail: q}, scale, growth)
        items = self.dot(self.of(INTERVAL), self.of(INTERVAL if d == 2 else UNIT), scale)
        return self.interval_axiom([*items, *self.number(-self.argument("value"))], equality=True)

    def before_cutoff(self) -> tuple[str, str]:
        """Return the letters of t and q^t; raise unless 0 <= t < C."""
        t, names = self.said["history"], [self.letter(n) for n in ("cutoff", "tail", "history", "head")]
        need(len(set(names)) == 4, "one letter for two")
        need(not any(self.proof.depends(self.said["absence"], n) for n in names), "q depends on the history")
        left = self.said["cutoff"] - ONE - t
        self.proof.ask(self.region, "t < C, and no negative one, is not shown", t, left)
        return names[2], names[3]

    def early_moment_of_an_interval(self) -> dict:
        """Conclude a moment of power 0, 1 or 2 of an interval that ended by t < C, times (1 - q)^power."""
        d, q = self.degree(0), self.said["absence"]
        t, head = self.before_cutoff()
        p = ONE - q
        scale, more = p**d, self.proof.name(t) + ONE
        growth = p ** (d + 1) * self.proof.name(head) * more**d
        self.grows(t, head, {t: ZERO, head: ONE}, ZERO, growth)
        u, v = ((UNIT_ENDED, UNIT_ENDED), (INTERVAL_ENDED, UNIT_ENDED), (INTERVAL_ENDED, INTERVAL_ENDED))[d]
        items = self.dot(self.of(u), self.of(v), scale)
        return self.interval_axiom([*items, *self.number(-self.argument("value"))], "history", "head", equality=True)

    def late(self, count: Scalar) -> None:
        """Raise unless t >= count C."""
        least = count * self.said["cutoff"]
        self.proof.ask(self.region, "t >= m C is not shown", self.argument("history") - least)

    def mean_of_ended_intervals(self) -> dict:
        """Conclude that the weight has the interval's mean, once t >= C."""
        self.late(ONE)
        apart = [*self.of(WEIGHT), *self.of(INTERVAL, -1)]
        return self.interval_axiom(self.dot(apart, self.of(UNIT)), "history", equality=True)

    def spread_of_ended_intervals(self) -> dict:
        """Conclude that a weight from m ended intervals has second moment at most E[I^2]/m + (1 - 1/m) (E I)^2, for t
        >= m C."""
        (mean,) = self.premises
        self.inside(mean)
        need(mean["equality"] and mean["context"] == "run", "a premise of another sort")
        ((entry, _),) = self.dot(self.of(INTERVAL), self.of(UNIT))
        need(set(mean["form"]) <= {entry, ("one",)}, "a premise of another form")
        scale, shift = (mean["form"].get(e, ZERO) for e in (entry, ("one",)))
        m = self.argument("ended")
        self.proof.ask(self.region, "m >= 1 is not shown", m - ONE)
        self.late(m)
        need(bool(m.top), "no intervals")
        share, squared = ONE / m, scale**2
        nu = (ONE - share) * shift**2
        items = [
            *self.square(self.of(INTERVAL), squared * share),
            *self.number(nu),
            *self.square(self.of(WEIGHT), -squared),
        ]
        return self.interval_axiom(items, "ended", "history")

    def early_weight(self) -> dict:
        """Conclude a bound of E|c weight + d|^2 by that of an ended interval and q^t (c + d)^2, for t < C."""
        self.before_cutoff()
        c, d = self.argument("slope"), self.argument("shift")
        absent = self.said["head"] * (c + d) ** 2
        items = [*self.affine(INTERVAL_ENDED, UNIT_ENDED), *self.number(absent), *self.affine(WEIGHT, UNIT, -1)]
        return self.interval_axiom(items, "history", "head")

    def affine(self, of: tuple, unit: tuple, sign: int = 1) -> list:
        """Return the items of |c of + d unit|^2, or of minus it."""
        c, d = self.argument("slope"), self.argument("shift")
        vector = [*self.scaled(self.of(of), c), *self.scaled(self.of(unit), d)]
        return self.square(vector, number(sign))

    def early_weight_of_an_interval(self) -> dict:
        """Conclude that |c weight + d|^2 is at most |c interval + d|^2, both over intervals that ended by t < C."""
        self.before_cutoff()
        items = [*self.affine(INTERVAL_ENDED, UNIT_ENDED), *self.affine(WEIGHT_ENDED, UNIT_ENDED, -1)]
        return self.interval_axiom(items, "history", "head")

    # a certificate of a worst case

    def worst_case(self) -> dict:
        """Conclude a certificate's bound in the line's L, with mu at least its share of L, and no noise."""
        given = self.given
        found = WorstCase(given["certificate"])
        L, mu, zeta, noise = (self.argument(n) for n in ("L", "mu", "dissimilarity", "noise"))
        extra = {n: None if given[n] is None else self.argument(n) for n in ("server_noise", "clients")}
        self.proof.ask(self.region, "L may be 0, or may be negative", L, strict=True)
        at_least = [mu - L * number(found.mu / found.L), zeta, -noise]
        at_least += [] if found.nu else [-zeta]
        if extra["clients"] is not None:
            at_least.append(extra["clients"] - ONE)
        assumed: list = [("smooth", L), ("strongly_convex", mu)]
        place = "" if any(p for p, _ in found.nu) else "_at_optimum"
        assumed += [(f"bounded_dissimilarity{place}", zeta), ("equal_weights", None)]
        assumed += [("quadratic", None)] if found.quadratic else []
        assumed += [("bounded_noise", noise), ("cohort_is_a_set", None)] if found.who() else []
        if any(kind["kind"] == SERVER for kinds in found.rounds for _, kind in kinds):
            if extra["server_noise"] is None:
                raise Wrong("a server's round without its noise")
            at_least.append(-extra["server_noise"])
            assumed.append(("bounded_server_noise", extra["server_noise"]))
        self.proof.ask(self.region, "a constant out of its bounds: what they leave may be negative", *at_least)
        context, kind, parameters, laws = self.law_of(found, L, extra["clients"])
        form, assumed = self.total((self.bound_of(found, L, zeta), None)), [*assumed, *laws]
        return self.concluded(form, context=context, kind=kind, more=tuple(assumed), parameters=parameters)

    def bound_of(self, found: WorstCase, L: Scalar, zeta: Scalar) -> list:
        """Return the items of bound - metric."""
        force, rounds = METRICS[found.metric], len(found.rounds)
        tau, nu = found.tau / found.L**force, found.additive * found.L**2 / found.L**force
        first, spread = number(tau) * L**force, zeta * number(nu) / L ** (2 - force)
        items = [*self.square([*self.of(START_POINT), *self.of(OPTIMUM, -1)], first), *self.number(spread)]
        if found.metric == "final_squared_distance":
            end = [*self.of(after(rounds)), *self.of(OPTIMUM, -1)]
            return [*items, *self.square(end, MINUS)]
        begin = 1 if found.average == AFTER else 0
        counted = [rounds] if found.metric.startswith("final") else list(range(begin, begin + rounds))
        weight = Fraction(1, len(counted))
        for r in counted:
            if found.metric.endswith("gap"):
                items += [(("value", "M", point), number(c)) for point, c in ((after(r), -weight), (OPTIMUM, weight))]
            else:
                need(r == 0, "a gradient after a round")
                whole_gradient = self.vector_under(self.gradient(START_POINT), "M")
                items += self.square(whole_gradient, number(-weight))
        return items

    def law_of(self, found: WorstCase, L: Scalar, many: Scalar | None) -> tuple:
        """Return (context, kind, parameters, assumptions) of the law by which rounds are drawn."""
        need((found.clients is None) == (many is not None), "a number of clients where there is one, or none")
        clients = many or number(found.clients or 1)
        names = [[self.drawn_how(found, kind) for _, kind in kinds] for kinds in found.rounds]
        need(all(len(set(here)) == len(here) for here in names), "two kinds of round that are drawn alike")
        steps = (self.steps_of(kind, number(found.L) / L) for kinds in found.rounds for _, kind in kinds)
        rates = together({"clients": clients}, *steps)
        if len(names) > 1:
            need(all(here == [ALL] for here in names), "several rounds that are not everyone's")
            return "run", "", rates | {"size": clients}, ()
        law = {how: (p, kind) for how, (p, kind) in zip(names[0], found.rounds[0], strict=True)}
        sizes = {
            how: clients if how == ALL else number(kind["who"]["size"])
            for how, (_, kind) in law.items()
            if how != SERVER
        }
        uniform = bare("uniform_cohorts") if ANY in law else ()
        if ANY in law:
            rates["share"] = number(found.spread(law[ANY][1]["who"]))
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
            q = rates["client_round_probability"] = number(law[sets[0]][0])
            return "start", "", rates, (("random_client_rounds", q),)
        q = rates["probability"] = number(law[ANY][0])
        return "start", "", rates | {"cohort": sizes[ANY]}, (*uniform, ("random_kinds", q))

    def drawn_how(self, found: WorstCase, kind: dict) -> str:
        """Return the name of the law by which the clients of a kind of round are drawn."""
        if kind["kind"] == SERVER:
            return SERVER
        need(not kind["who"].get("replacement"), "a cohort that is no set")
        return ALL if found.is_all(kind["who"]) else kind["who"]["kind"]

    def steps_of(self, kind: dict, unit: Scalar) -> dict:
        """Return step sizes, times a unit, and the number of local steps of a kind of round; raise unless its local
        steps are alike."""
        if kind["kind"] == SERVER:
            return {"server_lr": number(kind["server_lr"]) * unit}
        plain = len(set(kind["local_lr"])) == 1 and kind["proximal"] == 0 and kind["global_lr"] == 1
        need(plain, "local steps that differ, a proximal term, or a step of the server's")
        return {"local_lr": number(kind["local_lr"][0]) * unit, "local_steps": number(len(kind["local_lr"]))}


def after(rounds: int) -> tuple:
    """Return the server's point after so many rounds."""
    need(rounds <= 60, "too many rounds")
    return (START_POINT, NEXT)[rounds] if rounds < 2 else (f"x_{rounds}", False, ())


# certificates of worst cases: metric <= contraction |x_0 - x*|^2 + additive zeta^2 for every federation of a class


CERTIFICATE, SCHEMA = "worst-case certificate", 1
MOST = {"points": 60, "clients": 10**30, "steps": 200}
"""Limits of a certificate's program; its work is counted besides."""
METRICS = {  # what is bounded, and the power of a force's unit (L times a length) in it
    "final_squared_distance": 0, "final_gap": 1, "average_gap": 1, "final_squared_gradient": 2,
    "average_squared_gradient": 2,
}  # fmt: skip
AFTER, BEFORE = "r = 1..R", "r = 0..R-1"
ANY, ALL, SET, SERVER = "cohort", "everyone", "arbitrary", "server"


def fraction(what: str, text: object) -> Fraction:
    """Read a fraction from a text such as ``3/4``."""
    if type(text) is not str or len(text) > LARGEST["digits"] or not NUMBER.fullmatch(text):
        raise Unfit(f"{what} = {str(text)[:60]!r}: allowed is a text such as '3/4'")
    return Fraction(text)


def table(what: str, rows: object, *sizes: tuple[int, int]) -> dict:
    """Read {indices: Fraction} from rows [index, ..., number], every index within its bounds."""
    made: dict = {}
    for row in listed(what, rows, most=2 * MOST["points"] ** 2):
        listed(f"a row of {what}", row, len(sizes) + 1)
        at = tuple(whole(f"an index of {what}", k, *size) for k, size in zip(row[:-1], sizes, strict=True))
        need(at not in made, f"{what}: {list(at)} is there twice")
        made[at] = fraction(f"{what} {list(at)}", row[-1])
    return made


def long(*numbers: Fraction) -> int:
    """Return the size of fractions together, in pieces of 30 bits."""
    return sum(c.numerator.bit_length() + c.denominator.bit_length() for c in numbers) // 30 + len(numbers)


def vector_sum(*parts: tuple[dict, Fraction]) -> dict:
    """Return the sum of vectors {label: coefficient}, each times a number."""
    made: dict = {}
    for vector, c in parts:
        if c:
            for label, d in vector.items():
                old = made.get(label, Fraction(0))
                spend(3 + (long(c, d) + long(old)) ** 2 // 500)
                made[label] = old + c * d
    return {label: c for label, c in made.items() if c}


def semidefinite(rows: list) -> bool:
    """Whether a symmetric matrix of Fractions is positive semidefinite. No pivot of L D L^T may be negative, and a
    pivot 0 must stand in a row of zeros."""
    while rows:
        (pivot, *rest), *below = rows
        if pivot < 0 or (pivot == 0 and any(rest)):
            return False
        most = max(long(c) for row in rows for c in row)
        spend(len(rows) ** 2 * (5 + most**2 // 100))
        if pivot:
            below = [[c - row[0] * r / pivot for c, r in zip(row[1:], rest, strict=True)] for row in below]
        else:
            below = [row[1:] for row in below]
        rows = below
    return True


class Slack:
    """Difference between a bound and its metric, as a form in Gram matrices. One matrix is of the vectors that all
    clients share: the start, and the mean gradients of each sort of client. Each sort has one more, of a client's
    deviations from its sort's means, whose own mean is 0.

    A client's vector is a combination of ("d",), the start's x_0 - x*; ("g", p), its own gradient at point p; and ("m",
    o, p), the mean of these over the clients of sort o. For clients i of sort o,

        mean <u_i, v_i> = <mean u, mean v> + mean <u_i - mean u, v_i - mean v>.
    """

    def __init__(self, sorts: list, alike: bool, slopes: dict) -> None:
        self.sorts, self.alike, self.slopes = sorts, alike, slopes
        self.shared: dict = {}
        self.apart: list[dict] = [{} for _ in sorts]

    def mean(self, vector: dict, sort: int) -> dict:
        """Return the mean of a client's vector over its sort."""
        return vector_sum(*(({("m", sort, k[1]) if k[0] == "g" else k: c}, Fraction(1)) for k, c in vector.items()))

    def over_all(self, vector: dict) -> dict:
        """Return the mean of a client's vector over all clients."""
        return vector_sum(*((self.mean(vector, o), share) for o, (share, _) in enumerate(self.sorts)))

    def reduced(self, vector: dict) -> dict:
        """Replace gradients by other vectors where the class or the optimum determines them."""
        parts = []
        for label, c in vector.items():
            if label[0] == "d" or label[-1] not in self.slopes:
                parts.append(({label: Fraction(1)}, c))
                continue
            known = self.slopes[label[-1]]  # of a client, by its own vectors
            parts.append((known if label[0] == "g" else self.mean(known, label[1]), c))
        return self._at_optimum(vector_sum(*parts))

    def _at_optimum(self, vector: dict) -> dict:
        """Replace the gradients at x*. They are left out if they are 0; otherwise their mean over all clients is 0,
        which gives the first sort's mean by those of the others."""
        first, parts = self.sorts[0][0], []
        for label, c in vector.items():
            if label == ("m", 0, 0):
                others = (
                    {} if self.alike else {("m", o, 0): -share / first for o, (share, _) in enumerate(self.sorts) if o}
                )
                parts.append((others, c))
            elif not (self.alike and label[0] != "d" and label[-1] == 0):
                parts.append(({label: Fraction(1)}, c))
        return vector_sum(*parts)

    def add(self, sort: int, pairs: list) -> None:
        """Add the mean over a sort of a sum of c <u_i, v_i>, from (c, u, v)."""
        for c, u, v in pairs:
            if not c:
                continue
            mean_u, mean_v = (self.reduced(self.mean(w, sort)) for w in (u, v))
            self._add(self.shared, c, mean_u, mean_v)
            if self.sorts[sort][1] != 1:
                own = [{k: d for k, d in self.reduced(w).items() if k[0] == "g"} for w in (u, v)]
                self._add(self.apart[sort], c, *own)

    def _add(self, form: dict, c: Fraction, u: dict, v: dict) -> None:
        for (a, x), (b, y) in pairs_of(u.items(), v.items()):
            old = form.get((a, b), Fraction(0)), form.get((b, a), Fraction(0))
            spend(6 + (long(c, x, y) + long(*old)) ** 2 // 250)
            form[a, b] = old[0] + c * x * y / 2
            form[b, a] = form.get((b, a), Fraction(0)) + c * x * y / 2

    def add_shared(self, c: Fraction, vector: dict) -> None:
        """Add c |v|^2 for a vector that all clients share."""
        known = self.reduced(vector)
        self._add(self.shared, c, known, known)

    def holds(self) -> bool:
        """Whether the form is >= 0 whatever the vectors are."""
        for form in (self.shared, *self.apart):
            labels = sorted({a for a, _ in form})
            spend(len(labels) ** 2)
            if not semidefinite([[Fraction(form.get((a, b), 0)) for b in labels] for a in labels]):
                return False
        return True


class WorstCase:
    """Certificate of a worst case, read and verified. With its multipliers, bound - metric is a sum of what the class
    makes >= 0 and of a form that is positive semidefinite. Gradients here are the clients' own, in the file's
    units; the multipliers of pairs are in units in which L = 1.

    Attributes:
        L, mu, quadratic: the class. clients: M, or ``None`` for any. rounds: [[(probability, kind)]].
        contraction, additive: tau, and nu summed over what it multiplies. everywhere: whether dissimilarity is bounded
        at the server's points too.
    """

    def __init__(self, data: object) -> None:
        self.data = keys(
            "certificate",
            data,
            "what schema functions rounds clients metric average everywhere "
            "contraction additive pairs operators symmetric",
        )
        version = self.data["what"], self.data["schema"]
        need(version == (CERTIFICATE, SCHEMA) and type(version[1]) is int, f"{version!r:.80} is another version's")
        self.read_class()
        self.read_rounds()
        self.make_points()
        self.read_multipliers()
        self.verify()

    # reading

    def read_class(self) -> None:
        """Read the class of functions: L, mu, and whether they are quadratic."""
        given = keys("functions", self.data["functions"], "smoothness strong_convexity quadratic")
        self.L, self.mu = (fraction(n, given[n]) for n in ("smoothness", "strong_convexity"))
        self.quadratic = truth("quadratic", given["quadratic"])
        need(self.L > 0 and 0 <= self.mu <= self.L, "functions: allowed is 0 <= strong_convexity <= smoothness, not 0")
        self.one_hessian = self.mu == self.L

    def read_rounds(self) -> None:
        """Read the number of clients, the rounds with their probabilities, and the metric."""
        data = self.data
        self.clients = None if data["clients"] is None else whole("clients", data["clients"], 1, MOST["clients"])
        self.rounds = []
        for each in listed("rounds", data["rounds"], most=MOST["points"]):
            kinds = []
            for pair in listed("a round", each, most=10):
                probability, kind = listed("a kind of round with its probability", pair, 2)
                kinds.append((fraction("probability", probability), self.kind(kind)))
            need(sum(p for p, _ in kinds) == 1 and all(p > 0 for p, _ in kinds), "probabilities: numbers > 0, sum 1")
            self.rounds.append(kinds)
        need(bool(self.rounds), "rounds: allowed is at least one")
        self.metric, self.average = data["metric"], data["average"]
        word("metric", self.metric, tuple(METRICS))
        word("average", self.average, (AFTER, BEFORE))
        self.everywhere = truth("everywhere", data["everywhere"])
        sizes = {who["size"] for who in self.who() if who["kind"] == SET}
        need(len(sizes) <= 1, "arbitrary: allowed are sets of one size")
        drawn = any(who["kind"] == ANY and not self.is_all(who) for who in self.who())
        if drawn or any(len(kinds) > 1 for kinds in self.rounds):
            need(len(self.rounds) == 1, "rounds: allowed is 1 where they are random")
            need(self.metric == "final_squared_distance", "metric: of random rounds, allowed is the squared distance")

    def kind(self, data: object) -> dict:
        """Read a kind of round: a server's step, or local training."""
        if keyed("a kind of round", data).get("kind") == SERVER:
            lr = keys("a server's step", data, "kind server_lr")["server_lr"]
            return {"kind": SERVER, "server_lr": self.positive("server_lr", lr)}
        given = keys("training", data, "kind local_lr global_lr proximal participants")
        word("kind", given["kind"], ("training",))
        steps = [self.positive("local_lr", lr) for lr in listed("local_lr", given["local_lr"], most=MOST["steps"])]
        need(bool(steps), "local_lr: allowed is at least one step")
        pull = fraction("proximal", given["proximal"])
        need(pull >= 0, "proximal: allowed is a number >= 0")
        return {
            "kind": "training",
            "local_lr": tuple(steps),
            "proximal": pull,
            "global_lr": self.positive("global_lr", given["global_lr"]),
            "who": self.participants(given["participants"]),
        }

    def positive(self, what: str, text: object) -> Fraction:
        """Read a fraction that must be > 0."""
        number = fraction(what, text)
        need(number > 0, f"{what} = {number}: allowed is a number > 0")
        return number

    def participants(self, data: object) -> dict:
        """Read who takes part: everyone, a drawn cohort, or an arbitrary set."""
        kind = word("participants", keyed("participants", data).get("kind"), (ALL, ANY, SET))
        given = keys("participants", data, {ALL: "kind", ANY: "kind size replacement", SET: "kind size"}[kind])
        if kind == ALL:
            return {"kind": ALL}
        again = kind == ANY and truth("replacement", given["replacement"])
        if self.clients is None:
            raise Wrong(f"clients: needed with {kind}")
        size = whole("size", given["size"], 1, MOST["clients"] if again else self.clients)
        return {"kind": kind, "size": size, "replacement": again}

    def who(self) -> list:
        """Return the participants of all kinds of round with local training."""
        return [kind["who"] for kinds in self.rounds for _, kind in kinds if kind["kind"] != SERVER]

    def is_all(self, who: dict) -> bool:
        """Whether these participants are all the clients, each once."""
        if who["kind"] == ALL:
            return True
        return who["size"] == self.clients and not (who["replacement"] and self.clients != 1)

    # points

    def make_points(self) -> None:
        """Make the points at which gradients are taken. Point 0 is x* and point 1 the start. Each round adds the
        points of each sort of local training after its first one. It adds the server's point at its end if
        gradients count there.

        For a client, x - x* is kept as a vector; ``parents`` are the points before, and ``shared`` those of the server.
        """
        chosen = next((w["size"] for w in self.who() if w["kind"] == SET and not self.is_all(w)), None)
        if chosen is None:
            self.sorts: list = [(Fraction(1), self.clients)]
        else:
            assert self.clients is not None
            inside, outside = chosen, self.clients - chosen
            self.sorts = [(Fraction(size, self.clients), size) for size in (inside, outside)]
        self.alike = not listed("additive", self.data["additive"], most=2 * MOST["points"])
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
        """Add a point with its place x - x* and the point before it, and return its index."""
        self.places.append(place)
        self.parents.append(parent)
        need(len(self.places) <= MOST["points"], f"more than {MOST['points']} points at which gradients are taken")
        self.say_slope(len(self.places) - 1)
        return len(self.places) - 1

    def say_slope(self, p: int) -> None:
        """Note the gradient at a point if all Hessians are L: the one at x* and L (x - x*)."""
        if self.one_hessian:
            self.slopes[p] = self.slack.reduced(
                vector_sum(({("g", 0): Fraction(1)}, Fraction(1)), (self.places[p], self.L))
            )

    def gradient(self, p: int) -> dict:
        """Return a client's gradient at a point, as a vector."""
        return {("g", p): Fraction(1)}

    def train(self, server: int, kind: dict) -> dict:
        """Return the displacement of a client by local training, and note its points."""
        at, moved = server, vector_sum()
        for k, lr in enumerate(kind["local_lr"]):
            moved = vector_sum((moved, 1 - lr * kind["proximal"]), (self.gradient(at), -lr))
            if k + 1 < len(kind["local_lr"]):
                at = self.new_point(vector_sum((self.places[server], Fraction(1)), (moved, Fraction(1))), at)
        return moved

    def end(self, server: int, kind: dict, moves: dict) -> tuple:
        """Return (the mean of x+ - x* over the draw, a client's part in its variance, that part's factor)."""
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
        """Return c in E|mean_S v|^2 - |mean v|^2 = c mean |v_i - mean v|^2 for a cohort of m of M clients. It is 1/m
        for independent draws and (M - m)/(m (M - 1)) for a set."""
        if who["kind"] != ANY or self.clients == 1 or self.clients is None:
            return Fraction(0)
        m, M = who["size"], self.clients
        return Fraction(1, m) if who["replacement"] else Fraction(M - m, m * (M - 1))

    # multipliers

    def read_multipliers(self) -> None:
        """Read tau, nu and the multipliers of the class's inequalities, which must be >= 0."""
        data, sorts, last = self.data, (0, len(self.sorts) - 1), len(self.places) - 1
        force = METRICS[self.metric]
        self.tau = fraction("contraction", data["contraction"])
        self.nu = table("additive", data["additive"], (0, last), sorts)
        self.additive = vector_sum(*(({"all": Fraction(1)}, nu) for nu in self.nu.values())).get("all", Fraction(0))
        fit(long(self.additive) <= LARGEST["digits"], "additive: a sum of too many digits")
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
        """Return the weight of F(x_p) - F(x*) or |grad F(x_p)|^2 in the metric, by point."""
        if self.metric == "final_squared_distance":
            return {}
        first = 1 if self.average == AFTER else 0
        points = self.shared[-1:] if self.metric.startswith("final") else self.shared[first:][: len(self.rounds)]
        return {p: Fraction(1, len(points)) for p in points}

    def verify(self) -> None:
        """Raise unless bound - metric, less the multipliers' part, is positive semidefinite."""
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
        """Subtract the metric from the form."""
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
                slack.add(
                    o, [(-share * w / 2, g, self.places[p]) for g, (p, w) in zip(both, weights.items(), strict=True)]
                )

    def take_pairs(self, o: int) -> None:
        """Subtract lambda times the interpolation inequalities of one sort. For points p and q they are f_p - f_q and

            - <g_q, x_p - x_q> - (|g_p - g_q|^2 + mu L |x_p - x_q|^2 - 2 mu <g_p - g_q, x_p - x_q>)/(2 (L - mu)).

        Their function values f have to cancel those of the metric.
        """
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
        """Return the sum of c <a, b> as one product for each a."""
        by_first: dict = {}
        for (a, b), c in made.items():
            by_first.setdefault(a, []).append((self.named(b), c))
        return [(Fraction(1), self.named(a), vector_sum(*parts)) for a, parts in by_first.items()]

    def named(self, label: tuple) -> dict:
        """Return the gradient at a point, or the point's place, as a vector."""
        return self.gradient(label[1]) if label[0] == "g" else self.places[label[1]]

    def take_operators(self, o: int) -> None:
        """Subtract what a symmetric Hessian A with mu <= A <= L gives. For a client with that Hessian let s_p = x_p -
        x_q, with the point q before p, and u_p = A s_p. The form is a sum of P_pq <u_p - mu s_p, L s_q - u_q> for P
        >= 0. Added are multiples of <s_p, u_q> - <s_q, u_p>, which are 0."""
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

    def statement(self) -> str:
        """Return the theorem in words."""
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
        done += ", the same set each time" * (sum(who["kind"] == SET for who in self.who()) > 1)
        return (
            f"For {who} whose functions are {kind} from {self.mu} to {self.L}, and {apart}; exact gradients; "
            f"{done}:\n{left} <= {self.tau} |x_0 - x*|^2{zeta}"
        )

    def in_words(self, probability: Fraction, kind: dict) -> str:
        """Return a kind of round with its probability, in words."""
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


def verified(data: object, work: int | None = None) -> WorstCase:
    """Verify a certificate of a worst case, with at most so much work.

    Raises:
        Wrong: what is wrong with it, or that it proves nothing.
    """
    LEFT["work"] = LARGEST["certificate"] if work is None else work
    try:
        return WorstCase(data)
    except UNREADABLE as error:
        raise Unfit(f"certificate: unreadable: {error!r:.200}") from None


RULES = {name.replace("_", " "): name for name in (
    "combine", "over_clients", "over_steps", "induct", "last_step", "instantiate", "expect_uniform", "expect_arbitrary",
    "expect_everyone", "project", "mix", "smooth", "cocoercive", "convex", "descent", "dissimilar", "optimal",
    "local_step", "round", "unbiased", "variance", "uncorrelated", "steps_apart", "interpolated", "server_round",
    "server_unbiased",
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
FROM_PREMISES = {
    "combine", "over clients", "over steps", "induct", "last step", "instantiate", "expect uniform", "expect arbitrary",
    "expect everyone", "mix", "mix server", "own share", "error of weights", "scale of weights", "mismatch of answers",
    "spread of answers", "second moment of answers", "spread of ended intervals",
}  # fmt: skip
"""Rules that conclude from theorems; others are axioms, which have no premises."""
FIELDS = "rule premises arguments context kind where assumptions parameters form equality path_to_the_end"


def checked(proof: Proof, line: object) -> dict:
    """Return the theorem that a line states, after checking that its rule concludes it."""
    stated = dict(keys("a theorem", line, FIELDS))
    name = stated["rule"]
    fit(type(name) is str and name in RULES, "no rule of that name")
    premises = listed("premises", stated["premises"])
    spend(sum(1 + len(proof.theorems[i]["form"]) for i in premises if type(i) is int and 0 <= i < len(proof)))
    for i in premises:
        need(type(i) is int and 0 <= i < proof.count, f"premise {ascii(i)[:60]} does not exist")
        need(i < len(proof), f"premise {i} comes at or after it: a cycle")
    need(name in FROM_PREMISES or not premises, "an axiom has no premises")
    whole("where", stated["where"], 0, len(proof.regions) - 1)
    word("context", stated["context"], CONTEXTS), word("kind", stated["kind"], KINDS)
    truth("equality", stated["equality"]), truth("path_to_the_end", stated["path_to_the_end"])
    rules = Rules(proof, stated, [proof.theorems[i] for i in premises])
    stated |= {"form": rules.form, "assumptions": rules.assumptions, "parameters": rules.said}
    found = getattr(rules, RULES[name])()
    fit(rules.given.keys() == rules.given.asked, f"{name}: arguments that the rule does not have")
    concludes(name, stated, found, ("form", "context", "kind", "equality", "path_to_the_end", "parameters"))
    for c in stated["form"].values():
        need(proof.never_zero(c.bottom, stated["where"]), "a coefficient divides by what may be 0")
    return stated


# claims on whole runs: bounds on a functional of a run, from a theorem on one round; and the claim's text


def by_sort(**names: str) -> dict:
    """Return the sort of each name, from the names of every sort."""
    return {name: sort for sort, every in names.items() for name in every.split()}


OF_THEOREM, OF_CLAIM = "fedtheory theorem 1", "fedtheory claim 1"
QUANTITIES = by_sort(
    positive="""smoothness strong_convexity local_lr server_lr step_constant global_lr weight_scale
        expected_weight_scale update_weight step_shift young_parameter participation_estimate failure_probability
        hidden_constant""",
    nonnegative="""weight_error peak_weight_error objective_error gradient_norm global_gradient_bound aggregation_weight
        weight_spread gradient_noise dissimilarity server_noise initial_gap initial_distance step_index gradient_bound
        heterogeneity_gap weighted_noise displacement perturbation least_full_pseudogradient peak_cohort_pseudogradient
        least_server_gradient arbitrary_pseudogradient full_pseudogradient cohort_pseudogradient weight_mismatch
        mean_mismatch answer_mismatch selection_proxy answer_proxy rate_spread local_gradient_bound squared_mean_update
        squared_state_update squared_mean_vector mean_squared_vector largest_estimate_error estimate_error
        least_participation least_group_participation mean_update_length group_participation relative_error""",
    probability="""least_objective_weight participation_probability least_participation_probability absence cutoff_bias
        snapshot_probability client_round_probability group_weight response_probability""",
    count="""cutoff history guaranteed_intervals clients cohort arbitrary_cohort local_steps rounds snapshot_period
        groups group_clients""",
    real="objective_decrease vector_covariance",
)
"""Quantities that a claim may speak of, and what is known of each: it is > 0, >= 0, a count >= 1, or in [0, 1]; of a
real one nothing is."""
AT_LEAST_0 = {*QUANTITIES.values()} - {"real"}
ASSUMED = {
    "smooth": ("smoothness", 1), "strongly_convex": ("strong_convexity", 1), "bounded_noise": ("gradient_noise", 2),
    "bounded_server_noise": ("server_noise", 2), "bounded_dissimilarity": ("dissimilarity", 2),
    "bounded_dissimilarity_at_optimum": ("dissimilarity", 2),
    "bounded_dissimilarity_of_plain_mean": ("dissimilarity", 2), "bounded_gradient": ("global_gradient_bound", 2),
    "bounded_local_gradients": ("local_gradient_bound", 2), "bounded_stochastic_gradients": ("gradient_bound", 2),
    "bounded_weighted_noise": ("weighted_noise", 1), "bounded_heterogeneity_gap": ("heterogeneity_gap", 1),
}  # fmt: skip
"""Assumptions with a constant: the quantity that it is a power of, and the power."""
GIVEN_BY = {
    "bounded_dissimilarity_at_optimum": ("bounded_dissimilarity",),
    "bounded_dissimilarity_of_plain_mean": ("bounded_dissimilarity",), "uncorrelated_noise": ("independent_noise",),
    "cohort_before_noise": ("independent_draws", "independent_participation", "independent_answers"),
}  # fmt: skip
"""Assumptions that hold with others."""
READ_AS = {
    "random_kinds": ("snapshots", "probability"), "random_client_rounds": ("kinds of rounds", "probability"),
    "cohort_is_a_set": ("uniform cohort", "without replacement"),
    "weights_of_the_round": ("conditioning", "weights of round t"), "periodic_kinds": ("snapshots", "period"),
}  # fmt: skip
ALTERNATING = {
    "random_kinds": ("fast", "snapshot_probability"), "periodic_kinds": ("fast", "snapshot_period"),
    "random_client_rounds": ("safari", "client_round_probability"),
    "shares_of_client_rounds": ("safari", "client_round_probability"),
}  # fmt: skip
"""Assumptions that say how kinds of round alternate: of which algorithm, and by which quantity."""
"""Assumptions that are a reading of the algorithm: of which words, and how."""
KNOWN_SCALE = {"weights": "given", "Q": "a bound known beforehand"}
"""Readings that say that the weights' scale is a number that a run does not change; a claim has one of them."""
PARAMETERS = {
    name: name
    for name in (
        "local_lr", "server_lr", "cohort", "arbitrary_cohort", "client_round_probability", "rounds",
        "initial_distance", "initial_gap", "clients", "weight_error", "peak_weight_error", "objective_error",
        "expected_weight_scale", "weight_scale", "update_weight", "least_objective_weight", "gradient_norm", "absence",
        "cutoff_bias", "participation_probability", "cutoff", "guaranteed_intervals", "history",
        "least_participation_probability", "weight_spread", "step_index", "objective_decrease", "displacement",
        "perturbation", "arbitrary_pseudogradient", "full_pseudogradient", "cohort_pseudogradient",
    )
} | {"probability": "snapshot_probability", "period": "snapshot_period"}  # fmt: skip
OF_HYPOTHESES = ("fractions", "q-condition", "root")
"""Ambiguities that are how hypotheses are read, or an expression on the left, which stand in a claim's text as they are
read."""
PRODUCTS = {"weighted_lr": ("local_lr", "global_lr")}
"""Parameters that are products of quantities."""
ALGORITHMS = {
    "fedau": ("", "", {}),
    "fedavg": ("", "", {}),
    "fedavg_decaying": ("", "", {}),
    "local_sgd": ("", "", {}),
    "fast": ("random_kinds", "snapshot_probability", {"uniform": 1, "arbitrary": 0}),
    "safari": ("random_client_rounds", "client_round_probability", {"arbitrary": 1, "server": 0}),
}
"""Algorithms with the law of their kinds of round, the quantity that is its probability, and at which value all rounds
are of a kind. Those without a law add updates with weights in every round, or are of ``OF_STEPS``."""
OF_STEPS = {
    "fedavg_decaying": ("everyone", "by weight", "uniformly"), "fedavg": ("everyone",), "local_sgd": ("everyone",),
    "safari": ("everyone",),
}  # fmt: skip
"""Algorithms in which all clients may make steps, so that a round of clients ends in the mean of all their models by
their weights in F, or of some who are drawn: how."""
DRAWS = {"by weight": "S with replacement by p_k", "uniformly": "S without replacement, p_k = 1/N"}
"""Words of a claim on who is drawn: S independently, so that the share is 1/S, or a set of S of N, (N - S)/(S (N - 1)).
"""
OF_KINDS = {"fedau": {"local_lr", "weighted_lr", "clients", "weight_error", "peak_weight_error", "objective_error",
                      "weight_scale", "expected_weight_scale", "update_weight", "least_objective_weight",
                      "gradient_norm", "least_participation_probability"},
            "fast": {"local_lr", "cohort", "arbitrary_cohort", "probability", "period", "share", "size"},
            "safari": {"local_lr", "server_lr", "arbitrary_cohort", "client_round_probability", "size"},
            "fedavg_decaying": {"local_lr", "step_index", "clients", "share"},
            "fedavg": {"local_lr", "clients"}, "local_sgd": {"local_lr", "clients"}}  # fmt: skip
OF_RUN = {
    "rounds", "initial_distance", "initial_gap", "gradient_norm", "objective_decrease", "arbitrary_pseudogradient",
    "full_pseudogradient", "cohort_pseudogradient",
}  # fmt: skip
"""The parameters of an algorithm's rounds, and those of a run."""
BOUND_FIELDS = "rule arguments functional kind where given definitions assumptions parameters bound"
CLAIM_FIELDS = "id edition source algorithm functional terms choices hypotheses assumptions readings"


def product(u: tuple, v: tuple) -> tuple:
    """Return the entry <u, v> of two terms."""
    return ("product", "", *sorted((u, v)))


def inner(a: tuple, b: tuple) -> tuple:
    """Return the entry <a, b> of two vectors of the algorithm."""
    return product(("", a), ("", b))


# bounds on runs, and on one round, whose rounds add the clients' updates with weights

WEIGHTED_PARAMETERS = {"local_lr", "weighted_lr", "clients"}
OF_PLAIN_MEAN = {"bounded_dissimilarity", "bounded_dissimilarity_at_optimum", "bounded_gradient", "equal_weights"}
"""Assumptions on F that are made of the plain mean of the clients' functions only."""
SLOPE = ("M", ("g_start", True, ()))
SQUARED_SLOPE = product(SLOPE, SLOPE)


def squared(u: tuple, v: tuple, a: Scalar = ONE, b: Scalar = MINUS) -> dict:
    """Return the form |a u + b v|^2 of two terms."""
    return {product(u, u): a * a, product(u, v): number(2) * a * b, product(v, v): b * b}


def sum_of_forms(*parts: tuple[dict, Scalar]) -> dict:
    """Return a sum of forms times scalars."""
    made: dict = {}
    for form, factor in parts:
        for entry, c in form.items():
            made[entry] = made.get(entry, ZERO) + c * factor
    return {entry: c for entry, c in made.items() if c.top}


AT_START, AT_OPTIMUM = ("", START_POINT), ("", OPTIMUM)
ROUND_QUANTITIES = {
    "initial_distance": squared(AT_START, AT_OPTIMUM), "gradient_norm": {SQUARED_SLOPE: ONE},
    "objective_decrease": {("value", "M", START_POINT): ONE, ("value", "M", NEXT): MINUS},
    "arbitrary_pseudogradient": {product(("KS", ALONG), ("KS", ALONG)): ONE},
    "full_pseudogradient": {product(("KM", ALONG), ("KM", ALONG)): ONE},
    "cohort_pseudogradient": {product(("KS", ALONG), ("KS", ALONG)): ONE},
}  # fmt: skip
"""Forms of quantities of a round: of their squares, but for ``AS_THEY_ARE``."""
SUMS_OF_GRADIENTS = {"uniform": ("full_pseudogradient", "cohort_pseudogradient")}
"""Squared sums of local gradients of which a bound on |grad F(x)|^2 may speak, by the kind of round; in others it is
that of an arbitrary cohort."""
AS_THEY_ARE = ("objective_decrease", "arbitrary_pseudogradient", *SUMS_OF_GRADIENTS["uniform"])
ROUND_FUNCTIONALS = {
    "final_squared_distance": (squared(("", NEXT), AT_OPTIMUM), ("initial_distance", "gradient_norm")),
    "squared_gradient": ({SQUARED_SLOPE: ONE}, ("objective_decrease", "gradient_norm")),
    "local_gradient_error": (squared(("", ALONG), SLOPE), ("gradient_norm",)),
    "negated_full_progress": (
        {product(("KM", ALONG), AT_START): MINUS, product(("KM", ALONG), AT_OPTIMUM): ONE}, ("initial_distance",),
    ),
    "negated_arbitrary_progress": (
        {product(("KS", ALONG), AT_START): number(-2), product(("KS", ALONG), AT_OPTIMUM): number(2)},
        ("initial_distance",),
    ),
    "weighted_divergence": (squared(("", ("g_start", True, ())), SLOPE), ("gradient_norm",)),
    "local_drift": (squared(("", ITERATE), AT_START), ("gradient_norm",)),
    "weighted_increase": (
        {("value", "M", NEXT): ONE, ("value", "M", START_POINT): MINUS}, ("gradient_norm",),
    ),
}  # fmt: skip
"""Functionals of one round as forms, and the quantities that a bound on each may have."""
AFTER_THE_LAST = {"local_drift": squared(("", LAST), AT_START)}
"""Functionals that count a path's end, as forms at it."""
POINT = tuple(("", (f"point_{j}", False, ())) for j in range(3))
SLOPE_AT_POINT = ("", ("g_point_0", True, ()))


def linearized(to: int, of: int) -> dict:
    """Return F_i at one point, less that at another one and what the slope at the first point of all says of the
    way."""
    made = {("value", "", POINT[to][1]): ONE, ("value", "", POINT[of][1]): MINUS}
    return made | {product(SLOPE_AT_POINT, POINT[to]): MINUS, product(SLOPE_AT_POINT, POINT[of]): ONE}


POINT_FUNCTIONALS = {
    "linearization_error": (linearized(1, 0), {"displacement": squared(POINT[1], POINT[0])}),
    "perturbed_linearization_error": (
        linearized(2, 1),
        {"displacement": squared(POINT[2], POINT[1]), "perturbation": squared(POINT[2], POINT[0])},
    ),
}
"""Functionals of a function at points, and forms of the squared distances that a bound on each may have."""


class BoundRules:
    """Common parts of the rules on bounds; a class with a claim reads what they conclude."""

    proof: Proof
    bounds: list
    data: tuple[int, ...]
    roots: list
    claim: dict
    letters: dict
    chosen: dict
    letter: Any
    of_tree: Any
    parts: Any
    surd: Any
    tree: Any

    def asked(self, region: int, why: str, *scalars: Scalar) -> None:
        """Ask that scalars are >= 0 on a region, on which they divide by nothing that may be 0."""
        for scalar in scalars:
            need(self.proof.never_zero(scalar.bottom, region), f"{why}: it divides by what may be 0")
        self.proof.ask(region, why, *scalars)

    def is_at_least_0(self, scalar: Scalar, region: int) -> bool:
        """Whether a scalar is defined on a region, and shown to be >= 0 there."""
        return self.proof.never_zero(scalar.bottom, region) and self.proof._nonnegative(scalar, region)

    def bound_of(self, conditions: list, assumptions: list, parameters: dict, **more: Any) -> dict:
        """Return a bound on rounds of any kind, given nothing but its conditions, but for what is named."""
        made = {"conditions": conditions, "assumptions": assumptions, "parameters": parameters}
        return {"kind": "", "given": [], "definitions": {}} | made | more

    def right_side(self, bound: dict) -> Scalar:
        """Return a right side as one scalar."""
        return functools.reduce(operator.add, self.scalars(bound["bound"]), ZERO)

    def unused(self, letters: list, conditions: list) -> list:
        """Return the letters; raise unless they differ, and no theorem has one, nor one of the conditions."""
        taken = {n for t in self.proof.theorems for n in self.letters_in(t)}
        return self.apart_from(letters, {*taken, *(c[0] for c in conditions)})

    def apart_from(self, letters: list, taken: set) -> list:
        """Return the letters; raise unless they differ, and none is taken."""
        need(len(set(letters)) == len(letters) and not taken & set(letters), "letters that are used, or twice the same")
        return letters

    def letters_given(self, arguments: Arguments, count: int) -> list:
        """Read the letters that an argument names."""
        return [word("a letter", n) for n in listed("letters", arguments["letters"], count)]

    def theorem_at(self, number_of: object) -> dict:
        """Return a theorem of the file."""
        return self.proof.theorems[whole("a theorem", number_of, 0, len(self.proof.theorems) - 1)]

    def letter_of(self, scalar: Scalar) -> str:
        """Return the name of the letter that a scalar is, or ""."""
        return next((name for name in self.proof.names if self.proof.name(name) == scalar), "")

    def conditions(self, region: int) -> list:
        """Return the conditions of a region."""
        return self.proof.regions[region]

    def letters_in(self, theorem: dict) -> set:
        """Return the names of the letters in a theorem's form, assumptions and parameters."""
        scalars = [*theorem["form"].values(), *theorem["parameters"].values()]
        scalars += [c for _, c in theorem["assumptions"] if c is not None]
        return {self.proof.names[i] for c in scalars for i in c.letters}

    def said_besides(self, of: dict, *names: str) -> list:
        """Return the scalars in parameters and assumptions, but those of these names, and in the region's bounds."""
        named = [*of["parameters"].items(), *of["assumptions"]]
        bounds = [c for _, _, c in self.conditions(of["where"])]
        return [c for c in (*(c for n, c in named if n not in names), *bounds) if c is not None]

    def every_round(self, theorem: dict) -> None:
        """Raise unless a theorem holds in every round."""
        given = theorem["context"]
        need(given in ("start", "kind"), f"allowed is what holds given a round's start, not {given}")

    def falls(self, theorem: dict) -> tuple[Scalar, Scalar]:
        """Return (c, B) of F(x) - E F(x+) - c |grad F(x)|^2 + B >= 0, c > 0 and B >= 0."""
        self.every_round(theorem)
        form, where = theorem["form"], theorem["where"]
        fall, added = -form.get(SQUARED_SLOPE, ZERO), form.get(("one",), ZERO)
        shape = {("value", "M", START_POINT): ONE, ("value", "M", NEXT): MINUS, SQUARED_SLOPE: -fall, ("one",): added}
        need(form == sum_of_forms((shape, ONE)), "no F(x) - E F(x+) - c |grad F(x)|^2 + B >= 0")
        self.proof.ask(where, "what is added may be negative", added)
        self.proof.ask(where, "a fall that may be 0, or negative", fall, strict=True)
        return fall, added

    def nears(self, theorem: dict, now: tuple, then: tuple) -> tuple[Scalar, Scalar]:
        """Return (P, B) of P |now - x*|^2 + B - |then - x*|^2 >= 0, B >= 0."""
        form = theorem["form"]
        factor, added = form.get(product(now, now), ZERO), form.get(("one",), ZERO)
        parts = (squared(now, AT_OPTIMUM), factor), (squared(then, AT_OPTIMUM), MINUS), ({("one",): added}, ONE)
        need(form == sum_of_forms(*parts), "no P |now - x*|^2 + B - E|then - x*|^2 >= 0")
        self.proof.ask(theorem["where"], "what is added may be negative", added)
        return factor, added

    def below_1(self, where: int, factor: Scalar) -> None:
        """Ask that a factor is in [0, 1)."""
        self.proof.ask(where, "a factor that may be negative", factor)
        self.proof.ask(where, "a factor that may be 1, or above", ONE - factor, strict=True)

    def by_power(self, scalar: Scalar, letter: str) -> dict:
        """Return the factors of a letter's powers in a scalar that does not divide by it."""
        index, parts = self.proof.number[letter], {}  # type: ignore[var-annotated]
        need(not Scalar(scalar.bottom).has(index), f"a division by what depends on {letter}")
        for key, c in scalar.top.items():
            p = power_of(key, index)
            parts.setdefault(p, {})[key - p * place(index)] = c
        return {p: Scalar(part, scalar.bottom) for p, part in parts.items()}

    def same(self, premise: dict, **changed: object) -> dict:
        """Return a premise with some parts changed."""
        return premise | {"conditions": self.conditions(premise["where"])} | changed

    def telescoped(self, rounds: str, gap: str, fall: Scalar, *added: Scalar) -> list:
        """Return the summands of (F(x_0) - inf F)/(c R) + (sum of these)/c, c the fall."""
        name = self.proof.name
        return [name(gap) / (fall * name(rounds)), *self.scalars(self.summed(added), ONE / fall)]

    # right sides: {product of the letters that are only known to be >= 0: scalar}

    def nonnegative_letters(self, region: int) -> set:
        """Return the indices of the letters that are only known to be >= 0."""
        return {self.proof.number[name] for name, kind, _ in self.conditions(region) if kind == "nonnegative"}

    def summed(self, scalars: Iterable) -> dict:
        """Return a sum of scalars by products of data, the letters that the first region only knows to be >= 0."""
        made: dict = {}
        for scalar in scalars:
            parts: dict = {}
            spend(1 + len(scalar.top))
            inside = letters_of(scalar.bottom)
            for key, c in scalar.top.items():
                data = sum(power_of(key, i) * place(i) for i in self.data if i not in inside)
                parts.setdefault(data, {})[key - data] = c
            for data, top in parts.items():
                part = Scalar(top, scalar.bottom)
                made[data] = made[data] + part if data in made else part
        return {data: part for data, part in made.items() if part.top}

    def scalars(self, bound: dict, factor: Scalar = ONE) -> list:
        """Return the summands of a right side, times a scalar."""
        return [Scalar({data: 1}) * part * factor for data, part in bound.items()]

    def shared(self, scalar: Scalar, factor: Scalar) -> list:
        """Return the summands of a scalar times another one."""
        return self.scalars(self.summed([scalar]), factor)

    def equal(self, one: dict, other: dict) -> bool:
        """Whether two right sides are the same."""
        return one.keys() == other.keys() and all(part == other[data] for data, part in one.items())


OF_WEIGHTS = ("telescope weights", "telescope constant weights", "bound round", "bound at points")
"""Rules from theorems on rounds of weighted updates, and on one round of any."""


class RulesOfWeights(BoundRules):
    """Rules from theorems on rounds of weighted updates, given a round's start and its weights."""

    def of_weights(self, arguments: Arguments, names: tuple, parameters: dict, assumed: list, kept: list | None = None):
        """Return a bound without functional and right side. ``names`` are new letters and the sorts of their
        conditions."""
        theorem = self.theorem_at(arguments["theorem"])
        conditions = self.conditions(theorem["where"]) if kept is None else kept
        given = {n: c for n, c in theorem["parameters"].items() if n not in ("error", "scale", "least_weight")}
        of_start = theorem["context"] == "start" and not theorem["kind"]
        need(of_start or theorem["context"] == "kind", "allowed is what is given a round's start")
        need("weighted_lr" not in given or set(given) <= WEIGHTED_PARAMETERS, "another algorithm's rounds")
        self.unused([name for name, _ in names], conditions)
        known, every = [*theorem["assumptions"], *assumed], [*((name, kind, None) for name, kind in names), *conditions]
        return self.bound_of(every, known, given | parameters, kind=theorem["kind"])

    def telescope_weights(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude a bound on the mean of E|grad F(x_r)|^2, F the plain mean, as telescope does. What is added in a
        round is linear in its error and its scale, with factors >= 0: so it is in the mean at most the same at the mean
        error, and at the mean scale, or at the largest one. No condition is on a round's own error, but that it is at
        most a letter, which is the largest; and none on its scale, unless the largest one stands for it."""
        theorem = self.theorem_at(arguments["theorem"])
        listed("others", arguments["others"], 0)
        fall, added = self.falls(theorem)
        given = theorem["parameters"]
        need("least_weight" not in given, "a least weight of another mean than the plain one")
        error, scale = (self.letter_of(given.get(name, ZERO)) for name in ("error", "scale"))
        need(bool(error and scale) and error != scale, "an error or a scale that is no letter")
        of = word("scale", arguments["scale"], ("weight_scale", "expected_weight_scale"))
        others = [fall, *(v for n, v in given.items() if n not in ("error", "scale"))]
        others += [c for _, c in theorem["assumptions"] if c is not None]
        for name in (error, scale):
            need(not any(self.proof.depends(c, name) for c in others), f"{name} elsewhere than in what is added")
            parts = self.by_power(added, name)
            need(set(parts) <= {0, 1}, f"{name}: allowed is what is linear in it")
            factor = parts.get(1, ZERO)
            need(not any(self.proof.depends(factor, each) for each in (error, scale)), f"{name}: a product of the two")
            self.proof.ask(theorem["where"], f"{name}: what is added may fall with it", factor)
        kept, peak = [], {}
        for name, kind, bound in self.conditions(theorem["where"]):
            most = "" if bound is None else self.letter_of(bound)
            by_them = bound is not None and any(self.proof.depends(bound, each) for each in (error, scale))
            need(not by_them, "a bound by them")
            if name == error and kind == "interval" and most:
                need(not any(self.proof.depends(c, most) for c in others[1:]), "a largest error that is something else")
                peak, kind, bound = {"peak_weight_error": self.proof.name(most)}, "nonnegative", None
            own = name in (error, scale)
            free = kind == "nonnegative" or (name == scale and kind == "interval" and of == "weight_scale")
            need(not own or free, f"{name}: a condition on every round's")
            kept.append((name, kind, bound))
        rounds, gap = self.letters_given(arguments, 2)
        parameters = peak | {
            "weight_error": self.proof.name(error), of: self.proof.name(scale),
            "rounds": self.proof.name(rounds), "initial_gap": self.proof.name(gap),
        }  # fmt: skip
        assumed = [("equal_weights", None), *([("scale_known_beforehand", None)] if of == "weight_scale" else [])]
        made = self.of_weights(arguments, ((rounds, "count"), (gap, "nonnegative")), parameters, assumed, kept)
        bound = self.summed(self.telescoped(rounds, gap, fall, added))
        return made | {"functional": "average_squared_gradient", "bound": bound}

    def telescope_constant_weights(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude the same of the mean that constant weights imply, for which the error is 0: a round of steps c' and
        weights omega_i is one of steps c = c' w and weights omega_i/w, w the mean of p_i omega_i, whose scale is w^2
        times smaller. Nothing may be assumed that is known of the plain mean only."""
        theorem = self.theorem_at(arguments["theorem"])
        listed("others", arguments["others"], 0)
        fall, added = self.falls(theorem)
        given = theorem["parameters"]
        scale = self.letter_of(given.get("scale", ZERO))
        need(bool(scale) and "error" in given and not given["error"].top, "no scale, or an error that is not 0")
        need("least_weight" not in given, "a least weight of another mean")
        need(not OF_PLAIN_MEAN & {n for n, _ in theorem["assumptions"]}, "what is known of the plain mean only")
        rounds, gap, weight = self.letters_given(arguments, 3)
        w = self.proof.name(weight)
        parameters = {
            "update_weight": w, "weighted_lr": given["weighted_lr"] / w, "weight_scale": self.proof.name(scale) * w**2,
            "rounds": self.proof.name(rounds), "initial_gap": self.proof.name(gap),
        }  # fmt: skip
        names = ((rounds, "count"), (gap, "nonnegative"), (weight, "positive"))
        made = self.of_weights(arguments, names, parameters, [])
        bound = self.summed(self.telescoped(rounds, gap, fall, added))
        return made | {"functional": "average_squared_weighted_gradient", "bound": bound}

    def bound_round(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude that a functional of one round is at most C + a sum of factors times quantities of its start, from
        form >= 0 where functional + form is that sum. The form is about every client and step; where the functional
        counts the end of a path, another one is about that. Given is that there is one round."""
        theorem = self.theorem_at(arguments["theorem"])
        functional = word("functional", stated["functional"], tuple(ROUND_FUNCTIONALS))
        others = [self.theorem_at(n) for n in listed("others", arguments["others"], most=1)]
        form, quantities = ROUND_FUNCTIONALS[functional]
        if functional == "squared_gradient":
            quantities += SUMS_OF_GRADIENTS.get(theorem["kind"], ("arbitrary_pseudogradient",))
        if functional == "negated_arbitrary_progress":  # 2 eta times the sum of the cohort's inner products
            need(theorem["kind"] == "arbitrary" and "local_lr" in theorem["parameters"], "of no arbitrary cohort")
            form = {e: c * theorem["parameters"]["local_lr"] for e, c in form.items()}
        last, plain = AFTER_THE_LAST.get(functional), truth("plain", arguments["plain"])
        need((last is not None) == bool(others), "allowed is one theorem on the last step, of a path, and else none")
        parts = {name: ROUND_QUANTITIES[name] for name in quantities}
        factors = self.split(theorem, form, parts)
        for other in others:
            same = other["parameters"] == theorem["parameters"] and other["context"] == "start" and not other["kind"]
            need(same and self.conditions(other["where"]) == self.conditions(theorem["where"]), "another last step")
            need(self.split(other, last or {}, parts) == factors, "another bound on the last step")
        assumed = [a for other in others for a in other["assumptions"]]
        named = OF_PLAIN_MEAN & {n for n, _ in [*theorem["assumptions"], *assumed]}
        need(plain or not named, "what is known of the plain mean only")
        steps = "k" in self.proof.number and any(self.proof.depends(c, "k") for c in factors.values())
        need(not steps, "a bound that depends on the step")
        letters = self.letters_given(arguments, len(quantities) + 1)
        given, rounds = theorem["parameters"], letters[-1]
        parameters = {name: self.proof.name(n) for name, n in zip((*quantities, "rounds"), letters, strict=True)}
        if plain:
            assumed.append(("equal_weights", None))
        own = {n: given[n] for n in ("error", "scale") if n in given}
        assumed += [("weights_of_the_round", None)] if own else []
        need(all(not c.top or self.letter_of(c) for c in own.values()), "an error or a scale that is no letter")
        if "error" in own:
            by_plain = {"weight_error": own["error"]}
            parameters |= by_plain if plain else {"objective_error": own["error"] / given["clients"]}
        if "scale" in own:
            parameters["weight_scale"] = own["scale"]
        if "least_weight" in given:
            parameters["least_objective_weight"] = given["least_weight"]
        sorts = [QUANTITIES[name] for name in (*quantities, "rounds")]
        made = self.of_weights(arguments, tuple(zip(letters, sorts, strict=True)), parameters, assumed)
        bound = [factors.pop("")]
        for name, factor in factors.items():
            bound.append(factor * parameters[name] ** (1 if name in AS_THEY_ARE else 2))
        of_paths = not any(map(of_cohort, theorem["form"]))
        one = ONE - self.proof.name(rounds)
        return made | {"functional": functional, "bound": self.summed(bound), "given": [one], "of_paths": of_paths}

    def bound_at_points(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude that a functional of any function at points is at most a sum of factors times squared distances,
        from form >= 0 on every client's function, where functional + form is that sum."""
        functional = word("functional", stated["functional"], tuple(POINT_FUNCTIONALS))
        need(theorem["context"] == "start" and not theorem["kind"], "allowed is what holds at any points")
        need(not theorem["parameters"], "what is of an algorithm")
        form, distances = POINT_FUNCTIONALS[functional]
        factors = self.split(theorem, form, distances)
        conditions = self.conditions(theorem["where"])
        letters = self.unused(self.letters_given(arguments, len(distances)), conditions)
        own = {name: self.proof.name(n) for name, n in zip(distances, letters, strict=True)}
        bound = self.summed([factors[""], *(factors[name] * x**2 for name, x in own.items())])
        conditions = [*((n, "nonnegative", None) for n in letters), *conditions]
        return self.bound_of(conditions, theorem["assumptions"], own, functional=functional, bound=bound)

    def split(self, theorem: dict, form: dict, parts: dict) -> dict:
        """Return the factors of some forms, and that of 1 by the name "", in a theorem's form plus another one."""
        rest, found = sum_of_forms((theorem["form"], ONE), (form, ONE)), {}
        for name, part in parts.items():
            others = {entry for other, each in parts.items() if other != name for entry in each}
            (own, *_) = [entry for entry in part if entry not in others]
            found[name] = rest.get(own, ZERO) / part[own]
            rest = sum_of_forms((rest, ONE), (part, -found[name]))
        found[""] = rest.pop(("one",), ZERO)
        need(not rest, f"no sum of {', '.join(parts)} and 1, less the functional's form")
        return found


# bounds on answers, on draws with known weights, and on numbers: the rules by which they begin, and their claims

FROM_A_ROUND = ("telescope answers", "bound inner product", "bound square")
FROM_NOTHING = ("selected square", "selected bias", "value", "frequency")
OVER_ROUNDS = {"mismatch": "rms_mismatch", "proxy": "mean_proxy", "second_moment": "mean_second_moment"}
"""Parameter of a run by that of its rounds: the root of the mean square, and means."""
NOT_DIVIDED = {"line 14": "not divided"}
OF_ANSWERS = {
    "mean_squared_gradient": NOT_DIVIDED, "inner_product": NOT_DIVIDED, "squared_aggregate": NOT_DIVIDED,
    "aggregate_bias": NOT_DIVIDED, "squared_selected_vector": {}, "ratio_failure": {}, "value": {},
}  # fmt: skip
"""Functionals of answers and of numbers, and how a claim on each is read."""
ANSWER_LAWS = (
    ({"rms_mismatch": ("weight_mismatch",), "mean_proxy": ("selection_proxy",)}, "planned"),
    ({"rms_mismatch": ("answer_mismatch",), "mean_proxy": ("answer_proxy",)}, "received"),
    ({"rms_mismatch": ("mean_mismatch",), "mean_second_moment": ("selection_proxy", "rate_spread")}, "planned"),
)
"""Laws of a run's weights: the sums of quantities that its parameters are, and how the counts are read."""
OF_DRAWS = (
    "local_lr", "rounds", "initial_gap", "gradient_norm", "squared_mean_update", "squared_state_update",
    "squared_mean_vector", "mean_squared_vector", "vector_covariance", "largest_estimate_error",
    "least_group_participation", "mean_update_length", "group_clients", "response_probability", "relative_error",
)  # fmt: skip
"""Parameters that are the quantities of their names."""
OTHERWISE = {"mismatch": "weight_mismatch", "mean_proxy": "selection_proxy", "level": "failure_probability"}
"""Quantities of other names."""


class BoundsOnAnswers(BoundRules):
    """Rules that begin a proof of a claim on answers or numbers, and what such a claim may ask."""

    def of_itself(self, stated: dict, **said: Any) -> dict:
        """Return a bound that begins a proof, by no theorem."""
        return self.bound_of(self.conditions(stated["where"]), [], {}) | said

    def given_start(self, theorem: dict) -> dict:
        """Return the parameters of a theorem on a round of answers, given its start."""
        known = theorem["context"] == "start" and not theorem["kind"] and "selected_lr" in theorem["parameters"]
        need(known, "allowed is a theorem on a round of answers, given its start")
        return theorem["parameters"]

    def _of_round(
        self, theorem: dict, arguments: Arguments, functional: str, names: tuple, bound: list, of: dict
    ) -> dict:
        """Return the bound from a theorem, with letters for further parameters; rounds are a count, others >= 0."""
        conditions = self.conditions(theorem["where"])
        new = dict(zip(names, self.unused(self.letters_given(arguments, len(names)), conditions), strict=True))
        more = [(n, "count" if name == "rounds" else "nonnegative", None) for name, n in new.items()]
        own = of | {name: self.proof.name(n) for name, n in new.items()}
        said = {"functional": functional, "bound": self.summed(bound)}
        return self.bound_of([*more, *conditions], theorem["assumptions"], own, **said)

    def _averaged(self, theorem: dict) -> dict:
        """Return the letters of delta, V and W, of which a theorem asks that they are >= 0 and nothing else."""
        of, names = theorem["parameters"], self.proof.names
        found = {name: [names[i] for i in letters_of(of[name].top)] for name in OVER_ROUNDS if name in of}
        every = [letter for letters in found.values() for letter in letters]
        need(len({*every}) == len(every), "one letter for two of delta, V and W")
        for name, letters in found.items():
            total = functools.reduce(operator.add, map(self.proof.name, letters), ZERO)
            need(of[name] == total and (name == "second_moment" or len(letters) == 1), f"{name}: no letter, or sum")
        others = self.said_besides(theorem, *found)
        free = not any(self.proof.depends(c, letter) for c in others for letter in every)
        kinds = {name: kind for name, kind, _ in self.conditions(theorem["where"])}
        need(free and all(kinds.get(letter) == "nonnegative" for letter in every),
             "more is asked of delta, V or W than that it is >= 0")  # fmt: skip
        return found

    def _linear(self, theorem: dict, added: Scalar, averaged: dict) -> None:
        """Raise unless what is added is linear in delta^2, V and W together, with factors >= 0."""
        every = [letter for letters in averaged.values() for letter in letters]
        for name, letters in averaged.items():
            for letter in letters:
                for power, part in self.by_power(added, letter).items():
                    need(power in (0, 2 if name == "mismatch" else 1), f"{letter}: in another power")
                    if power:
                        need(not any(self.proof.depends(part, other) for other in every), f"{letter}: in a product")
                        self.proof.ask(theorem["where"], f"{letter}: what is added may fall with it", part)

    def telescope_answers(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude that the mean over t < T of E|grad F(w_t)|^2 is at most (F(w_0) - inf F)/(c T) + B/c.

        It follows from E F(x+) <= F(x) - c |grad F(x)|^2 + B in every round. B is linear in the round's delta^2, V and
        W, and c has none of them: in the mean over the rounds of what they are expected to be, B has the means.
        """
        of = self.given_start(theorem)
        fall, added = self.falls(theorem)
        averaged = self._averaged(theorem)
        every = [letter for letters in averaged.values() for letter in letters]
        need(not any(self.proof.depends(fall, letter) for letter in every), "a fall that depends on the weights")
        self._linear(theorem, added, averaged)
        of = {OVER_ROUNDS.get(name, name): value for name, value in of.items()}
        letters = self.letters_given(arguments, 2)
        bound = self.telescoped(*letters, fall, added)
        return self._of_round(theorem, arguments, "mean_squared_gradient", ("rounds", "initial_gap"), bound, of)

    def bound_inner_product(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude <grad F, E Delta + eta K grad F> <= g |grad F|^2 + b |E Delta|^2/eta^2 + C.

        It follows from g |grad F|^2 + b |B|^2 + C - eta <grad F, K grad F - B> >= 0, as E Delta = -eta B.
        """
        form, of = theorem["form"], self.given_start(theorem)
        need(not {"proxy", "second_moment"} & {*of}, "a theorem on second moments")
        mean, eta = ("", MEAN_ANSWER), of["local_lr"]
        slope, length, added = (form.get(e, ZERO) for e in (SQUARED_SLOPE, product(mean, mean), ("one",)))
        shape = {SQUARED_SLOPE: slope, product(SLOPE, mean): eta, product(mean, mean): length, ("one",): added}
        need(form == sum_of_forms((shape, ONE)), "another form than that of an inner product")
        letters = self.letters_given(arguments, 2)
        gradient, update = map(self.proof.name, letters)
        own = slope + eta * self.proof.name("K")
        bound = [own * gradient**2, length / eta**2 * update, *self.shared(added, ONE)]
        return self._of_round(theorem, arguments, "inner_product", ("gradient_norm", "squared_mean_update"), bound, of)

    def bound_square(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude E|Delta|^2 <= b E|E[Delta | who is there]|^2 + eta^2 C, with the mean of V.

        It follows from b |B|^2 + C - |B + Z|^2 >= 0 given who is there, as Delta = -eta (B + Z). C is linear in V, and
        else free of the weights.
        """
        form, of = theorem["form"], self.given_start(theorem)
        need("proxy" in of and "second_moment" not in of, "a theorem that is not given who is there")
        length, added = (form.get(e, ZERO) for e in (inner(MEAN_ANSWER, MEAN_ANSWER), ("one",)))
        whole_answer = squared(("", MEAN_ANSWER), ("", SPREAD), ONE, ONE)
        rest = {inner(MEAN_ANSWER, MEAN_ANSWER): length + ONE, ("one",): added}
        need(form == sum_of_forms((rest, ONE), (whole_answer, MINUS)), "another form than that of a square")
        averaged = self._averaged(theorem)
        every = [letter for letters in averaged.values() for letter in letters]
        need(not any(self.proof.depends(length, letter) for letter in every), "a factor that depends on the weights")
        need(not any(self.proof.depends(added, n) for n in averaged.get("mismatch", ())), "delta of one state for all")
        self._linear(theorem, added, averaged)
        (letter,) = self.letters_given(arguments, 1)
        eta = of["local_lr"]
        bound = [(length + ONE) * self.proof.name(letter), *self.shared(added, eta**2)]
        kept = {OVER_ROUNDS["proxy"] if n == "proxy" else n: value for n, value in of.items() if n != "mismatch"}
        return self._of_round(theorem, arguments, "squared_aggregate", ("squared_state_update",), bound, kept)

    def selected_square(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude E|sum p_j/s^_j S_j x_j|^2 <= (1 + a) |sum p_j x_j|^2 + (delta^2 + b) sum p_j |x_j|^2 + the
        covariance term, a, b >= 0 and a b >= delta^2. The mean is sum p_j x_j and e = sum p_j (E S_j/s^_j - 1) x_j,
        |e|^2 <= delta^2 sum p_j |x_j|^2, and twice their product is at most a times the one's square and 1/a times the
        other's."""
        names = ("mean", "vectors", "covariance", "mismatch", "first", "second")
        mean, vectors, covariance, delta, a, b = (self.proof.scalar(arguments[name]) for name in names)
        self.asked(stated["where"], "a number that may be too small", mean, vectors, delta, a, b, a * b - delta**2)
        parameters = {"squared_mean_vector": mean, "mean_squared_vector": vectors, "vector_covariance": covariance,
                      "mismatch": delta}  # fmt: skip
        bound, assumed = self.summed([(ONE + a) * mean, (delta**2 + b) * vectors, covariance]), "cohort_before_noise"
        said = {"assumptions": [(assumed, None)], "parameters": parameters, "bound": bound}
        return self.of_itself(stated, functional="squared_selected_vector", **said)

    def selected_bias(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude |E Delta - sum p_j v_j| <= e/(l - e) sum p_j |v_j| where |s^_j - s_j| <= e and s_j >= l > e: the
        factors s_j/s^_j differ from 1 by |s_j - s^_j|/s^_j, and s^_j >= l - e."""
        error, least, length = (self.proof.scalar(arguments[name]) for name in ("error", "least", "length"))
        room, where = least - error, stated["where"]
        self.asked(where, "a number that may be negative", error, room, length)
        need(self.proof.never_zero(room.top, where), "estimates that may be 0")
        parameters = {"largest_estimate_error": error, "least_group_participation": least,
                      "mean_update_length": length}  # fmt: skip
        assumptions = [("independent_answers", None), ("stationary_availability", None)]
        said = {"assumptions": assumptions, "parameters": parameters, "bound": self.summed([error / room * length])}
        return self.of_itself(stated, functional="aggregate_bias", **said)

    def value(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude that an expression is at most itself."""
        expression = self.proof.scalar(arguments["expression"])
        said = {"parameters": {"value": expression}, "bound": self.summed([expression])}
        return self.of_itself(stated, functional="value", **said)

    def frequency(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude P(s/s^ is not in [1 - epsilon, 1 + epsilon]) <= 2 exp(-2 n t x^2), by Hoeffding's inequality for n t
        independent answers, where the ratio is in the band at both ends of |s^ - s| <= n x, hence between them."""
        names = ("clients", "rounds", "probability", "error", "deviation")
        (n, t, r, epsilon, x), where = (self.proof.scalar(arguments[name]) for name in names), stated["where"]
        counts = [self.proof.name(name) for name, kind, _ in self.proof.regions[where] if kind == "count"]
        need(any(n == c for c in counts) and any(t == c for c in counts), "clients or rounds that are no count")
        self.asked(where, "a number that may be out of its bounds", r, ONE - r, epsilon, x)
        for end in (r - x, r + x):
            self.asked(where, "an end out of the band", r - (ONE - epsilon) * end, (ONE + epsilon) * end - r)
        letter = word("letter", arguments["letter"])
        fit(letter in self.proof.number, "letter: no name")
        parameters = {"group_clients": n, "rounds": t, "response_probability": r, "relative_error": epsilon}
        definitions = {letter: ("exponential", number(2) * n * t * x**2)}
        said = {"parameters": parameters, "bound": self.summed([number(2) * self.proof.name(letter)])}
        return self.of_itself(stated, functional="ratio_failure", definitions=definitions, **said)

    def by_logarithm(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the right side with x^c for exp(-Y), x in (0, 1], as Y >= c log(1/x), after multiples >= 0 of what
        is given; the factors of exp(-Y) are all >= 0."""
        letter, log = word("letter", arguments["letter"]), word("logarithm", arguments["logarithm"])
        where, known, level = premise["where"], premise["known"], self.proof.scalar(arguments["level"])
        power = whole("power", arguments["power"], 1, LARGEST["power"])
        sort, of = premise["definitions"].get(letter, ("", ZERO))
        need(sort == "exponential" and "level" not in premise["parameters"], "no exponential, or a second level")
        need((log, "nonnegative", None) in self.proof.regions[where], "a logarithm that is no letter >= 0")
        self.asked(where, "a level that may be out of its bounds", level, ONE - level)
        need(self.proof.never_zero(level.top, where), "a level that may be 0")
        factors = [self.proof.scalar(c) for c in listed("multipliers", arguments["multipliers"], len(premise["given"]))]
        rest = of - number(power) * self.proof.name(log)
        for factor, given in zip(factors, premise["given"], strict=True):
            self.asked(where, "a multiplier that may be negative", factor)
            rest = rest - factor * given
        self.asked(where, "an exponent that may be too small", rest)
        total = []
        for scalar in self.scalars(premise["bound"]):
            for exponent, part in self.by_power(scalar, letter).items():
                if exponent:
                    self.proof.ask(known, "a factor that may be negative", part)
                total.append(part * level ** (power * exponent))
        kept = {n: d for n, d in premise["definitions"].items() if n != letter}
        own = premise["parameters"] | {"level": level, "logarithm": self.proof.name(log)}
        return self.same(premise, bound=self.summed(total), definitions=kept, parameters=own)

    # the claim

    def above_zero(self, name: str, last: dict, slacks: list) -> bool:
        """Whether a letter is > 0 as its quantity is, or may be taken to be, as the claim divides by it: a hypothesis
        tends to -infinity at 0, or is undefined; or all with the letter divide by it, so that those that hold at 0 hold
        near it, and the bound there is a limit, as neither the run nor what is chosen changes with the letter, or the
        left side is continuous in it."""
        quantity = self.letters[name]
        if QUANTITIES[quantity] in ("positive", "count", "real"):
            return QUANTITIES[quantity] != "real"
        signs = [self.tends(slack, name) for slack in slacks if self.proof.depends(slack, name)]
        right = self.tends(self.right_side(last), name) if quantity == "participation_probability" else None
        fixed = [*self.chosen.values()]
        fixed += [] if last["functional"] in ("value", *OF_INTERVALS) else [*last["parameters"].values()]
        moved = {*signs, right} == {None} or None in signs or any(self.proof.depends(each, name) for each in fixed)
        return -1 in signs or not moved

    def tends(self, scalar: Scalar, name: str, value: Scalar = ZERO) -> int | None:
        """Return the sign of the infinity to which a scalar tends as a letter falls to a value, 0 if its coefficients
        do not show it; ``None`` if it does not divide by 0 there."""
        moved, i = self.proof.put(scalar, {name: value + self.proof.name(name)}), self.proof.number[name]
        parts = moved.top, moved.bottom
        least = [min((power_of(key, i) for key in part), default=0) for part in parts]
        if not moved.top or least[1] <= least[0]:
            return None
        first = [{k: c for k, c in part.items() if power_of(k, i) == p} for part, p in zip(parts, least, strict=True)]
        signs = [{c > 0 for c in part.values()} for part in first]
        of = [self.letters.get(self.proof.names[j], "") for part in first for j in letters_of(part) - {i}]
        if any(QUANTITIES.get(quantity) == "real" for quantity in of) or {len(each) for each in signs} != {1}:
            return 0
        return 1 if signs[0] == signs[1] else -1

    def is_logarithm(self, name: str, kind: str, last: dict) -> bool:
        """Whether a letter for log(1/x) is >= 0, as the condition on x says that it is in (0, 1]."""
        level = self.letters[name][len("log(1/") : -1]
        own = [n for n, its, _ in self.proof.regions[last["where"]] if self.letters.get(n) == level and its == "capped"]
        below = bool(own) and self.proof._nonnegative(ONE - self.proof.name(own[0]), last["where"])  # signs are decided
        return kind == "nonnegative" and below

    def whole_of(self, quantities: tuple) -> Scalar:
        """Return the sum of quantities."""
        return functools.reduce(operator.add, map(self.letter, quantities), ZERO)

    def check_answers(self, last: dict) -> dict:
        """Raise unless the parameters are the quantities of their names; return how the claim has to be read."""
        of, known, asked = dict(last["parameters"]), {}, dict(OF_ANSWERS[last["functional"]])
        if last["functional"] == "mean_squared_gradient":
            own = {name for law, _ in ANSWER_LAWS for name in law} & {*of}
            written = {*self.letters.values()}
            laws = [(law, option) for law, option in ANSWER_LAWS
                    if {*law} == own and {q for qs in law.values() for q in qs} <= written
                    and all(of[name] == self.whole_of(qs) for name, qs in law.items())]  # fmt: skip
            need(len(laws) == 1, "delta, V or W of no law, or of several")
            known, asked = {name: self.whole_of(qs) for name, qs in laws[0][0].items()}, asked | {"counts": laws[0][1]}
        for name, value in of.items():
            if name == "selected_lr":
                own_value = self.letter("global_lr") * self.letter("local_lr")
            elif name in known:
                own_value = known[name]
            elif name == "logarithm":
                own_value = self.letter("log(1/failure_probability)")
            elif name == "value":
                own_value = self.of_tree(self.tree(self.claim["functional"]))
            else:
                quantity = OTHERWISE.get(name, name)
                need(quantity in OF_DRAWS or quantity != name, f"{name}: no parameter of answers")
                own_value = self.letter(quantity)
            need(value == own_value, f"{name}: of another value")
        return asked

    def is_difference(self, name: str, kind: str, last: dict, slacks: list) -> bool:
        """Whether a letter is by how much one quantity exceeds another, as a hypothesis says that it does; it is > 0
        where the right side is infinite at 0."""
        x = self.proof.name(name)
        strict = kind == "positive" and self.tends(self.right_side(last), name) == 1
        return any(x == slack for slack in slacks) and (kind == "nonnegative" or strict)


# bounds on weights that are means of participation intervals, and on the intervals

INTERVAL_QUANTITIES = {
    "participation_probability", "least_participation_probability", "absence", "cutoff_bias", "cutoff", "history",
    "guaranteed_intervals", "weight_spread",
}  # fmt: skip
MOMENTS = ("interval_mean", "negated_interval_mean", "interval_variance", "negated_interval_variance")
OF_INTERVALS = ("round_weight_error", "average_weight_error", "long_run_bias", *MOMENTS)
"""Functionals of weights and intervals, whose algorithm is the one whose weights are means of intervals."""
FROM_INTERVALS = ("bound moment", "bound late error", "bound every error", "average errors", "bound bias")
ON_INTERVALS = ("over clients", "choose cutoff", "choose cutoff of bias")
WITHIN = "history % cutoff"
"""Meaning of a letter that is what the intervals of C rounds leave of a round t = m C + r >= C."""
LOGARITHMIC = "ceiling(-log(rounds)/(2*log(1 - least_participation_probability)))"


def names_in(tree: ast.expr) -> set:
    """Return the names that occur in an expression."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


class RulesOfIntervals(BoundRules):
    """Rules from theorems on intervals, for every probability p, every cutoff C, and all rounds t >= C or t < C; a =
    q^C, q = 1 - p."""

    def lengths(self, number_of: object, when: str = "", every: bool = True) -> dict:
        """Return a theorem's letters p, C, a, and those of its rounds: t of t < C, or m and r of t = m C + r >= C. Each
        has its own condition, and there are no others."""
        theorem = self.theorem_at(number_of)
        given, name = theorem["parameters"], self.proof.name
        asked = {"": set(), "early": {"history", "head"}, "late": {"history"}}[when]
        least = {"absence", "cutoff", "tail"} | asked
        need(theorem["context"] == "run", "allowed is a theorem on intervals")
        need(least <= set(given) <= least | ({"ended"} if when == "late" else set()), f"no theorem for {when} rounds")
        letters = {key: self.letter_of(given[part]) for key, part in (("C", "cutoff"), ("a", "tail"))}
        letters["p"] = next((n for n in self.proof.names if given["absence"] == ONE - name(n)), "")
        need(all(letters.values()), "p, C or q^C is no letter")
        q, cutoff = given["absence"], name(letters["C"])
        chances = ("interval",) if every else ("interval", "capped")
        known: dict = {letters["p"]: (chances, ONE), letters["a"]: (("interval",), q)}
        known[letters["C"]] = (("count",), None)
        if when == "early":
            letters |= {"t": self.letter_of(given["history"]), "b": self.letter_of(given["head"])}
            known[letters["C"]] = (("at_least",), given["history"] + ONE)
            known |= {letters["t"]: (("nonnegative", "count"), None), letters["b"]: (("interval",), ONE)}
        if when == "late":
            parts = self.by_power(given["history"], letters["C"])
            letters |= {"m": self.letter_of(parts.get(1, ZERO)), "r": self.letter_of(parts.get(0, ZERO))}
            need(set(parts) <= {0, 1} and given.get("ended", parts.get(1)) == parts.get(1), "another round's number")
            known |= {letters["m"]: (("count",), None), letters["r"]: (("interval",), cutoff - ONE)}
        conditions = self.conditions(theorem["where"])
        need(all(letters.values()) and len(known) == len(letters), "letters of their own are asked for")
        need({c[0] for c in conditions} == known.keys(), "conditions on other letters")
        for one, kind, bound in conditions:
            kinds, most = known[one]
            same = bound is None if most is None else bound is not None and bound == most
            need(kind in kinds and same, f"{one}: of no rounds that have a name, or of no every chance")
        first = any(c == (letters.get("t"), "count", None) for c in conditions)
        return letters | {"theorem": theorem, "first": first, "q": q}

    def rest_of(self, of: dict, items: dict) -> Scalar:
        """Return what a theorem's form and these entries sum to, a number."""
        rest = sum_of_forms((of["theorem"]["form"], ONE), (items, ONE))
        constant = rest.pop(("one",), ZERO)
        need(not rest, "allowed is a bound by a number")
        return constant

    def of_error(self, of: dict) -> Scalar:
        """Return B of B - E(p omega - 1)^2 >= 0."""
        return self.rest_of(of, squared(("", WEIGHT), ("", UNIT), self.proof.name(of["p"])))

    def same_letters(self, *several: dict) -> None:
        """Raise unless theorems have the same letters p, C and q^C."""
        need(len({(of["p"], of["C"], of["a"]) for of in several}) == 1, "theorems with other letters")

    def late_and_early(self, arguments: Arguments) -> tuple[dict, list]:
        """Return what is proved of rounds t >= C, and one or two theorems on rounds t < C, with the same letters."""
        numbers = listed("others", arguments["others"], most=2)
        fit(bool(numbers), "others: allowed are one or two theorems")
        of, early = self.lengths(arguments["theorem"], "late"), [self.lengths(n, "early") for n in numbers]
        self.same_letters(of, *early)
        return of, early

    def same_at(self, of: dict, t: Scalar, bound: Scalar) -> None:
        """Raise unless the bound for t = m C + r is this one in t."""
        r = t - self.proof.name(of["m"]) * self.proof.name(of["C"])
        moved = self.proof.put(self.of_error(of), {of["r"]: r})
        need(moved == bound, "another bound before the cutoff than from then on")

    def fresh(self, arguments: Arguments, count: int, *several: dict) -> list:
        """Return new letters that no condition of the theorems is on."""
        letters = self.letters_given(arguments, count)
        fit(all(n in self.proof.number for n in letters), "letters: no names")
        return self.apart_from(letters, {c[0] for of in several for c in self.conditions(of["theorem"]["where"])})

    def of_intervals(self, functional: str, several: list, conditions: list, parameters: dict, bound: Scalar) -> dict:
        """Return a bound from theorems."""
        known = [a for of in several for a in of["theorem"]["assumptions"]]
        return self.bound_of(conditions, known, parameters, functional=functional, bound=self.summed([bound]))

    def mean_over(self, value: Scalar, of: dict, absence: Scalar, bias: Scalar) -> Scalar:
        """Return the mean over clients of what is linear in q and q^(2C)."""
        put, p, a = self.proof.put, of["p"], of["a"]
        plain = put(value, {p: ONE, a: ZERO})
        by_q, by_tail = put(value, {p: ZERO, a: ZERO}) - plain, put(value, {p: ONE, a: ONE}) - plain
        made = plain + by_q * (ONE - self.proof.name(p)) + by_tail * self.proof.name(a) ** 2
        need(made == value, "a number that is not linear in q and q^(2C)")
        return plain + by_q * absence + by_tail * bias

    def bound_moment(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude E S = mu, or Var S = v - mu^2, from either side, by E S - mu = 0 and E S^2 - v = 0, for p > 0."""
        functional = word("functional", stated["functional"], MOMENTS)
        (other,) = listed("others", arguments["others"], 1)
        one, two = self.lengths(arguments["theorem"], every=False), self.lengths(other, every=False)
        self.same_letters(one, two)
        need(one["theorem"]["equality"] and two["theorem"]["equality"], "allowed are equalities")
        mean = -self.rest_of(one, {inner(INTERVAL, UNIT): MINUS})
        square = -self.rest_of(two, {inner(INTERVAL, INTERVAL): MINUS})
        bound = mean if functional.endswith("mean") else square - mean**2
        p, C = self.proof.name(one["p"]), self.proof.name(one["C"])
        conditions = [(one["p"], "capped", ONE), (one["C"], "count", None)]
        parameters = {"participation_probability": p, "cutoff": C}
        right = -bound if functional.startswith("negated") else bound
        made = self.of_intervals(functional, [one, two], conditions, parameters, right)
        return made | {"definitions": {one["a"]: ("tail", one["q"])}}

    def bound_late_error(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude E(p omega - 1)^2 <= B for t >= C. By p E S = nu, E(p omega - nu)^2 is p^2 E(omega - E S)^2."""
        others = [self.lengths(n) for n in listed("others", arguments["others"], most=1)]
        of, name = self.lengths(arguments["theorem"], "late"), self.proof.name
        self.same_letters(of, *others)
        p, C, m = (name(of[key]) for key in "pCm")
        history = m * C + name(of["r"])
        conditions = [
            (of["r"], "interval", C - ONE), (of["m"], "count", None), (of["C"], "count", None),
            (of["p"], "interval", ONE),
        ]  # fmt: skip
        parameters = {"participation_probability": p, "cutoff": C, "history": history, "guaranteed_intervals": m}
        error = squared(("", WEIGHT), ("", UNIT), p)
        bound, letters = ZERO, self.fresh(arguments, len(others), of, *others)
        for mean in others:
            need(mean["theorem"]["equality"], "allowed is p E S - nu = 0")
            nu = -self.rest_of(mean, {inner(INTERVAL, UNIT): -p})
            factor = of["theorem"]["form"].get(inner(WEIGHT, WEIGHT), ZERO) / p**2 + ONE
            error = sum_of_forms((error, ONE), (squared(("", WEIGHT), ("", UNIT), p, -nu), -factor))
            bound = factor * p**2 * name(letters[0])
            parameters["weight_spread"] = name(letters[0])
            conditions = [(letters[0], "nonnegative", None), *conditions]
        bound = bound + self.rest_of(of, error)
        made = self.of_intervals("round_weight_error", [of, *others], conditions, parameters, bound)
        return made | {"definitions": {of["a"]: ("tail", of["q"])}, "given": [history - C]}

    def bound_every_error(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude E(p omega - 1)^2 <= B(t) in every round, from t >= C and t < C, and given that an interval has ended
        from a third theorem, B P(M >= 1) - E[(p omega - 1)^2; M >= 1] >= 0. A B without t is one for t = 0 too."""
        of, early = self.late_and_early(arguments)
        first, t, p = early[0], self.proof.name(early[0]["t"]), self.proof.name(of["p"])
        bound = self.of_error(first)
        self.same_at(of, t, bound)
        for ended in early[1:]:
            error = squared(("", WEIGHT_ENDED), ("", UNIT_ENDED), p)
            shown = sum_of_forms((error, ONE), ({inner(UNIT_ENDED, UNIT_ENDED): bound}, MINUS))
            need(ended["t"] == first["t"] and not self.rest_of(ended, shown).top, "another bound given an interval")
        moves = self.proof.put(bound, {first["t"]: ONE}) != self.proof.put(bound, {first["t"]: number(2)})
        need(moves or not any(each["first"] for each in early), "a theorem from t = 1 on, where t = 0 counts")
        conditions = [
            (first["t"], "count" if first["first"] else "nonnegative", None), (of["C"], "count", None),
            (of["p"], "interval", ONE),
        ]  # fmt: skip
        parameters = {"participation_probability": p, "cutoff": self.proof.name(of["C"]), "history": t}
        made = self.of_intervals("round_weight_error", [of, *early], conditions, parameters, bound)
        read = [("in_expectation", None)] if len(early) == 1 else []
        return made | {"definitions": {of["a"]: ("tail", of["q"])}, "assumptions": [*made["assumptions"], *read]}

    def over_clients(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the same for the mean over clients, of a bound for every p in [0, 1], linear in q and q^(2C)."""
        parameters, tails = dict(premise["parameters"]), list(premise["definitions"].items())
        need("participation_probability" in parameters and len(tails) == 1, "allowed is a bound for one client")
        need(not premise["given"] and "weight_spread" not in parameters, "a bound that has more of one client")
        ((a, (sort, q)),) = tails
        value = parameters.pop("participation_probability")
        p = self.letter_of(value)
        old = self.conditions(premise["where"])
        need(sort == "tail" and bool(p) and q == ONE - value and (p, "interval", ONE) in old, "no bound for every p")
        kept = [c for c in old if c[0] != p]
        need(not any(b is not None and self.proof.depends(b, p) for _, _, b in kept), "a condition that depends on p")
        letters = self.apart_from(self.letters_given(arguments, 2), {a, *(c[0] for c in old)})
        absence, bias = map(self.proof.name, letters)
        right = self.mean_over(self.right_side(premise), {"p": p, "a": a}, absence, bias)
        return premise | {
            "definitions": {},
            "parameters": parameters | {"absence": absence, "cutoff_bias": bias},
            "bound": self.summed([right]),
            "conditions": [*((n, "interval", ONE) for n in letters), *kept],
        }

    def average_errors(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude a bound on the mean over rounds t < T and clients: (z + x (1 + log T))/T + y from x/t + y for t >= 1
        and z from t = 0 on, as 1/1 + ... + 1/(T - 1) <= 1 + log T; (C z + C x (1 + log(T/C)))/T + y for T >= C from x/m
        + y for t >= C, m = floor(t/C), and z before: with T = C (n + u), 0 <= u < 1, the sum of the 1/m is C (1 + 1/2 +
        ... + 1/(n - 1) + u/n), and 1 + log(n - 1) + u/n <= 1 + log(n + u) for n >= 2, as log(1 + s) >= s/(1 + s)."""
        of, several = self.late_and_early(arguments)
        rounds, logarithm, absence, bias = self.fresh(arguments, 4, of, *several)
        before, C, name = several[0], self.proof.name(of["C"]), self.proof.name
        need(not before["first"], "allowed is a theorem from t = 0 on")
        z, bound = self.of_error(before), self.of_error(of)
        many, count = C, of["m"]
        condition: tuple = (rounds, "at_least", C)
        for early in several[1:]:
            many, count, condition = ONE, early["t"], (rounds, "count", None)
            bound = self.of_error(early)
            self.same_at(of, name(early["t"]), bound)
        at_one, at_two = (self.proof.put(bound, {count: number(n)}) for n in (1, 2))
        share = number(2) * (at_one - at_two)
        rest = at_one - share
        need(bound == share / name(count) + rest, "allowed is x/t + y, or x/floor(t/C) + y")
        varying = {before["t"], of["m"], of["r"], count}
        need(not any(self.proof.depends(c, n) for c in (share, rest, z) for n in varying), "a number that varies")
        share, rest, z = (self.mean_over(c, of, name(absence), name(bias)) for c in (share, rest, z))
        self.proof.ask(stated["where"], "a number that may be negative", share, rest, z)
        T = name(rounds)
        conditions = [condition, (of["C"], "count", None), (absence, "interval", ONE), (bias, "interval", ONE)]
        parameters = {"rounds": T, "cutoff": C, "absence": name(absence), "cutoff_bias": name(bias)}
        right = many * (z + share * (ONE + name(logarithm))) / T + rest
        made = self.of_intervals("average_weight_error", [of, *several], conditions, parameters, right)
        return made | {"definitions": {logarithm: ("log", T / many)}}

    def bound_bias(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude the mean over clients of (p E S - 1)^2 = (nu - 1)^2, from p E S - nu = 0."""
        listed("others", arguments["others"], 0)
        of = self.lengths(arguments["theorem"])
        need(of["theorem"]["equality"], "allowed is p E S - nu = 0")
        letters = self.fresh(arguments, 2, of)
        nu = -self.rest_of(of, {inner(INTERVAL, UNIT): -self.proof.name(of["p"])})
        absence, bias = map(self.proof.name, letters)
        conditions = [(of["C"], "count", None), *((n, "interval", ONE) for n in letters)]
        parameters = {"cutoff": self.proof.name(of["C"]), "absence": absence, "cutoff_bias": bias}
        right = self.mean_over((nu - ONE) ** 2, of, absence, bias)
        return self.of_intervals("long_run_bias", [of], conditions, parameters, right)

    def value_at(self, scalar: Scalar, **values: Scalar) -> Scalar:
        """Return the number that a scalar is at values of some letters, where all others are 1."""
        every = dict.fromkeys(self.proof.names, ONE) | values
        return self.proof.put(scalar, every)

    def with_cutoff(self, premise: dict, T: Scalar, logarithm: str, letters: list) -> dict:
        """Return the premise for two rounds or more, with log T, R = -1/(2 log(1 - min p)) and log 2."""
        least, decay, two = letters
        return premise | {
            "definitions": {
                logarithm: ("log", T), two: ("log", number(2)), decay: ("decay", self.proof.name(least)),
            },
            "parameters": {
                "rounds": T, "least_participation_probability": self.proof.name(least), "logarithmic_cutoff": ONE,
            },
            "conditions": [(self.letter_of(T), "at_least", number(2)), (least, "interval", ONE)],
        }  # fmt: skip

    def choose_cutoff(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude (2 s + (2 f + y)/log 2) R log^2 T/T from (C (f + s log T))/T + y q^(2C) for the cutoff ceil(R log
        T), 2 s + 2 f + y >= 6, as q^(2C) <= 1/T. C >= 2: C <= 2 R log T and 1 <= R log T. C = 1: the error is q^2 <=
        exp(-1/R) <= 6 R log^2 T/T. T < C, which is asked of a bound for T >= C: R log T >= T, and the error is at most
        1 by a theorem on rounds t < C."""
        numbers = listed("others", arguments["others"], most=1)
        given, definitions = premise["parameters"], list(premise["definitions"].items())
        need(premise["functional"] == "average_weight_error" and not premise["given"], "no mean error's bound")
        need(set(given) == {"rounds", "cutoff", "absence", "cutoff_bias"} and len(definitions) == 1, "of every cutoff")
        T, C, bias = given["rounds"], given["cutoff"], given["cutoff_bias"]
        ((logarithm, (sort, of)),) = definitions
        need(sort == "log" and of == T, "allowed is the logarithm of the rounds")
        own = {self.letter_of(given[n]) for n in given}
        letters = self.apart_from(self.letters_given(arguments, 3), {*own, logarithm})
        old = {c[0]: c for c in self.conditions(premise["where"])}
        need(old.keys() == own and len(own) == 4, "letters of T, C and means")
        rounds, cutoff, mean_bias = (self.letter_of(each) for each in (T, C, bias))
        need(old[cutoff][1] == "count", "allowed is a bound for every cutoff")
        if old[rounds][1] == "at_least":
            need(old[rounds][2] == C and len(numbers) == 1, "allowed is T >= C, with a theorem on rounds t < C")
            before = self.lengths(numbers[0], "early")
            need(not before["first"], "allowed is a theorem from t = 0 on")
            more = [each for each in before["theorem"]["assumptions"] if each not in premise["assumptions"]]
            need(not more, "a theorem that assumes more than the bound")
            self.proof.ask(before["theorem"]["where"], "an error that may be above 1", ONE - self.of_error(before))
        else:
            need(old[rounds][1] == "count", "allowed is a bound for every T, or for T >= C")
            for each in numbers:
                self.lengths(each, "early")
        total = self.right_side(premise)
        f = self.value_at(total, **{logarithm: ZERO, mean_bias: ZERO})
        s, y = self.value_at(total, **{mean_bias: ZERO}) - f, self.value_at(total, **{logarithm: ZERO}) - f
        log = self.proof.name(logarithm)
        need(total == C * (f + s * log) / T + y * bias, "allowed is C (f + s log T)/T + y q^(2C)")
        two_s = number(2) * s
        self.proof.ask(
            premise["where"], "a number that may be too small", f, s, y, two_s + number(2) * f + y - number(6)
        )
        right = (two_s + (number(2) * f + y) / self.proof.name(letters[2])) * self.proof.name(letters[1]) * log**2 / T
        return self.with_cutoff(premise, T, logarithm, letters) | {"bound": self.summed([right])}

    def choose_cutoff_of_bias(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude y/T from y q^(2C) for the cutoff ceil(R log T), as q^(2C) <= (1 - min p)^(2 R log T) = 1/T."""
        given, name = premise["parameters"], self.proof.name
        taken = {c[0] for c in self.conditions(premise["where"])}
        rounds, logarithm, *letters = self.apart_from(self.letters_given(arguments, 5), taken)
        need(premise["functional"] == "long_run_bias" and not premise["given"], "allowed is the long-run bias")
        need(not premise["definitions"] and set(given) == {"cutoff", "absence", "cutoff_bias"}, "of every cutoff")
        total = self.right_side(premise)
        y = self.value_at(total)
        need(total == y * given["cutoff_bias"], "allowed is y q^(2C)")
        self.proof.ask(premise["where"], "a number that may be negative", y)
        made = self.with_cutoff(premise, name(rounds), logarithm, letters)
        return made | {"bound": self.summed([y / name(rounds)])}

    # the claim

    def logarithm(self, tree: ast.expr) -> Scalar:
        """Return the letter of a logarithm, or -1/(2 R) for log(1 - min p)."""
        of, definitions = self.of_tree(tree), self.bounds[-1]["definitions"]
        for name, (sort, value) in definitions.items():
            if sort == "log" and value == of:
                return self.proof.name(name)
            if sort == "decay" and ONE - value == of:
                return MINUS / (number(2) * self.proof.name(name))
        raise Wrong("a logarithm that is not what is proved")

    def is_of_round(self, name: str, kind: str, bound: Scalar | None, slacks: list) -> bool:
        """Whether a condition says that m C + r is a round t >= C, m = floor(t/C), of a claim with the hypothesis t >=
        C."""
        of = {quantity: n for n, quantity in self.letters.items()}
        if of.get(WITHIN) != name or not {"cutoff", "guaranteed_intervals"} <= of.keys():
            return False
        C, m = (self.proof.name(of[quantity]) for quantity in ("cutoff", "guaranteed_intervals"))
        late = any(m * C + self.proof.name(name) - C == each for each in slacks)
        return late and kind == "interval" and bound == C - ONE

    def is_logarithmic(self, quantity: str, text: object) -> bool:
        """Whether a choice is that of the cutoff ceil(R log T)."""
        return quantity == "cutoff" and ast.dump(self.tree(text)) == ast.dump(self.tree(LOGARITHMIC))

    def check_cutoff(self, value: Scalar) -> None:
        """Raise unless the claim chooses the cutoff ceil(R log T)."""
        chosen = self.claim["choices"].get("cutoff", "0")
        need(value == ONE and self.is_logarithmic("cutoff", chosen), f"the cutoff is not {LOGARITHMIC}")

    def check_intervals(self, last: dict) -> None:
        """Raise unless the parameters are the quantities of their names, and the cutoff is the claim's."""
        need(not last["kind"] and self.claim["algorithm"] == "fedau", "weights of another algorithm")
        for name, value in last["parameters"].items():
            if name == "logarithmic_cutoff":
                self.check_cutoff(value)
            else:
                need(name == "rounds" or name in INTERVAL_QUANTITIES, f"{name}: no parameter of intervals")
                need(value == self.letter(name), f"{name}: of another value")


# bounds on runs of local steps of all clients' mean, whoever takes part

FROM_STEPS = ("iterate steps", "iterate decaying steps")
MEAN_PATH = ("M", ITERATE), ("M", ("x", True, (1, 0, 1))), ("M", LAST)
"""The mean of all clients' iterates at a step, at the next one, and at a round's end."""


class RulesOfSteps(BoundRules):
    """Rules from theorems P A_k + B >= A_{k+1} on every step, A_k = E|mean x_{i,k} - x*|^2, and A_K + C >= E|x+ - x*|^2
    on a round's end: all clients start the next round from x+."""

    def apart(self, theorem: dict, now: tuple, then: tuple) -> tuple[Scalar, Scalar]:
        """Return (P, B) of P |now - x*|^2 + B - |then - x*|^2 >= 0 over the whole run, B >= 0."""
        need(theorem["context"] == "run" and not theorem["kind"], "allowed is what holds over the whole run")
        return self.nears(theorem, now, then)

    def of_steps(self, arguments: Arguments) -> tuple[dict, dict, Scalar, Scalar, Scalar]:
        """Return the theorems on a step and on a round's end, and P, B and C; they are of one algorithm."""
        step = self.theorem_at(arguments["theorem"])
        (end,) = (self.theorem_at(n) for n in listed("others", arguments["others"], 1))
        need(self.conditions(step["where"]) == self.conditions(end["where"]), "a step and an end on different regions")
        now, then, last = MEAN_PATH
        factor, added = self.apart(step, now, then)
        one, more = self.apart(end, last, ("", NEXT))
        need(one == ONE, "no A_K + C - E|x+ - x*|^2 >= 0")
        return step, end, factor, added, more

    def steady(self, scalar: Scalar, names: tuple) -> Scalar:
        """Return a scalar without these letters, on which it does not depend."""
        inside = {n: ZERO for n in names if n in self.proof.number}
        without = self.proof.put(scalar, inside)
        need(bool(without.bottom) and without == scalar, "what is not the same in all steps")
        return without

    def over_steps(self, step: dict, end: dict, names: list, changing: tuple, sizes: dict) -> dict:
        """Return a bound on runs without its right side. What is assumed, and all parameters but ``sizes``, are the
        same in all steps."""
        conditions = self.conditions(step["where"])
        rounds, distance = map(self.proof.name, self.unused(names, conditions)[:2])
        both = together(step["parameters"], end["parameters"])
        of = {n: self.steady(c, changing) for n, c in both.items() if n not in sizes}
        of |= sizes | {"rounds": rounds, "initial_distance": distance}
        every = step["assumptions"] + end["assumptions"]
        known = [(n, None if c is None else self.steady(c, changing)) for n, c in every]
        conditions = [(names[0], "count", None), (names[1], "nonnegative", None), *conditions]
        return self.bound_of(conditions, known, of, functional="final_squared_distance")

    def iterate_steps(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude E|x_R - x*|^2 <= P^T |x_0 - x*|^2 + B (1 - P^T)/(1 - P), T = K R, where P in [0, 1) and B are the
        same in all steps, and an end adds nothing."""
        step, end, factor, added, more = self.of_steps(arguments)
        need(not more.top, "more at a round's end")
        factor, added = (self.steady(c, ("k",)) for c in (factor, added))
        self.below_1(step["where"], factor)
        names = self.letters_given(arguments, 3)
        power, distance = self.proof.name(names[2]), self.proof.name(names[1])
        kept = self.shared(added, (ONE - power) / (ONE - factor))
        made = self.over_steps(step, end, names, ("k",), {})
        bound = self.summed([power * distance**2, *kept])
        return made | {"bound": bound, "definitions": {names[2]: ("steps", factor)}}

    def iterate_decaying_steps(self, _: object, arguments: Arguments, stated: dict) -> dict:
        """Conclude E|x_R - x*|^2 <= (s - 1)/(s + T - 1) |x_0 - x*|^2 + (b + c)/(s + T), T = K R, given s >= 2. With j =
        t + k the steps have P = 1 - 2/(s + j) and B = b/(s + j)^2. An end adds C = c/(s + t + K - 1)^2. With
        A_j <= (s - 1)/(s + j - 1) D + (b + c)/(s + j): P (s - 1)/(s + j - 1) <= (s - 1)/(s + j), and ((s + j - 2) +
        1)/(s + j)^2 <= 1/(s + j + 1)."""
        step, end, factor, added, more = self.of_steps(arguments)
        first = word("first", arguments["first"])
        conditions = self.conditions(step["where"])
        own, bounds = [c for c in conditions if c[0] == first], [b for *_, b in conditions if b is not None]
        free = own == [(first, "nonnegative", None)] and not any(self.proof.depends(b, first) for b in bounds)
        need(free, "rounds begin at any step")
        need(bool((ONE - factor).top) and "k" in self.proof.number, "a factor that is no 1 - 2/(s + j)")
        t, k, K = map(self.proof.name, (first, "k", "K"))
        s = self.steady(number(2) / (ONE - factor) - t - k, (first, "k"))
        b = self.steady(added * (s + t + k) ** 2, (first, "k"))
        c = self.steady(more * (s + t + K - ONE) ** 2, (first, "k"))
        self.proof.ask(step["where"], "what is added may be negative", b, c)
        size = self.proof.put(step["parameters"]["local_lr"], {first: t - k})
        names = self.letters_given(arguments, 2)
        sizes = {"local_lr": self.steady(size, ("k",)), "step_index": t}
        made = self.over_steps(step, end, names, (first, "k"), sizes)
        rounds, distance = map(self.proof.name, names)
        taken = rounds * K
        left = (s - ONE) / (s + taken - ONE) * distance**2
        bound = [left, *self.shared(b + c, ONE / (s + taken))]
        return made | {"bound": self.summed(bound), "given": [s - number(2)]}

    def bound_gap(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude E F(x_R) - F(x*) <= a times a bound on E|x_R - x*|^2, from a |x - x*|^2 - F(x) + F(x*) >= 0 given
        any round's start, a >= 0, on a region that has the bound's."""
        (theorem,) = (self.theorem_at(n) for n in listed("others", arguments["others"], 1))
        need(theorem["context"] == "start" and not theorem["kind"], "allowed is what is given a round's start")
        need(premise["functional"] == "final_squared_distance", "allowed is a bound on the final distance")
        need(not theorem["parameters"], "a theorem on F that is of an algorithm")
        factor = theorem["form"].get(inner(START_POINT, START_POINT), ZERO)
        gap = {("value", "M", START_POINT): ONE, ("value", "M", OPTIMUM): MINUS}
        form = sum_of_forms((squared(AT_START, AT_OPTIMUM), factor), (gap, MINUS))
        need(theorem["form"] == form, "no a |x - x*|^2 - F(x) + F(x*) >= 0")
        index = premise["parameters"].get("step_index", ZERO)
        factor = self.steady(factor, ("k", *(n for n in self.proof.names if self.proof.depends(index, n))))
        need(self.proof.within(premise["where"], theorem["where"]), "on a smaller region than the bound's")
        self.proof.ask(premise["where"], "a factor that may be negative", factor)
        kept = {"conditions": self.conditions(premise["where"]), "functional": "final_gap"}
        both = [*premise["assumptions"], *theorem["assumptions"]]
        return premise | kept | {"bound": self.summed(self.scalars(premise["bound"], factor)), "assumptions": both}


FIXED_KINDS = ("telescope kinds", "telescope periods", "iterate periods")
STARTS = (
    "iterate", "telescope", *FIXED_KINDS, *FROM_STEPS, *OF_WEIGHTS, *FROM_INTERVALS, *FROM_A_ROUND, *FROM_NOTHING,
)  # fmt: skip
OF_CHOICES = ("put error", "choose step", "choose by logarithm")
RUN_RULES = ("weaken", "enlarge", "define", "restrict", "by logarithm", "bound gap", *OF_CHOICES, *ON_INTERVALS)
"""Rules with which a chain of bounds begins, and those from the bound before."""


class RulesOfChoices(BoundRules):
    """Rules that put a bound in the place of the weights' error, and that choose a step."""

    def alone(self, bound: dict, parameter: str) -> str:
        """Return the name of a parameter's letter that is in the right side, in what is given, in its own condition and
        nowhere else."""
        need(parameter in bound["parameters"], f"{parameter}: no parameter")
        name = self.letter_of(bound["parameters"][parameter])
        others = [*self.said_besides(bound, parameter), *(of for _, of in bound["definitions"].values())]
        need(bool(name) and not any(self.proof.depends(c, name) for c in others), f"{parameter}: no letter of its own")
        return name

    def put_error(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the right side with a bound on the weights' mean error in its place, for runs of as many rounds."""
        (number_of,) = listed("others", arguments["others"], 1)
        error = self.bounds[whole("a bound", number_of, 0, len(self.bounds) - 1)]
        names = premise["functional"], error["functional"]
        need(names == ("average_squared_gradient", "average_weight_error") and not error["given"], "other bounds")
        letter = self.alone(premise, "weight_error")
        rounds = self.letter_of(premise["parameters"].get("rounds", ZERO))
        own = {c[0]: c for c in self.conditions(premise["where"])}
        more = {c[0]: c for c in self.conditions(error["where"])}
        need(bool(rounds) and error["parameters"].get("rounds") == self.proof.name(rounds), "of other rounds")
        need(rounds in own and own[rounds] == more.get(rounds), "another condition on the rounds")
        taken = {*own, *premise["definitions"]} - {rounds}
        need(not taken & {*more, *error["definitions"]}, "letters of both bounds")
        need(letter in own and own[letter][1] == "nonnegative", "a condition on the error")
        need(not any(self.proof.depends(g, letter) for g in premise["given"]), "the error in what is given")
        total: list = []
        for scalar in self.scalars(premise["bound"]):
            parts = self.by_power(scalar, letter)
            need(set(parts) <= {0, 1}, "allowed is what is linear in the error")
            total += [parts[0]] if 0 in parts else []
            if 1 in parts:
                self.asked(premise["known"], "a right side that may fall with the error", parts[1])
                total += self.scalars(error["bound"], parts[1])
        given = {n: v for n, v in premise["parameters"].items() if n != "weight_error"}
        kept = [c for c in own.values() if c[0] != letter]
        return self.same(
            premise,
            bound=self.summed(total),
            definitions=premise["definitions"] | error["definitions"],
            assumptions=[*premise["assumptions"], *error["assumptions"]],
            parameters=together(given, error["parameters"]),
            conditions=[*(c for c in more.values() if c[0] != rounds), *kept],
        )

    def choose_step(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude what a/x + b + c x + d x^2 is at most for the largest x with x^2 S <= A for all pairs: with w =
        sqrt(A_1 S_1) it is (a/A_1 + s) w + a (sum of inverses) + b + d A_1/S_1, s S_1 >= c, as S_1 x <= w; and the pair
        with equality has A > 0, so that 1/x is w/A_1 or at most an inverse r >= 0, r^2 A >= S. What is asked of x as p
        - m x >= 0 holds by a pair with S > 0 and m^2 A <= p^2 S."""
        read, where, parameter = self.proof.scalar, stated["where"], word("parameter", arguments["parameter"])
        x = self.alone(premise, parameter)
        own = self.conditions(premise["where"])
        need(self.conditions(where) == [c for c in own if c[0] != x], "another region than without the step")
        pairs = [tuple(map(read, listed("an entry", e, 2))) for e in listed("entries", arguments["entries"], most=10)]
        need(bool(pairs), "allowed is one entry at least")
        self.asked(where, "an entry that may be negative", *(part for entry in pairs for part in entry))
        ((kind, cap),) = [(c[1], c[2]) for c in own if c[0] == x]
        need(kind in ("positive", "capped"), f"{x}: allowed is a step > 0, or one with a cap")
        of_x = [g for g in premise["given"] if self.proof.depends(g, x)]
        for asked in [*([cap - self.proof.name(x)] if kind == "capped" else []), *of_x]:
            parts = self.by_power(asked, x)
            p, m = parts.get(0, ZERO), -parts.get(1, ZERO)
            need(set(parts) <= {0, 1}, "what is asked of the step is not linear in it")
            self.asked(where, "a cap that may be negative", p, m)
            caps = [p**2 * S - m**2 * A for A, S in pairs if self.proof.never_zero(S.top, where)]
            need(any(self.proof._nonnegative(c, where) for c in caps), "a cap that the choice may exceed")
        by_x: dict = {}
        for scalar in self.scalars(premise["bound"]):
            less, times_x = self.divided_by(scalar, x)
            for power, part in self.by_power(times_x, x).items():
                by_x.setdefault(power - less, []).append(part)
        sums = {power: functools.reduce(operator.add, parts, ZERO) for power, parts in by_x.items()}
        need(set(sums) <= {-1, 0, 1, 2}, "allowed is a/x + b + c x + d x^2")
        a, c, d = (sums.get(power, ZERO) for power in (-1, 1, 2))
        A, S = pairs[0]
        share, inverses = read(arguments["share"]), [*map(read, listed("inverses", arguments["inverses"], most=10))]
        stated_where = self.region_without(premise["known"], x)
        self.asked(stated_where, "a summand that may be negative", a, c, d, share, share * S - c)
        total, root, definitions = list(by_x.get(0, [])), word("root", arguments["root"]), premise["definitions"]
        ratio = read(arguments["ratio"])
        need(ratio * A == a, "ratio: allowed is a/A_1")
        self.asked(stated_where, "a summand that may be negative", ratio)
        lead = share + ratio
        if d.top:
            need(self.proof.never_zero(S.top, where), "an entry that may bound no step")
            total.append(d * A / S)
        if a.top:
            need(len(inverses) == len(pairs) - 1, "allowed is one inverse for each further entry")
            for r, (above, below) in zip(inverses, pairs[1:], strict=True):
                self.asked(where, "an inverse that may be too small", r, r**2 * above - below)
                total.append(a * r)
        need(bool(lead.top) or not root, "a letter for no root")
        if lead.top:
            need(root in self.proof.number and root not in {*definitions, *(c[0] for c in own)}, "no new letter")
            total.append(lead * self.proof.name(root))
            definitions = definitions | {root: ("root", A * S)}
        parameters = {n: v for n, v in premise["parameters"].items() if n != parameter}
        for i, (above, below) in enumerate(pairs):
            parameters |= {f"{parameter} above {i}": above, f"{parameter} below {i}": below}
        return self.same(
            premise,
            bound=self.summed(total),
            given=[g for g in premise["given"] if not self.proof.depends(g, x)],
            definitions=definitions,
            parameters=parameters,
            conditions=self.conditions(where),
        )

    def choose_by_logarithm(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude what exp(-A x) D + b x + d is at most for x the least of l/A, l = log(max(Y, 1)), and of a cap:
        exp(-A cap) D + D/Y + b l/A + d, as x <= l/A and exp(-l) <= 1/Y; where Y <= 0, D = (D/Y) Y is 0."""
        parameter, known = word("parameter", arguments["parameter"]), premise["known"]
        of, cap, quotient = (self.proof.scalar(arguments[n]) for n in ("of", "cap", "quotient"))
        logarithm, decay = self.letters_given(arguments, 2)
        x = self.letter_of(premise["parameters"].get(parameter, ZERO))
        again = any(name.startswith(f"{parameter} least ") for name in premise["parameters"])
        need(not again, f"{parameter}: chosen already, by what another choice would replace")
        need(any(c[0] == x for c in self.conditions(premise["where"])), f"{parameter}: no letter")
        falling = [n for n, (_, value) in premise["definitions"].items() if self.proof.depends(value, x)]
        sorts = [premise["definitions"][n][0] for n in falling]
        need(sorts == ["exponential"], "allowed is one exponential of the step")
        by_x = self.by_power(premise["definitions"][falling[0]][1], x)
        need(set(by_x) == {1}, "an exponent that is no multiple of the step")
        A, total, data = by_x[1], [], []
        for scalar in self.scalars(premise["bound"]):
            for power, part in self.by_power(scalar, falling[0]).items():
                need(power <= 1, "a power of the exponential")
                for times, factor in self.by_power(part, x).items():
                    need(times + power <= 1, "allowed is exp(-A x) D + b x + d")
                    data += [factor] if power else []
                    if times:
                        self.asked(known, "a summand that may be negative", factor)
                    if not power:
                        total.append(factor * self.proof.name(logarithm) / A if times else factor)
        D = functools.reduce(operator.add, data, ZERO)
        need(quotient * of == D and bool(of.top), "quotient: allowed is D/Y")
        need(not any(self.proof.depends(each, x) for each in (of, cap, quotient)), "the step in what it is chosen by")
        self.asked(known, "a summand that may be negative", A, D, cap, quotient)
        need(self.proof.never_zero(A.top, known), "a rate that may be 0")
        taken = {*premise["definitions"], *(c[0] for c in self.conditions(premise["where"]))} - {falling[0]}
        need(len({logarithm, decay} - taken) == 2 and {logarithm, decay} <= {*self.proof.names}, "letters in use")
        kept = {n: d for n, d in premise["definitions"].items() if n != falling[0]}
        entries = {f"{parameter} least 0": self.proof.name(logarithm) / A, f"{parameter} least 1": cap}
        return self.same(
            premise,
            bound=self.summed([*(part * self.proof.name(decay) for part in data), quotient, *total]),
            definitions=kept | {logarithm: ("gain", of), decay: ("exponential", A * cap)},
            parameters=premise["parameters"] | entries,
        )

    def check_least(self, parameter: str, last: dict, choices: dict) -> None:
        """Raise unless the claim chooses a parameter as the least of the same scalars."""
        entries = [value for n, value in last["parameters"].items() if n.startswith(f"{parameter} least ")]
        own = [self.of_tree(e) for e in self.parts(self.tree(choices.get(parameter, "0")), "Min")]
        same = all(e in own for e in entries) and all(e in entries for e in own)
        need(same, f"{parameter}: chosen otherwise than by the claim")

    def divided_by(self, scalar: Scalar, letter: str) -> tuple[int, Scalar]:
        """Return (p, s) of a scalar that is s/x^p, where s does not divide by x."""
        index = self.proof.number[letter]
        found = {power_of(key, index) for key in scalar.bottom}
        need(len(found) == 1, f"a division by what depends on {letter}")
        (power,) = found
        return power, Scalar(scalar.top, {key - power * place(index): c for key, c in scalar.bottom.items()})

    def region_without(self, region: int, name: str) -> int:
        """Return a region without the condition on a letter."""
        self.proof.regions.append([c for c in self.conditions(region) if c[0] != name])
        return len(self.proof.regions) - 1

    def entries_of(self, parameter: str, last: dict) -> list:
        """Return the pairs by which a parameter is chosen."""
        of = last["parameters"]
        pairs: list[tuple] = []
        while f"{parameter} above {len(pairs)}" in of:
            pairs.append((of[f"{parameter} above {len(pairs)}"], of[f"{parameter} below {len(pairs)}"]))
        return pairs

    def check_choice(self, parameter: str, last: dict, choices: dict) -> None:
        """Raise unless the claim chooses a parameter as it was chosen: as the least of y >= 0 with y^2 S = A."""
        pairs, parts = self.entries_of(parameter, last), PRODUCTS.get(parameter, (parameter,))
        trees = [self.tree(choices.get(part, "0")) for part in parts]
        chosen = trees[-1]
        if len(trees) == 2:  # x y of x, and y = (...)/x
            over = isinstance(chosen, ast.BinOp) and isinstance(chosen.op, ast.Div)
            need(over and ast.dump(chosen.right) == ast.dump(trees[0]), f"{parameter}: not chosen as a whole")
            chosen = chosen.left
        for entry in self.parts(chosen, "Min"):
            factor, radicand = self.surd(entry)
            fits = [e for e in pairs if bool(e[1].top) and factor**2 * radicand * e[1] == e[0]]
            need(bool(fits), f"{parameter}: chosen otherwise than by the claim")
            need(self.is_at_least_0(factor, last["known"]), f"{parameter}: an entry that may be negative")
            pairs.remove(fits[0])
        need(not pairs, f"{parameter}: the claim has fewer entries")


class ClaimOfRuns(RulesOfSteps, RulesOfWeights, RulesOfIntervals, RulesOfChoices, BoundsOnAnswers):
    """Bounds of a file on a functional of whole runs, each from the one before it, the first from the last theorem; and
    the claim that the last one is."""

    def __init__(self, proof: Proof, given: dict) -> None:
        self.proof, self.bounds, self.data, self.chosen, self.roots = proof, [], (), {}, []
        lines = listed("bounds", given["bounds"], most=100)
        fit(bool(lines), "bounds: allowed is at least one")
        for at, line in enumerate(lines):
            proof.at = f"bound {at}"
            with _named(proof.at):
                self.bounds.append(self.checked(line))

    def read(self, letters: object, claim: object, digest: object, roots: object) -> None:
        """Read the claim and raise unless the last bound is it."""
        with _named("claim"):
            self.roots = [self.proof.scalar(each) for each in listed("roots", roots, most=40)]
            known = self.bounds[-1]["known"]
            need(all(self.is_at_least_0(y, known) for y in self.roots), "a root that may be negative")
            self.compare(self.words(letters, claim, digest))

    def words(self, letters: object, claim: object, digest: object) -> dict:
        """Read what letters stand for and what the claim says; return the parts of it that are tables."""
        self.letters = {n: word("a letter", q) for n, q in keyed("letters", letters).items()}
        self.claim = seen(keys("a claim", claim, CLAIM_FIELDS))
        written = json.dumps([self.letters, self.claim], sort_keys=True, separators=(",", ":"))
        need(hashlib.sha256(written.encode()).hexdigest() == digest, "its text is not that of its digest")
        for part in ("id", "edition", "source", "algorithm", "functional"):
            word(part, self.claim[part])
        every = listed("assumptions", self.claim["assumptions"], most=100)
        self.assumed = [word("an assumption", each) for each in every]
        fit(set(self.letters) <= {*self.proof.names}, "letters: allowed are the names of the file")
        fit(len(set(self.letters.values())) == len(self.letters), "letters: two for one quantity")
        return {part: keyed(part, self.claim[part]) for part in ("terms", "choices", "hypotheses", "readings")}

    # bounds

    def checked(self, line: object) -> dict:
        """Return the bound that a line states, after checking that its rule concludes it."""
        stated = dict(keys("a bound", line, BOUND_FIELDS))
        read, where = self.proof.scalar, whole("where", stated["where"], 0, len(self.proof.regions) - 1)
        word("functional", stated["functional"]), word("kind", stated["kind"], KINDS)
        defined = [listed("a definition", each, 3) for each in listed("definitions", stated["definitions"], most=10)]
        pairs = [listed("an assumption", each, 2) for each in listed("assumptions", stated["assumptions"], most=100)]
        stated |= {
            "given": [read(c) for c in listed("given", stated["given"], most=40)],
            "definitions": {word("a letter", n): (word("a sort", sort, SORTS), read(c)) for n, sort, c in defined},
            "assumptions": [(word("an assumption", n), None if c is None else read(c)) for n, c in pairs],
            "parameters": {n: read(c) for n, c in keyed("parameters", stated["parameters"]).items()},
        }
        fit(len(stated["definitions"]) == len(defined), "a letter defined twice")
        rule = word("rule", stated["rule"], (*STARTS, *RUN_RULES))
        first = rule in STARTS
        if first:
            self.data = tuple(self.nonnegative_letters(where))
        stated["bound"] = self.summed(map(read, listed("bound", stated["bound"], most=40)))
        need(first or bool(self.bounds), f"{rule}: allowed is a rule that begins first")
        stated["known"] = self.region_with_facts(where, stated["definitions"])
        arguments = Arguments(keyed("arguments", stated["arguments"]))
        before = self.proof.theorems if first else self.bounds
        last = before[-1] if before else None
        alone = rule in FROM_NOTHING
        need((last is None) == alone, f"{rule}: allowed is {'no' if alone else 'a'} theorem before it")
        found = getattr(self, rule.replace(" ", "_"))(last, arguments, stated)
        fit(arguments.keys() == arguments.asked, f"{rule}: arguments that the rule does not have")
        concludes(rule, stated, found, ("functional", "kind", "given", "definitions", "parameters"))
        need(self.equal(stated["bound"], found["bound"]), f"{rule}: the file's bound is not what the rule concludes")
        stated["of_paths"] = found.get("of_paths", False)
        need(self.conditions(where) == found["conditions"], f"{rule}: the file's region is not what the rule concludes")
        self.closed(stated, where)
        return stated

    def ask_all(self, region: int, why: str, scalars: Iterable) -> None:
        """Ask that a right side is >= 0 on a region: each part where all data are >= 0 there, else the sum."""
        parts = self.summed(scalars)
        apart = set(self.data) <= self.nonnegative_letters(region)
        every = parts.values() if apart else [functools.reduce(operator.add, self.scalars(parts), ZERO)]
        self.proof.ask(region, why, *every)

    def region_with_facts(self, where: int, definitions: dict) -> int:
        """Return the region with what is known of defined letters: 0 <= P^R <= 1 if 0 <= P <= 1, 0 < exp(-X) <= 1 if X
        >= 0."""
        facts: list[tuple] = []
        numbers: list[tuple] = []
        for name, (sort, of) in definitions.items():
            if sort == "gain":
                facts.append((name, "nonnegative", None))
                continue
            self.proof.ask(where, f"{name}: of what may be too small", of - ONE if sort == "log" else of)
            if sort in ("power", "steps", "tail", "decay"):
                self.proof.ask(where, f"{name}: a {sort} of what may be above 1", ONE - of)
            if sort == "log" and not of.letters:
                numbers.append((name, "at_least", ONE - ONE / of))  # log n >= 1 - 1/n
                continue
            logs = [(n, x) for n, (other, x) in definitions.items() if sort == other == "log"]
            below = [n for n, x in logs if self.is_below(x, of, where)]
            if below:
                facts.append((name, "at_least", self.proof.name(below[0])))
            elif sort in ("log", "decay", "root"):
                facts.append((name, "nonnegative", None))
            else:
                facts.append((name, "capped" if sort == "exponential" else "interval", of if sort == "tail" else ONE))
        facts += numbers
        self.proof.regions.append([*facts, *self.conditions(where)])
        return len(self.proof.regions) - 1

    def is_below(self, x: Scalar, of: Scalar, where: int) -> bool:
        """Whether a number is shown to be at most another scalar."""
        return not x.letters and x != of and self.proof._nonnegative(of - x, where)

    def closed(self, stated: dict, where: int) -> None:
        """Raise unless all letters are of the region or defined, each once, and nothing is divided by what may be 0."""
        number, known = self.proof.number, stated["known"]
        free = {number[c[0]] for c in self.conditions(where)}
        defined = {number[n] for n in stated["definitions"]}
        need(not free & defined, "a defined letter of which the region says something")
        gains = [of for sort, of in stated["definitions"].values() if sort == "gain"]
        inside = [*stated["given"], *(of for sort, of in stated["definitions"].values() if sort != "gain")]
        need(all(c.letters <= free and c.bottom for c in gains), "a letter of nothing")
        every = free | defined
        for scalar, letters in [*((c, free) for c in inside), *((c, every) for c in self.scalars(stated["bound"]))]:
            need(scalar.letters <= letters, "a letter of which nothing is said")
            need(self.proof.never_zero(scalar.bottom, known), "a division by what may be 0")
        for scalar in (*stated["parameters"].values(), *(c for _, c in stated["assumptions"] if c is not None)):
            need(scalar.letters <= every, "a parameter by what nothing is said of")

    def of_rounds(self, theorem: dict, names: list, functional: str, bound: list, definitions: dict) -> dict:
        """Return the bound on runs whose every round is as a theorem says, with the letters of a run's parameters."""
        rounds, start = names[0], names[1]
        conditions = self.conditions(theorem["where"])
        self.unused(names, conditions)
        begins = "initial_distance" if functional == "final_squared_distance" else "initial_gap"
        of = theorem["parameters"] | {"rounds": self.proof.name(rounds), begins: self.proof.name(start)}
        conditions = [(rounds, "count", None), (start, "nonnegative", None), *conditions]
        kind = theorem["kind"] if theorem["context"] == "kind" else ""
        said = {"functional": functional, "kind": kind, "definitions": definitions, "bound": self.summed(bound)}
        return self.bound_of(conditions, theorem["assumptions"], of, **said)

    def iterate(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude E|x_R - x*|^2 <= P^R |x_0 - x*|^2 + B (1 - P^R)/(1 - P) from a contraction by P in [0, 1), and B >=
        0, in every round: after r + 1 rounds it is at most P (P^r D + B (1 - P^r)/(1 - P)) + B, the same with r + 1."""
        factor, added = self.contracts(theorem)
        names = self.letters_given(arguments, 3)
        power, start = self.proof.name(names[2]), self.proof.name(names[1])
        kept = self.shared(added, (ONE - power) / (ONE - factor))
        bound = [power * start**2, *kept]
        return self.of_rounds(theorem, names, "final_squared_distance", bound, {names[2]: ("power", factor)})

    def contracts(self, theorem: dict) -> tuple[Scalar, Scalar]:
        """Return (P, B) of P |x - x*|^2 + B - E|x+ - x*|^2 >= 0 with P in [0, 1) and B >= 0, in every round."""
        self.every_round(theorem)
        factor, added = self.nears(theorem, AT_START, ("", NEXT))
        self.below_1(theorem["where"], factor)
        return factor, added

    def telescope(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude that the mean over r < R of E|grad F(x_r)|^2 is at most (F(x_0) - inf F)/(c R) + B/c from E F(x+) <=
        F(x) - c |grad F(x)|^2 + B in every round, c > 0 and B >= 0: added up, F(x_R) >= inf F is left."""
        fall, added = self.falls(theorem)
        names = self.letters_given(arguments, 2)
        bound = self.telescoped(names[0], names[1], fall, added)
        return self.of_rounds(theorem, names, "average_squared_gradient", bound, {})

    def telescope_kinds(self, clients: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the same from theorems on the clients' rounds and on the server's with the same c, of which q R and
        (1 - q) R are in a run, or are in expectation: what is added is q B + (1 - q) B_s in the mean."""
        (number_of,) = listed("others", arguments["others"], 1)
        clients, server = self.theorem_at(arguments["theorem"]), self.theorem_at(number_of)
        (fall, added), (other, by_server) = self.falls(clients), self.falls(server)
        kinds = (clients["context"], clients["kind"]), (server["context"], server["kind"])
        need(kinds == (("kind", "arbitrary"), ("kind", "server")) and fall == other, "of other kinds, or another fall")
        need(self.proof.within(clients["where"], server["where"]), "on another region")
        q, one, two = self.proof.scalar(arguments["probability"]), server["parameters"], clients["parameters"]
        self.proof.ask(clients["where"], "no share", q, ONE - q)
        need("server_lr" in one and "size" in two, "of other rounds")
        of = together(one, two)
        of = together(of, {"arbitrary_cohort": of.pop("size"), "client_round_probability": q})
        names = self.letters_given(arguments, 2)
        both = self.telescoped(names[0], names[1], fall, *self.shared(added, q))
        both += self.shared(by_server, (ONE - q) / fall)
        made = self.of_rounds(clients, names, "average_squared_gradient", both, {})
        kept = {name: value for name, value in made["parameters"].items() if name not in two}
        said = [*clients["assumptions"], *server["assumptions"], ("shares_of_client_rounds", q)]
        return made | {"kind": "", "parameters": of | kept, "assumptions": said}

    def telescope_periods(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the same from a theorem for every probability q of a snapshot, where the rounds 0, I, 2I, ... are:
        of R rounds at most R/I + 1 - 1/I, with B(1), and at most (1 - 1/I) R others, with B(0)."""
        (fall, added), names = self.falls(theorem), self.letters_given(arguments, 3)
        rounds, start, period = map(self.proof.name, names)
        own = ONE / period
        parts = zip(self.of_kinds(theorem, added, fall), (own + (ONE - own) / rounds, ONE - own), strict=True)
        bound = [start / (fall * rounds), *(c for part, share in parts for c in self.shared(part, share / fall))]
        return self.of_periods(theorem, names, "average_squared_gradient", bound, {})

    def iterate_periods(self, theorem: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude a contraction's bound likewise: of the weights P^(R - 1 - r) those of snapshots sum to at most (1/I
        + (1 - 1/I) (1 - P))/(1 - P), as each is at most those of the I - 1 rounds after it, the last of which may lack;
        those of others to at most (1 - 1/I) (2 - P)/(1 - P), as a snapshot's is at least those of the I - 1 before
        it."""
        (factor, added), names = self.contracts(theorem), self.letters_given(arguments, 4)
        _, start, period, power = map(self.proof.name, names)
        own, fall = ONE / period, ONE - factor
        shares = own + (ONE - own) * fall, (ONE - own) * (ONE + fall)
        parts = zip(self.of_kinds(theorem, added, fall), shares, strict=True)
        bound = [power * start**2, *(c for part, share in parts for c in self.shared(part, share / fall))]
        return self.of_periods(theorem, names, "final_squared_distance", bound, {names[3]: ("power", factor)})

    def snapshot_letter(self, theorem: dict) -> str:
        """Return the letter of a snapshot's probability, any in [0, 1], on which nothing else depends."""
        found = [q for name, q in theorem["assumptions"] if name == "random_kinds"]
        need(len(found) == 1 and theorem["context"] == "start", "no theorem for every probability of a snapshot")
        letter = self.letter_of(found[0])
        need((letter, "interval", ONE) in self.conditions(theorem["where"]), "of no every probability")
        others = self.said_besides(theorem, "random_kinds", "probability")
        need(not any(self.proof.depends(c, letter) for c in others), "something else depends on the probability")
        return letter

    def of_kinds(self, theorem: dict, added: Scalar, fall: Scalar) -> tuple[Scalar, Scalar]:
        """Return what is added in a snapshot, and in another round, which fall alike."""
        letter = self.snapshot_letter(theorem)
        need(not self.proof.depends(fall, letter), "a fall that depends on the kind of round")
        return self.proof.put(added, {letter: ONE}), self.proof.put(added, {letter: ZERO})

    def of_periods(self, theorem: dict, names: list, functional: str, bound: list, definitions: dict) -> dict:
        """Return the bound for every I-th round a snapshot."""
        letter, period = self.snapshot_letter(theorem), self.proof.name(names[2])
        made = self.of_rounds(theorem, names, functional, bound, definitions)
        said = [a for a in theorem["assumptions"] if a[0] != "random_kinds"]
        parameters = {name: value for name, value in made["parameters"].items() if name != "probability"}
        (rounds, start, *kept), sort = made["conditions"], (names[2], "count", None)
        return made | {
            "assumptions": [*said, ("periodic_kinds", period)],
            "parameters": parameters | {"period": period},
            "conditions": [rounds, start, sort, *(c for c in kept if c[0] != letter)],
        }

    def weaken(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude a right side that is larger by multiples >= 0 of what is given to be >= 0 and of squares, and by a
        rest >= 0."""
        factors = [self.proof.scalar(c) for c in listed("multipliers", arguments["multipliers"])]
        fit(len(factors) in (0, len(premise["given"])), "multipliers: allowed is one for each expression that is given")
        known, less = premise["known"], self.scalars(premise["bound"])
        pairs = list(zip(factors, premise["given"], strict=bool(factors)))
        for pair in listed("squares", arguments["squares"], most=20) if "squares" in arguments else []:
            factor, root = map(self.proof.scalar, listed("a square", pair, 2))
            need(self.proof.never_zero(root.bottom, known), "a square that divides by what may be 0")
            pairs.append((factor, root**2))
        for factor, taken in pairs:
            need(self.proof.never_zero(factor.bottom, known), "a multiplier that divides by what may be 0")
            self.ask_all(known, "a multiplier that may be negative", [factor])
            less += self.shared(factor, taken)
        rest = [*self.scalars(stated["bound"]), *(-each for each in less)]
        self.ask_all(known, "a right side that may be smaller", rest)
        spoken = [*self.scalars(stated["bound"]), *premise["parameters"].values()]
        occurs = {i for c in spoken for i in c.letters}
        kept = {n: d for n, d in premise["definitions"].items() if self.proof.number[n] in occurs}
        return self.same(premise, bound=stated["bound"], definitions=kept)

    def enlarge(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the right side with a larger number for a defined letter, whose factors in it are all >= 0: P^R <=
        Q^R if P <= Q, P^R <= exp(-X) if X <= R (1 - P), exp(-Y) <= exp(-X) if X <= Y."""
        letter, name = word("letter", arguments["letter"]), word("name", arguments["name"])
        old = premise["definitions"].get(letter)
        new = word("sort", arguments["sort"], SORTS), self.proof.scalar(arguments["of"])
        need(old is not None and name not in premise["definitions"], "a letter that is not defined, or defined twice")
        rounds = premise["parameters"].get("rounds", ZERO)
        gain = {
            ("log", "log"): new[1] - old[1],
            ("power", "power"): new[1] - old[1],
            ("power", "exponential"): rounds * (ONE - old[1]) - new[1],
            ("exponential", "exponential"): old[1] - new[1],
        }.get((old[0], new[0]))
        if gain is None:
            raise Wrong(f"{name} is of no sort that is known to be larger than {letter}")
        self.proof.ask(premise["where"], f"{name} may be smaller than {letter}", gain)
        total = []
        for scalar in self.scalars(premise["bound"]):
            for power, part in self.by_power(scalar, letter).items():
                if power:
                    self.ask_all(premise["known"], "a factor that may be negative", [part])
                total.append(part * self.proof.name(name) ** power)
        kept = {n: d for n, d in premise["definitions"].items() if n != letter}
        return self.same(premise, bound=self.summed(total), definitions=kept | {name: new})

    def define(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the same, with a letter for the logarithm of a number."""
        letter, of = word("letter", arguments["letter"]), self.proof.scalar(arguments["of"])
        taken = {*premise["definitions"], *(c[0] for c in self.conditions(premise["where"]))}
        fit(letter in self.proof.number, "letter: no name")
        need(letter not in taken and not of.letters, "allowed is a number's logarithm")
        return self.same(premise, definitions=premise["definitions"] | {letter: ("log", of)})

    def restrict(self, premise: dict, arguments: Arguments, stated: dict) -> dict:
        """Conclude the premise with scalars in the places of letters, on a region where its conditions hold, and with
        more that is given to be >= 0."""
        values = {name: self.proof.scalar(c) for name, c in keyed("values", arguments["values"]).items()}
        where, rounds = stated["where"], premise["parameters"].get("rounds", ZERO)
        fixed = {"k", "K", *premise["definitions"]}
        sorts = {sort for sort, _ in premise["definitions"].values()}
        exponents = [premise["parameters"].get("step_index", ZERO)]  # a step's number is any in the run
        exponents += [rounds] if sorts & {"power", "steps"} else []
        exponents += [premise["parameters"]["cutoff"]] if "tail" in sorts else []
        fixed |= {self.proof.names[i] for c in exponents for i in c.letters}
        why = "values: allowed are letters that are not defined, no exponent, and no step's number"
        need(set(values) <= {*self.proof.names} - fixed, why)
        for value in values.values():
            need(self.proof.never_zero(value.bottom, where), "a value divides by what may be 0")
        more = listed("factors", arguments["factors"], most=20) if "factors" in arguments else []
        factors = [ONE, *map(self.proof.scalar, more)]
        more = listed("rests", arguments["rests"], most=20) if "rests" in arguments else []
        rests = [*map(self.proof.scalar, more)]
        self.asked(where, "a factor that may be negative", *factors, *rests)
        for condition in self.conditions(premise["where"]):
            for scalar, strict in self.proof.conditions(*condition):
                changed, why = self.proof.put(scalar, values), f"the condition on {condition[0]} is not met"
                pairs = ((f * c, rest) for c in stated["given"] for f in factors for rest in (ZERO, *rests))
                if not any(changed == c + rest for c, rest in pairs):
                    self.proof.ask(where, why, changed)
                need(not strict or self.proof.never_zero(changed.top, where), why)
        for each in (self.proof.put(c, values) for c in premise["given"]):
            if not any(each == c or self.proof._nonnegative(each - c, where) for c in stated["given"]):
                self.proof.ask(where, "a condition given no more", each)
        put = {n: (sort, self.proof.put(of, values)) for n, (sort, of) in premise["definitions"].items()}
        return self.same(
            premise,
            given=stated["given"],
            definitions=put,
            assumptions=[(n, None if c is None else self.proof.put(c, values)) for n, c in premise["assumptions"]],
            parameters={n: self.proof.put(c, values) for n, c in premise["parameters"].items()},
            bound=self.summed(self.proof.put(c, values) for c in self.scalars(premise["bound"])),
            conditions=self.conditions(where),
        )

    # the claim

    def compare(self, words_of: dict) -> None:
        """Raise unless the last bound is the claim: what it bounds, its right side, and nothing asked that the claim
        does not ask."""
        last, claim = self.bounds[-1], self.claim
        inside = (q[len("log(1/") : -1] if q.startswith("log(1/") else q for q in self.letters.values() if q != WITHIN)
        parts = {part for q in inside for part in q.split(" - ", 1)}
        fit(parts <= QUANTITIES.keys(), f"letters: allowed are {', '.join(QUANTITIES)}")
        self.letters = {n: q for n, q in self.letters.items() if n not in last["definitions"]}  # which stand for that
        need(self.letters.get("K", "local_steps") == "local_steps", "K stands for local_steps")
        need("k" not in self.letters, "the step k stands for no quantity")
        self.chosen = self.in_place(words_of["choices"], words_of["hypotheses"])
        same = claim["functional"] == last["functional"] or last["functional"] == "value"
        need(same, f"what is bounded is {last['functional']}")
        total = self.summed(part for text in words_of["terms"].values() for part in self.values(self.tree(text)))
        need(self.equal(total, last["bound"]), "its right side is not what is proved")
        last = last | {"bound": total}  # as the claim writes it: by what it divides, that is not 0
        slacks = [slack for text in words_of["hypotheses"].values() for slack in self.sayable(text)]
        self.check_region(last, slacks)
        self.check_assumptions(last, words_of["readings"], slacks)
        self.check_rounds(last, slacks)

    def in_place(self, choices: dict, hypotheses: dict) -> dict:
        """Return what the claim has in the place of quantities: of two that are equal, as (a - b)^2 <= 0, the one for
        the other; the rounds A/x^2, or x^2/A, where x is chosen and x^2 is A/rounds, or A rounds; what is chosen."""
        self.chosen = {}
        for letter, q in self.letters.items():
            if " - " in q:
                large, small = q.split(" - ")
                need(large not in self.letters.values() and large not in self.chosen, f"{large}: twice")
                self.chosen |= {large: self.letter(small) + self.proof.name(letter)}
            if q == WITHIN:
                need("history" not in self.letters.values(), "history: twice")
                whole_part = self.letter("guaranteed_intervals") * self.letter("cutoff")
                self.chosen |= {"history": whole_part + self.proof.name(letter)}
        for text in hypotheses.values():
            names = sorted(names_in(self.tree(text)))
            if len(names) == 2 and {*names} <= {*self.letters.values()}:
                one, other = map(self.letter, names)
                if self.sayable(text) == [-((one - other) ** 2)]:
                    self.chosen |= {names[0]: other}
        read_by_bound = {n for n, text in choices.items() if self.is_logarithmic(n, text) or self.is_least(text)}
        made = {n: self.surd(self.tree(text)) for n, text in choices.items() if n not in read_by_bound}
        by_root = {name: a**2 * r for name, (a, r) in made.items() if r != ONE}
        for name, square in by_root.items():
            inside = {self.proof.names[i] for i in square.letters}
            roots = [q for q in ("rounds", "groups") if any(self.letters.get(n) == q for n in inside)]
            of = roots[0] if roots else "rounds"
            need(of not in self.chosen, f"two choices by roots of {of}")
            rounds, x = self.letter(of), self.letter(name) ** 2
            rest = self.proof.put(square, {self.letter_of(rounds): ONE})
            of_root = rest in (square * rounds, square / rounds)
            need(of_root, f"{name}: chosen by what is no root of {of}, or of 1/{of}")
            self.chosen |= {of: rest / x if rest == square * rounds else x / rest}
        plain = {name: a for name, (a, r) in made.items() if name not in by_root}
        used = {self.proof.names[i] for c in plain.values() for i in c.letters}
        need(not {self.letters.get(n) for n in used} & {*self.chosen, *plain}, "a choice by what others stand for")
        return self.chosen | plain

    def is_least(self, text: object) -> bool:
        """Whether a choice is made by a minimum, which ``check_choice`` compares."""
        calls = (node for node in ast.walk(self.tree(text)) if isinstance(node, ast.Call))
        return any(isinstance(call.func, ast.Name) and call.func.id == "Min" for call in calls)

    def letter(self, quantity: str) -> Scalar:
        """Return the letter that stands for a quantity, or what stands in its place."""
        if quantity in self.chosen:
            return self.chosen[quantity]
        found = [n for n, q in self.letters.items() if q == quantity]
        need(bool(found), f"no letter stands for {quantity[:60]!r}")
        return self.proof.name(found[0])

    def values(self, tree: ast.expr) -> list:
        """Return the summands of an expression in quantities, with defined letters for exponentials and powers."""
        match tree:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                others = self.values(right)
                return self.values(left) + (others if isinstance(op, ast.Add) else [-c for c in others])
        return [self.of_tree(tree)]

    def tree(self, text: object) -> ast.expr:
        """Return an expression's syntax tree."""
        fit(len(word("an expression", text)) <= 5000, "an expression too long")
        spend(20 + 3 * len(str(text)))
        fit(EXPRESSION.fullmatch(str(text)) is not None, f"unreadable: {ascii(text)[:60]}")
        try:
            return ast.parse(str(text), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Unfit(f"unreadable: {str(text)[:60]!r}") from None

    def of_tree(self, tree: ast.expr) -> Scalar:
        """Return the scalar of a syntax tree. A root is one of the file's, which are >= 0 and have the right square."""
        factor, radicand = self.surd(tree)
        if radicand == ONE:
            return factor
        found = [y for y in self.roots if self.squared_root(y) == radicand]
        need(bool(found), "a root that the file does not draw")
        return factor * found[0]

    def squared_root(self, y: Scalar) -> Scalar:
        """Return the square of a scalar in which a letter may be the root of another scalar."""
        for name, (sort, of) in self.bounds[-1]["definitions"].items():
            if sort == "root" and self.proof.depends(y, name):
                parts = self.by_power(y, name)
                return parts[1] ** 2 * of if set(parts) == {1} else y * y
        return y * y

    def surd(self, tree: ast.expr) -> tuple[Scalar, Scalar]:
        """Return (a, r) of a syntax tree that is a sqrt(r)."""
        spend(1)
        match tree:
            case ast.Constant(value=int(whole_number)) if type(whole_number) is int:
                fit(abs(whole_number) < 10 ** LARGEST["digits"], "a number of too many digits")
                return number(whole_number), ONE
            case ast.Name(id=name):
                return self.letter(name), ONE
            case ast.UnaryOp(op=ast.USub(), operand=part):
                a, r = self.surd(part)
                return -a, r
            case ast.BinOp(left=left, op=ast.Pow(), right=right) if sort := EXPONENTS.get(ast.unparse(right)):
                return self.defined(sort, self.of_tree(left)), ONE
            case ast.BinOp(left=left, op=ast.Pow(), right=right) if found := EXPONENT.fullmatch(ast.unparse(right)):
                minus, power, of_cutoff = found.groups()
                base = self.defined("tail", self.of_tree(left)) if of_cutoff else self.of_tree(left)
                need(not minus or bool(base.top), "a division by 0")
                raised = base ** whole("a power", int(power), 0, LARGEST["power"])
                return ONE / raised if minus else raised, ONE
            case ast.Call(func=ast.Name(id="log"), args=[part], keywords=[]):
                if isinstance(part, ast.Call) and (inside := self.parts(part, "Max")) != [part]:
                    (other,) = (each for each in inside if ast.unparse(each) != "1")
                    need(len(inside) == 2, "allowed is log(Max(1, x))")
                    return self.defined("gain", self.of_tree(other)), ONE
                whole_text = f"log({ast.unparse(part).replace(' ', '')})"
                return self.letter(whole_text) if whole_text in self.letters.values() else self.logarithm(part), ONE
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                b = self.of_tree(right)
                return self.of_tree(left) + (b if isinstance(op, ast.Add) else -b), ONE
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                (a, r), (b, s) = self.surd(left), self.surd(right)
                need(isinstance(op, ast.Mult) or bool(b.top and s.top), "a division by 0")
                return (a * b, r * s) if isinstance(op, ast.Mult) else (a / b, r / s)
            case ast.Call(func=ast.Name(id="exp"), args=[part], keywords=[]):
                return self.defined("exponential", -self.of_tree(part)), ONE
            case ast.Call(func=ast.Name(id="sqrt"), args=[part], keywords=[]):
                under = self.of_tree(part)
                drawn = any(self.squared_root(y) == under for y in self.roots) or self.surely(under, *AT_LEAST_0)
                known = drawn or self.proof._nonnegative(under, self.bounds[-1]["known"])
                need(known, "a root of what may be negative")
                return ONE, under
        raise Unfit(f"no sum, product, whole power, root, exp or power of the rounds: {ast.unparse(tree)[:60]}")

    def defined(self, sort: str, of: Scalar) -> Scalar:
        """Return the letter that is defined to be this power or exponential."""
        definitions = self.bounds[-1]["definitions"]
        found = [n for n, (its, value) in definitions.items() if its == sort and value == of]
        need(bool(found), f"a {sort} that is not what is proved")
        return self.proof.name(found[0])

    def sides(self, text: object) -> tuple[ast.expr, ast.expr]:
        """Return the lesser and the larger side of a hypothesis, an inequality between quantities."""
        tree = self.tree(word("a hypothesis", text))
        if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.LtE | ast.GtE)):
            raise Unfit(f"allowed is one inequality <= or >=, not {str(text)[:60]!r}")
        both = tree.left, tree.comparators[0]
        return both if isinstance(tree.ops[0], ast.LtE) else both[::-1]

    def slacks(self, text: object) -> list:
        """Return scalars that are all >= 0 where a hypothesis holds, an inequality between quantities."""
        small, large = self.sides(text)
        tops, bottoms = map(self.above, self.parts(large, "Min")), [*map(self.of_tree, self.parts(small, "Max"))]
        made = []
        for top in tops:
            spend(20 * len(bottoms))
            made += [top - bottom for bottom in bottoms]
        return [*made, *(cap for slack in made for cap in self.caps(slack))]

    def caps(self, slack: Scalar) -> list:
        """Return a slack a - b x divided by b, for each letter x for which b is seen to be > 0."""
        made = []
        for i in sorted(letters_of(slack.top) - letters_of(slack.bottom)):
            parts = split_by_power(slack.top, i)
            before = Scalar(minus(parts[max(parts)]), slack.bottom)
            if max(parts) == 1 and self.surely_positive(before):
                made.append(slack / before)
        return made

    def surely_positive(self, scalar: Scalar) -> bool:
        """Whether a scalar is > 0 as its coefficients are, and the quantities that its letters stand for."""
        return self.surely(scalar, "positive", "count")

    def surely(self, scalar: Scalar, *sorts: str) -> bool:
        """Whether a scalar's coefficients are all of one sign, and its letters stand for quantities of these sorts."""
        own = {QUANTITIES.get(self.letters.get(self.proof.names[i], ""), "real") for i in scalar.letters}
        return own <= {*sorts} and len({c > 0 for part in (scalar.top, scalar.bottom) for c in part.values()}) == 1

    def sayable(self, text: object) -> list:
        """Return the same, and nothing of a hypothesis that cannot be said in the letters: what holds without it holds
        with it."""
        try:
            return self.slacks(text)
        except Wrong as why:
            if isinstance(why, Unfit):
                raise
            return []

    def above(self, tree: ast.expr) -> Scalar:
        """Return a cap; a product >= 0 times the root of a whole number with the next 64th above in the root's place,
        as what is at most the cap is at most that."""
        a, r = self.surd(tree)
        if r == ONE or r.letters or r.top[0] % r.bottom[0]:
            return self.of_tree(tree)
        product = len(a.top) == len(a.bottom) == 1 and self.surely(a, *AT_LEAST_0)
        need(product, "a cap with the root of a number, that is no product >= 0")
        return a * number(Fraction(math.isqrt(4096 * (r.top[0] // r.bottom[0])) + 1, 64))

    def parts(self, tree: ast.expr, name: str) -> list:
        """Return the arguments of Min or Max, or the expression itself."""
        match tree:
            case ast.Call(func=ast.Name(id=found), args=arguments, keywords=[]) if found == name and arguments:
                return arguments
        return [tree]

    def check_region(self, last: dict, slacks: list) -> None:
        """Raise unless each condition is known of its quantity, or one of the claim's hypotheses."""
        spend(len(slacks) * len(self.conditions(last["where"])))
        for name, kind, bound in self.conditions(last["where"]):
            if name not in self.letters:
                need(self.is_share(name, kind, bound, last), f"{name}: a condition on what stands for no quantity")
                continue
            if self.letters[name].startswith("log(1/"):
                need(self.is_logarithm(name, kind, last), f"{name}: a logarithm that may be negative")
                continue
            if " - " in self.letters[name]:
                need(self.is_difference(name, kind, last, slacks), f"{name}: no hypothesis of the claim")
                continue
            if self.is_of_round(name, kind, bound, slacks) or self.is_of_draw(name, kind, bound, last):
                continue
            x, sort = self.proof.name(name), QUANTITIES.get(self.letters[name], "real")
            need(self.letters[name] != WITHIN, f"{name}: no round t = m C + r")
            slack = None if bound is None else x - bound if kind in ("at_least", "above") else bound - x
            hypothesis = slack is not None and any(slack == each for each in slacks)
            above = kind == "at_least" or (kind == "capped" and self.above_zero(name, last, slacks))
            above |= kind == "above" and bound is not None and self.tends(self.right_side(last), name, bound) == 1
            above |= kind == "interval" and sort != "real"
            curved = self.letters[name] == "smoothness" and kind == "at_least"
            curved = curved and bound == self.letter("strong_convexity")
            allowed = {
                "positive": kind == "positive" and self.above_zero(name, last, slacks),
                "nonnegative": sort != "real",
                "real": True,
                "count": sort == "count",
                "interval": sort == "probability" and bound == ONE,
                "capped": sort == "probability" and bound == ONE and self.above_zero(name, last, slacks),
                "at_least": curved and {"smooth(smoothness)", "strongly_convex(strong_convexity)"} <= {*self.assumed},
            }
            made = allowed.get(kind, False) or (hypothesis and above)
            need(made, f"{name}: a condition that the claim does not make")
        lowest = [c - ONE for name, c in self.chosen.items() if QUANTITIES.get(name) == "count"]
        for expression in last["given"]:
            need(any(expression == each for each in slacks + lowest), "given what is no hypothesis of the claim")

    def drawn(self, last: dict) -> str:
        """Return how the clients are drawn whose share is that of a bound, by one of ``DRAWS``, or ""."""
        share, known = last["parameters"].get("share", ZERO), {*self.letters.values()}
        if "arbitrary_cohort" not in known or ("independent_draws", None) not in last["assumptions"]:
            return ""
        S = self.letter("arbitrary_cohort")
        if share == ONE / S:
            return "by weight"
        if "clients" not in known:
            return ""
        N = self.letter("clients")
        return "uniformly" if share == (N - S) / (S * (N - ONE)) else ""

    def is_of_draw(self, name: str, kind: str, bound: Scalar | None, last: dict) -> bool:
        """Whether a condition says that a set of S of N clients has S <= N, or that N is not 1, where the claim divides
        by 0: with S = 1, too, it does not tend to -infinity."""
        if self.drawn(last) != "uniformly" or bound is None:
            return False
        if self.letters[name] == "clients":
            right, (drawn,) = self.right_side(last), [n for n, q in self.letters.items() if q == "arbitrary_cohort"]
            one = self.tends(self.proof.put(right, {drawn: ONE}), name, ONE)
            divides = self.tends(right, name, ONE) is not None and one in (None, 1)
            return kind == "at_least" and bound == number(2) and divides
        return self.letters[name] == "arbitrary_cohort" and kind == "capped" and bound == self.letter("clients")

    def is_share(self, name: str, kind: str, bound: Scalar | None, last: dict) -> bool:
        """Whether a letter is the share of a uniform draw, any number in [0, 1/size], and occurs nowhere else."""
        parameters, x = last["parameters"], self.proof.name(name)
        size = parameters.get("cohort", parameters.get("size"))
        if parameters.get("share") != x or kind != "interval" or size is None or bound != ONE / size:
            return False
        used = [*self.scalars(last["bound"]), *last["given"], *(of for _, of in last["definitions"].values())]
        return not any(self.proof.depends(c, name) for c in (*used, *self.said_besides(last, "share")))

    def check_assumptions(self, last: dict, read: dict, slacks: list) -> None:
        """Raise unless the claim makes all assumptions, with the quantities themselves, and is read as they say."""
        answers = last["functional"] in OF_ANSWERS
        known = {"flics": ("", "", {})} if answers else ALGORITHMS
        if last["functional"] in (*POINT_FUNCTIONALS, "value"):  # no algorithm has a part in it
            law = word("algorithm", self.claim["algorithm"])
        else:
            law, _, _ = known[word("algorithm", self.claim["algorithm"], tuple(known))]  # type: ignore[index]
        names = {n for n, _ in last["assumptions"]}
        asked = self.check_answers(last) if answers else {}
        for name, constant in last["assumptions"]:
            if name == "in_expectation":
                asked |= {"condition": "in expectation"} if "condition" in read else {}
            elif name == "scale_known_beforehand":
                (words,) = [n for n in KNOWN_SCALE if n in read] or [min(KNOWN_SCALE)]
                asked[words] = KNOWN_SCALE[words]
            elif name in ALTERNATING:
                of, quantity = ALTERNATING[name]
                need(of == self.claim["algorithm"], f"{name}: rounds of another algorithm")
                need(constant == self.letter(quantity), f"{name}: of another {quantity}")
                if name in READ_AS:
                    asked[READ_AS[name][0]] = READ_AS[name][1]
            elif name in READ_AS:
                need(name == "cohort_is_a_set" or not law, f"{name}: rounds of another algorithm")
                need(constant is None, f"{name}: with a constant")
                if name != "cohort_is_a_set" or "uniform_cohorts" in names:
                    asked[READ_AS[name][0]] = READ_AS[name][1]
            elif name == "full_participation":
                all_may = "everyone" in OF_STEPS.get(self.claim["algorithm"], ())
                everyone = self.letter("arbitrary_cohort") - self.letter("clients")
                need(all_may and any(everyone == each for each in slacks), "not everyone takes part")
                asked |= {"cohort": "everyone"} if "cohort" in read else {}
            elif name == "independent_draws" and self.claim["algorithm"] in OF_STEPS:
                who = self.drawn(last)
                need(who in OF_STEPS[self.claim["algorithm"]] and name in self.assumed, "draws of another law")
                asked["cohort"] = DRAWS[who]
            elif name == "equal_weights":
                plain = self.claim["algorithm"] not in ("fedavg_decaying", "flics")
                need(plain and not self.is_of_any_mean(last), "of the plain mean, and the claim is of any")
            else:
                quantity, power = ASSUMED.get(name, ("", 0))
                others = GIVEN_BY.get(name, ())
                if name == "cohort_before_noise" and last["kind"] == "uniform" and "uniform_cohorts" in names:
                    others += ("uniform_cohorts",)  # such cohorts are independent of the noise
                made = {f"{n}({ASSUMED[n][0]})" if n in ASSUMED else n for n in (name, *others)}
                need(bool(made & {*self.assumed}), f"{name}: an assumption that the claim does not make")
                if quantity:
                    own = self.letter(quantity) ** power
                    convex = name == "strongly_convex" and constant == ZERO
                    need(constant == own or convex, f"{name}: another constant")
                else:
                    need(constant is None, f"{name}: with a constant")
        if last["functional"] == "average_squared_gradient":
            asked["average"] = "r = 0..R-1"
        read = {name: option for name, option in read.items() if name not in OF_HYPOTHESES}
        if last["functional"] == "ratio_failure":  # what the hypotheses are, as they stand
            asked |= {name: option for name, option in read.items() if name == "constants of the O(.)"}
        need(read == asked, f"it is read with {read}, and what is proved with {asked}")

    def is_of_any_mean(self, last: dict) -> bool:
        """Whether the claim is on a mean of the clients' functions that it does not name: by weights, or any mean in a
        claim on one round whose bound has no error that weights have for the plain one."""
        of_updates = last["functional"] in ROUND_FUNCTIONALS and self.claim["algorithm"] == "fedau"
        implied = last["functional"] == "average_squared_weighted_gradient"
        return implied or (of_updates and "weight_error" not in last["parameters"])

    def check_rounds(self, last: dict, slacks: list) -> None:
        """Raise unless the parameters are the quantities of their names, of the claim's algorithm, and its kinds of
        round are those of what is proved."""
        algorithm = self.claim["algorithm"]
        if last["functional"] in OF_ANSWERS:
            need(not last["kind"], "answers in rounds of a kind")
            return
        if last["functional"] in OF_INTERVALS:
            return self.check_intervals(last)
        if last["functional"] in POINT_FUNCTIONALS:
            same = all(value == self.letter(name) for name, value in last["parameters"].items())
            return need(same, "distances of other points")
        several = algorithm == "fedavg_decaying" or "step_index" in self.letters.values()
        own = "step_index" in last["parameters"] or not several
        need(own, "steps of several sizes, and a bound for steps of one size")
        law, chance, kinds = ALGORITHMS[algorithm]
        chosen, least = (
            sorted({n.split(f" {word} ")[0] for n in last["parameters"] if f" {word} " in n})
            for word in ("above", "least")
        )
        if last["of_paths"] and not last["kind"]:  # of all clients' paths, in rounds of any kind
            pass
        elif law:
            need(bool(last["kind"]) or any(n in ALTERNATING for n, _ in last["assumptions"]), "rounds of no law")
        elif algorithm in OF_STEPS:
            ends = {n for n, _ in last["assumptions"]} & {"full_participation", "independent_draws"}
            need(len(ends) == 1 and not last["kind"], "rounds of which nothing says how they end")
        else:
            weighted = "weighted_lr" in {*last["parameters"], *chosen} or last["functional"] in ROUND_FUNCTIONALS
            need(weighted and not last["kind"], "rounds of another sort than those of weighted updates")
        of_size = {"uniform": "cohort", "arbitrary": "arbitrary_cohort"}.get(last["kind"], "")
        for name in chosen:
            self.check_choice(name, last, self.claim["choices"])
        entries = {f"{n} {word} {i}" for n in chosen for i, _ in enumerate(self.entries_of(n, last))
                   for word in ("above", "below")}  # fmt: skip
        for name in least:
            self.check_least(name, last, self.claim["choices"])
        entries |= {f"{name} least {i}" for name in least for i in (0, 1)}
        of_law = {"logarithmic_cutoff", "least_participation_probability"} & last["parameters"].keys()
        if of_law and algorithm == "fedau":
            self.check_cutoff(last["parameters"].get("logarithmic_cutoff", ZERO))
        for name, value in last["parameters"].items():
            if name in entries or (name == "logarithmic_cutoff" and algorithm == "fedau"):
                continue
            need(name in OF_KINDS[algorithm] | OF_RUN, f"{name}: no parameter of {algorithm}")
            quantity = of_size if name == "size" else PARAMETERS.get(name, "")
            if name in PRODUCTS:
                one, other = map(self.letter, PRODUCTS[name])
                need(value == one * other, f"{name}: of another value than the product of its quantities")
            elif name == "share":
                conditions = self.conditions(last["where"])
                any_share = any(self.is_share(n, kind, most, last) for n, kind, most in conditions)
                need(any_share or bool(self.drawn(last)), "a share of a draw that is not any")
            else:
                own_value = bool(quantity) and value == self.letter(quantity)
                need(own_value, f"{name}: of another value than {quantity or 'any'}")
        if last["kind"]:
            need(last["kind"] in kinds, f"{last['kind']}: no kind of round of {algorithm}")
            at, q = kinds[last["kind"]], self.letter(chance)
            need(any(each == (q - ONE if at else -q) for each in slacks), f"not all rounds are {last['kind']}")

    def statement(self) -> str:
        """Return the claim in words: its inequality, with all that it asks."""
        claim = self.claim
        read = "; ".join(f"{name} = {option}" for name, option in claim["readings"].items())
        last: dict = self.bounds[-1] if self.bounds else {"assumptions": (), "parameters": {}, "kind": ""}
        names = {name for name, _ in last["assumptions"]} | {*last["parameters"], last["kind"]}
        taken = dict.fromkeys(words for name, words in UNSPOKEN.items() if name in names)
        asked = [f"  {name}: {text}" for name, text in claim["hypotheses"].items()]
        asked += [f"  {name} = {text}" for name, text in claim["choices"].items()]
        return "\n".join(
            [
                f"{claim['id']}@{claim['edition']} ({claim['source']})",
                f"of every run of {', '.join([claim['algorithm'], *taken])}" + (f", read with {read}" if read else ""),
                f"assumed: {', '.join(claim['assumptions']) or 'nothing'}",
                *(["under the hypotheses", *asked] if asked else ["under no hypothesis"]),
                claim["functional"],
                "  <= " + ("\n   + ".join(claim["terms"].values()) or "0"),
            ]
        )


UNSPOKEN = {
    **dict.fromkeys(("equal_weights", "uniform_cohorts"), "F the plain mean of the clients' functions"),
    **dict.fromkeys(("arbitrary_cohort", "arbitrary"), "arbitrary_cohort clients in each arbitrary round"),
    "cohort_is_a_set": "no client twice in a cohort", "full_participation": "every client once in a round",
}  # fmt: skip
"""Parts of a proof that no word of a claim need say, by its assumptions, its parameters and its kind of round."""
SORTS = ("power", "steps", "exponential", "tail", "log", "decay", "root", "gain")
"""The sorts of defined letters: P^R; P^(K R); exp(-X); q^C, C the cutoff; log(X); -1/(2 log(1 - p)); the root of X;
log(max(X, 1)), wherever X is defined."""


# learning problems and their samples: events of a product law, and bounds on functionals of the problem

OF_SAMPLES, OF_SAMPLE_CLAIM = "fedtheory samples 1", "fedtheory claim on samples 1"
SAMPLE_FIELDS = "rule premises arguments where assumptions events form equality functional confidence"
EVERYBODY = ("any", "other", "best of Q", "best of P", "minimiser", "checked")
CHOSEN_BEFORE = ("best of Q", "best of P")
"""Hypotheses that are fixed before the samples are drawn."""
ALL_LAWS = ("pool", "server", "target", "clients")
BY_DIMENSION = ("growth", "growth of pairs", "complexity")
MADE_OF_SCALARS = {"power": 2, "level": 2, "maximum": 2, "minimum": 2, "distance": 1, "tail": 3} | dict.fromkeys(
    BY_DIMENSION, 3
)
"""Numbers made of scalars: x^p, log(1/x)/n, (d log(e max(2 n, d)/d) + log(4/x))/n of x, n and d, or with 2 d and 8, or
(d max(log(max(n, d)/d), 1) + log(1/x))/n, a maximum, a minimum, an absolute value, P[X >= t] of a binomial number
(N, p)."""
MADE_OF_WORDS = {
    "risk": (ALL_LAWS, EVERYBODY), "excess": (ALL_LAWS, EVERYBODY), "frequency": (ALL_LAWS[:2], EVERYBODY),
    "disagreement": (ALL_LAWS, EVERYBODY, EVERYBODY), "failure": (("any learner", "functions"),), "related gap": (),
    "disagreement frequency": (ALL_LAWS[:2], EVERYBODY, EVERYBODY), "only": (ALL_LAWS, EVERYBODY, EVERYBODY),
    "only frequency": (ALL_LAWS[:2], EVERYBODY, EVERYBODY),
}  # fmt: skip
"""Numbers of a problem, and the words that say of what."""
AT_MOST_ONE = {"tail", *(name for name in MADE_OF_WORDS if name != "related gap")}
PROBLEM_QUANTITIES = (
    "class_size", "samples", "server_samples", "clients", "arbitrary_cohort", "samples_per_client", "rare_mass",
    "error_level", "target_width", "source_width", "threshold_distance", "outside_support", "client_share",
    "relatedness", "relatedness_exponent", "noise_constant", "noise_exponent", "vc_dimension",
)  # fmt: skip
OF_PAIRS = ("disagreement", "pool", "any", "other"), ("disagreement frequency", "pool", "any", "other")
DRAWN: dict[str, list] = {
    "pooled_excess": [(1, ("excess", "target", "minimiser"))],
    "pooled_source_excess": [(1, ("excess", "pool", "minimiser"))],
    "checked_excess": [(1, ("excess", "target", "checked"))],
    "checked_empirical_gap": [(1, ("frequency", "server", "checked")), (-1, ("frequency", "server", "best of P"))],
    "disagreement_excess": [(1, OF_PAIRS[1]), (-2, OF_PAIRS[0])],
    "disagreement_deficit": [(Fraction(1, 2), OF_PAIRS[0]), (-1, OF_PAIRS[1])],
}
"""Functionals that are quantiles of a number of the samples, as sums of numbers."""
UNDRAWN: dict[str, list] = {
    "target_excess": [(1, ("excess", "target", "any"))],
    "negated_source_excess": [(-1, ("excess", "pool", "any"))],
    "negated_failure": [(-1, ("failure", "any learner"))],
    "negated_failure_of_functions": [(-1, ("failure", "functions"))],
}
"""Functionals without samples, as sums of numbers."""
NAMED_BY_CLAIMS = (("excess", "target", "best of Q"), ("excess", "pool", "any"), ("related gap",))


class SampleProof(Proof):
    """Saved proof about learning problems, read and checked: what its letters mean, and its theorems."""

    def __init__(self, data: object, work: int | None = None) -> None:
        claims = type(data) is dict and data.get("format") == OF_SAMPLE_CLAIM
        fields = "format names regions parameters numbers theorems" + " letters claim digest" * claims
        given = self.begun(data, fields, (OF_SAMPLES, OF_SAMPLE_CLAIM), 60, work)
        fit(not {"k", "K"} & set(self.names), "names: k and K count steps, of which samples have none")
        self.meanings: dict[str, tuple] = {}
        self.regions, self.claim, self.at = [], None, "what letters mean"
        with _named(self.at):
            (conditions,) = listed("regions", given["regions"], 1)
            self.stated = self.region(conditions)
            self.quantities = {n: self.scalar(c) for n, c in keyed("parameters", given["parameters"]).items()}
            fit(set(self.quantities) <= set(PROBLEM_QUANTITIES), "parameters: no quantity of a problem")
            self.declare(listed("numbers", given["numbers"], most=60))
        lines = listed("theorems", given["theorems"], most=LARGEST["theorems"])
        fit(bool(lines), "theorems: allowed is at least one")
        for at, line in enumerate(lines):
            with _named(f"theorem {at}"):
                self.theorems.append(self.followed(line))
        if claims:
            self.claim = ClaimOfSamples(self, given)

    # what letters mean

    def declare(self, numbers: list) -> None:
        """Read the meanings of letters, each by what was given before it. On the region a power, or a maximum, has to
        be of what is >= 0, and a level of what is in (0, 1], over a number > 0."""
        letters = [word("a letter", listed("a number", each, 2)[0]) for each in numbers]
        fit(len(set(letters)) == len(letters) and set(letters) <= set(self.names), "numbers: a letter, and each once")
        for at, (letter, data) in enumerate(numbers):
            kind, *parts = listed("a meaning", data)
            if word("a kind of number", kind) in MADE_OF_WORDS:
                allowed = MADE_OF_WORDS[kind]
                listed("a meaning", parts, len(allowed))
                words = tuple(word("of what", each, of) for each, of in zip(parts, allowed, strict=True))
                need(not kind.startswith("disagreement") or words[1] <= words[2], "two hypotheses out of order")
                meaning: tuple = (kind, *words)
            else:
                fit(kind in MADE_OF_SCALARS, f"a number that is a {kind[:60]!r}")
                meaning = (kind, *(self.scalar(part) for part in listed("a meaning", parts, MADE_OF_SCALARS[kind])))
                self.well_made(meaning, set(letters[at:]))
            need(meaning not in self.meanings.values(), f"{letter}: a meaning that has a letter")
            self.meanings[letter] = meaning
        self.whole_region = self.known(set())

    def well_made(self, meaning: tuple, later: set) -> None:
        """Raise unless a number made of scalars is one on the region, by letters that come before it."""
        kind, *parts = meaning
        for part in parts:
            need(not {self.names[i] for i in part.letters} & later, "a later letter")
        region = self.known(later)
        need(all(self.never_zero(part.bottom, region) for part in parts), "a division by what may be 0")
        least = {"distance": [], "tail": [*parts, ONE - parts[1]] if kind == "tail" else []}.get(kind, parts)
        if kind in ("level", *BY_DIMENSION):
            share = self.under_power(parts[0])
            least = [share, ONE - share, *parts[1:]]
            need(all(self.never_zero(c.top, region) for c in (share, *parts[1:])), "a level of 0, or of no samples")
        need(all(self._nonnegative(c, region) for c in least), f"a {kind} of what may be below 0")

    def under_power(self, scalar: Scalar) -> Scalar:
        """Return x for the letter of x^p, and else the scalar: where x is in (0, 1], so is x^p."""
        for letter, meaning in self.meanings.items():
            if meaning[0] == "power" and scalar == self.name(letter):
                return meaning[1]
        return scalar

    def known(self, later: set) -> int:
        """Return the number of the region in which all letters are as stated, and all numbers >= 0, without what uses
        the letters that come later."""
        own = {condition[0] for condition in self.stated}
        numbers = [(n, "nonnegative", None) for n in self.meanings if n not in own and n not in later]
        kept: list[tuple] = []
        seen = {self.number[n] for n, *_ in numbers}
        for name, kind, bound in reversed(self.stated):
            used = set() if bound is None else bound.letters
            if name not in later and used <= seen:
                kept.insert(0, (name, kind, bound))
                seen.add(self.number[name])
        self.regions.append([*kept, *numbers])
        return len(self.regions) - 1

    def at_least_0(self, scalar: Scalar, why: str) -> None:
        """Raise unless a scalar is shown to be >= 0 on the region."""
        need(self._nonnegative(scalar, self.whole_region), why)

    def letters_of(self, *meaning: object) -> list:
        """Return the letters that have a meaning, one at most, as scalars; two hypotheses are in either order."""
        if str(meaning[0]).startswith("disagreement"):
            meaning = (*meaning[:2], *sorted(meaning[2:]))  # type: ignore[type-var]
        return [self.name(n) for n, other in self.meanings.items() if len(other) == len(meaning) and other == meaning]

    def letter_of(self, *meaning: object) -> Scalar:
        """Return the letter that has a meaning, as a scalar."""
        found = self.letters_of(*meaning)
        need(bool(found), f"no letter is {meaning[0]}")
        return found[0]

    def made_of(self, letter: object, kind: str) -> tuple:
        """Return of what a letter is a number of this kind."""
        meaning = self.meanings.get(word("a letter", letter), ("",))
        need(meaning[0] == kind, f"{ascii(letter)[:60]} is no {kind}")
        return meaning[1:]

    def quantity(self, name: str) -> Scalar:
        """Return the scalar that a quantity of the problem is."""
        need(name in self.quantities, f"{name} is not given")
        return self.quantities[name]

    # theorems

    def followed(self, line: object) -> dict:
        """Return the theorem that a line states, after checking that its rule concludes it."""
        stated = dict(keys("a theorem", line, SAMPLE_FIELDS))
        whole("where", stated["where"], 0, 0)
        premises = [
            self.theorems[whole("a premise", i, 0, len(self.theorems) - 1)]
            for i in listed("premises", stated["premises"])
        ]
        need(not any(p["functional"] for p in premises), "a premise that is said of the whole problem")
        rule = word("rule", stated["rule"], tuple(SAMPLE_RULES))
        need(rule in SAMPLES_FROM_PREMISES or not premises, "an axiom has no premises")
        given = Arguments(keyed("arguments", stated["arguments"]))
        form, confidence = self.scalar(stated["form"]), stated["confidence"]
        confidence = None if confidence is None else self.scalar(confidence)
        found: dict = {
            "equality": False, "assumptions": (), "events": (), "functional": "", "confidence": None,
        }  # fmt: skip
        self.claimed = form
        found |= getattr(self, SAMPLE_RULES[rule])(given, premises)
        found["letter"] = given["letter"] if rule == "bounds" else ""
        fit(given.keys() == given.asked, f"{rule}: arguments that the rule does not have")
        for part in ("assumptions", "events"):
            held = {tuple(e) if type(e) is list else e for e in listed(part, stated[part], most=100)}
            fit(len(held) == len(stated[part]), f"{part}: twice the same")
            every = {*found[part], *(each for p in premises for each in p[part])}
            need(held == every, f"{rule}: the file's {part} are not what the rule concludes")
            found[part] = every
        equality = truth("equality", stated["equality"])
        need(equality == found["equality"], f"{rule}: another sign than the rule concludes")
        need(stated["functional"] == found["functional"], f"{rule}: another functional than the rule concludes")
        same = confidence == found["confidence"] if confidence is not None else found["confidence"] is None
        need(same, f"{rule}: another confidence than the rule concludes")
        need(form == found["form"], f"{rule}: the file's form is not what the rule concludes")
        need(self.never_zero(form.bottom, self.whole_region), "a division by what may be 0")
        return found

    # rules

    def added(self, given: Arguments, premises: list) -> dict:
        """Conclude a sum of theorems and squares, times what is >= 0 (equalities: times anything), and a rest >= 0."""
        factors = [self.scalar(c) for c in listed("multipliers", given["multipliers"], len(premises))]
        pairs = [listed("a square", each, 2) for each in listed("squares", given["squares"], most=50)]
        squares, rest = [(self.scalar(v), self.scalar(c)) for v, c in pairs], self.scalar(given["constant"])
        total = rest
        for theorem, factor in zip(premises, factors, strict=True):
            need(self.never_zero(factor.bottom, self.whole_region), "a multiplier that divides by what may be 0")
            if not theorem["equality"]:
                self.at_least_0(factor, "a multiplier that may be negative")
            total = total + theorem["form"] * factor
        for base, factor in squares:
            need(self.never_zero(base.bottom, self.whole_region), "a square that divides by what may be 0")
            self.at_least_0(factor, "a square's multiplier that may be negative")
            total = total + base * base * factor
        self.at_least_0(rest, "a rest that may be negative")
        equality = not squares and not rest.top and all(t["equality"] for t in premises)
        return {"form": total, "equality": equality}

    def cancelled(self, given: Arguments, premises: list) -> dict:
        """Conclude g >= 0 from m g >= 0, where m >= 0, c >= 0 and c m >= -g: a g < 0 would make m > 0, and m g < 0."""
        (theorem,), m, c = premises, self.scalar(given["factor"]), self.scalar(given["by"])
        g = self.claimed
        need(bool(m.top) and g * m == theorem["form"], "no multiple of what is concluded")
        for scalar in (m, c, c * m + g):
            self.at_least_0(scalar, "a factor that does not cancel")
        return {"form": g}

    def solved(self, given: Arguments, premises: list) -> dict:
        """Conclude e <= (4 s)^(1/(2 - b)) + 2 t from e <= (s e^b)^(1/2) + t, t >= 0, b in [0, 1]: where e > 2 t, e/2 is
        less than the root, and e^2 < 4 s e^b."""
        (theorem,) = premises
        e, w, y = (self.name(word("a letter", given[n])) for n in ("unknown", "root", "power"))
        inside, exponent = self.made_of(given["root"], "power")
        base, inverse = self.made_of(given["power"], "power")
        need(self.never_zero(inverse.top, self.whole_region), "a power that may be 0")
        b, t = number(2) - ONE / inverse, theorem["form"] - w + e
        need(exponent == HALF, "no root")
        need(inside * number(4) == base * self.letter_of("power", e, b), "the root is not of s e^b")
        for scalar in (e, b, ONE - b, t, base):
            self.at_least_0(scalar, "signs by which it is not solved")
        return {"form": y + t + t - e}

    def raised(self, given: Arguments, premises: list) -> dict:
        """Conclude x^p >= y^p from x >= y >= 0, p >= 0."""
        (theorem,) = premises
        (x, p), (y, q) = self.made_of(given["larger"], "power"), self.made_of(given["smaller"], "power")
        need(p == q and theorem["form"] == x - y, "no powers of the two sides")
        return {"form": self.name(given["larger"]) - self.name(given["smaller"])}  # type: ignore[arg-type]

    def largest(self, given: Arguments, premises: list) -> dict:
        """Conclude f >= max(x, y) from f >= x and f >= y."""
        x, y = self.made_of(given["letter"], "maximum")
        return self.one_of_two(given, premises, x, y, MINUS)

    def least(self, given: Arguments, premises: list) -> dict:
        """Conclude f + c min(x, y) >= 0 from f + c x >= 0 and f + c y >= 0."""
        (x, y), c = self.made_of(given["letter"], "minimum"), self.scalar(given["factor"])
        need(self.never_zero(c.bottom, self.whole_region), "a factor that divides by what may be 0")
        return self.one_of_two(given, premises, x, y, c)

    def one_of_two(self, given: Arguments, premises: list, x: Scalar, y: Scalar, c: Scalar) -> dict:
        """Conclude f + c z >= 0 from f + c x >= 0 and f + c y >= 0, where the number z is x or y."""
        first, second = premises
        f = first["form"] - c * x
        need(f == second["form"] - c * y, "two bounds that differ")
        return {"form": f + c * self.name(given["letter"])}  # type: ignore[arg-type]

    def absolute(self, given: Arguments, premises: list) -> dict:
        """Conclude f >= |x| from f >= x and f >= -x."""
        (x,) = self.made_of(given["letter"], "distance")
        return self.one_of_two(given, premises, x, -x, MINUS)

    # numbers

    def root(self, given: Arguments, premises: list) -> dict:
        """(x^(1/n))^n = x for n = 1, ..., 4."""
        x, p = self.made_of(given["letter"], "power")
        found = [n for n in range(1, 5) if p * number(n) == ONE]
        need(bool(found), "no root")
        return {"form": self.name(given["letter"]) ** found[0] - x, "equality": True}  # type: ignore[arg-type]

    def three(self, given: Arguments) -> tuple:
        """Return the letters, bases and exponents of a power and of the two that it is the product of."""
        parts = [given[n] for n in ("whole", "first", "second")]
        made = [self.made_of(letter, "power") for letter in parts]
        a, b, c = map(self.name, parts)  # type: ignore[arg-type]
        return a - b * c, [x for x, _ in made], [p for _, p in made]

    def sum_of_exponents(self, given: Arguments, premises: list) -> dict:
        """x^(p + q) = x^p x^q."""
        form, x, p = self.three(given)
        need(x[0] == x[1] and x[0] == x[2] and p[0] == p[1] + p[2], "no sum of exponents")
        return {"form": form, "equality": True}

    def power_of_product(self, given: Arguments, premises: list) -> dict:
        """(x y)^p = x^p y^p."""
        form, x, p = self.three(given)
        need(x[0] == x[1] * x[2] and p[0] == p[1] and p[0] == p[2], "no power of a product")
        return {"form": form, "equality": True}

    def power_of_power(self, given: Arguments, premises: list) -> dict:
        """x^(p q) = (x^p)^q."""
        (x, p), (y, r) = self.made_of(given["inner"], "power"), self.made_of(given["whole"], "power")
        need(bool(p.top) and x == y, "no power of a power")
        outer = self.letter_of("power", self.name(given["inner"]), r / p)  # type: ignore[arg-type]
        return {"form": self.name(given["whole"]) - outer, "equality": True}  # type: ignore[arg-type]

    def order_of_exponents(self, given: Arguments, premises: list) -> dict:
        """x^p >= x^q for x in [0, 1] and p <= q; the other way about for x >= 1."""
        (x, p), (y, q) = self.made_of(given["lower"], "power"), self.made_of(given["higher"], "power")
        need(x == y, "powers of two numbers")
        self.at_least_0(q - p, "exponents out of order")
        falls = truth("falls", given["falls"])
        self.at_least_0(ONE - x if falls else x - ONE, "a number that may be on either side of 1")
        form = self.name(given["lower"]) - self.name(given["higher"])  # type: ignore[arg-type]
        return {"form": form if falls else -form}

    def power_at_most(self, given: Arguments, premises: list) -> dict:
        """x^p <= 1 + x for p <= 1."""
        x, p = self.made_of(given["letter"], "power")
        self.at_least_0(ONE - p, "an exponent that may be above 1")
        return {"form": ONE + x - self.name(given["letter"])}  # type: ignore[arg-type]

    def power_at_least(self, given: Arguments, premises: list) -> dict:
        """x^p >= min(x, 1) for p <= 1."""
        x, p = self.made_of(given["letter"], "power")
        self.at_least_0(ONE - p, "an exponent that may be above 1")
        return {"form": self.name(given["letter"]) - self.letter_of("minimum", x, ONE)}  # type: ignore[arg-type]

    def growth_at_most(self, given: Arguments, premises: list) -> dict:
        """A growth is at most 5 complexities (of pairs 8): log(2 e n/d) <= 17/10 + l, l = max(log(n/d), 1) and d >= 1,
        so that d (17/10 + l) + log 4 <= 5 d l, and 2 d (17/10 + l) + log 8 <= 8 d l."""
        growth, other = self.words(given, "growth", "complexity")
        pairs = self.meanings.get(growth, ("",))[0] == "growth of pairs"
        x, n, d = self.made_of(growth, "growth of pairs" if pairs else "growth")
        need((x, n, d) == self.made_of(other, "complexity"), "a complexity of something else")
        self.at_least_0(n - d, "fewer samples than the dimension")
        self.at_least_0(d - ONE, "a dimension that may be below 1")
        return {"form": number(8 if pairs else 5) * self.name(other) - self.name(growth)}

    def of_maximum(self, given: Arguments, premises: list) -> dict:
        """max(x, y) is at least either."""
        x, y = self.made_of(given["letter"], "maximum")
        part = y if truth("second", given["second"]) else x
        return {"form": self.name(given["letter"]) - part}  # type: ignore[arg-type]

    def level_of_power(self, given: Arguments, premises: list) -> dict:
        """log(1/x^p)/n = p log(1/x)/n."""
        (x, n), (y, count) = self.made_of(given["level"], "level"), self.made_of(given["lower"], "level")
        found = [m for a, m in self.meanings.items() if m[0] == "power" and self.name(a) == x and m[1] == y]
        need(bool(found) and n == count, "no level of a power")
        form = self.name(given["level"]) - self.name(given["lower"]) * found[0][2]  # type: ignore[arg-type]
        return {"form": form, "equality": True}

    def probability(self, given: Arguments, premises: list) -> dict:
        """A probability is at most 1."""
        letter = word("a letter", given["letter"])
        need(self.meanings.get(letter, ("",))[0] in AT_MOST_ONE, "no probability")
        return {"form": ONE - self.name(letter)}

    # learning problems

    def words(self, given: Arguments, *names: str) -> list:
        """Return arguments that are words."""
        return [word(n, given[n]) for n in names]

    def excess(self, given: Arguments, premises: list) -> dict:
        """The excess risk under Q, or P, is the risk less the best hypothesis' one."""
        law, h = self.words(given, "law", "hypothesis")
        risks = self.letter_of("risk", law, h) - self.letter_of("risk", law, self.best(law))
        return {"form": self.letter_of("excess", law, h) - risks, "equality": True}

    def best(self, law: str) -> str:
        """Return the best hypothesis under Q or P."""
        need(law in ("pool", "target"), "a law of which no hypothesis is the best")
        return "best of Q" if law == "pool" else "best of P"

    def minimiser(self, given: Arguments, premises: list) -> dict:
        """A minimiser of the errors on the pool has no more of them than another one."""
        h, other = self.words(given, "hypothesis", "than")
        need(h in ("minimiser", "checked"), "no minimiser")
        return {"form": self.letter_of("frequency", "pool", other) - self.letter_of("frequency", "pool", h)}

    def checked_one(self, given: Arguments, premises: list) -> dict:
        """A checked one has no more errors on the server's samples than the best of Q."""
        frequencies = [self.letter_of("frequency", "server", h) for h in ("best of Q", "checked")]
        return {"form": frequencies[0] - frequencies[1]}

    def of_target(self, given: Arguments, premises: list) -> dict:
        """The server's samples are of P."""
        kind, first, second = self.words(given, "kind", "first", "second")
        need(kind in ("risk", "disagreement"), "no number of a law alone")
        of = (first, second) if kind == "disagreement" else (first,)
        need(kind == "disagreement" or not second, "one hypothesis too many")
        form = self.letter_of(kind, "server", *of) - self.letter_of(kind, "target", *of)
        return {"form": form, "equality": True, "assumptions": ("server_of_target",)}

    def noise(self, given: Arguments, premises: list) -> dict:
        """A hypothesis differs from the best one with probability at most a e^b, e its excess risk."""
        law, h = self.words(given, "law", "hypothesis")
        power = self.letter_of("power", self.letter_of("excess", law, h), self.quantity("noise_exponent"))
        form = self.quantity("noise_constant") * power - self.letter_of("disagreement", law, h, self.best(law))
        return {"form": form, "assumptions": ("source_noise" if law == "pool" else "target_noise",)}

    def triangle(self, given: Arguments, premises: list) -> dict:
        """Two differ only where one of them differs from a third one."""
        law, first, second, by = self.words(given, "law", "first", "second", "by")
        sides = self.letter_of("disagreement", law, first, by) + self.letter_of("disagreement", law, by, second)
        return {"form": sides - self.letter_of("disagreement", law, first, second)}

    def related(self, given: Arguments, premises: list) -> dict:
        """The excess risks under P and Q differ by at most alpha e_Q^beta."""
        (h,), above = self.words(given, "hypothesis"), truth("above", given["above"])
        of_p, of_q = (self.letter_of("excess", law, h) for law in ("target", "pool"))
        most = self.quantity("relatedness") * self.letter_of("power", of_q, self.quantity("relatedness_exponent"))
        return {"form": most + (of_q - of_p if above else of_p - of_q), "assumptions": ("positively_related",)}

    def related_gap(self, given: Arguments, premises: list) -> dict:
        """The related gap is alpha e_Q^beta."""
        e, beta = self.letter_of("excess", "pool", "any"), self.quantity("relatedness_exponent")
        form = self.letter_of("related gap") - self.quantity("relatedness") * self.letter_of("power", e, beta)
        return {"form": form, "equality": True}

    def mixture(self, given: Arguments, premises: list) -> dict:
        """Excess risks mix as the laws do, as one target makes them the risks."""
        share = self.quantity("client_share")
        e = {law: self.letter_of("excess", law, "any") for law in ("pool", "clients", "target")}
        form = e["pool"] - (share * e["clients"] + (ONE - share) * e["target"])
        return {"form": form, "equality": True, "assumptions": ("one_target", "server_of_target")}

    def uniform(self, given: Arguments, premises: list) -> dict:
        """The excess risk of a threshold in the support of Q is its distance over the width."""
        (law,) = self.words(given, "law")
        need(law in ("pool", "target"), "a law that is not uniform")
        wide, narrow = self.quantity("target_width"), self.quantity("source_width")
        self.at_least_0(-self.quantity("outside_support"), "a threshold that may be outside the support")
        self.at_least_0(wide - narrow, "a support that may be outside the other one")
        product = self.letter_of("excess", law, "any") * (narrow if law == "pool" else wide)
        return {"form": product - self.quantity("threshold_distance"), "equality": True}

    # events

    def event(self, name: str, sample: str, first: str, second: str, level: str) -> tuple:
        """Return an event of all hypotheses that may stand in the places of those that are drawn."""
        need(self.made_of(level, "level")[1] == self.count_of(sample), "a level of other samples")
        both = first not in CHOSEN_BEFORE and second not in CHOSEN_BEFORE
        pair = [h if h in CHOSEN_BEFORE else "any" for h in (first, second)]
        pair = ["any", "other"] if both else pair
        return (name, sample, *(pair if name == "risks" else sorted(pair)), level)

    def count_of(self, sample: str) -> Scalar:
        """Return the number of the pool's samples, or of the server's."""
        need(sample in ("pool", "server"), "no samples of that name")
        return self.quantity("samples" if sample == "pool" else "server_samples")

    def deviation(self, sample: str, first: str, second: str, level: str) -> Scalar:
        """Return sqrt(2 P(h != g) a) + a/3."""
        a = self.name(level)
        inside = number(2) * self.letter_of("disagreement", sample, first, second) * a
        return self.letter_of("power", inside, HALF) + a * number(Fraction(1, 3))

    def bernstein(self, given: Arguments, premises: list) -> dict:
        """R(h) - R(g) - (R^(h) - R^(g)) <= sqrt(2 P(h != g) a) + a/3, but for the event's failure."""
        sample, first, second, level = self.words(given, "sample", "first", "second", "level")
        event = self.event("risks", sample, first, second, level)
        off = [self.letter_of("risk", sample, h) - self.letter_of("frequency", sample, h) for h in (first, second)]
        return {"form": self.deviation(sample, first, second, level) - off[0] + off[1], "events": (event,)}

    def frequent(self, given: Arguments, premises: list) -> dict:
        """The frequency of h != g is above, or below, its probability by at most sqrt(2 P(h != g) a) + a/3."""
        sample, first, second, level = self.words(given, "sample", "first", "second", "level")
        above = truth("above", given["above"])
        event = self.event("often" if above else "seldom", sample, first, second, level)
        off = self.letter_of("disagreement frequency", sample, first, second)
        off = off - self.letter_of("disagreement", sample, first, second)
        return {"form": self.deviation(sample, first, second, level) + (-off if above else off), "events": (event,)}

    def relative(self, given: Arguments, premises: list) -> dict:
        """p - f <= sqrt(16 L p) for errors of h that g, which is fixed, does not make, p probable and f frequent, L the
        growth of a class; f - p <= sqrt(16 L f) for errors of g that h does not make."""
        sample, h, g, level = self.words(given, "sample", "first", "second", "level")
        need(g in CHOSEN_BEFORE and h not in CHOSEN_BEFORE, "one has to be fixed, one drawn")
        pair = (g, h) if truth("above", given["above"]) else (h, g)
        return self.frequency_off(given, "growth", "only", *pair) | {"events": (("relative", sample, "any", g, level),)}

    def relative_pair(self, given: Arguments, premises: list) -> dict:
        """p - f <= sqrt(16 L p), and f - p <= sqrt(16 L f), p and f how probable and how frequent it is that two
        differ, or that the first alone errs, L the growth of pairs."""
        sample, kind, h, g, level = self.words(given, "sample", "kind", "first", "second", "level")
        need(kind in ("only", "disagreement"), "no set of samples")
        event = ("relative pair", sample, "any", "other", level)
        return self.frequency_off(given, "growth of pairs", kind, h, g) | {"events": (event,)}

    def frequency_off(self, given: Arguments, growth: str, kind: str, first: str, second: str) -> dict:
        """Return how far a frequency f and a probability p of the same are apart at most, by the growth L of as many
        samples: sqrt(16 L p) - (p - f), or sqrt(16 L f) - (f - p) where f is above."""
        sample, level, above = word("sample", given["sample"]), given["level"], truth("above", given["above"])
        _, count, dimension = self.made_of(level, growth)
        same = count == self.count_of(sample) and dimension == self.quantity("vc_dimension")
        need(same, "a growth of other samples, or by another dimension")
        p, f = self.letter_of(kind, sample, first, second), self.letter_of(kind + " frequency", sample, first, second)
        inside = number(16) * self.name(level) * (f if above else p)  # type: ignore[arg-type]
        return {"form": self.letter_of("power", inside, HALF) + (p - f if above else f - p)}

    def split(self, given: Arguments, premises: list) -> dict:
        """Errors that only one of two makes: the difference of their errors, and where the two differ."""
        kind, law, h, g = self.words(given, "kind", "law", "first", "second")
        need(kind in ("risk", "frequency", "disagreement", "disagreement frequency"), "no number of errors")
        only = "only frequency" if "frequency" in kind else "only"
        first, second = self.letter_of(only, law, h, g), self.letter_of(only, law, g, h)
        if kind.startswith("disagreement"):
            form = self.letter_of(kind, law, h, g) - (first + second)
        else:
            form = self.letter_of(kind, law, h) - self.letter_of(kind, law, g) - (first - second)
        return {"form": form, "equality": True}

    def failing(self, event: tuple) -> Scalar:
        """Return a bound on the probability of an event's failure: a growth's x; x for one pair, at the level
        log(1/x)/n, times the number of pairs; these are ordered for risks alone."""
        name, _, first, second, level = event
        if name in ("relative", "relative pair"):
            return self.made_of(level, "growth" if name == "relative" else "growth of pairs")[0]
        x, drawn = self.made_of(level, "level")[0], [h for h in (first, second) if h not in CHOSEN_BEFORE]
        if not drawn:
            return x
        others = self.quantity("class_size") - ONE
        if len(drawn) == 1:
            return others * x
        return self.quantity("class_size") * others * x * (ONE if name == "risks" else HALF)

    # the two-point problem

    def cantelli(self, given: Arguments, premises: list) -> dict:
        """P[X >= t] (v + (t - N p)^2) <= v = N p (1 - p) for t >= N p."""
        trials, p, t = self.made_of(given["letter"], "tail")
        beyond, v = t - trials * p, trials * p * (ONE - p)
        self.at_least_0(beyond, "a tail that may begin below the mean")
        return {"form": v - (v + beyond**2) * self.name(given["letter"])}  # type: ignore[arg-type]

    def rare(self, more: Scalar) -> Scalar:
        """Return the tail of the rare point's number, from (M - m) n and more on."""
        M, m, n = (self.quantity(q) for q in ("clients", "arbitrary_cohort", "samples_per_client"))
        return self.letter_of("tail", M * n, self.quantity("rare_mass"), (M - m) * n + more)

    def learner(self, given: Arguments, premises: list) -> dict:
        """Whoever cannot see the rare point errs there under one of two targets, half of the time if it draws lots."""
        functions = truth("functions", given["functions"])
        self.at_least_0(self.quantity("rare_mass") - self.quantity("error_level"), "an error that may not be reached")
        self.at_least_0(self.quantity("clients") - self.quantity("arbitrary_cohort"), "more clients than there are")
        hidden = (ONE - self.rare(ONE)) * (ONE if functions else HALF)
        return {"form": self.letter_of("failure", "functions" if functions else "any learner") - hidden}

    # what is said of the whole problem

    def of_quantities(self, scalar: Scalar) -> bool:
        """Whether a scalar depends on no sample, and on no hypothesis that claims do not name."""
        for index in scalar.letters:
            meaning = self.meanings.get(self.names[index])
            if meaning is None or meaning in NAMED_BY_CLAIMS:
                continue
            if meaning[0] not in ("power", "level", *BY_DIMENSION, "maximum", "minimum") or not all(
                map(self.of_quantities, meaning[1:])
            ):
                return False
        return True

    def left_side(self, functional: str, letter: str) -> Scalar:
        """Return a functional's number."""
        if functional == "value":
            need(letter in self.meanings and self.of_quantities(self.name(letter)), "no value of quantities")
            return self.name(letter)
        need(not letter, "a letter, where no value is bounded")
        if functional == "relatedness_gap":
            of_p, of_q = (self.letter_of("excess", law, "any") for law in ("target", "pool"))
            return self.letter_of("distance", of_p - of_q)
        if functional == "rare_tail":
            return self.rare(ZERO)
        need(functional in DRAWN or functional in UNDRAWN, "no functional of a problem")
        parts = DRAWN[functional] if functional in DRAWN else UNDRAWN[functional]
        return functools.reduce(operator.add, [self.letter_of(*of) * number(c) for c, of in parts])

    def bounds(self, given: Arguments, premises: list) -> dict:
        """Conclude functional <= bound from bound - functional >= 0."""
        functional, letter = word("functional", given["functional"]), word("letter", given["letter"])
        need(bool(premises), "no premise")
        bound = premises[0]["form"] + self.left_side(functional, letter)
        return self.of_whole(functional, bound, premises[:1], premises[1:], given)

    def bounds_deviation(self, given: Arguments, premises: list) -> dict:
        """Conclude the least x for pairs from bounds by the roots of how probable and of how frequent it is that they
        differ, times x."""
        need(len(premises) >= 2, "too few premises")
        letters = [word("a root", n) for n in listed("roots", given["roots"], 2)]
        off = [self.letter_of("risk", "pool", h) - self.letter_of("frequency", "pool", h) for h in ("any", "other")]
        found = []
        for theorem, letter, kind in zip(premises, letters, OF_PAIRS, strict=False):
            x, (inside, exponent) = theorem["form"] + off[0] - off[1] - self.name(letter), self.made_of(letter, "power")
            need(exponent == HALF and inside == self.letter_of(*kind) * x, "no root of a number of pairs times x")
            found.append(x)
        need(found[0] == found[1], "two bounds that differ")
        return self.of_whole("pair_deviation", found[0], premises[:2], premises[2:], given)

    def of_whole(self, functional: str, bound: Scalar, premises: list, few: list, given: Arguments) -> dict:
        """Return a bound in quantities; a quantile's at a confidence that all failures together do not exceed."""
        drawn = functional in DRAWN or functional == "pair_deviation"
        events = {e for p in premises for e in p["events"]}
        need(self.of_quantities(bound), "a bound that is in no quantities")
        told = given["confidence"]
        need((told is not None) == drawn and (drawn or not (events or few)), "a confidence, and nothing drawn, or none")
        confidence = None
        if drawn:
            confidence = self.scalar(told)
            need(self.of_quantities(confidence), "a confidence in no quantities")
            self.at_least_0(bound, "a bound that may be below 0")
            spare = functools.reduce(operator.add, [-self.failing(e) for e in events], confidence)
            need(len(few) <= 1, "too many premises")
            if few:
                need(not few[0]["events"] and few[0]["form"] == spare, "another sum of failures")
            else:
                self.at_least_0(spare, "failures that may exceed the confidence")
        return {"form": bound, "functional": functional, "confidence": confidence}

    def statement(self) -> str:
        """Return the last theorem in words, with what its letters mean, or the claim that it is."""
        if self.claim is not None:
            return self.claim.statement()
        last = self.theorems[-1]
        where = [self.condition_in_words(*condition) for condition in self.stated]
        of = [f"{n} = {self.shown(c)}" for n, c in sorted(self.quantities.items())]
        means = [f"{n} = {self.meaning_in_words(m)}" for n, m in self.meanings.items()]
        head = f"for {', '.join(where) or 'all scalars'};\nfor every learning problem"
        head += f" with {', '.join(sorted(last['assumptions'])) or 'no assumption'}; {', '.join(of)};\n"
        if last["functional"]:
            c = last["confidence"]
            likely = "" if c is None else f"with probability at least 1 - {self.shown(c)}: "
            said = f"{likely}{last['functional']} <= {self.shown(last['form'])}"
        else:
            said = f"{self.shown(last['form'])} {'=' if last['equality'] else '>='} 0"
            said += f", wherever all of these happen: {sorted(last['events'])}" if last["events"] else ""
        return f"{head}{said},\nwhere {'; '.join(means)}"

    def meaning_in_words(self, meaning: tuple) -> str:
        """Return what a letter means as text."""
        kind, *parts = meaning
        if kind not in MADE_OF_SCALARS:
            return " ".join([kind, *([f"({', '.join(parts)})"] if parts else [])])
        shown = [self.shown(part) for part in parts]
        return {
            "power": "({})^({})", "level": "log(1/({}))/({})",
            "growth": "({2} log(e max(2 {1}, {2})/({2})) + log(4/({0})))/({1})",
            "growth of pairs": "(2 {2} log(e max(2 {1}, {2})/({2})) + log(8/({0})))/({1})",
            "complexity": "({2} max(log(max({1}, {2})/({2})), 1) + log(1/({0})))/({1})",
            "minimum": "min({}, {})",
            "maximum": "max({}, {})", "distance": "|{}|",
            "tail": "P[X >= {2}], X of {0} trials of probability {1}",
        }[kind].format(*shown)  # fmt: skip


SORTS_OF_SAMPLES = by_sort(
    positive="hidden_constant target_width source_width",
    share="confidence",
    count="""class_size samples server_samples client_samples clients arbitrary_cohort samples_per_client
        vc_dimension""",
    probability="rare_mass error_level client_share noise_exponent",
    nonnegative="threshold_distance outside_support relatedness relatedness_exponent noise_constant",
    any="sample_complexity",
)
"""Quantities of claims on samples: > 0, in (0, 1], a count >= 1, in [0, 1], >= 0, or any number."""
LEVELS = {
    "complexity": ("class_size", 1, "samples"), "server_complexity": ("class_size", 1, "server_samples"),
    "pair_complexity": ("class_size", 2, "samples"),
}  # fmt: skip
"""Quantities log(size^p/confidence)/n."""
GROWTHS = {"vc_complexity": "samples", "server_vc_complexity": "server_samples"}
EXCESSES = dict(zip(("best_excess", "source_excess", "related_gap"), NAMED_BY_CLAIMS, strict=True))
READ_IN_HYPOTHESES = ("constants of the O(.)", "thresholds", "confidence term")
"""Ambiguities of a claim on samples: how its hypotheses are meant, which stand in the file as they are read."""


class ClaimOfSamples(ClaimOfRuns):
    """Claim that the last theorem on samples is: what it bounds, at most the claim's right side, and nothing asked that
    the claim does not ask."""

    def __init__(self, proof: SampleProof, given: dict) -> None:  # type: ignore[override]
        self.proof = self.problem = proof
        self.bounds = []
        with _named("claim"):
            self.compare(self.words(given["letters"], given["claim"], given["digest"]))

    def compare(self, words_of: dict) -> None:
        """Raise unless the last theorem is the claim, or says more."""
        proof, claim, last = self.problem, self.claim, self.problem.theorems[-1]
        need(not words_of["choices"], "a claim on samples chooses nothing")
        need(set(words_of["readings"]) <= {*READ_IN_HYPOTHESES}, "read as no hypothesis is")
        for option in words_of["readings"].values():
            word("an option", option)
        self.check_letters()
        need(bool(last["functional"]), "a theorem that is not said of the whole problem")
        if last["functional"] == "value":
            bounded = self.of_tree(self.tree(claim["functional"]))
            need(bounded == proof.name(last["letter"]), "another value is bounded")
        else:
            need(claim["functional"] == last["functional"], f"what is bounded is {last['functional']}")
        confidence = last["confidence"]
        need(confidence is None or confidence == self.letter("confidence"), "another confidence")
        right = [part for text in words_of["terms"].values() for part in self.values(self.tree(text))]
        rest = functools.reduce(operator.add, right, -last["form"])
        need(proof._nonnegative(rest, proof.whole_region), "its right side may be less than what is proved")
        for name in last["assumptions"]:
            need(name in self.assumed, f"{name}: an assumption that the claim does not make")
        self.check_conditions([self.sides(text) for text in words_of["hypotheses"].values()])

    def check_letters(self) -> None:
        """Raise unless each letter stands for one quantity: that of a problem which it is, or one of which the theorem
        says nothing but its conditions."""
        proof = self.problem
        fit(set(self.letters.values()) <= SORTS_OF_SAMPLES.keys(), "letters: no quantity of a claim on samples")
        need(not set(self.letters) & proof.meanings.keys(), "a letter that is a number")
        self.plain = {name: n for name, c in proof.quantities.items() for n in proof.names if c == proof.name(n)}
        need(len(set(self.plain.values())) == len(self.plain), "one letter for two quantities of the problem")
        need(not set(self.plain.values()) & proof.meanings.keys(), "a number for a quantity of the problem")
        for letter, quantity in self.letters.items():
            here = quantity in proof.quantities or letter in self.plain.values()
            need(not here or self.plain.get(quantity) == letter, f"{letter} is not {quantity}")

    def letter(self, quantity: str) -> Scalar:
        """Return the scalar that a quantity is."""
        proof = self.problem
        if quantity in proof.quantities:
            return proof.quantities[quantity]
        for letter, name in self.letters.items():
            if name == quantity:
                return proof.name(letter)
        if quantity in LEVELS:
            size, power, count = LEVELS[quantity]
            return proof.letter_of("level", self.letter("confidence") / self.letter(size) ** power, self.letter(count))
        if quantity in GROWTHS:
            x, n, d = map(self.letter, ("confidence", GROWTHS[quantity], "vc_dimension"))
            return proof.letter_of("growth", x, n, d)
        need(quantity in EXCESSES, f"no letter stands for {quantity[:60]!r}")
        return proof.letter_of(*EXCESSES[quantity])

    def of_tree(self, tree: ast.expr) -> Scalar:
        """Return the scalar of a syntax tree; a root, and a complexity, is a number that the file declares."""
        called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if any(isinstance(each, ast.Name) and each.id in ("log", "Max") for each in called):
            return self.complexity(tree)
        factor, radicand = self.surd(tree)
        return factor if radicand == ONE else factor * self.problem.letter_of("power", radicand, HALF)

    def surd(self, tree: ast.expr) -> tuple[Scalar, Scalar]:
        """Return (a, r) of a syntax tree that is a sqrt(r): as for runs, and a power is a number that the file
        declares, or the root of one."""
        match tree:
            case ast.Name(id=name):
                return self.letter(name), ONE
            case ast.BinOp(left=left, op=ast.Pow(), right=right) if not isinstance(right, ast.Constant):
                base, exponent = self.of_tree(left), self.of_tree(right)
                if found := self.problem.letters_of("power", base, exponent):
                    return found[0], ONE
                return ONE, self.problem.letter_of("power", base, exponent + exponent)
            case ast.Call(func=ast.Name(id="sqrt"), args=[part], keywords=[]):
                inside = self.of_tree(part)
                signs = self.problem._nonnegative(inside, self.problem.whole_region)
                need(signs, "a root of what may be negative")
                return ONE, inside
        return super().surd(tree)

    def complexity(self, tree: ast.expr) -> Scalar:
        """Return the letter of (d max(log(max(n, d)/d), 1) + log(1/x))/n, of letters x, n and d."""
        for letter, (kind, *parts) in self.problem.meanings.items():
            names = [self.letters.get(n) for part in parts for n in self.problem.names if part == self.problem.name(n)]
            if kind == "complexity" and len(names) == 3 and None not in names:
                x, n, d = names
                summands = f"{d}*Max(1, log(Max({n}, {d})/{d}))/{n}", f"log(1/{x})/{n}"
                texts = [*summands, *(f"{d}*Max(1, log(Max({d}, {n})/{d}))/{n}",)]
                one, other, turned = (ast.dump(self.tree(text)) for text in texts)
                match tree:
                    case ast.BinOp(left=left, op=ast.Add(), right=right):
                        if {ast.dump(left), ast.dump(right)} in ({one, other}, {turned, other}):
                            return self.problem.name(letter)
        raise Wrong("a complexity that the file does not declare")

    def check_conditions(self, hypotheses: list) -> None:
        """Raise unless each condition is known of its quantity, or a hypothesis times what is >= 0 by the conditions
        after it; and unless a quantity that is an expression is that by hypotheses that have no such one beside it."""
        proof = self.problem
        made = {name: scalar for name, scalar in proof.quantities.items() if name not in self.plain}
        apart = [pair for pair in hypotheses if not all(made.keys() & names_in(side) for side in pair)]
        for name, scalar in made.items():
            sort = SORTS_OF_SAMPLES[name]
            below, above = scalar == ZERO and sort != "any", scalar == ONE and sort in ("probability", "share")
            for small, large in apart:
                above |= isinstance(small, ast.Name) and small.id == name and self.of_tree(large) == scalar
                below |= isinstance(large, ast.Name) and large.id == name and self.of_tree(small) == scalar
            need(below and above, f"{name}: an expression that no hypothesis says it is")
        slacks = [self.of_tree(large) - self.of_tree(small) for small, large in hypotheses]
        spend(10 * len(slacks) * len(proof.stated))
        for at, (name, kind, bound) in enumerate(proof.stated):
            sort = "number" if name in proof.meanings else SORTS_OF_SAMPLES.get(self.letters.get(name, ""), "")
            need(bool(sort), f"{name}: a condition on what stands for no quantity")
            above_0 = sort in ("positive", "share", "count")
            own = {
                "positive": above_0, "capped": above_0, "count": sort == "count", "at_least": True,
                "nonnegative": sort != "any", "interval": sort != "any",
            }  # fmt: skip
            need(own.get(kind, False), f"{name}: a condition that is not known of what it stands for")
            if bound is not None and not (kind != "at_least" and bound == ONE and sort in ("probability", "share")):
                x = proof.name(name)
                slack = x - bound if kind == "at_least" else bound - x
                region, later = self.after(at)
                for each in slacks:
                    factor = ONE if slack == each else Scalar(each.bottom) / Scalar(slack.bottom)
                    free = factor.letters <= later
                    if free and slack == each * factor and proof._nonnegative(factor, region):
                        break
                else:
                    raise Wrong(f"{name}: a condition that the claim does not make")

    def after(self, at: int) -> tuple[int, set]:
        """Return the number of the region of the conditions after one, but for those by numbers, and its letters."""
        kept: list[tuple] = []
        seen: set[int] = set()
        for name, kind, bound in reversed(self.problem.stated[at + 1 :]):
            if bound is None or bound.letters <= seen:
                kept.insert(0, (name, kind, bound))
                seen.add(self.problem.number[name])
        self.problem.regions.append(kept)
        return len(self.problem.regions) - 1, seen

    def statement(self) -> str:
        """Return the claim in words: its inequality, with all that it asks."""
        return super().statement().replace(f"of every run of {self.claim['algorithm']}", "of every learning problem", 1)


SAMPLE_RULES = {name.replace("_", " "): name for name in (
    "root", "sum_of_exponents", "power_of_product", "power_of_power", "order_of_exponents", "power_at_most",
    "of_maximum", "level_of_power", "probability", "excess", "minimiser", "of_target", "noise", "triangle", "related",
    "related_gap", "mixture", "uniform", "bernstein", "frequent", "relative", "split",
    "relative_pair", "power_at_least", "growth_at_most", "least",
    "cantelli", "learner", "bounds", "bounds_deviation",
    "raised", "largest", "absolute",
)} | {"add": "added", "cancel": "cancelled", "solve": "solved", "checked": "checked_one"}  # fmt: skip
SAMPLES_FROM_PREMISES = {
    "add", "cancel", "solve", "raised", "largest", "least", "absolute", "bounds", "bounds deviation",
}  # fmt: skip
"""Rules on samples that conclude from theorems; others are axioms, which have no premises."""


def check(data: object) -> int:
    """Check a saved proof and return the number of its theorems; a certificate of a worst case is one.

    Raises:
        Wrong: which theorem does not follow, and why; ``Unfit`` where nothing is decided.
    """
    return 1 if is_certificate(data) and verified(data) else len(proof_of(data))


def proof_of(data: object, work: int | None = None) -> Proof:
    """Check a saved proof, with at most so much work.

    Raises:
        Wrong: as ``check`` does.
    """
    of_samples = type(data) is dict and data.get("format") in (OF_SAMPLES, OF_SAMPLE_CLAIM)
    try:
        return SampleProof(data, work) if of_samples else Proof(data, work)
    except UNREADABLE as error:
        raise Unfit(f"unreadable: {error!r:.200}") from None


CHECKED = {
    False: "that each theorem is an axiom of the kernel or follows by a rule from earlier ones, and that every "
    "sign it needs holds on its whole region; in exact arithmetic",
    True: "that bound - left side is a sum of what the functions make >= 0, times multipliers, and of a form "
    "that is positive semidefinite; in exact arithmetic",
}
NOT_CHECKED = {
    False: "that the axioms hold of an algorithm that is run; that a claim of a paper is this theorem, or "
    "follows from it; what names and letters stand for",
    True: "that a claim of a paper is this theorem, or follows from it; that the bound is the least one",
}  # fmt: skip
"""Texts on the parts of a proof, and of a certificate, that are not checked."""


CHECKED_CLAIM = (
    f"{CHECKED[False]}; that the bounds on a run follow from them by rules, and that the last one is this claim: its "
    "right side, and all that it asks"
)
OF_NAME = "that the claim of this name says this"
NOT_CHECKED_CLAIM = f"that the axioms hold of an algorithm that is run; {OF_NAME}; what names and quantities stand for"
"""Texts on the parts of a claim's proof that are checked, and not."""


def told(data: object, work: int | None = None) -> tuple[int, str, str, str]:
    """Check a proof or a certificate and describe it.

    Args:
        work: if given, the most work that is done.

    Returns:
        The number of theorems, the statement of the last one, what of it was checked, and what was not.

    Raises:
        Wrong: as ``check`` does.
    """
    certificate = is_certificate(data)
    proof = verified(data, work) if certificate else proof_of(data, work)
    if isinstance(proof, Proof) and proof.claim is not None:
        return len(proof) + len(proof.claim.bounds), proof.statement(), CHECKED_CLAIM, NOT_CHECKED_CLAIM
    count = len(proof) if isinstance(proof, Proof) else 1
    return count, proof.statement(), CHECKED[certificate], NOT_CHECKED[certificate]


def in_words(data: object) -> str:
    """Check a proof or a certificate and describe it as one text."""
    count, said, checked_of_it, not_checked = told(data)
    last = f"{count} theorem{'s' * (count > 1)}, all checked; the last one says:\n"
    head = "" if is_certificate(data) else last
    return f"{head}{said}\nchecked: {checked_of_it}\nnot checked: {not_checked}"


def is_certificate(data: object) -> bool:
    """Whether a file's content says that it is a certificate of a worst case."""
    return type(data) is dict and data.get("what") == CERTIFICATE


def main(arguments: list[str]) -> int:
    """Check the file of this name, print the result, and return the exit status."""
    if len(arguments) != 1:
        print("usage: checker.py FILE", file=sys.stderr)
        return 2
    name = arguments[0]
    try:
        with open(name, "rb") as file:
            text = file.read(LARGEST["file"] + 1)
        fit(len(text) <= LARGEST["file"], f"allowed are {LARGEST['file']} bytes")
        said = in_words(read(text))
    except (OSError, ValueError, Unfit) as error:
        print(f"{name}: cannot be read: {error}", file=sys.stderr)
        return 2
    except Wrong as wrong:
        print(f"{name}: no proof: {wrong}", file=sys.stderr)
        return 1
    print(f"{name}: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
