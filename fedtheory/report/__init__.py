"""Figures: one style, and a module for each kind of picture. Members load on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .bounds import plot as plot
    from .bounds import plot_editions as plot_editions
    from .participation import plot_gap as plot_gap
    from .participation import plot_long_term as plot_long_term
    from .participation import plot_participation as plot_participation
    from .regions import plot_allowed as plot_allowed
    from .regions import plot_maps as plot_maps
    from .settling import plot_algorithms as plot_algorithms
    from .settling import plot_floors as plot_floors
    from .settling import plot_inconsistency as plot_inconsistency
    from .style import save as save
    from .weights import plot_cutoffs as plot_cutoffs

_HOMES = {
    "plot": "bounds",
    "plot_algorithms": "settling",
    "plot_allowed": "regions",
    "plot_cutoffs": "weights",
    "plot_editions": "bounds",
    "plot_floors": "settling",
    "plot_gap": "participation",
    "plot_inconsistency": "settling",
    "plot_long_term": "participation",
    "plot_maps": "regions",
    "plot_participation": "participation",
    "save": "style",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
