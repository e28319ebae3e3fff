"""Worst cases over all federations of a class."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functionals import AVERAGES
from ..rationals import checked_count, exact_number
from .algorithm_plans import plan_of
from .classes import FunctionClass
from .problem import Problem
from .program import Program
from .quadratic_noise import noise_apart
from .solver import ACCURACY, Solution, solve

if TYPE_CHECKING:
    from .certificates import Certificate
    from .step_problems import StepProblem
    from .worst_functions import Instance

LEAST, SMALL, RESCALED = 1e-8, 0.05, 2
"""Bounds of the objectives that are solved again in units of their size, and the most often that this is done."""
SOLVED, INACCURATE, UNBOUNDED = "solved", "inaccurate", "unbounded"


@dataclass(frozen=True)
class Recursion:
    """Bound metric <= contraction |x_0 - x*|^2 + of_gap (F(x_0) - F*) + additive zeta^2 + of_noise sigma^2 +
    of_server_noise sigma_s^2. It holds for every federation of the class, every start and all zeta, sigma, sigma_s >=
    0; but a distance, zeta or sigma that is 0 in the problem has the factor 0, and it has to be 0 then.

    Attributes:
        contraction, additive, of_noise: in the metric's units over x^2, (F/x)^2 and (F/x)^2.
    """

    contraction: float
    additive: float
    of_noise: float = 0.0
    of_server_noise: float = 0.0
    of_gap: float = 0.0

    def after(
        self,
        rounds: int,
        *,
        distance: float = 1.0,
        dissimilarity_at_optimum: float = 0.0,
        gradient_noise: float = 0.0,
        server_noise: float = 0.0,
    ) -> float:
        """Return the bound on E|x_R - x*|^2 that the recursion of one round's gives after many: tau^R |x_0 - x*|^2 and
        the geometric sum; infinite where that is larger than any float.

        Raises:
            ValueError: ``rounds`` is no whole number >= 0.

        >>> Recursion(0.5, 1.0).after(2, dissimilarity_at_optimum=1.0)
        1.75
        """
        each = self.additive * dissimilarity_at_optimum**2 + self.of_noise * gradient_noise**2
        each += self.of_server_noise * server_noise**2
        tau = self.contraction
        checked_count("rounds", rounds, 0)
        try:
            grown = tau**rounds
        except OverflowError:
            return inf if distance or each else 0.0
        return grown * distance**2 + each * (float(rounds) if tau == 1 else (1 - grown) / (1 - tau))


@dataclass(frozen=True)
class WorstCase:
    """Largest value of a metric over a class, as far as a solver found it.

    Attributes:
        value: the bound by the multipliers, in the metric's units; ``None`` unless ``status`` is "solved", and infinite
            where it is "unbounded".
        status: "solved"; "inaccurate" if gap or violation exceed the accuracy that was asked for, or if the solver says
            that what start and constants bound is unbounded, as with steps far above 2/L; "unbounded".
        kind: "exact" if a federation of the class attains it, or "upper bound": with noise, of which only first and
            second moments count (but of quadratics after one round), with a dissimilarity that is bounded at the
            server's points only, of functions that need not be convex, and where constants have a price.
        lower, upper: the solver's two values. gap: their difference, relative to the value. For final squared
            distances it is relative to the largest change of |x_R - x*|^2 from |x_0 - x*|^2, which is less.
        violation: the largest, of constraints and matrices, on both sides, in the program's scale.
        recursion: the multipliers of the start and of the constants, as a bound for all starts and constants; ``None``
            unless solved, and of a step of one's own that remembers something or asks for the server's gradient.
        solver, solver_status: the solver's name, and its own word for the result.
        problem: the problem that was solved.
    """

    value: float | None
    status: str
    kind: str
    lower: float
    upper: float
    gap: float
    violation: float
    recursion: Recursion | None
    solver: str
    solver_status: str
    problem: Problem | StepProblem
    solution: Solution
    program: Program

    def certificate(self) -> Certificate:
        """Return rational multipliers that prove ``recursion``, hardly weaker: see ``multiplier_rounding.certify``."""
        from .multiplier_rounding import certify

        self._check_plan("certificate")
        return certify(self)

    def instance(self, clients: int | None = None) -> Instance:
        """Return a federation that attains the value: see ``worst_functions.instance_of``."""
        from .worst_functions import instance_of

        self._check_plan("instance")
        return instance_of(self, clients)

    def _check_plan(self, what: str) -> None:
        if not isinstance(self.problem, Problem):
            name = self.problem.algorithm.name
            raise ValueError(f"{what}: algorithm {name}: allowed are algorithms that are not steps of one's own")

    def __repr__(self) -> str:
        shown = "none" if self.value is None else f"{self.value:.9g}"
        return (
            f"WorstCase(value={shown}, status={self.status!r}, kind={self.kind!r}, gap={self.gap:.1e}, "
            f"violation={self.violation:.1e}, solver={self.solver!r})"
        )


def worst_case(
    functions: FunctionClass,
    algorithm: Any,
    *,
    rounds: int = 1,
    metric: str = "final_squared_distance",
    average: str = AVERAGES[0],
    clients: int | None = None,
    cohort: int | None = None,
    arbitrary_cohort: int | None = None,
    distance: Any = 1,
    dissimilarity_at_optimum: Any = 0,
    everywhere: bool = False,
    gradient_noise: Any = 0,
    server_noise: Any = 0,
    accuracy: float = ACCURACY,
) -> WorstCase:
    """Compute the largest value that a metric can have over ALL federations of a class, in every dimension.

    Args:
        functions: ``strongly_convex``, ``convex`` or ``quadratic``, of every client's F_i. F is their mean.
        algorithm: of `fedtheory.algorithms` (FedAvg, FedProx, FAST with a probability, SAFARI), or ``local_sgd(...)``;
            or one of one's own (``own``, ``scaffold``, ``fedlin``, ...), of which the rounds are followed along all
            cohorts and draws, for few clients and rounds. What it remembers begins as in a run.
        rounds: one where participants are drawn, but for steps of one's own; of one arbitrary cohort, the same set in
            all.
        metric: a functional of `fedtheory.functionals`: "final_squared_distance", "final_gap",
            "final_squared_gradient", "average_gap", "average_squared_gradient"; averages over ``average``, "r = 1..R"
            or "r = 0..R-1". Random rounds: the first one only, but for steps of one's own.
        clients, cohort, arbitrary_cohort: see ``plan_of``. One client is one function; with full participation and
            without noise the value is the same for all numbers of clients >= 2.
        distance: |x_0 - x*|, in units of x.
        dissimilarity_at_optimum: largest |grad F_i(x*)|, in units of F/x; 0 says that x* minimises every F_i, ``None``
            that it is not bounded. Where all clients play the same part (no arbitrary cohort), the root of the mean of
            the squares gives the same value.
        everywhere: the dissimilarity is bounded at the server's points x_r too (an upper bound then).
        gradient_noise, server_noise: sigma, sigma_s, standard deviations (an upper bound with the first); noises of
            different clients are independent.
        accuracy: relative; below it a solve counts.

    Raises:
        ValueError: an argument out of bounds, or a program too large for this machine.

    Source: performance estimation (Drori and Teboulle 2014; Taylor, Hendrickx and Glineur 2017); clients by symmetry,
    see ``geometry``.

    >>> from fedtheory.worstcase import local_sgd, strongly_convex
    >>> found = worst_case(strongly_convex(smoothness=1, strong_convexity="1/10"), local_sgd(local_lr="1/2"))
    >>> found.status, found.kind, round(found.value, 6)  # (1 - 1/20)^2
    ('solved', 'exact', 0.9025)
    >>> from fedtheory.algorithms import fedlin
    >>> functions = strongly_convex(smoothness=1, strong_convexity="1/10")
    >>> two_steps = fedlin(local_lr="1/10", local_steps=2)
    >>> found = worst_case(functions, two_steps, clients=2, dissimilarity_at_optimum=None)
    >>> found.status, round(found.value, 4)  # (1 - 1/100)^4 if the clients' functions were alike
    ('solved', 0.9606)
    """
    if _is_step(algorithm):
        from .step_problems import StepProblem, law_of_rounds

        if exact_number("gradient_noise", gradient_noise) or exact_number("server_noise", server_noise):
            raise ValueError("gradient_noise, server_noise: allowed with a step of one's own is 0")
        law = tuple(law_of_rounds(clients, cohort, arbitrary_cohort))
        own = StepProblem(
            functions,
            algorithm,
            len(law[0][0]),
            law,
            rounds,
            metric,
            average,
            distance,
            dissimilarity_at_optimum,
            everywhere,
        )
        return _solved(own, accuracy)
    plan = plan_of(algorithm, rounds, clients=clients, cohort=cohort, arbitrary_cohort=arbitrary_cohort)
    problem = Problem(
        functions, plan, metric, average, distance, dissimilarity_at_optimum, everywhere, gradient_noise, server_noise
    )
    return solved(problem, accuracy)


def _is_step(algorithm: Any) -> bool:
    """Whether it is an algorithm of one's own; rounds as data need no algorithms, which need torch."""
    if not hasattr(algorithm, "kinds"):
        return False
    from ..algorithms.custom_algorithm import Own

    return isinstance(algorithm, Own)


