"""Many replicas of many rounds at once, on CPU or GPU."""

from .engine import simulate
from .run import Run

__all__ = ["Run", "simulate"]
