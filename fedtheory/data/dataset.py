"""A labelled data set, and the one normalisation that convex problems use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..arguments import number_array
from .conversion import read_parts

_PARTS = 64  # images are summed in so many parts, so that no float64 copy of all of them is made


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of each channel, and where the numbers come from.

    A network that is given one sees (x - mean) / std, of images that are bytes (x / 255 - mean) / std, with grey values
    in [0, 1]; loaders never apply it.

    >>> Normalisation.of(np.array([[[[0, 255]]]], dtype=np.uint8)).mean
    (0.5,)
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: str

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean:
            raise ValueError(f"mean = {self.mean}, std = {self.std}: allowed is one of each for every channel")
        if not np.isfinite([self.mean, self.std]).all() or not all(s > 0 for s in self.std):
            raise ValueError(f"mean = {self.mean}, std = {self.std}: allowed are finite numbers, deviations > 0")

    @classmethod
    def of(cls, images: np.ndarray) -> Normalisation:
        """The normalisation measured on images (N, C, H, W), uint8 or floats, each channel over all images and pixels.

        Raises:
            ValueError: for anything but such images, or a channel without any variation.
        """
        bytes = images.dtype == np.uint8
        if not (bytes or images.dtype.kind == "f") or images.ndim != 4 or images.size == 0:
            raise ValueError(
                f"images have shape {images.shape}, type {images.dtype}: allowed is (N, C, H, W), uint8 or floats"
            )
        source = f"measured on the {len(images)} images themselves"
        if not bytes:
            axes = (0, 2, 3)
            mean, std = images.mean(axis=axes, dtype=np.float64), images.std(axis=axes, dtype=np.float64)
            return cls(tuple(mean.tolist()), tuple(std.tolist()), source)
        counts = np.zeros((images.shape[1], 256))
        for part in np.array_split(images, min(_PARTS, len(images))):
            counts += [np.bincount(part[:, c].ravel(), minlength=256) for c in range(images.shape[1])]
        share, grey = counts / counts.sum(axis=1, keepdims=True), np.arange(256) / 255.0
        mean = share @ grey
        std = np.sqrt((share * (grey - mean[:, None]) ** 2).sum(axis=1))
        return cls(tuple(mean.tolist()), tuple(std.tolist()), source)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with the class or the target of each: images, windows of text, or vectors.

    Attributes:
        name: what the data set is called.
        features: images (N, C, H, W), channels first, uint8 or floats (kept as float32 unless they are float64; of
            bytes x / 255 is meant), finite; windows of text (N, T), integers that index
            ``vocabulary``, in the type that the loader chose (uint8); or vectors (N, p) float64, finite.
        labels: (N,) int64, in 0 to ``classes - 1``; for text the next character, or (N, T): the one after each. Of
            regression the targets, (N,) or (N, k) float64, finite.
        classes: how many classes there are, at least 2; 0 for regression.
        test: a held-out set of the same kind, or None.
        copy: which copy of the data this is, in words; results on it quote this.
        normalisation: of images, the published or measured one, or None.
        clients: (N,) the natural client of each sample (a speaking role, a writer), 0 to ``len(client_names) - 1``.
        client_names: the names of these clients.
        groups: the group of each natural client, (len(client_names),), or None.
        coarse_labels: (N,) int64, a second, coarser class of each sample, or None.
        class_names: of the classes, in order, or ().
        vocabulary: the characters that text is made of, in order; "" for anything but text.

    Raises:
        ValueError: for arrays of another shape, non-finite features, or labels, characters, clients or groups out of
            range.

    >>> data = Dataset("toy", np.array([[3.0, 4.0], [0.0, 5.0]]), np.array([0, 1]), classes=2)
    >>> data.kind, data.normalised().features.tolist()
    ('vectors', [[0.6, 0.8], [0.0, 1.0]])
    """

    name: str
    features: np.ndarray
    labels: np.ndarray
    classes: int
    test: Dataset | None = None
    copy: str = ""
    normalisation: Normalisation | None = None
    clients: np.ndarray | None = None
    client_names: tuple[str, ...] = ()
    groups: np.ndarray | None = None
    coarse_labels: np.ndarray | None = None
    class_names: tuple[str, ...] = ()
    vocabulary: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.classes, Integral) or (self.classes < 2 and self.classes != 0):
            raise ValueError(f"classes = {self.classes}: allowed is an integer >= 2, or 0 for regression")
        if self.class_names and len(self.class_names) != self.classes:
            raise ValueError(f"class_names has {len(self.class_names)} entries: allowed is 0 or {self.classes}")
        object.__setattr__(self, "features", _checked_features(self.features, self.vocabulary))
        each = (len(self.features),)
        windows = (self.features.shape,) if self.vocabulary else ()
        labels = _whole("labels", self.labels, self.classes, each, *windows) if self.classes else _targets(self, each)
        object.__setattr__(self, "labels", labels)
        if self.coarse_labels is not None:
            object.__setattr__(self, "coarse_labels", _whole("coarse_labels", self.coarse_labels, None, each))
        if self.clients is not None:
            object.__setattr__(self, "clients", _whole("clients", self.clients, len(self.client_names), each))
        if self.groups is not None:
            object.__setattr__(self, "groups", _whole("groups", self.groups, None, (len(self.client_names),)))
        if self.normalisation and (self.kind != "images" or len(self.normalisation.mean) != self.features.shape[1]):
            raise ValueError(
                f"normalisation has {len(self.normalisation.mean)} channels, features shape {self.features.shape}: "
                "allowed is one for images, with as many channels"
            )
        if self.normalisation and self.features.dtype == np.uint8:
            mean, std = self.normalisation.mean, self.normalisation.std
            if not all(0 <= m <= 1 for m in mean) or not all(s <= 1 for s in std):
                raise ValueError(
                    f"normalisation has mean = {mean}, std = {std}: allowed of bytes are those of grey values, means "
                    "in [0, 1], deviations in (0, 1]"
                )
        if self.test is not None:
            self._check_test(self.test)

    def _check_test(self, test: Dataset) -> None:
        def like(data: Dataset) -> tuple:
            return data.kind, data.features.shape[1:], data.labels.shape[1:], data.classes, data.vocabulary

        what = f"{self.classes} classes" if self.classes else f"targets of shape {self.labels.shape}"

        if like(test) != like(self) or test.client_names != self.client_names:
            raise ValueError(
                f"test holds {test.kind} of shape {test.features.shape}, {test.classes} classes: allowed are "
                f"{self.kind} of shape (N, {', '.join(map(str, self.features.shape[1:]))}), {what}, "
                "of the same vocabulary and clients"
            )

    @classmethod
    def of(
        cls,
        x: Any,
        y: Any = None,
        *,
        classes: int | None = None,
        test: Any = None,
        name: str = "data",
        normalisation: Normalisation | tuple[Any, Any] | str | None = None,
        channels: str | None = None,
        clients: Any = None,
        columns: tuple[str, str] | None = None,
    ) -> Dataset:
        """The data set of arrays, tensors, a torch data set or one of Hugging Face's ``datasets``.

        Args:
            x: features: an array or tensor (N, p), images (N, H, W) or (N, C, H, W), uint8 or floats. Or a whole data
                set, without ``y``: of torch (with ``__len__``, whose items are pairs of features and target; each is
                asked for once), or of Hugging Face (one split, or a ``DatasetDict`` with "train" and perhaps "test").
            y: classes, integers (N,); or targets of regression, floats (N,) or (N, k).
            classes: how many; by default those that the data set names, else one more than the largest label of ``y``
                and ``test``. 0: integers are targets of regression too.
            test: a held-out set: a pair (x, y), or a data set as ``x`` may be one, or a ``Dataset``.
            name: what it is called.
            normalisation: of images: a ``Normalisation``, "measured" (on ``x``), or means and deviations of each
                channel, in units of grey values in [0, 1] where images are bytes. None: images are seen as they are.
            channels: "first" or "last", of images with an axis for them; by default whichever axis has length 1, 3 or
                4; if both have, that which makes images squares.
            clients: the natural client of each sample, (N,) of integers or names; or the column that has it.
            columns: the names of the columns of features and of targets in a Hugging Face data set; by default "image"
                or "img" (or the only column of images), and "label" (or the only column of classes).

        Raises:
            ValueError: what is given is none of these, or does not fit together.

        >>> data = Dataset.of(np.eye(3), [0, 1, 1])
        >>> data.classes, data.kind, Dataset.of(np.eye(3), [0.5, 1.0, 2.0]).classes
        (2, 'vectors', 0)
        """
        held = test if isinstance(test, cls) else None
        if held is not None and classes is None:
            classes = held.classes
        given = None if held is not None else test
        own, others = read_parts(x, y, given, held is not None, classes, channels, clients, columns)
        data = cls(name, test=held if others is None else cls(name, **others), **own)
        return replace(data, normalisation=_normalisation(normalisation, data.features))

    def values(self) -> np.ndarray:
        """Features as numbers, a copy: of bytes x / 255 in float32, others in their own precision.

        Raises:
            ValueError: for text.
        """
        if self.kind == "text":
            raise ValueError(f"{self.name!r} holds text: allowed are images or vectors")
        if self.features.dtype == np.uint8:
            return np.asarray(self.features, dtype=np.float32) / np.float32(255)
        return np.array(self.features)

    @property
    def kind(self) -> str:
        """The kind of the features: "images", "text" or "vectors"."""
        return "text" if self.vocabulary else "images" if self.features.ndim == 4 else "vectors"

    def vectors(self) -> Dataset:
        """Images as rows of grey values in [0, 1], (N, C H W) float64, channel by channel; vectors as they are.

        Raises:
            ValueError: for text.

        >>> images = Dataset("two", np.full((2, 1, 1, 2), 51, np.uint8), np.array([0, 1]), classes=2)
        >>> images.vectors().features.tolist()
        [[0.2, 0.2], [0.2, 0.2]]
        """
        if self.kind == "text":
            raise ValueError(f"{self.name!r} holds text: allowed are images or vectors")
        if self.kind == "vectors":
            return self
        test = None if self.test is None else self.test.vectors()
        return replace(self, features=_rows(self.features), test=test, normalisation=None)

    def pooled(self, side: int) -> Dataset:
        """Images averaged over squares of ``side`` x ``side`` pixels, grey values in [0, 1], float64.

        Raises:
            ValueError: for text or vectors, or if height or width is no multiple of ``side``.

        >>> images = Dataset("one", np.array([[[[0, 51], [102, 51]]]], np.uint8), np.array([0]), classes=2)
        >>> images.pooled(2).features.tolist()
        [[[[0.2]]]]
        """
        if self.kind != "images":
            raise ValueError(f"{self.name!r} holds {self.kind}: allowed are images")
        count, channels, height, width = self.features.shape
        if not (isinstance(side, int) and side >= 1 and height % side == width % side == 0):
            raise ValueError(f"side = {side}: allowed is a common divisor of height {height} and width {width}")
        squares = _rows(self.features).reshape(count, channels, height // side, side, width // side, side)
        test = self.test and self.test.pooled(side)
        return replace(self, features=squares.mean((3, 5)), test=test, normalisation=None)

    def first(self, points: int) -> Dataset:
        """The first so many points; the test set stays whole.

        Raises:
            ValueError: fewer than one, or more than there are.

        >>> Dataset("toy", np.eye(3), np.array([0, 1, 1]), classes=2).first(2).labels.tolist()
        [0, 1]
        """
        if not (isinstance(points, int) and 1 <= points <= len(self)):
            raise ValueError(f"points = {points}: allowed is an integer from 1 to {len(self)}")
        of_each = ("features", "labels", "clients", "coarse_labels")
        kept: dict[str, Any] = {name: each[:points] for name in of_each if (each := getattr(self, name)) is not None}
        return replace(self, **kept)

    def normalised(self, bias: bool = False) -> Dataset:
        """The data as vectors, all features multiplied by ONE constant, so that mean_s |a_s|^2 = 1 over the N rows.

        Directions, angles and relative sizes of rows stay what they were, and a logistic loss becomes
        O(1)-smooth: (1/N) sum_s a_s a_s^T then has trace 1, so no eigenvalue above 1. With ``bias`` a column of
        ones is appended to the rows so scaled, and everything is divided by sqrt(2): the mean squared norm is 1
        again, half of it the bias. Test rows get the constant of the training rows.

        Raises:
            ValueError: if every feature is 0, or the data are text.
        """
        data = self.vectors()
        mean_square = float(np.mean(np.einsum("sp,sp->s", data.features, data.features)))
        if mean_square == 0:
            raise ValueError(f"features of {self.name!r} are all 0: allowed is at least one that is not")
        scale = float(np.sqrt(mean_square))
        test = data.test and replace(data.test, features=_scaled(data.test.features, scale, bias))
        return replace(data, features=_scaled(data.features, scale, bias), test=test)

    def __len__(self) -> int:
        return len(self.features)


def _normalisation(given: Normalisation | tuple[Any, Any] | str | None, features: np.ndarray) -> Normalisation | None:
    if given is None or isinstance(given, Normalisation):
        return given
    if isinstance(given, str) and given == "measured":
        return Normalisation.of(features)
    try:
        mean, std = (tuple(float(v) for v in np.atleast_1d(np.asarray(each, dtype=float))) for each in given)
    except (TypeError, ValueError):
        raise ValueError(
            f"normalisation = {given!r}: allowed is a Normalisation, 'measured', or means and deviations"
        ) from None
    return Normalisation(mean, std, "as given")


def _rows(images: np.ndarray) -> np.ndarray:
    rows = images.reshape(len(images), -1)
    return rows / 255.0 if images.dtype == np.uint8 else rows.astype(np.float64)


def _scaled(features: np.ndarray, scale: float, bias: bool) -> np.ndarray:
    scaled = features / scale
    return np.hstack([scaled, np.ones((len(scaled), 1))]) / np.sqrt(2.0) if bias else scaled


def _checked_features(features: np.ndarray, vocabulary: str) -> np.ndarray:
    features = number_array("features", features, None)
    if vocabulary:
        return _checked_text(features, len(vocabulary))
    if features.ndim == 4:
        if features.dtype.kind == "f" and features.dtype != np.float64:
            features = features.astype(np.float32, copy=False)
        if features.dtype not in (np.uint8, np.float32, np.float64) or 0 in features.shape:
            raise ValueError(
                f"features has shape {features.shape}, type {features.dtype}: allowed are images (N, C, H, W), uint8 "
                "or floats, not empty"
            )
        return _finite("features", features)
    if features.dtype.kind not in "biuf":
        raise ValueError(f"features have type {features.dtype}: allowed are numbers, (N, p) or (N, C, H, W)")
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or 0 in features.shape:
        raise ValueError(f"features has shape {features.shape}: allowed is (N, p) or (N, C, H, W), not empty")
    return _finite("features", features)


def _finite(name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} has entries that are not finite: allowed are finite numbers")
    return values


def _targets(data: Dataset, each: tuple[int, ...]) -> np.ndarray:
    """Targets of regression, in float64."""
    labels = number_array("labels", data.labels, None)
    if data.vocabulary or labels.dtype.kind not in "iuf" or labels.shape[:1] != each or labels.ndim not in (1, 2):
        raise ValueError(
            f"labels of regression have shape {labels.shape} and type {labels.dtype}: allowed are numbers, {each} or "
            f"({each[0]}, k), of vectors or images"
        )
    return _finite("labels", np.asarray(labels, dtype=np.float64))


def _checked_text(features: np.ndarray, characters: int) -> np.ndarray:
    if features.ndim != 2 or 0 in features.shape or features.dtype.kind not in "iu":
        raise ValueError(
            f"features has shape {features.shape}, type {features.dtype}: allowed are windows (N, T), integers, "
            "not empty"
        )
    if features.min() < 0 or features.max() >= characters:
        raise ValueError(f"features range over {features.min()} to {features.max()}: allowed is 0 to {characters - 1}")
    return features


def _whole(name: str, values: np.ndarray, below: int | None, *shapes: tuple[int, ...]) -> np.ndarray:
    """Integers >= 0, of one of these shapes, less than ``below``, as int64."""
    values = number_array(name, values, None)
    if values.shape not in shapes or values.dtype.kind not in "iu":
        allowed = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {values.shape} and type {values.dtype}: allowed is {allowed}, integers")
    if values.size and (values.min() < 0 or (below is not None and values.max() >= below)):
        allowed = ">= 0" if below is None else f"0 to {below - 1}"
        raise ValueError(f"{name} range over {values.min()} to {values.max()}: allowed is {allowed}")
    return np.asarray(values, dtype=np.int64)
