"""Exact worst cases: the largest error that local SGD can make over ALL federations of a class of functions.

They are values of semidefinite programs whose size does not depend on the number of clients; see docs/worst-case.md.
The package needs no torch, except for algorithms of `fedtheory.algorithms`; rounds can be given as data instead.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
