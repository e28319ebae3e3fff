"""SAFARI in pictures: where its runs settle, what its bounds say of them, and which q its conditions allow.

All of them show the pair F_i(x) = h (x - c_i)^2/2 with c = 1, -1, of which the client at 1 is the only one that takes
part: with h = 1, L = mu = sigma_G = 1, and the optimum is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..algorithms import safari, theorem_4_server_lr
from ..claims.arithmetic import compiled
from ..claims.statement import Claim
from ..federations import Quadratic
from ..moments.errors import exact_errors
from ..moments.stationary import stationary
from ..papers.safari.statements import thm4, thm5
from ..participation import Fixed
from ..setting import Setting

PRINTED, REPAIRED, SHARP, EXACT = "#b2182b", "#2166ac", "#1b7837", "#1a1a1a"
GREYS = ("#1a1a1a", "#6b6b6b", "#ababab")


def pair(
    q: float | str | Fraction, local_lr: str | Fraction, start: float = 0, server_noise: float = 0, curvature: int = 1
) -> Setting:
    """The pair under the tie of Theorem 4, which is also that of Theorem 5, as L = mu here."""
    fed = Quadratic.common_hessian(offsets=[1, -1], hessian=curvature, server_noise=server_noise)
    server_lr = theorem_4_server_lr(local_lr, 1)
    algorithm = safari(client_round_probability=q, local_lr=local_lr, server_lr=server_lr)
    return Setting(fed, algorithm, Fixed([0]), start=start)


def floor(q: np.ndarray) -> np.ndarray:
    """(2q/(1 + q))^2: where E|x - x*|^2 of the pair tends to as the steps go to 0."""
    return (2 * q / (1 + q)) ** 2


def plot_floors(steps: Sequence[str] = ("1/5", "1/50"), rounds: Sequence[int] = (100, 300, 10_000)) -> Figure:
    """On the left the stationary error over q for two step sizes, with its limit and the floor of the corrected
    theorems; on the right the error after some rounds from x_0 = 10 with server noise 1, with the best q.

    >>> [axes.get_xlabel() for axes in plot_floors(rounds=(100,)).axes]
    ['share q of client rounds', 'share q of client rounds']
    """
    figure = Figure(figsize=(10, 5), dpi=100, layout="constrained")
    left, right = figure.subplots(1, 2)
    q = np.linspace(0.01, 1, 100)
    left.plot(q, 4 * q, color=REPAIRED, lw=1.8, label="corrected floor $4q$")
    for step, grey in zip(steps, GREYS[1:], strict=False):
        errors = [stationary(pair(share, step)).squared_distance for share in map(float, q)]
        left.plot(q, errors, color=grey, lw=1.8, label=f"exact, $\\eta_c$ = {step}")
    left.plot(q, floor(q), color=SHARP, lw=1.8, ls="--", label="sharp floor $(2q/(1+q))^2$")
    left.set_ylim(0, 2)
    _finish(left, "Where runs settle, without noise", "share q of client rounds", "$E|x_\\infty-x^*|^2$")
    q = np.concatenate([np.geomspace(1e-4, 0.05, 40), np.linspace(0.05, 1, 60)[1:]])
    shares = np.concatenate([[0.0], q])
    for R, grey in zip(rounds, GREYS, strict=False):
        errors = np.array([exact_errors(pair(float(share), "1/50", 10, 1), [R]).squared_distance[0]
                           for share in shares])  # fmt: skip
        best = int(errors.argmin())
        right.semilogy(shares, errors, color=grey, lw=1.8, label=f"R = {R:,}".replace(",", " "))
        right.plot(shares[best], errors[best], "o", color=grey, clip_on=False, zorder=3)
    right.plot([], [], "o", color="0.3", label="best q")
    _finish(right, "After R rounds, $x_0$ = 10, server noise 1", "share q of client rounds",
            "$E|x_R-x^*|^2$")  # fmt: skip
    return figure


def plot_bounds() -> Figure:
    """Printed, corrected and sharp bounds of Theorems 4 and 5 over rounds, at the instances that refute the printed
    ones, with the exact left sides. The printed conditions on q hold in all the rounds shown.

    >>> [axes.get_title(loc="left").split(":")[0] for axes in plot_bounds().axes]
    ['Theorem 4', 'Theorem 5']
    """
    figure = Figure(figsize=(10, 5), dpi=100, layout="constrained")
    left, right = figure.subplots(1, 2)
    far = pair("1/2", "1/50", start=2)
    _bounds(left, (thm4.MAIN, thm4.CORRECTED, thm4.SHARP), far, 10**4)
    _finish(left, "Theorem 4: h = 1, $x_0$ = 2, $\\eta_c$ = 1/50, q = 1/2", "rounds R",
            "mean of $E|\\nabla F(x_r)|^2$")  # fmt: skip
    steep = pair("1/2", Fraction(2, 10**8), start=1, curvature=1000)
    _bounds(right, (thm5.MAIN, thm5.CORRECTED, thm5.SHARP), steep, 3 * 10**5)
    _finish(right, "Theorem 5: h = 1000, $x_0$ = 1, $\\eta_c$ = $2\\cdot 10^{-8}$, q = 1/2", "rounds R",
            "$E|x_R-x^*|^2$")  # fmt: skip
    return figure


def _bounds(axes: Axes, editions: Sequence[Claim], setting: Setting, rounds: int) -> None:
    horizons = np.unique(np.geomspace(1, rounds, 200).astype(np.int64))
    labels = ("printed bound", "corrected bound", "sharp bound")
    for claim, label, colour in zip(editions, labels, (PRINTED, REPAIRED, SHARP), strict=True):
        bound = replace(claim, hypotheses=()).at(setting, rounds=horizons)
        axes.loglog(horizons, bound.value, color=colour, lw=1.8, label=label)
    exact = exact_errors(setting, horizons).functional(editions[0].functional)
    axes.loglog(horizons, exact, color=EXACT, lw=1.8, label="exact")


def largest_q(claim: Claim, hypothesis: str, **values: float | np.ndarray) -> np.ndarray:
    """The right side of a claim's literal condition q <= ... at these values.

    >>> from fedtheory.papers.safari.statements import thm4
    >>> values = dict(smoothness=1, local_steps=1, server_lr=0.01, dissimilarity=0)
    >>> float(largest_q(thm4.MAIN, "q_condition", peak_server_gradient=1, peak_arbitrary_pseudogradient=0, **values))
    1.0
    """
    (condition,) = (h for h in claim.hypotheses if h.name == hypothesis)
    return compiled(condition.relation.rhs)({name: np.asarray(v, dtype=float) for name, v in values.items()})


def plot_conditions(curvatures: Sequence[float] = (1, 10, 1000)) -> Figure:
    """Which q the conditions allow at a point x of the pair, and where a run with this q settles. On the left Theorem 4
    with G_1 = |grad F(x)|^2 and G_2 = |grad F_1(x)|^2; on the right Theorem 5 as printed, for several curvatures, and
    as derived, which does not depend on them.

    >>> len(plot_conditions().axes)
    2
    """
    figure = Figure(figsize=(10, 5), dpi=100, layout="constrained")
    left, right = figure.subplots(1, 2)
    x = np.linspace(0.005, 6, 1200)
    allowed = largest_q(thm4.MAIN, "q_condition", smoothness=1, local_steps=1, server_lr=0.01, dissimilarity=1,
                        peak_server_gradient=x**2, peak_arbitrary_pseudogradient=(x - 1) ** 2)  # fmt: skip
    positive = allowed >= 0
    left.fill_between(x, 0, np.where(positive, np.minimum(allowed, 1), 0), color=PRINTED, alpha=0.18, lw=0,
                      label="allowed at x")  # fmt: skip
    left.axvspan(float(x[~positive].min()), 6, color="0.88", lw=0,
                 label="quotient: none, product: all")  # fmt: skip
    _settling(left)
    _finish(left, "Theorem 4: allowed far away, not where runs settle", "x", "q")
    left.set(xlim=(0, 6), ylim=(0, 1))
    x = np.linspace(0.005, 2, 400)
    step = 1e-9
    for h, style in zip(curvatures, ("-", "--", ":"), strict=False):
        tied = {"smoothness": h, "strong_convexity": h, "server_lr": step / h, "local_lr": 2 * step / h,
                "least_client_progress": (x - 2) / (2 * h * x), "local_steps": 1}  # fmt: skip
        names = {s.name for s in thm5.MAIN.hypotheses[1].relation.rhs.free_symbols}
        printed = largest_q(thm5.MAIN, "q_condition", **{n: v for n, v in tied.items() if n in names})
        right.plot(x, printed, color=PRINTED, lw=1.8, ls=style, label=f"printed, h = {h:g}")
    tied = {"smoothness": 1, "strong_convexity": 1, "server_lr": step, "local_lr": 2 * step,
            "least_client_progress": (x - 2) / (2 * x), "local_steps": 1}  # fmt: skip
    right.plot(x, _largest_by_product(thm5.DERIVED, tied), color=REPAIRED, lw=1.8, label="derived, any h")
    _settling(right)
    _finish(right, "Theorem 5: what is printed depends on the units", "x", "largest q allowed at x")
    right.set(xlim=(0, 2), ylim=(0, 1))
    return figure


def _largest_by_product(claim: Claim, values: dict[str, float | np.ndarray]) -> np.ndarray:
    """The q at which the slack of the condition, linear in q, vanishes."""
    (condition,) = (h for h in claim.hypotheses if h.name == "q_condition")
    slack = compiled(condition.slack)
    arrays = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    at_0, at_1 = (slack(arrays | {"client_round_probability": np.float64(q)}) for q in (0, 1))
    return at_0 / (at_0 - at_1)


def _settling(axes: Axes) -> None:
    q = np.linspace(0, 1, 200)
    axes.plot(2 * q / (1 + q), q, color=EXACT, lw=1.8, label="settles at $2q/(1+q)$")


def _finish(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(which="major", color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False, fontsize=9)


FIGURES = {
    "safari.floors.png": plot_floors,
    "safari.bounds.png": plot_bounds,
    "safari.q_conditions.png": plot_conditions,
}
"""What draws each figure, by its file's name."""
