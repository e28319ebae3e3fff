"""Bounds on a functional of one round, or of a function at points, by quantities of where it starts.

A theorem form >= 0 says functional <= functional + form, where the functional is a form too. The sum has to be made of
the forms of quantities, and of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .axioms import ITERATE, NEXT, OPTIMUM, POINTS, START_POINT, gradient_at
from .forms import STEP, Atom, Form, Value, Vector, dot, square
from .round_rules import ARBITRARY, UNIFORM
from .run_bounds import DISTANCE, FINAL_DISTANCE, ROUNDS, RunBound, _of_rounds
from .scalars import Ring, Scalar
from .theorems import Assumption, Refused, Theorem, at_step, intact, split
from .weighted_run_bounds import (
    LARGEST_SCALE,
    LEAST_WEIGHT,
    OBJECTIVE_ERROR,
    OF_PLAIN_MEAN,
    PLAIN_MEAN,
    WEIGHT_ERROR,
    check_weighted,
    own_letters,
)

OF_THE_ROUND: Assumption = ("weights_of_the_round", None)
"""Reading of a bound: what is given are the weights of the round alone."""
GRADIENT, DECREASE, DISPLACEMENT, PERTURBATION = "gradient_norm", "objective_decrease", "displacement", "perturbation"
"""Parameters of a round: |grad F(x)| and F(x) - E F(x+); and the distances of the points that a function is at."""
SUMS = {ARBITRARY: ("arbitrary_pseudogradient",), UNIFORM: ("full_pseudogradient", "cohort_pseudogradient")}
"""E|mean sum_k grad F_i(x_{i,k})|^2 by the kind of round: of an arbitrary cohort; of all clients, and a uniform one."""
PROGRESS = "negated_arbitrary_progress"
"""Functional that is 2 eta times its form, of an arbitrary cohort."""

Made = Callable[[Ring], Form]


def _squared(point: Atom, other: Atom) -> Made:
    return lambda ring: square(Vector.one(ring, point) - Vector.one(ring, other))


def _gradient(ring: Ring) -> Vector:
    return Vector.one(ring, gradient_at(START_POINT), "M")


def _apart(point: Atom) -> Made:
    """|grad F_i(point) - grad F(x)|^2."""
    return lambda ring: square(Vector.one(ring, gradient_at(point)) - _gradient(ring))


def _summed(binder: str) -> Made:
    return lambda ring: square(Vector.one(ring, gradient_at(ITERATE)).under(binder).under("K"))


def _increase(ring: Ring) -> Form:
    return Form(ring, {Value("M", NEXT): ring.number(1), Value("M", START_POINT): -ring.number(1)})


def _progress(binder: str) -> Made:
    def form(ring: Ring) -> Form:
        steps = Vector.one(ring, gradient_at(ITERATE)).under(binder).under("K")
        return dot(steps, Vector.one(ring, START_POINT) - Vector.one(ring, OPTIMUM)) * -1

    return form


def _linearized(to: int, of: int) -> Made:
    """F_i at one of the points, less that at another one and what the slope at the first of all says of the way."""

    def form(ring: Ring) -> Form:
        values = Form(ring, {Value("", POINTS[to]): ring.number(1), Value("", POINTS[of]): -ring.number(1)})
        return values - dot(
            Vector.one(ring, gradient_at(POINTS[0])), Vector.one(ring, POINTS[to]) - Vector.one(ring, POINTS[of])
        )

    return form


QUANTITIES: Mapping[str, Made] = {
    DISTANCE: _squared(START_POINT, OPTIMUM), GRADIENT: lambda ring: square(_gradient(ring)),
    DECREASE: lambda ring: -_increase(ring),
    **{name: _summed("M" if name == "full_pseudogradient" else "S") for names in SUMS.values() for name in names},
}  # fmt: skip
"""Form of each quantity of a round: its square, but for the decrease and the squared sums."""

FUNCTIONALS: Mapping[str, tuple[Made, tuple[str, ...]]] = {
    FINAL_DISTANCE: (_squared(NEXT, OPTIMUM), (DISTANCE, GRADIENT)),
    "squared_gradient": (lambda ring: square(_gradient(ring)), (DECREASE, GRADIENT)),
    "local_gradient_error": (_apart(ITERATE), (GRADIENT,)),
    "negated_full_progress": (_progress("M"), (DISTANCE,)),
    PROGRESS: (_progress("S"), (DISTANCE,)),
    "weighted_divergence": (_apart(START_POINT), (GRADIENT,)),
    "weighted_increase": (_increase, (GRADIENT,)),
    "local_drift": (_squared(ITERATE, START_POINT), (GRADIENT,)),
}
"""Functionals of one round as forms, of any client and step, and the quantities that a bound on each may have."""

AS_THEY_ARE = (DECREASE, *SUMS[ARBITRARY], *SUMS[UNIFORM])

OF_POINTS: Mapping[str, tuple[Made, Mapping[str, Made]]] = {
    "linearization_error": (_linearized(1, 0), {DISPLACEMENT: _squared(POINTS[1], POINTS[0])}),
    "perturbed_linearization_error": (
        _linearized(2, 1),
        {DISPLACEMENT: _squared(POINTS[2], POINTS[1]), PERTURBATION: _squared(POINTS[2], POINTS[0])},
    ),
}
"""Functionals of a function at points, and the distances that a bound on each may have."""

AFTER_THE_LAST = frozenset({"local_drift"})
"""Functionals of a path that count its end, after the last step, too."""


def bound_at_points(theorem: Theorem, ring: Ring, functional: str, letters: tuple[str, ...]) -> RunBound:
    """Conclude functional <= sum of c |p - q|^2, for any function that meets the assumptions, from form >= 0 about any
    points, as it is about every F_i. The letters are those of the distances."""
    if functional not in OF_POINTS or intact(theorem).context != "start" or theorem.parameters:
        raise Refused(f"{functional}: allowed are {', '.join(OF_POINTS)}, of a theorem on points, of no algorithm")
    form, distances = OF_POINTS[functional]
    own = theorem.where.ring
    factors = split(theorem.form + form(own), {name: made(own) for name, made in distances.items()})
    named = dict(zip(distances, letters, strict=True))
    right = sum((factors[name].within(ring) * ring[n] ** 2 for name, n in named.items()), factors[""].within(ring))
    return _of_rounds("bound at points", theorem, ring, functional, named, right, kind="")


def bound_round(
    theorem: Theorem,
    ring: Ring,
    functional: str,
    letters: tuple[str, ...],
    plain: bool = False,
    last: Theorem | None = None,
) -> RunBound:
    """Conclude functional <= C + sum of factors times quantities of a round's start x from form >= 0 given it, or given
    its kind too, where functional + form is that sum, the same for all clients and steps. ``last`` says the same after
    the last step, where that counts. What is given is that there is one round.

    F is the plain mean, or any: then nothing is assumed that is known of the plain mean only, and of weighted updates E
    is n times the objective's error. The letters are those of the quantities, and of the rounds.
    """
    of_kind = theorem.context == "kind"
    if functional not in FUNCTIONALS or not (of_kind or (theorem.context == "start" and not theorem.kind)):
        raise Refused(f"{functional}: allowed are {', '.join(FUNCTIONALS)}, of a theorem given a round's start")
    made, names = FUNCTIONALS[functional]
    own = theorem.where.ring
    names += SUMS.get(theorem.kind, SUMS[ARBITRARY]) if functional == "squared_gradient" else ()
    form, parts = made(own), {name: QUANTITIES[name](own) for name in names}
    if functional == PROGRESS:
        step = dict(theorem.parameters).get("local_lr")
        if theorem.kind != ARBITRARY or step is None:
            raise Refused(f"{theorem}: allowed is a theorem on local steps, given that the cohort is arbitrary")
        form = form * (step * 2)
    factors = split(intact(theorem).form + form, parts)
    if any(STEP in factor.names for factor in factors.values()):
        raise Refused(f"{theorem}: allowed is a bound that is free of the step")
    if (functional in AFTER_THE_LAST) != (last is not None):
        raise Refused(f"{functional}: allowed is a theorem on the last step where it counts that, and nowhere else")
    if last is not None:
        same = intact(last).where == theorem.where and last.parameters == theorem.parameters
        at_the_end = same and last.context == "start" and last.form + at_step(form, 0, 1, 0)
        if not at_the_end or split(at_the_end, parts) != factors:
            raise Refused(f"{functional}: another bound on the last step")
    said = [*theorem.assumptions, *(last.assumptions if last is not None else ())]
    if not plain and (known := OF_PLAIN_MEAN & {name for name, _ in said}):
        raise Refused(f"{', '.join(sorted(known))}: known of the plain mean, not of any mean")
    named = dict(zip((*names, ROUNDS), letters, strict=True))
    right = factors[""].within(ring)
    for name in names:
        right = right + factors[name].within(ring) * ring[named[name]] ** (1 if name in AS_THEY_ARE else 2)
    weights = _of_weights(theorem, ring, plain)
    assumed = [PLAIN_MEAN] * plain + [OF_THE_ROUND] * bool({"error", "scale"} & dict(theorem.parameters).keys())
    return _of_rounds(
        "bound round",
        theorem,
        ring,
        functional,
        named,
        right,
        parameters=weights,
        assumptions=[*said, *assumed],
        given=[1 - ring[named[ROUNDS]]],
        plain=plain,
        others=() if last is None else (last,),
    )


def _of_weights(theorem: Theorem, ring: Ring, plain: bool) -> dict[str, Scalar]:
    """Return the parameters of a round, those of its weights by their names in claims: letters, or 0."""
    check_weighted(theorem)
    own_letters(theorem)
    given = dict(theorem.parameters)
    if "error" in given and not plain:
        given["error"] = given["error"] / given["clients"]
    names = {"error": WEIGHT_ERROR if plain else OBJECTIVE_ERROR, "scale": LARGEST_SCALE, "least_weight": LEAST_WEIGHT}
    return {names.get(name, name): value.within(ring) for name, value in given.items()}
