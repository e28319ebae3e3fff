"""The stand-alone checker compares exactly and reads strictly: what it accepts is a proof. Each leak
that it once had is planted again, and seen."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fedtheory.proof import checker
from fedtheory.proof.kernel.saved_theorems import saved

from .published import theorem_of
from .written import LETTERS, accepted, constant, file, line, number, scalar

PRIMES = (2**61 - 1, 2**31 - 1, 2**127 - 1)
"""The one by which scalars were once compared, and others that might be chosen."""

TEXTS = {name: json.dumps(saved(theorem_of(f"{name}@main"))) for name in ("safari.eq28", "safari.eq58")}
DATA = {name: json.loads(text) for name, text in TEXTS.items()}


# False theorems that were accepted once -------------------------------------------------------------------------------


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
    "equality 0": with_line(equality=0), "equality 0.0": with_line(equality=0.0),
    "equality null": with_line(equality=None),
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
    "the last of two": (json.dumps(ONE | {"theorems": [FALSE_ONE]})[:-1]
                        + f', "theorems": {json.dumps(ONE["theorems"])}}}'),
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
    """c + k p, or c/(1 + k p), for a coefficient c of a line, in what it states or in what its rule is given."""
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

    def split(a: dict, index: int) -> dict:
        found: dict = {}
        for key, c in a.items():
            p = key >> 12 * index & 4095
            found.setdefault(p, {})[key - (p << 12 * index)] = c
        return found

    monkeypatch.setattr(checker, "place", lambda index: 1 << 12 * index)
    monkeypatch.setattr(checker, "split_by_power", split)
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
    "residues": (by_residues, FALSE[f"modulo {PRIMES[0]}"]),
    "packed powers": (in_twelve_bits, FALSE["powers 16 and 16"]),
    "truth values": (loose_truth, LOOSE["equality 0"]), "the last key": (last_key, LOOSE["the last of two"]),
}  # fmt: skip


@pytest.mark.parametrize("name", RELAPSES)
def test_a_relapse_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, leak = RELAPSES[name]
    assert not accepted(copy.deepcopy(leak))
    plant(monkeypatch)
    assert accepted(copy.deepcopy(leak)), "the test of this kind would not see the leak"
