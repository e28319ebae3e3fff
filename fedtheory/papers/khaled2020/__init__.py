"""Local SGD on identical data: Khaled, Mishchenko and Richtarik, AISTATS 2020.

Local SGD is federated averaging with everyone: all M clients take H stochastic gradient steps of size gamma, then their
models are averaged. The folder stands on its own: it imports from ``fedtheory`` by its full name alone, so that it can
lie anywhere.
"""

from fedtheory.papers.paper import Paper

LETTERS = {
    "smoothness": "L",
    "strong_convexity": r"\mu",
    "gradient_noise": r"\sigma",
    "dissimilarity": r"\max_m\sup_x\|\nabla f_m(x)-\nabla f(x)\|",
    "initial_distance": r"\|x_0-x_*\|",
    "clients": "M",
    "arbitrary_cohort": r"|\mathcal{S}_r|",
    "local_steps": "H",
    "rounds": "R",
    "local_lr": r"\gamma",
}

PAPER = Paper(
    name="khaled2020",
    title="Tighter Theory for Local SGD on Identical and Heterogeneous Data",
    letters=LETTERS,
    algorithm="local_sgd",
    order=5,
    home=__name__,
)