def additive_constant(
    functions: FunctionClass,
    algorithm: Any,
    *,
    contraction: Any,
    rounds: int = 1,
    metric: str = "final_squared_distance",
    clients: int | None = None,
    cohort: int | None = None,
    arbitrary_cohort: int | None = None,
    everywhere: bool = False,
    accuracy: float = ACCURACY,
) -> WorstCase:
    """Compute the least nu with metric <= contraction |x_0 - x*|^2 + nu dissimilarity_at_optimum^2 over the class,
    without noise; it is the ``value``. It is infinite (status "unbounded") if no nu will do: the class does not
    contract so fast.

    Args:
        contraction: tau >= 0, in the metric's units over x^2. The others: as in ``worst_case``.

    Raises:
        ValueError: as there.

    >>> from fedtheory.worstcase import local_sgd, strongly_convex
    >>> class_ = strongly_convex(smoothness=1, strong_convexity="1/10")
    >>> one_step = local_sgd(local_lr="1/2")
    >>> abs(round(additive_constant(class_, one_step, contraction=(1 - 1 / 20) ** 2 + 1e-6).value, 6))
    0.0
    >>> additive_constant(class_, one_step, contraction="9/10").status
    'unbounded'
    """
    plan = plan_of(algorithm, rounds, clients=clients, cohort=cohort, arbitrary_cohort=arbitrary_cohort)
    tau = exact_number("contraction", contraction)
    return solved(
        Problem(functions, plan, metric, dissimilarity_at_optimum=Fraction(1), everywhere=everywhere, contraction=tau),
        accuracy,
    )


