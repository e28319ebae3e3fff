"""Small models of rounds that are the server's or the clients', enumerated; see ``models``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from fedtheory.proof.kernel.forms import Atom
from fedtheory.proof.kernel.theorems import Theorem

from .models import Exact, Model, World, Worlds, exact


@dataclass(frozen=True, eq=False)
class ServerWorld(World):
    """A server's round: its noise. No cohort takes part."""

    drawn: Exact


@dataclass(frozen=True, eq=False)
class ServerModel(Model):
    """A round is the clients' with ``probability``, and the server's otherwise. ``server_law`` is the law of the
    server's noise: +-``server_noise``, or ("biased") with a mean of half as much. ``kinds`` says when a round's kind is
    drawn: before its noise, or after the server's noise is seen."""

    server_step: Exact | Fraction = Fraction(1, 10)
    server_noise: Exact | Fraction = Fraction(2)
    server_law: str = "unbiased"
    kinds: str = "before noise"

    @cache  # noqa: B019 (a model lives as long as its test)
    def worlds(self, kind: str) -> list[tuple[Exact, World]]:
        if kind != "server":
            return super().worlds(kind)
        half, shift = exact(1, 2), exact(self.server_law == "biased", 2)
        return [(half, ServerWorld((), (), (sign * (1 - shift) + shift) * self.server_noise)) for sign in (1, -1)]

    @property
    def global_gradient(self) -> Exact:
        return sum((c.gradient(self.start) for c in self.clients), exact(0)) / len(self.clients)

    def atom(self, atom: Atom, world: World, i: int | None, k: int) -> Exact:
        if not isinstance(world, ServerWorld):
            return super().atom(atom, world, i, k)
        if atom.name == "N_server":
            return world.drawn
        if atom.name == "x+":
            return self.start - self.server_step * (self.global_gradient + world.drawn)
        return super().atom(atom, world, i, k)

    def numbers(self, theorem: Theorem, free: Mapping[str, Fraction]) -> dict[str, Exact]:
        own = super().numbers(theorem, free)
        return own | {"eta_s": self.server_step, "sigma_s": self.server_noise, "m": exact(self.arbitrary_cohort)}

    def parameters(self, theorem: Theorem) -> dict[str, Exact]:
        own = super().parameters(theorem)
        return own | {"server_lr": self.server_step, "client_round_probability": self.probability}

    @cache  # noqa: B019 (a model lives as long as its test)
    def given(self, context: str, kind: str, size: int) -> list[Worlds]:
        if context == "cohort":
            return list(self._by_cohort("arbitrary", size))
        if context == "kind":
            return [Worlds(self.worlds(kind))]
        q = self.probability
        server, clients = self.worlds("server"), self.worlds("arbitrary")
        if self.kinds == "after noise":  # the clients' turn comes where the server's noise would be negative
            server, q = [(exact(1), server[0][1])], exact(1, 2)
        return [Worlds([*((p * (1 - q), w) for p, w in server), *((p * q, w) for p, w in clients)])]
