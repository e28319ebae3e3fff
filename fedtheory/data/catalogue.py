"""The list of data sets, and ``load`` by name."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

from .dataset import Dataset
from .entry import Entry
from .loaders import cifar, cinic, digits, leaf, mnist, shakespeare, svhn, synthetic

ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (digits.DIGITS, mnist.MNIST, mnist.FASHION_MNIST, mnist.EMNIST, leaf.FEMNIST, cifar.CIFAR10,
                  cifar.CIFAR100, svhn.SVHN, cinic.CINIC10, shakespeare.SHAKESPEARE, synthetic.SYNTHETIC)
}  # fmt: skip
NAMES = tuple(ENTRIES)


def entry(name: str) -> Entry:
    """Look up a data set in the catalogue.

    Raises:
        ValueError: for an unknown name, with the nearest known one.
    """
    if not isinstance(name, str) or name not in ENTRIES:
        nearest = get_close_matches(str(name), NAMES, n=1, cutoff=0.4)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"name = {name!r}: allowed is one of {', '.join(NAMES)}{hint}")
    return ENTRIES[name]


def available(name: str) -> bool:
    """Whether a data set's files are on this machine (their content is checked by ``load``).

    >>> available("digits")
    True
    """
    known = entry(name)
    return not known.layouts or known.found() is not None


def load(name: str, **options: Any) -> Dataset:
    """Load the data set called ``name``; the options are those of its loader, the function of that name.

    Images come as uint8, channels first: call ``.vectors()`` for rows of grey values in [0, 1], and ``.normalised()``
    before a convex problem is made of them.

    Raises:
        ValueError: for an unknown name, with the nearest known one; for a damaged file.
        FileNotFoundError: where the files are not on this machine.

    >>> load("digits").features.shape
    (1797, 64)
    """
    module, function = entry(name).loader.split(":")
    return getattr(import_module(f"{__package__}.loaders.{module}"), function)(**options)
