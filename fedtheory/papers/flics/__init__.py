"""FLICS-OPT: a server that chooses among the clients at hand, under a budget, by estimates of how often they answer."""

from ...subjects import LazySubject
from ..paper import Paper

LETTERS = {
    "smoothness": "L",
    "gradient_noise": r"\sigma_L",
    "dissimilarity": r"\sigma_G",
    "initial_gap": r"\big(f(\bar{\mathbf{w}}^0)-f(\mathbf{w}^*)\big)",
    "local_steps": "K",
    "rounds": "T",
    "local_lr": r"\eta_L",
    "gradient_norm": r"\|\nabla f(\bar{\mathbf{w}}^t)\|",
    "global_lr": r"\eta",
    "groups": "M",
    "weight_concentration": r"\Big(\sum_ip_i^2\Big)",
    "estimate_error": r"\epsilon",
    "largest_estimate_error": r"\max_{k,t}|s_k^*-\hat s_k(t)|",
    "least_participation": r"r_{\min}",
    "least_group_participation": r"\min_ks_k^*",
    "selection_variance": r"\sigma_T",
    "selection_proxy": r"\bar V_T",
    "rate_spread": r"\bar S_T",
    "weight_mismatch": r"\bar\delta_T",
    "mean_mismatch": r"\tilde\delta_T",
    "answer_proxy": r"\hat V_T",
    "answer_mismatch": r"\hat\delta_T",
    "local_gradient_bound": "G",
    "descent_constant": "c",
    "weighted_pseudogradient": r"\mathbb{E}\Big\|\sum_{i=1}^Mp_i\sum_{k=0}^{K-1}\nabla F_i("
    r"\mathbf{w}_i^{t,k})\Big\|^2",
    "mean_update_length": r"\sum_ip_i\|\mathbf{v}_i^{t+1}\|",
    "squared_mean_update": r"\|\mathbb{E}_t\Delta^{t+1}\|^2",
    "squared_state_update": r"\mathbb{E}\|\mathbb{E}_t[\Delta^{t+1}|\mathbf{a}(t),k(t)]\|^2",
    "squared_mean_vector": r"\mathbb{E}\Big\|\sum_ip_i\mathbf{x}_i\Big\|^2",
    "mean_squared_vector": r"\sum_ip_i\|\mathbf{x}_i\|^2",
    "vector_covariance": r"\sum_{i,j}\frac{p_ip_j\Sigma_{ij}}{\hat s_i\hat s_j}\langle\mathbf{x}_i,"
    r"\mathbf{x}_j\rangle",
    "group_weight": "p_i",
    "group_clients": "n",
    "group_participation": "s_i",
    "participation_estimate": r"\hat s_i(t)",
    "response_probability": "r_i",
    "relative_error": r"\varepsilon",
    "failure_probability": r"\beta",
    "hidden_constant": "C_0",
    "price_drift": r"\frac1T\sum_{t=1}^Tu(t)\big(\max_jD_j(t)-\min_jD_j(t)\big)",
}

PAPER = Paper(
    name="flics",
    title="Federated Learning at Scale: Addressing Client Intermittency and Resource Constraints",
    letters=LETTERS,
    algorithm="flics",
    shorthands={"z": "z = L K eta_c"},
    order=4,
    rests_on=("fast",),
    home=__name__,
    evaluators=("exact.selection_evaluators",),
    scopes={
        "selection": LazySubject(
            "selection", f"{__name__}.examples.selection_points", f"{__name__}.examples.selection_search:Selections"
        )
    },
)
