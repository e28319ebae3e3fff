"""Citation of FedAU."""

from ..in_print import Citation

CITATION = Citation(
    ("Shiqiang Wang", "Mingyue Ji"), 2024, "International Conference on Learning Representations", "2306.03401"
)
