"""The rounds between two participations: every theorem, also those on the way, evaluated exactly by enumerating who
takes part when; what the kernel and the checker refuse; and the proofs with one thing changed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log

import pytest

from fedtheory.papers.fedau.proofs import thm3 as composed
from fedtheory.papers.fedau.proofs.thm3 import (
    ANY,
    EARLY,
    FROM_0,
    HISTORY,
    LATE,
    MEAN,
    RING,
    SQUARE,
    C,
    a,
    b,
    m,
    p,
    q,
    t,
)  # fmt: skip
from fedtheory.proof.kernel.forms import Entry, Form, Product
from fedtheory.proof.kernel.participation_intervals import Intervals
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem, combine

from .models import Exact, _inside, valued
from .models import exact as F

COMPOSED: dict[str, Callable[[], Theorem]] = {
    name: getattr(composed, name) for name in (
        "length", "squared_length", "split", "by_intervals", "by_rounds", "late", "late_blocks", "late_absence",
        "late_rounded", "early_absence", "early_cutoff", "early_rounded", "early", "early_given",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Comings:
    """A client, ``history`` rounds of whose participation make a weight, with intervals of at most ``cutoff`` rounds.
    ``law``: "independent", or "the first again" in every round."""

    chance: Exact
    cutoff: int
    history: int
    law: str = "independent"

    @cached_property
    def ways(self) -> list[tuple[Exact, dict[str, Exact]]]:
        """(probability, the numbers' values)."""
        if self.law != "independent":
            both = ((True, self.chance), (False, 1 - self.chance))
            return [(share, self._values((came,) * (self.history + self.cutoff))) for came, share in both]
        made = []
        for came in itertools.product((True, False), repeat=max(self.history, self.cutoff)):
            share = self.chance ** sum(came) * (1 - self.chance) ** (len(came) - sum(came))
            made.append((share, self._values(came)))
        return made

    def _values(self, came: tuple[bool, ...]) -> dict[str, Exact]:
        lengths, length = [], 0
        for number, here in enumerate(came):
            length += 1
            if here or length == self.cutoff:
                lengths.append((number + 1, length))
                length = 0
        ended = [size for end, size in lengths if end <= self.history]
        weight, some = F(sum(ended)) / len(ended) if ended else F(1), F(bool(ended))
        first = F(lengths[0][1])
        return {"unit": F(1), "interval": first, "weight": weight, "unit_ended": some, "interval_ended": some * first,
                "weight_ended": some * weight}  # fmt: skip

    @property
    def numbers(self) -> dict[str, Exact]:
        absent, blocks = 1 - self.chance, self.history // self.cutoff
        return {"p": self.chance, "C": F(self.cutoff), "a": absent**self.cutoff, "t": F(self.history),
                "b": absent**self.history, "m": F(blocks), "r": F(self.history % self.cutoff)}  # fmt: skip

    def mean(self, entry: Entry) -> Exact:
        if isinstance(entry, str):
            return F(1)
        assert isinstance(entry, Product)
        return sum((share * x[entry.left.atom.name] * x[entry.right.atom.name] for share, x in self.ways), F(0))

    def value(self, form: Form) -> Exact:
        return sum((valued(c, self.numbers) * self.mean(entry) for entry, c in form.entries.items()), F(0))

    def slack(self, theorem: Theorem) -> Exact | None:
        """The least slack, minus the distance from 0 of an equality; none outside of the theorem's region, and where
        its parameters are others."""
        own = {"absence": 1 - self.chance, "cutoff": F(self.cutoff), "tail": self.numbers["a"],
               "history": F(self.history), "head": self.numbers["b"], "ended": self.numbers["m"]}  # fmt: skip
        at = self.numbers
        if not _inside(theorem, at) or any(valued(c, at) != own[name] for name, c in theorem.parameters):
            return None
        value = self.value(theorem.form)
        return -abs(value) if theorem.equality else value


MODELS = [
    Comings(chance, cutoff, history)
    for chance in (F(0), F(1, 3), F(4, 5), F(1)) for cutoff in (1, 2, 3) for history in (0, 1, 2, 4, 7)
]  # fmt: skip


def every() -> list[Theorem]:
    return list({id(each): each for make in COMPOSED.values() for each in ancestry(make())}.values())


def least(of: list[Theorem], model: Comings) -> list[tuple[Theorem, Exact]]:
    """The least slack of each theorem, where it speaks of the model."""
    return [(each, slack) for each in of if (slack := model.slack(each)) is not None]


def slacks(theorem: Theorem) -> Iterator[Exact]:
    return (slack for model in MODELS if (slack := model.slack(theorem)) is not None)


def test_every_theorem_holds() -> None:
    theorems = every()
    assert len(theorems) >= 40
    for theorem in theorems:
        found = list(slacks(theorem))
        assert len(found) >= 4 and all(slack >= 0 for slack in found), theorem


def test_only_what_names_a_violated_assumption_fails() -> None:
    model = [Comings(F(1, 3), cutoff, history, "the first again") for cutoff, history in ((3, 1), (3, 7), (2, 4))]
    failed = [each for each in every() if any((each_slack := one.slack(each)) is not None and each_slack < 0
                                             for one in model)]  # fmt: skip
    assert len(failed) >= 8 and all(("independent_participation", None) in each.assumptions for each in failed)


def test_the_bounds_are_near_what_they_bound() -> None:
    """(b) is an equality where m C = t <= C, and every round's error is q where nobody ever takes part."""
    assert min(abs(s) for s in slacks(composed.by_intervals())) == 0
    never = Comings(F(0), 2, 1)
    assert never.slack(composed.early_absence()) == 0


LAW, EARLY_LAW, LATE_LAW = Intervals(ANY, q, C, a), Intervals(FROM_0, q, C, a), Intervals(LATE, q, C, a)
one = RING.number(1)


REFUSED = {
    "another first moment": lambda: LAW.moment(1, MEAN + a / 100),
    "one that is right for C = 1": lambda: LAW.moment(1, 1 - a + (C - 1) * a),
    "one that grows rightly": lambda: LAW.moment(1, 2 - a),
    "another second moment": lambda: LAW.moment(2, SQUARE - p),
    "a third moment": lambda: LAW.moment(3, SQUARE),
    "a moment that divides by C": lambda: LAW.moment(1, MEAN * (1 + 0 * C) / C),
    "another early moment": lambda: EARLY_LAW.early_moment(1, EARLY[1] + b, t, b),
    "one that starts elsewhere": lambda: EARLY_LAW.early_moment(0, EARLY[0] + 1, t, b),
    "early from the cutoff on": lambda: LAW.early_moment(0, EARLY[0], t, b),
    "early weights in all rounds": lambda: LATE_LAW.early_weight(p, -one, HISTORY, b),
    "early weights, given an interval, in all rounds": lambda: LATE_LAW.early_given(p, -one, HISTORY, b),
    "late before the cutoff": lambda: EARLY_LAW.mean_ended(t),
    "one interval more": lambda: LATE_LAW.spread_ended(composed.mean(), m + 1, HISTORY),
    "no interval": lambda: LATE_LAW.spread_ended(composed.mean(), 0 * m, HISTORY),
    "a spread around what is no mean": lambda: LATE_LAW.spread_ended(LAW.moment(2, SQUARE), m, HISTORY),
    "a spread from an inequality": lambda: LATE_LAW.spread_ended(
        combine([(composed.mean(), 1)], where=ANY, context="run", constant=one), m, HISTORY),
    "a spread of other intervals": lambda: Intervals(LATE, q, C, b).spread_ended(composed.mean(), m, HISTORY),
    "the cutoff's own power for another number": lambda: Intervals(ANY, q, C, 2 * a),
    "a cutoff that is a number": lambda: Intervals(ANY, q, one, a),
    "one letter for two": lambda: Intervals(ANY, q, C, C),
    "an absence that may be above 1": lambda: Intervals(ANY, C, C, a),
    "an absence that depends on the cutoff": lambda: Intervals(ANY, a, C, a),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    with pytest.raises(ValueError):
        REFUSED[what]()


def test_sums_over_the_rounds() -> None:
    """What ``average_errors`` takes of logarithms, and how near it is."""
    for rounds in range(2, 80):
        assert sum(1 / t for t in range(1, rounds)) <= 1 + log(rounds)
        for cutoff in range(1, rounds + 1):
            blocks = sum(1 / (t // cutoff) for t in range(cutoff, rounds))
            assert blocks <= cutoff * (1 + log(rounds / cutoff))
    assert sum(1 / (t // 40) for t in range(40, 79)) > 40 * 0.57 * (1 + log(79 / 40))


def test_cutoffs_that_grow_with_the_logarithm() -> None:
    """What ``choose_cutoff`` takes of C = ceil(R log T), f = c = 1, s = 1 or 2."""
    closest = 0.0
    for rounds, chance in itertools.product((2, 3, 5, 10, 100, 10**4, 10**6), (0.999, 0.9, 0.5, 0.1, 0.01)):
        R, l = -1 / (2 * log(1 - chance)), log(rounds)
        cutoff = ceil(R * l)
        assert (1 - chance) ** (2 * cutoff) <= 1.0000001 / rounds
        for s in (1, 2):
            most = (2 * s + (2 * (1 + s) + 1) / log(2)) * R * l**2 / rounds
            assert most >= 6 * R * l**2 / rounds
            if cutoff > 1:
                assert (cutoff * (1 + s * (1 + l)) + 1) / rounds <= most
            closest = max(closest, ((1 - chance) ** 2 if cutoff == 1 else 0) / (6 * R * l**2 / rounds))
        assert cutoff <= rounds or 6 * R * l**2 / rounds >= 1
    assert 0.2 < closest <= 1
