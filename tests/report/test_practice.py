"""Theory beside practice: twins, bounds and orders."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory import Setting
from fedtheory.algorithms import fast, fedau, fedavg
from fedtheory.data import load
from fedtheory.data.partition import LabelsPerClient
from fedtheory.federations import Network
from fedtheory.neural.models import multinomial_logistic
from fedtheory.papers import claim
from fedtheory.participation import Bernoulli, Fixed
from fedtheory.report.practice_figures import Beside, Pair, compare, notes, order, plot_practice, twin_of
from fedtheory.report.style import caption_of

THEOREM = claim("fast.thm2")


def network(clients: int = 20, labels: int = 1) -> Network:
    """Digits by clients of so many labels each."""
    scheme = LabelsPerClient(clients=clients, labels=labels, choice="even", shared=False, test=0.2)
    return Network(multinomial_logistic(64), load("digits"), scheme, 8)


def test_a_twin_has_its_clients_shares_as_minimisers() -> None:
    federation = network(clients=10, labels=2)
    twin = twin_of(federation)
    counts = federation.partition.counts(federation.dataset.labels, 10)
    shares = counts / counts.sum(1, keepdims=True)
    assert twin.clients == 10 and twin.dimension == 10
    distance = np.linalg.norm(shares - shares.mean(0), axis=1).max()
    assert twin.constants()["dissimilarity"].value == pytest.approx(distance, abs=2e-3)


@pytest.fixture(scope="module")
def pairs() -> dict[str, Pair]:
    federation = network(clients=10)
    twin = twin_of(federation)

    def pair(q: int) -> Pair:
        method = fast(snapshot_probability=q, cohort=5, local_lr="1/100")
        return Pair(Setting(federation, method, Fixed([0])), Setting(twin, method, Fixed([0])), longer=3)

    return {"q = 0": pair(0), "q = 1": pair(1)}


def test_bounds_errors_and_accuracies_are_side_by_side(pairs: dict[str, Pair]) -> None:
    figure = plot_practice([THEOREM, claim("fast.thm2@corrected")], pairs, 30, 2, "digits")
    left, middle, right = figure.axes
    errors = [line for line in left.lines if line.get_label() in pairs]
    assert [line.get_xdata()[-1] for line in errors] == [90, 90]
    np.testing.assert_allclose(errors[0].get_ydata(), pairs["q = 0"].twin.exact(errors[0].get_xdata()).squared_distance)
    assert len([line for line in left.lines if len(line.get_xdata()) == len(errors[0].get_xdata())]) == 6
    assert middle.lines[0].get_xdata()[-1] == 30 and "tau = 1.00" in right.get_title("left")
    assert "fast.thm2@main on the twin, q = 0: step_cap holds, q_condition fails" in caption_of(figure)


def test_where_moments_do_not_close_runs_are_measured() -> None:
    federation = network(clients=10)
    twin = twin_of(federation)
    settings = [Setting(each, fedau(local_lr="1/40"), Bernoulli(["1/2"] * 10)) for each in (federation, twin)]
    found = compare([claim("fedau.thm2")], Pair(*settings), rounds=10, replicas=2)
    assert not found.exact and found.error.shape == found.rounds.shape and (found.error > 0).all()


def test_a_bound_that_lacks_something_says_what() -> None:
    federation = network(clients=10)
    method = fedavg(local_lr="1/40", average="all")
    settings = [Setting(each, method, Bernoulli(["1/2"] * 10)) for each in (federation, twin_of(federation))]
    found = compare([claim("fedau.thm2")], Pair(*settings), rounds=10, replicas=2)
    assert found.exact and not found.bounds
    (line,) = notes({"a": found}, {"smoothness": 1.0}, 2)[1:]
    assert line.startswith("fedau.thm2@main on the twin, a: no bound, it needs weight_error") and ":" not in line[34:]


def test_the_order_is_by_error_and_paired() -> None:
    def found(error: float, accuracy: list[list[float]]) -> Beside:
        return Beside(np.array([1]), {}, {}, np.array([error]), True, np.array([0]), np.array(accuracy))

    agreed = order({"a": found(2.0, [[0.5], [0.6]]), "b": found(1.0, [[0.7], [0.55]]), "c": found(3.0, [[0.1], [0.2]])})
    assert agreed.tau == pytest.approx(1.0)
    assert agreed.pairs == {("b", "a"): 0.5, ("b", "c"): 1.0, ("a", "c"): 1.0}
