"""Counterexamples by construction, and exact instances from what a search has found in floating point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from ..algorithms import Safari, fast
from ..claims.statement import Claim
from ..federations import Quadratic
from ..moments.points import Points
from ..papers import claim
from ..papers.fedau.counterexamples import CONSTRUCTIONS as FEDAU_RUNS
from ..papers.fedau.counterexamples import rounded_fedau
from ..papers.fedau.counterexamples_of_weights import CONSTRUCTIONS as FEDAU_WEIGHTS
from ..papers.fedau.counterexamples_of_weights import rounded_weights
from ..papers.flics.counterexamples import CONSTRUCTIONS as FLICS
from ..papers.safari.counterexamples import CONSTRUCTIONS as SAFARI
from ..papers.safari.counterexamples import PARTLY as SAFARI_PARTLY
from ..papers.safari.counterexamples import rounded_safari
from ..participation import Fixed
from ..quantities import QUANTITIES
from ..setting import Setting
from ..subjects.fedau.exact import FedauRun
from ..subjects.found import Found
from ..subjects.instance import AnyInstance, FunctionInstance, Instance, ValuesInstance, from_setting
from ..subjects.selection.instance import SelectionInstance
from ..subjects.stated import FREE, stated_constants
from ..subjects.weights.exact import Weights
from .confirm import Judgement, judge

ONE = Fraction(1)


def construct(ref: str) -> Judgement | None:
    """The instance by which this module refutes a claim, judged; ``None`` where it knows none.

    >>> construct("fast.rem2.a").refutes, construct("fast.rem2.b")
    (True, None)
    """
    statement = claim(ref)
    build = ALL.get(statement.ref)
    return None if build is None else judge(build(statement.ref))


def biased_quartet(ref: str, rounds: int, **changes: object) -> Instance:
    """Clients at u, -u, 1, -1 with u = 9/20, of which the first takes part in every arbitrary round.

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
    parts = {
        "hessians": ((ONE,),) * 4,
        "centres": ((u,), (-u,), (ONE,), (-ONE,)),
        "start": (Fraction(19, 10),),
        "cohort": 1,
        "local_steps": 1,
        "local_lr": None,
        "snapshot_period": 2,
        "members": (0,),
        "constants": {name: Fraction(int(name != "gradient_noise")) for name in stated_constants(ref)},
    }
    return Instance(claim=ref, rounds=rounds, **(parts | changes))


def flat_and_noisy(ref: str, strong_convexity: Fraction = Fraction(1, 1000)) -> Instance:
    """One client with F(x) = strong_convexity x^2 / 2 and gradient noise 1, in 1 / strong_convexity rounds.

    Corollary 3 chooses local_lr = l / (mu R) with l = log(|x_0|^2 mu R / (2 / mu)) = log(1 / (2 mu)), below the cap
    1 / (20 mu) for mu <= 1/1000. One client's iterates are an autoregression, so that the noise alone keeps
    E|x_R - x*|^2 near eta / (2 mu) = l / (2 mu^2 R). The bound is 2 (1 + l) / (mu R) and exp(-R / 20) |x_0|^2: the
    ratio grows like 1 / (4 mu). The dissimilarity is 0, where the q-condition asks for q >= -infinity as long as
    16 mu eta < 1.
    """
    mu = strong_convexity
    values = {"smoothness": mu, "strong_convexity": mu, "gradient_noise": ONE, "dissimilarity": Fraction(0)}
    return Instance(
        claim=ref, hessians=((mu,),), centres=((Fraction(0),),), start=(1 / mu,), cohort=1, local_steps=1,
        local_lr=None, snapshot_period=1, members=(0,), rounds=int(1 / mu),
        constants={name: values[name] for name in stated_constants(ref)},
    )  # fmt: skip


def identical_clients(ref: str) -> ValuesInstance:
    """What two rounds of identical clients F_i(x) = x^2 / 2 from x_0 = 1 show, the first arbitrary, the second a
    snapshot, with local_lr = 1/10: G_2 = x_0^2 and G_1 = G_3 = x_1^2 = (9/10)^2.

    With G_3 = G_1 and z = L K eta the bound on q is -(1 - 2z) G_2 / ((1 - 2z) (G_1 - G_2)) = G_2 / (G_2 - G_1) > 1,
    here 100/19, although the remark has it at most 0.
    """
    counts = ("cohort", "arbitrary_cohort", "local_steps", "smoothness")
    later = Fraction(81, 100)
    return ValuesInstance(
        ref,
        dict.fromkeys(counts, ONE)
        | {"local_lr": Fraction(1, 10), "snapshot_probability": Fraction(1, 2)}
        | {"peak_full_pseudogradient": later, "peak_cohort_pseudogradient": later}
        | {"peak_arbitrary_pseudogradient": ONE},
    )


def _theorem_1(ref: str) -> Instance:
    return biased_quartet(ref, rounds=10**5, cohort=4, local_lr=Fraction(1, 200))


CONSTRUCTIONS: dict[str, Callable[[str], AnyInstance]] = {
    "fast.thm1@main": _theorem_1,
    "fast.thm1@appendix": _theorem_1,
    "fast.cor1@main": lambda ref: biased_quartet(ref, rounds=10**10),
    "fast.cor1@appendix": lambda ref: biased_quartet(ref, rounds=10**10),
    "fast.cor2@main": lambda ref: biased_quartet(ref, rounds=10**12),
    "fast.rem2.a@main": identical_clients,
    "fast.cor3@main": flat_and_noisy,
}


ALL: dict[str, Callable[[str], AnyInstance]] = (
    CONSTRUCTIONS | SAFARI | SAFARI_PARTLY | FEDAU_RUNS | FEDAU_WEIGHTS | FLICS
)
"""Every paper's."""


