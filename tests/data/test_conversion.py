"""Data sets of arrays, tensors, torch data sets and Hugging Face's; noise in features; targets of regression."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import fedtheory as ft
from fedtheory.data import ByFeatureNoise, ByQuantity, BySize, Dataset, Dirichlet, Normalisation, Partition, Uniform
from fedtheory.federations import Network

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (12, 3, 6, 5), dtype=np.uint8)
LABELS = np.arange(12) % 3


class Pairs:
    """A torch data set, as far as it is asked for anything."""

    classes = ("a", "b", "c", "d")

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __len__(self) -> int:
        return len(LABELS)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        self.asked.append(i)
        return torch.from_numpy(BYTES[i]), int(LABELS[i])


class Columns:
    """A split of Hugging Face's ``datasets``, as far as it is asked for anything."""

    def __init__(self, ragged: bool = False, **columns: np.ndarray) -> None:
        self.columns, self.ragged = columns, ragged
        kinds = {"img": type("Image", (), {}), "label": type("ClassLabel", (), {"names": ["x", "y", "z"]})}
        self.features = {name: kinds.get(name, SimpleNamespace)() for name in columns}

    @property
    def column_names(self) -> list[str]:
        return list(self.columns)

    def with_format(self, name: str) -> dict[str, np.ndarray | list]:
        assert name == "numpy"
        return {name: list(values) if self.ragged else values for name, values in self.columns.items()}


def test_arrays_tensors_and_data_sets_are_one() -> None:
    pairs = Pairs()
    tensors = torch.utils.data.TensorDataset(torch.from_numpy(BYTES), torch.from_numpy(LABELS))
    last = BYTES.transpose(0, 2, 3, 1)
    columns = Columns(img=last, label=LABELS, writer=np.array(list("uvw" * 4)))
    found = [
        Dataset.of(BYTES, LABELS),
        Dataset.of(torch.from_numpy(BYTES), torch.from_numpy(LABELS).to(torch.int32)),
        Dataset.of(last, LABELS.tolist()),
        Dataset.of(BYTES.astype(np.int64), LABELS),
        Dataset.of(tensors),
        Dataset.of(torch.utils.data.Subset(pairs, range(12))),
        Dataset.of(pairs),
        Dataset.of(columns, clients="writer"),
        Dataset.of(Columns(ragged=True, img=last, label=LABELS)),
    ]
    for data in found:
        assert data.kind == "images" and data.features.dtype == np.uint8
        np.testing.assert_array_equal(data.features, BYTES)
        np.testing.assert_array_equal(data.labels, LABELS)
    assert [data.classes for data in found] == [3] * 6 + [4, 3, 3]
    assert sorted(pairs.asked) == sorted([*range(12)] * 2)
    assert found[6].class_names == ("a", "b", "c", "d") and found[7].class_names == ("x", "y", "z")
    assert found[7].client_names == ("u", "v", "w") and found[7].clients.tolist() == [0, 1, 2] * 4


def test_hugging_face_itself() -> None:
    theirs = pytest.importorskip("datasets")
    columns = {"img": [each.transpose(1, 2, 0).tolist() for each in BYTES], "label": LABELS.tolist()}
    kinds = {"img": theirs.Array3D((6, 5, 3), "uint8"), "label": theirs.ClassLabel(names=["x", "y", "z"])}
    split = theirs.Dataset.from_dict(columns, features=theirs.Features(kinds))
    data = Dataset.of(theirs.DatasetDict({"train": split, "test": split.select(range(5))}))
    np.testing.assert_array_equal(data.features, BYTES)
    assert data.class_names == ("x", "y", "z") and len(data.test) == 5


def test_splits_and_test_sets() -> None:
    train, test = Columns(img=BYTES, label=LABELS), Columns(img=BYTES[:4], label=LABELS[:4])
    for data in (
        Dataset.of({"train": train, "test": test}),
        Dataset.of(train, test=test),
        Dataset.of(BYTES, LABELS, test=(BYTES[:4], LABELS[:4])),
        Dataset.of(BYTES, LABELS, test=Dataset.of(BYTES[:4], LABELS[:4], classes=3)),
    ):
        np.testing.assert_array_equal(data.test.features, BYTES[:4])
        assert data.test.classes == data.classes == 3
    assert Dataset.of(BYTES, LABELS, test=(BYTES[:2], [4, 0])).classes == 5
    assert Dataset.of(BYTES[:, 0], np.arange(12) % 2 == 0).features.shape == (12, 1, 6, 5)


