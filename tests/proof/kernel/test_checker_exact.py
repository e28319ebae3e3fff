"""The stand-alone checker compares exactly, reads strictly and counts before it multiplies: what it accepts is a proof,
and of no file does it take long. Each leak that it once had is planted again, and seen."""

from __future__ import annotations

import copy
import json
import resource
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import Ordering, fmpz_mpoly, fmpz_mpoly_ctx
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fedtheory.proof import checker
from fedtheory.proof.kernel.saved import saved

from .published import PROOFS

PRIMES = (2**61 - 1, 2**31 - 1, 2**127 - 1)
"""The one by which scalars were once compared, and others that might be chosen."""

TEXTS = {name: json.dumps(saved(PROOFS[name].make())) for name in ("safari.eq28", "safari.eq58")}
DATA = {name: json.loads(text) for name, text in TEXTS.items()}


def scalar(*terms: tuple[str, str], names: str, over: str = "1") -> dict:
    """By terms such as ("2", "x^3 y")."""
    every = names.split()

    def powers(text: str) -> list[int]:
        found = dict.fromkeys(every, 0)
        for factor in text.split():
            name, _, power = factor.partition("^")
            found[name] += int(power or 1)
        return list(found.values())

    return {"top": [[powers(t), c] for c, t in terms], "bottom": [[powers(""), over]]}


def line(rule: str, arguments: dict, form: list, **more: Any) -> dict:
    return {"rule": rule, "premises": [], "arguments": arguments, "context": "start", "kind": "", "where": 0,
            "assumptions": [], "parameters": {}, "form": form, "equality": False, "path_to_the_end": False} | more  # fmt: skip


def constant(value: dict, stated: dict | None = None, **more: Any) -> dict:
    """The theorem value >= 0, by a constant that is certified to be; it may be stated otherwise."""
    arguments = {"multipliers": [], "constant": value, "squares": []}
    return line("combine", arguments, [[["one"], stated or value]], **more)


def file(names: str, regions: list, *theorems: dict) -> dict:
    return {"format": "fedtheory theorem 1", "names": names.split(), "regions": regions, "theorems": list(theorems)}


def accepted(data: dict | str) -> bool:
    try:
        checker.check(checker.read(data if isinstance(data, str) else json.dumps(data)))
    except (checker.Wrong, ValueError):
        return False
    return True


# False theorems that were accepted once -------------------------------------------------------------------------------

LETTERS = "k K a b c"


def number(value: str) -> dict:
    return scalar((value, ""), names=LETTERS)


def residue(prime: int) -> dict:
    """-3 >= 0, from prime - 3 >= 0."""
    return file(LETTERS, [[]], constant(number(str(prime - 3)), number("-3")))


