"""What figure files may draw: a model of its table for each kind of picture; ``drawn`` is the picture."""

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
"""By name."""

__all__ = ["KINDS", "Kind"]
