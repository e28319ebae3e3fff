"""From data to capacity, relatedness and bounds: hand-made data, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.data import Dataset
from fedtheory.learning import data_estimates
from fedtheory.learning.data_estimates import learnability, present_in
from fedtheory.participation import Fixed, Incomplete, Uniform


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 200)
    return Dataset("toy", np.eye(3)[labels] + 0.4 * rng.standard_normal((600, 3)), labels, classes=3)


def test_everyone_alike_is_hardly_apart(data: Dataset) -> None:
    alike = learnability(data, 4, [0, 1, 2], concentration=1000.0, server_samples=50, resamples=30)
    apart = learnability(data, 4, [0], concentration=0.05, server_samples=50, resamples=30)
    assert alike.gap.value < 0.05 < apart.gap.value
    assert alike.omega == 0.75 and apart.omega == 0.25 and apart.unavoidable == 0.75
    for found in (alike, apart):
        assert found.alpha.low <= found.alpha.value <= found.alpha.high
        assert 0 < found.client_share < 1 and found.client_samples > 0
        assert found.always == pytest.approx(max(1.0, found.client_samples / found.server_samples))
        assert all(0 <= risk <= 1 for risk in found.risk.values())


def test_more_server_samples_lower_theorem_3(data: Dataset) -> None:
    bounds = [learnability(data, 4, [0, 1], server_samples=n, resamples=5).bounds["theorem 3"] for n in (20, 200)]
    assert bounds[1] < bounds[0]


def test_the_servers_sample_is_of_different_rows(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, drawn = data_estimates._fitted, []
    monkeypatch.setattr(data_estimates, "_fitted", lambda data, server, *rest: drawn.append(server) or
                        fitted(data, server, *rest))  # fmt: skip
    rows = len(data.labels) // 2  # those to fit on, all of them
    learnability(data, 4, [0, 1], server_samples=rows, resamples=2)
    assert len(drawn[0]) == len({*drawn[0].tolist()}) == rows


def test_who_takes_part() -> None:
    assert present_in(Incomplete(Uniform(2), absent=[1]), clients=4, rounds=50) == [0, 2, 3]
    assert present_in(Fixed([0]), clients=2, rounds=1) == [0]


def test_bad_input(data: Dataset) -> None:
    for changes, what in (
        ({"present": [0, 1, 2, 3]}, "capacity = 4/4"), ({"present": [7]}, "allowed are clients 0 to 3"),
        ({"present": []}, "at least one"), ({"server_samples": 10**6}, "server_samples = 1000000"),
        ({"beta": -1}, "beta = -1"), ({"confidence": 2}, "confidence = 2"), ({"resamples": 1}, "resamples = 1"),
        ({"concentration": 0}, "concentration = 0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=what):
            learnability(data, 4, **{"present": [0], "resamples": 5, **changes})


def test_the_command() -> None:
    runner = CliRunner()
    asked = ["learnability", "digits", "--clients", "6", "--participants", "3", "--rows", "600", "--server", "40"]
    shown = runner.invoke(app, asked)
    assert shown.exit_code == 0 and "capacity: 0.5" in shown.output and "Theorem 3: excess risk at most" in shown.output
    content = json.loads(runner.invoke(app, [*asked, "--json"]).output)
    assert content["omega"] == 0.5 and content["server_samples"] == 40 and len(content["present"]) == 3
    assert isinstance(runner.invoke(app, ["learnability", "--participants", "10"]).exception, ValueError)
