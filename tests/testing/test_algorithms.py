"""The check of algorithms passes right ones, and names each planted bug."""

from __future__ import annotations

import pytest
import torch

from fedtheory import algorithms, testing
from fedtheory.federations import Logistic, Quadratic
from fedtheory.testing import algorithm_checks, as_test, check_algorithm
from fedtheory.testing.tests import _check

NUMBERS = {"local_lr": "1/8", "local_steps": 2}


def averaging(x, memory, round, *, local_lr, local_steps):
    return x + (round.share * round.train(x, local_lr, local_steps)).sum(1), {}


def clipped(x, memory, round, *, local_lr, local_steps):
    """Right, and not affine: updates are clipped."""
    update = (round.share * round.train(x, local_lr, local_steps)).sum(1)
    return x + update.clamp(-1, 1), {}


def mixes(x, memory, round, *, local_lr, local_steps):
    """Replicas go the mean of their ways."""
    update = (round.share * round.train(x, local_lr, local_steps)).sum(1)
    return x + update.mean(0, keepdim=True), {}


def first_counts_double(x, memory, round, *, local_lr, local_steps):
    sent = round.train(x, local_lr, local_steps)
    return x + (round.share * sent).sum(1) + (round.share * sent)[:, 0], {}


def decays(x, memory, round, *, local_lr, local_steps):
    """The model shrinks in every round, also where nobody comes."""
    return x - x / 10 + (round.share * round.train(x, local_lr, local_steps)).sum(1), {}


def shrinks(x, memory, round, *, local_lr, local_steps):
    """It shrinks where somebody comes: another objective."""
    return x - round.somebody * x / 10 + (round.share * round.train(x, local_lr, local_steps)).sum(1), {}


KEPT: list[int] = []


def keeps_for_itself(x, memory, round, *, local_lr, local_steps):
    """How many rounds there were is kept elsewhere than in the memory."""
    KEPT.append(1)
    update = (round.share * round.train(x, local_lr, local_steps)).sum(1)
    return x + update.abs().sign() * update / (1 + len(KEPT) % 7), {}


def one_noise(x, memory, round, *, local_lr, local_steps):
    """Replicas are all the first one."""
    update = (round.share * round.train(x, local_lr, local_steps)).sum(1)
    return x + 0 * update + update[:1], {}


def coarse(x, memory, round, *, local_lr, local_steps):
    """Numbers of single precision are rounded to a thousandth."""
    update = (round.share * round.train(x, local_lr, local_steps)).sum(1)
    rounded = torch.round(update * 1000) / 1000 if update.dtype == torch.float32 else update
    return x + rounded.clamp(-9, 9), {}


PLANTED = {
    mixes: "ReplicaBatchError",
    one_noise: "ReplicaBatchError",
    first_counts_double: "RenamedClientsError",
    decays: "EmptyRoundError",
    shrinks: "FixedPointError",
    coarse: "PrecisionError",
}


@pytest.mark.parametrize("step", PLANTED, ids=lambda step: step.__name__)
def test_each_planted_bug_is_named(step) -> None:
    with pytest.raises(testing.PropertyError) as caught:
        check_algorithm(step, **NUMBERS)
    assert type(caught.value).__name__ == PLANTED[step], caught.value


def test_a_step_that_keeps_something_for_itself_is_refused_when_it_runs() -> None:
    with pytest.raises(ValueError, match="allowed is a step that keeps nothing outside its memory"):
        check_algorithm(keeps_for_itself, **NUMBERS)


def test_right_steps_pass() -> None:
    checked = check_algorithm(averaging, **NUMBERS)
    assert {"exact moments", "fixed point", "names of clients", "empty rounds"} <= {*checked}
    checked = check_algorithm(clipped, **NUMBERS)
    assert "exact moments" not in checked and "fixed point" in checked


def test_moments_that_are_not_those_of_runs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedtheory.setting import Setting

    exact = Setting.exact

    def wrong(self, rounds):
        found = exact(self, rounds)
        object.__setattr__(found, "squared_distance", 1.1 * found.squared_distance)
        return found

    monkeypatch.setattr(Setting, "exact", wrong)
    with pytest.raises(testing.SimulatedMomentsError):
        check_algorithm(averaging, **NUMBERS)


def test_what_runs_on_quadratic_clients_is_checked_there_and_anything_else_on_logistic_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on: list[type] = []
    monkeypatch.setattr(algorithm_checks, "replicas_differ", lambda setting, seed: on.append(type(setting.federation)))
    check_algorithm(averaging, **NUMBERS)
    accepted = algorithm_checks._accepted
    monkeypatch.setattr(algorithm_checks, "_accepted", lambda fed, *rest: None)
    check_algorithm(averaging, **NUMBERS)
    monkeypatch.setattr(algorithm_checks, "_accepted", accepted)
    assert on == [Quadratic, Logistic]


def test_a_stop_that_changes_bits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedtheory.simulation.checkpoint import Checkpoints

    restore = Checkpoints.restore

    def rounded(self, plan, state):
        first = restore(self, plan, state)
        state.x += 1e-9 * (first > 0)
        return first

    monkeypatch.setattr(Checkpoints, "restore", rounded)
    with pytest.raises(testing.StoppedRunError):
        check_algorithm(averaging, **NUMBERS)


def test_other_numbers_of_clients_and_what_is_said_of_empty_rounds() -> None:
    assert check_algorithm(averaging, clients=7, **NUMBERS) == check_algorithm(averaging, **NUMBERS)
    assert "empty rounds" not in check_algorithm(averaging, when_empty="moves", **NUMBERS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"when_empty": "halts"}, "when_empty = 'halts': allowed is 'stays' or 'moves'"),
        ({"local_lr": "1/8"}, "local_lr: allowed with a step alone"),
        ({"memory": {}}, "memory: allowed with a step alone"),
    ],
)
def test_what_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_algorithm(algorithms.fedavg(local_lr="1/8"), **options)


def test_one_line_finds_the_check() -> None:
    from fedtheory.participation import Uniform
    from fedtheory.weights import FedAU

    found = [_check(each).__name__ for each in (FedAU(3), Uniform(2), algorithms.fedavg(local_lr="1/8"), averaging,
                                                lambda history: history + 1.0)]  # fmt: skip
    assert found == ["check_weight_estimator", "check_participation", "check_algorithm", "check_algorithm",
                     "check_weight_estimator"]  # fmt: skip
    as_test(Uniform(2), replicas=1000)()
    with pytest.raises(testing.LongRunMeanError):
        as_test(lambda history: 0 * history + 3.0)()
