"""How much an update counts: FedAU's weights, the law of participation intervals, and exact weight errors.

Needs numpy and scipy only.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
