from .engine import simulate as simulate
from .iterates import iterates as iterates
from .observer import Observer as Observer
from .observers import OBSERVERS as OBSERVERS
from .practice_observers import Evaluation as Evaluation
from .practice_observers import RegressionLoss as RegressionLoss
from .run import OBSERVABLES as OBSERVABLES
from .run import Run as Run
