"""Partition of a data set between clients."""

from .balanced import dirichlet
from .by_features import ByFeatureNoise
from .by_label import Dirichlet, LabelDirichlet, LabelsPerClient, Uniform
from .by_size import ByQuantity, BySize
from .in_groups import CoarseLabels, LabelGroups
from .natural import ByClient
from .split import Partition, Scheme

__all__ = [
    "ByClient",
    "ByFeatureNoise",
    "ByQuantity",
    "BySize",
    "CoarseLabels",
    "Dirichlet",
    "LabelDirichlet",
    "LabelGroups",
    "LabelsPerClient",
    "Partition",
    "Scheme",
    "Uniform",
    "dirichlet",
]
