"""The diagnosis of a log: the same through every reader, by other names and another clock; and what it says."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedtheory as ft
from fedtheory.cli.statuses import run
from fedtheory.diagnosis import (
    calendar_effects,
    changes,
    detectable_difference,
    diagnose,
    implied_objectives,
    least_excess,
    overdispersion,
    pairs_together,
    power,
    rates,
    replicas_to_detect,
    rounds_to_detect,
    weight_errors,
)
from fedtheory.diagnosis.client_rates import Change
from fedtheory.diagnosis.time_dependence import Runs, length_test, number_of_runs_test
from fedtheory.moments.stationary import stationary
from fedtheory.participation import Recorded, read_log
from fedtheory.weights import FedAU

NAMES = ("ann", "bob", "cyd", "dan", "eve")
ROUNDS = 240


def mask(seed: int = 0, rounds: int = ROUNDS) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.random((rounds, len(NAMES))) < [0.2, 0.5, 0.6, 0.35, 0.0]
    found[0, 0] = found[-1, 1] = True  # so that every form knows where the log begins and ends
    return found


def rounds_file(path: Path, log: np.ndarray, names: tuple[str, ...] = NAMES) -> Path:
    path.write_text("round,client\n" + "".join(f"{r},{names[i]}\n" for r, i in zip(*np.nonzero(log), strict=True)))
    return path


def without_clock(content: dict) -> dict:
    return {k: v for k, v in content.items() if k not in ("told", "unit", "width", "calendar")}


def test_one_log_through_each_reader_has_one_diagnosis(tmp_path: Path) -> None:
    log = mask()
    edges = np.diff(np.vstack([np.zeros((1, 5), bool), log, np.zeros((1, 5), bool)]).astype(int), axis=0)
    runs = [(NAMES[i], s, int(np.flatnonzero(edges[s + 1 :, i] == -1)[0]) + s + 1)
            for s, i in np.argwhere(edges == 1).tolist()]  # fmt: skip
    files = {"rounds": rounds_file(tmp_path / "rounds.csv", log)}
    for name, text in {
        "mask": ",".join(NAMES) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in log.astype(int)),
        "intervals": "client,start,end\n" + "".join(f"{n},{s},{e}\n" for n, s, e in runs),
        "transitions": "client,time,state\n" + "".join(
            f"{n},{at},{w}\n" for n, s, e in runs for at, w in ((s, "on"), (e, "off"))),
        "traffic": "round,sender,receiver\n" + "".join(
            f"{r},{NAMES[i]},hub\n" for r, i in zip(*np.nonzero(log), strict=True)),
    }.items():  # fmt: skip
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text(text)
    files["fedscale"] = tmp_path / "fedscale.json"
    files["fedscale"].write_text(json.dumps({
        n: {"active": [s for m, s, _ in runs if m == n], "inactive": [e for m, _, e in runs if m == n],
            "finish_time": ROUNDS} for n in NAMES}))  # fmt: skip
    files["flash"] = tmp_path / "flash.json"
    at = datetime(2026, 1, 1, tzinfo=UTC)
    files["flash"].write_text(json.dumps({
        n: {"messages": "\n".join(f"{(at + timedelta(minutes=t)).isoformat()}\t{what}" for m, s, e in runs if m == n
                                  for t, what in ((s, "battery_charged_on"), (e, "battery_charged_off")))}
        for n in NAMES}))  # fmt: skip
    found = {}
    for name, file in files.items():
        options = {"where": ["charging"]} if name == "flash" else {"server": "hub"} if name == "traffic" else {}
        read = read_log(file, name, names=NAMES, **options)
        width = None if read.unit == "rounds" else 60.0 if name == "flash" else 1.0
        found[name] = without_clock(diagnose(read, width=width).to_json())
    assert all(each == found["rounds"] for each in found.values()), [n for n in found if found[n] != found["rounds"]]
    assert found["rounds"]["never"] == ["eve"] and found["rounds"]["family"]["name"] == "Bernoulli"


def test_other_names_and_another_order_change_labels_alone(tmp_path: Path) -> None:
    log, order = mask(1), [3, 0, 4, 2, 1]
    one = diagnose(read_log(rounds_file(tmp_path / "a.csv", log), names=NAMES)).to_json()
    called = tuple("vwxyz"[order.index(i)] for i in range(5))
    other = diagnose(read_log(rounds_file(tmp_path / "b.csv", log, called), names=sorted(called))).to_json()
    back = dict(zip(called, NAMES, strict=True))

    def renamed(content: object) -> object:
        if isinstance(content, dict):
            return {back.get(k, k): renamed(v) for k, v in content.items()}
        if isinstance(content, str):
            return " ".join(back.get(word, word) for word in content.split(" "))
        return [renamed(v) for v in content] if isinstance(content, list) else content

    assert renamed(other) == one


def dated(path: Path, log: np.ndarray, begins: datetime, step: timedelta) -> Path:
    lines = [f"{NAMES[i]},{(begins + int(r) * step).isoformat()},{(begins + (int(r) + 1) * step).isoformat()}\n"
             for r, i in zip(*np.nonzero(log), strict=True)]  # fmt: skip
    path.write_text("client,start,end\n" + "".join(lines))
    return path


def test_a_shifted_clock_changes_labels_alone(tmp_path: Path) -> None:
    log, begins = mask(2), datetime(2026, 1, 5, tzinfo=UTC)
    log[:, 1:4] &= np.arange(ROUNDS)[:, None] % 24 < 12
    one, other = (
        diagnose(read_log(dated(tmp_path / f"{h}.csv", log, begins + timedelta(hours=h), timedelta(hours=1)),
                          names=NAMES), width=3600.0).to_json()
        for h in (0, 48)
    )  # fmt: skip
    assert without_clock(one) == without_clock(other)
    assert one["calendar"]["hour"] == other["calendar"]["hour"] and one["calendar"]["hour"]["p"] < 0.01
    assert np.allclose(np.roll(one["calendar"]["weekday"]["means"], 2), other["calendar"]["weekday"]["means"])


CHANGES = [
    ("Europe/Berlin", (2026, 3, 25), [6, 7]),
    ("Europe/Berlin", (2026, 10, 21), [6, 7]),
    ("America/St_Johns", (2026, 3, 4), [10, 11, 12]),  # 3.5 hours behind, and 2.5
    ("America/St_Johns", (2026, 10, 28), [10, 11, 12]),
    ("Australia/Lord_Howe", (2026, 4, 1), [21, 22]),  # 11 hours ahead, and 10.5
    ("Australia/Lord_Howe", (2026, 9, 30), [21, 22]),
]
"""Zones, the day on which a week with a change begins, and the hours in UTC of what is at 8 o'clock."""


