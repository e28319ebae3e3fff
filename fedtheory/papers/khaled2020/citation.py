"""Citation of the theory of local SGD on identical data."""

from fedtheory.papers.in_print import Citation

CITATION = Citation(
    ("Ahmed Khaled", "Konstantin Mishchenko", "Peter Richtárik"),
    2020,
    "International Conference on Artificial Intelligence and Statistics",
    "1909.04746",
)
