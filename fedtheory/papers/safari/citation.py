"""Citation of SAFARI; the edition ``submission`` of its statements is of the earlier text."""

from ..in_print import Citation

CITATION = Citation(
    ("Haibo Yang", "Peiwen Qiu", "Prashant Khanduri", "Minghong Fang", "Jia Liu"),
    2024,
    "International Conference on Machine Learning",
    "2405.02745",
)
