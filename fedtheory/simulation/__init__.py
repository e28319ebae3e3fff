"""Many replicas of many rounds at once, on CPU or GPU."""

from .engine import simulate
from .iterates import iterates
from .observers import OBSERVERS
from .observing import Observer
from .practice import Evaluation
from .run import OBSERVABLES, Run

__all__ = ["OBSERVABLES", "OBSERVERS", "Evaluation", "Observer", "Run", "iterates", "simulate"]
