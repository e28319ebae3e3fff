"""Algorithms of one's own: the same as the built-in ones where they are the same, exact where their rounds are linear,
refused with the operation's name where they are not; what is wrong with a step, told once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import algorithms
from fedtheory.algorithms import Algorithm, StepError, own
from fedtheory.federations import Quadratic
from fedtheory.moments.affine_numbers import NotLinear
from fedtheory.moments.expected_errors import expected_models
from fedtheory.participation import (
    Bernoulli,
    Cyclic,
    Fixed,
    Incomplete,
    IndexBeta,
    Markov,
    Multinomial,
    Participation,
    Phases,
    Uniform,
)
from fedtheory.setting import Setting
from fedtheory.simulation import simulate

F = Fraction
LOCAL = {"local_lr": "1/10", "local_steps": 3}


def averaging(x, memory, round, *, local_lr, local_steps):
    return x + (round.share * round.train(x, local_lr, local_steps)).sum(1), {}


def from_memory(x, memory, round, *, local_lr, local_steps):
    sent = round.train(x, local_lr, local_steps)
    latest = torch.where(round.present > 0, sent, memory["updates"])
    return x + latest.mean(1), {"updates": latest}


def with_momentum(x, memory, round, *, local_lr, local_steps, global_lr):
    v = 0.75 * memory["velocity"] + (round.share * round.train(x, local_lr, local_steps)).sum(1)
    kept = memory["velocity"] + round.somebody * (v - memory["velocity"])
    return x + global_lr * round.somebody * v, {"velocity": kept}


def server_and_clients(x, memory, round, *, local_lr):
    """A step of the server's, and one of the clients' from where it leads."""
    half = x - local_lr * round.server_gradient(x)
    return half - local_lr * (round.share * round.gradient(half)).sum(1), {}


PAIRS: dict[str, tuple[Algorithm, Algorithm]] = {
    "fedavg": (own(averaging, **LOCAL), algorithms.fedavg(**LOCAL)),
    "mifa": (own(from_memory, memory={"updates": "clients"}, **LOCAL), algorithms.mifa(**LOCAL)),
    "momentum": (
        own(with_momentum, memory={"velocity": "vector"}, **LOCAL, global_lr="1/2"),
        algorithms.fedavgm(**LOCAL, momentum="3/4", global_lr="1/2"),
    ),
}
PROCESSES: dict[str, Participation] = {
    "fixed": Fixed([0, 2]),
    "uniform": Uniform(2),
    "twice": Uniform(2, replacement=True),
    "multinomial": Multinomial(3, ["1/2", "1/4", "1/4"]),
    "bernoulli": Bernoulli(["1/2", "1/3", "1/4"]),
    "incomplete": Incomplete(Uniform(1), absent=[1]),
    "phases": Phases([[0, 1], [1, 2]], [2, 1], cyclic=True),
    "markov": Markov(["1/2", "1/3", 1], ["1/2", "1/4", 1]),
    "cyclic": Cyclic(["1/2", "1/2", "1/2"], period=2),
}
WIDE = Quadratic([[1, 2], [2, 3], [1, 1]], [[1, 0], [-1, 1], [0, 2]], gradient_noise="1/2", server_noise="1/4")
LINE = Quadratic([[1], [2], [1]], [[1], [-1], [0]], gradient_noise="1/2", server_noise="1/4")


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", PAIRS)
def test_a_step_runs_as_the_parts_that_it_is(name: str, process: str) -> None:
    one, other = (simulate(Setting(WIDE, each, PROCESSES[process], 3), replicas=5, rounds=20) for each in PAIRS[name])
    for row, values in one.rows.items():  # of order 10: sums of a few numbers in another order
        np.testing.assert_allclose(values, other.rows[row], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", PAIRS)
def test_its_exact_moments_are_those_of_the_parts_as_fractions(name: str, process: str) -> None:
    settings = [Setting(LINE, each, PROCESSES[process], 3) for each in PAIRS[name]]
    if name == "mifa" and process in ("markov", "cyclic"):  # too many numbers in Fractions
        one, other = (s.exact([0, 1, 5, 40]) for s in settings)
        np.testing.assert_allclose(one.squared_distance, other.squared_distance, rtol=1e-12)
        return
    one, other = (s.exact([0, 1, 2, 4], exact=True) for s in settings)
    for what in ("squared_distance", "squared_gradient", "gradient_sum"):
        assert (getattr(one, what) == getattr(other, what)).all()
    assert (expected_models(settings[0], [3], exact=True) == expected_models(settings[1], [3], exact=True)).all()


@pytest.mark.parametrize("name", PAIRS)
def test_it_settles_where_the_parts_settle(name: str) -> None:
    one, other = (Setting(LINE, each, Uniform(2), start=3).stationary() for each in PAIRS[name])
    assert math.isclose(one.squared_distance, other.squared_distance, rel_tol=1e-9)
    exact = [Setting(LINE, each, Uniform(2), start=3).fixed_point(exact=True).point for each in PAIRS[name]]
    assert (exact[0] == exact[1]).all()


@pytest.mark.parametrize("noise", ["two-point", "common two-point"])
def test_common_noise_is_one_noise(noise: str) -> None:
    alike = Quadratic.common_hessian([1, -1, 0], 2, gradient_noise=1, noise=noise)
    settings = [Setting(alike, each, Uniform(2), 3) for each in PAIRS["mifa"]]
    one, other = (s.exact([0, 1, 2, 3], exact=True).squared_distance for s in settings)
    assert (one == other).all()


def test_two_communications_in_a_round_have_fourth_moments_of_the_participants_and_are_exact() -> None:
    """No algorithm of parts does this; simulation agrees within 5 standard errors."""
    setting = Setting(WIDE, own(server_and_clients, local_lr="1/5"), Uniform(2), start=3)
    exact = setting.exact([1, 3, 10])
    run = simulate(setting, replicas=20_000, rounds=10, record_every=1).rows["squared_distance"][:, [1, 3, 10]]
    error = run.std(0, ddof=1) / math.sqrt(len(run))
    assert (abs(run.mean(0) - exact.squared_distance) <= 5 * error).all()
    assert (error < 0.01 * exact.squared_distance).all()


@pytest.mark.parametrize("again", [lambda r, x: r.gradient(x), lambda r, x: -r.train(x, 1)])
def test_gradients_asked_for_twice_in_a_round_have_two_noises(again: Callable) -> None:
    def twice(x, memory, round, *, local_lr):
        both = round.gradient(x) + again(round, x)
        return x - local_lr * (round.share * both).sum(1) / 2, {}

    fed = Quadratic([[1]], [[0]], gradient_noise=1)
    setting = Setting(fed, own(twice, local_lr=1), Fixed([0]), start=1)
    assert setting.exact([1], exact=True).squared_distance == [F(1, 2)]  # of (n + n')/2, not of n
    found = simulate(setting, replicas=4000, rounds=1).rows["squared_distance"][:, -1].mean()
    assert abs(found - 0.5) < 0.05  # 6 standard errors


def test_what_begins_as_the_model_and_numbers_by_rule() -> None:
    """Averages of iterates: x the reported one, z the fast one; z alone is FedAvg with the same rule."""

    def reported(x, memory, round, *, local_lr, local_steps):
        z = memory["fast"] + (round.share * round.train(memory["fast"], local_lr, local_steps)).sum(1)
        return (x + z) / 2, {"fast": z}

    rule = {"local_lr": "1/(4 + step_index)", "local_steps": 2}
    setting = Setting(LINE, own(reported, memory={"fast": "model"}, **rule), Fixed([0, 1, 2]), start=3)
    fast = Setting(LINE, algorithms.fedavg(**rule), Fixed([0, 1, 2]), start=3)
    mean = expected_models(setting, [2], exact=True)[0, 0]
    z = expected_models(fast, [0, 1, 2], exact=True)[:, 0]
    assert mean == z[0] / 4 + z[1] / 4 + z[2] / 2
    run = simulate(setting, replicas=2, rounds=6, record_every=1)
    assert np.isfinite(run.rows["squared_distance"]).all()


def test_a_run_stops_and_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    setting = Setting(WIDE, PAIRS["mifa"][0], PROCESSES["markov"], start=3)
    whole = simulate(setting, replicas=3, rounds=12, record_every=1)
    passed = []

    def stop(done: int, total: int) -> None:
        passed.append(done)
        if len(passed) == 7:
            raise KeyboardInterrupt

    options = {"replicas": 3, "rounds": 12, "record_every": 1, "directory": tmp_path, "checkpoint_every": 3}
    with pytest.raises(KeyboardInterrupt):
        simulate(setting, **options, progress=stop)
    resumed = simulate(setting, **options)
    assert all((values == resumed.rows[name]).all() for name, values in whole.rows.items())

    def halved(x, memory, round, *, local_lr, local_steps):
        moved, kept = from_memory(x, memory, round, local_lr=local_lr, local_steps=local_steps)
        return (x + moved) / 2, kept

    other = own(halved, memory={"updates": "clients"}, name="from_memory", **LOCAL)
    with pytest.raises(ValueError, match="holds another run: setting"):
        simulate(Setting(WIDE, other, PROCESSES["markov"], start=3), **options)


# What is not linear ---------------------------------------------------------------------------------------------------


def sent(x, round, local_lr):
    return (round.share * round.train(x, local_lr)).sum(1)


NOT_LINEAR: dict[str, tuple[str, Callable]] = {
    "clamp": ("clamp", lambda x, m, r, *, local_lr: (x + torch.clamp(sent(x, r, local_lr), -1, 1), {})),
    "method": ("clamp", lambda x, m, r, *, local_lr: (x + sent(x, r, local_lr).clamp(max=1), {})),
    "norm": ("norm", lambda x, m, r, *, local_lr: (x / (1 + x.norm(dim=1, keepdim=True)), {})),
    "abs": ("abs", lambda x, m, r, *, local_lr: (x - local_lr * abs(x), {})),
    "torch.abs": ("abs", lambda x, m, r, *, local_lr: (x - local_lr * torch.abs(x), {})),
    "product": (r"\*, of two numbers", lambda x, m, r, *, local_lr: (x - local_lr * x * x, {})),
    "quotient": ("/, by a number that depends", lambda x, m, r, *, local_lr: (x + 1 / x, {})),
    "power": (r"\*\*", lambda x, m, r, *, local_lr: (x - local_lr * x**2, {})),
    "comparison": (">", lambda x, m, r, *, local_lr: (torch.where(x > 0, x, x / 2), {})),
    "float": ("float", lambda x, m, r, *, local_lr: (x if float(x[0, 0]) > 1 else x / 2, {})),
    "math": ("float", lambda x, m, r, *, local_lr: (x * math.exp(-x[0, 0]), {})),
    "item": ("item", lambda x, m, r, *, local_lr: (x if x[0, 0].item() > 1 else x / 2, {})),
    "bool": ("bool", lambda x, m, r, *, local_lr: (x if x[0, 0] else x / 2, {})),
    "max": (">", lambda x, m, r, *, local_lr: (max(x[0, 0], x[0, 0] / 2) + 0 * x, {})),
    "numpy": ("maximum", lambda x, m, r, *, local_lr: (np.maximum(x, 0), {})),
    "step size": ("a number that round is given", lambda x, m, r, *, local_lr: (x + r.train(x, x[0, 0]).sum(1), {})),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_what_is_not_linear_is_refused_by_its_name_and_place(name: str) -> None:
    operation, step = NOT_LINEAR[name]
    setting = Setting(LINE, own(step, name="mine", local_lr="1/10"), Fixed([0, 1]), start=3)
    why = rf"test_own_algorithms.py, line \d+: algorithm mine is not linear in the state at `{operation}.*`: moments do"
    with pytest.raises(NotLinear, match=why):
        setting.exact([1])


def test_a_refusal_that_the_step_catches_counts_all_the_same() -> None:
    def sly(x, memory, round, *, local_lr):
        try:
            far = float(x[0, 0]) > 10
        except Exception:
            far = False
        return (x if far else x / 2), {}

    with pytest.raises(NotLinear, match="algorithm sly is not linear in the state at `float`"):
        Setting(LINE, own(sly, local_lr=1), Fixed([0]), start=3).exact([1])


def test_a_step_that_looks_what_it_is_given_is_found_out() -> None:
    def sly(x, memory, round, *, local_lr):
        moved = x - local_lr * (round.share * round.gradient(x)).sum(1)
        return (torch.clamp(moved, -5, 5) if isinstance(x, torch.Tensor) else moved), {}

    def mixing(x, memory, round, *, local_lr):
        return x / 2 + x.mean(0, keepdim=True) / 2, {}

    for step in (sly, mixing):
        with pytest.raises(StepError, match="on tensors step does something else than on exact forms"):
            Setting(LINE, own(step, local_lr="1/10"), Fixed([0]), start=3).exact([1])


def in_place(x, memory, round, *, local_lr):
    x[0] = 0
    return x, {}


NEITHER = {
    "is not followed at `cat`": lambda x, m, r, *, local_lr: (torch.cat([x, x], 1)[:, :1], {}),
    r"is not followed at `\+, with a tensor from outside": lambda x, m, r, *, local_lr: (x + torch.ones(1), {}),
    "is not followed at `assignment to a part`": in_place,
    "draws by itself at `randn_like`: allowed are draws by round": (
        lambda x, m, r, *, local_lr: (x + torch.randn_like(x), {})
    ),
}


@pytest.mark.parametrize("why", NEITHER)
def test_what_is_not_followed_or_drawn_is_not_called_nonlinear(why: str) -> None:
    with pytest.raises(NotLinear, match=rf"test_own_algorithms.py, line \d+: algorithm mine {why}"):
        Setting(LINE, own(NEITHER[why], name="mine", local_lr=1), Fixed([0])).exact([1])


def test_a_rounded_float_is_not_exact_and_an_unknown_law_is_refused() -> None:
    step = lambda x, m, r, *, local_lr: (0.9 * x, {})  # noqa: E731
    with pytest.raises(StepError, match=r"line \d+: algorithm tenth: step fails: ValueError: 0.9 is a float"):
        Setting(LINE, own(step, name="tenth", local_lr=1), Fixed([0])).exact([1])
    with pytest.raises(ValueError, match="participation = IndexBeta: the law of its cohorts is not known here"):
        Setting(LINE, PAIRS["fedavg"][0], IndexBeta(1)).exact([1])
    with pytest.raises(ValueError, match="participation = Bernoulli: 512 cohorts of 9 clients"):
        many = Quadratic.common_hessian(list(range(9)))  # of nine kinds
        Setting(many, PAIRS["fedavg"][0], Bernoulli(["1/2"] * 9)).exact([1])


def test_nine_clients_of_two_kinds_are_counted_by_kind() -> None:
    """Their 512 cohorts are not told apart one by one; the built-in algorithm's moments come from its weights' own."""
    crowd, process = Quadratic.common_hessian([0] * 5 + [3] * 4), Bernoulli(["1/2"] * 9)
    own_one, built_in = (Setting(crowd, each, process, start=2).exact([1, 4], exact=True) for each in PAIRS["fedavg"])
    assert list(own_one.squared_distance) == list(built_in.squared_distance)
    assert list(own_one.squared_gradient) == list(built_in.squared_gradient) and own_one.squared_distance[-1] > 0


# What is wrong --------------------------------------------------------------------------------------------------------


def counter() -> Callable:
    seen = []

    def step(x, memory, round, *, local_lr):
        seen.append(1)
        return x * (1 if len(seen) % 2 else 2), {"v": memory["v"]}

    return step


def given_back(answer: Callable) -> Callable:
    return lambda x, memory, round, *, local_lr: answer(x, memory, round)


WRONG: dict[str, tuple[str, Callable]] = {
    "fails": ("step fails: ZeroDivisionError: division by zero", given_back(lambda x, m, r: 1 / 0)),
    "nothing": ("step returns None: allowed are x and a dictionary", given_back(lambda x, m, r: None)),
    "x alone": ("step returns .* of shape .*: allowed are x and a dictionary", given_back(lambda x, m, r: x)),
    "shape": (r"step returns x = .* of shape \(\d, 0\) and kind", given_back(lambda x, m, r: (x[:, :0], m))),
    "of memory": (r"step returns memory\['v'\] = ", given_back(lambda x, m, r: (x, {"v": m["v"].sum(1)}))),
    "a list": (r"step returns x = \[1, 2\]: allowed is", given_back(lambda x, m, r: ([1, 2], m))),
    "forgets": ("step forgets v: allowed to be remembered is v", given_back(lambda x, m, r: (x, {}))),
    "more": ("step remembers besides w: allowed", given_back(lambda x, m, r: (x, m | {"w": x}))),
    "three": (r"step returns \(.* of shape .*, \{\}, 1\): allowed are x and", given_back(lambda x, m, r: (x, {}, 1))),
    "one for each": (
        "a point: .* allowed is the shape",
        given_back(lambda x, m, r: (r.server_gradient(r.gradient(x)), m)),
    ),
    "no word": ("round.gradients: allowed are count, .* cohort, ", given_back(lambda x, m, r: (r.gradients(x), m))),
    "half": ("where = 1/2: allowed is 0 or 1", given_back(lambda x, m, r: (r.cohort(1, Fraction(1, 2)).share, m))),
    "a part": ("size = 1.5: allowed is a whole number", given_back(lambda x, m, r: (r.cohort(1.5).share, m))),
    "point": ("step fails: ValueError: a point: ", given_back(lambda x, m, r: (x + r.gradient(r.count[:, :1]), m))),
    "steps": ("step fails: ValueError: local_steps = 0", given_back(lambda x, m, r: (x + r.train(x, 1, 0).sum(1), m))),
    "hidden": ("two calls of step", counter()),
    "draws": ("two calls of step", given_back(lambda x, m, r: (x * (np.random.default_rng().integers(2**40)), m))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_step_that_is_wrong_is_told_with_its_place(name: str) -> None:
    why, step = WRONG[name]
    setting = Setting(LINE, own(step, name="mine", memory={"v": "vector"}, local_lr=1), Fixed([0]), start=3)
    for ask in (lambda: simulate(setting, replicas=2, rounds=3), lambda: setting.exact([1])):
        with pytest.raises(StepError, match=rf"test_own_algorithms.py, line \d+: algorithm mine: .*{why}") as told:
            ask()
        assert "\n" not in str(told.value)


def test_what_a_step_is_given_stays_unchanged() -> None:
    def inplace(x, memory, round, *, local_lr):
        v = memory["velocity"]
        v += x
        x -= local_lr * v
        return x, {"velocity": v}

    def pure(x, memory, round, *, local_lr):
        v = memory["velocity"] + x
        return x - local_lr * v, {"velocity": v}

    made = [own(step, name="same", memory={"velocity": "vector"}, local_lr="1/8") for step in (inplace, pure)]
    one, other = (simulate(Setting(LINE, each, Fixed([0]), 3), replicas=2, rounds=9) for each in made)
    assert (one.rows["squared_distance"] == other.rows["squared_distance"]).all()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"local_lr": 1, "memory": {"v": "vektor"}}, r"line \d+: memory\['v'\] = 'vektor': allowed is one of vector"),
        ({"local_lr": 1, "learning": 2}, r"line \d+: algorithm step: got an unexpected keyword argument 'learning'"),
        ({"local_lr": 0}, "local_lr = 0: allowed is a finite number > 0"),
        ({"local_lr": "1/x"}, "local_lr = '1/x': allowed is a finite number"),
        ({}, r"algorithm step: missing a required argument: 'local_lr'; allowed is a step\(x, memory, round\)"),
        ({"local_lr": 1, "cutoff": 2}, r"an unexpected keyword argument 'cutoff'; allowed is a step\(x, memory, "),
        ({"local_lr": 1, "name": "two words"}, "name = 'two words': allowed is a name such as"),
    ],
)
def test_an_algorithm_that_is_none_is_refused(arguments: dict, why: str) -> None:
    def step(x, memory, round, *, local_lr):
        return x, memory

    with pytest.raises(ValueError, match=why):
        own(step, **arguments)


@pytest.mark.parametrize("name", ["clients", "rounds", "arbitrary_cohort", "smoothness", "initial_distance",
                                  "gradient_noise", "peak_full_pseudogradient"])  # fmt: skip
def test_what_clients_or_runs_have_is_no_number_of_a_step(name: str) -> None:
    """Else a claim would be judged at a start of distance 1, say, of runs that start elsewhere."""

    def step(x, memory, round, *, local_lr, **numbers):
        return x - local_lr * (round.share * round.gradient(x)).sum(1), {}

    with pytest.raises(ValueError, match=f"{name} = 1: clients, start or run say what it is"):
        own(step, local_lr="1/8", **{name: 1})
    with pytest.raises(ValueError, match=f"{name} = 1: clients, start or run say what it is"):
        own(step, local_lr="1/8").with_numbers(**{name: 1})


def test_its_numbers_are_the_claims_quantities() -> None:
    made = PAIRS["momentum"][0]
    assert made.quantities() == {"local_lr": 0.1, "local_steps": 3, "global_lr": 0.5}
    changed = made.with_numbers(local_lr="1/7")
    assert changed.number("local_lr") == F(1, 7) and changed.round.step is made.round.step
    found = Setting(LINE, changed, Fixed([0])).quantities(needed=["local_lr", "local_steps"], numbers="exact")
    assert [found[name].value for name in ("local_lr", "local_steps")] == [F(1, 7), 3]
