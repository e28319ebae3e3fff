"""A labelled data set, and the one normalisation that convex problems use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

_PARTS = 64  # images are summed in so many parts, so that no float64 copy of all of them is made


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of each channel, of grey values in [0, 1], and where the numbers come from.

    A network that is given one sees (x / 255 - mean) / std; loaders never apply it.

    >>> Normalisation.of(np.array([[[[0, 255]]]], dtype=np.uint8)).mean
    (0.5,)
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: str

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean:
            raise ValueError(f"mean = {self.mean}, std = {self.std}: allowed is one of each for every channel")
        if not all(0 <= m <= 1 for m in self.mean) or not all(0 < s <= 1 for s in self.std):
            raise ValueError(f"mean = {self.mean}, std = {self.std}: allowed are means in [0, 1], deviations in (0, 1]")

    @classmethod
    def of(cls, images: np.ndarray) -> Normalisation:
        """The normalisation measured on uint8 images (N, C, H, W), each channel over all images and pixels.

        Raises:
            ValueError: for anything but such images, or a channel without any variation.
        """
        if images.dtype != np.uint8 or images.ndim != 4 or images.size == 0:
            raise ValueError(f"images have shape {images.shape}, type {images.dtype}: allowed is (N, C, H, W), uint8")
        counts = np.zeros((images.shape[1], 256))
        for part in np.array_split(images, min(_PARTS, len(images))):
            counts += [np.bincount(part[:, c].ravel(), minlength=256) for c in range(images.shape[1])]
        share, grey = counts / counts.sum(axis=1, keepdims=True), np.arange(256) / 255.0
        mean = share @ grey
        std = np.sqrt((share * (grey - mean[:, None]) ** 2).sum(axis=1))
        return cls(tuple(mean.tolist()), tuple(std.tolist()), f"measured on the {len(images)} images themselves")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with the class of each: images, windows of text, or vectors.

    Attributes:
        name: what the data set is called.
        features: images (N, C, H, W) uint8, channels first; windows of text (N, T), integers that index
            ``vocabulary``, in the type that the loader chose (uint8); or vectors (N, p) float64, finite.
        labels: (N,) int64, in 0 to ``classes - 1``; for text the next character, or (N, T): the one after each.
        classes: how many classes there are, at least 2.
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
        if self.classes < 2:
            raise ValueError(f"classes = {self.classes}: allowed is an integer >= 2")
        if self.class_names and len(self.class_names) != self.classes:
            raise ValueError(f"class_names has {len(self.class_names)} entries: allowed is 0 or {self.classes}")
        object.__setattr__(self, "features", _checked_features(self.features, self.vocabulary))
        each = (len(self.features),)
        windows = (self.features.shape,) if self.vocabulary else ()
        object.__setattr__(self, "labels", _whole("labels", self.labels, self.classes, each, *windows))
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
        if self.test is not None:
            self._check_test(self.test)

    def _check_test(self, test: Dataset) -> None:
        def like(data: Dataset) -> tuple:
            return data.kind, data.features.shape[1:], data.labels.shape[1:], data.classes, data.vocabulary

        if like(test) != like(self) or test.client_names != self.client_names:
            raise ValueError(
                f"test holds {test.kind} of shape {test.features.shape}, {test.classes} classes: allowed are "
                f"{self.kind} of shape (N, {', '.join(map(str, self.features.shape[1:]))}), {self.classes} classes, "
                "of the same vocabulary and clients"
            )

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


def _rows(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1) / 255.0


def _scaled(features: np.ndarray, scale: float, bias: bool) -> np.ndarray:
    scaled = features / scale
    return np.hstack([scaled, np.ones((len(scaled), 1))]) / np.sqrt(2.0) if bias else scaled


def _checked_features(features: np.ndarray, vocabulary: str) -> np.ndarray:
    features = np.asanyarray(features)
    if vocabulary:
        return _checked_text(features, len(vocabulary))
    if features.ndim == 4:
        if features.dtype != np.uint8 or 0 in features.shape:
            raise ValueError(
                f"features has shape {features.shape}, type {features.dtype}: allowed are images (N, C, H, W), uint8, "
                "not empty"
            )
        return features
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or 0 in features.shape:
        raise ValueError(f"features has shape {features.shape}: allowed is (N, p) or (N, C, H, W), not empty")
    if not np.isfinite(features).all():
        raise ValueError("features has entries that are not finite: allowed are finite numbers")
    return features


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
    values = np.asanyarray(values)
    if values.shape not in shapes or values.dtype.kind not in "iu":
        allowed = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {values.shape} and type {values.dtype}: allowed is {allowed}, integers")
    if values.size and (values.min() < 0 or (below is not None and values.max() >= below)):
        allowed = ">= 0" if below is None else f"0 to {below - 1}"
        raise ValueError(f"{name} range over {values.min()} to {values.max()}: allowed is {allowed}")
    return np.asarray(values, dtype=np.int64)
