"""Tiny settings, of which all that can happen in the round from x_0 is enumerated, exactly: the kernel's models of
rounds, with the constants and the laws of weights that evaluators compute for the settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedtheory import Setting, algorithms
from fedtheory.claims.balls import working_precision
from fedtheory.federations import Quadratic
from fedtheory.moments.evaluators import BALL, EXACT, Question, Unserved, quantity
from fedtheory.papers.fedau.exact.weighted_update_rounds import aggregation_of, given_rows
from fedtheory.papers.flics.exact.selected import client_round, groups_of, read, selection_of, states_of
from fedtheory.papers.flics.exact.selected_runs import Followed
from fedtheory.papers.flics.examples.selection_settings import SelectionRound
from fedtheory.papers.li2020.decaying_run_points import above
from fedtheory.participation import Bernoulli, Fixed, Multinomial, Participation, Uniform
from fedtheory.proof.answer_goals import PAST, PLANNED, RECEIVED
from fedtheory.proof.kernel.forms import Value
from fedtheory.proof.kernel.theorems import Theorem, about_start
from fedtheory.selection.rational import var_rates
from tests.proof.kernel.answer_models import AnswerModel, State
from tests.proof.kernel.mean_models import MeanModel
from tests.proof.kernel.models import Client, Exact, Model, exact, valued
from tests.proof.kernel.server_models import ServerModel
from tests.proof.kernel.test_intervals import Comings
from tests.proof.kernel.weighted_models import WeightedModel

Constants = Mapping[str, Exact]


def constants(setting: Setting, names: tuple[str, ...], rounds: int = 1, **stated: Any) -> dict[str, Exact]:
    """What the evaluators say of the setting's first round, or rounds; of irrational numbers the upper end of an
    enclosure. What a setting does not have, or is infinite, is left out."""
    found = {}
    for name in names:
        try:
            value = quantity(name, Question(setting, rounds, {}, EXACT, stated)).value
        except Unserved as reason:
            if "irrational" not in str(reason):
                continue
            with working_precision():
                value = quantity(name, Question(setting, rounds, {}, BALL, stated)).value
        if value != math.inf:
            found[name] = exact(Fraction(value) if isinstance(value, int | Fraction) else above(value))
    return found


FEDERATION = ("smoothness", "strong_convexity", "gradient_noise", "server_noise", "dissimilarity", "weighted_noise",
              "heterogeneity_gap", "gradient_bound")  # fmt: skip


@dataclass(frozen=True)
class Enumerated:
    """A setting's first round, its model, and the scalars of axioms there; and the assumptions, and vectors, of axioms
    that are about other rounds or objectives than this one's."""

    setting: Setting | None
    model: Model | MeanModel | Comings
    at: Constants
    others: frozenset[str] = frozenset()

    def slacks(self, theorem: Theorem) -> Iterator[Exact]:
        """The form's value, for every client and step, given each thing that may be given; what is to be 0 from below.
        Nothing where the theorem is about other rounds, or the setting lacks a constant of it."""
        letters = {name for c in theorem.form.entries.values() for name in c.names} - {"k"}
        if not letters | {name for name, _ in theorem.parameters} <= self.at.keys() or not self._is_about(theorem):
            return
        if self._is_inside(theorem):
            for value in self._values(theorem, self.at):
                yield -abs(value) if theorem.equality else value

    def _is_inside(self, theorem: Theorem) -> bool:
        """Whether what the theorem's region asks of the scalars that the setting has is so."""
        own = [c for c in theorem.where.conditions if c.name in self.at]
        parts = [part for c in own if c.bound is None or c.bound.names <= self.at.keys()
                 for part in c.polynomials(theorem.where.ring)]  # fmt: skip
        return all(valued(x, self.at) > 0 if strict else valued(x, self.at) >= 0 for x, strict in parts)

    def _is_about(self, theorem: Theorem) -> bool:
        points = {entry.point.name for entry in theorem.form.entries if isinstance(entry, Value)}
        atoms = {term.atom.name for term in theorem.form.terms} | points
        if self.others & ({name for name, _ in theorem.assumptions} | atoms):
            return False
        if isinstance(self.model, Comings):
            return "cutoff" in dict(theorem.parameters)
        if not isinstance(self.model, Model):
            return theorem.context in ("start", "run")
        served = isinstance(self.model, ServerModel)
        if theorem.context == "run" or theorem.kind not in ("server" if served else "uniform", ""):
            return False
        if served and theorem.context == "start" and not about_start(theorem.form):
            return False  # in a server's round there are no paths
        return atoms.isdisjoint({"x_mean", "g_mean"})

    def _values(self, theorem: Theorem, at: Constants) -> Iterator[Exact]:
        model = self.model
        if isinstance(model, Comings):
            yield sum((valued(c, at) * model.mean(entry) for entry, c in theorem.form.entries.items()), exact(0))
            return
        if isinstance(model, Model):
            yield from model._values(theorem, at, model.given(theorem.context, theorem.kind, int(at["size"])))
            return
        free, last = theorem.form.open, model.steps + (1 if theorem.path_to_the_end else 0)
        for k in range(last) if "k" in free else [0]:
            for i in range(len(model.clients)) if "i" in free else [0]:
                yield model._value(theorem.form, {**at, "k": exact(k)}, i, k)


