"""Federations, and convex problems whose constants are known. Members load on first use."""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
