"""FedAU: federated averaging with weights that each client estimates from the rounds in which it took part."""

from ...subjects import LazySubject
from ..paper import Paper

LETTERS = {
    "smoothness": "L",
    "gradient_noise": r"\sigma",
    "dissimilarity": r"\delta",
    "initial_gap": r"\mathcal{F}",
    "clients": "N",
    "cohort": "S",
    "local_steps": "I",
    "rounds": "T",
    "local_lr": r"\gamma",
    "gradient_norm": r"\|\nabla\tilde{f}(\mathbf{x}_t)\|",
    "participation_probability": "p_n",
    "least_participation_probability": "p",
    "ever_absent": r"\frac{|\{n:p_n<1\}|}{N}",
    "absence": r"\Big(\frac1N\sum_{n=1}^N(1-p_n)\Big)",
    "aggregation_weight": r"\omega_t^n",
    "cutoff": "K",
    "history": "t",
    "guaranteed_intervals": r"\max\{\lfloor t/K\rfloor,1\}",
    "cutoff_bias": r"\Big(\frac1N\sum_{n=1}^N(1-p_n)^{2K}\Big)",
    "weight_spread": r"\mathbb{E}[(\omega_t^n-\mathbb{E}[S_n])^2]",
    "weight_error": r"\frac{1}{NT}\sum_{t=0}^{T-1}\sum_{n=1}^N\mathbb{E}[(p_n\omega_t^n-1)^2]",
    "peak_weight_error": r"\max_t\frac{1}{N}\sum_{n=1}^N(p_n\omega_t^n-1)^2",
    "weight_scale": "Q",
    "expected_weight_scale": r"\bar{Q}",
    "update_weight": r"\frac{P}{N}",
    "objective_error": r"\sum_{n=1}^N\Big(\frac{p_n\omega_t^n}{N}-\varphi_n\Big)^2",
    "least_objective_weight": r"\min_n\varphi_n",
    "global_gradient_bound": "G",
    "global_lr": r"\eta",
}

PAPER = Paper(
    name="fedau",
    title="A Lightweight Method for Tackling Unknown Participation Statistics in Federated Averaging",
    letters=LETTERS,
    algorithm="fedau",
    shorthands={"q": "q = 1 - p"},
    order=3,
    home=__name__,
    evaluators=("exact.weight_evaluators", "exact.weighted_run_evaluators"),
    scopes={
        "weights": LazySubject(
            "weights", f"{__name__}.examples.weight_points", f"{__name__}.examples.weight_search:EstimatedWeights"
        )
    },
)
