"""FAST: federated averaging with arbitrary client participation between uniform snapshot rounds."""

from ..paper import Paper

LETTERS = {
    "smoothness": "L",
    "strong_convexity": r"\mu",
    "gradient_noise": r"\sigma",
    "dissimilarity": r"\sigma_G",
    "initial_gap": r"\zeta",
    "initial_distance": r"\|\mathbf{x}_0-\mathbf{x}^*\|",
    "clients": "M",
    "cohort": "m",
    "arbitrary_cohort": "n",
    "local_steps": "K",
    "rounds": "R",
    "local_lr": r"\eta_c",
    "snapshot_probability": "q",
    "snapshot_period": "I",
    "peak_full_pseudogradient": "G_1",
    "peak_arbitrary_pseudogradient": "G_2",
    "peak_cohort_pseudogradient": "G_3",
    "least_full_pseudogradient": r"G_1^{\min}",
    "least_arbitrary_pseudogradient": r"G_2^{\min}",
    "gradient_norm": r"\|\nabla F(\mathbf{x}_r)\|",
    "objective_decrease": r"\left(F(\mathbf{x}_r)-\mathbb{E}_r[F(\mathbf{x}_{r+1})]\right)",
    "full_pseudogradient": r"\Big\|\frac1M\sum_{i=1}^M\sum_{k=1}^K\nabla F_i(\mathbf{x}_{r,k}^i)\Big\|^2",
    "cohort_pseudogradient": r"\Big\|\frac1m\sum_{i\in\mathcal{S}_r^u}\sum_{k=1}^K\nabla F_i("
    r"\mathbf{x}_{r,k}^i)\Big\|^2",
    "arbitrary_pseudogradient": r"\Big\|\frac1n\sum_{i\in\mathcal{S}_r^a}\sum_{k=1}^K\nabla F_i("
    r"\mathbf{x}_{r,k}^i)\Big\|^2",
    "young_parameter": r"\epsilon",
    "adaptivity": r"\lambda",
    "step_constant": "c",
    "displacement": r"\|\mathbf{y}-\mathbf{z}\|",
    "perturbation": r"\|\mathbf{z}-\mathbf{x}\|",
}

PAPER = Paper(
    name="fast",
    title="FAST: Federated Average with Snapshot Unleashes Arbitrary Client Participation",
    letters=LETTERS,
    algorithm="fast",
    prose={"eta": "eta_c", "eps": "epsilon", "log_factor": "l", "excess": "l - mu K R eta_c"},
    shorthands={
        "z": "z = L K eta_c",
        "p": "p = 1 - q",
        "h": "h = q/m + (1 - q)/n",
        "N": "N and D are the numerator and the denominator of the bound on q",
        "l": "l is the logarithm in the step size",
    },
    order=1,
    home=__name__,
)
