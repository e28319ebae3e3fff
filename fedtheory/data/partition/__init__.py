"""How a data set is split between clients."""

from .balanced import dirichlet
from .base import Partition, Scheme
from .by_label import Dirichlet

__all__ = ["Dirichlet", "Partition", "Scheme", "dirichlet"]