def test_floats_are_what_bytes_mean() -> None:
    """A network sees the same numbers, bit by bit, normalised or not."""
    whole = {norm: Dataset.of(BYTES, LABELS, normalisation=norm) for norm in (None, "measured")}
    for norm, data in whole.items():
        given = None if norm is None else (data.normalisation.mean, data.normalisation.std)
        floats = Dataset.of(BYTES / np.float32(255), LABELS, normalisation=given)
        assert floats.features.dtype == np.float32
        nets = [
            Network(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(90, 3)), each, Uniform(clients=3))
            for each in (data, floats)
        ]
        assert torch.equal(nets[0].samples.features, nets[1].samples.features)
        np.testing.assert_allclose(data.vectors().features, floats.vectors().features, rtol=1e-7)
    seen = nets[1].samples.features
    assert abs(float(seen.mean())) < 1e-5 and abs(float(seen.std(unbiased=False)) - 1) < 1e-2
    assert Dataset.of(1000 * RNG.normal(size=(4, 1, 2, 2)), [0, 1, 0, 1], normalisation=(900, 30)).normalisation == (
        Normalisation((900.0,), (30.0,), "as given")
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": BYTES}, "x is ndarray; y is lacking: allowed is an array"),
        ({"x": 3}, "x is int: allowed is an array"),
        ({"x": BYTES, "y": LABELS[:5]}, r"labels has shape \(5,\)"),
        (
            {"x": np.zeros((2, 3, 5, 3)), "y": [0, 1]},
            "which axis has the channels is open; allowed is channels='first' or 'last'",
        ),
        ({"x": np.zeros((2, 3, 4, 5, 6)), "y": [0, 1]}, r"x has shape \(2, 3, 4, 5, 6\)"),
        ({"x": np.full((2, 2, 2), 256), "y": [0, 1]}, "x ranges over 256 to 256: allowed of whole numbers is 0 to 255"),
        (
            {"x": np.eye(2), "y": [0.5, 1.0], "classes": 3},
            "classes = 3, y is float64: allowed with classes are integers",
        ),
        ({"x": np.eye(2), "y": ["a", "b"]}, "y is <U1: allowed are integers or floats alone"),
        ({"x": [object()], "y": [1]}, "x is object"),
        ({"x": [[1, 2], [3]], "y": [1, 2]}, "x is no array"),
        ({"x": BYTES, "y": LABELS, "channels": "middle"}, "channels = 'middle': allowed is 'first', 'last' or None"),
        ({"x": BYTES, "y": LABELS, "normalisation": "mine"}, "normalisation = 'mine': allowed is a Normalisation"),
        ({"x": BYTES, "y": LABELS, "clients": "writer"}, "clients = 'writer': allowed of arrays is a client"),
        ({"x": BYTES, "y": LABELS, "clients": [1, 2]}, r"clients is int64 \(2,\): allowed is \(12,\)"),
        ({"x": {"validation": 1}}, "x has the splits validation: allowed is one split, or train among them"),
        ({"x": Columns(a=BYTES, label=LABELS)}, "x has a, label, of which none or several may be features"),
        ({"x": Columns(img=BYTES, label=LABELS), "clients": "who"}, "clients = 'who': x has img, label"),
        ({"x": (1, 2)}, r"x\[0\] is int: allowed is a pair"),
    ],
)
def test_refuses(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Dataset.of(**arguments)


def test_sizes() -> None:
    data = Dataset.of(np.ones((1000, 1)), np.arange(1000) % 2)
    assert BySize(clients=4).split(data).sizes.tolist() == [100, 200, 300, 400]
    assert BySize(clients=3, growth="square").split(data).sizes.tolist() == [71, 285, 644]
    sizes = BySize(clients=5, growth="exponential", rate=0.5).split(data).sizes
    np.testing.assert_allclose(sizes[1:] / sizes[:-1], np.exp(0.5), rtol=0.02)
    with pytest.raises(ValueError, match="the first client would get none of 1000 samples"):
        BySize(clients=20, growth="exponential").split(data)
    with pytest.raises(ValueError, match="growth = 'cubic': allowed is one of linear, square, exponential"):
        BySize(clients=2, growth="cubic")
    parts = ByQuantity(clients=5, alpha=0.5, least=20).split(data)
    assert parts.sizes.min() >= 20 and parts.sizes.sum() == 1000


@pytest.mark.parametrize("test", ["whole", 0.25])
def test_noise_is_each_clients_own(test: str | float) -> None:
    images = RNG.integers(0, 256, (3000, 1, 4, 4), dtype=np.uint8)
    data = Dataset.of(images, np.arange(3000) % 2, test=(images[:10], np.arange(10) % 2))
    parts = ByFeatureNoise(clients=3, level=0.3, test=test).split(data)
    seen = parts.seen(data)
    noise = seen.features - images.astype(np.float32) / 255
    for client, part in enumerate(parts.train):
        mine = part if test == "whole" else np.concatenate([part, parts.test[client]])
        # 16,000 normal numbers: the variance is known up to a factor 1 +- 0.011, and four of these are allowed
        assert abs(noise[mine].var() / (0.1 * (client + 1)) - 1) < 0.045 and abs(noise[mine].mean()) < 0.02
    assert seen.test is data.test and parts.seen(data).features.tobytes() == seen.features.tobytes()
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    net = Network(model, data, parts)
    rows = np.concatenate(parts.train)
    np.testing.assert_array_equal(net.samples.features.numpy(), seen.features[rows])
    assert net.identity() != Network(model, data, Partition.of(parts.train)).identity()
    deviations = ByFeatureNoise(clients=2, level=0.3, spread="deviation").split(data).noise.deviations
    np.testing.assert_allclose(deviations, [0.15, 0.3])


def test_given_indices() -> None:
    parts = Partition.of({"anna": [4, 0], "bert": torch.tensor([2, 1])}, test={"bert": [0], "anna": []})
    assert [part.tolist() for part in parts.train] == [[0, 4], [1, 2]]
    assert [part.tolist() for part in parts.test] == [[], [0]]
    for indices, message in (
        ([[0.5]], r"indices\[0\] is float64 \(1,\): allowed are integers"),
        ([[0, 0]], r"train\[0\]: allowed are increasing"),
        ([[0], [0]], "a sample is of two clients"),
        ([[0], []], r"client \[1\] is empty"),
        ([], "is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            Partition.of(indices)
    with pytest.raises(ValueError, match="test has other clients than indices"):
        Partition.of({0: [1]}, test=[[1]])


def test_what_is_lacking_is_told() -> None:
    data = Dataset.of(np.ones((6, 2)), [0, 0, 1, 1, 2, 3], test=(np.ones((3, 2)), [3, 3, 0]))
    parts = Partition.of([[0, 2], [1]])
    assert parts.lacks(data) == (
        "no client trains on 2 classes: 2, 3 (2 samples)",
        "no client trains on class 3 (2 test samples)",
        "3 of 6 samples are of no client",
    )
    with pytest.warns(UserWarning, match="partition of 'data': no client trains on 2 classes: 2, 3"):
        Network(torch.nn.Linear(2, 4), data, parts)
    assert Uniform(clients=2).split(data).lacks(data) == ()


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("path", ["loop", "vmap", "grouped"])
def test_regression_trains_as_torch_does(outputs: int, path: str) -> None:
    """One client, all its points, three steps of gradient descent; torch's own autograd on the same numbers."""
    x = RNG.normal(size=(20, 3))
    y = (x @ RNG.normal(size=(3, outputs)) + 1).astype(np.float32).squeeze(1) if outputs == 1 else x[:, :2] - 1
    data = Dataset.of(x, y, test=(x[:5], y[:5]))
    net = Network(torch.nn.Linear(3, outputs), data, Uniform(clients=1), batch_size=20, sampling="shuffled", path=path)
    run = ft.Setting(net, ft.algorithms.fedavg(local_lr=0.1, local_steps=1), ft.participation.Uniform(1)).simulate(
        replicas=1, rounds=3, record_every=1
    )
    weights = [
        each.clone().requires_grad_() for each in net.model.unflattened(net.initial(0, torch.tensor([0]))[0]).values()
    ]
    points, targets = (torch.tensor(each, dtype=torch.float32) for each in (x, y))
    for round in range(4):
        outs = torch.nn.functional.linear(points, *weights)
        losses = (outs - targets.view_as(outs)).square().sum(1) / 2
        np.testing.assert_allclose(run.rows["test_loss"][0, round], losses[:5].mean().item(), rtol=1e-5)
        slopes = torch.autograd.grad(losses.mean(), weights)
        weights = [(w - 0.1 * s).detach().requires_grad_() for w, s in zip(weights, slopes, strict=True)]


def test_regression_refuses_what_needs_classes() -> None:
    data = Dataset.of(np.ones((6, 2)), np.arange(6.0))
    for scheme in (Dirichlet(clients=2, alpha=1.0),):
        with pytest.raises(ValueError, match="'data' has targets of regression: allowed is a data set with classes"):
            scheme.split(data)
    with pytest.raises(ValueError, match="the model has 3 outputs: allowed is 1, as targets have"):
        Network(torch.nn.Linear(2, 3), data, Uniform(clients=2))
    with pytest.raises(ValueError, match="labels are numbers: allowed is loss='cross_entropy' with classes"):
        Network(ft.neural.FlatModel(torch.nn.Linear(2, 1)), data, Uniform(clients=2))
    classes = Dataset.of(np.ones((6, 2)), np.arange(6) % 2)
    with pytest.raises(ValueError, match="labels are classes"):
        Network(ft.neural.FlatModel(torch.nn.Linear(2, 2), "squared_error"), classes, Uniform(clients=2))
    s = ft.Setting(
        Network(torch.nn.Linear(2, 1), data, Uniform(clients=2)),
        ft.algorithms.fedavg(local_lr=0.1, local_steps=1),
        ft.participation.Uniform(1),
    )
    with pytest.raises(ValueError, match="data of regression have no accuracy; allowed is RegressionLoss"):
        s.simulate(replicas=1, rounds=1, observers=["evaluation"])
    with pytest.raises(ValueError, match="training accuracy"):
        s.simulate(replicas=1, rounds=1, observers=["training_accuracy"])