def _clients(curvatures: tuple, centres: tuple) -> tuple[Client, ...]:
    return tuple(Client(exact(h), exact(h), exact(c), exact(0)) for h, c in zip(curvatures, centres, strict=True))


@dataclass(frozen=True)
class Tiny:
    """Clients h (x - c)^2/2 on the line, and their local training."""

    curvatures: tuple[Fraction | int, ...] = (1, 1)
    centres: tuple[Fraction | int, ...] = (0, 2)
    weights: tuple[Fraction, ...] | None = None
    noise: Fraction | int = 1
    server_noise: Fraction | int = 0
    steps: int = 2
    local_lr: Fraction = Fraction(1, 8)
    start: Fraction | int = 3

    @property
    def federation(self) -> Quadratic:
        return Quadratic([[h] for h in self.curvatures], [[c] for c in self.centres], self.noise,
                         server_noise=self.server_noise, objective_weight=self.weights)  # fmt: skip

    @property
    def local(self) -> dict[str, Any]:
        return {"local_lr": self.local_lr, "local_steps": self.steps}

    @property
    def shares(self) -> tuple[Exact, ...]:
        number = len(self.centres)
        return tuple(map(exact, self.weights or (Fraction(1, number),) * number))

    @property
    def clients(self) -> tuple[Client, ...]:
        return _clients(self.curvatures, self.centres)

    def setting(self, algorithm: Any, who: Participation) -> Setting:
        return Setting(self.federation, algorithm, who, start=[self.start])

    def numbers(self, setting: Setting, **more: Any) -> dict[str, Exact]:
        own = {"local_lr": exact(self.local_lr), "K": exact(self.steps), "clients": exact(len(self.centres))}
        return {**own, **constants(setting, FEDERATION), **{name: exact(value) for name, value in more.items()}}


def of_cohorts(tiny: Tiny, cohort: int, arbitrary: int, probability: Fraction | int) -> Enumerated:
    """A round of FAST, in which an arbitrary cohort is the last ``arbitrary`` clients, and others never come."""
    number = len(tiny.centres)
    algorithm = algorithms.fast(**tiny.local, cohort=cohort, snapshot_probability=probability)
    setting = tiny.setting(algorithm, Fixed(list(range(number - arbitrary, number))))
    model = Model(tiny.clients, exact(tiny.start), exact(tiny.local_lr), tiny.steps, cohort, arbitrary,
                  exact(probability), exact(tiny.noise))  # fmt: skip
    second = Uniform(cohort).inclusion(number).second  # E N_i N_j of the cohorts that the algorithm draws
    drawn = model.worlds("uniform")
    for i in range(number):
        for j in range(number):
            assert sum(p for p, w in drawn if {i, j} <= {*w.cohort}) == exact(Fraction(second[i, j]))
    return Enumerated(setting, model, tiny.numbers(setting, size=cohort, share=model.share))


def of_arbitrary_cohorts(tiny: Tiny, arbitrary: int) -> Enumerated:
    """The same where the cohort is any set of clients."""
    found = of_cohorts(tiny, arbitrary, arbitrary, 0)
    return Enumerated(found.setting, found.model, {**found.at, "size": exact(arbitrary)})


def of_servers(tiny: Tiny, probability: Fraction | int) -> Enumerated:
    """A round of SAFARI, whose clients' rounds have the first client alone."""
    algorithm = algorithms.safari(**tiny.local, client_round_probability=probability, server_lr="1/10")
    setting = tiny.setting(algorithm, Fixed([0]))
    model = ServerModel(tiny.clients, exact(tiny.start), exact(tiny.local_lr), tiny.steps, 1, 1, exact(probability),
                        exact(tiny.noise), server_noise=exact(tiny.server_noise))  # fmt: skip
    return Enumerated(setting, model, tiny.numbers(setting, size=1, server_lr=Fraction(1, 10)))


