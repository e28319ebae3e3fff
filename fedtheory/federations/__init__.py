"""Federations, and convex problems whose constants are known. Members load on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .base import Federation as Federation
    from .base import Pairs as Pairs
    from .constants import Constant as Constant
    from .constants import Constants as Constants
    from .constants import Region as Region
    from .estimated import estimated_constants as estimated_constants
    from .generators import random_quadratic as random_quadratic
    from .logistic import Logistic as Logistic
    from .quadratic import Quadratic as Quadratic

_HOMES = {
    "Constant": "constants",
    "Constants": "constants",
    "ConvexFederation": "base",
    "Federation": "base",
    "Logistic": "logistic",
    "Pairs": "base",
    "Quadratic": "quadratic",
    "Region": "constants",
    "estimated_constants": "estimated",
    "random_quadratic": "generators",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
