"""Exact worst cases: the largest error that local SGD can make over ALL federations of a class of functions.

Semidefinite programs whose size does not depend on the number of clients; see docs/worst-case.md. Needs no torch, but
for algorithms of `fedtheory.algorithms`; rounds can be given as data instead.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
