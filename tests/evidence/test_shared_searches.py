"""What searches of several claims have in common is computed once, and no search is another one for that."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedtheory.algorithms import fast
from fedtheory.claims.statement import Claim
from fedtheory.evidence.search import SearchReport, search
from fedtheory.papers import claim
from fedtheory.papers.fedau.examples import weight_search
from fedtheory.papers.flics.exact import branching_runs
from fedtheory.papers.flics.examples import selection_settings as settings
from fedtheory.papers.registry import subject_of
from fedtheory.papers.safari.examples import learning_problems
from fedtheory.papers.safari.examples import server_run_search as run_search
from fedtheory.setting import Setting
from fedtheory.subjects import quadratic_candidates

from .slips import slips

KEEPING = (
    quadratic_candidates.placed,
    run_search._with_server_noise,
    learning_problems.first_equal,
    weight_search._least_left,
    settings._setting_of,
    branching_runs._followed,
)

AFTER = [
    ("fast.eq29@main", "fast.eq30@main"),
    ("fast.thm2@main", "fast.thm2@sharp"),
    ("fast.thm1@sharp", "fast.thm1@averaged"),
    ("fast.cor3@corrected", "fast.rem3@main"),
    ("safari.thm4@corrected", "safari.thm4@averaged"),
    ("safari.eq58@main", "safari.eq65@main"),
    ("safari.lemma1.deficit@main", "safari.lemma1.deviation@corrected"),
    ("fedau.lemmaB_7_1@main", "fedau.lemmaB_7_1@sharp"),
    ("fedau.cor4@main", "fedau.cor4@corrected"),
    ("flics.thm1@corrected", "flics.thm1@received"),
]
"""Claims that are searched on the same candidates, one after the other."""

DEPTH: dict[str, Any] = {"candidates": 40, "climbs": 2, "steps": 4}


def forget() -> None:
    for kept in KEEPING:
        kept.cache_clear()


def searched(statement: Claim | str) -> tuple[Any, ...]:
    report: SearchReport = search(statement, **DEPTH)
    return report.best, report.best_late, report.leads, report.shares, report.admissible


def alone_and_after(first: Claim | str, second: Claim | str) -> tuple[Any, Any]:
    forget()
    alone = searched(second)
    forget()
    searched(first)
    return alone, searched(second)


@pytest.mark.parametrize(("first", "second"), AFTER, ids=lambda name: name)
def test_a_search_finds_the_same_alone_and_after_another_claim(first: str, second: str) -> None:
    alone, after = alone_and_after(first, second)
    assert after == alone and alone[0] is not None


def test_slips_are_seen_as_well_after_the_statement_itself() -> None:
    statements = [claim(name) for _, name in AFTER]
    found = [alone_and_after(claim(slip.id), slip) for slip in slips(statements, 9)]
    assert all(after == alone for alone, after in found)
    assert sum(bool(alone[2]) for alone, _ in found) >= 2  # some of them fall, which this is about


@pytest.mark.parametrize(("first", "second"), [AFTER[1], AFTER[4]], ids=lambda name: name)
def test_a_setting_kept_without_its_algorithm_is_noticed(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(self: Setting, algorithm: Any) -> Setting:
        return self.once("running", lambda: self._running(algorithm))

    forget()
    right = searched(second)
    monkeypatch.setattr(Setting, "running", careless)
    alone, after = alone_and_after(first, second)
    forget()
    assert after != right and (alone != right or after != alone)


def test_a_candidate_is_judged_alike_a_second_time() -> None:
    for _, name in AFTER:
        forget()
        statement = claim(name)
        space, rng = subject_of(statement).space(statement), np.random.default_rng(5)
        candidates = [space.draw(rng) for _ in range(20)]
        first = [space.assess(candidate) for candidate in candidates]
        assert [space.assess(candidate) for candidate in candidates] == first, name
        forget()
        assert [space.assess(candidate) for candidate in candidates] == first, name


def candidate_setting() -> Setting:
    space = subject_of(claim("fast.thm2")).space(claim("fast.thm2"))
    return quadratic_candidates.placed(next(space.structured()))


def test_a_setting_runs_each_algorithm_once_and_shares_what_none_of_them_changes() -> None:
    base = candidate_setting()
    one, other = (base.running(fast(cohort=1, local_lr=lr, snapshot_probability=0)) for lr in ("1/2", "1/4"))
    assert base.running(fast(cohort=1, local_lr="1/2", snapshot_probability=0)) is one is not other
    assert one.algorithm.local_lr == Fraction(1, 2) and other.algorithm.local_lr == Fraction(1, 4)
    values = [each.quantities(needed=["initial_gap", "initial_distance", "local_lr"]) for each in (one, other)]
    assert values[0]["initial_gap"] is values[1]["initial_gap"]
    assert [each["local_lr"].value for each in values] == [0.5, 0.25]
    plain = Setting(base.federation, one.algorithm, base.participation, base.start)
    assert plain.quantities(needed=["initial_gap", "initial_distance"]) == {
        name: values[0][name] for name in ("initial_gap", "initial_distance")
    }


def test_what_a_setting_keeps_is_not_sent_to_other_processes() -> None:
    running = candidate_setting().running(fast(cohort=1, local_lr="1/2", snapshot_probability=0))
    running.quantities(needed=["initial_gap"])
    again = pickle.loads(pickle.dumps(running))
    assert not {"_kept", "_of_any_algorithm"} & again.__dict__.keys()


def test_a_quantity_that_a_user_computes_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    base, answers = candidate_setting(), iter([1.0, 2.0])
    asked: Callable[[Any], float] = lambda question: next(answers)  # noqa: E731 - it is replaced by name
    known = quadratic_candidates.QUANTITIES
    monkeypatch.setitem(known, "smoothness", _with_compute(known["smoothness"], asked))
    found = [quadratic_candidates.known_of(base, ["smoothness"])["smoothness"].value for _ in range(2)]
    forget()
    assert found == [1.0, 2.0]


def _with_compute(known: Any, compute: Callable[[Any], float]) -> Any:
    from dataclasses import replace

    return replace(known, compute=compute)


def test_keys_of_what_is_kept_tell_horizons_apart() -> None:
    """Planted: a key without the horizons gives one horizon's left sides for another's."""
    asked: list[Hashable] = []
    original = Setting.once

    def noting(self: Setting, what: Hashable, compute: Callable[[], Any]) -> Any:
        asked.append(what)
        return original(self, what, compute)

    statement = claim("fast.thm2")
    space, setting = subject_of(statement).space(statement), candidate_setting()
    setting = setting.running(fast(cohort=2, local_lr="1/10", snapshot_probability="1/2"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Setting, "once", noting)
        found = [space._errors(setting, np.array(horizons)) for horizons in ([1, 10], [1, 20], [1, 10])]
    lefts = [what for what in asked if isinstance(what, tuple) and what[0] == "left"]
    assert len(set(lefts)) == 2 and (found[0] == found[2]).all() and found[0][1] != found[1][1]
