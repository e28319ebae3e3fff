"""What figure files may draw: a model of its table for each kind of picture; ``drawn`` is the picture."""

from . import of_claims, of_learning, of_results, of_selection, of_settings, of_weights
from .base import Kind

KINDS: dict[str, type[Kind]] = {
    kind.model_fields["kind"].default: kind
    for module in (of_claims, of_settings, of_weights, of_selection, of_learning, of_results)
    for kind in module.KINDS
}
"""By name."""

__all__ = ["KINDS", "Kind"]
