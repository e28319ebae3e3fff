"""Many replicas of many rounds at once, on CPU or GPU."""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
