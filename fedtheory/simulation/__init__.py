"""Many replicas of many rounds at once, on CPU or GPU."""

from ..extras import needed

needed("torch")  # and say which extra has it, before anything below fails

from .engine import simulate
from .iterates import iterates
from .observer import Observer
from .observers import OBSERVERS
from .practice_observers import Evaluation
from .run import OBSERVABLES, Run

__all__ = ["OBSERVABLES", "OBSERVERS", "Evaluation", "Observer", "Run", "iterates", "simulate"]