def half(prime: int) -> dict:
    """(prime + 1)/2 for 1/2, in the constant of a premise: 1/2 - b >= 0 for b <= 1/2 turned into a large number."""
    b, most = scalar(("-1", "b"), ("1/2", ""), names=LETTERS), str((prime + 1) // 2)
    stated = scalar(("-1", "b"), (most, ""), names=LETTERS)
    return file(LETTERS, [[["b", "interval", number("1/2")]]], constant(b, stated))


def overflow(a: int, b: int) -> dict:
    """c - x^(4096/(a b)) >= 0 for x <= y^a, y <= c^b, which fails at x = y = c = 2: the power of c is 2^12."""
    assert 4096 % (a * b) == 0
    power = 4096 // (a * b)
    region = [["a", "capped", scalar(("1", f"b^{a}"), names=LETTERS)],
              ["b", "capped", scalar(("1", f"c^{b}"), names=LETTERS)], ["c", "nonnegative", None]]  # fmt: skip
    said = scalar(("1", "c"), ("-1", f"a^{power}"), names=LETTERS)
    two = {name: number("2") for name in "abc"}
    below = number(str(2 - 2**power))
    return file(LETTERS, [region, []], constant(said),
                line("instantiate", {"values": two}, [[["one"], below]], premises=[0], where=1))  # fmt: skip


def no_bound(kind: str) -> dict:
    """-a - 1 >= 0 where a has a condition with a bound that is not there."""
    return file(LETTERS, [[["a", kind, None]]], constant(scalar(("-1", "a"), ("-1", ""), names=LETTERS)))


FALSE = {
    **{f"modulo {p}": residue(p) for p in PRIMES},
    **{f"a half modulo {p}": half(p) for p in PRIMES},
    **{f"powers {a} and {b}": overflow(a, b) for a, b in ((8, 8), (16, 16), (8, 16), (32, 4))},
    **{f"{kind} by nothing": no_bound(kind) for kind in ("capped", "interval", "at_least")},
}


@pytest.mark.parametrize("name", FALSE)
def test_false_theorems_are_refused(name: str) -> None:
    assert not accepted(FALSE[name])


ONE = file(LETTERS, [[]], constant(number("1")))
FALSE_ONE = constant(number("1"), number("-1"))


def with_line(**changed: Any) -> str:
    return json.dumps(ONE | {"theorems": [ONE["theorems"][0] | changed]})


LOOSE = {
    "equality 0": with_line(equality=0), "equality 0.0": with_line(equality=0.0), "equality null": with_line(equality=None),
    "path 0": with_line(path_to_the_end=0), "where false": with_line(where=False), "where 0.0": with_line(where=0.0),
    "where -0": with_line(where=0).replace('"where": 0', '"where": -0.0'),
    "a context of its own": with_line(context="once"), "a context that is a list": with_line(context=["start"]),
    "a kind of its own": with_line(kind="other"), "one more key": with_line(note=""),
    "premises of an object": with_line(premises={}), "assumptions of an object": with_line(assumptions={}),
    "parameters of a list": with_line(parameters=[]),
    "one more argument": with_line(arguments=ONE["theorems"][0]["arguments"] | {"note": 1}),
    "an assumption twice": with_line(assumptions=[["a", None], ["a", None]]),
    "an entry with more": with_line(form=[[["one", 1], number("1")]]),
    "an entry that is 0": with_line(form=[[["one"], number("1")], [["product", "", ["", ["x", False, []]],
                                    ["", ["x", False, []]]], scalar(names=LETTERS)]]),
    "a client 0": with_line(form=[[["product", "", ["", ["x", 0, []]], ["", ["x", 0, []]]], number("1")]]),
    "a number for a text": with_line(form=[[["one"], {"top": [[[0] * 5, 1]], "bottom": [[[0] * 5, "1"]]}]]),
    "a power true": with_line(form=[[["one"], {"top": [[[False] * 5, "1"]], "bottom": [[[0] * 5, "1"]]}]]),
    **{f"a coefficient {c}": with_line(form=[[["one"], {"top": [[[0] * 5, c]], "bottom": [[[0] * 5, "1"]]}]])
       for c in ("1.0", "1e0", "+1", " 1", "01", "-0", "0", "1/0", "1/-1", "\u0661", "NaN", "1_0", "")},
    "NaN": with_line(equality=float("nan")), "names that are numbers": json.dumps(ONE | {"names": [1, 2, 3, 4, 5]}),
    "names with a line": json.dumps(ONE | {"names": ["k", "K", "a", "b", "c\n"]}),
    "a part more": json.dumps(ONE | {"note": ""}),
    "a line twice": json.dumps(ONE)[:-1] + f', "theorems": {json.dumps([FALSE_ONE])}}}',
    "the last of two": json.dumps(ONE | {"theorems": [FALSE_ONE]})[:-1] + f', "theorems": {json.dumps(ONE["theorems"])}}}',
    "two tops": json.dumps(ONE).replace('"top"', '"top": [[[0, 0, 0, 0, 0], "-1"]], "top"', 1),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOSE)
def test_what_is_written_loosely_is_refused(name: str) -> None:
    assert accepted(ONE) and not accepted(LOOSE[name])


# Each number of a true proof plus multiples of a prime ----------------------------------------------------------------


def coefficients(data: Any, at: tuple = ()) -> Iterator[tuple]:
    """The places of all coefficients."""
    if isinstance(data, dict) and set(data) == {"top", "bottom"}:
        yield from ((*at, part, i, 1) for part in data for i, _ in enumerate(data[part]))
    elif isinstance(data, dict | list):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from coefficients(part, (*at, key))


def put(data: Any, at: tuple, value: object) -> Any:
    """A copy with another value at a place; what is not on the way is shared."""
    if not at:
        return value
    made = dict(data) if isinstance(data, dict) else list(data)
    made[at[0]] = put(data[at[0]], at[1:], value)
    return made


def value_at(data: Any, at: tuple) -> Any:
    for key in at:
        data = data[key]
    return data


PLACES = {name: list(coefficients(data["theorems"], ("theorems",))) for name, data in DATA.items()}


@given(st.data(), st.sampled_from(PRIMES), st.integers(-3, 3).filter(bool), st.booleans())
@settings(max_examples=120)
def test_no_coefficient_may_be_another_of_the_same_residue(
    draw: st.DataObject, prime: int, k: int, below: bool
) -> None:
    """c + k p, or c/(1 + k p), for a coefficient c of a line: a line that states something else than its rule concludes,
    or is given something else, is not followed by the same theorems. Where all coefficients of one scalar are alike
    it is written otherwise, and is the same."""
    name = draw.draw(st.sampled_from(sorted(DATA)))
    at = draw.draw(st.sampled_from(PLACES[name]))
    old = Fraction(value_at(DATA[name], at))
    new = old / (1 + k * prime) if below else old + k * prime
    assert not accepted(put(DATA[name], at, str(new)))


BOUNDS = {name: list(coefficients(data["regions"], ("regions",))) for name, data in DATA.items()}


@given(st.data(), st.sampled_from(PRIMES), st.integers(1, 3))
@settings(max_examples=40)
def test_a_bound_of_the_same_residue_is_another_bound(draw: st.DataObject, prime: int, k: int) -> None:
    """A region may be another one, if all signs hold on it: then that is what the checker says."""
    name = draw.draw(st.sampled_from([n for n in sorted(DATA) if BOUNDS[n]] or ["safari.eq28"]))
    assume(BOUNDS[name])
    at = draw.draw(st.sampled_from(BOUNDS[name]))
    changed = put(DATA[name], at, str(Fraction(value_at(DATA[name], at)) + k * prime))
    if accepted(changed) and at[1] == DATA[name]["theorems"][-1]["where"]:
        assert checker.told(changed)[1] != checker.told(DATA[name])[1]


# Charts, sums and values put in, against flint ------------------------------------------------------------------------

NAMES = "k K x y z w"
MANY = NAMES.split()
CONTEXT = fmpz_mpoly_ctx.get((*MANY, *(f"p{i}" for i in range(12))), Ordering.lex)
GENS = CONTEXT.gens()
small = st.integers(-3, 3).filter(bool)


def polynomials(letters: list[int], most: int = 3, terms: int = 4, positive: bool = False) -> st.SearchStrategy[dict]:
    """{powers: whole number} in some of the letters."""
    powers = st.tuples(*(st.integers(0, most if i in letters else 0) for i in range(len(MANY))))
    return st.dictionaries(powers, st.integers(1, 3) if positive else small, min_size=1, max_size=terms)


def data_of(polynomial: dict) -> list:
    return [[list(powers), str(c)] for powers, c in polynomial.items()]


def in_flint(polynomial: dict) -> fmpz_mpoly:
    return CONTEXT.from_dict({(*powers, *[0] * 12): c for powers, c in polynomial.items()})


def same(made: dict, other: fmpz_mpoly) -> bool:
    unpacked = {tuple(checker.power_of(key, i) for i in range(len(GENS))): c for key, c in made.items()}
    return unpacked == {tuple(map(int, powers)): int(c) for powers, c in other.to_dict().items()}


def put_in(polynomial: fmpz_mpoly, index: int, top: fmpz_mpoly, bottom: fmpz_mpoly) -> fmpz_mpoly:
    """bottom^d times the polynomial at top/bottom."""
    degree, total = int(polynomial.degrees()[index]), CONTEXT.constant(0)
    for powers, c in polynomial.to_dict().items():
        p = int(powers[index])
        rest = CONTEXT.from_dict({(*powers[:index], 0, *powers[index + 1 :]): c})
        total += rest * top**p * bottom ** (degree - p)
    return total


@st.composite
def regions(draw: st.DrawFn) -> list:
    """Conditions on x, y, z, w, in that order; a bound uses later letters."""
    made = []
    for i in (2, 3, 4, 5):
        later = list(range(i + 1, 6))
        kind = draw(
            st.sampled_from(["positive", "nonnegative", "count", *(["capped", "interval", "at_least"] * bool(later))])
        )
        bound = None
        if kind in ("capped", "interval", "at_least"):
            bottom = draw(polynomials(later, 1, 2, positive=True))
            bound = {"top": data_of(draw(polynomials(later, 2, 2, positive=True))), "bottom": data_of(bottom)}
            bound["bottom"] = [*([] if (0,) * 6 in bottom else [[[0] * 6, "1"]]), *bound["bottom"]]
        made.append([MANY[i], kind, bound])
    return made


def chart_in_flint(conditions: list) -> list[tuple[int, fmpz_mpoly, fmpz_mpoly]]:
    """Every letter as a quotient in parameters >= 0, the last one first."""
    made, parameter, one = [], iter(GENS[len(MANY) :]), CONTEXT.constant(1)
    for name, kind, bound in reversed(conditions):
        u, i = next(parameter), MANY.index(name)
        top, bottom = (
            in_flint({tuple(p): int(c) for p, c in bound[part]}) if bound else one for part in ("top", "bottom")
        )
        if kind in ("positive", "nonnegative"):
            made.append((i, u, one))
        elif kind == "count":
            made.append((i, 1 + u, one))
        elif kind == "capped":
            made.append((i, top, bottom * (1 + u)))
        elif kind == "interval":
            v = next(parameter)
            made.append((i, top * u, bottom * (u + v)))
        else:
            made.append((i, top + u * bottom, bottom))
    return made


def proof(conditions: list) -> checker.Proof:
    one = {"top": [[[0] * 6, "1"]], "bottom": [[[0] * 6, "1"]]}
    return checker.Proof(file(NAMES, [conditions], constant(one)))


@given(regions(), polynomials([2, 3, 4, 5], most=3, terms=3))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_charts_are_those_of_flint(conditions: list, polynomial: dict) -> None:
    """Powers of nested bounds included: what the checker finds is what flint does, or it is too large."""
    try:
        found = proof(conditions)
        made = found.pulled(found.scalar({"top": data_of(polynomial), "bottom": [[[0] * 6, "1"]]}).top, 0)
    except checker.Unfit as unfit:
        assert "too" in str(unfit)
        return
    other = in_flint(polynomial)
    for index, top, bottom in reversed(chart_in_flint(conditions)):
        other = put_in(other, index, top, bottom)
    assert same(made, other)


@given(st.lists(polynomials([0, 2, 3, 4], terms=3), min_size=6, max_size=6))
@settings(max_examples=60)
def test_scalars_are_those_of_flint(parts: list[dict]) -> None:
    """Equality, sums, products, values put in for several letters at once, and powers of quotients."""
    found = proof([])
    checker.let_go()
    pairs = zip(parts[::2], parts[1::2], strict=True)
    a, b, c = (found.scalar({"top": data_of(top), "bottom": data_of(bottom)}) for top, bottom in pairs)
    p, q, r, s, t, u = map(in_flint, parts)
    assert (a == b) is bool(p * s == r * q)
    assert a * b / b == a and a + b - b == a and (a - b) * (a + b) == a**2 - b**2
    assert same((a + b).top, p + r if parts[1] == parts[3] else p * s + r * q)
    values = {"x": b, "y": c}
    made = found.put(a, values)
    top, bottom = p, q
    for index in (2, 3):  # letters of the values are others: set apart by parameters
        hold, one = GENS[len(MANY) + index], CONTEXT.constant(1)
        top, bottom = (put_in(part, index, hold, one) for part in (top, bottom))
    for index, (over, under) in ((2, (r, s)), (3, (t, u))):
        at = len(MANY) + index
        d, e = (int(part.degrees()[at]) for part in (top, bottom))
        top, bottom = put_in(top, at, over, under) * under**e, put_in(bottom, at, over, under) * under**d
    assert made == checker.Scalar(*map(packed, (top, bottom)))


def packed(polynomial: fmpz_mpoly) -> dict:
    return {sum(int(p) * checker.place(i) for i, p in enumerate(powers)): int(c)
            for powers, c in polynomial.to_dict().items()}  # fmt: skip


@given(st.integers(0, 60), st.integers(0, 8))
def test_sums_of_powers(power: int, count: int) -> None:
    found = sum(c * count**i for i, c in enumerate(checker.power_sum(power)))
    assert found == sum(k**power for k in range(count))


# Any JSON, and small changes of a true file ---------------------------------------------------------------------------

SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8)
    | st.sampled_from(["one", "product", "combine", "start", "x", "", "1", "-1", "M"]),
    lambda parts: st.lists(parts, max_size=5) | st.dictionaries(st.text(max_size=6), parts, max_size=4),
    max_leaves=12,
)  # fmt: skip


