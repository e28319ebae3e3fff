"""Kinds of pictures that figure files may draw: a model of each kind's table; ``drawn`` is the picture."""

from . import claim_pictures, learning_pictures, result_pictures, selection_pictures, setting_pictures, weight_pictures
from .picture import Kind

KINDS: dict[str, type[Kind]] = {
    kind.model_fields["kind"].default: kind
    for module in (
        claim_pictures,
        setting_pictures,
        weight_pictures,
        selection_pictures,
        learning_pictures,
        result_pictures,
    )
    for kind in module.KINDS
}
"""Kinds of pictures by name."""

__all__ = ["KINDS", "Kind"]