@pytest.mark.parametrize(("name", "day", "moved"), CHANGES)
@pytest.mark.parametrize("offsets", [True, False])
def test_a_week_with_a_change_of_daylight_time_is_read_in_local_hours(
    tmp_path: Path, name: str, day: tuple[int, int, int], moved: list[int], offsets: bool
) -> None:
    """Clients who come at 8 o'clock, local time, come at 8 on both sides of the change."""
    zone, half = ZoneInfo(name), 1800.0
    rows = []
    for number in range(8):
        at = datetime(*day, 8, tzinfo=zone) + timedelta(days=number)  # the clock's time stays
        times = [each.isoformat()[: None if offsets else 19] for each in (at, at.replace(hour=9))]
        rows += [f"{client},{','.join(times)}\n" for client in NAMES[:3]]
    file = tmp_path / "log.csv"
    file.write_text("client,start,end\n" + "".join(rows))
    ends = datetime(*day, 8, tzinfo=zone) + timedelta(days=8)
    log = read_log(file, tz=None if offsets else name, until=ends.isoformat())
    assert (log.end - log.start == 3600).all()
    hour, weekday = diagnose(log, width=half, tz=zone).calendar
    assert hour.means[hour.labels.index(8)] == 3 and sum(hour.means) == 3 and hour.p is not None and hour.p < 0.01
    assert weekday.p is None and weekday.missing == 2  # of three weeks
    (wrong, _) = calendar_effects(log.mask(half).sum(axis=1).astype(float), log.begins, half)
    assert sorted(wrong.labels[k] for k in np.flatnonzero(wrong.means)) == moved  # in UTC they move


# What is said ---------------------------------------------------------------------------------------------------------


