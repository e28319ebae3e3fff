"""Learnability: the PAC side of federated learning with clients that never take part.

The two-point problem on which no learner succeeds, how distributions relate, noise conditions, bounds on excess risk,
and the exact law of the excess risk of empirical risk minimisers on finite domains. Needs numpy only, but
for the participation process and the learners (torch).
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
