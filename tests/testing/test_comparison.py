"""Estimators beside each other: exact moments against simulated ones, and what is shown."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.participation import Bernoulli, Cyclic, Fixed, Markov, Phases, Uniform
from fedtheory.testing import compare_weight_estimators
from fedtheory.weights import FedAU, KnownStatistics


class Same(FedAU):
    """The rule, of whose moments nothing is known."""


def ratio(history):
    before = np.cumsum(history, axis=0, dtype=float) - history
    return (np.arange(len(history))[:, None] + 1) / (before + 1)


PROCESSES = {
    "bernoulli": (Bernoulli(["1/10", "1/2"]), 2),
    "markov": (Markov(["1/10", "1/2"], ["1/20", "1/4"]), 2),
    "cyclic": (Cyclic(["1/10", "1/2"], 10), 2),
    "uniform": (Uniform(1), 3),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_exact_moments_are_those_of_histories(name: str) -> None:
    """6 standard errors of a mean; a variance of 2000 histories is known to a tenth."""
    process, clients = PROCESSES[name]
    options = {"rounds": 60, "replicas": 2000, "cutoffs": (10,)}
    found = compare_weight_estimators({"simulated": Same(10)}, process, clients, **options)
    seen, exact = found.names.index("simulated"), found.names.index("FedAU, K = 10")
    assert found.exact[exact] and not found.exact[seen]
    away = np.abs(found.bias[seen] - found.bias[exact])
    assert (away <= 6 * found.error_bar[seen] + 1e-9).all()
    np.testing.assert_allclose(found.variance[seen], found.variance[exact], rtol=0.5, atol=0.005)
    assert found.error_bar[seen].max() < 0.05


def test_what_is_known_and_what_counts() -> None:
    found = compare_weight_estimators([ratio, ratio, KnownStatistics(0.5)], Bernoulli([0.5]), rounds=400)
    assert found.names[:3] == ("ratio", "ratio 2", "KnownStatistics") and found.names[-1] == "known statistics"
    known = found.names.index("known statistics")
    assert (found.bias[known] == 0).all() and (found.error[known] == 0).all() and found.exact[known]
    np.testing.assert_allclose(found.bias[0, 0, -1], 0, atol=6 * found.error_bar[0, 0, -1])
    two = found.names.index("FedAU, K = 2")
    assert found.bias[two, 0, -1] == pytest.approx(0.5 * 1.5 - 1) and found.cutoffs[two] == 2
    np.testing.assert_allclose(found.counted[[0, two]], [1, 0.75], atol=0.02)
    lines = str(found).splitlines()
    assert len(lines) == len(found.names) + 1 and lines[1].endswith("simulated")


def test_the_last_interval_counts_right_though_its_mean_is_not_1_over_p() -> None:
    found = compare_weight_estimators({}, Cyclic(["1/10"], 20), rounds=2000, replicas=40)
    i = found.names.index("exponential average")
    assert found.bias[i, 0, -400:].mean() < -0.02 and found.counted[i] == pytest.approx(1, abs=0.01)


def test_a_picture_has_every_rule() -> None:
    found = compare_weight_estimators({"mine": ratio}, Bernoulli([0.1, 0.5]), rounds=100, replicas=50)
    figure = found.plot()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(found.names)
    left, right = figure.axes
    points = [line for line in left.lines if line.get_marker() not in ("None", "") and len(line.get_xdata())]
    assert len(points) == 2 * len(found.names)
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["p = 0.1", "p = 0.5"]


@pytest.mark.parametrize(
    ("process", "clients", "message"),
    [
        (Fixed([0]), 2, "client 1 never takes part"),
        (Phases([[0], [1]], [1, 1]), 2, "differ"),
        (Uniform(3, replacement=True), 4, "draws clients more than once a round"),
    ],
)
def test_what_has_no_p_is_refused(process, clients: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare_weight_estimators([ratio], process, clients)
