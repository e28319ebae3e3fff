"""Theorems 4 and 5 of SAFARI, composed by the kernel: every theorem on the way is evaluated exactly on small models; on
a model that violates one assumption only theorems that name it may fail, and one does."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction as F
from functools import cache

import pytest

from fedtheory.papers import claim
from fedtheory.papers.safari.proofs import repaired_editions as repaired
from fedtheory.papers.safari.proofs import thm4, thm5
from fedtheory.papers.safari.proofs.kinds_of_round import RING, K, Kinds, L, eta_s, m, mu, q, sigma_s, z
from fedtheory.proof import checker
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, OPTIMUM, START_POINT
from fedtheory.proof.kernel.round_rules import project
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.server_rounds import SERVER, mix_server
from fedtheory.proof.kernel.theorems import Theorem, combine, instantiate
from fedtheory.quantities import symbol

from .models import Client
from .server_models import ServerModel

WHERE = Kinds(convex=True).where
COMPOSED = (
    thm5.strongly_convex, thm4.nonconvex_averaged, repaired.contraction_corrected, repaired.clients_descent,
    repaired.server_descent, repaired.server_distance, thm5.of_everyone,
)  # fmt: skip


@cache
def theorems() -> list[Theorem]:
    """What is composed, and all that it is made of, each once."""
    return list({id(t): t for make in COMPOSED for t in ancestry(make())}.values())


QUADRATIC = (Client(F(1), F(1), F(0), F(-1)), Client(F(2), F(2), F(1), F(1)), Client(F(3, 2), F(3, 2), F(0), F(2)))
KINKED = (Client(F(1), F(3), F(0), F(-1)), Client(F(2), F(1), F(1, 2), F(1)), Client(F(3), F(1), F(0), F(1, 2)))
WAVY = (Client(F(-1), F(3), F(0), F(-1)), Client(F(2), F(1), F(1, 2), F(1)), Client(F(3), F(1), F(0), F(1, 2)))
MODEL = ServerModel(QUADRATIC, F(3), F(1, 48), 2, 1, 2, F(1, 3), F(1))
MODELS = {
    "quadratic": MODEL,
    "kinks": replace(MODEL, clients=KINKED, start=F(1, 8), step=F(1, 150), arbitrary_cohort=1),
    "kinks, large steps": replace(MODEL, clients=KINKED, start=F(1, 4), noise=F(20), server_step=F(1, 3)),
    "a kink on the path": replace(MODEL, clients=KINKED, start=F(1, 100), noise=F(3), step=F(1, 50), steps=2),
    "one step, all clients": replace(MODEL, steps=1, step=F(1, 20), probability=F(1), arbitrary_cohort=3),
    "the server alone": replace(MODEL, probability=F(0), server_step=F(1, 2)),
    "a random choice": replace(MODEL, choice="random"),
    "steps tied for Theorem 4": replace(MODEL, clients=KINKED, start=F(1, 8), step=F(1, 150), server_step=F(1, 150)),
    "steps tied for Theorem 5": replace(MODEL, step=F(1, 80), server_step=F(3, 320)),
    "one client": replace(MODEL, clients=QUADRATIC[:1], arbitrary_cohort=1, steps=3),
    "all clients": replace(MODEL, arbitrary_cohort=3, step=F(1, 160), noise=F(3)),
}


def least(of: Iterable[Theorem], model: ServerModel) -> list[tuple[Theorem, F]]:
    """The least slack of each theorem, or minus the largest distance from 0 of an equality."""
    found = []
    for theorem in of:
        slacks = list(model.slacks(theorem, {}))
        if slacks:
            found.append((theorem, min(-abs(s) if theorem.equality else s for s in slacks)))
    return found


@cache
def least_in(name: str) -> list[tuple[Theorem, F]]:
    return least(theorems(), MODELS[name])


def test_every_composed_theorem_is_evaluated() -> None:
    evaluated = {id(t) for name in MODELS for t, _ in least_in(name)}
    assert {id(make()) for make in COMPOSED} <= evaluated


@pytest.mark.parametrize("name", MODELS)
def test_every_theorem_holds(name: str) -> None:
    found = least_in(name)
    assert len(found) > 100
    assert not [(t, s) for t, s in found if s < 0]


def test_some_theorem_is_tight_in_some_model() -> None:
    tight = {id(t) for name in MODELS for t, s in least_in(name) if s == 0 and not t.equality}
    assert len(tight) > 8


class Claiming(ServerModel):
    """A model whose constants are claimed to be others than they are."""

    claimed: dict[str, F]

    def numbers(self, theorem, free):
        return super().numbers(theorem, free) | self.claimed


def claiming(of: ServerModel = MODELS["kinks"], **claimed: F) -> ServerModel:
    model = Claiming(**{f: getattr(of, f) for f in MODEL.__dataclass_fields__})
    object.__setattr__(model, "claimed", claimed)
    return model


class Missing(ServerModel):
    """A model of which it is said that all clients take part."""

    everyone = True


VIOLATIONS = {
    "full_participation": Missing(
        **{
            f: getattr(replace(MODEL, arbitrary_cohort=1, step=F(1, 160), noise=F(0), start=F(-1)), f)
            for f in MODEL.__dataclass_fields__
        }
    ),
    "uncorrelated_noise": replace(MODEL, law="common"),
    "unbiased_noise": replace(MODEL, law="biased"),
    "cohort_before_noise": replace(MODEL, choice="after noise"),
    "bounded_noise": claiming(sigma=F(1, 2)),
    "bounded_dissimilarity": claiming(sigma_G=F(1, 10)),
    "strongly_convex": claiming(mu=F(5, 2)),
    "smooth": claiming(L=F(3, 2)),
    "unbiased_server_noise": replace(MODEL, server_law="biased"),
    "bounded_server_noise": claiming(sigma_s=F(1)),
    "random_client_rounds": replace(MODEL, kinds="after noise", probability=F(1, 10), server_step=F(1, 3)),
}


@pytest.mark.parametrize("assumption", VIOLATIONS)
def test_only_what_names_a_violated_assumption_fails(assumption: str) -> None:
    failed = [t for t, s in least(theorems(), VIOLATIONS[assumption]) if s < 0]
    assert failed
    for theorem in failed:
        names = {name.removesuffix("_at_optimum") for name, _ in theorem.assumptions}
        assert assumption in names


def test_clients_that_are_not_convex_break_only_what_says_convex() -> None:
    wavy = claiming(replace(MODEL, clients=WAVY, start=F(-1, 8), step=F(1, 150)), mu=F(1, 10))
    failed = [t for t, s in least(theorems(), wavy) if s < 0]
    assert failed and all("strongly_convex" in {n for n, _ in t.assumptions} for t in failed)


# what is composed


def test_its_assumptions_are_computed() -> None:
    names = {name for name, _ in thm5.strongly_convex().assumptions}
    assert names == {
        "smooth", "strongly_convex", "bounded_dissimilarity_at_optimum", "bounded_noise", "unbiased_noise",
        "uncorrelated_noise", "cohort_before_noise", "cohort_is_a_set", "random_client_rounds", "bounded_server_noise",
        "unbiased_server_noise",
    }  # fmt: skip


def test_a_server_round_contracts_by_1_minus_mu_eta_s() -> None:
    form = thm5.server_round().form
    start = Kinds(convex=True).sgd.start
    (entry,) = (e for e in form.entries if not isinstance(e, str) and e.left == e.right and e.left in start.terms)
    assert form.entries[entry] == (1 - mu * eta_s) ** 2 and form.entries["1"] == eta_s**2 * sigma_s**2


@pytest.mark.parametrize("edition", ["sharper", "averaged"])
def test_the_servers_noise_is_in_its_own_rounds_alone(edition: str) -> None:
    """It counts 1 - q times: not at all where all rounds are the clients'."""
    term = claim(f"safari.thm4@{edition}").term("server_noise").expression
    assert term.subs(symbol("client_round_probability"), 1) == 0 != term


