"""Networks with flat parameters: the papers' models, gradients of many pairs at once, local training."""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
