"""Local solvers are PyTorch's optimisers, step by step, on every path."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

from fedtheory.neural import SGD, Adam, FlatModel, Visits, local_update
from fedtheory.neural.dropout import dropout_keys
from fedtheory.neural.gradients import PATHS
from fedtheory.neural.local_update import Sized
from tests.neural.common import IMAGE, plain_visit, samples_for, seeded, visits_for


def small() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.Tanh(), nn.Linear(8, 10))


MODULE = seeded(small)
MODEL = FlatModel(MODULE, initial="module")
SAMPLES = samples_for(IMAGE)
VISITS = visits_for(SAMPLES, pairs=2, steps=4, batch=5)

SOLVERS: list[tuple[SGD | Adam, Callable[..., torch.optim.Optimizer]]] = [
    (SGD(), lambda p: torch.optim.SGD(p, lr=0.05)),
    (SGD(momentum=0.9), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
    (SGD(momentum=0.9, nesterov=True), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True)),
    (SGD(weight_decay=0.1, momentum=0.5), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.5, weight_decay=0.1)),
    (SGD(clip_norm=0.3), lambda p: torch.optim.SGD(p, lr=0.05)),
    (Adam(), lambda p: torch.optim.Adam(p, lr=0.05)),
    (Adam(0.5, 0.9, 1e-3, weight_decay=0.1), lambda p: torch.optim.Adam(p, 0.05, (0.5, 0.9), 1e-3, 0.1)),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("solver, optimiser", SOLVERS)
def test_a_visit_is_pytorchs(solver: SGD | Adam, optimiser: Callable[..., torch.optim.Optimizer], path: str) -> None:
    """In float64, since Adam divides by |g| + 1e-8: what is rounded in a small g moves a step of .05 by far more."""
    module = copy.deepcopy(MODULE).double()
    model, samples = FlatModel(module, initial="module"), samples_for(IMAGE, dtype=torch.float64)
    found = local_update(model, model.initial(0).expand(2, -1), samples, VISITS, 0.05, solver, path=path).models
    for p in range(2):
        expected = plain_visit(module, samples, VISITS.index[p], optimiser, solver.clip_norm)
        for name, value in model.state_dict(found[p]).items():
            assert value.dtype == torch.float64 and float((value - expected[name]).abs().max()) < 1e-8


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("solver", [SGD(momentum=0.9, keep=True), Adam(keep=True)])
def test_what_a_client_remembers_goes_on(solver: SGD | Adam, path: str) -> None:
    start = MODEL.initial(0).expand(2, -1)
    whole = local_update(MODEL, start, SAMPLES, VISITS, 0.05, solver, path=path)
    first = local_update(MODEL, start, SAMPLES, Visits(VISITS.index[:, :1]), 0.05, solver, path=path)
    rest = Visits(VISITS.index[:, 1:])
    second = local_update(MODEL, first.models, SAMPLES, rest, 0.05, solver, state=first.state, path=path)
    assert float((second.models - whole.models).abs().max()) < 1e-6
    anew = local_update(MODEL, first.models, SAMPLES, rest, 0.05, solver, path=path)
    assert float((anew.models - whole.models).abs().max()) > 1e-4


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("solver", [SGD(), SGD(momentum=0.5), Adam()])
def test_visits_may_differ_in_length(solver: SGD | Adam, path: str) -> None:
    weights = torch.ones(2, 4, 5)
    weights[0, 2:] = 0  # two steps
    weights[1, 3, 2:] = 0  # a short last batch
    start = MODEL.initial(0).expand(2, -1)
    found = local_update(MODEL, start, SAMPLES, Visits(VISITS.index, weights), 0.05, solver, path=path)
    two = local_update(MODEL, start[:1], SAMPLES, Visits(VISITS.index[:1, :2]), 0.05, solver, path=path)
    assert float((found.models[0] - two.models[0]).abs().max()) < 1e-6
    assert found.losses[0, 2:].tolist() == [0, 0] and bool(found.models.isfinite().all())
    whole = local_update(MODEL, start, SAMPLES, VISITS, 0.05, solver, path=path)
    assert float((found.models[1] - whole.models[1]).abs().max()) > 1e-5


@pytest.mark.parametrize("path", PATHS)
def test_sizes_of_steps_and_the_proximal_term(path: str) -> None:
    start, visits = MODEL.initial(0)[None], Visits(VISITS.index[:1, :2])
    first = local_update(MODEL, start, SAMPLES, Visits(visits.index[:, :1]), 0.1, path=path).models
    second = local_update(MODEL, first, SAMPLES, Visits(visits.index[:, 1:]), 0.02, path=path).models
    expected = second - 0.02 * 3.0 * (first - start)
    found = local_update(MODEL, start, SAMPLES, visits, [0.1, 0.02], proximal=3.0, path=path).models
    assert float((found - expected).abs().max()) < 1e-6


def test_a_pairs_numbers_do_not_depend_on_who_shares_the_batch() -> None:
    module = seeded(lambda: nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(784, 10)))
    model, pair = FlatModel(module), torch.arange(2)[:, None]
    keys = dropout_keys(0, pair, pair, 0, torch.arange(4))
    visits, start = Visits(VISITS.index, None, keys), model.initial(0).expand(2, -1)
    both = local_update(model, start, SAMPLES, visits, 0.1, path="loop").models
    alone = local_update(model, start[1:], SAMPLES, visits[1:], 0.1, path="loop").models
    assert torch.equal(both[1:], alone)


def test_what_no_solver_can_be_is_refused() -> None:
    for make, message in [
        (lambda: SGD(momentum=1.0), "momentum = 1.0"),
        (lambda: SGD(weight_decay=-1.0), "weight_decay = -1.0"),
        (lambda: SGD(clip_norm=0.0), "clip_norm = 0.0"),
        (lambda: SGD(nesterov=True), "nesterov without momentum"),
        (lambda: Adam(beta2=1.0), "beta2 = 1.0"),
        (lambda: Adam(epsilon=0.0), "epsilon = 0.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match=r"spans: allowed are plain steps in the path 'grouped'.*the path is 'loop'"):
        spans = [Sized(2, [0.1] * VISITS.steps)]
        local_update(MODEL, MODEL.initial(0).expand(2, -1), SAMPLES, VISITS, 0.1, path="loop", spans=spans)
    with pytest.raises(ValueError, match="lr has 1 sizes for 4 steps"):
        local_update(MODEL, MODEL.initial(0).expand(2, -1), SAMPLES, VISITS, [0.1])
    for path in ("loop", "grouped", "vmap"):
        with pytest.raises(
            ValueError, match=r"lr = 1e\+308: allowed is what torch.float32 can hold, at most 3.40282e\+38"
        ):
            local_update(MODEL, MODEL.initial(0).expand(2, -1).float(), SAMPLES, VISITS, 1e308, path=path)
    with pytest.raises(ValueError, match="start has shape"):
        local_update(MODEL, MODEL.initial(0)[None], SAMPLES, VISITS, 0.1)
