"""Deterministic runs and the run quantities G_1 to G_3, against a plain loop over Algorithm 1."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast
from fedtheory.claims.balls import Undecided
from fedtheory.federations.quadratic import Quadratic
from fedtheory.moments import trajectory as of_runs
from fedtheory.moments.round_maps import local_maps
from fedtheory.moments.trajectory import peak_ranges, peaks, peaks_at, running_peak_ranges, trajectory
from fedtheory.participation import Fixed, IndexBeta, Phases, Uniform
from fedtheory.quantities import LEAST_QUANTITIES, RUN_QUANTITIES
from fedtheory.setting import Setting
from fedtheory.simulation import OBSERVABLES
from fedtheory.subjects.enclosures import Way, run_boxes

HESSIANS = [[[1, 0.5], [0.5, 2]], [[3, 0], [0, 0.25]], [[1, -1], [-1, 2]]]
CENTRES = [[1, 0], [-1, 2], [0.5, 1 / 3]]

Peaks = dict[str, np.ndarray]


def deterministic(members: list[int], start: object = (2, -1), local_lr: float = 0.05, **options: object) -> Setting:
    """Three clients with different Hessians in the plane."""
    algorithm = fast(cohort=3, local_lr=local_lr, **options)
    return Setting(Quadratic(HESSIANS, CENTRES), algorithm, Fixed(members), start)


def gradient(fed: Quadratic, client: int, x: np.ndarray) -> np.ndarray:
    return fed.hessians[client] @ (x - fed.centres[client])


def plain_run(setting: Setting, rounds: int, shifted: bool = False) -> tuple[np.ndarray, Peaks]:
    """x_r - x* for r = 0, ..., rounds, and after each of the rounds the largest |mean of sums of gradients|^2 so far.

    The sums run over the local iterates k = 0..K-1, where the gradients are taken; ``shifted``, over k = 1..K.
    """
    fed, algorithm = setting.federation, setting.algorithm
    best = np.linalg.solve(fed.hessians.sum(0), sum(h @ c for h, c in zip(fed.hessians, fed.centres, strict=True)))
    eta, K = float(algorithm.local_lr), algorithm.local_steps
    x = np.broadcast_to(np.asarray(setting.start, float), (fed.dimension,))
    errors, running = [x - best], {name: [] for name in RUN_QUANTITIES}
    most = dict.fromkeys(RUN_QUANTITIES, 0.0)
    for r in range(rounds):
        if algorithm.periodic:
            snapshot = r % algorithm.snapshot_period == 0
        else:
            snapshot = algorithm.snapshot_probability == 1
        models, sums = [], []
        for i in range(fed.clients):
            iterates = [x]
            for _ in range(K):
                iterates.append(iterates[-1] - eta * gradient(fed, i, iterates[-1]))
            models.append(iterates[-1])
            sums.append(sum(gradient(fed, i, y) for y in (iterates[1:] if shifted else iterates[:-1])))
        who = list(range(fed.clients)) if snapshot else list(setting.participation.members)
        size = float((np.mean([sums[i] for i in who], axis=0) ** 2).sum())
        names = RUN_QUANTITIES[::2] if snapshot else RUN_QUANTITIES[1:2]  # the cohort of a snapshot is everyone
        for name in names:
            most[name] = max(most[name], size)
        for name in RUN_QUANTITIES:
            running[name].append(most[name])
        x = np.mean([models[i] for i in who], axis=0)
        errors.append(x - best)
    return np.array(errors), {name: np.array(values) for name, values in running.items()}


SCHEDULES = [{"snapshot_period": I} for I in (1, 2, 3, 5)] + [{"snapshot_probability": q} for q in (0, 1)]
SETTINGS = {
    f"{schedule}, {K} steps, {members}": deterministic(members, local_steps=K, **schedule)
    for schedule, K, members in product(SCHEDULES, (1, 3), ([0], [1, 2], [0, 1, 2]))
}
every_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


@every_setting
def test_the_trajectory_is_the_plain_loops(setting: Setting) -> None:
    errors, _ = plain_run(setting, 60)
    mine = trajectory(setting, 60)
    assert mine.shape == (61, 2)
    # Rounding, relative to the start: 60 rounds of some ten operations each.
    np.testing.assert_allclose(mine, errors, rtol=0, atol=1e-13 * np.abs(errors).max())
    # ... and the exact moments of a run without randomness are its squares.
    squares = (errors**2).sum(1)
    np.testing.assert_allclose(setting.exact(range(61)).squared_distance, squares, rtol=0, atol=1e-12 * squares.max())


@every_setting
@pytest.mark.parametrize("shifted", [False, True])
def test_peaks_are_the_plain_loops(setting: Setting, shifted: bool) -> None:
    _, running = plain_run(setting, 12, shifted)
    for rounds in (1, 2, 3, 4, 12):
        found = peaks(setting, rounds, shifted)
        assert tuple(found) == RUN_QUANTITIES
        for name, value in found.items():
            # Sums of gradients come from a difference of models divided by the step: 1/0.05 roundings of 1e-16.
            assert value == pytest.approx(running[name][rounds - 1], rel=1e-12, abs=1e-14), (name, rounds)


@pytest.mark.parametrize("local_steps", [1, 3])
def test_peaks_that_come_late_are_found(local_steps: int) -> None:
    """Started at x*, a run that client 1 pulls away has its largest gradients later."""
    setting = deterministic([1], local_steps=local_steps, snapshot_period=3)
    setting = replace(setting, start=setting.federation.exact_optimum.tolist())
    _, running = plain_run(setting, 40)
    assert running["peak_full_pseudogradient"][-1] > running["peak_full_pseudogradient"][0]
    for rounds in (1, 4, 7, 40):
        for name, value in peaks(setting, rounds).items():
            assert value == pytest.approx(running[name][rounds - 1], rel=1e-12, abs=1e-14)


def test_kinds_of_rounds_that_do_not_occur_have_peak_zero() -> None:
    assert peaks(deterministic([0], snapshot_period=1), 9)["peak_arbitrary_pseudogradient"] == 0
    assert peaks(deterministic([0], snapshot_probability=1), 9)["peak_arbitrary_pseudogradient"] == 0
    assert peaks(deterministic([0], snapshot_period=4), 1)["peak_arbitrary_pseudogradient"] == 0
    never = peaks(deterministic([0], snapshot_probability=0), 9)
    assert never["peak_full_pseudogradient"] == never["peak_cohort_pseudogradient"] == 0
    assert never["peak_arbitrary_pseudogradient"] > 0


# Peaks from a sample of the rounds.


@st.composite
def any_deterministic(draw: st.DrawFn) -> Setting:
    members = sorted(draw(st.sets(st.integers(0, 2), min_size=1)))
    start = draw(st.tuples(st.floats(-3, 3), st.floats(-3, 3)))
    schedule = draw(st.sampled_from([*SCHEDULES, {"snapshot_period": 13}, {"snapshot_period": 40}]))
    lr = draw(st.sampled_from([0.002, 0.05, 0.4, 0.66]))
    return deterministic(members, start, lr, local_steps=draw(st.integers(1, 3)), **schedule)


@given(any_deterministic(), st.lists(st.integers(1, 3000), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_sampled_peaks_are_never_above_the_true_ones(setting: Setting, horizons: list[int]) -> None:
    sampled = peaks_at(setting, np.array(horizons))
    for i, rounds in enumerate(horizons):
        for name, value in peaks(setting, rounds).items():
            # The same states by other powers of the operators.
            assert sampled[name][i] <= value * (1 + 1e-12) + 1e-300
            if rounds <= 64:  # every round is in the sample
                assert sampled[name][i] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("period", [1, 2, 3])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_sampled_peaks_are_the_true_ones_on_monotone_runs(period: int, local_steps: int) -> None:
    """Equal gradients of all clients at x* = 0 and a small step: every gradient shrinks from round to round; and
    with a step beyond 2/L every one grows, until the last round before the horizon."""
    fed = Quadratic.common_hessian([[0, 0], [0, 0]], [1, 2])
    horizons = np.array([1, 2, 3, 5, 63, 64, 65, 100, 1000])
    algorithm = fast(cohort=2, local_lr=0.01, local_steps=local_steps, snapshot_period=period)
    shrinking = Setting(fed, algorithm, Fixed([0]), 1)
    found = peaks_at(shrinking, horizons)
    for i, rounds in enumerate(horizons):
        expected = peaks(shrinking, int(rounds))
        assert {name: values[i] for name, values in found.items()} == pytest.approx(expected, rel=1e-12)
    growing = replace(shrinking, algorithm=replace(algorithm, local_lr=1.01))
    found = peaks_at(growing, horizons[:6])
    for i, rounds in enumerate(horizons[:6]):
        expected = peaks(growing, int(rounds))
        # 64 rounds of 3 factors near -1.02: the sums of gradients cancel a little.
        assert {name: values[i] for name, values in found.items()} == pytest.approx(expected, rel=1e-11)


# Enclosures of the peaks of a deterministic run.


@st.composite
def diagonal_runs(draw: st.DrawFn) -> Setting:
    numbers = st.floats(-3, 3)
    curvatures = draw(st.lists(st.tuples(*[st.floats(0.01, 1)] * 2), min_size=3, max_size=3))
    centres = draw(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=3))
    algorithm = fast(cohort=3, local_lr=draw(st.sampled_from([0.003, 0.1, 1.0])), local_steps=draw(st.integers(1, 2)),
                     **draw(st.sampled_from([*SCHEDULES, {"snapshot_period": 13}])))  # fmt: skip
    members = sorted(draw(st.sets(st.integers(0, 2), min_size=1)))
    start = draw(st.tuples(numbers, numbers))
    return Setting(Quadratic([np.diag(h) for h in curvatures], centres), algorithm, Fixed(members), start)


@given(diagonal_runs(), st.lists(st.integers(1, 2000), min_size=1, max_size=4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_enclosed_peaks(setting: Setting, horizons: list[int], shifted: bool) -> None:
    ranges = running_peak_ranges(setting, np.array(horizons), shifted)
    for i, rounds in enumerate(horizons):
        for name, value in peaks(setting, rounds, shifted).items():
            low, high = (end[i] for end in ranges[name])
            assert low * (1 - 1e-11) - 1e-25 <= value <= high * (1 + 1e-11) + 1e-25  # other powers of the operators


def least_by_a_loop(setting: Setting, rounds: int, shifted: bool) -> list[float]:
    """The least squares of mean sums of local gradients, of all clients over snapshots and of the members over other
    rounds; 0 over none. Diagonal Hessians."""
    fed, algorithm = setting.federation, setting.algorithm
    hessians, eta = np.diagonal(fed.hessians, axis1=1, axis2=2), float(algorithm.local_lr)
    x, least = np.broadcast_to(np.asarray(setting.start, float), (fed.dimension,)), [np.inf, np.inf]
    for r in range(rounds):
        other = r % algorithm.snapshot_period != 0 if algorithm.periodic else algorithm.snapshot_probability == 0
        y, total = np.array([x] * fed.clients), np.zeros_like(fed.centres)
        for _ in range(algorithm.local_steps):
            before, y = hessians * (y - fed.centres), y - eta * hessians * (y - fed.centres)
            total = total + (hessians * (y - fed.centres) if shifted else before)
        who = list(setting.participation.members) if other else slice(None)
        least[other] = min(least[other], float((total[who].mean(0) ** 2).sum()))
        x = y[who].mean(0)
    return [value if value < np.inf else 0.0 for value in least]


@given(diagonal_runs(), st.lists(st.integers(1, 300), min_size=1, max_size=3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_enclosed_least_values(setting: Setting, horizons: list[int], shifted: bool) -> None:
    ranges = of_runs.running_least_ranges(setting, np.array(horizons), shifted)
    for i, rounds in enumerate(horizons):
        for name, value in zip(LEAST_QUANTITIES, least_by_a_loop(setting, rounds, shifted), strict=True):
            low, high = (float(end[i]) ** 0.5 for end in ranges[name])
            assert low - 1e-12 <= value**0.5 <= high + 1e-12  # sums of numbers up to 10 that cancel, by other powers
        found = of_runs.least(setting, rounds)
        for name, value in zip(LEAST_QUANTITIES, least_by_a_loop(setting, rounds, False), strict=True):
            assert abs(found[name] ** 0.5 - value**0.5) <= 1e-12


def test_a_least_value_between_the_stages_is_enclosed() -> None:
    """The gradient of the one that takes part changes its sign between two periods of the sample: the sample alone, the
    upper end, is above 0."""
    algorithm, horizons = fast(cohort=2, local_lr=1e-4, snapshot_period=2), np.array([40_000])
    setting = Setting(Quadratic.common_hessian([1, -1]), algorithm, Fixed([0]), 1.01)
    low, high = (
        float(end[0]) for end in of_runs.running_least_ranges(setting, horizons)["least_arbitrary_pseudogradient"]
    )
    value = least_by_a_loop(setting, 40_000, False)[1]
    assert low <= value <= high and low == 0 < high
    (box,) = run_boxes(Way(setting, 4000), "k = 0..K-1", {*LEAST_QUANTITIES})
    for name, least in zip(LEAST_QUANTITIES, least_by_a_loop(setting, 4000, False), strict=True):
        assert float(box[name]) == pytest.approx(least, rel=1e-9)


def test_which_ranges_are_asked_for() -> None:
    """Least values of random runs are not known, and then nothing is."""
    line = Setting(Quadratic.common_hessian([1, -1, 0]), fast(cohort=3, local_lr=0.1, snapshot_period=2), Fixed([0]), 2)
    random, horizons = replace(line, algorithm=replace(line.algorithm, cohort=1)), np.array([9])
    names = {"peak_full_pseudogradient", LEAST_QUANTITIES[0]}
    assert {*of_runs.ranges_of_run(line, horizons, names)} == names
    assert of_runs.ranges_of_run(random, horizons, names) is None
    assert [*of_runs.ranges_of_run(random, horizons, {"peak_full_pseudogradient"})] == ["peak_full_pseudogradient"]
    with pytest.raises(Undecided, match="minima over rounds are of deterministic runs"):
        run_boxes(Way(random, 9), "k = 0..K-1", names)


def test_a_peak_between_the_stages_is_enclosed() -> None:
    """One coordinate's gradient grows while the other one's shrinks, and their sum of squares peaks on the way."""
    fed = Quadratic([np.diag([1, 0.001])] * 2, [[0, 1], [0, -1]])
    algorithm = fast(cohort=2, local_lr=0.001, snapshot_period=10**6)
    setting = Setting(fed, algorithm, Fixed([0]), [3e-3, 1])
    horizons = np.array([10, 10**4, 10**6])
    ranges = running_peak_ranges(replace(setting, algorithm=replace(algorithm, snapshot_period=2)), horizons)
    low, high = ranges["peak_arbitrary_pseudogradient"]
    assert (low <= high).all() and (high < 1.2 * low).all()  # narrow enough to decide something
    assert low[1] < high[1]


def test_on_a_line_the_peaks_are_exact() -> None:
    """Also where they grow until the last round before each horizon."""
    algorithm, horizons = fast(cohort=2, local_lr=0.001, snapshot_period=3), np.array([1, 7, 332, 777, 1999])
    setting = Setting(Quadratic.common_hessian([1, -1]), algorithm, Fixed([0]), 0)
    for i, rounds in enumerate(horizons):
        for name, value in peaks(setting, int(rounds)).items():
            low, high = (end[i] for end in running_peak_ranges(setting, horizons)[name])
            assert low == high == pytest.approx(value, rel=1e-9)  # other powers of the operators


def test_runs_whose_peaks_are_not_enclosed() -> None:
    """A rotated Hessian, a step beyond 1/L, participants that change."""
    line = Setting(Quadratic.common_hessian([1, -1]), fast(cohort=2, local_lr=0.5, snapshot_period=2), Fixed([0]), 2)
    rotated = replace(line, federation=Quadratic([[[1, 0.5], [0.5, 1]]] * 2, [[0, 1], [1, 0]]))
    fast_steps = replace(line, algorithm=replace(line.algorithm, local_lr=Fraction(3, 2)))
    changing = replace(line, participation=Phases([[0], [1]], [2, 2]))
    assert running_peak_ranges(line, np.array([5])) is not None
    for setting in (rotated, fast_steps, changing):
        assert running_peak_ranges(setting, np.array([5])) is None


def test_sums_of_gradients_keep_their_digits_where_steps_are_tiny() -> None:
    fed = Quadratic.common_hessian(["1/3", "-1/7"], ["3/5"])
    setting = Setting(fed, fast(cohort=2, local_lr=1e-14, local_steps=3, snapshot_period=2), Fixed([0]), 1)
    sums, exact = local_maps(setting).gradient_sums(), local_maps(setting, exact=True).gradient_sums()
    np.testing.assert_allclose(sums, exact.astype(float), rtol=1e-14)


# Against the simulation.


@every_setting
def test_simulated_runs_have_the_same_peaks_and_distances(setting: Setting) -> None:
    run = setting.simulate(replicas=1, rounds=12, seed=0, record_every=1, observers=[*OBSERVABLES, "peaks"])
    for name, value in peaks(setting, 12).items():
        # Rounding, as above.
        assert float(run.peaks[name][0]) == pytest.approx(value, rel=1e-12, abs=1e-14), name
    squares = (trajectory(setting, 12) ** 2).sum(1)
    np.testing.assert_allclose(run.rows["squared_distance"][0], squares, rtol=0, atol=1e-12 * squares.max())


# What is refused.

RANDOM = {
    "noise": lambda s: replace(s, federation=Quadratic(HESSIANS, CENTRES, 0.1)),
    "arbitrary set": lambda s: replace(s, participation=IndexBeta(2)),
    "uniform arbitrary set": lambda s: replace(s, participation=Uniform(3)),
    "cohort": lambda s: replace(s, algorithm=replace(s.algorithm, cohort=2)),
    "replacement": lambda s: replace(s, algorithm=replace(s.algorithm, replacement=True)),
    "coin": lambda s: replace(s, algorithm=fast(cohort=3, local_lr=0.1, snapshot_probability=0.5)),
}


@pytest.mark.parametrize("changed", RANDOM.values(), ids=RANDOM)
def test_random_settings_have_no_trajectory(changed: object) -> None:
    setting = changed(deterministic([0], snapshot_period=2))
    for ask in (trajectory, peaks):
        with pytest.raises(ValueError, match="the setting is random: a trajectory needs no noise, and participants"):
            ask(setting, 5)


# Ranges where cohorts are random.


def on_a_line(centres: list, members: list[int], cohort: int, start: float, **options: object) -> Setting:
    fed = Quadratic.common_hessian(centres, options.pop("hessian", 1), gradient_noise=options.pop("noise", 0))
    options = {"local_lr": 0.3, "local_steps": 2, "snapshot_period": 2} | options
    return Setting(fed, fast(cohort=cohort, **options), Fixed(members), start)


LINES = {
    "far start": on_a_line([2, -1, -1], [0], 1, 30),
    "start among the minimisers": on_a_line([2, 0.5, -3], [0, 2], 2, 0.5, hessian=2),
    "period 3": on_a_line([1, -1], [1], 1, -4, snapshot_period=3, local_steps=1),
    "everyone": on_a_line([2, -1, -1], [0], 3, 5),
}


@pytest.mark.parametrize("setting", LINES.values(), ids=LINES)
@pytest.mark.parametrize("shifted", [False, True])
def test_every_run_is_in_the_ranges(setting: Setting, shifted: bool) -> None:
    """All sequences of cohorts over five rounds, client by client."""
    fed, algorithm, eta = setting.federation, setting.algorithm, float(setting.algorithm.local_lr)
    ranges = peak_ranges(setting, shifted)
    draws = list(combinations(range(fed.clients), algorithm.cohort))
    rounds = 5
    snapshots = [r for r in range(rounds) if r % algorithm.snapshot_period == 0]
    smallest, largest = dict.fromkeys(RUN_QUANTITIES, np.inf), dict.fromkeys(RUN_QUANTITIES, 0.0)
    for cohorts in product(draws, repeat=len(snapshots)):
        x, seen, drawn = float(setting.exact_start[0]), dict.fromkeys(RUN_QUANTITIES, 0.0), iter(cohorts)
        for r in range(rounds):
            ends, sums = [], []
            for i in range(fed.clients):
                path = [x]
                for _ in range(algorithm.local_steps):
                    path.append(path[-1] - eta * fed.hessians[i, 0, 0] * (path[-1] - fed.centres[i, 0]))
                kept = path[1:] if shifted else path[:-1]
                ends.append(path[-1])
                sums.append(sum(fed.hessians[i, 0, 0] * (y - fed.centres[i, 0]) for y in kept))
            who = next(drawn) if r in snapshots else setting.participation.members
            found = {"peak_cohort_pseudogradient": who, "peak_full_pseudogradient": range(fed.clients)}
            found = found if r in snapshots else {"peak_arbitrary_pseudogradient": who}
            for name, members in found.items():
                seen[name] = max(seen[name], np.mean([sums[i] for i in members]) ** 2)
            x = np.mean([ends[i] for i in who])
        for name, value in seen.items():
            low, high = ranges[name]
            assert low * (1 - 1e-12) - 1e-15 <= value <= high * (1 + 1e-12), name  # rounding
            smallest[name], largest[name] = min(smallest[name], value), max(largest[name], value)
    if setting is LINES["far start"]:  # where the ranges are as narrow as they can be, but for G_3's lower end
        full, arbitrary, cohort = RUN_QUANTITIES
        assert ranges[full] == pytest.approx((smallest[full], largest[full]), rel=1e-12)
        assert ranges[arbitrary][0] == pytest.approx(smallest[arbitrary], rel=1e-12)
        assert ranges[cohort][1] == pytest.approx(largest[cohort], rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"noise": 1}, {"local_lr": 1.5}, {"snapshot_period": 1}, {"snapshot_period": None, "snapshot_probability": 0.5},
     {"replacement": True}],
    ids=str,
)  # fmt: skip
def test_other_runs_have_no_ranges(options: dict) -> None:
    assert peak_ranges(on_a_line([2, -1, -1], [0], 1, 30)) is not None
    assert peak_ranges(on_a_line([2, -1, -1], [0], 1, 30, **options)) is None


def test_nor_have_runs_in_the_plane_or_with_other_sets() -> None:
    setting = on_a_line([2, -1, -1], [0], 1, 30)
    assert peak_ranges(deterministic([0], snapshot_period=2)) is None
    assert peak_ranges(replace(setting, participation=Uniform(1))) is None
    mixed = Quadratic([[1], [2], [1]], [[2], [-1], [-1]])
    assert peak_ranges(replace(setting, federation=mixed)) is None
