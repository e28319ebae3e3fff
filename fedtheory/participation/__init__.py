"""Who shows up: participation processes."""

from .base import Inclusion, Keys, Participation
from .processes import Fixed, Uniform
from .weighted import IndexBeta, Weighted

__all__ = ["Fixed", "Inclusion", "IndexBeta", "Keys", "Participation", "Uniform", "Weighted"]