def nodes(data: Any, at: tuple = ()) -> Iterator[tuple]:
    """The places of everything."""
    yield at
    if isinstance(data, dict | list):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from nodes(part, (*at, key))


NODES = {name: list(nodes(data)) for name, data in DATA.items()}
NODES |= {"a certificate": []}


@given(st.data(), SHAPES)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_any_shape_is_a_proof_or_none(draw: st.DataObject, shape: object) -> None:
    """Never another error; and what is accepted says what the file says as it is read."""
    name = draw.draw(st.sampled_from(sorted(DATA)))
    changed = put(DATA[name], draw.draw(st.sampled_from(NODES[name])), shape)
    for data in (changed, shape):
        try:
            said = checker.in_words(data)
        except checker.Wrong as wrong:
            assert "\n" not in str(wrong) and len(str(wrong)) < 600
        else:
            assert said


@given(st.data(), st.integers(0, 10**6), st.characters(min_codepoint=32, max_codepoint=126), st.sampled_from("rid"))
@settings(max_examples=250)
def test_a_letter_changed_is_refused_or_means_the_same(draw: st.DataObject, place: int, letter: str, how: str) -> None:
    """A character replaced, put in or left out anywhere in the text."""
    text = TEXTS["safari.eq28"]
    at = place % len(text)
    changed = text[:at] + (letter if how != "d" else "") + text[at + (how != "i") :]
    if accepted(changed):
        last = DATA["safari.eq28"]["theorems"][-1]
        now = json.loads(changed)
        names = now["names"] == DATA["safari.eq28"]["names"]
        stated = {**now["theorems"][-1], "arguments": 0, "premises": 0} == {**last, "arguments": 0, "premises": 0}
        regions_ = now["regions"][now["theorems"][-1]["where"]] == DATA["safari.eq28"]["regions"][last["where"]]
        if names and stated and regions_:
            return
        assert checker.told(now)[1] != checker.told(DATA["safari.eq28"])[1] or _letters_renamed(now)


