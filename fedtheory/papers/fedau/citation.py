"""Where FedAU appeared."""

from ..citation import Citation

CITATION = Citation(
    ("Shiqiang Wang", "Mingyue Ji"), 2024, "International Conference on Learning Representations", "2306.03401"
)