def of_all_clients(tiny: Tiny, draw: str) -> Enumerated:
    """A round of FedAvg: of everyone, of two clients drawn by weight, or of a uniform pair."""
    number, weights = len(tiny.centres), tiny.federation.exact_weight.tolist()
    options = {"average": "weighted"} if draw == "everyone" else {}
    who: dict[str, Callable[[], Participation]] = {
        "everyone": lambda: Fixed(list(range(number))), "by weight": lambda: Multinomial(2, weights),
        "uniformly": lambda: Uniform(2),
    }  # fmt: skip
    algorithm = algorithms.fedavg(**tiny.local, objective_weight=weights, **options)
    setting = tiny.setting(algorithm, who[draw]())
    model = MeanModel(tiny.clients, tiny.shares, (exact(tiny.start),), tiny.steps, exact(tiny.noise),
                      size=exact(tiny.local_lr), draw=draw)  # fmt: skip
    others = {"independent_draws"} if draw == "everyone" else {"full_participation"}
    others |= {"equal_weights"} if len({*weights}) > 1 else set()
    more = {} if draw == "everyone" else {"share": model.share}
    return Enumerated(setting, model, tiny.numbers(setting, **more), frozenset(others))


SOME_OF_THEM = frozenset({"full_participation"})
OF_THE_PLAIN_MEAN = frozenset({
    "bounded_dissimilarity", "bounded_dissimilarity_at_optimum", "bounded_gradient", "bounded_weighted_noise",
    "bounded_heterogeneity_gap", "equal_weights",
})  # fmt: skip


def of_weights(tiny: Tiny, algorithm: Any, chances: tuple, objective: tuple[Fraction, ...] | None = None) -> Enumerated:
    """A round of weighted updates; F is the mean by ``objective``, or the plain one."""
    setting = tiny.setting(algorithm, Bernoulli(list(chances)))
    number, kind = len(tiny.centres), algorithm.round
    shares = tuple(objective or (Fraction(1, number),) * number)
    rows, step = given_rows(aggregation_of(setting)), Fraction(kind.local_lr) * Fraction(kind.server.global_lr)
    model = WeightedModel(tiny.clients, tuple(map(exact, shares)), (exact(tiny.start),), tiny.steps, exact(tiny.noise),
                          size=exact(tiny.local_lr), chances=tuple(map(exact, chances)),
                          omegas=tuple(map(exact, rows[0] if rows else (1,) * number)),
                          weighted_step=exact(step))  # fmt: skip
    told = constants(setting, ("objective_error", "weight_scale", "global_gradient_bound"), objective_weight=shares)
    at = {**tiny.numbers(setting, weighted_lr=step), "scale": told["weight_scale"],
          "error": told["objective_error"] * number}  # fmt: skip
    if "gradient_bound" in at:
        at["local_gradient_bound"] = at["gradient_bound"]
    if "global_gradient_bound" in told:
        at["global_gradient_bound"] = told["global_gradient_bound"]
    return Enumerated(setting, model, at, SOME_OF_THEM | (frozenset() if objective is None else OF_THE_PLAIN_MEAN))


OF_LAW = {
    PLANNED: ("weight_mismatch", "selection_proxy"), RECEIVED: ("answer_mismatch", "answer_proxy"),
    PAST: ("mean_mismatch", "selection_proxy"),
}  # fmt: skip


