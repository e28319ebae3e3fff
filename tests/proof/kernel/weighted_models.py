"""Small models of rounds that add the clients' updates with weights, enumerated: who takes part, and all noises."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, prod

from fedtheory.proof.kernel.forms import Atom

from .mean_models import MeanModel, Way
from .models import Exact, exact


@dataclass(frozen=True, eq=False)
class WeightedModel(MeanModel):
    """Client i takes part with probability ``chances[i]``, independently of all else, or (``draw`` = "after noise")
    where its first noise is positive; ``omegas`` are the weights of updates, ``weights`` those of the objective."""

    chances: tuple[Exact, ...] = ()
    omegas: tuple[Exact, ...] = ()
    weighted_step: Exact | int = 1

    def draws(self, noise: tuple[tuple[Exact, ...], ...]) -> list[tuple[Exact, tuple[int, ...]]]:
        every = range(len(self.clients))
        if self.draw == "after noise":
            return [(exact(1), tuple(i for i in every if noise[i][0] > 0))]
        sets = [s for size in range(len(every) + 1) for s in itertools.combinations(every, size)]
        return [(prod((self.chances[i] if i in s else 1 - self.chances[i] for i in every), start=exact(1)), s)
                for s in sets]  # fmt: skip

    def _sum(self, way: Way, i: int, noises: bool) -> Exact:
        """s_i, or nu_i."""
        gradients = (self.clients[i].gradient(self.path(way, i, k)) for k in range(self.steps))
        return sum(way.noise[i], exact(0)) if noises else sum(gradients, exact(0))

    @property
    def _pulls(self) -> list[Exact]:
        """p_i omega_i/n."""
        return [p * w / len(self.clients) for p, w in zip(self.chances, self.omegas, strict=True)]

    def atom(self, atom: Atom, way: Way, i: int, k: int) -> Exact:
        n, every = len(self.clients), range(len(self.clients))
        match atom.name:
            case "A_weights":
                return sum(((self._pulls[j] - self.weights[j]) * self._sum(way, j, False) for j in every), exact(0))
            case "V_weights":
                excess = [((j in way.drawn) - self.chances[j]) * self.omegas[j] for j in every]
                return sum((e * self._sum(way, j, False) for j, e in enumerate(excess)), exact(0)) / n
            case "U_weights":
                return sum((self.omegas[j] * self._sum(way, j, True) for j in way.drawn), exact(0)) / n
            case "x+":
                both = (self.omegas[j] * (self._sum(way, j, False) + self._sum(way, j, True)) for j in way.drawn)
                return way.start - self.weighted_step * sum(both, exact(0)) / n
            case "g_centre":
                return sum((c.gradient(way.start) for c in self.clients), exact(0)) / n
        return super().atom(atom, way, i, k)

    @cached_property
    def numbers(self) -> dict[str, Exact]:
        n, (start,) = len(self.clients), self.starts
        slopes = [abs(slope) for c in self.clients for slope in (c.left, c.right)]
        gradients = [c.gradient(start) for c in self.clients]
        mean = sum((p * g for p, g in zip(self.weights, gradients, strict=True)), exact(0))
        far = [abs(g - m) for g in gradients for m in {mean, sum(gradients, exact(0)) / n}]
        error = n * sum(((a - p) ** 2 for a, p in zip(self._pulls, self.weights, strict=True)), exact(0))
        scale = sum((p * w * w for p, w in zip(self.chances, self.omegas, strict=True)), exact(0)) / n
        return {
            "eta": self.step(0), "c": self.weighted_step, "K": exact(self.steps), "L": max(slopes), "n": exact(n),
            "sigma": self.noise, "d": max(far), "G": exact(isqrt(int(mean**2 * 10**8)) + 1, 10**4), "E": error,
            "Q": scale, "peak": error, "w": min(self.weights), **dict(self.claimed),
        }  # fmt: skip
