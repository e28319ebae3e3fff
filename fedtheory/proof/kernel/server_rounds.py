"""Rounds of a server that has data of its own: a step along its stochastic gradient of F. A rule mixes them with the
clients' rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .axioms import NEXT, START_POINT, OnRegion
from .forms import END, Atom, Form, Vector, dot, square
from .regions import Where
from .round_rules import ARBITRARY, mixed
from .scalars import Scalar
from .theorems import Refused, Theorem, joined

SERVER = "server"
"""Kind of a round in which the server alone moves."""
SERVER_NOISE = Atom("N_server", stage=END)
_GRADIENT = Atom("g_start", True)


@dataclass(frozen=True)
class ServerAxioms(OnRegion):
    """Axioms of a server's round on a region: x+ = x - step (grad F(x) + N_server)."""

    step: Scalar
    context = "kind"
    kind = SERVER

    @property
    def parameters(self) -> dict[str, Scalar]:
        return {"server_lr": self.step}

    @property
    def noise(self) -> Vector:
        """Noise N_server of the server's gradient."""
        return self.vector(SERVER_NOISE)

    @property
    def moved(self) -> Vector:
        """Displacement x+ - x."""
        return self.vector(NEXT) - self.vector(START_POINT)

    @property
    def gradient(self) -> Vector:
        """Gradient grad F(x)."""
        return self.vector(_GRADIENT, "M")

    def round(self, other: Vector) -> Theorem:
        """State the axiom <x+ - x + step (grad F(x) + N_server), w> = 0."""
        _closed(other)
        equation = self.moved + (self.gradient + self.noise) * self.step
        return self._fact("server round", dot(equation, other), equality=True, other=other)

    def unbiased(self, other: Vector) -> Theorem:
        """State the axiom <N_server, w> = 0 for w known at the start."""
        _closed(other)
        self.known(other)
        form = dot(self.noise, other)
        return self._fact("server unbiased", form, ("unbiased_server_noise", None), equality=True, other=other)

    def variance(self, squared: Scalar) -> Theorem:
        """State the axiom E|N_server|^2 <= sigma_s^2."""
        form = Form.constant(squared) - square(self.noise)
        return self._fact("server variance", form, ("bounded_server_noise", squared), squared=squared)

    def descent(self, L: Scalar) -> Theorem:
        """State the axiom F_i(x+) <= F_i(x) + <grad F_i(x), x+ - x> + L/2 |x+ - x|^2 for every client i."""
        return self._descent("server descent", L)


def _closed(vector: Vector) -> None:
    if vector.open:
        raise Refused(f"{vector}: allowed is one vector, not a family over clients or steps")


def mix_server(server: Theorem, clients: Theorem, probability: Scalar, where: Where) -> Theorem:
    """Add 1 - q times the server's theorem and q times the clients': given its start, a round is one of arbitrary
    clients with probability q, and the server's otherwise."""
    q = probability
    parameters = of_either(dict(server.parameters), dict(clients.parameters), q)
    parts = (server, SERVER, 1 - q), (clients, ARBITRARY, q)
    return mixed("mix server", parts, where, q, "random_client_rounds", parameters)


def of_either(server: Mapping[str, Scalar], clients: Mapping[str, Scalar], q: Scalar) -> dict[str, Scalar]:
    """Return the parameters of rounds that are the server's, or with probability q the clients'."""
    if "server_lr" not in server or "size" not in clients:
        raise Refused("mix: allowed are theorems of rounds, with the server's step and the size of the cohort")
    parameters = joined(server, clients)
    return joined(parameters, {"client_round_probability": q, "arbitrary_cohort": parameters.pop("size")})
