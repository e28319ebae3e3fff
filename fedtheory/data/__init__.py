"""Data sets and how to split them between clients; shared by the convex problems and the networks."""

from __future__ import annotations

from difflib import get_close_matches

from . import digits, fashion_mnist
from .dataset import Dataset
from .partition import dirichlet

__all__ = ["NAMES", "Dataset", "dirichlet", "load"]

_LOADERS = {"digits": digits.load, "fashion-mnist": fashion_mnist.load}
NAMES = tuple(_LOADERS)


def load(name: str) -> Dataset:
    """The data set called ``name``, its features grey values in [0, 1], one image a row.

    Call ``.normalised()`` on it before a convex problem is made of it.

    Raises:
        ValueError: for an unknown name, with the nearest known one.
        FileNotFoundError: where the files of ``fashion-mnist`` are not on this machine.

    >>> load("digits").features.shape
    (1797, 64)
    """
    if name not in _LOADERS:
        nearest = get_close_matches(str(name), NAMES, n=1, cutoff=0.4)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"name = {name!r}: allowed is one of {', '.join(NAMES)}{hint}")
    return _LOADERS[name]()