def solved(problem: Problem, accuracy: float = ACCURACY) -> WorstCase:
    """Solve a problem and return its worst case."""
    apart = noise_apart(problem)
    return _solved(problem, accuracy) if apart is None else _with_noise(_solved(apart[0], accuracy), problem, apart[1])


def _with_noise(quiet: WorstCase, problem: Problem, of_noise: float) -> WorstCase:
    """Add the part of noise to a worst case without noise."""
    more = of_noise * float(problem.gradient_noise) ** 2
    return replace(
        quiet,
        problem=problem,
        value=None if quiet.value is None else quiet.value + more,
        lower=quiet.lower + more,
        upper=quiet.upper + more,
        recursion=None if quiet.recursion is None else replace(quiet.recursion, of_noise=of_noise),
    )


def _solved(problem: Problem | StepProblem, accuracy: float) -> WorstCase:
    program, found = min(_attempts(problem, accuracy), key=lambda each: _error(*each))
    accurate = not (found.unbounded and problem.bounded) and _error(program, found) <= accuracy
    status = INACCURATE if not accurate else UNBOUNDED if found.unbounded else SOLVED
    unit = float(problem.unit)
    lower, upper = (unit * (program.offset + program.factor * each) for each in (found.primal, found.dual))
    value = upper if status == SOLVED else np.inf if status == UNBOUNDED else None
    return WorstCase(
        value,
        status,
        "exact" if problem.exact else "upper bound",
        lower,
        upper,
        _gap(program, found),
        found.violation,
        _recursion(problem, program, found) if status == SOLVED and problem.recursive else None,
        found.solver,
        found.status,
        problem,
        found,
        program,
    )


def _attempts(problem: Problem | StepProblem, accuracy: float) -> list[tuple[Program, Solution]]:
    """The program, and where its objective is small also in units of its size, until one solve is accurate."""
    program = problem.program()
    made = [(program, solve(program, accuracy))]
    for _ in range(RESCALED):
        program, found = made[-1]
        if program.decrement or not LEAST < abs(found.dual) < SMALL or _error(program, found) <= accuracy / 10:
            break
        program = copy(program)
        program.rescale(abs(found.dual))
        made.append((program, solve(program, accuracy)))
    return made


def _gap(program: Program, found: Solution) -> float:
    """Relative to the objective, unless that is about 0; of a decrement, to its scale."""
    size = abs(found.dual)
    if program.decrement or not LEAST < size < 1:
        return found.gap
    return abs(found.dual - found.primal) / size


def _error(program: Program, found: Solution) -> float:
    """The larger one of gap and violation; none of what is unbounded."""
    return 0.0 if found.unbounded else max(_gap(program, found), found.violation)


def _recursion(problem: Problem | StepProblem, program: Program, found: Solution) -> Recursion:
    unit = float(problem.unit)
    totals = {"distance": 0.0, "gap": 0.0, "dissimilarity": 0.0, "noise": 0.0, "least": 0.0}
    for row, multiplier in zip(program.at_most, found.at_most, strict=True):
        totals[row.name.split()[0]] += program.factor * float(multiplier)
    for name, price in program.prices.items():
        totals[name] = price
    if program.decrement:
        totals["distance"] += program.units.distance**2

    def over(total: float, constant: Fraction | None) -> float:
        return unit * total / float(constant) ** 2 if constant else 0.0

    tau = float(problem.contraction) if problem.contraction is not None else over(totals["distance"], problem.distance)
    by_gap = unit * totals["gap"] / float(problem.initial_gap) if problem.initial_gap is not None else 0.0
    return Recursion(
        tau,
        over(totals["dissimilarity"], problem.dissimilarity_at_optimum),
        over(totals["noise"], problem.gradient_noise),
        problem.of_server_noise,
        by_gap,
    )
