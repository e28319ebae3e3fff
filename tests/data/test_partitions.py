"""Properties of every partition: who has what, how much, and that seeds decide it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory import data
from fedtheory.data import (
    ByClient,
    ByFeatureNoise,
    ByQuantity,
    BySize,
    CoarseLabels,
    Dataset,
    Dirichlet,
    LabelDirichlet,
    LabelGroups,
    LabelsPerClient,
    Partition,
    Scheme,
    Uniform,
    dirichlet,
)
from fedtheory.data.partition.split import in_proportion
from fedtheory.participation import participation_probabilities

CLASSES = 4


def dataset(labels: np.ndarray, test: np.ndarray | None = None, classes: int = CLASSES) -> Dataset:
    held = None if test is None else Dataset("toy", np.ones((len(test), 1)), test, classes)
    return Dataset("toy", np.ones((len(labels), 1)), labels, classes, test=held)


def even(each: int, test_each: int = 10, classes: int = CLASSES) -> Dataset:
    rng = np.random.default_rng(each)
    labels = [rng.permutation(np.repeat(np.arange(classes), n)) for n in (each, test_each)]
    return dataset(*labels, classes=classes)


def coarse(each: int = 30, classes: int = 6) -> Dataset:
    whole = even(each, classes=classes)
    return replace(whole, coarse_labels=whole.labels // 2)


LABELS = st.lists(st.integers(0, CLASSES - 1), min_size=1, max_size=60).map(np.array)
SEEDS = st.integers(0, 2**32)
ALPHAS = st.floats(1e-3, 1e3)
SCHEMES: list[tuple[Scheme, Dataset]] = [
    (Uniform(clients=7), even(30)),
    (Dirichlet(clients=7, alpha=0.3), even(30)),
    (LabelDirichlet(clients=7, alpha=0.3), even(30)),
    (LabelDirichlet(clients=7, alpha=0.3, rounding="nearest"), even(30)),
    (LabelDirichlet(clients=7, alpha=0.5, over="clients", least=3), even(30)),
    (LabelsPerClient(clients=7, labels=2), even(30)),
    (LabelsPerClient(clients=7, labels=3, choice="even", shared=False), even(30)),
    (CoarseLabels(clients=9), coarse()),
    (BySize(clients=7, growth="square"), even(40)),
    (ByQuantity(clients=7, alpha=0.5, least=4), even(30)),
    (ByFeatureNoise(clients=7, level=0.1), even(30)),
    (LabelGroups(clients=9, groups=4), even(30)),
    (ByClient(clients=5), data.synthetic(groups=2, clients=4, samples=6, test_samples=2)),
]
NAMES = [f"{type(scheme).__name__}-{i}" for i, (scheme, _) in enumerate(SCHEMES)]


def equal(a: Partition, b: Partition) -> bool:
    same = all(np.array_equal(x, y) for x, y in zip(a.train, b.train, strict=True))
    return same and all(np.array_equal(x, y) for x, y in zip(a.test or (), b.test or (), strict=True))


@pytest.mark.parametrize(("scheme", "whole"), SCHEMES, ids=NAMES)
def test_seeds_decide_and_nothing_else(scheme: Scheme, whole: Dataset) -> None:
    assert equal(scheme.split(whole), scheme.split(whole))
    assert not equal(scheme.split(whole), replace(scheme, seed=1).split(whole))
    parts = scheme.split(whole)
    train = np.concatenate(parts.train)
    assert train.min() >= 0 and train.max() < len(whole) and min(parts.sizes) >= 1
    assert all(len(np.unique(part)) == len(part) for part in parts.train)
    assert parts.shared or len(np.unique(train)) == len(train)


@pytest.mark.parametrize(("scheme", "whole"), SCHEMES, ids=NAMES)
def test_whole_and_held_out_test_sets(scheme: Scheme, whole: Dataset) -> None:
    assert replace(scheme, test="whole").split(whole).test is None
    plain, held = scheme.split(whole), replace(scheme, test=0.25).split(whole)
    for all_of, kept, out in zip(plain.train, held.train, held.test, strict=True):
        assert len(out) == len(all_of) // 4
        np.testing.assert_array_equal(np.sort(np.concatenate([kept, out])), all_of)
    assert held.held_out and not plain.held_out
    np.testing.assert_array_equal(
        held.counts(whole.labels, whole.classes) + held.counts(whole.labels, whole.classes, "test"),
        plain.counts(whole.labels, whole.classes),
    )


@settings(max_examples=80)
@given(labels=LABELS, data=st.data(), seed=SEEDS)
def test_uniform(labels: np.ndarray, data: st.DataObject, seed: int) -> None:
    clients = data.draw(st.integers(1, len(labels)))
    parts = Uniform(clients=clients, seed=seed).split(dataset(labels))
    np.testing.assert_array_equal(np.sort(np.concatenate(parts.train)), np.arange(len(labels)))
    assert np.ptp(parts.sizes) <= 1 and parts.test is None


@settings(max_examples=60)
@given(labels=LABELS, data=st.data(), alpha=ALPHAS, seed=SEEDS)
def test_balanced_dirichlet_is_the_function(labels: np.ndarray, data: st.DataObject, alpha: float, seed: int) -> None:
    clients = data.draw(st.integers(1, len(labels)))
    parts = Dirichlet(clients=clients, alpha=alpha, seed=seed).split(dataset(labels))
    expected = dirichlet(labels, clients, alpha, seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts.train, expected, strict=True))
    np.testing.assert_allclose(parts.distributions.sum(axis=1), 1.0)


@settings(max_examples=80)
@given(labels=LABELS, data=st.data(), alpha=st.floats(0.5, 1e3), seed=SEEDS)
def test_label_dirichlet_cuts_every_class(labels: np.ndarray, data: st.DataObject, alpha: float, seed: int) -> None:
    """Every sample is given, and of each class a client has its share pi_ic / sum_j pi_jc, off by less than 1."""
    clients = data.draw(st.integers(1, max(1, len(labels) // 10)))
    rounding = data.draw(st.sampled_from(["down", "nearest"]))
    parts = LabelDirichlet(clients=clients, alpha=alpha, rounding=rounding, seed=seed).split(dataset(labels))
    np.testing.assert_array_equal(np.sort(np.concatenate(parts.train)), np.arange(len(labels)))
    shares = parts.distributions / parts.distributions.sum(axis=0)
    expected = shares * np.bincount(labels, minlength=CLASSES)
    cumulative = np.cumsum(parts.counts(labels, CLASSES), axis=0) - np.cumsum(expected, axis=0)
    slack = 1e-9
    if rounding == "down":
        assert (cumulative[:-1] <= slack).all() and (cumulative[:-1] > -1 - slack).all()
    else:
        assert (np.abs(cumulative) <= 0.5 + slack).all()


def test_label_dirichlet_over_clients_needs_enough_for_each() -> None:
    parts = LabelDirichlet(clients=10, alpha=0.5, over="clients", least=10).split(even(100))
    assert parts.sizes.min() >= 10 and parts.sizes.sum() == 400 and parts.distributions is None
    with pytest.raises(ValueError, match="in 1000 draws some client always had fewer than 1 samples"):
        LabelDirichlet(clients=300, alpha=0.001, over="clients").split(even(100))
    with pytest.raises(ValueError, match=r"clients = 5: allowed is an integer from 1 to .* over least, 4"):
        LabelDirichlet(clients=5, alpha=1, least=100).split(even(100))


def test_laws_of_label_dirichlet() -> None:
    """Many clients of small alpha have mostly one label, of large alpha all alike; the two ways differ in sizes."""
    few, many = (LabelDirichlet(clients=50, alpha=a).split(even(1000)) for a in (0.01, 1000.0))
    labels = even(1000).labels
    assert few.label_shares(labels).max(axis=1).mean() > 0.9
    np.testing.assert_allclose(many.label_shares(labels), 1 / CLASSES, atol=0.06)
    over = LabelDirichlet(clients=50, alpha=0.5, over="clients", least=1).split(even(1000))
    assert over.sizes.std() > LabelDirichlet(clients=50, alpha=0.5).split(even(1000)).sizes.std()


@settings(max_examples=80)
@given(data=st.data(), seed=SEEDS, shared=st.booleans(), choice=st.sampled_from(["random", "even"]))
def test_labels_per_client(data: st.DataObject, seed: int, shared: bool, choice: str) -> None:
    """p labels each, equally many samples of each label up to 1, all clients equally many; the same for test data."""
    clients, labels = data.draw(st.integers(1, 8)), data.draw(st.integers(1, CLASSES))
    whole = even(32, 16)
    parts = LabelsPerClient(clients=clients, labels=labels, choice=choice, shared=shared, seed=seed).split(whole)
    for of, source in (("train", whole), ("test", whole.test)):
        counts = parts.counts(source.labels, CLASSES, of)
        assert ((counts > 0).sum(axis=1) == labels).all()
        assert np.ptp(counts.sum(axis=1)) == 0
        assert all(np.ptp(row[row > 0]) <= 1 for row in counts)
        np.testing.assert_array_equal(counts > 0, parts.distributions > 0)
    if choice == "even":
        assert np.ptp((parts.distributions > 0).sum(axis=0)) <= 1
    if shared and len(whole) // clients <= 32 * labels:
        assert parts.sizes[0] == len(whole) // clients
    if not shared:
        assert len(np.unique(np.concatenate(parts.train))) == parts.sizes.sum()


def test_as_in_safari() -> None:
    """10 clients, p = 1, 2, 5, 10: floor(N / 10) samples, N / (10 p) of each of p classes drawn uniformly."""
    whole = even(600, 100, classes=10)
    for p in (1, 2, 5, 10):
        parts = LabelsPerClient(clients=10, labels=p).split(whole)
        assert set(parts.counts(whole.labels).ravel().tolist()) == ({600 // p} if p == 10 else {0, 600 // p})
        assert set(parts.counts(whole.test.labels, of="test").ravel().tolist()) == (
            {100 // p} if p == 10 else {0, 100 // p}
        )
    drawn = sum(LabelsPerClient(clients=10, labels=2, seed=seed).split(whole).distributions > 0 for seed in range(300))
    # 3000 draws of each label in expectation 600, deviation sqrt(3000 * .2 * .8) = 22: all 10 within 4.5 deviations
    assert (np.abs(drawn.sum(axis=0) - 600) < 99).all()


def test_as_in_fedau() -> None:
    """250 clients, kappa_n ~ Dir(0.1), p_n = C mu <kappa_n, q> with a floor: the class that q prefers comes often."""
    whole = even(600, classes=10)
    parts = LabelDirichlet(clients=250, alpha=0.1, rounding="nearest").split(whole)
    assert parts.sizes.sum() == 6000 and parts.sizes.min() >= 1
    kappa, q = parts.distributions, np.random.default_rng(0).dirichlet(np.full(10, 0.1))
    p = participation_probabilities(kappa, q, mean=0.1, floor=0.02)
    np.testing.assert_allclose(p, np.clip(kappa @ q, 0.02, 1), rtol=1e-12)  # lambda = 1 / (10 * 0.1)
    shares = parts.label_shares(whole.labels)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.corrcoef(shares[:, q.argmax()], p)[0, 1] > 0.8
    # Dir(0.1): E kappa_c = 0.1 and its deviation sqrt(0.09 / 2) = 0.21; over 250 clients 0.0134, 4.5 of them
    assert (np.abs(kappa.mean(axis=0) - 0.1) < 0.061).all()


def test_labels_per_client_refuses() -> None:
    whole = even(30)
    with pytest.raises(ValueError, match=r"labels = 5: allowed .* the number of classes that have samples, 4"):
        LabelsPerClient(clients=3, labels=5).split(whole)
    with pytest.raises(ValueError, match="samples = 70 of 2 labels: allowed is an integer from 2 to 60"):
        LabelsPerClient(clients=3, labels=2, samples=70).split(whole)
    with pytest.raises(ValueError, match="samples = 1 of 2 labels"):
        LabelsPerClient(clients=3, labels=2, samples=1).split(whole)
    with pytest.raises(ValueError, match="30 of them have label 0, which has 10 samples; allowed are"):
        LabelsPerClient(clients=30, labels=4, shared=False).split(even(10))
    with pytest.raises(ValueError, match="clients = 121: allowed is an integer from 1 to the number of samples, 120"):
        LabelsPerClient(clients=121, labels=1).split(whole)


@settings(max_examples=40)
@given(clients=st.integers(1, 30), alpha=ALPHAS, beta=ALPHAS, seed=SEEDS)
def test_coarse_labels(clients: int, alpha: float, beta: float, seed: int) -> None:
    """Balanced, disjoint, the group a coarse label that the client has and prefers most of those that it has."""
    whole = coarse(20)
    parts = CoarseLabels(clients=clients, alpha=alpha, beta=beta, seed=seed).split(whole)
    assert set(parts.sizes.tolist()) == {120 // clients}
    theta = parts.distributions.reshape(clients, 3, 2).sum(axis=2)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-9)
    for client, part in enumerate(parts.train):
        present = np.unique(whole.coarse_labels[part])
        group = parts.groups[client]
        assert group in present and theta[client, group] >= theta[client, present].max() * (1 - 1e-9)


def test_coarse_labels_follow_their_law() -> None:
    """A first client, before anything is used up: counts are multinomial with its law."""
    whole = coarse(5000)
    parts = CoarseLabels(clients=3, alpha=1.0, beta=1.0, samples=4000).split(whole)
    counts, law = parts.counts(whole.labels)[0], parts.distributions[0]
    deviation = np.sqrt(4000 * law * (1 - law)) + 1e-9
    assert (np.abs(counts - 4000 * law) < 5 * deviation + 1).all()


def test_coarse_labels_are_needed_and_one_for_each_label() -> None:
    with pytest.raises(ValueError, match="has no coarse labels: allowed is a data set that has"):
        CoarseLabels(clients=2).split(even(10))
    torn = coarse()
    torn.coarse_labels[0] = (torn.coarse_labels[0] + 1) % 3
    with pytest.raises(ValueError, match="has two coarse labels: allowed is one"):
        CoarseLabels(clients=2).split(torn)
    with pytest.raises(ValueError, match=r"samples = 61: allowed is an integer from 1 to .* over clients, 60"):
        CoarseLabels(clients=3, samples=61).split(coarse())


@settings(max_examples=40)
@given(clients=st.integers(10, 60), labels=st.integers(1, 10), seed=SEEDS)
def test_label_groups(clients: int, labels: int, seed: int) -> None:
    """Groups of equal size, group k with labels k, k + 1, ...; of those labels every sample is given, evenly."""
    whole = even(60, 60, classes=12)  # labels 10 and 11 are of no group
    parts = LabelGroups(clients=clients, labels=labels, seed=seed).split(whole)
    assert np.ptp(np.bincount(parts.groups, minlength=10)) <= 1
    counts = parts.counts(whole.labels)
    has = (np.arange(12)[None] - parts.groups[:, None]) % 10 < labels
    has[:, 10:] = False
    np.testing.assert_array_equal(counts > 0, has)
    np.testing.assert_array_equal(counts.sum(axis=0), [60] * 10 + [0, 0])
    assert all(np.ptp(counts[has[:, c], c]) <= 1 for c in range(10))
    np.testing.assert_array_equal(parts.distributions > 0, has)
    test = parts.counts(whole.test.labels, 12, "test")
    np.testing.assert_array_equal(test, counts)  # as many test samples as training samples of each label


def test_as_in_flics() -> None:
    parts = LabelGroups(clients=100).split(even(100, classes=10))
    labels = even(100, classes=10).labels
    for part, group in zip(parts.train, parts.groups, strict=True):
        assert set(labels[part].tolist()) == {group, (group + 1) % 10} and len(part) == 10
    with pytest.raises(ValueError, match="label 0 has 5 samples for 20 clients; allowed is at least 1 for each"):
        LabelGroups(clients=100).split(even(5, classes=10))
    with pytest.raises(ValueError, match="groups = 10: allowed is an integer from 1 to the number of clients, 9"):
        LabelGroups(clients=9)
    with pytest.raises(ValueError, match="groups = 10: allowed is an integer from 1 to the number of classes, 4"):
        LabelGroups(clients=20).split(even(10))


def test_by_client_keeps_own_test_samples_and_groups() -> None:
    whole = data.synthetic(groups=3, clients=4, samples=6, test_samples=2)
    parts = ByClient(clients=5, seed=2).split(whole)
    owners = [np.unique(whole.clients[part]) for part in parts.train]
    assert all(len(owner) == 1 for owner in owners) and len(np.unique(owners)) == 5
    for owner, test, group in zip(owners, parts.test, parts.groups, strict=True):
        assert whole.test.clients[test].tolist() == [owner[0]] * 2 and group == whole.groups[owner[0]]
    everyone = ByClient().split(whole)
    np.testing.assert_array_equal(np.concatenate(everyone.train), np.arange(len(whole)))
    with pytest.raises(ValueError, match="clients = 13: allowed is an integer from 1 to those with 1 samples, 12"):
        ByClient(clients=13).split(whole)
    with pytest.raises(ValueError, match=r"least = 7: no client of .* has so many"):
        ByClient(least=7).split(whole)
    with pytest.raises(ValueError, match="'toy' has no clients of its own"):
        ByClient().split(even(10))


def test_least_leaves_small_clients_out() -> None:
    names = ("a", "b", "c")
    whole = replace(even(2), clients=np.array([0, 0, 0, 1, 2, 2, 2, 2]), client_names=names, test=None)
    parts = ByClient(least=3).split(whole)
    assert [part.tolist() for part in parts.train] == [[0, 1, 2], [4, 5, 6, 7]]


@settings(max_examples=80)
@given(train=LABELS, test=LABELS, data=st.data(), seed=SEEDS)
def test_test_samples_in_label_proportions(train: np.ndarray, test: np.ndarray, data: st.DataObject, seed: int) -> None:
    """Each test sample of a class with training samples is given once; no share is off by 1 or more."""
    clients = data.draw(st.integers(1, len(train)))
    parts = Uniform(clients=clients).split(dataset(train))
    counts = parts.counts(train, CLASSES)
    found = in_proportion(counts, test, np.random.default_rng(seed))
    given = np.array([np.bincount(test[part], minlength=CLASSES) for part in found])
    seen = counts.sum(axis=0)
    shares = counts / np.maximum(seen, 1) * np.bincount(test, minlength=CLASSES)
    assert (np.abs(given - shares) < 1).all()
    assert (np.abs(np.cumsum(given - shares, axis=0)) <= 0.5 + 1e-9).all()
    np.testing.assert_array_equal(given.sum(axis=0), np.bincount(test, minlength=CLASSES) * (seen > 0))
    assert len(np.unique(np.concatenate(found))) == given.sum()


def test_text_is_split_by_its_last_label() -> None:
    windows = np.zeros((6, 2), dtype=np.uint8)
    labels = np.stack([np.zeros(6, int), np.arange(6) % 2], axis=1)
    text = Dataset("text", windows, labels, 3, vocabulary="abc")
    parts = LabelsPerClient(clients=2, labels=1, choice="even", shared=False).split(text)
    assert sorted(tuple(labels[part, 1]) for part in parts.train) == [(0, 0, 0), (1, 1, 1)]


BAD = [
    (lambda: Uniform(clients=0), "clients = 0: allowed is an integer >= 1"),
    (lambda: Uniform(clients=2.0), "clients = 2.0: allowed"),
    (lambda: Uniform(clients=True), "clients = True: allowed"),
    (lambda: Uniform(clients=2, seed=-1), "seed = -1: allowed is an integer >= 0"),
    (lambda: Uniform(clients=2, test="all"), r"test = 'all': allowed is proportions, whole or a number in \(0, 1\)"),
    (lambda: Uniform(clients=2, test=1.0), "test = 1.0: allowed"),
    (lambda: Uniform(clients=41).split(even(10)), "clients = 41: allowed is .* the number of samples, 40"),
    (lambda: Dirichlet(clients=41, alpha=1).split(even(10)), "clients = 41: allowed is .* the number of samples, 40"),
    (lambda: Dirichlet(clients=2, alpha=0), "alpha = 0: allowed is a finite number > 0"),
    (lambda: LabelDirichlet(clients=41, alpha=1).split(even(10)), "clients = 41: allowed"),
    (lambda: LabelDirichlet(clients=2, alpha=np.inf), "alpha = inf: allowed"),
    (lambda: LabelDirichlet(clients=2, alpha=1, over="both"), "over = 'both': allowed is one of classes, clients"),
    (lambda: LabelDirichlet(clients=2, alpha=1, rounding="up"), "rounding = 'up': allowed is one of down, nearest"),
    (lambda: LabelsPerClient(clients=2, labels=1, choice="fair"), "choice = 'fair': allowed is one of random, even"),
    (lambda: CoarseLabels(beta=0), "beta = 0: allowed is a finite number > 0"),
    (lambda: LabelGroups(clients=20, labels=11), "labels = 11: allowed .* the number of groups, 10"),
    (lambda: ByClient(least=0), "least = 0: allowed"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=range(len(BAD)))
def test_schemes_refuse(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def part(*indices: int) -> np.ndarray:
    return np.array(indices, dtype=np.int64)


BAD_PARTS = [
    (lambda: Partition((part(0), part())), "client .1. is empty; allowed is at least 1 sample for each"),
    (lambda: Partition(()), "is empty"),
    (lambda: Partition((part(1, 0),)), r"train\[0\]: allowed are increasing int64 indices >= 0"),
    (lambda: Partition((part(0, 0),)), r"train\[0\]: allowed are increasing"),
    (lambda: Partition((part(-1),)), r"train\[0\]: allowed are increasing"),
    (lambda: Partition((part(0), part(0))), "a sample is of two clients; allowed are disjoint parts"),
    (lambda: Partition((part(0), part(1)), (part(0),)), "test is of 1 clients: allowed is 2, as in train"),
    (lambda: Partition((part(0),), groups=part(0, 1)), "groups is of 2 clients: allowed is 1"),
    (lambda: Partition((part(0, 1),), (part(1),), held_out=True), r"test\[0\] holds training samples of that client"),
    (lambda: Partition((part(0),)).counts(part(0), of="test"), "of = 'test': allowed is train, or test where"),
]


@pytest.mark.parametrize(("make", "message"), BAD_PARTS, ids=range(len(BAD_PARTS)))
def test_partitions_refuse(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_shared_samples_are_allowed_if_said() -> None:
    assert Partition((part(0), part(0)), shared=True).counts(part(1)).tolist() == [[0, 1], [0, 1]]