def of_answers(tiny: Tiny, groups: tuple[int, ...], who: Participation, law: str, **options: Any) -> Enumerated:
    """The first round of FLICS, whose groups have the objectives of ``tiny``; under a law of what the weights count."""
    number = max(groups) + 1
    weight = [Fraction(w) for w in tiny.weights or (Fraction(1, number),) * number]
    phi = [weight[j] / groups.count(j) for j in groups]
    fed = Quadratic([[tiny.curvatures[j]] for j in groups], [[tiny.centres[j]] for j in groups], tiny.noise,
                    objective_weight=phi)  # fmt: skip
    counts = "received" if law == RECEIVED else "planned"
    algorithm = algorithms.flics_avg(**tiny.local, groups=groups, group_weight=weight, counts=counts, **options)
    setting = Setting(fed, algorithm, who, start=[tiny.start])
    policy, found = selection_of(setting), groups_of(Question(setting, 1, {}, EXACT))
    begun, counted = Fraction(policy.start), policy.update == "start_counts"
    states, most = [], tuple(groups.count(j) for j in range(number))
    for chance, there in states_of(setting, 0, exact=True):
        assert all(here in (0, size) for here, size in zip(there, most, strict=True))  # the model has no other states
        rates = [Fraction(r) for r in var_rates((Fraction(0),) * number, there, policy.exact_budget(0), found.weight)]
        asked = tuple(exact(r / a if a else 0) for r, a in zip(rates, there, strict=True))
        planned = [(begun + r) / 2 if counted else r for r in rates]
        known = tuple(map(exact, planned if counts == "planned" else [begun if counted else Fraction(0)] * number))
        states.append(State(exact(Fraction(chance)), asked, known))
    kind = client_round(read(setting, {}))
    step = exact(Fraction(kind.local_lr) * Fraction(kind.server.global_lr))
    model = AnswerModel(
        _clients(tiny.curvatures, tiny.centres), tuple(map(exact, weight)), (exact(tiny.start),), tiny.steps,
        exact(tiny.noise), size=exact(tiny.local_lr), sizes=most, states=tuple(states),
        counted=0 if counts == "planned" else 2 if counted else 1, selected_step=step,
    )  # fmt: skip
    mismatch, proxy = OF_LAW[law]
    told = constants(setting, (mismatch, proxy, "rate_spread", "local_gradient_bound", "smoothness"))
    weights = {"second_moment": told[proxy] + told["rate_spread"]} if law == PAST else {"proxy": told[proxy]}
    at = {"local_lr": exact(tiny.local_lr), "selected_lr": step, "K": exact(tiny.steps), "mismatch": told[mismatch]}
    bounds = {name: told[name] for name in ("local_gradient_bound", "smoothness")}
    return Enumerated(setting, model, {**at, **weights, **bounds}, SOME_OF_THEM)


def of_a_round(point: SelectionRound) -> Enumerated:
    """A round of FLICS whose rates and estimates are free, where a group may weigh nothing."""
    answered = [State(exact(s.probability),
                      tuple(exact(r / a if a else 0) for r, a in zip(s.rates, s.availability, strict=True)),
                      tuple(map(exact, point.estimate))) for s in point.states]  # fmt: skip
    most = tuple(max(1, *(s.availability[j] for s in point.states)) for j in range(len(point.weight)))
    step = exact(point.local_lr)
    model = AnswerModel(
        _clients((point.curvature,) * len(most), point.centres), tuple(map(exact, point.weight)), (exact(point.start),),
        point.local_steps, exact(point.gradient_noise), size=step, sizes=most, states=tuple(answered),
        selected_step=step,
    )  # fmt: skip
    names = ("mean_mismatch", "selection_proxy", "rate_spread", "local_gradient_bound")
    told = {n: exact(Fraction(v)) for n, v in (point.fixed(("smoothness",)) | point.round.values(names, {})).items()}
    at = {"local_lr": step, "selected_lr": step, "K": exact(point.local_steps), "mismatch": told["mean_mismatch"],
          "second_moment": told["selection_proxy"] + told["rate_spread"]}  # fmt: skip
    at |= {"proxy": told["selection_proxy"]} if len(point.states) == 1 else {}
    at |= {name: told[name] for name in ("smoothness", "local_gradient_bound")}
    no_optimum = frozenset() if point.curvature > 0 else frozenset({"x*", "g_opt", "x_own"})
    return Enumerated(None, model, at, SOME_OF_THEM | no_optimum)


def of_intervals(chance: Fraction | int, cutoff: int, rounds: int) -> Enumerated:
    """The weight that FedAU has for a client after ``rounds`` rounds."""
    tiny = Tiny((1,), (0,))
    setting = tiny.setting(algorithms.fedau(**tiny.local, cutoff=cutoff), Bernoulli([chance]))
    told = constants(setting, ("absence", "cutoff", "history", "guaranteed_intervals"), rounds + 1)
    q, t = told["absence"], told["history"]
    at = {"absence": q, "cutoff": told["cutoff"], "tail": q**cutoff, "history": t, "head": q**rounds,
          "ended": told["guaranteed_intervals"]}  # fmt: skip
    return Enumerated(setting, Comings(exact(chance), cutoff, rounds), at)


def of_those_that_are_there(met: Callable[[Followed, Any], Any]) -> Callable[[Followed, Any], Any]:
    """A planted relapse: the bound of the local gradients of those groups alone that are there in a round."""

    def relapsed(run: Followed, node: Any) -> Any:
        there = [counts for _, counts in states_of(run.setting, len(run.bound) - 1, exact=False)]
        of_all, run.training = run.training, [
            [one for j, one in enumerate(column) if any(counts[j] for counts in there)] for column in run.training
        ]  # fmt: skip
        try:
            return met(run, node) if run.training[0] else run.convert(0)
        finally:
            run.training = of_all

    return relapsed