@pytest.mark.parametrize("ref", ["thm4@sharper", "thm4@averaged", "thm5@sharper"])
def test_noise_falls_with_the_cohort(ref: str) -> None:
    """At m = 100, K = L = q = sigma = 1 and a step of 1/420 the noise is a hundredth of the sharp edition's."""
    at = dict(smoothness=1, strong_convexity=1, local_steps=1, local_lr=1 / 420, server_lr=1 / 420, gradient_noise=1,
              server_noise=1, client_round_probability=1, arbitrary_cohort=100, dissimilarity=0, initial_gap=0,
              initial_distance=0, rounds=1)  # fmt: skip

    def noise(edition: str) -> float:
        each = claim(f"safari.{edition}")
        return each.evaluate(**{n: v for n, v in at.items() if n in each.quantities}).terms["noise"]

    assert noise(ref) < 1.2 * noise(f"{ref[:4]}@sharp") / 100


def test_refusals() -> None:
    convex, nonconvex = Kinds(convex=True), Kinds(convex=False)
    server, sgd = convex.server, convex.sgd
    for attempt in ATTEMPTS.values():
        with pytest.raises(ValueError, match=r"."):
            attempt(server, sgd, nonconvex)


ATTEMPTS: dict[str, Callable] = {
    "the server's noise against the round's end": lambda s, sgd, _: s.unbiased(sgd.axioms.vector(NEXT)),
    "the server's noise against itself": lambda s, sgd, _: s.unbiased(s.noise),
    "the server's noise against a cohort": lambda s, sgd, _: s.unbiased(sgd.cohort_gradient),
    "the server's noise for every client": lambda s, sgd, _: s.unbiased(sgd.gradient_at_start),
    "clients' noise against the server's": lambda s, sgd, _: sgd.axioms.unbiased(s.noise),
    "a server's round given the clients' kind": lambda s, sgd, _: combine(
        [(s.variance(sigma_s**2), 1)], where=s.where, context="kind", kind="arbitrary"
    ),
    "the cohort of a server's round": lambda s, sgd, _: project(ITERATE._replace(step=(), name="g_start"), sgd.start,
                                                                SERVER, s.where),
    "clients' rounds for the server's": lambda s, sgd, _: mix_server(
        thm5.client_round(), thm5.client_round(), q, s.where
    ),
    "another right side in the two kinds": lambda s, sgd, _: mix_server(
        combine([(thm5.server_round(), 2)], where=s.where, context="kind", kind=SERVER), thm5.client_round(),
        q, s.where
    ),
    "no probability": lambda s, sgd, _: mix_server(thm5.server_round(), thm5.client_round(), 2 * q, s.where),
    "a step beyond the region": lambda s, sgd, _: instantiate(thm5.server_round(), {"eta_s": 2 * eta_s}, s.where),
    "a theorem of other steps": lambda s, sgd, other: mix_server(
        thm5.server_round(), thm5.client_round(), q, other.where
    ),
    "a progress that loses nothing": lambda s, sgd, _: combine(
        [(thm5.strongly_convex(), 1)], where=s.where, context="start", squares=[(sgd.distance, "", -mu * eta_s)]
    ),
    "interpolation against another iterate": lambda s, sgd, _: sgd.axioms.interpolated(NEXT, START_POINT, mu, L),
}  # fmt: skip


