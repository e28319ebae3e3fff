"""FedAU's weights of updates, the law of participation intervals, and exact weight errors.

Needs numpy and scipy only.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
