"""The checker's charts, scalars and sums of powers are those of flint."""

from __future__ import annotations

from flint import Ordering, fmpz_mpoly, fmpz_mpoly_ctx
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from fedtheory.proof import checker

from .written import constant, file

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
    top, bottom = p, q
    for index in (2, 3):  # letters of the values are others: set apart by parameters
        hold, one = GENS[len(MANY) + index], CONTEXT.constant(1)
        top, bottom = (put_in(part, index, hold, one) for part in (top, bottom))
    for index, (over, under) in ((2, (r, s)), (3, (t, u))):
        at = len(MANY) + index
        d, e = (int(part.degrees()[at]) for part in (top, bottom))
        top, bottom = put_in(top, at, over, under) * under**e, put_in(bottom, at, over, under) * under**d
    try:
        assert found.put(a, values) == checker.Scalar(*map(packed, (top, bottom)))
    except checker.Unfit as unfit:  # more terms than any proof takes: such examples say nothing
        assert "too large" in str(unfit)
        reject()


def packed(polynomial: fmpz_mpoly) -> dict:
    return {sum(int(p) * checker.place(i) for i, p in enumerate(powers)): int(c)
            for powers, c in polynomial.to_dict().items()}  # fmt: skip


@given(st.integers(0, 60), st.integers(0, 8))
def test_sums_of_powers(power: int, count: int) -> None:
    found = sum(c * count**i for i, c in enumerate(checker.power_sum(power)))
    assert found == sum(k**power for k in range(count))
