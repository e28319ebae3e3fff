"""SAFARI: federated averaging with clients that never take part, and a server that trains on data of its own."""

from ..paper import Paper

LETTERS = {
    "smoothness": "L",
    "strong_convexity": r"\mu",
    "gradient_noise": r"\sigma",
    "dissimilarity": r"\sigma_G",
    "initial_gap": r"\left(F(\mathbf{x}_0)-F(\mathbf{x}^*)\right)",
    "initial_distance": r"\|\mathbf{x}_0-\mathbf{x}_*\|",
    "clients": "M",
    "arbitrary_cohort": "m",
    "local_steps": "K",
    "rounds": "R",
    "local_lr": r"\eta_c",
    "peak_arbitrary_pseudogradient": "G_2",
    "gradient_norm": r"\|\nabla F(\mathbf{x}_r)\|",
    "objective_decrease": r"\left(F(\mathbf{x}_r)-\mathbb{E}_r[F(\mathbf{x}_{r+1})]\right)",
    "arbitrary_pseudogradient": r"\Big\|\frac1m\sum_{i\in S_r}\sum_{k\in[K]}\nabla F_i(\mathbf{x}_{r,k}^i)\Big\|^2",
    "server_noise": r"\sigma_s",
    "server_lr": r"\eta_s",
    "client_round_probability": "q",
    "peak_server_gradient": "G_1",
    "least_server_gradient": r"G_1^{\min}",
    "least_arbitrary_pseudogradient": r"G_2^{\min}",
    "least_client_progress": r"\min_r\frac{G_4}{G_3}",
    "peak_client_progress": r"\max_r\frac{G_4}{G_3}",
    "arbitrary_excess": r"\Big(\frac1m\sum_{i\in S_r}[F_i(\mathbf{x}_r)-F_i(\mathbf{x}_*)]\Big)",
    "arbitrary_drift": r"\Big(\frac1m\sum_{i\in S_r}\sum_{k\in[K]}\|\mathbf{x}_r-\mathbf{x}_{r,k}^i\|^2\Big)",
}

PAPER = Paper(
    name="safari",
    title="Understanding Server-Assisted Federated Learning in the Presence of Incomplete Client Participation",
    letters=LETTERS,
    algorithm="safari",
    prose={"eta": "eta_c", "eps": "epsilon"},
    shorthands={
        "z": "z = L K eta_c",
        "p": "p = 1 - q",
        "N": "N and D are the numerator and the denominator of the bound on q",
    },
    order=2,
    home=__name__,
)
