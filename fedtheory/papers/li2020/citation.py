"""Citation of the theory of FedAvg on data of any kind."""

from fedtheory.papers.in_print import Citation

CITATION = Citation(
    ("Xiang Li", "Kaixuan Huang", "Wenhao Yang", "Shusen Wang", "Zhihua Zhang"),
    2020,
    "International Conference on Learning Representations",
    "1907.02189",
)
