"""fedtheory: theorems about federated learning, made executable.

Members load on first use, so that ``import fedtheory`` costs nothing.
"""

from .lazy import lazily

__version__ = "1.0.0rc1"
__getattr__, __dir__, __all__ = lazily(__name__)