# From a search -------------------------------------------------------------------------------------------------------

DIGITS = (1, 2, 3, 4, 6, 9, 12, 16)
"""Significant digits to which the numbers of a find are rounded, the fewest that do."""

STEP_SHARES = tuple(Fraction(share) for share in ("1", "999/1000", "9/10", "1/2"))
"""Shares of a find's step size that are tried: rounding other numbers may have lowered the cap on it."""


def refuting_point(statement: Claim, found: Found) -> Judgement | None:
    """What a search found, with the shortest numbers under which the claim falls under every reading, judged;
    ``None`` if none do, or if no instance can hold it (see ``from_setting``).

    The claim need not be a registered one. Constants are those of the rounded federation or function.
    """
    for digits in DIGITS:
        for instance in _rounded(statement, found, digits):
            try:
                judgement = judge(instance, follow=False, statement=statement)
            except ValueError:  # rounding left no instance of the claim
                continue
            if judgement.refutes:
                return judge(instance, statement=statement)
    return None


def _rounded(statement: Claim, found: Found, digits: int) -> Iterator[AnyInstance]:
    if isinstance(found.point, Points):
        vectors = {name: tuple(short(v, digits) for v in getattr(found.point, name))
                   for name in ("curvatures", "slope", "x", "y", "z")}  # fmt: skip
        points = Points(**vectors)
        true = {"smoothness": points.smoothness, "strong_convexity": points.strong_convexity}
        yield FunctionInstance(statement.ref, points, {n: true[n] for n in stated_constants(statement) if n in true})
    elif isinstance(found.point, Setting):
        shares = STEP_SHARES[: 1 if statement.choices else None]
        for members, share in itertools.product(_fixed_sets(found.point), shares):
            try:
                if isinstance(found.point.algorithm, Safari):
                    yield rounded_safari(
                        statement, found.point, found.rounds, members, share, partial(short, digits=digits)
                    )
                else:
                    yield _rounded_run(statement, found, digits, members, share)
            except ValueError:  # no instance can hold it
                return
    elif isinstance(found.point, FedauRun):
        for share in STEP_SHARES:
            yield rounded_fedau(statement, found.point, share, partial(short, digits=digits))
    elif isinstance(found.point, SelectionInstance):  # drawn with short numbers
        yield found.point
    elif isinstance(found.point, Weights):
        yield rounded_weights(
            statement, found.point, partial(short, digits=digits), partial(short, digits=digits, whole=True)
        )
    else:
        values = {name: short(v, digits, whole=QUANTITIES[name].integer) for name, v in found.point.items()}
        yield ValuesInstance(statement.ref, {name: values[name] for name in statement.quantities})


def _fixed_sets(setting: Setting) -> list[Fixed]:
    """The arbitrary rounds' set, if it is fixed; for other processes, fixed sets of their size: a bound for arbitrary
    participation has to stand these too."""
    if isinstance(setting.participation, Fixed):
        return [setting.participation]
    clients = list(range(setting.federation.clients))
    return [Fixed((clients[i:] + clients[:i])[: setting.participation.cohort]) for i in clients]


def _rounded_run(statement: Claim, found: Found, digits: int, members: Fixed, share: Fraction) -> Instance:
    """The run with numbers rounded: the step size down, the snapshot probability up, as conditions on them have it.
    Judging looks at cohorts with and without replacement, as the claim has it."""
    given = {name: short(found.quantities[name], digits) for name in FREE if name in found.quantities}
    algorithm = replace(found.point.algorithm, replacement=False)
    setting = replace(found.point, participation=members, algorithm=algorithm)
    exact = from_setting(statement, setting, found.rounds, **given)
    hessians = [[short(v, digits) for v in row] for row in exact.hessians]
    centres = [[short(v, digits) for v in row] for row in exact.centres]
    federation = Quadratic(hessians, centres, short(setting.federation.exact_gradient_noise, digits))
    offset = [short(v, digits) for v in setting.exact_start - setting.federation.exact_optimum]
    rule = {"snapshot_period": algorithm.snapshot_period}
    if not algorithm.periodic:
        rule = {"snapshot_probability": _short_probability(statement, algorithm.snapshot_probability, digits)}
    algorithm = fast(
        cohort=algorithm.cohort, local_steps=algorithm.local_steps,
        local_lr=short(algorithm.local_lr * share, digits, ROUND_FLOOR), **rule,
    )  # fmt: skip
    start = list(federation.exact_optimum + np.array(offset))
    rounded = Setting(federation, algorithm, members, start)
    return from_setting(statement, rounded, int(short(found.rounds, digits, whole=True)), **given)


def _short_probability(statement: Claim, probability: Fraction, digits: int) -> Fraction:
    """At least the probability; one over a whole number where the claim may mean a period."""
    readings = {reading.get("snapshots") for reading in statement.readings()}
    if "period" in readings and probability > 0:
        return Fraction(1, math.floor(1 / probability))
    return min(Fraction(1), short(probability, digits, ROUND_CEILING))


def short(value: object, digits: int, rounding: str = ROUND_HALF_EVEN, whole: bool = False) -> Fraction:
    """The value rounded to so many significant decimal digits.

    >>> short(Fraction(2, 3), 2), short(0.0123, 1), short(98765.0, 3, whole=True)
    (Fraction(67, 100), Fraction(1, 100), Fraction(98800, 1))
    """
    exact = Fraction(value)
    if whole and exact == int(exact) and len(str(int(exact))) <= digits:
        return exact
    context = Context(prec=digits, rounding=rounding)
    return Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))
