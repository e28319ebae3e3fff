"""Data sets: what they check, their normalisations, and the ones that need no file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedtheory import data
from fedtheory.data import Dataset, Normalisation


def toy(**change: object) -> Dataset:
    rng = np.random.default_rng(0)
    test = Dataset("toy", rng.normal(size=(2, 3)), np.array([0, 1]), 2)
    arguments = {"name": "toy", "features": rng.normal(size=(6, 3)), "labels": np.arange(6) % 2, "classes": 2,
                 "test": test}  # fmt: skip
    return Dataset(**(arguments | change))


def pictures(**change: object) -> Dataset:
    images = np.random.default_rng(0).integers(0, 256, (4, 3, 2, 2), dtype=np.uint8)
    return Dataset(
        **({"name": "pictures", "features": images, "labels": np.array([0, 1, 0, 1]), "classes": 2} | change)
    )


def text(**change: object) -> Dataset:
    arguments = {"name": "text", "features": np.array([[0, 1], [1, 2]], np.uint8), "labels": np.array([2, 0]),
                 "classes": 3, "vocabulary": "abc"}  # fmt: skip
    return Dataset(**(arguments | change))


@pytest.mark.parametrize("bias", [False, True])
def test_normalisation_uses_one_constant_of_the_training_rows(bias: bool) -> None:
    raw, scaled = toy(), toy().normalised(bias)
    assert np.isclose(np.mean(np.sum(scaled.features**2, axis=1)), 1.0, rtol=1e-14)
    ratios = np.concatenate([scaled.features[:, :3] / raw.features, scaled.test.features[:, :3] / raw.test.features])
    np.testing.assert_allclose(ratios, ratios[0, 0], rtol=1e-14)
    assert scaled.features.shape == (6, 3 + bias) and scaled.test.features.shape == (2, 3 + bias)
    if bias:
        for rows in (scaled.features, scaled.test.features):
            np.testing.assert_allclose(rows[:, 3], np.sqrt(0.5), rtol=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": 1}, "classes = 1: allowed is an integer >= 2"),
        ({"features": np.zeros(3)}, r"features has shape \(3,\)"),
        ({"features": np.zeros((6, 0))}, "features has shape"),
        ({"features": np.full((6, 3), np.nan)}, "features has entries that are not finite"),
        ({"features": np.zeros((6, 1, 2, 2), int)}, r"type int64: allowed are images \(N, C, H, W\), uint8 or floats"),
        ({"features": np.full((6, 1, 2, 2), np.nan)}, "features has entries that are not finite"),
        ({"classes": 0, "labels": np.array([0.0] * 5 + [np.inf])}, "labels has entries that are not finite"),
        ({"classes": 0, "labels": np.zeros((6, 1, 1)), "test": None}, r"labels of regression have shape \(6, 1, 1\)"),
        ({"labels": np.zeros(5, dtype=int)}, r"labels has shape \(5,\)"),
        ({"labels": np.zeros(6)}, "type float64: allowed"),
        ({"labels": np.full(6, 2)}, "labels range over 2 to 2: allowed is 0 to 1"),
        ({"labels": np.full(6, -1)}, "labels range over -1 to -1"),
        ({"test": Dataset("t", np.zeros((2, 4)), np.array([0, 1]), 2)}, r"shape \(2, 4\).*shape \(N, 3\), 2 classes"),
        ({"test": Dataset("t", np.zeros((2, 3)), np.array([0, 1]), 3)}, r"3 classes: allowed are .*2 classes"),
        ({"test": pictures()}, "test holds images"),
        ({"normalisation": Normalisation((0.5,), (0.5,), "")}, "one for images"),
        ({"clients": np.arange(6), "client_names": tuple("abcde")}, "clients range over 0 to 5: allowed is 0 to 4"),
        ({"clients": np.zeros(5, int), "client_names": ("a",)}, r"clients has shape \(5,\)"),
        ({"client_names": ("a",), "groups": np.zeros(2, int)}, r"groups has shape \(2,\)"),
        ({"coarse_labels": np.full(6, -1)}, "coarse_labels range over -1 to -1: allowed is >= 0"),
        ({"class_names": ("one",)}, "class_names has 1 entries: allowed is 0 or 2"),
    ],
)
def test_dataset_refuses(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        toy(**change)


def test_a_test_set_has_the_same_clients() -> None:
    clients = {"clients": np.zeros(4, int), "client_names": ("a",)}
    with pytest.raises(ValueError, match="same vocabulary and clients"):
        pictures(test=pictures(**clients))
    assert pictures(test=pictures(**clients), **clients).test.client_names == ("a",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros((2, 2))}, "allowed are windows"),
        ({"features": np.full((2, 2), 3)}, "features range over 3 to 3: allowed is 0 to 2"),
        ({"features": np.zeros((2, 2, 2), int)}, "allowed are windows"),
        ({"labels": np.zeros((2, 3), int)}, r"allowed is \(2,\) or \(2, 2\), integers"),
    ],
)
def test_text_refuses(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        text(**change)


def test_kinds_and_types() -> None:
    assert [toy().kind, pictures().kind, text().kind] == ["vectors", "images", "text"]
    assert text().features.dtype == np.uint8 and text().labels.dtype == np.int64
    assert text(labels=np.array([[1, 2], [2, 0]])).labels.shape == (2, 2)
    assert pictures().features.dtype == np.uint8
    with pytest.raises(ValueError, match="holds text: allowed are images or vectors"):
        text().vectors()


def test_images_as_rows_are_grey_values_channel_by_channel() -> None:
    whole = pictures(test=pictures(), normalisation=Normalisation((0.5,) * 3, (0.5,) * 3, "made up"))
    rows = whole.vectors()
    assert rows.features[1, 5] == whole.features[1, 1, 0, 1] / 255.0
    np.testing.assert_array_equal(rows.test.features, rows.features)
    assert rows.normalisation is None and rows.kind == "vectors"


def test_nothing_to_normalise() -> None:
    with pytest.raises(ValueError, match="all 0"):
        toy(features=np.zeros((6, 3))).normalised()


def test_measured_normalisation_is_that_of_all_pixels() -> None:
    images = pictures().features
    measured = Normalisation.of(images)
    grey = images / 255.0
    np.testing.assert_allclose(measured.mean, grey.mean(axis=(0, 2, 3)), rtol=1e-14)
    np.testing.assert_allclose(measured.std, grey.std(axis=(0, 2, 3)), rtol=1e-13)
    floats = Normalisation.of(images.astype(float))
    np.testing.assert_allclose(floats.std, images.std(axis=(0, 2, 3)), rtol=1e-13)
    with pytest.raises(ValueError, match="allowed is"):
        Normalisation.of(images.astype(int))
    with pytest.raises(ValueError, match=r"means in \[0, 1\], deviations in \(0, 1\]"):
        pictures(normalisation=floats)
    with pytest.raises(ValueError, match="deviations > 0"):
        Normalisation.of(np.zeros_like(images))
    with pytest.raises(ValueError, match="one of each for every channel"):
        Normalisation((0.1, 0.2), (0.1,), "")


def test_digits() -> None:
    digits = data.load("digits")
    assert digits.features.shape == (1797, 64) and digits.features.dtype == np.float64
    assert (digits.features.min(), digits.features.max()) == (0.0, 1.0)
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_unknown_name_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'fashon-mnist'.*did you mean 'fashion-mnist'\?"):
        data.load("fashon-mnist")
    with pytest.raises(ValueError, match=r"allowed is one of digits, .*, synthetic$"):
        data.load("qqqq")


def test_synthetic_is_what_it_says() -> None:
    """Inputs of a group have its mean and variance j^-1.2; labels are those of one linear model; groups differ."""
    drawn = data.synthetic(groups=3, clients=40, samples=50, test_samples=5, seed=3)
    assert drawn.features.shape == (6000, 60) and len(drawn.test) == 600 and drawn.classes == 10
    of = drawn.groups[drawn.clients]
    for group in range(3):
        rows = drawn.features[of == group]
        # 2000 rows of 60 coordinates: the pooled variance has relative deviation sqrt(2 / 120000) = 0.4%
        pooled = rows.var(axis=0, ddof=1).mean()
        assert abs(pooled / (group + 1) ** -1.2 - 1) < 0.03
    means = [drawn.features[of == group].mean(axis=0) for group in range(3)]
    assert np.linalg.norm(means[0] - means[1]) > 5  # two draws of N(B, I_60) are about sqrt(120) apart
    np.testing.assert_array_equal(drawn.test.clients, np.repeat(np.arange(120), 5))


def test_a_client_of_synthetic_does_not_depend_on_the_others() -> None:
    few, many = (data.synthetic(groups=2, clients=n, samples=4, test_samples=0) for n in (3, 3))
    np.testing.assert_array_equal(few.features, many.features)
    more = data.synthetic(groups=5, clients=3, samples=4, test_samples=0)
    np.testing.assert_array_equal(more.features[: len(few)], few.features)
    other = data.synthetic(groups=2, clients=3, samples=4, test_samples=0, seed=1)
    assert not np.array_equal(other.features, few.features) and few.test is None


def test_covariances_of_synthetic() -> None:
    rows = data.synthetic(0, 0, groups=1, clients=1, samples=20_000, test_samples=0, covariance="coordinate").features
    expected = np.arange(1.0, 61) ** -1.2
    # the variance of 20,000 samples has relative deviation 1%: 60 of them stay within 5 deviations
    np.testing.assert_allclose(rows.var(axis=0, ddof=1), expected, rtol=0.05)


@pytest.mark.parametrize("change", [{"groups": 0}, {"samples": 0}, {"alpha": -1}, {"beta": np.inf}, {"seed": -1},
                                    {"covariance": "both"}, {"spread": "wide"}, {"clients": 1.5}])  # fmt: skip
def test_synthetic_refuses(change: dict) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(change))} = .*allowed is"):
        data.synthetic(**change)


def test_replacing_keeps_the_checks() -> None:
    with pytest.raises(ValueError, match="labels range over"):
        replace(toy(), labels=np.full(6, 7))
