"""Figures: one style, and a module for each kind of picture. Members load on first use."""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