def test_who_joined_left_or_changed_is_found_at_a_family_wise_level() -> None:
    rng = np.random.default_rng(4)
    steady = rng.random((400, 60)) < rng.uniform(0.1, 0.6, 60)
    assert sum(bool(changes(rng.random((200, 40)) < 0.3, np.ones(40))) for _ in range(30)) <= 6  # 1.5 are expected
    log = steady.copy()
    log[:150, 0], log[260:, 1], log[:200, 2] = False, False, steady[:200, 2] | (rng.random(200) < 0.6)
    log[200:, 2] = rng.random(200) < 0.05
    found = {each.client: each for each in changes(log, rates(log).inflation)}
    assert found.keys() == {0, 1, 2}
    assert (found[0].kind, found[1].kind, found[2].kind) == ("joined", "left", "changed")
    assert 150 <= found[0].round <= 170 and 245 <= found[1].round <= 260 and abs(found[2].round - 200) < 15
    assert isinstance(found[0], Change) and found[0].before == 0.0 < found[0].after


def test_a_long_memory_is_not_taken_for_a_change() -> None:
    chain = (
        ft.participation.history(
            ft.participation.Markov(["1/2"] * 50, ["1/40"] * 50), 50, 600, replicas=10, seed=1
        ).numpy()
        > 0
    )
    wrong = sum(bool(changes(chain[:, k], rates(chain[:, k]).inflation)) for k in range(10))
    assert wrong <= 3  # 1 is expected at 5%
    assert all(changes(chain[:, k], np.ones(50)) for k in range(5))  # without the correction for memory


def test_lengths_of_runs_have_the_moments_of_all_ways_to_split_them() -> None:
    """Enumerated: 4 runs of 9 rounds."""
    ways = [(a, b, c, 9 - a - b - c) for a in range(1, 7) for b in range(1, 7) for c in range(1, 7)
            if 9 - a - b - c >= 1]  # fmt: skip
    z = np.array([length_test(Runs(np.zeros(4, int), np.array(way)), 1) for way in ways])
    assert z.mean() == pytest.approx(0, abs=1e-12) and (z**2).mean() == pytest.approx(1)


def test_number_of_changes_has_the_moments_of_all_orders() -> None:
    from itertools import permutations

    orders = {*permutations([True] * 3 + [False] * 4)}
    z = np.array([number_of_runs_test(np.array(order)[:, None]) for order in orders])
    assert z.mean() == pytest.approx(0, abs=1e-12) and (z**2).mean() == pytest.approx(1)


def test_dependence_between_clients_is_found_where_it_is() -> None:
    rng = np.random.default_rng(0)
    alone = rng.random((500, 30)) < 0.4
    found = overdispersion(alone, 1)
    assert not found.found and abs(found.correlation) < 0.01 and pairs_together(alone, np.ones(30)) == []
    together = alone.copy()
    together[:, 1] = together[:, 0]
    (pair,) = pairs_together(together, np.ones(30)) or []
    assert (pair.one, pair.other) == (0, 1) and pair.correlation == pytest.approx(1, abs=1e-5)
    shocked = rng.random((500, 30)) < 0.4 * rng.uniform(0.3, 1.7, (500, 1))
    assert overdispersion(shocked, 1).low > 1.5


def test_implied_objectives_are_means_of_the_log() -> None:
    log = np.array([[1, 1], [1, 0], [1, 0], [0, 1], [0, 0]], dtype=bool)
    fair = np.array([0.5, 0.5])
    mean, everyone, fedau, memory = implied_objectives(log, fair, [2.0], block=1, labels=np.eye(2))
    assert mean.weight.tolist() == [2.5 / 4, 1.5 / 4] and everyone.weight.tolist() == [0.6, 0.4]
    weighted = (FedAU(2.0).batch(log) * log).sum(axis=0)
    assert fedau.weight.tolist() == (weighted / weighted.sum()).tolist() and memory.weight.tolist() == [0.5, 0.5]
    assert mean.distance == 0.125 and mean.worst == 0.25 and mean.typical == pytest.approx(0.125 * math.sqrt(2))
    assert mean.labels is not None and mean.labels.tolist() == mean.weight.tolist()


