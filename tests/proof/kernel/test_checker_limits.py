"""The checker counts terms and digits before it multiplies: no file of 100 KB takes long, or much memory."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from fedtheory.proof import checker
from fedtheory.proof.saved_proofs import Unreadable, check_file
from tests.work import counted

from .written import LETTERS, accepted, constant, file, line


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
    none = {"multipliers": [zero] * count, "constant": zero, "squares": []}
    return file(letters(10), [free], first, line("combine", none,
                                                 [], premises=[0] * count))  # fmt: skip


LARGE = {
    "caps in caps": nested_caps(1, 3, 1), "with long numbers": nested_caps(1, 3, 300),
    "of two letters": nested_caps(2, 2, 390),
    "of high powers": nested_caps(60, 2, 1), "powers of quotients": powers_of_quotients(20, 3, 390),
    "of many terms": powers_of_quotients(20, 30, 1), "a large square": a_square(200, 1),
    "with numbers": a_square(36, 390),
    "premises": premises(1000),
    "denominators": file(LETTERS, [[]], constant({"top": [[[0, 0, i // 50, i % 50, 0], f"1/{10**380 + i}"]
                                                          for i in range(115)],
                                                  "bottom": [[[0] * 5, "1"]]})),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_large_files_take_seconds(name: str) -> None:
    text = json.dumps(LARGE[name], separators=(",", ":"))
    assert len(text) < 100_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with counted(4 * 10**7):
        accepted(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 * 1024


def many_intervals() -> dict:
    """A true theorem whose signs take a second, of a short file."""
    bounds = [[f"z{i}", "interval", ratio(10, spread(10, 3, 2, 1, 10, 2))] for i in range(8)]
    free = [[f"z{i}", "positive", None] for i in (8, 9)]
    return file(letters(10), [[*bounds, *free]], constant(ratio(10, spread(10, 4, 3, 1, 2, 10))))


def test_the_proofs_of_one_file_share_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(checker.LARGEST, "work", 1_000_000)
    one = json.dumps(many_intervals(), separators=(",", ":"))
    checker.check(json.loads(one))
    assert checker.LARGEST["work"] - checker.LEFT["work"] > checker.LARGEST["work"] / 20
    steps = [{"name": f"step {i}", "findings": [{"evidence": [{"type": "text", "data": one}]}]} for i in range(30)]
    path = tmp_path / "chain.json"
    path.write_text(json.dumps({"steps": steps}, separators=(",", ":")))
    assert path.stat().st_size < 100_000
    with pytest.raises(Unreadable, match="too large"), counted(4 * 10**7):
        check_file(path)


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


class Counted(str):
    """A text that counts how often one is compared with another."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str(self) == str(other)

    __hash__ = str.__hash__


def test_a_key_that_is_there_twice_is_found_at_once() -> None:
    """Also after many others: each compared with all took days, for a file of the size that is allowed."""
    with pytest.raises(ValueError, match="the key 'last' stands twice"):
        checker._once([(Counted(name), 0) for name in (*range(300), "last", "last")])
    assert Counted.compared < 3000


@pytest.mark.slow
def test_what_parses_to_much_is_bounded_by_its_size(tmp_path: Path) -> None:
    """Lists of lists are what takes most memory for a byte of JSON: some 40 bytes."""
    text = b"[[[[]]]]," * (checker.LARGEST["file"] // 9 - 1)
    deep, larger = tmp_path / "deep.json", tmp_path / "larger.json"
    deep.write_bytes(b"[" + text + b"0]")
    larger.write_bytes(b" " * (checker.LARGEST["file"] + 1))
    with counted(bytes=400 * 2**20):
        assert checker.main([str(deep)]) == checker.main([str(larger)]) == 2
    for each in (deep, larger):
        with pytest.raises(Unreadable):
            check_file(each)
