"""Step sizes that a claim links, given and asked for either way."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from fedtheory.claims.schedules import link_of, linked_from
from fedtheory.papers import claim
from fedtheory.quantities import symbol

F = Fraction
THM4, THM5 = claim("safari.thm4"), claim("safari.thm5")
AT = {
    "smoothness": 2.0, "strong_convexity": 0.5, "gradient_noise": 0.25, "dissimilarity": 0.5, "initial_distance": 3.0,
    "initial_gap": 2.0, "arbitrary_cohort": 4, "local_steps": 3, "server_noise": 0.125,
    "client_round_probability": 0.25, "rounds": 1000,
}  # fmt: skip


LINKS = [(THM4, "local_lr", "server_lr"), (THM5, "server_lr", "local_lr")]


def values(each, **more):
    return {name: value for name, value in AT.items() if name in each.quantities} | more


@pytest.mark.parametrize(
    ("each", "chosen", "other"), [(THM4, "local_lr", "server_lr"), (THM5, "server_lr", "local_lr")]
)
def test_the_inverse_of_a_link_inverts_it(each, chosen, other):
    name, inverse = link_of(each, chosen)
    assert name == other
    back = each.choices[chosen].xreplace({symbol(other): inverse})
    assert sympy.simplify(back - symbol(chosen)) == 0
    turned = linked_from(each, [chosen])
    assert list(turned.choices) == [other] and turned.terms == each.terms
    assert linked_from(each, [other]) is each


@pytest.mark.parametrize(
    ("each", "chosen", "other"), [(THM4, "local_lr", "server_lr"), (THM5, "server_lr", "local_lr")]
)
def test_a_bound_may_be_given_either_step(each, chosen, other):
    one = each.evaluate(**values(each), **{other: 2.0**-7})
    step = float(one.quantities[chosen])
    two = each.evaluate(**values(each), **{chosen: step})
    assert float(two.value) == pytest.approx(float(one.value), rel=1e-14)
    assert float(two.quantities[other]) == pytest.approx(2.0**-7, rel=1e-14)
    with pytest.raises(ValueError, match=f"_lr = .*: {each.ref} chooses it, leave it out"):
        each.evaluate(**values(each), local_lr=0.01, server_lr=0.01)


def test_the_largest_step_of_a_linked_one():
    """Theorem 5: server_lr = K eta_c (L + mu)/(4 L) <= 2/(L + mu), so eta_c <= 8 L/(K (L + mu)^2)."""
    given = {"smoothness": 2, "strong_convexity": 0.5, "local_steps": 3}
    cap = F(8 * 2) / (3 * F(5, 2) ** 2)
    clients = THM5.required("server_cap", "local_lr", **given)
    servers = THM5.required("server_cap", "server_lr", **given)
    assert clients.intervals[-1][1] == cap and servers.intervals[-1][1] == F(4, 5)
    assert float(THM5.choices["server_lr"].subs({symbol(n): v for n, v in given.items()}).subs(symbol("local_lr"), cap)
                 ) == pytest.approx(0.8)  # fmt: skip
    assert THM5.largest_step(**given) == pytest.approx(float(cap), rel=1e-14)


def test_theorem_4_is_asked_for_the_step_that_it_chooses():
    given = values(THM4)
    given.pop("rounds")
    step = THM4.largest_step(**given)
    at = THM4.evaluate(**values(THM4), local_lr=step)
    assert all(slack is None or slack >= 0 for slack in at.slack.values())
    above = THM4.evaluate(**values(THM4), local_lr=step * (1 + 1e-12))
    assert any(slack is not None and slack < 0 for slack in above.slack.values())
    # The same end, asked of the server's step and taken through the printed choice.
    names = {*given, *THM4.choices, "server_lr"}
    caps = [h for h in THM4.hypotheses if {s.name for s in h.slack.free_symbols} <= names]
    end = min(THM4.required(h, "server_lr", **given).largest for h in caps)
    chosen = THM4.choices["local_lr"].subs({symbol(n): v for n, v in given.items()}).subs(symbol("server_lr"), end)
    assert step == pytest.approx(float(chosen), rel=1e-12)


def test_what_is_no_link_is_left():
    assert link_of(claim("fast.cor1"), "local_lr") is None  # chosen from constants alone
    assert link_of(claim("li2020.thm1"), "local_lr") is None  # a rule
    both = replace(THM5, choices={**THM5.choices, "local_lr": 1 / symbol("smoothness")})
    assert link_of(both, "server_lr") is None
    square = replace(THM5, choices={"server_lr": symbol("local_lr") ** 2 * symbol("smoothness")})
    assert link_of(square, "server_lr") is None
