"""Theorems from certificates of worst cases: bounds with numbers that hold for one class, algorithm and number of
steps.

A certificate (`fedtheory.worstcase`) has multipliers by which a bound is a sum of what a class of functions makes >= 0
and of a form that is positive semidefinite. That is verified here, in rational numbers. It is about L-smooth clients
that are kappa L-strongly convex, under steps of c/L, for one number L. Units are free, so it says as much for every L,
and clients that are more convex belong to the class too. L and mu >= kappa L are letters of the theorem, and

    metric <= tau L^p |x - x*|^2 + nu L^(p - 2) zeta^2,      p = 0 for |x+ - x*|^2, 1 for F - F*, 2 for |grad F|^2,

is read off the file; its steps, numbers of clients and probabilities are the parameters of the algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...worstcase.certificates import Certificate
from ...worstcase.round_plans import Cohort, Everyone, Kind, Plan, Round, ServerStep, Training
from .axioms import NEXT, OPTIMUM, START_POINT, gradient_at
from .forms import END, Atom, Form, Value, Vector, square
from .regions import Where
from .round_rules import ARBITRARY, UNIFORM
from .scalars import Ring, Scalar
from .server_rounds import SERVER
from .theorems import Assumption, Context, Refused, Theorem, _theorem

MOST_ROUNDS = 60
"""Largest number of rounds of a certificate."""
EVERYONE = "everyone"
_UNIFORM: Assumption = ("uniform_cohorts", None)
Drawn = dict[str, tuple[Fraction, Kind]]
Law = tuple[Context, str, dict[str, Scalar], list[Assumption]]


def after(rounds: int) -> Atom:
    """Return the server's point after so many rounds: the start, the round's end, and so on."""
    return (START_POINT, NEXT)[rounds] if rounds < 2 else Atom(f"x_{rounds}", stage=END)


@dataclass(frozen=True)
class Constants:
    """Scalars of a theorem that stand for the numbers of a certificate.

    Attributes:
        smoothness, strong_convexity: L and mu.
        dissimilarity: zeta^2. noise, server_noise: sigma^2 and sigma_s^2, which the region has to make 0.
        clients: M, where the certificate is about any number of them.
    """

    smoothness: Scalar
    strong_convexity: Scalar
    dissimilarity: Scalar
    noise: Scalar
    server_noise: Scalar | None = None
    clients: Scalar | None = None


def worst_case(data: Mapping[str, Any], where: Where, of: Constants) -> Theorem:
    """Return the bound of a certificate as a theorem on its algorithm; the right side is computed from it.

    One round of everyone, or of any set of so many clients: given the start and the cohort. A uniform cohort's, or the
    server's: given the round's kind. FAST's and SAFARI's mixture: given the start. Several rounds of everyone: given
    nothing, of the run's first points.

    Raises:
        Refused: the data are no proof; the region does not have mu >= kappa L, L > 0, no noise; or the kernel has no
            word for the certificate's steps, rounds or metric.
    """
    try:
        certificate = Certificate.from_json(dict(data))
        certificate.verify()
    except ValueError as error:
        raise Refused(f"certificate: {error}") from None
    _check_region(certificate, where, of)
    said = _Said(certificate, where.ring, of)
    context, kind, parameters, laws = said.law()
    return _theorem(
        "worst case",
        [],
        context=context,
        kind=kind,
        where=where,
        form=said.form(),
        assumptions=[*said.assumptions(), *laws],
        parameters=parameters,
        certificate=certificate.to_json(),
        L=of.smoothness,
        mu=of.strong_convexity,
        dissimilarity=of.dissimilarity,
        noise=of.noise,
        server_noise=of.server_noise,
        clients=of.clients,
    )


def _check_region(certificate: Certificate, where: Where, of: Constants) -> None:
    L, kappa = of.smoothness, certificate.problem.functions.condition
    if not (where.certifies(L) and where.never_zero(L)):
        raise Refused(f"L = {L}: not certified to be > 0 on the region")
    if not where.certifies(of.strong_convexity - L * kappa):
        raise Refused(f"mu = {of.strong_convexity}: not certified to be at least {kappa} L on the region")
    least = [of.dissimilarity, -of.noise]
    if not certificate.multipliers.additive:
        least.append(-of.dissimilarity)
    if _has_server(certificate.problem.plan):
        if of.server_noise is None:
            raise Refused("server_noise: allowed is a scalar, of an algorithm whose server has data")
        least.append(-of.server_noise)
    if of.clients is not None:
        least.append(of.clients - 1)
    for scalar in least:
        if not where.certifies(scalar):
            raise Refused(
                f"{scalar}: not certified to be >= 0 on the region; certificates are about exact gradients, "
                "and where they say nothing of dissimilarity there is none"
            )


def _has_server(plan: Plan) -> bool:
    return any(isinstance(kind, ServerStep) for kind in plan.kinds)


class _Said:
    """A certificate that is verified, in the kernel's words."""

    def __init__(self, certificate: Certificate, ring: Ring, of: Constants) -> None:
        self.certificate, self.ring, self.of = certificate, ring, of
        self.problem, self.L = certificate.problem, of.smoothness
        self.plan = self.problem.plan

    def number(self, value: Fraction | int) -> Scalar:
        return self.ring.number(value)

    def assumptions(self) -> list[Assumption]:
        """Return the assumptions on the class and on the noise, and that F is the plain mean of the clients'
        functions."""
        of, multipliers = self.of, self.certificate.multipliers
        everywhere = any(p for p, _ in multipliers.additive)
        apart = "bounded_dissimilarity" if everywhere else "bounded_dissimilarity_at_optimum"
        found: list[Assumption] = [
            ("smooth", self.L),
            ("strongly_convex", of.strong_convexity),
            (apart, of.dissimilarity),
            ("equal_weights", None),
        ]
        if self.problem.functions.quadratic:
            found.append(("quadratic", None))
        if self.plan.participants:
            found += [("bounded_noise", of.noise), ("cohort_is_a_set", None)]
        if _has_server(self.plan):
            assert of.server_noise is not None
            found.append(("bounded_server_noise", of.server_noise))
        return found

    # the form

    def form(self) -> Form:
        """Return tau L^p |x - x*|^2 + nu L^(p - 2) zeta^2 - metric."""
        L = self.problem.functions.smoothness
        power = 0 if "distance" in self.problem.metric else 1 if "gap" in self.problem.metric else 2
        tau, nu = self.certificate.contraction / L**power, self.certificate.additive * L**2 / L**power
        unit = self.L**power
        start = square(self._point(START_POINT) - self._point(OPTIMUM)) * (unit * tau)
        return start + Form.constant(self.of.dissimilarity * unit * nu / self.L**2) - self._metric()

    def _point(self, atom: Atom, bound: str = "") -> Vector:
        return Vector.one(self.ring, atom, bound)

    def _metric(self) -> Form:
        problem, rounds = self.problem, len(self.plan.rounds)
        if problem.metric == "final_squared_distance":
            return square(self._point(after(rounds)) - self._point(OPTIMUM))
        first = 1 if problem.average == "r = 1..R" else 0
        counted = [rounds] if problem.metric.startswith("final") else list(range(first, first + rounds))
        total = Form(self.ring, {})
        for r in counted:
            total = total + (self._gap(r) if problem.metric.endswith("gap") else self._gradient(r))
        return total / len(counted)

    def _gap(self, rounds: int) -> Form:
        value, least = Value("M", after(rounds)), Value("M", OPTIMUM)
        return Form(self.ring, {value: self.number(1), least: self.number(-1)})

    def _gradient(self, rounds: int) -> Form:
        if rounds:
            raise Refused(f"metric = {self.problem.metric!r}: the kernel has no gradients after a round")
        return square(self._point(gradient_at(START_POINT), "M"))

    # the law of the rounds

    def law(self) -> Law:
        """Return (context, kind, the algorithm's parameters, the assumptions that say how rounds are drawn)."""
        rounds = [self._by_name(each) for each in self.plan.rounds]
        parameters = self._steps()
        if len(rounds) > 1:
            if any(set(found) != {EVERYONE} for found in rounds) or len(rounds) > MOST_ROUNDS:
                raise Refused(f"rounds = {len(rounds)}: allowed are up to {MOST_ROUNDS} of everyone")
            return "run", "", parameters | {"size": self.clients}, []
        (found,) = rounds
        if UNIFORM in found:
            parameters["share"] = self._share(found[UNIFORM][1])
        return self._mixture(found, parameters) if len(found) > 1 else self._alone(found, parameters)

    def _by_name(self, each: Round) -> Drawn:
        found = {self._name(kind): (p, kind) for p, kind in each}
        if len(found) < len(each):
            raise Refused("rounds: allowed are kinds of round that are drawn in different ways")
        return found

    def _alone(self, found: Drawn, parameters: dict[str, Scalar]) -> Law:
        """Rounds of one kind."""
        (name,) = found
        if name == SERVER:
            return "kind", SERVER, parameters, []
        parameters["size"] = self._size(found[name][1])
        if name == UNIFORM:
            return "kind", UNIFORM, parameters, [_UNIFORM]
        return "cohort", "", parameters, []

    def _mixture(self, found: Drawn, parameters: dict[str, Scalar]) -> Law:
        """Two kinds of round: any set's, or everyone's, and another one."""
        sets = [name for name in (ARBITRARY, EVERYONE) if name in found]
        others = [name for name in (UNIFORM, SERVER) if name in found]
        if len(sets) != 1 or len(others) != 1:
            raise Refused(f"rounds that are {' or '.join(sorted(found))}: the kernel has no such mixture")
        (chosen,), (other,) = sets, others
        parameters["arbitrary_cohort"] = self._size(found[chosen][1])
        if other == SERVER:
            chance = parameters["client_round_probability"] = self.number(found[chosen][0])
            return "start", "", parameters, [("random_client_rounds", chance)]
        chance = parameters["probability"] = self.number(found[other][0])
        parameters["cohort"] = self._size(found[other][1])
        return "start", "", parameters, [_UNIFORM, ("random_kinds", chance)]

    def _name(self, kind: Kind) -> str:
        if isinstance(kind, ServerStep):
            return SERVER
        who = kind.participants
        if isinstance(who, Cohort) and who.replacement:
            raise Refused("cohort: the kernel has no word for draws with replacement")
        if isinstance(who, Cohort) and not self.plan.is_everyone(who):
            return UNIFORM
        return EVERYONE if self.plan.is_everyone(who) else ARBITRARY

    def _steps(self) -> dict[str, Scalar]:
        """Step sizes, local steps and clients: the same in all rounds."""
        L, found = self.problem.functions.smoothness, set()
        for kind in self.plan.kinds:
            if isinstance(kind, ServerStep):
                found |= {("server_lr", kind.server_lr * L)}
                continue
            if len(set(kind.local_lr)) > 1 or kind.proximal or kind.global_lr != 1:
                raise Refused("training: allowed are local steps of one size, no proximal term and no server's step")
            found |= {("local_lr", kind.local_lr[0] * L), ("local_steps", Fraction(len(kind.local_lr)))}
        if len({name for name, _ in found}) < len(found):
            raise Refused(f"{sorted(found)}: allowed is one algorithm, with the same steps in all rounds")
        steps = {name: self.number(c) / (self.L if name.endswith("_lr") else 1) for name, c in found}
        return steps | {"clients": self.clients}

    @property
    def clients(self) -> Scalar:
        known = self.plan.clients
        if (known is None) == (self.of.clients is None):
            raise Refused(
                f"clients = {self.of.clients}: allowed is a scalar where the certificate is about any number "
                f"of them, here {known}"
            )
        return self.number(known) if known is not None else self.of.clients  # type: ignore[return-value]

    def _size(self, kind: Kind) -> Scalar:
        assert isinstance(kind, Training)
        who = kind.participants
        return self.clients if isinstance(who, Everyone) else self.number(who.size)

    def _share(self, kind: Kind) -> Scalar:
        """(M - m)/(m (M - 1)) of a uniform cohort that is a set: see ``round_rules.expect_uniform``."""
        assert isinstance(kind, Training) and isinstance(kind.participants, Cohort) and self.plan.clients
        m, M = kind.participants.size, self.plan.clients
        return self.number(Fraction(M - m, m * (M - 1)))