def test_the_implied_objective_is_where_runs_on_the_log_settle() -> None:
    """Exact moments on the repeated log settle at the minimiser of sum_i phi_i F_i, as the step goes to 0."""
    log = mask(3, rounds=40)[:, :4]
    fed = ft.federations.Quadratic.common_hessian(offsets=[3.0, -1.0, 0.0, -2.0])
    setting = ft.Setting(fed, ft.algorithms.fedavg(local_lr="1/10000"), Recorded(log, after="repeat"))
    (phi, *_) = implied_objectives(log, np.full(4, 0.25), [], block=1)
    centres = [3.0, -1.0, 0.0, -2.0]
    minimiser = ft.weights.objective_minimiser(phi.weight.tolist(), [[1]] * 4, [[c] for c in centres])
    settled = float(np.asarray(stationary(setting).mean, dtype=float).ravel()[0])
    assert settled == pytest.approx(abs(float(minimiser[0])), abs=2e-3) or settled == pytest.approx(
        float(minimiser[0]), abs=2e-3
    )


def test_weight_errors_are_those_of_the_weights_on_the_log() -> None:
    log = mask(5)
    p = log[:, :4].mean(axis=0)
    expected = ((FedAU(10.0).batch(log[:, :4]) * p - 1) ** 2).mean()
    assert weight_errors(log, [10.0])[10.0] == pytest.approx(float(expected), rel=1e-12)


@given(st.floats(0.05, 3), st.integers(2, 60), st.booleans())
def test_power_rises_and_its_inverses_agree(difference: float, number: int, paired: bool) -> None:
    found = power(difference, 1.0, number, paired=paired)
    assert 0.05 - 1e-9 <= found <= power(difference, 1.0, number + 1, paired=paired) + 1e-9
    needed = replicas_to_detect(difference, 1.0, paired=paired)
    assert power(difference, 1.0, needed, paired=paired) >= 0.8
    assert needed == 2 or power(difference, 1.0, needed - 1, paired=paired) < 0.8
    assert detectable_difference(1.0, needed, paired=paired) <= difference * (1 + 1e-6)


def test_a_difference_that_less_than_a_billion_tell_is_told() -> None:
    needed = replicas_to_detect(1.4976e-4, 1.0)
    assert 2**29 < needed < 10**9 and power(1.4976e-4, 1.0, needed) >= 0.8
    with pytest.raises(ValueError, match="a billion do not tell it"):
        replicas_to_detect(1e-4, 1.0)
    for chance in (0, 1, 1.5):
        with pytest.raises(ValueError, match=f"chance = {chance}: allowed is"):
            detectable_difference(1.0, 10, chance=chance)


def test_power_is_how_often_a_test_finds_the_difference() -> None:
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    found = np.mean([ttest_ind(rng.normal(size=12), rng.normal(1.0, size=12)).pvalue < 0.05 for _ in range(1000)])
    assert found == pytest.approx(power(1.0, 1.0, 12), abs=4 * math.sqrt(0.25 / 1000))
    rounds = rounds_to_detect(0.1, 0.5)
    seen = rng.random((2000, rounds)).__lt__(0.6).mean(axis=1)
    assert np.mean(np.abs(seen - 0.5) > 1.96 * 0.5 / math.sqrt(rounds)) == pytest.approx(0.8, abs=0.03)


def test_an_interval_lies_above_by_the_least_excess_in_four_cases_of_five() -> None:
    from scipy.stats import t as student

    samples = np.random.default_rng(1).normal(size=(4000, 8))
    edge = student.isf(0.005, 7) / math.sqrt(8)
    excess = least_excess(edge, 8)  # of samples of deviation 1
    low = excess + samples.mean(axis=1) - edge * samples.std(axis=1, ddof=1)
    assert (low > 0).mean() == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 4000))


def test_a_log_that_is_too_short_says_how_much_is_missing(tmp_path: Path) -> None:
    short = diagnose(read_log(rounds_file(tmp_path / "short.csv", mask(rounds=20)), names=NAMES))
    assert short.family is None and "40 more are needed" in str(short)
    assert short.assumptions()["independent_participation"]["answer"] == "cannot be told from this log"
    file = tmp_path / "few.csv"
    file.write_text("client,start,end\na,0,50\nb,20,100\n")
    assert "comings and goings are too few" in str(diagnose(read_log(file), width=1.0))