def test_interpolation_is_tight_for_quadratics_and_needs_both_constants() -> None:
    made = Kinds(convex=True).sgd.axioms.interpolated(START_POINT, OPTIMUM, mu, L)
    same = replace(MODEL, clients=(Client(F(2), F(2), F(1), F(1)),), arbitrary_cohort=1)
    assert set(same.slacks(made, {})) == {0}
    assert {name for name, _ in made.assumptions} == {"smooth", "strongly_convex"}


# the checker

MADE = {
    "thm4": thm4.nonconvex, "thm4.averaged": thm4.nonconvex_averaged, "thm5": thm5.strongly_convex,
    "thm4.corrected": repaired.clients_descent, "thm5.corrected": repaired.contraction_corrected,
    "eq28": repaired.server_fall, "eq58": repaired.server_distance,
}  # fmt: skip


@cache
def data_of(name: str) -> dict:
    return json.loads(json.dumps(saved(MADE[name]())))


@pytest.mark.parametrize("name", MADE)
def test_the_checker_accepts(name: str) -> None:
    assert checker.check(copy.deepcopy(data_of(name))) == len(data_of(name)["theorems"]) > 3


def _line(data: dict, rule: str) -> dict:
    return next(line for line in data["theorems"] if line["rule"] == rule)


def _without(data: dict, rule: str, assumption: str) -> None:
    line = _line(data, rule)
    line["assumptions"] = [a for a in line["assumptions"] if a[0] != assumption]


def one() -> dict:
    return _line(data_of("thm5"), "server unbiased")["arguments"]["other"][0][1]


CHANGES: dict[str, Callable[[dict], object]] = {
    "noise without its mean": lambda d: _without(d, "server unbiased", "unbiased_server_noise"),
    "noise without its variance": lambda d: _without(d, "server variance", "bounded_server_noise"),
    "kinds without their law": lambda d: _without(d, "mix server", "random_client_rounds"),
    "interpolation without convexity": lambda d: _without(d, "interpolated", "strongly_convex"),
    "noise against itself": lambda d: _line(d, "server unbiased")["arguments"].update(
        other=[[["", ["N_server", False, []]], one()]]
    ),
    "noise against every client": lambda d: _line(d, "server unbiased")["arguments"].update(
        other=[[["", ["g_start", True, []]], one()]]
    ),
    "a server's round as the clients'": lambda d: _line(d, "server round").update(kind="arbitrary"),
    "a mix of one kind": lambda d: _line(d, "mix server").update(premises=_line(d, "mix server")["premises"][1:] * 2),
    "the other order": lambda d: _line(d, "mix server")["premises"].reverse(),
    "the other probability": lambda d: _line(d, "mix server")["arguments"].update(probability=one()),
    "another step of the server": lambda d: _line(d, "server round")["parameters"].update(server_lr=one()),
    "smoothness for convexity": lambda d: _line(d, "interpolated")["arguments"].update(
        mu=_line(d, "interpolated")["arguments"]["L"]
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_checker_rejects(name: str) -> None:
    data = copy.deepcopy(data_of("thm5"))
    CHANGES[name](data)
    with pytest.raises(checker.Wrong):
        checker.check(data)


@pytest.mark.parametrize(("share", "holds"), [(F(8, 3), True), (F(9, 4), False)])
def test_a_constant_that_is_too_small_is_not_certified(share: F, holds: bool) -> None:
    """The noise of the clients' round takes (1 + z)/m + 8/3 (1 - 1/K) z."""
    whole = instantiate(thm5._CURVED.one_round, {"size": m}, WHERE)
    most = ((1 + z) / m + (1 - 1 / K) * z * share) * K * RING["eta"] ** 2
    assert WHERE.certifies(most - whole.form.entries["1"].coefficients("sigma")[2]) is holds
