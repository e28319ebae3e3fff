"""Functionals that claims bound. They are of a run x_0, x_1, ..., x_R, of one round, of a function at points, of
estimated weights, of a server's selection, of a learning problem, or of quantities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from .quantities import DIMENSIONLESS, LENGTH, OBJECTIVE, SQUARED_LENGTH, SQUARED_SLOPE, Units

if TYPE_CHECKING:
    import sympy

    from .moments.evaluators import Question

SCOPES = ("run", "round", "function", "weights", "selection", "learning", "values")
"""Scopes of a functional: what it is evaluated on. These are the runs of a setting; one round from x_0; a smooth
function at some points; the weights that clients estimate from when they took part; whom a server asks and what it
makes of the answers; a learning problem; or the values of quantities alone."""


@dataclass(frozen=True)
class Functional:
    """Left side of a claim.

    Attributes:
        name: its name in code, in files and on the command line.
        meaning: one line.
        units: units of its value.
        latex: the formula that the papers print.
        scope: one of ``SCOPES``.
        observable: the number that is recorded in every round of a run: ``squared_distance`` |x_r - x*|^2,
            ``squared_gradient`` |grad F(x_r)|^2 or ``gap`` F(x_r) - F*.
        average: whether it is averaged over rounds of a run or of weights, instead of taken at the last one.
        of_mean: whether it is taken at the average of a run's iterates, instead of averaged over them.
        best: whether it is the least over the rounds of a run.
        weights: the weight w_r in an average, from the iterate's number r; without them all count alike.
        expression: the left side itself, if it is of values.
        alternatives: the expressions under other admissible readings, by the option's name, if it is of values.
        algorithm: the only algorithm that it is about; "" if it has the same meaning for all.
        objective: the objective whose gap and gradients a claim about it speaks of: "" for F, or ``implied`` for h (see
            below).
        compute: the value that a setting gives it, for a functional of one's own; else its evaluator computes it, see
            ``fedtheory.moments.evaluators``.
    """

    name: str
    meaning: str
    units: Units
    latex: str
    scope: str = "run"
    observable: str = ""
    average: bool = False
    of_mean: bool = False
    best: bool = False
    weights: Callable[[int], int | Fraction] | None = field(default=None, repr=False)
    expression: sympy.Expr | None = None
    alternatives: Mapping[str, sympy.Expr] = field(default_factory=dict, hash=False)
    algorithm: str = ""
    objective: str = ""
    compute: Callable[[Question], Any] | None = field(default=None, repr=False)

    @property
    def of_all_rounds(self) -> bool:
        """Whether it is more than an observable at the last round or its plain average over the rounds."""
        return self.of_mean or self.best or self.weights is not None

    @property
    def among_errors(self) -> bool:
        """Whether errors of runs have it: |x_R - x*|^2, |grad F(x_R)|^2 or the plain mean of |grad F(x_r)|^2.

        >>> FINAL_SQUARED_DISTANCE.among_errors, AVERAGE_GAP.among_errors, AVERAGE_ITERATE_DISTANCE.among_errors
        (True, False, False)
        """
        known = ("squared_gradient",) if self.average else ("squared_distance", "squared_gradient")
        return self.observable in known and not self.of_all_rounds

    def apart_from(self, other: Functional) -> tuple[str, ...]:
        """Return the attributes in which it is another left side: all but an expression that is not looked at, as both
        are of runs, rounds or points.

        >>> FINAL_GAP.apart_from(FINAL_GAP), replace(FINAL_GAP, average=True).apart_from(FINAL_GAP)
        ((), ('average',))
        """
        unread = set() if "values" in (self.scope, other.scope) else {"expression", "alternatives"}
        names = (attribute.name for attribute in fields(self) if attribute.name not in unread)
        return tuple(name for name in names if getattr(self, name) != getattr(other, name))

    def under(self, reading: Mapping[str, str]) -> Functional:
        """Return the functional with the expression that it has under a reading (option by ambiguity)."""
        chosen = next((o for o in reading.values() if o in self.alternatives), None)
        return self if chosen is None else replace(self, expression=self.alternatives[chosen], alternatives={})


_fedau_round = partial(Functional, scope="round", algorithm="fedau")
_weights = partial(Functional, scope="weights", algorithm="fedau")
_selection = partial(Functional, scope="selection", algorithm="flics")
_learning = partial(Functional, scope="learning", units=DIMENSIONLESS)

AVERAGES = ("r = 1..R", "r = 0..R-1")
"""Ranges of iterates that an average over R rounds may run over."""


def check_average(average: str) -> None:
    """Refuse a range that is none of ``AVERAGES``."""
    if average not in AVERAGES:
        raise ValueError(f"average = {average!r}: allowed is {' or '.join(map(repr, AVERAGES))}")


def check_among_errors(functional: Functional) -> None:
    """Refuse a functional that errors of runs do not have."""
    if not functional.among_errors:
        raise ValueError(
            f"functional = {functional.name}: allowed are |x_R - x*|^2, |grad F(x_R)|^2 and the plain mean of "
            "|grad F(x_r)|^2"
        )


FINAL_SQUARED_DISTANCE = Functional(
    "final_squared_distance", "E|x_R - x*|^2", SQUARED_LENGTH,
    r"\mathbb{E}\|\mathbf{x}_R-\mathbf{x}^*\|^2", observable="squared_distance",
)  # fmt: skip
AVERAGE_SQUARED_GRADIENT = Functional(
    "average_squared_gradient", "mean over the rounds of E|grad F(x_r)|^2", SQUARED_SLOPE,
    r"\frac{1}{R}\sum_{r=1}^{R}\mathbb{E}\|\nabla F(\mathbf{x}_r)\|^2", observable="squared_gradient", average=True,
)  # fmt: skip

# Of the objective's gap, and of averages of iterates. Which iterates count is the reading ``average``: by default those
# from x_1 to x_R. Weighted averages count iterate x_r with w_r = r + 1, as steps of the order 1/r go with.
_gap = partial(Functional, units=OBJECTIVE, observable="gap")


def linear_weight(r: int) -> int:
    """Return the weight w_r = r + 1.

    >>> linear_weight(0), linear_weight(4)
    (1, 5)
    """
    return r + 1


FINAL_GAP = _gap("final_gap", "E F(x_R) - F*", latex=r"\mathbb{E}[F(\mathbf{x}_R)]-F^*")
AVERAGE_GAP = _gap(
    "average_gap", "mean over the rounds of E F(x_r) - F*", average=True,
    latex=r"\frac{1}{R}\sum_{r=1}^{R}\mathbb{E}[F(\mathbf{x}_r)]-F^*",
)  # fmt: skip
BEST_GAP = _gap(
    "best_gap", "min over the rounds of E F(x_r) - F*", best=True,
    latex=r"\min_{1\leq r\leq R}\mathbb{E}[F(\mathbf{x}_r)]-F^*",
)  # fmt: skip
GAP_OF_AVERAGE = _gap(
    "gap_of_average", "E F(mean of the x_r) - F*", average=True, of_mean=True,
    latex=r"\mathbb{E}\Big[F\Big(\frac{1}{R}\sum_{r=1}^{R}\mathbf{x}_r\Big)\Big]-F^*",
)  # fmt: skip
WEIGHTED_AVERAGE_GAP = _gap(
    "weighted_average_gap", "sum of (r + 1) (E F(x_r) - F*) over the sum of the r + 1", average=True,
    weights=linear_weight,
    latex=r"\frac{\sum_{r=1}^{R}(r+1)\,\mathbb{E}[F(\mathbf{x}_r)]}{\sum_{r=1}^{R}(r+1)}-F^*",
)  # fmt: skip
GAP_OF_WEIGHTED_AVERAGE = _gap(
    "gap_of_weighted_average", "E F(sum of (r + 1) x_r over the sum of the r + 1) - F*", average=True, of_mean=True,
    weights=linear_weight,
    latex=r"\mathbb{E}\bigg[F\bigg(\frac{\sum_{r=1}^{R}(r+1)\mathbf{x}_r}{\sum_{r=1}^{R}(r+1)}\bigg)\bigg]-F^*",
)  # fmt: skip
AVERAGE_ITERATE_DISTANCE = Functional(
    "average_iterate_distance", "E|mean of the x_r - x*|^2", SQUARED_LENGTH,
    r"\mathbb{E}\Big\|\frac{1}{R}\sum_{r=1}^{R}\mathbf{x}_r-\mathbf{x}^*\Big\|^2", observable="squared_distance",
    average=True, of_mean=True,
)  # fmt: skip
FINAL_SQUARED_GRADIENT = Functional(
    "final_squared_gradient", "E|grad F(x_R)|^2", SQUARED_SLOPE, r"\mathbb{E}\|\nabla F(\mathbf{x}_R)\|^2",
    observable="squared_gradient",
)  # fmt: skip

# Of one round from x_0: with the local iterates x_{i,k}, k = 0..K-1, of client i, and the cohort S. The local gradient
# error counts k = K too: see ``moments.one_round``.
SQUARED_GRADIENT = Functional(
    "squared_gradient", "|grad F(x_0)|^2", SQUARED_SLOPE, r"\|\nabla F(\mathbf{x}_r)\|^2", scope="round"
)
LOCAL_GRADIENT_ERROR = Functional(
    "local_gradient_error", "max over clients i and k = 0..K of E|grad F(x_0) - grad F_i(x_{i,k})|^2", SQUARED_SLOPE,
    r"\|\nabla F(\mathbf{x}_r)-\nabla F_i(\mathbf{x}_{r,k}^i)\|^2", scope="round",
)  # fmt: skip
NEGATED_FULL_PROGRESS = Functional(
    "negated_full_progress", "-E<mean over all clients of sum_k grad F_i(x_{i,k}), x_0 - x*>", OBJECTIVE,
    r"-\Big\langle\frac1M\sum_{i=1}^M\sum_{k=1}^K\nabla F_i(\mathbf{x}_{r,k}^i),\mathbf{x}_r-\mathbf{x}^*\Big\rangle",
    scope="round",
)  # fmt: skip
NEGATED_ARBITRARY_PROGRESS = Functional(
    "negated_arbitrary_progress",
    "-2 local_lr E<mean over the arbitrary cohort of sum_k grad F_i(x_{i,k}), x_0 - x*>", SQUARED_LENGTH,
    r"-2\eta_c\mathbb{E}_r\Big\langle\frac1n\sum_{i\in\mathcal{S}_r^a}\sum_{k=1}^K"
    r"\nabla F_i(\mathbf{x}_{r,k}^i),\mathbf{x}_r-\mathbf{x}^*\Big\rangle",
    scope="round",
)  # fmt: skip
SQUARED_MOVEMENT = Functional(
    "squared_movement", "E|x_1 - x_0|^2", SQUARED_LENGTH,
    r"\mathbb{E}_r\|\mathbf{x}_{r+1}-\mathbf{x}_r\|^2", scope="round",
)  # fmt: skip

# Of a smooth function g at points x, y, z.
LINEARIZATION_ERROR = Functional(
    "linearization_error", "g(y) - g(x) - <grad g(x), y - x>", OBJECTIVE,
    r"F(\mathbf{y})-F(\mathbf{x})-\nabla F(\mathbf{x})^T(\mathbf{y}-\mathbf{x})", scope="function",
)  # fmt: skip
PERTURBED_LINEARIZATION_ERROR = Functional(
    "perturbed_linearization_error", "g(z) - g(y) - <grad g(x), z - y>", OBJECTIVE,
    r"g(\mathbf{z})-g(\mathbf{y})-\langle\nabla g(\mathbf{x}),\mathbf{z}-\mathbf{y}\rangle", scope="function",
)  # fmt: skip

OBJECTIVE_WEIGHT, HISTORY = "objective_weight", "history of participation"
"""Names of two inputs besides quantities. The first are the weights phi_n of another objective sum_n phi_n F_n. The
second is who takes part in round 0 and after it, rows of 0 and 1, in a run whose weights are all known."""

# Of FedAU's Algorithm 1, in which a round adds (global_lr/N) * (sum over participants n of weight * update) to x. The
# objective f~ = sum_n phi_n F_n is any with phi_n >= 0 that sum to 1; for h they are in proportion to p_n omega_n.
AVERAGE_SQUARED_WEIGHTED_GRADIENT = Functional(
    "average_squared_weighted_gradient",
    "mean over the rounds t = 0..T-1 of E|grad h(x_t)|^2, h = sum of p_n omega_n F_n / sum of p_n omega_n",
    SQUARED_SLOPE, r"\frac{1}{T}\sum_{t=0}^{T-1}\mathbb{E}\|\nabla h(\mathbf{x}_t)\|^2",
    observable="squared_weighted_gradient", average=True, objective="implied", algorithm="fedau",
)  # fmt: skip
WEIGHTED_DIVERGENCE = _fedau_round(
    "weighted_divergence", "max over clients of |grad F_n(x_0) - grad f~(x_0)|^2", SQUARED_SLOPE,
    r"\|\nabla F_n(\mathbf{x})-\nabla\tilde{f}(\mathbf{x})\|^2",
)  # fmt: skip
LOCAL_DRIFT = _fedau_round(
    "local_drift", "max over clients n and steps i of E|y_i - x_0|^2", SQUARED_LENGTH,
    r"\mathbb{E}_t\|\mathbf{y}_{t,i}^n-\mathbf{x}_t\|^2",
)  # fmt: skip
WEIGHTED_INCREASE = _fedau_round(
    "weighted_increase", "E f~(x_1) - f~(x_0)", OBJECTIVE,
    r"\mathbb{E}_t[\tilde{f}(\mathbf{x}_{t+1})]-\tilde{f}(\mathbf{x}_t)",
)  # fmt: skip

# Of the weights omega_t of FedAU's Algorithm 2, rounds t = 0..T-1, for clients n that take part independently, each
# round with probability p_n; S is the interval between participations, cut off at K.
AVERAGE_WEIGHT_ERROR = Functional(
    "average_weight_error", "mean over clients and rounds of E[(p_n omega_t - 1)^2]", DIMENSIONLESS,
    r"\frac{1}{NT}\sum_{t=0}^{T-1}\sum_{n=1}^N\mathbb{E}[(p_n\omega_t^n-1)^2]", scope="weights", average=True,
    algorithm="fedau",
)  # fmt: skip
ROUND_WEIGHT_ERROR = _weights(
    "round_weight_error", "mean over clients of E[(p_n omega_t - 1)^2] in the last round", DIMENSIONLESS,
    r"\frac{1}{N}\sum_{n=1}^N\mathbb{E}[(p_n\omega_t^n-1)^2]",
)  # fmt: skip
INTERVAL_MEAN = _weights("interval_mean", "mean over clients of E[S]", DIMENSIONLESS, r"\mathbb{E}[S_n]")
NEGATED_INTERVAL_MEAN = _weights(
    "negated_interval_mean", "-(mean over clients of E[S])", DIMENSIONLESS, r"-\mathbb{E}[S_n]"
)
INTERVAL_VARIANCE = _weights("interval_variance", "mean over clients of Var[S]", DIMENSIONLESS, r"\mathrm{Var}[S_n]")
NEGATED_INTERVAL_VARIANCE = _weights(
    "negated_interval_variance", "-(mean over clients of Var[S])", DIMENSIONLESS, r"-\mathrm{Var}[S_n]"
)
LONG_RUN_BIAS = _weights(
    "long_run_bias", "mean over clients of (p_n E[S] - 1)^2", DIMENSIONLESS, r"\frac{1}{N}\sum_{n=1}^N(1-p_n)^{2K}"
)


# Of FLICS-OPT: a server asks clients by groups and divides what group j sends by an estimate s^_j of its long-term
# participation. Delta is the aggregated update of a round, vbar = sum_j p_j v_j the mean one, S_j how many answer.
AGGREGATE_ERROR = _selection(
    "aggregate_error", "|E Delta - factor vbar|, factor as Lemma 4 has it", LENGTH,
    r"\big\|\mathbb{E}[\Delta^t]-(1+\hat\epsilon)\bar{\mathbf{v}}^{t+1}\big\|",
)  # fmt: skip
AGGREGATE_BIAS = _selection(
    "aggregate_bias", "|E Delta - vbar|", LENGTH, r"\big\|\mathbb{E}[\Delta^t]-\bar{\mathbf{v}}^{t+1}\big\|"
)
SCALED_INNER_PRODUCT = _selection(
    "scaled_inner_product", "<grad F(x_0), E Delta + epsilon^ local_lr local_steps grad F(x_0)>", OBJECTIVE,
    r"\big\langle\nabla f(\bar{\mathbf{w}}^t),\mathbb{E}_t[\Delta^{t+1}]"
    r"+\hat\epsilon\eta_LK\nabla f(\bar{\mathbf{w}}^t)\big\rangle",
)  # fmt: skip
INNER_PRODUCT = _selection(
    "inner_product", "<grad F(x_0), E Delta + local_lr local_steps grad F(x_0)>", OBJECTIVE,
    r"\big\langle\nabla f(\bar{\mathbf{w}}^t),\mathbb{E}_t[\Delta^{t+1}]"
    r"+\eta_LK\nabla f(\bar{\mathbf{w}}^t)\big\rangle",
)  # fmt: skip
SQUARED_SELECTED_VECTOR = _selection(
    "squared_selected_vector", "E|sum over groups of p_j/s^_j S_j x_j|^2", SQUARED_SLOPE,
    r"\mathbb{E}\Big[\Big\|\sum_{i=1}^m\frac{p_i}{\hat s_i(t)}S_i\mathbf{x}_i\Big\|^2\Big]",
)  # fmt: skip
SQUARED_AGGREGATE = _selection(
    "squared_aggregate", "E|Delta|^2", SQUARED_LENGTH, r"\mathbb{E}_t\big[\|\Delta^{t+1}\|^2\big]"
)
LEAST_SQUARED_GRADIENT = _selection(
    "least_squared_gradient", "min over the rounds of E|grad F(w_t)|^2", SQUARED_SLOPE,
    r"\min_{t\in[T]}\mathbb{E}\big[\|\nabla f(\bar{\mathbf{w}}^t)\|^2\big]",
)  # fmt: skip
MEAN_SQUARED_GRADIENT = _selection(
    "mean_squared_gradient", "mean over the rounds t = 0..T-1 of E|grad F(w_t)|^2", SQUARED_SLOPE,
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\big[\|\nabla f(\bar{\mathbf{w}}^t)\|^2\big]",
)  # fmt: skip
RATIO_FAILURE = _selection(
    "ratio_failure", "P(s/s^ is not in [1 - relative_error, 1 + relative_error])", DIMENSIONLESS,
    r"\Pr\Big[\frac{s_i}{\hat s_i(t)}\notin[1-\epsilon,1+\epsilon]\Big]",
)  # fmt: skip
POLICY_LIMIT = _selection(
    "policy_limit", "|lim (sigma_T of the policy - sigma_T of the best in hindsight)|", DIMENSIONLESS,
    r"\Big|\lim_{T\to\infty}\big(\sigma_T(\mathbf{r}^{\mathrm{F}}(1:T))-"
    r"\sigma_T^{\mathrm{Off}}(\mathbf{r}^*(1:T))\big)\Big|",
)  # fmt: skip
POLICY_GAP = _selection(
    "policy_gap", "sum over groups of p_j^2/s^_j(T) - the same of the best participation in hindsight", DIMENSIONLESS,
    r"\sum_j\frac{p_j^2}{\hat s_j(T)}-\sigma_T^{\mathrm{Off}}(\mathbf{r}^*(1:T))",
)  # fmt: skip

# Of learning problems. With probability at least 1 - confidence a random number is at most a bound: that is, its
# quantile, the least number that it exceeds with no more than this probability, is at most the bound.
NEGATED_FAILURE = _learning(
    "negated_failure",
    "-(least over learners of the largest over two targets of P[error >= error_level]); the samples that are left out "
    "are chosen one by one",
    latex=r"-\mathbb{P}_{S\sim P}\big[\mathcal{R}_P(\mathcal{L}(\mathcal{F}(S)),f)>\frac{1-\omega}{8}\big]",
)  # fmt: skip
NEGATED_FAILURE_OF_FUNCTIONS = _learning(
    "negated_failure_of_functions",
    "-(least over learners that draw no lots of the largest over two targets of P[error >= error_level]); the samples "
    "that are left out are chosen one by one",
    latex=r"-\mathbb{P}_{S\sim P}\big[\mathcal{R}_P(\mathcal{L}(\mathcal{F}(S)),f)>\frac{1-\omega}{8}\big]",
)  # fmt: skip
RARE_TAIL = _learning(
    "rare_tail", "P[the second point comes up at least (clients - arbitrary_cohort) samples_per_client times]",
    latex=r"\mathbb{P}[\hat{s}\geq(1-\omega)Mn]",
)  # fmt: skip
RELATEDNESS_GAP = _learning(
    "relatedness_gap", "|e_P(h) - e_Q(h)| of a hypothesis h, e the excess risks",
    latex=r"|\varepsilon_P(h)-\varepsilon_Q(h)|",
)  # fmt: skip
NEGATED_SOURCE_EXCESS = _learning(
    "negated_source_excess", "-e_Q(h) of a hypothesis h", latex=r"-\varepsilon_Q(h_t)"
)  # fmt: skip
TARGET_EXCESS = _learning("target_excess", "e_P(h) of a hypothesis h", latex=r"\varepsilon_P(\hat{h}_Q^*)")
POOLED_EXCESS = _learning(
    "pooled_excess",
    "quantile of e_P(h^), h^ the worst of those with the fewest errors on the samples of server and clients",
    latex=r"\varepsilon_P(\hat{h}_Q^*)",
)  # fmt: skip
CHECKED_EXCESS = _learning(
    "checked_excess",
    "quantile of e_P(h^), counted as 0 where h^ has more errors on the server's samples than the best hypothesis "
    "under Q",
    latex=r"\varepsilon_P(\hat{h}_Q^*)",
)  # fmt: skip
CHECKED_EMPIRICAL_GAP = _learning(
    "checked_empirical_gap",
    "quantile of the errors of h^ less those of the best hypothesis under P, as shares of the server's samples, "
    "counted as 0 where h^ has more errors there than the best hypothesis under Q",
    latex=r"\hat{\mathcal{R}}_P(\hat{h}_Q^*)-\hat{\mathcal{R}}_P(h_P^*)",
)  # fmt: skip
DISAGREEMENT_EXCESS = _learning(
    "disagreement_excess",
    "quantile of the largest over pairs of hypotheses of the share of samples on which they differ less twice the "
    "probability that they do",
    latex=r"\hat{\mathbb{P}}_S(h\neq\hat{h})-2\mathbb{P}_S(h\neq\hat{h})",
)  # fmt: skip
DISAGREEMENT_DEFICIT = _learning(
    "disagreement_deficit",
    "quantile of the largest over pairs of hypotheses of half the probability that they differ less the share of "
    "samples on which they do",
    latex=r"\frac{1}{2}\mathbb{P}_S(h\neq\hat{h})-\hat{\mathbb{P}}_S(h\neq\hat{h})",
)  # fmt: skip
PAIR_DEVIATION = _learning(
    "pair_deviation",
    "quantile of the least x >= 0 with (R(h) - R(g)) - (R^(h) - R^(g)) <= sqrt(min(P(h != g), P^(h != g)) x) + x for "
    "all pairs of hypotheses, P^ and R^ the frequencies among the samples",
    latex=r"x_S",
)  # fmt: skip
POOLED_SOURCE_EXCESS = _learning(
    "pooled_source_excess",
    "quantile of e_Q(h^), h^ the worst of those with the fewest errors on the samples of server and clients",
    latex=r"\varepsilon_Q(\hat{h}_Q^*)",
)  # fmt: skip


def of_values(
    name: str,
    meaning: str,
    expression: sympy.Expr,
    latex: str,
    units: Units = DIMENSIONLESS,
    alternatives: Mapping[str, sympy.Expr] | None = None,
) -> Functional:
    """Return a left side that is an expression of quantities, with another expression under some readings."""
    return Functional(
        name, meaning, units, latex, scope="values", expression=expression, alternatives=alternatives or {}
    )


def named(name: str) -> tuple[Functional, ...]:
    """Return the left sides of this name that are defined here: one, or none.

    >>> named("final_squared_distance")[0].meaning, named("mine")
    ('E|x_R - x*|^2', ())
    """
    return tuple({id(f): f for f in globals().values() if isinstance(f, Functional) and f.name == name}.values())
