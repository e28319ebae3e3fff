"""Federated algorithms: what happens in one round."""

from .fast import Fast, fast

__all__ = ["Fast", "fast"]