def test_assumptions_are_refuted_by_what_violates_them(tmp_path: Path) -> None:
    log = mask(6)
    fine = diagnose(read_log(rounds_file(tmp_path / "a.csv", log))).assumptions()
    assert [fine[k]["answer"] for k in ("independent_participation", "stationary_availability", "everybody comes",
                                        "cohort_before_noise")] == [
        "not violated", "not violated", "not violated", "cannot be told from this log"]  # fmt: skip
    log[:, 3] = np.roll(log[:, 2], 1)
    log[:100, 0] = False
    bad = diagnose(read_log(rounds_file(tmp_path / "b.csv", log), names=NAMES)).assumptions()
    assert [bad[k]["answer"] for k in ("stationary_availability", "everybody comes")] == ["violated", "violated"]
    assert "eve never came" in bad["everybody comes"]["why"]


def test_bad_arguments_are_one_line(tmp_path: Path) -> None:
    log = read_log(rounds_file(tmp_path / "a.csv", mask()))
    for options, said in (
        ({"samples": {"ann": 1.0}}, "samples: client 'bob' has none"),
        ({"labels": {name: [0.0] for name in NAMES}}, "labels: allowed are finite numbers >= 0, not all 0"),
        ({"level": 2.0}, "level = 2.0"),
        ({"width": 3.0}, "nothing for a log of rounds"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            diagnose(log, **options)
    with pytest.raises(ValueError, match=r"log is 'log.csv'"):
        diagnose("log.csv")  # type: ignore[arg-type]


def test_the_command_prints_a_screen_and_writes_every_number(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", "120")
    file, roster = rounds_file(tmp_path / "log.csv", mask()), tmp_path / "roster.csv"
    roster.write_text("client,samples\n" + "".join(f"{n},{k + 1}\n" for k, n in enumerate(NAMES)))
    options = ["diagnose", str(file), "--roster", str(roster), "--samples", str(roster)]
    assert run([*options, "--json", str(tmp_path / "out.json")]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 30 and "Never came: 1 (eve)" in text and "against n_i/n" in text
    written = json.loads((tmp_path / "out.json").read_text())
    assert run([*options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == written and written["never"] == ["eve"]
    roster.write_text("client\nann\nann\n")
    assert run([*options[:4]]) == 2 and "line 3: client 'ann' is there twice" in capsys.readouterr().err


def test_the_page_is_one_file_with_every_number(tmp_path: Path) -> None:
    from fedtheory.report.diagnosis_page import diagnosis_page

    names = ("<b>", *NAMES[1:])
    begins = datetime(2026, 1, 5, tzinfo=UTC)
    lines = [f"{names[i]},{(begins + timedelta(hours=r)).isoformat()},{(begins + timedelta(hours=r + 1)).isoformat()}"
             for r, i in np.argwhere(mask(rounds=120)).tolist()]  # fmt: skip
    file = tmp_path / "log.csv"
    file.write_text("\n".join(["client,start,end", *lines]))
    found = diagnose(read_log(file), width=3600.0)
    page = diagnosis_page(found, "a <log>")
    assert page.count("<figure>") == 6 and "http" not in page.replace("http-equiv", "") and "<b>" not in page
    (numbers,) = re.findall(r'<script type="application/json" id="diagnosis">(.*?)</script>', page, re.DOTALL)
    assert json.loads(numbers) == json.loads(json.dumps(found.to_json()))


def test_a_page_speaks_of_nights_where_rounds_have_times_alone(tmp_path: Path) -> None:
    from fedtheory.report.diagnosis_page import diagnosis_page

    log = read_log(rounds_file(tmp_path / "log.csv", mask(rounds=40)), names=NAMES)
    page = diagnosis_page(diagnose(log), "without times")
    assert "the rarest on top." in page and "nights" not in page


def test_theorems_are_told_what_the_log_violates() -> None:
    from fedtheory.evidence.assumptions_on_logs import theorems_on_log

    answers = {"independent_participation": {"answer": "violated"}, "cohort_before_noise": {"answer": "not told"}}
    table = theorems_on_log(answers)
    assert table and all({*row} <= {*answers} for row in table.values())
    assert {"violated", "not told"} == {each for row in table.values() for each in row.values()}
