"""A round's equations in the kernel's language, computed from the trace of a step.

The kernel writes its axioms on rounds of local SGD and of the server by hand (``kernel.axioms`` and ``server_rounds``).
What an algorithm does is read here off its trace: each output is a known combination of known vectors. The two have to
be the same for the algorithm to be one of which the kernel speaks.
"""

from __future__ import annotations

from fractions import Fraction

from fedtheory.moments.step_trace import GRADIENT, SERVER, TRAINING, Question, Trace
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, NOISE, START_POINT, at, gradient_at
from fedtheory.proof.kernel.forms import Atom, Term, Vector
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.server_rounds import SERVER_NOISE


def round_equation(trace: Trace, ring: Ring) -> Vector:
    """Return the vector that is 0 by what the round does, such as x+ - x + eta sum_k mean_S (grad F_i(x_{i,k}) + N).

    Raises:
        ValueError: the round is not one of local SGD from the model, with steps of one size, whose participants' ways
            the server averages, or a single step of the server.

    >>> from fractions import Fraction
    >>> from fedtheory.algorithms import fedavg
    >>> from fedtheory.algorithms.built_in_steps import as_step
    >>> from fedtheory.moments.step_trace import traces
    >>> (trace,) = traces(as_step(fedavg(local_lr="1/10", local_steps=3), 3).round, (1, 0, 1), 1)
    >>> sorted(str(c) for c in round_equation(trace, Ring("L")).terms.values())
    ['-1', '1', '1/10', '1/10']
    """
    one, (of_x, constant, *factors) = _plain(trace), trace.factors("x")
    if of_x != 1 or constant:
        raise _refused(f"x+ has {of_x} x")
    moved = _vector(ring, NEXT) - _vector(ring, START_POINT)
    if one == SERVER:
        gradient = _vector(ring, gradient_at(START_POINT)).under("M") + _vector(ring, SERVER_NOISE)
        return moved - gradient * factors[0]
    asked, sizes = _local_steps(trace)
    shares = [factor * -size for factor, size in zip(factors, sizes, strict=True)] if one == TRAINING else factors
    if len(set(shares)) != 1:
        raise _refused("participants or steps count differently")
    return moved - _stochastic_gradient(ring).under("S").under("K") * (shares[0] * len(asked))


def local_step_equation(trace: Trace, ring: Ring) -> Vector:
    """Return the vector that is 0 by what a participant's local step does: x_{i,k+1} - x_{i,k} + eta (g + N).

    Raises:
        ValueError: as ``round_equation``, or there is one step only and so none that leads to another point.
    """
    if _plain(trace) == SERVER:
        raise _refused("the server alone steps")
    _, sizes = _local_steps(trace)
    if len(set(sizes)) != 1:
        raise _refused("steps are of different sizes, or there is only one")
    return _vector(ring, at(ITERATE, 1)) - _vector(ring, ITERATE) + _stochastic_gradient(ring) * sizes[0]


def _plain(trace: Trace) -> str:
    """What the step asks for, if that is one of the kinds of round that are known."""
    kinds = {question.of for question in trace.questions}
    if len(trace.known) > 1:
        raise _refused("it remembers something")
    for kind in (SERVER, TRAINING):
        if kinds == {kind} and len(trace.questions) == 1:
            return kind
    if kinds == {GRADIENT}:
        return GRADIENT
    raise _refused(f"it asks for {', '.join(sorted(kinds)) or 'nothing'}")


def _local_steps(trace: Trace) -> tuple[tuple[int, ...], list[Fraction]]:
    """The participants, and for each answer the size of the step that it makes; of the last gradients that is unknown
    and left out."""
    first = trace.questions[0]
    if first.of == TRAINING:
        lr, _, proximal = first.numbers
        if isinstance(lr, tuple) or proximal:
            raise _refused("steps are of different sizes, or pulled")
        _points(trace, first, [])
        return first.asked, [lr] * len(first.asked)
    sizes: list[Fraction] = []
    for k, question in enumerate(trace.questions):
        found = _points(trace, question, sizes)
        if k:
            sizes += found
    return first.asked, sizes


def _points(trace: Trace, question: Question, before: list[Fraction]) -> list[Fraction]:
    """The sizes of the steps that lead to where a question asks, from where the one before did; the point is x less the
    participant's own gradients so far, times these sizes."""
    assert question.points is not None
    number, found = len(question.asked), []
    for place, i in enumerate(question.asked):
        of_x, constant, *factors = question.points.factors[i][0]
        own = factors[place::number]
        if of_x != 1 or constant or sum(map(bool, factors)) != sum(map(bool, own)):
            raise _refused("a participant is asked elsewhere than on its own path from x")
        if own[:-1] != [-size for size in before[place::number]]:
            raise _refused("a local step does not go on from the one before")
        found += [-factor for factor in own[-1:]]
    return found


def _vector(ring: Ring, atom: Atom) -> Vector:
    return Vector(ring, {Term("", atom): ring.number(1)})


def _stochastic_gradient(ring: Ring) -> Vector:
    return _vector(ring, gradient_at(ITERATE)) + _vector(ring, NOISE)


def _refused(why: str) -> ValueError:
    return ValueError(
        f"{why}: allowed is a round of local SGD from x with the mean over its participants, or of the server"
    )
