"""Instances that refute FAST's statements: a few clients on the line, with short numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ...algorithms import fast
from ...claims.statement import Claim
from ...participation import Fixed
from ...subjects.protocol import Point
from ...subjects.enclosures import with_new_steps
from ...subjects.run_subject import PARTS
from ...subjects.file_entries import stated_constants
from ...subjects.families import Family
from ...subjects.run_points import RunPoint, run_point
from ...subjects.values import ValuesPoint

ONE = Fraction(1)


def biased_quartet(claim: Claim, rounds: int, local_lr: Fraction | None = None, cohort: int = 1) -> RunPoint:
    """Return runs of clients at u, -u, 1, -1 with u = 9/20, of which the first takes part in every arbitrary round.

    Here K = L = sigma_G = 1 and x* = 0. Theorem 1 asks of q = 1/2 to be at least N / (N + G_1 - 2 eta G_3) with
    N = 2 - (1 - 2 eta) G_2. As eta goes to 0, on every run that has rounds of both kinds:

    - A run stays between -1 and 19/10, where its start is, since rounds pull to points of [-1, 1]; so G_2 is at most
      (1 + u)^2 = (19/10 - u)^2 = 2.1025, and N lies between -0.1025 and 2.
    - If round 0 is a snapshot, then G_1 >= (19/10)^2 = 3.61, and N / (N + G_1) <= 2 / 5.61 < 1/2.
    - If it is arbitrary, then G_2 = 2.1025 and N < 0; the first snapshot is between 19/10 and u, so G_1 >= u^2 and
      N + G_1 >= 2 + u^2 - (1 + u)^2 = 1 - 2 u > 0. The quotient is negative.

    In both cases N + G_1 > 0, so the form before dividing holds too. Yet snapshots pull to 0 on average and arbitrary
    rounds to u, half of the time each: E x ends at u / 2, and E|grad F|^2 >= (E x)^2 at u^2 / 4 = 0.0506. The bound is
    4 * 1.805 / (R eta) + 90 eta^2, which is 0.0167 for eta = 1/200 and R = 10^5. With a corollary's step, a constant
    over sqrt(R), it fades like 1 / sqrt(R) while the left side stays: no constant in place of the O(.) helps.
    """
    u = Fraction(9, 20)
    algorithm = with_new_steps(fast(cohort=cohort, local_lr=1, snapshot_period=2), {"local_lr": local_lr})
    constants = {name: Fraction(int(name != "gradient_noise")) for name in stated_constants(claim)}
    clients = [[1]] * 4, [[u], [-u], [1], [-1]], [Fraction(19, 10)]
    return run_point(*clients, algorithm, Fixed([0]), rounds, constants, part=PARTS["fast"])


def drawn_one_by_one(claim: Claim, local_steps: int = 100) -> RunPoint:
    """Clients at 1 and -1, F = x^2/2, of which one is drawn in every round, from x_0 = x*, without noise; K local steps
    of local_lr = c/sqrt(RK) = c/K^2, c = 1/10, and R = K^3.

    A round moves x a share s = 1 - (1 - local_lr)^K of the way to 1 or to -1, so that E x^2 tends to s/(2 - s), near
    c sqrt(K/R)/2 = c/(2 K), 5e-4 for K = 100. The bound is 60 c^2/sqrt(RK) = 60 c^2/K^2, here 6e-5. Whatever c and the
    constants of the rate are, the ratio grows like K: who is drawn costs as much as if each client had taken one step K
    times as long. Of R rounds all but some 1/s = K/c are near that limit.
    """
    values = {"smoothness": ONE, "dissimilarity": ONE, "gradient_noise": Fraction(0), "step_constant": Fraction(1, 10)}
    constants = {name: values[name] for name in stated_constants(claim)}
    steps = fast(cohort=1, local_steps=local_steps, local_lr=1, snapshot_period=1)
    algorithm = with_new_steps(steps, {"local_lr": None})
    return run_point([[1]] * 2, [[1], [-1]], [0], algorithm, Fixed([0]), local_steps**3, constants, part=PARTS["fast"])


def flat_and_noisy(claim: Claim, flatness: int = 1000) -> RunPoint:
    """One client with F(x) = mu x^2 / 2, mu = 1 / ``flatness``, and gradient noise 1, from x_0 = 10^6, 1 / mu rounds,
    or 10^-9 / mu^2 for mu below 10^-9.

    Corollary 3 chooses local_lr = l / (mu R) with l = log(|x_0|^2 mu R / (2 / mu)) >= log(500), below the cap
    1 / (20 mu) for mu <= 1/1000. One client's iterates are an autoregression, so that the noise alone keeps
    E|x_R - x*|^2 near eta / (2 mu) = l / (2 mu^2 R). The bound is 2 (1 + l) / (mu R) and exp(-R / 20) |x_0|^2: the
    ratio grows like 1 / (4 mu). Of the problem only mu = L changes, and both stand in the printed rate: a constant that
    depends on them is not claimed. The dissimilarity is 0, where the q-condition asks for q >= -infinity as long as
    16 mu eta < 1.
    """
    mu = Fraction(1, flatness)
    values = {"smoothness": mu, "strong_convexity": mu, "gradient_noise": ONE, "dissimilarity": Fraction(0)}
    constants = {name: values[name] for name in stated_constants(claim)}
    algorithm = with_new_steps(fast(cohort=1, local_lr=1, snapshot_period=1), {"local_lr": None})
    rounds = max(flatness, flatness**2 // 10**9)
    start = [Fraction(10**6)]
    return run_point([[mu]], [[0]], start, algorithm, Fixed([0]), rounds, constants, part=PARTS["fast"])


def identical_clients(claim: Claim) -> ValuesPoint:
    """Return the values of two rounds of identical clients F_i(x) = x^2 / 2 from x_0 = 1, with local_lr = 1/10.

    The first round is arbitrary, the second a snapshot, so G_2 = x_0^2 and G_1 = G_3 = x_1^2 = (9/10)^2.

    With G_3 = G_1 and z = L K eta the bound on q is -(1 - 2z) G_2 / ((1 - 2z) (G_1 - G_2)) = G_2 / (G_2 - G_1) > 1,
    here 100/19, although the remark has it at most 0. (Before dividing, q = 0 is allowed.)
    """
    later = Fraction(81, 100)
    values: dict[str, Any] = dict.fromkeys(("cohort", "arbitrary_cohort", "local_steps", "smoothness"), ONE)
    values |= {"local_lr": Fraction(1, 10), "snapshot_probability": Fraction(1, 2)}
    values |= {"peak_full_pseudogradient": later, "peak_cohort_pseudogradient": later}
    return ValuesPoint(values | {"peak_arbitrary_pseudogradient": ONE})


def opposite_clients(claim: Claim) -> ValuesPoint:
    """Return the values of two rounds of clients at 1 and -1, F = x^2 / 2, from x_0 = 2, with local_lr = 1/10.

    The first round is a snapshot of both, the second one of the first client alone. So G_1 = G_3 = x_0^2 and
    G_2 = (x_1 - 1)^2 = (9/5 - 1)^2.

    The bound on q is N / (N + G_1 - G_3 / 5) with N = 2 - 4/5 G_2 = 1.488, which is 1.488/4.688 = 0.317. With clients
    at s and -s from x_0 = 2 s, all of these grow with s^2, and so does sigma_G^2: the bound stays what it is.
    """
    values: dict[str, Any] = dict.fromkeys(("arbitrary_cohort", "local_steps", "smoothness", "dissimilarity"), ONE)
    values |= {"cohort": 2 * ONE, "local_lr": Fraction(1, 10), "snapshot_probability": ONE / 2}
    values |= {"peak_full_pseudogradient": 4 * ONE, "peak_cohort_pseudogradient": 4 * ONE}
    return ValuesPoint(values | {"peak_arbitrary_pseudogradient": Fraction(16, 25)})


def _theorem_1(claim: Claim) -> RunPoint:
    return biased_quartet(claim, 10**5, Fraction(1, 200), cohort=4)


COUNTEREXAMPLES: dict[str, Callable[[Claim], Point]] = {
    "fast.thm1@main": _theorem_1,
    "fast.thm1@appendix": _theorem_1,
    "fast.cor1@main": lambda claim: biased_quartet(claim, 10**10),
    "fast.cor1@appendix": lambda claim: biased_quartet(claim, 10**10),
    "fast.cor2@main": lambda claim: biased_quartet(claim, 10**12),
    "fast.rem1.a@main": lambda claim: biased_quartet(claim, 10**12),
    "fast.rem1.b@main": drawn_one_by_one,
    "fast.rem2.a@main": identical_clients,
    "fast.rem2.b@main": opposite_clients,
    "fast.cor3@main": flat_and_noisy,
}
"""Makers of counterexamples by the claim's ref. Those of Remark 2 refute some of its readings."""

_ROUNDS = (10**10, 10**12, 10**14)
FAMILIES: dict[str, Family] = {
    "fast.cor1@main": Family(biased_quartet, _ROUNDS, ("rounds",)),
    "fast.cor1@appendix": Family(biased_quartet, _ROUNDS, ("rounds",)),
    "fast.cor2@main": Family(biased_quartet, _ROUNDS, ("rounds",)),
    "fast.rem1.a@main": Family(biased_quartet, _ROUNDS, ("rounds",)),
    "fast.rem1.b@main": Family(drawn_one_by_one, (25, 50, 100), ("rounds", "local_steps")),
    "fast.cor3@main": Family(flat_and_noisy, (1000, 10**4, 10**11), ("rounds", "smoothness", "strong_convexity")),
}
"""Families of counterexamples by the claim's ref."""
