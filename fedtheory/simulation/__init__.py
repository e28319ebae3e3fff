"""Many replicas of many rounds at once, on CPU or GPU."""

from .engine import simulate
from .iterates import iterates
from .observers import OBSERVERS, Observer
from .run import OBSERVABLES, Run

__all__ = ["OBSERVABLES", "OBSERVERS", "Observer", "Run", "iterates", "simulate"]
