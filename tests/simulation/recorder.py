"""A federation that writes down who trained, and with which noise."""

from __future__ import annotations

import torch

from fedtheory.federations.federation import Pairs
from fedtheory.federations.quadratic import Quadratic
from fedtheory.randomness import refined

STEPS = 8
"""More local steps than any of these runs has."""


class Recorder(Quadratic):
    """``record`` has the noise that was drawn for each (replica, client, round, step); -1 is the server. Draws are told
    from each other by their keys, which are words of 64 bits."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.record: dict[tuple[int, int, int, int], list[float]] = {}
        self._owners: dict[int, list[tuple[int, int, int, int]]] = {}

    def noise_keys(self, pairs: Pairs) -> torch.Tensor:
        keys = super().noise_keys(pairs)
        rounds = torch.as_tensor(pairs.round).expand(len(pairs)).tolist()
        trained = list(zip(pairs.replica_id.tolist(), pairs.client.tolist(), rounds, strict=True))
        for step in range(STEPS):
            for key, who in zip(refined(keys, step).tolist(), trained, strict=True):
                if (*who, step) not in self._owners.setdefault(key, []):
                    self._owners[key].append((*who, step))
        return keys

    def noise_of(self, keys: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        noise = super().noise_of(keys, dtype)
        for key, drawn in zip(keys.flatten().tolist(), noise.flatten(0, -2).tolist(), strict=True):
            for who in self._owners[key]:  # several where clients share their noise
                self.record[who] = drawn
        return noise

    def server_gradient(
        self, x: torch.Tensor, replica_ids: torch.Tensor, seed: int, round: int, draw: int = 0
    ) -> torch.Tensor:
        found = super().server_gradient(x, replica_ids, seed, round, draw)
        noise = super().server_gradient(self.optimum.to(x).expand(len(x), -1), replica_ids, seed, round, draw)
        for replica, drawn in zip(replica_ids.tolist(), noise.tolist(), strict=True):
            self.record[replica, -1, round, draw] = drawn
        return found
