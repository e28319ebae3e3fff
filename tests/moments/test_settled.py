"""Large operators at far horizons: where nothing else is left of a run, its limit takes the place of powers."""

import numpy as np
import pytest

import fedtheory as ft
from fedtheory.moments import timeline
from fedtheory.moments.expected_errors import errors_in_floats

CLIENTS, DIMENSION = 4, 11
MIXED = [0, 1, 7, 100, 2000, 20_001, 10**6, 10**8 + 1]


def dense(noise: float, apart: bool, period: int | None = None) -> ft.Setting:
    """78 second moments; with a common minimiser and no noise everything tends to 0."""
    rng = np.random.default_rng(3)
    factors = rng.standard_normal((CLIENTS, DIMENSION, DIMENSION))
    hessians = factors @ factors.transpose(0, 2, 1) / DIMENSION + 0.5 * np.eye(DIMENSION)
    hessians = (hessians + hessians.transpose(0, 2, 1)) / 2
    centres = rng.standard_normal((CLIENTS, DIMENSION)) * apart
    fed = ft.federations.Quadratic(hessians, centres, gradient_noise=noise)
    kinds = {"snapshot_probability": "1/4"} if period is None else {"snapshot_period": period}
    algorithm = ft.algorithms.fast(cohort=2, local_lr=1 / 64, local_steps=2, **kinds)
    return ft.Setting(fed, algorithm, ft.participation.Uniform(1), start=2.0)


@pytest.mark.parametrize("setting", [dense(0.3, True), dense(0.0, False), dense(0.0, True, 3)],
                         ids=["noise", "to 0", "by period"])  # fmt: skip
@pytest.mark.parametrize("rounds", [MIXED, [10**8]], ids=["many horizons", "one"])
def test_the_limit_is_what_powers_come_to(
    setting: ft.Setting, rounds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = errors_in_floats(setting, rounds)
    monkeypatch.setattr(timeline, "LARGE", 10**9)
    plain = errors_in_floats(setting, rounds)
    for name in ("squared_distance", "squared_gradient", "gradient_sum"):
        ours, theirs = getattr(found, name), getattr(plain, name)
        assert ours == pytest.approx(theirs, rel=1e-11, abs=0), name
    assert (plain.squared_distance[-1] == 0) == (setting.federation.deterministic and not centres_differ(setting))


def centres_differ(setting: ft.Setting) -> bool:
    return bool((setting.federation.centres != setting.federation.centres[0]).any())


def test_the_limit_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    settled = timeline.settled

    def counted(*given: np.ndarray) -> np.ndarray:
        found = settled(*given)
        taken.append(bool(found.any()))
        return found

    monkeypatch.setattr(timeline, "settled", counted)
    errors_in_floats(dense(0.3, True), [10**8])
    assert taken[-1] and len(taken) < 16  # of 27 binary digits


def test_what_is_left_of_the_start_is_not_forgotten() -> None:
    """1/2 of it after each step: settled where 2^-times is nothing, and not before."""
    size = timeline.LARGE
    operator = np.eye(size) / 2
    operator[-1, -1] = 1
    for times, forgotten in ((timeline.NOTHING - 1, False), (timeline.NOTHING, True)):
        states = np.ones((1, size))
        assert timeline.settled(operator, np.array([times]), states).tolist() == [forgotten]
        assert states[0, 0] == (0 if forgotten else 1) and states[0, -1] == 1


@pytest.mark.parametrize("entry", [0.51, 0.99, 2.0, np.inf, np.nan])
def test_what_does_not_contract_is_not_settled(entry: float) -> None:
    operator = np.diag([entry] * (timeline.LARGE - 1) + [1.0])
    states = np.ones((1, timeline.LARGE))
    assert not timeline.settled(operator, np.array([10**8]), states).any()
    assert (states == 1).all()
