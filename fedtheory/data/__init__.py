"""Data sets and how to split them between clients; shared by the convex problems and the networks.

Members load on first use.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