def _letters_renamed(data: dict) -> bool:
    """Whether a name is another one: the same theorem of another letter."""
    return data["names"] != DATA["safari.eq28"]["names"]


# Bounded time and memory ----------------------------------------------------------------------------------------------


def letters(count: int) -> str:
    return " ".join(["k", "K", *(f"z{i}" for i in range(count))])


def spread(count: int, terms: int, power: int, digits: int, at: int = 2, over: int = 3) -> list:
    """A polynomial of many terms with long coefficients."""
    width = count + 2
    made = {}
    for j in range(terms):
        powers = [0] * width
        for m in range(over):
            if at + m < width:
                powers[at + m] = (j * (7 + 2 * m) + j // 5) % (power + 1)
        made[tuple(powers)] = str(10 ** (digits - 1) + 2 * j + 1)
    return [[list(p), c] for p, c in made.items()]


def ratio(count: int, top: list, bottom: list | None = None) -> dict:
    return {"top": top, "bottom": bottom or [[[0] * (count + 2), "1"]]}


def nested_caps(power: int, terms: int, digits: int, count: int = 10) -> dict:
    caps = [[f"z{i}", "capped", ratio(count, spread(count, terms, power, digits, i + 3))] for i in range(count - 1)]
    return file(letters(count), [[*caps, [f"z{count - 1}", "positive", None]]],
                constant(ratio(count, spread(count, 20, 3, digits))))  # fmt: skip


def powers_of_quotients(power: int, terms: int, digits: int, count: int = 10) -> dict:
    free = [[f"z{i}", "positive", None] for i in range(count)]
    said = ratio(count, spread(count, 20, power, digits))
    values = {
        f"z{i}": ratio(count, spread(count, terms, 2, digits, 6), spread(count, terms, 2, digits, 7)) for i in range(3)
    }
    return file(letters(count), [free], constant(said),
                line("instantiate", {"values": values}, said_of(said), premises=[0]))  # fmt: skip


def said_of(value: dict) -> list:
    return [[["one"], value]]


def a_square(terms: int, digits: int, count: int = 10) -> dict:
    zero = {"top": [], "bottom": [[[0] * (count + 2), "1"]]}
    vector = [[["", ["x", True, [1, 0, i % 900]]], ratio(count, spread(count, 5, 2, digits, i % 7 + 2), spread(
        count, 5, 2, digits, 2))] for i in range(terms)]  # fmt: skip
    one = ratio(count, [[[0] * (count + 2), "1"]])
    free = [[f"z{i}", "positive", None] for i in range(count)]
    return file(letters(count), [free], line("combine", {"multipliers": [], "constant": zero,
                                                         "squares": [[vector, "", one]]}, []))  # fmt: skip


def premises(count: int) -> dict:
    zero = {"top": [], "bottom": [[[0] * 12, "1"]]}
    free = [[f"z{i}", "positive", None] for i in range(10)]
    first = constant(ratio(10, spread(10, 300, 9, 1)))
    return file(letters(10), [free], first, line("combine", {"multipliers": [zero] * count, "constant": zero, "squares": []},
                                                 [], premises=[0] * count))  # fmt: skip


LARGE = {
    "caps in caps": nested_caps(1, 3, 1), "with long numbers": nested_caps(1, 3, 300), "of two letters": nested_caps(2, 2, 390),
    "of high powers": nested_caps(60, 2, 1), "powers of quotients": powers_of_quotients(20, 3, 390),
    "of many terms": powers_of_quotients(20, 30, 1), "a large square": a_square(200, 1), "with numbers": a_square(36, 390),
    "premises": premises(1000),
    "denominators": file(LETTERS, [[]], constant({"top": [[[0, 0, i // 50, i % 50, 0], f"1/{10**380 + i}"] for i in range(115)],
                                                  "bottom": [[[0] * 5, "1"]]})),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_large_files_take_seconds(name: str) -> None:
    text = json.dumps(LARGE[name], separators=(",", ":"))
    assert len(text) < 100_000
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    accepted(text)
    assert time.process_time() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 * 1024


def test_depth_and_long_numbers_are_refused() -> None:
    for text in (
        "[" * 100_000,
        '{"format": ' * 5000,
        f'{{"format": {"9" * 90_000}}}',
        '{"a": 1, "a": 1}',
        "[Infinity]",
    ):
        with pytest.raises(ValueError, match=r".") as found:
            checker.read(text)
        assert "\n" not in str(found.value)


# Each leak, planted again ---------------------------------------------------------------------------------------------


def by_residues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scalars are compared at one point modulo a prime."""

    def residue_of(value: checker.Scalar) -> int:
        def part(polynomial: dict) -> int:
            return sum(c * pow(7, key & checker.MASK, PRIMES[0]) for key, c in polynomial.items()) % PRIMES[0]

        return part(value.top) * pow(part(value.bottom), -1, PRIMES[0]) % PRIMES[0]

    def equal(one: checker.Scalar, other: object) -> bool:
        return isinstance(other, checker.Scalar) and residue_of(one) == residue_of(other)

    monkeypatch.setattr(checker.Scalar, "__eq__", equal)


def in_twelve_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Powers are packed into 12 bits each, and nothing looks before they run over."""
    monkeypatch.setattr(checker, "place", lambda index: 1 << 12 * index)
    monkeypatch.setattr(checker, "power_of", lambda key, index: key >> 12 * index & 4095)
    monkeypatch.setattr(checker, "degree", lambda a: 0)
    monkeypatch.setattr(checker, "letters_of", lambda a: {i for key in a for i in range(20) if key >> 12 * i & 4095})
    monkeypatch.setattr(checker, "_fields", lambda indices: sum(4095 << 12 * i for i in indices))


def loose_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 and 1 are taken for false and true."""
    monkeypatch.setattr(checker, "truth", lambda what, value: isinstance(value, bool | int) and value)


def last_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a key that stands twice the last one counts."""
    monkeypatch.setattr(checker, "_once", dict)


RELAPSES: dict[str, tuple[Callable, Any]] = {
    "residues": (by_residues, FALSE[f"modulo {PRIMES[0]}"]), "packed powers": (in_twelve_bits, FALSE["powers 16 and 16"]),
    "truth values": (loose_truth, LOOSE["equality 0"]), "the last key": (last_key, LOOSE["the last of two"]),
}  # fmt: skip


@pytest.mark.parametrize("name", RELAPSES)
def test_a_relapse_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, leak = RELAPSES[name]
    assert not accepted(copy.deepcopy(leak))
    plant(monkeypatch)
    assert accepted(copy.deepcopy(leak)), "the test of this kind would not see the leak"


def test_work_without_digits_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts of one product with long coefficients and of one with short ones differ."""
    short, long = ({checker.place(i): c for i in range(9)} for c in (3, 10**390))
    spent = []
    for a in (short, long):
        checker.LEFT["work"] = checker.LARGEST["work"]
        checker.let_go()
        checker.times(a, a)
        spent.append(checker.LARGEST["work"] - checker.LEFT["work"])
    assert spent[1] > 2 * spent[0]
