"""What FAST's statements share."""

from __future__ import annotations

from ..statement import Ambiguity, Assumption

_ASSUMPTIONS = {
    "smoothness": Assumption("assumption_1", "smoothness", "Assumption 1"),
    "gradient_noise": Assumption("assumption_2", "gradient_noise", "Assumption 2"),
    "dissimilarity": Assumption("assumption_3", "dissimilarity", "Assumption 3"),
    "strong_convexity": Assumption("assumption_4", "strong_convexity", "Assumption 4", from_below=True),
}

SNAPSHOT_RULE = Ambiguity(
    "snapshots",
    ("period", "probability"),
    "Algorithm 1, line 3: every I-th round, or with probability q = 1/I",
)
COHORT_DRAW = Ambiguity(
    "uniform cohort",
    ("without replacement", "with replacement"),
    "'uniformly random clients', a set of m of them; cited analyses draw with replacement",
)


def assumptions(*quantities: str) -> tuple[Assumption, ...]:
    """FAST's numbered assumptions about these quantities."""
    return tuple(_ASSUMPTIONS[name] for name in quantities)
