"""The project's experiment files: each is in order, its settings are made of parts, and the list is current."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedtheory import data
from fedtheory.experiments import setting_parts
from fedtheory.experiments.by_class import ByClass
from fedtheory.experiments.construction import setting
from fedtheory.experiments.overview import overview
from fedtheory.experiments.part_models import built, checked
from fedtheory.experiments.printed_tables import folder
from fedtheory.experiments.published import read_current
from fedtheory.experiments.results import experiment_files
from fedtheory.experiments.schema import model, read_experiment
from fedtheory.experiments.sweeps import perform_all
from fedtheory.experiments.work_units import units_of
from fedtheory.federations.federation import Pairs
from fedtheory.participation import Bernoulli
from fedtheory.participation.base import history

NETWORK = """
title = "a network"
[federation]
kind = "Network"
dataset = "digits"
model = { kind = "multinomial_logistic", features = 64 }
partition = { kind = "Dirichlet", clients = 5, alpha = 0.5, test = 0.2 }
batch_size = 8
[algorithm]
kind = "fedavg"
local_lr = 0.1
local_steps = 2
[local_solver]
kind = "SGD"
momentum = 0.5
[participation]
kind = "ByClass"
pattern = "Bernoulli"
mean = 0.5
[run]
rounds = 6
seeds = [0, 1]
seeded = ["federation.partition.seed", "participation.seed"]
record_every = 2
observers = [{ kind = "evaluation", of = "test", every = 2 }, { kind = "traffic" }]
[[statistics]]
name = "accuracy"
of = "test_accuracy"
take = "mean"
last = 2
scale = 100.0
"""


@pytest.mark.parametrize("path", experiment_files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_is_in_order(path: Path) -> None:
    experiment = read_experiment(path)
    assert experiment.checked.chosen and experiment.checked.paper == path.parent.name
    algorithms = set()
    for point in experiment.points():
        made = model().model_validate(point.content)
        algorithms.add(repr(built(made.algorithm)))
        built(made.participation)
    assert len(algorithms) <= len(experiment.points())


def test_the_list_is_what_is_there() -> None:
    assert (folder() / "README.md").read_text() == overview(), "run: fedtheory experiments --into experiments/README.md"


@pytest.mark.parametrize(
    "path",
    [path for path in experiment_files() if path.stem.startswith(("convex", "estimated"))],
    ids=lambda path: f"{path.parent.name}, {path.stem.partition('.')[0]}",
)
def test_runs_of_a_convex_file_share_neither_participants_nor_noise(path: Path) -> None:
    """Thirty in all: of any two, draws are correlated no more than chance allows; of one with itself, by 1."""
    experiment = read_experiment(path)
    plan, made = experiment.plan, setting(experiment.points()[0].content)
    clients, rounds = made.federation.clients, 400

    def noise(seed: int, replica: int) -> np.ndarray:
        some, none = torch.arange(clients), torch.zeros(clients, dtype=torch.int64)
        pairs = Pairs(some, none, none + replica, torch.arange(clients + 1), seed, round=3)
        return made.federation.draw_noise(pairs).numpy().ravel()

    who = np.concatenate(
        [history(made.participation, clients, rounds, plan.replicas, seed).transpose(0, 1).flatten(1).numpy()
         for seed in plan.seeds]
    ).astype(float)  # fmt: skip
    what = np.stack([noise(seed, replica) for seed in plan.seeds for replica in range(plan.replicas)])
    assert len(who) == len(what) == 30
    shares = who.reshape(30, rounds, clients).mean((0, 1))
    for drawn in (who - np.tile(shares, rounds), what):
        between = np.corrcoef(drawn)[np.triu_indices(30, 1)]
        assert np.abs(between).max() < 5 / np.sqrt(min(rounds, drawn.shape[1]))  # rounds are independent, clients not
    kept = read_current(path, experiment)
    assert kept is not None
    for row in kept["settings"]:
        for numbers in row["statistics"].values():
            assert len(set(np.ravel(numbers["values"]))) == 30


def test_a_network_runs_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(NETWORK)
    experiment = read_experiment(path)
    units = units_of(experiment, experiment.points(), tmp_path / "store")
    first, second = (setting(unit.content) for unit in units)
    assert isinstance(first.participation, Bernoulli) and first.participation != second.participation
    assert first.federation.partition.train[0].tolist() != second.federation.partition.train[0].tolist()
    assert first.algorithm.round.local_solver.momentum == 0.5
    outcome = perform_all(units)
    assert not outcome.failed
    for result in outcome.results.values():
        assert result["data"].startswith("digits: ")
        row = result["rows"]["test_accuracy"][0]
        assert result["statistics"]["accuracy"]["values"][0] == pytest.approx(50 * (row[-2] + row[-1]))


def test_participation_by_class_needs_labels() -> None:
    with pytest.raises(ValueError, match="ByClass needs clients' labels"):
        ByClass("Bernoulli").on(object())
    with pytest.raises(ValueError, match="pattern = 'Poisson': allowed is Bernoulli or Markov or Cyclic"):
        ByClass("Poisson")


@pytest.mark.parametrize(("options", "features"), [({}, 16), ({"bias": True}, 17), ({"pooling": 2}, 4)])
def test_a_logistic_regression_has_every_pixel_unless_it_is_told(
    options: dict[str, Any], features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of images of 4 x 4 pixels in two classes, each with weights of its own."""
    pixels = np.random.default_rng(0).integers(0, 256, (12, 1, 4, 4), np.uint8)
    monkeypatch.setattr(data, "load", lambda name: data.Dataset(name, pixels, np.arange(12) % 2, classes=2))
    made = setting_parts.logistic("drawn", clients=2, alpha=1.0, l2=0.1, points=10, **options)
    assert made.dimension == 2 * features


def test_parts_are_built_of_parts() -> None:
    assert built(checked("dataset", "digits")).name == data.load("digits").name
    with pytest.raises(ValueError, match="a model: kind = 'smal_cnn' is unknown; did you mean 'small_cnn'"):
        checked("model", "smal_cnn")
