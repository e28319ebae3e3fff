"""The kernel's axioms on rounds are what the traces of algorithms say."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fedtheory import algorithms
from fedtheory.algorithms import Own, own
from fedtheory.algorithms.built_in_steps import as_step
from fedtheory.moments.step_trace import Trace, traces
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, OPTIMUM, START_POINT, Axioms
from fedtheory.proof.kernel.forms import Term, Vector, dot
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.server_rounds import ServerAxioms
from tests.proof.kernel.traced_rounds import local_step_equation, round_equation

RING = Ring("L")
WHERE = Where(RING, (Condition("L", "positive"),))


def vector(atom) -> Vector:  # type: ignore[no-untyped-def]
    return Vector(RING, {Term("", atom): RING.number(1)})


OTHERS = [vector(OPTIMUM), vector(START_POINT) - vector(OPTIMUM), vector(NEXT)]


def trace_of(algorithm: Own, counts: tuple[int, ...]) -> Trace:
    (found,) = traces(algorithm.round, counts, 2)
    return found


def by_gradients(x, memory, round, *, local_lr, local_steps):  # type: ignore[no-untyped-def]
    y = x[:, None] + 0 * round.count
    for _ in range(local_steps):
        y = y - local_lr * round.gradient(y)
    return x + (round.share * (y - x[:, None])).sum(1), {}


@pytest.mark.parametrize("counts", [(1, 1, 1), (1, 0, 1), (0, 1, 0)], ids=str)
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("lr", ["1/10", "3/7"])
def test_the_axioms_on_rounds_of_local_sgd_are_computed_from_the_trace(lr: str, steps: int, counts: tuple) -> None:
    axioms = Axioms(WHERE, RING.number(Fraction(lr)), RING.number(sum(counts)))
    built_in = as_step(algorithms.fedavg(local_lr=lr, local_steps=steps), 3)
    for algorithm in (built_in, own(by_gradients, local_lr=lr, local_steps=steps)):
        trace = trace_of(algorithm, counts)
        for other in OTHERS:
            assert dot(round_equation(trace, RING), other) == axioms.round(other).form
        if steps > 1 or algorithm is built_in:
            for other in (*OTHERS, vector(ITERATE)):
                assert dot(local_step_equation(trace, RING), other) == axioms.local_step(other).form


def test_the_axiom_on_a_servers_round_is_computed_from_the_trace() -> None:
    safari = as_step(algorithms.safari(client_round_probability="1/4", local_lr="1/10", server_lr="1/7"), 2)
    server, clients = traces(safari.round, (1, 1), 2)
    assert (server.probability, clients.probability) == (Fraction(3, 4), Fraction(1, 4))

    def alone(x, memory, round, *, server_lr):  # type: ignore[no-untyped-def]
        return x - server_lr * round.server_gradient(x), {}

    axioms = ServerAxioms(WHERE, RING.number(Fraction(1, 7)))
    trace = trace_of(own(alone, server_lr="1/7"), (1, 1))
    for other in OTHERS:
        assert dot(round_equation(trace, RING), other) == axioms.round(other).form
    assert server.factors("x")[-1] == trace.factors("x")[-1] == -Fraction(1, 7)


def test_the_axioms_on_both_kinds_of_fasts_rounds_are_computed_from_its_traces() -> None:
    """Who was there, of two of three, and each cohort of one that a snapshot may have."""
    fast = as_step(algorithms.fast(local_lr="1/10", local_steps=3, cohort=1, snapshot_probability="1/4"), 3)
    found = traces(fast.round, (1, 0, 1), 2)
    assert [each.probability for each in found] == [Fraction(3, 4)] + [Fraction(1, 12)] * 3
    assert [each.questions[0].asked for each in found] == [(0, 2), (0,), (1,), (2,)]
    for trace in found:
        axioms = Axioms(WHERE, RING.number(Fraction(1, 10)), RING.number(len(trace.questions[0].asked)))
        for other in OTHERS:
            assert dot(round_equation(trace, RING), other) == axioms.round(other).form
        for other in (*OTHERS, vector(ITERATE)):
            assert dot(local_step_equation(trace, RING), other) == axioms.local_step(other).form


def summed(x, memory, round, *, local_lr, local_steps):  # type: ignore[no-untyped-def]
    return x + (round.present * round.train(x, local_lr, local_steps)).sum(1), {}


def stretched(x, memory, round, *, local_lr, local_steps):  # type: ignore[no-untyped-def]
    y = x[:, None] - local_lr * round.gradient(x)
    return x + (round.share * (y - 2 * local_lr * round.gradient(y) - x[:, None])).sum(1), {}


@pytest.mark.parametrize("step", [summed, stretched])
def test_a_round_that_is_another_one_has_another_equation_or_none(step) -> None:  # type: ignore[no-untyped-def]
    """The relapse: a sum in the place of a mean, a step of another size."""
    axioms = Axioms(WHERE, RING.number(Fraction(1, 10)), RING.number(2))
    trace = trace_of(own(step, local_lr="1/10", local_steps=2), (1, 0, 1))
    try:
        found = dot(round_equation(trace, RING), OTHERS[1])
    except ValueError:
        return
    assert found != axioms.round(OTHERS[1]).form


def test_rounds_of_which_the_kernel_does_not_speak_are_refused() -> None:
    for algorithm, why in (
        (algorithms.fedlin(local_lr="1/10", local_steps=2), "elsewhere than on its own path"),
        (algorithms.sag(local_lr="1/10"), "it remembers something"),
        (as_step(algorithms.fedprox(local_lr="1/10", proximal=1), 2), "or pulled"),
    ):
        with pytest.raises(ValueError, match=why):
            round_equation(trace_of(algorithm, (1, 1)), RING)
