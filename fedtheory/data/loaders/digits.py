"""The handwritten digits that come with scikit-learn: 1,797 images of 8 x 8 pixels; nothing to download."""

from __future__ import annotations

import numpy as np

from ...extras import needed
from ..dataset import Dataset
from ..entry import Entry

DIGITS = Entry(
    name="digits",
    classes=10,
    samples=(1797, 0),
    loader="digits:digits",
    source='E. Alpaydin and C. Kaynak, "Optical recognition of handwritten digits", UCI repository, 1998',
)
_WHITE = 16.0  # grey values run from 0 to 16


def digits() -> Dataset:
    """The digits as vectors in [0, 1], without a test set.

    Source: E. Alpaydin and C. Kaynak, "Optical recognition of handwritten digits", UCI repository, 1998.

    >>> data = digits()
    >>> len(data), data.classes, float(data.features.max())
    (1797, 10, 1.0)
    """
    load_digits = needed("sklearn.datasets").load_digits  # lazily: it takes a second to import

    images, labels = load_digits(return_X_y=True)
    return Dataset(
        "digits", np.asarray(images) / _WHITE, np.asarray(labels), classes=10, copy="the copy that scikit-learn brings"
    )
