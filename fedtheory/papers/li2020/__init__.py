"""FedAvg with decaying steps on data of any kind: Li, Huang, Yang, Wang and Zhang, ICLR 2020.

The objective is F = sum p_k F_k. In a round the clients that take part make E stochastic gradient steps, the t-th of
all of size eta_t = 2/(mu (gamma + t)), then their models are averaged: those of all clients by p_k, or of S drawn.
"""

from fedtheory.papers.paper import Paper

LETTERS = {
    "smoothness": "L",
    "strong_convexity": r"\mu",
    "weighted_noise": r"\sum_k p_k^2\sigma_k^2",
    "heterogeneity_gap": r"\Gamma",
    "gradient_bound": "G",
    "initial_distance": r"\|\mathbf{w}_1-\mathbf{w}^*\|",
    "clients": "N",
    "arbitrary_cohort": "S",
    "local_steps": "E",
    "rounds": "R",
    "local_lr": r"\eta_t",
    "step_shift": r"\gamma",
    "step_index": "t",
}

PAPER = Paper(
    name="li2020",
    title="On the Convergence of FedAvg on Non-IID Data",
    letters=LETTERS,
    algorithm="fedavg_decaying",
    prose={"eta": "local_lr", "gamma": "step_shift"},
    shorthands={
        "s": "s is gamma plus the number of the first step, 0 or 1; t counts from 0, so that eta_t = 2/(mu (s + t))",
    },
    order=6,
    home=__name__,
)
